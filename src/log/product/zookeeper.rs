//! ZooKeeper: its calls and its tree of znodes.

use std::{collections::BTreeMap, fmt, ops::Not, slice};

use serde::{Deserialize, Serialize};

use super::{Access, Command, Traits, redis::Role, text::Quoted};
use crate::text::{Text, both};

/// The path of the znode above; empty for a znode at the top.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// What a client reports when its session loses its connection, and when it has one again.
pub(crate) const SUSPENDED: &str = "Suspended";
pub(crate) const RECONNECTED: &str = "Reconnected";

pub(crate) const TRAITS: Traits = Traits {
    name: "ZooKeeper",
    key: "zk",
    calls: &[
        "connect",
        "create [-e] [-s] [-c] [-t TTL] PATH [DATA]",
        "delete PATH [VERSION]",
        "exists [-w] PATH",
        "get [-w] PATH",
        "ls [-w] PATH",
        "multi CALL ; CALL …",
        "set PATH DATA [VERSION]",
        "sync PATH",
    ],
    // Everything in its protocol that is no call passes anyway.
    housekeeping: &[],
    command: |name, flags, operands| Call::new(name, flags, operands).map(Command::Zookeeper),
    check: check_call,
    releases: |call| call.split_whitespace().next() == Some("delete"),
    refuses_at_once: false,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    Create {
        /// Deleted with the session.
        ephemeral: bool,
        /// The server appends a sequence number to the name.
        sequential: bool,
        /// Deleted some time after its last child.
        #[serde(default, skip_serializing_if = "Not::not")]
        container: bool,
        /// Deleted this many milliseconds after its last change, if it has no children.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl: Option<u64>,
        path: String,
        data: String,
    },
    Delete {
        path: String,
        /// The version that the node must have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<i32>,
    },
    /// Opens a new session in place of the present or former one.
    Connect,
    /// Ends the session, and deletes its ephemeral nodes. Only users' programs do that.
    Close,
    /// Does all calls or none: only calls that change something, and `check`.
    Multi {
        calls: Vec<Call>,
    },
    /// In a `multi`: fails all of it unless the node has this version.
    Check {
        path: String,
        version: Option<i32>,
    },
    /// Has the server that receives it catch up with its leader.
    Sync {
        path: String,
    },
    /// Asks for a node's stat.
    Exists {
        watch: bool,
        path: String,
    },
    Get {
        watch: bool,
        path: String,
    },
    /// Reads the names of a node's children.
    Ls {
        watch: bool,
        path: String,
    },
    Set {
        path: String,
        data: String,
        /// The version that the node must have: ZooKeeper's own compare-and-set.
        version: Option<i32>,
    },
}

/// Whether a call shows what the root of the tree has been through, which emptying the server does not undo: its version
/// counts every node that was ever created there, sequential ones have that number in their names, and its data stay.
pub(crate) fn shows_root(name: &str, sequential: bool, path: &str) -> bool {
    match name {
        "create" => sequential && path.starts_with('/') && parent(path).is_empty(),
        "exists" | "get" | "set" | "check" => path == "/",
        _ => false,
    }
}

impl Call {
    /// What the root of the tree keeps of a call.
    pub(super) fn leaves(&self) -> Option<(&'static str, bool)> {
        let shown = match self {
            Self::Multi { calls } => return calls.iter().find_map(Self::leaves),
            Self::Create { sequential, path, .. } => shows_root("create", *sequential, path),
            Self::Set { path, .. } => shows_root("set", false, path),
            _ => false,
        };
        shown.then_some(("root", true))
    }

