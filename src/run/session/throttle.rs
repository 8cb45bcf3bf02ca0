//! How fast lesson time may run on a busy machine.
//!
//! To a server on a fast clock a short real pause is a long one: at 8x, 625 ms without a processor are 5 s,
//! after which a Sentinel takes a master for dead. So time slows down as soon as a server has waited for a
//! processor, or our own sleep has overrun, and regains its speed gradually.

use std::time::Duration;

/// The longest real time between two measurements of how busy the machine is.
pub(crate) const SLICE: Duration = Duration::from_millis(25);
/// How long lesson time runs on without being renewed: when the whole machine stood still, time has not run
/// away.
pub(crate) const LONGEST: Duration = Duration::from_millis(100);
/// A server that waited this long for a processor, or a sleep that overran by this much, indicates a starved
/// machine.
const STARVED: Duration = Duration::from_millis(30);
/// A wait or an overrun of at most this much indicates an idle machine.
const IDLE: Duration = Duration::from_millis(8);
/// The factor by which the speed recovers with each punctual slice.
const RECOVERY: f64 = 1.02;

/// Slows lesson time down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Throttle {
    /// The share of the lab's fastest rate that is allowed now, at most 1.
    share: f64,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { share: 1.0 }
    }
}

impl Throttle {
    /// The speed for the next slice, where `fastest` is what the lab can follow on an idle machine. Slower
    /// than real time only if `wanted` or `fastest` is: at real time, servers survive the pauses of a busy
    /// machine.
    pub(crate) fn speed(self, wanted: f64, fastest: f64) -> f64 {
        wanted.min((fastest * self.share).max(1.0_f64.min(fastest)))
    }

    /// Adjusts the speed after a slice that should have taken `planned` and took `real`, and in which a
    /// server waited for a processor for `waited`.
    pub(crate) fn adjust(&mut self, planned: Duration, real: Duration, waited: Duration, fastest: f64) {
        let late = real.saturating_sub(planned).max(waited);
        if late >= STARVED {
            self.share = (self.share / 2.0).max(1.0 / fastest.max(1.0));
        } else if late <= IDLE {
            self.share = (self.share * RECOVERY).min(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{SLICE, Throttle};

    /// The speed rounded to thousandths, so that it can be compared.
    fn speed(throttle: Throttle, wanted: f64) -> String {
        format!("{:.3}", throttle.speed(wanted, 8.0))
    }

    #[test]
    fn a_starved_machine_slows_time_down_to_real_time_and_an_idle_one_gives_it_back() {
        let mut throttle = Throttle::default();
        assert_eq!(speed(throttle, 8.0), "8.000");
        throttle.adjust(SLICE, SLICE + Duration::from_millis(60), Duration::ZERO, 8.0);
        assert_eq!(speed(throttle, 8.0), "4.000");
        throttle.adjust(SLICE, SLICE, Duration::from_millis(60), 8.0);
        assert_eq!(speed(throttle, 8.0), "2.000", "our own sleep was punctual, a server was not");
        for _ in 0..9 {
            throttle.adjust(SLICE, SLICE * 4, Duration::ZERO, 8.0);
        }
        assert_eq!(speed(throttle, 8.0), "1.000");
        assert_eq!(speed(throttle, 0.25), "0.250", "what the learner wants is never hurried");
        for _ in 0..120 {
            throttle.adjust(SLICE, SLICE, Duration::ZERO, 8.0);
        }
        assert_eq!(speed(throttle, 8.0), "8.000");
    }
}
