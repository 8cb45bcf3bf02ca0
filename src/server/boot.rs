//! What all products have in common: starting a server on the lesson clock, waiting until it is ready, and what is
//! handed to the lab.
//!
//! A product is a function `start(&Boot)` that returns what it has [`Started`].

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{
    OnceLock,
    atomic::{AtomicU16, Ordering},
};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::clock::{LessonClock, Slot};
use crate::lesson::Settings;
use crate::log::ServerInfo;
use crate::process::child::{Process, log_tail};
use crate::process::error::LabError;
use crate::process::health::{ProcessHealth, ProcessProblem};
use crate::process::programs::Search;
use crate::process::workspace::Workspace;
use crate::process::{spawner, starvation};
use crate::server::link::Link;
use crate::server::observe::Observer;
use crate::server::secret::Secret;

/// How long a server that can run may take to answer after its start, in real time: many times what a slow machine
/// needs.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// How long one probe waits. A connection made before the server accepts can stay unanswered for ever, so probes are
/// short at first and grow only for busy machines, on which an answer may take seconds.
const FIRST_PROBE: Duration = Duration::from_millis(20);
const LONGEST_PROBE: Duration = Duration::from_secs(5);

/// The pause after a refused probe.
const BETWEEN_PROBES: Duration = Duration::from_millis(2);

/// How many sets of ports are tried.
const TRIES: usize = 5;

/// Work for later labs. Dropping it ends it.
pub(crate) trait BackgroundWork: fmt::Debug + Send + Sync {
    /// Waits until it is done or has failed.
    fn finished(&mut self) -> BoxFuture<'_, ()>;
}

/// A listening address. Only loopback and Unix sockets exist.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    Unix(PathBuf),
    /// A port of the loopback interface.
    Tcp(SocketAddr),
}

impl fmt::Display for Endpoint {
    /// The text to type after `redis-cli -s` or `zkCli.sh -server`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

pub(crate) struct Boot<'a> {
    pub workspace: &'a Workspace,
    pub settings: &'a Settings,
    pub clock: &'a LessonClock,
    pub secret: &'a Secret,
    /// This program, to be executed again as the guard.
    pub binary: &'a Path,
    pub search: &'a Search,
    /// Is told about every server that is started.
    pub health: &'a ProcessHealth,
}

impl Boot<'_> {
    /// Starts a server's program under the guard and on the lesson clock, with a skew slot of its own.
    pub fn start(
        &self,
        name: &str,
        program: &Path,
        arguments: &[OsString],
    ) -> Result<(Process, Option<Slot>), LabError> {
        let slot = self.clock.allocate_slot();
        let process = self.start_again(name, program, slot.as_ref(), arguments)?;
        Ok((process, slot))
    }

    /// As [`Boot::start`], in the server's existing slot.
    pub fn start_again(
        &self,
        name: &str,
        program: &Path,
        slot: Option<&Slot>,
        arguments: &[OsString],
    ) -> Result<Process, LabError> {
        let mut command = spawner::guarded(self.binary, program);
        command.envs(self.clock.env(slot)).current_dir(self.workspace.path()).args(arguments);
        let (process, _) = Process::start(name, command, self.workspace, false)?;
        self.health.watch(&process.state);
        Ok(process.on_clock(self.clock))
    }
}

#[derive(Debug)]
pub(crate) struct Server {
    pub info: ServerInfo,
    pub endpoint: Endpoint,
    pub slot: Option<Slot>,
    pub observer: Box<dyn Observer>,
    pub process: Process,
    /// How to start it again; `None` if it is never restarted.
    pub launch: Option<Launch>,
    /// The port by which other servers know it, if that is a front's.
    pub announced_port: Option<u16>,
}

/// The command line for restarting a server.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

/// What a product hands to the lab: its servers, the default target of operations first, and the links between them.
#[derive(Debug, Default)]
pub(crate) struct Started {
    pub servers: Vec<Server>,
    /// Servers without observable data, such as Sentinels.
    pub helpers: Vec<Server>,
    pub links: Vec<Link>,
    /// Work that speeds up the next start.
    pub background: Option<Box<dyn BackgroundWork>>,
}

impl From<Vec<Server>> for Started {
    fn from(servers: Vec<Server>) -> Self {
        Self { servers, ..Self::default() }
    }
}

impl Server {
    pub fn new(
        boot: &Boot<'_>,
        product: &str,
        version: String,
        endpoint: Endpoint,
        (process, slot): (Process, Option<Slot>),
        observer: Box<dyn Observer>,
    ) -> Self {
        let info = ServerInfo {
            name: process.state.name.clone(),
            product: product.to_owned(),
            version,
            address: endpoint.to_string(),
            password: boot.secret.password().map(str::to_owned),
        };
        Self { info, endpoint, slot, observer, process, launch: None, announced_port: None }
    }

