//! Which Redis commands a lesson may send: those that reach the keys of its lab's servers, and what a lock's client
//! asks about.
//!
//! **Architecture Invariant:** what a lesson sends is known to be harmless before anything is started: the name of each
//! command, its sub-command and the parameters that it sets. Scripts can only be looked at by the server; its ACL
//! (`crate::lab`) says the same of them.

use super::super::error::{Mistake, Path};

/// Commands that may have any arguments.
const COMMANDS: &str = "
    APPEND DECR DECRBY DELEX DIGEST GET GETDEL GETEX GETRANGE GETSET INCR INCRBY INCRBYFLOAT LCS MGET MSET MSETEX
    MSETNX PSETEX SET SETEX SETNX SETRANGE STRLEN SUBSTR
    BITCOUNT BITFIELD BITFIELD_RO BITOP BITPOS GETBIT SETBIT
    COPY DBSIZE DEL DUMP EXISTS EXPIRE EXPIREAT EXPIRETIME FLUSHALL FLUSHDB KEYS MOVE PERSIST PEXPIRE PEXPIREAT
    PEXPIRETIME PTTL RANDOMKEY RENAME RENAMENX RESTORE SCAN SORT SORT_RO SWAPDB TOUCH TTL TYPE UNLINK
    HDEL HEXISTS HEXPIRE HEXPIREAT HEXPIRETIME HGET HGETALL HGETDEL HGETEX HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET
    HPERSIST HPEXPIRE HPEXPIREAT HPEXPIRETIME HPTTL HRANDFIELD HSCAN HSET HSETEX HSETNX HSTRLEN HTTL HVALS
    BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH LINDEX LINSERT LLEN LMOVE LMPOP LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM
    RPOP RPOPLPUSH RPUSH RPUSHX
    SADD SCARD SDIFF SDIFFSTORE SINTER SINTERCARD SINTERSTORE SISMEMBER SMEMBERS SMISMEMBER SMOVE SPOP SRANDMEMBER SREM
    SSCAN SUNION SUNIONSTORE
    BZMPOP BZPOPMAX BZPOPMIN ZADD ZCARD ZCOUNT ZDIFF ZDIFFSTORE ZINCRBY ZINTER ZINTERCARD ZINTERSTORE ZLEXCOUNT ZMPOP
    ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM ZREMRANGEBYLEX
    ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION ZUNIONSTORE
    XACK XACKDEL XADD XAUTOCLAIM XCLAIM XDEL XDELEX XGROUP XINFO XLEN XPENDING XRANGE XREAD XREADGROUP XREVRANGE XSETID
    XTRIM
    GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH GEOSEARCHSTORE
    PFADD PFCOUNT PFMERGE
    EVAL EVALSHA EVALSHA_RO EVAL_RO FCALL FCALL_RO FUNCTION
    DISCARD EXEC MULTI UNWATCH WATCH
    PSUBSCRIBE PUBLISH PUBSUB PUNSUBSCRIBE SPUBLISH SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE UNSUBSCRIBE
    COMMAND ECHO INFO LASTSAVE LATENCY LOLWUT MEMORY OBJECT PING QUIT READONLY READWRITE ROLE SAVE SELECT SLOWLOG TIME
    WAIT WAITAOF
";

/// Commands of which only some sub-commands may be sent.
const SUB_COMMANDS: &[(&str, &str)] = &[
    (
        "CLIENT",
        "CACHING GETNAME GETREDIR HELP ID INFO KILL LIST NO-EVICT NO-TOUCH PAUSE SETINFO SETNAME TRACKING TRACKINGINFO \
         UNBLOCK UNPAUSE",
    ),
    ("CONFIG", "GET HELP RESETSTAT SET"),
    ("SCRIPT", "EXISTS FLUSH HELP KILL LOAD SHOW"),
];

/// What `CONFIG SET` may change: how the server stores, evicts, persists and replicates, and what it tells.
const PARAMETERS: &str = "
    active-defrag-cycle-max active-defrag-cycle-min active-expire-effort activedefrag activerehashing aof-load-truncated
    aof-use-rdb-preamble appendfsync appendonly busy-reply-threshold dynamic-hz hash-max-listpack-entries
    hash-max-listpack-value hash-max-ziplist-entries hash-max-ziplist-value hll-sparse-max-bytes hz
    latency-monitor-threshold latency-tracking latency-tracking-info-percentiles lazyfree-lazy-eviction
    lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del lazyfree-lazy-user-flush lfu-decay-time
    lfu-log-factor list-compress-depth list-max-listpack-size list-max-ziplist-size lua-time-limit maxmemory
    maxmemory-eviction-tenacity maxmemory-policy maxmemory-samples min-replicas-max-lag min-replicas-to-write
    min-slaves-max-lag min-slaves-to-write no-appendfsync-on-rewrite notify-keyspace-events repl-backlog-size
    repl-backlog-ttl repl-ping-replica-period repl-ping-slave-period repl-timeout replica-ignore-maxmemory
    replica-lazy-flush replica-priority replica-read-only replica-serve-stale-data set-max-intset-entries
    set-max-listpack-entries set-max-listpack-value slave-ignore-maxmemory slave-lazy-flush slave-priority
    slave-read-only slave-serve-stale-data slowlog-log-slower-than slowlog-max-len stop-writes-on-bgsave-error
    stream-node-max-bytes stream-node-max-entries timeout zset-max-listpack-entries zset-max-listpack-value
    zset-max-ziplist-entries zset-max-ziplist-value
