//! The story run: carries out a story's lines one by one, and writes down what happens. The engine's heart.

use std::collections::HashMap;

use tokio::sync::{mpsc::UnboundedSender, watch};

use super::{
    EngineError, Update,
    attended::{ANSWERS_WITHIN, attended},
    governor::Governor,
    machine::Machine,
    performer::{Performer, State},
    recorder::Recorder,
    stage::{Arrived, Stage, actor_id},
    time::{Limits, Tempo},
};
use crate::{
    client::protocol::Response,
    clock::{LessonClock, Rate},
    lab::LabOptions,
    lesson::{
        Mistake, Path, Scenario,
        expr::Template,
        plan::{Act, TextPlan},
    },
    log::{ActorId, Condition, EventKind, Fault, Log, ServerState, Stop, Target, Way},
    text::Text,
    verdict::Watch,
};

/// A run with its lab, clients and log.
pub(crate) struct Director {
    pub(crate) scenario: Scenario,
    pub(crate) stage: Stage,
    pub(crate) recorder: Recorder,
    pub(crate) performers: Vec<Performer>,
    pub(crate) clock: LessonClock,
    pub(crate) tempo: watch::Receiver<Tempo>,
    pub(crate) limits: Limits,
    /// Holds time back on a busy machine.
    pub(crate) governor: Governor,
    line: usize,
    /// Whether somebody else than the story chooses what happens next.
    pub(crate) left_story: bool,
    /// Looks out for what must never be so, once the story has been left.
    pub(crate) invariants: Watch,
    pub(crate) flights: super::flights::Flights,
    pub(crate) questions: super::questions::Questions,
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
    ) -> Result<Self, EngineError> {
        let invariants = Watch::new(&scenario);
        let (stage, sessions) = Stage::set_up(&scenario, options).await?;
        let clock = stage.lab.clock().clone();
        let recorder = Recorder::new(clock.clone(), listener);
        let performers =
            scenario.actors.iter().map(|plan| Performer::new(Machine::new(plan, seed))).collect();
        let limits = Limits::of(scenario.lab(), clock.kind());
        let mut director = Self {
            scenario,
            stage,
            recorder,
            performers,
            clock,
            tempo,
            limits,
            governor: Governor::default(),
            line: 0,
            left_story: false,
            invariants,
            flights: super::flights::Flights::default(),
            questions: super::questions::Questions::default(),
            seen: Vec::new(),
            metrics: HashMap::new(),
        };
        let vitals = director.stage.lab.vitals();
        match attended(&vitals, director.open(sessions)).await {
            Ok(()) => Ok(director),
            Err(error) => Err(director.stage.or_death(error).await),
        }
    }

    async fn open(&mut self, sessions: super::stage::Sessions) -> Result<(), EngineError> {
        self.clock.begin();
        self.recorder.record(EventKind::LabReady {
            lesson: self.scenario.loaded.lesson.id.clone(),
            variant: self.scenario.variant.clone(),
            clock: self.clock.kind(),
            servers: self.stage.lab.servers(),
            actors: self.scenario.actors.iter().map(|plan| plan.actor.clone()).collect(),
        });
        for (actor, server, session) in sessions {
            self.recorder.record(EventKind::Session { actor, server, session });
        }
        super::setup::carry_out(&self.scenario, &self.stage).await?;
        for n in 0..self.performers.len() {
            self.advance(actor_id(n), &Path::root().key("programs"))?;
        }
        self.clock.set_rate(Rate::PAUSED)?;
        self.observe().await?;
        self.recorder.tell();
        Ok(())
    }

    /// Whether the story is over.
    pub(crate) fn ended(&self) -> bool {
        self.line >= self.scenario.story.len()
    }

    /// The story's item that would come next; the last one's, where the story is over.
    pub(crate) fn next_item(&self) -> usize {
        let story = &self.scenario.story;
        let line = story.get(self.line).or_else(|| story.last());
        line.map_or(0, |line| line.item)
    }

    /// The log so far.
    pub(crate) fn log(&self) -> &Log {
        self.recorder.log()
    }

    /// Carries out the story's next line. The clock runs only meanwhile.
    pub(crate) async fn step(&mut self) -> Result<(), EngineError> {
        match self.carry_out_line().await {
            Ok(()) => Ok(()),
            // A server that dies breaks replies first, and that is known before its end is.
            Err(error) => Err(self.stage.or_death(error).await),
        }
    }

    async fn carry_out_line(&mut self) -> Result<(), EngineError> {
        let Some(line) = self.scenario.story.get(self.line).cloned() else {
            return Ok(());
        };
        self.clock.set_rate(Rate::NORMAL)?;
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
                    // After the last one everybody looks anyway.
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
                    self.land(op, &line.path).await?;
                }
                Stop::Move
            }
            Act::Finish(actors) => {
                for actor in actors {
                    self.finish(*actor, &line.path).await?;
                }
                Stop::Move
            }
            Act::Pass(pass) => {
                let names = self.scenario.scope.value();
                let millis = pass.duration.render(&names).and_then(|text| crate::lesson::parse_millis(&text));
                let millis = millis.map_err(|error| self.mistake(&line.path.key("pass"), error))?;
                self.pass(millis, &pass.moving, &line.path).await?;
                Stop::Passed
            }
            Act::Await(plan) => {
                Box::pin(self.wait_for(plan, &line.path.key("await"))).await?;
                Stop::Passed
            }
            Act::Faults(faults) => {
                for fault in faults {
                    self.cause(fault, &line.path).await?;
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
        self.line += 1;
        self.recorder.record(EventKind::Stop { item: line.item, stop });
        if self.ended() {
            self.recorder.record(EventKind::Stop { item: line.item, stop: Stop::End });
        }
        self.recorder.tell();
        Ok(())
    }

    /// Reading a whole tree after every move of a crowd would take longer than the crowd's moves, and fill the
    /// log with states that nobody looks at.
    pub(crate) fn looks_after_move_of(&self, actor: ActorId) -> bool {
        !self.scenario.actors[actor.0 as usize].actor.crowd
    }

    /// A text with its values filled in.
    pub(crate) fn fill(
        &self,
        text: &TextPlan,
        names: &minijinja::Value,
        path: &Path,
    ) -> Result<Text, EngineError> {
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
        for event in self.recorder.log().events() {
            if let EventKind::Counted { counter, by, .. } = &event.kind {
                let before =
                    scope.get(counter).and_then(|value| i64::try_from(value.clone()).ok()).unwrap_or(0);
                scope.set(counter, (before + by).into());
            }
        }
        scope.value()
    }

    pub(crate) fn mistake(&self, path: &Path, message: impl Into<String>) -> EngineError {
        self.scenario.loaded.source.place(&Mistake::new(path, message)).into()
    }

    pub(crate) fn name(&self, actor: ActorId) -> &str {
        &self.scenario.actors[actor.0 as usize].actor.name
    }

    pub(crate) async fn cause(&mut self, fault: &Fault, path: &Path) -> Result<(), EngineError> {
        match self.inject(fault, path).await? {
            Ok(()) => self.record_fault(fault, path).await,
            Err(why) => Err(self.mistake(path, why)),
        }
    }

    /// Causes a fault; says why it cannot be caused, where it cannot.
    pub(crate) async fn inject(
        &mut self,
        fault: &Fault,
        path: &Path,
    ) -> Result<Result<(), String>, EngineError> {
        if let (Target::Link(link), Condition::Held(Way::Replies)) = (fault.target(), fault.leaves())
            && self.stage.ask_to_reach(link).await?
        {
            self.take_in_until(|response| matches!(response, Response::Reached), path).await?;
        }
        self.stage.cause(fault).await
    }

    /// Writes down a fault that was caused, and what it does to everybody at once.
    pub(crate) async fn record_fault(&mut self, fault: &Fault, path: &Path) -> Result<(), EngineError> {
        self.recorder.record(EventKind::Fault(fault.clone()));
        self.land_broken(fault, path).await?;
        if fault.client().is_some() && fault.leaves() == Condition::Running {
            self.catch_up(path)?;
        }
        if let Some(client) = fault.killed_client() {
            for n in 0..self.performers.len() {
                if self.scenario.actors[n].actor.client == client {
                    self.performers[n].state = State::Dead;
                    self.flights.by_op.retain(|_, (actor, _)| actor.0 as usize != n);
                }
            }
        }
        self.land_all(path).await
    }

    /// Waits until everything that the servers have sent to the clients by now is written down.
    pub(crate) async fn settle(&mut self, path: &Path) -> Result<(), EngineError> {
        for _ in 0..self.stage.ask_to_settle().await? {
            self.take_in_until(|response| matches!(response, Response::Settled), path).await?;
        }
        Ok(())
    }

    /// Takes in what clients report, up to a certain response.
    async fn take_in_until(
        &mut self,
        last: impl Fn(&Response) -> bool,
        path: &Path,
    ) -> Result<(), EngineError> {
        loop {
            let arrived = self.stage.next_within(2 * ANSWERS_WITHIN).await?;
            let over = matches!(&arrived, Arrived::Response(_, response) if last(response));
            self.take_in(arrived, path)?;
            if over {
                return Ok(());
            }
        }
    }

    /// Writes down what the servers hold, where it has changed.
    pub(crate) async fn observe(&mut self) -> Result<(), EngineError> {
        let states = self.stage.observe().await?;
        for state in &states {
            if !self.seen.contains(state) {
                self.recorder.record(EventKind::State(state.clone()));
            }
        }
        self.seen = states;
        for name in &self.scenario.loaded.lesson.metrics {
            let server = self.stage.server.clone();
            // What is dead or stands still counts no further.
            if !self.stage.answers(&server)? {
                continue;
            }
            let value = self.stage.lab.metric(&server, name).await?;
            if self.metrics.insert(name.clone(), value) == Some(value) {
                continue;
            }
            self.recorder.record(EventKind::Metric { server, name: name.clone(), value });
        }
        Ok(())
    }

    /// Between steps: takes in something that arrives late, such as the reply that a released link let through. An
    /// error when a server of the lab dies, or a client does.
    pub(crate) async fn overhear(&mut self) -> Result<(), EngineError> {
        let arrived = self.stage.next().await?;
        self.take_in(arrived, &Path::root().key("story"))?;
        self.recorder.tell();
        Ok(())
    }

    /// Another log begins: whatever the servers hold is news to it.
    pub(crate) fn forget_seen(&mut self) {
        self.seen.clear();
        self.metrics.clear();
        self.invariants = Watch::new(&self.scenario);
    }

    /// Ends the run: clients and servers are gone when it returns.
    pub(crate) async fn tear_down(self) -> Log {
        self.stage.tear_down().await;
        self.recorder.into_log()
    }
}
