//! How a graph of states grows while it is gone through.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{
    ExploreError, Layer, Pick, Progress,
    states::{Graph, StateSpace, bits},
};

/// Counting orders while a search goes on may take so small a part of it.
const SEARCH_FOR_EACH_COUNT: u32 = 50;

/// How far a space is that finds states before they are gone on from.
pub(crate) struct Ahead {
    /// Which part of the known steps was taken.
    pub(crate) done: f64,
    pub(crate) layers: Vec<Layer>,
    pub(crate) shortest_of: BTreeMap<usize, Vec<Pick>>,
}

/// How a graph grows while it is gone through.
pub(crate) struct Growth {
    layers: Vec<Layer>,
    /// Where the states of the layer end that is gone on from, and how many steps from the beginning these are.
    end: usize,
    steps: usize,
    /// The invariants that are broken in any state, and those of which an order is known.
    broken: u64,
    told: u64,
    shortest_of: BTreeMap<usize, Vec<Pick>>,
    /// When orders are counted again, and what that gave last: all, and those that break something.
    count_at: Duration,
    orders: (u128, u128),
}

impl Growth {
    /// With the first state, in which these are broken.
    pub(crate) fn from(broken: u64) -> Self {
        let layers = vec![Layer { states: 1, broken: u64::from(broken != 0) }];
        let shortest_of = BTreeMap::new();
        let count_at = Duration::ZERO;
        Self { layers, end: 1, steps: 0, broken, told: 0, shortest_of, count_at, orders: (0, 0) }
    }

    /// Adds a state that was found from the layer that is gone on from.
    pub(crate) fn add(&mut self, broken: u64) {
        Layer::add(&mut self.layers, self.steps + 1, broken != 0);
        self.broken |= broken;
    }

    /// So many states were gone on from, of so many that are known: those that were found first come first.
    pub(crate) fn went_on_from(&mut self, at: usize, known: usize) {
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
        let new = self.broken & !self.told;
        if new != 0 {
            let sorted = graph.topological_order();
            for invariant in bits(new) {
                let found = graph.shortest(space, &sorted, 1 << invariant)?;
                self.shortest_of.extend(found.map(|(order, _)| (invariant, order)));
            }
            self.told = self.broken;
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
        Ok(match space.ahead() {
            Some(Ahead { done, layers, shortest_of }) => {
                let states = layers.iter().map(|layer| layer.states).sum();
                Progress { states, shortest_of, layers, done, ..progress }
            }
            None => progress,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn share(done: usize, known: usize) -> f64 {
    done as f64 / known.max(1) as f64
}
