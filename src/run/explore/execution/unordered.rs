//! Replies in an order that is the server's own: Redis keeps large sets and hashes, and before 7.2 every set of texts,
//! in hash tables with a seed that it draws when it starts. The same members come in one order from the server that is
//! explored and in another from the one that confirms a result, and restoring them changes their order, too.
//!
//! The members of small sets have an order: integers by their value, texts as they were added (since Redis 7.2).

use std::borrow::Cow;

use serde_json::Value;

use super::{
    keyspace::Keyspace,
    script::{self, ListUse},
    transactions::Pending,
};
use crate::{
    client::protocol::Wire,
    lesson::{
        Scenario,
        expr::mentions::asks_for_order,
        plan::{NeverPlan, Program},
    },
    log::{Command, Reply},
    text::{Text, both},
};

/// Commands that list what a key holds.
const OF_A_KEY: [&str; 4] = ["SMEMBERS", "HGETALL", "HKEYS", "HVALS"];
/// Commands that list names or members of several keys, of which nothing says in which order.
const OF_SEVERAL_KEYS: [&str; 4] = ["KEYS", "SUNION", "SINTER", "SDIFF"];

fn capitals(word: &str) -> Cow<'_, str> {
    if word.bytes().any(|byte| byte.is_ascii_lowercase()) {
        word.to_ascii_uppercase().into()
    } else {
        word.into()
    }
}

/// Whether the order of the reply to a command says nothing.
fn is_arbitrary(words: &[String], keyspaces: &[&Keyspace]) -> bool {
    let [name, rest @ ..] = words else { return false };
    let name = capitals(name);
    if OF_SEVERAL_KEYS.contains(&&*name) {
        return true;
    }
    let Some(key) = rest.first().filter(|_| OF_A_KEY.contains(&&*name)) else { return false };
    keyspaces.iter().filter_map(|keyspace| keyspace.get(key.as_bytes())).any(|entry| entry.is_hash_table())
}

/// Sorts a list. The pairs of `HGETALL` stay together.
fn sort(name: &str, items: &mut Vec<Value>) {
    let width = if capitals(name) == "HGETALL" { 2 } else { 1 };
    let mut groups: Vec<Vec<Value>> = items.chunks(width).map(<[Value]>::to_vec).collect();
    groups.sort_by_cached_key(|group| group.first().map(Value::to_string));
    *items = groups.concat();
}

/// A command and, if it is one, the text of its script.
fn parts(wire: &Wire) -> (&[String], Option<&str>) {
    match &wire.command {
        Command::Redis(words) => (words, script_of(words)),
        Command::Script { .. } => (&[], wire.script.as_deref()),
        _ => (&[], None),
    }
}

fn script_of(words: &[String]) -> Option<&str> {
    let is_script = words.first().is_some_and(|name| capitals(name).starts_with("EVAL"));
    words.get(1).filter(|_| is_script).map(String::as_str)
}

/// Whether the reply to a command may list what keys hold: as its own reply, as that of a script, or as that to one of the
/// commands that it ends as a transaction.
pub(crate) fn may_list(wire: &Wire, pending: &Pending) -> bool {
    let lists = |words: &[String], source: Option<&str>| match source {
        Some(source) => listed_in(source, |_| true),
        None => words.first().is_some_and(|name| {
            let name = capitals(name);
            OF_A_KEY.contains(&&*name) || OF_SEVERAL_KEYS.contains(&&*name)
        }),
    };
    let (words, source) = parts(wire);
    match &pending.queued {
        Some(queued) => queued.iter().any(|words| lists(words, script_of(words))),
        None => lists(words, source),
    }
}

/// Whether a script calls one of the commands that list, of those that matter.
fn listed_in(source: &str, matters: impl Fn(&str) -> bool) -> bool {
    script::quoted(source).iter().any(|text| {
        let name = text.as_str();
        (OF_A_KEY.contains(&name) || OF_SEVERAL_KEYS.contains(&name)) && matters(name)
    })
}

/// Sorts a reply whose order says nothing, so that no state depends on it. Returns whether it was one. The error says
/// why a script cannot be explored.
fn sort_reply(
    wire: &Wire,
    pending: &Pending,
    keyspaces: &[&Keyspace],
    reply: &mut Reply,
) -> Result<bool, Text> {
    let Reply::Value(value) = reply else { return Ok(false) };
    let (words, source) = parts(wire);
    let Some(queued) = &pending.queued else { return sort_answer((words, source), keyspaces, value) };
    // The reply to `EXEC` has that to each queued command.
    let Value::Array(items) = value else { return Ok(false) };
    let mut sorted = false;
    for (words, item) in queued.iter().zip(items) {
        sorted |= sort_answer((words, script_of(words)), keyspaces, item)?;
    }
    Ok(sorted)
}

