//! Exploration with client processes, as in a lesson, for servers and operations whose state cannot be
//! restored. Each node is reached from the beginning, and the replies on the way must be the same as the
//! first time.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

use tokio::{runtime::Handle, sync::watch};

use super::{
    OnServers,
    commands::Commands,
    one_by_one,
    repeats::Repeats,
    replayed_states::{self, ReplayedStates},
    rules::{Rules, Situation, Tally, operation_name, until_expired},
    tracked::Tracked,
    trail::{Step, Trail},
};
use crate::{
    client::{RespConnection, protocol::Wire},
    lab::{
        Lab, LabOptions,
        ready::{ReadyLabs, Reuse},
    },
    lesson::{PRIMARY, Scenario, expr::Call, plan::NeverPlan},
    log::{Access, ActorId, Choice, Command, Event, EventKind, FILES, Log, Observed, Product},
    program::Request,
    run::{
        explore::{
            Broken, Ending, ExploreError, Explorer, Pick, StateGraph, StepFootprint, Stuck,
            states::StateSpace,
        },
        race::{Outcome, OutcomeFields, racer::Racer},
        session::{RunError, setup, supervision::supervised},
    },
    text::Text,
    verdict::{self, Breach},
};

#[derive(Debug, Clone)]
pub struct Node {
    trail: Trail,
    picks: Arc<[Pick]>,
    cut: bool,
    stuck: Option<Stuck>,
}

impl Node {
    /// The order that leads to the node.
    pub(super) fn order(&self) -> Vec<Pick> {
        self.trail.steps().iter().map(|step| step.pick).collect()
    }
}

pub struct Processes {
    pub(super) scenario: Scenario,
    rules: Rules,
    pub(super) racer: Racer,
    runtime: Handle,
    /// Set to true to cancel whatever is awaited.
    cancelled: watch::Sender<bool>,
    /// The node whose state servers and clients are in, or `None` before the first order.
    current: Option<Trail>,
    pub(super) tally: Tally,
    /// Where the events of each step begin.
    steps: Vec<usize>,
    pub(super) tracked: Tracked,
    commands: Commands,
    pub(super) connections: HashMap<String, RespConnection>,
    /// What external programs have done so far.
    repeats: Repeats,
    /// Where the lab is left.
    labs: Option<ReadyLabs>,
}

/// The number of steps in a row in which only time passes after which an order is cut: an external program
/// may wait forever.
const MOST_IDLE: usize = 100;

impl Processes {
    pub async fn open(scenario: &Scenario, options: &LabOptions, rules: &Rules) -> Result<Self, RunError> {
        Ok(Self {
            racer: Racer::set_up(scenario, options).await?,
            scenario: scenario.clone(),
            rules: rules.clone(),
            runtime: Handle::current(),
            cancelled: watch::Sender::new(false),
            current: None,
            tally: Tally::new(scenario),
            steps: Vec::new(),
            tracked: Tracked::new(scenario),
            commands: Commands::default(),
            connections: HashMap::new(),
            repeats: Repeats::default(),
            labs: match &options.reuse {
                Some(Reuse::Any(labs)) => Some(labs.clone()),
                _ => None,
            },
        })
    }

    fn node(&mut self, trail: Trail) -> Result<Node, ExploreError> {
        let expiry = self.next_expiry()?;
        let situation = self.situation().with_expiry(expiry);
        let idle = self.repeats.idle() >= MOST_IDLE;
        let cut = idle || situation.is_cut(&self.rules);
        let stuck = self.tally.stuck(&self.scenario, &self.racer.director.actors).filter(|_| !cut);
        let picks = if idle { Vec::new() } else { situation.picks(&self.rules) };
        Ok(Node { trail, picks: picks.into(), cut, stuck })
    }

