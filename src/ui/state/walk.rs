//! Walking through the states of a small search: where one is, and the way there.

use super::browse::moved;
use crate::run::explore::{StateGraph, StateNode};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walk {
    /// The steps from the first state, each by the state that it leaves and its place there.
    way: Vec<(usize, usize)>,
    /// The state.
    pub at: usize,
    /// The step that is chosen of those that lead on.
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

    /// Takes the chosen step.
    pub fn forward(&mut self, graph: &StateGraph) {
        if let Some(step) = self.here(graph).and_then(|state| state.steps.get(self.chosen)) {
            self.way.push((self.at, self.chosen));
            (self.at, self.chosen) = (step.to, 0);
        }
    }

    /// Takes the last step back.
    pub fn back(&mut self) {
        if let Some(last) = self.way.pop() {
            (self.at, self.chosen) = last;
        }
    }
}