    /// Builds a call from the words that `zkCli` would be given.
    pub(crate) fn new(name: &str, flags: &[String], operands: Vec<String>) -> Result<Self, String> {
        let flag = |name: &str| flags.iter().any(|flag| flag == name);
        let watch = flag("-w");
        if name == "multi" {
            let calls = operands.split(|word| word == ";").map(|call| {
                let (name, rest) = call.split_first().ok_or("`multi` with an empty call")?;
                let (flags, operands): (Vec<String>, Vec<String>) =
                    rest.iter().cloned().partition(|word| word.starts_with('-') && word.len() == 2);
                if !IN_MULTI.contains(&name.as_str()) {
                    return Err(format!("`{name}` is not a call of a `multi`"));
                }
                Self::new(name, &flags, operands)
            });
            return Ok(Self::Multi { calls: calls.collect::<Result<_, _>>()? });
        }
        let mut operands = operands.into_iter();
        let number = |text: String| {
            text.parse().map_err(|_| format!("`{text}` is not a version: it must be a number"))
        };
        let ttl = if flag("-t") { operands.next() } else { None };
        let ttl = ttl.map(|ttl| {
            ttl.parse().map_err(|_| format!("`{ttl}` is not a TTL: it must be a number of milliseconds"))
        });
        let path = operands.next().unwrap_or_default();
        let mut data = || operands.next().unwrap_or_default();
        Ok(match name {
            "connect" => Self::Connect,
            "create" => Self::Create {
                ephemeral: flag("-e"),
                sequential: flag("-s"),
                container: flag("-c"),
                ttl: ttl.transpose()?,
                path,
                data: data(),
            },
            "delete" => Self::Delete { path, version: operands.next().map(number).transpose()? },
            "check" => Self::Check { path, version: operands.next().map(number).transpose()? },
            "sync" => Self::Sync { path },
            "exists" => Self::Exists { watch, path },
            "get" => Self::Get { watch, path },
            "ls" => Self::Ls { watch, path },
            "set" => {
                let (data, version) = (data(), operands.next());
                Self::Set { path, data, version: version.map(number).transpose()? }
            }
            other => return Err(format!("`{other}` is not a ZooKeeper call")),
        })
    }

    pub fn path(&self) -> &String {
        static NONE: String = String::new();
        match self {
            Self::Connect | Self::Close => &NONE,
            Self::Multi { calls } => calls.first().map_or(&NONE, Self::path),
            Self::Create { path, .. }
            | Self::Delete { path, .. }
            | Self::Check { path, .. }
            | Self::Sync { path }
            | Self::Exists { path, .. }
            | Self::Get { path, .. }
            | Self::Ls { path, .. }
            | Self::Set { path, .. } => path,
        }
    }

    /// The texts that its author wrote.
    pub(crate) fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Connect | Self::Close => Vec::new(),
            Self::Multi { calls } => calls.iter_mut().flat_map(Self::texts_mut).collect(),
            Self::Create { path, data, .. } | Self::Set { path, data, .. } => vec![path, data],
            Self::Delete { path, .. }
            | Self::Check { path, .. }
            | Self::Sync { path }
            | Self::Exists { path, .. }
            | Self::Get { path, .. }
            | Self::Ls { path, .. } => vec![path],
        }
    }

    pub(super) fn data(&self) -> &[String] {
        match self {
            Self::Create { data, .. } | Self::Set { data, .. } => slice::from_ref(data),
            _ => &[],
        }
    }

    /// Its name in `zkCli`.
    fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Delete { .. } => "delete",
            Self::Connect => "connect",
            Self::Close => "close",
            Self::Multi { .. } => "multi",
            Self::Check { .. } => "check",
            Self::Sync { .. } => "sync",
            Self::Exists { .. } => "exists",
            Self::Get { .. } => "get",
            Self::Ls { .. } => "ls",
            Self::Set { .. } => "set",
        }
    }

    pub(super) fn watches(&self) -> bool {
        matches!(
            self,
            Self::Exists { watch: true, .. } | Self::Get { watch: true, .. } | Self::Ls { watch: true, .. }
        )
    }

    pub(super) fn brief(&self) -> String {
        let watch = if self.watches() { " -w" } else { "" };
        format!("{}{watch} {}", self.name(), self.path()).trim_end().to_owned()
    }

    /// The path that it accesses, how, and whether the reply has the real path; `None` for a `multi`, which does
    /// several things.
    pub(super) fn access(&self) -> Option<(&str, Access, bool)> {
        let (access, named_by_reply) = match self {
            Self::Connect | Self::Close | Self::Multi { .. } => return None,
            Self::Create { sequential, .. } => (Access::Set, *sequential),
            Self::Delete { .. } => (Access::Deleted, false),
            Self::Set { .. } => (Access::Changed, false),
            Self::Exists { .. }
            | Self::Get { .. }
            | Self::Ls { .. }
            | Self::Check { .. }
            | Self::Sync { .. } => (Access::Read, false),
        };
        Some((self.path(), access, named_by_reply))
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, path) = (self.name(), self.path());
        match self {
            Self::Create { ephemeral, sequential, container, ttl, data, .. } => {
                let flag = |set: bool, flag: &'static str| if set { flag } else { "" };
                let (e, s, c) = (flag(*ephemeral, " -e"), flag(*sequential, " -s"), flag(*container, " -c"));
                write!(f, "{name}{e}{s}{c}")?;
                if let Some(ttl) = ttl {
                    write!(f, " -t {ttl}")?;
                }
                write!(f, " {path}")?;
                if data.is_empty() { Ok(()) } else { write!(f, " {}", Quoted(data)) }
            }
            Self::Set { data, version: None, .. } => write!(f, "{name} {path} {}", Quoted(data)),
            Self::Set { data, version: Some(v), .. } => write!(f, "{name} {path} {} {v}", Quoted(data)),
            Self::Delete { version: Some(v), .. } | Self::Check { version: Some(v), .. } => {
                write!(f, "{name} {path} {v}")
            }
            Self::Multi { calls } => {
                let calls: Vec<String> = calls.iter().map(ToString::to_string).collect();
                write!(f, "{name} {}", calls.join(" ; "))
            }
            _ => f.write_str(&self.brief()),
        }
    }
}

