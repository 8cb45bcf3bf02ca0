//! The outcomes of orders that are explored in process, and their invariants after every step. Answers are
//! cached: most orders have one of few outcomes.

use std::{collections::HashMap, sync::Arc};

use super::{
    in_process::{InProcess, Node},
    keyspace::{KeyContents, Keyspace},
    tracked::Tracked,
    trail::Trail,
    watched::{Question, WatchedInvariant},
};
use crate::{
    clock::LessonTime,
    lesson::{Scenario, expr::Expr},
    log::{ActorId, Event, EventKind, Log, Observed},
    program::Actor,
    run::{
        explore::{Broken, Ending, ExploreError, StepFootprint},
        race::{Outcome, OutcomeFields},
    },
    verdict::{self, facts::Facts},
    world::World,
};

/// The questions that outcomes answer, and the answers that are known.
pub(crate) struct OutcomeCache {
    fields: OutcomeFields,
    /// By everything but the final values, and by the entries that these are read from.
    outcomes: HashMap<(Outcome, KeyContents), Arc<Outcome>>,
    answers: HashMap<Question, bool>,
    /// The trail that was judged last by its whole log, with what is known of it. The next one is mostly a step longer.
    judged: Option<(Trail, Arc<Facts>)>,
}

impl OutcomeCache {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self {
            fields: OutcomeFields::of(scenario),
            outcomes: HashMap::new(),
            answers: HashMap::new(),
            judged: None,
        }
    }

    /// Whether an expression is true of the whole log of a trail.
    fn is_so_of_all(&mut self, scenario: &Scenario, trail: &Trail, that: &Expr) -> Result<bool, String> {
        let grown = self.judged.take().and_then(|(known, mut facts)| {
            Arc::get_mut(&mut facts)?.extend(trail.beyond(&known)?);
            Some(facts)
        });
        let facts = grown.unwrap_or_else(|| Arc::new(Facts::untraced(scenario, trail.log().events())));
        let is_so = that.is_so(facts.names(scenario));
        self.judged = Some((trail.clone(), facts));
        is_so
    }

    /// The counters that are part of outcomes.
    pub(crate) fn counters(&self) -> impl Iterator<Item = &String> {
        self.fields.counters()
    }
}

impl InProcess {
    /// Evaluates the invariants that the last step may have changed; before the first step, all of them.
    /// `maybe_written`: the keys that the step may have written, even without effect.
    pub(crate) fn check_invariants(
        &mut self,
        node: &mut Node,
        touch: &mut StepFootprint,
        maybe_written: &[Arc<str>],
    ) -> Result<(), ExploreError> {
        let step = node.steps.checked_sub(1);
        for (n, watch) in Arc::clone(&self.watches).iter().enumerate() {
            let reads = watch.reads.as_ref();
            let changed = reads.is_none_or(|reads| reads.changed_by(node.trail.last(), touch, maybe_written));
            if step.is_some() && !changed {
                continue;
            }
            touch.invariants.push(n);
            let known = node.broken.iter().any(|broken| broken.invariant == watch.invariant);
            if !known && self.holds(n, watch, node)? {
                let ways = vec![step.into_iter().collect()];
                node.broken.push(Broken { invariant: watch.invariant, ways });
            }
        }
        Ok(())
    }

    pub(crate) fn holds(
        &mut self,
        n: usize,
        watch: &WatchedInvariant,
        node: &Node,
    ) -> Result<bool, ExploreError> {
        let Some(reads) = &watch.reads else {
            let is_so = self.cache.is_so_of_all(&self.scenario, &node.trail, &watch.expr);
            return is_so.map_err(ExploreError::Invariant);
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
                self.described_history(&node.tracked, &node.keyspaces, node.now)?
            },
            over: if reads.ends { node.actors.iter().map(Actor::is_over).collect() } else { Vec::new() },
            at: ends.then_some(node.now),
        };
        if let Some(known) = self.cache.answers.get(&question) {
            return Ok(*known);
        }
        let log = self.snapshot_log(node, !reads.keys.is_empty())?;
        let history = node.tracked.history();
        let holds = verdict::is_so_after(&self.scenario, &log, history, &watch.expr);
        let holds = holds.map_err(ExploreError::Invariant)?;
        self.cache.answers.insert(question, holds);
        Ok(holds)
    }

    /// The history of the keys whose past invariants read, as far as it matters now or later: a text for
    /// each.
    pub(crate) fn described_history(
        &mut self,
        tracked: &Tracked,
        keyspaces: &[Arc<Keyspace>],
        now: LessonTime,
    ) -> Result<Vec<String>, ExploreError> {
        let Some(history) = tracked.history() else { return Ok(Vec::new()) };
        let states = self.servers.states(keyspaces, now)?;
        let described = self.past.iter().map(|key| {
            let held = states.iter().filter_map(|state| match &state.observed {
                Observed::Redis(keyspace) => keyspace.keys.get(key).map(|key| &key.value),
                _ => None,
            });
            history.described(key, held)
        });
        Ok(described.collect())
    }

    /// A log of only the counts at a node, the actors that have finished and, if `states` is set, what the
    /// servers hold there.
    fn snapshot_log(&mut self, node: &Node, states: bool) -> Result<Log, ExploreError> {
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

    /// Each key on each server that is meant, or `None` if it does not exist.
    fn entries(&self, node: &Node, keys: &[(String, Option<String>)]) -> KeyContents {
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

    /// The ending of the order that leads to a node.
    pub(crate) fn ending_of(&mut self, node: &Node) -> Result<Ending, ExploreError> {
        let asks = !self.cache.fields.values.is_empty();
        let mut broken: Vec<Broken> = node.tracked.broken(&self.scenario).collect();
        broken.extend(node.broken.iter().cloned());
        let count = |counter: &str| node.tracked.counters.get(counter).copied();
        let unfinished = node.actors.unfinished();
        let outcome = Outcome {
            broken: Broken::names(&broken, &self.scenario),
            ..self.cache.fields.without_values(&node.tracked.holding, count, unfinished)
        };
        let key = (outcome, self.entries(node, &self.cache.fields.values));
        let outcome = if let Some(known) = self.cache.outcomes.get(&key) {
            Arc::clone(known)
        } else {
            let log = self.snapshot_log(node, asks)?;
            let values = self.cache.fields.values(&World::fold(&log, log.len()));
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
