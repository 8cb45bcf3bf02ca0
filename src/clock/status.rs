//! The file in which the threads of a user's program publish what they wait for: created here, written by the preloaded
//! library.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use super::page::{AWAKE, REAL, STATUS_BYTES, STATUS_NUMBERS};

/// The first number of an entry that nobody uses.
const FREE: [u8; 8] = [0; 8];

/// The published waits of one program's threads.
#[derive(Debug)]
pub(crate) struct StatusFile {
    file: File,
    path: PathBuf,
}

/// A wait of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) thread: u32,
    pub(crate) wait: Wait,
    /// Whether it sleeps until it is woken.
    pub(crate) sleeps: bool,
    entry: usize,
    /// How many waits had ended in this entry of the file.
    ended: i64,
}

impl Published {
    /// Whether this is the same wait: the thread has done nothing else in between.
    pub(crate) fn is_still(&self, before: &Self) -> bool {
        Self { sleeps: before.sleeps, ..*self } == *before
    }
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
        file.write_all_at(&vec![0_u8; STATUS_BYTES], 0)?;
        Ok(Self { file, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The waits of all threads. An error if there were more waits than entries.
    pub(crate) fn read(&self) -> io::Result<Vec<Published>> {
        let mut bytes = vec![0_u8; STATUS_BYTES];
        self.file.read_exact_at(&mut bytes, 0)?;
        let (lost, entries) = bytes.as_chunks::<8>().0.split_at(STATUS_NUMBERS);
        if lost[0] != FREE {
            return Err(io::Error::other("too many threads wait"));
        }
        // The file is read several times a millisecond, and nearly all its entries are free.
        let taken = entries.chunks_exact(STATUS_NUMBERS).enumerate().filter(|(_, entry)| entry[0] != FREE);
        let published = |(entry, numbers): (usize, &[[u8; 8]])| {
            let [thread, until, ended, sleep] = [0, 1, 2, 3].map(|n| i64::from_ne_bytes(numbers[n]));
            let thread = u32::try_from(thread).ok()?;
            let wait = if until == REAL { Wait::Real } else { Wait::Until(until) };
            Some(Published { thread, wait, sleeps: sleep != AWAKE, entry, ended })
        };
        Ok(taken.filter_map(published).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::page::{ASLEEP, WOKEN};

    #[test]
    fn tells_who_waits_and_that_there_was_no_room() {
        let dir = tempfile::tempdir().expect("a directory");
        let status = StatusFile::create(dir.path().join("status")).expect("a file");
        assert_eq!(status.read().expect("it can be read"), []);
        let put = |at: u64, number: i64| {
            status.file.write_all_at(&number.to_ne_bytes(), at * 8).expect("it can be written");
        };
        put(4, 77);
        put(5, 5_000);
        put(12, 78);
        put(13, REAL);
        let waits = status.read().expect("it can be read");
        let found: Vec<_> = waits.iter().map(|published| (published.thread, published.wait)).collect();
        assert_eq!(found, [(77, Wait::Until(5_000)), (78, Wait::Real)]);
        // Another wait of the same thread, until the same moment.
        put(6, 1);
        put(15, ASLEEP);
        let later = status.read().expect("it can be read");
        assert!(!later[0].is_still(&waits[0]) && later[1].is_still(&waits[1]));
        assert_eq!([waits[1].sleeps, later[1].sleeps], [false, true]);
        put(15, WOKEN);
        assert!(status.read().expect("it can be read")[1].sleeps, "until it has noticed that");
        put(0, 1);
        assert!(status.read().is_err());
    }
}
