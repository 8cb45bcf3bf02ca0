//! The functions that wait for signals, for messages, for System V's semaphores, and for reading and writing that goes on
//! in the background.

use crate::{
    libc::*,
    moment::{Family, Page},
    naps::is_late,
};
use core::ffi::{c_char, c_int, c_uint, c_void};

type Sigtimedwait = unsafe extern "C" fn(*const c_void, *mut c_void, *const Timespec) -> c_int;
type Semtimedop = unsafe extern "C" fn(c_int, *mut c_void, usize, *const Timespec) -> c_int;
type Receive = unsafe extern "C" fn(c_int, *mut c_char, usize, *mut c_uint, *const Timespec) -> isize;
type Send = unsafe extern "C" fn(c_int, *const c_char, usize, c_uint, *const Timespec) -> c_int;
type Suspend = unsafe extern "C" fn(*const *const c_void, c_int, *const Timespec) -> c_int;

static SIGTIMEDWAIT: Next<Sigtimedwait> = Next::new(c"sigtimedwait", None);
static SEMTIMEDOP: Next<Semtimedop> = Next::new(c"semtimedop", None);
static MQ_TIMEDRECEIVE: Next<Receive> = Next::new(c"mq_timedreceive", None);
static MQ_TIMEDSEND: Next<Send> = Next::new(c"mq_timedsend", None);
static AIO_SUSPEND: Next<Suspend> = Next::new(c"aio_suspend", None);
static GAI_SUSPEND: Next<Suspend> = Next::new(c"gai_suspend", None);

/// What `gai_suspend` returns when its time is over.
const EAI_AGAIN: c_int = -3;

/// A signal that comes between two naps stays pending.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigtimedwait(
    set: *const c_void,
    info: *mut c_void,
    timeout: *const Timespec,
) -> c_int {
    let Some(wait) = SIGTIMEDWAIT.get() else { return missing() };
    // SAFETY: the caller's arguments, passed on; the timeout is null or valid.
    unsafe { relative(timeout, is_again, |timeout| wait(set, info, timeout)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn semtimedop(
    semaphores: c_int,
    operations: *mut c_void,
    count: usize,
    timeout: *const Timespec,
) -> c_int {
    let Some(wait) = SEMTIMEDOP.get() else { return missing() };
    // SAFETY: as above.
    unsafe { relative(timeout, is_again, |timeout| wait(semaphores, operations, count, timeout)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aio_suspend(
    list: *const *const c_void,
    count: c_int,
    timeout: *const Timespec,
) -> c_int {
    let Some(wait) = AIO_SUSPEND.get() else { return missing() };
    // SAFETY: as above.
    unsafe { relative(timeout, is_again, |timeout| wait(list, count, timeout)) }
}

/// The name of `aio_suspend` in programs with long file offsets; both are the same on 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aio_suspend64(
    list: *const *const c_void,
    count: c_int,
    timeout: *const Timespec,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    unsafe { aio_suspend(list, count, timeout) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn gai_suspend(
    list: *const *const c_void,
    count: c_int,
    timeout: *const Timespec,
) -> c_int {
    let Some(wait) = GAI_SUSPEND.get() else { return missing() };
    // SAFETY: as above.
    unsafe { relative(timeout, |result| result == EAI_AGAIN, |timeout| wait(list, count, timeout)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_timedreceive(
    queue: c_int,
    message: *mut c_char,
    room: usize,
    priority: *mut c_uint,
    deadline: *const Timespec,
) -> isize {
    let Some(wait) = MQ_TIMEDRECEIVE.get() else { return missing() as isize };
    // SAFETY: the caller's arguments, passed on. A message is shorter than a `c_int` can count.
    unsafe { absolute(deadline, |deadline| wait(queue, message, room, priority, deadline) as c_int) as isize }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mq_timedsend(
    queue: c_int,
    message: *const c_char,
    length: usize,
    priority: c_uint,
    deadline: *const Timespec,
) -> c_int {
    let Some(wait) = MQ_TIMEDSEND.get() else { return missing() };
    // SAFETY: the caller's arguments, passed on.
    unsafe { absolute(deadline, |deadline| wait(queue, message, length, priority, deadline)) }
}

fn is_again(result: c_int) -> bool {
    result == -1 && errno() == EAGAIN
}

/// Waits for a length of time. One of zero, a poll, is passed on. SAFETY: it is null or valid.
unsafe fn relative(
    timeout: *const Timespec,
    is_over: impl Fn(c_int) -> bool,
    wait: impl Fn(*const Timespec) -> c_int,
) -> c_int {
    // SAFETY: promised by the caller.
    let given = unsafe { Timespec::read(timeout) }.filter(|span| span.as_nanos() > 0);
    match (given, Page::get()) {
        (Some(span), Some(page)) => page.wait_for(span, None, is_over, wait),
        _ => wait(timeout),
    }
}

/// Waits until a moment of the calendar. SAFETY: it is null or valid.
unsafe fn absolute(deadline: *const Timespec, wait: impl Fn(*const Timespec) -> c_int) -> c_int {
    // SAFETY: promised by the caller.
    match (unsafe { Timespec::read(deadline) }, Page::get()) {
        (Some(when), Some(page)) => page.wait_until(Family::Calendar, when, None, is_late, wait),
        _ => wait(deadline),
    }
}
