//! The states of orders that are explored in process, as numbers: actors' local states, servers' contents and
//! the holders of locks are each stored once (Holzmann, "State Compression in SPIN", Third SPIN Workshop
//! 1997).
//!
//! The effect of a move depends on nothing but its actor's own state, the servers' contents and the time. So
//! a move is carried out on the servers once, and remembered.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use indexmap::{IndexMap, IndexSet};

use super::{
    in_process::{InProcess, Node},
    keyspace::Keyspace,
    one_by_one,
    rules::{ClientState, Tally, operation_name},
    symmetry::Symmetry,
    time_command,
    tracked::Tracked,
    trail::Trail,
    transactions::Transactions,
};
use crate::{
    clock::LessonTime,
    lesson::{Scenario, plan::Program},
    log::{ActorId, Event, EventKind, Observed},
    program::{Actor, Actors, LiveNames, State as ActorState, Times, TimesOfPrograms, actor_id},
    run::explore::{
        Broken, ClientPlace, ExploreError, Explorer, MOST_STATES, Pick, ServerContents, StateGraph,
        StateNode, StateStep, StepFootprint, Whereabouts,
        states::{Permutation, Recurring, State, StateSpace, Step, Successors, id},
    },
};

// The layout of a state. From `SLOTS` on there is one number for each actor.
const AT: usize = 0;
const MOVES: usize = 2;
/// The number of faults, and how often time passed although an actor could move.
const FAULTS: usize = 3;
/// The servers whose clocks are wrong, one bit each.
const SKEWED: usize = 4;
/// The number of a history: the counters, and which locks were ever held and by too many.
const HISTORY: usize = 5;
const BROKEN: usize = 6;
/// The number of what all servers hold.
const CONTENTS: usize = 8;
const SLOTS: usize = 9;

/// The part of a state that belongs to one actor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Slot {
    /// The number of the actor's local state.
    local: u32,
    /// The locks that the actor holds, and whether it shares each.
    holds: Vec<(String, bool)>,
    client: ClientState,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct History {
    counters: Vec<(String, i64)>,
    held: Vec<String>,
    violated: Vec<String>,
    /// The history of the keys whose past an invariant reads.
    keys: Vec<String>,
}

/// The approximate sizes in bytes of a history with and without that of keys, and of an actor's local state.
const PAST_BYTES: usize = 4 << 10;
const HISTORY_BYTES: usize = 1 << 10;
const LOCAL_BYTES: usize = 2 << 10;

/// The effect of a move on its actor and the servers.
#[derive(Clone, Copy)]
struct MoveEffect {
    local: u32,
    contents: u32,
    /// The number of the events that are counted, or that change who holds a lock.
    events: u32,
}

/// The key of a move: local state, time, contents, the servers whose clocks are wrong, and the cut links of
/// the client.
type MoveKey = (u32, LessonTime, u32, u32, u32);

/// What broken invariants depend on: history, contents, time and, if that is read, which actors have
/// finished.
type BrokenKey = (u32, u32, LessonTime, u32);

/// An actor, and the unfinished transactions of its connections.
type LocalState = (Arc<Actor>, Transactions);

pub(crate) struct CollapsedStates<'x> {
    explorer: &'x mut InProcess,
    live: HashMap<*const Program, LiveNames>,
    locals: IndexSet<String>,
    /// Local states without the remaining rounds of loops; `loops` has the number here of each local state.
    unbounded: IndexSet<String>,
    loops: Vec<u32>,
    recurring: IndexSet<(u32, ClientState)>,
    /// By local state and actor: the actor in that state.
    actors: Vec<Vec<Option<LocalState>>>,
    slots: IndexSet<Slot>,
    contents: IndexSet<Vec<Arc<Keyspace>>>,
    histories: IndexSet<History>,
    /// A representative of each history.
    tracked: Vec<Tracked>,
    moves: HashMap<MoveKey, MoveEffect>,
    /// The events of moves, by their text.
    events: IndexMap<String, Arc<[EventKind]>>,
    /// The broken invariants, one bit each.
    broken: HashMap<BrokenKey, u64>,
    /// Which actors have finished.
    ends: IndexSet<Vec<bool>>,
    /// The size of the contents in bytes, without their keys.
    contents_bytes: usize,
    /// The counters that an invariant or an outcome depends on.
    counters: Vec<String>,
    /// Whether any invariant reads which actors have finished.
    asks_for_ends: bool,
    symmetry: Symmetry,
    /// If the time of every state is 0 and later times are relative to that: the variables of each program that
    /// hold times. `None` if something would notice that.
    relative: Option<TimesOfPrograms>,
}

