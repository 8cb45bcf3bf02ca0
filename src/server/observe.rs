//! How a server's truth is read, whatever the server is.
//!
//! An observer has a connection of its own, past every link: a cut link hides the server from a client and
//! never from the learner.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use futures::future::BoxFuture;
use thiserror::Error;

use crate::clock::{LessonClock, LessonTime, Slot};
use crate::log::{Observed, SentinelNotice};

/// How long a look may take, in real time. A frozen server does not answer, and nobody shall wait for it.
const LOOK_WITHIN: Duration = Duration::from_secs(5);

/// A look into a server, under way.
pub(crate) type Look<'a, T> = BoxFuture<'a, Result<T, ObserveError>>;

/// Reads the truth of one server.
pub(crate) trait Observer: Debug + Send + Sync {
    /// Everything that the server holds. `slot` tells how wrong the server's clock is.
    fn observe<'a>(&'a self, clock: &'a LessonClock, slot: Option<&'a Slot>) -> Look<'a, Observed>;

    /// A counter of the server's, by the name that the server gives it; `None` where there is none.
    fn metric<'a>(&'a self, name: &'a str) -> Look<'a, Option<i64>>;

    /// Who waits inside the server for an answer: for what another client does, or for time to pass.
    fn waiting(&self) -> Look<'_, Waiting> {
        Box::pin(async { Ok(Waiting::Number(0)) })
    }

    /// Whether the server has noticed the end of all these sessions, and what they left is undone.
    fn has_ended<'a>(&'a self, _: &'a [i64]) -> Look<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    /// A field of what the server says about itself, as text; `None` where there is none.
    fn field<'a>(&'a self, name: &'a str) -> Look<'a, Option<String>> {
        Box::pin(async move { Ok(self.metric(name).await?.map(|value| value.to_string())) })
    }

    /// The server's own calendar time, in milliseconds since 1970; `None` where it cannot be asked for it.
    fn unix_millis(&self) -> Look<'_, Option<i64>> {
        Box::pin(async { Ok(None) })
    }

    /// What it has told those who listen to it since this was called last, and when.
    fn notices(&self) -> Vec<(LessonTime, SentinelNotice)> {
        Vec::new()
    }

    /// Where the names of the counters can be looked up.
    fn metric_names(&self) -> &'static str;
}

/// Whose commands a server has and does not answer yet, as exactly as it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Waiting {
    Number(usize),
    /// The numbers of their connections.
    Sessions(Vec<i64>),
}

/// Why a server could not be read.
#[derive(Debug, Error)]
pub(crate) enum ObserveError {
    #[error("it did not answer within {} s: it may be frozen", LOOK_WITHIN.as_secs())]
    Silent,
    /// The connection broke; a new one may do.
    #[error("{0}")]
    Broken(String),
    #[error("{0}")]
    Failed(String),
}

/// Bounds a look in time.
pub(crate) async fn within<T, E: Into<ObserveError>>(
    look: impl Future<Output = Result<T, E>>,
) -> Result<T, ObserveError> {
    match tokio::time::timeout(LOOK_WITHIN, look).await {
        Ok(result) => result.map_err(Into::into),
        Err(_) => Err(ObserveError::Silent),
    }
}
