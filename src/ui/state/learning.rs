//! One run of a lesson: the live session, the log that it produces, and how the learner advances it.

pub(crate) mod free_play;

use std::time::{Duration, Instant};

use super::{
    free::{Free, FreeNotice},
    playback::{GLIDE, Playback},
    predicting::{Answer, Predictions, Score},
    reading,
    screen::{Failure, Motion, RunPhase},
};
use crate::{
    clock::ClockKind,
    log::{EventKind, Log},
    run::{
        LessonChoice,
        session::{Session, SessionCommand, Update},
    },
    text::{Lang, Text},
    verdict::{Outcome, Verdict},
};
use free_play::Branching;

/// How long playing pauses at the first violation of a run.
const VIOLATION: Duration = Duration::from_millis(1500);
/// A step that takes longer is visibly slow to the learner.
const LONG: Duration = Duration::from_secs(1);
/// The limits for the duration of recorded waits when they are replayed.
const REPLAY: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(3));

#[derive(Debug, Clone, PartialEq)]
enum Engine {
    /// The servers are being started; a first step may have been requested already.
    Booting {
        asked: Option<SessionCommand>,
    },
    Ready,
    /// Carrying out a step that skips over time.
    Stepping {
        /// The length of the log before it, and when it was requested.
        from: (usize, Instant),
        /// Whether the learner has already requested the following step. The step may be fully shown shortly before it
        /// is over, and a key pressed in between must not be lost.
        again: bool,
    },
    /// Carrying out a step in which time passes visibly.
    Watching,
    /// Paused within such a step.
    Held,
    Over {
        /// The verdict, once it is known.
        verdict: Option<Verdict>,
        /// Whether the learner has asked for the verdict, which is not shown before, so that the last narration can be
        /// read.
        shown: bool,
    },
    /// The whole log is known from the beginning: a single run of many, which has no verdict.
    Complete,
    Failed(Failure),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AdvanceTo {
    Step(usize),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// The learner requests every step.
    ByHand,
    /// Steps follow one another; the next one not before this time, if given.
    Playing { next: Option<Instant> },
    /// Paused while messages were in flight; `playing` tells whether to continue playing afterwards.
    Frozen { playing: bool },
}

#[derive(Debug)]
pub struct Learning {
    pub choice: LessonChoice,
    pub playback: Playback,
    pub(crate) session: Option<Session>,
    engine: Engine,
    pace: Pace,
    /// Whether an invariant was broken at the last check, and until when playing pauses because of it.
    violated: bool,
    paused_until: Option<Instant>,
    pub(crate) speed: f64,
    pub(crate) predictions: Predictions,
    pub(crate) free: Option<Free>,
    /// Set while another run is repeated on a fresh lab: the events received so far.
    branching: Option<Branching>,
    /// How far the run advances by itself: to a step, counted like `EventKind::Stop`, or to the end.
    target: Option<AdvanceTo>,
    /// The message about a process that was stopped from outside, while it is stopped.
    pub(crate) silent: Option<Text>,
}

impl Learning {
    pub fn new(choice: LessonChoice, session: Session, speed: f64, questions: bool) -> Self {
        let mut learning = Self::with(choice, Playback::new(speed), Engine::Booting { asked: None }, speed);
        learning.session = Some(session);
        learning.set_questions(questions);
        learning.tell(SessionCommand::Speed(speed));
        learning
    }

    /// A finished run at its beginning, without story and verdict.
    pub fn of_log(choice: LessonChoice, log: &Log, speed: f64) -> Self {
        let mut playback = Playback::new(speed);
        playback.append(log.events().to_vec(), None, Instant::now());
        playback.go_to(0);
        playback.reset_seen();
        Self::with(choice, playback, Engine::Complete, speed)
    }

    fn with(choice: LessonChoice, playback: Playback, engine: Engine, speed: f64) -> Self {
        Self {
            choice,
            playback,
            session: None,
            engine,
            pace: Pace::ByHand,
            violated: false,
            paused_until: None,
            speed,
            predictions: Predictions::new(false),
            free: None,
            branching: None,
            target: None,
            silent: None,
        }
    }

