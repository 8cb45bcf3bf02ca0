//! What the lesson looked like after the first `n` events.
//!
//! **Architecture Invariant:** a [`World`] is a pure function of a prefix of the log. Stepping back folds a
//! shorter prefix; it touches no server. This module must not know the engine, the lab or the screen.

pub(crate) mod actor;
pub mod effect;
pub(crate) mod holding;
pub(crate) mod server;

pub use actor::{ActorWorld, BeliefSpan, Doing, Life, Notification};
pub use holding::{Holders, Holding, Overlap, Turn};
pub use server::{Change, ServerWorld, changes};

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;

use crate::{
    clock::{ClockKind, LessonTime},
    log::{ActorId, AskedChoice, Condition, Event, EventKind, Fault, LinkId, Log, OpId, Target, Way},
    text::Text,
};

/// The state of one link, as faults have left it. A link without an entry is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// Connections were closed and are refused.
    Cut,
    /// What is sent this way is kept.
    Held(Way),
}

/// A command and, once it came, its reply: indices into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    pub actor: ActorId,
    /// The index of its `Sent` event.
    pub sent: usize,
    /// The index of its `Replied` event.
    pub replied: Option<usize>,
}

/// Words of the narrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narration {
    /// Index of the story's item.
    pub item: usize,
    /// The text in English.
    pub en: String,
    /// The text in Chinese.
    pub zh: String,
}

/// A question that the learner was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Index of the story's item.
    pub item: usize,
    pub q: Text,
    /// The answers to choose from.
    pub choices: Vec<AskedChoice>,
    /// The right ones, by index, once that is known.
    pub right: Option<Vec<usize>>,
}

/// What was told last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Told {
    #[default]
    Nothing,
    /// The narrator spoke: the newest of [`World::narration`].
    Narration,
    /// A question was asked: that of [`World::questions`].
    Question(usize),
    /// A question was decided: that of [`World::questions`].
    Decision(usize),
}

/// What must never be so, and was found to be so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breached {
    /// Which of the variant's invariants, from 0.
    pub invariant: usize,
    /// What has happened, in a sentence.
    pub says: Text,
    /// The event that says so.
    pub event: usize,
}

/// Everything that can be known after a prefix of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// How many events were folded in.
    pub position: usize,
    /// The lesson time of the last of them.
    pub now: LessonTime,
    /// The clock of the run.
    pub clock: ClockKind,
    /// Who takes part, by [`ActorId`].
    pub actors: Vec<ActorWorld>,
    /// The servers of the lab.
    pub servers: Vec<ServerWorld>,
    /// Links that a fault has changed.
    pub links: BTreeMap<LinkId, LinkState>,
    /// Counters of the lesson.
    pub counters: IndexMap<String, i64>,
    /// Every command so far, in the order in which they were sent.
    pub exchanges: Vec<Exchange>,
    /// What the narrator said, oldest first.
    pub narration: Vec<Narration>,
    /// What the learner was asked, oldest first.
    pub questions: Vec<Question>,
    /// Which of the two was told last.
    pub told: Told,
    /// Who holds which lock.
    pub holding: Holding,
    /// What must never be so and was found to be so, oldest first.
    pub breaches: Vec<Breached>,
    sessions: HashMap<i64, ActorId>,
    in_flight: HashMap<OpId, usize>,
    /// Whether the newest event is a stop.
    rests: bool,
}

impl Default for World {
    fn default() -> Self {
        Self {
            position: 0,
            now: LessonTime::ZERO,
            clock: ClockKind::Wall,
            actors: Vec::new(),
            servers: Vec::new(),
            links: BTreeMap::new(),
            counters: IndexMap::new(),
            exchanges: Vec::new(),
            narration: Vec::new(),
            questions: Vec::new(),
            told: Told::Nothing,
            holding: Holding::default(),
            breaches: Vec::new(),
            sessions: HashMap::new(),
            in_flight: HashMap::new(),
            rests: false,
        }
    }
}

impl World {
    /// The world after the first `position` events of a log.
    pub fn fold(log: &Log, position: usize) -> Self {
        let mut world = Self::default();
        world.advance(log, position);
        world
    }

