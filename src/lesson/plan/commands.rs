//! The Redis commands that a lesson may send: those on the keys of its lab's servers, and those that a lock's client
//! needs besides.
//!
//! **Architecture Invariant:** what a lesson sends is known to be harmless before anything is started: the name of each
//! command, its sub-command and the parameters that it sets. Only the server can check what scripts send; its ACL
//! (`crate::lab`) has the same rules.

use std::{collections::HashMap, sync::LazyLock};

pub(crate) mod forms;
mod shapes;

pub(crate) use forms::check_form;

use super::super::{
    error::{ALIKE, Mistake, Path, did_you_mean, nearest, suggestion},
    expr::Template,
    has_word,
};
use crate::{
    log::product::redis::{SETTABLE, is_settable},
    text::{Text, Words, both},
};

/// Commands that may have any arguments, each with its arity as in Redis' `COMMAND INFO`: the number of words including
/// the command's name, or, if negative, the least number. The arities of commands of newer servers are from their
/// documentation.
const COMMANDS: &str = "
    APPEND:3 DECR:2 DECRBY:3 DELEX:-2 DIGEST:2 GET:2 GETDEL:2 GETEX:-2 GETRANGE:4 GETSET:3 INCR:2 INCRBY:3
    INCRBYFLOAT:3 LCS:-3 MGET:-2 MSET:-3 MSETEX:-4
    MSETNX:-3 PSETEX:4 SET:-3 SETEX:4 SETNX:3 SETRANGE:4 STRLEN:2 SUBSTR:4
    BITCOUNT:-2 BITFIELD:-2 BITFIELD_RO:-2 BITOP:-4 BITPOS:-3 GETBIT:3 SETBIT:4
    COPY:-3 DBSIZE:1 DEL:-2 DUMP:2 EXISTS:-2 EXPIRE:-3 EXPIREAT:-3 EXPIRETIME:2 FLUSHALL:-1 FLUSHDB:-1 KEYS:2
    MOVE:3 PERSIST:2 PEXPIRE:-3 PEXPIREAT:-3
    PEXPIRETIME:2 PTTL:2 RANDOMKEY:1 RENAME:3 RENAMENX:3 RESTORE:-4 SCAN:-2 SORT:-2 SORT_RO:-2 SWAPDB:3 TOUCH:-2
    TTL:2 TYPE:2 UNLINK:-2
    HDEL:-3 HEXISTS:3 HEXPIRE:-6 HEXPIREAT:-6 HEXPIRETIME:-5 HGET:3 HGETALL:2 HGETDEL:-5 HGETEX:-5 HINCRBY:4
    HINCRBYFLOAT:4 HKEYS:2 HLEN:2 HMGET:-3 HMSET:-4
    HPERSIST:-5 HPEXPIRE:-6 HPEXPIREAT:-6 HPEXPIRETIME:-5 HPTTL:-5 HRANDFIELD:-2 HSCAN:-3 HSET:-4 HSETEX:-6
    HSETNX:4 HSTRLEN:3 HTTL:-5 HVALS:2
    BLMOVE:6 BLMPOP:-5 BLPOP:-3 BRPOP:-3 BRPOPLPUSH:4 LINDEX:3 LINSERT:5 LLEN:2 LMOVE:5 LMPOP:-4 LPOP:-2 LPOS:-3
    LPUSH:-3 LPUSHX:-3 LRANGE:4 LREM:4 LSET:4 LTRIM:4
    RPOP:-2 RPOPLPUSH:3 RPUSH:-3 RPUSHX:-3
    SADD:-3 SCARD:2 SDIFF:-2 SDIFFSTORE:-3 SINTER:-2 SINTERCARD:-3 SINTERSTORE:-3 SISMEMBER:3 SMEMBERS:2
    SMISMEMBER:-3 SMOVE:4 SPOP:-2 SRANDMEMBER:-2 SREM:-3
    SSCAN:-3 SUNION:-2 SUNIONSTORE:-3
    BZMPOP:-5 BZPOPMAX:-3 BZPOPMIN:-3 ZADD:-4 ZCARD:2 ZCOUNT:4 ZDIFF:-3 ZDIFFSTORE:-4 ZINCRBY:4 ZINTER:-3
    ZINTERCARD:-3 ZINTERSTORE:-4 ZLEXCOUNT:4 ZMPOP:-4
    ZMSCORE:-3 ZPOPMAX:-2 ZPOPMIN:-2 ZRANDMEMBER:-2 ZRANGE:-4 ZRANGEBYLEX:-4 ZRANGEBYSCORE:-4 ZRANGESTORE:-5
    ZRANK:-3 ZREM:-3 ZREMRANGEBYLEX:4
    ZREMRANGEBYRANK:4 ZREMRANGEBYSCORE:4 ZREVRANGE:-4 ZREVRANGEBYLEX:-4 ZREVRANGEBYSCORE:-4 ZREVRANK:-3 ZSCAN:-3
    ZSCORE:3 ZUNION:-3 ZUNIONSTORE:-4
    XACK:-4 XACKDEL:-6 XADD:-5 XAUTOCLAIM:-6 XCLAIM:-6 XDEL:-3 XDELEX:-5 XGROUP:-2 XINFO:-2 XLEN:2 XPENDING:-3
    XRANGE:-4 XREAD:-4 XREADGROUP:-7 XREVRANGE:-4 XSETID:-3
    XTRIM:-4
    GEOADD:-5 GEODIST:-4 GEOHASH:-2 GEOPOS:-2 GEORADIUS:-6 GEORADIUSBYMEMBER:-5 GEORADIUSBYMEMBER_RO:-5
    GEORADIUS_RO:-6 GEOSEARCH:-7 GEOSEARCHSTORE:-8
    PFADD:-2 PFCOUNT:-2 PFMERGE:-2
    EVAL:-3 EVALSHA:-3 EVALSHA_RO:-3 EVAL_RO:-3 FCALL:-3 FCALL_RO:-3 FUNCTION:-2
    DISCARD:1 EXEC:1 MULTI:1 UNWATCH:1 WATCH:-2
    PSUBSCRIBE:-2 PUBLISH:3 PUBSUB:-2 PUNSUBSCRIBE:-1 SPUBLISH:3 SSUBSCRIBE:-2 SUBSCRIBE:-2 SUNSUBSCRIBE:-1
    UNSUBSCRIBE:-1
    COMMAND:-1 ECHO:2 INFO:-1 LASTSAVE:1 LATENCY:-2 LOLWUT:-1 MEMORY:-2 OBJECT:-2 PING:-1 QUIT:-1 READONLY:1
    READWRITE:1 ROLE:1 SAVE:1 SELECT:2 SLOWLOG:-2 TIME:1
    WAIT:3 WAITAOF:4
