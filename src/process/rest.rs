//! Whether a program is at rest: all threads of all its processes sleep, and none of them goes on before lesson time passes
//! or somebody sends it something. Nothing is guessed from silence: the kernel says who sleeps and how often each has
//! run, the preloaded library says until when. Only where processes begin and end is it waited for a while: see
//! [`SETTLED_AFTER`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::clock::status::{StatusFile, Wait};
use crate::process::group::running;

/// The threads of a process group, to be looked at again and again.
#[derive(Debug)]
pub(crate) struct Threads {
    group: Pid,
    status: StatusFile,
    processes: BTreeSet<u32>,
    /// Those that had ended when they were last looked at, and that nobody has reaped.
    ended: BTreeSet<u32>,
    /// The system's newest process when all its processes were last looked for.
    newest: Option<String>,
    /// When one of its processes was last seen to begin or to end, in real time.
    changed: Option<Instant>,
}

/// How long a group is not at rest after one of its processes has begun or ended: a wrapper in shell script makes dozens
/// of them in a row, and on a busy machine a parent is woken only some milliseconds after its child has ended.
const SETTLED_AFTER: Duration = Duration::from_millis(20);

/// What a program does that nobody waits for any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Something in it runs, or goes on by itself.
    No,
    /// Nothing in it goes on before this moment of the lesson-monotonic clock, or at all.
    Until(Option<i64>),
}

impl Threads {
    pub(crate) fn new(group: u32, status: StatusFile) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(group).ok()?)?;
        Some(Self {
            group: pid,
            status,
            processes: [group].into(),
            ended: BTreeSet::new(),
            newest: None,
            changed: None,
        })
    }

    /// What they do now, `now` being the lesson-monotonic time. `quiet` says whether nothing is on its way to or from them;
    /// it is asked while all of them sleep.
    pub(crate) fn look(&mut self, now: i64, quiet: impl FnOnce() -> bool) -> Rest {
        let Some(before) = self.asleep() else { return Rest::No };
        if self.changed.is_some_and(|changed| changed.elapsed() < SETTLED_AFTER) {
            return Rest::No;
        }
        // Whoever was waiting between two naps has told what for: its thread sleeps.
        let Ok(waits) = self.status.read() else { return Rest::No };
        // On a busy machine the kernel brings loopback's packets on a moment later: until then no socket has them.
        let packets = fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
        if has_packets(&packets) || !quiet() {
            return Rest::No;
        }
        if self.finds_others() || self.asleep().as_ref() != Some(&before) {
            // Whoever ran meanwhile may have been making another process, which had its number already and was not to be
            // seen yet.
            self.newest = None;
            return Rest::No;
        }
        let own =
            waits.into_iter().filter(|(thread, _)| before.contains_key(thread) && !is_housekeeping(*thread));
        let mut first = None;
        for (_, wait) in own {
            match wait {
                Wait::Real => return Rest::No,
                // Its nap is not over yet.
                Wait::Until(at) if at <= now => return Rest::No,
                Wait::Until(at) => first = Some(first.unwrap_or(at).min(at)),
            }
        }
        Rest::Until(first)
    }

    /// Whether all its processes take their time from the clock with this page.
    pub(crate) fn keep(&self, page: &Path) -> bool {
        let page = page.canonicalize().unwrap_or_else(|_| page.to_owned());
        let page = page.as_os_str().as_encoded_bytes();
        let keeps = |process: &u32| {
            let maps = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
            // Of one that has ended meanwhile nothing is left to be seen.
            maps.is_empty() || maps.windows(page.len()).any(|part| part == page)
        };
        self.processes.iter().all(keeps)
    }

    /// How often each thread has run, where all of them sleep. Two equal answers mean that none has run in between, so
    /// there was a moment at which all slept.
    ///
    /// `None`, too, where the group's first process has ended: whoever waits for it is about to be told. And where another
    /// was not seen to have ended before: the kernel wakes its parent a moment later.
    fn asleep(&mut self) -> Option<BTreeMap<u32, u64>> {
        let mut turns = BTreeMap::new();
        let mut ended = BTreeSet::new();
        let mut lives = false;
        let known = self.processes.len();
        self.processes.retain(|process| fs::exists(format!("/proc/{process}/task")).unwrap_or(false));
        if self.processes.len() < known {
            self.changed = Some(Instant::now());
        }
        for process in &self.processes {
            let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return None };
            for thread in threads.flatten() {
                let thread: u32 = thread.file_name().to_str()?.parse().ok()?;
                let status = fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).ok()?;
                match read_status(&status)? {
                    ('S', switched) => {
                        lives |= *process == self.group.as_raw_nonzero().get().unsigned_abs();
                        turns.insert(thread, if is_ticker(&status) { 0 } else { switched });
                    }
                    ('Z' | 'X', _) => drop(ended.insert(thread)),
                    _ => return None,
                }
            }
        }
        let known = ended.is_subset(&self.ended);
        self.ended = ended;
        if !known {
            self.changed = Some(Instant::now());
        }
        (lives && known).then_some(turns)
    }

    /// Whether its group has other processes than was known. Looking at each process of the system takes long, and is
    /// needed only where one was made since the last time.
    fn finds_others(&mut self) -> bool {
        let newest = newest_process();
        if newest.is_some() && newest == self.newest {
            return false;
        }
        self.newest = newest;
        let all = running().unwrap_or_default();
        let own = all.iter().filter(|process| process.group == self.group);
        let own: BTreeSet<u32> =
            own.map(|process| process.pid.as_raw_nonzero().get().unsigned_abs()).collect();
        let others = !own.is_subset(&self.processes);
        self.processes.extend(own);
        if others {
            self.changed = Some(Instant::now());
        }
        others
    }
}