impl InProcess {
    /// Whether orders can be counted by states: whether it is known what all invariants depend on.
    pub(crate) fn has_states(&self) -> bool {
        one_by_one::because_of_invariants(&self.scenario).is_none()
    }
}

impl<'x> CollapsedStates<'x> {
    pub(crate) fn new(explorer: &'x mut InProcess) -> Self {
        let watches = Arc::clone(&explorer.watches);
        let asked = watches.iter().flat_map(|watch| watch.reads.iter().flat_map(|reads| &reads.counters));
        let counters = asked.chain(explorer.cache.counters()).cloned().collect();
        // Who wrote a key tells clients apart.
        let symmetry = if explorer.past.is_empty() && explorer.symmetry {
            Symmetry::of(&explorer.scenario, &explorer.rules)
        } else {
            Symmetry::none(&explorer.scenario)
        };
        Self {
            relative: times(&explorer.scenario),
            asks_for_ends: watches.iter().flat_map(|watch| &watch.reads).any(|reads| reads.ends),
            explorer,
            live: HashMap::new(),
            locals: IndexSet::new(),
            unbounded: IndexSet::new(),
            loops: Vec::new(),
            recurring: IndexSet::new(),
            actors: Vec::new(),
            slots: IndexSet::new(),
            contents: IndexSet::new(),
            histories: IndexSet::new(),
            tracked: Vec::new(),
            moves: HashMap::new(),
            events: IndexMap::new(),
            broken: HashMap::new(),
            ends: IndexSet::new(),
            contents_bytes: 0,
            counters,
            symmetry,
        }
    }

    /// Returns all states and the steps between them, or `None` if they are too many.
    pub(crate) fn graph(&mut self) -> Result<Option<StateGraph>, ExploreError> {
        let beginning = self.explorer.begin()?.trail.last().to_vec();
        let mut graph = StateGraph { states: Vec::new(), beginning };
        let mut known = IndexSet::from([self.initial()?]);
        while let Some(state) = known.get_index(graph.states.len()).cloned() {
            if known.len() > MOST_STATES {
                return Ok(None);
            }
            let node = self.decode(&state);
            let mut steps = Vec::new();
            for pick in self.explorer.situation(&node).picks(&self.explorer.rules) {
                let (next, _) = self.explorer.take(&node, pick)?;
                let takes = next.now.since(node.now);
                let (words, events) = (self.words(&node, pick, takes), next.trail.last().to_vec());
                let (to, _) = self.uncached_successor(&node, &state, pick)?;
                steps.push(StateStep { words, to: known.insert_full(to).0, events, takes });
            }
            let described = self.described(&node, &state, steps)?;
            graph.states.push(described);
        }
        Ok(Some(graph))
    }

    /// A short description of a step: `A.check`.
    fn words(&self, node: &Node, pick: Pick, takes: Duration) -> String {
        let label = |actor: ActorId| {
            let operation = node.actors[actor].next_operation();
            operation.map(|operation| operation.label.as_str()).unwrap_or_default()
        };
        match pick {
            Pick::Move(actor) => operation_name(&self.explorer.scenario, actor, label(actor)),
            Pick::LoseReply(actor, _) => {
                format!("{} (reply lost)", operation_name(&self.explorer.scenario, actor, label(actor)))
            }
            _ if pick.is_time() => format!("+{} s", crate::text::seconds((takes.as_micros() + 500) / 1000)),
            _ => pick.words(&self.explorer.scenario),
        }
    }

