//! Whether a program is at rest: all threads of all its processes sleep, and none of them continues before
//! lesson time passes or it is sent something. Nothing is guessed from silence: the kernel reports which
//! threads sleep and how often each has run, and the preloaded library reports until when they wait. There is
//! a delay only after processes have begun or ended: see [`SETTLED_AFTER`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

mod go;

use self::go::Timers;
use crate::clock::status::{Published, StatusFile, Wait};
use crate::process::group::{Running, find_process, running};

/// The threads of a process group, to be examined repeatedly.
#[derive(Debug)]
pub(crate) struct Threads {
    group: Pid,
    status: StatusFile,
    processes: BTreeSet<u32>,
    /// Processes that had ended at the last examination and had not been reaped.
    ended: BTreeSet<u32>,
    /// The id that the system had assigned last when its processes were last looked through.
    newest: Option<u32>,
    /// When a process of the group was last seen to begin or end, in real time.
    changed: Option<Instant>,
    statuses: StatusFiles,
    /// Whether each process waits in lesson time, with the program that it ran when that was found out.
    on_clock: BTreeMap<u32, (PathBuf, bool)>,
    timers: Timers,
}

/// How long a group is not at rest after one of its processes has begun or ended: a wrapper in shell script
/// starts dozens of them in a row, and on a busy machine a parent is woken only some milliseconds after its
/// child has ended.
const SETTLED_AFTER: Duration = Duration::from_millis(20);

