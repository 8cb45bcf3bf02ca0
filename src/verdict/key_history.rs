//! Which client did what to whose key: facts for claims that the world does not keep. Folded event by event.

mod observation;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use observation::{Observation, Writer};

use crate::{
    clock::LessonTime,
    lesson::Scenario,
    log::{ActorId, Entry, Event, EventKind, KeyValue, Observed, OpId, Reply, ServerState},
    verdict::{key_changes::accesses, wakeups::Wakeups},
    world::effect::{Access, Effect, Effects, MayWrite},
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
    /// By server. A server that is not observed after every step has none: then only words and replies are known.
    observations: BTreeMap<String, Observation>,
    /// How many clients each change woke.
    pub(crate) wakeups: Wakeups,
}

impl KeyHistory {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self {
            effects: Effects::new(scenario),
            clients: scenario.actors.iter().map(|plan| plan.actor.client.clone()).collect(),
            settings: BTreeMap::new(),
            foreign: BTreeMap::new(),
            pending: Vec::new(),
            observations: BTreeMap::new(),
            wakeups: Wakeups::default(),
        }
    }

    pub(crate) fn take(&mut self, index: usize, event: &Event) {
        self.expect_writes(index, event);
        for effect in self.effects.take(index, event) {
            self.learn(effect, event);
        }
        match &event.kind {
            EventKind::Replied { op, reply, .. } => self.end_writer(*op, reply, index),
            EventKind::State(state) => {
                self.compare(index, state, event.at);
                self.settle(state, event.at);
            }
            EventKind::Fault(fault) => {
                if let Some(client) = fault.killed_client() {
                    self.end_writers_of(client, index);
                }
                if let Some(known) = fault.server().and_then(|server| self.observations.get_mut(server)) {
                    known.had_fault = true;
                }
            }
            EventKind::Notified { actor, about, what, .. } => {
                self.wakeups.notified(index, *actor, about, what);
            }
            EventKind::Stop { .. } => self.observations.values_mut().for_each(Observation::end_step),
            _ => {}
        }
    }

    /// Takes over what servers hold before the next event, without asking how it came to be: after a step of another
    /// order that came to the same.
    pub(crate) fn resume(&mut self, states: &[ServerState]) {
        for state in states {
            self.observations.insert(state.server.clone(), Observation::of(&state.observed));
            self.forget_gone(&state.server, &state.observed);
        }
    }

    /// Remembers a command that may change keys.
    fn expect_writes(&mut self, index: usize, event: &Event) {
        let EventKind::Sent { op, actor, server, command, .. } = &event.kind else { return };
        let Some(known) = self.observations.get_mut(server) else { return };
        known.writers.retain(|writer| !writer.is_over);
        let (may_write, is_provable) = self.effects.may_write(command);
        if may_write != MayWrite::Nothing {
            known.writers.push(Writer {
                op: *op,
                actor: *actor,
                sent: index,
                may_write,
                is_provable,
                renews: command.renews(),
                replied: None,
                is_over: false,
                shown: BTreeSet::new(),
            });
        }
    }

    /// Notes what a reply proves. What it only suggests is noted when the next observation shows it.
    fn learn(&mut self, effect: Effect, event: &Event) {
        let EventKind::Replied { op, .. } = &event.kind else { return };
        self.forget_expired(&effect.server, event.at);
        if let Some(known) = self.observations.get_mut(&effect.server) {
            let mut writers = known.writers.iter();
            if writers.any(|writer| writer.op == *op && writer.shown.contains(&effect.key)) {
                return;
            }
            if !effect.proven {
                known.suggested.push(effect);
                return;
            }
            if effect.access != Access::Read {
                known.proven.insert(effect.key.clone());
            }
        }
        self.note(effect, event.at);
    }

    /// A command was answered, or its reply was lost.
    fn end_writer(&mut self, op: OpId, reply: &Reply, index: usize) {
        for (server, known) in &mut self.observations {
            let Some(n) = known.writers.iter().position(|writer| writer.op == op) else { continue };
            let is_queued = matches!(reply, Reply::Value(word) if word == "QUEUED");
            if is_queued || known.writers[n].is_provable && !reply.is_lost() {
                known.writers.remove(n);
                return;
            }
            known.writers[n].replied = Some(index);
            let Some(lease) = known.writers[n].renews.filter(|_| reply.is_value()) else { return };
            let entries = known.observed.entries();
            let attached = entries
                .iter()
                .filter(|(_, entry)| matches!(entry, Entry::Pair(pair) if pair.lease == Some(lease)));
            let renewed: Vec<_> = attached
                .map(|(key, _)| known.writers[n].effect(server, key, Access::Expiry, index))
                .collect();
            for effect in renewed {
                self.note_shown(effect, None, None);
            }
            return;
        }
    }

    /// Nobody receives the replies to a client that was killed.
    fn end_writers_of(&mut self, client: &str, index: usize) {
        for writer in self.observations.values_mut().flat_map(|known| &mut known.writers) {
            if self.clients.get(writer.actor.0 as usize).is_some_and(|known| known == client) {
                writer.replied = writer.replied.or(Some(index));
            }
        }
    }

    /// Finds who changed what between two observations of a server: the only client that may have.
    fn compare(&mut self, index: usize, state: &ServerState, at: LessonTime) {
        self.forget_expired(&state.server, at);
        let fresh = Observation::of(&state.observed);
        let Some(mut known) = self.observations.insert(state.server.clone(), fresh) else { return };
        let suggested = std::mem::take(&mut known.suggested);
        if known.had_fault {
            for effect in suggested {
                self.note(effect, at);
            }
        } else {
            let (old, new) = (known.observed.entries(), state.observed.entries());
            let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
            for name in names.into_iter().filter(|name| !known.proven.contains(*name)) {
                let found = accesses(old.get(name).copied(), new.get(name).copied());
                if found.is_empty() {
                    continue;
                }
                let clients = &self.clients;
                let client = |writer: &Writer| clients.get(writer.actor.0 as usize).cloned();
                let mut writers = known.writers.iter_mut().filter(|writer| writer.may_write.includes(name));
                let Some(writer) = writers.next() else { continue };
                if writers.any(|other| client(other) != client(writer)) {
                    // Any of them may have done it.
                    let meant = suggested.iter().filter(|effect| effect.key == name);
                    for effect in meant {
                        self.note(effect.clone(), at);
                    }
                    continue;
                }
                writer.shown.insert(name.to_owned());
                let (value, end) = match new.get(name) {
                    Some(Entry::Key(key)) => (key.value.text().map(str::to_owned), key.expires_at),
                    _ => (None, None),
                };
                for access in found {
                    let effect = writer.effect(&state.server, name, access, index);
                    self.note_shown(effect, value.clone(), end);
                }
            }
        }
        let unanswered = known.writers.into_iter().filter(|writer| writer.replied.is_none());
        if let Some(fresh) = self.observations.get_mut(&state.server) {
            fresh.writers.extend(unanswered);
        }
        self.forget_gone(&state.server, &state.observed);
    }

    /// Notes what an observation shows: it is known whose key it was.
    fn note_shown(&mut self, effect: Effect, value: Option<String>, end: Option<LessonTime>) {
        if effect.access == Access::Set {
            self.settings.entry(effect.key.clone()).or_default().push(Setting { effect, value, end });
            return;
        }
        let known = self.settings.get(&effect.key).map_or(&[][..], Vec::as_slice);
        let here = known.iter().rev().find(|setting| setting.effect.server == effect.server);
        let owner = here.or_else(|| known.last());
        if owner.is_some_and(|setting| !self.same_client(&setting.effect, &effect)) {
            self.foreign.entry((effect.key, effect.access)).or_default().push(effect.replied);
        }
    }

    /// Nobody has set a key that a server does not hold.
    fn forget_gone(&mut self, server: &str, observed: &Observed) {
        for (key, settings) in &mut self.settings {
            if observed.entry(key).is_none() {
                settings.retain(|setting| setting.effect.server != server);
            }
        }
    }

    /// Forgets the keys of a server whose TTL has ended since it was observed.
    fn forget_expired(&mut self, server: &str, at: LessonTime) {
        let Some(known) = self.observations.get_mut(server) else { return };
        let Observed::Redis(keyspace) = &mut known.observed else { return };
        for (key, _) in keyspace.keys.extract_if(.., |_, key| key.is_expired(at)) {
            if let Some(settings) = self.settings.get_mut(&key) {
                settings.retain(|setting| setting.effect.server != server);
            }
        }
    }

    fn note(&mut self, effect: Effect, at: LessonTime) {
        self.wakeups.changed(&effect);
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
                    self.forget_deleted(&effect);
                    self.remember_suspect(effect);
                }
            }
            Access::Read | Access::Set | Access::Changed => {}
        }
    }

    /// A client that deletes its own key does not own the key that another client creates later.
    fn forget_deleted(&mut self, deletion: &Effect) {
        if let Some(settings) = self.settings.get_mut(&deletion.key) {
            let is_older = |setting: &Setting| setting.effect.replied < deletion.sent;
            settings.retain(|setting| setting.effect.server != deletion.server || !is_older(setting));
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

    /// The actor that set a key of Redis to the text that it holds, or else the last that put something into it; and the
    /// event of its command.
    pub(crate) fn owner(&self, key: &str, text: Option<&str>) -> Option<(ActorId, usize)> {
        let known = self.settings.get(key).map_or(&[][..], Vec::as_slice);
        let meant = known.iter().rev().find(|set| text.is_some() && set.value.as_deref() == text);
        let setter = meant.map(|set| (set.effect.actor, set.effect.command_sent));
        setter.or_else(|| self.author(key, text?)).or_else(|| self.setter_of(key))
    }

    /// The actor that last set an entry, or put something into a key of Redis, and the event of its command.
    pub(crate) fn setter_of(&self, name: &str) -> Option<(ActorId, usize)> {
        let effect = &self.settings.get(name)?.last()?.effect;
        Some((effect.actor, effect.sent))
    }

    /// Everything that later answers about a key can depend on, as a text, provided that each command is answered
    /// before the next is sent, and that the servers, which hold `held`, are observed after each: who set it last on
    /// each server, whose its values are, how often it was accessed by clients that had not set it.
    pub(crate) fn described<'k>(&self, key: &str, held: impl Iterator<Item = &'k KeyValue>) -> String {
        let owner = |value: &KeyValue| self.owner(key, value.text()).map(|(actor, _)| actor);
        let owners: Vec<_> = held.map(owner).collect();
        let settings = || self.settings.get(key).into_iter().flatten().filter(|_| !owners.is_empty());
        let last: BTreeMap<_, _> = settings().map(|set| (&set.effect.server, set.effect.actor)).collect();
        let newest = settings().next_back().map(|set| &set.effect.server);
        let foreign = [Access::Deleted, Access::Expiry].map(|access| self.foreign(key, access).len());
        let queued = self.effects.queued_described();
        format!("{key} {last:?} {newest:?} {owners:?} {foreign:?} {queued}")
    }
}