    fn described(
        &mut self,
        node: &Node,
        state: &[u32],
        steps: Vec<StateStep>,
    ) -> Result<StateNode, ExploreError> {
        let servers = self.explorer.servers.states(&node.keyspaces, node.now)?.into_iter();
        let servers = servers.map(|state| {
            let keys = match state.observed {
                Observed::Redis(keyspace) => keyspace.keys,
                _ => BTreeMap::new(),
            };
            let left = |ends: LessonTime| ends.since(node.now);
            let keys = keys.into_iter().map(|(name, key)| (name, key.value, key.expires_at.map(left)));
            ServerContents { name: state.server, keys: keys.collect() }
        });
        let scenario = &self.explorer.scenario;
        let clients = scenario.actors.iter().enumerate().map(|(n, plan)| {
            let actor = &node.actors[actor_id(n)];
            let place = match (actor.state(), actor.waits_until(), actor.next_operation()) {
                (ActorState::Finished, ..) => Whereabouts::Finished,
                (ActorState::Dead, ..) => Whereabouts::Dead,
                (_, Some(until), _) => Whereabouts::Waits(until.since(node.now)),
                (.., operation) => Whereabouts::Before(
                    operation.map(|operation| operation.label.clone()).unwrap_or_default(),
                ),
            };
            let held = node.tracked.holding.holders_of_all().filter(|(actor, ..)| actor.0 as usize == n);
            ClientPlace {
                name: plan.actor.name.clone(),
                place,
                holds: held.map(|(_, lock, _)| lock.to_owned()).collect(),
                frozen: node.tally.clients[self.symmetry.client_of(n)].frozen,
            }
        });
        let clients = clients.collect();
        let broken = get_u64(state, BROKEN);
        let broken = (0..scenario.invariants.len()).filter(|n| broken & (1 << n) != 0).collect();
        Ok(StateNode { servers: servers.collect(), clients, broken, steps })
    }

    /// Returns the number of an actor's local state.
    fn local(&mut self, n: usize, actor: &Arc<Actor>, transactions: &Transactions) -> u32 {
        let program = actor.program();
        let plans = &self.explorer.scenario.actors;
        let is_given = |name: &str| plans.iter().any(|plan| plan.scope.get(name).is_some());
        let live = self.live.entry(Arc::as_ptr(program)).or_insert_with(|| LiveNames::of(program, is_given));
        let waits = Some(transactions).filter(|transactions| !transactions.is_empty() && !actor.is_over());
        let describe = |bounded| format!("{} {waits:?}", actor.local_state(live, bounded));
        let (local, new) = self.locals.insert_full(describe(true));
        if new {
            self.loops.push(id(self.unbounded.insert_full(describe(false)).0));
            self.actors.push(vec![None; self.explorer.scenario.actors.len()]);
        }
        self.actors[local][n].get_or_insert_with(|| (Arc::clone(actor), transactions.clone()));
        id(local)
    }

    /// Returns actor `n` in a local state.
    fn actor(&mut self, local: u32, n: usize) -> &LocalState {
        let known = &mut self.actors[local as usize];
        if known[n].is_none() {
            let any = known.iter().flatten().next().cloned();
            known[n] = any.map(|(actor, transactions)| (Arc::new(actor.with_id(actor_id(n))), transactions));
        }
        // Each local state was inserted with an actor that is in it.
        known[n].as_ref().unwrap_or_else(|| unreachable!())
    }

    fn contents(&mut self, keyspaces: &[Arc<Keyspace>], at: LessonTime) -> u32 {
        let living: Vec<_> =
            keyspaces.iter().map(|keyspace| self.explorer.servers.living(keyspace, at)).collect();
        let bytes = living.iter().map(|keyspace| keyspace.bytes()).sum::<usize>();
        let (number, new) = self.contents.insert_full(living);
        self.contents_bytes += if new { bytes } else { 0 };
        id(number)
    }

