//! The moves of a run, and when two of them are the same.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::drawn::Drawn;
use crate::{
    clock::LessonTime,
    log::{ActorId, Belief, Command, EventKind, Log, OpId, Reply},
};

/// Two runs on one clock still differ by what a machine needs for a command. Times and TTLs (in milliseconds)
/// that are no further apart than this are the same.
pub(crate) const NEAR_MILLIS: i64 = 100;

/// What a server notes for itself of a znode: it differs from one server to the next and means nothing to the
/// lesson.
const BOOKKEEPING: [&str; 6] = ["czxid", "mzxid", "pzxid", "ctime", "mtime", "owner"];

/// A move: one command with its reply, or one notification that was taken from the queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    pub who: String,
    pub label: String,
    /// Which of this actor's moves under this label it is, from 0.
    pub nth: usize,
    pub at: LessonTime,
    /// The index of the event: `Sent` or `Took`.
    pub event: usize,
    /// The command; for a notification, what it is about and what happened there.
    pub wire: String,
    /// From how much on a number in its reply is a TTL, which is another a moment later.
    drains: i64,
    pub reply: Option<Arc<Reply>>,
    /// Command and reply as texts, without what programs draw at random.
    without_chance: [String; 2],
    /// What the actor believed and counted because of it: before it waited for time to pass and before its next
    /// move. What it does after a wait comes of the wait.
    pub outcome: Vec<Consequence>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consequence {
    Believes(String, Belief),
    Counted(String, i64),
}

impl Move {
    /// What makes two moves of two runs the same one: the actor, the label, and how often before.
    pub fn key(&self) -> (&str, &str, usize) {
        (&self.who, &self.label, self.nth)
    }

    /// Whether both send the same command. Owner tokens count as the same: they follow from the seed of a run, or are drawn
    /// by programs.
    pub fn same_command(&self, other: &Self) -> bool {
        without_tokens(&self.wire) == without_tokens(&other.wire)
            || self.without_chance[0] == other.without_chance[0]
    }

    /// Whether both were answered the same, but for owner tokens, a znode's bookkeeping, and the milliseconds of a
    /// TTL that is draining.
    pub fn same_reply(&self, other: &Self) -> bool {
        match (self.reply.as_deref(), other.reply.as_deref()) {
            (Some(Reply::Value(mine)), Some(Reply::Value(its))) => match (mine.as_i64(), its.as_i64()) {
                (Some(mine), Some(its)) if mine.min(its) >= self.drains => {
                    // One that is asked for later has drained for longer.
                    let later = self.at.as_millis().abs_diff(other.at.as_millis());
                    mine.abs_diff(its) <= NEAR_MILLIS.unsigned_abs() + later
                }
                _ => plain(mine) == plain(its) || self.without_chance[1] == other.without_chance[1],
            },
            (Some(Reply::Error { code: mine, .. }), Some(Reply::Error { code: its, .. })) => mine == its,
            // However it was lost, nobody knows what came of it.
            (Some(Reply::Lost(_)), Some(Reply::Lost(_))) | (None, None) => true,
            _ => false,
        }
    }
}

/// Every move of a run, in the order in which they were made.
pub fn moves(log: &Log) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    let mut times: HashMap<(ActorId, &str), usize> = HashMap::new();
    let mut sent: HashMap<OpId, usize> = HashMap::new();
    // The move of each actor that may still have consequences.
    let mut open: HashMap<ActorId, usize> = HashMap::new();
    let mut drawn = Drawn::default();
    for (event, at, kind) in log.events().iter().enumerate().map(|(n, e)| (n, e.at, &e.kind)) {
        match kind {
            EventKind::Sent { actor, label, .. } | EventKind::Took { actor, label, .. } => {
                let (mut wire, mut drains) = (String::new(), i64::MAX);
                if let EventKind::Sent { op, command, .. } = kind {
                    sent.insert(*op, moves.len());
                    wire = command.to_string();
                    drains = match command {
                        _ if command.is_redis("PTTL") => 1,
                        // What a script counts stays below a second's milliseconds.
                        Command::Script { .. } => 1000,
                        _ => i64::MAX,
                    };
                } else if let EventKind::Took { about, what, .. } = kind {
                    wire = format!("{what} {about}");
                }
                let nth = times.entry((*actor, label)).or_default();
                open.insert(*actor, moves.len());
                let without_chance = [drawn.without_chance(&wire), String::new()];
                moves.push(Move {
                    who: log.name(*actor).to_owned(),
                    label: label.clone(),
                    nth: *nth,
                    at,
                    event,
                    wire,
                    drains,
                    reply: None,
                    without_chance,
                    outcome: Vec::new(),
                });
                *nth += 1;
            }
            EventKind::Replied { op, reply, .. } => {
                if let Some(of) = sent.get(op) {
                    moves[*of].reply = Some(Arc::clone(reply));
                    if let Reply::Value(value) = &**reply {
                        moves[*of].without_chance[1] = match plain(value) {
                            Value::Array(children) if moves[*of].label == "ls" => drawn.children(&children),
                            value => drawn.without_chance(&value.to_string()),
                        };
                    }
                }
            }
            EventKind::Waits { actor, .. } | EventKind::Waited { actor, .. } => {
                open.remove(actor);
            }
            EventKind::Believes { actor, lock, belief } => {
                if let Some(of) = open.get(actor) {
                    moves[*of].outcome.push(Consequence::Believes(lock.clone(), *belief));
                }
            }
            EventKind::Counted { actor, counter, by } => {
                if let Some(of) = open.get(actor) {
                    moves[*of].outcome.push(Consequence::Counted(counter.clone(), *by));
                }
            }
            _ => {}
        }
    }
    moves
}

/// The text with the four digits of each owner token left out: `A-7f3c` is `A-`.
fn without_tokens(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for (n, part) in text.split('-').enumerate() {
        if n == 0 {
            kept.push_str(part);
            continue;
        }
        kept.push('-');
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let ends = part[digits..].chars().next().is_none_or(|c| !c.is_alphanumeric());
        let named = kept[..kept.len() - 1].ends_with(char::is_alphanumeric);
        kept.push_str(if digits == 4 && ends && named { &part[4..] } else { part });
    }
    kept
}

/// A reply without what differs between any two runs.
fn plain(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_tokens(text)),
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !BOOKKEEPING.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        other => other.clone(),
    }
}
