//! Many runs of one variant in the background, for a screen that follows them: races one after another, or
//! the search through every order.

use std::{collections::BTreeSet, ops::ControlFlow};

use tokio::sync::{mpsc, watch};

use super::{
    explore::{Bounds, ExploreError, Explored, Progress, ShortestSoFar, explore},
    race::{MOST_RACES, Outcome, Race, RaceInfo, Wording, racer::Racer},
    session::{Failure, RunError, story::span},
};
use crate::{
    lab::LabOptions,
    lesson::{
        Mistake, Path, Scenario,
        plan::{InvariantPlan, NeverPlan},
    },
    log::Log,
    text::Text,
    verdict,
};

/// The most updates that may wait to be received; beyond that, the next race waits. Their logs are in memory.
const AHEAD: usize = 32;

/// What is requested of a running batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Control {
    /// The total number of races. It may be raised at any time, on the same servers.
    pub races: u64,
    /// For races: no further race begins for now. For a search: it ends and reports what it has found.
    pub stopped: bool,
}

/// The findings of a search, in the lesson's terms.
#[derive(Debug, Clone)]
pub struct Finding {
    pub explored: Explored,
    pub wording: Wording,
}

#[derive(Debug)]
pub enum BatchUpdate {
    /// The servers answer and the racing clients are ready.
    Ready(RaceInfo),
    Raced(Race),
    /// The progress of the search, about ten times a second, and the shortest order so far that breaks each
    /// invariant.
    Progress(Progress, Vec<ShortestSoFar>),
    /// The search has ended or was stopped. No update follows.
    Found(Box<Finding>),
    /// No update follows.
    Failed(Failure),
}

/// A running batch. Dropping it ends the current run, its clients and its servers.
#[derive(Debug)]
pub struct Batch {
    pub control: watch::Sender<Control>,
    /// Closed when nothing is left running.
    pub updates: mpsc::Receiver<BatchUpdate>,
}

impl Batch {
    /// Ends the batch and waits until its clients and servers have exited. Updates that were not received are
    /// lost.
    pub async fn end(self) {
        let Self { control, mut updates } = self;
        drop(control);
        while updates.recv().await.is_some() {}
    }

    /// A batch that failed before it began.
    pub(crate) fn failed(message: Text, control: Control) -> Self {
        let (control, _) = watch::channel(control);
        let (sender, updates) = mpsc::channel(1);
        // There is room for one update.
        let _ = sender.try_send(BatchUpdate::Failed(Failure { message, server: false }));
        Self { control, updates }
    }
}

/// Races a variant `races` times on one lab, in the background. Race `n`, from 0, has the seed `seed + n`:
/// another race with that seed starts the actors in the same order, with the same owner tokens. What the
/// machine decided, it decides anew. After the last race the lab waits for more to be requested.
///
/// Must be called inside a `tokio` runtime.
pub fn races(scenario: Scenario, options: LabOptions, seed: u64, races: u64) -> Batch {
    let (control, wanted) = watch::channel(Control { races, stopped: false });
    let (updates, receiver) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let worker = RaceWorker { scenario, options, seed, wanted, updates };
        if let Err(error) = Box::pin(worker.work()).await {
            worker.send(BatchUpdate::Failed((&error).into())).await;
        }
    });
    Batch { control, updates: receiver }
}

struct RaceWorker {
    scenario: Scenario,
    options: LabOptions,
    seed: u64,
    wanted: watch::Receiver<Control>,
    updates: mpsc::Sender<BatchUpdate>,
}

impl RaceWorker {
    async fn work(&self) -> Result<(), RunError> {
        let mut racer = tokio::select! {
            racer = Racer::set_up(&self.scenario, &self.options) => racer?,
            () = self.abandoned() => return Ok(()),
        };
        let outcome = tokio::select! {
            outcome = self.races(&mut racer) => outcome,
            () = self.abandoned() => Ok(()),
        };
        racer.tear_down().await;
        outcome
    }

    /// Runs one race after another. Returns only when the batch is dropped or a race fails.
    async fn races(&self, racer: &mut Racer) -> Result<(), RunError> {
        let scenario = &self.scenario;
        self.send(BatchUpdate::Ready(RaceInfo::of(scenario, racer.clock()))).await;
        let mut wanted = self.wanted.clone();
        for n in 0..MOST_RACES {
            if wanted.wait_for(|control| n < control.races && !control.stopped).await.is_err() {
                break;
            }
            let seed = self.seed.wrapping_add(n);
            let log = racer.run(seed).await?;
            let mut outcome = Outcome::of(scenario, &log);
            outcome.broken = broken(scenario, &outcome, &log).map_err(|why| self.unanswered(&why))?;
            self.send(BatchUpdate::Raced(Race { seed, outcome, lesson: span(&log), log })).await;
        }
        // The largest possible number of races has been run.
        self.abandoned().await;
        Ok(())
    }

    fn unanswered(&self, why: &str) -> RunError {
        let path = Path::root().key("invariants");
        let mistake =
            Mistake::new(&path, format!("an invariant cannot be evaluated at the end of a race: {why}"));
        self.scenario.loaded.source.place(&mistake).into()
    }

    async fn send(&self, update: BatchUpdate) {
        // When the batch has been dropped, the work ends by itself.
        let _ = self.updates.send(update).await;
    }

    /// Resolves when the other end of either channel is gone.
    async fn abandoned(&self) {
        let mut wanted = self.wanted.clone();
        let uncontrolled = async { while wanted.changed().await.is_ok() {} };
        tokio::select! {
            () = uncontrolled => {}
            () = self.updates.closed() => {}
        }
    }
}

/// The source texts of the invariants that a race with this outcome broke. The servers are not observed
/// before the end of a race, so conditions are evaluated then; one that asks for a reply that never came does
/// not hold.
fn broken(scenario: &Scenario, outcome: &Outcome, log: &Log) -> Result<BTreeSet<String>, String> {
    let mut broken = BTreeSet::new();
    for InvariantPlan { never, .. } in &scenario.invariants {
        let is_so = match never {
            NeverPlan::Overlap(lock) => outcome.overlaps(lock),
            NeverPlan::That(expr) => verdict::is_so(scenario, log, expr)?,
        };
        if is_so {
            broken.insert(never.to_string());
        }
    }
    Ok(broken)
}

/// Explores every order within these bounds, in the background. Must be called inside a `tokio` runtime.
pub fn search(scenario: Scenario, options: LabOptions, bounds: Bounds) -> Batch {
    let (control, wanted) = watch::channel(Control::default());
    let (updates, receiver) = mpsc::channel(AHEAD);
    tokio::spawn(Box::pin(async move {
        let report = |progress: &Progress| {
            // If there is no room, the next report supersedes this one.
            let shortest = progress.shortest_so_far(&scenario);
            let _ = updates.try_send(BatchUpdate::Progress(progress.clone(), shortest));
            if wanted.borrow().stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let found = tokio::select! {
            found = explore(&scenario, &options, &bounds, &report) => found,
            () = updates.closed() => return,
        };
        let last = match found {
            Ok(explored) => {
                BatchUpdate::Found(Box::new(Finding { wording: Wording::of(&scenario), explored }))
            }
            Err(ExploreError::Engine(error)) => BatchUpdate::Failed((&error).into()),
            Err(error) => BatchUpdate::Failed(Failure { message: error.text(), server: false }),
        };
        let _ = updates.send(last).await;
    }));
    Batch { control, updates: receiver }
}
