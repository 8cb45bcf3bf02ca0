//! The kinds of labs: which servers a lesson runs on.

use std::{
    fmt,
    hash::{Hash, Hasher},
    slice,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, IntoDeserializer as _, SeqAccess, Visitor},
};

use super::error::{custom, marked};
use crate::{
    log::{Product, SLOTS, is_server_called},
    text::{Lang, Text, Words, both},
};

/// The servers that a lesson runs on, by the name that its `lab:` gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
// The derived code reads and writes a single kind; the implementations below add lists of kinds.
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum LabKind {
    /// One `redis-server`, named `redis`.
    #[default]
    Redis,
    /// One ZooKeeper server, named `zookeeper`.
    Zookeeper,
    /// Three ZooKeeper servers, `zk1`, `zk2` and `zk3`, the last of which leads at first. Each client has a link to
    /// every server and is connected to one.
    Ensemble,
    /// One MariaDB server, named `mariadb`.
    Mariadb,
    /// One etcd server, named `etcd`.
    Etcd,
    /// Three etcd servers, `etcd1`, `etcd2` and `etcd3`, the last of which leads at first. Each client has a link to
    /// every server and is connected to one.
    EtcdCluster,
    /// One Redis master with two replicas and three Sentinels: `node1`, which is the master at first, `node2` and
    /// `node3`. `primary` is the node that Sentinel names as master at the moment of asking. The former names `master`,
    /// `replica1` and `replica2` mean the same nodes.
    Sentinel,
    /// A Redis Cluster of three masters, `node1` to `node3`, with a replica each: `node4` of `node1`, `node5` of
    /// `node2`, `node6` of `node3`. An operation goes to the master of its key.
    Cluster,
    /// Five independent Redis masters: `redis1` to `redis5`.
    Masters,
    /// This many independent masters, for a user's programs that need another number.
    #[serde(skip)]
    SomeMasters(u8),
    #[serde(skip)]
    Several(Several),
}

/// Kinds of different products, side by side.
#[derive(Debug, Clone, Copy)]
pub struct Several(&'static Composed);

/// Each combination of kinds is interned, so that two values can be compared by address.
#[derive(Debug)]
struct Composed {
    parts: Vec<LabKind>,
    topology: Topology,
}

static COMPOSED: Mutex<Vec<&'static Composed>> = Mutex::new(Vec::new());

impl PartialEq for Several {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Several {}

impl Hash for Several {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.parts.hash(state);
    }
}

impl Several {
    fn of(parts: &[LabKind]) -> Result<Self, String> {
        for (n, part) in parts.iter().enumerate() {
            let product = part.product();
            if parts[..n].iter().any(|other| other.product() == product) {
                let name = product.traits().name;
                return Err(marked(&both!(
                    "a lab has one kind of {name} servers, and this has two: leave one out",
                    "一个 lab 里 {name} 服务器只能有一种，这里有两种：请去掉一个"
                )));
            }
        }
        let mut known = COMPOSED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(composed) = known.iter().find(|composed| composed.parts == parts) {
            return Ok(Self(composed));
        }
        let all = |names: fn(&LabKind) -> &'static [&'static str]| -> &'static [&'static str] {
            parts.iter().flat_map(names).copied().collect::<Vec<_>>().leak()
        };
        let title = |lang| -> &'static str {
            let titles: Vec<&str> = parts.iter().map(|part| part.topology().title.get(lang)).collect();
            titles.join(" + ").leak()
        };
        let topologies = || parts.iter().map(|part| part.topology());
        let composed: &'static Composed = Box::leak(Box::new(Composed {
            parts: parts.to_vec(),
            topology: Topology {
                product: parts[0].product(),
                servers: all(|part| part.servers()),
                sentinels: all(|part| part.sentinels()),
                replicas: 0,
                title: Words::new(title(Lang::En), title(Lang::Zh)),
                jump: topologies().all(|topology| topology.jump),
                fastest: topologies().map(|topology| topology.fastest).fold(f64::INFINITY, f64::min),
                gives_up: topologies().map(|topology| topology.gives_up).max().unwrap_or_default(),
            },
        }));
        known.push(composed);
        Ok(Self(composed))
    }
}

