//! What can go wrong in the lab, each with why and with the command that mends it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::clock::ClockError;
use crate::process::exit::Exit;
use crate::process::limit::Limit;
use crate::process::wall_clock::WallClock;

/// An error of the lab. Its message says what happened, why, and what mends it.
#[derive(Debug, Error)]
pub enum LabError {
    /// A program that the lesson needs is not on this machine.
    #[error(
        "{program} was not found. Install it: `lockstep doctor --install`. \
         If it is somewhere unusual, set {variable} to its path"
    )]
    MissingProgram {
        /// The program, in the words of its packagers.
        program: &'static str,
        /// The environment variable that names it.
        variable: &'static str,
    },
    /// A program was found, and it cannot be used as it is.
    #[error(
        "{program} {found} at {} is too old: Lockstep needs {needed} or newer. \
         Install a newer one and set {variable} to its path", path.display()
    )]
    TooOld {
        program: &'static str,
        /// Where it is.
        path: PathBuf,
        /// Its version.
        found: String,
        /// The oldest that will do.
        needed: String,
        /// The environment variable that names another one.
        variable: &'static str,
    },
    /// A server ended before it ever answered.
    #[error("{server} ended while it was starting ({how}). The end of its own log:\n{log}")]
    Boot {
        server: String,
        /// How it ended.
        how: Exit,
        /// The last lines of its log.
        log: String,
    },
    /// A server runs and does not answer.
    #[error(
        "{server} did not answer within {seconds} s of its start. If this machine is busy, try again; \
         `lockstep doctor` tries the server by itself. The end of its own log:\n{log}"
    )]
    Silent {
        server: String,
        /// How long it was given, in seconds of real time.
        seconds: u64,
        /// The last lines of its log.
        log: String,
    },
    /// Somebody outside of Lockstep has stopped a process of the lab.
    #[error(
        "no answer from {process} for {seconds} s: it is stopped (SIGSTOP), and not by the lesson. \
         `kill -CONT {pid}` lets it go on"
    )]
    Stopped {
        process: String,
        /// Its number.
        pid: u32,
        /// How long it has stood still, in seconds of real time.
        seconds: u64,
    },
    /// A server that was ready cannot be read.
    #[error("{server} could not be read: {why}. The end of its own log:\n{log}")]
    Unreadable {
        server: String,
        why: String,
        /// The last lines of its log.
        log: String,
    },
    /// A server has no counter of that name.
    #[error("{server} has no counter `{name}`. {hint}")]
    NoMetric {
        server: String,
        /// The counter asked for.
        name: String,
        /// Where the names can be looked up.
        hint: &'static str,
    },
    /// A process could not be started at all.
    #[error("{program} could not be started: {source}. `lockstep doctor` shows what Lockstep needs")]
    Spawn {
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A process could not be frozen, thawed or killed.
    #[error("{process} could not be sent {signal}: {why}")]
    Signal {
        process: String,
        /// The signal's name.
        signal: &'static str,
        why: String,
    },
    /// The private directory cannot be made or used.
    #[error(
        "Lockstep could not {action} in {}: {source}. \
         Set TMPDIR to a directory that you may write to", dir.display()
    )]
    Workspace {
        /// What was tried.
        action: &'static str,
        /// The directory.
        dir: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file system of the private directory is full.
    #[error(
        "{} has only {free_mib} MiB free and Lockstep's servers need {needed_mib} MiB. \
         Free some space, or set TMPDIR to a directory with more", dir.display()
    )]
    Full {
        /// The directory.
        dir: PathBuf,
        /// Free space there, in MiB.
        free_mib: u64,
        /// What is needed, in MiB.
        needed_mib: u64,
    },
    /// The private directory's name would leave no room for a socket's name.
    #[error(
        "the path {} is too long for Unix sockets, which allow {limit} bytes. \
         Set TMPDIR to a shorter path, such as /tmp", dir.display()
    )]
    LongPath {
        /// The directory.
        dir: PathBuf,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The umask takes rights from the owner of a file.
    #[error(
        "the umask takes from you rights on your own files (it contains {umask:03o}), so Lockstep's servers could not \
         use theirs. Start Lockstep after `umask 077`"
    )]
    Umask {
        /// The rights of the owner that it takes.
        umask: u32,
    },
    /// A limit of this user's is behind an error.
    #[error("{limit} ({what})")]
    Limit {
        /// What failed because of it.
        what: String,
        /// The same in Chinese.
        zh: String,
        limit: Limit,
    },
    /// A server runs and does not take its time from the lesson clock.
    #[error(
        "{server} does not run on the lesson clock: the library that was preloaded into it had no effect. \
         `--wall-clock` runs the lesson on the machine's clock"
    )]
    ClockIgnored { server: String },
    /// What is wanted needs a clock that can be stopped.
    #[error(
        "this needs servers whose clock stands still, and here it cannot: {0}. `lockstep doctor` tries it"
    )]
    NoLessonClock(WallClock),
    /// The program is about to end.
    #[error("Lockstep is ending, so nothing is started any more")]
    Ending,
    /// The lesson clock could not be made.
    #[error("the lesson clock could not be made: {0}. `--wall-clock` runs the lesson without it")]
    Clock(#[from] ClockError),
    /// A server's name that this lab does not have.
    #[error("there is no server `{name}` in this lab; it has {known}")]
    NoSuchServer {
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A link could not be laid.
    #[error("the link {link} could not be laid: {source}")]
    Link {
        link: String,
        /// Why.
        source: io::Error,
    },
    /// There is no package manager that Lockstep knows.
    #[error(
        "neither apt-get nor brew is on this machine, so Lockstep cannot install anything. \
         Install by hand: {missing}. Then run `lockstep doctor` again"
    )]
    NoPackageManager {
        /// What is missing, with the versions needed.
        missing: String,
    },
    /// The package manager failed.
    #[error("`{command}` failed ({how}). Its own messages are above; once they are mended, run it again")]
    Install {
        command: String,
        /// How it ended.
        how: String,
    },
}

impl LabError {
    /// That somebody outside of Lockstep has stopped a process, for so long.
    pub(crate) fn stopped(process: String, pid: u32, silent: Duration) -> Self {
        Self::Stopped { process, pid, seconds: silent.as_secs() }
    }

    /// Whether a server is missing, too old, or fails: the command line's exit code 3. Everything else is
    /// about this machine or about the caller.
    pub fn is_server(&self) -> bool {
        matches!(
            self,
            Self::MissingProgram { .. }
                | Self::TooOld { .. }
                | Self::Boot { .. }
                | Self::Silent { .. }
                | Self::Stopped { .. }
                | Self::Unreadable { .. }
                | Self::Spawn { .. }
                | Self::Limit { .. }
                | Self::ClockIgnored { .. }
                | Self::NoLessonClock(_)
        )
    }
}
