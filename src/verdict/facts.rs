//! What claims can ask about, answered from the log alone.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::Mutex,
};

use minijinja::Value;

use super::{key_history::KeyHistory, names::reply_value};
use crate::{
    clock::LessonTime,
    lesson::Scenario,
    log::{Entry, Event, EventKind, KeyState, KeyValue, Log, Observed, Role},
    world::{Life, World},
};

/// What has happened so far, ready to be asked.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) log: Log,
    pub(crate) world: World,
    pub(crate) key_history: KeyHistory,
    /// What each name of a client stands for: the indices of its actors.
    pub(crate) groups: HashMap<String, Vec<usize>>,
    /// Whether it is noted which events were looked at. That takes longer than most answers.
    pub(crate) tracing: bool,
    /// The events that were looked at.
    pub(crate) trace: Mutex<BTreeSet<usize>>,
}

impl Facts {
    pub(crate) fn new(scenario: &Scenario, log: &Log) -> Self {
        let mut facts = Self::none(scenario);
        facts.extend(log.events());
        facts
    }

    /// Nothing has happened yet.
    pub(crate) fn none(scenario: &Scenario) -> Self {
        let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
        for client in &scenario.clients {
            groups.entry(client.name.clone()).or_default().extend(client.actors.clone());
            if client.group != client.name {
                groups.entry(client.group.clone()).or_default().extend(client.actors.clone());
            }
        }
        for (n, plan) in scenario.actors.iter().enumerate() {
            groups.entry(plan.actor.name.clone()).or_insert_with(|| vec![n]);
        }
        Self {
            log: Log::new(),
            world: World::default(),
            key_history: KeyHistory::new(scenario),
            groups,
            tracing: true,
            trace: Mutex::default(),
        }
    }

    /// Something more has happened.
    pub(crate) fn extend(&mut self, events: &[Event]) {
        for event in events {
            self.key_history.take(self.log.len(), event);
            self.log.append(event.clone());
        }
        self.world.seek(&self.log, self.log.len());
    }

    /// The events of the operations that a reference such as `A.acquire` or `acquire` means, by the index of
    /// their `Sent` or `Took`.
    pub(crate) fn moves(&self, reference: &str) -> Vec<usize> {
        let (actors, label) = self.reference(reference);
        let mine = |actor: u32| actors.as_ref().is_none_or(|actors| actors.contains(&(actor as usize)));
        let made = |event: &Event| match &event.kind {
            EventKind::Sent { actor, label: known, .. } | EventKind::Took { actor, label: known, .. } => {
                known == label && mine(actor.0)
            }
            _ => false,
        };
        self.log.events().iter().enumerate().filter(|(_, event)| made(event)).map(|(n, _)| n).collect()
    }

