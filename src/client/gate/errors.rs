//! What a program writes to standard error: its log, told a piece at a time. It must not know when the program rests.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
};

use super::{Inner, LONGEST_LINE};
use crate::{
    client::protocol::Response,
    process::Exit,
    text::{Text, Words},
};

/// How many lines are told from one rest to the next: the last ones, as a traceback ends with what matters.
const MOST_LINES: usize = 20;
/// How much of the log is looked at for them, in bytes.
const MOST_BYTES: u64 = 64 << 10;

const EARLIER_LINES: Words = Words::new(
    "Lockstep: of what it wrote to standard error since the last move, these are the last lines.",
    "Lockstep：上一步以来它写到标准错误的内容，只显示最后几行。",
);

/// The log of a program's standard error.
pub(super) struct ErrorLog {
    path: PathBuf,
    /// So many bytes of it have been told, or were left out.
    told: u64,
}

impl ErrorLog {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, told: 0 }
    }

    /// Tells the last lines of what is new; a line that has no end yet only where the program has ended.
    pub(super) fn tell(&mut self, inner: &Inner, ended: bool) {
        // What cannot be read cannot be told: the program goes on all the same.
        let Ok((from, new)) = self.new_bytes() else { return };
        let whole = if ended {
            new.len()
        } else {
            new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
        };
        if whole == 0 {
            return;
        }
        let left_out = from > self.told;
        self.told = from + whole as u64;
        let text = String::from_utf8_lossy(&new[..whole]);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let first = lines.len().saturating_sub(MOST_LINES);
        if left_out || first > 0 {
            inner.say_of(EARLIER_LINES.text(&[]));
        }
        for line in &lines[first..] {
            let line = shortened(line);
            inner.tell(Response::Said { actor: inner.actor, line, stderr: true });
        }
    }

    /// The bytes that were not told, and where they begin. Of more than are looked at, the last.
    fn new_bytes(&self) -> io::Result<(u64, Vec<u8>)> {
        let mut log = File::open(&self.path)?;
        let from = self.told.max(log.metadata()?.len().saturating_sub(MOST_BYTES));
        log.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        log.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok((from, bytes))
    }

    /// Why it ended, in one line: the last that it wrote, and its exit code.
    pub(super) fn last_words(&self, exit: Exit) -> Text {
        let end = Self::new(self.path.clone()).new_bytes().map(|(_, bytes)| bytes).unwrap_or_default();
        let end = String::from_utf8_lossy(&end);
        let last = end.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let how = exit.text();
        let Some(last) = last.map(shortened) else { return how };
        Text { en: format!("{last} ({})", how.en), zh: format!("{last}（{}）", how.zh) }
    }
}

/// A line without what is too much of it.
fn shortened(line: &str) -> String {
    line.chars().take(LONGEST_LINE).collect()
}
