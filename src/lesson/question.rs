//! A question to the learner before a telling move, as its author wrote it. Grammar only.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::text::Text;

/// `ask: { q: …, choices: […] }`: the learner says what will happen before it does.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The question.
    pub q: Text,
    /// Two to four answers.
    #[schemars(length(min = 2, max = 4))]
    pub choices: Vec<Choice>,
    /// Why it comes as it does, for everybody, whatever they chose.
    #[serde(default)]
    pub why: Option<Text>,
    /// Decided after so many further steps; narrations and questions do not count.
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
    /// When it is right: an expression over what then has happened, as in claims, or `true`. Never, where it is
    /// left out.
    #[serde(default)]
    pub right: Option<Right>,
    /// Why it is wrong and yet seemed right, for whom chose it wrongly. Only a choice with `right: true` goes without.
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
