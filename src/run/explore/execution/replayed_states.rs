//! The states of orders that are carried out with client processes. They cannot be restored, so each is
//! explored from only once, and reached again by an order that led to it.
//!
//! The internal state of processes and servers is not inspected. Two orders lead to the same state if each
//! client has seen the same, and whatever changes servers was done in the same sequence: that decides what
//! servers hold, whom they will notify, and what programs do next.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write,
};

use indexmap::IndexSet;
use serde_json::Value;

use super::{
    processes::{Node, Processes},
    trail::each_number,
};
use crate::{
    lesson::{
        LabKind, Scenario,
        plan::{NeverPlan, PlannedVerb},
    },
    log::{Access, ActorId, Choice, Command, Event, EventKind, Fault, Log, OpId, Product, Reply},
    run::explore::{
        Ending, ExploreError, Explorer, Layer, Pick,
        growth::SpaceProgress,
        search::is_shorter,
        states::{MOST_INVARIANTS, Permutation, Recurring, State, StateSpace, Step, Successors, id},
    },
    verdict::{self, key_history::KeyHistory},
};

/// The functions of invariants that depend on how the moves of several clients are interleaved.
const OF_SEVERAL_CLIENTS: [&str; 7] =
    ["before", "deleted_by_another", "metric_by", "orphaned", "renewed_by_another", "role", "woken_by"];

// The layout of a state. From `CLIENTS` on there is one number for each actor.
const MOVES: usize = 0;
const BROKEN: usize = 1;
const SHARED: usize = 3;
const CLIENTS: usize = 4;

/// What is known of a state.
struct Known {
    /// A node in this state; its trail is an order that leads there.
    node: Node,
    /// The possible steps, and the state that each leads to, or `None` if it was not taken yet.
    steps: Vec<(Pick, Option<State>)>,
    /// The ending of the order, if no step is possible.
    ending: Option<Ending>,
}

pub(crate) struct ReplayedStates<'x> {
    explorer: &'x mut Processes,
    known: HashMap<State, Known>,
    /// What each client has seen, and what belongs to none.
    texts: IndexSet<String>,
    /// The size of these texts in bytes.
    bytes: usize,
    /// Whether to take no more steps.
    exhausted: bool,
    /// The number of known steps, and of those that were taken.
    steps: (usize, usize),
    layers: Vec<Layer>,
    shortest_of: BTreeMap<usize, Vec<Pick>>,
}

/// Whether orders are counted by these states: on ZooKeeper, for which it is not known which operations
/// commute. Not possible with replicas, etcd or transactions: how far a replica lags, when the lease of an
/// etcd key ends, and what a transaction sees of others cannot be observed.
pub(super) fn can_be_counted(scenario: &Scenario) -> bool {
    let lab = scenario.lab();
    let is_seen = |part: &LabKind| !part.is_replicated() && part.product() != Product::Etcd;
    let is_zookeeper = |part: &LabKind| part.product() == Product::Zookeeper;
    let transacts = scenario.operations().any(|operation| match &operation.verb {
        PlannedVerb::Call(call) if call.product() == Product::Mariadb => {
            call.all_operands().any(|statement| Command::Sql(statement.pattern()).leaves().is_some())
        }
        _ => false,
    });
    let of_several = scenario.invariants.iter().any(|plan| match &plan.never {
        NeverPlan::Overlap(_) => false,
        NeverPlan::That(never) => {
            let mentions = never.mentions();
            OF_SEVERAL_CLIENTS.iter().any(|name| mentions.names(name))
        }
    });
    // The internal state of an external program is not known.
    !scenario.is_attached()
        && lab.parts().iter().any(is_zookeeper)
        && lab.parts().iter().all(is_seen)
        && !transacts
        && !of_several
        && scenario.invariants.len() <= MOST_INVARIANTS
}

impl<'x> ReplayedStates<'x> {
    pub(super) fn new(explorer: &'x mut Processes) -> Self {
        Self {
            explorer,
            known: HashMap::new(),
            texts: IndexSet::new(),
            bytes: 0,
            exhausted: false,
            steps: (0, 0),
            layers: Vec::new(),
            shortest_of: BTreeMap::new(),
        }
    }

