//! `lockstep explore` in a real terminal: its progress is shown, and Ctrl-C keeps the results so far.

use crate::{
    place::Place,
    pty::{CTRL_C, ENTER, RIGHT, Terminal},
};

/// The moves that led to a state are repeated with client processes, on a lab of its own, with the same results.
#[test]
fn the_states_are_walked_through_and_gone_on_from_by_hand() {
    let place = Place::new();
    let args =
        ["play", "oversell", "--variant", "check-then-decrement", "--set", "buyers=2", "--no-questions"];
    let mut terminal = Terminal::start(&place, &args);
    terminal.wait_for("Ready: press");
    terminal.press("X");
    terminal.wait_for("all tried");
    terminal.press("g");
    let first = terminal.wait_for("State 1 of");
    assert!(first.has("stock  \"1\"") && first.has("is before check"), "{first}");
    terminal.press(RIGHT);
    terminal.wait_for("is before buy");
    terminal.press(RIGHT);
    terminal.wait_for("A.check → A.buy");
    terminal.press(ENTER);
    // A has bought, and B has not read yet.
    let free = terminal.wait_for("answered as before");
    assert!(free.has("Free play: you choose") && free.has("1 ● A  finished"), "{free}");
    assert!(free.has("2 ■ B  check  GET stock"), "{free}");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

#[test]
fn a_search_is_followed_and_ended_half_way() {
    let place = Place::new();
    // More orders than anyone would wait for.
    let args = [
        "explore",
        "unlock-someone-elses-lock",
        "--variant",
        "blind-del",
        "--moves",
        "40",
        "--fault",
        "freeze",
        "--no-prune",
    ];
    let mut terminal = Terminal::start(&place, &args);
    let followed = terminal.wait_for("a second");
    assert!(followed.has("tried") && followed.has("%"), "{followed}");
    terminal.press(CTRL_C);
    let told = terminal.wait_for("INTERRUPTED");
    assert!(told.has("unlock-someone-elses-lock · blind-del"), "{told}");
    assert_eq!(terminal.ended(), 130);
    place.assert_nothing_left();
}
