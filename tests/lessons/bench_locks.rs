//! Locks measured against each other: every one keeps the others out, and a user's own servers are left as they were.

use std::{process::Stdio, time::Duration};

use lockstep::{
    lab::{Lab, LabOptions},
    lesson::LabKind,
};
use mysql_async::{Conn, prelude::Queryable};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::place::{LOCKSTEP, Place};

#[test]
fn every_lock_hands_over_and_lets_nobody_in_beside_its_holder() {
    let place = Place::new();
    let answer = place.run(&["bench-locks", "--hand-overs", "12", "--clients", "3", "--json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let rows = answer.json();
    assert!(rows.len() >= 7, "{rows:?}");
    for row in &rows {
        let figures = &row["figures"];
        assert_eq!((&figures["hand_overs"], &figures["overlaps"]), (&json!(12), &json!(0)), "{row}");
        // Every way to hand a lock over takes at least a release and a grant.
        assert!(
            figures["requests"].as_f64() >= Some(2.0) && figures["median_ms"].as_f64() > Some(0.0),
            "{row}"
        );
    }
    let of = |lock: &str| rows.iter().find(|row| row["lock"] == lock).expect(lock);
    assert!(of("redlock")["figures"]["requests"].as_f64() >= Some(10.0), "five servers, twice");
    assert!(of("zookeeper-herd")["figures"]["notifications"].as_f64() > Some(0.0));
    assert!(of("etcd-predecessor")["figures"]["notifications"].as_f64() > Some(0.0));
    place.assert_nothing_left();
}

/// Servers that are somebody's own, and how they are named on the command line.
async fn own() -> (Lab, String, String) {
    let kind: LabKind = serde_json::from_value(json!(["redis", "mariadb"])).expect("a lab");
    let mut options = LabOptions::with_binary(LOCKSTEP.into());
    options.wall_clock = true;
    let lab = Lab::start(kind, &options).await.expect("it starts");
    let address = |server| lab.endpoint(server).expect("an address").to_string();
    let redis = format!("redis+unix://{}", address("redis"));
    let sql = format!("mysql://lesson@localhost/lesson?socket={}", address("mariadb"));
    (lab, redis, sql)
}

async fn tables(sql: &str) -> Vec<String> {
    Conn::from_url(sql).await.expect("a connection").query("SHOW TABLES").await.expect("tables")
}

async fn keys(redis: &str) -> Vec<String> {
    let client = redis::Client::open(redis).expect("a URL");
    let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
    redis::cmd("KEYS").arg("*").query_async(&mut connection).await.expect("keys")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_the_user_are_written_to_only_when_allowed_and_are_left_as_they_were() {
    let (lab, redis, sql) = own().await;
    let place = Place::new();
    let args = ["bench-locks", "--redis", &redis, "--sql", &sql, "--hand-overs", "6", "--json"];
    let refused = place.run(&args);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("--yes"), "{}", refused.err);
    let answer = place.run(&[&args[..], &["--yes"]].concat());
    assert_eq!(answer.code, Some(0), "{} {}", answer.out, answer.err);
    let locks: Vec<_> = answer.json().iter().map(|row| row["lock"].clone()).collect();
    assert_eq!(locks, ["redis-polling", "redis-messages", "mariadb-for-update"]);
    assert_eq!((keys(&redis).await, tables(&sql).await), (Vec::new(), Vec::new()));

    // Ctrl-C in the middle of it.
    let mut interrupted = place.command(&["bench-locks", "--sql", &sql, "--hand-overs", "100000", "--yes"]);
    let mut running = interrupted.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    while tables(&sql).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pid = i32::try_from(running.id()).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, Signal::INT).expect("it runs");
    assert_eq!(running.wait().expect("it ends").code(), Some(130));
    assert_eq!(tables(&sql).await, Vec::<String>::new());
    lab.shutdown().await;
}
