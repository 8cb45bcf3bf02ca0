//! Output to a terminal or a picture is escaped, and a closed pipe is no error.
//!
//! The texts of these lessons contain escape sequences, C1 controls and marks that change the direction of writing; no
//! command may pass any of them on.

use std::{
    fs::File,
    io::pipe,
    process::{Command, Stdio},
};

use lockstep::printable::is_harmless;

use crate::place::{Answer, Place};

/// ESC, OSC with BEL, CSI as C1, a right-to-left override, an isolate, a zero-width mark, unescaped.
const RAW: &str = "x\u{1b}[31m\u{1b}]0;t\u{7}\u{9b}2J\u{202e}y\u{2066}\u{200b}\u{7f}z";
/// The same as escaped in YAML and TOML between double quotes.
const QUOTED: &str = r"x\u001b[31m\u001b]0;t\u0007\u009b2J\u202ey\u2066\u200b\u007fz";

/// A lesson with numbered `@` wherever its author may write words.
const LESSON: &str = r#"format: 1
id: my-lock
track: redis
title: { en: "@1", zh: "@2" }
summary: { en: "@3", zh: "@4" }
intro: { en: "@5", zh: "@6" }
minutes: 2
lab: redis
params: { lease: 3s, words: "@7" }
setup:
  - redis: "SET @8 @9"
clients:
  A: { runs: worker }
  B: { runs: worker }
programs:
  worker:
    - ask: { redis: "GET @8" }
    - acquire: { redis: 'SET lock ${token} NX' }
    - if: acquire == 'OK'
      then:
        - holds: lock
        - count: sold
        - drops: lock
        - release: { redis: DEL lock }
invariants:
  - never: sold > 1
    says: { en: "@10", zh: "@11" }
    goal: { en: "@12", zh: "@13" }
variants:
  one:
    title: { en: "@14", zh: "@15" }
    expect: shown
    lesson: { en: "@16", zh: "@17" }
    claims:
      - that: A.ask == 'no'
        says: { en: "@18", zh: "@19" }
      - that: A.ask|length == 7
        says: { en: "@20", zh: "@21" }
story:
  - say: { en: "@22 ${words}", zh: "@23" }
  - move: A.ask
  - ask:
      q: { en: "@24", zh: "@25" }
      choices:
        - { says: { en: "1 @26", zh: "1 @27" }, right: "A.acquire == 'OK'", why: { en: "@30", zh: "@31" } }
        - { says: { en: "2 @28", zh: "2 @29" }, right: "A.acquire != 'OK'", why: { en: "@30", zh: "@31" } }
  - move: A.acquire
interview:
  - q: { en: "@32", zh: "@33" }
    a: { en: "@34", zh: "@35" }
sources: [ "@36", "@37" ]
"#;

/// The lesson with hostile words in all places that may have any.
fn hostile() -> String {
    let mut lesson = LESSON.to_owned();
    for n in (1..=37).rev() {
        lesson = lesson.replace(&format!("@{n}"), QUOTED);
    }
    lesson
}

fn assert_clean(what: &str, text: &str) {
    let bad = text.chars().find(|c| !is_harmless(*c) && !matches!(c, '\n' | '\t'));
    assert_eq!(bad, None, "{what}: {text:?}");
}

/// Asserts that both outputs are clean, and that nothing has panicked.
fn clean(what: &str, answer: &Answer) {
    assert_clean(what, &answer.out);
    assert_clean(what, &answer.err);
    assert!(!answer.err.contains("panicked"), "{what}: {}", answer.err);
    assert!(answer.code.is_some(), "{what}: a signal ended it");
}

