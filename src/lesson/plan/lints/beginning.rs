//! Invariants that are broken before anything has happened.

use std::collections::BTreeMap;

use minijinja::Value;
use serde_json::json;

use super::super::{
    super::{
        error::{Mistake, Path, finding},
        expr::{Expr, Mentions, Template, json_value},
        has_word,
    },
    PlannedVerb, Scenario,
    keys::OF_ONE_KEY,
    sql::rows,
};
use crate::log::Product;

/// Reports an invariant that is already broken at the beginning, when all counters are 0 and the servers hold
/// what the setup has written.
pub(super) fn check_beginning(scenario: &Scenario, source: &str, at: &Path) -> Result<(), Mistake> {
    let mut scope = scenario.scope.clone();
    for counter in &scenario.counters {
        scope.set(counter, 0.into());
    }
    let held = held(scenario);
    let mentions = Mentions::of(source);
    for function in ["value", "exists"] {
        let mut asked = mentions.calls_of(function).map(|call| call.arguments.as_slice());
        let is_known =
            |arguments: &[Option<String>]| matches!(arguments, [Some(key)] if held.contains_key(key));
        if asked.all(is_known) {
            let held = held.clone();
            let answer = move |key: String| match function {
                "exists" => Value::from(held.contains_key(&key)),
                _ => held.get(&key).map(json_value).unwrap_or_default(),
            };
            scope.set(function, Value::from_function(answer));
        }
    }
    for function in ["moves", "notified", "holders", "deleted_by_another", "renewed_by_another", "herd"] {
        scope.set(function, Value::from_function(|_: minijinja::value::Rest<String>| 0));
    }
    let Ok(expr) = Expr::parse(source) else { return Ok(()) };
    let known = expr.names().iter().all(|name| scope.get(name).is_some());
    if !known || !expr.eval(scope.value()).is_ok_and(|value| value.is_true()) {
        return Ok(());
    }
    Err(at.mistake(finding!(
        "`{source}` is so from the beginning, before anything has happened",
        "`{source}` 一开始就成立，那时还什么都没发生",
        "an invariant says what must never be so, such as `sold > stock`",
        "不变式写的是绝不能出现的情况，例如 `sold > stock`"
    )))
}

/// What the setup writes, as `value` gives it: texts and hashes of Redis, each written by one command, znodes, and rows.
fn held(scenario: &Scenario) -> BTreeMap<String, serde_json::Value> {
    let mut held: BTreeMap<String, Option<serde_json::Value>> = BTreeMap::new();
    // Several masters hold other keys each.
    let servers = scenario.lab().servers();
    let is_first = |on: Option<&String>| on.is_none_or(|on| servers.first().is_some_and(|first| on == first));
    for line in &scenario.setup {
        let fill = |words: &[Template]| -> Option<Vec<String>> {
            words.iter().map(|word| word.render(&scenario.scope.value()).ok()).collect()
        };
        let written = match &line.verb {
            PlannedVerb::Redis(words) => fill(words).and_then(|words| of_redis(&words)),
            PlannedVerb::Call(call) if call.product() == Product::Zookeeper && call.name() == "create" => {
                let words: Vec<Template> = call.all_operands().cloned().collect();
                fill(&words)
                    .map(|words| (words[0].clone(), Some(json!(words.get(1).map_or("", String::as_str)))))
            }
            PlannedVerb::Call(call) if call.product() == Product::Mariadb => {
                // The rows are read together, because they need the definitions of their tables.
                continue;
            }
            _ => None,
        };
        // Other commands may change several keys.
        let Some((key, content)) = written else { return BTreeMap::new() };
        if is_first(line.on.as_ref()) {
            held.entry(key).and_modify(|before| *before = None).or_insert(content);
        }
    }
    held.extend(rows::held(scenario).into_iter().map(|(key, row)| (key, Some(row))));
    held.into_iter().filter_map(|(key, content)| Some((key, content?))).collect()
}

/// The key that a command writes, and what that holds then, if it is known; `None` for a command that may write others.
fn of_redis(words: &[String]) -> Option<(String, Option<serde_json::Value>)> {
    let [command, key, rest @ ..] = words else { return None };
    let command = command.to_ascii_uppercase();
    if !has_word(OF_ONE_KEY, &command) {
        return None;
    }
    let content = match (command.as_str(), rest) {
        ("SET", [text]) => Some(json!(text)),
        ("HSET", fields) => {
            let fields = fields.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()));
            Some(json!({ "hash": fields.collect::<BTreeMap<_, _>>() }))
        }
        _ => None,
    };
    Some((key.clone(), content))
}
