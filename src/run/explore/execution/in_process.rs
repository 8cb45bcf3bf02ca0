//! Exploring with programs in Lockstep's own process, on real servers: one command, one answer; to go back, what the
//! server held is restored.
//!
//! No process needs to be killed or stopped: a dead actor sends nothing any more, a stopped one nothing until it runs
//! again. What is found is confirmed with processes afterwards (see
//! [`super::carry_out`]).

use std::sync::Arc;

use super::{
    ExplorerError, OnServers, Strategy,
    commands::{Footprint, Refusal, Transaction, cell},
    keyspace::Keyspace,
    log_page::LogPage,
    outcomes::OutcomeCache,
    roster::Roster,
    rules::{Rules, Situation, Tally},
    servers::{self, Queue, Servers},
    tracked::{Names, Tracked},
    trail::Trail,
    watched::Watched,
};
use crate::{
    client::{self, protocol::Wire},
    clock::LessonTime,
    lab::{LabOptions, Vitals},
    lesson::{Mistake, Path, Scenario, plan::PlannedOperation},
    log::{ActorId, Command, Event, EventKind, OpId, Reply},
    program::{self, Actors, Cause, Failure, Output},
    run::{
        explore::{Broken, Ending, Explorer, Pick, Touch},
        session::{EngineError, supervision::or_death, time::next_milli},
    },
};

/// A node in the tree of orders.
#[derive(Debug, Clone)]
pub struct Node {
    pub(crate) actors: Actors,
    pub(crate) now: LessonTime,
    tally: Tally,
    /// By actor: the commands that its connection has queued since MULTI.
    queued: Vec<Queue>,
    pub(crate) steps: usize,
    /// What each server holds.
    pub(crate) keyspaces: Vec<Arc<Keyspace>>,
    pub(crate) tracked: Tracked,
    pub(crate) broken: Vec<Broken>,
    trail: Trail,
    /// The log, where one is wanted.
    pub(crate) page: Option<Arc<LogPage>>,
}

/// What came of a move.
struct Moved {
    touch: Touch,
    /// The operation and its reply.
    reply: (String, Reply),
    /// Keys that something may have been done to.
    handled: Vec<Arc<str>>,
}

/// Explores with programs in this process and a lab of its own.
pub struct InProcess {
    pub(crate) scenario: Scenario,
    pub(crate) rules: Rules,
    share: bool,
    pub(crate) roster: Roster,
    pub(crate) names: Names,
    pub(crate) watched: Watched,
    pub(crate) cache: OutcomeCache,
    pub(crate) opening: EventKind,
    pub(crate) servers: Servers,
    /// The node whose state the servers hold.
    here: Trail,
    root: Option<Node>,
}

impl InProcess {
    /// Starts a lab for a scenario.
    pub async fn open(
        scenario: &Scenario,
        options: &LabOptions,
        rules: &Rules,
        strategy: Strategy,
    ) -> Result<Self, EngineError> {
        let names = Names::of(scenario);
        let watched = Watched::new(scenario, &names);
        let looks = strategy.share || strategy.prune || watched.wants_keys();
        let servers = Servers::start(scenario, options, (strategy.share, looks)).await?;
        let opening = EventKind::LabReady {
            lesson: scenario.loaded.lesson.id.clone(),
            variant: scenario.variant.clone(),
            clock: servers.clock().kind(),
            actors: scenario.actors.iter().map(|plan| plan.actor.clone()).collect(),
            servers: servers.infos(),
        };
        Ok(Self {
            roster: Roster::of(scenario),
            cache: OutcomeCache::new(scenario),
            names,
            watched,
            scenario: scenario.clone(),
            rules: rules.clone(),
            share: strategy.share,
            opening,
            servers,
            here: Trail::default(),
            root: None,
        })
    }

    /// How the servers are.
    pub fn vitals(&self) -> Vitals {
        self.servers.vitals()
    }

    fn fail(&self, operation: Option<&PlannedOperation>, why: String) -> ExplorerError {
        let place = operation.and_then(|operation| operation.path.clone());
        let path = place.unwrap_or_else(|| Path::root().key("programs"));
        let mistake = Mistake::new(&path, why);
        ExplorerError::Engine(self.scenario.loaded.source.place(&mistake).into())
    }

    /// What is queued on an actor's connection after a command.
    fn queue(
        &mut self,
        next: &mut Node,
        (server, actor): (usize, ActorId),
        wire: &Wire,
        footprint: &Footprint,
    ) {
        let queued = &mut next.queued[actor.0 as usize];
        match footprint.transaction {
            Transaction::Begins if queued.is_none() => *queued = Some(Arc::default()),
            Transaction::Ends => *queued = None,
            _ => {
                if let Some(queued) = queued {
                    Arc::make_mut(queued).push(servers::words(wire));
                }
            }
        }
        self.servers.note_queued(actor, server, queued);
    }

