//! The functions that sleep, or wait on a futex.

use crate::{
    libc::*,
    moment::{Family, Page},
    naps::{BY_ERRNO, is_late},
    status::{real_wait, shortest_lesson_sleep},
};
use core::{
    ffi::{c_int, c_long, c_uint},
    ptr,
};

const FUTEX_WAIT: c_long = 0;
const FUTEX_WAIT_BITSET: c_long = 9;
/// No operation on a futex.
const NO_WAIT: c_long = -1;
const FUTEX_CLOCK_REALTIME: c_long = 256;
/// The operation without its flags (private, clock).
const FUTEX_COMMAND: c_long = 127;
#[cfg(target_arch = "x86_64")]
const SYS_FUTEX: c_long = 202;
#[cfg(target_arch = "aarch64")]
const SYS_FUTEX: c_long = 98;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(duration: *const Timespec, rest: *mut Timespec) -> c_int {
    // SAFETY: the caller's arguments, passed on. (The two functions differ only in how they report errors.)
    match unsafe { clock_nanosleep(CLOCK_REALTIME, 0, duration, rest) } {
        0 => 0,
        error => {
            set_errno(error);
            -1
        }
    }
}

/// Returns the seconds that are left: 0 unless a signal interrupted the sleep.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let mut rest = Timespec { seconds: i64::from(seconds), nanos: 0 };
    let time = &raw mut rest;
    // SAFETY: the time is ours, and may be overwritten with the remainder.
    match unsafe { nanosleep(time, time) } {
        0 => 0,
        _ => rest.seconds as c_uint,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn usleep(micros: c_uint) -> c_int {
    let time = Timespec::from_nanos(i64::from(micros) * 1000);
    // SAFETY: the time is ours, and the remainder is not requested.
    unsafe { nanosleep(&raw const time, ptr::null_mut()) }
}

/// C11's `nanosleep`. Returns -1 if a signal interrupted the sleep, and another negative number after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_sleep(duration: *const Timespec, rest: *mut Timespec) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    match unsafe { clock_nanosleep(CLOCK_REALTIME, 0, duration, rest) } {
        0 => 0,
        EINTR => -1,
        _ => -2,
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
    let given = unsafe { Timespec::read(request) };
    let (Some(given), Some(family), Some(page)) = (given, Family::of(clock), Page::get()) else {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { sleep(clock, flags, request, rest) };
    };
    let absolute = match flags {
        0 => false,
        TIMER_ABSTIME => true,
        _ => return EINVAL,
    };
    if !absolute && given.as_nanos() < shortest_lesson_sleep() {
        let _published = real_wait();
        // SAFETY: the caller's arguments, passed on.
        return unsafe { sleep(clock, flags, request, rest) };
    }
    // A relative sleep is measured on the clock that has no skew.
    let family = if absolute { family } else { Family::Monotonic };
    let deadline =
        if absolute { given.as_nanos() } else { page.moment().monotonic.saturating_add(given.as_nanos()) };
    let (error, left) = page.nap_until(family, deadline, Some(|error| *error == EINTR), |nap| {
        let nap = Timespec::from_nanos(nap);
        // SAFETY: `nap` is ours, and the remainder is not requested.
        let result = unsafe { sleep(CLOCK_MONOTONIC, 0, &raw const nap, ptr::null_mut()) };
        (result != 0).then_some(result)
    });
    // SAFETY: the caller passes null or a valid place.
    if let (Some(EINTR), false, Some(rest)) = (error, absolute, unsafe { rest.as_mut() }) {
        *rest = Timespec::from_nanos(left);
    }
    error.unwrap_or(0)
}

/// Handles only one system call: waiting on a futex until a deadline, or for a length of time. libc declares this function with a variable
/// number of arguments; on both processors they are passed as these seven are.
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
    let operation = if number == SYS_FUTEX { operation } else { NO_WAIT };
    let command = operation & FUTEX_COMMAND;
    if ![FUTEX_WAIT, FUTEX_WAIT_BITSET].contains(&command) {
        return call(deadline);
    }
    // SAFETY: for this operation the argument is null or a valid time.
    let given = unsafe { Timespec::read(ptr::with_exposed_provenance(deadline as usize)) };
    let (Some(given), Some(page)) = (given, Page::get()) else {
        return call(deadline);
    };
    // The kernel compares the futex's value first, so a wake-up between two naps is noticed.
    let wait = |until: *const Timespec| call(until.expose_provenance() as c_long) as c_int;
    if command == FUTEX_WAIT {
        return page.wait_for(given, BY_ERRNO, is_late, wait).into();
    }
    let family = if operation & FUTEX_CLOCK_REALTIME == 0 { Family::Monotonic } else { Family::Calendar };
    page.wait_until(family, given, BY_ERRNO, is_late, wait).into()
}
