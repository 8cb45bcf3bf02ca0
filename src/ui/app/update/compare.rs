//! The part of the program's state in which two variants stand beside each other: how the learner gets there, what the
//! keys do there, and the way back.

use std::time::Instant;

use super::{App, Lesson, Mode, PAGE, next_speed, scrolled};
use crate::{
    run::{LessonChoice, Runs},
    ui::{
        keys::Action,
        state::comparing::{self, Comparing},
        view::{Notice, Screen},
    },
};

#[derive(Debug)]
pub struct ComparisonScreen {
    pub(crate) entry: usize,
    pub(crate) comparing: Comparing,
    /// The lesson that it was opened from, as it was left.
    pub(crate) back: Option<Box<Lesson>>,
    /// How far the lanes are scrolled; `None` follows who moves.
    pub(crate) lanes: Option<u16>,
    pub(crate) verdicts: u16,
    /// Whether what proves the claims is shown.
    pub(crate) proof: bool,
}

impl<R: Runs> App<R> {
    /// Puts two variants of a lesson beside each other, by name; `false` where there are no such ones.
    pub(crate) fn compare_named(&mut self, choice: &LessonChoice, names: &[String; 2]) -> bool {
        let places = names.each_ref().map(|name| self.catalogue.find(&choice.id, Some(name)));
        let [Some((entry, before)), Some((_, after))] = places else { return false };
        self.selected = entry;
        self.compare(entry, Some([before, after]));
        true
    }

    /// Puts variants of a lesson beside each other: those named, or the two that show most.
    pub(crate) fn compare(&mut self, entry: usize, sides: Option<[usize; 2]>) {
        let Some(about) = self.catalogue.entries.get(entry).filter(|entry| entry.broken.is_none()) else {
            return;
        };
        let playing = if let Mode::Learning(lesson) = &self.mode { Some(lesson.variant) } else { None };
        let Some(sides) = sides.or_else(|| comparing::sides(about, playing)) else {
            self.notice = Some(Notice::OneVariant);
            return;
        };
        self.has_tried("compare");
        let back = self.set_aside();
        // What has been seen to its end need not be run again.
        let known = back.as_ref().and_then(|lesson| {
            let (log, verdict) = lesson.run.finished()?;
            Some((lesson.variant, log.clone(), verdict.clone()))
        });
        let about = &self.catalogue.entries[entry];
        let comparing = Comparing::new(about, sides, known, self.speed, &self.runs);
        let screen = ComparisonScreen { entry, comparing, back, lanes: None, verdicts: 0, proof: false };
        self.mode = Mode::Comparing(Box::new(screen));
        self.adapt();
    }

    pub(crate) fn act_in_comparison(&mut self, action: Action, now: Instant) {
        let Mode::Comparing(comparison) = &mut self.mode else { return };
        let comparing = &mut comparison.comparing;
        match action {
            Action::Close | Action::Compare => self.go_back(),
            Action::Restart => comparing.restart(&self.runs),
            Action::Variant(after) => comparing.change(usize::from(after), &self.runs),
            Action::Faster(faster) => self.set_speed(next_speed(self.speed, faster), now),
            Action::Move(by) => self.scroll_comparison(by, 0),
            Action::Page(by) => self.scroll_comparison(0, by * PAGE),
            Action::Open if comparing.is_at_end() => {
                comparison.proof = !comparison.proof;
                comparison.verdicts = 0;
            }
            Action::Forward
            | Action::Open
            | Action::Back
            | Action::End(_)
            | Action::Toggle
            | Action::Difference => {
                // Whatever is new, the lanes follow it.
                comparison.lanes = None;
                match action {
                    Action::Back => comparing.step(false),
                    Action::End(end) => comparing.jump(end),
                    Action::Toggle => comparing.toggle(now),
                    Action::Difference => comparing.to_difference(),
                    _ => comparing.step(true),
                }
            }
            // Handled elsewhere.
            _ => {}
        }
    }

    fn scroll_comparison(&mut self, lanes: i32, verdicts: i32) {
        let Some(Screen::Compare(view)) = self.screen() else { return };
        let reach = view.reach(self.size);
        if let Mode::Comparing(comparison) = &mut self.mode {
            if lanes != 0 {
                comparison.lanes = Some(scrolled(comparison.lanes.unwrap_or(0), lanes, reach.0));
            }
            comparison.verdicts = scrolled(comparison.verdicts, verdicts, reach.1);
        }
    }
}
