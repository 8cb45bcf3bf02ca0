//! Compares two runs of one story: which moves are the same, where the runs differ first, and what happened at the same
//! lesson time. It reads two logs and nothing else: it must not know the lesson, who ran it, or the screen.

pub(crate) mod difference;
pub(crate) mod drawn;
pub(crate) mod moves;
pub(crate) mod timeline;

pub use difference::{Difference, What, first_difference};
pub(crate) use drawn::RandomValues;
pub use moves::{Consequence, Move, moves};
pub use timeline::Timeline;

#[cfg(test)]
mod tests;
