//! Operations on their way: waiting until they are over, or until it is clear that no reply can come yet. It must
//! not know why a move was made, nor what its reply leads to.

use std::collections::{HashMap, HashSet};

use super::{EngineError, director::Director, stage::Arrived};
use crate::{
    client::protocol::Response,
    lesson::Path,
    log::{ActorId, Fault, OpId},
};

/// Operations on their way.
#[derive(Debug, Default)]
pub(super) struct Flights {
    pub(super) next: u64,
    /// Whose each is, and which server it went to.
    pub(super) by_op: HashMap<OpId, (ActorId, String)>,
    /// Those of them that wait for another actor inside their client.
    blocked: HashSet<OpId>,
}

impl Director {
    /// Waits until an operation is over, or is known to wait for another actor, or cannot be answered because
    /// a link is cut or held or the client is frozen.
    pub(super) async fn land(&mut self, op: OpId, path: &Path) -> Result<(), EngineError> {
        while let Some((actor, server)) = self.flights.by_op.get(&op).cloned() {
            if !self.stage.reachable(actor, &server) {
                return self.let_server_act(op, (actor, &server), path).await;
            }
            let arrived = self.stage.next().await?;
            let blocked =
                matches!(&arrived, Arrived::Response(_, Response::Blocked { op: known }) if *known == op);
            self.take_in(arrived, path)?;
            if blocked {
                self.flights.blocked.insert(op);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for everything on its way that may have come through by now: a link was released, a process thawed.
    pub(super) async fn land_all(&mut self, path: &Path) -> Result<(), EngineError> {
        let flying = self.flights.by_op.keys();
        let mut flying: Vec<OpId> = flying
            .filter(|op| !self.flights.blocked.contains(op))
            .copied()
            .collect();
        flying.sort_unstable();
        for op in flying {
            self.land(op, path).await?;
        }
        Ok(())
    }

    /// The operations whose connections a fault has broken are over, with their replies lost.
    pub(super) async fn land_broken(&mut self, fault: &Fault, path: &Path) -> Result<(), EngineError> {
        let broken = |(op, (actor, server)): (&OpId, &(ActorId, String))| {
            let client = self.stage.homes[actor.0 as usize];
            self.stage.breaks(fault, client, server).then_some(*op)
        };
        let mut broken: Vec<OpId> = self.flights.by_op.iter().filter_map(broken).collect();
        broken.sort_unstable();
        for op in broken {
            self.land(op, path).await?;
        }
        Ok(())
    }

    /// A server whose replies are held acts all the same: waits until it has.
    async fn let_server_act(
        &mut self,
        op: OpId,
        (actor, server): (ActorId, &str),
        path: &Path,
    ) -> Result<(), EngineError> {
        // Each operation has a connection of its own, on which its reply is held.
        let mine =
            |(other, to): &&(ActorId, String)| to == server && self.stage.share_a_process(*other, actor);
        let replies = self.flights.by_op.values().filter(mine).count();
        let Some(held) = self.stage.replies_held(actor, server, replies)? else {
            return Ok(());
        };
        tokio::pin!(held);
        while self.flights.by_op.contains_key(&op) {
            tokio::select! {
                () = &mut held => return Ok(()),
                arrived = self.stage.next() => self.take_in(arrived?, path)?,
            }
        }
        Ok(())
    }
}
