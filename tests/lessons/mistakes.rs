//! Typical mistakes of newcomers: valid lessons with one small change each. `check` refuses every one at the line of
//! the change, and says in English and in Chinese what is wrong and what would be right.

use lockstep::{
    lesson::{LabKind, library::from_text, plan::arities},
    text::Lang::{En, Zh},
};

use mysql_async::{Conn, prelude::Queryable};

use crate::lab;

const REDIS: &str = include_str!("mistakes/redis.yaml");
const ZOOKEEPER: &str = include_str!("mistakes/zookeeper.yaml");
const MARIADB: &str = include_str!("mistakes/mariadb.yaml");
const ETCD: &str = include_str!("mistakes/etcd.yaml");
const CLUSTER: &str = include_str!("mistakes/cluster.yaml");
const FILES: &str = include_str!("mistakes/files.yaml");

/// The text to replace, its replacement, a text on the reported line (of the lesson with the mistake), and words of the
/// report in both languages.
type Change = (&'static str, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const IN_REDIS: &[Change] = &[
    // The words of commands, one by one.
    ("{ redis: GET stock }", "{ redis: SETBIT stock 1 2 }", "SETBIT", "one of 0, 1", "0, 1 之一"),
    ("{ redis: GET stock }", "{ redis: SRANDMEMBER buyers two }", "SRANDMEMBER", "wants a whole number", "要整数"),
    ("{ redis: GET stock }", "{ redis: INCRBYFLOAT stock x }", "INCRBYFLOAT", "wants a number", "要数字"),
    ("{ redis: GET stock }", "{ redis: ZINCRBY waiting A 0.5 }", "ZINCRBY", "`ZINCRBY key number member`", "`ZINCRBY key number member`"),
    ("{ redis: GET stock }", "{ redis: ZRANGE waiting 0 -1 WITHSCORE }", "WITHSCORE }", "did you mean `WITHSCORES`", "是不是 `WITHSCORES`"),
    ("{ redis: GET stock }", "{ redis: ZRANGEBYSCORE waiting low high }", "low high", "wants a number", "要数字"),
    ("{ redis: GET stock }", "{ redis: ZRANGE waiting - + BYSCORE }", "BYSCORE", "wants a score", "要分数"),
    ("{ redis: GET stock }", "{ redis: BITCOUNT stock 0 }", "BITCOUNT", "an end beside the start", "就要写终点"),
    ("{ redis: GET stock }", "{ redis: \"SCAN 0 MATHC s*\" }", "MATHC", "did you mean `MATCH`", "是不是 `MATCH`"),
    ("{ redis: GET stock }", "{ redis: GEOADD where A 13.4 52.5 }", "GEOADD", "a longitude and a latitude", "经度和纬度"),
    ("{ redis: GET stock }", "{ redis: OBJECT ENCODE stock }", "ENCODE", "one of ENCODING", "ENCODING"),
    ("{ redis: GET stock }", "{ redis: CONFIG SET maxmemory lots }", "lots", "an amount of memory", "内存大小"),
    ("{ redis: GET stock }", "{ redis: \"XREADGROUP GROUP g A COUNT one STREAMS jobs >\" }", "COUNT one", "wants a whole number", "要整数"),
    ("{ redis: GET stock }", "{ redis: \"XREADGROUP GROUP g A STREAMS jobs > COUNT 1\" }", "> COUNT 1", "stand before `STREAMS`", "写在 `STREAMS` 前面"),
    // The possible values in a script.
    ("if owner == ARGV[1] then", "if redis.call('SET', KEYS[1], ARGV[1]) == 'OK' then", "== 'OK'", "a table in Lua", "返回表"),
    ("if owner == ARGV[1] then", "if redis.call('TYPE', KEYS[1]) == 'string' then", "'string'", "a table in Lua", "返回表"),
    ("if owner == ARGV[1] then", "if redis.call('EXISTS', KEYS[1]) then", "'EXISTS'", "0 counts as true", "0 在 Lua 里也算真"),
    ("if owner == ARGV[1] then", "if not redis.call('SETNX', KEYS[1], ARGV[1]) then", "'SETNX'", "0 counts as true", "0 在 Lua 里也算真"),
    ("if owner == ARGV[1] then", "if ARGV[1] == 1 then", "ARGV[1] == 1", "never equal in Lua", "永远不相等"),
    ("if owner == ARGV[1] then", "if tonumber(ARGV[1]) < '5' then", "< '5'", "cannot compare a text with a number", "不能用 `<` 比较"),
    ("return 0\n", "return 'a' + 1\n", "'a' + 1", "joined with `..`", "拼接文字用 `..`"),
    ("return 0\n", "return KEYS.length\n", "KEYS.length", "`#KEYS`", "`#KEYS`"),
    ("return 0\n", "return string.substring(ARGV[1], 1)\n", "substring", "did you mean `string.sub`", "是不是 `string.sub`"),
    ("redis.call('DEL', KEYS[1])", "redis.call('DEL', KEYS)", "KEYS)", "write `unpack(KEYS)`", "请写 `unpack(KEYS)`"),
    ("redis.call('DEL', KEYS[1])", "redis.call('SET', KEYS[1], nil)", "nil)", "no `nil`", "不能是 `nil`"),
    ("redis.call('DEL', KEYS[1])", "redis.call('MULTI')", "MULTI", "may not send `MULTI`", "不能发送 `MULTI`"),
    ("redis.call('DEL', KEYS[1])", "redis.call('DEL ' .. KEYS[1])", "'DEL '", "an argument of its own", "单独的参数"),
    // Names.
    ("    - read: { redis: GET stock }", "    - my.read: { redis: GET stock }", "my.read", "cannot be the name of an operation", "不能用作操作的名字"),
    ("    - read: { redis: GET stock }", "    - error: { redis: GET stock }", "- error", "every program has already", "每个程序都已有"),
    ("    - read: { redis: GET stock }", "    - finished: { redis: GET stock }", "- finished", "claims ask of every client", "向每个客户端查询"),
    ("        - count: sold", "        - count: value", "count: value", "a function of claims", "断言里的函数"),
    ("{ began: now }", "{ self: now }", "self: now", "every program has already", "每个程序都已有"),
    ("with: { lease: 2s }", "with: { token: x }", "token: x", "every program has already", "每个程序都已有"),
    ("  P: { runs: buyer", "  now: { runs: buyer", "now: { runs", "cannot be the name of a client", "不能用作客户端"),
    // Expressions.
    ("    - if: reply|int > 0\n", "    - if: read == '${token}'\n", "'${token}'", "nothing is filled in", "不会填入任何值"),
    ("    - if: reply|int > 0\n", "    - if: reply|int > 0 or True\n", "or True", "decides it by itself", "直接决定结果"),
    ("redis: GET stock }\n    - if: reply|int > 0", "redis: SET stock 1 }\n    - if: read is none", "read is none", "always answers 'OK'", "总是回复 'OK'"),
    ("- moves('A.acquire') == 1", "- moves('A.acquire')[0] == 1", "[0] == 1", "has no items", "没有下标"),
    ("- moves('A.acquire') == 1", "- finished(['A']) == 1", "finished([", "takes one name", "只要一个名字"),
    ("  - hold: { link: A->redis, way: replies }\n", "  - delay: { link: A->redis, by: \"${latency}\" }\n", "${latency}", "unknown parameter `latency`", "没有名为 `latency` 的参数"),
    // The story.
    ("  - hold: { link: A->redis, way: replies }\n", "  - drop: A->redis\n", "drop: A->redis", "holds nothing here", "没有可丢的"),
    // Fields of the lesson.
    ("minutes: 2", "minute: 2", "minute: 2", "did you mean `minutes`", "是不是 `minutes`"),
    ("minutes: 2", "minutes: two", "minutes: two", "takes a whole number", "应是整数"),
    ("minutes: 2", "minutes: 2.5", "minutes: 2.5", "takes a whole number", "应是整数"),
    ("minutes: 2", "minutes: -1", "minutes: -1", "too small", "太小"),
    ("minutes: 2\n", "", "format: 1", "missing field `minutes`", "缺少字段 `minutes`"),
    ("minutes: 2\nlab: redis\n", "", "format: 1", "missing fields `minutes`, `lab`", "缺少字段 `minutes`, `lab`"),
    ("format: 1", "format: 9", "format: 9", "reads format", "读取 format"),
    ("format: 1\n", "format: one\n", "format: one", "takes a whole number", "应是整数"),
    ("id: right", "id: Right Lock", "id: Right", "lower-case letters", "小写字母"),
    ("track: redis", "track: locks", "track: locks", "`track` cannot be `locks`", "`track` 不能是 `locks`"),
    ("lab: redis", "lab: Redis", "lab: Redis", "did you mean `redis`", "是不是 `redis`"),
    ("lab: redis", "lab:redis", "lab:redis", "with an ASCII colon and a space", "用半角冒号"),
    ("lab: redis", "lab： redis", "lab： redis", "`lab` is not followed by", "`lab` 后面不是"),
    ("summary: { en: Nothing is wrong.,", "summary: { en: \"For ${leese}.\",", "summary:", "did you mean `lease`", "是不是 `lease`"),
    ("lab: redis", "labs: redis", "labs: redis", "did you mean `lab`", "是不是 `lab`"),
    ("title: { en: Right, zh: 正确 }", "title: [Right]", "title: [Right]", "title: { en: …, zh: … }", "title: { en: …, zh: … }"),
    ("title: { en: Right, zh: 正确 }", "title: { en: Right, cn: 正确 }", "title:", "unknown field `cn`", "没有名为 `cn` 的字段"),
    ("title: { en: Right, zh: 正确 }", "title: { en: Right, zh: '' }", "title:", "empty in one language", "有一种语言是空的"),
    ("summary: { en: Nothing is wrong.,", "summary: { en: Nothing, or little, is wrong.,", "summary:", "a text with a comma needs quotes", "含有逗号的文字要加引号"),
    ("params: { lease: 3s, rounds: 2 }", "params: [lease, rounds]", "params:", "`params` takes fields below it", "`params` 应是一组字段"),
    ("params: { lease: 3s, rounds: 2 }", "params: { lease: 3s, rounds: 2, token: 7 }", "params:", "every program has already", "每个程序都已有"),
    ("params: { lease: 3s, rounds: 2 }", "params: { lease: 3s, lease: 4s, rounds: 2 }", "params:", "here twice", "出现了两次"),
    ("params: { lease: 3s, rounds: 2 }", "params: { lease: 3s, rounds: \"${1 + 1}\" }", "params:", "a parameter is a value", "参数必须是具体的值"),
    ("with: { lease: 2s }", "with: { lease: \"${lease // 2}\" }", "${lease // 2}", "a parameter is a value", "参数必须是具体的值"),
    ("clients:\n", "client:\n", "client:", "did you mean `clients`", "是不是 `clients`"),
    ("clients:\n", "clients: {}\nolds:\n", "olds:", "unknown field `olds`", "没有名为 `olds` 的字段"),
    ("story:\n", "storey:\n", "storey:", "did you mean `story`", "是不是 `story`"),
    ("interview:\n", "interviews:\n", "interviews:", "did you mean `interview`", "是不是 `interview`"),
    ("minutes: 2", "minutes: 0", "minutes: 0", "at least one minute", "至少要一分钟"),
    // YAML.
    ("  worker:\n", "\tworker:\n", "\tworker:", "tab character", "制表符"),
    ("    - holds: lock\n", "    - holds: lock\n   - stop\n", "   - stop", "not indented like", "缩进"),
    ("  A: { runs: worker }", "  A: { runs: worker", "A: { runs: worker", "is not closed", "没有在该关的地方关上"),
    ("{ redis: GET stock }", "{ redis: GET ${self} }", "GET ${self}", "needs quotes", "要加引号"),
    ("en: Who gets it?", "en: Who: A or B?", "Who: A or B?", "in quotes", "加引号"),
    ("that: A.acquire == 'OK'", "that: 'OK' == A.acquire", "'OK' == A.acquire", "closing quote", "引号关上之后"),
    ("that: A.acquire == 'OK'", "that: A.acquire == 'OK", "that: A.acquire == 'OK", "quote is not closed", "引号没有关上"),
    ("id: right\n", "id: right\nid: wrong\n", "id: wrong", "`id` is here twice", "`id` 在这里出现了两次"),
    ("  checked:\n", "  blind: # again\n", "# again", "`blind` is here twice", "`blind` 在这里出现了两次"),
    ("minutes: 2", "minutes: 2\nsources: *other", "sources: *other", "anchor", "锚点"),
    ("en: It was first.", "en: @first", "@first", "in quotes", "加上引号"),
    // Clients.
    ("A: { runs: worker }", "A: worker", "A: worker", "A: { runs: worker }", "A: { runs: worker }"),
    ("A: { runs: worker }", "A: { run: worker }", "A: { run: worker }", "did you mean `runs`", "是不是 `runs`"),
    ("A: { runs: worker }", "A: { runs: wroker }", "A: { runs: wroker }", "did you mean `worker`", "是不是 `worker`"),
    ("A: { runs: worker }", "A: { processes: 2 }", "A: { processes: 2 }", "either `runs` or `named_threads`", "要么写 `runs`"),
    ("processes: 2 }", "processes: many }", "processes: many", "not a number", "不是数字"),
    ("processes: 2 }", "processes: 999 }", "processes: 999", "from 0 to 64", "应在 0 到 64 之间"),
    ("processes: 2 }", "processes: 2, crowd: 3 }", "crowd: 3", "a crowd shares one process", "共用一个进程"),
    ("  A: { runs: worker }", "  client-one: { runs: worker }", "client-one", "cannot name a client", "不能用作客户端名"),
    // Programs and steps.
    ("    - holds: lock\n", "    - hold: lock\n", "hold: lock", "did you mean `holds`", "是不是 `holds`"),
    ("    - holds: lock\n", "    - stops\n", "- stops", "the only such word is `stop`", "只有 `stop`"),
    ("    - read: { redis: GET stock }", "    - read: GET stock", "- read: GET stock", "write `- read: { redis: GET stock }`", "请写 `- read: { redis: GET stock }`"),
    ("    - read: { redis: GET stock }", "    - read:\n      redis: GET stock", "- read:", "indented below it", "缩进写在它下面"),
    ("    - read: { redis: GET stock }", "    - read: { rediss: GET stock }", "rediss", "did you mean `redis`", "是不是 `redis`"),
    ("    - read: { redis: GET stock }", "    - read: { redis: GET stock }\n      allow: [WRONGTYPE]", "- read:", "write it inside", "请写到里面"),
    ("    - read: { redis: GET stock }", "    - read: { redis: GET stock, take: any }", "- read:", "one wire command", "只发一条命令"),
    ("    - read: { redis: GET stock }", "    - read: { on: redis }", "- read:", "needs one of", "要有以下之一"),
    ("    - read: { redis: GET stock }", "    - read: { redis: GET stock, every: 1s }", "- read:", "needs an `until`", "要有 `until`"),
    ("    - read: { redis: GET stock }", "    - read: { redis: GET stock, on: master }", "on: master", "unknown server `master`", "没有名为 `master` 的服务器"),
    ("    - read: { redis: GET stock }", "    - buy: { redis: GET stock }", "- buy: { redis: DECR", "two operations", "两个操作"),
    ("    - read: { redis: GET stock }", "    - then: { redis: GET stock }", "- then: {", "not first", "不能打头"),
    ("    - let: { began: now }", "    - let: began = now", "let: began = now", "takes fields below it", "应是一组字段"),
    ("    - let: { began: now }", "    - let: { began: noww }", "noww", "did you mean `now`", "是不是 `now`"),
    ("      then:\n", "      than:\n", "than:", "unknown field `than`", "没有名为 `than` 的字段"),
    ("    - if: reply|int > 0\n", "    - if: reply|int = 0\n", "reply|int = 0", "write `==`", "比较要写 `==`"),
    ("    - if: reply|int > 0\n", "    - if: reply|integer > 0\n", "reply|integer", "there is no filter `integer`", "没有名为 `integer` 的过滤器"),
    ("    - if: reply|int > 0\n", "    - if: stock > 0\n", "- if: stock", "unknown name `stock`", "没有名为 `stock` 的名字"),
    ("    - if: reply|int > 0\n", "    - if: reply|int > 0 && true\n", "&&", "unexpected character `&`", "意外的字符 `&`"),
    ("      times: ${rounds}", "      times: ${round}", "times: ${round}", "did you mean `rounds`", "是不是 `rounds`"),
    ("      times: ${rounds}", "      count: 2", "count: 2", "unknown field `count`", "没有名为 `count` 的字段"),
    ("      times: ${rounds}\n", "", "- repeat:", "either `times` or `while`", "要么写 `times`"),
    ("    - work: 5s", "    - work: 5", "- work: 5", "5s or 5ms", "5s 或 5ms"),
    ("    - work: 5s", "    - work: 5sec onds", "5sec onds", "is not a duration", "不是时长"),
    ("    - work: 5s", "    - wrok: 5s", "wrok", "did you mean `work`", "是不是 `work`"),
    ("every: 500ms }\n", "every: 0 }\n", "every: 0", "never ends", "永远重试"),
    ("  - thaw: B\n", "  - move: B.acquire\n  - thaw: B\n", "- move: B.acquire", "`B` is frozen here", "`B` 此时被冻结"),
    ("every: 500ms }\n", "every: soon }\n", "every: soon", "is not a duration", "不是时长"),
    ("allow: [WRONGTYPE]", "allow: WRONGTYPE", "allow: WRONGTYPE", "`allow` takes a list", "`allow` 应是列表"),
    ("    - use: acquire_safely", "    - use: acquire_safe", "use: acquire_safe", "did you mean `acquire_safely`", "是不是 `acquire_safely`"),
    ("with: { key: lock, lease: 3s, every: 500ms }", "with: { key: lock, lease: 3s }", "use: acquire_safely", "needs `every`", "还需要 `every`"),
    ("      with: { key: lock }", "      with: { key: lock, lease: 3s }", "key: lock, lease: 3s }", "unknown parameter `lease`", "没有名为 `lease` 的参数"),
    ("      with: { key: lock }", "      with: { keys: [lock] }", "keys: [lock] }", "`keys` takes", "`keys` 应是"),
    ("SET lock ${token} NX", "SET lock ${tokn} NX", "${tokn}", "did you mean `token`", "是不是 `token`"),
    ("SET lock ${token} NX", "SET lock ${token NX", "${token NX", "is not closed", "没有"),
    // Commands and scripts.
    ("{ redis: GET stock }", "{ redis: GTE stock }", "GTE stock", "did you mean `GET`", "是不是 `GET`"),
    ("{ redis: GET stock }", "{ redis: GET }", "{ redis: GET }", "takes 1 argument, and here are 0", "要 1 个参数"),
    ("{ redis: GET stock }", "{ redis: GET stock now }", "GET stock now", "write `GET key`", "请写 `GET key`"),
    ("NX PX ${lease}\"", "NXX PX ${lease}\"", "NXX", "no option `NXX`", "没有选项 `NXX`"),
    ("NX PX ${lease}\"", "NX XX\"", "NX XX", "only one of `NX` and `XX`", "只能用一个"),
    ("NX PX ${lease}\"", "NX PX 3s\"", "PX 3s", "wants a whole number", "要整数"),
    ("NX PX ${lease}\"", "NX EX\"", "NX EX\"", "wants a value", "后面要有一个值"),
    ("redis: SET stock 10", "redis: SET stock", "redis: SET stock", "at least 2 arguments", "至少要 2 个参数"),
    ("redis: SET stock 10", "redis: EXPIRE stock ten", "EXPIRE stock ten", "wants a whole number", "要整数"),
    ("redis: SET stock 10", "redis: HSET stock f", "HSET stock f", "at least 3 arguments", "至少要 3 个参数"),
    ("redis: SET stock 10", "redis: MSET a 1 b", "MSET a 1 b", "pairs", "成对"),
    ("redis: SET stock 10", "redis: EVAL \"return 1\" 2 a", "EVAL", "2 keys follow", "2 个键"),
    ("redis: SET stock 10", "redis: SHUTDOWN", "SHUTDOWN", "`kill: SERVER`", "`kill: 服务器`"),
    ("redis: SET stock 10", "redis: CONFIG SET dir /tmp", "CONFIG SET dir", "may not set", "不能设置"),
    ("redis: SET stock 10", "sql: SELECT 1", "sql: SELECT 1", "no server of this lab is MariaDB", "这个 lab 里没有 MariaDB"),
    ("{ redis: GET stock }", "{ zk: get /stock }", "zk: get", "no server of this lab is ZooKeeper", "这个 lab 里没有 ZooKeeper"),
    ("script: unlock, keys", "script: unlok, keys", "unlok", "did you mean `unlock`", "是不是 `unlock`"),
    ("keys: [lock], args", "keys: [], args", "keys: []", "reads `KEYS[1]`", "要读 `KEYS[1]`"),
    ("keys: [lock], args", "keys: lock, args", "keys: lock", "`keys` takes a list", "`keys` 应是列表"),
    ("owner == ARGV[1] then", "owner == ARGV[1]", "return redis.call('DEL'", "`then` is missing", "缺少 `then`"),
    ("owner == ARGV[1] then", "owner = ARGV[1] then", "owner = ARGV[1]", "`then` is missing", "缺少 `then`"),
    ("owner == ARGV[1] then", "owner != ARGV[1] then", "owner != ARGV[1]", "Lua writes `~=`", "Lua 里写 `~=`"),
    ("    end\n    return 0", "    return 0", "return 0", "`end` is missing", "缺少 `end`"),
    ("local owner = redis", "owner = redis", "owner = redis", "write `local owner", "请写 `local owner"),
    ("redis.call('GET', KEYS[1])", "redis.call('GTE', KEYS[1])", "'GTE'", "did you mean `GET`", "是不是 `GET`"),
    ("redis.call('GET', KEYS[1])", "redis.call('GET')", "redis.call('GET')", "takes 1 argument", "要 1 个参数"),
    ("redis.call('GET', KEYS[1])", "redis.cal('GET', KEYS[1])", "redis.cal(", "did you mean `redis.call`", "是不是 `redis.call`"),
    ("redis.call('GET', KEYS[1])", "redis.call('GET', KEY[1])", "KEY[1]", "did you mean `KEYS`", "是不是 `KEYS`"),
    // The story.
    ("  - move: A.acquire\n  - pass", "  - moves: A.acquire\n  - pass", "moves: A.acquire", "did you mean `move`", "是不是 `move`"),
    ("  - move: A.acquire\n  - pass", "  - move: A.aquire\n  - pass", "A.aquire", "did you mean `acquire`", "是不是 `acquire`"),
    ("  - move: A.acquire\n  - pass", "  - move: A acquire\n  - pass", "A acquire", "CLIENT.LABEL", "客户端.操作名"),
    ("  - move: A.acquire\n  - pass", "  - move: C.acquire\n  - pass", "C.acquire", "unknown client `C`", "没有名为 `C` 的客户端"),
    ("  - move: A.acquire\n  - pass", "  - A.acquire\n  - pass", "- A.acquire", "`- move: A.acquire`", "`- move: A.acquire`"),
    ("  - move: A.acquire\n  - pass", "  - move: A.acquire\n    pass: 1s\n  - pass", "- move: A.acquire", "one thing", "只做一件事"),
    ("  - pass: 3s", "  - pass: 3", "- pass: 3", "3s or 3ms", "3s 或 3ms"),
    ("  - pass: 3s", "  - pass: ${leese}", "${leese}", "did you mean `lease`", "是不是 `lease`"),
    ("{ for: 2s, moving: [P] }", "{ for: 2s, moving: [Q] }", "moving: [Q]", "unknown client `Q`", "没有名为 `Q` 的客户端"),
    ("{ for: 2s, moving: [P] }", "{ moving: [P] }", "{ moving: [P] }", "missing field `for`", "缺少字段 `for`"),
    ("within: 30s, ", "", "- await:", "missing field `within`", "缺少字段 `within`"),
    ("that: \"sold == 1\"", "that: \"sould == 1\"", "sould == 1", "did you mean `sold`", "是不是 `sold`"),
    ("  - hold: { link: A->redis, way: replies }", "  - hold: { link: A->redis, way: back }", "way: back", "`way` cannot be `back`", "`way` 不能是 `back`"),
    ("  - release: A->redis", "  - release: A-redis", "A-redis", "A->redis", "A->redis"),
    ("  - release: A->redis", "  - release: A->master", "A->master", "unknown server `master`", "没有名为 `master` 的服务器"),
    ("  - freeze: B", "  - freze: B", "freze: B", "did you mean `freeze`", "是不是 `freeze`"),
    ("  - freeze: B", "  - freeze: P9", "freeze: P9", "unknown client `P9`", "没有名为 `P9` 的客户端"),
    ("  - skew: { redis: 5s }", "  - skew: 5s", "skew: 5s", "`skew` takes fields", "`skew` 应是一组字段"),
    ("  - skew: { redis: 5s }", "  - skew: { redis: far }", "redis: far", "is not a duration", "不是时长"),
    ("  - crash: B", "  - crash: redis", "crash: redis", "`kill: redis`", "`kill: redis`"),
    ("  - crash: B", "  - kill: A", "kill: A", "`crash: A`", "`crash: A`"),
    ("    only: blind", "    only: blnd", "only: blnd", "did you mean `blind`", "是不是 `blind`"),
    ("      after: 1", "      after: 99", "after: 99", "further steps", "步才见分晓"),
    ("en: Nobody does., zh: 没有人。 }\n", "en: Nobody does., zh: 没有人。 }\n          right: \"A.acquire == 'OK'\"\n", "right: \"A.acquire", "choices 1 and 2 are right at the same time", "第 1 个和第 2 个选项同时成立"),
    ("          right: A.acquire == 'OK'\n", "", "en: A does.", "no choice answers", "没有一个选项"),
    // Claims, invariants, variants.
    ("    expect: shown", "    programs: { wroker: [stop] }\n    expect: shown", "wroker", "nobody runs the program `wroker`", "没有任何客户端运行程序 `wroker`"),
    ("    expect: shown", "    expect: fails", "expect: fails", "`expect` cannot be `fails`", "`expect` 不能是 `fails`"),
    ("    fixes: blind", "    fixes: blinded", "fixes: blinded", "did you mean `blind`", "是不是 `blind`"),
    ("      worker.release: { redis: DEL lock }", "      release: { redis: DEL lock }", "  release: { redis: DEL", "unknown operation `release`", "没有名为 `release` 的操作"),
    ("      - overlap: lock\n", "      - overlap: lokc\n", "lokc", "did you mean `lock`", "是不是 `lock`"),
    ("      - overlap: lock\n", "      - overlaps: lock\n", "overlaps", "did you mean `overlap`", "是不是 `overlap`"),
    ("      - that: A.acquire == 'OK'", "      - that: A.acquire = 'OK'", "A.acquire = 'OK'", "write `==`", "比较要写 `==`"),
    ("      - that: A.acquire == 'OK'", "      - that: A.aquire == 'OK'", "A.aquire", "did you mean `acquire`", "是不是 `acquire`"),
    ("      - value('stock')|int == 9", "      - values('stock')|int == 9", "values('stock')", "did you mean `value`", "是不是 `value`"),
    ("      - moves('A.acquire') == 1", "      - moves('A.aquire') == 1", "A.aquire", "did you mean `acquire`", "是不是 `acquire`"),
    ("      - moves('A.acquire') == 1", "      - moves('C.acquire') == 1", "C.acquire", "unknown client `C`", "没有名为 `C` 的客户端"),
    ("      - moves('A.acquire') == 1", "      - moves('acquires') == 1", "acquires", "did you mean `acquire`", "是不是 `acquire`"),
    ("      - moves('A.acquire') == 1", "      - holders('lokc') == 1", "lokc", "did you mean `lock`", "是不是 `lock`"),
    ("      - moves('A.acquire') == 1", "      - finished('C') == 1", "finished('C')", "unknown client `C`", "没有名为 `C` 的客户端"),
    ("      - moves('A.acquire') == 1", "      - value('lock', 'redis2') is none", "redis2", "unknown server `redis2`", "没有名为 `redis2` 的服务器"),
    ("      - moves('A.acquire') == 1", "      - pttl() == 1", "pttl()", "takes 1 to 2 arguments", "要 1 到 2 个参数"),
    ("      - moves('A.acquire') == 1", "      - value(lock) is none", "value(lock)", "in quotes: 'lock'", "写在引号里：'lock'"),
    ("      - moves('A.acquire') == 1", "      - sold == 1 AND herd() == 0", "AND herd", "write `and`", "请写 `and`"),
    ("      - moves('A.acquire') == 1", "      - sold == 1 || herd() == 0", "|| herd", "write `or`", "请写 `or`"),
    ("with: { lease: 2s }", "with: { leese: 2s }", "leese", "did you mean `lease`", "是不是 `lease`"),
    ("SET lock ${token} NX", "SET lock $token NX", "$token", "with `${token}`", "要写 `${token}`"),
    ("SET lock ${token} NX", "SET lock {{token}} NX", "{{token}}", "with `${token}`", "要写 `${token}`"),
    ("PX ${lease}\"", "PX ${lease}ms\"", "${lease}ms", "`3000ms` is none", "`3000ms` 不是整数"),
    ("args: [\"${token}\"] }", "args: [] }", "args: []", "reads `ARGV[1]`", "要读 `ARGV[1]`"),
    ("    - read: { redis: GET stock }", "    - redis: GET stock", "- redis: GET stock", "label of its own", "自己的名字"),
    ("  - never: { overlap: lock }", "  - never: { exclusive: lock }", "exclusive: lock }", "breaks nothing", "没有违反什么"),
    // What a run would let pass, or report late.
    ("  - move: A.acquire\n  - pass", "  - move: A.work\n  - pass", "A.work", "is no move: time passes in it", "不是一步操作"),
    ("    - work: 5s", "    - pause: { wait: 5s, until: \"1 == 2\" }", "pause:", "a `wait` gets no reply", "`wait` 没有回复"),
    ("    - work: 5s", "    - heard: { take: { from: session } }", "heard:", "only ZooKeeper's clients", "只有 ZooKeeper 的客户端"),
    ("    - work: 5s", "    - heard: { take: { from: freed } }", "heard:", "never subscribes to `freed`", "从没订阅过 `freed`"),
    ("    - work: 5s", "    - guard: { local: lock x, on: redis }", "guard:", "send nothing to any", "不向任何服务器发送"),
    ("{ redis: GET stock }", "{ redis: DELETE lock }", "DELETE lock", "did you mean `DEL`", "是不是 `DEL`"),
    ("that: \"sold == 1\"", "that: \"reply == 1\"", "reply == 1", "is known in programs only", "只在程序里可用"),
    ("      with: { key: lock }", "      with: { key }", "with: { key }", "with: { key: lock }", "with: { key: lock }"),
    ("    expect: prevented", "    explore: { moves: 12 }\n    expect: prevented", "explore:", "`expect: none`, no order", "`expect: none` 表示"),
    ("      times: ${rounds}", "      times: 0", "times: 0", "made 0 times", "执行 0 次"),
    ("      times: ${rounds}", "      times: 2\n      as: self", "as: self", "every program has already", "每个程序都已有"),
    ("      times: ${rounds}", "      while: look > 0", "while: look", "no value yet before the first round", "还没有值"),
    ("rounds: 2 }", "rounds: two }", "times: ${rounds}", "gives `two`, not a count", "不是次数"),
    ("    - work: 5s", "    - sleep: 5s", "- sleep: 5s", "`- wait: 5s`", "`- wait: 5s`"),
    ("    - drops: lock\n", "    - releases: lock\n", "- releases: lock", "`- drops: lock`", "`- drops: lock`"),
    ("    - drops: lock\n", "    - drops: lokc\n", "- drops: lokc", "one lock has one name", "同一把锁"),
    ("    - holds: lock\n", "    - waits: lokc\n    - holds: lock\n", "- waits: lokc", "nobody ever holds `lokc`", "从没有谁持有"),
    ("  - pass: 3s", "  - wait: 3s", "- wait: 3s", "`- pass: 3s`", "`- pass: 3s`"),
    ("  - pass: 3s", "  - work: 3s", "- work: 3s", "`- pass: 3s`", "`- pass: 3s`"),
    ("  - pass: 3s", "  - pass: 3s\n    moving: [P]", "    moving: [P]", "for: 3s, moving: [A]", "for: 3s, moving: [A]"),
    ("  - freeze: B\n", "", "- thaw: B", "`B` is not frozen here", "没有被冻结"),
    ("  - freeze: B\n", "  - freeze: B\n  - freeze: B # twice\n", "# twice", "`B` is frozen already", "已经被冻结"),
    ("  - freeze: B\n  - thaw: B", "  - freeze: redis\n  - freeze: redis # twice\n  - thaw: redis", "# twice", "`redis` is frozen already", "已经被冻结"),
    ("  - crash: B\n    only: blind", "  - crash: B\n  - freeze: B # late", "# late", "`B` is dead here", "已经死了"),
    ("  - freeze: B\n  - thaw: B", "  - restart: redis", "- restart: redis", "`redis` is not dead here", "没有被杀死"),
    ("  - freeze: B\n  - thaw: B", "  - kill: redis\n  - kill: redis # again", "# again", "is dead already", "已经被杀死"),
    ("  - hold: { link: A->redis, way: replies }\n", "", "- release: A->redis", "nothing is wrong with the link", "一切正常"),
    ("  - crash: B\n    only: blind", "  - crash: B\n  - move: B.read", "- move: B.read", "`B` has crashed by now", "`B` 已经崩溃"),
    ("  - skew: { redis: 5s }", "  - skew: { redis: \"30\" }", "skew: { redis:", "write 30s or 30ms", "请写 30s 或 30ms"),
    ("  - skew: { redis: 5s }", "  - delay: { link: A->redis, by: 2 }", "by: 2", "write 2s or 2ms", "请写 2s 或 2ms"),
    ("  - skew: { redis: 5s }", "  - cut: redis->A", "cut: redis->A", "write `A->redis`", "请写 `A->redis`"),
    ("lab: redis", "lab: redis, mariadb", "lab: redis, mariadb", "`lab: [redis, mariadb]`", "`lab: [redis, mariadb]`"),
    ("      worker.release: {", "      A.release: {", "A.release: {", "write `worker.release`", "请写 `worker.release`"),
    ("that: \"sold == 1\"", "that: \"value('stock') == 9\"", "value('stock') == 9", "value('stock')|int == 9", "value('stock')|int == 9"),
    ("right: A.acquire == 'OK'", "right: A.acquire == 1", "right: A.acquire == 1", "write `A.acquire == 'OK'`", "请写 `A.acquire == 'OK'`"),
    ("moves('A.acquire') == 1", "holders('lock') == 9", "holders('lock') == 9", "is 4 at most", "最多是 4"),
    ("moves('A.acquire') == 1", "exists('lok')", "exists('lok')", "did you mean `lock`", "是不是 `lock`"),
    ("moves('A.acquire') == 1", "replies('acquire') == 'OK'", "replies(", "is a list", "是列表"),
    ("moves('A.acquire') == 1", "replies() == 'OK'", "replies(", "takes 1 argument", "要 1 个参数"),
    ("moves('A.acquire') == 1", "value('stock').hash.x == 1", "hash.x", "hash.x|int == 1", "hash.x|int == 1"),
    ("moves('A.acquire') == 1", "A.crashed == 'true'", "A.crashed", "write `A.crashed`", "请写 `A.crashed`"),
    ("moves('A.acquire') == 1", "at('A.acquire') > 3", "at('A.acquire') > 3", "counts in milliseconds", "以毫秒计"),
    ("moves('A.acquire') == 1", "before('A.acquire', 'A.acquire')", "before(", "never before itself", "不会先于它自己"),
    ("moves('A.acquire') == 1", "!exists('lock')", "!exists", "write `not exists('lock')`", "请写 `not exists('lock')`"),
    ("moves('A.acquire') == 1", "A.acquire.length == 1", ".length", "has no `.length`", "没有 `.length`"),
    ("moves('A.acquire') == 1", "sold == '1'", "sold == '1'", "without quotes: `sold == 1`", "去掉引号"),
    ("moves('A.acquire') == 1", "children('lock') == []", "children(", "of znodes", "用于 znode"),
    ("moves('A.acquire') == 1", "owner('lock') == 'A'", "owner(", "does not know who owns", "不知道键属于谁"),
    ("moves('A.acquire') == 1", "role('redis') == 'leader'", "role(", "is never 'leader'", "不会是 'leader'"),
    ("moves('A.acquire') == 1", "that: true", "that: true", "does not depend on anything that happens", "与发生的事无关"),
    ("moves('A.acquire') == 1", "rounds == 2", "rounds == 2", "does not depend on anything that happens", "与发生的事无关"),
    ("moves('A.acquire') == 1", "moves('A.acquire') >= 0", ">= 0", "is never less than 0", "从不小于 0"),
    ("moves('A.acquire') == 1", "value('stock') == 9", "value('stock') == 9", "value('stock')|int == 9", "value('stock')|int == 9"),
    ("moves('A.acquire') == 1", "A.acquire == 1", "- A.acquire == 1", "write `A.acquire == 'OK'`", "请写 `A.acquire == 'OK'`"),
    ("moves('A.acquire') == 1", "A.read == 10", "A.read == 10", "never the number 10", "不会是数字 10"),
    ("moves('A.acquire') == 1", "exists('lock') == 'true'", "exists(", "never a text", "不会是文字"),
    ("until: reply == 'OK', every", "until: reply == 1, every", "until: reply == 1", "never 1", "不会是 1"),
    ("NX PX ${lease}\"", "NX EX ${lease}\"", "EX ${lease}", "counts in milliseconds", "以毫秒计"),
    ("  buyer:\n", "  unused:\n    - x: { redis: GTE a }\n  buyer:\n", "x: { redis: GTE a }", "did you mean `GET`", "是不是 `GET`"),
    ("    a: { en: Because., zh: 因为如此。 }", "    answer: { en: Because., zh: 因为如此。 }", "answer:", "unknown field `answer`", "没有名为 `answer` 的字段"),
    ("right: A.acquire == 'OK'", "right: A.acquire == ‘OK’", "‘OK’", "write `'`", "请写 `'`"),
    ("right: A.acquire == 'OK'", "right: A.acquire ＝＝ 'OK'", "＝＝", "write `==`", "请写 `==`"),
    ("title: { en: Right, zh: 正确 }", "title: { en: Right, zh：正确 }", "title:", "ASCII punctuation", "半角标点"),
    ("says: { en: Nobody does., zh: 没有人。 }", "says: { en: A does., zh: A 拿到。 } # again", "# again", "two choices say the same", "两个选项的文字相同"),
    ("    - if: reply|int > 0\n", "    - if: read.startswith('1')\n", "read.startswith", "is startingwith", "is startingwith"),
    ("    - if: reply|int > 0\n", "    - if: read|before is none\n", "read|before", "names|before(node)", "names|before(node)"),
    ("    - if: reply|int > 0\n", "    - if: reply|int => 1\n", "reply|int => 1", "write `>=`", "请写 `>=`"),
    ("    - if: reply|int > 0\n", "    - if: began > 0 and acquire == 'READONLY'\n", "READONLY", "write `error == 'READONLY'`", "请写 `error == 'READONLY'`"),
    ("    - if: reply|int > 0\n", "    - if: began > 0 and acquire == 1\n", "acquire == 1", "write `acquire == 'OK'`", "请写 `acquire == 'OK'`"),
    ("    - read: { redis: GET stock }", "    - read: { redis: GET stock, until: acquire == 'OK' }", "until: acquire", "no try changes", "每次重试都不会改变"),
    ("    - read: { redis: GET stock }", "    - read: { redis: GET stock, allow: [NodeExists] }", "NodeExists", "is an error of ZooKeeper", "是 ZooKeeper 的错误"),
    ("args: [\"${token}\"] }", "args: [\"${token}\"], until: reply == 'OK' }", "until: reply == 'OK' }", "answers a number, never 'OK'", "的回复是数字"),
    ("      times: ${rounds}", "      while: began > 0", "while: began", "nothing in this repetition changes", "循环里没有什么会改变"),
    ("owner == ARGV[1] then", "owner == nil then", "owner == nil then", "write `not owner`", "请写 `not owner`"),
    ("redis.call('GET', KEYS[1])", "redis.call('GET', KEYS[0])", "KEYS[0]", "Lua counts from 1", "Lua 的下标从 1 开始"),
    ("    return 0\n", "    return os.time()\n", "os.time()", "has only `clock`", "只有 `clock`"),
    ("redis: SET stock 10", "redis: ZADD waiting A 1", "ZADD waiting", "wants a score here, and `A` is no number", "要分数，`A` 不是数字"),
    ("redis: SET stock 10", "redis: ZADD waiting 1 A 2", "ZADD waiting", "one word is left over", "多出一个词"),
    ("NX PX ${lease}\"", "NX PX 3\"", "PX 3\"", "write `PX 3000` or `EX 3`", "请写 `PX 3000` 或 `EX 3`"),
    ("  - move: A.acquire\n  - pass", "  - move: A.read\n  - pass", "- move: A.read", "next is `acquire`", "下一步是 `acquire`"),
    ("  - move: [B.acquire, A.read]", "  - move: [B.acquire, A.buy]", "A.buy]", "next is `acquire`, `read`", "下一步是 `acquire`, `read`"),
    ("with: { key: lock, lease: 3s, every: 500ms }", "with: { key: lock, lease: 3s, every: -500ms }", "every: -500ms", "time cannot run backward", "时间不能倒流"),
    ("      with: { key: lock }", "      with: { kay: lock }", "kay: lock", "did you mean `key`", "是不是 `key`"),
    ("moves('A.acquire') == 1", "at(A.acquire) > 1000", "at(A.acquire)", "write it in quotes: `'A.acquire'`", "请加引号"),
    ("moves('A.acquire') == 1", "pttl('lock') is none", "pttl('lock')", "it is -2", "是 -2"),
    ("moves('A.acquire') == 1", "A.finished == 'yes'", "A.finished", "write `A.finished`", "请写 `A.finished`"),
    ("moves('A.acquire') == 1", "value('stock').hesh == 1", ".hesh", "did you mean `hash`", "是不是 `hash`"),
    ("    expect: prevented", "    explore: { expect: none, most_faults: 2 }\n    expect: prevented", "explore:", "name the faults", "请写明故障"),
    ("with: { key: lock, lease: 3s, every: 500ms }", "with: { key: lock, lease: 3, every: 500ms }", "lease: 3, every", "write 3s or 3ms", "请写 3s 或 3ms"),
    ("params: { lease: 3s, rounds: 2 }", "params: { lease: 3, rounds: 2 }", "acquire: { redis", "a parameter has a unit: `lease: 3s`", "参数要带单位：`lease: 3s`"),
    ("    - wait: 1s\n", "    - use: buyer\n", "- use: buyer", "`buyer` uses itself", "`buyer` 使用了它自己"),
    ("params: { lease: 3s, rounds: 2 }", "params: { lease: 3s, rounds: 2, le-ase: 3s }", "le-ase", "cannot name a parameter", "不能用作参数名"),
    ("rounds: 2 }", "rounds: 2, long: 99999999999s }", "long: 999", "at most a year", "最多一年"),
    ("en: A takes the lock.,", "en: \"A takes it for $lease.\",", "for $lease", "with `${lease}`", "要写 `${lease}`"),
    ("  - pass: 3s", "  - pass: ${lease}s", "${lease}s", "`lease` is a duration already", "本身就是时长"),
    ("        - count: sold", "        - count: 1", "- count: 1", "cannot be the name of a counter", "不能用作计数器"),
    ("        - count: sold", "        - count: lease", "- count: lease", "is a parameter already", "已经是参数"),
    ("    - holds: lock\n", "    - stop\n    - holds: lock\n", "- holds: lock", "nothing comes here", "执行不到这里"),
    ("    - if: reply|int > 0\n", "    - if: read - 1 > 0\n", "read - 1", "`read|int - 1`", "`read|int - 1`"),
    ("    - if: reply|int > 0\n", "    - if: read == 'token'\n", "read == 'token'", "without quotes: `read == token`", "去掉引号：`read == token`"),
    ("    - if: reply|int > 0\n", "    - if: ${read} == 1\n", "${read}", "written without `${…}`", "不用写 `${…}`"),
    ("moves('A.acquire') == 1", "exists('lock' 'redis')", "'lock' 'redis'", "write a comma", "要有逗号"),
    ("redis: SET stock 10", "redis: SADD stock 10", "{ redis: GET stock }", "answers WRONGTYPE", "会回复 WRONGTYPE"),
    ("    - read: { redis: GET stock }\n", "    - read: { redis: HGET cart itmes }\n    - put: { redis: HSET cart items 1 }\n", "HGET cart itmes", "did you mean `items`", "是不是 `items`"),
    ("{ redis: GET stock }", "{ redis: GET stok }", "GET stok", "no command ever writes the key `stok`", "没有任何命令写过键 `stok`"),
    ("SET lock ${token} NX", "SET lock NX", "SET lock NX", "the value is missing", "缺少值"),
    ("SET lock ${token} NX", "SET lock token NX", "SET lock token", "`token` is plain text here", "`token` 在这里只是普通文字"),
    ("SET lock ${token} NX", "SET lock $(token) NX", "$(token)", "with `${token}`", "要写 `${token}`"),
    ("SET lock ${token} NX", "SET lock {token} NX", "{token} NX", "with `${token}`", "要写 `${token}`"),
    ("args: [\"${token}\"] }", "args: [token] }", "args: [token]", "with `${token}`", "要写 `${token}`"),
    ("args: [\"${token}\"] }", "args: [\"${token}\", \"3\"] }", "\"3\"] }", "never reads `ARGV[2]`", "从不读 `ARGV[2]`"),
    ("keys: [lock], args", "keys: [lock, stock], args", "keys: [lock, stock]", "never reads `KEYS[2]`", "从不读 `KEYS[2]`"),
    ("redis.call('GET', KEYS[1])", "redis:call('GET', KEYS[1])", "redis:call", "with a dot", "用点号"),
    ("owner == ARGV[1] then", "owner > 0 then", "owner > 0", "write `tonumber(…)`", "请给文字套上 `tonumber(…)`"),
    ("redis: SET stock 10", "redis: ZADD waiting NX XX 1 A", "ZADD waiting", "only one of `NX` and `XX`", "只能用一个"),
    ("    - if: reply|int > 0\n", "    - if: true\n", "- if: true", "always the same", "结果总是一样"),
    ("    - if: reply|int > 0\n", "    - if: read is 1\n", "read is 1", "write `==`", "比较要写 `==`"),
    ("    - if: reply|int > 0\n", "    - if: read is nil\n", "read is nil", "did you mean `none`", "是不是 `none`"),
    ("    - if: reply|int > 0\n", "    - if: read == null\n", "read == null", "write `none`", "请写 `none`"),
    ("    - if: reply|int > 0\n", "    - if: read == 'nil'\n", "read == 'nil'", "write `read is none`", "请写 `read is none`"),
    ("    - if: reply|int > 0\n", "    - if: began > 0 and error == 5\n", "error == 5", "`error == '5'`", "`error == '5'`"),
    ("  - pass: 3s", "  - pass: 0s", "pass: 0s", "no time passes", "没有时间流逝"),
    ("  - pass: 3s", "  - B: { redis: GET stock }", "- B: {", "write `- move: B.acquire`", "`- move: B.acquire`"),
    ("within: 30s", "within: 0s", "within: 0s", "in no time", "零时长"),
    ("minutes: 2", "minutes: 99999999999", "minutes: 999", "too large", "太大"),
    ("that: \"sold == 1\"", "that: \"sold >= 0\"", "sold >= 0", "never less than 0", "从不小于 0"),
    ("that: \"sold == 1\"", "that: \"sold == 1.5\"", "sold == 1.5", "is a whole number", "是整数"),
    ("setup:\n", "locks: { lock: { holders: 4 } }\nsetup:\n", "- overlap: lock", "it never overlaps", "不可能重叠"),
    ("right: A.acquire == 'OK'", "right: A.read is none", "right: A.read", "has no reply yet", "还没有回复"),
    ("      - value('stock')|int == 9", "      - A.acquire == 'OK'", "- A.acquire == 'OK'", "number 2 of this list says the same", "和列表里的第 2 条相同"),
    ("moves('A.acquire') == 1", "value('stock')|int == '9'", "|int == '9'", "without quotes", "去掉引号"),
    ("moves('A.acquire') == 1", "value('stock') > '9'", "value('stock') > '9'", "letter by letter", "逐个字符"),
    ("moves('A.acquire') == 1", "value('stock').set == []", "value('stock').set", "holds a text", "里是字符串"),
    ("moves('A.acquire') == 1", "9 in value('stock')", "9 in value", "`'9'`", "`'9'`"),
    ("moves('A.acquire') == 1", "value('lock') == B", "value('lock') == B", "write `value('lock') == 'B'`", "请写 `value('lock') == 'B'`"),
    ("moves('A.acquire') == 1", "B is none", "- B is none", "`B` is a client", "`B` 是客户端"),
    ("moves('A.acquire') == 1", "A.acquire == 'nil'", "A.acquire == 'nil'", "write `A.acquire is none`", "请写 `A.acquire is none`"),
    ("moves('A.acquire') == 1", "pttl('lock') == none", "pttl('lock') == none", "it is -2", "是 -2"),
    ("moves('A.acquire') == 1", "at('B.release') > 1000", "at('B.release')", "never makes the move `B.release`", "从没有 `B.release`"),
    ("moves('A.acquire') == 1", "true or sold == 1", "true or sold", "leave `true` out", "请去掉 `true`"),
    ("moves('A.acquire') == 1", "at('A.acquire') > 3s", "> 3s", "3 s are `3000`", "3 秒写 `3000`"),
    ("moves('A.acquire') == 1", "B.release == 1", "B.release == 1", "write `- move: B.release` into the story", "请在剧情里写 `- move: B.release`"),
    // Commands of lists, sorted sets, streams and transactions.
    ("{ redis: GET stock }", "{ redis: XADD log item book 1 }", "XADD log", "wants an id here", "要写 ID"),
    ("{ redis: GET stock }", "{ redis: XADD log MAXLEN ~ * item book }", "XADD log", "wants a whole number", "要整数"),
    ("{ redis: GET stock }", "{ redis: XREADGROUP GROUP shop A COUNT 1 log > }", "XREADGROUP", "wants `STREAMS`", "要写 `STREAMS`"),
    ("{ redis: GET stock }", "{ redis: XREAD STREAMS log sales 0 }", "XREAD", "an id for each stream", "给每个键写一个 ID"),
    ("{ redis: GET stock }", "{ redis: LMOVE jobs busy HEAD TAIL }", "LMOVE", "one of LEFT, RIGHT", "LEFT, RIGHT 之一"),
    ("{ redis: GET stock }", "{ redis: \"ZADD waiting ${self} 1\" }", "ZADD waiting", "`${self}` is no number", "`${self}` 不是数字"),
    ("{ redis: GET stock }", "{ redis: \"ZADD waiting ${began} A NX\" }", "ZADD waiting", "before the scores", "分数前面"),
    ("{ redis: GET stock }", "{ redis: EXEC }", "EXEC", "no `MULTI` comes before", "之前没有 `MULTI`"),
    ("{ redis: GET stock }", "{ redis: WATCH stok }", "WATCH stok", "which no command ever writes", "从没有任何命令写过"),
    ("    - read: { redis: GET stock }\n", "    - multi: { redis: MULTI }\n    - read: { redis: WATCH stock }\n", "WATCH stock", "too late after `MULTI`", "`MULTI` 之后不能再"),
    ("    - read: { redis: GET stock }\n    - if: reply|int > 0\n", "    - multi: { redis: MULTI }\n    - read: { redis: GET stock }\n    - if: read|int > 0\n", "if: read|int", "answers 'QUEUED'", "回复是 'QUEUED'"),
    ("    - read: { redis: GET stock }\n    - if: reply|int > 0\n", "    - read: { redis: EXISTS stock }\n    - if: read is none\n", "if: read is none", "always answers a number", "总是回复数字"),
    ("    - read: { redis: GET stock }\n", "    - both: { redis: MGET stock lock }\n    - read: { redis: \"SET seen ${both}\" }\n", "- read:", "answers a list", "的回复是列表"),
    ("    - read: { redis: GET stock }\n    - if: reply|int > 0\n", "    - read: { redis: MGET stock lock }\n    - if: read[0] > 0\n", "if: read[0]", "never the number 0", "不会是数字 0"),
    ("moves('A.acquire') == 1", "value('buyers') == 'A'", "value('buyers')", "holds a set", "里是集合"),
    ("moves('A.acquire') == 1", "value('buyers')|length == 1", "value('buyers')", "write `value('buyers').set`", "请写 `value('buyers').set`"),
    ("moves('A.acquire') == 1", "\"'A' in value('buyers')\"", "value('buyers')", "write `value('buyers').set`", "请写 `value('buyers').set`"),
    ("moves('A.acquire') == 1", "value('buyers').zset == 1", "value('buyers')", "did you mean `sorted_set`", "是不是 `sorted_set`"),
    ("moves('A.acquire') == 1", "exists('orders')", "exists('orders')", "no command ever names the key `orders`", "没有任何命令用到键 `orders`"),
    ("moves('A.acquire') == 1", "herd == 0", "herd == 0", "write `herd()`", "请写 `herd()`"),
    ("moves('A.acquire') == 1", "finished(B) == 1", "finished(B)", "write `finished('B')`", "请写 `finished('B')`"),
    // Errors and lost replies.
    ("{ redis: GET stock }", "{ redis: GET stock, allow: [Timeout] }", "[Timeout]", "unknown error code `Timeout`", "没有名为 `Timeout` 的错误码"),
    ("    - if: reply|int > 0\n", "    - if: error == 'READONLY'\n", "READONLY", "no operation of this program allows it", "没有操作允许它"),
    ("    - if: reply|int > 0\n", "    - if: read == 'Lost'\n", "read == 'Lost'", "in `format: 1`", "在 `format: 1` 里"),
    ("  - hold: { link: A->redis, way: replies }\n  - release: A->redis\n", "  - cut: A->redis\n  - move: A.look\n", "move: A.look", "does not cope with a lost reply", "没有处理回复丢失"),
    ("  - freeze: B\n  - thaw: B", "  - kill: redis\n  - move: B.read", "move: B.read", "`redis` is dead here", "`redis` 此时已死"),
    // Figures, names and punctuation.
    ("  - never: { overlap: lock }", "  - never: sold < 1", "sold < 1", "so from the beginning", "一开始就成立"),
    ("    - work: 5s", "    - work: ${rounds}", "work: ${rounds}", "is 2 ms here", "只有 2 毫秒"),
    ("    - if: reply|int > 0\n", "    - if: now - began > 10\n", "now - began", "counts in milliseconds", "以毫秒计"),
    ("    return 0\n", "    // nobody's\n    return 0\n", "// nobody's", "Lua writes `--`", "Lua 里写 `--`"),
    ("owner == ARGV[1] then", "redis.call('EXISTS', KEYS[1]) == true then", "== true", "never gives `true`", "不会返回 `true`"),
    ("move: [B.acquire, A.read]", "move: [B.acquire， A.read]", "B.acquire，", "ASCII punctuation", "半角标点"),
    ("A: { runs: worker }", "A: { runs: acquire_safely }", "acquire_safely }", "is a recipe", "是配方"),
    ("    - drops: lock\n", "    - drops: counter\n", "drops: counter", "holds `lock` and drops `counter`", "放弃的却是 `counter`"),
    ("a: { en: Because., zh: 因为如此。 }", "a: { en: Because., zh: }", "a: { en: Because", "an empty text", "空的文字"),
    // Values that no run reaches.
    ("- moves('A.acquire') == 1", "- sold == 5", "sold == 5", "`sold` is 2 at most", "`sold` 最多是 2"),
    ("- moves('A.acquire') == 1", "- finished('A') == 2", "finished('A')", "is 1 at most", "最多是 1"),
    ("- moves('A.acquire') == 1", "- A.crashed", "- A.crashed", "nothing in this story crashes A", "剧情里 A 从没有崩溃"),
    ("      - value('stock')|int == 9\n", "      - that: A.read == rounds\n", "A.read == rounds", "`A.read|int` is its number", "`A.read|int` 是它的数值"),
    // Names, places and numbers of commands.
    ("redis: SET stock 10", "redis: SET stock $rounds", "$rounds", "filled in with `${rounds}`", "填入值要写 `${rounds}`"),
    ("redis: SADD buyers A", "redis: XGROUP CREATE jobs team MKSTREAM", "XGROUP", "wants an id here", "在这里要写 ID"),
    ("redis: SADD buyers A", "redis: XGROUP CREATE jobs team $", "XGROUP", "let the command make it", "让这条命令顺便创建它"),
    ("  - redis: SADD buyers A\n", "  - redis: XADD jobs * item book\n  - redis: XGROUP CREATE team jobs $ MKSTREAM\n", "XGROUP", "`XGROUP CREATE jobs team $`", "`XGROUP CREATE jobs team $`"),
    ("{ redis: GET stock }", "{ redis: \"SISMEMBER ${self} buyers\" }", "SISMEMBER", "takes the key first", "先写键"),
    ("keys: [lock], args: [\"${token}\"]", "keys: [\"${token}\"], args: [lock]", "args: [lock]", "takes the key first", "先写键"),
    ("{ redis: PTTL lock }", "{ redis: WAIT 500 1 }", "WAIT 500 1", "WAIT replicas milliseconds", "WAIT 从节点数 毫秒"),
    ("{ redis: PTTL lock }", "{ redis: BLPOP jobs 10s }", "BLPOP", "`10s` is no number", "`10s` 不是数字"),
    ("        - look: { redis: PTTL lock }\n", "        - look: { redis: TTL lock }\n        - wait: ${look}\n", "wait: ${look}", "`TTL` answers seconds", "`TTL` 的回复以秒计"),
    ("redis.call('GET', KEYS[1])", "redis.call('GET', 'KEYS[1]')", "'KEYS[1]'", "in quotes is plain text", "只是普通文字"),
    ("if owner == ARGV[1] then", "if redis.call('EXISTS', KEYS[1]) == nil then", "== nil", "never `nil`", "不会是 `nil`"),
    ("return 0\n", "return null\n", "return null", "Lua writes `nil`", "Lua 里写 `nil`"),
    ("with: { lease: 2s }", "with: { lease: 2s, weight: 2 }", "weight", "nothing in this lesson asks for `weight`", "没有地方用到 `weight`"),
    ("interview:\n", "libraries: { javascript: { ioredis: 5.11.1 } }\ninterview:\n", "javascript", "unknown language", "语言"),
    ("    a: { en: Because., zh: 因为如此。 }", "    a: { en: Because., zh: 因为如此。 }\n    from: S3", "from: S3", "`from: [S3]`", "`from: [S3]`"),
    ("every: 500ms }\n    - wait", "every: often }\n    - wait", "acquire_safely", "which is no duration", "不是时长"),
    ("zh: A 加锁。", "zh: A 加锁 $｛lease｝。", "$｛lease｝", "is full-width", "全角字符"),
    ("- moves('A.acquire') == 1", "- replies('A.acquire').length == 1", ".length", "`replies('A.acquire')|length`", "`replies('A.acquire')|length`"),
    ("- moves('A.acquire') == 1", "- exists(5)", "- exists(5)", "wants a key in quotes", "要加引号"),
    ("- moves('A.acquire') == 1", "- A.release is none", "- A.release is none", "always answers a number", "总是回复数字"),
    ("- moves('A.acquire') == 1", "- A.acquire == 'READONLY'", "'READONLY'", "allows the error 'READONLY'", "允许错误 'READONLY'"),
    ("reply|int > 0", "read|replace('a') == '1'", "replace('a')", "takes two texts", "两段文字"),
    ("- let: { began: now }\n", "- let: { began: \"'acquire'|lower\" }\n", "began:", "in quotes is plain text", "只是普通文字"),
    ("{ redis: PTTL lock }", "{ redis: XREADGROUP GROUP g A STREAMS s $ }", "XREADGROUP", "no id of a group", "消费组不能用"),
    ("      worker.release: { redis: DEL lock }\n", "      worker.acquire: { redis: SET lock a NX }\n    params: { lease: few }\n    clients: { A: { runs: worker } }\n    programs: { worker: [acquire: { redis: SET lock b NX }, holds: lock, look: { redis: GET lock }, { if: look|length < lease, then: [stop] }, release: { redis: DEL lock }, drops: lock] }\n    story: [move: [A.acquire, A.look]]\n", "look|length < lease", "is the text `few`", "是文字 `few`"),
];

