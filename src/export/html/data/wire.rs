//! The wire log: commands with their replies, notifications, faults; alike events of a crowd share a row.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Source, micros, shorten};
use crate::{
    log::{ActorId, EventKind, OpId, Reply},
    text::Text,
    ui::{theme::text::common, words},
};

pub(crate) fn rows(source: &Source<'_>) -> Vec<Value> {
    let mut rows: Vec<Value> = Vec::new();
    // By row: the replies to its command, several for a crowd.
    let mut replies: Vec<Vec<String>> = Vec::new();
    let mut in_flight: HashMap<OpId, usize> = HashMap::new();
    for (n, event) in source.log.events().iter().enumerate() {
        match &event.kind {
            EventKind::Sent { actor, server, .. } => {
                let Some(alike) = source.crowds.alike(n) else { continue };
                let mut wires = Vec::new();
                for event in alike.iter().filter_map(|event| source.log.events().get(*event)) {
                    if let EventKind::Sent { op, command, .. } = &event.kind {
                        in_flight.insert(*op, rows.len());
                        wires.push(command.to_string());
                    }
                }
                let says = shorten(&common(wires.iter().map(String::as_str)));
                rows.push(row(source, n, (*actor, server, &says), alike.len()));
                replies.push(Vec::new());
            }
            EventKind::Replied { op, reply, .. } => {
                let Some(place) = in_flight.remove(op) else { continue };
                if replies[place].is_empty() {
                    rows[place]["r"] = n.into();
                    rows[place]["kind"] = kind(reply).into();
                }
                replies[place].push(reply.to_string());
            }
            EventKind::Notified { actor, server, about, what } => {
                let Some(alike) = source.crowds.alike(n) else { continue };
                let says = format!("↯ {what} {about}");
                let mut row = row(source, n, (*actor, server, &says), alike.len());
                row["kind"] = "notified".into();
                rows.push(row);
                replies.push(Vec::new());
            }
            EventKind::Sentinel { notice, .. } => {
                let who = source.log.same_notice_from(n, source.log.len());
                if who.is_empty() {
                    continue;
                }
                let says = Text::from_fn(|lang| words::sentinels_say(&who, notice, lang));
                rows.push(
                    json!({"e": n, "kind": "role", "tone": "nil", "at": micros(event.at), "says": says}),
                );
                replies.push(Vec::new());
            }
            EventKind::State(state) => {
                let lane = source.chart.truths.iter().find(|truth| truth.server == state.server);
                let changes = lane.map_or_else(Vec::new, super::servers::roles);
                for change in changes.into_iter().filter(|change| change["e"] == n) {
                    let at = micros(event.at);
                    rows.push(json!({
                        "e": n, "kind": "role", "tone": change["tone"], "at": at, "server": state.server,
                        "says": change["says"],
                    }));
                    replies.push(Vec::new());
                }
            }
            _ => {}
        }
    }
    for (row, replies) in rows.iter_mut().zip(&replies) {
        if !replies.is_empty() {
            row["reply"] = shorten(&common(replies.iter().map(String::as_str))).into();
        }
    }
    rows
}

fn row(
    source: &Source<'_>,
    event: usize,
    (actor, server, says): (ActorId, &str, &str),
    count: usize,
) -> Value {
    let many = source.crowds.size(actor).filter(|_| count > 1);
    let who = match (many, source.world.actor(actor)) {
        (Some(_), Some(actor)) => actor.who.client.clone(),
        _ => source.name(actor).to_owned(),
    };
    json!({
        "e": event, "who": who, "client": source.client(actor), "count": count,
        "at": micros(source.log.time_at(event + 1)), "server": server, "says": says,
    })
}

pub(super) fn kind(reply: &Reply) -> &'static str {
    match reply {
        Reply::Value(value) if value.is_null() => "nil",
        Reply::Value(_) => "value",
        Reply::Error { .. } | Reply::Lost(_) => "error",
    }
}
