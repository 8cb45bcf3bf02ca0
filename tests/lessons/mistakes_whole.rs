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
const COUPON: &str = include_str!("mistakes/whole/coupon.yaml");
const TURNSTILE: &str = include_str!("mistakes/whole/turnstile.yaml");
const SEATS: &str = include_str!("mistakes/whole/seats.yaml");
const CAPTAIN: &str = include_str!("mistakes/whole/captain.yaml");
const SKEWED: &str = include_str!("mistakes/whole/skewed.yaml");
const SHIPMENT: &str = include_str!("mistakes/whole/shipment.yaml");

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
    (COUPON, &[
        ("settings: { appendonly: everysec }", "settings: { appendonly: everysecond }", "settings: { appendonly: everysecond }", "did you mean `everysec`?", "是不是 `everysec`？"),
        ("settings: { appendonly: everysec }", "settings: { appendfsync: everysec }", "settings: { appendfsync: everysec }", "did you mean", "？这里有"),
        ("  - redis: SET coupons ${coupons}", "  - redis: SET coupons ${coupon}", "- redis: SET coupons ${coupon}", "did you mean `coupons`?", "是不是 `coupons`？"),
        ("  given: { title: { en: coupons given, zh: 已发券 } }", "  giving: { title: { en: coupons given, zh: 已发券 } }", "giving: { title: { en: coupons given, zh: 已发券 } }", "did you mean `given`?", "是不是 `given`？"),
        ("  given: { title: { en: coupons given, zh: 已发券 } }", "  given: coupons given", "given: coupons given", "`given` takes fields below it, and here is `coupons given`", "`given` 应是一组字段，这里是 `coupons given`"),
        ("  given: { title: { en: coupons given, zh: 已发券 } }", "  given: { en: coupons given, zh: 已发券 }", "given: { en: coupons given, zh: 已发券 }", "there are `title`", "这里有 `title`"),
        ("if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then", "if redis.call('SISMEMBER', KEYS[2], ARGV[1]) = 1 then", "if redis.call('SISMEMBER', KEYS[2], ARGV[1]) = 1 then", "this command always answers a number, and 0 counts as true in Lua: compare it, such as", "这条命令总是返回数字，而 0 在 Lua 里也算真：请写出比较，例如"),
        ("redis.call('SADD', KEYS[2], ARGV[1])", "redis.call('SADD', KEYS[3], ARGV[1])", "- take: { script: give, keys: [coupons, owners], args: [alice] }", "; what is no key stands in", "；不是键的写在"),
        ("    - look: { redis: SISMEMBER owners alice }", "    - look: { redis: SISMEMBER owners }", "- look: { redis: SISMEMBER owners }", "write `SISMEMBER key member`", "请写 `SISMEMBER key member`"),
        ("    - if: look == 0\n", "    - if: look = 0\n", "- if: look = 0", "is not an expression: unexpected", "`look = 0` 不是表达式：意外的 `=`：比较要写 `==`"),
        ("    - if: look == 0\n", "    - if: looked == 0\n", "- if: looked == 0", "did you mean `look`?", "是不是 `look`？"),
        ("        - count: given\n    - work: 4s", "        - count: given + 1\n    - work: 4s", "- count: given + 1", ", so that expressions can ask for it:", "以字母开头，后面是字母、数字和 `_`，这样表达式才能引用它，例如 `sold`"),
        ("    - work: 4s\n    - use: release", "    - work: 4\n    - use: release", "- work: 4", "`4` without a unit is 4 ms; write 4s or 4ms", "`4` 没有单位，就是 4 毫秒；请写 4s 或 4ms"),
        ("    - use: release_if_owner\n      with: { key: customer }", "    - use: release_if_owner", "- use: release_if_owner", "with: { key: … }", "with: { key: … }"),
        ("    - use: release_if_owner\n      with: { key: customer }", "    - use: release_if_owner\n    with: { key: customer }", "with: { key: customer }", "of one list; a text that goes on behind a closing quote needs quotes around the whole", "也从同一列开始；引号关上之后还有内容的文字，要整个加引号"),
        ("      with: { key: customer }", "      with: { lock: customer }", "with: { lock: customer }", "known here: key", "这里可用的有：key"),
        ("  - never: given > 1\n", "  - never: given > 5\n", "- never: given > 5", "such as `given == 2`", "例如 `given == 2`"),
        ("  - freeze: A\n  - pass: ${lease}\n  - move: [B.acquire, B.look", "  - freeze: A\n  - pass: lease\n  - move: [B.acquire, B.look", "- pass: lease", "is not a duration: write it like 3s, 200ms, 1.5s or 1m 30s", "不是时长：请写成 3s、200ms、1.5s 或 1m 30s 这样"),
        ("  - freeze: A\n  - pass: ${lease}\n  - move: [B.acquire, B.look", "  - freeze: A\n  - pass: ${lease}\n  - move: [A.take, B.acquire, B.look", "- move: [A.take, B.acquire, B.look, B.take, B.mark]", "write `- thaw: A` before it, or move another client", "请先写 `- thaw: A`，或者换一个客户端"),
        ("    expect: prevented\n    fixes: look-first", "    expect: prevented\n    fixes: look_first", "fixes: look_first", "did you mean `look-first`?", "是不是 `look-first`？"),
        ("explore: { expect: none, moves: 8, faults: [freeze] }", "explore: { expect: none, moves: 8, faults: freeze }", "explore: { expect: none, moves: 8, faults: freeze }", "such as `faults: [crash]`", "例如 `faults: [crash]`"),
        ("explore: { expect: none, moves: 8, faults: [freeze] }", "explore: { expect: dead-lock, moves: 8 }", "explore: { expect: dead-lock, moves: 8 }", "did you mean `deadlock`?", "是不是 `deadlock`？"),
        ("    shown: { variant: look-first, at: A.take }", "    shown: { variant: look-first, at: A.taken }", "shown: { variant: look-first, at: A.taken }", "name a move as it stands there, or leave", "请照剧情里的写法，或者省略 `at` 表示结尾"),
        ("keys: [coupons, owners], args: [alice] }", "keys: [coupons], args: [alice] }", "- take: { script: give, keys: [coupons], args: [alice] }", "; what is no key stands in", "；不是键的写在"),
        ("      - value('coupons')|int == 0\n", "      - value('coupon')|int == 0\n", "- value('coupon')|int == 0", "did you mean `coupons`?", "是不是 `coupons`？"),
        ("summary: { en: A coupon is given out twice., zh: 一张券发了两次。 }", "summary: { en: A coupon, given out twice., zh: 一张券发了两次。 }", "summary: { en: A coupon, given out twice., zh: 一张券发了两次。 }", "a text with a comma needs quotes: { en: \"One, two\", zh: … }", "含有逗号的文字要加引号：{ en: \"One, two\", zh: … }"),
    ]),
    (TURNSTILE, &[
        ("lab: zookeeper\n", "lab: zookeper\n", "lab: zookeper", "did you mean `zookeeper`?", "是不是 `zookeeper`？"),
        ("settings: { session_timeout: 6s }", "settings: { session_timeout: 6 }", "settings: { session_timeout: 6 }", "give from 1s to 60s", "请写 1s 到 60s 之间的时间"),
        ("settings: { session_timeout: 6s }", "settings: { session_timeout: 6s, isolation: serializable }", "settings: { session_timeout: 6s, isolation: serializable }", "leave it out, or choose another `lab`", "请去掉它，或者换一个 `lab`"),
        ("metrics: [zk_packets_sent]", "metrics: zk_packets_sent", "metrics: zk_packets_sent", "such as `metrics: [node_changed_count]`", "例如 `metrics: [node_changed_count]`"),
        ("  - zk: create /gate\n", "  - zk: create gate\n", "- zk: create gate", "write `create [-e] [-s] [-c] [-t TTL] PATH [DATA]`", "请写"),
        ("  - zk: create /gate\n  - zk: create /gate/open yes", "  - zk: create /gate/open yes\n  - zk: create /gate", "- zk: create /gate/open yes", "write `- zk: create /gate` before it", "请在前面写 `- zk: create /gate`"),
        ("create -e -s /gate/visitor- ${self}", "create -es /gate/visitor- ${self}", "- enter: { zk: \"create -es /gate/visitor- ${self}\" }", "write `create [-e] [-s] [-c] [-t TTL] PATH [DATA]`", "请写"),
        ("create -e -s /gate/visitor- ${self}", "create -e -s /gates/visitor- ${self}", "- enter: { zk: \"create -e -s /gates/visitor- ${self}\" }", "did you mean `/gate`?", "是不是 `/gate`？"),
        ("    - list: { zk: ls /gate, until", "    - list: { zk: getChildren /gate, until", "- list: { zk: getChildren /gate, until: \"list|length >= 1\" }", "did you mean `ls`?", "是不是 `ls`？"),
        ("    - list: { zk: ls /gate, until", "    - list: { redis: ls /gate, until", "- list: { redis: ls /gate, until: \"list|length >= 1\" }", ", or give a variant with a lab of its own programs and a", "；有自己 lab 的方案，要有自己的程序和"),
        ("|before(enter|replace('/gate/', ''))", "|previous(enter|replace('/gate/', ''))", "- let: { ahead: \"list|reject('eq', 'open')|list|previous(enter|replace('/gate/', ''))\" }", "is not an expression: there is no filter", "不是表达式：没有名为"),
        ("exists -w /gate/${ahead}", "exists /gate/${ahead}", "then: [gone: { take: { from: \"/gate/${ahead}\", within: 30s } }]", "leave one with `-w`: `exists -w /gate/${ahead}`", "设 watch："),
        ("take: { from: \"/gate/${ahead}\", within: 30s }", "take: { path: \"/gate/${ahead}\", within: 30s }", "then: [gone: { take: { path: \"/gate/${ahead}\", within: 30s } }]", "there are `from`, `within`", "这里有 `from`, `within`"),
        ("take: { from: \"/gate/${ahead}\", within: 30s }", "take: { from: \"/gate/${ahead}\", within: 30 }", "then: [gone: { take: { from: \"/gate/${ahead}\", within: 30 } }]", "`30` without a unit is 30 ms; write 30s or 30ms", "`30` 没有单位，就是 30 毫秒；请写 30s 或 30ms"),
        ("    - leave: { zk: \"delete ${enter}\", allow: [NoNode] }", "    - leave: { zk: \"delete ${enter}\", allow: NoNode }", "- leave: { zk: \"delete ${enter}\", allow: NoNode }", "such as `allow: [NodeExists]`", "例如 `allow: [NodeExists]`"),
        ("    - leave: { zk: \"delete ${enter}\", allow: [NoNode] }", "    - leave: { zk: \"delete ${enter}\", allow: [NONODE] }", "- leave: { zk: \"delete ${enter}\", allow: [NONODE] }", "did you mean `NoNode`?", "是不是 `NoNode`？"),
        ("    - holds: gate\n    - work: 1s", "    - hold: gate\n    - work: 1s", "- hold: gate", "did you mean `holds`?", "是不是 `holds`？"),
        ("  - each: W.look\n  - move: [A.enter", "  - move: W.look all\n  - move: [A.enter", "- move: W.look all", "did you mean `look`?", "是不是 `look`？"),
        ("  - crash: A\n", "  - crash: zookeeper\n", "- crash: zookeeper", "are for servers,", "是服务器：服务器用"),
        ("      - that: B.gone.what == 'NodeDeleted'", "      - that: B.gone.what == 'Deleted'", "- that: B.gone.what == 'Deleted'", "ZooKeeper tells NodeCreated, NodeDeleted, NodeDataChanged, NodeChildrenChanged, Suspended, Reconnected, Expired", "ZooKeeper 的通知有 NodeCreated, NodeDeleted, NodeDataChanged, NodeChildrenChanged, Suspended, Reconnected, Expired"),
        ("  W: { runs: guard, crowd: 3 }\nprograms", "  W: { runs: guard, crowd: three }\nprograms", "W: { runs: guard, crowd: three }", "write a whole number, such as 2", "请写整数，例如 2"),
        ("      - warned == 3", "      - warned == 4", "- warned == 4", "such as `warned == 3`", "例如 `warned == 3`"),
        ("      - herd() == 3", "      - herd == 3", "- herd == 3", "write `herd()`", "请写 `herd()`"),
    ]),
    (SEATS, &[
        ("lab: mariadb", "lab: mysql", "lab: mysql", "did you mean `mariadb`?", "是不是 `mariadb`？"),
        ("isolation: read-committed", "isolation: READ COMMITTED", "settings: { isolation: READ COMMITTED, lock_wait_timeout: 5s }", "did you mean `read-committed`?", "是不是 `read-committed`？"),
        ("lock_wait_timeout: 5s", "lock_wait_timeout: 500ms", "settings: { isolation: read-committed, lock_wait_timeout: 500ms }", "`500ms`: write whole seconds, such as 3s", "`500ms`：请写整秒数，例如 3s"),
        ("INSERT INTO seat VALUES (7, 0, NULL)", "INSERT INTO seat VALUES (7, 0)", "- sql: INSERT INTO seat VALUES (7, 0)", "give a value for each column", "每一列都要给一个值"),
        ("INSERT INTO seat VALUES (7, 0, NULL)", "INSERT INTO seats VALUES (7, 0, NULL)", "- sql: INSERT INTO seats VALUES (7, 0, NULL)", "did you mean `seat`?", "是不是 `seat`？"),
        ("  - sql: CREATE TABLE seat (id INT PRIMARY KEY, taken INT NOT NULL, traveller VARCHAR(20))\n", "", "- sql: INSERT INTO seat VALUES (7, 0, NULL)", "create it in the setup: `- sql: CREATE TABLE seat (…)`", "请在 setup 中创建："),
        ("    - look: { sql: SELECT taken FROM seat WHERE id = 7 }\n    - if: look[0].taken == 0\n      then:\n        - seize: { sql: \"UPDATE seat SET taken = 1, traveller = '${self}' WHERE id = 7\" }\n        - count: booked\n    - commit", "    - look: { sql: SELECT taken FROM seat WHERE id = 7 }\n    - if: look.taken == 0\n      then:\n        - seize: { sql: \"UPDATE seat SET taken = 1, traveller = '${self}' WHERE id = 7\" }\n        - count: booked\n    - commit", "- if: look.taken == 0", "ask for one of its items: `look[0].taken`", "请取其中一项：`look[0].taken`"),
        ("    - if: look[0].taken == 0\n      then:\n        - seize: { sql: \"UPDATE seat SET taken = 1, traveller = '${self}'", "    - if: look[0].taken == 0\n      then:\n        - seize: { sql: \"UPDATE seat SET taken = 1, traveller = ${self}", "- seize: { sql: \"UPDATE seat SET taken = 1, traveller = ${self} WHERE id = 7\" }", "write `'${self}'`", "请写 `'${self}'`"),
        ("    - commit: { sql: COMMIT }\n", "", "- move: [A.seize, A.commit]", "known here: begin, look, seize", "这里可用的有：begin, look, seize"),
        ("    - if: look[0].taken == 0\n      then:\n        - seize: { sql: \"UPDATE seat SET", "    - if: look[0].token == 0\n      then:\n        - seize: { sql: \"UPDATE seat SET", "- if: look[0].token == 0", "did you mean `taken`?", "是不是 `taken`？"),
        ("      book.look: { sql: SELECT taken FROM seat WHERE id = 7 FOR UPDATE }", "      book.look: { sql: SELECT taken FROM seat WHERE id = 7 FOR UPDATES }", "book.look: { sql: SELECT taken FROM seat WHERE id = 7 FOR UPDATES }", "did you mean", "是不是"),
        ("      - send: B.look\n", "      - move: B.look\n", "- move: B.look", "`- send: B.look` lets others go on before it is answered", "写成 `- send: B.look`，它收到回复之前别人可以继续"),
        ("SELECT GET_LOCK('seat7', ${patience}) AS got", "SELECT GET_LOCK('seat7', ${patience}s) AS got", "- take: { sql: \"SELECT GET_LOCK('seat7', ${patience}s) AS got\" }", "write `${patience}`", "请写 `${patience}`"),
        ("params: { patience: 10 }", "params: { patience: 10s }", "- take: { sql: \"SELECT GET_LOCK('seat7', ${patience}) AS got\" }", "write `${patience // 1000}`", "请写 `${patience // 1000}`"),
        ("RELEASE_LOCK('seat7') AS freed", "RELEASE_LOCK('seat-7') AS freed", "- free: { sql: \"SELECT RELEASE_LOCK('seat-7') AS freed\" }", "did you mean `seat7`?", "是不是 `seat7`？"),
        ("      - value('seat/7').traveller == 'B'", "      - value('seat', 7).traveller == 'B'", "- value('seat', 7).traveller == 'B'", "name the table and the key: `value('seat/1')`", "请写表名和主键：`value('seat/1')`"),
        ("      - value('seat/7').traveller == 'B'", "      - value('seat/7').traveler == 'B'", "- value('seat/7').traveler == 'B'", "did you mean `traveller`?", "是不是 `traveller`？"),
        ("      - value('seat/7').traveller == 'B'", "      - value('seat/8').traveller == 'B'", "- value('seat/8').traveller == 'B'", "rows that are inserted: `seat/7`", "插入过的行：`seat/7`"),
        ("      - B.look[0].taken == 1", "      - B.look[0].taken == '1'", "- B.look[0].taken == '1'", "without quotes: `B.look[0].taken == 1`", "去掉引号：`B.look[0].taken == 1`"),
        ("      - B.take[0].got == 1", "      - owner('GET_LOCK/seat8') is none", "- owner('GET_LOCK/seat8') is none", "did you mean `GET_LOCK/seat7`?", "是不是 `GET_LOCK/seat7`？"),
        ("      - exclusive: seat\n", "      - exclusive: seats\n", "- exclusive: seats", "did you mean `seat`?", "是不是 `seat`？"),
        ("  for-update:\n", "  for_update:\n", "for_update:", "use lower-case letters, digits and hyphens", "请用小写字母、数字和连字符"),
    ]),
    (CAPTAIN, &[
        ("params: { ttl: 5, lease: 0 }", "params: { ttl: 5s, lease: 0 }", "- grant: { etcd: \"grant ${ttl} ${lease}\" }", "write `${ttl // 1000}`", "请写 `${ttl // 1000}`"),
        ("params: { ttl: 5, lease: 0 }", "params: { ttl: 1, lease: 0 }", "- grant: { etcd: \"grant ${ttl} ${lease}\" }", "write `grant 5`", "请写 `grant 5`"),
        ("  - etcd: put course north", "  - etcd: set course north", "- etcd: set course north", "did you mean `put`?", "是不是 `put`？"),
        ("  B: { runs: sail, with: { lease: 22 } }", "  B: { runs: sail, with: { lease: 21 } }", "- grant: { etcd: \"grant ${ttl} ${lease}\" }", "give each client a number of its own:", "给每个客户端不同的编号："),
        ("  B: { runs: sail, with: { lease: 22 } }", "  B: { runs: sail, with: { leas: 22 } }", "B: { runs: sail, with: { leas: 22 } }", "did you mean `lease`?", "是不是 `lease`？"),
        ("\"grant ${ttl} ${lease}\"", "\"grant ${lease} ${ttl}\"", "- grant: { etcd: \"grant ${lease} ${ttl}\" }", "give each client a number of its own:", "给每个客户端不同的编号："),
        ("    - stand: { etcd: \"create captain ${self} ${lease}\", allow: [KeyExists] }", "    - stand: { etcd: \"create captain ${self} ${lease}\" }", "- if: error == 'KeyExists'", "write `allow: [KeyExists]` in `stand`", "请在 `stand` 里写 `allow: [KeyExists]`"),
        ("    - if: error == 'KeyExists'", "    - if: error == KeyExists", "- if: error == KeyExists", "known here: client, error, grant, index, lease, now, reply, self, stand, token, ttl; a text stands in quotes: 'KeyExists'", "这里可用的有：client, error, grant, index, lease, now, reply, self, stand, token, ttl；文字要写在引号里：'KeyExists'"),
        ("        - who: { etcd: get captain }", "        - who: { etcd: get captain ${lease} }", "- who: { etcd: get captain ${lease} }", "such as { redis: \"SET lock ${token} NX\" }", "例如 { redis: \"SET lock ${token} NX\" }"),
        ("watch captain ${who.mod_revision}", "watch captain ${who.revision}", "then: [gone: { etcd: \"watch captain ${who.revision}\" }]", "it has key, value, create_revision, mod_revision, lease", "它有 key, value, create_revision, mod_revision, lease"),
        ("watch captain ${who.mod_revision}", "watch captain", "then: [gone: { etcd: \"watch captain\" }]", "write `watch KEY REVISION`", "请写 `watch KEY REVISION`"),
        ("    - leave: { etcd: \"revoke ${lease}\", allow: [LeaseNotFound] }", "    - leave: { etcd: \"revoke ${lease}s\", allow: [LeaseNotFound] }", "- leave: { etcd: \"revoke ${lease}s\", allow: [LeaseNotFound] }", "give it a whole number, such as 5", "请给一个整数，例如 5"),
        ("  - await: { that: B.gone is defined, within: 10s }", "  - await: B.gone is defined", "- await: B.gone is defined", "such as `await: { that: sold == 1, within: 30s }`", "例如"),
        ("  - await: { that: B.gone is defined, within: 10s }", "  - await: { that: B.gone is defined }", "- await: { that: B.gone is defined }", "such as `within: 30s`", "例如 `within: 30s`"),
        ("  - freeze: A\n", "  - pause: A\n", "- pause: A", "a client or server stands still with", "让客户端或服务器停住请写"),
        ("  - pass: 3s\n", "  - sleep: 3s\n", "- sleep: 3s", "time passes with `- pass: 3s`", "让时间流逝请写 `- pass: 3s`"),
        ("      - that: value('course') == 'A'", "      - that: value(course) == 'A'", "- that: value(course) == 'A'", "known here: A, B, at, before, children, deleted_by_another, exists, finished, herd, holders, lease, metric_by, …; a text stands in quotes: 'course'", "这里可用的有：A, B, at, before, children, deleted_by_another, exists, finished, herd, holders, lease, metric_by, …；文字要写在引号里：'course'"),
        ("      - that: value('course') == 'A'", "      - that: value('course') = 'A'", "- that: value('course') = 'A'", "is not an expression: unexpected", "不是表达式：意外的"),
        ("title: { en: One captain, zh: 只有一个船长 }", "title: { en: One captain, cn: 只有一个船长 }", "title: { en: One captain, cn: 只有一个船长 }", "there are `en`, `zh`", "这里有 `en`, `zh`"),
        ("track: choosing", "track: etcd", "track: etcd", "known here: basics, redis, redisson, zookeeper, database, libraries, choosing", "这里可用的有：basics, redis, redisson, zookeeper, database, libraries, choosing"),
        ("      - overlap: bridge\n", "      - overlap: bride\n", "- overlap: bride", "did you mean `bridge`?", "是不是 `bridge`？"),
        ("lab: etcd\n", "lab: [etcd, etcd-cluster]\n", "lab: [etcd, etcd-cluster]", "a lab has one kind of etcd servers, and this has two: leave one out", "一个 lab 里 etcd 服务器只能有一种，这里有两种：请去掉一个"),
    ]),
    (SKEWED, &[
        ("lab: masters", "lab: master", "lab: master", "did you mean `masters`?", "是不是 `masters`？"),
        ("on: \"redis${i}\", allow: [Lost] }\n        - if", "on: \"redis${n}\", allow: [Lost] }\n        - if", "- vote: { redis: \"SET lock ${token} NX PX ${lease}\", on: \"redis${n}\", allow: [Lost] }", "known here: client, error, i, index, lease, now, reply, self, token, vote, votes; a text stands in quotes: 'n'", "这里可用的有：client, error, i, index, lease, now, reply, self, token, vote, votes；文字要写在引号里：'n'"),
        ("      times: 5\n      as: i\n    - if", "      times: 6\n      as: i\n    - if", "- vote: { redis: \"SET lock ${token} NX PX ${lease}\", on: \"redis${i}\", allow: [Lost] }", "known here: redis1, redis2, redis3, redis4, redis5", "这里可用的有：redis1, redis2, redis3, redis4, redis5"),
        ("      times: 5\n      as: i\n    - if", "      as: i\n    - if", "- repeat:", "`repeat` needs either `times` or `while`", "`repeat` 要么写 `times`，要么写 `while`"),
        ("      times: 5\n      as: i\n    - if", "      time: 5\n      as: i\n    - if", "time: 5", "there may be times, while, at_most, as", "旁边可以写 times, while, at_most, as"),
        ("    - let: { votes: 0 }\n", "", "then: [let: { votes: votes + 1 }]", "give it a first value before: `- let: { votes: 0 }`", "请先给它一个初值：`- let: { votes: 0 }`"),
        ("    - let: { votes: 0 }\n", "    - let: votes = 0\n", "- let: votes = 0", "such as `let: { began: now }`", "例如 `let: { began: now }`"),
        ("    - if: votes >= 3\n      then: [holds: lock]\n      else: [stop]", "    - if: votes >= 3\n      then: holds: lock\n      else: [stop]", "then: holds: lock", "in it in quotes; fields of one thing begin in one column", "含有 `: ` 的文字要加引号；同一级的字段要从同一列开始"),
        ("    - if: votes >= 3\n      then: [holds: lock]\n      else: [stop]", "    - if: votes => 3\n      then: [holds: lock]\n      else: [stop]", "- if: votes => 3", "is not an expression: unexpected", "`votes => 3` 不是表达式：意外的 `=>`：请写 `>=`"),
        ("    - if: votes >= 3\n      then: [holds: lock]\n      else: [stop]", "    - if: votes >= 3\n      then: [holds: lock]\n    - else: [stop]", "- else: [stop]", ", in the same step and without a", "之后，属于同一步，前面没有"),
        ("  - kill: redis1\n", "  - kill: redis0\n", "- kill: redis0", "known here: redis1, redis2, redis3, redis4, redis5", "这里可用的有：redis1, redis2, redis3, redis4, redis5"),
        ("  - kill: redis1\n", "  - crash: redis1\n", "- crash: redis1", "are for servers,", "是服务器：服务器用"),
        ("  - restart: redis1\n", "  - restart: redis2\n", "- restart: redis2", "write `- kill: redis2` somewhere before it", "请在它前面写 `- kill: redis2`"),
        ("      - exists('lock', 'redis3')", "      - exists('lock', 'redis')", "- exists('lock', 'redis')", "known here: redis1, redis2, redis3, redis4, redis5", "这里可用的有：redis1, redis2, redis3, redis4, redis5"),
        ("      - exists('lock', 'redis3')", "      - exists('redis3', 'lock')", "- exists('redis3', 'lock')", "known here: redis1, redis2, redis3, redis4, redis5", "这里可用的有：redis1, redis2, redis3, redis4, redis5"),
        ("      - moves('A.vote') == 5", "      - moves(A.vote) == 5", "- moves(A.vote) == 5", "write it in quotes: `'A.vote'`", "请加引号：`'A.vote'`"),
        ("      - moves('A.vote') == 5", "      - moves('A.votes') == 5", "- moves('A.votes') == 5", "did you mean `vote`?", "是不是 `vote`？"),
        ("      - skew: { redis1: 20s, redis2: 20s, redis3: 20s }", "      - skew: { redis1: 20, redis2: 20s, redis3: 20s }", "- skew: { redis1: 20, redis2: 20s, redis3: 20s }", "`20` without a unit is 20 ms; write 20s or 20ms", "`20` 没有单位，就是 20 毫秒；请写 20s 或 20ms"),
        ("      - skew: { redis1: 20s, redis2: 20s, redis3: 20s }", "      - skew: [redis1, redis2]", "- skew: [redis1, redis2]", "such as `skew: { redis: 30s }`", "例如 `skew: { redis: 30s }`"),
        ("    expect: shown\n", "    expect: show\n", "expect: show", "did you mean `shown`?", "是不是 `shown`？"),
        ("    expect: shown\n", "    expects: shown\n", "expects: shown", "did you mean", "？这里有"),
        ("    lesson: { en: Leases end early there., zh: 那里的租约提前到期。 }\n", "", "title: { en: A clock runs ahead, zh: 一台时钟快了 }", "such as `lesson: { en: …, zh: … }`", "例如 `lesson: { en: …, zh: … }`"),
        ("SET lock ${token} NX PX ${lease}\", on: \"redis${i}\"", "SET lock ${token} NX EX ${lease}\", on: \"redis${i}\"", "- vote: { redis: \"SET lock ${token} NX EX ${lease}\", on: \"redis${i}\", allow: [Lost] }", "write `${lease // 1000}`", "请写 `${lease // 1000}`"),
    ]),
    (SHIPMENT, &[
        ("lab: [redis, mariadb]", "lab: redis, mariadb", "lab: redis, mariadb", "a lab of several products is a list: `lab: [redis, mariadb]`", "多个产品组成的 lab 要写成列表："),
        ("lab: [redis, mariadb]", "lab: redis + mariadb", "lab: redis + mariadb", "a lab of several products is a list: `lab: [redis, mariadb]`", "多个产品组成的 lab 要写成列表："),
        ("lab: [redis, mariadb]", "lab: [redis]", "- write: { sql: \"UPDATE parcel SET sender = '${self}', fence = ${number} WHERE id = 1\" }", ", or give a variant with a lab of its own programs and a", "；有自己 lab 的方案，要有自己的程序和"),
        ("  - sql: INSERT INTO parcel", "  - mariadb: INSERT INTO parcel", "- mariadb: INSERT INTO parcel VALUES (1, 0, NULL)", "an SQL statement is `sql: …`", "SQL 语句请写 `sql: …`"),
        ("    - number: { redis: INCR fence }", "    - number: { redis: INCR fence, on: mariadb }", "- number: { redis: INCR fence, on: mariadb }", "`mariadb` is MariaDB, and this is for Redis", "`mariadb` 是 MariaDB，而这是发给 Redis 的"),
        ("      with: { key: lock, lease: \"${lease}\", every: 500ms }", "      with: { key: lock, lease: \"${lease}\" }", "- use: acquire_safely", "with: { every: … }", "with: { every: … }"),
        ("      with: { key: lock, lease: \"${lease}\", every: 500ms }", "      with: { key: lock, lease: ${lease}, every: 500ms }", "with: { key: lock, lease: ${lease}, every: 500ms }", "such as { redis: \"SET lock ${token} NX\" }", "例如 { redis: \"SET lock ${token} NX\" }"),
        ("    - use: acquire_safely\n", "    - use: aquire_safely\n", "- use: aquire_safely", "did you mean `acquire_safely`?", "是不是 `acquire_safely`？"),
        ("    - use: acquire_safely\n      with: { key: lock, lease", "    - acquire_safely:\n      with: { key: lock, lease", "- acquire_safely:", "is empty: what belongs to it is indented below it, or stands behind it:", "是空的：属于它的内容要缩进写在它下面，或者写在它后面："),
        ("  A: { runs: ship }", "  A: { run: ship }", "A: { run: ship }", "did you mean", "？这里有"),
        ("  A: { runs: ship }", "  A: { runs: shipping }", "A: { runs: shipping }", "did you mean `ship`?", "是不是 `ship`？"),
        ("  A: { runs: ship }", "  A: ship", "A: ship", "A: { runs: worker }", "A: { runs: worker }"),
        ("  - thaw: A\n", "  - thaw: B\n", "- thaw: B", "write `- freeze: B` somewhere before it", "请在它前面写 `- freeze: B`"),
        ("  - thaw: A\n", "", "- move: A.hold_up", "write `- thaw: A` before it, or move another client", "请先写 `- thaw: A`，或者换一个客户端"),
        ("  - freeze: A\n", "  - freeze: A.write\n", "- freeze: A.write", "known here: A, B", "这里可用的有：A, B"),
        ("      - A.number < B.number", "      - A.number < C.number", "- A.number < C.number", "known here: A, B, at, before, children, deleted_by_another, exists, finished, herd, holders, lease, metric_by, …; a text stands in quotes: 'C'", "这里可用的有：A, B, at, before, children, deleted_by_another, exists, finished, herd, holders, lease, metric_by, …；文字要写在引号里：'C'"),
        ("      - value('parcel/1').sender == 'A'\n", "      - value('parcel/1').sender == A\n", "- value('parcel/1').sender == A", "write `value('parcel/1').sender == 'A'`", "请写 `value('parcel/1').sender == 'A'`"),
        ("      ship.write: { sql", "      A.write: { sql", "A.write: { sql: \"UPDATE parcel SET sender = '${self}', fence = ${number} WHERE id = 1 AND fence < ${number}\" }", "write `ship.write`", "请写 `ship.write`"),
        ("      ship.write: { sql", "      ship.wrte: { sql", "ship.wrte: { sql: \"UPDATE parcel SET sender = '${self}', fence = ${number} WHERE id = 1 AND fence < ${number}\" }", "did you mean `ship.write`?", "是不是 `ship.write`？"),
        ("    claims:\n      - value('parcel/1').sender == 'B'", "    claim:\n      - value('parcel/1').sender == 'B'", "claim:", "did you mean", "？这里有"),
        ("        says: { en: An older writer wrote last., zh: 旧的写者最后写入。 }", "        says: An older writer: wrote last", "says: An older writer: wrote last", "in it in quotes; fields of one thing begin in one column", "含有 `: ` 的文字要加引号；同一级的字段要从同一列开始"),
        ("    title: { en: With a token, zh: 带令牌 }", "    title: { en: With a token zh: 带令牌 }", "title: { en: With a token zh: 带令牌 }", "close it; two fields have a comma between them; between", "请把它关上；两个字段之间要有逗号；写在"),
        ("    title: { en: With a token, zh: 带令牌 }", "    title: {en: With a token， zh: 带令牌}", "title: {en: With a token， zh: 带令牌}", "write ASCII punctuation: `,` for `，`", "请用半角标点：`，` 改成 `,`"),
        ("      - A.write == 0", "\t  - A.write == 0", "- A.write == 0", "replace each tab with spaces", "请把每个制表符换成空格"),
        ("    - count: shipped", "    - count: shipped\n      - drops: lock", "- drops: lock", "of one list; a text that goes on behind a closing quote needs quotes around the whole", "也从同一列开始；引号关上之后还有内容的文字，要整个加引号"),
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
    (COUPON, &[("lease: 3s, pause", "lease: 3sec, pause"), ("- never: given > 1", "- never: given > 1 or coupons < 0")]),
    (SEATS, &[("BEGIN }", "BEGIN; }"), ("- B.take[0].got == 1", "- owner('GET_LOCK/seat7') is none")]),
    (SEATS, &[("${patience}) AS got", "${patience // 2}) AS got")]),
    (CAPTAIN, &[("    - if: error == 'KeyExists'", "    - let: { known: error }\n    - if: known == 'KeyExists'")]),
    (TURNSTILE, &[("title: { en: A turnstile, zh: 闸机 }", "title: { en: A turnstile, zh: 闸机，一人一过：请排队 }")]),
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