#[rustfmt::skip]
const IN_ZOOKEEPER: &[Change] = &[
    ("zk: create /locks", "zk: create locks", "create locks", "must begin with `/`", "必须以 `/` 开头"),
    ("zk: create /locks", "zk: mkdir /locks", "mkdir", "has no call `mkdir`", "没有 `mkdir` 这个调用"),
    ("zk: create /locks", "zk: create", "zk: create", "with 0 operands", "带了 0 个参数"),
    ("zk: create /locks", "zk: create -c -e /locks", "create -c -e", "no znode is both `-c` and `-e`", "没有同时是 `-c` 和 `-e` 的 znode"),
    ("zk: create /locks", "zk: create -t soon /locks", "create -t", "TTL is a whole number", "TTL 是整数"),
    ("exists -w /locks", "exists /locks", "{ take: any }", "leaves no watch", "没有设 watch"),
    ("that: A.create is not none", "that: exists('locks')", "exists('locks')", "did you mean `/locks`", "是不是 `/locks`"),
    ("that: A.create is not none", "that: pttl('/locks') > 0", "pttl(", "of Redis' keys", "用于 Redis 的键"),
    ("that: A.create is not none", "that: role('zookeeper') == 'leader'", "role(", "is alone and has no role", "只有一台，没有角色"),
    ("that: A.create is not none", "that: A.list == 1", "A.list == 1", "answers a list", "的回复是列表"),
    ("zk: create /locks", "redis: SET a 1", "redis: SET a 1", "no server of this lab is Redis", "这个 lab 里没有 Redis"),
    ("zk: ls /locks", "zk: ls -e /locks", "ls -e", "no flag `-e`", "没有选项 `-e`"),
    ("zk: ls /locks", "zk: ls /locks /more", "/more", "with 2 operands", "带了 2 个参数"),
    ("set /locks data 0", "set /locks data first", "data first", "VERSION", "VERSION"),
    ("{ take: any }", "{ take: path }", "take: path", "begin with `/`", "以 `/` 开头"),
    ("zk: create /locks\n", "zk: create /locks/\n", "create /locks/", "a part without a name", "有一段没有名字"),
    ("zk: ls /locks", "zk: ls //locks", "ls //locks", "a part without a name", "有一段没有名字"),
    ("allow: [NoNode]", "allow: [NoNodeException]", "NoNodeException", "did you mean `NoNode`", "是不是 `NoNode`"),
    ("allow: [NoNode]", "allow: [NoNod]", "NoNod", "did you mean `NoNode`", "是不是 `NoNode`"),
    ("lab: zookeeper", "lab: zk", "lab: zk", "`lab` cannot be `zk`", "`lab` 不能是 `zk`"),
    ("that: A.create is not none", "that: A.create is not null", "is not null", "there is no test `null`", "没有名为 `null` 的测试"),
    ("zk: create /locks", "zk: create --ephemeral /locks", "--ephemeral", "write `create [-e] [-s]", "请写 `create [-e] [-s]"),
    ("zk: create /locks", "zk: creat /locks", "creat /locks", "did you mean `create`", "是不是 `create`"),
    ("zk: create /locks\n", "zk: create /a/locks\n", "create /a/locks", "write `- zk: create /a` before it", "请在前面写 `- zk: create /a`"),
    ("zk: create /locks\n", "zk: create /locks\n  - zk: create /locks # again\n", "# again", "is there already", "已经存在"),
    ("zk: create /locks\n", "zk: create -e /locks\n  - zk: create /locks/a\n", "zk: create -e /locks", "goes with the session", "随创建它的会话消失"),
    ("zk: set /locks data 0", "zk: set /lock data 0", "set /lock data", "did you mean `/locks`", "是不是 `/locks`"),
    ("zk: set /locks data 0 }", "zk: set /locks data 0, until: reply == 'OK' }", "until: reply", "answers an object, never 'OK'", "的回复是一个对象"),
    ("zk: \"delete ${create}\"", "zk: \"delete ${create} ${set.versoin}\"", "versoin", "did you mean `version`", "是不是 `version`"),
    ("zk: \"delete ${create}\"", "zk: \"multi check /locks 0, set /locks x\"", "multi check", "write `check PATH VERSION`", "请写 `check PATH VERSION`"),
    ("zk: \"delete ${create}\"", "zk: \"multi check /locks 0 ; get /locks\"", "get /locks\"", "check, create, delete, set", "只能有 check, create, delete, set"),
    ("zk: \"delete ${create}\"", "zk: \"delete ${create}\", allow: [KeyExists]", "KeyExists", "is an error of etcd", "是 etcd 的错误"),
    ("that: A.create is not none", "that: A.create == 'OK'", "A.create == 'OK'", "the path of a znode", "是 znode 的路径"),
    ("that: A.create is not none", "that: A.take.what == 'NODE_DELETED'", "NODE_DELETED", "did you mean 'NodeDeleted'", "是不是 'NodeDeleted'"),
    ("that: A.create is not none", "that: owner('/locks') == A", "== A", "write `owner('/locks') == 'A'`", "请写 `owner('/locks') == 'A'`"),
    ("that: A.create is not none", "that: owner('/locks') == 'C'", "== 'C'", "nobody is called 'C'", "没有谁叫 'C'"),
    ("that: A.create is not none", "that: A.notified == 'NodeDeleted'", "A.notified", "is a number", "是数字"),
    ("that: A.create is not none", "that: value('/locks').data == 'a'", ".data ==", "it is a text", "它是文字"),
    ("zk: ls /locks", "zk: \"ls ${where}\"", "ls ${where}", "must begin with `/`", "必须以 `/` 开头"),
    ("{ take: any }", "{ take: { from: /other } }", "from: /other", "leaves no watch on `/other`", "没有在 `/other` 上设 watch"),
    ("zk: \"delete ${create}\"", "zk: \"delete /locks/${create}\"", "delete /locks/", "write `${create}`", "请只写 `${create}`"),
    ("zk: set /locks data 0", "zk: \"set ${self} data\"", "set ${self}", "write the path first", "请先写路径"),
    ("that: A.create is not none", "that: A.take.what == 'NodeRemoved'", "NodeRemoved", "ZooKeeper tells NodeCreated", "ZooKeeper 的通知有 NodeCreated"),
    ("that: A.create is not none", "that: A.set.version == '1'", "version == '1'", "without quotes", "去掉引号"),
    ("set /locks data 0", "\"set /locks data ${watch}\"", "${watch}", "write `${watch.version}`", "请写 `${watch.version}`"),
    ("    - list: { zk: ls /locks }\n", "    - list: { zk: create -e /locks/x }\n    - under: { zk: create /locks/x/y }\n", "/locks/x/y", "such a znode has no children", "不能有子节点"),
    ("create -e -s /locks/n- ${self}\" }\n", "create -e /locks/n-${self}\" }\n    - let: { order: \"[create]|by_suffix\" }\n", "by_suffix", "create -e -s", "顺序节点才有序号"),
    ("    - take: { take: any }\n", "    - if: error == 'NodeExists'\n      then: [stop]\n    - take: { take: any }\n", "error == 'NodeExists'", "allow: [NodeExists]", "allow: [NodeExists]"),
    ("allow: [NoNode]", "allow: [Missing]", "allow: [Missing]", "NodeExists, NoNode", "NodeExists, NoNode"),
];

