//! The learner's predictions: the questions of one run, and the answers given.
//!
//! **Architecture Invariant:** answers are no part of the log: a log holds what happened.

use std::collections::BTreeMap;

use super::playback::Playback;
use crate::{
    log::{Event, EventKind, Log, Stop},
    world::{Question, World},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A choice, by index.
    Chosen(usize),
    Skipped,
    /// The learner left the answer to the class.
    Class,
}

/// The votes of a class on the questions of one run, by item of the story.
#[derive(Debug, Default)]
pub struct ClassAnswers {
    /// The number of participants who have joined.
    pub joined: usize,
    /// The number of each poll, and the votes for each of its choices.
    pub(crate) polls: BTreeMap<usize, (u64, Vec<usize>)>,
}

impl ClassAnswers {
    /// The votes for each choice of a question; `None` if no class was asked, or nobody has joined or voted.
    pub fn votes(&self, item: usize) -> Option<&[usize]> {
        let (_, votes) = self.polls.get(&item)?;
        (self.joined > 0 || votes.iter().any(|votes| *votes > 0)).then_some(votes)
    }
}

impl Answer {
    pub fn is_right(self, question: &Question) -> Option<bool> {
        let right = question.right.as_ref()?;
        Some(matches!(self, Self::Chosen(n) if right.contains(&n)))
    }
}

/// How many questions the learner was asked, and how many predictions came true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    pub right: usize,
    pub asked: usize,
    pub skipped: usize,
}

#[derive(Debug)]
pub struct Predictions {
    /// By item of the story.
    answers: BTreeMap<usize, Answer>,
    /// Whether the learner is asked questions.
    pub(crate) on: bool,
    /// Whether the learner tried to continue without an answer.
    pub(crate) nudged: bool,
    pub(crate) class: ClassAnswers,
}

impl Predictions {
    pub fn new(on: bool) -> Self {
        Self { answers: BTreeMap::new(), on, nudged: false, class: ClassAnswers::default() }
    }

    pub(crate) fn set_on(&mut self, on: bool) {
        self.on = on;
        self.nudged = false;
    }

    /// The answer to the question at an item of the story.
    pub(crate) fn get(&self, item: usize) -> Option<Answer> {
        self.answers.get(&item).copied()
    }

    pub(crate) fn score(&self, log: &Log) -> Score {
        let mut score = Score::default();
        if self.answers.is_empty() {
            return score;
        }
        for event in log.events() {
            match &event.kind {
                EventKind::Asked { item, .. } => {
                    let answer = self.get(*item).filter(|answer| *answer != Answer::Class);
                    score.asked += usize::from(answer.is_some());
                    score.skipped += usize::from(answer == Some(Answer::Skipped));
                }
                EventKind::Decided { item, right, .. } => {
                    let hit = matches!(self.get(*item), Some(Answer::Chosen(n)) if right.contains(&n));
                    score.right += usize::from(hit);
                }
                _ => {}
            }
        }
        score
    }

    /// The question on the screen, open or decided.
    pub(crate) fn question<'a>(&self, world: &'a World) -> Option<&'a Question> {
        world.questions.get(world.question.filter(|_| self.on)?)
    }

    /// The question at the playhead's stop.
    pub(crate) fn at_playhead<'a>(&self, playback: &'a Playback) -> Option<&'a Question> {
        let world = playback.world();
        let last = world.position.checked_sub(1)?;
        let asked = is_question(playback.log().events().get(last)?);
        world.questions.last().filter(|_| asked && self.on)
    }

    /// The number of choices of the question at the playhead while it can be answered; otherwise 0. The answer can be
    /// changed until the run continues.
    pub(crate) fn choices(&self, playback: &Playback) -> usize {
        let open = |question: &&Question| self.get(question.item).is_none() || playback.at_frontier();
        self.at_playhead(playback).filter(open).map_or(0, |question| question.choices.len())
    }

    /// Whether a question at the playhead has no answer yet.
    pub(crate) fn asks(&self, playback: &Playback) -> bool {
        self.at_playhead(playback).is_some_and(|question| self.get(question.item).is_none())
    }

    /// Whether the run must not continue because an answer is missing; the screen then asks for it. If a class votes,
    /// no other answer is needed.
    pub(crate) fn needs_answer(&mut self, playback: &Playback) -> bool {
        let asks = self.asks(playback);
        if asks
            && let Some(item) = self.at_playhead(playback).map(|question| question.item)
            && self.class.votes(item).is_some()
        {
            self.answers.insert(item, Answer::Class);
            return false;
        }
        self.nudged |= asks;
        asks
    }

    pub(crate) fn answer(&mut self, answer: Answer, playback: &Playback) {
        let choices = self.choices(playback);
        let possible = match answer {
            Answer::Chosen(n) => n < choices,
            Answer::Skipped | Answer::Class => choices > 0,
        };
        if let Some(question) = self.at_playhead(playback).filter(|_| possible) {
            self.answers.insert(question.item, answer);
            self.nudged = false;
        }
    }

    /// Whether the run has stopped at a question although questions are off.
    pub(crate) fn skips_question(&self, log: &Log) -> bool {
        !self.on && log.events().last().is_some_and(is_question)
    }
}

fn is_question(event: &Event) -> bool {
    matches!(event.kind, EventKind::Stop { stop: Stop::Question, .. })
}
