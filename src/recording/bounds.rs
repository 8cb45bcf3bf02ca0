//! How much of a recording is read: a few times the size of the longest runs (a crowd of 2,000 makes 26,000 events, or
//! 60 MB), and little enough for any machine.

use std::io::{self, BufRead, Read as _};

/// The maximum number of bytes, packed and unpacked.
pub(crate) const MOST_BYTES: u64 = 128 << 20;
pub(crate) const MOST_LINES: usize = 100_000;
/// The maximum number of bytes in a line.
pub(crate) const MOST_IN_LINE: usize = 4 << 20;
/// The maximum number of JSON values: in memory each takes much more than the two bytes that it may take in the file.
pub(crate) const MOST_VALUES: usize = 8_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Bound {
    #[error("more than {} MiB, unpacked", MOST_BYTES >> 20)]
    Bytes,
    #[error("more than {MOST_LINES} lines")]
    Lines,
    #[error("more than {} MiB in one line", MOST_IN_LINE >> 20)]
    Line,
    #[error("more than {MOST_VALUES} values")]
    Values,
}

/// The size of the lines so far.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    bytes: u64,
    lines: usize,
    values: usize,
}

impl Usage {
    pub(crate) fn line(&mut self, line: &[u8]) -> Result<(), Bound> {
        self.bytes += u64::try_from(line.len()).unwrap_or(u64::MAX).saturating_add(1);
        self.lines += 1;
        // Each of these characters begins at most one value.
        self.values += line.iter().filter(|byte| matches!(byte, b',' | b':' | b'[' | b'{')).count();
        let bounds = [
            (line.len() > MOST_IN_LINE, Bound::Line),
            (self.lines > MOST_LINES, Bound::Lines),
            (self.bytes > MOST_BYTES, Bound::Bytes),
            (self.values > MOST_VALUES, Bound::Values),
        ];
        let passed = bounds.into_iter().find(|(passed, _)| *passed);
        passed.map_or(Ok(()), |(_, bound)| Err(bound))
    }
}

/// Why there is no next line.
pub(crate) enum LineError {
    At(Bound),
    Io(io::Error),
    /// The text is not UTF-8 after that many bytes.
    NotUtf8(usize),
}

pub(crate) struct Lines<R> {
    text: R,
    spent: Usage,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(text: R) -> Self {
        Self { text, spent: Usage::default() }
    }

    /// The number of the line read last, counted from 1.
    pub(crate) fn number(&self) -> usize {
        self.spent.lines
    }

    /// Returns the next line without its line feed, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<String>, LineError> {
        let mut line = Vec::new();
        let most = u64::try_from(MOST_IN_LINE + 2).unwrap_or(u64::MAX);
        let read = (&mut self.text).take(most).read_until(b'\n', &mut line);
        if read.map_err(LineError::Io)? == 0 {
            return Ok(None);
        }
        line.pop_if(|last| *last == b'\n');
        line.pop_if(|last| *last == b'\r');
        self.spent.line(&line).map_err(LineError::At)?;
        let text = String::from_utf8(line).map(Some);
        text.map_err(|error| LineError::NotUtf8(error.utf8_error().valid_up_to()))
    }
}
