//! Crowds: hundreds of actors in one band, drawn as runs of equal events and as the number of waiting actors.

use super::Lane;
use crate::{
    log::{Actor, ActorId, Belief, EventKind, Log},
    ui::theme::text,
};

/// The maximum number of members of a crowd for which each member gets a lane of its own.
const FEW: usize = 6;
const LONGEST_RUN: usize = 26;

/// Equal events of many members within one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub x: u32,
    pub first: usize,
    /// The label of the operation, or the content of the notification.
    pub what: String,
    /// Whether these are notifications by servers.
    pub notified: bool,
    pub count: usize,
}

/// How many members wait and how many hold, from a column on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Level {
    pub x: u32,
    pub event: usize,
    pub waiting: usize,
    pub holding: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Band {
    pub client: String,
    pub members: Vec<ActorId>,
    pub runs: Vec<Run>,
    pub levels: Vec<Level>,
    open: usize,
    end: u32,
}

/// The crowds that are too large for a lane or a column per member: each one's client and members.
pub(crate) fn crowds(actors: &[Actor]) -> Vec<(&str, Vec<ActorId>)> {
    let mut crowds: Vec<(&str, Vec<ActorId>)> = Vec::new();
    for (n, actor) in actors.iter().enumerate().filter(|(_, actor)| actor.crowd) {
        let id = ActorId(u32::try_from(n).unwrap_or(u32::MAX));
        match crowds.iter_mut().find(|(client, _)| *client == actor.client) {
            Some((_, members)) => members.push(id),
            None => crowds.push((&actor.client, vec![id])),
        }
    }
    crowds.retain(|(_, members)| members.len() > FEW);
    crowds
}

pub(crate) fn fold(actors: &[Actor], lanes: &mut [Lane]) -> Vec<Band> {
    let mut bands = Vec::new();
    for (client, members) in crowds(actors) {
        for member in &members {
            lanes[member.0 as usize].band = Some(bands.len());
        }
        bands.push(Band { client: client.to_owned(), members, ..Band::default() });
    }
    bands
}

fn name(kind: &EventKind) -> Option<(&str, bool)> {
    match kind {
        EventKind::Sent { label, .. } | EventKind::Took { label, .. } | EventKind::Waits { label, .. } => {
            Some((label, false))
        }
        EventKind::Counted { counter, .. } => Some((counter, false)),
        EventKind::Notified { what, .. } => Some((what, true)),
        _ => None,
    }
}

impl Band {
    /// The column for an event of a member: the current one if the event continues a run, otherwise one with room for a
    /// new run.
    pub(crate) fn room(&self, kind: &EventKind, cursor: u32, apart: u32) -> u32 {
        let continues = name(kind).is_some_and(|(what, notified)| self.position(what, notified).is_some());
        if continues { cursor } else { apart.max(self.end) }
    }

    fn position(&self, what: &str, notified: bool) -> Option<usize> {
        let open = &self.runs[self.open..];
        let found = open.iter().rposition(|run| run.what == what && run.notified == notified)?;
        Some(self.open + found)
    }

    pub(crate) fn count(&mut self, kind: &EventKind, x: u32, event: usize) {
        let Some((what, notified)) = name(kind) else { return };
        if let Some(run) = self.position(what, notified) {
            self.runs[run].count += 1;
            return;
        }
        self.runs.push(Run { x, first: event, what: what.to_owned(), notified, count: 1 });
        let words = u32::try_from(text::width(what).min(LONGEST_RUN)).unwrap_or_default();
        self.end = x + words + 9;
    }

    pub fn is_of(&self, log: &Log, run: &Run, event: usize) -> bool {
        let kind = log.events().get(event).map(|event| &event.kind);
        kind.and_then(name) == Some((&run.what, run.notified))
    }

    /// Ends a step: later events begin new runs.
    pub(crate) fn stop(&mut self) {
        self.open = self.runs.len();
    }

    pub(crate) fn set_belief(&mut self, before: Belief, after: Belief, (x, event): (u32, usize)) {
        if before == after {
            return;
        }
        let mut level = self.levels.last().copied().unwrap_or_default();
        for (belief, more) in [(before, false), (after, true)] {
            let number = match belief {
                Belief::Waiting => &mut level.waiting,
                Belief::Holding | Belief::Sharing => &mut level.holding,
                Belief::Unsure | Belief::Nothing => continue,
            };
            *number = if more { *number + 1 } else { number.saturating_sub(1) };
        }
        self.levels.push(Level { x, event, ..level });
    }
}
