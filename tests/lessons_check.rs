//! Every lesson that the binary carries can be read, and every variant of it can be planned. What the lessons
//! claim is proved on real servers elsewhere.

use lockstep::lesson::{Library, Param, Params, Scenario};

/// The carried lessons, none of them broken.
fn carried() -> Library {
    let library = Library::carried();
    let broken: Vec<String> = library.broken.iter().map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
    assert!(!library.lessons.is_empty(), "no lesson is carried");
    library
}

#[test]
fn every_carried_lesson_checks() {
    let mistakes: Vec<String> = carried()
        .lessons
        .iter()
        .filter_map(|loaded| loaded.check().err())
        .map(|mistake| mistake.to_string())
        .collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n\n"));
}

#[test]
fn every_claim_is_said_in_a_sentence() {
    for loaded in carried().lessons {
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
    for loaded in carried().lessons {
        let id = &loaded.lesson.id;
        assert!(loaded.lesson.invariants.is_some(), "{id} has no `invariants:`");
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
    let library = carried();
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
