//! Random programs: generated, written as a lesson, and in the form that the model executes.

use std::fmt::Write;

use super::redis::{Redis, Reply};

use crate::random::Random;
use crate::texts::{HEAD, ONLY};

/// A script, in Lua and in the model. Most do more than their keys tell.
#[derive(Debug)]
pub struct Script {
    pub name: &'static str,
    pub lua: &'static str,
    pub run: fn(&mut Redis, &str, &str, i64) -> Reply,
}

pub const SCRIPTS: &[Script] = &[
    Script {
        name: "owned",
        lua: "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
        run: |redis, key, arg, now| {
            if redis.call(&["GET", key], now) == Reply::Text(arg.to_owned()) {
                redis.call(&["DEL", key], now)
            } else {
                Reply::Int(0)
            }
        },
    },
    Script {
        name: "counted",
        lua: "return redis.call('INCR', KEYS[1])",
        run: |redis, key, _, now| redis.call(&["INCR", key], now),
    },
    Script {
        name: "fenced",
        lua: "return redis.call('INCR', KEYS[1] .. ':fence')",
        run: |redis, key, _, now| redis.call(&["INCR", &format!("{key}:fence")], now),
    },
    Script {
        name: "unasked",
        lua: "return redis.call('GET', 'n')",
        run: |redis, _, _, now| redis.call(&["GET", "n"], now),
    },
    Script {
        name: "sets",
        lua: "return redis.call('SET', 'n', ARGV[1])",
        run: |redis, _, arg, now| redis.call(&["SET", "n", arg], now),
    },
    Script {
        name: "copies",
        lua: "return redis.call('COPY', KEYS[1], 'q')",
        run: |redis, key, _, now| redis.call(&["COPY", key, "q"], now),
    },
    Script {
        name: "renames",
        lua: "if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', KEYS[1], 'q') return 1 end return 0",
        run: |redis, key, _, now| {
            if redis.call(&["EXISTS", key], now) == Reply::Int(0) {
                return Reply::Int(0);
            }
            redis.call(&["RENAME", key, "q"], now);
            Reply::Int(1)
        },
    },
    Script {
        name: "two",
        lua: "redis.call('MSET', KEYS[1], 1, 'n', 1) return redis.call('GET', 'q')",
        run: |redis, key, _, now| {
            redis.call(&["MSET", key, "1", "n", "1"], now);
            redis.call(&["GET", "q"], now)
        },
    },
    Script {
        name: "renamed",
        lua: "local c = redis.call if c('EXISTS', 'q') == 1 then return c('INCR', 'n') end return 0",
        run: |redis, _, _, now| {
            if redis.call(&["EXISTS", "q"], now) == Reply::Int(0) {
                return Reply::Int(0);
            }
            redis.call(&["INCR", "n"], now)
        },
    },
    Script {
        // Holds a key until a time by the server's clock. Orders begin one second before a midnight of it.
        name: "timed",
        lua: "local t = redis.call('TIME') local now = (t[1] - 1700000000) * 1000 + math.floor(t[2] / 1000) \
              local ends = tonumber(redis.call('GET', KEYS[1]) or '0') \
              if not ends or ends > now then return 0 end \
              redis.call('SET', KEYS[1], now + 1000) return 1",
        run: |redis, key, _, now| {
            let time = redis.time(now) + 67_225_599_000;
            match redis.call(&["GET", key], now) {
                Reply::Nil => {}
                Reply::Text(ends) if ends.parse().is_ok_and(|ends: i64| ends <= time) => {}
                Reply::Wrong => return Reply::Wrong,
                _ => return Reply::Int(0),
            }
            redis.call(&["SET", key, &(time + 1000).to_string()], now);
            Reply::Int(1)
        },
    },
    Script {
        // The same by whole seconds, and through an alias of the call function.
        name: "seconds",
        lua: "local c = redis.call local now = c('time')[1] - 1700000000 \
              local ends = tonumber(c('GET', KEYS[1]) or '0') \
              if not ends or ends > now then return 0 end \
              c('SET', KEYS[1], now + 1) return 1",
        run: |redis, key, _, now| {
            let time = redis.time(now).div_euclid(1_000) + 67_225_599;
            match redis.call(&["GET", key], now) {
                Reply::Nil => {}
                Reply::Text(ends) if ends.parse().is_ok_and(|ends: i64| ends <= time) => {}
                Reply::Wrong => return Reply::Wrong,
                _ => return Reply::Int(0),
            }
            redis.call(&["SET", key, &(time + 1).to_string()], now);
            Reply::Int(1)
        },
    },
    Script {
        name: "sorts",
        lua: "return redis.call('SORT', KEYS[2], 'BY', 'w_*')[1]",
        run: |redis, _, _, now| match redis.call(&["SORT", "list", "BY", "w_*"], now) {
            Reply::List(members) => members.first().cloned().unwrap_or(Reply::Nil),
            other => other,
        },
    },
];

