//! The faults that a log can tell of: what was done to clients, servers and links. Plain data.

use serde::{Deserialize, Serialize};

/// A fault that was really caused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// SIGKILL to a client.
    Crash { client: String },
    /// SIGSTOP to a client, as a long GC pause.
    Freeze { client: String },
    /// SIGCONT to a client.
    Thaw { client: String },
    /// A link's connections were closed and new ones are refused.
    Cut {
        /// The link, `A->redis`.
        link: String,
    },
    /// A link keeps what is sent and passes nothing on.
    Hold {
        link: String,
        /// Which way; what travels the other way still passes.
        #[serde(default, skip_serializing_if = "Way::is_both")]
        way: Way,
    },
    /// A link works again; what was held is passed on.
    Release { link: String },
    /// What a link held was thrown away, and the link was cut.
    Drop { link: String },
    /// SIGKILL to a server.
    KillServer { server: String },
    /// SIGSTOP to a server.
    FreezeServer { server: String },
    /// SIGCONT to a server.
    ThawServer { server: String },
    /// A killed server was started again with what it had on its disk.
    RestartServer { server: String },
    /// A server's calendar clock was set apart from everybody else's, or right again.
    Skew {
        server: String,
        /// How far it is ahead from now on, in milliseconds; behind, where negative; right, where 0.
        ahead_ms: i64,
    },
}

/// A way along a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    #[default]
    Both,
    /// Along the link's arrow: what a client sends to a server.
    Requests,
    /// Against it: what the server sends, its replies and notifications.
    Replies,
}

impl Way {
    /// Whether it is no single one.
    pub fn is_both(&self) -> bool {
        *self == Self::Both
    }
}
