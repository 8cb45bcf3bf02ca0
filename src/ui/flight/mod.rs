//! What is seen to travel between two positions of a log, and when: commands to a server, replies and notifications
//! from it, a promotion from one server to another; and the waits in between. It must not know what plays it, in which
//! direction or how fast, nor the screen.
//!
//! **Architecture Invariant:** a flight is a pure function of the log, the world in which it begins and a tempo. An
//! event lands no sooner than what carries it has arrived, and events land in the log's order. So at every moment of a
//! flight there is one position, and with it one world, which all panes show.

pub(crate) mod phases;
pub use phases::predecessor;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::{
    clock::LessonTime,
    log::{ActorId, Log},
    world::World,
};

pub const MESSAGE: Duration = Duration::from_millis(250);
/// The maximum duration of a step's animation, whatever happens in it.
pub const LONGEST: Duration = Duration::from_millis(1500);
/// Half of the way: where held messages stop, and lost ones break.
pub const HALF: f32 = 0.5;
/// Shorter waits are not animated.
const NOTICEABLE: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tempo {
    /// How long a wait of a second or more takes; zero if waits are not animated.
    pub wait: Duration,
    pub longest: Duration,
    /// Whether messages are animated. Otherwise a flight only moves time forward smoothly.
    pub messages: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    Command,
    Reply,
    Notice,
    /// A fault: it has no way to travel, and appears where it hits.
    Fault,
    /// The role of master, from one server to another.
    Promotion,
}

/// Something that travels during a part of the flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    pub load: Load,
    pub event: usize,
    /// The event at whose column it is drawn: a reply returns to where its command came from.
    pub at: usize,
    pub actor: Option<ActorId>,
    /// When it departs and when it arrives, since the flight's beginning.
    pub time: (Duration, Duration),
    /// Which part of the way it travels; `(0.0, 1.0)` is all of it.
    pub way: (f32, f32),
    pub breaks: bool,
    /// The phase that it belongs to: hops of a phase travel at the same time.
    pub phase: usize,
    /// Whether it is one of so many that they cannot be followed one by one.
    pub swarm: bool,
}

impl Hop {
    /// The share of the way covered at a moment of the flight, or `None` while it is not travelling.
    pub fn progress(&self, at: Duration) -> Option<f32> {
        let (from, to) = self.time;
        if at < from || at >= to {
            return None;
        }
        let share = at.saturating_sub(from).as_secs_f32() / to.saturating_sub(from).as_secs_f32();
        Some(self.way.0 + (self.way.1 - self.way.0) * share)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    pub time: (Duration, Duration),
    pub passes: (LessonTime, LessonTime),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flight {
    from: usize,
    /// The lesson time shown before it.
    pub begin: LessonTime,
    /// Ordered by departure.
    pub hops: Vec<Hop>,
    pub waits: Vec<Wait>,
    /// When each event happens: in time of the flight and in lesson time.
    landings: Vec<(Duration, LessonTime)>,
    /// Its duration at normal speed.
    pub lasts: Duration,
}

impl Flight {
    /// The flight from the position of `base` to position `to`; `begin` is the lesson time shown before.
    pub fn between(log: &Log, base: &World, to: usize, begin: LessonTime, tempo: Tempo) -> Self {
        let to = to.min(log.len()).max(base.position);
        if tempo.messages {
            phases::compose(log, base, to, begin, tempo.wait)
        } else {
            Self::smooth(log, base.position..to, begin, tempo.wait)
        }
    }

    /// A flight in which time passes and nothing travels.
    fn smooth(log: &Log, range: std::ops::Range<usize>, begin: LessonTime, wait: Duration) -> Self {
        let from = range.start;
        let events = &log.events()[range];
        let end = events.last().map_or(begin, |event| event.at).max(begin);
        let span = end.since(begin);
        if span < NOTICEABLE || wait.is_zero() {
            let landings = events.iter().map(|event| (Duration::ZERO, event.at));
            return Self { from, begin, landings: landings.collect(), ..Self::default() };
        }
        let landings = events.iter().map(|event| {
            let share = event.at.since(begin).as_secs_f64() / span.as_secs_f64();
            (wait.mul_f64(uneased(share)), event.at)
        });
        Self {
            from,
            begin,
            landings: landings.collect(),
            waits: vec![Wait { time: (Duration::ZERO, wait), passes: (begin, end) }],
            hops: Vec::new(),
            lasts: wait,
        }
    }

    pub fn range(&self) -> std::ops::Range<usize> {
        self.from..self.from + self.landings.len()
    }

    /// The hops in progress at a moment, with the share of the way covered.
    pub fn in_flight(&self, at: Duration) -> impl Iterator<Item = (&Hop, f32)> {
        self.hops
            .iter()
            .take_while(move |hop| hop.time.0 <= at)
            .filter_map(move |hop| Some((hop, hop.progress(at)?)))
    }

    /// All hops of the phase in progress at a moment: arrived, travelling, or not yet departed.
    pub fn phase_at(&self, at: Duration) -> &[Hop] {
        let begun = self.hops.partition_point(|hop| hop.time.0 <= at);
        let Some(last) = begun.checked_sub(1).map(|last| self.hops[last].phase) else { return &[] };
        let first = self.hops.partition_point(|hop| hop.phase < last);
        let end = self.hops.partition_point(|hop| hop.phase <= last);
        let hops = &self.hops[first..end];
        let lasts = hops.iter().any(|hop| hop.time.1 > at);
        if lasts { hops } else { &[] }
    }

    pub fn position(&self, at: Duration) -> usize {
        self.from + self.landings.partition_point(|(landing, _)| *landing <= at)
    }

    pub fn display(&self, at: Duration) -> LessonTime {
        let happened = self.position(at).checked_sub(self.from + 1);
        let happened = happened.map_or(self.begin, |last| self.landings[last].1);
        let begun = self.waits.partition_point(|wait| wait.time.0 <= at);
        let waited = begun.checked_sub(1).map_or(self.begin, |wait| {
            let Wait { time, passes } = self.waits[wait];
            let share = at.saturating_sub(time.0).as_secs_f64() / time.1.saturating_sub(time.0).as_secs_f64();
            passes.0 + passes.1.since(passes.0).mul_f64(eased(share.min(1.0)))
        });
        happened.max(waited).max(self.begin)
    }
}

/// What views may know of the animation in progress. It is empty if the learner wants reduced motion.
#[derive(Debug, Clone, Copy)]
pub struct InFlight<'a> {
    /// The flight in progress and its current moment.
    pub flight: Option<(&'a Flight, Duration)>,
    pub forward: bool,
}

impl<'a> InFlight<'a> {
    pub fn leads_to(self, position: usize) -> bool {
        self.flight.is_some_and(|(flight, _)| self.forward && flight.range().end == position)
    }

    pub fn hops(self) -> impl Iterator<Item = (&'a Hop, f32)> {
        self.flight.into_iter().flat_map(|(flight, at)| flight.in_flight(at))
    }
}

/// Eases in and out, so that the eye can follow.
fn eased(share: f64) -> f64 {
    share * share * (3.0 - 2.0 * share)
}

/// The inverse of [`eased`].
fn uneased(share: f64) -> f64 {
    0.5 - ((1.0 - 2.0 * share.clamp(0.0, 1.0)).asin() / 3.0).sin()
}
