//! A process that a test starts.

use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

/// A child process that is killed and reaped on drop.
pub struct Started(pub Child);

impl Started {
    pub fn new(command: &mut Command) -> Self {
        Self(command.spawn().expect("it starts"))
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a pid"), signal).expect("the signal is sent");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
