//! The lesson clock: one time for all servers, clients and the screen, which can be stopped, slowed, sped up and moved
//! forward. It starts no process and talks to no server.
//!
//! There are two kinds. On a **controlled** clock, processes are started with the library of `preload/lesson_clock.rs`
//! and read all time from it. On the **wall** clock lesson time is real time.
//!
//! | file | idea |
//! |---|---|
//! | `preload/page.rs` | the page: layout and arithmetic, shared with the library |
//! | `writer.rs` | changing the page while others read it |
//! | `preload.rs` | the library, and how a process gets it |
//! | `status.rs` | the waits of the threads of a user's program |
//! | `time.rs`, `rate.rs` | the values |

#[path = "../../preload/page.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "only the library waits"))]
pub(crate) mod page;

pub(crate) mod preload;
pub(crate) mod rate;
pub(crate) mod status;
pub(crate) mod time;
pub(crate) mod writer;

pub(crate) use self::page::{SLEEPS_VARIABLE, STATUS_VARIABLE, VDSO_VARIABLE};
pub use self::{rate::Rate, time::LessonTime};

use self::{
    page::{Line, SLOTS},
    writer::PageFile,
};
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fmt::{self, Display, Formatter},
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use thiserror::Error;

const LIBRARY_FILE: &str = "lesson_clock.so";

/// What kind of clock a lesson runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockKind {
    /// Servers and clients take their time from the clock: it can stop, run at other speeds, and jump.
    Controlled,
    /// Real time. A pause holds the clients, but not the servers.
    #[default]
    Wall,
    /// No clock runs any more: the run was recorded, on either of the other two.
    Recorded,
}

impl Display for ClockKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Controlled => "controlled",
            Self::Wall => "wall",
            Self::Recorded => "recorded",
        })
    }
}

#[derive(Debug, Error)]
pub enum ClockError {
    /// Only a [`ClockKind::Controlled`] clock can jump.
    #[error("the wall clock cannot jump: real time passes by itself only; wait, or use the lesson clock")]
    CannotJump,
    /// Only a [`ClockKind::Controlled`] clock has skews, and only for its own slots.
    #[error("this server's clock cannot be set: it does not run on this lesson clock")]
    CannotSkew,
    /// This binary was built for another platform.
    #[error("the lesson clock needs Linux with glibc on x86_64 or aarch64; use the wall clock here")]
    Unsupported,
    /// The dynamic linker splits `LD_PRELOAD` and knows no quoting.
    #[error(
        "{} cannot be preloaded: the dynamic linker takes only absolute paths without spaces, colons and dollar \
         signs; set TMPDIR to a directory with a plain name",
        .0.display()
    )]
    UnusablePath(PathBuf),
    /// The library or the page could not be written.
    #[error("the lesson clock could not write {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// The clock of one lab. Clones share one clock, and any thread may use any of them.
///
/// Processes join it through [`LessonClock::env`]. Until the first change they see the machine's monotonic and calendar
/// time, from then on the clock's own. A process on a controlled clock keeps the page mapped, so the directory given to
/// [`LessonClock::with_library_in`] may be removed at any time, but its files must never be truncated.
///
/// **Architecture Invariant:** lesson time never goes back, neither here nor in any process, whatever is called in
/// whatever order. Only calendar clocks can go back, by design: with a skew, or when the calendar is set.
#[derive(Clone, Debug)]
pub struct LessonClock(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Monotonic time at [`LessonTime::ZERO`]: lesson-monotonic on a controlled clock.
    zero: AtomicI64,
    /// Calendar time minus monotonic time: as it was when the clock was made, unless the calendar was set.
    epoch: AtomicI64,
    control: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    line: Line,
    /// The page; `None` on the wall clock.
    page: Option<PageFile>,
    taken: [bool; SLOTS],
    /// The last skew of each slot, in nanoseconds.
    skews: [i64; SLOTS],
}

/// A place in the page for one server's skew. Dropping it resets the skew to zero and frees the place, so keep it for
/// as long as the server runs.
#[derive(Debug)]
pub struct Slot {
    index: usize,
    clock: LessonClock,
}

impl LessonClock {
    /// Whether this binary carries the library for its platform, which a controlled clock needs.
    pub fn supported() -> bool {
        !preload::LIBRARY.is_empty()
    }

    /// Makes a controlled clock, running at [`Rate::NORMAL`]. Its page and its library are written to these directories,
    /// which should be private to this user: anyone who can write there can run code in the servers. `dir` may have any
    /// name, and be on a file system mounted without permission to execute; the library's directory may not.
    pub fn with_library_in(dir: &Path, library: &Path) -> Result<Self, ClockError> {
        if !Self::supported() {
            return Err(ClockError::Unsupported);
        }
        let library = library.join(LIBRARY_FILE);
        if !preload::can_be_preloaded(&library) {
            return Err(ClockError::UnusablePath(library));
        }
        let page = dir.join("lesson_clock.page");
        let now = real_now();
        let line = Line { anchor: now, offset: 0, rate: Rate::NORMAL.per_mille(), longest: i64::MAX };
        let epoch = real_epoch();
        // The page is created first: that fails if another clock already uses the directory, before its library is
        // overwritten.
        let file = PageFile::create(page.clone(), line, epoch)
            .map_err(|source| ClockError::File { path: page, source })?;
        fs::write(&library, preload::LIBRARY)
            .map_err(|source| ClockError::File { path: library.clone(), source })?;
        Ok(Self::new(now, line, epoch, Some((library, file))))
    }

