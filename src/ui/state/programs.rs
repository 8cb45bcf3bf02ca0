//! Where each client is in its program, at every position of the log. It is extended with the log, so that no frame has
//! to read the log again.

use std::time::Duration;

use crate::{
    lesson::plan::{
        known::Known,
        listing::{Listing, Trace},
    },
    log::{EventKind, Log, Reply},
};

/// The state of a client in its program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    /// The operation begun last.
    pub at: Option<usize>,
    /// Whether that operation is over.
    pub done: bool,
    /// The operations that can come next; while an operation is in progress, that one.
    pub next: Vec<usize>,
    /// The operation to mark: the next one, or the last one if several can come next.
    pub stands: Option<usize>,
    /// The intended duration of the last wait, and the operation that asked for it.
    pub waits: Option<(usize, Duration)>,
}

/// The programs of a run, and the state of its clients in them.
#[derive(Debug, Default)]
pub struct Programs {
    listings: Vec<Listing>,
    /// The number of events processed.
    position: usize,
    /// Indexed by actor.
    clients: Vec<Client>,
    /// The positions at which an operation was begun or ended, with its actor.
    moves: Vec<(usize, usize)>,
}

impl Programs {
    pub fn new(listings: Vec<Listing>) -> Self {
        Self { listings, ..Self::default() }
    }

    pub fn listings(&self) -> &[Listing] {
        &self.listings
    }

    /// Processes new events of the log.
    pub(crate) fn advance(&mut self, log: &Log) {
        for event in &log.events()[self.position.min(log.len())..] {
            self.position += 1;
            if let EventKind::LabReady { actors, .. } = &event.kind {
                let client = |name| {
                    let mut known = self.listings.iter().enumerate();
                    Client::new(known.find_map(|(runs, listing)| Some((runs, listing.actors.get(name)?))))
                };
                self.clients = actors.iter().map(|actor| client(&actor.name)).collect();
                for client in &mut self.clients {
                    client.keep(self.position, &self.listings);
                }
            }
            let Some(actor) = event.kind.actor().map(|actor| actor.0 as usize) else { continue };
            let Some(client) = self.clients.get_mut(actor) else { continue };
            let Some(listing) = client.runs.map(|runs| &self.listings[runs]) else { continue };
            client.now.take(listing, &event.kind);
            if let EventKind::Waits { until, .. } = &event.kind {
                let at = client.now.at.filter(|_| !client.now.again);
                client.waits = at.map(|at| (at, until.since(event.at)));
            }
            client.keep(self.position, &self.listings);
            if matches!(
                event.kind,
                EventKind::Sent { .. }
                    | EventKind::Replied { .. }
                    | EventKind::Waits { .. }
                    | EventKind::Waited { .. }
                    | EventKind::Took { .. }
            ) {
                self.moves.push((self.position, actor));
            }
        }
    }

    /// The program of a client, and the client's state in it after the first `position` events.
    pub fn place(&self, actor: usize, position: usize) -> Option<(usize, &Place)> {
        let client = self.clients.get(actor)?;
        let behind = client.places.partition_point(|(after, _)| *after <= position);
        Some((client.runs?, &client.places.get(behind.checked_sub(1)?)?.1))
    }

    /// The actor that last began or ended an operation within the first `position` events.
    pub fn newest(&self, position: usize) -> Option<usize> {
        let behind = self.moves.partition_point(|(after, _)| *after <= position);
        Some(self.moves.get(behind.checked_sub(1)?)?.1)
    }
}

#[derive(Debug)]
struct Client {
    /// The index of its program; `None` if unknown.
    runs: Option<usize>,
    now: ProgramPosition,
    waits: Option<(usize, Duration)>,
    /// Its states, each with the position from which it applies.
    places: Vec<(usize, Place)>,
}

impl Client {
    fn new(runs: Option<(usize, &Known)>) -> Self {
        let known = runs.map(|(_, known)| known.clone()).unwrap_or_default();
        let now = ProgramPosition { known, ..ProgramPosition::default() };
        Self { runs: runs.map(|(runs, _)| runs), now, waits: None, places: Vec::new() }
    }

    fn keep(&mut self, position: usize, listings: &[Listing]) {
        let Some(runs) = self.runs else { return };
        let ProgramPosition { at, done, .. } = self.now;
        let next = self.now.next(&listings[runs]);
        let stands = match next[..] {
            [] => None,
            [next] => Some(next),
            [first, ..] => at.or(Some(first)),
        };
        let place = Place { at, done, next, stands, waits: self.waits };
        if self.places.last().is_none_or(|(_, last)| *last != place) {
            self.places.push((position, place));
        }
    }
}

/// The current state of a client in its program.
#[derive(Debug, Clone, Default)]
struct ProgramPosition {
    /// The operation begun last.
    at: Option<usize>,
    /// Whether that operation is over.
    done: bool,
    /// Whether it waits to repeat that operation.
    again: bool,
    /// Events seen since the operation began or ended.
    traces: Vec<Trace>,
    known: Known,
}

