//! Programs for which Lockstep once gave a wrong result, and results that must not be taken for a proof.

use std::fmt::Write;

use lockstep::run::explore::{Bounds, Failing, MayFail, Stuck, Whereabouts};

use super::{explored, length};
use crate::{
    place::{Answer, Place},
    texts::{HEAD, ONLY},
};

/// A lesson of clients with programs of their own, and its invariants.
fn lesson(programs: &[&str], never: &[&str]) -> String {
    let mut text = HEAD.to_owned();
    text.push_str(
        "lab: redis\nsetup:\n  - redis: SET k 1\n  - redis: RPUSH list a b\n\
         scripts:\n  copies: return redis.call('COPY', KEYS[1], 'q')\n  \
         renames: return redis.call('RENAME', KEYS[1], 'q')\n  \
         both: return redis.call('MSET', KEYS[1], 1, ARGV[1], 1)\n  \
         sorts: return redis.call('SORT', KEYS[1], 'BY', 'w_*')[1]\n  \
         fence: return redis.call('INCR', KEYS[1] .. ':fence')\n  \
         hidden: local c = redis.call return c(ARGV[1], KEYS[1])\n  \
         joined: local c = redis.call return c('TI' .. 'ME')[1]\n  \
         sets: return redis.call('SET', KEYS[1], ARGV[1])\n  \
         careless: redis.call('DEL', KEYS[1]) return 1\nclients:\n",
    );
    for (n, _) in programs.iter().enumerate() {
        let name = char::from(b'A' + u8::try_from(n).expect("few"));
        let _ = writeln!(text, "  {name}: {{ runs: p{n} }}");
    }
    text.push_str("programs:\n");
    for (n, program) in programs.iter().enumerate() {
        let _ = writeln!(text, "  p{n}:");
        for line in program.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text.push_str(ONLY);
    if !never.is_empty() {
        text.push_str("    invariants:\n");
    }
    for never in never {
        let _ = writeln!(
            text,
            "      - never: {never}\n        says: {{ en: Broken., zh: 破。 }}\n        goal: {{ en: Break., zh: 破。 }}"
        );
    }
    text.push_str("    claims:\n      - that: value('k') != 'x'\nstory:\n  - finish: A\n");
    text
}

/// The number of orders, the number of failing ones, and the length of the shortest.
async fn found(programs: &[&str], never: &[&str]) -> (u128, u128, Option<usize>) {
    let text = lesson(programs, never);
    let found = explored(&text, Bounds::default()).await.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(found.complete);
    (found.orders(), found.violations, length(&found))
}

const UNASKED: &str = "- check:
    redis: EVAL \"return redis.call('GET','n')\" 1 ${self}
- if: check is none
  then:
    - buy:
        redis: EVAL \"return redis.call('SET','n',ARGV[1])\" 1 ${self} x
    - count: sold";

#[tokio::test(flavor = "multi_thread")]
async fn a_raw_script_is_not_believed_by_the_keys_that_it_declares() {
    assert_eq!(found(&[UNASKED, UNASKED], &["sold > 1"]).await, (6, 4, Some(4)));
}

/// The error of a search that is refused.
async fn refused(programs: &[&str]) -> String {
    let text = lesson(programs, &["seen > 0"]);
    explored(&text, Bounds::default()).await.err().unwrap_or_else(|| panic!("it was explored\n{text}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_a_set_are_in_the_servers_order_or_in_none() {
    let lists = |member: &str, asks: &str| {
        format!(
            "- add: {{ redis: SADD s {member} }}\n- all: {{ redis: SMEMBERS s }}\n- if: \"{asks}\"\n  then:\n    - count: seen"
        )
    };
    // Integers come by their value, whoever was added first.
    let smallest = [lists("13", "all[0] == '2'"), lists("2", "all[0] == '13'")];
    assert_eq!(found(&[&smallest[0], &smallest[1]], &["seen > 0"]).await, (6, 5, Some(3)));
    // A text that is too long for the small encodings, so that every Redis keeps the set in a hash table.
    let long = "x".repeat(80);
    let with = |asks: &str| [lists(&format!("a{long}"), asks), lists(&format!("b{long}"), asks)];
    for asks in ["all|length == 2", &format!("'a{long}' in all and 'b{long}' in all"), "all|sort|length > 1"]
    {
        let both = with(asks);
        // New servers each time, with other seeds.
        for _ in 0..3 {
            assert_eq!(found(&[&both[0], &both[1]], &["seen > 1"]).await, (6, 4, Some(4)), "{asks}");
        }
    }
    let first = with(&format!("all[0] == 'a{long}'"));
    let why = refused(&[&first[0], &first[1]]).await;
    assert!(why.contains("hash table") && why.contains("`all|sort`"), "{why}");
    // Since Redis 7.2 a small set of texts keeps the order in which they were added.
    let added = [lists("a", "all[0] == 'b'"), lists("b", "all[0] == 'a'")];
    match explored(&lesson(&[&added[0], &added[1]], &["seen > 0"]), Bounds::default()).await {
        Ok(found) => assert_eq!((found.orders(), found.violations), (6, 6)),
        Err(why) => assert!(why.contains("before 7.2"), "{why}"),
    }
    let script = |lua: &str| {
        let add = format!("- add: {{ redis: SADD s a{long} b{long} }}");
        [
            add,
            format!(
                "- all:\n    redis: EVAL \"return {lua}\" 1 s\n- if: all == 2\n  then:\n    - count: seen"
            ),
        ]
    };
    let counts = script("(#redis.call('SMEMBERS', KEYS[1]))");
    assert_eq!(found(&[&counts[0], &counts[1]], &["seen > 0"]).await, (2, 1, Some(2)));
    let takes = script("redis.call('smembers', KEYS[1])[1]");
    let why = refused(&[&takes[0], &takes[1]]).await;
    assert!(why.contains("`SMEMBERS` by its number"), "{why}");
    // A script may put the members anywhere.
    let copies = "(function() local out = {} for _, m in ipairs(redis.call('SMEMBERS', KEYS[1])) do \
                  out[#out + 1] = m end return out end)()";
    for (lua, says) in [
        ("table.concat(redis.call('SMEMBERS', KEYS[1]))", "joins texts"),
        ("{redis.call('SMEMBERS', KEYS[1]), 1}", "`all|sort`"),
        (copies, "`all|sort`"),
    ] {
        let lists = script(lua);
        let why = refused(&[&lists[0], &lists[1]]).await;
        assert!(why.contains(says), "{lua}: {why}");
    }
    let add = format!("- add: {{ redis: SADD s a{long} b{long} }}");
    let asks = |before: &str, list: &str| {
        format!("{before}- if: \"{list} == ['a{long}', 'b{long}']\"\n  then:\n    - count: seen")
    };
    for program in [
        asks(
            "- multi: { redis: MULTI }\n- queue:\n    redis: EVAL \"return redis.call('SMEMBERS', KEYS[1])\" 1 s\n\
             - exec: { redis: EXEC }\n",
            "exec[0]",
        ),
        // A wait inside the server takes client processes.
        asks(
            "- push: { redis: LPUSH q 1 }\n- pop: { redis: BLPOP q 0 }\n- all: { redis: SMEMBERS s }\n",
            "all",
        ),
        asks(
            "- push: { redis: LPUSH q 1 }\n- pop: { redis: BLPOP q 0 }\n- multi: { redis: MULTI }\n\
             - queue: { redis: SMEMBERS s }\n- exec: { redis: EXEC }\n",
            "exec[0]",
        ),
    ] {
        let why = refused(&[&add, &program]).await;
        assert!(why.contains("hash table"), "{program}: {why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_touches_a_second_key_is_seen_to() {
    let sees =
        |key: &str| format!("- look: {{ redis: EXISTS {key} }}\n- if: look == 1\n  then:\n    - count: seen");
    for (script, arg, key) in [("copies", "x", "q"), ("renames", "x", "q"), ("both", "m", "m")] {
        let runs = format!("- run: {{ script: {script}, keys: [k], args: [{arg}] }}");
        assert_eq!(found(&[&runs, &sees(key)], &["seen > 0"]).await, (2, 1, Some(2)), "{script}");
    }
    let weighs = "- weigh: { redis: SET w_a 9 }";
    for sorts in [
        "- first: { script: sorts, keys: [list], args: [] }\n- if: first == 'b'\n  then:\n    - count: seen",
        "- first: { redis: SORT list BY w_* }\n- if: first[0] == 'b'\n  then:\n    - count: seen",
    ] {
        assert_eq!(found(&[weighs, sorts], &["seen > 0"]).await, (2, 1, Some(2)), "{sorts}");
    }
    let fence =
        "- fence: { script: fence, keys: [k], args: [] }\n- if: fence == 2\n  then:\n    - count: second";
    assert_eq!(found(&[fence, fence], &["second > 1"]).await, (2, 0, None));
    assert_eq!(found(&[fence, fence], &["value('k:fence') == '2'"]).await, (2, 2, Some(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_script_hides_is_asked_of_the_server() {
    let hidden =
        "- get: { script: hidden, keys: [n], args: [GET] }\n- if: get is none\n  then:\n    - count: missed";
    let sets = "- set: { redis: SET n 1 }";
    assert_eq!(found(&[hidden, sets], &["missed > 0"]).await, (2, 1, Some(1)));
    let text = lesson(&["- time: { script: joined, keys: [], args: [] }", sets], &["missed > 0"])
        .replace("- time:", "- count: missed\n    - time:");
    let refused = explored(&text, Bounds::default()).await.expect_err("the calendar");
    assert!(refused.contains("A.time") && refused.contains("`TIME`"), "{refused}");
}

/// The states of a small search are listed one by one, with every client told apart, and a path through them is a log
/// that can be repeated.
#[tokio::test(flavor = "multi_thread")]
async fn the_states_of_a_small_search_can_be_walked_through() {
    let buyer = "- check: { redis: GET n }\n- if: check is none\n  then:\n    - holds: lock\n    - buy: { redis: SET n 1 PX 3000 }";
    let text = lesson(&[buyer, buyer], &["{ overlap: lock }"]);
    let bounds = |symmetry, graph| Bounds { symmetry, graph, ..Bounds::default() };
    let apart = explored(&text, bounds(false, false)).await.expect("explored");
    let found = explored(&text, bounds(true, true)).await.expect("explored");
    let graph = found.space.graph.expect("it is small");
    assert_eq!(graph.states.len() as u64, apart.space.states);
    assert_eq!(
        graph.states.iter().map(|state| state.steps.len() as u64).sum::<u64>(),
        apart.space.transitions
    );
    let ends = |broken| {
        graph
            .states
            .iter()
            .filter(|state| state.steps.is_empty() && state.broken.is_empty() != broken)
            .count()
    };
    assert!(ends(true) > 0 && ends(false) > 0);
    // A reads, B reads, A buys.
    let (mut at, mut way) = (0, Vec::new());
    for words in ["A.check", "B.check", "A.buy"] {
        let step = graph.states[at].steps.iter().position(|step| step.words == words).expect(words);
        way.push((at, step));
        at = graph.states[at].steps[step].to;
    }
    let here = &graph.states[at];
    let key = here.servers[0].keys.iter().find(|(name, ..)| name == "n").expect("it was set");
    assert!(key.2.is_some_and(|left| left.as_secs() == 3), "{key:?}");
    assert_eq!(here.broken, [0]);
    let stand: Vec<_> = here.clients.iter().map(|client| (&client.place, client.holds.len())).collect();
    assert_eq!(stand, [(&Whereabouts::Finished, 1), (&Whereabouts::Before("buy".to_owned()), 1)]);
    let log = graph.log(&way);
    assert_eq!(log.history(log.len()).len(), 3);
    // The states of a larger search are not listed.
    let three = "- a: { redis: INCR n }\n- b: { redis: INCR n }\n- c: { redis: INCR n }";
    let text = lesson(&[three, three, three, three], &["value('n') == 'x'"]);
    let found = explored(&text, bounds(true, true)).await.expect("explored");
    assert!(found.space.states <= 60 && found.space.graph.is_none(), "{} states", found.space.states);
}

/// A server's clock does not go back with an order: `TIME` returns the order's time, in a transaction the time of its
/// end.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_a_server_for_its_time_is_told_the_orders() {
    let later = "- if: after[0]|int == first[0]|int + 2\n  then:\n    - count: later";
    let asks = format!("- first: {{ redis: TIME }}\n- wait: 2s\n- after: {{ redis: TIME }}\n{later}");
    let other = "- other: { redis: INCR n }\n- wait: 700ms\n- again: { redis: INCR n }";
    let (orders, violate, _) = found(&[&asks, other], &["later > 0"]).await;
    assert!(orders > 1 && violate == orders, "{violate} of {orders}");
    let queued = "- first: { redis: TIME }\n- multi: { redis: MULTI }\n- time: { redis: TIME }\n- wait: 2s\n\
                  - done: { redis: EXEC }\n- if: done[0][0]|int == first[0]|int + 2\n  then:\n    - count: later";
    let (orders, violate, _) = found(&[queued, other], &["later > 0"]).await;
    assert!(orders > 1 && violate == orders, "{violate} of {orders}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invariant_may_ask_for_a_key_by_an_expression() {
    let sets = "- set: { redis: SET ab 1 }";
    assert_eq!(found(&[sets], &["value('a' ~ 'b') == '1'"]).await, (1, 1, Some(1)));
    let other = "- other: { redis: SET c 1 }";
    assert_eq!(found(&[sets, other], &["value('a' ~ 'b') == '1'"]).await, (2, 2, Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_broken_before_the_first_move_breaks_every_order() {
    let sets = "- set: { redis: SET k 2 }";
    assert_eq!(found(&[sets, sets], &["value('k') == '1'"]).await, (2, 2, Some(0)));
    let holds = "- holds: lock\n- set: { redis: SET k 2 }";
    assert_eq!(found(&[holds, holds], &[]).await, (2, 2, Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shortest_order_is_the_shortest() {
    let late = "- a: { redis: SET a 1 }\n- b: { redis: SET a 2 }\n- c: { redis: SET a 3 }\n- holds: lock";
    let soon = |key: &str| format!("- a: {{ redis: SET {key} 1 }}\n- holds: lock");
    let (orders, violations, shortest) = found(&[late, &soon("b"), &soon("c")], &[]).await;
    assert_eq!((orders, violations, shortest), (20, 20, Some(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_that_end_together_end_together() {
    let chain = "- a: { wait: 500ms }\n- b: { wait: 500ms }\n- c: { wait: 1s }\n- get: { redis: GET k }";
    let once = "- a: { wait: 2s }\n- get: { redis: SET k 2 }";
    assert_eq!(found(&[chain, once], &["value('k') == '3'"]).await, (2, 0, None));
}

/// Orders in which no client reaches the end, by the cause: two locks taken crosswise, a lock whose holder dies, two
/// clients that give way to each other for ever, a program that does not handle a reply.
#[tokio::test(flavor = "multi_thread")]
async fn what_never_ends_is_told_apart() {
    let takes = |key: &str| format!("- {key}: {{ redis: SET {key} 1 NX, until: reply == 'OK', every: 1s }}");
    let both = |one: &str, other: &str| {
        format!("{}\n{}\n- free: {{ redis: DEL {one} {other} }}", takes(one), takes(other))
    };
    let stuck = async |programs: &[&str], faults: Vec<MayFail>| {
        let text = lesson(programs, &["value('k') == 'x'"]);
        let bounds = Bounds { moves: 20, faults, ..Bounds::default() };
        let found = explored(&text, bounds).await.unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(found.complete);
        (found.orders(), found.stuck.iter().map(|kind| (kind.stuck, kind.orders)).collect::<Vec<_>>())
    };
    let (orders, crosswise) = stuck(&[&both("a", "b"), &both("b", "a")], vec![]).await;
    assert_eq!(crosswise.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Stuck::Deadlock]);
    assert!(crosswise[0].1 < orders, "{crosswise:?} of {orders}");
    assert_eq!(stuck(&[&both("a", "b"), &both("a", "b")], vec![]).await.1, []);

    let once = format!("{}\n- free: {{ redis: DEL a }}", takes("a"));
    let (_, killed) = stuck(&[&once, &once], vec![Failing::Crash.anywhere()]).await;
    assert_eq!(killed.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Stuck::Deadlock]);

    let polite = |one: &str, other: &str| {
        format!(
            "- let: {{ done: \"false\" }}\n- repeat:\n    - first: {{ redis: SET {one} 1 NX }}\n    - second: {{ redis: SET {other} 1 NX }}\n    \
             - if: first == 'OK' and second == 'OK'\n      then:\n        - let: {{ done: \"true\" }}\n    - if: first == 'OK'\n      then:\n        \
             - undo1: {{ redis: DEL {one} }}\n    - if: second == 'OK'\n      then:\n        - undo2: {{ redis: DEL {other} }}\n    \
             - if: not done\n      then:\n        - pause: {{ wait: 1s }}\n  while: not done\n  at_most: 1000"
        )
    };
    let (_, round) = stuck(&[&polite("a", "b"), &polite("b", "a")], vec![]).await;
    let kinds: Vec<_> = round.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [Stuck::Livelock], "{round:?}");

    let wrong = "- push: { redis: RPUSH k 1 }";
    assert_eq!(stuck(&[wrong], vec![]).await, (1, vec![(Stuck::GaveUp, 1)]));
}

/// A loop that reaches its bound ends its program, like a reply that it does not handle: of the six orders of two reads
/// and two moves of another client, this happens in those where the other has not deleted the key before the second
/// read.
#[tokio::test(flavor = "multi_thread")]
async fn a_loop_that_reaches_its_bound_is_one_ending_among_others() {
    let looks = |wait: &str| {
        format!(
            "- let: {{ there: \"true\" }}\n- repeat:\n    - look: {{ redis: EXISTS k }}\n    - let: {{ there: look == 1 }}\n{wait}  \
             while: there\n  at_most: 2\n- count: gone"
        )
    };
    let other = "- first: { redis: GET n }\n- free: { redis: DEL k }";
    let text = lesson(&[&looks(""), other], &["gone > 0"]);
    for bounds in [
        Bounds::default(),
        Bounds { prune: false, ..Bounds::default() },
        Bounds { in_process: false, ..Bounds::default() },
    ] {
        let found = explored(&text, bounds).await.unwrap_or_else(|error| panic!("{error}\n{text}"));
        // After DEL one read is enough: DEL is before the first read, between the two, or after both.
        assert!(found.complete);
        assert_eq!((found.orders(), found.violations), (1 + 2 + 3, 1 + 2));
        let stuck: Vec<_> = found.stuck.iter().map(|kind| (kind.stuck, kind.orders)).collect();
        assert_eq!(stuck, [(Stuck::GaveUp, 3)]);
        assert_eq!(found.outcomes.iter().map(|seen| seen.outcome.unfinished).max(), Some(1));
    }
    // The rounds end while time passes, and those of another client at the same moment: both programs end, and one that
    // waits as long continues.
    let waits = looks("    - pause: { wait: 1s }\n");
    let later = "- pause: { wait: 2s }\n- look: { redis: GET k }";
    let text = lesson(&[&waits, &waits, later], &["gone > 0"]);
    let found = explored(&text, Bounds::default()).await.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(found.outcomes.len(), 1);
    assert_eq!(found.outcomes[0].outcome.unfinished, 2);
    assert_eq!(found.stuck.iter().map(|kind| kind.orders).sum::<u128>(), found.orders());
    // A story is what its author wrote: there a reached bound is a mistake.
    let text = lesson(&[&looks("")], &["gone > 0"]);
    let answer = run(&text, &["run"]);
    assert_eq!(answer.code, Some(2), "{}", answer.out);
    assert!(answer.err.contains("at_most"), "{}", answer.err);
}

/// Every way of carrying out orders; all of them find the same.
fn every_way() -> [Bounds; 4] {
    [
        Bounds::default(),
        Bounds { symmetry: false, ..Bounds::default() },
        Bounds { prune: false, ..Bounds::default() },
        Bounds { prune: false, share: false, ..Bounds::default() },
    ]
}

/// The same on several independent servers.
fn on_masters(programs: &[&str], never: &[&str]) -> String {
    let text = lesson(programs, never).replace("lab: redis", "lab: masters");
    text.replace("redis: SET k 1", "{ redis: SET k 1, on: redis1 }")
        .replace("redis: RPUSH list a b", "{ redis: RPUSH list a b, on: redis1 }")
}

/// A transaction belongs to one connection: a command sent to another server meanwhile is answered at once, and two
/// transactions may be open at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_on_one_server_is_none_on_another() {
    let one = "- begin: { redis: MULTI, on: redis1 }\n- put: { redis: INCR x, on: redis1 }\n\
               - mark: { redis: INCR y, on: redis2 }\n- all: { redis: EXEC, on: redis1 }\n\
               - if: all[0] != mark\n  then:\n    - count: crossed";
    // Of two clients, one is first on the one server and second on the other: its last two moves enclose those of the
    // other, before which and the first of which there are 5! / 3!2! ways to interleave.
    let two = "- one: { redis: MULTI, on: redis1 }\n- two: { redis: MULTI, on: redis2 }\n\
               - x: { redis: INCR x, on: redis1 }\n- y: { redis: INCR y, on: redis2 }\n\
               - first: { redis: EXEC, on: redis1 }\n- second: { redis: EXEC, on: redis2 }\n\
               - if: first[0] != second[0]\n  then:\n    - count: crossed";
    for (program, orders, crossed) in [(one, 70, 2 * 10), (two, 924, 2 * 126)] {
        let text = on_masters(&[program, program], &["crossed > 1"]);
        for bounds in every_way() {
            let found = explored(&text, bounds).await.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!((found.orders(), found.violations), (orders, crossed), "{text}");
        }
    }
}

/// The queue of a broken connection is lost; that of the connection to another server is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_fault_on_one_server_leaves_the_transaction_on_another() {
    let program = "- begin: { redis: MULTI, on: redis1 }\n- put: { redis: INCR x, on: redis1 }\n\
                   - look: { redis: GET y, on: redis2, allow: [Lost] }\n- all: { redis: EXEC, on: redis1 }";
    let text = on_masters(&[program], &["value('x') == '2'"]);
    let stuck = async |how: Failing, server: Option<&str>| {
        let fault = MayFail { server: server.map(str::to_owned), ..how.anywhere() };
        let bounds = Bounds { faults: vec![fault], ..Bounds::default() };
        let found = explored(&text, bounds).await.unwrap_or_else(|error| panic!("{error}\n{text}"));
        found.stuck.iter().map(|kind| kind.orders).sum::<u128>()
    };
    for how in [Failing::Cut, Failing::Restart] {
        assert_eq!(stuck(how, Some("redis2")).await, 0);
        assert!(stuck(how, Some("redis1")).await > 0);
    }
    // The program handles the loss of one of its four replies.
    assert_eq!(stuck(Failing::LostReply, None).await, 3);
}

/// A client that watches a key learns at the end of the transaction whether anything was done to the key, by whatever
/// command, to the same value, by itself, or by time; but not if the command was refused or the key is no longer
/// watched.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_fails_if_something_was_done_to_a_watched_key() {
    let ends = "- multi: { redis: MULTI }\n- get: { redis: GET k }\n- all: { redis: EXEC }\n- if: all is none\n  then:\n    \
                - count: failed";
    let looks = format!("- watch: {{ redis: WATCH k }}\n{ends}");
    let other = |command: &str| format!("- other:\n    redis: {command}");
    let found = async |programs: &[&str], never: &str| {
        let text = lesson(programs, &[never]);
        let mut counts = Vec::new();
        for bounds in every_way() {
            let found = explored(&text, bounds).await.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(found.complete);
            counts.push((found.orders(), found.violations));
        }
        assert!(counts.windows(2).all(|two| two[0] == two[1]), "{counts:?}\n{text}");
        counts[0]
    };
    let touches = [
        "SET k 1",
        "SET k 2",
        "DEL k",
        "PEXPIRE k 9000",
        "EVAL \"return redis.call('SET',KEYS[1],'1')\" 1 k",
    ];
    for command in touches {
        assert_eq!(found(&[&looks, &other(command)], "failed > 0").await, (5, 3), "{command}");
        // If states cannot be counted, orders that are certain to be equivalent are pruned.
        let asked = "failed > 0 and finished('A') == 1";
        assert_eq!(found(&[&looks, &other(command)], asked).await, (5, 3), "{command}");
    }
    for command in ["SET k 1 NX", "GET k", "SET n 1", "DEL n"] {
        assert_eq!(found(&[&looks, &other(command)], "failed > 0").await, (5, 0), "{command}");
    }
    for (before, fails) in [
        ("- watch: { redis: WATCH k }\n- set: { redis: SET k 1 }", 1),
        ("- watch: { redis: WATCH k }\n- set: { redis: SET k 1 }\n- un: { redis: UNWATCH }", 0),
        ("- set: { redis: SET n 1 PX 1000 }\n- watch: { redis: WATCH n }\n- pause: { wait: 2s }", 1),
        ("- watch: { redis: WATCH n }\n- pause: { wait: 2s }", 0),
        (
            "- watch: { redis: WATCH k }\n- m: { redis: MULTI }\n- d: { redis: DISCARD }\n- set: { redis: SET k 1 }",
            0,
        ),
    ] {
        let program = format!("{before}\n{ends}");
        assert_eq!(found(&[&program], "failed > 0").await, (1, fails), "{before}");
    }
    // Reading, watching, writing: the second of two interleaved transactions fails. With the read before the watch,
    // each of the five moves of one client may come after the other's read and before its watch.
    let change = "- multi: { redis: MULTI }\n- set: { redis: 'SET k ${get|int + 1}' }\n- all: { redis: EXEC }\n\
                  - if: all is none\n  then:\n    - count: failed\n  else:\n    - count: done";
    let safe = format!("- watch: {{ redis: WATCH k }}\n- get: {{ redis: GET k }}\n{change}");
    let late = format!("- get: {{ redis: GET k }}\n- watch: {{ redis: WATCH k }}\n{change}");
    let lost = "done == 2 and value('k') == '2'";
    assert_eq!(found(&[&safe, &safe], "failed > 0").await, (252, 250));
    assert_eq!(found(&[&safe, &safe], lost).await, (252, 0));
    assert_eq!(found(&[&late, &late], lost).await, (252, 10));
}

/// A process is over when all of its threads are.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_not_orphaned_while_its_process_has_a_thread() {
    let text = lesson(
        &["- set: { redis: SET lock A }", "- pause: { wait: 1s }\n- free: { redis: DEL lock }"],
        &["orphaned('lock')"],
    );
    let text = text
        .replace("  A: { runs: p0 }\n  B: { runs: p1 }\n", "  A: { named_threads: { one: p0, two: p1 } }\n");
    let text = text.replace("finish: A", "finish: A.one");
    let found = explored(&text, Bounds::default()).await.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!((found.orders(), found.violations), (1, 0));
}

/// What invariants may still ask about a key's past distinguishes states: orders that differ in nothing else are
/// counted as if one by one.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_to_a_key_is_not_forgotten_while_it_matters() {
    // A or B takes the lock first; its lease ends, and nothing else tells which it was.
    let takes = |name: &str, wait: u32, then: &str| {
        format!("- take: {{ redis: SET lock {name} NX PX 500 }}\n- pause: {{ wait: {wait}ms }}\n{then}")
    };
    let looks = "- look: { redis: GET k }";
    let again = format!("- again: {{ redis: SET lock b PX 500 }}\n- rest: {{ wait: 3s }}\n{looks}");
    let later = |set: &str| format!("- pause: {{ wait: 2s }}\n{set}\n{looks}\n- free: {{ redis: DEL lock }}");
    let careless = "- free: { script: careless, keys: [lock], args: [] }";
    let cases = [
        // A later value that a script sets without naming it is attributed to the client that once had it.
        (
            vec![
                takes("a", 600, looks),
                takes("b", 700, &again),
                later("- set: { script: sets, keys: [lock], args: [a] }"),
            ],
            "orphaned('lock')",
        ),
        // A value that the command names is not.
        (
            vec![
                takes("a", 600, looks),
                takes("b", 700, &again),
                later("- set: { redis: PSETEX lock 900 a }"),
            ],
            "orphaned('lock')",
        ),
        // The client that is said to have deleted a key that is gone.
        (vec![takes("a", 600, looks), takes("b", 700, careless)], "deleted_by_another('lock') > 0"),
        // The effects of a transaction apply to the owner of the key at that time.
        (
            vec![
                "- take: { redis: SET lock a PX 900 }".to_owned(),
                "- multi: { redis: MULTI }\n- extend: { redis: PEXPIRE lock 500 }\n- all: { redis: EXEC }"
                    .to_owned(),
            ],
            "renewed_by_another('lock') > 0",
        ),
    ];
    for (programs, never) in cases {
        let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
        let text = lesson(&programs, &[never]);
        let mut each = Vec::new();
        for prune in [true, false] {
            let found = explored(&text, Bounds { prune, ..Bounds::default() }).await;
            let found = found.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(found.complete && (found.space.states > 0) == prune, "{text}");
            each.push((found.orders(), found.violations));
        }
        assert!(each[1].1 < each[1].0, "{text}");
        assert_eq!(each[0], each[1], "states (left) and orders (right) differ\n{text}");
    }
}

fn run(text: &str, args: &[&str]) -> Answer {
    let place = Place::new();
    place.write("row.yaml", text);
    let answer = place.run(&[&[args[0], "row.yaml"], &args[1..]].concat());
    place.assert_nothing_left();
    answer
}

#[test]
fn expecting_none_is_content_with_a_proof_only() {
    let sets = "- a: { redis: SET k 2 }\n- b: { redis: SET k 3 }";
    // There is no invariant.
    let nothing = lesson(&[sets, sets], &[]);
    let answer = run(&nothing, &["explore", "--expect-none"]);
    assert_eq!(answer.code, Some(2), "{}", answer.out);
    assert!(answer.err.contains("--never"), "{}", answer.err);
    // The expression can never be true, because it contains an unknown name.
    let asked = lesson(&[sets, sets], &["value('k') == '4'"]);
    for never in ["sodl > 1", "A.c == 1", "value('k') == 1 and B.nobody == 2"] {
        let answer = run(&asked, &["explore", "--expect-none", "--never", never]);
        assert_eq!(answer.code, Some(2), "{never}: {}", answer.out);
        assert!(answer.err.contains("--never"), "{}", answer.err);
    }
    // It is proved.
    let answer = run(&asked, &["explore", "--expect-none"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("of these orders 0 went wrong"), "{}", answer.out);
    // It is not proved, because an order that keeps retrying is cut; with a limit that the user sets it is.
    let again = "- a: { redis: GET k, until: reply == '7', every: 1s }";
    let cut = lesson(&[again], &["value('k') == '4'"]);
    let answer = run(&cut, &["explore", "--expect-none"]);
    assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("--moves"), "{}", answer.out);
    assert!(answer.out.contains("only this one order"), "{}", answer.out);
    let answer = run(&cut, &["explore", "--expect-none", "--moves", "5"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
}

/// The reply to an operation that was never sent is undefined, but no mistake.
#[test]
fn a_race_may_ask_for_a_reply_that_never_comes() {
    let maybe = "- a: { redis: GET k }\n- if: a == '7'\n  then:\n    - b: { redis: GET k }";
    let answer = run(&lesson(&[maybe, maybe], &["A.b == '1'"]), &["race", "--runs", "5"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
}

/// A client that waits for a notification makes a move with its own label, whether or not the notification is there:
/// here it is not, because time passes only when no client can move.
#[test]
fn a_move_is_told_by_its_label() {
    let text = lesson(
        &[
            "- pause: { wait: 1s }\n- make: { zk: create -e /a }",
            "- look: { zk: exists -w /a }\n- wake: { take: /a }\n- count: woken",
        ],
        &["woken > 0"],
    );
    let (before, rest) = text.split_once("setup:").expect("a set-up");
    let (_, after) = rest.split_once("clients:").expect("clients");
    let text = format!("{before}clients:{after}")
        .replace("lab: redis", "lab: zookeeper")
        .replace("track: redis", "track: zookeeper");
    let text = text.replace("value('k') != 'x'", "woken >= 0");
    let answer = run(&text, &["explore", "--json"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    let shortest = answer.json()[0]["shortest"].to_string();
    assert!(shortest.contains("B.wake") && !shortest.contains("B.take"), "{shortest}");
}
