//! `lockstep explore` on a real server: exact counts, what is found and what is not, and what is refused.

use crate::{
    place::{Answer, Place},
    texts::{HEAD, ONLY},
};

/// A lesson of clients that all run one program.
fn lesson(clients: &[&str], program: &str) -> String {
    let cast: Vec<String> = clients.iter().map(|name| format!("  {name}: {{ runs: p }}\n")).collect();
    format!(
        "{HEAD}lab: redis
params: {{ stock: 1 }}
setup:
  - redis: SET stock 1
clients:
{}programs:
  p:
{program}
{ONLY}    claims:
      - that: value('stock')|int <= 1
story:
  - finish: A
",
        cast.concat()
    )
}

/// The buyer of every introduction: read, then act.
const GET_THEN_DECR: &str = "
    - check: { redis: GET stock }
    - if: check|int > 0
      then:
        - buy: { redis: DECR stock }
        - count: sold";

fn steps(k: usize) -> String {
    let step = |n| format!("    - m{n}: {{ redis: INCR done }}\n");
    (1..=k).map(step).collect()
}

fn explored(text: &str, args: &[&str]) -> Answer {
    let place = Place::new();
    place.write("tried.yaml", text);
    let answer = place.run(&[&["explore", "tried.yaml", "--json"], args].concat());
    place.assert_nothing_left();
    answer
}

/// Explores with and without pruning, whose counts must agree.
fn both(text: &str, args: &[&str]) -> (serde_json::Value, serde_json::Value) {
    let report = |args: &[&str]| {
        let answer = explored(text, args);
        assert!(matches!(answer.code, Some(0 | 1)), "{}", answer.err);
        answer.json().remove(0)
    };
    let (mut pruned, mut all) = (report(args), report(&[args, &["--no-prune"]].concat()));
    // If orders are tried one by one, the point from which a breach was unavoidable is searched no longer than the
    // search itself takes.
    let in_time = |found: &serde_json::Value| {
        let broken = found["broken"].as_array().into_iter().flatten();
        broken.clone().all(|broken| broken["unavoidable"]["before"].is_number())
    };
    if !(in_time(&pruned) && in_time(&all)) {
        for broken in
            [&mut pruned, &mut all].into_iter().filter_map(|found| found["broken"].as_array_mut()).flatten()
        {
            (broken["unavoidable"], broken["why"]) = (serde_json::Value::Null, serde_json::Value::Null);
        }
    }
    assert_eq!(all["pruned"], 0, "{all}");
    assert_eq!(
        pruned["interleavings"].as_u64().zip(pruned["pruned"].as_u64()).map(|(tried, rest)| tried + rest),
        all["interleavings"].as_u64(),
        "{pruned}\n{all}"
    );
    for same in ["cut", "violations", "broken", "shortest", "choices", "outcomes"] {
        assert_eq!(pruned[same], all[same], "{same}\n{pruned}\n{all}");
    }
    (pruned, all)
}

#[test]
fn every_order_is_counted_once() {
    for (clients, k, orders) in [(&["A", "B"][..], 3, 20), (&["A", "B", "C"], 2, 90), (&["A"], 4, 1)] {
        let (_, all) = both(&lesson(clients, &steps(k)), &["--moves", "20"]);
        assert_eq!(all["interleavings"], orders, "{all}");
        assert_eq!(all["cut"], 0, "{all}");
        assert_eq!(all["violations"], 0, "{all}");
    }
    // Reads do not conflict with reads.
    let looks =
        "    - a: { redis: GET stock }\n    - b: { redis: PTTL stock }\n    - c: { redis: GET other }\n";
    let (pruned, all) = both(&lesson(&["A", "B", "C"], looks), &[]);
    assert_eq!((&pruned["interleavings"], &all["interleavings"]), (&1.into(), &1680.into()));
}

/// Counted by hand: A may finish before B reads, or B before A reads; then one is sold. In the other orders both read
/// before either buys: two orders of reading, two of buying.
#[test]
fn get_then_decr_breaks_in_four_of_six_orders() {
    let text = lesson(&["A", "B"], GET_THEN_DECR);
    let args = ["--never", "sold > stock"];
    let (pruned, all) = both(&text, &args);
    assert_eq!(all["interleavings"], 6, "{all}");
    assert_eq!(all["violations"], 4, "{all}");
    assert!(pruned["interleavings"].as_u64() < Some(6), "{pruned}");
    assert_eq!(pruned["shortest"], serde_json::json!(["A.check", "B.check", "A.buy", "B.buy"]), "{pruned}");
    let expecting = explored(&text, &[&args[..], &["--expect-none"]].concat());
    assert_eq!(expecting.code, Some(1), "{}", expecting.out);
}

