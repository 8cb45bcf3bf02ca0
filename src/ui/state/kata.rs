//! The state of the screen of the exercises: the list, and the results for the learner's answer.

use crate::text::Text;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExerciseBoard {
    pub exercises: Vec<Exercise>,
    /// The index of the selected exercise.
    pub chosen: usize,
    /// Whether its file is being judged.
    pub judging: bool,
    /// What prevents the file from being judged.
    pub mistake: Option<Text>,
    pub rounds: Vec<RoundRow>,
    pub failure: Option<FailureRow>,
    /// The hints requested so far.
    pub hints: Vec<Text>,
    /// Set once the exercise is solved or given up: the reference solution, if requested, and its discussion.
    pub solution: Option<String>,
    pub discussion: Option<Text>,
    /// Shown at the foot of the screen until the learner's next request.
    pub notice: Option<Text>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exercise {
    pub title: Text,
    pub task: Text,
    /// The other comments of its file: what is given, which names and commands exist.
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
    /// Not begun, or no longer needed.
    Open,
    /// Passed; in how many orders, and in how many milliseconds.
    Held(Text, u64),
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureRow {
    pub says: Text,
    /// The shortest order that fails; or, if all orders fail to show what is required, one of them.
    pub order: Option<Text>,
    /// Whether that order itself breaks something.
    pub goes_wrong: bool,
    pub why: Option<Text>,
}

impl ExerciseBoard {
    pub fn is_solved(&self) -> bool {
        !self.rounds.is_empty() && self.rounds.iter().all(|round| matches!(round.state, RoundState::Held(..)))
    }
}
