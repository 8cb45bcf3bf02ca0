//! Watches invariants while a run goes on, or in a finished log. Pure.
//!
//! - An `overlap` is a breach at the event that gave the lock one holder too many.
//! - An expression is evaluated at every stop, because between two stops a step is incomplete: the reply is in, but the
//!   server's state has not been read yet. If it has become true, the breach is dated to the first event of that step
//!   after which it is true. While time passes in a step, an expression about a state is also evaluated whenever a key
//!   expires, because it may be true for that moment only; but not once something was sent in that step. In free play
//!   expressions are also evaluated before the first choice. A log without stops, such as that of a race, is evaluated
//!   at its end.
//!
//! Each invariant is reported once, at its first breach, and once more when that has ended. An expression about a
//! state, or about how much of something was done, lasts until a stop at which it is false; one about what was done
//! ends with its step. What a client did to another's key is reported each time.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use serde::Serialize;

use super::{facts::Facts, judge::counted, why};
use crate::{
    clock::LessonTime,
    lesson::{
        Scenario,
        expr::{
            Expr, Mentions,
            mentions::{joined, split_comparison},
            within_allowance,
        },
        plan::{NeverPlan, STATE_FUNCTIONS},
    },
    log::{Event, EventKind, Log, stands_for},
    world::Holding,
};

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// Index into [`Scenario::invariants`].
    pub invariant: usize,
    /// The index of the event that broke it.
    pub at: usize,
    /// The events that prove it, as indices into the log, in order.
    pub evidence: Vec<usize>,
}

#[derive(Debug)]
pub struct Watch {
    /// The number of events read so far.
    position: usize,
    holding: Holding,
    /// The facts for expressions: everything up to the last stop. `None` if there are no expressions.
    facts: Option<Arc<Facts>>,
    /// For each invariant, whether its first breach was found, or it cannot be evaluated.
    settled: Vec<bool>,
    /// Breaches found but not reported yet because of an error in another invariant.
    found: Vec<Breach>,
    /// The expressions that are still true since their breach.
    lasting: Vec<usize>,
    /// The expressions that are no longer true.
    ended: Vec<Ended>,
}

/// The end of a breach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) invariant: usize,
    /// The last event before the end was found.
    pub(crate) known: usize,
    /// The event that ended it; `None` if it ended with its step.
    pub(crate) since: Option<usize>,
}

