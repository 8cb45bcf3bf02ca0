//! Redis: servers on Unix sockets in the workspace, independent of each other or with Sentinels.

pub(crate) mod access;
pub(crate) mod boot;
pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod observe;
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

/// Starts all servers of a topology at once.
pub(crate) async fn start(boot: &Boot<'_>, topology: &Topology) -> Result<Started, LabError> {
    if !topology.sentinels.is_empty() {
        return replicated::start(boot, topology).await;
    }
    let nobody = Arc::default();
    // The only server of a lab is not asked for its role.
    let known = (topology.servers.len() > 1).then_some(&nobody);
    let starts = topology.servers.iter().map(|name| boot::start(boot, name, None, "", known));
    Ok(try_join_all(starts).await?.into())
}