    /// Whether the dynamic linker can preload a library from a directory with this name.
    pub fn can_load_from(dir: &Path) -> bool {
        preload::can_be_preloaded(&dir.join(LIBRARY_FILE))
    }

    /// The page's file; `None` on the wall clock.
    pub fn page(&self) -> Option<PathBuf> {
        self.state().page.as_ref().map(|page| page.path().to_path_buf())
    }

    /// The wall clock, starting at [`LessonTime::ZERO`] now.
    pub fn wall() -> Self {
        let now = real_now();
        let line = Line { anchor: now, offset: 0, rate: Rate::NORMAL.per_mille(), longest: i64::MAX };
        Self::new(now, line, real_epoch(), None)
    }

    fn new(zero: i64, line: Line, epoch: i64, control: Option<(PathBuf, PageFile)>) -> Self {
        let (control, page) = control.unzip();
        let state = State { line, page, taken: [false; SLOTS], skews: [0; SLOTS] };
        Self(Arc::new(Shared {
            zero: AtomicI64::new(zero),
            epoch: AtomicI64::new(epoch),
            control,
            state: Mutex::new(state),
        }))
    }

    pub fn kind(&self) -> ClockKind {
        if self.0.control.is_some() { ClockKind::Controlled } else { ClockKind::Wall }
    }

    pub fn now(&self) -> LessonTime {
        let state = self.state();
        self.lesson_time(state.line.at(real_now()))
    }

    /// The time that a process on this clock reads from its monotonic clock, in nanoseconds.
    pub(crate) fn monotonic(&self) -> i64 {
        self.state().line.at(real_now())
    }

    /// Makes this moment [`LessonTime::ZERO`]: the servers are up and the lesson begins. Nothing changes for the
    /// processes on the clock.
    pub fn begin(&self) {
        let now = self.state().line.at(real_now());
        self.0.zero.store(now, Ordering::Release);
    }

    /// Changes how fast lesson time passes, without a step, and returns the time of the change.
    ///
    /// The wall clock keeps its rate. On a controlled clock a waiting process notices within some 50 ms of real time
    /// (10 ms if lesson time was running), and a user's program when it is examined; a process that reads the clock
    /// notices at once.
    pub fn set_rate(&self, rate: Rate) -> Result<LessonTime, ClockError> {
        self.change(&mut self.state(), |line, real| line.turned(real, rate.per_mille()))
    }

    /// As [`LessonClock::set_rate`], but lesson time stops after `longest` of real time, unless it is changed before.
    pub fn set_rate_for(&self, rate: Rate, longest: Duration) -> Result<LessonTime, ClockError> {
        let longest = time::nanos(longest);
        self.change(&mut self.state(), |line, real| Line { longest, ..line.turned(real, rate.per_mille()) })
    }

    /// Lets lesson time run without a limit at its present rate, but no faster than real time.
    pub fn run_on(&self) -> Result<LessonTime, ClockError> {
        self.run_on_for(Duration::MAX)
    }

    /// As [`LessonClock::run_on`], but lesson time stops after `longest` of real time, unless it is changed before.
    pub fn run_on_for(&self, longest: Duration) -> Result<LessonTime, ClockError> {
        let longest = time::nanos(longest);
        self.change(&mut self.state(), |line, real| {
            let rate = line.rate.min(Rate::NORMAL.per_mille());
            Line { longest, ..line.turned(real, rate) }
        })
    }

    /// Moves lesson time forward by `by`, whether it runs or is paused, and returns the new time.
    ///
    /// A Sentinel goes into TILT when its time moves by more than 2 s at once, and `ZooKeeper` expires sessions whose
    /// clients had no time to ping.
    pub fn jump(&self, by: Duration) -> Result<LessonTime, ClockError> {
        let mut state = self.state();
        if state.page.is_none() {
            return Err(ClockError::CannotJump);
        }
        let by = time::nanos(by);
        self.change(&mut state, |line, real| {
            let line = line.turned(real, line.rate);
            Line { offset: line.offset.saturating_add(by), ..line }
        })
    }

    /// Sets the calendar of all processes, in seconds since 1970. Lesson time and the monotonic clocks are not touched.
    pub fn set_calendar(&self, seconds: i64) -> Result<(), ClockError> {
        let mut state = self.state();
        let epoch = seconds.saturating_mul(1_000_000_000).saturating_sub(state.line.at(real_now()));
        let page = state.page.as_mut().ok_or(ClockError::CannotSkew)?;
        page.change_epoch(epoch)
            .map_err(|source| ClockError::File { path: page.path().to_owned(), source })?;
        self.0.epoch.store(epoch, Ordering::Release);
        Ok(())
    }

