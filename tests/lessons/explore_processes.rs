//! `lockstep explore` with client processes: every order begins with servers and connections that are like new ones, and
//! time passes in it as it does inside Lockstep.

use serde_json::{Value, json};

use crate::{
    place::{Answer, Place},
    texts::{HEAD, ONLY},
};

/// Explores a lesson of two clients: `body` is its lab, setup and programs `a` and `b`.
fn explored(body: &str, never: &str, args: &[&str]) -> Answer {
    let place = Place::new();
    let text = format!(
        "{HEAD}{body}
clients:
  A: {{ runs: a }}
  B: {{ runs: b }}
story:
  - pass: 1s
invariants:
  - never: {never}
    says: {{ en: So., zh: 是。 }}
    goal: {{ en: Not so., zh: 不是。 }}
{ONLY}    claims:
      - that: 1 == 1
"
    );
    place.write("tried.yaml", text);
    let answer = place.run(&[&["explore", "tried.yaml", "--json"], args].concat());
    place.assert_nothing_left();
    answer
}

/// The number of orders, and of those that break the invariant.
fn counts(answer: &Answer) -> [u64; 2] {
    assert!(matches!(answer.code, Some(0 | 1)), "{}", answer.err);
    let found: Value = answer.json().remove(0);
    let count = |name: &str| found[name].as_u64().unwrap_or_default();
    [count("interleavings") + count("pruned"), count("violations")]
}

/// Two clients take a lock with a lease, of which the first begins with `first`.
fn leases(first: &str) -> String {
    let locked = "
    - acquire: { redis: 'SET lock ${token} NX PX 3000' }
    - if: acquire == 'OK'
      then: [ holds: lock ]
    - release: { redis: DEL lock }
    - drops: lock";
    format!("lab: redis\nprograms:\n  a:\n    - first: {first}{locked}\n  b:{locked}\n")
}

#[test]
fn a_lease_ends_where_time_may_pass_also_with_client_processes() {
    let args = ["--slow", "1", "--moves", "4"];
    let found = |first: &str| counts(&explored(&leases(first), "{ overlap: lock }", &args));
    let hosted = found("{ redis: GET other }");
    assert!(hosted[1] > 0, "{hosted:?}");
    for first in ["{ redis: SUBSCRIBE other }", "{ local: lock mutex }"] {
        assert_eq!(found(first), hosted, "{first}");
    }
}

#[test]
fn no_order_finds_the_scripts_of_another() {
    let runs = "lab: redis\nprograms:
  a:
    - run: { redis: 'EVAL \"return 1\" 0' }
  b:
    - again: { redis: EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0, allow: [NOSCRIPT] }
    - if: error is not none
      then: [ count: missed ]
";
    assert_eq!(counts(&explored(runs, "missed > 0", &[])), [2, 1]);
    let restarted = explored(runs, "missed > 0", &["--fault", "restart"]);
    assert_eq!(restarted.code, Some(2), "{}", restarted.out);
    assert!(restarted.err.contains("EVALSHA"), "{}", restarted.err);
    // What the setup stores is there in every order.
    let function = r#"lab: redis
setup:
  - redis: "FUNCTION LOAD '#!lua name=l\nredis.register_function(\"f\", function() return 1 end)'"
programs:
  a: &p
    - call: { redis: FCALL f 0, allow: [ERR] }
    - if: call != 1
      then: [ count: missed ]
  b: *p
"#;
    assert_eq!(counts(&explored(function, "missed > 0", &[])), [2, 0]);
}

/// A sequential node is numbered by how many nodes were ever created beside it, which deleting them does not undo.
#[test]
fn the_root_of_zookeeper_is_new_in_every_order() {
    let sequential = "lab: zookeeper\nsetup:\n  - zk: create /there\nprograms:
  a:
    - create: { zk: create -s /n }
  b:
    - look: { zk: exists /x }
";
    for never in ["orphaned('/n0000000001')", "exists('/n0000000001')"] {
        assert_eq!(counts(&explored(sequential, never, &[])), [2, 2], "{never}");
    }
    let data = "lab: zookeeper\nprograms:
  a:
    - look: { zk: get / }
    - if: look == 'x'
      then: [ count: seen ]
    - set: { zk: set / x }
  b:
    - look: { zk: exists /x }
";
    assert_eq!(counts(&explored(data, "seen > 0", &[])), [3, 0]);
}

