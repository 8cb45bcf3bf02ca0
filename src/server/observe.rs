//! How a server's state is read, whatever the product.
//!
//! An observer has a connection of its own, past every link: a cut link hides the server from a client and never from
//! the learner.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use futures::future::BoxFuture;
use thiserror::Error;

use crate::clock::{LessonClock, LessonTime, Slot};
use crate::log::{Command, Observed, SentinelNotice};

/// How long an observation may take, in real time. A frozen server does not answer, and nothing must wait for it.
const OBSERVE_WITHIN: Duration = Duration::from_secs(5);

/// An observation under way.
pub(crate) type Observation<'a, T> = BoxFuture<'a, Result<T, ObserveError>>;

/// Reads the state of one server.
pub(crate) trait Observer: Debug + Send + Sync {
    /// Everything that the server holds. `slot` gives the skew of the server's clock.
    fn observe<'a>(&'a self, clock: &'a LessonClock, slot: Option<&'a Slot>) -> Observation<'a, Observed>;

    /// A metric of the server, by the server's own name for it; `None` if there is none.
    fn metric<'a>(&'a self, name: &'a str) -> Observation<'a, Option<i64>>;

    /// The commands that wait inside the server, for another client or for time to pass.
    fn waiting(&self) -> Observation<'_, Waiting> {
        Box::pin(async { Ok(Waiting::Number(0)) })
    }

    /// Whether the server has noticed the end of all these sessions and removed what they left.
    fn has_ended<'a>(&'a self, _: &'a [i64]) -> Observation<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    /// A field of what the server reports about itself, as text; `None` if there is none.
    fn field<'a>(&'a self, name: &'a str) -> Observation<'a, Option<String>> {
        Box::pin(async move { Ok(self.metric(name).await?.map(|value| value.to_string())) })
    }

    /// The server's own calendar time, in milliseconds since 1970; `None` if it cannot be asked for.
    fn unix_millis(&self) -> Observation<'_, Option<i64>> {
        Box::pin(async { Ok(None) })
    }

    /// A command that is about to be sent to the server. It may name something that the server cannot list.
    fn note(&self, _: &Command) {}

    /// The messages that it has published since the last call, with their times.
    fn notices(&self) -> Vec<(LessonTime, SentinelNotice)> {
        Vec::new()
    }

    /// Where the names of the metrics are documented.
    fn metric_names(&self) -> &'static str;
}

/// The unanswered commands that a server has received, as exactly as it reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Waiting {
    Number(usize),
    /// The ids of their connections.
    Sessions(Vec<i64>),
}

/// Why a server could not be read.
#[derive(Debug, Error)]
pub(crate) enum ObserveError {
    #[error("it did not answer within {} s: it may be frozen", OBSERVE_WITHIN.as_secs())]
    Silent,
    /// The connection broke; a new one may work.
    #[error("{0}")]
    Broken(String),
    #[error("{0}")]
    Failed(String),
}

/// Limits the time of an observation.
pub(crate) async fn within<T, E: Into<ObserveError>>(
    look: impl Future<Output = Result<T, E>>,
) -> Result<T, ObserveError> {
    match tokio::time::timeout(OBSERVE_WITHIN, look).await {
        Ok(result) => result.map_err(Into::into),
        Err(_) => Err(ObserveError::Silent),
    }
}
