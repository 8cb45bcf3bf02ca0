//! Redis: how long its commands wait, and its keys.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::Traits;
use crate::clock::LessonTime;

pub(crate) const TRAITS: Traits = Traits {
    name: "Redis",
    key: "redis",
    calls: &[],
    housekeeping: &[
        "HELLO",
        "AUTH",
        "CLIENT",
        "PING",
        "SELECT",
        "COMMAND",
        "INFO",
        "ECHO",
        "QUIT",
        "READONLY",
        "RESET",
        "SCRIPT LOAD",
        "SCRIPT EXISTS",
    ],
    command: |name, _, _| Err(format!("`{name}` is no call")),
    check: |_| Ok(()),
    releases: |_| false,
    refuses_at_once: true,
};

/// The parameters that `CONFIG SET` may change: how the server stores, evicts, persists and replicates, and what it
/// notifies.
pub(crate) const SETTABLE: &str = "
    active-defrag-cycle-max active-defrag-cycle-min active-expire-effort activedefrag activerehashing aof-load-truncated
    aof-use-rdb-preamble appendfsync appendonly busy-reply-threshold dynamic-hz hash-max-listpack-entries
    hash-max-listpack-value hash-max-ziplist-entries hash-max-ziplist-value hll-sparse-max-bytes hz
    latency-monitor-threshold latency-tracking latency-tracking-info-percentiles lazyfree-lazy-eviction
    lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del lazyfree-lazy-user-flush lfu-decay-time
    lfu-log-factor list-compress-depth list-max-listpack-size list-max-ziplist-size lua-time-limit maxmemory
    maxmemory-eviction-tenacity maxmemory-policy maxmemory-samples min-replicas-max-lag min-replicas-to-write
    min-slaves-max-lag min-slaves-to-write no-appendfsync-on-rewrite notify-keyspace-events repl-backlog-size
    repl-backlog-ttl repl-ping-replica-period repl-ping-slave-period repl-timeout replica-ignore-maxmemory
    replica-lazy-flush replica-priority replica-read-only replica-serve-stale-data set-max-intset-entries
    set-max-listpack-entries set-max-listpack-value slave-ignore-maxmemory slave-lazy-flush slave-priority
    slave-read-only slave-serve-stale-data slowlog-log-slower-than slowlog-max-len stop-writes-on-bgsave-error
    stream-node-max-bytes stream-node-max-entries timeout zset-max-listpack-entries zset-max-listpack-value
    zset-max-ziplist-entries zset-max-ziplist-value
";

/// Whether `CONFIG SET` may change this parameter, written in small letters. With others, the server would listen on a
/// port, start processes, write elsewhere or lock the lab out.
pub(crate) fn is_settable(parameter: &str) -> bool {
    SETTABLE.split_ascii_whitespace().any(|settable| settable == parameter)
}

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

/// The number of slots that the keys of a cluster are spread over.
pub const SLOTS: u16 = 16384;

/// The slot of a key, computed from its hash tag if it has one: the text between the first `{` and the first `}` after
/// it, if not empty ("Redis cluster specification", hash tags).
pub fn slot(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    let hashed = tag.filter(|tag| !tag.is_empty()).unwrap_or(key);
    // CRC-16/XMODEM.
    let step = |crc: u16, byte: &u8| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
        })
    };
    hashed.as_bytes().iter().fold(0, step) % SLOTS
}

/// Commands that name no key.
const KEYLESS: &str = "ASKING CLIENT CLUSTER COMMAND CONFIG ECHO FLUSHALL FLUSHDB FUNCTION HELLO INFO KEYS LATENCY LOLWUT \
    PING PSUBSCRIBE PUBLISH PUBSUB SCAN SCRIPT SELECT SLOWLOG SUBSCRIBE SWAPDB WAIT WAITAOF";

/// The first key of a command, as far as a cluster client must know it to find the node: after a wrong guess the node
/// redirects the client.
pub(super) fn first_key(words: &[String]) -> Option<&str> {
    let name = words.first()?.to_ascii_uppercase();
    let place = match name.as_str() {
        keyless if KEYLESS.split_ascii_whitespace().any(|known| known == keyless) => return None,
        "EVAL" | "EVALSHA" | "EVAL_RO" | "EVALSHA_RO" | "FCALL" | "FCALL_RO" => 3,
        "BITOP" | "MEMORY" | "OBJECT" | "XGROUP" | "XINFO" => 2,
        "XREAD" | "XREADGROUP" => words.iter().position(|word| word.eq_ignore_ascii_case("STREAMS"))? + 1,
        _ => 1,
    };
    words.get(place).map(String::as_str)
}

/// What a cluster node reports of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterNode {
    /// The slots that it serves: first and last of each range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<(u16, u16)>,
    /// The epoch of its slots; for a replica, that of its master's slots.
    pub config_epoch: u64,
    /// The greatest epoch that it knows of.
    pub current_epoch: u64,
    /// Whether it accepts writes: not while it can reach too few masters.
    pub ok: bool,
}

