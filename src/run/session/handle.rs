//! The handle of a live run: commands go in, events come out.

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::RunError;
use crate::{
    log::{Choice, Event, outlook::Outlook},
    text::{Text, Words},
    verdict::{Verdict, compare::Difference},
};

#[derive(Debug, Clone, PartialEq)]
pub enum SessionCommand {
    /// Carry out the next step of the story as fast as possible: time that the story lets pass is jumped over
    /// where the clock can jump. A `Step` sent before the lab is ready is carried out once it is.
    Step,
    /// Like `Step`, but time passes at the chosen speed, so that it can be watched. Playing a story is a
    /// series of `Watch` commands.
    Watch,
    /// Stop the clock during a `Watch` that lets time pass; the step stays unfinished.
    Hold,
    /// Continue the step that `Hold` stopped.
    Resume,
    /// The speed of lesson time during a `Watch`, as a multiple of real time.
    Speed(f64),
    /// Leave the story for good: from now on `Choose` decides what happens. Answered by [`Update::Outlook`].
    LeaveStory,
    /// Carry out this choice, after leaving the story if it has not been left.
    Choose(Choice),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    Events(Vec<Event>),
    /// A `Watch` lets time pass from now on; there may be no events for a while.
    TimeRuns,
    /// The requested step is over. `ended` when it was the story's last.
    Stepped {
        ended: bool,
    },
    /// The story has been left; the outlook lists what may happen next.
    Outlook(Outlook),
    /// A choice cannot be made, for this reason. Nothing happened.
    Refused(Text),
    /// The history of another run has been repeated on a fresh lab: see [`super::branch`].
    Branched {
        /// The first move that was sent, answered or ended differently.
        difference: Option<Box<Difference>>,
        /// Why the repetition stopped early, if it did: this entry of the history and everything after it are
        /// missing.
        refused: Option<Text>,
    },
    /// The story is over; this is its verdict.
    Verdict(Verdict),
    /// A process was stopped from outside, with the message to show until the next `Silent`; `None` when the
    /// process runs again. The run waits meanwhile.
    Silent(Option<Text>),
    /// The run cannot continue. The lab is being shut down.
    Failed(Failure),
}

/// A run should always report why it ends; this is shown if it does not.
const ENDED: Words = Words::new("The run ended without saying why.", "运行中断了，原因不明。");

/// Why runs cannot continue.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What happened, why, and what to do.
    pub message: Text,
    /// Whether a server is missing or failed, so that a fresh start may help, rather than the lesson being wrong.
    pub server: bool,
}

impl Failure {
    pub fn silent() -> Self {
        Self { message: ENDED.text(&[]), server: false }
    }
}

impl From<&RunError> for Failure {
    fn from(error: &RunError) -> Self {
        Self { message: error.text(), server: error.is_server() }
    }
}

/// A live run. Dropping it ends the run, its clients and its servers.
#[derive(Debug)]
pub struct Session {
    pub commands: UnboundedSender<SessionCommand>,
    pub updates: UnboundedReceiver<Update>,
}
