//! The lab: real servers on a clock that can be stopped, links to them that can be cut, and processes that can be
//! frozen and killed. It must not know lessons' programs, the log or the screen: it carries out orders and reports
//! states.
//!
//! **Architecture Invariants** of this module:
//! - Lockstep's servers live in a private temporary directory and listen on loopback or a Unix socket only.
//! - No shared server is ever flushed: the lab starts its servers itself and knows no others. A fresh lab has new
//!   servers.

pub(crate) mod clock_check;
pub mod doctor;
pub mod install;
mod jars;
pub mod libraries;
pub mod ready;
pub mod report_zh;
pub(crate) mod timekeeping;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{join_all, select_all};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

pub use crate::process::{
    Exit, LabError, Process, guard,
    health::{LOOK, ProblemTracker, ProcessHealth, ProcessProblem},
    limits,
    live_directories::{end_all, end_now},
    programs,
    spawner::own_binary,
    starvation::Starvation,
    sweep::{Swept, sweep},
    usage::{Meters, Usage, own_memory},
    version::Version,
    wall_clock::WallClock,
    workspace::{Workspace, root as workspace_root},
};
pub use crate::server::{
    boot::Endpoint,
    link::{Link, LinkAddress, LinkState},
};
pub(crate) use crate::server::{connection::Connection, observe::Waiting};

use self::libraries::Installed;
use self::programs::Search;
use self::ready::Reuse;
use self::timekeeping::Timekeeping;
use crate::clock::{LessonClock, LessonTime, STATUS_VARIABLE, Slot, status::StatusFile};
use crate::lesson::{
    Appendonly, LabKind, Params, Scenario, Settings,
    library::carried_programs,
    plan::{Exec, Origin},
};

use crate::log::{FILES, LinkId, Product, SentinelNotice, ServerInfo, ServerState};
use crate::process::{child::log_tail, rest::Threads, spawner, workspace::file_name};
use crate::server::boot::{Boot, Server, Started, ready};
use crate::server::connection::ServerAddress;
use crate::server::flock::FileLocks;
use crate::server::link::{InnerEnd, MemberChoice};
use crate::server::observe::ObserveError;
use crate::server::secret::Secret;
use crate::server::{
    self,
    boot::BackgroundWork,
    redis::{persistence::lose_unsynced, sentinel},
};

/// The hidden subcommand that makes this program a client.
pub const CLIENT: &str = "__client";

/// How long after the end of its connections the end of a process is noticed at the latest, in real time.
const NOTICED_WITHIN: Duration = Duration::from_millis(200);

/// The session timeout that Lockstep's own sessions request.
const OWN_SESSION: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub struct LabOptions {
    /// Run on the machine's clock even if the lesson clock is available.
    pub wall_clock: bool,
    /// Fail, with the reason, instead of falling back to the machine's clock.
    pub controlled_only: bool,
    /// This program, to be executed again as guard and client; see [`own_binary`].
    pub binary: PathBuf,
    /// Where the servers' programs are searched.
    pub search: Search,
    /// The lessons that may start programs of their own: the digests of the allowed files, by lesson file.
    pub trusted: BTreeMap<String, String>,
    /// The parameters set by the user.
    pub set: Params,
    /// The libraries that such programs find.
    pub installed: Installed,
    /// The labs that are ready, for runs with client processes. Without it, each run starts its own.
    pub reuse: Option<Reuse>,
}

impl LabOptions {
    /// The default options: the lesson clock if the system allows it, this program as binary, and the programs of the
    /// environment.
    pub fn new() -> io::Result<Self> {
        Ok(Self::with_binary(own_binary()?))
    }

    /// As [`LabOptions::new`], for a program that is not Lockstep itself: a test, a benchmark.
    pub fn with_binary(binary: PathBuf) -> Self {
        Self {
            wall_clock: false,
            controlled_only: false,
            binary,
            search: Search::from_environment(),
            trusted: BTreeMap::new(),
            set: Params::new(),
            installed: Installed::of_user(),
            reuse: None,
        }
    }
}

impl LabOptions {
    /// The options for a run that shows what servers have numbered.
    pub(crate) fn with_new_servers(&self) -> Self {
        Self { reuse: self.reuse.as_ref().map(Reuse::only_new), ..self.clone() }
    }

