//! Checks the types of Redis keys. A command on a key of another type is answered WRONGTYPE, and a key that programs
//! read but never write is misspelt if its name is similar to that of a written one.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        error::{Finding, Mistake, MistakeSpan, Path, Segment, did_you_mean, finding, suggestion},
        expr::{Mentions, Template, mentions::attribute_of},
        has_word,
    },
    PlannedVerb, Scenario,
    program::Frame,
};
use crate::{
    log::{ANY, Product, stands_for},
    text::both,
};

/// For each type: its name in `value()`, its name in messages, the commands with one key that create such a key, and
/// those that need one but do not create it.
const TYPES: [(&str, &str, &str, &str, &str); 6] = [
    (
        "string",
        "a text",
        "字符串",
        "SET SETNX SETEX PSETEX GETSET INCR DECR INCRBY DECRBY INCRBYFLOAT APPEND SETRANGE SETBIT",
        "GET GETDEL GETEX STRLEN GETRANGE GETBIT",
    ),
    (
        "hash",
        "a hash",
        "哈希",
        "HSET HSETNX HMSET HINCRBY HINCRBYFLOAT",
        "HGET HDEL HLEN HEXISTS HGETALL HKEYS HVALS HMGET HSTRLEN",
    ),
    ("list", "a list", "列表", "LPUSH RPUSH", "LPOP RPOP LLEN LRANGE LINDEX LREM LTRIM LSET LPUSHX RPUSHX"),
    ("set", "a set", "集合", "SADD", "SREM SCARD SISMEMBER SMEMBERS SPOP SRANDMEMBER"),
    (
        "sorted_set",
        "a sorted set",
        "有序集合",
        "ZADD ZINCRBY",
        "ZREM ZCARD ZSCORE ZRANK ZREVRANK ZRANGE ZREVRANGE ZRANGEBYSCORE ZCOUNT ZPOPMIN ZPOPMAX ZREMRANGEBYSCORE",
    ),
    ("stream", "a stream", "流", "XADD", "XLEN XRANGE XREVRANGE XDEL XTRIM XACK XPENDING XCLAIM XAUTOCLAIM"),
];

/// Commands with one key of any type that do not write it.
const OF_ANY: &str = "DEL UNLINK TTL PTTL EXISTS PERSIST EXPIRE PEXPIRE EXPIREAT PEXPIREAT TYPE";

/// Commands that delete a key now or later, so that it may get another type.
const ENDS: &str = "DEL UNLINK EXPIRE PEXPIRE EXPIREAT PEXPIREAT GETDEL FLUSHALL FLUSHDB";
/// Commands after which the type of a key is unknown.
const UNSETTLE: &str = "RENAME RENAMENX COPY RESTORE";

/// A use of a key.
struct Use {
    /// The index in [`TYPES`] of the type that the command needs, and whether the command creates such a key.
    of_type: Option<(usize, bool)>,
    /// The path of the operation; `None` in a recipe.
    path: Option<Path>,
    /// The path at which a program or recipe gets the key as a parameter.
    given_at: Option<Path>,
    command: String,
    copes: bool,
    /// The script that uses it, and the place in its text.
    script: Option<(String, MistakeSpan)>,
}

fn of_type(command: &str) -> Option<(usize, bool)> {
    TYPES.iter().enumerate().find_map(|(n, (.., writes, reads))| {
        has_word(writes, command)
            .then_some((n, true))
            .or_else(|| has_word(reads, command).then_some((n, false)))
    })
}

