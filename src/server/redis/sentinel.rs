//! One Redis Sentinel: its start, and the commands that it is asked.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use futures::{FutureExt, StreamExt};
use redis::{AsyncConnectionConfig, Client};
use tokio::sync::mpsc::{Receiver, channel};

use crate::clock::{LessonClock, LessonTime, Slot};
use crate::log::{Keyspace, Observed, SentinelNotice};
use crate::process::error::LabError;
use crate::server::boot::{Boot, Endpoint, Server, ready};
use crate::server::observe::{Observation, Observer, within};
use crate::server::redis::{access::ADMIN, observe::Known, programs::SERVER};

/// The name by which the Sentinels know the master.
const GROUP: &str = "lockstep";

/// How long a master may be silent before a Sentinel considers it down, and how long a failover may take, in
/// milliseconds of lesson time. Sentinels vote at the second of three. The first is long enough that at the fastest
/// rate a busy machine's pause does not look like a death, and much longer during the start. An election in which no
/// Sentinel got two votes is repeated after twice the failover timeout (`sentinel.c`).
const DOWN_AFTER_MS: u32 = 5000;
const DOWN_AFTER_AT_BOOT_MS: u32 = 60_000;
const FAILOVER_TIMEOUT_MS: u32 = 3000;

/// What a Sentinel is told so that a short real pause of a busy machine, many times as long in lesson time, changes nothing:
/// - how late its timer may be, in milliseconds, before it considers its clock broken (TILT): practically without a limit,
///   instead of 2 s;
/// - how long it then does nothing: one tick instead of 30 s, in case that a TILT began before this setting;
/// - how often it asks a replica for its state: each second instead of every 10 s. It passes over a replica that has not
///   answered this for 5 s, and would promote the one with the worse priority.
const FOR_BUSY_MACHINES: [&str; 8] =
    ["SENTINEL", "DEBUG", "tilt-trigger", "1000000000", "tilt-period", "100", "info-period", "1000"];

/// The most messages of a Sentinel that are kept until they are read.
const KEPT: usize = 1000;

/// What every Sentinel of a lab is told: the master that it watches, and how many must miss it.
pub(crate) struct Group {
    pub master: SocketAddr,
    pub quorum: usize,
    /// The servers and the Sentinels, by port.
    pub known: Known,
}

/// Starts a Sentinel, and subscribes to its messages.
pub(crate) async fn start(
    boot: &Boot<'_>,
    name: &str,
    (address, source): (SocketAddr, IpAddr),
    Group { master, quorum, known }: &Group,
) -> Result<Server, LabError> {
    let data = boot.workspace.make_dir(&format!("{name}-data"))?;
    let (ip, port) = (master.ip(), master.port());
    let secret = boot.secret.secret();
    let config = format!(
        "requirepass {secret}\nsentinel sentinel-pass {secret}\nbind 127.0.0.1\nport {}\nbind-source-addr {source}\ndir \"{}\"\ndaemonize no\nlogfile \"\"\n\
         sentinel myid {}\nsentinel announce-ip 127.0.0.1\nsentinel announce-port {}\n\
         sentinel monitor {GROUP} {ip} {port} {quorum}\n\
         sentinel auth-user {GROUP} {ADMIN}\nsentinel auth-pass {GROUP} {secret}\n\
         sentinel down-after-milliseconds {GROUP} {DOWN_AFTER_AT_BOOT_MS}\n\
         sentinel failover-timeout {GROUP} {FAILOVER_TIMEOUT_MS}\n\
         sentinel parallel-syncs {GROUP} 2\n",
        address.port(),
        data.display(),
        id(address.port()),
        address.port(),
    );
    let config = boot.workspace.write(&format!("{name}.conf"), &config)?;
    let program = (SERVER.find)(boot.search)?;
    let started = boot.start(name, &program, &[config.into(), "--sentinel".into()])?;
    // The port may have been taken by another lab's Sentinel; this lab's then ends, which is noticed. Its own process
    // is recognized by the master that it watches.
    ready(&started.0, || async { (primary(address, secret).await?.port() == port).then_some(()) }).await?;
    // Available since Redis 7.0.
    let _ = ask(address, secret, &FOR_BUSY_MACHINES).await;
    let heard = Mutex::new(ready(&started.0, || listen(address, boot, known)).await?);
    let (endpoint, observer) = (Endpoint::Tcp(address), Box::new(SentinelObserver { heard }));
    Ok(Server::new(boot, "Redis Sentinel", String::new(), endpoint, started, observer))
}

/// The id of the Sentinel at a port, which it uses in votes: derived from the port, so that votes can be assigned.
fn id(port: u16) -> String {
    format!("{port:0>40}")
}

