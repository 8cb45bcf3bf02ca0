//! The playhead: the position in the log and the time shown there.
//!
//! **Architecture Invariant:** stepping moves the playhead and nothing else. The position is a number of events; the
//! time shown is separate, because a wait is animated between two events.

use std::time::{Duration, Instant};

use super::{animation::Animation, programs::Programs};
use crate::{
    clock::LessonTime,
    lesson::plan::listing::Listing,
    log::{Event, EventKind, Log, Step, Steps, Stop},
    ui::{
        chart::{Chart, Detail, sequence::Sequence},
        flight::{Flight, InFlight, LONGEST, Tempo},
    },
    world::World,
};

/// The duration of the animation of a wait in a step taken by hand.
pub const GLIDE: Duration = Duration::from_millis(600);

/// The displayed time advances by itself, because the lesson clock does.
#[derive(Debug, Clone, Copy)]
struct Running {
    from: LessonTime,
    since: Instant,
    speed: f64,
}

#[derive(Debug, Default)]
pub struct Playback {
    log: Log,
    world: World,
    chart: Chart,
    sequence: Sequence,
    programs: Programs,
    steps: Steps,
    pub(crate) passes_questions: bool,
    display: LessonTime,
    /// The number of events that have ever been shown.
    seen: usize,
    /// The animation towards another position.
    animation: Option<Animation>,
    running: Option<Running>,
    pub(crate) speed: f64,
    /// Whether messages are not animated.
    pub(crate) reduced_motion: bool,
}

impl Playback {
    pub(crate) fn new(speed: f64) -> Self {
        Self { speed, ..Self::default() }
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    pub fn world(&self) -> &World {
        &self.world
    }

    pub fn chart(&self) -> &Chart {
        &self.chart
    }

    pub fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Sets the programs whose current operations are tracked.
    pub(crate) fn follow_programs(&mut self, listings: Vec<Listing>) {
        self.programs = Programs::new(listings);
        self.programs.advance(&self.log);
    }

    pub fn seen(&self) -> usize {
        self.seen
    }

    /// Resets what counts as shown to the playhead's position.
    pub(crate) fn reset_seen(&mut self) {
        self.seen = self.world.position;
    }

    pub fn display(&self) -> LessonTime {
        self.display
    }

    /// The number of steps of the story before the playhead.
    pub(crate) fn completed_steps(&self) -> usize {
        // Includes the step that ends at the playhead.
        self.steps.before(self.world.position + 1).last().map_or(0, |step| step.number)
    }

    /// Whether the playhead is at the end of the log.
    pub fn at_frontier(&self) -> bool {
        self.world.position == self.log.len()
    }

    /// Whether a step has ended after the first `events` events.
    pub fn has_stopped_since(&self, events: usize) -> bool {
        self.log.events().iter().skip(events).any(|event| matches!(event.kind, EventKind::Stop { .. }))
    }

    /// Whether the playhead is at the end of the log, or on its way there.
    pub fn follows(&self) -> bool {
        self.at_frontier() || self.animates_to(self.log.len())
    }

    /// Whether the picture changes by itself.
    pub fn is_moving(&self) -> bool {
        self.running.is_some() || self.animation.as_ref().is_some_and(|animation| !animation.frozen)
    }

    /// Whether an animation is in progress, running or paused.
    pub fn is_gliding(&self) -> bool {
        self.animation.is_some()
    }

    /// The animation for the views; `None` with reduced motion.
    pub fn in_flight(&self) -> Option<InFlight<'_>> {
        let animation = self.animation.as_ref().filter(|animation| animation.tempo.messages);
        (!self.reduced_motion).then(|| InFlight {
            flight: animation.map(|animation| (&animation.flight, animation.shown)),
            forward: animation.is_some_and(|animation| animation.forward),
        })
    }

    /// Replaces the log, with the playhead at its end.
    pub fn replace(&mut self, log: Log) {
        *self = Self {
            chart: Chart::new(self.chart.detail),
            programs: Programs::new(self.programs.listings().to_vec()),
            log,
            passes_questions: self.passes_questions,
            speed: self.speed,
            reduced_motion: self.reduced_motion,
            ..Self::default()
        };
        self.chart.advance(&self.log);
        self.sequence.advance(&self.log);
        self.programs.advance(&self.log);
        self.steps.advance(&self.log);
        self.jump(self.log.len());
    }

