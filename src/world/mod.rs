//! The state of the lesson after the first `n` events.
//!
//! **Architecture Invariant:** a [`World`] is a pure function of a prefix of the log. Stepping back folds a
//! shorter prefix; it touches no server. This module must not know runs, the lab or the screen.

pub(crate) mod actor;
pub mod effect;
pub(crate) mod holding;
pub(crate) mod sentinels;
pub(crate) mod server;

pub use actor::{ActorWorld, Life};
pub use holding::{Holding, Overlap};
pub use sentinels::Sentinels;
pub use server::{Change, ServerWorld, changes};

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;

use crate::{
    clock::{ClockKind, LessonTime},
    log::{
        ActorId, AskedChoice, Condition, Direction, Event, EventKind, Fault, LinkId, Log, OpId, Target,
        is_server_called,
    },
    text::Text,
};

/// A command and, once it arrived, its reply: indices into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    pub actor: ActorId,
    pub sent: usize,
    pub replied: Option<usize>,
    /// Whether its server was seen to keep it waiting.
    pub blocked: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub item: usize,
    pub q: Text,
    pub choices: Vec<AskedChoice>,
    /// The right choices, by index, once they are known.
    pub right: Option<Vec<usize>>,
    /// Why these are right, if the lesson explains it.
    pub why: Option<Text>,
}

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breached {
    /// Index among the variant's invariants, from 0.
    pub invariant: usize,
    /// What has happened, in a sentence.
    pub says: Text,
    pub event: usize,
}

/// Everything that is known after a prefix of the log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct World {
    /// The number of events folded in.
    pub position: usize,
    /// The lesson time of the last of them.
    pub now: LessonTime,
    pub clock: ClockKind,
    /// The actors, by [`ActorId`].
    pub actors: Vec<ActorWorld>,
    pub servers: Vec<ServerWorld>,
    pub sentinels: Sentinels,
    /// Links that hold or delay what is sent, and in which direction.
    pub holding_links: BTreeMap<LinkId, Direction>,
    pub counters: IndexMap<String, i64>,
    /// Every command so far, in the order of sending.
    pub exchanges: Vec<Exchange>,
    /// The last narration.
    pub narration: Option<Text>,
    /// The questions to the learner, oldest first.
    pub questions: Vec<Question>,
    /// Index of the question that was asked or decided last; `None` after a later narration.
    pub question: Option<usize>,
    pub holding: Holding,
    /// The broken invariants, oldest first.
    pub breaches: Vec<Breached>,
    /// Whether a choice has decided what came next, so that the story was left.
    pub chosen: bool,
    sessions: HashMap<i64, ActorId>,
    in_flight: HashMap<OpId, usize>,
    /// Whether the newest event is a stop.
    at_stop: bool,
}

impl World {
    pub fn fold(log: &Log, position: usize) -> Self {
        let mut world = Self::default();
        world.advance(log, position);
        world
    }

    /// Moves to after the first `position` events: forward by folding in the new events, backward by folding from the
    /// start.
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

    pub fn actor(&self, id: ActorId) -> Option<&ActorWorld> {
        self.actors.get(id.0 as usize)
    }

    pub fn session_owner(&self, session: i64) -> Option<ActorId> {
        self.sessions.get(&session).copied()
    }

    pub fn server(&self, name: &str) -> Option<&ServerWorld> {
        self.servers.iter().find(|known| is_server_called(&known.info.name, name))
    }

    fn server_mut(&mut self, name: &str) -> Option<&mut ServerWorld> {
        self.servers.iter_mut().find(|known| known.info.name == name)
    }

