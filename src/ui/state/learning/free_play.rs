//! Free play: choices in place of steps, and repeating a run on a fresh lab.

use std::collections::BTreeSet;

use super::{Engine, Learning, Pace};
use crate::{
    clock::ClockKind,
    log::{Choice, Event, EventKind, Log},
    run::session::{Session, SessionCommand},
    text::Text,
    ui::state::free::{Free, FreeNotice},
    verdict::compare::Difference,
    world::{ActorWorld, Life},
};

/// A run that is being repeated; until that is done, its past stays on the screen.
#[derive(Debug, Default)]
pub(crate) struct Branching {
    pub(crate) events: Vec<Event>,
    /// The number of choices and lines of the story to repeat.
    steps: usize,
    /// The learner's choice after the repetition.
    then: Option<Choice>,
}

impl Learning {
    /// Continues in a new branch that begins with `past`, which `session` repeats, and then makes the choice `then`.
    pub fn branch(&mut self, past: Log, session: Session, then: Option<Choice>) {
        self.pace = Pace::ByHand;
        self.branching = Some(Branching { steps: past.history(past.len()).len(), events: Vec::new(), then });
        self.playback.replace(past);
        self.session = Some(session);
        self.engine = self.stepping();
        self.free.get_or_insert_default().reset_keys();
        self.tell(SessionCommand::Speed(self.speed));
    }

    /// The log up to the last completed step before the playhead.
    pub fn past(&self) -> Log {
        self.playback.log().prefix(self.playback.last_stop())
    }

    /// Whether the run can carry out a choice: it is live and idle, and the playhead is at the end of the log.
    pub fn can_choose(&self) -> bool {
        let waits = matches!(self.engine, Engine::Ready | Engine::Over { .. });
        let live = self.session.is_some() && self.playback.world().clock != ClockKind::Recorded;
        waits && live && self.playback.at_frontier()
    }

    /// Whether a step is in progress.
    pub fn is_busy(&self) -> bool {
        matches!(
            self.engine,
            Engine::Booting { .. } | Engine::Stepping { .. } | Engine::Watching | Engine::Held
        )
    }

    /// Whether the run has not said yet what can be chosen, because it is being started.
    pub fn is_starting(&self) -> bool {
        matches!(self.engine, Engine::Booting { .. }) || self.free.as_ref().is_some_and(|free| free.starting)
    }

    /// Whether a choice would need a branch: the run is recorded, or the playhead is neither at the end of the log nor
    /// on its way there.
    pub fn needs_branch(&self) -> bool {
        let live = self.playback.world().clock != ClockKind::Recorded;
        !live || !self.playback.follows()
    }

    pub fn is_branching(&self) -> bool {
        self.branching.is_some()
    }

    /// Whether the story can be left: the run is live, and the playhead is at the end of the log.
    pub fn can_leave_story(&self) -> bool {
        self.free.is_none() && (self.can_choose() || self.is_busy()) && self.playback.at_frontier()
    }

    /// Leaves the story after the step in progress.
    pub fn leave_story(&mut self) {
        self.pause();
        self.predictions.nudged = false;
        let starting = matches!(self.engine, Engine::Booting { .. });
        self.free = Some(Free::begin(starting));
        self.tell(SessionCommand::LeaveStory);
        self.engine = match &self.engine {
            Engine::Booting { .. } => Engine::Booting { asked: Some(SessionCommand::LeaveStory) },
            Engine::Stepping { .. } | Engine::Watching | Engine::Held => self.stepping(),
            _ => Engine::Ready,
        };
    }

    /// Shows that there is no story to continue and the learner has to choose.
    pub fn show_you_choose(&mut self) {
        self.free.get_or_insert_default().notice = FreeNotice::YouChoose;
    }

    /// Whether no timer is pending, so that time has no moment to jump to.
    pub fn has_no_timer(&self) -> bool {
        self.can_choose() && self.free.as_ref().is_some_and(|free| free.outlook.timer.is_none())
    }

    /// Whether no actor can ever move again.
    pub fn is_over(&self) -> bool {
        self.free.as_ref().is_some_and(|free| free.outlook.is_over())
    }

    /// Shows why a choice cannot be made.
    pub fn refuse(&mut self, why: Text) {
        self.free.get_or_insert_default().notice = FreeNotice::Refused(why);
    }

    /// Whether no actor can move any more, as at the end of a story.
    pub fn all_actors_ended(&self) -> bool {
        let over = |actor: &ActorWorld| matches!(actor.life, Life::Finished | Life::Crashed);
        let actors = &self.playback.world().actors;
        !actors.is_empty() && actors.iter().all(over)
    }

    /// The number of the variant's invariants broken since the learner's first choice.
    pub fn solved(&self) -> usize {
        if self.free.is_none() {
            return 0;
        }
        let events = self.playback.log().events().iter();
        let chosen = events.skip_while(|event| !matches!(event.kind, EventKind::Chose(_)));
        let breached = chosen.filter_map(|event| match event.kind {
            EventKind::Breached { invariant, .. } => Some(invariant),
            _ => None,
        });
        breached.collect::<BTreeSet<_>>().len()
    }

    pub fn choose(&mut self, choice: Choice) {
        self.pause();
        let free = self.free.get_or_insert_default();
        free.notice = FreeNotice::Nothing;
        self.engine = self.stepping();
        self.tell(SessionCommand::Choose(choice));
    }

    /// Replaces the log with the repeated run.
    pub(crate) fn finish_branch(&mut self, difference: Option<Box<Difference>>, refused: Option<Text>) {
        let Some(Branching { events, steps, then }) = self.branching.take() else { return };
        let mut log = Log::new();
        log.extend(events);
        self.playback.replace(log);
        self.engine = Engine::Ready;
        let free = self.free.get_or_insert_default();
        let agrees = difference.is_none() && refused.is_none();
        free.notice = match (refused, difference) {
            (Some(why), _) => FreeNotice::Stuck(steps, why),
            (None, Some(difference)) => FreeNotice::Differs(steps, difference),
            (None, None) => FreeNotice::Same(steps),
        };
        // The learner chose on the basis of the old log. If the repetition differs, the choice may no longer be wanted.
        if let Some(choice) = then.filter(|_| agrees) {
            self.engine = self.stepping();
            self.tell(SessionCommand::Choose(choice));
        }
    }
}
