//! Exploration with programs inside Lockstep and commands on real servers, one command and one answer at a
//! time. To go back, what the servers held is restored.
//!
//! No process needs to be killed or stopped: a crashed actor sends nothing more, a frozen one nothing until
//! it runs again. Findings are confirmed with processes afterwards (see [`super::carry_out`]).

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{
    OnServers,
    commands::{Footprint, NamedKeys, Refusal, Transaction, cell, cells},
    keyspace::Keyspace,
    one_by_one,
    outcomes::OutcomeCache,
    rules::{Rules, Situation, Tally, operation_name, server_of, until_expired},
    servers::{self, Servers, key_exists},
    state_space::CollapsedStates,
    tracked::Tracked,
    trail::Trail,
    transactions::{Pending, Transactions},
    unordered,
    watched::{WatchedInvariant, keys_with_past, watched_invariants},
};
use crate::{
    client::{self, protocol::Wire},
    clock::LessonTime,
    lab::{Lab, LabOptions},
    lesson::{
        Appendonly, Mistake, Path, Scenario,
        plan::{ClientPlan, PlannedOperation},
    },
    log::{ActorId, Choice, Command, Event, EventKind, OpId, Reply, ServerState, Stop},
    program::{self, Actors, Cause, Failure, Output},
    run::{
        explore::{
            Bounds, Broken, Ending, ExploreError, Explorer, Pick, StateGraph, StepFootprint,
            states::StateSpace,
        },
        session::{
            RunError,
            time::{next_milli, surely_after},
        },
    },
    text::{Text, both},
    verdict,
};

#[derive(Debug, Clone)]
pub struct Node {
    pub(crate) actors: Actors,
    pub(crate) now: LessonTime,
    pub(crate) tally: Tally,
    /// By actor: the unfinished transactions of its connections.
    pub(crate) transactions: Vec<Transactions>,
    pub(crate) steps: usize,
    pub(crate) keyspaces: Vec<Arc<Keyspace>>,
    pub(crate) tracked: Tracked,
    pub(crate) broken: Vec<Broken>,
    pub(crate) trail: Trail,
}

/// Time that passed in a step, and what had happened in that step before.
struct Passing {
    from: LessonTime,
    to: LessonTime,
    events: usize,
    actors: Actors,
}

/// What lasts no longer while time passes is not noticed: it may come from the milliseconds that time passes further than
/// to the end of a wait. Longer than what a run lets pass, so that the run of what is found confirms it.
const BRIEF: Duration = Duration::from_millis(20);

pub struct InProcess {
    pub(crate) scenario: Scenario,
    pub(crate) rules: Rules,
    share: bool,
    /// Whether interchangeable clients may stand for each other.
    pub(crate) symmetry: bool,
    pub(crate) watches: Arc<[WatchedInvariant]>,
    pub(crate) past: Vec<String>,
    /// Whether any program uses `WATCH`.
    watches_keys: bool,
    pub(crate) cache: OutcomeCache,
    pub(crate) opening: EventKind,
    pub(crate) servers: Servers,
    /// The trail of the node whose state the servers hold.
    current: Trail,
    root: Option<Node>,
}

impl InProcess {
    pub async fn open(
        scenario: &Scenario,
        options: &LabOptions,
        rules: &Rules,
        bounds: &Bounds,
    ) -> Result<Self, RunError> {
        let watches = watched_invariants(scenario);
        let servers = Servers::start(scenario, options, bounds.share).await?;
        let opening = EventKind::LabReady {
            lesson: scenario.loaded.lesson.id.clone(),
            variant: scenario.variant.clone(),
            clock: servers.clock.kind(),
            actors: scenario.actors.iter().map(|plan| plan.actor.clone()).collect(),
            servers: servers.lab.servers(),
            locks: scenario.locks.clone(),
            counters: scenario.counter_titles.clone(),
        };
        Ok(Self {
            cache: OutcomeCache::new(scenario),
            past: keys_with_past(&watches),
            watches_keys: scenario.sends(|name| name == "WATCH"),
            watches,
            scenario: with_shared_programs(scenario),
            rules: rules.clone(),
            share: bounds.share,
            symmetry: bounds.symmetry,
            opening,
            servers,
            current: Trail::default(),
            root: None,
        })
    }

