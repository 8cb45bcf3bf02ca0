//! What Lockstep and its client processes say to each other: JSON, one message per line, requests on the
//! client's standard input and responses on its standard output.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use crate::server::connection::ServerAddress;
use crate::{
    clock::LessonTime,
    log::{ActorId, Command, OpId, Reply},
    text::Text,
};

/// What a client is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Connect every actor to every server. The first request. Answered by [`Response::Joined`].
    Join {
        actors: Vec<ActorId>,
        servers: Vec<ServerAddress>,
        /// The timeout that sessions ask for, in milliseconds of lesson time.
        session_timeout: u64,
        /// The directory of the files that it locks, where it locks any.
        files: Option<PathBuf>,
    },
    /// Carry out an operation. Answered by [`Response::Done`], perhaps after a [`Response::Blocked`].
    Do { op: OpId, actor: ActorId, wire: Wire },
    /// Report every notification that the servers have sent by now. Answered by [`Response::Settled`]:
    /// whatever a server sent before it answered this request has then been reported.
    Settle,
    /// Have a connection to this server ready that the next operation uses as it is: soon no reply will come
    /// back, so none can be waited for before an operation is sent. Answered by [`Response::Reached`].
    Reach { server: String },
    /// The connections to this server have broken. Nothing answers this: whoever has nothing on its way there
    /// connects again before its next operation.
    Disconnected { server: String },
}

/// One command for one server, with all values filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// The server that it goes to; `local` for a mutex of the process, `files` for a lock of a file.
    pub server: String,
    pub command: Command,
    /// The text of a script, which a log does not repeat.
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
    /// An actor's connection was made anew, and so has another session.
    Session {
        actor: ActorId,
        server: String,
        session: i64,
    },
    /// A server told an actor something.
    Notified {
        actor: ActorId,
        server: String,
        /// What about: a path.
        about: String,
        what: String,
    },
    /// Everything that the servers had sent has been reported.
    Settled,
    /// Every actor that is not busy has its connection.
    Reached,
    /// A program that a user brought has printed a line.
    Said {
        actor: ActorId,
        line: String,
        /// Whether to standard error.
        stderr: bool,
    },
    /// Something that Lockstep has to say of such a program.
    Remarked {
        actor: ActorId,
        remark: Text,
    },
    /// A program that a user brought does nothing more by itself.
    Rests {
        actor: ActorId,
        /// The request that it has sent and whose turn it is.
        asks: Option<Wire>,
        /// When the first wait of its threads ends.
        until: Option<LessonTime>,
        /// It has ended: well, or with these last words.
        ended: Option<Text>,
        /// It is at work still, and was not waited for any longer.
        busy: bool,
    },
}
