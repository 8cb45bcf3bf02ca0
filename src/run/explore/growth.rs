//! How a graph of states grows during a search.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{
    ExploreError, Layer, Pick, Progress,
    states::{Graph, StateSpace, bits},
};

/// Orders are counted again after this many times as long as the last count took.
const SEARCH_FOR_EACH_COUNT: u32 = 50;

/// The progress of a state space that finds states before the search expands them.
pub(crate) struct SpaceProgress {
    /// The share of the known steps that were taken.
    pub(crate) done: f64,
    pub(crate) layers: Vec<Layer>,
    pub(crate) shortest_of: BTreeMap<usize, Vec<Pick>>,
}

/// How a graph grows during a search.
pub(crate) struct Growth {
    layers: Vec<Layer>,
    /// Where the states of the layer that is being expanded end, and how many steps from the beginning they
    /// are.
    end: usize,
    steps: usize,
    /// The invariants that are broken in any state, and those for which an order is known, one bit each.
    broken: u64,
    reported: u64,
    shortest_of: BTreeMap<usize, Vec<Pick>>,
    /// When orders are to be counted again, and the result of the last count: all, and those that break
    /// something.
    count_at: Duration,
    orders: (u128, u128),
}

impl Growth {
    /// Starts with the first state, in which these invariants are broken.
    pub(crate) fn from(broken: u64) -> Self {
        let layers = vec![Layer { states: 1, broken: u64::from(broken != 0) }];
        let shortest_of = BTreeMap::new();
        let count_at = Duration::ZERO;
        Self { layers, end: 1, steps: 0, broken, reported: 0, shortest_of, count_at, orders: (0, 0) }
    }

    /// Adds a state that was found from the layer that is being expanded.
    pub(crate) fn add(&mut self, broken: u64) {
        Layer::add(&mut self.layers, self.steps + 1, broken != 0);
        self.broken |= broken;
    }

    /// Notes that `at` of `known` states have been expanded. States are expanded in the order in which they
    /// were found.
    pub(crate) fn note_expanded(&mut self, at: usize, known: usize) {
        if at == self.end {
            (self.end, self.steps) = (known, self.steps + 1);
        }
    }

    pub(crate) fn progress(
        &mut self,
        graph: &Graph,
        space: &mut impl StateSpace,
        at: usize,
        wall: Duration,
    ) -> Result<Progress, ExploreError> {
        let new = self.broken & !self.reported;
        if new != 0 {
            let sorted = graph.topological_order();
            for invariant in bits(new) {
                let found = graph.shortest(space, &sorted, 1 << invariant)?;
                self.shortest_of.extend(found.map(|(order, _)| (invariant, order)));
            }
            self.reported = self.broken;
        }
        if wall >= self.count_at {
            let counting = Instant::now();
            self.orders = graph.orders_so_far(space);
            self.count_at = wall + counting.elapsed() * SEARCH_FOR_EACH_COUNT;
        }
        let progress = Progress {
            tried: graph.ends.len() as u64,
            states: at as u64,
            orders: self.orders.0,
            violations: self.orders.1,
            shortest_of: self.shortest_of.clone(),
            layers: self.layers.clone(),
            done: share(at, graph.states.len()),
            wall,
            ..Progress::default()
        };
        Ok(match space.progress() {
            Some(SpaceProgress { done, layers, shortest_of }) => {
                let states = layers.iter().map(|layer| layer.states).sum();
                Progress { states, shortest_of, layers, done, ..progress }
            }
            None => progress,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
fn share(done: usize, known: usize) -> f64 {
    done as f64 / known.max(1) as f64
}
