//! The effects of statements on rows, as far as the rows are observed and a statement names one by its key. A
//! transaction's writes take effect at its `COMMIT`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    log::{ActorId, Command, Event, EventKind, Observed, OpId, Reply, ServerState, product::mariadb},
    world::effect::{Access, Effect},
};

/// The effects of statements on rows that were seen on any server, in the order of the replies.
pub(crate) fn effects(events: &[Event]) -> Vec<Effect> {
    let mut rows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for event in events {
        if let EventKind::State(ServerState { server, observed: Observed::Mariadb(tables) }) = &event.kind {
            rows.entry(server).or_default().extend(tables.rows.keys().map(String::as_str));
        }
    }
    let mut sent: HashMap<OpId, (usize, &str, &Command)> = HashMap::new();
    let mut open: HashMap<ActorId, Vec<Effect>> = HashMap::new();
    let mut effects = Vec::new();
    for (n, event) in events.iter().enumerate() {
        match &event.kind {
            EventKind::Sent { op, server, command: command @ Command::Sql(_), .. } if !rows.is_empty() => {
                sent.insert(*op, (n, server, command));
            }
            EventKind::Replied { op, actor, reply, .. } => {
                let Some((at, server, command)) = sent.remove(op) else { continue };
                let Reply::Value(value) = &**reply else { continue };
                match command.leaves().filter(|(what, _)| *what == "transaction") {
                    Some((_, true)) => drop(open.insert(*actor, Vec::new())),
                    Some((_, false)) => {
                        let written = open.remove(actor).unwrap_or_default();
                        let all = written.into_iter().filter(|_| mariadb::commits(&command.brief()));
                        effects.extend(all.map(|effect| Effect { sent: at, replied: n, ..effect }));
                    }
                    None => {
                        let Some((row, access)) = touched(command, value, rows.get(server)) else { continue };
                        let effect = Effect {
                            actor: *actor,
                            sent: at,
                            replied: n,
                            command_sent: at,
                            server: server.to_owned(),
                            key: row.to_owned(),
                            access,
                            puts: false,
                            proven: true,
                            number: None,
                        };
                        match open.get_mut(actor).filter(|_| access != Access::Read) {
                            Some(written) => written.push(effect),
                            None => effects.push(effect),
                        }
                    }
                }
            }
            _ => {}
        }
    }
    effects
}

/// The row that a statement has read or written.
fn touched<'r>(
    command: &Command,
    reply: &serde_json::Value,
    known: Option<&BTreeSet<&'r str>>,
) -> Option<(&'r str, Access)> {
    let Command::Sql(statement) = command else { return None };
    let access = mariadb::access(statement)?;
    // An `UPDATE` answers the number of rows that changed: 0 if it writes the value that a row already has.
    let found = reply.as_i64() != Some(0) || mariadb::has_one_condition(statement);
    let row = mariadb::named_by_key(statement, known?.iter().copied())?;
    found.then_some((row, access))
}
