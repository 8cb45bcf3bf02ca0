//! The page as a process sees it: maps it and reads the current lesson time from it.

use crate::{
    libc::*,
    page::{self, Line, SLOTS},
    status,
    vdso,
};
use core::{
    ffi::{CStr, c_char, c_int},
    ptr,
    sync::atomic::{AtomicI64, AtomicPtr, AtomicUsize, Ordering, fence},
};

/// How many times a reader yields to the writer before it sleeps between its attempts: a change takes some
/// microseconds, but the writer may be stopped in the middle of one.
const YIELDS: u32 = 100;
/// How long it then sleeps between two attempts.
static RETRY_PAUSE: Timespec = Timespec { seconds: 0, nanos: MILLISECOND };

pub(crate) static PAGE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
/// The offset of this process's skew in the page; 0 (the offset of the sequence counter) means that it has none.
pub(crate) static SKEW_AT: AtomicUsize = AtomicUsize::new(0);

/// The dynamic linker runs this before `main`, while the process has one thread.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = map_page;

extern "C" fn map_page() {
    let before = errno();
    // SAFETY: the environment is not changed yet, `path` is a C string, and the mapping is checked. It is never
    // unmapped, so the pointer stays valid for the life of the process.
    unsafe {
        let path = getenv(PAGE_NAME.as_ptr());
        if !path.is_null() {
            let fd = open(path, O_RDONLY_CLOEXEC);
            if fd >= 0 {
                let mapped = mmap(ptr::null_mut(), page::PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
                close(fd);
                if mapped.addr() != usize::MAX {
                    if let Some(slot) = number(getenv(SLOT_NAME.as_ptr())).filter(|slot| *slot < SLOTS) {
                        SKEW_AT.store(page::skew_at(slot), Ordering::Release);
                    }
                    PAGE.store(mapped.cast(), Ordering::Release);
                    status::map();
                    let reads_vdso = !getenv(VDSO_NAME.as_ptr()).is_null()
                        || (status::publishes() && vdso::is_program_of_go());
                    // If the vDSO cannot be changed, the process runs without the page, so that Lockstep sees it on the
                    // real clock.
                    if reads_vdso && !vdso::change() {
                        PAGE.store(ptr::null_mut(), Ordering::Release);
                        munmap(mapped, page::PAGE_BYTES);
                    }
                }
            }
        }
    }
    set_errno(before);
}

pub(crate) const PAGE_NAME: &CStr = c"LESSON_CLOCK";
pub(crate) const SLOT_NAME: &CStr = c"LESSON_CLOCK_SLOT";
pub(crate) const VDSO_NAME: &CStr = c"LESSON_CLOCK_VDSO";
// The page's own constants have no terminating zero, which `getenv` needs.
const _: () = assert!(same(PAGE_NAME.to_bytes(), page::PAGE_VARIABLE.as_bytes()));
const _: () = assert!(same(VDSO_NAME.to_bytes(), page::VDSO_VARIABLE.as_bytes()));
const _: () = assert!(same(SLOT_NAME.to_bytes(), page::SLOT_VARIABLE.as_bytes()));

pub(crate) const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Reads a small decimal number. SAFETY: `text` is null or a C string.
pub(crate) unsafe fn number(text: *const c_char) -> Option<usize> {
    if text.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    let text = unsafe { CStr::from_ptr(text) }.to_bytes();
    if text.is_empty() || text.len() > 4 {
        return None;
    }
    text.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + usize::from(digit - b'0')))
}

#[derive(Clone, Copy)]
pub(crate) struct Page(*const u8);

impl Page {
    /// Returns `None` if this process is on the real clock.
    pub(crate) fn get() -> Option<Self> {
        let page = PAGE.load(Ordering::Acquire);
        (!page.is_null()).then_some(Self(page))
    }

