//! Formats lesson times and durations for people.

use std::time::Duration;

use crate::{
    clock::LessonTime,
    text::{self, Lang},
};

pub fn moment(at: LessonTime) -> String {
    at.brief()
}

/// From when to when; one moment if both read the same.
pub fn span(from: LessonTime, to: LessonTime) -> String {
    let (from, to) = (moment(from), moment(to));
    if from == to { from } else { format!("{from} – {to}") }
}

/// A duration in a chart or a table: milliseconds below a second, from there on tenths of a second, without a zero at the
/// end: `462ms`, `3s`, `2.1s`, `1m30s`.
pub fn stretch(duration: Duration) -> String {
    let millis = duration.as_millis();
    let tenths = (millis + 50) / 100;
    match tenths {
        _ if millis < 1000 => format!("{millis}ms"),
        ..600 => format!("{}s", text::seconds(tenths * 100)),
        _ => format!("{}m{:02}s", tenths / 600, tenths / 10 % 60),
    }
}

/// The same without rounding: a lesson may depend on a few milliseconds.
pub fn amount(millis: u64) -> String {
    if (1000..60_000).contains(&millis) {
        return format!("{}s", text::seconds(millis.into()));
    }
    stretch(Duration::from_millis(millis))
}

/// A duration of [`stretch`] or [`amount`] in a sentence, as the texts of lessons write it: `3 s`, `2.1 秒`, `1 分 30 秒`.
pub fn said(duration: &str, lang: Lang) -> String {
    let [ms, s, min] = match lang {
        Lang::En => [" ms", " s", " min "],
        Lang::Zh => [" 毫秒", " 秒", " 分 "],
    };
    match duration.strip_suffix("ms") {
        Some(number) => format!("{number}{ms}"),
        None => duration.replace('s', s).replace('m', min),
    }
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

    use super::{amount, left, moment, rate, said, span, stretch};
    use crate::{clock::LessonTime, text::Lang};

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
            [10, 500, 999, 1000, 2140, 3000, 59_960].map(|millis| stretch(Duration::from_millis(millis))),
            ["10ms", "500ms", "999ms", "1s", "2.1s", "3s", "1m00s"]
        );
        assert_eq!([500, 1250, 40_000, 90_000].map(amount), ["500ms", "1.25s", "40s", "1m30s"]);
        assert_eq!(
            ["500ms", "2.1s", "1m30s"].map(|time| said(time, Lang::En)),
            ["500 ms", "2.1 s", "1 min 30 s"]
        );
        assert_eq!(
            ["500ms", "2.1s", "1m30s"].map(|time| said(time, Lang::Zh)),
            ["500 毫秒", "2.1 秒", "1 分 30 秒"]
        );
        let lefts = [0.4, 8.9, 90.0, 7_500.0].map(|s| left(Some(Duration::from_secs_f64(s))));
        assert_eq!(lefts, ["<1s", "8s", "1m30s", "2h05m"]);
        assert_eq!([rate(Some(0.44)), rate(Some(87.4)), rate(None)], ["0.4", "87", "?"]);
    }
}