    /// Handles the updates that have already arrived. A recorded run has its opening at once, and must not be drawn as
    /// if its servers were being started.
    pub fn catch_up(&mut self, lang: Lang) {
        while let Some(Ok(update)) = self.session.as_mut().map(|session| session.updates.try_recv()) {
            self.receive(Some(update), lang, Instant::now());
        }
    }

    fn tell(&self, command: SessionCommand) {
        if let Some(session) = &self.session {
            // A run that has ended reports it in its updates, so a late command is no error.
            let _ = session.commands.send(command);
        }
    }

    pub fn phase(&self) -> RunPhase<'_> {
        match &self.engine {
            Engine::Booting { .. } => RunPhase::Booting,
            Engine::Ready => RunPhase::Ready,
            Engine::Stepping { .. } | Engine::Watching | Engine::Held => RunPhase::Working,
            Engine::Complete => RunPhase::Over(None),
            Engine::Over { verdict, shown } => RunPhase::Over(verdict.as_ref().filter(|_| *shown)),
            Engine::Failed(failure) => RunPhase::Failed(failure),
        }
    }

    /// The duration of the current step, if it takes long and no animation shows it.
    pub fn waited(&self, now: Instant) -> Option<Duration> {
        let Engine::Stepping { from: (_, asked), .. } = self.engine else { return None };
        let waited = now.saturating_duration_since(asked);
        (waited >= LONG && !self.playback.is_gliding()).then_some(waited)
    }

    pub fn motion(&self) -> Motion {
        match (self.pace, &self.engine) {
            (Pace::Playing { .. }, _) => Motion::Playing,
            (Pace::ByHand, Engine::Held) | (Pace::Frozen { .. }, _) => Motion::Held,
            (Pace::ByHand, _) if self.playback.is_gliding() => Motion::Stepping,
            (Pace::ByHand, _) => Motion::Paused,
        }
    }

    pub fn shows_verdict(&self) -> bool {
        matches!(self.phase(), RunPhase::Over(Some(_))) && self.playback.at_frontier()
    }

    pub fn choices(&self) -> usize {
        self.predictions.choices(&self.playback)
    }

    /// Whether a question on the screen can be answered or skipped now.
    pub fn can_answer(&self) -> bool {
        self.predictions.choices(&self.playback) > 0
    }

    pub fn answer(&mut self, answer: Answer) {
        self.predictions.answer(answer, &self.playback);
    }

    /// The results of this run, wherever the playhead is: the outcome, once known, and the score of the predictions.
    pub fn done(&self) -> (Option<Outcome>, Score) {
        let outcome = self.finished().map(|(_, verdict)| verdict.outcome);
        (outcome, self.predictions.score(self.playback.log()))
    }

    /// The log and the verdict, once the story is over and judged.
    pub fn finished(&self) -> Option<(&Log, &Verdict)> {
        let Engine::Over { verdict, .. } = &self.engine else { return None };
        Some((self.playback.log(), verdict.as_ref()?))
    }

    pub fn set_questions(&mut self, on: bool) {
        self.predictions.set_on(on);
        self.playback.passes_questions = !on;
    }

    pub fn set_speed(&mut self, speed: f64, now: Instant) {
        self.speed = speed;
        self.playback.speed = speed;
        self.tell(SessionCommand::Speed(speed));
        if self.engine == Engine::Watching {
            self.playback.resume_time(self.time_speed(), now);
        }
    }

    pub fn forward(&mut self, now: Instant) {
        self.pause();
        if self.predictions.needs_answer(&self.playback) {
            return;
        }
        if self.playback.forward(GLIDE, now) {
            return;
        }
        match &mut self.engine {
            Engine::Ready if self.free.is_some() => self.show_you_choose(),
            Engine::Booting { .. } | Engine::Ready => self.ask_for_step(false),
            Engine::Held => self.resume(now),
            Engine::Over { shown, .. } => *shown = true,
            // Repeating the request because a step is slow must not skip the result of the step.
            Engine::Stepping { from: (from, asked), again } => {
                let seen = self.playback.has_stopped_since(*from)
                    || (self.playback.log().len() > *from && now < *asked + LONG);
                *again = self.free.is_none() && seen;
            }
            Engine::Watching | Engine::Complete | Engine::Failed(_) => {}
        }
    }

