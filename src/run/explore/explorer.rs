//! What the search needs of whoever carries orders out: nodes, the steps that can be taken from them, what a step touched,
//! and how an order ended.

use std::sync::Arc;

use super::ExploreError;
use crate::{
    lesson::Scenario,
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
    /// The same as a choice, which names clients.
    pub(crate) fn choice(self, scenario: &Scenario) -> Choice {
        let client = |n: usize| scenario.clients[n].name.clone();
        match self {
            Self::Move(actor) => Choice::Move { actor },
            Self::Timer => Choice::Timer,
            Self::Thaw(n) => Choice::Inject(Fault::Thaw { client: client(n) }),
            Self::Crash(n) => Choice::Inject(Fault::Crash { client: client(n) }),
            Self::Freeze(n) => Choice::Inject(Fault::Freeze { client: client(n) }),
        }
    }
}

/// What a step read and changed: all that decides whether two steps commute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepFootprint {
    pub actor: Option<ActorId>,
    /// Whether it counts as touching everything: time, faults, commands that nothing is known about.
    pub all: bool,
    /// What it may have read: keys, with their server.
    pub reads: Vec<Arc<str>>,
    pub writes: Vec<Arc<str>>,
    /// The locks that its actor began to hold, as it believes.
    pub begins: Vec<String>,
    /// The locks that its actor no longer holds, as it believes.
    pub ends: Vec<String>,
    /// The invariants whose truth it may have changed.
    pub shows: Vec<usize>,
}

impl StepFootprint {
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
    /// The ways in which it did: of each the steps of the order that make it, by their positions in it; whatever these depend
    /// on comes before them. No step where it was broken before the first.
    pub ways: Vec<Vec<usize>>,
}

/// How an order ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Locks, counters, values, who did not come to an end.
    pub outcome: Arc<Outcome>,
    /// Whether somebody could still have moved when the bound was reached.
    pub cut: bool,
    /// What it broke, each invariant once.
    pub broken: Vec<Broken>,
}

/// Carries out steps. A node stands for all that has happened up to it, and one can go back to it.
pub trait Explorer {
    type Node: Clone + Send;

    /// The node where every order begins.
    fn begin(&mut self) -> Result<Self::Node, ExploreError>;

    /// What can be done next, in a fixed order; nothing where the order is over or cut.
    fn picks(&self, node: &Self::Node) -> Vec<Pick>;

    /// Takes a step from any node.
    fn take(&mut self, node: &Self::Node, pick: Pick) -> Result<(Self::Node, StepFootprint), ExploreError>;

    /// What the order that ends here came to.
    fn ending(&mut self, node: &Self::Node) -> Result<Ending, ExploreError>;
}
