//! How fast lesson time passes.

use super::page::PER_MILLE;

/// How fast lesson time passes, in thousandths of real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u32);

impl Rate {
    /// Lesson time stands still.
    pub const PAUSED: Self = Self(0);
    /// As fast as real time.
    pub const NORMAL: Self = Self(1_000);
    /// 100x. A server's own work takes real time, so beyond this its timers would mean nothing.
    pub const FASTEST: Self = Self(100_000);

    /// Converts a factor of real time: 0 is paused, 1 is normal, 100 is the fastest. `None` outside that range, or for
    /// a factor that rounds to a pause.
    pub fn from_factor(factor: f64) -> Option<Self> {
        let per_mille = (factor * f64::from(Self::NORMAL.0)).round();
        let in_range = per_mille >= 0.0 && per_mille <= f64::from(Self::FASTEST.0) && factor >= 0.0;
        // A factor below a thousandth would silently become a pause.
        if !in_range || (per_mille < 1.0 && factor > 0.0) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number in range"
        )]
        Some(Self(per_mille as u32))
    }

    pub const fn is_paused(self) -> bool {
        self.0 == 0
    }

    /// The rate in the page's unit, thousandths.
    pub(crate) fn per_mille(self) -> i64 {
        i64::from(self.0)
    }
}

const _: () = assert!(Rate::NORMAL.0 as i64 == PER_MILLE, "the page counts in the same unit");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accepts_what_a_clock_can_do() {
        assert_eq!(Rate::from_factor(0.0), Some(Rate::PAUSED));
        assert_eq!(Rate::from_factor(1.0), Some(Rate::NORMAL));
        assert_eq!(Rate::from_factor(100.0), Some(Rate::FASTEST));
        assert!(Rate::PAUSED.is_paused() && !Rate::NORMAL.is_paused());
        for factor in [-1.0, -0.0001, 0.000_1, 100.1, f64::INFINITY, f64::NAN] {
            assert!(Rate::from_factor(factor).is_none(), "{factor}");
        }
    }

    proptest! {
        #[test]
        fn is_kept_in_thousandths(per_mille in 0_u32..=100_000) {
            prop_assert_eq!(Rate::from_factor(f64::from(per_mille) / 1000.0), Some(Rate(per_mille)));
        }
    }
}
