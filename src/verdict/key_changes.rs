//! What happened to a key between two observations of its server. Pure.

use crate::{
    clock::LessonTime,
    log::{Entry, KeyState, KeyValue},
    world::effect::Access,
};

/// The accesses that explain the difference between two observations of one key, in the order in which they must have
/// happened. `before` is the time of the second: a key whose TTL had ended by then was not deleted by a client.
pub(super) fn accesses(old: Option<Entry<'_>>, new: Option<Entry<'_>>, before: LessonTime) -> Vec<Access> {
    let old = old.filter(|entry| !matches!(entry, Entry::Key(key) if key.is_expired(before)));
    match (old, new) {
        (None, Some(_)) => vec![Access::Set],
        (Some(_), None) => vec![Access::Deleted],
        (Some(Entry::Key(old)), Some(Entry::Key(new))) => of_key(old, new),
        (Some(Entry::Pair(old)), Some(Entry::Pair(new))) if old.create_revision != new.create_revision => {
            vec![Access::Deleted, Access::Set]
        }
        (Some(Entry::Pair(old)), Some(Entry::Pair(new))) if old.mod_revision != new.mod_revision => {
            vec![Access::Set]
        }
        (Some(Entry::Node(old)), Some(Entry::Node(new))) if old.czxid != new.czxid => {
            vec![Access::Deleted, Access::Set]
        }
        // Who changes a node's data or a row does not become its creator.
        (None, None) | (Some(_), Some(_)) => Vec::new(),
    }
}

fn of_key(old: &KeyState, new: &KeyState) -> Vec<Access> {
    let is_replaced = matches!(new.value, KeyValue::String(_)) && old.value != new.value;
    let renewed = (!is_replaced && old.expires_at != new.expires_at).then_some(Access::Expiry);
    let put = (!is_part(&new.value, &old.value)).then_some(Access::Set);
    renewed.into_iter().chain(put).collect()
}

/// Whether a value has nothing that another one did not have.
fn is_part(new: &KeyValue, old: &KeyValue) -> bool {
    fn all<T: PartialEq>(new: &[T], old: &[T]) -> bool {
        new.len() <= old.len() && new.iter().all(|member| old.contains(member))
    }
    match (new, old) {
        (KeyValue::Hash(new), KeyValue::Hash(old)) => {
            new.iter().all(|(field, value)| old.get(field) == Some(value))
        }
        (KeyValue::List(new), KeyValue::List(old)) | (KeyValue::Set(new), KeyValue::Set(old)) => {
            all(new, old)
        }
        (KeyValue::SortedSet(new), KeyValue::SortedSet(old)) => all(new, old),
        (KeyValue::Stream(new), KeyValue::Stream(old)) => all(new, old),
        (new, old) => new == old,
    }
}
