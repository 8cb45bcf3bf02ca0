//! Redis: how long its commands wait, and its keys.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::Traits;
use crate::clock::LessonTime;

pub(crate) const TRAITS: Traits = Traits {
    name: "Redis",
    key: "redis",
    calls: &[],
    command: |name, _, _| Err(format!("`{name}` is no call")),
    check: |_| Ok(()),
    releases: |_| false,
    refuses_at_once: true,
};

pub(super) fn waits(words: &[String]) -> Duration {
    let number = |word: Option<&String>| word.and_then(|word| word.parse::<f64>().ok());
    let command = words.first().map(|name| name.to_ascii_uppercase());
    // The names and arguments are those of the Redis command reference.
    let seconds = match command.as_deref().unwrap_or_default() {
        "BLPOP" | "BRPOP" | "BRPOPLPUSH" | "BLMOVE" | "BZPOPMIN" | "BZPOPMAX" => number(words.last()),
        "BLMPOP" | "BZMPOP" => number(words.get(1)),
        "WAIT" => number(words.get(2)).map(|millis| millis / 1000.0),
        "WAITAOF" => number(words.get(3)).map(|millis| millis / 1000.0),
        "XREAD" | "XREADGROUP" => {
            let block = words.iter().position(|word| word.eq_ignore_ascii_case("BLOCK"));
            number(block.and_then(|at| words.get(at + 1))).map(|millis| millis / 1000.0)
        }
        _ => None,
    };
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or_default()
}

/// The keys of a Redis server, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Keyspace {
    pub keys: BTreeMap<String, KeyState>,
    /// Whether it is a master or a replica, where the lab has several servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Master,
    Replica {
        of: String,
    },
    /// Of an ensemble: it orders what is written.
    Leader,
    Follower,
    /// Of an ensemble without a leader: it serves nobody.
    Looking,
}

impl Role {
    /// Whether what is written goes through it.
    pub fn leads(&self) -> bool {
        matches!(self, Self::Master | Self::Leader)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Replica { .. } => "replica",
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Looking => "looking",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyState {
    pub value: KeyValue,
    /// The lesson time at which its TTL ends (`PEXPIRETIME`, moved to lesson time), or `None` where it has
    /// none: such a key lives for ever.
    pub expires_at: Option<LessonTime>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyValue {
    String(String),
    /// `hash`, field to value.
    Hash(BTreeMap<String, String>),
    /// `list`, head first.
    List(Vec<String>),
    /// `set`, sorted.
    Set(Vec<String>),
    /// `zset`, lowest score first: member and score as Redis writes it.
    SortedSet(Vec<(String, String)>),
    /// `stream`, oldest entry first: its id and its fields.
    Stream(Vec<(String, BTreeMap<String, String>)>),
    /// A type that Lockstep does not show, by the name that `TYPE` gives.
    Other(String),
}

impl KeyValue {
    /// Whose it is, where it is a lock, and how often, where it is counted: the value of a string; the field of a hash and
    /// its value, as Redisson's locks have it.
    pub fn holder(&self) -> Option<(&str, Option<&str>)> {
        match self {
            Self::String(value) => Some((value, None)),
            Self::Hash(fields) => {
                let mut holders = fields.iter().filter(|(field, _)| *field != "mode");
                holders.next().map(|(field, count)| (field.as_str(), Some(count.as_str())))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KeyValue;

    #[test]
    fn the_holder_of_a_hash_is_a_field_and_its_value_how_often() {
        let hash = |fields: &[(&str, &str)]| {
            KeyValue::Hash(fields.iter().map(|(field, value)| ((*field).into(), (*value).into())).collect())
        };
        assert_eq!(hash(&[("A:1", "2")]).holder(), Some(("A:1", Some("2"))));
        assert_eq!(hash(&[("mode", "r"), ("r:A", "1")]).holder(), Some(("r:A", Some("1"))));
        assert_eq!((hash(&[]).holder(), KeyValue::List(Vec::new()).holder()), (None, None));
        assert_eq!(KeyValue::String("A-1".into()).holder(), Some(("A-1", None)));
    }
}
