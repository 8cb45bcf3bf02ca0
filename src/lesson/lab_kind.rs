//! Which servers a lesson wants.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{log::Product, text::Words};

/// The servers that a lesson runs on, by the name that its `lab:` gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LabKind {
    /// One `redis-server`, named `redis`.
    Redis,
    /// One ZooKeeper server, named `zookeeper`.
    Zookeeper,
    /// One MariaDB server, named `mariadb`.
    Mariadb,
    /// One Redis master with two replicas and three Sentinels: `master`, `replica1`, `replica2`. `primary` is
    /// whichever of them Sentinel names as master at the moment of asking.
    Sentinel,
    /// Five Redis masters that know nothing of each other: `redis1` to `redis5`.
    Masters,
}

/// What a kind of lab is made of. A new kind of Redis servers is a variant of [`LabKind`] and one of these.
#[derive(Debug)]
pub struct Topology {
    pub product: Product,
    /// The servers that programs and stories may name, the one that operations without `on` go to first. With
    /// Sentinels that is the master, the others are its replicas, and the second is to take over from it.
    pub servers: &'static [&'static str],
    /// The servers' watchers, which hold no keys.
    pub sentinels: &'static [&'static str],
    pub title: Words,
    /// Whether the lesson clock may jump.
    pub jump: bool,
    /// The highest rate of the lesson clock.
    pub fastest: f64,
}

// Redis looks at the clock when it is asked, so any jump is safe.
const REDIS: Topology = Topology {
    product: Product::Redis,
    servers: &["redis"],
    sentinels: &[],
    title: Words::new("one Redis server", "一台 Redis"),
    jump: true,
    fastest: 100.0,
};

const MASTERS: Topology = Topology {
    servers: &["redis1", "redis2", "redis3", "redis4", "redis5"],
    title: Words::new("five independent Redis masters", "五台互相独立的 Redis 主节点"),
    ..REDIS
};

// Sentinel takes a jump of 2 s for a broken clock and stops acting (TILT), and a server that is silent for 5 s for a
// dead one: a machine that is busy for half a second must not look like it.
const SENTINEL: Topology = Topology {
    servers: &["master", "replica1", "replica2"],
    sentinels: &["sentinel1", "sentinel2", "sentinel3"],
    title: Words::new("a Redis master, two replicas, three Sentinels", "Redis 一主两从，三个哨兵"),
    jump: false,
    fastest: 8.0,
    ..REDIS
};

// ZooKeeper's live clients must ping in time, and they ping in real time slices.
const ZOOKEEPER: Topology = Topology {
    product: Product::Zookeeper,
    servers: &["zookeeper"],
    sentinels: &[],
    title: Words::new("one ZooKeeper server", "一台 ZooKeeper"),
    jump: false,
    fastest: 2.0,
};

// A wait for a lock ends by the clock whatever its rate, and in a jump.
const MARIADB: Topology = Topology {
    product: Product::Mariadb,
    servers: &["mariadb"],
    title: Words::new("one MariaDB server", "一台 MariaDB"),
    fastest: 10.0,
    ..REDIS
};

/// The name under which a client of Sentinel addresses the master of the moment.
pub const PRIMARY: &str = "primary";

impl LabKind {
    pub const ALL: [Self; 5] = [Self::Redis, Self::Masters, Self::Sentinel, Self::Zookeeper, Self::Mariadb];

    pub fn topology(self) -> &'static Topology {
        match self {
            Self::Redis => &REDIS,
            Self::Zookeeper => &ZOOKEEPER,
            Self::Mariadb => &MARIADB,
            Self::Sentinel => &SENTINEL,
            Self::Masters => &MASTERS,
        }
    }

    pub fn product(self) -> Product {
        self.topology().product
    }

    pub fn servers(self) -> &'static [&'static str] {
        self.topology().servers
    }

    pub fn sentinels(self) -> &'static [&'static str] {
        self.topology().sentinels
    }

    pub fn has_sentinels(self) -> bool {
        !self.sentinels().is_empty()
    }

    /// Whether what its servers hold can be read as a whole and put back.
    pub fn can_be_restored(self) -> bool {
        self.is_redis() && !self.has_sentinels()
    }

    pub fn is_redis(self) -> bool {
        self.product() == Product::Redis
    }
}
