//! The words of one command: which keys it names and what it may do to them.

use std::collections::BTreeMap;

use super::Access;
use crate::log::Reply;

/// How a command's reply is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// As that of a plain command.
    Plain,
    /// As that of a script: it may have done part of what it can do.
    Script,
    /// It begins a transaction.
    Multi,
    /// It carries one out.
    Exec,
    /// It gives one up.
    Discard,
}

/// Something that a command may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Act {
    pub key: String,
    pub access: Access,
    /// What a key is set to.
    pub value: Option<String>,
    /// For how long, in milliseconds.
    pub lease_ms: Option<i64>,
    /// Whether the reply gives the name: `create -s`.
    pub named_by_reply: bool,
}

impl Act {
    fn new(key: &str, access: Access) -> Self {
        Self { key: key.to_owned(), access, value: None, lease_ms: None, named_by_reply: false }
    }

    /// Whether the reply says that it was done.
    ///
    /// Scripts answer what their authors like. The habit is 0, nil or a negative number for "nothing done", and
    /// it is read so, except that 0 may well be what is left after a `DECR`.
    pub(crate) fn done(&self, verb: Verb, reply: &Reply) -> bool {
        let Reply::Value(value) = reply else { return false };
        let number = value.as_i64();
        match (verb, self.access) {
            (_, Access::Read) | (Verb::Plain, Access::Changed) => true,
            (_, Access::Deleted | Access::Expiry) => {
                number.is_none_or(|number| number > 0) && (verb != Verb::Script || !value.is_null())
            }
            (Verb::Script, Access::Set) | (_, Access::Changed) => {
                !value.is_null() && *value != false && number.is_none_or(|number| number >= 0)
            }
            // `SET … NX` answers nil, `SETNX` answers 0.
            (_, Access::Set) => !value.is_null() && number != Some(0),
        }
    }
}

/// What the words of a command may do. Commands that are not known do nothing that is known.
pub(crate) fn parse(
    words: &[String],
    znodes: bool,
    scripts: &BTreeMap<String, Vec<(String, usize)>>,
) -> (Verb, Vec<Act>) {
    let Some((name, args)) = words.split_first() else {
        return (Verb::Plain, Vec::new());
    };
    if znodes {
        return (Verb::Plain, znode(name, args).into_iter().collect());
    }
    match name.to_ascii_uppercase().as_str() {
        "MULTI" => (Verb::Multi, Vec::new()),
        "EXEC" => (Verb::Exec, Vec::new()),
        "DISCARD" => (Verb::Discard, Vec::new()),
        // As it is shown: the script's name stands where its text was sent.
        "EVAL" | "EVALSHA" | "FCALL" => (Verb::Script, script(args, scripts)),
        upper => (Verb::Plain, redis(upper, args)),
    }
}

fn redis(name: &str, args: &[String]) -> Vec<Act> {
    let Some(access) = access_of(name) else {
        return Vec::new();
    };
    let Some(first) = args.first() else {
        return Vec::new();
    };
    let mut act = Act::new(first, access);
    if matches!(name, "SET" | "SETNX") {
        act.value = args.get(1).cloned();
        act.lease_ms = lease(args);
    }
    // One number answers for several keys: whose it is cannot be told.
    if access == Access::Deleted && args.len() > 1 {
        return Vec::new();
    }
    vec![act]
}

/// `PX 3000` and `EX 3` among a command's words, in milliseconds.
pub fn lease(args: &[String]) -> Option<i64> {
    args.windows(2).find_map(|pair| {
        let number: i64 = pair[1].parse().ok()?;
        match pair[0].to_ascii_uppercase().as_str() {
            "PX" => Some(number),
            "EX" => number.checked_mul(1000),
            _ => None,
        }
    })
}

fn access_of(name: &str) -> Option<Access> {
    Some(match name {
        "GET" | "EXISTS" | "TTL" | "PTTL" | "STRLEN" | "HGET" | "HGETALL" | "HEXISTS" | "LLEN" | "LRANGE"
        | "SCARD" | "SISMEMBER" | "SMEMBERS" | "ZCARD" | "ZRANGE" | "ZRANK" | "ZSCORE" => Access::Read,
        "SET" | "SETNX" | "SETEX" | "PSETEX" | "GETSET" => Access::Set,
        "APPEND" | "DECR" | "DECRBY" | "HDEL" | "HINCRBY" | "HSET" | "INCR" | "INCRBY" | "LPOP" | "LPUSH"
        | "LREM" | "RPOP" | "RPUSH" | "SADD" | "SREM" | "ZADD" | "ZREM" => Access::Changed,
        "EXPIRE" | "PEXPIRE" | "EXPIREAT" | "PEXPIREAT" | "PERSIST" => Access::Expiry,
        "DEL" | "UNLINK" | "GETDEL" => Access::Deleted,
        _ => return None,
    })
}

fn znode(name: &str, args: &[String]) -> Option<Act> {
    let path = args.iter().find(|word| word.starts_with('/'))?;
    let mut act = match name {
        "create" => Act::new(path, Access::Set),
        "delete" => Act::new(path, Access::Deleted),
        "set" => Act::new(path, Access::Changed),
        "exists" | "get" | "ls" => Act::new(path, Access::Read),
        _ => return None,
    };
    act.named_by_reply = name == "create" && args.iter().any(|word| word == "-s");
    Some(act)
}

/// `NAME COUNT KEY… ARG…`: what the script's own calls may do to these keys, each once.
fn script(args: &[String], scripts: &BTreeMap<String, Vec<(String, usize)>>) -> Vec<Act> {
    let calls = args.first().and_then(|name| scripts.get(name));
    let count: usize = args.get(1).and_then(|count| count.parse().ok()).unwrap_or(0);
    let keys = args.get(2..).unwrap_or_default();
    let keys = &keys[..count.min(keys.len())];
    let mut acts: Vec<Act> = Vec::new();
    for (name, place) in calls.into_iter().flatten() {
        let (Some(key), Some(access)) = (keys.get(*place), access_of(name)) else {
            continue;
        };
        if !acts.iter().any(|act| act.key == *key && act.access == access) {
            acts.push(Act::new(key, access));
        }
    }
    acts
}
