//! The faults that a log can record: what was done to clients, servers and links. Plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::LinkId;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// SIGKILL to a client.
    Crash { client: String },
    /// SIGSTOP to a client, like a long GC pause.
    Freeze { client: String },
    /// SIGCONT to a client.
    Thaw { client: String },
    /// A link's connections were closed and new ones are refused.
    Cut { link: LinkId },
    /// A link keeps what is sent and passes nothing on.
    Hold {
        link: LinkId,
        /// The direction that is held; the other one still passes.
        #[serde(default, skip_serializing_if = "Direction::is_both")]
        way: Direction,
    },
    /// Everything sent on a link arrives later by `by_ms`.
    Delay {
        link: LinkId,
        #[serde(default, skip_serializing_if = "Direction::is_both")]
        way: Direction,
        by_ms: u64,
    },
    /// A link passes data again; what was held is passed on.
    Release { link: LinkId },
    /// What a link held was discarded, and the link was cut.
    Drop { link: LinkId },
    /// SIGKILL to a server.
    KillServer { server: String },
    /// A server's machine lost its power: SIGKILL, and its files lose what was not on the disk yet.
    LosePower { server: String },
    /// SIGSTOP to a server.
    FreezeServer { server: String },
    /// SIGCONT to a server.
    ThawServer { server: String },
    /// A killed server was started again with the data on its disk.
    RestartServer { server: String },
    /// A server's calendar clock was set ahead or behind, or corrected.
    Skew {
        server: String,
        /// How far it is ahead from now on, in milliseconds; behind if negative; correct if 0.
        ahead_ms: i64,
    },
    /// The same for a client's calendar clock.
    SkewClient { client: String, ahead_ms: i64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    Client(&'a str),
    Server(&'a str),
    Link(&'a LinkId),
}

/// The state in which a fault leaves its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Dead,
    Frozen,
    /// It continues where it was frozen.
    Running,
    /// It runs again, with the data on its disk.
    Restarted,
    Cut,
    Held(Direction),
    /// Data in this direction arrives so many milliseconds later.
    Delayed(Direction, u64),
    Open,
    /// Its clock is this many milliseconds ahead.
    Ahead(i64),
}

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(name) | Self::Server(name) => f.write_str(name),
            Self::Link(link) => write!(f, "{}→{}", link.from, link.to),
        }
    }
}

impl Fault {
    pub fn target(&self) -> Target<'_> {
        match self {
            Self::Crash { client }
            | Self::Freeze { client }
            | Self::Thaw { client }
            | Self::SkewClient { client, .. } => Target::Client(client),
            Self::Cut { link }
            | Self::Hold { link, .. }
            | Self::Delay { link, .. }
            | Self::Release { link }
            | Self::Drop { link } => Target::Link(link),
            Self::KillServer { server }
            | Self::LosePower { server }
            | Self::FreezeServer { server }
            | Self::ThawServer { server }
            | Self::RestartServer { server }
            | Self::Skew { server, .. } => Target::Server(server),
        }
    }

    pub fn leaves(&self) -> Condition {
        match self {
            Self::Crash { .. } | Self::KillServer { .. } | Self::LosePower { .. } => Condition::Dead,
            Self::Freeze { .. } | Self::FreezeServer { .. } => Condition::Frozen,
            Self::Thaw { .. } | Self::ThawServer { .. } => Condition::Running,
            Self::RestartServer { .. } => Condition::Restarted,
            Self::Cut { .. } | Self::Drop { .. } => Condition::Cut,
            Self::Hold { way, .. } => Condition::Held(*way),
            Self::Delay { way, by_ms, .. } => Condition::Delayed(*way, *by_ms),
            Self::Release { .. } => Condition::Open,
            Self::Skew { ahead_ms, .. } | Self::SkewClient { ahead_ms, .. } => Condition::Ahead(*ahead_ms),
        }
    }

    pub fn client(&self) -> Option<&str> {
        let Target::Client(client) = self.target() else { return None };
        Some(client)
    }

    pub fn server(&self) -> Option<&str> {
        let Target::Server(server) = self.target() else { return None };
        Some(server)
    }

    pub fn link(&self) -> Option<&LinkId> {
        let Target::Link(link) = self.target() else { return None };
        Some(link)
    }

    /// How far it sets a clock ahead, in milliseconds.
    pub fn ahead_ms(&self) -> Option<i64> {
        match self.leaves() {
            Condition::Ahead(ahead_ms) => Some(ahead_ms),
            _ => None,
        }
    }

    pub fn killed_client(&self) -> Option<&str> {
        self.client().filter(|_| self.leaves() == Condition::Dead)
    }

    pub fn killed_server(&self) -> Option<&str> {
        self.server().filter(|_| self.leaves() == Condition::Dead)
    }
}

/// As the item of a story that injects it: `freeze A`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self {
            Self::Crash { .. } => "crash",
            Self::Freeze { .. } | Self::FreezeServer { .. } => "freeze",
            Self::Thaw { .. } | Self::ThawServer { .. } => "thaw",
            Self::Cut { .. } => "cut",
            Self::Hold { .. } => "hold",
            Self::Delay { .. } => "delay",
            Self::Release { .. } => "release",
            Self::Drop { .. } => "drop",
            Self::KillServer { .. } | Self::LosePower { .. } => "kill",
            Self::RestartServer { .. } => "restart",
            Self::Skew { .. } | Self::SkewClient { .. } => "skew",
        };
        write!(f, "{verb} {}", self.target())
    }
}

/// A direction of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    #[default]
    Both,
    /// Along the link's arrow: what a client sends to a server.
    Requests,
    /// Against the arrow: what the server sends, its replies and notifications.
    Replies,
}

impl Direction {
    pub fn is_both(&self) -> bool {
        *self == Self::Both
    }

    /// Whether it includes the single direction `way`.
    pub fn covers(self, way: Self) -> bool {
        self.is_both() || self == way
    }
}
