//! Replies that are withheld until those before them have been handed out, with what programs reported after them.

use std::collections::BTreeMap;

use super::{PendingOperation, PendingOperations, WithheldReply};
use crate::{
    client::protocol::Response,
    lesson::Path,
    log::{OpId, Reply},
    run::session::{RunError, director::Director, harness::Arrived},
};

impl Director {
    /// Withholds the reply to an operation that was blocked inside its server. Returns the reply to any other
    /// operation.
    pub(crate) fn withhold_reply(&mut self, op: OpId, reply: Reply) -> Option<Reply> {
        if !self.pending.by_op.get(&op).is_some_and(PendingOperation::waits_inside) {
            return Some(reply);
        }
        self.pending.withheld.insert(op, WithheldReply { reply, then: Vec::new() });
        None
    }

    /// Withholds what an external program reports after a withheld reply. Returns any other report, which is
    /// to be handled now.
    pub(crate) fn withhold_report(&mut self, arrived: Arrived) -> Option<Arrived> {
        let Arrived::Response(
            _,
            Response::Said { actor, .. } | Response::Remarked { actor, .. } | Response::Rests { actor, .. },
        ) = &arrived
        else {
            return Some(arrived);
        };
        let PendingOperations { withheld, by_op, .. } = &mut self.pending;
        let mut kept = withheld.iter_mut();
        match kept.find(|(op, _)| by_op.get(op).is_some_and(|pending| pending.actor == *actor)) {
            Some((_, woken)) => woken.then.push(arrived),
            None => return Some(arrived),
        }
        None
    }

    /// Hands out the withheld replies that `which` accepts, in the order in which the operations were sent.
    pub(crate) fn hand_out_withheld(
        &mut self,
        which: fn(&Reply) -> bool,
        path: &Path,
    ) -> Result<(), RunError> {
        let woken = std::mem::take(&mut self.pending.withheld);
        let (now, later) = woken.into_iter().partition(|(_, woken)| which(&woken.reply));
        self.pending.withheld = later;
        let now: BTreeMap<OpId, WithheldReply> = now;
        now.into_iter().try_for_each(|(op, woken)| self.hand_out(op, woken, path))
    }

    /// Hands out a reply, and then what the program reported after it.
    pub(super) fn hand_out(
        &mut self,
        op: OpId,
        WithheldReply { reply, then }: WithheldReply,
        path: &Path,
    ) -> Result<(), RunError> {
        self.done(op, &reply, path)?;
        then.into_iter().try_for_each(|arrived| self.handle(arrived, path))
    }
}
