//! Several locks measured one after another in the background, for whoever follows.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, oneshot};

use super::{Failed, Figures, LOCKS, Lock, Servers, Site, Work, measure, run_name};
use crate::{
    lab::{Lab, LabOptions, Meters},
    lesson::LabKind,
    text::Text,
};

/// What is measured, and where.
pub struct Series {
    pub locks: Vec<&'static Lock>,
    pub work: Work,
    /// How long a client that polls waits on average before it asks again.
    pub poll: Duration,
    /// How long all may take.
    pub at_most: Duration,
    /// The user's own servers. What they do not serve is measured on those of a lab.
    pub own: Vec<Servers>,
    /// What all that is written is called.
    pub name: String,
    pub options: LabOptions,
}

/// What came of one lock.
#[derive(Debug, Clone)]
pub struct Row {
    pub lock: &'static Lock,
    /// The servers that it was measured on.
    pub on: String,
    pub figures: Result<Figures, Text>,
}

/// News of a series under way. Locks are numbered from 0.
#[derive(Debug)]
pub enum SeriesUpdate {
    /// The servers of a lock are being started.
    Starts(usize),
    /// How many turns there were, and how many there are to be.
    Turns {
        lock: usize,
        seen: usize,
        wanted: usize,
    },
    Measured(Row),
    /// What was written could not be removed.
    Left {
        servers: String,
        why: String,
    },
}

/// A series under way. Dropping it ends it, and what it has written is removed.
#[derive(Debug)]
pub struct Measuring {
    stop: Option<oneshot::Sender<()>>,
    /// Its end says that nothing is left running.
    pub updates: mpsc::UnboundedReceiver<SeriesUpdate>,
}

impl Measuring {
    /// Ends it; its updates still say what was left.
    pub fn stop(&mut self) {
        self.stop = None;
    }
}

impl Series {
    /// What is done through each lock where nobody says otherwise.
    pub const WORK: Work =
        Work { clients: 8, hand_overs: 200, work: Duration::from_millis(1), rest: Duration::from_millis(1) };

    /// Every lock, on servers of Lockstep's own, in three minutes at most.
    pub fn usual(options: LabOptions) -> Self {
        Self {
            locks: LOCKS.iter().collect(),
            work: Self::WORK,
            poll: Duration::from_millis(10),
            at_most: Duration::from_secs(170),
            own: Vec::new(),
            name: run_name(),
            options: LabOptions { wall_clock: true, ..options },
        }
    }

    /// Begins to measure. Must be called inside a `tokio` runtime.
    pub fn start(self) -> Measuring {
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, updates) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let run = Run { series: self, tell, written: Mutex::default() };
            tokio::select! {
                () = run.all() => {}
                _ = stopped => {}
            }
            run.clean().await;
        });
        Measuring { stop: Some(stop), updates }
    }
}

struct Run {
    series: Series,
    tell: mpsc::UnboundedSender<SeriesUpdate>,
    /// Which of the user's own servers something was written to and has not been removed from.
    written: Mutex<Option<usize>>,
}

impl Run {
    async fn all(&self) {
        let end = Instant::now() + self.series.at_most;
        let locks = &self.series.locks;
        let mut lab: Option<Lab> = None;
        for (number, lock) in locks.iter().enumerate() {
            let left = u32::try_from(locks.len() - number).unwrap_or(1);
            let share = || end.saturating_duration_since(Instant::now()) / left;
            let row = self.one(number, lock, &mut lab, share).await;
            self.tell(SeriesUpdate::Measured(row));
        }
        if let Some(lab) = lab {
            lab.shutdown().await;
        }
    }

    async fn one(
        &self,
        number: usize,
        lock: &'static Lock,
        lab: &mut Option<Lab>,
        share: impl Fn() -> Duration,
    ) -> Row {
        let Series { work, poll, own, name, .. } = &self.series;
        let place = own.iter().position(|servers| servers.serve(lock));
        let reached = if let Some(place) = place {
            Ok((own[place].for_lock(lock), None, own[place].to_string()))
        } else {
            self.tell(SeriesUpdate::Starts(number));
            self.start(lock.lab, lab).await
        };
        let (servers, meters, on) = match reached {
            Ok(reached) => reached,
            Err(why) => return Row { lock, on: String::new(), figures: Err(why) },
        };
        self.has_written(place);
        let site = Arc::new(Site::new(servers, name.clone(), *poll, meters));
        let watch = |seen, wanted| self.tell(SeriesUpdate::Turns { lock: number, seen, wanted });
        let figures = measure(lock, &site, *work, share(), &watch).await;
        let cleaned = site.servers.clean(name).await;
        if cleaned.is_ok() {
            self.has_written(None);
        }
        let figures = figures.and_then(|figures| cleaned.map(|()| figures));
        Row { lock, on, figures: figures.map_err(|why| why.to_string().into()) }
    }

    /// The servers of a lab, which is there already or takes the place of the one before.
    async fn start(
        &self,
        kind: LabKind,
        lab: &mut Option<Lab>,
    ) -> Result<(Servers, Option<Meters>, String), Text> {
        if lab.as_ref().is_none_or(|lab| lab.kind() != kind) {
            if let Some(before) = lab.take() {
                before.shutdown().await;
            }
            *lab = Some(
                Lab::start(kind, &self.series.options)
                    .await
                    .map_err(|error| Text::new(error.to_string(), error.chinese()))?,
            );
        }
        let Some(lab) = lab else { return Err(Text::default()) };
        let servers = Servers::of(lab).map_err(|error: Failed| error.to_string())?;
        let infos = lab.servers();
        let on =
            infos.first().map(|server| format!("{} × {} {}", infos.len(), server.product, server.version));
        Ok((servers, Some(lab.meters()), on.unwrap_or_default()))
    }

    /// Removes what an interrupted contest has left on the user's own servers.
    async fn clean(&self) {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(servers) = written.and_then(|place| self.series.own.get(place)) else { return };
        if let Err(error) = servers.clean(&self.series.name).await {
            self.tell(SeriesUpdate::Left { servers: servers.to_string(), why: error.to_string() });
        }
    }

    fn has_written(&self, place: Option<usize>) {
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// Whoever does not listen any more needs to be told nothing.
    fn tell(&self, update: SeriesUpdate) {
        let _ = self.tell.send(update);
    }
}