";

/// Commands of which only some sub-commands may be sent.
const SUB_COMMANDS: &[(&str, &str)] = &[
    (
        "CLIENT",
        "CACHING GETNAME GETREDIR HELP ID INFO KILL LIST NO-EVICT NO-TOUCH PAUSE SETINFO SETNAME TRACKING TRACKINGINFO \
         UNBLOCK UNPAUSE",
    ),
    ("CLUSTER", "COUNTKEYSINSLOT GETKEYSINSLOT HELP INFO KEYSLOT LINKS MYID NODES REPLICAS SHARDS SLOTS"),
    ("CONFIG", "GET HELP RESETSTAT SET"),
    ("SCRIPT", "EXISTS FLUSH HELP KILL LOAD SHOW"),
];

/// Refused commands, the reason, and what to use instead. A sub-command follows its command after a space.
const REFUSED: &[(&[&str], Words, Words)] = &[
    (
        &["BGSAVE", "BGREWRITEAOF", "SCRIPT DEBUG"],
        Words::new("it starts a process of the server's own", "它会让服务器另起进程"),
        Words::new("`SAVE` writes the keys down without one", "`SAVE` 不用另起进程就能落盘"),
    ),
    (
        &["MIGRATE"],
        Words::new("it reaches servers outside the lab", "它能连到 lab 以外的服务器"),
        Words::new(
            "`DUMP` and `RESTORE` bring a key from one server of the lab to another",
            "`DUMP` 和 `RESTORE` 可以把键从 lab 的一台服务器搬到另一台",
        ),
    ),
    (
        &[
            "CLUSTER",
            "ASKING",
            "FAILOVER",
            "PSYNC",
            "REPLCONF",
            "REPLICAOF",
            "RESTORE-ASKING",
            "SLAVEOF",
            "SYNC",
        ],
        Words::new("it joins servers, which is the lab's to do", "它会把服务器连在一起，那是 lab 的事"),
        Words::new(
            "`lab: sentinel` and `lab: cluster` have replicas; `kill: node1` in the story makes one take over",
            "`lab: sentinel` 和 `lab: cluster` 有从节点；在剧情里写 `kill: node1` 就会让从节点接替",
        ),
    ),
    (
        &["MODULE", "DEBUG", "PFDEBUG", "PFSELFTEST"],
        Words::new("it reaches into the server itself", "它会改动服务器本身"),
        Words::new(
            "the story freezes, kills and restarts servers, lets time pass and sets clocks",
            "冻结、杀掉、重启服务器，让时间流逝，调整时钟，都由剧情来做",
        ),
    ),
    (
        &["SHUTDOWN"],
        Words::new("the lab starts and ends its servers", "服务器的启动和结束由 lab 负责"),
        Words::new(
            "`kill: SERVER` and `restart: SERVER` are steps of the story",
            "剧情里可以写 `kill: 服务器` 和 `restart: 服务器`",
        ),
    ),
    (
        &["ACL", "AUTH", "RESET", "HELLO AUTH"],
        Words::new(
            "it changes who the client is, which is the lab's to say",
            "它会改变客户端的身份，那由 lab 决定",
        ),
        Words::new(
            "clients are let in already; `DISCARD`, `UNWATCH` and `SELECT 0` undo what a connection remembers",
            "客户端已经通过认证；`DISCARD`、`UNWATCH` 和 `SELECT 0` 可以清掉连接上的状态",
        ),
    ),
    (
        &["MONITOR"],
        Words::new(
            "its connection would tell of everybody's commands and answer no other",
            "它的连接会一直报告所有人的命令，不再应答别的命令",
        ),
        Words::new(
            "the screen shows every command (`w`), and `SLOWLOG GET` tells of those that took long",
            "界面上能看到每条命令（`w`），`SLOWLOG GET` 能看到耗时的命令",
        ),
    ),
    (
        &["CLIENT REPLY"],
        Words::new(
            "a move is over when its reply has come, and so no move would be",
            "收到回复这一步才算完，没有回复就永远走不完",
        ),
        Words::new(
            "the story holds and cuts links: `hold: CLIENT->SERVER`",
            "要扣住或切断链路，请在剧情里写 `hold: 客户端->服务器`",
        ),
    ),
    (
        &["SENTINEL"],
        Words::new("lessons send nothing to Sentinels", "课程不向哨兵发送命令"),
        Words::new(
            "whoever Sentinel names as the master is reached by `on: primary`",
            "要找哨兵选出的主节点，请写 `on: primary`",
        ),
    ),
    (
        &["CONFIG REWRITE"],
        Words::new("the lab writes its servers' configuration", "服务器的配置文件由 lab 来写"),
        Words::new("`CONFIG SET` holds as long as the server runs", "服务器不停，`CONFIG SET` 就一直有效"),
    ),
];

