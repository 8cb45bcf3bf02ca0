//! What a lesson declares about its locks and counters: their titles, and how many actors may hold a lock.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// Matches any text in a name of several locks: `segment …`.
pub const ANY: char = '…';

/// Whether a name matches every lock.
pub fn is_any(name: &str) -> bool {
    name.strip_prefix(ANY) == Some("")
}

/// The declaration of one lock, or of all locks that match a name with `…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockInfo {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    pub limit: Capacity,
}

impl LockInfo {
    /// What is known of a lock by its name or a pattern of names.
    pub fn named<'a>(known: &'a [Self], lock: &str) -> Option<&'a Self> {
        known.iter().find(|known| stands_for(&known.name, lock))
    }
}

/// The title of a counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterInfo {
    pub name: String,
    pub title: Text,
}

/// How many actors may hold a lock at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    /// At most this many: 1 for a mutex, more for a semaphore.
    Holders(usize),
    /// For a read-write lock: one exclusive holder, or any number of sharing ones.
    ReadWrite,
}

impl Default for Capacity {
    fn default() -> Self {
        Self::Holders(1)
    }
}

/// More holders at a time than a lock allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excess {
    pub limit: Capacity,
    /// The number of holders, sharing ones included.
    pub holders: usize,
    /// The number of those that share it.
    pub shared: usize,
}

/// Whether `lock` is one of the locks that `name` matches.
pub fn stands_for(name: &str, lock: &str) -> bool {
    let Some((first, rest)) = name.split_once(ANY) else { return name == lock };
    let Some(mut left) = lock.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once(ANY).unwrap_or(("", rest));
    for part in middle.split(ANY) {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::stands_for;

    #[test]
    fn a_name_with_a_gap_stands_for_every_lock_that_fills_it() {
        for (name, lock, meant) in [
            ("lock", "lock", true),
            ("lock", "lock 1", false),
            ("segment …", "segment 12", true),
            ("segment …", "segment …", true),
            ("segment …", "row 12", false),
            ("…", "anything", true),
            ("row … of …", "row 1 of good", true),
            ("row … of …", "row 1 in good", false),
            ("a…a", "a", false),
        ] {
            assert_eq!(stands_for(name, lock), meant, "{name} and {lock}");
        }
    }
}
