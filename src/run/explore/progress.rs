//! How far a search is.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Pick,
    search::{by_length, is_shorter},
};
use crate::{lesson::Scenario, text::Text};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    pub tried: u64,
    /// Where states are searched: how many were gone on from.
    pub states: u64,
    /// Orders that were not, because they are sure to come to the same as one that was.
    pub pruned: u128,
    /// Orders of both that broke an invariant.
    pub violations: u128,
    /// Where states are searched: the orders that have come to an end so far, as they were counted last.
    pub orders: u128,
    /// The shortest way so far to break an invariant, by its number; not confirmed yet.
    pub shortest_of: BTreeMap<usize, Vec<Pick>>,
    /// Where states are searched: those that are known so many steps from where orders begin.
    pub layers: Vec<Layer>,
    /// Which part of the whole is done, from 0 to 1; an estimate.
    pub done: f64,
    /// Why orders cannot be counted by states.
    pub one_by_one: Option<Text>,
    /// Real time since the search began.
    pub wall: Duration,
}

/// The states that are first come to in so many steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layer {
    pub states: u64,
    /// Of these, how many in which an invariant is broken.
    pub broken: u64,
}

impl Layer {
    /// Adds a state so many steps from the beginning.
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
    /// Who moves (`A.`), and faults.
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

    /// A shorter way to break an invariant, if it is.
    pub(crate) fn offer(&mut self, invariant: usize, order: Vec<Pick>) {
        if self.shortest_of.get(&invariant).is_none_or(|known| is_shorter(&order, known)) {
            self.shortest_of.insert(invariant, order);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    pub fn rate(&self) -> f64 {
        self.tried.max(self.states) as f64 / self.wall.as_secs_f64().max(0.001)
    }

    /// Orders that will have been carried out at the end, about.
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    pub fn total(&self) -> f64 {
        self.tried as f64 / self.done.max(1e-9)
    }

    /// The time that is left, about.
    pub fn left(&self) -> Option<Duration> {
        let spent = self.wall.as_secs_f64();
        let left = spent / self.done.max(1e-9) - spent;
        (self.done > 0.0).then(|| Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX))
    }
}
