//! One running process of the lab: its end is noticed, it can be frozen, thawed and killed, and it is gone when its
//! handle is.

use std::fs;
use std::io;
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

/// How long a dropped handle waits for the kernel to finish a killed process. Real time. It takes
/// milliseconds; the bound is for a process stuck in a dead disk.
const REAPED_WITHIN: Duration = Duration::from_secs(5);

/// As `nice` has it.
const BACKGROUND_PRIORITY: i32 = 10;

/// How long the killed forks of a process that has ended are waited for. Real time, and many times what it takes.
const FORKS_GONE_WITHIN: Duration = Duration::from_secs(1);

/// A running process. Dropping it kills the process, even a frozen one, and its forks, and waits until they are gone.
#[derive(Debug)]
pub struct Process {
    pub(crate) state: Arc<ProcessState>,
    /// The clock that it was started on, until it has been seen to keep it.
    clock: Mutex<Option<LessonClock>>,
}

/// What is known of a process and its end, shared with the thread that waits for it and with whoever watches the lab.
#[derive(Debug)]
pub(crate) struct ProcessState {
    /// `redis`, `client A`.
    pub name: String,
    pid: Pid,
    /// The file that its messages go to.
    pub log: PathBuf,
    /// Whether Lockstep ends it on purpose, so that its end is no failure.
    end_expected: AtomicBool,
    /// Whether it stands still because the lab has stopped it.
    frozen: AtomicBool,
    /// `None` while the pid is certainly this process': it lives, or it is a zombie that only the waiting
    /// thread may reap, and it reaps under this lock. A signal sent under the lock can hit nobody else.
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

    /// How it ended, where nobody in Lockstep has wished it.
    pub(crate) fn ended_by_itself(&self) -> Option<Exit> {
        let ended = *self.lock();
        ended.filter(|_| !self.end_expected.load(Ordering::SeqCst))
    }

    /// Whether somebody outside of Lockstep has stopped it (SIGSTOP) and nobody has let it go on yet.
    pub(crate) fn is_stopped(&self) -> bool {
        let ended = self.lock();
        if ended.is_some() || self.frozen.load(Ordering::SeqCst) {
            return false;
        }
        // The kernel reports a stop as long as it lasts; NOWAIT leaves the report for the next look.
        let now = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(retry_on_intr(|| waitid(WaitId::Pid(self.pid), now)), Ok(Some(_)))
    }

    /// Kills it without marking its end as expected: waiters see a crash.
    pub(crate) fn kill(&self) {
        // A refusal means that it is gone already.
        let _ = self.signal(Signal::KILL);
    }

    /// Signals the process' group, which is the process alone, or with the guard that supervises it.
    /// Answers how it ended, in which case nothing was sent.
    fn signal(&self, signal: Signal) -> Result<Option<Exit>, Errno> {
        let ended = self.lock();
        match *ended {
            Some(exit) => Ok(Some(exit)),
            None => kill_process_group(self.pid, signal).map(|()| None),
        }
    }
}