    /// Allocates a place for one server's skew; `None` on the wall clock, or when all 64 places are taken.
    pub fn allocate_slot(&self) -> Option<Slot> {
        let mut state = self.state();
        state.page.as_ref()?;
        let index = state.taken.iter().position(|taken| !taken)?;
        state.taken[index] = true;
        Some(Slot { index, clock: self.clone() })
    }

    /// Sets how far one server's *calendar* clock is ahead of (or, if negative, behind) everyone else's, in
    /// nanoseconds, and returns the time of the change. Zero corrects the clock. The monotonic clock is not touched, as
    /// on a real machine with a wrong date. So Redis' TTLs follow a skew, `ZooKeeper`'s sessions do not.
    pub fn skew(&self, slot: &Slot, nanos: i64) -> Result<LessonTime, ClockError> {
        if !Arc::ptr_eq(&self.0, &slot.clock.0) {
            return Err(ClockError::CannotSkew);
        }
        let mut state = self.state();
        let now = state.line.at(real_now());
        let page = state.page.as_mut().ok_or(ClockError::CannotSkew)?;
        page.change_skew(slot.index, nanos)
            .map_err(|source| ClockError::File { path: page.path().to_owned(), source })?;
        state.skews[slot.index] = nanos;
        Ok(self.lesson_time(now))
    }

    /// The environment variables with which to start a process on this clock; none on the wall clock. They keep the
    /// libraries that this process's own `LD_PRELOAD` names.
    ///
    /// A process without a slot sees lesson time without any skew.
    pub fn env(&self, slot: Option<&Slot>) -> Vec<(OsString, OsString)> {
        let state = self.state();
        let (Some(library), Some(page)) = (&self.0.control, &state.page) else { return Vec::new() };
        let preloaded = std::env::var_os(preload::PRELOAD_VARIABLE);
        preload::variables(library, page.path(), slot.map(|slot| slot.index), preloaded.as_deref())
    }

    /// Converts a time of a server's calendar clock, in milliseconds since 1970 (as Redis' `PEXPIRETIME` returns it),
    /// to lesson time. A server whose clock is ahead reaches that time earlier than the others: `slot` gives the skew
    /// to subtract.
    pub fn from_unix_millis(&self, millis: i64, slot: Option<&Slot>) -> LessonTime {
        // On a controlled clock the distance of the servers' calendar from their monotonic clock is known. On the wall
        // clock the servers follow the machine's calendar, which may have been set since.
        let epoch =
            if self.0.control.is_some() { self.0.epoch.load(Ordering::Acquire) } else { real_epoch() };
        let skew = slot.map_or(0, |slot| self.state().skews[slot.index]);
        let monotonic = millis.saturating_mul(1_000_000).saturating_sub(epoch);
        self.lesson_time(monotonic.saturating_sub(skew))
    }

    /// Changes the line of a controlled clock, leaves the wall clock alone, and returns the time of the change. The old
    /// line stays if writing fails.
    fn change(&self, state: &mut State, next: impl Fn(Line, i64) -> Line) -> Result<LessonTime, ClockError> {
        let old = state.line;
        let Some(page) = &mut state.page else { return Ok(self.lesson_time(old.at(real_now()))) };
        // Processes look at the page often after a change, and seldom while lesson time stands still: so what changes
        // nothing is no change.
        if old.rate <= 0 {
            let line = next(old, real_now());
            if line.rate <= 0 && line.at(line.anchor) == old.at(line.anchor) {
                return Ok(self.lesson_time(line.at(line.anchor)));
            }
        }
        let line = page
            .change_line(|| next(old, real_now()))
            .map_err(|source| ClockError::File { path: page.path().to_owned(), source })?;
        state.line = line;
        Ok(self.lesson_time(line.at(line.anchor)))
    }

    /// Converts a reading of a process's monotonic clock, in nanoseconds.
    pub(crate) fn lesson_time(&self, monotonic: i64) -> LessonTime {
        LessonTime::from_nanos(monotonic.saturating_sub(self.0.zero.load(Ordering::Acquire)))
    }

    /// A poisoned lock is harmless: fields are set only after the page is written.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // If the page cannot be written, the place stays taken: its next owner would inherit the skew.
        if self.clock.skew(self, 0).is_ok() {
            self.clock.state().taken[self.index] = false;
        }
    }
}

/// Real monotonic time. Through `rustix`, because [`std::time::Instant`] does not expose its number.
fn real_now() -> i64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// Real calendar time minus real monotonic time.
fn real_epoch() -> i64 {
    let before = real_now();
    let calendar = nanos(clock_gettime(ClockId::Realtime));
    // The middle of two readings: if this thread was delayed in between, the error is at most half the delay.
    let middle = before + (real_now() - before) / 2;
    calendar - middle
}

fn nanos(time: Timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests;
