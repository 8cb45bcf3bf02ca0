//! Waiting for a lab without waiting for ever: every wait is also one for the death of a process and for somebody
//! outside having stopped one, and has a deadline of real time.

use std::time::Duration;

use super::EngineError;
use crate::lab::{Ailment, LabError, Vitals};

/// How long a server or a client may leave an answer out while nothing else happens. Real time: many times what a busy
/// machine needs.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Does some work on a lab, unless one of its processes dies or is stopped from outside and the work does not come to
/// its end by itself.
pub(crate) fn supervised<'a, T: 'a>(
    vitals: &'a Vitals,
    work: impl Future<Output = Result<T, EngineError>> + 'a,
) -> impl Future<Output = Result<T, EngineError>> + 'a {
    // Boxed: the work on a lab is large, and everybody's future would be.
    let work = Box::pin(work);
    async move {
        tokio::select! {
            biased;
            done = work => done,
            ailment = vitals.ailing() => Err(ailment.into()),
        }
    }
}

impl From<Ailment> for EngineError {
    fn from(ailment: Ailment) -> Self {
        match ailment {
            Ailment::Stopped { process, pid, silent } => LabError::stopped(process, pid, silent).into(),
            Ailment::Died { process, how, log } => {
                let why = how.to_string();
                match process.strip_prefix("client ") {
                    Some(client) => Self::ClientDied { client: client.to_owned(), why, log },
                    None => Self::ServerDied { server: process, why, log },
                }
            }
        }
    }
}
