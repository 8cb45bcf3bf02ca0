//! What the learner predicted.
//!
//! **Architecture Invariant:** answers are no part of the log: a log holds what happened.

use std::collections::BTreeMap;

use crate::{
    log::{EventKind, Log},
    world::Question,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Chose one of its answers, by index.
    Chosen(usize),
    /// Passed.
    Skipped,
}

impl Answer {
    /// Whether it is right, once that is known.
    pub fn is_right(self, question: &Question) -> Option<bool> {
        let right = question.right.as_ref()?;
        Some(matches!(self, Self::Chosen(n) if right.contains(&n)))
    }
}

/// The answers of one run, by the story's item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    by_item: BTreeMap<usize, Answer>,
}

/// How many questions were put to the learner, and how many predictions came true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    /// Came true.
    pub right: usize,
    /// Were put: answered or skipped.
    pub asked: usize,
    pub skipped: usize,
}

impl Answers {
    /// The answer to the question at an item of the story.
    pub fn get(&self, item: usize) -> Option<Answer> {
        self.by_item.get(&item).copied()
    }

    /// Keeps an answer; it replaces the one before.
    pub fn set(&mut self, item: usize, answer: Answer) {
        self.by_item.insert(item, answer);
    }

    /// How the answers to all questions of a log turned out.
    pub fn score_of(&self, log: &Log) -> Score {
        let mut score = Score::default();
        if self.by_item.is_empty() {
            return score;
        }
        for event in log.events() {
            match &event.kind {
                EventKind::Asked { item, .. } => {
                    let answer = self.get(*item);
                    score.asked += usize::from(answer.is_some());
                    score.skipped += usize::from(answer == Some(Answer::Skipped));
                }
                EventKind::Decided { item, right } => {
                    let hit = matches!(self.get(*item), Some(Answer::Chosen(n)) if right.contains(&n));
                    score.right += usize::from(hit);
                }
                _ => {}
            }
        }
        score
    }

    /// How the answers to these questions turned out.
    pub fn score(&self, questions: &[Question]) -> Score {
        let mut score = Score::default();
        for question in questions {
            let Some(answer) = self.get(question.item) else { continue };
            score.asked += 1;
            score.skipped += usize::from(answer == Answer::Skipped);
            score.right += usize::from(answer.is_right(question) == Some(true));
        }
        score
    }
}