    /// Returns the number of a history, for servers that hold `contents`.
    fn history(&mut self, tracked: &Tracked, contents: u32, now: LessonTime) -> Result<u32, ExploreError> {
        let keyspaces = &self.contents[contents as usize];
        let keys = self.explorer.described_history(tracked, keyspaces, now)?;
        let count = |name: &String| (name.clone(), tracked.counters.get(name).copied().unwrap_or(0));
        let history = History {
            counters: self.counters.iter().map(count).collect(),
            held: tracked.holding.ever_held().map(str::to_owned).collect(),
            violated: tracked.violated().map(str::to_owned).collect(),
            keys,
        };
        let (history, new) = self.histories.insert_full(history);
        if new {
            self.tracked.push(tracked.clone());
        }
        Ok(id(history))
    }

    fn slot(&mut self, n: usize, local: u32, tracked: &Tracked, client: ClientState) -> u32 {
        let own = tracked.holding.holders_of_all().filter(|(actor, ..)| actor.0 as usize == n);
        let mut holds: Vec<_> = own.map(|(_, lock, shares)| (lock.to_owned(), shares)).collect();
        holds.sort_unstable();
        id(self.slots.insert_full(Slot { local, holds, client }).0)
    }

    /// Shifts a node to time 0, unless something would notice.
    fn rebased(&mut self, mut node: Node) -> Node {
        let Some(times) = self.relative.as_ref().filter(|_| node.now != LessonTime::ZERO) else {
            return node;
        };
        let by = node.now.since(LessonTime::ZERO);
        node.actors.bring_forward(by, times);
        for keyspace in &mut node.keyspaces {
            let living = self.explorer.servers.living(keyspace, node.now);
            *keyspace = if living.has_ends() {
                self.explorer.servers.intern(living.aged(node.now.as_millis()))
            } else {
                living
            };
        }
        node.now = LessonTime::ZERO;
        node
    }

    /// The state of a node. `before` is the node from which a step led there, and its state.
    fn encode(
        &mut self,
        node: &Node,
        before: Option<(&Node, &[u32])>,
        broken: u64,
    ) -> Result<Vec<u32>, ExploreError> {
        let contents = self.contents(&node.keyspaces, node.now);
        let history = self.history(&node.tracked, contents, node.now)?;
        let mut state = vec![0; SLOTS];
        set_u64(&mut state, AT, node.now.as_nanos().cast_unsigned());
        state[MOVES] = id(node.tally.moves);
        state[FAULTS] = id(node.tally.faults) << 16 | id(node.tally.slow);
        state[SKEWED] = node.tally.skewed;
        (state[HISTORY], state[CONTENTS]) = (history, contents);
        for n in 0..node.actors.len() {
            let (actor, transactions) = (node.actors.shared(actor_id(n)), &node.transactions[n]);
            let same = before.filter(|(known, _)| {
                Arc::ptr_eq(known.actors.shared(actor_id(n)), actor) && known.transactions[n] == *transactions
            });
            let local = match same {
                Some((_, state)) => self.slots[state[SLOTS + n] as usize].local,
                None => self.local(n, actor, transactions),
            };
            let client = node.tally.clients[self.symmetry.client_of(n)];
            state.push(self.slot(n, local, &node.tracked, client));
        }
        let broken = broken | self.broken_at(&state)?;
        set_u64(&mut state, BROKEN, broken);
        Ok(state)
    }

    /// The invariants that are broken in a state, regardless of earlier states.
    fn broken_at(&mut self, state: &[u32]) -> Result<u64, ExploreError> {
        let is_over = |slot: &u32| {
            let local = self.slots[*slot as usize].local;
            self.actors[local as usize].iter().flatten().any(|(actor, _)| actor.is_over())
        };
        let over = state[SLOTS..].iter().filter(|_| self.asks_for_ends).map(is_over).collect();
        let over = id(self.ends.insert_full(over).0);
        let key = (state[HISTORY], state[CONTENTS], time(state), over);
        if let Some(known) = self.broken.get(&key) {
            return Ok(*known);
        }
        let node = self.decode(state);
        let broken = self.evaluate(&node)?;
        self.broken.insert(key, broken);
        Ok(broken)
    }

