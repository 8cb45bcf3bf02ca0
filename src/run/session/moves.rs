//! Moves: an actor's next operation is sent, its reply comes back, and the actor goes on to the next.

use std::{sync::Arc, time::Duration};

use super::{
    EngineError,
    director::Director,
    machine::{After, Effect, Next},
    performer::State,
    stage::Arrived,
};
use crate::{
    client::protocol::{Request, Response},
    clock::LessonTime,
    lesson::{
        Mistake, PRIMARY, Path,
        plan::{PlannedOperation, PlannedVerb, Turn},
    },
    log::{ActorId, EventKind, OpId, Reply},
};

/// More operations than any honest program needs to come to its end in one `finish`.
const MOST_OPERATIONS: usize = 10_000;

/// How long a client looks for the master, and how often, in lesson time: some Sentinels hear of a failover
/// later than others.
const FIND_PRIMARY_WITHIN: Duration = Duration::from_secs(20);
const FIND_PRIMARY_EVERY: Duration = Duration::from_millis(200);

const NO_PRIMARY: &str = "no Sentinel that this client can reach names a master that it can reach";

impl Director {
    /// One move of the story: the actor's next operation, which must be the one that the story names.
    pub(crate) async fn take_turn(&mut self, turn: &Turn, path: &Path) -> Result<(), EngineError> {
        self.prepare(turn, path).await?;
        if let Some(op) = self.send(turn.actor, path).await? {
            self.land(op, path).await?;
        }
        Ok(())
    }

    /// Brings an actor to its next operation: a wait that it is in is let pass. Checks that it is the
    /// operation that the story wants.
    pub(crate) async fn prepare(&mut self, turn: &Turn, path: &Path) -> Result<(), EngineError> {
        self.must_run(turn.actor, &format!(".{}", turn.label), path)?;
        let name = self.name(turn.actor).to_owned();
        while let State::Waiting { until, .. } = self.performers[turn.actor.0 as usize].state {
            self.go_to(until, &[], path).await?;
        }
        let wrong = match &self.performers[turn.actor.0 as usize].state {
            State::Ready(operation) if operation.label == turn.label => return Ok(()),
            State::Ready(operation) => {
                format!(
                    "the story moves {name}.{}, but the next move of {name} is `{}`",
                    turn.label, operation.label
                )
            }
            State::InFlight { operation, .. } => {
                format!(
                    "the story moves {name}.{}, but {name} still waits for the reply to `{}`",
                    turn.label, operation.label
                )
            }
            State::Taking { operation, .. } => format!(
                "the story moves {name}.{}, but {name} still waits for the notification of `{}`",
                turn.label, operation.label
            ),
            State::Finished => {
                format!("the story moves {name}.{}, but the program of {name} is over", turn.label)
            }
            State::Dead => format!("the story moves {name}.{}, but {name} was killed", turn.label),
            State::Waiting { .. } => format!("the story moves {name}.{}, but {name} still waits", turn.label),
        };
        Err(self.mistake(path, wrong))
    }

    /// Nobody makes a move while its process stands still.
    fn must_run(&self, actor: ActorId, label: &str, path: &Path) -> Result<(), EngineError> {
        if !self.stage.stands_still(actor) {
            return Ok(());
        }
        let plan = &self.scenario.actors[actor.0 as usize].actor;
        let message = format!("the story moves {}{label}, but {} is frozen", plan.name, plan.client);
        let help = format!("thaw it first: `- thaw: {}`", plan.client);
        let mistake = Mistake::new(path, message).help(help);
        Err(self.scenario.loaded.source.place(&mistake).into())
    }

    /// Sends an actor's next operation. `None` where there is no reply to wait for: a notification was taken,
    /// or is yet to come.
    pub(crate) async fn send(&mut self, actor: ActorId, path: &Path) -> Result<Option<OpId>, EngineError> {
        let n = actor.0 as usize;
        let State::Ready(operation) = self.performers[n].state.clone() else {
            return Ok(None);
        };
        let place = operation.path.clone().unwrap_or_else(|| path.clone());
        if let PlannedVerb::Take(about) = &operation.verb {
            let machine = &mut self.performers[n].machine;
            machine.tell_time(self.clock.now());
            let about = machine.begin().and_then(|()| machine.render(about));
            let about = about.map_err(|error| self.mistake(&place, error))?;
            self.performers[n].state = State::Taking { operation, about };
            self.try_take(actor, path)?;
            return Ok(None);
        }
        let server = match operation.on.as_deref() {
            Some(PRIMARY) => match Box::pin(self.find_primary(actor, &place)).await? {
                Some(server) => server,
                None if self.left_story => {
                    self.give_up(actor, NO_PRIMARY);
                    return Ok(None);
                }
                None => return Err(self.mistake(&place, NO_PRIMARY)),
            },
            Some(named) => named.to_owned(),
            None => self.stage.server.clone(),
        };
        let machine = &mut self.performers[n].machine;
        machine.tell_time(self.clock.now());
        let wire = match machine.begin().and_then(|()| machine.wire(&operation, server)) {
            Ok(Some(wire)) => wire,
            Ok(None) => return Ok(None),
            Err(error) if self.left_story => {
                self.give_up(actor, &error);
                return Ok(None);
            }
            Err(error) => return Err(self.mistake(&place, error)),
        };
        self.flights.next += 1;
        let op = OpId(self.flights.next);
        self.recorder.record(EventKind::Sent {
            op,
            actor,
            label: operation.label.clone(),
            server: wire.server().to_owned(),
            wire: wire.to_string(),
            releases: operation.releases.clone(),
        });
        self.flights.begin(op, actor, &wire);
        self.performers[n].state = State::InFlight { operation };
        self.stage.send(actor, &Request::Do { op, actor, wire }).await?;
        Ok(Some(op))
    }

