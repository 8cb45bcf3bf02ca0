//! Compares what a lesson claims with what was observed. Computed from the log, never scripted; it must not know how
//! the run was driven or how the verdict looks.

use serde::{Deserialize, Serialize};

use crate::text::Text;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The failure that the variant promises happened: every claim holds.
    Shown,
    /// The failure was provoked and did not happen: every claim holds.
    Prevented,
    /// A claim does not hold: the lesson is wrong, or the servers behaved differently.
    NotShown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimResult {
    pub claim: String,
    /// The claim in a sentence, if the author wrote one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<Text>,
    pub expected: Text,
    pub observed: Text,
    pub holds: bool,
    /// The events that prove it, as indices into the log.
    pub evidence: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub outcome: Outcome,
    pub claims: Vec<ClaimResult>,
}

pub mod compare;
pub(crate) mod decide;
pub(crate) mod evidence;
pub(crate) mod facts;
pub(crate) mod judge;
mod key_changes;
pub(crate) mod key_history;
pub(crate) mod names;
mod wakeups;
pub(crate) mod watch;
pub mod why;

pub use decide::decide;
pub use evidence::evidence;
pub(crate) use judge::is_so_after;
pub use judge::{is_so, judge, value};
pub use watch::{Breach, Watch, breaches};
pub(crate) use watch::{Ended, lasting, recorded, with_breaches};

#[cfg(test)]
mod tests;
