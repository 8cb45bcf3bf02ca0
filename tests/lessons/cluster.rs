//! A Redis Cluster: a failover that loses a lock, an old master that answers OK, and clients that are redirected.

use lockstep::log::{EventKind, Reply};
use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};

use crate::{
    free_support::Free,
    place::Place,
    texts::{HEAD, planned},
};

/// `lock:1` is on `node1`, whose replica is `node4`.
const LESSON: &str = "
lab: cluster
clients:
  A: { runs: worker }
  B: { runs: other }
programs:
  worker:
    - acquire: { redis: 'SET lock:1 ${token} NX PX 60000' }
    - holds: lock
    - work: 30s
  other:
    - acquire: { redis: 'SET lock:1 ${token} NX PX 60000', on: node2 }
    - holds: lock
    - work: 30s
variants:
  lost:
    title: { en: Lost, zh: 丢 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    story:
      - hold: node4->node1
      - move: A.acquire
      - kill: node1
      - drop: node4->node1
      - await: { that: \"role('node4') == 'master'\", within: 60s }
      - pass: 1s
      - move: B.acquire
    claims:
      - A.acquire == 'OK'
      - B.acquire == 'OK'
      - overlap: lock
      - replies('B.acquire') == ['MOVED', 'OK']
      - role('node1') is none
  thawed:
    title: { en: Thawed, zh: 恢复 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    story:
      - freeze: node1
      - move: A.acquire
      - await: { that: \"role('node4') == 'master'\", within: 60s }
      - pass: 1s
      - move: B.acquire
      - thaw: node1
      - await: { that: \"role('node1') == 'replica'\", within: 60s }
    claims:
      - replies('A.acquire') == ['OK']
      - replies('B.acquire') == ['MOVED', 'OK']
      - overlap: lock
      - role('node4') == 'master'
  slots:
    title: { en: Slots, zh: 槽 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    programs:
      worker:
        - slot: { redis: CLUSTER KEYSLOT lock:1 }
        - apart: { redis: MSET a 1 b 2, allow: [CROSSSLOT] }
        - together: { redis: 'MSET {a}:1 1 {a}:2 2' }
        - raw: { redis: GET lock:1, on: node3, allow: [MOVED] }
    story:
      - finish: A
    claims:
      - A.slot == 3430
      - A.apart == 'CROSSSLOT'
      - A.together == 'OK'
      - A.raw == 'MOVED'
";

#[test]
fn a_failover_loses_a_lock_and_a_thawed_master_grants_another() {
    let place = Place::new();
    place.write("tried.yaml", [HEAD, LESSON].concat());
    let answer = place.run(&["run", "tried.yaml"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    place.assert_nothing_left();
}

/// Sends a command to a node as the lab itself does: no client of a lesson moves slots.
async fn tell(address: &str, password: &str, command: &str) -> String {
    let who = RedisConnectionInfo::default().set_username("lockstep").set_password(password);
    let address = ConnectionAddr::Unix(address.into()).into_connection_info().expect("an address");
    let client = redis::Client::open(address.set_redis_settings(who)).expect("a client");
    let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
    let words: Vec<&str> = command.split(' ').collect();
    redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await.expect("a reply")
}

#[tokio::test]
async fn a_client_asks_where_a_slot_is_on_its_way_to() {
    let mut free = Free::begin(planned(&[HEAD, LESSON].concat(), "lost")).await;
    let servers = free.log.events().iter().find_map(|event| match &event.kind {
        EventKind::LabReady { servers, .. } => Some(servers.clone()),
        _ => None,
    });
    let servers = servers.expect("a lab");
    let node = |n: usize| (servers[n].address.clone(), servers[n].password.clone().expect("a password"));
    let ((first, secret), (second, _)) = (node(0), node(1));
    let ids = [tell(&first, &secret, "CLUSTER MYID").await, tell(&second, &secret, "CLUSTER MYID").await];
    tell(&second, &secret, &format!("CLUSTER SETSLOT 3430 IMPORTING {}", ids[0])).await;
    tell(&first, &secret, &format!("CLUSTER SETSLOT 3430 MIGRATING {}", ids[1])).await;
    free.moves([0]).await;
    let wire: Vec<(String, String)> = (free.log.events().iter())
        .filter_map(|event| match &event.kind {
            EventKind::Sent { server, command, .. } => Some((server.clone(), command.brief())),
            _ => None,
        })
        .collect();
    let wire: Vec<(&str, &str)> =
        wire.iter().map(|(server, sent)| (server.as_str(), sent.as_str())).collect();
    assert_eq!(wire, [("node1", "SET lock:1"), ("node2", "ASKING"), ("node2", "SET lock:1")]);
    let asked = Reply::Error { code: "ASK".into(), text: "3430 node2".into() };
    let ok = Reply::Value("OK".into());
    assert_eq!(free.replies(), [asked, ok.clone(), ok]);
}
