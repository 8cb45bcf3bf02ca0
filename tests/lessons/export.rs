//! `lockstep export` on the command line: formats, files, exit codes, and error messages.

use crate::place::Place;

const RUN: [&str; 4] = ["export", "oversell", "--variant", "lost-update"];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    RUN.into_iter().chain(["--recorded"]).chain(more.iter().copied()).collect()
}

#[test]
fn the_files_name_chooses_the_format() {
    let place = Place::new();
    for (file, begins) in [
        ("run.svg", "<svg "),
        ("run.html", "<!DOCTYPE html>"),
        ("run.cast", "{"),
        ("run.mmd", "---\ntitle: "),
        ("run.json", "{\n"),
    ] {
        let answer = place.run(&[&with(&["--output"])[..], &[file]].concat());
        assert_eq!((answer.code, answer.out.as_str()), (Some(0), ""), "{}", answer.err);
        let text = std::fs::read_to_string(place.path().join(file)).expect("a file");
        assert!(text.starts_with(begins), "{file}: {}", &text[..80]);
        // The same on standard output, by the format's name.
        let format = if file.ends_with("mmd") { "mermaid" } else { &file[4..] };
        let answer = place.run(&[&with(&["--format"])[..], &[format]].concat());
        assert_eq!((answer.code, answer.out == text), (Some(0), true), "{format}");
    }
    let answer = place.run(&with(&["--output", "again.json", "--json"]));
    let done = &answer.json()[0];
    assert_eq!(done["format"], "json");
    assert_eq!(done["verdict"], "shown");
}

#[test]
fn a_live_run_and_its_recording_make_the_same_kind_of_picture() {
    let place = Place::new();
    let live = place.run(&["export", "oversell", "--variant", "atomic-script", "--at", "3"]);
    assert_eq!(live.code, Some(0), "{}", live.err);
    assert!(live.out.contains("CONTROLLED CLOCK"), "on the lesson's own clock");
    let record = place.run(&["run", "oversell", "--variant", "atomic-script", "--record", "run.jsonl"]);
    assert_eq!(record.code, Some(0), "{}", record.err);
    let again = place.run(&["export", "run.jsonl", "--at", "3"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(again.out.contains("RECORDED"));
    place.assert_nothing_left();
}

#[test]
fn mistakes_are_named_with_what_to_do() {
    let place = Place::new();
    place.run(&["run", "oversell", "--variant", "atomic-script", "--record", "run.jsonl"]);
    let cases: [(Vec<&str>, &str); 13] = [
        (with(&["--output", "run.png"]), "nothing is written as `.png`"),
        (with(&["--format", "gif"]), "possible values: svg, html, cast, mermaid, json"),
        (with(&["--at", "99"]), "use `--at "),
        (with(&["--at", "tomorrow"]), "write a step such as 7"),
        (with(&["--at", "5m"]), "use an earlier time"),
        (with(&["--at", "0s"]), "use a later time"),
        (with(&["--size", "10x10"]), "such as 120x40"),
        (with(&["--size", "big"]), "such as 120x40"),
        (with(&["--theme", "pink"]), "dark, light or contrast"),
        (with(&["--output", "no/such/run.svg"]), "mkdir -p no/such"),
        (with(&["--output", "."]), "is a directory"),
        (vec!["export", "run.jsonl", "--variant", "lost-update"], "leave `--variant` away"),
        (vec!["export", "run.jsonl", "--set", "buyers=3"], "leave `--set` away"),
    ];
    for (args, words) in cases {
        let answer = place.run(&args);
        assert_eq!(answer.code, Some(2), "{args:?}: {}", answer.err);
        assert!(answer.err.contains(words), "{args:?}: {}", answer.err);
        assert_eq!(answer.out, "", "{args:?}");
    }
    let answer = place.run(&["export", "overselling"]);
    assert!(answer.err.contains("did you mean `oversell`?"), "{}", answer.err);
}

#[test]
fn an_existing_file_stays_whole_when_an_export_fails() {
    let place = Place::new();
    let file = place.write("run.svg", "precious");
    let answer = place.run(&with(&["--at", "99", "--output", "run.svg"]));
    assert_eq!(answer.code, Some(2));
    assert_eq!(std::fs::read_to_string(file).expect("the file"), "precious");
}