/// Command names that people guess, and the commands that they mean.
const MEANT: &[(&str, &str)] = &[
    ("DELETE", "DEL"),
    ("REMOVE", "DEL"),
    ("UNLOCK", "DEL"),
    ("LOCK", "SET lock ${token} NX PX 3000"),
    ("READ", "GET"),
    ("WRITE", "SET"),
    ("PUT", "SET"),
    ("ADD", "SADD"),
    ("INCREMENT", "INCR"),
    ("DECREMENT", "DECR"),
    ("SETNXPX", "SET lock ${token} NX PX 3000"),
    ("SETNXEX", "SET lock ${token} NX EX 3"),
];

/// The commands with their arities, for a test that compares them with a server's own.
pub fn arities() -> impl Iterator<Item = (&'static str, i64)> {
    COMMANDS.split_ascii_whitespace().filter_map(|entry| {
        let (name, arity) = entry.split_once(':')?;
        Some((name, arity.parse().ok()?))
    })
}

/// Whether Redis has a command of this name, in capitals, that a lesson may send.
pub(crate) fn is_known(name: &str) -> bool {
    arities().any(|(known, _)| known == name) || SUB_COMMANDS.iter().any(|(known, _)| *known == name)
}

/// Checks a command of `count` words. `word` returns a word, or `None` if it is known only when the command is sent.
pub(crate) fn check(
    count: usize,
    mut word: impl FnMut(usize) -> Option<String>,
    path: &Path,
) -> Result<(), Mistake> {
    let mut word = |n: usize, what: &Text| -> Result<Option<String>, Mistake> {
        if n >= count {
            return Ok(None);
        }
        let word = word(n).ok_or_else(|| {
            let message = both!("{what} is known only when it is sent", "{what}要到发送时才知道", what);
            Mistake::new(path, message).help(both!(
                "write it out, or use a parameter that nothing in the program gives another value",
                "请直接写出来，或者用一个程序里不会改变的参数"
            ))
        })?;
        Ok(Some(word.to_ascii_uppercase()))
    };
    let Some(name) = word(0, &both!("which Redis command this is", "这是哪条 Redis 命令"))? else {
        return Ok(());
    };
    if arity(&name).is_some() {
        return Ok(());
    }
    if name == "HELLO" {
        let mut n = 2;
        while let Some(option) = word(n, &both!("an option of `HELLO`", "`HELLO` 的选项"))? {
            match option.as_str() {
                // The name of the connection may be anything.
                "SETNAME" => n += 2,
                "AUTH" => return Err(refused("HELLO AUTH", path)),
                _ => n += 1,
            }
        }
        return Ok(());
    }
    let Some((_, known)) = SUB_COMMANDS.iter().find(|(container, _)| *container == name) else {
        return Err(refused(&name, path));
    };
    let Some(sub) = word(1, &both!("which sub-command of `{name}` this is", "这是 `{name}` 的哪个子命令"))?
    else {
        return Ok(());
    };
    if !has_word(known, &sub) {
        return Err(refused(&format!("{name} {sub}"), path));
    }
    if (name.as_str(), sub.as_str()) == ("CONFIG", "SET") {
        for n in (2..count).step_by(2) {
            let parameter =
                word(n, &both!("which parameter this sets", "这设置的是哪个参数"))?.unwrap_or_default();
            let parameter = parameter.to_ascii_lowercase();
            if !is_settable(&parameter) {
                let message = both!(
                    "a lesson may not set the server's parameter `{parameter}`",
                    "课程不能设置服务器参数 `{parameter}`"
                );
                let known = SETTABLE.split_ascii_whitespace();
                if let Some(near) = nearest(&parameter, known, 0.95) {
                    return Err(Mistake::new(path, message).help(did_you_mean(near)));
                }
                return Err(Mistake::new(path, message).help(both!(
                    "it may set how the server stores, evicts, persists and replicates: `maxmemory`, `appendonly`, \
                     `min-replicas-to-write`, …; docs/safety.md lists them",
                    "可以设置存储、淘汰、持久化和复制方面的参数：`maxmemory`、`appendonly`、`min-replicas-to-write` 等；\
                     docs/safety.md 列出了全部"
                )));
            }
        }
    }
    Ok(())
}

