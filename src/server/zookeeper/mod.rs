//! ZooKeeper servers on loopback ports, small and quick to start: one alone, or an ensemble.

pub(crate) mod archive;
pub(crate) mod four_letters;
pub(crate) mod jars;
pub(crate) mod jute;
pub(crate) mod observe;
pub(crate) mod programs;
pub(crate) mod session;

use std::ffi::OsString;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::{try_join, try_join_all};
use tokio::net::TcpStream;

use crate::clock::Rate;
use crate::lesson::Topology;
use crate::log::Product;
use crate::process::{error::LabError, workspace::Workspace};
use crate::server::boot::{
    BackgroundWork, Boot, Endpoint, Launch, Server, Started, free_port, on_free_ports, ready,
};
use crate::server::link::BACKLOG;
use crate::server::zookeeper::archive::Archive;
use crate::server::zookeeper::four_letters::ask;
use crate::server::zookeeper::jars::Jars;
use crate::server::zookeeper::observe::ZookeeperObserver;
use crate::server::zookeeper::programs::{JAVA, ZOOKEEPER, zookeeper};

/// ZooKeeper's unit of time, in milliseconds. Sessions expire at the end of a tick, so that with a short one they
/// expire close to their timeout.
const TICK_MS: u32 = 500;

/// How many ticks a follower may take to join its leader, and may be silent: time runs fast while they start, and
/// sometimes in a lesson.
const INIT_LIMIT: u32 = 60;
const SYNC_LIMIT: u32 = 20;

/// The pause between two checks whether a server listens.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// The four-letter commands that Lockstep and curious users need; by default only `srvr` is allowed.
const FOUR_LETTERS: &str = "ruok,srvr,conf,mntr,cons,dump,wchs,wchp,wchc";

/// The main classes of a single server and of an ensemble member.
const ALONE: &str = "org.apache.zookeeper.server.ZooKeeperServerMain";
const MEMBER: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// The rate of the lesson clock until an ensemble has its leader: an election waits 0.2 s for better candidates.
const BOOT_RATE: f64 = 5.0;

/// Starts the lab's servers: one alone, or an ensemble.
pub(crate) async fn start(boot: &Boot<'_>, topology: &Topology) -> Result<Started, LabError> {
    let (program, jars) = ((JAVA.find)(boot.search)?, zookeeper(boot.search)?);
    if let Some(found) = jars.version {
        ZOOKEEPER.require_version(&jars.server, &found.to_string())?;
    }
    let archive = Archive::of(boot.search, &program, &jars.class_path);
    let mut java = Java { program, jars, archive: archive.as_ref().and_then(Archive::option) };
    let servers = match on_free_ports(|| start_all(boot, &java, topology)).await {
        Err(LabError::Boot { .. }) if java.archive.take().is_some() => {
            // The archive may be the reason why the server does not start.
            archive.iter().for_each(Archive::discard);
            on_free_ports(|| start_all(boot, &java, topology)).await?
        }
        started => started?,
    };
    let training = archive.and_then(|archive| archive.make(boot, &java));
    let background = training.map(|training| Box::new(training) as Box<dyn BackgroundWork>);
    Ok(Started { servers, background, ..Started::default() })
}

async fn start_all(boot: &Boot<'_>, java: &Java, topology: &Topology) -> Result<Vec<Server>, LabError> {
    match topology.servers {
        [name] => Ok(vec![Member::prepare(boot, name, "")?.start(boot, java, ALONE).await?]),
        names => start_ensemble(boot, java, names).await,
    }
}

/// Starts an ensemble that is led by its last server: among equal servers the one with the highest number is elected,
/// if it is there in time. So the first server is started only when the last one can be reached: without the first, the
/// others are a majority only together.
async fn start_ensemble(boot: &Boot<'_>, java: &Java, names: &[&str]) -> Result<Vec<Server>, LabError> {
    let unlinked = |source| LabError::Link { link: names[0].to_owned(), source };
    let mut settings = format!("initLimit={INIT_LIMIT}\nsyncLimit={SYNC_LIMIT}\n");
    let mut elections = Vec::new();
    for number in 1..=names.len() {
        let (quorum, election) = (free_port().map_err(unlinked)?, free_port().map_err(unlinked)?);
        // Writing to a string cannot fail.
        let _ = writeln!(settings, "server.{number}={quorum}:{}", election.port());
        elections.push(election);
    }
    let mut members = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let member = Member::prepare(boot, name, &settings)?;
        boot.workspace.write(&format!("{name}-data/myid"), &(n + 1).to_string())?;
        members.push(member);
    }
    boot.clock.set_rate(Rate::from_factor(BOOT_RATE).unwrap_or(Rate::NORMAL))?;
    let last = elections[elections.len() - 1];
    let first = async |member: Member| {
        // The connection is closed at once: the last server reads from one connection at a time, for as long as
        // `syncLimit` allows.
        while TcpStream::connect(last).await.map(drop).is_err() {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        member.start(boot, java, MEMBER).await
    };
    let mut members = members.into_iter();
    let begun = members.next().map(first);
    let others = try_join_all(members.map(|member| member.start(boot, java, MEMBER)));
    // A server that cannot start ends the others' wait for it.
    let (begun, others) = try_join(async { try_join_all(begun).await }, others).await?;
    boot.clock.set_rate(Rate::NORMAL)?;
    Ok(begun.into_iter().chain(others).collect())
}

