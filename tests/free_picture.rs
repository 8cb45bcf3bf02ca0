//! The picture of free play in the README is the one that the program draws now, of a run on real servers that was
//! recorded once.
//!
//! `LOCKSTEP_RECORD=1` plays and records it anew, `LOCKSTEP_DRAW=1` draws it anew.

mod common;
mod free_support;
mod screens_support;
mod staged;

use std::path::PathBuf;

use free_support::{Free, carried, moves, pass};
use lockstep::{
    lesson::library::Library,
    log::{Choice, Event, outlook::Outlook},
    run::{LessonChoice, session::Update},
    text::Lang,
    ui::{
        app::{App, AppOptions},
        state::catalogue::{Catalogue, CatalogueEntry, CatalogueInvariant},
        theme::{Environment, Theme, ThemeName},
        view::svg,
    },
};
use ratatui::layout::Rect;
use screens_support::{FakeRuns, Stand};

const LESSON: &str = "unlock-someone-elses-lock";
const VARIANT: &str = "blind-del";

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A's lease ends, B takes the lock, and A deletes it.
async fn played() -> Free {
    let mut free = Free::begin(carried(LESSON, VARIANT)).await;
    free.all([moves(0), pass(3_000), moves(1), Choice::Timer, moves(0)])
        .await;
    free
}

/// The events, one on a line, and what may happen next on the last.
fn recorded(free: &Free) -> String {
    let events = free.log.events().iter();
    let mut lines: Vec<String> = events
        .map(|event| serde_json::to_string(event).expect("JSON"))
        .collect();
    lines.push(serde_json::to_string(&free.outlook).expect("JSON"));
    lines.join("\n") + "\n"
}

fn read(text: &str) -> (Vec<Event>, Outlook) {
    let lines: Vec<&str> = text.lines().collect();
    let (outlook, events) = lines.split_last().expect("a recording");
    let event = |line: &&str| serde_json::from_str(line).expect("an event");
    let outlook = serde_json::from_str(outlook).expect("an outlook");
    (events.iter().map(event).collect(), outlook)
}

/// The lesson as the catalogue has it.
fn catalogue() -> Catalogue {
    let library = Library::carried();
    let mut entry = CatalogueEntry::from(&library.find(LESSON).expect("carried").lesson);
    for variant in &mut entry.variants {
        let planned = carried(LESSON, &variant.name).invariants;
        let invariants = planned.into_iter().map(|invariant| CatalogueInvariant {
            says: invariant.says,
            goal: invariant.goal,
        });
        variant.invariants = invariants.collect();
    }
    Catalogue::new(vec![entry])
}

/// What the screen shows after that.
fn drawn(text: &str) -> String {
    let (events, outlook) = read(text);
    let everything = Environment {
        locale: Some("C.UTF-8"),
        many_colors: true,
        ..Environment::default()
    };
    let runs = FakeRuns::default();
    let options = AppOptions {
        lang: Lang::En,
        open: Some(LessonChoice {
            id: LESSON.into(),
            variant: VARIANT.into(),
        }),
        theme: Theme::new(ThemeName::Dark, everything),
        reduced_motion: true,
        ..AppOptions::default()
    };
    let area = Rect::new(0, 0, 120, 40);
    let mut app = App::new(catalogue(), runs.clone(), &options);
    app.resize(area);
    let mut stand = Stand {
        app,
        runs,
        now: std::time::Instant::now(),
        area,
    };
    stand.press('f');
    stand.events(events);
    stand.update(Update::Stepped { ended: false });
    stand.update(Update::Outlook(outlook));
    stand.wait(10_000);
    assert!(stand.shows("YOU BROKE IT"), "{:#?}", stand.rows());
    svg::titled(&stand.buffer(), "Free play")
}

#[tokio::test]
async fn the_picture_of_free_play_is_that_of_this_program() {
    let recording = file("tests/free-play.jsonl");
    let picture = file("assets/pictures/free-play.svg");
    if std::env::var_os("LOCKSTEP_RECORD").is_some() {
        std::fs::write(&recording, recorded(&played().await)).expect("written");
    }
    let text = std::fs::read_to_string(&recording).expect("the recording");
    let drawn = drawn(&text);
    if std::env::var_os("LOCKSTEP_DRAW").is_some() {
        std::fs::write(&picture, &drawn).expect("written");
    }
    let kept = std::fs::read_to_string(&picture).expect("the picture");
    assert!(
        kept == drawn,
        "it is drawn otherwise now; look whether it is meant to change, then draw it anew: \
         `LOCKSTEP_DRAW=1 cargo nextest run --test free_picture`"
    );
}