/// The mistake of an unknown command. It lists no known commands if none is similar: a dozen of two hundred would not
/// help.
fn unknown<'a>(path: &Path, command: &str, known: impl Iterator<Item = &'a str>) -> Mistake {
    let message = both!("unknown Redis command `{command}`", "没有名为 `{command}` 的 Redis 命令");
    let meant = MEANT.iter().find_map(|(word, meant)| (*word == command).then_some(*meant));
    Mistake::new(path, message).help(suggestion(meant.or_else(|| nearest(command, known, ALIKE)), || {
        both!(
            "write it as `redis-cli` takes it: SET lock 1 NX PX 3000",
            "请按 redis-cli 的写法：SET lock 1 NX PX 3000"
        )
    }))
}

/// Parameters of a server that are numbers of seconds.
const OF_SECONDS: &[&str] = &["min-replicas-max-lag", "repl-timeout", "timeout"];

/// The indices of the words of a command that are numbers of seconds.
pub(crate) fn seconds(words: &[Template]) -> Vec<usize> {
    let is = |n: usize, known: &[&str]| {
        words
            .get(n)
            .is_some_and(|word| known.iter().any(|known| word.to_string().eq_ignore_ascii_case(known)))
    };
    let option = |from: usize| (from..words.len()).filter(|n| is(*n - 1, &["EX"])).collect();
    let mut found: Vec<usize> = match () {
        () if is(0, &["SETEX", "EXPIRE"]) => vec![2],
        () if is(0, &["SET"]) => option(4),
        () if is(0, &["GETEX"]) => option(3),
        () if is(0, &["CONFIG"]) && is(1, &["SET"]) => {
            (3..words.len()).step_by(2).filter(|n| is(n - 1, OF_SECONDS)).collect()
        }
        () if is(0, &["BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BZPOPMIN", "BZPOPMAX"]) => {
            vec![words.len() - 1]
        }
        () => Vec::new(),
    };
    found.retain(|at| *at < words.len());
    found
}