    /// Whether a variant's requirements are installed: its servers' programs, and the libraries of its clients'
    /// programs.
    pub fn serves(&self, scenario: &Scenario) -> bool {
        self.search.serves(scenario.lab())
            && self.installed.missing(scenario.libraries(), &self.search).is_empty()
    }
}

/// A running program of a user or a lesson.
pub(crate) struct StartedProgram {
    pub(crate) process: Process,
    /// Its standard output.
    pub(crate) output: OwnedFd,
    /// The published waits of its threads.
    pub(crate) threads: Threads,
    /// The slot for a skew of its calendar clock; `None` on the wall clock.
    pub(crate) slot: Option<Slot>,
}

/// Running servers, their clock, and the links to them. Dropping it ends them and removes their directory.
#[derive(Debug)]
pub struct Lab {
    // Fields are dropped in this order: first the links, last the directory.
    links: BTreeMap<LinkId, Link>,
    /// The ensemble member that each client connects to.
    member_choices: BTreeMap<String, MemberChoice>,
    kind: LabKind,
    settings: Settings,
    servers: Vec<Server>,
    /// Sentinels: they run and have links, but hold no data that a lesson looks at.
    helpers: Vec<Server>,
    /// The files that clients lock, if they lock any.
    files: Option<FileLocks>,
    /// Work that speeds up the next lab's start.
    background: Option<Box<dyn BackgroundWork>>,
    health: ProcessHealth,
    search: Search,
    installed: Installed,
    clock: LessonClock,
    /// The clock and why it was chosen.
    time: Timekeeping,
    binary: PathBuf,
    secret: Secret,
    workspace: Workspace,
}

impl Lab {
    /// Starts the servers of a lab and returns when they answer. The clock runs at its normal rate; if servers do not
    /// obey the lesson clock, the lab uses the machine's ([`Lab::wall_clock`] says why).
    pub async fn start(kind: LabKind, options: &LabOptions) -> Result<Self, LabError> {
        Self::start_with(kind, &Settings::default(), options).await
    }

    /// As [`Lab::start`], with this configuration of the servers.
    pub async fn start_with(
        kind: LabKind,
        settings: &Settings,
        options: &LabOptions,
    ) -> Result<Self, LabError> {
        let started = async {
            limits::allow_many_files()?;
            let workspace = Workspace::create()?;
            let time = Timekeeping::choose(&workspace, options)?;
            match Self::start_on((kind, settings), options, workspace, time).await {
                Err(LabError::ClockIgnored { server }) => {
                    let time = Timekeeping::wall(WallClock::Ignored { server });
                    Self::start_on((kind, settings), options, Workspace::create()?, time).await
                }
                started => started,
            }
        };
        // Boxed: the future is large, and so would be that of every caller.
        started.boxed().await.map_err(limits::named)
    }

    async fn start_on(
        (kind, settings): (LabKind, &Settings),
        options: &LabOptions,
        workspace: Workspace,
        time: Timekeeping,
    ) -> Result<Self, LabError> {
        if let Some(why) = time.wall.as_ref().filter(|_| options.controlled_only) {
            return Err(LabError::NoLessonClock(why.clone()));
        }
        let clock = time.clock.clone();
        let health = ProcessHealth::default();
        let secret = Secret::create(&workspace, kind)?;
        let boot = Boot {
            workspace: &workspace,
            settings,
            clock: &clock,
            secret: &secret,
            binary: &options.binary,
            search: &options.search,
            health: &health,
        };
        let starting = server::start(&boot, kind);
        // A server may wait for another one that dies or is stopped meanwhile, so the health of all is watched. Boxed:
        // the future is large, and so would be that of every caller.
        let Started { servers, helpers, links, background } = tokio::select! {
            biased;
            started = starting.boxed() => started?,
            problem = health.problem() => return Err(problem.into()),
        };
        let links = links.into_iter().map(|link| (link.id().clone(), link));
        let lab = Self {
            links: links.collect(),
            member_choices: BTreeMap::new(),
            kind,
            settings: settings.clone(),
            servers,
            helpers,
            files: None,
            background,
            health,
            search: options.search.clone(),
            installed: options.installed.clone(),
            clock,
            time,
            binary: options.binary.clone(),
            secret,
            workspace,
        };
        tokio::select! {
            biased;
            proven = lab.prove_clock() => proven?,
            problem = lab.health.problem() => return Err(problem.into()),
        }
        Ok(lab)
    }

