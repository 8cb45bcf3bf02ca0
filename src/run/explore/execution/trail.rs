//! The steps that lead to a node in the tree of orders, with the events before the first step and in each.
//! Nodes share the steps that they have in common, also between workers.

use std::sync::Arc;

use super::rules::operation_name;
use crate::{
    lesson::Scenario,
    log::{ActorId, Event, EventKind, Log, Reply},
    run::explore::{ExploreError, Pick},
};

#[derive(Debug, Clone, Default)]
pub(crate) struct Trail {
    beginning: Arc<[Event]>,
    last: Option<Arc<Step>>,
}

#[derive(Debug)]
pub(crate) struct Step {
    before: Option<Arc<Step>>,
    pub(crate) pick: Pick,
    pub(crate) events: Vec<Event>,
    /// Where time passes during moves: the actors whose waits ended.
    pub(crate) woken: Vec<ActorId>,
}

impl Trail {
    /// A trail without steps.
    pub(crate) fn beginning(events: Vec<Event>) -> Self {
        Self { beginning: events.into(), last: None }
    }

    pub(crate) fn then(&self, pick: Pick, events: Vec<Event>) -> Self {
        self.then_waking(pick, events, Vec::new())
    }

    pub(crate) fn then_waking(&self, pick: Pick, events: Vec<Event>, woken: Vec<ActorId>) -> Self {
        let step = Step { before: self.last.clone(), pick, events, woken };
        Self { beginning: Arc::clone(&self.beginning), last: Some(Arc::new(step)) }
    }

    pub(crate) fn steps(&self) -> Vec<Arc<Step>> {
        let before = |step: &Arc<Step>| step.before.clone();
        let mut steps: Vec<_> = std::iter::successors(self.last.clone(), before).collect();
        steps.reverse();
        steps
    }

    /// The events of the last step, or those before the first.
    pub(crate) fn last(&self) -> &[Event] {
        self.last.as_ref().map_or(&*self.beginning, |step| &step.events)
    }

    /// The log of a run with client processes, without the sessions.
    pub(crate) fn log(&self) -> Log {
        let mut log = Log::new();
        log.extend(self.beginning.iter().cloned());
        for step in self.steps() {
            log.extend(step.events.iter().cloned());
        }
        log
    }

    /// The events that this trail has and another has not, if it is that one or continues it by one step.
    pub(crate) fn beyond(&self, other: &Self) -> Option<&[Event]> {
        if !Arc::ptr_eq(&self.beginning, &other.beginning) {
            return None;
        }
        if self.is(other) {
            return Some(&[]);
        }
        let last = self.last.as_ref()?;
        let is_next = match (&last.before, &other.last) {
            (Some(before), Some(other)) => Arc::ptr_eq(before, other),
            (before, other) => before.is_none() && other.is_none(),
        };
        is_next.then_some(last.events.as_slice())
    }

    /// Whether this is the very same trail, and not another one of equal steps.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.last, &other.last) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Step {
    /// Checks that the step had the same replies when it was repeated.
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

/// The fields that differ in each run: ZooKeeper and etcd number every write, and sessions.
const NUMBERED: [&str; 9] =
    ["czxid", "mzxid", "pzxid", "ctime", "mtime", "owner", "create_revision", "mod_revision", "revision"];

/// The reply of an event, without what differs in each run.
fn reply(event: &Event) -> Option<(ActorId, &str, Arc<Reply>)> {
    let EventKind::Replied { actor, label, reply, .. } = &event.kind else { return None };
    Some((*actor, label, without_numbers(reply)))
}

/// The same reply without what differs in each run.
pub(super) fn without_numbers(reply: &Arc<Reply>) -> Arc<Reply> {
    let mut reply = Arc::clone(reply);
    match Arc::make_mut(&mut reply) {
        Reply::Value(value) => each_number(value, &mut |number| *number = serde_json::Value::Null),
        // How a broken connection is noticed first depends on the machine.
        Reply::Lost(why) => why.clear(),
        Reply::Error { .. } => {}
    }
    reply
}

/// Visits the fields whose numbers differ in each run.
pub(super) fn each_number(value: &mut serde_json::Value, visit: &mut impl FnMut(&mut serde_json::Value)) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                if field.is_number() && NUMBERED.contains(&name.as_str()) {
                    visit(field);
                } else {
                    each_number(field, visit);
                }
            }
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(|value| each_number(value, visit)),
        _ => {}
    }
}
