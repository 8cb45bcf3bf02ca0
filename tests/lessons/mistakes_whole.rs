//! Mistakes in whole lessons that were written from the documentation, each of which uses another part of the language:
//! what is missing, misspelt, compared with the wrong type or impossible in the story.

use lockstep::{lesson::library::from_text, text::Lang::En};

use crate::mistakes::{Change, failure};

const FENCE: &str = include_str!("mistakes/whole/fence.yaml");
const PRINTER: &str = include_str!("mistakes/whole/printer.yaml");
const CLUSTER: &str = include_str!("mistakes/whole/cluster.yaml");
const QUEUE: &str = include_str!("mistakes/whole/queue.yaml");
const SESSION: &str = include_str!("mistakes/whole/session.yaml");
const ROWS: &str = include_str!("mistakes/whole/rows.yaml");
const ETCD: &str = include_str!("mistakes/whole/etcd.yaml");
const BOTH: &str = include_str!("mistakes/whole/both.yaml");
const MAJORITY: &str = include_str!("mistakes/whole/majority.yaml");
const PROGRAM: &str = include_str!("mistakes/whole/program.yaml");
const THREADS: &str = include_str!("mistakes/whole/threads.yaml");
const KEYS: &str = include_str!("mistakes/whole/keys.yaml");
const BOOKING: &str = include_str!("mistakes/whole/booking.yaml");

