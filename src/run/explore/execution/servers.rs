//! The servers of orders that are explored in process: sends commands one by one, and restores what a server
//! held.
//!
//! The order's time is not the clock's, which never goes back. When an order goes back, the same clock only
//! stands for an earlier time of the order, and keys with an expiry are created anew.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use tokio::runtime::Handle;

use super::{
    commands::{Commands, Footprint, Refusal, Transaction, is_opaque, key_of},
    keyspace::{self, Interner, Keyspace},
    replayable, time_command,
    transactions::{Pending, Transacting, Transactions},
};
use crate::{
    client::{Answer, RespConnection, protocol::Wire},
    clock::{LessonClock, LessonTime, Rate},
    lab::{Lab, LabOptions},
    lesson::Scenario,
    log::{ActorId, Command, Observed, Reply, ServerState},
    run::{
        explore::ExploreError,
        session::{RunError, setup, supervision::supervised},
    },
};

/// The most keyspaces whose observed states are cached. Beyond that, the cache is cleared.
const MOST_CACHED: usize = 10_000;

/// A server, and what it is known to hold.
pub(crate) struct Connection {
    pub(crate) name: String,
    resp: RespConnection,
    /// The SHA of the script that reads everything.
    look: String,
    /// The keyspace, and how often the order's time had gone back when it was read.
    holds: Option<(Arc<Keyspace>, u64)>,
}

impl Connection {
    fn open(name: String, address: &str, password: Option<&str>) -> Result<Self, RunError> {
        let lost = |why| lost(&name, why);
        let mut resp = RespConnection::open(address, password).map_err(lost)?;
        let answer = resp.ask_one(["SCRIPT", "LOAD", keyspace::LOOK]).map_err(lost)?;
        let look = match answer.into_reply() {
            Reply::Value(sha) => sha.as_str().unwrap_or_default().to_owned(),
            bad => return Err(lost(bad.to_string())),
        };
        Ok(Self { name, resp, look, holds: None })
    }

    fn counts(&mut self) -> Result<Counts, ExploreError> {
        let answer = self.resp.ask_one(COUNTS);
        Ok(answer.map(counts).map_err(|why| lost(&self.name, why))?)
    }
}

/// The sender of a command, and the node at which it is sent.
pub(crate) struct Sender<'p> {
    pub(crate) server: usize,
    pub(crate) actor: ActorId,
    /// The name of its operation: `A.acquire`.
    pub(crate) operation: &'p str,
    pub(crate) keyspaces: &'p [Arc<Keyspace>],
    pub(crate) at: LessonTime,
    /// How many milliseconds the server's clock is ahead.
    pub(crate) ahead_ms: i64,
    /// The unfinished transaction on the actor's connection to the server.
    pub(crate) pending: &'p Pending,
    /// All actors that watch keys on the server, this one included.
    pub(crate) watching: &'p [(ActorId, Arc<Pending>)],
}

pub(crate) struct Servers {
    pub(crate) lab: Lab,
    pub(crate) clock: LessonClock,
    runtime: Handle,
    pub(crate) connections: Vec<Connection>,
    transacting: HashMap<(ActorId, usize), Transacting>,
    commands: Commands,
    known: Interner,
    setup: Vec<Wire>,
    /// Whether the keys of a node are restored.
    share: bool,
    /// The order's time.
    now: LessonTime,
    /// How often the order's time has gone back.
    times_back: u64,
    states: HashMap<Arc<Keyspace>, HashMap<usize, ServerState>>,
}

impl Servers {
    pub(crate) async fn start(
        scenario: &Scenario,
        options: &LabOptions,
        share: bool,
    ) -> Result<Self, RunError> {
        let lab = Lab::start_with(scenario.lab(), &scenario.settings(), options).await?;
        let clock = lab.clock().clone();
        let infos = lab.servers();
        let first = infos.first().map(|info| info.name.clone()).unwrap_or_default();
        let mut setup_connections = setup::Connections::default();
        supervised(&lab.health(), setup::carry_out(scenario, &lab, &first, &mut setup_connections)).await?;
        clock.set_rate(Rate::PAUSED)?;
        let (mut connections, health) = (Vec::new(), lab.health());
        for info in infos {
            let address = setup::address(&lab, &info.name);
            let name = info.name.clone();
            let password = lab.password().map(str::to_owned);
            // This blocks its thread until the server answers, or is gone with the lab.
            let open = move || Connection::open(info.name, &address, password.as_deref());
            let opened = tokio::task::spawn_blocking(open);
            let connection =
                supervised(&health, async { opened.await.map_err(|error| lost(&name, error.to_string()))? });
            connections.push(connection.await?);
        }
        Ok(Self {
            // All of them have been carried out once, so none is left out here.
            setup: setup::wires(scenario, &first).filter_map(|wire| wire.ok().flatten()).collect(),
            lab,
            clock,
            runtime: Handle::current(),
            connections,
            transacting: HashMap::new(),
            commands: Commands::with_server_time(),
            known: Interner::default(),
            share,
            now: LessonTime::ZERO,
            times_back: 0,
            states: HashMap::new(),
        })
    }

