//! YAML that nests or repeats, and large files of small parts.

use std::{fmt::Write, time::Duration};

use super::{brief, lockstep};
use crate::place::{NEW_LESSON, Place};

/// Numbered pieces of text.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().concat()
}

#[test]
fn yaml_that_grows_or_nests_is_refused_in_its_place() {
    let place = Place::new();
    let n = 1_000_000;
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let _ = writeln!(bomb, "a{n}: &a{n} [{}]", [format!("*a{}", n - 1).as_str(); 10].join(", "));
    }
    let steps: String = lines(4_000, |n| format!("  - a{n}: {{ redis: GET a }}\n"));
    let mut programs = format!("programs:\n  p: &p\n{}", steps.replace("  - ", "    - "));
    for n in 0..90 {
        let _ = writeln!(programs, "  p{n}: *p");
    }
    let wide: String = lines(80_000, |n| format!("k{n}: 1\n"));
    let files = [
        ("flow.yaml", "[".repeat(n)),
        ("flow-map.yaml", "{a: ".repeat(n / 4)),
        ("flow-pairs.yaml", "[{".repeat(n / 2)),
        ("closed.yaml", format!("{}{}", "[".repeat(n / 2), "]".repeat(n / 2))),
        ("block.yaml", "- ".repeat(n / 2)),
        ("keys.yaml", "? ".repeat(n / 2)),
        ("indented.yaml", lines(1_400, |n| format!("{}a:\n", " ".repeat(n)))),
        ("aliases.yaml", bomb),
        ("programs.yaml", format!("{NEW_LESSON}\n{programs}")),
        ("anchors.yaml", "- &a x\n- *a\n".repeat(n / 12)),
        ("tags.yaml", "!a ".repeat(n / 3)),
        ("key.yaml", format!("{}: 1", "k".repeat(n))),
        ("text.yaml", format!("id: {}", "k ".repeat(n / 2))),
        ("quoted.yaml", format!("id: \"{}", "\\n".repeat(n / 2))),
        ("lines.yaml", "\n".repeat(n)),
        ("documents.yaml", "---\n".repeat(n / 4)),
        ("comment.yaml", format!("#{}", "# ".repeat(n / 2 - 1))),
        ("colons.yaml", ": ".repeat(n / 2)),
        ("wide.yaml", wide),
        ("large.yaml", "x".repeat(2 * n)),
    ];
    let slow = Duration::from_secs(30);
    for (name, text) in files {
        place.write(name, text);
        let began = std::time::Instant::now();
        let answer = lockstep(&place, &["check", name]);
        println!("{name}: {:?}", began.elapsed());
        assert_eq!(answer.code, Some(2), "{name}: {}", brief(&answer.err));
        assert!(answer.err.contains(name) && answer.err.len() < 4_000, "{name}: {}", brief(&answer.err));
        assert!(began.elapsed() < slow, "{name} took {:?}", began.elapsed());
    }
    let directory = place.path().display().to_string();
    let answer = lockstep(&place, &["--lessons", &directory, "list"]);
    assert_eq!(answer.code, Some(2), "{}", brief(&answer.err));
    assert!(answer.out.contains("oversell"), "{}", brief(&answer.out));
}

