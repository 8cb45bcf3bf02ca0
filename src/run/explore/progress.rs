//! How far a search is.

use std::time::Duration;

use super::Pick;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    pub tried: u64,
    /// Where states are searched: how many were gone on from.
    pub states: u64,
    /// Orders that were not, because they are sure to come to the same as one that was.
    pub pruned: u128,
    /// Orders of both that broke an invariant.
    pub violations: u128,
    /// The shortest way to break one so far, not confirmed yet; empty while there is none.
    pub shortest: Vec<Pick>,
    /// Which part of the whole is done, from 0 to 1; an estimate.
    pub done: f64,
    /// Real time since the search began.
    pub wall: Duration,
}

impl Progress {
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    pub fn rate(&self) -> f64 {
        self.tried.max(self.states) as f64 / self.wall.as_secs_f64().max(0.001)
    }

    /// Orders that will have been carried out at the end, about.
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    pub fn total(&self) -> f64 {
        self.tried as f64 / self.done.max(1e-9)
    }

    /// The time that is left, about.
    pub fn left(&self) -> Option<Duration> {
        let spent = self.wall.as_secs_f64();
        let left = spent / self.done.max(1e-9) - spent;
        (self.done > 0.0).then(|| Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX))
    }
}
