//! The progress of a search.

use std::{collections::BTreeMap, time::Duration};

use super::{Pick, search::by_length};
use crate::{lesson::Scenario, text::Text};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    pub tried: u64,
    /// In a search by states: the number of expanded states.
    pub states: u64,
    /// Orders that were not carried out because they are equivalent to one that was.
    pub pruned: u128,
    /// Orders of both kinds that broke an invariant.
    pub violations: u128,
    /// In a search by states: the number of orders that have ended so far, as of the last count.
    pub orders: u128,
    /// The shortest order so far that breaks an invariant, by the invariant's index; not confirmed yet.
    pub shortest_of: BTreeMap<usize, Vec<Pick>>,
    /// In a search by states: the known states, by their number of steps from the beginning.
    pub layers: Vec<Layer>,
    /// The share of the whole that is done, from 0 to 1; an estimate.
    pub done: f64,
    /// Why orders cannot be counted by states.
    pub one_by_one: Option<Text>,
    /// Real time since the search began.
    pub wall: Duration,
}

/// The states that are first reached after a certain number of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layer {
    pub states: u64,
    /// The number of these in which an invariant is broken.
    pub broken: u64,
}

impl Layer {
    /// Adds a state that is `steps` steps from the beginning.
    pub(crate) fn add(layers: &mut Vec<Self>, steps: usize, broken: bool) {
        layers.resize(layers.len().max(steps + 1), Self::default());
        layers[steps].states += 1;
        layers[steps].broken += u64::from(broken);
    }
}

/// The shortest order so far that breaks an invariant, not confirmed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortestSoFar {
    /// What it breaks, in the lesson's words.
    pub says: Text,
    /// The actors that move (`A.`), and faults.
    pub moves: Vec<String>,
}

impl Progress {
    /// The shortest order so far that breaks each invariant, the shortest of them first.
    pub(crate) fn shortest_so_far(&self, scenario: &Scenario) -> Vec<ShortestSoFar> {
        let mut orders: Vec<_> = self.shortest_of.iter().collect();
        orders.sort_by(|(_, one), (_, other)| by_length(one, other));
        let so_far = orders.into_iter().map(|(invariant, order)| ShortestSoFar {
            says: scenario.invariants[*invariant].says.clone(),
            moves: order.iter().map(|pick| pick.words(scenario)).collect(),
        });
        so_far.collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
    pub fn rate(&self) -> f64 {
        self.tried.max(self.states) as f64 / self.wall.as_secs_f64().max(0.001)
    }

    /// The approximate number of orders that will have been carried out at the end.
    #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
    pub fn total(&self) -> f64 {
        self.tried as f64 / self.done.max(1e-9)
    }

    /// The approximate time that is left, or `None` before anything is done.
    pub fn left(&self) -> Option<Duration> {
        let spent = self.wall.as_secs_f64();
        let left = spent / self.done.max(1e-9) - spent;
        (self.done > 0.0).then(|| Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX))
    }
}
