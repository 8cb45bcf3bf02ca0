//! What commands did to which keys and znodes, as far as their words and replies show. Pure; it must not know beliefs
//! or verdicts.
//!
//! A command that was never answered has no effect here: it is unknown whether it had one.

pub(crate) mod command;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

pub use crate::log::Access;
pub(crate) use command::MayWrite;
pub use command::lease;
use command::{PossibleEffect, ReplyKind};

use crate::{
    lesson::{Scenario, ScriptKey, plan::PlannedVerb, script_calls},
    log::{ActorId, Command, Event, EventKind, OpId, Reply},
};

/// One effect of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub actor: ActorId,
    /// The index of its `Sent` event; in a transaction, that of `EXEC`.
    pub sent: usize,
    /// The index of the `Replied` event that proves it.
    pub replied: usize,
    /// The index of the `Sent` event that has its words: in a transaction, that of the queued command.
    pub command_sent: usize,
    pub server: String,
    /// The key, or the znode's path.
    pub key: String,
    pub access: Access,
    /// Whether it put something into a key of Redis that is no plain string.
    pub puts: bool,
    /// Whether the words and the reply prove it: those of a script only suggest it.
    pub proven: bool,
    /// The number in the reply: the new value of a counter, or a number that was read.
    pub number: Option<i64>,
}

/// A request to set a key to a value, whether or not it succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub actor: ActorId,
    /// The index of the `Sent` event.
    pub sent: usize,
    pub key: String,
    pub value: String,
    /// The lease in milliseconds, from `PX` or `EX`; `None` if the request has neither.
    pub lease_ms: Option<i64>,
    /// Whether the reply refused it; false while there is no reply.
    pub refused: bool,
}

#[derive(Debug, Clone)]
struct PendingCommand {
    sent: usize,
    server: String,
    acts: Vec<PossibleEffect>,
    reply_kind: ReplyKind,
    proven: bool,
}

/// Derives the effects from a log, event by event.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    /// For each script, the commands that it may call and their keys.
    scripts: Arc<BTreeMap<String, Vec<(String, ScriptKey)>>>,
    flights: HashMap<OpId, PendingCommand>,
    /// Commands that `MULTI` has queued, by actor and server.
    queued: HashMap<(ActorId, String), Vec<PendingCommand>>,
    attempts: Vec<Attempt>,
}

impl Effects {
    pub fn new(scenario: &Scenario) -> Self {
        let mut scripts = BTreeMap::new();
        let mut before = None;
        for plan in &scenario.actors {
            // The members of a crowd share one program.
            if before.is_some_and(|before| Arc::ptr_eq(before, &plan.program)) {
                continue;
            }
            before = Some(&plan.program);
            for operation in plan.program.operations() {
                if let PlannedVerb::Script { name, source, .. } = &operation.verb {
                    scripts.entry(name.clone()).or_insert_with(|| script_calls(source));
                }
            }
        }
        Self { scripts: Arc::new(scripts), ..Self::default() }
    }

    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The keys that a command may write to, and whether its reply will prove all that it did to them.
    pub(crate) fn may_write(&self, command: &Command) -> (MayWrite, bool) {
        let (reply_kind, acts) = command::parse(command, &self.scripts);
        (command::may_write(command, &acts), command::is_proven_by_reply(reply_kind, &acts))
    }

    /// What the transactions that were not carried out yet will do, as a text.
    pub(crate) fn queued_described(&self) -> String {
        let acts = |queued: &Vec<PendingCommand>| -> Vec<_> {
            queued.iter().map(|command| format!("{:?} {:?}", command.reply_kind, command.acts)).collect()
        };
        let each: BTreeMap<_, _> = self.queued.iter().map(|(whose, queued)| (whose, acts(queued))).collect();
        format!("{each:?}")
    }

