//! The servers of orders that are explored in process: commands are sent one by one, and what a server held is restored.
//!
//! The order's time is not the clock's, which never goes back: going back only means that the same clock now stands for
//! an earlier time of the order, and that keys with an expiry are made anew.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    sync::Arc,
};

use tokio::runtime::Handle;

use super::{
    asked_time,
    commands::{Commands, Footprint, Refusal, Transaction, is_opaque, key_of},
    keyspace::{self, Keyspace, Known},
    replayable,
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

/// What a connection has of a transaction that is not over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The keys that it watches, and whether each was there when it began to.
    watched: BTreeMap<String, bool>,
    /// Whether something has been done to one of them since.
    touched: bool,
    /// The commands that wait since MULTI.
    pub(crate) queued: Option<Vec<Vec<String>>>,
}

/// The same of all connections of an actor that have something of one, by server.
pub(crate) type Transactions = BTreeMap<usize, Arc<Pending>>;

impl Pending {
    /// Whether anything that is done to keys may yet matter to it.
    pub(crate) fn is_watching(&self) -> bool {
        !self.watched.is_empty() && !self.touched
    }

    pub(crate) fn watched(&self) -> impl Iterator<Item = &str> {
        self.watched.keys().map(String::as_str)
    }

    pub(crate) fn watch(&mut self, keys: &[String], there: impl Fn(&str) -> bool) {
        for key in keys {
            self.watched.entry(key.clone()).or_insert_with(|| there(key));
        }
    }

    pub(crate) fn unwatch(&mut self) {
        self.watched.clear();
        self.touched = false;
    }

    pub(crate) fn touch(&mut self) {
        self.touched = true;
    }

    /// Whether `EXEC` does nothing: something was done to a key, or one has ended.
    fn fails(&self, there: impl Fn(&str) -> bool) -> bool {
        self.touched || self.watched.iter().any(|(key, was_there)| *was_there && !there(key))
    }
}

/// A key that is nobody's: what is done to it is seen by whoever watches it.
const TOUCHED: &str = "lockstep:touched";
/// When it is known of more keyspaces what they look like, that is all forgotten.
const MOST_SEEN: usize = 10_000;

/// A server, and what it is known to hold.
pub(crate) struct Connection {
    pub(crate) name: String,
    resp: RespConnection,
    /// The script that reads everything.
    look: String,
    /// With the number of times that the order's time had gone back by then.
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

/// A connection of an actor's own, for a transaction, and what it has of one; nothing where keys are watched, because putting
/// keys back is seen there.
struct Transacting {
    resp: RespConnection,
    has: Option<Arc<Pending>>,
}

/// Who sends a command from where.
pub(crate) struct Sender<'p> {
    pub(crate) server: usize,
    pub(crate) actor: ActorId,
    /// Its operation: `A.acquire`.
    pub(crate) operation: &'p str,
    pub(crate) keyspaces: &'p [Arc<Keyspace>],
    pub(crate) at: LessonTime,
    /// By how many milliseconds the server's clock is ahead.
    pub(crate) ahead_ms: i64,
    /// What the actor's connection to that server has of a transaction.
    pub(crate) pending: &'p Pending,
    /// The others, and the actor itself, who watch keys there.
    pub(crate) watching: &'p [(ActorId, Arc<Pending>)],
}

