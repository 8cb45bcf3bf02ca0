//! One actor's session with one ZooKeeper server, and the watches that it left.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use zookeeper_client::{Acls, Client, CreateMode, Error, OneshotWatcher, Stat};

use crate::log::{Reply, ZkCall};

/// Told of every watch that fires: its path, and what happened there.
pub(crate) type Notify = Arc<dyn Fn(String, String) + Send + Sync>;

/// A session.
pub(crate) struct Session {
    client: Client,
    notify: Notify,
    /// How to ask each watch that has not fired yet whether it has by now.
    watches: Vec<mpsc::UnboundedSender<oneshot::Sender<()>>>,
}

impl Session {
    /// Opens a session.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub(crate) async fn open(address: &str, timeout: Duration, notify: Notify) -> Result<Self, Error> {
        let client = Client::connector().with_session_timeout(timeout).connect(address).await?;
        Ok(Self { client, notify, watches: Vec::new() })
    }

    /// Its session id.
    pub(crate) fn id(&self) -> i64 {
        self.client.session_id().0
    }

    /// Makes one call.
    pub(crate) async fn call(&mut self, call: &ZkCall) -> Reply {
        match self.try_call(call).await {
            Ok(reply) => reply,
            Err(error) => failed(&error),
        }
    }

    async fn try_call(&mut self, call: &ZkCall) -> Result<Reply, Error> {
        let value = match call {
            ZkCall::Create { ephemeral, sequential, path, data } => {
                let mode = match (ephemeral, sequential) {
                    (false, false) => CreateMode::Persistent,
                    (false, true) => CreateMode::PersistentSequential,
                    (true, false) => CreateMode::Ephemeral,
                    (true, true) => CreateMode::EphemeralSequential,
                };
                let options = mode.with_acls(Acls::anyone_all());
                let (_, sequence) = self.client.create(path, data.as_bytes(), &options).await?;
                if *sequential { format!("{path}{sequence}").into() } else { path.clone().into() }
            }
            ZkCall::Delete { path } => {
                self.client.delete(path, None).await?;
                "OK".into()
            }
            ZkCall::Exists { watch: false, path } => stat_json(self.client.check_stat(path).await?),
            ZkCall::Exists { watch: true, path } => {
                let (stat, watcher) = self.client.check_and_watch_stat(path).await?;
                self.watch(watcher);
                stat_json(stat)
            }
            ZkCall::Get { watch: false, path } => text(&self.client.get_data(path).await?.0),
            ZkCall::Get { watch: true, path } => {
                let (data, _, watcher) = self.client.get_and_watch_data(path).await?;
                self.watch(watcher);
                text(&data)
            }
            ZkCall::Ls { watch: false, path } => self.client.get_children(path).await?.0.into(),
            ZkCall::Ls { watch: true, path } => {
                let (children, _, watcher) = self.client.get_and_watch_children(path).await?;
                self.watch(watcher);
                children.into()
            }
            ZkCall::Set { path, data, version } => {
                let stat = self.client.set_data(path, data.as_bytes(), *version).await?;
                stat_json(Some(stat))
            }
        };
        Ok(Reply::Value(value))
    }

    /// Reports when a watch fires. It can be asked at any time whether it has: that is how
    /// [`Session::settle`] knows without waiting.
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

    /// Waits until every notification that the server sent on this session so far has been reported.
    ///
    /// ZooKeeper sends the notifications and the replies of a session in order, so a read whose reply has
    /// come has all earlier notifications before it. (ZooKeeper Programmer's Guide, "What ZooKeeper
    /// Guarantees about Watches".)
    pub(crate) async fn settle(&mut self) {
        self.watches.retain(|watch| !watch.is_closed());
        if self.watches.is_empty() {
            return;
        }
        // Its outcome does not matter: an error means that no more will come on this session either.
        let _ = self.client.check_stat("/").await;
        for watch in &self.watches {
            let (answer, answered) = oneshot::channel();
            if watch.send(answer).is_ok() {
                // A watch that fires meanwhile drops the question: that, too, is an answer.
                let _ = answered.await;
            }
        }
    }
}

fn text(data: &[u8]) -> serde_json::Value {
    String::from_utf8_lossy(data).into_owned().into()
}

fn stat_json(stat: Option<Stat>) -> serde_json::Value {
    stat.map_or(serde_json::Value::Null, |stat| {
        json!({
            "czxid": stat.czxid,
            "version": stat.version,
            "children": stat.num_children,
            "owner": stat.ephemeral_owner,
        })
    })
}

/// The server's own error codes keep their names; anything after which the outcome is unknown is a lost
/// reply.
fn failed(error: &Error) -> Reply {
    match error {
        Error::ConnectionLoss
        | Error::SessionExpired
        | Error::Timeout
        | Error::Custom(_)
        | Error::ClientClosed => Reply::Lost(error.to_string()),
        // The variant's name is the code in ZooKeeper's own words.
        other => Reply::Error {
            code: format!("{other:?}").split([' ', '(', '{']).next().unwrap_or_default().to_owned(),
            text: String::new(),
        },
    }
}
