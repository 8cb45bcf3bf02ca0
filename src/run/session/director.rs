//! The director of a run: carries out a story's lines one by one, and records what happens.

use std::{collections::HashMap, time::Duration};

use tokio::sync::{mpsc::UnboundedSender, watch};

use super::{
    RunError, Update,
    harness::{Arrived, Harness, LESSONS_REST_WITHIN, Sessions},
    recorder::Recorder,
    supervision::{ANSWERS_WITHIN, supervised},
    throttle::Throttle,
    time::{Limits, Tempo},
};
use crate::{
    client::protocol::Response,
    clock::{LessonClock, Rate},
    lab::{LabOptions, Starvation},
    lesson::{
        Mistake, Path, Scenario,
        expr::Template,
        parse_millis,
        plan::{Act, TextPlan},
    },
    log::{ActorId, Condition, Direction, EventKind, Fault, LinkId, Log, ServerState, Stop, Target},
    program::Actors,
    text::Text,
    verdict::Watch,
};

pub(crate) struct Director {
    pub(crate) scenario: Scenario,
    pub(crate) harness: Harness,
    pub(crate) recorder: Recorder,
    pub(crate) actors: Actors,
    pub(crate) clock: LessonClock,
    pub(crate) tempo: watch::Receiver<Tempo>,
    pub(crate) limits: Limits,
    /// The longest time that may be jumped over at once although the servers' clock may not jump; see
    /// [`Director::leaps`].
    pub(crate) leap: Duration,
    /// Holds time back on a busy machine.
    pub(crate) throttle: Throttle,
    pub(crate) starvation: Starvation,
    line: usize,
    /// Whether somebody chooses what happens next, rather than the story.
    pub(crate) left_story: bool,
    /// Checks the invariants in free play.
    pub(crate) invariants: Watch,
    pub(crate) pending: super::pending::PendingOperations,
    /// The numbers that servers gave to actors' connections.
    pub(crate) sessions: HashMap<(ActorId, String), i64>,
    /// The servers of an ensemble that actors were connected to last.
    pub(crate) connected: HashMap<ActorId, String>,
    pub(crate) redirects: super::redirects::Redirects,
    pub(crate) questions: super::questions::Questions,
    /// Whether it is recorded what the servers are seen to hold.
    pub(crate) looks: bool,
    seen: Vec<ServerState>,
    metrics: HashMap<String, i64>,
}

impl Director {
    /// Starts the lab and the clients and carries the actors to their first operations.
    pub(crate) async fn set_up(
        scenario: Scenario,
        options: &LabOptions,
        seed: u64,
        tempo: watch::Receiver<Tempo>,
        listener: Option<UnboundedSender<Update>>,
    ) -> Result<Self, RunError> {
        let invariants = Watch::new(&scenario);
        let (harness, sessions) = Harness::set_up(&scenario, options, listener.is_some()).await?;
        let clock = harness.lab.clock().clone();
        let recorder = Recorder::new(clock.clone(), listener);
        let actors = Actors::new(&scenario, seed);
        let limits = Limits::of(scenario.lab(), clock.kind());
        let attached = scenario.is_users();
        let mut director = Self {
            scenario,
            harness,
            recorder,
            actors,
            clock,
            tempo,
            limits,
            leap: Duration::ZERO,
            throttle: Throttle::default(),
            starvation: Starvation::default(),
            line: 0,
            // Programs that users bring have no story.
            left_story: attached,
            invariants,
            pending: super::pending::PendingOperations::default(),
            sessions: HashMap::new(),
            connected: HashMap::new(),
            redirects: super::redirects::Redirects::default(),
            questions: super::questions::Questions::default(),
            looks: true,
            seen: Vec::new(),
            metrics: HashMap::new(),
        };
        let health = director.harness.lab.health();
        let opened = supervised(&health, director.open(sessions)).await;
        director.harness.explained(opened).await.map(|()| director)
    }

    async fn open(&mut self, sessions: Sessions) -> Result<(), RunError> {
        self.clock.begin();
        let lab = &self.harness.lab;
        self.recorder.record(EventKind::LabReady {
            lesson: self.scenario.loaded.lesson.id.clone(),
            variant: self.scenario.variant.clone(),
            clock: self.clock.kind(),
            servers: lab.servers().into_iter().chain(lab.files_info()).collect(),
            actors: self.scenario.actors.iter().map(|plan| plan.actor.clone()).collect(),
            locks: self.scenario.locks.clone(),
        });
        self.note_sessions(sessions);
        super::setup::carry_out(&self.scenario, &self.harness.lab, &self.harness.server).await?;
        self.start_actors(&Path::root().key("programs"))?;
        self.clock.set_rate(Rate::PAUSED)?;
        if self.scenario.is_attached() {
            self.settle(&Path::root().key("programs")).await?;
        }
        self.observe().await?;
        self.recorder.publish();
        Ok(())
    }

