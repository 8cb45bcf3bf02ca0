//! Invariants in made-up logs, without any server.

use serde_json::Value;

use super::{Breach, Ended, Watch, breaches};
use crate::{
    clock::LessonTime,
    lesson::{Scenario, testing},
    log::{
        Belief,
        testing::{LogBuilder, counted, crash, holds, notified},
    },
};

/// The lesson of `lockstep new` with these expressions as invariants, after its own two; and the beginning of a log.
fn run(expressions: &[&str]) -> (Scenario, LogBuilder) {
    run_of(testing::NEW_LESSON, expressions)
}

fn run_of(lesson: &str, expressions: &[&str]) -> (Scenario, LogBuilder) {
    let text = "{ en: It is so., zh: 是。 }";
    let mut lesson = lesson.to_owned();
    for expression in expressions {
        let item = format!("  - {{ never: \"{expression}\", says: {text}, goal: {text} }}\n\nvariants:\n");
        lesson = lesson.replacen("\nvariants:\n", &item, 1);
    }
    let scenario = testing::scenario(&lesson, "blind-del");
    let log = testing::log(&scenario);
    (scenario, log)
}

const OVERLAP: usize = 0;
const DELETED: usize = 1;
/// The index of a test's first own invariant.
const OWN: usize = 2;

fn breach(invariant: usize, at: usize, evidence: &[usize]) -> Breach {
    Breach { invariant, at, evidence: evidence.to_vec() }
}

/// An actor requests the lock under its label; returns the index of the reply.
fn acquires(log: &mut LogBuilder, actor: u32, wire: &str, reply: impl Into<Value>) -> usize {
    log.moves(actor, "acquire", wire, reply) + 1
}

fn releases(log: &mut LogBuilder, actor: u32, reply: i64) -> usize {
    log.moves(actor, "release", "DEL lock", reply) + 1
}

#[test]
fn a_second_holder_is_a_breach_and_is_reported_once() {
    let (scenario, mut log) = run(&[]);
    let first = log.believes(0, Belief::Holding);
    let second = log.believes(1, Belief::Holding);
    log.stop();
    log.believes(1, Belief::Nothing);
    log.believes(1, Belief::Holding);
    log.stop();
    assert_eq!(breaches(&scenario, &log), Ok(vec![breach(OVERLAP, second, &[first, second])]));
}

#[test]
fn the_dead_and_those_who_asked_for_their_release_hold_nothing() {
    let (scenario, mut dead) = run(&[]);
    let mut late = dead.clone();
    dead.believes(0, Belief::Holding);
    dead.add(crash("A"));
    dead.believes(1, Belief::Holding);
    dead.believes(0, Belief::Holding);
    assert_eq!(breaches(&scenario, &dead), Ok(vec![]));

    // B holds it before A has the reply to its own DEL.
    acquires(&mut late, 0, "SET lock A-1 NX PX 3000", "OK");
    late.believes(0, Belief::Holding);
    let del = late.sends(0, "release", "DEL lock");
    acquires(&mut late, 1, "SET lock B-2 NX PX 3000", "OK");
    late.believes(1, Belief::Holding);
    late.replies(del, 1);
    late.believes(0, Belief::Nothing);
    assert_eq!(breaches(&scenario, &late), Ok(vec![]));
}

#[test]
fn who_deletes_what_another_has_set_is_found_by_command_and_reply() {
    let (scenario, mut log) = run(&[]);
    acquires(&mut log, 0, "SET lock A-1 NX PX 3000", "OK");
    acquires(&mut log, 1, "SET lock B-2 NX PX 3000", Value::Null);
    releases(&mut log, 0, 1);
    log.stop();
    assert_eq!(breaches(&scenario, &log), Ok(vec![]), "its own, B was refused");
    acquires(&mut log, 1, "SET lock B-2 NX PX 3000", "OK");
    releases(&mut log, 0, 0);
    log.stop();
    assert_eq!(breaches(&scenario, &log), Ok(vec![]), "nothing was deleted");
    let deleted = releases(&mut log, 0, 1);
    log.stop();
    assert_eq!(breaches(&scenario, &log), Ok(vec![breach(DELETED, deleted, &[deleted])]));
}

#[test]
fn who_deletes_anothers_key_again_is_reported_again() {
    let (scenario, mut log) = run(&[]);
    let mut watch = Watch::new(&scenario);
    let mut step = |log: &mut LogBuilder| {
        log.stop();
        let begun = watch.advance(&scenario, log).expect("it can be evaluated");
        let ended = watch.take_ended();
        assert_eq!(begun.len(), ended.len(), "each ends with its step");
        begun
    };
    acquires(&mut log, 1, "SET lock B-2 NX PX 3000", "OK");
    let first = releases(&mut log, 0, 1);
    assert_eq!(step(&mut log), [breach(DELETED, first, &[first])]);
    acquires(&mut log, 0, "SET lock A-1 NX PX 3000", "OK");
    assert_eq!(step(&mut log), []);
    let second = releases(&mut log, 1, 1);
    assert_eq!(step(&mut log), [breach(DELETED, second, &[second])]);
    assert_eq!(breaches(&scenario, &log), Ok(vec![breach(DELETED, first, &[first])]));
}