    /// The master that Sentinel names, as an actor's client library would find it: it asks again for a while.
    async fn find_primary(&mut self, actor: ActorId, path: &Path) -> Result<Option<String>, EngineError> {
        let end = self.clock.now() + FIND_PRIMARY_WITHIN;
        let mut looked = false;
        loop {
            if let Some(server) = self.stage.primary(actor).await? {
                // What has happened to the servers meanwhile comes before the command that is sent now.
                if looked {
                    self.observe().await?;
                }
                return Ok(Some(server));
            }
            if self.clock.now() >= end {
                return Ok(None);
            }
            looked = true;
            self.flow_to(self.clock.now() + FIND_PRIMARY_EVERY, path).await?;
        }
    }

    /// Takes in something that a client reported.
    pub(crate) fn take_in(&mut self, arrived: Arrived, path: &Path) -> Result<(), EngineError> {
        match arrived {
            Arrived::Response(_, Response::Done { op, reply }) => self.done(op, &reply, path),
            Arrived::Response(_, Response::Notified { actor, server, about, what }) => {
                self.performers[actor.0 as usize].queue.push_back((about.clone(), what.clone()));
                self.recorder.record(EventKind::Notified { actor, server, about, what });
                self.try_take(actor, path)
            }
            Arrived::Response(..) | Arrived::Gone(_) => Ok(()),
        }
    }

    fn done(&mut self, op: OpId, reply: &Reply, path: &Path) -> Result<(), EngineError> {
        let Some((actor, _)) = self.flights.by_op.remove(&op) else {
            return Ok(());
        };
        let n = actor.0 as usize;
        let State::InFlight { operation, .. } = self.performers[n].state.clone() else {
            return Ok(());
        };
        let label = operation.label.clone();
        self.recorder.record(EventKind::Replied { op, actor, label, reply: reply.clone() });
        let place = operation.path.clone().unwrap_or_else(|| path.clone());
        let room = self.recorder.has_room();
        room.map_err(|error| self.mistake(&place, error))?;
        self.performers[n].machine.tell_time(self.clock.now());
        let after = self.performers[n].machine.replied(&operation, reply);
        let after = match after {
            Ok(after) => after,
            Err(error) if self.left_story => {
                self.give_up(actor, &error);
                return Ok(());
            }
            Err(error) => return Err(self.mistake(&place, format!("{}: {error}", self.name(actor)))),
        };
        match after {
            After::Onward => self.advance(actor, path),
            After::Again(0) => {
                self.performers[n].state = State::Ready(operation);
                Ok(())
            }
            After::Again(millis) => {
                self.wait(actor, &operation, millis, true);
                Ok(())
            }
        }
    }

    /// An actor cannot go on: nobody has told its program what to do now.
    fn give_up(&mut self, actor: ActorId, error: &str) {
        self.performers[actor.0 as usize].state = State::Dead;
        // What would help the lesson's author helps nobody here.
        let why = error.split("\n  help:").next().unwrap_or_default().to_owned();
        self.recorder.record(EventKind::GaveUp { actor, why });
    }

    /// Carries out an actor's statements up to its next operation.
    pub(crate) fn advance(&mut self, actor: ActorId, path: &Path) -> Result<(), EngineError> {
        let n = actor.0 as usize;
        let mut effects = Vec::new();
        self.performers[n].machine.tell_time(self.clock.now());
        let next = self.performers[n].machine.advance(&mut effects);
        let room = self.recorder.has_room();
        room.map_err(|error| self.mistake(path, error))?;
        for effect in effects {
            self.recorder.record(match effect {
                Effect::Believes(lock, belief) => EventKind::Believes { actor, lock, belief },
                Effect::Counted(counter) => EventKind::Counted { actor, counter, by: 1 },
            });
        }
        match next.map_err(|error| self.mistake(path, format!("{}: {error}", self.name(actor))))? {
            Next::Finished => {
                self.performers[n].state = State::Finished;
                self.recorder.record(EventKind::Finished { actor });
            }
            Next::Operation(operation) => match &operation.verb {
                PlannedVerb::Wait(duration) => {
                    let place = operation.path.clone().unwrap_or_else(|| path.clone());
                    let millis = self.performers[n].machine.millis(duration);
                    let millis = millis.map_err(|error| self.mistake(&place, error))?;
                    self.wait(actor, &operation, millis, false);
                }
                _ => self.performers[n].state = State::Ready(operation),
            },
        }
        Ok(())
    }

