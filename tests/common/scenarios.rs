//! The carried lessons, planned with their default parameters.

use std::sync::LazyLock;

use lockstep::lesson::{Lesson, Library, Params, Scenario, Variant};

/// Read once: reading all lessons takes longer than most tests.
static LIBRARY: LazyLock<Library> = LazyLock::new(Library::carried);

/// Every variant of every lesson.
pub fn all_carried() -> Vec<Scenario> {
    carried_if(|_, _| true)
}

/// Every variant that is wanted, without planning the others: planning all of them takes seconds.
pub fn carried_if(wanted: impl Fn(&Lesson, &Variant) -> bool) -> Vec<Scenario> {
    let variants = LIBRARY.lessons.iter().flat_map(|loaded| {
        let variants = loaded.lesson.variants.iter().filter(|(_, variant)| wanted(&loaded.lesson, variant));
        variants.map(|(name, _)| Scenario::plan(loaded, name, &Params::new()).expect("it is good"))
    });
    variants.collect()
}

/// One variant of a carried lesson.
pub fn carried(lesson: &str, variant: &str) -> Scenario {
    let loaded = LIBRARY.find(lesson).expect("a carried lesson");
    Scenario::plan(loaded, variant, &Params::new()).expect("it is good")
}