    /// Moves to after the first `position` events: forward by folding in what is new, backward by folding
    /// anew.
    pub fn seek(&mut self, log: &Log, position: usize) {
        if position < self.position {
            *self = Self::default();
        }
        self.advance(log, position);
    }

    fn advance(&mut self, log: &Log, position: usize) {
        let end = position.min(log.len());
        for event in &log.events()[self.position.min(end)..end] {
            self.apply(event);
        }
    }

    /// An actor's part of the world.
    pub fn actor(&self, id: ActorId) -> Option<&ActorWorld> {
        self.actors.get(id.0 as usize)
    }

    pub fn session_owner(&self, session: i64) -> Option<ActorId> {
        self.sessions.get(&session).copied()
    }

    /// The locks that anybody ever had a belief about.
    pub fn locks(&self) -> Vec<&str> {
        let mut locks: Vec<&str> = Vec::new();
        for actor in &self.actors {
            for lock in actor.beliefs.keys().chain(actor.spans.iter().map(|span| &span.lock)) {
                if !locks.contains(&lock.as_str()) {
                    locks.push(lock);
                }
            }
        }
        locks
    }

    fn actor_mut(&mut self, id: ActorId) -> Option<&mut ActorWorld> {
        self.actors.get_mut(id.0 as usize)
    }

    fn apply(&mut self, event: &Event) {
        let index = self.position;
        self.position += 1;
        self.holding.take(index, event);
        self.now = self.now.max(event.at);
        let stops = matches!(event.kind, EventKind::Stop { .. });
        if std::mem::replace(&mut self.rests, stops) && !stops {
            // What the last step changed is news until the next one begins.
            for server in &mut self.servers {
                server.changes.clear();
            }
        }
        match &event.kind {
            EventKind::LabReady { clock, servers, actors, .. } => {
                self.clock = *clock;
                self.servers = servers.iter().cloned().map(ServerWorld::new).collect();
                self.actors = actors.iter().cloned().map(ActorWorld::new).collect();
            }
            EventKind::Session { actor, session, .. } => {
                self.sessions.insert(*session, *actor);
            }
            EventKind::Say { item, en, zh } => {
                self.narration.push(Narration { item: *item, en: en.clone(), zh: zh.clone() });
                self.told = Told::Narration;
            }
            EventKind::Asked { item, q, choices } => {
                self.told = Told::Question(self.questions.len());
                self.questions.push(Question {
                    item: *item,
                    q: q.clone(),
                    choices: choices.clone(),
                    right: None,
                });
            }
            EventKind::Decided { item, right } => {
                if let Some(n) = self.questions.iter().rposition(|asked| asked.item == *item) {
                    self.questions[n].right = Some(right.clone());
                    self.told = Told::Decision(n);
                }
            }
            EventKind::Counted { counter, by, .. } => {
                let count = self.counters.entry(counter.clone()).or_default();
                *count = count.saturating_add(*by);
            }
            EventKind::Believes { actor, lock, belief } => {
                if let Some(world) = self.actor_mut(*actor) {
                    world.believe(lock, *belief, event.at);
                }
            }
            EventKind::Fault(fault) => self.apply_fault(fault, event.at),
            EventKind::GaveUp { actor, .. } => {
                self.end_actors(|(id, _)| id == *actor, event.at);
            }
            EventKind::Breached { invariant, says, .. } => {
                self.breaches.push(Breached { invariant: *invariant, says: says.clone(), event: index });
            }
            EventKind::State(_) | EventKind::Metric { .. } | EventKind::ServerDied { .. } => {
                self.apply_to_server(event);
            }
            // What a choice leads to follows it.
            EventKind::Chose(_) | EventKind::Stop { .. } => {}
            EventKind::Sent { .. }
            | EventKind::Replied { .. }
            | EventKind::Waits { .. }
            | EventKind::Waited { .. }
            | EventKind::Notified { .. }
            | EventKind::Took { .. }
            | EventKind::Finished { .. } => self.apply_to_actor(event, index),
        }
    }

