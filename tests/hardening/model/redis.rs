//! A model of Redis, as far as the random programs need it: written from Redis' documentation, not from Lockstep.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Data {
    Text(String),
    Hash(BTreeMap<String, i64>),
    Sorted(BTreeMap<String, i64>),
    List(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    data: Data,
    /// The last millisecond in which the key exists.
    last: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reply {
    Nil,
    Int(i64),
    Text(String),
    List(Vec<Reply>),
    Wrong,
}

fn ok() -> Reply {
    Reply::Text("OK".to_owned())
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Redis {
    keys: BTreeMap<String, Key>,
    /// How far its clock is ahead, in milliseconds.
    ahead: i64,
}

impl Redis {
    /// Carries out a command at a time in milliseconds.
    pub fn call(&mut self, words: &[&str], now: i64) -> Reply {
        self.keys.retain(|_, key| key.last.is_none_or(|last| last >= now));
        let number = |word: &str| word.parse::<i64>().expect("a number");
        match words {
            ["GET", key] => {
                self.text(key).map_or_else(|wrong| wrong, |text| text.map_or(Reply::Nil, Reply::Text))
            }
            ["SET", key, value] => self.set(key, value, None),
            ["SET", key, value, "PX", left] => self.set(key, value, Some(now + number(left))),
            ["SET", key, value, "NX", rest @ ..] => {
                if self.keys.contains_key(*key) {
                    return Reply::Nil;
                }
                self.set(key, value, rest.get(1).map(|left| now + number(left)))
            }
            ["INCR", key] => self.add(key, 1),
            ["DECR", key] => self.add(key, -1),
            ["DEL", keys @ ..] => {
                let gone = keys.iter().filter(|key| self.keys.remove(**key).is_some());
                Reply::Int(i64::try_from(gone.count()).expect("few"))
            }
            ["EXISTS", key] => Reply::Int(self.keys.contains_key(*key).into()),
            ["PEXPIRE", key, left] => match self.keys.get_mut(*key) {
                Some(key) => {
                    key.last = Some(now + number(left));
                    Reply::Int(1)
                }
                None => Reply::Int(0),
            },
            ["PTTL", key] => Reply::Int(match self.keys.get(*key) {
                None => -2,
                Some(key) => key.last.map_or(-1, |last| last - now),
            }),
            ["HINCRBY", key, field, by] => {
                let new = || Data::Hash(BTreeMap::new());
                match self.data(key, new) {
                    Data::Hash(fields) => {
                        let field = fields.entry((*field).to_owned()).or_default();
                        *field += number(by);
                        Reply::Int(*field)
                    }
                    _ => Reply::Wrong,
                }
            }
            ["ZADD", key, score, member] => match self.data(key, || Data::Sorted(BTreeMap::new())) {
                Data::Sorted(members) => {
                    let new = members.insert((*member).to_owned(), number(score)).is_none();
                    Reply::Int(new.into())
                }
                _ => Reply::Wrong,
            },
            ["ZCARD", key] => match self.keys.get(*key).map(|key| &key.data) {
                None => Reply::Int(0),
                Some(Data::Sorted(members)) => Reply::Int(i64::try_from(members.len()).expect("few")),
                Some(_) => Reply::Wrong,
            },
            ["RPUSH", key, members @ ..] => match self.data(key, || Data::List(Vec::new())) {
                Data::List(list) => {
                    list.extend(members.iter().map(|member| (*member).to_owned()));
                    Reply::Int(i64::try_from(list.len()).expect("few"))
                }
                _ => Reply::Wrong,
            },
            ["COPY", from, to] if from == to => Reply::Wrong,
            ["COPY", from, to] => match (self.keys.get(*from).cloned(), self.keys.contains_key(*to)) {
                (Some(key), false) => {
                    self.keys.insert((*to).to_owned(), key);
                    Reply::Int(1)
                }
                _ => Reply::Int(0),
            },
            ["RENAME", from, to] => match self.keys.remove(*from) {
                Some(key) => {
                    self.keys.insert((*to).to_owned(), key);
                    ok()
                }
                None => Reply::Wrong,
            },
            ["MSET", pairs @ ..] => {
                for pair in pairs.chunks(2) {
                    self.set(pair[0], pair[1], None);
                }
                ok()
            }
            ["SORT", key, "BY", pattern] => self.sorted(key, pattern),
            other => panic!("the model has no {other:?}"),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, Reply> {
        match self.keys.get(key).map(|key| &key.data) {
            None => Ok(None),
            Some(Data::Text(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Reply::Wrong),
        }
    }

    fn data(&mut self, key: &str, new: impl Fn() -> Data) -> &mut Data {
        let key = self.keys.entry(key.to_owned());
        &mut key.or_insert_with(|| Key { data: new(), last: None }).data
    }

    fn set(&mut self, key: &str, value: &str, last: Option<i64>) -> Reply {
        let data = Data::Text(value.to_owned());
        self.keys.insert(key.to_owned(), Key { data, last });
        ok()
    }

    fn add(&mut self, key: &str, by: i64) -> Reply {
        let before = match self.text(key) {
            Err(wrong) => return wrong,
            Ok(None) => 0,
            Ok(Some(text)) => match text.parse::<i64>() {
                Ok(number) => number,
                Err(_) => return Reply::Wrong,
            },
        };
        *self.data(key, || Data::Text(String::new())) = Data::Text((before + by).to_string());
        Reply::Int(before + by)
    }

    /// Sorts by the numbers under the names that the pattern makes of the members, and by the members for equal
    /// numbers.
    fn sorted(&self, key: &str, pattern: &str) -> Reply {
        let mut members = match self.keys.get(key).map(|key| &key.data) {
            None => return Reply::List(Vec::new()),
            Some(Data::List(list)) => list.clone(),
            Some(_) => return Reply::Wrong,
        };
        let mut wrong = false;
        members.sort_by_cached_key(|member| {
            let weight = match self.text(&pattern.replace('*', member)) {
                Ok(Some(text)) => text.parse().unwrap_or_else(|_| {
                    wrong = true;
                    0
                }),
                _ => 0_i64,
            };
            (weight, member.clone())
        });
        if wrong {
            return Reply::Wrong;
        }
        Reply::List(members.into_iter().map(Reply::Text).collect())
    }

    /// The value of a key as an invariant sees it.
    pub fn value(&self, key: &str, now: i64) -> Option<&str> {
        let key = self.keys.get(key).filter(|key| key.last.is_none_or(|last| last >= now))?;
        match &key.data {
            Data::Text(text) => Some(text),
            other => panic!("{other:?} is not asked for"),
        }
    }

    pub fn exists(&self, key: &str, now: i64) -> bool {
        let key = self.keys.get(key);
        key.is_some_and(|key| key.last.is_none_or(|last| last >= now))
    }

    /// The last millisecond of the key that expires first.
    pub fn next_end(&self, now: i64) -> Option<i64> {
        self.keys.values().filter_map(|key| key.last).filter(|last| *last >= now).min()
    }

    /// A kill and a restart: the keys are gone, and the clock keeps its skew.
    pub fn restart(&mut self) {
        self.keys.clear();
    }

    /// The time by its clock.
    pub fn time(&self, now: i64) -> i64 {
        now + self.ahead
    }

    /// Sets the clock ahead by this many milliseconds: keys have that much less left.
    pub fn set_clock_ahead(&mut self, ahead: i64, now: i64) {
        self.ahead += ahead;
        self.keys.retain(|_, key| key.last.is_none_or(|last| last >= now));
        for key in self.keys.values_mut() {
            key.last = key.last.map(|last| last - ahead);
        }
    }

    pub fn left(&self, key: &str, now: i64) -> i64 {
        self.clone().call(&["PTTL", key], now).number()
    }
}

impl Reply {
    /// A lost reply, which a program handles or not.
    pub fn lost(allowed: bool) -> Self {
        if allowed { Self::Text("Lost".to_owned()) } else { Self::Wrong }
    }

    fn number(&self) -> i64 {
        match self {
            Self::Int(number) => *number,
            other => panic!("{other:?} is no number"),
        }
    }
}
