//! What may happen next where no story says it: what each actor would do, when the next wait is over, which faults can
//! be caused. Plain data, told by a run in free play.

use serde::{Deserialize, Serialize};

use crate::{
    clock::LessonTime,
    log::{ActorId, Fault},
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// What each actor would do: that of actor `n` at `n`.
    pub actors: Vec<ActorOutlook>,
    /// When the first wait of anybody is over.
    pub timer: Option<Timer>,
    pub faults: Vec<Fault>,
}

/// The first wait that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    pub actor: ActorId,
    pub at: LessonTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActorOutlook {
    /// What stands at this place of its program; nothing where the program is over.
    pub next: Option<Next>,
    /// Why it cannot move now; `None` where it can.
    pub blocked: Option<Blocked>,
}

/// An operation that has not been made yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Next {
    pub label: String,
    /// The server that it would go to; empty where it goes to none.
    pub server: String,
    /// What it would send, or what it waits for. An expression that fails now is told in its place.
    pub wire: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blocked {
    Waits {
        until: LessonTime,
    },
    /// Its last command has not been answered.
    Unanswered,
    Unnotified,
    /// Its program, one from outside, waits for something of its own, or computes.
    Busy,
    Frozen,
    /// Its process was killed, or its program ended with an error.
    Dead,
    Finished,
}

impl Outlook {
    /// Whether nobody can ever move again.
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
