//! Exercises on real servers: their known answers are judged as declared.

use std::path::Path;

use crate::place::Place;

/// The answers of all exercises are judged elsewhere, before a change is merged, by a program built with optimizations.
#[test]
fn the_known_answers_of_an_exercise_are_judged_rightly() {
    let place = Place::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("kata/03-release-only-your-own.yaml");
    let judged = place.run(&["kata", "check", &file.display().to_string()]);
    assert_eq!(judged.code, Some(0), "{}{}", judged.out, judged.err);
    place.assert_nothing_left();
}

/// Two answers that fail in the same round, by orders that do different things.
#[test]
fn a_hint_is_for_what_the_failing_order_did() {
    let hint = |acquire: &str, release: &str| {
        let place = Place::new();
        place.write("mine.yaml", format!(
            "kata: take-the-lock\nprograms:\n  acquire:\n    - granted: {{ redis: \"SET lock ${{token}} NX PX {acquire}\" }}\n  \
             release:\n    - release: {{ redis: DEL lock }}\n{release}"
        ));
        let answers = ["en", "zh"]
            .map(|lang| place.run(&["kata", "hint", "mine.yaml", "--strength", "3", "--lang", lang]));
        answers.map(|answer| {
            assert_eq!(answer.code, Some(0), "{}", answer.err);
            answer.out
        })
    };
    let [short, short_zh] = hint("1000", "");
    assert!(short.contains("milliseconds") && short_zh.contains("毫秒"), "{short}{short_zh}");
    let [twice, twice_zh] = hint("${lease}", "    - again: { redis: DEL lock }\n");
    assert!(twice.contains("only in `release`") && twice_zh.contains("只在 `release`"), "{twice}{twice_zh}");
}
