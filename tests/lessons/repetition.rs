//! No two carried lessons share a script, or a long sequence of steps: what many lessons need is a recipe.

use std::collections::BTreeMap;

use lockstep::lesson::Library;

/// The most steps in a row that two lessons may have in common: a lock is taken, its holder freezes, a rival comes.
const MOST: usize = 4;

#[test]
fn no_sequence_of_steps_stands_in_two_lessons() {
    // Of each sequence that is too long to be shared, the lesson that has it.
    let mut lessons: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut twice = Vec::new();
    for loaded in Library::carried().lessons {
        let lesson = &loaded.lesson;
        let own = lesson.variants.values().filter_map(|variant| variant.story.as_ref());
        for story in own.chain([&lesson.story]) {
            let actions = story.iter().map(|item| format!("{:?}", item.action));
            let is_step = |action: &String| !["Say(", "Ask("].iter().any(|text| action.starts_with(text));
            let steps: Vec<String> = actions.filter(is_step).collect();
            for run in steps.windows(MOST + 1) {
                let first = lessons.entry(run.to_vec()).or_insert_with(|| lesson.id.clone());
                if *first != lesson.id {
                    twice.push(format!("{first} and {}: {}", lesson.id, run.join(", ")));
                }
            }
        }
    }
    assert!(twice.is_empty(), "let one begin later, or go another way:\n{}", twice.join("\n"));
}

#[test]
fn no_script_stands_in_two_lessons() {
    let mut lessons: BTreeMap<String, String> = BTreeMap::new();
    for loaded in Library::carried().lessons {
        for (name, script) in &loaded.lesson.scripts {
            let words: Vec<&str> = script.split_whitespace().collect();
            let id = &loaded.lesson.id;
            let first = lessons.entry(words.join(" ")).or_insert_with(|| id.clone());
            assert_eq!(first, id, "`{name}` belongs into lessons/recipes.yaml");
        }
    }
}
