//! Every format, made from the embedded recordings of real runs.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use ratatui::style::Color;
use serde_json::Value;

use super::{Finished, Format, Look, Moment, export, moment::ResolvedMoment, screen::Renderer};
use crate::{
    clock::LessonTime,
    lesson::{Library, Params, Scenario},
    log::{
        Belief, Event, EventKind, Log, Steps, Stop,
        testing::{LogBuilder, crowd, ready},
    },
    recording::carried,
    text::Lang,
    ui::state::{catalogue::CatalogueEntry, screen::Motion},
    verdict,
};

/// Loaded once, because loading all lessons takes longer than any export.
static LIBRARY: LazyLock<Library> = LazyLock::new(Library::carried);

fn recorded(lesson: &str, variant: &str) -> Finished {
    let loaded = LIBRARY.find(lesson).expect("a carried lesson");
    let scenario = Scenario::plan(loaded, variant, &Params::new()).expect("a variant");
    let log = carried::open(&scenario).expect("a recording").log;
    let entry = CatalogueEntry::from(&loaded.lesson);
    let place = entry.variants.iter().position(|known| known.name == variant);
    Finished {
        variant: place.expect("the variant"),
        entry,
        params: Params::new(),
        verdict: Some(verdict::judge(&scenario, &log)),
        log,
    }
}

pub(crate) fn misdelete() -> Finished {
    recorded("unlock-someone-elses-lock", "blind-del")
}

/// Every `step`th variant of the lessons.
fn all(step: usize) -> impl Iterator<Item = Finished> {
    let pairs = LIBRARY.lessons.iter().flat_map(|loaded| {
        let loaded = Arc::clone(loaded);
        let names: Vec<String> = loaded.lesson.variants.keys().cloned().collect();
        names.into_iter().map(move |name| (loaded.lesson.id.clone(), name))
    });
    pairs.step_by(step).map(|(lesson, variant)| recorded(&lesson, &variant))
}

fn made(run: &Finished, format: Format, at: Option<Moment>) -> String {
    export(run, format, at, &Look::default()).expect("the moment is there")
}

#[test]
fn moments_parse_as_the_screen_shows_them() {
    let time = |millis| Ok(Moment::Time(LessonTime::from_millis(millis)));
    for (text, moment) in [
        ("7", Ok(Moment::Step(7))),
        ("end", Ok(Moment::End)),
        ("420ms", time(420)),
        ("3.204s", time(3204)),
        ("1m05.2s", time(65_200)),
        ("2m", time(120_000)),
        ("0s", time(0)),
    ] {
        assert_eq!(text.parse(), moment, "{text}");
    }
    for text in ["", "soon", "-1", "-3s", "3x", "1e400s", "NaNs", "s", "m", "5h"] {
        let error = text.parse::<Moment>().expect_err(text);
        assert!(error.contains("write a step"), "{text}: {error}");
    }
}

#[test]
fn a_moment_is_a_step_or_a_time_of_the_run() {
    let run = misdelete();
    let found = |moment: Moment| moment.resolve(&run.log);
    let all = Steps::of(&run.log);
    let all = all.all();
    let last = all.last().expect("steps");
    assert_eq!(last.position, run.log.len(), "the story's end is in its last step");
    assert_eq!(found(Moment::Step(last.number)).expect("a step").position, run.log.len());
    assert!(found(Moment::End).expect("the end").end);
    let start = found(Moment::Step(0)).expect("the beginning").position;
    assert!(start > 0 && start < all[0].position);
    let between = found(Moment::Time(LessonTime::from_millis(1500))).expect("a time");
    assert_eq!(between.display, LessonTime::from_millis(1500));
    assert!(run.log.events()[between.position].at > between.display);
    assert!(run.log.events()[between.position - 1].at <= between.display);
    let error = found(Moment::Step(99)).expect_err("too far");
    assert!(error.en.contains("there is no step 99"), "{error:?}");
    let error = found(Moment::Time(LessonTime::from_millis(3_600_000))).expect_err("too late");
    assert!(error.en.contains("60m00.0s: the run ends at"), "{error:?}");
    let error = found(Moment::Time(LessonTime::ZERO)).expect_err("too early");
    assert!(error.en.contains("--at 0"), "{error:?}");
}

#[test]
fn a_picture_shows_nothing_after_its_moment() {
    let run = misdelete();
    let early = made(&run, Format::Svg, Some(Moment::Step(2)));
    assert!(early.contains("<title>Unlocking someone else's lock · DEL without looking</title>"));
    assert!(early.contains("step 2/"), "{early}");
    assert!(!early.contains("looking back") && !early.contains("DEL lock"), "{early}");
    let end = made(&run, Format::Svg, None);
    assert!(end.contains("FAILURE SHOWN"), "{end}");
    assert_eq!(end, made(&run, Format::Svg, Some(Moment::End)), "the same every time");
}

