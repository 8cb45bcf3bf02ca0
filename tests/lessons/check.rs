//! Broken lessons: the real program reports each mistake with its file, line and column, what is wrong and what would
//! be right.

use std::fmt::Write;

use crate::{
    place::{NEW_LESSON, Place},
    texts::{HEAD, ONLY},
};

/// Checks `NEW_LESSON` with one text replaced; returns standard error.
fn broken(from: &str, to: &str) -> String {
    assert!(NEW_LESSON.contains(from), "the good lesson has no `{from}`");
    checked(NEW_LESSON.replacen(from, to, 1))
}

fn checked(text: impl AsRef<[u8]>) -> String {
    let place = Place::new();
    place.write("lesson.yaml", text);
    let answer = place.run(&["check", "lesson.yaml"]);
    assert_eq!(answer.code, Some(2), "a mistake of the user's; {}{}", answer.out, answer.err);
    assert!(!answer.err.contains("panicked"), "{}", answer.err);
    answer.err
}

/// The line of `NEW_LESSON` that contains a text, from 1.
fn line_of(text: &str) -> usize {
    NEW_LESSON.lines().position(|line| line.contains(text)).expect("the text is there") + 1
}

#[test]
fn the_lesson_to_start_from_is_good() {
    let place = Place::new();
    let answer = place.run(&["new", "first-steps"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let answer = place.run(&["check", "first-steps.yaml"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    // An existing lesson is never overwritten.
    assert_eq!(place.run(&["new", "first-steps"]).code, Some(2));
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table, one line for each mistake")]
fn every_mistake_has_its_line_and_says_what_is_right() {
    // The text to replace, its replacement, where the mistake is reported, and words that the report must contain.
    let mistakes: &[(&str, &str, &str, &[&str])] = &[
        ("minutes: 2", "minuts: 2", "minutes: 2", &["unknown field `minuts`", "minutes"]),
        ("minutes: 2", "minutes: soon", "minutes: 2", &["`minutes` takes a whole number", "`minutes: 5`"]),
        (
            "format: 1",
            "locks: { lokc: { holders: 2 } }\nformat: 1",
            "format: 1",
            &["unknown lock `lokc`", "did you mean `lock`?"],
        ),
        ("format: 1", "locks: { lock: { holders: 0 } }\nformat: 1", "format: 1", &["0 is out of bounds"]),
        (
            "- holds: lock",
            "- holds: { lock: lock, mode: reading }",
            "- holds: lock",
            &["`mode` cannot be `reading`", "shared"],
        ),
        ("- holds: lock", "- holds: seg ${j}", "- holds: lock", &["unknown name `j`"]),
        (
            "that: A.release == 1",
            "that: at('A.relase') == 1",
            "that: A.release == 1",
            &["unknown move", "`relase`", "did you mean `release`?"],
        ),
        (
            "that: A.release == 1",
            "that: before('release')",
            "that: A.release == 1",
            &["before('A.release', 'B.acquire')"],
        ),
        (
            "that: A.release == 1",
            "that: before('C.release', 'release')",
            "that: A.release == 1",
            &["unknown client `C`"],
        ),
        (
            "that: A.release == 1",
            "that: waited('A') > 1",
            "that: A.release == 1",
            &["never says that it waits"],
        ),
        (
            "expect: shown",
            "explore: { expect: nothing }\n    expect: shown",
            "expect: shown",
            &["`expect` cannot be `nothing`", "none"],
        ),
        (
            "expect: shown",
            "explore: { expect: none, faults: [explode] }\n    expect: shown",
            "expect: shown",
            &["`explode` cannot be explored", "freeze:A"],
        ),
        (
            "expect: shown",
            "explore: { expect: none, faults: [\"crash:C\"] }\n    expect: shown",
            "expect: shown",
            &["unknown client `C`"],
        ),
        (
            "expect: shown",
            "explore: { expect: none, moves: 1000 }\n    expect: shown",
            "expect: shown",
            &["1000 is out of bounds", "from 1 to 250"],
        ),
        ("format: 1", "format: 7", "format: 1", &["format 7 is not known", "reads format 1 to 2"]),
        ("id: my-lock", "id: My Lock", "id: my-lock", &["cannot be the name of a lesson"]),
        ("lab: redis", "lab: rediss", "lab: redis", &["`lab` cannot be `rediss`", "`redis`"]),
        ("zh: 我的锁", "zh: \"\"", "title: { en: My lock", &["empty in one language"]),
        (
            "B: { runs: worker }",
            "B: { runs: wroker }",
            "B: { runs: worker }",
            &["unknown program `wroker`", "did you mean `worker`?"],
        ),
        ("- work: 5s", "- work: soon", "- work: 5s", &["`soon` is not a duration", "3s"]),
        (
            "SET lock ${token} NX",
            "SET lock ${tokn} NX",
            "- acquire: {",
            &["unknown name `tokn`", "did you mean `token`?"],
        ),
        ("until: reply == 'OK'", "until: reply ==", "- acquire: {", &["`reply ==` is not an expression"]),
        ("redis: \"SET lock ${token} NX", "redis: \"SET lock ${token NX", "- acquire: {", &["not closed"]),
        (
            "- release: { redis: DEL lock }",
            "- release: { redis: DEL lock, zk: delete /l }",
            "- release: { redis: DEL lock }",
            &["one wire command"],
        ),
        (
            "- release: { redis: DEL lock }",
            "- release: { }",
            "- release: { redis: DEL lock }",
            &["needs one of"],
        ),
        (
            "script: release_if_owner",
            "script: release_owner",
            "worker.release: {",
            &["unknown script `release_owner`", "release_if_owner"],
        ),
        (
            "worker.release: {",
            "worker.relese: {",
            "worker.release: {",
            &["unknown operation `worker.relese`", "worker.release"],
        ),
        ("- overlap: lock", "- overlap: lokc", "- overlap: lock", &["unknown lock `lokc`"]),
        (
            "- that: A.release == 1",
            "- that: A.relaese == 1",
            "- that: A.release == 1",
            &["unknown move of A `relaese`", "did you mean `release`?"],
        ),
        ("- that: A.release == 1", "- that: C.release == 1", "- that: A.release == 1", &["unknown name `C`"]),
        (
            "says: { en: A's DEL deleted B's lock., zh: A 的 DEL 删掉了 B 的锁。 }",
            "says: {}",
            "says: { en: A's DEL deleted B's lock.",
            &["missing field `en`"],
        ),
        (
            "says: { en: A's DEL deleted B's lock., zh: A 的 DEL 删掉了 B 的锁。 }",
            "says: { en: A's DEL deleted B's lock., zh: '' }",
            "says: { en: A's DEL deleted B's lock.",
            &["an empty text"],
        ),
        (
            "says: { en: A's DEL deleted B's lock., zh: A 的 DEL 删掉了 B 的锁。 }",
            "says: { en: \"A had ${leese}.\", zh: A 的 DEL 删掉了 B 的锁。 }",
            "says: { en: A's DEL deleted B's lock.",
            &["unknown name `leese`", "did you mean `lease`?"],
        ),
        (
            "- that: A.release == 1",
            "- that: A.release == 1\n        overlap: lock",
            "- that: A.release == 1",
            &["one claim at a time: `overlap` is a second one"],
        ),
        (
            "- that: A.release == 1",
            "- because: A.release == 1",
            "- that: A.release == 1",
            &["unknown field `because` of a claim", "`exclusive`, `overlap`, `says`, `that`"],
        ),
        (
            "- that: A.release == 1\n",
            "-\n",
            "says: { en: A's DEL deleted B's lock.",
            &["a sentence that claims nothing", "that: EXPRESSION"],
        ),
        (
            "never: { overlap: lock }",
            "never: { overlap: lokc }",
            "never: { overlap: lock }",
            &["unknown lock `lokc`", "did you mean `lock`?", "found in the variant `blind-del`"],
        ),
        (
            "never: { overlap: lock }",
            "never: { overlap: lock, overlap: lock }",
            "never: { overlap: lock }",
            &["`overlap` is here twice"],
        ),
        (
            "never: { overlap: lock }",
            "never: { exclusive: lock }",
            "never: { overlap: lock }",
            &["breaks nothing", "`{ overlap: LOCK }`"],
        ),
        (
            "never: { overlap: lock }",
            "never: { that: sold > 1 }",
            "never: { overlap: lock }",
            &["`never` takes the expression itself"],
        ),
        (
            "never: { overlap: lock }",
            "never: { lock: lock }",
            "never: { overlap: lock }",
            &["unknown field `lock`", "`overlap`"],
        ),
        (
            "never: { overlap: lock }",
            "never: {}",
            "never: { overlap: lock }",
            &["nothing that must never be"],
        ),
        (
            "never: { overlap: lock }",
            "never: 7",
            "never: { overlap: lock }",
            &["`never` takes a text", "`never: sold > stock`"],
        ),
        (
            "never: deleted_by_another('lock') > 0 #",
            "never: deleted_by_anyone('lock') > 0 #",
            "never: deleted_by_another('lock')",
            &["unknown name `deleted_by_anyone`", "did you mean `deleted_by_another`?"],
        ),
        (
            "never: deleted_by_another('lock') > 0 #",
            "never: deleted_by_another('lock') > #",
            "never: deleted_by_another('lock')",
            &["is not an expression"],
        ),
        (
            "never: deleted_by_another('lock') > 0 #",
            "never: A.relaese == 1 #",
            "never: deleted_by_another('lock')",
            &["unknown move of A `relaese`"],
        ),
        (
            "goal: { en: Let two clients hold the lock., zh: 让两个客户端同时持有锁。 }",
            "goal: { en: Let two clients hold the lock., zh: '' }",
            "goal: { en: Let two clients hold the lock.",
            &["an empty text"],
        ),
        (
            "says: { en: Two clients hold the lock., zh: 两个客户端同时持有锁。 }",
            "says: { en: \"${leese} is over.\", zh: 两个客户端同时持有锁。 }",
            "says: { en: Two clients hold the lock.",
            &["unknown name `leese`", "did you mean `lease`?"],
        ),
        (
            "- move: A.acquire\n  - move: B.acquire",
            "- move: C.acquire\n  - move: B.acquire",
            "- move: A.acquire",
            &["unknown client `C`", "A, B"],
        ),
        ("- move: A.release", "- move: A.relase", "- move: A.release", &["unknown move of A `relase`"]),
        ("- move: A.release", "- move: Arelease", "- move: A.release", &["CLIENT.LABEL"]),
        ("- move: A.release", "- freeze: C", "- move: A.release", &["unknown client or server `C`"]),
        (
            "- move: A.release",
            "- cut: A-redis",
            "- move: A.release",
            &["`A-redis` is not a link", "A->redis"],
        ),
        ("- pass: ${lease}", "- pass: ${leas}", "- pass: ${lease}", &["unknown parameter `leas`"]),
        ("- pass: ${lease}", "- pas: 3s", "- pass: ${lease}", &["unknown field `pas`", "`pass`"]),
        (
            "Its lease is ${lease|duration}, its work",
            "Its lease is ${leese|duration}, its work",
            "Its lease is",
            &["unknown name `leese`"],
        ),
        ("format: 1", "format: 1\nbad: a: b", "format: 1", &["a second `: `", "in quotes"]),
        ("minutes: 2", "minutes: 2\n\tbad", "minutes: 2", &["tab character"]),
        (
            "- pass: ${lease}",
            "- ask: { q: { en: q }, choices: [] }",
            "- pass: ${lease}",
            &["two to four choices"],
        ),
    ];
    for (from, to, reported, words) in mistakes {
        let error = broken(from, to);
        let line = line_of(reported);
        // Some mistakes are reported at the next line, where the value or the block begins.
        let near = [line, line + 1].iter().any(|line| error.contains(&format!("lesson.yaml:{line}:")));
        assert!(near, "`{to}` should be reported at line {line}:\n{error}");
        for word in *words {
            assert!(error.contains(word), "`{to}` should be explained with `{word}`:\n{error}");
        }
    }
}

#[test]
fn a_variants_own_invariants_are_checked_in_their_place() {
    const CLAIMS: &str = "    claims:\n";
    let with = |own: &str| NEW_LESSON.replacen(CLAIMS, &format!("    invariants:{own}\n{CLAIMS}"), 1);
    let line = line_of("    claims:");
    let both = "{ en: \"${TEXT}\", zh: 词 }";
    let mistakes = [
        (" []".to_owned(), line, "an empty list of what must never be"),
        (
            format!("\n      - {{ never: sold > 1, says: {both}, goal: {both} }}"),
            line + 1,
            "unknown name `sold`",
        ),
        (
            format!("\n      - {{ never: A.release == 1, says: {both}, goal: {both} }}"),
            line + 1,
            "unknown name `TEXT`",
        ),
    ];
    for (own, line, words) in mistakes {
        let error = checked(with(&own));
        assert!(error.contains(&format!("lesson.yaml:{line}:")) && error.contains(words), "{error}");
    }
    // A counter has no value when a goal is read.
    let counted = NEW_LESSON.replacen("    - drops: lock\n", "    - drops: lock\n    - count: done\n", 1);
    let goal = "goal: { en: Let two clients hold the lock.";
    let error = checked(counted.replacen(goal, "goal: { en: \"${done} of them\"", 1));
    assert!(
        error.contains("`done` has no value before the first move") && error.contains("parameters alone"),
        "{error}"
    );
}

#[test]
fn a_question_that_cannot_be_answered_is_a_mistake() {
    const ASK: &str = "  - ask:
      q: { en: Which?, zh: 哪个？ }
      choices:
        - { says: { en: one, zh: 一 }, right: B.acquire == 'OK', why: { en: no, zh: 不 } }
        - { says: { en: two, zh: 二 }, why: { en: no, zh: 不 } }
";
    const PASS: &str = "  - pass: ${lease}\n";
    let asked = |ask: &str| NEW_LESSON.replacen(PASS, &format!("{ask}{PASS}"), 1);
    let place = Place::new();
    place.write("lesson.yaml", asked(ASK));
    let answer = place.run(&["check", "lesson.yaml"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);

    let two = "        - { says: { en: two, zh: 二 }, why: { en: no, zh: 不 } }\n";
    // The text to replace, its replacement, the reported line counted from the question's first, and words of the
    // report.
    let mistakes: [(&str, &str, usize, &[&str]); 11] = [
        (two, "", 3, &["two to four choices, not 1"]),
        (two, &two.repeat(4), 3, &["two to four choices, not 5"]),
        ("right: B.acquire == 'OK', ", "", 3, &["no choice answers", "give at least one choice a `right:`"]),
        ("right: B.acquire == 'OK'", "right: false", 3, &["leaving `right` out"]),
        ("right: B.acquire == 'OK'", "right: B.aquire == 'OK'", 3, &["did you mean `acquire`?"]),
        ("right: B.acquire == 'OK'", "right: sould == 1", 3, &["unknown name `sould`"]),
        ("right: B.acquire == 'OK'", "right: B.acquire ==", 3, &["is not an expression"]),
        (
            "{ en: two, zh: 二 }, why: { en: no, zh: 不 }",
            "{ en: two, zh: 二 }",
            4,
            &["has no `why`", "say why it is wrong"],
        ),
        ("en: Which?", "en: \"${lese}?\"", 1, &["unknown name `lese`", "did you mean `lease`?"]),
        ("      choices:", "      chioces:", 2, &["unknown field `chioces`", "`choices`"]),
        (two, &format!("{two}      after: 9\n"), 5, &["only 3 follow that are no narration"]),
    ];
    let first = asked(ASK).lines().position(|line| line == "  - ask:").expect("asked") + 1;
    for (from, to, line, words) in mistakes {
        assert!(ASK.contains(from), "{from}");
        let error = checked(asked(&ASK.replacen(from, to, 1)));
        let near = [first + line, first + line + 1];
        assert!(
            near.iter().any(|line| error.contains(&format!("lesson.yaml:{line}:"))),
            "`{to}` should be reported at line {near:?}:\n{error}"
        );
        for word in words {
            assert!(error.contains(word), "`{to}` should be explained with `{word}`:\n{error}");
        }
    }
}

#[test]
fn files_that_are_no_lessons_are_refused() {
    assert!(checked("").contains("the file is empty"), "{}", checked(""));
    assert!(checked(b"\xff\xfe").contains("not UTF-8"));
    assert!(checked(b"{\"lockstep_recording\":2,").contains("lockstep play"), "it is to be played");
    let large = format!("# {}\n{NEW_LESSON}", "x".repeat(10 << 20));
    assert!(checked(large).contains("a lesson may have at most"));
    // Each program repeats the one before it ten times: 10^11 steps out of 2 KB.
    let mut bomb = "p0: &p0 [{ work: 1s }]\n".to_owned();
    for n in 1..12 {
        let item = format!("{{ repeat: *p{}, times: 1 }}", n - 1);
        writeln!(bomb, "  p{n}: &p{n} [{}]", [item.as_str(); 10].join(", ")).expect("text grows");
    }
    let error = checked(NEW_LESSON.replacen("programs:\n", &format!("programs:\n  {bomb}"), 1));
    assert!(error.contains("more than 100000 values") && error.contains("write the parts out"), "{error}");
    let error =
        checked(NEW_LESSON.replacen("minutes: 2", &format!("minutes: 2\nsources: [{}]", "[".repeat(500)), 1));
    assert!(error.contains("lesson.yaml"), "{error}");
}

#[test]
fn a_directory_and_a_missing_file_are_named() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("folder.yaml")).expect("a directory");
    let answer = place.run(&["check", "folder.yaml", "missing.yaml"]);
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("folder.yaml: is a directory"), "{}", answer.err);
    assert!(answer.err.contains("missing.yaml: cannot be read"), "{}", answer.err);
    let answer = place.run(&["run", "oversel"]);
    assert_eq!(answer.code, Some(2));
    assert!(answer.err.contains("did you mean `oversell`?"), "{}", answer.err);
}

#[test]
fn check_speaks_json_for_editors() {
    let place = Place::new();
    place.write("lesson.yaml", NEW_LESSON.replacen("runs: worker", "runs: wroker", 1));
    let answer = place.run(&["check", "lesson.yaml", "--json"]);
    let report = &answer.json()[0];
    assert_eq!(report["ok"], false);
    assert_eq!(report["line"].as_u64(), Some(line_of("A: { runs: worker }") as u64));
    assert!(report["column"].is_u64() && report["message"].is_string(), "{report}");
}

#[test]
fn lessons_of_ones_own_stand_beside_the_carried_ones() {
    let place = Place::new();
    place.write("mine.yaml", NEW_LESSON);
    place.write("broken.yaml", "format: 1\nid: [");
    let answer = place.run(&["list", "--json", "--lessons", "."]);
    let ids: Vec<String> =
        answer.json().iter().map(|line| line["id"].as_str().unwrap_or_default().to_owned()).collect();
    assert!(ids.contains(&"my-lock".to_owned()) && ids.contains(&"oversell".to_owned()), "{ids:?}");
    assert!(answer.err.contains("broken.yaml"), "{}", answer.err);
    assert_eq!(answer.code, Some(2), "a broken lesson does not pass unseen");
}

#[test]
fn one_language_is_enough_unless_both_are_asked_for() {
    let place = Place::new();
    place.write("lesson.yaml", NEW_LESSON);
    assert_eq!(place.run(&["check", "--strict", "lesson.yaml"]).code, Some(0));
    for (name, title) in
        [("en.yaml", "{ en: My lock }"), ("zh.yaml", "{ zh: 我的锁 }"), ("bare.yaml", "My lock")]
    {
        place.write(name, NEW_LESSON.replace("{ en: My lock, zh: 我的锁 }", title));
        let answer = place.run(&["check", name]);
        assert_eq!(answer.code, Some(0), "{name}: {}", answer.err);
        let answer = place.run(&["check", "--strict", name]);
        assert_eq!(answer.code, Some(2), "{name}");
        let missing = if name == "zh.yaml" { "missing field `en`" } else { "missing field `zh`" };
        let line = line_of("title: { en: My lock");
        for words in [&format!("{name}:{line}:"), missing, "every text twice"] {
            assert!(answer.err.contains(words), "{name}: {}", answer.err);
        }
    }
    // The carried lessons have both languages.
    let answer = place.run(&["check", "--strict"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
}

#[test]
fn files_are_named_after_lessons_and_stay_where_they_are_wanted() {
    let place = Place::new();
    place.write("one.yaml", NEW_LESSON);
    place.write("lessons/two.yaml", NEW_LESSON.replacen("id: ", "id: ../../", 1));
    let answer = place.run(&["run", "one.yaml", "lessons/two.yaml", "--record", "kept"]);
    assert_eq!(answer.code, Some(2), "{}{}", answer.out, answer.err);
    assert!(answer.err.contains("cannot be the name of a lesson"), "{}", answer.err);
    assert!(!place.path().join("kept").exists(), "nothing was run");
}

#[test]
fn a_byte_order_mark_is_none_of_the_lesson() {
    let place = Place::new();
    place.write("lesson.yaml", format!("\u{feff}{NEW_LESSON}"));
    let answer = place.run(&["check", "lesson.yaml"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
}

#[test]
fn parameters_of_the_command_line_are_checked_too() {
    let place = Place::new();
    place.write("lesson.yaml", NEW_LESSON);
    for (set, words) in [("lease=5s", ""), ("lease=soon", "soon"), ("lese=5s", "lese")] {
        let answer = place.run(&["check", "lesson.yaml", "--set", set]);
        assert_eq!(answer.code, Some(if words.is_empty() { 0 } else { 2 }), "{set}: {}", answer.err);
        assert!(answer.err.contains(words), "{set}: {}", answer.err);
    }
}

#[test]
fn a_variants_title_names_its_parameters() {
    let place = Place::new();
    let title =
        NEW_LESSON.lines().skip_while(|line| *line != "variants:").find(|line| line.contains("title:"));
    let title = title.expect("a variant has a title");
    place.write("lesson.yaml", NEW_LESSON.replacen(title, "    title: For ${lease}", 1));
    for command in ["list", "run"] {
        let answer = match command {
            "list" => place.run(&["--lessons", ".", "list"]),
            _ => place.run(&["run", "lesson.yaml"]),
        };
        assert!(answer.out.contains("For ") && !answer.out.contains("${"), "{command}: {}", answer.out);
    }
}

#[test]
fn a_text_is_bounded() {
    let said = broken("DEL lock", &format!("DEL{}", " lock".repeat(50_000)));
    assert!(said.contains("a text may have at most"), "{}", &said[..said.len().min(400)]);
}

#[test]
fn a_counter_of_one_variant_is_0_in_the_others() {
    let place = Place::new();
    let counts = "    replace:\n      worker.release:";
    let own = "    programs:\n      other:\n        - count: refused\n";
    let counted = NEW_LESSON.replacen(counts, &format!("{own}{counts}"), 1);
    let claims = "      - overlap: lock\n";
    let with = |text: &str, claim: &str| text.replacen(claims, &format!("      - {claim}\n{claims}"), 1);
    place.write("lesson.yaml", with(&counted, "refused == 0"));
    let answer = place.run(&["check", "lesson.yaml"]);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    let error = checked(with(&counted, "refused == 1"));
    assert!(error.contains("`refused` is 0 at most"), "{error}");
    let error = checked(with(NEW_LESSON, "refused == 0"));
    assert!(error.contains("unknown name `refused`"), "{error}");
}

#[test]
fn the_title_of_a_counter_that_nobody_counts_is_a_mistake() {
    let titled = "counters:\n  refusd: { title: { en: turned away, zh: 被拒 } }\nclients:\n";
    let counted = NEW_LESSON.replacen("    - drops: lock\n", "    - drops: lock\n    - count: refused\n", 1);
    let error = checked(counted.replacen("clients:\n", titled, 1));
    assert!(error.contains("unknown counter `refusd`") && error.contains("`refused`"), "{error}");
    let error = checked(NEW_LESSON.replacen("clients:\n", titled, 1));
    assert!(error.contains("`- count: refusd`"), "{error}");
}

#[test]
fn an_expression_that_fails_in_a_run_is_told_where_it_stands() {
    let text = format!(
        "{HEAD}lab: redis
setup:
  - redis: SET stock 1
clients:
  A: {{ runs: sell }}
  B: {{ runs: change }}
programs:
  sell:
    - look: {{ redis: WATCH stock }}
    - begin: {{ redis: MULTI }}
    - queue: {{ redis: DECR stock }}
    - e: {{ redis: EXEC }}
    - if: e[0] == 1
      then: [count: sold]
  change:
    - put: {{ redis: SET stock 5 }}
{ONLY}    claims:
      - moves('A.e') == 1
story:
  - move: [A.look, B.put]
  - finish: A
"
    );
    let line = text.lines().position(|line| line.contains("- if: e[0]")).expect("the condition") + 1;
    let place = Place::new();
    place.write("lesson.yaml", &text);
    let answer = place.run(&["run", "lesson.yaml"]);
    assert_eq!(answer.code, Some(2), "{}{}", answer.out, answer.err);
    assert!(answer.err.contains(&format!("lesson.yaml:{line}:")), "{}", answer.err);
    assert!(answer.err.contains("`e` is none"), "{}", answer.err);
}
