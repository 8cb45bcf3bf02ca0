//! Folds crowds: one participant for all members, and one line for equal events of many of them within a step.

use std::collections::HashMap;

use crate::{
    log::{Actor, ActorId, Event, EventKind, Log, Reply},
    ui::chart::crowd::crowds,
};

pub struct Crowds<'a> {
    actors: &'a [Actor],
    sizes: HashMap<&'a str, usize>,
    /// For the first of several alike events in a step: all of them, itself included. The others have no entry.
    said: HashMap<usize, Vec<usize>>,
}

impl<'a> Crowds<'a> {
    pub fn new(log: &'a Log, position: usize) -> Self {
        let events = &log.events()[..position.min(log.len())];
        let actors = log.actors();
        let sizes = crowds(actors).into_iter().map(|(client, members)| (client, members.len())).collect();
        let mut crowds = Self { actors, sizes, said: HashMap::new() };
        let mut open: HashMap<(&str, String), usize> = HashMap::new();
        for (index, event) in events.iter().enumerate() {
            if let EventKind::Stop { .. } = event.kind {
                open.clear();
            }
            let Some((actor, what)) = alike(event) else { continue };
            let Some(client) = crowds.client(actor) else {
                crowds.said.insert(index, vec![index]);
                continue;
            };
            let first = *open.entry((client, what)).or_insert(index);
            crowds.said.entry(first).or_default().push(index);
        }
        crowds
    }

    fn client(&self, actor: ActorId) -> Option<&'a str> {
        let actor = self.actors.get(actor.0 as usize)?;
        (actor.crowd && self.sizes.contains_key(actor.client.as_str())).then_some(actor.client.as_str())
    }

    /// The number of members if the actor's participant is a crowd.
    pub fn size(&self, actor: ActorId) -> Option<usize> {
        self.sizes.get(self.client(actor)?).copied()
    }

    pub fn participant(&self, actor: ActorId) -> String {
        let first = |client| self.actors.iter().position(|known| known.crowd && known.client == client);
        format!("c{}", self.client(actor).and_then(first).unwrap_or(actor.0 as usize))
    }

    /// The alike events in a step, for the first of them; `None` for the others.
    pub fn alike(&self, index: usize) -> Option<&[usize]> {
        self.said.get(&index).map(Vec::as_slice)
    }
}

fn alike(event: &Event) -> Option<(ActorId, String)> {
    Some(match &event.kind {
        EventKind::Sent { actor, label, .. } => (*actor, format!("sent {label}")),
        EventKind::Replied { actor, label, reply, .. } => {
            (*actor, format!("replied {label} {}", outcome(reply)))
        }
        EventKind::Waits { actor, label, .. } => (*actor, format!("waits {label}")),
        EventKind::Notified { actor, about, what, .. } => (*actor, format!("notified {what} {about}")),
        EventKind::Believes { actor, lock, belief } => (*actor, format!("believes {lock} {belief:?}")),
        _ => return None,
    })
}

/// Replies with different values are alike, other outcomes are not.
fn outcome(reply: &Reply) -> &str {
    match reply {
        Reply::Value(serde_json::Value::Null) => "nil",
        Reply::Value(_) => "value",
        Reply::Error { code, .. } => code,
        Reply::Lost(_) => "lost",
    }
}