";

/// Commands that are refused, why, and what does instead. A space stands before a sub-command.
const REFUSED: &[(&[&str], &str, &str)] = &[
    (
        &["BGSAVE", "BGREWRITEAOF", "SCRIPT DEBUG"],
        "it starts a process of the server's own",
        "`SAVE` writes the keys down without one",
    ),
    (
        &["MIGRATE"],
        "it reaches servers outside the lab",
        "`DUMP` and `RESTORE` bring a key from one server of the lab to another",
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
        "it joins servers, which is the lab's to do",
        "`lab: sentinel` has a master, two replicas and three Sentinels; `kill: master` in the story makes them fail over",
    ),
    (
        &["MODULE", "DEBUG", "PFDEBUG", "PFSELFTEST"],
        "it reaches into the server itself",
        "the story freezes, kills and restarts servers, lets time pass and sets clocks",
    ),
    (
        &["SHUTDOWN"],
        "the lab starts and ends its servers",
        "`kill: SERVER` and `restart: SERVER` are steps of the story",
    ),
    (
        &["ACL", "AUTH", "RESET", "HELLO AUTH"],
        "it changes who the client is, which is the lab's to say",
        "clients are let in already; `DISCARD`, `UNWATCH` and `SELECT 0` undo what a connection remembers",
    ),
    (
        &["MONITOR"],
        "its connection would tell of everybody's commands and answer no other",
        "the screen shows every command (`w`), and `SLOWLOG GET` tells of those that took long",
    ),
    (
        &["CLIENT REPLY"],
        "a move is over when its reply has come, and so no move would be",
        "the story holds and cuts links: `hold: CLIENT->SERVER`",
    ),
    (
        &["CONFIG REWRITE"],
        "the lab writes its servers' configuration",
        "`CONFIG SET` holds as long as the server runs",
    ),
];

/// Checks a command of so many words. `word` gives one of them, or nothing where it is known only when it is sent.
pub(crate) fn check(
    count: usize,
    mut word: impl FnMut(usize) -> Option<String>,
    path: &Path,
) -> Result<(), Mistake> {
    let mut word = |n: usize, what: &str| -> Result<Option<String>, Mistake> {
        if n >= count {
            return Ok(None);
        }
        match word(n) {
            Some(word) => Ok(Some(word.to_ascii_uppercase())),
            None => Err(Mistake::new(path, format!("{what} is known only when it is sent"))
                .help("write it out, or use a parameter that nothing in the program gives another value")),
        }
    };
    let Some(name) = word(0, "which Redis command this is")? else { return Ok(()) };
    if listed(COMMANDS, &name) {
        return Ok(());
    }
    if name == "HELLO" {
        let mut n = 2;
        while let Some(option) = word(n, "an option of `HELLO`")? {
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
    let Some(sub) = word(1, &format!("which sub-command of `{name}` this is"))? else { return Ok(()) };
    if !listed(known, &sub) {
        return Err(refused(&format!("{name} {sub}"), path));
    }
    if (name.as_str(), sub.as_str()) == ("CONFIG", "SET") {
        for n in (2..count).step_by(2) {
            let parameter = word(n, "which parameter this sets")?.unwrap_or_default();
            let parameter = parameter.to_ascii_lowercase();
            if !listed(PARAMETERS, &parameter) {
                return Err(Mistake::new(
                    path,
                    format!("a lesson may not set the server's parameter `{parameter}`"),
                )
                .help(
                    "it may set how the server stores, evicts, persists and replicates: `maxmemory`, `appendonly`, \
                     `min-replicas-to-write`, …; docs/safety.md lists them",
                ));
            }
        }
    }
    Ok(())
}

fn listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

fn refused(command: &str, path: &Path) -> Mistake {
    let name = command.split(' ').next().unwrap_or_default();
    let known = REFUSED
        .iter()
        .find(|(commands, ..)| commands.iter().any(|refused| *refused == command || *refused == name));
    if let Some((_, why, instead)) = known {
        return Mistake::new(path, format!("a lesson may not send `{command}`: {why}")).help(*instead);
    }
    if let Some((_, subs)) = SUB_COMMANDS.iter().find(|(container, _)| *container == name) {
        return Mistake::unknown(path, "sub-command", command, subs.split_ascii_whitespace());
    }
    let containers = SUB_COMMANDS.iter().map(|(container, _)| *container);
    let known = COMMANDS.split_ascii_whitespace().chain(containers).chain(["HELLO"]);
    Mistake::unknown(path, "Redis command", command, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(command: &str) -> Result<(), String> {
        let words: Vec<&str> = command.split(' ').collect();
        let known = |n: usize| Some(words[n]).filter(|word| *word != "?").map(str::to_owned);
        check(words.len(), known, &Path::root()).map_err(|mistake| mistake.message)
    }

    #[test]
    fn what_reaches_only_keys_is_let_through() {
        for command in [
            "SET ? ? NX PX ?",
            "hello 3 setname ?",
            "HELLO",
            "CONFIG SET maxmemory ? APPENDONLY yes",
            "config get *",
            "CLIENT SETNAME ?",
            "SAVE",
            "EVAL ? ?",
        ] {
            assert_eq!(verdict(command), Ok(()), "{command}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
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
        ] {
            let message = verdict(command).expect_err(command);
            assert!(message.contains(why), "{command}: {message}");
        }
    }
}
