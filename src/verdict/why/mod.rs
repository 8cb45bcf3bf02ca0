//! Explains why an order of moves broke an invariant: which move, fault or passing of time came between which two.
//! Pure; it reads a log and a scenario and must not know how the order was found or how the explanation is shown.
//!
//! Every explanation follows from the log: commands and replies, observed states of servers, beliefs, faults. Without
//! evidence in the log there is no explanation.
//!
//! **Which explanation.** Several pairs of moves may have something between them. The chosen one
//! 1. ends in the move that caused the breach: the command that changed what the invariant is about, or the one by
//!    which the second holder got the lock (among actors that counted, the last one that did not know something);
//! 2. has between the two the last event that matters, the one nearest to that move;
//! 3. begins with the last earlier move in which the sender could see or get what it then relied on.
//!
//! So it is the shortest: no actor looked again in between.

pub(crate) mod acts;
pub(crate) mod case;
pub(crate) mod crashed;
pub(crate) mod entries;
pub(crate) mod holders;
pub(crate) mod in_vain;
pub(crate) mod repeated;
pub(crate) mod rows;
pub(crate) mod words;

use serde::{Deserialize, Serialize};

use crate::{
    lesson::{Scenario, plan::NeverPlan},
    log::{EventKind, Log},
    text::Text,
    verdict::{self, Breach},
};
use case::Case;
pub use in_vain::in_vain;

/// What came between two moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Another actor's write, between a read and the write that relied on it.
    CheckThenAct,
    /// Another actor's read, between a read and the write that relied on it. Both then wrote, in an unknown order.
    BothLooked,
    /// Another actor's acquisition, between an acquisition and the deletion or renewal of a lock that was no longer the
    /// sender's.
    NotItsOwn,
    /// Another actor's write, between two writes of one actor.
    Interleaved,
    /// A change of the lock by an actor that did not hold it, between acquisition and release.
    Interfered,
    /// The end of the lease, while its holder still relied on it.
    LeaseEnded,
    /// A pause of the holder, in which the lease ended.
    Frozen,
    /// A change that set a server's clock ahead and so ended the lease early.
    ClockSet,
    /// Another actor's acquisition, between an acquisition and its reply.
    LateReply,
    /// A deletion by an actor that did not hold the lock.
    Deleted,
    /// The holder's own deletion, while it still relied on the lock.
    LetGo,
    /// A failover to a server that the lock had never reached.
    Failover,
    /// The end of the session that owned the lock.
    SessionEnded,
    /// A restart of a server, which came back without the lock.
    Restarted,
    /// An acquisition in another process, which has a mutex of its own in its memory.
    OtherProcess,
    /// An acquisition that was granted although the holder's setting still existed.
    NotRefused,
    /// The death of a client, before its remaining operations.
    Crashed,
    /// A renewal of a lock whose holder then died.
    KeptAlive,
    /// A second watch on a node that was then deleted.
    Herd,
    /// The loss of the reply to a command that was carried out, before its sender sent it again.
    ReplyLost,
}

/// What came between which two moves, as indices into the log, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Why {
    pub kind: Cause,
    /// The first of the two: the `Sent` event of a move.
    pub first: usize,
    /// What came between: a `Sent` event of another actor, a fault, or the event in which time was seen to have passed
    /// or another server to have taken over. For commands in flight at once, a `Replied` event.
    pub between: usize,
    /// The second of the two: a `Sent` event, or a `Replied` event as above, or, if it has not come yet, the breach
    /// itself.
    pub second: usize,
    pub text: Text,
}

impl Why {
    /// The three indices are `first`, `between` and `second`.
    fn new(kind: Cause, [first, between, second]: [usize; 3], text: Text) -> Self {
        Self { kind, first, between, second, text }
    }
}

/// Explains the first breach of a log, if it has one.
pub fn first(scenario: &Scenario, log: &Log) -> Option<Why> {
    let breaches = verdict::breaches(scenario, log).ok()?;
    explain(scenario, log, breaches.first()?)
}

/// Explains a breach in words: for an invariant about `waited`, why the actors wait in vain.
pub fn explanation(scenario: &Scenario, log: &Log, breach: &Breach) -> Option<Text> {
    let waits = match &scenario.invariants.get(breach.invariant)?.never {
        NeverPlan::That(never) => never.mentions().names("waited"),
        NeverPlan::Overlap(_) => false,
    };
    let in_vain = waits.then(|| in_vain(scenario, log)).flatten();
    in_vain.or_else(|| explain(scenario, log, breach).map(|why| why.text))
}

/// Returns `None` if the log does not show why: if nothing came between two moves, or if the order is not certain
/// because commands were in flight at once.
pub fn explain(scenario: &Scenario, log: &Log, breach: &Breach) -> Option<Why> {
    let case = Case::new(scenario, log);
    let never = match &scenario.invariants.get(breach.invariant)?.never {
        NeverPlan::Overlap(_) => return holders::explain(&case, breach),
        NeverPlan::That(never) => never,
    };
    let kinds = || breach.evidence.iter().filter_map(|event| case.kind(*event));
    let killed =
        |kind: &EventKind| matches!(kind, EventKind::Fault(fault) if fault.killed_client().is_some());
    let special = if kinds().any(killed) {
        crashed::explain(&case, breach)
    } else if kinds().filter(|kind| matches!(kind, EventKind::Notified { .. })).count() > 1 {
        crashed::herd(&case, breach)
    } else {
        None
    };
    special
        .or_else(|| repeated::explain(&case, breach))
        .or_else(|| acts::explain(&case, never.source(), breach))
}

#[cfg(test)]
mod tests;
