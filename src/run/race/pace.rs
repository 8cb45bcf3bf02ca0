//! The speed of long work and the time that it has left, from what is done so far. Pure.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    pub done: u64,
    pub of: u64,
    /// The real time spent so far.
    pub spent: Duration,
}

impl Pace {
    /// The number done per second, or `None` before it is known.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn per_second(&self) -> Option<f64> {
        let seconds = self.spent.as_secs_f64();
        (self.done > 0 && seconds > 0.0).then(|| self.done as f64 / seconds)
    }

    /// The time left at this speed, or `None` before it is known.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn left(&self) -> Option<Duration> {
        let rest = self.of.saturating_sub(self.done) as f64;
        Duration::try_from_secs_f64(rest / self.per_second()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Pace;

    #[test]
    fn the_rest_takes_as_long_as_what_was_done() {
        let pace = Pace { done: 50, of: 200, spent: Duration::from_secs(2) };
        assert_eq!(pace.per_second(), Some(25.0));
        assert_eq!(pace.left(), Some(Duration::from_secs(6)));
        let over = Pace { done: 200, ..pace };
        assert_eq!(over.left(), Some(Duration::ZERO));
    }

    #[test]
    fn nothing_is_estimated_before_anything_is_done() {
        let nothing = Pace { of: 100, ..Pace::default() };
        assert_eq!((nothing.per_second(), nothing.left()), (None, None));
    }
}
