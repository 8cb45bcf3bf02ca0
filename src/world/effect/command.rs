//! The keys that a single command names and what it may do to them.

use std::collections::BTreeMap;

use crate::{
    lesson::ScriptKey,
    log::{Access, Command, Reply},
};

/// How a command's reply is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    Plain,
    /// A script: it may have done only part of what it can do.
    Script,
    /// A script that counts down: 0 may be the remaining count.
    Countdown,
    /// A script that asks for a key's TTL: it returns the TTL to a client that it refuses, and nil to one that it does
    /// not, as Redisson's locks do.
    Lock,
    Multi,
    Exec,
    Discard,
}

/// An effect that a command may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PossibleEffect {
    pub key: String,
    pub access: Access,
    /// Whether it puts something into a key of Redis that is no plain string: then the key is its client's.
    pub puts: bool,
    /// The value that the key is set to.
    pub value: Option<String>,
    pub lease_ms: Option<i64>,
    /// Whether the reply has the key's real name: `create -s`.
    pub named_by_reply: bool,
    /// For commands whose reply does not say whether they succeeded: what must have existed before, or been found.
    pub requires: Option<Precondition>,
}

/// The keys that a command may write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MayWrite {
    Nothing,
    Keys(Vec<String>),
    /// Any key: its words do not name them all, as those of a script.
    Anything,
}

impl MayWrite {
    pub(crate) fn includes(&self, key: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Keys(keys) => keys.iter().any(|known| known == key),
            Self::Anything => true,
        }
    }
}

/// The keys that a command may write to, given what it is known to do.
pub(crate) fn may_write(command: &Command, acts: &[PossibleEffect]) -> MayWrite {
    let written: Vec<_> = acts.iter().filter(|act| act.access != Access::Read).collect();
    let keys = || MayWrite::Keys(written.iter().map(|act| act.key.clone()).collect());
    match command {
        Command::Local { .. } | Command::Flock { .. } => MayWrite::Nothing,
        Command::Redis(words) if acts.is_empty() => {
            let name = words.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default();
            if writes_no_key(&name) { MayWrite::Nothing } else { MayWrite::Anything }
        }
        Command::Script { .. } => MayWrite::Anything,
        _ if acts.is_empty() => MayWrite::Anything,
        _ if written.is_empty() => MayWrite::Nothing,
        Command::Redis(_) => keys(),
        // A sequential znode is named by the server, and the words of etcd's `put-if` name the key that it compares.
        _ if written.iter().any(|act| act.named_by_reply || act.access == Access::Changed) => {
            MayWrite::Anything
        }
        _ => keys(),
    }
}

/// Whether a command of Redis that names no key writes to none.
fn writes_no_key(name: &str) -> bool {
    WITHOUT_KEYS.contains(&name)
        || ["DISCARD", "INFO", "MULTI", "PING", "ROLE", "TIME", "WAIT"].contains(&name)
}

/// Whether the words and the reply of a command prove all that it did to keys.
pub(crate) fn is_proven_by_reply(reply_kind: ReplyKind, acts: &[PossibleEffect]) -> bool {
    reply_kind == ReplyKind::Plain
        && !acts.is_empty()
        && acts.iter().all(|act| act.access != Access::Changed && !act.puts)
}

/// What must exist for a command to take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precondition {
    Anything,
    Nothing,
    Something,
    /// A member or field: the reply is how many were added or removed.
    Counted,
}

impl PossibleEffect {
    fn new(key: &str, access: Access) -> Self {
        Self {
            key: key.to_owned(),
            access,
            puts: false,
            value: None,
            lease_ms: None,
            named_by_reply: false,
            requires: None,
        }
    }

