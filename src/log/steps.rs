//! The steps of a run: the positions in its log at which a viewer may stop.
//!
//! **Architecture Invariant:** this is the only definition of a step. The playhead, replayed recordings and exports all
//! stop at the same positions.

use super::{Event, EventKind, Log, Stop};
use crate::clock::LessonTime;

/// A step: all events up to one stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its number in the story, from 1, as in the screen's header.
    pub number: usize,
    /// The number of events up to its end.
    pub position: usize,
    pub at: LessonTime,
    pub stop: Stop,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steps {
    steps: Vec<Step>,
    seen: usize,
}

impl Steps {
    pub fn of(log: &Log) -> Self {
        let mut steps = Self::default();
        steps.advance(log);
        steps
    }

    /// Reads the events that were added to the log since the last call.
    pub fn advance(&mut self, log: &Log) {
        for (n, event) in log.events().iter().enumerate().skip(self.seen) {
            let EventKind::Stop { item, stop } = event.kind else { continue };
            let position = n + 1;
            // The end of the last step and the story's end are one step. Other steps count on their own, even if only
            // time has passed.
            if stop == Stop::End
                && let Some(last) = self.steps.last_mut().filter(|last| last.position == n)
            {
                last.position = position;
                continue;
            }
            self.steps.push(Step { number: item + 1, position, at: event.at, stop });
        }
        self.seen = log.len();
    }

    pub fn all(&self) -> &[Step] {
        &self.steps
    }

    /// The steps that end after a position.
    pub fn after(&self, position: usize) -> &[Step] {
        &self.steps[self.steps.partition_point(|step| step.position <= position)..]
    }

    pub fn before(&self, position: usize) -> &[Step] {
        &self.steps[..self.steps.partition_point(|step| step.position < position)]
    }
}

impl Log {
    /// The position before the first step: the lab is ready, and no actor has acted.
    pub fn opening(&self) -> usize {
        let first = self.events().iter().position(Event::begins_a_step);
        first.unwrap_or(self.len())
    }

    /// The lesson time after the first `position` events.
    pub fn time_at(&self, position: usize) -> LessonTime {
        let last = position.checked_sub(1).and_then(|last| self.events().get(last));
        last.map_or(LessonTime::ZERO, |event| event.at)
    }
}

impl Event {
    /// Whether it ends a run's opening, in which clients connect and no actor acts.
    fn begins_a_step(&self) -> bool {
        matches!(
            self.kind,
            EventKind::Say { .. }
                | EventKind::Asked { .. }
                | EventKind::Chose(_)
                | EventKind::Sent { .. }
                | EventKind::Took { .. }
                | EventKind::Waited { .. }
                | EventKind::Fault(_)
                | EventKind::Stop { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Steps;
    use crate::{
        clock::LessonTime,
        log::{
            Belief, EventKind, Log, Stop,
            testing::{LogBuilder, ready, waited},
        },
    };

    fn stop(item: usize, stop: Stop) -> EventKind {
        EventKind::Stop { item, stop }
    }

    #[test]
    fn only_the_storys_end_falls_together_with_the_step_before_it() {
        // The second pass moves no actor but is a step.
        let log =
            Log::from_iter([waited(0), stop(0, Stop::Passed), stop(1, Stop::Passed), stop(1, Stop::End)]);
        let steps = Steps::of(&log);
        let places: Vec<_> = steps.all().iter().map(|step| (step.number, step.position)).collect();
        assert_eq!(places, [(1, 2), (2, 4)]);
        assert_eq!(steps.after(2)[0].position, 4);
        assert_eq!(steps.before(4)[0].position, 2);
        assert!(steps.after(4).is_empty() && steps.before(2).is_empty());
    }

    #[test]
    fn steps_of_a_growing_log_are_those_of_the_whole() {
        let passed = |item| [waited(0), stop(item, Stop::Passed)];
        let whole: Log = [passed(0), passed(1)].concat().into_iter().chain([stop(1, Stop::End)]).collect();
        let (mut part, mut steps) = (Log::new(), Steps::default());
        for event in whole.events() {
            part.append(event.clone());
            steps.advance(&part);
        }
        assert_eq!(steps, Steps::of(&whole));
    }

    #[test]
    fn clients_that_get_ready_have_not_acted() {
        let mut log = LogBuilder::new(ready(&[], []));
        log.believes(0, Belief::Waiting);
        log.add(waited(0));
        assert_eq!(log.opening(), 2);
        assert_eq!(log.time_at(0), LessonTime::ZERO);
        assert_eq!(log.time_at(3), LessonTime::from_millis(2));
        assert_eq!(Log::new().opening(), 0);
    }
}