impl Watch {
    pub fn new(scenario: &Scenario) -> Self {
        let asks = |plan: &NeverPlan| matches!(plan, NeverPlan::That(_));
        let any = scenario.invariants.iter().any(|invariant| asks(&invariant.never));
        Self {
            position: 0,
            holding: Holding::default(),
            facts: any.then(|| Arc::new(Facts::empty(scenario))),
            settled: vec![false; scenario.invariants.len()],
            found: Vec::new(),
            lasting: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Returns the breaches that have ended since the last call.
    pub(crate) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// Reads the new events of the log, which may only have grown since the last call, and returns the first breaches
    /// among them, in the order in which they happened. Takes time in proportion to the new events.
    ///
    /// # Errors
    /// An expression cannot be evaluated. It is not evaluated again, and the others continue: breaches found meanwhile
    /// are reported by the next call.
    pub fn advance(&mut self, scenario: &Scenario, log: &Log) -> Result<Vec<Breach>, String> {
        let mut result = Ok(());
        for n in self.position..log.len() {
            let event = &log.events()[n];
            self.position = n + 1;
            if matches!(event.kind, EventKind::Chose(_)) && self.is_initial(log, n) {
                result = result.and(self.evaluate(scenario, log, n));
            }
            self.check_overlap(scenario, n, event);
            if matches!(event.kind, EventKind::Stop { .. }) {
                result = result.and(self.evaluate(scenario, log, n + 1));
            }
        }
        result.map(|()| self.take_found())
    }

    /// Reads the new events, and evaluates expressions at once, as if a stop came next.
    pub fn look(&mut self, scenario: &Scenario, log: &Log) -> Result<Vec<Breach>, String> {
        let mut found = self.advance(scenario, log)?;
        self.evaluate(scenario, log, log.len())?;
        found.extend(self.take_found());
        Ok(found)
    }

    fn take_found(&mut self) -> Vec<Breach> {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|breach| (breach.at, breach.invariant));
        found
    }

    fn check_overlap(&mut self, scenario: &Scenario, index: usize, event: &Event) {
        let before = self.holding.overlaps().len();
        self.holding.take(index, event);
        let Some(overlap) = self.holding.overlaps().get(before) else { return };
        for (n, invariant) in scenario.invariants.iter().enumerate() {
            let watched =
                matches!(&invariant.never, NeverPlan::Overlap(name) if stands_for(name, &overlap.lock));
            if watched && !std::mem::replace(&mut self.settled[n], true) {
                self.found.push(Breach { invariant: n, at: index, evidence: overlap.evidence.clone() });
            }
        }
    }

    /// Whether no expression was evaluated yet although the servers have been observed: then the initial state can be
    /// judged.
    fn is_initial(&self, log: &Log, end: usize) -> bool {
        let unasked = self.facts.as_ref().is_some_and(|facts| facts.log.is_empty());
        let seen = |event: &Event| matches!(event.kind, EventKind::State(_));
        unasked && log.events()[..end].iter().any(seen)
    }

    fn evaluate(&mut self, scenario: &Scenario, log: &Log, end: usize) -> Result<(), String> {
        within_allowance(|| self.evaluate_all(scenario, log, end))
    }

    fn evaluate_all(&mut self, scenario: &Scenario, log: &Log, end: usize) -> Result<(), String> {
        let Some(facts) = &mut self.facts else { return Ok(()) };
        let before = facts.log.len();
        if before == end {
            return Ok(());
        }
        let lasted = self.lasting.len();
        let (settled, found) = (&mut self.settled, &mut self.found);
        let mut on_the_way = |facts: &Arc<Facts>, event: usize| {
            for (n, invariant) in scenario.invariants.iter().enumerate() {
                let NeverPlan::That(expr) = &invariant.never else { continue };
                if !settled[n] && is_about_state(expr) && expr.is_so(facts.names(scenario)) == Ok(true) {
                    settled[n] = true;
                    let mut evidence = evidence(scenario, log, expr, event);
                    evidence.push(event);
                    found.push(Breach { invariant: n, at: event, evidence });
                    self.lasting.push(n);
                }
            }
        };
        extend(facts, scenario, log, (before, end), &mut on_the_way);
        let mut result = Ok(());
        for (n, invariant) in scenario.invariants.iter().enumerate() {
            let NeverPlan::That(expr) = &invariant.never else { continue };
            if self.settled[n] {
                if is_about_others_keys(expr) && expr.is_so(facts.names(scenario)) == Ok(true) {
                    let mut evidence = evidence(scenario, log, expr, end);
                    evidence.retain(|event| *event >= before);
                    if let Some(at) = evidence.last().copied() {
                        self.found.push(Breach { invariant: n, at, evidence });
                        self.lasting.push(n);
                    }
                }
                continue;
            }
            match expr.is_so(facts.names(scenario)) {
                Ok(false) => {}
                Ok(true) => {
                    self.settled[n] = true;
                    // In the middle of a step the expression may not be evaluable yet: that counts as false.
                    let is_so = |facts: &Arc<Facts>| expr.is_so(facts.names(scenario)).unwrap_or(false);
                    let first = first_true((before, end), |end| {
                        is_so(&Arc::new(Facts::untraced(scenario, &log.events()[..end])))
                    });
                    let evidence = evidence(scenario, log, expr, first);
                    self.found.push(Breach { invariant: n, at: first - 1, evidence });
                    self.lasting.push(n);
                }
                Err(error) => {
                    self.settled[n] = true;
                    result = result.and(Err(error));
                }
            }
        }
        self.find_ended(scenario, log, (before, end), lasted);
        result
    }

    /// Finds the breaches that have ended. An expression that cannot be evaluated any more counts as lasting. The first
    /// `lasted` of them began before this step.
    fn find_ended(&mut self, scenario: &Scenario, log: &Log, (before, end): (usize, usize), lasted: usize) {
        let Some(facts) = self.facts.as_mut().filter(|_| !self.lasting.is_empty()) else { return };
        writable(facts, scenario, log, end).only_lasting_waits = true;
        let lasting = |n: usize| match &scenario.invariants[n].never {
            NeverPlan::That(expr) => {
                Some(expr).filter(|expr| is_about_state(expr) || is_about_amounts(scenario, expr))
            }
            NeverPlan::Overlap(_) => None,
        };
        let is_over = |expr: &Expr, facts: &Arc<Facts>| expr.is_so(facts.names(scenario)) == Ok(false);
        let ended_since = |n: usize, is_new: bool| match lasting(n) {
            None => Some(None),
            Some(expr) if !is_over(expr, facts) => None,
            // A breach that began in this step lasts to the end of the step.
            Some(_) if is_new => Some(None),
            Some(expr) => Some(Some(
                first_true((before, end), |end| {
                    let mut facts = Facts::untraced(scenario, &log.events()[..end]);
                    facts.only_lasting_waits = true;
                    is_over(expr, &Arc::new(facts))
                }) - 1,
            )),
        };
        let mut known = 0;
        let ended = &mut self.ended;
        self.lasting.retain(|invariant| {
            known += 1;
            let since = ended_since(*invariant, known > lasted);
            ended.extend(since.map(|since| Ended { invariant: *invariant, known: end - 1, since }));
            since.is_none()
        });
    }
}

/// A moment must last longer than this to count. Time passes a little further than to the end of a wait, so what ends
/// together ends some milliseconds apart.
const BRIEF: Duration = Duration::from_millis(10);

/// Those of some moments before `end` after which nothing changes for longer than `brief`.
pub(crate) fn lasting(
    moments: &BTreeSet<LessonTime>,
    end: LessonTime,
    brief: Duration,
) -> impl Iterator<Item = LessonTime> {
    let next = moments.iter().copied().skip(1).chain([end]);
    moments
        .iter()
        .copied()
        .zip(next)
        .filter(move |(moment, next)| next.since(*moment) > brief)
        .map(|(moment, _)| moment)
}

/// Adds events to the facts. Calls `at_expiry` at each moment at which a key expires between two of them, with the facts
/// of that moment and the index of the later event.
fn extend(
    facts: &mut Arc<Facts>,
    scenario: &Scenario,
    log: &Log,
    (from, to): (usize, usize),
    at_expiry: &mut impl FnMut(&Arc<Facts>, usize),
) {
    writable(facts, scenario, log, from).only_lasting_waits = false;
    let mut sent = false;
    for n in from..to {
        let event = &log.events()[n];
        let moments = if sent { BTreeSet::new() } else { facts.expiries(event.at) };
        for moment in lasting(&moments, event.at, BRIEF) {
            writable(facts, scenario, log, n).world.now = moment;
            at_expiry(facts, n);
        }
        sent |= matches!(event.kind, EventKind::Sent { .. });
        writable(facts, scenario, log, n).extend(std::slice::from_ref(event));
    }
}

fn is_about_state(expr: &Expr) -> bool {
    expr.mentions().calls.iter().any(|call| STATE_FUNCTIONS.contains(&&*call.function))
}

/// Whether an expression counts what clients did to keys that others had set.
fn is_about_others_keys(expr: &Expr) -> bool {
    expr.mentions().calls.iter().any(|call| call.function.ends_with("_by_another"))
}

/// Whether an expression compares a counter with more than zero, unlike `refused > 0`: that a bill was paid twice stays
/// true later.
fn is_about_amounts(scenario: &Scenario, expr: &Expr) -> bool {
    let is_counter = |name: &str| scenario.counters.contains(name);
    let amounts = joined(expr.source()).into_iter().filter(|part| {
        split_comparison(part).is_none_or(|(_, comparison, most)| (comparison, most) != (">", "0"))
    });
    amounts.flat_map(|part| Mentions::of(part).paths).any(|path| is_counter(&path[0]))
}

/// Facts that can be changed; if values made of the old facts still exist, new facts of the first `end` events.
fn writable<'f>(facts: &'f mut Arc<Facts>, scenario: &Scenario, log: &Log, end: usize) -> &'f mut Facts {
    if Arc::get_mut(facts).is_none() {
        *facts = Arc::new(Facts::untraced(scenario, &log.events()[..end]));
    }
    let facts = Arc::get_mut(facts).expect("nobody else has them");
    facts.tracing = false;
    facts
}

