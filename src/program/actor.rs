//! An actor during a run: its position in its program, and the operation or wait it is in.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use super::{
    interpreter::{After, Interpreter, Next, without_help},
    live::LiveNames,
    times::Times,
};
use crate::{
    client::protocol::{Activity, Wire},
    clock::LessonTime,
    lesson::{
        Path, parse_signed_millis,
        plan::{ActorPlan, PlannedOperation, PlannedVerb, Program, TakePlan, command_label},
    },
    log::{ActorId, Belief, Command, EventKind, OpId, Product, Reply},
    text::{Text, both},
};

#[derive(Debug, Clone)]
pub(crate) struct Actor {
    id: ActorId,
    interpreter: Interpreter,
    state: State,
    /// Notifications that no operation has taken yet.
    notifications: VecDeque<Notification>,
    /// Commands of an attached program that have been sent and have no reply yet. There may be one on each of its
    /// connections, and the program may continue meanwhile.
    unanswered: Vec<Arc<PlannedOperation>>,
    /// When the first wait of an attached program ends, as far as is known.
    timer: Option<LessonTime>,
    activity: Activity,
    /// The locks for which the latest belief that an attached program printed is not "nothing".
    believed_locks: BTreeSet<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Notification {
    pub(crate) server: String,
    pub(crate) about: String,
    pub(crate) what: String,
}

/// The subject (`about`) of notifications about the client's own session. An operation has to ask for it by name: `any`
/// covers only notifications about what servers hold.
pub(crate) const SESSION: &str = "session";

impl Notification {
    fn is_wanted(&self, from: &[String]) -> bool {
        from.iter().any(|wanted| *wanted == self.about || (wanted == "any" && self.about != SESSION))
    }
}

#[derive(Debug, Clone)]
pub(crate) enum State {
    Ready(Arc<PlannedOperation>),
    /// The operation was sent and has no reply yet.
    InFlight {
        operation: Arc<PlannedOperation>,
    },
    /// The actor waits for a notification about one of `from`, until `until` at most.
    Taking {
        operation: Arc<PlannedOperation>,
        from: Vec<String>,
        until: Option<LessonTime>,
    },
    /// The actor waits for time to pass; then it retries the operation in `again`, or continues.
    Waiting {
        label: String,
        until: LessonTime,
        again: Option<Arc<PlannedOperation>>,
    },
    /// The actor's program is an attached one, between requests.
    Outside {
        /// Whether the program waits for something outside itself: a reply, or time to pass.
        rests: bool,
        /// Whether a `Waits` event was recorded for the current wait.
        waits: bool,
    },
    Finished,
    /// The actor's process was killed, or its program met something that it does not handle.
    Dead,
}

/// What an operation needs to complete.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request {
    Command(Wire),
    /// A notification about one of these subjects, within this many milliseconds; without a limit if `None`.
    Notification(Vec<String>, Option<u64>),
}

/// The events of one step, which all happen at the same time.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) now: LessonTime,
    pub(crate) events: Vec<EventKind>,
}

impl Output {
    pub(crate) fn at(now: LessonTime) -> Self {
        Self { now, events: Vec::new() }
    }
}

/// Why a program cannot continue.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(crate) actor: ActorId,
    pub(crate) cause: Cause,
    /// The path of the operation or step in the lesson, if it has one.
    pub(crate) path: Option<Path>,
    pub(crate) why: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The values of the next operation could not be filled in.
    Command,
    /// The program does not handle the reply.
    Reply,
    /// A statement between operations failed.
    Statement,
}

