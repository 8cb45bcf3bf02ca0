//! Where everything is on the screen.

use ratatui::layout::{Constraint, Layout, Rect};

/// Screens wider than this have the details beside the outcomes.
const WIDE: u16 = 130;
/// There is always room for so many outcomes, so that the first ones move nothing.
const FEW: usize = 6;

#[derive(Debug, Clone, Copy)]
pub struct Areas {
    pub header: Rect,
    pub summary: Rect,
    pub outcomes: Rect,
    pub details: Rect,
    pub hints: Rect,
}

impl Areas {
    /// Divides a screen for so many lines of summary and so many outcomes; the details have `below` rows at least, with
    /// their frame, where they are not beside the outcomes.
    pub fn of(area: Rect, (summary, outcomes): (usize, usize), below: u16) -> Self {
        let rows = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        let [header, summary, body, hints] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(rows(summary).min(area.height / 2)),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(area);
        let [outcomes, details] = if area.width >= WIDE {
            Layout::horizontal([Constraint::Percentage(66), Constraint::Min(1)]).areas(body)
        } else {
            // The histogram takes what it needs, and leaves some of the details in sight.
            let most = body.height.saturating_sub(below).max(body.height / 2);
            let wanted = rows(outcomes.max(FEW) + 2).min(most);
            Layout::vertical([Constraint::Length(wanted), Constraint::Min(0)]).areas(body)
        };
        Self { header, summary, outcomes, details, hints }
    }
}
