//! The same contended work through several locks, measured on the machine's own clock over direct connections as
//! programs make them: no link, no lesson clock, no log. This module must not know how the figures are shown.
//!
//! To add a lock, add an entry to [`LOCKS`]; a lock on a new product also needs its [`Servers`] variant and a file
//! here.

mod contest;
mod etcd;
mod redis;
mod series;
mod sql;
mod zookeeper;

use std::{
    error::Error,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ::redis::{ConnectionInfo, IntoConnectionInfo};
use futures::{FutureExt, future::BoxFuture};
use mysql_async::{Opts, OptsBuilder};
use tokio::time::timeout;

pub use contest::{Figures, Work, measure};
pub use series::{Measuring, Row, Series, SeriesUpdate};

use crate::{
    lab::{Lab, Meters},
    lesson::LabKind,
    server::redis::connection::place,
    text::Words,
};

/// Why a lock could not be measured: the error of its server or of the client library.
pub type Failed = Box<dyn Error + Send + Sync>;

/// The lease of a lock: how long a holder may be silent before the server gives the lock to another client. Much longer
/// than any work here.
const LEASE: Duration = Duration::from_secs(30);

/// How long servers may take to accept a connection or to remove the few keys of a run.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that is being connected.
type Joined = BoxFuture<'static, Result<Box<dyn Contender>, Failed>>;

/// A lock implementation that can be measured.
#[derive(Debug)]
pub struct Lock {
    pub id: &'static str,
    pub title: Words,
    /// The servers that the lock needs.
    pub lab: LabKind,
    join: fn(Arc<Site>) -> Joined,
}

/// Locks on the same servers are adjacent, because adjacent locks share one start of these servers.
pub static LOCKS: [Lock; 7] = [
    Lock {
        id: "redis-polling",
        title: Words::new("Redis, polling", "Redis 轮询"),
        lab: LabKind::Redis,
        join: |site| redis::polling(site).boxed(),
    },
    Lock {
        id: "redis-messages",
        title: Words::new("Redis, messages", "Redis 发布订阅"),
        lab: LabKind::Redis,
        join: |site| redis::messages(site).boxed(),
    },
    Lock {
        id: "redlock",
        title: Words::new("Redlock", "Redlock"),
        lab: LabKind::Masters,
        join: |site| redis::redlock(site).boxed(),
    },
    Lock {
        id: "zookeeper-predecessor",
        title: Words::new("ZooKeeper, predecessor", "ZooKeeper 监听前驱"),
        lab: LabKind::Zookeeper,
        join: |site| zookeeper::predecessor(site).boxed(),
    },
    Lock {
        id: "zookeeper-herd",
        title: Words::new("ZooKeeper, herd", "ZooKeeper 羊群"),
        lab: LabKind::Zookeeper,
        join: |site| zookeeper::herd(site).boxed(),
    },
    Lock {
        id: "mariadb-for-update",
        title: Words::new("MariaDB, FOR UPDATE", "MariaDB FOR UPDATE"),
        lab: LabKind::Mariadb,
        join: |site| sql::for_update(site).boxed(),
    },
    Lock {
        id: "etcd-predecessor",
        title: Words::new("etcd, predecessor", "etcd 监听前驱"),
        lab: LabKind::Etcd,
        join: |site| etcd::queue(site).boxed(),
    },
];

/// One client of the lock that all clients contend for.
trait Contender: Send {
    /// Returns when this client holds the lock.
    fn lock(&mut self) -> BoxFuture<'_, Result<(), Failed>>;

    /// Fails if this client did not hold the lock any more.
    fn unlock(&mut self) -> BoxFuture<'_, Result<(), Failed>>;
}

/// The addresses of servers to measure on.
#[derive(Debug, Clone)]
pub enum Servers {
    /// One server, or several independent masters.
    Redis(Vec<ConnectionInfo>),
    Zookeeper(String),
    Sql(Opts),
    /// `HOST:PORT`.
    Etcd(String),
}

impl Servers {
    pub fn of(lab: &Lab) -> Result<Self, Failed> {
        let servers = lab.servers();
        let [first, ..] = servers.as_slice() else { return Err("the lab has no servers".into()) };
        Ok(match lab.kind() {
            LabKind::Zookeeper | LabKind::Ensemble => Self::Zookeeper(
                servers.iter().map(|server| server.address.as_str()).collect::<Vec<_>>().join(","),
            ),
            LabKind::Etcd | LabKind::EtcdCluster => Self::Etcd(first.address.clone()),
            LabKind::Mariadb => {
                let options = OptsBuilder::default().socket(Some(&first.address)).prefer_socket(false);
                Self::Sql(options.user(Some("lesson")).db_name(Some("lesson")).into())
            }
            _ => {
                let places = servers.iter().map(|server| place(&server.address, server.password.as_deref()));
                Self::Redis(places.collect::<Result<_, _>>()?)
            }
        })
    }

    /// Parses the URL of a Redis server; several URLs are independent masters.
    pub fn redis(urls: &[String]) -> Result<Self, Failed> {
        let places = urls.iter().map(|url| url.as_str().into_connection_info());
        let places = places.collect::<Result<_, _>>();
        Ok(Self::Redis(places.map_err(|error| format!("{error}; write redis://USER:PASSWORD@HOST:PORT"))?))
    }

    /// Parses the addresses of ZooKeeper servers, `HOST:PORT,HOST:PORT`.
    pub fn zookeeper(hosts: &str) -> Result<Self, Failed> {
        let port = |host: &str| host.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        match hosts.split(',').find(|host| port(host).is_none()) {
            Some(host) => Err(format!("`{host}` has no port; write HOST:PORT,HOST:PORT").into()),
            None => Ok(Self::Zookeeper(hosts.to_owned())),
        }
    }

    /// Parses the URL of a MariaDB or MySQL server, `mysql://USER:PASSWORD@HOST:PORT/DATABASE`.
    pub fn sql(url: &str) -> Result<Self, Failed> {
        let options = Opts::from_url(url)
            .map_err(|error| format!("{error}; write mysql://USER:PASSWORD@HOST:PORT/DATABASE"))?;
        options.db_name().ok_or("it names no database; write mysql://USER:PASSWORD@HOST:PORT/DATABASE")?;
        Ok(Self::Sql(options))
    }

    /// Whether the lock can be measured on these servers.
    pub fn serve(&self, lock: &Lock) -> bool {
        match self {
            // Three masters at least: a majority of two would be both of them.
            Self::Redis(all) => {
                lock.lab == LabKind::Redis || (lock.lab == LabKind::Masters && all.len() >= 3)
            }
            Self::Zookeeper(_) => lock.lab == LabKind::Zookeeper,
            Self::Sql(_) => lock.lab == LabKind::Mariadb,
            Self::Etcd(_) => lock.lab == LabKind::Etcd,
        }
    }

    /// The subset of the servers that this lock uses.
    pub fn for_lock(&self, lock: &Lock) -> Self {
        match self {
            Self::Redis(all) if lock.lab == LabKind::Redis => Self::Redis(all[..all.len().min(1)].to_vec()),
            all => all.clone(),
        }
    }

    /// Checks that the servers answer and let this user in. Writes nothing.
    pub async fn reach(&self) -> Result<(), Failed> {
        let reach = async {
            match self {
                Self::Redis(all) => redis::reach(all).await,
                Self::Zookeeper(hosts) => zookeeper::reach(hosts).await,
                Self::Sql(options) => sql::reach(options).await,
                Self::Etcd(_) => Ok(()),
            }
        };
        with_timeout(reach).await
    }

    async fn prepare(&self, name: &str) -> Result<(), Failed> {
        match self {
            Self::Redis(_) | Self::Etcd(_) => Ok(()),
            Self::Zookeeper(hosts) => zookeeper::prepare(hosts, name).await,
            Self::Sql(options) => sql::prepare(options, name).await,
        }
    }

    /// Removes everything that a run of this name has written.
    pub async fn clean(&self, name: &str) -> Result<(), Failed> {
        let clean = async {
            match self {
                Self::Redis(all) => redis::clean(all, name).await,
                Self::Zookeeper(hosts) => zookeeper::clean(hosts, name).await,
                Self::Sql(options) => sql::clean(options, name).await,
                Self::Etcd(address) => etcd::clean(address, name).await,
            }
        };
        with_timeout(clean).await
    }
}

/// Fails after [`ANSWER_TIMEOUT`]: client libraries may retry for ever.
async fn with_timeout(work: impl Future<Output = Result<(), Failed>>) -> Result<(), Failed> {
    let late = || format!("no answer for {} s", ANSWER_TIMEOUT.as_secs());
    timeout(ANSWER_TIMEOUT, work).await.map_err(|_| late())?
}

/// Addresses without credentials.
impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redis(all) => {
                let all = all.iter().map(|place| place.addr().to_string());
                write!(f, "Redis {}", all.collect::<Vec<_>>().join(", "))
            }
            Self::Zookeeper(hosts) => write!(f, "ZooKeeper {hosts}"),
            Self::Etcd(address) => write!(f, "etcd {address}"),
            Self::Sql(options) => {
                let database = options.db_name().unwrap_or_default();
                write!(f, "SQL {}:{}/{database}", options.ip_or_hostname(), options.tcp_port())
            }
        }
    }
}

