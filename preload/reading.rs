//! The functions that read a clock. They must not block.

use crate::{
    libc::*,
    moment::{Family, Page},
};
use core::ffi::c_int;

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
        // SAFETY: libc has just written there.
        unsafe { *time = Timespec::from_nanos(page.moment().of(family)) }
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

fn calendar_now() -> Timespec {
    Timespec::from_nanos(match Page::get() {
        Some(page) => page.moment().calendar,
        None => real(CLOCK_REALTIME),
    })
}