    /// Whether any invariant needs the whole log.
    fn wants_log(&self) -> bool {
        self.watches.iter().any(|watch| watch.reads.is_none())
    }

    /// Whether the events of a step need what the servers hold after it.
    fn wants_states(&self) -> bool {
        self.wants_log() || !self.past.is_empty()
    }

    fn fail(&self, operation: Option<&PlannedOperation>, why: Text) -> ExploreError {
        let place = operation.and_then(|operation| operation.path.clone());
        let path = place.unwrap_or_else(|| Path::root().key("programs"));
        let mistake = Mistake::new(&path, why);
        ExploreError::Engine(self.scenario.loaded.source.place(&mistake).into())
    }

    /// Makes an actor's move. Returns its footprint, and the keys that it may have written, even without
    /// effect. `lost` has the events that make the client miss the reply, if it does.
    fn make_move(
        &mut self,
        from: &Node,
        next: &mut Node,
        actor: ActorId,
        lost: Vec<EventKind>,
        output: &mut Output,
    ) -> Result<(StepFootprint, Vec<Arc<str>>), ExploreError> {
        let Some(operation) = from.actors[actor].next_operation() else {
            return Err(self.fail(None, both!("nobody can move there", "那里没有人能走")));
        };
        let name = operation_name(&self.scenario, actor, &operation.label);
        let server = operation.on.as_deref().unwrap_or(self.servers.name(0));
        let wire = next.actors[actor].send(server, output);
        let wire = wire.map_err(|failure| self.fail(Some(operation), failure.why))?;
        let server = wire.as_ref().and_then(|wire| self.servers.find(&wire.server));
        let (Some(wire), Some(server)) = (wire, server) else {
            let why = both!(
                "`{name}` cannot be carried out without its client process",
                "没有客户端进程就执行不了 `{name}`"
            );
            return Err(self.fail(Some(operation), why));
        };
        let footprint = self.footprint(server, &wire, &name)?;
        let mut touch = StepFootprint { actor: Some(actor), ..StepFootprint::default() };
        let to = server_of(&self.scenario, operation);
        if to.is_some_and(|to| from.tally.of(&self.scenario, actor).is_cut_from(to)) {
            output.events.push(next.actors[actor].sent(OpId(from.steps as u64), operation, &wire));
            self.take_reply(from, next, actor, &Reply::Lost("the link is cut".to_owned()), output)?;
            return Ok((touch, Vec::new()));
        }
        let pending = from.transactions[actor.0 as usize].get(&server).cloned().unwrap_or_default();
        let watching = watching(from, server);
        let sender = servers::Sender {
            server,
            actor,
            operation: &name,
            keyspaces: &from.keyspaces,
            at: from.now,
            ahead_ms: self.ahead_ms(from, server),
            pending: &pending,
            watching: &watching,
        };
        let sent = self.servers.send(&sender, &wire, &footprint);
        let servers::Sent { mut reply, holds, touched } = sent.map_err(|error| match error {
            // Supervision would report a dead server, so the server is busy with a command that does not end.
            ExploreError::Engine(RunError::ServerLost { why, .. }) if client::is_silence(&why) => {
                let command = &wire.command;
                let why = both!(
                    "`{name}` (`{command}`): {why}; it keeps its server busy",
                    "`{name}`（`{command}`）：{why}；它把服务器占住了"
                );
                self.fail(Some(operation), why)
            }
            error => error,
        })?;
        let held = [&*from.keyspaces[server], holds.as_ref().unwrap_or(&from.keyspaces[server])];
        // In a search by states an actor may stand in the place of another, with its own program.
        let whose = (&**from.actors[actor].program(), operation.label.as_str());
        unordered::check(&self.scenario, whose, (&wire, &pending), &held, &mut reply)
            .map_err(|why| Refusal::NotReplayable(why).of(&name, &wire, &wire.server))?;
        let (runs, keys) = self.carried_out(server, &pending, &footprint)?;
        for keys in keys {
            match keys {
                Some(keys) => touch.reads.extend(keys.iter().cloned()),
                None => touch.all = true,
            }
        }
        for touched in touched {
            if let Some(pending) = next.transactions[touched.0 as usize].get_mut(&server) {
                Arc::make_mut(pending).touch();
            }
        }
        if pending.queued.is_some() || footprint.transaction != Transaction::None {
            self.update_transaction(from, next, actor, server, &wire, footprint.transaction);
        }
        if let Some(holds) = holds.filter(|_| runs) {
            let keys = from.keyspaces[server].differences(&holds, from.now);
            let written = keys.iter().map(|key| cell(self.servers.name(server), key));
            touch.writes.extend(written);
            if !keys.is_empty() {
                next.keyspaces[server] = holds;
            }
        }
        // A step makes at most one move, so its number serves as the id of the operation.
        output.events.push(next.actors[actor].sent(OpId(from.steps as u64), operation, &wire));
        // A script's 0 may mean anything.
        let zero = matches!(wire.command, Command::Redis(_));
        let refused = matches!(&reply, Reply::Value(value) if value.is_null() || zero && *value == 0);
        let may_write = runs && !footprint.reads_only && !(refused && touch.writes.is_empty());
        let maybe_written = if may_write { touch.reads.clone() } else { Vec::new() };
        if self.watches_keys {
            // A transaction that watches a key fails after any write to it, even one that does not change it.
            touch.writes.extend(maybe_written.iter().cloned());
        }
        let heard = if lost.is_empty() { reply } else { Reply::Lost("the connection broke".to_owned()) };
        if !lost.is_empty() {
            self.disconnect(next, server, |client| client.actors.contains(&(actor.0 as usize)));
            output.events.extend(lost);
        }
        self.take_reply(from, next, actor, &heard, output)?;
        Ok((touch, maybe_written))
    }