#[rustfmt::skip]
const MISTAKES: &[(&str, &[Change])] = &[
    (FENCE, &[
        ("    - number: { redis: INCR fence }\n    - write: { script: write_if_newer, keys: [\"store:seen\", store], args: [\"${number}\", \"${self}\"] }\n", "    - write: { script: write_if_newer, keys: [\"store:seen\", store], args: [\"${number}\", \"${self}\"] }\n    - number: { redis: INCR fence }\n", "- write: { script: write_if_newer, keys: [\"store:seen\", store], args: [\"${number}\", \"${self}\"] }", "has no value yet here: it gets its first one further down", "还没有值：后面才第一次给它赋值"),
        ("right: A.write == 1\n", "right: true\n", "right: A.write == 0", "choices 1 and 2 are right at the same time", "第 1 个和第 2 个选项同时成立"),
        ("right: A.write == 1\n", "right: 2\n", "right: 2", "such as", "例如"),
        ("faults: [freeze]", "faults: [freeze], most_faults: 0", "explore: { expect: none, moves: 16, faults: [freeze], most_faults: 0 }", "0 is out of bounds", "0 超出范围"),
        ("    notes: { en: Ask who would have noticed., zh: 问问谁会发现。 }", "  - notes: { en: Ask who would have noticed., zh: 问问谁会发现。 }", "- notes: { en: Ask who would have noticed., zh: 问问谁会发现。 }", "an item of the story in which nothing happens", "要和发生的事写在同一条里，前面没有"),
        ("  - move: B.acquire\n", "  - finish: A\n  - move: B.acquire\n", "- finish: A", "is frozen here and makes no move", "此时被冻结，不会有操作"),
        ("script: release_if_owner, keys: [lock]", "script: release_if_owner, keys: [lock, fence]", "- release: { script: release_if_owner, keys: [lock, fence], args: [\"${token}\"] }", "has 2, and the script", "有 2 个，而脚本"),
        ("script: release_if_owner, keys: [lock]", "script: release_if_owner, keys: [lok]", "- release: { script: release_if_owner, keys: [lok], args: [\"${token}\"] }", "no command ever writes the key", "没有任何命令写过键"),
        ("until: reply == 'OK', every", "until: error, every", "- acquire: { redis: \"SET lock ${token} NX PX ${lease}\", until: error, every: 500ms }", "here: no operation of this program has", "这个程序里没有操作写了"),
    ]),
    (PRINTER, &[
        ("RPUSH permits p1 p2", "SADD permits p1 p2", "- take: { redis: LPOP permits }", "the server answers WRONGTYPE", "服务器会回复 WRONGTYPE"),
        ("PUBLISH freed", "PUBLISH freeed", "- redis_told: { redis: \"PUBLISH freeed ${take}\" }", "nobody subscribes to", "没有谁订阅"),
        ("within: 5s, moving: [C] }", "within: 5s }", "- await: { that: C.again == 'p1', within: 5s }", "never comes here: nobody makes that move before or meanwhile", "在此之前和等待期间都没有谁做这一步"),
        ("moving: [C] }", "moving: [B] }", "- await: { that: C.again == 'p1', within: 5s, moving: [B] }", "never comes here: nobody makes that move before or meanwhile", "在此之前和等待期间都没有谁做这一步"),
    ]),
    (CLUSTER, &[
        ("30000]", "30s]", "- acquire: { script: take_and_note, keys: [\"{lock}:owner\", \"{lock}:count\"], args: [\"${token}\", 30s] }", "as a number, and", "把它当作数字交给"),
        ("GET {lock}:owner", "GET lock:owner", "- look: { redis: \"GET lock:owner\" }", "no command ever writes the key", "没有任何命令写过键"),
        ("if: acquire > 0", "if: acquire is not none", "- if: acquire is not none", "always answers a number", "总是返回数字"),
    ]),
    (QUEUE, &[
        ("minutes: 4", "minutes: 4\nmetrics: [zk_server_state]", "metrics: [", "is a text and counts nothing", "不是计数器"),
        ("- move: W1.told", "- move: W3.told", "- move: W3.told", "known here: W1, W2", "这里可用的有：W1, W2"),
        ("- notified('W') == 2", "- W.notified == 2", "- W.notified == 2", "is several clients, and an attribute is of one", "是一组客户端，属性只属于其中一个"),
        ("A.enter|suffix == 0", "A.enter|suffix == '0000000000'", "- that: A.enter|suffix == '0000000000'", "without quotes", "去掉引号"),
        ("A.enter|suffix == 0", "A.enter == '/q/n-0'", "- that: A.enter == '/q/n-0'", "ends with ten digits, which the server appends, and is never '/q/n-0'", "末尾有服务器加上的十位序号，不会是 '/q/n-0'"),
        ("never: herd() > 1", "never: herd() > 5", "- never: herd() > 5", "is 3 at most: so many actors are there", "最多是 3：一共只有这么多参与者"),
        ("finish: W2", "finish: W3", "- finish: W3", "known here: W1, W2", "这里可用的有：W1, W2"),
    ]),
    (SESSION, &[
        ("owner('/lock') is none, within", "owner('/lock') == 'none', within", "- await: { that: owner('/lock') == 'none', within: 40s }", "is never the text 'none'", "不会是文字 'none'"),
        ("until: error is none", "until: error == 'none'", "- create: { zk: create -e /lock B, allow: [NodeExists], until: error == 'none', every: 1s }", "is never the text 'none'", "不会是文字 'none'"),
        ("create -e /lock B, allow: [NodeExists]", "create -e /lock B", "- create: { zk: create -e /lock B, until: error is none, every: 1s }", "here: no operation of this program has", "这个程序里没有操作写了"),
    ]),
    (ROWS, &[
        ("settings: { isolation: read-committed, lock_wait_timeout: 5s }", "settings:\n  isolation: read-committed\n  lock_wait_timeout: 500ms", "  lock_wait_timeout", "write whole seconds", "请写整秒数"),
        ("look is not none and look[0].free == 1", "look is not none and look|length == 2", "look|length == 2", "has one row at most", "最多只有一行"),
        ("- sold == 1\n", "- B.look|length > 1\n", "B.look|length > 1", "has one row at most", "最多只有一行"),
        ("FROM seat WHERE id = 1 FOR UPDATE", "FROM seat WHERE id = 2 FOR UPDATE", "- if: look is not none and look[0].free == 1", "no statement inserts the row", "没有语句插入过行"),
        ("never: sold > 1", "never: sold > 2", "- never: sold > 2", "is 2 at most: its programs count it no oftener", "最多是 2：这些程序最多只计这么多次"),
    ]),
    (ETCD, &[
        ("with: { id: 11 }", "with: { id: 10 }", "- grant: { etcd: \"grant ${ttl} ${id}\" }", "A has granted the lease 10 already, so B is answered LeaseExists", "租约 10 已由 A 申请，B 再申请会收到 LeaseExists"),
        ("B.gone == 'DELETE'", "B.gone.type == 'DELETE'", "- B.gone.type == 'DELETE'", "answers has no", "的回复没有"),
        ("get lock/${self}", "get lock", "- mine: { etcd: \"get lock\" }", "no command ever writes the key", "没有任何命令写过键"),
        ("- B.gone == 'DELETE'", "- moves('A.leave') == 1", "- moves('A.leave') == 1", "the story never makes the move", "这一步，它没有回复"),
    ]),
    (BOTH, &[
        ("B.sell == 0", "B.sell == -1", "B.sell == -1", "how many rows it changed", "改动的行数"),
        ("sold == 2", "value('lock').n == 1", "value('lock').n", "has no `.n`", "没有 `.n`"),
        ("      with: { key: lock }\nstory", "      with: { key: lok }\nstory", "with: { key: lok }", "no command ever writes the key", "没有任何命令写过键"),
        ("    - use: acquire_safely\n      with:", "    - use: acquire_safely\n    - with:", "- with: { key: lock, lease: \"${lease}\", every: 500ms }", "in the same step and without a", "之后，属于同一步，前面没有"),
        ("read: { sql: SELECT n FROM stock WHERE good = 'tea' }", "read: { sql: SELECT n FROM stock WHERE good = 'coffee' }", "- if: read[0].n > 0", "no statement inserts the row", "没有语句插入过行"),
        ("read[0].n > 0", "read|int > 0", "- if: read|int > 0", "is the number of one text", "取的是一段文字的数值"),
        ("sold == 2", "value('stock') == '-1'", "- value('stock') == '-1'", "no command ever names the key", "没有任何命令用到键"),
        ("value('stock/tea').n|int == -1", "value('stock:tea').n|int == -1", "- value('stock:tea').n|int == -1", "no command ever names the key", "没有任何命令用到键"),
        ("  - sql: CREATE TABLE stock (good VARCHAR(16) PRIMARY KEY, n INT)\n  - sql: INSERT INTO stock VALUES ('tea', 1)\n", "  - sql: INSERT INTO stock VALUES ('tea', 1)\n  - sql: CREATE TABLE stock (good VARCHAR(16) PRIMARY KEY, n INT)\n", "- sql: INSERT INTO stock VALUES ('tea', 1)", "is created only further down", "在后面才创建"),
    ]),
    (MAJORITY, &[
        ("    - let: { votes: 0, began: now }\n", "    - let: { began: now }\n", "then: [let: { votes: votes + 1 }]", "has no value yet here: it gets its first one further down", "还没有值：后面才第一次给它赋值"),
        ("let: { votes: votes + 1 }", "let: { votes: vote + 1 }", "then: [let: { votes: vote + 1 }]", "answers a text, with which nothing can be computed", "的回复是文字，不能用来计算"),
        ("value('lock', 'redis1') is none", "value('lock', 1) is none", "- value('lock', 1) is none", "such as", "例如"),
    ]),
    (PROGRAM, &[
        ("moves: [SET, DEL], ", "", "- P.SET == 'OK'", "the moves of an external program are the commands that P lists", "外部程序的操作是 P 列出的命令"),
        (", locks: [lock] }", " }", "- exclusive: lock", "somebody has to hold it: a program that says", "总得有人持有它：要有一个程序对它写"),
        ("move: P.DEL", "move: P.GET", "- move: P.GET", "the moves of an external program are the commands that P lists", "外部程序的操作是 P 列出的命令"),
        ("  - move: P.DEL\n", "  - finish: P\n  - move: P.DEL\n", "- move: P.DEL", "the program of P is over here", "到这里 P 的程序已经结束了"),
    ]),
    (THREADS, &[
        ("figure: pttl('lock')", "figure: B.try", "figure: B.try", "a number of milliseconds", "毫秒数"),
        ("dog: renew } }", "dog: renew }, threads: 2 }", "A: { named_threads: { worker: work_once, dog: renew }, threads: 2 }", "are all threads of a client: no", "已经列出客户端的全部线程，旁边不能再写"),
        (">= 7", ">= 70", "- that: moves('A.dog.again') >= 70", "is 20 at most: the programs make that move no oftener", "最多是 20：程序最多只做这么多次"),
        ("script: renew_if_owner, keys: [lock], args: [A, \"${lease}\"] }\n    - let", "script: renew_if_owner, keys: [lock], args: [\"${lease}\", A] }\n    - let", "- renew: { script: renew_if_owner, keys: [lock], args: [\"${lease}\", A] }", "as a number, and", "把它当作数字交给"),
        ("minutes: 4", "minutes: 4\nnotes: { en: \"Play `lives-one` first.\", zh: \"先放 `lives-one`。\" }", "notes: { en: \"Play `lives-one` first.\", zh: \"先放 `lives-one`。\" }", "no variant is called", "没有名为"),
    ]),
];