/// The calls that a `multi` may contain.
const IN_MULTI: [&str; 4] = ["check", "create", "delete", "set"];

/// Returns an error for a call, or for a call of a `multi`, that ZooKeeper cannot make, before values are filled in.
fn check_call(text: &str) -> Result<(), Text> {
    let Some(calls) = text.trim_start().strip_prefix("multi ") else { return check_kind(text) };
    for call in calls.split(" ; ") {
        check_kind(call)?;
        let mut words = call.split_whitespace();
        let known = IN_MULTI.join(", ");
        match (words.next(), words.find(|word| !word.starts_with('-'))) {
            (Some(name), _) if !IN_MULTI.contains(&name) => {
                let name = name.to_owned();
                return Err(both!(
                    "`{name}` is not a call of a `multi`: it may have {known}, with ` ; ` between them",
                    "`{name}` 不能放在 `multi` 里：只能有 {known}，用 ` ; ` 隔开"
                ));
            }
            (Some(_), Some(path)) if path.starts_with('/') || path.starts_with("${") => {}
            _ => {
                let call = call.to_owned();
                return Err(both!(
                    "`{call}` in a `multi` needs a path that begins with `/`",
                    "`multi` 里的 `{call}` 需要以 `/` 开头的路径"
                ));
            }
        }
    }
    Ok(())
}

