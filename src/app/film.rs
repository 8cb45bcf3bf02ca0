//! A flight that is being shown: in which direction, how fast, and what of it is on the screen. It must not know
//! what is drawn of it.

use std::time::{Duration, Instant};

use crate::{
    clock::LessonTime,
    flight::{Flight, MESSAGE, Tempo},
    world::World,
};

/// A flight under way.
#[derive(Debug)]
pub(super) struct Film {
    flight: Flight,
    tempo: Tempo,
    /// The world that the flight begins in.
    base: World,
    forward: bool,
    /// Whether it stands still in the middle.
    frozen: bool,
    /// The moment of the flight that is on the screen.
    shown: Duration,
    /// The moment of the flight at which it was set going last, and when that was.
    since: (Duration, Instant),
    /// How fast it goes: 1.0 unless there is more to show than there is time for.
    haste: f64,
    /// How long it has been going, at normal speed.
    gone: Duration,
    /// What the learner chose.
    speed: f64,
}

impl Film {
    /// A flight from its beginning, or, backward, from its end.
    pub(super) fn new(
        flight: Flight,
        (base, tempo): (World, Tempo),
        forward: bool,
        speed: f64,
        now: Instant,
    ) -> Self {
        let shown = if forward { Duration::ZERO } else { flight.lasts() };
        let haste = (flight.lasts().as_secs_f64() / tempo.longest.as_secs_f64()).max(1.0);
        Self {
            flight,
            tempo,
            base,
            forward,
            frozen: false,
            shown,
            since: (shown, now),
            haste,
            gone: Duration::ZERO,
            speed,
        }
    }

    pub(super) fn flight(&self) -> &Flight {
        &self.flight
    }

    pub(super) fn tempo(&self) -> Tempo {
        self.tempo
    }

    pub(super) fn base(&self) -> &World {
        &self.base
    }

    pub(super) fn shown(&self) -> Duration {
        self.shown
    }

    pub(super) fn is_forward(&self) -> bool {
        self.forward
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// The position at which it ends.
    pub(super) fn target(&self) -> usize {
        let range = self.flight.range();
        if self.forward { range.end } else { range.start }
    }

    /// The position that is on the screen.
    pub(super) fn position(&self) -> usize {
        self.flight.position(self.shown)
    }

    /// The lesson time that is on the screen.
    pub(super) fn display(&self) -> LessonTime {
        self.flight.display(self.shown)
    }

    /// Goes on to this moment; `true` when it is over.
    pub(super) fn tick(&mut self, now: Instant) -> bool {
        if self.frozen {
            return false;
        }
        let (from, since) = self.since;
        let passed = now
            .saturating_duration_since(since)
            .mul_f64(self.speed * self.haste);
        if self.forward {
            self.shown = from + passed;
            self.shown >= self.flight.lasts()
        } else {
            self.shown = from.saturating_sub(passed);
            self.shown.is_zero()
        }
    }

    /// Sets going anew from what is on the screen.
    fn go(&mut self, now: Instant) {
        let gone = now.saturating_duration_since(self.since.1).mul_f64(self.speed);
        if !self.frozen {
            self.gone += gone;
        }
        self.since = (self.shown, now);
    }

    /// Stops in the middle, with exactly what is on the screen.
    pub(super) fn freeze(&mut self, now: Instant) {
        self.go(now);
        self.frozen = true;
    }

    /// Goes on.
    pub(super) fn thaw(&mut self, now: Instant) {
        self.go(now);
        self.frozen = false;
    }

    /// The same way back, from what is on the screen.
    pub(super) fn turn(&mut self, now: Instant) {
        self.thaw(now);
        self.forward = !self.forward;
    }

    /// More has happened: the flight is a longer one now. What was seen of it stays, and the rest is to come to its
    /// end in what is left of the time.
    pub(super) fn extend(&mut self, flight: Flight, now: Instant) {
        self.go(now);
        self.flight = flight;
        let left = self.flight.lasts().saturating_sub(self.shown).as_secs_f64();
        let time = self.tempo.longest.saturating_sub(self.gone).max(MESSAGE);
        self.haste = (left / time.as_secs_f64()).max(1.0);
    }
}
