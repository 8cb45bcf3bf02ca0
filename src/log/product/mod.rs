//! The products of servers in labs: their commands and their contents, as data. Each product has a file; what is common
//! to all of them is here.

pub(crate) mod etcd;
pub(crate) mod files;
pub(crate) mod mariadb;
pub(crate) mod redis;
pub(crate) mod sentinel;
pub(crate) mod text;
pub(crate) mod zookeeper;

use std::{borrow::Cow, collections::BTreeMap, fmt, slice, time::Duration};

use serde::{Deserialize, Serialize};

use crate::text::Text;

use self::{
    etcd::{EtcdCall, EtcdKey, EtcdKeys},
    files::{Flock, LockedFile, LockedFiles},
    mariadb::{Row, Tables},
    redis::{KeyState, Keyspace, Role},
    text::Quoted,
    zookeeper::{Call, Znode, ZnodeTree},
};

/// A server product, and with it its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Product {
    Redis,
    Zookeeper,
    Mariadb,
    Etcd,
}

/// Builds a command from a call's name, flags and operands.
type MakeCommand = fn(&str, &[String], Vec<String>) -> Result<Command, String>;

/// What differs between products.
pub struct Traits {
    /// Its name, as in [`ServerInfo::product`](super::ServerInfo::product).
    pub name: &'static str,
    pub key: &'static str,
    /// The calls that lessons may make, as a manual writes them: `create [-e] PATH [DATA]`. Empty if a call is a text
    /// in a language of its own: then that text is the only operand.
    pub calls: &'static [&'static str],
    /// The commands with which libraries open and keep connections, in upper case. Those of an external program pass
    /// without a move.
    pub housekeeping: &'static [&'static str],
    /// Builds the command of a name, flags and operands that match one of `calls`.
    pub command: MakeCommand,
    /// Returns an error if a lesson may not make a call, by its text before values are filled in.
    pub check: fn(&str) -> Result<(), Text>,
    /// Whether a call, by the same text, may release a lock.
    pub releases: fn(&str) -> bool,
    /// Whether a command over a cut link fails at once. Otherwise the client keeps retrying.
    pub refuses_at_once: bool,
}

impl Product {
    pub const fn traits(self) -> &'static Traits {
        match self {
            Self::Redis => &redis::TRAITS,
            Self::Zookeeper => &zookeeper::TRAITS,
            Self::Mariadb => &mariadb::TRAITS,
            Self::Etcd => &etcd::TRAITS,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    Redis(Vec<String>),
    /// A Lua script, sent as `EVAL`.
    Script {
        name: String,
        keys: Vec<String>,
        args: Vec<String>,
    },
    Zookeeper(Call),
    /// One SQL statement.
    Sql(String),
    Etcd(EtcdCall),
    /// Locks or unlocks a mutex inside the client's process.
    Local {
        lock: bool,
        name: String,
    },
    /// Locks or unlocks a file with `flock(2)`.
    Flock {
        call: Flock,
        path: String,
    },
}

/// How a command accesses a key or a znode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It was read and not changed.
    Read,
    /// It was created, or written regardless of its value: `SET`, `SETNX` that answered 1, `create`.
    Set,
    /// Its value was modified: `DECR`, `APPEND`, znode `set`.
    Changed,
    /// Its expiry was set or removed: `PEXPIRE` that answered 1.
    Expiry,
    Deleted,
}

impl Command {
    /// The product of the server that it is sent to; `None` for a mutex of the process and a lock of a file.
    pub fn product(&self) -> Option<Product> {
        match self {
            Self::Redis(_) | Self::Script { .. } => Some(Product::Redis),
            Self::Zookeeper(_) => Some(Product::Zookeeper),
            Self::Sql(_) => Some(Product::Mariadb),
            Self::Etcd(_) => Some(Product::Etcd),
            Self::Local { .. } | Self::Flock { .. } => None,
        }
    }

    /// The words of a Redis command; empty for other commands.
    pub fn redis_words(&self) -> &[String] {
        match self {
            Self::Redis(words) => words,
            _ => &[],
        }
    }