    /// What an actor did or what reached it.
    fn apply_to_actor(&mut self, event: &Event, index: usize) {
        let at = event.at;
        let (id, exchange) = match &event.kind {
            EventKind::Sent { op, actor, .. } => {
                self.in_flight.insert(*op, self.exchanges.len());
                self.exchanges.push(Exchange { actor: *actor, sent: index, replied: None });
                (*actor, self.exchanges.len() - 1)
            }
            EventKind::Replied { op, actor, .. } => {
                let exchange = self.in_flight.remove(op);
                if let Some(exchange) = exchange {
                    self.exchanges[exchange].replied = Some(index);
                }
                (*actor, exchange.unwrap_or_default())
            }
            EventKind::Waits { actor, .. }
            | EventKind::Waited { actor, .. }
            | EventKind::Notified { actor, .. }
            | EventKind::Took { actor, .. }
            | EventKind::Finished { actor } => (*actor, 0),
            _ => return,
        };
        let Some(actor) = self.actor_mut(id) else { return };
        match &event.kind {
            EventKind::Sent { label, .. } => {
                actor.doing = Doing::InFlight { label: label.clone(), exchange, since: at };
            }
            EventKind::Replied { label, reply, .. } => {
                actor.doing = Doing::Idle;
                actor.replies.entry(label.clone()).or_default().push(reply.clone());
            }
            EventKind::Waits { label, until, .. } => {
                actor.doing = Doing::Waiting { label: label.clone(), since: at, until: *until };
            }
            EventKind::Waited { .. } => actor.doing = Doing::Idle,
            EventKind::Notified { about, what, .. } => {
                actor.notified += 1;
                actor.queue.push(Notification { at, about: about.clone(), what: what.clone() });
            }
            EventKind::Took { about, .. } => {
                if let Some(first) = actor.queue.iter().position(|queued| queued.about == *about) {
                    actor.queue.remove(first);
                }
            }
            EventKind::Finished { .. } => {
                // The dead stay dead.
                if actor.life != Life::Crashed {
                    actor.life = Life::Finished;
                }
                actor.doing = Doing::Idle;
            }
            _ => {}
        }
    }

    /// What was seen of a server.
    fn apply_to_server(&mut self, event: &Event) {
        let name = match &event.kind {
            EventKind::State(state) => &state.server,
            EventKind::Metric { server, .. } | EventKind::ServerDied { server, .. } => server,
            _ => return,
        };
        let Some(server) = self.servers.iter_mut().find(|known| known.info.name == *name) else {
            return;
        };
        match &event.kind {
            EventKind::State(state) => server.observe(&state.observed, event.at),
            EventKind::Metric { name, value, .. } => drop(server.metrics.insert(name.clone(), *value)),
            EventKind::ServerDied { why, .. } => server.died = Some(why.clone()),
            _ => {}
        }
    }

    fn apply_fault(&mut self, fault: &Fault, at: LessonTime) {
        match (fault.target(), fault.leaves()) {
            (Target::Client(client), Condition::Dead) => {
                self.end_actors(|(_, actor)| actor.who.client == client, at);
            }
            (Target::Client(client), condition) => {
                let (from, to) = match condition {
                    Condition::Frozen => (Life::Running, Life::Frozen),
                    _ => (Life::Frozen, Life::Running),
                };
                for actor in &mut self.actors {
                    if actor.who.client == client && actor.life == from {
                        actor.life = to;
                    }
                }
            }
            (Target::Server(server), condition) => {
                if let Some(server) = self.servers.iter_mut().find(|known| known.info.name == server) {
                    server.apply_fault(condition);
                }
            }
            (Target::Link(link), Condition::Held(way)) => {
                self.links.insert(link.clone(), LinkState::Held(way));
            }
            (Target::Link(link), Condition::Cut) => drop(self.links.insert(link.clone(), LinkState::Cut)),
            (Target::Link(link), _) => drop(self.links.remove(link)),
        }
    }

    /// Some actors act and believe no more.
    fn end_actors(&mut self, which: impl Fn((ActorId, &ActorWorld)) -> bool, at: LessonTime) {
        for (id, actor) in (0..).map(ActorId).zip(&mut self.actors) {
            if which((id, actor)) {
                actor.crash(at);
            }
        }
    }
}

#[cfg(test)]
mod tests;
