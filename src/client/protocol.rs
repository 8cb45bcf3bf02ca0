//! What Lockstep and its client processes say to each other: JSON, one message per line, requests on the
//! client's standard input and responses on its standard output.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::log::{ActorId, Command, OpId, Product, Reply, ZkCall};

/// What a client is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Connect every actor to every server. The first request. Answered by [`Response::Joined`].
    Join {
        /// The actors that live in this process.
        actors: Vec<ActorId>,
        /// The servers.
        servers: Vec<ServerAddress>,
        /// The session timeout that ZooKeeper sessions ask for, in milliseconds of lesson time.
        session_timeout: u64,
    },
    /// Carry out an operation. Answered by [`Response::Done`], perhaps after a [`Response::Blocked`].
    Do {
        /// Its number.
        op: OpId,
        /// For whom.
        actor: ActorId,
        /// What.
        wire: Wire,
    },
    /// Report every notification that the servers have sent by now. Answered by [`Response::Settled`]:
    /// whatever a server sent before it answered this request has then been reported.
    Settle,
    /// Have a connection to this server ready that the next operation uses as it is: soon no reply will come
    /// back, so none can be waited for before an operation is sent. Answered by [`Response::Reached`].
    Reach {
        /// The server.
        server: String,
    },
    /// The connections to this server have broken. Nothing answers this: whoever has nothing on its way there
    /// connects again before its next operation.
    Disconnected {
        /// The server.
        server: String,
    },
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAddress {
    /// Its name in the lab.
    pub name: String,
    pub product: Product,
    /// The path of a Unix socket, or `127.0.0.1:PORT`.
    pub address: String,
    /// Whether it may close connections by itself: Sentinel has a server do so when its role changes.
    pub hangs_up: bool,
    /// What has to be said there first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// One wire command, with all values filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// A Redis command.
    Redis {
        /// The server.
        server: String,
        /// The command's words.
        words: Vec<String>,
    },
    /// A Lua script, sent as `EVAL`.
    Script {
        /// The server.
        server: String,
        /// The script's name, for the eye.
        name: String,
        /// The script's text.
        source: String,
        /// `KEYS`.
        keys: Vec<String>,
        /// `ARGV`.
        args: Vec<String>,
    },
    /// A ZooKeeper call.
    Zookeeper {
        /// The server.
        server: String,
        /// The call.
        call: ZkCall,
    },
    /// Lock or unlock a mutex of this process.
    Local {
        /// Lock it, or unlock it.
        lock: bool,
        /// Its name.
        name: String,
    },
}

impl Wire {
    /// How long the command asks the server to wait before it answers; zero for those that do not wait, and for those
    /// that would wait for ever. In the time of the server's clock.
    pub fn waits(&self) -> Duration {
        let Self::Redis { words, .. } = self else {
            return Duration::ZERO;
        };
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

    /// The server that it goes to; `local` for a mutex of the process.
    pub fn server(&self) -> &str {
        match self {
            Self::Redis { server, .. } | Self::Script { server, .. } | Self::Zookeeper { server, .. } => {
                server
            }
            Self::Local { .. } => "local",
        }
    }
}

/// As a log has it: a script by its name.
impl From<&Wire> for Command {
    fn from(wire: &Wire) -> Self {
        match wire {
            Wire::Redis { words, .. } => Self::Redis(words.clone()),
            Wire::Script { name, keys, args, .. } => {
                Self::Script { name: name.clone(), keys: keys.clone(), args: args.clone() }
            }
            Wire::Zookeeper { call, .. } => Self::Zookeeper(call.clone()),
            Wire::Local { lock, name } => Self::Local { lock: *lock, name: name.clone() },
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Command::from(self).fmt(f)
    }
}

/// What a client reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Every actor is connected.
    Joined {
        /// The ZooKeeper sessions that were opened: actor, server, session id.
        sessions: Vec<(ActorId, String, i64)>,
    },
    /// An actor could not connect.
    JoinFailed {
        /// Why.
        why: String,
    },
    /// The operation waits for another actor of this process.
    Blocked {
        /// Its number.
        op: OpId,
    },
    /// The operation is over.
    Done {
        /// Its number.
        op: OpId,
        /// The reply.
        reply: Reply,
    },
    /// A server told an actor something.
    Notified {
        /// Whom.
        actor: ActorId,
        /// Which server.
        server: String,
        /// What about: a path.
        about: String,
        /// What happened there.
        what: String,
    },
    /// Everything that the servers had sent has been reported.
    Settled,
    /// Every actor that is not busy has its connection.
    Reached,
}
