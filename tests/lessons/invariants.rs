//! The invariants of every carried lesson: the story of a variant that shows a failure breaks one, and that of a
//! variant that prevents it does not. On the carried recordings, which are runs on real servers, and on new runs.

use std::sync::LazyLock;

use lockstep::{
    clock::{ClockKind, LessonTime},
    lesson::{Expect, Scenario},
    log::{
        ActorId, Belief, Capacity, Command, Event, EventKind, Fault, LockInfo, Log, OpId, Product, Reply,
        Stop,
    },
    recording::{self, carried},
    run::race::{LockFate, Outcome},
    text::Text,
    ui::chart::{Chart, Detail, sequence::Sequence},
    verdict::{Breach, Watch, breaches},
    world::World,
};
use proptest::prelude::*;

use crate::{
    place::{NEW_LESSON, Place},
    scenarios::{all_carried, carried_if},
    texts::planned,
};

/// Every variant of every lesson, with its carried recording.
fn carried_runs() -> Vec<(Scenario, Log)> {
    let run = |scenario: Scenario| {
        let recording = carried::open(&scenario).unwrap_or_else(|error| panic!("{error}"));
        (scenario, recording.log)
    };
    all_carried().into_iter().map(run).collect()
}

fn name(scenario: &Scenario) -> String {
    format!("{} {}", scenario.loaded.lesson.id, scenario.variant)
}

fn broken(scenario: &Scenario, log: &Log) -> Vec<Breach> {
    breaches(scenario, log).unwrap_or_else(|error| panic!("{}: {error}", name(scenario)))
}

/// The invariants of a scenario that a log breaks, as texts.
fn broken_names(scenario: &Scenario, log: &Log) -> Vec<String> {
    let breaches = broken(scenario, log);
    let never = |breach: &Breach| scenario.invariants[breach.invariant].never.to_string();
    breaches.iter().map(never).collect()
}

/// Why a run does not treat its invariants as its variant promises.
fn wrong(scenario: &Scenario, log: &Log) -> Option<String> {
    let (expect, told) = (scenario.variant().expects(), broken_names(scenario, log));
    let kept = told.is_empty() == (expect == Expect::Prevented);
    (!kept).then(|| format!("{}: {expect:?}, and broken are {told:?}", name(scenario)))
}

