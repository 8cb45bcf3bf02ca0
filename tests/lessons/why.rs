//! Explanations of each carried failure, from its recording, and of orders of moves that were tried on a real server.

use std::fmt::Write;

use lockstep::{
    lab::LabOptions,
    lesson::Scenario,
    log::{ActorId, Choice, EventKind, Log},
    recording::{self, carried},
    run::race::racer::Racer,
    verdict::{
        Breach, breaches,
        why::{Cause, Why, explain},
    },
};

use crate::{
    place::{LOCKSTEP, Place},
    scenarios::{self, all_carried},
    texts::{HEAD, ONLY, planned},
};

/// Every breach in every carried recording, with its explanation.
fn carried_failures() -> Vec<(Scenario, Log, Breach, Option<Why>)> {
    let mut failures = Vec::new();
    for scenario in all_carried() {
        let log = carried::open(&scenario).unwrap_or_else(|error| panic!("{error}")).log;
        for breach in breaches(&scenario, &log).expect("it can be told") {
            let why = explain(&scenario, &log, &breach);
            failures.push((scenario.clone(), log.clone(), breach, why));
        }
    }
    failures
}

/// Removes the numbers of a crowd's members: which member is notified first is up to the server.
fn without_members(text: &str) -> String {
    let mut words = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('W') {
        let digits = rest[at + 1..].chars().take_while(char::is_ascii_digit).count();
        words.push_str(&rest[..=at]);
        if digits > 0 {
            words.push('*');
        }
        rest = &rest[at + 1 + digits..];
    }
    words + rest
}

#[test]
fn what_came_between_is_told_of_every_carried_failure_in_both_languages() {
    let mut told = String::new();
    for (scenario, _, breach, why) in carried_failures() {
        let (lesson, never) = (&scenario.loaded.lesson.id, &scenario.invariants[breach.invariant].never);
        let Some(why) = why else {
            writeln!(told, "{lesson} {}: {never}: no cause is known", scenario.variant).expect("a text");
            continue;
        };
        let (en, zh) = (without_members(&why.text.en), without_members(&why.text.zh));
        writeln!(told, "{lesson} {}: {never}: {:?}\n  {en}\n  {zh}", scenario.variant, why.kind)
            .expect("a text");
    }
    let kept = include_str!("why.txt");
    if told != kept {
        let file = std::env::temp_dir().join("lockstep-why.txt");
        std::fs::write(&file, &told).expect("a temporary file");
        let differs = told.lines().zip(kept.lines()).find(|(now, then)| now != then);
        panic!(
            "not as in tests/lessons/why.txt any more; read {} and keep it if it is right:\n{differs:#?}",
            file.display()
        );
    }
}

#[test]
fn what_came_between_is_somebody_elses_move_a_fault_or_time() {
    for (scenario, log, breach, why) in carried_failures() {
        let Some(why) = why else { continue };
        check(&scenario, &log, &breach, &why);
    }
}

/// Asserts that the three are in order, that the first is a move, and that what came between is not its sender's.
fn check(scenario: &Scenario, log: &Log, breach: &Breach, why: &Why) {
    let name = format!("{} {}: {why:?}", scenario.loaded.lesson.id, scenario.variant);
    assert!(why.first < why.between && why.between <= why.second, "{name}");
    assert!(why.between <= breach.at && why.second < log.len(), "{name}");
    // Only the release of a client whose lock was interfered with may still be to come.
    assert!(why.second <= breach.at || why.kind == Cause::Interfered, "{name}");
    let sender = |n: usize| match &log.events()[n].kind {
        EventKind::Sent { actor, .. } | EventKind::Replied { actor, .. } => Some(*actor),
        _ => None,
    };
    let first = sender(why.first);
    assert!(matches!(log.events()[why.first].kind, EventKind::Sent { .. }), "{name}");
    match &log.events()[why.between].kind {
        // A holder that releases its own lock too early is itself the cause.
        EventKind::Sent { .. } | EventKind::Replied { .. } if why.kind == Cause::LetGo => {}
        EventKind::Sent { .. } | EventKind::Replied { .. } => {
            assert_ne!(sender(why.between), first, "{name}");
        }
        EventKind::Fault(_) => {}
        other => assert!(
            matches!(why.kind, Cause::LeaseEnded | Cause::SessionEnded | Cause::Failover),
            "{name}: {other:?}"
        ),
    }
}

