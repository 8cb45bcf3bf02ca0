//! The parts of libc that the lesson clock needs: numbers and types of its headers, and libc's own functions behind
//! those of this library. Knows nothing of lesson time.

use crate::vdso;
use core::{
    ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void},
    marker::PhantomData,
    mem, ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

pub(crate) const SECOND: i64 = 1_000_000_000;
pub(crate) const MILLISECOND: i64 = 1_000_000;

// From the system's headers; the numbers hold for Linux on both processors.
pub(crate) const CLOCK_REALTIME: c_int = 0;
pub(crate) const CLOCK_MONOTONIC: c_int = 1;
pub(crate) const CLOCK_MONOTONIC_RAW: c_int = 4;
pub(crate) const CLOCK_REALTIME_COARSE: c_int = 5;
pub(crate) const CLOCK_MONOTONIC_COARSE: c_int = 6;
pub(crate) const CLOCK_BOOTTIME: c_int = 7;
pub(crate) const TIMER_ABSTIME: c_int = 1;
pub(crate) const EINTR: c_int = 4;
pub(crate) const EAGAIN: c_int = 11;
pub(crate) const EINVAL: c_int = 22;
pub(crate) const ENOSYS: c_int = 38;
pub(crate) const ETIMEDOUT: c_int = 110;
pub(crate) const O_RDONLY_CLOEXEC: c_int = 0o2_000_000;
pub(crate) const PROT_READ: c_int = 1;
pub(crate) const PROT_WRITE: c_int = 2;
pub(crate) const PROT_EXEC: c_int = 4;
pub(crate) const MAP_SHARED: c_int = 1;
pub(crate) const RTLD_NEXT: *mut c_void = ptr::without_provenance_mut(usize::MAX);
/// glibc keeps older, incompatible condition variables under the same names, so the current version must be requested.
#[cfg(target_arch = "x86_64")]
pub(crate) const CONDVAR_VERSION: &CStr = c"GLIBC_2.3.2";
#[cfg(target_arch = "aarch64")]
pub(crate) const CONDVAR_VERSION: &CStr = c"GLIBC_2.17";

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Timespec {
    pub(crate) seconds: i64,
    pub(crate) nanos: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Timeval {
    pub(crate) seconds: i64,
    pub(crate) micros: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Itimerspec {
    pub(crate) interval: Timespec,
    pub(crate) value: Timespec,
}

/// The signals that a thread does not receive.
pub(crate) type SignalSet = [u64; 16];

#[repr(C)]
pub(crate) struct Sigaction {
    pub(crate) handler: usize,
    pub(crate) mask: SignalSet,
    pub(crate) flags: c_int,
    pub(crate) restorer: usize,
}

unsafe extern "C" {
    pub(crate) fn sigaction(signal: c_int, new: *const Sigaction, old: *mut Sigaction) -> c_int;
    pub(crate) fn pthread_sigmask(how: c_int, new: *const SignalSet, old: *mut SignalSet) -> c_int;
    pub(crate) fn getenv(name: *const c_char) -> *const c_char;
    pub(crate) fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub(crate) fn close(fd: c_int) -> c_int;
    pub(crate) fn mmap(
        at: *mut c_void,
        size: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub(crate) fn munmap(at: *mut c_void, size: usize) -> c_int;
    pub(crate) fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub(crate) fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    pub(crate) fn lseek(fd: c_int, offset: i64, whence: c_int) -> i64;
    pub(crate) fn readlink(path: *const c_char, into: *mut c_char, room: usize) -> isize;
    pub(crate) fn write(fd: c_int, bytes: *const c_void, length: usize) -> isize;
    pub(crate) fn sched_yield() -> c_int;
    pub(crate) fn getpid() -> c_int;
    pub(crate) fn getppid() -> c_int;
    pub(crate) fn prctl(option: c_int, argument: c_ulong, ...) -> c_int;
    pub(crate) fn _exit(status: c_int) -> !;
    pub(crate) fn __errno_location() -> *mut c_int;
}

/// libc's function behind one of this library's, looked up on first use: constructors of other libraries may read the
/// time before this library's has run.
pub(crate) struct Next<F> {
    name: &'static CStr,
    version: Option<&'static CStr>,
    found: AtomicPtr<c_void>,
    signature: PhantomData<F>,
}

impl<F: Copy> Next<F> {
    pub(crate) const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Self {
        Self { name, version, found: AtomicPtr::new(ptr::null_mut()), signature: PhantomData }
    }

    /// Returns `None` only if this libc has no such function.
    pub(crate) fn get(&self) -> Option<F> {
        let mut found = self.found.load(Ordering::Acquire);
        if found.is_null() {
            // SAFETY: both names are C strings, and RTLD_NEXT is a valid handle.
            unsafe {
                if let Some(version) = self.version {
                    found = dlvsym(RTLD_NEXT, self.name.as_ptr(), version.as_ptr());
                }
                if found.is_null() {
                    found = dlsym(RTLD_NEXT, self.name.as_ptr());
                }
            }
            self.found.store(found, Ordering::Release);
        }
        // SAFETY: `F` is always a function pointer, which has the size of this one, and libc declares `name`
        // with that signature.
        (!found.is_null()).then(|| unsafe { mem::transmute_copy::<*mut c_void, F>(&found) })
    }
}

pub(crate) type Fork = unsafe extern "C" fn() -> c_int;
pub(crate) type Fsync = unsafe extern "C" fn(c_int) -> c_int;
pub(crate) type ClockGettime = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;
pub(crate) type TimespecGet = unsafe extern "C" fn(*mut Timespec, c_int) -> c_int;
pub(crate) type CondTimedwait = unsafe extern "C" fn(*mut c_void, *mut c_void, *const Timespec) -> c_int;
pub(crate) type CondClockwait =
    unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *const Timespec) -> c_int;
pub(crate) type EpollWait = unsafe extern "C" fn(c_int, *mut c_void, c_int, c_int) -> c_int;
pub(crate) type EpollPwait = unsafe extern "C" fn(c_int, *mut c_void, c_int, c_int, *const c_void) -> c_int;
pub(crate) type EpollPwait2 =
    unsafe extern "C" fn(c_int, *mut c_void, c_int, *const Timespec, *const c_void) -> c_int;
pub(crate) type Poll = unsafe extern "C" fn(*mut c_void, u64, c_int) -> c_int;
pub(crate) type Ppoll = unsafe extern "C" fn(*mut c_void, u64, *const Timespec, *const c_void) -> c_int;
pub(crate) type Select = unsafe extern "C" fn(c_int, *mut u64, *mut u64, *mut u64, *mut Timeval) -> c_int;
pub(crate) type Pselect =
    unsafe extern "C" fn(c_int, *mut u64, *mut u64, *mut u64, *const Timespec, *const c_void) -> c_int;
pub(crate) type SemTimedwait = unsafe extern "C" fn(*mut c_void, *const Timespec) -> c_int;
pub(crate) type SemClockwait = unsafe extern "C" fn(*mut c_void, c_int, *const Timespec) -> c_int;
pub(crate) type TimerfdSettime =
    unsafe extern "C" fn(c_int, c_int, *const Itimerspec, *mut Itimerspec) -> c_int;
pub(crate) type ClockNanosleep = unsafe extern "C" fn(c_int, c_int, *const Timespec, *mut Timespec) -> c_int;
pub(crate) type Syscall =
    unsafe extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;

pub(crate) static FORK: Next<Fork> = Next::new(c"fork", None);
pub(crate) static FSYNC: Next<Fsync> = Next::new(c"fsync", None);
pub(crate) static FDATASYNC: Next<Fsync> = Next::new(c"fdatasync", None);
pub(crate) static CLOCK_GETTIME: Next<ClockGettime> = Next::new(c"clock_gettime", None);
pub(crate) static TIMESPEC_GET: Next<TimespecGet> = Next::new(c"timespec_get", None);
pub(crate) static COND_TIMEDWAIT: Next<CondTimedwait> =
    Next::new(c"pthread_cond_timedwait", Some(CONDVAR_VERSION));
pub(crate) static COND_CLOCKWAIT: Next<CondClockwait> = Next::new(c"pthread_cond_clockwait", None);
pub(crate) static EPOLL_WAIT: Next<EpollWait> = Next::new(c"epoll_wait", None);
pub(crate) static EPOLL_PWAIT: Next<EpollPwait> = Next::new(c"epoll_pwait", None);
pub(crate) static EPOLL_PWAIT2: Next<EpollPwait2> = Next::new(c"epoll_pwait2", None);
pub(crate) static POLL: Next<Poll> = Next::new(c"poll", None);
pub(crate) static PPOLL: Next<Ppoll> = Next::new(c"ppoll", None);
pub(crate) static SELECT: Next<Select> = Next::new(c"select", None);
pub(crate) static PSELECT: Next<Pselect> = Next::new(c"pselect", None);
pub(crate) static SEM_TIMEDWAIT: Next<SemTimedwait> = Next::new(c"sem_timedwait", None);
pub(crate) static SEM_CLOCKWAIT: Next<SemClockwait> = Next::new(c"sem_clockwait", None);
pub(crate) static TIMERFD_SETTIME: Next<TimerfdSettime> = Next::new(c"timerfd_settime", None);
pub(crate) static CLOCK_NANOSLEEP: Next<ClockNanosleep> = Next::new(c"clock_nanosleep", None);
pub(crate) static SYSCALL: Next<Syscall> = Next::new(c"syscall", None);

pub(crate) fn set_errno(value: c_int) {
    // SAFETY: glibc gives each thread a valid place for its errno.
    unsafe { *__errno_location() = value }
}

pub(crate) fn errno() -> c_int {
    // SAFETY: as above.
    unsafe { *__errno_location() }
}

/// Returns -1 with `ENOSYS`: the result of a function that this libc does not have.
pub(crate) fn missing() -> c_int {
    set_errno(ENOSYS);
    -1
}

/// The real reading of a clock that always exists, in nanoseconds.
pub(crate) fn real(clock: c_int) -> i64 {
    if vdso::CHANGED.load(Ordering::Relaxed) {
        return vdso::real(clock);
    }
    let mut time = Timespec { seconds: 0, nanos: 0 };
    if let Some(clock_gettime) = CLOCK_GETTIME.get() {
        // SAFETY: `time` is ours.
        unsafe { clock_gettime(clock, &raw mut time) };
    }
    time.as_nanos()
}

impl Timespec {
    pub(crate) const fn from_nanos(nanos: i64) -> Self {
        Self { seconds: nanos.div_euclid(SECOND), nanos: nanos.rem_euclid(SECOND) }
    }

    /// Saturates on far times: a JVM waits "for ever" by naming a year far away.
    pub(crate) const fn as_nanos(self) -> i64 {
        self.seconds.saturating_mul(SECOND).saturating_add(self.nanos)
    }

    /// Whether the kernel would accept this time; an invalid time is passed on, so that the kernel reports the error.
    pub(crate) const fn is_valid(self) -> bool {
        self.seconds >= 0 && 0 <= self.nanos && self.nanos < SECOND
    }

    /// Reads a caller's argument. SAFETY: `time` is null or valid.
    pub(crate) unsafe fn read(time: *const Self) -> Option<Self> {
        // SAFETY: promised by the caller.
        unsafe { time.as_ref() }.copied().filter(|time| time.is_valid())
    }
}

impl Timeval {
    /// Rounds down.
    pub(crate) const fn from_nanos(nanos: i64) -> Self {
        let time = Timespec::from_nanos(nanos);
        Self { seconds: time.seconds, micros: time.nanos / 1000 }
    }

    /// Returns `None` if the kernel would not accept it. The kernel does accept a million microseconds and more.
    pub(crate) fn as_nanos(self) -> Option<i64> {
        (self.seconds >= 0 && self.micros >= 0)
            .then(|| self.seconds.saturating_mul(SECOND).saturating_add(self.micros.saturating_mul(1000)))
    }
}
