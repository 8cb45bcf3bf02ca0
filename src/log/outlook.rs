//! What may happen next in free play: each actor's next operation, the end of the next wait, the faults that can be
//! injected. Plain data, made by the run.

use serde::{Deserialize, Serialize};

use crate::{
    clock::LessonTime,
    log::{ActorId, Fault},
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// The outlook of each actor: that of actor `n` at index `n`.
    pub actors: Vec<ActorOutlook>,
    /// The first wait that will end, if any actor waits.
    pub timer: Option<Timer>,
    pub faults: Vec<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    pub actor: ActorId,
    pub at: LessonTime,
    /// Whether the wait is one inside a server, which then ends the actor's command.
    #[serde(default)]
    pub in_server: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ActorOutlook {
    /// The next operation of its program; `None` if the program is over.
    pub next: Option<Next>,
    /// Why it cannot move now; `None` if it can.
    pub blocked: Option<Blocked>,
    /// Whether its program, a user's own, has never connected to a server.
    #[serde(default)]
    pub unconnected: bool,
}

/// An operation that has not been made yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Next {
    pub label: String,
    /// The server that it would go to; empty if it goes to none.
    pub server: String,
    /// The command that it would send, or what it waits for. If an expression fails now, the error instead.
    pub wire: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blocked {
    Waits {
        until: LessonTime,
    },
    /// Its last command is unanswered.
    Unanswered,
    Unnotified,
    /// Its program, a user's own, waits for something else.
    Busy,
    /// As `Busy`, but its program does not use the lesson clock, so it may continue by itself.
    InOwnTime,
    /// Its program, a user's own, has not come to rest in time: it computes, or asks again and again what time it is.
    Computes,
    Frozen,
    /// Its process was killed, or its program ended with an error.
    Dead,
    Finished,
}

impl Outlook {
    /// Whether no actor can ever move again.
    pub fn is_over(&self) -> bool {
        let over =
            |prospect: &ActorOutlook| matches!(prospect.blocked, Some(Blocked::Dead | Blocked::Finished));
        !self.actors.is_empty() && self.actors.iter().all(over)
    }

    pub fn able(&self) -> impl Iterator<Item = ActorId> {
        let all = (0..).map(ActorId).zip(&self.actors);
        all.filter(|(_, prospect)| prospect.blocked.is_none()).map(|(actor, _)| actor)
    }
}
