//! What the learner does within the panes: scrolling them, choosing events in them.

use super::update::{App, Mode, clamp};
use crate::run::Runs;
use crate::ui::{keys::Pane, view::Screen};

impl<R: Runs> App<R> {
    /// Moves the choice of an event, and what was scrolled follows it again.
    pub(crate) fn select(&mut self, by: i32) {
        let Some(Screen::Lesson(view)) = self.screen() else { return };
        let selected = view.neighbour(by);
        if let Mode::Learning(lesson) = &mut self.mode {
            lesson.selected = selected;
            lesson.aside = None;
            lesson.scrolls.set(Pane::Lanes, None);
            lesson.scrolls.set(Pane::Wire, None);
            lesson.scrolls.set(Pane::Story, None);
        }
    }

    pub(crate) fn move_aside(&mut self, right: bool) {
        let Some(Screen::Lesson(view)) = self.screen() else { return };
        let reach = view.aside_reach(self.size);
        let from = view.aside.unwrap_or(0).min(reach);
        let to = if right { from + 1 } else { from.saturating_sub(1) };
        if let Mode::Learning(lesson) = &mut self.mode {
            lesson.aside = Some(to.min(reach));
        }
    }

    pub(crate) fn scroll_focus(&mut self, by: i32) {
        if let Mode::Learning(lesson) = &self.mode {
            self.scroll_pane(lesson.focus, by);
        }
    }

    pub(crate) fn scroll_pane(&mut self, pane: Pane, by: i32) {
        let Some(Screen::Lesson(view)) = self.screen() else { return };
        let reach = view.reach(pane, self.size);
        // The wire log and the sequence count from their newest line, so up is more.
        let by = if view.counts_back(pane) { -by } else { by };
        let from = view.scrolls.get(pane).unwrap_or(0);
        let to = from.min(reach).saturating_add_signed(clamp(by)).min(reach);
        if let Mode::Learning(lesson) = &mut self.mode {
            lesson.scrolls.set(pane, Some(to));
        }
    }
}
