//! One actor's session with one ZooKeeper server, and its watches.

use std::{sync::Arc, time::Duration};

use futures::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use zookeeper_client::{
    Acls, Client, CreateMode, CreateOptions, Error, MultiWriteResult, OneshotWatcher, SessionState, Stat,
};

use crate::{
    log::{
        Command, Reply,
        product::zookeeper::{Call, RECONNECTED, SUSPENDED},
    },
    server::connection::{Breaks, Connection, Notify, ReplyFuture, ServerAddress},
};

/// How often a client tries to open its first session. The library gives up after the session's timeout, in which a busy
/// machine may not come to answer dozens of clients that start together.
const TRIES: usize = 5;

struct Session {
    client: Client,
    address: String,
    timeout: Duration,
    /// Whether the client receives the state changes of its session.
    listens: bool,
    notify: Notify,
    /// A channel to each watch that has not fired, to ask whether it has by now.
    watches: Vec<mpsc::UnboundedSender<oneshot::Sender<()>>>,
}

pub(crate) async fn connect(
    server: &ServerAddress,
    timeout: Duration,
    notify: Notify,
) -> Result<Box<dyn Connection>, String> {
    let (address, listens) = (server.address.clone(), server.listens);
    let mut opened = open(&address, timeout).await;
    for _ in 1..TRIES {
        if !matches!(opened, Err(Error::Timeout)) {
            break;
        }
        opened = open(&address, timeout).await;
    }
    let client = opened.map_err(|error| error.to_string())?;
    let session = Session { client, address, timeout, listens, notify, watches: Vec::new() };
    session.follow();
    Ok(Box::new(session))
}

async fn open(address: &str, timeout: Duration) -> Result<Client, Error> {
    Client::connector().with_session_timeout(timeout).connect(address).await
}

impl Connection for Session {
    fn send<'a>(&'a mut self, command: &'a Command, _: Option<&'a str>, _: Breaks) -> ReplyFuture<'a> {
        async move {
            match command {
                Command::Zookeeper(call) => Some(self.call(call).await),
                _ => None,
            }
        }
        .boxed()
    }

    fn session(&self) -> Option<i64> {
        Some(self.client.session_id().0)
    }

    /// ZooKeeper sends the notifications and the replies of a session in order, so a read whose reply has arrived is
    /// preceded by all earlier notifications. (ZooKeeper Programmer's Guide, "What ZooKeeper Guarantees about
    /// Watches".) The read also keeps the session alive.
    fn settle(&mut self) -> BoxFuture<'_, ()> {
        async {
            self.watches.retain(|watch| !watch.is_closed());
            // While it is disconnected, nothing more arrives.
            if self.client.state() != SessionState::SyncConnected {
                return;
            }
            let mut states = self.client.state_watcher();
            tokio::select! {
                // The outcome does not matter: an error means that no more will arrive on this session either.
                _ = self.client.check_stat("/") => {}
                _ = states.changed() => return,
            }
            for watch in &self.watches {
                let (answer, answered) = oneshot::channel();
                if watch.send(answer).is_ok() {
                    // A watch that fires meanwhile drops the question, which also counts as an answer.
                    let _ = answered.await;
                }
            }
        }
        .boxed()
    }

    fn come_back(&mut self, _: Breaks) -> BoxFuture<'_, ()> {
        async {
            let mut states = self.client.state_watcher();
            let connected = async {
                while states.state() == SessionState::Disconnected {
                    states.changed().await;
                }
            };
            // If it takes longer than this, the session has ended, and the next request is told so.
            let _ = tokio::time::timeout(self.timeout, connected).await;
        }
        .boxed()
    }

    fn empty<'a>(&'a mut self, watched: &'a [String]) -> BoxFuture<'a, Result<(), Reply>> {
        async move {
            // A watch on a node that does not exist stays until the node is created.
            for path in watched {
                let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
                for path in parents.chain([path.as_str()]).filter(|path| !path.is_empty()) {
                    let path = path.to_owned();
                    // Whether the node existed before does not matter.
                    let _ = self
                        .client
                        .create(&path, &[], &CreateMode::Persistent.with_acls(Acls::anyone_all()))
                        .await;
                }
            }
            self.delete_all().await
        }
        .boxed()
    }
}

