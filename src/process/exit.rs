//! How processes end.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

use rustix::process::Signal;

use crate::text::{Text, both};

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

impl Exit {
    /// How the process ended.
    pub fn text(self) -> Text {
        let signal = match self {
            Self::Code(code) => return both!("exit code {code}", "退出码 {code}"),
            Self::Signal(signal) => signal,
        };
        match Signal::from_named_raw(signal) {
            Some(Signal::KILL) => both!("killed by SIGKILL", "被 SIGKILL 杀死"),
            Some(Signal::TERM) => both!("ended by SIGTERM", "被 SIGTERM 终止"),
            Some(Signal::SEGV) => both!("crashed with SIGSEGV", "因 SIGSEGV 崩溃"),
            Some(Signal::ABORT) => both!("aborted with SIGABRT", "因 SIGABRT 中止"),
            _ => both!("ended by signal {signal}", "被信号 {signal} 终止"),
        }
    }
}
