//! Removes what a killed Lockstep left behind: its directory, and those of its processes and their forks that
//! still run. It must not touch anything of a Lockstep that lives, nor of another user.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, geteuid, kill_process, test_kill_process};

use crate::process::group::{BETWEEN_LOOKS, Running, find_process, running};

pub(crate) const LOCK: &str = "lock";
pub(crate) const PIDS: &str = "pids";
/// How the names of the files begin in which programs of users publish what they wait for.
pub(crate) const WAITS: &str = "waits-";

/// A directory without a lock file is either being created at this moment or was left half made: the latter if the
/// process in its name is gone, and after this long in any case.
const HALF_MADE: Duration = Duration::from_mins(1);

/// How long killed processes may take to be gone. Real time; it takes milliseconds.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// The most bytes of a list of processes that are read: enough for tens of thousands.
const MOST_RECORDS: u64 = 1 << 20;

/// What a sweep found and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Directories of killed Lockstep processes.
    pub directories: usize,
    /// Their processes that still ran, forks included.
    pub processes: usize,
}

/// Removes the directories of killed Lockstep processes of this user, after killing their processes that
/// still run. What cannot be read or removed is left for the next sweep: cleaning up must not keep anybody
/// from a lesson.
#[allow(clippy::must_use_candidate, reason = "only tests use the result")]
pub fn sweep(root: &Path) -> Swept {
    let mut swept = Swept::default();
    let Ok(entries) = fs::read_dir(root) else { return swept };
    let prefix = prefix();
    for entry in entries.flatten() {
        if !entry.file_name().as_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        // Does not follow symbolic links, and skips what belongs to others: anybody may create names in /tmp.
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
            continue;
        }
        let dir = entry.path();
        // Held until the directory is gone, so that two sweeps do not work on it at once.
        let Some(_claim) = abandoned(&dir, &metadata) else { continue };
        swept.processes += end_recorded(&dir) + end_strays(&dir);
        empty(&dir);
        if fs::remove_dir_all(&dir).is_ok() {
            swept.directories += 1;
        }
    }
    swept
}

/// What entitles a sweep to remove a directory.
enum SweepRight {
    /// Its lock, which no process held.
    Lock { _held: File },
    /// The directory has no lock, and is not about to get one.
    HalfMade,
}

/// Returns the right to remove a directory if its Lockstep is gone.
fn abandoned(dir: &Path, metadata: &fs::Metadata) -> Option<SweepRight> {
    match open_file(&dir.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok().then_some(SweepRight::Lock { _held: lock }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let age = metadata.modified().ok()?.elapsed().ok()?;
            let is_left = age > HALF_MADE || maker(dir).is_some_and(|maker| !is_alive(maker));
            is_left.then_some(SweepRight::HalfMade)
        }
        Err(_) => None,
    }
}

/// The process that makes or made a directory.
fn maker(dir: &Path) -> Option<Pid> {
    let name = dir.file_name()?.to_str()?;
    let (pid, _) = name.strip_prefix(&prefix())?.split_once('-')?;
    Pid::from_raw(pid.parse().ok().filter(|pid| *pid > 0)?)
}

/// Whether there is a process with this id, be it another user's.
fn is_alive(pid: Pid) -> bool {
    test_kill_process(pid) != Err(Errno::SRCH)
}

/// Opens an ordinary file for reading and fails for anything else: opening a FIFO would wait for a writer,
/// and a device may do anything.
fn open_file(path: &Path) -> io::Result<File> {
    let careful = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let flags = i32::try_from(careful.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("it is no ordinary file"))
}

/// Kills the processes that are listed in a directory, and their forks. Returns how many, when none of them
/// runs any more.
pub(crate) fn end_recorded(dir: &Path) -> usize {
    let mut text = String::new();
    let list = open_file(&dir.join(PIDS)).and_then(|file| file.take(MOST_RECORDS).read_to_string(&mut text));
    if list.is_err() {
        return 0;
    }
    let records: Vec<_> = text.lines().filter_map(parse_record).collect();
    if records.is_empty() {
        return 0;
    }
    let mut killed = HashSet::new();
    let Some(mut all) = running() else {
        for (pid, started) in records {
            if start_time(pid).as_deref() == Some(started) && kill(pid) {
                killed.insert(pid);
            }
        }
        return killed.len();
    };
    // The path as the kernel reports working directories.
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let deadline = Instant::now() + GONE_WITHIN;
    loop {
        let ours: Vec<_> = all.iter().filter(|process| is_ours(process, &records, &dir)).collect();
        if ours.is_empty() || Instant::now() > deadline {
            return killed.len();
        }
        for process in ours {
            if kill(process.pid) {
                killed.insert(process.pid);
            }
        }
        sleep(BETWEEN_LOOKS);
        all = running().unwrap_or_default();
    }
}

/// Kills the processes that programs of users have started in groups of their own (Python's `start_new_session`). They are
/// recorded nowhere, but their environment names the clock in the directory. Returns how many, when none of them runs any
/// more.
pub(crate) fn end_strays(dir: &Path) -> usize {
    let is_status = |entry: &fs::DirEntry| entry.file_name().as_bytes().starts_with(WAITS.as_bytes());
    if !fs::read_dir(dir).is_ok_and(|entries| entries.flatten().any(|entry| is_status(&entry))) {
        return 0;
    }
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let deadline = Instant::now() + GONE_WITHIN;
    let mut killed = HashSet::new();
    loop {
        let all = running().unwrap_or_default();
        let strays: Vec<_> = all.iter().filter(|process| process.is_on_clock_in(&dir)).collect();
        if strays.is_empty() || Instant::now() > deadline {
            return killed.len();
        }
        killed.extend(strays.into_iter().map(|process| process.pid).filter(|pid| kill(*pid)));
        sleep(BETWEEN_LOOKS);
    }
}

