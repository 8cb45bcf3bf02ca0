//! One actor's connection to one etcd server: calls as requests to its JSON gateway, and its answers.

use std::io;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures::{FutureExt, future::BoxFuture};
use serde_json::{Value as Json, json};

use super::http::Http;
use crate::{
    log::{Command, Reply, product::etcd::EtcdCall},
    server::connection::{Breaks, Connection, ReplyFuture, ServerAddress, value},
};

/// Connected on first use, and again after a loss, as gRPC clients do. A request in flight when the connection breaks
/// is lost.
struct Client {
    address: String,
    http: Option<Http>,
    /// How many connections had broken when this one was opened.
    breaks: Breaks,
    /// The lease that was granted last: the server identifies the holder of a key by it.
    lease: Option<i64>,
}

pub(crate) async fn connect(server: &ServerAddress, eager: bool) -> Result<Box<dyn Connection>, String> {
    let address = server.address.clone();
    let http =
        if eager { Some(Http::open(&address).await.map_err(|error| error.to_string())?) } else { None };
    Ok(Box::new(Client { address, http, breaks: Breaks::default(), lease: None }))
}

impl Client {
    async fn connected(&mut self, breaks: Breaks) -> io::Result<&mut Http> {
        if self.breaks != breaks {
            (self.http, self.breaks) = (None, breaks);
        }
        match &mut self.http {
            Some(http) => Ok(http),
            empty => Ok(empty.insert(Http::open(&self.address).await?)),
        }
    }

    async fn ask(&mut self, path: &str, body: &Json, breaks: Breaks) -> Reply {
        let answer = match self.connected(breaks).await {
            Ok(http) => http.ask(path, body).await,
            Err(error) => Err(error),
        };
        self.read(answer)
    }

    fn read(&mut self, answer: io::Result<(u16, Json)>) -> Reply {
        match answer {
            Ok((200, answer)) => Reply::Value(answer),
            Ok((_, answer)) => refused(&answer),
            Err(error) => {
                self.http = None;
                Reply::Lost(error.to_string())
            }
        }
    }

    async fn carry_out(&mut self, call: &EtcdCall, breaks: Breaks) -> Reply {
        let (path, body) = request(call);
        // Forgotten, so that the next grant is reported even if it has the same number.
        if matches!(call, EtcdCall::Revoke { .. }) {
            self.lease = None;
        }
        let answer = if let EtcdCall::Watch { .. } = call {
            if let Err(error) = self.connected(breaks).await {
                return Reply::Lost(error.to_string());
            }
            let Some(http) = self.http.take() else { return Reply::Lost("no connection".to_owned()) };
            let is_deletion = |message: &Json| {
                let events = message["result"]["events"].as_array().into_iter().flatten();
                events.into_iter().any(|event| event["type"] == "DELETE")
                    || message["result"]["canceled"] == true
            };
            let answer = http.stream_until(path, &body, is_deletion).await;
            self.read(answer)
        } else {
            self.ask(path, &body, breaks).await
        };
        let answer = match answer {
            Reply::Value(answer) => parse_answer(call, &answer),
            bad => return bad,
        };
        if let (EtcdCall::Grant { .. }, Reply::Value(lease)) = (call, &answer) {
            self.lease = lease.as_i64();
        }
        answer
    }

    async fn delete_all(&mut self) -> Result<(), Reply> {
        let leases = value(self.ask("lease/leases", &json!({}), self.breaks).await)?;
        for lease in leases["leases"].as_array().into_iter().flatten() {
            // A lease that has ended meanwhile is gone as well.
            self.ask("lease/revoke", &json!({ "ID": lease["ID"] }), self.breaks).await;
        }
        value(self.ask("kv/deleterange", &all_keys(), self.breaks).await).map(drop)
    }
}

impl Connection for Client {
    fn send<'a>(&'a mut self, command: &'a Command, _: Option<&'a str>, breaks: Breaks) -> ReplyFuture<'a> {
        async move {
            match command {
                Command::Etcd(call) => Some(self.carry_out(call, breaks).await),
                _ => None,
            }
        }
        .boxed()
    }

    fn session(&self) -> Option<i64> {
        self.lease
    }

    fn reach(&mut self, breaks: Breaks) -> BoxFuture<'_, ()> {
        async move { drop(self.connected(breaks).await) }.boxed()
    }

    fn empty<'a>(&'a mut self, _: &'a [String]) -> BoxFuture<'a, Result<(), Reply>> {
        self.delete_all().boxed()
    }
}

/// A request for all keys of the server.
pub(super) fn all_keys() -> Json {
    json!({ "key": encoded("\0"), "range_end": encoded("\0") })
}