    /// Whether the server carries commands out now, and the keys that each names: that of a move, or those of a
    /// transaction at its end.
    fn carried_out(
        &mut self,
        server: usize,
        pending: &Pending,
        footprint: &Footprint,
    ) -> Result<(bool, Vec<NamedKeys>), ExploreError> {
        Ok(match (&pending.queued, footprint.transaction) {
            (Some(queued), Transaction::Ends) => {
                let mut keys =
                    vec![Some(cells(self.servers.name(server), &pending.watched().collect::<Vec<_>>()))];
                for words in queued {
                    let wire = Wire {
                        server: self.servers.name(server).to_owned(),
                        command: Command::Redis(words.clone()),
                        script: None,
                    };
                    keys.push(self.footprint(server, &wire, "EXEC")?.keys);
                }
                (true, keys)
            }
            (Some(_), _) | (None, Transaction::Begins | Transaction::Unwatches) => (false, Vec::new()),
            (None, _) => (true, vec![footprint.keys.clone()]),
        })
    }

    /// Updates the transaction of an actor's connection after a command that belongs to one.
    fn update_transaction(
        &mut self,
        from: &Node,
        next: &mut Node,
        actor: ActorId,
        server: usize,
        wire: &Wire,
        transaction: Transaction,
    ) {
        let transactions = &mut next.transactions[actor.0 as usize];
        let mut pending = transactions.remove(&server).unwrap_or_default();
        let has = Arc::make_mut(&mut pending);
        match (transaction, &mut has.queued) {
            (Transaction::Ends, Some(_)) => *has = Pending::default(),
            (_, Some(queued)) => queued.push(servers::words(wire)),
            (Transaction::Begins, None) => has.queued = Some(Vec::new()),
            (Transaction::Watches, None) => {
                let words = servers::words(wire);
                let there = |key: &str| key_exists(&from.keyspaces[server], key, from.now);
                has.watch(words.get(1..).unwrap_or_default(), there);
            }
            (Transaction::Unwatches, None) => has.unwatch(),
            // Without a transaction, `EXEC` and `DISCARD` only return an error.
            (Transaction::Ends | Transaction::None, None) => {}
        }
        if *has != Pending::default() {
            transactions.insert(server, pending);
        }
        self.servers.note_transaction(actor, server, transactions);
    }

