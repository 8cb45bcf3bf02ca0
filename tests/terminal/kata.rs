//! Exercises in the terminal: the learner's file is judged whenever it is saved.

use std::fs;

use rustix::process::Signal;

use crate::{
    place::Place,
    pty::{END, ENTER, Terminal, eventually},
};

const ESC: &str = "\x1b";

const WRONG: &str = "kata: take-the-lock\nprograms:\n  acquire:\n    - set: { redis: \"SETNX lock ${token}\" }\n    \
    - let: { granted: set == 1 }\n  release:\n    - release: { redis: DEL lock }\n";

#[test]
fn a_wrong_answer_is_broken_by_its_own_shortest_order_and_a_right_one_is_solved() {
    let place = Place::new();
    let dir = place.path().join("locks");
    let shown = dir.display().to_string();
    assert_eq!(place.run(&["kata", "start", &shown, "take-the-lock"]).code, Some(0));
    let file = dir.join("02-take-the-lock.yaml");
    let first = fs::read_to_string(&file).expect("it was written");
    fs::write(&file, WRONG).expect("it can be written");
    let mut terminal = Terminal::start(&place, &["kata", &shown]);
    terminal.wait_for("✗ One of two crashes");
    terminal.wait_for("crash A");
    terminal.wait_for("never got in");
    terminal.press(ENTER);
    terminal.wait_for("An order that goes wrong");
    terminal.press(END);
    terminal.wait_for("YOUR ANSWER BREAKS HERE");
    // One key leads back to the exercise.
    terminal.press("q");
    terminal.wait_for("YOUR FILE");
    // Escape has nothing to close here, and does not end the program.
    terminal.press(ESC);
    // The first of these may be taken for Alt-h, as it comes right after Escape.
    terminal.press("hhhhh");
    terminal.wait_for("There is no further hint");
    terminal.press("s");
    terminal.wait_for("Not solved yet");
    let mistaken = first.replace("GET lock", "GTE lock");
    fs::write(&file, mistaken).expect("it can be written");
    terminal.wait_for("`GTE` cannot be used here");
    // A hint for the exercise is given all the same.
    terminal.press("h");
    terminal.wait_for("What is on the server after each of your commands");
    let right = WRONG.replace(
        "set: { redis: \"SETNX lock ${token}\" }",
        "set: { redis: \"SET lock ${token} NX PX ${lease}\" }",
    );
    fs::write(&file, right.replace("set == 1", "set == 'OK'")).expect("it can be written");
    terminal.wait_for("SOLVED");
    terminal.press("q");
    assert_eq!(terminal.end().exit_code(), 0);
    terminal.assert_restored();
    assert!(place.run(&["kata"]).out.contains("✓  2"));
}

/// Starting a ZooKeeper takes longer than all orders of an answer.
#[test]
fn servers_are_ready_for_the_next_answer_and_end_with_the_screen() {
    let place = Place::new();
    let dir = place.path().join("locks");
    let shown = dir.display().to_string();
    assert_eq!(place.run(&["kata", "start", &shown, "look-who-is-first"]).code, Some(0));
    let file = dir.join("11-look-who-is-first.yaml");
    let first = fs::read_to_string(&file).expect("it was written");
    let servers = || place.processes().iter().filter(|process| process.contains("zookeeper")).count();
    for ends_by in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        fs::write(&file, &first).expect("it can be written");
        let mut terminal = Terminal::start(&place, &["kata", &shown]);
        terminal.wait_for("✗ Two clients at once");
        // One that was emptied, and a new one for the order that is shown.
        eventually("two labs are ready", || servers() == 2, || format!("{:?}", place.processes()));
        fs::write(&file, first.replace("names|sort|first", "names|by_suffix|first"))
            .expect("it can be written");
        terminal.wait_for("SOLVED");
        match ends_by {
            None => {
                terminal.press("q");
                assert_eq!(terminal.end().exit_code(), 0);
            }
            Some(signal) => {
                terminal.signal(signal);
                terminal.end();
            }
        }
        eventually(
            "nothing runs any more",
            || place.processes().is_empty(),
            || format!("{:?}", place.processes()),
        );
    }
}
