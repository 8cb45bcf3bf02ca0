//! Reads what a Redis server holds.
//!
//! Observing hardly disturbs: it is one read-only script, so it sees a single moment of the server, and it writes
//! nothing. Two traces remain. A key past its TTL that no client has touched yet is deleted when the script reads it,
//! as for any client (lazy expiry); it reads as absent either way. And the server's counters of commands include the
//! script.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, RedisError, Value,
};
use tokio::sync::Mutex;

use crate::clock::{LessonClock, Slot};
use crate::log::{ClusterNode, KeyState, KeyValue, Keyspace, Observed, Role};
use crate::server::observe::{Observation, ObserveError, Observer, Waiting, within};

const LOOK: &str = include_str!("observe.lua");

/// The most keys that are read, in the order of their names.
const KEYS: usize = 200;
/// The most elements that are read of a list, set, sorted set or hash.
const ELEMENTS: usize = 100;
/// How many times an observation is tried if its connection breaks.
const TRIES: usize = 5;
/// The most bytes that are read of a name, a string or an element; the script also limits their total.
const BYTES: usize = 1024;

/// The ports that servers announce to each other, with the servers' names.
pub(crate) type Known = Arc<HashMap<u16, String>>;

/// What a server is asked besides its keys, if the lab has several servers.
#[derive(Debug, Clone)]
pub(crate) struct InTopology {
    pub known: Known,
    /// Whether it is a node of a cluster.
    pub cluster: bool,
}

impl From<RedisError> for ObserveError {
    fn from(error: RedisError) -> Self {
        let why = error.to_string();
        if error.is_unrecoverable_error() { Self::Broken(why) } else { Self::Failed(why) }
    }
}

/// A connection for observing, opened on first use and again after a loss.
#[derive(Debug)]
pub(crate) struct RedisObserver {
    socket: PathBuf,
    password: Option<String>,
    asked: Option<InTopology>,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl RedisObserver {
    pub fn new(socket: &Path, password: Option<&str>, asked: Option<InTopology>) -> Self {
        Self {
            socket: socket.to_path_buf(),
            password: password.map(str::to_owned),
            asked,
            connection: Mutex::new(None),
        }
    }

    /// The reply of `ROLE`, which scripts may not call, so it is a second request.
    async fn role(&self) -> Result<Option<Role>, ObserveError> {
        let Some(InTopology { known, .. }) = &self.asked else { return Ok(None) };
        let answer: Vec<Value> = self.ask(&redis::cmd("ROLE")).await?;
        Ok(Some(match answer.as_slice() {
            [kind, _, Value::Int(port), ..] if text(kind) == "slave" => Role::Replica {
                of: u16::try_from(*port)
                    .ok()
                    .and_then(|port| known.get(&port).cloned())
                    .unwrap_or_else(|| port.to_string()),
            },
            _ => Role::Master,
        }))
    }

    fn in_cluster(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.cluster)
    }

    async fn cluster(&self) -> Result<Option<ClusterNode>, ObserveError> {
        if !self.in_cluster() {
            return Ok(None);
        }
        let nodes: String = self.ask(redis::cmd("CLUSTER").arg("NODES")).await?;
        let info: String = self.ask(redis::cmd("CLUSTER").arg("INFO")).await?;
        Ok(ClusterNode::read(&nodes, &info))
    }

    pub async fn info(&self, field: &str) -> Result<Option<String>, ObserveError> {
        let text: String = self.ask(redis::cmd("INFO").arg("everything")).await?;
        Ok(read_info(&text, field).map(str::to_owned))
    }

    async fn ask<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, ObserveError> {
        for _ in 1..TRIES {
            match self.ask_once(command).await {
                // Sentinel closes all connections to a server when it changes the server's role, and may do so several
                // times. An observation can be repeated.
                Err(ObserveError::Broken(_)) => {}
                answer => return answer,
            }
        }
        self.ask_once(command).await
    }

    async fn ask_once<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, ObserveError> {
        let mut connection = within(self.connect()).await?;
        let answer = within(command.query_async(&mut connection)).await;
        if let Err(ObserveError::Broken(_)) = &answer {
            // The next request opens a new connection.
            *self.connection.lock().await = None;
        }
        answer
    }

    async fn connect(&self) -> Result<MultiplexedConnection, RedisError> {
        let mut slot = self.connection.lock().await;
        if let Some(connection) = &*slot {
            return Ok(connection.clone());
        }
        let mut address = ConnectionAddr::Unix(self.socket.clone()).into_connection_info()?;
        if let Some(password) = &self.password {
            address = address.set_redis_settings(RedisConnectionInfo::default().set_password(password));
        }
        let client = Client::open(address)?;
        // Without a timeout of its own: `within` has one, and reports it properly.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        // For people who read `CLIENT LIST`.
        redis::cmd("CLIENT").arg("SETNAME").arg("lockstep-observer").exec_async(&mut connection).await?;
        if self.in_cluster() {
            // A replica of a cluster serves reads only to clients that accept stale data.
            redis::cmd("READONLY").exec_async(&mut connection).await?;
        }
        Ok(slot.insert(connection).clone())
    }
}

