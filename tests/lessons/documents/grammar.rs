//! The page on the lesson language has every word of the grammar, and its lessons are valid.

use std::collections::{BTreeMap, BTreeSet};

use lockstep::lesson::{
    LabKind, Source,
    library::{carried_recipes, from_text},
    plan::{ACTOR_FUNCTIONS, BUILTINS, FUNCTIONS, check_recipes},
    schema,
};
use serde_json::Value;

use super::{blocks, names, page, quoted, rows, section};
use crate::place::Place;

fn lessons() -> String {
    page("docs/lessons.md")
}

fn set<'n>(names: impl IntoIterator<Item = &'n str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// The names of all properties that a part of the schema allows.
fn properties(part: &Value) -> BTreeSet<String> {
    let own = part["properties"].as_object().into_iter().flatten();
    let mut all: BTreeSet<String> = own.map(|(name, _)| name.clone()).collect();
    for other in part["anyOf"].as_array().into_iter().flatten() {
        all.extend(properties(other));
    }
    all
}

/// The words that a part of the schema allows.
fn words(part: &Value) -> BTreeSet<String> {
    let choices = part["oneOf"].as_array().into_iter().flatten();
    choices.filter_map(|choice| choice["const"].as_str()).map(str::to_owned).collect()
}

#[test]
fn every_field_is_told() {
    let text = lessons();
    let schema: Value = serde_json::from_str(&schema()).expect("JSON");
    let part = |name: &str| match name {
        "Lesson" => &schema,
        name => &schema["$defs"][name],
    };
    let told = |headings: &[(&str, &str)]| -> BTreeSet<String> {
        let tables = headings.iter().map(|(heading, head)| names(section(&text, heading), head));
        tables.flatten().collect()
    };
    let both = |a: &str, b: &str| &properties(part(a)) | &properties(part(b));

    let file = told(&[("## The file", "field")]);
    assert_eq!(file, both("Lesson", "Setup"), "the file");
    for (name, heading, head) in [
        ("Client", "## Clients", "field"),
        ("Variant", "## Variants", "field"),
        ("Settings", "### Settings", "setting"),
        ("StoryItem", "## Story", "item"),
        ("Pass", "## Story", "field of `pass`"),
        ("Await", "## Story", "field of `await`"),
        ("Take", "### Notifications", "field of `take`"),
        ("OneWay", "## Faults", "field of `hold`"),
        ("Delay", "## Faults", "field of `delay`"),
        ("Ask", "## Questions", "field of `ask`"),
        ("Choice", "## Questions", "field of a choice"),
        ("Claim", "## Claims", "field"),
        ("Invariant", "## Invariants", "field"),
        ("LockSpec", "### Locks", "field"),
        ("CounterSpec", "### Other steps", "field of `counters`"),
        ("HeldLock", "### Locks", "field of `holds`"),
        ("Explore", "### What exploring must find", "field of `explore`"),
        ("Card", "## Interview cards", "field"),
    ] {
        assert_eq!(told(&[(heading, head)]), properties(part(name)), "{heading}: {head}");
    }
    let operation = told(&[("### Operations", "operation"), ("### Operations", "field")]);
    assert_eq!(operation, properties(part("RawOperation")), "operations");
    let steps = told(&[("### Other steps", "step")]);
    assert_eq!(steps, &properties(part("Step")) | &set(["stop"]), "steps");

    // Faults of clients, servers and links have a table of their own.
    let faults = told(&[("## Faults", "fault")]);
    let row = rows(section(&text, "## Story"), "item");
    let row = row.iter().find(|row| row[1].contains("#faults")).expect("the row of faults");
    assert_eq!(faults, set(quoted(&row[0])));

    for (name, heading, head, field) in [
        ("Track", "## The file", "field", "track"),
        ("Expect", "## Variants", "field", "expect"),
        ("ExploreExpect", "### What exploring must find", "field of `explore`", "expect"),
        ("WayName", "## Faults", "field of `hold`", "way"),
        ("Appendonly", "### Settings", "setting", "appendonly"),
    ] {
        let rows = rows(section(&text, heading), head);
        let row = rows.iter().find(|row| row[0] == format!("`{field}`")).expect(field);
        assert_eq!(set(quoted(&row[1])), words(part(name)), "{field}");
    }

    let labs = rows(section(&text, "## Labs"), "lab");
    assert_eq!(names(section(&text, "## Labs"), "lab"), words(part("LabKind")));
    for row in labs {
        let name = row[0].trim_matches('`');
        let lab: LabKind = serde_json::from_value(name.into()).expect(name);
        let servers: Vec<&str> = lab.servers().iter().chain(lab.sentinels()).copied().collect();
        assert_eq!(quoted(&row[1]).collect::<Vec<_>>(), servers, "{name}");
        assert_eq!(row[2], format!("`{}`", servers[0]), "{name}");
    }
}

#[test]
fn every_name_and_function_is_told() {
    let text = lessons();
    assert_eq!(names(section(&text, "### Names"), "name"), set(BUILTINS));
    let claims = section(&text, "## Claims");
    assert_eq!(names(claims, "function"), set(FUNCTIONS));
    let attributes = ACTOR_FUNCTIONS.into_iter().chain(["release"]);
    let attributes: BTreeSet<String> = attributes.map(|name| format!("A.{name}")).collect();
    assert_eq!(names(claims, "attribute"), attributes);
}

