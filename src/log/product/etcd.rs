//! etcd: its calls, its keys and the leases that they are attached to.

use std::{collections::BTreeMap, fmt, slice};

use serde::{Deserialize, Serialize};

use super::{Access, Command, Role, Traits, text::Quoted};
use crate::text::{Text, both};

pub(crate) const TRAITS: Traits = Traits {
    name: "etcd",
    key: "etcd",
    calls: &[
        "before PREFIX REVISION",
        "create KEY VALUE [LEASE]",
        "delete KEY",
        "get KEY",
        "grant SECONDS [LEASE]",
        "keepalive LEASE",
        "ls PREFIX",
        "put KEY VALUE [LEASE]",
        "put-if KEY REVISION OTHER VALUE",
        "revoke LEASE",
        "watch KEY REVISION",
    ],
    housekeeping: &[],
    command: |name, _, operands| EtcdCall::new(name, operands).map(Command::Etcd),
    check: check_lease,
    releases: |call| matches!(call.split_whitespace().next(), Some("delete" | "revoke")),
    refuses_at_once: true,
};

/// The shortest lease, in seconds, that etcd grants as requested: it checks for expired leases every half second.
const SHORTEST_LEASE: i64 = 2;

/// Returns an error for a lease that etcd would not grant as requested.
fn check_lease(call: &str) -> Result<(), Text> {
    let mut words = call.split_whitespace();
    let seconds = words.next().filter(|name| *name == "grant").and(words.next());
    match seconds.and_then(|seconds| seconds.parse::<i64>().ok()) {
        Some(seconds) if seconds < SHORTEST_LEASE => Err(both!(
            "a lease of {seconds} s is too short: etcd grants {SHORTEST_LEASE} s or more",
            "{seconds} 秒的租约太短：etcd 至少给 {SHORTEST_LEASE} 秒"
        )),
        _ => Ok(()),
    }
}

/// A request. Leases are named by their number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EtcdCall {
    /// Grants a lease of so many seconds; the server chooses its number unless one is given.
    Grant {
        seconds: i64,
        lease: Option<i64>,
    },
    Keepalive {
        lease: i64,
    },
    /// Ends a lease, and deletes its keys.
    Revoke {
        lease: i64,
    },
    Put {
        key: String,
        value: String,
        lease: Option<i64>,
    },
    /// A transaction: puts the key if it does not exist.
    Create {
        key: String,
        value: String,
        lease: Option<i64>,
    },
    /// A transaction: puts `other` if `key` still has this create revision.
    PutIf {
        key: String,
        revision: i64,
        other: String,
        value: String,
    },
    Get {
        key: String,
    },
    /// Lists all keys with the prefix, in the order of their creation.
    Ls {
        prefix: String,
    },
    /// Of the keys with the prefix, the last one created before this revision.
    Before {
        prefix: String,
        revision: i64,
    },
    Delete {
        key: String,
    },
    /// Waits until the key is deleted, or its lease ends, after this revision.
    Watch {
        key: String,
        revision: i64,
    },
}

impl EtcdCall {
    fn new(name: &str, operands: Vec<String>) -> Result<Self, String> {
        let mut operands = operands.into_iter();
        let number = |text: String| -> Result<i64, String> {
            text.parse().map_err(|_| format!("`{text}` is no number: `{name}` needs one there"))
        };
        let given = operands.len();
        let mut text = || operands.next().unwrap_or_default();
        let optional = |text: String, place| if given >= place { number(text).map(Some) } else { Ok(None) };
        Ok(match name {
            "grant" => Self::Grant { seconds: number(text())?, lease: optional(text(), 2)? },
            "keepalive" => Self::Keepalive { lease: number(text())? },
            "revoke" => Self::Revoke { lease: number(text())? },
            "put" => Self::Put { key: text(), value: text(), lease: optional(text(), 3)? },
            "create" => Self::Create { key: text(), value: text(), lease: optional(text(), 3)? },
            "put-if" => Self::PutIf { key: text(), revision: number(text())?, other: text(), value: text() },
            "get" => Self::Get { key: text() },
            "ls" => Self::Ls { prefix: text() },
            "before" => Self::Before { prefix: text(), revision: number(text())? },
            "delete" => Self::Delete { key: text() },
            "watch" => Self::Watch { key: text(), revision: number(text())? },
            other => return Err(format!("`{other}` is not an etcd call")),
        })
    }

