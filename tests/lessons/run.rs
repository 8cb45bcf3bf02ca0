//! `lockstep run` on real servers: claims are proved, and nothing is left. A step of `.ci/run` checks that every
//! variant of every lesson proves its own claims.

use crate::place::{NEW_LESSON, Place};

/// Runs and asserts that every claim holds; returns the reports.
fn proved(args: &[&str]) -> Vec<serde_json::Value> {
    let place = Place::new();
    let answer = place.run(&[&["run", "--json"], args].concat());
    assert_eq!(answer.code, Some(0), "{args:?}\n{}\n{}", answer.out, answer.err);
    place.assert_nothing_left();
    let reports = answer.json();
    for report in &reports {
        assert!(matches!(report["verdict"].as_str(), Some("shown" | "prevented")), "{report}");
        assert_eq!(report["clock"], "controlled", "the lesson clock works on this machine");
    }
    reports
}

fn observed(report: &serde_json::Value, claim: &str) -> String {
    let claims = report["claims"].as_array().expect("claims");
    let found = claims.iter().find(|known| known["claim"] == claim);
    found.unwrap_or_else(|| panic!("no claim {claim} in {report}"))["observed"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn ten_buyers_oversell_one_item_as_counted_by_hand() {
    let reports = proved(&["oversell"]);
    let by_variant = |name: &str| reports.iter().find(|report| report["variant"] == name).expect("ran");
    let check = by_variant("check-then-decrement");
    assert_eq!(observed(check, "sold == buyers"), "10");
    assert_eq!(observed(check, "value('stock')|int == stock - buyers"), "-9");
    assert_eq!(observed(by_variant("lost-update"), "value('stock')|int == stock - 1"), "0");
    assert_eq!(observed(by_variant("local-lock"), "value('stock')|int == stock - 3"), "-2");
}

#[test]
fn two_buyers_are_enough_to_oversell() {
    let reports = proved(&["oversell", "--set", "buyers=2"]);
    assert_eq!(observed(&reports[0], "sold == buyers"), "2");
}

#[test]
fn the_herd_at_two_at_three_and_at_two_hundred() {
    for (clients, woken) in [("clients=2", "1"), ("clients=3", "2"), ("clients=200", "199")] {
        let reports = proved(&["zk-herd", "--set", clients]);
        let server = "metric_by('zk_sum_node_deleted_watch_count', 'A.release')";
        assert_eq!(observed(&reports[0], "woken_by('A.release') == clients - 1"), woken);
        assert_eq!(observed(&reports[0], &format!("{server} == clients - 1")), woken, "the server agrees");
        assert_eq!(observed(&reports[1], "woken_by('A.release') == 1"), "1");
        assert_eq!(observed(&reports[1], &format!("{server} == 1")), "1", "the server agrees");
    }
}

#[test]
fn a_lesson_whose_failure_does_not_happen_fails_loudly() {
    let place = Place::new();
    let lesson = NEW_LESSON.replace("that: A.release == 1", "that: A.release == 0");
    place.write("lesson.yaml", lesson);
    let answer = place.run(&["run", "lesson.yaml", "--variant", "blind-del"]);
    assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
    assert!(
        answer.out.contains("NOT SHOWN") && answer.out.contains("A.release == 0: observed 1, expected 0"),
        "{}",
        answer.out
    );
}

#[test]
fn a_story_that_cannot_go_on_says_where_and_why() {
    let place = Place::new();
    let lesson = NEW_LESSON;
    let stories = [
        ("- move: B.acquire\n", "- move: B.release\n", "the next move of B is `acquire`"),
        ("  - move: A.release", "  - move: A.release\n  - move: A.release", "the program of A is over"),
        ("  - pass: ${lease}", "  - crash: A\n  - crash: A", "dead already"),
        ("  - pass: ${lease}", "  - thaw: A", "not frozen"),
        ("  - pass: ${lease}", "  - cut: A->nowhere", "unknown server `nowhere`"),
        ("redis: DEL lock", "redis: INCR lock", "ERR value is not an integer"),
    ];
    for (from, to, why) in stories {
        place.write("lesson.yaml", lesson.replacen(from, to, 1));
        let answer = place.run(&["run", "lesson.yaml", "--variant", "blind-del"]);
        assert_eq!(answer.code, Some(2), "{to}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains("lesson.yaml:") && answer.err.contains(why), "{to}: {}", answer.err);
        place.assert_nothing_left();
    }
}

#[test]
fn each_of_several_variants_that_cannot_go_on_is_named_once() {
    let place = Place::new();
    place.write("lesson.yaml", NEW_LESSON.replacen("- move: B.acquire\n", "- move: B.release\n", 1));
    let answer = place.run(&["run", "lesson.yaml"]);
    assert_eq!(answer.code, Some(2), "{}{}", answer.out, answer.err);
    let objects = place.run(&["run", "lesson.yaml", "--json"]).json();
    for (n, variant) in ["blind-del", "owner-check"].iter().enumerate() {
        let named = format!("in the variant `{variant}`, the story moves B.release");
        assert_eq!(answer.err.matches(&named).count(), 1, "{}", answer.err);
        assert_eq!(objects[n]["variant"], *variant);
        assert!(objects[n]["error"].as_str().is_some_and(|why| why.contains(&named)), "{:?}", objects[n]);
    }
    place.assert_nothing_left();
}

#[test]
fn questions_are_asked_decided_and_not_waited_for() {
    const ASK: &str = "  - ask:
      q: { en: \"B asks after ${lease|duration}?\", zh: B 呢？ }
      choices:
        - { says: { en: gets it, zh: 拿到 }, right: B.acquire == 'OK', why: { en: no, zh: 不 } }
        - { says: { en: nil, zh: nil }, right: B.acquire == none, why: { en: no, zh: 不 } }
      after: 2
";
    const PASS: &str = "  - pass: ${lease}\n";
    let place = Place::new();
    let lesson = |ask: &str| NEW_LESSON.replacen(PASS, &format!("{ask}{PASS}"), 1);
    place.write("lesson.yaml", lesson(ASK));
    let answer = place.run(&["run", "lesson.yaml", "--variant", "blind-del", "--json", "--events"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let report = answer.json();
    let events = report[0]["events"].as_array().expect("events");
    let at = |kind: &str| events.iter().position(|event| event["event"] == kind).expect(kind);
    let (asked, decided) = (&events[at("asked")], &events[at("decided")]);
    assert_eq!(asked["q"]["en"], "B asks after 3 s?");
    assert_eq!(asked["choices"][1]["says"]["zh"], "nil");
    assert_eq!(events[at("asked") + 1]["stop"], "question");
    assert_eq!((&decided["item"], &decided["right"]), (&asked["item"], &serde_json::json!([0])));
    // After two steps, and before the second one's stop.
    let passed = events.iter().position(|event| event["stop"] == "passed").expect("passed");
    let stops = events[at("decided")..].iter().find_map(|event| event["stop"].as_str());
    assert!(at("decided") > passed && stops == Some("move"), "{events:#?}");

    // If no choice came true, the lesson is wrong and says so.
    for (from, to, why) in [
        ("B.acquire == 'OK'", "B.acquire == 'NO'", "has no right answer"),
        ("B.acquire == 'OK'", "woken_by('B.release') > 0", "`B.release` never moved"),
    ] {
        place.write("lesson.yaml", lesson(&ASK.replace(from, to)));
        let answer = place.run(&["run", "lesson.yaml", "--variant", "blind-del"]);
        assert_eq!(answer.code, Some(2), "{}{}", answer.out, answer.err);
        assert!(answer.err.contains("lesson.yaml:") && answer.err.contains(why), "{}", answer.err);
        place.assert_nothing_left();
    }
}

#[test]
fn on_the_wall_clock_a_lesson_proves_the_same() {
    let place = Place::new();
    let answer =
        place.run(&["run", "oversell", "--wall-clock", "--json", "--variant", "check-then-decrement"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert_eq!(answer.json()[0]["clock"], "wall");
}

#[test]
fn the_events_of_a_run_can_be_had() {
    let reports = proved(&["oversell", "--variant", "atomic-script", "--events"]);
    let events = reports[0]["events"].as_array().expect("events");
    assert_eq!(events[0]["event"], "lab_ready");
    assert!(events.iter().any(|event| event["wire"] == "EVAL sell_one 1 stock"), "{events:?}");
}

#[test]
fn a_missing_server_is_named_with_the_command_that_mends_it() {
    let place = Place::new();
    let mut command = place.command(&["run", "oversell"]);
    let output =
        command.env("LOCKSTEP_REDIS_SERVER", "/nowhere/redis-server").output().expect("lockstep starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("redis-server") && error.contains("lockstep doctor --install"), "{error}");
}

#[test]
fn unknown_parameters_and_variants_are_refused_before_a_server_starts() {
    let place = Place::new();
    for (args, words) in [
        (["run", "oversell", "--set", "buyer=3"], "did you mean `buyers`?"),
        (["run", "oversell", "--variant", "atomic"], "did you mean `atomic-script`?"),
        (["run", "oversell", "--set", "buyers"], "NAME=VALUE"),
        (["run", "oversell", "--set", "buyers=1000000"], "out of bounds"),
    ] {
        let answer = place.run(&args);
        assert_eq!(answer.code, Some(2), "{args:?} {}{}", answer.out, answer.err);
        assert!(answer.err.contains(words), "{args:?} {}", answer.err);
    }
}

#[test]
fn a_run_is_told_in_chinese_with_its_evidence() {
    let place = Place::new();
    place.write("lesson.yaml", NEW_LESSON);
    let answer = place.run(&["run", "lesson.yaml", "--variant", "blind-del", "--lang", "zh"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    for words in
        ["故障已重现", "✓ A 的 DEL 删掉了 B 的锁。", "A.release == 1：实际 1", "A 的 DEL lock 返回 1"]
    {
        assert!(answer.out.contains(words), "{words}: {}", answer.out);
    }
    let answer = place.run(&["run", "nothing-like-it", "--lang", "zh"]);
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("没有名为 `nothing-like-it` 的课程"), "{}", answer.err);
}
