//! The lab on real servers: started, observed, cut off, killed, and nothing left behind. Tests run in parallel; each
//! lab has its own directory and its own servers.

#![allow(clippy::print_stdout, reason = "figures for whoever runs it")]

use std::fmt::Write;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lockstep::clock::ClockKind;
use lockstep::lab::doctor::{self, ClockProof, ProgramStatus};
use lockstep::lab::{Lab, LabError, LabOptions, LinkAddress, LinkState, ProcessProblem, programs, sweep};
use lockstep::lesson::LabKind;
use lockstep::log::{Direction, KeyValue, LinkId, Observed, ServerState};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ConnectionAddr, IntoConnectionInfo};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use zookeeper_client::{Acls, Client, CreateMode};

use crate::place::LOCKSTEP;

/// Longer than anything here takes, so that a failure does not become a hang. A ZooKeeper server that heard no other in
/// an election asks again after 0.2 s, and after twice as long each time, up to a minute (`FastLeaderElection`).
const SOON: Duration = Duration::from_mins(3);

pub async fn lab(kind: LabKind) -> Lab {
    let begun = Instant::now();
    let lab = Lab::start(kind, &LabOptions::with_binary(LOCKSTEP.into())).await.unwrap();
    println!("{kind:?} booted in {:?}", begun.elapsed());
    lab
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, what).await.expect("it never came")
}

/// Resolves when a process, which need not be a child, has ended.
async fn gone(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let waiting = tokio::task::spawn_blocking(move || {
        let soon = SOON.try_into().unwrap();
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&soon)).unwrap()
    });
    assert_eq!(waiting.await.unwrap(), 1, "it never ended");
}

pub async fn connect(address: &LinkAddress) -> redis::RedisResult<MultiplexedConnection> {
    let LinkAddress::Unix(socket) = address else { panic!("Redis is on a Unix socket") };
    let client = redis::Client::open(ConnectionAddr::Unix(socket.clone()).into_connection_info()?)?;
    let config = AsyncConnectionConfig::new().set_response_timeout(None).set_connection_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await
}

async fn session(address: &LinkAddress) -> Client {
    let connector = Client::connector().with_session_timeout(Duration::from_secs(10));
    soon(connector.connect(&address.to_string())).await.unwrap()
}

fn string(text: &str) -> KeyValue {
    KeyValue::String(text.into())
}

#[tokio::test]
async fn redis_is_seen_as_it_is() {
    let mut lab = lab(LabKind::Redis).await;
    let info = lab.servers().remove(0);
    assert_eq!((info.name.as_str(), info.product.as_str()), ("redis", "Redis"));
    assert!(info.version.starts_with(|c: char| c.is_ascii_digit()), "{info:?}");
    let address = lab.link("A", "redis").await.unwrap();
    let mut a = connect(&address).await.unwrap();
    for command in [
        "SET lock token-of-A PX 60000",
        "SET plain 1",
        "HSET hash field value",
        "RPUSH list b a",
        "SADD set b a",
        "ZADD zset 2 b 1.5 a",
        "XADD stream * field value",
    ] {
        let mut words = command.split(' ');
        let mut wire = redis::cmd(words.next().unwrap());
        wire.arg(words.collect::<Vec<_>>()).exec_async(&mut a).await.unwrap();
    }
    let state = lab.observe().await.unwrap().remove(0);
    let Observed::Redis(keyspace) = state.observed else { panic!("{state:?}") };
    let value = |key: &str| keyspace.keys[key].value.clone();
    assert_eq!(value("lock"), string("token-of-A"));
    assert_eq!(value("hash"), KeyValue::Hash([("field".into(), "value".into())].into()));
    assert_eq!(value("list"), KeyValue::List(vec!["b".into(), "a".into()]));
    assert_eq!(value("set"), KeyValue::Set(vec!["a".into(), "b".into()]));
    assert_eq!(
        value("zset"),
        KeyValue::SortedSet(vec![("a".into(), "1.5".into()), ("b".into(), "2".into())])
    );
    // The server numbers the entries by its time.
    let KeyValue::Stream(entries) = value("stream") else { panic!("{:?}", value("stream")) };
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].1, [("field".into(), "value".into())].into());
    assert!(keyspace.keys["lock"].expires_at.is_some() && keyspace.keys["plain"].expires_at.is_none());

    let before = lab.metric("redis", "total_commands_processed").await.unwrap();
    redis::cmd("GET").arg("plain").exec_async(&mut a).await.unwrap();
    assert!(lab.metric("redis", "total_commands_processed").await.unwrap() > before);
    assert!(matches!(lab.metric("redis", "nonsense").await, Err(LabError::NoMetric { .. })));
    let error = lab.metric("postgres", "x").await.unwrap_err();
    assert!(error.to_string().contains("it has redis") && !error.is_server(), "{error}");
    lab.shutdown().await;
}