    fn take_reply(
        &self,
        from: &Node,
        next: &mut Node,
        actor: ActorId,
        reply: &Reply,
        output: &mut Output,
    ) -> Result<(), ExploreError> {
        let Some(operation) = from.actors[actor].next_operation() else { return Ok(()) };
        let (op, label) = (OpId(from.steps as u64), operation.label.clone());
        output.events.push(EventKind::Replied { op, actor, label, reply: reply.clone().into() });
        match next.actors[actor].reply(reply, output) {
            Ok(()) => Ok(()),
            Err(Failure { cause: Cause::Reply, why, .. }) => {
                next.actors[actor].give_up(why, output);
                Ok(())
            }
            Err(Failure { why, .. }) => {
                let name = operation_name(&self.scenario, actor, &operation.label);
                Err(self.fail(Some(operation), both!("{name}: {why}", "{name}：{why}", why)))
            }
        }
    }

    /// Breaks the connections of some clients to a server, which discards their transactions.
    fn disconnect(&self, next: &mut Node, server: usize, which: impl Fn(&ClientPlan) -> bool) {
        for client in self.scenario.clients.iter().filter(|client| which(client)) {
            client.actors.clone().for_each(|n| drop(next.transactions[n].remove(&server)));
        }
    }

    fn footprint(&mut self, server: usize, wire: &Wire, operation: &str) -> Result<Footprint, ExploreError> {
        let found = self.servers.footprint(server, wire);
        found.map_err(|refusal| refusal.of(operation, wire, &wire.server))
    }

    fn step(&mut self, from: &Node, pick: Pick) -> Result<(Node, StepFootprint), ExploreError> {
        let mut next = from.clone();
        next.steps += 1;
        next.tally.add(pick, self.situation(from).is_slow());
        let (mut touch, mut maybe_written) = (StepFootprint::everything(), Vec::new());
        let (mut output, mut passings) = (Output::at(from.now), Vec::new());
        // All choices but the last end with a stop of their own. A reply is dropped after the move.
        let choices = pick.choices(&self.scenario);
        let (before, after) = choices.split_at(if choices.len() > 2 { 2 } else { choices.len() });
        let mut stop = Stop::Fault;
        for (n, choice) in before.iter().enumerate() {
            if n > 0 {
                output.events.push(EventKind::Stop { item: from.steps, stop });
            }
            stop = begin_choice(choice, &mut output.events);
        }
        let passed = match pick {
            Pick::Move(actor) => {
                (touch, maybe_written) = self.make_move(from, &mut next, actor, Vec::new(), &mut output)?;
                Ok(())
            }
            Pick::LoseReply(actor, _) => {
                let mut lost = vec![EventKind::Stop { item: from.steps, stop }];
                stop = begin_choice(&after[0], &mut lost);
                maybe_written = self.make_move(from, &mut next, actor, lost, &mut output)?.1;
                output.events.push(EventKind::Stop { item: from.steps, stop });
                stop = begin_choice(&after[1], &mut output.events);
                Ok(())
            }
            Pick::Timer => self.pass_to_next_timer(&mut next, &mut output, &mut passings),
            Pick::Pass(millis) => {
                self.pass_time(Duration::from_millis(millis), &mut next, &mut output, &mut passings)
            }
            Pick::Thaw(_) => {
                let runs = |actor| next.tally.runs(&self.scenario, actor);
                next.actors.wake_until(from.now, runs, &mut output)
            }
            Pick::Freeze(_) | Pick::Mend(..) => Ok(()),
            Pick::Crash(client) => {
                for n in self.scenario.clients[client].actors.clone() {
                    next.actors[program::actor_id(n)].kill();
                    next.transactions[n].clear();
                }
                Ok(())
            }
            Pick::Cut(client, to) => {
                let name = &self.scenario.clients[client].name;
                if let Some(server) = self.connection_index(to) {
                    self.disconnect(&mut next, server, |plan| plan.name == *name);
                }
                Ok(())
            }
            Pick::Restart(server) => {
                if let Some(server) = self.connection_index(server) {
                    self.disconnect(&mut next, server, |_| true);
                }
                if !is_persistent(&self.scenario) {
                    self.change_keys(&mut next, server, |_| Keyspace::default());
                }
                Ok(())
            }
            Pick::SkewClient(client, ahead) => {
                for n in self.scenario.clients[client].actors.clone() {
                    next.actors[program::actor_id(n)].set_clock(ahead);
                }
                Ok(())
            }
            Pick::Skew(server, ahead) => {
                self.change_keys(&mut next, server, |keyspace| keyspace.aged(ahead));
                Ok(())
            }
        };
        passed.map_err(|failure| self.fail(None, failure.why))?;
        let Output { now, events: mut kinds } = output;
        next.now = now;
        if self.wants_states() {
            let changed = |n: usize| !Arc::ptr_eq(&from.keyspaces[n], &next.keyspaces[n]);
            if (0..next.keyspaces.len()).any(changed) {
                let states = self.servers.states(&next.keyspaces, now)?.into_iter();
                let changed = |state: &ServerState| self.servers.find(&state.server).is_some_and(changed);
                kinds.extend(states.filter(changed).map(EventKind::State));
            }
        }
        kinds.push(EventKind::Stop { item: from.steps, stop });
        let events: Vec<Event> = kinds.into_iter().map(|kind| Event { at: now, kind }).collect();
        if !self.past.is_empty() {
            next.tracked.resume(&self.servers.states(&from.keyspaces, from.now)?);
        }
        for event in &events {
            next.tracked.take(next.steps, event, &mut touch);
        }
        self.check_at_expiries(from, &mut next, (pick, &events), &passings)?;
        next.trail = from.trail.then(pick, events);
        self.check_invariants(&mut next, &mut touch, &maybe_written)?;
        self.current = next.trail.clone();
        Ok((next, touch))
    }

