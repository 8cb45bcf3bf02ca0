//! The signals that end the program, and after which it can still clean up: restore the terminal, and end
//! servers and clients.

use std::{future::poll_fn, io, task::Poll};

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// All signals that end a program by default, except those that cannot be caught (SIGKILL), those that a bug
/// in the program itself raises (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS), and SIGPIPE, which is a
/// write error here.
const ENDING: [(Signal, &str); 13] = [
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::VTALARM, "SIGVTALRM"),
    (Signal::PROF, "SIGPROF"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
    (Signal::IO, "SIGIO"),
];

/// Listens for these signals. Once this exists, none of them ends the program by itself.
#[derive(Debug)]
pub struct Signals(Vec<(i32, &'static str, unix::Signal)>);

impl Signals {
    /// Starts listening. Must be called inside a `tokio` runtime.
    pub fn listen() -> io::Result<Self> {
        let listen = |(signal, name): &(Signal, &'static str)| {
            let number = signal.as_raw();
            Ok((number, *name, unix::signal(SignalKind::from_raw(number))?))
        };
        ENDING.iter().map(listen).collect::<io::Result<_>>().map(Self)
    }

    /// Waits for the next signal. Returns its number and its name.
    pub async fn next(&mut self) -> (i32, &'static str) {
        poll_fn(|context| {
            for (number, name, signal) in &mut self.0 {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready((*number, *name));
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Whether a process with this pid exists.
pub fn lives(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // No signal is sent: the system only reports whether one could be sent.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}
