//! The commands that prepare servers before a story, sent by Lockstep itself over connections that no lesson sees.

use std::{collections::HashMap, time::Duration};

use super::{EngineError, supervision::ANSWERS_WITHIN};
use crate::{
    client::{Hand, protocol::Wire},
    lab::Lab,
    lesson::{Mistake, Path, Scenario},
    log::Reply,
    program::command,
};

/// The session timeout of a ZooKeeper connection, in real time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lockstep's own connections to servers: no link is between.
#[derive(Default)]
pub(crate) struct Connections(HashMap<String, Hand>);

impl Connections {
    pub(crate) async fn send(&mut self, lab: &Lab, wire: &Wire) -> Reply {
        let address = address(lab, wire.server());
        let hand = self.0.entry(address.clone()).or_insert_with(|| Hand::new(PATIENCE, lab.password()));
        hand.send(wire, &address, ANSWERS_WITHIN).await
    }
}

/// Sends a scenario's setup commands, in order. `first`: the server of the commands that name none.
pub(crate) async fn carry_out(scenario: &Scenario, lab: &Lab, first: &str) -> Result<(), EngineError> {
    if scenario.setup.is_empty() {
        return Ok(());
    }
    let path = match &scenario.variant().setup {
        Some(_) => Path::root().key("variants").key(&scenario.variant).key("setup"),
        None => Path::root().key("setup"),
    };
    let mistake = |n: usize, message: String| -> EngineError {
        scenario.loaded.source.place(&Mistake::new(&path.index(n), message)).into()
    };
    let mut connections = Connections::default();
    for (n, wire) in wires(scenario, first).enumerate() {
        let Some(wire) = wire.map_err(|error| mistake(n, error))? else { continue };
        match connections.send(lab, &wire).await {
            Reply::Value(_) => {}
            bad => return Err(mistake(n, format!("the server answered `{wire}` with {bad}"))),
        }
    }
    Ok(())
}

/// A scenario's setup commands, in order.
pub(crate) fn wires(scenario: &Scenario, first: &str) -> impl Iterator<Item = Result<Option<Wire>, String>> {
    let names = scenario.scope.value();
    scenario.setup.iter().map(move |setup| {
        let server = setup.on.clone().unwrap_or_else(|| first.to_owned());
        command::fill_in(&setup.verb, server, &names)
    })
}

/// Where a server is reached without any link.
pub(crate) fn address(lab: &Lab, server: &str) -> String {
    lab.endpoint(server).map(ToString::to_string).unwrap_or_default()
}