#[test]
fn every_recipe_is_told() {
    let text = lessons();
    let section = section(&text, "### Recipes");
    let recipes = carried_recipes().expect("recipes");
    let told: BTreeMap<String, Vec<String>> = rows(section, "recipe")
        .into_iter()
        .map(|row| (row[0].trim_matches('`').to_owned(), quoted(&row[1]).map(str::to_owned).collect()))
        .collect();
    let known = recipes.programs.iter().map(|(name, recipe)| (name.clone(), recipe.params.clone()));
    assert_eq!(told, known.collect());
    assert_eq!(names(section, "script"), recipes.scripts.keys().cloned().collect());
}

/// A lesson with the parts of a fragment instead of its own.
pub(crate) fn with(lesson: &str, fragment: &str) -> String {
    let parts = |text: &str| -> Vec<(String, String)> {
        let mut parts: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            match line.split_once(':') {
                Some((key, _)) if !line.starts_with([' ', '#']) => {
                    parts.push((key.to_owned(), line.to_owned()));
                }
                _ => {
                    let (_, part) = parts.last_mut().expect("a fragment begins with a field of the lesson");
                    part.push('\n');
                    part.push_str(line);
                }
            }
        }
        parts
    };
    let mut whole: BTreeMap<String, String> = parts(lesson).into_iter().collect();
    whole.extend(parts(fragment));
    whole.into_values().collect::<Vec<_>>().join("\n")
}

/// A client for each program of a fragment, if it has programs of its own and none that the frame's clients run.
fn clients_of(fragment: &str) -> String {
    let programs = fragment.lines().skip_while(|line| *line != "programs:").skip(1);
    let programs = programs.take_while(|line| line.starts_with(' '));
    let names = programs.filter_map(|line| line.strip_prefix("  ")?.split_once(':'));
    let names: Vec<&str> =
        names.map(|(name, _)| name).filter(|name| !name.starts_with([' ', '#', '-'])).collect();
    if names.is_empty() || names.contains(&"worker") {
        return String::new();
    }
    let clients: Vec<String> =
        names.iter().enumerate().map(|(n, name)| format!("  P{n}: {{ runs: {name} }}")).collect();
    format!("clients:\n{}", clients.join("\n"))
}

/// Whether a block is a whole lesson.
fn is_whole(block: &str) -> bool {
    block.starts_with("format:") && block.contains("\nid:")
}

/// The story of [`FRAME`].
const NOTHING_HAPPENS: &str = "  - pass: 1ms";

/// The lesson that fragments are run in: each replaces the parts that it names.
const FRAME: &str = r#"format: 1
id: frame
track: redis
title: { en: Frame, zh: 框架 }
summary: { en: Holds what is missing., zh: 补上缺的部分。 }
intro: { en: Nothing happens., zh: 什么也没发生。 }
minutes: 1
lab: redis
params: { lease: 3s }
clients:
  A: { runs: worker }
  B: { runs: worker }
programs:
  worker:
    - acquire: { redis: "SET lock ${token} NX PX 3000" }
    - holds: lock
    - release: { redis: DEL lock }
    - drops: lock
  buyer: [{ buy: { redis: DECR stock } }]
  work: [{ work: 1s }]
  renew: [{ wait: 1s }]
story:
  - pass: 1ms
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: shown
    lesson: { en: It is so., zh: 就是这样。 }
    claims: [herd() == 0]
"#;

/// Whole lessons prove their claims; a fragment only has to be executable.
#[test]
fn every_example_can_be_run() {
    let place = Place::new();
    let (mut whole, mut fragments) = (Vec::new(), Vec::new());
    for path in ["docs/lessons.md", "README.md"] {
        for block in blocks(&page(path), "yaml") {
            if block.starts_with("format:") && !is_whole(&block) {
                check_recipes(&Source::new(path, block)).unwrap_or_else(|error| panic!("{error}"));
                continue;
            }
            let name = format!("example{}.yaml", whole.len() + fragments.len());
            if is_whole(&block) {
                place.write(&name, block);
                whole.push(name);
                continue;
            }
            let text = with(&with(FRAME, &clients_of(&block)), &block);
            let loaded = from_text(path, &text).unwrap_or_else(|error| panic!("{error}\n{block}"));
            let clients: Vec<&str> = loaded.lesson.clients.keys().map(String::as_str).collect();
            // Without a story of its own, its programs simply run.
            let everybody = format!("  - pass: {{ for: 20s, moving: [{}] }}", clients.join(", "));
            place.write(&name, text.replace(NOTHING_HAPPENS, &everybody));
            fragments.push(name);
        }
    }
    assert!(fragments.len() > 12 && !whole.is_empty());
    for (files, codes) in [(whole, &[0][..]), (fragments, &[0, 1])] {
        let mut args = vec!["run"];
        args.extend(files.iter().map(String::as_str));
        let answer = place.run(&args);
        assert!(answer.code.is_some_and(|code| codes.contains(&code)), "{}{}", answer.out, answer.err);
    }
}

#[test]
fn the_deadlock_of_the_example_is_proven_by_its_name() {
    let page = page("docs/lessons.md");
    let example = blocks(&page, "yaml").into_iter().find(|block| block.contains("expect: deadlock"));
    let text = with(FRAME, &example.expect("an example of a deadlock"));
    let place = Place::new();
    for (expect, code) in [("deadlock", 0), ("stuck", 0), ("livelock", 1), ("lost-wakeup", 1)] {
        place.write("forks.yaml", text.replace("expect: deadlock", &format!("expect: {expect}")));
        let answer = place.run(&["run", "forks.yaml"]);
        assert_eq!(answer.code, Some(code), "{expect}: {}{}", answer.out, answer.err);
        assert!(
            answer.out.contains(&format!("explore: {expect}")) && answer.out.contains("(deadlock)"),
            "{}",
            answer.out
        );
    }
}
