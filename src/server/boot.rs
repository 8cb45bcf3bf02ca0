//! What every kind of server has in common: how it is started on the lesson clock, how it is known to be ready, and
//! what is handed to the lab.
//!
//! A product is a function `start(&Boot)` that gives what it [`Started`].

use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
use crate::process::spawner;
use crate::process::workspace::Workspace;
use crate::server::link::Link;
use crate::server::observe::Observer;
use crate::server::secret::Secret;

/// How long a server may take to answer after its start. Real time: many times what a slow machine needs.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// How long one probe waits. A connection made before the server reads can stay unanswered for ever, so
/// probes are short at first and grow only for the sake of busy machines.
const FIRST_PROBE: Duration = Duration::from_millis(20);
const LONGEST_PROBE: Duration = Duration::from_secs(2);

/// The pause after a probe that was refused.
const BETWEEN_PROBES: Duration = Duration::from_millis(2);

/// How often ports are tried.
const TRIES: usize = 5;

/// Work for later labs. Dropping it ends it.
pub(crate) trait BackgroundWork: fmt::Debug + Send + Sync {
    /// Waits until it is done, or has failed.
    fn finished(&mut self) -> BoxFuture<'_, ()>;
}

/// Where something listens. Loopback and Unix sockets are all that there is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    Unix(PathBuf),
    /// A port of the loopback interface.
    Tcp(SocketAddr),
}

impl fmt::Display for Endpoint {
    /// What can be typed after `redis-cli -s` or `zkCli.sh -server`.
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
    /// Told of every server that is started.
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

    /// As [`Boot::start`], in a slot that the server had before.
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
    /// How to start it again; `None` where nobody needs to.
    pub launch: Option<Launch>,
    /// The port that other servers know it by, where that is a front's.
    pub announced_port: Option<u16>,
}

/// What a server is started with, to start it again.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

/// What a product hands to the lab: its servers, the one that operations go to by default first, and the
/// links that it laid between them.
#[derive(Debug, Default)]
pub(crate) struct Started {
    pub servers: Vec<Server>,
    /// Servers that hold nothing to look at, such as Sentinels.
    pub helpers: Vec<Server>,
    pub links: Vec<Link>,
    /// What makes the next start faster.
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

    /// The server with the way to start it again.
    pub fn restartable(mut self, launch: Launch) -> Self {
        self.launch = Some(launch);
        self
    }

    /// Starts it again after it has ended: same directory, same address. What it had not written down is
    /// lost.
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

    /// Resolves when it ends without having been told to; never if it was told to.
    pub async fn died(&self) -> ProcessProblem {
        let how = self.process.died().await;
        ProcessProblem::Died { process: self.info.name.clone(), how, log: log_tail(&self.process.state.log) }
    }
}

/// A port that is free at this moment.
pub(crate) fn free_port() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// Starts servers on free ports; on others where somebody else was quicker: between finding a port and the server's taking
/// it may lie the start of a Java machine.
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

/// Asks a starting server again and again until it answers. `probe` says what the answer gave, or `None`
/// where there was none yet. A server that ends meanwhile is noticed at once, and so is one that answers and does not
/// take its time from the clock that it was started on.
pub(crate) async fn ready<T, F>(process: &Process, mut probe: impl FnMut() -> F) -> Result<T, LabError>
where
    F: Future<Output = Option<T>>,
{
    let answered = async {
        let mut patience = FIRST_PROBE;
        loop {
            match timeout(patience, probe()).await {
                Ok(Some(answer)) => break answer,
                Ok(None) => tokio::time::sleep(BETWEEN_PROBES).await,
                Err(_) => patience = LONGEST_PROBE.min(patience * 2),
            }
        }
    };
    let answer = tokio::select! {
        biased;
        how = process.exited() => Err(LabError::Boot {
            server: process.state.name.clone(),
            how,
            log: log_tail(&process.state.log),
        }),
        answer = timeout(READY_WITHIN, answered) => answer.map_err(|_| LabError::Silent {
            server: process.state.name.clone(),
            seconds: READY_WITHIN.as_secs(),
            log: log_tail(&process.state.log),
        }),
    }?;
    if process.keeps_clock() {
        Ok(answer)
    } else {
        Err(LabError::ClockIgnored { server: process.state.name.clone() })
    }
}