impl Actor {
    pub(crate) fn new(id: ActorId, plan: &ActorPlan, seed: u64) -> Self {
        Self {
            id,
            interpreter: Interpreter::new(plan, seed),
            state: State::Finished,
            notifications: VecDeque::new(),
            unanswered: Vec::new(),
            timer: None,
            activity: Activity::default(),
            believed_locks: BTreeSet::new(),
        }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn program(&self) -> &Arc<Program> {
        &self.interpreter.program
    }

    /// Returns a copy under another id: the state that another actor of the same program would have here.
    pub(crate) fn with_id(&self, id: ActorId) -> Self {
        Self { id, ..self.clone() }
    }

    /// Everything that decides what the actor does next, as a text: two actors with equal texts behave alike.
    /// `bounded`: also includes the rounds left of loops that end by a condition.
    pub(crate) fn local_state(&self, live: &LiveNames, bounded: bool) -> String {
        let until = |until: &Option<LessonTime>| until.map(LessonTime::as_nanos);
        let state = match &self.state {
            State::Outside { .. } => return "outside".to_owned(),
            State::Finished => return "finished".to_owned(),
            State::Dead => return "dead".to_owned(),
            State::Ready(operation) => format!("ready {:p}", Arc::as_ptr(operation)),
            State::InFlight { operation } => format!("sent {:p}", Arc::as_ptr(operation)),
            State::Taking { operation, from, until: end } => {
                format!("takes {:p} {from:?} {:?}", Arc::as_ptr(operation), until(end))
            }
            State::Waiting { until: end, again, .. } => {
                let again = again.as_ref().map(Arc::as_ptr);
                format!("waits {} {again:?}", end.as_nanos())
            }
        };
        format!("{state} {} {:?}", self.interpreter.local_state(live, bounded), self.notifications)
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready(_))
    }

