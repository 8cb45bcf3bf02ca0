//! A client's way to one Redis server.

use futures::{FutureExt, future::BoxFuture};
use redis::{RedisResult, aio::MultiplexedConnection};

use super::connection;
use crate::{
    log::{Command, Reply},
    server::connection::{Asked, Breaks, Connection, ServerAddress, value},
};

/// The way to one Redis server: connected when it is first needed, and again after it was lost. An operation that is
/// on its way when the connection breaks is lost. Whoever was idle sees the connection closed and connects again before
/// the next operation, as redis-py, go-redis and Lettuce do.
struct Client {
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

pub(crate) async fn connect(server: &ServerAddress, eager: bool) -> Result<Box<dyn Connection>, String> {
    let mut client = Client {
        address: server.address.clone(),
        password: server.password.clone(),
        connection: None,
        breaks: Breaks::default(),
        tested: server.hangs_up,
        sure: false,
    };
    if eager {
        client.connect(Breaks::default()).await.map_err(|error| error.to_string())?;
    }
    Ok(Box::new(client))
}

impl Client {
    async fn connect(&mut self, breaks: Breaks) -> RedisResult<&mut MultiplexedConnection> {
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

    async fn ask(&mut self, breaks: Breaks, command: redis::Cmd) -> Reply {
        let reply = match self.connect(breaks).await {
            Ok(connection) => connection::reply(command.query_async(connection).await),
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

impl Connection for Client {
    fn send<'a>(&'a mut self, command: &'a Command, script: Option<&'a str>, breaks: Breaks) -> Asked<'a> {
        async move {
            let command = match (command, script) {
                (Command::Redis(words), _) => {
                    let Some((name, args)) = words.split_first() else {
                        let text = "an empty command".to_owned();
                        return Some(Reply::Error { code: "EMPTY".to_owned(), text });
                    };
                    redis::cmd(name).arg(args).to_owned()
                }
                // As one `EVAL`, so that it is one command on the wire, always.
                (Command::Script { keys, args, .. }, Some(script)) => {
                    redis::cmd("EVAL").arg(script).arg(keys.len()).arg(keys).arg(args).to_owned()
                }
                _ => return None,
            };
            Some(self.ask(breaks, command).await)
        }
        .boxed()
    }

    fn reach(&mut self, breaks: Breaks) -> BoxFuture<'_, ()> {
        async move { self.sure = self.connect(breaks).await.is_ok() }.boxed()
    }

    fn empty<'a>(&'a mut self, _: &'a [String]) -> BoxFuture<'a, Result<(), Reply>> {
        async { value(self.ask(self.breaks, redis::cmd("FLUSHALL")).await).map(drop) }.boxed()
    }
}