/// What the clients of one contest share.
pub struct Site {
    pub servers: Servers,
    /// The name of the key, table or directory that the run writes.
    pub name: String,
    /// The average interval at which a polling client asks again.
    pub poll: Duration,
    /// The resource usage of the server processes, if they belong to a lab.
    pub meters: Option<Meters>,
    requests: AtomicU64,
    notifications: AtomicU64,
}

impl Site {
    pub fn new(servers: Servers, name: String, poll: Duration, meters: Option<Meters>) -> Self {
        Self { servers, name, poll, meters, requests: AtomicU64::new(0), notifications: AtomicU64::new(0) }
    }

    fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    fn count_notification(&self) {
        self.notifications.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of requests and notifications so far.
    fn traffic(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.notifications.load(Ordering::Relaxed))
    }

    /// The pause of a polling client, with random jitter: clients that asked at the same moment should not do so again.
    async fn pause(&self) {
        tokio::time::sleep(
            self.poll
                .mul_f64(0.5 + f64::from(u32::try_from(random() >> 32).unwrap_or(0)) / f64::from(u32::MAX)),
        )
        .await;
    }
}

/// A unique name for everything that a run writes.
pub fn run_name() -> String {
    format!("lockstep_bench_{:08x}", random() >> 32)
}

/// A random number: the standard library seeds its hashers with one.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}
