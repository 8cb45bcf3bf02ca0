//! What is kept of the learner's progress: verdicts, predictions, the step at which a story was left.

use super::{App, Mode};
use crate::{
    run::{LessonChoice, Runs},
    ui::{
        state::progress::{Left, Progress, Record},
        view::Notice,
    },
};

impl<R: Runs> App<R> {
    pub(super) fn note_progress(&mut self) {
        let Mode::Learning(lesson) = &self.mode else { return };
        let (outcome, score) = lesson.run.done();
        let solved = lesson.run.solved();
        if outcome.is_none() && score.asked == 0 && solved == 0 {
            return;
        }
        let LessonChoice { id, variant } = &lesson.run.choice;
        let before = self.progress.get().of(id, variant).unwrap_or_default();
        // A run without predictions keeps the earlier score.
        let (right, asked) = match score.asked {
            0 => (before.right, before.asked),
            asked => (score.right, asked),
        };
        let record = Record {
            finished: before.finished || outcome.is_some(),
            outcome: outcome.or(before.outcome),
            right,
            asked,
            solved: before.solved.max(solved),
        };
        if let Err(trouble) = self.progress.note(id, variant, record) {
            self.notice = Some(Notice::Progress(trouble));
        }
    }

    /// Stores the current step of a story so that it can be resumed, and removes it once the story is over. Ignores
    /// steps that an interview card has opened.
    pub(super) fn note_place(&mut self) {
        let Mode::Learning(lesson) = &self.mode else { return };
        let Some(item) = lesson.run.last_item().filter(|item| *item > 0) else { return };
        if self.interview.as_ref().is_some_and(|interview| interview.in_lesson) {
            return;
        }
        let LessonChoice { id, variant } = lesson.run.choice.clone();
        let over = lesson.run.done().0.is_some();
        let left = (!over).then_some(Left { variant, item });
        if self.progress.get().left.get(&id) != left.as_ref() {
            self.keep(|progress| match &left {
                Some(left) => drop(progress.left.insert(id.clone(), left.clone())),
                None => drop(progress.left.remove(&id)),
            });
        }
    }

    /// Changes the stored progress, and reports an error on the screen.
    pub(crate) fn keep(&mut self, change: impl Fn(&mut Progress)) {
        if let Err(trouble) = self.progress.change(change) {
            self.notice = Some(Notice::Progress(trouble));
        }
    }

    pub(crate) fn mark_tried(&mut self, action: &'static str) {
        if !self.progress.get().tried.contains(action) {
            self.keep(|progress| {
                progress.tried.insert(action.to_owned());
            });
        }
    }
}
