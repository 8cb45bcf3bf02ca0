//! Orders explored with client processes, as in a lesson: for servers and operations whose state cannot be put back.
//! Each place is gone to from the beginning, and what was answered on the way must be answered again.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use tokio::{runtime::Handle, sync::watch};

use super::{
    GroundError,
    commands::{Commands, Refusal},
    rules::{Rules, Situation},
    seats::Cast,
    tracked::Names,
};
use crate::run::{
    race::racer::Racer,
    session::{EngineError, attended::attended, performer::State, setup},
};
use crate::{
    client::{
        Direct,
        protocol::{Wire, ZkCall},
    },
    lab::{LabOptions, Vitals},
    lesson::{
        PRIMARY, Scenario,
        plan::{InvariantPlan, NeverPlan},
    },
    log::{ActorId, EventKind, Log, Reply},
    run::{
        explore::{Broken, Fate, Ground, Pick, Touch},
        race::Outcome,
    },
    verdict,
    world::Holding,
};

/// A place in the tree of orders.
#[derive(Debug, Clone)]
pub struct Place {
    way: Option<Arc<Way>>,
    picks: Arc<[Pick]>,
    cut: bool,
}

#[derive(Debug)]
struct Way {
    before: Option<Arc<Way>>,
    pick: Pick,
    /// What was answered: operations with their replies.
    said: Vec<(String, Reply)>,
}

/// Where the clients stand.
#[derive(Debug)]
enum Here {
    Nowhere,
    /// At the beginning of an order.
    Root,
    At(Arc<Way>),
}

impl Here {
    fn of(way: Option<&Arc<Way>>) -> Self {
        way.map_or(Self::Root, |way| Self::At(Arc::clone(way)))
    }
}

/// Client processes with their lab.
pub struct Processes {
    scenario: Scenario,
    rules: Rules,
    cast: Cast,
    names: Names,
    racer: Racer,
    runtime: Handle,
    /// True calls everything off.
    off: watch::Sender<bool>,
    /// Where the clients stand; nowhere before the first order.
    here: Here,
    moves: usize,
    frozen: Option<usize>,
    spent: bool,
    commands: Commands,
    lines: HashMap<String, Direct>,
}

impl Processes {
    /// Starts a lab and the clients.
    ///
    /// # Errors
    /// A server or a client failed, or the lesson's `setup` cannot be carried out.
    pub async fn open(scenario: &Scenario, options: &LabOptions, rules: &Rules) -> Result<Self, EngineError> {
        Ok(Self {
            racer: Racer::set_up(scenario, options).await?,
            cast: Cast::of(scenario),
            names: Names::of(scenario),
            scenario: scenario.clone(),
            rules: rules.clone(),
            runtime: Handle::current(),
            off: watch::Sender::new(false),
            here: Here::Nowhere,
            moves: 0,
            frozen: None,
            spent: false,
            commands: Commands::default(),
            lines: HashMap::new(),
        })
    }

    /// Ends the clients and the servers and waits until they are gone.
    pub async fn close(self) {
        self.racer.tear_down().await;
    }

    /// Why something could not be done: a server may have died.
    pub async fn explain(&self, error: EngineError) -> EngineError {
        self.racer.director.stage.or_death(error).await
    }

    /// A way to call off whatever is waited for, from another thread.
    pub fn off(&self) -> watch::Sender<bool> {
        self.off.clone()
    }

    /// How the servers and clients are, also of the labs that come after this one.
    pub fn vitals(&self) -> Vitals {
        self.racer.director.stage.lab.vitals()
    }

    fn situation(&self) -> Situation {
        let director = &self.racer.director;
        let over = |n: usize| matches!(director.performers[n].state, State::Finished | State::Dead);
        let busy = (0..self.cast.clients.len()).filter(|client| {
            let mut own = (0..director.performers.len()).filter(|n| self.cast.homes[*n] == *client);
            own.any(|n| !over(n))
        });
        Situation {
            able: self.racer.able(),
            timer: director.next_timer().is_some(),
            moves: self.moves,
            frozen: self.frozen,
            spent: self.spent,
            busy: busy.collect(),
        }
    }

    fn place(&self, way: Option<Arc<Way>>) -> Place {
        let situation = self.situation();
        Place { way, picks: situation.picks(&self.rules).into(), cut: situation.is_cut(&self.rules) }
    }

    fn set_out(&mut self) -> Result<(), GroundError> {
        (self.moves, self.frozen, self.spent) = (0, None, false);
        if !matches!(std::mem::replace(&mut self.here, Here::Nowhere), Here::Nowhere) {
            self.wait(async |racer| racer.come_home().await)?;
        }
        if self.racer.spoilt {
            // The lab will be another one.
            self.lines.clear();
            self.wait(async |racer| racer.renew().await)?;
        }
        self.wait(async |racer| racer.set_out().await)?;
        Ok(())
    }

