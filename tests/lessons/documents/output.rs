//! The JSON output of commands, the document of an export and the events of a log have exactly the fields that the
//! pages describe.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use lockstep::{log::EventKind, recording};
use serde_json::{Value, json};

use super::{page, quoted, root, rows, section};
use crate::place::{Answer, NEW_LESSON, Place};

/// Compares the fields of objects with those of a table: each field is documented, and each documented field was seen.
struct Fields {
    told: BTreeSet<String>,
    seen: BTreeSet<String>,
}

impl Fields {
    fn of(section: &str, head: &str) -> Self {
        let rows = rows(section, head);
        Self {
            told: rows.iter().flat_map(|row| quoted(&row[0])).map(str::to_owned).collect(),
            seen: BTreeSet::new(),
        }
    }

    /// Checks an object. The fields inside a field are checked if any of them is documented.
    fn see(&mut self, object: &Value, within: &str) {
        for (name, value) in object.as_object().into_iter().flatten() {
            let path = format!("{within}{name}");
            assert!(self.told.contains(&path), "`{path}` is not told");
            self.seen.insert(path.clone());
            let inside = |mark: &str| {
                Some(format!("{path}{mark}"))
                    .filter(|path| self.told.iter().any(|told| told.starts_with(path)))
            };
            match (value, inside("[]."), inside(".")) {
                (Value::Array(items), Some(path), _) => items.iter().for_each(|item| self.see(item, &path)),
                (Value::Object(_), _, Some(path)) => self.see(value, &path),
                _ => {}
            }
        }
    }

    fn unseen(&self) -> BTreeSet<String> {
        &self.told - &self.seen
    }
}

fn fields(command: &str) -> Fields {
    let text = page("docs/command-line.md");
    Fields::of(section(&text, &format!("## {command}")), "`--json`")
}

/// Asserts that the output of a command has all documented fields and no others.
fn assert_told(command: &str, answers: &[Answer]) {
    let mut fields = fields(command);
    for answer in answers {
        let lines = answer.json();
        assert!(!lines.is_empty(), "{command}: {}", answer.err);
        for line in &lines {
            fields.see(line, "");
        }
    }
    assert_eq!(fields.unseen(), BTreeSet::new(), "{command}");
}

/// The output of `notes --follow` for a lesson that is being played.
fn followed(place: &Place) -> Answer {
    let playing = json!({
        "format": 1, "pid": std::process::id(), "lesson": "mine", "variant": "a", "began": 0, "step": 0,
        "title": {"en": "Mine", "zh": "我的"}, "variant_title": {"en": "A", "zh": "A"}, "notes": null,
        "script": [{"says": {"en": "A.lock", "zh": "A.lock"}, "notes": null}],
    });
    std::fs::create_dir_all(place.path().join("state/lockstep")).expect("a directory");
    place.write("state/lockstep/playing.json", playing.to_string());
    let mut follower = place.command(&["notes", "--follow", "--json"]);
    let mut follower = follower.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut out = String::new();
    let read = BufReader::new(follower.stdout.take().expect("a pipe")).read_line(&mut out);
    follower.kill().expect("it goes on until somebody ends it");
    follower.wait().expect("it ends");
    read.expect("a line");
    Answer { code: None, out, err: String::new() }
}

