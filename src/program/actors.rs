//! All actors of a run: who is ready, whose wait ends next.

use std::{
    ops::{Index, IndexMut},
    sync::Arc,
    time::Duration,
};

use super::actor::{Actor, Failure, Output, State};
use crate::{clock::LessonTime, lesson::Scenario, log::ActorId};

/// All actors of a run. Copies share the actors that have not moved since.
#[derive(Debug, Clone)]
pub(crate) struct Actors(Vec<Arc<Actor>>);

impl Actors {
    /// Everybody before the first statement of their programs.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let plans = scenario.actors.iter().enumerate();
        Self(plans.map(|(n, plan)| Arc::new(Actor::new(actor_id(n), plan, seed))).collect())
    }

    /// Carries everybody to the first operation.
    pub(crate) fn start(&mut self, output: &mut Output) -> Result<(), Failure> {
        self.ids().try_for_each(|actor| self[actor].advance(output))
    }

    /// These, each at the place of its number.
    pub(crate) fn of(actors: Vec<Arc<Actor>>) -> Self {
        Self(actors)
    }

    /// One of them, shared with all copies in which it has not moved since.
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

    /// Who can make a move, of those that run.
    pub(crate) fn ready(&self, runs: impl Fn(ActorId) -> bool) -> impl Iterator<Item = ActorId> {
        self.ids().filter(move |actor| self[*actor].is_ready() && runs(*actor))
    }

    /// How many have not come to the end of their programs.
    /// By actor, whether it has come to its end, be it a bad one.
    pub(crate) fn are_over(&self) -> impl Iterator<Item = bool> {
        self.iter().map(Actor::is_over)
    }

    pub(crate) fn unfinished(&self) -> usize {
        self.iter().filter(|actor| !matches!(actor.state(), State::Finished)).count()
    }

    /// The wait that ends first, of those that run; of several that end together, that of the first actor.
    pub(crate) fn next_timer(&self, runs: impl Fn(ActorId) -> bool) -> Option<(ActorId, LessonTime)> {
        let timers = self.ids().filter_map(|actor| Some((actor, self[actor].waits_until()?)));
        timers.filter(|(actor, _)| runs(*actor)).min_by_key(|(actor, until)| (*until, *actor))
    }

    /// Ends the waits that are over by `end`, in their order, of those that run.
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

    /// Puts off all waits that end after a time.
    pub(crate) fn put_off(&mut self, after: LessonTime, by: Duration) {
        for actor in self.ids() {
            if self[actor].waits_until().is_some_and(|until| until > after) {
                self[actor].put_off(by);
            }
        }
    }

    /// Has all waits end sooner by as much.
    pub(crate) fn bring_forward(&mut self, by: Duration) {
        for actor in self.ids() {
            if self[actor].waits_until().is_some() {
                self[actor].bring_forward(by);
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