    /// Notes the sessions that clients have opened.
    fn note_sessions(&mut self, sessions: Sessions) {
        for (actor, server, session) in sessions {
            self.sessions.insert((actor, server.clone()), session);
            self.note_connection(actor, &server);
            self.recorder.record(EventKind::Session { actor, server, session });
        }
    }

    /// Ends the clients, which are to be [started anew](Self::start_clients).
    pub(crate) fn end_clients(&mut self) {
        self.harness.end_clients();
        self.sessions.clear();
        self.connected.clear();
    }

    /// Starts the clients anew, each in a fresh process.
    pub(crate) async fn start_clients(&mut self) -> Result<(), RunError> {
        let sessions = self.harness.start_clients(&self.scenario).await?;
        self.note_sessions(sessions);
        Ok(())
    }

    pub(crate) fn ended(&self) -> bool {
        self.line >= self.scenario.story.len()
    }

    /// The story's item that would come next; the last one's, where the story is over.
    pub(crate) fn next_item(&self) -> usize {
        let story = &self.scenario.story;
        let line = story.get(self.line).or_else(|| story.last());
        line.map_or(0, |line| line.item)
    }

    pub(crate) fn log(&self) -> &Log {
        &self.recorder.log
    }

    /// Carries out the story's next line. The clock runs only meanwhile; where programs from outside compute for as long as
    /// they need, and the clock can stand still, only while the line lets time pass: their own timeouts would end on a busy
    /// machine.
    pub(crate) async fn step(&mut self) -> Result<(), RunError> {
        let carried_out = self.carry_out_line().await;
        // Replies break before it is known that their server has died.
        self.harness.explained(carried_out).await
    }

    async fn carry_out_line(&mut self) -> Result<(), RunError> {
        let Some(line) = self.scenario.story.get(self.line).cloned() else { return Ok(()) };
        let stands = self.scenario.is_attached() && self.limits.jump;
        self.clock.set_rate(if stands { Rate::PAUSED } else { Rate::NORMAL })?;
        let stop = match &line.act {
            Act::Say(text) => {
                let Text { en, zh } = self.fill(text, &self.names(), &line.path.key("say"))?;
                self.recorder.record(EventKind::Say { item: line.item, en, zh });
                Stop::Narration
            }
            Act::Ask(ask) => {
                self.ask(ask, line.item, &line.path.key("ask"))?;
                Stop::Question
            }
            Act::Each(turns) => {
                for turn in turns {
                    self.take_turn(turn, &line.path).await?;
                    // After the last turn this happens below.
                    if turns.last() != Some(turn) && self.looks_after_move_of(turn.actor) {
                        self.settle(&line.path).await?;
                        self.observe().await?;
                    }
                }
                Stop::Move
            }
            Act::Together(turns) => {
                for turn in turns {
                    self.prepare(turn, &line.path).await?;
                }
                let mut flying = Vec::new();
                for turn in turns {
                    flying.extend(self.send(turn.actor, &line.path).await?);
                }
                for op in flying {
                    self.await_reply_or_wait(op, &line.path).await?;
                }
                Stop::Move
            }
            Act::Send(turn) => {
                self.prepare(turn, &line.path).await?;
                self.make_move(turn.actor, &line.path).await?;
                Stop::Move
            }
            Act::Finish(actors) => {
                for actor in actors {
                    self.finish(*actor, &line.path).await?;
                }
                Stop::Move
            }
            Act::Pass(pass) => {
                let millis = self.millis(&pass.duration, &line.path.key("pass"))?;
                self.pass(millis, &pass.moving, &line.path).await?;
                Stop::Passed
            }
            Act::Await(plan) => {
                Box::pin(self.wait_for(plan, &line.path.key("await"))).await?;
                Stop::Passed
            }
            Act::Faults(faults) => {
                for fault in faults {
                    self.inject_fault(fault, &line.path).await?;
                }
                Stop::Fault
            }
        };
        self.clock.set_rate(Rate::PAUSED)?;
        self.settle(&line.path).await?;
        self.observe().await?;
        if line.act.is_step() {
            self.decide()?;
        }
        // What cannot be evaluated is for the verdict to say.
        let _ = self.check_invariants();
        self.line += 1;
        self.recorder.record(EventKind::Stop { item: line.item, stop });
        if self.ended() {
            self.recorder.record(EventKind::Stop { item: line.item, stop: Stop::End });
        }
        self.recorder.publish();
        Ok(())
    }

