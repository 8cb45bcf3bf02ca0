//! Measured locks: each of them excludes other clients, and a user's own servers are left as they were.

use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

use lockstep::{
    lab::{Lab, LabOptions},
    lesson::LabKind,
};
use mysql_async::{Conn, prelude::Queryable};
use redis::aio::MultiplexedConnection;
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
        // Every hand-over takes at least a release and a grant.
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

/// Servers that belong to the user, and how they are named on the command line.
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

async fn connected(sql: &str) -> Conn {
    Conn::from_url(sql).await.expect("a connection")
}

async fn run(sql: &str, statement: &str) {
    connected(sql).await.query_drop(statement).await.expect("it is done");
}

async fn tables(sql: &str) -> Vec<String> {
    connected(sql).await.query("SHOW TABLES").await.expect("tables")
}

async fn redis_connection(url: &str) -> MultiplexedConnection {
    let client = redis::Client::open(url).expect("a URL");
    client.get_multiplexed_async_connection().await.expect("a connection")
}

async fn set(redis: &str, key: &str, value: &str) {
    redis::cmd("SET")
        .arg(key)
        .arg(value)
        .exec_async(&mut redis_connection(redis).await)
        .await
        .expect("it is set");
}

async fn keys(redis: &str) -> Vec<String> {
    redis::cmd("KEYS").arg("*").query_async(&mut redis_connection(redis).await).await.expect("keys")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_the_user_are_written_to_only_when_allowed_and_are_left_as_they_were() {
    let (lab, redis, sql) = own().await;
    set(&redis, "user:1", "alice").await;
    run(&sql, "CREATE TABLE orders (id INT PRIMARY KEY)").await;
    run(&sql, "INSERT INTO orders VALUES (7)").await;
    let as_before = async || {
        let orders: Vec<i32> = connected(&sql).await.query("SELECT id FROM orders").await.expect("rows");
        (keys(&redis).await, tables(&sql).await, orders)
            == (vec!["user:1".to_owned()], vec!["orders".to_owned()], vec![7])
    };
    let place = Place::new();
    let args = ["bench-locks", "--redis", &redis, "--sql", &sql, "--hand-overs", "6", "--json"];
    let refused = place.run(&args);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("--yes"), "{}", refused.err);
    let answer = place.run(&[&args[..], &["--yes"]].concat());
    assert_eq!(answer.code, Some(0), "{} {}", answer.out, answer.err);
    let locks: Vec<_> = answer.json().iter().map(|row| row["lock"].clone()).collect();
    assert_eq!(locks, ["redis-polling", "redis-messages", "mariadb-for-update"]);
    assert!(as_before().await);

    // Ctrl-C in the middle of a measurement.
    let mut interrupted = place.command(&["bench-locks", "--sql", &sql, "--hand-overs", "100000", "--yes"]);
    let mut running = interrupted.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    while tables(&sql).await.len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pid = i32::try_from(running.id()).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, Signal::INT).expect("it runs");
    assert_eq!(running.wait().expect("it ends").code(), Some(130));
    assert!(as_before().await);
    lab.shutdown().await;
}

#[test]
fn servers_that_cannot_be_used_are_told_before_anything_is_asked_or_written() {
    // Only the system's own services may use these ports.
    for (option, address) in [
        ("--redis", "redis://127.0.0.1:1"),
        ("--zookeeper", "127.0.0.1:1"),
        ("--sql", "mysql://me:hidden@127.0.0.1:1/shop"),
    ] {
        let answer = Place::new().run(&["bench-locks", option, address]);
        assert_eq!(answer.code, Some(3), "{option}: {}", answer.err);
        assert!(
            answer.err.contains("127.0.0.1:1") && answer.err.contains("Nothing was written"),
            "{}",
            answer.err
        );
        assert!(!answer.err.contains("hidden") && !answer.err.contains("--yes"), "{}", answer.err);
    }
    for (option, address) in [("--redis", "nonsense"), ("--zookeeper", "nonsense"), ("--sql", "nonsense")] {
        let answer = Place::new().run(&["bench-locks", option, address]);
        assert_eq!(answer.code, Some(2), "{option}: {}", answer.err);
        assert!(answer.err.contains(option) && answer.err.contains("HOST:PORT"), "{}", answer.err);
    }
}

/// Kills the process on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("it ends");
    }
}

/// A user who may read but not write has written nothing, and nothing is left to remove.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_may_not_write_is_told_so_and_nothing_is_left() {
    let place = Place::new();
    let socket = place.path().join("own.sock").display().to_string();
    let mut server = Command::new("redis-server");
    server.args(["--port", "0", "--save", "", "--unixsocket", &socket]).args(["--user", "reader"]);
    server.args(["on", ">word", "~*", "+@read", "+@connection"]).current_dir(place.path());
    let _running = Running(server.stdout(Stdio::null()).spawn().expect("redis-server"));
    let admin = format!("redis+unix://{socket}");
    let client = redis::Client::open(admin.as_str()).expect("a URL");
    while client.get_multiplexed_async_connection().await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    set(&admin, "user:1", "alice").await;
    let reader = format!("{admin}?user=reader&pass=word");
    let answer = place.run(&["bench-locks", "--redis", &reader, "--hand-overs", "6", "--yes"]);
    assert_eq!(answer.code, Some(3), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("no permissions"), "{}", answer.out);
    assert!(!answer.err.contains("could not be removed"), "{}", answer.err);
    assert_eq!(keys(&admin).await, ["user:1"]);
}

#[test]
fn the_report_is_written_to_a_page_too() {
    let place = Place::new();
    let answer = place.run(&[
        "bench-locks",
        "redis-polling",
        "--hand-overs",
        "6",
        "--clients",
        "2",
        "-o",
        "locks.html",
    ]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let page = std::fs::read_to_string(place.path().join("locks.html")).expect("a page");
    for words in ["<!DOCTYPE html>", "2 clients, 6 hand-overs", "Redis, polling", "class=\"bar\"", "✗"] {
        assert!(page.contains(words), "{words} is missing: {page}");
    }
}