    pub(crate) fn name(&self, server: usize) -> &str {
        &self.connections[server].name
    }

    /// Returns a keyspace without the keys that have expired by `at`.
    pub(crate) fn living(&mut self, keyspace: &Arc<Keyspace>, at: LessonTime) -> Arc<Keyspace> {
        self.known.living(keyspace, at)
    }

    pub(crate) fn intern(&mut self, keyspace: Keyspace) -> Arc<Keyspace> {
        self.known.intern(keyspace)
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.connections.iter().position(|connection| connection.name == name)
    }

    fn lost(&self, server: usize, why: String) -> ExploreError {
        lost(&self.connections[server].name, why).into()
    }

    pub(crate) fn footprint(&mut self, server: usize, wire: &Wire) -> Result<Footprint, Refusal> {
        self.commands.look_up(&mut self.connections[server].resp, wire)
    }

    /// Sets the order's time. The clock follows forward; going back is only counted.
    fn set_time(&mut self, at: LessonTime) -> Result<(), ExploreError> {
        if at > self.now {
            self.clock.jump(at.since(self.now)).map_err(RunError::from)?;
        }
        self.times_back += u64::from(at < self.now);
        self.now = at;
        Ok(())
    }

    /// Queues the commands that make a server hold a keyspace. Returns the number of their answers, which
    /// come first.
    fn restore(
        &mut self,
        server: usize,
        wanted: &Arc<Keyspace>,
        at: LessonTime,
    ) -> Result<usize, ExploreError> {
        if !self.share {
            return Ok(0);
        }
        let there = self.connections[server].holds.clone();
        if let Some((holds, times_back)) = &there
            && holds == wanted
            && (*times_back == self.times_back || !wanted.has_ends())
        {
            self.connections[server].holds = Some((Arc::clone(wanted), self.times_back));
            return Ok(0);
        }
        let mut before = at;
        if wanted.ends_now(at) {
            // The key can only be created while it has time left.
            before = LessonTime::from_millis(at.as_millis() - 1);
            self.set_time(before)?;
        }
        let shifted = there.as_ref().is_none_or(|(_, times_back)| *times_back != self.times_back);
        let connection = &mut self.connections[server];
        let now = there.as_ref().map(|(holds, _)| holds.as_ref());
        let commands = wanted.restore_commands(&mut connection.resp, now, shifted, (at, before));
        connection.holds = Some((Arc::clone(wanted), self.times_back));
        if before == at {
            return Ok(commands);
        }
        self.flush(server, commands)?;
        self.set_time(at)?;
        Ok(0)
    }

    /// Sends the queued commands, if there are any.
    fn flush(&mut self, server: usize, commands: usize) -> Result<(), ExploreError> {
        if commands == 0 {
            return Ok(());
        }
        let answers = self.connections[server].resp.ask();
        let done = answers.and_then(|answers| answers.into_iter().try_for_each(Answer::done));
        done.map_err(|why| self.lost(server, why))
    }

