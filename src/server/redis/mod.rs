//! Redis: servers on Unix sockets in the workspace, independent of each other, with Sentinels or as a cluster.

pub(crate) mod access;
pub(crate) mod boot;
pub(crate) mod client;
pub(crate) mod cluster;
pub(crate) mod connection;
pub(crate) mod frames;
pub(crate) mod observe;
pub(crate) mod persistence;
pub(crate) mod programs;
pub(crate) mod replicated;
pub(crate) mod resp;
pub(crate) mod sentinel;
pub(crate) mod stream;

use std::sync::Arc;

use futures::future::try_join_all;

use crate::lesson::Topology;
use crate::process::LabError;
use crate::server::boot::{Boot, Started};
use observe::InTopology;

/// Starts all servers of a topology at once.
pub(crate) async fn start(boot: &Boot<'_>, topology: &Topology) -> Result<Started, LabError> {
    if !topology.sentinels.is_empty() {
        return replicated::start(boot, topology).await;
    }
    if topology.is_cluster() {
        return cluster::start(boot, topology).await;
    }
    // A single server is not asked for its role.
    let asked = (topology.servers.len() > 1).then(|| InTopology { known: Arc::default(), cluster: false });
    let starts = topology.servers.iter().map(|name| boot::start(boot, name, None, "", asked.clone()));
    Ok(try_join_all(starts).await?.into())
}