#[test]
fn stories_of_failures_break_an_invariant_and_stories_of_fixes_keep_them_all() {
    let runs = carried_runs();
    let wrong: Vec<String> = runs.iter().filter_map(|(scenario, log)| wrong(scenario, log)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn on_servers_of_today_too() {
    let place = Place::new();
    let lessons = ["oversell", "setnx-without-expire", "unlock-someone-elses-lock", "watchdog"];
    let answer = place.run(&[&["run", "--record", "runs"], &lessons[..]].concat());
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let scenarios = carried_if(|lesson, _| lessons.contains(&lesson.id.as_str()));
    assert!(scenarios.len() > lessons.len());
    for scenario in scenarios {
        let file = place.path().join("runs").join(carried::file_name(&scenario));
        let recording = recording::read(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(wrong(&scenario, &recording.log), None);
    }
}

/// Each of these is the point of its lesson: if only another invariant found it, the test above would not notice.
#[test]
fn each_failure_is_seen_as_what_it_is() {
    let deleted = "deleted_by_another('lock') > 0";
    let points = [
        ("oversell lost-update", "sold > stock"),
        ("oversell local-lock", "overlap: mutex"),
        ("setnx-without-expire two-commands", "orphaned('lock') and pttl('lock') == -1"),
        ("setnx-without-expire multi", "renewed_by_another('lock') > 0"),
        (
            "setnx-without-expire multi",
            "orphaned('lock') and (value('lock') or '')|first == 'A' and pttl('lock') > lease",
        ),
        ("unlock-someone-elses-lock blind-del", deleted),
        ("unlock-someone-elses-lock get-compare-del", deleted),
        ("unlock-someone-elses-lock user-id-token", deleted),
        ("watchdog no-renewal", "overlap: lock"),
        ("watchdog blind-renewal", "renewed_by_another('lock') > 0"),
        ("failover split-brain", "overlap: lock"),
        ("zk-herd herd", "herd() > 1"),
    ];
    let runs = carried_runs();
    for (variant, never) in points {
        let (scenario, log) = runs
            .iter()
            .find(|(scenario, _)| name(scenario) == variant)
            .unwrap_or_else(|| panic!("no {variant}"));
        let told = broken_names(scenario, log);
        assert!(told.iter().any(|known| known == never), "{variant}: {told:?}");
    }
}

#[test]
fn a_breach_is_dated_to_the_event_that_made_it_and_proved_by_what_came_before() {
    for (scenario, log) in carried_runs() {
        for breach in broken(&scenario, &log) {
            let name = name(&scenario);
            assert!(!breach.evidence.is_empty(), "{name}: {breach:?}");
            assert!(breach.evidence.is_sorted(), "{name}: {breach:?}");
            assert!(breach.evidence.iter().all(|event| *event <= breach.at), "{name}: {breach:?}");
            let kind = &log.events()[breach.at].kind;
            // A breach by time alone happens when time has passed.
            let told = matches!(kind, EventKind::Stop { stop, .. } if *stop != Stop::Passed)
                || matches!(kind, EventKind::Say { .. });
            assert!(!told, "{name}: {kind:?}");
            // It did not exist before.
            let mut before = Log::new();
            before.extend(log.events()[..breach.at].iter().cloned());
            let earlier = broken(&scenario, &before);
            assert!(earlier.iter().all(|known| known.invariant != breach.invariant), "{name}: {breach:?}");
        }
    }
}

/// Asserts that world, timelines, sequence, verdict and race find the same two holders.
fn agree(scenario: &Scenario, log: &Log) -> usize {
    let name = name(scenario);
    let holding = World::fold(log, log.len()).holding;
    let overlaps = holding.overlaps();
    let mut chart = Chart::new(Detail::Wires);
    chart.advance(log);
    let mut sequence = Sequence::default();
    sequence.advance(log);
    let ends = overlaps.iter().map(|of| (&of.lock, of.event, of.end));
    let overlap_spans = chart.overlap_spans.iter();
    let overlap_spans = overlap_spans.map(|of| (&of.lock, of.from.1, of.to.map(|to| to.1)));
    assert!(
        ends.clone().eq(overlap_spans),
        "{name}: {overlaps:?}, on the timelines {:?}",
        chart.overlap_spans
    );
    let rows = sequence.overlaps.iter();
    let rows = rows.map(|of| (&of.lock, of.from.1, of.to.map(|to| to.1)));
    assert!(ends.eq(rows), "{name}: {overlaps:?}, in the sequence {:?}", sequence.overlaps);
    let breaches = broken(scenario, log);
    for (lock, fate) in Outcome::of(scenario, log).locks {
        let first = overlaps.iter().find(|of| of.lock == lock).map(|of| of.event);
        assert_eq!(fate == LockFate::Violated, first.is_some(), "{name}: {lock} in a race");
        let never = format!("overlap: {lock}");
        let known = |n: usize| scenario.invariants[n].never.to_string() == never;
        if (0..scenario.invariants.len()).any(known) {
            let breach = breaches.iter().find(|breach| known(breach.invariant));
            assert_eq!(breach.map(|breach| breach.at), first, "{name}: {lock} in the verdict");
        }
    }
    overlaps.len()
}

#[test]
fn two_holders_are_the_same_two_wherever_they_are_told_of() {
    let runs = carried_runs();
    let seen: usize = runs.iter().map(|(scenario, log)| agree(scenario, log)).sum();
    assert!(seen > 5, "{seen}: there is something to agree about");
}

/// Any event that matters to the holding of the lock in the lesson of `lockstep new`.
fn happening() -> impl Strategy<Value = EventKind> {
    let actor = (0..2_u32).prop_map(ActorId);
    let belief = prop_oneof![
        3 => Just(Belief::Holding),
        2 => Just(Belief::Sharing),
        1 => Just(Belief::Waiting),
        1 => Just(Belief::Nothing),
    ];
    let lock = || "lock".to_owned();
    prop_oneof![
        8 => (actor.clone(), belief).prop_map(move |(actor, belief)| EventKind::Believes { actor, lock: lock(), belief }),
        4 => (actor.clone(), 0..50_u64, any::<bool>()).prop_map(move |(actor, op, releases)| EventKind::Sent {
            op: OpId(op),
            actor,
            label: "release".to_owned(),
            server: "redis".to_owned(),
            command: Command::from_text("DEL lock", Product::Redis),
            releases: releases.then(lock).into_iter().collect(),
        }),
        4 => (actor.clone(), 0..50_u64).prop_map(|(actor, op)| EventKind::Replied {
            op: OpId(op),
            actor,
            label: "release".to_owned(),
            reply: Reply::Value(1.into()).into(),
        }),
        1 => Just(EventKind::Fault(Fault::Crash { client: "A".to_owned() })),
        1 => actor.prop_map(|actor| EventKind::GaveUp { actor, why: Text::default() }),
    ]
}

/// Otherwise the screen would give the answer while it still asks.
#[test]
fn nothing_is_broken_between_a_question_and_the_step_that_decides_it() {
    let mut seen = 0;
    for (scenario, log) in carried_runs() {
        let events = log.events();
        for (decided, event) in events.iter().enumerate() {
            let EventKind::Decided { item, .. } = event.kind else { continue };
            let is_question =
                |event: &Event| matches!(event.kind, EventKind::Asked { item: of, .. } if of == item);
            let asked = events[..decided].iter().rposition(is_question).expect("a question");
            let is_stop = |event: &Event| matches!(event.kind, EventKind::Stop { .. });
            let step = events[..decided].iter().rposition(is_stop).unwrap_or(asked).max(asked);
            let is_broken = |event: &Event| matches!(event.kind, EventKind::Breached { .. });
            assert!(!events[asked..step].iter().any(is_broken), "{}: question {item}", name(&scenario));
            seen += 1;
        }
    }
    assert!(seen > 150, "{seen} questions");
}

proptest! {
    #[test]
    fn so_they_are_whatever_happens(
        kinds in proptest::collection::vec((happening(), 0..200_i64), 0..40),
        limit in prop_oneof![Just(Capacity::Holders(1)), Just(Capacity::Holders(2)), Just(Capacity::ReadWrite)],
    ) {
        let mut scenario = planned(NEW_LESSON, "blind-del");
        scenario.locks = vec![LockInfo { name: "lock".to_owned(), title: None, limit }];
        let ready = EventKind::LabReady {
            lesson: "my-lock".to_owned(),
            variant: "blind-del".to_owned(),
            clock: ClockKind::Controlled,
            servers: Vec::new(),
            actors: scenario.actors.iter().map(|plan| plan.actor.clone()).collect(),
            locks: scenario.locks.clone(),
            counters: scenario.counter_titles.clone(),
        };
        let mut log = Log::new();
        let mut millis = 0;
        for (kind, passed) in std::iter::once((ready, 0)).chain(kinds) {
            millis += passed;
            log.append(Event { at: LessonTime::from_millis(millis), kind });
        }
        agree(&scenario, &log);
    }
}

/// Every variant with its recording, and what a single look finds: the same for every case.
static RUNS: LazyLock<Vec<(Scenario, Log, Vec<Breach>)>> = LazyLock::new(|| {
    let at_once = |(scenario, log): (Scenario, Log)| {
        let found = Watch::new(&scenario).advance(&scenario, &log).expect("it can be told");
        (scenario, log, found)
    };
    carried_runs().into_iter().map(at_once).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// A live run is judged after each move, and an opened recording once.
    #[test]
    fn looking_often_and_looking_once_see_the_same(cuts in proptest::collection::vec(0.0..1.0, 0..12)) {
        for (scenario, log, at_once) in &*RUNS {
            let mut ends: Vec<usize> = cuts.iter().map(|cut| share(log.len(), *cut)).collect();
            ends.push(log.len());
            ends.sort_unstable();
            let mut watch = Watch::new(scenario);
            let mut found = Vec::new();
            let mut seen = Log::new();
            for end in ends {
                seen.extend(log.events()[seen.len()..end].iter().cloned());
                found.extend(watch.advance(scenario, &seen).expect("it can be told"));
            }
            found.sort_by_key(|breach| (breach.at, breach.invariant));
            prop_assert_eq!(&found, at_once, "{}", name(scenario));
        }
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of a few hundred events"
)]
fn share(of: usize, part: f64) -> usize {
    (of as f64 * part) as usize
}

/// A lesson in which A puts something into a key, crashes, and B deletes it, each with one operation.
fn deletion(lab: &str, setup: &str, key: &str, [put, extend, delete]: [&str; 3]) -> String {
    let quoted = |operation: &str| {
        let (verb, words) = operation.split_once(": ").expect("a verb and its words");
        format!("{{ {verb}: '{}' }}", words.replace('\'', "''"))
    };
    let (put, extend, delete) = (quoted(put), quoted(extend), quoted(delete));
    format!(
        "format: 2\nid: deletion\ntrack: redis\ntitle: {{ en: Kinds, zh: 类型 }}\n\
         summary: {{ en: All kinds., zh: 各种类型。 }}\nintro: {{ en: One key., zh: 一个键。 }}\nminutes: 1\n\
         lab: {lab}\nsetup: [{setup}]\nclients: {{ A: {{ runs: owner }}, B: {{ runs: other }} }}\n\
         programs:\n  owner:\n    - put: {put}\n    - ask: {put}\n  other:\n    \
         - extend: {extend}\n    - delete: {delete}\n\
         story: [ {{ move: A.put }}, {{ crash: A }}, {{ move: B.extend }}, {{ move: B.delete }} ]\n\
         invariants:\n  - {{ never: orphaned('{key}'), says: {{ en: It is nobody's., zh: 它没有主人。 }} }}\n  \
         - {{ never: deleted_by_another('{key}') > 0, says: {{ en: Another did., zh: 被别人删掉。 }} }}\n\
         variants:\n  only:\n    title: {{ en: Only, zh: 唯一 }}\n    expect: shown\n    \
         lesson: {{ en: It is so., zh: 就是这样。 }}\n    claims: [ deleted_by_another('{key}') == 1 ]\n"
    )
}

/// Asserts that a run and every order show that the key was orphaned and then deleted by another client.
fn assert_deleted_by_another(place: &Place, lesson: &str, what: &str) {
    std::fs::write(place.path().join("deletion.yaml"), lesson).expect("a lesson");
    let run = place.run(&["run", "deletion.yaml"]);
    assert_eq!(run.code, Some(0), "{what}: {}{}", run.out, run.err);
    let explored = place.run(&["explore", "deletion.yaml", "--fault", "crash:A", "--json"]);
    for broken in ["orphaned(", "deleted_by_another("] {
        assert!(
            explored.out.contains(&format!("\"invariant\":\"{broken}")),
            "{what}: {}{}",
            explored.out,
            explored.err
        );
    }
}

/// Whatever kind a key is of, it belongs to the client that put something into it: on servers, and in every order.
#[test]
fn keys_of_all_kinds_belong_to_whoever_put_something_into_them() {
    let place = Place::new();
    for command in [
        "SET k A",
        "MSET k A",
        "MSETNX k A",
        "APPEND k A",
        "SETRANGE k 0 A",
        "INCR k",
        "INCRBY k 2",
        "INCRBYFLOAT k 2",
        "BITFIELD k SET u8 0 1",
        "SETBIT k 7 1",
        "PFADD k A",
        "HSET k owner A",
        "HSETNX k owner A",
        "HINCRBY k A 1",
        "HINCRBYFLOAT k A 1",
        "RPUSH k A",
        "LMOVE l k LEFT LEFT",
        "SADD k A",
        "SUNIONSTORE k s",
        "ZADD k 1 A",
        "GEOADD k 1 1 A",
        "XADD k 1-1 a 1",
        "EVAL \"return redis.call('SET', KEYS[1], 'A')\" 1 k",
        "EVAL \"redis.call('HSET', KEYS[1], 'owner', 'A')\" 1 k",
    ] {
        let put = format!("redis: {command}");
        let setup = "{ redis: RPUSH l A B }, { redis: SADD s A }";
        let operations = [put.as_str(), "redis: PEXPIRE k 10000", "redis: DEL k"];
        let lesson = deletion("redis", setup, "k", operations);
        let lesson = lesson.replace("== 1 ]", "== 1, renewed_by_another('k') == 1 ]");
        assert_deleted_by_another(&place, &lesson, command);
    }
    place.assert_nothing_left();
}

/// What a client deleted is seen from the servers: its words and replies may not say so.
#[test]
fn a_deletion_is_seen_however_it_was_made() {
    let place = Place::new();
    for delete in [
        "DEL k other",
        "UNLINK other k",
        "GETDEL k",
        "EXPIRE k 0",
        "RENAME k other",
        "FLUSHALL",
        "SINTERSTORE k none other",
        "EVAL \"redis.call('DEL', KEYS[1])\" 1 k",
        "EVAL \"redis.call('DEL', KEYS[1]) return 0\" 1 k",
        "EVAL \"local call = redis.call return call('UNLINK', KEYS[1])\" 1 k",
    ] {
        let delete = format!("redis: {delete}");
        let lesson = deletion("redis", "", "k", ["redis: SET k A", "redis: PEXPIRE k 10000", &delete]);
        assert_deleted_by_another(&place, &lesson, &delete);
    }
    let elsewhere = [
        ("zookeeper", "", "/k", ["zk: multi create /k A", "zk: exists /k", "zk: multi delete /k"]),
        (
            "mariadb",
            "{ sql: CREATE TABLE t (id INT PRIMARY KEY) }",
            "t/1",
            ["sql: INSERT IGNORE INTO t VALUES (1)", "sql: SELECT 1", "sql: DELETE FROM t WHERE id = 1"],
        ),
    ];
    for (lab, setup, key, operations) in elsewhere {
        assert_deleted_by_another(&place, &deletion(lab, setup, key, operations), lab);
    }
    place.assert_nothing_left();
}

/// A script's reply says what its author likes. Who deletes nothing, or a key of its own, is not accused.
#[test]
fn nobody_is_accused_of_a_deletion_that_did_not_happen() {
    let place = Place::new();
    let script = |body: &str| format!("redis: EVAL \"{body}\" 1 k");
    for (put, delete) in [
        (
            "redis: SET k A".to_owned(),
            script("if redis.call('GET', KEYS[1]) == 'B' then redis.call('DEL', KEYS[1]) end return 1"),
        ),
        (
            "redis: SET k A".to_owned(),
            script("if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SET', KEYS[1], 'B') end return 1"),
        ),
    ] {
        let lesson = deletion("redis", "", "k", [&put, "redis: EXISTS k", &delete]);
        std::fs::write(place.path().join("deletion.yaml"), lesson).expect("a lesson");
        let run = place.run(&["run", "deletion.yaml"]);
        assert_eq!(run.code, Some(1), "{delete}: {}{}", run.out, run.err);
        let explored = place.run(&["explore", "deletion.yaml", "--json"]);
        assert!(
            !explored.out.contains("\"invariant\":\"deleted_by_another("),
            "{delete}: {}{}",
            explored.out,
            explored.err
        );
    }
    // Each takes the key, if it is free, and deletes it again: B in a way that does not say whose the key is.
    let lesson = deletion("redis", "", "k", ["redis: SET k A NX", "redis: EXISTS k", "redis: DEL k"]);
    let taking = lesson
        .replace(
            "    - ask: { redis: 'SET k A NX' }\n",
            "    - { if: put == 'OK', then: [ { drop: { redis: DEL k } } ] }\n",
        )
        .replace(
            "{ redis: 'EXISTS k' }",
            "{ redis: 'EVAL \"return redis.call(''SET'', KEYS[1], ''B'', ''NX'')\" 1 k' }",
        )
        .replace(
            "    - delete: { redis: 'DEL k' }\n",
            "    - { if: extend is not none, then: [ { delete: { redis: DEL k } } ] }\n",
        )
        .replace("{ crash: A }, ", "{ move: A.drop }, ")
        .replace("== 1 ]", "== 0 ]");
    std::fs::write(place.path().join("taking.yaml"), taking).expect("a lesson");
    let run = place.run(&["run", "taking.yaml"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    let explored = place.run(&["explore", "taking.yaml", "--json"]);
    assert!(
        !explored.out.contains("\"invariant\":\"deleted_by_another("),
        "{}{}",
        explored.out,
        explored.err
    );
    place.assert_nothing_left();
}
