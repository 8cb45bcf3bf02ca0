//! More mistakes in whole lessons, each one edit of a hurried author: what an operation, an event or a row can never be,
//! and what the lesson then waits for or compares in vain.

use crate::mistakes::{Change, assert_accepted, assert_refused};

const BANK: &str = include_str!("mistakes/more/bank.yaml");
const BARRIER: &str = include_str!("mistakes/more/barrier.yaml");
const CARTS: &str = include_str!("mistakes/more/carts.yaml");
const CONF: &str = include_str!("mistakes/more/conf.yaml");
const ELECT: &str = include_str!("mistakes/more/elect.yaml");
const GUARDRAIL: &str = include_str!("mistakes/more/guardrail.yaml");
const LIMITER: &str = include_str!("mistakes/more/limiter.yaml");
const MAIL: &str = include_str!("mistakes/more/mail.yaml");
const POOL: &str = include_str!("mistakes/more/pool.yaml");
const PROMOTE: &str = include_str!("mistakes/more/promote.yaml");
const FAILOVER: &str = include_str!("../../lessons/failover.yaml");
const FILE_LOCK: &str = include_str!("../../lessons/file-lock.yaml");
const MULTI_LOCK: &str = include_str!("../../lessons/multi-lock.yaml");
const PROGRAM: &str = include_str!("mistakes/whole/program.yaml");
const REDISSON_LOCK: &str = include_str!("../../lessons/redisson-lock.yaml");
const REG: &str = include_str!("mistakes/more/reg.yaml");
const TRANSFER: &str = include_str!("mistakes/more/transfer.yaml");
const TURNS: &str = include_str!("mistakes/more/turns.yaml");

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
    (CARTS, &[
        ("args: [\"${token}\"]", "args: [\"${lease}\"]", "- pay:", "compares this with the value of a key, and `${lease}` is a duration", "和键的值比较，而 `${lease}` 是时长"),
        ("A.pay == 0 and B.lock is none", "A.pay == none and B.lock is none", "- A.pay == none and B.lock is none", "always answers a number:", "总是返回数字："),
        ("value('{u1}:cart').list|length == 2", "value('{u1}:cart').list == 2", "- value('{u1}:cart').list == 2", "is a list, and never 2", "是列表，不会是 2"),
    ]),
    (CONF, &[
        ("A.set.version == 1", "A.set.version == 0", "- A.set.version == 0", "is the version after the change, 1 or more: a new znode has ", "是修改之后的版本，至少是 1：刚创建的 znode 才是 0"),
    ]),
    (ELECT, &[
        ("- holds: leader", "- holds: leder", "- holds: leder", "nothing else in this lesson names the lock `leder`", "别处都没有提到锁 `leder`"),
        ("exists -w /el/${ahead}", "exists -w ${ahead}", "- watch:", "`ahead` is a znode's name, and a path belongs here", "`ahead` 是 znode 的名字，这里要写路径"),
        ("exists -w /el/${ahead}", "exists -w /el/${mine}", "from: \"/el/${ahead}\"", "the watch is on `/el/${mine}`", "watch 设在 `/el/${mine}` 上"),
        ("take: { from: \"/el/${ahead}\"", "take: { from: \"${ahead}\"", "from: \"${ahead}\"", "write `/el/${ahead}`", "请写 `/el/${ahead}`"),
        ("while: ahead is not none", "while: ahead != ''", "while: ahead", "is never empty", "不会是空文字"),
        ("let: { ahead: again|before(mine) }", "let: { ahead: list|before(mine) }", "        - let: { ahead: list", "nothing in this repetition changes `list`, `mine`", "循环里没有什么会改变 `list`, `mine`"),
        ("zk: \"delete ${enter}\" }", "zk: \"delete ${mine}\" }", "- leave:", "`mine` is a znode's name, and a path belongs here", "`mine` 是 znode 的名字，这里要写路径"),
        ("  - zk: create /epoch 0\n", "  - zk: create -s /epoch 0\n", "- epoch: { zk: get /epoch }", "`/epoch` is never there", "不会有 `/epoch`"),
        ("list|before(mine)", "list|before('mine')", "- let: { ahead: list|before('mine') }", "'mine' in quotes is no sequential znode", "加了引号的 'mine' 不是顺序节点的名字"),
        ("while: ahead is not none", "while: ahead is none", "- watch: { zk: \"exists -w /el/${ahead}\" }", "here, as the condition says", "按外层的条件，这里的"),
        ("children('/el') == []", "children('/el') is none", "- children('/el') is none", "is a list, and never", "是列表，不会是"),
        ("set /epoch ${epoch|int + 1} ${stat.version}", "set /epoch ${stat.version} ${epoch|int + 1}", "- bump: { zk: \"set /epoch ${stat.version} ${epoch|int + 1}\", allow: [BadVersion] }", "the version stands here as the data", "这里把版本号写在了数据的位置"),
        ("owner('/el/c-0000000000') is none, within: 20s", "owner('/el/c-0') is none, within: 20s", "- await: { that: owner('/el/c-0') is none, within: 20s }", "is no znode: the server appends ten digits to a sequential o", "这个 znode：服务器给顺序节点加上的是十位序号"),
    ]),
    (GUARDRAIL, &[
        ("by_suffix|first == enter|replace('/lock/', '')", "by_suffix|first == enter", "- list:", "`enter` a whole path: they are never equal", "`enter` 是完整路径：两者永远不相等"),
        ("AND fence < ${stat.czxid}", "AND fence < ${stat}", "- save: { sql: \"UPDATE doc SET body = '${self}', fence = ${stat.czxid} WHERE id = 7 AND fence < ${stat}\" }", "is an object with czxid, mzxid, pzxid, ctime, mtime, version", "是一个对象，字段有 czxid, mzxid, pzxid, ctime, mtime, version, cversi"),
    ]),
    (LIMITER, &[
        ("args: [\"${window}\", \"${limit}\"]", "args: [\"${limit}\", \"${window}\"]", "- try:", "makes this a time to live, of 2 ms", "当作过期时间，只有 2 毫秒"),
        ("if: ask == 1\n", "if: ask == 0\n", "if: ask == 0", "is what `INCR` answers", "是 `INCR` 的回复"),
        ("moves('C.try') >= 3", "moves('C.try') == 0", "- moves('C.try')", "is 1 at least: the story makes that move", "至少是 1：剧情里做了这一步"),
        ("redis.call('PEXPIRE', KEYS[1], ARGV[1])", "redis.call('PEXPIRE', KEYS[1], ARGV[2])", "- try: { script: admit, keys: [calls], args: [\"${window}\", \"${limit}\"] }", "read it in the script, or leave it out of", "提示：请在脚本里读取它，或者从"),
        ("keys: [calls], args", "keys: [\"calls, stats\"], args", "- try: { script: admit, keys: [\"calls, stats\"], args: [\"${window}\", \"${limit}\"] }", "several are a list:", "提示：多个键要写成列表："),
        ("done: try == 1 }", "finished: try == 1 }", "while: not done and tries < 8", "nothing in this repetition sets", "提示：请在循环里给它赋值："),
        ("      while: not done and tries < 8\n", "      while: done and tries < 8\n", "while: done and tries < 8", "this is false before the first round: its steps are never ma", "第一轮之前条件就不成立：这些步骤一次也不会执行"),
        ("replies('C.try')[0] == 0", "replies('C.try')[0] == 2", "- replies('C.try')[0] == 2", "is answered 0 or 1 or nothing: comparing it ", "的回复只会是 0 或 1 或空，和 2 比较的结果永远一样"),
        ("let: { tries: 0, done: false }", "let: { tries: 0, done: 'no' }", "- let: { tries: 0, done: 'no' }", "unknown name", "提示：是不是"),
    ]),
    (MAIL, &[
        ("XADD jobs * to ann", "XADD job * to ann", "- first:", "nothing else in this lesson names the key `job`", "别处都没有用到键 `job`"),
        ("read[0][1][0][0]", "read[0][0]", "read[0][0]", "`read[0][0]` is the name of the stream", "`read[0][0]` 是 stream 的名字"),
        ("claim[1]|length > 0", "claim|length > 0", "- if: claim", "`claim` always has 3 items", "`claim` 总有 3 项"),
        ("value('jobs').stream[0][1].to == 'ann'", "value('jobs').stream[2][1].to == 'ann'", "stream[2]", "has 2 messages at most", "最多有 2 条消息"),
        ("STREAMS jobs >\"", "STREAMS jobs 0\"", "- read: { redis: \"XREADGROUP GROUP crew ${self} COUNT 1 STREAMS jobs 0\" }", "this reads what the client has taken before, and nobody ever", "这里读的是客户端已经取过的消息，而没有谁取过新消息"),
        ("GROUP crew ${self} COUNT", "GROUP ${self} crew COUNT", "- read: { redis: \"XREADGROUP GROUP ${self} crew COUNT 1 STREAMS jobs >\" }", "the name of the client stands here as the group", "这里把客户端的名字写成了消费组"),
        ("if: read is not none\n", "if: read is none\n", "- let: { id: \"read[0][1][0][0]\" }", "here, as the condition says", "按外层的条件，这里的"),
        ("drops: \"job ${id}\"", "drops: \"job${id}\"", "- drops: \"job${id}\"", "one lock has one name in both places", "提示：同一把锁两处要用同一个名字"),
    ]),
    (POOL, &[
        ("HINCRBY conn used 1 }", "HINCRBY conn use 1 }", "- used: { redis: HINCRBY conn use 1 }", "nothing else in this lesson names the field", "在本课里再没出现过：没有谁会读它"),
        ("until: take is not none, every: \"${poll}\"", "until: take is none, every: \"${poll}\"", "- mark: { redis: \"SET conn:${take} ${self} PX ${lease}\" }", "here: it was tried until there was no answer", "要等到没有回复才往下走"),
        ("en: \"T pool\"", "en: \"T ${size}\"", "title: { en: \"T ${size}\", zh: \"题 pool\" }", "nothing is inserted into this text: learners read", "这段文字里不会填入任何值：学员看到的就是"),
        ("a: { en: A semaphore., zh: 信号量。 }", "a: { en: \"A semaphore of ${size}.\", zh: 信号量。 }", "a: { en: \"A semaphore of ${size}.\", zh: 信号量。 }", "nothing is inserted into this text: learners read", "这段文字里不会填入任何值：学员看到的就是"),
    ]),
    (PROMOTE, &[
        ("with: { key: lock }", "with: { key: \"${lease}\" }", "with: { key", "is a duration, and here belongs a name", "是时长，这里要写名字"),
        ("every: 5s", "every: \"${self}\"", "every: \"${self}\"", "`${self}` is no duration", "`${self}` 不是时长"),
        ("on: primary, until: acquire == 'OK'", "on: primary, until: acquire != 'OK'", "- acquire: { redis: \"SET lock ${token} NX PX ${lease}\", on: primary, until: acquire != 'OK', every: 5s }", "it goes on only when it was refused: as soon as it is grante", "被拒绝时才会往下走；一拿到就又去重试"),
        ("role('node2') == 'master' or role('node3') == 'master', within: 60s }\n  - move: B", "role('node2') == 'master' or 'node3' == 'master', within: 60s }\n  - move: B", "- await: { that: role('node2') == 'master' or 'node3' == 'master', within: 60s }", "on one side stands what is observed, such as", "'node3' 和 'master' 都是固定的值"),
    ]),
    (LIMITER, &[
        ("then: [wait: \"${pause}\"]", "then: [wait: \"${done}\"]", "wait: \"${done}\"", "`done` is `true` or `false`, and no duration", "`done` 是 `true` 或 `false`，不是时长"),
    ]),
    (REDISSON_LOCK, &[
        ("keys: [lock, \"redisson_lock__channel:{lock}\"], args", "keys: [\"redisson_lock__channel:{lock}\", lock], args", "channel:{lock}\", lock], args", "and nobody subscribes to that", "而没有谁订阅它"),
    ]),
    (MULTI_LOCK, &[
        ("until: reply is none", "until: reply is not none", "until: reply is not none", "answers nothing when it grants the lock", "加锁成功时回复为空"),
    ]),
    (FAILOVER, &[
        ("keys: [lock], args: [\"${token}\"]", "keys: [lock], args: [\"${lease}\"]", "args: [\"${lease}\"]", "compares this with the value of a key, and `${lease}` is a duration", "和键的值比较，而 `${lease}` 是时长"),
    ]),
    (FILE_LOCK, &[
        ("waited('B') >= work and moves('B.lock') == 1", "waited('B') >= work and moves('B.lock') == 0", "moves('B.lock') == 0", "is 1 at least: the story makes that move", "至少是 1：剧情里做了这一步"),
    ]),
    (PROGRAM, &[
        ("- value('lock') is none", "- P.DEL > 0\n      - P.DEL == '1'", "- P.DEL == '1'", "another claim compares `P.DEL` with a number", "另一个断言把 `P.DEL` 和数字比较"),
    ]),
    (REG, &[
        ("      while: alive\n", "      while: alive == 'yes'\n", "while: alive == 'yes'", ", and never 'yes'", "，不会是 'yes'"),
    ]),
    (TRANSFER, &[
        ("with: { from: bob, to: ann }", "with: { from: bob, to: anne }", "- give:", "no statement inserts the row `acc/anne`", "没有语句插入过行 `acc/anne`"),
        ("value('acc/bob').cents == 130", "value('acc/bob').cents == 1.3", "cents == 1.3", "is a whole number, and never 1.3", "是整数，不会是 1.3"),
        ("AND version = ${read[0].version}", "AND version = ${read[0]}", "- fix: { sql: \"UPDATE acc SET cents = 0, version = version + 1 WHERE name = 'ann' AND version = ${read[0]}\" }", "is a whole row", "提示：请写列名："),
        ("V.read[0].version == 0", "V.read[0].version is none", "- V.read[0].version is none", "where there is no row:", "是 NOT NULL："),
        ("cents != 200 and", "cents == 200 and", "- never: value('acc/ann').cents + value('acc/bob').cents == 200 and moves('V.fix') == 0", "is so from the beginning, before anything has happened", "提示：不变式写的是绝不能出现的情况，例如"),
    ]),
    (TURNS, &[
        ("grant ${ttl} ${id}", "grant ${id} ${ttl}", "- grant:", "`grant` takes the seconds first", "`grant` 先写秒数"),
        ("keepalive ${id}", "keepalive ${ttl}", "- beat:", "no request grants the lease `8`", "没有请求申请过租约 `8`"),
        ("create turn/${self} waiting ${id}", "create turn/${self} ${id}", "- enter:", "stands here as the value", "在这里写在了值的位置上"),
        ("if: state is none", "if: state == none.value", "- if: state", "`none` is a value without fields", "`none` 没有字段"),
        ("put board ${self}", "put boards ${self}", "then: [open: { etcd: \"put boards ${self}\" }]", "nothing else in this lesson names the key", "在本课里再没出现过：没有谁会读它"),
        ("with: { id: 12, ttl: 20 }", "with: { id: 12, ttl: 20s }", "- grant: { etcd: \"grant ${ttl} ${id}\" }", "is 20000: a duration counts in milliseconds", "是 20000：时长参数以毫秒计"),
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
    (LIMITER, &[("tries: 0, done: false", "tries: 0, most: 8, done: false"), ("tries < 8", "tries < most"), ("At most ${limit} calls", "At most ${limit} calls (key `{limit}:calls`)")]),
    (MAIL, &[("if: read is not none\n      then:", "if: read is none\n      then: [none_read: { wait: 1s }]\n      else:")]),
    (ELECT, &[("- let: { ahead: again|before(mine) }", "- let: { list: again, ahead: list|before(mine) }")]),
    (ELECT, &[("- watch: {", "- let: { it: ahead }\n        - watch: {"), ("from: \"/el/${ahead}\"", "from: \"/el/${it}\"")]),
    (ELECT, &[("children('/el') == []", "children('/el') in [[], none]")]),
    (TURNS, &[("waited('B') >= 5000", "waited('B') >= 5000 and A.enter.create_revision > 0")]),
    (LIMITER, &[("redis: HSET stats admitted 0 refused 0", "redis: SET calls -1"), ("if: ask == 1\n", "if: ask == 0\n"), ("- value('stats').hash.admitted == '2'", "- B.left > 0")]),
    (MAIL, &[("second: { redis: \"XADD jobs * to bob\" }", "second: { redis: \"XADD jobs * to bob\" }\n    - third: { redis: \"XADD jobs * to ann\" }"), ("value('jobs').stream[0][1].to == 'ann'", "value('jobs').stream[2][1].to == 'ann'")]),
    (CARTS, &[("A.pay == 0 and", "A.pay in [0, none] and")]),
];

#[test]
fn mistakes_of_a_hurried_author_are_told_where_they_are_and_what_would_be_right() {
    assert_refused(MISTAKES);
}

#[test]
fn unusual_lessons_are_let_through() {
    assert_accepted(NO_MISTAKES);
}
