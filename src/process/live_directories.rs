//! The private directories that this process has now, and so its labs: before it ends, the program waits
//! until the last of them is gone.
//!
//! **Architecture Invariant:** an orderly end leaves neither processes nor directories, wherever in the
//! program a lab is at that moment: in a task, in a thread that searches, or half started.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::process::sweep::{end_recorded, end_strays};

/// How long labs may take to shut down before their servers are killed. Real time.
const BY_THEMSELVES: Duration = Duration::from_millis(500);

/// How long they may take after their servers were killed. Real time.
const WITHOUT_SERVERS: Duration = Duration::from_secs(2);

/// The same, when the program has no time to wait. Real time.
const AT_ONCE: Duration = Duration::from_millis(100);

static DIRECTORIES: Mutex<LiveDirectories> =
    Mutex::new(LiveDirectories { ending: false, directories: Vec::new() });
static GONE: Condvar = Condvar::new();

struct LiveDirectories {
    /// Whether the program is ending, so that no lab may begin.
    ending: bool,
    directories: Vec<PathBuf>,
}

/// Registers that a directory exists, until this is dropped.
#[derive(Debug)]
pub(crate) struct Registration(PathBuf);

/// Creates and registers a directory. Returns `None` while the program is ending.
pub(crate) fn register<D: AsRef<Path>, E>(
    make: impl FnOnce() -> Result<D, E>,
) -> Result<Option<(D, Registration)>, E> {
    let mut living = lock();
    if living.ending {
        return Ok(None);
    }
    let directory = make()?;
    let path = directory.as_ref().to_path_buf();
    living.directories.push(path.clone());
    Ok(Some((directory, Registration(path))))
}

impl Drop for Registration {
    fn drop(&mut self) {
        lock().directories.retain(|path| *path != self.0);
        GONE.notify_all();
    }
}

/// Waits until every lab of this process is gone, and ends by force those that do not end in time. Runs
/// `last` while no lab can begin. For the end of the program.
pub fn end_all(last: impl FnOnce()) {
    lock().ending = true;
    if !all_removed_within(BY_THEMSELVES) {
        // Code that waits for a server then notices its end.
        end_by_force(WITHOUT_SERVERS);
    }
    last();
    lock().ending = false;
}

/// Ends every lab of this process by force, at once. For a program that is being ended by something that does
/// not wait.
pub fn end_now() {
    lock().ending = true;
    end_by_force(AT_ONCE);
}

/// Kills the processes of every lab, and removes the directories that are not gone in time.
fn end_by_force(patience: Duration) {
    let directories = || lock().directories.clone();
    for directory in directories() {
        end_recorded(&directory);
        end_strays(&directory);
    }
    if !all_removed_within(patience) {
        for directory in directories() {
            // A directory that cannot be removed is left for the next sweep.
            let _ = fs::remove_dir_all(directory);
        }
    }
}

fn all_removed_within(patience: Duration) -> bool {
    let waited = GONE.wait_timeout_while(lock(), patience, |living| !living.directories.is_empty());
    let (living, _) = waited.unwrap_or_else(PoisonError::into_inner);
    living.directories.is_empty()
}

fn lock() -> MutexGuard<'static, LiveDirectories> {
    DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner)
}
