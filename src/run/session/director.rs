//! The director of a run: carries out a story's lines one by one, and records what happens.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use tokio::sync::{mpsc::UnboundedSender, watch};

use super::{
    RunError, Update,
    client::LESSONS_REST_WITHIN,
    harness::{Arrived, Harness, Sessions},
    recorder::Recorder,
    setup::{self, Connections},
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
    log::{
        ActorId, Condition, Direction, EventKind, Fault, LinkId, Log, Product, ServerInfo, ServerState, Stop,
        Target,
    },
    program::Actors,
    text::Text,
    verdict::Watch,
};

/// How long lesson time runs on during a look at the servers, in real time. A look takes some milliseconds; if it takes
/// this long, the machine is too busy to run a server, and the sessions of its clients must not end by that.
const RUNS_WHILE_LOOKING: Duration = Duration::from_secs(1);

pub(crate) struct Director {
    pub(crate) scenario: Scenario,
    pub(crate) harness: Harness,
    pub(crate) recorder: Recorder,
    pub(crate) actors: Actors,
    pub(crate) clock: LessonClock,
    pub(crate) tempo: watch::Receiver<Tempo>,
    pub(crate) limits: Limits,
    /// The longest jump of lesson time that is made although the lab's clock may not jump; see
    /// [`Director::leaps`].
    pub(crate) leap: Duration,
    /// Slows lesson time down on a busy machine.
    pub(crate) throttle: Throttle,
    pub(crate) starvation: Starvation,
    line: usize,
    /// Whether the user, rather than the story, chooses what happens next.
    pub(crate) left_story: bool,
    /// Checks the invariants in free play.
    pub(crate) invariants: Watch,
    pub(crate) pending: super::pending::PendingOperations,
    /// The session ids that servers gave to actors' connections, by actor and server.
    pub(crate) sessions: HashMap<(ActorId, String), i64>,
    /// The ensemble member that each actor was connected to last.
    pub(crate) connected: HashMap<ActorId, String>,
    pub(crate) redirects: super::redirects::Redirects,
    pub(crate) questions: super::questions::Questions,
    /// Whether observed server states are recorded.
    pub(crate) observes: bool,
    /// The servers that are left out of that.
    pub(crate) unasked: HashSet<String>,
    known_states: Vec<ServerState>,
    metrics: HashMap<String, i64>,
}

