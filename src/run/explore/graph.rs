//! All states of a small search and the steps between them, to be looked at and walked through.

use std::time::Duration;

use crate::{
    clock::LessonTime,
    log::{Event, EventKind, KeyValue, Log, OpId},
};

/// So many states can be looked at one by one.
pub const MOST_STATES: usize = 60;

/// The first state is where every order begins.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StateGraph {
    pub states: Vec<StateNode>,
    /// What happens before anybody moves.
    pub beginning: Vec<Event>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StateNode {
    pub servers: Vec<ServerContents>,
    pub clients: Vec<ClientPlace>,
    /// The invariants that are broken here, or were on the way, by their numbers.
    pub broken: Vec<usize>,
    /// None where orders end.
    pub steps: Vec<StateStep>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ServerContents {
    pub name: String,
    /// Each with how long it has left, where it ends by itself.
    pub keys: Vec<(String, KeyValue, Option<Duration>)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ClientPlace {
    pub name: String,
    pub place: Whereabouts,
    /// The locks that it holds, as it believes.
    pub holds: Vec<String>,
    pub frozen: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Whereabouts {
    /// Before an operation, by its label.
    Before(String),
    Waits(Duration),
    Finished,
    Dead,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StateStep {
    /// `A.check`, `freeze A`, `+1.9 s`.
    pub words: String,
    /// The state that it leads to.
    pub to: usize,
    /// What happens in it, in the time of the state that it leaves.
    pub events: Vec<Event>,
    pub takes: Duration,
}

impl StateGraph {
    /// What happens on a way through the states, each step given by its state and its place there.
    pub fn log(&self, way: &[(usize, usize)]) -> Log {
        let mut log = Log::new();
        log.extend(self.beginning.iter().cloned());
        let mut began = LessonTime::ZERO;
        for (n, (state, step)) in way.iter().enumerate() {
            let Some(step) = self.states.get(*state).and_then(|state| state.steps.get(*step)) else { break };
            log.extend(step.events.iter().cloned().map(|mut event| {
                event.at = began + event.at.since(LessonTime::ZERO);
                // A step makes one move.
                if let EventKind::Sent { op, .. } | EventKind::Replied { op, .. } = &mut event.kind {
                    *op = OpId(n as u64);
                }
                if let EventKind::Stop { item, .. } = &mut event.kind {
                    *item = n;
                }
                event
            }));
            began += step.takes;
        }
        log
    }
}