/// Subscribes to what a Sentinel publishes.
async fn listen(
    address: SocketAddr,
    boot: &Boot<'_>,
    known: &Known,
) -> Option<Receiver<(LessonTime, SentinelNotice)>> {
    let client = Client::open(format!("redis://:{}@{address}", boot.secret.secret())).ok()?;
    let mut subscribed = client.get_async_pubsub().await.ok()?;
    subscribed.psubscribe("*").await.ok()?;
    let (tell, heard) = channel(KEPT);
    let (clock, known) = (boot.clock.clone(), Known::clone(known));
    // It ends with the Sentinel.
    tokio::spawn(async move {
        let name = |port: &str| known.get(&port.trim_start_matches('0').parse().ok()?).cloned();
        let mut messages = subscribed.into_on_message();
        while let Some(message) = messages.next().await {
            let text = message.get_payload::<String>().unwrap_or_default();
            if let Some(notice) = SentinelNotice::read(message.get_channel_name(), &text, name) {
                // Messages without room are dropped: nobody reads them.
                let _ = tell.try_send((clock.now(), notice));
            }
        }
    });
    Some(heard)
}

/// The number of healthy replicas of the master and of other healthy Sentinels that a Sentinel knows.
pub(crate) async fn healthy_peers(address: SocketAddr, secret: &str) -> Option<(usize, usize)> {
    let replicas = count_healthy(ask(address, secret, &["SENTINEL", "REPLICAS", GROUP]).await?);
    let sentinels = count_healthy(ask(address, secret, &["SENTINEL", "SENTINELS", GROUP]).await?);
    Some((replicas, sentinels))
}

/// Whether a Sentinel acts. A Sentinel whose timer was late by 2 s of its time (during the start, by a slow disk for a
/// tenth of that in real time) considers its clock broken and does nothing for 30 s: TILT. Redis before 7.0 cannot be
/// configured otherwise.
pub(crate) async fn is_active(address: SocketAddr, secret: &str) -> Option<()> {
    // Asked twice: a pause that has just ended is noticed by the timer, only after the first answer.
    ask(address, secret, &["INFO", "sentinel"]).await?;
    let info = ask(address, secret, &["INFO", "sentinel"]).await?;
    let info: String = redis::from_redis_value(info).ok()?;
    info.lines().any(|line| line.trim() == "sentinel_tilt:0").then_some(())
}

/// Sets the normal down-after time, which was longer while the servers started.
pub(crate) async fn set_normal_down_after(address: SocketAddr, secret: &str) -> Option<()> {
    let after = DOWN_AFTER_MS.to_string();
    let words = ["SENTINEL", "SET", GROUP, "down-after-milliseconds", &after];
    ask(address, secret, &words).await.map(drop)
}

pub(crate) async fn primary(address: SocketAddr, secret: &str) -> Option<SocketAddr> {
    let answer = ask(address, secret, &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP]).await?;
    let (ip, port): (String, u16) = redis::from_redis_value(answer).ok()?;
    Some(SocketAddr::new(ip.parse().ok()?, port))
}

fn count_healthy(answer: redis::Value) -> usize {
    use std::collections::HashMap;
    let peers: Vec<HashMap<String, String>> = redis::from_redis_value(answer).unwrap_or_default();
    let flags = peers.iter().filter_map(|peer| peer.get("flags"));
    // The address and the run id of a peer are known once it has answered; until then it is down or disconnected.
    flags.filter(|flags| !flags.contains("down") && !flags.contains("disconnected")).count()
}

async fn ask(address: SocketAddr, secret: &str, words: &[&str]) -> Option<redis::Value> {
    let client = Client::open(format!("redis://:{secret}@{address}")).ok()?;
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await.ok()?;
    let (name, arguments) = words.split_first()?;
    within(redis::cmd(name).arg(arguments).query_async::<redis::Value>(&mut connection)).await.ok()
}

/// A Sentinel holds no keys: its messages are all that can be observed.
#[derive(Debug)]
struct SentinelObserver {
    heard: Mutex<Receiver<(LessonTime, SentinelNotice)>>,
}

impl Observer for SentinelObserver {
    fn observe<'a>(&'a self, _: &'a LessonClock, _: Option<&'a Slot>) -> Observation<'a, Observed> {
        async { Ok(Observed::Redis(Keyspace::default())) }.boxed()
    }

    fn metric<'a>(&'a self, _: &'a str) -> Observation<'a, Option<i64>> {
        async { Ok(None) }.boxed()
    }

    fn notices(&self) -> Vec<(LessonTime, SentinelNotice)> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| heard.try_recv().ok()).collect()
    }

    fn metric_names(&self) -> &'static str {
        "a Sentinel has none"
    }
}