    /// Waits, in this thread, for something that is done with the clients; no longer than their lab is well and
    /// somebody wants it.
    fn wait<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Racer) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let vitals = self.vitals();
        let mut off = self.off.subscribe();
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                done = attended(&vitals, work(&mut self.racer)) => done,
                // Its sender is ours, so it is not dropped meanwhile.
                _ = off.wait_for(|off| *off) => Err(EngineError::CalledOff),
            }
        })
    }

    fn is_here(&self, place: &Place) -> bool {
        match (&self.here, &place.way) {
            (Here::At(here), Some(way)) => Arc::ptr_eq(here, way),
            (Here::Root, None) => true,
            _ => false,
        }
    }

    fn go_to(&mut self, place: &Place) -> Result<(), GroundError> {
        if self.is_here(place) {
            return Ok(());
        }
        let mut ways = Vec::new();
        let mut next = place.way.as_ref();
        while let Some(way) = next {
            ways.push(Arc::clone(way));
            next = way.before.as_ref();
        }
        self.set_out()?;
        for way in ways.into_iter().rev() {
            let again = self.step(way.pick)?;
            for ((operation, first), (_, second)) in way.said.iter().zip(&again) {
                if first != second {
                    return Err(GroundError::Strayed {
                        operation: operation.clone(),
                        first: first.to_string(),
                        second: second.to_string(),
                    });
                }
            }
        }
        self.here = Here::of(place.way.as_ref());
        Ok(())
    }

    /// Takes a step from where one stands. Gives what was answered.
    fn step(&mut self, pick: Pick) -> Result<Vec<(String, Reply)>, GroundError> {
        let from = self.racer.director.log().len();
        let choice = pick.choice(|n| self.cast.clients[n].clone());
        match pick {
            Pick::Move(_) => self.moves += 1,
            Pick::Timer => {}
            Pick::Thaw(_) => self.frozen = None,
            Pick::Crash(_) => self.spent = true,
            Pick::Freeze(n) => (self.frozen, self.spent) = (Some(n), true),
        }
        self.wait(async |racer| racer.take_choice(&choice).await)?;
        let events = &self.racer.director.log().events()[from..];
        let said = events.iter().filter_map(|event| match &event.kind {
            EventKind::Replied { actor, label, reply, .. } => {
                Some((self.cast.name(*actor, label), lasting(reply)))
            }
            _ => None,
        });
        Ok(said.collect())
    }

    /// What a move will touch, as far as its command says.
    fn foresee(&mut self, actor: ActorId) -> Result<Touch, GroundError> {
        let director = &mut self.racer.director;
        let mut touch = Touch { actor: Some(actor), ..Touch::default() };
        let n = actor.0 as usize;
        let State::Ready(operation) = director.performers[n].state.clone() else {
            return Ok(Touch::everything());
        };
        let server = operation.on.clone().unwrap_or_else(|| director.stage.server.clone());
        director.performers[n].machine.tell_time(director.clock.now());
        let begun = director.performers[n].machine.begun();
        let wire = begun.and_then(|machine| machine.wire(&operation, server));
        match wire {
            Ok(Some(Wire::Local { name, .. })) => {
                let cell: Arc<str> = format!("{} {name}", self.cast.clients[self.cast.homes[n]]).into();
                touch.writes.push(cell);
            }
            // Nobody sees what only looks; whatever changes something may be told to whoever watches.
            Ok(Some(Wire::Zookeeper {
                call: ZkCall::Exists { .. } | ZkCall::Get { .. } | ZkCall::Ls { .. },
                ..
            })) => {}
            Ok(Some(wire @ (Wire::Redis { .. } | Wire::Script { .. }))) => {
                let name = self.cast.name(actor, &operation.label);
                self.foresee_redis(&wire, &name, &mut touch)?;
                // Replicas follow when they can, and what they hold may be asked for: no two moves are sure to come to
                // the same in either order.
                touch.all |= self.scenario.lab().has_sentinels();
            }
            Ok(Some(Wire::Zookeeper { .. }) | None) | Err(_) => touch.all = true,
        }
        Ok(touch)
    }

    fn foresee_redis(&mut self, wire: &Wire, operation: &str, touch: &mut Touch) -> Result<(), GroundError> {
        // Which server is the master is found out when the move is made; what the command is, any of them knows.
        let server = match wire.server() {
            PRIMARY => self.racer.director.stage.server.clone(),
            named => named.to_owned(),
        };
        let lost = |why| EngineError::ServerLost { server: server.clone(), why };
        if !self.lines.contains_key(&server) {
            let stage = &self.racer.director.stage;
            let address = setup::address(stage, &server);
            let line = Direct::open(&address, stage.lab.password()).map_err(lost)?;
            self.lines.insert(server.clone(), line);
        }
        let Some(line) = self.lines.get_mut(&server) else {
            return Ok(());
        };
        match self.commands.look_up(line, wire) {
            Ok(footprint) => match &footprint.keys {
                Some(keys) if footprint.reads_only => touch.reads.extend(keys.iter().cloned()),
                Some(keys) if !keys.is_empty() => touch.writes.extend(keys.iter().cloned()),
                _ => touch.all = true,
            },
            Err(Refusal::Lost(why)) => return Err(lost(why).into()),
            // On Sentinel time runs while a move is made, so waiting for replicas comes to its end.
            Err(Refusal::NotReplayable(_))
                if self.scenario.lab().has_sentinels() && wire.to_string().starts_with("WAIT ") => {}
            Err(Refusal::NotReplayable(why)) => {
                return Err(GroundError::NotReplayable {
                    operation: operation.to_owned(),
                    command: wire.to_string(),
                    why,
                });
            }
        }
        Ok(())
    }

    /// By lock: the steps that made each two holders of it.
    fn overlaps(log: &Log) -> HashMap<String, Vec<Vec<usize>>> {
        let mut holding = Holding::default();
        let mut since: BTreeMap<(String, ActorId), usize> = BTreeMap::new();
        let mut ways: HashMap<String, Vec<Vec<usize>>> = HashMap::new();
        for (n, event) in log.events().iter().enumerate() {
            for turn in holding.take(n, event) {
                let key = (turn.lock, turn.actor);
                if !turn.holds {
                    since.remove(&key);
                    continue;
                }
                let others = since.iter().filter(|((lock, _), _)| *lock == key.0);
                let pairs = others.map(|(_, other)| {
                    let both = [*other, n].into_iter().filter_map(|at| step_of(log, at));
                    both.collect::<BTreeSet<usize>>().into_iter().collect()
                });
                ways.entry(key.0.clone()).or_default().extend(pairs);
                since.insert(key, n);
            }
        }
        ways
    }

    /// What a step turned out to touch besides.
    fn see(&self, from: usize, touch: &mut Touch) {
        let log = self.racer.director.log();
        let mut holding = Holding::default();
        for (n, event) in log.events().iter().enumerate() {
            let turns = holding.take(n, event);
            if n < from {
                continue;
            }
            if event.kind.actor().is_some_and(|actor| Some(actor) != touch.actor) {
                touch.all = true;
            }
            for turn in turns {
                let Some(lock) = self.names.locks.iter().position(|known| *known == turn.lock) else {
                    continue;
                };
                let touched = if turn.holds { &mut touch.begins } else { &mut touch.ends };
                touched.push(lock);
            }
        }
        // What an expression looks at is not looked into here: any move may change it.
        let asks = |plan: &InvariantPlan| matches!(plan.never, NeverPlan::That(_));
        if self.scenario.invariants.iter().any(asks) {
            touch.shows.push(0);
        }
    }
}

