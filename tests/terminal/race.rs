//! Many races in the real program in a real terminal: followed, one of them stepped through, and ended half-way.

use crate::{
    place::Place,
    pty::{CTRL_C, DOWN, END, ENTER, RIGHT, Terminal},
};

const ESC: &str = "\x1b";

#[test]
fn a_lesson_is_raced_and_a_race_that_broke_the_lock_is_stepped_through() {
    let place = Place::new();
    let mut terminal =
        Terminal::start(&place, &["play", "oversell", "--variant", "local-lock", "--no-questions"]);
    terminal.wait_for("Ready: press");
    terminal.press("R");
    let raced = terminal.wait_for("100 of 100 races");
    // Among a hundred races on a busy machine, the clients of some may come one after the other.
    assert!(raced.has(" of 100 races went wrong ("), "{raced}");
    assert!(raced.has(": Two clients hold the mutex at the same time."), "{raced}");
    assert!(raced.has("▸ ✗ ") && raced.has(" · Two clients hold the mutex at the same time"), "{raced}");

    // To the races of the chosen outcome, and the second of them.
    terminal.press(RIGHT);
    terminal.wait_for("▸ race");
    terminal.press(DOWN);
    terminal.press(ENTER);
    let begun = terminal.wait_for("This race");
    assert!(begun.has("of 100, seed") && begun.has("Two clients hold the mutex at the same time"), "{begun}");
    assert!(!begun.has("HOLDERS AT ONCE") && begun.has("not read yet"), "{begun}");
    terminal.press(RIGHT);
    terminal.wait_for("paused  step 1/");
    terminal.press("]");
    terminal.wait_for("2 HOLDERS AT ONCE");
    terminal.press(END);
    let end = terminal.wait_for("the end  step");
    assert!(end.has("+ stock"), "what the server held is seen at the end: {end}");

    // Back to the races, whose number can be increased.
    terminal.press("q");
    terminal.wait_for("▸ race");
    terminal.press("+");
    terminal.wait_for(" of 1000 races");
    terminal.press(ESC);
    terminal.wait_until("the outcomes again", |screen| !screen.has("▸ race"));
    terminal.press(ESC);
    let lesson = terminal.wait_for("Ready: press");
    assert!(!lesson.has("races"), "{lesson}");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}

#[test]
fn what_was_counted_is_kept_when_races_are_ended_half_way() {
    for json in [false, true] {
        let place = Place::new();
        let mut args = vec!["race", "oversell", "--variant", "redis-lock", "-n", "1000000"];
        if json {
            args.push("--json");
        }
        let mut terminal = Terminal::start(&place, &args);
        let progress = terminal.wait_for(" of 1000000 races");
        assert!(progress.has("/s, ") && progress.has(" left"), "{progress}");
        terminal.press(CTRL_C);
        assert_eq!(terminal.ended(), 130);
        let screen = terminal.screen();
        if json {
            assert!(screen.says("\"complete\":false"), "{screen}");
            assert!(screen.says("\"outcome\":\"lock held, sold 1, stock = 0\""), "{screen}");
        } else {
            assert!(screen.has("lock held properly, 1 sold, stock is 0 █"), "{screen}");
            assert!(screen.has("Ended by SIGINT after") && screen.has("of 1000000 races"), "{screen}");
        }
        place.assert_nothing_left();
    }
}

#[test]
fn without_servers_it_is_said_that_races_need_them() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["play", "oversell", "--recorded"]);
    terminal.wait_for("Ready: press");
    terminal.press("R");
    let failed = terminal.wait_for("a race needs real servers");
    assert!(failed.has("failed"), "{failed}");
    terminal.press("q");
    terminal.wait_for("Ready: press");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

#[test]
fn every_order_is_tried_and_the_shortest_that_goes_wrong_is_stepped_through() {
    let place = Place::new();
    let args =
        ["play", "oversell", "--variant", "check-then-decrement", "--set", "buyers=3", "--no-questions"];
    let mut terminal = Terminal::start(&place, &args);
    terminal.wait_for("Ready: press");
    terminal.press("X");
    let found = terminal.wait_for("all tried");
    assert!(found.has("orders go wrong"), "{found}");
    assert!(found.has("More was sold than there was."), "{found}");
    terminal.press(ENTER);
    let order = terminal.wait_for("No shorter order goes wrong");
    assert!(order.has(" → "), "{order}");
    terminal.press(END);
    terminal.wait_for("the end  step");
    terminal.press("q");
    terminal.wait_for("all tried");
    terminal.press("p");
    terminal.wait_for("each of them is tried");
    terminal.wait_for("all tried");
    terminal.press("q");
    terminal.wait_for("Ready: press");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}