impl Process {
    /// Starts a command whose messages go to a log file in the workspace. Where it `talks`, its standard input and
    /// output are pipes, and only its standard error goes to the log.
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
                // Without its waiter the process could not be reaped, and so not be kept.
                let _ = kill_process_group(pid, Signal::KILL);
                failed(source)
            })?;
        let process = Self { state, clock: Mutex::new(None) };
        workspace.record(pid)?;
        Ok((process, pipes))
    }

    /// The process, of which it is to be seen that it keeps this clock.
    pub(crate) fn on_clock(self, clock: &LessonClock) -> Self {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock.clone());
        self
    }

    /// Whether it takes its time from the clock that it was started on: it has the clock's page in its memory, so its
    /// library has been loaded and has run. Looked at until it has been seen once.
    pub(crate) fn keeps_clock(&self) -> bool {
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(page) = clock.as_ref().and_then(LessonClock::page) else { return true };
        // As the kernel names it.
        let page = page.canonicalize().unwrap_or_else(|_| page.clone());
        let maps = fs::read(format!("/proc/{}/maps", self.pid())).unwrap_or_default();
        let page = page.as_os_str().as_encoded_bytes();
        let keeps = maps.windows(page.len()).any(|part| part == page);
        if keeps {
            *clock = None;
        }
        keeps
    }

    pub fn pid(&self) -> u32 {
        self.state.pid()
    }

    /// Resolves when it has ended without anybody's wish.
    pub(crate) async fn died(&self) -> Exit {
        let exit = self.exited().await;
        if self.state.end_expected.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        exit
    }

    /// How it ended, `None` while it runs or is frozen.
    pub fn ended(&self) -> Option<Exit> {
        *self.state.lock()
    }

    /// How it ended, for whoever does not own it.
    pub(crate) fn exits(&self) -> watch::Receiver<Option<Exit>> {
        self.state.exit_sender.subscribe()
    }

    /// Resolves when it has ended, at once if it already has.
    pub async fn exited(&self) -> Exit {
        let mut exits = self.state.exit_sender.subscribe();
        let exit = exits.wait_for(Option::is_some).await.ok().and_then(|exit| *exit);
        match exit {
            Some(exit) => exit,
            // The sender lives in `self.state`, so the channel cannot close while this future exists.
            None => std::future::pending().await,
        }
    }

    /// Kills it with SIGKILL: nothing in it runs any more. Nothing happens if it has ended.
    pub fn kill(&self) -> Result<(), LabError> {
        // Before the signal, or whoever waits for its death could see one that looks natural.
        self.state.end_expected.store(true, Ordering::SeqCst);
        let killed = self.state.signal(Signal::KILL).map(drop);
        killed.map_err(|error| self.refused("SIGKILL", &error))
    }

    /// Stops it with SIGSTOP, as a garbage collector or a busy machine would, and returns once it stands
    /// still: no instruction of its runs after that until [`Process::thaw`].
    pub fn freeze(&self) -> Result<(), LabError> {
        let ended = self.state.lock();
        if let Some(exit) = *ended {
            return Err(self.refused("SIGSTOP", &format!("it has ended ({exit})")));
        }
        self.state.frozen.store(true, Ordering::SeqCst);
        let stopped = kill_process_group(self.state.pid, Signal::STOP);
        stopped.map_err(|error| self.refused("SIGSTOP", &error))?;
        // The kernel stops it a moment after the signal. Its end counts too, or a crash would hang us here.
        // The lock is kept: it may die, but it cannot be reaped, so the number stays its own.
        let seen = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        // An error means that there is nothing to wait for any more.
        let _ = retry_on_intr(|| waitid(WaitId::Pid(self.state.pid), seen));
        Ok(())
    }

    /// Lets it go on after [`Process::freeze`].
    pub fn thaw(&self) -> Result<(), LabError> {
        if let Some(exit) =
            self.state.signal(Signal::CONT).map_err(|error| self.refused("SIGCONT", &error))?
        {
            return Err(self.refused("SIGCONT", &format!("it has ended ({exit})")));
        }
        self.state.frozen.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Asks it to end in good order.
    pub(crate) fn terminate(&self) -> Result<(), LabError> {
        self.state.end_expected.store(true, Ordering::SeqCst);
        let asked = self.state.signal(Signal::TERM).map(drop);
        asked.map_err(|error| self.refused("SIGTERM", &error))
    }

    /// Kills it and waits until it is gone.
    pub(crate) fn end(&self) {
        self.state.end_expected.store(true, Ordering::SeqCst);
        // SIGKILL ends a stopped process too. A refusal means that it is gone already.
        let _ = self.state.signal(Signal::KILL);
        let ended = self.state.lock();
        let _ = self.state.reaped.wait_timeout_while(ended, REAPED_WITHIN, |ended| ended.is_none());
    }

    /// Lowers its scheduling priority.
    pub(crate) fn in_background(&self) {
        // If refused, it merely competes with other processes.
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

/// Runs in a thread of its own until the process has ended, and its forks with it.
fn wait(mut child: Child, pid: Pid, state: &ProcessState) {
    // Wait without reaping first: as long as nobody has reaped it, its number cannot be given away.
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let _ = retry_on_intr(|| waitid(WaitId::Pid(pid), ended));
    let mut slot = state.lock();
    // However it ended: what it forked, such as a Redis that saves in the background, is no use without it and would
    // write on into the workspace. A refusal means that there is nothing left to kill.
    let _ = kill_process_group(pid, Signal::KILL);
    let exit = child.wait().map_or(Exit::Code(-1), Exit::from);
    group::until_gone(pid, FORKS_GONE_WITHIN);
    *slot = Some(exit);
    drop(slot);
    state.reaped.notify_all();
    state.exit_sender.send_replace(Some(exit));
}

/// The last lines of a log file, for messages. Says so where there are none.
pub(crate) fn log_tail(log: &Path) -> String {
    const LINES: usize = 12;
    let text = match fs::read(log) {
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