    /// Whether the actor makes no more moves: it finished or is dead.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Finished | State::Dead)
    }

    pub(crate) fn next_operation(&self) -> Option<&Arc<PlannedOperation>> {
        match &self.state {
            State::Ready(operation) => Some(operation),
            _ => None,
        }
    }

    /// The operation that the actor is ready for or in the middle of.
    pub(crate) fn operation(&self) -> Option<&Arc<PlannedOperation>> {
        match &self.state {
            State::Ready(operation) | State::InFlight { operation } | State::Taking { operation, .. } => {
                Some(operation)
            }
            State::Waiting { .. } | State::Outside { .. } | State::Finished | State::Dead => None,
        }
    }

    /// When the current wait ends; `None` if the actor does not wait, or waits without a limit.
    pub(crate) fn waits_until(&self) -> Option<LessonTime> {
        match self.state {
            State::Finished | State::Dead => None,
            _ if self.program().outside => self.timer,
            State::Waiting { until, .. } => Some(until),
            State::Taking { until, .. } => until,
            _ => None,
        }
    }

    /// The request that the operation would make if it began now, without changing the actor. `None` if there is no
    /// operation.
    pub(crate) fn foresee(&self, now: LessonTime, server: &str) -> Option<Result<Request, Text>> {
        let operation = self.operation()?;
        let mut begun = self.interpreter.clone();
        begun.set_time(now);
        Some(begun.begin().and_then(|()| request(&begun, operation, server)))
    }

    /// Begins the next operation. Returns the command to send, or `None` if the operation takes a notification or no
    /// operation is next.
    pub(crate) fn send(&mut self, server: &str, output: &mut Output) -> Result<Option<Wire>, Failure> {
        let Some(operation) = self.next_operation().cloned() else { return Ok(None) };
        self.interpreter.set_time(output.now);
        let begun = self.interpreter.begin();
        let request = begun.and_then(|()| request(&self.interpreter, &operation, server));
        match request.map_err(|why| self.failure(Cause::Command, Some(&operation), why))? {
            Request::Command(wire) => {
                if self.program().outside {
                    self.unanswered.push(Arc::clone(&operation));
                }
                self.state = State::InFlight { operation };
                Ok(Some(wire))
            }
            Request::Notification(from, millis) => {
                let label = operation.label.clone();
                let until = millis.map(|millis| output.now + Duration::from_millis(millis));
                self.state = State::Taking { operation, from, until };
                if !self.take(output)?
                    && let Some(until) = until
                {
                    output.events.push(EventKind::Waits { actor: self.id, label, until });
                    // Within no time, what is not in the queue now does not come.
                    if until <= output.now {
                        self.wake(output)?;
                    }
                }
                Ok(None)
            }
        }
    }

    /// The log event of an operation that has been sent.
    pub(crate) fn sent(&self, op: OpId, operation: &PlannedOperation, wire: &Wire) -> EventKind {
        // A lock whose name cannot be evaluated yet counts as held until its `drops`.
        let releases = operation.releases.iter().filter_map(|lock| self.interpreter.render(lock).ok());
        EventKind::Sent {
            op,
            actor: self.id,
            label: operation.label.clone(),
            server: wire.server.clone(),
            command: wire.command.clone(),
            releases: releases.collect(),
        }
    }

    /// Whether the actor still waits for the reply to this operation.
    pub(crate) fn awaits(&self, operation: &Arc<PlannedOperation>) -> bool {
        let current = match &self.state {
            State::InFlight { operation } => Some(operation),
            _ => None,
        };
        current.into_iter().chain(&self.unanswered).any(|known| Arc::ptr_eq(known, operation))
    }

    /// Applies the reply to this operation, which must be one that the actor awaits.
    pub(crate) fn reply_to(
        &mut self,
        operation: &Arc<PlannedOperation>,
        reply: &Reply,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if !self.program().outside {
            return self.reply(reply, output);
        }
        self.unanswered.retain(|known| !Arc::ptr_eq(known, operation));
        self.state = State::Outside { rests: false, waits: false };
        Ok(())
    }

    /// Applies the reply to the operation in flight.
    pub(crate) fn reply(&mut self, reply: &Reply, output: &mut Output) -> Result<(), Failure> {
        let State::InFlight { operation } = &self.state else { return Ok(()) };
        let operation = Arc::clone(operation);
        self.interpreter.set_time(output.now);
        let after = self.interpreter.apply_reply(&operation, reply);
        match after.map_err(|why| self.failure(Cause::Reply, Some(&operation), why))? {
            After::Done => return self.advance(output),
            After::Retry(0) => self.state = State::Ready(operation),
            After::Retry(millis) => self.wait(&operation, millis, true, output),
        }
        Ok(())
    }

    /// Stores a notification. If the actor waits for it, the actor takes it at once.
    pub(crate) fn notify(&mut self, notification: Notification, output: &mut Output) -> Result<(), Failure> {
        let Notification { server, about, what } = notification.clone();
        self.notifications.push_back(notification);
        output.events.push(EventKind::Notified { actor: self.id, server, about, what });
        self.take(output).map(drop)
    }

    /// Takes the oldest notification that the current operation waits for. Returns whether there was one.
    fn take(&mut self, output: &mut Output) -> Result<bool, Failure> {
        let State::Taking { operation, from, .. } = &self.state else { return Ok(false) };
        let found = self.notifications.iter().position(|notification| notification.is_wanted(from));
        let Some(Notification { about, what, .. }) = found.and_then(|n| self.notifications.remove(n)) else {
            return Ok(false);
        };
        let operation = Arc::clone(operation);
        let reply = serde_json::json!({ "about": about, "what": what });
        let label = operation.label.clone();
        output.events.push(EventKind::Took { actor: self.id, label, about, what });
        self.finish_take(operation, &Reply::Value(reply), output).map(|()| true)
    }

    /// Completes a `take` with the notification, or with nil when its time is over.
    fn finish_take(
        &mut self,
        operation: Arc<PlannedOperation>,
        reply: &Reply,
        output: &mut Output,
    ) -> Result<(), Failure> {
        self.interpreter.set_time(output.now);
        let after = self.interpreter.apply_reply(&operation, reply);
        match after.map_err(|why| self.failure(Cause::Statement, None, why))? {
            After::Done => return self.advance(output),
            // Retries at once: the next notification may already be there.
            After::Retry(_) => self.state = State::Ready(operation),
        }
        Ok(())
    }

    /// Drops all notifications that no operation has taken.
    pub(crate) fn forget_notifications(&mut self) {
        self.notifications.clear();
    }

    /// An attached program printed a line. Only lines on standard output can state beliefs.
    pub(crate) fn said(&mut self, text: String, stderr: bool, output: &mut Output) {
        let actor = self.id;
        let Some((belief, lock)) = Belief::printed(&text).filter(|_| !stderr) else {
            return output.events.push(EventKind::Said { actor, text, stderr, zh: None });
        };
        let lock = lock.to_owned();
        if belief == Belief::Nothing {
            self.believed_locks.remove(&lock);
        } else {
            self.believed_locks.insert(lock.clone());
        }
        output.events.push(EventKind::Believes { actor, lock, belief });
    }

    /// Records a remark of Lockstep's about the actor's program, in both languages.
    pub(crate) fn remarked(&mut self, Text { en, zh }: Text, output: &mut Output) {
        output.events.push(EventKind::Said { actor: self.id, text: en, stderr: false, zh: Some(zh) });
    }

    /// An attached program is idle: it waits for the reply to `asks`, waits `until` a time, or has ended. `ended` is
    /// empty after a normal exit; otherwise it says why the program failed.
    pub(crate) fn rests(
        &mut self,
        activity: Activity,
        asks: Option<Wire>,
        until: Option<LessonTime>,
        ended: Option<Text>,
        output: &mut Output,
    ) {
        self.activity = activity;
        if self.is_over() || !self.program().outside {
            return;
        }
        let waited = matches!(self.state, State::Outside { waits: true, .. });
        let label = || "wait".to_owned();
        let goes_on = ended.is_some() || asks.is_some() || self.timer != until;
        if waited && goes_on {
            output.events.push(EventKind::Waited { actor: self.id, label: label(), in_vain: false });
        }
        self.timer = until;
        if let Some(last) = ended {
            if last == Text::default() {
                self.state = State::Finished;
                self.unanswered.clear();
                let actor = self.id;
                // The process has exited, so it holds none of these locks any more.
                for lock in std::mem::take(&mut self.believed_locks) {
                    output.events.push(EventKind::Believes { actor, lock, belief: Belief::Nothing });
                }
                output.events.push(EventKind::Finished { actor });
            } else {
                self.give_up(last, output);
            }
            return;
        }
        match (&self.state, asks) {
            (State::Ready(known), Some(wire)) if is_of(known, &wire) => {}
            (_, Some(wire)) => self.state = State::Ready(Arc::new(given(wire))),
            (_, None) if let Some(operation) = self.unanswered.last() => {
                self.state = State::InFlight { operation: Arc::clone(operation) };
            }
            (_, None) => {
                let waits = until.is_some();
                if let Some(until) = until
                    && (goes_on || !waited)
                {
                    output.events.push(EventKind::Waits { actor: self.id, label: label(), until });
                }
                self.state = State::Outside { rests: true, waits };
            }
        }
    }

    /// What is known of an attached program; `None` for a program of Lockstep's own.
    pub(crate) fn activity(&self) -> Option<Activity> {
        self.program().outside.then_some(self.activity)
    }

    /// Whether an attached program may still act by itself, without a reply or the passing of time.
    pub(crate) fn is_at_work(&self) -> bool {
        matches!(self.state, State::Outside { rests: false, .. })
    }

    pub(crate) fn wake(&mut self, output: &mut Output) -> Result<(), Failure> {
        if self.program().outside {
            self.timer = None;
            if let State::Outside { waits, .. } = self.state {
                if waits {
                    let label = "wait".to_owned();
                    output.events.push(EventKind::Waited { actor: self.id, label, in_vain: false });
                }
                self.state = State::Outside { rests: false, waits: false };
            }
            return Ok(());
        }
        if let State::Taking { operation, until: Some(_), .. } = &self.state {
            let operation = Arc::clone(operation);
            let label = operation.label.clone();
            output.events.push(EventKind::Waited { actor: self.id, label, in_vain: true });
            return self.finish_take(operation, &Reply::Value(serde_json::Value::Null), output);
        }
        let State::Waiting { label, again, .. } = &self.state else { return Ok(()) };
        output.events.push(EventKind::Waited { actor: self.id, label: label.clone(), in_vain: false });
        if let Some(operation) = again {
            self.state = State::Ready(Arc::clone(operation));
            return Ok(());
        }
        self.interpreter.finish_wait();
        self.advance(output)
    }

    /// Sets the client's clock this many milliseconds ahead of lesson time.
    pub(crate) fn set_clock(&mut self, ahead_ms: i64) {
        self.interpreter.ahead_ms = ahead_ms;
    }

    /// Postpones the end of the current wait. Waits of an attached program are its own and do not change.
    pub(crate) fn put_off(&mut self, by: Duration) {
        if let State::Waiting { until, .. } | State::Taking { until: Some(until), .. } = &mut self.state {
            *until += by;
        }
    }

    pub(crate) fn bring_forward(&mut self, by: Duration) {
        if let State::Waiting { until, .. } | State::Taking { until: Some(until), .. } = &mut self.state {
            let by = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
            *until = LessonTime::from_nanos(until.as_nanos().saturating_sub(by));
        }
    }

    /// Makes the times that the program has read earlier.
    pub(crate) fn make_earlier(&mut self, times: &Times, by: Duration) {
        self.interpreter.make_earlier(times, i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
    }

    pub(crate) fn kill(&mut self) {
        self.state = State::Dead;
        self.unanswered.clear();
    }

    /// Ends the program at an error that it does not handle, as an uncaught exception would.
    pub(crate) fn give_up(&mut self, why: impl Into<Text>, output: &mut Output) {
        self.kill();
        let why = without_help(&why.into());
        output.events.push(EventKind::GaveUp { actor: self.id, why });
    }

    /// Executes statements up to the next operation.
    pub(crate) fn advance(&mut self, output: &mut Output) -> Result<(), Failure> {
        if self.program().outside {
            self.state = State::Outside { rests: false, waits: false };
            return Ok(());
        }
        self.interpreter.set_time(output.now);
        let next = self.interpreter.advance(self.id, &mut output.events);
        match next.map_err(|why| self.failure(Cause::Statement, None, why))? {
            Next::End => {
                self.state = State::Finished;
                output.events.push(EventKind::Finished { actor: self.id });
            }
            Next::NoRoundLeft => self.give_up("a `repeat … while` reached its bound (`at_most`)", output),
            Next::Operation(operation) => match &operation.verb {
                PlannedVerb::Wait(duration) => {
                    let millis = self.interpreter.millis(duration);
                    let millis =
                        millis.map_err(|why| self.failure(Cause::Statement, Some(&operation), why))?;
                    self.wait(&operation, millis, false, output);
                }
                _ => self.state = State::Ready(operation),
            },
        }
        Ok(())
    }

    fn wait(&mut self, operation: &Arc<PlannedOperation>, millis: i64, again: bool, output: &mut Output) {
        let until = output.now + Duration::from_millis(u64::try_from(millis).unwrap_or(0));
        let label = operation.label.clone();
        let again = again.then(|| Arc::clone(operation));
        self.state = State::Waiting { label: label.clone(), until, again };
        output.events.push(EventKind::Waits { actor: self.id, label, until });
    }

    fn failure(&self, cause: Cause, operation: Option<&Arc<PlannedOperation>>, why: Text) -> Failure {
        let path =
            self.interpreter.place().or(operation.and_then(|operation| operation.path.as_ref())).cloned();
        Failure { actor: self.id, cause, path, why }
    }
}

