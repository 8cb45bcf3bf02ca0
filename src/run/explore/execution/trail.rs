//! The steps that lead to a node in the tree of orders, with what happened in each. Nodes share the steps that they have in
//! common.

use std::sync::Arc;

use super::rules::operation_name;
use crate::{
    lesson::Scenario,
    log::{ActorId, Event, EventKind, Reply},
    run::explore::{ExploreError, Pick},
};

#[derive(Debug, Clone, Default)]
pub(crate) struct Trail(Option<Arc<Step>>);

#[derive(Debug)]
pub(crate) struct Step {
    before: Trail,
    pub(crate) pick: Pick,
    pub(crate) events: Vec<Event>,
}

impl Trail {
    pub(crate) fn then(&self, pick: Pick, events: Vec<Event>) -> Self {
        Self(Some(Arc::new(Step { before: self.clone(), pick, events })))
    }

    pub(crate) fn steps(&self) -> Vec<Arc<Step>> {
        let before = |step: &Arc<Step>| step.before.0.clone();
        let mut steps: Vec<_> = std::iter::successors(self.0.clone(), before).collect();
        steps.reverse();
        steps
    }

    /// What happened in the last step.
    pub(crate) fn last(&self) -> &[Event] {
        self.0.as_ref().map_or(&[], |step| &step.events)
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
    pub(crate) fn must_match(&self, again: &[Event], scenario: &Scenario) -> Result<(), ExploreError> {
        let (first, second) = (self.events.iter().filter_map(reply), again.iter().filter_map(reply));
        for ((actor, label, first), (.., second)) in first.zip(second) {
            if first != second {
                return Err(ExploreError::Strayed {
                    operation: operation_name(scenario, actor, label),
                    first: first.to_string(),
                    second: second.to_string(),
                });
            }
        }
        Ok(())
    }
}

/// A reply without what differs each time: ZooKeeper numbers all that is ever written.
fn reply(event: &Event) -> Option<(ActorId, &str, Reply)> {
    let EventKind::Replied { actor, label, reply, .. } = &event.kind else { return None };
    let mut reply = reply.clone();
    if let Reply::Value(serde_json::Value::Object(fields)) = &mut reply {
        for numbered in ["czxid", "mzxid", "pzxid", "ctime", "mtime"] {
            fields.remove(numbered);
        }
    }
    Some((*actor, label, reply))
}
