//! The keys that a Redis command touches and whether it may write, according to the server.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    replayable::{CHANGES_THE_SERVER, replayable, replayable_script},
    script,
};
use crate::{
    client::{Part, RespConnection, protocol::Wire},
    log::Command,
    run::{explore::ExploreError, session::RunError},
    text::Text,
};

/// The keys that a command names, each with its server. `None` if it may touch any key.
pub(crate) type NamedKeys = Option<Arc<[Arc<str>]>>;

#[derive(Debug, Clone, Default)]
pub(crate) struct Footprint {
    pub(crate) keys: NamedKeys,
    pub(crate) reads_only: bool,
    pub(crate) transaction: Transaction,
    /// Whether the command runs a script whose calls cannot be determined.
    pub(crate) opaque: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Transaction {
    #[default]
    None,
    /// `WATCH`.
    Watches,
    Unwatches,
    /// `MULTI`.
    Begins,
    /// `EXEC` or `DISCARD`.
    Ends,
}

/// The footprints that the server has reported so far.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    known: HashMap<String, HashMap<Arc<[String]>, Footprint>>,
    /// By script: whether it touches only the keys that it is given.
    scripts: HashMap<Arc<str>, bool>,
    /// Whether `TIME` is answered with the order's time.
    tells_time: bool,
}

/// Why a command cannot be explored.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// An order with the command could not be repeated.
    NotReplayable(Text),
    Lost(String),
}

impl Refusal {
    pub(crate) fn of(self, operation: &str, wire: &Wire, server: &str) -> ExploreError {
        match self {
            Self::Lost(why) => RunError::ServerLost { server: server.to_owned(), why }.into(),
            Self::NotReplayable(why) => {
                let (operation, command) = (operation.to_owned(), wire.command.to_string());
                ExploreError::NotReplayable { operation, command, why }
            }
        }
    }
}

impl Commands {
    /// For servers whose clock is not the order's time, which answers `TIME` instead.
    pub(crate) fn with_server_time() -> Self {
        Self { tells_time: true, ..Self::default() }
    }

    /// Returns the footprint of a command. The server is asked once for each command.
    pub(crate) fn look_up(
        &mut self,
        connection: &mut RespConnection,
        wire: &Wire,
    ) -> Result<Footprint, Refusal> {
        let server = wire.server.as_str();
        match &wire.command {
            Command::Script { keys, args, .. } => {
                let source = wire.script.as_deref().unwrap_or_default();
                self.script_footprint(connection, server, source, (keys, args))
            }
            Command::Redis(words) if runs_script_text(words) => {
                let (keys, args) = keys_and_args(words);
                let source = words.get(1).map_or("", String::as_str);
                self.script_footprint(connection, server, source, (keys, args))
            }
            Command::Redis(words) => {
                // The same key on another server is a different cell.
                let known = self.known.get(server).and_then(|known| known.get(&words[..]));
                if let Some(known) = known {
                    return Ok(known.clone());
                }
                let found = query(connection, server, words, self.tells_time)?;
                let known = self.known.entry(server.to_owned()).or_default();
                known.insert(words.clone().into(), found.clone());
                Ok(found)
            }
            _ => Ok(Footprint::default()),
        }
    }

    fn script_footprint(
        &mut self,
        connection: &mut RespConnection,
        server: &str,
        source: &str,
        (keys, args): (&[String], &[String]),
    ) -> Result<Footprint, Refusal> {
        let calls = script::calls(source);
        replayable_script(source, calls.as_deref(), args, self.tells_time).map_err(Refusal::NotReplayable)?;
        let known = self.scripts.get(source).copied();
        let keeps = match (known, &calls) {
            (Some(known), _) => known,
            (None, Some(calls)) => {
                let keeps = touches_only_given_keys(connection, calls)?;
                self.scripts.insert(source.into(), keeps);
                keeps
            }
            (None, None) => false,
        };
        Ok(Footprint {
            keys: keeps.then(|| cells(server, keys)),
            opaque: calls.is_none(),
            ..Footprint::default()
        })
    }
}

fn runs_script_text(words: &[String]) -> bool {
    is_one_of(&["EVAL", "EVAL_RO"], words)
}

/// Whether a command runs a script or a function that is stored in the server.
fn runs_stored_script(words: &[String]) -> bool {
    is_one_of(&["EVALSHA", "EVALSHA_RO", "FCALL", "FCALL_RO"], words)
}