#[rustfmt::skip]
const IN_MARIADB: &[Change] = &[
    // Details that the server would refuse.
    ("n INT)", "n INT) ENGINE=InnoBD", "InnoBD", "did you mean `InnoDB`", "是不是 `InnoDB`"),
    ("n INT)", "n INT, at DATETIME(9))", "DATETIME(9)", "6 digits at most", "最多 6 位"),
    ("- read: { sql: SELECT n FROM stock WHERE id = 1 FOR UPDATE }", "- read: { sql: \"SELECT n, IFNULL(n) FROM stock WHERE id = 1\" }", "IFNULL(n)", "does not take 1 arguments", "不接受 1 个参数"),
    ("WHERE id = 1 FOR UPDATE", "WHERE COUNT(*) > 1", "COUNT(*)", "HAVING", "HAVING"),
    ("SELECT n FROM stock WHERE", "SELECT s.n FROM stock WHERE", "s.n", "is called `s`", "没有叫 `s` 的表"),
    ("{ sql: COMMIT }", "{ sql: ROLLBACK TO SAVEPOINT s2 }", "s2", "no statement sets the savepoint", "没有语句设置过保存点"),
    ("  - sql: INSERT INTO", "  - sql: CREATE TABLE stock (id INT)\n  - sql: INSERT INTO", "(id INT)", "is there already", "已经存在"),
    ("{ sql: COMMIT }", "{ sql: UNLOCK TABLES stock }", "UNLOCK TABLES", "names no table", "不带表名"),
    ("{ sql: COMMIT }", "{ sql: TRUNCATE stocks }", "stocks", "did you mean `stock`", "是不是 `stock`"),
    ("\"UPDATE stock SET n = ${read[0].n - 1} WHERE id = 1\", allow: [\"1213\"]", "\"UPDATE stock SET n = 'many' WHERE id = 1\"", "'many'", "takes a number", "要数字"),
    ("sql: BEGIN }", "sql: BEGINN }", "BEGINN", "begins with one of", "要以这些词之一开头"),
    ("sql: COMMIT }", "sql: \"COMMIT; COMMIT\" }", "COMMIT; COMMIT", "one SQL statement", "一条 SQL 语句"),
    ("sql: COMMIT }", "sql: \"SELECT 'x\" }", "SELECT 'x", "every quote closed", "引号都要成对"),
    ("sql: COMMIT }", "sql: \"SET GLOBAL x = 1\" }", "SET GLOBAL", "`GLOBAL`", "`GLOBAL`"),
    ("UPDATE stock SET", "UPDATE stocks SET", "UPDATE stocks", "did you mean `stock`", "是不是 `stock`"),
    ("SELECT n FROM stock", "SELECT n FROM orders", "FROM orders", "no statement creates the table `orders`", "没有语句创建过表 `orders`"),
    ("INSERT INTO stock", "INSERT INTO stok", "INTO stok", "did you mean `stock`", "是不是 `stock`"),
    ("allow: [\"1213\"]", "allow: [DEADLOCK]", "DEADLOCK", "'1213' is a deadlock", "'1213' 是死锁"),
    ("allow: [\"1213\"]", "allow: [\"12131\"]", "12131", "MariaDB has no error `12131`", "MariaDB 没有错误 `12131`"),
    ("sql: COMMIT }", "take: any }", "take: any", "tells anybody anything", "没有会发通知的服务器"),
    ("moves('A.begin') == 1", "A.read == 10", "A.read == 10", "answers a list", "的回复是列表"),
    ("moves('A.begin') == 1", "A.write == 'OK'", "A.write == 'OK'", "answers a number", "的回复是数字"),
    ("sql: COMMIT }", "redis: GET stock }", "redis: GET stock", "no server of this lab is Redis", "这个 lab 里没有 Redis"),
    ("${read[0].n - 1}", "${raed[0].n - 1}", "raed", "did you mean `read`", "是不是 `read`"),
    ("moves('A.begin') == 1", "exists('stock')", "exists('stock')", "a database holds rows", "不是哪一行"),
    ("moves('A.begin') == 1", "value('stock') == 1", "value('stock')", "a database holds rows", "不是哪一行"),
    ("SELECT n FROM stock", "SELECT m FROM stock", "SELECT m FROM", "its columns: id, n", "它的列：id, n"),
    ("SELECT n FROM stock", "SELECT n stock", "SELECT n stock", "no table is named", "没有写表"),
    ("SELECT n FROM stock WHERE", "SELECT n FORM stock WHERE", "FORM stock", "write `SELECT column", "请写 `SELECT column"),
    ("WHERE id = 1 FOR UPDATE", "FOR UPDATE WHERE id = 1", "FOR UPDATE WHERE", "unexpected `WHERE`", "意外的 `WHERE`"),
    ("WHERE id = 1 FOR UPDATE", "WHERE id = 1 FOR UPDTE", "FOR UPDTE", "did you mean `UPDATE`", "是不是 `UPDATE`"),
    ("WHERE id = 1 FOR UPDATE", "WHERE id == 1 FOR UPDATE", "id == 1", "compares with `=`", "用 `=` 比较"),
    ("WHERE id = 1 FOR UPDATE", "WHERE id = NULL FOR UPDATE", "= NULL", "write `IS NULL`", "请写 `IS NULL`"),
    ("WHERE id = 1 FOR UPDATE", "WHERE id = 1 FOR SHARE", "FOR SHARE", "write `LOCK IN SHARE MODE`", "请写 `LOCK IN SHARE MODE`"),
    ("UPDATE stock SET n", "UPDATE stock n", "UPDATE stock n", "write `UPDATE table SET", "请写 `UPDATE table SET"),
    ("UPDATE stock SET n = ${read[0].n - 1} WHERE", "UPDATE stock SET m = ${read[0].n - 1} WHERE", "SET m =", "`stock` has no column `m`", "`stock` 没有列 `m`"),
    ("UPDATE stock SET n = ${read[0].n - 1} WHERE", "UPDATE stock SET n = 1 AND id = 2 WHERE", "AND id = 2", "write a comma", "请用逗号"),
    ("VALUES (1, 10)", "VALUES (1)", "VALUES (1)", "there are 2 columns: id, n", "而列有 2 个：id, n"),
    ("VALUES (1, 10)", "VALUES (1, ten)", "(1, ten)", "a text stands in quotes: 'ten'", "文字要写在引号里：'ten'"),
    ("id INT PRIMARY KEY, n INT", "id INT PRIMARY KEY n INT", "KEY n INT", "unexpected `n`", "意外的 `n`"),
    ("id INT PRIMARY KEY, n INT", "id INT PRIMARY KEY, n NUMBER", "n NUMBER", "no type that MariaDB knows", "不是 MariaDB 的类型"),
    ("sql: BEGIN }", "sql: BEGIN TRANSACTION }", "BEGIN TRANSACTION", "write `BEGIN`", "请写 `BEGIN`"),
    ("sql: COMMIT }", "sql: \"SELECT GET_LOCK('a')\" }", "GET_LOCK('a')", "GET_LOCK('name', seconds)", "GET_LOCK('name', seconds)"),
    ("sql: COMMIT }", "sql: SELECT CUONT(*) FROM stock }", "CUONT(*)", "did you mean `COUNT`", "是不是 `COUNT`"),
    ("sql: COMMIT }", "sql: LOCK TABLES stock }", "LOCK TABLES stock", "LOCK TABLES table WRITE", "LOCK TABLES table WRITE"),
    ("${read[0].n - 1}", "${read.n - 1}", "${read.n", "`read[0].n`", "`read[0].n`"),
    ("${read[0].n - 1}", "${read[0].m - 1}", "${read[0].m", "have no column `m`", "没有列 `m`"),
    (", allow: [\"1213\"] }\n    - commit: { sql: COMMIT }", " }", "begin: { sql: BEGIN }", "never ends its transaction", "没有结束它的事务"),
    ("VALUES (1, 10)", "VALUES (1, 10), (1, 11)", "(1, 11)", "no two may share it", "这个键不能重复"),
    ("VALUES (1, 10)", "VALUES (NULL, 10)", "(NULL, 10)", "may not be NULL", "不能是 NULL"),
    ("VALUES (1, 10)", "VALUES (1, 'ten')", "'ten'", "takes a number", "要数字"),
    ("VALUES (1, 10)", "VALUES (1, 3000000000)", "3000000000", "takes numbers from", "的取值是"),
    ("stock VALUES (1, 10)", "stock (n) VALUES (10)", "stock (n)", "has no default", "没有默认值"),
    ("stock VALUES (1, 10)", "stock (id, id) VALUES (1, 2)", "(id, id)", "is here twice", "出现了两次"),
    ("  - sql: INSERT INTO stock VALUES (1, 10)", "  - sql: CREATE TABLE stock (id INT) # again", "# again", "is there already", "已经存在"),
    ("n INT)", "n VARCHAR)", "n VARCHAR)", "write `n VARCHAR(20)`", "请写 `n VARCHAR(20)`"),
    ("n INT)", "n INT, id INT)", "n INT, id INT)", "`id` is here twice", "`id` 在这里出现了两次"),
    ("n INT)", "n INT DEFAULT ten)", "DEFAULT ten", "is no value of `n`", "不是 `n` 的值"),
    ("n INT)", "n INT, KEY (m))", "KEY (m)", "its columns: id, n", "它的列：id, n"),
    ("n INT)", "n INT PRIMARY KEY)", "n INT PRIMARY", "only one primary key", "只能有一个主键"),
    ("n INT)", "n INT AUTO_INCREMENT)", "AUTO_INCREMENT", "is no key", "却不是键"),
    ("WHERE id = 1 FOR UPDATE", "WHERE id = 'one' FOR UPDATE", "id = 'one'", "never 'one'", "不会是 'one'"),
    ("WHERE id = 1 FOR UPDATE", "WHERE id FOR UPDATE", "WHERE id FOR", "no comparison of a column", "不是列和值的比较"),
    ("WHERE id = 1 FOR UPDATE", "WHERE id = 1 & n = 2 FOR UPDATE", "id = 1 & n", "`AND` between", "之间写 `AND`"),
    ("WHERE id = 1 FOR UPDATE", "WHERE id = ? FOR UPDATE", "id = ?", "filled in with `${name}`", "填入值要写 `${name}`"),
    ("SET n = ${read[0].n - 1} WHERE", "SET n = ${self} WHERE", "SET n = ${self}", "write `'${self}'`", "请写 `'${self}'`"),
    ("sql: COMMIT }", "sql: COMIT }", "COMIT", "did you mean `COMMIT`", "是不是 `COMMIT`"),
    ("sql: COMMIT }", "sql: LOCK TABLES stok WRITE }", "TABLES stok", "did you mean `stock`", "是不是 `stock`"),
    ("sql: COMMIT }", "sql: SELECT NOWW() }", "NOWW()", "did you mean `NOW`", "是不是 `NOW`"),
    ("sql: COMMIT }", "sql: \"INSERT INTO stock VALUES (${read[0].n})\" }", "VALUES (${read", "a row has 1 values", "一行有 1 个值"),
    ("sql: COMMIT }", "sql: \"INSERT INTO stock VALUES (2, n)\" }", "VALUES (2, n)", "`n` is no value", "`n` 不是值"),
    ("sql: BEGIN }", "sql: SET TRANSACTION ISOLATION LEVEL READ-COMMITTED }", "READ-COMMITTED", "write `SET TRANSACTION", "请写 `SET TRANSACTION"),
    ("moves('A.begin') == 1", "value('stocks/1').n == 9", "value('stocks/1')", "did you mean `stock`", "是不是 `stock`"),
    ("moves('A.begin') == 1", "value('stock/1').m == 9", "value('stock/1').m", "`stock` has no column `m`", "`stock` 没有列 `m`"),
    ("moves('A.begin') == 1", "value('stock/1').n == '9'", "value('stock/1').n", "without quotes", "去掉引号"),
    ("moves('A.begin') == 1", "value('stock/2').n == 9", "value('stock/2')", "no statement inserts the row `stock/2`", "没有语句插入过行 `stock/2`"),
    ("id INT PRIMARY KEY, n INT)", "id INT PRIMARY KEY, n INT, order INT)", "order INT", "`order` is a word of SQL", "`order` 是 SQL 的保留字"),
    ("n INT)", "n INT, key VARCHAR(20))", "key VARCHAR", "`key` is a word of SQL", "`key` 是 SQL 的保留字"),
    ("sql: COMMIT }", "sql: \"SELECT GET_LOCK('nightly', 5)\" }\n    - free: { sql: \"SELECT RELEASE_LOCK('nightlies')\" }", "RELEASE_LOCK", "never locks `nightlies`", "是不是 `nightly`"),
    ("sql: COMMIT }", "sql: \"SELECT GET_LOCK(nightly, 5)\" }", "GET_LOCK", "in quotes: 'nightly'", "引号里：'nightly'"),
    ("sql: BEGIN }", "sql: SELECT id, n FROM stock }", "SELECT id, n", "{ sql: \"SELECT a, b", "{ sql: \"SELECT a, b"),
    ("- moves('A.begin') == 1", "- A.read[0].n == '10'", "A.read[0].n", "without quotes: `A.read[0].n == 10`", "去掉引号：`A.read[0].n == 10`"),
    ("${read[0].n - 1}", "${read[1].n - 1}", "read[1]", "the first is `read[0].n`", "第一行是 `read[0].n`"),
    ("    - commit: { sql: COMMIT }\n", "    - if: read[0].n == '9'\n      then: [stop]\n    - commit: { sql: COMMIT }\n", "if: read[0]", "is a number, and never '9'", "是数字，不会是 '9'"),
    ("- moves('A.begin') == 1", "- A.write == 1213", "A.write == 1213", "in quotes: `A.write == '1213'`", "加上引号：`A.write == '1213'`"),
    ("SELECT n FROM stock WHERE id = 1 FOR UPDATE", "SELECT TOP 1 n FROM stock", "TOP 1", "does not know `TOP`", "没有 `TOP`"),

    ("  only:\n", "  only:\n    clients: { A: { runs: worker }, B: { runs: other } }\n    programs: { other: [write: { sql: UPDATE stock SET n = 0 WHERE id = 1 }] }\n    story:\n      - move: [A.begin, A.read]\n      - move: B.write\n", "- move: B.write", "waits here for what A holds", "要等 A 释放"),
];

