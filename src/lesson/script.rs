//! What can be read from the text of a Lua script without running it.

use std::collections::BTreeMap;

/// The key argument of a call in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptKey {
    /// An element of `KEYS`, by index from 0: `KEYS[1]` is 0.
    Place(usize),
    /// A name in quotes.
    Named(String),
    /// Computed while the script runs, so the text does not show it.
    Derived,
}

/// The calls in a script's text, each with its first key: `redis.call('GET', KEYS[1])` is `GET` on the key at index 0.
pub fn script_calls(source: &str) -> Vec<(String, ScriptKey)> {
    let known = locals(source);
    let calls = source.split("redis.").skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix("call(").or_else(|| rest.strip_prefix("pcall("))?.trim_start();
        let (name, rest) = quoted(rest)?;
        let argument = rest.trim_start().strip_prefix(',')?.trim_start();
        let key = argument.split([',', ')']).next().unwrap_or_default().trim();
        let key = written_key(key).or_else(|| known.get(key).cloned()).unwrap_or(ScriptKey::Derived);
        Some((name.to_ascii_uppercase(), key))
    });
    calls.collect()
}

/// The local variables that are assigned a key: `local lock = KEYS[1]` or `local lock = 'lock'`.
fn locals(source: &str) -> BTreeMap<&str, ScriptKey> {
    let mut known = BTreeMap::new();
    for rest in source.split("local ").skip(1) {
        let statement = rest.lines().next().unwrap_or_default();
        let Some((names, values)) = statement.split_once('=') else { continue };
        for (name, value) in names.split(',').zip(values.split([',', ';'])) {
            if let Some(key) = written_key(value.trim()) {
                known.insert(name.trim(), key);
            }
        }
    }
    known
}

/// Parses `KEYS[1]` or a name in quotes, and nothing else.
fn written_key(text: &str) -> Option<ScriptKey> {
    if let Some((name, "")) = quoted(text) {
        return Some(ScriptKey::Named(name.to_owned()));
    }
    let number: usize = text.strip_prefix("KEYS[")?.strip_suffix(']')?.trim().parse().ok()?;
    Some(ScriptKey::Place(number.checked_sub(1)?))
}

/// Splits a text that begins with a quoted string into that string and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}
