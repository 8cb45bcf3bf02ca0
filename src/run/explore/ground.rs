//! What is explored, as the search sees it: places, the steps that can be taken from them, what a step touched, and
//! what came of an order.

use std::sync::Arc;

use crate::{
    log::{ActorId, Choice, Fault},
    run::race::Outcome,
};

/// One step of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pick {
    /// This actor makes its next move.
    Move(ActorId),
    /// Time passes to the next timer.
    Timer,
    /// The client of this number runs again.
    Thaw(usize),
    /// The client of this number is killed.
    Crash(usize),
    /// The client of this number is stopped.
    Freeze(usize),
}

impl Pick {
    /// What a log has of it. `client` names the client of a number.
    pub(crate) fn choice(self, client: impl Fn(usize) -> String) -> Choice {
        match self {
            Self::Move(actor) => Choice::Move { actor },
            Self::Timer => Choice::Timer,
            Self::Thaw(n) => Choice::Cause(Fault::Thaw { client: client(n) }),
            Self::Crash(n) => Choice::Cause(Fault::Crash { client: client(n) }),
            Self::Freeze(n) => Choice::Cause(Fault::Freeze { client: client(n) }),
        }
    }
}

/// What a step read and changed: all that decides whether two steps could as well have come the other way round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touch {
    /// Who made the move.
    pub actor: Option<ActorId>,
    /// Whether it must be taken to touch everything: time, faults, commands that nothing is known about.
    pub all: bool,
    /// What it may have looked at: keys, with their server.
    pub reads: Vec<Arc<str>>,
    /// What it did change.
    pub writes: Vec<Arc<str>>,
    /// The locks that its actor has believed to hold since.
    pub begins: Vec<usize>,
    /// The locks that its actor has no longer believed to hold since.
    pub ends: Vec<usize>,
    /// The invariants whose truth on the way it may have changed.
    pub shows: Vec<usize>,
}

impl Touch {
    /// What touches everything.
    pub fn everything() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Whether two steps, one right after the other, could not be exchanged: the second would not have been the same
    /// step, or an invariant would have seen something else.
    ///
    /// Steps commute if neither wrote what the other read or wrote (Godefroid, "Partial-Order Methods for the
    /// Verification of Concurrent Systems", LNCS 1032, 1996, section 3). Two that begin to hold one lock make two
    /// holders in either order; one that begins and one that ends do so only in one.
    pub fn depends_on(&self, other: &Self) -> bool {
        self.all
            || other.all
            || self.actor == other.actor
            || meet(&self.writes, &other.reads)
            || meet(&self.writes, &other.writes)
            || meet(&self.reads, &other.writes)
            || meet(&self.begins, &other.ends)
            || meet(&self.ends, &other.begins)
            || meet(&self.shows, &other.shows)
    }
}

fn meet<T: PartialEq>(one: &[T], other: &[T]) -> bool {
    one.iter().any(|item| other.contains(item))
}

/// An invariant that an order broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Which one: an index into the scenario's, or one behind them for what the user asked.
    pub invariant: usize,
    /// The ways in which it did: of each the steps of the order that make it, by their places in it; whatever these depend
    /// on comes before them. No step where it was broken before the first.
    pub ways: Vec<Vec<usize>>,
}

/// What an order came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// Locks, counters, values, who did not come to an end.
    pub outcome: Arc<Outcome>,
    /// Whether somebody could still have moved when the bound was reached.
    pub cut: bool,
    /// What it broke, each invariant once.
    pub broken: Vec<Broken>,
}

/// What can be explored. A place stands for all that has happened up to it, and one can come back to it.
pub trait Ground {
    /// Where one can stand.
    type Place: Clone + Send;
    /// Why it cannot go on.
    type Error;

    /// The place where every order begins.
    ///
    /// # Errors
    /// A server or a client failed.
    fn begin(&mut self) -> Result<Self::Place, Self::Error>;

    /// What can be done next, in a fixed order; nothing where the order is over or cut.
    fn picks(&self, place: &Self::Place) -> Vec<Pick>;

    /// Takes a step from a place, be it the newest or not.
    ///
    /// # Errors
    /// A server or a client failed, or the way to the place cannot be gone again.
    fn take(&mut self, place: &Self::Place, pick: Pick) -> Result<(Self::Place, Touch), Self::Error>;

    /// What the order that ends here came to.
    ///
    /// # Errors
    /// A server or a client failed, or an invariant cannot be evaluated.
    fn fate(&mut self, place: &Self::Place) -> Result<Fate, Self::Error>;
}
