//! What must never be so in a lesson, as its author wrote it. Grammar only.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::text::Text;

/// `{ never: …, says: …, goal: … }`: something that a lock is there to prevent, and that a learner may try to
/// bring about.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// What must never be so.
    pub never: Never,
    /// What is broken when it is so. Where it is left out, Lockstep says it.
    #[serde(default)]
    pub says: Option<Text>,
    /// The challenge to a learner who plays freely: to bring it about. Where it is left out, Lockstep says it.
    #[serde(default)]
    pub goal: Option<Text>,
}

/// What must never be so.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged, deny_unknown_fields)]
pub enum Never {
    /// An expression over what has happened so far, as in claims: `sold > stock`.
    That(String),
    /// More believe at one time to hold a lock than may: two clients, where `locks` says nothing else.
    Overlap {
        /// The lock.
        overlap: String,
    },
}
