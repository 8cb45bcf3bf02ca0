//! A walk through the states of a small search: the current state, and the path to it.

use super::browse::moved;
use crate::run::explore::{StateGraph, StateNode};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walk {
    /// The steps from the first state, each as the state that it leaves and its index there.
    way: Vec<(usize, usize)>,
    /// The current state.
    pub at: usize,
    /// The index of the selected step out of this state.
    pub chosen: usize,
}

impl Walk {
    pub fn way(&self) -> &[(usize, usize)] {
        &self.way
    }

    pub fn here<'g>(&self, graph: &'g StateGraph) -> Option<&'g StateNode> {
        graph.states.get(self.at)
    }

    pub fn choose(&mut self, graph: &StateGraph, by: i32) {
        let count = self.here(graph).map_or(0, |state| state.steps.len());
        self.chosen = moved(self.chosen, by, count);
    }

    /// Takes the selected step.
    pub fn forward(&mut self, graph: &StateGraph) {
        if let Some(step) = self.here(graph).and_then(|state| state.steps.get(self.chosen)) {
            self.way.push((self.at, self.chosen));
            (self.at, self.chosen) = (step.to, 0);
        }
    }

    /// Undoes the last step.
    pub fn back(&mut self) {
        if let Some(last) = self.way.pop() {
            (self.at, self.chosen) = last;
        }
    }
}
