//! Runs a story without a screen: every line as fast as the servers can follow, then the verdict.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::{RunError, director::Director, supervision::supervised, time::Tempo};
use crate::{
    clock::{ClockKind, LessonTime},
    lab::{LabOptions, WallClock},
    lesson::Scenario,
    log::{EventKind, Log},
    verdict::{self, Verdict},
};

#[derive(Debug, Clone)]
pub struct RunReport {
    pub log: Log,
    pub verdict: Verdict,
    pub clock: ClockKind,
    /// Why the run used the machine's clock, if it did and this run found out the reason.
    pub wall_clock: Option<WallClock>,
    /// The lesson time of the run.
    pub lesson: Duration,
    /// The real time, including starting and stopping the servers.
    pub wall: Duration,
}

/// Runs a scenario's story to its end and judges it. All its processes have exited when it returns.
pub async fn run_story(scenario: &Scenario, options: &LabOptions, seed: u64) -> Result<RunReport, RunError> {
    let began = Instant::now();
    let (_set_tempo, tempo) = watch::channel(Tempo::Jump);
    let mut director = Director::set_up(scenario.clone(), options, seed, tempo, None).await?;
    let health = director.harness.lab.health();
    let outcome = supervised(&health, async {
        while !director.ended() {
            director.step().await?;
        }
        Ok(())
    });
    let outcome = Box::pin(outcome).await;
    let wall_clock = director.harness.lab.wall_clock().cloned();
    let log = director.tear_down().await;
    outcome?;
    Ok(RunReport { wall_clock, ..RunReport::of(scenario, log, began) })
}

/// The lesson time that a log spans.
pub(crate) fn span(log: &Log) -> Duration {
    log.events().last().map_or(Duration::ZERO, |event| event.at.since(LessonTime::ZERO))
}

impl RunReport {
    /// Whether the clock of the run could be stopped.
    pub fn is_controlled(&self) -> bool {
        self.clock == ClockKind::Controlled
    }

    /// The report on a finished run's log. `began` is when the caller started to wait for the run.
    pub fn of(scenario: &Scenario, log: Log, began: Instant) -> Self {
        let verdict = verdict::judge(scenario, &log);
        let clock = log.events().iter().find_map(|event| match &event.kind {
            EventKind::LabReady { clock, .. } => Some(*clock),
            _ => None,
        });
        let lesson = span(&log);
        Self {
            log,
            verdict,
            clock: clock.unwrap_or(ClockKind::Wall),
            wall_clock: None,
            lesson,
            wall: began.elapsed(),
        }
    }
}
