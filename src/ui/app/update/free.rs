//! What the learner does in free play: leaves the story, chooses, goes back and branches.

use super::{App, Mode};
use crate::{
    log::{Choice, Log},
    run::Runs,
    ui::{
        keys::{Action, Pane},
        state::{
            browse::moved,
            free::Free,
            palette::Palette,
            screen::{Overlay, Scrolls},
        },
    },
};

impl<R: Runs> App<R> {
    pub(crate) fn act_in_free_play(&mut self, action: Action) {
        let Mode::Learning(lesson) = &mut self.mode else { return };
        match action {
            // Behind the end nobody can be moved: the learner begins where the story does.
            Action::Free if lesson.run.free.is_none() && lesson.run.is_everybody_done() => {
                lesson.run.playback.go_to(lesson.run.playback.log().opening());
                self.branch(None);
            }
            Action::Free if lesson.run.can_leave_story() => {
                lesson.show_newest();
                lesson.run.leave_story();
            }
            // Where the story was left already there is nothing to leave: from an earlier step, a branch.
            Action::Free if lesson.run.can_choose() => lesson.run.say_you_choose(),
            Action::Free => self.branch(None),
            Action::Faults => {
                self.palette = Palette { faults: true, ..Palette::default() };
                self.overlay = Overlay::Palette;
            }
            Action::Branches => {
                let rows = lesson.branches.rows(lesson.run.playback.log());
                let current = rows.iter().position(|row| row.current).unwrap_or(0);
                self.overlay = Overlay::Branches(current);
            }
            Action::Timer => self.decide(Choice::Timer),
            Action::Pass(millis) => self.decide(Choice::Pass { millis }),
            Action::MoveActor(n) => {
                let keyed = match &lesson.run.free {
                    Some(free) if lesson.run.looks_back() => free.keyed_before(),
                    Some(free) => free.keyed.clone(),
                    None => Vec::new(),
                };
                if let Some(actor) = keyed.get(n).copied() {
                    self.decide(Choice::Move { actor });
                }
            }
            Action::Choose(n) => {
                let choices = lesson.run.free.as_ref().map(Free::choices).unwrap_or_default();
                if let Some(choice) = choices.into_iter().nth(n) {
                    self.decide(choice);
                }
            }
            _ => {}
        }
    }

    /// The learner says what happens next: now, where the run can; in a branch, where the playhead is further back.
    fn decide(&mut self, choice: Choice) {
        self.give_up_ballot();
        self.carry_out(choice);
    }

    pub(crate) fn carry_out(&mut self, choice: Choice) {
        let Mode::Learning(lesson) = &mut self.mode else { return };
        if lesson.run.is_branching() {
            return;
        }
        lesson.show_newest();
        if lesson.run.can_choose() || lesson.run.is_busy() {
            lesson.run.choose(choice);
        } else {
            self.branch(Some(choice));
        }
    }

    /// Branches off after the last step before the playhead: everything up to there is done again on a fresh lab.
    fn branch(&mut self, then: Option<Choice>) {
        let Mode::Learning(lesson) = &mut self.mode else { return };
        if lesson.run.is_branching() {
            return;
        }
        lesson.show_newest();
        let past = lesson.run.past();
        let shared = past.history(past.len()).len();
        let log = lesson.run.playback.log();
        if log.history(log.len()).len() > shared {
            lesson.branches.add(log.clone(), shared);
        }
        self.begin_branch(past, then);
    }

    pub(crate) fn begin_branch(&mut self, past: Log, then: Option<Choice>) {
        self.give_up_ballot();
        let Mode::Learning(lesson) = &mut self.mode else { return };
        // What the class chose in another branch is no part of this one.
        let here = lesson.run.playback.log().events().iter();
        let shared = here.zip(past.events()).take_while(|(one, other)| one == other).count();
        lesson.class.moves.retain(|(from, _)| *from < shared);
        // The lab before goes down first: two labs at once help nobody.
        lesson.run.session = None;
        let session = self.runs.branch(&lesson.run.choice, past.clone());
        lesson.run.branch(past, session, then);
    }

    /// Goes on with another branch: what was done in it is done again.
    pub(crate) fn switch_branch(&mut self, row: usize) {
        self.overlay = Overlay::Nothing;
        let Mode::Learning(lesson) = &mut self.mode else { return };
        let log = lesson.run.playback.log().clone();
        let to = lesson.branches.rows(&log).get(row).map(|row| row.branch);
        let Some(past) = to.and_then(|to| lesson.branches.switch(log, to)).cloned() else { return };
        lesson.show_newest();
        self.begin_branch(past, None);
    }

    pub(crate) fn choose_branch(&mut self, from: usize, by: i32) {
        let Mode::Learning(lesson) = &self.mode else { return };
        self.overlay = Overlay::Branches(moved(from, by, lesson.branches.len()));
    }
}

impl super::Lesson {
    /// Scrolls to the newest events and drops the selection.
    fn show_newest(&mut self) {
        self.scrolls = Scrolls::default();
        self.aside = None;
        self.selected = None;
        self.focus = Pane::Story;
    }
}
