//! How servers are accessed, whatever their product: one connection of one actor, or of Lockstep itself, to one server.

use std::{future, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::log::{Command, Product, Reply};

/// The most bytes of one reply: it is read into memory as a whole, and a lesson can request any.
pub(crate) const LONGEST_REPLY: usize = 1 << 20;

/// The error code for a reply that was too long and not read to its end.
pub(crate) const TOO_LONG_CODE: &str = "TOOLONG";

/// The error with which the connection breaks when a reply is longer.
pub(crate) const TOO_LONG: &str = "the reply is longer than 1 MiB, the most that Lockstep reads";

/// The reply instead of one that was too long.
pub(crate) fn too_long() -> Reply {
    Reply::Error { code: TOO_LONG_CODE.to_owned(), text: TOO_LONG.to_owned() }
}

/// The address of a server and how to use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAddress {
    /// Its name in the lab.
    pub name: String,
    pub product: Product,
    /// The path of a Unix socket, or `127.0.0.1:PORT`.
    pub address: String,
    /// Whether it may close connections by itself: Sentinel makes a server do so when its role changes.
    pub hangs_up: bool,
    /// Whether the client subscribes to messages there.
    #[serde(default)]
    pub listens: bool,
    /// The password to authenticate with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// How many times the connections to a server have broken.
pub(crate) type Breaks = u64;

/// Called with what a server sends unasked: its subject and its content.
pub(crate) type Notify = Arc<dyn Fn(String, String) + Send + Sync>;

/// A command under way. Resolves to `None` if the product has no such command.
pub(crate) type ReplyFuture<'a> = BoxFuture<'a, Option<Reply>>;

/// The value of a reply, or the reply itself if it is an error or lost.
pub(crate) fn value(reply: Reply) -> Result<Json, Reply> {
    match reply {
        Reply::Value(value) => Ok(value),
        bad => Err(bad),
    }
}

pub(crate) trait Connection: Send + Sync {
    /// Sends a command (with the source of a script) and waits for its answer.
    fn send<'a>(
        &'a mut self,
        command: &'a Command,
        script: Option<&'a str>,
        breaks: Breaks,
    ) -> ReplyFuture<'a>;

    /// The connection's id as the server shows it to other clients, if it does.
    fn session(&self) -> Option<i64> {
        None
    }

    /// Waits until everything that the server has sent unasked has been reported.
    fn settle(&mut self) -> BoxFuture<'_, ()> {
        future::ready(()).boxed()
    }

    /// Reconnects, if needed, before the next command. If the server cannot be reached, the next command reports it.
    fn reach(&mut self, _: Breaks) -> BoxFuture<'_, ()> {
        future::ready(()).boxed()
    }

    /// Waits until it is connected, if its library connects by itself, and reconnects otherwise.
    fn come_back(&mut self, breaks: Breaks) -> BoxFuture<'_, ()> {
        self.reach(breaks)
    }

    /// Deletes everything that the server holds, and clears the watches on the paths `watched`.
    fn empty<'a>(&'a mut self, watched: &'a [String]) -> BoxFuture<'a, Result<(), Reply>>;
}