    pub fn is_redis(&self, name: &str) -> bool {
        self.redis_words().first().is_some_and(|word| word.eq_ignore_ascii_case(name))
    }

    /// How long it asks the server to wait before it answers, by the server's clock; zero for commands that do not wait
    /// or would wait for ever.
    pub fn waits(&self) -> Duration {
        match self {
            Self::Sql(statement) => mariadb::waits(statement),
            _ => redis::waits(self.redis_words()),
        }
    }

    /// The limit that it sets for later waits for rows on its connection.
    pub fn row_wait_limit(&self) -> Option<Duration> {
        match self {
            Self::Sql(statement) => mariadb::row_wait_limit(statement),
            _ => None,
        }
    }

    /// The key whose deletion it waits for.
    pub fn awaits_deletion(&self) -> Option<&str> {
        match self {
            Self::Etcd(EtcdCall::Watch { key, .. }) => Some(key),
            _ => None,
        }
    }

    /// Whether it changes the subscriptions of its connection.
    pub fn listens(&self) -> bool {
        self.redis_words().first().is_some_and(|name| name.to_ascii_uppercase().ends_with("SUBSCRIBE"))
    }

    /// The path on which it sets a watch.
    pub fn watched(&self) -> Option<&str> {
        match self {
            Self::Zookeeper(call) if call.watches() => Some(call.path()),
            _ => None,
        }
    }

    /// The key by which a cluster client finds the node to send it to.
    pub fn first_key(&self) -> Option<&str> {
        match self {
            Self::Redis(words) => redis::first_key(words),
            Self::Script { keys, .. } => keys.first().map(String::as_str),
            Self::Zookeeper(_) | Self::Sql(_) | Self::Etcd(_) | Self::Local { .. } | Self::Flock { .. } => {
                None
            }
        }
    }

    /// The name that it accesses, how, and whether the reply has the name that the server really gave (a sequential
    /// node). `None` for commands without a server, and where the access depends on more than the command (Redis'
    /// commands, scripts).
    pub fn access(&self) -> Option<(&str, Access, bool)> {
        match self {
            Self::Zookeeper(call) => call.access(),
            Self::Etcd(call) => call.access(),
            Self::Redis(_) | Self::Script { .. } | Self::Sql(_) | Self::Local { .. } | Self::Flock { .. } => {
                None
            }
        }
    }

    /// The lease of etcd that it renews, and with it all keys that are attached to it.
    pub(crate) fn renews(&self) -> Option<i64> {
        if let Self::Etcd(call) = self { call.renews() } else { None }
    }

    /// The state that it sets (`true`) or ends (`false`) in its connection or process for later commands, by a name: an
    /// open transaction, a locked mutex.
    pub fn leaves(&self) -> Option<(&str, bool)> {
        match self {
            Self::Redis(_) if self.is_redis("MULTI") || self.is_redis("WATCH") => Some(("MULTI", true)),
            Self::Redis(_) if self.is_redis("EXEC") || self.is_redis("DISCARD") => Some(("MULTI", false)),
            Self::Sql(statement) => mariadb::leaves(statement),
            Self::Local { lock, name } => Some((name, *lock)),
            Self::Flock { call, path } => Some((path, *call != Flock::Unlock)),
            Self::Etcd(call) => call.leaves(),
            Self::Zookeeper(call) => call.leaves(),
            Self::Redis(_) | Self::Script { .. } => None,
        }
    }

    /// Whether it only prepares later commands: opens a transaction, sets a variable, grants a lease.
    pub(crate) fn prepares(&self) -> bool {
        matches!(self.leaves(), Some(("transaction" | "variable" | "lease", true)))
    }

    /// Whether what [`Command::leaves`] names ends with the client's process: it is in the process or its connections, and
    /// not in the server.
    pub(crate) fn leaves_in_client(&self) -> bool {
        !matches!(self, Self::Etcd(_) | Self::Zookeeper(_))
    }

