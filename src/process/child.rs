//! A running process of the lab: its end is noticed; it can be frozen, thawed and killed; and it ends when
//! its handle is dropped.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, setpriority_pgrp, waitid};
use tokio::sync::watch;

use crate::clock::LessonClock;
use crate::process::{error::LabError, exit::Exit, group, spawner, workspace::Workspace};

/// How long a dropped handle waits for the kernel to end a killed process. Real time. It takes milliseconds;
/// the bound is for a process that is stuck on a dead disk.
const REAPED_WITHIN: Duration = Duration::from_secs(5);

/// The niceness of background processes.
const BACKGROUND_PRIORITY: i32 = 10;

/// How long to wait for the killed forks of a process that has ended. Real time, and many times what it
/// takes.
const FORKS_GONE_WITHIN: Duration = Duration::from_secs(1);

/// A running process. Dropping it kills the process, even a frozen one, and its forks, and waits until they
/// have exited.
#[derive(Debug)]
pub struct Process {
    pub(crate) state: Arc<ProcessState>,
    /// The clock that the process was started on, until it has been seen to use it.
    clock: Mutex<Option<LessonClock>>,
}

/// The state of a process, shared with the thread that waits for it and with the watchers of the lab.
#[derive(Debug)]
pub(crate) struct ProcessState {
    /// The name in messages: `redis`, `client A`.
    pub name: String,
    pid: Pid,
    /// The file that its messages go to.
    pub log: PathBuf,
    /// Whether Lockstep ends the process on purpose, so that its end is no failure.
    end_expected: AtomicBool,
    /// Whether the lab has stopped the process.
    frozen: AtomicBool,
    /// `None` while the pid certainly belongs to this process: it lives, or it is a zombie that only the
    /// waiting thread may reap, which it does under this lock. So a signal that is sent under the lock can
    /// hit no other process.
    ended: Mutex<Option<Exit>>,
    reaped: Condvar,
    exit_sender: watch::Sender<Option<Exit>>,
}

impl ProcessState {
    fn lock(&self) -> MutexGuard<'_, Option<Exit>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// How the process ended, if Lockstep did not end it.
    pub(crate) fn ended_by_itself(&self) -> Option<Exit> {
        let ended = *self.lock();
        ended.filter(|_| !self.end_expected.load(Ordering::SeqCst))
    }

    /// Whether the process was stopped from outside of Lockstep (SIGSTOP) and has not been continued.
    pub(crate) fn is_stopped(&self) -> bool {
        let ended = self.lock();
        if ended.is_some() || self.frozen.load(Ordering::SeqCst) {
            return false;
        }
        // The kernel reports a stop as long as it lasts; NOWAIT leaves the report for the next call.
        let now = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(retry_on_intr(|| waitid(WaitId::Pid(self.pid), now)), Ok(Some(_)))
    }

    /// Kills the process without marking its end as expected: waiters see a crash.
    pub(crate) fn kill(&self) {
        // An error means that the process is gone already.
        let _ = self.signal(Signal::KILL);
    }

    /// Signals the process group, which is the process alone, or with the guard that supervises it. Returns
    /// how the process ended if it has, in which case nothing was sent.
    fn signal(&self, signal: Signal) -> Result<Option<Exit>, Errno> {
        let ended = self.lock();
        match *ended {
            Some(exit) => Ok(Some(exit)),
            None => kill_process_group(self.pid, signal).map(|()| None),
        }
    }
}

