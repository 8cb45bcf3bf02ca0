//! Expressions, YAML and replies that are too long, too deep or too big are refused or bounded.

mod replies;
mod yaml;

use std::process::Command;

use crate::place::{Answer, LOCKSTEP, NEW_LESSON, Place};

/// The memory that a hostile file may make Lockstep use, in KiB of address space: 1.5 GiB.
const MEMORY: &str = "1572864";

/// Longer than any of these commands takes on a busy machine.
const SECONDS: &str = "60";

/// Runs `lockstep ARGS` with bounded memory to its end, which must not be a signal.
fn lockstep(place: &Place, args: &[&str]) -> Answer {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {MEMORY}; exec timeout -s ABRT {SECONDS} {LOCKSTEP} \"$@\"");
    command.args(["-c", &script, "sh"]).args(args);
    place.settle(&mut command);
    let answer = Answer::of(&command.output().expect("a shell starts"));
    // 124 and 134 are the codes of `timeout` and the shell for an end by a signal.
    assert!(
        matches!(answer.code, Some(0..=3)),
        "{args:?} ended with {:?}: {}",
        answer.code,
        brief(&answer.err)
    );
    assert!(!answer.err.contains("panicked"), "{args:?}: {}", brief(&answer.err));
    answer
}

fn brief(text: &str) -> String {
    text.chars().take(2_000).collect()
}

/// Expressions of the kinds that overflow the stack of a recursive parser, each with `n` parts.
fn deep(n: usize) -> Vec<String> {
    vec![
        format!("1{}", "+1".repeat(n)),
        format!("1{}", "*1".repeat(n)),
        format!("{}1", "not ".repeat(n)),
        format!("{}1", "- ".repeat(n)),
        format!("x{}", "[0]".repeat(n)),
        format!("x{}", "[::2]".repeat(n)),
        format!("x{}", ".y".repeat(n)),
        format!("'a'{}", "|upper".repeat(n)),
        format!("1{}", " is number".repeat(n)),
        format!("1{}", " and 1".repeat(n)),
        format!("1{}", " == 1".repeat(n)),
        format!("'a'{}", "~'a'".repeat(n)),
        format!("{}1", "1 if 0 else ".repeat(n)),
        format!("1{}", " if 1".repeat(n)),
        format!("{}1{}", "(".repeat(n), ")".repeat(n)),
        format!("{}1{}", "[".repeat(n), "]".repeat(n)),
        format!("{}1{}", "range(".repeat(n), ")".repeat(n)),
    ]
}

/// Short expressions that would take gigabytes.
const LARGE: [&str; 12] = [
    "'x' * 100000000 ~ 'x' * 100000000",
    "([[[0] * 1000] * 1000] * 1000)|string",
    "[[[0] * 9999] * 9999] * 9999 == [1]",
    "'a'|indent(100000000000, true)",
    "[1]|batch(100000000000, 1)|list",
    "[1]|slice(100000000000, 1)|list",
    "'%1000000000d'|format(1)",
    "'x'|replace('', 'y' * 9999)|replace('y', 'z' * 9999)|replace('z', 'x' * 9999)",
    "range(100000)|join('x' * 99999)",
    "range(100000)|map('replace', '', 'x' * 99999)|list",
    "[range(100000)|list, range(100000)|list]|sum(start=[])|map('string')|sum(start='')",
    "(range(99999)|list) in [range(99999)|list] * 99999",
];

