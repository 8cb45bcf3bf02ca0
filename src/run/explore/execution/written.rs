//! The log of a hosted order, where an invariant asks for one: what a run with client processes would have written
//! down.

use std::sync::Arc;

use super::{
    GroundError,
    hosted::{Hosted, Place},
    seats::Told,
};
use crate::{
    client::protocol::Wire,
    lesson::plan::PlannedOperation,
    log::{ActorId, Choice, Event, EventKind, Log, OpId, Reply, Stop},
    run::explore::Pick,
};

/// A log as a list that orders with a common beginning share.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) before: Option<Arc<Page>>,
    pub(crate) events: Vec<Event>,
}

impl Page {
    /// The whole log up to here.
    pub(crate) fn log(last: Option<&Arc<Self>>) -> Log {
        let mut pages = Vec::new();
        let mut next = last;
        while let Some(page) = next {
            pages.push(page);
            next = page.before.as_ref();
        }
        let mut log = Log::new();
        for page in pages.into_iter().rev() {
            log.extend(page.events.iter().cloned());
        }
        log
    }
}

impl Hosted {
    /// Adds a step to the log of an order.
    pub(crate) fn write_down(
        &mut self,
        from: &Place,
        next: &mut Place,
        pick: Pick,
        told: Told,
    ) -> Result<(), GroundError> {
        let at = next.seats.now;
        let choice = pick.choice(|n| self.cast.clients[n].clone());
        let (fault, stop) = match &choice {
            Choice::Move { .. } => (None, Stop::Move),
            Choice::Cause(fault) => (Some(fault.clone()), Stop::Fault),
            Choice::Timer | Choice::Pass { .. } => (None, Stop::Passed),
        };
        let mut kinds = vec![EventKind::Chose(choice)];
        kinds.extend(fault.map(EventKind::Fault));
        kinds.extend(told.events);
        for server in 0..self.servers.count() {
            if !Arc::ptr_eq(&from.keyspaces[server], &next.keyspaces[server]) {
                let name = self.servers.name(server).to_owned();
                let states = self.servers.states(&next.keyspaces, next.seats.now)?;
                kinds.extend(states.into_iter().filter(|state| state.server == name).map(EventKind::State));
            }
        }
        kinds.push(EventKind::Stop { item: from.steps, stop });
        let events = kinds.into_iter().map(|kind| Event { at, kind }).collect();
        next.page = Some(Arc::new(Page { before: from.page.clone(), events }));
        Ok(())
    }
}

/// What a log has of a move.
pub(crate) fn tell_move(
    actor: ActorId,
    operation: &PlannedOperation,
    wire: &Wire,
    reply: &Reply,
    told: &mut Told,
) {
    let op = OpId(0);
    told.events.push(EventKind::Sent {
        op,
        actor,
        label: operation.label.clone(),
        server: wire.server().to_owned(),
        wire: wire.to_string(),
        releases: operation.releases.clone(),
    });
    told.events.push(EventKind::Replied { op, actor, label: operation.label.clone(), reply: reply.clone() });
}