#[test]
fn json_has_the_fields_that_are_told() {
    let place = Place::new();
    let run = |args: &[&str]| place.run(args);
    assert_told("list", &[run(&["list", "--json"])]);
    let exam = run(&["interview", "unlock-someone-elses-lock", "--exam", "8", "--json"]);
    assert_eq!(exam.code, Some(0), "{}", exam.err);
    assert!(exam.json().iter().any(|question| question["safe"] == json!(false)), "{}", exam.out);
    assert_told("interview", &[run(&["interview", "--json"]), exam]);
    let script = [
        "run",
        "oversell",
        "--variant",
        "atomic-script",
        "--json",
        "--events",
        "--wall-clock",
        "--repeat",
        "1",
    ];
    place.write("stuck.yaml", NEW_LESSON.replacen("- move: B.acquire\n", "- move: B.release\n", 1));
    assert_told("run", &[run(&script), run(&["run", "stuck.yaml", "--json"])]);
    assert_told("eval", &[run(&["eval", "oversell", "sold", "--recorded", "--json"])]);
    assert_told(
        "race",
        &[run(&["race", "oversell", "--variant", "check-then-decrement", "-n", "1", "--json"])],
    );
    let explore = ["explore", "oversell", "--variant", "check-then-decrement", "--set", "buyers=2", "--json"];
    assert_told("explore", &[run(&explore)]);
    assert_told("bench-locks", &[run(&["bench-locks", "redis-polling", "--hand-overs", "4", "--json"])]);
    let export = ["export", "zk-herd", "--recorded", "--output", "herd.svg", "--json"];
    assert_told("export", &[run(&export)]);
    place.write("bad.yaml", "format: 1\n");
    let new = run(&["new", "good"]);
    assert_eq!(new.code, Some(0), "{}", new.err);
    assert_told("check", &[run(&["check", "good.yaml", "bad.yaml", "--json"])]);
    let noted = std::fs::read_to_string(place.path().join("good.yaml")).expect("it was written");
    place.write("noted.yaml", format!("notes: Ask first.\n{noted}"));
    assert_told("notes", &[run(&["notes", "noted.yaml", "--json"]), followed(&place)]);
    place.write("bad.toml", "lang = \"de\"\n");
    place.write("good.toml", "lang = \"zh\"\n");
    let check = |file| run(&["config", "--check", "--config", file, "--json"]);
    assert_told("config", &[check("good.toml"), check("bad.toml")]);
    let record = r#"{"finished": true, "outcome": "shown", "right": 1, "asked": 2, "solved": 0}"#;
    std::fs::create_dir_all(place.path().join("state/lockstep")).expect("a directory");
    place.write(
        "state/lockstep/progress.json",
        format!(r#"{{"format": 1, "lessons": {{"oversell": {{"lost-update": {record}}}}}}}"#),
    );
    assert_told("progress", &[run(&["progress", "--json"])]);

    // Which fields there are depends on what is missing on the machine.
    let mut doctor = fields("doctor");
    run(&["doctor", "--json"]).json().iter().for_each(|line| doctor.see(line, ""));
    assert!(doctor.seen.contains("proof.clock"));
}

#[test]
fn the_json_document_has_the_fields_that_are_told() {
    let text = page("docs/exports.md");
    let mut fields = Fields::of(section(&text, "## Data"), "field");
    let answer = Place::new().run(&["export", "zk-herd", "--recorded", "--format", "json"]);
    let document: Value = serde_json::from_str(&answer.out).expect("a document");
    fields.see(&document, "");
    assert_eq!(fields.unseen(), BTreeSet::new());
}

/// The names that an enum accepts for its tag, from the list in its own error.
fn tags<T: serde::de::DeserializeOwned>(tag: &str) -> BTreeSet<String> {
    let unknown = serde_json::json!({ tag: "?" });
    let error = match serde_json::from_value::<T>(unknown) {
        Ok(_) => panic!("`?` is no name"),
        Err(error) => error.to_string(),
    };
    quoted(&error).filter(|name| *name != "?").map(str::to_owned).collect()
}

#[test]
fn recordings_have_the_fields_and_events_that_are_told() {
    let text = page("docs/exports.md");
    let events = rows(section(&text, "## Events"), "`event`");
    let told: BTreeSet<String> = events.iter().flat_map(|row| quoted(&row[0])).map(str::to_owned).collect();
    assert_eq!(told, tags::<EventKind>("event"));
    let faults = rows(section(&text, "## Events"), "`fault`");
    let told: BTreeSet<String> = faults.iter().flat_map(|row| quoted(&row[0])).map(str::to_owned).collect();
    assert_eq!(told, tags::<lockstep::log::Fault>("fault"));

    let lines = rows(section(&text, "### The file"), "line");
    let first: BTreeSet<&str> = quoted(&lines[0][1]).collect();

    let carried = super::files(&root().join("assets/recordings"));
    for path in carried {
        let recording = recording::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let header = serde_json::to_value(&recording.header).expect("JSON");
        for (name, _) in header.as_object().into_iter().flatten() {
            assert!(first.contains(name.as_str()), "{}: `{name}` is not told", path.display());
        }
        for event in recording.log.events() {
            let event = serde_json::to_value(event).expect("JSON");
            let (kind, fault) = (&event["event"], &event["fault"]);
            let row = |table: &[Vec<String>], name: &Value| -> BTreeSet<String> {
                let name = name.as_str().unwrap_or_default();
                let row = table.iter().find(|row| quoted(&row[0]).any(|told| told == name));
                row.into_iter().flat_map(|row| quoted(&row[1])).map(str::to_owned).collect()
            };
            let told = &row(&events, kind) | &row(&faults, fault);
            for (name, _) in event.as_object().into_iter().flatten() {
                let known = matches!(name.as_str(), "at" | "event") || told.contains(name);
                assert!(known, "{}: `{name}` of `{kind}` is not told", path.display());
            }
        }
    }
}
