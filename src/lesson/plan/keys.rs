//! Checks the keys that claims ask about. A key that no command names and that is similar to another is misspelt.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        error::{ALIKE, Mistake, Path, did_you_mean, nearest},
        expr::{Expr, Mentions, Template},
        has_word,
    },
    PlannedVerb, Scenario, fields,
    sql::tables,
};
use crate::{
    log::{ANY, Product, stands_for},
    text::both,
};

/// `others`: further variants whose commands may name the keys, if the expression is theirs as well.
pub(crate) fn check(
    scenario: &Scenario,
    others: &[Scenario],
    source: &str,
    at: &Path,
) -> Result<(), Mistake> {
    let mentions = Mentions::of(source);
    let asked = [
        "exists",
        "value",
        "pttl",
        "deleted_by_another",
        "renewed_by_another",
        "orphaned",
        "owner",
        "children",
    ]
    .into_iter()
    .flat_map(|function| mentions.keys_of(function));
    let mut asked = asked.map(|(key, _)| key).peekable();
    let parts = scenario.lab();
    if parts.is_only(Product::Zookeeper) {
        let paths =
            ["exists", "value", "children"].into_iter().flat_map(|function| mentions.keys_of(function));
        if let Some((path, _)) = paths.into_iter().find(|(path, _)| !path.starts_with('/')) {
            let message = both!("`{path}` is no path of a znode", "`{path}` 不是 znode 的路径");
            return Err(Mistake::new(at, message).help(did_you_mean(&format!("/{path}"))));
        }
    }
    if asked.peek().is_none() || scenario.is_attached() {
        return Ok(());
    }
    fields::check(scenario, source, at)?;
    let (mut words, mut scripts) = (BTreeSet::new(), BTreeSet::new());
    for scenario in std::iter::once(scenario).chain(others) {
        let Some((named, called)) = sent(scenario) else { return Ok(()) };
        words.extend(named);
        scripts.extend(called);
    }
    let numbered: Vec<String> =
        scenario.operations().filter_map(|operation| numbered(&operation.verb)).collect();
    for key in asked {
        let digits = numbered.iter().find_map(|path| key.strip_prefix(path.as_str()));
        if let Some(digits) = digits.filter(|digits| !digits.is_empty() && digits.len() != 10)
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !words.contains(&key)
        {
            let name = key.trim_end_matches(|c: char| c.is_ascii_digit());
            let message = both!(
                "`{key}` is no znode: the server appends ten digits to a sequential one",
                "没有 `{key}` 这个 znode：服务器给顺序节点加上的是十位序号"
            );
            let number: u64 = digits.parse().unwrap_or_default();
            return Err(Mistake::new(at, message).help(did_you_mean(&format!("{name}{number:010}"))));
        }
        // ZooKeeper numbers a sequential znode: `job-` becomes `job-0000000002`.
        let numbered = key.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = if key.len() == numbered.len() + 10 { numbered } else { key.as_str() };
        let is_word = |word: &String| {
            word.split_whitespace().any(|word| [key.as_str(), numbered].contains(&word))
                || (word.contains(ANY) && stands_for(word, &key))
                || word.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('/'))
                || key.strip_prefix(word.as_str()).is_some_and(|rest| rest.starts_with(['/', ':', '-', '.']))
        };
        if words.iter().any(is_word) || scripts.iter().any(|script| script.contains(&key)) {
            continue;
        }
        let message = both!("no command ever names the key `{key}`", "没有任何命令用到键 `{key}`");
        let statements = tables::statements(scenario);
        let begins = key.split(['/', ':', '.']).next().filter(|_| !key.contains('/'));
        let mut tables = statements.iter().filter_map(|(text, _)| tables::created(text));
        if let Some(table) = tables.find(|table| begins == Some(*table)) {
            return Err(Mistake::new(at, message).help(both!(
                "a row is named by its table and its primary key: `value('{table}/1')`",
                "一行的名字是表名加主键：`value('{table}/1')`"
            )));
        }
        // A file named without its directory.
        let inside = format!("/{key}");
        if let Some(whole) = words.iter().find(|word| word.ends_with(&inside) && !word.contains(ANY)) {
            return Err(Mistake::new(at, message).help(did_you_mean(whole)));
        }
        if let Some(near) = nearest(&key, words.iter().map(String::as_str), ALIKE) {
            return Err(Mistake::new(at, message).help(did_you_mean(near)));
        }
        // A script may compute names, and rows of a database are named differently.
        if parts.has(Product::Mariadb) && key.contains('/')
            || scripts.iter().any(|script| script.contains(".."))
        {
            continue;
        }
        let like = words.iter().find(|word| word.contains(&key) || key.contains(word.as_str()));
        let help = like.map_or_else(
            || both!("name it as the command does that writes it", "请写命令里实际用到的键名"),
            |like| did_you_mean(&like.replace(ANY, "…")),
        );
        return Err(Mistake::new(at, message).help(help));
    }
    Ok(())
}

