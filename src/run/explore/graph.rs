//! All states of a small search and the steps between them, to be inspected and walked through.

use std::time::Duration;

use crate::{
    clock::LessonTime,
    log::{Event, EventKind, KeyValue, Log, OpId},
};

/// The most states that can be inspected one by one.
pub const MOST_STATES: usize = 60;

/// Every order begins in the first state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StateGraph {
    pub states: Vec<StateNode>,
    /// The events before the first move.
    pub beginning: Vec<Event>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StateNode {
    pub servers: Vec<ServerContents>,
    pub clients: Vec<ClientPlace>,
    /// The invariants that are broken here or were on the way, by index.
    pub broken: Vec<usize>,
    /// Empty where orders end.
    pub steps: Vec<StateStep>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ServerContents {
    pub name: String,
    /// Each key with its value, and the time that it has left if it expires.
    pub keys: Vec<(String, KeyValue, Option<Duration>)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ClientPlace {
    pub name: String,
    pub place: Whereabouts,
    /// The locks that the client believes it holds.
    pub holds: Vec<String>,
    pub frozen: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Whereabouts {
    /// About to carry out an operation, given by its label.
    Before(String),
    Waits(Duration),
    Finished,
    Dead,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StateStep {
    /// The step in words: `A.check`, `freeze A`, `+1.9 s`.
    pub words: String,
    /// The index of the state that it leads to.
    pub to: usize,
    /// The events of the step, in the time of the state that it leaves.
    pub events: Vec<Event>,
    pub takes: Duration,
}

impl StateGraph {
    /// The log of a path through the states, each step given by the index of its state and its own index
    /// there.
    pub fn log(&self, way: &[(usize, usize)]) -> Log {
        let mut log = Log::new();
        log.extend(self.beginning.iter().cloned());
        let mut began = LessonTime::ZERO;
        for (n, (state, step)) in way.iter().enumerate() {
            let Some(step) = self.states.get(*state).and_then(|state| state.steps.get(*step)) else { break };
            log.extend(step.events.iter().cloned().map(|mut event| {
                event.at = began + event.at.since(LessonTime::ZERO);
                // A step makes at most one move, so its position serves as the id of the operation.
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
