//! Every violation that a search finds is explained, whatever was broken and however orders were explored: by what came
//! between which moves, or by the point from which it could not be avoided.

use serde_json::Value;

use crate::{
    place::Place,
    texts::{HEAD, ONLY},
};

/// What is broken and how, and a part of the expected explanation.
struct Broken {
    name: &'static str,
    clients: &'static [&'static str],
    /// The part of the lesson before `clients:` and `programs:`.
    head: &'static str,
    program: &'static str,
    never: &'static str,
    args: &'static [&'static str],
    why: &'static str,
}

const LAST_CHANCE: &str = "The last chance was before ";
const ALWAYS: &str = "It could not be avoided: every order goes wrong.";

const ALL: &[Broken] = &[
    Broken {
        name: "a field of a hash that is looked at first",
        clients: &["A", "B"],
        head: "setup:\n  - redis: HSET good stock 1\n",
        program: "
    - look: { redis: HGET good stock }
    - if: look|int > 0
      then: [sell: { redis: HINCRBY good stock -1 }, count: sold]",
        never: "sold > 1",
        args: &[],
        why: "came between",
    },
    Broken {
        name: "members of a sorted set that are counted first",
        clients: &["A", "B"],
        head: "",
        program: "
    - look: { redis: ZCARD permits }
    - if: look == 0
      then: [take: { redis: 'ZADD permits 1 ${self}' }, holds: lock]
    - give: { redis: 'ZREM permits ${self}' }
    - drops: lock",
        never: "{ overlap: lock }",
        args: &[],
        why: "came between",
    },
    Broken {
        name: "members of a sorted set whose time is over are taken out by whoever comes next",
        clients: &["A", "B"],
        head: "scripts:
  take: |
    redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - 2000)
    if redis.call('ZCARD', KEYS[1]) > 0 then return 0 end
    return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
",
        program: "
    - take: { script: take, keys: [permits], args: ['${now}', '${self}'], until: reply == 1, every: 1s }
    - holds: lock
    - work: 5s
    - give: { redis: 'ZREM permits ${self}' }
    - drops: lock",
        never: "{ overlap: lock }",
        args: &["--moves", "12"],
        why: "took out of permits what ",
    },
    Broken {
        name: "a hash with a count that takes another for its owner",
        clients: &["A", "B"],
        head: "scripts:
  enter: |
    if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
    return redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
",
        program: "
    - enter: { script: enter, keys: [lock], args: [everybody], until: reply > 0, every: 1s }
    - holds: lock
    - work: 1s
    - leave: { redis: HINCRBY lock everybody -1 }
    - drops: lock",
        never: "{ overlap: lock }",
        args: &[],
        why: "was granted, although what ",
    },
    Broken {
        name: "an entry of a hash that somebody else has taken out",
        clients: &["A", "B"],
        head: "scripts:
  enter: |
    if redis.call('HLEN', KEYS[1]) > 0 then return 0 end
    return redis.call('HSET', KEYS[1], ARGV[1], 1)
",
        program: "
    - tidy: { redis: HDEL lock A }
    - enter: { script: enter, keys: [lock], args: ['${self}'] }
    - if: enter == 1
      then:
        - holds: lock
        - look: { redis: HLEN lock }
        - leave: { redis: 'HDEL lock ${self}' }
        - drops: lock",
        never: "{ overlap: lock }",
        args: &[],
        why: "it took the holder's entry out of lock.",
    },
    Broken {
        name: "a semaphore whose count is given back twice",
        clients: &["A", "B"],
        head: "setup:\n  - redis: SET permits 1\n",
        program: "
    - take: { redis: DECR permits }
    - if: take >= 0
      then:
        - holds: lock
        - look: { redis: GET permits }
        - drops: lock
    - give: { redis: INCR permits }
    - again: { redis: INCR permits }",
        never: "value('permits')|int > 1",
        args: &[],
        why: ALWAYS,
    },
    Broken {
        name: "a writer and a reader who have both looked first",
        clients: &["A", "B"],
        head: "",
        program: "
    - readers: { redis: GET readers }
    - if: readers|default(0, true)|int == 0
      then: [write: { redis: 'SET writer ${self}' }, holds: lock]
    - read: { redis: INCR readers }
    - leave: { redis: DEL writer }
    - drops: lock",
        never: "{ overlap: lock }",
        args: &[],
        why: "was granted, although what ",
    },
    Broken {
        name: "a counter that is written over",
        clients: &["A", "B"],
        head: "setup:\n  - redis: SET stock 5\n",
        program: "
    - look: { redis: GET stock }
    - sell: { redis: 'SET stock ${look|int - 1}' }
    - count: sold",
        never: "sold + value('stock')|int > 5",
        args: &[],
        why: "came between",
    },
    Broken {
        name: "a wait for what somebody dead has left",
        clients: &["A", "B"],
        head: "",
        program: "
    - waits: lock
    - take: { redis: 'SET lock ${token} NX', until: reply == 'OK', every: 1s }
    - holds: lock
    - give: { redis: DEL lock }
    - drops: lock",
        never: "waited('B') > 3000",
        args: &["--fault", "crash:A", "--moves", "10"],
        why: "A was killed ",
    },
    Broken {
        name: "a client that asks too often",
        clients: &["A", "B"],
        head: "",
        program: "
    - take: { redis: 'SET lock ${token} NX PX 3000', until: reply == 'OK', every: 1s }
    - work: 5s
    - give: { redis: DEL lock }",
        never: "moves('B.take') > 3",
        args: &["--moves", "12"],
        why: LAST_CHANCE,
    },
    Broken {
        name: "a queue from whose head anybody takes",
        clients: &["A", "B"],
        head: "",
        program: "
    - queue: { redis: 'RPUSH line ${self}' }
    - head: { redis: LINDEX line 0 }
    - if: head == self
      then:
        - holds: lock
        - look: { redis: LLEN line }
        - drops: lock
    - count: sold
    - leave: { redis: LPOP line }",
        never: "value('line') is none and sold > 0",
        args: &[],
        why: ALWAYS,
    },
    Broken {
        name: "a row that is read and written over",
        clients: &["A", "B"],
        head: "setup:
  - sql: CREATE TABLE good (id INT PRIMARY KEY, stock INT)
  - sql: INSERT INTO good VALUES (1, 5)
",
        program: "
    - look: { sql: 'SELECT stock FROM good WHERE id = 1' }
    - sell: { sql: 'UPDATE good SET stock = ${look[0].stock - 1} WHERE id = 1' }
    - count: sold",
        never: "sold + value('good/1').stock > 5",
        args: &[],
        why: "UPDATE good came between",
    },
];

