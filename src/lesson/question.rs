//! A question to the learner before a decisive move, as its author wrote it. Grammar only.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::text::Text;

/// `ask: { q: …, choices: […] }`: the learner predicts what will happen.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The question.
    pub q: Text,
    /// Two to four answers.
    #[schemars(length(min = 2, max = 4))]
    pub choices: Vec<Choice>,
    /// Explains the result to every learner, whatever they chose.
    #[serde(default)]
    pub why: Option<Text>,
    /// The number of further steps after which the question is decided; narrations and questions do not count.
    #[serde(default = "next_step")]
    #[schemars(range(min = 1))]
    pub after: u32,
}

fn next_step() -> u32 {
    1
}

/// One answer to a question.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The answer.
    pub says: Text,
    /// When the answer is right: an expression over the run up to that point, as in claims, or `true`. If left out, the
    /// answer is never right.
    #[serde(default)]
    pub right: Option<Right>,
    /// Explains to a learner who chose this answer wrongly why it seemed right and is not. Only a choice with `right:
    /// true` may leave it out.
    #[serde(default)]
    pub why: Option<Text>,
}

/// When an answer is right.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Right {
    /// `true`: always.
    Always(bool),
    /// If this expression is true once the question is decided.
    When(String),
}
