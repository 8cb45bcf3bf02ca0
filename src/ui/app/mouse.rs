//! Handles the mouse: choosing, scrubbing, scrolling.

use std::time::Instant;

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::{App, update::Mode};
use crate::{
    run::Runs,
    ui::{
        keys::Action,
        state::screen::Overlay,
        view::{Hit, Screen},
    },
};

/// Lines scrolled by one step of the wheel.
const WHEEL: i32 = 3;

impl<R: Runs> App<R> {
    /// Handles a mouse event. Returns `true` when the picture may have changed.
    pub(crate) fn handle_mouse(&mut self, mouse: MouseEvent, now: Instant) -> bool {
        let at = (mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => self.click(at, now),
            MouseEventKind::Drag(MouseButton::Left) => self.drag(at),
            MouseEventKind::ScrollUp => self.wheel(at, -WHEEL),
            MouseEventKind::ScrollDown => self.wheel(at, WHEEL),
            // Terminals report a great many mouse movements, and none of them has an effect here.
            _ => return false,
        }
        true
    }

    fn hit(&self, at: (u16, u16)) -> Hit {
        let Some(Screen::Lesson(view)) = self.screen() else { return Hit::Nothing };
        view.hit(self.size, at)
    }

    fn click(&mut self, at: (u16, u16), now: Instant) {
        if self.overlay != Overlay::Nothing {
            // As usual elsewhere, a click outside an overlay closes it.
            self.act(Action::Close, now);
            return;
        }
        if let Some(Screen::Catalogue(view)) = self.screen() {
            match view.entry_at(self.size, at) {
                Some(entry) if entry == self.selected => self.act(Action::Open, now),
                Some(entry) => self.choose_entry(entry),
                None => {}
            }
            return;
        }
        if let Some(Screen::Outcomes(view)) = self.screen() {
            let hit = view.hit(self.size, at);
            self.point_in_outcomes(hit);
            return;
        }
        let hit = self.hit(at);
        let Mode::Learning(lesson) = &mut self.mode else { return };
        match hit {
            Hit::Nothing => {}
            Hit::Pane(pane) => lesson.focus = pane,
            Hit::Event(pane, event) => {
                lesson.focus = pane;
                lesson.selected = Some(event);
            }
            Hit::Position(position) => {
                lesson.selected = None;
                lesson.run.seek(position);
            }
            Hit::Choice(pane, choice) => {
                lesson.focus = pane;
                let free = lesson.run.free.is_some();
                self.act(if free { Action::MoveActor(choice) } else { Action::Answer(choice) }, now);
            }
        }
    }

    fn drag(&mut self, at: (u16, u16)) {
        if let (Overlay::Nothing, Hit::Position(position)) = (self.overlay, self.hit(at))
            && let Mode::Learning(lesson) = &mut self.mode
        {
            lesson.run.seek(position);
        }
    }

    fn wheel(&mut self, at: (u16, u16), by: i32) {
        match self.overlay {
            Overlay::Nothing | Overlay::Joining => {}
            Overlay::Palette | Overlay::Branches(_) => {
                return self.act(Action::Move(by.signum()), Instant::now());
            }
            Overlay::Help(_) | Overlay::Measured(_) => return self.scroll_overlay(by),
        }
        match (&self.mode, self.hit(at)) {
            _ if self.interviewing().is_some() => self.act(Action::Move(by.signum()), Instant::now()),
            (Mode::Browsing | Mode::Outcomes(_), _) => {
                self.act(Action::Move(by.signum()), Instant::now());
            }
            (Mode::Learning(_), Hit::Pane(pane) | Hit::Event(pane, _) | Hit::Choice(pane, _)) => {
                self.scroll_pane(pane, by);
            }
            _ => {}
        }
    }
}
