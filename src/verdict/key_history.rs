//! Who did what to whose key, and how many one change woke: what claims can ask about and the world does not keep.
//! Folded event by event.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    clock::LessonTime,
    lesson::Scenario,
    log::{ActorId, Event, EventKind, KeyValue, Observed, ServerState},
    world::effect::{Access, Effect, Effects},
};

/// A key was set: when the reply came, where, and by which client.
#[derive(Debug)]
struct Setting {
    replied: usize,
    server: String,
    client: String,
    /// What it was set to.
    value: Option<String>,
    /// When that is over.
    end: Option<LessonTime>,
}

/// Somebody deleted a key while another's setting of it was answered: its own, or the other's?
#[derive(Debug)]
struct PendingDeletion {
    deletion: Effect,
    client: String,
    value: String,
    /// When the other's lease is over.
    end: Option<LessonTime>,
}

/// Who was told of one change of a path.
#[derive(Debug, Default)]
struct Herd {
    what: String,
    members: BTreeSet<ActorId>,
    events: Vec<usize>,
}

/// What everybody has done so far.
#[derive(Debug)]
pub(crate) struct KeyHistory {
    effects: Effects,
    /// By actor: the client that it lives in.
    clients: Vec<String>,
    settings: BTreeMap<String, Vec<Setting>>,
    /// By key and access: the replies that prove that somebody did it to a key that another client had set.
    foreign: BTreeMap<(String, Access), Vec<usize>>,
    /// Deletions of which only the server's next state will say whose key it was.
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
            // A watch fires once: who is told again is told of another change. So is who is told of something else: a
            // watch on what was not there outlives its reason, and tells that it is there now.
            if herd.members.contains(actor) || herd.what != *what {
                *herd = Herd::default();
            }
            herd.what.clone_from(what);
            herd.members.insert(*actor);
            herd.events.push(index);
            if herd.events.len() > self.largest.len() {
                self.largest.clone_from(&herd.events);
            }
        }
    }

    fn note(&mut self, effect: Effect, at: LessonTime) {
        let Some(client) = self.clients.get(effect.actor.0 as usize) else {
            return;
        };
        match effect.access {
            Access::Set => {
                self.herds.remove(&effect.key);
                let mut attempts = self.effects.attempts().iter().rev();
                let asked = attempts.find(|asked| asked.sent == effect.worded);
                let lease = asked.and_then(|asked| asked.lease_ms);
                let setting = Setting {
                    replied: effect.replied,
                    server: effect.server,
                    client: client.clone(),
                    value: asked.map(|asked| asked.value.clone()),
                    end: lease.map(|lease| LessonTime::from_millis(at.as_millis().saturating_add(lease))),
                };
                self.settings.entry(effect.key).or_default().push(setting);
            }
            Access::Deleted | Access::Expiry => {
                let client = client.clone();
                if self.setter(&effect).is_some_and(|setting| setting.client != client) {
                    let access = (effect.key, effect.access);
                    self.foreign.entry(access).or_default().push(effect.replied);
                } else if effect.access == Access::Deleted {
                    self.doubt(effect, &client);
                }
            }
            Access::Read | Access::Changed => {}
        }
    }

    /// A deletion that was long on its way may have met another's key.
    fn doubt(&mut self, deletion: Effect, client: &str) {
        // Whoever deletes its own is innocent of what is doubtful about its key.
        self.pending.retain(|doubt| doubt.client != client || doubt.deletion.key != deletion.key);
        let known = self.settings.get(&deletion.key);
        let other = known.and_then(|known| known.last()).filter(|setting| {
            setting.client != client && setting.server == deletion.server && setting.replied > deletion.sent
        });
        if let Some((other, value)) = other.and_then(|other| Some((other, other.value.clone()?))) {
            self.pending.push(PendingDeletion {
                client: other.client.clone(),
                value,
                end: other.end,
                deletion,
            });
        }
    }

    /// The server still has the other's key, or has it no more although its lease is not over.
    fn settle(&mut self, state: &ServerState, at: LessonTime) {
        let Observed::Redis(keyspace) = &state.observed else {
            return;
        };
        let (settled, left): (Vec<PendingDeletion>, _) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|doubt| doubt.deletion.server == state.server);
        self.pending = left;
        for PendingDeletion { deletion, value, end, .. } in settled {
            let held = keyspace.keys.get(&deletion.key);
            let there =
                held.is_some_and(|key| matches!(&key.value, KeyValue::String(held) if *held == value));
            if !there && end.is_none_or(|end| at < end) {
                let access = (deletion.key, Access::Deleted);
                self.foreign.entry(access).or_default().push(deletion.replied);
            }
        }
    }

    /// Who had set the key when this command was sent. A setting whose reply came later may be a later one: of two
    /// replies that overtook each other nothing bad is assumed, until the server's state shows it. What one server never was told it may have from
    /// another, as a replica has.
    fn setter(&self, effect: &Effect) -> Option<&Setting> {
        let known = self.settings.get(&effect.key)?;
        let before = || known.iter().rev().filter(|setting| setting.replied < effect.sent);
        before().find(|setting| setting.server == effect.server).or_else(|| before().next())
    }

    /// The replies that prove that somebody did this to a key that another client had set.
    pub(crate) fn foreign(&self, key: &str, access: Access) -> &[usize] {
        self.foreign.get(&(key.to_owned(), access)).map_or(&[], Vec::as_slice)
    }

    /// Who asked for a key to be set to what it holds, and the event in which it was asked.
    pub(crate) fn author(&self, key: &str, value: &str) -> Option<(ActorId, usize)> {
        let mut asked = self.effects.attempts().iter().rev();
        asked
            .find(|known| known.key == key && known.value == value && !known.refused)
            .map(|known| (known.actor, known.sent))
    }

    /// The notifications that one change sent to the most clients.
    pub(crate) fn herd(&self) -> &[usize] {
        &self.largest
    }
}
