//! What an order has come to so far, as far as its outcome and its invariants need it: who believes to hold which lock,
//! what was counted.

use std::collections::BTreeMap;

use crate::{
    lesson::{Scenario, plan::NeverPlan},
    log::{Event, EventKind},
    run::explore::{Broken, StepFootprint},
    world::Holding,
};

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
    pub(crate) fn take(&mut self, steps: usize, event: &Event, touch: &mut StepFootprint) {
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

#[cfg(test)]
mod tests {
    use super::Tracked;
    use crate::{
        clock::LessonTime,
        log::{ActorId, Belief, Event, EventKind},
        run::explore::StepFootprint,
    };

    #[test]
    fn each_two_holders_are_a_way_to_break_a_lock() {
        let mut tracked = Tracked::default();
        let mut touches = Vec::new();
        let (holding, nothing) = (Belief::Holding, Belief::Nothing);
        // After how many steps, who, what.
        for (steps, actor, belief) in [(0, 0, holding), (2, 1, holding), (3, 2, holding), (4, 1, nothing)] {
            let kind = EventKind::Believes { actor: ActorId(actor), lock: "lock".to_owned(), belief };
            let mut touch = StepFootprint::default();
            tracked.take(steps, &Event { at: LessonTime::ZERO, kind }, &mut touch);
            touches.push((touch.begins.len(), touch.ends.len()));
        }
        assert_eq!(tracked.overlaps["lock"], [vec![1], vec![2], vec![1, 2]]);
        assert_eq!(touches, [(1, 0), (1, 0), (1, 0), (0, 1)]);
    }
}