    /// The invariants that are broken at a node, one bit each.
    fn evaluate(&mut self, node: &Node) -> Result<u64, ExploreError> {
        let mut broken = 0;
        for exceeded in node.tracked.broken(&self.explorer.scenario) {
            broken |= 1 << exceeded.invariant;
        }
        for (n, watch) in Arc::clone(&self.explorer.watches).iter().enumerate() {
            if self.explorer.holds(n, watch, node)? {
                broken |= 1 << watch.invariant;
            }
        }
        Ok(broken)
    }

    fn decode(&mut self, state: &[u32]) -> Node {
        let (mut actors, mut transactions, mut holders, mut dead) = (vec![], vec![], vec![], vec![]);
        let mut tally = Tally {
            moves: state[MOVES] as usize,
            faults: (state[FAULTS] >> 16) as usize,
            slow: (state[FAULTS] & 0xffff) as usize,
            skewed: state[SKEWED],
            ..Tally::new(&self.explorer.scenario)
        };
        for (n, slot) in state[SLOTS..].iter().enumerate() {
            let slot = &self.slots[*slot as usize];
            tally.clients[self.symmetry.client_of(n)] = slot.client;
            holders.extend(slot.holds.iter().map(|(lock, shares)| (actor_id(n), lock.clone(), *shares)));
            let (actor, own) = self.actor(slot.local, n).clone();
            dead.extend(matches!(actor.state(), ActorState::Dead).then(|| actor_id(n)));
            actors.push(actor);
            transactions.push(own);
        }
        let mut tracked = self.tracked[state[HISTORY] as usize].clone();
        let holders = holders.iter().map(|(actor, lock, shares)| (*actor, lock.as_str(), *shares));
        tracked.holding.replace_holders(holders, dead.into_iter());
        let invariants = 0..self.explorer.scenario.invariants.len();
        let broken = invariants.filter(|invariant| get_u64(state, BROKEN) & (1 << invariant) != 0);
        Node {
            actors: Actors::of(actors),
            now: time(state),
            tally,
            transactions,
            steps: 0,
            keyspaces: self.contents[state[CONTENTS] as usize].clone(),
            tracked,
            broken: broken.map(|invariant| Broken { invariant, ways: Vec::new() }).collect(),
            trail: Trail::default(),
        }
    }

    /// The state that a step leads to, and the previous index of each of its slots.
    fn successor(
        &mut self,
        node: &Node,
        state: &[u32],
        pick: Pick,
    ) -> Result<(State, Vec<usize>), ExploreError> {
        let Pick::Move(actor) = pick else { return self.uncached_successor(node, state, pick) };
        if others_watch(node, actor) {
            return self.uncached_successor(node, state, pick);
        }
        let n = actor.0 as usize;
        let Slot { local, client, .. } = self.slots[state[SLOTS + n] as usize];
        let key = (local, node.now, state[CONTENTS], state[SKEWED], client.cut);
        if !self.moves.contains_key(&key) {
            let asks_for_past = !self.explorer.past.is_empty();
            let (next, _) = self.explorer.take(node, pick)?;
            let kinds = next.trail.last().iter().map(|event| &event.kind);
            let kinds: Arc<[EventKind]> =
                kinds.filter(|kind| matters(kind, asks_for_past)).cloned().collect();
            let moved = MoveEffect {
                local: self.local(n, next.actors.shared(actor), &next.transactions[n]),
                contents: self.contents(&next.keyspaces, next.now),
                events: id(self.events.insert_full(format!("{kinds:?}"), kinds).0),
            };
            self.moves.insert(key, moved);
        }
        let MoveEffect { local, contents, events } = self.moves[&key];
        let events = Arc::clone(&self.events[events as usize]);
        let mut next = state.to_vec();
        next[MOVES] += 1;
        next[CONTENTS] = contents;
        if events.is_empty() {
            let slot = Slot { local, ..self.slots[state[SLOTS + n] as usize].clone() };
            next[SLOTS + n] = id(self.slots.insert_full(slot).0);
        } else {
            let mut tracked = node.tracked.clone();
            if !self.explorer.past.is_empty() {
                tracked.resume(&self.explorer.servers.states(&node.keyspaces, node.now)?);
            }
            for kind in &*events {
                let event = Event { at: node.now, kind: of_actor(kind.clone(), actor) };
                tracked.take(1, &event, &mut StepFootprint::default());
            }
            next[HISTORY] = self.history(&tracked, contents, node.now)?;
            next[SLOTS + n] = self.slot(n, local, &tracked, client);
        }
        let broken = get_u64(state, BROKEN) | self.broken_at(&next)?;
        set_u64(&mut next, BROKEN, broken);
        Ok(self.canonical(next))
    }

