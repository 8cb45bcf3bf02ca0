//! The wire log: commands with their replies, notifications, faults; what a crowd does at once is one row.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Source, micros, shorten};
use crate::log::{ActorId, EventKind, OpId, Reply};

pub(super) fn rows(source: &Source<'_>) -> Vec<Value> {
    let mut rows: Vec<Value> = Vec::new();
    let mut in_flight: HashMap<OpId, usize> = HashMap::new();
    for (n, event) in source.events().iter().enumerate() {
        match &event.kind {
            EventKind::Sent {
                op,
                actor,
                server,
                wire,
                ..
            } => {
                let Some(count) = source.crowds.first(n) else {
                    continue;
                };
                in_flight.insert(*op, rows.len());
                let mut row = row(source, n, *actor, count);
                row["at"] = micros(event.at).into();
                row["server"] = server.as_str().into();
                row["says"] = shorten(wire).into();
                rows.push(row);
            }
            EventKind::Replied { op, reply, .. } => {
                let Some(row) = in_flight.remove(op).and_then(|row| rows.get_mut(row)) else {
                    continue;
                };
                row["r"] = n.into();
                row["reply"] = shorten(&reply.to_string()).into();
                row["kind"] = kind(reply).into();
            }
            EventKind::Notified {
                actor,
                server,
                about,
                what,
            } => {
                let Some(count) = source.crowds.first(n) else {
                    continue;
                };
                let mut row = row(source, n, *actor, count);
                row["at"] = micros(event.at).into();
                row["server"] = server.as_str().into();
                row["says"] = format!("↯ {what} {about}").into();
                row["kind"] = "notified".into();
                rows.push(row);
            }
            _ => {}
        }
    }
    rows
}

fn row(source: &Source<'_>, event: usize, actor: ActorId, count: usize) -> Value {
    let many = source.crowds.size(actor).filter(|_| count > 1);
    let who = match (many, source.world.actor(actor)) {
        (Some(_), Some(actor)) => actor.who.client.clone(),
        _ => source.name(actor).to_owned(),
    };
    json!({"e": event, "who": who, "client": source.client(actor), "count": count})
}

fn kind(reply: &Reply) -> &'static str {
    match reply {
        Reply::Value(value) if value.is_null() => "nil",
        Reply::Value(_) => "value",
        Reply::Error { .. } | Reply::Lost(_) => "error",
    }
}