impl ClusterNode {
    /// Parses the replies of `CLUSTER NODES` and `CLUSTER INFO`.
    pub(crate) fn read(nodes: &str, info: &str) -> Option<Self> {
        let field = |name: &str| info.lines().find_map(|line| line.trim().strip_prefix(name));
        let mut words = nodes.lines().find(|line| line.contains("myself"))?.split_ascii_whitespace();
        let config_epoch = words.nth(6)?.parse().ok()?;
        // A slot that is being migrated stands in brackets and is left out.
        let slots = words.skip(1).filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some((first.parse().ok()?, last.parse().ok()?))
        });
        Some(Self {
            slots: slots.collect(),
            config_epoch,
            current_epoch: field("cluster_current_epoch:")?.parse().ok()?,
            ok: field("cluster_state:")? == "ok",
        })
    }
}

/// The keys of a Redis server, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Keyspace {
    pub keys: BTreeMap<String, KeyState>,
    /// Whether it is a master or a replica, if the lab has several servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// What it reports of its cluster, if it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterNode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Master,
    Replica {
        of: String,
    },
    /// Leader of an ensemble: it orders the writes.
    Leader,
    Follower,
    /// Without a leader: it serves no client.
    Looking,
}

impl Role {
    /// Whether writes go through it.
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
    /// The lesson time at which its TTL ends (`PEXPIRETIME`, converted to lesson time), or `None` if the key does not
    /// expire.
    pub expires_at: Option<LessonTime>,
}

impl KeyState {
    /// Whether it has expired. In the millisecond in which its TTL ends a server still has it (`keyIsExpired` in Redis'
    /// `db.c`).
    pub fn is_expired(&self, now: LessonTime) -> bool {
        self.expires_at.is_some_and(|end| now > end)
    }
}

impl KeyValue {
    /// The text of a plain string.
    pub fn text(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }
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
    /// A type that Lockstep does not show, by the name that `TYPE` returns.
    Other(String),
}

impl KeyValue {
    /// The holders, if the key is a lock, and the reentrancy count of each, if it has one: the value of a string; the
    /// fields of a hash and their values, as in Redisson's locks, where readers share a hash.
    pub fn holders(&self) -> Vec<(&str, Option<&str>)> {
        match self {
            Self::String(value) => vec![(value, None)],
            Self::Hash(fields) => {
                let holders = fields.iter().filter(|(field, _)| *field != "mode");
                holders.map(|(field, count)| (field.as_str(), Some(count.as_str()))).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holders_of_a_hash_are_its_fields_and_their_values_how_often() {
        let hash = |fields: &[(&str, &str)]| {
            KeyValue::Hash(fields.iter().map(|(field, value)| ((*field).into(), (*value).into())).collect())
        };
        assert_eq!(hash(&[("A:1", "2")]).holders(), [("A:1", Some("2"))]);
        let shared = hash(&[("mode", "r"), ("r:A", "1"), ("r:B", "1")]);
        assert_eq!(shared.holders(), [("r:A", Some("1")), ("r:B", Some("1"))]);
        assert!(hash(&[]).holders().is_empty() && KeyValue::List(Vec::new()).holders().is_empty());
        assert_eq!(KeyValue::String("A-1".into()).holders(), [("A-1", None)]);
    }

    #[test]
    fn a_key_has_the_slot_of_its_tag() {
        // From the cluster specification, and `redis-cli CLUSTER KEYSLOT`.
        assert_eq!([slot("123456789"), slot("lock"), slot("")], [12739, 8718, 0]);
        assert_eq!(slot("{user1000}.following"), slot("user1000"));
        assert_eq!(slot("foo{}{bar}"), slot("foo{}{bar}"));
        assert_ne!(slot("foo{}{bar}"), slot("bar"), "an empty tag is none");
        assert_eq!(slot("foo{{bar}}zap"), slot("{bar"));
    }

    #[test]
    fn the_key_of_a_command_is_found() {
        let key = |command: &str| {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            first_key(&words).map(str::to_owned)
        };
        assert_eq!(key("set lock A NX").as_deref(), Some("lock"));
        assert_eq!(key("EVAL return 1 lock").as_deref(), Some("lock"));
        assert_eq!(key("XREAD COUNT 1 STREAMS s 0").as_deref(), Some("s"));
        assert_eq!((key("INFO replication"), key("TIME")), (None, None));
    }

    #[test]
    fn a_node_tells_its_slots_and_epochs() {
        let nodes = "07c3 127.0.0.1:30004@31004,node4 slave e7d1 0 1426238317239 4 connected\n\
            e7d1 127.0.0.1:30001@31001 myself,master - 0 0 1 connected 0-5460 5462 [5461->-07c3]\n";
        let info = "cluster_state:ok\r\ncluster_current_epoch:6\r\n";
        let read = ClusterNode::read(nodes, info).expect("a node");
        assert_eq!(
            (read.slots, read.config_epoch, read.current_epoch),
            (vec![(0, 5460), (5462, 5462)], 1, 6)
        );
        assert!(read.ok);
    }
}