#[tokio::test]
async fn a_link_holds_loses_and_refuses() {
    let mut lab = lab(LabKind::Redis).await;
    let to_a = lab.link("A", "redis").await.unwrap();
    assert_eq!(lab.link("A", "redis").await.unwrap(), to_a, "a link is laid once");
    let to_b = lab.link("B", "redis").await.unwrap();
    let (mut a, mut b) = (connect(&to_a).await.unwrap(), connect(&to_b).await.unwrap());
    let link = lab.link_control(&LinkId::new("A", "redis")).unwrap();
    let set = |value: &str| redis::cmd("SET").arg("key").arg(value).to_owned();
    let get = redis::cmd("GET").arg("key").to_owned();

    // A late packet: sent, but not delivered until the link lets it through. B's link is a different one.
    link.hold(Direction::Requests);
    let late = {
        let (mut a, set) = (a.clone(), set("late"));
        tokio::spawn(async move { set.query_async::<String>(&mut a).await })
    };
    soon(link.holds_on(1, Direction::Requests)).await;
    assert_eq!(get.query_async::<Option<String>>(&mut b).await.unwrap(), None);
    link.release().await;
    // The data is past the link, whatever the link is told next.
    link.hold(Direction::Requests);
    assert_eq!(soon(late).await.unwrap().unwrap(), "OK");
    assert_eq!(get.query_async::<String>(&mut b).await.unwrap(), "late");

    // A lost reply: the server has done it, and A will never know.
    link.hold(Direction::Replies);
    let lost = {
        let (mut a, set) = (a.clone(), set("done"));
        tokio::spawn(async move { set.query_async::<String>(&mut a).await })
    };
    soon(link.holds_on(1, Direction::Replies)).await;
    assert_eq!(get.query_async::<String>(&mut b).await.unwrap(), "done");
    link.cut();
    link.release().await;
    soon(lost).await.unwrap().unwrap_err();

    // Cut: no data passes and no client can connect, until it is released.
    a = connect(&to_a).await.unwrap();
    link.cut();
    assert_eq!(link.state(), LinkState::Cut);
    soon(get.query_async::<Option<String>>(&mut a)).await.unwrap_err();
    assert!(soon(connect(&to_a)).await.is_err());
    assert!(lab.observe().await.is_ok(), "the truth is seen past the links");
    link.release().await;
    assert_eq!(get.query_async::<String>(&mut connect(&to_a).await.unwrap()).await.unwrap(), "done");
    assert!(lab.link_control(&LinkId::new("C", "redis")).is_none());
}

#[tokio::test]
async fn what_a_link_holds_keeps_its_order() {
    let mut lab = lab(LabKind::Redis).await;
    let LinkAddress::Unix(socket) = lab.link("A", "redis").await.unwrap() else { panic!() };
    let mut raw = tokio::net::UnixStream::connect(socket).await.unwrap();
    let link = lab.link_control(&LinkId::new("A", "redis")).unwrap();
    link.hold(Direction::Both);
    let mut expected = String::new();
    for n in 0..100 {
        soon(raw.write_all(format!("ECHO {n}\r\n").as_bytes())).await.unwrap();
        write!(expected, "${}\r\n{n}\r\n", n.to_string().len()).unwrap();
    }
    soon(link.holds_on(1, Direction::Requests)).await;
    link.release().await;
    let mut answer = vec![0; expected.len()];
    soon(raw.read_exact(&mut answer)).await.unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), expected);
}

/// How many connections a listening Unix socket has, or will have once it accepts them (proc(5)).
fn connections(socket: &Path) -> usize {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
    let its_own = |line: &&str| line.ends_with(socket.to_str().unwrap());
    // The listening socket itself is one of them.
    sockets.lines().filter(its_own).count() - 1
}

