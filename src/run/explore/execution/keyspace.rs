//! The contents of a Redis server, stored so that they can be restored at another time: values as the server
//! dumps them, and expiry times in the time of the order rather than of the clock.

use std::{collections::HashSet, sync::Arc};

use crate::{
    client::{Answer, Part, RespConnection},
    clock::LessonTime,
};

/// A script that lists the name, the PTTL and the DUMP of every key.
pub(crate) const LOOK: &str = "local all = {}
for _, name in ipairs(redis.call('KEYS', '*')) do
  all[#all + 1] = name
  all[#all + 1] = redis.call('PTTL', name)
  all[#all + 1] = redis.call('DUMP', name)
end
return all";

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    /// The expiry time, in milliseconds of the order's time.
    pub(crate) ends: Option<i64>,
    dump: Vec<u8>,
}

/// The contents of some keys, `None` for a key that does not exist.
pub(crate) type KeyContents = Vec<Option<Arc<Entry>>>;

/// All keys of a server, ordered by name. A search stores very many keyspaces, which differ in few keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Keyspace {
    pub(crate) entries: Vec<Arc<Entry>>,
}

impl Entry {
    /// Whether it is a set or a hash of several members in a hash table, whose order is the server's own. The first byte
    /// of a dump is the type of its encoding (`rdb.h`), and a small number of members is the second.
    pub(crate) fn is_hash_table(&self) -> bool {
        const SET: u8 = 2;
        const HASH: u8 = 4;
        const HASH_WITH_EXPIRIES: [u8; 2] = [22, 24];
        match self.dump[..] {
            [SET | HASH, count, ..] => count != 1,
            [first, ..] => HASH_WITH_EXPIRIES.contains(&first),
            [] => false,
        }
    }

    /// Whether the key exists at a time. Redis deletes a key in the millisecond after `ends`.
    pub(crate) fn lives(&self, at: LessonTime) -> bool {
        self.ends.is_none_or(|ends| ends >= at.as_millis())
    }
}

impl Keyspace {
    /// Parses the answer to [`LOOK`].
    pub(crate) fn read(answer: Answer, at: LessonTime) -> Result<Self, String> {
        let mut entries = Vec::new();
        let mut parts = answer.into_parts()?.into_iter();
        while let (Some(Part::Bytes(key)), Some(Part::Number(left)), Some(Part::Bytes(dump))) =
            (parts.next(), parts.next(), parts.next())
        {
            let ends = (left >= 0).then(|| at.as_millis() + left);
            entries.push(Arc::new(Entry { key, ends, dump }));
        }
        entries.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        Ok(Self { entries })
    }

    /// Parses the answers to `PTTL` and `DUMP` of some keys. The other keys stay as they are.
    pub(crate) fn with<'k>(
        &self,
        keys: impl Iterator<Item = &'k str>,
        answers: &mut impl Iterator<Item = Answer>,
        at: LessonTime,
    ) -> Result<Self, String> {
        let mut entries = self.entries.clone();
        for key in keys {
            let mut next = || Ok::<_, String>(answers.next().ok_or("no answer")?.into_parts()?.pop());
            let (left, dump) = (next()?, next()?);
            let key = key.as_bytes();
            let there = entries.binary_search_by(|entry| entry.key.as_slice().cmp(key));
            let Some(Part::Bytes(dump)) = dump else {
                if let Ok(n) = there {
                    entries.remove(n);
                }
                continue;
            };
            let ends = match left {
                Some(Part::Number(left)) if left >= 0 => Some(at.as_millis() + left),
                _ => None,
            };
            let entry = Arc::new(Entry { key: key.to_vec(), ends, dump });
            match there {
                Ok(n) => entries[n] = entry,
                Err(n) => entries.insert(n, entry),
            }
        }
        Ok(Self { entries })
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Arc<Entry>> {
        let found = self.entries.binary_search_by(|entry| entry.key.as_slice().cmp(key));
        found.ok().map(|n| &self.entries[n])
    }

    /// The keyspace on a server whose clock is set ahead by `ahead` milliseconds: its keys expire sooner.
    pub(crate) fn aged(&self, ahead: i64) -> Self {
        let aged = |entry: &Arc<Entry>| match entry.ends {
            Some(ends) => Arc::new(Entry { ends: Some(ends - ahead), ..Entry::clone(entry) }),
            None => Arc::clone(entry),
        };
        Self { entries: self.entries.iter().map(aged).collect() }
    }

    /// The size in bytes, without the entries, which other keyspaces share.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + 32 + self.entries.len() * size_of::<Arc<Entry>>()
    }

    pub(crate) fn has_ends(&self) -> bool {
        self.entries.iter().any(|entry| entry.ends.is_some())
    }

    /// The moments at which keys are gone.
    pub(crate) fn expiries(&self) -> impl Iterator<Item = LessonTime> {
        self.entries.iter().filter_map(|entry| Some(LessonTime::from_millis(entry.ends? + 1)))
    }

    /// The keys that differ between the two keyspaces at a time.
    pub(crate) fn differences(&self, other: &Self, at: LessonTime) -> Vec<String> {
        let alive = |entry: &&Arc<Entry>| entry.lives(at);
        let changed = |one: &Self, other: &Self| -> Vec<Vec<u8>> {
            let same = |entry: &Arc<Entry>| other.get(&entry.key).filter(alive) == Some(entry);
            let entries = one.entries.iter().filter(alive);
            entries.filter(|entry| !same(entry)).map(|entry| entry.key.clone()).collect()
        };
        let mut keys = changed(self, other);
        keys.extend(changed(other, self));
        keys.sort_unstable();
        keys.dedup();
        keys.iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect()
    }

    /// Whether a key expires in this very millisecond. No command can create a key that has no time left.
    pub(crate) fn ends_now(&self, at: LessonTime) -> bool {
        self.entries.iter().any(|entry| entry.ends == Some(at.as_millis()))
    }

    /// Queues the commands that make a server hold this keyspace. `now` is what the server holds, if that is
    /// known. `shifted`: the order's time has gone back since `now` was read, so keys with an expiry would
    /// expire at another time. `from`: the time from which the remaining time of keys is counted. Returns the
    /// number of commands.
    pub(crate) fn restore_commands(
        &self,
        connection: &mut RespConnection,
        now: Option<&Self>,
        shifted: bool,
        (at, from): (LessonTime, LessonTime),
    ) -> usize {
        let mut commands = 0;
        match now {
            None => {
                connection.push(["FLUSHALL"]);
                commands += 1;
            }
            Some(now) => {
                let stays = |entry: &&Arc<Entry>| self.get(&entry.key).is_some_and(|wanted| wanted.lives(at));
                let mut deleted = now.entries.iter().filter(|entry| !stays(entry)).peekable();
                if deleted.peek().is_some() {
                    let keys = deleted.map(|entry| entry.key.as_slice());
                    connection.push(std::iter::once(b"DEL".as_slice()).chain(keys));
                    commands += 1;
                }
            }
        }
        for entry in self.entries.iter().filter(|entry| entry.lives(at)) {
            let there = now.and_then(|now| now.get(&entry.key));
            if there == Some(entry) && !(shifted && entry.ends.is_some()) {
                continue;
            }
            let left = entry.ends.map_or(0, |ends| ends - from.as_millis()).to_string();
            connection.push([b"RESTORE".as_slice(), &entry.key, left.as_bytes(), &entry.dump, b"REPLACE"]);
            commands += 1;
        }
        commands
    }
}