/// Returns an error for a combination of kinds that ZooKeeper's `CreateMode` does not have.
fn check_kind(call: &str) -> Result<(), Text> {
    let words: Vec<&str> = call.split_whitespace().collect();
    let first = |of: &[&'static str]| of.iter().copied().find(|flag| words.contains(flag));
    let both_of = match (first(&["-c"]), first(&["-t"])) {
        (Some(container), _) => first(&["-e", "-s", "-t"]).map(|other| (container, other)),
        (None, Some(ttl)) => first(&["-e"]).map(|other| (ttl, other)),
        (None, None) => None,
    };
    let Some((one, other)) = both_of.filter(|_| words.first() == Some(&"create")) else { return Ok(()) };
    Err(both!(
        "no znode is both `{one}` and `{other}`: a container (`-c`) is never sequential (`-s`), and neither it nor a node with \
         a TTL (`-t`) is ephemeral (`-e`)",
        "没有同时是 `{one}` 和 `{other}` 的 znode：容器节点（`-c`）不能是顺序的（`-s`），它和带 TTL 的节点（`-t`）都不能是临时的（`-e`）"
    ))
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ZnodeTree {
    /// Path to node, parents before children. The server's own `/zookeeper` is left out.
    pub nodes: BTreeMap<String, Znode>,
    /// Paths that do not exist but are watched, with the sessions that watch them.
    pub watched_absent: BTreeMap<String, Vec<i64>>,
    /// What the server reports of itself in its ensemble; `None` without an ensemble.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<Member>,
}

/// An ensemble member's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub role: Role,
    /// The last transaction that it knows.
    pub zxid: i64,
    /// The sessions that are connected to it.
    pub sessions: Vec<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Znode {
    pub data: String,
    /// `ephemeralOwner`: the session that owns it, `None` for a persistent node.
    pub owner: Option<i64>,
    /// `czxid`: the transaction that created it. It only grows, so it can serve as a fencing token. Zero if it was not
    /// read (ephemeral nodes of a crowd).
    pub czxid: i64,
    /// `dataVersion`.
    pub version: i32,
    /// The sessions that watch this path, as listed by the server's `wchp`.
    pub watchers: Vec<i64>,
}

impl ZnodeTree {
    /// The owners of locks: of each group of ephemeral sequential siblings the lowest, and every other ephemeral node.
    pub(super) fn owned(&self) -> BTreeMap<String, i64> {
        let owned = self.nodes.iter().filter_map(|(path, node)| Some((path.as_str(), node.owner?)));
        first(owned).map(|(lock, (_, owner))| (lock.to_owned(), owner)).collect()
    }

    /// The data of persistent nodes without children that stand for locks in the same way.
    pub(super) fn unowned(&self) -> BTreeMap<String, &str> {
        let nodes = self.nodes.iter().filter(|(path, node)| {
            let child = || {
                let below = format!("{path}/");
                self.nodes.range(below.clone()..).next().is_some_and(|(other, _)| other.starts_with(&below))
            };
            node.owner.is_none() && !node.data.is_empty() && !child()
        });
        let nodes = nodes.map(|(path, node)| (path.as_str(), node.data.as_str()));
        first(nodes).map(|(lock, (_, data))| (lock.to_owned(), data)).collect()
    }
}

/// The lowest of numbered siblings, by their parent, and every other node by its own path.
fn first<'a, T>(nodes: impl Iterator<Item = (&'a str, T)>) -> impl Iterator<Item = (&'a str, (&'a str, T))> {
    let mut lowest: BTreeMap<&str, (&str, T)> = BTreeMap::new();
    for (path, of) in nodes {
        let group = match path.rsplit_once('/') {
            Some((parent, _)) if sequence(path).is_some() => parent,
            _ => path,
        };
        if lowest.get(group).is_none_or(|(other, _)| sequence(path) < sequence(other)) {
            lowest.insert(group, (path, of));
        }
    }
    lowest.into_iter()
}

/// The ten digits at the end of a sequential node's name.
fn sequence(path: &str) -> Option<u64> {
    let digits = path.get(path.len().checked_sub(10)?..)?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Znode, ZnodeTree};

    #[test]
    fn of_numbered_siblings_the_lowest_has_the_lock() {
        let node = |data: &str, owner| Znode { data: data.to_owned(), owner, ..Znode::default() };
        let nodes = [
            ("/ephemeral", node("", Some(9))),
            ("/kept", node("A", None)),
            ("/lock", node("parent", None)),
            ("/lock/n-0000000002", node("A", Some(7))),
            ("/lock/n-0000000003", node("B", Some(8))),
            ("/none", node("", None)),
        ];
        let nodes = nodes.into_iter().map(|(path, node)| (path.to_owned(), node)).collect();
        let tree = ZnodeTree { nodes, ..ZnodeTree::default() };
        assert_eq!(tree.owned(), [("/ephemeral".to_owned(), 9), ("/lock".to_owned(), 7)].into());
        assert_eq!(tree.unowned(), [("/kept".to_owned(), "A")].into());
    }
}
