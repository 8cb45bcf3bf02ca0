//! What a Redis command reads and whether it may write, as the server itself says, and which commands an order could
//! not be carried out again with. It must not know who sends them.

use std::{collections::HashMap, sync::Arc};

use crate::client::{Direct, Part, protocol::Wire};

/// What is known of one command with its arguments.
#[derive(Debug, Clone)]
pub(super) struct Footprint {
    /// The keys that it names, each with its server. `None`: it may touch all.
    pub(super) keys: Option<Arc<[Arc<str>]>>,
    /// Whether it writes nothing.
    pub(super) reads_only: bool,
    /// What it does to its connection's transaction.
    pub(super) transaction: Transaction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transaction {
    /// Nothing.
    None,
    /// It begins one.
    Begins,
    /// It ends one.
    Ends,
}

/// What the server has said so far.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// By server.
    known: HashMap<String, HashMap<Arc<[String]>, Footprint>>,
}

/// Commands whose order cannot be carried out again, or not be gone back on, and why. What waits or listens is found
/// by the server's own flags too.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &[
            "WAIT",
            "WAITAOF",
            "BLPOP",
            "BRPOP",
            "BLMOVE",
            "BLMPOP",
            "BRPOPLPUSH",
            "BZPOPMIN",
            "BZPOPMAX",
            "BZMPOP",
        ],
        "it waits inside the server, and nobody else could move meanwhile",
    ),
    (
        &[
            "SUBSCRIBE",
            "PSUBSCRIBE",
            "SSUBSCRIBE",
            "UNSUBSCRIBE",
            "PUNSUBSCRIBE",
            "SUNSUBSCRIBE",
            "MONITOR",
        ],
        "it makes its connection listen, which cannot be gone back on",
    ),
    (
        &[
            "SELECT", "SWAPDB", "MOVE", "AUTH", "HELLO", "CLIENT", "RESET", "QUIT", "WATCH", "UNWATCH",
            "READONLY",
        ],
        "it changes its connection or its database, which cannot be gone back on",
    ),
    (
        &[
            "TIME",
            "LASTSAVE",
            "INFO",
            "EXPIREAT",
            "PEXPIREAT",
            "EXPIRETIME",
            "PEXPIRETIME",
        ],
        "it depends on the calendar, and so does not answer the same when it is made again",
    ),
    (
        &["RANDOMKEY", "SPOP", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER"],
        "its reply is drawn at random, and so is not the same when it is made again",
    ),
    (
        &[
            "OBJECT", "MEMORY", "LATENCY", "SLOWLOG", "DBSIZE", "SCAN", "SSCAN", "HSCAN", "ZSCAN", "DUMP",
        ],
        "its reply depends on more than the keys hold, and so need not be the same when it is made again",
    ),
    (
        &[
            "CONFIG",
            "SCRIPT",
            "FUNCTION",
            "DEBUG",
            "SHUTDOWN",
            "REPLICAOF",
            "SLAVEOF",
            "FAILOVER",
            "ACL",
            "MODULE",
            "CLUSTER",
            "SAVE",
            "BGSAVE",
            "BGREWRITEAOF",
        ],
        "it changes the server itself, which emptying it does not undo",
    ),
];

/// Arguments that name a moment of the calendar.
const CALENDAR: &[&str] = &["EXAT", "PXAT", "ABSTTL"];

/// What a script may not call.
const REFUSED_IN_SCRIPTS: &[&str] = &[
    "TIME",
    "RANDOMKEY",
    "SPOP",
    "SRANDMEMBER",
    "HRANDFIELD",
    "ZRANDMEMBER",
    "EXPIREAT",
    "PEXPIREAT",
    "EXPIRETIME",
    "PEXPIRETIME",
    "DBSIZE",
    "SCAN",
    "SELECT",
    "EXAT",
    "PXAT",
];

/// Why a command cannot be explored.
#[derive(Debug)]
pub(super) enum Refusal {
    /// An order with it could not be carried out again.
    NotReplayable(String),
    /// The connection broke.
    Lost(String),
}

impl Commands {
    /// What a command touches. The server is asked once for each.
    pub(super) fn look_up(&mut self, line: &mut Direct, wire: &Wire) -> Result<Footprint, Refusal> {
        let server = wire.server();
        match wire {
            Wire::Script { source, keys, .. } => {
                replayable_script(source).map_err(Refusal::NotReplayable)?;
                Ok(Footprint {
                    keys: only_names_its_keys(source).then(|| cells(server, keys)),
                    reads_only: false,
                    transaction: Transaction::None,
                })
            }
            Wire::Redis { words, .. } => {
                // The same key on another server is another place.
                let known = self.known.get(server).and_then(|known| known.get(&words[..]));
                if let Some(known) = known {
                    return Ok(known.clone());
                }
                let found = ask(line, server, words)?;
                let known = self.known.entry(server.to_owned()).or_default();
                known.insert(words.clone().into(), found.clone());
                Ok(found)
            }
            Wire::Zookeeper { .. } | Wire::Local { .. } => Ok(Footprint {
                keys: None,
                reads_only: false,
                transaction: Transaction::None,
            }),
        }
    }
}

