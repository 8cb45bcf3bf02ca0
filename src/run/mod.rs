//! Runs: stories and free play, races, and explorations; live on real servers or from a recording.

pub mod attach;
pub mod batch;
pub mod exam;
pub mod explore;
pub(crate) mod explore_claim;
pub mod kata;
pub mod moves;
pub(crate) mod open;
pub mod race;
pub mod session;

pub use open::{LessonChoice, Runs};
