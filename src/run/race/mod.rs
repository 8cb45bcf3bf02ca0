//! What many races of one variant amount to: which outcomes there were, and how often. It must not know how a
//! race is run, nor how its histogram looks.
//!
//! What is raced are the clients' programs, from beginning to end. Faults belong to the story, and a race has none.

pub(crate) mod broken;
pub(crate) mod kept;
pub(crate) mod outcome;
pub(crate) mod pace;
pub mod racer;
pub(crate) mod tally;
pub(crate) mod watch;

use std::time::Duration;

pub use kept::{Kept, Kind, MOST_EVENTS};
pub use outcome::{Asked, LockFate, Outcome};
pub use pace::Pace;
pub use tally::{Seen, Tally};
pub use watch::{Field, Invariant, MOST_RACES, Orders, Race, Racing, Told, invariants, watch};

use crate::{
    clock::ClockKind,
    lesson::{Scenario, plan::Act},
};

/// Many races of one variant.
#[derive(Debug, Clone)]
pub struct RaceReport {
    /// The clock that they ran on.
    pub clock: ClockKind,
    /// How many were asked for.
    pub asked: u64,
    /// How many there were.
    pub runs: u64,
    /// How many raced.
    pub actors: usize,
    /// What must never be so.
    pub invariants: Vec<Invariant>,
    /// What came of them.
    pub tally: Tally,
    /// Lesson time, all races together.
    pub lesson: Duration,
    /// Real time, starting and ending the servers included.
    pub wall: Duration,
}

impl RaceReport {
    /// No race yet.
    pub fn new(field: Field, asked: u64) -> Self {
        Self {
            clock: field.clock,
            asked,
            runs: 0,
            actors: field.actors,
            invariants: field.invariants,
            tally: Tally::default(),
            lesson: Duration::ZERO,
            wall: Duration::ZERO,
        }
    }

    /// Counts one race.
    pub fn add(&mut self, race: Race) {
        self.runs += 1;
        self.lesson += race.lesson;
        self.tally.add(race.outcome, race.seed);
    }

    /// Whether there were as many as were asked for.
    pub fn is_complete(&self) -> bool {
        self.runs == self.asked
    }
}

/// Whether the story of a variant causes faults, which its races leave out.
pub fn leaves_out_faults(scenario: &Scenario) -> bool {
    scenario.story.iter().any(|line| matches!(line.act, Act::Faults(_)))
}
