//! How fast orders are explored, on real servers, without the time for starting them:
//!
//! - by orders: two clients of six Redis moves each, no order left out, compared with one connection that sends the
//!   same commands, with the same resets, one after another, in the same run; including the estimate of the number of
//!   orders, about a fiftieth of the whole;
//! - by states: how many transitions a second one worker makes, each client told apart, so that there are many.
//!
//! The result depends mostly on how fast the system switches between two processes, which varies with the load.
//! `taskset -c 0` keeps everything on one core, and makes the ratios of one worker stable.

#![allow(clippy::print_stdout, reason = "figures for whoever runs it")]

use std::{
    ops::ControlFlow,
    path::PathBuf,
    time::{Duration, Instant},
};

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use lockstep::{
    client::RespConnection,
    lab::{Endpoint, Lab, LabOptions},
    lesson::{
        LabKind, Params, Scenario,
        library::{carried, from_text},
    },
    run::explore::{Bounds, Explored, Failing, MayFail, explore},
};
use tokio::runtime::Runtime;

const LESSON: &str = r"
format: 1
id: measured
track: redis
title: { en: Measured, zh: 测 }
summary: { en: Measured, zh: 测 }
intro: { en: Measured, zh: 测 }
minutes: 1
lab: redis
setup:
  - redis: SET stock 10
clients:
  A: { runs: buyer }
  B: { runs: buyer }
programs:
  buyer:
    - check: { redis: GET stock }
    - buy: { redis: DECR stock }
    - note: { redis: 'RPUSH buyers ${self}' }
    - check2: { redis: GET stock }
    - buy2: { redis: DECR stock }
    - note2: { redis: 'RPUSH buyers ${self}' }
    - count: sold
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: shown
    lesson: { en: Measured, zh: 测 }
    claims:
      - that: sold == 2
story:
  - finish: A
";

/// Rounds of all orders in one measurement.
const ROUNDS: u32 = 2;
/// The number of orders of two clients with six moves each.
const ORDERS: u32 = 924;

fn options() -> LabOptions {
    LabOptions::with_binary(PathBuf::from(env!("CARGO_BIN_EXE_lockstep")))
}

fn scenario() -> Scenario {
    let loaded = from_text("measured.yaml", LESSON).expect("the lesson is good");
    Scenario::plan(&loaded, "only", &Params::new()).expect("it is good")
}

/// All orders of the given numbers of moves of two clients.
fn orders(left: [usize; 2], so_far: &[usize], found: &mut Vec<Vec<usize>>) {
    if left == [0, 0] {
        found.push(so_far.to_vec());
    }
    for client in 0..2 {
        if left[client] > 0 {
            let mut rest = left;
            rest[client] -= 1;
            orders(rest, &[so_far, &[client]].concat(), found);
        }
    }
}

/// One connection: a reset, then twelve commands, each sent once the one before is answered.
fn one_connection(runtime: &Runtime, rounds: u32) -> Duration {
    let lab = runtime.block_on(Lab::start(LabKind::Redis, &options())).expect("a lab");
    let Some(Endpoint::Unix(socket)) = lab.endpoint("redis") else { panic!("no socket") };
    let mut resp = RespConnection::open(&socket.display().to_string(), None).expect("connects");
    let mut all = Vec::new();
    orders([6, 6], &[], &mut all);
    let moves = |client: usize| {
        let name = ["A", "B"][client];
        [vec!["GET", "stock"], vec!["DECR", "stock"], vec!["RPUSH", "buyers", name]]
    };
    let began = Instant::now();
    for _ in 0..rounds {
        for order in &all {
            resp.push(["FLUSHALL"]);
            resp.push(["SET", "stock", "10"]);
            resp.ask().expect("answers");
            let mut at = [0; 2];
            for client in order {
                resp.ask_one(&moves(*client)[at[*client] % 3]).expect("answers");
                at[*client] += 1;
            }
        }
    }
    let took = began.elapsed();
    runtime.block_on(lab.shutdown());
    took
}

