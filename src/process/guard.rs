//! The hidden subcommand `__guard`, through which every child of Lockstep is started: it ensures that the
//! child ends when Lockstep does.
//!
//! **Architecture Invariant:** whatever ends Lockstep (quit, panic, SIGTERM, SIGKILL), no process of its own
//! outlives it. Nothing that Lockstep does at its own end can ensure that, because SIGKILL leaves it no time.
//! So it is ensured at each child's start, before the child's own program runs.

#![expect(clippy::print_stderr, reason = "a guard's standard error is its child's log in the lab")]

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::process::{Pid, getppid};

/// The name of the hidden subcommand.
pub const GUARD: &str = "__guard";

/// Makes the guard stay beside the program, as it does where the kernel cannot watch over the program. On
/// Linux this is for tests.
pub const SUPERVISE: &str = "--supervise";

/// The exit code of a guard that was started wrongly or could not start its program, as in shells.
const CANNOT_START: u8 = 127;

/// How often a supervising guard checks whether its parent still lives. Real time.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `__guard [--supervise] PARENT_PID -- PROGRAM ARGS…`, given everything after `__guard`. Returns only
/// if the program could not be started, or after a supervised program has ended.
pub fn guard_main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut args = args.peekable();
    let supervised = args.next_if(|word| word == SUPERVISE).is_some() || !cfg!(target_os = "linux");
    let parent = args.next().and_then(|word| word.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let dashes = args.next();
    let (Some(parent), Some(program), true) = (parent, args.next(), dashes.is_some_and(|word| word == "--"))
    else {
        eprintln!("{GUARD} is for Lockstep's own use: {GUARD} PARENT_PID -- PROGRAM ARGS…");
        return ExitCode::from(CANNOT_START);
    };
    let mut command = Command::new(&program);
    command.args(args);
    if Path::new(&program).file_name().is_some_and(|name| name == "exe") {
        // `/proc/self/exe` is a valid path but a poor name in `ps`.
        command.arg0("lockstep");
    }
    if supervised { supervise(command, parent) } else { become_it(command, parent) }
}

/// Asks the kernel to kill this process when the thread that started it ends, and becomes the program. The
/// request survives `exec`.
fn become_it(mut command: Command, parent: Pid) -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
    {
        eprintln!("lockstep: the kernel refused the parent-death signal: {error}");
        return ExitCode::from(CANNOT_START);
    }
    // A parent that ended before the request was made sends no signal. The request is in effect now, so one
    // check is enough.
    if getppid() != Some(parent) {
        return ExitCode::FAILURE;
    }
    let error = command.exec();
    eprintln!("lockstep: {} could not be started: {error}", command.get_program().display());
    ExitCode::from(CANNOT_START)
}

/// Stays beside the program and kills it when the parent is gone, on systems without a parent-death signal.
/// The program inherits the guard's pipes, so they do not show the parent's end; the parent's pid does,
/// because an orphan gets another parent.
fn supervise(mut command: Command, parent: Pid) -> ExitCode {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("lockstep: {} could not be started: {error}", command.get_program().display());
            return ExitCode::from(CANNOT_START);
        }
    };
    loop {
        if getppid() != Some(parent) {
            // Both fail only if the child has ended, which is what they are for.
            let _ = child.kill();
            let _ = child.wait();
            return ExitCode::FAILURE;
        }
        match child.try_wait() {
            Ok(None) => std::thread::sleep(LOOK),
            Ok(Some(status)) => {
                // Shells report signal n as 128 + n, and so does this guard.
                let code = status.code().unwrap_or(128 + status.signal().unwrap_or(0));
                return ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX));
            }
            Err(error) => {
                eprintln!("lockstep: lost sight of {}: {error}", command.get_program().display());
                let _ = child.kill();
                return ExitCode::from(CANNOT_START);
            }
        }
    }
}