/// Changes that only look like those mistakes.
#[rustfmt::skip]
const NO_MISTAKES: &[(&str, &[(&str, &str)])] = &[
    (FENCE, &[("until: reply == 'OK', every: 500ms }", "until: error is none and reply == 'OK', every: 500ms, allow: [Lost] }")]),
    (FENCE, &[("  - thaw: A\n  - ask", "  - finish: B\n  - thaw: A\n  - ask"), ("  - finish: A\n  - finish: B\n", "  - finish: A\n  - freeze: A\n  - finish: B\n")]),
    (FENCE, &[("keys: [lock], args", "keys: [\"lock:${good}\"], args")]),
    (PRINTER, &[("PUBLISH freed", "PUBLISH printed")]),
    (PRINTER, &[("RPUSH permits p1 p2", "SADD permits p1 p2\n  - redis: DEL permits\n  - redis: RPUSH permits p1 p2")]),
    (PRINTER, &[("that: C.again == 'p1'", "that: C.again is not defined or C.again == 'p1'")]),
    (PRINTER, &[("- C.notified == 1", "- moves('C.again') == 10\n      - moves('C.work') == 0")]),
    (QUEUE, &[("never: herd() > 1", "never: herd() > 2"), ("- that: A.enter|suffix == 0", "- that: A.enter == '/q/n-0000000000'")]),
    (ROWS, &[("never: sold > 1", "never: sold > 1 or holders('seat') > 5"), ("- B.look[0].free == 0", "- B.look|length == 1")]),
    (ROWS, &[("WHERE id = 1 FOR UPDATE", "WHERE id = 2 FOR UPDATE"), ("look is not none and look[0].free == 1", "look|length == 0 or look[0].free == 1"), ("- B.look[0].free == 0", "- B.look|length == 0")]),
    (ETCD, &[("with: { id: 11 }", "with: { id: 10 }"), ("pass: 2s", "pass: 6s")]),
    (ETCD, &[("with: { id: 11 }", "with: { id: 10 }"), ("${ttl} ${id}\" }", "${ttl} ${id}\", allow: [LeaseExists] }")]),
    (BOTH, &[("sold == 2", "value('lock') is none")]),
    (KEYS, &[]),
    (BOOKING, &[]),
    (THREADS, &[("minutes: 4", "minutes: 4\nnotes: { en: \"Play `lives-on`, then `read-write-lock`.\", zh: \"先放 `lives-on`。\" }")]),
];

#[test]
fn what_only_looks_like_those_mistakes_is_let_through() {
    for (lesson, changes) in NO_MISTAKES {
        let changed = changes.iter().fold((*lesson).to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "the right lesson has no `{from}`");
            text.replacen(from, to, 1)
        });
        let checked = from_text("right.yaml", &changed).and_then(|loaded| loaded.check());
        assert!(checked.is_ok(), "{changes:?}: {}", checked.expect_err("a mistake").in_lang(En));
    }
}

#[test]
fn mistakes_in_whole_lessons_are_told_where_they_are_and_what_would_be_right() {
    let mut failed = Vec::new();
    for (lesson, changes) in MISTAKES {
        let right = from_text("right.yaml", lesson).and_then(|loaded| loaded.check());
        right.unwrap_or_else(|error| panic!("{error}"));
        failed.extend(changes.iter().filter_map(|change| failure(lesson, change)));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
