//! Every way of exploring finds the same: with shared prefixes carried out once or each time, with or without pruning,
//! by one worker or two. On real servers, with random programs.

use std::{ops::ControlFlow, sync::Mutex, time::Duration};

use lockstep::{
    lab::LabOptions,
    lesson::{ExploreExpect, Scenario},
    log::{ActorId, Choice, EventKind, Fault, Log, Product, Reply},
    run::{
        explore::{self, Bounds, Explored, Failing, OutcomeSeen, Progress},
        race::racer::Racer,
    },
};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use crate::{
    place::LOCKSTEP,
    scenarios::{carried, carried_if},
    texts::{HEAD, ONLY, planned},
};

/// One step of a random program. Keys are few, so that programs conflict.
fn step() -> impl Strategy<Value = String> {
    let key = || prop_oneof![Just("k"), Just("l")];
    prop_oneof![
        key().prop_map(|key| format!("{{ redis: GET {key} }}")),
        key().prop_map(|key| format!("{{ redis: INCR {key} }}")),
        key().prop_map(|key| format!("{{ redis: DEL {key} }}")),
        key().prop_map(|key| format!("{{ redis: 'SET {key} ${{index}} PX 2000' }}")),
        key().prop_map(|key| format!("{{ redis: 'PEXPIRE {key} 1000' }}")),
        key().prop_map(|key| format!("{{ redis: PTTL {key} }}")),
        Just("{ redis: 'RPUSH list ${self}' }".to_owned()),
        Just("{ redis: 'SET lock ${token} NX PX 3000', until: reply == 'OK', every: 1s }".to_owned()),
        Just("{ script: release_if_owner, keys: [lock], args: ['${token}'] }".to_owned()),
        Just("{ wait: 1s }".to_owned()),
        Just("{ wait: 998ms }".to_owned()),
    ]
}

fn program(steps: &[String]) -> String {
    let mut text = String::new();
    for (n, step) in steps.iter().enumerate() {
        text += &["    - s", &n.to_string(), ": ", step, "\n"].concat();
        if step.contains("NX") {
            text.push_str("    - holds: lock\n");
        }
        if step.contains("release") {
            text.push_str("    - drops: lock\n");
        }
        if step.contains("INCR") {
            text += &["    - if: s", &n.to_string(), " == 2\n      then:\n        - count: twos\n"].concat();
        }
    }
    // Every program counts, believes and ends with a command, so that the invariants' names exist.
    text.push_str(
        "    - last: { redis: GET k }\n    - if: last is none\n      then:\n        - count: twos\n",
    );
    text
}

/// `ends`: an invariant asks which clients have finished. That needs a whole log, and then states cannot be counted.
fn scenario(programs: &[Vec<String>], ends: bool) -> Scenario {
    let mut text = [HEAD, "lab: redis\nsetup:\n  - redis: SET l 1\nclients:\n"].concat();
    for n in 0..programs.len() {
        let n = n.to_string();
        text += &["  P", &n, ": { runs: p", &n, " }\n"].concat();
    }
    text.push_str("programs:\n");
    for (n, steps) in programs.iter().enumerate() {
        text += &["  p", &n.to_string(), ":\n", &program(steps)].concat();
    }
    text.push_str(ONLY);
    text.push_str(
        "    invariants:\n      - never: twos > 2\n        says: { en: Twos., zh: 二。 }\n        goal: { en: Twos., zh: 二。 }\n      \
         - never: pttl('k') > 0 and twos > 0\n        says: { en: Ends., zh: 完。 }\n        goal: { en: Ends., zh: 完。 }\n",
    );
    if ends {
        text.push_str(
            "      - never: finished('P0') == 1 and value('list') is not none and twos > 0\n        \
             says: { en: Done., zh: 毕。 }\n        goal: { en: Done., zh: 毕。 }\n",
        );
    }
    text.push_str(
        "    claims:\n      - that: twos + value('k')|int + value('l')|int >= 0\nstory:\n  - finish: P0\n",
    );
    planned(&text, "only")
}

