//! Every order in which the clients of a variant can make their moves, tried on the real server. It must not know
//! how a move is made, nor how what was found is told.
//!
//! What may follow what is not guessed: each order is carried out from the beginning, on emptied servers, and the
//! tree of choices is what the programs turn out to do. No order is left out and none is tried twice.

mod orders;

use std::time::{Duration, Instant};

pub use orders::{Orders, count};

use crate::{
    engine::{EngineError, Racer, Walk},
    lab::LabOptions,
    lesson::{Scenario, expr::Expr},
    log::{EventKind, Log},
    race::{Outcome, Tally},
    verdict,
};

/// What is looked for, and how far.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// An order is cut after so many moves.
    pub moves: usize,
    /// What must never be so at the end of an order, beside two holders of one lock.
    pub never: Option<Expr>,
    /// The longest that the whole may take.
    pub longest: Duration,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Explored {
    /// Orders that were tried.
    pub tried: u64,
    /// Those of them that were cut at the bound.
    pub cut: u64,
    /// What came of them. An order's number, from 0, stands in a seed's place.
    pub tally: Tally,
    /// Orders that broke the lock, or made so what must never be so.
    pub violations: u64,
    /// The shortest of them, the first of several: `A.check`, `B.check`, ….
    pub shortest: Option<Vec<String>>,
    /// Real time.
    pub wall: Duration,
}

/// Why nothing was found.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// The servers, the clients or the lesson.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// There are too many orders.
    #[error(
        "about {count:.3e} orders at {rate:.0} a second would take {days:.1} days; lower --moves, or --set fewer clients"
    )]
    TooMany {
        /// How many.
        count: f64,
        /// Orders in a second.
        rate: f64,
        /// How long that takes.
        days: f64,
    },
    /// What must never be so cannot be told.
    #[error("--never: {0}")]
    Never(String),
}

/// After so many orders the rate is known well enough.
const SAMPLE: u64 = 20;

/// Tries all orders.
///
/// # Errors
/// See [`ExploreError`].
pub async fn explore(
    scenario: &Scenario,
    options: &LabOptions,
    bounds: &Bounds,
) -> Result<Explored, ExploreError> {
    let mut racer = Racer::set_up(scenario, options).await?;
    let found = all(&mut racer, scenario, bounds).await;
    racer.tear_down().await;
    found
}

async fn all(racer: &mut Racer, scenario: &Scenario, bounds: &Bounds) -> Result<Explored, ExploreError> {
    let began = Instant::now();
    let mut orders = Orders::default();
    let mut found = Explored {
        tried: 0,
        cut: 0,
        tally: Tally::default(),
        violations: 0,
        shortest: None,
        wall: Duration::ZERO,
    };
    loop {
        let walk = racer
            .walk(bounds.moves, &mut |able| orders.choose(able.len()))
            .await?;
        found.take(scenario, bounds, &walk)?;
        found.wall = began.elapsed();
        if found.tried == SAMPLE {
            affordable(scenario, &walk.log, bounds, found.wall)?;
        }
        if !orders.next_order() {
            return Ok(found);
        }
    }
}

impl Explored {
    fn take(&mut self, scenario: &Scenario, bounds: &Bounds, walk: &Walk) -> Result<(), ExploreError> {
        let outcome = Outcome::of(scenario, &walk.log);
        let never = match &bounds.never {
            Some(never) => verdict::holds(scenario, &walk.log, never).map_err(ExploreError::Never)?,
            None => false,
        };
        if outcome.is_violated() || never {
            self.violations += 1;
            let order = moves_of(scenario, &walk.log);
            if self
                .shortest
                .as_ref()
                .is_none_or(|known| order.len() < known.len())
            {
                self.shortest = Some(order.into_iter().map(|(_, name)| name).collect());
            }
        }
        self.tally.add(outcome, self.tried);
        self.tried += 1;
        self.cut += u64::from(walk.cut);
        Ok(())
    }
}

/// The moves of an order: whose, and what it is called.
fn moves_of(scenario: &Scenario, log: &Log) -> Vec<(usize, String)> {
    let moves = log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Sent { actor, label, .. } | EventKind::Took { actor, label, .. } => {
            let n = actor.0 as usize;
            Some((n, format!("{}.{label}", scenario.actors[n].actor.name)))
        }
        _ => None,
    });
    moves.collect()
}

/// How many orders there are is known only at the end; an order that was tried says how many moves each client
/// makes, and so how many there are about.
fn affordable(scenario: &Scenario, log: &Log, bounds: &Bounds, took: Duration) -> Result<(), ExploreError> {
    let mut made = vec![0; scenario.actors.len()];
    for (actor, _) in moves_of(scenario, log) {
        made[actor] += 1;
    }
    let count = count(&made, bounds.moves);
    let rate = f64::from(u32::try_from(SAMPLE).unwrap_or(1)) / took.as_secs_f64();
    let seconds = count / rate;
    if seconds > bounds.longest.as_secs_f64() {
        let days = seconds / 86_400.0;
        return Err(ExploreError::TooMany { count, rate, days });
    }
    Ok(())
}
