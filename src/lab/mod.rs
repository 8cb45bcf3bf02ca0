//! The lab: real servers on a clock that can be stopped, links to them that can be cut, and processes that can be
//! frozen and killed. It must not know lessons' programs or the screen: it carries out orders and reports states.
//!
//! **Architecture Invariants** of this module:
//! - Lockstep's servers live in a private temporary directory and listen on loopback or a Unix socket only.
//! - No shared server is ever flushed: the lab starts its servers itself and knows no others. A fresh lab has new
//!   servers.

mod clients;
pub(crate) mod clock_check;
pub mod doctor;
pub mod install;
mod jars;
pub mod libraries;
mod links;
mod observing;
pub mod ready;
pub(crate) mod timekeeping;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures::FutureExt;
use futures::future::select_all;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

pub use crate::process::{
    LabError, Process, guard,
    health::{LOOK, ProblemTracker, ProcessHealth, ProcessProblem},
    limits,
    live_directories::{end_all, end_now},
    programs,
    spawner::own_binary,
    starvation::Starvation,
    sweep::sweep,
    usage::{Meters, Usage, own_memory},
    wall_clock::WallClock,
    workspace::{Workspace, root as workspace_root},
};
pub use crate::server::{
    boot::Endpoint,
    link::{Link, LinkAddress, LinkState},
};
pub(crate) use crate::server::{connection::Connection, observe::Waiting};

pub(crate) use self::clients::StartedProgram;
use self::libraries::Installed;
use self::programs::Search;
use self::ready::Reuse;
use self::timekeeping::Timekeeping;
use crate::clock::{LessonClock, Slot};
use crate::lesson::{Appendonly, LabKind, Params, Scenario, Settings};
use crate::log::{FILES, LinkId, ServerInfo};
use crate::server::boot::{Boot, Server, Started};
use crate::server::connection::ServerAddress;
use crate::server::flock::FileLocks;
use crate::server::link::MemberChoice;
use crate::server::secret::Secret;
use crate::server::{
    self,
    boot::BackgroundWork,
    redis::{persistence::lose_unsynced, sentinel},
};

/// The hidden subcommand that makes this program a client.
pub const CLIENT: &str = "__client";

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

    pub fn kind(&self) -> LabKind {
        self.kind
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

    /// Discards the data that a dead server had written but not synced to disk.
    pub fn lose_unsynced(&self, name: &str) -> Result<(), LabError> {
        let dir = self.workspace.join(&format!("{name}-data"));
        lose_unsynced(&dir).map_err(|source| LabError::Workspace {
            action: "take what was not on the disk from the files of a server",
            dir,
            source,
        })
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
