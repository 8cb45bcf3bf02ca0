//! Why a run cannot go on.

use crate::{
    clock::ClockError,
    lab::{LabError, libraries::MissingLibraries},
    lesson::LessonError,
    text::{Lang, Text, both},
};

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The lesson asks for something impossible: an error of its author, with its position.
    #[error("{0}")]
    Lesson(#[from] LessonError),
    #[error("{0}")]
    Lab(#[from] LabError),
    #[error("{0}")]
    Clock(#[from] ClockError),
    #[error("the server `{server}` ended in mid-lesson ({})\nThe end of its own log:\n{log}", why.en)]
    ServerDied { server: String, why: Text, log: String },
    #[error("the server `{server}` no longer answers: {why}")]
    ServerLost { server: String, why: String },
    #[error("the client process `{client}` ended by itself: {}\nits log says:\n{log}", why.en)]
    ClientDied { client: String, why: Text, log: String },
    #[error(
        "no client process has answered for {seconds} s, though no server has died and no process is stopped; \
         if this machine is busy, try again"
    )]
    ClientSilent {
        /// How long the run waited, in seconds of real time.
        seconds: u64,
    },
    /// The work was cancelled because its result is no longer needed.
    #[error("called off")]
    Cancelled,
    #[error("the client process `{client}` could not start: {why}")]
    ClientNotReady { client: String, why: String },
    /// The lesson starts programs, and the user has not trusted it, or not in its current state.
    #[error(
        "the lesson {file} starts programs on this machine, with all your rights: {commands}\n{}", why.advice(file).en
    )]
    NotTrusted { file: String, commands: String, why: NotTrusted },
    /// The command to start depends on parameters of a recording, rather than of the lesson or the user.
    #[error(
        "the recording chooses what would be started on this machine, with all your rights: {command}\n\
         A recording can be shown, and its lesson started with parameters of its own or yours: give those that you want with \
         `--set NAME=VALUE`"
    )]
    CommandOfRecording { command: String },
    /// Programs of the lesson need libraries that are not installed.
    #[error("the lesson {lesson} runs {}", missing.text().en)]
    MissingLibraries { lesson: String, missing: MissingLibraries },
}

/// Why programs of a lesson are not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotTrusted {
    NotAllowed,
    /// The lesson or a file beside it differs from what the user allowed.
    Changed,
    /// The lesson cannot be trusted as it is, for this reason.
    NotCovered(Text),
}

impl NotTrusted {
    fn advice(&self, file: &str) -> Text {
        match self {
            Self::NotAllowed => both!(
                "Read it, and what stands beside it. If you want that: lockstep trust {file}",
                "请先读一读它和它旁边的文件。如果确定要运行：lockstep trust {file}"
            ),
            Self::Changed => both!(
                "You have allowed it, but not as it is now: it or a file beside it has changed, has come or is gone (or an older \
                 Lockstep has written down what you allowed). Read what is there. If you want that: lockstep trust {file}",
                "你允许过它，但不是现在这个样子：它或它旁边的某个文件改动了、新增了或者不见了（也可能那次允许是旧版 Lockstep \
                 记下的）。请先读一读现在的内容。如果确定要运行：lockstep trust {file}"
            ),
            Self::NotCovered(why) => {
                both!("It cannot be allowed as it is: {why}", "按现在的样子无法允许它：{why}", why)
            }
        }
    }
}

impl RunError {
    /// Returns the message in both languages.
    pub fn text(&self) -> Text {
        let zh = match self {
            Self::Lesson(error) => error.in_lang(Lang::Zh),
            Self::Lab(error) => error.text().zh,
            Self::Clock(error) => error.text().zh,
            Self::ServerDied { server, why, log } => {
                format!("服务器 `{server}` 在课程中途退出（{}）\n它自己的日志结尾：\n{log}", why.zh)
            }
            Self::ServerLost { server, why } => format!("服务器 `{server}` 不再响应：{why}"),
            Self::ClientDied { client, why, log } => {
                format!("客户端进程 `{client}` 意外退出：{}\n它的日志：\n{log}", why.zh)
            }
            Self::ClientSilent { seconds } => format!(
                "{seconds} 秒内没有任何客户端进程应答，而服务器都没有退出，也没有进程被暂停；如果机器正忙，请重试"
            ),
            Self::Cancelled => "已取消".to_owned(),
            Self::ClientNotReady { client, why } => {
                format!("客户端进程 `{client}` 无法启动：{why}")
            }
            Self::NotTrusted { file, commands, why } => format!(
                "课程 {file} 会在这台机器上以你的全部权限运行程序：{commands}\n{}",
                why.advice(file).zh
            ),
            Self::CommandOfRecording { command } => format!(
                "将要在这台机器上以你的全部权限运行的命令来自录像里的参数：{command}\n\
                 录像本身可以播放，课程也可以用它自己的或者你给的参数来运行：请用 `--set 名字=值` 给出你要的参数"
            ),
            Self::MissingLibraries { lesson, missing } => {
                format!("课程 {lesson} 要运行 {}", missing.text().zh)
            }
        };
        Text { en: self.to_string(), zh }
    }

    /// Whether the message already says which process died or was stopped.
    pub(crate) fn names_a_process(&self) -> bool {
        matches!(
            self,
            Self::ServerDied { .. } | Self::ClientDied { .. } | Self::Lab(LabError::Stopped { .. })
        )
    }

    /// Whether a server is missing or failed, rather than the lesson being wrong. Such an error has exit code
    /// 3, and a fresh start may help.
    pub fn is_server(&self) -> bool {
        match self {
            Self::Lesson(_) | Self::NotTrusted { .. } | Self::CommandOfRecording { .. } => false,
            Self::Lab(error) => error.is_server(),
            _ => true,
        }
    }
}
