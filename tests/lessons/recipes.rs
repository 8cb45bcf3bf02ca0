//! The carried recipes on real servers: which client gets the lock when, and what is left behind.

use serde_json::Value;

use crate::{place::Place, texts::HEAD};

/// A variant: its clients' programs, its story and its claims. The list `order` notes the work under the lock.
struct Tried {
    name: &'static str,
    clients: &'static str,
    programs: &'static str,
    story: &'static str,
    claims: &'static [&'static str],
}

fn proved(lab: &str, setup: &str, all: &[Tried]) -> Vec<Value> {
    let variants = all.iter().map(|Tried { name, clients, programs, story, claims }| {
        let claims: Vec<String> = claims.iter().map(|claim| format!("      - {claim}\n")).collect();
        format!(
            "  {name}:\n    title: {{ en: Tried, zh: 试 }}\n    expect: shown\n    lesson: {{ en: Tried, zh: 试 }}\n    \
             clients: {clients}\n    programs:\n{programs}    story:\n{story}    claims:\n{}",
            claims.concat()
        )
    });
    let place = Place::new();
    let text = format!(
        "{HEAD}lab: {lab}\nsetup:\n{setup}clients: {{}}\nprograms: {{}}\nvariants:\n{}",
        variants.collect::<Vec<_>>().concat()
    );
    place.write("tried.yaml", text);
    let answer = place.run(&["run", "tried.yaml", "--json"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    place.assert_nothing_left();
    answer.json()
}

const SETUP: &str = "  - redis: SET permits 2
  - redis: SET one 1
  - redis: SET latch 2
";

const EVERYBODY: &str = "      - pass: { for: 40s, moving: [A, B] }\n";

#[test]
fn redissons_lock_is_waited_for_without_asking_again_and_again() {
    const PROGRAMS: &str = r#"      twice:
        - use: redisson_lock
          with: { key: lock, owner: "${self}", lease: 5000 }
        - use: redisson_lock
          with: { key: lock, owner: "${self}", lease: 5000 }
        - look: { redis: HGETALL lock }
        - work: 1s
        - use: redisson_unlock
          with: { key: lock, owner: "${self}", lease: 5000 }
        - half: { redis: "HGET lock ${self}" }
        - work: 1s
        - use: redisson_unlock
          with: { key: lock, owner: "${self}", lease: 5000 }
      once:
        - use: redisson_lock
          with: { key: lock, owner: "${self}", lease: 5000 }
        - work: 12s
        - use: redisson_unlock
          with: { key: lock, owner: "${self}", lease: 5000 }
      renew:
        - use: redisson_watchdog
          with: { key: lock, owner: D.worker, lease: 5000, every: 2s }
"#;
    proved(
        "redis",
        SETUP,
        &[
            Tried {
                name: "told",
                clients: "{ A: { runs: twice }, B: { runs: once } }",
                programs: PROGRAMS,
                story: EVERYBODY,
                claims: &[
                    "exclusive: lock",
                    "A.look == ['A', '2'] and A.half == '1'",
                    // It tried, subscribed, tried again, waited, and got the lock: the first release notified no
                    // client.
                    "moves('B.retry') == 2 and B.wake.what == 'free' and notified('B') == 1",
                    "finished('A') == 1 and finished('B') == 1",
                    // It works for longer than its lease, and the lease is not renewed.
                    "B.release is none and not exists('lock')",
                ],
            },
            Tried {
                name: "dead",
                clients: "{ A: { runs: twice }, B: { runs: once } }",
                programs: PROGRAMS,
                story: "      - move: A.acquire\n      - crash: A\n      - pass: { for: 30s, moving: [B] }\n",
                claims: &[
                    "exclusive: lock",
                    "B.wake is none and moves('B.retry') == 2 and finished('B') == 1",
                ],
            },
            Tried {
                name: "renewed",
                clients: "{ D: { named_threads: { worker: once, watchdog: renew } }, B: { runs: twice } }",
                programs: PROGRAMS,
                story: "      - move: D.worker.acquire\n      - pass: { for: 40s, moving: [D, B] }\n",
                claims: &[
                    "exclusive: lock",
                    "D.worker.release == 1 and replies('D.watchdog.renew')[:5] == [1, 1, 1, 1, 1]",
                    "D.watchdog.finished and finished('B') == 1",
                ],
            },
        ],
    );
}

#[test]
fn the_fair_lock_is_given_in_the_order_of_asking() {
    const PROGRAMS: &str = r#"      p:
        - use: fair_lock
          with: { key: lock, owner: "${self}", lease: 5000, patience: 20000 }
        - note: { redis: "RPUSH order ${self}" }
        - work: 1s
        - use: fair_unlock
          with: { key: lock, owner: "${self}", lease: 5000 }
      late:
        - wait: 1500ms
        - try: { script: fair_lock, keys: [lock, "redisson_lock_queue:{lock}", "redisson_lock_timeout:{lock}"], args: [L, 5000, 1000, "${now}"] }
"#;
    proved("redis", SETUP, &[
        Tried {
            name: "queue",
            clients: "{ A: { runs: p }, C: { runs: p }, B: { runs: p } }",
            programs: PROGRAMS,
            story: "      - pass: { for: 20s, moving: [A, C, B] }\n",
            claims: &[
                "exclusive: lock",
                "value('order').list == ['A', 'C', 'B']",
                // Only the next client is notified.
                "notified('B') == 1 and notified('C') == 1",
                "not exists('lock') and not exists('redisson_lock_queue:{lock}')",
            ],
        },
        Tried {
            name: "dead",
            clients: "{ A: { runs: p }, C: { runs: p }, B: { runs: p } }",
            programs: PROGRAMS,
            story: "      - move: [A.acquire, C.acquire]\n      - crash: C\n      - pass: { for: 15s, moving: [A, B] }
      - move: B.retry\n      - pass: { for: 20s, moving: [B] }\n",
            claims: &["exclusive: lock", "value('order').list == ['A', 'B']", "finished('B') == 1"],
        },
    ]);
}

#[test]
fn readers_share_and_a_writer_is_alone() {
    const PROGRAMS: &str = r#"      read:
        - use: read_lock
          with: { key: lock, owner: "${self}", lease: 5000 }
        - note: { redis: "RPUSH order r" }
        - work: 1s
        - use: read_unlock
          with: { key: lock, owner: "${self}" }
      write:
        - use: write_lock
          with: { key: lock, owner: "${self}", lease: 5000 }
        - note: { redis: "RPUSH order w" }
        - work: 1s
        - use: read_lock
          with: { key: lock, owner: "${self}", lease: 5000 }
        - use: write_unlock
          with: { key: lock, owner: "${self}" }
        - left: { redis: HGETALL lock }
        - use: read_unlock
          with: { key: lock, owner: "${self}" }
"#;
    proved(
        "redis",
        SETUP,
        &[Tried {
            name: "only",
            clients: "{ A: { runs: read }, B: { runs: read }, W: { runs: write } }",
            programs: PROGRAMS,
            story: "      - pass: { for: 20s, moving: [A, B, W] }\n",
            claims: &[
                "value('order').list == ['r', 'r', 'w']",
                "exclusive: lock",
                "holders('lock') == 2",
                "W.wake.what == 'free' and not exists('lock')",
                "W.left == ['mode', 'r', 'r:W', '1']",
                "finished('A') + finished('B') + finished('W') == 3",
            ],
        }],
    );
}

#[test]
fn permits_come_back_or_do_not() {
    const PROGRAMS: &str = r"      plain:
        - use: semaphore_acquire
          with: { key: permits }
        - work: 1s
        - use: semaphore_release
          with: { key: permits }
      lease:
        - use: permit_acquire
          with: { key: one, lease: 5000 }
        - work: 8s
        - use: permit_release
          with: { key: one }
      work:
        - use: latch_count_down
          with: { key: latch }
      wait:
        - use: latch_await
          with: { key: latch, within: 5s }
";
    let three = "      - pass: { for: 30s, moving: [A, B, C] }\n";
    proved(
        "redis",
        SETUP,
        &[
            Tried {
                name: "semaphore",
                clients: "{ A: { runs: plain }, B: { runs: plain }, C: { runs: plain } }",
                programs: PROGRAMS,
                story: three,
                claims: &[
                    "holders('lock') == 2",
                    "C.wake.what == '1' and value('permits') == '2'",
                    "finished('C') == 1",
                ],
            },
            Tried {
                name: "leak",
                clients: "{ A: { runs: plain }, B: { runs: plain }, C: { runs: plain } }",
                programs: PROGRAMS,
                story: "      - move: [A.acquire, B.acquire]\n      - crash: A\n      - crash: B
      - pass: { for: 60s, moving: [C] }\n",
                claims: &["value('permits') == '0' and finished('C') == 0"],
            },
            Tried {
                name: "lease",
                clients: "{ A: { runs: lease }, B: { runs: lease } }",
                programs: PROGRAMS,
                story: EVERYBODY,
                claims: &["A.release == 0 and B.wake is none", "value('one') == '1'", "overlap: lock"],
            },
            Tried {
                name: "latch",
                clients: "{ A: { runs: work }, B: { runs: work }, C: { runs: wait } }",
                programs: PROGRAMS,
                story: "      - move: [A.count_down, C.subscribe, C.left, C.opened, B.count_down, C.unsubscribe]\n",
                claims: &["C.opened.what == 'open' and not exists('latch')"],
            },
            Tried {
                name: "closed",
                clients: "{ A: { runs: work }, B: { runs: work }, C: { runs: wait } }",
                programs: PROGRAMS,
                story: "      - move: A.count_down\n      - pass: { for: 6s, moving: [C] }\n",
                claims: &["C.opened is none and finished('C') == 1 and value('latch') == '1'"],
            },
        ],
    );
}

#[test]
fn of_two_locks_both_are_taken_or_none() {
    const PROGRAMS: &str = r#"      p:
        - use: multi_lock
          with: { first: "${first}", second: "${second}", owner: "${self}", lease: 5000, retry: 300ms }
        - work: 1s
        - use: multi_unlock
          with: { first: "${first}", second: "${second}", owner: "${self}", lease: 5000 }
"#;
    proved(
        "redis",
        SETUP,
        &[Tried {
            name: "only",
            clients: "{ A: { runs: p, with: { first: a, second: b } }, B: { runs: p, with: { first: b, second: a } } }",
            programs: PROGRAMS,
            story: "      - move: [A.acquire1, B.acquire1, A.acquire2, A.undo1]\n      - pass: { for: 20s, moving: [B, A] }\n",
            claims: &[
                "exclusive: lock",
                "finished('A') == 1 and finished('B') == 1",
                "not exists('a') and not exists('b')",
            ],
        }],
    );
}

#[test]
fn curators_locks_queue_and_find_their_node_again() {
    const PROGRAMS: &str = r#"      read:
        - use: zk_read_lock
          with: { root: /locks }
        - work: 500ms
        - release: { zk: "delete ${create}" }
        - drops: lock
      write:
        - use: zk_write_lock
          with: { root: /locks }
        - work: 500ms
        - release: { zk: "delete ${create}" }
        - drops: lock
      guid:
        - use: curator_lock
          with: { root: /locks, guid: "${self}" }
        - work: 500ms
        - use: curator_unlock
          with: { root: /locks, guid: "${self}" }
"#;
    proved(
        "zookeeper",
        "  - zk: create /locks\n",
        &[
            Tried {
                name: "read-write",
                clients: "{ A: { runs: read }, B: { runs: read }, W: { runs: write }, C: { runs: read } }",
                programs: PROGRAMS,
                story: "      - move: [A.create, B.create, W.create, C.create]
      - pass: { for: 4s, moving: [A, B, W, C] }\n",
                claims: &[
                    "exclusive: lock",
                    "holders('lock') == 2",
                    // No client reads while it writes: one that came later waits for it.
                    "W.wake.what == 'NodeDeleted' and C.wake.what == 'NodeDeleted'",
                    "children('/locks') == [] and finished('C') == 1",
                ],
            },
            Tried {
                name: "guid",
                clients: "{ A: { runs: guid }, B: { runs: guid } }",
                programs: PROGRAMS,
                story: "      - hold: { link: A->zookeeper, way: replies }
      - move: A.create
      - await: { that: \"children('/locks')|length == 1\", within: 5s }
      - drop: A->zookeeper
      - release: A->zookeeper
      - await: { that: \"A.create == 'Lost'\", within: 8s }
      - pass: { for: 4s, moving: [A, B] }\n",
                claims: &[
                    "exclusive: lock",
                    "A.create == 'Lost' and moves('A.again') == 0",
                    "children('/locks') == [] and finished('A') == 1 and finished('B') == 1",
                ],
            },
        ],
    );
}

#[test]
fn a_directory_has_recipes_of_its_own_with_servers_and_errors_as_parameters() {
    let place = Place::new();
    place.write(
        "recipes.yaml",
        "format: 1
programs:
  everywhere:
    about: { en: Sets a key on two servers., zh: 在两台服务器上写。 }
    params: [key, second, cope]
    steps:
      - first: { redis: \"SET ${key} 1\", on: redis1, allow: [\"${cope}\"] }
      - other: { redis: \"INCR ${key}\", on: \"${second}\", allow: [\"${cope}\", NOAUTH] }
      - let: { sum: \"0\" }
      - repeat:
          - let: { sum: sum + i }
          - push: { redis: \"RPUSH rounds ${i}\", on: redis1 }
        times: 3
        as: i
      - total: { redis: \"SET sum ${sum}\", on: redis1 }
",
    );
    let lesson = |second: &str| {
        format!(
            "{HEAD}lab: masters
setup:
  - {{ redis: SET key text, on: redis4 }}
clients: {{ A: {{ runs: p }} }}
params: {{ where: {second} }}
programs:
  p:
    - use: everywhere
      with: {{ key: key, second: \"${{where}}\", cope: \"ERR, WRONGTYPE\" }}
story: [ {{ finish: A }} ]
variants:
  only:
    title: {{ en: Tried, zh: 试 }}
    expect: shown
    lesson: {{ en: Tried, zh: 试 }}
    claims:
      - value('key', 'redis1') == '1' and A.other == 'ERR'
      - value('rounds').list == ['1', '2', '3'] and value('sum') == '6'
"
        )
    };
    place.write("tried.yaml", lesson("redis4"));
    let answer = place.run(&["--lessons", ".", "run", "tried"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    place.write("tried.yaml", lesson("redis7"));
    let answer = place.run(&["--lessons", ".", "run", "tried"]);
    assert!(answer.code == Some(2) && answer.err.contains("unknown server `redis7`"), "{}", answer.err);
    place.assert_nothing_left();
}
