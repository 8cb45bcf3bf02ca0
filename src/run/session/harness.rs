//! The lab and the client processes of one run: sends operations, brings back what clients report.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::PathBuf,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::ChildStdin,
    sync::mpsc,
};

use super::{
    NotTrusted, RunError,
    supervision::{or_death, supervised},
};
use crate::{
    client::{
        gate::{self, Door, Gate, Program},
        protocol::{Request, Response, ServerAddress},
    },
    clock::{LessonClock, Slot},
    lab::{Lab, LabError, LabOptions, Link, LinkState, Process, ProcessProblem, StartedProgram},
    lesson::{
        Millis, Params, Scenario,
        plan::{Exec, Origin},
    },
    log::{ActorId, FILES, LinkId, Product, ServerInfo, ServerState},
    printable,
    program::actor_id,
    text::Text,
};

/// The ZooKeeper session timeout that clients ask for where a lesson sets none, in milliseconds of lesson time. Long enough that a
/// session survives a busy machine, short enough that its expiry can be watched.
pub(crate) const SESSION_TIMEOUT_MS: u64 = 10_000;

/// How long a client may take to connect all its actors, in real time: a crowd's sessions are many.
const JOINS_WITHIN: Duration = Duration::from_mins(1);

/// How long a program of the user's may take to come to rest while somebody looks on, in real time: it may be one that
/// computes without end.
const USERS_REST_WITHIN: Duration = Duration::from_secs(10);
/// The same for a lesson's, which is known to come to rest, on the busiest machine, and for one that is raced or explored: a
/// story that goes on without it fails, and an order is another one.
pub(crate) const LESSONS_REST_WITHIN: Duration = Duration::from_mins(1);

pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) process: Process,
    driven: Driven,
    pub(crate) state: ClientState,
    /// By which the calendar clock of its process is set apart, where it is a program from outside.
    slot: Option<Slot>,
}

/// How a client is told what to do.
enum Driven {
    /// Over its standard input.
    Pipe(ChildStdin),
    /// It does what it will; the gate to its link is told when a request of its may go.
    Gate(Gate),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientState {
    Running,
    Frozen,
    Killed,
}

#[derive(Debug)]
pub(crate) enum Arrived {
    /// A response of client `n`.
    Response(usize, Response),
    /// Client `n` closed its pipe.
    Gone(usize),
}

impl Arrived {
    /// Whether a client has said that it rests.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self, Self::Response(_, Response::Settled))
    }
}

pub(crate) struct Harness {
    pub(crate) lab: Lab,
    pub(crate) clients: Vec<Client>,
    arrivals: mpsc::UnboundedReceiver<Arrived>,
    /// What arrived before everybody was connected.
    early: VecDeque<Arrived>,
    /// The client that each actor lives in.
    pub(crate) homes: Vec<usize>,
    /// The server that operations without `on` go to.
    pub(crate) server: String,
    /// The directory of the files that clients lock.
    files: Option<PathBuf>,
    sentinels: &'static [&'static str],
    /// What clients send by themselves: requests that were redirected.
    pub(crate) outbox: VecDeque<(ActorId, Request)>,
    pub(crate) frozen: HashSet<String>,
    /// By server: how far its clock is ahead, in milliseconds.
    pub(crate) skews: HashMap<String, i64>,
    /// Whether somebody looks on, and is not to wait for long.
    followed: bool,
}

/// Actor, server, session id.
pub(crate) type Sessions = Vec<(ActorId, String, i64)>;

impl Harness {
    /// Starts the lab, then the clients, and waits until every actor is connected.
    pub(crate) async fn set_up(
        scenario: &Scenario,
        options: &LabOptions,
        followed: bool,
    ) -> Result<(Self, Sessions), RunError> {
        check_trusted(scenario, options)?;
        check_libraries(scenario, options)?;
        let lab = Lab::start_with(scenario.lab(), &scenario.settings(), options).await?;
        let health = lab.health();
        supervised(&health, Self::enter(scenario, lab, followed)).await
    }