impl Director {
    /// Starts the lab and the clients, and runs each actor's program up to its first operation.
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
            // Users' own programs have no story.
            left_story: attached,
            invariants,
            pending: super::pending::PendingOperations::default(),
            sessions: HashMap::new(),
            connected: HashMap::new(),
            redirects: super::redirects::Redirects::default(),
            questions: super::questions::Questions::default(),
            observes: true,
            unasked: HashSet::new(),
            known_states: Vec::new(),
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
            counters: self.scenario.counter_titles.clone(),
        });
        self.note_sessions(sessions);
        let mut connections = Connections::default();
        setup::carry_out(&self.scenario, &self.harness.lab, &self.harness.server, &mut connections).await?;
        self.start_actors(&Path::root().key("programs"))?;
        self.clock.set_rate(Rate::PAUSED)?;
        if self.scenario.is_attached() {
            self.settle(&Path::root().key("programs")).await?;
        }
        self.observe().await?;
        self.recorder.publish();
        Ok(())
    }

    /// Records the sessions that clients have opened.
    fn note_sessions(&mut self, sessions: Sessions) {
        for (actor, server, session) in sessions {
            self.sessions.insert((actor, server.clone()), session);
            self.note_connection(actor, &server);
            self.recorder.record(EventKind::Session { actor, server, session });
        }
    }

    /// Ends the clients; [`Self::start_clients`] starts new ones.
    pub(crate) fn end_clients(&mut self) {
        self.harness.end_clients();
        self.sessions.clear();
        self.connected.clear();
    }

    /// Starts each client in a fresh process.
    pub(crate) async fn start_clients(&mut self) -> Result<(), RunError> {
        let sessions = self.harness.start_clients(&self.scenario).await?;
        self.note_sessions(sessions);
        Ok(())
    }

    pub(crate) fn ended(&self) -> bool {
        self.line >= self.scenario.story.len()
    }

    /// The index of the story item that comes next, or of the last item once the story is over.
    pub(crate) fn next_item(&self) -> usize {
        let story = &self.scenario.story;
        let line = story.get(self.line).or_else(|| story.last());
        line.map_or(0, |line| line.item)
    }

    pub(crate) fn log(&self) -> &Log {
        &self.recorder.log
    }

    /// Carries out the story's next line. The clock runs only during the line. With external programs, on a
    /// clock that can stand still, it runs only while the line lets time pass: such programs compute for as
    /// long as they need, and on a busy machine their own timeouts would expire meanwhile.
    pub(crate) async fn step(&mut self) -> Result<(), RunError> {
        let carried_out = self.carry_out_line().await;
        // A reply fails before the death of its server is known, so the error is explained afterwards.
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
                    // After the last turn, settling and observing happen below.
                    if turns.last() != Some(turn) && self.observes_after_move_of(turn.actor) {
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
                let mut in_flight = Vec::new();
                for turn in turns {
                    in_flight.extend(self.send(turn.actor, &line.path).await?);
                }
                for op in in_flight {
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
        // An invariant that cannot be evaluated is reported by the verdict.
        let _ = self.check_invariants();
        self.line += 1;
        self.recorder.record(EventKind::Stop { item: line.item, stop });
        if self.ended() {
            self.recorder.record(EventKind::Stop { item: line.item, stop: Stop::End });
        }
        self.recorder.publish();
        Ok(())
    }

    /// Whether servers are observed after each move of an actor. Not for a crowd: observing would take longer
    /// than its moves and fill the log.
    pub(crate) fn observes_after_move_of(&self, actor: ActorId) -> bool {
        !self.scenario.actor(actor).actor.crowd
    }

    /// Renders a text in both languages with the values of `names`.
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
        for counter in &self.scenario.counters {
            scope.set(counter, 0.into());
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
        &self.scenario.actor(actor).actor.client
    }

    pub(crate) fn name(&self, actor: ActorId) -> &str {
        &self.scenario.actor(actor).actor.name
    }

    pub(crate) async fn inject_fault(&mut self, fault: &Fault, path: &Path) -> Result<(), RunError> {
        match self.try_inject(fault, path).await? {
            Ok(()) => self.record_fault(fault, path).await,
            Err(why) => Err(self.mistake(path, why)),
        }
    }

    /// Injects a fault. The inner `Err` says why it cannot be injected.
    pub(crate) async fn try_inject(
        &mut self,
        fault: &Fault,
        path: &Path,
    ) -> Result<Result<(), Text>, RunError> {
        // Connecting needs replies, so a client that is not connected yet connects while replies still come.
        // What it sends to a frozen server afterwards waits in the socket.
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

    /// Records an injected fault and handles its effects on actors.
    pub(crate) async fn record_fault(&mut self, fault: &Fault, path: &Path) -> Result<(), RunError> {
        self.recorder.record(EventKind::Fault(fault.clone()));
        let waited = self.blocked();
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
            self.await_disconnected(client, None, &waited).await?;
        }
        if let (Target::Link(link), Condition::Cut) = (fault.target(), fault.leaves()) {
            self.await_disconnected(&link.from, Some(&link.to), &waited).await?;
        }
        self.note_abandoned(fault, &waited).await?;
        self.await_replies(path).await
    }

    /// Waits until a client that goes on trying over a cut link is connected again, now that the link is open.
    pub(crate) async fn await_reconnected(&mut self, link: &LinkId, path: &Path) -> Result<(), RunError> {
        if !self.harness.ask_to_return(link).await? {
            return Ok(());
        }
        // Its server does not tolerate a stopped clock while a client connects.
        self.clock.set_rate(Rate::NORMAL)?;
        self.handle_until(|response| matches!(response, Response::Reached), path).await?;
        self.clock.set_rate(Rate::PAUSED)?;
        self.settle(path).await
    }

    /// Waits until everything that the servers have sent to the clients so far is recorded.
    pub(crate) async fn settle(&mut self, path: &Path) -> Result<(), RunError> {
        loop {
            self.receive_reports(path).await?;
            self.settle_waits(path).await?;
            // A reply that another actor's move brought about may let an external program continue.
            if !self.any_program_is_at_work() {
                return Ok(());
            }
        }
    }

    /// Handles everything that the clients have to report so far.
    pub(crate) async fn receive_reports(&mut self, path: &Path) -> Result<(), RunError> {
        for _ in 0..self.harness.ask_to_settle().await? {
            self.handle_until(|response| matches!(response, Response::Settled), path).await?;
        }
        Ok(())
    }

    /// Whether an external program is still at work: it has not come to rest, and its process runs.
    pub(crate) fn any_program_is_at_work(&self) -> bool {
        let at_work = |actor| self.actors[actor].is_at_work() && self.harness.runs(actor);
        self.actors.ids().any(at_work)
    }

    /// Reconnects the clients where a connection has a state of its own: subscriptions if a program listens for
    /// notifications, and what a session of MariaDB remembers.
    pub(crate) async fn renew_connections(&mut self, path: &Path) -> Result<(), RunError> {
        let listens = self.scenario.actors.iter().any(|plan| plan.program.listens);
        let lab = self.scenario.lab();
        let remembers = |server: &ServerInfo| lab.part_of(&server.name).product() == Product::Mariadb;
        let to = |server: &ServerInfo| listens || remembers(server);
        for _ in 0..self.harness.ask_to_reconnect(to).await? {
            self.handle_until(|response| matches!(response, Response::Reached), path).await?;
        }
        Ok(())
    }

    /// Handles clients' reports up to and including the first response that `last` accepts.
    async fn handle_until(&mut self, last: impl Fn(&Response) -> bool, path: &Path) -> Result<(), RunError> {
        // After this time the gate of an external program reports that the program is busy.
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

    /// Records the server states and metrics that have changed since the last call.
    pub(crate) async fn observe(&mut self) -> Result<(), RunError> {
        if !self.observes {
            return Ok(());
        }
        let unasked = self.unasked.clone();
        let states = self.look(&unasked).await?;
        self.record_notices();
        for state in &states {
            if !self.known_states.contains(state) {
                self.recorder.record(EventKind::State(state.clone()));
            }
        }
        self.known_states = states;
        for name in &self.scenario.loaded.lesson.metrics {
            // Metrics are counters of the first server of the lesson's first product.
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

    /// What the servers hold now.
    pub(crate) async fn look(&mut self, except: &HashSet<String>) -> Result<Vec<ServerState>, RunError> {
        self.clock.run_on_for(RUNS_WHILE_LOOKING)?;
        let states = self.harness.observe_except(except).await;
        self.clock.run_on()?;
        states
    }

    /// Records the messages that Sentinels have published so far.
    pub(crate) fn record_notices(&mut self) {
        if self.observes {
            for (at, sentinel, notice) in self.harness.lab.notices() {
                self.recorder.record_at(at, EventKind::Sentinel { sentinel, notice });
            }
        }
    }

    /// Handles what arrives between steps, such as a reply that a released link let through. Fails when a
    /// server or a client dies.
    pub(crate) async fn receive(&mut self) -> Result<(), RunError> {
        let arrived = self.harness.next().await?;
        let path = Path::root().key("story");
        self.handle(arrived, &path)?;
        self.hand_out_withheld(|_| true, &path)?;
        self.recorder.publish();
        Ok(())
    }

    /// Prepares for another log, in which nothing that the servers hold is recorded yet.
    pub(crate) fn forget_states(&mut self) {
        self.known_states.clear();
        self.metrics.clear();
        self.invariants = Watch::new(&self.scenario);
    }

    /// Ends the run. The clients and servers have exited when it returns.
    pub(crate) async fn tear_down(self) -> Log {
        self.harness.tear_down().await;
        self.recorder.log
    }
}
