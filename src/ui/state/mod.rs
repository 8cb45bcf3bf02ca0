//! What is on the screen, and how it changes: no drawing, no keys being pressed. It must not know how any of it looks.

pub mod answers;
pub mod branches;
pub mod catalogue;
pub mod comparing;
pub mod film;
pub mod free;
pub mod fuzzy;
pub mod learning;
pub mod outcomes;
pub mod palette;
pub mod playback;
pub mod predicting;
pub mod progress;
pub mod reading;
pub mod screen;
pub mod shelf;
