//! Orders explored with programs that Lockstep hosts itself, on real servers: one command, one answer, and going back
//! is putting back what the server held.
//!
//! Exploring needs no processes to be killed or stopped: whoever is dead sends nothing any more, and whoever is
//! stopped sends nothing until it runs again. What is found is confirmed with processes afterwards (see
//! [`super::walk`]).

use std::sync::Arc;

use super::{
    GroundError, Means,
    came::Judge,
    commands::{Footprint, Refusal, Transaction, cell},
    keyspace::Keyspace,
    roster::Roster,
    rules::{Rules, Situation, Tally},
    servers::{self, Queue, Servers},
    tracked::{Names, Tracked},
    trail::Trail,
    watched::Watched,
    written::Page,
};
use crate::{
    client::{self, protocol::Wire},
    clock::LessonTime,
    lab::{LabOptions, Vitals},
    lesson::{Mistake, Path, Scenario, plan::PlannedOperation},
    log::{ActorId, Event, EventKind, OpId, Reply},
    program::{self, Actors, Cause, Failure, Output},
    run::{
        explore::{Broken, Fate, Ground, Pick, Touch},
        session::{EngineError, time::next_milli},
    },
};

/// A place in the tree of orders.
#[derive(Debug, Clone)]
pub struct Place {
    pub(crate) actors: Actors,
    pub(crate) now: LessonTime,
    tally: Tally,
    /// By actor: the commands that its connection has queued since MULTI.
    queued: Vec<Queue>,
    pub(crate) steps: usize,
    /// What each server holds.
    pub(crate) keyspaces: Vec<Arc<Keyspace>>,
    pub(crate) tracked: Tracked,
    pub(crate) broken: Vec<Broken>,
    trail: Trail,
    /// The log, where one is wanted.
    pub(crate) page: Option<Arc<Page>>,
}

/// What came of a move.
struct Moved {
    touch: Touch,
    /// The operation and its reply.
    reply: (String, Reply),
    /// Keys that something may have been done to.
    handled: Vec<Arc<str>>,
}

/// The hosted programs, with a lab of their own.
pub struct Hosted {
    pub(crate) scenario: Scenario,
    pub(crate) rules: Rules,
    share: bool,
    pub(crate) roster: Roster,
    pub(crate) names: Names,
    pub(crate) watched: Watched,
    pub(crate) judge: Judge,
    pub(crate) opening: EventKind,
    pub(crate) servers: Servers,
    /// Where the servers stand.
    here: Trail,
    root: Option<Place>,
}

impl Hosted {
    /// Starts a lab for a scenario.
    ///
    /// # Errors
    /// A server failed, or the lesson's `setup` cannot be carried out.
    pub async fn open(
        scenario: &Scenario,
        options: &LabOptions,
        rules: &Rules,
        means: Means,
    ) -> Result<Self, EngineError> {
        let names = Names::of(scenario);
        let watched = Watched::new(scenario, &names);
        let looks = means.share || means.prune || watched.wants_keys();
        let servers = Servers::start(scenario, options, (means.share, looks)).await?;
        let opening = EventKind::LabReady {
            lesson: scenario.loaded.lesson.id.clone(),
            variant: scenario.variant.clone(),
            clock: servers.clock().kind(),
            actors: scenario.actors.iter().map(|plan| plan.actor.clone()).collect(),
            servers: servers.infos(),
        };
        Ok(Self {
            roster: Roster::of(scenario),
            judge: Judge::new(scenario),
            names,
            watched,
            scenario: scenario.clone(),
            rules: rules.clone(),
            share: means.share,
            opening,
            servers,
            here: Trail::default(),
            root: None,
        })
    }

    /// Ends the servers and waits until they are gone.
    pub async fn close(self) {
        self.servers.end().await;
    }

    /// How the servers are.
    pub fn vitals(&self) -> Vitals {
        self.servers.vitals()
    }

    /// Why a server that no longer answers does not: it may have died.
    pub async fn explain(&self, error: EngineError) -> EngineError {
        self.servers.explain(error).await
    }

    fn fail(&self, operation: Option<&PlannedOperation>, why: String) -> GroundError {
        let place = operation.and_then(|operation| operation.path.clone());
        let path = place.unwrap_or_else(|| Path::root().key("programs"));
        let mistake = Mistake::new(&path, why);
        GroundError::Engine(self.scenario.loaded.source.place(&mistake).into())
    }

    /// What is queued on an actor's connection after a command.
    fn queue(
        &mut self,
        next: &mut Place,
        (server, actor): (usize, ActorId),
        wire: &Wire,
        footprint: &Footprint,
    ) {
        let queued = &mut next.queued[actor.0 as usize];
        match footprint.transaction {
            Transaction::Begins if queued.is_none() => *queued = Some(Arc::default()),
            Transaction::Ends => *queued = None,
            _ => {
                if let Some(queued) = queued {
                    Arc::make_mut(queued).push(servers::words(wire));
                }
            }
        }
        self.servers.is_queued(actor, server, queued);
    }

