//! etcd on the lesson clock: its keys, their leases, and clients that wait for the deletion of a key.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use lockstep::{
    clock::{ClockKind, Rate},
    lesson::LabKind,
};

use crate::{
    lab::lab,
    place::{Answer, Place},
    texts::HEAD,
};

const LAB: &str = "
lab: etcd
setup:
  - etcd: put stock 1
clients:
  A: { runs: job, with: { id: 10 } }
  B: { runs: job, with: { id: 11 } }
params: { id: 0, revision: 0 }
programs:
  job:
    - grant: { etcd: 'grant 5 ${id}' }
    - enter: { etcd: 'create lock/${self} ${self} ${id}', allow: [Lost] }
    - before: { etcd: 'before lock/ ${enter.create_revision}' }
    - if: before is not none
      then: [ gone: { etcd: 'watch ${before.key} ${before.revision}' } ]
    - holds: lock
    - leave: { etcd: 'revoke ${id}', allow: [LeaseNotFound] }
    - drops: lock
  crowd:
    - enter: { etcd: create lock one, allow: [KeyExists, Lost] }
    - write: { etcd: 'put-if lock ${revision} stock 7' }
";

fn run(rest: &str) -> Answer {
    let place = Place::new();
    place.write("tried.yaml", format!("{HEAD}{LAB}{rest}"));
    let answer = place.run(&["run", "tried.yaml"]);
    place.assert_nothing_left();
    answer
}

#[test]
fn whoever_waits_for_a_key_is_woken_when_it_is_deleted_or_its_lease_ends() {
    let answer = run("
variants:
  revoked:
    title: { en: Revoked, zh: 撤销 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ exclusive: lock, \"B.gone == 'DELETE'\", \"owner('lock/B') == 'B'\", \"A.leave == 'OK'\" ]
    story:
      - move: [A.grant, A.enter, A.before, B.grant, B.enter, B.before]
      - send: B.gone
      - move: A.leave
  ended:
    title: { en: Ended, zh: 到期 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims:
      - B.gone == 'DELETE' and A.before is none
      - at('B.gone') - at('A.grant') >= 4000 and at('B.gone') - at('A.grant') <= 9000
    story:
      - move: [A.grant, A.enter, A.before]
      - crash: A
      - pass: 3s
      - move: [B.grant, B.enter, B.before]
      - send: B.gone
      - await: { that: B.gone is defined, within: 9s }
");
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
}

#[test]
fn keys_outlive_their_server_and_a_request_is_lost_with_its_connection() {
    let answer = run("
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    clients: { A: { runs: crowd, with: { revision: 3 } }, B: { runs: crowd, with: { revision: 4 } }, C: { runs: crowd } }
    claims:
      - A.enter.create_revision == 3
      - B.enter == 'KeyExists' and C.enter == 'Lost'
      - A.write == 'OK' and B.write is none
      - value('stock') == '7' and value('lock') == 'one'
    story:
      - move: [A.enter, B.enter, A.write]
      - kill: etcd
      - restart: etcd
      - move: B.write
      - cut: C->etcd
      - move: C.enter
");
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
}

#[test]
fn a_cluster_keeps_its_keys_and_leases_without_its_leader_and_says_that_it_has_no_majority() {
    let place = Place::new();
    let lab = LAB
        .replace("lab: etcd", "lab: etcd-cluster")
        .replace("allow: [LeaseNotFound]", "allow: [LeaseNotFound, Unavailable]");
    let rest = "
variants:
  leader-dies:
    title: { en: The leader, zh: 领导者 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ exclusive: lock, \"B.gone == 'DELETE' and A.leave == 'OK'\", \"owner('lock/B') == 'B'\", \"role('etcd3') is none\" ]
    story:
      - move: [A.grant, A.enter, A.before, B.grant, B.enter, B.before]
      - send: B.gone
      - kill: etcd3
      - await: { that: \"role('etcd1') == 'leader' or role('etcd2') == 'leader'\", within: 20s }
      - move: A.leave
  majority-lost:
    title: { en: The majority, zh: 多数派 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ \"A.leave == 'Unavailable'\", \"at('A.leave') - at('A.before') >= 5000\", \"role('etcd1') == 'looking' and exists('lock/A')\" ]
    story:
      - move: [A.grant, A.enter, A.before]
      - kill: etcd3
      - kill: etcd2
      - move: A.leave
      - await: { that: A.leave is defined, within: 20s }
";
    place.write("tried.yaml", format!("{HEAD}{lab}{rest}"));
    let answer = place.run(&["run", "tried.yaml"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    place.assert_nothing_left();
}

#[test]
fn races_begin_with_empty_servers() {
    let place = Place::new();
    let rest = "
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ exclusive: lock ]
    story: [ finish: [A, B] ]
";
    place.write("tried.yaml", format!("{HEAD}{LAB}{rest}"));
    let answer = place.run(&["race", "tried.yaml", "-n", "4"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert!(!answer.out.contains("VIOLATED"), "{}", answer.out);
    place.assert_nothing_left();
}

/// Go reads the clock in the vDSO and bypasses libc's functions.
#[tokio::test]
async fn a_lease_stands_still_while_the_lesson_is_paused_and_ends_by_its_time() {
    let lab = lab(LabKind::Etcd).await;
    assert!(lab.wall_clock().is_none(), "{:?}", lab.wall_clock());
    assert_eq!(lab.clock().kind(), ClockKind::Controlled);
    let address = lab.servers().remove(0).address;
    let ask = |path: &str, body: &str| {
        let mut stream = TcpStream::connect(&address).expect("the server");
        // With HTTP/1.0 the answer ends with the connection.
        write!(stream, "POST /v3/{path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .expect("it takes it");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let body = answer.split_once("\r\n\r\n").expect("a body").1;
        serde_json::from_str::<serde_json::Value>(body).expect(body)
    };
    let left = || {
        ask("lease/timetolive", r#"{"ID":"10"}"#)["TTL"].as_str().and_then(|left| left.parse::<i64>().ok())
    };
    assert_eq!(ask("lease/grant", r#"{"TTL":"4","ID":"10"}"#)["TTL"], "4");
    lab.clock().set_rate(Rate::PAUSED).expect("the clock");
    // Real time has to pass here: the test is that it makes no difference.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(left() >= Some(3), "{:?}", left());
    lab.clock().set_rate(Rate::from_factor(8.0).expect("a rate")).expect("the clock");
    let begun = lab.clock().now();
    while left() != Some(-1) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(lab.clock().now().since(begun) < Duration::from_secs(30), "it outlived its time");
    }
    assert!(lab.clock().now().since(begun) >= Duration::from_secs(3));
    lab.shutdown().await;
}

#[test]
fn a_race_waits_for_the_end_of_a_lease() {
    let place = Place::new();
    let rest = "
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ exclusive: lock ]
    story: [ move: A.grant ]
";
    let left = "    - leave: { etcd: 'revoke ${id}', allow: [LeaseNotFound] }\n";
    assert!(LAB.contains(left));
    // Whoever is first ends its program without giving the lease back.
    place.write("tried.yaml", format!("{HEAD}{}{rest}", LAB.replace(left, "    - work: 1s\n")));
    let answer = place.run(&["race", "tried.yaml", "-n", "3", "--json"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    let raced: serde_json::Value = serde_json::from_str(&answer.out).expect("a race");
    for outcome in raced["outcomes"].as_array().expect("outcomes") {
        assert_eq!(outcome["unfinished"], 0, "{raced}");
    }
    place.assert_nothing_left();
}
