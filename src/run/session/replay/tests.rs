//! Replays a recording step by step, with time passing at the requested speed.

use super::replay;
use crate::{
    lesson::testing::{self, NEW_LESSON},
    log::{EventKind, Stop, testing::waited},
    run::session::{Session, SessionCommand, Update},
};

/// Replays a recording of two steps: a narration, and an hour in which two waits end, after a second and at
/// its end.
fn opened() -> Session {
    let stop = |item, stop| EventKind::Stop { item, stop };
    let (en, zh) = ("Wait.".to_owned(), "等。".to_owned());
    let scenario = testing::scenario(NEW_LESSON, "blind-del");
    let mut log = testing::log(&scenario);
    for (at, kind) in [
        (1, EventKind::Say { item: 0, en, zh }),
        (1, stop(0, Stop::Narration)),
        (1_000, waited(0)),
        (3_600_000, waited(0)),
        (3_600_001, stop(1, Stop::Passed)),
        (3_600_001, stop(1, Stop::End)),
    ] {
        log.at(at).add(kind);
    }
    let mut session = replay(scenario, log.finish());
    let Ok(Update::Events(opening)) = session.updates.try_recv() else {
        panic!("the opening is there at once");
    };
    assert_eq!(opening.len(), 1);
    session
}

impl Session {
    /// Receives the next update, which must be one that a replay can send.
    async fn next(&mut self) -> Update {
        let update = self.updates.recv().await.expect("the recording goes on");
        let (Update::Events(_) | Update::TimeRuns | Update::Verdict(_) | Update::Stepped { .. }) = update
        else {
            panic!("{update:?}");
        };
        update
    }

    fn ask(&self, command: SessionCommand) {
        self.commands.send(command).expect("the recording listens");
    }

    /// Receives the updates of one step: the number of events, whether there is a verdict, and whether the
    /// story is over.
    async fn stepped(&mut self) -> (usize, bool, bool) {
        let (mut events, mut judged) = (0, false);
        loop {
            match self.next().await {
                Update::Events(new) => events += new.len(),
                Update::Verdict(_) => judged = true,
                Update::Stepped { ended } => return (events, judged, ended),
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn a_step_takes_no_time_and_the_last_one_brings_the_verdict_once() {
    let mut session = opened();
    session.ask(SessionCommand::Step);
    assert_eq!(session.stepped().await, (2, false, false));
    session.ask(SessionCommand::Step);
    assert_eq!(session.stepped().await, (4, true, true));
    session.ask(SessionCommand::Step);
    assert_eq!(session.stepped().await, (0, false, true));
}

#[tokio::test]
async fn watched_time_passes_can_be_held_and_is_cut_short_by_a_step() {
    let mut session = opened();
    // So slow that no time passes by itself during this test.
    session.ask(SessionCommand::Speed(1e-6));
    session.ask(SessionCommand::Step);
    session.stepped().await;
    session.ask(SessionCommand::Watch);
    assert_eq!(session.updates.recv().await, Some(Update::TimeRuns), "the clock runs");
    for command in [
        SessionCommand::Hold,
        SessionCommand::Speed(1e6),
        SessionCommand::Speed(1e-6),
        SessionCommand::Resume,
    ] {
        session.ask(command);
    }
    // Commands are handled in order, so the next update comes after all of them.
    session.ask(SessionCommand::Step);
    let Some(Update::Events(events)) = session.updates.recv().await else {
        panic!("the step goes on");
    };
    assert_eq!(events.len(), 4, "nothing came while it was held or crept");
    assert_eq!(session.stepped().await, (0, true, true));
}

#[tokio::test]
async fn watched_each_event_comes_in_its_time() {
    let mut session = opened();
    session.ask(SessionCommand::Speed(100.0));
    session.ask(SessionCommand::Step);
    session.stepped().await;
    session.ask(SessionCommand::Watch);
    let mut parts = Vec::new();
    loop {
        match session.next().await {
            Update::Events(events) => {
                parts.push(events.len());
                // The rest would take half a minute; at this speed it comes now.
                session.ask(SessionCommand::Speed(1e9));
            }
            Update::Stepped { ended } => break assert!(ended),
            _ => {}
        }
    }
    assert_eq!(parts, [1, 3], "not all at once");
}
