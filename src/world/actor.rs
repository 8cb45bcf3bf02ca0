//! One actor's part of the world: what it does, what it believes, what waits in its queue.

use std::collections::BTreeMap;

use crate::{
    clock::LessonTime,
    log::{Actor, Belief, Reply},
};

/// Whether an actor can act at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Running,
    /// Its process is stopped (SIGSTOP).
    Frozen,
    /// Its process was killed.
    Crashed,
    /// Its program is over.
    Finished,
}

/// What an actor is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// It stands before its next move.
    Idle,
    /// A command is on its way, or its reply is.
    InFlight {
        label: String,
        /// Index into [`super::World::exchanges`].
        exchange: usize,
        /// When it was sent.
        since: LessonTime,
    },
    /// It waits for time to pass.
    Waiting { label: String, since: LessonTime, until: LessonTime },
}

/// A stretch of time in which an actor believed one thing of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeliefSpan {
    pub lock: String,
    /// What it believed. Never [`Belief::Nothing`] in [`ActorWorld::spans`].
    pub belief: Belief,
    pub from: LessonTime,
    /// Until when; `None` while it still does.
    pub to: Option<LessonTime>,
}

/// Something that a server told a client without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    pub at: LessonTime,
    pub about: String,
    pub what: String,
}

/// One actor after a prefix of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct ActorWorld {
    pub who: Actor,
    /// Whether it can act.
    pub life: Life,
    pub doing: Doing,
    /// What it believes now, by lock.
    pub beliefs: BTreeMap<String, BeliefSpan>,
    /// What it believed before, oldest first: spans that have ended.
    pub spans: Vec<BeliefSpan>,
    /// Its replies by label, oldest first.
    pub replies: BTreeMap<String, Vec<Reply>>,
    /// Notifications that it has not taken yet.
    pub queue: Vec<Notification>,
    /// How many notifications it ever got.
    pub notified: usize,
}

impl ActorWorld {
    pub(crate) fn new(who: Actor) -> Self {
        Self {
            who,
            life: Life::Running,
            doing: Doing::Idle,
            beliefs: BTreeMap::new(),
            spans: Vec::new(),
            replies: BTreeMap::new(),
            queue: Vec::new(),
            notified: 0,
        }
    }

    /// All spans, ended and lasting, oldest first within each lock.
    pub fn all_spans(&self) -> impl Iterator<Item = &BeliefSpan> {
        self.spans.iter().chain(self.beliefs.values())
    }

    pub(crate) fn believe(&mut self, lock: &str, belief: Belief, at: LessonTime) {
        if self.life == Life::Crashed {
            return;
        }
        if let Some(before) = self.beliefs.get(lock) {
            if before.belief == belief {
                return;
            }
            self.end(lock, at);
        }
        if belief != Belief::Nothing {
            let span = BeliefSpan { lock: lock.to_owned(), belief, from: at, to: None };
            self.beliefs.insert(lock.to_owned(), span);
        }
    }

    /// The process is gone, and with it everything that it believed.
    pub(crate) fn crash(&mut self, at: LessonTime) {
        self.life = Life::Crashed;
        self.doing = Doing::Idle;
        self.queue.clear();
        for lock in self.beliefs.keys().cloned().collect::<Vec<_>>() {
            self.end(&lock, at);
        }
    }

    fn end(&mut self, lock: &str, at: LessonTime) {
        if let Some(mut span) = self.beliefs.remove(lock) {
            span.to = Some(at);
            self.spans.push(span);
        }
    }
}
