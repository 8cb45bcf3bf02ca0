//! Locks that are being measured, or have been, as the screen needs them.

use crate::{
    bench::{LOCKS, Lock, Measuring, Row, Series, SeriesUpdate, Work},
    text::Text,
};

#[derive(Debug)]
pub struct Measurement {
    /// As long as it is under way.
    pub running: Option<Measuring>,
    pub work: Work,
    pub rows: Vec<Row>,
    /// Why nothing is measured.
    pub failed: Option<Text>,
    /// The lock whose turn it is; of how many turns how many are over, once its servers run.
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

    /// Takes in what is told; its end, where nothing is.
    pub fn receive(&mut self, update: Option<SeriesUpdate>) {
        match update {
            Some(SeriesUpdate::Starts(lock)) => (self.at, self.turns) = (lock, None),
            Some(SeriesUpdate::Turns { lock, seen, wanted }) => {
                (self.at, self.turns) = (lock, Some((seen, wanted)));
            }
            Some(SeriesUpdate::Measured(row)) => self.rows.push(row),
            // Only a user's own servers could be left with something.
            Some(SeriesUpdate::Left { .. }) => {}
            None => self.running = None,
        }
    }

    /// How far it is; nothing where it is over.
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

/// How far a measurement is.
#[derive(Debug)]
pub struct Progress {
    /// Of all locks.
    pub share: f64,
    /// The lock whose turn it is, the first being number 1.
    pub lock: &'static Lock,
    pub number: usize,
    pub of: usize,
    /// How many turns of how many are over; nothing while its servers are being started.
    pub turns: Option<(usize, usize)>,
}