    /// As [`CollapsedStates::successor`], for a step that is not cached.
    fn uncached_successor(
        &mut self,
        node: &Node,
        state: &[u32],
        pick: Pick,
    ) -> Result<(State, Vec<usize>), ExploreError> {
        let (next, _) = self.explorer.take(node, pick)?;
        // While time passes, an invariant may be broken for a moment only.
        let passing = next.broken.iter().fold(0, |all, broken| all | 1 << broken.invariant);
        let next = self.rebased(next);
        let next = self.encode(&next, Some((node, state)), get_u64(state, BROKEN) | passing)?;
        Ok(self.canonical(next))
    }

    /// Sorts the slots of a state whose actors are interchangeable. Also returns the previous index of each
    /// slot.
    fn canonical(&self, mut state: Vec<u32>) -> (State, Vec<usize>) {
        let from = self.symmetry.sort(&mut state[SLOTS..]);
        (state.into(), from)
    }
}

impl StateSpace for CollapsedStates<'_> {
    fn initial(&mut self) -> Result<State, ExploreError> {
        let node = self.explorer.begin()?;
        Ok(self.encode(&node, None, 0)?.into())
    }

    fn successors(&mut self, state: &[u32]) -> Result<Successors, ExploreError> {
        let node = self.decode(state);
        let picks = self.explorer.situation(&node).picks(&self.explorer.rules);
        if picks.is_empty() {
            let ending = self.explorer.ending(&node)?;
            return Ok(Successors::End { outcome: ending.outcome, cut: ending.cut, stuck: ending.stuck });
        }
        let mut steps = Vec::with_capacity(picks.len());
        for pick in picks {
            let actors = self.symmetry.interchangeable(&state[SLOTS..], pick);
            // The first interchangeable actor takes the step for all.
            if actors.first().copied() == self.symmetry.actor_of(pick) {
                let (to, _) = self.successor(&node, state, pick)?;
                let multiplicity = u16::try_from(actors.len().max(1)).unwrap_or(u16::MAX);
                steps.push(Step { pick, multiplicity, to });
            }
        }
        Ok(Successors::Steps(steps))
    }

    fn broken(&self, state: &[u32]) -> u64 {
        get_u64(state, BROKEN)
    }

    fn recurring(&mut self, state: &[u32]) -> Recurring {
        let mut recurring = State::from(state);
        for at in [MOVES, HISTORY, BROKEN, BROKEN + 1] {
            recurring[at] = 0;
        }
        let mut has_fault = false;
        for slot in &mut recurring[SLOTS..] {
            let Slot { local, client, .. } = self.slots[*slot as usize];
            has_fault |= client.frozen || client.cut != 0;
            *slot = id(self.recurring.insert_full((self.loops[local as usize], client)).0);
        }
        self.symmetry.sort(&mut recurring[SLOTS..]);
        let has_moves_left = (state[MOVES] as usize) < self.explorer.rules.moves;
        Recurring { state: recurring, has_moves_left, has_fault }
    }

    fn bytes(&self) -> usize {
        let past = if self.explorer.past.is_empty() { HISTORY_BYTES } else { PAST_BYTES };
        // Each interned item also takes a number, a hash and a byte in the table.
        let interned = |count: usize, size: usize| count * (size + 16);
        self.moves.capacity() * (size_of::<(MoveKey, MoveEffect)>() + 1)
            + self.broken.capacity() * (size_of::<(BrokenKey, u64)>() + 1)
            + interned(self.slots.len(), size_of::<Slot>())
            + interned(self.contents.len(), size_of::<Vec<Arc<Keyspace>>>())
            + self.contents_bytes
            + interned(self.histories.len(), past)
            + interned(self.locals.len(), LOCAL_BYTES)
    }

    fn identity(&self) -> Permutation {
        (0..self.explorer.scenario.actors.len()).collect()
    }

    fn concrete(
        &mut self,
        state: &[u32],
        pick: Pick,
        permutation: &Permutation,
    ) -> Result<(Pick, Permutation), ExploreError> {
        let mut permutation = permutation.clone();
        let mut concrete = pick;
        if let Some(n) = self.symmetry.actor_of(pick) {
            let actors = self.symmetry.interchangeable(&state[SLOTS..], pick);
            let first = actors.into_iter().min_by_key(|other| permutation[*other]).unwrap_or(n);
            permutation.swap(n, first);
            concrete = self.symmetry.with_actor(pick, permutation[n]);
        }
        let node = self.decode(state);
        let (_, from) = self.successor(&node, state, pick)?;
        Ok((concrete, from.into_iter().map(|n| permutation[n]).collect()))
    }
}

