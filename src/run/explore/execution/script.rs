//! The commands that a Lua script calls, and on which keys, determined from its text. Only what is certain is
//! reported: for a script that may reach Redis in another way than by `redis.call('NAME', …)`, nothing.

/// A call in a script: `redis.call('SET', KEYS[1], 1)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The name of the command, in capitals.
    pub(crate) name: String,
    /// Whether each argument is one of the keys that the script was given, `KEYS[n]`, and nothing else.
    pub(crate) are_keys: Vec<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'s> {
    /// A name, a keyword or a number.
    Word(&'s str),
    /// A string in quotes, as it is written between them.
    Text(&'s str),
    Sign(char),
}

/// Names with which a script could reach Redis, or redefine `redis` and `KEYS`, without a visible call.
const BACK_DOORS: &[&str] =
    &["_G", "getfenv", "setfenv", "load", "loadstring", "loadfile", "dofile", "require", "debug", "server"];

/// The other fields of `redis` that a script may use.
const HARMLESS: &[&str] = &["error_reply", "status_reply", "sha1hex", "log"];

/// Returns all calls of a script, or `None` if some might be missed. If a script uses `KEYS` other than as
/// the key of a call, `KEYS` may have been changed, and no argument counts as a key.
pub(crate) fn calls(source: &str) -> Option<Vec<Call>> {
    let tokens = tokens(source)?;
    let mut found = Vec::new();
    // The positions at which `KEYS` is the key of a call.
    let mut keys = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Word(name) if BACK_DOORS.contains(name) => return None,
            Token::Word("redis") => {
                let [Token::Sign('.'), Token::Word(what)] = tokens.get(at + 1..at + 3)? else { return None };
                if matches!(*what, "call" | "pcall") {
                    found.push(call(&tokens, at + 3, &mut keys)?);
                } else if !HARMLESS.contains(what) && !what.starts_with("LOG_") {
                    return None;
                }
            }
            _ => {}
        }
    }
    // Anywhere else, `KEYS` might be aliased or assigned to.
    let elsewhere = tokens.iter().enumerate().any(|(at, token)| {
        let counted = at > 0 && tokens[at - 1] == Token::Sign('#');
        *token == Token::Word("KEYS") && !counted && !keys.contains(&at)
    });
    if elsewhere {
        for call in &mut found {
            call.are_keys.fill(false);
        }
    }
    Some(found)
}

/// Parses the call whose parenthesis opens at a position. Adds the positions of its keys to `keys`.
fn call(tokens: &[Token<'_>], open: usize, keys: &mut Vec<usize>) -> Option<Call> {
    if tokens.get(open) != Some(&Token::Sign('(')) {
        return None;
    }
    let mut arguments = Vec::new();
    let (mut depth, mut from) = (0_usize, open + 1);
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.checked_sub(1)?,
            Token::Sign(',') if depth == 1 => {
                arguments.push(from..at);
                from = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            arguments.push(from..at);
            break;
        }
    }
    let mut arguments = arguments.into_iter();
    let [Token::Text(name)] = &tokens[arguments.next()?] else { return None };
    let is_name = name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    let are_keys = arguments.map(|range| {
        let key = matches!(
            &tokens[range.clone()],
            [Token::Word("KEYS"), Token::Sign('['), Token::Word(_), Token::Sign(']')]
        );
        keys.extend(key.then_some(range.start));
        key
    });
    (depth == 0 && is_name).then(|| Call { name: name.to_ascii_uppercase(), are_keys: are_keys.collect() })
}

