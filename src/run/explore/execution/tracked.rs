//! What an order has come to so far, as far as its outcome and its invariants need it: who believes to hold which lock,
//! what was counted.

use std::collections::BTreeSet;

use crate::{
    lesson::{Scenario, plan::NeverPlan},
    log::{ActorId, Belief, EventKind},
    run::{
        explore::{Broken, Touch},
        race::LockFate,
    },
    world::Holders,
};

/// The locks and counters of a scenario: elsewhere they are numbers.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) locks: Vec<String>,
    pub(crate) counters: Vec<String>,
    /// The invariants that are about two holders, each with its lock.
    pub(crate) overlaps: Vec<(usize, usize)>,
}

impl Names {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let programs = || scenario.actors.iter().map(|plan| &plan.program);
        let locks: BTreeSet<&String> = programs().flat_map(|program| &program.locks).collect();
        let counters: BTreeSet<&String> = programs().flat_map(|program| &program.counters).collect();
        let locks: Vec<String> = locks.into_iter().cloned().collect();
        let find = |lock: &str| locks.iter().position(|known| known == lock);
        let overlaps = scenario.invariants.iter().enumerate();
        let overlaps = overlaps.filter_map(|(n, plan)| match &plan.never {
            NeverPlan::Overlap(lock) => Some((n, find(lock)?)),
            NeverPlan::That(_) => None,
        });
        Self { overlaps: overlaps.collect(), counters: counters.into_iter().cloned().collect(), locks }
    }
}

/// What an order has come to.
#[derive(Debug, Clone)]
pub(crate) struct Tracked {
    /// By lock: who holds it, and since after how many steps with its own; 0 is before the first.
    holders: Vec<Holders>,
    pub(crate) fates: Vec<LockFate>,
    pub(crate) counters: Vec<i64>,
    /// By lock: the steps that made each two holders. Steps of orders that come to the same may come in another order, so
    /// the first two need not be those that are soonest reached.
    pub(crate) overlaps: Vec<Vec<Vec<usize>>>,
}

impl Tracked {
    pub(crate) fn new(names: &Names) -> Self {
        let locks = names.locks.len();
        Self {
            holders: vec![Holders::default(); locks],
            fates: vec![LockFate::NeverHeld; locks],
            counters: vec![0; names.counters.len()],
            overlaps: vec![Vec::new(); locks],
        }
    }

    /// Takes in what happened in a step. Gives the counter that was counted.
    pub(crate) fn take(
        &mut self,
        names: &Names,
        step: Option<usize>,
        event: &EventKind,
        touch: &mut Touch,
    ) -> Option<usize> {
        match event {
            EventKind::Counted { counter, .. } => {
                let counted = names.counters.iter().position(|known| known == counter)?;
                self.counters[counted] += 1;
                return Some(counted);
            }
            EventKind::Believes { actor, lock, belief } => {
                let lock = names.locks.iter().position(|known| known == lock)?;
                self.believes(lock, *actor, step, *belief, touch);
            }
            EventKind::GaveUp { actor, .. } => self.dies(*actor, touch),
            _ => {}
        }
        None
    }

    fn believes(
        &mut self,
        lock: usize,
        actor: ActorId,
        step: Option<usize>,
        belief: Belief,
        touch: &mut Touch,
    ) {
        let holders = &mut self.holders[lock];
        let others = holders.begins();
        let after = step.map_or(0, |step| step + 1);
        if !holders.believes(actor, belief, after) {
            return;
        }
        if belief != Belief::Holding {
            touch.ends.push(lock);
            return;
        }
        touch.begins.push(lock);
        if holders.overlap() {
            self.fates[lock] = LockFate::Violated;
            let pairs = others.into_iter().map(|other| {
                let both = [other, after].into_iter();
                both.filter_map(|after| after.checked_sub(1)).collect()
            });
            self.overlaps[lock].extend(pairs);
        } else if self.fates[lock] == LockFate::NeverHeld {
            self.fates[lock] = LockFate::Held;
        }
    }

