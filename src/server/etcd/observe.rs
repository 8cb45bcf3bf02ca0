//! Reads what an etcd server holds.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use futures::FutureExt;
use serde_json::{Value as Json, json};
use tokio::time::timeout;

use super::{
    connection::{all_keys, key, number},
    http::Http,
};
use crate::{
    clock::{LessonClock, Slot},
    log::{
        Observed, Role,
        product::etcd::{EtcdKey, EtcdKeys, EtcdMember},
    },
    server::observe::{Observation, ObserveError, Observer, within},
};

/// How long a cluster member may take to agree with the others on its contents, in real time.
const AGREES_WITHIN: Duration = Duration::from_millis(700);

#[derive(Debug)]
pub(crate) struct EtcdObserver {
    pub address: SocketAddr,
    /// Whether it is a member of a cluster.
    pub member: bool,
}

/// A server's status report.
#[derive(Debug)]
pub(super) struct Status {
    version: Option<String>,
    /// Ids of members need all 64 bits, so they are written as texts.
    pub id: String,
    /// `0` if there is no leader.
    pub leader: String,
    term: i64,
}

impl Status {
    fn role(&self) -> Role {
        match self.leader.as_str() {
            "0" => Role::Looking,
            leader if leader == self.id => Role::Leader,
            _ => Role::Follower,
        }
    }
}

impl EtcdObserver {
    /// Each request has a connection of its own: there may be minutes between two observations.
    async fn ask(&self, path: &str, body: &Json) -> Result<Json, ObserveError> {
        let asked = async { Http::open(&self.address.to_string()).await?.ask(path, body).await };
        match asked.await {
            Ok((200, answer)) => Ok(answer),
            Ok((_, answer)) => Err(ObserveError::Failed(answer.to_string())),
            Err(error) => Err(ObserveError::Broken(error.to_string())),
        }
    }

    pub(super) async fn status(&self) -> Result<Status, ObserveError> {
        let status = self.ask("maintenance/status", &json!({})).await?;
        let text = |json: &Json| json.as_str().unwrap_or("0").to_owned();
        Ok(Status {
            version: status["version"].as_str().map(str::to_owned),
            id: text(&status["header"]["member_id"]),
            leader: text(&status["leader"]),
            term: number(&status["header"]["raft_term"]),
        })
    }

    /// Asks the leader to transfer the leadership to another member.
    pub(super) async fn transfer_leadership(&self, member: &str) -> Result<(), ObserveError> {
        self.ask("maintenance/transfer-leadership", &json!({ "targetID": member })).await.map(drop)
    }

    async fn look(&self) -> Result<EtcdKeys, ObserveError> {
        if !self.member {
            let (keys, _) = self.keys(false).await?;
            return Ok(EtcdKeys { keys, member: None });
        }
        let status = self.status().await?;
        // What the majority agreed on. A member that has just lost its leader, or its followers, may not know that yet.
        let agreed = async {
            match status.role() {
                Role::Looking => None,
                _ => timeout(AGREES_WITHIN, self.keys(false)).await.ok()?.ok(),
            }
        };
        let (keys, revision) = match agreed.await {
            Some(agreed) => agreed,
            None => self.keys(true).await?,
        };
        let member = Some(EtcdMember { role: status.role(), revision, term: status.term });
        Ok(EtcdKeys { keys, member })
    }

    /// All its keys, from its own store or as agreed by the majority, and the store's revision.
    async fn keys(&self, by_itself: bool) -> Result<(BTreeMap<String, EtcdKey>, i64), ObserveError> {
        let mut range = all_keys();
        range["serializable"] = by_itself.into();
        let answer = self.ask("kv/range", &range).await?;
        let pairs = answer["kvs"].as_array().into_iter().flatten().map(key);
        let keys = pairs.map(|json| {
            let state = EtcdKey {
                value: json["value"].as_str().unwrap_or_default().to_owned(),
                create_revision: json["create_revision"].as_i64().unwrap_or(0),
                mod_revision: json["mod_revision"].as_i64().unwrap_or(0),
                lease: json["lease"].as_i64(),
            };
            (json["key"].as_str().unwrap_or_default().to_owned(), state)
        });
        Ok((keys.collect(), number(&answer["header"]["revision"])))
    }

    /// The version, if the server has this name and a leader. The port may belong to another lab's server.
    pub async fn version(&self, name: &str) -> Result<Option<String>, ObserveError> {
        let members = within(self.ask("cluster/member/list", &json!({}))).await?;
        let status = within(self.status()).await?;
        let own = members["members"].as_array().into_iter().flatten().any(|member| member["name"] == name);
        Ok(status.version.filter(|_| own && status.leader != "0"))
    }
}

impl Observer for EtcdObserver {
    fn observe<'a>(&'a self, _: &'a LessonClock, _: Option<&'a Slot>) -> Observation<'a, Observed> {
        async { Ok(Observed::Etcd(within(self.look()).await?)) }.boxed()
    }

    fn metric<'a>(&'a self, name: &'a str) -> Observation<'a, Option<i64>> {
        async move {
            let status = within(self.ask("maintenance/status", &json!({}))).await?;
            Ok(status[name].as_str().and_then(|value| value.parse().ok()))
        }
        .boxed()
    }

    fn field<'a>(&'a self, name: &'a str) -> Observation<'a, Option<String>> {
        async move {
            if name != "role" {
                return Ok(self.metric(name).await?.map(|value| value.to_string()));
            }
            Ok(Some(within(self.status()).await?.role().name().to_owned()))
        }
        .boxed()
    }

    fn metric_names(&self) -> &'static str {
        "`etcdctl endpoint status -w json` lists them, such as `raftIndex`"
    }
}
