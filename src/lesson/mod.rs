//! Lessons: what an author wrote, checked and resolved for a run. This module must not know how a run is carried out
//! (`run`), on which servers (the lab) or how it looks (the views).

pub(crate) mod duration;
pub(crate) mod error;
pub(crate) mod explore;
pub mod expr;
pub(crate) mod fault;
pub(crate) mod invariant;
pub mod kata;
pub(crate) mod lab_kind;
pub mod library;
pub(crate) mod load;
pub(crate) mod lua;
pub(crate) mod model;
pub mod plan;
pub(crate) mod question;
pub(crate) mod scalars;
pub(crate) mod schema;
pub(crate) mod script;
pub(crate) mod settings;
pub(crate) mod step;
pub(crate) mod story;
pub(crate) mod table;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod trust;

pub use duration::{parse_millis, parse_signed_millis};
pub use error::{LessonError, Mistake, Mistakes, Path};
pub use explore::{Explore, ExploreExpect, Failing, MOST_FAULTS, MOST_MOVES, MOVES, MayFail};
pub use invariant::Invariant;
pub use lab_kind::{LabKind, MOST_MASTERS, PRIMARY, Topology};
pub use library::Library;
pub use load::Source;
pub use model::{
    Card, Claim, Expect, FollowUp, Language, Lesson, Libraries, Param, Params, Recipe, Recipes, Shown,
    Speaks, Track, Variant,
};
pub use plan::{Loaded, Scenario};
pub use schema::schema;
pub use script::{ScriptKey, script_calls};
pub use settings::{Appendonly, Isolation, Millis, Settings};
pub use step::Step;
pub use table::Table;
pub use trust::Covered;

/// Whether a white-space separated list contains the word.
pub(crate) fn has_word(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}
