//! What can be read off the text of a Lua script.

/// The calls in a script's text: `redis.call('GET', KEYS[1])` is `GET` on the key at place 0.
pub fn script_calls(source: &str) -> Vec<(String, usize)> {
    let calls = source.split("redis.").skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix("call(").or_else(|| rest.strip_prefix("pcall("))?.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (name, rest) = rest[1..].split_once(quote)?;
        let key = rest.trim_start().strip_prefix(',')?.trim_start().strip_prefix("KEYS[")?;
        let number: usize = key.split(']').next()?.trim().parse().ok()?;
        Some((name.to_ascii_uppercase(), number.checked_sub(1)?))
    });
    calls.collect()
}
