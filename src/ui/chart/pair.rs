//! Two charts on one axis: events at the same lesson time are in the same column of both.

use super::{Chart, Compression, Detail};
use crate::{clock::LessonTime, log::Log, verdict::compare::Timeline};

#[derive(Debug, Clone, Default)]
pub struct Pair {
    pub charts: [Chart; 2],
    /// The column and the time of each slot of the timeline; neither ever decreases.
    places: Vec<(u32, LessonTime)>,
}

impl Pair {
    /// Draws two logs along their common timeline, with as much text as lets the whole story fit in `room` columns, if
    /// possible.
    pub fn new(logs: [&Log; 2], timeline: &Timeline, room: u32) -> Self {
        // The last two leave room for little more than ticks.
        const WAYS: [(Detail, u32, Option<u32>); 8] = [
            (Detail::Wires, 1, None),
            (Detail::Wires, 2, None),
            (Detail::Labels, 1, None),
            (Detail::Labels, 2, None),
            (Detail::Labels, 4, None),
            (Detail::Labels, 4, Some(18)),
            (Detail::Labels, 4, Some(2)),
            (Detail::Labels, 8, Some(1)),
        ];
        let mut pair = Self::default();
        for (detail, shorter, words) in WAYS {
            pair = Self::drawn(logs, timeline, detail, Compression { shorter, words });
            if pair.end() <= room {
                break;
            }
        }
        pair
    }

    fn drawn(logs: [&Log; 2], timeline: &Timeline, detail: Detail, compression: Compression) -> Self {
        let chart = Chart { compression, ..Chart::new(detail) };
        let mut pair =
            Self { charts: [chart.clone(), chart], places: Vec::with_capacity(timeline.slots.len()) };
        for slot in &timeline.slots {
            let before = pair.places.last().copied().unwrap_or_default();
            let mut x = before.0;
            for (side, chart) in pair.charts.iter_mut().enumerate() {
                if let Some(index) = slot.events[side] {
                    chart.prepare(logs[side], index);
                    let event = &logs[side].events()[index];
                    // Both events share a column, so the run that needs more room decides.
                    x = x.max(chart.next_column(logs[side], event, before));
                }
            }
            for (side, chart) in pair.charts.iter_mut().enumerate() {
                if let Some(index) = slot.events[side] {
                    chart.put(logs[side], index, x);
                }
            }
            pair.places.push((x, slot.at));
        }
        pair
    }

    /// The column of the playhead after the first `slots` slots.
    pub fn head(&self, slots: usize) -> u32 {
        let last = slots.min(self.places.len()).checked_sub(1);
        last.map_or(0, |last| self.places[last].0)
    }

    /// The column right of everything, texts included.
    pub fn end(&self) -> u32 {
        let lanes = self.charts.iter().flat_map(|chart| &chart.lanes);
        let words = lanes.map(|lane| lane.end).max().unwrap_or_default();
        words.max(self.head(usize::MAX) + 1)
    }

    /// The first slot at or right of `column` among the first `slots`: its column and its time.
    pub fn time_at(&self, column: u32, slots: usize) -> Option<(u32, LessonTime)> {
        let known = &self.places[..slots.min(self.places.len())];
        known.get(known.partition_point(|(x, _)| *x < column)).copied()
    }
}