#[rustfmt::skip]
const IN_ETCD: &[Change] = &[
    ("etcd: grant 5 }", "etcd: grant 5s }", "grant 5s", "SECONDS is a whole number", "SECONDS 是整数"),
    ("{ lease: 5s }\nclients:\n  A: { runs: worker }\nprograms:\n  worker:\n    - grant: { etcd: grant 5 }", "{ ttl: 1 }\nclients:\n  A: { runs: worker }\nprograms:\n  worker:\n    - grant: { etcd: \"grant ${ttl}\" }", "grant ${ttl}", "etcd grants 2 s or more", "etcd 至少给 2 秒"),
    ("{ lease: 5s }\nclients:\n  A: { runs: worker }\nprograms:\n  worker:\n    - grant: { etcd: grant 5 }", "{ ttl: five }\nclients:\n  A: { runs: worker }\nprograms:\n  worker:\n    - grant: { etcd: \"grant ${ttl}\" }", "grant ${ttl}", "SECONDS is a whole number", "SECONDS 是整数"),
    ("    - leave:", "    - gone: { etcd: watch lock/A 1 }\n    - if: gone == 'DELETED'\n      then: [stop]\n    - leave:", "gone == 'DELETED'", "answers 'DELETE'", "的回复是 'DELETE'"),
    ("etcd: grant 5 }", "etcd: grant 1 }", "grant 1", "too short", "太短"),
    ("etcd: grant 5 }", "etcd: \"grant ${lease}\" }", "grant ${lease}", "write `${lease // 1000}`", "请写 `${lease // 1000}`"),
    ("create lock/${self} ${self} ${grant}", "create lock/${self} ${self} mine", "self} mine", "LEASE is a whole number", "LEASE 是整数"),
    ("create lock/${self} ${self} ${grant}", "create lock/main ${self} ${grant}\" }\n    - see: { etcd: \"get lock/man", "get lock/man", "did you mean `lock/main`", "是不是 `lock/main`"),
    ("etcd: get lock/A }", "etcd: range lock/A }", "range lock/A", "has no call `range`", "没有 `range` 这个调用"),
    ("moves('A.grant') == 1", "value('lok/A') == 'A'", "value('lok/A')", "did you mean `lock/A`", "是不是 `lock/A`"),
    ("moves('A.grant') == 1", "owner('lock') == owner('lock')", "owner('lock') ==", "compared with itself", "和它自己比较"),
    ("create lock/${self} ${self} ${grant}", "put lock/${self} ${self} --lease=${grant}", "--lease", "has no option `--lease`", "没有选项 `--lease`"),
    ("etcd: grant 5 }", "etcd: lease grant 5 }", "lease grant", "there are: before", "可用的有：before"),
    ("etcd: get lock/A }", "etcd: get }", "get }", "write `get KEY`", "请写 `get KEY`"),
    ("revoke ${grant}\" }", "revoke ${enter.revision}\" }", "enter.revision", "it has create_revision", "它有 create_revision"),
    ("${self} ${grant}\" }", "${self} ${grant}\", until: reply == 'OK' }", "until: reply", "answers an object", "的回复是一个对象"),
    ("moves('A.grant') == 1", "value('lock/A').value == 'A'", ".value ==", "it is a text", "它是文字"),
    ("${grant}\" }\nstory", "${enter}\" }\nstory", "revoke ${enter}", "what `grant` answered", "`grant` 的回复"),
    ("create lock/${self} ${self} ${grant}", "create lock/${self} ${self} lease=${grant}", "lease=", "LEASE is a whole number", "LEASE 是整数"),
    ("revoke ${grant}\" }", "revoke ${grant}\", allow: [NotFound] }", "allow: [NotFound]", "unknown error code `NotFound`", "没有名为 `NotFound` 的错误码"),

    ("etcd: grant 5 }", "etcd: grant 5 7 }\n    - keep: { etcd: keepalive 8 }", "keepalive 8", "no request grants the lease `8`", "没有请求申请过租约 `8`"),
];

