//! The lab and the client processes of one run: sends operations to clients and receives their reports.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::PathBuf,
    time::Duration,
};

use tokio::sync::mpsc;

use super::{
    RunError,
    client::{Attached, Client, ClientState},
    permission::{check_libraries, check_trusted},
    supervision::{or_death, supervised},
};
use crate::{
    client::protocol::{Request, Response, ServerAddress},
    lab::{Lab, LabOptions, Link, LinkState, ProcessProblem},
    lesson::{Millis, Scenario, Settings},
    log::{ActorId, FILES, LinkId, Product, ServerInfo, ServerState},
    program::actor_id,
};

/// The ZooKeeper session timeout that clients request where a lesson sets none, in milliseconds of lesson
/// time. Long enough for a session to survive a busy machine, short enough to watch it expire.
const SESSION_TIMEOUT_MS: u64 = 10_000;

/// The timeout of the clients' ZooKeeper sessions in milliseconds.
pub(crate) fn session_timeout_ms(settings: &Settings) -> u64 {
    settings.session_timeout.map_or(SESSION_TIMEOUT_MS, |Millis(millis)| millis)
}

/// How long a client may take to connect all its actors, in real time. A crowd has many sessions.
const JOINS_WITHIN: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) enum Arrived {
    /// Client `n` sent a response.
    Response(usize, Response),
    /// Client `n` closed its pipe.
    Gone(usize),
}

impl Arrived {
    /// Whether a client reports that it has settled.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self, Self::Response(_, Response::Settled))
    }
}