impl Serialize for LabKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Several(several) => several.0.parts.serialize(serializer),
            Self::SomeMasters(number) => format!("masters-{number}").serialize(serializer),
            one => Self::serialize(one, serializer),
        }
    }
}

/// A single kind, by its name.
struct One(LabKind);

impl<'de> Deserialize<'de> for One {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        LabKind::deserialize(deserializer).map(One)
    }
}

impl<'de> Deserialize<'de> for LabKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrList;
        impl<'de> Visitor<'de> for OneOrList {
            type Value = LabKind;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a lab, or a list of names")
            }
            fn visit_str<E: Error>(self, word: &str) -> Result<LabKind, E> {
                LabKind::deserialize(word.into_deserializer())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LabKind, A::Error> {
                let mut parts = Vec::new();
                while let Some(One(part)) = seq.next_element()? {
                    parts.push(part);
                }
                match parts[..] {
                    [] => Err(custom(&both!(
                        "an empty list: name at least one lab",
                        "空的列表：至少写一个 lab"
                    ))),
                    [one] => Ok(one),
                    ref several => Several::of(several).map(LabKind::Several).map_err(A::Error::custom),
                }
            }
        }
        deserializer.deserialize_any(OneOrList)
    }
}

/// The schema of the `lab` field: one kind, or a list of kinds.
pub(crate) struct OneOrSeveral;

impl JsonSchema for OneOrSeveral {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OneOrSeveral".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<LabKind>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1, "uniqueItems": true }] })
    }
}

/// The servers and the clock of a kind of lab. A new kind of Redis servers is a variant of [`LabKind`] and one of
/// these.
#[derive(Debug)]
pub struct Topology {
    pub product: Product,
    /// The servers that programs and stories may name; operations without `on` go to the first. With Sentinels the
    /// first is the master, the others are its replicas, and the second has the best priority to take over.
    pub servers: &'static [&'static str],
    /// The Sentinels, which watch the servers and hold no keys.
    pub sentinels: &'static [&'static str],
    /// How many servers of a cluster are replicas: the last ones, assigned to the masters in turn. 0 if there is no
    /// cluster.
    pub replicas: usize,
    pub title: Words,
    /// Whether the lesson clock may jump.
    pub jump: bool,
    /// The highest rate of the lesson clock, as a multiple of real time.
    pub fastest: f64,
    /// How long its servers keep a command that they cannot carry out before they answer with an error, if that may be
    /// longer than a server may be silent.
    pub gives_up: Duration,
}

// Redis reads the clock only when it is asked, so any jump is safe.
const REDIS: Topology = Topology {
    product: Product::Redis,
    servers: &["redis"],
    sentinels: &[],
    replicas: 0,
    title: Words::new("one Redis server", "一台 Redis"),
    jump: true,
    fastest: 100.0,
    gives_up: Duration::ZERO,
};

const MASTERS: Topology = Topology {
    servers: &["redis1", "redis2", "redis3", "redis4", "redis5"],
    title: Words::new("five independent Redis masters", "五台互相独立的 Redis 主节点"),
    ..REDIS
};

/// One independent master, two of them, and so on.
static SOME_MASTERS: [Topology; MOST_MASTERS] = {
    const NAMES: [&str; MOST_MASTERS] =
        ["redis1", "redis2", "redis3", "redis4", "redis5", "redis6", "redis7", "redis8", "redis9"];
    let mut all = [REDIS; MOST_MASTERS];
    let mut n = 0;
    while n < MOST_MASTERS {
        all[n].servers = NAMES.split_at(n + 1).0;
        all[n].title = Words::new("independent Redis masters", "互相独立的 Redis 主节点");
        n += 1;
    }
    all
};

/// The largest number of independent masters in a lab.
pub const MOST_MASTERS: usize = 9;

// Sentinel takes a jump of 2 s for a broken clock and stops acting (TILT), and takes a server that is silent for 5 s
// for dead: a machine that is busy for half a second must not look like that.
const SENTINEL: Topology = Topology {
    servers: &["node1", "node2", "node3"],
    sentinels: &["sentinel1", "sentinel2", "sentinel3"],
    title: Words::new("a Redis master, two replicas, three Sentinels", "Redis 一主两从，三个哨兵"),
    jump: false,
    fastest: 8.0,
    ..REDIS
};

