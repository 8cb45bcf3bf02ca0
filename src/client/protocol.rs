//! The protocol between Lockstep and its client processes: JSON, one message per line, requests on the
//! client's standard input and responses on its standard output.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use crate::server::connection::ServerAddress;
use crate::{
    clock::LessonTime,
    log::{ActorId, Command, OpId, Reply},
    text::Text,
};

/// What is known of an attached program beside what it asks and until when it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Activity {
    /// Whether it is still at work, and is not waited for any longer.
    pub busy: bool,
    /// Whether it has ever connected to one of its servers.
    pub connected: bool,
    /// Whether it does not use the lesson clock, so that its waits are not known.
    pub own_time: bool,
}

/// A request to a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Connect every actor to every server. The first request. Answered by [`Response::Joined`].
    Join {
        actors: Vec<ActorId>,
        servers: Vec<ServerAddress>,
        /// The timeout to request for sessions, in milliseconds of lesson time.
        session_timeout: u64,
        /// The directory of the files that the client locks, if it locks any.
        files: Option<PathBuf>,
    },
    /// Carry out an operation. Answered by [`Response::Done`], perhaps after a [`Response::Blocked`].
    Do { op: OpId, actor: ActorId, wire: Wire },
    /// Report every notification that has arrived. Answered by [`Response::Settled`]. With `asks`, each server is asked
    /// first, and everything that it sent before it answered has arrived.
    Settle { asks: bool },
    /// Prepare a connection to this server that the next operation uses as it is: soon no reply will arrive,
    /// so none can be awaited before that operation is sent. Answered by [`Response::Reached`].
    Reach { server: String },
    /// The connections to this server have broken. Not answered: an actor that has nothing in flight there
    /// reconnects before its next operation.
    Disconnected { server: String },
}

/// A command for a server, with all values filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// The name of the server; `local` for a mutex of the process, `files` for a lock of a file.
    pub server: String,
    pub command: Command,
    /// The text of the script that the command runs, if any. Logs do not contain it.
    pub script: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Every actor is connected.
    Joined {
        /// The sessions that were opened: actor, server, session id.
        sessions: Vec<(ActorId, String, i64)>,
    },
    JoinFailed {
        why: String,
    },
    /// The operation waits for another actor of this process.
    Blocked {
        op: OpId,
    },
    Done {
        op: OpId,
        reply: Reply,
    },
    /// An actor's connection was made anew, and has another session.
    Session {
        actor: ActorId,
        server: String,
        session: i64,
    },
    /// A server sent an actor a notification.
    Notified {
        actor: ActorId,
        server: String,
        /// The path that the notification is about.
        about: String,
        what: String,
    },
    /// All notifications that the servers had sent have been reported.
    Settled,
    /// Every actor that is not busy is connected.
    Reached,
    /// An external program has printed a line.
    Said {
        actor: ActorId,
        line: String,
        /// Whether the line was printed to standard error.
        stderr: bool,
    },
    /// A remark of Lockstep on an external program.
    Remarked {
        actor: ActorId,
        remark: Text,
    },
    /// An external program is at rest: it does nothing more by itself.
    Rests {
        actor: ActorId,
        /// The request that the program has sent and whose turn is next.
        asks: Option<Wire>,
        /// When the first wait of its threads ends.
        until: Option<LessonTime>,
        /// If the program has ended: empty if it succeeded, otherwise its last words.
        ended: Option<Text>,
        activity: Activity,
    },
}