fn arity(name: &str) -> Option<i64> {
    static ARITIES: LazyLock<HashMap<&str, i64>> = LazyLock::new(|| arities().collect());
    ARITIES.get(name).copied()
}

/// Commands with which the library of an external program opens and closes a connection. A lesson's own programs may
/// not send them.
const OF_CONNECTIONS: [&str; 6] = ["HELLO", "AUTH", "RESET", "QUIT", "SCRIPT LOAD", "SCRIPT EXISTS"];

/// Checks that an external program may send a command of this name; `SCRIPT LOAD`, for example, counts as one name.
pub(super) fn check_name(name: &str, path: &Path) -> Result<(), Mistake> {
    let container = |known: &str| SUB_COMMANDS.iter().any(|(container, _)| *container == known);
    if arity(name).is_some() || container(name) || OF_CONNECTIONS.contains(&name) {
        return Ok(());
    }
    let known = arities().map(|(name, _)| name).chain(OF_CONNECTIONS);
    Err(unknown(path, name, known))
}

/// Checks a `redis.call` of a script: the server refuses commands that a lesson may not send, and unknown ones.
pub(crate) fn check_in_script(words: &[Option<String>], is_open: bool, path: &Path) -> Result<(), Mistake> {
    let Some(Some(name)) = words.first() else { return Ok(()) };
    let name = name.to_ascii_uppercase();
    if arity(&name).is_none()
        && name != "HELLO"
        && !SUB_COMMANDS.iter().any(|(container, _)| *container == name)
    {
        return Err(refused(&name, path));
    }
    if is_open { Ok(()) } else { check_form(words, path) }
}

