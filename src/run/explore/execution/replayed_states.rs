//! The states of orders that are carried out with client processes. They cannot be put back, so each is gone on from once
//! and reached again by an order that led to it.
//!
//! What processes and servers keep to themselves is not asked for. Two orders come to the same where each client has seen
//! the same at the same times, and the servers were seen to hold the same: numbers that a server gives to whatever is
//! written, and to sessions, count by their order alone.

use std::{
    collections::{BTreeSet, HashMap},
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
    log::{Choice, Command, Event, EventKind, Log, Observed, Product},
    run::explore::{
        Ending, ExploreError, Explorer, Pick, StepFootprint,
        states::{Permutation, Recurring, State, StateSpace, Step, Successors, id},
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
}

/// Whether all that decides how an order goes on is seen by clients, or held by servers that can be asked for it. What a
/// replica lacks is not, nor when the lease of an etcd key ends, nor what a transaction sees of other ones.
pub(super) fn are_known(scenario: &Scenario) -> bool {
    let lab = scenario.lab();
    let seen = |part: &LabKind| !part.is_replicated() && part.product() != Product::Etcd;
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
    lab.parts().iter().all(seen) && !transacts && !of_several && scenario.invariants.len() <= 64
}

impl<'x> ReplayedStates<'x> {
    pub(super) fn new(explorer: &'x mut Processes) -> Self {
        explorer.looks_always = true;
        Self { explorer, known: HashMap::new(), texts: IndexSet::new(), bytes: 0, exhausted: false }
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
            node = self.explorer.go_on(&node, pick, &mut StepFootprint::everything())?;
            let to = self.state_here(node.clone())?;
            if let Some(known) = self.known.get_mut(&at) {
                known.steps[n].1 = Some(to.clone());
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

    fn successors(&mut self, state: &[u32]) -> Result<Successors, ExploreError> {
        while !self.exhausted && self.known[state].steps.iter().any(|(_, to)| to.is_none()) {
            match self.walk(state) {
                // What was walked by then stands.
                Err(_) if self.explorer.is_called_off() => self.exhausted = true,
                walked => walked?,
            }
        }
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
        // What clients have seen only grows: nothing comes again.
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
    /// What belongs to no client: what servers hold, when faults were, who waits in which order, whom a change woke.
    shared: String,
}

impl Seen {
    fn of(log: &Log, scenario: &Scenario) -> Self {
        let mut numbers = Numbers::of(log);
        let passes = |kind: &EventKind| match kind {
            EventKind::Chose(choice) => !matches!(choice, Choice::Move { .. }),
            EventKind::State(state) => ends_by_itself(&state.observed),
            _ => false,
        };
        // Moves take what the machine needs for them, and wait for nothing: until time is let pass, it only matters whose
        // wait ends first.
        numbers.timed = log.events().iter().any(|event| passes(&event.kind));
        let mut by_actor = vec![String::new(); scenario.actors.len()];
        let (mut held, mut faults, mut waiting) = (HashMap::new(), String::new(), Vec::new());
        let mut history = KeyHistory::new(scenario);
        for (index, Event { at, kind }) in log.events().iter().enumerate() {
            history.take(index, &log.events()[index]);
            match kind {
                EventKind::State(state) => drop(held.insert(&state.server, state)),
                EventKind::Chose(Choice::Inject(fault)) => {
                    let _ = write!(faults, "{fault} {at:?};");
                }
                EventKind::Blocked { op, actor, .. } => waiting.push((*op, *actor)),
                EventKind::Replied { op, .. } => waiting.retain(|(waits, _)| waits != op),
                _ => {}
            }
            if let Some(actor) = kind.actor() {
                let text = &mut by_actor[actor.0 as usize];
                let at = numbers.timed.then(|| at.as_nanos());
                let _ = writeln!(text, "{at:?} {}", numbers.described(kind));
            }
        }
        let mut held: Vec<_> = held.into_iter().collect();
        held.sort_unstable_by_key(|(server, _)| *server);
        let held = held.into_iter().map(|(_, state)| numbers.described(&EventKind::State(state.clone())));
        let waiting: Vec<_> = waiting.into_iter().map(|(_, actor)| actor).collect();
        let now = log.events().last().map(|event| event.at).filter(|_| numbers.timed);
        let shared = format!(
            "{now:?} {} {faults} {waiting:?} {}",
            held.collect::<Vec<_>>().join(" "),
            history.herds_described()
        );
        Self { by_actor, shared }
    }
}

/// What stands for numbers that differ each time.
struct Numbers {
    /// By session id: whose it is, and which of theirs.
    sessions: HashMap<i64, String>,
    /// By field and number, how many smaller ones there are.
    ranks: HashMap<i64, usize>,
    /// Whether it matters when something was.
    timed: bool,
}

impl Numbers {
    fn of(log: &Log) -> Self {
        let (mut sessions, mut numbers) = (HashMap::new(), BTreeSet::new());
        for event in log.events() {
            match &event.kind {
                EventKind::Session { actor, server, session } => {
                    let name = format!("{server} {} {}", actor.0, sessions.len());
                    sessions.entry(*session).or_insert(name);
                }
                kind @ (EventKind::Replied { .. } | EventKind::State(_)) => {
                    collect(&as_value(kind), false, &mut numbers);
                }
                _ => {}
            }
        }
        let ranks = numbers.into_iter().enumerate().map(|(rank, number)| (number, rank)).collect();
        Self { sessions, ranks, timed: true }
    }

    /// An event without its operation's number, which is the log's.
    fn described(&self, kind: &EventKind) -> String {
        let mut value = as_value(kind);
        if let Some(fields) = value.as_object_mut() {
            fields.remove("op");
            if !self.timed {
                fields.remove("until");
            }
        }
        self.rename(&mut value, false);
        value.to_string()
    }

    fn rename(&self, value: &mut Value, numbered: bool) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.rename(value, NUMBERED.contains(&name.as_str()));
                }
            }
            Value::Array(values) => {
                for value in values.iter_mut() {
                    self.rename(value, numbered);
                }
                // Who watches is a set.
                if values.iter().all(|value| value.as_str().is_some_and(|text| text.starts_with(SESSION))) {
                    values.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
                }
            }
            Value::String(text) => {
                for (session, name) in &self.sessions {
                    for written in [session.to_string(), format!("{session:x}")] {
                        if text.contains(&written) {
                            *text = text.replace(&written, name);
                        }
                    }
                }
            }
            Value::Number(number) => {
                let Some(number) = number.as_i64() else { return };
                if let Some(name) = self.sessions.get(&number) {
                    *value = Value::String(format!("{SESSION} {name}"));
                } else if let Some(rank) = self.ranks.get(&number).filter(|_| numbered) {
                    *value = Value::from(*rank);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Whether a server holds something that goes when its time has come.
fn ends_by_itself(observed: &Observed) -> bool {
    match observed {
        Observed::Redis(keyspace) => keyspace.keys.values().any(|key| key.expires_at.is_some()),
        _ => false,
    }
}

const SESSION: &str = "session of";

fn as_value(kind: &EventKind) -> Value {
    // Events are written to recordings the same way.
    serde_json::to_value(kind).unwrap_or_default()
}

/// The numbers in fields whose numbers differ each time.
fn collect(value: &Value, numbered: bool, into: &mut BTreeSet<i64>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, NUMBERED.contains(&name.as_str()), into);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, numbered, into)),
        Value::Number(number) if numbered => into.extend(number.as_i64()),
        _ => {}
    }
}
