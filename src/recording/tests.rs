//! Recordings, whole and broken.

use std::{io::Cursor, path::Path};

use super::{Recording, RecordingError, carried, looks_like_one, parse, read, write};
use crate::{
    clock::{ClockKind, LessonTime},
    lesson::{
        Params, Scenario,
        library::{Library, from_text},
    },
    log::{Event, EventKind, Log, Reply, Stop},
};

fn scenario() -> Scenario {
    let loaded = from_text("lesson.yaml", include_str!("../../assets/new-lesson.yaml")).expect("it is good");
    Scenario::plan(&loaded, "blind-del", &Params::new()).expect("it is good")
}

fn log(scenario: &Scenario) -> Log {
    let mut log = Log::new();
    let actors = scenario.actors.iter().map(|plan| plan.actor.clone()).collect();
    let ready = EventKind::LabReady {
        lesson: "my-lock".to_owned(),
        variant: "blind-del".to_owned(),
        clock: ClockKind::Recorded,
        servers: Vec::new(),
        actors,
    };
    let (op, actor, label) = (crate::log::OpId(1), crate::log::ActorId(0), "acquire".to_owned());
    let reply = Reply::Value(serde_json::json!(["OK", null, 1]));
    let kinds =
        [ready, EventKind::Replied { op, actor, label, reply }, EventKind::Stop { item: 0, stop: Stop::End }];
    for (n, kind) in (0..).zip(kinds) {
        log.append(Event { at: LessonTime::from_millis(n), kind });
    }
    log
}

fn text() -> String {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("run.jsonl");
    write(&path, &scenario(), &log(&scenario())).expect("written");
    std::fs::read_to_string(path).expect("readable")
}

fn parsed(text: &str) -> Result<Recording, RecordingError> {
    parse(Cursor::new(text.to_owned()), Path::new("run.jsonl"))
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("run.jsonl");
    write(&path, &scenario(), &log(&scenario())).expect("written");
    assert!(looks_like_one(&path));
    let recording = read(&path).expect("read");
    assert_eq!(recording.log, log(&scenario()));
    assert_eq!(
        (recording.header.lesson.as_str(), recording.header.variant.as_str()),
        ("my-lock", "blind-del")
    );
}

#[test]
fn a_recording_cut_off_anywhere_is_known_for_it() {
    let whole = text();
    for end in 0..whole.len() - 1 {
        let error = parsed(&whole[..end]).expect_err("cut off").to_string();
        assert!(error.contains("cut off") || error.contains("no recording"), "{end}: {error}");
        assert!(error.starts_with("run.jsonl:"), "{error}");
    }
}

#[test]
fn other_versions_other_files_and_damage_are_named() {
    let whole = text();
    let other = whole.replacen("\"lockstep_recording\":1", "\"lockstep_recording\":9", 1);
    assert!(matches!(parsed(&other), Err(RecordingError::OtherVersion { found: 9, .. })));
    assert!(matches!(parsed("format: 1\nid: x\n"), Err(RecordingError::NoRecording { .. })));
    let damaged = whole.replacen("\"replied\"", "\"replid\"", 1);
    let error = parsed(&damaged).expect_err("damaged").to_string();
    assert!(error.starts_with("run.jsonl:3:") && error.contains("replid"), "{error}");
}

#[test]
fn a_compressed_recording_is_read_and_known_for_being_cut_off() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("run.jsonl.gz");
    write(&path, &scenario(), &log(&scenario())).expect("written");
    assert!(looks_like_one(&path));
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
fn a_recording_of_another_text_or_cast_is_told_from_one_of_this() {
    let mut mine = parsed(&text()).expect("read");
    assert!(mine.header.belongs_to(&scenario()) && mine.fit(&scenario()).is_ok());
    let lesson = include_str!("../../assets/new-lesson.yaml").replace("work: 5s", "work: 6s");
    let loaded = from_text("lesson.yaml", &lesson).expect("it is good");
    let other = Scenario::plan(&loaded, "blind-del", &Params::new()).expect("it is good");
    assert!(!mine.header.belongs_to(&other), "another text");
    assert!(mine.fit(&other).is_ok(), "and the same cast");
    let mut renamed = parsed(&text().replace("\"name\":\"A\"", "\"name\":\"Z\"")).expect("read");
    let error = renamed.fit(&scenario()).expect_err("another cast").to_string();
    assert!(error.contains("others take part") && error.contains("--record"), "{error}");
    let old = parsed(&text().replacen("\"fingerprint\"", "\"formerly\"", 1)).expect("read");
    assert!(!old.header.belongs_to(&scenario()), "made before there were fingerprints");
}

#[test]
fn somebody_who_does_not_take_part_is_damage() {
    let strange = text().replacen("\"actor\":0", "\"actor\":7", 1);
    let error = parsed(&strange).expect_err("damaged").to_string();
    assert!(error.starts_with("run.jsonl:3:1:") && error.contains("actor 7"), "{error}");
}

#[test]
fn a_recording_with_a_fingerprint_of_the_former_kind_is_known() {
    let loaded = Library::carried().find("oversell").cloned().expect("it is carried");
    let scenario = Scenario::plan(&loaded, "lost-update", &Params::new()).expect("it is good");
    let carried = carried::open(&scenario).expect("it is carried");
    let former = carried.header.former_fingerprint.expect("made before");
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("run.jsonl");
    write(&path, &scenario, &carried.log).expect("written");
    let text = std::fs::read_to_string(&path).expect("readable");
    for (fingerprint, known) in [(former.as_str(), true), ("00", false)] {
        let text = text.replacen(&scenario.fingerprint(), fingerprint, 1);
        std::fs::write(&path, text).expect("written");
        assert_eq!(read(&path).expect("read").header.belongs_to(&scenario), known, "{fingerprint}");
    }
}
