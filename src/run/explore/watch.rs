//! A search as others follow it while it goes on: it can be stopped, it says how far it is, and in the end what it
//! found.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Bounds, ExploreError, Explored, Progress, explore};
use crate::{
    lab::LabOptions,
    lesson::Scenario,
    run::{
        explore::execution::GroundError,
        race::{self, Invariant},
    },
    text::Text,
    verdict::why,
};

/// What a search found, in words that are not its own.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What was found.
    pub explored: Explored,
    /// What must never be so.
    pub invariants: Vec<Invariant>,
    /// Why the shortest order that goes wrong does, where its log says so.
    pub why: Option<Text>,
}

/// What is told of a search under way.
#[derive(Debug, Clone)]
pub enum Told {
    /// How far it is, about ten times a second.
    Progress(Progress),
    /// It has come to its end, or was stopped. Nothing else follows.
    Found(Box<Finding>),
    /// It cannot go on: what happened, why, and what to do.
    Failed {
        /// The message, perhaps of several lines.
        message: Text,
        /// Whether a server is missing or failed (a fresh start may help), rather than the lesson.
        server: bool,
    },
}

/// A search under way. Dropping it ends the search and its servers.
#[derive(Debug)]
pub struct Exploring {
    /// True asks it to stop and to tell what it has found.
    pub stop: Arc<AtomicBool>,
    /// Where it is told how far it is and what was found.
    pub told: UnboundedReceiver<Told>,
}

impl Exploring {
    /// Asks it to stop and to tell what it has found.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }
}

/// Searches in the background. Must be called inside a `tokio` runtime.
pub fn watch(scenario: Scenario, options: LabOptions, bounds: Bounds) -> Exploring {
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, told) = unbounded_channel();
    tokio::spawn(Box::pin(work(scenario, options, bounds, Arc::clone(&stop), tell)));
    Exploring { stop, told }
}

async fn work(
    scenario: Scenario,
    options: LabOptions,
    bounds: Bounds,
    stop: Arc<AtomicBool>,
    tell: UnboundedSender<Told>,
) {
    let watch = |progress: &Progress| {
        // Whoever has gone need not be told.
        let _ = tell.send(Told::Progress(*progress));
        if stop.load(Ordering::Acquire) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let found = tokio::select! {
        found = explore(&scenario, &options, &bounds, &watch) => found,
        () = tell.closed() => return,
    };
    let _ = tell.send(match found {
        Ok(explored) => Told::Found(Box::new(Finding {
            why: explored
                .shortest
                .as_ref()
                .and_then(|shortest| why::first(&scenario, &shortest.log))
                .map(|why| why.text),
            invariants: race::invariants(&scenario),
            explored,
        })),
        Err(error) => Told::Failed {
            server: matches!(&error, ExploreError::Ground(GroundError::Engine(error)) if error.is_server()),
            message: text(&error),
        },
    });
}

/// The message in both languages. What is wrong with a lesson is its author's business, and in English only.
fn text(error: &ExploreError) -> Text {
    let zh = match error {
        ExploreError::Ground(GroundError::Engine(error)) => return error.text(),
        ExploreError::TooMany { orders, rate, days } => format!(
            "大约有 {orders:.1e} 种顺序，每秒 {rate:.0} 种，要跑 {days:.1} 天；请减少步数或客户端数，或者不加故障"
        ),
        other => other.to_string(),
    };
    let en = match error {
        ExploreError::TooMany { orders, rate, days } => format!(
            "about {orders:.1e} orders at {rate:.0} a second would take {days:.1} days; choose fewer moves, fewer \
             clients, or no fault"
        ),
        other => other.to_string(),
    };
    Text { en, zh }
}