impl Ground for Processes {
    type Place = Place;
    type Error = GroundError;

    fn begin(&mut self) -> Result<Place, GroundError> {
        self.set_out()?;
        self.here = Here::Root;
        Ok(self.place(None))
    }

    fn picks(&self, place: &Place) -> Vec<Pick> {
        place.picks.to_vec()
    }

    fn take(&mut self, place: &Place, pick: Pick) -> Result<(Place, Touch), GroundError> {
        self.go_to(place)?;
        let mut touch = match pick {
            Pick::Move(actor) => self.foresee(actor)?,
            _ => Touch::everything(),
        };
        let from = self.racer.director.log().len();
        let said = self.step(pick)?;
        self.see(from, &mut touch);
        let way = Some(Arc::new(Way { before: place.way.clone(), pick, said }));
        self.here = Here::of(way.as_ref());
        Ok((self.place(way), touch))
    }

    fn fate(&mut self, place: &Place) -> Result<Fate, GroundError> {
        self.go_to(place)?;
        let log = self.racer.director.log();
        let outcome = Arc::new(Outcome::of(&self.scenario, log));
        let breaches = verdict::breaches(&self.scenario, log).map_err(GroundError::Invariant)?;
        let overlaps = Self::overlaps(log);
        let broken = breaches.into_iter().map(|breach| {
            let ways = match &self.scenario.invariants[breach.invariant].never {
                NeverPlan::Overlap(lock) => overlaps.get(lock).cloned().unwrap_or_default(),
                NeverPlan::That(_) => vec![step_of(log, breach.at).into_iter().collect()],
            };
            Broken { invariant: breach.invariant, ways }
        });
        let broken = broken.collect();
        Ok(Fate { outcome, cut: place.cut, broken })
    }
}

/// A reply without what is another each time: ZooKeeper numbers all that is ever written.
fn lasting(reply: &Reply) -> Reply {
    match reply {
        Reply::Value(value) => {
            let mut value = value.clone();
            if let Some(fields) = value.as_object_mut() {
                fields.remove("czxid");
            }
            Reply::Value(value)
        }
        other => other.clone(),
    }
}

/// The step that an event belongs to, `None` where it is before the first.
fn step_of(log: &Log, event: usize) -> Option<usize> {
    let count = |end: usize, wanted: fn(&EventKind) -> bool| {
        let events = &log.events()[..end];
        events.iter().filter(|event| wanted(&event.kind)).count()
    };
    let begun = count(event + 1, |kind| matches!(kind, EventKind::Chose(_)));
    begun.checked_sub(1)
}
