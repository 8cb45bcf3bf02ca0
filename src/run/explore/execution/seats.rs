//! The programs of all clients, hosted in Lockstep's own process: each actor's place in its program, the order's time,
//! who is stopped or dead. Cheap to keep and to come back to.

use std::{sync::Arc, time::Duration};

use super::{
    rules::{Situation, homes},
    servers::Queue,
};
use crate::run::session::{
    machine::{After, Effect, Machine, Next},
    performer::State,
    stage::actor_id,
    time::next_milli,
};
use crate::{
    client::protocol::Wire,
    clock::LessonTime,
    lesson::{
        Scenario,
        plan::{PlannedOperation, PlannedVerb},
    },
    log::{ActorId, EventKind, Reply},
};

/// An actor in its place.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    machine: Machine,
    state: State,
    /// The commands that its connection has queued since MULTI.
    pub(crate) queued: Queue,
}

/// All actors.
#[derive(Debug, Clone)]
pub(crate) struct Seats {
    all: Vec<Arc<Seat>>,
    pub(crate) now: LessonTime,
    frozen: Option<usize>,
    spent: bool,
    moves: usize,
}

/// What came of a step besides: whose effects, and what a log would have.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) effects: Vec<(ActorId, Vec<Effect>)>,
    pub(crate) events: Vec<EventKind>,
    /// Who met a reply that its program cannot cope with.
    pub(crate) gave_up: Option<ActorId>,
    /// Keys that something may have been done to.
    pub(crate) handled: Vec<Arc<str>>,
}

impl Told {
    /// Whether somebody's program has ended.
    pub(crate) fn has_ended(&self) -> bool {
        let ends = |kind: &EventKind| matches!(kind, EventKind::Finished { .. } | EventKind::GaveUp { .. });
        self.events.iter().any(ends)
    }
}

/// Who is at home where, and how programs are named: what does not change.
#[derive(Debug, Clone)]
pub(crate) struct Cast {
    pub(crate) homes: Arc<[usize]>,
    pub(crate) clients: Arc<[String]>,
    actors: Arc<[String]>,
}

impl Cast {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        Self {
            homes: homes(scenario).into(),
            clients: scenario.clients.iter().map(|client| client.name.clone()).collect(),
            actors: scenario.actors.iter().map(|plan| plan.actor.name.clone()).collect(),
        }
    }

    /// `A.acquire`.
    pub(crate) fn name(&self, actor: ActorId, label: &str) -> String {
        format!("{}.{label}", self.actors[actor.0 as usize])
    }
}

impl Seats {
    /// Everybody at the first operation.
    pub(crate) fn begin(scenario: &Scenario, told: &mut Told) -> Result<Self, String> {
        let seat =
            |plan| Arc::new(Seat { machine: Machine::new(plan, 0), state: State::Finished, queued: None });
        let mut seats = Self {
            all: scenario.actors.iter().map(seat).collect(),
            now: LessonTime::ZERO,
            frozen: None,
            spent: false,
            moves: 0,
        };
        for n in 0..seats.all.len() {
            seats.advance(actor_id(n), told)?;
        }
        Ok(seats)
    }

    pub(crate) fn seat(&self, actor: ActorId) -> &Seat {
        &self.all[actor.0 as usize]
    }

    pub(crate) fn seat_mut(&mut self, actor: ActorId) -> &mut Seat {
        Arc::make_mut(&mut self.all[actor.0 as usize])
    }

    fn runs(&self, cast: &Cast, n: usize) -> bool {
        self.frozen != Some(cast.homes[n])
    }

    pub(crate) fn situation(&self, cast: &Cast) -> Situation {
        let able = (0..self.all.len())
            .filter(|n| matches!(self.all[*n].state, State::Ready(_)) && self.runs(cast, *n));
        let over = |seat: &Seat| matches!(seat.state, State::Finished | State::Dead);
        let busy = (0..cast.clients.len()).filter(|client| {
            let mut own = (0..self.all.len()).filter(|n| cast.homes[*n] == *client);
            own.any(|n| !over(&self.all[n]))
        });
        Situation {
            able: able.map(actor_id).collect(),
            timer: self.next_timer(cast).is_some(),
            moves: self.moves,
            frozen: self.frozen,
            spent: self.spent,
            busy: busy.collect(),
        }
    }

    /// How many have not come to the end of their programs.
    pub(crate) fn unfinished(&self) -> usize {
        let finished = |seat: &&Arc<Seat>| matches!(seat.state, State::Finished);
        self.all.len() - self.all.iter().filter(finished).count()
    }

    /// The operation that an actor stands before.
    pub(crate) fn operation(&self, actor: ActorId) -> Option<Arc<PlannedOperation>> {
        match &self.seat(actor).state {
            State::Ready(operation) => Some(Arc::clone(operation)),
            _ => None,
        }
    }

    /// What an actor's move sends.
    pub(crate) fn wire(
        &mut self,
        actor: ActorId,
        operation: &PlannedOperation,
        server: &str,
    ) -> Result<Option<Wire>, String> {
        let now = self.now;
        self.moves += 1;
        let seat = self.seat_mut(actor);
        seat.machine.tell_time(now);
        seat.machine.begin()?;
        let server = operation.on.as_deref().unwrap_or(server);
        seat.machine.wire(operation, server.to_owned())
    }

