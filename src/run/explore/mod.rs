//! Exploring: every order in which the clients of a variant can make their moves, on the real server; how
//! many break an invariant, and the shortest that does.
//!
//! | file | contents |
//! |---|---|
//! | `explorer.rs` | what can be explored: nodes, steps, what a step touched |
//! | `states.rs` | the search by states: every state once; orders are counted as paths through them |
//! | `recurrence.rs` | states that recur: whether orders that were cut could still end |
//! | `search.rs` | the search by orders, depth first, one order of each trace: for states that cannot be restored |
//! | `trace.rs` | equivalent orders: how many, and the first of them |
//! | `random_orders.rs` | orders drawn at random, until one breaks something |
//! | `workers.rs` | several searches at once |
//! | `growth.rs`, `memory.rs` | how the states grow, and how much memory they take |
//! | `graph.rs` | all states of a small search, to be walked through |
//! | `progress.rs` | the progress of a search |
//! | `results.rs` | the findings, in the lesson's terms |

pub(crate) mod execution;
pub(crate) mod explorer;
pub(crate) mod graph;
pub(crate) mod growth;
pub(crate) mod memory;
pub(crate) mod progress;
pub(crate) mod random_orders;
pub(crate) mod recurrence;
pub(crate) mod results;
pub(crate) mod search;
pub(crate) mod states;
pub(crate) mod trace;
pub(crate) mod workers;

#[cfg(test)]
mod tests;

use std::{ops::ControlFlow, time::Duration};

pub(crate) use execution::carry_out::carry_out;
pub(crate) use explorer::{Broken, Ending, Explorer, StepFootprint};
pub use explorer::{Pick, Stuck};
pub use graph::{ClientPlace, MOST_STATES, ServerContents, StateGraph, StateNode, StateStep, Whereabouts};
pub use progress::{Layer, Progress, ShortestSoFar};
pub use results::{BrokenInvariant, CarriedOut, Explored, OutcomeSeen, StuckOrders};
pub use search::{SearchedSpace, Unavoidable};

pub use crate::lesson::{Failing, MOST_FAULTS, MOST_MOVES, MOVES, MayFail};

use crate::{
    lab::LabOptions,
    lesson::{Explore, Scenario, expr::Expr, plan::so},
    run::session::RunError,
    text::{Text, both},
};

/// What to look for, and how far.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each can be switched off by itself")]
pub struct Bounds {
    /// The number of moves after which an order is cut; [`MOST_MOVES`] at most.
    pub moves: usize,
    pub faults: Vec<MayFail>,
    /// The most faults of one order.
    pub most_faults: usize,
    /// How often time may pass although an actor could move.
    pub slow: usize,
    /// A condition that must not hold after any step, in addition to the lesson's invariants.
    pub never: Option<Expr>,
    /// Whether only one order of each trace is carried out.
    pub prune: bool,
    /// Whether the beginning that orders share is carried out only once.
    pub share: bool,
    /// Whether interchangeable clients stand for each other if orders are counted by states.
    pub symmetry: bool,
    /// Whether to return all states, if orders are counted by states and these are few.
    pub graph: bool,
    /// Whether to stop at the first order that breaks something. It need not be the shortest, and nothing is counted.
    pub first: bool,
    /// Whether programs run inside Lockstep where that suffices.
    pub in_process: bool,
    /// The number of concurrent searches, each on a lab of its own.
    pub workers: usize,
    /// How long confirming the shortest order may take after the search was stopped; if it takes longer, the
    /// order is left out. `None`: no limit.
    pub confirmed_within: Option<Duration>,
    /// The longest time that the whole exploration may take; one that would take longer is refused.
    pub longest: Duration,
    /// The time after which the search stops, however far it is.
    pub within: Option<Duration>,
    /// The most bytes that a search by states may take.
    pub memory: usize,
}