/// The terminal's state after a recording.
fn replayed(cast: &str, size: (u16, u16)) -> vt100::Parser {
    let mut lines = cast.lines();
    let header: Value = serde_json::from_str(lines.next().expect("a header")).expect("JSON");
    assert_eq!(header["version"], 2);
    assert_eq!(header["width"], size.0);
    let mut terminal = vt100::Parser::new(size.1, size.0, 0);
    let mut before = 0.0;
    for line in lines {
        let event: (f64, String, String) = serde_json::from_str(line).expect("an event");
        assert!(event.0 >= before, "time goes on: {line}");
        before = event.0;
        match event.1.as_str() {
            "o" => terminal.process(event.2.as_bytes()),
            other => assert_eq!(other, "m"),
        }
    }
    terminal
}

#[test]
fn a_terminal_recording_ends_in_the_picture_that_was_drawn() {
    for (run, lang, size, at) in [
        (misdelete(), Lang::En, (120, 40), Moment::End),
        (misdelete(), Lang::Zh, (80, 24), Moment::Step(9)),
        (recorded("zk-herd", "herd"), Lang::Zh, (100, 30), Moment::End),
    ] {
        let look = Look { size, lang, ..Look::default() };
        let cast = export(&run, Format::Cast, Some(at), &look).expect("the moment is there");
        let terminal = replayed(&cast, size);
        let found = at.resolve(&run.log).expect("the moment is there");
        let motion = if found.end { Motion::Paused } else { Motion::Playing };
        let drawn = Renderer::new(&run, &look).draw(found, motion, None);
        for (y, x) in (0..size.1).flat_map(|y| (0..size.0).map(move |x| (y, x))) {
            let shown = terminal.screen().cell(y, x).expect("a cell");
            if shown.is_wide_continuation() {
                continue;
            }
            let cell = &drawn[(x, y)];
            let blank = |text: &str| {
                if text.is_empty() { " ".to_owned() } else { text.to_owned() }
            };
            assert_eq!(blank(shown.contents()), cell.symbol(), "{x},{y}");
            let Color::Indexed(ground) = cell.bg else { panic!("{x},{y}: {:?}", cell.bg) };
            assert_eq!(shown.bgcolor(), vt100::Color::Idx(ground), "{x},{y}");
            if let (Color::Indexed(ink), false) = (cell.fg, cell.symbol() == " ") {
                assert_eq!(shown.fgcolor(), vt100::Color::Idx(ink), "{x},{y}");
            }
        }
    }
}

#[test]
fn a_diagram_names_all_participants_and_closes_its_blocks() {
    for run in all(1) {
        for lang in [Lang::En, Lang::Zh] {
            let look = Look { lang, ..Look::default() };
            let diagram = export(&run, Format::Mermaid, None, &look).expect("the end is there");
            let of = |words: &str| diagram.lines().filter(|line| line.trim().starts_with(words)).count();
            let ends = diagram.lines().filter(|line| line.trim() == "end").count();
            assert_eq!(of("rect "), ends, "{diagram}");
            assert_eq!(of("sequenceDiagram"), 1);
            let known: Vec<&str> = diagram
                .lines()
                .filter_map(|line| {
                    line.trim().strip_prefix("actor ").or(line.trim().strip_prefix("participant "))
                })
                .filter_map(|line| line.split(' ').next())
                .collect();
            for line in diagram.lines().filter(|line| line.contains(">>")) {
                let (from, rest) = line.trim().split_once('-').expect("an arrow");
                let to = rest.trim_start_matches(['-', '>', ')', 'x']).split(':').next().expect("an end");
                assert!(known.contains(&from) && known.contains(&to), "{line}");
            }
            // Mermaid's maximum text size.
            assert!(diagram.len() < 50_000, "{}", diagram.len());
        }
    }
    let diagram = made(&misdelete(), Format::Mermaid, None);
    assert!(diagram.contains("c0->>s0: DEL lock\n") && diagram.contains("s0-->>c0: 1\n"), "{diagram}");
}

#[test]
fn the_data_are_the_events() {
    let run = misdelete();
    let document: Value = serde_json::from_str(&made(&run, Format::Json, None)).expect("JSON");
    let events: Vec<Event> = serde_json::from_value(document["events"].clone()).expect("events");
    assert_eq!(events.len(), run.log.len());
    assert_eq!(document["verdict"]["outcome"], "shown");
    assert_eq!(document["steps"].as_array().map(Vec::len), Some(Steps::of(&run.log).all().len()));
    let early: Value = serde_json::from_str(&made(&run, Format::Json, Some(Moment::Step(3)))).expect("JSON");
    assert_eq!(early["verdict"], Value::Null);
    assert_eq!(early["steps"].as_array().map(Vec::len), Some(3));
    assert!(early["events"].as_array().map(Vec::len) < Some(events.len()));
}

