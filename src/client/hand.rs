//! Lockstep's own hand: sends single commands from Lockstep's process, to prepare servers. Nobody takes
//! part in a lesson through it.

use std::{sync::Arc, time::Duration};

use super::protocol::Wire;
use crate::{
    log::Reply,
    server::{redis::connection as redis_client, zookeeper::session::Session},
};

/// Connections opened when they are first needed.
pub struct Hand {
    timeout: Duration,
    password: Option<String>,
    redis: Option<redis::aio::MultiplexedConnection>,
    zookeeper: Option<Session>,
}

impl Hand {
    /// A hand that has not reached out yet. `timeout` is its ZooKeeper session's, `password` what Redis
    /// servers ask for.
    pub fn new(timeout: Duration, password: Option<&str>) -> Self {
        Self { timeout, password: password.map(str::to_owned), redis: None, zookeeper: None }
    }

    /// Sends a command to the server at an address (a Unix socket's path or `host:port`), and waits for its answer no
    /// longer than the command itself may wait, and `longest` beyond.
    pub async fn send(&mut self, wire: &Wire, address: &str, longest: Duration) -> Reply {
        let longest = longest.saturating_add(wire.waits());
        let Ok(reply) = tokio::time::timeout(longest, self.ask(wire, address)).await else {
            // An answer that comes later must not be taken for another one's.
            (self.redis, self.zookeeper) = (None, None);
            return Reply::Lost(format!("no answer for {} s", longest.as_secs()));
        };
        reply
    }

    async fn ask(&mut self, wire: &Wire, address: &str) -> Reply {
        match wire {
            Wire::Redis { words, .. } => match self.redis(address).await {
                Ok(connection) => redis_client::command(connection, words).await,
                Err(lost) => lost,
            },
            Wire::Script { source, keys, args, .. } => match self.redis(address).await {
                Ok(connection) => redis_client::script(connection, source, keys, args).await,
                Err(lost) => lost,
            },
            Wire::Zookeeper { call, .. } => {
                if self.zookeeper.is_none() {
                    // A setup leaves no watches, so nothing is ever reported.
                    match Session::open(address, self.timeout, Arc::new(|_, _| {})).await {
                        Ok(session) => self.zookeeper = Some(session),
                        Err(error) => return Reply::Lost(error.to_string()),
                    }
                }
                match &mut self.zookeeper {
                    Some(session) => session.call(call).await,
                    None => Reply::Lost("no session".to_owned()),
                }
            }
            Wire::Local { .. } => {
                let text = "a local lock cannot be prepared".to_owned();
                Reply::Error { code: "LOCAL".to_owned(), text }
            }
        }
    }

    async fn redis(&mut self, address: &str) -> Result<&mut redis::aio::MultiplexedConnection, Reply> {
        match &mut self.redis {
            Some(connection) => Ok(connection),
            empty => match redis_client::connect(address, self.password.as_deref()).await {
                Ok(connection) => Ok(empty.insert(connection)),
                Err(error) => Err(Reply::Lost(error.to_string())),
            },
        }
    }
}
