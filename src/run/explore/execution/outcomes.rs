//! The outcomes of orders that are explored in process, and their invariants after every step. Answers are kept: most
//! orders come to few outcomes.

use std::{collections::HashMap, sync::Arc};

use super::{
    in_process::{InProcess, Node},
    keyspace::{Held, Keyspace},
    tracked::Tracked,
    watched::{Question, Watch},
};
use crate::{
    clock::LessonTime,
    lesson::Scenario,
    log::{ActorId, Event, EventKind, Log, Observed},
    run::{
        explore::{Broken, Ending, ExploreError, StepFootprint},
        race::{Asked, Outcome},
    },
    verdict,
    world::World,
};

/// What is asked, and the answers that are known.
pub(crate) struct OutcomeCache {
    asked: Asked,
    /// By all but the final values, and by what these are read from.
    outcomes: HashMap<(Outcome, Held), Arc<Outcome>>,
    answers: HashMap<Question, bool>,
}

impl OutcomeCache {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self { asked: Asked::of(scenario), outcomes: HashMap::new(), answers: HashMap::new() }
    }

    /// The counters that outcomes tell.
    pub(crate) fn counters(&self) -> impl Iterator<Item = &String> {
        self.asked.counters()
    }
}

impl InProcess {
    /// Asks the invariants that the last step may have changed; before the first step, all of them. `handled`: the keys
    /// that something may have been done to.
    pub(crate) fn check_invariants(
        &mut self,
        node: &mut Node,
        touch: &mut StepFootprint,
        handled: &[Arc<str>],
    ) -> Result<(), ExploreError> {
        let step = node.steps.checked_sub(1);
        for (n, watch) in Arc::clone(&self.watches).iter().enumerate() {
            let reads = watch.reads.as_ref();
            let changed = reads.is_none_or(|reads| reads.changed_by(node.trail.last(), touch, handled));
            if step.is_some() && !changed {
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

    pub(crate) fn is_so(&mut self, n: usize, watch: &Watch, node: &Node) -> Result<bool, ExploreError> {
        let Some(reads) = &watch.reads else {
            let log = node.trail.log();
            return verdict::is_so(&self.scenario, &log, &watch.expr).map_err(ExploreError::Invariant);
        };
        let count = |counter: &String| node.tracked.counters.get(counter).copied().unwrap_or(0);
        let entries = self.entries(node, &reads.keys);
        let ends = entries.iter().flatten().any(|entry| entry.ends.is_some());
        let question = Question {
            watch: n,
            counts: reads.counters.iter().map(count).collect(),
            entries,
            past: if reads.past.is_empty() {
                Vec::new()
            } else {
                self.past_of(&node.tracked, &node.keyspaces, node.now)?
            },
            over: if reads.ends { node.actors.are_over().collect() } else { Vec::new() },
            at: ends.then_some(node.now),
        };
        if let Some(known) = self.cache.answers.get(&question) {
            return Ok(*known);
        }
        let log = self.now(node, !reads.keys.is_empty())?;
        let history = node.tracked.history();
        let holds = verdict::is_so_after(&self.scenario, &log, history, &watch.expr);
        let holds = holds.map_err(ExploreError::Invariant)?;
        self.cache.answers.insert(question, holds);
        Ok(holds)
    }

    /// What was done to the keys of whose past an invariant asks, as far as it matters now or later: a text for each.
    pub(crate) fn past_of(
        &mut self,
        tracked: &Tracked,
        keyspaces: &[Arc<Keyspace>],
        now: LessonTime,
    ) -> Result<Vec<String>, ExploreError> {
        let Some(history) = tracked.history() else { return Ok(Vec::new()) };
        let states = self.servers.states(keyspaces, now)?;
        let described = self.past.keys.iter().map(|key| {
            let held = states.iter().filter_map(|state| match &state.observed {
                Observed::Redis(keyspace) => keyspace.keys.get(key).map(|key| &key.value),
                _ => None,
            });
            history.described(key, held, self.past.told)
        });
        Ok(described.collect())
    }

    /// A log of no more than what was counted at a node, who has come to an end and, where that is wanted, what the servers
    /// hold there.
    fn now(&mut self, node: &Node, states: bool) -> Result<Log, ExploreError> {
        let counted = |(counter, by): (&String, &i64)| EventKind::Counted {
            actor: ActorId(0),
            counter: counter.clone(),
            by: *by,
        };
        let mut kinds = vec![self.opening.clone()];
        kinds.extend(node.tracked.counters.iter().map(counted));
        let over = node.actors.ids().filter(|actor| node.actors[*actor].is_over());
        kinds.extend(over.map(|actor| EventKind::Finished { actor }));
        if states {
            let states = self.servers.states(&node.keyspaces, node.now)?;
            kinds.extend(states.into_iter().map(EventKind::State));
        }
        let mut log = Log::new();
        log.extend(kinds.into_iter().map(|kind| Event { at: node.now, kind }));
        Ok(log)
    }

    /// Each key on each server that is meant, as far as it lives.
    fn entries(&self, node: &Node, keys: &[(String, Option<String>)]) -> Held {
        let servers = || self.servers.connections.iter().zip(&node.keyspaces);
        let found = keys.iter().flat_map(|(key, server)| {
            let meant =
                servers().filter(move |(known, _)| server.as_ref().is_none_or(|name| known.name == *name));
            meant.map(move |(_, keyspace)| {
                let living = keyspace.get(key.as_bytes()).filter(|entry| entry.lives(node.now));
                living.cloned()
            })
        });
        found.collect()
    }

    /// What the order that ends here came to.
    pub(crate) fn ending_of(&mut self, node: &Node) -> Result<Ending, ExploreError> {
        let asks = !self.cache.asked.values.is_empty();
        let mut broken: Vec<Broken> = node.tracked.broken(&self.scenario).collect();
        broken.extend(node.broken.iter().cloned());
        let count = |counter: &str| node.tracked.counters.get(counter).copied();
        let unfinished = node.actors.unfinished();
        let outcome = Outcome {
            broken: Broken::names(&broken, &self.scenario),
            ..self.cache.asked.without_values(&node.tracked.holding, count, unfinished)
        };
        let key = (outcome, self.entries(node, &self.cache.asked.values));
        let outcome = if let Some(known) = self.cache.outcomes.get(&key) {
            Arc::clone(known)
        } else {
            let log = self.now(node, asks)?;
            let values = self.cache.asked.values(&World::fold(&log, log.len()));
            let outcome = Arc::new(Outcome { values, ..key.0.clone() });
            self.cache.outcomes.insert(key, Arc::clone(&outcome));
            outcome
        };
        let cut = self.situation(node).is_cut(&self.rules);
        Ok(Ending {
            outcome,
            cut,
            stuck: node.tally.stuck(&self.scenario, &node.actors).filter(|_| !cut),
            broken,
        })
    }
}