    fn make_move(
        &mut self,
        from: &Node,
        next: &mut Node,
        actor: ActorId,
        output: &mut Output,
    ) -> Result<Moved, ExplorerError> {
        let Some(operation) = from.actors[actor].next_operation() else {
            return Err(self.fail(None, "nobody can move there".to_owned()));
        };
        let name = self.roster.operation(actor, &operation.label);
        let server = operation.on.as_deref().unwrap_or(self.servers.name(0));
        let wire = next.actors[actor].send(server, output);
        let wire = wire.map_err(|failure| self.fail(Some(operation), failure.why))?;
        let server = wire.as_ref().and_then(|wire| self.servers.find(&wire.server));
        let (Some(wire), Some(server)) = (wire, server) else {
            let why = format!("`{name}` cannot be carried out without its client process");
            return Err(self.fail(Some(operation), why));
        };
        let footprint = self.footprint(server, &wire, &name)?;
        let was_queued = &from.queued[actor.0 as usize];
        let sender = servers::Sender {
            server,
            actor,
            operation: &name,
            keyspaces: &from.keyspaces,
            at: from.now,
            queued: was_queued,
        };
        let sent = self.servers.send(&sender, &wire, &footprint);
        let (reply, holds) = sent.map_err(|error| match error {
            // Supervision would report a dead server: it is the command that does not end.
            ExplorerError::Engine(EngineError::ServerLost { why, .. }) if client::is_silence(&why) => self
                .fail(
                    Some(operation),
                    format!("`{name}` (`{}`): {why}; it keeps its server busy", wire.command),
                ),
            error => error,
        })?;
        let mut touch = Touch { actor: Some(actor), ..Touch::default() };
        let runs = match (was_queued, footprint.transaction) {
            (Some(queued), Transaction::Ends) => {
                self.of_queued(server, queued, &mut touch)?;
                true
            }
            (Some(_), _) | (None, Transaction::Begins) => false,
            (None, _) => {
                match &footprint.keys {
                    Some(keys) => touch.reads.extend(keys.iter().cloned()),
                    None => touch.all = true,
                }
                true
            }
        };
        if was_queued.is_some() || footprint.transaction != Transaction::None {
            self.queue(next, (server, actor), &wire, &footprint);
        }
        if let Some(holds) = holds.filter(|_| runs) {
            let keys = from.keyspaces[server].differences(&holds, from.now);
            let written = keys.iter().map(|key| cell(self.servers.name(server), key));
            touch.writes.extend(written);
            if !keys.is_empty() {
                next.keyspaces[server] = holds;
            }
        }
        if self.watched.wants_log() {
            // A step makes one move.
            let (op, label) = (OpId(from.steps as u64), operation.label.clone());
            output.events.push(program::sent(op, actor, operation, &wire));
            output.events.push(EventKind::Replied { op, actor, label, reply: reply.clone() });
        }
        next.tracked.releases(&self.names, actor, &operation.releases, &mut touch);
        // A script's 0 may mean anything.
        let zero = matches!(wire.command, Command::Redis(_));
        let refused = matches!(&reply, Reply::Value(value) if value.is_null() || zero && *value == 0);
        let may_write = runs && !footprint.reads_only && !(refused && touch.writes.is_empty());
        let handled = if may_write { touch.reads.clone() } else { Vec::new() };
        match next.actors[actor].reply(&reply, output) {
            Ok(()) => {}
            Err(Failure { cause: Cause::Reply, why, .. }) => next.actors[actor].give_up(&why, output),
            Err(Failure { why, .. }) => return Err(self.fail(Some(operation), format!("{name}: {why}"))),
        }
        Ok(Moved { touch, reply: (name, reply), handled })
    }

    /// What the commands of a transaction touch, when it is carried out.
    fn of_queued(
        &mut self,
        server: usize,
        queued: &[Vec<String>],
        touch: &mut Touch,
    ) -> Result<(), ExplorerError> {
        for words in queued {
            let (server_name, command) =
                (self.servers.name(server).to_owned(), Command::Redis(words.clone()));
            let wire = Wire { server: server_name, command, script: None };
            match self.footprint(server, &wire, "EXEC")?.keys {
                Some(keys) => touch.reads.extend(keys.iter().cloned()),
                None => touch.all = true,
            }
        }
        Ok(())
    }

    fn footprint(&mut self, server: usize, wire: &Wire, operation: &str) -> Result<Footprint, ExplorerError> {
        self.servers.footprint(server, wire).map_err(|refusal| match refusal {
            Refusal::Lost(why) => EngineError::ServerLost { server: wire.server.clone(), why }.into(),
            Refusal::NotReplayable(why) => ExplorerError::NotReplayable {
                operation: operation.to_owned(),
                command: wire.command.to_string(),
                why,
            },
        })
    }

