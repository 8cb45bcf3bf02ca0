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
    servers::Pending,
};
use crate::{
    client::protocol::Wire,
    lesson::{Scenario, expr::mentions::asks_for_order, plan::NeverPlan},
    log::{ActorId, Command, Reply},
    text::{Text, both},
};

/// Commands that list what a key holds.
const OF_A_KEY: [&str; 4] = ["SMEMBERS", "HGETALL", "HKEYS", "HVALS"];
/// Commands that list names or members of several keys, of which nothing says in which order.
const OF_SEVERAL: [&str; 4] = ["KEYS", "SUNION", "SINTER", "SDIFF"];

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
    if OF_SEVERAL.contains(&&*name) {
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

/// Sorts a reply whose order says nothing, so that no state depends on it. Returns whether it was one. The error says
/// why a script cannot be explored.
fn sort_reply(
    wire: &Wire,
    pending: &Pending,
    keyspaces: &[&Keyspace],
    reply: &mut Reply,
) -> Result<bool, Text> {
    let script = match (&pending.queued, &wire.command) {
        (None, Command::Script { .. }) => wire.script.as_deref(),
        (None, Command::Redis(words))
            if words.first().is_some_and(|name| capitals(name).starts_with("EVAL")) =>
        {
            words.get(1).map(String::as_str)
        }
        _ => None,
    };
    if let Some(source) = script {
        return sort_reply_of_script(source, keyspaces, reply);
    }
    let (Command::Redis(words), Reply::Value(Value::Array(items))) = (&wire.command, reply) else {
        return Ok(false);
    };
    let sort_list = |words: &[String], items: &mut Vec<Value>| {
        let sorts = items.len() > 1 && is_arbitrary(words, keyspaces);
        if sorts {
            sort(&words[0], items);
        }
        sorts
    };
    let Some(queued) = &pending.queued else { return Ok(sort_list(words, items)) };
    // The reply to `EXEC` has that to each queued command.
    let lists = queued.iter().zip(items).filter_map(|(words, item)| Some((words, item.as_array_mut()?)));
    Ok(lists.fold(false, |sorted, (words, items)| sort_list(words, items) | sorted))
}

/// As [`sort_reply`], for a script that may return such a list.
fn sort_reply_of_script(source: &str, keyspaces: &[&Keyspace], reply: &mut Reply) -> Result<bool, Text> {
    let mut entries = keyspaces.iter().flat_map(|keyspace| keyspace.entries.iter());
    let has_hash_table = entries.any(|entry| entry.is_hash_table());
    let has_several = keyspaces.iter().any(|keyspace| keyspace.entries.len() > 1);
    let mut uses = script::uses_of_lists(source, &[OF_A_KEY, OF_SEVERAL].concat());
    uses.retain(|(name, _)| if name == "KEYS" { has_several } else { has_hash_table });
    if let Some((name, _)) = uses.iter().find(|(_, list_use)| *list_use == ListUse::Item) {
        return Err(both!(
            "its script takes an item of the reply to `{name}` by its number, and Redis keeps these members in a hash \
             table, as it does with large sets, and before 7.2 with every set of texts: their order differs from server to \
             server; use a sorted set or a list",
            "它的脚本按序号取 `{name}` 回复中的一项，而 Redis 把这些成员放在哈希表里（较大的集合都是这样，7.2 之前凡是含文本的集合也是），顺序每台\
             服务器都不同；请改用有序集合或列表"
        ));
    }
    match (uses.first(), reply) {
        (Some((name, _)), Reply::Value(Value::Array(items))) if items.len() > 1 => {
            sort(name, items);
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Checks that nothing depends on an order that is the server's own, and sorts such a reply. The error says why the
/// command cannot be explored.
pub(crate) fn check(
    scenario: &Scenario,
    (actor, label): (ActorId, &str),
    (wire, pending): (&Wire, &Pending),
    keyspaces: &[&Keyspace],
    reply: &mut Reply,
) -> Result<(), Text> {
    if sort_reply(wire, pending, keyspaces, reply)? && is_asked_for_order(scenario, actor, label) {
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
fn is_asked_for_order(scenario: &Scenario, actor: ActorId, label: &str) -> bool {
    let program = &scenario.actors[actor.0 as usize].program;
    let invariants = scenario.invariants.iter().filter_map(|plan| match &plan.never {
        NeverPlan::That(never) => Some(never.source().to_owned()),
        NeverPlan::Overlap(_) => None,
    });
    program.expressions().into_iter().chain(invariants).any(|source| asks_for_order(&source, label))
}
