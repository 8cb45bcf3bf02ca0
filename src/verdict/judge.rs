//! Evaluates claims.

use std::sync::Arc;

use minijinja::{Value, value::ValueKind};

use super::{ClaimResult, Outcome, Verdict, facts::Facts, key_history::KeyHistory, watch::breaches};
use crate::{
    clock::LessonTime,
    lesson::{
        Expect, Scenario,
        expr::{
            Expr, Mentions, Template,
            mentions::{joined, split_comparison},
            within_allowance,
        },
        plan::{Condition, TextPlan},
    },
    log::{ActorId, Belief, Capacity, EventKind, Log, stands_for},
    text::Text,
    world::{Overlap, World},
};

/// Whether an expression is true of the log so far; false if it depends on what has not happened yet.
pub fn is_so(scenario: &Scenario, log: &Log, that: &Expr) -> Result<bool, String> {
    that.is_so(Arc::new(Facts::untraced(scenario, log.events())).names(scenario))
}

/// As [`is_so`], for a log that lacks the earlier commands on keys: `history` has those.
pub(crate) fn is_so_after(
    scenario: &Scenario,
    log: &Log,
    history: Option<&KeyHistory>,
    that: &Expr,
) -> Result<bool, String> {
    let mut facts = Facts::untraced(scenario, log.events());
    if let Some(history) = history {
        facts.replace_key_history(history.clone());
    }
    that.is_so(Arc::new(facts).names(scenario))
}

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// As an author would write it.
    pub text: Text,
    pub json: serde_json::Value,
    /// The events that it is based on, as indices into the log.
    pub evidence: Vec<usize>,
}

/// Evaluates an expression over the log.
///
/// # Errors
/// The expression cannot be evaluated, for instance because it needs an event that never happened.
pub fn value(scenario: &Scenario, log: &Log, expr: &Expr) -> Result<Found, String> {
    within_allowance(|| {
        let facts = Arc::new(Facts::new(scenario, log));
        let value = expr.eval(facts.names(scenario))?;
        let text = if value.is_undefined() { never_replied() } else { show(&value).into() };
        let mut evidence = facts.take_trace();
        evidence.extend(counted(scenario, log, expr.source()));
        let json = serde_json::to_value(&value).unwrap_or_default();
        Ok(Found { text, json, evidence: evidence.into_iter().collect() })
    })
}

fn never_replied() -> Text {
    Text::new("never replied", "从未收到回复")
}

/// Judges a finished run.
///
/// **Architecture Invariant:** the verdict is computed from the log and never scripted. A claim that does not hold, or
/// cannot even be evaluated, makes the outcome [`Outcome::NotShown`]. In a variant that prevents the failure a broken
/// invariant does so, too: each is listed as a claim that does not hold.
pub fn judge(scenario: &Scenario, log: &Log) -> Verdict {
    within_allowance(|| judged(scenario, log))
}

fn judged(scenario: &Scenario, log: &Log) -> Verdict {
    let facts = Arc::new(Facts::new(scenario, log));
    let names = facts.names(scenario);
    let prevented = scenario.variant().expects() == Expect::Prevented;
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
                Condition::Overlap(lock) => overlap(scenario, &facts, lock, true),
                Condition::Exclusive(lock) => overlap(scenario, &facts, lock, false),
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

fn broken(scenario: &Scenario, log: &Log) -> Vec<ClaimResult> {
    let result = |claim: String, observed, evidence| ClaimResult {
        claim,
        says: None,
        expected: Text::new("never so", "从未发生"),
        observed,
        holds: false,
        evidence,
    };
    let breaches = match breaches(scenario, log) {
        Ok(breaches) => breaches,
        Err(error) => return vec![result("invariants".to_owned(), error.into(), Vec::new())],
    };
    let broken = breaches.into_iter().map(|breach| {
        let plan = &scenario.invariants[breach.invariant];
        let at = log.events()[breach.at].at.brief();
        let observed = Text::new(format!("at {at}: {}", plan.says.en), format!("{at}：{}", plan.says.zh));
        result(format!("never: {}", plan.never), observed, breach.evidence)
    });
    broken.collect()
}

/// A claim's sentence with its values filled in, or the error.
fn sentence(says: &TextPlan, names: &Value) -> Text {
    let fill = |template: &Template| template.render(names).unwrap_or_else(|error| error);
    Text::new(fill(&says.en), fill(&says.zh))
}

fn expression(
    scenario: &Scenario,
    (facts, names): (&Facts, &Value),
    source: &str,
    (left, right, whole): (&Expr, Option<&(String, Expr)>, &Expr),
) -> ClaimResult {
    let pairs = chain(source, names);
    let observed = left.eval(names.clone());
    // Clears the trace, so that the evidence is that of the whole claim, each event once.
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
        expected: match &pairs {
            Some(_) => Text::new("each pair so", "每一对都成立"),
            None => expected.into(),
        },
        observed: match (&observed, &holds) {
            (Ok(_), Ok(_)) if pairs.is_some() => pairs.unwrap_or_default(),
            (Ok(value), Ok(_)) if value.is_undefined() => never_replied(),
            (Ok(value), Ok(_)) => show(value).into(),
            (Err(error), _) | (_, Err(error)) => error.as_str().into(),
        },
        holds: holds.unwrap_or(false),
        evidence: looked_at.into_iter().chain(counted(scenario, &facts.log, source)).collect(),
    }
}

