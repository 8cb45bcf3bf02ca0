//! Clears away what a killed Lockstep left: its directory, and a process of its that still runs. It must not
//! touch anything of a Lockstep that lives, nor of another user.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::workspace::{LOCK, PIDS, prefix};

/// A directory without a lock file is either being made at this moment or was left behind half made; after
/// this long it is the latter.
const HALF_MADE: Duration = Duration::from_secs(60);

/// What a sweep found and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Directories of killed Lockstep processes.
    pub directories: usize,
    /// Processes of theirs that still ran.
    pub processes: usize,
}

/// Removes the directories of killed Lockstep processes of this user, after killing what still runs of
/// theirs. What cannot be read or removed is left for the next sweep: tidying up must not keep anybody
/// from a lesson.
#[allow(
    clippy::must_use_candidate,
    reason = "what was swept is news for nobody but tests"
)]
pub fn sweep(root: &Path) -> Swept {
    let mut swept = Swept::default();
    let Ok(entries) = fs::read_dir(root) else {
        return swept;
    };
    let prefix = prefix();
    for entry in entries.flatten() {
        if !entry.file_name().as_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        // Not through a link, and only what is ours: anybody may put names into /tmp.
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
            continue;
        }
        let dir = entry.path();
        // Held until the directory is gone, so that two sweeps do not meet in it.
        let Some(_claim) = abandoned(&dir, &metadata) else {
            continue;
        };
        swept.processes += kill_recorded(&dir.join(PIDS));
        if fs::remove_dir_all(&dir).is_ok() {
            swept.directories += 1;
        }
    }
    swept
}

/// What entitles a sweep to a directory.
enum Claim {
    /// Its lock, which nobody held.
    Lock { _held: File },
    /// It has no lock, and is too old to be about to get one.
    HalfMade,
}

/// Whether the directory's Lockstep is gone.
fn abandoned(dir: &Path, metadata: &fs::Metadata) -> Option<Claim> {
    match File::open(dir.join(LOCK)) {
        Ok(lock) => match lock.try_lock() {
            Ok(()) => Some(Claim::Lock { _held: lock }),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let age = metadata.modified().ok()?.elapsed().ok()?;
            (age > HALF_MADE).then_some(Claim::HalfMade)
        }
        Err(_) => None,
    }
}

/// Kills the processes of a list whose number still belongs to the process that was written down.
fn kill_recorded(list: &Path) -> usize {
    let Ok(text) = fs::read_to_string(list) else {
        return 0;
    };
    let mut killed = 0;
    for (pid, started) in text.lines().filter_map(parse_record) {
        if start_time(pid).as_deref() == Some(started) && kill_process(pid, Signal::KILL).is_ok() {
            killed += 1;
        }
    }
    killed
}

fn parse_record(line: &str) -> Option<(Pid, &str)> {
    let (pid, started) = line.split_once('\t')?;
    // A number below 1 would address groups, or everybody.
    let pid = pid.parse().ok().filter(|pid| *pid > 1).and_then(Pid::from_raw)?;
    Some((pid, started))
}

/// When a process started, in the system's own words: with its number, it names the process for good.
/// `None` once it is gone.
pub(crate) fn start_time(pid: Pid) -> Option<String> {
    let pid = pid.as_raw_nonzero();
    if cfg!(target_os = "linux") {
        return parse_start_time(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
    }
    let listing = Command::new("ps")
        .args(["-o", "lstart=", "-p", &pid.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&listing.stdout).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Field 22 of `/proc/PID/stat`. Field 2 is the program's name in parentheses, which may itself hold spaces
/// and parentheses; so counting starts after the last one.
fn parse_start_time(stat: &str) -> Option<String> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(22 - 3).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lab::Workspace;

    #[test]
    fn a_start_time_is_found_behind_any_program_name() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1 1";
        assert_eq!(parse_start_time(stat).as_deref(), Some("987654"));
        assert_eq!(parse_start_time("nonsense"), None);
    }

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
        // The second number has been given to another process since: its start time differs.
        let started = start_time(pid(left_running.id())).unwrap();
        let list = format!("{}\t{started}\n{}\t1\n", left_running.id(), innocent.id());
        fs::write(dead.join(PIDS), list).unwrap();
        let half_made = root.path().join(format!("{}fresh1", prefix()));
        fs::create_dir(&half_made).unwrap();
        let foreign = root.path().join("lockstep-somebody");
        fs::create_dir(&foreign).unwrap();

        assert_eq!(
            sweep(root.path()),
            Swept {
                directories: 1,
                processes: 1
            }
        );
        assert!(
            left_running.wait().unwrap().code().is_none(),
            "killed by a signal"
        );
        assert!(innocent.try_wait().unwrap().is_none(), "still runs");
        innocent.kill().unwrap();
        innocent.wait().unwrap();
        assert!(living.path().exists() && half_made.exists() && foreign.exists() && !dead.exists());
    }

    proptest! {
        #[test]
        fn no_record_addresses_everybody(line in "\\PC*") {
            if let Some((pid, _)) = parse_record(&line) {
                prop_assert!(pid.as_raw_nonzero().get() > 1);
            }
        }
    }
}
