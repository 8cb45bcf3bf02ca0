//! `lockstep explore` on a real server: exact counts, what is found and what is not, and what is refused.

mod common;

use common::{Answer, Place};

/// A lesson of clients that all run one program.
fn lesson(clients: &[&str], program: &str) -> String {
    let cast: Vec<String> = clients
        .iter()
        .map(|name| format!("  {name}: {{ runs: p }}\n"))
        .collect();
    format!(
        r"
format: 1
id: tried
track: redis
title: {{ en: Tried, zh: 试 }}
summary: {{ en: Tried, zh: 试 }}
intro: {{ en: Tried, zh: 试 }}
minutes: 1
lab: redis
params: {{ stock: 1 }}
setup:
  - redis: SET stock 1
clients:
{}programs:
  p:
{program}
variants:
  only:
    title: {{ en: Only, zh: 唯一 }}
    expect: shown
    lesson: {{ en: Tried, zh: 试 }}
    claims:
      - that: value('stock')|int <= 1
story:
  - finish: A
",
        cast.concat()
    )
}

/// The buyer that every introduction shows: look, then act.
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
    assert_eq!(place.left_behind(), Vec::<std::path::PathBuf>::new());
    assert_eq!(place.processes(), Vec::<String>::new());
    answer
}

#[test]
fn every_order_is_tried_once() {
    for (clients, k, orders) in [
        (&["A", "B"][..], 3, 20),
        (&["A", "B", "C"], 2, 90),
        (&["A"], 4, 1),
    ] {
        let answer = explored(&lesson(clients, &steps(k)), &["--moves", "20"]);
        let report = answer.json().pop().unwrap_or_else(|| panic!("{}", answer.err));
        assert_eq!(report["tried"], orders, "{report}");
        assert_eq!(report["cut"], 0, "{report}");
        assert_eq!(report["violations"], 0, "{report}");
    }
}

/// By hand: A may be over before B looks, or B before A looks; then one is sold. In the other orders both look
/// before anybody buys: two orders of looking, two of buying.
#[test]
fn get_then_decr_breaks_in_four_of_six_orders() {
    let text = lesson(&["A", "B"], GET_THEN_DECR);
    let args = ["--never", "sold > stock"];
    let answer = explored(&text, &args);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let report = answer.json().remove(0);
    assert_eq!(report["tried"], 6, "{report}");
    assert_eq!(report["violations"], 4, "{report}");
    assert_eq!(
        report["shortest"],
        serde_json::json!(["A.check", "B.check", "A.buy", "B.buy"]),
        "{report}"
    );
    let expecting = explored(&text, &[&args[..], &["--expect-none"]].concat());
    assert_eq!(expecting.code, Some(1), "{}", expecting.out);
}

#[test]
fn compare_and_delete_is_not_broken_by_any_order() {
    let program = "
    - use: acquire_safely
      with: { key: lock, lease: 3000, every: 2s }
    - work: 2s
    - use: release_if_owner
      with: { key: lock }";
    let answer = explored(&lesson(&["A", "B"], program), &["--moves", "8", "--expect-none"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    let report = answer.json().remove(0);
    assert!(report["tried"].as_u64() > Some(1), "{report}");

    // Whoever works for longer than the lease is another matter, and no script cures it.
    let slow = program.replace("work: 2s", "work: 10s");
    let answer = explored(&lesson(&["A", "B"], &slow), &["--moves", "8", "--expect-none"]);
    assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
}

#[test]
fn a_bound_cuts_orders_and_what_takes_more_than_a_day_is_refused() {
    let six = lesson(&["A", "B", "C"], &steps(2));
    // All sequences of three of the three clients, but those of one client alone.
    let report = explored(&six, &["--moves", "3"]).json().remove(0);
    assert_eq!(report["tried"], 27 - 3, "{report}");
    assert_eq!(report["cut"], 27 - 3, "{report}");

    let many = lesson(&["A", "B", "C", "D", "E"], &steps(8));
    let answer = explored(&many, &["--moves", "40"]);
    assert_eq!(answer.code, Some(2), "{}", answer.out);
    assert!(
        answer.err.contains("days") && answer.err.contains("--moves"),
        "{}",
        answer.err
    );
}

#[test]
fn what_cannot_be_explored_is_refused() {
    let place = Place::new();
    for args in [
        &["explore", "zk-herd"][..],
        &["explore", "oversell", "--recorded"],
        &["explore", "oversell", "--never", "sold >"],
    ] {
        let answer = place.run(args);
        assert_eq!(answer.code, Some(2), "{args:?}\n{}", answer.out);
        assert!(!answer.err.is_empty(), "{args:?}");
    }
}
