//! Exercises on real servers: their known answers are judged as declared.

use std::{path::Path, sync::Arc};

use lockstep::{
    lab::{
        LabOptions,
        ready::{ReadyLabs, Reuse},
    },
    lesson::{Loaded, library::exercises},
    log::EventKind,
    run::kata::{Round, judge},
};

use crate::place::{LOCKSTEP, Place};

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

/// With one client nothing comes between two moves, and a round that only shows too little has no order that goes wrong.
#[test]
fn every_round_that_fails_says_why() {
    let place = Place::new();
    let answers = [
        (
            "kata: sell-one\nprograms:\n  buy:\n    - take: { redis: DECR stock }\n    - let: { bought: take == 1 }\n",
            "DECR stock",
        ),
        ("kata: release-only-your-own\nprograms: { release: [] }\n", "SET lock"),
    ];
    for (answer, last) in answers {
        place.write("mine.yaml", answer);
        let judged = place.run(&["kata", "check", "mine.yaml", "--json"]);
        assert_eq!(judged.code, Some(1), "{}", judged.err);
        let rounds = judged.json().remove(0)["rounds"].clone();
        let failed = rounds.as_array().and_then(|rounds| rounds.last()).expect("a round").clone();
        let why = failed["why"].as_str().unwrap_or_else(|| panic!("{failed}"));
        assert!(why.starts_with("No other client is there") && why.contains(last), "{why}");
    }
}

/// What a learner sees of a judgement: the rounds, and of the order that goes wrong every reply and everything that the
/// server held, with the numbers that ZooKeeper has given.
fn seen(rounds: &[Round]) -> Vec<String> {
    let each = rounds.iter().map(|round| {
        let failure = round.failure.as_ref().map(|failure| {
            let order = failure.order.as_ref().expect("the order is shown");
            let events = order.log.events().iter().map(|event| &event.kind);
            // How far a wait goes beyond its end depends on the machine.
            let moves = order.moves.iter().map(|words| if words.starts_with('+') { "+" } else { words });
            let moves = moves.collect::<Vec<_>>();
            let answers =
                events.filter(|kind| matches!(kind, EventKind::Replied { .. } | EventKind::State(_)));
            let why = failure.why.as_ref().map(|why| &why.en);
            format!(
                "{:?} {} {moves:?} {why:?} {:#?}",
                failure.kind,
                failure.says.en,
                answers.collect::<Vec<_>>()
            )
        });
        let text = format!("{} {} {:?} {failure:#?}", round.scenario.variant, round.orders, round.cut);
        without_numbers(&text)
    });
    each.collect()
}

/// Times of the calendar and sessions differ between any two servers, and are the only numbers of so many digits. New
/// servers number what they are sent with two or three, and a session that ends a moment later moves them; the numbers of
/// a used one are larger.
fn without_numbers(text: &str) -> String {
    let digits = |part: &str| part.bytes().filter(u8::is_ascii_digit).count();
    let parts = text.split_inclusive(|c: char| !c.is_ascii_digit());
    parts.map(|part| if matches!(digits(part), 2 | 3 | 13..) { "…" } else { part }).collect()
}

/// A known answer in place of the hole of an exercise.
fn answered(exercise: &str, answer: &str) -> Arc<Loaded> {
    let all = exercises().expect("the exercises are good");
    let exercise = all.iter().find(|loaded| loaded.lesson.id == exercise).expect("there is one");
    let known = exercise.known_answers();
    let (text, _) = known.iter().find(|(text, _)| text.file.ends_with(answer)).expect("there is one");
    exercise.with_answer(text).expect("it is good")
}

/// Servers that rounds and judgements share are, to all that is seen, new ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_judgement_on_a_used_lab_is_that_on_a_new_one() {
    let options = LabOptions::with_binary(LOCKSTEP.into());
    let labs = ReadyLabs::default();
    let on_used = LabOptions { reuse: Some(Reuse::Any(labs.clone())), ..options.clone() };
    // Each goes wrong in another way, in another round.
    for answer in ["kata.wrong.first-of-all", "kata.wrong.waits-for-ever"] {
        let answered = answered("watch-one-not-all", answer);
        let judged = async |options: &LabOptions| {
            let rounds = Box::pin(judge(&answered, options, &|_| {}))
                .await
                .unwrap_or_else(|error| panic!("{answer}: {error}"));
            assert!(rounds.last().is_some_and(|round| round.failure.is_some()), "{answer}");
            seen(&rounds)
        };
        let expected = judged(&options).await;
        assert_eq!(judged(&on_used).await, expected, "{answer}");
        let round = answered.rounds().expect("it is good").swap_remove(0);
        labs.prepare(round.lab(), &round.settings(), &options);
        assert_eq!(judged(&on_used).await, expected, "{answer}, with a lab that was started before");
    }
}
