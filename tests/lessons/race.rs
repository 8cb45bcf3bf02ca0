//! `lockstep race` on real servers: which outcomes a race can have, which it cannot, and that nothing is left.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    place::Place,
    texts::{HEAD, ONLY},
};

/// A waits for a lock that is never released; B does its work.
fn endless() -> String {
    format!(
        "{HEAD}lab: redis
setup:
  - redis: SET lock nobody
clients:
  A: {{ runs: waiter }}
  B: {{ runs: worker }}
programs:
  waiter:
    - take: {{ redis: SETNX lock A, until: reply == 1, every: 1s }}
  worker:
    - buy: {{ redis: INCR sold }}
{ONLY}    claims:
      - that: value('sold')|int == 1
story:
  - move: B.buy
"
    )
}

fn raced(args: &[&str]) -> Vec<Value> {
    let place = Place::new();
    let answer = place.run(&[&["race", "--json"], args].concat());
    assert_eq!(answer.code, Some(0), "{args:?}\n{}\n{}", answer.out, answer.err);
    place.assert_nothing_left();
    let reports = answer.json();
    for report in &reports {
        let counts = outcomes(report).iter().map(|outcome| outcome["count"].as_u64());
        assert_eq!(counts.sum::<Option<u64>>(), report["runs"].as_u64(), "{report}");
        assert_eq!(report["complete"], true, "{report}");
    }
    reports
}

fn outcomes(report: &Value) -> &Vec<Value> {
    report["outcomes"].as_array().expect("outcomes")
}

#[test]
fn whoever_races_for_one_item_without_a_lock_oversells_it() {
    let reports = raced(&["oversell", "--variant", "check-then-decrement", "-n", "60"]);
    let outcomes = outcomes(&reports[0]);
    assert!(outcomes.len() > 1, "races differ: {outcomes:?}");
    let mut sold = BTreeSet::new();
    for outcome in outcomes {
        let count = outcome["counters"]["sold"].as_i64().expect("a counter");
        sold.insert(count);
        assert!((1..=10).contains(&count), "{outcome}");
        // Every sale is a DECR, whatever the order was.
        assert_eq!(outcome["values"]["stock"], (1 - count).to_string(), "{outcome}");
        assert_eq!(outcome["unfinished"], 0, "{outcome}");
        let broken: &[&str] = if count > 1 { &["sold > stock"] } else { &[] };
        assert_eq!(outcome["broken"], serde_json::json!(broken), "{outcome}");
    }
    assert!(sold.len() == outcomes.len() && sold.iter().any(|count| *count > 1), "{sold:?}");
    assert_eq!(reports[0]["faults_left_out"], false);
    assert_eq!(reports[0]["clock"], "controlled");
}

#[test]
fn what_prevents_overselling_prevents_it_in_every_race() {
    for variant in ["redis-lock", "atomic-script"] {
        let reports = raced(&["oversell", "--variant", variant, "-n", "40"]);
        let outcomes = outcomes(&reports[0]);
        assert_eq!(outcomes.len(), 1, "{variant}: {outcomes:?}");
        assert_eq!(outcomes[0]["counters"]["sold"], 1, "{variant}");
        assert_eq!(outcomes[0]["first_seed"], 1, "{variant}");
        assert_eq!(reports[0]["violated"], 0, "{variant}");
    }
}

#[test]
fn mutexes_of_three_processes_are_handed_on_and_protect_nothing() {
    let reports = raced(&["oversell", "--variant", "local-lock", "-n", "40"]);
    let mut violated = 0;
    for outcome in outcomes(&reports[0]) {
        let sold = outcome["counters"]["sold"].as_i64().expect("a counter");
        assert!((1..=3).contains(&sold), "one for each process at most: {outcome}");
        assert_eq!(outcome["unfinished"], 0, "{outcome}");
        if outcome["locks"]["mutex"] == "violated" {
            violated += outcome["count"].as_u64().expect("a count");
        } else {
            // On a busy machine one process may finish before the next one starts: one race in a thousand.
            assert_eq!(sold, 1, "{outcome}");
        }
    }
    assert!(violated >= 36, "{violated} of 40");
}

#[test]
fn work_takes_lesson_time_and_a_lease_that_it_outlives_lets_others_in() {
    let reports = raced(&["unlock-someone-elses-lock", "--variant", "blind-del", "-n", "20"]);
    let lesson = reports[0]["lesson_ms"].as_u64().expect("milliseconds");
    assert!(lesson >= 20 * 2_000, "everybody works for two seconds at least: {lesson}");
    assert!(reports[0]["violated"].as_u64() > Some(0), "{}", reports[0]);
}

#[test]
fn watches_wake_racers_and_no_two_hold_the_lock() {
    let reports = raced(&["zk-herd", "--set", "clients=8", "-n", "4"]);
    assert_eq!(reports.len(), 2);
    for report in &reports {
        let outcomes = outcomes(report);
        for outcome in outcomes {
            assert_eq!(outcome["locks"]["lock"], "held", "{report}");
            assert_eq!(outcome["unfinished"], 0, "{report}");
        }
        // A client that watches its predecessor is woken alone.
        let woke_many = report["violated"].as_u64() > Some(0);
        assert_eq!(woke_many, report["variant"] == "herd", "{report}");
    }
}

#[test]
fn a_story_with_faults_is_raced_without_them_and_says_so() {
    let place = Place::new();
    let args = ["race", "setnx-without-expire", "--variant", "two-commands", "-n", "3"];
    let answer = place.run(&args);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(answer.out.contains("Only the programs are raced"), "{}", answer.out);
    let chinese = place.run(&[&args[..], &["--lang", "zh"]].concat());
    assert!(chinese.out.contains("并发竞争"), "{}", chinese.out);
}

#[test]
fn what_cannot_be_raced_is_a_mistake_of_the_users() {
    let place = Place::new();
    for args in [
        &["race", "oversell", "-n", "0"][..],
        &["race", "oversell", "--recorded"],
        &["race", "no-such-lesson"],
        &["race", "oversell", "--variant", "no-such-variant"],
    ] {
        let answer = place.run(args);
        assert_eq!(answer.code, Some(2), "{args:?}\n{}", answer.out);
        assert!(!answer.err.is_empty(), "{args:?}");
    }
}

#[test]
fn a_program_that_never_ends_is_unfinished_and_does_not_hang() {
    let place = Place::new();
    let file = place.write("endless.yaml", endless());
    let answer = place.run(&["race", "--json", "-n", "2", &file.display().to_string()]);
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    assert_eq!(answer.json()[0]["outcomes"][0]["unfinished"], 1, "{}", answer.out);
    assert_eq!(answer.json()[0]["outcomes"][0]["count"], 2, "{}", answer.out);
}

#[test]
fn a_program_that_meets_an_error_ends_there_and_the_race_goes_on() {
    let place = Place::new();
    let lesson = endless()
        .replace("INCR sold", "LPUSH lock B")
        .replace("value('sold')|int == 1", "moves('B.buy') == 1");
    let file = place.write("wrong-type.yaml", lesson).display().to_string();
    let answer = place.run(&["race", "-n", "2", &file]);
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    for words in ["2 did not finish", "2 of 2", "The first, B", "WRONGTYPE"] {
        assert!(answer.out.contains(words), "{words}: {}", answer.out);
    }
    place.assert_nothing_left();
}
