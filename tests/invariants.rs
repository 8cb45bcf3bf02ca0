//! What must never be so, in every carried lesson: the story of a variant that shows a failure breaks it, and that of
//! a variant that prevents one does not. On the carried recordings, which are runs on real servers.

use lockstep::{
    lesson::{Expect, Library, Params, Scenario},
    log::Log,
    recording::carried,
    verdict::{Breach, Watch, breaches},
};

fn scenarios() -> Vec<(Scenario, Log)> {
    let mut scenarios = Vec::new();
    for loaded in &Library::carried().lessons {
        for variant in loaded.lesson.variants.keys() {
            let scenario = Scenario::plan(loaded, variant, &Params::new()).expect("it is good");
            let recording = carried::open(&scenario).unwrap_or_else(|error| panic!("{error}"));
            scenarios.push((scenario, recording.log));
        }
    }
    scenarios
}

fn name(scenario: &Scenario) -> String {
    format!("{} {}", scenario.loaded.lesson.id, scenario.variant)
}

#[test]
fn stories_of_failures_break_an_invariant_and_stories_of_fixes_keep_them_all() {
    let mut wrong = Vec::new();
    for (scenario, log) in scenarios() {
        let broken = breaches(&scenario, &log).unwrap_or_else(|error| panic!("{}: {error}", name(&scenario)));
        let told: Vec<String> = broken
            .iter()
            .map(|breach| format!("{} at {}, {:?}", scenario.invariants[breach.invariant].never, breach.at, breach.evidence))
            .collect();
        println!("{}: {told:?}", name(&scenario));
        let shown = scenario.variant().expect == Expect::Shown;
        if shown == broken.is_empty() {
            wrong.push(format!("{}: {:?}, {told:?}", name(&scenario), scenario.variant().expect));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
