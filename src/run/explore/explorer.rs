//! The interface between the search and whatever carries orders out: nodes, the steps that can be taken from
//! them, what a step touched, and how an order ended.

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
    /// The actor makes its next move.
    Move(ActorId),
    /// Time passes to the next timer.
    Timer,
    /// The client with this index is thawed.
    Thaw(usize),
    /// The client with this index is killed.
    Crash(usize),
    /// The client with this index is frozen.
    Freeze(usize),
    /// This many milliseconds pass although an actor could move, so that a key expires.
    Pass(u64),
    /// An actor makes its next move on the server with this index, and the reply is lost.
    LoseReply(ActorId, usize),
    /// The link from a client to a server is cut.
    Cut(usize, usize),
    /// The link from a client to a server works again.
    Mend(usize, usize),
    /// The server with this index is killed and restarted.
    Restart(usize),
    /// The clock of a server is set ahead by this many milliseconds.
    Skew(usize, i64),
    /// The clock of the client with this index is set ahead by this many milliseconds.
    SkewClient(usize, i64),
}

impl Pick {
    /// The step in words: `A.` for a move, the fault for a fault, nothing if time passes. Which operation a
    /// move carries out is known only to the explorer.
    pub(crate) fn words(self, scenario: &Scenario) -> String {
        let name = |actor: ActorId| &scenario.actor(actor).actor.name;
        match (self, self.choices(scenario).last()) {
            (Self::LoseReply(actor, _), _) => format!("{}.(lost)", name(actor)),
            (_, Some(Choice::Move { actor })) => format!("{}.", name(*actor)),
            (_, Some(Choice::Inject(fault))) => fault.to_string(),
            _ => String::new(),
        }
    }

    /// Whether time passes in the step and nothing else happens.
    pub(crate) fn is_time(self) -> bool {
        matches!(self, Self::Timer | Self::Pass(_))
    }

    /// The step as choices, which name clients and servers: one, or several that are made together.
    pub(crate) fn choices(self, scenario: &Scenario) -> Vec<Choice> {
        let client = |n: usize| scenario.clients[n].name.clone();
        let server = |n: usize| scenario.lab().servers()[n].to_owned();
        let link = |n: usize, to: usize| LinkId::new(&client(n), &server(to));
        let faults = match self {
            Self::Move(actor) => return vec![Choice::Move { actor }],
            Self::Timer => return vec![Choice::Timer],
            Self::Pass(millis) => return vec![Choice::Pass { millis }],
            Self::LoseReply(actor, to) => {
                let client = &scenario.actor(actor).actor.client;
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
            Self::SkewClient(n, ahead_ms) => vec![Fault::SkewClient { client: client(n), ahead_ms }],
        };
        faults.into_iter().map(Choice::Inject).collect()
    }
}

/// What a step read and changed: everything that decides whether two steps commute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepFootprint {
    pub actor: Option<ActorId>,
    /// Whether the step counts as touching everything: time passes, there is a fault, or nothing is known of
    /// the command.
    pub all: bool,
    /// The keys that it may have read, each with its server.
    pub reads: Vec<Arc<str>>,
    pub writes: Vec<Arc<str>>,
    /// The locks that its actor began to believe that it holds.
    pub begins: Vec<String>,
    /// The locks that its actor ceased to believe that it holds.
    pub ends: Vec<String>,
    /// The invariants whose value it may have changed.
    pub invariants: Vec<usize>,
}

impl StepFootprint {
    pub fn everything() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Whether two consecutive steps must not be exchanged: the second might not have been the same step, or
    /// an invariant might have had another value.
    ///
    /// Steps commute if neither wrote what the other read or wrote (Godefroid, "Partial-Order Methods for the
    /// Verification of Concurrent Systems", LNCS 1032, 1996, section 3). Two steps that begin to hold the
    /// same lock make two holders in either order; one that begins and one that ends do so only in one order.
    pub fn depends_on(&self, other: &Self) -> bool {
        self.all
            || other.all
            || self.actor == other.actor
            || meet(&self.writes, &other.reads)
            || meet(&self.writes, &other.writes)
            || meet(&self.reads, &other.writes)
            || meet(&self.begins, &other.ends)
            || meet(&self.ends, &other.begins)
            || meet(&self.invariants, &other.invariants)
    }
}

fn meet<T: PartialEq>(one: &[T], other: &[T]) -> bool {
    one.iter().any(|item| other.contains(item))
}

/// An invariant that an order broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The index of the invariant in the scenario, where those that the user added come last.
    pub invariant: usize,
    /// The ways in which the order broke it. Each lists the steps that break it together, by their positions
    /// in the order; the steps that these depend on come before them. A way without steps means that it was
    /// broken before the first step.
    pub ways: Vec<Vec<usize>>,
}

impl Broken {
    /// The source texts of broken invariants.
    pub(crate) fn names(broken: &[Self], scenario: &Scenario) -> BTreeSet<String> {
        broken.iter().map(|broken| scenario.invariants[broken.invariant].never.to_string()).collect()
    }
}

/// Why an order ended although a program whose client no fault killed did not finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stuck {
    /// A program got a reply that it does not handle, or a loop reached its bound.
    GaveUp,
    /// An actor waits, and a lease of etcd may not have ended. The search does not continue to its end.
    SessionLasts,
    /// An actor waits for a notification that no other actor will bring about.
    LostWakeup,
    /// An actor waits for something that no continuation brings about.
    Deadlock,
    /// Time passes and the same state recurs: this can go on forever, although other orders end.
    Livelock,
}

/// How an order ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Locks, counters, values, and unfinished programs.
    pub outcome: Arc<Outcome>,
    /// Whether an actor could still have moved when the bound was reached.
    pub cut: bool,
    /// If the order is over: why a program did not finish, if one did not.
    pub stuck: Option<Stuck>,
    /// The broken invariants, each once.
    pub broken: Vec<Broken>,
}

/// Carries out steps. A node stands for everything that has happened up to it, and the search can return to
/// it.
pub trait Explorer {
    type Node: Clone + Send;

    /// The node where every order begins.
    fn begin(&mut self) -> Result<Self::Node, ExploreError>;

    /// The steps that are possible next, in a fixed order. Empty if the order is over or cut.
    fn picks(&self, node: &Self::Node) -> Vec<Pick>;

    /// Takes a step from any node.
    fn take(&mut self, node: &Self::Node, pick: Pick) -> Result<(Self::Node, StepFootprint), ExploreError>;

    /// How the order that leads to the node ended.
    fn ending(&mut self, node: &Self::Node) -> Result<Ending, ExploreError>;
}
