//! The outcome of one race, computed from its log: locks, counters, final values, and unfinished programs.
//! Two races have the same outcome if all of these are equal.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;

use crate::{
    lesson::{
        Scenario,
        expr::Mentions,
        plan::{Condition, NeverPlan},
    },
    log::{KeyValue, Log, Observed, is_any, is_server_called, stands_for},
    world::{Holding, Life, World},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LockFate {
    /// At some time, more actors believed to hold the lock than may.
    Violated,
    /// The lock was held, and never by too many.
    Held,
    /// No actor ever believed to hold the lock.
    NeverHeld,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Outcome {
    /// Every lock that a program has beliefs about.
    pub locks: BTreeMap<String, LockFate>,
    /// The counters that the variant's claims name.
    pub counters: BTreeMap<String, i64>,
    /// The final values of the keys that the claims ask for with `value(…)`; `None` if there was no such key.
    /// The token of an owner is replaced by the owner's name.
    pub values: BTreeMap<String, Option<String>>,
    /// The number of actors whose programs did not finish.
    pub unfinished: usize,
    /// The broken invariants, by their source text: `sold > stock`.
    pub broken: BTreeSet<String>,
}

/// What the outcomes of a scenario contain: its locks, and the names in its claims.
#[derive(Debug, Clone)]
pub struct OutcomeFields {
    /// The locks that programs have beliefs about.
    locks: BTreeSet<String>,
    counters: BTreeSet<String>,
    /// The keys whose values the claims ask for, with the server if they name one.
    pub values: Vec<(String, Option<String>)>,
}

impl OutcomeFields {
    pub fn of(scenario: &Scenario) -> Self {
        let mentions = scenario.claims.iter().filter_map(|claim| match &claim.condition {
            Condition::That { whole, .. } => Some(whole.mentions()),
            Condition::Overlap(_) | Condition::Exclusive(_) => None,
        });
        let claims: Vec<Mentions> = mentions.collect();
        let programs = || scenario.actors.iter().map(|plan| &plan.program);
        let counted =
            scenario.counters.iter().filter(|counter| claims.iter().any(|claim| claim.names(counter)));
        let named = scenario.invariants.iter().filter_map(|invariant| match &invariant.never {
            NeverPlan::Overlap(lock) => Some(lock),
            NeverPlan::That(_) => None,
        });
        Self {
            locks: programs().flat_map(|program| &program.locks).chain(named).cloned().collect(),
            counters: counted.cloned().collect(),
            values: claims.iter().flat_map(|claim| claim.keys_of("value")).collect(),
        }
    }

    pub(crate) fn counters(&self) -> impl Iterator<Item = &String> {
        self.counters.iter()
    }

    /// An outcome without the final values, given the holders of the locks and the count of each counter.
    pub fn without_values(
        &self,
        holding: &Holding,
        count: impl Fn(&str) -> Option<i64>,
        unfinished: usize,
    ) -> Outcome {
        let fate = |lock: &String| match holding.most(lock).len() {
            _ if holding.overlaps_of(lock).next().is_some() => LockFate::Violated,
            0 => LockFate::NeverHeld,
            _ => LockFate::Held,
        };
        let counters = self.counters.iter().map(|name| (name.clone(), count(name).unwrap_or(0)));
        // Where any lock is meant, each lock that was held is listed by its own name.
        let (any, mut locks): (Vec<&String>, Vec<&String>) = self.locks.iter().partition(|lock| is_any(lock));
        let held: Vec<String> = holding.ever_held().map(str::to_owned).collect();
        if !any.is_empty() {
            locks.extend(if held.is_empty() { any } else { held.iter().collect() });
        }
        Outcome {
            locks: locks.into_iter().map(|lock| (lock.clone(), fate(lock))).collect(),
            counters: counters.collect(),
            unfinished,
            ..Outcome::default()
        }
    }

    /// The final values, from a world in which the servers hold their final state.
    pub fn values(&self, world: &World) -> BTreeMap<String, Option<String>> {
        let values = self.values.iter().map(|(key, server)| {
            let name = server.as_ref().map_or(key.clone(), |server| format!("{key} on {server}"));
            (name, value(world, key, server.as_deref()))
        });
        values.collect()
    }
}

impl Outcome {
    /// Computes the outcome of a race from its log, without the broken invariants.
    pub fn of(scenario: &Scenario, log: &Log) -> Self {
        let world = World::fold(log, log.len());
        let unfinished = world.actors.iter().filter(|actor| actor.life != Life::Finished).count();
        let fields = OutcomeFields::of(scenario);
        let count = |counter: &str| world.counters.get(counter).copied();
        Self { values: fields.values(&world), ..fields.without_values(&world.holding, count, unfinished) }
    }

    /// Whether more actors at a time believed to hold the lock `name`, or one of the locks that the name
    /// stands for, than may.
    pub(crate) fn overlaps(&self, name: &str) -> bool {
        let mut locks = self.locks.iter().filter(|(lock, _)| stands_for(name, lock));
        locks.any(|(_, fate)| *fate == LockFate::Violated)
    }

    /// Whether an invariant was broken or a lock had too many holders.
    pub fn is_violated(&self) -> bool {
        !self.broken.is_empty() || self.has_too_many_holders()
    }

    /// The broken invariants, except those that only repeat the fate of a lock.
    pub fn broken_except_locks(&self) -> impl Iterator<Item = &str> {
        let broken = self.broken.iter().map(String::as_str);
        broken.filter(|never| {
            let lock = never.strip_prefix("overlap: ");
            lock.is_none_or(|lock| !self.locks.keys().any(|known| stands_for(lock, known)))
        })
    }

    /// Whether a lock had too many holders.
    pub fn has_too_many_holders(&self) -> bool {
        self.locks.values().any(|fate| *fate == LockFate::Violated)
    }
}

impl fmt::Display for Outcome {
    /// Writes `lock held, sold 1, stock = 0`: the same in all languages, as claims are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locks = self.locks.iter().map(|(lock, fate)| match fate {
            LockFate::Violated => format!("{lock} VIOLATED"),
            LockFate::Held => format!("{lock} held"),
            LockFate::NeverHeld => format!("{lock} never held"),
        });
        let counters = self.counters.iter().map(|(counter, count)| format!("{counter} {count}"));
        let values =
            self.values.iter().map(|(key, value)| format!("{key} = {}", value.as_deref().unwrap_or("nil")));
        let unfinished = (self.unfinished > 0).then(|| format!("{} unfinished", self.unfinished));
        let broken = self.broken_except_locks().map(str::to_owned);
        let parts: Vec<String> =
            locks.chain(counters).chain(values).chain(unfinished).chain(broken).collect();
        if parts.is_empty() {
            return f.write_str("all finished");
        }
        f.write_str(&parts.join(", "))
    }
}

