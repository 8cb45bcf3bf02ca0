//! A recording is told step by step, and its time passes as it is asked to.

use super::replay;
use crate::{
    lesson::testing::{self, NEW_LESSON},
    log::{EventKind, Stop, testing::waited},
    run::session::{Command, Session, Update},
};

/// Told in one step: said, an hour in which somebody waits twice, after a second and at its end, the end.
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
    /// What is told next of a recording, which is no free play and does not fail.
    async fn next(&mut self) -> Update {
        let update = self.updates.recv().await.expect("the recording goes on");
        let (Update::Events(_) | Update::TimeRuns | Update::Verdict(_) | Update::Stepped { .. }) = update
        else {
            panic!("{update:?}");
        };
        update
    }

    fn ask(&self, command: Command) {
        self.commands.send(command).expect("the recording listens");
    }

    /// What one step tells: how many events, whether there is a verdict, whether the story is over.
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
    session.ask(Command::Step);
    assert_eq!(session.stepped().await, (2, false, false));
    session.ask(Command::Step);
    assert_eq!(session.stepped().await, (4, true, true));
    session.ask(Command::Step);
    assert_eq!(session.stepped().await, (0, false, true));
}

#[tokio::test]
async fn watched_time_passes_can_be_held_and_is_cut_short_by_a_step() {
    let mut session = opened();
    // So slow that none of it passes by itself while this test runs.
    session.ask(Command::Speed(1e-6));
    session.ask(Command::Step);
    session.stepped().await;
    session.ask(Command::Watch);
    assert_eq!(session.updates.recv().await, Some(Update::TimeRuns), "the clock runs");
    for command in [Command::Hold, Command::Speed(1e6), Command::Speed(1e-6), Command::Resume] {
        session.ask(command);
    }
    // Heard in their order, so what comes next comes after all of them.
    session.ask(Command::Step);
    let Some(Update::Events(events)) = session.updates.recv().await else {
        panic!("the step goes on");
    };
    assert_eq!(events.len(), 4, "nothing came while it was held or crept");
    assert_eq!(session.stepped().await, (0, true, true));
}

#[tokio::test]
async fn watched_each_event_comes_in_its_time() {
    let mut session = opened();
    session.ask(Command::Speed(100.0));
    session.ask(Command::Step);
    session.stepped().await;
    session.ask(Command::Watch);
    let mut parts = Vec::new();
    loop {
        match session.next().await {
            Update::Events(events) => {
                parts.push(events.len());
                // The rest comes after half a minute, or now.
                session.ask(Command::Speed(1e9));
            }
            Update::Stepped { ended } => break assert!(ended),
            _ => {}
        }
    }
    assert_eq!(parts, [1, 3], "not all at once");
}