    /// Sends a command at a node.
    pub(crate) fn send(
        &mut self,
        from: &Sender<'_>,
        wire: &Wire,
        footprint: &Footprint,
    ) -> Result<Sent, ExploreError> {
        self.set_time(from.at)?;
        let runs = from.pending.queued.is_none() || footprint.transaction == Transaction::Ends;
        let watching: Vec<_> = from.watching.iter().filter(|(_, own)| own.may_notice(footprint)).collect();
        if footprint.reads_only || watching.is_empty() || !runs {
            let (reply, holds) = self.send_unwatched(from, wire, footprint)?;
            return Ok(Sent { reply, holds, touched: Vec::new() });
        }
        // The server decides whether the command writes a key that an actor watches.
        let before = self.restore(from.server, &from.keyspaces[from.server], from.at)?;
        self.flush(from.server, before)?;
        let mut commands = 0;
        for (actor, pending) in &watching {
            let transacting = self.transacting(*actor, from.server)?;
            commands = transacting.clear() + 1;
            transacting.resp.push(std::iter::once("WATCH").chain(pending.watched()));
            transacting.resp.send().map_err(|why| self.lost(from.server, why))?;
        }
        for (actor, _) in &watching {
            let transacting = self.transacting(*actor, from.server)?;
            transacting.done(commands).map_err(|why| self.lost(from.server, why))?;
        }
        let (reply, holds) = self.send_unwatched(from, wire, footprint)?;
        for (actor, _) in &watching {
            let transacting = self.transacting(*actor, from.server)?;
            transacting.resp.push(["MULTI"]);
            transacting.resp.push(["EXEC"]);
            transacting.resp.send().map_err(|why| self.lost(from.server, why))?;
        }
        let mut touched = Vec::new();
        for (actor, _) in &watching {
            let transacting = self.transacting(*actor, from.server)?;
            let answers = transacting.resp.ask().map_err(|why| self.lost(from.server, why))?;
            if let Some(Reply::Value(value)) = answers.into_iter().nth(1).map(Answer::into_reply)
                && value.is_null()
            {
                touched.push(*actor);
            }
        }
        Ok(Sent { reply, holds, touched })
    }

    fn send_unwatched(
        &mut self,
        from: &Sender<'_>,
        wire: &Wire,
        footprint: &Footprint,
    ) -> Result<(Reply, Option<Arc<Keyspace>>), ExploreError> {
        if from.pending.queued.is_some() || footprint.transaction != Transaction::None {
            return self.send_in_transaction(from, wire, footprint);
        }
        let server = from.server;
        let looks = !footprint.reads_only;
        let before = self.restore(server, &from.keyspaces[server], from.at)?;
        let connection = &mut self.connections[server];
        if footprint.opaque {
            connection.resp.push(COUNTS);
        }
        push(&mut connection.resp, wire, from.at, from.ahead_ms);
        if footprint.opaque {
            connection.resp.push(COUNTS);
        }
        // A command names the keys that it may write, so only those need to be read.
        let named = footprint.keys.as_ref().filter(|_| looks);
        let keys = || {
            let cells = named.into_iter().flat_map(|keys| keys.iter());
            cells.filter_map(|cell| key_of(cell))
        };
        for key in keys() {
            connection.resp.push(["PTTL", key]);
            connection.resp.push(["DUMP", key]);
        }
        if named.is_none() && looks {
            connection.resp.push(["EVALSHA", &connection.look, "0"]);
        }
        let answers = connection.resp.ask().map_err(|why| self.lost(server, why))?;
        let mut answers = answers.into_iter();
        for answer in answers.by_ref().take(before) {
            answer.done().map_err(|why| self.lost(server, why))?;
        }
        let counted = footprint.opaque.then(|| answers.next()).flatten().map(counts);
        let reply = answers.next().map_or_else(no_answer, Answer::into_reply);
        if let Some(counted) = counted {
            check_calls(from, wire, &counted, &answers.next().map(counts).unwrap_or_default())?;
        }
        if named.is_some() {
            let keyspace = from.keyspaces[server].with(keys(), &mut answers, from.at);
            let keyspace = keyspace.map_err(|why| self.lost(server, why))?;
            return Ok((reply, Some(self.holds(server, keyspace))));
        }
        let holds = answers.next().map(|answer| self.read(server, answer)).transpose()?;
        Ok((reply, holds))
    }

    fn holds(&mut self, server: usize, keyspace: Keyspace) -> Arc<Keyspace> {
        let holds = self.known.intern(keyspace);
        self.connections[server].holds = Some((Arc::clone(&holds), self.times_back));
        holds
    }

    fn read(&mut self, server: usize, answer: Answer) -> Result<Arc<Keyspace>, ExploreError> {
        let keyspace = Keyspace::read(answer, self.now).map_err(|why| self.lost(server, why))?;
        Ok(self.holds(server, keyspace))
    }

