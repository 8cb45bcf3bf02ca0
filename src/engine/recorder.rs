//! Writes the log. The only writer.

use tokio::sync::mpsc::UnboundedSender;

use super::Update;
use crate::{
    clock::{LessonClock, LessonTime},
    log::{Event, EventKind, Log},
};

/// The log of a live run, and who is told of it.
#[derive(Debug)]
pub(super) struct Recorder {
    log: Log,
    told: usize,
    listener: Option<UnboundedSender<Update>>,
    clock: LessonClock,
    latest: LessonTime,
}

impl Recorder {
    pub(super) fn new(clock: LessonClock, listener: Option<UnboundedSender<Update>>) -> Self {
        Self {
            log: Log::new(),
            told: 0,
            listener,
            clock,
            latest: LessonTime::ZERO,
        }
    }

    /// Whether somebody follows the run while it goes on.
    pub(super) fn is_followed(&self) -> bool {
        self.listener.is_some()
    }

    /// Appends what happened just now.
    pub(super) fn record(&mut self, kind: EventKind) {
        self.record_at(self.clock.now(), kind);
    }

    /// Appends what happened at a given moment. Events are told in order, so their times never go back.
    pub(super) fn record_at(&mut self, at: LessonTime, kind: EventKind) {
        self.latest = self.latest.max(at);
        self.log.append(Event {
            at: self.latest,
            kind,
        });
    }

    /// Tells the listener what it has not been told yet.
    pub(super) fn tell(&mut self) {
        if let Some(listener) = &self.listener
            && self.told < self.log.len()
        {
            // A listener that has gone will end the run by itself.
            let _ = listener.send(Update::Events(self.log.events()[self.told..].to_vec()));
            self.told = self.log.len();
        }
    }

    /// Tells that time runs from here on, after whatever has not been told yet.
    pub(super) fn tell_time_runs(&mut self) {
        self.tell();
        if let Some(listener) = &self.listener {
            let _ = listener.send(Update::TimeRuns);
        }
    }

    pub(super) fn log(&self) -> &Log {
        &self.log
    }

    pub(super) fn into_log(self) -> Log {
        self.log
    }
}
