//! The search by states: a state that several orders reach is expanded only once.
//!
//! Orders are the paths through the graph of states, so their counts are sums over it: the number of orders
//! that lead to a state is the sum over the states before it. The graph is acyclic, as every step makes a
//! move, injects a fault or lets time pass. Interchangeable clients stand for each other; then a step counts
//! once for each client that could take it (Clarke, Enders, Filkorn, Jha, "Exploiting Symmetry in Temporal
//! Logic Model Checking", Formal Methods in System Design 9, 1996).

mod counting;
#[cfg(test)]
mod tests;

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Instant,
};

use hashbrown::HashTable;
use indexmap::{IndexMap, IndexSet};

use super::{
    Bounds, ExploreError, Progress,
    explorer::{Pick, Stuck},
    growth::{Growth, SpaceProgress},
    memory::Memory,
    search::{Flow, Found},
};
use crate::run::race::Outcome;

/// Everything that decides how an order continues and what its outcome will be, as numbers.
pub(crate) type State = Box<[u32]>;

/// What follows a state.
pub(crate) enum Successors {
    Steps(Vec<Step>),
    End { outcome: Arc<Outcome>, cut: bool, stuck: Option<Stuck> },
}

/// A step to another state.
pub(crate) struct Step {
    pub(crate) pick: Pick,
    /// The number of clients that could take it with the same effect.
    pub(crate) multiplicity: u16,
    pub(crate) to: State,
}

/// The actor that an order names at each slot of a state.
pub(crate) type Permutation = Vec<usize>;

/// The part of a state that can recur.
pub(crate) struct Recurring {
    pub(crate) state: State,
    /// Whether moves are left, so that all successors are known.
    pub(crate) has_moves_left: bool,
    /// Whether a fault is in effect that may yet end: an actor that waits for that is in no livelock of its
    /// own.
    pub(crate) has_fault: bool,
}

pub(crate) trait StateSpace {
    /// The number of states that are expanded between two checks of the limits.
    const ROUND: usize = 256;

    fn initial(&mut self) -> Result<State, ExploreError>;

    fn successors(&mut self, state: &[u32]) -> Result<Successors, ExploreError>;

    /// Does a part of the work of `successors`, if that takes long. Returns `false` if nothing is left to do.
    fn advance(&mut self, _: &[u32]) -> Result<bool, ExploreError> {
        Ok(false)
    }

    /// The progress, if the space knows more than the expanded states.
    fn progress(&self) -> Option<SpaceProgress> {
        None
    }

    /// The invariants that were broken on the way to a state, one bit each.
    fn broken(&self, state: &[u32]) -> u64;

    /// Everything of a state that decides what may follow, without the moves that are left and the history.
    fn recurring(&mut self, state: &[u32]) -> Recurring;

    /// Called when time or memory is up. Returns whether states can still be expanded as far as their steps
    /// have been taken.
    fn exhaust(&mut self) -> bool {
        false
    }

    /// The approximate memory that the space takes in addition to the states, in bytes.
    fn bytes(&self) -> usize;

    /// The permutation in the initial state.
    fn identity(&self) -> Permutation;

    /// Of the steps that a step stands for, returns the first as an order names it, and the permutation after
    /// it.
    fn concrete(
        &mut self,
        state: &[u32],
        pick: Pick,
        permutation: &Permutation,
    ) -> Result<(Pick, Permutation), ExploreError>;
}

/// An order, and the states on its way.
type Walked = (Vec<Pick>, Vec<usize>);

/// Each invariant has one bit.
pub(crate) const MOST_INVARIANTS: usize = 64;
/// The bytes that counting takes for each state, and that finding recurring states takes for each step.
const COUNTING: usize = 48;
const RECURRING: usize = 24;

/// A step to a state, given by index.
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) to: u32,
    multiplicity: u16,
    /// The index of its pick.
    pick: u16,
}

