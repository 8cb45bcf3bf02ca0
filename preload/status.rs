//! Publishes which threads of a program wait for lesson time, and until when, so that Lockstep can read it.
//!
//! Only for programs that are started with [`page::STATUS_VARIABLE`], which names a file that all their processes map.

use crate::{libc::*, moment::Page, page};
use core::{
    ffi::{CStr, c_int, c_long},
    ptr,
    sync::atomic::{AtomicI64, AtomicPtr, Ordering},
};

const O_RDWR_CLOEXEC: c_int = 0o2_000_002;
#[cfg(target_arch = "x86_64")]
const SYS_GETTID: c_long = 186;
#[cfg(target_arch = "aarch64")]
const SYS_GETTID: c_long = 178;

static STATUS: AtomicPtr<AtomicI64> = AtomicPtr::new(ptr::null_mut());

pub(crate) const STATUS_NAME: &CStr = c"LESSON_CLOCK_STATUS";
const _: () = assert!(crate::moment::same(STATUS_NAME.to_bytes(), page::STATUS_VARIABLE.as_bytes()));

/// Maps the file if the environment names one. SAFETY: the environment is not being changed.
pub(crate) unsafe fn map() {
    // SAFETY: promised by the caller; `path` is a C string, and the mapping is checked and never unmapped.
    unsafe {
        let path = getenv(STATUS_NAME.as_ptr());
        if path.is_null() {
            return;
        }
        let fd = open(path, O_RDWR_CLOEXEC);
        if fd < 0 {
            return;
        }
        let mapped =
            mmap(ptr::null_mut(), page::STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if mapped.addr() != usize::MAX {
            STATUS.store(mapped.cast(), Ordering::Release);
        }
    }
}

/// Whether this process publishes what it waits for.
pub(crate) fn publishes() -> bool {
    !STATUS.load(Ordering::Acquire).is_null()
}

/// Whether this is a server of a lab, and not a program that somebody brought.
pub(crate) fn is_server() -> bool {
    Page::get().is_some() && !publishes()
}

/// The published wait of the calling thread, withdrawn on drop.
pub(crate) struct Waits(Option<Entry>);

/// Two numbers of an entry in the file.
struct Entry {
    thread: &'static AtomicI64,
    ended: &'static AtomicI64,
}

impl Waits {
    /// A wait until a moment of the lesson-monotonic clock, in nanoseconds.
    pub(crate) fn until(deadline: i64) -> Self {
        Self::register(deadline.max(0))
    }

    /// A wait in real time, which ends by itself.
    pub(crate) fn real() -> Self {
        Self::register(page::REAL)
    }

    fn register(deadline: i64) -> Self {
        let status = STATUS.load(Ordering::Acquire);
        if status.is_null() {
            return Self(None);
        }
        // SAFETY: every word is an integer, the mapping has room for each entry, and it lives as long as the process.
        let word = |n: usize| unsafe { &*status.add(n) };
        let thread = SYSCALL.get().map_or(0, |call| {
            // SAFETY: this system call takes no arguments.
            unsafe { call(SYS_GETTID, 0, 0, 0, 0, 0, 0) }
        });
        // The first entry counts the threads that found no free entry.
        for n in 0..page::STATUS_ENTRIES - 1 {
            let entry = page::STATUS_NUMBERS * (1 + (thread as usize + n) % (page::STATUS_ENTRIES - 1));
            let owner = word(entry);
            if owner.compare_exchange(0, thread as i64, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                word(entry + 1).store(deadline, Ordering::Release);
                return Self(Some(Entry { thread: owner, ended: word(entry + 2) }));
            }
        }
        word(0).fetch_add(1, Ordering::AcqRel);
        Self(None)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        if let Some(Entry { thread, ended }) = &self.0 {
            // First, so that whoever finds the next wait here finds that this one has ended.
            ended.fetch_add(1, Ordering::AcqRel);
            thread.store(0, Ordering::Release);
        }
    }
}

/// Sleeps shorter than this stay real: runtimes back off with them (the JVM, before each of its safepoints), and a
/// pause must stop a server's time but not its work. Programs of users poll more often than servers do, and the learner
/// is to see their polls.
pub(crate) fn shortest_lesson_sleep() -> i64 {
    if publishes() { 10 * MILLISECOND } else { 100 * MILLISECOND }
}

/// Publishes a wait of real time, in a process that publishes its waits.
pub(crate) fn real_wait() -> Option<Waits> {
    publishes().then(Waits::real)
}
