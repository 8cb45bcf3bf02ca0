//! Evaluates claims.

use std::sync::Arc;

use minijinja::Value;

use super::{
    ClaimResult, Outcome, Verdict,
    facts::{Facts, moment},
};
use crate::{
    lesson::{Expect, LockClaim, Scenario, Text, expr::Expr, plan::PlannedClaim},
    log::{ActorId, EventKind, Log},
    world::{Overlap, World},
};

/// Whether an expression is true of what has happened so far.
///
/// # Errors
/// Says why it cannot be told.
pub fn holds(scenario: &Scenario, log: &Log, that: &Expr) -> Result<bool, String> {
    let facts = Arc::new(Facts::new(scenario, log));
    Ok(that.eval(facts.names(scenario))?.is_true())
}

/// Judges a finished run.
///
/// **Architecture Invariant:** the verdict is computed from the log and never scripted. A claim that does
/// not hold, or cannot even be evaluated, makes the outcome [`Outcome::NotShown`].
#[must_use]
pub fn judge(scenario: &Scenario, log: &Log) -> Verdict {
    let facts = Arc::new(Facts::new(scenario, log));
    let names = facts.names(scenario);
    let claims: Vec<ClaimResult> = scenario
        .claims
        .iter()
        .map(|claim| match claim {
            PlannedClaim::That {
                source,
                left,
                right,
                whole,
            } => {
                let observed = left.eval(names.clone());
                let holds = whole.eval(names.clone()).map(|value| value.is_true());
                let expected = match right {
                    None => "true".to_owned(),
                    Some((operator, right)) => {
                        let value = right
                            .eval(names.clone())
                            .map_or_else(|error| error, |value| show(&value));
                        if operator == "==" {
                            value
                        } else {
                            format!("{operator} {value}")
                        }
                    }
                };
                ClaimResult {
                    claim: source.clone(),
                    expected: alike(expected),
                    observed: match (&observed, &holds) {
                        (Ok(value), Ok(_)) if value.is_undefined() => Text {
                            en: "never replied".to_owned(),
                            zh: "从未收到回复".to_owned(),
                        },
                        (Ok(value), Ok(_)) => alike(show(value)),
                        (Err(error), _) | (_, Err(error)) => alike(error.clone()),
                    },
                    holds: holds.unwrap_or(false),
                    evidence: evidence(scenario, log, source),
                }
            }
            PlannedClaim::Lock(LockClaim::Overlap(lock)) => overlap(&facts, lock, true),
            PlannedClaim::Lock(LockClaim::Exclusive(lock)) => overlap(&facts, lock, false),
        })
        .collect();
    let outcome = match (claims.iter().all(|claim| claim.holds), scenario.variant().expect) {
        (true, Expect::Shown) => Outcome::Shown,
        (true, Expect::Prevented) => Outcome::Prevented,
        (false, _) => Outcome::NotShown,
    };
    Verdict { outcome, claims }
}

fn overlap(facts: &Facts, lock: &str, wanted: bool) -> ClaimResult {
    /// More stretches than anybody reads.
    const MOST: usize = 3;
    let world = facts.world();
    let overlaps: Vec<&Overlap> = world
        .overlaps
        .iter()
        .filter(|overlap| overlap.lock == lock)
        .collect();
    let held = world.actors.iter().any(|actor| {
        actor
            .all_spans()
            .any(|span| span.lock == lock && span.belief == crate::log::Belief::Holding)
    });
    let never = Text {
        en: "never two holders at once".to_owned(),
        zh: "任何时刻最多一个持有者".to_owned(),
    };
    let both = Text {
        en: "two holders at once".to_owned(),
        zh: "同时有两个持有者".to_owned(),
    };
    let observed = match &overlaps[..] {
        [_, ..] => {
            let all: Vec<Text> = overlaps
                .iter()
                .take(MOST)
                .map(|overlap| describe(world, overlap))
                .collect();
            let join =
                |pick: fn(&Text) -> &str, mark: &str| all.iter().map(pick).collect::<Vec<_>>().join(mark);
            let etc = if overlaps.len() > MOST { "; …" } else { "" };
            Text {
                en: format!("{}{etc}", join(|text| &text.en, "; ")),
                zh: format!("{}{etc}", join(|text| &text.zh, "；")),
            }
        }
        [] if held => never.clone(),
        [] => Text {
            en: "nobody ever held it".to_owned(),
            zh: "从来没有人持有过".to_owned(),
        },
    };
    ClaimResult {
        claim: format!("{}: {lock}", if wanted { "overlap" } else { "exclusive" }),
        expected: if wanted { both } else { never },
        observed,
        holds: if wanted {
            !overlaps.is_empty()
        } else {
            overlaps.is_empty() && held
        },
        evidence: overlaps.iter().map(|overlap| overlap.event).collect(),
    }
}

fn describe(world: &World, overlap: &Overlap) -> Text {
    let name = |actor: &ActorId| {
        world
            .actor(*actor)
            .map_or_else(String::new, |actor| actor.who.name.clone())
    };
    let names: Vec<String> = overlap.holders.iter().map(name).collect();
    let from = moment(overlap.from);
    let (end, zh_end) = match overlap.to {
        Some(to) => (moment(to), moment(to)),
        None => ("the end".to_owned(), "结束".to_owned()),
    };
    Text {
        en: format!("{} at once, from {from} to {end}", names.join(" and ")),
        zh: format!("{} 同时持有，从 {from} 到 {zh_end}", names.join("、")),
    }
}

/// A value needs no translation.
fn alike(value: String) -> Text {
    Text {
        en: value.clone(),
        zh: value,
    }
}

/// The replies and counts that a claim's text names: the events that somebody who doubts it should look at.
fn evidence(scenario: &Scenario, log: &Log, source: &str) -> Vec<usize> {
    /// More than a learner would look at.
    const MOST: usize = 20;
    let about = log
        .events()
        .iter()
        .enumerate()
        .filter(|(_, event)| match &event.kind {
            EventKind::Replied { actor, label, .. } => {
                let name = &scenario.actors[actor.0 as usize].actor.name;
                source.contains(&format!("{name}.{label}")) || source.contains(&format!("'{label}'"))
            }
            EventKind::Counted { counter, .. } => {
                source.split(|c: char| !c.is_alphanumeric()).any(|w| w == counter)
            }
            _ => false,
        });
    about.map(|(n, _)| n).take(MOST).collect()
}

/// A value as an author would write it in a claim.
fn show(value: &Value) -> String {
    if value.is_none() {
        return "nil".to_owned();
    }
    if let Ok(flag) = bool::try_from(value.clone()) {
        return flag.to_string();
    }
    match value.as_str() {
        Some(text) => format!("'{text}'"),
        None => value.to_string(),
    }
}
