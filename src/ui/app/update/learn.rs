//! What the learner's actions do while a lesson is on the screen.

use std::time::Instant;

use super::{App, Mode, PAGE, next_speed};
use crate::{
    run::Runs,
    ui::{
        keys::{Action, Pane},
        state::{
            answers::Answer,
            outcomes::ExplorationOptions,
            screen::{Form, Scrolls},
        },
    },
};

impl<R: Runs> App<R> {
    pub(crate) fn learn(&mut self, action: Action, now: Instant) {
        let Mode::Learning(lesson) = &mut self.mode else { return };
        let (entry, variant) = (lesson.entry, lesson.variant);
        match action {
            Action::Close if lesson.selected.is_some() => lesson.selected = None,
            Action::Close => self.leave_lesson(),
            // One run of many is over, and there is no lab.
            Action::Compare | Action::Restart | Action::Variant(_) | Action::Race | Action::Explore
                if lesson.single.is_some() => {}
            Action::Race => self.race(entry, variant),
            Action::Explore => self.explore(entry, variant, ExplorationOptions::default()),
            Action::Compare => self.compare(entry, None),
            Action::Free
            | Action::MoveActor(_)
            | Action::Timer
            | Action::Pass(_)
            | Action::Faults
            | Action::Choose(_)
            | Action::Branches => self.play_freely(action),
            Action::Restart => self.open(entry, variant),
            Action::Variant(next) => {
                let other = self.catalogue.neighbour(entry, variant, next);
                self.open(entry, other);
            }
            Action::Answer(choice) => {
                // The question is to be seen.
                lesson.selected = None;
                lesson.run.answer(Answer::Chosen(choice));
            }
            Action::Skip => {
                lesson.selected = None;
                lesson.run.answer(Answer::Skipped);
            }
            Action::Focus => lesson.focus = lesson.focus.next(),
            Action::Faster(faster) => self.set_speed(next_speed(self.speed, faster), now),
            Action::Crowd => {
                lesson.expanded = !lesson.expanded;
                lesson.scrolls.set(Pane::Lanes, None);
            }
            Action::Lens => self.lens = self.lens.other(),
            Action::Sideways(right) => self.move_aside(right),
            Action::Move(by) => match lesson.focus {
                Pane::Lanes | Pane::Wire => self.select(by),
                Pane::Story | Pane::Servers => self.scroll_focus(by),
            },
            Action::Page(by) => self.scroll_focus(by * PAGE),
            Action::Zoom => self.form = self.form.toggled(Form::Zoomed),
            Action::Present => self.form = self.form.toggled(Form::Presenting),
            Action::Mark(next) => {
                if let Some(position) = lesson.run.playback.mark(next) {
                    lesson.scrolls = Scrolls::default();
                    lesson.selected = None;
                    lesson.run.seek(position);
                }
            }
            Action::Forward | Action::Open | Action::Back | Action::End(_) | Action::Toggle => {
                // Whatever is new, the panes follow it.
                lesson.scrolls = Scrolls::default();
                lesson.aside = None;
                if let Some(event) = lesson.selected.take()
                    && action == Action::Open
                {
                    lesson.run.seek(event + 1);
                    return;
                }
                match action {
                    Action::Back => lesson.run.back(now),
                    Action::End(end) => lesson.run.to(end),
                    Action::Toggle => lesson.run.toggle(now),
                    _ => lesson.run.forward(now),
                }
            }
            // At home elsewhere, or done already.
            _ => {}
        }
    }
}