impl Session {
    async fn call(&mut self, call: &Call) -> Reply {
        self.try_call(call).await.unwrap_or_else(|error| match error {
            Error::SessionExpired if self.listens => {
                Reply::Error { code: "SessionExpired".to_owned(), text: String::new() }
            }
            error => failed(&error),
        })
    }

    /// Reports the state changes of the session until it ends.
    fn follow(&self) {
        if !self.listens {
            return;
        }
        let (mut states, notify) = (self.client.state_watcher(), Arc::clone(&self.notify));
        tokio::spawn(async move {
            let tell = |what: &str| notify("session".to_owned(), what.to_owned());
            let mut connected = true;
            loop {
                match states.changed().await {
                    SessionState::Disconnected => tell(SUSPENDED),
                    SessionState::SyncConnected => {
                        // The connection was lost and restored between two changes seen here.
                        if connected {
                            tell(SUSPENDED);
                        }
                        tell(RECONNECTED);
                    }
                    SessionState::Expired => return tell("Expired"),
                    _ => return,
                }
                connected = states.peek_state() == SessionState::SyncConnected;
            }
        });
    }

    async fn try_call(&mut self, call: &Call) -> Result<Reply, Error> {
        let value = match call {
            Call::Create { sequential, path, data, .. } => {
                let (_, sequence) = self.client.create(path, data.as_bytes(), &options(call)).await?;
                if *sequential { format!("{path}{sequence}").into() } else { path.clone().into() }
            }
            Call::Delete { path, version } => {
                self.client.delete(path, *version).await?;
                "OK".into()
            }
            Call::Connect => {
                self.client = open(&self.address, self.timeout).await?;
                self.watches.clear();
                self.follow();
                "OK".into()
            }
            // Programs of lessons cannot make this call.
            Call::Close => return Err(Error::ClientClosed),
            Call::Multi { calls } => {
                let mut multi = self.client.new_multi_writer();
                for call in calls {
                    match call {
                        Call::Create { path, data, .. } => {
                            multi.add_create(path, data.as_bytes(), &options(call))?;
                        }
                        Call::Delete { path, version } => multi.add_delete(path, *version)?,
                        Call::Set { path, data, version } => {
                            multi.add_set_data(path, data.as_bytes(), *version)?;
                        }
                        // The other calls were refused when the call was parsed.
                        other => multi.add_check_version(other.path(), checked(other))?,
                    }
                }
                let results = multi.commit().await?.into_iter().map(|result| match result {
                    MultiWriteResult::Create { path, .. } => path.into(),
                    MultiWriteResult::SetData { stat } => stat_json(Some(stat)),
                    _ => "OK".into(),
                });
                results.collect::<Vec<serde_json::Value>>().into()
            }
            Call::Sync { path } => {
                self.client.sync(path).await?;
                "OK".into()
            }
            // A check outside a `multi` only reads the stat.
            Call::Check { path, .. } | Call::Exists { watch: false, path } => {
                stat_json(self.client.check_stat(path).await?)
            }
            Call::Exists { watch: true, path } => {
                let (stat, watcher) = self.client.check_and_watch_stat(path).await?;
                self.watch(watcher);
                stat_json(stat)
            }
            Call::Get { watch: false, path } => text(&self.client.get_data(path).await?.0),
            Call::Get { watch: true, path } => {
                let (data, _, watcher) = self.client.get_and_watch_data(path).await?;
                self.watch(watcher);
                text(&data)
            }
            Call::Ls { watch: false, path } => self.client.get_children(path).await?.0.into(),
            Call::Ls { watch: true, path } => {
                let (children, _, watcher) = self.client.get_and_watch_children(path).await?;
                self.watch(watcher);
                children.into()
            }
            Call::Set { path, data, version } => {
                let stat = self.client.set_data(path, data.as_bytes(), *version).await?;
                stat_json(Some(stat))
            }
        };
        Ok(Reply::Value(value))
    }

