//! The elastic time axis: which column an event gets, which moment a column stands for.
//!
//! **Architecture Invariant:** the column of an event depends on the events up to it alone.

use std::time::Duration;

use super::{APART, BURST, Burst, CROWD, Chart, Lane, actor_with_tick};
use crate::{
    clock::LessonTime,
    log::{Actor, Event, EventKind, Fault, Log},
};

/// The number of columns for a duration. It grows with the logarithm: a minute gets only twice as many columns as 100
/// ms.
pub fn stretch(time: Duration) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the logarithm of a duration is small and not negative"
    )]
    let columns = elastic(time).round() as u32;
    columns
}

/// The length of a duration on the elastic axis, in columns.
fn elastic(time: Duration) -> f64 {
    4.0 * (1.0 + time.as_secs_f64() * 1000.0).log10()
}

/// The duration that `columns` columns stand for, at most a day: the inverse of [`elastic`].
fn linear(columns: f64) -> Duration {
    let millis = 10f64.powf(columns / 4.0) - 1.0;
    Duration::from_secs_f64((millis / 1000.0).clamp(0.0, 86_400.0))
}

/// How densely the axis is drawn: normally, or denser so that a whole story fits on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compression {
    /// The factor by which durations are drawn shorter.
    pub(crate) shorter: u32,
    /// The number of columns of a tick's text that later ticks must leave visible; `None` for the whole text.
    pub(crate) words: Option<u32>,
}

impl Default for Compression {
    fn default() -> Self {
        Self { shorter: 1, words: None }
    }
}

impl Compression {
    /// The first column at which the lane's next tick may stand.
    pub(crate) fn room(self, lane: &Lane) -> u32 {
        match (self.words, lane.marks.last()) {
            (Some(words), Some(mark)) => lane.end.min(mark.x + words),
            _ => lane.end,
        }
    }

    pub(crate) fn apart(self) -> u32 {
        if self.words.is_some_and(|words| words < APART) { 1 } else { APART }
    }

    pub(crate) fn of(self, columns: u32) -> u32 {
        columns.div_ceil(self.shorter)
    }
}

impl Chart {
    pub fn column(&self, event: usize) -> u32 {
        self.columns.get(event).copied().unwrap_or_default()
    }

    /// The first event at or right of `column`, among the first `position`.
    pub fn event_at(&self, column: u32, position: usize) -> Option<usize> {
        let known = &self.columns[..position.min(self.columns.len())];
        let event = known.partition_point(|x| *x < column);
        (event < known.len()).then_some(event)
    }

    /// The column of the playhead after `position` events, when the time shown is `display`.
    pub fn playhead(&self, log: &Log, position: usize, display: LessonTime) -> u32 {
        let position = position.min(self.columns.len());
        let Some(last) = position.checked_sub(1) else { return 0 };
        let before = self.columns[last];
        let passed = stretch(display.since(log.events()[last].at));
        match self.columns.get(position) {
            // Between two known events the playhead moves in proportion, so that it reaches the next one when its time
            // comes.
            Some(next) if *next > before => {
                let (from, to) = (log.events()[last].at, log.events()[position].at);
                let (elapsed, whole) = (stretch(display.since(from)), stretch(to.since(from)));
                before + (next - before).min((next - before) * elapsed / whole.max(1))
            }
            Some(_) => before,
            None => before + passed,
        }
    }

    /// The lesson time that a column stands for, at most the time shown; the inverse of [`Chart::playhead`].
    pub fn moment(&self, log: &Log, column: u32, position: usize, display: LessonTime) -> LessonTime {
        let known = &self.columns[..position.min(self.columns.len())];
        let next = known.partition_point(|x| *x <= column);
        let Some(last) = next.checked_sub(1) else { return LessonTime::ZERO };
        let (from, before) = (log.events()[last].at, self.columns[last]);
        let elapsed = f64::from(column - before);
        match known.get(next) {
            Some(after) => {
                let to = log.events()[next].at;
                let whole = elastic(to.since(from));
                (from + linear(whole * elapsed / f64::from(after - before))).min(to)
            }
            None => (from + linear(elapsed * f64::from(self.compression.shorter))).min(display.max(from)),
        }
    }