    fn make_move(
        &mut self,
        from: &Place,
        next: &mut Place,
        actor: ActorId,
        output: &mut Output,
    ) -> Result<Moved, GroundError> {
        let Some(operation) = from.actors[actor].next_operation() else {
            return Err(self.fail(None, "nobody can move there".to_owned()));
        };
        let name = self.roster.operation(actor, &operation.label);
        let server = operation.on.as_deref().unwrap_or(self.servers.name(0));
        let wire = next.actors[actor].send(server, output);
        let wire = wire.map_err(|failure| self.fail(Some(operation), failure.why))?;
        let server = wire.as_ref().and_then(|wire| self.servers.find(wire.server()));
        let (Some(wire), Some(server)) = (wire, server) else {
            let why = format!("`{name}` cannot be hosted");
            return Err(self.fail(Some(operation), why));
        };
        let footprint = self.footprint(server, &wire, &name)?;
        let was_queued = &from.queued[actor.0 as usize];
        let sender = servers::From {
            server,
            actor,
            operation: &name,
            keyspaces: &from.keyspaces,
            at: from.now,
            queued: was_queued,
        };
        let sent = self.servers.send(&sender, &wire, &footprint);
        let (reply, holds) = sent.map_err(|error| match error {
            // The server lives, or whoever attends to it would say so: it is the command that does not end.
            GroundError::Engine(EngineError::ServerLost { why, .. }) if client::is_silence(&why) => {
                self.fail(Some(operation), format!("`{name}` (`{wire}`): {why}; it keeps its server busy"))
            }
            error => error,
        })?;
        let mut touch = Touch { actor: Some(actor), ..Touch::default() };
        let runs = match (was_queued, footprint.transaction) {
            (Some(queued), Transaction::Ends) => {
                self.of_queued(server, queued, &mut touch)?;
                true
            }
            (Some(_), _) | (None, Transaction::Begins) => false,
            (None, _) => {
                match &footprint.keys {
                    Some(keys) => touch.reads.extend(keys.iter().cloned()),
                    None => touch.all = true,
                }
                true
            }
        };
        if was_queued.is_some() || footprint.transaction != Transaction::None {
            self.queue(next, (server, actor), &wire, &footprint);
        }
        if let Some(holds) = holds.filter(|_| runs) {
            let keys = from.keyspaces[server].differences(&holds, from.now);
            let written = keys.iter().map(|key| cell(self.servers.name(server), key));
            touch.writes.extend(written);
            if !keys.is_empty() {
                next.keyspaces[server] = holds;
            }
        }
        if self.watched.wants_log() {
            let (op, label) = (OpId(0), operation.label.clone());
            output.events.push(program::sent(op, actor, operation, &wire));
            output.events.push(EventKind::Replied { op, actor, label, reply: reply.clone() });
        }
        next.tracked.releases(&self.names, actor, &operation.releases, &mut touch);
        // Of a script's 0 nobody knows what it means.
        let zero = matches!(wire, Wire::Redis { .. });
        let refused = matches!(&reply, Reply::Value(value) if value.is_null() || zero && *value == 0);
        let handles = runs && !footprint.reads_only && !(refused && touch.writes.is_empty());
        let handled = if handles { touch.reads.clone() } else { Vec::new() };
        match next.actors[actor].reply(&reply, output) {
            Ok(()) => {}
            Err(Failure { cause: Cause::Reply, why, .. }) => next.actors[actor].give_up(&why, output),
            Err(Failure { why, .. }) => return Err(self.fail(Some(operation), format!("{name}: {why}"))),
        }
        Ok(Moved { touch, reply: (name, reply), handled })
    }

    /// What the commands of a transaction touch, when it is carried out.
    fn of_queued(
        &mut self,
        server: usize,
        queued: &[Vec<String>],
        touch: &mut Touch,
    ) -> Result<(), GroundError> {
        for words in queued {
            let wire = Wire::Redis { server: self.servers.name(server).to_owned(), words: words.clone() };
            match self.footprint(server, &wire, "EXEC")?.keys {
                Some(keys) => touch.reads.extend(keys.iter().cloned()),
                None => touch.all = true,
            }
        }
        Ok(())
    }

    fn footprint(&mut self, server: usize, wire: &Wire, operation: &str) -> Result<Footprint, GroundError> {
        self.servers.footprint(server, wire).map_err(|refusal| match refusal {
            Refusal::Lost(why) => EngineError::ServerLost { server: wire.server().to_owned(), why }.into(),
            Refusal::NotReplayable(why) => {
                GroundError::NotReplayable { operation: operation.to_owned(), command: wire.to_string(), why }
            }
        })
    }

