//! What hosted orders come to: what must never be so, asked after every step, and the outcome at the end. Each answer
//! is kept, because most orders come to few.

use std::{collections::HashMap, sync::Arc};

use super::{
    GroundError,
    hosted::{Hosted, Place},
    keyspace::Entry,
    watched::{Answers, Changed, Question, Watch},
    written::Page,
};
use crate::{
    lesson::Scenario,
    log::{Event, EventKind, Log},
    run::{
        explore::{Broken, Fate, Touch},
        race::{Asked, LockFate, Outcome},
    },
    world::World,
};

/// What an outcome depends on.
type Came = (Vec<LockFate>, Vec<i64>, usize, Vec<Option<Entry>>);

/// What is asked, and the answers that are known.
pub(crate) struct Judge {
    asked: Asked,
    outcomes: HashMap<Came, Arc<Outcome>>,
    answers: Answers,
}

impl Judge {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self { asked: Asked::of(scenario), outcomes: HashMap::new(), answers: HashMap::new() }
    }
}

impl Hosted {
    /// Asks what must never be so after a step.
    pub(crate) fn watch(
        &mut self,
        next: &mut Place,
        touch: &mut Touch,
        (counted, handled, ended): (&[usize], &[Arc<str>], bool),
    ) -> Result<(), GroundError> {
        let watched = std::mem::take(&mut self.watched.expressions);
        let mut result = Ok(());
        for (n, watch) in watched.iter().enumerate() {
            let changed = watch.reads.as_ref().is_none_or(|reads| {
                reads.changed_by(&Changed { counted, handled, written: &touch.writes, all: touch.all, ended })
            });
            if !changed {
                continue;
            }
            touch.shows.push(n);
            if next.broken.iter().any(|broken| broken.invariant == watch.invariant) {
                continue;
            }
            match self.is_so(n, watch, next) {
                Ok(true) => {
                    next.broken.push(Broken { invariant: watch.invariant, ways: vec![vec![next.steps - 1]] });
                }
                Ok(false) => {}
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.watched.expressions = watched;
        result
    }

    /// Asks what must never be so before the first step: what is so then breaks every order.
    pub(crate) fn watch_from(&mut self, root: &mut Place) -> Result<(), GroundError> {
        let watched = std::mem::take(&mut self.watched.expressions);
        let mut result = Ok(());
        for (n, watch) in watched.iter().enumerate() {
            match self.is_so(n, watch, root) {
                Ok(true) => root.broken.push(Broken { invariant: watch.invariant, ways: vec![Vec::new()] }),
                Ok(false) => {}
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.watched.expressions = watched;
        result
    }

    fn is_so(&mut self, n: usize, watch: &Watch, place: &Place) -> Result<bool, GroundError> {
        let Some(reads) = watch.reads.as_ref().filter(|_| !watch.wants_log) else {
            let log = Page::log(place.page.as_ref());
            let holds = watch.holds_in(&self.scenario, &log);
            return holds.map_err(GroundError::Invariant);
        };
        let entries: Vec<Option<Entry>> =
            reads.keys.iter().flat_map(|(key, server)| self.entries(place, key, server.as_deref())).collect();
        let ends = entries.iter().flatten().any(|entry| entry.ends.is_some());
        let question = Question {
            watch: n,
            counts: reads.counters.iter().map(|n| place.tracked.counters[*n]).collect(),
            entries,
            at: ends.then_some(place.now),
        };
        if let Some(known) = self.judge.answers.get(&question) {
            return Ok(*known);
        }
        let states = if reads.keys.is_empty() {
            Vec::new()
        } else {
            self.servers.states(&place.keyspaces, place.now)?
        };
        let counts: Vec<(String, i64)> = reads
            .counters
            .iter()
            .map(|n| (self.names.counters[*n].clone(), place.tracked.counters[*n]))
            .collect();
        let holds = watch.holds(&self.scenario, &self.opening, &counts, (place.now, &states));
        let holds = holds.map_err(GroundError::Invariant)?;
        self.judge.answers.insert(question, holds);
        Ok(holds)
    }

    /// A key on each server that is meant, as far as it lives.
    fn entries(&self, place: &Place, key: &str, server: Option<&str>) -> Vec<Option<Entry>> {
        let meant = |n: &usize| server.is_none_or(|name| self.servers.name(*n) == name);
        let found = (0..self.servers.count()).filter(meant).map(|n| {
            let entries = place.keyspaces[n].entries.iter();
            let mut own = entries.filter(|entry| entry.key == key.as_bytes());
            own.find(|entry| entry.lives(place.now)).cloned()
        });
        found.collect()
    }

    /// What the order that ends here came to.
    pub(crate) fn came_to(&mut self, place: &Place) -> Result<Fate, GroundError> {
        let mut place = place.clone();
        if !self.servers.looks && !self.judge.asked.values.is_empty() {
            for server in 0..self.servers.count() {
                place.keyspaces[server] = self.servers.look(server)?;
            }
        }
        let asked = self.judge.asked.values.clone();
        let entries = asked.iter().flat_map(|(key, server)| self.entries(&place, key, server.as_deref()));
        let came = (
            place.tracked.fates.clone(),
            place.tracked.counters.clone(),
            place.actors.unfinished(),
            entries.collect(),
        );
        let outcome = if let Some(known) = self.judge.outcomes.get(&came) {
            Arc::clone(known)
        } else {
            let outcome = Arc::new(self.outcome(&place)?);
            self.judge.outcomes.insert(came, Arc::clone(&outcome));
            outcome
        };
        let mut broken: Vec<Broken> = place.tracked.broken(&self.names).collect();
        broken.extend(place.broken.iter().cloned());
        Ok(Fate { outcome, cut: self.situation(&place).is_cut(&self.rules), broken })
    }

    fn outcome(&mut self, place: &Place) -> Result<Outcome, GroundError> {
        let mut log = Log::new();
        let mut append = |kind| {
            log.append(Event { at: place.now, kind });
        };
        append(self.opening.clone());
        if !self.judge.asked.values.is_empty() {
            for state in self.servers.states(&place.keyspaces, place.now)? {
                append(EventKind::State(state));
            }
        }
        let world = World::fold(&log, log.len());
        let find = |names: &[String], name: &str| names.iter().position(|known| known == name);
        let fate = |lock: &str| {
            let n = find(&self.names.locks, lock);
            n.map_or(LockFate::NeverHeld, |n| place.tracked.fates[n])
        };
        let count = |counter: &str| {
            let n = find(&self.names.counters, counter);
            n.map_or(0, |n| place.tracked.counters[n])
        };
        Ok(self.judge.asked.outcome(fate, count, place.actors.unfinished(), &world))
    }
}