    /// How many milliseconds a `Pass` must last for the next key to expire, where time may pass although somebody
    /// could move. Known where time stands still during moves: elsewhere a key lives longer or shorter each time.
    fn next_expiry(&mut self) -> Result<Option<u64>, ExploreError> {
        if self.tally.slow >= self.rules.slow || !self.scenario.lab().can_be_restored() {
            return Ok(None);
        }
        let states = self.wait(async |racer| racer.director.harness.observe().await)?;
        let now = self.racer.director.clock.now();
        let keys = states.iter().filter_map(|state| match &state.observed {
            Observed::Redis(keyspace) => Some(keyspace.keys.values()),
            _ => None,
        });
        Ok(until_expired(keys.flatten().filter_map(|key| key.expires_at), now))
    }

    fn situation(&self) -> Situation {
        let director = &self.racer.director;
        let lives =
            |actor| !self.tally.of(&self.scenario, actor).crashed && !director.actors[actor].is_over();
        let frees = director.next_session_end().or(director.next_abandoned_end());
        let ends = director.next_end().is_some() || frees.is_some() && director.actors.ids().any(lives);
        Situation::new(&director.actors, &self.scenario, &self.tally, ends)
    }

    fn begin_order(&mut self) -> Result<(), ExploreError> {
        (self.tally, self.steps, self.tracked) =
            (Tally::new(&self.scenario), Vec::new(), Tracked::new(&self.scenario));
        if self.current.take().is_some() {
            self.wait(async |racer| racer.finish_order().await)?;
        }
        if self.racer.needs_restart {
            // The lab will be replaced.
            self.connections.clear();
        }
        self.wait(async |racer| racer.begin_order().await)?;
        // A new lab has a new director.
        let director = &mut self.racer.director;
        director.observes = depends_on_servers(&self.scenario);
        director.unasked = unasked_servers(&self.scenario);
        self.add_observed(0, &mut StepFootprint::default());
        self.repeats.begin();
        self.compare(0)
    }

    /// Checks that external programs have done the same as the first time, since the event `from`.
    fn compare(&mut self, from: usize) -> Result<(), ExploreError> {
        if !self.scenario.is_attached() {
            return Ok(());
        }
        let director = &self.racer.director;
        // Where time runs during moves, how much of it has passed is random.
        let exact = director.limits.jump;
        let events = &director.log().events()[from..];
        self.repeats.compare(&self.scenario, &director.actors, events, exact)
    }

