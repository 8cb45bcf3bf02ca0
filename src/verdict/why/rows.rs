//! What statements did to rows, as far as these are seen and a statement names one by its key.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    log::{Command, Event, EventKind, Observed, OpId, Reply, ServerState, product::mariadb},
    world::effect::Effect,
};

/// The effects of statements on rows that any server was seen to hold, in the order of the replies.
pub(crate) fn effects(events: &[Event]) -> Vec<Effect> {
    let mut rows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for event in events {
        if let EventKind::State(ServerState { server, observed: Observed::Mariadb(tables) }) = &event.kind {
            rows.entry(server).or_default().extend(tables.rows.keys().map(String::as_str));
        }
    }
    let mut sent: HashMap<OpId, (usize, &str, &str)> = HashMap::new();
    let mut effects = Vec::new();
    for (n, event) in events.iter().enumerate() {
        match &event.kind {
            EventKind::Sent { op, server, command: Command::Sql(statement), .. } if !rows.is_empty() => {
                sent.insert(*op, (n, server, statement));
            }
            EventKind::Replied { op, actor, reply, .. } => {
                let Some((at, server, statement)) = sent.remove(op) else { continue };
                let Reply::Value(value) = &**reply else { continue };
                // An `UPDATE` answers how many rows are another than before: none, where it writes what is there already.
                let found = value.as_i64() != Some(0) || mariadb::asks_for_the_key_alone(statement);
                let Some(access) = mariadb::access(statement).filter(|_| found) else { continue };
                let known = rows.get(server).into_iter().flatten();
                let row = mariadb::named_by_key(statement, known.copied());
                effects.extend(row.map(|row| Effect {
                    actor: *actor,
                    sent: at,
                    replied: n,
                    worded: at,
                    server: server.to_owned(),
                    key: row.to_owned(),
                    access,
                    number: None,
                }));
            }
            _ => {}
        }
    }
    effects
}
