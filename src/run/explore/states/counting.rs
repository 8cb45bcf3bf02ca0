//! What is counted in a graph of states: orders, those that go wrong, and the shortest of them.

use std::{collections::BTreeMap, sync::Arc};

use super::{Edge, Graph, Permutation, StateSpace, Walked, bits};
use crate::run::explore::{
    ExploreError,
    explorer::{Pick, Stuck},
    recurrence::Recurrence,
    search::{Found, SearchedSpace, Seen, Unavoidable},
};
use crate::run::race::Outcome;

impl Graph {
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

    pub(super) fn count_orders(
        &self,
        space: &mut impl StateSpace,
        complete: bool,
    ) -> Result<Found, ExploreError> {
        let sorted = self.topological_order();
        let orders = self.orders(&sorted);
        let mut found = Found {
            tried: self.ends.len() as u64,
            space: SearchedSpace {
                states: self.starts.len() as u64 - 1,
                transitions: self.edges.len() as u64,
                states_left: (self.states.len() + 1 - self.starts.len()) as u64,
                ..SearchedSpace::default()
            },
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
            found.shortest_of.insert(invariant, order);
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