/// The pairs of a chain `0 < a < b`, with their values and whether each is so; `None` for another expression.
fn chain(source: &str, names: &Value) -> Option<Text> {
    split_comparison(source)?;
    let parts = joined(source);
    let pair = |part: &&str| {
        let (left, operator, right) = split_comparison(part)?;
        let value = |source: &str| Expr::parse(source).ok()?.eval(names.clone()).ok();
        let is_so = value(part)?.is_true();
        let words = format!("{} {operator} {}", show(&value(left)?), show(&value(right)?));
        Some(if is_so {
            words.into()
        } else {
            Text::new(format!("not {words}"), format!("不成立：{words}"))
        })
    };
    let pairs: Vec<Text> = parts.iter().map(pair).collect::<Option<_>>()?;
    (parts.len() > 1).then(|| Text::join(&pairs, ", ", "，"))
}

fn overlap(scenario: &Scenario, facts: &Facts, lock: &str, wanted: bool) -> ClaimResult {
    /// The most stretches that are listed.
    const MOST: usize = 3;
    let holding = &facts.world.holding;
    let overlaps: Vec<&Overlap> = holding.overlaps_of(lock).collect();
    let held = !holding.most(lock).is_empty();
    let (some, never) = match scenario.capacity(lock) {
        Capacity::Holders(1) => (
            Text::new("two holders at once", "同时有两个持有者"),
            Text::new("never two holders at once", "任何时刻最多一个持有者"),
        ),
        Capacity::Holders(most) => (
            Text::new(format!("more than {most} holders at once"), format!("同时有超过 {most} 个持有者")),
            Text::new(
                format!("never more than {most} holders at once"),
                format!("任何时刻最多 {most} 个持有者"),
            ),
        ),
        Capacity::ReadWrite => (
            Text::new("an exclusive holder beside another", "独占期间另有持有者"),
            Text::new("never an exclusive holder beside another", "独占期间从无其他持有者"),
        ),
    };
    let observed = match &overlaps[..] {
        [_, ..] => {
            let all = overlaps.iter().take(MOST).map(|overlap| describe(&facts.world, overlap));
            let mut observed = Text::join(&all.collect::<Vec<_>>(), "; ", "；");
            if overlaps.len() > MOST {
                observed.en.push_str("; …");
                observed.zh.push_str("; …");
            }
            observed
        }
        [] if held => never.clone(),
        [] => Text::new("nobody ever held it", "从来没有人持有过"),
    };
    ClaimResult {
        claim: format!("{}: {lock}", if wanted { "overlap" } else { "exclusive" }),
        says: None,
        expected: if wanted { some } else { never },
        observed,
        holds: if wanted { !overlaps.is_empty() } else { overlaps.is_empty() && held },
        evidence: if overlaps.is_empty() {
            // If the lock never had too many holders: the events in which actors began and ceased to hold it.
            let held = |kind: &EventKind| matches!(kind, EventKind::Believes { lock: known, belief, .. } if stands_for(lock, known) && (belief.holds() || *belief == Belief::Nothing));
            facts.events(held).collect()
        } else {
            overlaps.iter().map(|overlap| overlap.event).collect()
        },
    }
}

fn describe(world: &World, overlap: &Overlap) -> Text {
    let name = |actor: &ActorId| Some(world.actor(*actor)?.who.name.as_str());
    let names: Vec<&str> = overlap.holders.iter().filter_map(name).collect();
    let from = overlap.from.brief();
    let to = overlap.apart.map(LessonTime::brief);
    if to.as_ref() == Some(&from) {
        let (en, zh) = (names.join(" and "), names.join("、"));
        return Text::new(
            format!("{en} at once, for a moment at {from}"),
            format!("{zh} 在 {from} 一度同时持有"),
        );
    }
    let to = to.map_or_else(|| Text::new("the end", "结束"), |to| Text::new(&to, format!(" {to}")));
    Text::new(
        format!("{} at once, from {from} to {}", names.join(" and "), to.en),
        format!("{} 同时持有，从 {from} 到{}", names.join("、"), to.zh),
    )
}

/// The events that changed the counters mentioned in a claim.
pub(crate) fn counted(scenario: &Scenario, log: &Log, source: &str) -> Vec<usize> {
    let mentions = Mentions::of(source);
    let known = |counter: &String| mentions.names(counter) && scenario.counters.contains(counter);
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
