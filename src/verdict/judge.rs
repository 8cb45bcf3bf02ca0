//! Evaluates claims.

use std::sync::Arc;

use minijinja::{Value, value::ValueKind};

use super::{
    ClaimResult, Outcome, Verdict,
    facts::{Facts, moment},
    watch::breaches,
};
use crate::{
    lesson::{
        Expect, LockClaim, Scenario,
        expr::Mentions,
        expr::{Expr, Template, within_allowance},
        plan::{ActorPlan, Condition, TextPlan},
    },
    log::{ActorId, Belief, EventKind, Log},
    text::Text,
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

/// Whether an expression is true of what has happened so far; it is not where it asks for what has not happened yet.
///
/// # Errors
/// Says why it cannot be told.
pub fn is_so(scenario: &Scenario, log: &Log, that: &Expr) -> Result<bool, String> {
    let facts = Arc::new(Facts::new(scenario, log));
    that.is_so(facts.names(scenario))
}

/// Judges a finished run.
///
/// **Architecture Invariant:** the verdict is computed from the log and never scripted. A claim that does
/// not hold, or cannot even be evaluated, makes the outcome [`Outcome::NotShown`]. So does, where the failure is to be
/// prevented, an invariant that was broken: each is listed as a claim that does not hold.
pub fn judge(scenario: &Scenario, log: &Log) -> Verdict {
    within_allowance(|| judged(scenario, log))
}

fn judged(scenario: &Scenario, log: &Log) -> Verdict {
    let facts = Arc::new(Facts::new(scenario, log));
    let names = facts.names(scenario);
    let prevented = scenario.variant().expect == Expect::Prevented;
    let broken = if prevented { broken(scenario, log) } else { Vec::new() };
    let claims: Vec<ClaimResult> = scenario
        .claims
        .iter()
        .map(|claim| {
            let says = claim.says.as_ref().map(|says| sentence(says, &names));
            let mut result = match &claim.condition {
                Condition::That { source, left, right, whole } => {
                    expression(scenario, (&facts, &names), source, (left, right.as_ref(), whole))
                }
                Condition::Lock(LockClaim::Overlap(lock)) => overlap(&facts, lock, true),
                Condition::Lock(LockClaim::Exclusive(lock)) => overlap(&facts, lock, false),
            };
            result.says = says;
            result
        })
        .chain(broken)
        .collect();
    let outcome = match claims.iter().all(|claim| claim.holds) {
        true if prevented => Outcome::Prevented,
        true => Outcome::Shown,
        false => Outcome::NotShown,
    };
    Verdict { outcome, claims }
}

/// The invariants that a run broke.
fn broken(scenario: &Scenario, log: &Log) -> Vec<ClaimResult> {
    let never = || Text { en: "never so".to_owned(), zh: "从未发生".to_owned() };
    let result = |claim: String, observed, evidence| ClaimResult {
        claim,
        says: None,
        expected: never(),
        observed,
        holds: false,
        evidence,
    };
    let breaches = match breaches(scenario, log) {
        Ok(breaches) => breaches,
        Err(error) => return vec![result("invariants".to_owned(), alike(error), Vec::new())],
    };
    let told = breaches.into_iter().map(|breach| {
        let plan = &scenario.invariants[breach.invariant];
        let at = moment(log.events()[breach.at].at);
        let observed =
            Text { en: format!("at {at}: {}", plan.says.en), zh: format!("{at}：{}", plan.says.zh) };
        result(format!("never: {}", plan.never), observed, breach.evidence)
    });
    told.collect()
}

/// A claim's sentence with its values filled in, or why that cannot be done.
fn sentence(says: &TextPlan, names: &Value) -> Text {
    let fill = |template: &Template| template.render(names).unwrap_or_else(|error| error);
    Text { en: fill(&says.en), zh: fill(&says.zh) }
}

fn expression(
    scenario: &Scenario,
    (facts, names): (&Facts, &Value),
    source: &str,
    (left, right, whole): (&Expr, Option<&(String, Expr)>, &Expr),
) -> ClaimResult {
    let observed = left.eval(names.clone());
    // The evidence is what the whole claim looked at, each event once.
    facts.take_trace();
    let holds = whole.eval(names.clone()).map(|value| value.is_true());
    let looked_at = facts.take_trace();
    let expected = match right {
        None => "true".to_owned(),
        Some((operator, right)) => {
            let value = right.eval(names.clone()).map_or_else(|error| error, |value| show(&value));
            if operator == "==" { value } else { format!("{operator} {value}") }
        }
    };
    ClaimResult {
        claim: source.to_owned(),
        says: None,
        expected: alike(expected),
        observed: match (&observed, &holds) {
            (Ok(value), Ok(_)) if value.is_undefined() => {
                Text { en: "never replied".to_owned(), zh: "从未收到回复".to_owned() }
            }
            (Ok(value), Ok(_)) => alike(show(value)),
            (Err(error), _) | (_, Err(error)) => alike(error.clone()),
        },
        holds: holds.unwrap_or(false),
        evidence: looked_at.into_iter().chain(counted(scenario, &facts.log, source)).collect(),
    }
}

fn overlap(facts: &Facts, lock: &str, wanted: bool) -> ClaimResult {
    /// More stretches than anybody reads.
    const MOST: usize = 3;
    let world = &facts.world;
    let overlaps: Vec<&Overlap> =
        world.holding.overlaps().iter().filter(|overlap| overlap.lock == lock).collect();
    let held = !world.holding.most(lock).is_empty();
    let never = Text {
        en: "never two holders at once".to_owned(), zh: "任何时刻最多一个持有者".to_owned()
    };
    let both = Text { en: "two holders at once".to_owned(), zh: "同时有两个持有者".to_owned() };
    let observed = match &overlaps[..] {
        [_, ..] => {
            let all: Vec<Text> = overlaps.iter().take(MOST).map(|overlap| describe(world, overlap)).collect();
            let join =
                |pick: fn(&Text) -> &str, mark: &str| all.iter().map(pick).collect::<Vec<_>>().join(mark);
            let etc = if overlaps.len() > MOST { "; …" } else { "" };
            Text {
                en: format!("{}{etc}", join(|text| &text.en, "; ")),
                zh: format!("{}{etc}", join(|text| &text.zh, "；")),
            }
        }
        [] if held => never.clone(),
        [] => Text { en: "nobody ever held it".to_owned(), zh: "从来没有人持有过".to_owned() },
    };
    ClaimResult {
        claim: format!("{}: {lock}", if wanted { "overlap" } else { "exclusive" }),
        says: None,
        expected: if wanted { both } else { never },
        observed,
        holds: if wanted { !overlaps.is_empty() } else { overlaps.is_empty() && held },
        evidence: if overlaps.is_empty() {
            held_one_after_another(facts, lock)
        } else {
            overlaps.iter().map(|overlap| overlap.event).collect()
        },
    }
}

fn describe(world: &World, overlap: &Overlap) -> Text {
    let name = |actor: &ActorId| world.actor(*actor).map_or_else(String::new, |actor| actor.who.name.clone());
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
    Text { en: value.clone(), zh: value }
}

/// Who began and ceased to hold a lock that never had two holders.
fn held_one_after_another(facts: &Facts, lock: &str) -> Vec<usize> {
    let held = |kind: &EventKind| matches!(kind, EventKind::Believes { lock: known, belief: Belief::Holding | Belief::Nothing, .. } if known == lock);
    let events = facts.log.events().iter().enumerate();
    events.filter(|(_, event)| held(&event.kind)).map(|(n, _)| n).collect()
}

/// The events that made the counters what they are which a claim's text names.
pub(crate) fn counted(scenario: &Scenario, log: &Log, source: &str) -> Vec<usize> {
    let mentions = Mentions::of(source);
    let known = |counter: &String| {
        let counts = |plan: &ActorPlan| plan.program.counters.contains(counter);
        mentions.names(counter) && scenario.actors.iter().any(counts)
    };
    let events = log.events().iter().enumerate();
    events
        .filter(|(_, event)| matches!(&event.kind, EventKind::Counted { counter, .. } if known(counter)))
        .map(|(n, _)| n)
        .collect()
}

/// A value as an author would write it in a claim.
fn show(value: &Value) -> String {
    if value.is_none() {
        return "nil".to_owned();
    }
    if let Ok(flag) = bool::try_from(value.clone()) {
        return flag.to_string();
    }
    if let Some(text) = value.as_str() {
        return format!("'{text}'");
    }
    match value.try_iter() {
        Ok(items) if value.kind() == ValueKind::Seq => {
            let items: Vec<String> = items.map(|item| show(&item)).collect();
            format!("[{}]", items.join(", "))
        }
        _ => value.to_string(),
    }
}