    fn step(&mut self, from: &Place, pick: Pick) -> Result<(Place, Touch), GroundError> {
        let mut next = from.clone();
        next.steps += 1;
        next.tally.add(pick);
        let (mut touch, mut replies, mut handled) = (Touch::everything(), Vec::new(), Vec::new());
        let mut output = Output::at(from.now);
        let passed = match pick {
            Pick::Move(actor) => {
                let moved = self.make_move(from, &mut next, actor, &mut output)?;
                (touch, handled) = (moved.touch, moved.handled);
                replies.push(moved.reply);
                Ok(())
            }
            Pick::Timer => self.pass(&mut next, &mut output),
            Pick::Thaw(_) => {
                next.actors.wake_until(from.now, |actor| self.roster.runs(actor, None), &mut output)
            }
            Pick::Freeze(_) => Ok(()),
            Pick::Crash(client) => {
                for actor in next.actors.ids().filter(|actor| self.roster.home(*actor) == client) {
                    next.actors[actor].kill();
                    next.queued[actor.0 as usize] = None;
                    next.tracked.dies(actor, &mut touch);
                }
                Ok(())
            }
        };
        passed.map_err(|failure| self.fail(None, failure.why))?;
        let Output { now, events } = output;
        next.now = now;
        let counted: Vec<usize> = events
            .iter()
            .filter_map(|event| next.tracked.take(&self.names, Some(from.steps), event, &mut touch))
            .collect();
        let ends = |event: &EventKind| matches!(event, EventKind::Finished { .. } | EventKind::GaveUp { .. });
        let ended = events.iter().any(ends);
        if self.watched.wants_log() {
            self.write_down(from, &mut next, pick, events)?;
        }
        self.watch(&mut next, &mut touch, (&counted, &handled, ended))?;
        next.trail = from.trail.then(pick, replies);
        self.here = next.trail.clone();
        Ok((next, touch))
    }

    /// Time passes to the next timer, and a little more; the others are put off by as much.
    fn pass(&self, next: &mut Place, output: &mut Output) -> Result<(), Failure> {
        let runs = |actor| self.roster.runs(actor, next.tally.frozen);
        let Some((_, due)) = next.actors.next_timer(runs) else {
            return Ok(());
        };
        let end = next_milli(due);
        next.actors.put_off(due, end.since(due));
        output.now = output.now.max(end);
        next.actors.wake_until(due, runs, output)
    }

    /// Goes to a place step by step, from the beginning.
    fn go_again(&mut self, to: &Place) -> Result<Place, GroundError> {
        self.servers.reset()?;
        let Some(mut place) = self.root.clone() else {
            return self.begin();
        };
        for step in to.trail.steps() {
            place = self.step(&place, step.pick)?.0;
            if let Some(again) = place.trail.last() {
                step.must_match(again)?;
            }
        }
        Ok(place)
    }

    fn is_here(&self, place: &Place) -> bool {
        self.root.is_some() && self.here.is(&place.trail)
    }

    pub(crate) fn situation(&self, place: &Place) -> Situation {
        Situation::new(&place.actors, &self.roster, place.tally)
    }
}

impl Ground for Hosted {
    type Place = Place;
    type Error = GroundError;

    fn begin(&mut self) -> Result<Place, GroundError> {
        self.servers.reset()?;
        self.here = Trail::default();
        let mut actors = Actors::new(&self.scenario, 0);
        let mut output = Output::at(LessonTime::ZERO);
        actors.start(&mut output).map_err(|failure| self.fail(None, failure.why))?;
        let mut tracked = Tracked::new(&self.names);
        for event in &output.events {
            tracked.take(&self.names, None, event, &mut Touch::default());
        }
        let mut keyspaces = Vec::new();
        for server in 0..self.servers.count() {
            keyspaces.push(self.servers.look(server)?);
        }
        let mut place = Place {
            queued: vec![None; actors.len()],
            actors,
            now: output.now,
            tally: Tally::default(),
            steps: 0,
            keyspaces,
            tracked,
            broken: Vec::new(),
            trail: Trail::default(),
            page: None,
        };
        if self.watched.wants_log() {
            let states = self.servers.states(&place.keyspaces, place.now)?;
            let kinds = std::iter::once(self.opening.clone())
                .chain(output.events)
                .chain(states.into_iter().map(EventKind::State));
            let events = kinds.map(|kind| Event { at: place.now, kind }).collect();
            place.page = Some(Arc::new(Page { before: None, events }));
        }
        self.watch_from(&mut place)?;
        self.root = Some(place.clone());
        Ok(place)
    }

    fn picks(&self, place: &Place) -> Vec<Pick> {
        self.situation(place).picks(&self.rules)
    }

    fn take(&mut self, place: &Place, pick: Pick) -> Result<(Place, Touch), GroundError> {
        if self.share || self.is_here(place) {
            return self.step(place, pick);
        }
        let place = self.go_again(place)?;
        self.step(&place, pick)
    }

    fn fate(&mut self, place: &Place) -> Result<Fate, GroundError> {
        self.came_to(place)
    }
}
