//! The syntax of Redis commands: the number of words, the options, the positions of numbers.

use super::{super::scripts, arity, shapes};
use crate::{
    lesson::error::{ALIKE, Mistake, MistakeSpan, Path, nearest, suggestion},
    text::{Text, both},
};

/// The options of commands, and the index of the word at which they begin. A group separated by `|` allows one of its
/// options; `:n` is followed by a time to live, `:c` by a whole number, `:cc` by two and `:w` by any word; `*` may
/// occur more than once.
const OPTIONS: &[(&str, usize, &str)] = &[
    ("SET", 3, "NX|XX|IFEQ:w|IFNE:w|IFDEQ:w|IFDNE:w GET EX:n|PX:n|EXAT:n|PXAT:n|KEEPTTL"),
    ("GETEX", 2, "EX:n|PX:n|EXAT:n|PXAT:n|PERSIST"),
    ("EXPIRE", 3, "NX XX GT LT"),
    ("PEXPIRE", 3, "NX XX GT LT"),
    ("EXPIREAT", 3, "NX XX GT LT"),
    ("PEXPIREAT", 3, "NX XX GT LT"),
    ("COPY", 3, "DB:c REPLACE"),
    ("FLUSHALL", 1, "ASYNC|SYNC"),
    ("FLUSHDB", 1, "ASYNC|SYNC"),
    ("BITCOUNT", 4, "BYTE|BIT"),
    ("SCAN", 2, "MATCH:w COUNT:c TYPE:w"),
    ("HSCAN", 3, "MATCH:w COUNT:c NOVALUES"),
    ("SSCAN", 3, "MATCH:w COUNT:c"),
    ("ZSCAN", 3, "MATCH:w COUNT:c"),
    ("SORT", 2, "BY:w LIMIT:cc GET:w* ASC|DESC ALPHA STORE:w"),
    ("LPOS", 3, "RANK:c COUNT:c MAXLEN:c"),
    ("ZRANGE", 4, "BYSCORE|BYLEX REV LIMIT:cc WITHSCORES"),
    ("ZREVRANGE", 4, "WITHSCORES"),
    ("ZRANGEBYSCORE", 4, "WITHSCORES LIMIT:cc"),
    ("ZREVRANGEBYSCORE", 4, "WITHSCORES LIMIT:cc"),
    ("GEODIST", 4, "M|KM|FT|MI"),
    ("XREAD", 1, "COUNT:c BLOCK:c"),
    ("XREADGROUP", 4, "COUNT:c BLOCK:c NOACK CLAIM:c"),
    ("XRANGE", 4, "COUNT:c"),
    ("XREVRANGE", 4, "COUNT:c"),
    ("XAUTOCLAIM", 6, "COUNT:c JUSTID"),
];

/// Words of commands that must be one of a few.
const CHOICES: &[(&str, usize, &[&str])] = &[
    ("OBJECT", 1, &["ENCODING", "FREQ", "HELP", "IDLETIME", "REFCOUNT"]),
    ("BITOP", 1, &["AND", "OR", "XOR", "NOT", "DIFF", "DIFF1", "ANDOR", "ONE"]),
    ("XGROUP", 1, &["CREATE", "CREATECONSUMER", "DELCONSUMER", "DESTROY", "SETID", "HELP"]),
    ("XREADGROUP", 1, &["GROUP"]),
];

/// The index of the word that gives the number of keys.
const NUMKEYS: &str = "
    EVAL:2 EVAL_RO:2 EVALSHA:2 EVALSHA_RO:2 FCALL:2 FCALL_RO:2 ZINTER:1 ZUNION:1 ZDIFF:1 SINTERCARD:1 ZINTERCARD:1
    LMPOP:1 ZMPOP:1 BLMPOP:2 BZMPOP:2 ZINTERSTORE:2 ZUNIONSTORE:2 ZDIFFSTORE:2
";

/// The index of the word from which on a command takes pairs.
const PAIRS: &str = "
    MSET:1 MSETNX:1 HSET:2 HMSET:2
";

