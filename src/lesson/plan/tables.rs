//! Tables that SQL statements name. The server begins without any, so one that no statement creates is misspelt.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{ALIKE, Mistake, Path, did_you_mean, nearest},
        expr::Template,
    },
    PlannedVerb, Scenario,
    program::Instruction,
};
use crate::{
    log::{ANY, Product},
    text::both,
};

pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let root = Path::root();
    let own = scenario.variant().setup.is_some();
    let setup =
        if own { root.key("variants").key(&scenario.variant).key("setup") } else { root.key("setup") };
    let setup = scenario.setup.iter().enumerate().map(|(n, line)| (&line.verb, setup.index(n)));
    let instructions = scenario.actors.iter().flat_map(|plan| &plan.program.instructions);
    let operations = instructions.filter_map(|instruction| match instruction {
        Instruction::Operate(operation) => {
            Some((&operation.verb, operation.path.clone().unwrap_or_else(Path::root)))
        }
        _ => None,
    });
    let statements = setup.chain(operations).filter_map(|(verb, path)| match verb {
        PlannedVerb::Call(call) if call.product() == Product::Mariadb => {
            let text: String = call.all_operands().map(Template::pattern).collect();
            Some((text, path.key("sql")))
        }
        _ => None,
    });
    let statements: Vec<(String, Path)> = statements.collect();
    let created: BTreeSet<&str> = statements.iter().filter_map(|(text, _)| created(text)).collect();
    for (text, path) in &statements {
        let Some(name) = named(text).find(|name| !created.contains(name)) else { continue };
        let message = both!("no statement creates the table `{name}`", "没有语句创建过表 `{name}`");
        let help = nearest(name, created.iter().copied(), ALIKE).map_or_else(
            || {
                both!(
                    "create it in the setup: `- sql: CREATE TABLE {name} (…)`",
                    "请在 setup 中创建：`- sql: CREATE TABLE {name} (…)`"
                )
            },
            did_you_mean,
        );
        return Err(Mistake::new(path, message).help(help));
    }
    Ok(())
}

/// The words of a statement; brackets, commas and strings are none.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let outside = text.split('\'').step_by(2);
    outside
        .flat_map(|part| part.split(|c: char| c.is_whitespace() || "(),;=".contains(c)))
        .filter(|word| !word.is_empty())
}

/// The table that a statement creates.
fn created(text: &str) -> Option<&str> {
    let mut words =
        words(text).filter(|word| !["IF", "NOT", "EXISTS"].contains(&word.to_ascii_uppercase().as_str()));
    let is = |word: Option<&str>, wanted: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(wanted));
    (is(words.next(), "CREATE") && is(words.next(), "TABLE")).then(|| words.next().map(plain))?
}

/// The tables that a statement reads and changes, as far as they are known before it is sent.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let all: Vec<&str> = words(text).collect();
    let is = |word: Option<&&str>, wanted: &[&str]| {
        word.is_some_and(|word| wanted.iter().any(|wanted| word.eq_ignore_ascii_case(wanted)))
    };
    let follows = |n: usize| {
        let before = n.checked_sub(1).and_then(|n| all.get(n));
        // `SELECT … FOR UPDATE` and `ON DUPLICATE KEY UPDATE` name none.
        is(all.get(n), &["FROM", "JOIN", "INTO"])
            || (is(all.get(n), &["UPDATE"]) && !is(before, &["FOR", "KEY"]))
    };
    let names: Vec<&str> =
        (0..all.len()).filter(|n| follows(*n)).filter_map(|n| all.get(n + 1).copied()).collect();
    let is_table = move |name: &&str| {
        // A table of the server's own, a subquery, a modifier or a name that is not known yet is none of the lesson's.
        !name.contains(['.', ANY, '@']) && !is(Some(name), &["SELECT", "DUAL", "IGNORE", "LOW_PRIORITY"])
    };
    names.into_iter().filter(is_table).map(plain)
}

/// A name without its quotes.
fn plain(name: &str) -> &str {
    name.trim_matches('`')
}
