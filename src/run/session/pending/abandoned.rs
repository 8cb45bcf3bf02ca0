//! Statements whose connections are closed while they wait inside a server.

use super::PendingOperation;
use crate::{
    clock::LessonTime,
    lab::Waiting,
    log::Fault,
    run::session::{RunError, director::Director},
};

/// A statement whose client has died or lost its connection while the statement waited inside the server, which notices
/// that only when the wait is over.
#[derive(Debug)]
pub(super) struct AbandonedStatement {
    server: String,
    session: i64,
    /// When the server ends the wait by itself, in lesson time.
    pub(super) ends: Option<LessonTime>,
}

impl Director {
    /// Whether an abandoned statement does not wait any more, and the server has yet to end its connection. Forgets those
    /// whose connections have ended.
    pub(super) async fn any_abandoned_ends(&mut self) -> Result<bool, RunError> {
        let now = self.clock.now();
        let mut left = Vec::new();
        let mut any_ends = false;
        for statement in std::mem::take(&mut self.pending.abandoned) {
            let AbandonedStatement { server, session, ends } = &statement;
            if !self.harness.answers(server)? || self.harness.lab.have_ended(server, &[*session]).await? {
                continue;
            }
            let waits = match self.harness.lab.waiting(server).await? {
                Waiting::Sessions(sessions) => sessions.contains(session),
                Waiting::Number(_) => false,
            };
            any_ends |= !waits || ends.is_some_and(|ends| ends <= now);
            left.push(statement);
        }
        self.pending.abandoned = left;
        Ok(any_ends)
    }

    /// The operations that are blocked inside their servers, each with the id of its connection.
    pub(crate) fn blocked(&self) -> Vec<(PendingOperation, Option<i64>)> {
        let session =
            |pending: &PendingOperation| self.sessions.get(&(pending.actor, pending.server.clone())).copied();
        self.pending.inside().map(|(_, pending)| (pending.clone(), session(pending))).collect()
    }

    /// Remembers those of the operations that were blocked inside their servers whose connections a fault has closed.
    pub(crate) async fn note_abandoned(
        &mut self,
        fault: &Fault,
        waited: &[(PendingOperation, Option<i64>)],
    ) -> Result<(), RunError> {
        for (pending, session) in waited {
            let client = self.harness.client_of[pending.actor.0 as usize];
            let closed = fault.killed_client() == Some(self.harness.client(pending.actor).name.as_str())
                || self.harness.breaks(fault, client, &pending.server);
            let Some(session) = session.filter(|_| closed) else { continue };
            if !self.harness.answers(&pending.server)? {
                continue;
            }
            // Only a server that lists who waits does not notice the end of a connection at once.
            if let Waiting::Sessions(_) = self.harness.lab.waiting(&pending.server).await? {
                let (server, ends) = (pending.server.clone(), pending.ends);
                self.pending.abandoned.push(AbandonedStatement { server, session, ends });
            }
        }
        Ok(())
    }

    /// The first end of the wait of an abandoned statement: what it has locked is free then.
    pub(crate) fn next_abandoned_end(&self) -> Option<LessonTime> {
        self.pending.abandoned.iter().filter_map(|statement| statement.ends).min()
    }
}