    pub fn set_detail(&mut self, detail: Detail) {
        if self.chart.detail != detail {
            self.chart = Chart::new(detail);
            self.chart.advance(&self.log);
        }
    }

    /// Appends events. A playhead at the end of the log follows them: messages are animated, and so is a wait that a
    /// step skipped. If time passes visibly (`watched` is its speed), the displayed time advances instead.
    pub fn append(&mut self, events: Vec<Event>, watched: Option<f64>, now: Instant) {
        let follows = self.follows();
        self.log.extend(events);
        self.steps.advance(&self.log);
        self.chart.advance(&self.log);
        self.sequence.advance(&self.log);
        self.programs.advance(&self.log);
        if !follows {
            return;
        }
        let wait = if let Some(speed) = watched {
            self.follow(speed, now);
            Duration::ZERO
        } else {
            self.running = None;
            GLIDE
        };
        self.go(self.log.len(), wait, now);
    }

    /// The lesson clock runs at this speed. If the playhead is at the end of the log, the displayed time advances with
    /// it.
    pub fn time_runs(&mut self, speed: f64, now: Instant) {
        if self.follows() {
            self.follow(speed, now);
        }
    }

    /// Whether a forward animation ends at `position`.
    fn animates_to(&self, position: usize) -> bool {
        let animation = self.animation.as_ref();
        animation.is_some_and(|animation| animation.forward && animation.target() == position)
    }

    /// Lets the displayed time advance with the clock.
    fn follow(&mut self, speed: f64, now: Instant) {
        let from = self.display.max(self.log.time_at(self.log.len()));
        self.running = Some(Running { from, since: now, speed });
    }

    fn tempo(&self, wait: Duration) -> Tempo {
        Tempo { wait, longest: LONGEST.max(wait), messages: !self.reduced_motion }
    }

    /// Moves the playhead forward with an animation.
    fn go(&mut self, target: usize, wait: Duration, now: Instant) {
        if let Some(animation) = self.animation.as_mut().filter(|animation| animation.forward) {
            // The animation in progress is extended by the events since its beginning.
            let begin = animation.flight.begin;
            let flight = Flight::between(&self.log, &animation.base, target, begin, animation.tempo);
            animation.extend(flight, now);
            return;
        }
        let tempo = self.tempo(wait);
        let flight = Flight::between(&self.log, &self.world, target, self.display, tempo);
        if flight.lasts.is_zero() {
            self.jump(target);
            return;
        }
        let base = self.world.clone();
        self.animation = Some(Animation::new(flight, (base, tempo), true, self.speed, now));
        self.show();
    }

    fn jump(&mut self, target: usize) {
        // Stepping back ends where its animation has a world already: the log need not be folded once more.
        if let Some(animation) = self.animation.take()
            && (animation.base.position..self.world.position).contains(&target)
        {
            self.world = animation.base;
        }
        self.world.seek(&self.log, target);
        self.seen = self.seen.max(self.world.position);
        let time = self.log.time_at(target);
        // Displayed time that runs with the clock never goes back.
        self.display = self.running.map_or(time, |running| running.from.max(self.display));
    }

    /// Sets the world and the time to the current moment of the animation.
    fn show(&mut self) {
        let Some(animation) = &self.animation else { return };
        let position = animation.position();
        if animation.forward {
            self.world.seek(&self.log, position.max(self.world.position));
            self.seen = self.seen.max(self.world.position);
            self.display = self.display.max(animation.display());
        } else {
            if position < self.world.position {
                self.world.clone_from(&animation.base);
            }
            self.world.seek(&self.log, position);
            self.display = animation.display();
        }
    }

    pub fn tick(&mut self, now: Instant) {
        if let Some(animation) = &mut self.animation {
            if animation.tick(now) {
                self.complete();
            } else {
                self.show();
            }
        }
        if let Some(Running { from, since, speed }) = self.running {
            let passed = now.saturating_duration_since(since).mul_f64(speed);
            self.display = self.display.max(from + passed);
        }
    }

    pub fn complete(&mut self) {
        if let Some(animation) = &self.animation {
            self.jump(animation.target());
        }
    }

    /// Whether an invariant is broken at the playhead, such as a lock with too many holders.
    pub fn is_violated(&self) -> bool {
        let besides = self.chart.other_alarms().any(|overlap_span| overlap_span.is_now(self.world.position));
        besides || self.world.holding.worst().is_some()
    }