/// Every text of a lesson, with each command that shows lessons.
#[test]
fn a_lesson_cannot_reach_the_terminal() {
    let place = Place::new();
    for folder in ["lessons", "state/lockstep"] {
        std::fs::create_dir_all(place.path().join(folder)).expect("made");
    }
    let file = place.write("lessons/my-lock.yaml", hostile());
    let file = file.to_str().expect("UTF-8");
    let good = place.run(&["check", file]);
    assert_eq!(good.code, Some(0), "the lesson is good but for its words: {}", good.err);
    let state = format!(
        r#"{{"format":1,"lessons":{{"{QUOTED}":{{"{QUOTED}":{{"finished":true,"outcome":null,"right":0,"asked":0}}}}}}}}"#
    );
    place.write("state/lockstep/progress.json", state);
    let commands: [&[&str]; 12] = [
        &["list", "--lessons", "lessons"],
        &["list", "--lessons", "lessons", "--lang", "zh"],
        &["list", "--lessons", "lessons", "--json"],
        &["check", file, "--json"],
        &["run", file],
        &["run", file, "--lang", "zh"],
        &["run", file, "--json", "--events"],
        &["race", file, "-n", "2"],
        &["race", file, "-n", "2", "--json"],
        &["explore", file, "--moves", "4"],
        &["progress", "--lessons", "lessons"],
        &["progress", "--lessons", "lessons", "--json"],
    ];
    for args in commands {
        let answer = place.run(args);
        clean(&args.join(" "), &answer);
        assert!(!answer.out.is_empty(), "{args:?}: {}", answer.err);
        if args.contains(&"--json") {
            answer.json();
        }
    }
    let said = place.run(&["run", file, "--json", "--events"]).json()[0].to_string();
    assert!(said.contains(RAW.split('\u{1b}').next().expect("something")), "{said}");
}

/// Pictures of such a run, on standard output and in files.
#[test]
fn a_lesson_cannot_reach_a_picture() {
    let place = Place::new();
    let file = place.write("my-lock.yaml", hostile());
    let file = file.to_str().expect("UTF-8");
    let run = place.run(&["run", file, "--record", "run.jsonl"]);
    assert_eq!(run.code, Some(1), "a claim of it does not hold: {}", run.err);
    let recording = std::fs::read_to_string(place.path().join("run.jsonl")).expect("recorded");
    assert_clean("the recording", &recording);
    let lessons = place.path().join("lessons");
    std::fs::create_dir(&lessons).expect("made");
    std::fs::rename(file, lessons.join("my-lock.yaml")).expect("moved");
    for format in ["svg", "html", "cast", "mermaid", "json"] {
        for lang in ["en", "zh"] {
            let answer = place.run(&[
                "export",
                "run.jsonl",
                "--lessons",
                "lessons",
                "--format",
                format,
                "--lang",
                lang,
            ]);
            clean(format, &answer);
            assert!(answer.out.len() > 200, "{format}: {}", answer.err);
            if format != "json" {
                // JSON contains the text as it was; in pictures none of it may take effect when they are read.
                for escaped in [r"\u009b", r"\u202e", r"\u2066"] {
                    assert!(!answer.out.contains(escaped), "{format}: {escaped}");
                }
            }
        }
    }
}

/// The message of a mistake quotes its line.
#[test]
fn a_mistake_in_a_lesson_cannot_reach_the_terminal() {
    let place = Place::new();
    let mistakes = [
        ("id: my-lock", format!("id: \"{QUOTED}\"")),
        ("track: redis", format!("track: \"{QUOTED}\"")),
        ("lab: redis", format!("lab: \"{QUOTED}\"")),
        ("minutes: 2", format!("\"{QUOTED}\": 2")),
        ("  A: {", format!("  \"{QUOTED}\": {{")),
        ("  worker:\n", format!("  \"{QUOTED}\":\n")),
        ("- ask:", format!("- \"{QUOTED}\":")),
        ("- holds: lock", format!("- holds: \"{QUOTED}\"")),
        ("- count: sold", format!("- count: \"{QUOTED}\"")),
        ("if: acquire == 'OK'", format!("if: \"{QUOTED}\"")),
        ("never: sold > 1", format!("never: \"{QUOTED} > 1\"")),
        ("that: A.ask == 'no'", format!("that: \"{QUOTED}\"")),
        ("  one:", format!("  \"{QUOTED}\":")),
        ("move: A.ask", format!("move: \"{QUOTED}\"")),
        ("lease: 3s", format!("\"{QUOTED}\": 3s")),
        // YAML forbids most of these characters unquoted, and its parser quotes them.
        ("id: my-lock", format!("id: {RAW}")),
        ("id: my-lock", "id: \u{202e}my-lock\u{2066}".to_owned()),
    ];
    for (good, bad) in mistakes {
        let lesson = hostile().replacen(good, &bad, 1);
        let file = place.write("bad.yaml", lesson);
        let file = file.to_str().expect("UTF-8");
        for args in [&["check", file][..], &["check", file, "--json"], &["run", file]] {
            clean(&bad, &place.run(args));
        }
    }
}

