//! Waiting for a lab, never for ever: a wait ends when a process dies or is stopped from outside, and has a deadline of
//! real time.

use std::time::Duration;

use super::RunError;
use crate::lab::{Lab, LabError, ProcessHealth, ProcessProblem};

/// How long a server or a client may take to answer while nothing else happens, in real time: many times what a busy
/// machine needs.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Does some work on a lab; fails when one of its processes dies or is stopped from outside meanwhile.
pub(crate) fn supervised<'a, T: 'a>(
    health: &'a ProcessHealth,
    work: impl Future<Output = Result<T, RunError>> + 'a,
) -> impl Future<Output = Result<T, RunError>> + 'a {
    // Boxed: the future of work on a lab is large.
    let work = Box::pin(work);
    async move {
        tokio::select! {
            biased;
            done = work => done,
            ailment = health.ailing() => Err(ailment.into()),
        }
    }
}

impl From<ProcessProblem> for RunError {
    fn from(ailment: ProcessProblem) -> Self {
        match ailment {
            stopped @ ProcessProblem::Stopped { .. } => LabError::from(stopped).into(),
            ProcessProblem::Died { process, how, log } => {
                let why = how.text();
                match process.strip_prefix("client ") {
                    Some(client) => Self::ClientDied { client: client.to_owned(), why, log },
                    None => Self::ServerDied { server: process, why, log },
                }
            }
        }
    }
}

/// How long to wait for news of a server's death after something has failed that it would explain.
const DEATH: Duration = Duration::from_millis(500);

/// Why something could not be done: a server that has died is the cause of whatever failed since. Its connections break a
/// moment before its end is known, so that moment is waited for.
pub(crate) async fn or_death(lab: &Lab, error: RunError) -> RunError {
    if error.names_a_process() {
        return error;
    }
    tokio::time::timeout(DEATH, lab.died()).await.map_or(error, RunError::from)
}