    fn stepping(&self) -> Engine {
        Engine::Stepping { from: (self.playback.log().len(), Instant::now()), again: false }
    }

    /// Requests the next step; `watched` decides whether its time passes visibly. While the servers are being started,
    /// only one request counts.
    fn ask_for_step(&mut self, watched: bool) {
        let (command, engine) = if watched {
            (SessionCommand::Watch, Engine::Watching)
        } else {
            (SessionCommand::Step, self.stepping())
        };
        match &mut self.engine {
            Engine::Booting { asked: Some(_) } => return,
            Engine::Booting { asked } => *asked = Some(command.clone()),
            _ => self.engine = engine,
        }
        self.tell(command);
    }

    /// Goes back one step; reverses an animation in progress.
    pub fn back(&mut self, now: Instant) {
        self.predictions.nudged = false;
        if self.playback.turn_back(now) {
            self.pace = Pace::ByHand;
            self.hold();
            return;
        }
        self.pause();
        // From the verdict, this returns to the last narration.
        if !(self.playback.at_frontier() && self.show_verdict(false)) {
            self.playback.back(now);
        }
    }

    /// Shows or hides the verdict. Returns `true` if that changes anything.
    fn show_verdict(&mut self, show: bool) -> bool {
        let Engine::Over { shown, .. } = &mut self.engine else { return false };
        std::mem::replace(shown, show) != show
    }

    pub fn to(&mut self, end: bool) {
        self.pause();
        self.predictions.nudged = false;
        self.show_verdict(end);
        self.playback.go_to(if end { usize::MAX } else { 0 });
    }

    /// Moves the playhead to `position`.
    pub fn seek(&mut self, position: usize) {
        self.pause();
        self.predictions.nudged = false;
        self.show_verdict(false);
        self.playback.go_to(position);
    }

    /// Toggles playing, even while messages are in flight.
    pub fn toggle(&mut self, now: Instant) {
        match self.pace {
            Pace::Frozen { playing } => {
                self.playback.thaw(now);
                self.pace = Pace::ByHand;
                if playing {
                    self.start_playing(now);
                }
            }
            Pace::Playing { .. } if self.paused_until.is_some() => {
                self.paused_until = None;
                self.hold();
                let gliding = self.playback.is_gliding();
                self.pace = if gliding { Pace::Frozen { playing: true } } else { Pace::ByHand };
            }
            Pace::ByHand | Pace::Playing { .. } if self.playback.freeze(now) => {
                let playing = matches!(self.pace, Pace::Playing { .. });
                self.hold();
                self.pace = Pace::Frozen { playing };
            }
            Pace::Playing { .. } => self.pause(),
            Pace::ByHand => {
                self.playback.complete();
                let done = matches!(
                    self.engine,
                    Engine::Over { shown: true, .. } | Engine::Complete | Engine::Failed(_)
                );
                if (done && self.playback.at_frontier()) || self.predictions.needs_answer(&self.playback) {
                    return;
                }
                self.start_playing(now);
                self.play(now);
            }
        }
    }

    fn start_playing(&mut self, now: Instant) {
        self.pace = Pace::Playing { next: None };
        if self.engine == Engine::Held {
            self.resume(now);
        }
    }

    /// Completes the animation in progress. Returns `true` if there was one.
    pub fn complete(&mut self) -> bool {
        let gliding = self.playback.is_gliding();
        self.playback.complete();
        self.paused_until = self.paused_until.map(|_| Instant::now());
        if let Pace::Frozen { .. } = self.pace {
            self.pace = Pace::ByHand;
        }
        gliding
    }

    pub(crate) fn pause(&mut self) {
        self.target = None;
        self.paused_until = None;
        self.playback.complete();
        self.pace = Pace::ByHand;
        self.hold();
    }

    /// Advances by itself to a step of the story, or to its end, without asking questions.
    pub fn advance_to(&mut self, item: Option<usize>) {
        self.set_questions(false);
        self.target = Some(item.map_or(AdvanceTo::End, AdvanceTo::Step));
        self.advance();
    }

    /// Advances to the step at which the learner left the story; earlier questions are not asked again.
    pub fn resume_at(&mut self, item: usize) {
        self.target = Some(AdvanceTo::Step(item));
        self.advance();
    }

