//! Exercises on real servers: their known answers come out as they say.

use std::{fs, path::Path};

use crate::place::Place;

/// Judges the known answers of each third exercise, from one on: alone, a single test would keep all others waiting.
fn judges_known_answers(from: usize) {
    let place = Place::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kata");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    for file in files.iter().skip(from).step_by(3) {
        // Orders on ZooKeeper take seconds: they are judged when an exercise is written.
        if fs::read_to_string(file).expect("it can be read").contains("\nlab: zookeeper\n") {
            continue;
        }
        let judged = place.run(&["kata", "check", &file.display().to_string()]);
        assert_eq!(judged.code, Some(0), "{}:\n{}{}", file.display(), judged.out, judged.err);
    }
    place.assert_nothing_left();
}

#[test]
fn the_known_answers_of_every_third_exercise_from_the_first_are_judged_rightly() {
    judges_known_answers(0);
}

#[test]
fn the_known_answers_of_every_third_exercise_from_the_second_are_judged_rightly() {
    judges_known_answers(1);
}

#[test]
fn the_known_answers_of_every_third_exercise_from_the_third_are_judged_rightly() {
    judges_known_answers(2);
}

/// Two answers that fail in one round, by orders that do different things.
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
