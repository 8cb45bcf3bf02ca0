//! Mistakes of authors who wrote lessons from the documentation: what they misunderstood, what slipped, and what YAML made
//! of it.

use lockstep::{lesson::library::from_text, text::Lang::En};

use crate::mistakes::{Change, assert_accepted, assert_refused};

const REDIS: &str = include_str!("mistakes/authors/redis.yaml");
const SCRIPT: &str = include_str!("mistakes/authors/script.yaml");
const ZK: &str = include_str!("mistakes/authors/zk.yaml");
const SQL: &str = include_str!("mistakes/authors/sql.yaml");
const ETCD: &str = include_str!("mistakes/authors/etcd.yaml");
const MASTERS: &str = include_str!("mistakes/authors/masters.yaml");
const LOCKS: &str = include_str!("mistakes/authors/locks.yaml");

#[rustfmt::skip]
const MISTAKES: &[(&str, &[Change])] = &[
    (REDIS, &[
        // YAML.
        ("- redis: SET stock 10", "- redis: \"SET stock 10", "- redis: \"SET stock 10", "a quote is not closed", "引号没有关上"),
        ("- that: value('stock') == '9'", "- that: 'A' in holders('lock')", "- that: 'A' in", "ends with the next `'`, and here more follows", "后面还有内容"),
        ("- if: read|int > 0", "- if: !read", "- if: !read", "`!` begins a tag in YAML", "`!` 是标签的开头"),
        ("zh: 租期到了。 }", "zh: 租期到了。 }\n    move: A.release", "    move: A.release", "begin a new one with `- move: …`", "请另起一条 `- move: …`"),
        ("\nstory:\n", "\nsteps:\n", "steps:", "what happens is the `story`", "发生什么写在 `story`"),
        // Programs.
        ("SET lock ${token} NX PX ${lease}", "SETNX lock ${token} PX ${lease}", "- acquire:", "`SET key value NX PX milliseconds`", "`SET` 才有选项"),
        ("SET lock ${token} NX PX ${lease}", "SET lock ${token} NX PX 3s", "- acquire:", "write `3000`", "请写 `3000`"),
        ("SET lock ${token} NX PX ${lease}", "SET lock ${token} NX PX lease", "- acquire:", "filled in with `${lease}`", "要写 `${lease}`"),
        ("until: reply == 'OK', every: 500ms", "until: reply == 'OK', retry: 500ms", "- acquire:", "`until: reply == 'OK', every: 500ms`", "`until: reply == 'OK', every: 500ms`"),
        ("    - waits: lock\n    - acquire: { redis: \"SET lock ${token} NX PX ${lease}\", until: reply == 'OK', every: 500ms }\n    - holds: lock\n", "    - holds: lock\n    - acquire: { redis: \"SET lock ${token} NX PX ${lease}\", until: reply == 'OK', every: 500ms }\n", "- holds: lock", "write `- holds: lock` after `acquire`", "写在 `acquire` 之后"),
        ("    - release: { redis: DEL lock }\n    - drops: lock\n", "    - release: { redis: DEL lock }\n", "- release: { redis: DEL lock }", "write `- drops: lock` after it", "后面写 `- drops: lock`"),
        ("    - drops: lock\n", "    - drops: lock\n    - drops: lock # again\n", "# again", "leave one of both `drops: lock` out", "两个 `drops: lock` 去掉一个"),
        (", until: reply == 'OK', every: 500ms }\n    - holds: lock\n", " }\n    - if: acquire == 'OK'\n      then: [stop]\n    - holds: lock\n", "- if: acquire == 'OK'", "write `if: acquire is none`", "请写 `if: acquire is none`"),
        (", until: reply == 'OK', every: 500ms }\n    - holds: lock\n", " }\n    - if: acquire is none\n      then: [holds: lock]\n", "- if: acquire is none", "write `if: acquire == 'OK'`", "请写 `if: acquire == 'OK'`"),
        ("    - waits: lock\n    - acquire: { redis: \"SET lock ${token} NX PX ${lease}\", until: reply == 'OK', every: 500ms }\n", "    - waits: lock\n    - let: { got: none }\n    - repeat:\n        - acquire: { redis: \"SET lock ${token} NX PX ${lease}\" }\n        - let: { got: acquire }\n      while: got == 'OK'\n", "while: got == 'OK'", "false before the first round", "第一轮之前条件就不成立"),
        ("- if: read|int > 0", "- if: int(read) > 0", "- if: int(read)", "write `x|int`", "请写 `x|int`"),
        ("- if: read|int > 0", "- if: len(read) > 0", "- if: len(read)", "write `x|length`", "请写 `x|length`"),
        ("- if: read|int > 0", "- if: read|number > 0", "- if: read|number", "did you mean `int`?", "是不是 `int`？"),
        ("- if: read|int > 0", "- if: read is empty_text", "- if: read is", "write `== 'empty_text'`", "请写 `== 'empty_text'`"),
        // The story.
        ("  - move: A.read\n  - move: A.sell\n", "  - move: A.sell\n  - move: A.read\n", "- move: A.sell", "write `- move: A.read` before it", "请在前面写 `- move: A.read`"),
        ("  - pass: 3s\n", "  - freeze: redis1\n  - pass: 3s\n", "- freeze: redis1", "unknown client or server `redis1`", "没有名为 `redis1` 的客户端或服务器"),
        ("  - pass: 3s\n", "  - kill: node1\n  - pass: 3s\n", "- kill: node1", "`node1` is a server of `lab: sentinel`", "`node1` 是 `lab: sentinel` 的服务器"),
        ("  - pass: 3s\n", "  - await: { that: \"not exists('lock')\", within: 60ms }\n", "within: 60ms", "`await` looks every 200 ms", "每 200 毫秒才看一次"),
        // Claims.
        ("that: value('stock') == '9'", "that: before('A.release', 'A.sell')", "before('A.release'", "write `before('A.sell', 'A.release')`", "请写 `before('A.sell', 'A.release')`"),
        ("that: value('stock') == '9'", "that: moves('A.acquire') == 2", "moves('A.acquire') == 2", "`moves('A.acquire') == 1`", "`moves('A.acquire') == 1`"),
        ("that: value('stock') == '9'", "that: B.finished", "that: B.finished", "write `- finish: B` into the story", "请在剧情里写 `- finish: B`"),
        ("that: value('stock') == '9'", "that: herd() > 1", "that: herd() > 1", "nobody subscribes to anything or leaves a watch", "没有谁订阅过频道或设过 watch"),
        ("that: value('stock') == '9'", "that: value('lock') == 'B'", "that: value('lock')", "holds a token, such as 'B-eb24'", "里是 token，例如 'B-eb24'"),
        ("that: value('stock') == '9'", "that: value(tries) is none", "that: value(tries)", "a key belongs here, and `tries` is the number 4", "这里要写键，而 `tries` 是数字 4"),
        ("that: value('stock') == '9'", "that: finished('B') == 1", "that: finished('B')", "write `- finish: B` into the story", "请在剧情里写 `- finish: B`"),
        ("that: value('stock') == '9'", "that: sold == 1", "that: sold == 1", "known here: A, B, lease, refused, tries, work,", "这里可用的有：A, B, lease, refused, tries, work,"),
        ("  - never: { overlap: lock }", "  - never: { overlap: locks }", "never: { overlap: locks }", "did you mean `lock`? found in the variant", "是不是 `lock`？在方案"),
    ]),
    (SCRIPT, &[
        ("if redis.call('GET', KEYS[1]) == ARGV[1] then\n      return redis.call('DEL'", "if redis.call('GET', KEYS[1]) = ARGV[1] then\n      return redis.call('DEL'", "if redis.call('GET', KEYS[1]) = ARGV[1]", "to compare, write `==`", "比较要写 `==`"),
        ("while: alive == 1", "while: alive == true", "while: alive == true", "makes `alive` a number or a text", "都是数字或文字"),
    ]),
    (ZK, &[
        ("create -e -s /locks/n-", "create -es /locks/n-", "- enter:", "write `-e -s`", "请写 `-e -s`"),
        ("\"delete ${enter}\"", "\"delete /locks/n-\"", "- leave:", "the whole path is the reply: `${enter}`", "完整的路径是它的回复：`${enter}`"),
        ("- names: { zk: ls /locks }", "- names: { zk: get /locks }", "- let: { prior:", "`before` takes a list of names, and `names` answers none", "`before` 要的是名字的列表，而 `names` 的回复不是列表"),
    ]),
    (SQL, &[
        ("- if: read[0].stock > 0", "- if: read[0]['stock'] == '1'", "- if: read[0]['stock']", "read[0]", "read[0]"),
    ]),
    (SQL, &[
        ("        - sell: { sql: UPDATE good SET stock = stock - 1 WHERE id = 1 }\n", "        - sell: { sql: UPDATE good SET stock = stock - 1 WHERE id = 1 }\n        - if: sell > 1\n          then: [count: several]\n", "- if: sell > 1", "`sell` is 1 at most", "`sell` 最多是 1"),
    ]),
    (ETCD, &[
        ("\"grant 5 ${id}\"", "\"grant 5s ${id}\"", "- grant:", "write `5`", "请写 `5`"),
        ("  - send: B.gone\n", "  - move: B.gone\n", "- move: B.gone", "`- send: B.gone`", "`- send: B.gone`"),
    ]),
    (MASTERS, &[
        ("replies('B.vote')|select('eq', 'OK')|list|length == 0", "replies('B.vote')|count('OK') == 0", "|count('OK')", "`x|select('eq', 'OK')|list|length`", "`x|select('eq', 'OK')|list|length`"),
    ]),
    (LOCKS, &[
        ("holders: \"${permits}\"", "capacity: \"${permits}\"", "capacity:", "`holders: 2`", "`holders: 2`"),
        ("holds: { lock: book, mode: shared }", "holds: book, shared", "- holds: book, shared", "`holds: { lock: book, mode: shared }`", "`holds: { lock: book, mode: shared }`"),
        ("    - drops: printer\n", "    - drops: book\n", "- drops: book", "write `drops: printer`", "请写 `drops: printer`"),
        ("take: { from: freed, within: 2s }", "take: { from: freed, timeout: 2s }", "timeout: 2s", "`within: 2s`", "`within: 2s`"),
    ]),
];