    /// The reply to an actor's move has come.
    pub(crate) fn replied(
        &mut self,
        actor: ActorId,
        operation: &Arc<PlannedOperation>,
        reply: &Reply,
        told: &mut Told,
    ) -> Result<(), String> {
        let now = self.now;
        let seat = self.seat_mut(actor);
        let after = match seat.machine.replied(operation, reply) {
            Ok(after) => after,
            // As with an exception that nobody catches: its program ends there.
            Err(error) => {
                seat.state = State::Dead;
                let why = error.split("\n  help:").next().unwrap_or_default().to_owned();
                told.events.push(EventKind::GaveUp { actor, why });
                told.gave_up = Some(actor);
                return Ok(());
            }
        };
        match after {
            After::Onward => self.advance(actor, told),
            After::Again(0) => {
                seat.state = State::Ready(Arc::clone(operation));
                Ok(())
            }
            After::Again(millis) => {
                wait(seat, actor, operation, (now, millis), true, told);
                Ok(())
            }
        }
    }

    fn advance(&mut self, actor: ActorId, told: &mut Told) -> Result<(), String> {
        let now = self.now;
        let seat = self.seat_mut(actor);
        let mut effects = Vec::new();
        seat.machine.tell_time(now);
        let next = seat.machine.advance(&mut effects)?;
        told.events.extend(effects.iter().map(|effect| match effect {
            Effect::Believes(lock, belief) => {
                EventKind::Believes { actor, lock: lock.clone(), belief: *belief }
            }
            Effect::Counted(counter) => EventKind::Counted { actor, counter: counter.clone(), by: 1 },
        }));
        told.effects.push((actor, effects));
        match next {
            Next::Finished => {
                seat.state = State::Finished;
                told.events.push(EventKind::Finished { actor });
            }
            Next::Operation(operation) => match &operation.verb {
                PlannedVerb::Wait(duration) => {
                    let millis = seat.machine.millis(duration)?;
                    wait(seat, actor, &operation, (now, millis), false, told);
                }
                _ => seat.state = State::Ready(operation),
            },
        }
        Ok(())
    }

    fn next_timer(&self, cast: &Cast) -> Option<(ActorId, LessonTime)> {
        let timers = self.all.iter().enumerate().filter_map(|(n, seat)| match seat.state {
            State::Waiting { until, .. } if self.runs(cast, n) => Some((actor_id(n), until)),
            _ => None,
        });
        timers.min_by_key(|(actor, until)| (*until, *actor))
    }

    /// Time passes to the next timer, and a little more; the others are put off by as much.
    pub(crate) fn pass(&mut self, cast: &Cast, told: &mut Told) -> Result<(), String> {
        let Some((_, due)) = self.next_timer(cast) else {
            return Ok(());
        };
        let end = next_milli(due);
        for n in 0..self.all.len() {
            if matches!(self.all[n].state, State::Waiting { .. }) {
                self.seat_mut(actor_id(n)).state.put_off(due, end.since(due));
            }
        }
        self.now = self.now.max(end);
        self.wake_until(due, cast, told)
    }

    /// Ends the waits that were over by then.
    fn wake_until(&mut self, end: LessonTime, cast: &Cast, told: &mut Told) -> Result<(), String> {
        while let Some((actor, _)) = self.next_timer(cast).filter(|(_, due)| *due <= end) {
            let seat = self.seat_mut(actor);
            let State::Waiting { label, again, .. } = seat.state.clone() else {
                return Ok(());
            };
            told.events.push(EventKind::Waited { actor, label });
            if let Some(operation) = again {
                seat.state = State::Ready(operation);
            } else {
                seat.machine.waited();
                self.advance(actor, told)?;
            }
        }
        Ok(())
    }

    /// A client is killed. Gives its actors.
    pub(crate) fn crash(&mut self, cast: &Cast, client: usize) -> Vec<ActorId> {
        self.spent = true;
        let own: Vec<ActorId> =
            (0..self.all.len()).filter(|n| cast.homes[*n] == client).map(actor_id).collect();
        for actor in &own {
            let seat = self.seat_mut(*actor);
            (seat.state, seat.queued) = (State::Dead, None);
        }
        own
    }

    /// A client is stopped.
    pub(crate) fn freeze(&mut self, client: usize) {
        (self.frozen, self.spent) = (Some(client), true);
    }

    /// It runs again, and its timers that have run out fire.
    pub(crate) fn thaw(&mut self, cast: &Cast, told: &mut Told) -> Result<(), String> {
        self.frozen = None;
        self.wake_until(self.now, cast, told)
    }
}

fn wait(
    seat: &mut Seat,
    actor: ActorId,
    operation: &Arc<PlannedOperation>,
    (now, millis): (LessonTime, i64),
    again: bool,
    told: &mut Told,
) {
    let until = now + Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    let label = operation.label.clone();
    seat.state = State::Waiting { label: label.clone(), until, again: again.then(|| Arc::clone(operation)) };
    told.events.push(EventKind::Waits { actor, label, until });
}
