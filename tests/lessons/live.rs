//! A live run as the screen drives it: steps, watching, holding; and a paused lesson observed from outside.

use std::{
    process::Command as Program,
    time::{Duration, Instant},
};

use lockstep::{
    lab::LabOptions,
    log::{EventKind, Log, Stop},
    run::session::{self, Session, SessionCommand, Update},
    verdict::Outcome,
};

use crate::{
    place::{LOCKSTEP, NEW_LESSON},
    texts::planned,
};

struct Live {
    session: Session,
    log: Log,
    outcome: Option<Outcome>,
}

impl Live {
    fn open(variant: &str) -> Self {
        let session =
            session::open(planned(NEW_LESSON, variant), LabOptions::with_binary(LOCKSTEP.into()), 1);
        Self { session, log: Log::new(), outcome: None }
    }

    fn ask(&self, command: SessionCommand) {
        self.session.commands.send(command).expect("the run listens");
    }

    /// Reads updates until a step is over; returns whether it was the last.
    async fn stepped(&mut self) -> bool {
        loop {
            let update = tokio::time::timeout(Duration::from_mins(1), self.session.updates.recv());
            match update.await.expect("in time").expect("the run goes on") {
                Update::Events(events) => self.log.extend(events),
                Update::TimeRuns => {}
                other @ (Update::Outlook(_)
                | Update::Refused(_)
                | Update::Silent(_)
                | Update::Branched { .. }) => {
                    panic!("{other:?}")
                }
                Update::Verdict(verdict) => self.outcome = Some(verdict.outcome),
                Update::Stepped { ended } => return ended,
                Update::Failed(why) => panic!("{}", why.message.en),
            }
        }
    }

    async fn step(&mut self) -> bool {
        self.ask(SessionCommand::Step);
        self.stepped().await
    }

    /// Steps until the key `lock` is held.
    async fn until_held(&mut self) {
        while !self.log.events().iter().any(|event| matches!(event.kind, EventKind::Believes { .. })) {
            self.step().await;
        }
    }

    fn socket(&self) -> String {
        let ready = self.log.events().iter().find_map(|event| match &event.kind {
            EventKind::LabReady { servers, .. } => Some(servers[0].address.clone()),
            _ => None,
        });
        ready.expect("the lab is ready")
    }

    /// An independent witness.
    fn redis_cli(&self, args: &[&str]) -> String {
        let output =
            Program::new("redis-cli").arg("-s").arg(self.socket()).args(args).output().expect("redis-cli");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn stops(&self) -> usize {
        self.log.events().iter().filter(|event| matches!(event.kind, EventKind::Stop { .. })).count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_lead_to_the_verdict() {
    let mut live = Live::open("blind-del");
    let mut steps = 1;
    while !live.step().await {
        steps += 1;
        assert_eq!(live.stops(), steps - 1, "each step ends in one stop");
    }
    assert_eq!(live.outcome, Some(Outcome::Shown));
    let last = live.log.events().last().expect("events");
    assert!(matches!(last.kind, EventKind::Stop { stop: Stop::End, .. }));
    assert!(live.step().await, "a step after the end changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_cli_sees_that_a_paused_lease_stands_still_and_a_jump_ends_it() {
    let mut live = Live::open("blind-del");
    live.until_held().await;
    let before = live.redis_cli(&["PTTL", "lock"]);
    assert!((1..=3000).contains(&before.parse::<i64>().expect("a number")), "{before}");
    // Real time passes here because its passing is what is tested.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(live.redis_cli(&["PTTL", "lock"]), before, "not a millisecond");
    while !live
        .log
        .events()
        .iter()
        .any(|event| matches!(event.kind, EventKind::Stop { stop: Stop::Passed, .. }))
    {
        live.step().await;
    }
    assert_eq!(live.redis_cli(&["EXISTS", "lock"]), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn watching_takes_its_time_and_can_be_held() {
    let mut live = Live::open("blind-del");
    live.ask(SessionCommand::Speed(10.0));
    live.until_held().await;
    // On to the step that lets 3 s pass.
    live.step().await;
    live.step().await;
    let began = Instant::now();
    live.ask(SessionCommand::Watch);
    live.ask(SessionCommand::Hold);
    // Held: a step that has begun does not end by itself.
    let held = tokio::time::timeout(Duration::from_millis(600), live.stepped()).await;
    assert!(held.is_err(), "a held step does not end");
    live.ask(SessionCommand::Resume);
    live.stepped().await;
    assert!(
        began.elapsed() >= Duration::from_millis(800),
        "3 s at 10x, and 600 ms held: {:?}",
        began.elapsed()
    );
    assert!(
        live.log
            .events()
            .iter()
            .any(|event| matches!(event.kind, EventKind::Stop { stop: Stop::Passed, .. }))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_wait_is_told_when_it_begins() {
    let mut live = Live::open("blind-del");
    live.ask(SessionCommand::Speed(0.25));
    live.until_held().await;
    live.step().await;
    live.step().await;
    // 3 s at a quarter of real time, in which nothing happens: the first update comes before their end.
    live.ask(SessionCommand::Watch);
    let first = live.session.updates.recv().await.expect("an update");
    assert_eq!(first, Update::TimeRuns);
    live.ask(SessionCommand::Step);
    live.stepped().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_for_the_next_step_completes_a_watched_one_at_once() {
    let mut live = Live::open("blind-del");
    live.ask(SessionCommand::Speed(0.1));
    live.until_held().await;
    live.step().await;
    live.step().await;
    live.ask(SessionCommand::Watch);
    live.ask(SessionCommand::Step);
    // 3 s at a tenth of real time would be half a minute; `stepped` allows a minute, so lesson time is checked instead.
    live.stepped().await;
    let passed = live.log.events().last().expect("events").at;
    assert!(passed.as_millis() >= 3000);
}