/// Whether a process group is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// A thread runs, or will continue by itself.
    No,
    /// No thread continues before this moment of the lesson-monotonic clock; with `None`, none does at all.
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
            statuses: StatusFiles::default(),
            on_clock: BTreeMap::new(),
            timers: Timers::default(),
        })
    }

    /// Examines the threads. `now` is the lesson-monotonic time. `quiet` returns whether nothing is in
    /// transit to or from the group; it is called while all threads sleep.
    pub(crate) fn look(&mut self, now: i64, quiet: impl FnOnce() -> bool) -> Rest {
        self.wake_due(now);
        let Some(before) = self.run_counts_if_asleep() else { return Rest::No };
        if self.changed.is_some_and(|changed| changed.elapsed() < SETTLED_AFTER) {
            return Rest::No;
        }
        // Read deadlines only now: a sleeping thread has already published the deadline it waits for.
        let Ok(waits) = self.status.read() else { return Rest::No };
        // On a busy machine the kernel delivers loopback packets a moment later: until then they are in no
        // socket.
        let packets = read_at_once("/proc/net/softnet_stat").unwrap_or_default();
        if has_packets(&packets) || !quiet() {
            return Rest::No;
        }
        if self.finds_new_processes() || !self.have_slept(&before, &waits) {
            // A thread that ran meanwhile may have been forking: the new process had its pid already, but was
            // not visible yet.
            self.newest = None;
            return Rest::No;
        }
        let own = waits
            .into_iter()
            .filter(|Published { thread, .. }| before.contains_key(thread) && !is_housekeeping(*thread));
        let own = own.map(|published| published.wait);
        let of_go = self.timers.waits(&self.processes, &before, now);
        let mut first = None;
        for wait in own.chain(of_go.into_iter().map(|(_, wait)| wait)) {
            match wait {
                Wait::Real => return Rest::No,
                // The deadline has passed, so the thread is about to wake up.
                Wait::Until(at) if at <= now => return Rest::No,
                Wait::Until(at) => first = Some(first.unwrap_or(at).min(at)),
            }
        }
        Rest::Until(first)
    }

    /// Wakes the threads that sleep although their time has come. One that was about to sleep when it was woken is woken
    /// again at the next examination.
    fn wake_due(&self, now: i64) {
        let waits = self.status.read().unwrap_or_default();
        let is_due = |published: &Published| {
            published.sleeps && matches!(published.wait, Wait::Until(at) if at <= now)
        };
        for Published { thread, .. } in waits.into_iter().filter(is_due) {
            // The thread may have ended long ago, and its number may be another's.
            if self
                .processes
                .iter()
                .any(|process| fs::exists(format!("/proc/{process}/task/{thread}")).unwrap_or(false))
            {
                wake(thread);
            }
        }
    }

    /// Whether there was a moment since the first look at which all threads slept: each of them sleeps, and has not run
    /// since, or only to look at the clock during the same wait. After a jump such looks come in quick succession.
    fn have_slept(&mut self, before: &BTreeMap<u32, u64>, waits: &[Published]) -> bool {
        let Some(now) = self.run_counts_if_asleep() else { return false };
        // Read after that: whatever has woken a thread runs, or has ended the thread's wait.
        let Ok(later) = self.status.read() else { return false };
        let waits_still = |thread: u32| {
            let mut own = waits.iter().filter(|published| published.thread == thread);
            own.any(|published| later.iter().any(|later| later.is_still(published)))
        };
        now.len() == before.len()
            && now
                .iter()
                .all(|(thread, count)| before.get(thread).is_some_and(|b| b == count || waits_still(*thread)))
    }

    /// The process of the group that has this id; threads have ids, too.
    fn new_of_group(&self, id: u32) -> Option<Running> {
        let process = find_process(i32::try_from(id).ok().and_then(Pid::from_raw)?)?;
        let leads = || {
            let status = read_at_once(&format!("/proc/{id}/status")).ok()?;
            status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse::<u32>().ok()
        };
        (process.group == self.group && leads() == Some(id)).then_some(process)
    }

    /// Whether a process of the group runs as this user.
    pub(crate) fn run_as(&self, user: u32) -> bool {
        let is = |process: &u32| {
            fs::metadata(format!("/proc/{process}")).is_ok_and(|process| process.uid() == user)
        };
        self.processes.iter().any(is)
    }

    /// Whether all processes of the group wait in lesson time: they have mapped this page of the clock.
    pub(crate) fn use_clock(&mut self, page: &Path) -> bool {
        self.on_clock.retain(|process, _| self.processes.contains(process));
        for process in &self.processes {
            // A process that has ended meanwhile runs no program.
            let Ok(program) = fs::read_link(format!("/proc/{process}/exe")) else { continue };
            if self.on_clock.get(process).is_none_or(|(known, _)| *known != program) {
                let keeps = maps(*process, page) && go::is_followed(*process);
                self.on_clock.insert(*process, (program, keeps));
            }
        }
        self.on_clock.values().all(|(_, keeps)| *keeps)
    }

    /// How often each thread has run, if all of them sleep. Two equal results mean that none has run in
    /// between, so there was a moment at which all slept.
    ///
    /// Also `None` if the group's first process has ended: whatever waits for it is about to be notified. And
    /// if another process has ended since the last call: the kernel wakes its parent a moment later.
    fn run_counts_if_asleep(&mut self) -> Option<BTreeMap<u32, u64>> {
        let mut run_counts = BTreeMap::new();
        let mut ended = BTreeSet::new();
        let mut lives = false;
        // A user's groups may take kilobytes of it.
        let mut buffer = [0; 16 * 1024];
        let known = self.processes.len();
        self.processes.retain(|process| fs::exists(format!("/proc/{process}/task")).unwrap_or(false));
        if self.processes.len() < known {
            self.changed = Some(Instant::now());
        }
        for process in &self.processes {
            let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return None };
            for thread in threads.flatten() {
                let thread: u32 = thread.file_name().to_str()?.parse().ok()?;
                let status = self.statuses.read((*process, thread), &mut buffer)?;
                match read_status(status)? {
                    ('S', switched) => {
                        lives |= *process == self.group.as_raw_nonzero().get().unsigned_abs();
                        let ticks = is_ticker(status) || self.timers.is_ticker(*process, thread);
                        run_counts.insert(thread, if ticks { 0 } else { switched });
                    }
                    ('Z' | 'X', _) => drop(ended.insert(thread)),
                    _ => return None,
                }
            }
        }
        self.statuses.0.retain(|(_, thread), _| run_counts.contains_key(thread));
        let known = ended.is_subset(&self.ended);
        self.ended = ended;
        if !known {
            self.changed = Some(Instant::now());
        }
        (lives && known).then_some(run_counts)
    }

    /// Whether the group has processes that were not known. Listing all processes of the system is slow, and a machine
    /// that builds something creates processes all the time; so only those are looked at whose ids were assigned since the
    /// last time.
    fn finds_new_processes(&mut self) -> bool {
        let newest = newest_process();
        if newest.is_some() && newest == self.newest {
            return false;
        }
        let since = self.newest.zip(newest).map(|(before, newest)| before.saturating_add(1)..=newest);
        self.newest = newest;
        // Ids begin again from small ones when they are used up.
        let new = match since.filter(|since| !since.is_empty() && since.clone().count() <= MOST_NEW) {
            Some(since) => since.filter_map(|id| self.new_of_group(id)).collect(),
            None => running().unwrap_or_default(),
        };
        let own = new.iter().filter(|process| process.group == self.group);
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

/// Interrupts a thread, with the signal that the preloaded library wakes up from. Where nobody handles it, nothing happens;
/// Go's scheduler interrupts threads with it all the time.
fn wake(thread: u32) {
    if let Some(thread) = i32::try_from(thread).ok().and_then(Pid::from_raw) {
        // The kernel prefers the thread that is named. It may have ended.
        let _ = kill_process(thread, Signal::URG);
    }
}

/// Reads a file of `/proc` with as few system calls as possible: these files say that they are empty, and would be read in
/// small pieces, of which a JVM's threads have hundreds.
fn read_at_once(path: &str) -> io::Result<String> {
    let mut text = String::with_capacity(4096);
    File::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Open files `/proc/PID/task/TID/status`, by these two ids. Opening one takes longer than reading it, and a JVM has dozens.
#[derive(Debug, Default)]
struct StatusFiles(BTreeMap<(u32, u32), File>);

impl StatusFiles {
    /// The most files that are kept open.
    const MOST: usize = 256;

    /// Reads the status of a thread. `None` if it has ended: its file cannot be read then, even if its id is another's.
    fn read<'a>(&mut self, ids: (u32, u32), buffer: &'a mut [u8]) -> Option<&'a str> {
        let length = match self.0.get(&ids) {
            Some(file) => file.read_at(buffer, 0),
            None => File::open(format!("/proc/{}/task/{}/status", ids.0, ids.1)).and_then(|file| {
                let length = file.read_at(buffer, 0);
                if self.0.len() < Self::MOST {
                    self.0.insert(ids, file);
                }
                length
            }),
        };
        if length.is_err() {
            self.0.remove(&ids);
        }
        str::from_utf8(&buffer[..length.ok()?]).ok()
    }
}