    fn apply(&mut self, event: &Event) {
        let index = self.position;
        self.position += 1;
        self.holding.take(index, event);
        self.now = self.now.max(event.at);
        let stops = matches!(event.kind, EventKind::Stop { .. });
        if std::mem::replace(&mut self.at_stop, stops) && !stops {
            // The changes of the last step are shown as new until the next one begins.
            for server in &mut self.servers {
                server.changes.clear();
            }
            self.sentinels.is_news = false;
        }
        let mut exchange = None;
        match &event.kind {
            EventKind::LabReady { clock, servers, actors, .. } => {
                self.clock = *clock;
                self.servers = servers.iter().cloned().map(ServerWorld::new).collect();
                self.actors = actors.iter().cloned().map(ActorWorld::new).collect();
            }
            EventKind::Session { actor, session, .. } => {
                self.sessions.insert(*session, *actor);
            }
            EventKind::Say { en, zh, .. } => {
                self.narration = Some(Text::new(en, zh));
                self.question = None;
            }
            EventKind::Asked { item, q, choices } => {
                self.question = Some(self.questions.len());
                self.questions.push(Question {
                    item: *item,
                    q: q.clone(),
                    choices: choices.clone(),
                    right: None,
                    why: None,
                });
            }
            EventKind::Decided { item, right, why } => {
                if let Some(n) = self.questions.iter().rposition(|asked| asked.item == *item) {
                    self.questions[n].right = Some(right.clone());
                    self.questions[n].why.clone_from(why);
                    self.question = Some(n);
                }
            }
            EventKind::Counted { counter, by, .. } => {
                let count = self.counters.entry(counter.clone()).or_default();
                *count = count.saturating_add(*by);
            }
            EventKind::Sent { op, actor, .. } => {
                exchange = Some(self.exchanges.len());
                self.in_flight.insert(*op, self.exchanges.len());
                self.exchanges.push(Exchange { actor: *actor, sent: index, replied: None, blocked: false });
            }
            EventKind::Blocked { op, .. } => {
                if let Some(exchange) = self.in_flight.get(op) {
                    self.exchanges[*exchange].blocked = true;
                }
            }
            EventKind::Replied { op, .. } => {
                exchange = self.in_flight.remove(op);
                if let Some(exchange) = exchange {
                    self.exchanges[exchange].replied = Some(index);
                }
            }
            EventKind::Fault(fault) => self.apply_fault(fault),
            EventKind::Breached { invariant, says, .. } => {
                self.breaches.push(Breached { invariant: *invariant, says: says.clone(), event: index });
            }
            EventKind::State(state) => {
                if let Some(server) = self.server_mut(&state.server) {
                    server.observe(&state.observed);
                }
            }
            EventKind::Metric { server, name, value } => {
                if let Some(server) = self.server_mut(server) {
                    server.metrics.insert(name.clone(), *value);
                }
            }
            EventKind::Sentinel { sentinel, notice } => self.sentinels.hear(sentinel, notice),
            EventKind::ServerDied { server, why } => {
                if let Some(server) = self.server_mut(server) {
                    server.died = Some(why.clone());
                }
            }
            // The consequences of a choice are events after it.
            EventKind::Chose(_) => self.chosen = true,
            // The other events concern a single actor.
            EventKind::Stop { .. }
            | EventKind::BreachEnded { .. }
            | EventKind::Believes { .. }
            | EventKind::GaveUp { .. }
            | EventKind::Waits { .. }
            | EventKind::Waited { .. }
            | EventKind::Notified { .. }
            | EventKind::Said { .. }
            | EventKind::Took { .. }
            | EventKind::Finished { .. } => {}
        }
        if let Some(actor) = event.kind.actor().and_then(|id| self.actors.get_mut(id.0 as usize)) {
            actor.apply(&event.kind, exchange);
        }
    }

    fn apply_fault(&mut self, fault: &Fault) {
        match (fault.target(), fault.leaves()) {
            (Target::Client(client), condition) => {
                for actor in self.actors.iter_mut().filter(|actor| actor.who.client == client) {
                    actor.apply_fault(condition);
                }
            }
            (Target::Server(server), _) => {
                if let Some(server) = self.server_mut(server) {
                    server.apply_fault(fault);
                }
            }
            (Target::Link(link), Condition::Held(way) | Condition::Delayed(way, _)) => {
                self.holding_links.insert(link.clone(), way);
            }
            (Target::Link(link), _) => drop(self.holding_links.remove(link)),
        }
    }
}

#[cfg(test)]
mod tests;
