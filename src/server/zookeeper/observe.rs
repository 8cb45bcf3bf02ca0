//! Reads what a ZooKeeper server holds: its nodes, their owners and watchers.
//!
//! The four-letter commands list owners and watchers; nodes and their data need a session, which the observer keeps.
//! The session owns no node and sets no watch, so it does not appear in what is read. If the lesson's clock jumps
//! further than its timeout, it expires like any other and is opened again.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{join_all, try_join, try_join_all};
use tokio::{sync::Mutex, time::timeout};
use zookeeper_client::{Client, Error, SessionState};

use crate::clock::{LessonClock, Slot};
use crate::log::{Member, Observed, Role, Znode, ZnodeTree};
use crate::server::observe::{Observation, ObserveError, Observer, within};
use crate::server::zookeeper::four_letters::{ask, read_cons, read_dump, read_mntr, read_srvr, read_wchp};

/// The longest session that the lab's server grants, in lesson time.
pub(super) const SESSION: Duration = Duration::from_mins(1);

/// How long an ensemble member may take to report its contents, in real time.
const ANSWERS_WITHIN: Duration = Duration::from_millis(700);

/// The number of ephemeral siblings whose data is read; for the others only `dump` is used, which lists the owner.
const WITH_DATA: usize = 50;

/// The most nodes that are read. No lesson has more, but a user's script may.
const NODES: usize = 2_000;

const RESERVED: &str = "/zookeeper";

impl From<Error> for ObserveError {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<io::Error> for ObserveError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A session for reading nodes, and the address for four-letter commands.
#[derive(Debug)]
pub(crate) struct ZookeeperObserver {
    server: SocketAddr,
    /// Whether it is a member of an ensemble.
    member: bool,
    client: Mutex<Option<Session>>,
    /// The nodes as last read: a member that serves no client cannot be asked, but still holds them.
    seen: Mutex<BTreeMap<String, Znode>>,
}

/// A wrapper for `Debug`, which the client lacks.
struct Session(Client);

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Session").field(&self.0.session_id()).finish()
    }
}

impl ZookeeperObserver {
    pub fn new(server: SocketAddr, member: bool) -> Self {
        Self { server, member, client: Mutex::new(None), seen: Mutex::default() }
    }

    /// The session, opened if there is none.
    pub async fn connect(&self) -> Result<Client, Error> {
        let mut slot = self.client.lock().await;
        if let Some(Session(client)) = &*slot
            && client.state() == SessionState::SyncConnected
        {
            return Ok(client.clone());
        }
        let connector = Client::connector().with_session_timeout(SESSION).with_fail_eagerly();
        let client = connector.connect(&self.server.to_string()).await?;
        Ok(slot.insert(Session(client)).0.clone())
    }

    /// All nodes. A session that expired meanwhile is replaced, once.
    async fn nodes(&self, owners: &BTreeMap<String, i64>) -> Result<BTreeMap<String, Znode>, Error> {
        match read_nodes(&self.connect().await?, owners).await {
            Err(Error::SessionExpired | Error::ClientClosed | Error::ConnectionLoss | Error::Custom(_)) => {
                self.client.lock().await.take();
                read_nodes(&self.connect().await?, owners).await
            }
            result => result,
        }
    }

    pub(super) async fn look(&self) -> Result<ZnodeTree, ObserveError> {
        if !self.member {
            return self.read_tree().await;
        }
        let Some((role, zxid)) = read_srvr(&ask(self.server, "srvr").await?) else {
            return Ok(self.last_seen(Role::Looking, 0).await);
        };
        // A member that has just lost its leader, or its followers, may not know that yet.
        let Ok(Ok(mut tree)) = timeout(ANSWERS_WITHIN, self.read_tree()).await else {
            return Ok(self.last_seen(role, zxid).await);
        };
        let own = self.client.lock().await.as_ref().map(|Session(client)| client.session_id().0);
        let mut sessions = read_cons(&ask(self.server, "cons").await?);
        sessions.retain(|session| Some(*session) != own);
        tree.member = Some(Member { role, zxid, sessions });
        Ok(tree)
    }

    async fn last_seen(&self, role: Role, zxid: i64) -> ZnodeTree {
        let member = Some(Member { role, zxid, sessions: Vec::new() });
        ZnodeTree { nodes: self.seen.lock().await.clone(), member, ..ZnodeTree::default() }
    }