impl Process {
    /// Starts a command whose messages go to a log file in the workspace. If it `talks`, its standard input
    /// and output are pipes, and only its standard error goes to the log.
    pub(crate) fn start(
        name: &str,
        mut command: Command,
        workspace: &Workspace,
        talks: bool,
    ) -> Result<(Self, Option<(ChildStdin, ChildStdout)>), LabError> {
        let failed = |source| LabError::Spawn { program: name.to_owned(), source };
        let (log, file) = workspace.log_file(name)?;
        if talks {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        } else {
            command.stdin(Stdio::null()).stdout(file.try_clone().map_err(failed)?);
        }
        command.stderr(file);
        let mut child = spawner::spawn(command).map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let pid = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| failed(io::Error::other("its process number makes no sense")))?;
        let state = Arc::new(ProcessState {
            name: name.to_owned(),
            pid,
            log,
            end_expected: AtomicBool::new(false),
            frozen: AtomicBool::new(false),
            ended: Mutex::new(None),
            reaped: Condvar::new(),
            exit_sender: watch::Sender::new(None),
        });
        let waiter = Arc::clone(&state);
        thread::Builder::new()
            .name(format!("wait-{name}"))
            .spawn(move || wait(child, pid, &waiter))
            .map_err(|source| {
                // Without a waiting thread the process could not be reaped, so it is not kept.
                let _ = kill_process_group(pid, Signal::KILL);
                failed(source)
            })?;
        let process = Self { state, clock: Mutex::new(None) };
        workspace.record(pid)?;
        Ok((process, pipes))
    }

    /// Sets the clock that the process is expected to use.
    pub(crate) fn on_clock(self, clock: &LessonClock) -> Self {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock.clone());
        self
    }

    /// Whether the process uses the clock that it was started on: it has the clock's page in its memory, so
    /// its library has been loaded and has run. Not checked again once that has been seen. `None` if the process has
    /// ended, which is seen here before its end is reported.
    pub(crate) fn keeps_clock(&self) -> Option<bool> {
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(page) = clock.as_ref().and_then(LessonClock::page) else { return Some(true) };
        // The path as the kernel reports it.
        let page = page.canonicalize().unwrap_or_else(|_| page.clone());
        // A process that has ended has no memory; the file of a living one is never empty.
        let maps = fs::read(format!("/proc/{}/maps", self.pid())).ok().filter(|maps| !maps.is_empty())?;
        let page = page.as_os_str().as_encoded_bytes();
        let keeps = maps.windows(page.len()).any(|part| part == page);
        if keeps {
            *clock = None;
        }
        Some(keeps)
    }

    pub fn pid(&self) -> u32 {
        self.state.pid()
    }

    /// Resolves when the process has ended unexpectedly.
    pub(crate) async fn died(&self) -> Exit {
        let exit = self.exited().await;
        if self.state.end_expected.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        exit
    }

    /// How the process ended, or `None` while it runs or is frozen.
    pub fn ended(&self) -> Option<Exit> {
        *self.state.lock()
    }

    /// A receiver of the end of the process, for code that does not own it.
    pub(crate) fn exits(&self) -> watch::Receiver<Option<Exit>> {
        self.state.exit_sender.subscribe()
    }

    /// Resolves when the process has ended, at once if it already has.
    pub async fn exited(&self) -> Exit {
        let mut exits = self.state.exit_sender.subscribe();
        let exit = exits.wait_for(Option::is_some).await.ok().and_then(|exit| *exit);
        match exit {
            Some(exit) => exit,
            // The sender lives in `self.state`, so the channel cannot close while this future exists.
            None => std::future::pending().await,
        }
    }

    /// Kills the process with SIGKILL: no instruction of it runs any more. Does nothing if it has ended.
    pub fn kill(&self) -> Result<(), LabError> {
        // Set before the signal, or a waiter could take the death for a crash.
        self.state.end_expected.store(true, Ordering::SeqCst);
        let killed = self.state.signal(Signal::KILL).map(drop);
        killed.map_err(|error| self.refused("SIGKILL", &error))
    }

    /// Stops the process with SIGSTOP, as a garbage collector or a busy machine would, and returns once it is
    /// stopped: it executes no instruction after that until [`Process::thaw`].
    pub fn freeze(&self) -> Result<(), LabError> {
        let ended = self.state.lock();
        if let Some(exit) = *ended {
            return Err(self.refused("SIGSTOP", &format!("it has ended ({exit})")));
        }
        self.state.frozen.store(true, Ordering::SeqCst);
        let stopped = kill_process_group(self.state.pid, Signal::STOP);
        stopped.map_err(|error| self.refused("SIGSTOP", &error))?;
        // The kernel stops the process a moment after the signal. Its end counts too, or a crash would block
        // this call. The lock is kept: the process may die, but it cannot be reaped, so the pid stays its
        // own.
        let seen = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        // An error means that there is nothing to wait for any more.
        let _ = retry_on_intr(|| waitid(WaitId::Pid(self.state.pid), seen));
        Ok(())
    }

    /// Lets the process continue after [`Process::freeze`].
    pub fn thaw(&self) -> Result<(), LabError> {
        if let Some(exit) =
            self.state.signal(Signal::CONT).map_err(|error| self.refused("SIGCONT", &error))?
        {
            return Err(self.refused("SIGCONT", &format!("it has ended ({exit})")));
        }
        self.state.frozen.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Asks the process to end in an orderly way.
    pub(crate) fn terminate(&self) -> Result<(), LabError> {
        self.state.end_expected.store(true, Ordering::SeqCst);
        let asked = self.state.signal(Signal::TERM).map(drop);
        asked.map_err(|error| self.refused("SIGTERM", &error))
    }

    /// Kills the process and waits until it has exited.
    pub(crate) fn end(&self) {
        self.state.end_expected.store(true, Ordering::SeqCst);
        // SIGKILL ends a stopped process too. An error means that the process is gone already.
        let _ = self.state.signal(Signal::KILL);
        let ended = self.state.lock();
        let _ = self.state.reaped.wait_timeout_while(ended, REAPED_WITHIN, |ended| ended.is_none());
    }

    /// Lowers the scheduling priority of the process.
    pub(crate) fn in_background(&self) {
        // If this is refused, the process merely competes with others.
        let _ = setpriority_pgrp(Some(self.state.pid), BACKGROUND_PRIORITY);
    }

    fn refused(&self, signal: &'static str, why: &dyn std::fmt::Display) -> LabError {
        LabError::Signal { process: self.state.name.clone(), signal, why: why.to_string() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs in a thread of its own until the process and its forks have ended.
fn wait(mut child: Child, pid: Pid, state: &ProcessState) {
    // Wait without reaping first: until the process is reaped, its pid cannot be reused.
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let _ = retry_on_intr(|| waitid(WaitId::Pid(pid), ended));
    let mut slot = state.lock();
    // However it ended, its forks, such as a Redis that saves in the background, are of no use without it and
    // would keep writing into the workspace. An error means that there is nothing left to kill.
    let _ = kill_process_group(pid, Signal::KILL);
    let exit = child.wait().map_or(Exit::Code(-1), Exit::from);
    group::wait_for_exit(pid, FORKS_GONE_WITHIN);
    *slot = Some(exit);
    drop(slot);
    state.reaped.notify_all();
    state.exit_sender.send_replace(Some(exit));
}

/// The end of a file that may be very large.
fn end_of(log: &Path) -> io::Result<Vec<u8>> {
    const MOST_BYTES: u64 = 64 << 10;
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(MOST_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last lines of a log file, for messages. Says so if there are none.
pub(crate) fn log_tail(log: &Path) -> String {
    const LINES: usize = 12;
    let text = match end_of(log) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return format!("  (its log {} could not be read: {error})", log.display()),
    };
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return "  (it wrote nothing)".to_owned();
    }
    let tail = &lines[lines.len().saturating_sub(LINES)..];
    tail.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