const COMPARE_AND_DELETE: &str = "
    - use: acquire_safely
      with: { key: lock, lease: 3000, every: 2s }
    - work: 2s
    - use: release_if_owner
      with: { key: lock }";

#[test]
fn compare_and_delete_is_not_broken_by_any_order() {
    let text = lesson(&["A", "B"], COMPARE_AND_DELETE);
    let (all, _) = both(&text, &["--expect-none"]);
    assert_eq!(all["violations"], 0, "{all}");
    assert_eq!(explored(&text, &["--expect-none"]).code, Some(0));

    // Work that takes longer than the lease is another problem, which no script solves.
    let slow = COMPARE_AND_DELETE.replace("work: 2s", "work: 10s");
    let (found, _) = both(&lesson(&["A", "B"], &slow), &["--moves", "8", "--expect-none"]);
    assert!(found["violations"].as_u64() > Some(0), "{found}");
}

/// The script that no order breaks, with a holder that is frozen for a while: its lease ends, and it continues.
#[test]
fn a_frozen_holder_overlaps_whatever_the_script() {
    let text = lesson(&["A", "B"], COMPARE_AND_DELETE);
    let (found, _) = both(&text, &["--fault", "freeze"]);
    assert!(found["violations"].as_u64() > Some(0), "{found}");
    let shortest = found["shortest"].to_string();
    assert!(shortest.contains("freeze"), "{found}");
    // A dead holder holds nothing: leases exist for this case.
    let (crashed, _) = both(&text, &["--fault", "crash"]);
    assert_eq!(crashed["violations"], 0, "{crashed}");
    // Only the named client is frozen.
    let (only, _) = both(&text, &["--fault", "freeze:B"]);
    assert!(!only["shortest"].to_string().contains("freeze A"), "{only}");
    assert!(only["violations"].as_u64() > Some(0), "{only}");
}

/// The lessons' own fixes and failures, with the lessons' own invariants.
#[test]
fn the_lessons_are_what_they_say() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let answer = place.run(&[&["explore"], args, &["--json"]].concat());
        assert_eq!(answer.code, Some(0), "{args:?}\n{}", answer.err);
        answer.json().remove(0)
    };
    let unlock = |variant: &'static str, more: &[&'static str]| {
        let args = ["unlock-someone-elses-lock", "--variant", variant, "--set", "poll=1500ms"];
        run(&[&args[..], more].concat())
    };
    assert!(unlock("blind-del", &[])["violations"].as_u64() > Some(0));
    let fixed = unlock("owner-check", &[]);
    assert_eq!((&fixed["violations"], &fixed["complete"]), (&0.into(), &true.into()));
    assert!(unlock("owner-check", &["--fault", "freeze:A"])["violations"].as_u64() > Some(0));

    let stuck = |variant: &'static str| {
        let args = ["setnx-without-expire", "--variant", variant, "--fault", "crash:A", "--moves", "6"];
        let found = run(&args);
        let broken = found["broken"].as_array().cloned().unwrap_or_default();
        broken.iter().any(|broken| broken["invariant"].to_string().contains("orphaned"))
    };
    assert!(stuck("two-commands"));
    assert!(!stuck("set-nx-px"));
}

#[test]
fn transactions_and_local_locks_and_watches_can_be_explored() {
    let transaction = "
    - begin: { redis: MULTI }
    - first: { redis: INCR stock }
    - second: { redis: GET stock }
    - all: { redis: EXEC }
    - if: all[1]|int > 2
      then:
        - count: sold";
    let (_, all) = both(&lesson(&["A", "B"], transaction), &["--never", "sold > 1"]);
    assert_eq!(all["interleavings"], 70, "{all}");
    // The second client reads three, whatever was queued in between.
    assert_eq!(all["violations"], 0, "{all}");
    assert_eq!(all["outcomes"].as_array().map(Vec::len), Some(1), "{all}");

    let mutex = "
    - lock: { local: lock mutex }
    - holds: lock
    - check: { redis: GET stock }
    - buy: { redis: DECR stock }
    - unlock: { local: unlock mutex }
    - drops: lock";
    let threads = lesson(&["A"], mutex).replace("{ runs: p }", "{ runs: p, threads: 2 }");
    let threads = threads.replace("finish: A", "finish: A.1");
    let (_, all) = both(&threads, &["--moves", "20"]);
    assert_eq!(all["violations"], 0, "{all}");

    let place = Place::new();
    let args =
        ["explore", "zk-herd", "--variant", "predecessor", "--set", "clients=3", "--moves", "4", "--json"];
    let answer = place.run(&args);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let herd = answer.json().remove(0);
    assert!(herd["interleavings"].as_u64() > Some(1), "{herd}");
    assert_eq!(herd["violations"], 0, "{herd}");
}

