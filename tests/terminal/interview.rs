//! The interview and the teacher's notes in the real program: what is remembered, what is exported, what a second
//! terminal shows.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
};

use serde_json::Value;

use crate::{
    place::{NEW_LESSON, Place},
    pty::{RIGHT, Terminal},
};

const QUESTION: &str = "Redis is single-threaded. Why do I still need a lock?";

#[test]
fn what_was_known_is_remembered_and_a_card_opens_its_step() {
    let place = Place::new();
    let start = |args: &[&str]| Terminal::start(&place, &[&["interview", "--recorded"], args].concat());
    let mut terminal = start(&["oversell"]);
    terminal.wait_for(QUESTION);
    terminal.press(" ");
    terminal.wait_for("3 good 10 min");
    terminal.press("o");
    let lesson = terminal.wait_for("RECORDED");
    assert!(lesson.has("i goes back to the interview"), "{lesson}");
    terminal.press("i");
    terminal.wait_for("3 good 10 min");
    terminal.press("1");
    terminal.wait_until("the next question", |screen| !screen.has(QUESTION) && screen.has("2 of"));
    terminal.press("qq");
    assert_eq!(terminal.ended(), 0, "it was started for the interview, and ends with it");
    terminal.assert_restored();

    let cards = place.run(&["interview", "--json", "oversell"]).json();
    let reviewed: Vec<&Value> = cards.iter().filter(|card| card["reviews"] == 1).collect();
    assert!(reviewed.len() == 1 && reviewed[0]["q"]["en"] == QUESTION && reviewed[0]["due"].is_i64());
    let due = place.run(&["interview", "--due", "--json"]);
    assert_eq!((due.code, due.out.as_str()), (Some(0), ""), "it is due in a minute: {}", due.err);
    let none = place.run(&["interview", "--article", "S99", "--json"]);
    assert_eq!((none.code, none.out.as_str()), (Some(2), ""), "{}", none.err);

    // An existing file is not overwritten.
    place.write("notes.txt", "mine");
    let export = |force: &[&str]| {
        place.run(&[&["interview", "--export", "anki", "--output", "notes.txt"], force].concat())
    };
    assert_eq!(export(&[]).code, Some(2));
    assert_eq!(export(&["--force"]).code, Some(0));
    assert_eq!(export(&[]).code, Some(0), "it is this command's own now");
    let notes = std::fs::read_to_string(place.path().join("notes.txt")).expect("written");
    let rows: Vec<&str> = notes.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(rows.len() > 40 && rows.iter().all(|row| row.split('\t').count() == 4), "{notes}");
    assert!(notes.contains(QUESTION) && notes.contains("Redis 是单线程"), "both languages");
    place.assert_nothing_left();
}

#[test]
fn a_second_terminal_follows_the_lesson_with_its_notes() {
    let place = Place::new();
    let lesson = format!("notes: Ask who has seen this.\n{NEW_LESSON}").replacen(
        "  - move: A.acquire\n",
        "  - move: A.acquire\n    notes: Stop here.\n",
        1,
    );
    place.write("noted.yaml", lesson);
    let printed = place.run(&["notes", "noted.yaml"]);
    assert!(
        printed.out.contains("Ask who has seen this.") && printed.out.contains("Stop here."),
        "{}",
        printed.out
    );

    let mut follower = place
        .command(&["notes", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("lockstep starts");
    let mut lines = BufReader::new(follower.stdout.take().expect("a pipe")).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("a line").expect("readable");
        serde_json::from_str(&line).expect("JSON")
    };
    assert_eq!(next()["lesson"], Value::Null);
    let mut terminal = Terminal::start(&place, &["play", "noted.yaml"]);
    terminal.wait_for("Ready: press");
    let opened = next();
    assert_eq!((&opened["step"], &opened["notes"]["en"]), (&0.into(), &"Ask who has seen this.".into()));
    let file = place.path().join("state/lockstep/playing.json");
    let mode = std::fs::metadata(&file).expect("it is announced").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else reads it");
    let mut beside = Terminal::start(&place, &["notes", "--follow"]);
    beside.wait_for("Ask who has seen this.");

    terminal.press(RIGHT);
    terminal.wait_for("paused  step 1/");
    let told = next();
    assert_eq!((&told["next"]["en"], &told["next_note"]["en"]), (&"A.acquire".into(), &"Stop here.".into()));
    beside.wait_for("Stop here.");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    assert_eq!(next()["lesson"], Value::Null);
    assert!(!file.exists());
    beside.wait_for("No lesson is being played");
    beside.press("q");
    assert_eq!(beside.ended(), 0);
    beside.assert_restored();
    follower.kill().expect("it runs");
    follower.wait().expect("it ends");
    place.assert_nothing_left();
}
