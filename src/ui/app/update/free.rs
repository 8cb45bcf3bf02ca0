//! The learner's actions in free play: leaving the story, choosing, going back and branching.

use super::{App, Mode};
use crate::{
    log::{Choice, Log},
    run::Runs,
    ui::{
        keys::{Action, Pane},
        state::{
            browse::moved,
            free::{Free, FreeNotice},
            palette::Palette,
            screen::{Overlay, Scrolls},
        },
        words,
    },
};

impl<R: Runs> App<R> {
    pub(crate) fn act_in_free_play(&mut self, action: Action) {
        let Mode::Learning(lesson) = &mut self.mode else { return };
        match action {
            // After the end no actor can move, so free play begins where the story begins.
            Action::Free if lesson.run.free.is_none() && lesson.run.all_actors_ended() => {
                lesson.run.playback.go_to(lesson.run.playback.log().opening());
                self.branch(None);
            }
            Action::Free if lesson.run.can_leave_story() => {
                lesson.show_newest();
                lesson.run.leave_story();
            }
            // In free play already there is no story to leave; from an earlier step, this branches.
            Action::Free if lesson.run.can_choose() => lesson.run.show_you_choose(),
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
            Action::Timer if lesson.run.has_no_timer() => {
                let (keys, words) = if lesson.run.is_over() {
                    (["back", "restart"], words::ALL_OVER)
                } else {
                    (["second", "palette"], words::NO_TIMER)
                };
                let keys = keys.map(|id| self.keys.label(id));
                lesson.run.refuse(words.text(&[&keys[0], &keys[1]]));
            }
            Action::Timer => self.decide(Choice::Timer),
            Action::Pass(millis) => self.decide(Choice::Pass { millis }),
            Action::MoveActor(n) => {
                let keyed = match &lesson.run.free {
                    Some(free) if lesson.run.needs_branch() => free.keyed_before(),
                    Some(free) => free.keyed.clone(),
                    None => Vec::new(),
                };
                if let Some(actor) = keyed.get(n).copied() {
                    self.decide(Choice::Move { actor });
                } else {
                    let (key, keyed) = (self.keys.label(&format!("move-{}", n + 1)), keyed.len());
                    let none = words::NO_SUCH_CLIENT.text(&[&key, &keyed.to_string()]);
                    let starts = lesson.run.is_starting();
                    lesson.run.refuse(if starts { words::STARTING.text(&[]) } else { none });
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

    /// Carries out the learner's choice: in this run if the playhead is at its end, in a new branch otherwise.
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
        // What nobody has seen yet cannot be chosen: the choice would be carried out later, when something else is due.
        if lesson.run.is_starting() {
            if let Some(free) = &mut lesson.run.free {
                free.notice = FreeNotice::Refused(words::STARTING.text(&[]));
            }
        } else if lesson.run.can_choose() || lesson.run.is_busy() {
            lesson.run.choose(choice);
        } else {
            self.branch(Some(choice));
        }
    }

    /// Branches after the last step before the playhead: a fresh lab repeats everything up to there.
    fn branch(&mut self, then: Option<Choice>) {
        let unsaved = self.is_run_unsaved();
        let Mode::Learning(lesson) = &mut self.mode else { return };
        if lesson.run.is_branching() {
            return;
        }
        lesson.show_newest();
        let past = lesson.run.past();
        let shared = past.history(past.len()).len();
        let log = lesson.run.playback.log();
        if log.history(log.len()).len() > shared {
            lesson.branches.add(log.clone(), shared, unsaved);
        }
        self.begin_branch(past, then);
    }

    pub(crate) fn begin_branch(&mut self, past: Log, then: Option<Choice>) {
        self.give_up_ballot();
        let Mode::Learning(lesson) = &mut self.mode else { return };
        // Choices that the class made in another branch do not belong to this one.
        let here = lesson.run.playback.log().events().iter();
        let shared = here.zip(past.events()).take_while(|(one, other)| one == other).count();
        lesson.class.moves.retain(|(from, _)| *from < shared);
        // What was saved was another branch.
        lesson.kept = 0;
        // The old lab is shut down first, because two labs at once compete for the machine.
        lesson.run.session = None;
        let session = self.runs.branch(&lesson.run.choice, past.clone());
        lesson.run.branch(past, session, then);
    }

    /// Switches to another branch by repeating its moves.
    pub(crate) fn switch_branch(&mut self, row: usize) {
        self.overlay = Overlay::Nothing;
        let unsaved = self.is_run_unsaved();
        let Mode::Learning(lesson) = &mut self.mode else { return };
        let log = lesson.run.playback.log().clone();
        let to = lesson.branches.rows(&log).get(row).map(|row| row.branch);
        let Some(past) = to.and_then(|to| lesson.branches.switch(log, to, unsaved)).cloned() else { return };
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
        self.first_client = None;
        self.selected = None;
        self.focus = Pane::Story;
    }
}
