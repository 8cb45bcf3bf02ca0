//! ZooKeeper's calls, and the notifications about a client's session, on a real server.

use crate::{
    place::Place,
    texts::{HEAD, ONLY},
};

/// A makes each call in turn. B is cut off for longer than its session lives.
const LESSON: &str = r#"
lab: zookeeper
settings: { session_timeout: 2s }
setup:
  - zk: create /a first
clients:
  A: { runs: p }
  B: { runs: q }
  D: { runs: r }
programs:
  p:
    - set: { zk: set /a second 0 }
    - stale: { zk: set /a third 0, allow: [BadVersion] }
    - wrong: { zk: delete /a 7, allow: [BadVersion] }
    - container: { zk: create -c /c }
    - mortal: { zk: create -t 1000 /t, allow: [Unimplemented] }
    - refused: { zk: "multi create /b ; check /a 5", allow: [BadVersion] }
    - absent: { zk: exists /b }
    - all: { zk: "multi check /a 1 ; create /b ; set /a fourth" }
    - sync: { zk: sync /a }
    - stat: { zk: exists /a }
    - gone: { zk: delete /b 0 }
  q:
    - create: { zk: create -e /e }
    - holds: lock
    - lost: { take: { from: session } }
    - heard: { take: { from: session } }
    - drops: lock
    - after: { zk: exists /e, allow: [SessionExpired] }
    - connect: { zk: connect }
    - again: { zk: create -e /e }
  r:
    - look: { zk: exists /e }
story:
  - finish: A
  - move: B.create
  - cut: B->zookeeper
  - pass: 4s
  - move: D.look
  - release: B->zookeeper
  - finish: B
"#;

const CLAIMS: &str = "    claims:
      - A.set.version == 1 and A.stale == 'BadVersion' and A.wrong == 'BadVersion'
      # All or none.
      - A.refused == 'BadVersion' and A.absent is none
      - A.stat.version == 2 and A.stat.owner == 0 and A.gone == 'OK'
      - B.lost.what == 'Suspended' and B.heard.what == 'Expired'
      - D.look is none and B.after == 'SessionExpired' and owner('/e') == 'B'
";

#[test]
fn every_call_answers_as_the_server_does_and_a_session_that_ends_is_told() {
    let place = Place::new();
    place.write("tried.yaml", format!("{HEAD}{LESSON}{ONLY}{CLAIMS}"));
    let answer = place.run(&["run", "tried.yaml"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
}

const COMPOSED: &str = r#"
lab: [ensemble, mariadb]
setup:
  - sql: CREATE TABLE good (id INT PRIMARY KEY, n INT)
clients:
  A: { runs: p }
  B: { runs: p }
programs:
  p:
    - create: { zk: create -s /n- }
    - look: { sql: SELECT n FROM good }
    - lost: { take: { from: session } }
    - back: { take: { from: session } }
    - again: { zk: create -s /n- }
story:
  - move: [A.create, B.create, A.look, B.look]
  - kill: zk3
  - await: { that: "moves('again') == 2", within: 60s, moving: [A, B] }
"#;

/// By the time that the loss is reported, the client's library tries another server, and MariaDB has numbered its
/// connection as well.
#[test]
fn a_lost_connection_to_an_ensemble_is_told_of_the_server_that_it_was_to() {
    let place = Place::new();
    let claims = "    claims:\n      - A.lost.what == 'Suspended' and B.lost.what == 'Suspended'\n";
    place.write("tried.yaml", format!("{HEAD}{COMPOSED}{ONLY}{claims}"));
    let answer = place.run(&["run", "tried.yaml", "--json", "--events"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    let result: serde_json::Value = serde_json::from_str(&answer.out).expect("JSON");
    let events = result["events"].as_array().expect("events");
    for actor in [0, 1] {
        let server = |kind: &str, name: &str, what: &str| {
            let mut own = events.iter().filter(|event| event["event"] == kind && event["actor"] == actor);
            own.find(|event| event[name] == what).expect(what)["server"].clone()
        };
        assert_eq!(
            server("notified", "what", "Suspended"),
            server("sent", "label", "create"),
            "{}",
            answer.out
        );
        assert_eq!(
            server("notified", "what", "Reconnected"),
            server("sent", "label", "again"),
            "{}",
            answer.out
        );
    }
}

/// The herd lock of `which-lock`, whose node has the same name for all clients.
const HERD: &str = r#"
lab: zookeeper
params: { soon: 100ms, work: 1s }
clients: { A: { runs: worker }, B: { runs: worker } }
programs:
  worker:
    - { use: herd_lock, with: { path: /lock } }
    - work: ${work}
    - drops: lock
    - release: { zk: delete /lock, allow: [NoNode, Lost] }
    - if: error == 'Lost'
      then:
        - owner: { zk: get /lock, allow: [NoNode, Lost], until: reply != 'Lost', every: "${soon}" }
        - if: owner == self
          then: [again: { zk: delete /lock, allow: [NoNode, Lost], until: reply != 'Lost', every: "${soon}" }]
story:
  - move: [A.create, B.create, B.watch]
  - hold: { link: A->zookeeper, way: WAY }
  - send: A.release
  - cut: A->zookeeper
  - release: A->zookeeper
  - await: { that: finished('A') > 0, within: 60s, moving: [A, B] }
  - await: { that: finished('B') > 0, within: 60s, moving: [B] }
"#;

#[test]
fn a_lost_release_is_sent_again_where_the_node_is_still_ones_own() {
    for (way, sent_again) in [("requests", 1), ("replies", 0)] {
        let place = Place::new();
        let claims = format!(
            "    claims:\n      - moves('A.release') == 1 and A.release == 'Lost'\n      - moves('A.again') == {sent_again}\n      - exclusive: lock\n"
        );
        place.write("tried.yaml", format!("{HEAD}{}{ONLY}{claims}", HERD.replace("WAY", way)));
        let answer = place.run(&["run", "tried.yaml"]);
        assert_eq!(answer.code, Some(0), "{way}: {}{}", answer.out, answer.err);
    }
}
