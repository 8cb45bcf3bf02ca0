//! The playhead: where in the recording the learner is, and the time that is shown there. It must not know the
//! live run that makes the recording longer.
//!
//! **Architecture Invariant:** stepping moves the playhead and nothing else. The position is a number of
//! events; the time shown is separate, because a wait is animated between two events.

use std::time::{Duration, Instant};

use crate::{
    clock::{LessonTime, Rate},
    log::{Event, EventKind, Log, Stop},
    view::chart::{Chart, Detail},
    world::World,
};

/// How long the animation of a step that was taken by hand lasts.
pub const GLIDE: Duration = Duration::from_millis(600);
/// Steps over less lesson time than this are not animated.
const NOTICEABLE: Duration = Duration::from_millis(50);

/// An animation of the time shown, from one moment to another.
#[derive(Debug, Clone, Copy)]
struct Glide {
    from: LessonTime,
    to: LessonTime,
    /// The position to arrive at.
    target: usize,
    since: Instant,
    lasts: Duration,
}

/// The time shown runs on by itself, because the lesson clock does.
#[derive(Debug, Clone, Copy)]
struct Running {
    from: LessonTime,
    since: Instant,
    speed: f64,
}

/// How the time shown moves.
#[derive(Debug, Clone, Copy, Default)]
enum Moving {
    #[default]
    Still,
    Gliding(Glide),
    Running(Running),
}

/// The recording and the playhead.
#[derive(Debug, Default)]
pub struct Playback {
    log: Log,
    world: World,
    chart: Chart,
    /// Positions right after each stop.
    stops: Vec<usize>,
    /// Those of them at which a question is asked.
    questions: Vec<usize>,
    /// Whether the playhead passes over those.
    passing: bool,
    display: LessonTime,
    moving: Moving,
}

impl Playback {
    /// Everything that happened.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The world at the playhead.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Everything's place on the time axis.
    #[must_use]
    pub fn chart(&self) -> &Chart {
        &self.chart
    }

    /// The time shown.
    #[must_use]
    pub fn display(&self) -> LessonTime {
        self.display
    }

    /// Whether the playhead stands behind everything that happened.
    #[must_use]
    pub fn at_frontier(&self) -> bool {
        self.world.position == self.log.len()
    }