pub(crate) struct Servers {
    pub(crate) lab: Lab,
    pub(crate) clock: LessonClock,
    runtime: Handle,
    pub(crate) connections: Vec<Connection>,
    transacting: HashMap<(ActorId, usize), Transacting>,
    commands: Commands,
    known: Known,
    setup: Vec<Wire>,
    /// Whether a place's keys are put back.
    share: bool,
    /// The order's time.
    now: LessonTime,
    /// How often it has gone back.
    backs: u64,
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
        supervised(&lab.health(), setup::carry_out(scenario, &lab, &first)).await?;
        clock.set_rate(Rate::PAUSED)?;
        let (mut connections, health) = (Vec::new(), lab.health());
        for info in infos {
            let address = setup::address(&lab, &info.name);
            let name = info.name.clone();
            let password = lab.password().map(str::to_owned);
            // It blocks its thread until the server answers, or is gone with the lab.
            let open = move || Connection::open(info.name, &address, password.as_deref());
            let opened = tokio::task::spawn_blocking(open);
            let connection =
                supervised(&health, async { opened.await.map_err(|error| lost(&name, error.to_string()))? });
            connections.push(connection.await?);
        }
        Ok(Self {
            // They have been carried out once, so nothing is left out.
            setup: setup::wires(scenario, &first).filter_map(|wire| wire.ok().flatten()).collect(),
            lab,
            clock,
            runtime: Handle::current(),
            connections,
            transacting: HashMap::new(),
            commands: Commands::with_server_time(),
            known: Known::default(),
            share,
            now: LessonTime::ZERO,
            backs: 0,
            states: HashMap::new(),
        })
    }

    pub(crate) fn name(&self, server: usize) -> &str {
        &self.connections[server].name
    }

    /// A keyspace without what is over by then.
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

    /// Moves the order's time. The clock follows forward; that it went back is only remembered.
    fn set_time(&mut self, at: LessonTime) -> Result<(), ExploreError> {
        if at > self.now {
            self.clock.jump(at.since(self.now)).map_err(RunError::from)?;
        }
        self.backs += u64::from(at < self.now);
        self.now = at;
        Ok(())
    }

    /// Adds what is needed to make a server hold this. Gives how many answers come before others.
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
        if let Some((holds, backs)) = &there
            && holds == wanted
            && (*backs == self.backs || !wanted.has_ends())
        {
            self.connections[server].holds = Some((Arc::clone(wanted), self.backs));
            return Ok(0);
        }
        let mut before = at;
        if wanted.ends_now(at) {
            // It can only be made while it has time left.
            before = LessonTime::from_millis(at.as_millis() - 1);
            self.set_time(before)?;
        }
        let shifted = there.as_ref().is_none_or(|(_, backs)| *backs != self.backs);
        let connection = &mut self.connections[server];
        let now = there.as_ref().map(|(holds, _)| holds.as_ref());
        let commands = wanted.put_back(&mut connection.resp, now, shifted, (at, before));
        connection.holds = Some((Arc::clone(wanted), self.backs));
        if before == at {
            return Ok(commands);
        }
        self.flush(server, commands)?;
        self.set_time(at)?;
        Ok(0)
    }

    /// Sends what was added, if anything was.
    fn flush(&mut self, server: usize, commands: usize) -> Result<(), ExploreError> {
        if commands == 0 {
            return Ok(());
        }
        let answers = self.connections[server].resp.ask();
        let done = answers.and_then(|answers| answers.into_iter().try_for_each(Answer::done));
        done.map_err(|why| self.lost(server, why))
    }

    /// Sends a command at a place.
    pub(crate) fn send(
        &mut self,
        from: &Sender<'_>,
        wire: &Wire,
        footprint: &Footprint,
    ) -> Result<Sent, ExploreError> {
        self.set_time(from.at)?;
        let runs = from.pending.queued.is_none() || footprint.transaction == Transaction::Ends;
        if footprint.reads_only || from.watching.is_empty() || !runs {
            let (reply, holds) = self.send_unwatched(from, wire, footprint)?;
            return Ok(Sent { reply, holds, touched: Vec::new() });
        }
        // Whether it does something to a key that somebody watches, the server says.
        let before = self.restore(from.server, &from.keyspaces[from.server], from.at)?;
        self.flush(from.server, before)?;
        for (actor, pending) in from.watching {
            let transacting = self.transacting(*actor, from.server)?;
            let mut commands = transacting.clear();
            transacting.resp.push(std::iter::once("WATCH").chain(pending.watched()));
            commands += 1;
            transacting.done(commands).map_err(|why| self.lost(from.server, why))?;
        }
        let (reply, holds) = self.send_unwatched(from, wire, footprint)?;
        let mut touched = Vec::new();
        for (actor, _) in from.watching {
            let transacting = self.transacting(*actor, from.server)?;
            transacting.resp.push(["MULTI"]);
            transacting.resp.push(["EXEC"]);
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
        // What a command may write it names, so that is all that needs to be looked at.
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
        let reply = answers.next().map_or_else(none, Answer::into_reply);
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
        self.connections[server].holds = Some((Arc::clone(&holds), self.backs));
        holds
    }

    fn read(&mut self, server: usize, answer: Answer) -> Result<Arc<Keyspace>, ExploreError> {
        let keyspace = Keyspace::read(answer, self.now).map_err(|why| self.lost(server, why))?;
        Ok(self.holds(server, keyspace))
    }

    /// What a server holds now.
    pub(crate) fn look(&mut self, server: usize) -> Result<Arc<Keyspace>, ExploreError> {
        let connection = &mut self.connections[server];
        let answer = connection.resp.ask_one(["EVALSHA", &connection.look, "0"]);
        let answer = answer.map_err(|why| self.lost(server, why))?;
        self.read(server, answer)
    }

    /// A transaction belongs to a connection, so whoever has one gets a connection of its own; and coming back to a
    /// place in the middle of one queues again what was queued.
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
        let there = |key: &str| is_there(&from.keyspaces[server], key, from.at);
        // A command that waits is looked at by the server, and nothing else.
        let fails = ends && from.pending.fails(there);
        let transacting = self.transacting(from.actor, server)?;
        let before = transacting.bring_to(from, ends, fails);
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
        let reply = reply.map_or_else(none, Answer::into_reply);
        let holds = if ends { Some(self.look(server)?) } else { None };
        Ok((reply, holds))
    }

    /// An actor's connection to a server for transactions.
    fn transacting(&mut self, actor: ActorId, server: usize) -> Result<&mut Transacting, ExploreError> {
        Ok(match self.transacting.entry((actor, server)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let name = &self.connections[server].name;
                let opened = RespConnection::open(&setup::address(&self.lab, name), self.lab.password());
                let resp = opened.map_err(|why| lost(name, why))?;
                new.insert(Transacting { resp, has: None })
            }
        })
    }

    /// Remembers what an actor's connection to a server has of a transaction.
    pub(crate) fn note(&mut self, actor: ActorId, server: usize, transactions: &Transactions) {
        if let Some(transacting) = self.transacting.get_mut(&(actor, server)) {
            let has = transactions.get(&server).filter(|pending| pending.watched.is_empty());
            transacting.has = has.cloned();
        }
    }

    /// What the servers hold at a place, as an observer sees it.
    pub(crate) fn states(
        &mut self,
        keyspaces: &[Arc<Keyspace>],
        at: LessonTime,
    ) -> Result<Vec<ServerState>, ExploreError> {
        // What is over by then is not there: the same keys at another time are another state.
        let keyspaces: Vec<_> = keyspaces.iter().map(|keyspace| self.known.living(keyspace, at)).collect();
        let missing = (0..self.connections.len()).any(|n| self.state(n, &keyspaces[n]).is_none());
        if missing {
            if self.states.len() >= MOST_SEEN {
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

    /// Servers as the lesson prepares them, and the order's time at its beginning.
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
        self.backs += 1;
        self.now = LessonTime::ZERO;
        Ok(())
    }
}

/// What became of a command.
pub(crate) struct Sent {
    pub(crate) reply: Reply,
    /// What the server holds then, where that may have changed.
    pub(crate) holds: Option<Arc<Keyspace>>,
    /// Those who watch a key to which it has done something.
    pub(crate) touched: Vec<ActorId>,
}

impl Transacting {
    /// Adds what ends whatever this connection has of a transaction. Gives how many answers that makes.
    fn clear(&mut self) -> usize {
        // It may be an error, if there was nothing.
        self.resp.push(["DISCARD"]);
        self.resp.push(["UNWATCH"]);
        self.has = None;
        2
    }

    /// Adds what makes this connection have of a transaction what is wanted: for a command that waits, or for the end. Gives how
    /// many answers that makes.
    fn bring_to(&mut self, from: &Sender<'_>, ends: bool, fails: bool) -> usize {
        let (wanted, has) = (from.pending, self.has.take());
        // Whoever asks for the time is told that of the end.
        let asks_time = wanted.queued.iter().flatten().any(|words| asked_time::asks(words));
        if has.as_deref() == Some(wanted) && !asks_time {
            return 0;
        }
        let mut commands = self.clear();
        if ends && !wanted.watched.is_empty() {
            self.resp.push(["WATCH", TOUCHED].into_iter().chain(wanted.watched()));
            commands += 1;
            if fails {
                self.resp.push(["SET", TOUCHED, ""]);
                self.resp.push(["DEL", TOUCHED]);
                commands += 2;
            }
        }
        if let Some(queued) = &wanted.queued {
            self.resp.push(["MULTI"]);
            for words in queued {
                self.resp.push(asked_time::with_time(words.clone(), from.at, from.ahead_ms));
            }
            commands += 1 + queued.len();
        }
        commands
    }

    /// Sends what was added; what only ends something may be refused.
    fn done(&mut self, commands: usize) -> Result<(), String> {
        let last = self.resp.ask()?.into_iter().nth(commands - 1);
        last.map_or(Ok(()), Answer::done)
    }
}

/// Whether a key is there at a time.
pub(crate) fn is_there(keyspace: &Keyspace, key: &str, at: LessonTime) -> bool {
    keyspace.get(key.as_bytes()).is_some_and(|entry| entry.lives(at))
}

/// An order's time is not the clock's, which never goes back. It is whole milliseconds, as a key's end is; the
/// clock's are not the server's, so a key seems to end within the millisecond before.
fn to_order_time(state: &mut ServerState, ahead: i64) {
    if let Observed::Redis(keyspace) = &mut state.observed {
        for key in keyspace.keys.values_mut() {
            if let Some(ends) = &mut key.expires_at {
                *ends = at_or_after(ends.as_nanos() - ahead);
            }
        }
    }
}

fn at_or_after(nanos: i64) -> LessonTime {
    let floor = LessonTime::from_nanos(nanos).as_millis();
    LessonTime::from_millis(floor + i64::from(nanos.rem_euclid(1_000_000) != 0))
}

/// Asks how often which command was called, in scripts too.
const COUNTS: [&str; 2] = ["INFO", "commandstats"];

/// By name, in capitals.
type Counts = HashMap<String, u64>;

/// Reads `cmdstat_object|encoding:calls=1,usec=2,…`.
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

/// What a script calls that one cannot see into, only the server knows.
fn check_calls(from: &Sender<'_>, wire: &Wire, before: &Counts, after: &Counts) -> Result<(), ExploreError> {
    let grown = |name: &&str| before.get(*name) < after.get(*name);
    // That it is asked is counted, too.
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
    resp.push(asked_time::with_time(words(wire), at, ahead_ms));
}

fn none() -> Reply {
    Reply::Lost("no answer".to_owned())
}

fn lost(server: &str, why: String) -> RunError {
    RunError::ServerLost { server: server.to_owned(), why }
}
