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

    /// Why it ended, in one line: the last that it wrote and that says something, and its exit code.
    pub(super) fn last_words(&self, exit: Exit) -> Text {
        let end = Self::new(self.path.clone()).new_bytes().map(|(_, bytes)| bytes).unwrap_or_default();
        let end = String::from_utf8_lossy(&end);
        let last = telling_line(&end);
        let how = exit.text();
        let Some(last) = last.map(shortened) else { return how };
        Text { en: format!("{last} ({})", how.en), zh: format!("{last}（{}）", how.zh) }
    }
}

/// The last line that says what went wrong. Below it stand the calls that led there in Java and in Node, which also tells an
/// error's fields, indented, and its own version.
fn telling_line(text: &str) -> Option<&str> {
    let is_version = |line: &str| line.starts_with("Node.js v");
    let in_node = text.lines().any(is_version);
    let is_call = |line: &str| {
        let rest = line.trim_start();
        rest.starts_with("at ") || rest.starts_with("... ") && rest.ends_with(" more")
    };
    let is_field = |line: &str| in_node && line.starts_with([' ', '\t', '}']);
    let mut lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let says = lines.find(|line| !is_version(line) && !is_call(line) && !is_field(line));
    says.or_else(|| text.lines().rev().find(|line| !line.trim().is_empty())).map(str::trim)
}

/// A line without what is too much of it.
fn shortened(line: &str) -> String {
    line.chars().take(LONGEST_LINE).collect()
}

#[cfg(test)]
mod tests {
    use super::telling_line;

    #[test]
    fn the_reason_of_an_end_is_the_line_that_says_it() {
        let node = "/w/x.js:3\nthrow new Error('no lock');\n^\n\nReplyError: no lock\n    at f (/w/x.js:3:7) {\n  code: 'E'\n}\n\nNode.js v20.20.2\n";
        let java = "Exception in thread \"main\" java.lang.IllegalStateException: no lock\n\tat X.main(X.java:5)\nCaused by: \
                    java.io.IOException: gone\n\tat X.f(X.java:9)\n\t... 3 more\n";
        let python = "Traceback (most recent call last):\n  File \"w.py\", line 1\nredis.exceptions.LockError: no lock\n\n";
        for (text, reason) in [
            (node, Some("ReplyError: no lock")),
            (java, Some("Caused by: java.io.IOException: gone")),
            (python, Some("redis.exceptions.LockError: no lock")),
            ("at least this\n", Some("at least this")),
            ("\n \n", None),
        ] {
            assert_eq!(telling_line(text), reason);
        }
    }
}
