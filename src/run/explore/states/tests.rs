use std::{ops::ControlFlow, sync::Arc, time::Instant};

use super::{Permutation, Recurring, State, StateSpace, Step, Successors, expand};
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
        let steps =
            (0..self.clients).filter(|n| state[*n] < self.moves && self.interchangeable(state, *n)[0] == *n);
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
        let first =
            self.interchangeable(state, n).into_iter().min_by_key(|other| permutation[*other]).unwrap_or(n);
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
    let expanded = expand(&mut space, &Bounds::default(), Instant::now(), &mut report);
    let (found, _) = expanded.and_then(|all| all.count(&mut space)).expect("nothing fails");
    let last = reported.last().expect("it was reported");
    let layers: Vec<_> = last.layers.iter().map(|layer| (layer.states, layer.broken)).collect();
    // Moves are distributed among three interchangeable clients, at most three to each; broken if two
    // clients have two.
    assert_eq!(layers, [(1, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (3, 3), (2, 2), (1, 1), (1, 1)]);
    assert_eq!(last.states, found.space.states);
    assert_eq!(last.shortest_of, found.shortest_of);
    assert!(last.orders <= found.orders && last.violations <= found.violations, "{last:?}");
    let of = |reported: &Progress| reported.layers.iter().map(|layer| layer.states).sum::<u64>();
    assert!(reported.is_sorted_by_key(|reported| (of(reported), reported.orders)), "it only grows");
}

#[test]
fn orders_are_paths_through_states_with_and_without_symmetry() {
    let mut found = [true, false].map(|symmetric| {
        let mut space = Counting { clients: 4, moves: 4, symmetric };
        let expanded =
            expand(&mut space, &Bounds::default(), Instant::now(), &mut |_| ControlFlow::Continue(()));
        let (found, complete) = expanded.and_then(|all| all.count(&mut space)).expect("nothing fails");
        assert!(complete);
        found
    });
    assert_eq!((found[0].space.states, found[1].space.states), (70, 625));
    // (4 x 4)! / (4!)^4
    assert_eq!(found[0].orders, 63_063_000);
    let order = [0, 0, 1, 1].map(|n| Pick::Move(actor_id(n)));
    assert_eq!(found[0].shortest_of[&0], order);
    for one in &mut found {
        (one.space.states, one.space.transitions, one.tried, one.space.bytes) = (0, 0, 0, 0);
    }
    assert_eq!(found[0], found[1]);
}