async fn explored(scenario: &Scenario, bounds: &Bounds) -> Explored {
    let options = LabOptions::with_binary(LOCKSTEP.into());
    let watch = |_: &_| ControlFlow::Continue(());
    explore::explore(scenario, &options, bounds, &watch).await.unwrap_or_else(|error| panic!("{error}"))
}

/// Everything that must be the same, as a text.
fn summary(found: &Explored) -> String {
    let outcomes: Vec<String> = found
        .outcomes
        .iter()
        .map(|seen| format!("{} {} {:?}", seen.orders, seen.outcome, seen.first))
        .collect();
    format!(
        "{} orders, {} cut, {} violate, {:?}, shortest {:?}, {outcomes:#?}",
        u128::from(found.tried) + found.pruned,
        found.cut,
        found.violations,
        found.broken,
        found.shortest.as_ref().map(|shortest| &shortest.choices),
    )
}

fn bounds(share: bool, prune: bool, workers: usize, faults: &[Failing]) -> Bounds {
    Bounds {
        moves: 6,
        share,
        prune,
        workers,
        faults: faults.iter().map(|how| how.anywhere()).collect(),
        longest: Duration::from_mins(10),
        ..Bounds::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_finds_the_same() {
    let config = Config::default();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let programs = proptest::collection::vec(proptest::collection::vec(step(), 1..4), 2..4);
    for round in 0..6 {
        let drawn = programs.new_tree(&mut runner).expect("draws").current();
        let scenario = scenario(&drawn, round % 2 == 1);
        let faults: &[Failing] = match round % 4 {
            1 => &[Failing::Crash],
            3 => &[Failing::Freeze],
            _ => &[],
        };
        let plain = explored(&scenario, &bounds(false, false, 1, faults)).await;
        for (share, prune, workers) in [(true, false, 2), (true, true, 2), (false, true, 2)] {
            let other = explored(&scenario, &bounds(share, prune, workers, faults)).await;
            assert_eq!(
                summary(&plain),
                summary(&other),
                "share {share}, prune {prune}, {workers} workers\n{drawn:#?}"
            );
        }
        // Client processes find the same, only slower.
        if round % 4 == 0 || round == 3 {
            let mut processes = bounds(false, true, 1, faults);
            (processes.in_process, processes.moves) = (false, 4);
            let mut hosted = bounds(true, true, 1, faults);
            hosted.moves = 4;
            let (hosted, processes) =
                (explored(&scenario, &hosted).await, explored(&scenario, &processes).await);
            assert_eq!(summary(&hosted), summary(&processes), "with processes\n{drawn:#?}");
        }
    }
}

/// A reply that is lost to a client process, and a link that is cut, are the same as to a program inside Lockstep.
#[tokio::test(flavor = "multi_thread")]
async fn links_fail_alike_with_client_processes() {
    let text = format!(
        "{HEAD}lab: redis
clients:
  A: {{ runs: a }}
  B: {{ runs: b }}
programs:
  a:
    - take: {{ redis: 'SET lock ${{token}} NX PX 3000', allow: [Lost] }}
    - if: take == 'OK'
      then: [ holds: lock ]
    - add: {{ redis: INCR n, allow: [Lost] }}
    - if: error == 'Lost'
      then: [ again: {{ redis: INCR n }}, count: twice ]
  b:
    - add: {{ redis: INCR n }}
{ONLY}    invariants:
      - never: value('n') == '3'
        says: {{ en: Three., zh: 三。 }}
        goal: {{ en: Three., zh: 三。 }}
    claims:
      - that: twice >= 0
story:
  - finish: A
"
    );
    let scenario = planned(&text, "only");
    for fault in [Failing::LostReply, Failing::Cut] {
        let mut processes = bounds(false, true, 1, &[fault]);
        processes.in_process = false;
        let hosted = explored(&scenario, &bounds(true, true, 1, &[fault])).await;
        assert!(hosted.violations > 0 || fault == Failing::Cut, "{hosted:?}");
        assert_eq!(summary(&hosted), summary(&explored(&scenario, &processes).await), "{fault:?}");
    }
}

/// The search that proves a fix finds the failure that it fixes: otherwise it would prove nothing. Not on ZooKeeper,
/// where each order takes long.
#[tokio::test(flavor = "multi_thread")]
async fn what_proves_a_fix_finds_what_it_mends() {
    let mut blind = Vec::new();
    for fix in carried_if(|_, variant| variant.explore.is_some() && variant.fixes.is_some()) {
        let (variant, lesson) = (fix.variant(), &fix.loaded.lesson.id);
        let Some((expected, mended)) = variant.explore.as_ref().zip(variant.fixes.as_ref()) else { continue };
        let named = format!("{lesson} {}", fix.variant);
        if expected.expect != ExploreExpect::None
            || fix.lab().has(Product::Zookeeper)
            || NOT_SEARCHED.contains(&named.as_str())
        {
            continue;
        }
        let failing = carried(lesson, mended);
        // One failing order is enough.
        let watch = |progress: &Progress| {
            if progress.violations > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = LabOptions::with_binary(LOCKSTEP.into());
        let bounds = Bounds { confirmed_within: Some(Duration::ZERO), ..Bounds::from(expected) };
        let found = explore::explore(&failing, &options, &bounds, &watch).await;
        let found = found.unwrap_or_else(|error| panic!("{named}: {error}"));
        let left = |seen: &OutcomeSeen| seen.outcome.unfinished > expected.may_not_end();
        if found.violations == 0 && !found.outcomes.iter().any(left) {
            blind.push(format!("{named}: {mended} has {} orders, {} of them cut", found.orders(), found.cut));
        }
    }
    assert!(blind.is_empty(), "{}", blind.join("\n"));
}

/// An order counts when it ends. A search that is stopped before must not say that nothing goes wrong.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_search_says_what_it_has_found_although_no_such_order_has_ended() {
    let scenario = carried("oversell", "check-then-decrement");
    let watch = |progress: &Progress| {
        if progress.shortest_of.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = LabOptions::with_binary(LOCKSTEP.into());
    // Clients that are told apart: too many states to be through before it is stopped.
    let bounds = Bounds { symmetry: false, ..Bounds::default() };
    let found = explore::explore(&scenario, &options, &bounds, &watch).await.expect("it is explored");
    assert!(!found.complete && found.space.states_left > 0, "{} states", found.space.states);
    assert!(
        found.violations >= 1 && found.orders() >= found.violations,
        "{} of {}",
        found.violations,
        found.orders()
    );
    assert!(found.broken.iter().all(|(_, orders)| *orders >= 1), "{:?}", found.broken);
    assert!(found.shortest.is_some(), "it is carried out again");
}

/// Five clients that are told apart and make six moves each: 16,807 states, far more than a mebibyte takes. What is never
/// to be so is so only after all their moves.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_is_out_of_memory_goes_on_at_random_for_the_time_it_is_given() {
    let clients = ["A", "B", "C", "D", "E"].map(|name| format!("  {name}: {{ runs: p }}\n")).concat();
    let moves = [0, 1, 2, 3, 4, 5].map(|n| format!("    - m{n}: {{ redis: INCR n }}\n")).concat();
    let text = format!(
        "{HEAD}lab: redis
clients:
{clients}programs:
  p:
{moves}{ONLY}    invariants: [ never: \"value('n') == '30'\" ]
    claims:
      - that: value('n') != 'x'
story:
  - finish: A
"
    );
    let scenario = planned(&text, "only");
    let options = LabOptions::with_binary(LOCKSTEP.into());
    let all = Bounds { moves: 30, symmetry: false, ..Bounds::default() };
    let small = Bounds { memory: 1 << 20, ..all.clone() };
    let watch = |_: &Progress| ControlFlow::Continue(());

    let found = explore::explore(&scenario, &options, &small, &watch).await.expect("it is explored");
    let space = &found.space;
    assert!(!found.complete && space.full && space.states_left > 0, "{} states", space.states);
    assert!(found.violations == 0 && found.broken.is_empty() && found.shortest.is_none());

    let longer = Bounds { within: Some(Duration::from_mins(5)), ..small };
    let found = explore::explore(&scenario, &options, &longer, &watch).await.expect("it is explored");
    let space = &found.space;
    assert!(!found.complete && space.full && space.states_left > 0, "{} states", space.states);
    assert!(found.violations == 1 && found.broken[0].1 == 1, "as far as is known: {:?}", found.broken);
    assert_eq!(found.shortest.expect("it is carried out again").moves.len(), 30);

    // No longer than it is given, however much memory there is.
    let short = Bounds { within: Some(Duration::from_millis(50)), ..all };
    let found = explore::explore(&scenario, &options, &short, &watch).await.expect("it is explored");
    let space = &found.space;
    assert!(!found.complete && !space.full && space.states_left > 0, "{} states", space.states);
}

/// Fixes whose failure no search finds quickly; the reason is beside their `explore:`.
const NOT_SEARCHED: [&str; 9] = [
    "redlock own-delay",
    "redlock-restarted-node later",
    "redlock-clock-jump all-five",
    "fair-lock queue",
    "fair-lock short-patience",
    "permit-expirable-semaphore own-deadlines",
    "countdown-latch names",
    "spin-lock told",
    "segmented-lock segments",
];

/// A fault that breaks a fix is found without going through all orders, of which there are far too many with clients in
/// processes of their own; where no order breaks anything, all are gone through.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_order_that_breaks_something_is_enough() {
    let options = LabOptions::with_binary(LOCKSTEP.into());
    let first = |faults: &[Failing]| Bounds {
        first: true,
        faults: faults.iter().map(|how| how.anywhere()).collect(),
        ..Bounds::default()
    };
    for (lesson, variant) in [("permit-expirable-semaphore", "renewed"), ("spin-lock", "told")] {
        let (scenario, bounds) = (carried(lesson, variant), first(&[Failing::Freeze]));
        let found = explore::explore(&scenario, &options, &bounds, &|_| ControlFlow::Continue(()));
        let found = found.await.unwrap_or_else(|error| panic!("{lesson} {variant}: {error}"));
        assert!(
            !found.complete && found.shortest.is_some() && found.tried < 50,
            "{lesson} {variant}: {found:?}"
        );
    }
    let safe = planned(
        &format!(
            "{HEAD}lab: redis\nclients:\n  A: &p {{ runs: p }}\n  B: *p\nprograms:\n  p:\n    - add: {{ redis: INCR n }}\n\
             {ONLY}    claims:\n      - that: moves('A.add') <= 1\n    invariants:\n      - never: value('n') == '3'\n        \
             says: {{ en: Three., zh: 三。 }}\nstory:\n  - finish: A\n"
        ),
        "only",
    );
    let found = explore::explore(&safe, &options, &first(&[]), &|_| ControlFlow::Continue(())).await;
    let found = found.unwrap_or_else(|error| panic!("{error}"));
    assert!(found.complete && found.shortest.is_none(), "{found:?}");
    assert_eq!((found.orders(), found.violations), (2, 0));
}

/// On ZooKeeper a state is reached again by repeating an order, so a search takes long: its findings are reported
/// meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn on_zookeeper_what_was_found_so_far_is_told_while_the_search_goes_on() {
    let scenario = carried("zk-herd", "herd");
    let told = Mutex::new(Vec::<Progress>::new());
    let watch = |progress: &Progress| {
        let mut told = told.lock().expect("nobody has panicked");
        told.push(progress.clone());
        let enough = |told: &Progress| !told.shortest_of.is_empty() && told.states > 20;
        if told.iter().any(enough) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = LabOptions::with_binary(LOCKSTEP.into());
    let bounds = Bounds { moves: 12, confirmed_within: Some(Duration::ZERO), ..Bounds::default() };
    let found = explore::explore(&scenario, &options, &bounds, &watch).await;
    let found = found.unwrap_or_else(|error| panic!("{error}"));
    assert!(!found.complete, "it was stopped as soon as something was told");
    let told = told.into_inner().expect("nobody has panicked");
    assert!(told.is_sorted_by_key(|told| told.states), "{told:?}");
    let last = told.last().expect("something was told");
    let layers: u64 = last.layers.iter().map(|layer| layer.states).sum();
    assert!(layers == last.states && last.layers.iter().any(|layer| layer.broken > 0), "{last:?}");
}

/// If time runs while moves are made, the order in which waits end depends on the machine. An order with the end of a
/// wait must be repeatable all the same.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_gone_through_again_where_a_wait_ends_later_than_it_did() {
    let lesson = |lab: &str, call: &str| {
        let steps = format!("    - look: {{ {call} }}\n    - wait: 6ms\n    - again: {{ {call} }}\n");
        format!(
            "{HEAD}lab: {lab}\nclients:\n  A: {{ runs: p }}\nprograms:\n  p:\n{steps}{ONLY}    claims:\n      \
             - that: moves('A.look') <= 1\nstory:\n  - finish: A\n"
        )
    };
    let order = || vec![Choice::Move { actor: ActorId(0) }; 2];
    let options = LabOptions::with_binary(LOCKSTEP.into());
    for (lab, call, goes) in [("zookeeper", "zk: exists /x", true), ("redis", "redis: GET x", false)] {
        let scenario = planned(&lesson(lab, call), "only");
        let mut racer = Racer::set_up(&scenario, &options).await.expect("a lab");
        let carried = racer.carry_out(order()).await;
        racer.tear_down().await;
        // If time stands still while moves are made, a wait has ended or it has not.
        let moves = carried.map(|carried| carried.moves).map_err(|error| error.to_string());
        assert_eq!(moves.is_ok(), goes, "{lab}: {moves:?}");
        assert!(moves.is_ok_and(|moves| moves == ["A.look", "A.again"]) == goes, "{lab}");
    }
}

/// What programs were answered in an order, with lists sorted.
fn answers(log: &Log) -> Vec<String> {
    let answers = log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Replied { label, reply, .. } => Some((label, &**reply)),
        _ => None,
    });
    let described = answers.map(|(label, reply)| match reply {
        Reply::Value(serde_json::Value::Array(names)) => {
            let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
            names.sort();
            format!("{label} {names:?}")
        }
        other => format!("{label} {other}"),
    });
    described.collect()
}