    /// Whether servers are observed after an actor's move. Not for a crowd: that would take longer than its moves, and
    /// fill the log.
    pub(crate) fn looks_after_move_of(&self, actor: ActorId) -> bool {
        !self.scenario.actors[actor.0 as usize].actor.crowd
    }

    /// A text with its values filled in.
    pub(crate) fn fill(
        &self,
        text: &TextPlan,
        names: &minijinja::Value,
        path: &Path,
    ) -> Result<Text, RunError> {
        let fill = |template: &Template, lang: &str| {
            template.render(names).map_err(|error| self.mistake(&path.key(lang), error))
        };
        Ok(Text { en: fill(&text.en, "en")?, zh: fill(&text.zh, "zh")? })
    }

    pub(crate) fn names(&self) -> minijinja::Value {
        let mut scope = self.scenario.scope.clone();
        for plan in &self.scenario.actors {
            for counter in &plan.program.counters {
                if scope.get(counter).is_none() {
                    scope.set(counter, 0.into());
                }
            }
        }
        for event in self.log().events() {
            if let EventKind::Counted { counter, by, .. } = &event.kind {
                let before =
                    scope.get(counter).and_then(|value| i64::try_from(value.clone()).ok()).unwrap_or(0);
                scope.set(counter, (before + by).into());
            }
        }
        scope.value()
    }

    pub(crate) fn millis(&self, duration: &Template, path: &Path) -> Result<i64, RunError> {
        let text = duration.render(&self.scenario.scope.value());
        text.map_err(Text::from)
            .and_then(|text| parse_millis(&text))
            .map_err(|error| self.mistake(path, error))
    }

    pub(crate) fn mistake(&self, path: &Path, message: impl Into<Text>) -> RunError {
        self.scenario.loaded.source.place(&Mistake::new(path, message)).into()
    }

    fn client_of(&self, actor: ActorId) -> &str {
        &self.scenario.actors[actor.0 as usize].actor.client
    }

    pub(crate) fn name(&self, actor: ActorId) -> &str {
        &self.scenario.actors[actor.0 as usize].actor.name
    }

    pub(crate) async fn inject_fault(&mut self, fault: &Fault, path: &Path) -> Result<(), RunError> {
        match self.try_inject(fault, path).await? {
            Ok(()) => self.record_fault(fault, path).await,
            Err(why) => Err(self.mistake(path, why)),
        }
    }

    /// Injects a fault; gives why it cannot be injected, where it cannot.
    pub(crate) async fn try_inject(
        &mut self,
        fault: &Fault,
        path: &Path,
    ) -> Result<Result<(), Text>, RunError> {
        // Connecting needs replies: whoever has not connected yet does so while there are any, and what is sent to a
        // frozen server then waits in its socket.
        let soon_silent = match (fault.target(), fault.leaves()) {
            (Target::Link(link), Condition::Held(Direction::Replies) | Condition::Delayed(..)) => {
                vec![link.clone()]
            }
            (Target::Server(server), Condition::Frozen) if self.scenario.lab().is_cluster() => {
                self.harness.clients.iter().map(|client| LinkId::new(&client.name, server)).collect()
            }
            _ => Vec::new(),
        };
        for link in soon_silent {
            if self.harness.ask_to_reach(&link).await? {
                self.handle_until(|response| matches!(response, Response::Reached), path).await?;
            }
        }
        self.harness.inject(fault).await
    }

    /// Records a fault that was injected, and handles its effects on actors.
    pub(crate) async fn record_fault(&mut self, fault: &Fault, path: &Path) -> Result<(), RunError> {
        self.recorder.record(EventKind::Fault(fault.clone()));
        let waited = self.pending.left_waiting();
        self.await_broken(fault, path).await?;
        if fault.client().is_some() && fault.leaves() == Condition::Running {
            self.catch_up(path)?;
        }
        if let Fault::SkewClient { client, ahead_ms } = fault {
            for actor in
                self.actors.ids().filter(|actor| self.client_of(*actor) == client).collect::<Vec<_>>()
            {
                self.actors[actor].set_clock(*ahead_ms);
            }
        }
        if let Some(client) = fault.killed_client() {
            for killed in self.actors.ids() {
                if self.client_of(killed) == client {
                    self.actors[killed].kill();
                    self.pending.forget(killed);
                }
            }
            self.await_departed(client, None, &waited).await?;
        }
        if let (Target::Link(link), Condition::Cut) = (fault.target(), fault.leaves()) {
            self.await_departed(&link.from, Some(&link.to), &waited).await?;
        }
        self.await_replies(path).await
    }

