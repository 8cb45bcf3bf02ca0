//! The table of keys in docs/keys.md is the program's.

use lockstep::{
    text::Lang,
    ui::keys::{Place, TABLE, map::KeyMap},
};

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/keys.md"));

/// Where an action is at home, as the page says it.
fn home(places: &[Place]) -> &'static str {
    match places[0] {
        Place::Lesson => "a lesson",
        Place::Asked => "a question",
        Place::Free => "free play",
        Place::Branches => "the branches",
        Place::Story | Place::Lanes | Place::Servers | Place::Wire | Place::Program => "a pane",
        Place::Catalogue if places.contains(&Place::Page) => "lists, panes, pages",
        Place::Catalogue => "the catalogue",
        Place::Variants => "its variants",
        Place::Comparison => "before and after",
        Place::Races => "races",
        Place::Single => "one run of many",
        Place::Exploration => "every order",
        Place::States => "the states",
        Place::Page => "pages",
        Place::Decks => "the interview",
        Place::Card => "a card",
        Place::Notes => "the notes",
        Place::Kata => "the exercises",
        Place::Class => "a class",
        Place::Everywhere => "everywhere",
        Place::Field => "while you type",
    }
}

fn table() -> String {
    let keys = KeyMap::default();
    let mut table = String::from("| key | does | where | name |\n|---|---|---|---|\n");
    for (n, row) in TABLE.iter().enumerate() {
        let labels: Vec<String> = keys.keys(n).iter().map(|chord| format!("`{}`", chord.label())).collect();
        let (keys, name) = (labels.join(" "), row.name.get(Lang::En));
        let (home, id) = (home(row.places), row.id);
        table.extend(["| ", &keys, " | ", name, " | ", home, " | `", id, "` |\n"]);
    }
    table
}

#[test]
fn the_page_tells_of_the_keys_that_there_are() {
    let table = table();
    assert!(PAGE.contains(&table), "the table in docs/keys.md should be:\n\n{table}");
}
