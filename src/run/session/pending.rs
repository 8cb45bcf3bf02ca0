//! Operations without a reply: where each is, until it comes or it is known that none can come yet.

mod abandoned;
mod awaiting;
mod blocked;
mod withheld;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use self::abandoned::AbandonedStatement;
use super::harness::Arrived;
use crate::{
    client::protocol::Wire,
    clock::LessonTime,
    lesson::plan::PlannedOperation,
    log::{ActorId, Command, OpId, Reply},
};

/// Operations that were sent and have no reply yet.
#[derive(Debug, Default)]
pub(crate) struct PendingOperations {
    pub(crate) next: u64,
    pub(crate) by_op: BTreeMap<OpId, PendingOperation>,
    /// Withheld replies to operations that were blocked inside their servers. The reply to the move that
    /// unblocked them comes first.
    withheld: BTreeMap<OpId, WithheldReply>,
    /// The row lock timeouts that actors have set on their connections, by actor and server.
    limits: HashMap<(ActorId, String), Duration>,
    /// Statements that still wait inside a server although their connections are closed.
    abandoned: Vec<AbandonedStatement>,
}

/// A withheld reply, and what an external program reported after it.
#[derive(Debug)]
struct WithheldReply {
    reply: Reply,
    then: Vec<Arrived>,
}

#[derive(Debug, Clone)]
pub(crate) struct PendingOperation {
    pub(crate) actor: ActorId,
    pub(crate) operation: Arc<PlannedOperation>,
    pub(crate) server: String,
    /// How long the command asks the server to wait before it replies.
    waits: Duration,
    /// When the server ends the wait by itself, in lesson time.
    ends: Option<LessonTime>,
    /// The key whose deletion the operation waits for.
    awaits_deletion: Option<String>,
    /// Whether other actors may move while the operation is blocked inside its server.
    may_wait: bool,
    place: OperationPlace,
}

/// Where an operation without a reply was last known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperationPlace {
    InTransit,
    /// It waits in its client for another actor.
    InClient,
    /// It was observed to be blocked inside its server.
    InServer,
    /// Its reply has passed the link while its client was frozen. The client reads it when it is thawed,
    /// whatever the link does by then.
    ReplyPassed,
}

impl PendingOperation {
    fn waits_inside(&self) -> bool {
        self.place == OperationPlace::InServer
    }
}

impl PendingOperations {
    /// `limit` is the row lock timeout of connections that have set none.
    pub(crate) fn begin(
        &mut self,
        op: OpId,
        (actor, operation): (ActorId, &Arc<PlannedOperation>),
        wire: &Wire,
        now: LessonTime,
        limit: Duration,
    ) {
        let server = wire.server.clone();
        let waits = wire.command.waits();
        let at = (actor, server.clone());
        let ends = match (waits.is_zero(), &wire.command) {
            (false, _) => Some(waits),
            (true, Command::Sql(_)) => Some(self.limits.get(&at).copied().unwrap_or(limit)),
            _ => None,
        };
        if let Some(limit) = wire.command.row_wait_limit() {
            self.limits.insert(at, limit);
        }
        let pending = PendingOperation {
            actor,
            operation: Arc::clone(operation),
            server,
            waits,
            ends: ends.map(|ends| now + ends),
            awaits_deletion: wire.command.awaits_deletion().map(str::to_owned),
            may_wait: false,
            place: OperationPlace::InTransit,
        };
        self.by_op.insert(op, pending);
    }

    pub(crate) fn forget(&mut self, actor: ActorId) {
        self.by_op.retain(|_, pending| pending.actor != actor);
        self.withheld.retain(|op, _| self.by_op.contains_key(op));
    }

    /// Whether nothing waits any more inside a server for a client that is gone, or in a program for a reply.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_op.is_empty() && self.abandoned.is_empty()
    }

    /// Forgets all operations and connection settings.
    pub(crate) fn clear(&mut self) {
        *self = Self { next: self.next, ..Self::default() };
    }

    /// The operations that are blocked inside their servers and have no reply yet.
    fn inside(&self) -> impl Iterator<Item = (OpId, &PendingOperation)> {
        let unanswered = |(op, pending): &(&OpId, &PendingOperation)| {
            pending.waits_inside() && !self.withheld.contains_key(op)
        };
        self.by_op.iter().filter(unanswered).map(|(op, pending)| (*op, pending))
    }

    /// Whether other actors may move although an operation has no reply.
    pub(crate) fn is_blocked(&self, op: OpId) -> bool {
        self.by_op.get(&op).is_some_and(|pending| {
            matches!(pending.place, OperationPlace::InServer | OperationPlace::InClient)
        })
    }
}