/// States, each stored once, in the order in which they were found: all their numbers in one vector.
pub(crate) struct States {
    width: usize,
    numbers: Vec<u32>,
    /// The indices of the states, by hash.
    table: HashTable<u32>,
    hasher: RandomState,
}

impl States {
    pub(crate) fn of(first: &[u32]) -> Self {
        let mut states = Self {
            width: first.len(),
            numbers: Vec::new(),
            table: HashTable::new(),
            hasher: RandomState::new(),
        };
        states.insert(first);
        states
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len() / self.width
    }

    pub(crate) fn get(&self, n: usize) -> &[u32] {
        &self.numbers[n * self.width..][..self.width]
    }

    /// Inserts a state, unless it is known, and returns its index.
    pub(crate) fn insert(&mut self, state: &[u32]) -> usize {
        let new = self.len();
        let (numbers, hasher, width) = (&self.numbers, &self.hasher, self.width);
        let at = |n: u32| &numbers[n as usize * width..][..width];
        let hash = hasher.hash_one(state);
        if let Some(known) = self.table.find(hash, |n| at(*n) == state) {
            return *known as usize;
        }
        self.table.insert_unique(hash, id(new), |n| hasher.hash_one(at(*n)));
        push_all(&mut self.numbers, state);
        new
    }

    fn bytes(&self) -> usize {
        self.numbers.capacity() * size_of::<u32>() + self.table.allocation_size()
    }
}

/// Appends to a vector. A large one grows by an eighth: after doubling, up to half of the memory would be
/// unused.
fn push_all<T: Copy>(to: &mut Vec<T>, more: &[T]) {
    if to.capacity() - to.len() < more.len() {
        to.reserve_exact(more.len().max(to.len() / 8));
    }
    to.extend_from_slice(more);
}

/// A state in which orders end.
pub(crate) struct End {
    pub(crate) state: u32,
    outcome: u32,
    pub(crate) cut: bool,
    pub(crate) stuck: Option<Stuck>,
}

/// The known states, in the order in which they were found, and the steps between them.
pub(crate) struct Graph {
    pub(crate) states: States,
    edges: Vec<Edge>,
    /// Where the steps of each expanded state begin, and where those of the last one end.
    starts: Vec<u32>,
    picks: IndexSet<Pick>,
    outcomes: IndexMap<Arc<Outcome>, ()>,
    pub(crate) ends: Vec<End>,
}

/// A graph whose orders have not been counted yet.
pub(crate) struct Expanded {
    graph: Graph,
    /// Whether all states were expanded.
    complete: bool,
    bytes: usize,
    /// Whether these are more than allowed.
    full: bool,
}

/// Expands all states, or as many as time and memory allow.
pub(crate) fn expand(
    space: &mut impl StateSpace,
    bounds: &Bounds,
    began: Instant,
    report: &mut impl FnMut(&Progress) -> Flow,
) -> Result<Expanded, ExploreError> {
    let mut graph = Graph {
        states: States::of(&space.initial()?),
        edges: Vec::new(),
        starts: vec![0],
        picks: IndexSet::new(),
        outcomes: IndexMap::new(),
        ends: Vec::new(),
    };
    let mut memory = Memory::new(bounds.memory);
    let complete = graph.expand_all(space, bounds, (began, &mut memory), report)?;
    let bytes = memory.taken(graph.bytes() + space.bytes(), graph.counting_bytes());
    Ok(Expanded { graph, complete, bytes, full: !complete && bytes > bounds.memory })
}

impl Expanded {
    /// Returns the findings, and whether they are complete.
    pub(crate) fn count(self, space: &mut impl StateSpace) -> Result<(Found, bool), ExploreError> {
        let Self { graph, complete, bytes, full } = self;
        let mut found = graph.count_orders(space, complete)?;
        (found.space.bytes, found.space.full) = (bytes as u64, full);
        Ok((found, complete))
    }
}

