//! Checks that transactions end, and that savepoints exist.

use std::collections::BTreeSet;

use sqlparser::ast::{Statement, Visit};

use super::{
    super::{Act, ActorPlan, PlannedOperation, PlannedVerb, Scenario},
    constructs::Named,
    statement::read,
    tables,
};
use crate::{
    lesson::{
        Claim,
        error::Mistake,
        expr::{Mentions, Template},
        has_word,
    },
    log::{ANY, Product},
    text::both,
};

/// Refuses a transaction that its program never ends: it would hold its locks until the client exits.
pub(crate) fn check_transactions(scenario: &Scenario) -> Result<(), Mistake> {
    // Forgetting to end it may be the point of the lesson: other clients then handle the error, or a fault ends the
    // client.
    let waits = |claim: &Claim| {
        let source = claim.source().unwrap_or_default();
        source.contains("owner(") || source.contains(" is not defined")
    };
    let is_shown =
        scenario.is_meant(waits) || scenario.story.iter().any(|line| matches!(line.act, Act::Faults(_)));
    scenario.actors.iter().try_for_each(check_savepoints)?;
    for plan in scenario.actors.iter().filter(|_| !is_shown) {
        let statements: Vec<(String, &PlannedOperation)> = statements_of(plan)
            .filter_map(|(operation, text)| {
                Some((tables::words(&text).next()?.to_ascii_uppercase(), operation))
            })
            .collect();
        let ends = statements
            .iter()
            .any(|(word, _)| has_word("COMMIT ROLLBACK LOCK CREATE ALTER DROP TRUNCATE", word));
        // A program that handles errors may leave the end to the server, unless a claim reads what it has written.
        let copes = statements.iter().any(|(_, operation)| !operation.allow.is_empty())
            && !claims_written(scenario, plan);
        let begins = statements.iter().find(|(word, _)| has_word("BEGIN START", word));
        if let (false, false, Some((_, operation))) = (ends, copes, begins)
            && let Some(path) = &operation.path
        {
            let message = both!("this program never ends its transaction", "这个程序没有结束它的事务");
            return Err(Mistake::new(&path.key("sql"), message).help(both!(
                "write `- commit: {{ sql: COMMIT }}` or `ROLLBACK` after it",
                "请在后面写 `- commit: {{ sql: COMMIT }}` 或 `ROLLBACK`"
            )));
        }
    }
    Ok(())
}

/// Refuses a program that rolls back to or releases a savepoint that it never sets.
fn check_savepoints(plan: &ActorPlan) -> Result<(), Mistake> {
    let savepoint = |text: &str| {
        let words: Vec<String> = tables::words(text).map(str::to_ascii_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["SAVEPOINT", name] => Some((true, name.to_owned())),
            ["ROLLBACK", .., "TO", name]
            | ["ROLLBACK", .., "TO", "SAVEPOINT", name]
            | ["RELEASE", "SAVEPOINT", name] => Some((false, name.to_owned())),
            _ => None,
        }
    };
    let all: Vec<_> = statements_of(plan)
        .filter_map(|(operation, text)| savepoint(&text).map(|(sets, name)| (operation, sets, name)))
        .collect();
    let set: BTreeSet<&str> =
        all.iter().filter(|(_, sets, _)| *sets).map(|(.., name)| name.as_str()).collect();
    let is_open = set.iter().any(|name| name.contains(ANY));
    let unknown = all.iter().find(|(operation, sets, name)| {
        !sets && !set.contains(name.as_str()) && !name.contains(ANY) && operation.allow.is_empty()
    });
    let Some((operation, _, name)) = unknown.filter(|_| !is_open) else { return Ok(()) };
    let Some(path) = &operation.path else { return Ok(()) };
    let name = name.to_ascii_lowercase();
    let message = both!("no statement sets the savepoint `{name}`", "没有语句设置过保存点 `{name}`");
    let known = set.iter().map(|name| name.to_ascii_lowercase()).collect::<Vec<_>>().join(", ");
    Err(Mistake::new(&path.key("sql"), message).help(if known.is_empty() {
        both!("write `SAVEPOINT {name}` before it", "请先写 `SAVEPOINT {name}`")
    } else {
        both!("set here: {known}", "这里设置过：{known}")
    }))
}

/// The SQL statements of a program, with their operations.
fn statements_of(plan: &ActorPlan) -> impl Iterator<Item = (&PlannedOperation, String)> {
    plan.program.operations().filter_map(|operation| match &operation.verb {
        PlannedVerb::Call(call) if call.product() == Product::Mariadb => {
            Some((&**operation, call.all_operands().map(Template::pattern).collect()))
        }
        _ => None,
    })
}

/// Whether a claim reads a row of a table that the program writes.
fn claims_written(scenario: &Scenario, plan: &ActorPlan) -> bool {
    let written: Vec<String> = statements_of(plan)
        .filter_map(|(_, text)| {
            let mut named = Named::default();
            let statement = read(&text).ok()??;
            let writes =
                matches!(statement, Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_));
            let _ = statement.visit(&mut named);
            writes.then(|| named.tables.into_iter().next()).flatten()
        })
        .collect();
    let mut asked = scenario.claim_sources().flat_map(|(source, _)| Mentions::of(source).keys_of("value"));
    asked.any(|(key, _)| {
        key.split_once('/').is_some_and(|(table, _)| written.contains(&table.to_ascii_lowercase()))
    })
}
