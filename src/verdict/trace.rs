//! Which events an evaluation looked at: the evidence for a claim, noted while it is evaluated.

use std::collections::BTreeSet;

use super::facts::Facts;
use crate::{
    log::{Entry, EventKind, KeyValue, Observed},
    world::effect::Access,
};

impl Facts {
    /// Forgets what was looked at so far; gives it.
    pub(crate) fn take_trace(&self) -> BTreeSet<usize> {
        let mut trace = self.trace.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::take(&mut *trace)
    }

    fn note(&self, events: impl IntoIterator<Item = usize>) {
        let mut trace = self.trace.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        trace.extend(events);
    }

    /// The events that satisfy a condition.
    fn events(&self, wanted: impl Fn(&EventKind) -> bool) -> impl Iterator<Item = usize> {
        let all = self.log.events().iter().enumerate();
        all.filter(move |(_, event)| wanted(&event.kind)).map(|(n, _)| n)
    }

    /// A reply was asked for by its actor and its operation's label: the last one answers.
    pub(crate) fn trace_reply(&self, of: usize, wanted: &str) {
        if !self.tracing {
            return;
        }
        let found = self.events(
            |kind| matches!(kind, EventKind::Replied { actor, label, .. } if actor.0 as usize == of && label == wanted),
        );
        self.note(found.last());
    }

    /// A function was called: notes the events that its answer comes from.
    pub(crate) fn trace_call(&self, function: &str, about: Option<&str>, second: Option<&str>) {
        if !self.tracing {
            return;
        }
        let name = about.unwrap_or_default();
        match function {
            "replies" => self.note(self.replied(name)),
            "moves" => self.note(self.moves(name)),
            "notified" => {
                let members = about.and_then(|who| self.groups.get(who));
                let told = |kind: &EventKind| {
                    matches!(kind, EventKind::Notified { actor, .. }
                        if members.is_none_or(|members| members.contains(&(actor.0 as usize))))
                };
                self.note(self.events(told));
            }
            "finished" => {
                let members = self.groups.get(name);
                let over = |kind: &EventKind| {
                    matches!(kind, EventKind::Finished { actor }
                        if members.is_some_and(|members| members.contains(&(actor.0 as usize))))
                };
                self.note(self.events(over));
            }
            "woken_by" => {
                self.note(self.moves(name).last().copied());
                let step = self.step_of(name).unwrap_or_default();
                let told = |n: &usize| matches!(self.log.events()[*n].kind, EventKind::Notified { .. });
                self.note(step.filter(told));
            }
            "metric_by" => {
                let moved = second.unwrap_or_default();
                self.note(self.moves(moved).last().copied());
                let end = self.step_of(moved).unwrap_or_default().end;
                let read =
                    |kind: &EventKind| matches!(kind, EventKind::Metric { name: known, .. } if known == name);
                let readings: Vec<usize> = self.events(read).filter(|n| *n < end).collect();
                self.note(readings.last().copied());
            }
            "holders" => self.note(self.world.holding.most(name).iter().copied()),
            "orphaned" => self.note(self.orphaned_since(name)),
            "deleted_by_another" => {
                self.note(self.key_history.foreign(name, Access::Deleted).iter().copied());
            }
            "renewed_by_another" => self.note(self.key_history.foreign(name, Access::Expiry).iter().copied()),
            "herd" => self.note(self.key_history.herd().iter().copied()),
            "value" | "pttl" | "exists" | "role" | "owner" | "children" => {
                let server = if function == "role" { about } else { second };
                self.note(self.last_change(function, name, server));
            }
            _ => {}
        }
    }

    fn replied(&self, reference: &str) -> Vec<usize> {
        let (actors, label) = self.reference(reference);
        self.events(|kind| {
            matches!(kind, EventKind::Replied { actor, label: known, .. }
                if known == label && actors.is_none_or(|actors| actors.contains(&(actor.0 as usize))))
        })
        .collect()
    }

    /// Who set a key, and the end of whoever did.
    fn orphaned_since(&self, key: &str) -> Vec<usize> {
        let value = self.world.servers.iter().find_map(|server| {
            let Some(Observed::Redis(keyspace)) = &server.observed else {
                return None;
            };
            match &keyspace.keys.get(key)?.value {
                KeyValue::String(value) => Some(value),
                _ => None,
            }
        });
        let Some((author, sent)) = value.and_then(|value| self.key_history.author(key, value)) else {
            return Vec::new();
        };
        let client = self.world.actor(author).map(|actor| &actor.who.client);
        let over = |kind: &EventKind| match kind {
            EventKind::Finished { actor } => *actor == author,
            EventKind::Fault(fault) => client.is_some_and(|client| fault.killed_client() == Some(client)),
            _ => false,
        };
        let end = self.events(over).next();
        std::iter::once(sent).chain(end).collect()
    }

    /// When what a server holds under a name, or what it is, was last seen to change.
    fn last_change(&self, function: &str, name: &str, server: Option<&str>) -> Option<usize> {
        let about = |observed: Option<&Observed>| match (function, observed) {
            ("role", Some(observed)) => format!("{:?}", observed.role()),
            (_, Some(Observed::Redis(keyspace))) => format!("{:?}", keyspace.keys.get(name)),
            ("children", Some(observed)) => {
                let below = format!("{}/", name.trim_end_matches('/'));
                let names: Vec<_> =
                    observed.entries().into_keys().filter(|path| path.starts_with(&below)).collect();
                format!("{names:?}")
            }
            (_, Some(observed)) => format!("{:?}", observed.entry(name).map(Entry::owner)),
            (_, None) => format!("{:?}", None::<()>),
        };
        let mut before: std::collections::HashMap<&str, String> = std::collections::HashMap::new();
        let mut found = None;
        for (n, event) in self.log.events().iter().enumerate() {
            let EventKind::State(state) = &event.kind else {
                continue;
            };
            if server.is_some_and(|server| server != state.server) {
                continue;
            }
            let now = about(Some(&state.observed));
            let known = before.get(state.server.as_str()).cloned().unwrap_or_else(|| about(None));
            if now != known {
                found = Some(n);
                before.insert(&state.server, now);
            }
        }
        found
    }
}
