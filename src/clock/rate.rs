//! How fast lesson time passes. Knows nothing of what runs at that rate.

use super::page::PER_MILLE;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// How fast lesson time passes, in thousandths of real time. Serialized as a factor (`0.25`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(u32);

/// A factor that no clock can run at.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("lesson time cannot run at {0}x; it can run at 0.001x to 100x, or stand still at 0x")]
pub struct BadRate(pub f64);

impl Rate {
    /// Lesson time stands still.
    pub const PAUSED: Self = Self(0);
    /// As fast as real time.
    pub const NORMAL: Self = Self(1_000);
    /// The fastest, 100x. A server's own work takes real time, so beyond this its timers would mean nothing.
    pub const FASTEST: Self = Self(100_000);

    /// From a factor of real time: 0 is paused, 1 is normal, 100 is the fastest. It is kept in thousandths.
    pub fn from_factor(factor: f64) -> Result<Self, BadRate> {
        let per_mille = (factor * f64::from(Self::NORMAL.0)).round();
        let in_range = per_mille >= 0.0 && per_mille <= f64::from(Self::FASTEST.0) && factor >= 0.0;
        if !in_range || (per_mille < 1.0 && factor > 0.0) {
            return Err(BadRate(factor));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number in range"
        )]
        Ok(Self(per_mille as u32))
    }

    /// As a factor of real time.
    pub fn as_factor(self) -> f64 {
        f64::from(self.0) / f64::from(Self::NORMAL.0)
    }

    /// Whether lesson time stands still.
    pub const fn is_paused(self) -> bool {
        self.0 == 0
    }

    /// In the page's unit.
    pub(crate) fn per_mille(self) -> i64 {
        i64::from(self.0)
    }
}

const _: () = assert!(Rate::NORMAL.0 as i64 == PER_MILLE, "the page counts in the same unit");

impl Default for Rate {
    fn default() -> Self {
        Self::NORMAL
    }
}

impl TryFrom<f64> for Rate {
    type Error = BadRate;

    fn try_from(factor: f64) -> Result<Self, BadRate> {
        Self::from_factor(factor)
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        rate.as_factor()
    }
}

/// As a factor: `0.25x`.
impl Display for Rate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x", self.as_factor()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accepts_what_a_clock_can_do() {
        assert_eq!(Rate::from_factor(0.0), Ok(Rate::PAUSED));
        assert_eq!(Rate::from_factor(1.0), Ok(Rate::NORMAL));
        assert_eq!(Rate::from_factor(100.0), Ok(Rate::FASTEST));
        assert_eq!(Rate::from_factor(0.25).map(|rate| rate.to_string()), Ok("0.25x".to_owned()));
        assert!(Rate::PAUSED.is_paused() && !Rate::NORMAL.is_paused());
    }

    #[test]
    fn refuses_what_it_cannot() {
        for factor in [-1.0, -0.0001, 0.000_1, 100.1, f64::INFINITY, f64::NAN] {
            assert!(Rate::from_factor(factor).is_err(), "{factor}");
        }
        assert!(serde_json::from_str::<Rate>("-2.0").is_err());
    }

    proptest! {
        #[test]
        fn survives_being_written_down(per_mille in 0_u32..=100_000) {
            let rate = Rate(per_mille);
            prop_assert_eq!(Rate::from_factor(rate.as_factor()), Ok(rate));
            let json = serde_json::to_string(&rate).expect("a number");
            prop_assert_eq!(serde_json::from_str::<Rate>(&json).expect("the same number"), rate);
        }
    }
}
