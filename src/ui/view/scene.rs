//! What a pane of the lesson screen may know: the log, the world at the playhead, the time shown.
//!
//! **Architecture Invariant:** a scene is borrowed and read-only. A view can neither change the lesson nor ask
//! anybody for more.

use super::prelude::*;
use crate::{
    clock::LessonTime,
    log::{Fault, Log, Reply},
    ui::{
        chart::{Chart, Owner, sequence::Sequence},
        flight::InFlight,
        keys::map::KeyMap,
    },
    world::World,
};

#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    pub log: &'a Log,
    /// What it amounts to at the playhead; `world.position` is the playhead.
    pub world: &'a World,
    pub chart: &'a Chart,
    pub sequence: &'a Sequence,
    /// The event that the learner has chosen to look at, the same on every pane.
    pub selected: Option<usize>,
    /// The lesson time that is shown. While a wait is animated it runs ahead of the last event.
    pub display: LessonTime,
    pub keys: &'a KeyMap,
    /// What is on its way at this moment; `None` for a learner who wants nothing to move.
    pub flight: Option<InFlight<'a>>,
    /// Whether crowds are shown member by member.
    pub expanded: bool,
    pub theme: Theme,
    pub lang: Lang,
}

impl<'a> Scene<'a> {
    pub(crate) fn context(&self) -> Context<'a> {
        Context { keys: self.keys, theme: self.theme, lang: self.lang }
    }

    pub fn event(&self, index: usize) -> Option<&'a EventKind> {
        self.log.events().get(index).map(|event| &event.kind)
    }

    pub fn fault(&self, event: usize) -> Option<&'a Fault> {
        match self.event(event)? {
            EventKind::Fault(fault) => Some(fault),
            _ => None,
        }
    }

    /// The reply that an event is, as far as the playhead has come.
    pub fn reply(&self, event: usize) -> Option<&'a Reply> {
        match self.event(event)? {
            EventKind::Replied { reply, .. } if event < self.world.position => Some(reply),
            _ => None,
        }
    }

    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    pub fn actor_style(&self, actor: ActorId) -> Style {
        let lane = self.chart.lanes.get(actor.0 as usize);
        self.theme.client(lane.map_or(0, |lane| lane.client))
    }

    /// The glyph of an actor's client, the same on every pane.
    pub fn glyph(&self, actor: ActorId) -> &'static str {
        let lane = self.chart.lanes.get(actor.0 as usize);
        glyphs::client(lane.map_or(0, |lane| lane.client))
    }

    pub fn name(&self, actor: ActorId) -> &'a str {
        self.world.actor(actor).map_or("?", |actor| &actor.who.name)
    }

    pub fn owner(&self, owner: Owner) -> Option<ActorId> {
        match owner {
            Owner::Actor(actor) => Some(actor),
            Owner::Session(session) => self.world.session_owner(session),
        }
    }

    /// A session by its owner's name, in the owner's colour.
    pub fn session(&self, session: i64) -> Span<'a> {
        match self.world.session_owner(session) {
            Some(actor) => {
                Span::styled(format!("{} {}", self.glyph(actor), self.name(actor)), self.actor_style(actor))
            }
            None => Span::styled(format!("0x{session:x}"), self.style(Role::Chrome)),
        }
    }
}
