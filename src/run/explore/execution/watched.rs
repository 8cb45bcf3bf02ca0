//! Invariants that are evaluated after every step of an order that is explored in process.
//!
//! An expression that reads only counters, and keys by their names, is evaluated again only when one of these
//! has changed, and each answer is cached. One that reads the history of a key (`orphaned`,
//! `deleted_by_another`, `renewed_by_another`) is evaluated again when the key may have been written. Any
//! other expression may change with any move: it is evaluated on the whole log.

use std::{collections::BTreeSet, sync::Arc};

use super::keyspace::KeyContents;
use crate::{
    clock::LessonTime,
    lesson::{
        Scenario,
        expr::Expr,
        plan::{FUNCTIONS, NeverPlan},
    },
    log::{Event, EventKind},
    run::explore::StepFootprint,
};

#[derive(Debug, Clone)]
pub(crate) struct WatchedInvariant {
    /// The index of the invariant.
    pub(crate) invariant: usize,
    pub(crate) expr: Expr,
    pub(crate) reads: Option<Reads>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reads {
    pub(crate) counters: Vec<String>,
    /// Keys, on this server or on any.
    pub(crate) keys: Vec<(String, Option<String>)>,
    /// Keys whose history is read.
    pub(crate) past: Vec<String>,
    /// Whether it is read which actors have finished.
    pub(crate) ends: bool,
}

pub(crate) fn watched_invariants(scenario: &Scenario) -> Arc<[WatchedInvariant]> {
    let watches = scenario.invariants.iter().enumerate().filter_map(|(invariant, plan)| {
        let NeverPlan::That(expr) = &plan.never else { return None };
        Some(WatchedInvariant { invariant, reads: Reads::of(scenario, expr).ok(), expr: expr.clone() })
    });
    watches.collect()
}

impl WatchedInvariant {
    /// Whether it does not depend on what servers hold.
    pub(crate) fn reads_no_keys(&self) -> bool {
        self.reads.as_ref().is_some_and(|reads| reads.keys.is_empty())
    }
}

impl Reads {
    /// What an expression reads, if that is only parameters, counters, and functions of keys that are named
    /// literally: anything else may read anything.
    ///
    /// # Errors
    /// The name that reads more than that.
    pub(super) fn of(scenario: &Scenario, expr: &Expr) -> Result<Self, String> {
        const OF_KEYS: [&str; 6] =
            ["value", "pttl", "exists", "orphaned", "deleted_by_another", "renewed_by_another"];
        let mentions = expr.mentions();
        let mut counters = Vec::new();
        for name in expr.names() {
            // Of several things with one name, an expression means the first of these.
            if FUNCTIONS.contains(&name.as_str()) {
                if !OF_KEYS.contains(&name.as_str()) {
                    return Err(name);
                }
            } else if scenario.actors.iter().any(|plan| {
                let own = &plan.actor.name;
                *own == name || own.split_once('.').is_some_and(|(process, _)| process == name)
            }) {
                return Err(name);
            } else if scenario.counters.contains(&name) {
                counters.push(name);
            } else if scenario.scope.get(&name).is_none() {
                return Err(name);
            }
        }
        let mut reads = Self { counters, keys: Vec::new(), past: Vec::new(), ends: false };
        for function in OF_KEYS {
            let asked = mentions.keys_of(function);
            // A function of a key that is not quoted, or a function that is not called, may read any key.
            if asked.len() != mentions.paths.iter().filter(|path| path[0] == function).count() {
                return Err(function.to_owned());
            }
            reads.ends |= function == "orphaned" && !asked.is_empty();
            // Setting a key to the value that it already has is a write, too.
            if function == "orphaned" || function.ends_with("_by_another") {
                reads.past.extend(asked.iter().map(|(key, _)| key.clone()));
            }
            if !function.ends_with("_by_another") {
                reads.keys.extend(asked);
            }
        }
        Ok(reads)
    }

    /// Whether a step may have changed the answer. `maybe_written`: the keys that the step may have written, even
    /// without effect.
    pub(crate) fn changed_by(
        &self,
        events: &[Event],
        touch: &StepFootprint,
        maybe_written: &[Arc<str>],
    ) -> bool {
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
        let happened = |event: &Event| match &event.kind {
            EventKind::Counted { counter, .. } => self.counters.contains(counter),
            EventKind::Finished { .. } | EventKind::GaveUp { .. } => self.ends,
            _ => false,
        };
        events.iter().any(happened)
            || touch.writes.iter().any(names_key)
            || maybe_written.iter().any(had)
            || touch.all && !(self.keys.is_empty() && self.past.is_empty())
    }
}

/// The keys whose history any invariant reads.
pub(crate) fn keys_with_past(watches: &[WatchedInvariant]) -> Vec<String> {
    let reads = watches.iter().flat_map(|watch| &watch.reads);
    let keys: BTreeSet<&String> = reads.flat_map(|reads| &reads.past).collect();
    keys.into_iter().cloned().collect()
}

/// Everything that an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) watch: usize,
    pub(crate) counts: Vec<i64>,
    pub(crate) entries: KeyContents,
    /// The history of the keys whose past is read.
    pub(crate) past: Vec<String>,
    /// By actor, whether it has finished, if that is read.
    pub(crate) over: Vec<bool>,
    /// The time, if a key that is read expires.
    pub(crate) at: Option<LessonTime>,
}
