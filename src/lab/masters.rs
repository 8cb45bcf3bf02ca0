//! Five Redis masters that know nothing of each other, as Redlock wants them.

use std::sync::Arc;

use futures::future::try_join_all;

use super::error::LabError;
use super::redis::start_member;
use super::server::{Boot, Server};
use crate::lesson::LabKind;

/// Starts the five at once.
pub(crate) async fn start(boot: &Boot<'_>) -> Result<Vec<Server>, LabError> {
    let nobody = Arc::default();
    let nobody = &nobody;
    let starts = LabKind::Masters.servers().iter().map(|name| start_member(boot, name, None, "", nobody));
    try_join_all(starts).await
}