    /// Pauses an animation where it is. Returns `false` if none can be paused.
    pub fn freeze(&mut self, now: Instant) -> bool {
        let animation = self.animation.as_mut().filter(|animation| animation.tempo.messages);
        animation.map(|animation| animation.freeze(now)).is_some()
    }

    pub fn thaw(&mut self, now: Instant) {
        if let Some(animation) = &mut self.animation {
            animation.thaw(now);
        }
    }

    /// Reverses a forward animation. Returns `false` if there is none.
    pub fn turn_back(&mut self, now: Instant) -> bool {
        let animation = self.animation.as_mut();
        let animation = animation.filter(|animation| animation.forward && animation.tempo.messages);
        animation.map(|animation| animation.reverse(now)).is_some()
    }

    /// Stops the displayed time, because the clock stands still.
    pub fn stop_time(&mut self) {
        self.running = None;
    }

    /// Ends a step: the time shown is that of its last event, however far it ran ahead.
    pub fn end_step(&mut self) {
        self.stop_time();
        if self.at_frontier() && !self.is_gliding() {
            self.display = self.log.time_at(self.log.len());
        }
    }

    /// Lets the displayed time continue with the live clock.
    pub fn resume_time(&mut self, speed: f64, now: Instant) {
        if (self.at_frontier() && !self.is_gliding()) || self.animates_to(self.log.len()) {
            self.running = Some(Running { from: self.display, since: now, speed });
        }
    }

    /// Goes to the next stop, or to the end of the log. Returns `false` if the playhead is there already. `wait` is the
    /// duration of the animation of a long wait.
    pub fn forward(&mut self, wait: Duration, now: Instant) -> bool {
        self.complete();
        if self.at_frontier() {
            return false;
        }
        let target = self.next_stop();
        self.running = None;
        self.go(target, wait, now);
        true
    }

    /// The end of the last completed step at the playhead; before the first step's end, where the first step begins.
    pub fn last_stop(&self) -> usize {
        let over = self.steps.before(self.world.position + 1).last();
        over.map_or_else(|| self.log.opening().min(self.world.position), |step| step.position)
    }

    /// The next stop after the playhead, or the end of the log.
    fn next_stop(&self) -> usize {
        let mut after = self.steps.after(self.world.position).iter();
        let next = after.find(|step| self.stops_at(step));
        next.map_or(self.log.len(), |step| step.position)
    }

    fn stops_at(&self, step: &Step) -> bool {
        !self.passes_questions || step.stop != Stop::Question
    }

    /// Goes back to the previous stop, with the animation reversed. Returns `false` if there is none.
    pub fn back(&mut self, now: Instant) -> bool {
        self.complete();
        let before = self.steps.before(self.world.position).iter();
        let before = before.rev().find(|step| self.stops_at(step));
        let target = before.map_or_else(|| self.log.opening(), |step| step.position);
        if target >= self.world.position {
            return false;
        }
        self.running = None;
        if !self.reduced_motion {
            let tempo = self.tempo(GLIDE);
            let base = World::fold(&self.log, target);
            let begin = self.log.time_at(target);
            let flight = Flight::between(&self.log, &base, self.world.position, begin, tempo);
            if !flight.lasts.is_zero() {
                self.animation = Some(Animation::new(flight, (base, tempo), false, self.speed, now));
                return true;
            }
        }
        self.jump(target);
        true
    }

    pub fn go_to(&mut self, position: usize) {
        self.running = None;
        self.jump(position.clamp(self.log.opening(), self.log.len()));
    }

    /// The end of the next or previous marked step, if there is one.
    pub fn mark(&self, next: bool) -> Option<usize> {
        let here = self.world.position;
        let marks = self.chart.story_marks.iter();
        let mut marked = marks.filter(|mark| mark.asks || mark.fault.is_some() || mark.overlap_span);
        let mark = if next {
            marked.find(|mark| mark.position > here)
        } else {
            marked.rfind(|mark| mark.position < here)
        };
        mark.map(|mark| mark.position)
    }

    /// The events of the step that ends at the playhead.
    pub fn last_step(&self) -> &[Event] {
        let end = self.world.position;
        let start = self.steps.before(end).last().map_or(0, |step| step.position);
        &self.log.events()[start.min(end)..end]
    }

    /// The lesson time that the next recorded step takes.
    pub fn next_span(&self) -> Duration {
        self.log.time_at(self.next_stop()).since(self.display)
    }
}
