//! One Redis Sentinel: how it is started, and what it is asked.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use futures::{FutureExt, StreamExt};
use redis::{AsyncConnectionConfig, Client};
use tokio::sync::mpsc::{Receiver, channel};

use crate::clock::{LessonClock, LessonTime, Slot};
use crate::log::{Keyspace, Observed, SentinelNotice};
use crate::process::error::LabError;
use crate::server::boot::{Boot, Endpoint, Server, ready};
use crate::server::observe::{Look, Observer, within};
use crate::server::redis::{access::KEEPER, observe::Known, programs::SERVER};

/// The name that the Sentinels know the master by.
const GROUP: &str = "lockstep";

/// How long a Sentinel waits for a master before it thinks it down, and how long a failover may take, in
/// milliseconds of lesson time. Sentinels vote at the second of three. The first is long enough that at the
/// fastest rate a busy machine's pause does not look like a death, and in the rush of the start much longer. An
/// election in which no Sentinel got two votes is held again after twice the second (`sentinel.c`).
const DOWN_AFTER_MS: u32 = 5000;
const DOWN_AFTER_AT_BOOT_MS: u32 = 60_000;
const FAILOVER_TIMEOUT_MS: u32 = 3000;

/// How late its timer may be, in milliseconds, before a Sentinel takes its clock for broken, and how long it then does
/// nothing: never in place of 2 s, and no longer than one tick where it did so before it was told, in place of 30 s.
const NO_TILT: [&str; 6] = ["SENTINEL", "DEBUG", "tilt-trigger", "1000000000", "tilt-period", "100"];

/// So many messages of a Sentinel are kept until somebody asks for them.
const KEPT: usize = 1000;

/// What every Sentinel of a lab is told: the master that it watches, and how many have to miss it.
pub(crate) struct Group {
    pub master: SocketAddr,
    pub quorum: usize,
    /// By port, the servers and the Sentinels.
    pub known: Known,
}

/// Starts a Sentinel, and listens to it.
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
         sentinel auth-user {GROUP} {KEEPER}\nsentinel auth-pass {GROUP} {secret}\n\
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
    // The port may be another lab's, which was quicker; ours then ends and is noticed. Its own process is
    // known by what it watches.
    ready(&started.0, || async { (primary(address, secret).await?.port() == port).then_some(()) }).await?;
    // On the lesson clock a short real pause of a busy machine looks like a clock that jumped. Known since Redis 7.0.
    let _ = ask(address, secret, &NO_TILT).await;
    let heard = Mutex::new(ready(&started.0, || listen(address, boot, known)).await?);
    let (endpoint, observer) = (Endpoint::Tcp(address), Box::new(SentinelObserver { heard }));
    Ok(Server::new(boot, "Redis Sentinel", String::new(), endpoint, started, observer))
}

/// What the Sentinel at a port calls itself in votes: its port, so that it is known by it.
fn id(port: u16) -> String {
    format!("{port:0>40}")
}

/// Listens to what a Sentinel publishes.
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
                // Where nobody looks on, what there is no room for is not missed.
                let _ = tell.try_send((clock.now(), notice));
            }
        }
    });
    Some(heard)
}

/// How many replicas of the master and how many other Sentinels a Sentinel knows to be well.
pub(crate) async fn seen(address: SocketAddr, secret: &str) -> Option<(usize, usize)> {
    let replicas = well(ask(address, secret, &["SENTINEL", "REPLICAS", GROUP]).await?);
    let sentinels = well(ask(address, secret, &["SENTINEL", "SENTINELS", GROUP]).await?);
    Some((replicas, sentinels))
}

/// Whether a Sentinel acts. One that was kept from its timer for 2 s of its time (in the rush of the start, by a
/// slow disk for a tenth of that in real time) takes its clock for broken and does nothing for 30 s: TILT. Redis before 7.0
/// cannot be told otherwise.
pub(crate) async fn acts(address: SocketAddr, secret: &str) -> Option<()> {
    // Asked twice: a pause that has just ended is noticed only after the first answer, by the timer.
    ask(address, secret, &["INFO", "sentinel"]).await?;
    let info = ask(address, secret, &["INFO", "sentinel"]).await?;
    let info: String = redis::from_redis_value(info).ok()?;
    info.lines().any(|line| line.trim() == "sentinel_tilt:0").then_some(())
}

/// Sets the normal down-after time, which was longer while the servers started.
pub(crate) async fn watch_closely(address: SocketAddr, secret: &str) -> Option<()> {
    let after = DOWN_AFTER_MS.to_string();
    let words = ["SENTINEL", "SET", GROUP, "down-after-milliseconds", &after];
    ask(address, secret, &words).await.map(drop)
}

pub(crate) async fn primary(address: SocketAddr, secret: &str) -> Option<SocketAddr> {
    let answer = ask(address, secret, &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP]).await?;
    let (ip, port): (String, u16) = redis::from_redis_value(answer).ok()?;
    Some(SocketAddr::new(ip.parse().ok()?, port))
}

fn well(answer: redis::Value) -> usize {
    use std::collections::HashMap;
    let peers: Vec<HashMap<String, String>> = redis::from_redis_value(answer).unwrap_or_default();
    let flags = peers.iter().filter_map(|peer| peer.get("flags"));
    // Its address and its run id are known once it has answered; until then it is down or disconnected.
    flags.filter(|flags| !flags.contains("down") && !flags.contains("disconnected")).count()
}

async fn ask(address: SocketAddr, secret: &str, words: &[&str]) -> Option<redis::Value> {
    let client = Client::open(format!("redis://:{secret}@{address}")).ok()?;
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await.ok()?;
    let (name, arguments) = words.split_first()?;
    within(redis::cmd(name).arg(arguments).query_async::<redis::Value>(&mut connection)).await.ok()
}

/// A Sentinel holds no keys: what it tells is all that there is to see.
#[derive(Debug)]
struct SentinelObserver {
    heard: Mutex<Receiver<(LessonTime, SentinelNotice)>>,
}

impl Observer for SentinelObserver {
    fn observe<'a>(&'a self, _: &'a LessonClock, _: Option<&'a Slot>) -> Look<'a, Observed> {
        async { Ok(Observed::Redis(Keyspace::default())) }.boxed()
    }

    fn metric<'a>(&'a self, _: &'a str) -> Look<'a, Option<i64>> {
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