    pub(crate) fn reference<'r>(&self, reference: &'r str) -> (Option<&Vec<usize>>, &'r str) {
        match reference.rsplit_once('.') {
            Some((who, label)) if self.groups.contains_key(who) => (self.groups.get(who), label),
            _ => (None, reference),
        }
    }

    pub(crate) fn replies(&self, reference: &str) -> Vec<Value> {
        let (actors, label) = self.reference(reference);
        let events = self.log.events().iter().filter_map(|event| match &event.kind {
            EventKind::Replied { actor, label: known, reply, .. }
                if known == label && actors.is_none_or(|actors| actors.contains(&(actor.0 as usize))) =>
            {
                Some(reply_value(reply))
            }
            _ => None,
        });
        events.collect()
    }

    /// The events of the step in which the last such move was made: from after the stop before it to its own
    /// stop.
    pub(crate) fn step_of(&self, reference: &str) -> Option<Range<usize>> {
        let moved = *self.moves(reference).last()?;
        let events = self.log.events();
        let is_stop = |event: &Event| matches!(event.kind, EventKind::Stop { .. });
        let start = events[..moved].iter().rposition(is_stop).map_or(0, |stop| stop + 1);
        let end = events[moved..].iter().position(is_stop).map_or(events.len(), |stop| moved + stop);
        Some(start..end)
    }

    pub(crate) fn woken_by(&self, reference: &str) -> Option<usize> {
        let step = self.step_of(reference)?;
        let notified = |event: &&Event| matches!(event.kind, EventKind::Notified { .. });
        Some(self.log.events()[step].iter().filter(notified).count())
    }

    pub(crate) fn metric_by(&self, metric: &str, reference: &str) -> Option<i64> {
        let step = self.step_of(reference)?;
        let value = |event: &Event| match &event.kind {
            EventKind::Metric { name, value, .. } if name == metric => Some(*value),
            _ => None,
        };
        let events = self.log.events();
        let before = events[..step.start].iter().rev().find_map(value)?;
        let after = events[step].iter().rev().find_map(value).unwrap_or(before);
        Some(after - before)
    }

    /// A key of one server, or of the first that has it. The dead hold nothing.
    pub(crate) fn key(&self, name: &str, server: Option<&str>) -> Option<&KeyState> {
        self.world
            .servers
            .iter()
            .filter(|known| known.died.is_none() && server.is_none_or(|wanted| known.info.name == wanted))
            .find_map(|server| match &server.observed {
                Some(Observed::Redis(keyspace)) => keyspace.keys.get(name),
                _ => None,
            })
    }

    /// What a server that lives said last that it is: `master`, `replica`.
    pub(crate) fn role(&self, server: &str) -> Option<&'static str> {
        let known = self.world.servers.iter().find(|known| known.info.name == server)?;
        let observed = known.observed.as_ref().filter(|_| known.died.is_none())?;
        Some(match observed.role()? {
            Role::Master => "master",
            Role::Replica { .. } => "replica",
        })
    }

    /// Redis ends a key in the millisecond after its last.
    pub(crate) fn live_key(&self, name: &str, server: Option<&str>) -> Option<&KeyState> {
        self.key(name, server).filter(|key| key.expires_at.is_none_or(|end| end >= self.world.now))
    }

    /// What a server holds under a name, where that has no end of its own as a key has.
    pub(crate) fn entry(&self, name: &str) -> Option<Entry<'_>> {
        self.stores().find_map(|observed| observed.entry(name))
    }

    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let prefix = if path == "/" { "/".to_owned() } else { format!("{path}/") };
        self.stores()
            .flat_map(Observed::entries)
            .filter_map(|(known, _)| known.strip_prefix(&prefix))
            .filter(|name| !name.is_empty() && !name.contains('/'))
            .map(str::to_owned)
            .collect()
    }

    fn stores(&self) -> impl Iterator<Item = &Observed> {
        let observed = self.world.servers.iter().filter_map(|server| server.observed.as_ref());
        observed.filter(|observed| !matches!(observed, Observed::Redis(_)))
    }

    pub(crate) fn notified(&self, who: Option<&str>) -> Option<usize> {
        match who {
            None => Some(self.world.actors.iter().map(|actor| actor.notified).sum()),
            Some(who) => Some(self.groups.get(who)?.iter().map(|n| self.world.actors[*n].notified).sum()),
        }
    }

    pub(crate) fn finished(&self, who: &str) -> Option<usize> {
        let over = |n: &&usize| self.world.actors[**n].life == Life::Finished;
        Some(self.groups.get(who)?.iter().filter(over).count())
    }

    /// Whether a key is there that nobody will delete any more: the process that set it is dead, or all its threads are at
    /// the end of their programs.
    pub(crate) fn orphaned(&self, key: &str) -> bool {
        let author = self.live_key(key, None).and_then(|state| match &state.value {
            KeyValue::String(value) => self.key_history.author(key, value),
            _ => None,
        });
        let Some(author) = author.and_then(|(actor, _)| self.world.actor(actor)) else {
            return false;
        };
        let mut threads = self.world.actors.iter();
        threads.all(|actor| {
            actor.who.client != author.who.client || matches!(actor.life, Life::Crashed | Life::Finished)
        })
    }

    /// The greatest number of actors that held a lock at one time.
    pub(crate) fn holders(&self, lock: &str) -> usize {
        self.world.holding.most(lock).len()
    }
}

/// A moment as it is written in a verdict: seconds of lesson time.
pub(crate) fn moment(at: LessonTime) -> String {
    at.to_string()
}
