//! The only writer of the log.

use std::io;

use tokio::sync::mpsc::UnboundedSender;

use super::Update;
use crate::{
    clock::{LessonClock, LessonTime},
    log::{Event, EventKind, Log},
    text::{Text, both},
};

/// The log of a live run, and the listener that new events are sent to.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) log: Log,
    published: usize,
    listener: Option<UnboundedSender<Update>>,
    clock: LessonClock,
    latest: LessonTime,
    weight: usize,
}

/// The most that a run may record, in bytes of its events as JSON. Logs are kept in memory.
const LARGEST: usize = 128 << 20;

/// The bytes that each event counts for in addition to its contents.
const EVENT: usize = 64;

impl Recorder {
    pub(crate) fn new(clock: LessonClock, listener: Option<UnboundedSender<Update>>) -> Self {
        Self { log: Log::new(), published: 0, listener, clock, latest: LessonTime::ZERO, weight: 0 }
    }

    pub(crate) fn is_followed(&self) -> bool {
        self.listener.is_some()
    }

    /// Appends an event at the current time.
    pub(crate) fn record(&mut self, kind: EventKind) {
        self.record_at(self.clock.now(), kind);
    }

    /// Appends an event at the given time. Times in a log never go back.
    pub(crate) fn record_at(&mut self, at: LessonTime, kind: EventKind) {
        self.latest = self.latest.max(at);
        self.weight += EVENT + weight(&kind);
        self.log.append(Event { at: self.latest, kind });
    }

    /// Returns an error once the log has reached its size limit.
    pub(crate) fn has_room(&self) -> Result<(), Text> {
        if self.weight <= LARGEST {
            return Ok(());
        }
        let most = LARGEST >> 20;
        Err(both!(
            "the run has recorded more than {most} MiB of replies, messages and contents of servers; a lesson may not",
            "这次运行记录的回复、消息和服务器内容超过了 {most} MiB，一节课不能这么多"
        ))
    }

    /// Sends the listener the events that it has not received yet.
    pub(crate) fn publish(&mut self) {
        if let Some(listener) = &self.listener
            && self.published < self.log.len()
        {
            // Sending fails only if the listener is gone, and then the run is about to end.
            let _ = listener.send(Update::Events(self.log.events()[self.published..].to_vec()));
            self.published = self.log.len();
        }
    }

    /// Tells the listener that time runs from now on, after sending the events that it has not received yet.
    pub(crate) fn publish_time_runs(&mut self) {
        self.publish();
        if let Some(listener) = &self.listener {
            let _ = listener.send(Update::TimeRuns);
        }
    }
}

/// The size of an event as JSON, in bytes: about what it takes in memory, whatever kind it is of.
fn weight(kind: &EventKind) -> usize {
    struct Length(usize);

    impl io::Write for Length {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut length = Length(0);
    // Every event is recorded as JSON, and writing to a counter does not fail.
    let _ = serde_json::to_writer(&mut length, kind);
    length.0
}