    /// Returns the state in which clients and servers are now, at the end of an order, and makes it known.
    fn current_state(&mut self, node: Node) -> Result<State, ExploreError> {
        let log = self.explorer.log();
        let scenario = &self.explorer.scenario;
        let mut broken = 0_u64;
        for breach in verdict::breaches(scenario, log).map_err(ExploreError::Invariant)? {
            broken |= 1 << breach.invariant;
        }
        for exceeded in self.explorer.tracked.broken(scenario) {
            broken |= 1 << exceeded.invariant;
        }
        let seen = Seen::of(log, scenario);
        let waits = self.explorer.waits();
        let mut state = vec![0; CLIENTS];
        state[MOVES] = id(self.explorer.tally.moves);
        #[expect(clippy::cast_possible_truncation, reason = "the value is split into two halves")]
        let halves = (broken as u32, (broken >> 32) as u32);
        (state[BROKEN], state[BROKEN + 1]) = halves;
        let tracked = &self.explorer.tracked;
        let mut shared = seen.shared;
        let _ = write!(
            shared,
            "{waits:?} {:?} {:?} {:?}",
            self.explorer.tally,
            tracked.holding.ever_held().collect::<Vec<_>>(),
            tracked.violated().collect::<Vec<_>>(),
        );
        state[SHARED] = self.text(shared);
        for text in seen.by_actor {
            state.push(self.text(text));
        }
        let state = State::from(state);
        if !self.known.contains_key(&state) {
            let picks = self.explorer.picks(&node);
            let ending = if picks.is_empty() { Some(self.explorer.ending(&node)?) } else { None };
            let way = node.order();
            Layer::add(&mut self.layers, way.len(), broken != 0);
            for invariant in (0..MOST_INVARIANTS).filter(|bit| broken & (1 << bit) != 0) {
                if self.shortest_of.get(&invariant).is_none_or(|known| is_shorter(&way, known)) {
                    self.shortest_of.insert(invariant, way.clone());
                }
            }
            self.steps.0 += picks.len();
            let steps = picks.into_iter().map(|pick| (pick, None)).collect();
            self.known.insert(state.clone(), Known { node, steps, ending });
        }
        Ok(state)
    }

    /// Returns the number of a text.
    fn text(&mut self, text: String) -> u32 {
        let bytes = text.len();
        let (number, new) = self.texts.insert_full(text);
        self.bytes += if new { bytes } else { 0 };
        id(number)
    }

    /// Takes steps that were not taken yet, each from where the last one led, until none is left there.
    fn walk(&mut self, from: &[u32]) -> Result<(), ExploreError> {
        let (mut at, mut node) = (State::from(from), self.known[from].node.clone());
        loop {
            let untried = self.known[&at].steps.iter().position(|(_, to)| to.is_none());
            let Some(n) = untried else { return Ok(()) };
            let pick = self.known[&at].steps[n].0;
            node = self.explorer.take(&node, pick)?.0;
            let to = self.current_state(node.clone())?;
            if let Some(known) = self.known.get_mut(&at) {
                known.steps[n].1 = Some(to.clone());
                self.steps.1 += 1;
            }
            at = to;
        }
    }
}

impl StateSpace for ReplayedStates<'_> {
    /// Small, because each step takes milliseconds.
    const ROUND: usize = 1;

    fn initial(&mut self) -> Result<State, ExploreError> {
        let node = self.explorer.begin()?;
        self.current_state(node)
    }

    /// Continues to the end of one order.
    fn advance(&mut self, state: &[u32]) -> Result<bool, ExploreError> {
        if self.exhausted || self.known[state].steps.iter().all(|(_, to)| to.is_some()) {
            return Ok(false);
        }
        match self.walk(state) {
            // The steps that were taken before the cancellation remain known.
            Err(_) if self.explorer.is_cancelled() => self.exhausted = true,
            walked => walked?,
        }
        Ok(true)
    }

    fn progress(&self) -> Option<SpaceProgress> {
        #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
        let done = self.steps.1 as f64 / self.steps.0.max(1) as f64;
        Some(SpaceProgress { done, layers: self.layers.clone(), shortest_of: self.shortest_of.clone() })
    }

    fn successors(&mut self, state: &[u32]) -> Result<Successors, ExploreError> {
        let Known { steps, ending, .. } = &self.known[state];
        if let Some(Ending { outcome, cut, stuck, .. }) = ending {
            return Ok(Successors::End { outcome: outcome.clone(), cut: *cut, stuck: *stuck });
        }
        let steps = steps
            .iter()
            .filter_map(|(pick, to)| Some(Step { pick: *pick, multiplicity: 1, to: to.clone()? }));
        Ok(Successors::Steps(steps.collect()))
    }

    fn broken(&self, state: &[u32]) -> u64 {
        u64::from(state[BROKEN]) | u64::from(state[BROKEN + 1]) << 32
    }

    fn recurring(&mut self, state: &[u32]) -> Recurring {
        // What clients have seen only grows, and the rest of their waits depends on the machine, so no state
        // recurs.
        Recurring { state: state.into(), has_moves_left: false, has_fault: false }
    }

    fn bytes(&self) -> usize {
        self.bytes + self.known.len() * KNOWN_BYTES
    }

    fn exhaust(&mut self) -> bool {
        self.exhausted = true;
        true
    }

    fn identity(&self) -> Permutation {
        (0..self.explorer.scenario.actors.len()).collect()
    }

    fn concrete(
        &mut self,
        _: &[u32],
        pick: Pick,
        permutation: &Permutation,
    ) -> Result<(Pick, Permutation), ExploreError> {
        Ok((pick, permutation.clone()))
    }
}

/// The approximate size in bytes of a known state, with the events of its last step.
const KNOWN_BYTES: usize = 4 << 10;

/// What was seen in an order.
struct Seen {
    by_actor: Vec<String>,
    /// What belongs to no client: when time passed and faults occurred, what changed servers, which actors
    /// wait inside servers, and which actors were woken by changes.
    shared: String,
}

