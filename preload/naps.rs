//! How a wait for lesson time becomes waits of the kernel, which knows real time only: short ones, after each of
//! which the page is read again. It must not know what is waited for.
//!
//! A signal that comes between two naps is handled, but interrupts nothing. To the caller that is no news: it could
//! as well have come a moment before the wait.

use crate::{
    libc::*,
    moment::{Family, Moment, Page},
    status::Waits,
};
use core::ffi::c_int;

/// The longest nap while lesson time runs: how late a waiter can notice a jump or a change of speed.
const NAP: i64 = 10 * MILLISECOND;
/// The longest nap while lesson time stands still. Nothing that is waited for can come then, except the
/// learner's next move; a JVM has some ten timed waiters, and waking each 100 times a second would be work that
/// a pause should not cost.
const PAUSED_NAP: i64 = 50 * MILLISECOND;

impl Moment {
    /// How long a waiter with `left` of lesson time to go should really wait before it looks again. Zero only
    /// if nothing is left.
    pub(crate) fn nap(&self, left: i64) -> i64 {
        match self.line.real_for(left) {
            // It will soon go on.
            Some(real) if self.stands_still => if real == 0 { 0 } else { NAP },
            Some(real) => real.min(NAP),
            None => PAUSED_NAP,
        }
    }
}

impl Page {
    /// Naps until lesson time comes to `deadline`, or `nap` (given a length) has an answer; returns that answer and
    /// how much lesson time was left. At least one nap is tried. Only for what is still there at the next nap if it
    /// comes between two of them: a file that is ready, a semaphore's count, a futex's value.
    pub(crate) fn nap_until<T>(
        self,
        family: Family,
        deadline: i64,
        mut nap: impl FnMut(i64) -> Option<T>,
    ) -> (Option<T>, i64) {
        let mut moment = self.moment();
        let left = deadline.saturating_sub(moment.of(family));
        let _told = Waits::until(moment.monotonic.saturating_add(left));
        loop {
            let answer = nap(moment.nap(deadline.saturating_sub(moment.of(family))));
            moment = self.moment();
            let left = deadline.saturating_sub(moment.of(family)).max(0);
            if answer.is_some() || left == 0 {
                return (answer, left);
            }
        }
    }

    /// As [`Page::nap_until`], with a function of libc's that takes a deadline, and that answers -1 with
    /// `ETIMEDOUT` when it has passed.
    pub(crate) fn wait_until(
        self,
        family: Family,
        deadline: Timespec,
        wait: impl Fn(*const Timespec) -> c_int,
    ) -> c_int {
        let (answer, _) = self.nap_until(family, deadline.as_nanos(), |nap| {
            let result = wait(&Timespec::from_nanos(real(family.real()) + nap));
            (result == 0 || errno() != ETIMEDOUT).then_some(result)
        });
        answer.unwrap_or(-1)
    }
}