/// Orders with a crash are carried out one after another on the same servers. Each finds what it finds on new servers:
/// the node of a dead client lasts until its session ends, and nothing is left for the next order.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_after_a_crash_finds_the_servers_as_new_ones() {
    let scenario = planned(
        &format!(
            "{HEAD}lab: zookeeper\nsetup:\n  - zk: create /locks\nclients:\n  A: {{ runs: p }}\n  B: {{ runs: p }}\nprograms:\n  p:\n    \
             - node: {{ zk: create -e -s /locks/n- }}\n    - look: {{ zk: ls /locks }}\n    - wait: 15s\n    \
             - again: {{ zk: ls /locks }}\n{ONLY}    claims:\n      - that: moves('A.look') <= 1\nstory:\n  - finish: A\n"
        ),
        "only",
    );
    let moves = |n| Choice::Move { actor: ActorId(n) };
    let (a, b, crash) = (moves(0), moves(1), Choice::Inject(Fault::Crash { client: "B".to_owned() }));
    let orders = [
        vec![a.clone(), b.clone(), crash.clone(), a.clone(), Choice::Timer, a.clone()],
        vec![b.clone(), crash.clone(), a.clone(), a.clone(), Choice::Timer, a.clone()],
        vec![a.clone(), a.clone(), crash, Choice::Timer, a.clone()],
        vec![b.clone(), a.clone(), b, a.clone(), Choice::Timer, a],
    ];
    let options = LabOptions::with_binary(LOCKSTEP.into());
    let mut kept = Racer::set_up(&scenario, &options).await.expect("a lab");
    for order in orders {
        let again = kept.carry_out(order.clone()).await.unwrap_or_else(|error| panic!("{error}"));
        let mut fresh = Racer::set_up(&scenario, &options).await.expect("a lab");
        let once = fresh.carry_out(order).await.unwrap_or_else(|error| panic!("{error}"));
        fresh.tear_down().await;
        assert_eq!((answers(&again.log), again.moves.len()), (answers(&once.log), once.moves.len()));
        if again.log.events().iter().any(|event| matches!(event.kind, EventKind::Fault(_))) {
            let last = answers(&again.log).pop().expect("an answer");
            assert_eq!(last.matches("n-").count(), 1, "{last}: the session of B has ended");
        }
    }
    kept.tear_down().await;
}