    /// Returns the effects that the event `index` proves.
    pub fn take(&mut self, index: usize, event: &Event) -> Vec<Effect> {
        match &event.kind {
            EventKind::Sent { op, actor, server, command, .. } => {
                let (reply_kind, acts) = command::parse(command, &self.scripts);
                for act in &acts {
                    if let (Access::Set, Some(value)) = (act.access, &act.value) {
                        self.attempts.push(Attempt {
                            actor: *actor,
                            sent: index,
                            key: act.key.clone(),
                            value: value.clone(),
                            lease_ms: act.lease_ms,
                            refused: false,
                        });
                    }
                }
                let proven = command::is_proven_by_reply(reply_kind, &acts);
                let flight = PendingCommand { sent: index, server: server.clone(), acts, reply_kind, proven };
                self.flights.insert(*op, flight);
                Vec::new()
            }
            EventKind::Replied { op, actor, reply, .. } => {
                let flight = self.flights.remove(op);
                flight.map_or_else(Vec::new, |flight| self.landed(*actor, flight, index, reply))
            }
            _ => Vec::new(),
        }
    }

    fn landed(
        &mut self,
        actor: ActorId,
        flight: PendingCommand,
        replied: usize,
        reply: &Reply,
    ) -> Vec<Effect> {
        let transaction = (actor, flight.server.clone());
        match (flight.reply_kind, reply) {
            (ReplyKind::Multi, Reply::Value(_)) => drop(self.queued.insert(transaction, Vec::new())),
            // What was watched has been written to: nothing was carried out.
            (ReplyKind::Discard, Reply::Value(_))
            | (ReplyKind::Exec, Reply::Value(serde_json::Value::Null)) => {
                for flight in self.queued.remove(&transaction).unwrap_or_default() {
                    self.refuse(flight.sent);
                }
            }
            (ReplyKind::Exec, Reply::Value(each)) => {
                let queued = self.queued.remove(&transaction).unwrap_or_default();
                let effects = queued.iter().enumerate().flat_map(|(n, queued)| {
                    let reply = Reply::Value(each.get(n).cloned().unwrap_or_default());
                    self.answered(actor, queued, (flight.sent, replied), &reply)
                });
                return effects.collect();
            }
            (_, Reply::Value(word)) if word == "QUEUED" => {
                if let Some(queue) = self.queued.get_mut(&transaction) {
                    queue.push(flight);
                }
            }
            _ => return self.answered(actor, &flight, (flight.sent, replied), reply),
        }
        Vec::new()
    }

    fn answered(
        &mut self,
        actor: ActorId,
        flight: &PendingCommand,
        (sent, replied): (usize, usize),
        reply: &Reply,
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        for act in &flight.acts {
            if !act.done(flight.reply_kind, reply) {
                if act.access == Access::Set && !matches!(reply, Reply::Lost(_)) {
                    self.refuse(flight.sent);
                }
                continue;
            }
            // A sequential znode has the name that the server gave it.
            let key = match reply {
                Reply::Value(name) if act.named_by_reply => name.as_str().unwrap_or(&act.key).to_owned(),
                _ => act.key.clone(),
            };
            effects.push(Effect {
                actor,
                sent,
                replied,
                command_sent: flight.sent,
                server: flight.server.clone(),
                key,
                access: act.access,
                puts: act.puts,
                proven: flight.proven,
                number: number(reply),
            });
        }
        effects
    }

    fn refuse(&mut self, sent: usize) {
        if let Some(attempt) = self.attempts.iter_mut().rev().find(|known| known.sent == sent) {
            attempt.refused = true;
        }
    }
}

/// Whether a command of Redis did what it may do: `SET … NX` that answers nil did not.
pub(crate) fn was_done(command: &Command, reply: &Reply) -> bool {
    let (reply_kind, acts) = command::parse(command, &BTreeMap::new());
    acts.is_empty() || acts.iter().any(|act| act.done(reply_kind, reply))
}

/// The number in a reply; `GET` returns numbers as texts.
fn number(reply: &Reply) -> Option<i64> {
    match reply {
        Reply::Value(value) => value.as_i64().or_else(|| value.as_str()?.parse().ok()),
        _ => None,
    }
}

/// All effects in a log, in the order of the replies.
pub fn effects(scenario: &Scenario, events: &[Event]) -> Vec<Effect> {
    let mut effects = Effects::new(scenario);
    let each = events.iter().enumerate();
    each.flat_map(|(n, event)| effects.take(n, event)).collect()
}

#[cfg(test)]
mod tests;