    /// Blocks this thread until some work with the clients is done. Fails when a process of the lab fails or
    /// the exploration is cancelled meanwhile.
    fn wait<T>(&mut self, work: impl AsyncFnOnce(&mut Racer) -> Result<T, RunError>) -> Result<T, RunError> {
        let health = self.lab().health();
        let mut cancelled = self.cancelled.subscribe();
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                done = supervised(&health, work(&mut self.racer)) => done,
                // The sender is a field of this struct, so it is not dropped meanwhile.
                _ = cancelled.wait_for(|cancelled| *cancelled) => Err(RunError::Cancelled),
            }
        })
    }

    fn go_to(&mut self, node: &Node) -> Result<(), ExploreError> {
        if self.current.as_ref().is_some_and(|current| current.is(&node.trail)) {
            return Ok(());
        }
        self.begin_order()?;
        for step in node.trail.steps() {
            let again = self.step_again(&step)?;
            if !self.scenario.is_attached() {
                step.must_match(&again, &self.scenario)?;
            }
        }
        self.current = Some(node.trail.clone());
        Ok(())
    }

    /// The actors that wait for time to pass, in the order in which their waits end.
    pub(super) fn waits(&self) -> Vec<ActorId> {
        let actors = &self.racer.director.actors;
        let mut waits: Vec<_> =
            actors.ids().filter_map(|actor| Some((actors[actor].waits_until()?, actor))).collect();
        waits.sort_unstable();
        waits.into_iter().map(|(_, actor)| actor).collect()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// The events of the current order so far.
    pub(super) fn log(&self) -> &Log {
        self.racer.director.log()
    }

    /// Takes a step from the current node. Returns the replies.
    fn step(&mut self, pick: Pick, touch: &mut StepFootprint) -> Result<Vec<Event>, ExploreError> {
        let from = self.racer.director.log().len();
        let slow = self.situation().is_slow();
        self.tally.add(pick, slow);
        self.steps.push(from);
        for choice in pick.choices(&self.scenario) {
            let words = self.wait(async |racer| racer.take_choice(&choice).await)?;
            self.repeats.step(pick, words);
        }
        self.add_observed(from, touch);
        self.compare(from)?;
        let events = self.racer.director.log().events()[from..].iter();
        Ok(events.filter(|event| matches!(event.kind, EventKind::Replied { .. })).cloned().collect())
    }

    /// Repeats a step. Where time runs during moves, how much later than another a wait ends depends on the
    /// machine, so the waits that ended in this step the first time are made to end in it again.
    fn step_again(&mut self, step: &Step) -> Result<Vec<Event>, ExploreError> {
        let waits = |explorer: &Self| {
            let actors = &explorer.racer.director.actors;
            step.woken.iter().any(|actor| actors[*actor].waits_until().is_some())
        };
        if !step.woken.is_empty() && !waits(self) {
            let slow = self.situation().is_slow();
            self.tally.add(step.pick, slow);
            self.steps.push(self.racer.director.log().len());
            return Ok(Vec::new());
        }
        let again = self.step(step.pick, &mut StepFootprint::default())?;
        for _ in &step.woken {
            if waits(self) {
                self.wait(async |racer| racer.take_choice(&Choice::Timer).await)?;
            }
        }
        Ok(again)
    }

    /// The footprint of a move, as far as its command tells.
    fn foresee(&mut self, actor: ActorId) -> Result<StepFootprint, ExploreError> {
        let director = &self.racer.director;
        let mut touch = StepFootprint { actor: Some(actor), ..StepFootprint::default() };
        let stepper = &director.actors[actor];
        let Some(operation) = stepper.next_operation().cloned() else {
            return Ok(StepFootprint::everything());
        };
        let server = director.harness.server_of(actor, operation.on.as_deref());
        match stepper.foresee(director.clock.now(), server) {
            Some(Ok(Request::Command(Wire { command: Command::Local { name, .. }, .. }))) => {
                let client = &self.scenario.actor(actor).actor.client;
                touch.writes.push(format!("{client} {name}").into());
            }
            Some(Ok(Request::Command(Wire { command: Command::Flock { path, .. }, .. }))) => {
                touch.writes.push(format!("{FILES} {path}").into());
            }
            // Only the beginning of an external program's script is known, and not what the script does.
            Some(Ok(Request::Command(Wire { command: Command::Script { .. }, .. })))
                if stepper.program().outside =>
            {
                touch.all = true;
            }
            // A read affects nobody, while a change may notify watchers.
            Some(Ok(Request::Command(wire)))
                if matches!(wire.command.access(), Some((_, Access::Read, _))) => {}
            Some(Ok(Request::Command(wire)))
                if wire.command.product() == Some(Product::Redis) && !wire.command.listens() =>
            {
                let replicated = self.scenario.lab().is_replicated();
                // On replicated servers time runs during a move, so waiting for replicas ends.
                if !(replicated && wire.command.is_redis("WAIT")) {
                    let name = operation_name(&self.scenario, actor, &operation.label);
                    self.foresee_redis(&wire, &name, &mut touch)?;
                }
                // Replicas lag behind the master, and their contents may be read, so no two moves are sure to
                // commute.
                touch.all |= replicated;
            }
            _ => touch.all = true,
        }
        Ok(touch)
    }

    fn foresee_redis(
        &mut self,
        wire: &Wire,
        operation: &str,
        touch: &mut StepFootprint,
    ) -> Result<(), ExploreError> {
        let (server, connection) = open(&mut self.connections, &self.racer, wire)?;
        let footprint = self.commands.look_up(connection, wire);
        let footprint = footprint.map_err(|refusal| refusal.of(operation, wire, &server))?;
        match &footprint.keys {
            Some(keys) if footprint.reads_only => touch.reads.extend(keys.iter().cloned()),
            Some(keys) if !keys.is_empty() => touch.writes.extend(keys.iter().cloned()),
            _ => touch.all = true,
        }
        Ok(())
    }

    /// Adds what a step turned out to touch.
    fn add_observed(&mut self, from: usize, touch: &mut StepFootprint) {
        for event in &self.racer.director.log().events()[from..] {
            // An operation that waits inside a server may be unblocked by any move.
            let waits = matches!(event.kind, EventKind::Blocked { .. });
            touch.all |= waits || event.kind.actor().is_some_and(|actor| Some(actor) != touch.actor);
            self.tracked.take(self.steps.len(), event, touch);
        }
        // What an expression reads is not known here, so any move may change it.
        if self.scenario.invariants.iter().any(|plan| matches!(plan.never, NeverPlan::That(_))) {
            touch.invariants.push(0);
        }
    }
}

