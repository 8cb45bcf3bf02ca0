//! Locks whose number of holders a lesson declares, on real servers; and their proofs: order in claims, every order of
//! the moves, repetitions.

use crate::place::{Answer, Place};

const BEGIN: &str = "
format: 1
id: locks
track: redis
title: Locks
summary: Locks
intro: Locks
minutes: 1
lab: redis
";

/// Two read and one writes, without checking for each other.
const READERS: &str = "
locks: { book: { title: { en: the book, zh: 账本 } } }
clients: { R: { runs: reader }, S: { runs: reader }, W: { runs: writer } }
programs:
  reader:
    - enter: { redis: INCR readers }
    - holds: { lock: book, mode: shared }
    - work: 3s
    - leave: { redis: DECR readers }
    - drops: book
  writer:
    - enter: { redis: \"SET writer ${token} NX PX 5000\" }
    - holds: book
    - work: 2s
    - leave: { redis: DEL writer }
    - drops: book
variants:
  beside:
    title: Beside
    expect: shown
    lesson: Beside
    story: [ move: [R.enter, W.enter], finish: [R, W] ]
    explore: { expect: violated }
    claims: [ overlap: book, holders('book') == 2 ]
  together:
    title: Together
    expect: prevented
    lesson: Together
    clients: { R: { runs: reader }, S: { runs: reader } }
    story: [ move: [R.enter, S.enter], finish: [R, S] ]
    explore: { expect: none }
    claims: [ exclusive: book, holders('book') == 2 ]
";

/// Each takes one segment after the other, each under a lock of its own.
const SEGMENTS: &str = "
clients: { A: { runs: worker }, B: { runs: worker } }
programs:
  worker:
    - let: { i: \"1\" }
    - repeat:
        - waits: \"segment ${i}\"
        - take: { redis: \"SET seg:${i} ${token} NX PX 9000\", until: reply == 'OK', every: 500ms }
        - holds: \"segment ${i}\"
        - work: 1s
        - give: { redis: \"DEL seg:${i}\" }
        - drops: \"segment ${i}\"
        - let: { i: i + 1 }
      times: 2
story:
  - move: [A.take, B.take]
  - pass: { for: 20s, moving: [A, B] }
variants:
  all:
    title: All
    expect: prevented
    lesson: All
    explore: { expect: none, moves: 10 }
    claims:
      - exclusive: \"segment ${i}\"
      - exclusive: segment 1
      - holders('segment 2') == 1
      - before('A.give', 'B.take')
      - at('B.take') >= 2000 and waited('B') >= 1000
";

fn run(lesson: &str, args: &[&str]) -> Answer {
    let place = Place::new();
    place.write("lesson.yaml", format!("{BEGIN}{lesson}"));
    let answer = place.run(&[&["run", "lesson.yaml"], args].concat());
    place.assert_nothing_left();
    answer
}

#[test]
fn readers_share_a_lock_and_a_writer_must_be_alone() {
    let answer = run(READERS, &["--lang", "zh"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    for words in ["一个客户端独占账本期间，另一个客户端也持有过它。", "独占账本期间，从没有其他客户端持有它"]
    {
        assert!(answer.out.contains(words), "{}", answer.out);
    }
    // The proof fails if the expectation is wrong.
    let wrong = READERS.replace("expect: none", "expect: violated");
    let answer = run(&wrong, &["--variant", "together", "--json"]);
    assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
    let report = &answer.json()[0];
    assert_eq!(report["verdict"], "not_shown");
    let claims = report["claims"].as_array().expect("claims");
    assert_eq!(claims.last().expect("one")["holds"], false, "{report}");
}

#[test]
fn a_lock_may_be_named_by_what_is_known_only_when_it_is_taken() {
    let answer = run(SEGMENTS, &[]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("explore: none: observed 0 of"), "{}", answer.out);
}

#[test]
fn every_repetition_must_hold() {
    let answer = run(SEGMENTS, &["--repeat", "3"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("3 of 3 repetitions held"), "{}", answer.out);
    let wrong = SEGMENTS.replace("holders('segment 2') == 1", "holders('segment 2') == 2");
    let answer = run(&wrong, &["--repeat", "2", "--lang", "zh"]);
    assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("0 次成立，共重复 2 次"), "{}", answer.out);
}

#[test]
fn an_expression_is_tried_on_a_run_and_a_mistake_in_it_has_its_column() {
    let place = Place::new();
    let eval = |expression: &str| {
        place.run(&["eval", "watchdog", expression, "--variant", "no-renewal", "--recorded"])
    };
    let answer = eval("at('B.acquire') > at('A.acquire')");
    assert_eq!((answer.code, answer.out.lines().next()), (Some(0), Some("true")), "{}", answer.err);
    for (expression, column, words) in [
        ("1 + nothing", 5, "unknown name `nothing`"),
        ("at('B.aquire')", 7, "did you mean `acquire`?"),
        ("1 +", 1, "is not an expression"),
    ] {
        let answer = eval(expression);
        assert_eq!(answer.code, Some(2), "{expression}: {}", answer.out);
        for words in [format!("expression:1:{column}"), words.to_owned()] {
            assert!(answer.err.contains(&words), "{expression}: {}", answer.err);
        }
    }
}
