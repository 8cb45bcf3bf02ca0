//! What a Redis server holds, kept so that it can be restored at another time: values as the server dumps them, and when
//! they expire, in the time of the order and not of the clock.

use std::{collections::HashSet, sync::Arc};

use crate::{
    client::{Answer, Part, RespConnection},
    clock::LessonTime,
};

/// Lists every key: its name, its PTTL, its DUMP.
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
    /// In the time of the order, in milliseconds.
    pub(crate) ends: Option<i64>,
    dump: Vec<u8>,
}

/// What some keys hold, `None` where there is no such key.
pub(crate) type Held = Vec<Option<Arc<Entry>>>;

/// All keys of a server, in the order of their names. A search keeps very many of these, which differ in few keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Keyspace {
    pub(crate) entries: Vec<Arc<Entry>>,
}

impl Entry {
    /// Redis ends a key in the millisecond after its last.
    pub(crate) fn lives(&self, at: LessonTime) -> bool {
        self.ends.is_none_or(|ends| ends >= at.as_millis())
    }
}

impl Keyspace {
    /// Reads the answer of [`LOOK`].
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

    /// Reads the answers to `PTTL` and `DUMP` of some keys. The others are what they were.
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

    /// As a server has it whose clock is set ahead by so many milliseconds: its keys end sooner.
    pub(crate) fn aged(&self, ahead: i64) -> Self {
        let aged = |entry: &Arc<Entry>| match entry.ends {
            Some(ends) => Arc::new(Entry { ends: Some(ends - ahead), ..Entry::clone(entry) }),
            None => Arc::clone(entry),
        };
        Self { entries: self.entries.iter().map(aged).collect() }
    }

    /// How many bytes it takes, but for its entries, which others have, too.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + 32 + self.entries.len() * size_of::<Arc<Entry>>()
    }

    pub(crate) fn has_ends(&self) -> bool {
        self.entries.iter().any(|entry| entry.ends.is_some())
    }

    /// The keys that are not the same in both at a time.
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

    /// Whether a key ends with this very millisecond: no command can make one that has no time left.
    pub(crate) fn ends_now(&self, at: LessonTime) -> bool {
        self.entries.iter().any(|entry| entry.ends == Some(at.as_millis()))
    }

    /// Queues on a connection what makes the server, which holds `now`, hold this. `shifted`: the order's time is not
    /// where it was when `now` was looked at, so what ends would end at another time. `from`: the time from which keys
    /// are given what they have left. Gives how many commands these are.
    pub(crate) fn put_back(
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
                let mut gone = now.entries.iter().filter(|entry| !stays(entry)).peekable();
                if gone.peek().is_some() {
                    let keys = gone.map(|entry| entry.key.as_slice());
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

/// Keyspaces and their entries, each kept once.
#[derive(Debug, Default)]
pub(crate) struct Known {
    keyspaces: HashSet<Arc<Keyspace>>,
    entries: HashSet<Arc<Entry>>,
}

/// When there are more, all are forgotten.
const MOST: usize = 50_000;

impl Known {
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
    use super::{Arc, Entry, Keyspace, Known};

    #[test]
    fn keyspaces_share_the_keys_that_are_the_same_in_them() {
        let entry = |key: &str, ends| {
            Arc::new(Entry { key: key.as_bytes().to_vec(), ends, dump: b"the same".to_vec() })
        };
        let mut known = Known::default();
        let mut one = |all: Vec<Arc<Entry>>| known.intern(Keyspace { entries: all });
        let first = one(vec![entry("a", None), entry("b", Some(3))]);
        let second = one(vec![entry("a", None), entry("b", Some(4)), entry("c", None)]);
        assert!(Arc::ptr_eq(&first.entries[0], &second.entries[0]));
        assert!(!Arc::ptr_eq(&first.entries[1], &second.entries[1]));
        // What never ends does not grow old.
        assert!(Arc::ptr_eq(&first.entries[0], &first.aged(5).entries[0]));
        assert_eq!(first.aged(5).entries[1].ends, Some(-2));
        assert!(Arc::ptr_eq(&first, &one(vec![entry("a", None), entry("b", Some(3))])));
    }
}
