//! Operations that are blocked inside their servers: whether they are, when that ends, and the replies that then come.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{
    OperationPlace, PendingOperation,
    awaiting::{ENDS_WITHIN, LOOK_EVERY},
};
use crate::{
    clock::LessonTime,
    lab::Waiting,
    lesson::Path,
    log::{ActorId, EventKind, FILES, OpId},
    run::session::{RunError, director::Director, supervision::ANSWERS_WITHIN},
};

impl Director {
    /// Waits for the replies to operations that are no longer blocked inside their servers, and hands them
    /// out.
    pub(crate) async fn settle_waits(&mut self, path: &Path) -> Result<(), RunError> {
        self.gather_replies(path).await?;
        self.hand_out_withheld(|_| true, path)
    }

    pub(super) async fn gather_replies(&mut self, path: &Path) -> Result<(), RunError> {
        let began = Instant::now();
        while self.any_reply_is_due(began.elapsed()).await? {
            match tokio::time::timeout(LOOK_EVERY, self.harness.next()).await {
                Ok(arrived) => self.handle(arrived?, path)?,
                Err(_) if began.elapsed() < ANSWERS_WITHIN || self.harness.is_stopped() => {}
                Err(_) => return Err(RunError::ClientSilent { seconds: ANSWERS_WITHIN.as_secs() }),
            }
        }
        Ok(())
    }

    /// Whether the reply to an operation that was blocked inside a server is on its way.
    async fn any_reply_is_due(&mut self, waited: Duration) -> Result<bool, RunError> {
        let now = self.clock.now();
        if waited >= ENDS_WITHIN {
            // The server has not ended these waits, so they are for something else, whose end is unknown.
            let abandoned = self.pending.abandoned.iter_mut().map(|statement| &mut statement.ends);
            let waiting = self.pending.by_op.values_mut().map(|pending| &mut pending.ends);
            for ends in waiting.chain(abandoned) {
                *ends = ends.filter(|ends| *ends > now);
            }
        }
        if self.any_abandoned_ends().await? {
            return Ok(true);
        }
        let mut expected: BTreeMap<String, Vec<ActorId>> = BTreeMap::new();
        for (_, pending) in self.pending.inside() {
            if self.harness.reachable(pending.actor, &pending.server) {
                if pending.ends.is_some_and(|ends| ends <= now) {
                    return Ok(true);
                }
                match &pending.awaits_deletion {
                    Some(key) if self.harness.lab.holds(&pending.server, key).await? => {}
                    Some(_) => return Ok(true),
                    None => expected.entry(pending.server.clone()).or_default().push(pending.actor),
                }
            }
        }
        for (server, actors) in expected {
            let woken = match self.harness.lab.waiting(&server).await? {
                Waiting::Number(number) => number < actors.len(),
                Waiting::Sessions(sessions) => {
                    !actors.iter().all(|actor| self.has_session_in(*actor, &server, &sessions))
                }
            };
            if woken {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_session_in(&self, actor: ActorId, server: &str, sessions: &[i64]) -> bool {
        let own = self.sessions.get(&(actor, server.to_owned()));
        own.is_some_and(|own| sessions.contains(own))
    }

    /// Whether an operation is blocked inside its server. Records this the first time that it is.
    pub(super) async fn waits_inside(&mut self, op: OpId) -> Result<bool, RunError> {
        let Some(PendingOperation { actor, operation, server, place, awaits_deletion, .. }) =
            self.pending.by_op.get(&op).cloned()
        else {
            return Ok(false);
        };
        if (server != FILES && self.harness.lab.process(&server).is_err())
            || !self.harness.answers(&server)?
        {
            return Ok(false);
        }
        let known =
            self.pending.inside().filter(|(other, pending)| *other != op && pending.server == server).count();
        let waits = match awaits_deletion {
            Some(key) => self.harness.lab.holds(&server, &key).await?,
            None => match self.harness.lab.waiting(&server).await? {
                Waiting::Number(number) => number > known,
                Waiting::Sessions(sessions) => self.has_session_in(actor, &server, &sessions),
            },
        };
        if waits
            && place != OperationPlace::InServer
            && let Some(pending) = self.pending.by_op.get_mut(&op)
        {
            pending.place = OperationPlace::InServer;
            self.recorder.record(EventKind::Blocked { op, actor, label: operation.label.clone() });
        }
        Ok(waits)
    }

    /// Whether every operation without a reply is blocked inside a server or waits for another actor of its
    /// process.
    pub(crate) async fn all_are_blocked(&mut self) -> Result<bool, RunError> {
        let ops: Vec<OpId> = self.pending.by_op.keys().copied().collect();
        for op in ops {
            if !self.pending.is_blocked(op) && !self.waits_inside(op).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first end of a wait inside a server that ends by itself, and its actor.
    pub(crate) fn next_end(&self) -> Option<(ActorId, LessonTime)> {
        let ends = self.pending.inside().filter_map(|(_, pending)| {
            let reachable = self.harness.reachable(pending.actor, &pending.server);
            Some((pending.actor, pending.ends.filter(|_| reachable)?))
        });
        ends.min_by_key(|(actor, ends)| (*ends, *actor))
    }
}
