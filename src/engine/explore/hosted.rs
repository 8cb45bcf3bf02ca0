//! Orders explored with programs that Lockstep hosts itself, on real servers: one command, one answer, and going back
//! is putting back what the server held. It must not know which orders there are.
//!
//! Exploring needs no processes to be killed or stopped: whoever is dead sends nothing any more, and whoever is
//! stopped sends nothing until it runs again. What is found is confirmed with processes afterwards (see
//! [`super::walk`]).

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::runtime::Handle;

use super::{
    super::{EngineError, setup},
    GroundError, Means,
    commands::{Commands, Footprint, Refusal, Transaction, cell},
    keyspace::{self, Entry, Keyspace, Known},
    rules::Rules,
    seats::{Cast, Seats, Told},
    tracked::{Names, Tracked},
    watched::{Answers, Changed, Page, Question, Watched},
};
use crate::{
    client::{Direct, protocol::Wire},
    clock::{LessonClock, LessonTime, Rate},
    explore::{Broken, Fate, Ground, Pick, Touch},
    lab::{Lab, LabOptions},
    lesson::{Mistake, Path, Scenario, plan::PlannedOperation},
    log::{ActorId, Choice, Event, EventKind, Fault, Log, Observed, OpId, Reply, ServerState, Stop},
    race::{Asked, LockFate, Outcome},
    world::World,
};

/// A place in the tree of orders.
#[derive(Debug, Clone)]
pub struct Place {
    seats: Seats,
    steps: usize,
    /// What each server holds.
    servers: Vec<Arc<Keyspace>>,
    tracked: Tracked,
    broken: Vec<Broken>,
    /// How one comes here.
    way: Option<Arc<Way>>,
    /// The log, where one is wanted.
    page: Option<Arc<Page>>,
}

#[derive(Debug)]
struct Way {
    before: Option<Arc<Way>>,
    pick: Pick,
    /// Whose operation and what came back.
    said: Option<(String, Reply)>,
}

/// A server, and what it is known to hold.
struct Line {
    name: String,
    direct: Direct,
    /// The script that reads everything.
    look: String,
    /// With the number of times that the order's time had gone back by then.
    holds: Option<(Arc<Keyspace>, u64)>,
}

/// A connection of an actor's own, for a transaction, and what is queued on it.
struct Own {
    direct: Direct,
    queued: Option<Arc<Vec<Vec<String>>>>,
}

/// What an outcome depends on.
type Came = (Vec<LockFate>, Vec<i64>, usize, Vec<Option<Entry>>);

