//! The functions that wait for a lock or for the end of a thread, until a deadline.

use crate::{
    libc::*,
    moment::{Family, Page},
};
use core::ffi::{c_int, c_void};

type Timed = unsafe extern "C" fn(*mut c_void, *const Timespec) -> c_int;
type Clocked = unsafe extern "C" fn(*mut c_void, c_int, *const Timespec) -> c_int;
type TimedJoin = unsafe extern "C" fn(usize, *mut *mut c_void, *const Timespec) -> c_int;
type ClockJoin = unsafe extern "C" fn(usize, *mut *mut c_void, c_int, *const Timespec) -> c_int;

static MUTEX_TIMEDLOCK: Next<Timed> = Next::new(c"pthread_mutex_timedlock", None);
static MUTEX_CLOCKLOCK: Next<Clocked> = Next::new(c"pthread_mutex_clocklock", None);
static RWLOCK_TIMEDRDLOCK: Next<Timed> = Next::new(c"pthread_rwlock_timedrdlock", None);
static RWLOCK_TIMEDWRLOCK: Next<Timed> = Next::new(c"pthread_rwlock_timedwrlock", None);
static RWLOCK_CLOCKRDLOCK: Next<Clocked> = Next::new(c"pthread_rwlock_clockrdlock", None);
static RWLOCK_CLOCKWRLOCK: Next<Clocked> = Next::new(c"pthread_rwlock_clockwrlock", None);
static TIMEDJOIN: Next<TimedJoin> = Next::new(c"pthread_timedjoin_np", None);
static CLOCKJOIN: Next<ClockJoin> = Next::new(c"pthread_clockjoin_np", None);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_timedlock(mutex: *mut c_void, deadline: *const Timespec) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { timed(&MUTEX_TIMEDLOCK, mutex, deadline) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: *mut c_void,
    clock: c_int,
    deadline: *const Timespec,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { clocked(&MUTEX_CLOCKLOCK, mutex, clock, deadline) }
}

/// C11's name: glibc's types are the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mtx_timedlock(mutex: *mut c_void, deadline: *const Timespec) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    thread_result(unsafe { pthread_mutex_timedlock(mutex, deadline) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_rwlock_timedrdlock(lock: *mut c_void, deadline: *const Timespec) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { timed(&RWLOCK_TIMEDRDLOCK, lock, deadline) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_rwlock_timedwrlock(lock: *mut c_void, deadline: *const Timespec) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { timed(&RWLOCK_TIMEDWRLOCK, lock, deadline) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_rwlock_clockrdlock(
    lock: *mut c_void,
    clock: c_int,
    deadline: *const Timespec,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { clocked(&RWLOCK_CLOCKRDLOCK, lock, clock, deadline) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_rwlock_clockwrlock(
    lock: *mut c_void,
    clock: c_int,
    deadline: *const Timespec,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { clocked(&RWLOCK_CLOCKWRLOCK, lock, clock, deadline) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_timedjoin_np(
    thread: usize,
    result: *mut *mut c_void,
    deadline: *const Timespec,
) -> c_int {
    let Some(join) = TIMEDJOIN.get() else { return ENOSYS };
    // SAFETY: the caller's arguments, passed on; null waits for ever.
    unsafe { until(CLOCK_REALTIME, deadline, |deadline| join(thread, result, deadline)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_clockjoin_np(
    thread: usize,
    result: *mut *mut c_void,
    clock: c_int,
    deadline: *const Timespec,
) -> c_int {
    let Some(join) = CLOCKJOIN.get() else { return ENOSYS };
    // SAFETY: the caller's arguments, passed on; null waits for ever.
    unsafe { until(clock, deadline, |deadline| join(thread, result, clock, deadline)) }
}

/// The result of a function of C11's threads, from the error of the function of POSIX behind it.
pub(crate) const fn thread_result(error: c_int) -> c_int {
    const SUCCESS: c_int = 0;
    const ERROR: c_int = 2;
    const TIMEDOUT: c_int = 4;
    match error {
        0 => SUCCESS,
        ETIMEDOUT => TIMEDOUT,
        _ => ERROR,
    }
}

/// SAFETY: the arguments are those of the function.
unsafe fn timed(function: &Next<Timed>, lock: *mut c_void, deadline: *const Timespec) -> c_int {
    let Some(wait) = function.get() else { return ENOSYS };
    // SAFETY: promised by the caller.
    unsafe { until(CLOCK_REALTIME, deadline, |deadline| wait(lock, deadline)) }
}

/// SAFETY: the arguments are those of the function.
unsafe fn clocked(
    function: &Next<Clocked>,
    lock: *mut c_void,
    clock: c_int,
    deadline: *const Timespec,
) -> c_int {
    let Some(wait) = function.get() else { return ENOSYS };
    // SAFETY: promised by the caller.
    unsafe { until(clock, deadline, |deadline| wait(lock, clock, deadline)) }
}

/// SAFETY: the deadline is null or valid.
unsafe fn until(clock: c_int, deadline: *const Timespec, wait: impl Fn(*const Timespec) -> c_int) -> c_int {
    // SAFETY: promised by the caller.
    let given = unsafe { Timespec::read(deadline) };
    match (given, Family::of(clock), Page::get()) {
        (Some(when), Some(family), Some(page)) => {
            page.wait_until(family, when, None, |result| result == ETIMEDOUT, wait)
        }
        _ => wait(deadline),
    }
}