    /// Why the lab runs on the machine's clock, or `None` if it does not.
    pub fn wall_clock(&self) -> Option<&WallClock> {
        self.time.wall.as_ref()
    }

    pub fn clock(&self) -> &LessonClock {
        &self.clock
    }

    /// The state of the servers and clients, for tasks that wait for them.
    pub fn health(&self) -> ProcessHealth {
        self.health.clone()
    }

    /// Makes this lab the successor of another: tasks that watch the other's health watch this one from now on.
    pub fn succeed(&mut self, other: &Self) {
        other.health.replace_with(&self.health);
        self.health = other.health();
    }

    /// Makes a directory for files that clients lock.
    pub(crate) fn make_files(&mut self) -> Result<PathBuf, LabError> {
        let dir = self.workspace.make_dir(FILES)?;
        self.files = Some(FileLocks { dir: dir.clone(), clients: Vec::new() });
        Ok(dir)
    }

    /// The entry of the log's server list for the files that clients lock.
    pub(crate) fn files_info(&self) -> Option<ServerInfo> {
        self.files.as_ref().map(FileLocks::info)
    }

    /// Sets the processes whose file locks are reported.
    pub(crate) fn set_locking_clients(&mut self, processes: Vec<i64>) {
        if let Some(files) = &mut self.files {
            files.clients = processes;
        }
    }

    fn file_waiters(&self) -> Result<Vec<i64>, LabError> {
        let waiting = self.files.as_ref().map_or(Ok(Vec::new()), FileLocks::waiting);
        waiting.map_err(|error| unreadable_files(&error))
    }

    /// The servers with the addresses for programs outside Lockstep.
    pub fn servers(&self) -> Vec<ServerInfo> {
        self.servers.iter().map(|server| server.info.clone()).collect()
    }

    /// The resources used by the processes of all servers.
    pub fn meters(&self) -> Meters {
        Meters(self.all_servers().map(|server| server.process.state.pid()).collect())
    }

    /// The address of a server, past its links.
    pub fn endpoint(&self, server: &str) -> Option<&Endpoint> {
        self.servers.iter().find(|known| known.info.name == server).map(|server| &server.endpoint)
    }

    /// Connects to a server directly, without a link.
    ///
    /// # Errors
    /// There is no such server, or it cannot be reached.
    pub(crate) async fn connect(&self, server: &str) -> Result<Box<dyn Connection>, String> {
        let info = &self.server(server).map_err(|error| error.to_string())?.info;
        let server = ServerAddress {
            name: info.name.clone(),
            product: self.kind.part_of(&info.name).product(),
            address: info.address.clone(),
            listens: false,
            hangs_up: self.kind.part_of(&info.name).has_sentinels(),
            password: info.password.clone(),
        };
        // No watch is set on this connection, so no notification can arrive.
        server::connect(&server, true, OWN_SESSION, Arc::new(|_, _| {})).await
    }

    /// The password of its Redis servers; `None` if no other user can reach them.
    pub fn password(&self) -> Option<&str> {
        self.secret.password()
    }

    /// The clock slot that sets one server's clock apart from the others'; `None` on the wall clock.
    pub fn slot(&self, server: &str) -> Result<Option<&Slot>, LabError> {
        Ok(self.server(server)?.slot.as_ref())
    }

    /// Creates the link `CLIENT->SERVER` unless it exists, and returns the client's end of it.
    pub async fn link(&mut self, client: &str, server: &str) -> Result<LinkAddress, LabError> {
        let id = LinkId::new(client, server);
        if let Some(link) = self.links.get(&id) {
            return Ok(link.address().clone());
        }
        // A number instead of the client's name: a socket's path is limited in length.
        let socket = self.workspace.join(&format!("link-{}.sock", self.links.len()));
        let endpoint = &self.server(server)?.endpoint;
        let link = Link::lay(id.clone(), endpoint, &socket, &self.clock)
            .await
            .map_err(|source| LabError::Link { link: id.to_string(), source })
            .map_err(limits::named)?;
        Ok(self.links.entry(id).or_insert(link).address().clone())
    }

