//! A story in a terminal, stepped as a learner does who answers each question in the same way.

use crate::pty::{RIGHT, Screen, Terminal};

/// Words at a question that waits for its answer.
pub const ASKED: &str = " answer, s skip";
/// What it says to somebody who goes on without one.
const ASKED_AGAIN: &str = " or s to skip";

fn is_asked(screen: &Screen) -> bool {
    screen.has(ASKED) || screen.has(ASKED_AGAIN)
}

/// Steps until a step is over, giving a key to whatever is asked on the way. Returns the screen, and how many
/// questions were asked. A question may come some pictures after the step that it follows, so it may ask twice.
#[track_caller]
pub fn step(terminal: &mut Terminal, answer: &str, over: impl Fn(&Screen) -> bool) -> (Screen, usize) {
    let mut questions = 0;
    loop {
        if is_asked(&terminal.screen()) {
            questions += 1;
            terminal.press(answer);
            terminal.wait_until("a question's answer", |screen| !is_asked(screen));
        }
        terminal.press(RIGHT);
        let screen = terminal.wait_until("the end of the step", |screen| over(screen) || is_asked(screen));
        if over(&screen) {
            return (screen, questions);
        }
    }
}