#[test]
fn what_never_happened_is_not_so_and_a_mistake_is_reported_once() {
    let (scenario, mut log) = run(&["A.release > 0", "replies(7) == 1", "moves('release') > 1"]);
    let mut watch = Watch::new(&scenario);
    log.stop();
    let error = watch.advance(&scenario, &log).expect_err("a number is no label");
    assert!(error.contains("replies(7)"), "{error}");
    let released = releases(&mut log, 0, 1);
    log.stop();
    assert_eq!(watch.advance(&scenario, &log), Ok(vec![breach(OWN, released, &[released])]));
    releases(&mut log, 0, 0);
    log.stop();
    let again = watch.advance(&scenario, &log).expect("it can be evaluated");
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].invariant, OWN + 2);
}

#[test]
fn an_orphan_is_the_lock_of_an_ended_client() {
    let (scenario, mut log) = run(&["orphaned('lock') and pttl('lock') == -1"]);
    let mut other = log.clone();
    let asked = log.sends(0, "acquire", "SETNX lock A-1");
    // The reply never reaches A, but the server has its key.
    let seen = log.add(holds("redis", Some(("A-1", None))));
    log.stop();
    assert_eq!(breaches(&scenario, &log), Ok(vec![]), "A may still come to know");
    let crashed = log.add(crash("A"));
    log.stop();
    let wanted = Ok(vec![breach(OWN, crashed, &[asked, seen, crashed])]);
    assert_eq!(breaches(&scenario, &log), wanted);

    acquires(&mut other, 1, "SETNX lock B-2", 1);
    other.add(holds("redis", Some(("B-2", None))));
    other.add(crash("A"));
    other.stop();
    assert_eq!(breaches(&scenario, &other), Ok(vec![]), "B lives");
}

#[test]
fn a_log_without_stops_is_asked_at_its_end_and_the_breach_is_dated_all_the_same() {
    let (scenario, mut log) = run(&["moves('release') > 1"]);
    releases(&mut log, 0, 0);
    let second = log.sends(1, "release", "DEL lock");
    log.believes(0, Belief::Waiting);
    let found = breaches(&scenario, &log).expect("it can be evaluated");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].invariant, found[0].at), (OWN, second));
}

#[test]
fn a_herd_is_those_whom_one_change_wakes() {
    let (scenario, mut queue) = run(&["herd() > 1"]);
    let mut herd = queue.clone();
    let deleted = |log: &mut LogBuilder, actor, path: &str| log.add(notified(actor, path, "NodeDeleted"));
    deleted(&mut queue, 0, "/locks/n-1");
    deleted(&mut queue, 1, "/locks/n-2");
    // Woken again, by another change.
    deleted(&mut queue, 1, "/locks/n-2");
    // The client that looked for the node before it existed is woken when it is created, and the next one when it is
    // deleted.
    queue.add(notified(0, "/locks/n-3", "NodeCreated"));
    deleted(&mut queue, 1, "/locks/n-3");
    queue.stop();
    assert_eq!(breaches(&scenario, &queue), Ok(vec![]));
    let first = deleted(&mut herd, 0, "/lock");
    let second = deleted(&mut herd, 1, "/lock");
    herd.stop();
    assert_eq!(breaches(&scenario, &herd), Ok(vec![breach(OWN, second, &[first, second])]));
}

#[test]
fn whom_a_change_wakes_before_and_after_it_is_answered_is_one_herd() {
    let (scenario, mut log) = run(&["herd() > 1"]);
    let created = log.sends(2, "acquire", "create -e /lock C");
    let first = log.add(notified(0, "/lock", "NodeCreated"));
    log.replies(created, "/lock");
    let second = log.add(notified(1, "/lock", "NodeCreated"));
    log.stop();
    assert_eq!(breaches(&scenario, &log), Ok(vec![breach(OWN, second, &[first, second])]));
}

