//! Divides the log of a finished race into steps, so that one can step through it.

use crate::log::{Event, EventKind, Log, Stop};

/// The same log with stops: after every reply or taken notification and the client's immediate reaction to
/// it, after waits that ended together, and at the end.
pub(crate) fn with_stops(log: &Log) -> Log {
    let mut steps = Log::new();
    let mut item = 0;
    let mut open: Option<Stop> = None;
    for event in log.events() {
        let continues = match &event.kind {
            // The immediate reaction of a client to a reply belongs to the same step.
            EventKind::Believes { .. }
            | EventKind::Counted { .. }
            | EventKind::Said { .. }
            | EventKind::Finished { .. }
            | EventKind::Waits { .. } => true,
            EventKind::Waited { .. } => open == Some(Stop::Passed),
            _ => false,
        };
        if !continues && let Some(stop) = open.take() {
            close(&mut steps, &mut item, stop);
        }
        match &event.kind {
            EventKind::Replied { .. } | EventKind::Took { .. } => open = Some(Stop::Move),
            EventKind::Waited { .. } => open = Some(Stop::Passed),
            _ => {}
        }
        steps.append(event.clone());
    }
    if let Some(stop) = open {
        close(&mut steps, &mut item, stop);
    }
    close(&mut steps, &mut item, Stop::End);
    steps
}

/// Ends a step at the current end of the log.
fn close(steps: &mut Log, item: &mut usize, stop: Stop) {
    let Some(at) = steps.events().last().map(|event| event.at) else { return };
    let kind = EventKind::Stop { item: *item, stop };
    steps.append(Event { at, kind });
    *item += 1;
}

#[cfg(test)]
mod tests {
    use super::with_stops;
    use crate::log::{
        Belief, EventKind, Log, Reply, Stop,
        testing::{self, holds, waited},
    };

    fn sent(actor: u32) -> EventKind {
        testing::sent(actor.into(), actor, "redis", "buy", "DECR stock")
    }

    fn replied(actor: u32) -> EventKind {
        testing::replied(actor.into(), actor, "buy", Reply::Value(0.into()))
    }

    fn believes(actor: u32) -> EventKind {
        testing::believes(actor, Belief::Holding)
    }

    fn seen() -> EventKind {
        holds("redis", None)
    }

    /// The stops, each as the number of the race's own events before it, and its kind.
    fn stops(kinds: Vec<EventKind>) -> Vec<(usize, Stop)> {
        let race = Log::from_iter(kinds);
        let stepped = with_stops(&race);
        let (mut own, mut stops) = (Vec::new(), Vec::new());
        for event in stepped.events() {
            if let EventKind::Stop { item, stop } = event.kind {
                assert_eq!(item, stops.len(), "steps are numbered");
                stops.push((own.len(), stop));
            } else {
                own.push(event.clone());
            }
        }
        assert_eq!(own, race.events(), "nothing else is changed");
        stops
    }

    #[test]
    fn a_step_is_a_reply_with_what_its_client_makes_of_it() {
        let race = vec![sent(0), sent(1), replied(1), believes(1), sent(1), replied(0), replied(1)];
        assert_eq!(stops(race), [(4, Stop::Move), (6, Stop::Move), (7, Stop::Move), (7, Stop::End)]);
    }

    #[test]
    fn waits_that_end_together_are_one_step_and_what_servers_hold_is_seen_at_the_end() {
        let race = vec![waited(0), believes(0), waited(1), sent(0), replied(0), seen()];
        assert_eq!(stops(race), [(3, Stop::Passed), (5, Stop::Move), (6, Stop::End)]);
    }

    #[test]
    fn a_race_in_which_nothing_happens_has_no_step() {
        assert_eq!(stops(vec![]), []);
        assert_eq!(stops(vec![sent(0)]), [(1, Stop::End)]);
    }
}
