//! The facts that claims can ask for, answered from the log alone.

use std::{
    collections::{BTreeSet, HashMap},
    ops::{Deref, Range},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::key_history::KeyHistory;
use crate::{
    clock::LessonTime,
    lesson::Scenario,
    log::{ActorId, Entry, Event, EventKind, KeyState, Log, Observed, is_server_called},
    world::{Life, World},
};

/// What has happened so far, prepared for claims.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) log: Log,
    pub(crate) world: World,
    key_history: Mutex<HistorySoFar>,
    /// The actors for each name: of an actor, a process, or a group.
    pub(crate) groups: HashMap<String, Vec<ActorId>>,
    /// Whether the events behind an answer are recorded as evidence. That takes longer than most answers.
    pub(crate) tracing: bool,
    /// Whether finished waits are ignored: set while asking whether a breach still lasts.
    pub(crate) only_lasting_waits: bool,
    trace: Mutex<BTreeSet<usize>>,
}

/// The history of keys after the first `events` events. Most expressions do not ask for it, and it takes longer than
/// all the rest, so events are read when it is asked for.
#[derive(Debug)]
pub(crate) struct HistorySoFar {
    keys: KeyHistory,
    events: usize,
}

impl Deref for HistorySoFar {
    type Target = KeyHistory;

    fn deref(&self) -> &KeyHistory {
        &self.keys
    }
}

impl Facts {
    pub(crate) fn new(scenario: &Scenario, log: &Log) -> Self {
        let mut facts = Self::empty(scenario);
        facts.extend(log.events());
        facts
    }

    /// As [`Facts::new`], without recording evidence.
    pub(crate) fn untraced(scenario: &Scenario, events: &[Event]) -> Self {
        let mut facts = Self::empty(scenario);
        facts.tracing = false;
        facts.extend(events);
        facts
    }

    pub(crate) fn empty(scenario: &Scenario) -> Self {
        let actors: Vec<ActorId> = (0..).map(ActorId).take(scenario.actors.len()).collect();
        let mut groups: HashMap<String, Vec<ActorId>> = HashMap::new();
        for client in &scenario.clients {
            let members = &actors[client.actors.clone()];
            groups.entry(client.name.clone()).or_default().extend(members);
            if client.group != client.name {
                groups.entry(client.group.clone()).or_default().extend(members);
            }
        }
        for (actor, plan) in actors.into_iter().zip(&scenario.actors) {
            groups.entry(plan.actor.name.clone()).or_insert_with(|| vec![actor]);
        }
        Self {
            log: Log::new(),
            world: World::default(),
            key_history: Mutex::new(HistorySoFar { keys: KeyHistory::new(scenario), events: 0 }),
            groups,
            tracing: true,
            only_lasting_waits: false,
            trace: Mutex::default(),
        }
    }

    pub(crate) fn extend(&mut self, events: &[Event]) {
        self.log.extend(events.iter().cloned());
        self.world.seek(&self.log, self.log.len());
    }

    /// Replaces the history of keys by one of the whole log: the log lacks earlier events.
    pub(crate) fn replace_key_history(&mut self, keys: KeyHistory) {
        self.key_history = Mutex::new(HistorySoFar { keys, events: self.log.len() });
    }

