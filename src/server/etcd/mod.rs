//! etcd servers on ports of the loopback interface: one alone, or a cluster.

pub(crate) mod connection;
mod http;
pub(crate) mod observe;
pub(crate) mod programs;

use std::{
    ffi::OsString,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use futures::future::try_join_all;

use crate::{
    clock::{Rate, VDSO_VARIABLE},
    lesson::Topology,
    log::Product,
    process::LabError,
    server::{
        boot::{Boot, Endpoint, Launch, Server, Started, free_port, on_free_ports, ready},
        etcd::{observe::EtcdObserver, programs::SERVER},
    },
};

/// Starts a program with additional environment variables.
const ENV: &str = "/usr/bin/env";

/// The rate of the lesson clock until a cluster has its leader: an election takes seconds.
const BOOT_RATE: f64 = 4.0;

/// The heartbeat interval and the election timeout, in milliseconds: etcd's defaults for a single server, and longer
/// for a cluster, so that a busy machine on a fast clock is not taken for dead.
const ALONE_MS: [&str; 2] = ["100", "1000"];
const SEVERAL_MS: [&str; 2] = ["300", "3000"];

/// Starts the lab's servers: one alone, or a cluster.
pub(crate) async fn start(boot: &Boot<'_>, topology: &Topology) -> Result<Started, LabError> {
    Ok(on_free_ports(|| start_all(boot, topology.servers)).await?.into())
}

async fn start_all(boot: &Boot<'_>, names: &[&str]) -> Result<Vec<Server>, LabError> {
    let program = (SERVER.find)(boot.search)?;
    let several = names.len() > 1;
    let members = names.iter().map(|name| Member::prepare(boot, name, several));
    let members = members.collect::<Result<Vec<_>, _>>()?;
    let cluster: Vec<String> =
        members.iter().map(|member| format!("{}=http://{}", member.id, member.peers)).collect();
    let cluster = cluster.join(",");
    if !several {
        return try_join_all(members.iter().map(|member| member.start(boot, &program, &cluster))).await;
    }
    boot.clock.set_rate(Rate::from_factor(BOOT_RATE).unwrap_or(Rate::NORMAL))?;
    let servers = try_join_all(members.iter().map(|member| member.start(boot, &program, &cluster))).await?;
    if let Some(server) = servers.last() {
        ready(&server.process, || make_last_lead(&members)).await?;
    }
    boot.clock.set_rate(Rate::NORMAL)?;
    Ok(servers)
}

/// A server that is about to be started.
struct Member {
    name: String,
    /// Its name in the cluster, unique across labs.
    id: String,
    data: PathBuf,
    address: SocketAddr,
    peers: SocketAddr,
    several: bool,
}

impl Member {
    fn prepare(boot: &Boot<'_>, name: &str, several: bool) -> Result<Self, LabError> {
        let port = || free_port().map_err(|source| LabError::Link { link: name.to_owned(), source });
        let (address, peers) = (port()?, port()?);
        let lab = boot.workspace.path().file_name().unwrap_or_default().to_string_lossy();
        // Each attempt has ports of its own, and a member's data names its ports.
        let data = boot.workspace.join(&format!("{name}-data-{}", peers.port()));
        Ok(Self { name: name.to_owned(), id: format!("{lab}-{name}"), data, address, peers, several })
    }

    async fn start(&self, boot: &Boot<'_>, program: &Path, cluster: &str) -> Result<Server, LabError> {
        let Self { name, id, data, address, peers, .. } = self;
        let (client, peer) = (format!("http://{address}"), format!("http://{peers}"));
        let [heartbeat, election] = if self.several { SEVERAL_MS } else { ALONE_MS };
        // Go bypasses libc and reads the clock in the vDSO, and only the server itself is to do so in lesson time: so
        // `env` sets the variable and not Lockstep.
        let mut arguments = vec![
            OsString::from(format!("{VDSO_VARIABLE}=1")),
            program.into(),
            "--data-dir".into(),
            data.into(),
        ];
        let options = [
            ("--name", &id[..]),
            ("--listen-client-urls", &client),
            ("--advertise-client-urls", &client),
            ("--listen-peer-urls", &peer),
            ("--initial-advertise-peer-urls", &peer),
            ("--initial-cluster", cluster),
            ("--heartbeat-interval", heartbeat),
            ("--election-timeout", election),
            ("--logger", "zap"),
            ("--log-level", "error"),
        ];
        arguments.extend(
            options.iter().flat_map(|(option, value)| [OsString::from(option), OsString::from(value)]),
        );
        // Committed data survives the end of the process; a loss of power is no fault of this lab.
        arguments.push("--unsafe-no-fsync".into());
        let started = boot.start(name, Path::new(ENV), &arguments)?;
        let observer = self.observer();
        let version = ready(&started.0, || async { observer.version(id).await.ok()? }).await?;
        SERVER.require_version(program, &version)?;
        let product = Product::Etcd.traits().name;
        let server =
            Server::new(boot, product, version, Endpoint::Tcp(*address), started, Box::new(observer));
        Ok(server.restartable(Launch { program: ENV.into(), arguments }))
    }

    fn observer(&self) -> EtcdObserver {
        EtcdObserver { address: self.address, member: self.several }
    }
}

/// Makes the last member the leader, whichever was elected. Returns `Some` once all members know it.
async fn make_last_lead(members: &[Member]) -> Option<()> {
    let observers: Vec<EtcdObserver> = members.iter().map(Member::observer).collect();
    let statuses = try_join_all(observers.iter().map(EtcdObserver::status)).await.ok()?;
    let last = &statuses.last()?.id;
    if statuses.iter().all(|status| status.leader == *last) {
        return Some(());
    }
    let leader = statuses.iter().position(|status| status.leader == status.id)?;
    observers[leader].transfer_leadership(last).await.ok()?;
    None
}
