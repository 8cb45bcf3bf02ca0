//! The health of a lab's processes, for code that waits for one of them: which has died, and which was
//! stopped from outside.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::process::{
    child::{ProcessState, log_tail},
    error::LabError,
    exit::Exit,
};

/// How often processes are checked. Real time.
pub const LOOK: Duration = Duration::from_millis(100);

/// How long a process must be stopped before that is reported. Real time: a debugger or a shell's job control
/// stops a process for a moment too.
const STOPPED_FOR: Duration = Duration::from_secs(2);

/// How long code that waits for a process may take to notice its death by itself, and to say better what it
/// broke.
const DEAD_FOR: Duration = Duration::from_secs(1);

/// A problem with a process of the lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessProblem {
    /// The process ended, and Lockstep did not end it.
    Died { process: String, how: Exit, log: String },
    /// The process was stopped from outside of Lockstep, this long ago in real time.
    Stopped { process: String, pid: u32, silent: Duration },
}

/// The health of all processes of one lab. Clones watch the same lab.
#[derive(Debug, Clone, Default)]
pub struct ProcessHealth(Arc<Mutex<Vec<Arc<ProcessState>>>>);

impl ProcessHealth {
    pub(crate) fn watch(&self, state: &Arc<ProcessState>) {
        self.lock().push(Arc::clone(state));
    }

    /// Watches the processes of another lab instead.
    pub(crate) fn replace_with(&self, other: &Self) {
        let all = other.lock().clone();
        *self.lock() = all;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ProcessState>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The problem at this moment, deaths first, or `None` if every process runs, or was ended or frozen by
    /// Lockstep itself.
    pub fn look(&self) -> Option<ProcessProblem> {
        let all = self.lock();
        let dead = all.iter().find_map(|state| {
            let how = state.ended_by_itself()?;
            Some(ProcessProblem::Died { process: state.name.clone(), how, log: log_tail(&state.log) })
        });
        dead.or_else(|| {
            let stopped = all.iter().find(|state| state.is_stopped())?;
            let (process, pid) = (stopped.name.clone(), stopped.pid());
            Some(ProcessProblem::Stopped { process, pid, silent: Duration::ZERO })
        })
    }

    /// Resolves when there has been a problem for so long that code that waits for the process will not
    /// notice it by itself.
    pub async fn problem(&self) -> ProcessProblem {
        let mut tracker = ProblemTracker::default();
        loop {
            if let Some(problem) = tracker.look(self) {
                return problem;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Kills every process, which unblocks threads that wait for one of them and cannot be cancelled
    /// otherwise.
    pub fn kill_all(&self) {
        for state in self.lock().iter() {
            state.kill();
        }
    }
}

/// The current problem and since when there is one, for code that checks repeatedly.
#[derive(Debug, Default)]
pub struct ProblemTracker(Option<(ProcessProblem, Instant)>);

impl ProblemTracker {
    /// Checks the processes. Returns a problem once it has lasted long enough to be reported.
    pub fn look(&mut self, health: &ProcessHealth) -> Option<ProcessProblem> {
        self.0 = match (health.look(), self.0.take()) {
            (Some(now), Some((before, since))) if now == before => Some((before, since)),
            (Some(now), _) => Some((now, Instant::now())),
            (None, _) => None,
        };
        let (problem, since) = self.0.as_ref()?;
        let lasted = since.elapsed();
        match problem.clone() {
            died @ ProcessProblem::Died { .. } => (lasted >= DEAD_FOR).then_some(died),
            ProcessProblem::Stopped { process, pid, .. } => {
                (lasted >= STOPPED_FOR).then_some(ProcessProblem::Stopped { process, pid, silent: lasted })
            }
        }
    }
}

impl From<ProcessProblem> for LabError {
    /// The error for a problem that occurred while a lab was starting.
    fn from(problem: ProcessProblem) -> Self {
        match problem {
            ProcessProblem::Died { process, how, log } => Self::Boot { server: process, how, log },
            ProcessProblem::Stopped { process, pid, silent } => {
                Self::Stopped { process, pid, seconds: silent.as_secs() }
            }
        }
    }
}