#[test]
fn a_session_of_mariadb_remembers_nothing_of_another_order() {
    let body = "lab: mariadb\nsetup:
  - sql: CREATE TABLE l (id INT PRIMARY KEY AUTO_INCREMENT, o INT NOT NULL)
programs:
  a:
    - last: { sql: SELECT LAST_INSERT_ID() AS id }
    - if: last[0].id == 0
      then: [ count: fresh ]
    - put: { sql: INSERT INTO l (o) VALUES (1) }
  b:
    - look: { sql: SELECT 1 AS x }
    - again: { sql: SELECT 1 AS x }
";
    assert_eq!(counts(&explored(body, "fresh > 0", &[])), [6, 6]);
}

#[test]
fn the_clock_of_a_server_is_set_by_one_amount() {
    let body = leases("{ redis: GET other }");
    let args = ["--fault", "skew:redis=5s", "--fault", "skew:redis=-3s"];
    let refused = explored(&body, "{ overlap: lock }", &args);
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(refused.err.contains("-3000 ms and 5000 ms"), "{}", refused.err);
}

#[test]
fn an_invariant_about_what_has_not_happened_yet_is_not_broken() {
    let body = "lab: redis\nprograms:
  a:
    - put: { redis: RPUSH list a }
    - all: { redis: LRANGE list 0 -1 }
  b:
    - listen: { redis: SUBSCRIBE channel }
";
    for never in ["woken_by('B.listen') > 0", "A.all|length == 0", "'z' in A.all"] {
        let answer = explored(body, &format!("\"{never}\""), &[]);
        assert_eq!(counts(&answer)[1], 0, "{never}: {}", answer.out);
    }
    let answer = explored(body, "\"A.all|length == 1\"", &[]);
    assert_eq!(counts(&answer), [3, 3], "{}", answer.out);
    assert_eq!(answer.json()[0]["shortest"], json!(["A.put", "A.all"]), "{}", answer.out);
}

/// What A does when it does not know whether something was done, and B, which is not to find it done twice.
const LOSES: [(&str, &str, [u64; 2]); 3] = [
    // Without a fault 2 orders, 3 with A's reply lost, 2 with B's.
    (
        "lab: zookeeper\nsetup:\n  - zk: create /q\nprograms:
  a:
    - create: { zk: create -e -s /q/n-, allow: [Lost] }
    - if: error == 'Lost'
      then: [ again: { zk: create -e -s /q/n- } ]
  b:
    - create: { zk: create -e -s /q/n- }
",
        "children('/q')|length > 2",
        [7, 3],
    ),
    // 4 without a fault, 2 + 3 where a reply before the commit is lost and A gives up, 7 with that of the commit, 4 with B's.
    (
        "lab: mariadb\nsetup:
  - sql: CREATE TABLE t (id INT PRIMARY KEY, n INT)
  - sql: INSERT INTO t VALUES (1, 0)
programs:
  a:
    - begin: { sql: BEGIN }
    - pay: { sql: UPDATE t SET n = n + 1 WHERE id = 1 }
    - commit: { sql: COMMIT, allow: [Lost] }
    - if: error == 'Lost'
      then:
        - begin_again: { sql: BEGIN }
        - pay_again: { sql: UPDATE t SET n = n + 1 WHERE id = 1 }
        - commit_again: { sql: COMMIT }
  b:
    - look: { sql: SELECT n FROM t WHERE id = 1 }
",
        "value('t/1').n > 1",
        [20, 7],
    ),
    // Only the client whose reply is lost is the owner and does not know it.
    (
        "lab: etcd\nprograms:
  a: &p
    - take: { etcd: 'create lock ${self}', allow: [Lost] }
    - if: error == 'Lost'
      then: [ count: unknown ]
  b: *p
",
        "unknown > 0 and value('lock') == 'A'",
        [6, 2],
    ),
];

#[test]
fn a_reply_is_lost_on_every_product() {
    for (body, never, expected) in LOSES {
        let answer = explored(body, &format!("\"{never}\""), &["--fault", "lost-reply"]);
        assert_eq!(counts(&answer), expected, "{body}\n{}", answer.out);
        // On etcd a client is refused the second time, and nothing is done twice.
        let is_twice = !body.contains("lab: etcd");
        let why: Value = answer.json().remove(0)["why"]["kind"].take();
        assert_eq!(why == json!("reply_lost"), is_twice, "{body}\n{}", answer.out);
    }
}

