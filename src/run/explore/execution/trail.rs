//! The steps that lead to a node in the tree of orders. Nodes share the steps that they have in common.

use std::sync::Arc;

use super::ExplorerError;
use crate::{log::Reply, run::explore::Pick};

/// How one comes to a node from the beginning.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trail(Option<Arc<Step>>);

#[derive(Debug)]
pub(crate) struct Step {
    before: Trail,
    pub(crate) pick: Pick,
    /// The operations that were answered, and with what.
    replies: Vec<(String, Reply)>,
}

impl Trail {
    /// This trail and one step more.
    pub(crate) fn then(&self, pick: Pick, replies: Vec<(String, Reply)>) -> Self {
        Self(Some(Arc::new(Step { before: self.clone(), pick, replies })))
    }

    /// The steps from the beginning.
    pub(crate) fn steps(&self) -> Vec<Arc<Step>> {
        let mut steps = Vec::new();
        let mut last = self.0.as_ref();
        while let Some(step) = last {
            steps.push(Arc::clone(step));
            last = step.before.0.as_ref();
        }
        steps.reverse();
        steps
    }

    /// What the last step was answered with.
    pub(crate) fn last(&self) -> Option<&[(String, Reply)]> {
        self.0.as_ref().map(|step| step.replies.as_slice())
    }

    /// Whether it is this very trail, and not one of the same steps.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Step {
    /// Checks that the step was answered as before when it was made again.
    pub(crate) fn must_match(&self, again: &[(String, Reply)]) -> Result<(), ExplorerError> {
        for ((operation, first), (_, second)) in self.replies.iter().zip(again) {
            if first != second {
                return Err(ExplorerError::Strayed {
                    operation: operation.clone(),
                    first: first.to_string(),
                    second: second.to_string(),
                });
            }
        }
        Ok(())
    }
}
