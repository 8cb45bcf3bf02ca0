//! Exploring with client processes, as in a lesson: for servers and operations whose state cannot be restored. Each node
//! is reached from the beginning, and the replies on the way must be the same again.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use tokio::{runtime::Handle, sync::watch};

use super::{
    ExplorerError, OnServers,
    commands::{Commands, Refusal},
    roster::Roster,
    rules::{Rules, Situation, Tally},
    tracked::Names,
    trail::Trail,
};
use crate::run::{
    race::racer::Racer,
    session::{EngineError, setup, supervision::supervised},
};
use crate::{
    client::{Direct, protocol::Wire},
    lab::{LabOptions, Vitals},
    lesson::{
        PRIMARY, Scenario,
        plan::{InvariantPlan, NeverPlan},
    },
    log::{Access, ActorId, Command, EventKind, Log, Product, Reply},
    program::Request,
    run::{
        explore::{Broken, Ending, Explorer, Pick, Touch},
        race::Outcome,
    },
    verdict,
    world::Holding,
};

/// A node in the tree of orders.
#[derive(Debug, Clone)]
pub struct Node {
    trail: Trail,
    picks: Arc<[Pick]>,
    cut: bool,
}

/// Client processes with their lab.
pub struct Processes {
    scenario: Scenario,
    rules: Rules,
    roster: Roster,
    names: Names,
    racer: Racer,
    runtime: Handle,
    /// Set to true, it calls off whatever is waited for.
    off: watch::Sender<bool>,
    /// The node whose state servers and clients are in; none before the first order.
    here: Option<Trail>,
    tally: Tally,
    commands: Commands,
    connections: HashMap<String, Direct>,
}

impl Processes {
    /// Starts a lab and the clients.
    pub async fn open(scenario: &Scenario, options: &LabOptions, rules: &Rules) -> Result<Self, EngineError> {
        Ok(Self {
            racer: Racer::set_up(scenario, options).await?,
            roster: Roster::of(scenario),
            names: Names::of(scenario),
            scenario: scenario.clone(),
            rules: rules.clone(),
            runtime: Handle::current(),
            off: watch::Sender::new(false),
            here: None,
            tally: Tally::default(),
            commands: Commands::default(),
            connections: HashMap::new(),
        })
    }

    /// A way to call off whatever is waited for, from another thread.
    pub fn off(&self) -> watch::Sender<bool> {
        self.off.clone()
    }

    /// How the servers and clients are, also of the labs that come after this one.
    pub fn vitals(&self) -> Vitals {
        self.racer.director.harness.lab.vitals()
    }

    fn node(&self, trail: Trail) -> Node {
        let situation = Situation::new(&self.racer.director.actors, &self.roster, self.tally);
        Node { trail, picks: situation.picks(&self.rules).into(), cut: situation.is_cut(&self.rules) }
    }

