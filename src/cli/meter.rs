//! How far a long piece of work has come: one line of standard error that is written over, and only where somebody
//! looks at it.

use std::time::{Duration, Instant};

use super::print;
use crate::ui::theme::text;

/// From one line to the next: often enough to be read, seldom enough to cost nothing.
const EVERY: Duration = Duration::from_millis(100);

/// The line. Dropping it takes it away.
#[derive(Debug)]
pub(crate) struct Meter {
    began: Instant,
    shown: Option<Instant>,
    /// Whether standard error is a terminal.
    seen: bool,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), shown: None, seen: print::is_watched() }
    }

    /// Shows a line about the time since the beginning, if the last one has been there long enough.
    pub(crate) fn show(&mut self, line: impl FnOnce(Duration) -> String) {
        let now = Instant::now();
        if !self.seen || self.shown.is_some_and(|shown| now < shown + EVERY) {
            return;
        }
        self.shown = Some(now);
        let line = line(now - self.began);
        // A line that wraps could not be written over.
        let columns = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns));
        let line = text::fit(&line, columns.saturating_sub(1));
        print::over(&line);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.shown.is_some() {
            print::over("");
        }
    }
}
