//! `lockstep explore` in a real terminal: how far it is can be watched, and Ctrl-C keeps what was found.

use crate::{
    place::Place,
    pty::{CTRL_C, Terminal},
};

#[test]
fn a_search_is_followed_and_ended_half_way() {
    let place = Place::new();
    // More orders than anybody waits for.
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