// A node that is silent for 5 s is taken for dead, as with Sentinel, and an election takes time of its own, so no jump
// may skip it.
const CLUSTER: Topology = Topology {
    servers: &["node1", "node2", "node3", "node4", "node5", "node6"],
    replicas: 3,
    title: Words::new("a Redis Cluster, three masters, three replicas", "Redis Cluster，三主三从"),
    jump: false,
    fastest: 8.0,
    ..REDIS
};

// ZooKeeper's clients must ping in time, and they schedule their pings in real time.
const ZOOKEEPER: Topology = Topology {
    product: Product::Zookeeper,
    servers: &["zookeeper"],
    sentinels: &[],
    replicas: 0,
    title: Words::new("one ZooKeeper server", "一台 ZooKeeper"),
    jump: false,
    fastest: 2.0,
    gives_up: Duration::ZERO,
};

// As with one server; an election takes 0.2 to 0.4 s of lesson time.
const ENSEMBLE: Topology = Topology {
    servers: &["zk1", "zk2", "zk3"],
    title: Words::new("an ensemble of three ZooKeeper servers", "三台 ZooKeeper 组成的集群"),
    ..ZOOKEEPER
};

// A wait for a lock ends by the clock at any rate, and in a jump.
const MARIADB: Topology = Topology {
    product: Product::Mariadb,
    servers: &["mariadb"],
    title: Words::new("one MariaDB server", "一台 MariaDB"),
    fastest: 10.0,
    ..REDIS
};

// Go timers end in real time, and the program reads the clock only then, so it cannot follow a jump at once.
const ETCD: Topology = Topology {
    product: Product::Etcd,
    servers: &["etcd"],
    title: Words::new("one etcd server", "一台 etcd"),
    jump: false,
    fastest: 8.0,
    ..REDIS
};

// A leader that is silent for 3 s is taken for dead: a machine that is busy for half a second must not look like that.
const ETCD_CLUSTER: Topology = Topology {
    servers: &["etcd1", "etcd2", "etcd3"],
    title: Words::new("a cluster of three etcd servers", "三台 etcd 组成的集群"),
    fastest: 4.0,
    // 5 s and two election timeouts: `ReqTimeout` in etcd's `server/config`.
    gives_up: Duration::from_secs(11),
    ..ETCD
};

/// The name under which clients of Sentinel address the current master.
pub const PRIMARY: &str = "primary";

impl Topology {
    pub fn is_cluster(&self) -> bool {
        self.replicas > 0
    }

    /// The number of masters that a cluster begins with.
    fn masters(&self) -> usize {
        self.servers.len() - self.replicas
    }

    /// The index of the master of which this node begins as a replica; `None` for a master.
    pub fn master_of(&self, node: usize) -> Option<usize> {
        node.checked_sub(self.masters()).map(|replica| replica % self.masters())
    }

    /// The first and the last slot of a cluster node at the beginning; `None` if the server begins without slots.
    pub fn slots(&self, server: &str) -> Option<(u16, u16)> {
        let masters = u16::try_from(self.masters()).ok()?;
        let n = self.servers.iter().take(usize::from(masters)).position(|known| *known == server)?;
        let first = |n: usize| u16::try_from(n * usize::from(SLOTS) / usize::from(masters)).unwrap_or(SLOTS);
        Some((first(n), first(n + 1) - 1))
    }

    /// The node that owns a slot at the beginning.
    pub fn owner(&self, slot: u16) -> &'static str {
        let owns =
            |server: &&&str| self.slots(server).is_some_and(|(first, last)| (first..=last).contains(&slot));
        self.servers.iter().find(owns).copied().unwrap_or(self.servers[0])
    }

    /// Whether the lab lays a link from one server to another. In a cluster there are links only between a master and
    /// its replicas.
    pub fn has_link(&self, from: &str, to: &str) -> bool {
        let place = |name: &str| self.servers.iter().position(|known| *known == name);
        let shard = |n: usize| self.master_of(n).unwrap_or(n);
        match (place(from), place(to)) {
            (Some(from), Some(to)) if self.is_cluster() => from != to && shard(from) == shard(to),
            (Some(from), Some(to)) => from != to && !self.sentinels.is_empty(),
            (None, Some(_)) => self.sentinels.contains(&from),
            _ => false,
        }
    }
}

