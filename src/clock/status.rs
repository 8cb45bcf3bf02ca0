//! The file in which the threads of a user's program publish what they wait for: created here, written by the preloaded
//! library.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use super::page::{REAL, STATUS_BYTES};

/// The published waits of one program's threads.
#[derive(Debug)]
pub(crate) struct StatusFile {
    file: File,
    path: PathBuf,
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wait {
    /// For real time to pass: the thread continues by itself.
    Real,
    /// For this moment of the lesson-monotonic clock, in nanoseconds.
    Until(i64),
}

impl StatusFile {
    /// Creates the file, replacing that of an earlier program. It has its full size before any process maps it.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        file.write_all_at(&[0; STATUS_BYTES], 0)?;
        Ok(Self { file, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Each waiting thread and its wait. An error if there were more waits than entries.
    pub(crate) fn read(&self) -> io::Result<Vec<(u32, Wait)>> {
        let mut bytes = [0; STATUS_BYTES];
        self.file.read_exact_at(&mut bytes, 0)?;
        let mut numbers = bytes.as_chunks::<8>().0.iter().map(|bytes| i64::from_ne_bytes(*bytes));
        if numbers.next().is_some_and(|lost| lost > 0) {
            return Err(io::Error::other("too many threads wait"));
        }
        let mut waits = Vec::new();
        let mut entries = numbers.skip(1);
        while let (Some(thread), Some(until)) = (entries.next(), entries.next()) {
            if let Some(thread) = u32::try_from(thread).ok().filter(|thread| *thread > 0) {
                waits.push((thread, if until == REAL { Wait::Real } else { Wait::Until(until) }));
            }
        }
        Ok(waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_who_waits_and_that_there_was_no_room() {
        let dir = tempfile::tempdir().expect("a directory");
        let status = StatusFile::create(dir.path().join("status")).expect("a file");
        assert_eq!(status.read().expect("it can be read"), []);
        let put = |at: u64, number: i64| {
            status.file.write_all_at(&number.to_ne_bytes(), at * 8).expect("it can be written");
        };
        put(2, 77);
        put(3, 5_000);
        put(6, 78);
        put(7, REAL);
        assert_eq!(status.read().expect("it can be read"), [(77, Wait::Until(5_000)), (78, Wait::Real)]);
        put(0, 1);
        assert!(status.read().is_err());
    }
}
