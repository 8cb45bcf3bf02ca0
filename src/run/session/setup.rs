//! The commands that prepare servers before a story. Lockstep sends them itself, over connections that no
//! lesson sees.

use std::{
    collections::{HashMap, hash_map::Entry},
    time::Duration,
};

use super::{RunError, supervision::ANSWERS_WITHIN};
use crate::{
    client::protocol::Wire,
    lab::{Connection, Lab},
    lesson::{Mistake, Scenario},
    log::{Reply, slot},
    program::command,
    text::{Text, both},
};

/// How long emptying a server may take, in real time: a crowd leaves thousands of nodes.
const EMPTIED_WITHIN: Duration = Duration::from_mins(1);

/// Lockstep's own connections to servers, without links, opened on first use.
#[derive(Default)]
pub(crate) struct Connections(HashMap<String, Box<dyn Connection>>);

impl Connections {
    /// Sends a command. Waits as long as the command itself may wait, and some seconds more.
    pub(crate) async fn send(&mut self, lab: &Lab, wire: &Wire) -> Reply {
        let Wire { server, command, script } = wire;
        let longest = ANSWERS_WITHIN.saturating_add(command.waits());
        let sent = async {
            let reply = match self.open(lab, server).await {
                Ok(connection) => connection.send(command, script.as_deref(), 0).await,
                Err(lost) => return lost,
            };
            reply.unwrap_or_else(|| {
                let text = format!("`{server}` takes no such command");
                Reply::Error { code: "NOSERVER".to_owned(), text }
            })
        };
        let sent = tokio::time::timeout(longest, sent).await;
        sent.unwrap_or_else(|_| self.give_up(server, longest))
    }

    /// Deletes everything that a server holds, and the watches of other sessions on `watched`.
    pub(crate) async fn empty(&mut self, lab: &Lab, server: &str, watched: &[String]) -> Result<(), Reply> {
        let emptied = async { self.open(lab, server).await?.empty(watched).await };
        let emptied = tokio::time::timeout(EMPTIED_WITHIN, emptied).await;
        emptied.unwrap_or_else(|_| Err(self.give_up(server, EMPTIED_WITHIN)))
    }

    async fn open(&mut self, lab: &Lab, server: &str) -> Result<&mut Box<dyn Connection>, Reply> {
        match self.0.entry(server.to_owned()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => Ok(new.insert(lab.connect(server).await.map_err(Reply::Lost)?)),
        }
    }

    /// Drops the connection: a late answer must not be taken for the answer to another command.
    fn give_up(&mut self, server: &str, waited: Duration) -> Reply {
        self.0.remove(server);
        Reply::Lost(format!("no answer for {} s", waited.as_secs()))
    }
}

/// Sends a scenario's setup commands, in order. Commands that name no server go to `first`.
pub(crate) async fn carry_out(
    scenario: &Scenario,
    lab: &Lab,
    first: &str,
    connections: &mut Connections,
) -> Result<(), RunError> {
    if scenario.setup.is_empty() {
        return Ok(());
    }
    let path = scenario.setup_path();
    let mistake = |n: usize, message: Text| -> RunError {
        scenario.loaded.source.place(&Mistake::new(&path.index(n), message)).into()
    };
    for (n, wire) in wires(scenario, first).enumerate() {
        let Some(wire) = wire.map_err(|error| mistake(n, error))? else { continue };
        match connections.send(lab, &wire).await {
            Reply::Value(_) => {}
            bad => {
                let command = &wire.command;
                return Err(mistake(
                    n,
                    both!(
                        "the server answered `{command}` with {bad}",
                        "服务器对 `{command}` 的回复是 {bad}"
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// A scenario's setup commands, in order. Commands that name no server go to `first`.
pub(crate) fn wires(scenario: &Scenario, first: &str) -> impl Iterator<Item = Result<Option<Wire>, Text>> {
    let names = scenario.scope.value();
    scenario.setup.iter().map(move |setup| {
        let server = setup.on.clone().unwrap_or_else(|| first.to_owned());
        let mut wire = command::fill_in(&setup.verb, server, &names)?;
        if let Some(wire) = &mut wire
            && setup.on.is_none()
            && let Some(cluster) = scenario.lab().cluster()
            && let Some(key) = wire.command.first_key()
        {
            cluster.owner(slot(key)).clone_into(&mut wire.server);
        }
        Ok(wire)
    })
}

/// The address of a server itself, without any link.
pub(crate) fn address(lab: &Lab, server: &str) -> String {
    lab.endpoint(server).map(ToString::to_string).unwrap_or_default()
}
