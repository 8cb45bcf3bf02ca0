//! Slips of a tired author: one word of a right lesson that is wrong, and that a run would accept or blame on something
//! else.

use crate::mistakes::{Change, assert_accepted, assert_refused};

const MASTERS: &str = include_str!("mistakes/authors/masters.yaml");
const REDIS: &str = include_str!("mistakes/authors/redis.yaml");
const ZK: &str = include_str!("mistakes/authors/zk.yaml");
const CURATOR_READ_WRITE: &str = include_str!("../../lessons/curator-read-write.yaml");
const CURATOR_SEMAPHORE: &str = include_str!("../../lessons/curator-semaphore-mutex.yaml");
const DB_OPTIMISTIC: &str = include_str!("../../lessons/db-optimistic.yaml");
const FAILOVER_MITIGATIONS: &str = include_str!("../../lessons/failover-mitigations.yaml");
const LOST_REPLY: &str = include_str!("../../lessons/lost-reply.yaml");
const READ_WRITE_LOCK: &str = include_str!("../../lessons/read-write-lock.yaml");
const REDISSON_LOCK: &str = include_str!("../../lessons/redisson-lock.yaml");
const SPIN_LOCK: &str = include_str!("../../lessons/spin-lock.yaml");
const WAIT_WITHOUT_SPINNING: &str = include_str!("../../lessons/wait-without-spinning.yaml");

#[rustfmt::skip]
const SLIPS: &[(&str, &[Change])] = &[
    (REDIS, &[
        // What the program takes for granted.
        ("NX PX ${lease}\", until: reply == 'OK'", "PX ${lease}\", until: reply == 'OK'", "- acquire:", "always answers 'OK', so it is never tried again", "不会重试"),
        (", until: reply == 'OK', every: 500ms }", " }", "- holds: lock", "`acquire` may be refused, and the program believes all the same", "`acquire` 可能被拒绝"),
        ("until: reply == 'OK'", "until: reply != 'Lost'", "- acquire:", "`reply` is never 'Lost'", "`reply` 不会是 'Lost'"),
        ("args: [\"${token}\"]", "args: [\"${self}\"]", "worker.release:", "which is set to `${token}`: they are never the same", "而写入的是 `${token}`"),
        ("    - if: read|int > 0\n", "    - look: { redis: GET lock }\n    - if: look == self\n      then: [count: own]\n    - if: read|int > 0\n", "- if: look == self", "write `look == token`", "请写 `look == token`"),
        ("    - release: { redis: DEL lock }\n    - drops: lock\n", "    - if: read is none\n      then: [early: { redis: DEL lock }, stop]\n    - release: { redis: DEL lock }\n    - drops: lock\n", "then: [early:", "`early` gives `lock` back, and the program goes on believing", "`early` 归还了 `lock`"),
        // Durations.
        ("- work: \"${work}\"", "- work: \"${work} + ${lease}\"", "- work:", "`${work + lease}`", "`${work + lease}`"),
        ("  - pass: 3s\n", "  - pass: \"${lease} + 500\"\n", "- pass:", "`${lease + 500}`", "`${lease + 500}`"),
        ("  - pass: 3s\n", "  - pass: \"${lease} + 1s\"\n", "- pass:", "outside of `${…}` nothing is computed", "外面不会做计算"),
        ("params: { lease: 3s", "params: { lease: 300", "params:", "`lease` is 300 ms, as it has no unit", "`lease` 没有单位，就是 300 毫秒"),
        // Texts.
        ("after ${lease|duration}", "after {lease|duration}", "summary:", "`{lease|duration}` is plain text here", "`{lease|duration}` 在这里只是普通文字"),
        ("租期 ${lease|duration_zh}", "租期 ${lease|duration}", "summary:", "write `${lease|duration_zh}`", "请写 `${lease|duration_zh}`"),
        ("after ${lease|duration}", "after ${lease|duration_zh}", "summary:", "write `${lease|duration}`", "请写 `${lease|duration}`"),
        ("租期 ${lease|duration_zh}", "租期 3 秒", "summary:", "the other language fills `lease` in here", "另一种语言在这里填入 `lease`"),
        // What is expected.
        ("expect: none, moves: 20", "expect: violated, moves: 20", "explore:", "this variant should prevent that", "这个方案应当防住它"),
        ("          right: A.release == 0\n", "          right: A.release < 0\n", "right: A.release < 0", "is answered 0 or 1 or nothing", "只会是 0 或 1 或空"),
    ]),
    (MASTERS, &[
        ("if: votes >= 3", "if: votes >= 6", "- if: votes", "`votes` is 5 at most", "`votes` 最多是 5"),
        ("if: votes >= 3", "if: votes >= 2", "- if: votes", "2 of 5 is no majority", "5 票里的 2 票不算多数"),
    ]),
    (ZK, &[
        ("        - if: prior is none\n          then:\n", "        - if: prior is not none\n          then:\n            - holds: lock\n", "- if: prior is not none", "whoever has somebody before it in the queue", "前面还有人排队的反而持有锁"),
        ("delete ${enter}", "delete ${names}", "- leave:", "`names` answers a list", "`names` 的回复是列表"),
        ("    - drops: lock\n", "", "- leave:", "`leave` gives `lock` back", "`leave` 归还了 `lock`"),
    ]),
    (CURATOR_READ_WRITE, &[
        ("    - &leave { release: { zk: \"delete ${create}\" } }\n    - drops: lock\n", "    - &leave { release: { zk: \"delete ${create}\" } }\n", "- &leave", "`release` gives `lock` back", "`release` 归还了 `lock`"),
    ]),
    (CURATOR_SEMAPHORE, &[
        ("let: { more: \"true\" }", "let: { more: \"'true'\" }", "let: { more:", "every text counts as true", "任何文字都算成立"),
    ]),
    (DB_OPTIMISTIC, &[
        ("        - let: { tried: tried + 1 }\n", "", "while: not done and tried < tries", "nothing in this repetition sets `tried`", "循环里没有什么会给 `tried` 赋值"),
    ]),
    (FAILOVER_MITIGATIONS, &[
        ("    - if: acquire == 'OK'\n", "    - if: acquire != 'OK'\n", "- if: acquire != 'OK'", "whoever was refused holds the lock", "被拒绝的反而持有锁"),
    ]),
    (LOST_REPLY, &[
        ("redis.call('PUBLISH', KEYS[2], 'free')", "redis.call('PUBLISH', KEYS[1], 'free')", "reentrant.leave:", "never reads `KEYS[2]`", "从不读 `KEYS[2]`"),
    ]),
    (READ_WRITE_LOCK, &[
        ("args: *mine_for, until: reply is none", "args: *mine_for, until: reply == 0", "until: reply == 0", "write `until: reply is none`", "请写 `until: reply is none`"),
    ]),
    (REDISSON_LOCK, &[
        ("args: [\"${client}:1\", \"${lease}\"]", "args: [\"${lease}\", \"${client}:1\"]", "args: [\"${lease}\"", "as a number, and `${client}:1` is none", "而 `${client}:1` 不是数字"),
    ]),
    (SPIN_LOCK, &[
        ("    - drops: lock\n", "", "- release:", "`release` gives `lock` back", "`release` 归还了 `lock`"),
    ]),
    (WAIT_WITHOUT_SPINNING, &[
        ("keys: [lock], args: [\"${self}\", \"${lease}\"] }", "keys: [lock], args: [\"${self}\", \"${lease / 1000}\"] }", "${lease / 1000}", "takes a whole number", "要的是整数"),
    ]),
];

