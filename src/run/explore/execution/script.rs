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

/// What a script does with a list besides counting it and going through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListUse {
    /// Takes an item by its number.
    Item,
    /// Joins texts, which may be these.
    Joined,
    Returned,
}

/// The lists that a script gets from calls of some commands and whose order may matter.
pub(crate) fn uses_of_lists(source: &str, commands: &[&str]) -> Vec<(String, ListUse)> {
    let Some(tokens) = tokens(source) else { return Vec::new() };
    let word = |at: Option<usize>| match at.and_then(|at| tokens.get(at)) {
        Some(Token::Word(word)) => *word,
        _ => "",
    };
    let is_sign = |at: Option<usize>, sign| at.and_then(|at| tokens.get(at)) == Some(&Token::Sign(sign));
    let use_between = |begin: usize, end: usize| {
        let is_item =
            is_sign(Some(end), '[') && word(Some(end + 1)).starts_with(|c: char| c.is_ascii_digit());
        let is_returned = word(begin.checked_sub(1)) == "return" && !is_sign(Some(end), '[');
        is_item.then_some(ListUse::Item).or(is_returned.then_some(ListUse::Returned))
    };
    let mut found = Vec::new();
    for (open, pair) in tokens.windows(2).enumerate() {
        let [Token::Sign('('), Token::Text(name)] = pair else { continue };
        let name = name.to_ascii_uppercase();
        let mut depth = 0_i32;
        let closes = |token: &Token<'_>| {
            depth += i32::from(*token == Token::Sign('(')) - i32::from(*token == Token::Sign(')'));
            depth == 0
        };
        let after = tokens[open..].iter().position(closes).map(|at| open + at + 1);
        let (Some(after), true) = (after, commands.contains(&&*name)) else { continue };
        // `redis.call`, or the script's own name for it.
        let mut begin = open.saturating_sub(1);
        while is_sign(begin.checked_sub(1), '.') {
            begin = begin.saturating_sub(2);
        }
        let mut uses: Vec<_> = use_between(begin, after).into_iter().collect();
        let variable = word(begin.checked_sub(2).filter(|_| is_sign(begin.checked_sub(1), '=')));
        if !variable.is_empty() {
            let named = (0..tokens.len()).filter(|at| word(Some(*at)) == variable);
            uses.extend(named.filter_map(|at| use_between(at, at + 1)));
        }
        uses.extend(tokens.contains(&Token::Word("concat")).then_some(ListUse::Joined));
        found.extend(uses.into_iter().map(|list_use| (name.clone(), list_use)));
    }
    found
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
    use super::{ListUse, calls, quoted, uses_of_lists};

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
    fn a_list_whose_order_matters_is_seen() {
        let uses = |source| {
            uses_of_lists(source, &["SMEMBERS"]).into_iter().map(|(_, list_use)| list_use).collect::<Vec<_>>()
        };
        for source in [
            "return #redis.call('SMEMBERS', KEYS[1])",
            "for _, m in ipairs(redis.call('smembers', KEYS[1])) do redis.call('SREM', KEYS[1], m) end return 1",
            "local m = redis.call('SMEMBERS', KEYS[1]) for i = 1, #m do redis.call('DEL', m[i]) end return #m",
            "return redis.call('GET', KEYS[1])[1]",
        ] {
            assert_eq!(uses(source), [], "{source}");
        }
        assert_eq!(uses("return redis.call('SMEMBERS', KEYS[1])"), [ListUse::Returned]);
        assert_eq!(
            uses("if redis.call('SMEMBERS', KEYS[1])[1] == ARGV[1] then return 1 end"),
            [ListUse::Item]
        );
        assert_eq!(uses("local c = redis.call local m = c('SMEMBERS', 's') return m"), [ListUse::Returned]);
        assert_eq!(uses("local m = redis.pcall('SMEMBERS', 's') return m[1]"), [ListUse::Item]);
        assert_eq!(uses("return table.concat(redis.call('SMEMBERS', KEYS[1]), ',')"), [ListUse::Joined]);
    }

    #[test]
    fn quoted_strings_are_found_in_any_script() {
        assert_eq!(quoted("local c = redis.call; c('time') -- 'it"), ["TIME"]);
        assert!(quoted("x = [[time]]").contains(&"TIME".to_owned()));
    }
}