/// As [`sort_reply`], for the reply to one command.
fn sort_answer(
    (words, source): (&[String], Option<&str>),
    keyspaces: &[&Keyspace],
    value: &mut Value,
) -> Result<bool, Text> {
    if let Some(source) = source {
        return sort_answer_of_script(source, keyspaces, value);
    }
    match value {
        Value::Array(items) if items.len() > 1 && is_arbitrary(words, keyspaces) => {
            sort(&words[0], items);
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// As [`sort_answer`], for a script that may return such a list.
fn sort_answer_of_script(source: &str, keyspaces: &[&Keyspace], value: &mut Value) -> Result<bool, Text> {
    let mut entries = keyspaces.iter().flat_map(|keyspace| keyspace.entries.iter());
    let has_hash_table = entries.any(|entry| entry.is_hash_table());
    let has_several = keyspaces.iter().any(|keyspace| keyspace.entries.len() > 1);
    let matters = |name: &str| if name == "KEYS" { has_several } else { has_hash_table };
    if !(has_hash_table || has_several) || !listed_in(source, matters) {
        return Ok(false);
    }
    let mut uses = script::uses_of_lists(source, &[OF_A_KEY, OF_SEVERAL_KEYS].concat());
    uses.retain(|(name, _)| matters(name));
    if let Some((name, list_use)) = uses.iter().find(|(_, list_use)| *list_use != ListUse::Returned) {
        return Err(depends_on_order(name, *list_use));
    }
    match (uses.first(), value) {
        (Some((name, _)), Value::Array(items)) if items.len() > 1 => {
            sort(name, items);
            Ok(true)
        }
        // Where in its reply a script puts the members, and whether it does, is not known.
        (_, value) => Ok(sort_texts(value)),
    }
}

/// Sorts each list of texts in a reply. Returns whether there was one.
fn sort_texts(value: &mut Value) -> bool {
    match value {
        Value::Array(items) if items.len() > 1 && items.iter().all(Value::is_string) => {
            sort("", items);
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |sorted, item| sort_texts(item) | sorted),
        _ => false,
    }
}

/// Why a script cannot be explored that depends on the order of the reply to a command.
fn depends_on_order(name: &str, list_use: ListUse) -> Text {
    let does = if list_use == ListUse::Joined {
        both!("joins texts and calls `{name}`", "拼接了文本，又调用了 `{name}`")
    } else {
        both!("takes an item of the reply to `{name}` by its number", "按序号取 `{name}` 回复中的一项")
    };
    both!(
        "its script {does}, and Redis keeps these members in a hash table, as it does with large sets, and before 7.2 with \
         every set of texts: their order differs from server to server; use a sorted set or a list",
        "它的脚本{does}，而 Redis 把这些成员放在哈希表里（较大的集合都是这样，7.2 之前凡是含文本的集合也是），顺序每台服务器都不同；请改用有序集合或列表",
        does
    )
}

/// Checks that nothing depends on an order that is the server's own, neither in the program that sent the command nor in
/// an invariant, and sorts such a reply. The error says why the command cannot be explored.
pub(crate) fn check(
    scenario: &Scenario,
    (program, label): (&Program, &str),
    (wire, pending): (&Wire, &Pending),
    keyspaces: &[&Keyspace],
    reply: &mut Reply,
) -> Result<(), Text> {
    if sort_reply(wire, pending, keyspaces, reply)? && is_asked_for_order(scenario, program, label) {
        return Err(both!(
            "Redis keeps these members in a hash table, as it does with large sets, and before 7.2 with every set of texts: \
             the order of the reply differs from server to server, and the program asks for more than how many there are \
             and what is among them; sort them first (`{label}|sort`), or use a sorted set or a list",
            "Redis 把这些成员放在哈希表里（较大的集合都是这样，7.2 之前凡是含文本的集合也是），回复的顺序每台服务器都不同，而程序用到的不只是\
             个数和有没有；请先排序（`{label}|sort`），或改用有序集合、列表"
        ));
    }
    Ok(())
}

/// Whether an expression may depend on the order of the list with this label.
fn is_asked_for_order(scenario: &Scenario, program: &Program, label: &str) -> bool {
    let invariants = scenario.invariants.iter().filter_map(|plan| match &plan.never {
        NeverPlan::That(never) => Some(never.source().to_owned()),
        NeverPlan::Overlap(_) => None,
    });
    program.expressions().into_iter().chain(invariants).any(|source| asks_for_order(&source, label))
}
