//! What many races of one variant amount to: which outcomes there were, and how often. It must not know how a
//! race is run, nor how its histogram looks.
//!
//! What is raced are the clients' programs, from beginning to end. Faults belong to the story, and a race has none.

mod holders;
mod outcome;
mod tally;

use std::time::{Duration, Instant};

pub use outcome::{Asked, LockFate, Outcome, values_in};
pub use tally::{Seen, Tally};

use crate::{
    clock::ClockKind,
    engine::{EngineError, Racer, span},
    lab::LabOptions,
    lesson::{Scenario, plan::Act},
};

/// Many races of one variant.
#[derive(Debug, Clone)]
pub struct RaceReport {
    /// The clock that they ran on.
    pub clock: ClockKind,
    /// How many there were.
    pub runs: u64,
    /// How many raced.
    pub actors: usize,
    /// What came of them.
    pub tally: Tally,
    /// Lesson time, all races together.
    pub lesson: Duration,
    /// Real time, starting and ending the servers included.
    pub wall: Duration,
}

/// Races a variant so many times on one lab. Race `n`, from 0, has the seed `seed + n`: one race with that seed
/// starts everybody in the same order again, with the same owner tokens. What the machine decided it decides anew.
///
/// # Errors
/// A server or a client failed, or a program cannot cope with a reply.
pub async fn race(
    scenario: &Scenario,
    options: &LabOptions,
    seed: u64,
    runs: u64,
) -> Result<RaceReport, EngineError> {
    let began = Instant::now();
    let mut racer = Racer::set_up(scenario, options).await?;
    let clock = racer.clock();
    let (mut tally, mut lesson) = (Tally::default(), Duration::ZERO);
    for n in 0..runs {
        let seed = seed.wrapping_add(n);
        match racer.run(seed).await {
            Ok(log) => {
                lesson += span(&log);
                tally.add(Outcome::of(scenario, &log), seed);
            }
            Err(error) => {
                racer.tear_down().await;
                return Err(error);
            }
        }
    }
    racer.tear_down().await;
    Ok(RaceReport {
        clock,
        runs,
        actors: scenario.actors.len(),
        tally,
        lesson,
        wall: began.elapsed(),
    })
}

/// Whether the story of a variant causes faults, which its races leave out.
#[must_use]
pub fn leaves_out_faults(scenario: &Scenario) -> bool {
    scenario
        .story
        .iter()
        .any(|line| matches!(line.act, Act::Faults(_)))
}