    fn begin_order(&mut self) -> Result<(), ExplorerError> {
        self.tally = Tally::default();
        if self.here.take().is_some() {
            self.wait(async |racer| racer.finish_order().await)?;
        }
        if self.racer.needs_restart {
            // The lab will be another one.
            self.connections.clear();
            self.wait(async |racer| racer.renew().await)?;
        }
        self.wait(async |racer| racer.begin_order().await)?;
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
                done = supervised(&vitals, work(&mut self.racer)) => done,
                // The sender is a field of this struct, so it is not dropped meanwhile.
                _ = off.wait_for(|off| *off) => Err(EngineError::CalledOff),
            }
        })
    }

    fn go_to(&mut self, node: &Node) -> Result<(), ExplorerError> {
        if self.here.as_ref().is_some_and(|here| here.is(&node.trail)) {
            return Ok(());
        }
        self.begin_order()?;
        for step in node.trail.steps() {
            let again = self.step(step.pick)?;
            step.must_match(&again)?;
        }
        self.here = Some(node.trail.clone());
        Ok(())
    }

    /// Takes a step from the current node. Gives the replies.
    fn step(&mut self, pick: Pick) -> Result<Vec<(String, Reply)>, ExplorerError> {
        let from = self.racer.director.log().len();
        let choice = pick.choice(&self.roster.clients);
        self.tally.add(pick);
        self.wait(async |racer| racer.take_choice(&choice).await)?;
        let events = &self.racer.director.log().events()[from..];
        let said = events.iter().filter_map(|event| match &event.kind {
            EventKind::Replied { actor, label, reply, .. } => {
                Some((self.roster.operation(*actor, label), lasting(reply)))
            }
            _ => None,
        });
        Ok(said.collect())
    }

    /// What a move will touch, as far as its command says.
    fn foresee(&mut self, actor: ActorId) -> Result<Touch, ExplorerError> {
        let director = &self.racer.director;
        let mut touch = Touch { actor: Some(actor), ..Touch::default() };
        let stepper = &director.actors[actor];
        let Some(operation) = stepper.next_operation().cloned() else {
            return Ok(Touch::everything());
        };
        let server = operation.on.as_deref().unwrap_or(&director.harness.server);
        match stepper.foresee(director.clock.now(), server) {
            Some(Ok(Request::Command(Wire { command: Command::Local { name, .. }, .. }))) => {
                let client = &self.roster.clients[self.roster.home(actor)];
                let cell: Arc<str> = format!("{client} {name}").into();
                touch.writes.push(cell);
            }
            // Reading is seen by nobody; a change may notify whoever watches.
            Some(Ok(Request::Command(wire)))
                if matches!(wire.command.access(), Some((_, Access::Read, _))) => {}
            Some(Ok(Request::Command(wire))) if wire.command.product() == Some(Product::Redis) => {
                let name = self.roster.operation(actor, &operation.label);
                self.foresee_redis(&wire, &name, &mut touch)?;
                // Replicas follow when they can, and what they hold may be asked for: no two moves are sure to come to
                // the same in either order.
                touch.all |= self.scenario.lab().has_sentinels();
            }
            _ => touch.all = true,
        }
        Ok(touch)
    }

    fn foresee_redis(
        &mut self,
        wire: &Wire,
        operation: &str,
        touch: &mut Touch,
    ) -> Result<(), ExplorerError> {
        // The master is found when the move is made; any server knows the command.
        let server = match wire.server.as_str() {
            PRIMARY => self.racer.director.harness.server.clone(),
            named => named.to_owned(),
        };
        let lost = |why| EngineError::ServerLost { server: server.clone(), why };
        if !self.connections.contains_key(&server) {
            let lab = &self.racer.director.harness.lab;
            let connection = Direct::open(&setup::address(lab, &server), lab.password()).map_err(lost)?;
            self.connections.insert(server.clone(), connection);
        }
        let Some(connection) = self.connections.get_mut(&server) else {
            return Ok(());
        };
        match self.commands.look_up(connection, wire) {
            Ok(footprint) => match &footprint.keys {
                Some(keys) if footprint.reads_only => touch.reads.extend(keys.iter().cloned()),
                Some(keys) if !keys.is_empty() => touch.writes.extend(keys.iter().cloned()),
                _ => touch.all = true,
            },
            Err(Refusal::Lost(why)) => return Err(lost(why).into()),
            // On Sentinel time runs while a move is made, so waiting for replicas comes to its end.
            Err(Refusal::NotReplayable(_))
                if self.scenario.lab().has_sentinels() && wire.command.is_redis("WAIT") => {}
            Err(Refusal::NotReplayable(why)) => {
                return Err(ExplorerError::NotReplayable {
                    operation: operation.to_owned(),
                    command: wire.command.to_string(),
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

    /// Adds what a step turned out to touch besides.
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
        // What an expression reads is not known here: any move may change it.
        let asks = |plan: &InvariantPlan| matches!(plan.never, NeverPlan::That(_));
        if self.scenario.invariants.iter().any(asks) {
            touch.shows.push(0);
        }
    }
}

impl OnServers for Processes {
    async fn explain(&self, error: EngineError) -> EngineError {
        self.racer.director.harness.or_death(error).await
    }

    async fn close(self) {
        self.racer.tear_down().await;
    }
}

impl Explorer for Processes {
    type Node = Node;
    type Error = ExplorerError;

    fn begin(&mut self) -> Result<Node, ExplorerError> {
        self.begin_order()?;
        self.here = Some(Trail::default());
        Ok(self.node(Trail::default()))
    }

    fn picks(&self, node: &Node) -> Vec<Pick> {
        node.picks.to_vec()
    }

    fn take(&mut self, node: &Node, pick: Pick) -> Result<(Node, Touch), ExplorerError> {
        self.go_to(node)?;
        let mut touch = match pick {
            Pick::Move(actor) => self.foresee(actor)?,
            _ => Touch::everything(),
        };
        let from = self.racer.director.log().len();
        let said = self.step(pick)?;
        self.see(from, &mut touch);
        let trail = node.trail.then(pick, said);
        self.here = Some(trail.clone());
        Ok((self.node(trail), touch))
    }

    fn ending(&mut self, node: &Node) -> Result<Ending, ExplorerError> {
        self.go_to(node)?;
        let log = self.racer.director.log();
        let outcome = Arc::new(Outcome::of(&self.scenario, log));
        let breaches = verdict::breaches(&self.scenario, log).map_err(ExplorerError::Invariant)?;
        let overlaps = Self::overlaps(log);
        let broken = breaches.into_iter().map(|breach| {
            let ways = match &self.scenario.invariants[breach.invariant].never {
                NeverPlan::Overlap(lock) => overlaps.get(lock).cloned().unwrap_or_default(),
                NeverPlan::That(_) => vec![step_of(log, breach.at).into_iter().collect()],
            };
            Broken { invariant: breach.invariant, ways }
        });
        let broken = broken.collect();
        Ok(Ending { outcome, cut: node.cut, broken })
    }
}

/// A reply without what differs each time: ZooKeeper numbers all that is ever written.
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