/// The number that was given out last, to a process or a thread: the last field of `/proc/loadavg`.
fn newest_process() -> Option<String> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    Some(load.split_whitespace().nth(4)?.to_owned())
}

/// `/proc/PID/task/TID/status`: the state, and how often the thread has given up its processor.
fn read_status(status: &str) -> Option<(char, u64)> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let number = |name| field(name)?.parse::<u64>().ok();
    let state = field("State:")?.chars().next()?;
    Some((state, number("voluntary_ctxt_switches:")? + number("nonvoluntary_ctxt_switches:")?))
}

/// Threads of the JVM's own that wake up many times a second to look at something, and that no other thread ever waits for. How
/// often they have run says nothing; on a busy machine one of them has run between any two looks.
const TICKERS: [&str; 2] = ["VM Periodic Tas", "Monitor Deflati"];

/// Whether `/proc/PID/task/TID/status` is that of such a thread: its first line is the name.
fn is_ticker(status: &str) -> bool {
    let name = status.lines().next().and_then(|line| line.strip_prefix("Name:\t"));
    name.is_some_and(|name| TICKERS.contains(&name))
}

/// Threads of the JVM's own that wake up several times a second, whatever its program does: its periodic tasks, its compilers and
/// its collectors. The kernel keeps 15 characters of a name.
const HOUSEKEEPING: [&str; 16] = [
    "VM Periodic Tas",
    "VM Thread",
    "C1 CompilerThre",
    "C2 CompilerThre",
    "Sweeper thread",
    "Monitor Deflati",
    "Service Thread",
    "Common-Cleaner",
    "G1 Service",
    "G1 Main Marker",
    "G1 Conc#",
    "G1 Refine#",
    "GC Thread#",
    "ZDirector",
    "ZStat",
    "Shenandoah Cont",
];

/// Whether what a thread waits for is nothing that its program waits for.
fn is_housekeeping(thread: u32) -> bool {
    fs::read_to_string(format!("/proc/{thread}/comm")).is_ok_and(|name| is_housekeeping_name(&name))
}

fn is_housekeeping_name(name: &str) -> bool {
    HOUSEKEEPING.iter().any(|known| name.starts_with(known))
}

/// `/proc/net/softnet_stat`: whether a processor has packets that it has not brought on, by the twelfth number of its line,
/// which older kernels do not have.
fn has_packets(lines: &str) -> bool {
    let waiting =
        |line: &str| line.split_whitespace().nth(11).is_some_and(|count| count.bytes().any(|b| b != b'0'));
    lines.lines().any(waiting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        os::unix::process::CommandExt as _,
        process::{Command, Stdio},
        time::{Duration, Instant},
    };

    #[test]
    fn the_state_and_the_switches_of_a_thread_are_read() {
        let status = "Name:\tS (x)\nState:\tS (sleeping)\nvoluntary_ctxt_switches:\t12\n\
                      nonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(read_status(status), Some(('S', 15)));
        assert_eq!(read_status("nonsense"), None);
        assert!(!is_ticker(status) && is_ticker(&status.replace("S (x)", "VM Periodic Tas")));
    }

    #[test]
    fn threads_of_a_jvm_are_known_by_their_names_as_the_kernel_keeps_them() {
        for own in ["VM Periodic Tas\n", "G1 Refine#0\n", "C2 CompilerThre\n"] {
            assert!(is_housekeeping_name(own), "{own}");
        }
        for of_program in ["worker\n", "pool-1-thread-1\n", "main-SendThread\n", "java\n", ""] {
            assert!(!is_housekeeping_name(of_program), "{of_program}");
        }
    }

    #[test]
    fn packets_that_wait_for_a_processor_are_seen() {
        let line = |waiting: &str| {
            let zeros = "00000000 ".repeat(10);
            format!("00182e19 {zeros}{waiting} 00000001 00000000 00000000\n")
        };
        assert!(!has_packets(&format!("{0}{0}", line("00000000"))));
        assert!(has_packets(&format!("{}{}", line("00000000"), line("00000002"))));
        assert!(!has_packets("00182e19 00000000 00000000\n"), "an older kernel");
    }

    #[test]
    fn a_process_that_has_just_ended_is_seen_so_twice() {
        let script = "exec 3<&0; cat <&3 & exec sleep 1000 3<&-";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut parent = command.spawn().expect("it starts");
        let dir = tempfile::tempdir().expect("a directory");
        let status = StatusFile::create(dir.path().join("status")).expect("a file");
        let mut threads = Threads::new(parent.id(), status).expect("a pid");
        let until = |what: &str, is: &mut dyn FnMut() -> bool| {
            let deadline = Instant::now() + Duration::from_mins(1);
            while !is() {
                assert!(Instant::now() < deadline, "never: {what}");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        until("both sleep", &mut || {
            threads.look(0, || true) == Rest::Until(None) && threads.processes.len() == 2
        });
        let child = threads.processes.iter().copied().find(|process| *process != parent.id()).expect("cat");
        drop(parent.stdin.take());
        let state = || fs::read_to_string(format!("/proc/{child}/status")).expect("nobody reaps it");
        until("it has ended", &mut || read_status(&state()).is_some_and(|(state, _)| state == 'Z'));
        assert_eq!(threads.look(0, || true), Rest::No, "its parent may be about to wake");
        until("that is known", &mut || threads.look(0, || true) == Rest::Until(None));
        parent.kill().expect("it is killed");
        parent.wait().expect("it ends");
    }

    #[test]
    fn this_very_process_is_not_at_rest() {
        let dir = tempfile::tempdir().expect("a directory");
        let status = StatusFile::create(dir.path().join("status")).expect("a file");
        let mut threads = Threads::new(std::process::id(), status).expect("a pid");
        assert_eq!(threads.look(0, || true), Rest::No);
    }
}