#[test]
fn whom_two_changes_wake_is_no_herd() {
    let (scenario, mut created) = run(&["herd() > 1"]);
    let mut deleted = created.clone();
    for woken in [0, 1] {
        // Notified before the reply.
        let sent = created.sends(2, "acquire", "create -e /lock C");
        created.add(notified(woken, "/lock", "NodeCreated"));
        created.replies(sent, "/lock");
        created.moves(2, "release", "delete /lock", "OK");
    }
    created.stop();
    assert_eq!(breaches(&scenario, &created), Ok(vec![]));
    // The notification of the first deletion arrives only after the next lock was requested.
    let sent = deleted.sends(2, "acquire", "create -e /lock C");
    deleted.add(notified(0, "/lock", "NodeDeleted"));
    deleted.replies(sent, "/lock");
    deleted.moves(2, "release", "delete /lock", "OK");
    deleted.add(notified(1, "/lock", "NodeDeleted"));
    deleted.stop();
    assert_eq!(breaches(&scenario, &deleted), Ok(vec![]));
}

#[test]
fn what_was_done_ends_with_its_step_and_how_things_are_when_it_is_not_so_any_more() {
    let (scenario, mut log) = run(&["moves('A.release') > 0", "orphaned('lock') and pttl('lock') == -1"]);
    let (moved, orphaned) = (OWN, OWN + 1);
    let mut watch = Watch::new(&scenario);
    let mut step = |log: &mut LogBuilder| {
        let stop = log.stop();
        let begun = watch.advance(&scenario, log).expect("it can be evaluated");
        let ended = watch.take_ended();
        assert!(ended.iter().all(|ended| ended.known == stop), "{ended:?}");
        let begun: Vec<usize> = begun.iter().map(|breach| breach.invariant).collect();
        let ended: Vec<usize> = ended.iter().map(|ended| ended.invariant).collect();
        (begun, ended)
    };
    releases(&mut log, 0, 0);
    assert_eq!(step(&mut log), (vec![moved], vec![moved]));
    log.sends(0, "acquire", "SETNX lock A-1");
    log.add(holds("redis", Some(("A-1", None))));
    log.add(crash("A"));
    assert_eq!(step(&mut log), (vec![orphaned], vec![]));
    assert_eq!(step(&mut log), (vec![], vec![]), "the key is there");
    log.add(holds("redis", None));
    assert_eq!(step(&mut log), (vec![], vec![orphaned]));
    log.add(holds("redis", Some(("A-1", None))));
    assert_eq!(step(&mut log), (vec![], vec![]), "each is told once");
}

#[test]
fn that_something_was_counted_ends_with_its_step_and_too_many_last() {
    let lesson = testing::NEW_LESSON.replace("    - drops: lock", "    - count: sold\n    - drops: lock");
    let (scenario, mut log) = run_of(&lesson, &["sold > 0", "sold > 1"]);
    let (any, too_many) = (OWN, OWN + 1);
    let mut watch = Watch::new(&scenario);
    let mut step = |log: &mut LogBuilder| {
        log.stop();
        let begun = watch.advance(&scenario, log).expect("it can be evaluated");
        let begun: Vec<usize> = begun.iter().map(|breach| breach.invariant).collect();
        let ended: Vec<usize> = watch.take_ended().iter().map(|ended| ended.invariant).collect();
        (begun, ended)
    };
    log.add(counted(0));
    assert_eq!(step(&mut log), (vec![any], vec![any]));
    log.add(counted(1));
    assert_eq!(step(&mut log), (vec![too_many], vec![]));
    assert_eq!(step(&mut log), (vec![], vec![]));
}

#[test]
fn what_is_over_in_the_middle_of_a_long_step_ends_there() {
    let (scenario, mut log) = run(&["orphaned('lock') and pttl('lock') == -1"]);
    log.sends(0, "acquire", "SETNX lock A-1");
    log.add(holds("redis", Some(("A-1", None))));
    log.add(crash("A"));
    log.stop();
    let over = log.add(holds("redis", None));
    log.moves(1, "acquire", "SETNX lock B-1", 0);
    let stop = log.stop();
    let mut watch = Watch::new(&scenario);
    watch.advance(&scenario, &log).expect("it can be evaluated");
    assert_eq!(watch.take_ended(), [Ended { invariant: OWN, known: stop, since: Some(over) }]);
}

/// What keys decide may be so only between the ends of two of them, while time passes in one step.
#[test]
fn a_breach_that_only_lasts_from_one_expiry_to_another_is_found_in_the_step_in_which_time_passed() {
    let lock = |millis| holds("redis", Some(("A-1", Some(LessonTime::from_millis(millis)))));
    // Time passes some milliseconds further than to the end of a wait.
    for (ends, is_found) in [(1_000, true), (4_997, false)] {
        let (scenario, mut log) = run(&["not exists('lock')"]);
        log.add(lock(ends));
        log.stop();
        let passed = log.at(5_000).add(lock(9_000));
        log.stop();
        let found = breaches(&scenario, &log).expect("evaluated");
        let found = found.iter().find(|breach| breach.invariant == OWN).map(|breach| breach.at);
        assert_eq!(found, is_found.then_some(passed), "{ends}");
    }
}
