//! The states of orders that are carried out with client processes. They cannot be put back, so each is gone on from once
//! and reached again by an order that led to it.
//!
//! What processes and servers keep to themselves is not asked for. Two orders come to the same where each client has seen
//! the same, and whatever changes servers was done in the same sequence: that decides what servers hold, whom they will
//! notify, and what programs do next.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write,
};

use indexmap::IndexSet;
use serde_json::Value;

use super::{
    processes::{Node, Processes},
    trail::NUMBERED,
};
use crate::{
    lesson::{
        LabKind, Scenario,
        plan::{Instruction, NeverPlan, PlannedVerb},
    },
    log::{Access, ActorId, Choice, Command, Event, EventKind, Log, OpId, Product, Reply},
    run::explore::{
        Ending, ExploreError, Explorer, Layer, Pick,
        growth::Ahead,
        search::is_shorter,
        states::{MOST_INVARIANTS, Permutation, Recurring, State, StateSpace, Step, Successors, id},
    },
    verdict::{self, key_history::KeyHistory},
};

/// What invariants may ask that depends on how the moves of several clients followed each other.
const OF_SEVERAL: [&str; 7] =
    ["before", "deleted_by_another", "metric_by", "orphaned", "renewed_by_another", "role", "woken_by"];

// Where in a state what stands. From `CLIENTS` on there is one number for each actor.
const MOVES: usize = 0;
const BROKEN: usize = 1;
const SHARED: usize = 3;
const CLIENTS: usize = 4;

/// A state that is known.
struct Known {
    /// An order that leads there.
    node: Node,
    /// What may follow, and where that leads, as far as it was tried.
    steps: Vec<(Pick, Option<State>)>,
    /// Where nothing follows: what the order came to.
    ending: Option<Ending>,
}

pub(crate) struct ReplayedStates<'x> {
    explorer: &'x mut Processes,
    known: HashMap<State, Known>,
    /// What one client has seen, and all that belongs to none.
    texts: IndexSet<String>,
    /// How many bytes these have.
    bytes: usize,
    /// Whether no more steps are to be taken.
    exhausted: bool,
    /// How many steps are known, and how many of them were taken.
    steps: (usize, usize),
    layers: Vec<Layer>,
    shortest_of: BTreeMap<usize, Vec<Pick>>,
}

/// Whether orders are counted by these states: on ZooKeeper, of whose operations it is not known which of them commute.
/// What a replica lacks is seen by nobody, nor when the lease of an etcd key ends, nor what a transaction sees of others.
pub(super) fn are_known(scenario: &Scenario) -> bool {
    let lab = scenario.lab();
    let is_seen = |part: &LabKind| !part.is_replicated() && part.product() != Product::Etcd;
    let is_zookeeper = |part: &LabKind| part.product() == Product::Zookeeper;
    let mut instructions = scenario.actors.iter().flat_map(|plan| &plan.program.instructions);
    let transacts = instructions.any(|instruction| match instruction {
        Instruction::Operate(operation) => match &operation.verb {
            PlannedVerb::Call(call) if call.product() == Product::Mariadb => {
                call.all_operands().any(|statement| Command::Sql(statement.pattern()).leaves().is_some())
            }
            _ => false,
        },
        _ => false,
    });
    let of_several = scenario.invariants.iter().any(|plan| match &plan.never {
        NeverPlan::Overlap(_) => false,
        NeverPlan::That(never) => {
            let mentions = never.mentions();
            OF_SEVERAL.iter().any(|name| mentions.names(name))
        }
    });
    // What a program from outside keeps to itself is not known.
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

    /// The state in which clients and servers are now, at the end of an order.
    fn state_here(&mut self, node: Node) -> Result<State, ExploreError> {
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
        #[expect(clippy::cast_possible_truncation, reason = "the halves of it")]
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

    /// The number of a text.
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
            let to = self.state_here(node.clone())?;
            if let Some(known) = self.known.get_mut(&at) {
                known.steps[n].1 = Some(to.clone());
                self.steps.1 += 1;
            }
            at = to;
        }
    }
}

