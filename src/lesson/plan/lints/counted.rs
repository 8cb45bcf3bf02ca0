//! Variables that count, such as votes: a comparison with more than they ever reach, or with what is no majority.

use std::collections::BTreeMap;

use super::{
    super::{
        super::{
            Expect,
            error::{Finding, Mistake, finding},
            expr::mentions::comparisons,
        },
        ActorPlan, Scenario,
        program::{Instruction, Program},
    },
    comparison::{Literal, exceeds, literal},
};
use crate::log::{Belief, Product};

/// The largest count that is looked for; a program that may count further is taken for one without a bound.
const MOST: i64 = 64;

/// What a `let` does to a count.
#[derive(Clone, Copy)]
enum Change {
    To(i64),
    By(i64),
}

/// What this `let` does to the variable; `None` if it is no plain count.
fn change(name: &str, source: &str) -> Option<Change> {
    if let Ok(number) = source.trim().parse() {
        return Some(Change::To(number));
    }
    if let Some(listed) = chosen(source) {
        return Some(Change::To(listed));
    }
    let added = source.trim().strip_prefix(name)?.trim().strip_prefix('+')?;
    added.trim().parse().ok().filter(|added| *added > 0).map(Change::By)
}

/// The length of a list that is written out, of which a `let` counts some: `[lock1, lock2]|select('eq', 'OK')|list|length`.
fn chosen(source: &str) -> Option<i64> {
    let (inside, rest) = source.trim().strip_prefix('[')?.split_once(']')?;
    let is_count = ["|select(", "|reject("].iter().any(|filter| rest.starts_with(filter))
        && rest.ends_with("|list|length")
        && rest.matches('|').count() == 3;
    let is_plain = !inside.contains(['[', '(', '\'', '"']);
    i64::try_from(inside.split(',').count()).ok().filter(|_| is_count && is_plain)
}

/// Whether a program gives the name a value at run time.
pub(super) fn sets(program: &Program, name: &str) -> bool {
    program.labels.contains(name)
        || program
            .instructions
            .iter()
            .any(|one| matches!(one, Instruction::Set { name: set, .. } if set == name))
}

/// The most that a variable ever is, if every `let` sets it to a number or adds one.
fn most(program: &Program, name: &str) -> Option<i64> {
    let mut changes = BTreeMap::new();
    for (at, instruction) in program.instructions.iter().enumerate() {
        match instruction {
            Instruction::Set { name: set, value } if set == name => {
                changes.insert(at, change(name, value.source())?);
            }
            Instruction::Operate(operation) if operation.label == name => return None,
            Instruction::Enter { with, .. } if with.iter().any(|(given, _)| given == name) => return None,
            _ => {}
        }
    }
    let counts = |instruction: Option<&Instruction>| matches!(instruction, Some(Instruction::Set { value, .. }) if chosen(value.source()).is_some());
    if !changes
        .iter()
        .any(|(at, change)| matches!(change, Change::By(_)) || counts(program.instructions.get(*at)))
    {
        return None;
    }
    by_way(program, &changes).or_else(|| by_rounds(program, &changes))
}

/// The most on any way through the program, which may set the count back in each round.
fn by_way(program: &Program, changes: &BTreeMap<usize, Change>) -> Option<i64> {
    let (mut known, mut open, mut greatest) = (BTreeMap::<usize, i64>::new(), vec![(0, i64::MIN)], i64::MIN);
    while let Some((at, count)) = open.pop() {
        if known.get(&at).is_some_and(|known| *known >= count) {
            continue;
        }
        known.insert(at, count);
        let after = match changes.get(&at) {
            Some(Change::To(number)) => *number,
            Some(Change::By(added)) if count > i64::MIN => count + added,
            _ => count,
        };
        if after > MOST {
            return None;
        }
        greatest = greatest.max(after);
        open.extend(program.after(at).map(|next| (next, after)));
    }
    (greatest > i64::MIN).then_some(greatest)
}

/// The most if every repetition around has a number of rounds that is written out.
fn by_rounds(program: &Program, changes: &BTreeMap<usize, Change>) -> Option<i64> {
    let (mut first, mut added) = (0, 0);
    for (at, change) in changes {
        match change {
            Change::To(number) => first = first.max(*number),
            Change::By(by) => {
                let rounds = program.rounds_around(*at).and_then(|rounds| i64::try_from(rounds).ok())?;
                added += by * rounds;
            }
        }
    }
    Some(first + added)
}

/// Reports a condition on a count that it never reaches, or that lets two clients have a majority at once.
pub(super) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    for plan in &scenario.actors {
        for (at, path) in &plan.program.conditions {
            let source = match plan.program.instructions.get(*at) {
                Some(
                    Instruction::JumpUnless { condition, .. }
                    | Instruction::RepeatNext { condition: Some(condition), .. },
                ) => condition.source(),
                _ => continue,
            };
            let found = comparisons(source).find_map(|(left, operator, right)| {
                let most = most(&plan.program, left)?;
                let number = number(plan, right)?;
                beyond((left, operator, right), number, most)
                    .or_else(|| minority(scenario, (plan, *at), (left, operator), (number, most)))
            });
            Mistake::if_found(path, found)?;
        }
    }
    Ok(())
}

/// The number that the right side of a comparison stands for.
fn number(plan: &ActorPlan, right: &str) -> Option<i64> {
    match literal(right) {
        Some(Literal::Number(number)) => Some(number),
        Some(_) => None,
        None => plan.constant(right).and_then(|value| i64::try_from(value.clone()).ok()),
    }
}

/// The finding about a count that is never reached.
fn beyond((left, operator, right): (&str, &str, &str), number: i64, most: i64) -> Option<Finding> {
    exceeds(operator, number, most).then(|| {
        finding!(
            "`{left}` is {most} at most, so `{left} {operator} {right}` is never so",
            "`{left}` 最多是 {most}，`{left} {operator} {right}` 不会成立",
            "such as `{left} >= {most}`",
            "例如 `{left} >= {most}`"
        )
    })
}

/// The finding about a lock of independent masters that is held with a half of their votes or less.
fn minority(
    scenario: &Scenario,
    (plan, at): (&ActorPlan, usize),
    (left, operator): (&str, &str),
    (number, most): (i64, i64),
) -> Option<Finding> {
    let servers = i64::try_from(scenario.lab().servers().len()).ok()?;
    let enough = match operator {
        ">=" => number,
        ">" => number + 1,
        _ => return None,
    };
    let holds = matches!(
        plan.program.instructions.get(at + 1),
        Some(Instruction::Believe { belief: Belief::Holding, .. })
    );
    let is_fix = scenario.variant().expects() == Expect::Prevented;
    let is_voted = scenario.lab().is_only(Product::Redis) && !scenario.lab().is_replicated() && servers > 1;
    let is_wrong = is_voted && most == servers && enough * 2 <= servers;
    (is_wrong && holds && is_fix && enough > 0).then(|| {
        let majority = servers / 2 + 1;
        finding!(
            "{enough} of {servers} is no majority: two clients can have as many at the same time",
            "{servers} 票里的 {enough} 票不算多数：两个客户端可以同时凑到",
            "write `{left} >= {majority}`",
            "请写 `{left} >= {majority}`"
        )
    })
}
