//! Moves: sends an actor's next operation, receives its reply, and advances the actor's program to the next
//! one.

use std::{sync::Arc, time::Duration};

use super::{
    RunError, director::Director, harness::Arrived, pending::PendingOperation, supervision::ANSWERS_WITHIN,
};
use crate::{
    client::protocol::{Request, Response, Wire},
    clock::LessonTime,
    lesson::{Mistake, PRIMARY, Path, plan::PlannedMove},
    log::{
        ActorId, EventKind, OpId, Product, Reply,
        product::{
            mariadb::WAITS_FOR_ROWS,
            zookeeper::{RECONNECTED, SUSPENDED},
        },
    },
    program::{Actors, Cause, Failure, Notification, Output, SESSION, State},
    text::{Text, Words, both},
};

/// The most operations that one `finish` carries out: more than any terminating program needs.
const MOST_OPERATIONS: usize = 10_000;

/// How long a client looks for the master, and how often, in lesson time. Some Sentinels hear of a failover
/// later than others.
const FIND_PRIMARY_WITHIN: Duration = Duration::from_secs(20);
const FIND_PRIMARY_EVERY: Duration = Duration::from_millis(200);

const NO_PRIMARY: Words = Words::new(
    "no Sentinel that this client can reach names a master that it can reach",
    "这个客户端能连到的哨兵，都没有给出它能连到的主节点",
);

/// Says that a user's own program has ended, and why.
fn ended(name: &str, why: &Text) -> Text {
    both!("the program of {name} ended: {why}", "{name} 的程序结束了：{why}", why)
}

impl Director {
    /// Makes one move of the story: the actor's next operation, which must be the one that the story names.
    pub(crate) async fn take_turn(&mut self, turn: &PlannedMove, path: &Path) -> Result<(), RunError> {
        self.prepare(turn, path).await?;
        match self.send(turn.actor, path).await? {
            Some(op) => self.await_reply(op, path).await,
            None => Ok(()),
        }?;
        self.settle_outside(path).await
    }

    /// Makes an actor's next move, whatever its operation is, and waits for the reply, or until the operation
    /// is known to be blocked inside its server.
    pub(crate) async fn make_move(&mut self, actor: ActorId, path: &Path) -> Result<(), RunError> {
        match self.send(actor, path).await? {
            Some(op) => self.await_reply_or_wait(op, path).await,
            None => Ok(()),
        }
    }

    /// Advances an actor to its next operation, letting the wait that it is in pass. Fails unless the
    /// operation is the one that the story names.
    pub(crate) async fn prepare(&mut self, turn: &PlannedMove, path: &Path) -> Result<(), RunError> {
        self.check_not_frozen(turn.actor, &format!(".{}", turn.label), path)?;
        let name = self.name(turn.actor).to_owned();
        while !self.actors[turn.actor].is_ready()
            && let Some(until) = self.actors[turn.actor].waits_until()
        {
            // What a server has sent may be on its way, and would come too late after a jump.
            if self.is_taking(turn.actor) {
                self.settle(path).await?;
            }
            self.pass_on(self.first_end(until), &[turn.actor], path).await?;
        }
        Box::pin(self.await_notification(turn.actor, path)).await?;
        let but = match self.actors[turn.actor].state() {
            State::Ready(operation) if operation.label == turn.label => return Ok(()),
            State::Ready(operation) => {
                let label = &operation.label;
                both!("the next move of {name} is `{label}`", "{name} 的下一步是 `{label}`")
            }
            State::InFlight { operation } => {
                let label = &operation.label;
                both!("{name} still waits for the reply to `{label}`", "{name} 还在等 `{label}` 的回复")
            }
            State::Taking { operation, .. } => {
                let label = &operation.label;
                both!(
                    "{name} still waits for the notification of `{label}`",
                    "{name} 还在等 `{label}` 的通知"
                )
            }
            State::Finished | State::Dead => self.how_it_ended(turn.actor),
            State::Waiting { .. } | State::Outside { .. } => both!("{name} still waits", "{name} 还在等待"),
        };
        let label = &turn.label;
        let message =
            both!("the story moves {name}.{label}, but {but}", "剧情要走 {name}.{label}，可是{but}", but);
        let mistake = Mistake::new(path, message);
        let mistake = match self.actors[turn.actor].state() {
            State::InFlight { operation } => {
                let label = &operation.label;
                let line = format!("- await: {{ that: {name}.{label} is defined, within: 30s }}");
                mistake.help(both!(
                    "the reply comes when another's move brings it about, or with time: `{line}`",
                    "要等别人的操作促成回复，或者等时间过去：`{line}`"
                ))
            }
            _ => mistake,
        };
        Err(self.scenario.loaded.source.place(&mistake).into())
    }

