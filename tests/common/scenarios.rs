//! The carried lessons, planned with their default parameters.

use std::sync::LazyLock;

use lockstep::lesson::{Library, Params, Scenario};

/// Read once: reading all lessons takes longer than most tests.
static LIBRARY: LazyLock<Library> = LazyLock::new(Library::carried);

/// Every variant of every lesson.
pub fn all_carried() -> Vec<Scenario> {
    let variants = LIBRARY.lessons.iter().flat_map(|loaded| {
        let names = loaded.lesson.variants.keys();
        names.map(|variant| Scenario::plan(loaded, variant, &Params::new()).expect("it is good"))
    });
    variants.collect()
}

/// One variant of a carried lesson.
pub fn carried(lesson: &str, variant: &str) -> Scenario {
    let loaded = LIBRARY.find(lesson).expect("a carried lesson");
    Scenario::plan(loaded, variant, &Params::new()).expect("it is good")
}
