//! Publishes which threads of a program wait for lesson time, and until when, so that Lockstep can read it.
//!
//! Only for programs that are started with [`page::STATUS_VARIABLE`], which names a file that all their processes map.

use crate::{
    libc::*,
    moment::Page,
    page::{self, ASLEEP, AWAKE, WOKEN},
};
use core::{
    ffi::{CStr, c_int, c_long, c_void},
    ptr,
    sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, Ordering},
};

const O_RDWR_CLOEXEC: c_int = 0o2_000_002;
#[cfg(target_arch = "x86_64")]
const SYS_GETTID: c_long = 186;
#[cfg(target_arch = "aarch64")]
const SYS_GETTID: c_long = 178;

static STATUS: AtomicPtr<AtomicI64> = AtomicPtr::new(ptr::null_mut());
/// The deadlines that the threads of this process gave to waits which no signal ends, by their entries in the file.
static DEADLINES: [AtomicPtr<Deadline>; page::STATUS_ENTRIES] =
    [const { AtomicPtr::new(ptr::null_mut()) }; page::STATUS_ENTRIES];

/// A `Timespec` that a signal's handler may change.
pub(crate) type Deadline = [AtomicI64; 2];

pub(crate) const STATUS_NAME: &CStr = c"LESSON_CLOCK_STATUS";
const _: () = assert!(crate::moment::same(STATUS_NAME.to_bytes(), page::STATUS_VARIABLE.as_bytes()));

const SLEEPS_NAME: &CStr = c"LESSON_CLOCK_SLEEPS";
const _: () = assert!(crate::moment::same(SLEEPS_NAME.to_bytes(), page::SLEEPS_VARIABLE.as_bytes()));
/// Whether threads may sleep while lesson time stands still.
static SLEEPS: AtomicBool = AtomicBool::new(false);

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
        let mapped = mmap(ptr::null_mut(), page::STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if mapped.addr() != usize::MAX {
            SLEEPS.store(!getenv(SLEEPS_NAME.as_ptr()).is_null(), Ordering::Release);
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

/// Numbers of an entry in the file.
struct Entry {
    thread: &'static AtomicI64,
    ended: &'static AtomicI64,
    sleep: &'static AtomicI64,
    deadline: &'static AtomicPtr<Deadline>,
}

/// SAFETY: `status` is the mapped file, and `n` less than its number of words.
unsafe fn word(status: *mut AtomicI64, n: usize) -> &'static AtomicI64 {
    // SAFETY: promised by the caller; every word is an integer, and the mapping lives as long as the process.
    unsafe { &*status.add(n) }
}

fn this_thread() -> i64 {
    // SAFETY: this system call takes no arguments.
    SYSCALL.get().map_or(0, |call| unsafe { call(SYS_GETTID, 0, 0, 0, 0, 0, 0) })
}

/// The places of a thread's entries in the file, the first of which it takes if it is free. The first entry of the file
/// counts the threads that found no free entry.
fn places(thread: i64) -> impl Iterator<Item = usize> {
    let others = page::STATUS_ENTRIES - 1;
    (0..others).map(move |n| page::STATUS_NUMBERS * (1 + (thread as usize + n) % others))
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
        // SAFETY: the mapping has room for each entry.
        let word = |n: usize| unsafe { word(status, n) };
        let thread = this_thread();
        for entry in places(thread) {
            let owner = word(entry);
            if owner.compare_exchange(0, thread, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                word(entry + 1).store(deadline, Ordering::Release);
                word(entry + 3).store(AWAKE, Ordering::Release);
                let deadline = &DEADLINES[entry / page::STATUS_NUMBERS];
                return Self(Some(Entry {
                    thread: owner,
                    ended: word(entry + 2),
                    sleep: word(entry + 3),
                    deadline,
                }));
            }
        }
        word(0).fetch_add(1, Ordering::AcqRel);
        Self(None)
    }

    /// Publishes that the thread sleeps until it is woken. Returns whether it can be. glibc waits on a condition variable
    /// again when a signal has interrupted it, until the same deadline: then that is where it is, and waking the thread
    /// makes it pass. It must stay in its place until [`Waits::wakes`].
    pub(crate) fn sleeps(&self, deadline: Option<&Deadline>) -> bool {
        let sleeps = SLEEPS.load(Ordering::Acquire) && self.0.is_some() && can_be_woken();
        if let Some(entry) = self.0.as_ref().filter(|_| sleeps) {
            let deadline = deadline.map_or(ptr::null_mut(), |deadline| ptr::from_ref(deadline).cast_mut());
            entry.deadline.store(deadline, Ordering::SeqCst);
            entry.sleep.store(ASLEEP, Ordering::SeqCst);
        }
        sleeps
    }

    /// Withdraws that. Returns whether the thread was woken.
    pub(crate) fn wakes(&self) -> bool {
        self.0.as_ref().is_some_and(|entry| entry.sleep.swap(AWAKE, Ordering::SeqCst) == WOKEN)
    }
}

