//! A client's way to one Redis server.

use redis::{RedisResult, aio::MultiplexedConnection};

use super::connection;
use crate::log::Reply;

/// How often the connections to a server have broken by now.
pub(crate) type Breaks = u64;

/// The way to one Redis server: connected when it is first needed, and again after it was lost. An operation that is
/// on its way when the connection breaks is lost. Whoever was idle sees the connection closed and connects again before
/// the next operation, as redis-py, go-redis and Lettuce do.
pub(crate) struct Client {
    address: String,
    password: Option<String>,
    connection: Option<MultiplexedConnection>,
    /// How often connections had broken when this one was made.
    breaks: Breaks,
    /// Whether a connection is tried with a PING before it is used again.
    tested: bool,
    /// Whether it has just been tried, for the next operation.
    sure: bool,
}

impl Client {
    pub(crate) fn new(address: &str, password: Option<&str>, tested: bool) -> Self {
        Self {
            address: address.to_owned(),
            password: password.map(str::to_owned),
            connection: None,
            breaks: Breaks::default(),
            tested,
            sure: false,
        }
    }

    /// Connects before it is needed. A server that cannot be reached is the next operation's business.
    pub(crate) async fn reach(&mut self, breaks: Breaks) {
        self.sure = self.connect(breaks).await.is_ok();
    }

    pub(crate) async fn connect(&mut self, breaks: Breaks) -> RedisResult<&mut MultiplexedConnection> {
        if self.breaks != breaks {
            (self.connection, self.breaks) = (None, breaks);
        }
        let sure = std::mem::take(&mut self.sure);
        if self.tested
            && !sure
            && let Some(connection) = &mut self.connection
            && redis::cmd("PING").exec_async(connection).await.is_err()
        {
            self.connection = None;
        }
        match &mut self.connection {
            Some(connection) => Ok(connection),
            empty => Ok(empty.insert(connection::connect(&self.address, self.password.as_deref()).await?)),
        }
    }

    pub(crate) async fn send(
        &mut self,
        breaks: Breaks,
        work: impl AsyncFnOnce(&mut MultiplexedConnection) -> Reply,
    ) -> Reply {
        let reply = match self.connect(breaks).await {
            Ok(connection) => work(connection).await,
            Err(error) => Reply::Lost(error.to_string()),
        };
        let broken = match &reply {
            Reply::Lost(_) => true,
            Reply::Error { code, .. } => code == connection::TOO_LONG_CODE,
            Reply::Value(_) => false,
        };
        if broken {
            self.connection = None;
        }
        reply
    }
}
