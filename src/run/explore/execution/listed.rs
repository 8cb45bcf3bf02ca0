//! Replies of moves with client processes that list members in an order of the server's own: nothing may depend on it.

use super::{
    commands::Refusal,
    keyspace::{Keyspace, LOOK},
    processes::{self, Processes},
    rules::operation_name,
    servers,
    transactions::Pending,
    unordered,
};
use crate::{
    client::protocol::Wire,
    lesson::Scenario,
    log::{ActorId, Command, Event, EventKind, Log, Product, Reply},
    program::Request,
    run::{explore::ExploreError, session::RunError},
};

/// A move whose reply may list members in an order of the server's own.
pub(super) struct Listing {
    actor: ActorId,
    label: String,
    wire: Wire,
    /// The transaction that it belongs to.
    pending: Pending,
    /// What the server held before the move.
    held: Keyspace,
}

/// The commands that an actor has queued since `MULTI`, if it has.
fn queued(log: &Log, actor: ActorId, scenario: &Scenario) -> Option<Vec<Vec<String>>> {
    let sent = log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Sent { actor: whose, command, server, .. } if *whose == actor => Some((command, server)),
        _ => None,
    });
    sent.fold(None, |queued: Option<Vec<_>>, (command, server)| {
        let script = match command {
            Command::Script { name, .. } => scenario.loaded.lesson.scripts.get(name).cloned(),
            _ => None,
        };
        let words = servers::words(&Wire { server: server.clone(), command: command.clone(), script });
        match (queued, words.first().map(|name| name.to_ascii_uppercase()).as_deref()) {
            (_, Some("MULTI")) => Some(Vec::new()),
            (_, Some("EXEC" | "DISCARD")) => None,
            (Some(mut queued), Some(_)) => {
                queued.push(words);
                Some(queued)
            }
            (queued, _) => queued,
        }
    })
}

impl Processes {
    /// The move that an actor makes next, if its reply may list the members of a set in an order of the server's own. A
    /// program of the user's own is not looked into.
    pub(super) fn foresee_list(&mut self, actor: ActorId) -> Result<Option<Listing>, ExploreError> {
        let director = &self.racer.director;
        let stepper = &director.actors[actor];
        let Some(operation) = stepper.next_operation().filter(|_| !self.scenario.is_attached()) else {
            return Ok(None);
        };
        let (label, server) =
            (operation.label.clone(), director.harness.server_of(actor, operation.on.as_deref()));
        let Some(Ok(Request::Command(wire))) = stepper.foresee(director.clock.now(), server) else {
            return Ok(None);
        };
        if wire.command.product() != Some(Product::Redis) {
            return Ok(None);
        }
        let queued = queued(director.log(), actor, &self.scenario);
        let mut pending = Pending::default();
        pending.queued = queued;
        if !unordered::may_list(&wire, &pending) {
            return Ok(None);
        }
        let held = self.contents(&wire)?;
        Ok(Some(Listing { actor, label, wire, pending, held }))
    }

    /// Checks that nothing depends on the order of a list that is the server's own. Its reply remains in that order, so
    /// that it is the one that the client got.
    pub(super) fn check_list(&mut self, listing: &Listing, replies: &[Event]) -> Result<(), ExploreError> {
        let Listing { actor, label, wire, pending, held } = listing;
        let holds = self.contents(wire)?;
        for Event { kind, .. } in replies {
            let EventKind::Replied { actor: whose, reply, .. } = kind else { continue };
            if whose == actor {
                let mut reply = Reply::clone(reply);
                unordered::check(
                    &self.scenario,
                    (self.racer.director.actors[*actor].program(), label),
                    (wire, pending),
                    &[held, &holds],
                    &mut reply,
                )
                .map_err(|why| {
                    let name = operation_name(&self.scenario, *actor, label);
                    Refusal::NotReplayable(why).of(&name, wire, &wire.server)
                })?;
            }
        }
        Ok(())
    }

    /// The contents of the server that a command goes to.
    fn contents(&mut self, wire: &Wire) -> Result<Keyspace, ExploreError> {
        let now = self.racer.director.clock.now();
        let (server, connection) = processes::open(&mut self.connections, &self.racer, wire)?;
        let looked = connection.ask_one(["EVAL", LOOK, "0"]).and_then(|answer| Keyspace::read(answer, now));
        looked.map_err(|why| RunError::ServerLost { server, why }.into())
    }
}
