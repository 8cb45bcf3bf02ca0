//! One server's lane: who really held a lock, as the server's own state tells.

use std::collections::BTreeMap;

use crate::{
    clock::LessonTime,
    log::{ActorId, Command, EventKind, Fault, KeyState, KeyValue, Log, Observed, OpId, Reply},
    ui::{theme::text, words::fault},
};

/// How far back the command is looked for that wrote a key.
const LOOK_BACK: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    Lock,
    Value,
}

/// Who the server's state says has a lock, or what a key holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub about: About,
    pub lock: String,
    pub owner: Option<Owner>,
    /// What the lock's key holds, where it is a key.
    pub token: String,
    /// Its first column, and the event that began it.
    pub from: (u32, usize),
    /// The column after its last, and the event that ended it.
    pub to: Option<(u32, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The actor whose command wrote the key.
    Actor(ActorId),
    /// The session that the server knows to own it.
    Session(i64),
}

/// A TTL as it was given, so that it can be seen to drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The event at which it was seen first.
    pub event: usize,
    pub from: LessonTime,
    pub to: LessonTime,
}

#[derive(Debug, Clone, Default)]
pub struct Truth {
    pub server: String,
    pub spans: Vec<Span>,
    pub locks: Vec<String>,
    /// Faults that hit it or a link that it opened: the column and the event of each.
    pub faults: Vec<(u32, usize)>,
    /// The first column at which the next fault may stand without covering the one before.
    pub(crate) fault_room: u32,
    leases: BTreeMap<String, Vec<Lease>>,
}

/// Whether a key looks like a lock: it has a TTL, or its name says so.
pub fn is_lock_key(name: &str, state: &KeyState) -> bool {
    state.expires_at.is_some() || name.to_ascii_lowercase().contains("lock")
}

impl Truth {
    pub(crate) fn new(server: &str) -> Self {
        Self { server: server.to_owned(), ..Self::default() }
    }

    /// The lease of a key as it was in force at a moment, as far as the first `position` events tell.
    pub fn lease_at(&self, key: &str, moment: LessonTime, position: usize) -> Option<Lease> {
        let leases = self.leases.get(key)?;
        let known = leases.partition_point(|lease| lease.event < position && lease.from <= moment);
        known.checked_sub(1).map(|n| leases[n])
    }

    pub(crate) fn fault(&mut self, fault: &Fault, here: (u32, usize)) {
        self.faults.push(here);
        // The glyph, and a space on each side of the words.
        let columns = text::width(&fault::mark(fault)) + 3;
        self.fault_room = here.0 + u32::try_from(columns).unwrap_or_default();
    }

    pub(crate) fn end(&mut self, x: u32, event: usize) {
        for span in self.spans.iter_mut().filter(|span| span.to.is_none()) {
            span.to = Some((x, event));
        }
    }

    pub(crate) fn observe(&mut self, log: &Log, event: usize, x: u32, observed: &Observed) {
        let mut values: Vec<&String> = Vec::new();
        let held: BTreeMap<String, (Option<Owner>, String)> = match observed {
            Observed::Redis(space) => {
                let at = log.events()[event].at;
                for (name, key) in &space.keys {
                    self.renew(name, key, event, at);
                }
                let shown = space.keys.iter().filter_map(|(name, key)| {
                    let token = token(&key.value);
                    if is_lock_key(name, key) {
                        return Some((name.clone(), (self.writer(log, event, name, &token), token)));
                    }
                    values.push(name);
                    matches!(key.value, KeyValue::String(_)).then(|| (name.clone(), (None, token)))
                });
                shown.collect()
            }
            other => {
                let owned = other.owned().into_iter();
                owned.map(|(lock, owner)| (lock, (Some(Owner::Session(owner)), String::new()))).collect()
            }
        };
        for span in self.spans.iter_mut().filter(|span| span.to.is_none()) {
            let same = held
                .get(&span.lock)
                .is_some_and(|(owner, token)| *owner == span.owner && *token == span.token);
            if !same {
                span.to = Some((x, event));
            }
        }
        for (lock, (owner, token)) in held {
            if self.spans.iter().rev().any(|span| span.to.is_none() && span.lock == lock) {
                continue;
            }
            if !self.locks.contains(&lock) {
                self.locks.push(lock.clone());
            }
            let about = if values.contains(&&lock) { About::Value } else { About::Lock };
            self.spans.push(Span { about, lock, owner, token, from: (x, event), to: None });
        }
    }

    fn renew(&mut self, name: &str, key: &KeyState, event: usize, from: LessonTime) {
        let Some(to) = key.expires_at else { return };
        let leases = self.leases.entry(name.to_owned()).or_default();
        if leases.last().is_none_or(|lease| lease.to != to) {
            leases.push(Lease { event, from, to });
        }
    }

    /// Whose command wrote the key: while its value stays, whoever it was; else the newest command that names
    /// both the key and the value and was not refused.
    fn writer(&self, log: &Log, event: usize, name: &str, token: &str) -> Option<Owner> {
        let open = self.spans.iter().rev().find(|span| span.to.is_none() && span.lock == name);
        if let Some(span) = open
            && span.token == token
        {
            return span.owner;
        }
        let holder = token.split(" ×").next().unwrap_or_default();
        let mut replies: Vec<(OpId, &Reply)> = Vec::new();
        let start = event.saturating_sub(LOOK_BACK);
        log.events()[start..event].iter().rev().find_map(|event| match &event.kind {
            EventKind::Replied { op, reply, .. } => {
                replies.push((*op, reply));
                None
            }
            EventKind::Sent { op, actor, command, .. } => {
                let names = |text: &str| command.arguments().any(|word| word.contains(text));
                let reply = replies.iter().find(|(of, _)| of == op);
                let refused = reply.is_some_and(|(_, reply)| is_refusal(reply, command));
                (!refused && names(name) && names(holder)).then_some(Owner::Actor(*actor))
            }
            _ => None,
        })
    }
}

/// What tells one owner of a key from another.
fn token(value: &KeyValue) -> String {
    match value.holder() {
        Some((holder, None | Some("1"))) => holder.to_owned(),
        Some((holder, Some(times))) => format!("{holder} ×{times}"),
        None => String::new(),
    }
}

/// `nil`, `0` and errors: the command wrote nothing. What a script answers means what its author wants: Redisson's say nil
/// when they have taken the lock.
fn is_refusal(reply: &Reply, command: &Command) -> bool {
    let script = matches!(command, Command::Script { .. });
    match reply {
        Reply::Value(value) => value == 0 || (value.is_null() && !script),
        Reply::Error { .. } => true,
        Reply::Lost(_) => false,
    }
}