/// The hosted programs, with a lab of their own.
pub struct Hosted {
    scenario: Scenario,
    rules: Rules,
    means: Means,
    cast: Cast,
    names: Names,
    watched: Watched,
    asked: Asked,
    opening: EventKind,
    setup: Vec<Wire>,
    lab: Lab,
    clock: LessonClock,
    runtime: Handle,
    lines: Vec<Line>,
    own: HashMap<(ActorId, usize), Own>,
    commands: Commands,
    known: Known,
    /// The order's time. The clock's is as far or further: it never goes back.
    now: LessonTime,
    /// How often it has gone back.
    backs: u64,
    here: Option<Arc<Way>>,
    root: Option<Place>,
    outcomes: HashMap<Came, Arc<Outcome>>,
    states: HashMap<Arc<Keyspace>, HashMap<usize, ServerState>>,
    answers: Answers,
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
        let lab = Lab::start(scenario.lab(), options).await?;
        let clock = lab.clock().clone();
        let servers = lab.servers();
        let first = servers.first().map(|info| info.name.clone()).unwrap_or_default();
        setup::carry_out_on(scenario, &lab, &first).await?;
        clock.set_rate(Rate::PAUSED)?;
        let names = Names::of(scenario);
        let opening = EventKind::LabReady {
            lesson: scenario.loaded.lesson.id.clone(),
            variant: scenario.variant.clone(),
            clock: clock.kind(),
            actors: scenario.actors.iter().map(|plan| plan.actor.clone()).collect(),
            servers,
        };
        let mut hosted = Self {
            cast: Cast::of(scenario),
            watched: Watched::new(scenario, &names),
            asked: Asked::of(scenario),
            names,
            setup: setup::wires(scenario, &first),
            scenario: scenario.clone(),
            rules: rules.clone(),
            means,
            opening,
            clock,
            runtime: Handle::current(),
            lines: Vec::new(),
            own: HashMap::new(),
            commands: Commands::default(),
            known: Known::default(),
            now: LessonTime::ZERO,
            backs: 0,
            here: None,
            root: None,
            outcomes: HashMap::new(),
            states: HashMap::new(),
            answers: HashMap::new(),
            lab,
        };
        for info in hosted.lab.servers() {
            let address = setup::address_in(&hosted.lab, &info.name);
            let lost = |why| lost(&info.name, why);
            let mut direct = Direct::open(&address).map_err(lost)?;
            let answer = direct.ask_one(["SCRIPT", "LOAD", keyspace::LOOK]).map_err(lost)?;
            let look = match answer.into_reply() {
                Reply::Value(sha) => sha.as_str().unwrap_or_default().to_owned(),
                bad => return Err(lost(bad.to_string())),
            };
            let (name, holds) = (info.name, None);
            hosted.lines.push(Line {
                name,
                direct,
                look,
                holds,
            });
        }
        Ok(hosted)
    }

    /// Ends the servers and waits until they are gone.
    pub async fn close(self) {
        self.lab.shutdown().await;
    }

    /// Why a server that no longer answers does not: it may have died.
    pub async fn explain(&self, error: EngineError) -> EngineError {
        match tokio::time::timeout(Duration::from_millis(500), self.lab.died()).await {
            Ok(death) => EngineError::ServerDied {
                server: death.server,
                why: death.how,
                log: death.log,
            },
            Err(_) => error,
        }
    }

    fn looks(&self) -> bool {
        self.means.share || self.means.prune || self.watched.wants_keys()
    }

    fn fail(&self, operation: Option<&PlannedOperation>, why: String) -> GroundError {
        let place = operation.and_then(|operation| operation.path.clone());
        let path = place.unwrap_or_else(|| Path::root().key("programs"));
        let mistake = Mistake::new(&path, why);
        GroundError::Engine(self.scenario.loaded.source.place(&mistake).into())
    }

    fn lost(&self, server: usize, why: String) -> GroundError {
        GroundError::Engine(lost(&self.lines[server].name, why))
    }

    /// Moves the order's time. The clock follows forward; that it went back is only remembered.
    fn be_at(&mut self, at: LessonTime) -> Result<(), GroundError> {
        if at > self.now {
            self.clock.jump(at.since(self.now)).map_err(EngineError::from)?;
        }
        if at < self.now {
            self.backs += 1;
        }
        self.now = at;
        Ok(())
    }

    /// Adds what is needed to make a server hold what it did at a place. Gives how many answers come before others.
    fn turn(&mut self, place: &Place, server: usize) -> Result<usize, GroundError> {
        let (wanted, at) = (&place.servers[server], place.seats.now);
        if !self.means.share {
            return Ok(0);
        }
        let there = self.lines[server].holds.clone();
        if let Some((holds, backs)) = &there
            && holds == wanted
            && (*backs == self.backs || !wanted.has_ends())
        {
            self.lines[server].holds = Some((Arc::clone(wanted), self.backs));
            return Ok(0);
        }
        let mut before = at;
        if wanted.ends_now(at) {
            // It can only be made while it has time left.
            before = LessonTime::from_millis(at.as_millis() - 1);
            self.be_at(before)?;
        }
        let shifted = there.as_ref().is_none_or(|(_, backs)| *backs != self.backs);
        let line = &mut self.lines[server];
        let now = there.as_ref().map(|(holds, _)| holds.as_ref());
        let commands = wanted.put_back(&mut line.direct, now, shifted, before);
        line.holds = Some((Arc::clone(wanted), self.backs));
        if before == at {
            return Ok(commands);
        }
        let answers = line.direct.ask();
        let done = answers.and_then(|answers| answers.into_iter().try_for_each(crate::client::Answer::done));
        done.map_err(|why| self.lost(server, why))?;
        self.be_at(at)?;
        Ok(0)
    }

    /// Sends a command at a place. Gives the reply, and what the server holds then, where that may have changed.
    fn send(
        &mut self,
        place: &Place,
        (server, actor): (usize, ActorId),
        wire: &Wire,
        footprint: &Footprint,
    ) -> Result<(Reply, Option<Arc<Keyspace>>), GroundError> {
        let queued = place.seats.seat(actor).queued.is_some();
        if queued || footprint.transaction != Transaction::None {
            return self.send_in_transaction(place, (server, actor), wire, footprint);
        }
        let looks = self.looks() && !footprint.reads_only;
        let before = self.turn(place, server)?;
        let line = &mut self.lines[server];
        push(&mut line.direct, wire);
        if looks {
            line.direct.push(["EVALSHA", &line.look, "0"]);
        }
        let answers = line.direct.ask().map_err(|why| self.lost(server, why))?;
        let mut answers = answers.into_iter();
        for answer in answers.by_ref().take(before) {
            answer.done().map_err(|why| self.lost(server, why))?;
        }
        let reply = answers.next().map_or_else(none, crate::client::Answer::into_reply);
        let holds = match answers.next() {
            Some(answer) => Some(self.read(server, answer)?),
            None => None,
        };
        Ok((reply, holds))
    }

    fn read(
        &mut self,
        server: usize,
        answer: crate::client::Answer,
    ) -> Result<Arc<Keyspace>, GroundError> {
        let keyspace = Keyspace::read(answer, self.now).map_err(|why| self.lost(server, why))?;
        let holds = self.known.intern(keyspace);
        self.lines[server].holds = Some((Arc::clone(&holds), self.backs));
        Ok(holds)
    }

    fn look(&mut self, server: usize) -> Result<Arc<Keyspace>, GroundError> {
        let line = &mut self.lines[server];
        let answer = line.direct.ask_one(["EVALSHA", &line.look, "0"]);
        let answer = answer.map_err(|why| self.lost(server, why))?;
        self.read(server, answer)
    }

    /// A transaction belongs to a connection, so whoever has one gets a connection of its own; and coming back to a
    /// place in the middle of one queues again what was queued.
    fn send_in_transaction(
        &mut self,
        place: &Place,
        (server, actor): (usize, ActorId),
        wire: &Wire,
        footprint: &Footprint,
    ) -> Result<(Reply, Option<Arc<Keyspace>>), GroundError> {
        let ends = footprint.transaction == Transaction::Ends;
        if ends && self.turn(place, server)? > 0 {
            let answers = self.lines[server].direct.ask();
            let done = answers.and_then(|answers| answers.into_iter().try_for_each(crate::client::Answer::done));
            done.map_err(|why| self.lost(server, why))?;
        }
        if !self.own.contains_key(&(actor, server)) {
            let address = setup::address_in(&self.lab, &self.lines[server].name);
            let direct = Direct::open(&address).map_err(|why| self.lost(server, why))?;
            self.own.insert((actor, server), Own { direct, queued: None });
        }
        let Some(own) = self.own.get_mut(&(actor, server)) else {
            return Ok((none(), None));
        };
        let wanted = &place.seats.seat(actor).queued;
        let mut before = 0;
        if own.queued != *wanted {
            if own.queued.is_some() {
                own.direct.push(["DISCARD"]);
                before += 1;
            }
            if let Some(queued) = wanted {
                own.direct.push(["MULTI"]);
                for words in queued.iter() {
                    own.direct.push(words);
                }
                before += 1 + queued.len();
            }
        }
        push(&mut own.direct, wire);
        let answers = own.direct.ask();
        own.queued = None;
        let answers = answers.map_err(|why| self.lost(server, why))?;
        let reply = answers.into_iter().nth(before);
        let reply = reply.map_or_else(none, crate::client::Answer::into_reply);
        let holds = match ends && self.looks() {
            true => Some(self.look(server)?),
            false => None,
        };
        Ok((reply, holds))
    }

    /// What is queued on an actor's connection after a command.
    fn queue(&mut self, next: &mut Place, (server, actor): (usize, ActorId), wire: &Wire, footprint: &Footprint) {
        let seat = next.seats.seat_mut(actor);
        match footprint.transaction {
            Transaction::Begins if seat.queued.is_none() => seat.queued = Some(Arc::default()),
            Transaction::Ends => seat.queued = None,
            _ => {
                if let Some(queued) = &mut seat.queued {
                    Arc::make_mut(queued).push(words(wire));
                }
            }
        }
        let queued = seat.queued.clone();
        if let Some(own) = self.own.get_mut(&(actor, server)) {
            own.queued = queued;
        }
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
        let first = self.lines[0].name.clone();
        let wire = next.seats.wire(actor, &operation, &first);
        let wire = wire.map_err(|why| self.fail(Some(&operation), why))?;
        let place = wire.as_ref().map(Wire::server);
        let server = self.lines.iter().position(|line| Some(line.name.as_str()) == place);
        let (Some(wire), Some(server)) = (wire, server) else {
            let why = format!("`{name}` cannot be hosted");
            return Err(self.fail(Some(&operation), why));
        };
        let footprint = self.commands.look_up(&mut self.lines[server].direct, &wire);
        let footprint = footprint.map_err(|refusal| match refusal {
            Refusal::Lost(why) => self.lost(server, why),
            Refusal::NotReplayable(why) => GroundError::NotReplayable {
                operation: name.clone(),
                command: wire.to_string(),
                why,
            },
        })?;
        self.be_at(from.seats.now)?;
        let (reply, holds) = self.send(from, (server, actor), &wire, &footprint)?;
        let mut touch = Touch {
            actor: Some(actor),
            ..Touch::default()
        };
        let was_queued = from.seats.seat(actor).queued.clone();
        let runs = match (&was_queued, footprint.transaction) {
            (Some(queued), Transaction::Ends) => {
                self.of_queued((server, actor), queued, &mut touch)?;
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
            let keys = from.servers[server].differences(&holds, self.now);
            touch.writes.extend(keys.iter().map(|key| cell(&self.lines[server].name, key)));
            if !keys.is_empty() {
                next.servers[server] = holds;
            }
        }
        if self.watched.wants_log() {
            self.tell_move(actor, &operation, &wire, &reply, told);
        }
        next.tracked.leaves(&self.names, actor, &operation.label, &mut touch);
        let refused = matches!(&reply, Reply::Value(value) if value.is_null() || *value == 0);
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
        (server, _): (usize, ActorId),
        queued: &[Vec<String>],
        touch: &mut Touch,
    ) -> Result<(), GroundError> {
        for words in queued {
            let wire = Wire::Redis {
                server: self.lines[server].name.clone(),
                words: words.clone(),
            };
            let found = self.commands.look_up(&mut self.lines[server].direct, &wire);
            match found {
                Ok(Footprint { keys: Some(keys), .. }) => touch.reads.extend(keys.iter().cloned()),
                Ok(_) | Err(Refusal::NotReplayable(_)) => touch.all = true,
                Err(Refusal::Lost(why)) => return Err(self.lost(server, why)),
            }
        }
        Ok(())
    }

    fn tell_move(
        &self,
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
        });
        told.events.push(EventKind::Replied {
            op,
            actor,
            label: operation.label.clone(),
            reply: reply.clone(),
        });
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
            Pick::Timer => next
                .seats
                .pass(&self.cast, &mut told)
                .map_err(|why| self.fail(None, why))?,
            Pick::Thaw(_) => next
                .seats
                .thaw(&self.cast, &mut told)
                .map_err(|why| self.fail(None, why))?,
            Pick::Freeze(client) => next.seats.freeze(client),
            Pick::Crash(client) => {
                for actor in next.seats.crash(&self.cast, client) {
                    next.tracked.dies(actor, &mut touch);
                }
            }
        }
        let mut counted = Vec::new();
        for (actor, effects) in &told.effects {
            counted.extend(next.tracked.take(&self.names, *actor, from.steps, effects, &mut touch));
        }
        if let Some(actor) = told.gave_up {
            next.tracked.dies(actor, &mut touch);
        }
        let (handled, ended) = (std::mem::take(&mut told.handled), told.has_ended());
        if self.watched.wants_log() {
            self.write_down(from, &mut next, pick, told)?;
        }
        self.watch(&mut next, &mut touch, (&counted, &handled, ended))?;
        next.way = Some(Arc::new(Way {
            before: from.way.clone(),
            pick,
            said,
        }));
        self.here = next.way.clone();
        Ok((next, touch))
    }

    /// Asks what must never be so after a step.
    fn watch(
        &mut self,
        next: &mut Place,
        touch: &mut Touch,
        (counted, handled, ended): (&[usize], &[Arc<str>], bool),
    ) -> Result<(), GroundError> {
        let watched = std::mem::take(&mut self.watched.expressions);
        let mut result = Ok(());
        for (n, watch) in watched.iter().enumerate() {
            let changed = watch.reads.as_ref().is_none_or(|reads| {
                reads.changed_by(&Changed {
                    counted,
                    handled,
                    written: &touch.writes,
                    all: touch.all,
                    ended,
                })
            });
            if !changed {
                continue;
            }
            touch.shows.push(n);
            if next.broken.iter().any(|broken| broken.invariant == watch.invariant) {
                continue;
            }
            match self.is_so(n, watch, next) {
                Ok(true) => next.broken.push(Broken {
                    invariant: watch.invariant,
                    steps: vec![next.steps - 1],
                }),
                Ok(false) => {}
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.watched.expressions = watched;
        result
    }

    fn is_so(
        &mut self,
        n: usize,
        watch: &super::watched::Watch,
        place: &Place,
    ) -> Result<bool, GroundError> {
        let Some(reads) = watch.reads.as_ref().filter(|_| !watch.wants_log) else {
            let log = Page::log(place.page.as_ref());
            let holds = watch.holds_in(&self.scenario, &log);
            return holds.map_err(GroundError::Invariant);
        };
        let entries: Vec<Option<Entry>> = reads
            .keys
            .iter()
            .flat_map(|(key, server)| self.entries(place, key, server.as_deref()))
            .collect();
        let ends = entries.iter().flatten().any(|entry| entry.ends.is_some());
        let question = Question {
            watch: n,
            counts: reads.counters.iter().map(|n| place.tracked.counters[*n]).collect(),
            entries,
            at: ends.then_some(place.seats.now),
        };
        if let Some(known) = self.answers.get(&question) {
            return Ok(*known);
        }
        let states = match reads.keys.is_empty() {
            true => Vec::new(),
            false => self.states_at(place)?,
        };
        let counts: Vec<(String, i64)> = reads
            .counters
            .iter()
            .map(|n| (self.names.counters[*n].clone(), place.tracked.counters[*n]))
            .collect();
        let holds = watch.holds(&self.scenario, &self.opening, &counts, (place.seats.now, &states));
        let holds = holds.map_err(GroundError::Invariant)?;
        self.answers.insert(question, holds);
        Ok(holds)
    }

    /// A key on each server that is meant, as far as it lives.
    fn entries(&self, place: &Place, key: &str, server: Option<&str>) -> Vec<Option<Entry>> {
        let meant = |n: &usize| server.is_none_or(|name| self.lines[*n].name == name);
        let found = (0..self.lines.len()).filter(meant).map(|n| {
            let entries = place.servers[n].entries.iter();
            let mut own = entries.filter(|entry| entry.key == key.as_bytes());
            own.find(|entry| entry.ends.is_none_or(|ends| ends > place.seats.now.as_millis()))
                .cloned()
        });
        found.collect()
    }

    /// What the servers hold at a place, as an observer sees it.
    fn states_at(&mut self, place: &Place) -> Result<Vec<ServerState>, GroundError> {
        let known = |hosted: &Self, n: usize| {
            let states = hosted.states.get(&place.servers[n])?;
            states.get(&n).cloned()
        };
        let missing = (0..self.lines.len()).any(|n| known(self, n).is_none());
        if missing {
            self.be_at(place.seats.now)?;
            for server in 0..self.lines.len() {
                if self.turn(place, server)? > 0 {
                    let answers = self.lines[server].direct.ask();
                    let done =
                        answers.and_then(|answers| answers.into_iter().try_for_each(crate::client::Answer::done));
                    done.map_err(|why| self.lost(server, why))?;
                }
            }
            let observed = self.runtime.block_on(self.lab.observe()).map_err(EngineError::from)?;
            let ahead = self.clock.now().as_nanos() - self.now.as_nanos();
            for mut state in observed {
                to_order_time(&mut state, ahead);
                if let Some(n) = self.lines.iter().position(|line| line.name == state.server) {
                    let keyspace = Arc::clone(&place.servers[n]);
                    self.states.entry(keyspace).or_default().insert(n, state);
                }
            }
        }
        Ok((0..self.lines.len()).filter_map(|n| known(self, n)).collect())
    }

    fn write_down(
        &mut self,
        from: &Place,
        next: &mut Place,
        pick: Pick,
        told: Told,
    ) -> Result<(), GroundError> {
        let at = next.seats.now;
        let client = |n: usize| self.cast.clients[n].clone();
        let fault = match pick {
            Pick::Move(_) | Pick::Timer => None,
            Pick::Thaw(n) => Some(Fault::Thaw { client: client(n) }),
            Pick::Crash(n) => Some(Fault::Crash { client: client(n) }),
            Pick::Freeze(n) => Some(Fault::Freeze { client: client(n) }),
        };
        let (choice, stop) = match (pick, &fault) {
            (Pick::Move(actor), _) => (Choice::Move { actor }, Stop::Move),
            (_, Some(fault)) => (Choice::Cause(fault.clone()), Stop::Fault),
            _ => (Choice::Timer, Stop::Passed),
        };
        let mut kinds = vec![EventKind::Chose(choice)];
        kinds.extend(fault.map(EventKind::Fault));
        kinds.extend(told.events);
        for server in 0..self.lines.len() {
            if !Arc::ptr_eq(&from.servers[server], &next.servers[server]) {
                let name = self.lines[server].name.clone();
                let states = self.states_at(next)?;
                kinds.extend(
                    states
                        .into_iter()
                        .filter(|state| state.server == name)
                        .map(EventKind::State),
                );
            }
        }
        kinds.push(EventKind::Stop {
            item: from.steps,
            stop,
        });
        let events = kinds.into_iter().map(|kind| Event { at, kind }).collect();
        next.page = Some(Arc::new(Page {
            before: from.page.clone(),
            events,
        }));
        Ok(())
    }

    /// Servers as the lesson prepares them.
    fn reset(&mut self) -> Result<(), GroundError> {
        for server in 0..self.lines.len() {
            let line = &mut self.lines[server];
            line.holds = None;
            line.direct.push(["FLUSHALL"]);
            for wire in self.setup.iter().filter(|wire| wire.server() == line.name) {
                push(&mut line.direct, wire);
            }
            let answers = line.direct.ask();
            let done = answers.and_then(|answers| answers.into_iter().try_for_each(crate::client::Answer::done));
            done.map_err(|why| self.lost(server, why))?;
        }
        self.backs += 1;
        self.now = LessonTime::ZERO;
        Ok(())
    }

    /// Goes to a place step by step, from the beginning.
    fn go_again(&mut self, to: &Place) -> Result<Place, GroundError> {
        let mut ways = Vec::new();
        let mut next = to.way.as_ref();
        while let Some(way) = next {
            ways.push(Arc::clone(way));
            next = way.before.as_ref();
        }
        self.reset()?;
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
        self.reset()?;
        self.here = None;
        let mut told = Told::default();
        let seats = Seats::begin(&self.scenario, &mut told).map_err(|why| self.fail(None, why))?;
        let mut tracked = Tracked::new(&self.names);
        for (actor, effects) in &told.effects {
            tracked.take(&self.names, *actor, 0, effects, &mut Touch::default());
        }
        let mut servers = Vec::new();
        for server in 0..self.lines.len() {
            servers.push(self.look(server)?);
        }
        let mut place = Place {
            seats,
            steps: 0,
            servers,
            tracked,
            broken: Vec::new(),
            way: None,
            page: None,
        };
        if self.watched.wants_log() {
            let states = self.states_at(&place)?;
            let kinds = std::iter::once(self.opening.clone())
                .chain(told.events)
                .chain(states.into_iter().map(EventKind::State));
            let at = LessonTime::ZERO;
            let events = kinds.map(|kind| Event { at, kind }).collect();
            place.page = Some(Arc::new(Page { before: None, events }));
        }
        self.root = Some(place.clone());
        Ok(place)
    }

    fn picks(&self, place: &Place) -> Vec<Pick> {
        place.seats.situation(&self.cast).picks(&self.rules)
    }

    fn take(&mut self, place: &Place, pick: Pick) -> Result<(Place, Touch), GroundError> {
        if self.means.share || self.is_here(place) {
            return self.step(place, pick);
        }
        let place = self.go_again(place)?;
        self.step(&place, pick)
    }

    fn fate(&mut self, place: &Place) -> Result<Fate, GroundError> {
        let mut place = place.clone();
        if !self.looks() && !self.asked.values.is_empty() {
            for server in 0..self.lines.len() {
                place.servers[server] = self.look(server)?;
            }
        }
        let asked = self.asked.values.clone();
        let entries = asked
            .iter()
            .flat_map(|(key, server)| self.entries(&place, key, server.as_deref()));
        let came = (
            place.tracked.fates.clone(),
            place.tracked.counters.clone(),
            place.seats.unfinished(),
            entries.collect(),
        );
        let outcome = match self.outcomes.get(&came) {
            Some(known) => Arc::clone(known),
            None => {
                let outcome = Arc::new(self.outcome(&place)?);
                self.outcomes.insert(came, Arc::clone(&outcome));
                outcome
            }
        };
        let mut broken: Vec<Broken> = place.tracked.broken(&self.names).collect();
        broken.extend(place.broken.iter().cloned());
        Ok(Fate {
            outcome,
            cut: place.seats.situation(&self.cast).is_cut(&self.rules),
            broken,
        })
    }
}

impl Hosted {
    fn outcome(&mut self, place: &Place) -> Result<Outcome, GroundError> {
        let mut log = Log::new();
        let mut append = |kind| {
            log.append(Event {
                at: place.seats.now,
                kind,
            });
        };
        append(self.opening.clone());
        if !self.asked.values.is_empty() {
            for state in self.states_at(place)? {
                append(EventKind::State(state));
            }
        }
        let world = World::fold(&log, log.len());
        let find = |names: &[String], name: &str| names.iter().position(|known| known == name);
        let fate = |lock: &str| {
            let n = find(&self.names.locks, lock);
            n.map_or(LockFate::NeverHeld, |n| place.tracked.fates[n])
        };
        let count = |counter: &str| {
            let n = find(&self.names.counters, counter);
            n.map_or(0, |n| place.tracked.counters[n])
        };
        Ok(self
            .asked
            .outcome(fate, count, place.seats.unfinished(), &world))
    }
}

/// An order's time is not the clock's, which never goes back.
fn to_order_time(state: &mut ServerState, ahead: i64) {
    if let Observed::Redis(keyspace) = &mut state.observed {
        for key in keyspace.keys.values_mut() {
            if let Some(ends) = &mut key.expires_at {
                *ends = LessonTime::from_nanos(ends.as_nanos() - ahead);
            }
        }
    }
}

fn words(wire: &Wire) -> Vec<String> {
    match wire {
        Wire::Redis { words, .. } => words.clone(),
        Wire::Script {
            source, keys, args, ..
        } => {
            let mut words = vec!["EVAL".to_owned(), source.clone(), keys.len().to_string()];
            words.extend(keys.iter().chain(args).cloned());
            words
        }
        Wire::Zookeeper { .. } | Wire::Local { .. } => Vec::new(),
    }
}

fn push(direct: &mut Direct, wire: &Wire) {
    match wire {
        Wire::Redis { words, .. } => direct.push(words),
        other => direct.push(words(other)),
    }
}

fn none() -> Reply {
    Reply::Lost("no answer".to_owned())
}

fn lost(server: &str, why: String) -> EngineError {
    EngineError::ServerLost {
        server: server.to_owned(),
        why,
    }
}