/// The first breach of every invariant that a log breaks, in the order in which they were broken.
pub fn breaches(scenario: &Scenario, log: &Log) -> Result<Vec<Breach>, String> {
    let mut found = Watch::new(scenario).look(scenario, log)?;
    let mut seen = HashSet::new();
    found.retain(|breach| seen.insert(breach.invariant));
    Ok(found)
}

pub(crate) fn recorded(scenario: &Scenario, log: &Log, breach: Breach) -> EventKind {
    EventKind::Breached {
        invariant: breach.invariant,
        says: scenario.invariants[breach.invariant].says.clone(),
        why: why::explain(scenario, log, &breach).map(|why| why.text),
        evidence: breach.evidence,
        since: Some(breach.at),
    }
}

/// Adds breaches and their ends to the events of a story that was recorded before stories recorded these: each before
/// the stop at which it is found. `None` if there is nothing to add.
pub(crate) fn with_breaches(scenario: &Scenario, log: &Log) -> Option<Vec<Event>> {
    let events = || log.events().iter().map(|event| &event.kind);
    if events().any(|kind| matches!(kind, EventKind::BreachEnded { .. })) {
        return None;
    }
    let mut watch = Watch::new(scenario);
    let mut found = watch.look(scenario, log).ok().filter(|found| !found.is_empty())?;
    let begun: HashMap<usize, usize> = found.iter().map(|breach| (breach.invariant, breach.at)).collect();
    if events().any(|kind| matches!(kind, EventKind::Breached { .. })) {
        found.clear();
    }
    let undated = |kind: &EventKind| matches!(kind, EventKind::Breached { since: None, .. });
    let mut ended = watch.take_ended();
    if found.is_empty() && ended.is_empty() && !events().any(undated) {
        return None;
    }
    let mut events: Vec<Event> = Vec::with_capacity(log.len() + found.len() + ended.len());
    // The new index of each event: breaches are inserted before some.
    let mut places = Vec::with_capacity(log.len());
    let moved = |to: &[usize], mut kind: EventKind| {
        let place = |event: usize| to.get(event).copied().unwrap_or(event);
        match &mut kind {
            EventKind::Breached { invariant, evidence, since, .. } => {
                for proof in evidence {
                    *proof = place(*proof);
                }
                *since = since.or_else(|| begun.get(invariant).copied()).map(place);
            }
            EventKind::BreachEnded { since, .. } => *since = since.map(place),
            _ => {}
        }
        kind
    };
    for (n, event) in log.events().iter().enumerate() {
        while matches!(event.kind, EventKind::Stop { .. })
            && let Some(breach) = found.first().filter(|breach| breach.at <= n)
        {
            let kind = moved(&places, recorded(scenario, log, breach.clone()));
            events.push(Event { at: event.at, kind });
            found.remove(0);
        }
        if matches!(event.kind, EventKind::Stop { .. }) {
            for Ended { invariant, since, .. } in ended.extract_if(.., |ended| ended.known <= n) {
                let kind = moved(&places, EventKind::BreachEnded { invariant, since });
                events.push(Event { at: event.at, kind });
            }
        }
        places.push(events.len());
        events.push(Event { at: event.at, kind: moved(&places, event.kind.clone()) });
    }
    Some(events)
}

/// The length of the shortest prefix for which `is_so`, given that it is false for `no` events and true for `yes`. By
/// bisection: a step may have thousands of events.
fn first_true((mut no, mut yes): (usize, usize), is_so: impl Fn(usize) -> bool) -> usize {
    while yes - no > 1 {
        let middle = usize::midpoint(no, yes);
        if is_so(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    yes
}

fn evidence(scenario: &Scenario, log: &Log, expr: &Expr, end: usize) -> Vec<usize> {
    let log = log.prefix(end);
    let facts = Arc::new(Facts::new(scenario, &log));
    let names = facts.names(scenario);
    // The expression is known to be true; this evaluation only records its evidence.
    let _ = expr.is_so(names);
    let mut events = facts.take_trace();
    events.extend(counted(scenario, &log, expr.source()));
    events.into_iter().collect()
}

#[cfg(test)]
mod tests;
