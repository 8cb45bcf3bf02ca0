//! What the learner is asked, and what was answered: the questions of one run as the learner meets them.
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
    /// One of its answers, by index.
    Chosen(usize),
    Skipped,
    /// The learner left it to a class.
    Class,
}

/// What a class says to the questions of one run, by the story's items.
#[derive(Debug, Default)]
pub struct ClassAnswers {
    /// How many have joined.
    pub joined: usize,
    /// The number of each poll, and how many each choice has.
    pub(crate) polls: BTreeMap<usize, (u64, Vec<usize>)>,
}

impl ClassAnswers {
    /// How many each choice of a question has; nothing where no class was asked or nobody has voted or joined.
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

/// How many questions were put to the learner, and how many predictions came true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    pub right: usize,
    pub asked: usize,
    pub skipped: usize,
}

#[derive(Debug)]
pub struct Predictions {
    /// By the story's item.
    answers: BTreeMap<usize, Answer>,
    /// Whether questions are put to the learner.
    pub(crate) on: bool,
    /// Whether the learner tried to go on without an answer.
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

    /// The question that is on the screen: asked or decided.
    pub(crate) fn question<'a>(&self, world: &'a World) -> Option<&'a Question> {
        world.questions.get(world.question.filter(|_| self.on)?)
    }

    /// The question at whose stop the playhead stands.
    pub(crate) fn at_playhead<'a>(&self, playback: &'a Playback) -> Option<&'a Question> {
        let world = playback.world();
        let last = world.position.checked_sub(1)?;
        let asked = is_question(playback.log().events().get(last)?);
        world.questions.last().filter(|_| asked && self.on)
    }

    /// How many answers the question at the playhead has, as long as one may be chosen; 0 where there is none. Until the
    /// run goes on the answer may be changed.
    pub(crate) fn choices(&self, playback: &Playback) -> usize {
        let open = |question: &&Question| self.get(question.item).is_none() || playback.at_frontier();
        self.at_playhead(playback).filter(open).map_or(0, |question| question.choices.len())
    }

    /// Whether the learner is asked for a prediction and has not given one.
    pub(crate) fn asks(&self, playback: &Playback) -> bool {
        self.at_playhead(playback).is_some_and(|question| self.get(question.item).is_none())
    }

    /// Whether an answer is missing before the run may go on. Then the screen says so from now on. Where a class answers,
    /// nobody else need.
    pub(crate) fn holds_back(&mut self, playback: &Playback) -> bool {
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

    /// Whether a run has just come to a question that nobody is asked.
    pub(crate) fn passes_over(&self, log: &Log) -> bool {
        !self.on && log.events().last().is_some_and(is_question)
    }
}

fn is_question(event: &Event) -> bool {
    matches!(event.kind, EventKind::Stop { stop: Stop::Question, .. })
}