#[test]
fn a_file_with_room_for_many_small_things_is_bounded_too() {
    let place = Place::new();
    let texts = |count: usize| "${1 + 1}".repeat(count);
    let many_steps: String = lines(12_000, |n| format!("    - let: {{ x{n}: 1 + 1 }}\n"));
    let recipes: String = lines(7, |n| {
        let uses =
            if n == 6 { "    - let: { x: 1 }\n".to_owned() } else { format!("    - use: r{}\n", n + 1) };
        format!("  r{n}:\n{}", uses.repeat(30))
    });
    let story: String = lines(900, |_| format!("  - say: {{ en: \"{0}\", zh: \"{0}\" }}\n", texts(60)));
    let heavy = "range(90000)|list|length";
    let clients: String =
        lines(5_000, |n| format!("  C{n}: {{ runs: worker, processes: \"${{{heavy} // 90000}}\" }}\n"));
    let variants: String = lines(4_000, |n| {
        format!(
            "  v{n}: {{ title: {{ en: a, zh: a }}, expect: shown, lesson: {{ en: a, zh: a }}, claims: [\"1\"] }}\n"
        )
    });
    let files = [
        (
            "texts.yaml",
            NEW_LESSON.replacen("title: { en: My lock,", &format!("title: {{ en: \"{}\",", texts(20_000)), 1),
        ),
        (
            "steps.yaml",
            NEW_LESSON.replacen("    - holds: lock", &format!("{many_steps}    - holds: lock"), 1),
        ),
        (
            "uses.yaml",
            NEW_LESSON.replacen("programs:\n", &format!("programs:\n{recipes}"), 1).replacen(
                "    - holds: lock",
                "    - use: r0\n    - holds: lock",
                1,
            ),
        ),
        ("story.yaml", format!("{NEW_LESSON}{story}")),
        ("clients.yaml", NEW_LESSON.replacen("clients:\n", &format!("clients:\n{clients}"), 1)),
        ("variants.yaml", NEW_LESSON.replacen("variants:\n", &format!("variants:\n{variants}"), 1)),
    ];
    for (name, text) in files {
        assert_ne!(text, NEW_LESSON, "{name} changes nothing");
        place.write(name, &text);
        let began = std::time::Instant::now();
        let answer = lockstep(&place, &["check", name]);
        println!("{name}: {} KiB, {:?}", text.len() >> 10, began.elapsed());
        assert_eq!(answer.code, Some(2), "{name}: {}{}", brief(&answer.out), brief(&answer.err));
        assert!(answer.err.starts_with(&format!("{name}:")), "{name}: {}", brief(&answer.err));
    }
}

#[test]
fn what_is_there_twice_is_a_mistake_with_its_place() {
    let place = Place::new();
    let step = "    - release: { redis: DEL lock }\n";
    let cases = [
        ("variant.yaml", "  owner-check:\n    title", "  blind-del:\n    title", "`blind-del` is here twice"),
        ("client.yaml", "  B: { runs: worker }", "  A: { runs: worker }", "`A` is here twice"),
        ("param.yaml", "params: { lease: 3s }", "params: { lease: 3s, lease: 4s }", "`lease` is here twice"),
        ("program.yaml", "programs:\n", "programs:\n  worker: []\n", "`worker` is here twice"),
        ("label.yaml", step, &format!("{step}{step}"), "two operations of this program are called `release`"),
    ];
    for (name, from, to, wanted) in cases {
        assert!(NEW_LESSON.contains(from), "{from}");
        let text = NEW_LESSON.replacen(from, to, 1);
        place.write(name, &text);
        let answer = place.run(&["check", name]);
        assert_eq!(answer.code, Some(2), "{name}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains(wanted), "{name}: {}", answer.err);
        let line = answer.err[name.len() + 1..].split(':').next().and_then(|line| line.parse::<usize>().ok());
        let line = line.unwrap_or_else(|| panic!("no line: {}", answer.err));
        let first = text
            .lines()
            .position(|line| line.contains(to.trim_end().lines().next().unwrap_or_default().trim_end()));
        assert!(first.is_some_and(|first| line > first), "{name}: line {line}, {first:?}: {}", answer.err);
    }
    // Only one of `then` and `else` happens.
    let both = "    - if: reply == 1\n      then: [release: { redis: DEL lock }]\n      else: [release: { redis: DEL lock }]\n";
    place.write("both.yaml", NEW_LESSON.replacen(step, both, 1));
    let answer = place.run(&["check", "both.yaml"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    // Two files with the same id.
    let place = Place::new();
    place.write("a.yaml", NEW_LESSON);
    place.write("b.yaml", NEW_LESSON);
    let directory = place.path().display().to_string();
    let answer = place.run(&["--lessons", &directory, "list"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert!(answer.err.contains("b.yaml:4:5") && answer.err.contains("a.yaml too"), "{}", answer.err);
    // A broken file of recipes does not affect the lessons.
    place.write("recipes.yaml", "format: 1\nscripts: [\n");
    std::fs::remove_file(place.path().join("b.yaml")).expect("it is there");
    let answer = place.run(&["--lessons", &directory, "list"]);
    assert!(answer.err.contains("recipes.yaml:"), "{}", answer.err);
    assert!(answer.out.contains("my-lock") && answer.out.contains("oversell"), "{}", answer.out);
}
