//! Writes the page that the preloaded library reads: its layout and its protocol.
//!
//! **Architecture Invariant:** the file gets its full size before anyone maps it and never shrinks: a process
//! that touches a mapped page beyond the end of its file is killed by SIGBUS.

use super::page::{ANCHOR, EPOCH, LONGEST, Line, OFFSET, PAGE_BYTES, RATE, SEQUENCE, skew_at};
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// The page's file, open for writing. Processes have it mapped and see every write at once, so the writer needs neither
/// a mapping nor `unsafe`.
#[derive(Debug)]
pub(crate) struct PageFile {
    file: File,
    path: PathBuf,
    sequence: i64,
}

impl PageFile {
    /// Creates the page. Fails if it exists, as another clock's processes may have it mapped.
    pub(crate) fn create(path: PathBuf, line: Line, epoch: i64) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        // All bytes are written, not only the size set: the file's blocks exist from now on, so that no later change
        // can fail half-way on a full disk.
        file.write_all_at(&[0; PAGE_BYTES], 0)?;
        let page = Self { file, path, sequence: 0 };
        page.put(EPOCH, epoch)?;
        page.put_line(line)?;
        Ok(page)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Switches every process to another line at once. `next` is called when no process can read the old line any more,
    /// and must read the real clock itself: a moment before, some process could still read a lesson time later than the
    /// one at which the new line begins, and would then see time go back.
    pub(crate) fn change_line(&mut self, next: impl FnOnce() -> Line) -> io::Result<Line> {
        self.guarded(|page| {
            let line = next();
            page.put_line(line)?;
            Ok(line)
        })
    }

    /// Sets one server's skew, in nanoseconds.
    pub(crate) fn change_skew(&mut self, slot: usize, nanos: i64) -> io::Result<()> {
        self.guarded(|page| page.put(skew_at(slot), nanos))
    }

    /// Sets how far the calendar is ahead of the monotonic clock, in nanoseconds.
    pub(crate) fn change_epoch(&mut self, nanos: i64) -> io::Result<()> {
        self.guarded(|page| page.put(EPOCH, nanos))
    }

    /// Keeps readers away while `change` writes: they wait while the sequence counter is odd, and read again if it has
    /// changed.
    fn guarded<T>(&mut self, change: impl FnOnce(&Self) -> io::Result<T>) -> io::Result<T> {
        self.put(SEQUENCE, self.sequence + 1)?;
        let changed = change(self);
        // Also after an error: with an odd counter every process would wait for ever.
        self.sequence += 2;
        self.put(SEQUENCE, self.sequence)?;
        changed
    }

    fn put_line(&self, line: Line) -> io::Result<()> {
        self.put(ANCHOR, line.anchor)?;
        self.put(OFFSET, line.offset)?;
        self.put(RATE, line.rate)?;
        self.put(LONGEST, line.longest)
    }

    /// Writes one field. Each write is a system call of its own under the file's lock, which also keeps other
    /// processors from seeing the writes in another order.
    fn put(&self, at: usize, value: i64) -> io::Result<()> {
        self.file.write_all_at(&value.to_ne_bytes(), at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn field(path: &Path, at: usize) -> i64 {
        let bytes = fs::read(path).expect("the page");
        assert_eq!(bytes.len(), PAGE_BYTES);
        i64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    #[test]
    fn readers_are_kept_away_during_a_change_and_only_then() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("page");
        let line = Line { anchor: 5, offset: 6, rate: 7, longest: 8 };
        let mut page = PageFile::create(path.clone(), line, 9).expect("a page");
        assert_eq!(
            [SEQUENCE, ANCHOR, OFFSET, RATE, LONGEST, EPOCH].map(|at| field(&path, at)),
            [0, 5, 6, 7, 8, 9]
        );

        let next = Line { anchor: 50, offset: 60, rate: 70, longest: 80 };
        let seen = page.change_line(|| {
            assert_eq!([SEQUENCE, ANCHOR].map(|at| field(&path, at)), [1, 5], "odd, and nothing changed yet");
            next
        });
        assert_eq!(seen.expect("a change"), next);
        assert_eq!([SEQUENCE, ANCHOR, OFFSET, RATE, LONGEST].map(|at| field(&path, at)), [2, 50, 60, 70, 80]);

        page.change_skew(3, -12).expect("a change");
        assert_eq!([SEQUENCE, skew_at(2), skew_at(3), skew_at(4)].map(|at| field(&path, at)), [4, 0, -12, 0]);
    }

    #[test]
    fn never_takes_over_a_page() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("page");
        let line = Line { anchor: 0, offset: 0, rate: 0, longest: 0 };
        let _first = PageFile::create(path.clone(), line, 0).expect("a page");
        let second = PageFile::create(path, line, 0).expect_err("the page is there");
        assert_eq!(second.kind(), io::ErrorKind::AlreadyExists);
    }
}
