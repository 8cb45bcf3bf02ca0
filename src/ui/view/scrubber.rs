//! The scrubber: the whole story as one line, with marks for questions, faults and the violation.

use super::{cells, prelude::*};
use crate::ui::{chart::Beat, words::fault};

#[derive(Debug, Clone, Copy)]
pub struct Scrubber {
    area: Rect,
    beats: usize,
}

impl Scrubber {
    /// A scrubber for a story of so many steps. A run may know of more than the catalogue does.
    pub fn new(scene: &Scene<'_>, beats: usize, area: Rect) -> Self {
        let known = scene.chart.beats.last().map_or(0, |beat| beat.item + 1);
        let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        Self { area, beats: beats.max(known).max(1) }
    }

    /// The column behind a step; 0 is the story's beginning.
    fn column(&self, steps: usize) -> u16 {
        let width = usize::from(self.area.width.saturating_sub(1));
        let offset = width * steps.min(self.beats) / self.beats;
        self.area.x + u16::try_from(offset).unwrap_or(self.area.width)
    }

    /// The position that a click on a column asks for: that of the nearest known step, or 0 for the beginning.
    pub fn position(&self, scene: &Scene<'_>, x: u16) -> usize {
        let distance = |steps: usize| self.column(steps).abs_diff(x);
        let mut best = (distance(0), 0);
        for beat in &scene.chart.beats {
            // Of several stops in one step, the last.
            if distance(beat.item + 1) <= best.0 {
                best = (distance(beat.item + 1), beat.position);
            }
        }
        best.1
    }

    pub fn draw(&self, scene: &Scene<'_>, buf: &mut Buffer) {
        if self.area.is_empty() {
            return;
        }
        let y = self.area.y;
        // What has not been shown yet is not marked, even where it is known.
        let seen = scene.chart.beats.partition_point(|beat| beat.position <= scene.seen);
        let beats = &scene.chart.beats[..seen];
        let steps = |beat: Option<&Beat>| beat.map_or(0, |beat| beat.item + 1);
        let known = self.column(steps(beats.last()));
        let over = beats.partition_point(|beat| beat.position <= scene.world.position);
        let head = self.column(steps(over.checked_sub(1).map(|n| &beats[n])));
        let mut put = |x: u16, symbol: &str, style: Style| cells::put(buf, (x, y), symbol, style);
        for x in self.area.left()..self.area.right() {
            let (symbol, role) = match x {
                _ if x <= head => ("━", Role::Accent),
                _ if x <= known => ("─", Role::Chrome),
                _ => ("┈", Role::Chrome),
            };
            put(x, symbol, scene.style(role));
        }
        // The violation is a stretch, from where the step before it ended.
        for beat in beats.iter().filter(|beat| beat.clash) {
            for x in self.column(beat.item) + 1..=self.column(beat.item + 1) {
                put(x, glyphs::CLASH_LINE, scene.style(Role::Danger));
            }
        }
        for beat in beats {
            let x = self.column(beat.item + 1);
            if let Some(glyph) = beat.fault.and_then(|event| scene.fault(event)).map(fault::glyph) {
                put(x, glyph, scene.style(Role::Danger));
            } else if beat.asks {
                put(x, "?", scene.style(Role::Warning));
            }
        }
        put(head, glyphs::KNOB, scene.style(Role::Accent));
    }
}