    /// Starts the clients in a lab.
    async fn enter(scenario: &Scenario, mut lab: Lab, followed: bool) -> Result<(Self, Sessions), RunError> {
        let files = scenario.locks_files().then(|| lab.make_files()).transpose()?;
        let server = lab.servers().first().map(|info| info.name.clone()).unwrap_or_default();
        let mut harness = Self {
            lab,
            clients: Vec::new(),
            // The clients that are started have another one.
            arrivals: mpsc::unbounded_channel().1,
            early: VecDeque::new(),
            homes: Vec::new(),
            server,
            files,
            sentinels: scenario.lab().sentinels(),
            outbox: VecDeque::new(),
            frozen: HashSet::new(),
            skews: HashMap::new(),
            followed,
        };
        let sessions = harness.start_clients(scenario).await?;
        Ok((harness, sessions))
    }

    /// Ends all clients: their processes are gone when it returns, and nothing that they reported is left.
    pub(crate) fn end_clients(&mut self) {
        self.clients.clear();
        self.early.clear();
        self.outbox.clear();
        self.arrivals = mpsc::unbounded_channel().1;
    }

    /// Starts the clients, where none run, and waits until every actor is connected.
    pub(crate) async fn start_clients(&mut self, scenario: &Scenario) -> Result<Sessions, RunError> {
        let (sender, arrivals) = mpsc::unbounded_channel();
        self.arrivals = arrivals;
        self.clients = self.spawn_clients(scenario, sender).await?;
        let joined = self.joined().await;
        let sessions = self.explained(joined).await?;
        let locking = sessions.iter().filter(|(_, server, _)| server == FILES);
        self.lab.set_locking_clients(locking.map(|(.., process)| *process).collect());
        Ok(sessions)
    }