    fn wait(&mut self, actor: ActorId, operation: &Arc<PlannedOperation>, millis: i64, again: bool) {
        let until = self.clock.now() + Duration::from_millis(u64::try_from(millis).unwrap_or(0));
        let label = operation.label.clone();
        self.performers[actor.0 as usize].state =
            State::Waiting { label: label.clone(), until, again: again.then(|| Arc::clone(operation)) };
        self.recorder.record(EventKind::Waits { actor, label, until });
    }

    /// A wait is over: on to what comes after it.
    pub(crate) fn wake(&mut self, actor: ActorId, at: LessonTime, path: &Path) -> Result<(), EngineError> {
        let n = actor.0 as usize;
        let State::Waiting { label, again, .. } = self.performers[n].state.clone() else {
            return Ok(());
        };
        self.recorder.record_at(at, EventKind::Waited { actor, label });
        if let Some(operation) = again {
            self.performers[n].state = State::Ready(operation);
            Ok(())
        } else {
            self.performers[n].machine.waited();
            self.advance(actor, path)
        }
    }

    /// Takes a notification from an actor's queue if it waits for one that is there.
    fn try_take(&mut self, actor: ActorId, path: &Path) -> Result<(), EngineError> {
        let n = actor.0 as usize;
        let State::Taking { operation, about } = self.performers[n].state.clone() else {
            return Ok(());
        };
        let wanted = |queued: &(String, String)| about == "any" || queued.0 == about;
        let Some(place) = self.performers[n].queue.iter().position(wanted) else {
            return Ok(());
        };
        let Some((about, what)) = self.performers[n].queue.remove(place) else {
            return Ok(());
        };
        let label = operation.label.clone();
        self.recorder.record(EventKind::Took { actor, label, about: about.clone(), what: what.clone() });
        let reply = Reply::Value(serde_json::json!({ "about": about, "what": what }));
        let after = self.performers[n].machine.replied(&operation, &reply);
        match after.map_err(|error| self.mistake(path, format!("{}: {error}", self.name(actor))))? {
            After::Onward => self.advance(actor, path),
            After::Again(_) => {
                self.performers[n].state = State::Ready(operation);
                Ok(())
            }
        }
    }

    /// Makes an actor's moves until its program is over or it can do nothing more by itself.
    pub(crate) async fn finish(&mut self, actor: ActorId, path: &Path) -> Result<(), EngineError> {
        self.must_run(actor, " to its end", path)?;
        for _ in 0..MOST_OPERATIONS {
            match self.performers[actor.0 as usize].state.clone() {
                State::Waiting { until, .. } => self.go_to(until, &[], path).await?,
                State::Ready(operation) => {
                    let turn = Turn { actor, label: operation.label.clone() };
                    self.take_turn(&turn, path).await?;
                    if self.looks_after_move_of(actor) {
                        self.settle(path).await?;
                        self.observe().await?;
                    }
                }
                State::InFlight { .. } | State::Taking { .. } | State::Finished | State::Dead => {
                    return Ok(());
                }
            }
        }
        let name = self.name(actor).to_owned();
        Err(self.mistake(path, format!("{name} made {MOST_OPERATIONS} moves and its program did not end")))
    }

    /// Whether an actor stands before an operation, and its process runs.
    pub(crate) fn can_move(&self, actor: ActorId) -> bool {
        matches!(self.performers[actor.0 as usize].state, State::Ready(_)) && !self.stage.stands_still(actor)
    }

    /// Makes these actors' moves until all of them wait. Whoever is frozen makes none.
    pub(crate) async fn let_move(&mut self, moving: &[ActorId], path: &Path) -> Result<(), EngineError> {
        let able = |director: &Self| moving.iter().copied().find(|actor| director.can_move(*actor));
        for _ in 0..MOST_OPERATIONS * moving.len() {
            let Some(actor) = able(self) else {
                return Ok(());
            };
            if let Some(op) = self.send(actor, path).await? {
                self.land(op, path).await?;
            }
            self.observe().await?;
        }
        match able(self) {
            None => Ok(()),
            Some(actor) => {
                let name = self.name(actor).to_owned();
                let why = format!("{name} made {MOST_OPERATIONS} moves without waiting once");
                Err(self.mistake(path, why))
            }
        }
    }
}
