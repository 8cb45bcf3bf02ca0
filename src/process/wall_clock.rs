//! Why lessons run on the machine's clock, if they do.

use std::path::PathBuf;

use crate::text::{Text, both};

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
    pub fn text(&self) -> Text {
        match self {
            Self::Asked => both!("the machine's clock was asked for", "按要求使用机器的真实时钟"),
            Self::Unsupported => both!(
                "this system does not let Lockstep preload its clock into servers",
                "这个系统不能把 Lockstep 的时钟预加载到服务器里"
            ),
            Self::NoPlace { tried } => {
                let tried = list(tried);
                both!(
                    "no directory lets a library be loaded from it (tried {tried}: mounted noexec, missing, or with a space, \
                     colon or dollar sign in its name); set TMPDIR to one that does",
                    "没有可以加载程序库的目录（试过 {tried}：以 noexec 挂载、不存在，或名字里有空格、冒号、美元符号）。请把 TMPDIR 设为\
                     可以执行程序的目录"
                )
            }
            Self::Ignored { server } => both!(
                "{server} did not take the lesson clock: the library that was preloaded into it had no effect",
                "{server} 没有采用课程时钟（预加载的程序库没有生效），所以改用机器的真实时钟"
            ),
        }
    }

    /// Whether the user does not expect it, so that it is worth reporting.
    pub fn is_news(&self) -> bool {
        matches!(self, Self::NoPlace { .. } | Self::Ignored { .. })
    }
}

fn list(directories: &[PathBuf]) -> String {
    let names = directories.iter().map(|directory| directory.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}
