//! The table of keys in docs/keys.md is the program's.

use lockstep::{
    text::Lang,
    ui::keys::{KeyScope, TABLE, map::KeyMap},
};

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/keys.md"));

/// The first scope of an action, in the words of the page.
fn home(places: &[KeyScope]) -> &'static str {
    match places[0] {
        KeyScope::Lesson => "a lesson",
        KeyScope::Asked => "a question",
        KeyScope::Free => "free play",
        KeyScope::Branches => "the branches",
        KeyScope::Story | KeyScope::Lanes | KeyScope::Servers | KeyScope::Wire | KeyScope::Program => {
            "a pane"
        }
        KeyScope::Catalogue if places.contains(&KeyScope::Page) => "lists, panes, pages",
        KeyScope::Catalogue => "the catalogue",
        KeyScope::Variants => "its variants",
        KeyScope::Comparison => "before and after",
        KeyScope::Races => "races",
        KeyScope::Single => "one run of many",
        KeyScope::Exploration => "every order",
        KeyScope::States => "the states",
        KeyScope::Page => "pages",
        KeyScope::Decks => "the interview",
        KeyScope::Card => "a card",
        KeyScope::Exam => "an exam",
        KeyScope::Notes => "the notes",
        KeyScope::Kata => "the exercises",
        KeyScope::Class => "a class",
        KeyScope::Everywhere => "everywhere",
        KeyScope::Field => "while you type",
    }
}

fn table() -> String {
    let keys = KeyMap::default();
    let mut table = String::from("| key | does | where | name |\n|---|---|---|---|\n");
    for (n, row) in TABLE.iter().enumerate() {
        let labels: Vec<String> = keys.keys(n).iter().map(|chord| format!("`{}`", chord.label())).collect();
        let (keys, name) = (labels.join(" "), row.name.get(Lang::En));
        let (home, id) = (home(row.scopes), row.id);
        table.extend(["| ", &keys, " | ", name, " | ", home, " | `", id, "` |\n"]);
    }
    table
}

#[test]
fn the_page_tells_of_the_keys_that_there_are() {
    let table = table();
    assert!(PAGE.contains(&table), "the table in docs/keys.md should be:\n\n{table}");
}