/// Whether a process is a recorded one, or a fork of one. A pid alone proves nothing, because it may have
/// been reused: a recorded process must have the recorded start time; a fork, which is in its group, must
/// have started after that and work in the directory.
fn is_ours(process: &Running, records: &[(Pid, &str)], dir: &Path) -> bool {
    records.iter().any(|(pid, started)| {
        let started = started.parse::<u64>();
        if process.pid == *pid {
            return started == Ok(process.started);
        }
        process.group == *pid
            && started.is_ok_and(|started| process.started >= started)
            && process.belongs_to(dir)
    })
}

fn kill(pid: Pid) -> bool {
    kill_process(pid, Signal::KILL).is_ok()
}

fn parse_record(line: &str) -> Option<(Pid, &str)> {
    let (pid, started) = line.split_once('\t')?;
    // Numbers below 1 would address process groups or all processes, and 1 is init.
    let pid = pid.parse().ok().filter(|pid| *pid > 1).and_then(Pid::from_raw)?;
    Some((pid, started))
}

/// The start time of a process, in the system's own format: together with the pid, it identifies the process
/// for good. `None` once the process is gone.
pub(crate) fn start_time(pid: Pid) -> Option<String> {
    if cfg!(target_os = "linux") {
        return find_process(pid).map(|process| process.started.to_string());
    }
    let listing =
        Command::new("ps").args(["-o", "lstart=", "-p", &pid.as_raw_nonzero().to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&listing.stdout).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Removes everything in a private directory but its lock, which is removed last, together with the
/// directory: as long as there is anything else, a sweep can tell whether its Lockstep lives. What cannot be
/// removed is left for the next sweep.
pub(crate) fn empty(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let _ = match entry.file_type() {
            _ if entry.file_name() == LOCK => Ok(()),
            Ok(kind) if kind.is_dir() => fs::remove_dir_all(path),
            _ => fs::remove_file(path),
        };
    }
}

/// How the names of this user's directories begin.
fn prefix() -> String {
    format!("lockstep-{}-", geteuid().as_raw())
}

/// How the names of this process's directories begin.
pub(crate) fn own_prefix() -> String {
    format!("{}{}-", prefix(), std::process::id())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;

    use proptest::prelude::*;

    use super::*;
    use crate::process::workspace::Workspace;

    #[test]
    fn a_sweep_spares_the_living_and_ends_what_the_dead_left_running() {
        let root = tempfile::tempdir().unwrap();
        let living = Workspace::create_in(root.path()).unwrap();
        let mut left_running = Command::new("sleep").arg("1000").spawn().unwrap();
        let mut innocent = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = |id: u32| Pid::from_raw(i32::try_from(id).unwrap()).unwrap();

        let dead = root.path().join(format!("{}dead01", prefix()));
        fs::create_dir(&dead).unwrap();
        File::create(dead.join(LOCK)).unwrap();
        // The second pid has been reused by another process since: its start time differs.
        let started = start_time(pid(left_running.id())).unwrap();
        let list = format!("{}\t{started}\n{}\t1\n", left_running.id(), innocent.id());
        fs::write(dead.join(PIDS), list).unwrap();
        let half_made = root.path().join(format!("{}fresh1", own_prefix()));
        fs::create_dir(&half_made).unwrap();
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let left_half_made = root.path().join(format!("{}{}-fresh2", prefix(), ended.id()));
        fs::create_dir(&left_half_made).unwrap();
        let foreign = root.path().join("lockstep-somebody");
        fs::create_dir(&foreign).unwrap();

        assert_eq!(sweep(root.path()), Swept { directories: 2, processes: 1 });
        assert!(left_running.wait().unwrap().code().is_none(), "killed by a signal");
        assert!(innocent.try_wait().unwrap().is_none(), "still runs");
        innocent.kill().unwrap();
        innocent.wait().unwrap();
        assert!(living.path().exists() && half_made.exists() && foreign.exists());
        assert!(!dead.exists() && !left_half_made.exists());
    }

    #[test]
    fn a_process_that_left_its_group_is_known_by_its_clock() {
        let workspace = Workspace::create_in(tempfile::tempdir().unwrap().keep().as_path()).unwrap();
        let root = workspace.path().parent().unwrap().to_owned();
        let sleep = |clock: &Path| {
            let mut command = Command::new("sleep");
            command.arg("1000").env("LESSON_CLOCK", clock).process_group(0).spawn().unwrap()
        };
        let mut stray = sleep(&workspace.join("page"));
        let mut other = sleep(&root.join("other-lab/page"));
        assert_eq!(end_strays(workspace.path()), 0, "no program of a user has run");
        fs::write(workspace.join("waits-A"), "").unwrap();
        drop(workspace);
        assert!(stray.wait().unwrap().code().is_none(), "killed by a signal");
        assert!(other.try_wait().unwrap().is_none(), "of another lab");
        other.kill().unwrap();
        other.wait().unwrap();
        fs::remove_dir_all(root).unwrap();
    }

    proptest! {
        #[test]
        fn no_record_addresses_a_group(line in "\\PC*") {
            if let Some((pid, _)) = parse_record(&line) {
                prop_assert!(pid.as_raw_nonzero().get() > 1);
            }
        }
    }
}