    /// Reads what a server holds now.
    pub(crate) fn look(&mut self, server: usize) -> Result<Arc<Keyspace>, ExploreError> {
        let connection = &mut self.connections[server];
        let answer = connection.resp.ask_one(["EVALSHA", &connection.look, "0"]);
        let answer = answer.map_err(|why| self.lost(server, why))?;
        self.read(server, answer)
    }

    /// Sends a command of a transaction over a connection of the actor's own, because a transaction belongs
    /// to a connection. Returning to a node in the middle of a transaction queues its commands again.
    fn send_in_transaction(
        &mut self,
        from: &Sender<'_>,
        wire: &Wire,
        footprint: &Footprint,
    ) -> Result<(Reply, Option<Arc<Keyspace>>), ExploreError> {
        let server = from.server;
        let ends = footprint.transaction == Transaction::Ends;
        if ends {
            let before = self.restore(server, &from.keyspaces[server], from.at)?;
            self.flush(server, before)?;
        }
        let there = |key: &str| key_exists(&from.keyspaces[server], key, from.at);
        // Until `EXEC` the server only checks commands and queues them.
        let fails = ends && from.pending.fails(there);
        let transacting = self.transacting(from.actor, server)?;
        let before = transacting.queue_transaction(from, ends, fails);
        push(&mut transacting.resp, wire, from.at, from.ahead_ms);
        let queued = from.pending.queued.iter().flatten();
        let opaque = ends && queued.into_iter().any(|words| is_opaque(words));
        let counted = if opaque { Some(self.connections[server].counts()?) } else { None };
        let answers = self.transacting(from.actor, server)?.resp.ask();
        let answers = answers.map_err(|why| self.lost(server, why))?;
        if let Some(counted) = counted {
            check_calls(from, wire, &counted, &self.connections[server].counts()?)?;
        }
        let reply = answers.into_iter().nth(before);
        let reply = reply.map_or_else(no_answer, Answer::into_reply);
        let holds = if ends { Some(self.look(server)?) } else { None };
        Ok((reply, holds))
    }

    /// Returns an actor's connection to a server for transactions.
    fn transacting(&mut self, actor: ActorId, server: usize) -> Result<&mut Transacting, ExploreError> {
        Ok(match self.transacting.entry((actor, server)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let name = &self.connections[server].name;
                let opened = RespConnection::open(&setup::address(&self.lab, name), self.lab.password());
                let resp = opened.map_err(|why| lost(name, why))?;
                new.insert(Transacting { resp, transaction: None })
            }
        })
    }

    /// Notes the unfinished transaction on an actor's connection to a server.
    pub(crate) fn note_transaction(&mut self, actor: ActorId, server: usize, transactions: &Transactions) {
        if let Some(transacting) = self.transacting.get_mut(&(actor, server)) {
            let has = transactions.get(&server).filter(|pending| pending.watched().next().is_none());
            transacting.transaction = has.cloned();
        }
    }

    /// Returns what the servers hold at a node, as an observer sees it.
    pub(crate) fn states(
        &mut self,
        keyspaces: &[Arc<Keyspace>],
        at: LessonTime,
    ) -> Result<Vec<ServerState>, ExploreError> {
        // Expired keys do not exist: the same keys at another time are another state.
        let keyspaces: Vec<_> = keyspaces.iter().map(|keyspace| self.known.living(keyspace, at)).collect();
        let missing = (0..self.connections.len()).any(|n| self.state(n, &keyspaces[n]).is_none());
        if missing {
            if self.states.len() >= MOST_CACHED {
                self.states = HashMap::new();
            }
            self.set_time(at)?;
            for (server, keyspace) in keyspaces.iter().enumerate() {
                let before = self.restore(server, keyspace, at)?;
                self.flush(server, before)?;
            }
            let observed = self.runtime.block_on(self.lab.observe()).map_err(RunError::from)?;
            let ahead = self.clock.now().as_nanos() - self.now.as_nanos();
            for mut state in observed {
                to_order_time(&mut state, ahead);
                if let Some(n) = self.find(&state.server) {
                    let keyspace = Arc::clone(&keyspaces[n]);
                    self.states.entry(keyspace).or_default().insert(n, state);
                }
            }
        }
        let known = (0..self.connections.len()).filter_map(|n| self.state(n, &keyspaces[n]).cloned());
        Ok(known.collect())
    }

    fn state(&self, server: usize, keyspace: &Arc<Keyspace>) -> Option<&ServerState> {
        self.states.get(keyspace)?.get(&server)
    }

    /// Resets the servers to the lesson's setup, and the order's time to its beginning.
    pub(crate) fn reset(&mut self) -> Result<(), ExploreError> {
        for server in 0..self.connections.len() {
            let connection = &mut self.connections[server];
            connection.holds = None;
            connection.resp.push(["FLUSHALL"]);
            for wire in self.setup.iter().filter(|wire| wire.server == connection.name) {
                connection.resp.push(words(wire));
            }
            self.flush(server, 1)?;
        }
        self.times_back += 1;
        self.now = LessonTime::ZERO;
        Ok(())
    }
}

