//! Formats lesson times and durations for people.

use std::time::Duration;

use crate::clock::LessonTime;

pub fn moment(at: LessonTime) -> String {
    at.brief()
}

/// From when to when; one moment if both read the same.
pub fn span(from: LessonTime, to: LessonTime) -> String {
    let (from, to) = (moment(from), moment(to));
    if from == to { from } else { format!("{from} – {to}") }
}

/// A duration, rounded to tenths of a second: `2.1s`, `1m30s`.
pub fn stretch(duration: Duration) -> String {
    let tenths = (duration.as_millis() + 50) / 100;
    if tenths < 600 {
        format!("{}.{}s", tenths / 10, tenths % 10)
    } else {
        format!("{}m{:02}s", tenths / 600, tenths / 10 % 60)
    }
}

/// A duration in milliseconds without rounding: a lesson may depend on a few milliseconds.
pub fn amount(millis: u64) -> String {
    if millis.is_multiple_of(100) { stretch(Duration::from_millis(millis)) } else { format!("{millis}ms") }
}

/// The duration of a wait: exact below a second, `50ms`.
pub fn wait(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if millis < 1000 { amount(millis) } else { stretch(duration) }
}

/// The remaining time: `<1s`, `8s`, `1m30s`, `2h05m`, or `?` if unknown.
pub fn left(duration: Option<Duration>) -> String {
    let Some(duration) = duration else { return "?".to_owned() };
    let seconds = duration.as_secs();
    match seconds {
        0 => "<1s".to_owned(),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// A rate per second: `0.4`, `87`, `3200`, or `?` if unknown.
pub fn rate(per_second: Option<f64>) -> String {
    match per_second {
        None => "?".to_owned(),
        Some(rate) if rate < 10.0 => format!("{rate:.1}"),
        Some(rate) => format!("{rate:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{left, moment, rate, span, stretch, wait};
    use crate::clock::LessonTime;

    #[test]
    fn microseconds_and_minutes_both_read_well() {
        for (nanos, text) in [
            (0, "0"),
            (420_000, "0.42ms"),
            (12_000_000, "12ms"),
            (3_204_000_000, "3.204s"),
            (65_250_000_000, "1m05.2s"),
        ] {
            assert_eq!(moment(LessonTime::from_nanos(nanos)), text);
        }
        let at = LessonTime::from_nanos;
        assert_eq!(span(at(3_204_000_000), at(6_000_000_000)), "3.204s – 6.000s");
        assert_eq!(span(at(12_006_100_000), at(12_006_200_000)), "12.006s");
        assert_eq!(stretch(Duration::from_millis(2140)), "2.1s");
        assert_eq!(stretch(Duration::from_secs(90)), "1m30s");
        assert_eq!(
            [10, 50, 500, 2140].map(|millis| wait(Duration::from_millis(millis))),
            ["10ms", "50ms", "0.5s", "2.1s"]
        );
        let lefts = [0.4, 8.9, 90.0, 7_500.0].map(|s| left(Some(Duration::from_secs_f64(s))));
        assert_eq!(lefts, ["<1s", "8s", "1m30s", "2h05m"]);
        assert_eq!([rate(Some(0.44)), rate(Some(87.4)), rate(None)], ["0.4", "87", "?"]);
    }
}
