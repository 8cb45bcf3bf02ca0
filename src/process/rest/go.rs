//! The waits of programs that Go has built. They wait by system calls of their own, which the preloaded library does not
//! see: the kernel reports how long each of their threads polls. Whenever a poll ends they read the clock, and poll for
//! what is left.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Read as _,
    path::PathBuf,
};

use self::go_note::has_note_of_go;
use super::{read_at_once, wake};
use crate::clock::status::Wait;

#[path = "../../../preload/go_note.rs"]
mod go_note;

// System calls of `x86_64`, the only processor on which Go's programs read lesson time.
const POLLS: [&str; 2] = ["232", "281"];
const NANOSLEEP: &str = "35";
const FUTEX: &str = "202";
const MILLISECOND: i64 = 1_000_000;

/// How far lesson time may have moved on, in nanoseconds, since a poll began whose end is computed from now.
const SLACK: i64 = 2 * MILLISECOND;

/// The polls of a program's threads that end by themselves.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// By process, of which one thread at a time polls for timers.
    polls: BTreeMap<u32, Poll>,
    /// The lesson-monotonic moment of the last examination.
    examined: Option<i64>,
    /// Whether each process is written in Go, with the program that it ran when that was found out.
    processes: BTreeMap<u32, (PathBuf, bool)>,
}

#[derive(Debug, Clone, Copy)]
struct Poll {
    thread: u32,
    /// How often the thread has run before; 0 if it polls again and again.
    runs: u64,
    /// The lesson-monotonic moment at which it ends; unknown if lesson time may have moved on since it began.
    ends: Option<i64>,
    /// Whether the thread was woken, and so begins another poll.
    woken: bool,
}

impl Timers {
    /// Whether a thread means nothing by running, as it does so again and again.
    pub(super) fn is_ticker(&self, process: u32, thread: u32) -> bool {
        self.processes.get(&process).is_some_and(|(_, go)| *go)
            && read_at_once(&format!("/proc/{process}/task/{thread}/syscall"))
                .is_ok_and(|call| is_ticker(&call))
    }

    /// The waits of the threads of those processes that are written in Go. All threads sleep, and have run as often as
    /// `runs` says. A thread is woken if its wait is over, or if it is not known when it ends: it then polls anew.
    pub(super) fn waits(
        &mut self,
        processes: &BTreeSet<u32>,
        runs: &BTreeMap<u32, u64>,
        now: i64,
    ) -> Vec<(u32, Wait)> {
        self.processes.retain(|process, _| processes.contains(process));
        for process in processes {
            let Ok(program) = fs::read_link(format!("/proc/{process}/exe")) else { continue };
            if self.processes.get(process).is_none_or(|(known, _)| *known != program) {
                self.processes.insert(*process, (program, is_written_in_go(*process)));
            }
        }
        let still = self.examined.is_some_and(|before| now - before <= SLACK);
        self.examined = Some(now);
        let mut waits = Vec::new();
        for (process, _) in self.processes.iter().filter(|(_, (_, go))| *go) {
            let before = self.polls.remove(process);
            let Some((thread, length)) = timed_poll(*process) else { continue };
            let Some(runs) = runs.get(&thread).copied() else { continue };
            let ends = ends(before, thread, runs, now, length, still);
            let woken = ends.is_none_or(|ends| ends <= now);
            if woken {
                wake(thread);
            }
            let poll = Poll { thread, runs, ends, woken };
            waits.push((thread, poll.ends.map_or(Wait::Real, Wait::Until)));
            self.polls.insert(*process, poll);
        }
        waits
    }
}

/// When a poll ends that lasts `length` and is seen now. `still`: lesson time has stood still since the last examination,
/// which saw the poll `before`.
fn ends(before: Option<Poll>, thread: u32, runs: u64, now: i64, length: i64, still: bool) -> Option<i64> {
    if let Some(same) = before.filter(|before| (before.thread, before.runs) == (thread, runs))
        && (runs > 0 || same.ends.is_some_and(|ends| ends > now))
    {
        return same.ends;
    }
    if !still && before.is_none_or(|before| !before.woken) {
        return None;
    }
    // Go rounds down to whole milliseconds. Before its timer has expired it would only poll again.
    Some(now.saturating_add(length + MILLISECOND))
}

/// Whether a thread of a Go program sleeps for so short a time, again and again, that it means nothing how often it has
/// run: its scheduler's monitor, and whoever polls for a timer that expires within a millisecond of lesson time.
fn is_ticker(call: &str) -> bool {
    let mut words = call.split_ascii_whitespace();
    match words.next() {
        Some(NANOSLEEP) => true,
        // The fourth argument is the longest time that it waits.
        Some(FUTEX) => words.nth(3).is_some_and(|longest| longest != "0x0"),
        _ => poll(call) == Some(MILLISECOND),
    }
}

/// The thread of a process that polls for a limited time, and the length of its poll in nanoseconds.
fn timed_poll(process: u32) -> Option<(u32, i64)> {
    fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten().find_map(|thread| {
        let thread: u32 = thread.file_name().to_str()?.parse().ok()?;
        let call = read_at_once(&format!("/proc/{process}/task/{thread}/syscall")).ok()?;
        Some((thread, poll(&call)?))
    })
}