#[rustfmt::skip]
const IN_CLUSTER: &[Change] = &[
    ("MSET {x}a 1 {x}b 2", "MSET a 1 b 2", "MSET a 1", "one hash tag", "同一个哈希标签"),
    ("keys: [\"{x}a\", \"{x}b\"]", "keys: [\"{x}a\", \"{y}b\"]", "{y}b", "different slots", "不同槽"),
    ("MSET {x}a 1 {x}b 2", "SELECT 1", "SELECT 1", "only the database 0", "只有 0 号数据库"),
    ("acquire == 'OK'", "acquire == 'MOVED'", "'MOVED'", "write `error == 'MOVED'`", "请写 `error == 'MOVED'`"),
    ("clients:\n", "setup:\n  - redis: MSET {x}a 1 {y}b 2\nclients:\n", "{y}b", "different slots", "不同槽"),
    ("role('node5') == 'master'", "role('node4') == 'master'", "role('node4')", "to which nothing has happened", "一切正常"),
    ("- holders('lock') >= 1", "- role('node2') == 'replica'", "role('node2')", "`node2` is dead here", "`node2` 此时已死"),
];

#[rustfmt::skip]
const IN_FILES: &[Change] = &[
    ("-u m1/stock.lock", "-u m2/stock.lock", "-u m2", "never locks `m2/stock.lock`", "从没锁过 `m2/stock.lock`"),
    ("    - holds: lock\n", "    - guard: { local: lock shop }\n    - free: { local: unlock shp }\n    - holds: lock\n", "unlock shp", "did you mean `shop`", "是不是 `shop`"),
    ("-u m1/stock.lock", "-x m1/stock.lock", "-x m1", "`-u FILE`", "`-u 文件`"),
    ("  - send: B.lock", "  - move: B.lock", "move: B.lock", "waits here for what A holds", "要等 A 释放"),
    ("  - send: B.lock\n", "  - move: B.lock\n", "move: B.lock", "waits here for what A holds", "要等 A 释放"),
    ("    lesson: { en: One after", "    explore: { expect: none, faults: [lost-reply] }\n    lesson: { en: One after", "lost-reply", "only `crash` and `freeze`", "只能是 `crash` 和 `freeze`"),
    ("flock: \"m1/stock.lock\" }", "flock: \"-n m1/stock.lock\", until: reply == 'OK', every: 1s }", "-n m1", "allow: [EWOULDBLOCK]", "allow: [EWOULDBLOCK]"),
];

