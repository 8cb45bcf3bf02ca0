//! The real program as its users have it: in a terminal, where keys are pressed and the screen is read, and its exports
//! in a browser.

#[path = "../common/place.rs"]
mod place;
#[path = "../common/pty.rs"]
mod pty;
#[path = "../common/stage.rs"]
mod stage;

mod chrome;
mod story;

mod attach;
mod carried;
mod classroom;
mod compare;
mod explore;
mod export_html;
mod free;
mod interview;
mod kata;
mod measure;
mod pictures;
mod program;
mod race;
mod recordings;
mod search;
mod teach;
