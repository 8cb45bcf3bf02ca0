//! Operations without a reply: waiting for it, or until it is clear that none can come yet.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use super::{EngineError, director::Director, harness::Arrived, supervision::ANSWERS_WITHIN};
use crate::{
    client::protocol::{Response, Wire},
    lesson::Path,
    log::{ActorId, Fault, OpId},
    program::State,
};

/// How long free play waits for a reply before the next choice, in real time.
const FREE_PLAY_PATIENCE: Duration = Duration::from_secs(3);

/// Operations that were sent and have no reply yet.
#[derive(Debug, Default)]
pub(crate) struct PendingOperations {
    pub(crate) next: u64,
    /// The actor of each, and the server that it was sent to.
    pub(crate) by_op: HashMap<OpId, (ActorId, String)>,
    /// Those that wait for another actor inside their client.
    blocked: HashSet<OpId>,
    /// How long a server was asked to wait before it replies, of those that ask for it.
    waits: HashMap<OpId, Duration>,
}

impl PendingOperations {
    pub(crate) fn begin(&mut self, op: OpId, actor: ActorId, wire: &Wire) {
        self.by_op.insert(op, (actor, wire.server.clone()));
        let waits = wire.command.waits();
        if !waits.is_zero() {
            self.waits.insert(op, waits);
        }
    }

    /// How long an operation may stay unanswered while nothing else happens, in real time: while a story waits for a
    /// reply, the servers' clock runs as fast as that.
    fn patience(&self, op: OpId) -> Duration {
        ANSWERS_WITHIN.saturating_add(self.waits.get(&op).copied().unwrap_or_default())
    }
}

impl Director {
    /// Waits until an operation is over, or is known to wait for another actor, or cannot be answered because
    /// a link is cut or held or the client is frozen.
    pub(crate) async fn await_reply(&mut self, op: OpId, path: &Path) -> Result<(), EngineError> {
        while let Some((actor, server)) = self.pending.by_op.get(&op).cloned() {
            if !self.harness.reachable(actor, &server) {
                return self.await_server(op, (actor, &server), path).await;
            }
            let patience = if self.left_story && self.recorder.is_followed() {
                FREE_PLAY_PATIENCE
            } else {
                self.pending.patience(op)
            };
            let Ok(arrived) = tokio::time::timeout(patience, self.harness.next()).await else {
                if self.left_story && self.recorder.is_followed() {
                    // The learner sees that there is no reply yet, and may do something about it.
                    return Ok(());
                }
                if self.harness.is_stopped() {
                    continue;
                }
                return Err(self.unanswered(actor, &server, patience, path).await);
            };
            let arrived = arrived?;
            let blocked =
                matches!(&arrived, Arrived::Response(_, Response::Blocked { op: known }) if *known == op);
            self.handle(arrived, path)?;
            if blocked {
                self.pending.blocked.insert(op);
                return Ok(());
            }
        }
        Ok(())
    }

    /// The mistake of an operation that its server does not answer although it runs and nothing holds the reply.
    async fn unanswered(&self, actor: ActorId, server: &str, silent: Duration, path: &Path) -> EngineError {
        let (name, seconds) = (self.name(actor), silent.as_secs());
        let State::InFlight { operation } = self.actors[actor].state() else {
            return self.mistake(path, format!("no reply has come for {seconds} s of real time"));
        };
        let why = if self.harness.lab.observe().await.is_ok() {
            "answers others meanwhile, so this command waits for something that nobody does"
        } else {
            "answers nobody meanwhile: this command keeps it busy, such as a script that does not end"
        };
        let place = operation.path.clone().unwrap_or_else(|| path.clone());
        let label = &operation.label;
        self.mistake(
            &place,
            format!("`{name}.{label}` has had no reply for {seconds} s of real time; `{server}` {why}"),
        )
    }

    /// Waits for the replies that may have come through by now: a link was released, a process thawed.
    pub(crate) async fn await_replies(&mut self, path: &Path) -> Result<(), EngineError> {
        let in_flight = self.pending.by_op.keys().copied();
        let in_flight = in_flight.filter(|op| !self.pending.blocked.contains(op)).collect();
        self.await_all(in_flight, path).await
    }

    async fn await_all(&mut self, mut ops: Vec<OpId>, path: &Path) -> Result<(), EngineError> {
        ops.sort_unstable();
        for op in ops {
            self.await_reply(op, path).await?;
        }
        Ok(())
    }

    /// Waits until the operations whose connections a fault has broken are over, with their replies lost.
    pub(crate) async fn await_broken(&mut self, fault: &Fault, path: &Path) -> Result<(), EngineError> {
        let broken = |(op, (actor, server)): (&OpId, &(ActorId, String))| {
            let client = self.harness.homes[actor.0 as usize];
            self.harness.breaks(fault, client, server).then_some(*op)
        };
        let broken = self.pending.by_op.iter().filter_map(broken).collect();
        self.await_all(broken, path).await
    }

    /// Waits until a server whose replies are held has carried the operation out.
    async fn await_server(
        &mut self,
        op: OpId,
        (actor, server): (ActorId, &str),
        path: &Path,
    ) -> Result<(), EngineError> {
        // Each operation has a connection of its own, on which its reply is held.
        let mine =
            |(other, to): &&(ActorId, String)| to == server && self.harness.share_a_process(*other, actor);
        let replies = self.pending.by_op.values().filter(mine).count();
        let Some(held) = self.harness.replies_held(actor, server, replies)? else { return Ok(()) };
        tokio::pin!(held);
        while self.pending.by_op.contains_key(&op) {
            tokio::select! {
                () = &mut held => return Ok(()),
                arrived = self.harness.next() => self.handle(arrived?, path)?,
            }
        }
        Ok(())
    }
}
