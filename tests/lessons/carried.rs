//! Every lesson that the binary carries can be read, every variant of it can be planned, and its recording belongs to
//! it as it is now and is stepped to its verdict. What the lessons claim is proved on real servers elsewhere.

use std::collections::BTreeSet;

use lockstep::{
    lesson::{Expect, Library, Param, Params, Scenario},
    log::{EventKind, Log},
    recording::carried,
    run::session::{self, Command, Update},
    verdict::Outcome,
};

use crate::scenarios::all_carried;

/// What makes them anew, and where.
const MENDED_BY: &str = "`cargo run --release -- run --all --record assets/recordings --stale` makes it anew";

/// The carried lessons, none of them broken.
fn library() -> Library {
    let library = Library::carried();
    let broken: Vec<String> = library.broken.iter().map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
    assert!(!library.lessons.is_empty(), "no lesson is carried");
    library
}

#[test]
fn every_carried_lesson_checks() {
    let mistakes: Vec<String> = library()
        .lessons
        .iter()
        .filter_map(|loaded| loaded.check().err())
        .map(|mistake| mistake.to_string())
        .collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n\n"));
}

#[test]
fn every_claim_is_said_in_a_sentence() {
    for loaded in library().lessons {
        for (name, variant) in &loaded.lesson.variants {
            for claim in &variant.claims {
                let id = &loaded.lesson.id;
                let says = claim.says().unwrap_or_else(|| {
                    panic!("{id}, {name}: say what `{claim:?}` means, in `says: {{ en: …, zh: … }}`")
                });
                assert!(says.en.ends_with('.'), "{id}, {name}: {}", says.en);
                assert!(says.zh.ends_with('。'), "{id}, {name}: {}", says.zh);
            }
        }
    }
}

#[test]
fn every_lesson_says_what_must_never_be_so() {
    for loaded in library().lessons {
        let id = &loaded.lesson.id;
        for variant in loaded.lesson.variants.keys() {
            let scenario = Scenario::plan(&loaded, variant, &Params::new()).expect("it is good");
            assert!(!scenario.invariants.is_empty(), "{id}, {variant}");
            for invariant in &scenario.invariants {
                for text in [&invariant.says, &invariant.goal] {
                    assert!(text.en.ends_with('.'), "{id}, {variant}: {}", text.en);
                    assert!(text.zh.ends_with('。'), "{id}, {variant}: {}", text.zh);
                }
            }
        }
    }
}

#[test]
fn figures_can_be_changed() {
    let library = library();
    for (lesson, name, values) in [("oversell", "buyers", [3, 60]), ("zk-herd", "clients", [3, 900])] {
        let loaded = library.find(lesson).expect(lesson);
        for variant in loaded.lesson.variants.keys() {
            for value in values {
                let overrides = Params::from([(name.to_owned(), Param::Number(value))]);
                if let Err(mistake) = Scenario::plan(loaded, variant, &overrides) {
                    panic!("{lesson} {variant} with {name}={value}: {mistake}");
                }
            }
        }
    }
}

/// Whether a log tells what was broken in the lesson's own words.
fn says_what_was_broken(scenario: &Scenario, log: &Log) -> bool {
    log.events().iter().all(|event| match &event.kind {
        EventKind::Breached { invariant, says, .. } => *says == scenario.invariants[*invariant].says,
        _ => true,
    })
}

#[test]
fn every_recording_is_of_a_lesson_as_it_is_now() {
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for scenario in all_carried() {
        known.insert(carried::file_name(&scenario));
        match carried::open(&scenario) {
            Err(error) => wrong.push(format!("{}: {error}", carried::file_name(&scenario))),
            Ok(recording) if !says_what_was_broken(&scenario, &recording.log) => {
                wrong.push(format!(
                    "{}: other words for what was broken, which `--force` in place of `--stale` mends",
                    carried::file_name(&scenario)
                ));
            }
            Ok(_) => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} recordings are not of their lessons as they are now; {MENDED_BY}, and then commit them:\n{}",
        wrong.len(),
        known.len(),
        wrong.join("\n")
    );
    let needless: Vec<_> = carried::files().filter(|file| !known.contains(file)).collect();
    assert!(
        needless.is_empty(),
        "these recordings are of no lesson any more: cd assets/recordings && git rm {}",
        needless.join(" ")
    );
}

#[tokio::test]
async fn every_recording_is_stepped_to_the_verdict_that_its_lesson_promises() {
    for scenario in all_carried() {
        let name = carried::file_name(&scenario);
        let recording = carried::open(&scenario).unwrap_or_else(|error| panic!("{error}; {MENDED_BY}"));
        let (steps, expect) = (scenario.story.len(), scenario.variant().expect);
        let mut session = session::replay(scenario, recording.log.clone());
        let (mut log, mut verdict, mut taken) = (Log::new(), None, 0);
        let mut ended = false;
        while !ended {
            session.commands.send(Command::Step).expect("it listens");
            taken += 1;
            loop {
                match session.updates.recv().await.expect("it goes on") {
                    Update::Events(events) => log.extend(events),
                    Update::TimeRuns => {}
                    other @ (Update::Outlook(_)
                    | Update::Refused(_)
                    | Update::Silent(_)
                    | Update::Branched { .. }) => {
                        panic!("{name}: {other:?}")
                    }
                    Update::Verdict(told) => verdict = Some(told),
                    Update::Failed { message, .. } => panic!("{name}: {}", message.en),
                    Update::Stepped { ended: over } => break ended = over,
                }
            }
        }
        assert_eq!(taken, steps, "{name}: a step for each line of the story");
        assert_eq!(log, recording.log, "{name}: all of it is told");
        let promised = match expect {
            Expect::Shown => Outcome::Shown,
            Expect::Prevented => Outcome::Prevented,
        };
        let verdict = verdict.unwrap_or_else(|| panic!("{name}: no verdict"));
        assert_eq!(verdict.outcome, promised, "{name}: {verdict:?}; {MENDED_BY}");
        let count = |wanted: fn(&EventKind) -> bool| log.events().iter().filter(|e| wanted(&e.kind)).count();
        let asked = count(|kind| matches!(kind, EventKind::Asked { .. }));
        let decided = count(|kind| matches!(kind, EventKind::Decided { right, .. } if !right.is_empty()));
        assert_eq!(asked, decided, "{name}: every question is decided");
    }
}
