//! Checks Lua scripts before a server runs them.

use super::{
    super::{
        error::{Finding, Mistake, MistakeSpan, Path, finding},
        has_word,
        lua::{self, Lua},
    },
    commands,
};
use crate::text::{Text, both};

/// Checks a script's syntax and the commands that it sends.
pub(crate) fn check(source: &str, path: &Path) -> Result<Lua, Mistake> {
    let place = |mistake: Mistake, at: usize| Mistake { span: MistakeSpan::at(source, at), ..mistake };
    let lua = lua::read(source).map_err(|wrong| {
        let message = wrong.message;
        let message = if wrong.runs {
            message
        } else {
            both!("this is no Lua: {message}", "这不是正确的 Lua：{message}", message)
        };
        place(Mistake::new(path, message), wrong.at)
    })?;
    for call in &lua.calls {
        let words = if call.is_open { call.words.get(..1).unwrap_or_default() } else { &call.words };
        commands::check_in_script(words, call.is_open, path).map_err(|mistake| place(mistake, call.at))?;
    }
    Ok(lua)
}

/// Reports a comparison of a reply with `nil`: Redis' nil is `false` in Lua.
pub(crate) fn asks_for_nil(source: &str, path: &Path) -> Option<Mistake> {
    for (at, call) in source.match_indices("= redis.call(") {
        let command = source[at + call.len()..].trim_start_matches(['\'', '"', ' ']);
        let command = command.split(['\'', '"']).next()?;
        let is_text = has_word("GET HGET LPOP RPOP GETDEL LINDEX ZSCORE", &command.to_ascii_uppercase());
        let name = source[..at].trim_end().rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
        if !is_text || name.is_empty() {
            continue;
        }
        for (asked, instead) in [("== nil", "not "), ("~= nil", "")] {
            let asked = format!("{name} {asked}");
            let Some((found, _)) = source.match_indices(&asked).find(|(found, _)| {
                *found > at
                    && !source[..*found].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
            }) else {
                continue;
            };
            let span = MistakeSpan::at(source, found);
            let message = both!(
                "`{asked}`: where there is nothing, `redis.call` gives `false` in Lua, never `nil`",
                "`{asked}`：键不存在时，`redis.call` 在 Lua 里返回 `false`，不会是 `nil`"
            );
            let help = both!("write `{instead}{name}`", "请写 `{instead}{name}`");
            return Some(Mistake { span, ..Mistake::new(path, message).help(help) });
        }
    }
    None
}

/// Checks that a script gets the keys and arguments that it reads. `given`: the numbers of keys and arguments.
pub(crate) fn check_given(
    (name, source): (&str, &str),
    lua: &Lua,
    given: (usize, usize),
    path: &Path,
) -> Result<(), Mistake> {
    let wanted = lua.keys;
    if wanted <= given.0 {
        return check_arguments(name, source, lua.args, given.1, path);
    }
    let given = given.0;
    let message: Text = both!(
        "the script `{name}` reads `KEYS[{wanted}]`, and `keys` has {given}",
        "脚本 `{name}` 要读 `KEYS[{wanted}]`，而 `keys` 只有 {given} 个"
    );
    Err(Mistake::new(path, message).help(both!(
        "give it its keys: `keys: [lock]`; what is no key stands in `args` and is read as `ARGV[1]`",
        "请把键传给它：`keys: [lock]`；不是键的写在 `args` 里，用 `ARGV[1]` 读取"
    )))
}

/// Checks that the arguments that a script reads are given, unless the script tests for them.
fn check_arguments(
    name: &str,
    source: &str,
    wanted: usize,
    given: usize,
    path: &Path,
) -> Result<(), Mistake> {
    let asked = |at: usize, read: &str| {
        let (before, after) = (source[..at].trim_end(), source[at + read.len()..].trim_start());
        ["or", "and", "== nil", "~= nil"].iter().any(|word| after.starts_with(word))
            || ["if", "not", "or", "and"].iter().any(|word| before.ends_with(word))
    };
    let read = format!("ARGV[{wanted}]");
    if wanted <= given
        || source.contains("#ARGV")
        || source.match_indices(&read).any(|(at, _)| asked(at, &read))
    {
        return Ok(());
    }
    Err(path.mistake(finding!(
        "the script `{name}` reads `{read}`, and `args` has {given}",
        "脚本 `{name}` 要读 `{read}`，而 `args` 只有 {given} 个",
        "give as many as it reads, in their order: `args: [\"${{token}}\", …]`; the first is `ARGV[1]`",
        "请按顺序给够：`args: [\"${{token}}\", …]`；第一个是 `ARGV[1]`"
    )))
}

