//! A recording is told step by step, and its time passes as it is asked to.

use super::replay;
use crate::{
    lesson::testing::{self, NEW_LESSON},
    log::{EventKind, Stop, testing::waited},
    run::session::{Command, Session, Update},
};

/// Told in one step: said, three seconds in which somebody waits twice, the end.
fn opened() -> Session {
    let stop = |item, stop| EventKind::Stop { item, stop };
    let (en, zh) = ("Wait.".to_owned(), "等。".to_owned());
    let scenario = testing::scenario(NEW_LESSON, "blind-del");
    let mut log = testing::log(&scenario);
    for (at, kind) in [
        (1, EventKind::Say { item: 0, en, zh }),
        (1, stop(0, Stop::Narration)),
        (1_000, waited(0)),
        (3_000, waited(0)),
        (3_001, stop(1, Stop::Passed)),
        (3_001, stop(1, Stop::End)),
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
    fn ask(&self, command: Command) {
        self.commands.send(command).expect("the recording listens");
    }

    /// What one step tells: how many events, whether there is a verdict, whether the story is over.
    async fn stepped(&mut self) -> (usize, bool, bool) {
        let (mut told, mut judged) = (0, false);
        loop {
            match self.updates.recv().await.expect("the recording goes on") {
                Update::Events(events) => told += events.len(),
                Update::TimeRuns => {}
                other @ (Update::Outlook(_)
                | Update::Refused(_)
                | Update::Silent(_)
                | Update::Branched { .. }) => {
                    panic!("a recording is no free play: {other:?}")
                }
                Update::Verdict(_) => judged = true,
                Update::Stepped { ended } => return (told, judged, ended),
                Update::Failed { message, .. } => panic!("{}", message.en),
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
        match session.updates.recv().await.expect("the recording goes on") {
            Update::Events(events) => parts.push(events.len()),
            Update::Stepped { ended } => break assert!(ended),
            Update::TimeRuns | Update::Verdict(_) => {}
            other @ (Update::Outlook(_)
            | Update::Refused(_)
            | Update::Silent(_)
            | Update::Branched { .. }) => {
                panic!("{other:?}")
            }
            Update::Failed { message, .. } => panic!("{}", message.en),
        }
    }
    assert!(parts.len() > 1, "not all at once: {parts:?}");
    assert_eq!(parts.iter().sum::<usize>(), 4);
}
