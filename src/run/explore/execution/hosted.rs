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
    rules::Rules,
    seats::{Cast, Seats, Told},
    servers::{self, Servers},
    tracked::{Names, Tracked},
    watched::Watched,
    written::{self, Page},
};
use crate::run::session::EngineError;
use crate::{
    client::{self, protocol::Wire},
    clock::LessonTime,
    lab::{LabOptions, Vitals},
    lesson::{Mistake, Path, Scenario, plan::PlannedOperation},
    log::{ActorId, Event, EventKind, Reply},
    run::explore::{Broken, Fate, Ground, Pick, Touch},
};

/// A place in the tree of orders.
#[derive(Debug, Clone)]
pub struct Place {
    pub(crate) seats: Seats,
    pub(crate) steps: usize,
    /// What each server holds.
    pub(crate) keyspaces: Vec<Arc<Keyspace>>,
    pub(crate) tracked: Tracked,
    pub(crate) broken: Vec<Broken>,
    /// How one comes here.
    way: Option<Arc<Way>>,
    /// The log, where one is wanted.
    pub(crate) page: Option<Arc<Page>>,
}

#[derive(Debug)]
struct Way {
    before: Option<Arc<Way>>,
    pick: Pick,
    /// Whose operation and what came back.
    said: Option<(String, Reply)>,
}

/// The hosted programs, with a lab of their own.
pub struct Hosted {
    pub(crate) scenario: Scenario,
    pub(crate) rules: Rules,
    share: bool,
    pub(crate) cast: Cast,
    pub(crate) names: Names,
    pub(crate) watched: Watched,
    pub(crate) judge: Judge,
    pub(crate) opening: EventKind,
    pub(crate) servers: Servers,
    here: Option<Arc<Way>>,
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
            cast: Cast::of(scenario),
            judge: Judge::new(scenario),
            names,
            watched,
            scenario: scenario.clone(),
            rules: rules.clone(),
            share: means.share,
            opening,
            servers,
            here: None,
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
        let seat = next.seats.seat_mut(actor);
        match footprint.transaction {
            Transaction::Begins if seat.queued.is_none() => seat.queued = Some(Arc::default()),
            Transaction::Ends => seat.queued = None,
            _ => {
                if let Some(queued) = &mut seat.queued {
                    Arc::make_mut(queued).push(servers::words(wire));
                }
            }
        }
        self.servers.is_queued(actor, server, &seat.queued);
    }

    fn make_move(
        &mut self,
        from: &Place,
        next: &mut Place,
        actor: ActorId,
        told: &mut Told,
    ) -> Result<(Touch, (String, Reply)), GroundError> {
        let Some(operation) = next.seats.operation(actor) else {
            return Err(self.fail(None, "nobody can move there".to_owned()));
        };
        let name = self.cast.name(actor, &operation.label);
        let first = self.servers.name(0).to_owned();
        let wire = next.seats.wire(actor, &operation, &first);
        let wire = wire.map_err(|why| self.fail(Some(&operation), why))?;
        let server = wire.as_ref().and_then(|wire| self.servers.find(wire.server()));
        let (Some(wire), Some(server)) = (wire, server) else {
            let why = format!("`{name}` cannot be hosted");
            return Err(self.fail(Some(&operation), why));
        };
        let footprint = self.footprint(server, &wire, &name)?;
        let sender = servers::From {
            server,
            actor,
            operation: &name,
            keyspaces: &from.keyspaces,
            at: from.seats.now,
            queued: &from.seats.seat(actor).queued,
        };
        let sent = self.servers.send(&sender, &wire, &footprint);
        let (reply, holds) = sent.map_err(|error| match error {
            // The server lives, or whoever attends to it would say so: it is the command that does not end.
            GroundError::Engine(EngineError::ServerLost { why, .. }) if client::is_silence(&why) => {
                self.fail(Some(&operation), format!("`{name}` (`{wire}`): {why}; it keeps its server busy"))
            }
            error => error,
        })?;
        let mut touch = Touch { actor: Some(actor), ..Touch::default() };
        let was_queued = from.seats.seat(actor).queued.clone();
        let runs = match (&was_queued, footprint.transaction) {
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
            let keys = from.keyspaces[server].differences(&holds, from.seats.now);
            let written = keys.iter().map(|key| cell(self.servers.name(server), key));
            touch.writes.extend(written);
            if !keys.is_empty() {
                next.keyspaces[server] = holds;
            }
        }
        if self.watched.wants_log() {
            written::tell_move(actor, &operation, &wire, &reply, told);
        }
        next.tracked.releases(&self.names, actor, &operation.releases, &mut touch);
        // Of a script's 0 nobody knows what it means.
        let zero = matches!(wire, Wire::Redis { .. });
        let refused = matches!(&reply, Reply::Value(value) if value.is_null() || zero && *value == 0);
        if runs && !footprint.reads_only && !(refused && touch.writes.is_empty()) {
            told.handled.clone_from(&touch.reads);
        }
        let after = next.seats.replied(actor, &operation, &reply, told);
        after.map_err(|why| self.fail(Some(&operation), format!("{name}: {why}")))?;
        Ok((touch, (name, reply)))
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
        let mut told = Told::default();
        let (mut touch, mut said) = (Touch::everything(), None);
        match pick {
            Pick::Move(actor) => {
                let (moved, reply) = self.make_move(from, &mut next, actor, &mut told)?;
                (touch, said) = (moved, Some(reply));
            }
            Pick::Timer => next.seats.pass(&self.cast, &mut told).map_err(|why| self.fail(None, why))?,
            Pick::Thaw(_) => next.seats.thaw(&self.cast, &mut told).map_err(|why| self.fail(None, why))?,
            Pick::Freeze(client) => next.seats.freeze(client),
            Pick::Crash(client) => {
                for actor in next.seats.crash(&self.cast, client) {
                    next.tracked.dies(actor, &mut touch);
                }
            }
        }
        let mut counted = Vec::new();
        for (actor, effects) in &told.effects {
            counted.extend(next.tracked.take(&self.names, *actor, Some(from.steps), effects, &mut touch));
        }
        if let Some(actor) = told.gave_up {
            next.tracked.dies(actor, &mut touch);
        }
        let (handled, ended) = (std::mem::take(&mut told.handled), told.has_ended());
        if self.watched.wants_log() {
            self.write_down(from, &mut next, pick, told)?;
        }
        self.watch(&mut next, &mut touch, (&counted, &handled, ended))?;
        next.way = Some(Arc::new(Way { before: from.way.clone(), pick, said }));
        self.here = next.way.clone();
        Ok((next, touch))
    }

    /// Goes to a place step by step, from the beginning.
    fn go_again(&mut self, to: &Place) -> Result<Place, GroundError> {
        let mut ways = Vec::new();
        let mut next = to.way.as_ref();
        while let Some(way) = next {
            ways.push(Arc::clone(way));
            next = way.before.as_ref();
        }
        self.servers.reset()?;
        let Some(mut place) = self.root.clone() else {
            return self.begin();
        };
        for way in ways.into_iter().rev() {
            place = self.step(&place, way.pick)?.0;
            let again = place.way.as_ref().and_then(|way| way.said.as_ref());
            if let (Some((operation, first)), Some((_, second))) = (&way.said, again)
                && first != second
            {
                return Err(GroundError::Strayed {
                    operation: operation.clone(),
                    first: first.to_string(),
                    second: second.to_string(),
                });
            }
        }
        Ok(place)
    }

    fn is_here(&self, place: &Place) -> bool {
        match (&self.here, &place.way) {
            (Some(here), Some(way)) => Arc::ptr_eq(here, way),
            (None, None) => self.root.is_some(),
            _ => false,
        }
    }
}

