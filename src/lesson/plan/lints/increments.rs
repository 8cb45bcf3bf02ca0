//! Replies of `INCR` that are compared with less than 1. A counter that nobody sets or lowers begins at 0, so that the
//! first reply is 1.

use super::{
    super::{
        super::{
            error::{Finding, Mistake, Path, finding},
            expr::mentions::comparisons,
            has_word,
        },
        PlannedVerb, Program, Scenario,
        program::Instruction,
        types,
    },
    comparison::{Literal, literal},
};
use crate::log::stands_for;

/// Commands that leave a number at 0 or more, apart from `SET`.
const NEVER_BELOW: &str =
    "INCR EXPIRE PEXPIRE EXPIREAT PEXPIREAT TTL PTTL GET DEL UNLINK PERSIST EXISTS WATCH";

/// Whether a key is a counter that nobody sets below 0 or lowers.
fn only_rises(key: &str, scenario: &Scenario) -> bool {
    types::sent(scenario).all(|(verb, _)| match verb {
        PlannedVerb::Redis(words) => {
            let is_named = words[1..].iter().any(|word| stands_for(&word.pattern(), key));
            let name = words[0].pattern().to_ascii_uppercase();
            let sets_number =
                || name == "SET" && words.get(2).is_some_and(|value| value.pattern().parse::<u64>().is_ok());
            !is_named || has_word(NEVER_BELOW, &name) || sets_number()
        }
        PlannedVerb::Script { source, keys, .. } => keys.iter().enumerate().all(|(n, known)| {
            !stands_for(&known.pattern(), key)
                || types::in_script(source, n + 1).iter().all(|(name, _)| has_word(NEVER_BELOW, name))
        }),
        PlannedVerb::Given(_) => false,
        _ => true,
    })
}

/// Whether the operations with this label only ever answer 1 or more.
fn counts_up(program: &Program, label: &str, scenario: &Scenario) -> bool {
    let operation = program.only_named(label).filter(|operation| !operation.queued);
    match operation.map(|operation| &operation.verb) {
        Some(PlannedVerb::Redis(words)) => match &words[..] {
            [name, key] => {
                name.pattern().eq_ignore_ascii_case("INCR")
                    && key.is_literal()
                    && only_rises(&key.pattern(), scenario)
            }
            _ => false,
        },
        _ => false,
    }
}

/// The finding about a comparison that no reply of `INCR` fulfils. `counted`: whether a name is such a reply.
fn below_one(source: &str, counted: impl Fn(&str) -> bool) -> Option<Finding> {
    comparisons(source).find_map(|(left, operator, right)| {
        let Literal::Number(number) = literal(right)? else { return None };
        let never = match operator {
            "==" | "<=" => number < 1,
            "<" => number <= 1,
            _ => false,
        };
        (never && counted(left)).then(|| {
            finding!(
                "`{left}` is what `INCR` answers, the value after it: 1 or more",
                "`{left}` 是 `INCR` 的回复，也就是加一之后的值：至少是 1",
                "for the first: `{left} == 1`",
                "判断是不是第一次请写 `{left} == 1`"
            )
        })
    })
}

/// The finding about such a comparison in a claim.
pub(super) fn lint(source: &str, scenario: &Scenario) -> Option<Finding> {
    below_one(source, |name| {
        scenario.reply(name).is_some_and(|(program, label)| counts_up(program, label, scenario))
    })
}

/// Reports such a comparison in a program.
pub(super) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    for plan in &scenario.actors {
        let program = &*plan.program;
        let conditions = program.conditions.iter().filter_map(|(at, path)| {
            let source = match program.instructions.get(*at)? {
                Instruction::JumpUnless { condition, .. }
                | Instruction::RepeatNext { condition: Some(condition), .. } => condition.source(),
                Instruction::Set { value, .. } => value.source(),
                _ => return None,
            };
            let before = at.checked_sub(1).and_then(|before| program.instructions[before].operation());
            Some((source.to_owned(), path.clone(), before.map(|operation| operation.label.clone())))
        });
        let untils = program.operations().filter_map(|operation| {
            let (until, path) = (operation.until.as_ref()?, operation.path.as_ref()?);
            Some((until.source().to_owned(), path.key("until"), Some(operation.label.clone())))
        });
        let asked: Vec<(String, Path, Option<String>)> = conditions.chain(untils).collect();
        for (source, path, reply) in asked {
            let found = below_one(&source, |name| {
                let label = if name == "reply" { reply.as_deref().unwrap_or(name) } else { name };
                counts_up(program, label, scenario)
            });
            Mistake::if_found(&path, found)?;
        }
    }
    Ok(())
}