    /// Whether the picture changes by itself.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        !matches!(self.moving, Moving::Still)
    }

    /// Whether an animation is under way.
    #[must_use]
    pub fn is_gliding(&self) -> bool {
        matches!(self.moving, Moving::Gliding(_))
    }

    /// Chooses how much the lanes say.
    pub fn set_detail(&mut self, detail: Detail) {
        if self.chart.detail() != detail {
            self.chart = Chart::new(detail);
            self.chart.advance(&self.log);
        }
    }

    /// Appends what happened. A playhead at the frontier goes along: at once while the clock is being watched,
    /// with an animation where a step jumped over time.
    pub fn append(&mut self, events: Vec<Event>, watched: Option<f64>, now: Instant) {
        let follows = self.at_frontier() || self.is_gliding();
        let before = self.log.len();
        self.log.extend(events);
        let added = self.log.events()[before..].iter().enumerate();
        let stops = added.filter(|(_, event)| matches!(event.kind, EventKind::Stop { .. }));
        for (stop, event) in stops.map(|(n, event)| (before + n + 1, event)) {
            let EventKind::Stop { stop: kind, .. } = event.kind else {
                continue;
            };
            // The end of the last step and the story's end are one place. Other steps are places of their own, even
            // where nothing but time has passed.
            if kind == Stop::End && self.stops.last().is_some_and(|last| last + 1 == stop) {
                self.stops.pop();
            }
            self.stops.push(stop);
            if kind == Stop::Question {
                self.questions.push(stop);
            }
        }
        self.chart.advance(&self.log);
        if !follows {
            return;
        }
        match watched {
            Some(speed) => self.follow(speed, now),
            None => self.go(self.log.len(), GLIDE, now),
        }
    }

    /// Goes to the frontier at once; the time shown runs on if the clock does.
    fn follow(&mut self, speed: f64, now: Instant) {
        self.world.seek(&self.log, self.log.len());
        if self.world.clock.1 == Rate::PAUSED {
            self.moving = Moving::Still;
            self.display = self.world.now;
            return;
        }
        self.display = self.display.max(self.world.now);
        self.moving = Moving::Running(Running {
            from: self.display,
            since: now,
            speed,
        });
    }

    /// Moves the playhead forward, animated where noticeable lesson time lies between.
    fn go(&mut self, target: usize, lasts: Duration, now: Instant) {
        let to = time_at(&self.log, target);
        if let Moving::Gliding(glide) = &mut self.moving {
            // The animation under way takes in what has happened since it began.
            glide.target = target;
            glide.to = to;
            return;
        }
        if to.since(self.display) < NOTICEABLE || lasts.is_zero() {
            self.jump(target);
            return;
        }
        self.moving = Moving::Gliding(Glide {
            from: self.display,
            to,
            target,
            since: now,
            lasts,
        });
    }

    fn jump(&mut self, target: usize) {
        self.moving = Moving::Still;
        self.world.seek(&self.log, target);
        self.display = time_at(&self.log, target);
    }

    /// Lets the time shown move on.
    pub fn tick(&mut self, now: Instant) {
        match self.moving {
            Moving::Still => {}
            Moving::Running(Running { from, since, speed }) => {
                let passed = now.saturating_duration_since(since).mul_f64(speed);
                self.display = self.display.max(from + passed);
            }
            Moving::Gliding(glide) => {
                let share =
                    now.saturating_duration_since(glide.since).as_secs_f64() / glide.lasts.as_secs_f64();
                if share >= 1.0 {
                    self.jump(glide.target);
                    return;
                }
                // Slow at both ends, so that the eye can follow.
                let eased = share * share * (3.0 - 2.0 * share);
                self.display = glide.from + glide.to.since(glide.from).mul_f64(eased);
                let events = self.log.events();
                let over = events.partition_point(|event| event.at <= self.display);
                let position = over.clamp(self.world.position, glide.target);
                self.world.seek(&self.log, position);
            }
        }
    }

    /// Ends an animation at once.
    pub fn complete(&mut self) {
        if let Moving::Gliding(glide) = self.moving {
            self.jump(glide.target);
        }
    }

    /// The clock stands still from now on: so does the time shown.
    pub fn rest(&mut self) {
        if let Moving::Running(_) = self.moving {
            self.moving = Moving::Still;
        }
    }

    /// A step is over: the time shown is that of its last event, however far it ran ahead.
    pub fn settle(&mut self) {
        self.rest();
        if self.at_frontier() && !self.is_gliding() {
            self.display = time_at(&self.log, self.log.len());
        }
    }

    /// The live clock goes on: so does the time shown.
    pub fn run(&mut self, speed: f64, now: Instant) {
        if self.at_frontier() && self.world.clock.1 != Rate::PAUSED && !self.is_gliding() {
            self.moving = Moving::Running(Running {
                from: self.display,
                since: now,
                speed,
            });
        }
    }

    /// Goes to the next recorded stop, or to the frontier; `false` where the playhead is there already.
    pub fn forward(&mut self, lasts: Duration, now: Instant) -> bool {
        self.complete();
        if self.at_frontier() {
            return false;
        }
        let target = self.next_stop();
        self.moving = Moving::Still;
        self.go(target, lasts, now);
        true
    }

    /// The recorded stop after the playhead, or the frontier.
    fn next_stop(&self) -> usize {
        let next = self.stops.partition_point(|stop| *stop <= self.world.position);
        let mut after = self.stops[next..].iter().copied();
        after.find(|stop| self.stays_at(*stop)).unwrap_or(self.log.len())
    }

    fn stays_at(&self, stop: usize) -> bool {
        !self.passing || self.questions.binary_search(&stop).is_err()
    }

    /// From now on the playhead passes over questions, or stops at them.
    pub fn pass_over_questions(&mut self, pass: bool) {
        self.passing = pass;
    }

    /// Goes back to the stop before; `false` where there is none.
    pub fn back(&mut self) -> bool {
        self.complete();
        let before = self.stops.partition_point(|stop| *stop < self.world.position);
        let before = self.stops[..before]
            .iter()
            .rev()
            .find(|stop| self.stays_at(**stop));
        let target = before.copied().unwrap_or_else(|| self.beginning());
        if target >= self.world.position {
            return false;
        }
        self.jump(target);
        true
    }

    /// Goes to the beginning.
    pub fn to_start(&mut self) {
        self.jump(self.beginning());
    }

    /// Goes to the newest event.
    pub fn to_end(&mut self) {
        self.jump(self.log.len());
    }

    /// Goes to a stop, wherever it is.
    pub fn to_position(&mut self, position: usize) {
        self.jump(position.clamp(self.beginning(), self.log.len()));
    }

    /// Where the next marked step ends, or the one before; nothing where there is none.
    #[must_use]
    pub fn mark(&self, next: bool) -> Option<usize> {
        let here = self.world.position;
        let mut marked = self.chart.beats.iter().filter(|beat| beat.is_marked());
        let beat = if next {
            marked.find(|beat| beat.position > here)
        } else {
            marked.rfind(|beat| beat.position < here)
        };
        beat.map(|beat| beat.position)
    }

    /// The position before the first step: the lab stands, nobody has moved.
    fn beginning(&self) -> usize {
        let first = self.log.events().iter().position(|event| {
            matches!(
                event.kind,
                EventKind::Say { .. }
                    | EventKind::Asked { .. }
                    | EventKind::Sent { .. }
                    | EventKind::Waits { .. }
                    | EventKind::Believes { .. }
                    | EventKind::Fault(_)
                    | EventKind::Stop { .. }
            )
        });
        first.unwrap_or(self.log.len())
    }

    /// The events of the step that the playhead has just completed.
    #[must_use]
    pub fn last_step(&self) -> &[Event] {
        let end = self.world.position;
        let before = self.stops.partition_point(|stop| *stop < end);
        let start = before.checked_sub(1).map_or(0, |n| self.stops[n]);
        &self.log.events()[start.min(end)..end]
    }

    /// How much lesson time the next recorded step takes.
    #[must_use]
    pub fn next_span(&self) -> Duration {
        let target = self.next_stop();
        time_at(&self.log, target).since(self.display)
    }
}

/// The lesson time after the first `position` events.
fn time_at(log: &Log, position: usize) -> LessonTime {
    let last = position.checked_sub(1).and_then(|last| log.events().get(last));
    last.map_or(LessonTime::ZERO, |event| event.at)
}