#[test]
fn pages_are_one_file_and_small() {
    // Drawing all of them takes too long.
    for run in all(4) {
        let page = made(&run, Format::Html, None);
        assert_eq!(page.matches("</script>").count(), 2, "two scripts and no third");
        for outside in ["http://", "https://", "//cdn", "@import", " src=", "fetch("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.len() < 150_000, "{} of {}", page.len(), run.variant_name());
    }
}

/// The members of a crowd, each with its own texts, in three steps.
fn crowd_of(members: u32) -> Log {
    let mut log = LogBuilder::new(ready(&["zookeeper"], crowd(members))).ticking(Duration::from_micros(10));
    for (item, label) in ["create", "watch", "wake"].into_iter().enumerate() {
        for n in 0..members {
            let wire = format!("{label} /lock/n-{n:010} {}", "x".repeat(60));
            let sent = log.sends_to(n, "zookeeper", label, &wire);
            log.replies(sent, format!("/lock/n-{n:010}"));
            log.believes(n, if item == 2 { Belief::Nothing } else { Belief::Waiting });
        }
        log.add(EventKind::Stop { item, stop: Stop::Move });
    }
    log.finish()
}

#[test]
fn the_page_size_does_not_grow_with_a_crowd() {
    let with = |members| Finished { log: crowd_of(members), ..misdelete() };
    let (few, many) = (with(20), with(900));
    for (format, most) in [(Format::Html, 100_000), (Format::Mermaid, 5_000)] {
        let (small, large) = (made(&few, format, None).len(), made(&many, format, None).len());
        assert!(large < most && large < small + small / 4, "{format:?}: {small}, {large}");
    }
    let diagram = made(&many, Format::Mermaid, None);
    assert!(diagram.contains("actor c0 as W ×900"), "{diagram}");
    assert_eq!(diagram.matches("->>s0").count(), 3, "{diagram}");
    assert!(diagram.contains(" ×900\n"), "{diagram}");
}

#[test]
fn a_screen_at_any_moment_is_drawn_by_going_forward() {
    let run = misdelete();
    let look = Look::default();
    let mut renderer = Renderer::new(&run, &look);
    for step in Steps::of(&run.log).all() {
        let found = ResolvedMoment { position: step.position, display: step.at, end: false };
        let fresh = Renderer::new(&run, &look).draw(found, Motion::Paused, None);
        assert_eq!(renderer.draw(found, Motion::Paused, None), fresh, "step {}", step.number);
    }
}

#[test]
fn a_cast_is_short_and_shows_messages_in_flight() {
    for (run, speed) in [(misdelete(), 1.0), (recorded("zk-herd", "herd"), 0.25)] {
        let look = Look { speed, ..Look::default() };
        let cast = export(&run, Format::Cast, None, &look).expect("a recording");
        let times: Vec<f64> = cast
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<(f64, String, String)>(line).expect("an event").0)
            .collect();
        let second = times.iter().find(|time| **time > 0.0).expect("something happens");
        assert!(*second <= 4.0 && times.last().is_some_and(|last| *last <= 45.0), "{times:?}");
    }
    let mut marked: Vec<f64> = Vec::new();
    let cast = export(&misdelete(), Format::Cast, None, &Look::default()).expect("a recording");
    let mut between = 0;
    for line in cast.lines().skip(1) {
        let (time, kind, _) = serde_json::from_str::<(f64, String, String)>(line).expect("an event");
        match kind.as_str() {
            "m" => marked.push(time),
            // Soon after a step has begun, and before its animation ends.
            _ => between += usize::from(marked.last().is_some_and(|mark| time > *mark && time - mark < 0.4)),
        }
    }
    assert!(between > marked.len(), "{between} pictures in {} steps", marked.len());
}

#[test]
fn the_texts_of_a_cast_stay_long_enough_to_be_read() {
    let (mut texts, mut short) = (0, 0);
    for run in all(16) {
        for lang in [Lang::En, Lang::Zh] {
            let found = super::cast::tests::texts_too_short(&run, &Look { lang, ..Look::default() });
            (texts, short) = (texts + found.0, short + found.1);
        }
    }
    assert!(texts > 80 && 6 * short < texts, "{short} of {texts} are too short");
}

#[test]
fn a_diagram_has_active_lifelines_where_a_lock_is_held() {
    let diagram = made(&misdelete(), Format::Mermaid, None);
    let count = |word: &str| diagram.lines().filter(|line| line.trim_start().starts_with(word)).count();
    assert!(count("activate c0") > 0, "{diagram}");
    for actor in ["c0", "c1", "c2"] {
        let (on, off) = (count(&format!("activate {actor}")), count(&format!("deactivate {actor}")));
        assert!(on == off || on == off + 1, "{actor}: {on} {off}\n{diagram}");
    }
}
