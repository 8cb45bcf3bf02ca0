//! What the learner is asked, and what was answered: the questions of one run as the learner meets them.

use super::{
    answers::{Answer, Answers, Score},
    playback::Playback,
};
use crate::{
    log::{Event, EventKind, Log, Stop},
    ui::state::screen::Asking,
    world::Question,
};

#[derive(Debug)]
pub(crate) struct Predicting {
    answers: Answers,
    /// Whether questions are put to the learner.
    on: bool,
    /// Whether the learner tried to go on without an answer.
    nudged: bool,
}

impl Predicting {
    pub(crate) fn new(on: bool) -> Self {
        Self { answers: Answers::default(), on, nudged: false }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    pub(crate) fn set_on(&mut self, on: bool) {
        self.on = on;
        self.nudged = false;
    }

    /// The predictions, for the screen.
    pub(crate) fn asking(&self) -> Asking<'_> {
        Asking { answers: &self.answers, on: self.on, nudged: self.nudged }
    }

    /// How the predictions turned out, wherever the playhead stands.
    pub(crate) fn score(&self, log: &Log) -> Score {
        self.answers.score_of(log)
    }

    /// The question at whose stop the playhead stands.
    fn question<'a>(&self, playback: &'a Playback) -> Option<&'a Question> {
        let world = playback.world();
        let last = world.position.checked_sub(1)?;
        let asked = is_question(playback.log().events().get(last)?);
        world.questions.last().filter(|_| asked && self.on)
    }

    /// How many answers the question at the playhead has, as long as one may be chosen; 0 where there is none.
    pub(crate) fn choices(&self, playback: &Playback) -> usize {
        let open = |question: &&Question| self.answers.get(question.item).is_none() || playback.at_frontier();
        self.question(playback).filter(open).map_or(0, |question| question.choices.len())
    }

    /// Whether the learner is asked for a prediction and has not given one.
    pub(crate) fn asks(&self, playback: &Playback) -> bool {
        self.question(playback).is_some_and(|question| self.answers.get(question.item).is_none())
    }

    /// Whether an answer is missing before the run may go on. Then the screen says so from now on.
    pub(crate) fn holds_back(&mut self, playback: &Playback) -> bool {
        let asks = self.asks(playback);
        self.nudged |= asks;
        asks
    }

    /// The learner has gone elsewhere: nobody is held back any more.
    pub(crate) fn let_go(&mut self) {
        self.nudged = false;
    }

    /// The learner answers the question at the playhead. Until the run goes on the answer may be changed.
    pub(crate) fn answer(&mut self, answer: Answer, playback: &Playback) {
        let Some(question) = self.question(playback) else { return };
        let (item, choices) = (question.item, question.choices.len());
        let open = self.answers.get(item).is_none() || playback.at_frontier();
        let exists = !matches!(answer, Answer::Chosen(n) if n >= choices);
        if open && exists {
            self.answers.set(item, answer);
            self.nudged = false;
        }
    }

    /// Whether a run has just come to a question that nobody is asked.
    pub(crate) fn passes_over(&self, log: &Log) -> bool {
        !self.on && log.events().last().is_some_and(is_question)
    }
}

/// Whether an event is the stop at a question.
fn is_question(event: &Event) -> bool {
    matches!(event.kind, EventKind::Stop { stop: Stop::Question, .. })
}
