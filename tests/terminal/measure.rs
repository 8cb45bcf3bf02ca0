//! Locks measured by the real program in a real terminal: shown over the catalogue, until the user leaves.

use crate::{
    place::Place,
    pty::{CTRL_C, Terminal},
};

#[test]
fn locks_are_measured_over_the_catalogue_and_given_up_when_somebody_leaves() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("Overselling the last item");
    terminal.press("m");
    terminal.wait_for("(lock 1 of 7)");
    let measured = terminal.wait_for("hand-overs a second");
    assert!(measured.has("Redis, polling") && measured.has("█"), "{measured}");
    terminal.press("q");
    terminal.wait_until("the catalogue again", |screen| !screen.has("hand-overs a second"));
    // An unfinished measurement starts again.
    terminal.press("m");
    terminal.wait_for("(lock 1 of 7)");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}

#[test]
fn with_recordings_alone_it_is_said_that_nothing_can_be_measured() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["--recorded"]);
    terminal.wait_for("Overselling the last item");
    terminal.press("m");
    terminal.wait_for("measuring needs real servers");
    terminal.press("q");
    terminal.wait_until("the catalogue again", |screen| !screen.has("measuring needs real servers"));
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}