fn lesson(broken: &Broken) -> String {
    let lab = if broken.head.contains("sql") { "mariadb" } else { "redis" };
    let cast: Vec<String> = broken.clients.iter().map(|name| format!("  {name}: {{ runs: p }}\n")).collect();
    let (head, program, never) = (broken.head, broken.program, broken.never);
    format!(
        "{HEAD}lab: {lab}
{head}clients:
{}programs:
  p:{program}
    - if: 1 > 2
      then: [count: sold]
invariants:
  - never: {never}
    says: {{ en: It is so., zh: 是。 }}
    goal: {{ en: Make it so., zh: 做到。 }}
{ONLY}    claims:
      - that: sold >= 0
story:
  - finish: A
",
        cast.concat()
    )
}

/// The violations and the orders that do not end that lack an explanation.
fn untold(found: &Value) -> Vec<String> {
    let all = ["broken", "stuck"].into_iter().filter_map(|what| found[what].as_array()).flatten();
    all.filter(|one| one["why"]["en"].as_str().is_none_or(str::is_empty) || one["why"]["zh"].is_null())
        .map(ToString::to_string)
        .collect()
}

#[test]
fn every_violation_is_told_why() {
    let mut wrong = Vec::new();
    for broken in ALL {
        let place = Place::new();
        place.write("tried.yaml", lesson(broken));
        let answer = place.run(&[&["explore", "tried.yaml", "--json"], broken.args].concat());
        assert_eq!(answer.code, Some(0), "{}: {}{}", broken.name, answer.err, answer.out);
        let found = answer.json().remove(0);
        assert!(found["violations"].as_u64() > Some(0), "{}: {found}", broken.name);
        let told = found["broken"][0]["why"]["en"].as_str().unwrap_or_default();
        if !told.contains(broken.why) {
            wrong.push(format!("{}: {told}", broken.name));
        }
        wrong.extend(untold(&found).iter().map(|one| format!("{}: nothing is said of {one}", broken.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
