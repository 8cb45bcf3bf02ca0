//! The scrubber: the whole story as one line, with marks for questions, faults and violations.

use super::{cells, prelude::*};
use crate::ui::{chart::StoryMark, words::fault};

#[derive(Debug, Clone, Copy)]
pub struct Scrubber {
    area: Rect,
    steps: usize,
}

impl Scrubber {
    /// A scrubber for a story of `steps` steps. A run may have more steps than the catalogue knows.
    pub fn new(scene: &Scene<'_>, steps: usize, area: Rect) -> Self {
        let known = scene.chart.story_marks.last().map_or(0, |mark| mark.item + 1);
        let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        Self { area, steps: steps.max(known).max(1) }
    }

    /// The column after that many steps; 0 is the beginning of the story.
    fn column(&self, steps: usize) -> u16 {
        let width = usize::from(self.area.width.saturating_sub(1));
        let offset = width * steps.min(self.steps) / self.steps;
        self.area.x + u16::try_from(offset).unwrap_or(self.area.width)
    }

    /// The position that a click on a column selects: the end of the nearest known step, or 0 for the beginning.
    pub fn position(&self, scene: &Scene<'_>, x: u16) -> usize {
        let distance = |steps: usize| self.column(steps).abs_diff(x);
        let mut best = (distance(0), 0);
        for mark in &scene.chart.story_marks {
            // If a step has several stops, the last one.
            if distance(mark.item + 1) <= best.0 {
                best = (distance(mark.item + 1), mark.position);
            }
        }
        best.1
    }

    pub fn draw(&self, scene: &Scene<'_>, buf: &mut Buffer) {
        if self.area.is_empty() {
            return;
        }
        let y = self.area.y;
        // Steps that have not been shown yet are not marked, even if they are known.
        let seen = scene.chart.story_marks.partition_point(|mark| mark.position <= scene.seen);
        let marks = &scene.chart.story_marks[..seen];
        let steps = |mark: Option<&StoryMark>| mark.map_or(0, |mark| mark.item + 1);
        let known = self.column(steps(marks.last()));
        let over = marks.partition_point(|mark| mark.position <= scene.world.position);
        let head = self.column(steps(over.checked_sub(1).map(|n| &marks[n])));
        let mut put = |x: u16, symbol: &str, style: Style| cells::put(buf, (x, y), symbol, style);
        for x in self.area.left()..self.area.right() {
            let (symbol, role) = match x {
                _ if x <= head => ("━", Role::Accent),
                _ if x <= known => ("─", Role::Chrome),
                _ => ("┈", Role::Chrome),
            };
            put(x, symbol, scene.style(role));
        }
        // A violation is a stretch, from the end of the step before.
        for mark in marks.iter().filter(|mark| mark.overlap_span) {
            for x in self.column(mark.item) + 1..=self.column(mark.item + 1) {
                put(x, glyphs::CLASH_LINE, scene.style(Role::Danger));
            }
        }
        for mark in marks {
            let x = self.column(mark.item + 1);
            if let Some(glyph) = mark.fault.and_then(|event| scene.fault(event)).map(fault::glyph) {
                put(x, glyph, scene.style(Role::Danger));
            } else if mark.asks {
                put(x, "?", scene.style(Role::Warning));
            }
        }
        put(head, glyphs::KNOB, scene.style(Role::Accent));
    }
}
