//! One chosen order of moves, on real servers: somebody else says who moves next, and time passes only when nobody
//! can move. It must not know which orders there are, nor what is looked for in them.

use super::{EngineError, Racer, performer::State, stage::actor_id, time::after_grain};
use crate::{
    clock::Rate,
    lesson::Path,
    log::{ActorId, EventKind, Log},
};

/// An order that was carried out.
#[derive(Debug, Clone)]
pub struct Walk {
    /// What happened.
    pub log: Log,
    /// How many moves there were.
    pub moves: usize,
    /// Whether somebody could still have moved when the bound was reached.
    pub cut: bool,
}

impl Racer {
    /// Carries out one order. `choose` is asked before every move with everybody who can make one, in the lesson's
    /// order, and gives the place of whoever does.
    ///
    /// # Errors
    /// A server or a client failed, or a program cannot cope with a reply.
    pub async fn walk(
        &mut self,
        most_moves: usize,
        choose: &mut (impl FnMut(&[ActorId]) -> usize + Send),
    ) -> Result<Walk, EngineError> {
        if self.spoilt {
            self.renew().await?;
        }
        match self.in_order(most_moves, choose).await {
            Ok(walk) => Ok(walk),
            Err(error) => Err(self.director.stage.or_death(error).await),
        }
    }

    async fn in_order(
        &mut self,
        most_moves: usize,
        choose: &mut (impl FnMut(&[ActorId]) -> usize + Send),
    ) -> Result<Walk, EngineError> {
        let path = Path::root().key("programs");
        self.reset(0, &path).await?;
        let director = &mut self.director;
        director.clock.set_rate(Rate::PAUSED)?;
        let mut moves = 0;
        let cut = loop {
            let ready = |n: &usize| matches!(director.performers[*n].state, State::Ready(_));
            let able: Vec<ActorId> = (0..director.performers.len())
                .filter(ready)
                .map(actor_id)
                .collect();
            if able.is_empty() {
                let Some((_, due)) = director.next_timer() else {
                    break false;
                };
                director.flow_to(after_grain(due), &path).await?;
                director.clock.set_rate(Rate::PAUSED)?;
                director.catch_up(&path)?;
                continue;
            }
            if moves == most_moves {
                break true;
            }
            moves += 1;
            let actor = able[choose(&able).min(able.len() - 1)];
            if let Some(op) = director.send(actor, &path).await? {
                director.land(op, &path).await?;
            }
            // A mutex that was given back is on its way to the next in line.
            if !director.flights.by_op.is_empty() {
                director.settle(&path).await?;
            }
        };
        self.spoilt = !director.flights.by_op.is_empty() || super::race::keeps_local_locks(director.log());
        for state in director.stage.observe().await? {
            director.recorder.record(EventKind::State(state));
        }
        let log = self.take_log();
        Ok(Walk { log, moves, cut })
    }
}