    /// Whether the reply shows that it was done.
    ///
    /// The reply of a script is its author's choice. By convention 0, nil and negative numbers mean "nothing done", and
    /// are read so, except where a script counts down: 0 may be what is left after a `DECR`.
    pub(crate) fn done(&self, reply_kind: ReplyKind, reply: &Reply) -> bool {
        let Reply::Value(value) = reply else { return false };
        match self.requires {
            None => {}
            Some(Precondition::Anything) => return true,
            Some(Precondition::Nothing) => return value.is_null(),
            Some(Precondition::Something) => return !value.is_null(),
            Some(Precondition::Counted) => return value.as_i64() != Some(0),
        }
        let number = value.as_i64();
        match (reply_kind, self.access) {
            (_, Access::Read) | (ReplyKind::Plain, Access::Changed) => true,
            (ReplyKind::Lock, _) => value.is_null(),
            (_, Access::Deleted | Access::Expiry) => {
                number.is_none_or(|number| number > 0) && !value.is_null()
            }
            (ReplyKind::Script | ReplyKind::Countdown, _) => {
                let least = i64::from(reply_kind == ReplyKind::Script);
                !value.is_null() && *value != false && number.is_none_or(|number| number >= least)
            }
            // `SET … NX` answers nil, `SETNX` answers 0.
            (_, Access::Set | Access::Changed) => !value.is_null() && number != Some(0),
        }
    }
}

/// What a command may do. An unknown command has no known effects.
pub(crate) fn parse(
    command: &Command,
    scripts: &BTreeMap<String, Vec<(String, ScriptKey)>>,
) -> (ReplyKind, Vec<PossibleEffect>) {
    match command {
        Command::Redis(words) => match words.split_first() {
            None => (ReplyKind::Plain, Vec::new()),
            Some((name, args)) => match name.to_ascii_uppercase().as_str() {
                "MULTI" => (ReplyKind::Multi, Vec::new()),
                "EXEC" => (ReplyKind::Exec, Vec::new()),
                "DISCARD" => (ReplyKind::Discard, Vec::new()),
                // Its effects depend on the script's source, which is not known here.
                "EVAL" | "EVALSHA" | "FCALL" => (ReplyKind::Script, Vec::new()),
                upper => (ReplyKind::Plain, redis(upper, args)),
            },
        },
        Command::Script { name, keys, .. } => {
            let calls = scripts.get(name).map_or(&[][..], Vec::as_slice);
            let any = |names: &[&str]| calls.iter().any(|(name, _)| names.contains(&name.as_str()));
            let reply_kind = match () {
                () if any(&["PTTL"]) => ReplyKind::Lock,
                () if any(&["DECR", "DECRBY", "HINCRBY", "INCRBY"]) => ReplyKind::Countdown,
                () => ReplyKind::Script,
            };
            (reply_kind, script(calls, keys))
        }
        other => {
            let act = |(name, access, named_by_reply)| PossibleEffect {
                named_by_reply,
                ..PossibleEffect::new(name, access)
            };
            (ReplyKind::Plain, other.access().map(act).into_iter().collect())
        }
    }
}

fn redis(name: &str, args: &[String]) -> Vec<PossibleEffect> {
    let Some(first) = args.first() else { return Vec::new() };
    if let ("RENAME" | "RENAMENX", Some(new)) = (name, args.get(1)) {
        return vec![PossibleEffect::new(first, Access::Deleted), PossibleEffect::new(new, Access::Set)];
    }
    match name {
        "COPY" => {
            return args.get(1).map(|copy| PossibleEffect::new(copy, Access::Set)).into_iter().collect();
        }
        "MGET" => return args.iter().map(|key| PossibleEffect::new(key, Access::Read)).collect(),
        "MSET" => {
            let acts = args.chunks_exact(2).map(|pair| PossibleEffect {
                value: Some(pair[1].clone()),
                ..PossibleEffect::new(&pair[0], Access::Set)
            });
            return acts.collect();
        }
        _ => {}
    }
    let number = || args.get(1).and_then(|word| word.parse::<i64>().ok());
    let access = match access_of(name) {
        None => return Vec::new(),
        // Without an option `GETEX` only reads.
        Some(_) if name == "GETEX" && args.len() == 1 => Access::Read,
        // An expiry in the past deletes the key at once.
        Some(Access::Expiry) if name != "GETEX" && number().is_some_and(|number| number <= 0) => {
            Access::Deleted
        }
        Some(access) => access,
    };
    let mut act = PossibleEffect::new(first, access);
    act.puts = puts(name);
    match name {
        "SET" | "SETNX" => {
            (act.value, act.lease_ms) = (args.get(1).cloned(), lease(args));
            act.requires = precondition(args);
        }
        "GETSET" => (act.value, act.requires) = (args.get(1).cloned(), Some(Precondition::Anything)),
        "SETEX" | "PSETEX" => {
            let unit = if name == "SETEX" { 1000 } else { 1 };
            let lease = args.get(1).and_then(|lease| lease.parse::<i64>().ok()?.checked_mul(unit));
            (act.value, act.lease_ms) = (args.get(2).cloned(), lease);
        }
        "LPOP" | "RPOP" => act.requires = Some(Precondition::Something),
        "HDEL" | "LREM" | "SADD" | "SREM" | "ZREM" | "ZREMRANGEBYRANK" | "ZREMRANGEBYSCORE" => {
            act.requires = Some(Precondition::Counted);
        }
        _ => {}
    }
    // One number answers for several keys and does not tell which were deleted.
    if access_of(name) == Some(Access::Deleted) && args.len() > 1 {
        return Vec::new();
    }
    vec![act]
}

