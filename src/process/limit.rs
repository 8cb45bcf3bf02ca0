//! Limits of the machine for this user, in words.

use std::fmt;

use rustix::process::{Resource, getrlimit};

/// A limit that is too low.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Open files of a process: `ulimit -n`.
    OpenFiles,
    /// Processes and threads of a user: `ulimit -u`.
    Processes,
    /// Memory of a process: `ulimit -v`.
    Memory,
}

impl Limit {
    fn resource(self) -> Resource {
        match self {
            Self::OpenFiles => Resource::Nofile,
            Self::Processes => Resource::Nproc,
            Self::Memory => Resource::As,
        }
    }

    const fn flag(self) -> &'static str {
        match self {
            Self::OpenFiles => "ulimit -n",
            Self::Processes => "ulimit -u",
            Self::Memory => "ulimit -v",
        }
    }

    /// What the shell's own words for it would be.
    fn value(self) -> String {
        match getrlimit(self.resource()).current {
            Some(limit) if self == Self::Memory => (limit / 1024).to_string(),
            Some(limit) => limit.to_string(),
            None => "unlimited".to_owned(),
        }
    }

    /// The limit and the way on, in Chinese.
    pub fn chinese(self) -> String {
        let (flag, value) = (self.flag(), self.value());
        match self {
            Self::OpenFiles => {
                format!("打开的文件数上限太低：`{flag}` 是 {value}。请运行 `ulimit -n 1024` 后再启动")
            }
            Self::Processes => format!(
                "进程和线程数到了上限：`{flag}` 是 {value}（容器也可能另有限制）。请调高它，或结束别的程序"
            ),
            Self::Memory => {
                format!("内存到了上限：`{flag}` 是 {value} KiB。请运行 `ulimit -v unlimited` 后再启动")
            }
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (flag, value) = (self.flag(), self.value());
        match self {
            Self::OpenFiles => write!(
                f,
                "too few files may be open at once: `{flag}` says {value}. Start Lockstep after `ulimit -n 1024`"
            ),
            Self::Processes => write!(
                f,
                "no more processes and threads may be started: `{flag}` says {value}, and a container may have a limit of \
                 its own. Raise it, or end other programs"
            ),
            Self::Memory => write!(
                f,
                "no more memory may be taken: `{flag}` says {value} KiB. Start Lockstep after `ulimit -v unlimited`"
            ),
        }
    }
}