/// A lesson of two clients that run one program on one item.
fn lesson(program: &str, never: &str) -> String {
    let text = "{ en: Tried, zh: 试 }";
    format!(
        "{HEAD}lab: redis
params: {{ stock: 1 }}
setup:
  - redis: SET stock 1
clients:
  A: {{ runs: p }}
  B: {{ runs: p }}
programs:
  p:
{program}
invariants:
  - {{ never: {never}, says: {text}, goal: {text} }}
{ONLY}    claims:
      - that: finished('A') <= 1
story:
  - finish: A
"
    )
}

const A: Choice = Choice::Move { actor: ActorId(0) };
const B: Choice = Choice::Move { actor: ActorId(1) };

/// Carries out orders of choices.
async fn carried_out(scenario: &Scenario, orders: &[&[Choice]]) -> Vec<Log> {
    let options = LabOptions::with_binary(LOCKSTEP.into());
    let mut racer = Racer::set_up(scenario, &options).await.expect("a lab");
    let mut logs = Vec::new();
    for order in orders {
        logs.push(racer.carry_out(order.to_vec()).await.expect("it goes").log);
    }
    racer.tear_down().await;
    logs
}

#[tokio::test]
async fn orders_of_looking_and_buying_on_a_real_server_are_explained() {
    let program = "
    - check: { redis: GET stock }
    - if: check|int > 0
      then:
        - buy: { redis: DECR stock }
        - count: sold";
    let scenario = planned(&lesson(program, "sold > stock"), "only");
    // All six orders; in the first and the last, one client finishes before the other reads.
    let orders: [&[Choice]; 6] =
        [&[A, A, B], &[A, B, A, B], &[A, B, B, A], &[B, A, A, B], &[B, A, B, A], &[B, B, A]];
    let mut told = Vec::new();
    for log in carried_out(&scenario, &orders).await {
        let broken = breaches(&scenario, &log).expect("it can be told");
        told.push(broken.first().map(|breach| {
            let why = explain(&scenario, &log, breach).expect("explained");
            check(&scenario, &log, breach, &why);
            assert_eq!(why.kind, Cause::CheckThenAct);
            why.text.en
        }));
    }
    let (a, b) = (
        Some(
            "B's DECR stock came between A's GET stock and A's DECR stock: A acted on a stale value."
                .to_owned(),
        ),
        Some(
            "A's DECR stock came between B's GET stock and B's DECR stock: B acted on a stale value."
                .to_owned(),
        ),
    );
    assert_eq!(told, [None, b.clone(), a.clone(), b, a, None]);
}

#[tokio::test]
async fn a_lease_that_ends_while_an_order_is_tried_is_what_came_between() {
    let program = "
    - use: acquire_safely
      with: { key: lock, lease: 3000, every: 2s }
    - work: 10s
    - use: release_if_owner
      with: { key: lock }";
    let scenario = planned(&lesson(program, "{ overlap: lock }"), "only");
    let log = carried_out(&scenario, &[&[A, B, Choice::Timer, B, Choice::Timer, B]]).await.remove(0);
    let breach = breaches(&scenario, &log).expect("it can be told").remove(0);
    let why = explain(&scenario, &log, &breach).expect("explained");
    check(&scenario, &log, &breach, &why);
    assert_eq!(why.kind, Cause::LeaseEnded);
    assert_eq!(
        why.text.en,
        "Between A's SET lock and B's SET lock, A's lease ended. A still believed that it held the lock."
    );
}

/// In a race commands are in flight at the same time. The replies of the counter show in which order they were carried
/// out.
#[tokio::test]
async fn races_are_explained_by_what_was_answered() {
    let scenario = scenarios::carried("oversell", "check-then-decrement");
    let options = LabOptions::with_binary(LOCKSTEP.into());
    let mut racer = Racer::set_up(&scenario, &options).await.expect("a lab");
    for seed in 0..20 {
        let log = racer.run(seed).await.expect("a race");
        for breach in breaches(&scenario, &log).expect("it can be told") {
            let why = explain(&scenario, &log, &breach)
                .unwrap_or_else(|| panic!("seed {seed}: {:?}", log.events()));
            check(&scenario, &log, &breach, &why);
        }
    }
    racer.tear_down().await;
}

