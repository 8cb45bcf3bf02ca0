//! The window through which the elastic time axis is seen: columns of the chart to columns of the screen.

use super::{cells, prelude::*};
use crate::ui::chart::Detail;

/// Columns that the newest tick's words get right of the playhead: labels, and commands.
const TAIL: (u16, u16) = (22, 40);
/// Columns between two times on the axis.
pub const TICKS: u32 = 12;

#[derive(Debug, Clone, Copy)]
pub struct Plot {
    pub left: u32,
    pub head: u32,
    /// How many events are over.
    pub position: usize,
    pub area: Rect,
}

impl Plot {
    pub fn new(scene: &Scene<'_>, area: Rect) -> Self {
        let position = scene.world.position;
        let head = scene.chart.playhead(scene.log, position, scene.display);
        let left = Self::following(head, scene.chart.detail, area);
        // What is chosen draws the window along, and what came before it stays in sight.
        let chosen = scene.selected.map(|event| scene.chart.column(event));
        let before = u32::from(area.width / 4);
        let left = match chosen {
            Some(chosen) if chosen < left => chosen.saturating_sub(before),
            _ => left,
        };
        Self { left, head, position, area }
    }

    /// The left edge of a window that follows the playhead.
    pub fn following(head: u32, detail: Detail, area: Rect) -> u32 {
        let tail = match detail {
            Detail::Labels => TAIL.0,
            Detail::Wires => TAIL.1,
        };
        head.saturating_sub(u32::from(area.width - tail.min(area.width / 2)))
    }

    /// The chart's column after the last visible one.
    pub fn right(&self) -> u32 {
        self.left + u32::from(self.area.width)
    }

    pub fn screen(&self, x: u32) -> Option<u16> {
        let offset = u16::try_from(x.checked_sub(self.left)?).ok()?;
        (offset < self.area.width).then_some(self.area.x + offset)
    }

    /// The columns of the screen, first and after the last, of a stretch up to the playhead, at least one wide.
    pub fn stretch(&self, from: (u32, usize), to: Option<(u32, usize)>) -> Option<(u16, u16)> {
        if from.1 >= self.position || from.0 > self.head {
            return None;
        }
        let end = match to {
            Some((x, event)) if event < self.position && x <= self.head => x.max(from.0 + 1),
            _ => self.head + 1,
        };
        let (start, end) = (from.0.max(self.left), end.min(self.right()));
        if start >= end {
            return None;
        }
        Some((self.screen(start)?, self.screen(end - 1)? + 1))
    }

    pub fn fill(&self, (from, to): (u16, u16), y: u16, symbol: &str, style: Style, buf: &mut Buffer) {
        for x in from..to.min(self.area.right()) {
            cells::put(buf, (x, y), symbol, style);
        }
    }

    /// Writes words from a column on, up to a limit; gives the column after them.
    pub fn write(&self, at: (u16, u16), words: &str, limit: u16, style: Style, buf: &mut Buffer) -> u16 {
        cells::write(at, words, limit.min(self.area.right()), style, buf)
    }

    /// The line that marks the playhead, where nothing else stands.
    pub fn playhead(&self, scene: &Scene<'_>, rows: Rect, buf: &mut Buffer) {
        let Some(x) = self.screen(self.head) else { return };
        for y in rows.top()..rows.bottom() {
            if let Some(cell) = buf.cell_mut((x, y))
                && cell.symbol() == " "
            {
                cell.set_symbol("┊").set_style(scene.style(Role::Chrome));
            }
        }
    }

    /// The line through everything that happened at the moment of the chosen event.
    pub fn hairline(&self, scene: &Scene<'_>, rows: Rect, buf: &mut Buffer) {
        let chosen = scene.selected.map(|event| scene.chart.column(event));
        let Some(x) = chosen.and_then(|column| self.screen(column)) else { return };
        for y in rows.top()..rows.bottom() {
            if let Some(cell) = buf.cell_mut((x, y))
                && matches!(cell.symbol(), " " | "┊")
            {
                cell.set_symbol(glyphs::HAIRLINE).set_style(scene.style(Role::Accent));
            }
        }
    }

    /// The axis: times of events, as far apart as their words need.
    pub fn axis(&self, scene: &Scene<'_>, y: u16, buf: &mut Buffer) {
        let chrome = scene.style(Role::Chrome);
        self.fill((self.area.x, self.area.right()), y, "─", chrome, buf);
        let mut column = self.left;
        let now = time::moment(scene.display);
        while let Some(event) = scene.chart.event_at(column, self.position) {
            let x = scene.chart.column(event);
            let (Some(screen), Some(logged)) = (self.screen(x), scene.log.events().get(event)) else { break };
            if x + TICKS > self.head {
                break;
            }
            let words = format!("┴{} ", time::moment(logged.at));
            self.write((screen, y), &words, self.area.right(), chrome, buf);
            column = x + TICKS;
        }
        if let Some(x) = self.screen(self.head) {
            let words = format!("▲ {now} ");
            self.write((x, y), &words, self.area.right(), scene.style(Role::Accent), buf);
        }
    }
}