#[tokio::test]
async fn nine_hundred_connections_share_a_link() {
    let mut lab = lab(LabKind::Redis).await;
    let LinkAddress::Unix(socket) = lab.link("crowd", "redis").await.unwrap() else { panic!() };
    // Redis' own queue has room for 511: after a freeze the server must find the other clients waiting, not gone.
    lab.process("redis").unwrap().freeze().unwrap();
    let begun = Instant::now();
    let asks = (0..900).map(|_| async {
        let mut raw = tokio::net::UnixStream::connect(&socket).await.unwrap();
        raw.write_all(b"INCR members\r\n").await.unwrap();
        raw
    });
    let members = soon(futures::future::join_all(asks)).await;
    let Some(LinkAddress::Unix(server)) = lab.endpoint("redis").cloned() else { panic!() };
    let come = async {
        while connections(&socket) < 900 || connections(&server) < 511 {
            tokio::task::yield_now().await;
        }
    };
    soon(come).await;
    lab.process("redis").unwrap().thaw().unwrap();
    let answers = members.into_iter().map(|mut raw| async move {
        let mut first = [0];
        raw.read_exact(&mut first).await.unwrap();
        (raw, first)
    });
    let members = soon(futures::future::join_all(answers)).await;
    println!("900 connections answered in {:?}", begun.elapsed());
    assert!(members.iter().all(|(_, first)| first == b":"));
    let state = lab.observe().await.unwrap().remove(0);
    let Observed::Redis(keyspace) = state.observed else { panic!() };
    assert_eq!(keyspace.keys["members"].value, string("900"));
}

#[tokio::test]
async fn a_server_that_dies_is_reported_with_its_last_words() {
    let lab = lab(LabKind::Redis).await;
    let pid = Pid::from_raw(i32::try_from(lab.process("redis").unwrap().pid()).unwrap()).unwrap();
    // Like a `kill` by any user.
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let death = soon(lab.died()).await;
    let ProcessProblem::Died { process, log, .. } = &death else { panic!("{death:?}") };
    assert_eq!(process, "redis");
    assert!(log.contains("SIGTERM scheduling shutdown"), "{log}");
    assert_eq!(lab.observe().await.unwrap(), [], "the dead hold nothing");
    assert!(lab.process("redis").unwrap().freeze().unwrap_err().to_string().contains("has ended"));
}

#[tokio::test]
async fn a_server_that_was_killed_on_purpose_is_no_news() {
    let lab = lab(LabKind::Redis).await;
    let pid = lab.process("redis").unwrap().pid();
    lab.process("redis").unwrap().kill().unwrap();
    gone(pid).await;
    let news = futures::FutureExt::now_or_never(lab.died());
    assert_eq!(news, None);
}

#[tokio::test]
async fn a_frozen_server_is_not_waited_for_and_goes_with_the_lab() {
    let lab = lab(LabKind::Redis).await;
    let pid = lab.process("redis").unwrap().pid();
    lab.process("redis").unwrap().freeze().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert!(stat.contains(") T "), "it stands still when freeze returns: {stat}");
    let error = lab.observe().await.unwrap_err();
    assert!(error.is_server() && error.to_string().contains("frozen"), "{error}");
    lab.process("redis").unwrap().thaw().unwrap();
    lab.observe().await.unwrap();
    lab.process("redis").unwrap().freeze().unwrap();
    let directory = lab.directory().to_path_buf();
    lab.shutdown().await;
    gone(pid).await;
    assert!(!directory.exists());
}

#[tokio::test]
async fn a_server_that_cannot_start_is_quoted() {
    let mut options = LabOptions::with_binary(LOCKSTEP.into());
    let named = |name: &str| (name == "LOCKSTEP_REDIS_SERVER").then(|| "/bin/mkdir".into());
    options.search = programs::Search::new(vec![], named);
    let error = Lab::start(LabKind::Redis, &options).await.unwrap_err();
    assert!(error.is_server(), "{error}");
    assert!(error.to_string().contains("File exists"), "{error}");
}

#[tokio::test]
async fn zookeeper_is_seen_as_it_is() {
    let mut lab = lab(LabKind::Zookeeper).await;
    let address = lab.link("A", "zookeeper").await.unwrap();
    let (a, b) = (session(&address).await, session(&address).await);
    let persistent = CreateMode::Persistent.with_acls(Acls::anyone_all());
    let ephemeral = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
    a.create("/L", b"queue", &persistent).await.unwrap();
    let (stat, _) = a.create("/L/held", b"by A", &ephemeral).await.unwrap();
    let (_, _, watcher) = b.get_and_watch_data("/L/held").await.unwrap();
    let (_, absent) = b.check_and_watch_stat("/absent").await.unwrap();

    let tree = tree(&lab).await;
    let held = &tree.nodes["/L/held"];
    assert_eq!((held.data.as_str(), held.owner, held.czxid), ("by A", Some(a.session_id().0), stat.czxid));
    assert_eq!(held.watchers, [b.session_id().0]);
    assert_eq!((tree.nodes["/L"].data.as_str(), tree.nodes["/L"].owner), ("queue", None));
    assert_eq!(tree.watched_absent["/absent"], [b.session_id().0]);
    assert_eq!(tree.nodes.len(), 2, "nothing of the server's own: {:?}", tree.nodes);
    drop((watcher, absent));
}

