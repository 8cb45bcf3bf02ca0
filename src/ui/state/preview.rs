//! The failure of the selected lesson, played once from its recording in the catalogue.

use std::time::{Duration, Instant};

use crate::{
    log::{EventKind, Log, Stop},
    ui::chart::{Chart, Detail, sequence::Sequence},
    world::World,
};

/// How long each step is shown.
const STEP: Duration = Duration::from_millis(600);

#[derive(Debug)]
pub struct Preview {
    /// The part that has been shown.
    pub log: Log,
    pub world: World,
    pub chart: Chart,
    pub sequence: Sequence,
    whole: Log,
    /// When the next step is due; `None` after the last.
    next: Option<Instant>,
}

impl Preview {
    /// Begins at the first step, or shows everything at once if `still`.
    pub fn new(whole: Log, still: bool, now: Instant) -> Self {
        let mut preview = Self {
            log: Log::new(),
            world: World::default(),
            chart: Chart::new(Detail::Labels),
            sequence: Sequence::default(),
            whole,
            next: Some(now),
        };
        preview.tick(now);
        while still && preview.next.is_some() {
            preview.step(now);
        }
        preview
    }

    pub fn due(&self) -> Option<Instant> {
        self.next
    }

    pub fn tick(&mut self, now: Instant) {
        if self.next.is_some_and(|next| now >= next) {
            self.step(now);
        }
    }

    /// Shows the next step that contains more than narration or a question.
    fn step(&mut self, now: Instant) {
        let ends = |kind: &EventKind| match kind {
            EventKind::Stop { stop, .. } => !matches!(stop, Stop::Narration | Stop::Question),
            _ => false,
        };
        let (known, events) = (self.log.len(), self.whole.events());
        let end = events[known..].iter().position(|event| ends(&event.kind));
        let to = end.map_or(events.len(), |end| known + end + 1);
        self.log.extend(events[known..to].to_vec());
        self.world.seek(&self.log, to);
        self.chart.advance(&self.log);
        self.sequence.advance(&self.log);
        self.next = (to < events.len()).then(|| now + STEP);
    }
}
