//! The two diagrams of a log, and the selected event in either.

use ratatui::{layout::Rect, text::Line};

use super::{LessonView, detail, lanes, lesson::inside, question, selection, sequence, wire};
use crate::ui::{
    keys::Pane,
    state::screen::{DiagramKind, Form},
};

impl LessonView<'_> {
    pub fn first_client_reach(&self, area: Rect) -> u16 {
        match self.diagram {
            DiagramKind::Timeline => 0,
            DiagramKind::Sequence => {
                sequence::first_client_reach(&self.scene, inside(self.areas(area).lanes))
            }
        }
    }

    pub fn counts_back(&self, pane: Pane) -> bool {
        pane == Pane::Wire || (pane == Pane::Lanes && self.diagram == DiagramKind::Sequence)
    }

    /// The event `by` places after the selected one in the focused pane; the newest if none is selected.
    pub fn neighbour(&self, by: i32) -> Option<usize> {
        let of = match (self.focus, self.diagram) {
            (Pane::Wire, _) => selection::Order::Wire,
            (_, DiagramKind::Timeline) => selection::Order::Timeline,
            (_, DiagramKind::Sequence) => selection::Order::Sequence,
        };
        selection::neighbour(&self.scene, of, by)
    }

    pub fn event_at(&self, area: Rect, (x, y): (u16, u16)) -> Option<usize> {
        let areas = self.areas(area);
        let lanes = inside(areas.lanes);
        let scroll = self.scrolls.get(Pane::Lanes);
        let event = match self.diagram {
            DiagramKind::Timeline => lanes::event_at(&self.scene, scroll, lanes, (x, y)),
            DiagramKind::Sequence => sequence::event_at(&self.scene, self.view(), lanes, (x, y)),
        };
        let back = self.scrolls.get(Pane::Wire);
        event.or_else(|| wire::event_at(&self.scene, back, inside(areas.wire), (x, y)))
    }

    pub(crate) fn view(&self) -> sequence::View {
        sequence::View { back: self.scrolls.get(Pane::Lanes), first_client: self.first_client }
    }

    /// The lines of the story's pane: the details of the selected event, if there is one.
    pub(crate) fn story_pane_lines(&self, area: Rect) -> Vec<Line<'static>> {
        if let Some(event) = self.scene.selected {
            return detail::lines(&self.scene, event, inside(area).width.saturating_sub(2));
        }
        let (lines, shown) = (self.story_lines(area), self.predictions.shown(&self.scene));
        match shown.filter(|_| self.form == Form::Panes && self.waited.is_none()) {
            Some(shown) => question::in_full(&self.scene, shown, lines, inside(area)),
            None => lines,
        }
    }
}
