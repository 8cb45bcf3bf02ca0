//! Chooses the clock of a lab: the lesson clock if the servers obey it, else the machine's, with the reason.
//!
//! **Architecture Invariant:** a lab says that its clock is controlled only after every one of its servers has been
//! seen to have mapped the clock's page, at each of its starts, and after its own time, if it can be asked for, was the
//! lesson's. The dynamic linker ignores a library that it cannot load, and reports that only in the server's log.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{StatVfsMountFlags, statvfs};

use super::{Lab, LabOptions};
use crate::clock::{ClockKind, LessonClock};
use crate::process::{error::LabError, sweep::sweep, wall_clock::WallClock, workspace::Workspace};

/// How far the lesson's calendar is ahead of the machine's when the first server starts, so that a server's own time
/// shows which of the two clocks it uses.
const AHEAD: Duration = Duration::from_secs(1);

/// The longest that a server's answer may take to prove anything.
const ANSWERS_WITHIN: Duration = Duration::from_millis(300);

/// How many times a server is asked for its time until it answers fast enough.
const TRIES: usize = 20;

/// The tolerance for a server's time, which is in whole milliseconds.
const ROUNDING: Duration = Duration::from_millis(2);

/// A lab's clock and the reason for it.
#[derive(Debug)]
pub(crate) struct Timekeeping {
    pub clock: LessonClock,
    /// Why it is the machine's clock; `None` on the lesson clock.
    pub wall: Option<WallClock>,
    /// A private directory for the library alone, if nothing can be executed from the lab's own.
    _elsewhere: Option<Workspace>,
}

impl Timekeeping {
    /// Chooses the best available clock.
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

    pub fn wall(why: WallClock) -> Self {
        Self { clock: LessonClock::wall(), wall: Some(why), _elsewhere: None }
    }
}

/// Whether a library can be loaded from a directory. A limit that is not detected here shows once the server has
/// started.
fn loads_from(directory: &Path) -> bool {
    LessonClock::can_load_from(directory)
        && statvfs(directory).is_ok_and(|mount| !mount.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// Candidates for private directories besides the usual one.
fn other_places() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let own = variable("XDG_RUNTIME_DIR").into_iter().chain(cache);
    own.chain(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from)).collect()
}

impl Lab {
    /// Checks the own time of every server that can report it against the lesson's.
    pub(crate) async fn prove_clock(&self) -> Result<(), LabError> {
        if self.clock.kind() != ClockKind::Controlled {
            return Ok(());
        }
        for server in self.all_servers() {
            if !self.obeys_clock(server).await? {
                return Err(LabError::ClockIgnored { server: server.info.name.clone() });
            }
        }
        Ok(())
    }

    /// Whether a server's own time lies between two readings of the lesson clock; true if the server cannot report its
    /// time.
    async fn obeys_clock(&self, server: &crate::server::boot::Server) -> Result<bool, LabError> {
        for _ in 0..TRIES {
            let before = self.clock.now();
            let Some(seen) = super::observing::read(server, || server.observer.unix_millis()).await? else {
                return Ok(true);
            };
            let after = self.clock.now();
            if after.since(before) < ANSWERS_WITHIN {
                let time = self.clock.from_unix_millis(seen, server.slot.as_ref());
                return Ok(before <= time + ROUNDING && time <= after + ROUNDING);
            }
        }
        // A machine this busy proves nothing either way; the servers have been seen to have mapped the page.
        Ok(true)
    }
}