#[test]
fn slips_are_told_where_they_are_and_what_would_be_right() {
    assert_refused(SLIPS);
}

/// Changed lessons that stay valid: what `check` might take for a slip.
#[rustfmt::skip]
const STILL_RIGHT: &[(&str, &[(&str, &str)])] = &[
    // A `SET` whose reply may be lost is tried again.
    (REDIS, &[("NX PX ${lease}\", until: reply == 'OK'", "PX ${lease}\", allow: [Lost], until: reply == 'OK'")]),
    (REDIS, &[("until: reply == 'OK'", "allow: [Lost], until: reply != 'Lost' and reply is not none")]),
    // Whoever deletes the key early says so.
    (REDIS, &[("    - release: { redis: DEL lock }\n", "    - if: read is none\n      then: [early: { redis: DEL lock }, drops: lock, stop]\n    - release: { redis: DEL lock }\n")]),
    (REDIS, &[("    - read: { redis: GET stock }", "    - let: { began: now }\n    - read: { redis: GET stock }\n    - if: now - began > lease\n      then: [count: late]")]),
    // Not every text says how long.
    (REDIS, &[("租期 ${lease|duration_zh}", "租期")]),
    (REDIS, &[("- work: \"${work}\"", "- work: \"${work + lease}\"")]),
    // Four of five is more than a majority.
    (MASTERS, &[("if: votes >= 3", "if: votes >= 4")]),
    (MASTERS, &[("if: votes >= 3", "if: votes > 2")]),
];

#[test]
fn what_only_looks_like_a_slip_is_not_refused() {
    assert_accepted(STILL_RIGHT);
}
