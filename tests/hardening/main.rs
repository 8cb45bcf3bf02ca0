//! What a foreign lesson, a dying server, a signal or an odd file must not do to the user of Lockstep.
//!
//! Each module is quick by default. `./campaign` runs the same tests with the numbers of a long campaign, which it
//! passes in environment variables; `docs/hardening.md` lists them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "seeds and figures for whoever runs it")]

#[path = "../common/place.rs"]
mod place;
#[allow(dead_code, reason = "the tests of the terminal press more keys")]
#[path = "../common/pty.rs"]
mod pty;
#[path = "../common/scenarios.rs"]
mod scenarios;
#[path = "../common/texts.rs"]
mod texts;

mod child;
mod random;

mod confinement;
mod deadlines;
mod endings;
mod expressions;
mod files;
mod model;
mod output;
mod processes;
mod startup;
