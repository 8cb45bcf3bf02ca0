//! The private directory of one lab: it has its sockets, logs, data and the clock's page, and is removed with
//! the lab.
//!
//! **Architecture Invariant:** Lockstep's servers live in a private temporary directory. A Lockstep that was
//! killed leaves its directory behind; the next one removes it, and ends every recorded process that still
//! runs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;
use tempfile::TempDir;

use crate::process::error::LabError;
use crate::process::live_directories;
use crate::process::sweep::{LOCK, PIDS, empty, end_strays, own_prefix, start_time, sweep};

/// The longest path of a Unix socket that every system accepts, in bytes: macOS allows 104 with the final
/// zero, Linux 108.
const SOCKET_PATH_LIMIT: usize = 103;

/// Room for the longest socket name of a lab, with the slash before it.
const SOCKET_NAME_ROOM: usize = 24;

/// The most that a lab writes in ordinary use, in MiB: logs, and ZooKeeper's transactions.
const NEEDED_MIB: u64 = 32;

/// A private directory, removed with everything in it when this is dropped.
#[derive(Debug)]
pub struct Workspace {
    pids: Mutex<File>,
    // After `pids`: fields are dropped in order, and the lock must outlive the directory.
    dir: TempDir,
    /// Held while this Lockstep lives; the kernel releases it however Lockstep ends.
    _lock: File,
    /// Last: it registers that the directory exists.
    _living: live_directories::Registration,
}

impl Workspace {
    /// Creates a private directory in `$TMPDIR`, or in `/tmp` if `$TMPDIR` is unset or too long for Unix
    /// sockets, after removing what killed Lockstep processes left there.
    pub fn create() -> Result<Self, LabError> {
        let root = root();
        sweep(&root);
        Self::create_in(&root)
    }

    /// As [`Workspace::create`], in this directory and without sweeping.
    pub fn create_in(root: &Path) -> Result<Self, LabError> {
        if !fits_sockets(root) {
            return Err(LabError::LongPath { dir: root.to_path_buf(), limit: SOCKET_PATH_LIMIT });
        }
        if let Some(free_mib) = free_mib(root).filter(|free| *free < NEEDED_MIB) {
            return Err(LabError::Full { dir: root.to_path_buf(), free_mib, needed_mib: NEEDED_MIB });
        }
        Self::claim(root)
    }

    /// Creates a private directory for something small, whatever the length of its path and the free space.
    pub(crate) fn claim(root: &Path) -> Result<Self, LabError> {
        let failed = |action| move |source| LabError::Workspace { action, dir: root.to_path_buf(), source };
        let prefix = own_prefix();
        loop {
            let make = || {
                tempfile::Builder::new()
                    .prefix(&prefix)
                    .permissions(fs::Permissions::from_mode(0o700))
                    .tempdir_in(root)
            };
            let entered = live_directories::register(make).map_err(failed("make its private directory"))?;
            let (dir, living) = entered.ok_or(LabError::Ending)?;
            // A umask takes permissions away; one that takes the owner's own makes every file here useless.
            let mode = fs::metadata(dir.path()).map_or(0, |made| made.permissions().mode());
            if mode & 0o700 != 0o700 {
                return Err(LabError::Umask { umask: 0o700 & !mode });
            }
            let path = dir.path().join(LOCK);
            // Another Lockstep's sweep may come in between: it then has the lock, or had it and has removed the file.
            // Such a directory is lost, and another one is created.
            let lock = match File::create(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                created => created.map_err(failed("write its lock file"))?,
            };
            let swept = lock.try_lock().is_err()
                || !fs::metadata(&path)
                    .is_ok_and(|now| lock.metadata().is_ok_and(|own| own.ino() == now.ino()));
            if swept {
                continue;
            }
            let pids = OpenOptions::new()
                .create(true)
                .append(true)
                .open(dir.path().join(PIDS))
                .map_err(failed("write its list of processes"))?;
            return Ok(Self { pids: Mutex::new(pids), dir, _lock: lock, _living: living });
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn make_dir(&self, name: &str) -> Result<PathBuf, LabError> {
        let dir = self.join(name);
        match fs::create_dir(&dir) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                Err(LabError::Workspace { action: "make a directory", dir, source })
            }
            _ => Ok(dir),
        }
    }

    pub(crate) fn write(&self, name: &str, contents: &str) -> Result<PathBuf, LabError> {
        let path = self.join(name);
        fs::write(&path, contents).map_err(|source| self.unwritable(source))?;
        Ok(path)
    }

    /// Opens the log file of a process for appending: a restarted server continues in the same file.
    pub(crate) fn log_file(&self, process: &str) -> Result<(PathBuf, File), LabError> {
        let path = self.join(&format!("{}.log", file_name(process)));
        let file = OpenOptions::new().create(true).append(true).open(&path);
        Ok((path, file.map_err(|source| self.unwritable(source))?))
    }

    /// Records a child, so that a later sweep can end it if this Lockstep and the guard both fail to.
    pub(crate) fn record(&self, pid: Pid) -> Result<(), LabError> {
        // A child that has ended already needs no sweeping.
        let Some(started) = start_time(pid) else { return Ok(()) };
        let line = format!("{}\t{started}\n", pid.as_raw_nonzero());
        let mut pids = self.pids.lock().unwrap_or_else(PoisonError::into_inner);
        pids.write_all(line.as_bytes()).map_err(|source| self.unwritable(source))
    }

    fn unwritable(&self, source: io::Error) -> LabError {
        LabError::Workspace { action: "write a file", dir: self.path().to_path_buf(), source }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        end_strays(self.path());
        empty(self.path());
    }
}

/// The directory in which private directories are created: `$TMPDIR` if sockets fit into it, otherwise
/// `/tmp`.
pub fn root() -> PathBuf {
    // A relative TMPDIR would change with the working directory of this process or of a server.
    let wanted = std::path::absolute(std::env::temp_dir()).unwrap_or_else(|_| PathBuf::from("/tmp"));
    if fits_sockets(&wanted) { wanted } else { PathBuf::from("/tmp") }
}

/// The free space for an ordinary user, in MiB, or `None` if the system does not report it.
pub(crate) fn free_mib(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize) >> 20)
}

fn fits_sockets(root: &Path) -> bool {
    // The random part has six characters.
    let dir = root.as_os_str().len() + 1 + own_prefix().len() + 6;
    dir + SOCKET_NAME_ROOM <= SOCKET_PATH_LIMIT
}

/// Turns a name into a file name: whatever a lesson calls its clients, the file stays inside the directory.
pub(crate) fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_workspace_is_private_and_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let workspace = Workspace::create_in(root.path()).unwrap();
        let mode = fs::metadata(workspace.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        workspace.log_file("A/../../B").unwrap();
        drop(workspace);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_named() {
        let missing = Path::new("/nonexistent/for/lockstep");
        let message = Workspace::create_in(missing).unwrap_err().to_string();
        assert!(message.contains("/nonexistent/for/lockstep") && message.contains("TMPDIR"), "{message}");
        let long = PathBuf::from(format!("/tmp/{}", "x".repeat(90)));
        assert!(matches!(Workspace::create_in(&long), Err(LabError::LongPath { .. })));
    }

    proptest! {
        #[test]
        fn a_file_name_stays_in_its_directory(name in "\\PC*") {
            prop_assert!(!file_name(&name).contains('/'));
        }
    }
}
