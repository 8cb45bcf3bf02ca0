//! What is on the screen, and how it changes: no drawing, no keys being pressed. It must not know how any of it looks.

pub(crate) mod animation;
pub(crate) mod branches;
pub(crate) mod browse;
pub mod catalogue;
pub mod classroom;
pub mod comparing;
pub(crate) mod fingerprint;
pub(crate) mod free;
pub(crate) mod fuzzy;
pub mod interview;
pub mod kata;
pub(crate) mod learning;
pub(crate) mod measuring;
pub(crate) mod outcomes;
pub(crate) mod palette;
pub(crate) mod playback;
pub mod playing;
pub(crate) mod predicting;
pub(crate) mod preview;
pub(crate) mod programs;
pub mod progress;
pub(crate) mod reading;
pub mod reviews;
pub mod screen;
pub mod user_file;
pub(crate) mod walk;