/// Checks the syntax of a permitted command: the number of words, the options, the numbers. `None` stands for a word
/// that is known only at run time.
pub(crate) fn check_form(words: &[Option<String>], path: &Path) -> Result<(), Mistake> {
    let Some(Some(name)) = words.first() else { return Ok(()) };
    let name = name.to_ascii_uppercase();
    let form = shapes::form(&name);
    let wrong = |message: Text| {
        let mistake = Mistake::new(path, message);
        Err(match form {
            Some(form) => mistake.help(both!("write `{form}`", "请写 `{form}`")),
            None => mistake,
        })
    };
    let given = words.len() - 1;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    if let Some(arity) = arity(&name) {
        let least = usize::try_from(arity.unsigned_abs()).unwrap_or(usize::MAX) - 1;
        let s = plural(least);
        let is_option = |word: &Option<String>| {
            word.as_ref().is_some_and(|word| ["NX", "XX", "EX", "PX"].contains(&word.to_uppercase().as_str()))
        };
        if ["SETNX", "SETEX", "PSETEX", "GETSET"].contains(&name.as_str()) && words.iter().any(is_option) {
            let message = both!("`{name}` has no options", "`{name}` 没有选项");
            return Err(Mistake::new(path, message).help(both!(
                "`SET` has them: `SET key value NX PX milliseconds`",
                "`SET` 才有选项：`SET key value NX PX milliseconds`"
            )));
        }
        if arity > 0 && given != least {
            return wrong(both!(
                "`{name}` takes {least} argument{s}, and here are {given}",
                "`{name}` 要 {least} 个参数，这里有 {given} 个"
            ));
        }
        if given < least {
            return wrong(both!(
                "`{name}` takes at least {least} argument{s}, and here are {given}",
                "`{name}` 至少要 {least} 个参数，这里有 {given} 个"
            ));
        }
    }
    let of = |table: &'static str| {
        let entries = table.split_ascii_whitespace().filter_map(|entry| entry.split_once(':'));
        let own = entries.filter(|(command, _)| *command == name);
        own.filter_map(|(_, at)| at.parse::<usize>().ok()).collect::<Vec<_>>()
    };
    if let Some(form) = form {
        shapes::check_words(&name, form, words).or_else(wrong)?;
    }
    let is_blocking =
        ["BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BZPOPMIN", "BZPOPMAX"].contains(&name.as_str());
    if let Some(Some(word)) = words.last()
        && is_blocking
        && word.parse::<f64>().is_err()
    {
        return wrong(both!(
            "`{name}` waits for some seconds at most, and `{word}` is no number",
            "`{name}` 最后要写最多等几秒，`{word}` 不是数字"
        ));
    }
    for (_, at, known) in CHOICES.iter().filter(|(command, ..)| *command == name) {
        if let Some(Some(word)) = words.get(*at) {
            shapes::check_choice(&name, known, word).or_else(wrong)?;
        }
    }
    check_rest(&name, words).or_else(wrong)?;
    check_streams(&name, words).or_else(wrong)?;
    for at in of(NUMKEYS) {
        check_numkeys(&name, at, words).or_else(wrong)?;
    }
    for from in of(PAIRS) {
        if (words.len() - from) % 2 == 1 {
            return wrong(both!(
                "`{name}` takes pairs: one word is left over",
                "`{name}` 的参数要成对，这里多出一个"
            ));
        }
    }
    if let ("EVAL" | "EVAL_RO", Some(Some(source))) = (name.as_str(), words.get(1)) {
        let lua = scripts::check(source, path)
            .map_err(|mistake| Mistake { span: MistakeSpan::Value, ..mistake })?;
        if let Some(keys) = words.get(2).and_then(|word| word.as_ref()?.parse().ok()) {
            let given = (keys, words.len().saturating_sub(3 + keys));
            scripts::check_given(("EVAL", source), &lua, given, path)?;
        }
    }
    if name == "ZADD" {
        let has = |option: &str| words.iter().skip(2).flatten().any(|word| word.eq_ignore_ascii_case(option));
        if let Some((one, other)) = [("NX", "XX"), ("GT", "LT"), ("NX", "GT"), ("NX", "LT")]
            .iter()
            .find(|(one, other)| has(one) && has(other))
        {
            return wrong(both!(
                "`ZADD` takes only one of `{one}` and `{other}`",
                "`ZADD` 的 `{one}` 和 `{other}` 只能用一个"
            ));
        }
        check_scores(words).or_else(wrong)?;
    }
    check_options(&name, words).or_else(wrong)
}