/// Two clients pay in transactions, or without any: `begin` and `commit` are there or not.
fn payments(transactions: bool) -> String {
    let (begin, commit) = if transactions {
        ("\n    - begin: { sql: BEGIN }", "\n    - commit: { sql: COMMIT }")
    } else {
        ("", "")
    };
    format!(
        "lab: mariadb
setup:
  - sql: CREATE TABLE t (id INT PRIMARY KEY, n INT)
  - sql: INSERT INTO t VALUES (1, 0)
programs:
  a: {begin}
    - pay: {{ sql: UPDATE t SET n = n + 1 WHERE id = 1, allow: [Lost] }}
    - if: error == 'Lost'
      then: [ count: unknown, stop ]{commit}
    - count: paid
  b:
    - begin: {{ sql: BEGIN }}
    - lock: {{ sql: SELECT n FROM t WHERE id = 1 FOR UPDATE }}
    - commit: {{ sql: COMMIT }}
"
    )
}

/// The statement goes on waiting in the server, which notices only afterwards that its client is gone.
#[test]
fn the_reply_of_a_statement_that_waits_for_a_row_is_lost() {
    let args = ["--fault", "lost-reply:A"];
    // Without a transaction it is carried out when the row is free: after A was told that nobody knows.
    let alone = explored(&payments(false), "unknown > 0 and value('t/1').n == 0", &args);
    assert!(counts(&alone)[1] > 0, "{}", alone.out);
    let late =
        explored(&payments(false), "unknown > 0 and moves('B.commit') > 0 and value('t/1').n == 0", &args);
    assert_eq!(counts(&late)[1], 0, "{}", late.out);
    // In a transaction it is rolled back, and frees the row for others.
    let rolled = explored(&payments(true), "\"unknown > 0 and value('t/1').n > 0\"", &args);
    assert_eq!(counts(&rolled)[1], 0, "{}", rolled.out);
    let found: Value = rolled.json().remove(0);
    assert_eq!(found["complete"], json!(true), "{}", rolled.out);
}

/// One by one, an order that was counted as another one with the same state is carried out itself.
#[test]
fn where_a_reply_is_lost_states_are_counted_as_orders_are() {
    let (body, never, expected) = LOSES[0];
    let args = ["--fault", "lost-reply", "--no-prune"];
    assert_eq!(counts(&explored(body, &format!("\"{never}\""), &args)), expected);
}

#[test]
fn a_statement_over_a_cut_link_is_not_carried_out() {
    let body = "lab: mariadb\nsetup:
  - sql: CREATE TABLE t (id INT PRIMARY KEY, n INT)
  - sql: INSERT INTO t VALUES (1, 0)
programs:
  a:
    - pay: { sql: UPDATE t SET n = n + 1 WHERE id = 1, allow: [Lost] }
    - if: error == 'Lost'
      then: [ count: unpaid ]
  b:
    - look: { sql: SELECT n FROM t WHERE id = 1 }
";
    let args = ["--fault", "cut:A->mariadb"];
    let answer = explored(body, "\"unpaid > 0 and value('t/1').n > 0\"", &args);
    assert_eq!(counts(&answer)[1], 0, "{}", answer.out);
    let answer = explored(body, "unpaid > 0", &args);
    assert!(counts(&answer)[1] > 0, "{}", answer.out);
    // A ZooKeeper client goes on trying.
    let refused = explored(LOSES[0].0, LOSES[0].1, &["--fault", "cut"]);
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(refused.err.contains("goes on trying over a cut link"), "{}", refused.err);
}

#[test]
fn a_request_over_a_cut_link_to_etcd_is_not_carried_out() {
    let (body, ..) = LOSES[2];
    let args = ["--fault", "cut:A->etcd", "--moves", "3"];
    let answer = explored(body, "\"unknown > 0 and value('lock') == 'A'\"", &args);
    assert_eq!(counts(&answer)[1], 0, "{}", answer.out);
    let answer = explored(body, "unknown > 0", &args);
    assert!(counts(&answer)[1] > 0, "{}", answer.out);
}