/// File names, arguments, the environment and the configuration are not trusted either.
#[test]
fn names_and_arguments_cannot_reach_the_terminal() {
    let place = Place::new();
    let named = format!("{RAW}.yaml").replace('/', "");
    place.write(&named, hostile());
    place.write("list.yaml", "[");
    place.write(
        "config.toml",
        format!("lang = \"{QUOTED}\"\n\"{QUOTED}\" = 1\n[keys]\n\"{QUOTED}\" = \"{QUOTED}\"\n"),
    );
    place.write("raw.toml", format!("{RAW}\n"));
    let set = format!("{RAW}=1");
    let option = format!("--{RAW}");
    let commands: [&[&str]; 15] = [
        &["check", &named],
        &["run", &named],
        &["check", &named, "--json"],
        &["run", RAW],
        &["run", &format!("{RAW}/x")],
        &["play", RAW],
        &["export", RAW],
        &["new", RAW],
        &["run", "oversell", "--set", &set],
        &["run", "oversell", "--speed", RAW],
        &["run", "oversell", "--variant", RAW, "--recorded"],
        &["list", &option],
        &["config", "--check", "--config", "config.toml"],
        &["config", "--check", "--config", "raw.toml", "--json"],
        &["list", "--lessons", RAW],
    ];
    for args in commands {
        let answer = place.run(args);
        clean(&format!("{args:?}"), &answer);
        assert!(!answer.out.is_empty() || !answer.err.is_empty(), "{args:?} says nothing");
    }
    let help = place.command(&["--help"]).env("LOCKSTEP_LESSONS", RAW).output().expect("it starts");
    assert_eq!(help.status.code(), Some(0));
    assert_clean("--help", &String::from_utf8_lossy(&help.stdout));
}

/// A reader that closes the pipe has read enough.
#[test]
fn a_reader_who_goes_away_is_no_error() {
    let place = Place::new();
    for args in ENOUGH_SAID {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let output = place.command(args).stdout(writer).output().expect("it starts");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), err.as_str()), (Some(141), ""), "{args:?}");
    }
}

/// A full disk is reported without a crash.
#[test]
fn an_output_that_cannot_be_written_is_told() {
    let place = Place::new();
    for args in ENOUGH_SAID {
        let full = File::options().write(true).open("/dev/full").expect("there is one");
        let output = place.command(args).stdout(full).output().expect("it starts");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.contains("standard output cannot be written: No space left"), "{args:?}: {err}");
        assert!(!err.contains("panicked"), "{args:?}: {err}");
    }
    // If nothing can be written, the exit code still reports the error.
    let full = || Stdio::from(File::options().write(true).open("/dev/full").expect("there is one"));
    let silent = |mut command: Command| command.stdout(full()).stderr(full()).status().expect("it starts");
    assert_eq!(silent(place.command(&["run", "nobody"])).code(), Some(2));
    assert_eq!(silent(place.command(&["--nonsense"])).code(), Some(2));
}

/// Commands with much or little output, through every way of writing it.
const ENOUGH_SAID: [&[&str]; 14] = [
    &["list"],
    &["list", "--json"],
    &["check"],
    &["check", "--json"],
    &["schema"],
    &["config"],
    &["--help"],
    &["run", "--help"],
    &["--version"],
    &["completions", "bash"],
    &["progress"],
    &["run", "--all", "--recorded"],
    &["run", "oversell", "--recorded", "--json"],
    &["export", "oversell", "--recorded", "--format", "json"],
];
