//! How long a completed step is shown before the next one.

use std::time::Duration;

use crate::{
    log::{Event, EventKind, Stop},
    text::Lang,
};

/// How long a move is shown before the next one, at normal speed.
const MOVE: Duration = Duration::from_millis(700);
/// How long the end of a wait is shown.
const PASSED: Duration = Duration::from_millis(400);
/// How long the result of a prediction is shown.
const DECIDED: Duration = Duration::from_secs(5);
/// The minimum and the maximum time for reading, in seconds.
const READING: (f64, f64) = (1.5, 20.0);

/// How long a step is shown, at normal speed. `questions`: whether the learner is asked, and thus reads the results of
/// predictions; `watched`: whether its time passed visibly, which has given some time to read already.
pub(crate) fn time(step: &[Event], lang: Lang, (questions, watched): (bool, bool)) -> Duration {
    let said = step.iter().rev().find_map(|event| match (&event.kind, lang) {
        (EventKind::Say { en, .. }, Lang::En) => Some(of(en, lang)),
        (EventKind::Say { zh, .. }, Lang::Zh) => Some(of(zh, lang)),
        (EventKind::Decided { why: Some(why), .. }, _) if questions => {
            Some(DECIDED + of(why.get(lang), lang))
        }
        (EventKind::Decided { .. }, _) if questions => Some(DECIDED),
        _ => None,
    });
    let usual = match step.last().map(|event| &event.kind) {
        Some(EventKind::Stop { stop: Stop::Passed, .. }) => PASSED,
        _ if watched => PASSED,
        _ => MOVE,
    };
    said.unwrap_or(usual)
}

/// The least time in which a text can be read, without looking at anything else: 200 words or 360 Chinese characters a
/// minute.
pub(crate) fn least(text: &str) -> Duration {
    let is_chinese = |c: &char| matches!(c, '\u{4e00}'..='\u{9fff}');
    let characters = text.chars().filter(is_chinese).count();
    let words = text.split(|c: char| c.is_whitespace() || is_chinese(&c));
    let words = words.filter(|word| word.contains(char::is_alphanumeric)).count();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Duration::from_millis(300) * count(words) + Duration::from_secs(1) * count(characters) / 6
}

pub(crate) fn of(text: &str, lang: Lang) -> Duration {
    let per_second = match lang {
        Lang::En => 18.0,
        Lang::Zh => 7.0,
    };
    let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let seconds = 1.0 + f64::from(characters) / per_second;
    Duration::from_secs_f64(seconds.clamp(READING.0, READING.1))
}