fn explored(runtime: &Runtime, share: bool, workers: usize, rounds: u32) -> Duration {
    let bounds = Bounds { prune: false, share, workers, ..Bounds::default() };
    let search = || {
        let (scenario, options) = (scenario(), options());
        let found = explore(&scenario, &options, &bounds, &|_| ControlFlow::Continue(()));
        let found = runtime.block_on(found).expect("explores");
        assert_eq!(found.tried, u64::from(ORDERS));
        found.searching
    };
    (0..rounds).map(|_| search()).sum()
}

fn rate(took: Duration) -> f64 {
    f64::from(ROUNDS * ORDERS) / took.as_secs_f64()
}

fn median(mut measured: Vec<f64>) -> f64 {
    measured.sort_by(f64::total_cmp);
    measured[measured.len() / 2]
}

fn explores(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let mut group = criterion.benchmark_group("2 clients x 6 moves, 924 orders, none left out");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.bench_function("one connection, one after another", |bencher| {
        bencher.iter_custom(|rounds| one_connection(&runtime, u32::try_from(rounds).unwrap_or(u32::MAX)));
    });
    for (name, share, workers) in [
        ("explored by one worker, nothing shared", false, 1),
        ("explored by one worker, beginnings shared", true, 1),
        ("explored by two workers, beginnings shared", true, 2),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|rounds| {
                explored(&runtime, share, workers, u32::try_from(rounds).unwrap_or(u32::MAX))
            });
        });
    }
    group.finish();
    // Alternating, so that other load on the machine affects all of them alike.
    let mut rates = [const { Vec::new() }; 4];
    for _ in 0..7 {
        rates[0].push(rate(one_connection(&runtime, ROUNDS)));
        rates[1].push(rate(explored(&runtime, false, 1, ROUNDS)));
        rates[2].push(rate(explored(&runtime, true, 1, ROUNDS)));
        rates[3].push(rate(explored(&runtime, true, 2, ROUNDS)));
    }
    let [connection, plain, shared, both] = rates.map(median);
    println!("orders a second, medians: one connection {connection:.0}");
    println!("  one worker, nothing shared      {plain:.0}, ratio {:.2}", plain / connection);
    println!("  one worker, beginnings shared   {shared:.0}, ratio {:.2}", shared / connection);
    println!("  two workers, beginnings shared  {both:.0}, ratio {:.2}", both / connection);
}

/// Explores a variant of a carried lesson by states.
fn by_states(runtime: &Runtime, scenario: &Scenario, faults: &[MayFail]) -> Explored {
    let bounds = Bounds { symmetry: false, workers: 1, faults: faults.to_vec(), ..Bounds::default() };
    let options = options();
    let found = explore(scenario, &options, &bounds, &|_| ControlFlow::Continue(()));
    let found = runtime.block_on(found).expect("explores");
    assert!(found.complete && found.space.transitions > 0);
    found
}

fn makes_transitions(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let mut group = criterion.benchmark_group("transitions of one worker");
    // One search of the first takes many seconds.
    group.sample_size(10).sampling_mode(SamplingMode::Flat).warm_up_time(Duration::from_millis(1));
    let freeze = MayFail { client: Some("A".to_owned()), ..Failing::Freeze.anywhere() };
    for (name, lesson, variant, faults) in [
        ("oversell, ten buyers", "oversell", "check-then-decrement", Vec::new()),
        ("owner-check, a freeze of A", "unlock-someone-elses-lock", "owner-check", vec![freeze]),
    ] {
        let loaded = carried(lesson).expect("a carried lesson");
        let scenario = Scenario::plan(&loaded, variant, &Params::new()).expect("it is good");
        let transitions = by_states(&runtime, &scenario, &faults).space.transitions;
        group.throughput(Throughput::Elements(transitions));
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|rounds| {
                (0..rounds).map(|_| by_states(&runtime, &scenario, &faults).searching).sum()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, explores, makes_transitions);
criterion_main!(benches);