#[test]
fn a_hundred_mistakes_are_told_where_they_are_and_what_would_be_right() {
    let mut failed = Vec::new();
    let mut count = 0;
    for (lesson, changes) in [
        (REDIS, IN_REDIS),
        (ZOOKEEPER, IN_ZOOKEEPER),
        (MARIADB, IN_MARIADB),
        (ETCD, IN_ETCD),
        (CLUSTER, IN_CLUSTER),
        (FILES, IN_FILES),
    ] {
        let right = from_text("right.yaml", lesson).and_then(|loaded| loaded.check());
        right.unwrap_or_else(|error| panic!("{error}"));
        for (from, to, at, en, zh) in changes {
            count += 1;
            assert!(lesson.contains(from), "the right lesson has no `{from}`");
            let wrong = lesson.replacen(from, to, 1);
            let Err(error) = from_text("wrong.yaml", &wrong).and_then(|loaded| loaded.check()) else {
                failed.push(format!("`{to}` is let through"));
                continue;
            };
            let line = wrong.lines().position(|line| line.contains(at)).expect(at) + 1;
            let column = error.place.map_or(0, |(_, column)| column);
            let longest = wrong.lines().nth(line - 1).map_or(0, |line| line.chars().count() + 1);
            let there =
                error.place.is_some_and(|(found, _)| found == line) && (1..=longest).contains(&column);
            let [said_en, said_zh] = [En, Zh].map(|lang| error.in_lang(lang));
            let programmers = ["expected struct", "expected a", "invalid type", "RawOperation"];
            if !there
                || !said_en.contains(en)
                || !said_zh.contains(zh)
                || error.message.en == error.message.zh
                || error.help.is_some_and(|help| help.en == help.zh && help.en.contains(" a "))
                || programmers.iter().any(|words| said_en.contains(words))
            {
                failed.push(format!("`{to}` (line {line}):\n{said_en}\n{said_zh}"));
            }
        }
    }
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n\n"));
    assert!(count >= 100, "{count}");
}