    /// The last event up to a column and the next one, as columns and times; `head` after the last of `position` events.
    pub fn around(
        &self,
        log: &Log,
        column: u32,
        position: usize,
        head: (u32, LessonTime),
    ) -> [(u32, LessonTime); 2] {
        let known = &self.columns[..position.min(self.columns.len())];
        let next = known.partition_point(|x| *x <= column);
        let at = |n: usize| known.get(n).map(|x| (*x, log.events()[n].at));
        [next.checked_sub(1).and_then(at).unwrap_or_default(), at(next).unwrap_or(head)]
    }

    /// The column of an event that is about to be placed. The last event is at column `cursor` and happened at
    /// `before`.
    pub(crate) fn next_column(
        &mut self,
        log: &Log,
        event: &Event,
        (cursor, before): (u32, LessonTime),
    ) -> u32 {
        let wanted = self.wanted_column(log, event, (cursor, before));
        let session = matches!(event.kind, EventKind::Session { .. });
        let folded = event
            .kind
            .actor()
            .filter(|_| !session)
            .and_then(|actor| self.lanes.get(actor.0 as usize))
            .is_some_and(|lane| lane.band.is_some());
        if folded { wanted.min(self.state.begun + CROWD).max(cursor) } else { wanted }
    }

    fn wanted_column(&mut self, log: &Log, event: &Event, (cursor, before): (u32, LessonTime)) -> u32 {
        let passed = event.at.since(before);
        let burst = match event.kind {
            EventKind::Sent { .. } => Burst::Sending,
            EventKind::Notified { .. } => Burst::Notifying,
            // Observations of servers do not end a burst.
            EventKind::State(_) | EventKind::Metric { .. } | EventKind::Sentinel { .. } => self.state.burst,
            _ => Burst::Broken,
        };
        let same = burst != Burst::Broken && burst == self.state.burst && passed < BURST;
        self.state.burst = burst;
        let after = cursor + if same { 0 } else { self.compression.of(stretch(passed)) };
        if let EventKind::Fault(fault) = &event.kind {
            let room = match self.hit(fault) {
                Some(truth) => truth.fault_room,
                None => self.words_before(log, fault),
            };
            return after.max(cursor + self.compression.apart()).max(room);
        }
        if let Some((_, notice)) = event.of_sentinel() {
            // A Sentinel's decision about a server is placed right of the text of the server's faults, which caused it.
            let truth = notice.server().and_then(|server| self.truth(server));
            return after.max(truth.map_or(0, |truth| truth.fault_room));
        }
        let lane = actor_with_tick(&event.kind).and_then(|actor| self.lanes.get(actor.0 as usize));
        let Some(lane) = lane.or_else(|| self.late_reply(event)) else { return after };
        if lane.band.is_none() && lane.is_note(log, &event.kind, event.at) {
            return after;
        }
        let apart = if same { cursor } else { after.max(cursor + self.compression.apart()) };
        if lane.band.is_none() && lane.repeats_request(log, event) {
            return apart;
        }
        match lane.band {
            Some(band) => self.bands[band].room(&event.kind, cursor, apart),
            None => apart.max(self.compression.room(lane)),
        }
    }

    /// The first column right of the texts of the actors that a fault hits. These texts must stay readable: they tell
    /// what the actors were doing when they died.
    fn words_before(&self, log: &Log, fault: &Fault) -> u32 {
        let hit = |actor: &Actor| fault.client() == Some(&actor.client);
        let lanes = log.actors().iter().zip(&self.lanes);
        let alone = lanes.filter(|(actor, lane)| hit(actor) && lane.band.is_none());
        alone.map(|(_, lane)| self.compression.room(lane)).max().unwrap_or(0)
    }
}
