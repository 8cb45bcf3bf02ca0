//! A flight being shown: its direction, its speed, and the current moment.

use std::time::{Duration, Instant};

use crate::{
    clock::LessonTime,
    ui::flight::{Flight, MESSAGE, Tempo},
    world::World,
};

#[derive(Debug)]
pub(crate) struct Animation {
    pub(super) flight: Flight,
    pub(super) tempo: Tempo,
    /// The world in which the flight begins.
    pub(super) base: World,
    pub(super) forward: bool,
    pub(super) frozen: bool,
    /// The moment of the flight that is shown.
    pub(super) shown: Duration,
    /// The moment of the flight at which the animation was last started or resumed, and the real time of that.
    since: (Duration, Instant),
    /// The factor by which it is sped up to end in time; 1.0 if it need not be.
    rate: f64,
    /// How long it has been running, at normal speed.
    elapsed: Duration,
    /// The speed chosen by the learner.
    speed: f64,
}

impl Animation {
    /// An animation from the flight's beginning, or backward from its end.
    pub(crate) fn new(
        flight: Flight,
        (base, tempo): (World, Tempo),
        forward: bool,
        speed: f64,
        now: Instant,
    ) -> Self {
        let shown = if forward { Duration::ZERO } else { flight.lasts };
        let rate = (flight.lasts.as_secs_f64() / tempo.longest.as_secs_f64()).max(1.0);
        Self {
            flight,
            tempo,
            base,
            forward,
            frozen: false,
            shown,
            since: (shown, now),
            rate,
            elapsed: Duration::ZERO,
            speed,
        }
    }

    pub(crate) fn target(&self) -> usize {
        let range = self.flight.range();
        if self.forward { range.end } else { range.start }
    }

    pub(crate) fn position(&self) -> usize {
        self.flight.position(self.shown)
    }

    pub(crate) fn display(&self) -> LessonTime {
        self.flight.display(self.shown)
    }

    /// Advances to `now`. Returns `true` at the end.
    pub(crate) fn tick(&mut self, now: Instant) -> bool {
        if self.frozen {
            return false;
        }
        let (from, since) = self.since;
        let passed = now.saturating_duration_since(since).mul_f64(self.speed * self.rate);
        if self.forward {
            self.shown = from + passed;
            self.shown >= self.flight.lasts
        } else {
            self.shown = from.saturating_sub(passed);
            self.shown.is_zero()
        }
    }

    /// Restarts the timing from the moment that is shown.
    fn go(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.since.1).mul_f64(self.speed);
        if !self.frozen {
            self.elapsed += elapsed;
        }
        self.since = (self.shown, now);
    }

    pub(crate) fn freeze(&mut self, now: Instant) {
        self.go(now);
        self.frozen = true;
    }

    pub(crate) fn thaw(&mut self, now: Instant) {
        self.go(now);
        self.frozen = false;
    }

    /// Reverses the direction from the moment that is shown.
    pub(crate) fn reverse(&mut self, now: Instant) {
        self.thaw(now);
        self.forward = !self.forward;
    }

    /// Replaces the flight with a longer one, because more has happened. What was shown stays, and the rest is sped up
    /// to end in the remaining time.
    pub(crate) fn extend(&mut self, flight: Flight, now: Instant) {
        self.go(now);
        self.flight = flight;
        let left = self.flight.lasts.saturating_sub(self.shown).as_secs_f64();
        let time = self.tempo.longest.saturating_sub(self.elapsed).max(MESSAGE);
        self.rate = (left / time.as_secs_f64()).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Animation;
    use crate::{
        clock::LessonTime,
        log::{
            Log,
            testing::{LogBuilder, actor, ready},
        },
        ui::flight::{Flight, LONGEST, MESSAGE, Tempo},
        world::World,
    };

    const TEMPO: Tempo = Tempo { wait: Duration::from_millis(600), longest: LONGEST, messages: true };

    fn log(exchanges: u64) -> Log {
        let mut log = LogBuilder::new(ready(&[], [actor("A")]));
        for _ in 0..exchanges {
            log.moves(0, "get", "GET a", serde_json::Value::Null);
        }
        log.finish()
    }

    fn animation(log: &Log, forward: bool, speed: f64, now: Instant) -> Animation {
        let base = World::fold(log, 1);
        let flight = Flight::between(log, &base, log.len(), base.now, TEMPO);
        Animation::new(flight, (base, TEMPO), forward, speed, now)
    }

    #[test]
    fn a_backward_animation_mirrors_the_forward_one() {
        let (log, now) = (log(2), Instant::now());
        let (mut forward, mut backward) = (animation(&log, true, 1.0, now), animation(&log, false, 1.0, now));
        let lasts = forward.flight.lasts;
        for n in 1..100 {
            let at = lasts * n / 100;
            assert!(!forward.tick(now + at) && !backward.tick(now + lasts.saturating_sub(at)));
            assert_eq!(forward.shown, backward.shown);
            assert_eq!((forward.position(), forward.display()), (backward.position(), backward.display()));
        }
        assert!(forward.tick(now + lasts) && backward.tick(now + lasts));
        assert_eq!((forward.target(), backward.target()), (log.len(), 1));
    }

    #[test]
    fn an_animation_never_exceeds_its_maximum_duration() {
        for (exchanges, speed) in [(1, 1.0), (3, 1.0), (100, 1.0), (100, 4.0), (100, 0.25)] {
            let (log, now) = (log(exchanges), Instant::now());
            let mut animation = animation(&log, true, speed, now);
            let bound = LONGEST.div_f64(speed) + Duration::from_micros(1);
            assert!(animation.tick(now + bound), "{exchanges} at {speed}");
        }
    }

    #[test]
    fn an_extended_animation_ends_in_the_remaining_time() {
        let (long, now) = (log(100), Instant::now());
        let base = World::fold(&long, 1);
        let part = Flight::between(&long, &base, 9, base.now, TEMPO);
        let mut animation = Animation::new(part, (base, TEMPO), true, 1.0, now);
        let later = now + Duration::from_secs(1);
        animation.tick(later);
        let shown = (animation.shown, animation.position());
        let whole = Flight::between(&long, &animation.base, long.len(), LessonTime::ZERO, TEMPO);
        animation.extend(whole, later);
        assert_eq!((animation.shown, animation.position()), shown, "nothing jumps");
        assert!(!animation.tick(now + LONGEST.saturating_sub(Duration::from_millis(10))));
        assert!(animation.tick(now + LONGEST + Duration::from_millis(1)));
    }

    #[test]
    fn a_paused_animation_can_be_reversed() {
        let (log, now) = (log(1), Instant::now());
        let mut animation = animation(&log, true, 1.0, now);
        animation.tick(now + MESSAGE);
        animation.freeze(now + MESSAGE);
        assert!(!animation.tick(now + 100 * MESSAGE));
        assert_eq!(animation.shown, MESSAGE);
        animation.reverse(now + 100 * MESSAGE);
        assert!(!animation.tick(now + 100 * MESSAGE + MESSAGE / 2));
        assert_eq!(animation.shown, MESSAGE / 2);
        assert!(animation.tick(now + 101 * MESSAGE));
    }
}
