//! What happened: the append-only list of events that everything downstream reads.
//!
//! **Architecture Invariant:** the log is append-only and is the only thing that views, verdicts, recordings and
//! exports read. It must not know who writes it (runs) or who reads it (the world, the views): it names no client
//! process, no server process and no screen.

pub(crate) mod event;
pub(crate) mod fault;
pub(crate) mod history;
pub(crate) mod link;
pub(crate) mod lock;
pub mod outlook;
pub(crate) mod product;
pub(crate) mod reply;
pub(crate) mod steps;
#[cfg(test)]
pub mod testing;

use crate::text::{Lang, Text};

pub use event::{
    Actor, ActorId, AskedChoice, Belief, Choice, Event, EventKind, OpId, ServerInfo, Stop, is_server_called,
};
pub use fault::{Condition, Direction, Fault, Target};
pub use history::HistoryEntry;
pub use link::LinkId;
pub use lock::{ANY, Capacity, CounterInfo, Excess, LockInfo, is_any, stands_for};
pub use product::{
    Access, Command, Entry, Observed, Product, ServerState,
    files::{FILES, Flock},
    redis::{ClusterNode, KeyState, KeyValue, Keyspace, Role, SLOTS, slot},
    sentinel::SentinelNotice,
    zookeeper::{Member, Znode, ZnodeTree},
};
pub use reply::Reply;
pub use steps::{Step, Steps};

/// The number of neighbouring events that are searched for the same message of another Sentinel.
const NEIGHBOURS: usize = 200;

/// An append-only list of events. Event `n` never changes once event `n + 1` is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    events: Vec<Event>,
}

impl Log {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an event. There is no way to change or to remove one.
    pub fn append(&mut self, event: Event) {
        self.events.push(event);
    }

    /// All events, oldest first.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The Sentinels that publish the same message as `event`, among the first `to` events, the sender of `event`
    /// first. Empty if `event` is no message of a Sentinel, or repeats one that was published before and not withdrawn
    /// since.
    pub fn same_notice_from(&self, event: usize, to: usize) -> Vec<&str> {
        let Some((sentinel, notice)) = self.events.get(event).and_then(Event::of_sentinel) else {
            return Vec::new();
        };
        let stays = |event: &&Event| match event.of_sentinel() {
            Some((_, SentinelNotice::Hears { server })) => notice.server() != Some(server),
            _ => true,
        };
        let before = self.events[..event].iter().rev().take(NEIGHBOURS).take_while(stays);
        if before.filter_map(Event::of_sentinel).any(|(_, other)| notice.is_same_fact(other)) {
            return Vec::new();
        }
        let after = self.events[event + 1..to.clamp(event + 1, self.len())].iter().take(NEIGHBOURS);
        let after = after.take_while(stays).filter_map(Event::of_sentinel);
        let mut all = vec![sentinel];
        for (other, _) in after.filter(|(_, other)| notice.is_same_fact(other)) {
            if !all.contains(&other) {
                all.push(other);
            }
        }
        all
    }

    /// Whether `event` begins a pause before its actor retries the same operation.
    pub fn is_retry_pause(&self, event: usize) -> bool {
        let Some(EventKind::Waits { actor, label, .. }) = self.events.get(event).map(|event| &event.kind)
        else {
            return false;
        };
        let before = self.events[..event].iter().rev();
        let mut sent = before.filter_map(|event| match &event.kind {
            EventKind::Sent { actor: who, label: tried, .. } if who == actor => Some(tried),
            _ => None,
        });
        sent.next() == Some(label)
    }

    pub fn prefix(&self, position: usize) -> Self {
        Self { events: self.events[..position.min(self.len())].to_vec() }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// All actors, from the first event: actor `n` is `ActorId(n)`.
    pub fn actors(&self) -> &[Actor] {
        match self.events.first().map(|first| &first.kind) {
            Some(EventKind::LabReady { actors, .. }) => actors,
            _ => &[],
        }
    }

    pub fn actor(&self, id: ActorId) -> Option<&Actor> {
        self.actors().get(id.0 as usize)
    }

    pub fn name(&self, id: ActorId) -> &str {
        self.actor(id).map_or("?", |actor| &actor.name)
    }

    /// The actor's name in texts: its client's, unless the client has other actors or is a crowd.
    pub fn called(&self, id: ActorId) -> &str {
        let Some(actor) = self.actor(id) else { return "?" };
        let is_alone = !actor.crowd && self.actors_of(&actor.client).nth(1).is_none();
        if is_alone { &actor.client } else { &actor.name }
    }

    /// The actors that run in a client's process.
    pub fn actors_of(&self, client: &str) -> impl Iterator<Item = ActorId> {
        let all = (0..).map(ActorId).zip(self.actors());
        all.filter(move |(_, actor)| actor.client == client).map(|(id, _)| id)
    }

    /// The title of a lock for people, or its name if it has none.
    pub fn lock_title<'a>(&'a self, lock: &'a str, lang: Lang) -> &'a str {
        self.title_of(lock).map_or(lock, |title| title.get(lang))
    }

    /// A lock as part of a sentence. A lock named just `lock` is called "the lock".
    pub fn lock_in_words(&self, lock: &str, lang: Lang) -> String {
        match (self.title_of(lock), lang) {
            (Some(title), _) => title.get(lang).to_owned(),
            (None, Lang::En) if lock == "lock" => "the lock".to_owned(),
            (None, Lang::En) => format!("the lock “{lock}”"),
            (None, Lang::Zh) if lock == "lock" => "锁".to_owned(),
            (None, Lang::Zh) => format!("锁“{lock}”"),
        }
    }

    fn title_of(&self, lock: &str) -> Option<&Text> {
        let known = match self.events.first().map(|first| &first.kind) {
            Some(EventKind::LabReady { locks, .. }) => {
                locks.iter().find(|known| stands_for(&known.name, lock))
            }
            _ => None,
        };
        // The title of a group of locks does not tell which of them it is.
        known.filter(|known| !known.name.contains(ANY))?.title.as_ref()
    }

    /// The title of a counter, if the lesson gives it one.
    pub fn counter_title(&self, counter: &str) -> Option<&Text> {
        match self.events.first().map(|first| &first.kind) {
            Some(EventKind::LabReady { counters, .. }) => {
                counters.iter().find(|known| known.name == counter).map(|known| &known.title)
            }
            _ => None,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// A log whose events all happen at time zero, for tests.
#[cfg(test)]
impl FromIterator<EventKind> for Log {
    fn from_iter<I: IntoIterator<Item = EventKind>>(kinds: I) -> Self {
        let at = crate::clock::LessonTime::ZERO;
        let events = kinds.into_iter().map(|kind| Event { at, kind });
        Self { events: events.collect() }
    }
}

impl Extend<Event> for Log {
    fn extend<I: IntoIterator<Item = Event>>(&mut self, events: I) {
        self.events.extend(events);
    }
}
