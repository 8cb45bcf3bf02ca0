//! Work on a lab that cannot hang: it ends when a process dies or is stopped from outside, and waits have a
//! deadline of real time.

use std::time::Duration;

use super::RunError;
use crate::lab::{Lab, LabError, ProcessHealth, ProcessProblem};

/// How long a server or a client may take to answer while nothing else happens, in real time: many times what a busy
/// machine needs.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Runs work on a lab. Fails when one of the lab's processes dies or is stopped from outside meanwhile.
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
            problem = health.problem() => Err(problem.into()),
        }
    }
}

impl From<ProcessProblem> for RunError {
    fn from(problem: ProcessProblem) -> Self {
        match problem {
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

/// How long to wait for the news of a server's death that would explain a failure.
const DEATH: Duration = Duration::from_millis(500);

/// Returns the death of a server as the cause of an error, or the error itself. A server's connections break
/// shortly before its death is known, so this waits a moment for the news.
pub(crate) async fn or_death(lab: &Lab, error: RunError) -> RunError {
    if error.names_a_process() {
        return error;
    }
    tokio::time::timeout(DEATH, lab.died()).await.map_or(error, RunError::from)
}
