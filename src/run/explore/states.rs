//! The search by states: a state that several orders reach is expanded only once.
//!
//! Orders are the paths through the graph of states, so their counts are sums over it: the number of orders
//! that lead to a state is the sum over the states before it. The graph is acyclic, as every step makes a
//! move, injects a fault or lets time pass. Interchangeable clients stand for each other; then a step counts
//! once for each client that could take it (Clarke, Enders, Filkorn, Jha, "Exploiting Symmetry in Temporal
//! Logic Model Checking", Formal Methods in System Design 9, 1996).

use std::{
    collections::BTreeMap,
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
    recurrence::Recurrence,
    search::{Flow, Found, Seen, Unavoidable},
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

/// The states of a scenario.
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

/// Expands all states, or as many as time and memory allow. Returns the findings, and whether they are
/// complete.
pub(crate) fn search(
    space: &mut impl StateSpace,
    bounds: &Bounds,
    began: Instant,
    report: &mut impl FnMut(&Progress) -> Flow,
) -> Result<(Found, bool), ExploreError> {
    let mut graph = Graph {
        states: States::of(&space.initial()?),
        edges: Vec::new(),
        starts: vec![0],
        picks: IndexSet::new(),
        outcomes: IndexMap::new(),
        ends: Vec::new(),
    };
    let mut memory = Memory::new();
    let complete = graph.expand_all(space, bounds, (began, &mut memory), report)?;
    let bytes = memory.taken(graph.bytes() + space.bytes(), graph.counting_bytes());
    let found = graph.count_orders(space, complete)?;
    Ok((Found { bytes: bytes as u64, full: !complete && bytes > Memory::MOST, ..found }, complete))
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

    /// The bytes that the graph takes.
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

    /// The number of orders that lead to each state.
    fn orders(&self, sorted: &[u32]) -> Vec<u128> {
        let mut orders = vec![0_u128; self.states.len()];
        orders[0] = 1;
        for state in sorted.iter().map(|state| *state as usize) {
            for edge in self.edges_of(state) {
                let more = orders[state].saturating_mul(u128::from(edge.multiplicity));
                let to = &mut orders[edge.to as usize];
                *to = to.saturating_add(more);
            }
        }
        orders
    }

    /// The number of orders that have ended, and of those that break an invariant.
    pub(crate) fn orders_so_far(&self, space: &impl StateSpace) -> (u128, u128) {
        let orders = self.orders(&self.topological_order());
        self.ends.iter().fold((0, 0), |(all, wrong): (u128, u128), end| {
            let (state, broken) = (end.state as usize, space.broken(self.states.get(end.state as usize)));
            let more = if broken == 0 { 0 } else { orders[state] };
            (all.saturating_add(orders[state]), wrong.saturating_add(more))
        })
    }

    fn count_orders(&self, space: &mut impl StateSpace, complete: bool) -> Result<Found, ExploreError> {
        let sorted = self.topological_order();
        let orders = self.orders(&sorted);
        let mut found = Found {
            tried: self.ends.len() as u64,
            states: self.starts.len() as u64 - 1,
            transitions: self.edges.len() as u64,
            states_left: (self.states.len() + 1 - self.starts.len()) as u64,
            ..Found::default()
        };
        let mut of_outcomes = vec![0_u128; self.outcomes.len()];
        let add = |sum: &mut u128, orders: u128| *sum = sum.saturating_add(orders);
        for end in &self.ends {
            let (orders, broken) =
                (orders[end.state as usize], space.broken(self.states.get(end.state as usize)));
            add(&mut found.orders, orders);
            add(&mut of_outcomes[end.outcome as usize], orders);
            if end.cut {
                add(&mut found.cut, orders);
            }
            if broken != 0 {
                add(&mut found.violations, orders);
            }
            for invariant in bits(broken) {
                add(found.by_invariant.entry(invariant).or_default(), orders);
            }
        }
        found.outcomes = self.first_orders(space, &sorted, &of_outcomes)?;
        // If the search was stopped, an invariant may be broken only in states whose ends are not known yet.
        let broken = (0..self.states.len()).fold(0, |all, state| all | space.broken(self.states.get(state)));
        for invariant in bits(broken) {
            found.by_invariant.entry(invariant).or_default();
            let Some((order, path)) = self.shortest(space, &sorted, 1 << invariant)? else { continue };
            found.offer(invariant, order);
            let is_wrong = |state: usize| space.broken(self.states.get(state)) & (1 << invariant) != 0;
            let last = self.unavoidable(&sorted, is_wrong, &path, complete);
            found.unavoidable.extend(last.map(|last| (invariant, last)));
        }
        self.count_stuck(space, (&sorted, &orders), complete, &mut found)?;
        Ok(found)
    }

    /// Finds from where on all orders of a path go wrong. `is_wrong`: whether an order that has reached a
    /// state goes wrong, if it ends there or was not continued from there.
    fn unavoidable(
        &self,
        sorted: &[u32],
        is_wrong: impl Fn(usize) -> bool,
        path: &[usize],
        complete: bool,
    ) -> Option<Unavoidable> {
        let mut all = vec![0.0_f64; self.states.len()];
        let mut wrong = all.clone();
        let mut avoidable = vec![false; self.states.len()];
        for end in &self.ends {
            let state = end.state as usize;
            all[state] = 1.0;
            avoidable[state] = !is_wrong(state);
            wrong[state] = if avoidable[state] { 0.0 } else { 1.0 };
        }
        for (state, avoidable) in avoidable.iter_mut().enumerate().skip(self.starts.len() - 1) {
            *avoidable = !is_wrong(state);
        }
        for state in backwards(sorted) {
            for edge in self.edges_of(state) {
                let (to, times) = (edge.to as usize, f64::from(edge.multiplicity));
                all[state] += times * all[to];
                wrong[state] += times * wrong[to];
                avoidable[state] |= avoidable[to];
            }
        }
        let Some(step) = path.iter().rposition(|state| avoidable[*state]) else {
            return Some(Unavoidable::ALWAYS);
        };
        let share = wrong[path[step]] / all[path[step]];
        let before = Some(share).filter(|share| complete && share.is_finite());
        (step + 1 < path.len()).then_some(Unavoidable { step: Some(step), before })
    }

    /// Counts the orders that ended although a program did not finish. Orders that were cut are included if
    /// the state in which they end was expanded elsewhere.
    fn count_stuck(
        &self,
        space: &mut impl StateSpace,
        (sorted, orders): (&[u32], &[u128]),
        complete: bool,
        found: &mut Found,
    ) -> Result<(), ExploreError> {
        let recurrence = complete
            .then(|| self.ends.iter().any(|end| end.cut).then(|| Recurrence::of(self, space)))
            .flatten();
        let mut kinds: BTreeMap<Stuck, (u128, Vec<bool>)> = BTreeMap::new();
        for end in &self.ends {
            let state = end.state as usize;
            let known = recurrence.as_ref().filter(|_| end.cut).and_then(|seen| seen.stuck(state));
            if let Some(stuck) = end.stuck.or(known) {
                let new = || (0, vec![false; self.states.len()]);
                let (sum, leads) = kinds.entry(stuck).or_insert_with(new);
                *sum = sum.saturating_add(orders[state]);
                leads[state] = true;
            }
        }
        for (stuck, (sum, ends)) in kinds {
            let mut leads = ends.clone();
            for state in backwards(sorted) {
                leads[state] |= self.edges_of(state).iter().any(|edge| leads[edge.to as usize]);
            }
            let (first, path) = self.walk(space, |_, edge| leads[edge.to as usize])?;
            found.stuck.insert(stuck, (sum, first));
            let last = self.unavoidable(sorted, |state| ends[state], &path, complete);
            found.unavoidable_stuck.extend(last.map(|last| (stuck, last)));
        }
        Ok(())
    }

    /// The first order with each outcome.
    fn first_orders(
        &self,
        space: &mut impl StateSpace,
        sorted: &[u32],
        orders: &[u128],
    ) -> Result<BTreeMap<Arc<Outcome>, Seen>, ExploreError> {
        let mut firsts = BTreeMap::new();
        // In batches of as many outcomes as a word has bits.
        for batch in (0..self.outcomes.len()).step_by(64) {
            let mut leads = vec![0_u64; self.states.len()];
            for end in &self.ends {
                let bit = (end.outcome as usize).checked_sub(batch).filter(|bit| *bit < 64);
                leads[end.state as usize] |= bit.map_or(0, |bit| 1 << bit);
            }
            for state in backwards(sorted) {
                let below = self.edges_of(state).iter().map(|edge| leads[edge.to as usize]);
                leads[state] |= below.fold(0, |all, one| all | one);
            }
            let outcomes = self.outcomes.keys().zip(orders).skip(batch).take(64);
            for (n, (outcome, orders)) in outcomes.enumerate() {
                let bit = 1 << n;
                let (first, path) = self.walk(space, |_, edge| leads[edge.to as usize] & bit != 0)?;
                let end = path.last().copied().unwrap_or_default();
                let violates = space.broken(self.states.get(end)) != 0;
                firsts.insert(Arc::clone(outcome), Seen { orders: *orders, first, violates });
            }
        }
        Ok(firsts)
    }

    /// The shortest order that breaks any of these invariants (of several, the first), and the states on its
    /// way.
    pub(crate) fn shortest(
        &self,
        space: &mut impl StateSpace,
        sorted: &[u32],
        wanted: u64,
    ) -> Result<Option<Walked>, ExploreError> {
        const FAR: (u32, u32) = (u32::MAX, u32::MAX);
        // Moves count first, then steps.
        let longer = |(moves, steps): (u32, u32), edge: &Edge| {
            (moves + u32::from(!self.pick(*edge).is_time()), steps + 1)
        };
        let mut length = vec![FAR; self.states.len()];
        length[0] = (0, 0);
        for state in sorted.iter().map(|state| *state as usize) {
            for edge in self.edges_of(state) {
                let by_it = longer(length[state], edge);
                let to = &mut length[edge.to as usize];
                *to = by_it.min(*to);
            }
        }
        let broken = |state: &usize| space.broken(self.states.get(*state)) & wanted != 0;
        let Some(least) = (0..self.states.len()).filter(broken).map(|state| length[state]).min() else {
            return Ok(None);
        };
        let mut leads: Vec<bool> =
            (0..self.states.len()).map(|state| length[state] == least && broken(&state)).collect();
        let is_last = leads.clone();
        for state in backwards(sorted) {
            let tight = |edge: &Edge| {
                leads[edge.to as usize] && length[edge.to as usize] == longer(length[state], edge)
            };
            let on_the_way = self.edges_of(state).iter().any(tight);
            leads[state] |= on_the_way && !is_last[state];
        }
        let found = self.walk(space, |state, edge| {
            let to = edge.to as usize;
            !is_last[state] && leads[to] && length[to] == longer(length[state], edge)
        })?;
        Ok(Some(found))
    }

    /// Walks from the initial state, taking the first of the wanted steps, as an order names them, for as
    /// long as there is one. Returns the order and the states on its way.
    fn walk(
        &self,
        space: &mut impl StateSpace,
        wanted: impl Fn(usize, &Edge) -> bool,
    ) -> Result<Walked, ExploreError> {
        let (mut state, mut permutation, mut order, mut path) = (0, space.identity(), Vec::new(), vec![0]);
        loop {
            let mut first: Option<(Pick, Permutation, usize)> = None;
            for edge in self.edges_of(state).iter().filter(|edge| wanted(state, edge)) {
                let (pick, after) = space.concrete(self.states.get(state), self.pick(*edge), &permutation)?;
                if first.as_ref().is_none_or(|(known, ..)| pick < *known) {
                    first = Some((pick, after, edge.to as usize));
                }
            }
            let Some((pick, after, to)) = first else { return Ok((order, path)) };
            order.push(pick);
            path.push(to);
            (state, permutation) = (to, after);
        }
    }
}

fn backwards(sorted: &[u32]) -> impl Iterator<Item = usize> {
    sorted.iter().rev().map(|state| *state as usize)
}

pub(crate) fn bits(set: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| set & (1 << bit) != 0)
}

