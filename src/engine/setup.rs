//! The commands that prepare a server before the story, sent by Lockstep itself over connections that no
//! lesson sees.

use std::time::Duration;

use super::{EngineError, machine, stage::Stage};
use crate::{
    client::protocol::Wire,
    lab::Endpoint,
    lesson::{Mistake, Path, Scenario},
    log::Reply,
};

/// Sends a scenario's setup commands, in order.
pub(super) async fn carry_out(scenario: &Scenario, stage: &Stage) -> Result<(), EngineError> {
    if scenario.setup.is_empty() {
        return Ok(());
    }
    let own = &scenario.variant().setup;
    let path = match own {
        Some(_) => Path::root().key("variants").key(&scenario.variant).key("setup"),
        None => Path::root().key("setup"),
    };
    let mistake = |n: usize, message: String| -> EngineError {
        scenario
            .loaded
            .source
            .place(&Mistake::new(&path.index(n), message))
            .into()
    };
    let names = scenario.scope.value();
    let mut hand = crate::client::Hand::new(Duration::from_secs(30));
    for (n, verb) in scenario.setup.iter().enumerate() {
        let wire = machine::wire(verb, stage.server.clone(), &names).map_err(|error| mistake(n, error))?;
        let Some(wire) = wire else { continue };
        let address = address(stage, wire.server());
        match send(&mut hand, &wire, &address).await {
            Reply::Value(_) => {}
            bad => return Err(mistake(n, format!("the server answered `{wire}` with {bad}"))),
        }
    }
    Ok(())
}

async fn send(hand: &mut crate::client::Hand, wire: &Wire, address: &str) -> Reply {
    hand.send(wire, address).await
}

fn address(stage: &Stage, server: &str) -> String {
    match stage.lab.endpoint(server) {
        Some(Endpoint::Unix(path)) => path.display().to_string(),
        Some(Endpoint::Tcp(address)) => address.to_string(),
        None => String::new(),
    }
}
