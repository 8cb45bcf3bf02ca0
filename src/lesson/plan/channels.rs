//! Checks the channels to which messages are published.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{Mistake, did_you_mean, finding},
        expr::Template,
    },
    PlannedVerb, Scenario,
    types::nearly,
};
use crate::{
    log::{ANY, stands_for},
    text::both,
};

/// Reports a script that publishes to one of its keys, while the channel that somebody subscribes to is another of them.
fn check_scripts(scenario: &Scenario, subscribed: &BTreeSet<String>) -> Result<(), Mistake> {
    let is_subscribed = |channel: &str| {
        let channel = channel.to_owned();
        !channel.starts_with(ANY) && subscribed.iter().any(|known| stands_for(known, &channel))
    };
    for operation in scenario.operations() {
        let (PlannedVerb::Script { name, source, keys, .. }, Some(path)) = (&operation.verb, &operation.path)
        else {
            continue;
        };
        let publishes = |n: usize| {
            ["'PUBLISH'", "'publish'"]
                .iter()
                .any(|command| source.contains(&format!("{command}, KEYS[{}]", n + 1)))
        };
        let Some(n) = (0..keys.len()).find(|n| publishes(*n)) else { continue };
        let channel = keys[n].pattern();
        let other = keys.iter().find(|key| is_subscribed(&key.pattern()));
        if let Some(other) = other.filter(|_| !channel.contains(ANY) && !is_subscribed(&channel)) {
            let at = n + 1;
            return Err(path.key("keys").index(n).mistake(finding!("the script `{name}` publishes to `KEYS[{at}]`, here `{channel}`, and nobody subscribes to that", "脚本 `{name}` 向 `KEYS[{at}]` 发布消息，这里是 `{channel}`，而没有谁订阅它", "write `{other}` in its place: the keys are in the order in which the script reads them", "这里应写 `{other}`：键要按脚本读取的顺序写")));
        }
    }
    Ok(())
}

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
    check_scripts(scenario, &subscribed)?;
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