/// An index as states and edges store it. Memory ends before these indices do.
pub(crate) fn id(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::{ops::ControlFlow, sync::Arc, time::Instant};

    use super::{Permutation, Recurring, State, StateSpace, Step, Successors, search};
    use crate::{
        program::actor_id,
        run::{
            explore::{Bounds, ExploreError, Pick, Progress},
            race::Outcome,
        },
    };

    /// Clients that make `moves` moves each. The invariant is broken once two of them have made their second
    /// move.
    struct Counting {
        clients: usize,
        moves: u32,
        symmetric: bool,
    }

    impl Counting {
        fn after(&self, state: &[u32], n: usize) -> (State, Vec<usize>) {
            let mut next = state.to_vec();
            next[n] += 1;
            let mut from: Vec<usize> = (0..self.clients).collect();
            if self.symmetric {
                from.sort_by_key(|n| next[*n]);
            }
            (from.iter().map(|n| next[*n]).collect(), from)
        }

        fn interchangeable(&self, state: &[u32], n: usize) -> Vec<usize> {
            let same = |other: &usize| *other == n || self.symmetric && state[*other] == state[n];
            (0..self.clients).filter(same).collect()
        }
    }

    impl StateSpace for Counting {
        const ROUND: usize = 1;

        fn initial(&mut self) -> Result<State, ExploreError> {
            Ok(vec![0; self.clients].into())
        }

        fn successors(&mut self, state: &[u32]) -> Result<Successors, ExploreError> {
            let steps = (0..self.clients)
                .filter(|n| state[*n] < self.moves && self.interchangeable(state, *n)[0] == *n);
            let steps: Vec<Step> = steps
                .map(|n| Step {
                    pick: Pick::Move(actor_id(n)),
                    multiplicity: u16::try_from(self.interchangeable(state, n).len()).expect("few clients"),
                    to: self.after(state, n).0,
                })
                .collect();
            Ok(if steps.is_empty() {
                Successors::End { outcome: Arc::new(Outcome::default()), cut: false, stuck: None }
            } else {
                Successors::Steps(steps)
            })
        }

        fn broken(&self, state: &[u32]) -> u64 {
            u64::from(state.iter().filter(|moves| **moves >= 2).count() >= 2)
        }

        fn recurring(&mut self, state: &[u32]) -> Recurring {
            Recurring { state: state.into(), has_moves_left: true, has_fault: false }
        }

        fn bytes(&self) -> usize {
            0
        }

        fn identity(&self) -> Permutation {
            (0..self.clients).collect()
        }

        fn concrete(
            &mut self,
            state: &[u32],
            pick: Pick,
            permutation: &Permutation,
        ) -> Result<(Pick, Permutation), ExploreError> {
            let Pick::Move(actor) = pick else { unreachable!("everybody moves") };
            let n = actor.0 as usize;
            let first = self
                .interchangeable(state, n)
                .into_iter()
                .min_by_key(|other| permutation[*other])
                .unwrap_or(n);
            let mut permutation = permutation.clone();
            permutation.swap(n, first);
            let named = Pick::Move(actor_id(permutation[n]));
            let (_, from) = self.after(state, n);
            Ok((named, from.into_iter().map(|n| permutation[n]).collect()))
        }
    }

    #[test]
    fn a_graph_reports_its_growth() {
        let mut space = Counting { clients: 3, moves: 3, symmetric: true };
        let mut reported: Vec<Progress> = Vec::new();
        let mut report = |progress: &Progress| {
            reported.push(progress.clone());
            ControlFlow::Continue(())
        };
        let whole = search(&mut space, &Bounds::default(), Instant::now(), &mut report);
        let (found, _) = whole.expect("nothing fails");
        let last = reported.last().expect("it was reported");
        let layers: Vec<_> = last.layers.iter().map(|layer| (layer.states, layer.broken)).collect();
        // Moves are distributed among three interchangeable clients, at most three to each; broken if two
        // clients have two.
        assert_eq!(layers, [(1, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (3, 3), (2, 2), (1, 1), (1, 1)]);
        assert_eq!(last.states, found.states);
        assert_eq!(last.shortest_of.get(&0), found.shortest.as_ref());
        assert!(last.orders <= found.orders && last.violations <= found.violations, "{last:?}");
        let of = |reported: &Progress| reported.layers.iter().map(|layer| layer.states).sum::<u64>();
        assert!(reported.is_sorted_by_key(|reported| (of(reported), reported.orders)), "it only grows");
    }

    #[test]
    fn orders_are_paths_through_states_whether_or_not_clients_are_told_apart() {
        let mut found = [true, false].map(|symmetric| {
            let mut space = Counting { clients: 4, moves: 4, symmetric };
            let whole =
                search(&mut space, &Bounds::default(), Instant::now(), &mut |_| ControlFlow::Continue(()));
            let (found, complete) = whole.expect("nothing fails");
            assert!(complete);
            found
        });
        assert_eq!((found[0].states, found[1].states), (70, 625));
        // (4 x 4)! / (4!)^4
        assert_eq!(found[0].orders, 63_063_000);
        let order = [0, 0, 1, 1].map(|n| Pick::Move(actor_id(n)));
        assert_eq!(found[0].shortest.as_deref(), Some(&order[..]));
        for one in &mut found {
            (one.states, one.transitions, one.tried, one.bytes) = (0, 0, 0, 0);
        }
        assert_eq!(found[0], found[1]);
    }
}