    /// Its arguments after the name: keys, values, options; a path and its data.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        let (first, second): (&[String], &[String]) = match self {
            Self::Redis(words) => (words.get(1..).unwrap_or_default(), &[]),
            Self::Script { keys, args, .. } => (keys, args),
            Self::Zookeeper(call) => (slice::from_ref(call.path()), call.data()),
            Self::Sql(statement) => (slice::from_ref(statement), &[]),
            Self::Etcd(call) => call.words(),
            Self::Local { name, .. } | Self::Flock { path: name, .. } => (slice::from_ref(name), &[]),
        };
        first.iter().chain(second).map(String::as_str)
    }

    /// Whether it mentions a key, or the table of a row.
    pub fn names(&self, name: &str) -> bool {
        match self {
            Self::Sql(statement) => mariadb::names(statement, name),
            _ => self.arguments().any(|word| word == name),
        }
    }

    /// The command in brief, `DECR stock`: its name and its subject.
    pub fn brief(&self) -> String {
        match self {
            Self::Redis(words) => words.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(" "),
            Self::Script { name, .. } => format!("EVAL {name}"),
            Self::Zookeeper(call) => call.brief(),
            Self::Etcd(call) => call.brief(),
            Self::Sql(statement) => mariadb::brief(statement),
            Self::Local { .. } | Self::Flock { .. } => self.to_string(),
        }
    }
}

/// As typed into the product's own client; a script by its name.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |f: &mut fmt::Formatter<'_>, mut words: slice::Iter<'_, String>| {
            words.try_for_each(|word| write!(f, " {}", Quoted(word)))
        };
        match self {
            Self::Redis(words) => {
                let mut words = words.iter();
                if let Some(name) = words.next() {
                    write!(f, "{}", Quoted(name))?;
                }
                quoted(f, words)
            }
            Self::Script { name, keys, args } => {
                write!(f, "EVAL {name} {}", keys.len())?;
                quoted(f, keys.iter())?;
                quoted(f, args.iter())
            }
            Self::Zookeeper(call) => call.fmt(f),
            Self::Etcd(call) => call.fmt(f),
            Self::Sql(statement) => f.write_str(statement),
            Self::Local { lock: true, name } => write!(f, "lock {name}"),
            Self::Local { lock: false, name } => write!(f, "unlock {name}"),
            Self::Flock { call, path } => write!(f, "flock {}{path}", call.option()),
        }
    }
}

/// In JSON a command appears twice: `command` is the data, `wire` its text for people.
pub(crate) mod with_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Command;

    #[derive(Serialize)]
    struct Written<'a> {
        wire: String,
        command: &'a Command,
    }

    #[derive(Deserialize)]
    struct Data {
        command: Command,
    }

    pub(crate) fn serialize<S: Serializer>(command: &Command, serializer: S) -> Result<S::Ok, S::Error> {
        Written { wire: command.to_string(), command }.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Command, D::Error> {
        Data::deserialize(deserializer).map(|data| data.command)
    }
}

/// The state of one server at one moment, with which clients' beliefs are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerState {
    /// The server's name in the lab, `redis` or `zookeeper`.
    pub server: String,
    pub observed: Observed,
}

/// The contents of a server, as observed, by its product.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    Redis(Keyspace),
    Zookeeper(ZnodeTree),
    Mariadb(Tables),
    Etcd(EtcdKeys),
    Files(LockedFiles),
}