impl Seen {
    fn of(log: &Log, scenario: &Scenario) -> Self {
        let numbers = Numbers::of(log);
        // Moves, also those whose replies are lost, take only the time that the machine needs, and wait for nothing:
        // unless time is allowed to pass, or a process is frozen, the times of events do not matter.
        let passes = |kind: &EventKind| matches!(kind, EventKind::Chose(choice) if !takes_no_time(choice));
        let timed = log.events().iter().any(|event| passes(&event.kind));
        let mut by_actor = vec![String::new(); scenario.actors.len()];
        let (mut shared, mut sent, mut waiting) = (String::new(), HashMap::new(), Vec::new());
        let mut history = KeyHistory::new(scenario);
        for (index, event) in log.events().iter().enumerate() {
            history.take(index, event);
            let Event { at, kind } = event;
            match kind {
                EventKind::Chose(choice) if !takes_no_time(choice) => {
                    let _ = write!(shared, "{choice:?} {at:?};");
                }
                EventKind::Sent { op, command, .. } => drop(sent.insert(*op, command)),
                EventKind::Blocked { op, actor, .. } => waiting.push((*op, *actor)),
                EventKind::Replied { op, actor, label, reply } => {
                    waiting.retain(|(waits, _): &(OpId, ActorId)| waits != op);
                    if sent.get(op).is_some_and(|command| changes(command, reply)) {
                        let _ = write!(shared, "{} {label};", actor.0);
                    }
                }
                _ => {}
            }
            if let Some(actor) = kind.actor().filter(|_| !matches!(kind, EventKind::Session { .. })) {
                let of_zookeeper = match kind {
                    EventKind::Replied { op, .. } => {
                        sent.get(op).is_some_and(|command| is_zookeeper(command))
                    }
                    _ => false,
                };
                let described = numbers.described(kind, of_zookeeper, timed);
                let at = timed.then(|| at.as_nanos());
                let _ = writeln!(by_actor[actor.0 as usize], "{at:?} {described}");
            }
        }
        let now = log.events().last().map(|event| event.at).filter(|_| timed);
        let waiting: Vec<_> = waiting.into_iter().map(|(_, actor)| actor).collect();
        let _ = write!(shared, "{now:?} {waiting:?} {}", history.wakeups.described());
        Self { by_actor, shared }
    }
}

fn takes_no_time(choice: &Choice) -> bool {
    matches!(
        choice,
        Choice::Move { .. } | Choice::Inject(Fault::Hold { .. } | Fault::Drop { .. } | Fault::Release { .. })
    )
}

fn is_zookeeper(command: &Command) -> bool {
    command.product() == Some(Product::Zookeeper)
}

/// Whether a command may have changed a server or a lock. ZooKeeper changes nothing when it returns an error.
fn changes(command: &Command, reply: &Reply) -> bool {
    let reads = matches!(command.access(), Some((_, Access::Read, _)));
    let refused = is_zookeeper(command) && matches!(reply, Reply::Error { .. });
    !reads && !refused
}

/// The meaning of ZooKeeper's numbers. It numbers every write, so these numbers differ in each run and only
/// their order counts. Session ids stand for clients.
struct Numbers {
    /// By session id: the server, the actor and a running number.
    sessions: HashMap<i64, String>,
    /// By number: how many smaller ones were seen.
    ranks: HashMap<i64, usize>,
}

impl Numbers {
    fn of(log: &Log) -> Self {
        let (mut sessions, mut numbers) = (HashMap::new(), BTreeSet::new());
        for Event { kind, .. } in log.events() {
            match kind {
                EventKind::Session { actor, server, session } => {
                    let name = format!("{server} {} {}", actor.0, sessions.len());
                    sessions.entry(*session).or_insert(name);
                }
                EventKind::Replied { reply, .. } => {
                    if let Reply::Value(value) = &**reply {
                        each_number(&mut value.clone(), &mut |number| {
                            numbers.extend(number.as_i64());
                        });
                    }
                }
                _ => {}
            }
        }
        let ranks = numbers.into_iter().enumerate().map(|(rank, number)| (number, rank)).collect();
        Self { sessions, ranks }
    }

    /// Describes an event without the id of its operation, which belongs to the log, and with the meaning of
    /// ZooKeeper's numbers.
    fn described(&self, kind: &EventKind, of_zookeeper: bool, timed: bool) -> String {
        // The same format as in recordings.
        let mut event = serde_json::to_value(kind).unwrap_or_default();
        if let Some(fields) = event.as_object_mut() {
            fields.remove("op");
            // How a broken connection is noticed first depends on the machine.
            if matches!(kind, EventKind::Replied { reply, .. } if reply.is_lost()) {
                fields.insert("reply".to_owned(), "Lost".into());
            }
            if !timed {
                fields.remove("until");
            }
        }
        if of_zookeeper {
            each_number(&mut event, &mut |number| {
                let Some(known) = number.as_i64() else { return };
                if let Some(whose) = self.sessions.get(&known) {
                    *number = Value::String(whose.clone());
                } else if let Some(rank) = self.ranks.get(&known) {
                    *number = Value::from(*rank);
                }
            });
        }
        event.to_string()
    }
}
