//! Locks on ZooKeeper: ephemeral nodes, watched in order or all together.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use tokio::net::TcpStream;
use zookeeper_client::{Acls, Client, CreateMode, Error};

use super::{Contender, Failed, LEASE, Servers, Site, random};

async fn open(hosts: &str) -> Result<Client, Error> {
    Client::connector().with_session_timeout(LEASE).connect(hosts).await
}

/// Reports quickly why no server can be reached: the client library retries without end.
pub(super) async fn reach(hosts: &str) -> Result<(), Failed> {
    let mut refused = None;
    for host in hosts.split(',') {
        match TcpStream::connect(host).await {
            Ok(_) => return Ok(open(hosts).await.map(drop)?),
            Err(error) => refused = Some(format!("{host}: {error}")),
        }
    }
    Err(refused.unwrap_or_default().into())
}

fn directory(name: &str) -> String {
    format!("/{name}")
}

pub(super) async fn prepare(hosts: &str, name: &str) -> Result<(), Failed> {
    let persistent = CreateMode::Persistent.with_acls(Acls::anyone_all());
    open(hosts).await?.create(&directory(name), &[], &persistent).await?;
    Ok(())
}

pub(super) async fn clean(hosts: &str, name: &str) -> Result<(), Failed> {
    let client = open(hosts).await?;
    let directory = directory(name);
    loop {
        let children = match client.list_children(&directory).await {
            Err(Error::NoNode) => return Ok(()),
            children => children?,
        };
        for child in children {
            match client.delete(&format!("{directory}/{child}"), None).await {
                Ok(()) | Err(Error::NoNode) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match client.delete(&directory, None).await {
            Ok(()) | Err(Error::NoNode) => return Ok(()),
            // A client that was just told to stop may still have created a node.
            Err(Error::NotEmpty) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

struct Session {
    site: Arc<Site>,
    client: Client,
    directory: String,
}

impl Session {
    async fn open(site: Arc<Site>) -> Result<Self, Failed> {
        let Servers::Zookeeper(hosts) = &site.servers else {
            return Err("these are no ZooKeeper servers".into());
        };
        let client = open(hosts).await?;
        let directory = directory(&site.name);
        Ok(Self { site, client, directory })
    }

    /// Returns when the node does not exist any more. A read of a missing node leaves no watch behind, unlike `exists`.
    async fn wait_for_deletion(&self, path: &str) -> Result<(), Failed> {
        self.site.count_request();
        match self.client.get_and_watch_data(path).await {
            Ok((_, _, watcher)) => {
                watcher.changed().await;
                self.site.count_notification();
                Ok(())
            }
            Err(Error::NoNode) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn delete(&self, path: &str) -> Result<(), Failed> {
        self.site.count_request();
        Ok(self.client.delete(path, None).await?)
    }
}

/// Each client has a place in a queue and watches the node before its own.
struct Predecessor {
    session: Session,
    own: String,
}

pub(super) async fn predecessor(site: Arc<Site>) -> Result<Box<dyn Contender>, Failed> {
    Ok(Box::new(Predecessor { session: Session::open(site).await?, own: String::new() }))
}

/// The sequence number that the server appended to a node's name.
fn number(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(_, number)| number)
}

impl Predecessor {
    async fn wait(&mut self) -> Result<(), Failed> {
        let Session { site, client, directory } = &self.session;
        // A random prefix lets the client recognize its own node even if the reply to the create is lost.
        let path = format!("{directory}/{:016x}-lock-", random());
        let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
        site.count_request();
        let (_, sequence) = client.create(&path, &[], &options).await?;
        self.own = format!("{path}{sequence}");
        loop {
            site.count_request();
            let mut queue = client.list_children(directory).await?;
            queue.sort_by(|one, other| number(one).cmp(number(other)));
            let mine = self.own.rsplit('/').next().unwrap_or_default();
            match queue.iter().position(|name| name == mine) {
                Some(0) => return Ok(()),
                Some(place) => {
                    self.session.wait_for_deletion(&format!("{directory}/{}", queue[place - 1])).await?;
                }
                None => return Err("its place in the queue is gone: the session has expired".into()),
            }
        }
    }
}

impl Contender for Predecessor {
    fn lock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        self.wait().boxed()
    }

    fn unlock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        self.session.delete(&self.own).boxed()
    }
}

/// One node for all clients, watched by every waiter.
struct Herd {
    session: Session,
    node: String,
}

pub(super) async fn herd(site: Arc<Site>) -> Result<Box<dyn Contender>, Failed> {
    let session = Session::open(site).await?;
    let node = format!("{}/lock", session.directory);
    Ok(Box::new(Herd { session, node }))
}

impl Contender for Herd {
    fn lock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        async {
            let options = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
            loop {
                self.session.site.count_request();
                match self.session.client.create(&self.node, &[], &options).await {
                    Ok(_) => return Ok(()),
                    Err(Error::NodeExists) => self.session.wait_for_deletion(&self.node).await?,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        .boxed()
    }

    fn unlock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        self.session.delete(&self.node).boxed()
    }
}
