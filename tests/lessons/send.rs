//! Operations that wait inside their servers: which other clients may move meanwhile, and when the replies come. Labs
//! of several products.

use crate::place::{Answer, Place};

const HEAD: &str = "
format: 1
id: tried
track: basics
title: { en: Tried, zh: 试 }
summary: { en: Tried, zh: 试 }
intro: { en: Tried, zh: 试 }
minutes: 1
";

const POP: &str = "
lab: redis
clients:
  A: { runs: give }
  B: { runs: pop }
  C: { runs: pop }
programs:
  give:
    - push: { redis: LPUSH q x }
  pop:
    - pop: { redis: BLPOP q 5, allow: [Lost] }
    - if: reply is not none and reply != 'Lost'
      then:
        - count: got
invariants:
  - never: got > 1
    says: { en: One element was taken twice., zh: 一个元素被取了两次。 }
    goal: { en: Take one element twice., zh: 把一个元素取两次。 }
variants:
  turns:
    title: { en: Turns, zh: 轮流 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ 'B.pop[1] == \"x\"', C.pop is none, got == 1 ]
    story:
      - send: [B.pop, C.pop]
      - move: A.push
      - pass: 6s
  lost:
    title: { en: Lost, zh: 丢失 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ B.pop == 'Lost', \"moves('C.pop') == 1\", got == 0 ]
    story:
      - send: [B.pop, C.pop]
      - cut: B->redis
      - crash: C
      - move: A.push
      - pass: 6s
";

const ROWS: &str = "
lab: mariadb
setup:
  - sql: CREATE TABLE good (id INT PRIMARY KEY, stock INT)
  - sql: INSERT INTO good VALUES (1, 1), (2, 1)
clients:
  A: { runs: buy, with: { mine: 1, other: 2 } }
  B: { runs: buy, with: { mine: 2, other: 1 } }
params: { mine: 1, other: 1 }
programs:
  buy:
    - begin: { sql: BEGIN }
    - lock: { sql: 'UPDATE good SET stock = stock - 1 WHERE id = ${mine}' }
    - next: { sql: 'UPDATE good SET stock = stock - 1 WHERE id = ${other}', allow: ['1205', '1213'] }
    - if: error is not none
      then:
        - count: failed
    - commit: { sql: COMMIT }
invariants:
  - never: failed > 0
    says: { en: A transaction was rolled back., zh: 有事务被回滚。 }
    goal: { en: Have one rolled back., zh: 让一个事务被回滚。 }
variants:
  deadlock:
    title: { en: Crosswise, zh: 交叉 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims: [ failed == 1, '\"1213\" in [A.next, B.next]' ]
    story:
      - move: [A.begin, B.begin, A.lock, B.lock]
      - send: [A.next, B.next]
      - move: [A.commit, B.commit]
  timeout:
    title: { en: Too long, zh: 太久 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims: [ A.next == '1205', B.commit == 'OK' ]
    story:
      - move: [A.begin, B.begin, B.lock, A.lock]
      - send: A.next
      - pass: 49s
      - await: { that: A.next is defined, within: 2s }
      - move: [A.commit, B.next, B.commit]
";

fn run(arguments: &[&str], lesson: &str) -> Answer {
    let place = Place::new();
    place.write("tried.yaml", format!("{HEAD}{lesson}"));
    let answer = place.run(&[&arguments[..1], &["tried.yaml"], &arguments[1..]].concat());
    place.assert_nothing_left();
    answer
}

#[track_caller]
fn assert_exit(code: i32, answer: &Answer) {
    assert_eq!(answer.code, Some(code), "{}{}", answer.out, answer.err);
}

#[test]
fn who_waits_in_redis_is_woken_in_turn_or_by_the_clock() {
    assert_exit(0, &run(&["run"], POP));
}

#[test]
fn waiting_in_redis_is_raced_and_explored() {
    assert_exit(0, &run(&["race", "--variant", "turns", "--runs", "5"], POP));
    let explored = run(&["explore", "--variant", "turns", "--expect-none"], POP);
    assert_exit(0, &explored);
    assert!(explored.out.contains("orders"), "{}", explored.out);
}

#[test]
fn who_waits_for_a_row_is_woken_fails_or_times_out() {
    assert_exit(0, &run(&["run"], ROWS));
}

const BOTH: &str = "
lab: [redis, mariadb]
setup:
  - sql: CREATE TABLE good (id INT PRIMARY KEY, stock INT)
  - sql: INSERT INTO good VALUES (1, 1)
  - redis: SET fence 32
clients:
  A: { runs: buy }
  B: { runs: buy }
programs:
  buy:
    - acquire: { redis: \"SET lock ${token} NX PX 3000\", until: reply == 'OK', every: 500ms }
    - holds: lock
    - fence: { redis: INCR fence }
    - write: { sql: 'UPDATE good SET stock = ${fence} WHERE id = 1', allow: [Lost] }
    - count: wrote
    - release: { redis: DEL lock }
    - drops: lock
invariants:
  - never: value('good/1').stock == 33 and wrote == 2
    says: { en: The older write came later., zh: 旧的写入后到。 }
    goal: { en: Have the older write come later., zh: 让旧的写入后到。 }
variants:
  late:
    title: { en: Late, zh: 迟到 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims: [ \"value('good/1').stock == 33\", value('fence') == '34', A.write == 1 ]
    story:
      - move: [A.acquire, A.fence]
      - pass: 4s
      - move: [B.acquire, B.fence, B.write, A.write]
  cut:
    title: { en: Cut, zh: 断 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ A.write == 'Lost', A.release == 1, \"value('good/1').stock == 1\" ]
    story:
      - move: [A.acquire, A.fence]
      - cut: A->mariadb
      - move: [A.write, A.release]
      - kill: redis
      - release: A->mariadb
";

#[test]
fn a_lock_and_what_it_protects_are_on_servers_of_their_own() {
    assert_exit(0, &run(&["run"], BOTH));
    assert_exit(0, &run(&["race", "--variant", "late", "--runs", "3"], BOTH));
    let explored = run(&["explore", "--variant", "late", "--expect-none"], BOTH);
    assert_exit(0, &explored);
}

#[test]
fn an_operation_goes_to_a_server_of_its_own_product() {
    let wrong = BOTH.replace("sql: 'UPDATE", "on: redis, sql: 'UPDATE");
    let answer = run(&["check"], &wrong);
    assert_exit(2, &answer);
    assert!(answer.err.contains("`redis` is Redis, and this is for MariaDB"), "{}", answer.err);
    let without = run(&["check"], &BOTH.replace("[redis, mariadb]", "redis"));
    assert_exit(2, &without);
    assert!(without.err.contains("no server of this lab is MariaDB"), "{}", without.err);
    let twice = run(&["check"], &BOTH.replace("[redis, mariadb]", "[redis, masters]"));
    assert_exit(2, &twice);
    assert!(twice.err.contains("tried.yaml:10:6:") && twice.err.contains("has two"), "{}", twice.err);
}

#[test]
fn a_lessons_settings_hold_for_its_transactions() {
    let lesson = ROWS
        .replace("lab: mariadb", "lab: mariadb\nsettings: { lock_wait_timeout: 3s, isolation: serializable }")
        .replace("pass: 49s", "pass: 2s");
    assert_exit(0, &run(&["run", "--variant", "timeout"], &lesson));
}