/// Parses `/proc/PID/task/TID/syscall`: the length in nanoseconds of a poll that ends by itself.
fn poll(call: &str) -> Option<i64> {
    let mut words = call.split_ascii_whitespace();
    if !POLLS.contains(&words.next()?) {
        return None;
    }
    // The kernel takes the lower half of the register, a signed number of milliseconds: -1 waits for ever.
    let timeout = u64::from_str_radix(words.nth(3)?.strip_prefix("0x")?, 16).ok()?;
    let [.., a, b, c, d] = timeout.to_be_bytes();
    let millis = i64::from(i32::from_be_bytes([a, b, c, d]));
    (millis > 0).then_some(millis * MILLISECOND)
}

/// Whether the waits of a process are known: it is no program of Go, or the kernel tells what its threads poll for, which
/// needs the right to trace it.
pub(super) fn is_followed(process: u32) -> bool {
    !is_written_in_go(process) || fs::read_to_string(format!("/proc/{process}/syscall")).is_ok()
}

/// Whether a process runs a program that Go has built. Such a program has a note of Go's with its build id; notes stand
/// near the beginning of the file.
fn is_written_in_go(process: u32) -> bool {
    let mut beginning = Vec::new();
    let file = File::open(format!("/proc/{process}/exe"));
    file.and_then(|file| file.take(NOTES_WITHIN).read_to_end(&mut beginning)).is_ok()
        && has_note_of_go(&beginning)
}

const NOTES_WITHIN: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_ends_when_it_would_have_ended_however_often_it_is_begun_anew() {
        const MS: i64 = MILLISECOND;
        let seen = |before: Option<Poll>, runs, now, length, still| {
            let ends = ends(before, 7, runs, now, length * MS, still);
            Poll { thread: 7, runs, ends, woken: ends.is_none_or(|ends| ends <= now) }
        };
        let unknown = seen(None, 1, 0, 500, false);
        assert_eq!(unknown.ends, None, "nobody knows when it began");
        let known = seen(Some(unknown), 2, 30, 500, false);
        assert_eq!(known.ends, Some(501 * MS + 30), "it was begun on demand");
        assert_eq!(seen(Some(known), 2, 300 * MS, 500, false).ends, known.ends, "the same poll, later");
        assert_eq!(seen(Some(known), 3, 300 * MS, 499, false).ends, None, "begun before a jump or after it");
        assert_eq!(seen(Some(known), 3, 502 * MS, 499, false).ends, None, "it may have begun before");
        let over = seen(Some(known), 2, 502 * MS, 500, false);
        assert_eq!(over.ends, known.ends);
        assert_eq!(seen(Some(over), 3, 502 * MS, 250, false).ends, Some(753 * MS), "the next wait");
        let short = seen(Some(known), 0, 499 * MS, 1, true);
        assert_eq!(short.ends, Some(501 * MS));
        assert_eq!(seen(Some(short), 0, 500 * MS, 1, false).ends, short.ends, "again and again");
        assert_eq!(seen(Some(short), 0, 501 * MS, 1, false).ends, None, "perhaps for another timer");
    }

    #[test]
    fn threads_that_run_again_and_again_are_known() {
        let rest = "0x0 0x0 0x7ffe 0x4673e0";
        for call in ["202 0x79d058 0x80 0x0 0xc00", "35 0x7ffe 0x0 0x0 0x0", "281 0x4 0xc00 0x80 0x1"] {
            assert!(is_ticker(&format!("{call} {rest}")), "{call}");
        }
        for call in ["202 0x79d058 0x80 0x0 0x0", "281 0x4 0xc00 0x80 0x2", "0 0x1 0x2 0x3 0x4"] {
            assert!(!is_ticker(&format!("{call} {rest}")), "{call}");
        }
    }

    #[test]
    fn the_length_of_a_poll_is_read() {
        let call = |number: &str, timeout: &str| {
            poll(&format!("{number} 0x4 0xc00005d7a0 0x80 {timeout} 0x0 0x0 0xc00005d740 0x4673e0"))
        };
        assert_eq!(call("281", "0x1f4"), Some(500 * MILLISECOND));
        assert_eq!(call("281", "0xffffffff"), None, "it waits for ever");
        assert_eq!(call("281", "0xffffffffffffffff"), None);
        assert_eq!(call("202", "0x1f4"), None, "that is another call");
        assert_eq!(poll("running\n"), None);
    }

    #[test]
    fn a_program_of_go_is_known_by_its_note() {
        let note = |name: &[u8; 4], kind: u32| {
            let numbers = [4, 83, kind].map(u32::to_ne_bytes).concat();
            [b"\x7fELF", numbers.as_slice(), name, b"an id"].concat()
        };
        assert!(has_note_of_go(&note(b"Go\0\0", 4)));
        assert!(!has_note_of_go(&note(b"GNU\0", 4)) && !has_note_of_go(&note(b"Go\0\0", 3)));
        assert!(!is_written_in_go(std::process::id()), "this very program is not");
    }
}
