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
