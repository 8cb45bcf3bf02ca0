//! All actors of a run: which of them are ready, and whose wait ends next.

use std::{
    ops::{Index, IndexMut},
    sync::Arc,
    time::Duration,
};

use super::{
    actor::{Actor, Failure, Output, State},
    times::TimesOfPrograms,
};
use crate::{clock::LessonTime, lesson::Scenario, log::ActorId};

/// All actors of a run. Clones share each actor until one of the clones moves it (copy on write).
#[derive(Debug, Clone)]
pub(crate) struct Actors(Vec<Arc<Actor>>);

impl Actors {
    /// Creates all actors, each before the first statement of its program.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let plans = scenario.actors.iter().enumerate();
        Self(plans.map(|(n, plan)| Arc::new(Actor::new(actor_id(n), plan, seed))).collect())
    }

    /// Advances every actor to its first operation.
    pub(crate) fn start(&mut self, output: &mut Output) -> Result<(), Failure> {
        self.ids().try_for_each(|actor| self[actor].advance(output))
    }

    /// Wraps these actors; the index of each is its id.
    pub(crate) fn of(actors: Vec<Arc<Actor>>) -> Self {
        Self(actors)
    }

    /// Returns the actor's shared pointer; clones of `Actors` in which the actor has not moved since have the same one.
    pub(crate) fn shared(&self, actor: ActorId) -> &Arc<Actor> {
        &self.0[actor.0 as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = ActorId> + use<> {
        (0..self.0.len()).map(actor_id)
    }

    pub(crate) fn get(&self, actor: ActorId) -> Option<&Actor> {
        self.0.get(actor.0 as usize).map(Arc::as_ref)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Actor> {
        self.0.iter().map(Arc::as_ref)
    }

    /// The running actors that can make a move. `runs` says which actors run.
    pub(crate) fn ready(&self, runs: impl Fn(ActorId) -> bool) -> impl Iterator<Item = ActorId> {
        self.ids().filter(move |actor| self[*actor].is_ready() && runs(*actor))
    }

    /// The number of actors that have not finished; dead actors count as unfinished.
    pub(crate) fn unfinished(&self) -> usize {
        self.iter().filter(|actor| !matches!(actor.state(), State::Finished)).count()
    }

    /// The running actor whose wait ends first, and when it ends; of several that end together, the one with the lowest
    /// id.
    pub(crate) fn next_timer(&self, runs: impl Fn(ActorId) -> bool) -> Option<(ActorId, LessonTime)> {
        let timers = self.ids().filter_map(|actor| Some((actor, self[actor].waits_until()?)));
        timers.filter(|(actor, _)| runs(*actor)).min_by_key(|(actor, until)| (*until, *actor))
    }

    /// Ends all waits of running actors that are due by `end`, in the order of their deadlines.
    pub(crate) fn wake_until(
        &mut self,
        end: LessonTime,
        runs: impl Fn(ActorId) -> bool,
        output: &mut Output,
    ) -> Result<(), Failure> {
        while let Some((actor, _)) = self.next_timer(&runs).filter(|(_, due)| *due <= end) {
            self[actor].wake(output)?;
        }
        Ok(())
    }

    /// Postpones all waits that end later than `after`.
    pub(crate) fn put_off(&mut self, after: LessonTime, by: Duration) {
        for actor in self.ids() {
            if self[actor].waits_until().is_some_and(|until| until > after) {
                self[actor].put_off(by);
            }
        }
    }

    /// Makes every time earlier by the same duration: the end of every wait, and the times that programs have read.
    pub(crate) fn bring_forward(&mut self, by: Duration, times: &TimesOfPrograms) {
        for actor in self.ids() {
            if self[actor].waits_until().is_some() {
                self[actor].bring_forward(by);
            }
            if let Some(times) = times.get(&Arc::as_ptr(self[actor].program())) {
                self[actor].make_earlier(times, by);
            }
        }
    }
}

impl Index<ActorId> for Actors {
    type Output = Actor;

    fn index(&self, actor: ActorId) -> &Actor {
        &self.0[actor.0 as usize]
    }
}

impl IndexMut<ActorId> for Actors {
    fn index_mut(&mut self, actor: ActorId) -> &mut Actor {
        Arc::make_mut(&mut self.0[actor.0 as usize])
    }
}

pub(crate) fn actor_id(n: usize) -> ActorId {
    ActorId(u32::try_from(n).unwrap_or(u32::MAX))
}
