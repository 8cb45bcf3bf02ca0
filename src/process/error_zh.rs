//! The Chinese messages of errors. The English messages are where the errors are defined.

use crate::clock::ClockError;
use crate::process::{LabError, exit::Exit, limits::ResourceLimit, wall_clock::WallClock};
use crate::text::{Text, displayed_in_english};

impl LabError {
    pub fn text(&self) -> Text {
        let zh = match self {
            Self::MissingProgram { program, variable } => format!(
                "没有找到 {program}。请运行 `lockstep doctor --install` 安装；如果装在别处，用环境变量 {variable} 指明路径"
            ),
            Self::TooOld { program, path, found, needed, variable } => format!(
                "{} 处的 {program} {found} 太旧，Lockstep 需要 {needed} 或更新版本。请安装新版本，并用环境变量 {variable} 指明路径",
                path.display()
            ),
            Self::Boot { server, how, log } => {
                format!("{server} 在启动过程中退出（{}）。它自己的日志结尾：\n{log}", how.text().zh)
            }
            Self::Silent { server, seconds, log } => format!(
                "{server} 启动后 {seconds} 秒内没有应答。如果机器正忙，请重试；`lockstep doctor` 会单独检查服务器。它自己的日志结尾：\n{log}"
            ),
            Self::Stopped { process, pid, seconds } => format!(
                "{process} 已有 {seconds} 秒没有应答：它被暂停了（SIGSTOP），而且不是课程造成的。`kill -CONT {pid}` 可以让它继续"
            ),
            Self::Unreadable { server, why, log } => {
                format!("无法读取 {server} 的状态：{why}。它自己的日志结尾：\n{log}")
            }
            Self::NoMetric { server, name, .. } => format!("{server} 没有名为 `{name}` 的计数"),
            Self::Spawn { program, source } => {
                format!("无法启动 {program}：{source}。`lockstep doctor` 会列出 Lockstep 需要什么")
            }
            Self::Signal { process, signal, why } => format!("无法向 {process} 发送 {signal}：{why}"),
            Self::Workspace { dir, source, .. } => {
                format!("Lockstep 无法在 {} 中写入：{source}。请把 TMPDIR 设为一个可写的目录", dir.display())
            }
            Self::Full { dir, free_mib, needed_mib } => format!(
                "{} 只剩 {free_mib} MiB，Lockstep 的服务器需要 {needed_mib} MiB。请清出空间，或把 TMPDIR 设到空间更大的目录",
                dir.display()
            ),
            Self::LongPath { dir, limit } => format!(
                "路径 {} 太长，Unix 套接字的路径最多 {limit} 字节。请把 TMPDIR 设为更短的路径，例如 /tmp",
                dir.display()
            ),
            Self::Umask { umask } => format!(
                "umask（含 {umask:03o}）去掉了文件所有者自己的权限，Lockstep 的服务器会用不了自己的文件。请先运行 `umask 077`，再启动 Lockstep"
            ),
            Self::Limit { what, limit } => format!("{}（{}）", limit.text().zh, what.zh),
            Self::ClockIgnored { server } => format!(
                "{server} 没有采用课程时钟：预加载的程序库没有生效。加上 `--wall-clock` 可以用机器的真实时钟"
            ),
            Self::NoLessonClock(why) => format!(
                "这需要时钟可以停住的服务器，而这里不行：{}。`lockstep doctor` 会检查时钟",
                why.text().zh
            ),
            Self::Ending => "Lockstep 正在退出，不再启动任何东西".to_owned(),
            Self::Clock(error) => {
                format!("无法创建课程时钟：{}。加上 `--wall-clock` 可以不用它", error.text().zh)
            }
            Self::NoSuchServer { name, known } => format!("本课没有名为 `{name}` 的服务器，只有 {known}"),
            Self::Link { link, source } => format!("无法建立链路 {link}：{source}"),
            Self::NoPackageManager { missing } => format!(
                "这台机器上没有 apt-get，也没有 brew，Lockstep 无法代为安装。请手动安装：{missing}，然后再运行 `lockstep doctor`"
            ),
            Self::NoHome => "没有主目录（HOME 没有设置），Lockstep 没有地方安装库".to_owned(),
            Self::NoJars { jar, directory } => format!(
                "Lockstep 在这里装不了 {jar}：它的 jar 来自 Debian 软件包，需要 apt-get 和 dpkg-deb。请把它和它依赖的 jar 放进 {}",
                directory.display()
            ),
            Self::Install { command, how } => {
                format!("`{command}` 失败（{how}）。它自己的报错在上面，解决后请重新运行")
            }
        };
        Text::new(self.to_string(), zh)
    }
}

impl ClockError {
    pub fn text(&self) -> Text {
        let zh = match self {
            Self::CannotJump => "真实时钟不能快进，只能等；或者改用课程时钟".to_owned(),
            Self::CannotSkew => "这台服务器不在课程时钟上运行，无法单独拨它的时钟".to_owned(),
            Self::Unsupported => {
                "课程时钟需要 x86_64 或 aarch64 上使用 glibc 的 Linux，这里请用真实时钟".to_owned()
            }
            Self::UnusablePath(path) => format!(
                "无法预加载 {}：动态链接器只接受不含空格、冒号和美元符号的绝对路径。请把 TMPDIR 设为名字简单的目录",
                path.display()
            ),
            Self::File { path, source } => format!("课程时钟无法写入 {}：{source}", path.display()),
        };
        Text::new(self.to_string(), zh)
    }
}

displayed_in_english!(Exit, ResourceLimit, WallClock);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_the_same_in_chinese() {
        let error = LabError::MissingProgram { program: "java", variable: "LOCKSTEP_JAVA" };
        let Text { en, zh } = error.text();
        for part in ["java", "`lockstep doctor --install`", "LOCKSTEP_JAVA"] {
            assert!(en.contains(part) && zh.contains(part), "{en}\n{zh}");
        }
    }
}
