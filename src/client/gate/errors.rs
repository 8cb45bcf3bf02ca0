//! The log of a program's standard error, reported in parts. It must not know when the program rests.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
};

use super::{Inner, output::LONGEST_LINE};
use crate::{
    client::protocol::Response,
    process::Exit,
    text::{Text, Words},
};

/// The most lines that are reported from one rest to the next: the last ones, as a traceback ends with what
/// matters.
const MOST_LINES: usize = 20;
/// The most bytes of the log that are read for them.
const MOST_BYTES: u64 = 64 << 10;

const EARLIER_LINES: Words = Words::new(
    "Lockstep: of what it wrote to standard error since the last move, these are the last lines.",
    "Lockstep：上一步以来它写到标准错误的内容，只显示最后几行。",
);

/// The log of a program's standard error.
pub(super) struct ErrorLog {
    path: PathBuf,
    /// The number of bytes that have been reported or left out.
    reported: u64,
}

impl ErrorLog {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, reported: 0 }
    }

    /// Reports the last new lines. An incomplete line is reported only if the program has ended.
    pub(super) fn report(&mut self, inner: &Inner, ended: bool) {
        // An unreadable log is not reported; the program keeps running.
        let Ok((from, new)) = self.new_bytes() else { return };
        let whole = if ended {
            new.len()
        } else {
            new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
        };
        if whole == 0 {
            return;
        }
        let left_out = from > self.reported;
        self.reported = from + whole as u64;
        let text = String::from_utf8_lossy(&new[..whole]);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let first = lines.len().saturating_sub(MOST_LINES);
        if left_out || first > 0 {
            inner.output.report_remark(EARLIER_LINES.text(&[]));
        }
        for line in &lines[first..] {
            let line = shortened(line);
            inner.report(Response::Said { actor: inner.actor, line, stderr: true });
        }
    }

    /// The bytes that were not reported yet, and their position. If there are too many, only the last.
    fn new_bytes(&self) -> io::Result<(u64, Vec<u8>)> {
        let mut log = File::open(&self.path)?;
        let from = self.reported.max(log.metadata()?.len().saturating_sub(MOST_BYTES));
        log.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        log.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok((from, bytes))
    }

    /// Why the program ended, in one line: the last informative line that it wrote, and its exit code.
    pub(super) fn last_words(&self, exit: Exit) -> Text {
        let end = Self::new(self.path.clone()).new_bytes().map(|(_, bytes)| bytes).unwrap_or_default();
        let end = String::from_utf8_lossy(&end);
        let last = last_informative_line(&end);
        let how = exit.text();
        let Some(last) = last.map(shortened) else { return how };
        Text { en: format!("{last} ({})", how.en), zh: format!("{last}（{}）", how.zh) }
    }
}

/// The last line that says what went wrong. In Java and Node it is followed by the stack trace, and in Node
/// also by the fields of the error, indented, the version of Node, and which file required the one that is missing.
fn last_informative_line(text: &str) -> Option<&str> {
    let is_version = |line: &str| line.starts_with("Node.js v");
    let in_node = text.lines().any(is_version);
    let is_call = |line: &str| {
        let rest = line.trim_start();
        rest.starts_with("at ") || rest.starts_with("... ") && rest.ends_with(" more")
    };
    let is_field = |line: &str| in_node && line.starts_with([' ', '\t', '}']);
    // Python draws a frame around each exception of a group: `| ValueError: no`, `+-------`.
    let is_frame = |line: &str| line.trim_start().starts_with("+-");
    let mut lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    // `ReplyError: no lock`, `Error [ERR_X]: no lock`
    let names_error = |line: &&str| {
        let name = line.split_once(": ").map(|(name, _)| name.split(" [").next().unwrap_or_default());
        name.is_some_and(|name| name.ends_with("Error") && name.chars().all(char::is_alphanumeric))
    };
    if in_node && let Some(line) = lines.clone().find(names_error) {
        return Some(line.trim());
    }
    let says = lines.find(|line| !is_version(line) && !is_call(line) && !is_field(line) && !is_frame(line));
    let says = says.or_else(|| text.lines().rev().find(|line| !line.trim().is_empty())).map(str::trim)?;
    Some(says.strip_prefix("| ").map_or(says, str::trim_start))
}

/// Truncates a line to the most that is reported of one.
fn shortened(line: &str) -> String {
    line.chars().take(LONGEST_LINE).collect()
}

#[cfg(test)]
mod tests {
    use super::last_informative_line;

    #[test]
    fn the_line_that_says_the_reason_is_found() {
        let node = "/w/x.js:3\nthrow new Error('no lock');\n^\n\nReplyError: no lock\n    at f (/w/x.js:3:7) {\n  code: 'E'\n}\n\nNode.js v20.20.2\n";
        let missing = "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module 'ioredis'\nRequire stack:\n- /w/x.js\n    at require (node:internal/x:1:2) {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/w/x.js' ]\n}\n\nNode.js v20.20.2\n";
        let java = "Exception in thread \"main\" java.lang.IllegalStateException: no lock\n\tat X.main(X.java:5)\nCaused by: \
                    java.io.IOException: gone\n\tat X.f(X.java:9)\n\t... 3 more\n";
        let python = "Traceback (most recent call last):\n  File \"w.py\", line 1\nredis.exceptions.LockError: no lock\n\n";
        let group = "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: in a TaskGroup (1 sub-exception)\n  \
                     +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"w.py\"\n    \
                     | ValueError: no lock\n    +------------------------------------\n";
        for (text, reason) in [
            (node, Some("ReplyError: no lock")),
            (missing, Some("Error: Cannot find module 'ioredis'")),
            ("throw 7\n^\n7\n\nNode.js v20.20.2\n", Some("7")),
            (java, Some("Caused by: java.io.IOException: gone")),
            (python, Some("redis.exceptions.LockError: no lock")),
            (group, Some("ValueError: no lock")),
            ("at least this\n", Some("at least this")),
            ("\n \n", None),
        ] {
            assert_eq!(last_informative_line(text), reason);
        }
    }
}