impl From<&Explore> for Bounds {
    /// The bounds that a lesson sets.
    fn from(explore: &Explore) -> Self {
        Self {
            moves: explore.moves.unwrap_or(MOVES),
            faults: explore.faults.clone(),
            most_faults: explore.most_faults.unwrap_or(1),
            slow: explore.slow.unwrap_or(0),
            ..Self::default()
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            moves: MOVES,
            faults: Vec::new(),
            most_faults: 1,
            slow: 0,
            never: None,
            prune: true,
            share: true,
            symmetry: true,
            graph: false,
            first: false,
            in_process: true,
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            confirmed_within: None,
            longest: Duration::from_hours(24),
            within: None,
            memory: 1 << 30,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    #[error(transparent)]
    Engine(#[from] RunError),
    #[error("`{operation}` ({command}) cannot be explored: {}", .why.en)]
    NotReplayable { operation: String, command: String, why: Text },
    /// The same moves did not lead to the same replies.
    #[error(
        "`{operation}` cannot be explored: it was answered with {first}, and when the same moves were made again with \
         {second}"
    )]
    Strayed { operation: String, first: String, second: String },
    /// An external program did something else when the same moves were repeated.
    #[error("{}", .0.en)]
    NotRepeated(Text),
    #[error("{}", .0.en)]
    Lab(Text),
    #[error("{0}")]
    Invariant(String),
    #[error(
        "about {orders:.1e} orders at {rate:.0} a second would take {}; lower --moves, --set fewer clients, or leave \
         --fault and --no-prune away",
        estimated_time(*.seconds).en
    )]
    TooMany { orders: f64, rate: f64, seconds: f64 },
    #[error("--fault: there is no client `{name}`; there are {known}")]
    NoClient { name: String, known: String },
    #[error("--fault: there is no server `{name}`; there are {known}")]
    NoServer { name: String, known: String },
    /// A fault that orders of this variant cannot have.
    #[error("--fault: {}", .0.en)]
    Fault(Text),
    /// A finding of the search inside Lockstep was not confirmed by client processes, which must not happen.
    #[error(
        "the order {order} broke an invariant, or left somebody stuck, when it was explored, and did not when it was carried \
         out again with client processes: one of the two is wrong, so nothing is claimed"
    )]
    NotConfirmed { order: String },
}

impl ExploreError {
    /// The message in both languages. Errors in a lesson concern its author and are in English only.
    pub(crate) fn text(&self) -> Text {
        match self {
            Self::Engine(error) => error.text(),
            Self::Lab(why) | Self::NotRepeated(why) | Self::Fault(why) => why.clone(),
            Self::NotReplayable { operation, command, why } => both!(
                "`{operation}` ({command}) cannot be explored: {why}",
                "`{operation}`（{command}）不能穷举：{why}",
                why
            ),
            Self::TooMany { orders, rate, seconds } => Text {
                en: format!(
                    "about {orders:.1e} orders at {rate:.0} a second would take {}; choose fewer moves, fewer clients, or \
                     no fault",
                    estimated_time(*seconds).en
                ),
                zh: format!(
                    "大约有 {orders:.1e} 种顺序，每秒 {rate:.0} 种，要跑 {}；请减少步数或客户端数，或者不加故障",
                    estimated_time(*seconds).zh
                ),
            },
            Self::NoClient { .. }
            | Self::NoServer { .. }
            | Self::Strayed { .. }
            | Self::Invariant(_)
            | Self::NotConfirmed { .. } => self.to_string().into(),
        }
    }
}

/// An estimated time, in days or minutes.
pub(crate) fn estimated_time(seconds: f64) -> Text {
    let (days, minutes) = (seconds / 86_400.0, (seconds / 60.0).ceil());
    if days >= 1.0 {
        both!("{days:.0} days", "{days:.0} 天")
    } else {
        both!("{minutes:.0} min", "{minutes:.0} 分钟")
    }
}

/// Explores all orders. `watch` is called with the progress about ten times a second, and ends the search by
/// breaking: what was found by then is kept.
pub async fn explore(
    scenario: &Scenario,
    options: &LabOptions,
    bounds: &Bounds,
    watch: &(dyn Fn(&Progress) -> ControlFlow<()> + Sync),
) -> Result<Explored, ExploreError> {
    if let Some(why) = scenario.lab().unexplorable() {
        return Err(ExploreError::Lab(why));
    }
    let began = std::time::Instant::now();
    let scenario = &with_never(scenario, bounds);
    let found = Box::pin(workers::run(scenario, options, bounds, watch)).await?;
    let mut explored = results::report(scenario, found);
    if !explored.each.is_empty() || !explored.stuck.is_empty() {
        let (each, stuck) = (explored.each.clone(), explored.stuck.clone());
        // Servers number what they are sent, and these numbers are shown: they are those of new servers.
        let options = options.with_new_servers();
        let confirmed = Box::pin(results::confirmed(scenario, &options, each, stuck));
        let confirmed = match bounds.confirmed_within {
            // A finding that was not confirmed is not reported.
            Some(within) if !explored.complete && !explored.space.full => {
                tokio::time::timeout(within, confirmed).await.ok().transpose()?
            }
            _ => Some(confirmed.await?),
        };
        explored.each.clear();
        if let Some((each, stuck)) = confirmed {
            (explored.each, explored.stuck) = (each, stuck);
        }
        explored.shortest = explored.each.first().and_then(|broken| broken.shortest.clone());
        explored.each.sort_by_key(|broken| broken.invariant);
    }
    explored.wall = began.elapsed();
    Ok(explored)
}

/// The scenario with the user's condition as an additional invariant.
fn with_never(scenario: &Scenario, bounds: &Bounds) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.invariants.extend(bounds.never.iter().cloned().map(so));
    scenario
}