impl StateSpace for ReplayedStates<'_> {
    /// Each step takes milliseconds.
    const ROUND: usize = 1;

    fn initial(&mut self) -> Result<State, ExploreError> {
        let node = self.explorer.begin()?;
        self.state_here(node)
    }

    /// Goes on to the end of one order.
    fn advance(&mut self, state: &[u32]) -> Result<bool, ExploreError> {
        if self.exhausted || self.known[state].steps.iter().all(|(_, to)| to.is_some()) {
            return Ok(false);
        }
        match self.walk(state) {
            // What was walked by then stands.
            Err(_) if self.explorer.is_called_off() => self.exhausted = true,
            walked => walked?,
        }
        Ok(true)
    }

    fn ahead(&self) -> Option<Ahead> {
        #[expect(clippy::cast_precision_loss, reason = "for people to read")]
        let done = self.steps.1 as f64 / self.steps.0.max(1) as f64;
        Some(Ahead { done, layers: self.layers.clone(), shortest_of: self.shortest_of.clone() })
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
        // What clients have seen only grows, and what is left of their waits depends on the machine: nothing comes again.
        Recurring { state: state.into(), goes_on: false, disturbed: false }
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

/// About how many bytes one takes, with the events of its last step.
const KNOWN_BYTES: usize = 4 << 10;

/// What was seen in an order.
struct Seen {
    by_actor: Vec<String>,
    /// What belongs to no client: when time passed and faults were, what changed servers, who waits inside them, whom changes
    /// woke.
    shared: String,
}

impl Seen {
    fn of(log: &Log, scenario: &Scenario) -> Self {
        let numbers = Numbers::of(log);
        // Moves take what the machine needs for them, and wait for nothing: until time is let pass, or somebody stands still,
        // it does not matter when something was.
        let passes = |kind: &EventKind| matches!(kind, EventKind::Chose(choice) if !is_move(choice));
        let timed = log.events().iter().any(|event| passes(&event.kind));
        let mut by_actor = vec![String::new(); scenario.actors.len()];
        let (mut shared, mut sent, mut waiting) = (String::new(), HashMap::new(), Vec::new());
        let mut history = KeyHistory::new(scenario);
        for (index, event) in log.events().iter().enumerate() {
            history.take(index, event);
            let Event { at, kind } = event;
            match kind {
                EventKind::Chose(choice) if !is_move(choice) => {
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
        let _ = write!(shared, "{now:?} {waiting:?} {}", history.herds_described());
        Self { by_actor, shared }
    }
}

fn is_move(choice: &Choice) -> bool {
    matches!(choice, Choice::Move { .. })
}

fn is_zookeeper(command: &Command) -> bool {
    command.product() == Some(Product::Zookeeper)
}

/// Whether a command may have changed a server or a lock: ZooKeeper does nothing of what it refuses.
fn changes(command: &Command, reply: &Reply) -> bool {
    let reads = matches!(command.access(), Some((_, Access::Read, _)));
    let refused = is_zookeeper(command) && matches!(reply, Reply::Error { .. });
    !reads && !refused
}

/// What ZooKeeper's numbers mean: it numbers all that is ever written, so they differ each time, and only which is smaller
/// counts; and sessions, which belong to clients.
struct Numbers {
    /// By session: whose it is, and which of all.
    sessions: HashMap<i64, String>,
    /// By number, how many smaller ones were seen.
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

    /// An event without its operation's number, which is the log's, and with the meaning of ZooKeeper's numbers.
    fn described(&self, kind: &EventKind, of_zookeeper: bool, timed: bool) -> String {
        // Events are written to recordings the same way.
        let mut event = serde_json::to_value(kind).unwrap_or_default();
        if let Some(fields) = event.as_object_mut() {
            fields.remove("op");
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

/// Goes through the fields whose numbers differ each time.
fn each_number(value: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if field.is_number() && NUMBERED.contains(&name.as_str()) {
                    visit(field);
                } else {
                    each_number(field, visit);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| each_number(value, visit)),
        _ => {}
    }
}