/// Whether an operation of an attached program is this request.
fn is_of(operation: &PlannedOperation, wire: &Wire) -> bool {
    operation.on.as_ref() == Some(&wire.server)
        && matches!(&operation.verb, PlannedVerb::Given(command) if *command == wire.command)
}

/// Builds the operation for a request of an attached program.
fn given(Wire { server, command, .. }: Wire) -> PlannedOperation {
    let product = if matches!(command, Command::Zookeeper(_)) { Product::Zookeeper } else { Product::Redis };
    let label = command_label(command.brief().split_whitespace().next().unwrap_or_default(), product);
    PlannedOperation {
        label,
        verb: PlannedVerb::Given(command),
        on: Some(server),
        until: None,
        every: None,
        allow: Vec::new(),
        releases: Vec::new(),
        queued: false,
        path: None,
    }
}

/// The request of an operation that has begun.
fn request(interpreter: &Interpreter, operation: &PlannedOperation, server: &str) -> Result<Request, Text> {
    if let PlannedVerb::Take(TakePlan { from, within }) = &operation.verb {
        let from = from.iter().map(|from| interpreter.render(from)).collect::<Result<_, _>>()?;
        // PTTL answers -1 for a key without expiry: the wait then has no limit.
        let within =
            within.as_ref().map(|within| parse_signed_millis(&interpreter.render(within)?)).transpose()?;
        return Ok(Request::Notification(from, within.and_then(|millis| u64::try_from(millis).ok())));
    }
    let wire = interpreter.wire(operation, server.to_owned())?;
    wire.map(Request::Command).ok_or_else(|| {
        let label = &operation.label;
        both!("`{label}` sends no command", "`{label}` 不发送命令")
    })
}
