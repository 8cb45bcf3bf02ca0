//! What the screen of the exercises shows: which there are, and what was found about the answer to one of them.

use crate::text::Text;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExerciseBoard {
    pub exercises: Vec<Exercise>,
    /// The one that is looked at: an index.
    pub chosen: usize,
    /// Whether its file is being judged.
    pub judging: bool,
    /// What is wrong with the file, so that it cannot be judged.
    pub mistake: Option<Text>,
    pub rounds: Vec<RoundRow>,
    pub failure: Option<FailureRow>,
    /// The hints that were asked for.
    pub hints: Vec<Text>,
    /// Once it is solved, or given up: the reference solution, where that was asked for, and what is to be said of it.
    pub solution: Option<String>,
    pub discussion: Option<Text>,
    /// Told at the foot of the screen until the learner asks for something else.
    pub notice: Option<Text>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exercise {
    pub title: Text,
    pub task: Text,
    /// What else the comments of its file tell: what is given, which names and commands there are.
    pub given: Text,
    pub file: String,
    pub solved: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundRow {
    pub title: Text,
    pub state: RoundState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoundState {
    /// Not begun, or not needed any more.
    Open,
    /// It held in so many orders, and took so many milliseconds.
    Held(Text, u64),
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureRow {
    pub says: Text,
    /// The shortest order that shows it; or one of those that all fail to show what is asked.
    pub order: Option<Text>,
    /// Whether that order itself goes wrong.
    pub goes_wrong: bool,
    pub why: Option<Text>,
}

impl ExerciseBoard {
    pub fn is_solved(&self) -> bool {
        !self.rounds.is_empty() && self.rounds.iter().all(|round| matches!(round.state, RoundState::Held(..)))
    }
}
