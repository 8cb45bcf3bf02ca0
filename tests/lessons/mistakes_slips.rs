//! Slips of a tired author: one word of a right lesson that is wrong, and that a run would accept or blame on something
//! else.

use lockstep::{lesson::library::from_text, text::Lang::En};

use crate::mistakes::{Change, assert_accepted, assert_refused};

const MASTERS: &str = include_str!("mistakes/authors/masters.yaml");
const REDIS: &str = include_str!("mistakes/authors/redis.yaml");
const ZK: &str = include_str!("mistakes/authors/zk.yaml");
const CLUSTER: &str = include_str!("../../lessons/cluster-is-not-safer.yaml");
const CURATOR_READ_WRITE: &str = include_str!("../../lessons/curator-read-write.yaml");
const CURATOR_SEMAPHORE: &str = include_str!("../../lessons/curator-semaphore-mutex.yaml");
const DB_DEADLOCK: &str = include_str!("../../lessons/db-deadlock.yaml");
const DB_OPTIMISTIC: &str = include_str!("../../lessons/db-optimistic.yaml");
const FAILOVER_MITIGATIONS: &str = include_str!("../../lessons/failover-mitigations.yaml");
const ETCD_LEASE: &str = include_str!("../../lessons/etcd-lease.yaml");
const FAIR_LOCK: &str = include_str!("../../lessons/fair-lock.yaml");
const LATE_VALIDITY: &str = include_str!("../../lessons/redlock-late-validity.yaml");
const LOST_REPLY: &str = include_str!("../../lessons/lost-reply.yaml");
const MULTI_LOCK: &str = include_str!("../../lessons/multi-lock.yaml");
const OVERSELL: &str = include_str!("../../lessons/oversell.yaml");
const PERMITS: &str = include_str!("../../lessons/permit-expirable-semaphore.yaml");
const READ_WRITE_LOCK: &str = include_str!("../../lessons/read-write-lock.yaml");
const REDISSON_LOCK: &str = include_str!("../../lessons/redisson-lock.yaml");
const SEMAPHORE: &str = include_str!("../../lessons/semaphore.yaml");
const SPIN_LOCK: &str = include_str!("../../lessons/spin-lock.yaml");
const UNLOCK: &str = include_str!("../../lessons/unlock-someone-elses-lock.yaml");
const WATCHDOG: &str = include_str!("../../lessons/watchdog.yaml");
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
    (CLUSTER, &[
        ("keys: [\"${key}\", \"{order:1}:stock\"]", "keys: [\"${key}\", \"order:1:stock\"]", "- sell_tagged:", "`{order:1}:lock` and `order:1:stock` are in different slots", "在集群的不同槽里"),
        ("- confirm: { redis: \"WAIT 1 ${ack}\" }", "- confirm: { redis: \"WAIT ${ack} 1\" }", "- confirm:", "no server of this lab has 2000 replicas", "没有服务器有 2000 个从节点"),
    ]),
    (FAIR_LOCK, &[
        ("value('redisson_lock_queue:{lock}').list == ['C']", "value('redisson_lock_queue:{lock}') == ['C']", "- that: value('redisson_lock_queue:{lock}') ==", "is never a list itself", "本身不会是列表"),
    ]),
    (LATE_VALIDITY, &[
        ("lock4, lock5]|select", "lock4, lock4]|select", "let: { votes:", "`lock4` counts twice", "`lock4` 算了两次"),
    ]),
    (PERMITS, &[
        ("keys: [\"{permits}:timeout\"]", "keys: [\"permits:timeout\"]", "[\"permits:timeout\"]", "write `{permits}:timeout`", "请写 `{permits}:timeout`"),
        ("KEYS[1], ARGV[3] + ARGV[2], ARGV[1])", "KEYS[1], ARGV[1], ARGV[3] + ARGV[2])", "ARGV[1], ARGV[3] + ARGV[2]", "takes the score before the member", "分数写在成员前面"),
    ]),
    (UNLOCK, &[
        ("deleted_by_another('lock')", "deleted_by_another('lokc')", "'lokc'", "did you mean `lock`", "是不是 `lock`"),
        ("poll: 500ms", "poll: 5", "poll: 5", "`poll` is 5 ms, as it has no unit, and a program waits for that long", "`poll` 没有单位，就是 5 毫秒"),
        ("key: lock, lease: \"${lease}\", every: \"${poll}\" } }", "key: lock, lease: \"${poll}\", every: \"${lease}\" } }", "lease: \"${poll}\"", "`every` is given the lease", "`every` 用了租期"),
    ]),
    (CURATOR_READ_WRITE, &[
        ("startingwith('__WRIT__')", "startingwith('__WRITE__')", "__WRITE__", "did you mean `__WRIT__`", "是不是 `__WRIT__`"),
        ("  leave: [release: { zk: \"delete ${create}\" }, drops: lock]", "  leave: [release: { zk: \"delete ${create}\" }]", "leave: [release:", "`release` gives `lock` back", "`release` 归还了 `lock`"),
    ]),
    (CURATOR_SEMAPHORE, &[
        ("let: { more: \"true\" }", "let: { more: \"'true'\" }", "let: { more:", "every text counts as true", "任何文字都算成立"),
    ]),
    (DB_OPTIMISTIC, &[
        ("        - let: { tried: tried + 1 }\n", "", "while: not done and tried < tries", "nothing in this repetition sets `tried`", "循环里没有什么会给 `tried` 赋值"),
    ]),
    (FAILOVER_MITIGATIONS, &[
        ("max-lag ${lag // 1000}\", on: node1", "max-lag ${lag}\", on: node1", "max-lag ${lag}\"", "seconds are wanted here, and `${lag}` is 3000", "这里要的是秒"),
        ("    - if: acquire == 'OK'\n", "    - if: acquire != 'OK'\n", "- if: acquire != 'OK'", "whoever was refused holds the lock", "被拒绝的反而持有锁"),
    ]),
    (LOST_REPLY, &[
        ("until: reply is none or reply == token", "until: reply is none and reply == token", "reply is none and reply == token", "are never both so", "不可能同时成立"),
        ("== ['Lost', 1]", "== ['Lost', 2]", "== ['Lost', 2]", "is answered 0 or 1 or nothing", "只会是 0 或 1 或空"),
        ("          right: holders('lock') == 1\n", "          right: holders('lock') == 5\n", "right: holders('lock') == 5", "`holders('lock')` is 2 at most", "最多是 2"),
        ("redis.call('PUBLISH', KEYS[2], 'free')", "redis.call('PUBLISH', KEYS[1], 'free')", "reentrant.leave:", "never reads `KEYS[2]`", "从不读 `KEYS[2]`"),
    ]),
    (READ_WRITE_LOCK, &[
        ("args: [\"${self}\", \"${lease}\"], until: reply is none", "args: [\"${self}\", \"${lease}\"], until: reply == 0", "until: reply == 0", "write `until: reply is none`", "请写 `until: reply is none`"),
    ]),
    (REDISSON_LOCK, &[
        ("hash['A:1'] == '1'", "hash['A'] == '1'", "hash['A']", "no command ever writes the field `A`", "没有任何命令写过字段 `A`"),
        ("args: [\"${client}:1\", \"${lease}\"]", "args: [\"${lease}\", \"${client}:1\"]", "args: [\"${lease}\"", "as a number, and `${client}:1` is none", "而 `${client}:1` 不是数字"),
    ]),
    (SPIN_LOCK, &[
        ("    - drops: lock\n", "", "- release:", "`release` gives `lock` back", "`release` 归还了 `lock`"),
    ]),
    (WATCHDOG, &[
        ("period: 10s", "period: 30s", "renew: [{ use: watchdog", "first renews after 30000 ms, and the lease ends after 30000 ms", "30000 毫秒后才第一次续期"),
        ("\"${lease - period}\", moving: [Ops, A] }", "\"${period - lease}\", moving: [Ops, A] }", "${period - lease}", "is -20000 ms: time cannot run backward", "时间不能倒流"),
        ("  en: >-\n    15 minutes: 3 for `no-renewal`", "  en: >-\n    15 minutes: 3 for `no_renewal`", "`no_renewal`", "did you mean `no-renewal`?", "是不是 `no-renewal`？"),
        ("sets\n    the lease back to its full length every ${period|duration}", "sets\n    the lease back to its full length every ${periods|duration}", "${periods|duration}", "did you mean `period`?", "是不是 `period`？"),
        ("and A.worker.release == 0", "and A.release == 0", "and A.release == 0", "did you mean `A.worker.release`?", "是不是 `A.worker.release`？"),
    ]),
    (ETCD_LEASE, &[
        ("period: 2s, work", "period: 7s, work", "use: etcd_keeper", "the lease ends after 6000 ms", "租期 6000 毫秒就到了"),
    ]),
    (MULTI_LOCK, &[
        ("not exists('lock:1')", "not exists('lock1')", "'lock1'", "did you mean `lock:1`", "是不是 `lock:1`"),
        ("first: \"lock:2\", second: \"lock:1\", retry", "first: \"lock:2\", second: \"lock:2\", retry", "with: &both", "are both `lock:2`", "都是 `lock:2`"),
    ]),
    (LATE_VALIDITY, &[
        ("- if: votes >= 3\n", "- if: votes >= 6\n", "- if: votes >= 6", "`votes` is 5 at most", "`votes` 最多是 5"),
    ]),
    (DB_DEADLOCK, &[
        ("formerly: [db-pessimistic]", "formerly: [db-deadlock]", "formerly:", "is what the lesson is called now", "就是这节课现在的 id"),
        ("    - if: error is none\n      then: [use: pays]", "    - if: error is not none\n      then: [use: pays]", "- if: error is not none", "write `if: error is none`", "请写 `if: error is none`"),
        ("allow: ['1213'] }", "allow: ['1205'] }", "- that: \"'1213' in [A.take2, B.take2]\"", "no operation `take2` allows the error '1213'", "没有 `take2` 操作允许错误 '1213'"),
    ]),
    (OVERSELL, &[
        ("right: B.buy == stock - 1", "right: moves('B.buy') == 9", "right: moves('B.buy') == 9", "`moves('B.buy')` is 1 at most", "最多是 1"),
        ("processes: \"${buyers - 2}\"", "processes: \"${stock - 2}\"", "processes: \"${stock - 2}\"", "gives -1, and this is a count", "而这里要的是个数"),
    ]),
    (SEMAPHORE, &[
        ("keys: [permits], until: reply == 1, every: \"${poll}\" }", "keys: [permits] }", "- holds: permit", "`take` may be refused", "`take` 可能被拒绝"),
        ("finished('B') + finished('C') == 2\n        says", "finished('B') + finished('C') == 3\n        says", "finished('C') == 3", "is 2 at most", "最多是 2"),
    ]),
    (WAIT_WITHOUT_SPINNING, &[
        ("within: \"${retry}\" } } }", "within: \"${retry|duration}\" } } }", "${retry|duration}", "`duration` makes a text of the duration", "把时长变成了文字"),
        // A key that a recipe is given.
        ("not exists('lock')", "not exists('lokc')", "'lokc'", "no command ever names the key `lokc`", "没有任何命令用到键 `lokc`"),
        ("keys: [lock], args: [\"${self}\", \"${lease}\"] }", "keys: [lock], args: [\"${self}\", \"${lease / 1000}\"] }", "${lease / 1000}", "takes a whole number", "要的是整数"),
    ]),
    (include_str!("../../lessons/countdown-latch.yaml"), &[
        ("'LREM', KEYS[1], 0, ARGV[1]", "'LREM', KEYS[1], ARGV[1], 0", "redis.call('LREM'", "takes how many are to be removed before the element", "先写要删几个，再写元素"),
    ]),
    (include_str!("../../lessons/curator-multi-lock.yaml"), &[
        ("with: { patience: 3s }", "with: { patience: 3 }", "patience: 3 }", "`patience` is 3 ms, as it has no unit, and a program waits for that long", "`patience` 没有单位，就是 3 毫秒"),
        ("zk: \"delete ${two}\"", "zk: \"delete /b/${two}\"", "- release2:", "`two` is the whole path already", "`two` 已经是完整路径"),
    ]),
    (include_str!("../../lessons/redlock.yaml"), &[
        ("replies('B.unlock5')|first == 0", "replies('B.unlock5')|first == 2", "|first == 2", "is answered 0 or 1 or nothing", "只会是 0 或 1 或空"),
    ]),
    (include_str!("../../lessons/redlock-py.yaml"), &[
        ("zh: 没人拨时钟", "zh: Nobody sets a clock", "title: { en: Nobody sets a clock", "this is the English text once more", "这里还是英文"),
    ]),
    (include_str!("../../lessons/zk-lost-create-reply.yaml"), &[
        ("never: children('/locks')", "never: children('/lock')", "children('/lock')", "did you mean `/locks`", "是不是 `/locks`"),
    ]),
    (include_str!("../../lessons/znode-types.yaml"), &[
        ("zk: get /app/config }", "zk: get app/config }", "get app/config", "write `/app/config`", "请写 `/app/config`"),
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

/// Three mistakes of one author in different places of a lesson, and the lines on which they are told.
#[rustfmt::skip]
const SEVERAL: &[(&str, [(&str, &str); 3])] = &[
    // Names.
    (REDIS, [("- read: { redis: GET stock }", "- read: { redis: GETT stock }"), ("- release: { redis: DEL lock }\n", "- release: { redis: DEL }\n"), ("redis: SET stock 10", "redis: SETT stock 10")]),
    (REDIS, [("  - move: A.read\n", "  - move: A.reed\n"), ("  - move: B.acquire\n", "  - move: C.acquire\n"), ("that: value('stock') == '9'", "that: valu('stock') == '9'")]),
    (REDIS, [("- work: \"${work}\"", "- work: \"${wrk}\""), ("if: read|int > 0", "if: read|number > 0"), ("every: 500ms", "every: 500 ms s")]),
    // What names say.
    (REDIS, [("redis: DECR stock", "redis: DECR stocks"), ("right: A.release == 1\n", "right: A.release == 'OK'\n"), ("NX PX ${lease}\", until: reply == 'OK'", "PX ${lease}\", until: reply == 'OK'")]),
    // In one variant and in another.
    (OVERSELL, [("- that: sold == buyers\n", "- that: sold == buyer\n"), ("value('stock')|int == stock - 1\n", "value('stock')|int == stok - 1\n"), ("- exclusive: lock\n", "- exclusive: lok\n")]),
];

#[test]
fn several_mistakes_are_told_at_once() {
    for (lesson, changes) in SEVERAL {
        let wrong = changes.iter().fold((*lesson).to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "the right lesson has no `{from}`");
            text.replacen(from, to, 1)
        });
        let error = from_text("wrong.yaml", &wrong).and_then(|loaded| loaded.check()).expect_err("wrong");
        let mut told: Vec<usize> =
            [&error].into_iter().chain(&error.more).filter_map(|error| Some(error.place?.0)).collect();
        let mut meant: Vec<usize> = changes
            .iter()
            .map(|(_, to)| wrong[..wrong.find(to).expect("it is there")].matches('\n').count() + 1)
            .collect();
        told.sort_unstable();
        meant.sort_unstable();
        assert_eq!(told, meant, "{}\n{:#?}", error.in_lang(En), error.more);
    }
}

#[test]
fn what_only_looks_like_a_slip_is_not_refused() {
    assert_accepted(STILL_RIGHT);
}

/// Lessons whose mistake is their point: their variant shows what it leads to.
const MEANT: [(&str, &str); 5] = [
    ("forgot-commit", include_str!("mistakes/meant/forgot-commit.yaml")),
    ("ignores-reply", include_str!("mistakes/meant/ignores-reply.yaml")),
    ("similar-keys", include_str!("mistakes/meant/similar-keys.yaml")),
    ("startingwith", include_str!("mistakes/meant/startingwith.yaml")),
    ("wrong-owner", include_str!("mistakes/meant/wrong-owner.yaml")),
];

#[test]
fn a_mistake_that_is_the_point_of_a_lesson_is_not_refused() {
    for (name, lesson) in MEANT {
        from_text(name, lesson)
            .and_then(|loaded| loaded.check())
            .unwrap_or_else(|error| panic!("{name}: {}", error.in_lang(En)));
    }
}
