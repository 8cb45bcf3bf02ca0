//! Why lessons run on the machine's clock, if they do.

use std::{fmt, path::PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WallClock {
    Asked,
    /// This system has no way to preload a library.
    Unsupported,
    NoPlace {
        tried: Vec<PathBuf>,
    },
    Ignored {
        server: String,
    },
}

impl WallClock {
    pub fn chinese(&self) -> String {
        match self {
            Self::Asked => "按要求使用机器的真实时钟".to_owned(),
            Self::Unsupported => "这个系统不能把 Lockstep 的时钟预加载到服务器里".to_owned(),
            Self::NoPlace { tried } => format!(
                "没有可以加载程序库的目录（试过 {}：以 noexec 挂载、不存在，或名字里有空格、冒号、美元符号）。请把 TMPDIR 设为可以执行程序的目录",
                list(tried)
            ),
            Self::Ignored { server } => {
                format!("{server} 没有采用课程时钟（预加载的程序库没有生效），所以改用机器的真实时钟")
            }
        }
    }

    /// Whether the user does not expect it, so that it is worth reporting.
    pub fn is_news(&self) -> bool {
        matches!(self, Self::NoPlace { .. } | Self::Ignored { .. })
    }
}

impl fmt::Display for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("the machine's clock was asked for"),
            Self::Unsupported => {
                f.write_str("this system does not let Lockstep preload its clock into servers")
            }
            Self::NoPlace { tried } => write!(
                f,
                "no directory lets a library be loaded from it (tried {}: mounted noexec, missing, or with a space, colon \
                 or dollar sign in its name); set TMPDIR to one that does",
                list(tried)
            ),
            Self::Ignored { server } => write!(
                f,
                "{server} did not take the lesson clock: the library that was preloaded into it had no effect"
            ),
        }
    }
}

fn list(directories: &[PathBuf]) -> String {
    let names = directories.iter().map(|directory| directory.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}