/// Reports a key that is another one's name with or without the braces of a hash tag: to Redis they are two keys.
pub(crate) fn check_tags(scenario: &Scenario) -> Result<(), Mistake> {
    let mut named: BTreeMap<String, (usize, Option<Path>)> = BTreeMap::new();
    for plan in scenario.programmed() {
        for (operation, frames) in plan.program.operations_in_frames() {
            let (keys, field): (&[Template], _) = match &operation.verb {
                PlannedVerb::Script { keys, .. } => (keys, "keys"),
                PlannedVerb::Redis(words)
                    if has_word(OF_ONE_KEY, &words[0].pattern().to_ascii_uppercase()) =>
                {
                    (&words[1..words.len().min(2)], "redis")
                }
                _ => continue,
            };
            for key in keys {
                let own = operation.path.as_ref().filter(|_| !operation.allows("CROSSSLOT"));
                let (times, at) = named.entry(plan.filled_in(key, &frames)).or_default();
                *times += 1;
                *at = at.take().or_else(|| own.map(|path| path.key(field)));
            }
        }
    }
    let bare = |key: &str| key.replace(['{', '}'], "");
    for (tagged, (times, at)) in named.iter().filter(|(key, _)| key.contains('{') && !key.contains(ANY)) {
        let Some((others, other_at)) = named.get(&bare(tagged)) else { continue };
        let plain = bare(tagged);
        // The rarer of both is the slip.
        let (wrong, right, at) =
            if others <= times { (&plain, tagged, other_at) } else { (tagged, &plain, at) };
        let Some(at) = at else { continue };
        let message = both!(
            "`{wrong}` and `{right}` are two keys: braces are a part of the name",
            "`{wrong}` 和 `{right}` 是两个不同的键：大括号也是键名的一部分"
        );
        return Err(Mistake::new(at, message).help(both!("write `{right}`", "请写 `{right}`")));
    }
    Ok(())
}

/// Commands with one key, the first word after the name; the words that follow are no keys.
pub(crate) const OF_ONE_KEY: &str = "
    GET SET SETNX SETEX PSETEX GETSET INCR DECR INCRBY DECRBY EXPIRE PEXPIRE TTL PTTL HGET HSET HSETNX HDEL HINCRBY LPUSH RPUSH
    LPOP RPOP LREM SADD SREM SCARD ZADD ZREM ZCARD ZRANGE PUBLISH APPEND STRLEN PERSIST
";

/// The path of a sequential znode that a call creates, without its number.
fn numbered(verb: &PlannedVerb) -> Option<String> {
    let PlannedVerb::Call(call) = verb else { return None };
    (call.name() == "create" && call.has_flag("-s"))
        .then(|| call.operands("PATH").next())?
        .map(Template::pattern)
}

/// The words that are sent to servers, and the scripts; `None` if a key is known only at run time.
fn sent(scenario: &Scenario) -> Option<(BTreeSet<String>, BTreeSet<&str>)> {
    let (mut words, mut scripts) = (BTreeSet::new(), BTreeSet::new());
    let value = |expr: &Expr| expr.eval(scenario.scope.value()).ok().map(|value| value.to_string());
    let in_setup = |word: &Template| word.filled(|expr| Some(value(expr).unwrap_or_else(|| ANY.to_string())));
    for setup in &scenario.setup {
        send(&setup.verb, &in_setup, (&mut words, &mut scripts))?;
    }
    for plan in &scenario.actors {
        for (operation, frames) in plan.program.operations_in_frames() {
            send(&operation.verb, &|word| plan.filled_in(word, &frames), (&mut words, &mut scripts))?;
        }
    }
    Some((words, scripts))
}

/// Adds the words that a command sends; `None` if one of its keys is known only at run time.
fn send<'a>(
    verb: &'a PlannedVerb,
    filled: &dyn Fn(&Template) -> String,
    (words, scripts): (&mut BTreeSet<String>, &mut BTreeSet<&'a str>),
) -> Option<()> {
    let any = ANY.to_string();
    let (keys, values): (Vec<&Template>, Vec<&Template>) = match verb {
        PlannedVerb::Redis(of) => {
            let name = of[0].pattern().to_ascii_uppercase();
            let most = if has_word(OF_ONE_KEY, &name) { 2 } else { of.len() };
            (of[1..most.min(of.len())].iter().collect(), of[most.min(of.len())..].iter().collect())
        }
        PlannedVerb::Script { source, keys, args, .. } => {
            scripts.insert(&**source);
            (keys.iter().collect(), args.iter().collect())
        }
        // Each call of a `multi` is one operand.
        PlannedVerb::Call(call) => {
            // Commands that only read or delete a key do not create it.
            let makes = matches!(call.name(), "create" | "put" | "put-if" | "multi");
            let keys =
                ["PATH", "KEY", "PREFIX", "OTHER", "CALL"].into_iter().flat_map(|kind| call.operands(kind));
            let keys = keys.filter(|key| makes || filled(key) != any);
            (keys.collect(), call.operands("DATA").chain(call.operands("VALUE")).collect())
        }
        PlannedVerb::Flock { path, .. } => {
            words.extend(Some(filled(path)).filter(|path| *path != any));
            return Some(());
        }
        _ => return Some(()),
    };
    for key in keys {
        let key = filled(key);
        if key == any {
            return None;
        }
        words.insert(key);
    }
    words.extend(values.into_iter().map(filled).filter(|value| *value != any));
    Some(())
}