/// Checks what the table of forms does not express: the largest number of words, and the words after options.
fn check_rest(name: &str, words: &[Option<String>]) -> Result<(), Text> {
    let given = words.len() - 1;
    match name {
        "LPOP" | "RPOP" | "SPOP" | "SRANDMEMBER" | "ZPOPMIN" | "ZPOPMAX" if given > 2 => {
            return Err(both!(
                "`{name}` takes at most 2 arguments, and here are {given}",
                "`{name}` 最多 2 个参数，这里有 {given} 个"
            ));
        }
        "BITCOUNT" if given == 2 => {
            return Err(both!("`{name}` wants an end beside the start", "`{name}` 写了起点就要写终点"));
        }
        "GEOADD" => shapes::check_places(words)?,
        "BITFIELD" => shapes::check_bitfield(words)?,
        "ZRANGE" => shapes::check_range(name, words)?,
        "CONFIG"
            if words.get(1).and_then(Option::as_deref).is_some_and(|sub| sub.eq_ignore_ascii_case("SET")) =>
        {
            for pair in words[2..].chunks(2) {
                if let [Some(parameter), Some(value)] = pair {
                    shapes::check_parameter(parameter, value)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Checks that as many keys follow as the command says.
fn check_numkeys(name: &str, at: usize, words: &[Option<String>]) -> Result<(), Text> {
    let Some(Some(word)) = words.get(at) else { return Ok(()) };
    let follow = words.len() - at - 1;
    match word.parse::<usize>() {
        Err(_) => Err(both!(
            "`{name}` wants the number of keys here, and `{word}` is none",
            "`{name}` 在这里要写键的个数，`{word}` 不是数字"
        )),
        Ok(keys) if keys > follow => Err(both!(
            "`{name}` says that {keys} keys follow, and there are {follow} words",
            "`{name}` 声明后面有 {keys} 个键，实际只有 {follow} 个词"
        )),
        Ok(_) => Ok(()),
    }
}

/// Checks where a stream command has its streams, their ids and their fields.
fn check_streams(name: &str, words: &[Option<String>]) -> Result<(), Text> {
    let is = |word: &Option<String>, known: &[&str]| {
        word.as_ref().is_some_and(|word| known.iter().any(|known| known.eq_ignore_ascii_case(word)))
    };
    match name {
        "XREAD" | "XREADGROUP" => {
            let Some(at) = words.iter().position(|word| is(word, &["STREAMS"])) else {
                return Err(both!(
                    "`{name}` wants `STREAMS` before its keys",
                    "`{name}` 的键前面要写 `STREAMS`"
                ));
            };
            if name == "XREADGROUP" && words.last().is_some_and(|id| is(id, &["$"])) {
                return Err(both!(
                    "`$` is no id of a group: `>` are the entries that nobody has read yet",
                    "消费组不能用 `$`：还没人读过的消息写 `>`"
                ));
            }
            let of_group = name == "XREADGROUP";
            let is_id = |id: &str| {
                id.starts_with(|c: char| c.is_ascii_digit())
                    || if of_group { id == ">" } else { matches!(id, "$" | "+") }
            };
            let ids = words[at + 1..].iter().skip((words.len() - at) / 2).flatten();
            if let Some(word) = ids.filter(|_| (words.len() - at) % 2 == 1).find(|id| !is_id(id)) {
                return Err(both!(
                    "`{name}` wants an id here, and `{word}` is none: options such as `COUNT` stand before `STREAMS`",
                    "`{name}` 在这里要写 ID，`{word}` 不是；`COUNT` 等选项写在 `STREAMS` 前面"
                ));
            }
            if (words.len() - at).is_multiple_of(2) {
                return Err(both!(
                    "`{name}` wants an id for each stream after `STREAMS`: first the keys, then as many ids",
                    "`{name}` 的 `STREAMS` 后面先写键，再给每个键写一个 ID"
                ));
            }
        }
        "XADD" => {
            let mut at = 2;
            while let Some(word) = words.get(at) {
                if is(word, &["MAXLEN", "MINID", "LIMIT"]) {
                    at += 1;
                    at += usize::from(words.get(at).is_some_and(|word| is(word, &["=", "~"])));
                    let threshold = words.get(at).cloned().flatten().unwrap_or_else(|| "0".to_owned());
                    if !threshold.starts_with(|c: char| c.is_ascii_digit()) {
                        return Err(shapes::no_whole_number("MAXLEN", &threshold));
                    }
                } else if !is(word, &["NOMKSTREAM", "KEEPREF", "DELREF", "ACKED"]) {
                    break;
                }
                at += 1;
            }
            if let Some(Some(id)) = words.get(at)
                && !id.starts_with(|c: char| c.is_ascii_digit() || c == '*')
            {
                return Err(both!(
                    "`XADD` wants an id here, `*` for the next one, and `{id}` is none",
                    "`XADD` 在这里要写 ID，自动生成写 `*`，`{id}` 不是 ID"
                ));
            }
            let fields = words.len().saturating_sub(at + 1);
            if fields == 0 || fields % 2 == 1 {
                return Err(both!(
                    "`XADD` takes pairs of field and value after the id, and here are {fields} words",
                    "`XADD` 的 ID 后面是成对的字段和值，这里有 {fields} 个词"
                ));
            }
        }
        "XGROUP" if words.get(1).is_some_and(|word| is(word, &["CREATE", "SETID"])) => {
            if let Some(Some(id)) = words.get(4)
                && !id.starts_with(|c: char| c.is_ascii_digit() || c == '$')
            {
                return Err(both!(
                    "`XGROUP` wants an id here, `$` for what comes from now on, and `{id}` is none",
                    "`XGROUP` 在这里要写 ID，只要以后的消息就写 `$`，`{id}` 不是 ID"
                ));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Checks that each member of a `ZADD` follows its score.
fn check_scores(words: &[Option<String>]) -> Result<(), Text> {
    let is_option = |word: &&Option<String>| {
        let known = ["NX", "XX", "GT", "LT", "CH", "INCR"];
        word.as_ref().is_some_and(|word| known.contains(&word.to_ascii_uppercase().as_str()))
    };
    let rest: Vec<&Option<String>> = words.iter().skip(2).skip_while(is_option).collect();
    if rest.len() % 2 == 1
        && let Some(Some(option)) = rest.last().filter(|last| is_option(last))
    {
        return Err(both!(
            "the option `{option}` of `ZADD` stands before the scores",
            "`ZADD` 的选项 `{option}` 要写在分数前面"
        ));
    }
    // A word that is known only at run time may be an option.
    if rest.first().is_some_and(|first| first.is_none()) && rest.len() % 2 == 1 {
        return Ok(());
    }
    if rest.len() % 2 == 1 {
        return Err(both!(
            "`ZADD` takes a score before each member: one word is left over",
            "`ZADD` 的每个成员前面都要有分数，这里多出一个词"
        ));
    }
    let is_score = |word: &str| !word.starts_with('(') && shapes::is_score(word);
    match rest.iter().step_by(2).find_map(|word| word.as_ref().filter(|word| !is_score(word))) {
        Some(word) => Err(shapes::no_score("ZADD", word)),
        None => Ok(()),
    }
}

fn check_options(name: &str, words: &[Option<String>]) -> Result<(), Text> {
    let Some((_, from, groups)) = OPTIONS.iter().find(|(command, ..)| *command == name) else {
        return Ok(());
    };
    let groups: Vec<Vec<&str>> = groups.split(' ').map(|group| group.split('|').collect()).collect();
    let mut chosen = vec![None; groups.len()];
    // In stream commands the options come before `STREAMS`.
    let is_end =
        |word: &Option<String>| word.as_ref().is_some_and(|word| word.eq_ignore_ascii_case("STREAMS"));
    let end = words.iter().position(is_end).filter(|_| name.starts_with("XREAD"));
    let mut rest = words[..end.unwrap_or(words.len())].iter().skip(*from);
    while let Some(word) = rest.next() {
        // A word that is known only at run time may be any option.
        let Some(word) = word else { return Ok(()) };
        let option = word.to_ascii_uppercase();
        let is_it = |known: &&str| known.split(':').next() == Some(option.as_str());
        let found = groups
            .iter()
            .enumerate()
            .find_map(|(n, group)| Some((n, *group.iter().find(|known| is_it(known))?)));
        let Some((group, known)) = found else {
            let all = groups.iter().flatten().map(|known| known.split(':').next().unwrap_or_default());
            let all: Vec<&str> = all.collect();
            let help = suggestion(nearest(&option, all.iter().copied(), ALIKE), || {
                let all = all.join(", ");
                both!("there are {all}", "可用的有 {all}")
            });
            return Err(both!(
                "`{name}` has no option `{word}`; {help}",
                "`{name}` 没有选项 `{word}`；{help}",
                help
            ));
        };
        if let Some(first) = chosen[group].replace(option.clone()).filter(|_| !known.ends_with('*')) {
            return Err(both!(
                "`{name}` takes only one of `{first}` and `{option}`",
                "`{name}` 的 `{first}` 和 `{option}` 只能用一个"
            ));
        }
        let Some((_, kind)) = known.split_once(':') else { continue };
        for _ in 0..kind.trim_end_matches('*').len() {
            match rest.next() {
                None => return Err(both!("`{option}` wants a value after it", "`{option}` 后面要有一个值")),
                Some(Some(value)) if kind == "n" && value.parse::<i64>().is_ok_and(|value| value <= 0) => {
                    return Err(both!(
                        "`{option} {value}` is no time to live",
                        "`{option} {value}` 不是有效的过期时间"
                    ));
                }
                Some(Some(value)) if !kind.starts_with('w') && value.parse::<i64>().is_err() => {
                    return Err(shapes::no_whole_number(&option, value));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
