//! A run in a few cells: who held a lock when, and where it went wrong. The catalogue shows it to tell failures apart.

use std::time::{Duration, Instant};

use crate::{
    log::{Belief, Log},
    ui::chart::{BarKind, Chart, Detail},
};

pub const CELLS: u32 = 6;
/// The delay of the first fingerprint after the catalogue was drawn, and the interval between further ones.
const FIRST: Duration = Duration::from_millis(200);
const NEXT: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cell {
    #[default]
    Free,
    /// A client holds a lock, or acts on a value that it has read; by index of the client.
    Held(usize),
    /// A lock has too many holders, or a client oversells; by index of a client involved.
    Violated(usize),
    /// Another invariant is broken, and no client holds anything.
    Broken,
}

impl Cell {
    /// The cell with the greatest weight is shown where several share a place.
    pub fn weight(self) -> u8 {
        match self {
            Self::Free => 0,
            Self::Held(_) => 1,
            Self::Broken => 2,
            Self::Violated(_) => 3,
        }
    }
}

/// The fingerprints made so far, in the catalogue's order. A lesson without a recording has none.
#[derive(Debug)]
pub struct Fingerprints {
    pub made: Vec<Option<Vec<Cell>>>,
    next: Instant,
}

impl Fingerprints {
    pub fn new(now: Instant) -> Self {
        Self { made: Vec::new(), next: now + FIRST }
    }

    /// When the next fingerprint is due, if fewer than `lessons` have been made.
    pub fn due(&self, lessons: usize) -> Option<Instant> {
        (self.made.len() < lessons).then_some(self.next)
    }

    pub fn add(&mut self, log: Option<&Log>, now: Instant) {
        self.made.push(log.map(fingerprint));
        self.next = now + NEXT;
    }
}

/// The fingerprint of a whole run from its first move on.
fn fingerprint(log: &Log) -> Vec<Cell> {
    let mut chart = Chart::new(Detail::Labels);
    chart.advance(log);
    let end = chart.column(log.len().saturating_sub(1)) + 1;
    let begin = chart.lanes.iter().filter_map(|lane| Some(lane.marks.first()?.x)).min().unwrap_or(0);
    let edge = |n: u32| begin + (end - begin) * n / CELLS;
    let bars = || chart.lanes.iter().flat_map(|lane| lane.bars.iter().map(move |bar| (lane.client, bar)));
    (0..CELLS)
        .map(|n| {
            let within = |from: u32, to: Option<u32>| from < edge(n + 1) && to.is_none_or(|to| to > edge(n));
            let mut held = bars().filter(|(_, bar)| match bar.kind {
                BarKind::Belief(Belief::Holding | Belief::Sharing) | BarKind::Read => true,
                kind => kind == BarKind::Oversold,
            });
            let client =
                held.find(|(_, bar)| within(bar.from.0, bar.to.map(|to| to.0))).map(|(client, _)| client);
            // The chart limits a short breach to its step; in six cells a breach lasts to the end of the run.
            let broken = chart.broken.iter().any(|broken| within(broken.span.from.0, None));
            let wrong = broken || chart.alarms().any(|span| within(span.from.0, span.to.map(|to| to.0)));
            match client {
                Some(client) if wrong => Cell::Violated(client),
                Some(client) => Cell::Held(client),
                None if wrong => Cell::Broken,
                None => Cell::Free,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{CELLS, Cell, fingerprint};
    use crate::{
        lesson::{Library, Params, Scenario},
        recording::carried,
    };

    #[test]
    fn a_violation_is_seen_in_the_few_cells_of_a_run() {
        let print = |lesson: &str, variant: &str| {
            let library = Library::carried();
            let loaded = library.lessons.iter().find(|loaded| loaded.lesson.id == lesson).expect("a lesson");
            let scenario = Scenario::plan(loaded, variant, &Params::new()).expect("a variant");
            fingerprint(&carried::open(&scenario).expect("a recording").log)
        };
        let wrong = |cell: &Cell| matches!(cell, Cell::Violated(_) | Cell::Broken);
        let violated = |cells: &[Cell]| cells.iter().any(wrong);
        for (lesson, failing, fixed) in [
            ("unlock-someone-elses-lock", "blind-del", "owner-check"),
            ("oversell", "lost-update", "redis-lock"),
            ("db-optimistic", "lost-update", "version"),
            ("lost-reply", "resend", "read-back"),
            ("multi-lock", "half-held", "all-or-none"),
        ] {
            let cells = print(lesson, failing);
            assert_eq!(cells.len(), CELLS as usize);
            assert!(violated(&cells), "{lesson}: {cells:?}");
            let cells = print(lesson, fixed);
            assert!(!violated(&cells), "{lesson}: {cells:?}");
        }
        let cells = print("unlock-someone-elses-lock", "blind-del");
        assert!(matches!(cells[0], Cell::Held(0)), "A begins: {cells:?}");
        // A lasting breach must show to the end, even if its actors are dead by then.
        let cells = print("setnx-without-expire", "two-commands");
        assert!(cells.last().is_some_and(wrong), "{cells:?}");
    }
}
