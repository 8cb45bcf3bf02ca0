//! The steps of a run: the places in its log at which a learner stops. It must not know how they are shown.

use crate::{
    clock::LessonTime,
    log::{EventKind, Log, Stop},
};

/// A step: everything up to one stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its number in the story, from 1 on, as the screen's header names it.
    pub number: usize,
    /// How many events are over at its end.
    pub position: usize,
    /// When it ends.
    pub at: LessonTime,
    /// What kind of step it is.
    pub stop: Stop,
}

/// All steps of a log, in order. Two stops with nothing in between are one: the last step's end is the story's.
#[must_use]
pub fn steps(log: &Log) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (n, event) in log.events().iter().enumerate() {
        let EventKind::Stop { item, stop } = event.kind else {
            continue;
        };
        let same = steps.last().is_some_and(|last| last.position == n);
        let step = Step {
            number: item + 1,
            position: n + 1,
            at: event.at,
            stop,
        };
        match steps.last_mut() {
            Some(last) if same => last.position = n + 1,
            _ => steps.push(step),
        }
    }
    steps
}

/// The position before the first step: the lab stands, and nobody has moved.
#[must_use]
pub fn beginning(log: &Log) -> usize {
    let first = log.events().iter().position(|event| {
        matches!(
            event.kind,
            EventKind::Say { .. }
                | EventKind::Asked { .. }
                | EventKind::Sent { .. }
                | EventKind::Waits { .. }
                | EventKind::Believes { .. }
                | EventKind::Fault(_)
                | EventKind::Stop { .. }
        )
    });
    first.unwrap_or(log.len())
}

/// The lesson time after the first `position` events.
#[must_use]
pub fn time_at(log: &Log, position: usize) -> LessonTime {
    let last = position.checked_sub(1).and_then(|last| log.events().get(last));
    last.map_or(LessonTime::ZERO, |event| event.at)
}