    async fn read_tree(&self) -> Result<ZnodeTree, ObserveError> {
        // Owners first: a node created after `dump` is asked for its owner; one deleted since is not listed.
        let owners = read_dump(&ask(self.server, "dump").await?);
        let nodes = async { self.nodes(&owners).await.map_err(ObserveError::from) };
        let watched = async { Ok(read_wchp(&ask(self.server, "wchp").await?)) };
        let (mut nodes, mut watched) = try_join(nodes, watched).await?;
        for (path, node) in &mut nodes {
            node.watchers = watched.remove(path).unwrap_or_default();
        }
        watched.retain(|path, _| path != "/" && !is_reserved(path));
        if self.member {
            self.seen.lock().await.clone_from(&nodes);
        }
        Ok(ZnodeTree { nodes, watched_absent: watched, member: None })
    }
}

impl Observer for ZookeeperObserver {
    fn observe<'a>(&'a self, _: &'a LessonClock, _: Option<&'a Slot>) -> Observation<'a, Observed> {
        async { Ok(Observed::Zookeeper(within(self.look()).await?)) }.boxed()
    }

    fn metric<'a>(&'a self, name: &'a str) -> Observation<'a, Option<i64>> {
        async move { Ok(read_mntr(&within(ask(self.server, "mntr")).await?, name)) }.boxed()
    }

    fn field<'a>(&'a self, name: &'a str) -> Observation<'a, Option<String>> {
        async move {
            if name != "role" {
                return Ok(self.metric(name).await?.map(|value| value.to_string()));
            }
            let role = read_srvr(&within(ask(self.server, "srvr")).await?);
            Ok(role.map(|(role, _)| role.name().to_owned()))
        }
        .boxed()
    }

    fn metric_names(&self) -> &'static str {
        "`mntr` lists them"
    }
}

/// Reads the tree level by level: all requests of a level are in flight at once over the one session, so that nine
/// hundred nodes take a few round trips.
async fn read_nodes(
    client: &Client,
    owners: &BTreeMap<String, i64>,
) -> Result<BTreeMap<String, Znode>, Error> {
    let mut nodes = BTreeMap::new();
    let mut parents = vec!["/".to_owned()];
    while !parents.is_empty() && nodes.len() < NODES {
        let listed = join_all(parents.iter().map(|parent| children(client, parent))).await;
        let (mut to_read, mut to_trust) = (Vec::new(), Vec::new());
        for siblings in listed {
            let mut ephemeral = 0;
            for path in siblings? {
                match owners.get(&path) {
                    Some(owner) if ephemeral >= WITH_DATA => to_trust.push((path, *owner)),
                    Some(_) => {
                        ephemeral += 1;
                        to_read.push(path);
                    }
                    None => to_read.push(path),
                }
            }
        }
        let read = try_join_all(to_read.into_iter().map(|path| node(client, path))).await?;
        let read = read.into_iter().flatten();
        let trusted = to_trust
            .into_iter()
            .map(|(path, owner)| (path, Znode { owner: Some(owner), ..Znode::default() }));
        parents.clear();
        for (path, node) in read.chain(trusted).take(NODES - nodes.len()) {
            // Ephemeral nodes have no children.
            if node.owner.is_none() {
                parents.push(path.clone());
            }
            nodes.insert(path, node);
        }
    }
    Ok(nodes)
}

/// The paths of a node's children, in order; empty if the node was deleted.
async fn children(client: &Client, parent: &str) -> Result<BTreeSet<String>, Error> {
    let names = match client.list_children(parent).await {
        Err(Error::NoNode) => return Ok(BTreeSet::new()),
        names => names?,
    };
    let base = parent.trim_end_matches('/');
    Ok(names.into_iter().map(|name| format!("{base}/{name}")).filter(|path| !is_reserved(path)).collect())
}

/// A node's data and owner; `None` if it was deleted.
async fn node(client: &Client, path: String) -> Result<Option<(String, Znode)>, Error> {
    let (data, stat) = match client.get_data(&path).await {
        Err(Error::NoNode) => return Ok(None),
        read => read?,
    };
    let node = Znode {
        data: String::from_utf8_lossy(&data).into_owned(),
        owner: (stat.ephemeral_owner != 0).then_some(stat.ephemeral_owner),
        czxid: stat.czxid,
        version: stat.version,
        watchers: Vec::new(),
    };
    Ok(Some((path, node)))
}

fn is_reserved(path: &str) -> bool {
    path.strip_prefix(RESERVED).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
