//! The state of an order so far, as its outcome and its invariants need it: who believes to hold which lock,
//! and the counters.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    lesson::{Scenario, plan::NeverPlan},
    log::{Capacity, Event, EventKind, ServerState, stands_for},
    run::explore::{Broken, StepFootprint},
    verdict::key_history::KeyHistory,
    world::Holding,
};

#[derive(Debug, Clone, Default)]
pub(crate) struct Tracked {
    /// Its indices are steps rather than events: after how many steps an actor came to hold a lock.
    pub(crate) holding: Holding,
    pub(crate) counters: BTreeMap<String, i64>,
    /// By lock: each set of steps that gave it too many holders. Equivalent orders have their steps in
    /// different sequences, so the first such set is not always the one that can be reached soonest.
    overlaps: BTreeMap<String, Vec<Vec<usize>>>,
    /// The history of keys, if an invariant reads it.
    past: Option<Arc<Past>>,
}

#[derive(Debug, Clone)]
struct Past {
    history: KeyHistory,
    /// The number of events in the history.
    events: usize,
}

/// All subsets of `of` with `many` elements.
fn choose(of: &[usize], many: usize) -> Vec<Vec<usize>> {
    match (many, of.split_first()) {
        (0, _) => vec![Vec::new()],
        (_, None) => Vec::new(),
        (_, Some((first, rest))) => {
            let with = choose(rest, many - 1).into_iter().map(|mut chosen| {
                chosen.insert(0, *first);
                chosen
            });
            with.chain(choose(rest, many)).collect()
        }
    }
}

impl Tracked {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self { holding: Holding::of(&scenario.locks), ..Self::default() }
    }

    /// Also tracks the history of keys, for invariants that read it.
    pub(crate) fn with_past(self, scenario: &Scenario) -> Self {
        let past = Past { history: KeyHistory::new(scenario), events: 0 };
        Self { past: Some(Arc::new(past)), ..self }
    }

    /// The history of keys, if an invariant reads it.
    pub(crate) fn history(&self) -> Option<&KeyHistory> {
        self.past.as_ref().map(|past| &past.history)
    }

    /// Takes over what servers hold before the next step, if the history of keys is tracked.
    pub(crate) fn resume(&mut self, states: &[ServerState]) {
        if let Some(past) = &mut self.past {
            Arc::make_mut(past).history.resume(states);
        }
    }

    /// Adds an event of the last of `steps` steps, or before the first.
    pub(crate) fn take(&mut self, steps: usize, event: &Event, touch: &mut StepFootprint) {
        if let EventKind::Counted { counter, by, .. } = &event.kind {
            *self.counters.entry(counter.clone()).or_default() += by;
        }
        if let Some(past) = &mut self.past {
            let past = Arc::make_mut(past);
            past.events += 1;
            past.history.take(past.events, event);
        }
        for turn in self.holding.take(steps, event) {
            if !turn.holds {
                touch.ends.push(turn.lock);
                continue;
            }
            let (limit, against) = self.holding.against_newest(&turn.lock);
            if let Some((_, others)) = against.split_last() {
                let enough = match limit {
                    Capacity::Holders(most) => most,
                    Capacity::ReadWrite => 1,
                };
                let ways = choose(others, enough).into_iter().map(|others| {
                    let all = others.into_iter().chain([steps]);
                    all.filter_map(|after| after.checked_sub(1)).collect()
                });
                self.overlaps.entry(turn.lock.clone()).or_default().extend(ways);
            }
            touch.begins.push(turn.lock);
        }
    }

    /// The locks that ever had too many holders.
    pub(crate) fn violated(&self) -> impl Iterator<Item = &str> {
        self.overlaps.keys().map(String::as_str)
    }

    /// The invariants that were broken by too many holders.
    pub(crate) fn broken(&self, scenario: &Scenario) -> impl Iterator<Item = Broken> {
        scenario.invariants.iter().enumerate().filter_map(|(invariant, plan)| match &plan.never {
            NeverPlan::Overlap(lock) => {
                let meant = self.overlaps.iter().filter(|(known, _)| stands_for(lock, known));
                let ways: Vec<_> = meant.flat_map(|(_, ways)| ways.iter().cloned()).collect();
                (!ways.is_empty()).then_some(Broken { invariant, ways })
            }
            NeverPlan::That(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Tracked, choose};
    use crate::{
        clock::LessonTime,
        log::{ActorId, Belief, Event, EventKind},
        run::explore::StepFootprint,
    };

    #[test]
    fn each_pair_of_holders_is_a_way_to_break_a_lock() {
        let mut tracked = Tracked::default();
        let mut touches = Vec::new();
        let (holding, nothing) = (Belief::Holding, Belief::Nothing);
        // The number of steps, the actor, and its belief.
        for (steps, actor, belief) in [(0, 0, holding), (2, 1, holding), (3, 2, holding), (4, 1, nothing)] {
            let kind = EventKind::Believes { actor: ActorId(actor), lock: "lock".to_owned(), belief };
            let mut touch = StepFootprint::default();
            tracked.take(steps, &Event { at: LessonTime::ZERO, kind }, &mut touch);
            touches.push((touch.begins.len(), touch.ends.len()));
        }
        assert_eq!(tracked.overlaps["lock"], [vec![1], vec![2], vec![1, 2]]);
        assert_eq!(touches, [(1, 0), (1, 0), (1, 0), (0, 1)]);
    }

    #[test]
    fn for_a_semaphore_each_subset_of_holders_is_a_way() {
        assert_eq!(choose(&[1, 2, 3], 2), [[1, 2], [1, 3], [2, 3]]);
        assert_eq!(choose(&[1, 2], 3), [[0; 0]; 0]);
    }
}
