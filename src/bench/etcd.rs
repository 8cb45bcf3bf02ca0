//! A lock on etcd as the locks of its own client library work: each client creates a key on a lease, keys queue in the
//! order of their creation, and each client waits for the key before its own.
//!
//! It uses the JSON gateway inside the server, so a request costs the server more than a gRPC request would.

use std::{sync::Arc, time::Instant};

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;

use super::{Contender, Failed, LEASE, Servers, Site, random};
use crate::{
    log::{Command, Product, Reply, product::etcd::EtcdCall},
    server::{
        connection::{Breaks, Connection, ServerAddress},
        etcd::connection::connect,
    },
};

async fn open(address: &str) -> Result<Box<dyn Connection>, Failed> {
    let server = ServerAddress {
        name: "etcd".to_owned(),
        product: Product::Etcd,
        address: address.to_owned(),
        hangs_up: false,
        listens: false,
        password: None,
    };
    Ok(connect(&server, true).await?)
}

fn directory(name: &str) -> String {
    format!("{name}/")
}

/// Removes the keys of a run. Its leases expire by themselves.
pub(super) async fn clean(address: &str, name: &str) -> Result<(), Failed> {
    let mut connection = open(address).await?;
    let keys = ask(&mut *connection, EtcdCall::Ls { prefix: directory(name) }).await?;
    for key in keys.as_array().into_iter().flatten().filter_map(|key| key["key"].as_str()) {
        ask(&mut *connection, EtcdCall::Delete { key: key.to_owned() }).await?;
    }
    Ok(())
}

async fn ask(connection: &mut dyn Connection, call: EtcdCall) -> Result<Value, Failed> {
    match connection.send(&Command::Etcd(call), None, Breaks::default()).await {
        Some(Reply::Value(value)) => Ok(value),
        Some(Reply::Error { code, text }) => Err(format!("{code}: {text}").into()),
        Some(Reply::Lost(why)) => Err(why.into()),
        None => Err("this is no etcd server".into()),
    }
}

fn number(value: &Value) -> Result<i64, Failed> {
    value.as_i64().ok_or_else(|| format!("etcd gives no number: {value}").into())
}

struct Queue {
    site: Arc<Site>,
    connection: Box<dyn Connection>,
    lease: i64,
    renewed: Instant,
    own: String,
}

pub(super) async fn queue(site: Arc<Site>) -> Result<Box<dyn Contender>, Failed> {
    let Servers::Etcd(address) = &site.servers else { return Err("this is no etcd server".into()) };
    let mut connection = open(address).await?;
    let seconds = i64::try_from(LEASE.as_secs())?;
    let lease = number(&ask(&mut *connection, EtcdCall::Grant { seconds, lease: None }).await?)?;
    Ok(Box::new(Queue { site, connection, lease, renewed: Instant::now(), own: String::new() }))
}

impl Queue {
    async fn ask(&mut self, call: EtcdCall) -> Result<Value, Failed> {
        self.site.count_request();
        ask(&mut *self.connection, call).await
    }

    async fn wait(&mut self) -> Result<(), Failed> {
        let prefix = directory(&self.site.name);
        self.own = format!("{prefix}{:016x}", random());
        // A client library renews in the background at the same interval; a turn here is much shorter than that.
        if self.renewed.elapsed() > LEASE / 3 {
            self.renewed = Instant::now();
            self.ask(EtcdCall::Keepalive { lease: self.lease }).await?;
        }
        let create =
            EtcdCall::Create { key: self.own.clone(), value: String::new(), lease: Some(self.lease) };
        let created = number(&self.ask(create).await?["create_revision"])?;
        loop {
            let before = EtcdCall::Before { prefix: prefix.clone(), revision: created };
            let before = self.ask(before).await?;
            let Some(key) = before["key"].as_str() else { return Ok(()) };
            // A watch that starts at a past revision is served by a loop in etcd that runs every 100 ms.
            let watch = EtcdCall::Watch { key: key.to_owned(), revision: number(&before["revision"])? };
            self.ask(watch).await?;
            self.site.count_notification();
        }
    }

    async fn leave(&mut self) -> Result<(), Failed> {
        let deleted = self.ask(EtcdCall::Delete { key: self.own.clone() }).await?;
        if deleted == 1 { Ok(()) } else { Err("its key is gone: the lease has ended".into()) }
    }
}

impl Contender for Queue {
    fn lock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        self.wait().boxed()
    }

    fn unlock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        self.leave().boxed()
    }
}
