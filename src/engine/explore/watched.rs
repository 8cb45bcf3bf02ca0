//! What must never be so, asked after every step of an order whose programs are hosted. It must not know servers: it
//! is told what they hold.
//!
//! An expression that asks only for counters and for keys by their names is asked again only when one of these has
//! changed, and each answer is kept. For any other, a log is kept like that of a run, and asked as a run's would be.

use std::{collections::HashMap, sync::Arc};

use super::tracked::Names;
use crate::{
    clock::LessonTime,
    lesson::{Scenario, expr::Expr, plan::FUNCTIONS},
    log::{ActorId, Event, EventKind, Log, ServerState},
    race::values_in,
    verdict,
};

/// All that is asked after a step.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub(super) expressions: Vec<Watch>,
}

/// One expression.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    /// Its number among the invariants.
    pub(super) invariant: usize,
    expr: Expr,
    /// What it reads, where that is known.
    pub(super) reads: Option<Reads>,
}

/// What an expression reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reads {
    /// Counters, by number.
    pub(super) counters: Vec<usize>,
    /// Keys, of this server or of any.
    pub(super) keys: Vec<(String, Option<String>)>,
}

impl Watched {
    pub(super) fn new(scenario: &Scenario, names: &Names, expressions: Vec<(usize, Expr)>) -> Self {
        let watch = |(invariant, expr): (usize, Expr)| Watch {
            invariant,
            reads: Reads::of(scenario, names, &expr),
            expr,
        };
        Self {
            expressions: expressions.into_iter().map(watch).collect(),
        }
    }

    /// Whether any needs a whole log.
    pub(super) fn wants_log(&self) -> bool {
        self.expressions.iter().any(|watch| watch.reads.is_none())
    }

    /// Whether any asks for keys.
    pub(super) fn wants_keys(&self) -> bool {
        let asks = |watch: &Watch| watch.reads.as_ref().is_none_or(|reads| !reads.keys.is_empty());
        self.expressions.iter().any(asks)
    }
}

impl Reads {
    /// Parameters, counters, `value`, `pttl` and `exists` of keys that are named by their words: anything else may
    /// read anything.
    fn of(scenario: &Scenario, names: &Names, expr: &Expr) -> Option<Self> {
        const OF_KEYS: [&str; 3] = ["value", "pttl", "exists"];
        let source = expr.source();
        let mut counters = Vec::new();
        for name in expr.names() {
            if let Some(n) = names.counters.iter().position(|known| *known == name) {
                counters.push(n);
            } else if FUNCTIONS.contains(&name.as_str()) {
                if !OF_KEYS.contains(&name.as_str()) {
                    return None;
                }
            } else if scenario.scope.get(&name).is_none() {
                return None;
            }
        }
        let mut keys = Vec::new();
        for function in OF_KEYS {
            let asked = values_in(source, function);
            if asked.len() != source.matches(function).count() {
                return None;
            }
            keys.extend(asked);
        }
        Some(Self { counters, keys })
    }

    /// Whether a step may have changed the answer.
    pub(super) fn changed_by(&self, counted: &[usize], written: &[Arc<str>], time: bool) -> bool {
        let names_key = |cell: &Arc<str>| {
            self.keys.iter().any(|(key, server)| {
                cell.strip_suffix(key.as_str())
                    .and_then(|before| before.strip_suffix(' '))
                    .is_some_and(|of| server.as_ref().is_none_or(|server| server == of))
            })
        };
        counted.iter().any(|counter| self.counters.contains(counter))
            || written.iter().any(names_key)
            || time && !self.keys.is_empty()
    }
}

impl Watch {
    /// Whether it is true, of what was counted and what the servers hold.
    pub(super) fn holds(
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
            append(EventKind::Counted {
                actor: ActorId(0),
                counter: counter.clone(),
                by: *by,
            });
        }
        for state in states {
            append(EventKind::State(state.clone()));
        }
        self.holds_in(scenario, &log)
    }

    /// Whether it is true of a whole log.
    pub(super) fn holds_in(&self, scenario: &Scenario, log: &Log) -> Result<bool, String> {
        verdict::holds(scenario, log, &self.expr)
    }
}

/// A log as a list that orders with a common beginning share.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) before: Option<Arc<Page>>,
    pub(super) events: Vec<Event>,
}

impl Page {
    /// The whole log up to here.
    pub(super) fn log(last: Option<&Arc<Self>>) -> Log {
        let mut pages = Vec::new();
        let mut next = last;
        while let Some(page) = next {
            pages.push(page);
            next = page.before.as_ref();
        }
        let mut log = Log::new();
        for page in pages.into_iter().rev() {
            log.extend(page.events.iter().cloned());
        }
        log
    }
}

/// Answers that are known.
pub(super) type Answers = HashMap<Question, bool>;

/// All that an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) watch: usize,
    pub(super) counts: Vec<i64>,
    pub(super) entries: Vec<Option<super::keyspace::Entry>>,
    /// The time, where keys end.
    pub(super) at: Option<LessonTime>,
}