#[tokio::test]
async fn a_crowd_of_ephemerals_is_read_at_once() {
    let mut lab = lab(LabKind::Zookeeper).await;
    let address = lab.link("crowd", "zookeeper").await.unwrap();
    let crowd = session(&address).await;
    crowd.create("/L", b"", &CreateMode::Persistent.with_acls(Acls::anyone_all())).await.unwrap();
    let mode = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    soon(futures::future::try_join_all((0..900).map(|_| crowd.create("/L/n-", b"x", &mode)))).await.unwrap();
    let begun = Instant::now();
    let tree = tree(&lab).await;
    println!("901 nodes seen in {:?}", begun.elapsed());
    assert_eq!(tree.nodes.len(), 901);
    assert!(tree.nodes.values().filter(|node| node.owner == Some(crowd.session_id().0)).count() == 900);
}

#[tokio::test]
async fn an_ensemble_has_its_leader_and_another_one_when_that_dies() {
    elects(LabKind::Ensemble).await;
}

#[tokio::test]
async fn an_etcd_cluster_has_its_leader_and_another_one_when_that_dies() {
    elects(LabKind::EtcdCluster).await;
}

async fn elects(kind: LabKind) {
    let mut lab = lab(kind).await;
    assert_eq!(lab.clock().kind(), ClockKind::Controlled);
    let [first, second, third] = kind.servers() else { panic!("three servers") };
    let roles = async |lab: &Lab| {
        let states = lab.observe().await.unwrap();
        let role = |state: &ServerState| (state.server.clone(), state.observed.role().unwrap().name());
        states.iter().map(role).collect::<Vec<_>>()
    };
    let named = |roles: &[(&str, &'static str)]| {
        roles.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect::<Vec<_>>()
    };
    assert_eq!(roles(&lab).await, named(&[(first, "follower"), (second, "follower"), (third, "leader")]));
    lab.process(third).unwrap().kill().unwrap();
    lab.process(third).unwrap().exited().await;
    soon(async {
        while !roles(&lab).await.iter().any(|(_, role)| *role == "leader") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    lab.process(second).unwrap().kill().unwrap();
    soon(async {
        while roles(&lab).await != named(&[(first, "looking")]) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    lab.restart_server(third).await.unwrap();
    soon(async {
        while roles(&lab).await.iter().filter(|(_, role)| *role != "looking").count() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A directory of its own, in which the archive does not exist yet. A search takes a function and no closure.
static CACHE: std::sync::LazyLock<tempfile::TempDir> =
    std::sync::LazyLock::new(|| tempfile::tempdir().expect("a directory"));

#[tokio::test]
async fn the_next_zookeeper_starts_from_an_archive_of_the_classes_of_the_first() {
    let mut options = LabOptions::with_binary(LOCKSTEP.into());
    let path = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect();
    options.search = programs::Search::new(path, |name| match name {
        "LOCKSTEP_CACHE" => Some(CACHE.path().into()),
        _ => std::env::var_os(name),
    });
    let archive = || {
        let mut files = std::fs::read_dir(CACHE.path()).unwrap().flatten().map(|entry| entry.path());
        files.find(|file| file.extension().is_some_and(|extension| extension == "jsa"))
    };
    let uses = |lab: &Lab, archive: &Path| {
        let pid = lab.process("zookeeper").unwrap().pid();
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        maps.contains(archive.to_str().unwrap())
    };
    let first = Lab::start(LabKind::Zookeeper, &options).await.unwrap();
    let archive = soon(async {
        loop {
            if let Some(archive) = archive() {
                break archive;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(!uses(&first, &archive));
    first.shutdown().await;
    let second = Lab::start(LabKind::Zookeeper, &options).await.unwrap();
    assert!(uses(&second, &archive), "the archive is not used");
    second.shutdown().await;
    std::fs::write(&archive, "no archive").unwrap();
    let third = Lab::start(LabKind::Zookeeper, &options).await.unwrap();
    assert!(!uses(&third, &archive), "what is no archive is passed over");
    third.shutdown().await;
    std::fs::remove_dir_all(CACHE.path()).unwrap();
}

#[tokio::test]
async fn zookeeper_counts_the_watches_that_a_deletion_fires() {
    const WATCHERS: i64 = 9;
    const FIRED: &str = "zk_sum_node_deleted_watch_count";
    let mut lab = lab(LabKind::Zookeeper).await;
    let address = lab.link("crowd", "zookeeper").await.unwrap();
    let holder = session(&address).await;
    holder.create("/L", b"", &CreateMode::Ephemeral.with_acls(Acls::anyone_all())).await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..WATCHERS {
        let client = session(&address).await;
        let (_, watcher) = client.check_and_watch_stat("/L").await.unwrap();
        waiting.push((client, watcher));
    }
    let before = lab.metric("zookeeper", FIRED).await.unwrap();
    let packets = lab.metric("zookeeper", "zk_packets_sent").await.unwrap();
    holder.delete("/L", None).await.unwrap();
    for (_, watcher) in waiting {
        soon(watcher.changed()).await;
    }
    assert_eq!(lab.metric("zookeeper", FIRED).await.unwrap() - before, WATCHERS);
    assert!(lab.metric("zookeeper", "zk_packets_sent").await.unwrap() - packets >= WATCHERS);
}

#[tokio::test]
async fn doctor_reports_what_is_here() {
    let report = doctor::report(&LabOptions::with_binary(LOCKSTEP.into())).await;
    let text = report.text().en;
    println!("{text}");
    assert!(report.healthy(), "{text}");
    assert!(report.programs.iter().all(|program| matches!(program.status, ProgramStatus::Found { .. })));
    match &report.proof {
        ClockProof::Controlled { paused_at_ms, .. } => assert!(*paused_at_ms > 0),
        ClockProof::Wall { .. } => assert!(!lockstep::clock::LessonClock::supported()),
        ClockProof::Failed { why } => panic!("{why}"),
    }
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["programs"][0]["program"], "redis-server");
}

/// The guard by itself: `sh` is the parent and is killed.
#[tokio::test]
async fn a_guarded_process_ends_with_its_parent() {
    for how in ["", "--supervise"] {
        let script = format!("{LOCKSTEP} __guard {how} $$ -- sleep 1000 & echo $!; wait");
        let mut parent = Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(parent.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        parent.kill().unwrap();
        parent.wait().unwrap();
        gone(line.trim().parse().unwrap()).await;
        // The pipe's other ends were the guard's and its child's: when it ends, both are gone.
        let mut rest = String::new();
        parent.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    }
}

#[tokio::test]
async fn a_guard_whose_parent_is_gone_starts_nothing() {
    // Process 1 must not be guarded.
    let output = Command::new(LOCKSTEP).args(["__guard", "1", "--", "echo", "started"]).output().unwrap();
    assert!(output.stdout.is_empty() && !output.status.success());
    let output = Command::new(LOCKSTEP).args(["__guard", "nonsense"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("for Lockstep's own use"));
}

/// Run by the test below, in a process of its own.
#[tokio::test]
#[ignore = "waits to be killed"]
async fn labs_to_be_killed() {
    for kind in [LabKind::Redis, LabKind::Zookeeper] {
        let lab = Box::leak(Box::new(lab(kind).await));
        println!("\nready {}", lab.process(&lab.servers()[0].name).unwrap().pid());
    }
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn sigkill_leaves_no_process_and_the_next_lockstep_no_directory() {
    let root = tempfile::tempdir().unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["lab::labs_to_be_killed", "--exact", "--ignored", "--nocapture"])
        .env("TMPDIR", root.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let ready = lines.filter_map(|line| line.unwrap().strip_prefix("ready ")?.parse().ok());
    let pids: Vec<u32> = ready.take(2).collect();
    assert_eq!(sweep(root.path()).directories, 0, "the living are spared");
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert_eq!(pids.len(), 2);
    for pid in pids {
        gone(pid).await;
    }
    assert_eq!(sweep(root.path()).directories, 2);
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

async fn tree(lab: &Lab) -> lockstep::log::ZnodeTree {
    let state = lab.observe().await.unwrap().remove(0);
    let Observed::Zookeeper(tree) = state.observed else { panic!("{state:?}") };
    tree
}