fn maps(process: u32, page: &Path) -> bool {
    let page = page.canonicalize().unwrap_or_else(|_| page.to_owned());
    let page = page.as_os_str().as_encoded_bytes();
    let maps = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
    maps.is_empty() || maps.windows(page.len()).any(|part| part == page)
}

/// The id that was assigned last, to a process or a thread: the last field of `/proc/loadavg`.
fn newest_process() -> Option<u32> {
    let load = read_at_once("/proc/loadavg").ok()?;
    load.split_whitespace().nth(4)?.parse().ok()
}

/// The most new ids that are looked at one by one.
const MOST_NEW: usize = 500;

/// Parses `/proc/PID/task/TID/status`: the state, and the number of context switches.
fn read_status(status: &str) -> Option<(char, u64)> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let number = |name| field(name)?.parse::<u64>().ok();
    let state = field("State:")?.chars().next()?;
    Some((state, number("voluntary_ctxt_switches:")? + number("nonvoluntary_ctxt_switches:")?))
}

/// Threads of the JVM that wake up many times a second to check something, and that run as long as another thread
/// waits for them. How often they have run means nothing: after a change of the clock one of them has run between any
/// two examinations.
const TICKERS: [&str; 8] = [
    "VM Periodic Tas",
    "Monitor Deflati",
    "VM Thread",
    "C1 CompilerThre",
    "C2 CompilerThre",
    "Sweeper thread",
    "Common-Cleaner",
    "G1 Service",
];

/// Whether `/proc/PID/task/TID/status` belongs to such a thread: its first line is the name.
fn is_ticker(status: &str) -> bool {
    let name = status.lines().next().and_then(|line| line.strip_prefix("Name:\t"));
    name.is_some_and(|name| TICKERS.contains(&name))
}

/// Threads of the JVM that wake up several times a second, whatever its program does: periodic tasks,
/// compilers and collectors. The kernel keeps 15 characters of a name.
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

/// Whether the waits of a thread are none of its program's.
fn is_housekeeping(thread: u32) -> bool {
    read_at_once(&format!("/proc/{thread}/comm")).is_ok_and(|name| is_housekeeping_name(&name))
}

fn is_housekeeping_name(name: &str) -> bool {
    HOUSEKEEPING.iter().any(|known| name.starts_with(known))
}

/// Parses `/proc/net/softnet_stat`: whether a processor has packets that it has not delivered, by the twelfth
/// number of its line, which older kernels do not have.
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
    fn a_newly_ended_process_delays_rest() {
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