/// The next operation of a client of `herd_lock`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Create,
    Watch,
    Wake,
    /// It waits for a notification.
    Taking,
    Release,
    Done,
}

/// One znode that all clients want, and their knowledge of it.
#[derive(Clone)]
struct Herd<const CLIENTS: usize> {
    next: [Next; CLIENTS],
    watches: [bool; CLIENTS],
    /// Notifications that were not taken yet.
    queued: [u32; CLIENTS],
    locked: bool,
    violated: bool,
}

impl<const CLIENTS: usize> Herd<CLIENTS> {
    /// Creates or deletes the znode, which notifies its watchers.
    fn change(&mut self) {
        self.locked = !self.locked;
        let watchers: Vec<usize> = (0..CLIENTS).filter(|n| self.watches[*n]).collect();
        self.violated |= watchers.len() > 1;
        self.watches = [false; CLIENTS];
        for n in watchers {
            match &mut self.next[n] {
                taking @ Next::Taking => *taking = Next::Create,
                _ => self.queued[n] += 1,
            }
        }
    }

    fn moves(&mut self, n: usize) {
        self.next[n] = match self.next[n] {
            Next::Create if self.locked => Next::Watch,
            Next::Create => {
                self.change();
                Next::Release
            }
            Next::Watch => {
                self.watches[n] = true;
                if self.locked { Next::Wake } else { Next::Create }
            }
            Next::Wake if self.queued[n] == 0 => Next::Taking,
            Next::Wake => {
                self.queued[n] -= 1;
                Next::Create
            }
            Next::Release => {
                self.change();
                Next::Done
            }
            Next::Taking | Next::Done => unreachable!("it cannot move"),
        };
    }

    /// The number of orders from here, the number of those that wake several clients at once, and the number of those
    /// cut after so many moves.
    fn orders(&self, moves: usize) -> [u64; 3] {
        let able = |n: &usize| !matches!(self.next[*n], Next::Taking | Next::Done);
        let able: Vec<usize> = (0..CLIENTS).filter(able).collect();
        if able.is_empty() || moves == 0 {
            return [1, u64::from(self.violated), u64::from(!able.is_empty())];
        }
        let after = able.into_iter().map(|n| {
            let mut after = self.clone();
            after.moves(n);
            after.orders(moves - 1)
        });
        after.fold([0; 3], |sum, more| std::array::from_fn(|n| sum[n] + more[n]))
    }
}

#[test]
fn on_zookeeper_orders_that_come_to_the_same_are_counted_as_a_model_counts_them() {
    const MOVES: usize = 7;
    let place = Place::new();
    let args = ["explore", "zk-herd", "--variant", "herd", "--set", "clients=3", "--json", "--moves"];
    let found = place.run(&[&args[..], &[&MOVES.to_string()]].concat()).json().remove(0);
    let count = |name: &str| found[name].as_u64().unwrap_or_default();
    let herd =
        Herd { next: [Next::Create; 3], watches: [false; 3], queued: [0; 3], locked: false, violated: false };
    let orders = count("interleavings") + count("pruned");
    assert_eq!([orders, count("violations"), count("cut")], herd.orders(MOVES), "{found}");
    assert!(count("states") > 0 && count("violations") > 0, "{found}");
    place.assert_nothing_left();
}

/// Wherever A dies: the server deletes its node with its session, and B is told.
#[test]
fn the_end_of_a_dead_clients_session_is_waited_for() {
    let text = format!(
        "{HEAD}lab: zookeeper
setup: [zk: create /l]
clients: {{ A: {{ runs: a }}, B: {{ runs: b }} }}
programs:
  a:
    - mine: {{ zk: create -e /l/a }}
    - look: {{ zk: ls /l }}
    - done: {{ zk: delete /l/a }}
  b:
    - watch: {{ zk: exists -w /l/a }}
    - if: watch is not none
      then: [wake: {{ take: /l/a }}]
    - count: told
{ONLY}    claims: [told == 1]
story: [finish: A, finish: B]
"
    );
    let found = explored(&text, &["--fault", "crash:A"]).json().remove(0);
    assert_eq!(found["complete"], true, "{found}");
    assert!(found["stuck"].as_array().is_some_and(Vec::is_empty), "{found}");
    let outcomes = found["outcomes"].as_array().expect("there are some");
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome["outcome"].as_str().is_some_and(|told| told.contains("told 1"))),
        "{found}"
    );
}