impl Graph {
    fn expand_all<S: StateSpace>(
        &mut self,
        space: &mut S,
        bounds: &Bounds,
        (began, memory): (Instant, &mut Memory),
        report: &mut impl FnMut(&Progress) -> Flow,
    ) -> Result<bool, ExploreError> {
        let (mut at, mut complete) = (0, true);
        let mut growth = Growth::from(space.broken(self.states.get(0)));
        let mut may_continue = |growth: &mut Growth, graph: &Self, space: &mut S, at| {
            let progress = growth.progress(graph, space, at, began.elapsed())?;
            let in_time = progress.wall <= bounds.longest;
            Ok::<_, ExploreError>(
                report(&progress).is_continue()
                    && in_time
                    && !memory.is_full(graph.bytes() + space.bytes(), graph.counting_bytes()),
            )
        };
        while at < self.states.len() {
            let state = State::from(self.states.get(at));
            while complete && space.advance(&state)? {
                complete = may_continue(&mut growth, self, space, at)?;
            }
            if !complete && !space.exhaust() {
                break;
            }
            match space.successors(&state)? {
                Successors::End { outcome, cut, stuck } => {
                    let outcome = self.outcomes.insert_full(outcome, ()).0;
                    self.ends.push(End { state: id(at), outcome: id(outcome), cut, stuck });
                }
                Successors::Steps(steps) => {
                    for Step { pick, multiplicity, to } in steps {
                        let broken = space.broken(&to);
                        let known = self.states.len();
                        let to = id(self.states.insert(&to));
                        if self.states.len() > known {
                            growth.add(broken);
                        }
                        // Actors, links and servers are far too few for more picks than that.
                        let pick = u16::try_from(self.picks.insert_full(pick).0).unwrap_or(u16::MAX);
                        push_all(&mut self.edges, &[Edge { to, multiplicity, pick }]);
                    }
                }
            }
            push_all(&mut self.starts, &[id(self.edges.len())]);
            at += 1;
            growth.note_expanded(at, self.states.len());
            if complete && at % S::ROUND == 0 {
                complete = may_continue(&mut growth, self, space, at)?;
            }
        }
        Ok(complete)
    }

    fn bytes(&self) -> usize {
        self.states.bytes()
            + self.edges.capacity() * size_of::<Edge>()
            + self.starts.capacity() * 4
            + self.ends.capacity() * size_of::<End>()
    }

    /// The bytes that counting will take.
    fn counting_bytes(&self) -> usize {
        let counting = self.states.len() * COUNTING;
        let cut = self.ends.iter().any(|end| end.cut);
        let recurrence = if cut { counting + self.states.bytes() + self.edges.len() * RECURRING } else { 0 };
        counting + recurrence
    }

    /// The number of steps between states.
    pub(crate) fn steps(&self) -> usize {
        self.edges.len()
    }

    pub(crate) fn pick(&self, edge: Edge) -> Pick {
        self.picks[edge.pick as usize]
    }

    pub(crate) fn edges_of(&self, state: usize) -> &[Edge] {
        match (self.starts.get(state), self.starts.get(state + 1)) {
            (Some(from), Some(to)) => &self.edges[*from as usize..*to as usize],
            _ => &[],
        }
    }

    /// The states in topological order (Kahn 1962).
    pub(crate) fn topological_order(&self) -> Vec<u32> {
        let mut before = vec![0_u32; self.states.len()];
        for edge in &self.edges {
            before[edge.to as usize] += 1;
        }
        let mut sorted = Vec::with_capacity(self.states.len());
        sorted.push(0);
        let mut at = 0;
        while let Some(state) = sorted.get(at).copied() {
            for edge in self.edges_of(state as usize) {
                before[edge.to as usize] -= 1;
                if before[edge.to as usize] == 0 {
                    sorted.push(edge.to);
                }
            }
            at += 1;
        }
        sorted
    }
}

pub(crate) fn bits(set: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| set & (1 << bit) != 0)
}

/// An index as states and edges store it. Memory ends before these indices do.
pub(crate) fn id(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