fn refused(command: &str, path: &Path) -> Mistake {
    let name = command.split(' ').next().unwrap_or_default();
    let known = REFUSED
        .iter()
        .find(|(commands, ..)| commands.iter().any(|refused| *refused == command || *refused == name));
    if let Some((_, why, instead)) = known {
        let why = why.text(&[]);
        let message =
            both!("a lesson may not send `{command}`: {why}", "课程不能发送 `{command}`：{why}", why);
        return Mistake::new(path, message).help(instead.text(&[]));
    }
    if let Some((_, subs)) = SUB_COMMANDS.iter().find(|(container, _)| *container == name) {
        let what = both!("sub-command", "子命令");
        let sub = command.split_once(' ').map_or("", |(_, sub)| sub);
        let mistake = Mistake::unknown(path, what.clone(), sub, subs.split_ascii_whitespace());
        return Mistake {
            message: both!("unknown {what} `{command}`", "没有名为 `{command}` 的{what}", what),
            ..mistake
        };
    }
    let containers = SUB_COMMANDS.iter().map(|(container, _)| *container);
    let known = arities().map(|(name, _)| name).chain(containers).chain(["HELLO"]);
    unknown(path, command, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(command: &str) -> Result<(), String> {
        let words: Vec<&str> = command.split(' ').collect();
        let known = |n: usize| Some(words[n]).filter(|word| *word != "?").map(str::to_owned);
        check(words.len(), known, &Path::root())
            .and_then(|()| check_form(&(0..words.len()).map(known).collect::<Vec<_>>(), &Path::root()))
            .map_err(|mistake| mistake.message.en)
    }

    #[test]
    fn harmless_commands_are_allowed() {
        for command in [
            "SET ? ? NX PX ?",
            "hello 3 setname ?",
            "HELLO",
            "CONFIG SET maxmemory ? APPENDONLY yes",
            "config get *",
            "CLIENT SETNAME ?",
            "cluster keyslot ?",
            "SAVE",
            "EVAL ? ? ?",
            "EVAL ? 1 k a",
            "set k v px 3000 get nx",
            "SET k v ?",
            "EXPIRE k 3 nx",
            "HSET k f v g w",
        ] {
            assert_eq!(verdict(command), Ok(()), "{command}");
        }
    }

    #[test]
    fn other_commands_are_refused_with_a_reason() {
        for (command, why) in [
            ("bgsave", "starts a process"),
            ("script debug yes", "starts a process"),
            ("MIGRATE h 1 k 0 9", "outside the lab"),
            ("HELLO 3 AUTH a b", "who the client is"),
            ("HELLO 3 setname AUTH auth a b", "who the client is"),
            ("HELLO 3 SETNAME SETNAME AUTH a b", "who the client is"),
            ("HELLO 3 ?", "known only when"),
            ("? k", "known only when"),
            ("CONFIG ? dir /", "known only when"),
            ("CONFIG SET ? 1", "known only when"),
            ("CONFIG SET hz 10 bind 0.0.0.0", "`bind`"),
            ("CONFIG REWRITE", "configuration"),
            ("CLUSTER MEET a 1", "joins servers"),
            ("SETT k v", "unknown Redis command"),
            ("CLIENT DANCE", "unknown sub-command"),
            ("GET", "`GET` takes 1 argument, and here are 0"),
            ("GET k l", "`GET` takes 1 argument, and here are 2"),
            ("SET k", "at least 2 arguments"),
            ("SET k v XN", "no option `XN`"),
            ("SET k v NX XX", "only one of `NX` and `XX`"),
            ("SET k v EX 3 PX 3000", "only one of `EX` and `PX`"),
            ("SET k v NX EX", "`EX` wants a value"),
            ("SET k v PX 3s", "`3s` is none"),
            ("SET k v PX 0", "no time to live"),
            ("EXPIRE k soon", "`soon` is none"),
            ("EVAL ? 2 k", "2 keys follow"),
            ("EVAL ? k 1", "`k` is none"),
            ("MSET k v l", "pairs"),
            ("HSET k f v g", "pairs"),
        ] {
            let message = verdict(command).expect_err(command);
            assert!(message.contains(why), "{command}: {message}");
        }
    }
}