    async fn spawn_clients(
        &mut self,
        scenario: &Scenario,
        sender: mpsc::UnboundedSender<Arrived>,
    ) -> Result<Vec<Client>, RunError> {
        let Self { lab, server, files, homes, .. } = self;
        let servers: Vec<ServerInfo> = lab.servers();
        let settings = scenario.settings();
        let session_timeout = settings.session_timeout.map_or(SESSION_TIMEOUT_MS, |Millis(millis)| millis);
        let mut clients = Vec::new();
        *homes = vec![0; scenario.actors.len()];
        let somebody = scenario.clients.iter().filter(|plan| !plan.actors.is_empty());
        for (n, plan) in somebody.enumerate() {
            homes[plan.actors.clone()].fill(n);
            let mut addresses = Vec::new();
            let listens = scenario.actors[plan.actors.clone()].iter().any(|actor| actor.program.listens);
            // The clients of an ensemble are spread over its servers, and each has one connection.
            for info in &servers {
                let part = scenario.lab().part_of(&info.name);
                let members = part.servers();
                let address = if !part.is_ensemble() {
                    lab.link(&plan.name, &info.name).await?
                } else if members[n % members.len()] == info.name {
                    lab.link_to_any(&plan.name, members, n % members.len()).await?
                } else {
                    continue;
                };
                addresses.push(ServerAddress {
                    name: info.name.clone(),
                    product: part.product(),
                    address: address.to_string(),
                    hangs_up: part.has_sentinels(),
                    listens: listens || part.is_ensemble(),
                    password: info.password.clone(),
                });
            }
            if let Some(exec) = &plan.exec {
                let actor = actor_id(plan.actors.start);
                let product = scenario.lab().part_of(server).product();
                let program = Attached { n, actor, product, followed: self.followed };
                clients.push(program.enter(lab, &plan.name, exec, sender.clone()).await?);
                continue;
            }
            for sentinel in scenario.lab().sentinels() {
                lab.link(&plan.name, sentinel).await?;
            }
            let (process, stdin, stdout) = lab.spawn_client(&plan.name)?;
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut lines = BufReader::new(stdout).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let Ok(response) = serde_json::from_str(&line) else { break };
                    if sender.send(Arrived::Response(n, response)).is_err() {
                        return;
                    }
                }
                // Nobody listens any more when the run itself is over.
                let _ = sender.send(Arrived::Gone(n));
            });
            let driven = Driven::Pipe(stdin);
            let (name, state) = (plan.name.clone(), ClientState::Running);
            let mut client = Client { name, process, driven, state, slot: None };
            let actors = plan.actors.clone().map(actor_id).collect();
            client
                .send(&Request::Join { actors, servers: addresses, session_timeout, files: files.clone() })
                .await?;
            clients.push(client);
        }
        Ok(clients)
    }

    async fn joined(&mut self) -> Result<Sessions, RunError> {
        let (mut sessions, mut early) = (Vec::new(), VecDeque::new());
        let mut missing = self.clients.len();
        while missing > 0 {
            match self.next_within(JOINS_WITHIN).await? {
                Arrived::Response(_, Response::Joined { sessions: opened }) => {
                    sessions.extend(opened);
                    missing -= 1;
                }
                Arrived::Response(n, Response::JoinFailed { why }) => {
                    return Err(RunError::ClientNotReady { client: self.clients[n].name.clone(), why });
                }
                other @ Arrived::Response(..) => early.push_back(other),
                Arrived::Gone(n) => return Err(self.client_ended(n).await),
            }
        }
        self.early = early;
        sessions.sort_by_key(|(actor, ..)| *actor);
        Ok(sessions)
    }

    /// As [`Harness::next`], for something that must come soon. A process that is stopped from outside is waited for:
    /// the run's supervision decides how long.
    pub(crate) async fn next_within(&mut self, longest: Duration) -> Result<Arrived, RunError> {
        loop {
            match tokio::time::timeout(longest, self.next()).await {
                Ok(arrived) => return arrived,
                Err(_) if self.is_stopped() => {}
                Err(_) => return Err(RunError::ClientSilent { seconds: longest.as_secs() }),
            }
        }
    }

    /// Whether a process was stopped from outside.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.lab.health().look(), Some(ProcessProblem::Stopped { .. }))
    }

    /// Sends what clients send by themselves.
    pub(crate) async fn flush(&mut self) -> Result<(), RunError> {
        while let Some((actor, request)) = self.outbox.pop_front() {
            self.send(actor, &request).await?;
        }
        Ok(())
    }

    /// The next thing that a client reports. Ends with an error when a server of the lab dies meanwhile.
    pub(crate) async fn next(&mut self) -> Result<Arrived, RunError> {
        self.flush().await?;
        if let Some(early) = self.early.pop_front() {
            return Ok(early);
        }
        tokio::select! {
            arrived = self.arrivals.recv() => match arrived {
                Some(Arrived::Gone(n)) if self.clients[n].state != ClientState::Killed => Err(self.client_ended(n).await),
                Some(arrived) => Ok(arrived),
                // The sender of a client's task lives as long as the client.
                None => Ok(std::future::pending().await),
            },
            death = self.lab.died() => Err(death.into()),
        }
    }

    /// What came of work on this lab, with a death as the cause of what failed.
    pub(crate) async fn explained<T>(&self, outcome: Result<T, RunError>) -> Result<T, RunError> {
        match outcome {
            Ok(done) => Ok(done),
            Err(error) => Err(or_death(&self.lab, error).await),
        }
    }

    async fn client_ended(&self, n: usize) -> RunError {
        let client = &self.clients[n];
        client.died(client.process.exited().await.text())
    }

    /// Sends a request to the client that an actor lives in.
    pub(crate) async fn send(&mut self, actor: ActorId, request: &Request) -> Result<(), RunError> {
        let home = self.homes[actor.0 as usize];
        self.clients[home].send(request).await
    }

    /// Asks every client that can answer to report what the servers have sent it. Returns how many
    /// [`Response::Settled`] will come.
    pub(crate) async fn ask_to_settle(&mut self) -> Result<usize, RunError> {
        let mut asked = 0;
        for n in 0..self.clients.len() {
            let client = &self.clients[n];
            let reports = match &client.driven {
                Driven::Gate(gate) => {
                    gate.links_are(|server| self.link_open(&client.name, server));
                    true
                }
                Driven::Pipe(_) => self.links_open(&client.name),
            };
            if client.state == ClientState::Running && reports {
                self.clients[n].send(&Request::Settle).await?;
                asked += 1;
            }
        }
        Ok(asked)
    }

    /// Has every client connect anew to every server, so that nobody is subscribed to anything. Returns how many
    /// [`Response::Reached`] will come.
    pub(crate) async fn ask_to_reconnect(&mut self) -> Result<usize, RunError> {
        let servers = self.lab.servers();
        for client in &mut self.clients {
            for ServerInfo { name: server, .. } in &servers {
                client.send(&Request::Disconnected { server: server.clone() }).await?;
                client.send(&Request::Reach { server: server.clone() }).await?;
            }
        }
        Ok(self.clients.len() * servers.len())
    }

    /// Whether an actor's replies from a server can arrive, be it the news that they are lost.
    pub(crate) fn reachable(&self, actor: ActorId, server: &str) -> bool {
        let client = &self.clients[self.homes[actor.0 as usize]];
        let part = self.lab.kind().part_of(server);
        if part.is_ensemble() {
            return client.state == ClientState::Running && self.is_served(&client.name, part.servers());
        }
        let link = self.lab.link_control(&LinkId::new(&client.name, server));
        let passes = match link.map(Link::state) {
            None | Some(LinkState::Open) => !self.frozen.contains(server),
            // The link itself reports that, even if its server is frozen.
            Some(LinkState::Cut) => self.refuses_at_once(server),
            Some(LinkState::Held(_) | LinkState::Delayed(..)) => false,
        };
        client.state == ClientState::Running && passes
    }

    /// Whether a command over a cut link fails at once: a ZooKeeper client goes on trying instead.
    pub(crate) fn refuses_at_once(&self, server: &str) -> bool {
        self.lab.kind().part_of(server).product().traits().refuses_at_once
    }

    /// The server that an actor's operation goes to: of an ensemble, the one that its client is connected to, or comes to
    /// where that one is dead.
    pub(crate) fn server_of<'a>(&'a self, actor: ActorId, on: Option<&'a str>) -> &'a str {
        let named = on.unwrap_or(&self.server);
        let client = &self.clients[self.homes[actor.0 as usize]].name;
        let member = self.lab.kind().part_of(named).is_ensemble();
        let alive = |server: &&str| self.lab.process(server).is_ok_and(|process| process.ended().is_none());
        self.lab.homes(client).filter(|_| member).find(alive).unwrap_or(named)
    }

    /// The name under which an actor's client knows its connection to a server: it has one to all of an ensemble.
    pub(crate) fn connection_to(&self, actor: ActorId, server: &str) -> String {
        let part = self.lab.kind().part_of(server);
        let members = part.servers();
        let home =
            if part.is_ensemble() { members[self.homes[actor.0 as usize] % members.len()] } else { server };
        home.to_owned()
    }

    /// Whether a client of an ensemble has or soon finds a server that answers: there is a majority, and it is not kept
    /// waiting by one that it takes for well.
    fn is_served(&self, client: &str, names: &[&str]) -> bool {
        let state = |server: &str| self.lab.link_control(&LinkId::new(client, server)).map(Link::state);
        let well: Vec<_> = names.iter().filter(|name| self.answers(name).unwrap_or(false)).collect();
        let kept = self.lab.home(client).is_some_and(|home| {
            self.frozen.contains(home) || matches!(state(home), Some(LinkState::Held(_)))
        });
        !kept && well.len() * 2 > names.len() && well.iter().any(|name| state(name) == Some(LinkState::Open))
    }

    /// Whether what an actor sends to a server, or its replies, take time.
    pub(crate) fn is_delayed(&self, actor: ActorId, server: &str) -> bool {
        let client = &self.clients[self.homes[actor.0 as usize]];
        let link = self.lab.link_control(&LinkId::new(&client.name, server));
        link.is_some_and(|link| matches!(link.state(), LinkState::Delayed(..)))
    }

    /// Whether an actor's process is frozen.
    pub(crate) fn stands_still(&self, actor: ActorId) -> bool {
        self.clients[self.homes[actor.0 as usize]].state == ClientState::Frozen
    }

    /// Whether an actor's process runs.
    pub(crate) fn runs(&self, actor: ActorId) -> bool {
        self.clients[self.homes[actor.0 as usize]].state == ClientState::Running
    }

    /// Whether two actors live in the same process.
    pub(crate) fn share_a_process(&self, one: ActorId, other: ActorId) -> bool {
        self.homes[one.0 as usize] == self.homes[other.0 as usize]
    }

    /// The server that Sentinel names as master, asked as this actor's client would: over its own links.
    pub(crate) async fn primary(&mut self, actor: ActorId) -> Result<Option<String>, RunError> {
        let client = self.clients[self.homes[actor.0 as usize]].name.clone();
        for sentinel in self.sentinels {
            let open = |harness: &Self, server: &str| {
                let link = harness.lab.link_control(&LinkId::new(&client, server));
                link.is_some_and(|link| matches!(link.state(), LinkState::Open | LinkState::Delayed(..)))
            };
            if !open(self, sentinel) {
                continue;
            }
            let address = self.lab.link(&client, sentinel).await?;
            let Some(server) = self.lab.primary(&address).await.map(str::to_owned) else { continue };
            // As "Guidelines for Redis clients with support for Redis Sentinel" has it: a Sentinel may not have
            // heard of a failover yet, so whoever it names is asked whether it is a master.
            if open(self, &server) && !self.frozen.contains(&server) && self.lab.is_master(&server).await? {
                return Ok(Some(server));
            }
        }
        Ok(None)
    }

    /// Whether the servers that tell a client something unasked can reach it.
    fn links_open(&self, client: &str) -> bool {
        self.lab.servers().iter().all(|server| self.link_open(client, &server.name))
    }

    fn link_open(&self, client: &str, server: &str) -> bool {
        let part = self.lab.kind().part_of(server);
        // These tell nobody anything unasked.
        if matches!(part.product(), Product::Mariadb | Product::Etcd) {
            return true;
        }
        if part.is_ensemble() {
            return self.is_served(client, part.servers());
        }
        let link = self.lab.link_control(&LinkId::new(client, server));
        link.is_none_or(|link| link.state() == LinkState::Open) && !self.frozen.contains(server)
    }

    /// Whether a server can be asked something.
    pub(crate) fn answers(&self, server: &str) -> Result<bool, RunError> {
        Ok(server == FILES || self.lab.process(server)?.ended().is_none() && !self.frozen.contains(server))
    }

    /// Waits until what is due by now is on the servers' disks: a disk may be slower than a jump of the clock.
    pub(crate) async fn await_syncs(&self) -> Result<(), RunError> {
        if self.lab.is_persistent() {
            for server in self.lab.servers() {
                if self.answers(&server.name)? {
                    self.lab.await_sync(&server.name).await?;
                }
            }
        }
        Ok(())
    }

    /// What the servers hold now. What a step has made them bring onto the disk is there before the next step writes: else
    /// that would be synced with it.
    pub(crate) async fn observe(&self) -> Result<Vec<ServerState>, RunError> {
        self.await_syncs().await?;
        Ok(self.lab.observe_except(&self.frozen).await?)
    }

    /// Ends the clients and the servers and waits until they are gone.
    pub(crate) async fn tear_down(self) {
        drop(self.clients);
        self.lab.shutdown().await;
    }
}