/// Returns the tokens without comments, or `None` if a quote is not closed or long brackets are used as
/// quotes.
fn tokens(source: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = after_comment(comment)?;
        } else if matches!(c, '\'' | '"') {
            let text = &rest[1..];
            let mut escaped = false;
            let end = text.find(|next: char| {
                let ends = next == c && !escaped;
                escaped = next == '\\' && !escaped;
                ends
            })?;
            tokens.push(Token::Text(&text[..end]));
            rest = &text[end + 1..];
        } else if rest.starts_with("[[") || rest.starts_with("[=") {
            return None;
        } else if c.is_ascii_alphanumeric() || c == '_' {
            let end = rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '_');
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            tokens.push(Token::Word(word));
            rest = after;
        } else {
            if !c.is_whitespace() {
                tokens.push(Token::Sign(c));
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    Some(tokens)
}

/// Returns what follows a comment, given what follows its `--`.
fn after_comment(comment: &str) -> Option<&str> {
    if let Some(inner) = comment.strip_prefix('[') {
        let level = inner.len() - inner.trim_start_matches('=').len();
        if inner[level..].starts_with('[') {
            let close = format!("]{}]", "=".repeat(level));
            let end = inner.find(&close)?;
            return Some(&inner[end + close.len()..]);
        }
    }
    Some(comment.find('\n').map_or("", |end| &comment[end..]))
}

/// Returns the quoted strings of a script, in capitals. If it cannot be tokenized, returns all its words,
/// comments included: too many rather than too few.
pub(crate) fn quoted(source: &str) -> Vec<String> {
    let by_tokens = tokens(source).map(|tokens| {
        let texts = tokens.into_iter().filter_map(|token| match token {
            Token::Text(text) => Some(text.to_ascii_uppercase()),
            _ => None,
        });
        texts.collect()
    });
    by_tokens.unwrap_or_else(|| {
        let words = source.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '*'));
        words.map(str::to_ascii_uppercase).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{calls, quoted};

    fn found(source: &str) -> Option<Vec<(String, Vec<bool>)>> {
        let calls = calls(source)?;
        Some(calls.into_iter().map(|call| (call.name, call.are_keys)).collect())
    }

    #[test]
    fn plain_calls_are_read() {
        let release = "-- redis.call('TIME')\nif redis.call('get', KEYS[1]) == ARGV[1] then\n  \
                       return redis.pcall(\"DEL\", KEYS[ 1 ], KEYS[i])\nend --[==[ KEYS ]] ]==] return #KEYS";
        let expected = vec![("GET".to_owned(), vec![true]), ("DEL".to_owned(), vec![true, true])];
        assert_eq!(found(release), Some(expected));
        let derived = "return redis.call('SET', KEYS[1] .. ':fence', f(1, ')'))";
        assert_eq!(found(derived), Some(vec![("SET".to_owned(), vec![false, false])]));
        let other = "return redis.call('SET', 'q', f({1, 2}, ')'))";
        assert_eq!(found(other), Some(vec![("SET".to_owned(), vec![false, false])]));
        assert_eq!(found("return 1"), Some(Vec::new()));
    }

    #[test]
    fn a_script_that_may_hide_a_call_has_none() {
        for source in [
            "local call = redis.call return call('GET', 'n')",
            "return redis['call']('GET', 'n')",
            "local r = redis return r.call('GET', KEYS[1])",
            "return redis.call(ARGV[1], KEYS[1])",
            "return redis.call('GE' .. 'T', KEYS[1])",
            "return redis.call('\\71ET', KEYS[1])",
            "return redis.call([[GET]], KEYS[1])",
            "return pcall(redis.call, 'GET', 'n')",
            "return _G.redis.call('GET', KEYS[1])",
            "return loadstring('return redis.call(\"GET\", \"n\")')()",
            "return redis.call('GET', KEYS[1]",
            "return redis.call 'PING'",
        ] {
            assert_eq!(found(source), None, "{source}");
        }
    }

    #[test]
    fn keys_that_may_be_changed_do_not_count() {
        for source in [
            "KEYS[1] = 'n' return redis.call('GET', KEYS[1])",
            "local k = KEYS k[1] = 'n' return redis.call('GET', KEYS[1])",
            "return redis.call('GET', unpack(KEYS))",
            "return redis.call('GET', KEYS[1] .. KEYS[1])",
        ] {
            assert_eq!(found(source), Some(vec![("GET".to_owned(), vec![false])]), "{source}");
        }
    }

    #[test]
    fn quoted_strings_are_found_in_any_script() {
        assert_eq!(quoted("local c = redis.call; c('time') -- 'it"), ["TIME"]);
        assert!(quoted("x = [[time]]").contains(&"TIME".to_owned()));
    }
}
