//! More mistakes in whole lessons, each one edit of a hurried author: what an operation, an event or a row can never be,
//! and what the lesson then waits for or compares in vain.

use lockstep::{lesson::library::from_text, text::Lang::En};

use crate::mistakes::{Change, failure};

const BANK: &str = include_str!("mistakes/more/bank.yaml");
const BARRIER: &str = include_str!("mistakes/more/barrier.yaml");
const POOL: &str = include_str!("mistakes/more/pool.yaml");
const PROMOTE: &str = include_str!("mistakes/more/promote.yaml");
const REG: &str = include_str!("mistakes/more/reg.yaml");

#[rustfmt::skip]
const MISTAKES: &[(&str, &[Change])] = &[
    (BANK, &[
        ("WHERE id = ${pick[0].id}\" }", "WHERE id = ${pick[1].id}\" }", "- claim: { sql: \"UPDATE job SET state = 'taken', worker = '${self}', tries = tries + 1 WHERE id = ${pick[1].id}\" }", "rows count from 0:", "提示：行从 0 数起："),
        ("A.claim == 1", "A.claim == 2", "- A.claim == 2", "is 1 at most: its primary key finds one row", "最多是 1：它按主键只找得到一行"),
        ("M.sum[0].n == 2", "M.sum[1].n == 2", "- M.sum[1].n == 2", ": it counts all rows in one", "就没有行了：聚合后只有一行"),
        ("A.pick[0].id == 1 and", "A.pick|length == 2 and", "- A.pick|length == 2 and B.pick[0].id == 2", "is 1 at most: its", "最多是 1："),
        ("never: { overlap: \"job ${i}\" }", "never: value('job/1').state == 'new'", "- never: value('job/1').state == 'new'", "is so from the beginning, before anything has happened", "提示：不变式写的是绝不能出现的情况，例如"),
    ]),
    (BARRIER, &[
        ("A.open.what == 'NodeCreated'", "A.open.what == 'NodeDeleted'", "- A.open.what == 'NodeDeleted' and A.open.about == '/b/go'", "is never 'NodeDeleted' here: no program deletes", "不会是 'NodeDeleted'：没有程序删除"),
        ("A.open.what == 'NodeCreated'", "A.open.what == 'NodeDataChanged'", "- A.open.what == 'NodeDataChanged' and A.open.about == '/b/go'", "is never 'NodeDataChanged' here: no program sets", "不会是 'NodeDataChanged'：没有程序修改"),
        ("A.open.what == 'NodeCreated'", "A.open.what == 'Expired'", "- A.open.what == 'Expired' and A.open.about == '/b/go'", "is never 'Expired' here: it takes from", "不会是 'Expired'：它从"),
        ("A.enter == '/b/p-0000000000'", "A.enter is not none", "- A.enter is not none", "claim what it answers, or only that it was sent:", "提示：请断言它回复了什么；只想断言它发送过，请写"),
        ("children('/b')|length > 3", "value('/config') == 'v1'", "- never: value('/config') == 'v1'", "is so from the beginning, before anything has happened", "提示：不变式写的是绝不能出现的情况，例如"),
        ("children('/b')|length > 3", "exists('/config')", "- never: exists('/config')", "is so from the beginning, before anything has happened", "提示：不变式写的是绝不能出现的情况，例如"),
    ]),
    (POOL, &[
        ("HINCRBY conn used 1 }", "HINCRBY conn use 1 }", "- used: { redis: HINCRBY conn use 1 }", "nothing else in this lesson names the field", "在本课里再没出现过：没有谁会读它"),
        ("until: take is not none, every: \"${poll}\"", "until: take is none, every: \"${poll}\"", "- mark: { redis: \"SET conn:${take} ${self} PX ${lease}\" }", "here: it was tried until there was no answer", "要等到没有回复才往下走"),
        ("en: \"T pool\"", "en: \"T ${size}\"", "title: { en: \"T ${size}\", zh: \"题 pool\" }", "nothing is inserted into this text: learners read", "这段文字里不会填入任何值：学员看到的就是"),
        ("a: { en: A semaphore., zh: 信号量。 }", "a: { en: \"A semaphore of ${size}.\", zh: 信号量。 }", "a: { en: \"A semaphore of ${size}.\", zh: 信号量。 }", "nothing is inserted into this text: learners read", "这段文字里不会填入任何值：学员看到的就是"),
    ]),
    (PROMOTE, &[
        ("on: primary, until: acquire == 'OK'", "on: primary, until: acquire != 'OK'", "- acquire: { redis: \"SET lock ${token} NX PX ${lease}\", on: primary, until: acquire != 'OK', every: 5s }", "it goes on only when it was refused: as soon as it is grante", "被拒绝时才会往下走；一拿到就又去重试"),
    ]),
    (REG, &[
        ("      while: alive\n", "      while: alive == 'yes'\n", "while: alive == 'yes'", ", and never 'yes'", "，不会是 'yes'"),
    ]),
];

/// Changes that only look like those mistakes.
#[rustfmt::skip]
const NO_MISTAKES: &[(&str, &[(&str, &str)])] = &[
    (POOL, &[("HINCRBY conn used 1 }", "HINCRBY conn usage 1 }")]),
    (BARRIER, &[("- A.enter == '/b/p-0000000000'", "- A.leave is not none and A.enter|suffix == 0")]),
    (BARRIER, &[("take: { from: /b/go, within: 10s }", "take: { from: any, within: 10s }"), ("A.open.what == 'NodeCreated' and A.open.about == '/b/go'", "A.open.what in ['NodeCreated', 'Expired']")]),
    (BANK, &[("LIMIT 1 FOR", "LIMIT 2 FOR"), ("A.pick[0].id == 1 and", "A.pick[1].id == 2 and")]),
    (REG, &[("      while: alive\n", "      while: alive == true\n")]),
];

#[test]
fn mistakes_of_a_hurried_author_are_told_where_they_are_and_what_would_be_right() {
    let mut failed = Vec::new();
    for (lesson, changes) in MISTAKES {
        let right = from_text("right.yaml", lesson).and_then(|loaded| loaded.check());
        right.unwrap_or_else(|error| panic!("{error}"));
        failed.extend(changes.iter().filter_map(|change| failure(lesson, change)));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn unusual_lessons_are_let_through() {
    for (lesson, changes) in NO_MISTAKES {
        let changed = changes.iter().fold((*lesson).to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "the right lesson has no `{from}`");
            text.replacen(from, to, 1)
        });
        let checked = from_text("right.yaml", &changed).and_then(|loaded| loaded.check());
        assert!(checked.is_ok(), "{changes:?}: {}", checked.expect_err("a mistake").in_lang(En));
    }
}