/// Lessons with an expression in every place that can have one.
fn places(expression: &str) -> Vec<(&'static str, String)> {
    let quoted = format!("\"{}\"", expression.replace('\\', "\\\\").replace('"', "\\\""));
    let filled = format!("\"${{{}}}\"", expression.replace('\\', "\\\\").replace('"', "\\\""));
    let replace = |from: &str, to: String| {
        assert!(NEW_LESSON.contains(from), "the good lesson has no `{from}`");
        NEW_LESSON.replacen(from, &to, 1)
    };
    vec![
        ("let", replace("    - holds: lock", format!("    - let: {{ x: {quoted} }}\n    - holds: lock"))),
        ("until", replace("until: reply == 'OK'", format!("until: {quoted}"))),
        (
            "if",
            replace("    - holds: lock", format!("    - if: {quoted}\n      then: []\n    - holds: lock")),
        ),
        ("argument", replace("redis: DEL lock", format!("redis: {filled}"))),
        ("claim", replace("that: A.release == 1", format!("that: {quoted}"))),
        ("invariant", replace("never: deleted_by_another('lock') > 0", format!("never: {quoted}"))),
        (
            "say",
            replace(
                "en: A takes the lock. Its lease is ${lease|duration}, its work takes 5 s.",
                format!("en: {filled}"),
            ),
        ),
        ("pass", replace("pass: ${lease}", format!("pass: {filled}"))),
        ("clients", replace("A: { runs: worker }", format!("A: {{ runs: worker, processes: {filled} }}"))),
        ("goal", replace("goal: { en: Let two clients hold the lock.,", format!("goal: {{ en: {filled},"))),
    ]
}

#[test]
fn expressions_that_are_too_long_are_refused_wherever_they_stand() {
    let place = Place::new();
    let mut files: Vec<String> = Vec::new();
    for (n, expression) in deep(30_000).iter().enumerate() {
        // All kinds in one place, and one kind in all places.
        let wanted = if n == 0 { usize::MAX } else { 1 };
        for (where_, lesson) in places(expression).into_iter().skip(n % 7).take(wanted) {
            let name = format!("{n}-{where_}.yaml");
            place.write(&name, lesson);
            files.push(name);
        }
    }
    let mut args = vec!["check"];
    args.extend(files.iter().map(String::as_str));
    let answer = lockstep(&place, &args);
    assert_eq!(answer.code, Some(2), "{}", brief(&answer.err));
    for name in &files {
        // The file, a line and a column, and the reason.
        let said = answer.err.lines().find(|line| line.starts_with(&format!("{name}:")));
        let said = said.unwrap_or_else(|| panic!("nothing about {name}: {}", brief(&answer.err)));
        let mut parts = said[name.len() + 1..].splitn(3, ':');
        let number = |part: Option<&str>| part.and_then(|part| part.parse::<usize>().ok());
        assert!(number(parts.next()).is_some() && number(parts.next()).is_some(), "{}", brief(said));
        let bounds = ["at most 4096", "more than 8000", "at most 16384"];
        assert!(bounds.iter().any(|bound| said.contains(bound)), "{}", brief(said));
        assert!(said.len() < 500, "{}", brief(said));
    }
}

#[test]
fn what_is_short_enough_overflows_no_stack() {
    let place = Place::new();
    for n in [20, 60, 150, 600] {
        for (m, expression) in deep(n).iter().enumerate() {
            for (where_, lesson) in places(expression).into_iter().skip(m % 3).step_by(3) {
                place.write(
                    &format!("{n}-{m}-{where_}.yaml"),
                    lesson.replacen("id: my-lock", &format!("id: a{n}-{m}-{where_}"), 1),
                );
            }
        }
    }
    let directory = place.path().display().to_string();
    let answer = lockstep(&place, &["--lessons", &directory, "check"]);
    assert_eq!(answer.code, Some(2), "{}", brief(&answer.err));
    // A bad file does not affect the others.
    let listed = lockstep(&place, &["--lessons", &directory, "list"]);
    assert_eq!(listed.code, Some(0), "{}", brief(&listed.err));
    assert!(listed.out.contains("oversell"), "{}", brief(&listed.out));
}