    /// Waits until everything that the servers have sent to the clients by now is recorded.
    pub(crate) async fn settle(&mut self, path: &Path) -> Result<(), RunError> {
        loop {
            self.hear_clients(path).await?;
            self.settle_waits(path).await?;
            // A reply that somebody's move brought about brings a program from outside on.
            if !self.somebody_is_at_work() {
                return Ok(());
            }
        }
    }

    /// Handles what the clients have to report by now.
    pub(crate) async fn hear_clients(&mut self, path: &Path) -> Result<(), RunError> {
        for _ in 0..self.harness.ask_to_settle().await? {
            self.handle_until(|response| matches!(response, Response::Settled), path).await?;
        }
        Ok(())
    }

    /// Whether a program from outside may still do something by itself.
    pub(crate) fn somebody_is_at_work(&self) -> bool {
        let at_work = |actor| self.actors[actor].is_at_work() && self.harness.runs(actor);
        self.actors.ids().any(at_work)
    }

    /// Ends what the clients' connections were told to listen to.
    pub(crate) async fn unsubscribe(&mut self, path: &Path) -> Result<(), RunError> {
        if self.scenario.actors.iter().any(|plan| plan.program.listens) {
            for _ in 0..self.harness.ask_to_reconnect().await? {
                self.handle_until(|response| matches!(response, Response::Reached), path).await?;
            }
        }
        Ok(())
    }

    /// Handles what clients report, up to a certain response.
    async fn handle_until(&mut self, last: impl Fn(&Response) -> bool, path: &Path) -> Result<(), RunError> {
        // The gate of a program says after that time that it is busy.
        let rests = if self.scenario.is_attached() { LESSONS_REST_WITHIN } else { ANSWERS_WITHIN };
        loop {
            let arrived = self.harness.next_within(rests + ANSWERS_WITHIN).await?;
            let over = matches!(&arrived, Arrived::Response(_, response) if last(response));
            self.handle(arrived, path)?;
            if over {
                return Ok(());
            }
        }
    }

    /// Records what the servers hold, where it has changed.
    pub(crate) async fn observe(&mut self) -> Result<(), RunError> {
        if !self.looks {
            return Ok(());
        }
        let states = self.harness.observe().await?;
        self.hear_sentinels();
        for state in &states {
            if !self.seen.contains(state) {
                self.recorder.record(EventKind::State(state.clone()));
            }
        }
        self.seen = states;
        for name in &self.scenario.loaded.lesson.metrics {
            // They are counted by servers of the lesson's first product.
            let counts = self.scenario.loaded.lesson.lab.product();
            let Some(server) = self.scenario.lab().first_of(counts).map(str::to_owned) else { continue };
            // A dead or frozen server has no metrics.
            if !self.harness.answers(&server)? {
                continue;
            }
            let value = self.harness.lab.metric(&server, name).await?;
            if self.metrics.insert(name.clone(), value) == Some(value) {
                continue;
            }
            self.recorder.record(EventKind::Metric { server, name: name.clone(), value });
        }
        Ok(())
    }

    /// Records what Sentinels have told by now.
    pub(crate) fn hear_sentinels(&mut self) {
        if self.looks {
            for (at, sentinel, notice) in self.harness.lab.notices() {
                self.recorder.record_at(at, EventKind::Sentinel { sentinel, notice });
            }
        }
    }

    /// Between steps: handles what arrives late, such as a reply that a released link let through. Fails when a server or
    /// a client dies.
    pub(crate) async fn receive(&mut self) -> Result<(), RunError> {
        let arrived = self.harness.next().await?;
        let path = Path::root().key("story");
        self.handle(arrived, &path)?;
        self.take_woken(|_| true, &path)?;
        self.recorder.publish();
        Ok(())
    }

    /// Another log begins, in which nothing that the servers hold is recorded yet.
    pub(crate) fn forget_seen(&mut self) {
        self.seen.clear();
        self.metrics.clear();
        self.invariants = Watch::new(&self.scenario);
    }

    /// Ends the run: clients and servers are gone when it returns.
    pub(crate) async fn tear_down(self) -> Log {
        self.harness.tear_down().await;
        self.recorder.log
    }
}
