//! Invariants that are broken before anything has happened.

use std::collections::BTreeMap;

use minijinja::Value;
use serde_json::json;

use super::super::{
    super::{
        error::{Mistake, Path},
        expr::{Expr, Mentions, json_value},
        has_word,
    },
    PlannedVerb, Scenario,
    keys::OF_ONE_KEY,
};
use crate::text::both;

/// Reports an invariant that is already broken at the beginning, when all counters are 0 and the keys hold
/// what the setup has written.
pub(super) fn check_beginning(scenario: &Scenario, source: &str, at: &Path) -> Result<(), Mistake> {
    let mut scope = scenario.scope.clone();
    for counter in &scenario.counters {
        scope.set(counter, 0.into());
    }
    let held = held(scenario);
    let mentions = Mentions::of(source);
    let mut asked = mentions.calls_of("value").map(|call| call.arguments.as_slice());
    let is_known = |arguments: &[Option<String>]| matches!(arguments, [Some(key)] if held.contains_key(key));
    if asked.all(is_known) {
        let value = move |key: String| held.get(&key).map(json_value).unwrap_or_default();
        scope.set("value", Value::from_function(value));
    }
    let Ok(expr) = Expr::parse(source) else { return Ok(()) };
    let known = expr.names().iter().all(|name| scope.get(name).is_some());
    if !known || !expr.eval(scope.value()).is_ok_and(|value| value.is_true()) {
        return Ok(());
    }
    let message = both!(
        "`{source}` is so from the beginning, before anything has happened",
        "`{source}` 一开始就成立，那时还什么都没发生"
    );
    Err(Mistake::new(at, message).help(both!(
        "an invariant says what must never be so, such as `sold > stock`",
        "不变式写的是绝不能出现的情况，例如 `sold > stock`"
    )))
}

/// The texts and hashes that the setup writes to a single Redis server, each by one command.
fn held(scenario: &Scenario) -> BTreeMap<String, serde_json::Value> {
    let mut held: BTreeMap<String, Option<serde_json::Value>> = BTreeMap::new();
    for line in &scenario.setup {
        let PlannedVerb::Redis(words) = &line.verb else { return BTreeMap::new() };
        let words: Result<Vec<String>, _> =
            words.iter().map(|word| word.render(&scenario.scope.value())).collect();
        let Ok([command, key, rest @ ..]) = words.as_deref() else { return BTreeMap::new() };
        let command = command.to_ascii_uppercase();
        // Other commands may change several keys.
        if !has_word(OF_ONE_KEY, &command) || scenario.lab().servers().len() > 1 {
            return BTreeMap::new();
        }
        let content = match (command.as_str(), rest) {
            ("SET", [text]) => Some(json!(text)),
            ("HSET", fields) => {
                let fields = fields.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()));
                Some(json!({ "hash": fields.collect::<BTreeMap<_, _>>() }))
            }
            _ => None,
        };
        held.entry(key.clone()).and_modify(|before| *before = None).or_insert(content);
    }
    held.into_iter().filter_map(|(key, content)| Some((key, content?))).collect()
}