    /// A client's link to a server, for a client inside this process.
    pub(crate) async fn inner_link(&mut self, client: &str, server: &str) -> Result<InnerEnd, LabError> {
        self.link(client, server).await?;
        let id = LinkId::new(client, server);
        let endpoint = &self.server(server)?.endpoint;
        let link = self.links.get(&id).map(|link| link.inner_end(endpoint));
        link.ok_or_else(|| LabError::Link { link: id.to_string(), source: io::ErrorKind::NotFound.into() })
    }

    /// Creates a client's links to every server of an ensemble, and returns the client's single end of them. The client
    /// connects to the `first` server first.
    pub(crate) async fn link_to_any(
        &mut self,
        client: &str,
        members: &[&str],
        first: usize,
    ) -> Result<LinkAddress, LabError> {
        let tcp = |server: &Server| match &server.endpoint {
            Endpoint::Tcp(address) => Some((LinkId::new(client, &server.info.name), *address)),
            Endpoint::Unix(_) => None,
        };
        let all = self.servers.iter().filter(|server| members.contains(&server.info.name.as_str()));
        let servers = all.filter_map(tcp).collect();
        // A ZooKeeper session has one connection. etcd's clients have several, and end one with each watch.
        let stays = self.kind.part_of(members[first]).product() == Product::Etcd;
        let (links, home) = Link::lay_to_ensemble(servers, first, stays, &self.clock)
            .await
            .map_err(|source| LabError::Link { link: client.to_owned(), source })
            .map_err(limits::named)?;
        let address = links[0].address().clone();
        self.links.extend(links.into_iter().map(|link| (link.id().clone(), link)));
        self.member_choices.insert(client.to_owned(), home);
        Ok(address)
    }

    /// The server of an ensemble that a client is connected to, or tries next.
    pub(crate) fn home(&self, client: &str) -> Option<&str> {
        self.homes(client).next()
    }

    /// The servers of an ensemble in the order in which a client tries them.
    pub(crate) fn homes(&self, client: &str) -> impl Iterator<Item = &str> {
        let ensemble = self.kind.parts().iter().find(|part| part.is_ensemble());
        let at = self.member_choices.get(client).map(MemberChoice::at);
        let servers = ensemble
            .zip(at)
            .map(|(part, at)| part.servers().iter().cycle().skip(at).take(part.servers().len()));
        servers.into_iter().flatten().copied()
    }

    pub fn kind(&self) -> LabKind {
        self.kind
    }

    pub fn link_states(&self) -> impl Iterator<Item = (&LinkId, LinkState)> {
        self.links.iter().map(|(id, link)| (id, link.state()))
    }

    /// When the next data on delayed links arrives.
    pub fn next_arrival(&self) -> Option<LessonTime> {
        self.links.values().filter_map(Link::next_arrival).min()
    }

    /// Lets data that is due by now arrive. Returns whether there was any.
    pub async fn deliver_due(&self, now: LessonTime) -> bool {
        let mut any = false;
        for link in self.links.values() {
            any |= link.deliver_due(now).await;
        }
        any
    }

    /// A link, to hold, cut and release it.
    pub fn link_control(&self, id: &LinkId) -> Option<&Link> {
        self.links.get(id)
    }

    /// Starts a client's process on the lesson clock.
    pub fn spawn_client(&mut self, name: &str) -> Result<(Process, ChildStdin, ChildStdout), LabError> {
        let started = self.start_client(name).map_err(limits::named)?;
        self.health.watch(&started.0.state);
        Ok(started)
    }

    fn start_client(&self, name: &str) -> Result<(Process, ChildStdin, ChildStdout), LabError> {
        let failed = |source| LabError::Spawn { program: format!("client {name}"), source };
        let mut command = spawner::guarded(&self.binary, &self.binary);
        command.arg(CLIENT).arg(name).envs(self.clock.env(None));
        let (process, pipes) = Process::start(&format!("client {name}"), command, &self.workspace, true)?;
        let (stdin, stdout) = pipes.ok_or_else(|| failed(io::Error::other("its pipes are missing")))?;
        let stdin = ChildStdin::from_std(stdin).map_err(failed)?;
        Ok((process, stdin, ChildStdout::from_std(stdout).map_err(failed)?))
    }