impl ProgramPosition {
    fn begin(&mut self, listing: &Listing, label: &str) {
        let is_it = |at: &usize| listing.operation(*at).is_some_and(|operation| operation.label == label);
        // The operation is repeated, or sent to the server that the reply named.
        let same = self.again
            || self.at.filter(is_it).is_some_and(|at| {
                let tries = listing.operation(at).is_some_and(|operation| operation.until.is_some());
                tries
                    || !self.done
                    || !listing.after(self.at, None, &self.known).iter().any(|(at, _)| is_it(at))
            });
        if !same {
            let next = listing.after(self.at, Some(&self.traces), &self.known);
            // If the operation does not follow from the last one, nothing is known about the path to it.
            let begun = next.into_iter().find(|(at, _)| is_it(at));
            let begun = begun.map(|(at, known)| (Some(at), known));
            (self.at, self.known) = begun.unwrap_or_else(|| (listing.find(self.at, label), Known::default()));
        }
        (self.done, self.again) = (false, false);
        self.traces.clear();
    }

    fn end(&mut self, listing: &Listing, reply: Option<&Reply>) {
        self.done = true;
        self.traces.clear();
        if let Some((at, reply)) = self.at.zip(reply) {
            listing.answered(at, reply, &mut self.known);
        }
    }

    fn take(&mut self, listing: &Listing, event: &EventKind) {
        match event {
            EventKind::Sent { label, .. } => self.begin(listing, label),
            EventKind::Waits { label, .. } => {
                let tried = self.at.and_then(|at| listing.operation(at));
                self.again =
                    self.done && tried.is_some_and(|tried| tried.label == *label && tried.until.is_some());
                if !self.again {
                    self.begin(listing, label);
                }
            }
            EventKind::Took { label, about, what, .. } => {
                self.begin(listing, label);
                let reply = Reply::Value(serde_json::json!({ "about": about, "what": what }));
                self.end(listing, Some(&reply));
            }
            EventKind::Replied { reply, .. } => self.end(listing, Some(reply)),
            EventKind::Waited { in_vain: true, .. } if !self.again => {
                self.end(listing, Some(&Reply::Value(serde_json::Value::Null)));
            }
            EventKind::Waited { .. } if !self.again => self.end(listing, None),
            EventKind::Believes { belief, .. } => self.traces.push(Trace::Believes(*belief)),
            EventKind::Counted { counter, .. } => self.traces.push(Trace::Counts(counter.clone())),
            EventKind::Finished { .. } => self.traces.push(Trace::Ends),
            _ => {}
        }
    }

    /// The operations that can come next; while an operation is in progress, that one.
    fn next(&self, listing: &Listing) -> Vec<usize> {
        match self.at {
            Some(at) if !self.done || self.again => vec![at],
            at => {
                let next = listing.after(at, Some(&self.traces), &self.known);
                next.into_iter().map(|(at, _)| at).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ProgramPosition;
    use crate::{
        lesson::{
            Library, Params, Scenario,
            plan::{ActorPlan, listing::listings},
        },
        log::EventKind,
        recording::carried,
    };

    #[test]
    fn the_next_operation_is_predicted_in_every_carried_run() {
        let (mut begun, mut several) = (0, 0);
        for loaded in &Library::carried().lessons {
            for variant in loaded.lesson.variants.keys() {
                let scenario = Scenario::plan(loaded, variant, &Params::new()).expect("it is good");
                let Ok(recording) = carried::open(&scenario) else { continue };
                let listings = listings(&scenario);
                let begins = |plan: &ActorPlan| {
                    let known = listings.iter().find_map(|listing| listing.actors.get(&plan.actor.name));
                    ProgramPosition {
                        known: known.cloned().unwrap_or_default(),
                        ..ProgramPosition::default()
                    }
                };
                let mut places: Vec<ProgramPosition> = scenario.actors.iter().map(begins).collect();
                for event in recording.log.events() {
                    let Some(actor) = event.kind.actor().map(|actor| actor.0 as usize) else { continue };
                    let name = &scenario.actors[actor].actor.name;
                    let listing = listings.iter().find(|listing| listing.actors.contains_key(name));
                    let (listing, place) = (listing.expect("a program"), &mut places[actor]);
                    // The next operation of a user's own program is unknown.
                    if listing.lines.iter().all(|line| line.operation.is_none()) {
                        continue;
                    }
                    let next = place.next(listing);
                    let before = place.at;
                    place.take(listing, &event.kind);
                    if let EventKind::Sent { label, .. } = &event.kind {
                        let at = place.at.expect("it has begun");
                        assert!(
                            next.contains(&at) || before == Some(at),
                            "{}/{variant}: {name}.{label}: {next:?}",
                            loaded.lesson.id
                        );
                        several += usize::from(next.len() > 1);
                        begun += 1;
                    }
                }
            }
        }
        assert!(begun > 0, "no recording is of a lesson as it is now");
        assert!(
            several * 33 < begun,
            "of {begun} operations, {several} were one of several that could come next"
        );
    }
}
