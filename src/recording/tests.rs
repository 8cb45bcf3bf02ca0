//! Recordings, valid and broken.

use std::{
    io::Cursor,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::{Recording, RecordingError, VERSION, is_recording, parse, read, write};
use crate::{
    lesson::{
        Scenario,
        testing::{self, NEW_LESSON},
    },
    log::{
        EventKind, Log, Reply, Stop,
        testing::{replied, sent},
    },
};

fn scenario() -> Scenario {
    testing::scenario(NEW_LESSON, "blind-del")
}

fn log(scenario: &Scenario) -> Log {
    let mut log = testing::log(scenario);
    log.add(replied(1, 0, "acquire", Reply::Value(serde_json::json!(["OK", null, 1]))));
    log.add(EventKind::Stop { item: 0, stop: Stop::End });
    log.finish()
}

/// A file with that log, and its directory.
fn written(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join(name);
    write(&path, &scenario(), &log(&scenario())).expect("written");
    (folder, path)
}

fn text() -> String {
    let (_folder, path) = written("run.jsonl");
    std::fs::read_to_string(path).expect("readable")
}

fn parsed(text: &str) -> Result<Recording, RecordingError> {
    parse(Cursor::new(text.to_owned()), Path::new("run.jsonl"))
}

#[test]
fn a_recording_round_trips() {
    let (_folder, path) = written("run.jsonl");
    assert!(is_recording(&path));
    let recording = read(&path).expect("read");
    assert_eq!(recording.log, log(&scenario()));
    assert_eq!(
        (recording.header.lesson.as_str(), recording.header.variant.as_str()),
        ("my-lock", "blind-del")
    );
}

#[test]
fn truncation_anywhere_is_detected() {
    let whole = text();
    for end in 0..whole.len() - 1 {
        let error = parsed(&whole[..end]).expect_err("cut off").to_string();
        assert!(error.contains("cut off") || error.contains("no recording"), "{end}: {error}");
        assert!(error.starts_with("run.jsonl:"), "{error}");
    }
}

#[test]
fn other_versions_other_files_and_damage_are_reported() {
    let whole = text();
    let other = whole.replacen("\"lockstep_recording\":2", "\"lockstep_recording\":9", 1);
    assert!(matches!(parsed(&other), Err(RecordingError::OtherVersion { found: 9, .. })));
    assert!(matches!(parsed("format: 1\nid: x\n"), Err(RecordingError::NoRecording { .. })));
    let damaged = whole.replacen("\"replied\"", "\"replid\"", 1);
    let error = parsed(&damaged).expect_err("damaged").to_string();
    assert!(error.starts_with("run.jsonl:3:") && error.contains("replid"), "{error}");
}

#[test]
fn a_truncated_compressed_recording_is_detected() {
    let (_folder, path) = written("run.jsonl.gz");
    assert!(is_recording(&path));
    let recording = read(&path).expect("read");
    assert_eq!(recording.log, log(&scenario()));
    assert!(recording.header.belongs_to(&scenario()));
    let whole = std::fs::read(&path).expect("readable");
    assert!(whole.len() < text().len(), "it is smaller");
    for end in 0..whole.len() {
        std::fs::write(&path, &whole[..end]).expect("written");
        let error = read(&path).expect_err("cut off").to_string();
        let fine = error.contains("cut off") || error.contains("no recording");
        assert!(fine, "{end} of {}: {error}", whole.len());
    }
}

#[test]
fn a_recording_of_another_text_or_other_actors_is_detected() {
    let mut mine = parsed(&text()).expect("read");
    assert!(mine.header.belongs_to(&scenario()) && mine.fit(&scenario()).is_ok());
    let other = testing::scenario(&NEW_LESSON.replace("work: 5s", "work: 6s"), "blind-del");
    assert!(!mine.header.belongs_to(&other), "another text");
    assert!(mine.fit(&other).is_ok(), "and the same cast");
    let mut renamed = parsed(&text().replace("\"name\":\"A\"", "\"name\":\"Z\"")).expect("read");
    let error = renamed.fit(&scenario()).expect_err("another cast").to_string();
    assert!(error.contains("others take part") && error.contains("--record"), "{error}");
    let old = parsed(&text().replacen("\"fingerprint\"", "\"formerly\"", 1)).expect("read");
    assert!(!old.header.belongs_to(&scenario()), "made before there were fingerprints");
}

#[test]
fn an_unknown_actor_is_damage() {
    let strange = text().replacen("\"actor\":0", "\"actor\":7", 1);
    let error = parsed(&strange).expect_err("damaged").to_string();
    assert!(error.starts_with("run.jsonl:3:1:") && error.contains("actor 7"), "{error}");
}

#[test]
fn recordings_of_format_1_read_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lessons");
    for name in ["zk-herd.predecessor", "oversell.local-lock", "watchdog.watchdog"] {
        let name = format!("{name}.jsonl.gz");
        let old = read(&folder.join("format-1").join(&name)).expect("it is read");
        let new = read(&folder.join("format-2").join(&name)).expect("it is read");
        assert_eq!(new.header.lockstep_recording, VERSION);
        assert_eq!(old.log, new.log);
    }
}

#[test]
fn operations_of_format_1_that_share_a_number_get_their_own() {
    let sent = |op: u64| {
        format!(r#"{{"at":0,"event":"sent","op":{op},"actor":0,"label":"a","server":"s","wire":"GET k"}}"#)
    };
    let replied = |op: u64| {
        format!(r#"{{"at":0,"event":"replied","op":{op},"actor":0,"label":"a","reply":{{"value":1}}}}"#)
    };
    let mut reader = super::format1::Reader::default();
    let ops = [sent(0), replied(0), sent(0), sent(7), replied(0), replied(7)].map(|line| {
        match reader.event(&line).expect("an event").kind {
            EventKind::Sent { op, .. } | EventKind::Replied { op, .. } => op.0,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(ops, [1, 1, 2, 3, 2, 3]);
}

#[test]
fn an_operation_sent_twice_is_damage() {
    let sent = |op| sent(op, 0, "redis", "acquire", "GET k");
    let scenario = scenario();
    let of = |kinds: [EventKind; 2]| {
        let ready = log(&scenario).events()[0].kind.clone();
        let log = std::iter::once(ready).chain(kinds).collect::<Log>();
        super::contradiction(&log)
    };
    assert_eq!(of([sent(1), sent(2)]), None);
    assert_eq!(of([sent(1), sent(1)]), Some((2, "operation 1 is sent twice".to_owned())));
}
