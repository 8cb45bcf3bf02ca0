//! Small lessons that tests write for themselves.

use lockstep::lesson::{Params, Scenario, library::from_text};

/// The beginning of every lesson, up to its servers.
pub const HEAD: &str = "\
format: 2
id: tried
track: redis
title: { en: Tried, zh: 试 }
summary: { en: Tried, zh: 试 }
intro: { en: Tried, zh: 试 }
minutes: 1
";

/// The beginning of a lesson's only variant.
pub const ONLY: &str = "\
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
";

/// Plans a variant of a lesson that a test has written.
#[track_caller]
pub fn planned(text: &str, variant: &str) -> Scenario {
    let loaded = from_text("lesson.yaml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Scenario::plan(&loaded, variant, &Params::new()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
