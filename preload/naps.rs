//! Cuts a wait for lesson time into short waits of the kernel, which knows only real time. After each nap the page is
//! read again.
//!
//! While lesson time stands still, the threads of users' programs take no naps: they sleep until Lockstep wakes them
//! (see `status.rs`).
//!
//! A signal that arrives between two naps is handled but interrupts nothing. The caller must expect that anyway: the
//! signal could as well have arrived a moment before the wait.

use crate::{
    libc::*,
    moment::{Family, Moment, Page},
    status::Waits,
};
use core::ffi::c_int;

/// The longest nap while lesson time runs, and so the longest delay before a waiter notices a jump or a change of rate.
const NAP: i64 = 10 * MILLISECOND;
/// The longest nap while lesson time stands still. No deadline can pass then, until the learner's next move; a JVM has
/// some ten timed waiters, and waking each 100 times a second would be work that a pause should not cost.
const PAUSED_NAP: i64 = 50 * MILLISECOND;
/// The shortest nap while lesson time stands still. Jumps come in quick succession, from one deadline to the next: so
/// naps are short after a change, and grow.
const FIRST_PAUSED_NAP: i64 = MILLISECOND;

/// The longest sleep of a thread that Lockstep wakes when its time has come, while lesson time stands still: a pause is to
/// cost nothing. The wake-up does not fail; this is for a lab whose Lockstep is not well.
pub(crate) const SLEEP: i64 = SECOND;

/// Whether a signal has interrupted a wait, by its answer. A wait that does not tell cannot be woken.
pub(crate) type Interrupted<T> = Option<fn(&T) -> bool>;

/// For functions of libc that return -1 and an error.
pub(crate) const BY_ERRNO: Interrupted<c_int> = Some(|result| *result == -1 && errno() == EINTR);

/// Whether a function of libc has returned -1 because its deadline has passed.
pub(crate) fn is_late(result: c_int) -> bool {
    result == -1 && errno() == ETIMEDOUT
}

impl Moment {
    /// How long, in real time, a waiter with `left` of lesson time to go should nap before it reads the page again.
    /// Zero only if nothing is left.
    pub(crate) fn nap(&self, left: i64) -> i64 {
        match self.line.real_for(left) {
            // The line has run its `longest` time; Lockstep will soon set the next one.
            Some(real) if self.stands_still => {
                if real == 0 {
                    0
                } else {
                    NAP
                }
            }
            Some(real) => real.min(NAP),
            None => (self.since_change / 2).clamp(FIRST_PAUSED_NAP, PAUSED_NAP),
        }
    }
}

impl Page {
    /// Naps until lesson time reaches `deadline`, or until `nap` (called with a length) returns an answer. Returns that
    /// answer and how much lesson time was left. At least one nap is tried. Only for events that persist until the next
    /// nap if they happen between two naps: a file that is ready, a semaphore's count, a futex's value.
    pub(crate) fn nap_until<T>(
        self,
        family: Family,
        deadline: i64,
        interrupted: Interrupted<T>,
        mut nap: impl FnMut(i64) -> Option<T>,
    ) -> (Option<T>, i64) {
        let mut moment = self.moment();
        let mut left = deadline.saturating_sub(moment.of(family));
        let published = Waits::until(moment.monotonic.saturating_add(left));
        loop {
            let sleeps = interrupted.is_some() && left > 0 && moment.line.rate <= 0 && published.sleeps(None);
            let mut answer = nap(if sleeps { SLEEP } else { moment.nap(left) });
            if published.wakes()
                && let Some(interrupted) = interrupted
            {
                answer = answer.filter(|answer| !interrupted(answer));
            }
            moment = self.moment();
            left = deadline.saturating_sub(moment.of(family)).max(0);
            if answer.is_some() || left == 0 {
                return (answer, left);
            }
        }
    }

    /// As [`Page::nap_until`], for a function of libc that takes a deadline. `is_over` tells whether its result, the last,
    /// means that the deadline has passed.
    pub(crate) fn wait_until(
        self,
        family: Family,
        deadline: Timespec,
        interrupted: Interrupted<c_int>,
        is_over: impl Fn(c_int) -> bool,
        wait: impl Fn(*const Timespec) -> c_int,
    ) -> c_int {
        let mut last = 0;
        let (answer, _) = self.nap_until(family, deadline.as_nanos(), interrupted, |nap| {
            last = wait(&Timespec::from_nanos(real(family.real()) + nap));
            (!is_over(last)).then_some(last)
        });
        answer.unwrap_or(last)
    }

    /// As [`Page::wait_until`], for a function that takes a length of time.
    pub(crate) fn wait_for(
        self,
        span: Timespec,
        interrupted: Interrupted<c_int>,
        is_over: impl Fn(c_int) -> bool,
        wait: impl Fn(*const Timespec) -> c_int,
    ) -> c_int {
        let deadline = self.moment().monotonic.saturating_add(span.as_nanos());
        let mut last = 0;
        let (answer, _) = self.nap_until(Family::Monotonic, deadline, interrupted, |nap| {
            last = wait(&Timespec::from_nanos(nap));
            (!is_over(last)).then_some(last)
        });
        answer.unwrap_or(last)
    }
}
