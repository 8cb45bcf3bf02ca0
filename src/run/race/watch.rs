//! Races as others follow them while they are run: orders go in, each race comes out as soon as it is over.

use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::{Outcome, broken::broken, leaves_out_faults};
use crate::{
    clock::ClockKind,
    lab::LabOptions,
    lesson::{Mistake, Path, Scenario},
    log::Log,
    run::{
        race::racer::{Racer, span},
        session::EngineError,
    },
    text::Text,
};

/// The most races of one variant in one go, anywhere.
pub const MOST_RACES: u64 = 1_000_000;

/// So many races may be over before anybody has taken them in; then the next one waits. Their logs are in memory.
const AHEAD: usize = 32;

/// What is wanted of races under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Orders {
    /// How many there are to be, all together. More may be asked for at any time, on the same servers.
    pub runs: u64,
    /// Whether none begins for now.
    pub paused: bool,
}

/// Something that must never be so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invariant {
    /// As the lesson has it: `sold > stock`.
    pub name: String,
    /// What is broken when it is so.
    pub says: Text,
}

/// What is raced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The clock that the servers run on.
    pub clock: ClockKind,
    /// How many race.
    pub actors: usize,
    /// Whether the story causes faults, which races leave out.
    pub faults_left_out: bool,
    /// What must never be so.
    pub invariants: Vec<Invariant>,
}

/// One race that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Race {
    /// What its start was drawn from.
    pub seed: u64,
    /// What came of it.
    pub outcome: Outcome,
    /// What happened, with a stop behind every reply.
    pub log: Log,
    /// Lesson time.
    pub lesson: Duration,
}

/// What is told of races under way.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// The servers answer and the clients stand by.
    Ready(Field),
    /// A race is over.
    Raced(Race),
    /// There can be no more of them: what happened, why, and what to do.
    Failed {
        /// The message, perhaps of several lines.
        message: Text,
        /// Whether a server is missing or failed (a fresh start may help), rather than the lesson.
        server: bool,
    },
}

/// Races under way. Dropping it ends the one that is being run, its clients and its servers.
#[derive(Debug)]
pub struct Racing {
    /// Where orders go in.
    pub orders: watch::Sender<Orders>,
    /// Where it is told what comes of them. Its end says that nothing is left running.
    pub told: mpsc::Receiver<Told>,
}

impl Racing {
    /// Ends the races and waits until their clients and servers are gone. What was not taken in is lost.
    pub async fn end(self) {
        let Self { orders, mut told } = self;
        drop(orders);
        while told.recv().await.is_some() {}
    }
}

/// Races a variant so many times on one lab, in the background. Race `n`, from 0, has the seed `seed + n`: one race
/// with that seed starts everybody in the same order again, with the same owner tokens. What the machine decided it
/// decides anew. When there have been enough, the lab waits for more to be asked for.
///
/// Must be called inside a `tokio` runtime.
pub fn watch(scenario: Scenario, options: LabOptions, seed: u64, runs: u64) -> Racing {
    let (orders, wanted) = watch::channel(Orders { runs, paused: false });
    let (tell, told) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let crew = Crew { scenario, options, seed, wanted, tell: tell.clone() };
        if let Err(error) = Box::pin(crew.work()).await {
            let failed = Told::Failed { message: error.text(), server: error.is_server() };
            // Whoever has gone need not be told.
            let _ = tell.send(failed).await;
        }
    });
    Racing { orders, told }
}

/// What must never be so in a variant.
pub fn invariants(scenario: &Scenario) -> Vec<Invariant> {
    let told = scenario
        .invariants
        .iter()
        .map(|invariant| Invariant { name: invariant.never.to_string(), says: invariant.says.clone() });
    told.collect()
}

struct Crew {
    scenario: Scenario,
    options: LabOptions,
    seed: u64,
    wanted: watch::Receiver<Orders>,
    tell: mpsc::Sender<Told>,
}

impl Crew {
    async fn work(&self) -> Result<(), EngineError> {
        let mut racer = tokio::select! {
            racer = Racer::set_up(&self.scenario, &self.options) => racer?,
            () = self.left() => return Ok(()),
        };
        let outcome = tokio::select! {
            outcome = self.races(&mut racer) => outcome,
            () = self.left() => Ok(()),
        };
        racer.tear_down().await;
        outcome
    }

    /// One race after another; returns only when nobody listens any more, or one cannot be run.
    async fn races(&self, racer: &mut Racer) -> Result<(), EngineError> {
        let scenario = &self.scenario;
        self.say(Told::Ready(Field {
            clock: racer.clock(),
            actors: scenario.actors.len(),
            faults_left_out: leaves_out_faults(scenario),
            invariants: invariants(scenario),
        }))
        .await;
        let mut wanted = self.wanted.clone();
        for n in 0..MOST_RACES {
            let more = |orders: &Orders| n < orders.runs && !orders.paused;
            if wanted.wait_for(more).await.is_err() {
                break;
            }
            let seed = self.seed.wrapping_add(n);
            let log = racer.run(seed).await?;
            let mut outcome = Outcome::of(scenario, &log);
            outcome.broken = broken(scenario, &outcome, &log).map_err(|why| self.unanswered(&why))?;
            self.say(Told::Raced(Race { seed, outcome, lesson: span(&log), log })).await;
        }
        // Every race that there can be has been run.
        self.left().await;
        Ok(())
    }

    /// An invariant cannot be asked about.
    fn unanswered(&self, why: &str) -> EngineError {
        let path = Path::root().key("invariants");
        let mistake =
            Mistake::new(&path, format!("an invariant cannot be evaluated at the end of a race: {why}"));
        self.scenario.loaded.source.place(&mistake).into()
    }

    async fn say(&self, told: Told) {
        // A listener that has gone ends the work by itself.
        let _ = self.tell.send(told).await;
    }

    /// Resolves when nobody gives orders any more, or nobody listens.
    async fn left(&self) {
        let mut wanted = self.wanted.clone();
        let no_orders = async { while wanted.changed().await.is_ok() {} };
        tokio::select! {
            () = no_orders => {}
            () = self.tell.closed() => {}
        }
    }
}