    /// The step of the story right before the playhead; `None` in free play or while the run advances by itself.
    pub fn last_item(&self) -> Option<usize> {
        if self.free.is_some() || self.branching.is_some() || self.target.is_some() {
            return None;
        }
        let events = self.playback.log().events().iter().take(self.playback.world().position);
        let mut stops = events.rev().filter_map(|event| match event.kind {
            EventKind::Stop { item, .. } => Some(item),
            _ => None,
        });
        stops.next()
    }

    fn advance(&mut self) {
        let Some(target) = self.target else { return };
        self.playback.complete();
        match &mut self.engine {
            Engine::Booting { .. } | Engine::Ready => {
                let last = self.playback.log().events().iter().rev().find_map(|event| match event.kind {
                    EventKind::Stop { item, .. } => Some(item),
                    _ => None,
                });
                if matches!(target, AdvanceTo::Step(item) if last.is_some_and(|last| last >= item)) {
                    self.target = None;
                } else {
                    self.ask_for_step(false);
                }
            }
            Engine::Over { shown, .. } => {
                *shown |= target == AdvanceTo::End;
                self.target = None;
            }
            Engine::Stepping { .. } => {}
            Engine::Watching | Engine::Held | Engine::Complete | Engine::Failed(_) => self.target = None,
        }
    }

    fn hold(&mut self) {
        if self.engine == Engine::Watching {
            self.engine = Engine::Held;
            self.tell(SessionCommand::Hold);
            self.playback.stop_time();
        }
    }

    fn resume(&mut self, now: Instant) {
        self.engine = Engine::Watching;
        self.tell(SessionCommand::Resume);
        self.playback.resume_time(self.time_speed(), now);
    }

    /// The speed of lesson time while it passes visibly. The machine's own clock cannot be sped up.
    fn time_speed(&self) -> f64 {
        match self.playback.world().clock {
            ClockKind::Controlled | ClockKind::Recorded => self.speed,
            ClockKind::Wall => 1.0,
        }
    }

    /// While playing, requests the next step when it is due.
    fn play(&mut self, now: Instant) {
        let Pace::Playing { next } = self.pace else { return };
        if let Some(until) = self.paused_until {
            if now < until {
                return;
            }
            self.paused_until = None;
            self.playback.thaw(now);
            if self.engine == Engine::Held {
                self.resume(now);
            }
        }
        if self.playback.is_gliding() {
            return;
        }
        // A question pauses playing.
        if self.predictions.asks(&self.playback) {
            self.pace = Pace::ByHand;
            return;
        }
        if next.is_some_and(|next| now < next) {
            return;
        }
        if !self.playback.at_frontier() {
            let lasts = self.playback.next_span().div_f64(self.speed).clamp(REPLAY.0, REPLAY.1);
            self.playback.forward(lasts.mul_f64(self.speed), now);
            self.pace = Pace::Playing { next: Some(now + lasts) };
            return;
        }
        match &mut self.engine {
            Engine::Ready if self.free.is_some() => self.pace = Pace::ByHand,
            Engine::Booting { .. } | Engine::Ready => self.ask_for_step(true),
            Engine::Over { shown, .. } => {
                *shown = true;
                self.pace = Pace::ByHand;
            }
            Engine::Complete | Engine::Failed(_) => self.pace = Pace::ByHand,
            Engine::Stepping { .. } | Engine::Watching | Engine::Held => {}
        }
    }

    /// Pauses playing at the first violation, without completing the animation.
    fn pause_at_violation(&mut self, now: Instant) {
        let violated = self.playback.is_violated();
        let first = violated && !std::mem::replace(&mut self.violated, violated);
        if first && matches!(self.pace, Pace::Playing { .. }) {
            self.playback.freeze(now);
            self.hold();
            self.paused_until = Some(now + VIOLATION);
        }
        self.violated = violated;
    }

    pub fn tick(&mut self, lang: Lang, now: Instant) {
        let gliding = self.playback.is_gliding();
        self.playback.tick(now);
        self.pause_at_violation(now);
        if gliding && !self.playback.is_gliding() {
            self.schedule_next_step(lang, now, true);
        }
        self.play(now);
    }

