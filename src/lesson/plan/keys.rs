//! Checks the keys that claims ask about. A key that no command names and that is similar to another is misspelt.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{ALIKE, Mistake, Path, did_you_mean, nearest},
        expr::{Mentions, Template},
        has_word,
    },
    PlannedVerb, Scenario, fields,
    program::Instruction,
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
    let operations = scenario
        .actors
        .iter()
        .flat_map(|plan| plan.program.operations().map(move |operation| (&operation.verb, Some(plan))));
    let any = ANY.to_string();
    // Parameters of programs and recipes, which may be keys.
    let given: Vec<&(String, Template)> = scenario
        .instructions()
        .filter_map(|instruction| match instruction {
            Instruction::Enter { with, .. } => Some(with),
            _ => None,
        })
        .flatten()
        .collect();
    // A parameter that is a number is no key.
    let is_figure = |word: &Template| {
        if word.pattern() != any {
            return false;
        }
        let names = word.names();
        let mut values = names.iter().map(|name| scenario.scope.get(name));
        !names.is_empty() && values.all(|value| value.is_some_and(minijinja::Value::is_number))
    };
    words.extend(given.iter().filter(|(_, value)| !is_figure(value)).map(|(_, value)| value.pattern()));
    if words.contains(&any) {
        return None;
    }
    let is_given = |key: &Template| {
        let names = key.names();
        !names.is_empty() && names.iter().all(|name| given.iter().any(|(given, _)| given == name))
    };
    for (verb, plan) in scenario.setup.iter().map(|setup| (&setup.verb, None)).chain(operations) {
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
                let keys = ["PATH", "KEY", "PREFIX", "OTHER", "CALL"]
                    .into_iter()
                    .flat_map(|kind| call.operands(kind));
                let keys = keys.filter(|key| makes || key.pattern() != any);
                (keys.collect(), call.operands("DATA").chain(call.operands("VALUE")).collect())
            }
            PlannedVerb::Flock { path, .. } => {
                words.extend(plan.map(|plan| plan.filled(path)).filter(|path| *path != any));
                continue;
            }
            _ => continue,
        };
        for key in keys.into_iter().filter(|key| !is_given(key) && !is_figure(key)) {
            words.insert(key.pattern());
        }
        if words.contains(&any) {
            return None;
        }
        words.extend(values.into_iter().map(Template::pattern).filter(|value| *value != any));
    }
    Some((words, scripts))
}