/// Keyspaces and their entries, each stored once.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    keyspaces: HashSet<Arc<Keyspace>>,
    entries: HashSet<Arc<Entry>>,
}

/// The most keyspaces that are stored. Beyond that, all are dropped.
const MOST: usize = 50_000;

impl Interner {
    pub(crate) fn living(&mut self, keyspace: &Arc<Keyspace>, at: LessonTime) -> Arc<Keyspace> {
        if keyspace.entries.iter().all(|entry| entry.lives(at)) {
            return Arc::clone(keyspace);
        }
        let living = keyspace.entries.iter().filter(|entry| entry.lives(at));
        self.intern(Keyspace { entries: living.cloned().collect() })
    }

    pub(crate) fn intern(&mut self, mut keyspace: Keyspace) -> Arc<Keyspace> {
        if let Some(known) = self.keyspaces.get(&keyspace) {
            return Arc::clone(known);
        }
        if self.keyspaces.len() >= MOST {
            (self.keyspaces, self.entries) = (HashSet::new(), HashSet::new());
        }
        for entry in &mut keyspace.entries {
            if let Some(known) = self.entries.get(entry) {
                *entry = Arc::clone(known);
            } else {
                self.entries.insert(Arc::clone(entry));
            }
        }
        keyspace.entries.shrink_to_fit();
        let new = Arc::new(keyspace);
        self.keyspaces.insert(Arc::clone(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, Entry, Interner, Keyspace};

    #[test]
    fn keyspaces_share_equal_entries() {
        let entry = |key: &str, ends| {
            Arc::new(Entry { key: key.as_bytes().to_vec(), ends, dump: b"the same".to_vec() })
        };
        let mut known = Interner::default();
        let mut one = |all: Vec<Arc<Entry>>| known.intern(Keyspace { entries: all });
        let first = one(vec![entry("a", None), entry("b", Some(3))]);
        let second = one(vec![entry("a", None), entry("b", Some(4)), entry("c", None)]);
        assert!(Arc::ptr_eq(&first.entries[0], &second.entries[0]));
        assert!(!Arc::ptr_eq(&first.entries[1], &second.entries[1]));
        // An entry without an expiry does not change.
        assert!(Arc::ptr_eq(&first.entries[0], &first.aged(5).entries[0]));
        assert_eq!(first.aged(5).entries[1].ends, Some(-2));
        assert!(Arc::ptr_eq(&first, &one(vec![entry("a", None), entry("b", Some(3))])));
    }
}
