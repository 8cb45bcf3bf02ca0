//! Points of lesson time.

use serde::{Deserialize, Serialize};
use std::{
    fmt::{self, Display, Formatter},
    ops::{Add, AddAssign},
    time::Duration,
};

/// A point of lesson time: nanoseconds since the lesson began. Serialized as that number.
///
/// It is negative if it comes from a server's deadline before that. All arithmetic saturates: the range
/// is 292 years either way, which no lesson needs but a server's odd reply may exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LessonTime(i64);

const NANOS_PER_MILLI: i64 = 1_000_000;

impl LessonTime {
    /// The beginning of the lesson; until `LessonClock::begin`, the moment when the clock was made.
    pub const ZERO: Self = Self(0);

    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(NANOS_PER_MILLI))
    }

    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(NANOS_PER_MILLI)
    }

    /// Formats with a precision that fits its size: `0.42ms`, `420ms`, `3.204s`, `1m05.2s`.
    pub fn brief(self) -> String {
        let nanos = self.0.max(0);
        let micros = nanos / 1000;
        match micros {
            0 => "0".to_owned(),
            1..10_000 => format!("{}.{:02}ms", micros / 1000, micros % 1000 / 10),
            10_000..1_000_000 => format!("{}ms", micros / 1000),
            1_000_000..60_000_000 => format!("{}.{:03}s", micros / 1_000_000, micros / 1000 % 1000),
            _ => {
                let tenths = micros / 100_000;
                format!("{}m{:02}.{}s", tenths / 600, tenths / 10 % 60, tenths % 10)
            }
        }
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// A duration in nanoseconds, saturated.
pub(crate) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

impl Add<Duration> for LessonTime {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

impl AddAssign<Duration> for LessonTime {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

/// Seconds with three places, rounded down: `3.250 s`.
impl Display for LessonTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let millis = self.as_millis();
        let sign = if millis < 0 { "-" } else { "" };
        let millis = millis.unsigned_abs();
        f.pad(&format!("{sign}{}.{:03} s", millis / 1000, millis % 1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn is_shown_in_seconds() {
        let shown = |millis| LessonTime::from_millis(millis).to_string();
        assert_eq!(shown(0), "0.000 s");
        assert_eq!(shown(3_250), "3.250 s");
        assert_eq!(shown(61_007), "61.007 s");
        assert_eq!(shown(-1_500), "-1.500 s");
        assert_eq!(LessonTime::from_nanos(999_999).to_string(), "0.000 s");
        assert_eq!(format!("{:>9}", LessonTime::from_millis(5)), "  0.005 s");
    }

    #[test]
    fn is_serialized_as_nanoseconds() {
        let time = LessonTime::from_millis(3_250);
        assert_eq!(serde_json::to_string(&time).expect("a number"), "3250000000");
        assert_eq!(serde_json::from_str::<LessonTime>("3250000000").expect("a number"), time);
    }

    proptest! {
        #[test]
        fn adding_and_since_are_inverse(start in -1_000_000_000_000_i64..1_000_000_000_000, by in 0..1_u64 << 60) {
            let start = LessonTime::from_nanos(start);
            let by = Duration::from_nanos(by);
            prop_assert_eq!((start + by).since(start), by);
            prop_assert_eq!(start.since(start + by), Duration::ZERO);
        }

        #[test]
        fn arithmetic_never_panics(start: i64, by: Duration, other: i64, millis: i64) {
            let start = LessonTime::from_nanos(start);
            let _ = (start + by).since(LessonTime::from_nanos(other));
            let _ = LessonTime::from_millis(millis).to_string();
        }
    }
}