/// For each call that passes the argument alone as a word, the words before it: `SET`, `KEYS[1]`, `PX`.
fn words_before_argument(source: &str, n: usize) -> impl Iterator<Item = Vec<String>> {
    let read = format!("ARGV[{n}]");
    let places: Vec<usize> = source.match_indices(&read).map(|(at, _)| at).collect();
    places.into_iter().filter_map(|at| {
        let call = source[..at].rfind("call(").map(|call| &source[call + "call(".len()..at])?;
        let mut words: Vec<String> =
            call.split(',').map(|word| word.trim().trim_matches(['\'', '"']).to_ascii_uppercase()).collect();
        words.pop().is_some_and(|last| last.is_empty()).then_some(words)
    })
}

/// Whether a script passes an argument to a command as seconds.
pub(crate) fn reads_seconds(source: &str, n: usize) -> bool {
    words_before_argument(source, n).any(|words| match &words[..] {
        [name, _] => ["EXPIRE", "SETEX"].contains(&name.as_str()),
        [.., option] => option == "EX",
        _ => false,
    })
}

/// Whether a script passes an argument to a command as milliseconds that a key lives.
pub(crate) fn reads_millis(source: &str, n: usize) -> bool {
    words_before_argument(source, n).any(|words| match &words[..] {
        [name, _] => ["PEXPIRE", "PSETEX"].contains(&name.as_str()),
        [.., option] => option == "PX",
        _ => false,
    })
}

/// Whether a script compares an argument with the value of a key, as a text.
pub(crate) fn compares_value(source: &str, n: usize) -> bool {
    let read = format!("ARGV[{n}]");
    let lines = || source.lines().map(|line| line.split("--").next().unwrap_or_default());
    let reads = |text: &str| ["('GET'", "('HGET'"].iter().any(|call| text.contains(call));
    // A variable that keeps the value.
    let is_kept = |name: &str| {
        lines().any(|line| {
            line.split_once(" = ").is_some_and(|(left, right)| {
                left.trim().trim_start_matches("local ") == name
                    && reads(right)
                    && !right.contains("tonumber")
            })
        })
    };
    lines().any(|line| {
        ["== ", "~= "].iter().filter_map(|sign| line.split_once(&format!("{sign}{read}"))).any(|(left, _)| {
            let name = left.trim_end().rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next();
            reads(left) || name.is_some_and(is_kept)
        })
    })
}

/// Whether a script answers nothing when a lock is granted, and otherwise how long it is held.
pub(crate) fn grants_with_nil(source: &str) -> bool {
    let returned = || source.split("return ").skip(1).map(str::trim_start);
    let is_nil = |answer: &str| answer.starts_with("nil") || answer.starts_with("false");
    let is_rest = |answer: &str| {
        let call = answer.to_ascii_uppercase();
        call.starts_with("REDIS.CALL('PTTL'") || call.starts_with("REDIS.CALL('TTL'")
    };
    returned().any(is_nil) && returned().any(is_rest) && returned().all(|one| is_nil(one) || is_rest(one))
}

/// The command to which a script passes an argument as a number.
pub(crate) fn reads_number(source: &str, n: usize) -> Option<String> {
    words_before_argument(source, n).find_map(|words| match &words[..] {
        [name, _] => ["EXPIRE", "PEXPIRE", "SETEX", "PSETEX", "INCRBY", "DECRBY", "ZADD"]
            .contains(&name.as_str())
            .then(|| name.clone()),
        [name, _, _] if name == "HINCRBY" => Some(name.clone()),
        [name, .., option] if name == "SET" => ["EX", "PX"].contains(&option.as_str()).then(|| name.clone()),
        _ => None,
    })
}

