//! What an order has come to so far, as far as its outcome and its invariants ask: who believes to hold which lock,
//! what was counted. Pure; it must not know how it came about.

use std::collections::BTreeSet;

use crate::{
    explore::{Broken, Touch},
    lesson::{Scenario, plan::NeverPlan},
    log::{ActorId, Belief},
    race::LockFate,
    verdict::departures,
};

use super::super::machine::Effect;

/// The names that places are told by.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) locks: Vec<String>,
    pub(super) counters: Vec<String>,
    /// By actor: the operations with which it lets go of which lock.
    departures: Vec<Vec<(String, usize)>>,
    /// The invariants that are about two holders, each with its lock.
    pub(super) overlaps: Vec<(usize, usize)>,
}

impl Names {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let programs = || scenario.actors.iter().map(|plan| &plan.program);
        let locks: BTreeSet<&String> = programs().flat_map(|program| &program.locks).collect();
        let counters: BTreeSet<&String> = programs().flat_map(|program| &program.counters).collect();
        let locks: Vec<String> = locks.into_iter().cloned().collect();
        let find = |lock: &str| locks.iter().position(|known| known == lock);
        let departures = scenario.actors.iter().map(|plan| {
            let left = departures(&plan.program).into_iter();
            left.filter_map(|(label, lock)| Some((label, find(&lock)?)))
                .collect()
        });
        let overlaps = scenario.invariants.iter().enumerate();
        let overlaps = overlaps.filter_map(|(n, plan)| match &plan.never {
            NeverPlan::Overlap(lock) => Some((n, find(lock)?)),
            NeverPlan::That(_) => None,
        });
        Self {
            departures: departures.collect(),
            overlaps: overlaps.collect(),
            counters: counters.into_iter().cloned().collect(),
            locks,
        }
    }
}

/// What an order has come to.
#[derive(Debug, Clone)]
pub(super) struct Tracked {
    /// By lock: who believes to hold it, and since which step.
    holders: Vec<Vec<(ActorId, usize)>>,
    pub(super) fates: Vec<LockFate>,
    pub(super) counters: Vec<i64>,
    /// By lock: the first steps that made two holders.
    pub(super) overlaps: Vec<Option<Vec<usize>>>,
}

impl Tracked {
    pub(super) fn new(names: &Names) -> Self {
        let locks = names.locks.len();
        Self {
            holders: vec![Vec::new(); locks],
            fates: vec![LockFate::NeverHeld; locks],
            counters: vec![0; names.counters.len()],
            overlaps: vec![None; locks],
        }
    }

    /// Takes in what an actor made of a step, and tells what of it others can see.
    pub(super) fn take(
        &mut self,
        names: &Names,
        actor: ActorId,
        step: usize,
        effects: &[Effect],
        touch: &mut Touch,
    ) -> Vec<usize> {
        let mut counted = Vec::new();
        for effect in effects {
            match effect {
                Effect::Counted(name) => {
                    if let Some(n) = names.counters.iter().position(|known| known == name) {
                        self.counters[n] += 1;
                        counted.push(n);
                    }
                }
                Effect::Believes(lock, belief) => {
                    if let Some(n) = names.locks.iter().position(|known| known == lock) {
                        self.believes(n, actor, step, *belief, touch);
                    }
                }
            }
        }
        counted
    }

    fn believes(&mut self, lock: usize, actor: ActorId, step: usize, belief: Belief, touch: &mut Touch) {
        let holders = &mut self.holders[lock];
        let held = holders.iter().position(|(known, _)| *known == actor);
        match (held, belief) {
            (None, Belief::Holding) => {
                holders.push((actor, step));
                touch.begins.push(lock);
                if self.fates[lock] == LockFate::NeverHeld {
                    self.fates[lock] = LockFate::Held;
                }
                if holders.len() > 1 {
                    self.fates[lock] = LockFate::Violated;
                    let steps = holders.iter().map(|(_, since)| *since).collect();
                    self.overlaps[lock].get_or_insert(steps);
                }
            }
            (Some(_), Belief::Holding) | (None, _) => {}
            (Some(at), _) => {
                holders.remove(at);
                touch.ends.push(lock);
            }
        }
    }

    /// Who sends the command with which it lets go of a lock, right before its `drops`, holds it no longer.
    pub(super) fn leaves(&mut self, names: &Names, actor: ActorId, label: &str, touch: &mut Touch) {
        for (_, lock) in names.departures[actor.0 as usize]
            .iter()
            .filter(|(known, _)| known == label)
        {
            let holders = &mut self.holders[*lock];
            let before = holders.len();
            holders.retain(|(known, _)| *known != actor);
            if holders.len() < before {
                touch.ends.push(*lock);
            }
        }
    }

    /// Whoever is dead believes nothing.
    pub(super) fn dies(&mut self, actor: ActorId, touch: &mut Touch) {
        for (lock, holders) in self.holders.iter_mut().enumerate() {
            let before = holders.len();
            holders.retain(|(known, _)| *known != actor);
            if holders.len() < before {
                touch.ends.push(lock);
            }
        }
    }

    /// The invariants that were broken by two holders.
    pub(super) fn broken(&self, names: &Names) -> impl Iterator<Item = Broken> {
        names.overlaps.iter().filter_map(|(invariant, lock)| {
            Some(Broken {
                invariant: *invariant,
                steps: self.overlaps[*lock].clone()?,
            })
        })
    }
}
