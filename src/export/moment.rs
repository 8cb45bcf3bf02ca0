//! A moment of a run as a user gives it: a step, a lesson time, the end.

use std::{str::FromStr, time::Duration};

use crate::{
    clock::LessonTime,
    log::{Log, Steps},
    text::{Text, Words},
    ui::theme::time,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// After that many steps of the story, counted as on the screen; 0 is before the first.
    Step(usize),
    Time(LessonTime),
    /// The end of the run, with the verdict.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolvedMoment {
    /// The number of events before the moment.
    pub position: usize,
    /// The time shown, which may be between two events.
    pub display: LessonTime,
    /// Whether it is the end, where the verdict is shown.
    pub end: bool,
}

const NO_SUCH_STEP: Words = Words::new(
    "there is no step {}: the run has {} steps; use `--at {}`, or `--at end` for the verdict",
    "没有第 {} 步：这次运行共 {} 步；请用 `--at {}`，或用 `--at end` 看结论",
);
const TOO_LATE: Words = Words::new(
    "nothing happens at {}: the run ends at {}; use an earlier time, or `--at end` for the verdict",
    "{} 时没有内容：这次运行在 {} 结束；请用更早的时间，或用 `--at end` 看结论",
);
const TOO_EARLY: Words = Words::new(
    "nothing has happened at {}: the first event is at {}; use a later time, or `--at 0`",
    "{} 时还什么都没发生：第一个事件在 {}；请用更晚的时间，或用 `--at 0`",
);

impl FromStr for Moment {
    type Err = String;

    /// Parses `7`, `end`, and times as the screens show them: `420ms`, `3.204s`, `1m05.2s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "end" {
            return Ok(Self::End);
        }
        if let Ok(step) = text.parse() {
            return Ok(Self::Step(step));
        }
        parse_time(text).map(Self::Time).ok_or_else(|| {
            format!(
                "`{text}` is no moment: write a step such as 7, a lesson time such as 3.2s, 420ms or 1m05s, or end"
            )
        })
    }
}

fn parse_time(text: &str) -> Option<LessonTime> {
    let seconds = |number: &str| number.trim().parse::<f64>().ok().filter(|value| *value >= 0.0);
    let total = if let Some(millis) = text.strip_suffix("ms") {
        seconds(millis)? / 1000.0
    } else {
        let (minutes, rest) = match text.split_once('m') {
            Some((minutes, "")) => (minutes, "0s"),
            Some(both) => both,
            None => ("0", text),
        };
        seconds(minutes)? * 60.0 + seconds(rest.strip_suffix('s')?)?
    };
    let duration = Duration::try_from_secs_f64(total).ok()?;
    Some(LessonTime::ZERO + duration)
}

impl Moment {
    /// Finds the moment in a log, or tells why the log does not contain it.
    pub fn resolve(self, log: &Log) -> Result<ResolvedMoment, Text> {
        let at = |position: usize, end| ResolvedMoment { position, display: log.time_at(position), end };
        match self {
            Self::End => Ok(at(log.len(), true)),
            Self::Step(number) => {
                let steps = Steps::of(log);
                let last = steps.all().last().map_or(0, |step| step.number);
                if number > last {
                    let (number, last) = (number.to_string(), last.to_string());
                    return Err(NO_SUCH_STEP.text(&[&number, &last, &last]));
                }
                // A line of the story without a stop belongs to the step before it.
                let step = steps.all().iter().rfind(|step| step.number <= number).filter(|_| number > 0);
                Ok(at(step.map_or_else(|| log.opening(), |step| step.position), false))
            }
            Self::Time(time) => {
                let events = log.events();
                let first = events.first().map_or(LessonTime::ZERO, |event| event.at);
                let end = log.time_at(log.len());
                let words = time::moment(time);
                if time < first {
                    return Err(TOO_EARLY.text(&[&words, &time::moment(first)]));
                }
                // The user's time may be rounded, so one that reads like the end is accepted.
                if time > end && words != time::moment(end) {
                    return Err(TOO_LATE.text(&[&words, &time::moment(end)]));
                }
                let position = events.partition_point(|event| event.at <= time);
                Ok(ResolvedMoment { position, display: time.min(end), end: false })
            }
        }
    }
}
