//! A recorded run as others see it: the same commands and updates as a live one, without servers.

use std::ops::Range;

use tokio::sync::mpsc::unbounded_channel;

use super::{Command, Session, Update};
use crate::{
    lesson::Scenario,
    log::{Event, EventKind, Log},
    verdict,
};

/// Plays a recording. Must be called inside a `tokio` runtime.
#[must_use]
pub fn replay(scenario: Scenario, log: Log) -> Session {
    let (commands, mut asked) = unbounded_channel();
    let (tell, updates) = unbounded_channel();
    tokio::spawn(async move {
        let mut steps = steps(log.events()).into_iter();
        let opening = steps.next().unwrap_or(0..log.len());
        let mut told = opening.end;
        let _ = tell.send(Update::Events(log.events()[opening].to_vec()));
        while let Some(command) = asked.recv().await {
            if !matches!(command, Command::Step | Command::Watch) {
                continue;
            }
            if let Some(step) = steps.next() {
                told = step.end;
                let _ = tell.send(Update::Events(log.events()[step].to_vec()));
            }
            let ended = told == log.len();
            if ended {
                let _ = tell.send(Update::Verdict(verdict::judge(&scenario, &log)));
            }
            let _ = tell.send(Update::Stepped { ended });
        }
    });
    Session { commands, updates }
}

/// The opening, before anybody did anything, and then each step up to its stop.
fn steps(events: &[Event]) -> Vec<Range<usize>> {
    let acts = |event: &Event| {
        matches!(
            event.kind,
            EventKind::Say { .. }
                | EventKind::Sent { .. }
                | EventKind::Took { .. }
                | EventKind::Fault(_)
                | EventKind::Stop { .. }
        )
    };
    let begin = events.iter().position(acts).unwrap_or(events.len());
    let opening: Range<usize> = 0..begin;
    let mut steps = Vec::from([opening]);
    let mut from = begin;
    for (n, event) in events.iter().enumerate().skip(begin) {
        // The story's end is part of its last step.
        let more = matches!(
            events.get(n + 1).map(|next| &next.kind),
            Some(EventKind::Stop { .. })
        );
        if matches!(event.kind, EventKind::Stop { .. }) && !more {
            steps.push(from..n + 1);
            from = n + 1;
        }
    }
    if from < events.len() {
        steps.push(from..events.len());
    }
    steps
}