    pub(crate) fn field(self, at: usize) -> &'static AtomicI64 {
        // SAFETY: callers pass offsets from `page.rs`, all inside the page and aligned to 8; the mapping lives
        // as long as the process. Another process writes the field, hence the atomic.
        unsafe { &*self.0.add(at).cast::<AtomicI64>() }
    }

    /// Reads this moment from one consistent state of the page.
    pub(crate) fn moment(self) -> Moment {
        let mut yields = 0;
        loop {
            if let Some(moment) = self.try_moment() {
                return moment;
            }
            match CLOCK_NANOSLEEP.get() {
                // Unlike `nanosleep`, it leaves errno alone.
                // SAFETY: the time is ours, and the remainder is not requested.
                Some(sleep) if yields == YIELDS => unsafe {
                    sleep(CLOCK_MONOTONIC, 0, &raw const RETRY_PAUSE, ptr::null_mut());
                },
                _ => {
                    yields += 1;
                    // SAFETY: no conditions.
                    unsafe { sched_yield() };
                }
            }
        }
    }

    /// Reads the page once. Returns `None` if the writer was changing it.
    ///
    /// The real clock is read *between* the two reads of the sequence counter. The writer makes the counter odd before
    /// it reads its own clock, so a reader that still gets the old line gets it for a moment before the new anchor:
    /// lesson time never goes back, not even between processes.
    ///
    /// The loads are relaxed, with fences: no other loads are guaranteed to work on read-only memory.
    pub(crate) fn try_moment(self) -> Option<Moment> {
        let sequence = self.field(page::SEQUENCE);
        let before = sequence.load(Ordering::Relaxed);
        if before & 1 != 0 {
            return None;
        }
        fence(Ordering::Acquire);
        let real = real(CLOCK_MONOTONIC);
        let line = Line {
            anchor: self.field(page::ANCHOR).load(Ordering::Relaxed),
            offset: self.field(page::OFFSET).load(Ordering::Relaxed),
            rate: self.field(page::RATE).load(Ordering::Relaxed),
            longest: self.field(page::LONGEST).load(Ordering::Relaxed),
        };
        let epoch = self.field(page::EPOCH).load(Ordering::Relaxed);
        let skew = match SKEW_AT.load(Ordering::Relaxed) {
            0 => 0,
            at => self.field(at).load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        if sequence.load(Ordering::Relaxed) != before {
            return None;
        }
        let monotonic = line.at(real);
        let calendar = monotonic.saturating_add(epoch).saturating_add(skew);
        let since_change = real.saturating_sub(line.anchor);
        Some(Moment { line, since_change, stands_still: line.stands_still(real), monotonic, calendar })
    }
}

/// One moment of lesson time, as this process sees it.
pub(crate) struct Moment {
    pub(crate) line: Line,
    /// Real time since the line began.
    pub(crate) since_change: i64,
    pub(crate) stands_still: bool,
    pub(crate) monotonic: i64,
    pub(crate) calendar: i64,
}

impl Moment {
    /// The reading of one family of clocks.
    pub(crate) fn of(&self, family: Family) -> i64 {
        match family {
            Family::Calendar => self.calendar,
            Family::Monotonic => self.monotonic,
        }
    }
}

/// The clocks that show the time of day or the time since boot. The coarse, raw and boot-time variants answer as their
/// plain sibling: computed separately they would drift against it, and go backwards while the lesson is paused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Since 1970; servers can be skewed.
    Calendar,
    /// Since some fixed moment. A skew does not affect it, just as a wrong wall clock does not on a real machine.
    Monotonic,
}

impl Family {
    pub(crate) const fn of(clock: c_int) -> Option<Self> {
        match clock {
            CLOCK_REALTIME | CLOCK_REALTIME_COARSE => Some(Self::Calendar),
            CLOCK_MONOTONIC | CLOCK_MONOTONIC_RAW | CLOCK_MONOTONIC_COARSE | CLOCK_BOOTTIME => {
                Some(Self::Monotonic)
            }
            _ => None,
        }
    }

    /// The kernel's clock for waits.
    pub(crate) const fn real(self) -> c_int {
        match self {
            Self::Calendar => CLOCK_REALTIME,
            Self::Monotonic => CLOCK_MONOTONIC,
        }
    }
}