    /// Reports when a watch fires. It can be asked at any time whether it has, so that [`Connection::settle`] need not
    /// wait for it.
    fn watch(&mut self, watcher: OneshotWatcher) {
        let (ask, mut asked) = mpsc::unbounded_channel::<oneshot::Sender<()>>();
        self.watches.retain(|watch| !watch.is_closed());
        self.watches.push(ask);
        let notify = Arc::clone(&self.notify);
        tokio::spawn(async move {
            let fired = watcher.changed();
            tokio::pin!(fired);
            loop {
                tokio::select! {
                    // A watch that has fired is reported before the question is answered.
                    biased;
                    event = &mut fired => {
                        notify(event.path.clone(), format!("{:?}", event.event_type));
                        return;
                    }
                    question = asked.recv() => match question {
                        Some(answer) => drop(answer.send(())),
                        None => return,
                    },
                }
            }
        });
    }

    /// Deletes every node but ZooKeeper's own, children before parents.
    /// Requests are sent without waiting for the answers to those before: a session's are carried out in order.
    async fn delete_all(&self) -> Result<(), Reply> {
        let mut found = vec!["/".to_owned()];
        let mut listed = 0;
        while listed < found.len() {
            let level = found[listed..].to_vec();
            listed = found.len();
            let asked: Vec<_> = level.iter().map(|path| self.client.list_children(path)).collect();
            for (path, names) in level.iter().zip(join_all(asked).await) {
                let below = path.trim_end_matches('/');
                let paths = unless_deleted(names)?.into_iter().map(|name| format!("{below}/{name}"));
                found.extend(paths.filter(|path| path != "/zookeeper"));
            }
        }
        let deleted: Vec<_> = found.iter().skip(1).rev().map(|path| self.client.delete(path, None)).collect();
        join_all(deleted).await.into_iter().try_for_each(unless_deleted)
    }
}

/// The answer about a node, or nothing if the node is gone: its client's session may just have ended.
fn unless_deleted<T: Default>(answer: Result<T, Error>) -> Result<T, Reply> {
    match answer {
        Err(Error::NoNode) => Ok(T::default()),
        answer => answer.map_err(|error| failed(&error)),
    }
}

fn options(create: &Call) -> CreateOptions<'static> {
    let Call::Create { ephemeral, sequential, container, ttl, .. } = create else {
        return CreateMode::Persistent.with_acls(Acls::anyone_all());
    };
    let mode = match (ephemeral, sequential) {
        _ if *container => CreateMode::Container,
        (false, false) => CreateMode::Persistent,
        (false, true) => CreateMode::PersistentSequential,
        (true, false) => CreateMode::Ephemeral,
        (true, true) => CreateMode::EphemeralSequential,
    };
    let options = mode.with_acls(Acls::anyone_all());
    match ttl {
        Some(ttl) => options.with_ttl(Duration::from_millis(*ttl)),
        None => options,
    }
}

/// The version that a `check` requires; -1 matches any.
fn checked(check: &Call) -> i32 {
    match check {
        Call::Check { version, .. } => version.unwrap_or(-1),
        _ => -1,
    }
}

fn text(data: &[u8]) -> serde_json::Value {
    String::from_utf8_lossy(data).into_owned().into()
}

fn stat_json(stat: Option<Stat>) -> serde_json::Value {
    stat.map_or(serde_json::Value::Null, |stat| {
        json!({
            "czxid": stat.czxid,
            "mzxid": stat.mzxid,
            "pzxid": stat.pzxid,
            "ctime": stat.ctime,
            "mtime": stat.mtime,
            "version": stat.version,
            "cversion": stat.cversion,
            "aversion": stat.aversion,
            "length": stat.data_length,
            "children": stat.num_children,
            "owner": stat.ephemeral_owner,
        })
    })
}

/// The server's own error codes keep their names; an error after which the outcome is unknown is a lost reply.
fn failed(error: &Error) -> Reply {
    match error {
        Error::ConnectionLoss => Reply::Lost("the connection to the server was lost".to_owned()),
        Error::SessionExpired | Error::Timeout | Error::Custom(_) | Error::ClientClosed => {
            Reply::Lost(error.to_string())
        }
        // The variant's name is the code in ZooKeeper's own words.
        other => Reply::Error {
            code: format!("{other:?}").split([' ', '(', '{']).next().unwrap_or_default().to_owned(),
            text: String::new(),
        },
    }
}