/// One named item that a server holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Entry<'a> {
    Key(&'a KeyState),
    Node(&'a Znode),
    Row(&'a Row),
    Pair(&'a EtcdKey),
    File(&'a LockedFile),
}

impl Observed {
    /// All entries, by name.
    pub fn entries(&self) -> BTreeMap<&str, Entry<'_>> {
        fn named<'a, T>(
            all: &'a BTreeMap<String, T>,
            entry: fn(&'a T) -> Entry<'a>,
        ) -> BTreeMap<&'a str, Entry<'a>> {
            all.iter().map(|(name, one)| (name.as_str(), entry(one))).collect()
        }
        match self {
            Self::Redis(space) => named(&space.keys, Entry::Key),
            Self::Zookeeper(tree) => named(&tree.nodes, Entry::Node),
            Self::Mariadb(tables) => named(&tables.rows, Entry::Row),
            Self::Etcd(store) => named(&store.keys, Entry::Pair),
            Self::Files(locked) => named(&locked.files, Entry::File),
        }
    }

    pub fn entry(&self, name: &str) -> Option<Entry<'_>> {
        match self {
            Self::Redis(space) => space.keys.get(name).map(Entry::Key),
            Self::Zookeeper(tree) => tree.nodes.get(name).map(Entry::Node),
            Self::Mariadb(tables) => tables.rows.get(name).map(Entry::Row),
            Self::Etcd(store) => store.keys.get(name).map(Entry::Pair),
            Self::Files(locked) => locked.files.get(name).map(Entry::File),
        }
    }

    /// The server's role among its replicas or ensemble, if it reports one.
    pub fn role(&self) -> Option<&Role> {
        match self {
            Self::Redis(space) => space.role.as_ref(),
            Self::Zookeeper(tree) => tree.member.as_ref().map(|member| &member.role),
            Self::Etcd(store) => store.member.as_ref().map(|member| &member.role),
            Self::Mariadb(_) | Self::Files(_) => None,
        }
    }

    /// The locks that sessions hold, by name, with the session. Redis does not know the owner of a key.
    pub fn owned(&self) -> BTreeMap<String, i64> {
        match self {
            Self::Redis(_) => BTreeMap::new(),
            Self::Zookeeper(tree) => tree.owned(),
            Self::Mariadb(tables) => tables.owned(),
            Self::Etcd(store) => store.owned(),
            Self::Files(locked) => locked.owned(),
        }
    }

    /// The values of nodes and keys that are first among their siblings and belong to no session, by the name of the
    /// lock that they would stand for. Other products have no such order.
    pub fn unowned(&self) -> BTreeMap<String, &str> {
        match self {
            Self::Zookeeper(tree) => tree.unowned(),
            Self::Etcd(store) => store.unowned(),
            Self::Redis(_) | Self::Mariadb(_) | Self::Files(_) => BTreeMap::new(),
        }
    }

    /// The paths that do not exist but are watched, with the sessions that watch them.
    pub fn watched_absent(&self) -> impl Iterator<Item = (&str, &[i64])> {
        let watched = match self {
            Self::Redis(_) | Self::Mariadb(_) | Self::Etcd(_) | Self::Files(_) => None,
            Self::Zookeeper(tree) => Some(&tree.watched_absent),
        };
        watched.into_iter().flatten().map(|(path, sessions)| (path.as_str(), sessions.as_slice()))
    }
}

impl<'a> Entry<'a> {
    /// Its value as text; empty if it has more than one.
    pub fn text(self) -> Cow<'a, str> {
        match self {
            Self::Key(_) | Self::File(_) => "".into(),
            Self::Node(node) => (&node.data).into(),
            Self::Row(row) => row.text().into(),
            Self::Pair(pair) => (&pair.value).into(),
        }
    }

    /// The session that owns it, with whose end it disappears.
    pub fn owner(self) -> Option<i64> {
        match self {
            Self::Key(_) => None,
            Self::Node(node) => node.owner,
            Self::Row(row) => row.owner,
            Self::Pair(pair) => pair.lease,
            Self::File(file) => file.holder,
        }
    }

    /// The sessions that own it together with its owner.
    pub fn sharing(self) -> &'a [i64] {
        match self {
            Self::Row(row) => &row.sharing,
            Self::Key(_) | Self::Node(_) | Self::Pair(_) | Self::File(_) => &[],
        }
    }

    /// The sessions that watch it or wait for it.
    pub fn watchers(self) -> &'a [i64] {
        match self {
            Self::Key(_) | Self::Pair(_) => &[],
            Self::Node(node) => &node.watchers,
            Self::Row(row) => &row.waiting,
            Self::File(file) => &file.waiting,
        }
    }
}
