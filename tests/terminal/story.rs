//! A story in a terminal, stepped by a learner who answers each question in the same way.

use crate::pty::{RIGHT, Screen, Terminal};

/// Words of a question that waits for its answer.
pub const ASKED: &str = " answer, s skip";
/// The words after an attempt to continue without an answer.
const ASKED_AGAIN: &str = " or s to skip";

fn is_asked(screen: &Screen) -> bool {
    screen.has(ASKED) || screen.has(ASKED_AGAIN)
}

/// Steps until a step is over, and answers every question on the way with the key `answer`. Returns the screen, and the
/// number of questions. A question may appear some pictures after the step before it, so the prompt may come twice.
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
