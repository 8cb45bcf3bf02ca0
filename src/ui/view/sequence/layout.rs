//! The visible rows, and their positions.

use ratatui::layout::Rect;

use super::{arrow::Arrow, window::Window};
use crate::ui::{chart::OverlapSpan, view::Scene};

/// The rows shown before a failure that the window follows.
const BEFORE: usize = 3;

#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) row: usize,
    pub(crate) y: u16,
    /// One line, or two if the text is above the arrow.
    pub(crate) height: u16,
    pub(crate) arrow: Option<Arrow>,
}

pub(crate) struct Layout {
    pub(crate) window: Window,
    pub(crate) header: u16,
    pub(crate) body: Rect,
    pub(crate) rows: Vec<Placed>,
}

/// How the learner has scrolled the pane; `None` follows the selected event or the newest row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View {
    /// That many rows before the newest.
    pub back: Option<u16>,
    /// The first visible client, counted from 0.
    pub first_client: Option<u16>,
}

pub(crate) fn reach(scene: &Scene<'_>) -> u16 {
    let known = scene.sequence.known(scene.world.position);
    u16::try_from(known.saturating_sub(1)).unwrap_or(u16::MAX)
}

impl Layout {
    pub(crate) fn new(scene: &Scene<'_>, view: View, area: Rect) -> Self {
        let position = scene.world.position;
        let known = scene.sequence.known(position);
        let chosen = scene.selected.and_then(|event| scene.sequence.row_of(event)).filter(|row| *row < known);
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        let free = chosen.is_none() && view.back.is_none();
        let failure = failure(scene).filter(|_| free && scene.whole);
        let follow = chosen.or(failure).or(known.checked_sub(1));
        let newest = follow.and_then(|row| {
            // A gap in time has no column: the row before it decides which clients are visible.
            let rows = scene.sequence.rows[..=row].iter().rev();
            rows.take(8).find(|row| row.columns().is_some())
        });
        let window = Window::new(scene, view.first_client, newest, area);
        let mut layout = Self { window, header: area.y, body, rows: Vec::new() };
        let back = view.back.map_or(0, |back| usize::from(back.min(reach(scene))));
        // Something is wrong now and stays wrong: the space below shows that. Nothing more comes after a finished run.
        let below = if free && !scene.whole && scene.alarm().is_some() { body.height * 2 / 5 } else { 0 };
        layout.fill(scene, known - back.min(known), below);
        let first = layout.rows.first().map_or(0, |placed| placed.row);
        if let Some(chosen) = chosen.filter(|chosen| view.back.is_none() && *chosen < first) {
            // The window moves to the selected event and keeps a quarter of its height after it.
            layout.fill(scene, known.min(chosen + 1 + usize::from(body.height / 4)), 0);
        }
        if let Some(failure) = failure
            && layout.rows.first().is_some_and(|placed| placed.row + BEFORE > failure)
        {
            let end = layout.end(scene, failure.saturating_sub(BEFORE), known);
            layout.fill(scene, end, 0);
        }
        layout
    }

    /// The row after the last one that fits, from row `first` on.
    fn end(&self, scene: &Scene<'_>, first: usize, known: usize) -> usize {
        let mut left = self.body.height;
        let heights = (first..known).map(|row| height(self.arrow(scene, row).as_ref()));
        let fitting = heights.take_while(|height| {
            let fits = *height <= left;
            left = left.saturating_sub(*height);
            fits
        });
        first + fitting.count()
    }

    fn arrow(&self, scene: &Scene<'_>, row: usize) -> Option<Arrow> {
        Arrow::new(scene, &self.window, &scene.sequence.rows[row])
    }

    /// Places the rows before `end` from the bottom upward, leaving `below` lines free.
    fn fill(&mut self, scene: &Scene<'_>, end: usize, below: u16) {
        self.rows.clear();
        let mut left = self.body.height - below;
        for row in (0..end).rev() {
            let arrow = self.arrow(scene, row);
            let height = height(arrow.as_ref());
            if height > left {
                break;
            }
            left -= height;
            self.rows.push(Placed { row, y: 0, height, arrow });
        }
        self.rows.reverse();
        // A few rows start below the names; otherwise the newest row is at the bottom.
        let all = self.rows.first().is_none_or(|placed| placed.row == 0);
        let mut y = self.body.y + if all { 0 } else { left };
        for placed in &mut self.rows {
            placed.y = y;
            y += placed.height;
        }
    }
}

/// The lines of a row: one, or two if its text is above its arrow.
fn height(arrow: Option<&Arrow>) -> u16 {
    1 + u16::from(arrow.is_some_and(Arrow::is_short))
}

/// The row of the first failure.
fn failure(scene: &Scene<'_>) -> Option<usize> {
    let known = |overlap_span: &&OverlapSpan| overlap_span.from.1 < scene.world.position;
    // An overlap takes precedence, because it shows more than another broken invariant.
    let first =
        scene.chart.overlap_spans.iter().find(known).or_else(|| scene.chart.other_alarms().find(known))?;
    scene.sequence.row_of(first.from.1)
}

/// The event whose row is at a place of the screen.
pub(crate) fn event_at(scene: &Scene<'_>, view: View, area: Rect, (x, y): (u16, u16)) -> Option<usize> {
    if !area.contains((x, y).into()) {
        return None;
    }
    let layout = Layout::new(scene, view, area);
    let placed = layout.rows.iter().find(|placed| (placed.y..placed.y + placed.height).contains(&y))?;
    let row = scene.sequence.rows.get(placed.row)?;
    row.is_selectable().then_some(row.event)
}