#[test]
fn short_expressions_that_ask_for_gigabytes_are_bounded_at_check_and_at_run() {
    let place = Place::new();
    for (n, expression) in LARGE.iter().enumerate() {
        for (where_, lesson) in places(expression) {
            place.write(&format!("{n}-{where_}.yaml"), lesson);
        }
    }
    let mut args = vec!["check".to_owned()];
    let names = |n: usize| places("1").into_iter().map(move |(where_, _)| format!("{n}-{where_}.yaml"));
    args.extend((0..LARGE.len()).flat_map(names));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // Expressions that are evaluated when a lesson is planned are refused then; the others pass until the run.
    let answer = lockstep(&place, &args);
    assert_eq!(answer.code, Some(2), "{}", brief(&answer.err));
    for n in 0..LARGE.len() {
        for planned in ["clients", "goal"] {
            assert!(
                answer.err.contains(&format!("{n}-{planned}.yaml:")),
                "{n}-{planned}: {}",
                brief(&answer.err)
            );
        }
    }
    for n in 0..LARGE.len() {
        let where_ = ["let", "until", "if", "argument", "say"][n % 5];
        let file = format!("{n}-{where_}.yaml");
        let answer = lockstep(&place, &["run", &file, "--variant", "blind-del"]);
        assert_eq!(answer.code, Some(2), "{file}: {}{}", brief(&answer.out), brief(&answer.err));
        assert!(answer.err.contains(&format!("{file}:")), "{file}: {}", brief(&answer.err));
    }
    // A claim that cannot be evaluated does not hold.
    let answer = lockstep(&place, &["run", "0-claim.yaml", "--variant", "blind-del"]);
    assert_eq!(answer.code, Some(1), "{}{}", brief(&answer.out), brief(&answer.err));
    place.assert_nothing_left();
}

#[test]
fn the_command_line_has_the_same_bounds() {
    let place = Place::new();
    for expression in &deep(20_000)[..4] {
        let answer = lockstep(&place, &["explore", "oversell", "--never", expression]);
        assert_eq!(answer.code, Some(2), "{}", brief(&answer.err));
        assert!(answer.err.len() < 1_000, "{}", brief(&answer.err));
    }
    let answer = lockstep(&place, &["explore", "oversell", "--never", LARGE[0], "--max-moves", "2"]);
    assert!(answer.code != Some(0), "{}{}", brief(&answer.out), brief(&answer.err));
    let place = Place::new();
    place.write("lesson.yaml", NEW_LESSON);
    let long = format!("lease=${{{}}}", "1+".repeat(20_000));
    let answer = lockstep(&place, &["run", "lesson.yaml", "--set", &long]);
    assert_eq!(answer.code, Some(2), "{}", brief(&answer.err));
}

#[test]
fn values_that_double_at_each_round_are_refused_in_their_place() {
    let place = Place::new();
    for (n, step) in ["x ~ x", "[x, x]", "[x]", "x|list + x|list", "x|string + x|string"].iter().enumerate() {
        let steps = format!(
            "    - let: {{ x: \"'xxxxxxxx'\" }}\n    - repeat:\n        - let: {{ x: \"{step}\" }}\n      times: 100000\n    - holds: lock"
        );
        let file = format!("double-{n}.yaml");
        place.write(&file, NEW_LESSON.replacen("    - holds: lock", &steps, 1));
        let answer = lockstep(&place, &["run", &file, "--variant", "blind-del"]);
        assert_eq!(answer.code, Some(2), "{step}: {}{}", brief(&answer.out), brief(&answer.err));
        assert!(answer.err.contains(&format!("{file}:")), "{}", brief(&answer.err));
    }
}

#[test]
fn unknown_filters_and_tests_are_mistakes_wherever_they_stand() {
    let place = Place::new();
    for (expression, wanted) in
        [("lease|seconds", "no filter `seconds`"), ("lease is reasonable", "no test `reasonable`")]
    {
        for (where_, lesson) in places(expression) {
            let name = format!("{where_}.yaml");
            place.write(&name, lesson);
            let answer = place.run(&["check", &name]);
            assert_eq!(answer.code, Some(2), "{name}: {}", answer.err);
            assert!(
                answer.err.starts_with(&format!("{name}:")) && answer.err.contains(wanted),
                "{name}: {}",
                answer.err
            );
        }
    }
    for field in [
        "title: { en: My lock, zh: 我的锁 }",
        "summary: { en: A lease that ends before the work does,",
        "title: { en: \"Release with DEL\",",
        "en: A deleted a lock that was B's by then.",
    ] {
        let from = field.split_once("en: ").expect("a text").1.trim_end_matches(',');
        let words = from.split(", zh").next().expect("a text");
        let broken = field.replacen(words, "\"${lease|seconds}\"", 1);
        place.write("text.yaml", NEW_LESSON.replacen(field, &broken, 1));
        let answer = place.run(&["check", "text.yaml"]);
        assert_eq!(answer.code, Some(2), "{field}: {}", answer.err);
        assert!(answer.err.contains("no filter `seconds`"), "{field}: {}", answer.err);
    }
}
