//! Checks the channels to which messages are published.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{Mistake, did_you_mean},
        expr::Template,
    },
    PlannedVerb, Scenario,
    types::nearly,
};
use crate::{
    log::{ANY, stands_for},
    text::both,
};

/// Reports a channel that nobody subscribes to and whose name is similar to one that somebody does.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let (mut subscribed, mut published) = (BTreeSet::new(), Vec::new());
    for operation in scenario.operations() {
        let PlannedVerb::Redis(words) = &operation.verb else { continue };
        match (words[0].pattern().to_ascii_uppercase().as_str(), &words[1..]) {
            ("SUBSCRIBE" | "SSUBSCRIBE", channels) => {
                subscribed.extend(channels.iter().map(Template::pattern));
            }
            ("PSUBSCRIBE", _) => return Ok(()),
            ("PUBLISH" | "SPUBLISH", [channel, ..]) => published.push((channel.pattern(), &operation.path)),
            _ => {}
        }
    }
    let is_subscribed = |channel: &str| subscribed.iter().any(|known| stands_for(known, channel));
    for (channel, path) in published {
        if channel.contains(ANY) || is_subscribed(&channel) {
            continue;
        }
        if let (Some(path), Some(near)) = (path, nearly(&channel, subscribed.iter().map(String::as_str))) {
            let message = both!("nobody subscribes to `{channel}`", "没有谁订阅 `{channel}`");
            return Err(Mistake::new(&path.key("redis"), message).help(did_you_mean(near)));
        }
    }
    Ok(())
}
