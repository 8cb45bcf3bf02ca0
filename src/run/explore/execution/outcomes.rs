//! The outcomes of orders that are explored in process, and their invariants after every step. Answers are kept: most
//! orders come to few outcomes.

use std::{collections::HashMap, sync::Arc};

use super::{
    ExplorerError,
    in_process::{InProcess, Node},
    keyspace::Entry,
    log_page::LogPage,
    watched::{Answers, Changed, Question, Reads, Watch},
};
use crate::{
    lesson::Scenario,
    log::{Event, EventKind, Log},
    run::{
        explore::{Broken, Ending, Touch},
        race::{Asked, LockFate, Outcome},
    },
    world::World,
};

/// What an outcome depends on.
type OutcomeKey = (Vec<LockFate>, Vec<i64>, usize, Vec<Option<Entry>>);

/// What is asked, and the answers that are known.
pub(crate) struct OutcomeCache {
    asked: Asked,
    outcomes: HashMap<OutcomeKey, Arc<Outcome>>,
    answers: Answers,
}

impl OutcomeCache {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self { asked: Asked::of(scenario), outcomes: HashMap::new(), answers: HashMap::new() }
    }
}

impl InProcess {
    /// Asks the invariants that a step may have changed; before the first step, all of them.
    pub(crate) fn check_invariants(
        &mut self,
        node: &mut Node,
        touch: &mut Touch,
        (counted, handled, ended): (&[usize], &[Arc<str>], bool),
    ) -> Result<(), ExplorerError> {
        let step = node.steps.checked_sub(1);
        for (n, watch) in Arc::clone(&self.watched.expressions).iter().enumerate() {
            let changes = |reads: &Reads| {
                reads.changed_by(&Changed { counted, handled, written: &touch.writes, all: touch.all, ended })
            };
            if step.is_some() && !watch.reads.as_ref().is_none_or(changes) {
                continue;
            }
            touch.shows.push(n);
            let known = node.broken.iter().any(|broken| broken.invariant == watch.invariant);
            if !known && self.is_so(n, watch, node)? {
                let ways = vec![step.into_iter().collect()];
                node.broken.push(Broken { invariant: watch.invariant, ways });
            }
        }
        Ok(())
    }

    fn is_so(&mut self, n: usize, watch: &Watch, node: &Node) -> Result<bool, ExplorerError> {
        let Some(reads) = watch.reads.as_ref().filter(|_| !watch.wants_log) else {
            let log = LogPage::log(node.page.as_ref());
            let holds = watch.holds_in(&self.scenario, &log);
            return holds.map_err(ExplorerError::Invariant);
        };
        let entries: Vec<Option<Entry>> =
            reads.keys.iter().flat_map(|(key, server)| self.entries(node, key, server.as_deref())).collect();
        let ends = entries.iter().flatten().any(|entry| entry.ends.is_some());
        let question = Question {
            watch: n,
            counts: reads.counters.iter().map(|n| node.tracked.counters[*n]).collect(),
            entries,
            at: ends.then_some(node.now),
        };
        if let Some(known) = self.cache.answers.get(&question) {
            return Ok(*known);
        }
        let states = if reads.keys.is_empty() {
            Vec::new()
        } else {
            self.servers.states(&node.keyspaces, node.now)?
        };
        let counts: Vec<(String, i64)> = reads
            .counters
            .iter()
            .map(|n| (self.names.counters[*n].clone(), node.tracked.counters[*n]))
            .collect();
        let holds = watch.holds(&self.scenario, &self.opening, &counts, (node.now, &states));
        let holds = holds.map_err(ExplorerError::Invariant)?;
        self.cache.answers.insert(question, holds);
        Ok(holds)
    }

    /// A key on each server that is meant, as far as it lives.
    fn entries(&self, node: &Node, key: &str, server: Option<&str>) -> Vec<Option<Entry>> {
        let meant = |n: &usize| server.is_none_or(|name| self.servers.name(*n) == name);
        let found = (0..self.servers.count()).filter(meant).map(|n| {
            let entries = node.keyspaces[n].entries.iter();
            let mut own = entries.filter(|entry| entry.key == key.as_bytes());
            own.find(|entry| entry.lives(node.now)).cloned()
        });
        found.collect()
    }

    /// What the order that ends here came to.
    pub(crate) fn ending_of(&mut self, node: &Node) -> Result<Ending, ExplorerError> {
        let mut node = node.clone();
        if !self.servers.looks && !self.cache.asked.values.is_empty() {
            for server in 0..self.servers.count() {
                node.keyspaces[server] = self.servers.look(server)?;
            }
        }
        let asked = self.cache.asked.values.clone();
        let entries = asked.iter().flat_map(|(key, server)| self.entries(&node, key, server.as_deref()));
        let key = (
            node.tracked.fates.clone(),
            node.tracked.counters.clone(),
            node.actors.unfinished(),
            entries.collect(),
        );
        let outcome = if let Some(known) = self.cache.outcomes.get(&key) {
            Arc::clone(known)
        } else {
            let outcome = Arc::new(self.outcome(&node)?);
            self.cache.outcomes.insert(key, Arc::clone(&outcome));
            outcome
        };
        let mut broken: Vec<Broken> = node.tracked.broken(&self.names).collect();
        broken.extend(node.broken.iter().cloned());
        Ok(Ending { outcome, cut: self.situation(&node).is_cut(&self.rules), broken })
    }

    fn outcome(&mut self, node: &Node) -> Result<Outcome, ExplorerError> {
        let mut log = Log::new();
        let mut append = |kind| {
            log.append(Event { at: node.now, kind });
        };
        append(self.opening.clone());
        if !self.cache.asked.values.is_empty() {
            for state in self.servers.states(&node.keyspaces, node.now)? {
                append(EventKind::State(state));
            }
        }
        let world = World::fold(&log, log.len());
        let find = |names: &[String], name: &str| names.iter().position(|known| known == name);
        let fate = |lock: &str| {
            let n = find(&self.names.locks, lock);
            n.map_or(LockFate::NeverHeld, |n| node.tracked.fates[n])
        };
        let count = |counter: &str| {
            let n = find(&self.names.counters, counter);
            n.map_or(0, |n| node.tracked.counters[n])
        };
        Ok(self.cache.asked.outcome(fate, count, node.actors.unfinished(), &world))
    }
}
