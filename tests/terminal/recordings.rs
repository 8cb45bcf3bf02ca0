//! Runs saved and opened again by the real program, without any server.

use crate::{
    place::Place,
    pty::{RIGHT, Terminal},
};

/// Records one run; returns the file's text.
fn recorded(place: &Place) -> String {
    let answer = place.run(&["run", "oversell", "--variant", "atomic-script", "--record", "run.jsonl"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    std::fs::read_to_string(place.path().join("run.jsonl")).expect("the recording")
}

#[test]
fn a_recorded_run_plays_without_a_server() {
    let place = Place::new();
    recorded(&place);
    // No server can be found.
    let variables = [("PATH", ""), ("LOCKSTEP_REDIS_SERVER", "/nowhere/redis-server")];
    let mut terminal =
        Terminal::start_with(&place, &["play", "run.jsonl", "--no-questions"], (120, 40), &variables);
    terminal.wait_for("RECORDED");
    // To the end, and from there to the verdict.
    let mut screen = terminal.screen();
    // A picture may show a move that is still in progress, so the last one before the verdict may not be seen.
    while !screen.has("PREVENTED") {
        terminal.press(RIGHT);
        screen = terminal.wait_until("another picture", |now| *now != screen);
    }
    let verdict = terminal.wait_for("PREVENTED");
    assert!(verdict.has("RECORDED"), "{verdict}");
    terminal.press("\x1b[D\x1b[D");
    terminal.wait_for("looking back");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

#[test]
fn broken_recordings_are_refused_with_their_place() {
    let place = Place::new();
    let whole = recorded(&place);
    let cases = [
        (whole[..whole.len() / 2].to_owned(), "cut off"),
        (whole.replacen("\"lockstep_recording\":2", "\"lockstep_recording\":3", 1), "format version 3"),
        (whole.replacen("\"event\":\"say\"", "\"event\":\"sing\"", 1), "damaged"),
        (
            whole.replacen("\"lesson\":\"oversell\"", "\"lesson\":\"undersell\"", 1),
            "`undersell`, which is not here",
        ),
    ];
    for (text, words) in cases {
        place.write("broken.jsonl", text);
        let answer = place.run(&["play", "broken.jsonl"]);
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(answer.err.contains(words), "{words}: {}", answer.err);
        assert!(!answer.err.contains("panicked"), "{}", answer.err);
    }
}

#[test]
fn many_runs_are_recorded_in_a_directory() {
    let place = Place::new();
    let answer = place.run(&["run", "oversell", "--record", "runs"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let file = place.path().join("runs/oversell.lost-update.jsonl.gz");
    let first = std::fs::read(&file).expect("the recording");

    // A recording that matches its lesson is kept; others are made again.
    std::fs::remove_file(place.path().join("runs/oversell.local-lock.jsonl.gz")).expect("it was there");
    place.write("runs/oversell.redis-lock.jsonl.gz", "{\"lockstep_recording\":1, damaged");
    let answer = place.run(&["run", "oversell", "--record", "runs", "--stale", "--json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let made: Vec<_> = answer.json().iter().map(|run| run["variant"].clone()).collect();
    assert_eq!(made, ["local-lock", "redis-lock"]);
    assert_eq!(std::fs::read(&file).expect("the recording"), first);
}

#[test]
fn a_recording_of_an_earlier_text_plays_and_says_so() {
    let place = Place::new();
    let whole = recorded(&place);
    place.write("old.jsonl", whole.replacen("\"fingerprint\":\"", "\"fingerprint\":\"0", 1));
    for (file, told) in [("old.jsonl", true), ("run.jsonl", false)] {
        let mut terminal = Terminal::start(&place, &["play", file]);
        let screen = terminal.wait_for("RECORDED");
        assert_eq!(screen.has("has changed since this was recorded"), told, "{screen}");
        terminal.press("Q");
        assert_eq!(terminal.ended(), 0);
    }
}

#[test]
fn a_recording_of_a_lesson_with_another_cast_is_refused() {
    let place = Place::new();
    let whole = recorded(&place);
    place.write("broken.jsonl", whole.replace("\"name\":\"A\"", "\"name\":\"Z\""));
    let answer = place.run(&["play", "broken.jsonl"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert!(answer.err.contains("others take part"), "{}", answer.err);
}