/// A server that is about to be started.
struct Member {
    name: String,
    data: PathBuf,
    address: SocketAddr,
    config: PathBuf,
}

impl Member {
    fn prepare(boot: &Boot<'_>, name: &str, ensemble: &str) -> Result<Self, LabError> {
        let data = boot.workspace.make_dir(&format!("{name}-data"))?;
        let address = free_port().map_err(|source| LabError::Link { link: name.to_owned(), source })?;
        let settings = settings(&data, address) + ensemble;
        let config = boot.workspace.write(&format!("{name}.cfg"), &settings)?;
        Ok(Self { name: name.to_owned(), data, address, config })
    }

    async fn start(self, boot: &Boot<'_>, java: &Java, class: &str) -> Result<Server, LabError> {
        let Self { name, data, address, config } = self;
        let arguments = java.arguments(boot.workspace, class, config)?;
        let started = boot.start(&name, &java.program, &arguments)?;
        let process = &started.0;
        // The port may have been taken by another lab's server, and this one will then end. So the answer must also
        // name this lab's directory. A member answers this only when it serves clients.
        let own_directory = data.display().to_string();
        ready(process, || async { ask(address, "conf").await.ok()?.contains(&own_directory).then_some(()) })
            .await?;
        let version = ready(process, || async { version_in_srvr(&ask(address, "srvr").await.ok()?) }).await?;
        ZOOKEEPER.require_version(&java.jars.server, &version)?;
        let observer = ZookeeperObserver::new(address, class == MEMBER);
        // The observer's session is opened here and not at the first observation, because it takes a transaction
        // number: the lesson's own numbers then do not depend on when the server is observed.
        ready(process, || async { observer.connect().await.ok() }).await?;
        let product = Product::Zookeeper.traits().name;
        let launch = Launch { program: java.program.clone(), arguments };
        let server = Server::new(boot, product, version, Endpoint::Tcp(address), started, Box::new(observer));
        Ok(server.restartable(launch))
    }
}

/// The Java that servers run on.
#[derive(Debug)]
struct Java {
    program: PathBuf,
    jars: Jars,
    /// The option that makes it use an archive of classes, if there is one.
    archive: Option<OsString>,
}

impl Java {
    /// The command-line arguments for this class with this configuration.
    fn arguments(
        &self,
        workspace: &Workspace,
        class: &str,
        config: PathBuf,
    ) -> Result<Vec<OsString>, LabError> {
        let mut arguments = JAVA_OPTIONS.map(OsString::from).to_vec();
        arguments.extend(self.archive.clone());
        if self.jars.has_logback() {
            let file = workspace.write("logback.xml", LOGBACK)?;
            arguments.push(format!("-Dlogback.configurationFile={}", file.display()).into());
        }
        arguments.push(format!("-Djava.io.tmpdir={}", workspace.path().display()).into());
        arguments.extend(["-cp".into(), self.jars.joined(), class.into(), config.into()]);
        Ok(arguments)
    }
}

/// The server's configuration file. `maxClientCnxns=0` lifts the limit of 60 connections for an address, which a herd
/// would exceed at once, and the backlog lifts that of 50 connections that may wait to be accepted. Sessions from 1 s
/// to 60 s are granted as requested.
fn settings(data: &Path, address: SocketAddr) -> String {
    format!(
        "tickTime={TICK_MS}\n\
         minSessionTimeout=1000\n\
         maxSessionTimeout=60000\n\
         dataDir={}\n\
         clientPortAddress={}\n\
         clientPort={}\n\
         maxClientCnxns=0\n\
         clientPortListenBacklog={BACKLOG}\n\
         admin.enableServer=false\n\
         4lw.commands.whitelist={FOUR_LETTERS}\n",
        data.display(),
        address.ip(),
        address.port(),
    )
}

/// Parses `Zookeeper version: 3.8.0-5a02a05…, built on …`, only the numbers. `None` while the server reports that it
/// does not serve yet.
fn version_in_srvr(answer: &str) -> Option<String> {
    let line = answer.lines().find_map(|line| line.strip_prefix("Zookeeper version: "))?;
    let end = line.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(line.len());
    Some(line[..end].to_owned())
}

/// A small JVM that starts quickly, and a server that need not survive a power cut: nothing is forced to the disk, and
/// the transaction log, 64 MiB of zeros by default, starts with 1 MiB.
const JAVA_OPTIONS: [&str; 14] = [
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    // Enables nodes with a TTL, and checks every second whether one of them, or an empty container, must be deleted.
    "-Dzookeeper.extendedTypesEnabled=true",
    "-Dznode.container.checkIntervalMs=1000",
    "-Dzookeeper.forceSync=no",
    "-Dzookeeper.preAllocSize=1024",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.showShortLogName=true",
];

const LOGBACK: &str = r#"<configuration>
  <appender name="log" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %level %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="log"/></root>
</configuration>
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_srvr_once_the_server_serves() {
        let answer =
            "Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25\n";
        assert_eq!(version_in_srvr(answer).as_deref(), Some("3.8.0"));
        assert_eq!(version_in_srvr("This ZooKeeper instance is not currently serving requests\n"), None);
    }
}