/// The finding about keys or arguments that a script is given and never reads.
pub(crate) fn unread((name, source): (&str, &str), lua: &Lua, given: (usize, usize)) -> Option<Finding> {
    // An index that is no number may read all of them, and a script that reads no keys may get them for a cluster's
    // sake.
    let by_figure = |array: &str| {
        source.match_indices(array).all(|(at, _)| {
            let index = source[at + array.len()..].strip_prefix('[');
            index.is_some_and(|index| index.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    let extra = |array: &str, field: &str, read: usize, given: usize| {
        (read > 0 && given > read && by_figure(array)).then(|| {
            finding!(
                "`{field}` has {given}, and the script `{name}` never reads `{array}[{given}]`",
                "`{field}` 有 {given} 个，而脚本 `{name}` 从不读 `{array}[{given}]`",
                "leave it out, or read it in the script",
                "请去掉它，或者在脚本里读取它"
            )
        })
    };
    let skipped = |array: &str, field: &str, most: usize| {
        let names = |n: &usize| !source.contains(&format!("{array}[{n}]"));
        let n = (1..=most).find(names).filter(|_| by_figure(array))?;
        Some(finding!(
            "the script `{name}` never reads `{array}[{n}]`",
            "脚本 `{name}` 从不读 `{array}[{n}]`",
            "read it in the script, or leave it out of `{field}`: the first is `{array}[1]`",
            "请在脚本里读取它，或者从 `{field}` 里去掉：第一个是 `{array}[1]`"
        ))
    };
    extra("KEYS", "keys", lua.keys, given.0)
        .or_else(|| extra("ARGV", "args", lua.args, given.1))
        .or_else(|| skipped("KEYS", "keys", given.0.min(lua.keys)))
        .or_else(|| skipped("ARGV", "args", given.1.min(lua.args)))
}

/// Reports errors that Lua's syntax allows and that occur only when the server runs the script, such as `redis:call`.
pub(crate) fn mistypes(source: &str, path: &Path) -> Option<Mistake> {
    let place = |at: usize, message: Text, help: Text| Mistake {
        span: MistakeSpan::at(source, at),
        ..Mistake::new(path, message).help(help)
    };
    if let Some(at) = source.find("redis:call").or_else(|| source.find("redis:pcall")) {
        return Some(place(
            at,
            both!(
                "`redis:call` passes `redis` itself as the command",
                "`redis:call` 会把 `redis` 本身当作命令传进去"
            ),
            both!("write `redis.call(…)`, with a dot", "请写 `redis.call(…)`，用点号"),
        ));
    }
    for quoted in ["'KEYS[", "\"KEYS[", "'ARGV[", "\"ARGV["] {
        if let Some(at) = source.find(quoted) {
            let name = &quoted[1..5];
            return Some(place(
                at,
                both!("`{name}[…]` in quotes is plain text", "加了引号的 `{name}[…]` 只是普通文字"),
                both!("write `{name}[1]` without quotes", "请去掉引号：`{name}[1]`"),
            ));
        }
    }
    for (asked, instead) in [("== nil", "not redis.call(…)"), ("~= nil", "redis.call(…)")] {
        let compares = |(at, _): &(usize, &str)| {
            let line = source[..*at].rsplit('\n').next().unwrap_or_default().trim_end();
            let call = line.rfind("redis.call(").map(|call| &line[call..]);
            call.is_some_and(|call| {
                call.ends_with(')') && call.matches('(').count() == call.matches(')').count()
            })
        };
        if let Some((at, _)) = source.match_indices(asked).find(compares) {
            return Some(place(
                at,
                both!(
                    "`redis.call` gives `false` in Lua where there is nothing, never `nil`",
                    "没有内容时，`redis.call` 在 Lua 里返回 `false`，不会是 `nil`"
                ),
                both!("write `{instead}`", "请写 `{instead}`"),
            ));
        }
    }
    // `redis.call` never returns `true`: commands answer with numbers, and in Lua 1 does not equal `true`.
    for (at, asked) in source.match_indices("== true") {
        let line = source[..at].rsplit('\n').next().unwrap_or_default().trim_end();
        if line.ends_with(')') && line.contains("redis.call(") {
            return Some(place(
                at,
                both!(
                    "`redis.call` never gives `true` in Lua: {asked}",
                    "`redis.call` 在 Lua 里不会返回 `true`：{asked}"
                ),
                both!("compare it with a number: `== 1`", "请和数字比较：`== 1`"),
            ));
        }
    }
    None
}