/// Changed lessons that stay valid: what `check` might take for a mistake.
#[rustfmt::skip]
const STILL_RIGHT: &[(&str, &[(&str, &str)])] = &[
    // What a server accepts although it looks odd.
    (MARIADB, &[("SELECT n FROM stock WHERE id = 1 FOR UPDATE", "SELECT !0 AS n FROM stock WHERE id != 2")]),
    (MARIADB, &[("{ sql: COMMIT }", "{ sql: COMMIT }\n    - free: { sql: SELECT RELEASE_ALL_LOCKS() }")]),
    (MARIADB, &[("    - begin: { sql: BEGIN }", "    - level: { sql: \"SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ WRITE\" }\n    - begin: { sql: BEGIN }"), ("move: A.begin", "move: [A.level, A.begin]")]),
    (REDIS, &[("if owner == ARGV[1] then", "local set = redis.call('SET', KEYS[1], ARGV[1], 'NX')\n    if set and set.ok == 'OK' and redis.call('EXISTS', KEYS[1]) == 1 then")]),
    // In a claim, an allowed error is the reply.
    (MARIADB, &[("move: A.begin", "move: [A.begin, A.read, A.write]"), ("moves('A.begin') == 1", "A.write == '1213'")]),
    (MARIADB, &[("(1, 10)", "(1, 10), (2, NULL), (3, '7')")]),
    (MARIADB, &[("n INT)", "n INT NOT NULL DEFAULT 0)"), ("stock VALUES (1, 10)", "stock (id) VALUES (1)")]),
    (MARIADB, &[("id INT PRIMARY KEY", "id INT AUTO_INCREMENT PRIMARY KEY"), ("(1, 10)", "(NULL, 10), (DEFAULT, 10)")]),
    (MARIADB, &[("stock VALUES (1, 10)", "stock VALUES (1, 10) ON DUPLICATE KEY UPDATE n = VALUES(n)")]),
    (MARIADB, &[("  - sql: INSERT INTO", "  - sql: CREATE TABLE IF NOT EXISTS stock (id INT PRIMARY KEY, n INT)\n  - sql: INSERT INTO")]),
    (MARIADB, &[("SET n = ${read[0].n - 1}", "SET n = '${self}'")]),
    // A deleted key may be created again with another type.
    (REDIS, &[("{ redis: GET stock }", "{ redis: DEL stock }"), ("reply|int > 0", "reply == 1"), ("- work: 1s", "- add: { redis: SADD stock A }")]),
    (REDIS, &[("SET stock 10", "SET stock:1 10"), ("{ redis: GET stock }", "{ redis: GET stock:2 }"), ("value('stock')|int == 9", "sold == 1")]),
    (REDIS, &[("return 0\n", "return #KEYS\n"), ("keys: [lock], args", "keys: [lock, stock], args")]),
    (REDIS, &[("redis: SET stock 10", "redis: ZADD waiting NX CH 1 A"), ("value('stock')|int == 9", "sold == 1")]),
    (REDIS, &[("SET lock ${token} NX", "SET lock {lock}token NX")]),
    (REDIS, &[("right: A.acquire == 'OK'", "right: A.read is not defined")]),
    (REDIS, &[("en: A takes the lock.,", "en: \"A takes the key {lease}.\",")]),
    (REDIS, &[("reply|int > 0", "read ~ 'n' == '1n'")]),
    (ZOOKEEPER, &[("{ take: any }", "{ take: { from: [/other, /locks] } }")]),
    (ZOOKEEPER, &[("delete ${create}", "delete /locks/${create|replace('/locks/', '')}")]),
    (CLUSTER, &[("many: { redis: \"MSET {x}a 1 {x}b 2\" }", "many: { redis: \"GET {acquire}\" }")]),
    // A discarded transaction, a watch in another program's order, a key that a script composes.
    (REDIS, &[("    - read: { redis: GET stock }\n    - if: reply|int > 0\n", "    - multi: { redis: MULTI }\n    - read: { redis: GET stock }\n    - if: acquire is none\n      then:\n        - discard: { redis: DISCARD }\n        - stop\n    - exec: { redis: EXEC }\n    - if: exec is not none\n"), ("value('stock')|int == 9", "sold == 1"), ("move: [B.acquire, A.read]", "move: B.acquire")]),
    (REDIS, &[("redis.call('GET', KEYS[1])", "redis.call('GET', 'old:' .. KEYS[1])"), ("value('stock')|int == 9", "not exists('old:lock')")]),
    (REDIS, &[("{ redis: GET stock }", "{ redis: XADD log NOMKSTREAM MAXLEN ~ 100 LIMIT 5 1-1 item book size 2 }"), ("reply|int > 0", "reply is none"), ("value('stock')|int == 9", "sold == 1")]),
    (REDIS, &[("{ redis: GET stock }", "{ redis: SADD got 7 }"), ("reply|int > 0", "reply == 1"), ("value('stock')|int == 9", "sold == 1 and '7' in value('got').set")]),
    (REDIS, &[("{ redis: GET stock }", "{ redis: 'EVAL \"return redis.error_reply([[NOTOWNER it]])\" 0', allow: [NOTOWNER] }"), ("reply|int > 0", "error == 'NOTOWNER'"), ("value('stock')|int == 9", "sold == 1")]),
    (REDIS, &[("{ redis: GET stock }", "{ redis: XREAD COUNT 1 STREAMS a b 0 0 }"), ("reply|int > 0", "reply is none"), ("value('stock')|int == 9", "sold == 1")]),
    (MARIADB, &[("moves('A.begin') == 1", "exists('stock/1')")]),
    (MARIADB, &[("n INT)", "n INT, `order` INT)"), ("(1, 10)", "(1, 10, 0)")]),
    (MARIADB, &[("stock VALUES (1, 10)", "stock SELECT 2, 10"), ("moves('A.begin') == 1", "exists('stock/2')")]),
    (FILES, &[("move: A.lock", "move: [A.lock, A.unlock, B.lock]"), ("  - send: B.lock\n", "")]),
    (FILES, &[("  - move: A.lock\n  - send: B.lock\n", "  - move: A.lock\n  - crash: A\n  - move: B.lock\n"), ("  - finish: A\n", "")]),
    // What an actor may count, hold or become after all.
    (REDIS, &[("- moves('A.acquire') == 1", "- sold == 2 or moves('A.acquire') == 1")]),
    (REDIS, &[("  - never: { overlap: lock }\n", "  - never: sold > 5 or holders('lock') > 5\n")]),
    (REDIS, &[("redis: SADD buyers A", "redis: XGROUP CREATE jobs jobs $ MKSTREAM"), ("{ redis: PTTL lock }", "{ redis: XREADGROUP GROUP other A STREAMS jobs >, allow: [NOGROUP] }")]),
    (REDIS, &[("{ redis: GET stock }", "{ redis: \"SISMEMBER of:${self} lock\" }"), ("redis: SADD buyers A", "redis: SADD of:A lock"), ("reply|int > 0", "reply == 1"), ("value('stock')|int == 9", "sold == 1")]),
    (REDIS, &[("        - look: { redis: PTTL lock }\n", "        - look: { redis: TTL lock }\n        - wait: ${look * 1000}\n")]),
    (REDIS, &[("A: { runs: worker }", "A: { runs: worker, with: { weight: 1 } }"), ("with: { lease: 2s }", "with: { lease: 2s, weight: 2 }"), ("SET lock ${token} NX", "SET lock ${token}-${weight} NX")]),
    (REDIS, &[("return 0\n", "return 'KEYS'\n")]),
    (MARIADB, &[("WHERE id = 1 FOR UPDATE", "WHERE n > 1 FOR UPDATE"), ("${read[0].n - 1}", "${read[1].n - 1}")]),
    (MARIADB, &[("  only:\n", "  only:\n    clients: { A: { runs: worker }, B: { runs: other } }\n    programs: { other: [write: { sql: UPDATE stock SET n = 0 WHERE id = 2 }] }\n    story:\n      - move: [A.begin, A.read]\n      - move: B.write\n")]),
    (ETCD, &[("etcd: grant 5 }", "etcd: grant 5 7 }\n    - drop: { etcd: revoke 8, allow: [LeaseNotFound] }")]),
    (CLUSTER, &[("kill: node2", "hold: node5->node2"), ("role('node5') == 'master'", "role('node5') == 'master' or role('node4') == 'master'")]),
    (CLUSTER, &[("- holders('lock') >= 1", "- role('node2') == 'replica' or role('node5') == 'master'")]),
    (FILES, &[("  B: { runs: worker }\n", "  B: { runs: worker, with: { machine: m2 } }\nparams: { machine: m1 }\n"), ("flock: \"m1/", "flock: \"${machine}/"), ("-u m1/", "-u ${machine}/"), ("send: B.lock", "move: B.lock")]),
    (REDIS, &[("right: A.acquire == 'OK'", "right: A.acquire == 'READONLY' or A.acquire == 'OK'")]),
    (REDIS, &[("- moves('A.acquire') == 1", "- A.read == 'READONLY' or sold == 1")]),
];

#[test]
fn what_is_unusual_and_right_is_let_through() {
    for (lesson, changes) in STILL_RIGHT {
        let changed = changes.iter().fold((*lesson).to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "the right lesson has no `{from}`");
            text.replacen(from, to, 1)
        });
        let checked = from_text("right.yaml", &changed).and_then(|loaded| loaded.check());
        assert!(checked.is_ok(), "{changes:?}: {}", checked.expect_err("a mistake").in_lang(En));
    }
}

