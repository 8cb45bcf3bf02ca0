//! ZooKeeper: its calls and its tree of znodes.

use std::{collections::BTreeMap, fmt, slice};

use serde::{Deserialize, Serialize};

use super::{Access, Command, Traits, text::Quoted};

pub(crate) const TRAITS: Traits = Traits {
    name: "ZooKeeper",
    key: "zk",
    calls: &[
        "create [-e] [-s] PATH [DATA]",
        "delete PATH",
        "exists [-w] PATH",
        "get [-w] PATH",
        "ls [-w] PATH",
        "set PATH DATA [VERSION]",
    ],
    command: |name, flags, operands| Call::new(name, flags, operands).map(Command::Zookeeper),
    check: |_| Ok(()),
    releases: |call| call.split_whitespace().next() == Some("delete"),
    refuses_at_once: false,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    Create {
        /// It goes with the session.
        ephemeral: bool,
        /// The server appends a number.
        sequential: bool,
        path: String,
        data: String,
    },
    Delete {
        path: String,
    },
    /// Ask for a node's stat.
    Exists {
        watch: bool,
        path: String,
    },
    Get {
        watch: bool,
        path: String,
    },
    /// Read the names of a node's children.
    Ls {
        watch: bool,
        path: String,
    },
    Set {
        path: String,
        data: String,
        /// Only where the node has this version: ZooKeeper's own compare-and-set.
        version: Option<i32>,
    },
}

impl Call {
    /// A call as `zkCli` would be told it.
    pub(crate) fn new(name: &str, flags: &[String], operands: Vec<String>) -> Result<Self, String> {
        let flag = |name: &str| flags.iter().any(|flag| flag == name);
        let watch = flag("-w");
        let mut operands = operands.into_iter();
        let path = operands.next().unwrap_or_default();
        let mut data = || operands.next().unwrap_or_default();
        Ok(match name {
            "create" => Self::Create { ephemeral: flag("-e"), sequential: flag("-s"), path, data: data() },
            "delete" => Self::Delete { path },
            "exists" => Self::Exists { watch, path },
            "get" => Self::Get { watch, path },
            "ls" => Self::Ls { watch, path },
            "set" => {
                let (data, version) = (data(), operands.next());
                let number = |text: String| {
                    text.parse().map_err(|_| format!("`{text}` is not a version: it must be a number"))
                };
                Self::Set { path, data, version: version.map(number).transpose()? }
            }
            other => return Err(format!("`{other}` is not a ZooKeeper call")),
        })
    }

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

    pub(super) fn data(&self) -> &[String] {
        match self {
            Self::Create { data, .. } | Self::Set { data, .. } => slice::from_ref(data),
            _ => &[],
        }
    }

    /// As `zkCli` calls it.
    fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Delete { .. } => "delete",
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
        format!("{}{watch} {}", self.name(), self.path())
    }

    pub(super) fn access(&self) -> (&str, Access, bool) {
        let (access, named_by_reply) = match self {
            Self::Create { sequential, .. } => (Access::Set, *sequential),
            Self::Delete { .. } => (Access::Deleted, false),
            Self::Set { .. } => (Access::Changed, false),
            Self::Exists { .. } | Self::Get { .. } | Self::Ls { .. } => (Access::Read, false),
        };
        (self.path(), access, named_by_reply)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, path) = (self.name(), self.path());
        match self {
            Self::Create { ephemeral, sequential, data, .. } => {
                let e = if *ephemeral { " -e" } else { "" };
                let s = if *sequential { " -s" } else { "" };
                write!(f, "{name}{e}{s} {path}")?;
                if data.is_empty() { Ok(()) } else { write!(f, " {}", Quoted(data)) }
            }
            Self::Set { data, version: None, .. } => write!(f, "{name} {path} {}", Quoted(data)),
            Self::Set { data, version: Some(v), .. } => write!(f, "{name} {path} {} {v}", Quoted(data)),
            _ => f.write_str(&self.brief()),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ZnodeTree {
    /// Path to node, parents before children. The server's own `/zookeeper` is left out.
    pub nodes: BTreeMap<String, Znode>,
    /// Paths that do not exist and are watched all the same, with the sessions that watch them.
    pub watched_absent: BTreeMap<String, Vec<i64>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Znode {
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

impl ZnodeTree {
    /// Who has the locks: of ephemeral sequential siblings the lowest, and every other ephemeral node.
    pub(super) fn owned(&self) -> BTreeMap<String, i64> {
        let mut lowest: BTreeMap<&str, (&str, i64)> = BTreeMap::new();
        for (path, node) in &self.nodes {
            let Some(owner) = node.owner else { continue };
            let group = match path.rsplit_once('/') {
                Some((parent, _)) if sequence(path).is_some() => parent,
                _ => path.as_str(),
            };
            let entry = lowest.entry(group).or_insert((path, owner));
            if sequence(path) < sequence(entry.0) {
                *entry = (path, owner);
            }
        }
        lowest.into_iter().map(|(group, (_, owner))| (group.to_owned(), owner)).collect()
    }
}

/// The ten digits that a sequential node's name ends in.
fn sequence(path: &str) -> Option<u64> {
    let digits = path.get(path.len().checked_sub(10)?..)?;
    digits.parse().ok()
}