impl Ground for Hosted {
    type Place = Place;
    type Error = GroundError;

    fn begin(&mut self) -> Result<Place, GroundError> {
        self.servers.reset()?;
        self.here = None;
        let mut told = Told::default();
        let seats = Seats::begin(&self.scenario, &mut told).map_err(|why| self.fail(None, why))?;
        let mut tracked = Tracked::new(&self.names);
        for (actor, effects) in &told.effects {
            tracked.take(&self.names, *actor, None, effects, &mut Touch::default());
        }
        let mut keyspaces = Vec::new();
        for server in 0..self.servers.count() {
            keyspaces.push(self.servers.look(server)?);
        }
        let mut place =
            Place { seats, steps: 0, keyspaces, tracked, broken: Vec::new(), way: None, page: None };
        if self.watched.wants_log() {
            let states = self.servers.states(&place.keyspaces, place.seats.now)?;
            let kinds = std::iter::once(self.opening.clone())
                .chain(told.events)
                .chain(states.into_iter().map(EventKind::State));
            let at = LessonTime::ZERO;
            let events = kinds.map(|kind| Event { at, kind }).collect();
            place.page = Some(Arc::new(Page { before: None, events }));
        }
        self.watch_from(&mut place)?;
        self.root = Some(place.clone());
        Ok(place)
    }

    fn picks(&self, place: &Place) -> Vec<Pick> {
        place.seats.situation(&self.cast).picks(&self.rules)
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