/// The value of a key on the given server, or on the first server that has it.
fn value(world: &World, key: &str, server: Option<&str>) -> Option<String> {
    let servers = world.servers.iter();
    let mut asked =
        servers.filter(|known| server.is_none_or(|name| is_server_called(&known.info.name, name)));
    asked.find_map(|server| {
        let keyspace = match server.observed.as_ref()? {
            Observed::Redis(keyspace) => keyspace,
            other => return other.entry(key).map(|entry| entry.text().into_owned()),
        };
        let state = keyspace.keys.get(key)?;
        if state.is_expired(world.now) {
            return None;
        }
        Some(match &state.value {
            KeyValue::String(text) => owner(world, text).unwrap_or(text).to_owned(),
            other => serde_json::to_string(other).unwrap_or_default(),
        })
    })
}

/// The owner of a token, such as `A` of `A-3f0e`. Tokens differ from race to race, which is no difference in
/// the outcome.
fn owner<'t>(world: &World, text: &'t str) -> Option<&'t str> {
    let (name, digits) = text.rsplit_once('-')?;
    let is_token = digits.len() == 4 && digits.chars().all(|c| c.is_ascii_hexdigit());
    (is_token && world.actors.iter().any(|actor| actor.who.name == name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{LockFate, Outcome};

    #[test]
    fn an_outcome_is_printed_briefly() {
        let outcome = Outcome {
            locks: [("lock".to_owned(), LockFate::Violated)].into(),
            counters: [("sold".to_owned(), 2)].into(),
            values: [("owner".to_owned(), None), ("stock".to_owned(), Some("-1".to_owned()))].into(),
            unfinished: 3,
            broken: std::iter::empty().collect(),
        };
        assert_eq!(outcome.to_string(), "lock VIOLATED, sold 2, owner = nil, stock = -1, 3 unfinished");
        assert_eq!(Outcome::default().to_string(), "all finished");
    }
}
