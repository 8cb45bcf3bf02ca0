//! Starts every child of Lockstep, from one thread and through the guard.
//!
//! **Architecture Invariant:** only `process` starts, stops or signals processes, for the lab. The kernel's
//! parent-death signal fires when the *thread* that started a child ends, not the process; so all children
//! are started by one thread that lives as long as the program, never by a worker of the async runtime.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use crate::process::guard::GUARD;

type Job = Box<dyn FnOnce() + Send>;

static THREAD: Mutex<Option<mpsc::Sender<Job>>> = Mutex::new(None);

/// The path at which this program can be executed again.
///
/// On Linux that is `/proc/self/exe`, which names the running file even after a rebuild or an upgrade has
/// replaced it: an ordinary path would then lead to another version, or nowhere.
pub fn own_binary() -> io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && link.exists() {
        return Ok(link.to_path_buf());
    }
    std::env::current_exe()
}

/// A command that runs `program` under the guard of `binary`, in a process group of its own: Ctrl-C in the
/// terminal reaches only Lockstep, which then ends its servers in an orderly way.
pub(crate) fn guarded(binary: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(binary);
    command.arg0("lockstep");
    command.arg(GUARD).arg(std::process::id().to_string()).arg("--").arg(program);
    command.process_group(0);
    command
}

/// Starts a command from the thread that lives as long as the program.
pub(crate) fn spawn(mut command: Command) -> io::Result<Child> {
    let (reply, result) = mpsc::sync_channel(1);
    let job: Job = Box::new(move || {
        // Sending fails only if the requesting thread died, and then the child is not needed either.
        if let Err(mpsc::SendError(Ok(mut orphan))) = reply.send(command.spawn()) {
            let _ = orphan.kill();
            let _ = orphan.wait();
        }
    });
    sender()?.send(job).map_err(|_| ended())?;
    result.recv().map_err(|_| ended())?
}

fn sender() -> io::Result<mpsc::Sender<Job>> {
    let mut slot = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*slot {
        return Ok(sender.clone());
    }
    let (sender, jobs) = mpsc::channel::<Job>();
    thread::Builder::new().name("lab-spawner".into()).spawn(move || {
        // The sender lives in a static, so this loop never ends.
        for job in jobs {
            job();
        }
    })?;
    *slot = Some(sender.clone());
    Ok(sender)
}

fn ended() -> io::Error {
    io::Error::other("the thread that starts processes has ended")
}