/// A connection of Lockstep's own to the server that a command goes to, and the server's name.
pub(super) fn open<'c>(
    known: &'c mut HashMap<String, RespConnection>,
    racer: &Racer,
    wire: &Wire,
) -> Result<(String, &'c mut RespConnection), RunError> {
    // The master is found when the move is made; any server knows the command.
    let server = match wire.server.as_str() {
        PRIMARY => racer.scenario.lab().first_of(Product::Redis).unwrap_or_default().to_owned(),
        named => named.to_owned(),
    };
    let connection = match known.entry(server.clone()) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => {
            let lab = &racer.director.harness.lab;
            let opened = RespConnection::open(&setup::address(lab, &server), lab.password());
            new.insert(opened.map_err(|why| RunError::ServerLost { server: server.clone(), why })?)
        }
    };
    Ok((server, connection))
}

/// The functions of expressions that do not depend on observed server states.
const KNOWN_FROM_CLIENTS: [&str; 10] =
    ["at", "before", "finished", "herd", "holders", "moves", "notified", "replies", "waited", "woken_by"];

/// The calls in invariants that depend on what servers hold after each move.
fn calls_to_servers(scenario: &Scenario) -> Vec<Call> {
    let invariants = scenario.invariants.iter().filter_map(|plan| match &plan.never {
        NeverPlan::That(never) => Some(never.mentions().calls),
        NeverPlan::Overlap(_) => None,
    });
    let calls = invariants.flatten();
    calls.filter(|call| !KNOWN_FROM_CLIENTS.contains(&call.function.as_str())).collect()
}

/// Whether an invariant or a metric of a scenario depends on what servers hold after each move.
fn depends_on_servers(scenario: &Scenario) -> bool {
    !calls_to_servers(scenario).is_empty() || !scenario.loaded.lesson.metrics.is_empty()
}

/// The servers of ZooKeeper if all that is asked for are rows and keys of other servers. Reading its nodes takes longer
/// than a move.
fn unasked_servers(scenario: &Scenario) -> HashSet<String> {
    let of_nodes = |call: &Call| {
        let key = call.arguments.first().and_then(Option::as_deref);
        key.is_none_or(|key| key.starts_with('/'))
    };
    let asked = calls_to_servers(scenario).iter().any(of_nodes) || !scenario.loaded.lesson.metrics.is_empty();
    let lab = scenario.lab();
    let is_unasked = |server: &&str| !asked && lab.part_of(server).product() == Product::Zookeeper;
    lab.servers().iter().copied().filter(is_unasked).map(str::to_owned).collect()
}

impl OnServers for Processes {
    fn lab(&self) -> &Lab {
        &self.racer.director.harness.lab
    }

