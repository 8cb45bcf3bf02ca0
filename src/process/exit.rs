//! How processes end.

use std::{fmt, os::unix::process::ExitStatusExt, process::ExitStatus};

use rustix::process::Signal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Self::Signal(signal),
            None => Self::Code(status.code().unwrap_or(-1)),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signal = match self {
            Self::Code(code) => return write!(f, "exit code {code}"),
            Self::Signal(signal) => *signal,
        };
        match Signal::from_named_raw(signal) {
            Some(Signal::KILL) => f.write_str("killed by SIGKILL"),
            Some(Signal::TERM) => f.write_str("ended by SIGTERM"),
            Some(Signal::SEGV) => f.write_str("crashed with SIGSEGV"),
            Some(Signal::ABORT) => f.write_str("aborted with SIGABRT"),
            _ => write!(f, "ended by signal {signal}"),
        }
    }
}
