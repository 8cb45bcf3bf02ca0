//! What the servers of a lab hold and report, past every link.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::time::timeout;

use super::{Lab, LabError, Waiting};
use crate::clock::LessonTime;
use crate::log::{Command, FILES, SentinelNotice, ServerState};
use crate::process::{child::log_tail, starvation};
use crate::server::boot::{Server, ready};
use crate::server::flock::FileLocks;
use crate::server::observe::ObserveError;

/// How long after the end of its connections the end of a process is noticed at the latest, in real time.
const NOTICED_WITHIN: Duration = Duration::from_millis(200);

impl Lab {
    /// The current state of every server. A server that has ended holds nothing any more and is left out.
    pub async fn observe(&self) -> Result<Vec<ServerState>, LabError> {
        self.observe_except(&HashSet::new()).await
    }

    /// As [`Lab::observe`], without the servers that are known to be frozen: those cannot answer.
    pub async fn observe_except(&self, frozen: &HashSet<String>) -> Result<Vec<ServerState>, LabError> {
        let looks = self.servers.iter().map(async |server| {
            if server.process.ended().is_some() || frozen.contains(&server.info.name) {
                return Ok(None);
            }
            let look = || server.observer.observe(&self.clock, server.slot.as_ref());
            match retry_while_it_cannot_run(server, look).await {
                Ok(observed) => Ok(Some(ServerState { server: server.info.name.clone(), observed })),
                // It may have ended meanwhile; the end of a process is noticed a moment after that of its connections.
                Err(error) => match timeout(NOTICED_WITHIN, server.process.exited()).await {
                    Ok(_) => Ok(None),
                    Err(_) => Err(unreadable(server, &error)),
                },
            }
        });
        let files =
            self.files.as_ref().map(|files| files.observe().map_err(|error| unreadable_files(&error)));
        join_all(looks).await.into_iter().filter_map(Result::transpose).chain(files).collect()
    }

    /// A command that is about to be sent to a server, if it is one of the lab's.
    pub(crate) fn note(&self, server: &str, command: &Command) {
        if let Ok(server) = self.server(server) {
            server.observer.note(command);
        }
    }

    /// The messages of Sentinels since the last call, with time and sender, oldest first.
    pub(crate) fn notices(&self) -> Vec<(LessonTime, String, SentinelNotice)> {
        let notices = self.helpers.iter().flat_map(|helper| {
            let name = &helper.info.name;
            helper.observer.notices().into_iter().map(|(at, notice)| (at, name.clone(), notice))
        });
        let mut notices: Vec<_> = notices.collect();
        notices.sort_by_key(|(at, ..)| *at);
        notices
    }

    /// A metric of a server, by the server's own name for it: a field of Redis' `INFO`, a line of ZooKeeper's `mntr`.
    pub async fn metric(&self, server: &str, name: &str) -> Result<i64, LabError> {
        let server = self.server(server)?;
        let value = read(server, || server.observer.metric(name)).await?;
        value.ok_or_else(|| LabError::NoMetric {
            server: server.info.name.clone(),
            name: name.to_owned(),
            hint: server.observer.metric_names(),
        })
    }

    /// The clients whose commands wait inside a server.
    pub(crate) async fn waiting(&self, server: &str) -> Result<Waiting, LabError> {
        if server == FILES {
            let waiting = self.files.as_ref().map_or(Ok(Vec::new()), FileLocks::waiting);
            return waiting.map(Waiting::Sessions).map_err(|error| unreadable_files(&error));
        }
        let server = self.server(server)?;
        read(server, || server.observer.waiting()).await
    }

    pub(crate) async fn holds(&self, server: &str, key: &str) -> Result<bool, LabError> {
        let server = self.server(server)?;
        let look = || server.observer.observe(&self.clock, server.slot.as_ref());
        Ok(read(server, look).await?.entry(key).is_some())
    }

    /// Whether a server has noticed the end of all these sessions.
    pub(crate) async fn have_ended(&self, server: &str, sessions: &[i64]) -> Result<bool, LabError> {
        // The kernel releases a process's locks when the process ends.
        if server == FILES {
            return Ok(true);
        }
        let server = self.server(server)?;
        read(server, || server.observer.has_ended(sessions)).await
    }

    /// Waits until a server has synced to disk what is due by now.
    pub async fn await_sync(&self, name: &str) -> Result<(), LabError> {
        if !self.is_persistent() {
            return Ok(());
        }
        let server = self.server(name)?;
        let look = || server.observer.field("aof_pending_bio_fsync");
        // An observation makes the server begin a sync that is due, but not while another one runs: so there are two.
        for _ in 0..2 {
            read(server, look).await?;
            let done = || async { look().await.ok()?.is_none_or(|pending| pending == "0").then_some(()) };
            ready(&server.process, done).await?;
        }
        Ok(())
    }

    /// Whether a server is alive and reports that it is a master or leads an ensemble.
    pub async fn is_master(&self, server: &str) -> Result<bool, LabError> {
        let server = self.server(server)?;
        let role = match server.process.ended() {
            Some(_) => None,
            None => retry_while_it_cannot_run(server, || server.observer.field("role")).await.ok().flatten(),
        };
        Ok(matches!(role.as_deref(), Some("master" | "leader")))
    }
}

/// Observes a server, and retries as long as it is silent because it cannot run: something outside Lockstep has stopped
/// it, which `ProcessHealth` reports to the waiting tasks, or the machine is too busy.
async fn retry_while_it_cannot_run<T, F>(server: &Server, look: impl Fn() -> F) -> Result<T, ObserveError>
where
    F: Future<Output = Result<T, ObserveError>>,
{
    let (began, process) = (Instant::now(), &server.process);
    loop {
        match look().await {
            Err(ObserveError::Silent) if process.state.is_stopped() => {}
            Err(ObserveError::Silent) if starvation::excuses(process.pid(), began.elapsed()).await => {}
            looked => return looked,
        }
    }
}

/// The same, as an error of the lab if it fails.
pub(super) async fn read<T, F>(server: &Server, look: impl Fn() -> F) -> Result<T, LabError>
where
    F: Future<Output = Result<T, ObserveError>>,
{
    retry_while_it_cannot_run(server, look).await.map_err(|error| unreadable(server, &error))
}

fn unreadable_files(error: &io::Error) -> LabError {
    let why = format!("{error}. Who has locked a file is read from /proc/locks, which Linux has");
    LabError::Unreadable { server: FILES.to_owned(), why, log: String::new() }
}

fn unreadable(server: &Server, error: &ObserveError) -> LabError {
    LabError::Unreadable {
        server: server.info.name.clone(),
        why: error.to_string(),
        log: log_tail(&server.process.state.log),
    }
}