fn is_one_of(names: &[&str], words: &[String]) -> bool {
    words.first().is_some_and(|name| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

/// The keys and the other arguments of `EVAL script numkeys key … arg …`.
fn keys_and_args(words: &[String]) -> (&[String], &[String]) {
    let rest = words.get(3..).unwrap_or_default();
    let count = words.get(2).and_then(|count| count.parse::<usize>().ok());
    rest.split_at(count.unwrap_or(0).min(rest.len()))
}

/// Whether every call of a script is of a command that touches only the keys among its arguments, according
/// to the server, and each of these is a key that the script was given.
fn touches_only_given_keys(connection: &mut RespConnection, calls: &[script::Call]) -> Result<bool, Refusal> {
    // `TIME` touches no key.
    let calls = || calls.iter().filter(|call| call.name != "TIME");
    let names: HashSet<&str> = calls().map(|call| call.name.as_str()).collect();
    let mut places: HashMap<&str, (i64, i64)> = HashMap::new();
    for name in names {
        let answer = connection.ask_one(["COMMAND", "INFO", name]).map_err(Refusal::Lost)?;
        let info = answer.into_parts().map_err(Refusal::Lost)?;
        let Some(Part::List(info)) = info.first() else { return Ok(false) };
        let [_, _, Part::List(flags), first, last, step, ..] = info.as_slice() else { return Ok(false) };
        let movable = flags.iter().any(|flag| flag.text() == "movablekeys");
        let (Part::Number(first), Part::Number(last), Part::Number(_)) = (first, last, step) else {
            return Ok(false);
        };
        if movable || *first < 1 {
            return Ok(false);
        }
        places.insert(name, (*first, *last));
    }
    Ok(calls().all(|call| {
        let Some((first, last)) = places.get(call.name.as_str()) else { return false };
        // A last position that is counted from the end is known only when the script runs, so all arguments
        // must be keys.
        let end = if *last < 0 { call.are_keys.len() } else { usize::try_from(*last).unwrap_or(usize::MAX) };
        let keys = usize::try_from(*first - 1).ok().and_then(|from| call.are_keys.get(from..end));
        keys.is_some_and(|keys| !keys.is_empty() && keys.iter().all(|is_key| *is_key))
    }))
}

fn query(
    connection: &mut RespConnection,
    server: &str,
    words: &[String],
    tells_time: bool,
) -> Result<Footprint, Refusal> {
    let name = words.first().map(|word| word.to_ascii_uppercase()).unwrap_or_default();
    replayable(&name, words, tells_time).map_err(Refusal::NotReplayable)?;
    if runs_stored_script(words) {
        // The calls of a stored script are not known here.
        return Ok(Footprint { opaque: true, ..Footprint::default() });
    }
    let transaction = match name.as_str() {
        "WATCH" => Transaction::Watches,
        "UNWATCH" => Transaction::Unwatches,
        "MULTI" => Transaction::Begins,
        "EXEC" | "DISCARD" => Transaction::Ends,
        _ => Transaction::None,
    };
    connection.push(["COMMAND", "INFO", &name]);
    connection.push(["COMMAND", "GETKEYS"].into_iter().chain(words.iter().map(String::as_str)));
    let mut answers = connection.ask().map_err(Refusal::Lost)?.into_iter();
    let mut next = || answers.next().ok_or_else(|| Refusal::Lost("no answer".to_owned()));
    let info = next()?.into_parts().map_err(Refusal::Lost)?;
    // The server answers a command without keys with an error, and also a malformed one.
    let keys = next()?.into_parts().ok();
    let has = |flag: &str| match info.first() {
        Some(Part::List(info)) => {
            matches!(info.get(2), Some(Part::List(flags)) if flags.iter().any(|known| known.text() == flag))
        }
        _ => false,
    };
    if has("admin") {
        return Err(Refusal::NotReplayable(CHANGES_THE_SERVER.text(&[])));
    }
    let keys = match keys {
        Some(keys) => Some(keys.iter().map(Part::text).collect::<Vec<_>>()),
        None if transaction != Transaction::None || matches!(name.as_str(), "PING" | "ECHO" | "TIME") => {
            Some(Vec::new())
        }
        None => None,
    };
    // `SORT … BY w_* GET d_*` reads keys that no argument names in full.
    let by_pattern = name.starts_with("SORT") && words.iter().skip(2).any(|word| word.contains('*'));
    Ok(Footprint {
        keys: keys.filter(|_| !by_pattern).map(|keys| cells(server, &keys)),
        reads_only: has("readonly") || transaction == Transaction::Watches,
        transaction,
        opaque: false,
    })
}

/// The cells of some keys, as in footprints of steps.
pub(crate) fn cells<K: AsRef<str>>(server: &str, keys: &[K]) -> Arc<[Arc<str>]> {
    keys.iter().map(|key| cell(server, key.as_ref())).collect()
}

pub(crate) fn cell(server: &str, key: &str) -> Arc<str> {
    format!("{server} {key}").into()
}

pub(crate) fn key_of(cell: &str) -> Option<&str> {
    cell.split_once(' ').map(|(_, key)| key)
}

/// Whether a queued command runs a script whose calls cannot be determined.
pub(crate) fn is_opaque(words: &[String]) -> bool {
    let unread = || words.get(1).is_none_or(|source| script::calls(source).is_none());
    runs_stored_script(words) || runs_script_text(words) && unread()
}
