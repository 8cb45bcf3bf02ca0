//! What can be read off the text of a Lua script.

/// The calls in a script's text: `redis.call('GET', KEYS[1])` is `GET` on the key at place 0.
pub fn script_calls(source: &str) -> Vec<(String, usize)> {
    let starts = ["redis.call(", "redis.pcall("];
    let mut found: Vec<(usize, String, usize)> = Vec::new();
    for start in starts {
        for (at, _) in source.match_indices(start) {
            let rest = source[at + start.len()..].trim_start();
            let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
                continue;
            };
            let Some((name, rest)) = rest[1..].split_once(quote) else {
                continue;
            };
            let key = rest.trim_start().strip_prefix(',').map(str::trim_start);
            let place = key
                .and_then(|key| key.strip_prefix("KEYS["))
                .and_then(|key| key.split(']').next())
                .and_then(|number| number.trim().parse::<usize>().ok())
                .and_then(|number| number.checked_sub(1));
            if let Some(place) = place {
                found.push((at, name.to_ascii_uppercase(), place));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, name, place)| (name, place)).collect()
}
