//! Which clock a lab runs on: the lesson clock where servers can be made to take it, the machine's elsewhere, with the
//! reason.
//!
//! **Architecture Invariant:** a lab says that its clock is controlled only after every one of its servers has been seen
//! to have the clock's page, each time it is started, and after its own time, where it can be asked for, was the lesson's.
//! The dynamic linker ignores a library that it cannot load, and says so in the server's log alone.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{StatVfsMountFlags, statvfs};

use super::error::LabError;
use super::process::Process;
use super::sweep::sweep;
use super::workspace::Workspace;
use super::{Lab, LabOptions};
use crate::clock::{ClockKind, LessonClock, LessonTime};

/// How far the lesson's calendar is ahead of the machine's when the first server starts, so that a server's own time
/// tells which of the two it is on.
const AHEAD: Duration = Duration::from_secs(1);

/// The longest that a server may take to tell its time for the answer to prove anything.
const TELLING: Duration = Duration::from_millis(300);

/// How often a server is asked for its time until it answers fast enough.
const TRIES: usize = 20;

/// How far a server's time, told in whole milliseconds, may be off.
const ROUNDING: Duration = Duration::from_millis(2);

/// Why a lab runs on the machine's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WallClock {
    Asked,
    /// This system has no way to preload a library.
    Unsupported,
    /// There is no directory from which a library can be loaded.
    NoPlace {
        /// Those that were tried.
        tried: Vec<PathBuf>,
    },
    /// A server was started with the lesson clock and did not take it.
    Ignored {
        server: String,
    },
}

impl WallClock {
    /// The reason in Chinese.
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

    /// Whether nobody expects it, so that it is worth a word.
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

/// A lab's clock, and what it stands on.
#[derive(Debug)]
pub(crate) struct Timekeeping {
    pub clock: LessonClock,
    /// Why it is the machine's, where it is.
    pub wall: Option<WallClock>,
    /// A private directory for the library alone, where the lab's own cannot be executed from.
    _elsewhere: Option<Workspace>,
}

impl Timekeeping {
    /// The best clock that there can be.
    pub fn choose(workspace: &Workspace, options: &LabOptions) -> Result<Self, LabError> {
        if options.wall_clock {
            return Ok(Self::wall(WallClock::Asked));
        }
        if !LessonClock::supported() {
            return Ok(Self::wall(WallClock::Unsupported));
        }
        if loads_from(workspace.path()) {
            return Self::controlled(workspace, None);
        }
        let mut tried = vec![workspace.path().to_path_buf()];
        for root in other_places() {
            if loads_from(&root) {
                sweep(&root);
                if let Ok(elsewhere) = Workspace::claim(&root) {
                    return Self::controlled(workspace, Some(elsewhere));
                }
            }
            tried.push(root);
        }
        Ok(Self::wall(WallClock::NoPlace { tried }))
    }

    fn controlled(workspace: &Workspace, elsewhere: Option<Workspace>) -> Result<Self, LabError> {
        let library = elsewhere.as_ref().unwrap_or(workspace).path();
        let clock = LessonClock::with_library_in(workspace.path(), library)?;
        clock.jump(AHEAD)?;
        Ok(Self { clock, wall: None, _elsewhere: elsewhere })
    }

    /// The machine's clock.
    pub fn wall(why: WallClock) -> Self {
        Self { clock: LessonClock::wall(), wall: Some(why), _elsewhere: None }
    }

    /// Refuses the machine's clock where it will not do.
    pub fn allowed(&self, options: &LabOptions) -> Result<(), LabError> {
        match &self.wall {
            Some(why) if options.controlled_only => Err(LabError::NoLessonClock(why.clone())),
            _ => Ok(()),
        }
    }
}

/// Whether a library can be loaded from a directory. Where this is not the whole truth, the started server tells.
fn loads_from(directory: &Path) -> bool {
    LessonClock::can_load_from(directory)
        && statvfs(directory).is_ok_and(|mount| !mount.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// Where private directories can be made, beside the usual place.
fn other_places() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let own = variable("XDG_RUNTIME_DIR").into_iter().chain(cache);
    own.chain(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from)).collect()
}

/// Whether a process has the clock's page in its memory: its library has been loaded and has run.
pub(crate) fn is_on(clock: &LessonClock, process: &Process) -> bool {
    let Some(page) = clock.page() else {
        return true;
    };
    // As the kernel names it.
    let page = page.canonicalize().unwrap_or_else(|_| page.clone());
    let maps = fs::read(format!("/proc/{}/maps", process.pid())).unwrap_or_default();
    let page = page.as_os_str().as_encoded_bytes();
    maps.windows(page.len()).any(|part| part == page)
}

impl Lab {
    /// Asks every server that can tell for its own time: it must be the lesson's.
    pub(crate) async fn prove_clock(&self) -> Result<(), LabError> {
        if self.clock.kind() != ClockKind::Controlled {
            return Ok(());
        }
        for server in self.everybody() {
            let Some(told) = self.told_time(server).await? else {
                continue;
            };
            let (before, time, after) = told;
            if time + ROUNDING < before || after + ROUNDING < time {
                return Err(LabError::ClockIgnored { server: server.info.name.clone() });
            }
        }
        Ok(())
    }

    /// A server's own time, between two looks at the lesson clock. `None` where it cannot be asked for it.
    async fn told_time(
        &self,
        server: &super::server::Server,
    ) -> Result<Option<(LessonTime, LessonTime, LessonTime)>, LabError> {
        for _ in 0..TRIES {
            let before = self.clock.now();
            let told = super::patiently(server, || server.observer.unix_millis()).await;
            let Some(told) = told.map_err(|error| super::unreadable(server, &error))? else {
                return Ok(None);
            };
            let after = self.clock.now();
            if after.since(before) < TELLING {
                let time = self.clock.from_unix_millis(told, server.slot.as_ref());
                return Ok(Some((before, time, after)));
            }
        }
        // A machine that is so busy proves nothing; that the page is there has been seen.
        Ok(None)
    }
}