    pub(crate) fn key_history(&self) -> MutexGuard<'_, HistorySoFar> {
        let mut history = self.key_history.lock().unwrap_or_else(PoisonError::into_inner);
        for (n, event) in self.log.events().iter().enumerate().skip(history.events) {
            history.keys.take(n, event);
        }
        history.events = self.log.len();
        history
    }

    /// Records events as evidence for the expression that is being evaluated.
    pub(crate) fn note<I: IntoIterator<Item = usize>>(&self, events: impl FnOnce() -> I) {
        if self.tracing {
            self.trace.lock().unwrap_or_else(PoisonError::into_inner).extend(events());
        }
    }

    /// Returns the recorded evidence and clears it.
    pub(crate) fn take_trace(&self) -> BTreeSet<usize> {
        std::mem::take(&mut *self.trace.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn events(
        &self,
        wanted: impl Fn(&EventKind) -> bool,
    ) -> impl DoubleEndedIterator<Item = usize> {
        let all = self.log.events().iter().enumerate();
        all.filter(move |(_, event)| wanted(&event.kind)).map(|(n, _)| n)
    }

    /// Whether an actor's operation matches a reference such as `A.acquire` or `acquire`.
    pub(crate) fn refers(&self, reference: &str) -> impl Fn(ActorId, &str) -> bool {
        let in_group =
            reference.rsplit_once('.').and_then(|(who, label)| Some((self.groups.get(who)?, label)));
        let (members, label) = in_group.map_or((None, reference), |(members, label)| (Some(members), label));
        move |actor, known| known == label && members.is_none_or(|members| members.contains(&actor))
    }

    /// The events in which operations that match a reference were sent, or ended a wait for a notification.
    pub(crate) fn moves(&self, reference: &str) -> Vec<usize> {
        let is_meant = self.refers(reference);
        let made = |kind: &EventKind| match kind {
            EventKind::Sent { actor, label, .. } => is_meant(*actor, label),
            EventKind::Replied { .. } => false,
            other => other.answers().is_some_and(|(actor, label)| is_meant(actor, label)),
        };
        self.events(made).collect()
    }

    pub(crate) fn replies(&self, reference: &str) -> Vec<usize> {
        let is_meant = self.refers(reference);
        let answers = |kind: &EventKind| kind.answers().is_some_and(|(actor, label)| is_meant(actor, label));
        self.events(answers).collect()
    }

    /// The events of the step in which a move was made: from after the previous stop up to its own.
    pub(crate) fn step_of(&self, moved: usize) -> Range<usize> {
        let events = self.log.events();
        let is_stop = |event: &Event| matches!(event.kind, EventKind::Stop { .. });
        let start = events[..moved].iter().rposition(is_stop).map_or(0, |stop| stop + 1);
        let end = events[moved..].iter().position(is_stop).map_or(events.len(), |stop| moved + stop);
        start..end
    }

    /// The state of a key on one server, or on the first server that has it. Dead servers hold nothing, and a key
    /// expires in the millisecond after its last.
    pub(crate) fn key(&self, name: &str, server: Option<&str>) -> Option<&KeyState> {
        let servers = self.world.servers.iter();
        let mut alive = servers.filter(|known| {
            known.died.is_none() && server.is_none_or(|wanted| is_server_called(&known.info.name, wanted))
        });
        let key = alive.find_map(|server| match &server.observed {
            Some(Observed::Redis(keyspace)) => keyspace.keys.get(name),
            _ => None,
        });
        key.filter(|key| !key.is_expired(self.world.now))
    }

    /// The moments between the last event and a time at which keys expire.
    pub(crate) fn expiries(&self, before: LessonTime) -> BTreeSet<LessonTime> {
        let now = self.world.now;
        if before <= now {
            return BTreeSet::new();
        }
        let observed = self.world.servers.iter().filter_map(|server| server.observed.as_ref());
        let keys = observed.flat_map(|observed| match observed {
            Observed::Redis(keyspace) => keyspace.keys.values().collect(),
            _ => Vec::new(),
        });
        let ends = keys.filter_map(|key| Some(LessonTime::from_millis(key.expires_at?.as_millis() + 1)));
        ends.filter(|end| now < *end && *end < before).collect()
    }

    /// The role that a live server last reported.
    pub(crate) fn role(&self, server: &str) -> Option<&'static str> {
        let known = self.world.server(server).filter(|known| known.died.is_none())?;
        Some(known.observed.as_ref()?.role()?.name())
    }

    /// What a server holds under a name, for entries that do not expire by themselves as keys of Redis do.
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

    /// Whether a key exists that no client will delete any more: the process that set it is dead, or all its threads
    /// have finished their programs.
    pub(crate) fn orphaned(&self, key: &str) -> bool {
        let author = match (self.key(key, None), self.entry(key)) {
            (Some(held), _) => self.key_history().owner(key, held.value.text()),
            (None, Some(_)) => self.key_history().setter_of(key),
            (None, None) => None,
        };
        let Some(author) = author.and_then(|(actor, _)| self.world.actor(actor)) else { return false };
        let mut threads = self.world.actors.iter().filter(|actor| actor.who.client == author.who.client);
        threads.all(|actor| matches!(actor.life, Life::Crashed | Life::Finished))
    }

    /// The event in which a key, as last seen on any server, was set, and the event that ended its setter.
    pub(crate) fn orphaned_since(&self, key: &str) -> Vec<usize> {
        let held = self.world.servers.iter().find_map(|server| match &server.observed {
            Some(Observed::Redis(keyspace)) => keyspace.keys.get(key),
            _ => None,
        });
        let entry = || self.entry(key).and_then(|_| self.key_history().setter_of(key));
        let Some((author, sent)) =
            held.map_or_else(entry, |held| self.key_history().owner(key, held.value.text()))
        else {
            return Vec::new();
        };
        let client = self.world.actor(author).map(|actor| actor.who.client.as_str());
        let over = |kind: &EventKind| match kind {
            EventKind::Finished { actor } => *actor == author,
            EventKind::Fault(fault) => client.is_some() && fault.killed_client() == client,
            _ => false,
        };
        let end = self.events(over).next();
        std::iter::once(sent).chain(end).collect()
    }

    /// The last event in which `about` of an observed state changed, on `server` or, with `None`, on any server.
    pub(crate) fn last_change(
        &self,
        server: Option<&str>,
        about: impl Fn(&Observed) -> Option<String>,
    ) -> Option<usize> {
        let mut before: HashMap<&str, Option<String>> = HashMap::new();
        let mut found = None;
        for (n, event) in self.log.events().iter().enumerate() {
            let EventKind::State(state) = &event.kind else { continue };
            if server.is_some_and(|server| !is_server_called(&state.server, server)) {
                continue;
            }
            let now = about(&state.observed);
            let known = before.entry(&state.server).or_default();
            if now != *known {
                (found, *known) = (Some(n), now);
            }
        }
        found
    }
}