#[test]
fn mistakes_of_authors_are_told_where_they_are_and_what_would_be_right() {
    assert_refused(MISTAKES);
}

/// Changed lessons that stay valid: what `check` might take for a mistake.
#[rustfmt::skip]
const STILL_RIGHT: &[(&str, &[(&str, &str)])] = &[
    // Who does not know whether it holds the lock drops it before it deletes the key.
    (REDIS, &[("    - release: { redis: DEL lock }\n    - drops: lock\n", "    - drops: lock\n    - release: { redis: DEL lock }\n")]),
    // A client that was refused says so and stops.
    (REDIS, &[(", until: reply == 'OK', every: 500ms }\n    - holds: lock\n", " }\n    - if: acquire is none\n      then: [stop]\n    - holds: lock\n")]),
    (REDIS, &[("that: value('stock') == '9'", "that: before('A.sell', 'A.release') and moves('A.acquire') == 1 and not B.finished")]),
    (REDIS, &[("that: value('stock') == '9'", "that: herd() == 0 and value('lock') is none")]),
    (ZK, &[("    - leave: { zk: \"delete ${enter}\" }\n    - drops: lock\n", "    - leave: { zk: \"delete ${enter}\" }\n    - drops: lock\n    - count: left\n")]),
];

#[test]
fn what_is_right_is_not_refused() {
    assert_accepted(STILL_RIGHT);
}

#[test]
fn a_mistake_in_a_long_line_is_told_by_its_word() {
    let place = |from: &str, to: &str| {
        let error = from_text("wrong.yaml", &REDIS.replacen(from, to, 1)).and_then(|loaded| loaded.check());
        let error = error.expect_err(to);
        let (line, column) = error.place.expect("a place");
        let text = REDIS.replacen(from, to, 1);
        let rest: String = text.lines().nth(line - 1).expect("the line").chars().skip(column - 1).collect();
        (rest, error.in_lang(En))
    };
    for (from, to, at) in [
        ("${lease|duration}.", "${leas|duration}.", "leas|duration}."),
        ("worker.release: {", "worker.relase: {", "worker.relase: {"),
        ("  - move: A.read\n", "", "A.sell"),
        ("DEL lock", "DEL lck", "lck }"),
    ] {
        let (rest, said) = place(from, to);
        assert!(rest.starts_with(at), "{at}\n{said}");
    }
}