impl LabKind {
    pub const ALL: [Self; 9] = [
        Self::Redis,
        Self::Masters,
        Self::Sentinel,
        Self::Cluster,
        Self::Zookeeper,
        Self::Ensemble,
        Self::Mariadb,
        Self::Etcd,
        Self::EtcdCluster,
    ];

    /// One server of every product, for programs whose lab is not known.
    pub(crate) fn of_every_product() -> Self {
        let parts = [Self::Redis, Self::Zookeeper, Self::Mariadb, Self::Etcd];
        Several::of(&parts).map_or(Self::Redis, Self::Several)
    }

    /// A lab of this many independent Redis masters.
    pub(crate) fn masters(number: u8) -> Self {
        match number {
            0 | 1 => Self::Redis,
            5 => Self::Masters,
            _ => Self::SomeMasters(number),
        }
    }

    pub fn topology(self) -> &'static Topology {
        match self {
            Self::Redis => &REDIS,
            Self::Zookeeper => &ZOOKEEPER,
            Self::Ensemble => &ENSEMBLE,
            Self::Mariadb => &MARIADB,
            Self::Etcd => &ETCD,
            Self::EtcdCluster => &ETCD_CLUSTER,
            Self::Sentinel => &SENTINEL,
            Self::Cluster => &CLUSTER,
            Self::Masters => &MASTERS,
            Self::SomeMasters(number) => &SOME_MASTERS[usize::from(number).clamp(1, MOST_MASTERS) - 1],
            Self::Several(several) => &several.0.topology,
        }
    }

    /// The single kinds that this lab is made of, one for each product.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Several(several) => &several.0.parts,
            one => slice::from_ref(one),
        }
    }

    /// The product of the first servers.
    pub fn product(self) -> Product {
        self.topology().product
    }

    pub fn has(self, product: Product) -> bool {
        self.parts().iter().any(|part| part.product() == product)
    }

    /// Whether all its servers are of this product.
    pub(crate) fn is_only(self, product: Product) -> bool {
        self.parts().iter().all(|part| part.product() == product)
    }

    /// The single kind that a server belongs to.
    pub fn part_of(&self, server: &str) -> Self {
        let has = |part: &&Self| part.servers().iter().chain(part.sentinels()).any(|known| *known == server);
        self.parts().iter().find(has).copied().unwrap_or(*self)
    }

    /// The server that operations without `on` go to.
    pub fn first_of(&self, product: Product) -> Option<&'static str> {
        let part = self.parts().iter().find(|part| part.product() == product)?;
        part.servers().first().copied()
    }

    pub fn servers(self) -> &'static [&'static str] {
        self.topology().servers
    }

    pub fn sentinels(self) -> &'static [&'static str] {
        self.topology().sentinels
    }

    /// The current name of the server or Sentinel that a lesson names, possibly by a former name.
    pub fn server_named(self, name: &str) -> Option<&'static str> {
        let former = self.has_sentinels();
        let mut all = self.servers().iter().chain(self.sentinels()).copied();
        all.find(|server| *server == name || (former && is_server_called(server, name)))
    }

    pub fn has_sentinels(self) -> bool {
        !self.sentinels().is_empty()
    }

    /// Whether the servers form one service for clients: a client is connected to one of them, and goes to another when
    /// that one fails.
    pub fn is_ensemble(self) -> bool {
        matches!(self, Self::Ensemble | Self::EtcdCluster)
    }

    /// The topology of the part that is a cluster, if there is one.
    pub fn cluster(self) -> Option<&'static Topology> {
        self.parts().iter().map(|part| part.topology()).find(|topology| topology.is_cluster())
    }

    pub fn is_cluster(self) -> bool {
        self.cluster().is_some()
    }

    /// The master of which a server begins as a replica.
    pub fn first_master_of(self, server: &str) -> Option<&'static str> {
        let topology = self.part_of(server).topology();
        let place = topology.servers.iter().position(|known| *known == server)?;
        if topology.sentinels.is_empty() {
            return topology
                .servers
                .get(topology.master_of(place).filter(|_| topology.is_cluster())?)
                .copied();
        }
        topology.servers.first().copied().filter(|master| *master != server)
    }

    /// The largest number of replicas that a server begins with.
    pub fn most_replicas(self) -> usize {
        let of = |master: &&&str| {
            let servers = self.servers().iter();
            servers.filter(|server| self.first_master_of(server) == Some(**master)).count()
        };
        self.servers().iter().map(|master| of(&master)).max().unwrap_or(0)
    }

    /// Whether the lab lays a link from one server to another.
    pub fn has_link(self, from: &str, to: &str) -> bool {
        self.parts().iter().any(|part| part.topology().has_link(from, to))
    }

    /// Whether the servers replicate data from one of them.
    pub fn is_replicated(self) -> bool {
        self.has_sentinels() || self.is_ensemble() || self.is_cluster()
    }

    /// Why orders of moves cannot be explored on this lab; `None` if they can.
    pub fn unexplorable(self) -> Option<Text> {
        let part = self.parts().iter().find(|part| part.is_ensemble())?;
        let traits = part.product().traits();
        let (name, alone) = (traits.name, traits.name.to_lowercase());
        Some(both!(
            "three servers of {name} that elect a leader cannot be explored: their sessions, leases and elections cannot be \
             put back, and all three would have to be started anew for each order. Explore the lesson with `lab: {alone}`, \
             or let its clients race",
            "三台 {name} 组成的集群无法穷举：会话、租约和选举没法复原，每种顺序都要重新启动三台服务器。请改用 `lab: {alone}` 穷举，或者让客户端并发竞争"
        ))
    }

    /// Whether the servers' contents can be read as a whole and restored.
    pub fn can_be_restored(self) -> bool {
        self.parts().len() == 1 && self.product() == Product::Redis && !self.is_replicated()
    }
}