/// The variables of each program that hold times, or `None` if something would notice a shift of all times.
fn times(scenario: &Scenario) -> Option<TimesOfPrograms> {
    if time_command::is_asked_for(scenario) {
        return None;
    }
    let mut all = TimesOfPrograms::new();
    for plan in &scenario.actors {
        let times = Times::of(&plan.program, &plan.scope)?;
        // Programs that only differ in their parameters are one.
        let known = all.entry(Arc::as_ptr(&plan.program)).or_insert_with(|| times.clone());
        if *known != times {
            return None;
        }
    }
    all.retain(|_, times| !times.is_empty());
    Some(all)
}

/// Whether an actor's move may change the transactions of others.
fn others_watch(node: &Node, actor: ActorId) -> bool {
    let others = node.transactions.iter().enumerate().filter(|(n, _)| *n != actor.0 as usize);
    others.flat_map(|(_, own)| own.values()).any(|pending| pending.is_watching())
}

/// Whether an event counts, changes who holds a lock or, if `asks_for_past`, may have written a key.
fn matters(kind: &EventKind, asks_for_past: bool) -> bool {
    match kind {
        EventKind::Counted { .. } | EventKind::Believes { .. } | EventKind::GaveUp { .. } => true,
        EventKind::Sent { releases, .. } => asks_for_past || !releases.is_empty(),
        EventKind::Replied { .. } | EventKind::State(_) => asks_for_past,
        _ => false,
    }
}

/// The same event of another actor.
fn of_actor(mut kind: EventKind, other: ActorId) -> EventKind {
    if let EventKind::Counted { actor, .. }
    | EventKind::Believes { actor, .. }
    | EventKind::GaveUp { actor, .. }
    | EventKind::Sent { actor, .. }
    | EventKind::Replied { actor, .. } = &mut kind
    {
        *actor = other;
    }
    kind
}

fn time(state: &[u32]) -> LessonTime {
    LessonTime::from_nanos(get_u64(state, AT).cast_signed())
}

fn get_u64(state: &[u32], at: usize) -> u64 {
    u64::from(state[at]) | u64::from(state[at + 1]) << 32
}

#[expect(clippy::cast_possible_truncation, reason = "the value is split into two halves")]
fn set_u64(state: &mut [u32], at: usize, value: u64) {
    (state[at], state[at + 1]) = (value as u32, (value >> 32) as u32);
}
