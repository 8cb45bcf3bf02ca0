//! The functions that sleep, or wait on a futex. They must not know who sleeps, or why.

use crate::{
    libc::*,
    moment::{Family, Page},
};
use core::{
    ffi::{c_int, c_long},
    ptr,
};

/// Sleeps shorter than this stay real: they are how runtimes back off (the JVM, before each of its safepoints),
/// and a pause must not stop a server from working, only its time from passing.
const SHORTEST_LESSON_SLEEP: i64 = 100 * MILLISECOND;

const FUTEX_WAIT_BITSET: c_long = 9;
const FUTEX_CLOCK_REALTIME: c_long = 256;
/// The operation without its flags (private, clock).
const FUTEX_COMMAND: c_long = 127;
#[cfg(target_arch = "x86_64")]
const SYS_FUTEX: c_long = 202;
#[cfg(target_arch = "aarch64")]
const SYS_FUTEX: c_long = 98;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(duration: *const Timespec, rest: *mut Timespec) -> c_int {
    // SAFETY: the caller's arguments, passed on. (The same function, but for how it reports errors.)
    match unsafe { clock_nanosleep(CLOCK_REALTIME, 0, duration, rest) } {
        0 => 0,
        error => {
            set_errno(error);
            -1
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    request: *const Timespec,
    rest: *mut Timespec,
) -> c_int {
    let Some(sleep) = CLOCK_NANOSLEEP.get() else {
        return ENOSYS;
    };
    // SAFETY: the caller passes null or a valid time.
    let given = unsafe { Timespec::given(request) };
    let (Some(given), Some(family), Some(page)) = (given, Family::of(clock), Page::get()) else {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { sleep(clock, flags, request, rest) };
    };
    let absolute = match flags {
        0 => false,
        TIMER_ABSTIME => true,
        _ => return EINVAL,
    };
    if !absolute && given.as_nanos() < SHORTEST_LESSON_SLEEP {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { sleep(clock, flags, request, rest) };
    }
    // A relative sleep is measured on the clock that no skew can move.
    let family = if absolute { family } else { Family::Monotonic };
    let mut moment = page.moment();
    let deadline =
        if absolute { given.as_nanos() } else { moment.monotonic.saturating_add(given.as_nanos()) };
    loop {
        let left = deadline.saturating_sub(moment.of(family));
        if left <= 0 {
            return 0;
        }
        let nap = Timespec::from_nanos(moment.nap(left));
        // SAFETY: `nap` is ours, and nobody asked for its rest.
        let result = unsafe { sleep(CLOCK_MONOTONIC, 0, &raw const nap, ptr::null_mut()) };
        moment = page.moment();
        if result != 0 {
            // SAFETY: the caller passes null or a valid place.
            if let (EINTR, false, Some(rest)) = (result, absolute, unsafe { rest.as_mut() }) {
                *rest = Timespec::from_nanos(deadline.saturating_sub(moment.of(family)).max(0));
            }
            return result;
        }
    }
}

/// Only one system call is of interest: waiting on a futex until a deadline. libc declares this function with
/// a variable number of arguments; on both our processors those travel as these seven do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    word: c_long,
    operation: c_long,
    value: c_long,
    deadline: c_long,
    word2: c_long,
    mask: c_long,
) -> c_long {
    let Some(call) = SYSCALL.get() else {
        return missing().into();
    };
    // SAFETY: the caller's arguments, passed on, but for the deadline.
    let call = |deadline: c_long| unsafe { call(number, word, operation, value, deadline, word2, mask) };
    if number != SYS_FUTEX || operation & FUTEX_COMMAND != FUTEX_WAIT_BITSET {
        return call(deadline);
    }
    // SAFETY: for this operation the argument is null or a valid time.
    let given = unsafe { Timespec::given(ptr::with_exposed_provenance(deadline as usize)) };
    let (Some(given), Some(page)) = (given, Page::get()) else {
        return call(deadline);
    };
    let family = if operation & FUTEX_CLOCK_REALTIME == 0 { Family::Monotonic } else { Family::Calendar };
    loop {
        let moment = page.moment();
        let nap = moment.nap(given.as_nanos().saturating_sub(moment.of(family)));
        let until = Timespec::from_nanos(real(family.real()) + nap);
        let result = call((&raw const until).expose_provenance() as c_long);
        // Unlike a condition variable, a futex may be waited for again: the kernel compares its value first,
        // so a wake-up between two naps is seen.
        if result == 0 || errno() != ETIMEDOUT || page.moment().of(family) >= given.as_nanos() {
            return result;
        }
    }
}
