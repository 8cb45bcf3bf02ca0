//! A client's connection to one Redis server.

use futures::{FutureExt, future::BoxFuture};
use redis::{PushInfo, PushKind, RedisResult, aio::MultiplexedConnection};

use super::connection;
use crate::{
    log::{Command, Reply},
    server::connection::{Breaks, Connection, Notify, ReplyFuture, ServerAddress, TOO_LONG_CODE, value},
};

/// A client of one Redis server: connected on first use, and again after a loss. An operation in flight when the
/// connection breaks is lost. An idle client sees the connection closed and reconnects before the next operation, as
/// redis-py, go-redis and Lettuce do.
struct Client {
    address: String,
    password: Option<String>,
    connection: Option<MultiplexedConnection>,
    /// How many connections had broken when this one was opened.
    breaks: Breaks,
    /// Whether a connection is tested with a PING before it is used again.
    tested: bool,
    /// Whether it has just been tested, for the next operation.
    sure: bool,
    /// Receives published messages, if the client subscribes to any. A new connection has no subscriptions.
    notify: Option<Notify>,
}

pub(crate) async fn connect(
    server: &ServerAddress,
    eager: bool,
    notify: Notify,
) -> Result<Box<dyn Connection>, String> {
    let mut client = Client {
        address: server.address.clone(),
        password: server.password.clone(),
        connection: None,
        breaks: Breaks::default(),
        tested: server.hangs_up,
        sure: false,
        notify: server.listens.then_some(notify),
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
            empty => {
                let heard = self.notify.clone().map(|notify| {
                    move |push| -> Result<(), ()> {
                        if let Some((channel, message)) = message(push) {
                            notify(channel, message);
                        }
                        Ok(())
                    }
                });
                let made = connection::connect(&self.address, self.password.as_deref(), heard).await?;
                Ok(empty.insert(made))
            }
        }
    }

    async fn ask(&mut self, breaks: Breaks, command: redis::Cmd) -> Reply {
        let listens = self.notify.is_some();
        let reply = match self.connect(breaks).await {
            Ok(connection) => {
                let answer = command.query_async(connection).await;
                connection::reply(if listens { answer.map(connection::in_resp2) } else { answer })
            }
            Err(error) => Reply::Lost(error.to_string()),
        };
        let broken = match &reply {
            Reply::Lost(_) => true,
            Reply::Error { code, .. } => code == TOO_LONG_CODE,
            Reply::Value(_) => false,
        };
        if broken {
            self.connection = None;
        }
        reply
    }
}

impl Connection for Client {
    fn send<'a>(
        &'a mut self,
        command: &'a Command,
        script: Option<&'a str>,
        breaks: Breaks,
    ) -> ReplyFuture<'a> {
        async move {
            let command = match (command, script) {
                (Command::Redis(words), _) => {
                    let Some((name, args)) = words.split_first() else {
                        let text = "an empty command".to_owned();
                        return Some(Reply::Error { code: "EMPTY".to_owned(), text });
                    };
                    redis::cmd(name).arg(args).to_owned()
                }
                // As one `EVAL`, so that it is always a single command on the wire.
                (Command::Script { keys, args, .. }, Some(script)) => {
                    redis::cmd("EVAL").arg(script).arg(keys.len()).arg(keys).arg(args).to_owned()
                }
                _ => return None,
            };
            Some(self.ask(breaks, command).await)
        }
        .boxed()
    }

    /// Messages and replies come over one connection, in the order in which the server sent them, and messages are
    /// reported when they are read.
    fn settle(&mut self) -> BoxFuture<'_, ()> {
        async {
            if self.notify.is_some()
                && let Some(connection) = &mut self.connection
            {
                // An error means that no more will come over this connection either.
                let _ = redis::cmd("PING").exec_async(connection).await;
            }
        }
        .boxed()
    }

    fn reach(&mut self, breaks: Breaks) -> BoxFuture<'_, ()> {
        async move { self.sure = self.connect(breaks).await.is_ok() }.boxed()
    }

    fn empty<'a>(&'a mut self, _: &'a [String]) -> BoxFuture<'a, Result<(), Reply>> {
        async {
            // Scripts and functions are kept apart from the keys.
            for words in [&["FLUSHALL"][..], &["SCRIPT", "FLUSH"], &["FUNCTION", "FLUSH"]] {
                let command = redis::cmd(words[0]).arg(&words[1..]).to_owned();
                value(self.ask(self.breaks, command).await)?;
            }
            Ok(())
        }
        .boxed()
    }
}

/// A published message: its channel and its content. `None` for other pushed data.
fn message(PushInfo { kind, mut data }: PushInfo) -> Option<(String, String)> {
    if !matches!(kind, PushKind::Message | PushKind::PMessage | PushKind::SMessage) {
        return None;
    }
    // After a pattern subscription the matching pattern precedes the channel.
    let (message, channel) = (data.pop()?, data.pop()?);
    let text = |value| redis::from_redis_value(value).map(connection::text_of);
    Some((text(channel).ok()?, text(message).ok()?))
}
