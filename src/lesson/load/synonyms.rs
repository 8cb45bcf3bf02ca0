//! Words from other tools, or from other parts of a lesson, and what to write instead.

use crate::text::{Text, Words};

/// The type in the schema, the words, and the help.
const SYNONYMS: &[(&str, &[&str], Words)] = &[
    (
        "StoryItem",
        &["moving", "for"],
        Words::new(
            "who moves meanwhile stands inside: `- pass: { for: 3s, moving: [A] }`",
            "期间谁自己走要写在里面：`- pass: { for: 3s, moving: [A] }`",
        ),
    ),
    (
        "StoryItem",
        &["within", "that", "until"],
        Words::new(
            "time that passes until something is so: `- await: { that: sold == 1, within: 30s }`",
            "等到某个条件成立：`- await: { that: sold == 1, within: 30s }`",
        ),
    ),
    (
        "StoryItem",
        &["wait", "work", "sleep", "advance", "time"],
        Words::new("time passes with `- pass: 3s`", "让时间流逝请写 `- pass: 3s`"),
    ),
    (
        "StoryItem",
        &["pause", "suspend", "stop", "halt"],
        Words::new(
            "a client or server stands still with `- freeze: A`; time passes with `- pass: 3s`",
            "让客户端或服务器停住请写 `- freeze: A`；让时间流逝请写 `- pass: 3s`",
        ),
    ),
    (
        "Setup",
        &["mariadb", "mysql", "query", "statement"],
        Words::new("an SQL statement is `sql: …`", "SQL 语句请写 `sql: …`"),
    ),
    (
        "Setup",
        &["zookeeper", "znode"],
        Words::new("a ZooKeeper call is `zk: create /lock`", "ZooKeeper 调用请写 `zk: create /lock`"),
    ),
    (
        "RawOperation",
        &["mariadb", "mysql", "query", "statement"],
        Words::new("an SQL statement is `sql: …`", "SQL 语句请写 `sql: …`"),
    ),
    (
        "RawOperation",
        &["zookeeper", "znode"],
        Words::new("a ZooKeeper call is `zk: create /lock`", "ZooKeeper 调用请写 `zk: create /lock`"),
    ),
    (
        "StoryItem",
        &["resume", "unfreeze", "unpause", "continue"],
        Words::new("whoever was frozen goes on with `- thaw: A`", "让被冻结的继续请写 `- thaw: A`"),
    ),
    (
        "StoryItem",
        &["start", "recover", "reboot"],
        Words::new(
            "a killed server is started with `- restart: redis`",
            "重新启动被杀的服务器请写 `- restart: redis`",
        ),
    ),
    (
        "StoryItem",
        &["partition", "disconnect", "isolate", "block", "break"],
        Words::new("a connection is cut with `- cut: A->redis`", "切断连接请写 `- cut: A->redis`"),
    ),
    (
        "StoryItem",
        &["heal", "mend", "reconnect", "unblock", "connect", "uncut", "join"],
        Words::new("a link is mended with `- release: A->redis`", "恢复链路请写 `- release: A->redis`"),
    ),
    (
        "StoryItem",
        &["expect", "assert", "claim", "claims", "check"],
        Words::new(
            "what must be observed stands in a variant: `claims: [sold == 10]`",
            "必须观察到的结果写在方案里：`claims: [sold == 10]`",
        ),
    ),
    (
        "Step",
        &["sleep", "pause", "delay", "pass", "await"],
        Words::new(
            "time passes in a program with `- wait: 5s`, or `- work: 5s` where it is work",
            "程序里让时间流逝请写 `- wait: 5s`，表示干活请写 `- work: 5s`",
        ),
    ),
    (
        "Step",
        &["releases", "release", "unlocks", "unlock", "frees", "lets_go", "loses"],
        Words::new(
            "that the client no longer believes that it holds the lock is `- drops: lock`",
            "客户端不再认为自己持有锁，请写 `- drops: lock`",
        ),
    ),
    (
        "Step",
        &["acquires", "acquire", "locks", "lock", "takes", "has", "owns"],
        Words::new(
            "that the client believes that it holds the lock is `- holds: lock`",
            "客户端认为自己持有锁，请写 `- holds: lock`",
        ),
    ),
    (
        "Step",
        &["set", "var", "assign", "define"],
        Words::new(
            "a name gets a value with `- let: { name: reply }`",
            "给名字赋值请写 `- let: { name: reply }`",
        ),
    ),
    (
        "Step",
        &["loop", "foreach", "do", "until"],
        Words::new(
            "steps are repeated with `- repeat: […]` and `times:` or `while:`; one operation has an `until:`",
            "重复步骤请写 `- repeat: […]` 加 `times:` 或 `while:`；单个操作用 `until:`",
        ),
    ),
    (
        "Step",
        &["call", "run", "runs", "include", "recipe"],
        Words::new(
            "another program or a recipe is used with `- use: acquire_safely`",
            "使用别的程序或配方请写 `- use: acquire_safely`",
        ),
    ),
    (
        "",
        &["steps", "scenario", "timeline", "events"],
        Words::new("what happens is the `story`", "发生什么写在 `story`"),
    ),
    (
        "",
        &["actors", "processes", "threads", "nodes"],
        Words::new("who takes part is listed in `clients`", "谁参与写在 `clients`"),
    ),
    (
        "",
        &["servers", "server", "product", "env", "environment"],
        Words::new("its servers are the `lab`: `lab: redis`", "服务器写在 `lab`：`lab: redis`"),
    ),
    (
        "",
        &["variables", "vars", "constants", "parameters", "args"],
        Words::new("names with values are `params: { lease: 3s }`", "带值的名字写在 `params: { lease: 3s }`"),
    ),
    (
        "",
        &["cards", "questions", "qa", "faq"],
        Words::new("interview cards are a list under `interview`", "面试卡片写成 `interview` 下的列表"),
    ),
    (
        "",
        &["claims", "expect"],
        Words::new("it is a field of each variant", "它是每个方案（variants）里的字段"),
    ),
    (
        "RawOperation",
        &["retry", "interval", "poll", "sleep", "repeat", "retry_every"],
        Words::new(
            "an operation is tried again with `until: reply == 'OK', every: 500ms`",
            "重试请写 `until: reply == 'OK', every: 500ms`",
        ),
    ),
    (
        "RawOperation",
        &["timeout", "within", "max_wait"],
        Words::new(
            "an operation has no time limit: a command may have one of its own (`BLPOP queue 5`), a `take` has `within`, and \
             `repeat` ends with its `while`",
            "操作没有时限：命令自己可以带（`BLPOP queue 5`），`take` 有 `within`，`repeat` 由 `while` 结束",
        ),
    ),
    (
        "RawOperation",
        &["server", "node", "host", "at"],
        Words::new("the server of an operation is `on: redis1`", "操作发给哪台服务器写 `on: redis1`"),
    ),
    (
        "RawOperation",
        &["command", "cmd", "send", "run", "exec"],
        Words::new("a Redis command is `redis: GET lock`", "Redis 命令请写 `redis: GET lock`"),
    ),
    (
        "RawOperation",
        &["errors", "ignore", "catch", "on_error", "except"],
        Words::new(
            "errors that the program copes with are listed in `allow: [Lost]`",
            "程序能处理的错误写在 `allow: [Lost]`",
        ),
    ),
    (
        "RawOperation",
        &["if", "when", "then", "let", "holds", "drops"],
        Words::new(
            "what depends on a reply is a step of its own, after the operation: `- if: reply == 'OK'`, `- holds: lock`",
            "取决于回复的事写成操作之后单独的一步：`- if: reply == 'OK'`、`- holds: lock`",
        ),
    ),
    (
        "LockSpec",
        &["capacity", "permits", "max", "count", "size", "limit"],
        Words::new("how many may hold it at a time is `holders: 2`", "同时允许几个持有者写 `holders: 2`"),
    ),
    (
        "LockSpec",
        &["mode", "shared"],
        Words::new(
            "who shares a lock says so: `- holds: { lock: book, mode: shared }`",
            "共享由持有者声明：`- holds: { lock: book, mode: shared }`",
        ),
    ),
    (
        "HeldLock",
        &["name", "id", "key"],
        Words::new(
            "the lock's name is `lock`: `holds: { lock: book, mode: shared }`",
            "锁的名字写 `lock`：`holds: { lock: book, mode: shared }`",
        ),
    ),
    (
        "HeldLock",
        &["redis", "script", "zk", "sql", "etcd"],
        Words::new(
            "`holds` is a step of its own; an operation has another label: `- acquire: { redis: … }`",
            "`holds` 是单独的一步；操作要用别的名字：`- acquire: { redis: … }`",
        ),
    ),
    (
        "Take",
        &["timeout", "for", "wait", "at_most"],
        Words::new("the longest wait is `within: 2s`", "最多等多久写 `within: 2s`"),
    ),
    (
        "Take",
        &["channel", "path", "watch", "about", "key"],
        Words::new("what the news is about is `from: freed`", "等关于什么的通知写 `from: freed`"),
    ),
    (
        "Client",
        &["program", "run", "does", "use"],
        Words::new("the client's program is `runs: worker`", "客户端的程序写 `runs: worker`"),
    ),
    (
        "Client",
        &["count", "instances", "replicas", "number", "copies"],
        Words::new("several processes are `processes: 3`", "多个进程写 `processes: 3`"),
    ),
    (
        "Client",
        &["params", "args"],
        Words::new(
            "parameters of one client are `with: { lease: 5s }`",
            "某个客户端自己的参数写 `with: { lease: 5s }`",
        ),
    ),
    (
        "Client",
        &["protocol", "lang", "language"],
        Words::new("its protocol is `speaks: redis`", "它的协议写 `speaks: redis`"),
    ),
    (
        "Ask",
        &["question", "text", "title"],
        Words::new("the question is `q: { en: …, zh: … }`", "问题写 `q: { en: …, zh: … }`"),
    ),
    (
        "Ask",
        &["answers", "options", "a"],
        Words::new(
            "the answers are `choices: [{ says: …, right: true }, …]`",
            "选项写 `choices: [{ says: …, right: true }, …]`",
        ),
    ),
    (
        "Ask",
        &["answer", "correct", "right", "index"],
        Words::new(
            "which choice is right stands in that choice: `right: A.release == 1`",
            "哪个选项对，写在那个选项里：`right: A.release == 1`",
        ),
    ),
    (
        "Choice",
        &["text", "answer", "choice", "a", "q", "en", "zh"],
        Words::new("the answer is `says: { en: …, zh: … }`", "选项的文字写 `says: { en: …, zh: … }`"),
    ),
    (
        "Choice",
        &["correct", "is", "when", "if", "that", "ok"],
        Words::new("when it is right is `right: A.release == 1`", "何时算对写 `right: A.release == 1`"),
    ),
    (
        "Choice",
        &["because", "explanation", "reason", "hint"],
        Words::new("why it is wrong is `why: { en: …, zh: … }`", "为什么错写 `why: { en: …, zh: … }`"),
    ),
    ("Card", &["question"], Words::new("the question is `q`, the answer `a`", "问题写 `q`，回答写 `a`")),
    ("Card", &["answer"], Words::new("the question is `q`, the answer `a`", "问题写 `q`，回答写 `a`")),
    (
        "Variant",
        &["outcome", "result", "verdict", "expects"],
        Words::new(
            "what it means if all claims hold is `expect: shown` or `expect: prevented`",
            "断言全部成立意味着什么，写 `expect: shown` 或 `expect: prevented`",
        ),
    ),
    ("Variant", &["steps", "scenario"], Words::new("what happens is the `story`", "发生什么写在 `story`")),
    (
        "Variant",
        &["summary", "intro", "description", "says", "text"],
        Words::new(
            "what the learner should remember is `lesson: { en: …, zh: … }`",
            "学员该记住什么写 `lesson: { en: …, zh: … }`",
        ),
    ),
    (
        "Explore",
        &["depth", "max_moves", "steps", "most_moves"],
        Words::new("the longest order is `moves: 24`", "每种顺序最多走几步写 `moves: 24`"),
    ),
    (
        "Invariant",
        &["always", "must", "holds"],
        Words::new(
            "an invariant says what must never be so: `never: sold > stock`",
            "不变式写的是绝不能出现的情况：`never: sold > stock`",
        ),
    ),
    (
        "Invariant",
        &["that", "overlap"],
        Words::new(
            "write `never: { overlap: lock }`, or an expression: `never: sold > stock`",
            "请写 `never: { overlap: lock }`，或者表达式：`never: sold > stock`",
        ),
    ),
    (
        "",
        &["description", "about", "subtitle", "abstract"],
        Words::new(
            "one line of it is the `summary`, the rest the `intro`",
            "一句话写在 `summary`，其余写在 `intro`",
        ),
    ),
    (
        "Step",
        &["return", "end", "exit", "break", "finish", "done"],
        Words::new("a program ends with `- stop`", "结束程序请写 `- stop`"),
    ),
    (
        "Step",
        &["say", "ask", "move", "crash", "freeze", "thaw", "kill", "restart", "cut", "hold", "skew"],
        Words::new(
            "it is an item of the `story:`, not a step of a program",
            "它是剧情（`story:`）里的条目，不是程序的步骤",
        ),
    ),
];

/// What to write instead of an unknown key in this part of the grammar.
pub(super) fn meant(part: &str, key: &str) -> Option<Text> {
    let found = SYNONYMS.iter().find(|(of, words, _)| *of == part && words.contains(&key));
    found.map(|(.., help)| help.text(&[]))
}
