//! Commands as data, and as people would type them.

pub(crate) mod text;

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an operation sent, with all values filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// The words of a Redis command.
    Redis(Vec<String>),
    /// A Lua script, sent as `EVAL`.
    Script {
        name: String,
        keys: Vec<String>,
        args: Vec<String>,
    },
    Zookeeper(ZkCall),
    /// A mutex of the client's process is locked or unlocked.
    Local {
        lock: bool,
        name: String,
    },
}

/// A ZooKeeper call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZkCall {
    Create {
        /// It goes with the session.
        ephemeral: bool,
        /// The server appends a number.
        sequential: bool,
        path: String,
        data: String,
    },
    /// Delete a node, whatever its version.
    Delete { path: String },
    /// Ask for a node's stat.
    Exists {
        /// Leave a watch.
        watch: bool,
        path: String,
    },
    Get {
        /// Leave a watch.
        watch: bool,
        path: String,
    },
    /// Read the names of a node's children.
    Ls {
        /// Leave a watch.
        watch: bool,
        path: String,
    },
    Set {
        path: String,
        data: String,
        /// Only where the node has this version.
        version: Option<i32>,
    },
}

impl Command {
    /// The words of a Redis command; none of any other.
    pub fn redis_words(&self) -> &[String] {
        match self {
            Self::Redis(words) => words,
            _ => &[],
        }
    }

    /// Whether it is this Redis command.
    pub fn is_redis(&self, name: &str) -> bool {
        self.redis_words().first().is_some_and(|word| word.eq_ignore_ascii_case(name))
    }

    /// The path on which it leaves a watch.
    pub fn watched(&self) -> Option<&str> {
        match self {
            Self::Zookeeper(
                ZkCall::Exists { watch: true, path }
                | ZkCall::Get { watch: true, path }
                | ZkCall::Ls { watch: true, path },
            ) => Some(path),
            _ => None,
        }
    }

    /// What it says beside its name: keys, values, options; a path and its data.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        let (first, second): (&[String], &[String]) = match self {
            Self::Redis(words) => (words.get(1..).unwrap_or_default(), &[]),
            Self::Script { keys, args, .. } => (keys, args),
            Self::Zookeeper(ZkCall::Create { path, data, .. } | ZkCall::Set { path, data, .. }) => {
                (std::slice::from_ref(path), std::slice::from_ref(data))
            }
            Self::Zookeeper(call) => (std::slice::from_ref(call.path()), &[]),
            Self::Local { name, .. } => (std::slice::from_ref(name), &[]),
        };
        first.iter().chain(second).map(String::as_str)
    }

    /// In few words, `DECR stock`: what it is, and what it is about.
    pub fn brief(&self) -> String {
        let (verb, about) = match self {
            Self::Redis(words) => (words.first().map_or("", String::as_str), words.get(1)),
            Self::Script { name, .. } => ("EVAL", Some(name)),
            Self::Zookeeper(call) => {
                let watch = if self.watched().is_some() { " -w" } else { "" };
                return format!("{}{watch} {}", call.name(), call.path());
            }
            Self::Local { .. } => return self.to_string(),
        };
        about.map_or_else(|| verb.to_owned(), |about| format!("{verb} {about}"))
    }
}

impl ZkCall {
    /// The path that it is about.
    pub fn path(&self) -> &String {
        match self {
            Self::Create { path, .. }
            | Self::Delete { path }
            | Self::Exists { path, .. }
            | Self::Get { path, .. }
            | Self::Ls { path, .. }
            | Self::Set { path, .. } => path,
        }
    }

    /// As `zkCli` calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Delete { .. } => "delete",
            Self::Exists { .. } => "exists",
            Self::Get { .. } => "get",
            Self::Ls { .. } => "ls",
            Self::Set { .. } => "set",
        }
    }
}

/// As it would be typed into `redis-cli` or `zkCli`; a script by its name.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |f: &mut fmt::Formatter<'_>, mut words: std::slice::Iter<'_, String>| {
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
            Self::Local { lock: true, name } => write!(f, "lock {name}"),
            Self::Local { lock: false, name } => write!(f, "unlock {name}"),
        }
    }
}

impl fmt::Display for ZkCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, path) = (self.name(), self.path());
        match self {
            Self::Create { ephemeral, sequential, data, .. } => {
                let e = if *ephemeral { " -e" } else { "" };
                let s = if *sequential { " -s" } else { "" };
                write!(f, "{name}{e}{s} {path}")?;
                if data.is_empty() { Ok(()) } else { write!(f, " {}", Quoted(data)) }
            }
            Self::Exists { watch: true, .. }
            | Self::Get { watch: true, .. }
            | Self::Ls { watch: true, .. } => write!(f, "{name} -w {path}"),
            Self::Set { data, version: None, .. } => write!(f, "{name} {path} {}", Quoted(data)),
            Self::Set { data, version: Some(v), .. } => write!(f, "{name} {path} {} {v}", Quoted(data)),
            _ => write!(f, "{name} {path}"),
        }
    }
}

/// A word, quoted where it would otherwise be read as several or none.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() || self.0.contains(|c: char| c.is_whitespace() || c == '"') {
            write!(f, "{:?}", self.0)
        } else {
            f.write_str(self.0)
        }
    }
}

/// In JSON a command stands twice: `command` is the data, `wire` its text for people.
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
