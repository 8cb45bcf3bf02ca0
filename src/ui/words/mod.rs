//! All texts that the screens show by themselves, in both languages. It must not know where a text is shown; the texts
//! of lessons belong to the lessons.

pub(crate) mod catalogue;
pub(crate) mod classroom;
pub(crate) mod compare;
pub(crate) mod fault;
pub(crate) mod free;
pub(crate) mod interview;
pub(crate) mod kata;
pub(crate) mod keys;
pub(crate) mod lesson;
pub(crate) mod measured;
pub(crate) mod outcomes;

pub use catalogue::*;
pub use classroom::*;
pub use compare::*;
pub use free::*;
pub use interview::*;
pub use kata::*;
pub use keys::*;
pub use lesson::*;
pub use measured::*;
pub use outcomes::*;

pub use crate::text::Words;
