//! How a lab's processes are, for whoever waits for one of them: which has died, and which somebody outside has
//! stopped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::process::{
    child::{ProcessState, log_tail},
    error::LabError,
    exit::Exit,
};

/// How often is looked. Real time.
pub const LOOK: Duration = Duration::from_millis(100);

/// How long a process may stand still before that is news. Real time: a debugger or a shell's job control stops a
/// process for a moment too.
const STOPPED_FOR: Duration = Duration::from_secs(2);

/// How long whoever waits for a process may take to notice its death by itself, and say better what it broke.
const DEAD_FOR: Duration = Duration::from_secs(1);

/// What is wrong with a process of the lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessProblem {
    /// It ended, and nobody in Lockstep had wished it.
    Died { process: String, how: Exit, log: String },
    /// Somebody outside of Lockstep has stopped it, so long ago in real time.
    Stopped { process: String, pid: u32, silent: Duration },
}

/// How all processes of one lab are. Clones see the same lab.
#[derive(Debug, Clone, Default)]
pub struct ProcessHealth(Arc<Mutex<Vec<Arc<ProcessState>>>>);

impl ProcessHealth {
    pub(crate) fn watch(&self, state: &Arc<ProcessState>) {
        self.lock().push(Arc::clone(state));
    }

    /// Watches the processes of another lab in place of these.
    pub(crate) fn move_on(&self, other: &Self) {
        let all = other.lock().clone();
        *self.lock() = all;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ProcessState>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is wrong at this moment, the dead first; `None` where every process lives and runs, or its end or
    /// standstill is Lockstep's own doing.
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

    /// Resolves when something has been wrong for so long that whoever waits will not find out by itself.
    pub async fn ailing(&self) -> ProcessProblem {
        let mut chart = ProblemTracker::default();
        loop {
            if let Some(ailment) = chart.look(self) {
                return ailment;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Kills every process, so that whoever is blocked on one of them comes free. For those who wait in threads and
    /// cannot be called off otherwise.
    pub fn kill_all(&self) {
        for state in self.lock().iter() {
            state.kill();
        }
    }
}

/// What has been wrong since when, for whoever looks again and again.
#[derive(Debug, Default)]
pub struct ProblemTracker(Option<(ProcessProblem, Instant)>);

impl ProblemTracker {
    /// Looks. Gives what has been wrong for so long that it is news.
    pub fn look(&mut self, health: &ProcessHealth) -> Option<ProcessProblem> {
        self.0 = match (health.look(), self.0.take()) {
            (Some(now), Some((before, since))) if now == before => Some((before, since)),
            (Some(now), _) => Some((now, Instant::now())),
            (None, _) => None,
        };
        let (ailment, since) = self.0.as_ref()?;
        let lasted = since.elapsed();
        match ailment.clone() {
            died @ ProcessProblem::Died { .. } => (lasted >= DEAD_FOR).then_some(died),
            ProcessProblem::Stopped { process, pid, .. } => {
                (lasted >= STOPPED_FOR).then_some(ProcessProblem::Stopped { process, pid, silent: lasted })
            }
        }
    }
}

impl From<ProcessProblem> for LabError {
    /// What went wrong while a lab was starting.
    fn from(ailment: ProcessProblem) -> Self {
        match ailment {
            ProcessProblem::Died { process, how, log } => Self::Boot { server: process, how, log },
            ProcessProblem::Stopped { process, pid, silent } => {
                Self::Stopped { process, pid, seconds: silent.as_secs() }
            }
        }
    }
}
