//! One actor's part of the world: what it does, what it believes, what is in its queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::log::{Actor, Belief, Condition, EventKind, Reply};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Running,
    /// Its process is stopped (SIGSTOP).
    Frozen,
    Crashed,
    Finished,
}

/// One actor after a prefix of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct ActorWorld {
    pub who: Actor,
    pub life: Life,
    /// Its commands in flight, including those whose replies are: indices into [`super::World::exchanges`]. Only a
    /// user's program can have several.
    pub in_flight: Vec<usize>,
    /// What it believes now, by lock; never [`Belief::Nothing`].
    pub beliefs: BTreeMap<String, Belief>,
    pub ever_believed: bool,
    /// Its last reply for each label.
    pub replies: BTreeMap<String, Arc<Reply>>,
    /// The subjects of the notifications that it has not taken yet.
    pub queue: Vec<String>,
    /// The number of notifications that it has received.
    pub notified: usize,
}

impl ActorWorld {
    pub(crate) fn new(who: Actor) -> Self {
        Self {
            who,
            life: Life::Running,
            in_flight: Vec::new(),
            beliefs: BTreeMap::new(),
            ever_believed: false,
            replies: BTreeMap::new(),
            queue: Vec::new(),
            notified: 0,
        }
    }

    /// Applies an event of this actor. `exchange` is the exchange that a sent command begins or a reply ends.
    pub(crate) fn apply(&mut self, event: &EventKind, exchange: Option<usize>) {
        if let (Some((_, label)), Some(answer)) = (event.answers(), event.answer()) {
            self.replies.insert(label.to_owned(), answer);
        }
        match event {
            // A killed actor has no beliefs.
            EventKind::Believes { .. } if self.life == Life::Crashed => {}
            EventKind::Believes { lock, belief: Belief::Nothing, .. } => drop(self.beliefs.remove(lock)),
            EventKind::Believes { lock, belief, .. } => {
                self.ever_believed = true;
                self.beliefs.insert(lock.clone(), *belief);
            }
            EventKind::Sent { .. } => self.in_flight.extend(exchange),
            EventKind::Replied { .. } => self.in_flight.retain(|known| Some(*known) != exchange),
            EventKind::Notified { about, .. } => {
                self.notified += 1;
                self.queue.push(about.clone());
            }
            EventKind::Took { about, .. } => {
                if let Some(first) = self.queue.iter().position(|queued| queued == about) {
                    self.queue.remove(first);
                }
            }
            EventKind::GaveUp { .. } => self.crash(),
            EventKind::Finished { .. } => {
                // A killed actor stays dead.
                if self.life != Life::Crashed {
                    self.life = Life::Finished;
                }
                self.in_flight.clear();
            }
            _ => {}
        }
    }

    pub(crate) fn apply_fault(&mut self, condition: Condition) {
        match (condition, self.life) {
            (Condition::Dead, _) => self.crash(),
            (Condition::Frozen, Life::Running) => self.life = Life::Frozen,
            (Condition::Running, Life::Frozen) => self.life = Life::Running,
            _ => {}
        }
    }

    /// The process is gone, and with it all beliefs.
    fn crash(&mut self) {
        self.life = Life::Crashed;
        self.in_flight.clear();
        self.queue.clear();
        self.beliefs.clear();
    }
}
