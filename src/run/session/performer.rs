//! An actor during a run: its place in its program, and what it is in the middle of.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use super::machine::Machine;
use crate::{clock::LessonTime, lesson::plan::PlannedOperation};

/// An actor during a run.
#[derive(Debug)]
pub(crate) struct Performer {
    pub(crate) machine: Machine,
    pub(crate) state: State,
    /// Notifications not taken yet: what about, and what happened there.
    pub(crate) queue: VecDeque<(String, String)>,
}

/// What an actor is in the middle of.
#[derive(Debug, Clone)]
pub(crate) enum State {
    /// It stands before this operation.
    Ready(Arc<PlannedOperation>),
    /// This operation is on its way, or waits for another actor.
    InFlight { operation: Arc<PlannedOperation> },
    /// It waits for a notification about this.
    Taking { operation: Arc<PlannedOperation>, about: String },
    /// It waits for time to pass; then it tries `again`, or goes on.
    Waiting { label: String, until: LessonTime, again: Option<Arc<PlannedOperation>> },
    /// Its program is over.
    Finished,
    /// Its process was killed.
    Dead,
}

impl State {
    /// Puts off a wait that ends after a time.
    pub(crate) fn put_off(&mut self, after: LessonTime, by: Duration) {
        if let Self::Waiting { until, .. } = self
            && *until > after
        {
            *until += by;
        }
    }
}

impl Performer {
    pub(crate) fn new(machine: Machine) -> Self {
        Self { machine, state: State::Finished, queue: VecDeque::new() }
    }
}
