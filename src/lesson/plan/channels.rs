//! Checks the channels to which messages are published.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{Mistake, did_you_mean},
        expr::Template,
    },
    PlannedVerb, Scenario,
    program::Instruction,
    types::nearly,
};
use crate::{
    log::{ANY, stands_for},
    text::both,
};

/// Reports a channel that nobody subscribes to and whose name is similar to one that somebody does.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let instructions = scenario.actors.iter().flat_map(|plan| &plan.program.instructions);
    let (mut heard, mut told) = (BTreeSet::new(), Vec::new());
    for instruction in instructions {
        let Instruction::Operate(operation) = instruction else { continue };
        let PlannedVerb::Redis(words) = &operation.verb else { continue };
        match (words[0].pattern().to_ascii_uppercase().as_str(), &words[1..]) {
            ("SUBSCRIBE" | "SSUBSCRIBE", channels) => heard.extend(channels.iter().map(Template::pattern)),
            ("PSUBSCRIBE", _) => return Ok(()),
            ("PUBLISH" | "SPUBLISH", [channel, ..]) => told.push((channel.pattern(), &operation.path)),
            _ => {}
        }
    }
    let is_heard = |channel: &str| heard.iter().any(|known| stands_for(known, channel));
    for (channel, path) in told.iter().filter(|(channel, _)| !channel.contains(ANY) && !is_heard(channel)) {
        if let (Some(path), Some(near)) = (path, nearly(channel, heard.iter().map(String::as_str))) {
            let message = both!("nobody subscribes to `{channel}`", "没有谁订阅 `{channel}`");
            return Err(Mistake::new(&path.key("redis"), message).help(did_you_mean(near)));
        }
    }
    Ok(())
}
