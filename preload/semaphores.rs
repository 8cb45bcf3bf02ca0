//! The functions that wait on a semaphore.

use crate::{
    libc::*,
    moment::{Family, Page},
    naps::{BY_ERRNO, is_late},
};
use core::ffi::{c_int, c_void};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_timedwait(semaphore: *mut c_void, deadline: *const Timespec) -> c_int {
    let Some(wait) = SEM_TIMEDWAIT.get() else {
        return missing();
    };
    // SAFETY: the caller's arguments, passed on.
    let wait = |deadline: *const Timespec| unsafe { wait(semaphore, deadline) };
    // SAFETY: the caller passes a valid deadline.
    match (unsafe { Timespec::read(deadline) }, Page::get()) {
        (Some(when), Some(page)) => page.wait_until(Family::Calendar, when, BY_ERRNO, is_late, wait),
        _ => wait(deadline),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_clockwait(
    semaphore: *mut c_void,
    clock: c_int,
    deadline: *const Timespec,
) -> c_int {
    let Some(wait) = SEM_CLOCKWAIT.get() else {
        return missing();
    };
    // SAFETY: the caller's arguments, passed on.
    let wait = |deadline: *const Timespec| unsafe { wait(semaphore, clock, deadline) };
    // SAFETY: the caller passes a valid deadline.
    let given = unsafe { Timespec::read(deadline) };
    match (given, Family::of(clock), Page::get()) {
        (Some(when), Some(family), Some(page)) => page.wait_until(family, when, BY_ERRNO, is_late, wait),
        _ => wait(deadline),
    }
}