#[test]
fn a_bound_cuts_orders_and_what_takes_more_than_a_day_is_refused() {
    let six = lesson(&["A", "B", "C"], &steps(2));
    // All sequences of three moves of the three clients, except those of one client alone.
    let (_, all) = both(&six, &["--moves", "3"]);
    assert_eq!(all["interleavings"], 27 - 3, "{all}");
    assert_eq!(all["cut"], 27 - 3, "{all}");

    let many = lesson(&["A", "B", "C", "D", "E"], &steps(8));
    let answer = explored(&many, &["--moves", "40", "--no-prune"]);
    assert_eq!(answer.code, Some(2), "{}", answer.out);
    assert!(answer.err.contains("days") && answer.err.contains("--moves"), "{}", answer.err);
}

#[test]
fn what_cannot_be_explored_is_refused_with_the_reason() {
    let place = Place::new();
    for (args, why) in [
        (&["explore", "oversell", "--recorded"][..], "real servers"),
        (&["explore", "oversell", "--never", "sold >"], "--never"),
        (&["explore", "oversell", "--fault", "flood"], "flood"),
        (&["explore", "oversell", "--variant", "atomic-script", "--fault", "crash:Z"], "Z"),
        (&["explore", "oversell", "--moves", "1000"], "100"),
    ] {
        let answer = place.run(args);
        assert_eq!(answer.code, Some(2), "{args:?}\n{}", answer.out);
        assert!(answer.err.contains(why), "{args:?}\n{}", answer.err);
    }
    for (command, why) in
        [("RANDOMKEY", "random"), ("LASTSAVE", "calendar"), ("SET a b EXAT 99999999999", "EXAT")]
    {
        let text = lesson(&["A", "B"], &format!("    - odd: {{ redis: {command} }}\n"));
        let answer = explored(&text, &[]);
        assert_eq!(answer.code, Some(2), "{command}\n{}", answer.out);
        assert!(answer.err.contains("A.odd") && answer.err.contains(why), "{}", answer.err);
    }
}

#[test]
fn without_symmetry_the_counts_are_the_same_and_the_states_more() {
    let text = lesson(&["A", "B", "C"], GET_THEN_DECR);
    let args = ["--never", "sold > stock"];
    let report = |args: &[&str]| explored(&text, args).json().remove(0);
    let (alike, apart) = (report(&args), report(&[&args[..], &["--no-symmetry"]].concat()));
    for same in ["orders", "cut", "violations", "broken", "shortest"] {
        assert_eq!(alike[same], apart[same], "{same}");
    }
    assert!(alike["states"].as_u64() < apart["states"].as_u64(), "{alike}\n{apart}");
}

#[test]
fn a_search_that_runs_out_of_its_time_says_so_and_proves_nothing() {
    let place = Place::new();
    place.write("tried.yaml", lesson(&["A", "B", "C", "D"], &steps(7)));
    let never = ["explore", "tried.yaml", "--no-symmetry", "--moves", "28", "--never", "stock > 1"];
    let answer = place.run(&[&never[..], &["--within", "1ms", "--expect-none"]].concat());
    assert_eq!(answer.code, Some(1), "{}", answer.err);
    assert!(answer.out.contains("NOT COMPLETE: the time of --within is over"), "{}", answer.out);
    place.assert_nothing_left();
    let answer = place.run(&[&never[..], &["--memory", "1"]].concat());
    assert_eq!(answer.code, Some(2), "{}", answer.out);
}