    pub(super) fn access(&self) -> Option<(&str, Access, bool)> {
        let (key, access) = match self {
            Self::Grant { .. } | Self::Keepalive { .. } | Self::Revoke { .. } => return None,
            Self::Put { key, .. } | Self::Create { key, .. } => (key, Access::Set),
            Self::PutIf { other, .. } => (other, Access::Changed),
            Self::Get { key } | Self::Watch { key, .. } => (key, Access::Read),
            Self::Ls { prefix } | Self::Before { prefix, .. } => (prefix, Access::Read),
            Self::Delete { key } => (key, Access::Deleted),
        };
        Some((key, access, false))
    }

    /// The lease whose time it starts anew.
    pub(super) fn renews(&self) -> Option<i64> {
        if let Self::Keepalive { lease } = self { Some(*lease) } else { None }
    }

    /// A lease, which identifies the client to which it was granted.
    pub(super) fn leaves(&self) -> Option<(&'static str, bool)> {
        match self {
            Self::Grant { .. } => Some(("lease", true)),
            Self::Revoke { .. } => Some(("lease", false)),
            _ => None,
        }
    }

    /// The key and its value, if it has them.
    pub(super) fn words(&self) -> (&[String], &[String]) {
        match self {
            Self::Grant { .. } | Self::Keepalive { .. } | Self::Revoke { .. } => (&[], &[]),
            Self::Put { key, value, .. } | Self::Create { key, value, .. } => {
                (slice::from_ref(key), slice::from_ref(value))
            }
            Self::PutIf { other, value, .. } => (slice::from_ref(other), slice::from_ref(value)),
            Self::Get { key }
            | Self::Ls { prefix: key }
            | Self::Before { prefix: key, .. }
            | Self::Delete { key }
            | Self::Watch { key, .. } => (slice::from_ref(key), &[]),
        }
    }

    /// The call's name and key.
    pub(super) fn brief(&self) -> String {
        self.to_string().split(' ').take(2).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for EtcdCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |lease: &Option<i64>| lease.map_or_else(String::new, |lease| format!(" {lease}"));
        match self {
            Self::Grant { seconds, lease } => write!(f, "grant {seconds}{}", on(lease)),
            Self::Keepalive { lease } => write!(f, "keepalive {lease}"),
            Self::Revoke { lease } => write!(f, "revoke {lease}"),
            Self::Put { key, value, lease } => {
                write!(f, "put {} {}{}", Quoted(key), Quoted(value), on(lease))
            }
            Self::Create { key, value, lease } => {
                write!(f, "create {} {}{}", Quoted(key), Quoted(value), on(lease))
            }
            Self::PutIf { key, revision, other, value } => {
                write!(f, "put-if {} {revision} {} {}", Quoted(key), Quoted(other), Quoted(value))
            }
            Self::Get { key } => write!(f, "get {}", Quoted(key)),
            Self::Ls { prefix } => write!(f, "ls {}", Quoted(prefix)),
            Self::Before { prefix, revision } => write!(f, "before {} {revision}", Quoted(prefix)),
            Self::Delete { key } => write!(f, "delete {}", Quoted(key)),
            Self::Watch { key, revision } => write!(f, "watch {} {revision}", Quoted(key)),
        }
    }
}

/// All keys of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EtcdKeys {
    pub keys: BTreeMap<String, EtcdKey>,
    /// What the server reports of itself in its cluster; `None` without a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<EtcdMember>,
}