    /// Adds the command line for restarts.
    pub fn restartable(mut self, launch: Launch) -> Self {
        self.launch = Some(launch);
        self
    }

    /// Restarts it after it has ended: same directory, same address. Data that it had not written to files is lost.
    pub async fn restart(&mut self, boot: &Boot<'_>) -> Result<(), LabError> {
        let name = &self.info.name;
        let refused = |why: String| LabError::Signal { process: name.clone(), signal: "a restart", why };
        let Some(launch) = &self.launch else {
            return Err(refused("this lab does not restart servers".to_owned()));
        };
        if self.process.ended().is_none() {
            return Err(refused("it runs".to_owned()));
        }
        self.process = boot.start_again(name, &launch.program, self.slot.as_ref(), &launch.arguments)?;
        let observer = &self.observer;
        ready(&self.process, || async { observer.observe(boot.clock, None).await.ok() }).await?;
        Ok(())
    }

    /// Resolves when it ends unexpectedly; never if it was ordered to end.
    pub async fn died(&self) -> ProcessProblem {
        let how = self.process.died().await;
        ProcessProblem::Died { process: self.info.name.clone(), how, log: log_tail(&self.process.state.log) }
    }
}

/// The first port that servers get.
const FIRST_PORT: u16 = 15_000;

/// The port from which on the kernel chooses those of outgoing connections (`ip(7)`).
fn first_ephemeral_port() -> Option<u16> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    range.split_whitespace().next()?.parse().ok()
}

/// A port that is free at this moment, and that no outgoing connection takes before the server binds it: a JVM may need
/// seconds until then.
pub(crate) fn free_port() -> io::Result<SocketAddr> {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    // Each process begins somewhere else.
    let next = NEXT.get_or_init(|| {
        let [low, high, ..] = RandomState::new().hash_one(0).to_ne_bytes();
        AtomicU16::new(u16::from_ne_bytes([low, high]))
    });
    let count = first_ephemeral_port().unwrap_or_default().saturating_sub(FIRST_PORT);
    let tried = (0..count).map(|_| FIRST_PORT + next.fetch_add(1, Ordering::Relaxed) % count);
    let free = tried.map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port))).find_map(Result::ok);
    free.map_or_else(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)), Ok)?.local_addr()
}

/// Starts servers on free ports, and retries on others if another process took one first: between finding a port and
/// binding it lies the start of a JVM.
pub(crate) async fn on_free_ports<T, F>(start: impl Fn() -> F) -> Result<T, LabError>
where
    F: Future<Output = Result<T, LabError>>,
{
    let mut tries = 1;
    loop {
        match start().await {
            Err(LabError::Boot { log, .. })
                if tries < TRIES && log.to_ascii_lowercase().contains("address already in use") =>
            {
                tries += 1;
            }
            result => return result,
        }
    }
}

/// Probes a starting server until it answers. `probe` returns the answer, or `None` if there was none yet. The end of
/// the server is noticed at once, and so is a server that answers but does not run on the clock that it was started
/// with.
pub(crate) async fn ready<T, F>(process: &Process, mut probe: impl FnMut() -> F) -> Result<T, LabError>
where
    F: Future<Output = Option<T>>,
{
    let began = Instant::now();
    let mut answered = pin!(async {
        let mut patience = FIRST_PROBE;
        loop {
            match timeout(patience, probe()).await {
                Ok(Some(answer)) => break answer,
                Ok(None) => tokio::time::sleep(BETWEEN_PROBES).await,
                Err(_) => patience = LONGEST_PROBE.min(patience * 2),
            }
        }
    });
    let answered = async {
        loop {
            match timeout(READY_WITHIN, &mut answered).await {
                Ok(answer) => break Ok(answer),
                Err(_) if starvation::excuses(process.pid(), began.elapsed()).await => {}
                Err(_) => {
                    break Err(LabError::Silent {
                        server: process.state.name.clone(),
                        seconds: began.elapsed().as_secs(),
                        log: log_tail(&process.state.log),
                    });
                }
            }
        }
    };
    let server = || process.state.name.clone();
    let died = |how| LabError::Boot { server: server(), how, log: log_tail(&process.state.log) };
    let answer = tokio::select! {
        biased;
        how = process.exited() => return Err(died(how)),
        answer = answered => answer?,
    };
    match process.keeps_clock() {
        Some(true) => Ok(answer),
        Some(false) => Err(LabError::ClockIgnored { server: server() }),
        None => Err(died(process.exited().await)),
    }
}
