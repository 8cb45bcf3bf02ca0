//! What a server was seen to hold: the truth that clients' beliefs are compared with. Plain data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::LessonTime;

/// The state of one server at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerState {
    /// The server's name in the lab, `redis` or `zookeeper`.
    pub server: String,
    pub observed: Observed,
}

/// The state of a server, by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    /// The keys of a Redis server.
    Redis(Keyspace),
    /// The znodes of a ZooKeeper server.
    Zookeeper(ZnodeTree),
}

impl Observed {
    pub fn role(&self) -> Option<&Role> {
        match self {
            Self::Redis(space) => space.role.as_ref(),
            Self::Zookeeper(_) => None,
        }
    }
}

/// The keys of a Redis server, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Keyspace {
    /// Key name to value and expiry.
    pub keys: BTreeMap<String, KeyState>,
    /// Whether it is a master or a replica, where the lab has several servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

/// What a Redis server says that it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Master,
    /// It follows another server.
    Replica {
        /// The server that it follows.
        of: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyState {
    pub value: KeyValue,
    /// The lesson time at which its TTL ends (`PEXPIRETIME`, moved to lesson time), or `None` where it has
    /// none: such a key lives for ever.
    pub expires_at: Option<LessonTime>,
}

/// A Redis value, by type.
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
    /// A type that Lockstep does not show, by the name that `TYPE` gives.
    Other(String),
}

/// The znodes of a ZooKeeper server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ZnodeTree {
    /// Path to node, parents before children. The server's own `/zookeeper` is left out.
    pub nodes: BTreeMap<String, Znode>,
    /// Paths that do not exist and are watched all the same, with the sessions that watch them.
    pub watched_absent: BTreeMap<String, Vec<i64>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Znode {
    /// Its data, as text.
    pub data: String,
    /// `ephemeralOwner`: the session that owns it, `None` for a persistent node.
    pub owner: Option<i64>,
    /// `czxid`: the transaction that created it. It only grows, so it can serve as a fencing token.
    /// Zero where it was not read (ephemeral nodes of a crowd).
    pub czxid: i64,
    /// `dataVersion`.
    pub version: i32,
    /// The sessions that watch this path, as the server's `wchp` lists them.
    pub watchers: Vec<i64>,
}