/// A cluster member's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EtcdMember {
    pub role: Role,
    /// The latest revision of the store that it knows.
    pub revision: i64,
    /// The term of its leader: the number of the election.
    pub term: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EtcdKey {
    pub value: String,
    /// The store's revision that created it. The revision grows with every change in the store.
    pub create_revision: i64,
    /// The store's revision of its last change.
    pub mod_revision: i64,
    /// The lease that it is attached to.
    pub lease: Option<i64>,
}

impl EtcdKeys {
    /// The lease of the oldest of the sibling keys that are attached to leases, by their parent: `lock/a` and `lock/b`
    /// queue for `lock`.
    pub(super) fn owned(&self) -> BTreeMap<String, i64> {
        self.first(|state| state.lease)
    }

    /// The value of the oldest of the sibling keys without a lease, by their parent.
    pub(super) fn unowned(&self) -> BTreeMap<String, &str> {
        self.first(|state| state.lease.is_none().then_some(state.value.as_str()))
    }

    fn first<'a, T>(&'a self, of: impl Fn(&'a EtcdKey) -> Option<T>) -> BTreeMap<String, T> {
        let mut first: BTreeMap<&str, (i64, T)> = BTreeMap::new();
        for (key, state) in &self.keys {
            let Some(of) = of(state) else { continue };
            let lock = key.rsplit_once('/').map_or(key.as_str(), |(lock, _)| lock);
            if first.get(lock).is_none_or(|(revision, _)| state.create_revision < *revision) {
                first.insert(lock, (state.create_revision, of));
            }
        }
        first.into_iter().map(|(lock, (_, of))| (lock.to_owned(), of)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{EtcdCall, EtcdKey, EtcdKeys};

    #[test]
    fn calls_are_written_as_they_are_read() {
        for text in [
            "grant 5",
            "grant 5 7",
            "put stock 1",
            "create lock A 7",
            "put-if lock 3 stock 0",
            "before lock/ 9",
            "watch lock/a 12",
        ] {
            let mut words = text.split(' ').map(str::to_owned);
            let name = words.next().unwrap_or_default();
            assert_eq!(
                EtcdCall::new(&name, words.collect()).map(|call| call.to_string()),
                Ok(text.to_owned())
            );
        }
        assert!(EtcdCall::new("keepalive", vec!["none".to_owned()]).is_err());
    }

    #[test]
    fn the_first_key_on_a_lease_has_the_lock() {
        let key = |create_revision, lease| EtcdKey { create_revision, lease, ..EtcdKey::default() };
        let keys = [
            ("lock/b", key(3, Some(8))),
            ("lock/a", key(5, Some(7))),
            ("stock", key(1, None)),
            ("one", key(9, Some(7))),
        ];
        let keys = keys.map(|(name, key)| (name.to_owned(), key)).into();
        let keys = EtcdKeys { keys, member: None };
        assert_eq!(keys.owned(), [("lock".to_owned(), 8), ("one".to_owned(), 7)].into());
    }

    #[test]
    fn of_several_keys_the_first_has_the_lock() {
        let key = |value: &str, create_revision, lease| EtcdKey {
            value: value.to_owned(),
            create_revision,
            mod_revision: create_revision,
            lease,
        };
        let keys = [
            ("lock/a", key("A", 5, None)),
            ("lock/b", key("B", 3, None)),
            ("lock/c", key("C", 4, Some(7))),
            ("lock/d", key("D", 6, Some(8))),
        ];
        let keys = keys.into_iter().map(|(name, key)| (name.to_owned(), key)).collect();
        let store = EtcdKeys { keys, ..EtcdKeys::default() };
        assert_eq!(store.owned(), [("lock".to_owned(), 7)].into());
        assert_eq!(store.unowned(), [("lock".to_owned(), "B")].into());
    }
}
