//! How fast lesson time may run on a machine that is busy.
//!
//! Servers on a fast clock take a short real pause for a long one: at 8x, 625 ms without a processor are 5 s, and a Sentinel
//! then takes a master for dead. So time runs slower as soon as a server has waited for a processor, or our own sleep has
//! overrun, and regains its speed bit by bit.

use std::time::Duration;

/// The longest real time that passes between two looks at how busy the machine is.
pub(crate) const SLICE: Duration = Duration::from_millis(25);
/// For how long lesson time runs on where nobody looks: when the whole machine stood still, it has not run away.
pub(crate) const LONGEST: Duration = Duration::from_millis(100);
/// A server that waited so long for a processor, or a sleep that took so much longer than it should, tells of a starved
/// machine.
const STARVED: Duration = Duration::from_millis(30);
/// So little tells of an idle one.
const IDLE: Duration = Duration::from_millis(8);
/// How much of its speed time gets back with each punctual slice.
const RECOVERY: f64 = 1.02;

/// Holds lesson time back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Throttle {
    /// The highest rate at this moment, of those that the lab can follow.
    share: f64,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { share: 1.0 }
    }
}

impl Throttle {
    /// The speed for the next slice, where `fastest` is what the lab can follow on an idle machine. Never slower
    /// than real time: at that rate servers bear the pauses of a busy machine.
    pub(crate) fn speed(self, wanted: f64, fastest: f64) -> f64 {
        wanted.min((fastest * self.share).max(1.0_f64.min(fastest)))
    }

    /// A slice that should have taken `planned` took `real`, and in it a server waited for a processor for `waited`.
    pub(crate) fn slept(&mut self, planned: Duration, real: Duration, waited: Duration, fastest: f64) {
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

    /// The speed in thousandths, which can be compared.
    fn speed(throttle: Throttle, wanted: f64) -> String {
        format!("{:.3}", throttle.speed(wanted, 8.0))
    }

    #[test]
    fn a_starved_machine_slows_time_down_to_real_time_and_an_idle_one_gives_it_back() {
        let mut throttle = Throttle::default();
        assert_eq!(speed(throttle, 8.0), "8.000");
        throttle.slept(SLICE, SLICE + Duration::from_millis(60), Duration::ZERO, 8.0);
        assert_eq!(speed(throttle, 8.0), "4.000");
        throttle.slept(SLICE, SLICE, Duration::from_millis(60), 8.0);
        assert_eq!(speed(throttle, 8.0), "2.000", "our own sleep was punctual, a server was not");
        for _ in 0..9 {
            throttle.slept(SLICE, SLICE * 4, Duration::ZERO, 8.0);
        }
        assert_eq!(speed(throttle, 8.0), "1.000");
        assert_eq!(speed(throttle, 0.25), "0.250", "what the learner wants is never hurried");
        for _ in 0..120 {
            throttle.slept(SLICE, SLICE, Duration::ZERO, 8.0);
        }
        assert_eq!(speed(throttle, 8.0), "8.000");
    }
}
