//! A run whose story was left: choices in place of steps, and another run done again on a fresh lab.

use std::collections::BTreeSet;

use super::{Engine, Learning, Pace};
use crate::{
    clock::ClockKind,
    log::{Choice, Event, EventKind, Log},
    run::session::{Command, Session},
    text::Text,
    ui::state::free::{Free, FreeNotice},
    verdict::compare::Difference,
    world::{ActorWorld, Life},
};

/// Another run is being done again; until that is over its past stays on the screen.
#[derive(Debug, Default)]
pub(crate) struct Branching {
    pub(crate) events: Vec<Event>,
    /// So many choices and lines of the story are to be done again.
    steps: usize,
    /// What the learner chose to do after it.
    then: Option<Choice>,
}

impl Learning {
    /// The run goes on as another that begins like it: with what happened up to the last step before the playhead, and
    /// what the learner chose to do then. `session` does it again.
    pub fn branch(&mut self, past: Log, session: Session, then: Option<Choice>) {
        self.pace = Pace::ByHand;
        self.branching = Some(Branching { steps: past.history(past.len()).len(), events: Vec::new(), then });
        self.playback.replace(past);
        self.session = Some(session);
        self.engine = self.stepping();
        self.free.get_or_insert_default().deal_anew();
        self.tell(Command::Speed(self.speed));
    }

    /// What happened up to the last step that is over at the playhead.
    pub fn past(&self) -> Log {
        self.playback.log().prefix(self.playback.last_stop())
    }

    /// Whether the run can carry out a choice: it lives, waits, and the playhead is behind everything that happened.
    pub fn can_choose(&self) -> bool {
        let waits = matches!(self.engine, Engine::Ready | Engine::Over { .. });
        let live = self.session.is_some() && self.playback.world().clock != ClockKind::Recorded;
        waits && live && self.playback.at_frontier()
    }

    /// Whether it is in the middle of something that is over in a moment.
    pub fn is_busy(&self) -> bool {
        matches!(
            self.engine,
            Engine::Booting { .. } | Engine::Stepping { .. } | Engine::Watching | Engine::Held
        )
    }

    /// Whether the playhead stands further back than what happened, and is not on its way there.
    pub fn looks_back(&self) -> bool {
        let live = self.playback.world().clock != ClockKind::Recorded;
        !live || !self.playback.follows()
    }

    pub fn is_branching(&self) -> bool {
        self.branching.is_some()
    }

    /// Whether the story can be left where it is: the run lives, and the playhead is behind everything that happened.
    pub fn can_leave_story(&self) -> bool {
        self.free.is_none() && (self.can_choose() || self.is_busy()) && self.playback.at_frontier()
    }

    /// The learner leaves the story: after the step that is under way, if one is.
    pub fn leave_story(&mut self) {
        self.pause();
        self.predictions.nudged = false;
        self.free = Some(Free::default());
        self.tell(Command::LeaveStory);
        self.engine = match &self.engine {
            Engine::Booting { .. } => Engine::Booting { asked: Some(Command::LeaveStory) },
            Engine::Stepping { .. } | Engine::Watching | Engine::Held => self.stepping(),
            _ => Engine::Ready,
        };
    }

    /// Says that there is no story to continue: the learner has to choose.
    pub fn say_you_choose(&mut self) {
        self.free.get_or_insert_default().notice = FreeNotice::YouChoose;
    }

    /// Whether nobody can move any more: a story that was played to its end leaves nothing to choose.
    pub fn is_everybody_done(&self) -> bool {
        let over = |actor: &ActorWorld| matches!(actor.life, Life::Finished | Life::Crashed);
        let actors = &self.playback.world().actors;
        !actors.is_empty() && actors.iter().all(over)
    }

    /// How many of the variant's invariants were broken by what the learner chose.
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
        self.tell(Command::Choose(choice));
    }

    /// Everything has been done again: it takes the place of what was on the screen.
    pub(crate) fn branched(&mut self, difference: Option<Box<Difference>>, refused: Option<Text>) {
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
        // What was chosen was chosen of what was seen: where that has come out differently, nobody knows whether it is
        // wanted still.
        if let Some(choice) = then.filter(|_| agrees) {
            self.engine = self.stepping();
            self.tell(Command::Choose(choice));
        }
    }
}
