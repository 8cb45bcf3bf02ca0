//! Reads what an etcd server holds.

use std::net::SocketAddr;

use futures::FutureExt;
use serde_json::{Value as Json, json};

use super::{
    connection::{everything, key},
    http::Http,
};
use crate::{
    clock::{LessonClock, Slot},
    log::{
        Observed,
        product::etcd::{EtcdKey, EtcdKeys},
    },
    server::observe::{Look, ObserveError, Observer, within},
};

#[derive(Debug)]
pub(crate) struct EtcdObserver {
    pub address: SocketAddr,
}

impl EtcdObserver {
    /// Each look has a connection of its own: there may be minutes between two.
    async fn ask(&self, path: &str, body: &Json) -> Result<Json, ObserveError> {
        let asked = async { Http::open(&self.address.to_string()).await?.ask(path, body).await };
        match asked.await {
            Ok((200, answer)) => Ok(answer),
            Ok((_, answer)) => Err(ObserveError::Failed(answer.to_string())),
            Err(error) => Err(ObserveError::Broken(error.to_string())),
        }
    }

    async fn look(&self) -> Result<EtcdKeys, ObserveError> {
        let answer = self.ask("kv/range", &everything()).await?;
        let told = answer["kvs"].as_array().into_iter().flatten().map(key);
        let keys = told.map(|told| {
            let state = EtcdKey {
                value: told["value"].as_str().unwrap_or_default().to_owned(),
                create_revision: told["create_revision"].as_i64().unwrap_or(0),
                mod_revision: told["mod_revision"].as_i64().unwrap_or(0),
                lease: told["lease"].as_i64(),
            };
            (told["key"].as_str().unwrap_or_default().to_owned(), state)
        });
        Ok(EtcdKeys { keys: keys.collect() })
    }

    /// The version, where the server is the one of this name. The port may be another lab's.
    pub async fn version(&self, name: &str) -> Result<Option<String>, ObserveError> {
        let members = within(self.ask("cluster/member/list", &json!({}))).await?;
        let status = within(self.ask("maintenance/status", &json!({}))).await?;
        let own = members["members"].as_array().into_iter().flatten().any(|member| member["name"] == name);
        Ok(status["version"].as_str().filter(|_| own).map(str::to_owned))
    }
}

impl Observer for EtcdObserver {
    fn observe<'a>(&'a self, _: &'a LessonClock, _: Option<&'a Slot>) -> Look<'a, Observed> {
        async { Ok(Observed::Etcd(within(self.look()).await?)) }.boxed()
    }

    fn metric<'a>(&'a self, name: &'a str) -> Look<'a, Option<i64>> {
        async move {
            let status = within(self.ask("maintenance/status", &json!({}))).await?;
            Ok(status[name].as_str().and_then(|value| value.parse().ok()))
        }
        .boxed()
    }

    fn metric_names(&self) -> &'static str {
        "`etcdctl endpoint status -w json` lists them, such as `raftIndex`"
    }
}
