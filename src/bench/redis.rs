//! Locks on Redis: `SET NX PX` with a token per turn, released by a script that compares the token.

use std::{sync::Arc, time::Duration};

use futures::{
    FutureExt,
    future::{BoxFuture, join_all, try_join_all},
};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, ProtocolVersion, PushInfo, PushKind, Value,
    aio::MultiplexedConnection, cmd,
};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use super::{Contender, Failed, LEASE, Servers, Site, random};

/// Takes the lock and returns nil, or returns for how many more milliseconds another client has it.
const ACQUIRE: &str = "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end \
    return redis.call('pttl', KEYS[1])";

const RELEASE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// The name of the key is also the name of the channel.
const RELEASE_AND_PUBLISH: &str = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end \
    redis.call('del', KEYS[1]) redis.call('publish', KEYS[1], 'free') return 1";

/// How long Redlock waits for one server: much less than the lease, much more than a reply takes.
const PER_SERVER_TIMEOUT: Duration = Duration::from_millis(50);

/// Generous, because a busy machine is no failure.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

struct Node {
    connection: MultiplexedConnection,
    site: Arc<Site>,
}

impl Node {
    async fn open(
        site: &Arc<Site>,
        place: &ConnectionInfo,
        notify: Option<Arc<Notify>>,
    ) -> Result<Self, Failed> {
        let mut config = AsyncConnectionConfig::new().set_response_timeout(Some(REPLY_TIMEOUT));
        let mut place = place.clone();
        if let Some(notify) = notify {
            let settings = place.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
            place = place.set_redis_settings(settings);
            let counter = Arc::clone(site);
            config = config.set_push_sender(move |push: PushInfo| -> Result<(), ()> {
                if push.kind == PushKind::Message {
                    counter.count_notification();
                    notify.notify_one();
                }
                Ok(())
            });
        }
        let connection = Client::open(place)?.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(Self { connection, site: Arc::clone(site) })
    }

    async fn ask(&mut self, command: &Cmd) -> Result<Value, Failed> {
        self.site.count_request();
        Ok(command.query_async(&mut self.connection).await?)
    }

    async fn run(&mut self, script: &str, arguments: &[&str]) -> Result<Value, Failed> {
        let key = self.site.name.clone();
        self.ask(cmd("EVAL").arg(script).arg(1).arg(key).arg(arguments)).await
    }

    /// Whether the lock was free and now belongs to this token.
    async fn set(&mut self, token: &str) -> Result<bool, Failed> {
        let mut command = cmd("SET");
        command.arg(&self.site.name).arg(token).arg("NX").arg("PX").arg(lease());
        Ok(self.ask(&command).await? == Value::Okay)
    }

    async fn release(&mut self, script: &str, token: &str) -> Result<(), Failed> {
        match self.run(script, &[token]).await? {
            Value::Int(1) => Ok(()),
            _ => Err("the lock was not the holder's any more when it released it".into()),
        }
    }
}

fn lease() -> String {
    LEASE.as_millis().to_string()
}

/// A value that no other client writes into the key, fresh for each turn.
fn token() -> String {
    format!("{:016x}", random())
}

async fn nodes(site: &Arc<Site>, notify: Option<Arc<Notify>>) -> Result<Vec<Node>, Failed> {
    let Servers::Redis(places) = &site.servers else { return Err("these are no Redis servers".into()) };
    try_join_all(places.iter().map(|place| Node::open(site, place, notify.clone()))).await
}

async fn first(site: &Arc<Site>, notify: Option<Arc<Notify>>) -> Result<Node, Failed> {
    nodes(site, notify).await?.into_iter().next().ok_or_else(|| "no server is given".into())
}

struct Polling(Node, String);

pub(super) async fn polling(site: Arc<Site>) -> Result<Box<dyn Contender>, Failed> {
    Ok(Box::new(Polling(first(&site, None).await?, String::new())))
}

impl Contender for Polling {
    fn lock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        async {
            self.1 = token();
            while !self.0.set(&self.1).await? {
                self.0.site.pause().await;
            }
            Ok(())
        }
        .boxed()
    }

    fn unlock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        self.0.release(RELEASE, &self.1).boxed()
    }
}

/// Waits as Redisson does: subscribe, try again, sleep until a message or the end of the lease.
struct Messages {
    node: Node,
    token: String,
    notify: Arc<Notify>,
}