/// What a move sends. `self` stands for the client's name.
#[derive(Debug, Clone)]
pub enum Send {
    Words(Vec<String>),
    Script { script: usize, raw: bool, key: String },
    Begin,
    Exec,
}

/// What an `if` asks: what the last reply is, or whether it is less than [`SOON`] since the program last read the time.
#[derive(Debug, Clone)]
pub enum Is {
    Int(i64),
    Text(String),
    Nil,
    Soon { by_end: bool },
}

/// In milliseconds. No sum of waits comes so close to it that a millisecond would matter.
pub const SOON: i64 = 700;

#[derive(Debug, Clone)]
pub enum Step {
    Move {
        send: Send,
        label: String,
        until_ok: Option<i64>,
        allow_lost: bool,
    },
    Wait {
        millis: i64,
        label: String,
    },
    /// Reads the time.
    Reads,
    /// Skips the next `skip` steps unless it `is` so.
    Unless {
        is: Is,
        skip: usize,
    },
    Count(&'static str),
    Holds(&'static str),
    Drops(&'static str),
}

#[derive(Debug, Clone)]
pub enum Never {
    Overlap(&'static str),
    Counted { counter: &'static str, most: i64 },
    Value { key: &'static str, is: String, derived: bool },
    ThereAndCounted { key: &'static str, counter: &'static str },
    Left { key: &'static str, more: i64 },
    Outlives { key: &'static str, other: &'static str },
    Answered { client: usize, label: String, is: i64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum May {
    Crash,
    Freeze,
    LoseReply,
    Cut,
    Restart,
    Skew(i64),
}

#[derive(Debug, Clone, Default)]
pub struct Case {
    pub programs: Vec<Vec<Step>>,
    pub never: Vec<Never>,
    pub setup: Vec<Vec<&'static str>>,
    pub moves: usize,
    pub may: Vec<May>,
    /// The most faults in an order.
    pub most: usize,
    pub slow: usize,
    /// Whether all clients run the program of the first.
    pub alike: bool,
}

const KEYS: [&str; 3] = ["k", "n", "q"];
const COUNTERS: [&str; 2] = ["c", "d"];
const LOCKS: [&str; 2] = ["lock", "seat"];

fn words(words: &[&str]) -> Send {
    Send::Words(words.iter().map(|word| (*word).to_owned()).collect())
}

impl Case {
    pub fn draw(draw: &mut Random) -> Self {
        let clients = 2 + usize::from(draw.once_in(2)) + usize::from(draw.once_in(5));
        let most = [0, 0, 4, 3, 2][clients];
        let mut programs: Vec<_> = (0..clients).map(|_| program(draw, most)).collect();
        let alike = draw.once_in(3);
        if alike {
            programs = vec![programs.swap_remove(0); clients];
        }
        let mut case = Self {
            never: Vec::new(),
            setup: [
                vec!["SET", "k", "1"],
                vec!["SET", "q", "2", "PX", "2000"],
                vec!["RPUSH", "list", "a", "b"],
                vec!["SET", "w_a", "1"],
            ]
            .into_iter()
            .filter(|_| !draw.once_in(3))
            .collect(),
            moves: 3 + draw.below(6),
            may: match draw.below(12) {
                0 => vec![May::Crash],
                1 => vec![May::Freeze],
                2 => vec![May::LoseReply],
                3 => vec![May::Cut],
                4 => vec![May::Restart],
                5 => vec![May::Skew(draw.one(&[700, 1500, -1000]))],
                6 => vec![May::Crash, May::Freeze, May::LoseReply, May::Cut, May::Restart],
                _ => Vec::new(),
            },
            most: 1 + usize::from(draw.once_in(3)),
            slow: draw.one(&[0, 0, 0, 1, 2]),
            alike,
            programs,
        };
        // Where nothing is sent to a server, an order has no faults of servers and links, and asking for them is refused.
        if !case.steps().any(|step| matches!(step, Step::Move { .. })) {
            case.may.retain(|may| matches!(may, May::Crash | May::Freeze));
        }
        let wanted = 1 + draw.below(3);
        while case.never.len() < wanted {
            let never = case.draw_never(draw);
            case.never.extend(never);
        }
        case
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.programs.iter().flatten()
    }

    pub fn counters(&self) -> Vec<&'static str> {
        let counted =
            |name: &&str| self.steps().any(|step| matches!(step, Step::Count(known) if known == name));
        COUNTERS.into_iter().filter(counted).collect()
    }

    pub fn locks(&self) -> Vec<&'static str> {
        let known = |name: &&str| {
            let mut steps = self.steps();
            steps.any(|step| matches!(step, Step::Holds(lock) | Step::Drops(lock) if lock == name))
        };
        LOCKS.into_iter().filter(known).collect()
    }

    fn draw_never(&self, draw: &mut Random) -> Option<Never> {
        let (counters, locks) = (self.counters(), self.locks());
        let key = draw.one(&KEYS);
        Some(match draw.below(9) {
            8 => Never::Outlives { key, other: draw.one(&KEYS) },
            0..=2 if !locks.is_empty() => Never::Overlap(draw.one(&locks)),
            3 if !counters.is_empty() => {
                let (counter, most) = (draw.one(&counters), i64::try_from(draw.below(3)).ok()?);
                Never::Counted { counter, most }
            }
            4 => {
                let is = draw.one(&["1", "2", "P0", "P1"]).to_string();
                Never::Value { key, is, derived: draw.once_in(2) }
            }
            5 if !counters.is_empty() => Never::ThereAndCounted { key, counter: draw.one(&counters) },
            6 => Never::Left { key, more: 500 * i64::try_from(draw.below(4)).ok()? },
            7 => {
                let client = draw.below(self.programs.len());
                let labels: Vec<&String> = self.programs[client]
                    .iter()
                    .filter_map(|step| match step {
                        Step::Move { label, .. } => Some(label),
                        _ => None,
                    })
                    .collect();
                // A program may consist of waits only.
                let label = (!labels.is_empty()).then(|| draw.one(&labels).clone())?;
                let is = i64::try_from(draw.below(3)).ok()?;
                Never::Answered { client, label, is }
            }
            _ => return None,
        })
    }

    /// The case as a lesson.
    pub fn yaml(&self) -> String {
        let mut text = [HEAD, "lab: redis\n"].concat();
        if !self.setup.is_empty() {
            text.push_str("setup:\n");
        }
        for words in &self.setup {
            let _ = writeln!(text, "  - redis: {}", words.join(" "));
        }
        text.push_str("scripts:\n");
        for Script { name, lua, .. } in SCRIPTS {
            let _ = writeln!(text, "  {name}: |\n    {lua}");
        }
        text.push_str("clients:\n");
        for n in 0..self.programs.len() {
            let program = if self.alike { 0 } else { n };
            let _ = writeln!(text, "  P{n}: {{ runs: p{program} }}");
        }
        text.push_str("programs:\n");
        let programs = if self.alike { 1 } else { self.programs.len() };
        for (n, steps) in self.programs.iter().take(programs).enumerate() {
            let _ = writeln!(text, "  p{n}:");
            block(&mut text, steps, "    ");
        }
        let claims = self.counters().into_iter().map(|counter| format!("{counter} >= 0"));
        let claims: Vec<String> =
            claims.chain(["value('k') != 'x'".to_owned(), "value('n') != 'x'".to_owned()]).collect();
        text.push_str(ONLY);
        text.push_str("    invariants:\n");
        for never in &self.never {
            let _ = writeln!(
                text,
                "      - never: {never}\n        says: {{ en: Broken., zh: 破。 }}\n        goal: {{ en: Break., zh: 破。 }}"
            );
        }
        let _ = writeln!(text, "    claims:\n      - that: {}\nstory:\n  - finish: P0", claims.join(" and "));
        text
    }
}

impl Never {
    /// The name that Lockstep gives it.
    pub fn name(&self) -> String {
        let text = self.to_string();
        let lock = text.strip_prefix("{ overlap: ").and_then(|rest| rest.strip_suffix(" }"));
        lock.map_or(text.clone(), |lock| format!("overlap: {lock}"))
    }
}

impl std::fmt::Display for Never {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Overlap(lock) => write!(f, "{{ overlap: {lock} }}"),
            Self::Counted { counter, most } => write!(f, "{counter} > {most}"),
            Self::Value { key, is, derived: false } => write!(f, "value('{key}') == '{is}'"),
            Self::Value { key, is, derived: true } => write!(f, "value('{key}' ~ '') == '{is}'"),
            Self::ThereAndCounted { key, counter } => write!(f, "exists('{key}') and {counter} > 0"),
            Self::Left { key, more } => write!(f, "pttl('{key}') > {more}"),
            Self::Outlives { key, other } => write!(f, "exists('{key}') and not exists('{other}')"),
            Self::Answered { client, label, is } => write!(f, "P{client}.{label} == {is}"),
        }
    }
}

fn block(text: &mut String, steps: &[Step], indent: &str) {
    let mut n = 0;
    while let Some(step) = steps.get(n) {
        n += 1;
        let _ = match step {
            Step::Wait { millis, label } => writeln!(text, "{indent}- {label}: {{ wait: {millis}ms }}"),
            Step::Reads => {
                writeln!(text, "{indent}- let: {{ began: now, ends: now + {SOON}, took: now - began }}")
            }
            Step::Count(counter) => writeln!(text, "{indent}- count: {counter}"),
            Step::Holds(lock) => writeln!(text, "{indent}- holds: {lock}"),
            Step::Drops(lock) => writeln!(text, "{indent}- drops: {lock}"),
            Step::Unless { is, skip } => {
                let is = match is {
                    Is::Int(number) => format!("reply == {number}"),
                    Is::Text(word) => format!("reply == '{word}'"),
                    Is::Nil => "reply is none".to_owned(),
                    Is::Soon { by_end: true } => "now < ends and reply != 'x'".to_owned(),
                    Is::Soon { by_end: false } => format!("{SOON} - (now - began) > 0"),
                };
                let _ = writeln!(text, "{indent}- if: {is}\n{indent}  then:");
                block(text, &steps[n..n + skip], &format!("{indent}    "));
                n += skip;
                Ok(())
            }
            Step::Move { send, label, until_ok, allow_lost } => {
                let sent = match send {
                    Send::Words(words) => format!(
                        "redis: {}",
                        words.join(" ").replace("self", "${self}").replace("now", "${now}")
                    ),
                    Send::Begin => "redis: MULTI".to_owned(),
                    Send::Exec => "redis: EXEC".to_owned(),
                    Send::Script { script, raw: true, key } => {
                        let lua = SCRIPTS[*script].lua;
                        format!("redis: EVAL \"{lua}\" 2 {key} list ${{self}}")
                    }
                    Send::Script { script, raw: false, key } => {
                        let name = SCRIPTS[*script].name;
                        format!(
                            "script: {name}\n{indent}    keys: [{key}, list]\n{indent}    args: ['${{self}}']"
                        )
                    }
                };
                let _ = writeln!(text, "{indent}- {label}:\n{indent}    {sent}");
                if *allow_lost {
                    let _ = writeln!(text, "{indent}    allow: [Lost]");
                }
                match until_ok {
                    Some(every) => {
                        writeln!(text, "{indent}    until: reply == 'OK'\n{indent}    every: {every}ms")
                    }
                    None => Ok(()),
                }
            }
        };
    }
}

/// A program with about this many moves at most.
fn program(draw: &mut Random, most: usize) -> Vec<Step> {
    let moves = 1 + draw.below(most);
    let mut steps = Vec::new();
    if draw.once_in(8) {
        steps.push(Step::Holds(draw.one(&LOCKS)));
    }
    let timed = draw.once_in(3);
    steps.extend(timed.then_some(Step::Reads));
    let mut made = 0;
    while made < moves {
        made += one(draw, &mut steps, true);
        after(draw, &mut steps, timed);
        steps.extend((timed && draw.once_in(3)).then_some(Step::Reads));
    }
    for (n, step) in steps.iter_mut().enumerate() {
        if let Step::Move { allow_lost, .. } = step {
            *allow_lost = !draw.once_in(3);
        }
        if let Step::Move { label, .. } | Step::Wait { label, .. } = step {
            *label = format!("s{n}");
        }
    }
    steps
}

fn made(send: Send) -> Step {
    Step::Move { send, label: String::new(), until_ok: None, allow_lost: false }
}

/// Adds a command. Returns the number of moves that it takes.
fn one(draw: &mut Random, steps: &mut Vec<Step>, may_begin: bool) -> usize {
    let key = draw.one(&KEYS);
    let left = draw.one(&["1000", "2000"]);
    let send = match draw.below(20) {
        0 | 1 => words(&["GET", key]),
        2 | 3 => words(&["INCR", key]),
        4 => words(&["DECR", key]),
        5 => words(&["DEL", key]),
        6 => words(&["SET", key, draw.one(&["0", "1", "self"]), "PX", left]),
        7 => words(&["SET", key, draw.one(&["1", "2", "1", "2", "now"])]),
        8 => words(&["PEXPIRE", key, left]),
        9 => words(&["PTTL", key]),
        10 => words(&["HINCRBY", "h", "f", "1"]),
        11 => match draw.below(2) {
            0 => words(&["ZADD", "z", draw.one(&["1", "2"]), draw.one(&["self", "m"])]),
            _ => words(&["ZCARD", "z"]),
        },
        12 => match draw.below(2) {
            0 => words(&["SORT", "list", "BY", "w_*"]),
            _ => words(&["SET", draw.one(&["w_a", "w_b"]), draw.one(&["0", "1", "2"])]),
        },
        13 => {
            let send = words(&["SET", "lock", "self", "NX", "PX", left]);
            let until_ok = draw.once_in(2).then(|| draw.one(&[500, 1000]));
            steps.push(Step::Move { send, label: String::new(), until_ok, allow_lost: false });
            return 1;
        }
        14 if may_begin => {
            steps.push(made(Send::Begin));
            let inside = 1 + draw.below(2);
            for _ in 0..inside {
                let send = match draw.below(4) {
                    0 => words(&["SET", key, "1"]),
                    1 => words(&["HINCRBY", "h", "f", "1"]),
                    2 => words(&["DEL", key]),
                    _ => script(draw, key),
                };
                steps.push(made(send));
            }
            steps.push(made(Send::Exec));
            return inside + 2;
        }
        15 => {
            let millis = draw.one(&[500, 1000, 1500]);
            steps.push(Step::Wait { millis, label: String::new() });
            return usize::from(draw.once_in(3));
        }
        _ => script(draw, key),
    };
    steps.push(made(send));
    1
}

fn script(draw: &mut Random, key: &str) -> Send {
    let script = draw.below(SCRIPTS.len());
    Send::Script { script, raw: draw.once_in(2), key: draw.one(&[key, "lock"]).to_owned() }
}

/// What a program does after a reply, if anything.
fn after(draw: &mut Random, steps: &mut Vec<Step>, timed: bool) {
    let made = match draw.below(4) {
        0 => Step::Count(draw.one(&COUNTERS)),
        1 => Step::Holds(draw.one(&LOCKS)),
        2 => Step::Drops(draw.one(&LOCKS)),
        _ => return,
    };
    if draw.once_in(2) {
        let is = match draw.below(6) {
            _ if timed && draw.once_in(2) => Is::Soon { by_end: draw.once_in(2) },
            5 => Is::Text("Lost".to_owned()),
            0 => Is::Nil,
            1 => Is::Text("OK".to_owned()),
            2 => Is::Text("1".to_owned()),
            3 => Is::Int(2),
            _ => Is::Int(1),
        };
        let at = steps.len();
        if draw.once_in(3) {
            one(draw, steps, false);
        }
        let skip = steps.len() - at + 1;
        steps.insert(at, Step::Unless { is, skip });
    }
    steps.push(made);
}
