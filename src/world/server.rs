//! One server's part of the world: its observed contents, and how the last observation changed them.

use std::collections::BTreeMap;

use crate::log::{Condition, Fault, Observed, ServerInfo};

/// How a key or a znode differs from the previous observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Added,
    /// Its value, expiry, owner or watchers differ.
    Changed,
    Removed,
}

/// One server after a prefix of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerWorld {
    pub info: ServerInfo,
    /// Why it ended, if it did.
    pub died: Option<String>,
    pub frozen: bool,
    /// How far its clock is ahead of the others', in milliseconds; behind if negative.
    pub ahead_ms: i64,
    /// Its last observed contents.
    pub observed: Option<Observed>,
    /// How they differ from the observation before, by key or path.
    pub changes: BTreeMap<String, Change>,
    /// The server's own metrics, by its names for them.
    pub metrics: BTreeMap<String, i64>,
}

impl ServerWorld {
    pub(crate) fn new(info: ServerInfo) -> Self {
        Self {
            info,
            died: None,
            frozen: false,
            ahead_ms: 0,
            observed: None,
            changes: BTreeMap::new(),
            metrics: BTreeMap::new(),
        }
    }

    pub(crate) fn apply_fault(&mut self, fault: &Fault) {
        match fault.leaves() {
            Condition::Dead => {
                let why = if matches!(fault, Fault::LosePower { .. }) { "POWER" } else { "SIGKILL" };
                self.died = Some(why.to_owned());
                self.frozen = false;
                self.observed = None;
            }
            Condition::Restarted => self.died = None,
            Condition::Frozen => self.frozen = true,
            Condition::Running => self.frozen = false,
            Condition::Ahead(ahead_ms) => self.ahead_ms = ahead_ms,
            Condition::Cut | Condition::Held(_) | Condition::Delayed(..) | Condition::Open => {}
        }
    }

    pub(crate) fn observe(&mut self, observed: &Observed) {
        self.changes = changes(self.observed.as_ref(), observed);
        self.observed = Some(observed.clone());
    }
}

/// How the state of a server differs from the one before, by key or path.
pub fn changes(before: Option<&Observed>, after: &Observed) -> BTreeMap<String, Change> {
    let (before, after) = (before.map(Observed::entries).unwrap_or_default(), after.entries());
    let known = after.iter().filter_map(|(name, entry)| match before.get(name) {
        None => Some((name, Change::Added)),
        Some(old) if old != entry => Some((name, Change::Changed)),
        Some(_) => None,
    });
    let removed = before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name, Change::Removed));
    known.chain(removed).map(|(name, change)| ((*name).to_owned(), change)).collect()
}
