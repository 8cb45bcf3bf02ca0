//! The progress of long work: one line of standard error that is overwritten, shown only if standard error is
//! a terminal.

use std::time::{Duration, Instant};

use super::print;
use crate::ui::theme::text;

/// The time from one line to the next: short enough to follow, long enough to cost nothing.
const EVERY: Duration = Duration::from_millis(100);

/// The line. Dropping this erases it.
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

    /// Shows a line for the time since the beginning, unless the last one is too recent.
    pub(crate) fn show(&mut self, line: impl FnOnce(Duration) -> String) {
        let now = Instant::now();
        if !self.seen || self.shown.is_some_and(|shown| now < shown + EVERY) {
            return;
        }
        self.shown = Some(now);
        let line = line(now - self.began);
        // A line that wraps could not be overwritten.
        let columns = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns));
        let line = text::fit(&line, columns.saturating_sub(1));
        print::overwrite(&line);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.shown.is_some() {
            print::overwrite("");
        }
    }
}
