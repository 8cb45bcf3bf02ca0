//! The state of a lock measurement, for the screen.

use crate::{
    bench::{LOCKS, Lock, Measuring, Row, Series, SeriesUpdate, Work},
    text::Text,
};

#[derive(Debug)]
pub struct Measurement {
    /// `None` once the measurement is over.
    pub running: Option<Measuring>,
    pub work: Work,
    pub rows: Vec<Row>,
    /// Why nothing could be measured.
    pub failed: Option<Text>,
    /// The index of the lock being measured; the number of its turns done and wanted, once its servers run.
    at: usize,
    turns: Option<(usize, usize)>,
}

impl Measurement {
    pub fn new(running: Result<Measuring, Text>) -> Self {
        let (running, failed) = match running {
            Ok(running) => (Some(running), None),
            Err(why) => (None, Some(why)),
        };
        Self { running, work: Series::WORK, rows: Vec::new(), failed, at: 0, turns: None }
    }

    /// Handles an update; `None` means that the measurement is over.
    pub fn receive(&mut self, update: Option<SeriesUpdate>) {
        match update {
            Some(SeriesUpdate::Starts(lock)) => (self.at, self.turns) = (lock, None),
            Some(SeriesUpdate::Turns { lock, seen, wanted }) => {
                (self.at, self.turns) = (lock, Some((seen, wanted)));
            }
            Some(SeriesUpdate::Measured(row)) => self.rows.push(row),
            // Something can be left only on a user's own servers.
            Some(SeriesUpdate::Left { .. }) => {}
            None => self.running = None,
        }
    }

    /// The progress; `None` when the measurement is over.
    #[expect(clippy::cast_precision_loss, reason = "for people to see")]
    pub fn progress(&self) -> Option<Progress> {
        self.running.as_ref()?;
        let of_this = self.turns.map_or(0.0, |(seen, wanted)| seen as f64 / wanted.max(1) as f64);
        Some(Progress {
            share: (self.at as f64 + of_this) / LOCKS.len() as f64,
            lock: LOCKS.get(self.at)?,
            number: self.at + 1,
            of: LOCKS.len(),
            turns: self.turns,
        })
    }
}

#[derive(Debug)]
pub struct Progress {
    /// The share of all work that is done, from 0 to 1.
    pub share: f64,
    /// The lock being measured, and its number, counted from 1.
    pub lock: &'static Lock,
    pub number: usize,
    pub of: usize,
    /// The number of turns done and wanted; `None` while its servers are being started.
    pub turns: Option<(usize, usize)>,
}
