//! The moves of a run, and when two moves are the same.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::drawn::RandomValues;
use crate::{
    clock::LessonTime,
    log::{ActorId, Belief, Command, EventKind, Log, OpId, Reply},
};

/// Even on one clock two runs differ by how long the machine takes for a command. Times and TTLs that differ by no more
/// than this many milliseconds count as equal.
pub(crate) const NEAR_MILLIS: i64 = 100;

/// A znode's bookkeeping by the server, which differs between servers and means nothing to the lesson.
const BOOKKEEPING: [&str; 6] = ["czxid", "mzxid", "pzxid", "ctime", "mtime", "owner"];

/// A move: one command with its reply, or one notification taken from the queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    pub who: String,
    pub label: String,
    /// Index among this actor's moves with this label, from 0.
    pub nth: usize,
    pub at: LessonTime,
    /// The index of the event: `Sent` or `Took`.
    pub event: usize,
    /// The command; for a notification, its event and its subject.
    pub wire: String,
    /// A number in the reply that is at least this large is a TTL, which shrinks as time passes.
    drains: i64,
    pub reply: Option<Arc<Reply>>,
    /// Command and reply as texts, without random values.
    without_random: [String; 2],
    /// What the actor believed and counted because of the move: before a wait for time to pass and before its next
    /// move. What it does after a wait follows from the wait.
    pub outcome: Vec<Consequence>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consequence {
    Believes(String, Belief),
    Counted(String, i64),
}

impl Move {
    /// Identifies the same move in two runs: the actor, the label, and the index among its moves with that label.
    pub fn key(&self) -> (&str, &str, usize) {
        (&self.who, &self.label, self.nth)
    }

    /// Whether both send the same command. Owner tokens count as equal: they follow from the seed of a run, or are
    /// random values of the program.
    pub fn same_command(&self, other: &Self) -> bool {
        without_tokens(&self.wire) == without_tokens(&other.wire)
            || self.without_random[0] == other.without_random[0]
    }

    /// Whether both replies are the same, except for owner tokens, a znode's bookkeeping, and the elapsed milliseconds
    /// of a TTL.
    pub fn same_reply(&self, other: &Self) -> bool {
        match (self.reply.as_deref(), other.reply.as_deref()) {
            (Some(Reply::Value(mine)), Some(Reply::Value(its))) => match (mine.as_i64(), its.as_i64()) {
                (Some(mine), Some(its)) if mine.min(its) >= self.drains => {
                    // A TTL that is read later has shrunk further.
                    let later = self.at.as_millis().abs_diff(other.at.as_millis());
                    mine.abs_diff(its) <= NEAR_MILLIS.unsigned_abs() + later
                }
                _ => plain(mine) == plain(its) || self.without_random[1] == other.without_random[1],
            },
            (Some(Reply::Error { code: mine, .. }), Some(Reply::Error { code: its, .. })) => mine == its,
            // However a reply was lost, its outcome is unknown.
            (Some(Reply::Lost(_)), Some(Reply::Lost(_))) | (None, None) => true,
            _ => false,
        }
    }
}

/// All moves of a run, in the order in which they were made.
pub fn moves(log: &Log) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    let mut times: HashMap<(ActorId, &str), usize> = HashMap::new();
    let mut sent: HashMap<OpId, usize> = HashMap::new();
    // The move of each actor that may still have consequences.
    let mut open: HashMap<ActorId, usize> = HashMap::new();
    let mut drawn = RandomValues::default();
    for (event, at, kind) in log.events().iter().enumerate().map(|(n, e)| (n, e.at, &e.kind)) {
        match kind {
            EventKind::Sent { actor, label, .. } | EventKind::Took { actor, label, .. } => {
                let (mut wire, mut drains) = (String::new(), i64::MAX);
                if let EventKind::Sent { op, command, .. } = kind {
                    sent.insert(*op, moves.len());
                    wire = command.to_string();
                    drains = match command {
                        _ if command.is_redis("PTTL") => 1,
                        // A count that a script returns is assumed to be below 1000, a larger number to be a TTL in
                        // milliseconds.
                        Command::Script { .. } => 1000,
                        _ => i64::MAX,
                    };
                } else if let EventKind::Took { about, what, .. } = kind {
                    wire = format!("{what} {about}");
                }
                let nth = times.entry((*actor, label)).or_default();
                open.insert(*actor, moves.len());
                let without_random = [drawn.without_random(&wire), String::new()];
                moves.push(Move {
                    who: log.name(*actor).to_owned(),
                    label: label.clone(),
                    nth: *nth,
                    at,
                    event,
                    wire,
                    drains,
                    reply: None,
                    without_random,
                    outcome: Vec::new(),
                });
                *nth += 1;
            }
            EventKind::Replied { op, reply, .. } => {
                if let Some(of) = sent.get(op) {
                    moves[*of].reply = Some(Arc::clone(reply));
                    if let Reply::Value(value) = &**reply {
                        moves[*of].without_random[1] = match plain(value) {
                            Value::Array(children) if moves[*of].label == "ls" => drawn.children(&children),
                            value => drawn.without_random(&value.to_string()),
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

/// The text without the four digits of each owner token: `A-7f3c` becomes `A-`.
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
