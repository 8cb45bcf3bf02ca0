//! Every carried lesson can be loaded, every variant of it can be planned, and its recording matches it and can be
//! stepped to its verdict. What the lessons claim is proved on real servers elsewhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use lockstep::{
    lesson::{Expect, Library, Param, Params, Scenario},
    log::{EventKind, Log},
    recording::carried,
    run::session::{self, SessionCommand, Update},
    verdict::Outcome,
};
use serde_yaml::Value;

use crate::scenarios::all_carried;

/// The command that makes outdated recordings again.
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

/// A lesson that sends its learners on (`see "…"`) names what it means by the title that this has today.
#[test]
fn every_title_that_a_lesson_names_is_one() {
    let library = library();
    let mut titles = BTreeSet::new();
    for loaded in &library.lessons {
        let variants = loaded.lesson.variants.values().map(|variant| &variant.title);
        for title in std::iter::once(&loaded.lesson.title).chain(variants) {
            titles.extend([title.en.as_str(), title.zh.as_str()]);
        }
    }
    for loaded in &library.lessons {
        let text = loaded.source.text().replace("\\\"", "\"");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (begins, ends) in [("see \"", '"'), ("见“", '”')] {
            for named in text.split(begins).skip(1).filter_map(|rest| rest.split(ends).next()) {
                assert!(titles.contains(named), "{}: {named}", loaded.lesson.id);
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

/// Whether a log describes every breach in the lesson's own words.
fn says_what_was_broken(scenario: &Scenario, log: &Log) -> bool {
    log.events().iter().all(|event| match &event.kind {
        EventKind::Breached { invariant, says, .. } => *says == scenario.invariants[*invariant].says,
        _ => true,
    })
}

/// The texts of a lesson's file, without spaces, split at computed values.
fn texts(source: &str) -> Vec<Vec<String>> {
    fn gather(value: &Value, texts: &mut Vec<Vec<String>>) {
        match value {
            Value::String(text) => {
                let mut pieces = text.split("${");
                let first = pieces.next().unwrap_or_default();
                let rest = pieces.map(|piece| piece.split_once('}').map_or(piece, |(_, literal)| literal));
                texts.push(std::iter::once(first).chain(rest).map(without_spaces).collect());
            }
            Value::Sequence(values) => values.iter().for_each(|value| gather(value, texts)),
            Value::Mapping(values) => values.values().for_each(|value| gather(value, texts)),
            _ => {}
        }
    }
    let mut texts = Vec::new();
    gather(&serde_yaml::from_str(source).expect("YAML"), &mut texts);
    texts
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Whether a text may have been made of these pieces.
fn is_made_of(text: &str, pieces: &[String]) -> bool {
    let [first, rest @ ..] = pieces else { return false };
    // A text that consists only of a computed value matches nothing.
    if pieces.iter().all(String::is_empty) {
        return false;
    }
    let Some(mut text) = text.strip_prefix(first.as_str()) else { return false };
    for (n, piece) in rest.iter().enumerate() {
        let last = n + 1 == rest.len();
        let Some(at) = (if last { text.rfind(piece) } else { text.find(piece) }) else { return false };
        text = &text[at + piece.len()..];
    }
    text.is_empty()
}

/// An explanation in a log that its lesson no longer has: such a difference does not make a recording outdated.
fn outdated_explanation(texts: &[Vec<String>], log: &Log) -> Option<String> {
    let explanations = log.events().iter().flat_map(|event| match &event.kind {
        EventKind::Asked { choices, .. } => choices.iter().filter_map(|choice| choice.why.as_ref()).collect(),
        EventKind::Decided { why, .. } => why.iter().collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    let mut said = explanations.flat_map(|why| [&why.en, &why.zh]);
    let is_known = |said: &&String| texts.iter().any(|pieces| is_made_of(&without_spaces(said), pieces));
    said.find(|said| !is_known(said)).cloned()
}

#[test]
fn an_explanation_is_made_of_what_a_lesson_says() {
    let texts = texts("why: { en: \"After ${lease|duration} it is over.\", zh: 过期。 }");
    for (text, known) in
        [("After 3 s it is over.", true), ("After 3 s it was over.", false), ("过期。", true)]
    {
        assert_eq!(texts.iter().any(|pieces| is_made_of(&without_spaces(text), pieces)), known, "{text}");
    }
}

#[test]
fn every_recording_is_of_a_lesson_as_it_is_now() {
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    let mut said = BTreeMap::new();
    for scenario in all_carried() {
        let name = carried::file_name(&scenario);
        let loaded = &scenario.loaded;
        let texts = said.entry(loaded.lesson.id.clone()).or_insert_with(|| texts(loaded.source.text()));
        match carried::open(&scenario) {
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(recording) if !says_what_was_broken(&scenario, &recording.log) => {
                wrong.push(format!(
                    "{name}: other words for what was broken, which `--force` in place of `--stale` mends"
                ));
            }
            Ok(recording) => {
                if let Some(other) = outdated_explanation(texts, &recording.log) {
                    wrong.push(format!(
                        "{name}: explains with words that the lesson has not, which `--force` in place of `--stale` \
                         mends: {other}"
                    ));
                }
            }
        }
        known.insert(name);
    }
    assert!(
        wrong.is_empty(),
        "{} of {} recordings are not of their lessons as they are now; {MENDED_BY}, and then commit them:\n{}",
        wrong.len(),
        known.len(),
        wrong.join("\n")
    );
    let carried = fs::read_dir("assets/recordings").expect("the recordings");
    let names = carried.map(|file| file.expect("a file").file_name().into_string().expect("its name"));
    let needless: Vec<_> = names.filter(|file| !known.contains(file)).collect();
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
        let (steps, expect) = (scenario.story.len(), scenario.variant().expects());
        let mut session = session::replay(scenario, recording.log.clone());
        let (mut log, mut verdict, mut taken) = (Log::new(), None, 0);
        let mut ended = false;
        while !ended {
            session.commands.send(SessionCommand::Step).expect("it listens");
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
                    Update::Failed(why) => panic!("{name}: {}", why.message.en),
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
