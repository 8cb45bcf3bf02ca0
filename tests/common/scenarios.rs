//! The lessons that the program carries, planned with their own figures.

use lockstep::lesson::{Library, Params, Scenario};

/// Every variant of every lesson.
pub fn all_carried() -> Vec<Scenario> {
    let lessons = Library::carried().lessons;
    let variants = lessons.iter().flat_map(|loaded| {
        let names = loaded.lesson.variants.keys();
        names.map(|variant| Scenario::plan(loaded, variant, &Params::new()).expect("it is good"))
    });
    variants.collect()
}

/// One of them.
pub fn carried(lesson: &str, variant: &str) -> Scenario {
    let library = Library::carried();
    let loaded = library.find(lesson).expect("a carried lesson");
    Scenario::plan(loaded, variant, &Params::new()).expect("it is good")
}