    /// Starts a user's program as a client, on the lesson clock: its environment names the client and the addresses of
    /// its servers.
    pub(crate) fn spawn_program(
        &mut self,
        name: &str,
        exec: &Exec,
        product: Product,
        servers: &[SocketAddr],
    ) -> Result<StartedProgram, LabError> {
        self.start_program(name, exec, product, servers).map_err(limits::named)
    }

    fn start_program(
        &self,
        name: &str,
        exec: &Exec,
        product: Product,
        servers: &[SocketAddr],
    ) -> Result<StartedProgram, LabError> {
        let words = exec.words.split_first();
        let (program, args) = words.map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
        let failed = |source| LabError::Spawn { program: program.to_owned(), source };
        let status = self.workspace.join(&format!("waits-{}", file_name(name)));
        let status = StatusFile::create(status).map_err(failed)?;
        let mut command = spawner::guarded(&self.binary, program);
        let slot = self.clock.allocate_slot();
        command.args(args).envs(self.clock.env(slot.as_ref())).env(STATUS_VARIABLE, status.path());
        command.env("LOCKSTEP_CLIENT", name);
        command.envs(addresses(product, servers));
        match &exec.origin {
            Origin::User => {}
            Origin::Lesson(directory) => {
                // Python must not write files beside the lesson: they would not be among the allowed ones.
                command.current_dir(directory).env("PYTHONDONTWRITEBYTECODE", "1");
            }
            Origin::Carried => drop(command.current_dir(self.unpack_programs().map_err(failed)?)),
        }
        self.installed.offer(&exec.libraries, &mut command);
        // Unbuffered, so that lines are read when they are printed.
        command.env("PYTHONUNBUFFERED", "1");
        let (process, pipes) = Process::start(&format!("client {name}"), command, &self.workspace, true)?;
        // Its standard input is closed here.
        let (_, output) = pipes.ok_or_else(|| failed(io::Error::other("its pipes are missing")))?;
        let threads = Threads::new(process.pid(), status);
        let threads = threads.ok_or_else(|| failed(io::Error::other("its process number makes no sense")))?;
        Ok(StartedProgram { process, output: output.into(), threads, slot })
    }

    /// The directory with the files of programs that carried lessons start.
    fn unpack_programs(&self) -> io::Result<PathBuf> {
        let directory = self.workspace.join("programs-of-lessons");
        for (name, content) in carried_programs() {
            let file = directory.join(name);
            if !file.exists() {
                file.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(file, content)?;
            }
        }
        Ok(directory)
    }

    /// The current state of every server. A server that has ended holds nothing any more and is left out.
    pub async fn observe(&self) -> Result<Vec<ServerState>, LabError> {
        self.observe_except(&HashSet::new()).await
    }

    /// As [`Lab::observe`], without the servers that are known to be frozen: those cannot answer.
    pub async fn observe_except(&self, frozen: &HashSet<String>) -> Result<Vec<ServerState>, LabError> {
        let looks = self.servers.iter().map(async |server| {
            if server.process.ended().is_some() || frozen.contains(&server.info.name) {
                return Ok(None);
            }
            let look = || server.observer.observe(&self.clock, server.slot.as_ref());
            match retry_while_stopped(server, look).await {
                Ok(observed) => Ok(Some(ServerState { server: server.info.name.clone(), observed })),
                // It may have ended meanwhile; the end of a process is noticed a moment after that of its connections.
                Err(error) => match timeout(NOTICED_WITHIN, server.process.exited()).await {
                    Ok(_) => Ok(None),
                    Err(_) => Err(unreadable(server, &error)),
                },
            }
        });
        let files =
            self.files.as_ref().map(|files| files.observe().map_err(|error| unreadable_files(&error)));
        join_all(looks).await.into_iter().filter_map(Result::transpose).chain(files).collect()
    }

    /// The messages of Sentinels since the last call, with time and sender, oldest first.
    pub(crate) fn notices(&self) -> Vec<(LessonTime, String, SentinelNotice)> {
        let notices = self.helpers.iter().flat_map(|helper| {
            let name = &helper.info.name;
            helper.observer.notices().into_iter().map(|(at, notice)| (at, name.clone(), notice))
        });
        let mut notices: Vec<_> = notices.collect();
        notices.sort_by_key(|(at, ..)| *at);
        notices
    }

