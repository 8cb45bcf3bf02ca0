//! The functions that wait for files, with a timeout. They must not know what the files are.

use crate::{libc::*, moment::Page};
use core::ffi::{c_int, c_void};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut c_void,
    capacity: c_int,
    timeout: c_int,
) -> c_int {
    let Some(wait) = EPOLL_WAIT.get() else {
        return missing();
    };
    // SAFETY: the caller's arguments, passed on.
    wait_for_files(timeout, |timeout| unsafe { wait(epoll, events, capacity, timeout) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut c_void,
    capacity: c_int,
    timeout: c_int,
    signals: *const c_void,
) -> c_int {
    let Some(wait) = EPOLL_PWAIT.get() else {
        return missing();
    };
    // SAFETY: the caller's arguments, passed on.
    wait_for_files(timeout, |timeout| unsafe { wait(epoll, events, capacity, timeout, signals) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(files: *mut c_void, count: u64, timeout: c_int) -> c_int {
    let Some(wait) = POLL.get() else { return missing() };
    // SAFETY: the caller's arguments, passed on.
    wait_for_files(timeout, |timeout| unsafe { wait(files, count, timeout) })
}

/// Waits `timeout` milliseconds of lesson time, or until `wait` has anything to say: files or an error. Naps may
/// follow each other here, since a file that becomes ready between two of them is still ready in the next.
fn wait_for_files(timeout: c_int, wait: impl Fn(c_int) -> c_int) -> c_int {
    let Some(page) = Page::get() else {
        return wait(timeout);
    };
    if timeout <= 0 {
        // "Look only", or "wait for ever": no time in it.
        return wait(timeout);
    }
    let mut moment = page.moment();
    let deadline = moment.monotonic.saturating_add(i64::from(timeout) * MILLISECOND);
    loop {
        let nap = moment.nap(deadline - moment.monotonic);
        // Rounded up: a last nap of nothing would spin through the last millisecond.
        let result = wait(((nap + MILLISECOND - 1) / MILLISECOND) as c_int);
        if result != 0 {
            return result;
        }
        moment = page.moment();
        if moment.monotonic >= deadline {
            return 0;
        }
    }
}

/// A relative timer is set to what its time means in real time, and rings early if that is more than one nap:
/// its owner looks at the clock, finds it too early and sets it again, and so notices changes of the lesson's
/// speed. The one owner of such timers among our processes (async-io) is written that way. Absolute and
/// repeated timers are left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timerfd_settime(
    fd: c_int,
    flags: c_int,
    new: *const Itimerspec,
    old: *mut Itimerspec,
) -> c_int {
    let Some(settime) = TIMERFD_SETTIME.get() else {
        return missing();
    };
    // SAFETY: the caller passes null or a valid timer.
    let given = unsafe { new.as_ref() }.filter(|timer| timer.value.is_valid());
    if let (Some(given), Some(page), 0) = (given, Page::get(), flags)
        && given.interval.as_nanos() == 0
        && given.value.as_nanos() > 0
    {
        let nap = page.moment().nap(given.value.as_nanos());
        let scaled = Itimerspec { value: Timespec::from_nanos(nap), ..*given };
        // SAFETY: the caller's arguments, but for a timer of our own.
        return unsafe { settime(fd, flags, &raw const scaled, old) };
    }
    // SAFETY: the caller's arguments, passed on.
    unsafe { settime(fd, flags, new, old) }
}
