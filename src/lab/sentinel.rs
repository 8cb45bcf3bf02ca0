//! One Redis master, two replicas and three Sentinels, and a link for each way that one of them takes to another's
//! door.
//!
//! Servers must agree on each other's addresses: Sentinels ask each other about a master by its address, and
//! a replica that follows another address than Sentinel's is set right by it. So each Redis server is known
//! by one address, that of a front, and behind it every visitor has a link of its own. Visitors are told
//! apart by the loopback address that they connect from.

use std::collections::HashMap;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use futures::future::try_join_all;
use tokio::net::TcpListener;

use super::access::KEEPER;
use super::error::LabError;
use super::link::{Link, Visitor};
use super::redis::start_member;
use super::sentinel_process;
use super::server::{Boot, Endpoint, Topology, ready};
use crate::clock::Rate;
use crate::lesson::LabKind;

/// The name that the Sentinels know the master by.
pub(crate) const GROUP: &str = "lockstep";

/// How often other ports are tried when somebody else was quicker.
const TRIES: usize = 5;

/// How fast the lesson clock runs until the Sentinels have found each other: they greet every 2 s.
const BOOT_RATE: f64 = 20.0;

/// How fast it runs then, until none of them has to recover from the rush.
const CALM_RATE: f64 = 8.0;

/// Starts them all and comes back when the replicas follow and every Sentinel knows everybody.
pub(crate) async fn start(boot: &Boot<'_>) -> Result<Topology, LabError> {
    let mut tries = 1;
    loop {
        match start_once(boot).await {
            Err(LabError::Boot { log, .. }) if tries < TRIES && log.contains("Address already in use") => {
                tries += 1;
            }
            result => return result,
        }
    }
}

async fn start_once(boot: &Boot<'_>) -> Result<Topology, LabError> {
    let unlinked = |source| LabError::Link { link: "master".to_owned(), source };
    let names = LabKind::Sentinel.servers();
    let secret = boot.access.secret();
    let mut fronts = Vec::new();
    for name in names {
        let front = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(unlinked)?;
        let door = front.local_addr().map_err(unlinked)?;
        fronts.push((*name, front, door));
    }
    let known: HashMap<u16, String> =
        fronts.iter().map(|(name, _, door)| (door.port(), (*name).to_owned())).collect();
    let known = Arc::new(known);
    let master = fronts[0].2;
    let mut topology = Topology::default();
    let mut members = Vec::new();
    for (name, front, door) in fronts {
        let own = free_port().await.map_err(unlinked)?;
        let visitors = visitors(name);
        topology.links.extend(Link::lay_front(front, own, &visitors).map_err(unlinked)?);
        let mut extra = format!(
            "masteruser {KEEPER}\nmasterauth {}\nbind-source-addr {}\nreplica-announce-ip 127.0.0.1\nreplica-announce-port {}\n\
             repl-diskless-sync yes\nrepl-diskless-sync-delay 0\n",
            secret,
            source(name),
            door.port(),
        );
        if name == names[1] {
            // Sentinel prefers the smaller number, so that lessons know beforehand whom it will choose.
            extra.push_str("replica-priority 50\n");
        }
        if door != master {
            // Writing to a string cannot fail.
            let _ = writeln!(extra, "replicaof 127.0.0.1 {}", master.port());
        }
        members.push((name, own, extra));
    }
    let known = &known;
    topology.servers = try_join_all(
        members.iter().map(|(name, own, extra)| start_member(boot, name, Some(*own), extra, known)),
    )
    .await?;
    for server in &mut topology.servers {
        server.door = known.iter().find(|(_, name)| **name == server.info.name).map(|(port, _)| *port);
    }
    boot.clock.set_rate(Rate::from_factor(BOOT_RATE).unwrap_or(Rate::NORMAL))?;
    topology.helpers = try_join_all(LabKind::Sentinel.sentinels().iter().map(|name| async move {
        let port = free_port().await.map_err(unlinked)?;
        sentinel_process::start(boot, name, port, source(name), master).await
    }))
    .await?;
    know_each_other(boot, &topology).await?;
    Ok(topology)
}

/// Waits until the replicas follow, every Sentinel knows everybody, and none of them is still in the rush of the start.
async fn know_each_other(boot: &Boot<'_>, topology: &Topology) -> Result<(), LabError> {
    let secret = boot.access.secret();
    for replica in &topology.servers[1..] {
        ready(&replica.process, || async {
            let up = replica.observer.field("master_link_status").await.ok()??;
            (up == "up").then_some(())
        })
        .await?;
    }
    let others = topology.helpers.len() - 1;
    let replicas = topology.servers.len() - 1;
    for helper in &topology.helpers {
        let Endpoint::Tcp(address) = helper.endpoint else {
            continue;
        };
        ready(&helper.process, || async {
            let seen = sentinel_process::seen(address, secret).await?;
            (seen == (replicas, others)).then_some(())
        })
        .await?;
    }
    boot.clock.set_rate(Rate::from_factor(CALM_RATE).unwrap_or(Rate::NORMAL))?;
    for helper in &topology.helpers {
        let Endpoint::Tcp(address) = helper.endpoint else {
            continue;
        };
        ready(&helper.process, || sentinel_process::acts(address, secret)).await?;
    }
    boot.clock.set_rate(Rate::NORMAL)?;
    for helper in &topology.helpers {
        let Endpoint::Tcp(address) = helper.endpoint else {
            continue;
        };
        ready(&helper.process, || sentinel_process::watch_closely(address, secret)).await?;
    }
    Ok(())
}

/// Everybody who may come to a server's front, and from where.
fn visitors(server: &str) -> Vec<Visitor> {
    let others = LabKind::Sentinel.servers().iter().chain(LabKind::Sentinel.sentinels());
    others.filter(|name| **name != server).map(|name| (format!("{name}->{server}"), source(name))).collect()
}

/// The loopback address that a server connects from.
fn source(name: &str) -> IpAddr {
    let all = LabKind::Sentinel.servers().iter().chain(LabKind::Sentinel.sentinels());
    let place = all.take_while(|known| **known != name).count();
    // 127.0.0.1 is everybody else's.
    Ipv4Addr::new(127, 0, 1, u8::try_from(place + 1).unwrap_or(u8::MAX)).into()
}

/// A port that is free at this moment.
async fn free_port() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()
}