    /// A metric of a server, by the server's own name for it: a field of Redis' `INFO`, a line of ZooKeeper's `mntr`.
    pub async fn metric(&self, server: &str, name: &str) -> Result<i64, LabError> {
        let server = self.server(server)?;
        let value = retry_while_stopped(server, || server.observer.metric(name))
            .await
            .map_err(|error| unreadable(server, &error))?;
        value.ok_or_else(|| LabError::NoMetric {
            server: server.info.name.clone(),
            name: name.to_owned(),
            hint: server.observer.metric_names(),
        })
    }

    /// The clients whose commands wait inside a server.
    pub(crate) async fn waiting(&self, server: &str) -> Result<Waiting, LabError> {
        if server == FILES {
            return self.file_waiters().map(Waiting::Sessions);
        }
        let server = self.server(server)?;
        let waiting = retry_while_stopped(server, || server.observer.waiting()).await;
        waiting.map_err(|error| unreadable(server, &error))
    }

    /// Whether a server holds a key.
    pub(crate) async fn holds(&self, server: &str, key: &str) -> Result<bool, LabError> {
        let server = self.server(server)?;
        let look = || server.observer.observe(&self.clock, server.slot.as_ref());
        let observed = retry_while_stopped(server, look).await.map_err(|error| unreadable(server, &error))?;
        Ok(observed.entry(key).is_some())
    }

    /// Whether a server has noticed the end of all these sessions.
    pub(crate) async fn have_ended(&self, server: &str, sessions: &[i64]) -> Result<bool, LabError> {
        // The kernel releases a process's locks when the process ends.
        if server == FILES {
            return Ok(true);
        }
        let server = self.server(server)?;
        let ended = retry_while_stopped(server, || server.observer.has_ended(sessions)).await;
        ended.map_err(|error| unreadable(server, &error))
    }

    /// Resolves when a server ends unexpectedly.
    pub async fn died(&self) -> ProcessProblem {
        select_all(self.all_servers().map(|server| server.died().boxed())).await.0
    }

    /// A server's process, to kill, freeze and thaw it.
    pub fn process(&self, server: &str) -> Result<&Process, LabError> {
        Ok(&self.server(server)?.process)
    }

    /// Restarts a server that has ended: same directory, same address.
    pub async fn restart_server(&mut self, name: &str) -> Result<(), LabError> {
        self.process(name)?;
        let boot = Boot {
            workspace: &self.workspace,
            settings: &self.settings,
            clock: &self.clock,
            secret: &self.secret,
            binary: &self.binary,
            search: &self.search,
            health: &self.health,
        };
        match self.servers.iter_mut().find(|server| server.info.name == name) {
            Some(server) => server.restart(&boot).await,
            None => Ok(()),
        }
    }

    /// Whether its servers persist their data.
    pub fn is_persistent(&self) -> bool {
        self.settings.appendonly.is_some_and(|appendonly| appendonly != Appendonly::No)
    }

    /// Waits until a server has synced to disk what is due by now.
    pub async fn await_sync(&self, name: &str) -> Result<(), LabError> {
        if !self.is_persistent() {
            return Ok(());
        }
        let server = self.server(name)?;
        let look = || server.observer.field("aof_pending_bio_fsync");
        // An observation makes the server begin a sync that is due, but not while another one runs: so there are two.
        for _ in 0..2 {
            retry_while_stopped(server, look).await.map_err(|error| unreadable(server, &error))?;
            let done = || async { look().await.ok()?.is_none_or(|pending| pending == "0").then_some(()) };
            ready(&server.process, done).await?;
        }
        Ok(())
    }

    /// Discards the data that a dead server had written but not synced to disk.
    pub fn lose_unsynced(&self, name: &str) -> Result<(), LabError> {
        let dir = self.workspace.join(&format!("{name}-data"));
        lose_unsynced(&dir).map_err(|source| LabError::Workspace {
            action: "take what was not on the disk from the files of a server",
            dir,
            source,
        })
    }

    /// Whether a server is alive and reports that it is a master or leads an ensemble.
    pub async fn is_master(&self, server: &str) -> Result<bool, LabError> {
        let server = self.server(server)?;
        let role = match server.process.ended() {
            Some(_) => None,
            None => retry_while_stopped(server, || server.observer.field("role")).await.ok().flatten(),
        };
        Ok(matches!(role.as_deref(), Some("master" | "leader")))
    }

