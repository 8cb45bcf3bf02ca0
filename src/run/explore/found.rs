//! What was found, in the lesson's names, and the shortest violation carried out again with client processes.

use std::{sync::Arc, time::Duration};

use super::{ExploreError, Pick, workers::Searched};
use crate::{
    lab::LabOptions,
    lesson::Scenario,
    log::{Choice, Log},
    run::race::{Outcome, racer::Racer},
    verdict,
};

#[derive(Debug, Clone)]
pub struct Explored {
    pub tried: u64,
    /// Orders that were not, because they are sure to come to the same as one that was.
    pub pruned: u128,
    /// Orders of both that were cut at the bound.
    pub cut: u128,
    /// Orders of both that broke something.
    pub violations: u128,
    /// What was broken, and by how many orders.
    pub broken: Vec<(String, u128)>,
    /// What came of the orders, the most frequent first.
    pub outcomes: Vec<OutcomeSeen>,
    /// The shortest way to break something.
    pub shortest: Option<CarriedOut>,
    /// Whether the search came to its end, rather than being stopped.
    pub complete: bool,
    /// Real time, starting and ending the servers included.
    pub wall: Duration,
    pub searching: Duration,
}

impl Explored {
    /// How many orders there are, carried out or not.
    pub fn orders(&self) -> u128 {
        self.pruned.saturating_add(u128::from(self.tried))
    }
}

#[derive(Debug, Clone)]
pub struct OutcomeSeen {
    pub outcome: Arc<Outcome>,
    pub orders: u128,
    pub first: Vec<Choice>,
    pub violates: bool,
}

/// An order that was carried out with client processes.
#[derive(Debug, Clone)]
pub struct CarriedOut {
    pub choices: Vec<Choice>,
    /// The same in words: `A.check`, `freeze A`, ….
    pub moves: Vec<String>,
    /// What happened, with a stop after every choice.
    pub log: Log,
}

/// What the search found, in the lesson's names; and the shortest order that breaks something, which is to be confirmed.
pub(crate) fn report(
    scenario: &Scenario,
    (found, complete, wall): Searched,
) -> (Explored, Option<Vec<Choice>>) {
    let name = |n: usize| scenario.invariants[n].never.to_string();
    let choices = |order: &[Pick]| order.iter().map(|pick| pick.choice(scenario)).collect();
    let mut outcomes: Vec<OutcomeSeen> = found
        .outcomes
        .into_iter()
        .map(|(outcome, seen)| OutcomeSeen {
            outcome,
            orders: seen.orders,
            violates: seen.violates,
            first: choices(&seen.first),
        })
        .collect();
    outcomes.sort_by_key(|seen| std::cmp::Reverse(seen.orders));
    let explored = Explored {
        tried: found.tried,
        pruned: found.orders.saturating_sub(u128::from(found.tried)),
        cut: found.cut,
        violations: found.violations,
        broken: found.by_invariant.into_iter().map(|(n, orders)| (name(n), orders)).collect(),
        outcomes,
        shortest: None,
        complete,
        wall,
        searching: wall,
    };
    (explored, found.shortest.map(|order| choices(&order)))
}

/// The shortest order carried out again, with client processes. It must break something there, too.
pub(crate) async fn confirmed(
    scenario: &Scenario,
    options: &LabOptions,
    choices: Vec<Choice>,
) -> Result<CarriedOut, ExploreError> {
    let mut racer = Racer::set_up(scenario, options).await?;
    let carried = racer.carry_out(choices).await;
    racer.tear_down().await;
    let shortest = carried?;
    let breaches = verdict::breaches(scenario, &shortest.log).map_err(ExploreError::Invariant)?;
    if !breaches.is_empty() {
        return Ok(shortest);
    }
    Err(ExploreError::NotConfirmed { order: shortest.moves.join(" → ") })
}
