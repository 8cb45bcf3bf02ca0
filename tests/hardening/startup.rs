//! Limits of the machine, signals, and a clock that is proven before the screen says so.

use std::path::PathBuf;

use rustix::process::Signal;

use crate::{common::Place, pty::Terminal};

#[track_caller]
fn assert_nothing_left(place: &Place, when: &str) {
    assert_eq!(place.processes(), Vec::<String>::new(), "{when}");
    assert_eq!(place.left_behind(), Vec::<PathBuf>::new(), "{when}");
}

#[test]
fn every_signal_that_can_be_heard_gives_the_terminal_back() {
    let signals = [
        Signal::QUIT,
        Signal::ABORT,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::VTALARM,
        Signal::PROF,
        Signal::XCPU,
        Signal::XFSZ,
        Signal::IO,
    ];
    let place = Place::new();
    for signal in signals {
        let mut terminal = Terminal::start(&place, &["play", "oversell"]);
        terminal.wait_for("Ready: press");
        terminal.signal(signal);
        let code = i32::try_from(terminal.ended()).expect("an exit code");
        assert_eq!(code, 128 + signal.as_raw(), "as shells tell of {signal:?}");
        terminal.assert_restored();
        let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
        assert!(
            raw.contains("\x1b[?1003l") || raw.contains("\x1b[?1000l"),
            "the mouse is given back"
        );
        assert_nothing_left(&place, &format!("{signal:?}"));
    }
}