    /// Evaluates the invariants at the moments at which keys expired while time passed in a step. What keys decide
    /// may be so only then: before the waits end, too, that time passed to.
    fn check_at_expiries(
        &mut self,
        from: &Node,
        next: &mut Node,
        (pick, events): (Pick, &[Event]),
        passings: &[Passing],
    ) -> Result<(), ExploreError> {
        if self.watches.iter().all(WatchedInvariant::reads_no_keys) {
            return Ok(());
        }
        for passing in passings {
            let moments = from.keyspaces.iter().flat_map(|keyspace| keyspace.expiries());
            let moments: BTreeSet<_> =
                moments.filter(|moment| passing.from < *moment && *moment < passing.to).collect();
            for now in verdict::lasting(&moments, passing.to, BRIEF) {
                let events = &events[..passing.events];
                let mut node =
                    Node { now, actors: passing.actors.clone(), steps: next.steps, ..from.clone() };
                for event in events {
                    node.tracked.take(node.steps, event, &mut StepFootprint::default());
                }
                if self.wants_log() {
                    let stop = EventKind::Stop { item: from.steps, stop: Stop::Passed };
                    let then = events.iter().cloned().chain([Event { at: now, kind: stop }]);
                    node.trail = from.trail.then(pick, then.collect());
                }
                for (n, watch) in Arc::clone(&self.watches).iter().enumerate() {
                    let known = next.broken.iter().any(|broken| broken.invariant == watch.invariant);
                    if !known && !watch.reads_no_keys() && self.holds(n, watch, &node)? {
                        let ways = vec![vec![from.steps]];
                        next.broken.push(Broken { invariant: watch.invariant, ways });
                    }
                }
            }
        }
        Ok(())
    }

    /// How many milliseconds the clock of a server is ahead of the order's time.
    fn ahead_ms(&self, node: &Node, server: usize) -> i64 {
        let set = self.rules.skew.iter().filter(|(n, _)| node.tally.skewed & 1 << n != 0);
        set.filter(|(n, _)| self.connection_index(*n) == Some(server)).map(|(_, ahead)| ahead).sum()
    }

