//! Durations as authors write them: `3s`, `200ms`, `1m 30s`, `1.5s`, or a whole number of milliseconds.

use crate::text::{Text, both};

pub fn parse_millis(text: &str) -> Result<i64, Text> {
    match read_millis(text)? {
        millis if millis > LONGEST_MS => {
            Err(both!("`{text}` is too long: at most a year", "`{text}` 太长：最多一年"))
        }
        millis => Ok(millis),
    }
}

/// Parses a duration that an author wrote, and refuses a small number without a unit.
pub(crate) fn parse_written(text: &str) -> Result<i64, Text> {
    check_unit(text)?;
    parse_millis(text)
}

/// Refuses a number below 100 without a unit: it would be milliseconds, which the author hardly meant. The number may
/// have a sign.
pub(crate) fn check_unit(text: &str) -> Result<(), Text> {
    match text.trim().trim_start_matches(['-', '+']).parse::<i64>() {
        Ok(1..100) => Err(both!(
            "`{text}` without a unit is {text} ms; write {text}s or {text}ms",
            "`{text}` 没有单位，就是 {text} 毫秒；请写 {text}s 或 {text}ms"
        )),
        _ => Ok(()),
    }
}

/// The longest duration, in milliseconds. Times are `i64` nanoseconds, which have room for 292 years.
const LONGEST_MS: i64 = 366 * 24 * 60 * 60 * 1000;

fn read_millis(text: &str) -> Result<i64, Text> {
    let text = text.trim();
    if let Ok(millis) = text.parse::<i64>() {
        return if millis >= 0 {
            Ok(millis)
        } else {
            Err(both!("`{text}`: time cannot run backward", "`{text}`：时间不能倒流"))
        };
    }
    // humantime does not parse fractions; `1.5s` is too natural to refuse.
    if let Some(number) = text.strip_suffix('s').and_then(|number| number.parse::<f64>().ok())
        && (0.0..=1e9).contains(&number)
    {
        #[expect(clippy::cast_possible_truncation, reason = "bounded just above")]
        return Ok((number * 1000.0).round() as i64);
    }
    humantime::parse_duration(text)
        .ok()
        .and_then(|duration| i64::try_from(duration.as_millis()).ok())
        .ok_or_else(|| {
            both!(
                "`{text}` is not a duration: write it like 3s, 200ms, 1.5s or 1m 30s",
                "`{text}` 不是时长：请写成 3s、200ms、1.5s 或 1m 30s 这样"
            )
        })
}

/// Parses a duration that may be negative: `-5s`.
pub fn parse_signed_millis(text: &str) -> Result<i64, Text> {
    match text.trim().strip_prefix('-') {
        Some(size) => parse_millis(size).map(|millis| -millis),
        None => parse_millis(text.trim().strip_prefix('+').unwrap_or(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_millis, parse_signed_millis};

    #[test]
    fn a_signed_duration_may_point_backward() {
        assert_eq!(parse_signed_millis("-1.5s"), Ok(-1500));
        assert_eq!(parse_signed_millis("+30s"), Ok(30_000));
        assert_eq!(parse_signed_millis("-250"), Ok(-250));
        assert!(parse_signed_millis("--3s").is_err());
        assert!(parse_signed_millis("-").is_err());
    }

    #[test]
    fn reads_what_authors_write() {
        for (text, millis) in
            [("3s", 3000), ("200ms", 200), ("1.5s", 1500), ("1m 30s", 90_000), ("250", 250), ("0s", 0)]
        {
            assert_eq!(parse_millis(text), Ok(millis), "{text}");
        }
    }

    #[test]
    fn refuses_other_texts_with_help() {
        for text in ["soon", "-3s", "-1", "3 parsecs", "", "1e300s"] {
            let error = parse_millis(text).expect_err(text).en;
            assert!(error.contains("write it like") || error.contains("backward"), "{error}");
        }
    }
}
