//! A Redis Cluster: masters, a replica for each, and the links of replication between them.

use std::{fmt::Write, future, time::Duration};

use futures::future::{join_all, try_join_all};
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};

use crate::clock::Rate;
use crate::lesson::Topology;
use crate::process::error::LabError;
use crate::server::boot::{Boot, Endpoint, Server, Started, free_port, on_free_ports, ready};
use crate::server::observe::within;
use crate::server::redis::access::ADMIN;
use crate::server::redis::replicated::{Member, members, run};

/// The rate of the lesson clock until the nodes know each other: they exchange greetings every second, and a new
/// cluster accepts no commands for two seconds.
const BOOT_RATE: f64 = 20.0;

/// The rate on a machine so busy that this takes a while in real time: nodes that cannot answer in time consider each
/// other down.
const BUSY_RATE: f64 = 3.0;
const BUSY_AFTER: Duration = Duration::from_millis(1500);

/// How long a node may be silent before others consider it down, in milliseconds of lesson time: long enough that at
/// the fastest rate a busy machine's pause does not look like a death.
const NODE_TIMEOUT_MS: u32 = 5000;

/// Starts all nodes and returns when the cluster accepts commands and the replicas follow.
pub(crate) async fn start(boot: &Boot<'_>, topology: &Topology) -> Result<Started, LabError> {
    on_free_ports(|| start_once(boot, topology)).await
}

async fn start_once(boot: &Boot<'_>, topology: &Topology) -> Result<Started, LabError> {
    let mut started = Started::default();
    let mut nodes = members(boot, topology, &mut started).await?;
    let mut buses = Vec::new();
    for Member { announced, config, .. } in &mut nodes {
        let bus =
            free_port().map_err(|source| LabError::Link { link: "the cluster's".to_owned(), source })?;
        // A replica of any age may take over, a shard that is down does not affect the others, and a node that is cut
        // off from most masters still shows its keys. Writing to a string cannot fail.
        let _ = write!(
            config,
            "cluster-enabled yes\ncluster-port {bus}\ncluster-announce-ip 127.0.0.1\n\
             cluster-announce-port {announced}\ncluster-announce-bus-port {bus}\n\
             cluster-node-timeout {NODE_TIMEOUT_MS}\ncluster-replica-no-failover yes\ncluster-replica-validity-factor 0\n\
             cluster-require-full-coverage no\ncluster-allow-replica-migration no\n\
             cluster-allow-reads-when-down yes\nrepl-diskless-load on-empty-db\nrepl-timeout 3600\n",
            bus = bus.port(),
            announced = announced.port(),
        );
        buses.push(bus.port());
    }
    boot.clock.set_rate(Rate::from_factor(BOOT_RATE).unwrap_or(Rate::NORMAL))?;
    run(boot, &nodes, true, &mut started).await?;
    let places: Vec<_> = nodes.iter().map(|node| node.announced.port()).zip(buses).collect();
    let joined = join(boot, topology, &started, &places);
    let slowed = async {
        tokio::time::sleep(BUSY_AFTER).await;
        // An error here also occurs in the other branch.
        let _ = Rate::from_factor(BUSY_RATE).map(|rate| boot.clock.set_rate(rate));
        future::pending::<()>().await;
    };
    let admins = tokio::select! {
        joined = joined => joined?,
        () = slowed => Vec::new(),
    };
    boot.clock.set_rate(Rate::NORMAL)?;
    for (server, admin) in started.servers.iter().zip(&admins) {
        admin.tell(server, &["CONFIG", "SET", "cluster-replica-no-failover", "no"]).await?;
    }
    Ok(started)
}

/// Makes one cluster of the nodes: each meets all before it.
async fn join(
    boot: &Boot<'_>,
    topology: &Topology,
    started: &Started,
    places: &[(u16, u16)],
) -> Result<Vec<AdminConnection>, LabError> {
    let servers = &started.servers;
    let secret = boot.secret.secret();
    let admins = try_join_all(
        servers
            .iter()
            .map(async |server| ready(&server.process, || AdminConnection::connect(server, secret)).await),
    )
    .await?;
    let nodes = || servers.iter().zip(&admins).enumerate();
    let all = servers.len();
    for (n, (server, admin)) in nodes() {
        let epoch = (n + 1).to_string();
        if let Some((first, last)) = topology.slots(&server.info.name) {
            admin.tell(server, &["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]).await?;
        }
        admin.tell(server, &["CLUSTER", "SET-CONFIG-EPOCH", &epoch]).await?;
    }
    for (n, (server, admin)) in nodes() {
        for (port, bus) in &places[..n] {
            admin
                .tell(server, &["CLUSTER", "MEET", "127.0.0.1", &port.to_string(), &bus.to_string()])
                .await?;
        }
    }
    let each = nodes().map(async |(_, (server, admin))| {
        ready(&server.process, || async {
            let known = admin.text(&["CLUSTER", "NODES"]).await?;
            (known.lines().count() == all && !known.contains("handshake")).then_some(())
        })
        .await
    });
    join_all(each).await.into_iter().collect::<Result<(), _>>()?;
    let mut ids = Vec::new();
    for (_, (server, admin)) in nodes() {
        ids.push(ready(&server.process, || admin.text(&["CLUSTER", "MYID"])).await?);
    }
    let each = nodes().map(async |(n, (server, admin))| {
        // The node refuses until it has learned that the master is one, by its slots.
        if let Some(master) = topology.master_of(n) {
            let id = ids[master].as_str();
            ready(&server.process, || async { admin.text(&["CLUSTER", "REPLICATE", id]).await }).await?;
        }
        ready(&server.process, || async {
            let info = admin.text(&["CLUSTER", "INFO"]).await?;
            let replicas = admin.text(&["CLUSTER", "NODES"]).await?.matches("slave").count();
            let up = topology.master_of(n).is_none()
                || admin.text(&["INFO", "replication"]).await?.contains("master_link_status:up");
            (info.contains("cluster_state:ok") && replicas == topology.replicas && up).then_some(())
        })
        .await
    });
    join_all(each).await.into_iter().collect::<Result<(), _>>()?;
    Ok(admins)
}

/// A connection with the right to configure servers.
struct AdminConnection(redis::aio::MultiplexedConnection);

impl AdminConnection {
    async fn connect(server: &Server, secret: &str) -> Option<Self> {
        let Endpoint::Unix(socket) = &server.endpoint else { return None };
        let who = RedisConnectionInfo::default().set_username(ADMIN).set_password(secret);
        let address = ConnectionAddr::Unix(socket.clone()).into_connection_info().ok()?;
        let client = Client::open(address.set_redis_settings(who)).ok()?;
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        client.get_multiplexed_async_connection_with_config(&config).await.ok().map(Self)
    }

    /// The answer to a command; `None` if it is an error.
    async fn text(&self, words: &[&str]) -> Option<String> {
        self.ask(words).await.ok()
    }

    async fn tell(&self, server: &Server, words: &[&str]) -> Result<(), LabError> {
        let refused = |why: String| LabError::Unreadable {
            server: server.info.name.clone(),
            why: format!("`{}` failed: {why}", words.join(" ")),
            log: String::new(),
        };
        self.ask(words).await.map(drop).map_err(refused)
    }

    async fn ask(&self, words: &[&str]) -> Result<String, String> {
        let mut connection = self.0.clone();
        let (name, arguments) = words.split_first().ok_or("nothing was asked")?;
        let asked = redis::cmd(name).arg(arguments).to_owned();
        within(asked.query_async::<String>(&mut connection)).await.map_err(|error| error.to_string())
    }
}
