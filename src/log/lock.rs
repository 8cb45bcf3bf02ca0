//! What a lesson says of its locks: what they are called, how many may hold one.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// Stands for any text in a name of several locks: `segment …`.
pub const ANY: char = '…';

/// Whether a name stands for every lock there is.
pub fn is_any(name: &str) -> bool {
    name.strip_prefix(ANY) == Some("")
}

/// What goes for a lock, or for all whose name begins and ends alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockInfo {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text>,
    pub limit: Limit,
}

/// How many may hold a lock at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// So many: one of a mutex, more of a semaphore.
    Holders(usize),
    /// Of a read-write lock: one alone, or any number of those who share it.
    ReadWrite,
}

impl Default for Limit {
    fn default() -> Self {
        Self::Holders(1)
    }
}

/// More holders at one time than a lock may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excess {
    pub limit: Limit,
    /// How many hold it, those who share it included.
    pub holders: usize,
    /// How many of them share it.
    pub shared: usize,
}

/// Whether a lock is one of those that a name stands for.
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
