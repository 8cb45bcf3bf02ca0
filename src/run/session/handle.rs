//! The handle of a live run: commands go in, events come out.

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::{
    log::{Choice, Event, outlook::Outlook},
    text::Text,
    verdict::{Verdict, compare::Difference},
};

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Carry out the next step of the story, as fast as possible: time that the story lets pass is jumped
    /// over where the clock can jump. Asked before the lab is ready, it is carried out as soon as it is.
    Step,
    /// Like `Step`, but time passes at the speed that was set, so that it can be watched. This is what
    /// playing is made of: one `Watch` after another.
    Watch,
    /// Stop the clock in the middle of a `Watch` that is letting time pass; the step stays unfinished.
    Hold,
    /// Go on with a step that `Hold` stopped.
    Resume,
    /// How much faster than real time a `Watch` lets time pass: 1.0 is real time.
    Speed(f64),
    /// Leave the story for good: from now on `Choose` says what happens. Answered with an outlook.
    LeaveStory,
    /// Carry out this choice. Leaves the story, if it has not been left.
    Choose(Choice),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    Events(Vec<Event>),
    /// A `Watch` lets time pass from here on, however long nothing happens.
    TimeRuns,
    /// The step that was asked for is over. `ended` when it was the story's last.
    Stepped {
        ended: bool,
    },
    /// The story has been left, and this may happen next.
    Outlook(Outlook),
    /// A choice cannot be made, and this is why. Nothing happened.
    Refused(Text),
    /// A run that was to begin like another has done all that the other had done: see [`super::branch`].
    Branched {
        /// The first move that was sent, answered or ended differently.
        difference: Option<Box<Difference>>,
        /// Why not everything could be done again, where it could not: what could not, and what came after it, is
        /// missing.
        refused: Option<Text>,
    },
    /// The story is over and this is what it amounts to.
    Verdict(Verdict),
    /// Somebody outside has stopped a process, and this is to be said of it until the next word on it; `None` when it
    /// runs again. The run waits meanwhile.
    Silent(Option<Text>),
    /// The run cannot go on: what happened, why, and what to do. The lab is being taken down.
    Failed {
        message: Text,
        /// Whether a server is missing or failed (a fresh start may help), rather than the lesson.
        server: bool,
    },
}

/// A live run. Dropping it ends the run, its clients and its servers.
#[derive(Debug)]
pub struct Session {
    pub commands: UnboundedSender<Command>,
    pub updates: UnboundedReceiver<Update>,
}