    /// The index in `servers.connections` of a server of the lab.
    fn connection_index(&self, server: usize) -> Option<usize> {
        self.servers.find(self.scenario.lab().servers()[server])
    }

    /// Applies the effect of a fault to the keys of a server.
    fn change_keys(&mut self, next: &mut Node, server: usize, change: impl FnOnce(&Keyspace) -> Keyspace) {
        if let Some(n) = self.connection_index(server) {
            // A key that has expired does not come back when the clock is set back.
            let changed = change(&self.servers.living(&next.keyspaces[n], next.now));
            next.keyspaces[n] = self.servers.intern(changed);
        }
    }

    /// Lets this much time pass, and a little more: all waits that end by then end on the way.
    fn pass_time(
        &self,
        by: Duration,
        next: &mut Node,
        output: &mut Output,
        passings: &mut Vec<Passing>,
    ) -> Result<(), Failure> {
        let target = output.now + by;
        loop {
            let timer = next.actors.next_timer(|actor| next.tally.runs(&self.scenario, actor));
            let timer = timer.filter(|(_, due)| *due <= target);
            passings.push(passing(next, output, surely_after(timer.map_or(target, |(_, due)| due))));
            let Some((actor, _)) = timer else { return Ok(()) };
            next.actors[actor].wake(output)?;
        }
    }

    /// Lets time pass to the next timer, and a little more; the other timers are postponed by as much.
    fn pass_to_next_timer(
        &self,
        next: &mut Node,
        output: &mut Output,
        passings: &mut Vec<Passing>,
    ) -> Result<(), Failure> {
        let runs = |actor| next.tally.runs(&self.scenario, actor);
        let Some((_, due)) = next.actors.next_timer(runs) else { return Ok(()) };
        passings.push(passing(next, output, next_milli(due)));
        next.actors.put_off(due, output.now.since(due));
        next.actors.wake_until(due, runs, output)
    }

    /// Reaches a node again, step by step from the beginning.
    fn reach_again(&mut self, to: &Node) -> Result<Node, ExploreError> {
        self.servers.reset()?;
        let mut node = self.root.clone().map_or_else(|| self.begin(), Ok)?;
        for step in to.trail.steps() {
            node = self.step(&node, step.pick)?.0;
            step.must_match(node.trail.last(), &self.scenario)?;
        }
        Ok(node)
    }

    pub(crate) fn situation(&self, node: &Node) -> Situation {
        let expiry = if self.rules.slow > node.tally.slow { next_expiry(node) } else { None };
        Situation::new(&node.actors, &self.scenario, &node.tally, false).with_expiry(expiry)
    }
}

/// Lets time pass to a moment, unless it is later already.
fn passing(node: &Node, output: &mut Output, to: LessonTime) -> Passing {
    let from = output.now;
    output.now = from.max(to);
    Passing { from, to: output.now, events: output.events.len(), actors: node.actors.clone() }
}

/// Returns the scenario with equal programs shared, so that the actors that run them can be in equal states.
fn with_shared_programs(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    for n in 1..scenario.actors.len() {
        let (known, others) = scenario.actors.split_at_mut(n);
        if let Some(like) = known.iter().find(|plan| plan.program.is_like(&others[0].program)) {
            others[0].program = Arc::clone(&like.program);
        }
    }
    scenario
}

/// The actors that watch keys on a server, none of which has been written yet, with their transactions.
fn watching(node: &Node, server: usize) -> Vec<(ActorId, Arc<Pending>)> {
    let each = node.actors.ids().filter(|actor| !node.actors[*actor].is_over());
    let pending = each.filter_map(|actor| {
        let pending = node.transactions[actor.0 as usize].get(&server)?;
        pending.is_watching().then(|| (actor, Arc::clone(pending)))
    });
    pending.collect()
}

