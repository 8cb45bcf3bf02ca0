//! Why an order of moves broke an invariant: which move, fault or passing of time came between which two. Pure; it
//! reads a log and a scenario and must not know how the order was found or how the answer is shown.
//!
//! Everything is told from what is in the log: commands and replies, what servers were seen to hold, beliefs, faults.
//! Nothing is told of which the log has no evidence; then there is no explanation.
//!
//! **Which explanation.** Several pairs of moves may have something between them. The one that is told
//! 1. ends in the move that made the breach: the command that changed what must not be, or the one by which the second
//!    holder got the lock (of those that counted, the last that did not know something);
//! 2. has between the two what came last, closest to that move;
//! 3. begins with the last move before that in which the other side could see or get what it then relied on.
//!
//! So it is the shortest: nobody looked again in between.

pub(crate) mod acts;
pub(crate) mod case;
pub(crate) mod crashed;
pub(crate) mod entries;
pub(crate) mod holders;
pub(crate) mod in_vain;
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

/// What kind of thing came between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Somebody else's write, between a look and what was done because of it.
    CheckThenAct,
    /// Somebody else's look, between a look and what was done because of it. Both then wrote, in no order that is known.
    BothLooked,
    /// Somebody else's acquisition, between one's own and the deletion or renewal of what was not one's own any more.
    NotItsOwn,
    /// Somebody else's write, between two of one's own.
    Interleaved,
    /// Somebody who does not have the lock changed it, between acquisition and release.
    Interfered,
    /// The end of the lease, while its holder still relied on it.
    LeaseEnded,
    /// A pause of the holder, in which the lease ended.
    Frozen,
    /// A server's clock that was set ahead, which ended the lease early.
    ClockSet,
    /// Somebody else's acquisition, between one's own and the reply to it.
    LateReply,
    /// A deletion by somebody whose lock it was not.
    Deleted,
    /// Its holder's own deletion, while it still relied on it.
    LetGo,
    /// A failover to a server that the lock had never reached.
    Failover,
    /// The end of the session that the lock was tied to.
    SessionEnded,
    /// A restart of a server, which came back without the lock.
    Restarted,
    /// An acquisition in another process: a mutex in memory is another one there.
    OtherProcess,
    /// An acquisition that was granted, although what the holder had set for its own was there.
    NotRefused,
    /// The death of a client, before what it still had to do.
    Crashed,
    /// A renewal of a lock whose holder then died.
    KeptAlive,
    /// A second watch on what was then deleted.
    Herd,
}

/// Which came between which two: indices into the log, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Why {
    pub kind: Kind,
    /// The first of the two: the `Sent` event of a move.
    pub first: usize,
    /// What came between: a `Sent` event of somebody else, a fault, or the event in which it was seen that time had
    /// passed or that another server had taken over. Where commands were on their way at once, a `Replied` event.
    pub between: usize,
    /// The second of the two: a `Sent` event, or a `Replied` event as above, or where it has not come yet, the breach
    /// itself.
    pub second: usize,
    pub text: Text,
}

impl Why {
    /// The places are the first, what came between, and the second.
    fn new(kind: Kind, [first, between, second]: [usize; 3], text: Text) -> Self {
        Self { kind, first, between, second, text }
    }
}

/// Explains the first breach of a log, if it has one.
pub fn first(scenario: &Scenario, log: &Log) -> Option<Why> {
    let breaches = verdict::breaches(scenario, log).ok()?;
    explain(scenario, log, breaches.first()?)
}

/// Why a breach came about, in words: of an invariant that asks how long somebody has waited, why they wait in vain.
pub fn explanation(scenario: &Scenario, log: &Log, breach: &Breach) -> Option<Text> {
    let waits = match &scenario.invariants.get(breach.invariant)?.never {
        NeverPlan::That(never) => never.mentions().names("waited"),
        NeverPlan::Overlap(_) => false,
    };
    let in_vain = waits.then(|| in_vain(scenario, log)).flatten();
    in_vain.or_else(|| explain(scenario, log, breach).map(|why| why.text))
}

/// `None` where the log does not say why: where nothing came between two moves, or where it is not certain that it
/// did, because commands were on their way at the same time.
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
    special.or_else(|| acts::explain(&case, never.source(), breach))
}

#[cfg(test)]
mod tests;
