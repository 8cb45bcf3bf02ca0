//! The picture of free play in the README is the one that the program draws now, of a run on real servers that was
//! recorded once: by `lessons/free.rs`, which records it again with `LOCKSTEP_RECORD=1`. `LOCKSTEP_DRAW=1` draws it
//! again.

use std::sync::Arc;

use lockstep::{
    lesson::Library,
    log::{Event, outlook::Outlook},
    run::{LessonChoice, session::Update},
    text::Lang,
    ui::{
        app::{App, AppOptions},
        state::catalogue::{Catalogue, CatalogueEntry, VariantPlan},
        theme::{Environment, Theme, ThemeName},
        view::svg,
    },
};
use ratatui::layout::Rect;

use crate::scenarios::carried;
use crate::stand::{FakeRuns, Stand};

const LESSON: &str = "unlock-someone-elses-lock";
const VARIANT: &str = "blind-del";

fn read(text: &str) -> (Vec<Event>, Outlook) {
    let lines: Vec<&str> = text.lines().collect();
    let (outlook, events) = lines.split_last().expect("a recording");
    let event = |line: &&str| serde_json::from_str(line).expect("an event");
    let outlook = serde_json::from_str(outlook).expect("an outlook");
    (events.iter().map(event).collect(), outlook)
}

/// The lesson as it is in the catalogue.
fn catalogue() -> Catalogue {
    let library = Library::carried();
    let mut entry = CatalogueEntry::from(&library.find(LESSON).expect("carried").lesson);
    for variant in &mut entry.variants {
        variant.plan = VariantPlan::from(Arc::new(carried(LESSON, &variant.name))).into();
    }
    Catalogue::new(vec![entry])
}

/// The screen after these events.
fn drawn(text: &str) -> String {
    let (events, outlook) = read(text);
    let everything = Environment { locale: Some("C.UTF-8"), many_colors: true, ..Environment::default() };
    let runs = FakeRuns::default();
    let options = AppOptions {
        lang: Lang::En,
        open: Some(LessonChoice { id: LESSON.into(), variant: VARIANT.into() }),
        theme: Theme::new(ThemeName::Dark, everything),
        reduced_motion: true,
        ..AppOptions::default()
    };
    let mut stand = Stand {
        app: App::new(catalogue(), runs.clone(), &options),
        runs,
        now: std::time::Instant::now(),
        area: Rect::default(),
    };
    stand.resize((120, 40));
    stand.press('f');
    stand.events(events);
    stand.update(Update::Stepped { ended: false });
    stand.update(Update::Outlook(outlook));
    stand.wait(10_000);
    assert!(stand.shows("YOU BROKE IT"), "{:#?}", stand.rows());
    svg::picture(&stand.buffer(), "Free play")
}

#[test]
fn the_picture_of_free_play_is_that_of_this_program() {
    let picture = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/pictures/free-play.svg");
    let drawn = drawn(include_str!("free-play.jsonl"));
    if std::env::var_os("LOCKSTEP_DRAW").is_some() {
        std::fs::write(picture, &drawn).expect("written");
    }
    let kept = std::fs::read_to_string(picture).expect("the picture");
    assert!(
        kept == drawn,
        "it is drawn otherwise now; look whether it is meant to change, then draw it anew: \
         `LOCKSTEP_DRAW=1 cargo nextest run --test screens free_picture`"
    );
}
