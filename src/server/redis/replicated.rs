//! A Redis master, its replicas and their Sentinels, with a link for each connection that one of them makes to
//! another's port.
//!
//! Servers must agree on each other's addresses: Sentinels ask each other about a master by its address, and Sentinel
//! corrects a replica that follows another address. So each Redis server is known by one address, that of a front, and
//! behind it every visitor has a link of its own. Visitors are distinguished by the loopback address that they connect
//! from.

use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use futures::future::try_join_all;

use crate::clock::Rate;
use crate::lesson::Topology;
use crate::log::LinkId;
use crate::process::error::LabError;
use crate::server::boot::{Boot, Endpoint, Started, free_port, on_free_ports, ready};
use crate::server::link::{Link, Visitor, listener};
use crate::server::redis::access::ADMIN;
use crate::server::redis::boot::start as start_member;
use crate::server::redis::observe::{InTopology, Known};
use crate::server::redis::sentinel::{self, Group};

/// The rate of the lesson clock until the Sentinels have found each other: they exchange greetings every 2 s.
const BOOT_RATE: f64 = 20.0;

/// The rate after that, until no Sentinel has to recover from the fast start.
const CALM_RATE: f64 = 8.0;

/// Starts all servers and returns when the replicas follow and every Sentinel knows all others.
pub(crate) async fn start(boot: &Boot<'_>, topology: &Topology) -> Result<Started, LabError> {
    on_free_ports(|| start_once(boot, topology)).await
}

/// A Redis server that others know by the port of its front.
pub(super) struct Member {
    name: &'static str,
    own: SocketAddr,
    pub(super) announced: SocketAddr,
    /// Its configuration beyond what every server has.
    pub(super) config: String,
    known: Known,
}

fn unlinked(source: io::Error) -> LabError {
    LabError::Link { link: "the servers'".to_owned(), source }
}

/// The servers of a topology, with their fronts created and nothing started yet.
pub(super) async fn members(
    boot: &Boot<'_>,
    topology: &Topology,
    started: &mut Started,
) -> Result<Vec<Member>, LabError> {
    let mut fronts = Vec::new();
    for name in topology.servers {
        let front = listener().await.map_err(unlinked)?;
        let announced = front.local_addr().map_err(unlinked)?;
        fronts.push((*name, front, announced));
    }
    let known: HashMap<u16, String> =
        fronts.iter().map(|(name, _, announced)| (announced.port(), (*name).to_owned())).collect();
    let known = Arc::new(known);
    let mut members = Vec::new();
    for (name, front, announced) in fronts {
        let own = free_port().map_err(unlinked)?;
        let visitors = visitors(topology, name);
        started.links.extend(Link::lay_front(front, own, &visitors, boot.clock).map_err(unlinked)?);
        let config = format!(
            "masteruser {ADMIN}\nmasterauth {}\nbind-source-addr {}\n\
             repl-diskless-sync yes\nrepl-diskless-sync-delay 0\n",
            boot.secret.secret(),
            source(topology, name),
        );
        members.push(Member { name, own, announced, config, known: Arc::clone(&known) });
    }
    Ok(members)
}

/// Starts all members.
pub(super) async fn run(
    boot: &Boot<'_>,
    members: &[Member],
    cluster: bool,
    started: &mut Started,
) -> Result<(), LabError> {
    let starts = members.iter().map(|Member { name, own, config, known, .. }| {
        let asked = InTopology { known: Arc::clone(known), cluster };
        start_member(boot, name, Some(*own), config, Some(asked))
    });
    started.servers = try_join_all(starts).await?;
    for (server, member) in started.servers.iter_mut().zip(members) {
        server.announced_port = Some(member.announced.port());
    }
    Ok(())
}

async fn start_once(boot: &Boot<'_>, topology: &Topology) -> Result<Started, LabError> {
    let mut started = Started::default();
    let mut all = members(boot, topology, &mut started).await?;
    let master = all[0].announced;
    for (n, Member { announced, config, .. }) in all.iter_mut().enumerate() {
        let port = announced.port();
        // Writing to a string cannot fail.
        let _ = write!(config, "replica-announce-ip 127.0.0.1\nreplica-announce-port {port}\n");
        if n == 1 {
            // Sentinel prefers the smaller number, so that lessons know in advance which replica it will choose.
            config.push_str("replica-priority 50\n");
        }
        if n > 0 {
            let _ = writeln!(config, "replicaof 127.0.0.1 {}", master.port());
        }
    }
    run(boot, &all, false, &mut started).await?;
    let mut known = HashMap::clone(&all[0].known);
    let mut places = Vec::new();
    for name in topology.sentinels {
        let place = free_port().map_err(unlinked)?;
        known.insert(place.port(), (*name).to_owned());
        places.push((*name, place));
    }
    let quorum = topology.sentinels.len() / 2 + 1;
    let group = &Group { master, quorum, known: Arc::new(known) };
    boot.clock.set_rate(Rate::from_factor(BOOT_RATE).unwrap_or(Rate::NORMAL))?;
    let starts = places.iter().map(|(name, place)| {
        let addresses = (*place, source(topology, name));
        sentinel::start(boot, name, addresses, group)
    });
    started.helpers = try_join_all(starts).await?;
    await_discovery(boot, &started).await?;
    // How the Sentinels found each other is no part of any lesson.
    for helper in &started.helpers {
        helper.observer.notices();
    }
    Ok(started)
}

/// Waits until the replicas follow, every Sentinel knows all others, and none is still recovering from the fast start.
async fn await_discovery(boot: &Boot<'_>, started: &Started) -> Result<(), LabError> {
    let secret = boot.secret.secret();
    for replica in &started.servers[1..] {
        ready(&replica.process, || async {
            let up = replica.observer.field("master_link_status").await.ok()??;
            (up == "up").then_some(())
        })
        .await?;
    }
    let others = started.helpers.len() - 1;
    let replicas = started.servers.len() - 1;
    for helper in &started.helpers {
        let Endpoint::Tcp(address) = helper.endpoint else { continue };
        ready(&helper.process, || async {
            let seen = sentinel::healthy_peers(address, secret).await?;
            (seen == (replicas, others)).then_some(())
        })
        .await?;
    }
    boot.clock.set_rate(Rate::from_factor(CALM_RATE).unwrap_or(Rate::NORMAL))?;
    for helper in &started.helpers {
        let Endpoint::Tcp(address) = helper.endpoint else { continue };
        ready(&helper.process, || sentinel::is_active(address, secret)).await?;
    }
    boot.clock.set_rate(Rate::NORMAL)?;
    for helper in &started.helpers {
        let Endpoint::Tcp(address) = helper.endpoint else { continue };
        ready(&helper.process, || sentinel::set_normal_down_after(address, secret)).await?;
    }
    Ok(())
}

/// All visitors of a server's front, with their addresses.
fn visitors(topology: &Topology, server: &str) -> Vec<Visitor> {
    let others = topology.servers.iter().chain(topology.sentinels);
    others
        .filter(|name| topology.has_link(name, server))
        .map(|name| (LinkId::new(name, server), source(topology, name)))
        .collect()
}

/// The loopback address that a server connects from.
fn source(topology: &Topology, name: &str) -> IpAddr {
    let all = topology.servers.iter().chain(topology.sentinels);
    let place = all.take_while(|known| **known != name).count();
    // 127.0.0.1 is used by all other programs.
    Ipv4Addr::new(127, 0, 1, u8::try_from(place + 1).unwrap_or(u8::MAX)).into()
}
