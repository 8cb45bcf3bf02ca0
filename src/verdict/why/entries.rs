//! The entries that a command added to a hash, a set or another collection, and what happened to them.

use std::collections::BTreeSet;

use super::case::{Case, keyspace, writes};
use crate::{
    log::{KeyValue, Keyspace},
    world::effect::{Access, Effect},
};

/// The `Sent` event of the command that removed what `set` had added to a collection: the last command before the
/// server was seen without it, up to the first observation after `until`.
pub(crate) fn taken_out(case: &Case<'_>, set: &Effect, until: usize) -> Option<usize> {
    let (seen, own) = added(case, set)?;
    let (removed, _) = observations(case, &set.server, seen).find(|(_, keyspace)| {
        let now = entries(keyspace, &set.key);
        !own.iter().all(|entry| now.contains(entry))
    })?;
    // The expiry of the key removes all its entries.
    let end = case.keyspace_at(&set.server, removed)?.keys.get(&set.key)?.expires_at;
    let is_over = end.is_some_and(|end| end <= case.events[removed].at);
    if is_over || observations(case, &set.server, until).next()?.0 < removed {
        return None;
    }
    let mut done = case.effects.iter().rev().filter(|effect| effect.key == set.key && writes(effect));
    let last = done.find(|effect| effect.replied < removed && effect.replied > set.replied)?;
    Some(last.sent)
}

/// Whether what `set` wrote still existed when `other` was sent: its entry in a collection, or its own value.
pub(crate) fn is_kept(case: &Case<'_>, set: &Effect, other: &Effect) -> bool {
    let Some(keyspace) = case.keyspace_at(&set.server, other.sent) else { return false };
    if let Some(KeyValue::String(value)) = keyspace.keys.get(&set.key).map(|key| &key.value) {
        return set.access == Access::Set && case.words(set.command_sent).contains(value);
    }
    let now = entries(keyspace, &set.key);
    added(case, set).is_some_and(|(_, own)| own.iter().all(|entry| now.contains(entry)))
}

/// The entries that a command added to a collection, and the event in which they were first seen.
fn added<'a>(case: &Case<'a>, set: &Effect) -> Option<(usize, BTreeSet<&'a str>)> {
    let before = case.keyspace_at(&set.server, set.sent).map(|before| entries(before, &set.key));
    let before = before.unwrap_or_default();
    let (seen, after) = observations(case, &set.server, set.replied).next()?;
    let own: BTreeSet<&str> = entries(after, &set.key).difference(&before).copied().collect();
    (!own.is_empty()).then_some((seen, own))
}

/// The observed contents of a Redis server, from an event on.
fn observations<'a, 'n>(
    case: &Case<'a>,
    name: &'n str,
    from: usize,
) -> impl Iterator<Item = (usize, &'a Keyspace)> + use<'a, 'n> {
    let later = case.events.iter().enumerate().skip(from);
    later.filter_map(move |(n, event)| Some((n, keyspace(event, name)?)))
}

/// The entries of a collection by their identity: a field, a member.
fn entries<'k>(keyspace: &'k Keyspace, key: &str) -> BTreeSet<&'k str> {
    let Some(key) = keyspace.keys.get(key) else { return BTreeSet::new() };
    match &key.value {
        KeyValue::Hash(fields) => fields.keys().map(String::as_str).collect(),
        KeyValue::List(all) | KeyValue::Set(all) => all.iter().map(String::as_str).collect(),
        KeyValue::SortedSet(members) => members.iter().map(|(member, _)| member.as_str()).collect(),
        KeyValue::Stream(all) => all.iter().map(|(id, _)| id.as_str()).collect(),
        KeyValue::String(_) | KeyValue::Other(_) => BTreeSet::new(),
    }
}
