//! The log of an order that is explored in process, where an invariant asks for one: what a run with client processes
//! would have recorded.

use std::sync::Arc;

use super::{
    ExplorerError,
    in_process::{InProcess, Node},
};
use crate::{
    log::{Choice, Event, EventKind, Log, Stop},
    run::explore::Pick,
};

/// A log as a list that orders with a common beginning share.
#[derive(Debug)]
pub(crate) struct LogPage {
    pub(crate) before: Option<Arc<LogPage>>,
    pub(crate) events: Vec<Event>,
}

impl LogPage {
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

impl InProcess {
    /// Adds a step to the log of an order.
    pub(crate) fn write_down(
        &mut self,
        from: &Node,
        next: &mut Node,
        pick: Pick,
        happened: Vec<EventKind>,
    ) -> Result<(), ExplorerError> {
        let at = next.now;
        let choice = pick.choice(&self.roster.clients);
        let fault = match &choice {
            Choice::Cause(fault) => Some(EventKind::Fault(fault.clone())),
            _ => None,
        };
        let stop = match choice {
            Choice::Move { .. } => Stop::Move,
            Choice::Cause(_) => Stop::Fault,
            Choice::Timer | Choice::Pass { .. } => Stop::Passed,
        };
        let mut kinds = vec![EventKind::Chose(choice)];
        kinds.extend(fault);
        kinds.extend(happened);
        for server in 0..self.servers.count() {
            if !Arc::ptr_eq(&from.keyspaces[server], &next.keyspaces[server]) {
                let name = self.servers.name(server).to_owned();
                let states = self.servers.states(&next.keyspaces, next.now)?;
                kinds.extend(states.into_iter().filter(|state| state.server == name).map(EventKind::State));
            }
        }
        kinds.push(EventKind::Stop { item: from.steps, stop });
        let events = kinds.into_iter().map(|kind| Event { at, kind }).collect();
        next.page = Some(Arc::new(LogPage { before: from.page.clone(), events }));
        Ok(())
    }
}
