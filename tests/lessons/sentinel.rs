//! Several Redis servers: replication, failover and faults of servers, on real ones.

#![allow(clippy::print_stdout, reason = "figures for whoever runs it")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lockstep::clock::Rate;
use lockstep::lab::{Lab, LinkAddress};
use lockstep::lesson::LabKind;
use lockstep::log::{Direction, EventKind, Keyspace, LinkId, Observed, Role, SentinelNotice};
use lockstep::recording;
use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};

use crate::lab::lab;
use crate::place::Place;

/// Longer than anything here takes, so that a failure does not become a hang.
const SOON: Duration = Duration::from_mins(1);

async fn run(lab: &mut Lab, server: &str, command: &str) -> redis::Value {
    let LinkAddress::Unix(socket) = lab.link("A", server).await.unwrap() else {
        panic!("Redis is on a Unix socket")
    };
    let mut info = ConnectionAddr::Unix(socket).into_connection_info().unwrap();
    if let Some(password) = lab.password() {
        info = info.set_redis_settings(RedisConnectionInfo::default().set_password(password));
    }
    let client = redis::Client::open(info).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await.unwrap()
}

async fn keyspace(lab: &Lab, server: &str) -> Keyspace {
    let states = lab.observe().await.unwrap();
    let state = states.into_iter().find(|state| state.server == server).unwrap();
    let Observed::Redis(keyspace) = state.observed else { panic!() };
    keyspace
}

async fn becomes(lab: &Lab, server: &str, wanted: impl Fn(&Keyspace) -> bool) {
    let seen = async {
        while !wanted(&keyspace(lab, server).await) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, seen).await.expect("it never came");
}

/// Lets three Sentinels replace a killed master, and returns the server that they chose.
async fn fail_over(lab: &mut Lab) -> String {
    let sentinel = lab.link("A", "sentinel1").await.unwrap();
    let (begun, lesson) = (Instant::now(), lab.clock().now());
    lab.process("node1").unwrap().kill().unwrap();
    lab.clock().set_rate(Rate::from_factor(10.0).unwrap()).unwrap();
    let chosen = tokio::time::timeout(SOON, async {
        loop {
            match lab.primary(&sentinel).await {
                Some(name) if name != "node1" => return name.to_owned(),
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    });
    let chosen = chosen.await.expect("no failover");
    println!(
        "failed over to {chosen} in {:?}, lesson time {:?}",
        begun.elapsed(),
        lab.clock().now().since(lesson)
    );
    lab.clock().set_rate(Rate::NORMAL).unwrap();
    chosen
}

#[tokio::test]
async fn replicas_follow_and_sentinel_promotes_one() {
    let mut lab = lab(LabKind::Sentinel).await;
    let sentinel = lab.link("A", "sentinel2").await.unwrap();
    assert_eq!(lab.primary(&sentinel).await, Some("node1"));
    let names: Vec<String> = lab.servers().into_iter().map(|info| info.name).collect();
    assert_eq!(names, ["node1", "node2", "node3"]);
    run(&mut lab, "node1", "SET lock A").await;
    for replica in ["node2", "node3"] {
        becomes(&lab, replica, |seen| seen.keys.contains_key("lock")).await;
        let of = "node1".to_owned();
        assert_eq!(keyspace(&lab, replica).await.role, Some(Role::Replica { of }));
    }
    assert_eq!(keyspace(&lab, "node1").await.role, Some(Role::Master));
    let chosen = fail_over(&mut lab).await;
    becomes(&lab, &chosen, |seen| seen.role == Some(Role::Master)).await;
    assert!(keyspace(&lab, &chosen).await.keys.contains_key("lock"));
}

#[tokio::test]
async fn no_sentinel_begins_a_lesson_in_tilt() {
    let mut lab = lab(LabKind::Sentinel).await;
    for name in LabKind::Sentinel.sentinels() {
        let LinkAddress::Tcp(address) = lab.link("A", name).await.unwrap() else {
            panic!("Sentinel is on TCP")
        };
        let password = lab.password().expect("Sentinels are on ports");
        let client = redis::Client::open(format!("redis://:{password}@{address}")).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let info: String = redis::cmd("INFO").arg("sentinel").query_async(&mut connection).await.unwrap();
        assert!(info.contains("sentinel_tilt:0"), "{name}: {info}");
    }
}

#[tokio::test]
async fn what_replication_links_hold_is_lost_with_the_master() {
    let mut lab = lab(LabKind::Sentinel).await;
    for replica in ["node2", "node3"] {
        lab.link_control(&LinkId::new(replica, "node1")).unwrap().hold(Direction::Both);
    }
    run(&mut lab, "node1", "SET lock A").await;
    let chosen = fail_over(&mut lab).await;
    becomes(&lab, &chosen, |seen| seen.role == Some(Role::Master)).await;
    assert!(keyspace(&lab, &chosen).await.keys.is_empty());
}

#[tokio::test]
async fn a_master_among_five_restarts_empty() {
    let mut lab = lab(LabKind::Masters).await;
    assert_eq!(lab.servers().len(), 5);
    run(&mut lab, "redis3", "SET lock A").await;
    assert!(keyspace(&lab, "redis2").await.keys.is_empty());
    assert!(lab.restart_server("redis3").await.is_err(), "it runs");
    lab.process("redis3").unwrap().kill().unwrap();
    while lab.observe().await.unwrap().len() == 5 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    lab.restart_server("redis3").await.unwrap();
    assert_eq!(keyspace(&lab, "redis3").await, keyspace(&lab, "redis2").await);
    assert_eq!(run(&mut lab, "redis3", "PING").await, redis::Value::SimpleString("PONG".into()));
}

#[test]
fn a_run_tells_who_missed_the_master_who_was_elected_and_whom_it_promoted() {
    let place = Place::new();
    let args = ["run", "failover", "--variant", "replicated", "--record", "run.jsonl"];
    let answer = place.run(&args);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    let recording = recording::read(&place.path().join("run.jsonl")).unwrap();
    let told: Vec<(&str, &SentinelNotice)> = recording
        .log
        .events()
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Sentinel { sentinel, notice } => Some((sentinel.as_str(), notice)),
            _ => None,
        })
        .collect();
    let missed: BTreeSet<&str> = told
        .iter()
        .filter(|(_, notice)| matches!(notice, SentinelNotice::Misses { server } if server == "node1"))
        .map(|(sentinel, _)| *sentinel)
        .collect();
    assert!(missed.len() >= 2, "{told:?}");
    let (leader, _) =
        told.iter().find(|(_, notice)| **notice == SentinelNotice::Elected).expect("an election");
    let votes = told.iter().filter(
        |(_, notice)| matches!(notice, SentinelNotice::Votes { leader: chosen, .. } if chosen == leader),
    );
    assert!(votes.count() >= 2, "{told:?}");
    let selected = SentinelNotice::Selects { server: "node2".into() };
    assert!(told.contains(&(leader, &selected)), "{told:?}");
    let switched = SentinelNotice::Switches { server: "node2".into() };
    assert!(told.iter().any(|(_, notice)| **notice == switched), "{told:?}");
    // The greetings of the start are not among the notices, and their times are the lesson's.
    let first = told[0].1;
    assert_eq!(first.word(), "+sdown", "{told:?}");
}