pub(crate) struct Harness {
    pub(crate) lab: Lab,
    pub(crate) clients: Vec<Client>,
    arrivals: mpsc::UnboundedReceiver<Arrived>,
    /// Responses that arrived before all clients were connected.
    early: VecDeque<Arrived>,
    /// The index of each actor's client in `clients`.
    pub(crate) client_of: Vec<usize>,
    /// The server of operations without `on`.
    pub(crate) server: String,
    /// The directory of the files that clients lock.
    files: Option<PathBuf>,
    sentinels: &'static [&'static str],
    /// Requests that clients send by themselves: commands that were redirected.
    pub(crate) outbox: VecDeque<(ActorId, Request)>,
    pub(crate) frozen: HashSet<String>,
    /// How far each server's clock is ahead, in milliseconds.
    pub(crate) skews: HashMap<String, i64>,
    /// Whether a user watches the run and should not wait for long.
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
        let (kind, settings) = (scenario.lab(), scenario.settings());
        let ready = match &options.reuse {
            Some(reuse) => reuse.take(kind, &settings).await?,
            None => None,
        };
        let lab = match ready {
            Some(lab) => lab,
            None => Lab::start_with(kind, &settings, options).await?,
        };
        let health = lab.health();
        supervised(&health, Self::start_in(scenario, lab, followed)).await
    }

    /// Starts the clients in a lab.
    async fn start_in(
        scenario: &Scenario,
        mut lab: Lab,
        followed: bool,
    ) -> Result<(Self, Sessions), RunError> {
        let files = scenario.locks_files().then(|| lab.make_files()).transpose()?;
        let server = lab.servers().first().map(|info| info.name.clone()).unwrap_or_default();
        let mut harness = Self {
            lab,
            clients: Vec::new(),
            // A placeholder: `start_clients` replaces it.
            arrivals: mpsc::unbounded_channel().1,
            early: VecDeque::new(),
            client_of: Vec::new(),
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

    /// Ends all clients. When it returns, their processes have exited and their unread reports are discarded.
    pub(crate) fn end_clients(&mut self) {
        // All at once; the drop of each then waits for its end.
        for client in &self.clients {
            // A client that cannot be signalled has ended.
            let _ = client.process.kill();
        }
        self.clients.clear();
        self.early.clear();
        self.outbox.clear();
        self.arrivals = mpsc::unbounded_channel().1;
    }

    /// Starts the clients, none of which may be running, and waits until every actor is connected.
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
        let Self { lab, server, files, client_of, .. } = self;
        let servers: Vec<ServerInfo> = lab.servers();
        let settings = scenario.settings();
        let session_timeout = session_timeout_ms(&settings);
        let mut clients = Vec::new();
        *client_of = vec![0; scenario.actors.len()];
        let somebody = scenario.clients.iter().filter(|plan| !plan.actors.is_empty());
        for (n, plan) in somebody.enumerate() {
            client_of[plan.actors.clone()].fill(n);
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
                clients.push(program.start(lab, &plan.name, exec, sender.clone()).await?);
                continue;
            }
            for sentinel in scenario.lab().sentinels() {
                lab.link(&plan.name, sentinel).await?;
            }
            let mut client = Client::start(lab, n, &plan.name, sender.clone())?;
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

    /// As [`Harness::next`], with a limit of real time. Keeps waiting while a process is stopped from
    /// outside: the run's supervision decides for how long.
    pub(crate) async fn next_within(&mut self, longest: Duration) -> Result<Arrived, RunError> {
        loop {
            match tokio::time::timeout(longest, self.next()).await {
                Ok(arrived) => return arrived,
                Err(_) if self.is_stopped() => {}
                Err(_) => return Err(RunError::ClientSilent { seconds: longest.as_secs() }),
            }
        }
    }

    /// Whether a process is stopped from outside.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.lab.health().look(), Some(ProcessProblem::Stopped { .. }))
    }

    /// Sends the requests in the outbox.
    pub(crate) async fn flush(&mut self) -> Result<(), RunError> {
        while let Some((actor, request)) = self.outbox.pop_front() {
            self.send(actor, &request).await?;
        }
        Ok(())
    }

    /// Returns the next report of a client. Fails when a server or a client dies meanwhile.
    pub(crate) async fn next(&mut self) -> Result<Arrived, RunError> {
        self.flush().await?;
        if let Some(early) = self.early.pop_front() {
            return Ok(early);
        }
        tokio::select! {
            arrived = self.arrivals.recv() => match arrived {
                Some(Arrived::Gone(n)) if self.clients[n].state != ClientState::Killed => Err(self.client_ended(n).await),
                Some(arrived) => Ok(arrived),
                // No client is left: the task of each client holds a sender for as long as the client lives.
                None => Ok(std::future::pending().await),
            },
            death = self.lab.died() => Err(death.into()),
        }
    }

    /// Returns an outcome, with an error replaced by the death of a process that explains it.
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

    /// Sends a request to an actor's client.
    pub(crate) async fn send(&mut self, actor: ActorId, request: &Request) -> Result<(), RunError> {
        if let Request::Do { wire, .. } = request {
            self.lab.note(&wire.server, &wire.command);
        }
        let home = self.client_of[actor.0 as usize];
        self.clients[home].send(request).await
    }

    /// Asks every client that runs to report what the servers have sent it so far, or behind a link that is not open, what
    /// has arrived. Returns the number of [`Response::Settled`] that will come.
    pub(crate) async fn ask_to_settle(&mut self) -> Result<usize, RunError> {
        let mut asked = 0;
        for n in 0..self.clients.len() {
            let client = &self.clients[n];
            if let Some(gate) = client.gate() {
                gate.set_answering(|server| self.link_open(&client.name, server));
            }
            let asks = self.links_open(&client.name);
            if client.state == ClientState::Running {
                self.clients[n].send(&Request::Settle { asks }).await?;
                asked += 1;
            }
        }
        Ok(asked)
    }

    /// Makes every client reconnect to these servers, which ends all subscriptions. Returns the number of
    /// [`Response::Reached`] that will come.
    pub(crate) async fn ask_to_reconnect(
        &mut self,
        to: impl Fn(&ServerInfo) -> bool,
    ) -> Result<usize, RunError> {
        let mut servers = self.lab.servers();
        servers.retain(to);
        for client in &mut self.clients {
            for ServerInfo { name: server, .. } in &servers {
                client.send(&Request::Disconnected { server: server.clone() }).await?;
                client.send(&Request::Reach { server: server.clone() }).await?;
            }
        }
        Ok(self.clients.len() * servers.len())
    }

    pub(crate) fn client(&self, actor: ActorId) -> &Client {
        &self.clients[self.client_of[actor.0 as usize]]
    }

    pub(crate) fn link(&self, actor: ActorId, server: &str) -> Option<&Link> {
        self.lab.link_control(&LinkId::new(&self.client(actor).name, server))
    }

    /// Whether a reply from a server, or the news that it is lost, can reach an actor.
    pub(crate) fn reachable(&self, actor: ActorId, server: &str) -> bool {
        let client = self.client(actor);
        let part = self.lab.kind().part_of(server);
        if part.is_ensemble() {
            return client.state == ClientState::Running && self.is_served(&client.name, part.servers());
        }
        let passes = match self.link(actor, server).map(Link::state) {
            None | Some(LinkState::Open) => !self.frozen.contains(server),
            // A cut link reports the loss itself, even if its server is frozen.
            Some(LinkState::Cut) => self.refuses_at_once(server),
            Some(LinkState::Held(_) | LinkState::Delayed(..)) => false,
        };
        client.state == ClientState::Running && passes
    }

    /// Whether a command over a cut link fails at once. A ZooKeeper client keeps trying instead.
    pub(crate) fn refuses_at_once(&self, server: &str) -> bool {
        self.lab.kind().part_of(server).product().traits().refuses_at_once
    }

    /// The server that an actor's operation goes to. For an ensemble, the server that the actor's client is
    /// connected to, or the next living one that it will try.
    pub(crate) fn server_of<'a>(&'a self, actor: ActorId, on: Option<&'a str>) -> &'a str {
        let named = on.unwrap_or(&self.server);
        let client = &self.client(actor).name;
        let member = self.lab.kind().part_of(named).is_ensemble();
        let alive = |server: &&str| self.lab.process(server).is_ok_and(|process| process.ended().is_none());
        self.lab.homes(client).filter(|_| member).find(alive).unwrap_or(named)
    }

    /// The name under which an actor's client knows its connection to a server. A client has a single
    /// connection to an ensemble.
    pub(crate) fn connection_to(&self, actor: ActorId, server: &str) -> String {
        let part = self.lab.kind().part_of(server);
        let members = part.servers();
        let home = if part.is_ensemble() {
            members[self.client_of[actor.0 as usize] % members.len()]
        } else {
            server
        };
        home.to_owned()
    }

    /// Whether a client of an ensemble is, or soon will be, connected to a server that answers: a majority of
    /// the servers answers, and the client is not stuck on a frozen or held server that it believes to be
    /// alive.
    fn is_served(&self, client: &str, names: &[&str]) -> bool {
        let state = |server: &str| self.lab.link_control(&LinkId::new(client, server)).map(Link::state);
        let well: Vec<_> = names.iter().filter(|name| self.answers(name).unwrap_or(false)).collect();
        let kept = self.lab.home(client).is_some_and(|home| {
            self.frozen.contains(home) || matches!(state(home), Some(LinkState::Held(_)))
        });
        !kept && well.len() * 2 > names.len() && well.iter().any(|name| state(name) == Some(LinkState::Open))
    }

    /// Whether the link between an actor and a server is delayed.
    pub(crate) fn is_delayed(&self, actor: ActorId, server: &str) -> bool {
        self.link(actor, server).is_some_and(|link| matches!(link.state(), LinkState::Delayed(..)))
    }

    /// Whether an actor's process is frozen.
    pub(crate) fn is_frozen(&self, actor: ActorId) -> bool {
        self.client(actor).state == ClientState::Frozen
    }

    /// Whether an actor's process runs.
    pub(crate) fn runs(&self, actor: ActorId) -> bool {
        self.client(actor).state == ClientState::Running
    }

    /// Whether two actors belong to the same process.
    pub(crate) fn share_a_process(&self, one: ActorId, other: ActorId) -> bool {
        self.client_of[one.0 as usize] == self.client_of[other.0 as usize]
    }

    /// The master that Sentinel names when it is asked over the links of this actor's client, or `None` if no
    /// reachable Sentinel names a reachable master.
    pub(crate) async fn primary(&mut self, actor: ActorId) -> Result<Option<String>, RunError> {
        let client = self.client(actor).name.clone();
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
            // According to "Guidelines for Redis clients with support for Redis Sentinel", a Sentinel may not
            // have heard of a failover yet, so the server that it names is asked whether it is a master.
            if open(self, &server) && !self.frozen.contains(&server) && self.lab.is_master(&server).await? {
                return Ok(Some(server));
            }
        }
        Ok(None)
    }

    /// Whether every server that sends a client unsolicited messages can reach it.
    fn links_open(&self, client: &str) -> bool {
        self.lab.servers().iter().all(|server| self.link_open(client, &server.name))
    }

    fn link_open(&self, client: &str, server: &str) -> bool {
        let part = self.lab.kind().part_of(server);
        // These servers send no unsolicited messages.
        if matches!(part.product(), Product::Mariadb | Product::Etcd) {
            return true;
        }
        if part.is_ensemble() {
            return self.is_served(client, part.servers());
        }
        let link = self.lab.link_control(&LinkId::new(client, server));
        link.is_none_or(|link| link.state() == LinkState::Open) && !self.frozen.contains(server)
    }

    /// Whether a server can answer: it runs and is not frozen.
    pub(crate) fn answers(&self, server: &str) -> Result<bool, RunError> {
        Ok(server == FILES || self.lab.process(server)?.ended().is_none() && !self.frozen.contains(server))
    }

    /// Waits until the writes that are due by now are on the servers' disks: a disk may be slower than a jump
    /// of the clock.
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

    /// Returns what the servers hold now. Waits for due syncs first: a sync that is still due when the next
    /// step writes would include those writes.
    pub(crate) async fn observe(&self) -> Result<Vec<ServerState>, RunError> {
        self.observe_except(&HashSet::new()).await
    }

    pub(crate) async fn observe_except(
        &self,
        except: &HashSet<String>,
    ) -> Result<Vec<ServerState>, RunError> {
        self.await_syncs().await?;
        let except = self.frozen.union(except).cloned().collect();
        Ok(self.lab.observe_except(&except).await?)
    }

    /// Ends the clients and the servers and waits until they have exited.
    pub(crate) async fn tear_down(mut self) {
        self.end_clients();
        self.lab.shutdown().await;
    }
}