    fn step(&mut self, from: &Node, pick: Pick) -> Result<(Node, Touch), ExplorerError> {
        let mut next = from.clone();
        next.steps += 1;
        next.tally.add(pick);
        let (mut touch, mut replies, mut handled) = (Touch::everything(), Vec::new(), Vec::new());
        let mut output = Output::at(from.now);
        let passed = match pick {
            Pick::Move(actor) => {
                let moved = self.make_move(from, &mut next, actor, &mut output)?;
                (touch, handled) = (moved.touch, moved.handled);
                replies.push(moved.reply);
                Ok(())
            }
            Pick::Timer => self.pass(&mut next, &mut output),
            Pick::Thaw(_) => {
                next.actors.wake_until(from.now, |actor| self.roster.runs(actor, None), &mut output)
            }
            Pick::Freeze(_) => Ok(()),
            Pick::Crash(client) => {
                for actor in next.actors.ids().filter(|actor| self.roster.home(*actor) == client) {
                    next.actors[actor].kill();
                    next.queued[actor.0 as usize] = None;
                    next.tracked.dies(actor, &mut touch);
                }
                Ok(())
            }
        };
        passed.map_err(|failure| self.fail(None, failure.why))?;
        let Output { now, events } = output;
        next.now = now;
        let counted: Vec<usize> = events
            .iter()
            .filter_map(|event| next.tracked.take(&self.names, Some(from.steps), event, &mut touch))
            .collect();
        let ends = |event: &EventKind| matches!(event, EventKind::Finished { .. } | EventKind::GaveUp { .. });
        let ended = events.iter().any(ends);
        if self.watched.wants_log() {
            self.write_down(from, &mut next, pick, events)?;
        }
        self.check_invariants(&mut next, &mut touch, (&counted, &handled, ended))?;
        next.trail = from.trail.then(pick, replies);
        self.here = next.trail.clone();
        Ok((next, touch))
    }

    /// Time passes to the next timer, and a little more; the others are put off by as much.
    fn pass(&self, next: &mut Node, output: &mut Output) -> Result<(), Failure> {
        let runs = |actor| self.roster.runs(actor, next.tally.frozen);
        let Some((_, due)) = next.actors.next_timer(runs) else {
            return Ok(());
        };
        let end = next_milli(due);
        next.actors.put_off(due, end.since(due));
        output.now = output.now.max(end);
        next.actors.wake_until(due, runs, output)
    }

    /// Goes to a node step by step, from the beginning.
    fn go_again(&mut self, to: &Node) -> Result<Node, ExplorerError> {
        self.servers.reset()?;
        let Some(mut node) = self.root.clone() else {
            return self.begin();
        };
        for step in to.trail.steps() {
            node = self.step(&node, step.pick)?.0;
            if let Some(again) = node.trail.last() {
                step.must_match(again)?;
            }
        }
        Ok(node)
    }

    fn is_here(&self, node: &Node) -> bool {
        self.root.is_some() && self.here.is(&node.trail)
    }

    pub(crate) fn situation(&self, node: &Node) -> Situation {
        Situation::new(&node.actors, &self.roster, node.tally)
    }
}

impl OnServers for InProcess {
    async fn explain(&self, error: EngineError) -> EngineError {
        or_death(self.servers.lab(), error).await
    }

    async fn close(self) {
        self.servers.end().await;
    }
}

impl Explorer for InProcess {
    type Node = Node;
    type Error = ExplorerError;

    fn begin(&mut self) -> Result<Node, ExplorerError> {
        self.servers.reset()?;
        self.here = Trail::default();
        let mut actors = Actors::new(&self.scenario, 0);
        let mut output = Output::at(LessonTime::ZERO);
        actors.start(&mut output).map_err(|failure| self.fail(None, failure.why))?;
        let mut tracked = Tracked::new(&self.names);
        for event in &output.events {
            tracked.take(&self.names, None, event, &mut Touch::default());
        }
        let mut keyspaces = Vec::new();
        for server in 0..self.servers.count() {
            keyspaces.push(self.servers.look(server)?);
        }
        let mut node = Node {
            queued: vec![None; actors.len()],
            actors,
            now: output.now,
            tally: Tally::default(),
            steps: 0,
            keyspaces,
            tracked,
            broken: Vec::new(),
            trail: Trail::default(),
            page: None,
        };
        if self.watched.wants_log() {
            let states = self.servers.states(&node.keyspaces, node.now)?;
            let kinds = std::iter::once(self.opening.clone())
                .chain(output.events)
                .chain(states.into_iter().map(EventKind::State));
            let events = kinds.map(|kind| Event { at: node.now, kind }).collect();
            node.page = Some(Arc::new(LogPage { before: None, events }));
        }
        self.check_invariants(&mut node, &mut Touch::default(), (&[], &[], false))?;
        self.root = Some(node.clone());
        Ok(node)
    }

    fn picks(&self, node: &Node) -> Vec<Pick> {
        self.situation(node).picks(&self.rules)
    }

    fn take(&mut self, node: &Node, pick: Pick) -> Result<(Node, Touch), ExplorerError> {
        if self.share || self.is_here(node) {
            return self.step(node, pick);
        }
        let node = self.go_again(node)?;
        self.step(&node, pick)
    }

    fn ending(&mut self, node: &Node) -> Result<Ending, ExplorerError> {
        self.ending_of(node)
    }
}