    fn states(&mut self) -> Option<impl StateSpace> {
        replayed_states::can_be_counted(&self.scenario).then(|| ReplayedStates::new(self))
    }

    fn one_by_one(&self) -> Option<Text> {
        (!replayed_states::can_be_counted(&self.scenario))
            .then(|| one_by_one::because_of_processes(&self.scenario))
    }

    fn graph(&mut self) -> Result<Option<StateGraph>, ExploreError> {
        Ok(None)
    }

    fn unblocker(&self) -> Box<dyn Fn() + Send + Sync> {
        let (cancelled, health) = (self.cancelled.clone(), self.lab().health());
        Box::new(move || {
            cancelled.send_replace(true);
            health.kill_all();
        })
    }

    async fn close(mut self, is_good: bool) {
        // What an order leaves behind is known when it is finished.
        let health = self.lab().health();
        let finished =
            is_good && !self.is_cancelled() && supervised(&health, self.racer.finish_order()).await.is_ok();
        match self.labs.take().filter(|_| finished) {
            Some(labs) => Box::pin(self.racer.leave_lab(&labs)).await,
            None => self.racer.tear_down().await,
        }
    }
}

impl Explorer for Processes {
    type Node = Node;

    fn begin(&mut self) -> Result<Node, ExploreError> {
        self.begin_order()?;
        self.current = Some(Trail::default());
        self.node(Trail::default())
    }

    fn picks(&self, node: &Node) -> Vec<Pick> {
        node.picks.to_vec()
    }

    fn take(&mut self, node: &Node, pick: Pick) -> Result<(Node, StepFootprint), ExploreError> {
        self.go_to(node)?;
        let (mut touch, listing) = match pick {
            Pick::Move(actor) => (self.foresee(actor)?, self.foresee_list(actor)?),
            _ => (StepFootprint::everything(), None),
        };
        let before = self.waits();
        let replies = self.step(pick, &mut touch)?;
        if let Some(listing) = listing {
            self.check_list(&listing, &replies)?;
        }
        let after = self.waits();
        let runs_on = pick == Pick::Timer && !self.racer.director.limits.jump;
        let woken = before.into_iter().filter(|actor| runs_on && !after.contains(actor)).collect();
        let trail = node.trail.then_waking(pick, replies, woken);
        self.current = Some(trail.clone());
        Ok((self.node(trail)?, touch))
    }

    fn ending(&mut self, node: &Node) -> Result<Ending, ExploreError> {
        self.go_to(node)?;
        // The values of an outcome are those at the end.
        if !OutcomeFields::of(&self.scenario).values.is_empty() {
            let director = &mut self.racer.director;
            let observes = std::mem::replace(&mut director.observes, true);
            let unasked = std::mem::take(&mut director.unasked);
            self.wait(async |racer| racer.director.observe().await)?;
            let director = &mut self.racer.director;
            (director.observes, director.unasked) = (observes, unasked);
        }
        let log = self.racer.director.log();
        let breaches = verdict::breaches(&self.scenario, log).map_err(ExploreError::Invariant)?;
        let expressions = breaches.into_iter().filter_map(|Breach { invariant, at, .. }| {
            let NeverPlan::That(_) = self.scenario.invariants[invariant].never else { return None };
            // The step that an event belongs to, or `None` if it is before the first.
            let begun = self.steps.partition_point(|from| *from <= at);
            let ways = vec![begun.checked_sub(1).into_iter().collect()];
            Some(Broken { invariant, ways })
        });
        let broken: Vec<Broken> = self.tracked.broken(&self.scenario).chain(expressions).collect();
        let names = Broken::names(&broken, &self.scenario);
        let outcome = Arc::new(Outcome { broken: names, ..Outcome::of(&self.scenario, log) });
        Ok(Ending { outcome, cut: node.cut, stuck: node.stuck, broken })
    }
}
