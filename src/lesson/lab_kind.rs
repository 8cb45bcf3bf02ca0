//! Which servers a lesson wants.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The servers that a lesson runs on, by the name that its `lab:` gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LabKind {
    /// One `redis-server`, named `redis`.
    Redis,
    /// One ZooKeeper server, named `zookeeper`.
    Zookeeper,
    /// One Redis master with two replicas and three Sentinels: `master`, `replica1`, `replica2`. `primary` is
    /// whichever of them Sentinel names as master at the moment of asking.
    Sentinel,
    /// Five Redis masters that know nothing of each other: `redis1` to `redis5`.
    Masters,
}

/// The name under which a client of Sentinel addresses the master of the moment.
pub const PRIMARY: &str = "primary";

impl LabKind {
    /// The servers that programs and stories may name, the one that operations without `on` go to first.
    pub fn servers(self) -> &'static [&'static str] {
        match self {
            Self::Redis => &["redis"],
            Self::Zookeeper => &["zookeeper"],
            Self::Sentinel => &["master", "replica1", "replica2"],
            Self::Masters => &["redis1", "redis2", "redis3", "redis4", "redis5"],
        }
    }

    /// The servers' watchers, which hold no keys.
    pub fn sentinels(self) -> &'static [&'static str] {
        match self {
            Self::Sentinel => &["sentinel1", "sentinel2", "sentinel3"],
            Self::Redis | Self::Zookeeper | Self::Masters => &[],
        }
    }

    /// Whether its servers are Redis.
    pub fn is_redis(self) -> bool {
        self != Self::Zookeeper
    }
}
