//! The functions that read a clock. They must not block.

use crate::{
    libc::*,
    moment::{Family, Page},
    status::publishes,
};
use core::{
    ffi::c_int,
    sync::atomic::{AtomicI64, Ordering},
};

/// How far a poll in vain moves the clock on. Loops that count seconds in floating point must still see it.
const POLL: i64 = 10;
/// How far such polls move it at most. Lesson time goes on by more than that, so the next reading is exact again.
const MOST_POLLED: i64 = 100_000;

/// What this process' monotonic clock shows at least.
static AT_LEAST: AtomicI64 = AtomicI64::new(i64::MIN);

/// Moves the monotonic clock of a program on a little while lesson time stands still, because the program has polled
/// its files and none was ready. An event loop such as libev (gevent) runs a timer only when the clock is *past* its
/// end, and polls until it is: on a clock that stands still a timer of 0 s would never end.
pub(crate) fn polled_in_vain() {
    let Some(page) = Page::get().filter(|_| publishes()) else { return };
    let moment = page.moment();
    if moment.stands_still {
        let shown = moment.monotonic.max(AT_LEAST.load(Ordering::Relaxed));
        let next = (shown + POLL).min(moment.monotonic.saturating_add(MOST_POLLED));
        AT_LEAST.fetch_max(next, Ordering::Relaxed);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    let Some(real) = CLOCK_GETTIME.get() else {
        return missing();
    };
    // libc is called first, so that it reports its own errors.
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe { real(clock, time) };
    if result == 0
        && let Some(family) = Family::of(clock)
        && let Some(page) = Page::get()
    {
        let now = page.moment().of(family);
        let now = match family {
            Family::Calendar => now,
            Family::Monotonic => now.max(AT_LEAST.load(Ordering::Relaxed)),
        };
        // SAFETY: libc has just written there.
        unsafe { *time = Timespec::from_nanos(now) }
    }
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut Timeval, zone: *mut [c_int; 2]) -> c_int {
    let now = calendar_now();
    // SAFETY: the caller passes null or a valid place. Time zones are obsolete: libc answers zeros, too.
    unsafe {
        if let Some(time) = time.as_mut() {
            *time = Timeval { seconds: now.seconds, micros: now.nanos / 1000 };
        }
        if let Some(zone) = zone.as_mut() {
            *zone = [0, 0];
        }
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(out: *mut i64) -> i64 {
    let now = calendar_now().seconds;
    // SAFETY: the caller passes null or a valid place.
    if let Some(out) = unsafe { out.as_mut() } {
        *out = now;
    }
    now
}

/// C11's clock. Its only base before C23 is the calendar; libc answers for the others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timespec_get(time: *mut Timespec, base: c_int) -> c_int {
    const TIME_UTC: c_int = 1;
    let Some(get) = TIMESPEC_GET.get() else { return 0 };
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe { get(time, base) };
    // SAFETY: libc has just written there.
    if result == TIME_UTC && let Some(time) = unsafe { time.as_mut() } {
        *time = calendar_now();
    }
    result
}

fn calendar_now() -> Timespec {
    Timespec::from_nanos(match Page::get() {
        Some(page) => page.moment().calendar,
        None => real(CLOCK_REALTIME),
    })
}
