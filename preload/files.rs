//! The functions that wait for file descriptors, with a timeout.

use crate::{
    libc::*,
    moment::{Family, Page},
    naps::{BY_ERRNO, Interrupted},
    reading::polled_in_vain,
    status::{blocks_waking, real_wait, shortest_lesson_sleep},
};
use core::{
    ffi::{c_int, c_void},
    ptr,
};

/// The number of 64-bit words in libc's `fd_set`, which has room for 1024 descriptors.
const SET_WORDS: usize = 1024 / 64;

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
    wait_milliseconds(true, BY_ERRNO, timeout, |timeout| unsafe { wait(epoll, events, capacity, timeout) })
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
    wait_milliseconds(true, unsafe { interrupted(signals) }, timeout, |timeout| unsafe {
        wait(epoll, events, capacity, timeout, signals)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut c_void,
    capacity: c_int,
    timeout: *const Timespec,
    signals: *const c_void,
) -> c_int {
    let Some(wait) = EPOLL_PWAIT2.get() else {
        return missing();
    };
    // SAFETY: the caller passes null or a valid time, and its other arguments are passed on.
    unsafe {
        wait_timespec(true, interrupted(signals), timeout, |timeout| {
            wait(epoll, events, capacity, timeout, signals)
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(files: *mut c_void, count: u64, timeout: c_int) -> c_int {
    let Some(wait) = POLL.get() else { return missing() };
    // SAFETY: the caller's arguments, passed on.
    wait_milliseconds(count > 0, BY_ERRNO, timeout, |timeout| unsafe { wait(files, count, timeout) })
}

/// The name of `poll` in programs that were built with checks of buffer sizes (`_FORTIFY_SOURCE`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __poll_chk(files: *mut c_void, count: u64, timeout: c_int, _: usize) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { poll(files, count, timeout) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    files: *mut c_void,
    count: u64,
    timeout: *const Timespec,
    signals: *const c_void,
) -> c_int {
    let Some(wait) = PPOLL.get() else { return missing() };
    // SAFETY: the caller passes null or a valid time, and its other arguments are passed on.
    unsafe {
        wait_timespec(count > 0, interrupted(signals), timeout, |timeout| {
            wait(files, count, timeout, signals)
        })
    }
}

/// The name of `ppoll` in programs that were built with checks of buffer sizes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ppoll_chk(
    files: *mut c_void,
    count: u64,
    timeout: *const Timespec,
    signals: *const c_void,
    _: usize,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { ppoll(files, count, timeout, signals) }
}

/// Unlike the other functions, `select` reports how much time was left, whatever its result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn select(
    count: c_int,
    read: *mut u64,
    write: *mut u64,
    except: *mut u64,
    timeout: *mut Timeval,
) -> c_int {
    let Some(wait) = SELECT.get() else { return missing() };
    // SAFETY: the caller's arguments, passed on.
    let wait = |timeout: *mut Timeval| unsafe { wait(count, read, write, except, timeout) };
    // SAFETY: the caller passes null or a valid time.
    let given = unsafe { timeout.as_ref() };
    let time = given.and_then(|time| time.as_nanos()).unwrap_or(0);
    // Rounded up, like the others' milliseconds.
    let nap = |nap| wait(&mut Timeval::from_nanos(nap + 999));
    // SAFETY: the caller's sets.
    let Some((result, left)) = (unsafe { wait_for_sets(count, [read, write, except], BY_ERRNO, time, nap) })
    else {
        return polled(!timeout.is_null() && time == 0, wait(timeout));
    };
    // SAFETY: `timeout` is not null: without a timeout `wait_for_sets` returns `None`.
    unsafe { *timeout = Timeval::from_nanos(left) };
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut u64,
    write: *mut u64,
    except: *mut u64,
    timeout: *const Timespec,
    signals: *const c_void,
) -> c_int {
    let Some(wait) = PSELECT.get() else { return missing() };
    // SAFETY: the caller's arguments, passed on.
    let wait = |timeout: *const Timespec| unsafe { wait(count, read, write, except, timeout, signals) };
    // SAFETY: the caller passes null or a valid time.
    let time = unsafe { Timespec::read(timeout) }.map_or(0, Timespec::as_nanos);
    let nap = |nap| wait(&Timespec::from_nanos(nap));
    // SAFETY: the caller's sets.
    match unsafe { wait_for_sets(count, [read, write, except], interrupted(signals), time, nap) } {
        Some((result, _)) => result,
        None => polled(!timeout.is_null() && time == 0, wait(timeout)),
    }
}

/// Returns the result of a call that was passed on to libc. If that was a poll, which does not wait, and found nothing,
/// the program's clock is told.
fn polled(is_poll: bool, result: c_int) -> c_int {
    if is_poll && result == 0 {
        polled_in_vain();
    }
    result
}

/// How a wait that itself sets which signals are blocked tells that it was woken. SAFETY: the set is null or valid.
unsafe fn interrupted(signals: *const c_void) -> Interrupted<c_int> {
    // SAFETY: promised by the caller.
    BY_ERRNO.filter(|_| unsafe { !blocks_waking(signals) })
}

fn wait_milliseconds(
    files: bool,
    interrupted: Interrupted<c_int>,
    timeout: c_int,
    wait: impl Fn(c_int) -> c_int,
) -> c_int {
    // Rounded up: a last nap of 0 ms would spin through the last millisecond.
    let nap = |nap| wait(((nap + MILLISECOND - 1) / MILLISECOND) as c_int);
    match wait_for_files(files, interrupted, i64::from(timeout) * MILLISECOND, nap) {
        Some((result, _)) => result,
        None => polled(timeout == 0, wait(timeout)),
    }
}

/// SAFETY: the timeout is null or a valid time.
unsafe fn wait_timespec(
    files: bool,
    interrupted: Interrupted<c_int>,
    timeout: *const Timespec,
    wait: impl Fn(*const Timespec) -> c_int,
) -> c_int {
    // SAFETY: promised by the caller.
    let time = unsafe { Timespec::read(timeout) }.map_or(0, Timespec::as_nanos);
    match wait_for_files(files, interrupted, time, |nap| wait(&Timespec::from_nanos(nap))) {
        Some((result, _)) => result,
        None => polled(!timeout.is_null() && time == 0, wait(timeout)),
    }
}

/// As [`wait_for_files`], for the files in the sets of `select`. Returns `None`, so that the wait takes real time, for
/// sets with more files than libc's own `fd_set` can have: there is no room to keep a copy of them.
///
/// SAFETY: each set is null or has a bit for each of `count` files, in whole words.
unsafe fn wait_for_sets(
    count: c_int,
    sets: [*mut u64; 3],
    interrupted: Interrupted<c_int>,
    timeout: i64,
    wait: impl Fn(i64) -> c_int,
) -> Option<(c_int, i64)> {
    let words = usize::try_from(count).ok()?.div_ceil(64);
    if words > SET_WORDS {
        return None;
    }
    let mut kept = [[0_u64; SET_WORDS]; 3];
    for (kept, set) in kept.iter_mut().zip(sets).filter(|(_, set)| !set.is_null()) {
        // SAFETY: promised by the caller, and there is room for that many words.
        unsafe { ptr::copy_nonoverlapping(set, kept.as_mut_ptr(), words) }
    }
    wait_for_files(sets.iter().any(|set| !set.is_null()), interrupted, timeout, |nap| {
        // A nap that ended without a ready file has cleared the sets.
        for (kept, set) in kept.iter().zip(sets).filter(|(_, set)| !set.is_null()) {
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(kept.as_ptr(), set, words) }
        }
        wait(nap)
    })
}

/// Waits `timeout` of lesson time, or until `wait` returns files or an error. Returns the result of `wait` and how much
/// time was left, or `None` if the wait needs no lesson time: polling and waiting for ever have no time in them, and a
/// wait without any files is a sleep, of which short ones stay real.
fn wait_for_files(
    files: bool,
    interrupted: Interrupted<c_int>,
    timeout: i64,
    wait: impl Fn(i64) -> c_int,
) -> Option<(c_int, i64)> {
    let page = Page::get().filter(|_| timeout > 0)?;
    if !files && timeout < shortest_lesson_sleep() {
        let _published = real_wait()?;
        return Some((wait(timeout), 0));
    }
    let deadline = page.moment().monotonic.saturating_add(timeout);
    let (result, left) = page.nap_until(Family::Monotonic, deadline, interrupted, |nap| {
        Some(wait(nap)).filter(|result| *result != 0)
    });
    Some((result.unwrap_or(0), left))
}

/// A relative timer is set to the real time that its lesson time amounts to now, and expires early if that is more than
/// one nap: its owner reads the clock, finds that it is too early and sets the timer again, and so notices changes of
/// the lesson's rate. The only owner of such timers among Lockstep's processes (async-io) is written that way. Absolute
/// and periodic timers are left alone.
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
        // SAFETY: the caller's arguments, except for a timer of ours.
        return unsafe { settime(fd, flags, &raw const scaled, old) };
    }
    // SAFETY: the caller's arguments, passed on.
    unsafe { settime(fd, flags, new, old) }
}
