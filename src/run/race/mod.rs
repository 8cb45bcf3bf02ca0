//! Races of one variant: which outcomes occurred, and how often. The clients' programs run from beginning to
//! end; faults belong to the story, so a race has none.

pub(crate) mod outcome;
pub(crate) mod pace;
pub(crate) mod printed;
pub(crate) mod race_outcomes;
pub mod racer;

use std::time::Duration;

pub(crate) use outcome::OutcomeFields;
pub use outcome::{LockFate, Outcome};
pub(crate) use pace::Pace;
pub(crate) use race_outcomes::{Kind, MOST_EVENTS, RaceOutcomes};

use crate::{
    clock::ClockKind,
    lesson::{Scenario, plan::Act},
    log::{CounterInfo, EventKind, LockInfo, Log},
    text::Text,
};

/// The most races of one variant in one batch, whoever asks for them.
pub const MOST_RACES: u64 = 1_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invariant {
    /// The source text in the lesson: `sold > stock`.
    pub name: String,
    /// The lesson's text on what is broken when the condition holds.
    pub says: Text,
}

/// What a lesson calls the parts of outcomes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wording {
    pub invariants: Vec<Invariant>,
    pub locks: Vec<LockInfo>,
    pub counters: Vec<CounterInfo>,
}

impl Wording {
    pub const fn none() -> Self {
        Self { invariants: Vec::new(), locks: Vec::new(), counters: Vec::new() }
    }

    pub fn of(scenario: &Scenario) -> Self {
        let invariants = scenario.invariants.iter();
        let named =
            invariants.map(|plan| Invariant { name: plan.never.to_string(), says: plan.says.clone() });
        Self {
            invariants: named.collect(),
            locks: scenario.locks.clone(),
            counters: scenario.counter_titles.clone(),
        }
    }

    /// What was broken, a sentence for each invariant.
    pub fn broken<'w>(&'w self, outcome: &'w Outcome) -> impl Iterator<Item = &'w Text> {
        let broken = |known: &&Invariant| outcome.broken.contains(&known.name);
        self.invariants.iter().filter(broken).map(|known| &known.says)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaceInfo {
    pub clock: ClockKind,
    pub actors: usize,
    /// Whether the story causes faults, which races leave out.
    pub faults_left_out: bool,
    pub wording: Wording,
}

impl RaceInfo {
    pub(crate) fn of(scenario: &Scenario, clock: ClockKind) -> Self {
        Self {
            clock,
            actors: scenario.actors.len(),
            faults_left_out: scenario.story.iter().any(|line| matches!(line.act, Act::Faults(_))),
            wording: Wording::of(scenario),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Race {
    /// The seed from which the actors' starts were drawn.
    pub seed: u64,
    pub outcome: Outcome,
    /// The events, with a stop after every reply.
    pub log: Log,
    /// The lesson time of the race.
    pub lesson: Duration,
}

#[derive(Debug, Clone)]
pub struct RaceReport {
    pub info: RaceInfo,
    pub asked: u64,
    pub kept: RaceOutcomes,
    /// The races in which a program met an error that it does not handle, and who met the first, with the error.
    pub gave_up: u64,
    pub first_error: Option<(String, Text)>,
    /// The lesson time of all races together.
    pub lesson: Duration,
    /// The real time, including starting and stopping the servers.
    pub wall: Duration,
}

impl RaceReport {
    pub fn new(info: RaceInfo, asked: u64) -> Self {
        // The report needs no logs.
        let kept = RaceOutcomes::within(0);
        let (gave_up, first_error) = (0, None);
        Self { info, asked, kept, gave_up, first_error, lesson: Duration::ZERO, wall: Duration::ZERO }
    }

    pub fn add(&mut self, race: Race) {
        self.lesson += race.lesson;
        let mut errors = race.log.events().iter().filter_map(|event| match &event.kind {
            EventKind::GaveUp { actor, why } => Some((*actor, why)),
            _ => None,
        });
        if let Some((actor, why)) = errors.next() {
            self.gave_up += 1;
            self.first_error.get_or_insert_with(|| (race.log.name(actor).to_owned(), why.clone()));
        }
        self.kept.add(race);
    }

    /// Whether as many races were run as were asked for.
    pub fn is_complete(&self) -> bool {
        self.kept.races() == self.asked
    }
}