/// Programs that a lesson brings are started only where the user has allowed that lesson, where it is and as it is.
fn check_trusted(scenario: &Scenario, options: &LabOptions) -> Result<(), RunError> {
    let loaded = &scenario.loaded;
    if !scenario.brings_programs() || loaded.carried {
        return Ok(());
    }
    let why = match loaded.covered() {
        Ok(covered) => match options.trusted.get(&covered.file) {
            Some(digest) if *digest == covered.digest => return check_words(scenario, &options.set),
            Some(_) => NotTrusted::Changed,
            None => NotTrusted::NotAllowed,
        },
        Err(why) => NotTrusted::NotCovered(why),
    };
    let commands: Vec<String> = loaded.commands().iter().map(|words| printable::command(words)).collect();
    Err(RunError::NotTrusted { file: loaded.source.file.clone(), commands: commands.join("; "), why })
}

/// What is started is what the lesson says, with parameters of its own or the user's: those of a recording, which may be a
/// stranger's, choose no word of it.
fn check_words(scenario: &Scenario, set: &Params) -> Result<(), RunError> {
    let Scenario { loaded, variant, overrides, .. } = scenario;
    let mut own = set.clone();
    own.retain(|name, _| overrides.contains_key(name));
    if own == *overrides {
        return Ok(());
    }
    let allowed = Scenario::plan(loaded, variant, &own)?;
    let is_allowed = |words: &Vec<String>| allowed.commands().any(|command| command == words);
    match scenario.commands().find(|words| !is_allowed(words)) {
        Some(words) => Err(RunError::WordsOfRecording { command: printable::command(words) }),
        None => Ok(()),
    }
}

