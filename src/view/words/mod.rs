//! Every word that the screens say by themselves, in both languages. It must not know where a word is shown;
//! the texts of lessons are the lessons' own.

mod compare;
mod free;
mod keys;
mod lesson;
mod shelf;
mod trials;

pub use compare::*;
pub use free::*;
pub use keys::*;
pub use lesson::*;
pub use shelf::*;
pub use trials::*;

pub use crate::lesson::Words;
