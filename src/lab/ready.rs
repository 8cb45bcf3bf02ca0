//! Labs that are there before they are asked for, because servers take longer to start than to be emptied.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinHandle;

use super::{Lab, LabError, LabOptions};
use crate::{
    clock::Rate,
    lesson::{LabKind, Settings},
    process::health::ProcessHealth,
};

/// A lab that the last exploration has left, and one that nobody has used. Dropping the last clone ends both.
#[derive(Debug, Clone, Default)]
pub struct ReadyLabs(Arc<Mutex<Ready>>);

#[derive(Debug, Default)]
struct Ready {
    /// Its servers are empty, and it has no clients.
    used: Option<Lab>,
    new: Option<Starting>,
}

/// A lab that is starting, or has started.
#[derive(Debug)]
struct Starting {
    kind: LabKind,
    settings: Settings,
    lab: JoinHandle<Result<Lab, LabError>>,
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.lab.abort();
    }
}

/// Which labs a run may take.
#[derive(Debug, Clone)]
pub enum Reuse {
    /// Any: nothing is shown that servers number.
    Any(ReadyLabs),
    /// New ones, whose servers number what they are sent from the beginning.
    New(ReadyLabs),
}

impl Reuse {
    /// The same labs, but new ones only.
    pub(crate) fn only_new(&self) -> Self {
        match self {
            Self::Any(labs) | Self::New(labs) => Self::New(labs.clone()),
        }
    }

    /// Takes a lab of this kind with this configuration, if one is there and in good health.
    pub(crate) async fn take(&self, kind: LabKind, settings: &Settings) -> Result<Option<Lab>, LabError> {
        let (labs, used) = match self {
            Self::Any(labs) => {
                let fits = |lab: &mut Lab| lab.kind == kind && lab.settings == *settings;
                (labs, labs.lock().used.take_if(fits))
            }
            Self::New(labs) => (labs, None),
        };
        let lab = match used {
            Some(lab) => Some(lab),
            None => labs.take_new(kind, settings).await,
        };
        let lab = lab.filter(|lab| lab.health.look().is_none());
        if let Some(lab) = &lab {
            lab.clock.set_rate(Rate::NORMAL)?;
        }
        Ok(lab)
    }
}

impl ReadyLabs {
    fn lock(&self) -> MutexGuard<'_, Ready> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take_new(&self, kind: LabKind, settings: &Settings) -> Option<Lab> {
        let fits = |new: &mut Starting| new.kind == kind && new.settings == *settings;
        let mut new = self.lock().new.take_if(fits)?;
        // Whoever takes it starts another one if this one did not start, and says why that fails, too.
        (&mut new.lab).await.ok()?.ok()
    }

    /// Begins to start a lab of this kind, unless there is one.
    pub fn prepare(&self, kind: LabKind, settings: &Settings, options: &LabOptions) {
        let mut ready = self.lock();
        if ready.new.as_ref().is_some_and(|new| new.kind == kind && new.settings == *settings) {
            return;
        }
        let options = LabOptions { controlled_only: true, reuse: None, ..options.clone() };
        let settings = settings.clone();
        let wanted = settings.clone();
        let start = async move {
            let lab = Lab::start_with(kind, &wanted, &options).await?;
            pause(&lab)?;
            Ok(lab)
        };
        ready.new = Some(Starting { kind, settings, lab: tokio::spawn(start) });
    }

    /// Keeps a lab in place of the one that was used before. Its servers are empty, and its clients have ended.
    pub(crate) async fn keep(&self, mut lab: Lab) -> Result<(), LabError> {
        lab.forget_clients();
        pause(&lab)?;
        let before = self.lock().used.replace(lab);
        if let Some(before) = before {
            before.shutdown().await;
        }
        Ok(())
    }
}

/// Lets a lab wait, in the state in which servers wait while a learner thinks about a lesson.
fn pause(lab: &Lab) -> Result<(), LabError> {
    lab.clock.set_rate(Rate::PAUSED)?;
    Ok(())
}

impl Lab {
    /// Removes what belonged to clients, all of which have ended.
    fn forget_clients(&mut self) {
        let servers = || self.servers.iter().chain(&self.helpers);
        self.links.retain(|id, _| servers().any(|server| server.info.name == id.from));
        self.member_choices.clear();
        // Whoever still looks at the health of the clients' lab does not look at the next clients.
        let health = ProcessHealth::default();
        servers().for_each(|server| health.watch(&server.process.state));
        self.health = health;
    }
}
