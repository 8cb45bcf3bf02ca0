//! The errors of a lab. Each message says why it happened, and which command helps.

use std::{io, path::PathBuf};

use thiserror::Error;

use crate::{
    clock::ClockError,
    process::{exit::Exit, limits::ResourceLimit, wall_clock::WallClock},
    text::Text,
};

#[derive(Debug, Error)]
pub enum LabError {
    #[error(
        "{program} was not found. Install it: `lockstep doctor --install`. \
         If it is somewhere unusual, set {variable} to its path"
    )]
    MissingProgram {
        /// The program, by the name that its packagers use.
        program: &'static str,
        variable: &'static str,
    },
    #[error(
        "{program} {found} at {} is too old: Lockstep needs {needed} or newer. \
         Install a newer one and set {variable} to its path", path.display()
    )]
    TooOld { program: &'static str, path: PathBuf, found: String, needed: String, variable: &'static str },
    #[error("{server} ended while it was starting ({how}). The end of its own log:\n{log}")]
    Boot { server: String, how: Exit, log: String },
    #[error(
        "{server} did not answer within {seconds} s of its start. If this machine is busy, try again; \
         `lockstep doctor` tries the server by itself. The end of its own log:\n{log}"
    )]
    Silent {
        server: String,
        /// How long the server was given, in seconds of real time.
        seconds: u64,
        log: String,
    },
    /// A process of the lab was stopped from outside of Lockstep.
    #[error(
        "no answer from {process} for {seconds} s: it is stopped (SIGSTOP), and not by the lesson. \
         `kill -CONT {pid}` lets it go on"
    )]
    Stopped {
        process: String,
        pid: u32,
        /// How long the process has been stopped, in seconds of real time.
        seconds: u64,
    },
    #[error("{server} could not be read: {why}. The end of its own log:\n{log}")]
    Unreadable { server: String, why: String, log: String },
    #[error("{server} has no counter `{name}`. {hint}")]
    NoMetric { server: String, name: String, hint: &'static str },
    #[error("{program} could not be started: {source}. `lockstep doctor` shows what Lockstep needs")]
    Spawn { program: String, source: io::Error },
    #[error("{process} could not be sent {signal}: {why}")]
    Signal { process: String, signal: &'static str, why: String },
    #[error(
        "Lockstep could not {action} in {}: {source}. \
         Set TMPDIR to a directory that you may write to", dir.display()
    )]
    Workspace { action: &'static str, dir: PathBuf, source: io::Error },
    #[error(
        "{} has only {free_mib} MiB free and Lockstep's servers need {needed_mib} MiB. \
         Free some space, or set TMPDIR to a directory with more", dir.display()
    )]
    Full { dir: PathBuf, free_mib: u64, needed_mib: u64 },
    /// The path of the private directory leaves no room for the name of a socket.
    #[error(
        "the path {} is too long for Unix sockets, which allow {limit} bytes. \
         Set TMPDIR to a shorter path, such as /tmp", dir.display()
    )]
    LongPath { dir: PathBuf, limit: usize },
    /// The umask takes permissions from the owner of a file.
    #[error(
        "the umask takes from you rights on your own files (it contains {umask:03o}), so Lockstep's servers could not \
         use theirs. Start Lockstep after `umask 077`"
    )]
    Umask {
        /// The owner's permissions that it takes.
        umask: u32,
    },
    /// An error whose cause is a resource limit of this user.
    #[error("{limit} ({})", what.en)]
    Limit { what: Text, limit: ResourceLimit },
    #[error(
        "{server} does not run on the lesson clock: the library that was preloaded into it had no effect. \
         `--wall-clock` runs the lesson on the machine's clock"
    )]
    ClockIgnored { server: String },
    #[error(
        "this needs servers whose clock stands still, and here it cannot: {0}. `lockstep doctor` tries it"
    )]
    NoLessonClock(WallClock),
    #[error("Lockstep is ending, so nothing is started any more")]
    Ending,
    #[error("the lesson clock could not be made: {0}. `--wall-clock` runs the lesson without it")]
    Clock(#[from] ClockError),
    #[error("there is no server `{name}` in this lab; it has {known}")]
    NoSuchServer { name: String, known: String },
    #[error("the link {link} could not be laid: {source}")]
    Link { link: String, source: io::Error },
    #[error(
        "neither apt-get nor brew is on this machine, so Lockstep cannot install anything. \
         Install by hand: {missing}. Then run `lockstep doctor` again"
    )]
    NoPackageManager { missing: String },
    #[error("there is no home directory (HOME is not set), so Lockstep has no directory for libraries")]
    NoHome,
    #[error(
        "Lockstep cannot install {jar} here: it takes jars from Debian's packages, with apt-get and dpkg-deb. \
         Put it and the jars that it needs into {}", directory.display()
    )]
    NoJars { jar: String, directory: PathBuf },
    #[error("`{command}` failed ({how}). Its own messages are above; once they are mended, run it again")]
    Install { command: String, how: String },
}

impl LabError {
    /// Whether a server is missing, too old, or fails: the command line's exit code 3. Everything else
    /// concerns this machine or the caller.
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
