//! Transactions that are not finished when an order is gone back in: `MULTI` and `WATCH` belong to a connection, so each
//! actor has one of its own for them, on which its commands are queued again.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    commands::{Footprint, Transaction, key_of},
    servers::Sender,
    time_command,
};
use crate::client::{Answer, RespConnection};

/// The state of an unfinished transaction on a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The watched keys, and whether each existed when the watch began.
    watched: BTreeMap<String, bool>,
    /// Whether a watched key has been written since.
    touched: bool,
    /// The commands that were queued since `MULTI`.
    pub(crate) queued: Option<Vec<Vec<String>>>,
}

/// The unfinished transactions of an actor's connections, by server.
pub(crate) type Transactions = BTreeMap<usize, Arc<Pending>>;

impl Pending {
    /// Whether a write to a key may still matter to the transaction.
    pub(crate) fn is_watching(&self) -> bool {
        !self.watched.is_empty() && !self.touched
    }

    /// Whether a command may write a watched key: it names the keys that it touches, and `EXEC` does not.
    pub(crate) fn may_notice(&self, footprint: &Footprint) -> bool {
        let keys = footprint.keys.as_ref().filter(|_| footprint.transaction != Transaction::Ends);
        let is_watched = |cell: &Arc<str>| key_of(cell).is_some_and(|key| self.watched.contains_key(key));
        keys.is_none_or(|keys| keys.iter().any(is_watched))
    }

    pub(crate) fn watched(&self) -> impl Iterator<Item = &str> {
        self.watched.keys().map(String::as_str)
    }

    pub(crate) fn watch(&mut self, keys: &[String], there: impl Fn(&str) -> bool) {
        for key in keys {
            self.watched.entry(key.clone()).or_insert_with(|| there(key));
        }
    }

    pub(crate) fn unwatch(&mut self) {
        self.watched.clear();
        self.touched = false;
    }

    pub(crate) fn touch(&mut self) {
        self.touched = true;
    }

    /// Whether `EXEC` does nothing: a watched key was written, or has expired.
    pub(crate) fn fails(&self, there: impl Fn(&str) -> bool) -> bool {
        self.touched || self.watched.iter().any(|(key, was_there)| *was_there && !there(key))
    }
}

/// A key that belongs to nobody. Writing it makes transactions that watch it fail.
const TOUCHED: &str = "lockstep:touched";
/// A connection of an actor's own for transactions, and the transaction that it is in. The latter is `None`
/// if keys are watched, because restoring keys counts as writing them.
pub(crate) struct Transacting {
    pub(crate) resp: RespConnection,
    pub(crate) transaction: Option<Arc<Pending>>,
}

impl Transacting {
    /// Queues the commands that end any transaction on this connection. Returns the number of their answers.
    pub(crate) fn clear(&mut self) -> usize {
        // Returns an error if there was no transaction.
        self.resp.push(["DISCARD"]);
        self.resp.push(["UNWATCH"]);
        self.transaction = None;
        2
    }

    /// Queues the commands that bring this connection into the transaction of `from`, for a command that is
    /// queued or for the end. Returns the number of their answers.
    pub(crate) fn queue_transaction(&mut self, from: &Sender<'_>, ends: bool, fails: bool) -> usize {
        let (wanted, has) = (from.pending, self.transaction.take());
        // `TIME` is answered with the time of the end, so the commands are queued again.
        let asks_time = wanted.queued.iter().flatten().any(|words| time_command::asks(words));
        if has.as_deref() == Some(wanted) && !asks_time {
            return 0;
        }
        let mut commands = self.clear();
        if ends && !wanted.watched.is_empty() {
            self.resp.push(["WATCH", TOUCHED].into_iter().chain(wanted.watched()));
            commands += 1;
            if fails {
                self.resp.push(["SET", TOUCHED, ""]);
                self.resp.push(["DEL", TOUCHED]);
                commands += 2;
            }
        }
        if let Some(queued) = &wanted.queued {
            self.resp.push(["MULTI"]);
            for words in queued {
                self.resp.push(time_command::with_time(words.clone(), from.at, from.ahead_ms));
            }
            commands += 1 + queued.len();
        }
        commands
    }

    /// Sends the queued commands. Only the last must succeed: one that ends a transaction may return an
    /// error.
    pub(crate) fn done(&mut self, commands: usize) -> Result<(), String> {
        let last = self.resp.ask()?.into_iter().nth(commands - 1);
        last.map_or(Ok(()), Answer::done)
    }
}