#[cfg(test)]
mod tests {
    use super::{CLUSTER, LabKind};

    #[test]
    fn servers_of_sentinel_answer_to_their_former_names() {
        let named = |name| LabKind::Sentinel.server_named(name);
        assert_eq!(
            ["master", "replica1", "replica2", "node1"].map(named),
            ["node1", "node2", "node3", "node1"].map(Some)
        );
        assert_eq!([named("sentinel2"), named("node4")], [Some("sentinel2"), None]);
        assert_eq!(LabKind::Cluster.server_named("master"), None, "nodes of a cluster were always called so");
    }

    #[test]
    fn labs_of_several_products_are_put_together_from_their_kinds() {
        let read = |text: &str| serde_json::from_str::<LabKind>(text);
        let both = read(r#"["zookeeper", "mariadb"]"#).expect("two products");
        assert_eq!(both.servers(), ["zookeeper", "mariadb"]);
        assert!(!both.topology().jump && !both.can_be_restored());
        assert_eq!(
            (both.part_of("mariadb"), both.part_of("zookeeper")),
            (LabKind::Mariadb, LabKind::Zookeeper)
        );
        assert_eq!(serde_json::to_string(&both).expect("JSON"), r#"["zookeeper","mariadb"]"#);
        assert_eq!(read(r#"["zookeeper", "mariadb"]"#).expect("as before"), both);
        assert_eq!(read(r#"["redis"]"#).expect("one"), LabKind::Redis);
        assert!(read(r#"["redis", "sentinel"]"#).expect_err("both are Redis").to_string().contains("Redis"));
        assert!(read(r#"["redis", "rediss"]"#).is_err());
    }

    #[test]
    fn the_masters_of_a_cluster_share_all_slots() {
        let slots: Vec<_> = CLUSTER.servers.iter().map(|server| CLUSTER.slots(server)).collect();
        assert_eq!(slots[..3], [Some((0, 5460)), Some((5461, 10921)), Some((10922, 16383))]);
        assert_eq!(slots[3..], [None; 3]);
        assert_eq!([0, 5461, 16383].map(|slot| CLUSTER.owner(slot)), ["node1", "node2", "node3"]);
        assert!(CLUSTER.has_link("node4", "node1") && CLUSTER.has_link("node1", "node4"));
        assert!(!CLUSTER.has_link("node5", "node1") && !CLUSTER.has_link("node1", "node1"));
    }
}
