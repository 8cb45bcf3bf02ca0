//! Which client did what to whose key, and how many clients one change woke: facts for claims that the world does not
//! keep. Folded event by event.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    clock::LessonTime,
    lesson::Scenario,
    log::{ActorId, Event, EventKind, KeyValue, Observed, ServerState},
    world::effect::{Access, Effect, Effects},
};

#[derive(Debug, Clone)]
struct Setting {
    effect: Effect,
    value: Option<String>,
    /// When its lease ends.
    end: Option<LessonTime>,
}

/// A deletion of a key whose reply came after another client's setting of it was answered: it may have deleted either's
/// key.
#[derive(Debug, Clone)]
struct PendingDeletion {
    deletion: Effect,
    other: Setting,
}

/// The clients that were notified of one change of a path.
#[derive(Debug, Clone, Default)]
struct Herd {
    what: String,
    /// The notifications: event and actor.
    notified: Vec<(usize, ActorId)>,
}

impl Herd {
    /// Removes the notifications of an earlier change. Those of `change` itself may have arrived before its reply.
    fn forget_earlier_than(&mut self, change: &Effect) {
        let heard_of_creation = self.what == "NodeCreated";
        match change.access {
            Access::Set => self.notified.retain(|(event, _)| heard_of_creation && *event > change.sent),
            Access::Deleted if heard_of_creation => self.notified.clear(),
            _ => {}
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct KeyHistory {
    effects: Effects,
    /// The client of each actor.
    clients: Arc<[String]>,
    settings: BTreeMap<String, Vec<Setting>>,
    /// By key and access: the replies that prove such an access to a key that another client had set.
    foreign: BTreeMap<(String, Access), Vec<usize>>,
    /// Deletions for which only the server's next state tells whose key was deleted.
    pending: Vec<PendingDeletion>,
    herds: BTreeMap<String, Herd>,
    largest: Vec<usize>,
}

impl KeyHistory {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self {
            effects: Effects::new(scenario),
            clients: scenario.actors.iter().map(|plan| plan.actor.client.clone()).collect(),
            settings: BTreeMap::new(),
            foreign: BTreeMap::new(),
            pending: Vec::new(),
            herds: BTreeMap::new(),
            largest: Vec::new(),
        }
    }

    pub(crate) fn take(&mut self, index: usize, event: &Event) {
        for effect in self.effects.take(index, event) {
            self.note(effect, event.at);
        }
        if let EventKind::State(state) = &event.kind {
            self.settle(state, event.at);
        }
        if let EventKind::Notified { actor, about, what, .. } = &event.kind {
            let herd = self.herds.entry(about.clone()).or_default();
            // A watch fires once: a second notification of a client comes from another change. So does a notification
            // of another kind: a watch on a node that did not exist can stay set and fire when the node is created.
            if herd.notified.iter().any(|(_, member)| member == actor) || herd.what != *what {
                *herd = Herd::default();
            }
            herd.what.clone_from(what);
            herd.notified.push((index, *actor));
            if herd.notified.len() > self.largest.len() {
                self.largest = herd.notified.iter().map(|(index, _)| *index).collect();
            }
        }
    }

    fn note(&mut self, effect: Effect, at: LessonTime) {
        if let Some(herd) = self.herds.get_mut(&effect.key) {
            herd.forget_earlier_than(&effect);
        }
        match effect.access {
            Access::Set | Access::Changed if effect.access == Access::Set || effect.puts => {
                let mut attempts = self.effects.attempts().iter().rev();
                let asked = attempts.find(|asked| asked.sent == effect.command_sent);
                let lease = asked.and_then(|asked| asked.lease_ms);
                let end = lease.map(|lease| LessonTime::from_millis(at.as_millis().saturating_add(lease)));
                let value = asked.map(|asked| asked.value.clone());
                self.settings.entry(effect.key.clone()).or_default().push(Setting { effect, value, end });
            }
            Access::Deleted | Access::Expiry => {
                if self.setter(&effect).is_some_and(|setting| !self.same_client(&setting.effect, &effect)) {
                    self.foreign.entry((effect.key, effect.access)).or_default().push(effect.replied);
                } else if effect.access == Access::Deleted {
                    self.remember_suspect(effect);
                }
            }
            Access::Read | Access::Set | Access::Changed => {}
        }
    }

    fn same_client(&self, one: &Effect, other: &Effect) -> bool {
        let client = |effect: &Effect| self.clients.get(effect.actor.0 as usize);
        client(one) == client(other)
    }

    /// Remembers a deletion that was in flight while another client's setting was answered: it may have deleted that
    /// client's key.
    fn remember_suspect(&mut self, deletion: Effect) {
        // A client that deletes its own key ends the suspicion.
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|known| {
            known.deletion.key != deletion.key || !self.same_client(&known.other.effect, &deletion)
        });
        self.pending = pending;
        let last = self.settings.get(&deletion.key).and_then(|known| known.last());
        let other = last.filter(|setting| {
            setting.value.is_some()
                && setting.effect.server == deletion.server
                && setting.effect.replied > deletion.sent
                && !self.same_client(&setting.effect, &deletion)
        });
        if let Some(other) = other.cloned() {
            self.pending.push(PendingDeletion { deletion, other });
        }
    }

    /// Decides pending deletions by the server's state: if the other client's key is gone before its lease ended, it
    /// was deleted.
    fn settle(&mut self, state: &ServerState, at: LessonTime) {
        let Observed::Redis(keyspace) = &state.observed else { return };
        let here = |known: &mut PendingDeletion| known.deletion.server == state.server;
        for PendingDeletion { deletion, other } in self.pending.extract_if(.., here) {
            let held = keyspace.keys.get(&deletion.key).map(|key| &key.value);
            let there = matches!(held, Some(KeyValue::String(held)) if other.value.as_ref() == Some(held));
            if !there && other.end.is_none_or(|end| at < end) {
                let access = (deletion.key, Access::Deleted);
                self.foreign.entry(access).or_default().push(deletion.replied);
            }
        }
    }

    /// The setting in effect when a command was sent. Only settings answered before that count: of commands in flight
    /// at once the order is unknown, and nothing bad is assumed until the server's state shows it. A key that was never
    /// set on this server may have come from another, as on a replica.
    fn setter(&self, effect: &Effect) -> Option<&Setting> {
        let known = self.settings.get(&effect.key)?;
        let before = || known.iter().rev().filter(|setting| setting.effect.replied < effect.sent);
        before().find(|setting| setting.effect.server == effect.server).or_else(|| before().next())
    }

    /// The replies that prove that a client accessed, in this way, a key that another client had set.
    pub(crate) fn foreign(&self, key: &str, access: Access) -> &[usize] {
        self.foreign.get(&(key.to_owned(), access)).map_or(&[], Vec::as_slice)
    }

    /// The actor that requested the value that a key holds, and the event of its command.
    pub(crate) fn author(&self, key: &str, value: &str) -> Option<(ActorId, usize)> {
        let mut asked = self.effects.attempts().iter().rev();
        asked
            .find(|known| known.key == key && known.value == value && !known.refused)
            .map(|known| (known.actor, known.sent))
    }

    /// The actor that last set an entry, or put something into a key of Redis, and the event of its command.
    pub(crate) fn setter_of(&self, name: &str) -> Option<(ActorId, usize)> {
        let effect = &self.settings.get(name)?.last()?.effect;
        Some((effect.actor, effect.sent))
    }

    /// Everything that later answers about a key can depend on, as a text, provided that each command is answered
    /// before the next is sent: who set it last on each server, who requested its values, how often it was accessed by
    /// clients that had not set it. With `reported`, keys are created only by commands that name the value and are
    /// answered at once. Then it does not matter who had set a key that is gone, nor who requested a value that no
    /// server holds.
    pub(crate) fn described<'k>(
        &self,
        key: &str,
        held: impl Iterator<Item = &'k KeyValue>,
        reported: bool,
    ) -> String {
        let held: Vec<&KeyValue> = held.collect();
        let is_deleted = reported && held.is_empty();
        let settings = || self.settings.get(key).into_iter().flatten().filter(|_| !is_deleted);
        let last: BTreeMap<_, _> = settings().map(|set| (&set.effect.server, set.effect.actor)).collect();
        let newest = settings().next_back().map(|set| &set.effect.server);
        let foreign = [Access::Deleted, Access::Expiry].map(|access| self.foreign(key, access).len());
        let queued = if reported { String::new() } else { self.effects.queued_described() };
        let authors: Vec<_> = if reported {
            let strings = held.into_iter().filter_map(|value| match value {
                KeyValue::String(value) => Some(value.as_str()),
                _ => None,
            });
            strings.filter_map(|value| Some((value, self.author(key, value)?.0, false))).collect()
        } else {
            self.authors(key)
        };
        format!("{key} {last:?} {newest:?} {authors:?} {foreign:?} {queued}")
    }

    /// The requests for values of a key, newest first, each once, and whether a transaction may still refuse it.
    fn authors(&self, key: &str) -> Vec<(&str, ActorId, bool)> {
        let mut authors = Vec::new();
        for asked in self.effects.attempts().iter().rev().filter(|asked| asked.key == key && !asked.refused) {
            let author = (asked.value.as_str(), asked.actor, self.effects.is_queued(asked));
            if !authors.contains(&author) {
                authors.push(author);
            }
        }
        authors
    }

    /// Everything that determines how many clients a later change will be found to have woken, and the maximum so far.
    pub(crate) fn herds_described(&self) -> String {
        let members = |herd: &Herd| herd.notified.iter().map(|(_, actor)| *actor).collect::<BTreeSet<_>>();
        let herds = self.herds.iter().filter(|(_, herd)| !herd.notified.is_empty());
        let herds = herds.map(|(about, herd)| (about, &herd.what, members(herd)));
        format!("{} {:?}", self.largest.len(), herds.collect::<Vec<_>>())
    }

    /// The notifications of the change that woke the most clients.
    pub(crate) fn herd(&self) -> &[usize] {
        &self.largest
    }
}
