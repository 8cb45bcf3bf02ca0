//! Conditions that must hold throughout a lesson, as the author wrote them. Grammar only.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::text::Text;

/// `{ never: …, says: …, goal: … }`: a condition that a lock is there to prevent, and that a learner may try to reach.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// The condition that must never hold.
    pub never: Never,
    /// The sentence that says what is broken when the condition holds. Default: a sentence by Lockstep.
    #[serde(default)]
    pub says: Option<Text>,
    /// The challenge for a learner in free play: to reach the condition. Default: a sentence by Lockstep.
    #[serde(default)]
    pub goal: Option<Text>,
}

/// A condition that must never hold.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged, deny_unknown_fields)]
pub enum Never {
    /// An expression over the run so far, as in claims: `sold > stock`.
    That(String),
    /// More clients believe at the same time that they hold the lock than may: at least two, unless `locks` says
    /// otherwise.
    Overlap {
        /// The lock.
        overlap: String,
    },
}
