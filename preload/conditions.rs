//! The functions that wait on a condition variable.

use crate::{
    libc::*,
    locking::thread_result,
    moment::{Family, Page},
    naps::SLEEP,
    status::{self, Waits},
};
use core::{
    ffi::{c_int, c_void},
    sync::atomic::AtomicI64,
};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_timedwait(
    condition: *mut c_void,
    mutex: *mut c_void,
    deadline: *const Timespec,
) -> c_int {
    let Some(wait) = COND_TIMEDWAIT.get() else {
        return ENOSYS;
    };
    // SAFETY: the caller's arguments, passed on.
    let wait = |deadline: *const Timespec| unsafe { wait(condition, mutex, deadline) };
    // SAFETY: the caller passes a valid deadline.
    let Some(when) = (unsafe { Timespec::read(deadline) }) else {
        return wait(deadline);
    };
    // The clock of a condition variable is set when the variable is made and cannot be queried. The deadline tells the
    // two clocks apart: no machine has been up for 31 years, and no calendar shows 1970 to 2001.
    let family = if when.seconds < 1_000_000_000 { Family::Monotonic } else { Family::Calendar };
    wait_on_condition(family, deadline, when, wait)
}

/// C11's name: glibc's types are the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_timedwait(
    condition: *mut c_void,
    mutex: *mut c_void,
    deadline: *const Timespec,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    thread_result(unsafe { pthread_cond_timedwait(condition, mutex, deadline) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_clockwait(
    condition: *mut c_void,
    mutex: *mut c_void,
    clock: c_int,
    deadline: *const Timespec,
) -> c_int {
    let Some(wait) = COND_CLOCKWAIT.get() else {
        return ENOSYS;
    };
    // SAFETY: the caller's arguments, passed on.
    let wait = |deadline: *const Timespec| unsafe { wait(condition, mutex, clock, deadline) };
    // Of a lab's servers only MariaDB calls this: an idle worker of its thread pool, which takes every return without
    // a task for the end of its minute, and ends. A pool without idle workers depends on a timer to start new ones,
    // and a timer does not fire while lesson time stands still: a statement that waits for a page to be written would
    // wait for ever. So idle workers stay. The pool signals while it holds the mutex, so no signal is lost.
    if status::is_server() {
        return wait(&Timespec::from_nanos(i64::MAX));
    }
    // SAFETY: the caller passes a valid deadline.
    match (unsafe { Timespec::read(deadline) }, Family::of(clock)) {
        (Some(when), Some(family)) => wait_on_condition(family, deadline, when, wait),
        _ => wait(deadline),
    }
}

/// Waits for one nap. If the nap ends without a signal, the wait ends as a *spurious wake-up*, which POSIX allows and
/// every caller must expect, and not with another nap: between two naps nobody waits, and a signal given just then (the
/// JVM signals after unlocking) would be lost for ever. So the caller must check its condition again.
fn wait_on_condition(
    family: Family,
    original: *const Timespec,
    when: Timespec,
    wait: impl Fn(*const Timespec) -> c_int,
) -> c_int {
    let Some(page) = Page::get() else {
        return wait(original);
    };
    let moment = page.moment();
    // Even after its deadline a wait unlocks the mutex for a moment, as libc's would.
    let left = when.as_nanos().saturating_sub(moment.of(family));
    let published = Waits::until(moment.monotonic.saturating_add(left));
    let until = |nap| {
        let until = Timespec::from_nanos(real(family.real()) + nap);
        [until.seconds, until.nanos].map(AtomicI64::new)
    };
    let mut deadline = until(SLEEP);
    if left <= 0 || moment.line.rate > 0 || !published.sleeps(Some(&deadline)) {
        deadline = until(moment.nap(left));
    }
    // Two numbers of 64 bits, as a `Timespec` has.
    let result = wait((&raw const deadline).cast());
    published.wakes();
    if result == ETIMEDOUT && page.moment().of(family) < when.as_nanos() { 0 } else { result }
}
