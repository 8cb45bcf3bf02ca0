//! MariaDB on the lesson clock: its transactions, the fate of their locks, and how long others wait for them.

use crate::{
    place::{Answer, Place},
    texts::HEAD,
};

const LAB: &str = "
lab: mariadb
setup:
  - sql: CREATE TABLE good (id INT PRIMARY KEY, stock INT, version INT)
  - sql: INSERT INTO good VALUES (1, 1, 0)
clients:
  A: { runs: buy }
  B: { runs: buy }
";

fn run(programs: &str) -> Answer {
    let place = Place::new();
    place.write("tried.yaml", format!("{HEAD}{LAB}{programs}"));
    let answer = place.run(&["run", "tried.yaml"]);
    place.assert_nothing_left();
    answer
}

fn assert_as_claimed(answer: &Answer) {
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
}

#[test]
fn an_update_is_lost_by_value_and_not_by_version() {
    assert_as_claimed(&run("
programs:
  buy:
    - begin: { sql: BEGIN }
    - read: { sql: 'SELECT stock, version FROM good WHERE id = 1' }
    - let: { left: 'read[0].stock - 1', seen: 'read[0].version' }
    - write: { sql: 'UPDATE good SET stock = ${left}, version = version + 1 WHERE id = 1' }
    - commit: { sql: COMMIT }
variants:
  value:
    title: { en: Value, zh: 值 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims: [ A.write == 1, B.write == 1 ]
  version:
    title: { en: Version, zh: 版本 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    replace:
      buy.write: { sql: 'UPDATE good SET stock = ${left}, version = version + 1 WHERE id = 1 AND version = ${seen}' }
    claims: [ A.write == 1, B.write == 0 ]
story:
  - move: [A.begin, B.begin, A.read, B.read, A.write, A.commit, B.write, B.commit]
"));
}

#[test]
fn a_transaction_ends_with_its_client_its_link_and_its_server() {
    assert_as_claimed(&run("
programs:
  buy:
    - begin: { sql: BEGIN, allow: [Lost] }
    - take: { sql: UPDATE good SET stock = stock - 1 WHERE stock > 0, allow: [Lost] }
    - commit: { sql: COMMIT, allow: [Lost] }
    - look: { sql: SELECT stock FROM good, allow: [Lost] }
variants:
  crash:
    title: { en: Crash, zh: 崩溃 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims: [ B.take == 1, 'B.look[0].stock == 0' ]
    story:
      - move: [A.begin, A.take]
      - crash: A
      - move: [B.begin, B.take, B.commit, B.look]
  cut:
    title: { en: Cut, zh: 断 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims: [ A.commit == 'Lost', B.take == 1, 'B.look[0].stock == 0' ]
    story:
      - move: [A.begin, A.take]
      - cut: A->mariadb
      - move: [A.commit, B.begin, B.take, B.commit, B.look]
  kill:
    title: { en: Kill, zh: 杀 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims: [ A.commit == 'Lost', B.take == 1, 'B.look[0].stock == 0' ]
    story:
      - move: [A.begin, A.take]
      - kill: mariadb
      - restart: mariadb
      - move: [A.commit, B.begin, B.take, B.commit, B.look]
story:
  - move: [A.begin]
"));
}

#[test]
fn a_wait_for_a_row_ends_by_the_lessons_clock() {
    assert_as_claimed(&run("
programs:
  buy:
    - limit: { sql: SET innodb_lock_wait_timeout = 3 }
    - begin: { sql: BEGIN }
    - lock: { sql: SELECT stock FROM good WHERE id = 1 FOR UPDATE, allow: ['1205'] }
    - work: 10s
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims: [ \"B.lock == '1205'\", \"owner('good/1') == 'A'\" ]
story:
  - move: [A.limit, B.limit, A.begin, B.begin, A.lock]
  - pass: { for: 5s, moving: [B] }
"));
}

#[test]
fn what_reaches_beyond_the_tables_is_refused() {
    let answer = run("
programs:
  buy:
    - write: { sql: \"SELECT 1 INTO OUTFILE '/tmp/x'\" }
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    claims: [ A.write == 1 ]
story: [ move: A.write ]
");
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert!(answer.err.contains("OUTFILE"), "{}", answer.err);
}

#[test]
fn who_has_a_lock_of_get_lock_and_who_waits_is_observed() {
    let answer = run("
programs:
  buy:
    - acquire: { sql: \"SELECT GET_LOCK('nightly', 30) AS got\" }
    - holds: job
    - release: { sql: \"SELECT RELEASE_LOCK('nightly') AS freed\" }
    - drops: job
variants:
  held:
    title: { en: Held, zh: 持有 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    story:
      - move: A.acquire
      - send: B.acquire
      - pass: 1s
    claims: [ \"owner('GET_LOCK/nightly') == 'A'\", B.acquire is not defined ]
  handed-over:
    title: { en: Handed over, zh: 移交 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    story:
      - move: A.acquire
      - send: B.acquire
      - move: A.release
      - await: { that: B.acquire is defined, within: 5s }
    claims: [ \"owner('GET_LOCK/nightly') == 'B'\" ]
  free:
    title: { en: Free, zh: 空闲 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    story:
      - move: [A.acquire, A.release]
    claims: [ \"owner('GET_LOCK/nightly') is none\", \"not exists('GET_LOCK/nightly')\" ]
");
    assert_as_claimed(&answer);
}