/// The uses of each literal key; `None` if external programs may use any.
fn uses(scenario: &Scenario) -> Option<BTreeMap<String, Vec<Use>>> {
    if scenario.is_attached() {
        return None;
    }
    let at = scenario.setup_path();
    let setup = scenario.setup.iter().enumerate();
    let setup = setup.map(|(n, line)| (&line.verb, Some(at.index(n)), &[][..], Vec::<Frame<'_>>::new()));
    let operations = scenario.actors.iter().flat_map(|plan| plan.program.operations_in_frames());
    let operations = operations.map(|(operation, frames)| {
        (&operation.verb, operation.path.clone(), operation.allow.as_slice(), frames)
    });
    let mut found: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for (verb, path, allow, frames) in setup.chain(operations) {
        let copes = allow.iter().any(|code| code == "WRONGTYPE" || code == "ERR");
        let mut note = |key: &Template, command: String, path: Option<Path>, script| {
            let of_type = of_type(&command);
            let names = key.names();
            // A parameter that is a number is no key.
            let is_number = |name: &String| scenario.scope.get(name).is_some_and(minijinja::Value::is_number);
            if !names.is_empty() && names.iter().all(is_number) && key.to_string().starts_with("${") {
                return;
            }
            let (key, given_at) = resolve_key(key, &frames);
            found.entry(key).or_default().push(Use { of_type, path, given_at, command, copes, script });
        };
        match verb {
            PlannedVerb::Redis(words) => {
                let command = words[0].pattern().to_ascii_uppercase();
                if has_word("PUBLISH SPUBLISH SUBSCRIBE PSUBSCRIBE SSUBSCRIBE", &command) {
                    continue;
                }
                let path = path.map(|path| path.key("redis"));
                let of_one_key = of_type(&command).is_some()
                    || has_word("TTL PTTL PERSIST EXPIRE PEXPIRE EXPIREAT PEXPIREAT TYPE", &command);
                // The keys follow the word `STREAMS`.
                let first = words.iter().position(|word| word.pattern().eq_ignore_ascii_case("STREAMS"));
                let first = first.filter(|_| has_word("XREAD XREADGROUP", &command)).map_or(1, |at| at + 1);
                for key in words[first..].iter().take(if of_one_key { 1 } else { words.len() }) {
                    note(key, command.clone(), path.clone(), None);
                }
                // A key that expires may get another type.
                let ends = words
                    .iter()
                    .any(|word| has_word("EX PX EXAT PXAT", &word.pattern().to_ascii_uppercase()));
                if ends && let Some(key) = words.get(1) {
                    note(key, "EXPIRE".to_owned(), path, None);
                }
            }
            PlannedVerb::Script { name, source, keys, .. } => {
                for (n, key) in keys.iter().enumerate() {
                    for (command, at) in in_script(source, n + 1) {
                        let script = Some((name.clone(), MistakeSpan::at(source, at)));
                        note(key, command, path.clone(), script);
                    }
                }
            }
            _ => {}
        }
    }
    Some(found)
}

/// Resolves a key that is a parameter to the value that the program or recipe gets, with the path of that value.
pub(super) fn resolve_key(key: &Template, frames: &[Frame<'_>]) -> (String, Option<Path>) {
    let (key, at) = resolve(key, frames);
    (key.pattern(), at)
}

/// Resolves a template that is a parameter to the one that the program or recipe gets, with the path of that.
pub(super) fn resolve<'t>(word: &'t Template, frames: &[Frame<'t>]) -> (&'t Template, Option<Path>) {
    let names = word.names();
    let alone = names.iter().next().filter(|name| word.to_string() == format!("${{{name}}}"));
    let (Some(((with, path), outer)), Some(name)) = (frames.split_last(), alone) else {
        return (word, None);
    };
    match with.iter().find(|(known, _)| known == name) {
        Some((_, value)) => {
            let (word, at) = resolve(value, outer);
            (word, at.or_else(|| path.map(|path| path.key("with").key(name))))
        }
        None => resolve(word, outer),
    }
}

/// The commands of a script that have one of its keys as their first argument, with their places; an empty name stands
/// for any other use.
pub(super) fn in_script(source: &str, n: usize) -> Vec<(String, usize)> {
    let key = format!("KEYS[{n}]");
    // Without comments, and with every place where it was.
    let bare: String = source
        .split_inclusive('\n')
        .map(|line| {
            let code = line.split("--").next().unwrap_or_default();
            code.to_owned() + &" ".repeat(line.len() - code.len())
        })
        .collect();
    let sent = bare.match_indices(&key).map(|(at, _)| {
        let before = bare[..at].trim_end().strip_suffix(',')?.trim_end();
        let before = before.strip_suffix(['\'', '"'])?;
        let (rest, command) = before.rsplit_once(['\'', '"'])?;
        rest.trim_end().ends_with("call(").then(|| (command.to_ascii_uppercase(), rest.len() + 1))
    });
    let mut sent: Vec<(String, usize)> = sent.map(Option::unwrap_or_default).collect();
    let computed = bare.match_indices("KEYS").any(|(at, _)| {
        !bare[at + 4..].strip_prefix('[').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    if computed {
        sent.push((String::new(), 0));
    }
    sent
}

/// The only type that a key can have; `None` if it may have several or is never created.
fn settled(uses: &[Use]) -> Option<usize> {
    let is_open = |known: &Use| known.command.is_empty() || has_word(UNSETTLE, &known.command);
    if uses.iter().any(is_open) {
        return None;
    }
    let mut made = uses.iter().filter_map(|known| known.of_type.filter(|(_, makes)| *makes)).map(|(n, _)| n);
    let first = made.next()?;
    let ends = uses.iter().any(|known| has_word(ENDS, &known.command));
    (!ends || made.all(|other| other == first)).then_some(first)
}

pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let Some(found) = uses(scenario) else { return Ok(()) };
    let is_open = |key: &str| {
        found.keys().any(|known| known.contains(ANY) && (stands_for(known, key) || *known == ANY.to_string()))
    };
    for (key, uses) in found.iter().filter(|(key, _)| !key.contains(ANY) && !is_open(key)) {
        if let Some(known) = settled(uses)
            && let Some(wrong) =
                uses.iter().find(|used| !used.copes && used.of_type.is_some_and(|(n, _)| n != known))
            // A recipe itself is correct; the mistake is the key that it gets.
            && let Some(path) = wrong.path.as_ref().or_else(|| uses.iter().find_map(|used| used.path.as_ref()))
        {
            let (_, en, zh, writes, reads) = TYPES[known];
            let command = &wrong.command;
            let message = both!(
                "`{key}` holds {en}, and `{command}` is for another type: the server answers WRONGTYPE",
                "`{key}` 里是{zh}，而 `{command}` 用于别的类型，服务器会回复 WRONGTYPE"
            );
            let some = writes.split(' ').chain(reads.split(' ')).take(6).collect::<Vec<_>>().join(", ");
            let own = &scenario.loaded.lesson.scripts;
            let (path, span) = match &wrong.script {
                Some((name, span)) if own.contains_key(name) => {
                    (&Path::root().key("scripts").key(name), *span)
                }
                _ => (path, MistakeSpan::Value),
            };
            let mistake = Mistake { span, ..Mistake::new(path, message) };
            return Err(mistake.help(both!("commands for it: {some}", "可用的命令：{some}")));
        }
        check_name(key, uses, &found, scenario.loaded.source.text())?;
        check_swapped_letters(key, uses, &found, scenario.loaded.source.text())?;
    }
    check_awaited(scenario, &found)?;
    check_fields(scenario, &found)?;
    check_swapped(scenario, &found)?;
    check_functions(scenario)?;
    check_etcd(scenario)
}

/// Reports the call of a function when no command loads any: a server of the lab begins without functions.
fn check_functions(scenario: &Scenario) -> Result<(), Mistake> {
    let loads = |verb: &PlannedVerb| matches!(verb, PlannedVerb::Redis(words) if words[0].pattern().eq_ignore_ascii_case("FUNCTION"));
    if sent(scenario).any(|(verb, _)| loads(verb)) {
        return Ok(());
    }
    for operation in scenario.operations() {
        let (PlannedVerb::Redis(words), Some(path)) = (&operation.verb, &operation.path) else { continue };
        let command = words[0].pattern().to_ascii_uppercase();
        if has_word("FCALL FCALL_RO", &command) && operation.allow.is_empty() {
            return Err(path.key("redis").mistake(finding!(
                "`{command}` calls a function of the server, and no command loads one",
                "`{command}` 调用服务器上的函数，而没有命令加载过函数",
                "write `FUNCTION LOAD` into the setup, or a script: `script: NAME`",
                "请在 setup 里写 `FUNCTION LOAD`，或者改用脚本：`script: 名字`"
            )));
        }
    }
    Ok(())
}

/// Reports a key that nobody writes if the command has a written key where a value belongs, because the two are
/// probably swapped: `XACK group stream`.
fn check_swapped(scenario: &Scenario, found: &BTreeMap<String, Vec<Use>>) -> Result<(), Mistake> {
    let any = ANY.to_string();
    let makes = |used: &Use| used.of_type.is_some_and(|(_, makes)| makes) || used.command.is_empty();
    let written: Vec<&str> = found
        .iter()
        .filter(|(key, uses)| **key != any && uses.iter().any(makes))
        .map(|(key, _)| key.as_str())
        .collect();
    for (verb, path) in sent(scenario) {
        let Some(path) = path else { continue };
        let (key, values, command) = match verb {
            PlannedVerb::Redis(words) => {
                let command = words[0].pattern().to_ascii_uppercase();
                let at = if command == "XGROUP" { 2 } else { 1 };
                let reads = of_type(&command).is_some_and(|(_, makes)| !makes) || command == "XGROUP";
                let (Some(key), Some(values)) = (words.get(at), words.get(at + 1..)) else { continue };
                (key, if reads { values } else { &[] }, command)
            }
            PlannedVerb::Script { name, source, keys, args } => {
                let writes = |(command, _): (String, usize)| {
                    command.is_empty() || of_type(&command).is_some_and(|(_, makes)| makes)
                };
                let [key] = &keys[..] else { continue };
                let only_reads = !in_script(source, 1).into_iter().any(writes);
                (key, if only_reads { &args[..] } else { &[] }, name.clone())
            }
            _ => continue,
        };
        let pattern = key.pattern();
        let is_name = matches!(key.to_string().as_str(), "${self}" | "${client}" | "${token}");
        let is_written = written.iter().any(|known| stands_for(known, &pattern));
        let is_made = found.get(&pattern).is_some_and(|uses| uses.iter().any(makes));
        if (is_made || !is_name) && (is_written || !key.is_literal()) {
            continue;
        }
        let mut values = values.iter().filter(|value| value.is_literal()).map(Template::pattern);
        if let Some(other) = values.find(|value| written.contains(&value.as_str())) {
            return Err(path.mistake(finding!(
                "`{key}` stands here as the key, which no command writes, and the key `{other}` as a value",
                "这里把 `{key}` 当作键，而没有命令写过它；键 `{other}` 却写在了值的位置上",
                "`{command}` takes the key first: write `{other}` in its place",
                "`{command}` 先写键：请把 `{other}` 写在前面"
            )));
        }
    }
    Ok(())
}

/// Commands that watch keys, and commands that wait for items; the latter end with a timeout.
const AWAIT: (&str, &str) = ("WATCH", "BLPOP BRPOP BZPOPMIN BZPOPMAX");

/// Reports a key that is watched or waited for and that nobody ever writes.
fn check_awaited(scenario: &Scenario, found: &BTreeMap<String, Vec<Use>>) -> Result<(), Mistake> {
    let awaits = |command: &str| has_word(AWAIT.0, command) || has_word(AWAIT.1, command);
    let is_written = |key: &str| {
        let writes = |used: &Use| match used.of_type {
            Some((_, makes)) => makes,
            None => !awaits(&used.command) && !has_word(OF_ANY, &used.command),
        };
        let is_it = |known: &str| stands_for(known, key) || known == ANY.to_string();
        found.iter().any(|(known, uses)| is_it(known) && uses.iter().any(writes))
    };
    for operation in scenario.operations() {
        let (PlannedVerb::Redis(words), Some(path)) = (&operation.verb, &operation.path) else { continue };
        let command = words[0].pattern().to_ascii_uppercase();
        let reads = of_type(&command).is_some_and(|(_, makes)| !makes);
        let end = match () {
            () if has_word(AWAIT.0, &command) => words.len(),
            () if has_word(AWAIT.1, &command) => words.len() - 1,
            // An operation with `until` is retried until the key is there.
            () if reads && operation.until.is_some() => 2,
            () => continue,
        };
        let keys = words[1..end].iter().filter(|key| key.is_literal()).map(Template::pattern);
        if let Some(key) = keys.into_iter().find(|key| !is_written(key)) {
            let message = both!(
                "`{command}` of the key `{key}`, which no command ever writes",
                "`{command}` 的键 `{key}` 从没有任何命令写过"
            );
            let written = found.keys().filter(|known| !known.contains(ANY) && is_written(known));
            let near =
                super::super::error::nearest(&key, written.map(String::as_str), super::super::error::ALIKE);
            let help = suggestion(near, || both!("name the key that others write", "请写别的命令会写的键"));
            return Err(Mistake::new(&path.key("redis"), message).help(help));
        }
    }
    Ok(())
}

/// The operations of the setup and of the programs, with their paths; `None` for the setup and in a recipe.
pub(super) fn sent(scenario: &Scenario) -> impl Iterator<Item = (&PlannedVerb, Option<&Path>)> {
    let operations = scenario.operations().map(|operation| (&operation.verb, operation.path.as_ref()));
    scenario.setup.iter().map(|line| (&line.verb, None)).chain(operations)
}

/// Reports a hash field that is only read and whose name is similar to that of a written one. Hashes that a script may
/// write are not checked.
fn check_fields(scenario: &Scenario, found: &BTreeMap<String, Vec<Use>>) -> Result<(), Mistake> {
    let (mut written, mut asked) = (BTreeSet::new(), Vec::new());
    for (verb, path) in sent(scenario) {
        let PlannedVerb::Redis(words) = verb else { continue };
        let [command, key, rest @ ..] = words.as_slice() else { continue };
        let (key, every) = match command.pattern().to_ascii_uppercase().as_str() {
            "HSET" | "HMSET" | "HSETNX" => (key.pattern(), 2),
            "HINCRBY" | "HINCRBYFLOAT" => (key.pattern(), rest.len().max(1)),
            "HGET" | "HEXISTS" | "HSTRLEN" | "HMGET" => {
                asked.extend(rest.iter().map(|field| (key.pattern(), field.pattern(), path)));
                continue;
            }
            _ => continue,
        };
        written.extend(rest.iter().step_by(every).map(|field| (key.clone(), field.pattern())));
    }
    let is_open = |key: &str| {
        let is_scripted = found.get(key).is_some_and(|uses| uses.iter().any(|known| known.script.is_some()));
        let mut others = found.keys().filter(|known| known.contains(ANY));
        is_scripted || key.contains(ANY) || others.any(|known| stands_for(known, key))
    };
    for (key, field, path) in asked.iter().filter(|(key, field, _)| !field.contains(ANY) && !is_open(key)) {
        let fields = || written.iter().filter(|(of, _)| of == key).map(|(_, field)| field.as_str());
        if let Some(path) = path.filter(|_| !fields().any(|known| stands_for(known, field)))
            && let Some(near) = nearly(field, fields())
        {
            let message = both!(
                "no command ever writes the field `{field}` of `{key}`",
                "没有任何命令写过 `{key}` 的字段 `{field}`"
            );
            return Err(Mistake::new(&path.key("redis"), message).help(did_you_mean(near)));
        }
    }
    Ok(())
}

/// How often a word occurs in a text as a whole word.
pub(super) fn whole_words(text: &str, word: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':');
    let places = text
        .match_indices(word)
        .filter(|(at, _)| !text[..*at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part));
    places.count()
}

/// Whether an expression in a text asks for a key.
fn quoted_in(text: &str, key: &str) -> bool {
    ['\'', '"'].into_iter().any(|quote| text.contains(&format!("{quote}{key}{quote}")))
}

/// Reports a key that is only read, or only written, and whose name is similar to that of a key with both.
fn check_name(
    key: &str,
    uses: &[Use],
    found: &BTreeMap<String, Vec<Use>>,
    text: &str,
) -> Result<(), Mistake> {
    let makes = |used: &Use| match used.of_type {
        Some((_, makes)) => makes,
        None => !has_word(OF_ANY, &used.command),
    };
    let only_asks = uses.iter().all(|used| !makes(used) && !used.copes);
    if let [Use { of_type: Some((of_type, true)), path: Some(path), .. }, others @ ..] = uses
        && others.iter().all(|used| used.path.as_ref() == Some(path))
        && !quoted_in(text, key)
    {
        // A key that is only written may be a misspelling of a key that is written and read.
        let same = found.iter().filter(|(known, uses)| {
            *known != key
                && uses.len() > 1
                && uses.iter().all(|used| used.of_type.is_none_or(|(n, _)| n == *of_type))
                && whole_words(text, known) > 1
        });
        if let Some(near) = nearly(key, same.map(|(known, _)| known.as_str())) {
            let message = both!(
                "nothing else in this lesson names the key `{key}`",
                "这节课里别处都没有用到键 `{key}`"
            );
            return Err(Mistake::new(path, message).help(did_you_mean(near)));
        }
    }
    let place = |used: &Use| used.path.clone().or_else(|| used.given_at.clone());
    let Some(path) = uses.iter().find_map(place).filter(|_| only_asks) else {
        return Ok(());
    };
    let written = found.iter().filter(|(_, uses)| uses.iter().any(makes)).map(|(known, _)| known.as_str());
    misspelt(key, written, &path)
}

/// Reports a key that one program alone names, beside one of which two letters are swapped: `lokc` for `lock`.
fn check_swapped_letters(
    key: &str,
    uses: &[Use],
    found: &BTreeMap<String, Vec<Use>>,
    text: &str,
) -> Result<(), Mistake> {
    let place = |used: &Use| used.given_at.clone().or_else(|| used.path.clone());
    // `programs.worker`, or `variants.fixed.programs.worker`.
    let program = |used: &Use| {
        let path = place(used)?;
        let at = path.segments().iter().position(|part| *part == Segment::Key("programs".to_owned()))?;
        Some(path.segments()[..(at + 2).min(path.segments().len())].to_vec())
    };
    let is_word = key.len() > 3 && !key.contains(|c: char| c.is_ascii_digit());
    let Some(own) = uses.first().and_then(program).filter(|_| is_word) else { return Ok(()) };
    let is_its = |used: &Use| program(used).as_ref() == Some(&own);
    let sorted = |name: &str| {
        let mut letters: Vec<char> = name.chars().collect();
        letters.sort_unstable();
        letters
    };
    let near = found.iter().find(|(known, others)| {
        strsim::osa_distance(known, key) == 1
            && sorted(known) == sorted(key)
            && !others.iter().any(is_its)
            && whole_words(text, known) > whole_words(text, key)
    });
    let path = uses.iter().find_map(place);
    match (near, path) {
        (Some((near, _)), Some(path)) if uses.iter().all(is_its) && !quoted_in(text, key) => {
            let message = both!(
                "nothing else in this lesson names the key `{key}`",
                "这节课里别处都没有用到键 `{key}`"
            );
            Err(Mistake::new(&path, message).help(did_you_mean(near)))
        }
        _ => Ok(()),
    }
}

/// Reports a key that nobody writes and that differs in one letter from one that somebody does. `lock:1` and `lock:2`,
/// or `lockA` and `lockB`, count as different keys.
fn misspelt<'k>(key: &str, written: impl Iterator<Item = &'k str>, path: &Path) -> Result<(), Mistake> {
    nearly(key, written).map_or(Ok(()), |near| {
        let message = both!("no command ever writes the key `{key}`", "没有任何命令写过键 `{key}`");
        Err(Mistake::new(path, message).help(did_you_mean(near)))
    })
}

/// The written name that a name almost is: in another case of letters, with or without an `s` or the braces of a hash tag,
/// or with one letter changed inside it. `lock:1` and `lock:2` are two names.
pub(super) fn nearly<'k>(key: &str, mut written: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let stem = |name: &str| name.chars().take(name.chars().count().saturating_sub(1)).collect::<String>();
    let is_near = |known: &&str| {
        if known.eq_ignore_ascii_case(key)
            || known.replace(['{', '}'], "") == key
            || known.strip_suffix('s') == Some(key)
            || key.strip_suffix('s') == Some(known)
        {
            return true;
        }
        key.chars().count().max(known.chars().count()) > 3
            && !known.contains(ANY)
            && strsim::osa_distance(key, known) == 1
            && stem(key) != stem(known)
            && stem(key) != **known
            && stem(known) != key
    };
    written.find(is_near)
}

/// The keys that a request to etcd writes.
fn etcd_written(verb: &PlannedVerb) -> Vec<String> {
    let PlannedVerb::Call(call) = verb else { return Vec::new() };
    let kind = match (call.product(), call.name()) {
        (Product::Etcd, "put" | "create") => "KEY",
        (Product::Etcd, "put-if") => "OTHER",
        _ => return Vec::new(),
    };
    call.operands(kind).map(Template::pattern).collect()
}

/// The same checks for the keys of etcd.
fn check_etcd(scenario: &Scenario) -> Result<(), Mistake> {
    let (mut written, mut asked) = (BTreeSet::new(), Vec::new());
    for (verb, path) in sent(scenario) {
        let PlannedVerb::Call(call) = verb else { continue };
        if call.product() != Product::Etcd {
            continue;
        }
        written.extend(etcd_written(verb));
        if matches!(call.name(), "get" | "watch" | "delete") {
            asked.extend(call.operands("KEY").map(|key| (key.pattern(), path)));
        }
    }
    let is_written = |key: &str| written.iter().any(|known| stands_for(known, key));
    // `locks/A`, while others write `lock/…`.
    let within: BTreeSet<&str> =
        written.iter().filter_map(|known| known.rsplit_once('/')).map(|(within, _)| within).collect();
    for (key, path) in asked.iter().filter(|(key, _)| !key.contains(ANY) && !is_written(key)) {
        if let Some(path) = path {
            misspelt(key, written.iter().map(String::as_str), &path.key("etcd"))?;
            if within.contains(key.as_str()) {
                let message = both!("no command ever writes the key `{key}`", "没有任何命令写过键 `{key}`");
                let inside = written.iter().find(|known| known.starts_with(&format!("{key}/")));
                let near = inside.map(|known| known.replace(ANY, "…")).unwrap_or_default();
                return Err(Mistake::new(&path.key("etcd"), message).help(did_you_mean(&near)));
            }
            if let Some((outer, name)) = key.rsplit_once('/')
                && !within.contains(outer)
                && let Some(near) = nearly(outer, within.iter().copied())
            {
                let message = both!("no command ever writes the key `{key}`", "没有任何命令写过键 `{key}`");
                let near = format!("{near}/{name}");
                return Err(Mistake::new(&path.key("etcd"), message).help(did_you_mean(&near)));
            }
        }
    }
    Ok(())
}

/// Reports a `before` or `ls` of keys that nobody writes in any variant: it would always find nothing.
pub(crate) fn check_prefixes(scenarios: &[Scenario]) -> Result<(), Mistake> {
    if scenarios.iter().any(Scenario::is_attached) {
        return Ok(());
    }
    let written = || scenarios.iter().flat_map(sent).flat_map(|(verb, _)| etcd_written(verb));
    for (verb, path) in scenarios.iter().flat_map(sent) {
        let (PlannedVerb::Call(call), Some(path)) = (verb, path) else { continue };
        let prefix = call.operands("PREFIX").next().filter(|prefix| prefix.is_literal());
        let Some(prefix) = prefix.filter(|_| matches!(call.name(), "before" | "ls")).map(Template::pattern)
        else {
            continue;
        };
        let may_begin = |known: String| match known.split_once(ANY) {
            Some((begins, _)) => begins.starts_with(&prefix) || prefix.starts_with(begins),
            None => known.starts_with(&prefix),
        };
        if !written().any(may_begin) {
            let message = both!(
                "no command ever writes a key that begins with `{prefix}`",
                "没有任何命令写过以 `{prefix}` 开头的键"
            );
            let known: BTreeSet<String> = written().map(|known| known.replace(ANY, "…")).collect();
            let known = known.into_iter().collect::<Vec<_>>().join("`, `");
            return Err(Mistake::new(&path.key("etcd"), message)
                .help(both!("written here: `{known}`", "这里写过的有：`{known}`")));
        }
    }
    Ok(())
}

/// The finding about an expression that expects another type of a key: `value('members').list`.
pub(crate) fn lint(source: &str, scenario: &Scenario) -> Option<Finding> {
    let asked = Mentions::of(source).keys_of("value");
    if asked.is_empty() {
        return None;
    }
    let found = uses(scenario)?;
    asked.into_iter().find_map(|(key, _)| {
        let known = settled(found.get(&key)?)?;
        let (name, en, zh, ..) = TYPES[known];
        if known != 0 && is_whole(source, &key) {
            return Some(finding!(
                "`{key}` holds {en}: `value('{key}')` is an object with the field `.{name}`",
                "`{key}` 里是{zh}：`value('{key}')` 是对象，内容在字段 `.{name}` 里",
                "write `value('{key}').{name}`",
                "请写 `value('{key}').{name}`"
            ));
        }
        let field = attribute_of(source, &key)?;
        let open = found.keys().any(|known| known.contains(ANY) && stands_for(known, &key));
        (field != name && TYPES.iter().any(|(other, ..)| *other == field) && !open).then(|| {
            let right = if known == 0 { format!("value('{key}')") } else { format!("value('{key}').{name}") };
            finding!(
                "`{key}` holds {en}, which has no `.{field}`",
                "`{key}` 里是{zh}，没有 `.{field}`",
                "write `{right}`",
                "请写 `{right}`"
            )
        })
    })
}

/// Whether the whole `value()` of a key is compared, counted or searched. Tests for nil do not count.
pub(super) fn is_whole(source: &str, key: &str) -> bool {
    ['\'', '"'].into_iter().any(|quote| {
        let call = format!("value({quote}{key}{quote})");
        source.match_indices(&call).any(|(at, _)| {
            let (before, after) = (source[..at].trim_end(), source[at + call.len()..].trim_start());
            let is_compared = ["==", "!=", "<", ">", "|", "["].iter().any(|sign| after.starts_with(sign));
            let asks_for_any =
                ["== none", "!= none", "|default"].iter().any(|asked| after.starts_with(asked));
            (is_compared && !asks_for_any) || (before.ends_with(" in") && !after.starts_with('.'))
        })
    })
}
