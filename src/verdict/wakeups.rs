//! How many clients one change woke: the notifications of each path, folded event by event.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    log::ActorId,
    world::effect::{Access, Effect},
};

/// The clients that were notified of one change of a path.
#[derive(Debug, Clone, Default)]
struct Herd {
    what: String,
    /// The notifications: event and actor.
    notified: Vec<(usize, ActorId)>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Wakeups {
    /// By path.
    herds: BTreeMap<String, Herd>,
    /// The notifications of the change that woke the most clients.
    largest: Vec<usize>,
}

impl Wakeups {
    pub(crate) fn notified(&mut self, event: usize, actor: ActorId, path: &str, what: &str) {
        let herd = self.herds.entry(path.to_owned()).or_default();
        // A watch fires once: a second notification of a client comes from another change. So does a notification of
        // another kind: a watch on a node that did not exist can stay set and fire when the node is created.
        if herd.notified.iter().any(|(_, member)| *member == actor) || herd.what != what {
            *herd = Herd { what: what.to_owned(), notified: Vec::new() };
        }
        herd.notified.push((event, actor));
        if herd.notified.len() > self.largest.len() {
            self.largest = herd.notified.iter().map(|(event, _)| *event).collect();
        }
    }

    /// Removes the notifications of earlier changes. Those of `change` itself may have arrived before its reply.
    pub(crate) fn changed(&mut self, change: &Effect) {
        let Some(herd) = self.herds.get_mut(&change.key) else { return };
        let heard_of_creation = herd.what == "NodeCreated";
        match change.access {
            Access::Set => herd.notified.retain(|(event, _)| heard_of_creation && *event > change.sent),
            Access::Deleted if heard_of_creation => herd.notified.clear(),
            _ => {}
        }
    }

    /// The notifications of the change that woke the most clients.
    pub(crate) fn largest(&self) -> &[usize] {
        &self.largest
    }

    /// Everything that determines how many clients a later change will be found to have woken, and the maximum so far.
    pub(crate) fn described(&self) -> String {
        let members = |herd: &Herd| herd.notified.iter().map(|(_, actor)| *actor).collect::<BTreeSet<_>>();
        let herds = self.herds.iter().filter(|(_, herd)| !herd.notified.is_empty());
        let herds = herds.map(|(path, herd)| (path, &herd.what, members(herd)));
        format!("{} {:?}", self.largest.len(), herds.collect::<Vec<_>>())
    }
}