/// What must exist for a `SET` that returns the old value, by its options.
fn precondition(args: &[String]) -> Option<Precondition> {
    let has = |option: &str| args.iter().skip(2).any(|word| word.eq_ignore_ascii_case(option));
    has("GET").then(|| match () {
        () if has("NX") => Precondition::Nothing,
        () if has("XX") => Precondition::Something,
        () => Precondition::Anything,
    })
}

/// Commands that neither read nor write a key.
const WITHOUT_KEYS: [&str; 5] = ["PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE", "UNWATCH", "WATCH"];

/// Whether a command changes nothing.
pub(crate) fn only_reads(name: &str) -> bool {
    access_of(&name.to_ascii_uppercase()) == Some(Access::Read)
}

/// The lease of a command, from `PX 3000` or `EX 3` among its words, in milliseconds.
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
        "GET" | "EXISTS" | "TTL" | "PTTL" | "STRLEN" | "HGET" | "HGETALL" | "HEXISTS" | "HKEYS" | "HLEN"
        | "HMGET" | "HVALS" | "LINDEX" | "LLEN" | "LPOS" | "LRANGE" | "SCARD" | "SISMEMBER" | "SMEMBERS"
        | "ZCARD" | "ZCOUNT" | "ZRANGE" | "ZRANGEBYSCORE" | "ZRANK" | "ZSCORE" => Access::Read,
        "SET" | "SETNX" | "SETEX" | "PSETEX" | "GETSET" | "HSETNX" => Access::Set,
        _ if puts(name) => Access::Changed,
        "HDEL" | "LPOP" | "LREM" | "RPOP" | "SREM" | "ZREM" | "ZREMRANGEBYRANK" | "ZREMRANGEBYSCORE" => {
            Access::Changed
        }
        "EXPIRE" | "PEXPIRE" | "EXPIREAT" | "PEXPIREAT" | "PERSIST" | "GETEX" => Access::Expiry,
        "DEL" | "UNLINK" | "GETDEL" => Access::Deleted,
        _ => return None,
    })
}

/// Whether a command puts something into its key, and creates it if need be.
fn puts(name: &str) -> bool {
    matches!(
        name,
        "APPEND"
            | "DECR"
            | "DECRBY"
            | "HINCRBY"
            | "HMSET"
            | "HSET"
            | "INCR"
            | "INCRBY"
            | "INCRBYFLOAT"
            | "LPUSH"
            | "PFADD"
            | "RPUSH"
            | "SADD"
            | "SETBIT"
            | "SETRANGE"
            | "XADD"
            | "ZADD"
            | "ZINCRBY"
    )
}

/// What a script's calls may do to its keys, each once.
fn script(calls: &[(String, ScriptKey)], keys: &[String]) -> Vec<PossibleEffect> {
    let mut acts: Vec<PossibleEffect> = Vec::new();
    for (name, key) in calls {
        let key = match key {
            ScriptKey::Place(place) => keys.get(*place),
            ScriptKey::Named(name) => Some(name),
            ScriptKey::Derived => None,
        };
        let (Some(key), Some(access)) = (key, access_of(name)) else { continue };
        if let Some(known) = acts.iter_mut().find(|act| act.key == *key && act.access == access) {
            known.puts |= puts(name);
        } else {
            acts.push(PossibleEffect { puts: puts(name), ..PossibleEffect::new(key, access) });
        }
    }
    acts
}