/// The result of a command.
pub(crate) struct Sent {
    pub(crate) reply: Reply,
    /// What the server holds afterwards, if that may have changed.
    pub(crate) holds: Option<Arc<Keyspace>>,
    /// The actors that watch a key which the command has written.
    pub(crate) touched: Vec<ActorId>,
}

pub(crate) fn key_exists(keyspace: &Keyspace, key: &str, at: LessonTime) -> bool {
    keyspace.get(key.as_bytes()).is_some_and(|entry| entry.lives(at))
}

/// Converts expiry times from the clock's time, which never goes back, to the order's. The latter are whole
/// milliseconds, as a key's expiry is. The clock is not the server's, so a key seems to expire within the
/// millisecond before.
fn to_order_time(state: &mut ServerState, ahead: i64) {
    if let Observed::Redis(keyspace) = &mut state.observed {
        for key in keyspace.keys.values_mut() {
            if let Some(ends) = &mut key.expires_at {
                *ends = at_or_after(LessonTime::from_nanos(ends.as_nanos() - ahead));
            }
        }
    }
}

/// The first whole millisecond that is not before a time.
pub(super) fn at_or_after(time: LessonTime) -> LessonTime {
    let is_within = time.as_nanos().rem_euclid(1_000_000) != 0;
    LessonTime::from_millis(time.as_millis() + i64::from(is_within))
}

/// Asks how often each command was called, including calls by scripts.
const COUNTS: [&str; 2] = ["INFO", "commandstats"];

/// Numbers of calls by command name, in capitals.
type Counts = HashMap<String, u64>;

/// Parses `cmdstat_object|encoding:calls=1,usec=2,…`.
fn counts(answer: Answer) -> Counts {
    let Reply::Value(counts) = answer.into_reply() else { return Counts::new() };
    let lines = counts.as_str().unwrap_or_default().lines();
    let each = lines.filter_map(|line| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let name = name.split('|').next()?.to_ascii_uppercase();
        Some((name, rest.split(',').next()?.parse::<u64>().ok()?))
    });
    each.fold(Counts::new(), |mut counts, (name, calls)| {
        *counts.entry(name).or_default() += calls;
        counts
    })
}

/// Checks that a script whose calls cannot be determined has called no refused command, by the server's
/// counts.
fn check_calls(from: &Sender<'_>, wire: &Wire, before: &Counts, after: &Counts) -> Result<(), ExploreError> {
    let grown = |name: &&str| before.get(*name) < after.get(*name);
    // The request for the counts is counted, too.
    let mut names = replayable::refused_in_scripts().filter(|name| *name != "INFO");
    names.find(grown).map_or(Ok(()), |name| {
        let refusal = Refusal::NotReplayable(replayable::in_script(name));
        Err(refusal.of(from.operation, wire, &wire.server))
    })
}

pub(crate) fn words(wire: &Wire) -> Vec<String> {
    match &wire.command {
        Command::Redis(words) => words.clone(),
        Command::Script { keys, args, .. } => {
            let source = wire.script.clone().unwrap_or_default();
            let mut words = vec!["EVAL".to_owned(), source, keys.len().to_string()];
            words.extend(keys.iter().chain(args).cloned());
            words
        }
        _ => Vec::new(),
    }
}

fn push(resp: &mut RespConnection, wire: &Wire, at: LessonTime, ahead_ms: i64) {
    resp.push(time_command::with_time(words(wire), at, ahead_ms));
}

fn no_answer() -> Reply {
    Reply::Lost("no answer".to_owned())
}

fn lost(server: &str, why: String) -> RunError {
    RunError::ServerLost { server: server.to_owned(), why }
}