/// Tables for the statements below, and statements that a server accepts and refuses.
const TABLES: [&str; 3] = [
    "CREATE TABLE good (id INT PRIMARY KEY, name VARCHAR(20), stock INT, version INT)",
    "CREATE TABLE ord (id INT PRIMARY KEY AUTO_INCREMENT, good INT, buyer VARCHAR(10))",
    "CREATE TABLE stock_lock (name VARCHAR(20) PRIMARY KEY, owner VARCHAR(36), expires DATETIME(3))",
];
#[rustfmt::skip]
const GOOD_SQL: &[&str] = &[
    "SELECT COALESCE(NULL, 1), IFNULL(NULL, 1), CONCAT_WS('-', 'a', 'b'), LEAST(1, 2), MID('abc', 1, 2)",
    "SELECT stock, version FROM good WHERE id = 1 FOR UPDATE",
    "SELECT stock FROM good WHERE id = 1 FOR UPDATE NOWAIT",
    "SELECT stock FROM good WHERE id = 1 FOR UPDATE SKIP LOCKED",
    "SELECT stock FROM good WHERE id = 1 FOR UPDATE WAIT 5",
    "select stock from good where id = 1 lock in share mode",
    "SELECT `stock` FROM `good` WHERE `name` = \"ball\" AND name <> 'it''s'",
    "SELECT * FROM good WHERE stock BETWEEN 1 AND 5 AND name LIKE 'b%' ORDER BY id DESC LIMIT 1 OFFSET 0",
    "SELECT stock FROM good ORDER BY stock, id LIMIT 0, 1",
    "SELECT DISTINCT stock FROM good WHERE name IS NOT NULL AND NOT stock > 5",
    "SELECT COUNT(*) AS n, MAX(stock) highest FROM good GROUP BY name HAVING n > 1 ORDER BY highest",
    "SELECT IFNULL(MAX(id), 0) + 1 AS next_id FROM good",
    "SELECT IF(stock > 0, 'yes', 'no') AS x, CASE WHEN stock > 0 THEN 1 ELSE 0 END AS y FROM good",
    "SELECT g.stock, o.buyer FROM good g JOIN ord o ON o.good = g.id WHERE g.id = 1",
    "SELECT g.* FROM good AS g LEFT JOIN ord AS o ON o.good = g.id WHERE o.id IS NULL",
    "SELECT good.stock FROM good, ord WHERE good.id = ord.good",
    "SELECT stock FROM good WHERE id IN (SELECT good FROM ord WHERE buyer = 'A')",
    "SELECT stock FROM good WHERE EXISTS (SELECT 1 FROM ord WHERE ord.good = good.id)",
    "SELECT n FROM (SELECT stock AS n FROM good) AS inner_one WHERE n > 0",
    "WITH few AS (SELECT id, stock FROM good WHERE stock < 5) SELECT few.stock FROM few",
    "SELECT stock FROM good UNION ALL SELECT id FROM ord ORDER BY 1",
    "SELECT GET_LOCK('lock', 10) AS got",
    "SELECT RELEASE_LOCK('lock'), IS_FREE_LOCK('lock'), IS_USED_LOCK('lock'), CONNECTION_ID()",
    "SELECT NOW(), NOW(3), CURRENT_TIMESTAMP, UNIX_TIMESTAMP(), LAST_INSERT_ID(), ROW_COUNT()",
    "SELECT @@autocommit, @@tx_isolation, @n",
    "SELECT stock INTO @n FROM good WHERE id = 1",
    "SELECT owner FROM stock_lock WHERE expires < NOW() - INTERVAL 5 SECOND",
    "SELECT TIMESTAMPDIFF(SECOND, expires, NOW()), DATE_ADD(expires, INTERVAL 1 MINUTE) FROM stock_lock",
    "SELECT CONCAT(name, '-', stock), CAST(stock AS CHAR), SUBSTRING(name, 2) FROM good",
    "SELECT stock DIV 2, stock % 2, -stock, stock << 1, name <=> NULL FROM good",
    "SELECT seq FROM seq_1_to_5",
    "SELECT trx_id FROM information_schema.innodb_trx",
    "SELECT stock FROM good FORCE INDEX (PRIMARY) WHERE id = 1",
    "SELECT SQL_NO_CACHE stock FROM good",
    "SELECT 1 FROM DUAL",
    "SELECT SLEEP(0)",
    "INSERT INTO good VALUES (1, 'ball', 5, 0)",
    "INSERT INTO good VALUES (1, 'ball', DEFAULT, NULL), (2, \"bat\", 1 + 1, 0)",
    "INSERT INTO good (id, name, stock) VALUES (1, 'a', 5)",
    "INSERT good (id) VALUE (1)",
    "INSERT INTO ord () VALUES ()",
    "INSERT INTO good SET id = 1, stock = 5",
    "INSERT IGNORE INTO good (id) VALUES (1)",
    "INSERT INTO good (id, stock) VALUES (1, 2) ON DUPLICATE KEY UPDATE stock = stock + VALUES(stock)",
    "INSERT INTO ord (good, buyer) SELECT id, 'A' FROM good WHERE stock > 0",
    "INSERT INTO ord (good) VALUES (1) RETURNING id",
    "INSERT INTO stock_lock (name, owner, expires) VALUES ('stock', 'A', NOW(3) + INTERVAL 3 SECOND)",
    "REPLACE INTO good VALUES (1, 'a', 5, 0)",
    "UPDATE good SET stock = stock - 1, version = version + 1 WHERE id = 1 AND version = 3",
    "UPDATE good SET stock = stock - 1 WHERE id = 1 AND stock > 0 ORDER BY id LIMIT 1",
    "UPDATE good SET stock = (SELECT MAX(id) FROM ord), name = NULL WHERE id = 1",
    "UPDATE good SET stock = IF(stock > 0 AND version = 1, stock - 1, 0) WHERE id = 1",
    "UPDATE good AS g JOIN ord o ON o.good = g.id SET g.stock = g.stock - 1 WHERE o.id = 1",
    "UPDATE good, ord SET good.stock = 1 WHERE good.id = ord.good",
    "UPDATE good SET id = LAST_INSERT_ID(id + 1)",
    "UPDATE stock_lock SET owner = 'A' WHERE name = 'stock' AND (owner IS NULL OR expires < NOW(3))",
    "DELETE FROM good WHERE id = 1 ORDER BY id LIMIT 1",
    "DELETE FROM stock_lock WHERE name = 'stock' AND owner = 'A'",
    "DELETE FROM good WHERE id = 1 RETURNING stock",
    "DELETE g FROM good g JOIN ord o ON o.good = g.id",
    "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, n INT) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
    "CREATE TABLE t (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) UNIQUE COMMENT 'x', KEY k (name(10)), CHECK (id > 0))",
    "CREATE TABLE t (a TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, b DATETIME(3) DEFAULT NOW(3), c DECIMAL(10,2), d ENUM('a','b'), e JSON, f BOOLEAN DEFAULT FALSE, g TINYINT(1), h TEXT, i DOUBLE)",
    "CREATE TABLE t (a SERIAL, b UUID, c YEAR, d TIME(3), e INT AS (a + 1) VIRTUAL, f CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, PRIMARY KEY (a))",
    "CREATE TABLE t (`key` VARCHAR(20) PRIMARY KEY, value INT, owner INT, FOREIGN KEY (owner) REFERENCES good (id))",
    "CREATE TABLE t SELECT * FROM good",
];
#[rustfmt::skip]
const BAD_SQL: &[&str] = &[
    "SELECT COALESC(NULL, 1)",
    "SELECT stock FROM good WHERE id == 1",
    "SELECT stok FROM good",
    "SELECT stock good WHERE id = 1",
    "SELECT stock FORM good",
    "SELECT stock, FROM good",
    "SELECT stock FROM good WHERE",
    "SELECT stock FROM good FOR UPDATE WHERE id = 1",
    "SELECT stock FROM good WHERE id = 1 FOR UPDATES",
    "SELECT stock FROM good WHERE id = 1 FOR SHARE",
    "SELECT stock FROM good WHERE id = 1 ORDER id",
    "SELECT stock FROM good WHERE id = 1 LOCK IN SHARED MODE",
    "SELECT stock FROM good WHERE (id = 1",
    "SELECT g.stok FROM good g JOIN ord o ON o.good = g.id",
    "SELECT GET_LOCK('a')",
    "SELECT RELEASE_LOCK()",
    "INSERT INTO good (id) VALUES (1) ON CONFLICT DO NOTHING",
    "INSERT OR REPLACE INTO good (id) VALUES (1)",
    "UPDATE good SET stock = 1 WHERE id = 1 RETURNING stock",
    "UPDATE good SET stock = 1 FROM ord WHERE ord.good = good.id",
    "SELECT TOP 1 stock FROM good",
    "SELECT stock FROM good WHERE name ILIKE 'b%'",
    "SELECT stock::text FROM good",
    "SELECT stock FROM good WHERE id = 1 FOR UPDATE OF good",
    "SELECT pg_advisory_lock(1)",
    "INSERT INTO good VALUES (1, 'ball')",
    "INSERT INTO good (id, nam) VALUES (1, 'ball')",
    "INSERT INTO good (id, name) VALUES (1, ball)",
    "INSERT INTO good (id, name) VALUES (1, 'ball', 2)",
    "INSERT good SET id 1",
    "UPDATE good stock = stock - 1 WHERE id = 1",
    "UPDATE good SET stok = 1",
    "UPDATE good SET stock = stock - 1 WHERE ident = 1",
    "UPDATE 'good' SET stock = 1",
    "UPDATE FROM good SET stock = 1",
    "DELETE * FROM good WHERE id = 1",
    "DELETE good WHERE id = 1",
    "CREATE TABLE t (id INT PRIMARY KEY, n NUMBER)",
    "CREATE TABLE t (id INT PRIMARY KEY n INT)",
    "CREATE TABLE t (id INT PRIMARY KEY, n INT",
    "CREATE TABLE t (id INT PRIMARY KEY, n STRING)",
    "CREATE TABLE t id INT",
    "CREATE TABLE t (id INT PRIMARY KEY, order INT)",
    "CREATE TABLE t (key VARCHAR(20) PRIMARY KEY)",
    "CREATE TABLE groups (id INT PRIMARY KEY, rows INT)",
];

#[tokio::test]
async fn sql_is_what_a_server_says() {
    let lab = lab::lab(LabKind::Mariadb).await;
    let socket = lab.endpoint("mariadb").expect("an address");
    let url = format!("mysql://lesson@localhost/lesson?socket={socket}");
    let mut server = Conn::from_url(&url).await.expect("a connection");
    for table in TABLES {
        server.query_drop(table).await.expect("it is created");
    }
    let created = TABLES.map(|table| format!("  - sql: {table}\n")).concat();
    let lesson =
        MARIADB.replacen("clients:\n", &format!("{created}clients:\n"), 1).replace("${read[0].n - 1}", "1");
    for (statements, is_good) in [(GOOD_SQL, true), (BAD_SQL, false)] {
        for statement in statements {
            let answer = server.prep(*statement).await;
            assert_eq!(answer.is_ok(), is_good, "the server: {statement}: {answer:?}");
            let quoted = serde_json::to_string(statement).expect("a text");
            let lesson = lesson.replacen("SELECT n FROM stock WHERE id = 1 FOR UPDATE", &quoted, 1);
            let checked = from_text("lesson.yaml", &lesson).and_then(|loaded| loaded.check());
            assert_eq!(checked.is_ok(), is_good, "check: {statement}: {checked:?}");
        }
    }
    drop(server);
    lab.shutdown().await;
}

/// Scripts that a server accepts, and scripts that it refuses, all with one key and one argument.
const GOOD: &[&str] = &[
    "return 1",
    "local a, b = 1, {x = 2, [3] = 'y'; 4} return a + b.x * -b[3]:len() ^ 2 .. ''",
    "for i = 1, 3 do if i % 2 == 0 then break end end for _, v in ipairs({1}) do local w = v end return #KEYS",
    "local function f(n, ...) if n <= 0 then return 0 else return f(n - 1, ...) end end return f(3, unpack(ARGV))",
    "local n = 0 repeat local m = n n = n + 1 until m > 2 while n > 0 do n = n - 1 end do local n = 1 end return n",
    "-- a comment\n--[[ a long\none ]] local t = [[text]] local u = [==[ ]] ]==] return t .. u .. \"it's\"",
    "local ok, err = pcall(function() return redis.call('GET', KEYS[1]) end) return tostring(ok) .. type(err)",
    "redis.call('SET', KEYS[1], ARGV[1], 'PX', 3000) return redis.call('PTTL', KEYS[1]) > 0 and 1 or nil",
    "local t = {} t.x = {} t.x['y'] = function(self) return 1 end return t.x:y()",
    "return {redis.call('EXISTS', unpack(KEYS)), 0x10, 1e3, .5, not true, 'a' ~= 'b'}",
    "return redis.status_reply('FINE');",
    "return cjson.encode({string.format('%d', tonumber(ARGV[1]) or 7), math.floor(1.5), bit.band(3, 1)})",
];
const BAD: &[&str] = &[
    "if 1 then return 1",
    "return 1 end",
    "local x = ",
    "return 1 +",
    "return 'open",
    "x = 1 return x",
    "return y",
    "return redis.call('GTE', KEYS[1])",
    "return redis.call('GET')",
    "return redis.foo('GET', KEYS[1])",
    "local x == 1",
    "if 1 != 2 then return 1 end",
    "return 1 return 2",
    "for i = 1, 3 end",
    "local t = {1, 2 return t",
    "return redis.call('GET' KEYS[1])",
    "local x = 1; x",
    "function f() return 1 end return f()",
    "return [[open",
    "return 3..4..",
    "elseif 1 then end",
    "local 1x = 2",
    "return KEY[1]",
];

#[tokio::test]
async fn commands_and_scripts_are_what_a_server_says() {
    let mut lab = lab::lab(LabKind::Redis).await;
    let address = lab.link("A", "redis").await.expect("a link");
    let mut redis = lab::connect(&address).await.expect("a connection");
    let mut compared = 0;
    for (name, arity) in arities() {
        let mut info = redis::cmd("COMMAND");
        info.arg("INFO").arg(name);
        let info: Vec<redis::Value> = info.query_async(&mut redis).await.expect("an answer");
        // A command that this server does not know yet is nil.
        let Some(redis::Value::Array(of)) = info.first() else { continue };
        let Some(redis::Value::Int(known)) = of.get(1) else { panic!("{name}: {of:?}") };
        // A newer server may accept options that an older one does not.
        assert!(arity == *known || -arity == *known, "{name}: {arity} here, {known} on the server");
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
    for (scripts, is_good) in [(GOOD, true), (BAD, false)] {
        for script in scripts {
            let answer: redis::RedisResult<redis::Value> =
                redis::cmd("EVAL").arg(script).arg(1).arg("key").arg("7").query_async(&mut redis).await;
            assert_eq!(answer.is_ok(), is_good, "the server: {script}: {answer:?}");
            let quoted = format!("  unlock: {}\n", serde_json::to_string(script).expect("a text"));
            let (before, rest) = REDIS.split_once("  unlock: |\n").expect("a script");
            let (_, after) = rest.split_once("clients:\n").expect("what follows");
            let lesson = format!("{before}{quoted}clients:\n{after}");
            let checked = from_text("lesson.yaml", &lesson).and_then(|loaded| loaded.check());
            assert_eq!(checked.is_ok(), is_good, "check: {script}: {checked:?}");
        }
    }
    lab.shutdown().await;
}