pub(super) async fn messages(site: Arc<Site>) -> Result<Box<dyn Contender>, Failed> {
    let notify = Arc::new(Notify::new());
    let node = first(&site, Some(Arc::clone(&notify))).await?;
    Ok(Box::new(Messages { node, token: String::new(), notify }))
}

impl Messages {
    /// Returns `None` if this client now has the lock, else for how long another client has it.
    async fn acquire(&mut self) -> Result<Option<Duration>, Failed> {
        match self.node.run(ACQUIRE, &[&self.token, &lease()]).await? {
            Value::Nil => Ok(None),
            // Negative if the key expired between the script's `set` and `pttl`.
            Value::Int(left) => Ok(Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))),
            other => Err(format!("the server answered {other:?}").into()),
        }
    }

    async fn wait(&mut self) -> Result<(), Failed> {
        self.token = token();
        if self.acquire().await?.is_none() {
            return Ok(());
        }
        let channel = self.node.site.name.clone();
        self.node.ask(cmd("SUBSCRIBE").arg(&channel)).await?;
        while let Some(left) = self.acquire().await? {
            let _ = timeout(left, self.notify.notified()).await;
        }
        self.node.ask(cmd("UNSUBSCRIBE").arg(&channel)).await?;
        Ok(())
    }
}

impl Contender for Messages {
    fn lock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        self.wait().boxed()
    }

    fn unlock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        self.node.release(RELEASE_AND_PUBLISH, &self.token).boxed()
    }
}

/// The lock is held if a majority of the servers granted it and enough of the lease is left.
struct Redlock(Vec<Node>, String);

pub(super) async fn redlock(site: Arc<Site>) -> Result<Box<dyn Contender>, Failed> {
    Ok(Box::new(Redlock(nodes(&site, None).await?, String::new())))
}

impl Redlock {
    async fn attempt(&mut self) -> bool {
        let began = Instant::now();
        let Self(nodes, token) = self;
        let granted =
            join_all(nodes.iter_mut().map(|node| timeout(PER_SERVER_TIMEOUT, node.set(token)))).await;
        let granted = granted.iter().filter(|answer| matches!(answer, Ok(Ok(true)))).count();
        // Drift as in the Redlock algorithm: one percent of the lease, and 2 ms for the granularity of expiry.
        let drift = LEASE / 100 + Duration::from_millis(2);
        granted > self.0.len() / 2 && began.elapsed() + drift < LEASE
    }

    /// Releases on all servers, also on those whose grant was not heard. Returns how many of them had the lock.
    async fn release(&mut self) -> usize {
        let Self(nodes, token) = self;
        let released =
            join_all(nodes.iter_mut().map(|node| timeout(REPLY_TIMEOUT, node.release(RELEASE, token)))).await;
        released.iter().filter(|answer| matches!(answer, Ok(Ok(())))).count()
    }
}

impl Contender for Redlock {
    fn lock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        async {
            loop {
                self.1 = token();
                if self.attempt().await {
                    return Ok(());
                }
                self.release().await;
                self.0[0].site.pause().await;
            }
        }
        .boxed()
    }

    fn unlock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        async {
            let released = self.release().await;
            if released > self.0.len() / 2 {
                return Ok(());
            }
            Err(format!("only {released} of {} servers still had the holder's lock", self.0.len()).into())
        }
        .boxed()
    }
}

pub(super) async fn clean(places: &[ConnectionInfo], name: &str) -> Result<(), Failed> {
    let clean = async |place: &ConnectionInfo| -> Result<(), Failed> {
        let mut connection = Client::open(place.clone())?.get_multiplexed_async_connection().await?;
        // A user without permission to write has written nothing, and `DEL` would only fail.
        if cmd("EXISTS").arg(name).query_async(&mut connection).await? {
            cmd("DEL").arg(name).exec_async(&mut connection).await?;
        }
        Ok(())
    };
    // Cleans all servers, even if some of them fail.
    join_all(places.iter().map(clean)).await.into_iter().collect()
}

pub(super) async fn reach(places: &[ConnectionInfo]) -> Result<(), Failed> {
    let reach = async |place: &ConnectionInfo| -> Result<(), Failed> {
        let mut connection = Client::open(place.clone())?.get_multiplexed_async_connection().await?;
        let reached = cmd("PING").exec_async(&mut connection).await;
        Ok(reached.map_err(|error| format!("{}: {error}", place.addr()))?)
    };
    try_join_all(places.iter().map(reach)).await.map(drop)
}
