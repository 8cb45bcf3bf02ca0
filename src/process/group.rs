//! What the system reports on processes and their groups: a server and its forks (a Redis that saves in the
//! background) are one group.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process_group};

/// The pause between two checks of processes that are ending. Real time.
pub(crate) const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// A process that runs, which a zombie does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Running {
    pub pid: Pid,
    /// The id of its group: the pid of the group's first process, which may have ended.
    pub group: Pid,
    /// When it started, in the system's own unit: together with the pid, this identifies the process for
    /// good.
    pub started: u64,
}

/// All processes of the system that run, or `None` if the system has no list.
pub(crate) fn running() -> Option<Vec<Running>> {
    let entries = fs::read_dir("/proc").ok()?;
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    Some(numbers.filter_map(find_process).collect())
}

/// One process, or `None` if it does not run.
pub(crate) fn find_process(pid: Pid) -> Option<Running> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    read_stat(pid, &stat)
}

/// Parses `/proc/PID/stat`: the state is field 3, the group 5, the start 22. Field 2 is the program's name in
/// parentheses, which may itself contain spaces and parentheses; so fields are counted after the last one.
fn read_stat(pid: Pid, stat: &str) -> Option<Running> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_whitespace().take(22 - 2).collect();
    if matches!(*fields.first()?, "Z" | "X" | "x") {
        return None;
    }
    Some(Running {
        pid,
        group: fields.get(5 - 3)?.parse().ok().and_then(Pid::from_raw)?,
        started: fields.get(22 - 3)?.parse().ok()?,
    })
}

impl Running {
    /// Whether the process works in this directory, or was started on a lesson clock in it. `directory` must
    /// contain no symbolic links.
    pub fn belongs_to(&self, directory: &Path) -> bool {
        let pid = self.pid.as_raw_nonzero();
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(directory))
            || self.is_on_clock_in(directory)
    }

    /// Whether the process was started on a lesson clock in this directory, be it by a process of the lab.
    pub fn is_on_clock_in(&self, directory: &Path) -> bool {
        fs::read(format!("/proc/{}/environ", self.pid.as_raw_nonzero())).is_ok_and(|environment| {
            let clock = environment
                .split(|byte| *byte == 0)
                .find_map(|variable| variable.strip_prefix(b"LESSON_CLOCK="));
            let clock = clock.and_then(|path| std::str::from_utf8(path).ok());
            clock.is_some_and(|path| Path::new(path).starts_with(directory))
        })
    }
}

/// Waits until no process of a killed group runs, for `within` at most: a killed process may still finish
/// what the kernel is doing for it, such as creating a file.
pub(crate) fn wait_for_exit(group: Pid, within: Duration) {
    let deadline = Instant::now() + within;
    // Asking the kernel is cheap, and mostly enough. It counts zombies, though, which may never be reaped.
    while test_kill_process_group(group).is_ok() && Instant::now() < deadline {
        match running() {
            Some(all) if !all.iter().any(|process| process.group == group) => return,
            _ => sleep(BETWEEN_LOOKS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_behind_any_name_and_a_zombie_does_not_run() {
        let pid = Pid::from_raw(42).expect("a pid");
        let stat = |state: &str| {
            format!("42 (a) b (c) {state} 1 41 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1 1")
        };
        let expected = Running { pid, group: Pid::from_raw(41).expect("a pid"), started: 987_654 };
        assert_eq!(read_stat(pid, &stat("S")), Some(expected));
        assert_eq!(read_stat(pid, &stat("Z")), None);
        assert_eq!(read_stat(pid, "nonsense"), None);
    }

    #[test]
    fn this_very_process_runs() {
        let own = rustix::process::getpid();
        if let Some(all) = running() {
            assert!(all.iter().any(|process| process.pid == own));
        }
    }
}
