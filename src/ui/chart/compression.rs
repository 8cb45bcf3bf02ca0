//! How close things stand on the axis: as usual, or closer where a whole story is to be seen at once.

use super::{APART, Lane};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compression {
    /// Stretches of time are drawn so many times shorter.
    pub(crate) shorter: u32,
    /// So many columns of a tick's words are shown where the rest has to give way; `None` for all of them.
    pub(crate) words: Option<u32>,
}

impl Default for Compression {
    fn default() -> Self {
        Self { shorter: 1, words: None }
    }
}

impl Compression {
    /// The first column at which a lane's next tick may stand.
    pub(crate) fn room(self, lane: &Lane) -> u32 {
        match (self.words, lane.marks.last()) {
            (Some(words), Some(mark)) => lane.end.min(mark.x + words),
            _ => lane.end,
        }
    }

    pub(crate) fn apart(self) -> u32 {
        if self.words.is_some_and(|words| words < APART) { 1 } else { APART }
    }

    pub(crate) fn of(self, columns: u32) -> u32 {
        columns.div_ceil(self.shorter)
    }
}
