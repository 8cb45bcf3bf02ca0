//! What happened to a key between two observations of its server. Pure.

use crate::{
    log::{Entry, KeyState, KeyValue},
    world::effect::Access,
};

/// The accesses that explain the difference between two observations of one key, in the order in which they must have
/// happened. A key whose TTL has ended since the first must not be among them: nobody deleted it.
pub(super) fn accesses(old: Option<Entry<'_>>, new: Option<Entry<'_>>) -> Vec<Access> {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::accesses;
    use crate::{
        clock::LessonTime,
        log::{Entry, KeyState, KeyValue},
        world::effect::Access::{Deleted, Expiry, Set},
    };

    fn key(value: KeyValue, ends: Option<i64>) -> KeyState {
        KeyState { value, expires_at: ends.map(LessonTime::from_millis) }
    }

    fn text(text: &str) -> KeyValue {
        KeyValue::String(text.to_owned())
    }

    fn hash(fields: &[(&str, &str)]) -> KeyValue {
        let fields = fields.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned()));
        KeyValue::Hash(fields.collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn a_difference_says_what_was_done_to_a_key() {
        let list = |items: &[&str]| KeyValue::List(items.iter().map(ToString::to_string).collect());
        let cases = [
            (None, Some(key(text("A"), None)), vec![Set]),
            (Some(key(text("A"), None)), None, vec![Deleted]),
            (Some(key(text("A"), Some(1))), Some(key(text("A"), Some(1))), vec![]),
            (Some(key(text("A"), None)), Some(key(text("A"), Some(1))), vec![Expiry]),
            // Who replaces a text with its expiry renews nothing.
            (Some(key(text("A"), Some(1))), Some(key(text("B"), Some(2))), vec![Set]),
            (
                Some(key(hash(&[("A", "1")]), Some(1))),
                Some(key(hash(&[("A", "2")]), Some(2))),
                vec![Expiry, Set],
            ),
            // Who takes something out does not own the rest.
            (Some(key(hash(&[("A", "1"), ("B", "1")]), None)), Some(key(hash(&[("A", "1")]), None)), vec![]),
            (Some(key(list(&["a", "b"]), None)), Some(key(list(&["b"]), None)), vec![]),
            (Some(key(list(&["a"]), None)), Some(key(list(&["a", "a"]), None)), vec![Set]),
            (Some(key(list(&["a"]), None)), Some(key(text("a"), None)), vec![Set]),
        ];
        for (old, new, done) in cases {
            let found = accesses(old.as_ref().map(Entry::Key), new.as_ref().map(Entry::Key));
            assert_eq!(found, done, "{old:?} → {new:?}");
        }
    }
}
