//! Replies and contents of servers: too long ones, and lost ones.

use super::{brief, lockstep};
use crate::place::{NEW_LESSON, Place};

#[test]
fn a_lost_reply_is_the_same_in_programs_and_claims_since_format_2() {
    let place = Place::new();
    for (format, seen) in [(1, "try is none"), (2, "try == 'Lost' and reply == 'Lost'")] {
        let step = format!(
            "    - try: {{ redis: GET lock, allow: [Lost] }}\n    - if: {seen} and error == 'Lost'\n      then: [count: lost]\n    - holds: lock"
        );
        let lesson = NEW_LESSON
            .replacen("format: 1", &format!("format: {format}"), 1)
            .replacen("    - holds: lock", &step, 1)
            .replacen("lab: redis\n", "lab: masters\n", 1);
        let (head, _) = lesson.split_once("story:\n").expect("a story");
        let story = "story:\n  - move: A.acquire\n  - kill: redis1\n  - move: A.try\n";
        let head = head.replacen("that: A.release == 1", "that: A.try == 'Lost' and lost == 1", 1);
        place.write("lost.yaml", format!("{head}{story}"));
        let answer = place.run(&["--json", "run", "lost.yaml", "--variant", "blind-del"]);
        let ran = answer.json();
        let claims =
            ran.first().and_then(|ran| ran["claims"].as_array()).unwrap_or_else(|| panic!("{}", answer.err));
        let claim = claims.iter().find(|claim| claim["claim"] == "A.try == 'Lost' and lost == 1");
        assert_eq!(claim.map(|claim| &claim["holds"]), Some(&serde_json::Value::Bool(true)), "{claims:?}");
    }
}

#[test]
fn replies_that_are_too_long_are_a_located_message() {
    let place = Place::new();
    for (n, (operation, wanted)) in [
        ("{ redis: \"EVAL \\\"return string.rep('x', 100000000)\\\" 0\" }", "longer than 1 MiB"),
        ("{ redis: \"EVAL \\\"local t = {} for n = 1, 2000000 do t[n] = n end return t\\\" 0\" }", "longer than 1 MiB"),
        ("{ redis: \"EVAL \\\"redis.call('SET', 'big', string.rep('x', 3000000)) return redis.call('GET', 'big')\\\" 0\" }", "longer than 1 MiB"),
    ]
    .into_iter()
    .enumerate()
    {
        let file = format!("reply-{n}.yaml");
        let text = NEW_LESSON.replacen("acquire: { redis: \"SET lock ${token} NX PX ${lease}\", until: reply == 'OK', every: 200ms }", &format!("acquire: {operation}"), 1);
        assert_ne!(text, NEW_LESSON);
        place.write(&file, text);
        let answer = lockstep(&place, &["run", &file, "--variant", "blind-del"]);
        assert_eq!(answer.code, Some(2), "{file}: {}{}", brief(&answer.out), brief(&answer.err));
        assert!(answer.err.contains(&format!("{file}:")) && answer.err.contains(wanted), "{file}: {}", brief(&answer.err));
    }
    // Exploring uses connections of its own.
    let answer = lockstep(&place, &["explore", "reply-0.yaml", "--variant", "blind-del", "--max-moves", "3"]);
    assert!(answer.code != Some(0), "{}{}", brief(&answer.out), brief(&answer.err));
}

#[test]
fn keys_that_are_huge_are_looked_at_in_parts() {
    let place = Place::new();
    let script = "for n = 1, 150 do redis.call('RPUSH', 'list' .. n, string.rep('x', 500000), string.rep('y', 500000)) end \
                  redis.call('SET', string.rep('k', 1000000), 'v') return 1";
    let text = NEW_LESSON.replacen(
        "acquire: { redis: \"SET lock ${token} NX PX ${lease}\", until: reply == 'OK', every: 200ms }",
        &format!("acquire: {{ redis: \"EVAL \\\"{script}\\\" 0\" }}"),
        1,
    );
    assert_ne!(text, NEW_LESSON);
    let once = text.replacen("  - pass: ${lease}\n  - move: B.acquire\n", "", 1);
    assert_ne!(once, text);
    place.write("keys.yaml", once);
    let answer = lockstep(&place, &["run", "--json", "keys.yaml", "--variant", "blind-del", "--events"]);
    assert!(matches!(answer.code, Some(0 | 1)), "{}{}", brief(&answer.out), brief(&answer.err));
    assert!(answer.out.len() < 100 << 20, "{} bytes", answer.out.len());
}
