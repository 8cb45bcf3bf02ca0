//! How servers are spoken to, whatever their product: one connection of one actor, or of Lockstep itself, to one server.

use std::{future, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::log::{Command, Product, Reply};

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
    /// Whether the client listens there for messages that others publish.
    #[serde(default)]
    pub listens: bool,
    /// What has to be said there first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// How often the connections to a server have broken by now.
pub(crate) type Breaks = u64;

/// Called with what a server tells without being asked: what about, and what happened there.
pub(crate) type Notify = Arc<dyn Fn(String, String) + Send + Sync>;

/// A command under way. `None`: it is no command of this product.
pub(crate) type Asked<'a> = BoxFuture<'a, Option<Reply>>;

/// The value of a reply that is neither an error nor lost.
pub(crate) fn value(reply: Reply) -> Result<Json, Reply> {
    match reply {
        Reply::Value(value) => Ok(value),
        bad => Err(bad),
    }
}

pub(crate) trait Connection: Send + Sync {
    /// Sends a command (of a script also the text) and waits for its answer.
    fn send<'a>(&'a mut self, command: &'a Command, script: Option<&'a str>, breaks: Breaks) -> Asked<'a>;

    /// The server's number for it, where it has one that it tells to others.
    fn session(&self) -> Option<i64> {
        None
    }

    /// Waits until everything that the server told so far without being asked has been reported.
    fn settle(&mut self) -> BoxFuture<'_, ()> {
        future::ready(()).boxed()
    }

    /// Connects anew, where that is needed, before the next command. A server that cannot be reached is the next
    /// command's business.
    fn reach(&mut self, _: Breaks) -> BoxFuture<'_, ()> {
        future::ready(()).boxed()
    }

    /// Deletes everything that the server holds, and makes it forget that `watched` are watched.
    fn empty<'a>(&'a mut self, watched: &'a [String]) -> BoxFuture<'a, Result<(), Reply>>;
}
