//! A client's process as the lab sees it: something that can be talked to through pipes, frozen and killed.

use std::path::Path;
use std::sync::Arc;

use tokio::process::{ChildStdin, ChildStdout};

use crate::clock::LessonClock;
use crate::process::Exit;
use crate::process::child::{Fate, Process};
use crate::process::error::LabError;
use crate::process::spawner;
use crate::process::workspace::Workspace;

/// The hidden subcommand that makes this program a client.
pub const CLIENT: &str = "__client";

/// A client's process. Dropping it kills the process, even a frozen one.
#[derive(Debug)]
pub struct ClientProcess {
    process: Process,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
}

impl ClientProcess {
    /// Starts `BINARY __client NAME` under the guard and on the lesson clock.
    pub(crate) fn start(
        name: &str,
        binary: &Path,
        clock: &LessonClock,
        workspace: &Workspace,
    ) -> Result<Self, LabError> {
        let mut command = spawner::guarded(binary, binary);
        command.arg(CLIENT).arg(name).envs(clock.env(None));
        let (process, pipes) = Process::start(&format!("client {name}"), command, workspace, true)?;
        let failed = |source| LabError::Spawn { program: format!("client {name}"), source };
        Ok(Self {
            process,
            stdin: pipes.stdin.map(ChildStdin::from_std).transpose().map_err(failed)?,
            stdout: pipes.stdout.map(ChildStdout::from_std).transpose().map_err(failed)?,
        })
    }

    /// The pipe into its standard input; once.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// The pipe out of its standard output; once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What is known of it, for whoever watches it from elsewhere.
    pub(crate) fn fate(&self) -> &Arc<Fate> {
        self.process.fate()
    }

    /// The file that its standard error goes to.
    pub fn log_path(&self) -> &Path {
        self.process.log_path()
    }

    /// Kills it with SIGKILL: a crash. Nothing happens if it has ended.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn kill(&self) -> Result<(), LabError> {
        self.process.kill()
    }

    /// Stops it with SIGSTOP and returns once it stands still.
    ///
    /// # Errors
    /// Where it has ended or the kernel refuses.
    pub fn freeze(&self) -> Result<(), LabError> {
        self.process.freeze()
    }

    /// Lets it go on after [`ClientProcess::freeze`].
    ///
    /// # Errors
    /// Where it has ended or the kernel refuses.
    pub fn thaw(&self) -> Result<(), LabError> {
        self.process.thaw()
    }

    /// Resolves when it has ended, at once if it already has.
    pub async fn exited(&self) -> Exit {
        self.process.exited().await
    }
}
