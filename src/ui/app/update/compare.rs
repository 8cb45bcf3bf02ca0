//! The comparison of two variants: how it is opened, its keys, and the way back.

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
    /// The lesson from which the comparison was opened, in the state in which it was left.
    pub(crate) back: Option<Box<Lesson>>,
    /// The scroll position of the lanes; `None` follows the actor that moves.
    pub(crate) lanes: Option<u16>,
    pub(crate) verdicts: u16,
    /// Whether the evidence of the claims is shown.
    pub(crate) proof: bool,
}

impl<R: Runs> App<R> {
    /// Compares two variants of a lesson, given by name. Returns `false` if either does not exist.
    pub(crate) fn compare_named(&mut self, choice: &LessonChoice, names: &[String; 2]) -> bool {
        let places = names.each_ref().map(|name| self.catalogue.find(&choice.id, Some(name)));
        let [Some((entry, before)), Some((_, after))] = places else { return false };
        self.selected = entry;
        self.compare(entry, Some([before, after]));
        true
    }

    /// Compares two variants of a lesson: `sides`, or the two that show most.
    pub(crate) fn compare(&mut self, entry: usize, sides: Option<[usize; 2]>) {
        let Some(about) = self.catalogue.entries.get(entry).filter(|entry| entry.broken.is_none()) else {
            return;
        };
        let playing = if let Mode::Learning(lesson) = &self.mode { Some(lesson.variant) } else { None };
        let Some(sides) = sides.or_else(|| comparing::sides(about, playing)) else {
            self.notice = Some(Notice::OneVariant);
            return;
        };
        self.mark_tried("compare");
        let back = self.end_screen();
        // A run that was watched to its end is reused.
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
            Action::Variant(after) => {
                let changed = comparing.change(usize::from(after), &self.runs);
                self.notice = (!changed).then_some(Notice::NoOther(after));
            }
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
                // After a step, the lanes follow the newest event again.
                comparison.lanes = None;
                match action {
                    Action::Back => comparing.step(false),
                    Action::End(end) => comparing.jump(end),
                    Action::Toggle => comparing.toggle(now),
                    Action::Difference => comparing.to_difference(),
                    _ => comparing.step(true),
                }
            }
            // All other actions are handled elsewhere.
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