/// How many milliseconds a `Pass` must last for the next key to expire.
fn next_expiry(node: &Node) -> Option<u64> {
    let entries = node.keyspaces.iter().flat_map(|keyspace| &keyspace.entries);
    let living = entries.filter(|entry| entry.lives(node.now));
    until_expired(living.filter_map(|entry| entry.ends).map(LessonTime::from_millis), node.now)
}

/// Records a choice and the fault that it injects, if any. Returns the kind of stop that follows.
fn begin_choice(choice: &Choice, events: &mut Vec<EventKind>) -> Stop {
    events.push(EventKind::Chose(choice.clone()));
    match choice {
        Choice::Move { .. } => Stop::Move,
        Choice::Timer | Choice::Pass { .. } => Stop::Passed,
        Choice::Inject(fault) => {
            events.push(EventKind::Fault(fault.clone()));
            Stop::Fault
        }
    }
}

/// Whether a server that is killed still has its keys when it is restarted.
fn is_persistent(scenario: &Scenario) -> bool {
    !matches!(scenario.settings().appendonly, None | Some(Appendonly::No))
}

impl OnServers for InProcess {
    fn lab(&self) -> &Lab {
        &self.servers.lab
    }

    fn states(&mut self) -> Option<impl StateSpace> {
        self.has_states().then(|| CollapsedStates::new(self))
    }

    fn one_by_one(&self) -> Option<Text> {
        one_by_one::because_of_invariants(&self.scenario)
    }

    fn graph(&mut self) -> Result<Option<StateGraph>, ExploreError> {
        // Every client is shown: none stands for another.
        self.symmetry = false;
        CollapsedStates::new(self).graph()
    }

    fn unblocker(&self) -> Box<dyn Fn() + Send + Sync> {
        let health = self.lab().health();
        Box::new(move || health.kill_all())
    }

    async fn close(self, _: bool) {
        self.servers.lab.shutdown().await;
    }
}

impl Explorer for InProcess {
    type Node = Node;

    fn begin(&mut self) -> Result<Node, ExploreError> {
        self.servers.reset()?;
        self.current = Trail::default();
        let mut actors = Actors::new(&self.scenario, 0);
        let mut output = Output::at(LessonTime::ZERO);
        actors.start(&mut output).map_err(|failure| self.fail(None, failure.why))?;
        let keyspaces = (0..self.servers.connections.len()).map(|server| self.servers.look(server));
        let keyspaces = keyspaces.collect::<Result<Vec<_>, _>>()?;
        let mut kinds = vec![self.opening.clone()];
        kinds.extend(output.events);
        if self.wants_states() {
            let states = self.servers.states(&keyspaces, output.now)?;
            kinds.extend(states.into_iter().map(EventKind::State));
        }
        let beginning = kinds.into_iter().map(|kind| Event { at: output.now, kind }).collect();
        let mut node = Node {
            transactions: vec![Transactions::new(); actors.len()],
            actors,
            now: output.now,
            tally: Tally::new(&self.scenario),
            steps: 0,
            keyspaces,
            tracked: if self.past.is_empty() {
                Tracked::new(&self.scenario)
            } else {
                Tracked::new(&self.scenario).with_past(&self.scenario)
            },
            broken: Vec::new(),
            trail: Trail::beginning(beginning),
        };
        for event in node.trail.last() {
            node.tracked.take(0, event, &mut StepFootprint::default());
        }
        self.check_invariants(&mut node, &mut StepFootprint::default(), &[])?;
        self.root = Some(node.clone());
        Ok(node)
    }

    fn picks(&self, node: &Node) -> Vec<Pick> {
        self.situation(node).picks(&self.rules)
    }

    fn take(&mut self, node: &Node, pick: Pick) -> Result<(Node, StepFootprint), ExploreError> {
        if self.share || self.root.is_some() && self.current.is(&node.trail) {
            return self.step(node, pick);
        }
        let node = self.reach_again(node)?;
        self.step(&node, pick)
    }

    fn ending(&mut self, node: &Node) -> Result<Ending, ExploreError> {
        self.ending_of(node)
    }
}