fn check_libraries(scenario: &Scenario, options: &LabOptions) -> Result<(), RunError> {
    let missing = options.installed.missing(scenario.libraries(), &options.search);
    if missing.is_empty() {
        return Ok(());
    }
    Err(RunError::MissingLibraries { lesson: scenario.loaded.lesson.id.clone(), missing })
}

/// A program that a user brought as a client, before it has started.
struct Attached {
    /// Which client it is.
    n: usize,
    actor: ActorId,
    product: Product,
    followed: bool,
}

impl Attached {
    /// Starts it behind its gate.
    async fn enter(
        self,
        lab: &mut Lab,
        name: &str,
        exec: &Exec,
        sender: mpsc::UnboundedSender<Arrived>,
    ) -> Result<Client, RunError> {
        let Self { n, actor, product, followed } = self;
        let failed = |source| LabError::Link { link: name.to_owned(), source };
        let (mut servers, mut addresses) = (Vec::new(), Vec::new());
        for ServerInfo { name: server, .. } in lab.servers() {
            let listener = gate::listen().await.map_err(failed)?;
            addresses.push(listener.local_addr().map_err(failed)?);
            servers.push(Door { listener, link: lab.inner_link(name, &server).await?, server });
        }
        let StartedProgram { process, output, threads, slot } =
            lab.spawn_program(name, exec, product, &addresses)?;
        let (tell, mut receiver) = mpsc::unbounded_channel();
        let program = Program {
            actor,
            threads,
            output,
            exits: process.exits(),
            log: process.state.log.clone(),
            clock: lab.clock().clone(),
            servers,
            product,
            passes: exec.passes.clone(),
            rests_within: match exec.origin {
                Origin::User if followed => USERS_REST_WITHIN,
                _ => LESSONS_REST_WITHIN,
            },
        };
        let gate = Gate::open(program, tell).map_err(failed)?;
        tokio::spawn(async move {
            while let Some(response) = receiver.recv().await {
                if sender.send(Arrived::Response(n, response)).is_err() {
                    return;
                }
            }
        });
        let (driven, state) = (Driven::Gate(gate), ClientState::Running);
        Ok(Client { name: name.to_owned(), process, driven, state, slot })
    }
}

