//! What an order has come to so far, as far as its outcome and its invariants need it: who believes to hold which lock,
//! what was counted.

use std::collections::BTreeMap;

use crate::{
    lesson::{Scenario, plan::NeverPlan},
    log::{Event, EventKind},
    run::explore::{Broken, Touch},
    world::Holding,
};

/// What an order has come to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tracked {
    /// Steps stand for events: its indices say after how many of them somebody came to hold a lock.
    pub(crate) holding: Holding,
    pub(crate) counters: BTreeMap<String, i64>,
    /// By lock: the steps that made each two holders. Steps of orders that come to the same may come in another order, so
    /// the first two need not be those that are soonest reached.
    overlaps: BTreeMap<String, Vec<Vec<usize>>>,
}

impl Tracked {
    /// Takes in what happened in the last of so many steps, or before the first.
    pub(crate) fn take(&mut self, steps: usize, event: &Event, touch: &mut Touch) {
        if let EventKind::Counted { counter, by, .. } = &event.kind {
            *self.counters.entry(counter.clone()).or_default() += by;
        }
        for turn in self.holding.take(steps, event) {
            if !turn.holds {
                touch.ends.push(turn.lock);
                continue;
            }
            let others = self.holding.begins(&turn.lock);
            // The last of the holders is the new one.
            let pairs = others.iter().rev().skip(1).rev().map(|other| {
                let both = [*other, steps].into_iter();
                both.filter_map(|after| after.checked_sub(1)).collect()
            });
            self.overlaps.entry(turn.lock.clone()).or_default().extend(pairs);
            touch.begins.push(turn.lock);
        }
    }

    /// The invariants that were broken by two holders.
    pub(crate) fn broken(&self, scenario: &Scenario) -> impl Iterator<Item = Broken> {
        scenario.invariants.iter().enumerate().filter_map(|(invariant, plan)| match &plan.never {
            NeverPlan::Overlap(lock) => {
                let ways = self.overlaps.get(lock).filter(|ways| !ways.is_empty())?.clone();
                Some(Broken { invariant, ways })
            }
            NeverPlan::That(_) => None,
        })
    }
}
