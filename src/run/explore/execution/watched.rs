//! Invariants, asked after every step of an order that is explored in process.
//!
//! An expression that asks only for counters and for keys by their names is asked again only when one of these has
//! changed, and each answer is kept. One that asks what was done to a key (`orphaned`, `deleted_by_another`,
//! `renewed_by_another`) is asked of a log, when somebody may have done something to it. Of any other, nothing is known
//! but that any move may change it.

use std::{collections::HashMap, sync::Arc};

use super::tracked::Names;
use crate::{
    clock::LessonTime,
    lesson::{
        Scenario,
        expr::Expr,
        plan::{FUNCTIONS, NeverPlan},
    },
    log::{ActorId, Event, EventKind, Log, ServerState},
    verdict,
};

/// All that is asked after a step.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    pub(crate) expressions: Arc<[Watch]>,
}

/// One expression.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    /// Its number among the invariants.
    pub(crate) invariant: usize,
    expr: Expr,
    /// What it reads, where that is known.
    pub(crate) reads: Option<Reads>,
    /// Whether counters and keys as they are now are not enough to answer it.
    pub(crate) wants_log: bool,
}

/// What an expression reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Counters, by number.
    pub(crate) counters: Vec<usize>,
    /// Keys, of this server or of any.
    pub(crate) keys: Vec<(String, Option<String>)>,
    /// Keys of whose history it asks.
    past: Vec<String>,
    /// Whether it asks who has come to an end.
    ends: bool,
}

/// What of a step an expression may have to do with.
#[derive(Debug, Default)]
pub(crate) struct Changed<'c> {
    pub(crate) counted: &'c [usize],
    pub(crate) written: &'c [Arc<str>],
    /// Keys that something may have been done to, be it without a trace.
    pub(crate) handled: &'c [Arc<str>],
    /// Time has passed, or a fault has happened.
    pub(crate) all: bool,
    /// Somebody's program has ended.
    pub(crate) ended: bool,
}

impl Watched {
    pub(crate) fn new(scenario: &Scenario, names: &Names) -> Self {
        let invariants = scenario.invariants.iter().enumerate();
        let expressions = invariants.filter_map(|(n, plan)| match &plan.never {
            NeverPlan::That(expr) => Some((n, expr.clone())),
            NeverPlan::Overlap(_) => None,
        });
        let watch = |(invariant, expr): (usize, Expr)| {
            let reads = Reads::of(scenario, names, &expr);
            let of_now = |reads: &Reads| reads.past.is_empty() && !reads.ends;
            Watch { invariant, wants_log: !reads.as_ref().is_some_and(of_now), reads, expr }
        };
        Self { expressions: expressions.map(watch).collect() }
    }

    /// Whether any needs a whole log.
    pub(crate) fn wants_log(&self) -> bool {
        self.expressions.iter().any(|watch| watch.wants_log)
    }

    /// Whether any asks for keys.
    pub(crate) fn wants_keys(&self) -> bool {
        let asks = |watch: &Watch| {
            watch.wants_log || watch.reads.as_ref().is_none_or(|reads| !reads.keys.is_empty())
        };
        self.expressions.iter().any(asks)
    }
}

impl Reads {
    /// Parameters, counters, and functions of keys that are named by their words: anything else may read anything.
    fn of(scenario: &Scenario, names: &Names, expr: &Expr) -> Option<Self> {
        const OF_KEYS: [&str; 6] =
            ["value", "pttl", "exists", "orphaned", "deleted_by_another", "renewed_by_another"];
        let mentions = expr.mentions();
        let mut counters = Vec::new();
        for name in expr.names() {
            // Of several things with one name, an expression means the first of these.
            if FUNCTIONS.contains(&name.as_str()) {
                if !OF_KEYS.contains(&name.as_str()) {
                    return None;
                }
            } else if scenario.actors.iter().any(|plan| {
                let own = &plan.actor.name;
                *own == name || own.split_once('.').is_some_and(|(process, _)| process == name)
            }) {
                return None;
            } else if let Some(n) = names.counters.iter().position(|known| *known == name) {
                counters.push(n);
            } else if scenario.scope.get(&name).is_none() {
                return None;
            }
        }
        let mut reads = Self { counters, keys: Vec::new(), past: Vec::new(), ends: false };
        for function in OF_KEYS {
            let asked = mentions.keys_of(function);
            // One that is asked about a key that is not quoted, or that is not called, may read any.
            if asked.len() != mentions.paths.iter().filter(|path| path[0] == function).count() {
                return None;
            }
            reads.ends |= function == "orphaned" && !asked.is_empty();
            // Whoever sets a key to what it holds already has set it all the same.
            if function == "orphaned" || function.ends_with("_by_another") {
                reads.past.extend(asked.iter().map(|(key, _)| key.clone()));
            }
            if !function.ends_with("_by_another") {
                reads.keys.extend(asked);
            }
        }
        Some(reads)
    }

    /// Whether a step may have changed the answer.
    pub(crate) fn changed_by(&self, changed: &Changed<'_>) -> bool {
        let is = |cell: &str, key: &str, server: Option<&str>| {
            cell.strip_suffix(key)
                .and_then(|before| before.strip_suffix(' '))
                .is_some_and(|of| server.is_none_or(|server| server == of))
        };
        let names_key = |cell: &Arc<str>| {
            let mut keys = self.keys.iter();
            keys.any(|(key, server)| is(cell, key, server.as_deref()))
        };
        let had = |cell: &Arc<str>| self.past.iter().any(|key| is(cell, key, None));
        changed.counted.iter().any(|counter| self.counters.contains(counter))
            || changed.written.iter().any(names_key)
            || changed.handled.iter().any(had)
            || changed.ended && self.ends
            || changed.all && !(self.keys.is_empty() && self.past.is_empty())
    }
}

impl Watch {
    /// Whether it is true, of what was counted and what the servers hold.
    pub(crate) fn holds(
        &self,
        scenario: &Scenario,
        opening: &EventKind,
        counts: &[(String, i64)],
        (at, states): (LessonTime, &[ServerState]),
    ) -> Result<bool, String> {
        let mut log = Log::new();
        let mut append = |kind| log.append(Event { at, kind });
        append(opening.clone());
        for (counter, by) in counts {
            append(EventKind::Counted { actor: ActorId(0), counter: counter.clone(), by: *by });
        }
        for state in states {
            append(EventKind::State(state.clone()));
        }
        self.holds_in(scenario, &log)
    }

    /// Whether it is true of a whole log.
    pub(crate) fn holds_in(&self, scenario: &Scenario, log: &Log) -> Result<bool, String> {
        verdict::is_so(scenario, log, &self.expr)
    }
}

/// Answers that are known.
pub(crate) type Answers = HashMap<Question, bool>;

/// All that an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) watch: usize,
    pub(crate) counts: Vec<i64>,
    pub(crate) entries: Vec<Option<super::keyspace::Entry>>,
    /// The time, where keys end.
    pub(crate) at: Option<LessonTime>,
}