    /// The server that announces this address to others, as a redirection names it.
    pub fn announced(&self, address: &str) -> Option<&str> {
        let port = address.rsplit_once(':')?.1.parse().ok()?;
        let server = self.servers.iter().find(|server| server.announced_port == Some(port))?;
        Some(&server.info.name)
    }

    /// The server that the Sentinel at this address (of a client's own link to it) names as master; `None` if the
    /// Sentinel does not answer.
    pub async fn primary(&self, sentinel: &LinkAddress) -> Option<&str> {
        let Endpoint::Tcp(address) = sentinel else { return None };
        let named = sentinel::primary(*address, self.secret.secret()).await?;
        let server = self.servers.iter().find(|server| server.announced_port == Some(named.port()))?;
        Some(&server.info.name)
    }

    /// The private directory, with the servers' logs.
    pub fn directory(&self) -> &std::path::Path {
        self.workspace.path()
    }

    /// Waits for the background work of this lab that later labs will use.
    pub(crate) async fn background_work(&mut self) {
        if let Some(work) = &mut self.background {
            work.finished().await;
        }
    }

    /// Ends the lab, as dropping it does, without blocking other tasks meanwhile.
    pub async fn shutdown(self) {
        let runtime = Handle::current();
        let (tell, ended) = oneshot::channel();
        let thread = thread::Builder::new().name("lab-end".into()).spawn(move || {
            let _entered = runtime.enter();
            drop(self);
            // An error means only that nothing waits for the result.
            let _ = tell.send(());
        });
        // If the thread could not be started, the lab was dropped with its closure.
        if thread.is_ok() {
            let _ = ended.await;
        }
    }

    fn all_servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().chain(&self.helpers)
    }

    fn server(&self, name: &str) -> Result<&Server, LabError> {
        self.all_servers().find(|server| server.info.name == name).ok_or_else(|| LabError::NoSuchServer {
            name: name.to_owned(),
            known: self.all_servers().map(|server| server.info.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // All at once; the drop of each server then waits for its end. A server that cannot be signalled has ended.
        for server in self.all_servers() {
            let _ = server.process.kill();
        }
    }
}

/// The environment variables with a program's server addresses. With several Redis servers the unnumbered variables
/// name the first.
fn addresses(product: Product, servers: &[SocketAddr]) -> Vec<(String, String)> {
    if product == Product::Zookeeper {
        let hosts: Vec<String> = servers.iter().map(ToString::to_string).collect();
        return vec![("ZOOKEEPER".to_owned(), hosts.join(","))];
    }
    let url = |server: &SocketAddr| format!("redis://{server}/0");
    let urls: Vec<String> = servers.iter().map(url).collect();
    let mut variables = vec![("REDIS_URLS".to_owned(), urls.join(","))];
    for (n, (server, url)) in servers.iter().zip(&urls).enumerate() {
        let first = (n == 0).then(String::new);
        for end in first.into_iter().chain([format!("_{}", n + 1)]) {
            variables.push((format!("REDIS_URL{end}"), url.clone()));
            variables.push((format!("REDIS_HOST{end}"), server.ip().to_string()));
            variables.push((format!("REDIS_PORT{end}"), server.port().to_string()));
        }
    }
    variables
}

/// Observes a server, and retries as long as it is silent because something outside Lockstep has stopped it:
/// [`ProcessHealth`] reports that to the waiting tasks, which may continue when the server does.
async fn retry_while_stopped<T, F>(server: &Server, look: impl Fn() -> F) -> Result<T, ObserveError>
where
    F: Future<Output = Result<T, ObserveError>>,
{
    loop {
        match look().await {
            Err(ObserveError::Silent) if server.process.state.is_stopped() => {}
            looked => return looked,
        }
    }
}

fn unreadable_files(error: &io::Error) -> LabError {
    let why = format!("{error}. Who has locked a file is read from /proc/locks, which Linux has");
    LabError::Unreadable { server: FILES.to_owned(), why, log: String::new() }
}

fn unreadable(server: &Server, error: &ObserveError) -> LabError {
    LabError::Unreadable {
        server: server.info.name.clone(),
        why: error.to_string(),
        log: log_tail(&server.process.state.log),
    }
}