impl Client {
    /// Sets the calendar clock of its process apart from everybody else's. Whether it can be.
    pub(crate) fn set_clock(&self, clock: &LessonClock, ahead_ms: i64) -> Result<bool, RunError> {
        let is_outside = matches!(self.driven, Driven::Gate(_));
        if let Some(slot) = &self.slot {
            clock.skew(slot, ahead_ms.saturating_mul(1_000_000))?;
        }
        Ok(!is_outside || self.slot.is_some())
    }

    /// Its process stands still, or goes on.
    pub(crate) fn stands_still(&self, frozen: bool) {
        if let Driven::Gate(gate) = &self.driven {
            gate.freeze(frozen);
        }
    }

    pub(crate) async fn send(&mut self, request: &Request) -> Result<(), RunError> {
        let stdin = match &mut self.driven {
            Driven::Pipe(stdin) => stdin,
            Driven::Gate(gate) => {
                gate.send(request.clone());
                return Ok(());
            }
        };
        let mut line = serde_json::to_vec(request).unwrap_or_default();
        line.push(b'\n');
        let sent = stdin.write_all(&line).await;
        sent.map_err(|error| self.died(error.to_string().into()))
    }

    fn died(&self, why: Text) -> RunError {
        let log = std::fs::read_to_string(&self.process.state.log).unwrap_or_default();
        RunError::ClientDied { client: self.name.clone(), why, log: log.trim().to_owned() }
    }
}