/// The signal that Lockstep wakes a thread with: where nobody handles it, nothing happens.
const SIGURG: c_int = 23;
const SIG_DFL: usize = 0;
const SIG_BLOCK: c_int = 0;
/// The program's other system calls go on, and a handler may run where there is little stack.
const SA_RESTART_ONSTACK: c_int = 0x1000_0000 | 0x0800_0000;

/// Whether a set contains SIGURG. SAFETY: it is null or valid.
pub(crate) unsafe fn blocks_waking(signals: *const c_void) -> bool {
    // SAFETY: promised by the caller. The signals' first 64 stand in the first number, whatever else the set has.
    unsafe { signals.cast::<u64>().as_ref() }.is_some_and(|signals| signals >> (SIGURG - 1) & 1 != 0)
}

/// Whether the calling thread receives the signal. Installs its handler unless the program has one of its own: Node, for
/// example, resets all handlers when it starts.
fn can_be_woken() -> bool {
    let mut blocked: SignalSet = [0; 16];
    let mut known = Sigaction { handler: SIG_DFL, mask: [0; 16], flags: 0, restorer: 0 };
    // SAFETY: the places are ours, and the handler only uses atomics and a system call without arguments.
    unsafe {
        if pthread_sigmask(SIG_BLOCK, ptr::null(), &raw mut blocked) != 0
            || blocks_waking((&raw const blocked).cast())
            || sigaction(SIGURG, ptr::null(), &raw mut known) != 0
        {
            return false;
        }
        let handler = wake as extern "C" fn(c_int) as usize;
        if known.handler == SIG_DFL {
            let ours = Sigaction { handler, mask: [0; 16], flags: SA_RESTART_ONSTACK, restorer: 0 };
            return sigaction(SIGURG, &raw const ours, ptr::null_mut()) == 0;
        }
        known.handler == handler
    }
}

/// The handler: notes that the thread was woken, so that it does not take this for a signal to its program.
extern "C" fn wake(_: c_int) {
    let status = STATUS.load(Ordering::Acquire);
    let thread = this_thread();
    if status.is_null() || thread == 0 {
        return;
    }
    // SAFETY: the mapping has room for each entry.
    let word = |n: usize| unsafe { word(status, n) };
    if let Some(entry) = places(thread).find(|entry| word(*entry).load(Ordering::Acquire) == thread) {
        let slept = word(entry + 3).compare_exchange(ASLEEP, WOKEN, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        let deadline = DEADLINES[entry / page::STATUS_NUMBERS].load(Ordering::SeqCst);
        if slept && !deadline.is_null() {
            // SAFETY: this thread has not yet withdrawn its sleep, and until then the deadline stays in its place.
            for part in unsafe { &*deadline } {
                part.store(0, Ordering::SeqCst);
            }
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        if let Some(Entry { thread, ended, .. }) = &self.0 {
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
