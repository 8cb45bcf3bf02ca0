//! Measures several locks one after another in the background and reports progress over a channel.

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
    /// The average interval at which a polling client asks again.
    pub poll: Duration,
    /// The time limit for all locks together.
    pub at_most: Duration,
    /// The user's own servers. Locks that these cannot serve are measured on the servers of a lab.
    pub own: Vec<Servers>,
    /// The name of everything that the series writes.
    pub name: String,
    pub options: LabOptions,
}

/// The result for one lock.
#[derive(Debug, Clone)]
pub struct Row {
    pub lock: &'static Lock,
    /// The servers on which the lock was measured.
    pub on: String,
    pub figures: Result<Figures, Text>,
}

/// Progress of a series. Locks are numbered from 0.
#[derive(Debug)]
pub enum SeriesUpdate {
    /// The servers for this lock are being started.
    Starts(usize),
    /// The number of turns so far, and the number wanted.
    Turns {
        lock: usize,
        seen: usize,
        wanted: usize,
    },
    Measured(Row),
    /// What the series wrote could not be removed from these servers.
    Left {
        servers: String,
        why: String,
    },
}

/// A running series. Dropping it stops it and removes what it has written.
#[derive(Debug)]
pub struct Measuring {
    stop: Option<oneshot::Sender<()>>,
    /// The channel closes when nothing is left running.
    pub updates: mpsc::UnboundedReceiver<SeriesUpdate>,
}

impl Measuring {
    /// Stops the series; `updates` still reports what could not be removed.
    pub fn stop(&mut self) {
        self.stop = None;
    }
}

impl Series {
    /// The default work under each lock.
    pub const WORK: Work =
        Work { clients: 8, hand_overs: 200, work: Duration::from_millis(1), rest: Duration::from_millis(1) };

    /// Every lock, on servers that Lockstep starts, in three minutes at most.
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

    /// Starts to measure. Must be called inside a `tokio` runtime.
    pub fn start(self) -> Measuring {
        let (stop, stopped) = oneshot::channel::<()>();
        let (sender, updates) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let run = Run { series: self, sender, written: Mutex::default() };
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
    sender: mpsc::UnboundedSender<SeriesUpdate>,
    /// The index in `own` of the servers that may still hold keys of this series.
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
            let row = self.measure_one(number, lock, &mut lab, share).await;
            self.report(SeriesUpdate::Measured(row));
        }
        if let Some(lab) = lab {
            lab.shutdown().await;
        }
    }

    async fn measure_one(
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
            self.report(SeriesUpdate::Starts(number));
            self.start(lock.lab, lab).await
        };
        let (servers, meters, on) = match reached {
            Ok(reached) => reached,
            Err(why) => return Row { lock, on: String::new(), figures: Err(why) },
        };
        self.has_written(place);
        let site = Arc::new(Site::new(servers, name.clone(), *poll, meters));
        let watch = |seen, wanted| self.report(SeriesUpdate::Turns { lock: number, seen, wanted });
        let figures = measure(lock, &site, *work, share(), &watch).await;
        let cleaned = site.servers.clean(name).await;
        if cleaned.is_ok() {
            self.has_written(None);
        }
        let figures = figures.and_then(|figures| cleaned.map(|()| figures));
        Row { lock, on, figures: figures.map_err(|why| why.to_string().into()) }
    }

    /// The servers of a running lab of this kind; otherwise starts one in place of the previous lab.
    async fn start(
        &self,
        kind: LabKind,
        lab: &mut Option<Lab>,
    ) -> Result<(Servers, Option<Meters>, String), Text> {
        if lab.as_ref().is_none_or(|lab| lab.kind() != kind) {
            if let Some(before) = lab.take() {
                before.shutdown().await;
            }
            *lab = Some(Lab::start(kind, &self.series.options).await.map_err(|error| error.text())?);
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
            self.report(SeriesUpdate::Left { servers: servers.to_string(), why: error.to_string() });
        }
    }

    fn has_written(&self, place: Option<usize>) {
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// The receiver may be gone: then the update is dropped.
    fn report(&self, update: SeriesUpdate) {
        let _ = self.sender.send(update);
    }
}