    /// How an actor ended that cannot move any more: of a program of the user's own, the reason that it gave.
    fn how_it_ended(&self, actor: ActorId) -> Text {
        let name = self.name(actor);
        let dead = matches!(self.actors[actor].state(), State::Dead);
        let reason = self.log().events().iter().rev().find_map(|event| match &event.kind {
            EventKind::GaveUp { actor: who, why } if dead && *who == actor => {
                Some(ended(name, why))
            }
            EventKind::Said { actor: who, text, stderr: true, .. } if !dead && *who == actor => Some(both!(
                "the program of {name} is over (exit code 0); the last line of its standard error is `{text}`",
                "{name} 的程序已经结束（退出码 0），标准错误的最后一行是 `{text}`"
            )),
            _ => None,
        });
        reason.unwrap_or_else(|| {
            if dead {
                both!("{name} was killed", "{name} 已被杀掉")
            } else {
                both!("the program of {name} is over", "{name} 的程序已经结束")
            }
        })
    }

    /// If the actor takes a notification, waits for one that the servers already owe it: it is on its way, or comes as
    /// soon as the client, whose server has died, is connected to another one.
    async fn await_notification(&mut self, actor: ActorId, path: &Path) -> Result<(), RunError> {
        while self.is_taking(actor) {
            self.settle(path).await?;
            let server = self.harness.server_of(actor, None).to_owned();
            if !self.is_suspended(actor) || !self.harness.reachable(actor, &server) {
                break;
            }
            match tokio::time::timeout(ANSWERS_WITHIN, self.harness.next()).await {
                Ok(arrived) => self.handle(arrived?, path)?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Whether the last news of an actor's session is that it has lost its connection.
    fn is_suspended(&self, actor: ActorId) -> bool {
        let news = self.log().events().iter().rev().find_map(|event| match &event.kind {
            EventKind::Notified { actor: who, about, what, .. } if *who == actor && about == SESSION => {
                Some(what == SUSPENDED)
            }
            _ => None,
        });
        news.unwrap_or_default()
    }

    /// Fails if the actor's process is frozen.
    fn check_not_frozen(&self, actor: ActorId, label: &str, path: &Path) -> Result<(), RunError> {
        if !self.harness.is_frozen(actor) {
            return Ok(());
        }
        let plan = &self.scenario.actor(actor).actor;
        let (name, client) = (&plan.name, &plan.client);
        let message = both!(
            "the story moves {name}{label}, but {client} is frozen",
            "剧情要走 {name}{label}，可是 {client} 已被冻结"
        );
        let help = both!("thaw it first: `- thaw: {client}`", "请先解冻：`- thaw: {client}`");
        let mistake = Mistake::new(path, message).help(help);
        Err(self.scenario.loaded.source.place(&mistake).into())
    }

    /// Sends an actor's next operation. Returns `None` if there is no reply to wait for: the actor took a
    /// notification, waits for one, or gave up.
    pub(crate) async fn send(&mut self, actor: ActorId, path: &Path) -> Result<Option<OpId>, RunError> {
        let Some(operation) = self.actors[actor].next_operation().cloned() else { return Ok(None) };
        let server = match operation.on.as_deref() {
            Some(PRIMARY) => {
                let path = operation.path.as_ref().unwrap_or(path);
                match Box::pin(self.find_primary(actor, path)).await? {
                    Some(server) => server,
                    None if self.left_story => {
                        self.give_up(actor, NO_PRIMARY.text(&[]));
                        return Ok(None);
                    }
                    None => return Err(self.mistake(path, NO_PRIMARY.text(&[]))),
                }
            }
            named => self.harness.server_of(actor, named).to_owned(),
        };
        let sent = self.step_actors(path, |actors, output| actors[actor].send(&server, output))?;
        let Some(mut wire) = sent.flatten() else { return Ok(None) };
        if operation.on.is_none()
            && self.scenario.lab().is_cluster()
            && wire.command.product() == Some(Product::Redis)
        {
            wire.server = self.node_of(actor, &wire.command);
        }
        self.pending.next += 1;
        let op = OpId(self.pending.next);
        self.recorder.record(self.actors[actor].sent(op, &operation, &wire));
        let limit = self.scenario.settings().lock_wait_timeout;
        let limit = limit.map_or(WAITS_FOR_ROWS, |limit| Duration::from_secs(limit.count().into()));
        self.pending.begin(op, (actor, &operation), &wire, self.clock.now(), limit);
        self.note_redirectable(op, actor, &operation, &wire);
        let wire = Wire { server: self.harness.connection_to(actor, &wire.server), ..wire };
        self.harness.send(actor, &Request::Do { op, actor, wire }).await?;
        Ok(Some(op))
    }

    /// Returns the master that Sentinel names. Asks repeatedly for a while, as a client library does.
    async fn find_primary(&mut self, actor: ActorId, path: &Path) -> Result<Option<String>, RunError> {
        let end = self.clock.now() + FIND_PRIMARY_WITHIN;
        let mut looked = false;
        loop {
            if let Some(server) = self.harness.primary(actor).await? {
                // State changes of the servers during the search are recorded before the command.
                if looked {
                    self.observe().await?;
                }
                return Ok(Some(server));
            }
            if self.clock.now() >= end {
                return Ok(None);
            }
            looked = true;
            self.run_clock_to(self.clock.now() + FIND_PRIMARY_EVERY, path).await?;
        }
    }

    /// Handles a client's report.
    pub(crate) fn handle(&mut self, arrived: Arrived, path: &Path) -> Result<(), RunError> {
        let Some(arrived) = self.withhold_report(arrived) else { return Ok(()) };
        match arrived {
            Arrived::Response(_, Response::Done { op, reply }) => match self.withhold_reply(op, reply) {
                Some(reply) => self.done(op, &reply, path),
                None => Ok(()),
            },
            Arrived::Response(_, Response::Session { actor, server, session }) => {
                let server = self.harness.server_of(actor, Some(&server)).to_owned();
                self.note_connection(actor, &server);
                self.sessions.insert((actor, server.clone()), session);
                self.recorder.record(EventKind::Session { actor, server, session });
                Ok(())
            }
            Arrived::Response(_, Response::Notified { actor, server, about, what }) => {
                let server = self.notifying_server(actor, &server, &what);
                let notification = Notification { server, about, what };
                self.step_actors(path, |actors, output| actors[actor].notify(notification, output)).map(drop)
            }
            Arrived::Response(_, Response::Said { actor, line, stderr }) => {
                self.note(path, |actors, output| actors[actor].said(line, stderr, output))
            }
            Arrived::Response(_, Response::Remarked { actor, remark }) => {
                self.note(path, |actors, output| actors[actor].remarked(remark, output))
            }
            Arrived::Response(_, Response::Rests { actor, asks, until, ended, activity }) => {
                self.note(path, |actors, output| actors[actor].rests(activity, asks, until, ended, output))
            }
            Arrived::Response(..) | Arrived::Gone(_) => Ok(()),
        }
    }

    /// The server that a notification to an actor comes from. For an ensemble, the server that the actor's
    /// client is connected to; for the news of a lost connection, the one that it was connected to, because
    /// by then the client library is trying another.
    fn notifying_server(&mut self, actor: ActorId, named: &str, what: &str) -> String {
        let server = self.harness.server_of(actor, Some(named)).to_owned();
        let lost = self.connected.get(&actor).filter(|_| self.scenario.lab().part_of(named).is_ensemble());
        match (what, lost) {
            (SUSPENDED, Some(lost)) => return lost.clone(),
            (RECONNECTED, _) => self.note_connection(actor, &server),
            _ => {}
        }
        server
    }

    /// Notes the ensemble member that an actor is connected to. Does nothing for other servers.
    pub(crate) fn note_connection(&mut self, actor: ActorId, server: &str) {
        if self.scenario.lab().part_of(server).is_ensemble() {
            self.connected.insert(actor, server.to_owned());
        }
    }

    pub(crate) fn done(&mut self, op: OpId, reply: &Reply, path: &Path) -> Result<(), RunError> {
        let Some(PendingOperation { actor, operation, .. }) = self.pending.by_op.remove(&op) else {
            return Ok(());
        };
        if !self.actors[actor].awaits(&operation) {
            return Ok(());
        }
        let reply = Arc::new(self.name_node(reply));
        let (label, place) = (operation.label.clone(), operation.path.clone());
        self.recorder.record(EventKind::Replied { op, actor, label, reply: Arc::clone(&reply) });
        let room = self.recorder.has_room();
        room.map_err(|error| self.mistake(place.as_ref().unwrap_or(path), error))?;
        if self.redirect(op, actor, &operation, &reply) {
            return Ok(());
        }
        self.step_actors(path, |actors, output| actors[actor].reply_to(&operation, &reply, output)).map(drop)
    }

    /// Runs every actor's program up to its first operation.
    pub(crate) fn start_actors(&mut self, path: &Path) -> Result<(), RunError> {
        self.step_actors(path, Actors::start).map(drop)
    }

    /// Notes something about an actor, which cannot fail, and records the events.
    fn note(&mut self, path: &Path, note: impl FnOnce(&mut Actors, &mut Output)) -> Result<(), RunError> {
        let noted = |actors: &mut Actors, output: &mut Output| {
            note(actors, output);
            Ok(())
        };
        self.step_actors(path, noted).map(drop)
    }

    /// Steps actors' programs and records the events.
    pub(crate) fn step_actors<T>(
        &mut self,
        path: &Path,
        step: impl FnOnce(&mut Actors, &mut Output) -> Result<T, Failure>,
    ) -> Result<Option<T>, RunError> {
        let mut output = Output::at(self.clock.now());
        let outcome = step(&mut self.actors, &mut output);
        self.record_output(output, outcome, path)
    }

    /// Records the events of a step. Returns `None` if a program failed and has given up: free play continues
    /// without it, while a story ends with an error.
    pub(crate) fn record_output<T>(
        &mut self,
        output: Output,
        outcome: Result<T, Failure>,
        path: &Path,
    ) -> Result<Option<T>, RunError> {
        self.recorder.has_room().map_err(|error| self.mistake(path, error))?;
        let mut gave_up = None;
        for kind in output.events {
            if let EventKind::GaveUp { actor, why } = &kind {
                gave_up.get_or_insert((*actor, why.clone()));
            }
            self.recorder.record_at(output.now, kind);
        }
        match outcome {
            Ok(done) => match gave_up.filter(|_| !self.left_story) {
                None => Ok(Some(done)),
                Some((actor, why)) => Err(self.mistake(path, ended(self.name(actor), &why))),
            },
            Err(Failure { actor, cause: Cause::Command | Cause::Reply, why, .. }) if self.left_story => {
                self.give_up(actor, why);
                Ok(None)
            }
            Err(Failure { actor, cause, path: place, why }) => {
                let why = match cause {
                    Cause::Command => why,
                    Cause::Reply | Cause::Statement => {
                        let name = self.name(actor);
                        both!("{name}: {why}", "{name}：{why}", why)
                    }
                };
                Err(self.mistake(place.as_ref().unwrap_or(path), why))
            }
        }
    }

    fn give_up(&mut self, actor: ActorId, why: Text) {
        let mut output = Output::at(self.clock.now());
        self.actors[actor].give_up(why, &mut output);
        output.events.into_iter().for_each(|kind| self.recorder.record(kind));
    }

    /// Makes an actor's moves until its program is over, or waits for something other than time.
    pub(crate) async fn finish(&mut self, actor: ActorId, path: &Path) -> Result<(), RunError> {
        self.check_not_frozen(actor, " to its end", path)?;
        for _ in 0..MOST_OPERATIONS {
            match self.actors[actor].state().clone() {
                State::Waiting { until, .. } | State::Taking { until: Some(until), .. } => {
                    self.pass_until(until, &[], path).await?;
                }
                State::Ready(operation) => {
                    let turn = PlannedMove { actor, label: operation.label.clone() };
                    self.take_turn(&turn, path).await?;
                    if self.observes_after_move_of(actor) {
                        self.settle(path).await?;
                        self.observe().await?;
                    }
                }
                State::Outside { .. } if let Some(until) = self.actors[actor].waits_until() => {
                    self.pass_until(self.first_end(until), &[], path).await?;
                }
                State::Taking { .. } => {
                    self.await_notification(actor, path).await?;
                    if matches!(self.actors[actor].state(), State::Taking { .. }) {
                        return Ok(());
                    }
                }
                State::InFlight { .. } | State::Outside { .. } | State::Finished | State::Dead => {
                    return Ok(());
                }
            }
        }
        let name = self.name(actor).to_owned();
        let why = both!(
            "{name} made {MOST_OPERATIONS} moves and its program did not end",
            "{name} 走了 {MOST_OPERATIONS} 步，程序还没结束"
        );
        Err(self.mistake(path, why))
    }

    /// The earlier of `until` and, with external programs, the end of the next wait. An external program may
    /// continue before its own wait ends: when another actor's wait ends, or its own inside a server.
    fn first_end(&self, until: LessonTime) -> LessonTime {
        let first = self.next_timer().filter(|_| self.scenario.is_attached());
        first.map_or(until, |(_, due)| due.min(until))
    }

    /// Whether an actor waits for a notification.
    pub(crate) fn is_taking(&self, actor: ActorId) -> bool {
        matches!(self.actors[actor].state(), State::Taking { .. })
    }

    /// Whether an actor is ready for an operation and its process is not frozen.
    pub(crate) fn can_move(&self, actor: ActorId) -> bool {
        self.actors[actor].is_ready() && !self.harness.is_frozen(actor)
    }

    /// Makes moves of these actors until none of them can move.
    pub(crate) async fn move_ready(&mut self, moving: &[ActorId], path: &Path) -> Result<(), RunError> {
        let able = |director: &Self| moving.iter().copied().find(|actor| director.can_move(*actor));
        for _ in 0..MOST_OPERATIONS * moving.len() {
            let Some(actor) = able(self) else { return Ok(()) };
            self.make_move(actor, path).await?;
            // Other actors may be notified of the move and move in turn.
            self.settle(path).await?;
            self.observe().await?;
        }
        match able(self) {
            None => Ok(()),
            Some(actor) => {
                let name = self.name(actor).to_owned();
                let why = both!(
                    "{name} made {MOST_OPERATIONS} moves without waiting once",
                    "{name} 连走了 {MOST_OPERATIONS} 步，一次都没有等待"
                );
                Err(self.mistake(path, why))
            }
        }
    }
}
