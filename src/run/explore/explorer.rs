//! What the search needs of whoever carries orders out: nodes, the steps that can be taken from them, what a step touched,
//! and how an order ended.

use std::{collections::BTreeSet, sync::Arc};

use serde::Serialize;

use super::ExploreError;
use crate::{
    lesson::Scenario,
    log::{ActorId, Choice, Direction, Fault, LinkId},
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
    /// So many milliseconds pass although somebody could move: a key ends.
    Pass(u64),
    /// An actor makes its next move on the server of this number, and the reply is lost.
    LoseReply(ActorId, usize),
    /// The link of this client to this server is cut.
    Cut(usize, usize),
    /// It works again.
    Mend(usize, usize),
    /// The server of this number is killed and started again.
    Restart(usize),
    /// The clock of this server is set ahead by so many milliseconds.
    Skew(usize, i64),
}

impl Pick {
    /// Whose step it is, `A.`; a fault in words; nothing for time that passes. What a client would do is known only to who
    /// carries it out.
    pub(crate) fn words(self, scenario: &Scenario) -> String {
        let name = |actor: ActorId| &scenario.actors[actor.0 as usize].actor.name;
        match (self, self.choices(scenario).last()) {
            (Self::LoseReply(actor, _), _) => format!("{}.(lost)", name(actor)),
            (_, Some(Choice::Move { actor })) => format!("{}.", name(*actor)),
            (_, Some(Choice::Inject(fault))) => fault.to_string(),
            _ => String::new(),
        }
    }

    /// Whether nothing happens in it but that time passes.
    pub(crate) fn is_time(self) -> bool {
        matches!(self, Self::Timer | Self::Pass(_))
    }

    /// The same as choices, which name clients and servers: one, or several that are made at once.
    pub(crate) fn choices(self, scenario: &Scenario) -> Vec<Choice> {
        let client = |n: usize| scenario.clients[n].name.clone();
        let server = |n: usize| scenario.lab().servers()[n].to_owned();
        let link = |n: usize, to: usize| LinkId::new(&client(n), &server(to));
        let faults = match self {
            Self::Move(actor) => return vec![Choice::Move { actor }],
            Self::Timer => return vec![Choice::Timer],
            Self::Pass(millis) => return vec![Choice::Pass { millis }],
            Self::LoseReply(actor, to) => {
                let client = &scenario.actors[actor.0 as usize].actor.client;
                let link = || LinkId::new(client, &server(to));
                let hold = Fault::Hold { link: link(), way: Direction::Replies };
                return vec![
                    Choice::Inject(hold),
                    Choice::Move { actor },
                    Choice::Inject(Fault::Drop { link: link() }),
                    Choice::Inject(Fault::Release { link: link() }),
                ];
            }
            Self::Thaw(n) => vec![Fault::Thaw { client: client(n) }],
            Self::Crash(n) => vec![Fault::Crash { client: client(n) }],
            Self::Freeze(n) => vec![Fault::Freeze { client: client(n) }],
            Self::Cut(n, to) => vec![Fault::Cut { link: link(n, to) }],
            Self::Mend(n, to) => vec![Fault::Release { link: link(n, to) }],
            Self::Restart(n) => {
                vec![Fault::KillServer { server: server(n) }, Fault::RestartServer { server: server(n) }]
            }
            Self::Skew(n, ahead_ms) => vec![Fault::Skew { server: server(n), ahead_ms }],
        };
        faults.into_iter().map(Choice::Inject).collect()
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

impl Broken {
    /// As the lesson has them.
    pub(crate) fn names(broken: &[Self], scenario: &Scenario) -> BTreeSet<String> {
        broken.iter().map(|broken| scenario.invariants[broken.invariant].never.to_string()).collect()
    }
}

/// Why an order does not end with everybody at the end of their program, other than those whom a fault killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stuck {
    /// A program met a reply that it does not handle, or a loop reached its bound.
    GaveUp,
    /// Somebody waits, and the session of a client that crashed has not ended: the search does not go on to its end.
    SessionLasts,
    /// Somebody waits for a notification that nobody is left to bring about.
    LostWakeup,
    /// Somebody waits for what no continuation ever brings about.
    Deadlock,
    /// Time passes, and everything comes to be as it was: they can go on so for ever, although other orders end.
    Livelock,
}

/// How an order ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Locks, counters, values, who did not come to an end.
    pub outcome: Arc<Outcome>,
    /// Whether somebody could still have moved when the bound was reached.
    pub cut: bool,
    /// Where it is over, whether anybody did not get to the end.
    pub stuck: Option<Stuck>,
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