fn encoded(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

/// The end of the range of keys with a prefix (exclusive).
fn prefix_end(prefix: &str) -> String {
    let mut end = prefix.as_bytes().to_vec();
    // The last byte can be incremented: UTF-8 has no byte 0xff.
    match end.last_mut() {
        Some(last) => *last += 1,
        None => end.push(0),
    }
    BASE64_STANDARD.encode(end)
}

/// The gateway's method for a call, and the body of the request.
fn request(call: &EtcdCall) -> (&'static str, Json) {
    let put = |key: &str, value: &str, lease: Option<i64>| json!({ "key": encoded(key), "value": encoded(value), "lease": lease.unwrap_or(0) });
    let created = |key: &str, revision: i64| json!([{ "key": encoded(key), "target": "CREATE", "result": "EQUAL", "create_revision": revision }]);
    let by_age = |prefix: &str, order: &str| {
        json!({
            "key": encoded(prefix), "range_end": prefix_end(prefix), "sort_target": "CREATE", "sort_order": order,
        })
    };
    match call {
        EtcdCall::Grant { seconds, lease } => {
            ("lease/grant", json!({ "TTL": seconds, "ID": lease.unwrap_or(0) }))
        }
        EtcdCall::Keepalive { lease } => ("lease/keepalive", json!({ "ID": lease })),
        EtcdCall::Revoke { lease } => ("lease/revoke", json!({ "ID": lease })),
        EtcdCall::Put { key, value, lease } => ("kv/put", put(key, value, *lease)),
        EtcdCall::Create { key, value, lease } => (
            "kv/txn",
            json!({ "compare": created(key, 0), "success": [{ "request_put": put(key, value, *lease) }] }),
        ),
        EtcdCall::PutIf { key, revision, other, value } => (
            "kv/txn",
            json!({ "compare": created(key, *revision), "success": [{ "request_put": put(other, value, None) }] }),
        ),
        EtcdCall::Get { key } => ("kv/range", json!({ "key": encoded(key) })),
        EtcdCall::Ls { prefix } => ("kv/range", by_age(prefix, "ASCEND")),
        EtcdCall::Before { prefix, revision } => {
            let mut range = by_age(prefix, "DESCEND");
            range["limit"] = 1.into();
            range["max_create_revision"] = (revision - 1).into();
            ("kv/range", range)
        }
        EtcdCall::Delete { key } => ("kv/deleterange", json!({ "key": encoded(key) })),
        EtcdCall::Watch { key, revision } => (
            "watch",
            json!({ "create_request": { "key": encoded(key), "start_revision": revision + 1, "filters": ["NOPUT"] } }),
        ),
    }
}

/// The answer as programs see it.
fn parse_answer(call: &EtcdCall, answer: &Json) -> Reply {
    let revision = || number(&answer["header"]["revision"]);
    let keys = || answer["kvs"].as_array().into_iter().flatten();
    let done = answer["succeeded"] == true;
    Reply::Value(match call {
        EtcdCall::Grant { .. } => number(&answer["ID"]).into(),
        // The gateway omits the TTL of a lease that has ended.
        EtcdCall::Keepalive { .. } => match number(&answer["result"]["TTL"]) {
            0 => Json::Null,
            left => left.into(),
        },
        EtcdCall::Create { key, .. } if !done => {
            return Reply::Error { code: "KeyExists".to_owned(), text: format!("there is a key `{key}`") };
        }
        EtcdCall::Create { .. } => json!({ "create_revision": revision() }),
        EtcdCall::PutIf { .. } if !done => Json::Null,
        EtcdCall::Revoke { .. } | EtcdCall::Put { .. } | EtcdCall::PutIf { .. } => "OK".into(),
        EtcdCall::Get { .. } => keys().next().map_or(Json::Null, key),
        EtcdCall::Ls { .. } => keys().map(key).collect(),
        EtcdCall::Before { .. } => keys().next().map_or(Json::Null, |found| {
            let mut found = key(found);
            // The revision from which a watch sees later changes.
            found["revision"] = revision().into();
            found
        }),
        EtcdCall::Delete { .. } => number(&answer["deleted"]).into(),
        EtcdCall::Watch { .. } if answer["result"]["canceled"] == true => {
            let text = answer["result"]["cancel_reason"].as_str().unwrap_or("no reason given").to_owned();
            return Reply::Error { code: "Canceled".to_owned(), text };
        }
        EtcdCall::Watch { .. } => "DELETE".into(),
    })
}

/// A key as the server describes it.
pub(super) fn key(value: &Json) -> Json {
    json!({
        "key": text(&value["key"]),
        "value": text(&value["value"]),
        "create_revision": number(&value["create_revision"]),
        "mod_revision": number(&value["mod_revision"]),
        "lease": Some(number(&value["lease"])).filter(|lease| *lease != 0),
    })
}

/// The gateway's JSON writes large numbers as strings and omits zeros.
pub(super) fn number(value: &Json) -> i64 {
    value.as_i64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

fn text(value: &Json) -> String {
    let bytes = value.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn refused(answer: &Json) -> Reply {
    let text = answer["message"].as_str().or(answer["error"].as_str()).unwrap_or("it was refused").to_owned();
    let code = match text.trim_start_matches("etcdserver: ") {
        "requested lease not found" => "LeaseNotFound",
        "lease already exists" => "LeaseExists",
        // The gRPC code `UNAVAILABLE`: there is no leader, or the request was not agreed on in time.
        _ if answer["code"] == 14 => "Unavailable",
        _ => "ERR",
    };
    Reply::Error { code: code.to_owned(), text }
}