#[test]
fn where_nothing_is_forbidden_nothing_is_proven() {
    let place = Place::new();
    place.write("tried.yaml", lesson(&["A", "B"], &steps(1)));
    let answer = place.run(&["explore", "tried.yaml"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(answer.out.contains("This is no proof: nothing is forbidden here"), "{}", answer.out);
    let answer = place.run(&["explore", "tried.yaml", "--expect-none", "--lang", "zh"]);
    assert_eq!(answer.code, Some(2), "{}", answer.out);
    assert!(answer.err.contains("没有规定什么绝不能发生"), "{}", answer.err);
    let answer = place.run(&["explore", "tried.yaml", "--never", "stock > 0"]);
    assert!(!answer.out.contains("no proof"), "{}", answer.out);
    assert!(answer.out.contains(" broke this: stock > 0\n"), "{}", answer.out);
}

/// Ctrl-C keeps the results so far.
#[test]
fn an_interrupted_search_says_what_it_found() {
    let place = Place::new();
    place.write("tried.yaml", lesson(&["A", "B", "C"], &steps(5)));
    let args = ["explore", "tried.yaml", "--json", "--moves", "15", "--no-prune", "--never", "stock > 1"];
    let child = place
        .command(&args)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("lockstep starts");
    let pid = i32::try_from(child.id()).expect("a process number");
    // Its servers run: so the search has begun or is about to, and either may be interrupted.
    while place.processes().iter().filter(|line| line.contains("redis-server")).count() < 2 {
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_raw(pid).expect("a process number");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal is sent");
    let output = child.wait_with_output().expect("lockstep ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    let out = String::from_utf8_lossy(&output.stdout);
    let report: serde_json::Value =
        serde_json::from_str(out.trim()).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    assert_eq!(report["complete"], false, "{report}");
    assert!(report["interleavings"].as_u64() < Some(756_756), "{report}");
    place.assert_nothing_left();
}

#[test]
fn on_sentinel_every_order_is_carried_out_and_the_fixed_variant_keeps_the_lock() {
    let place = Place::new();
    let answer = place.run(&[
        "explore",
        "failover-mitigations",
        "--variant",
        "min-replicas",
        "--expect-none",
        "--moves",
        "24",
        "--json",
    ]);
    assert_eq!(answer.code, Some(0), "{}\n{}", answer.out, answer.err);
    let found = &answer.json()[0];
    let count = |name: &str| found[name].as_u64().expect(name);
    // The second client is refused; while no write is accepted it retries until the order is cut.
    assert_eq!((count("interleavings"), count("pruned"), count("violations")), (2, 0, 0), "{found}");
}

/// The same command goes to another key on each of five servers, and a majority decides.
#[test]
fn on_five_masters_what_is_left_out_is_counted_exactly_too() {
    let majority = lesson(
        &["A", "B"],
        "
    - let: { votes: \"0\" }
    - one: { redis: \"SET lock ${self} NX\", on: redis1 }
    - let: { votes: \"votes + 1 if reply == 'OK' else votes\" }
    - two: { redis: \"SET lock ${self} NX\", on: redis2 }
    - let: { votes: \"votes + 1 if reply == 'OK' else votes\" }
    - three: { redis: \"SET lock ${self} NX\", on: redis3 }
    - let: { votes: \"votes + 1 if reply == 'OK' else votes\" }
    - if: votes >= 2
      then:
        - holds: lock
        - work: 1s
        - drops: lock
        - unlock: { redis: DEL lock, on: redis1 }",
    );
    let majority = majority
        .replace("lab: redis", "lab: masters")
        .replace("  - redis: SET stock 1", "  - { redis: SET stock 1, on: redis1 }");
    let (pruned, all) = both(&majority, &[]);
    // Twenty ways to interleave three commands of each; then the client with two of three works alone.
    assert_eq!(all["interleavings"], 20, "{all}");
    assert!(pruned["interleavings"].as_u64() < Some(20), "{pruned}");
    assert_eq!(all["violations"], 0, "{all}");
}

/// The holder believes its own clock, and writes once more if that is behind.
const CHECKS_ITS_CLOCK: &str = "
    - take: { redis: \"SET lock ${token} NX PX 3000\", until: reply == 'OK', every: 1s }
    - let: { began: now }
    - look: { redis: GET lock }
    - work: 4s
    - if: now - began < 3000
      then: [write: { redis: \"SET store ${self}\" }]";

#[test]
fn the_clock_of_a_client_may_be_wrong() {
    let text = lesson(&["A", "B"], CHECKS_ITS_CLOCK);
    let args = |ahead: &'static str| ["--moves", "9", "--never", "exists('store')", "--fault", ahead];
    let (ahead, _) = both(&text, &args("skew:A=5s"));
    assert_eq!(ahead["violations"], 0, "{ahead}");
    let (behind, _) = both(&text, &args("skew:A=-5s"));
    assert!(behind["violations"].as_u64() > Some(0), "{behind}");
    let shortest = behind["shortest"].as_array().expect("an order");
    assert!(shortest.contains(&"skew A".into()) && shortest.contains(&"A.write".into()), "{behind}");
    let unknown = explored(&text, &["--fault", "skew:C=5s"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
    assert!(unknown.err.contains("there are redis, A, B"), "{}", unknown.err);
}