impl Observer for RedisObserver {
    fn observe<'a>(&'a self, clock: &'a LessonClock, slot: Option<&'a Slot>) -> Observation<'a, Observed> {
        async move {
            let mut look = redis::cmd("EVAL_RO");
            look.arg(LOOK).arg(0).arg(KEYS).arg(ELEMENTS).arg(BYTES);
            // Names are bytes: Java's serialized ones are not UTF-8.
            let seen: Vec<(Value, String, i64, Value)> = self.ask(&look).await?;
            let keys = seen.into_iter().map(|(name, kind, expires, value)| {
                // -1 means no expiry; -2, "no such key", cannot occur inside one script.
                let expires_at = (expires >= 0).then(|| clock.from_unix_millis(expires, slot));
                (text(&name), KeyState { value: key_value(kind, &value), expires_at })
            });
            let keys = keys.collect();
            let (role, cluster) = (self.role().await?, self.cluster().await?);
            Ok(Observed::Redis(Keyspace { keys, role, cluster }))
        }
        .boxed()
    }

    fn metric<'a>(&'a self, name: &'a str) -> Observation<'a, Option<i64>> {
        async { Ok(self.info(name).await?.and_then(|value| value.parse().ok())) }.boxed()
    }

    fn waiting(&self) -> Observation<'_, Waiting> {
        async {
            let text: String = self.ask(redis::cmd("INFO").arg("clients")).await?;
            let number = read_info(&text, "blocked_clients").and_then(|number| number.parse().ok());
            Ok(Waiting::Number(number.unwrap_or(0)))
        }
        .boxed()
    }

    fn field<'a>(&'a self, name: &'a str) -> Observation<'a, Option<String>> {
        self.info(name).boxed()
    }

    fn unix_millis(&self) -> Observation<'_, Option<i64>> {
        async move {
            let (seconds, micros): (i64, i64) = self.ask(&redis::cmd("TIME")).await?;
            Ok(Some(seconds * 1000 + micros / 1000))
        }
        .boxed()
    }

    fn metric_names(&self) -> &'static str {
        "`INFO everything` lists them"
    }
}

/// The value of a field of `INFO`, such as `total_commands_processed:12`.
fn read_info<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(key, _)| *key == field).map(|(_, value)| value.trim())
}

fn key_value(kind: String, value: &Value) -> KeyValue {
    match kind.as_str() {
        "string" => KeyValue::String(text(value)),
        "list" => KeyValue::List(texts(value)),
        "set" => {
            let mut members = texts(value);
            members.sort();
            KeyValue::Set(members)
        }
        "hash" => KeyValue::Hash(pairs(value).collect()),
        "zset" => KeyValue::SortedSet(pairs(value).collect()),
        "stream" => KeyValue::Stream(entries(value)),
        _ => KeyValue::Other(kind),
    }
}

/// The entries of a stream: id and fields.
fn entries(value: &Value) -> Vec<(String, BTreeMap<String, String>)> {
    let Value::Array(entries) = value else { return Vec::new() };
    let entries = entries.iter().filter_map(|entry| match entry {
        Value::Array(parts) => Some((text(parts.first()?), pairs(parts.get(1)?).collect())),
        _ => None,
    });
    entries.collect()
}

fn pairs(value: &Value) -> impl Iterator<Item = (String, String)> {
    let mut items = texts(value).into_iter();
    std::iter::from_fn(move || Some((items.next()?, items.next()?)))
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => super::connection::text_of(bytes.clone()),
        Value::SimpleString(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn info_fields_are_found_by_their_whole_name() {
        let text = "# Stats\r\ntotal_commands_processed:12\r\nexpired_keys:3\r\n";
        assert_eq!(read_info(text, "expired_keys"), Some("3"));
        assert_eq!(read_info(text, "expired"), None);
    }

    #[test]
    fn values_keep_their_type() {
        let flat = Value::Array(vec![bulk("b"), bulk("1"), bulk("a"), bulk("2")]);
        let KeyValue::Hash(hash) = key_value("hash".into(), &flat) else { panic!() };
        assert_eq!(hash["a"], "2");
        let lowest_first = vec![("b".into(), "1".into()), ("a".into(), "2".into())];
        assert_eq!(key_value("zset".into(), &flat), KeyValue::SortedSet(lowest_first));
        assert_eq!(
            key_value("set".into(), &flat),
            KeyValue::Set(["1", "2", "a", "b"].map(String::from).into())
        );
        let entry = Value::Array(vec![bulk("1-0"), Value::Array(vec![bulk("f"), bulk("v")])]);
        let fields = BTreeMap::from([("f".into(), "v".into())]);
        let stream = KeyValue::Stream(vec![("1-0".into(), fields)]);
        assert_eq!(key_value("stream".into(), &Value::Array(vec![entry])), stream);
        assert_eq!(key_value("module".into(), &bulk("")), KeyValue::Other("module".into()));
    }
}