    /// An actor has sent an operation that asks for the release of these locks.
    pub(crate) fn releases(&mut self, names: &Names, actor: ActorId, releases: &[String], touch: &mut Touch) {
        for (n, lock) in names.locks.iter().enumerate() {
            if releases.contains(lock) && self.holders[n].leaves(actor) {
                touch.ends.push(n);
            }
        }
    }

    /// Whoever is dead holds nothing.
    pub(crate) fn dies(&mut self, actor: ActorId, touch: &mut Touch) {
        for (lock, holders) in self.holders.iter_mut().enumerate() {
            if holders.leaves(actor) {
                touch.ends.push(lock);
            }
        }
    }

    /// The invariants that were broken by two holders.
    pub(crate) fn broken(&self, names: &Names) -> impl Iterator<Item = Broken> {
        names.overlaps.iter().filter_map(|(invariant, lock)| {
            let ways = self.overlaps[*lock].clone();
            (!ways.is_empty()).then_some(Broken { invariant: *invariant, ways })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Names, Tracked};
    use crate::{
        clock::LessonTime,
        log::{ActorId, Belief, Command, Dialect, Event, EventKind, OpId},
        run::{explore::Touch, race::LockFate},
        world::Holding,
    };

    #[derive(Debug, Clone)]
    enum Step {
        Believes(Belief),
        Releases,
        Dies,
    }

    fn steps() -> impl Strategy<Value = Vec<(ActorId, usize, Step)>> {
        let step = prop_oneof![
            4 => Just(Step::Believes(Belief::Holding)),
            1 => Just(Step::Believes(Belief::Waiting)),
            1 => Just(Step::Believes(Belief::Nothing)),
            3 => Just(Step::Releases),
            1 => Just(Step::Dies),
        ];
        proptest::collection::vec(((0..3_u32).prop_map(ActorId), 0..2_usize, step), 0..40)
    }

    proptest! {
        /// What is tracked without a log is what the world makes of the log.
        #[test]
        fn it_is_what_the_world_would_say(steps in steps()) {
            let names = Names { locks: vec!["one".into(), "two".into()], counters: Vec::new(), overlaps: Vec::new() };
            let mut tracked = Tracked::new(&names);
            let mut holding = Holding::default();
            let mut dead = Vec::new();
            for (n, (actor, lock, step)) in steps.into_iter().enumerate() {
                if dead.contains(&actor) {
                    continue;
                }
                let name = names.locks[lock].clone();
                let mut touch = Touch::default();
                let kind = match step {
                    Step::Believes(belief) => EventKind::Believes { actor, lock: name, belief },
                    Step::Releases => {
                        tracked.releases(&names, actor, std::slice::from_ref(&name), &mut touch);
                        EventKind::Sent {
                            op: OpId(0),
                            actor,
                            label: String::new(),
                            server: String::new(),
                            command: Command::from_text("", Dialect::Redis),
                            releases: vec![name],
                        }
                    }
                    Step::Dies => {
                        dead.push(actor);
                        EventKind::GaveUp { actor, why: String::new() }
                    }
                };
                tracked.take(&names, Some(n), &kind, &mut touch);
                let turns = holding.take(n, &Event { at: LessonTime::ZERO, kind });
                let of = |holds: bool| {
                    let turned = turns.iter().filter(|turn| turn.holds == holds);
                    turned.filter_map(|turn| names.locks.iter().position(|known| *known == turn.lock)).collect::<Vec<_>>()
                };
                prop_assert_eq!((&touch.begins, &touch.ends), (&of(true), &of(false)));
            }
            for (n, lock) in names.locks.iter().enumerate() {
                let first = holding.overlaps().iter().find(|overlap| overlap.lock == *lock);
                prop_assert_eq!(tracked.overlaps[n].first(), first.map(|overlap| &overlap.evidence));
                let fate = match holding.most(lock).len() {
                    0 => LockFate::NeverHeld,
                    1 => LockFate::Held,
                    _ => LockFate::Violated,
                };
                prop_assert_eq!(tracked.fates[n], fate);
            }
        }
    }
}