/// The explanation of a lesson's story on a real server.
fn told(text: &str) -> (Cause, String) {
    let place = Place::new();
    place.write("tried.yaml", text);
    let answer = place.run(&["run", "./tried.yaml", "--record", "run.jsonl"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    let scenario = planned(text, "only");
    let log = recording::read(&place.path().join("run.jsonl")).expect("it was recorded").log;
    let breach = breaches(&scenario, &log).expect("it can be told").remove(0);
    let why = explain(&scenario, &log, &breach).unwrap_or_else(|| panic!("{:?}", log.events()));
    check(&scenario, &log, &breach, &why);
    (why.kind, why.text.en)
}

const TAKE_IT: &str = "
    - acquire: { redis: 'SET lock ${token} NX PX 3000' }
    - if: acquire == 'OK'
      then:
        - holds: lock
    - nothing: { redis: GET stock }";

#[test]
fn faults_of_real_servers_are_what_came_between() {
    let good = lesson(TAKE_IT, "{ overlap: lock }");
    let with = |story: &str| good.replace("  - finish: A\n", story);
    let late = with(
        "  - hold: { link: A->redis, way: replies }
  - move: A.acquire
  - pass: 3s
  - move: B.acquire
  - release: A->redis
",
    );
    assert_eq!(
        told(&late),
        (
            Cause::LateReply,
            "B's SET lock came between A's SET lock and the reply to it: A believed a stale reply."
                .to_owned()
        )
    );
    let ahead = with(
        "  - move: A.acquire
  - skew: { redis: 10s }
  - pass: 100ms
  - move: B.acquire
",
    );
    assert_eq!(
        told(&ahead),
        (
            Cause::ClockSet,
            "Between A's SET lock and B's SET lock, the clock of redis was set ahead, and ended A's lease before its \
             time. A still believed that it held the lock."
                .to_owned()
        )
    );
    let back = with(
        "  - move: A.acquire
  - kill: redis1
  - restart: redis1
  - move: B.acquire
",
    )
    .replace("lab: redis\n", "lab: masters\n")
    .replace("NX PX 3000' }", "NX PX 3000', on: redis1 }");
    assert_eq!(
        told(&back),
        (
            Cause::Restarted,
            "Between A's SET lock and B's SET lock, redis1 was restarted, and came back without A's key. A still \
             believed that it held the lock."
                .to_owned()
        )
    );
}

#[test]
fn a_deletion_that_arrives_late_deletes_what_is_anothers() {
    let program = "
    - acquire: { redis: 'SET lock ${token} NX PX 3000' }
    - release: { redis: DEL lock }";
    let text = lesson(program, "deleted_by_another('lock') > 0").replace(
        "  - finish: A\n",
        "  - move: A.acquire
  - hold: { link: A->redis, way: requests }
  - move: A.release
  - pass: 3s
  - move: B.acquire
  - release: A->redis
",
    );
    assert_eq!(
        told(&text),
        (
            Cause::NotItsOwn,
            "B's SET lock came between A's SET lock and A's DEL lock: the key that A deleted was B's."
                .to_owned()
        )
    );
    // If the reply is held instead, A has deleted its own lock.
    let own = text.replace("way: requests", "way: replies").replace("  - pass: 3s\n", "");
    let place = Place::new();
    place.write("tried.yaml", &own);
    let answer = place.run(&["run", "./tried.yaml", "--record", "run.jsonl"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    let log = recording::read(&place.path().join("run.jsonl")).expect("it was recorded").log;
    assert_eq!(breaches(&planned(&own, "only"), &log), Ok(vec![]));
}

#[test]
fn a_session_that_expires_is_what_came_between() {
    let text = lesson(
        "
    - acquire: { zk: 'create -e /lock ${self}' }
    - holds: lock
    - nothing: { zk: ls / }",
        "{ overlap: lock }",
    );
    let text = text
        .replace("lab: redis\n", "lab: zookeeper\n")
        .replace("setup:\n  - redis: SET stock 1\n", "")
        .replace(
            "  - finish: A\n",
            "  - move: A.acquire
  - freeze: A
  - await: { that: not exists('/lock'), within: 60s }
  - move: B.acquire
",
        );
    assert_eq!(
        told(&text),
        (
            Cause::SessionEnded,
            "Between A's create /lock and B's create /lock, A's session ended, and the server deleted its node. A still \
             believed that it held the lock."
                .to_owned()
        )
    );
}