    /// When the next step or the next second of a wait is due, if no animation ends before.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let paced = if let Pace::Playing { next } = self.pace { self.paused_until.or(next) } else { None };
        // The header counts the seconds of a step that takes long.
        let second = match self.engine {
            Engine::Stepping { from: (_, asked), .. } => {
                let whole = now.saturating_duration_since(asked).as_secs() + 1;
                Some(asked + Duration::from_secs(whole))
            }
            _ => None,
        };
        paced.into_iter().chain(second).min()
    }

    /// Handles an update of the live run; `None` means that it ended without a report.
    pub fn receive(&mut self, update: Option<Update>, lang: Lang, now: Instant) {
        match update {
            Some(Update::Events(events)) if let Some(branching) = &mut self.branching => {
                branching.events.extend(events);
            }
            Some(Update::Branched { difference, refused }) => self.finish_branch(difference, refused),
            Some(Update::Silent(why)) => self.silent = why,
            Some(Update::Outlook(outlook)) => self.free.get_or_insert_default().set_outlook(outlook),
            Some(Update::Refused(why)) => {
                self.engine = Engine::Ready;
                self.free.get_or_insert_default().notice = FreeNotice::Refused(why);
            }
            Some(Update::Events(events)) => {
                if let Engine::Booting { asked } = &self.engine {
                    self.engine = match asked {
                        None | Some(SessionCommand::LeaveStory) => Engine::Ready,
                        Some(SessionCommand::Watch) => Engine::Watching,
                        Some(_) => self.stepping(),
                    };
                    if self.pace == Pace::ByHand {
                        // The learner paused while the servers were being started, so the step is held from its
                        // beginning.
                        self.hold();
                    }
                }
                let watched =
                    matches!(self.engine, Engine::Watching | Engine::Held).then(|| self.time_speed());
                self.playback.append(events, watched, now);
                if self.engine == Engine::Held {
                    self.playback.stop_time();
                }
            }
            Some(Update::TimeRuns) => {
                if self.engine == Engine::Watching {
                    self.playback.time_runs(self.time_speed(), now);
                }
            }
            // While a run is being repeated, its steps and its verdict are not the learner's.
            Some(Update::Stepped { .. } | Update::Verdict(_)) if self.branching.is_some() => {}
            Some(Update::Stepped { ended }) => {
                self.playback.end_step();
                let again = matches!(self.engine, Engine::Stepping { again: true, .. });
                // The verdict may arrive before this update.
                match (ended, &self.engine) {
                    (true, Engine::Over { .. }) => {}
                    (true, _) => self.engine = Engine::Over { verdict: None, shown: false },
                    (false, _) => self.engine = Engine::Ready,
                }
                if self.engine == Engine::Ready && self.predictions.skips_question(self.playback.log()) {
                    self.ask_for_step(matches!(self.pace, Pace::Playing { .. }));
                } else if again && !ended {
                    self.forward(now);
                } else if !self.playback.is_gliding() {
                    self.schedule_next_step(lang, now, false);
                }
            }
            Some(Update::Verdict(verdict)) => {
                let shown = matches!(self.engine, Engine::Over { shown: true, .. });
                self.engine = Engine::Over { verdict: Some(verdict), shown };
            }
            Some(Update::Failed(failure)) => self.fail(failure),
            None => {
                self.session = None;
                if !matches!(self.engine, Engine::Over { .. } | Engine::Failed(_)) {
                    self.fail(Failure::silent());
                }
            }
        }
        self.advance();
        self.pause_at_violation(now);
        self.play(now);
    }

    fn fail(&mut self, failure: Failure) {
        self.playback.stop_time();
        self.pace = Pace::ByHand;
        // The log is kept; it could not be reproduced.
        self.branching = None;
        self.silent = None;
        self.engine = Engine::Failed(failure);
    }

    /// Schedules the next step after the time to read this one; less if the learner watched it happen.
    fn schedule_next_step(&mut self, lang: Lang, now: Instant, watched: bool) {
        if let Pace::Playing { .. } = self.pace {
            let step = self.playback.last_step();
            let lasts = reading::time(step, lang, (self.predictions.on, watched)).div_f64(self.speed);
            self.pace = Pace::Playing { next: Some(now + lasts) };
        }
    }
}
