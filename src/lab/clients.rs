//! The processes of clients: Lockstep's own, and programs of users and lessons.

use std::env;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use tokio::process::{ChildStdin, ChildStdout};

use super::{CLIENT, Lab, LabError, Process, limits};
use crate::clock::{SLEEPS_VARIABLE, STATUS_VARIABLE, Slot, status::StatusFile};
use crate::lesson::{
    library::carried_programs,
    plan::{Exec, Origin},
};
use crate::log::Product;
use crate::process::{rest::Threads, spawner, sweep::WAITS, workspace::file_name};

/// Keeps V8 from cleaning a small heap about 8 s after work: its timer looks like one of the program's own. Older versions
/// do not know the flag and would complain.
const QUIET_NODE: &str = "if (parseInt(process.versions.node) >= 20) {\n  \
    require('v8').setFlagsFromString('--no-memory-reducer-for-small-heaps');\n}\n";

/// A running program of a user or a lesson.
pub(crate) struct StartedProgram {
    pub(crate) process: Process,
    /// Its standard output.
    pub(crate) output: OwnedFd,
    /// The published waits of its threads.
    pub(crate) threads: Threads,
    /// The slot for a skew of its calendar clock; `None` on the wall clock.
    pub(crate) slot: Option<Slot>,
}

impl Lab {
    /// Starts a client's process on the lesson clock.
    pub fn spawn_client(&mut self, name: &str) -> Result<(Process, ChildStdin, ChildStdout), LabError> {
        let started = self.start_client(name).map_err(limits::named)?;
        self.health.watch(&started.0.state);
        Ok(started)
    }

    fn start_client(&self, name: &str) -> Result<(Process, ChildStdin, ChildStdout), LabError> {
        let failed = |source| LabError::Spawn { program: format!("client {name}"), source };
        let mut command = spawner::guarded(&self.binary, &self.binary);
        command.arg(CLIENT).arg(name).envs(self.clock.env(None));
        let (process, pipes) = Process::start(&format!("client {name}"), command, &self.workspace, true)?;
        let (stdin, stdout) = pipes.ok_or_else(|| failed(io::Error::other("its pipes are missing")))?;
        let stdin = ChildStdin::from_std(stdin).map_err(failed)?;
        Ok((process, stdin, ChildStdout::from_std(stdout).map_err(failed)?))
    }

    /// Starts a user's program as a client, on the lesson clock: its environment names the client and the addresses of
    /// its servers.
    pub(crate) fn spawn_program(
        &mut self,
        name: &str,
        exec: &Exec,
        product: Product,
        servers: &[SocketAddr],
    ) -> Result<StartedProgram, LabError> {
        self.start_program(name, exec, product, servers).map_err(limits::named)
    }

    fn start_program(
        &self,
        name: &str,
        exec: &Exec,
        product: Product,
        servers: &[SocketAddr],
    ) -> Result<StartedProgram, LabError> {
        let words = exec.words.split_first();
        let (program, args) = words.map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
        let failed = |source| LabError::Spawn { program: program.to_owned(), source };
        let status = self.workspace.join(&format!("{WAITS}{}", file_name(name)));
        let status = StatusFile::create(status).map_err(failed)?;
        let mut command = spawner::guarded(&self.binary, program);
        let slot = self.clock.allocate_slot();
        command.args(args).envs(self.clock.env(slot.as_ref())).env(STATUS_VARIABLE, status.path());
        if self.kind.topology().jump {
            command.env(SLEEPS_VARIABLE, "1");
        }
        command.env("LOCKSTEP_CLIENT", name);
        command.envs(addresses(product, servers));
        match &exec.origin {
            Origin::User => {}
            Origin::Lesson(directory) => {
                // Python must not write files beside the lesson: they would not be among the allowed ones.
                command.current_dir(directory).env("PYTHONDONTWRITEBYTECODE", "1");
            }
            Origin::Carried => drop(command.current_dir(self.unpack_programs().map_err(failed)?)),
        }
        self.installed.offer(&exec.libraries, &mut command);
        command.env("NODE_OPTIONS", self.node_options(exec).map_err(failed)?);
        // Unbuffered, so that lines are read when they are printed.
        command.env("PYTHONUNBUFFERED", "1");
        let (process, pipes) = Process::start(&format!("client {name}"), command, &self.workspace, true)?;
        // Its standard input is closed here.
        let (_, output) = pipes.ok_or_else(|| failed(io::Error::other("its pipes are missing")))?;
        let threads = Threads::new(process.pid(), status);
        let threads = threads.ok_or_else(|| failed(io::Error::other("its process number makes no sense")))?;
        Ok(StartedProgram { process, output: output.into(), threads, slot })
    }

    /// Options for Node: the user's own, unless the lesson names its libraries, and ours.
    fn node_options(&self, exec: &Exec) -> io::Result<String> {
        let file = self.workspace.join("quiet-node.cjs");
        if !file.exists() {
            fs::write(&file, QUIET_NODE)?;
        }
        let own = env::var("NODE_OPTIONS").ok().filter(|_| exec.libraries.is_empty());
        Ok(format!("{} --require \"{}\"", own.unwrap_or_default(), file.display()).trim_start().to_owned())
    }

    /// The directory with the files of programs that carried lessons start.
    fn unpack_programs(&self) -> io::Result<PathBuf> {
        let directory = self.workspace.join("programs-of-lessons");
        for (name, content) in carried_programs() {
            let file = directory.join(name);
            if !file.exists() {
                file.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(file, content)?;
            }
        }
        Ok(directory)
    }
}

/// The environment variables with a program's server addresses. With several Redis servers the unnumbered variables
/// name the first.
fn addresses(product: Product, servers: &[SocketAddr]) -> Vec<(String, String)> {
    if product == Product::Zookeeper {
        let hosts: Vec<String> = servers.iter().map(ToString::to_string).collect();
        return vec![("ZOOKEEPER".to_owned(), hosts.join(","))];
    }
    let url = |server: &SocketAddr| format!("redis://{server}/0");
    let urls: Vec<String> = servers.iter().map(url).collect();
    let mut variables = vec![("REDIS_URLS".to_owned(), urls.join(","))];
    for (n, (server, url)) in servers.iter().zip(&urls).enumerate() {
        let first = (n == 0).then(String::new);
        for end in first.into_iter().chain([format!("_{}", n + 1)]) {
            variables.push((format!("REDIS_URL{end}"), url.clone()));
            variables.push((format!("REDIS_HOST{end}"), server.ip().to_string()));
            variables.push((format!("REDIS_PORT{end}"), server.port().to_string()));
        }
    }
    variables
}