fn ask(line: &mut Direct, server: &str, words: &[String]) -> Result<Footprint, Refusal> {
    let name = words
        .first()
        .map(|word| word.to_ascii_uppercase())
        .unwrap_or_default();
    replayable(&name, words).map_err(Refusal::NotReplayable)?;
    let transaction = match name.as_str() {
        "MULTI" => Transaction::Begins,
        "EXEC" | "DISCARD" => Transaction::Ends,
        _ => Transaction::None,
    };
    line.push(["COMMAND", "INFO", &name]);
    line.push(
        ["COMMAND", "GETKEYS"]
            .into_iter()
            .chain(words.iter().map(String::as_str)),
    );
    let mut answers = line.ask().map_err(Refusal::Lost)?.into_iter();
    let mut next = || {
        answers
            .next()
            .ok_or_else(|| Refusal::Lost("no answer".to_owned()))
    };
    let info = next()?.into_parts().map_err(Refusal::Lost)?;
    // A command without keys is answered with an error, and so is one that is written wrongly.
    let keys = next()?.into_parts().ok();
    let flags = match info.first() {
        Some(Part::List(info)) => match info.get(2) {
            Some(Part::List(flags)) => flags.iter().map(Part::text).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let has = |flag: &str| flags.iter().any(|known| known == flag);
    let blocks = words.iter().any(|word| word.eq_ignore_ascii_case("BLOCK"));
    if has("blocking") && (blocks || !name.starts_with('X')) {
        return Err(Refusal::NotReplayable(REFUSED[0].1.to_owned()));
    }
    if has("admin") {
        return Err(Refusal::NotReplayable(REFUSED[REFUSED.len() - 1].1.to_owned()));
    }
    let keys = match keys {
        Some(keys) => Some(keys.iter().map(Part::text).collect::<Vec<_>>()),
        None if transaction != Transaction::None || matches!(name.as_str(), "PING" | "ECHO") => {
            Some(Vec::new())
        }
        None => None,
    };
    Ok(Footprint {
        keys: keys.map(|keys| cells(server, &keys)),
        reads_only: has("readonly"),
        transaction,
    })
}

fn replayable(name: &str, words: &[String]) -> Result<(), String> {
    for (names, why) in REFUSED {
        if names.contains(&name) {
            return Err((*why).to_owned());
        }
    }
    let calendar = |word: &&String| CALENDAR.iter().any(|known| known.eq_ignore_ascii_case(word));
    if let Some(word) = words.iter().skip(1).find(calendar) {
        return Err(format!(
            "`{word}` names a moment of the calendar, which is another when it is made again"
        ));
    }
    if name == "XADD" && words.iter().any(|word| word == "*") {
        return Err(
            "the server names the entry by its calendar, and so not the same when it is made again"
                .to_owned(),
        );
    }
    Ok(())
}

/// The words in quotes of a script, in capitals.
fn quoted(source: &str) -> impl Iterator<Item = String> {
    source
        .split(['\'', '"'])
        .skip(1)
        .step_by(2)
        .map(str::to_ascii_uppercase)
}

fn replayable_script(source: &str) -> Result<(), String> {
    let refused = quoted(source).find(|word| REFUSED_IN_SCRIPTS.contains(&word.as_str()));
    match refused {
        Some(word) => Err(format!(
            "its script calls `{word}`, which does not answer the same when it is made again"
        )),
        None if source.contains("math.random") => {
            Err("its script draws at random, and so need not do the same when it is made again".to_owned())
        }
        None => Ok(()),
    }
}

/// Whether a script calls Redis only on keys that it was given: `redis.call('GET', KEYS[1])`. Where one cannot tell,
/// it does not.
fn only_names_its_keys(source: &str) -> bool {
    let calls = source.split("call").skip(1);
    calls.into_iter().all(|call| {
        let Some(inside) = call.trim_start().strip_prefix('(') else {
            return false;
        };
        let Some((_, after)) = inside.split_once(',') else {
            return false;
        };
        after.trim_start().starts_with("KEYS[")
    })
}

/// Keys as places that steps touch.
pub(super) fn cells<K: AsRef<str>>(server: &str, keys: &[K]) -> Arc<[Arc<str>]> {
    keys.iter().map(|key| cell(server, key.as_ref())).collect()
}

/// A key as a place that steps touch.
pub(super) fn cell(server: &str, key: &str) -> Arc<str> {
    format!("{server} {key}").into()
}

/// The key's own name.
pub(super) fn key_of(cell: &str) -> Option<&str> {
    cell.split_once(' ').map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::{only_names_its_keys, replayable, replayable_script};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn what_cannot_be_made_again_says_why() {
        for (command, why) in [
            ("BLPOP q 0", "waits inside the server"),
            ("WAIT 1 0", "waits inside the server"),
            ("SUBSCRIBE c", "listen"),
            ("RANDOMKEY", "random"),
            ("TIME", "calendar"),
            ("SET k v EXAT 1", "calendar"),
            ("CONFIG SET a b", "server itself"),
        ] {
            let words = words(command);
            let refused = replayable(&words[0], &words).expect_err(command);
            assert!(refused.contains(why), "{command}: {refused}");
        }
        assert!(replayable("SET", &words("SET k v NX PX 10")).is_ok());
        assert!(replayable_script("return redis.call('TIME')[1]").is_err());
        assert!(replayable_script("return redis.call('GET', KEYS[1])").is_ok());
    }

    #[test]
    fn a_script_that_names_keys_of_its_own_may_touch_all() {
        assert!(only_names_its_keys(
            "local x = redis.call('GET', KEYS[1])\nreturn redis.pcall('DEL', KEYS[2])"
        ));
        assert!(!only_names_its_keys("return redis.call('GET', 'secret')"));
        assert!(!only_names_its_keys("return redis.call('DBSIZE')"));
        assert!(!only_names_its_keys(
            "local call = redis.call; return call('GET', KEYS[1])"
        ));
        assert!(only_names_its_keys("return 1"));
    }
}
