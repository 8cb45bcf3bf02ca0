//! How long a step that has been shown is looked at before the next.

use std::time::Duration;

use crate::{
    log::{Event, EventKind, Stop},
    text::Lang,
};

/// How long a move is looked at before the next, at normal speed.
const MOVE: Duration = Duration::from_millis(700);
/// How long the end of a wait is looked at.
const PASSED: Duration = Duration::from_millis(400);
/// How long the outcome of a prediction is looked at.
const DECIDED: Duration = Duration::from_secs(5);
/// The shortest and the longest time for reading.
const READING: (f64, f64) = (1.5, 20.0);

/// How long a step is looked at, at normal speed. `questions`: whether the learner is asked, and so reads what
/// became of the answers; `watched`: whether it was seen to happen, which has taken some time already.
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

pub(crate) fn of(text: &str, lang: Lang) -> Duration {
    let per_second = match lang {
        Lang::En => 18.0,
        Lang::Zh => 7.0,
    };
    let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let seconds = 1.0 + f64::from(characters) / per_second;
    Duration::from_secs_f64(seconds.clamp(READING.0, READING.1))
}
