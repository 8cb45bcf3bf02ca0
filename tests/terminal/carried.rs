//! The carried recordings play, ask and answer in a terminal without any servers.

use lockstep::{
    lesson::{Library, Params, Scenario},
    log::{EventKind, Stop},
    recording::carried,
};

use crate::{
    place::{NEW_LESSON, Place},
    pty::{DOWN, ENTER, HOME, LEFT, Screen, Terminal},
    story::{self, ASKED},
};

/// Environment variables with which no server and no package manager is found.
const NOTHING: [(&str, &str); 7] = [
    ("PATH", "/nowhere"),
    ("LOCKSTEP_REDIS_SERVER", "/nowhere/redis-server"),
    ("LOCKSTEP_REDIS_SENTINEL", "/nowhere/redis-sentinel"),
    ("LOCKSTEP_JAVA", "/nowhere/java"),
    ("LOCKSTEP_ZOOKEEPER_JARS", "/nowhere/jars"),
    ("LOCKSTEP_MARIADBD", "/nowhere/mariadbd"),
    ("LOCKSTEP_ETCD", "/nowhere/etcd"),
];

const RECORDED: &str = "RECORDED";
/// One of every six lessons is played: other tests check without a terminal that each recording plays and is judged
/// alike.
const EACH: usize = 6;

/// The catalogue with nothing installed, after declining the installation.
fn without_servers(place: &Place) -> Terminal {
    let mut terminal = Terminal::start_with(place, &["--reduced-motion"], (120, 40), &NOTHING);
    let offer = terminal.wait_until("the offer, or the catalogue", |screen| {
        screen.has("Install them now? [Y/n]") || screen.has("Overselling the last item")
    });
    if offer.has("Install them now?") {
        assert!(offer.says("the lessons play from recordings"), "{offer}");
        terminal.press("n\r");
    }
    let catalogue = terminal.wait_for("Overselling the last item");
    assert!(
        catalogue.rows()[0].contains(RECORDED) && catalogue.has("doctor --install gets the servers"),
        "{catalogue}"
    );
    terminal
}

/// Steps the open lesson to its verdict; every question is answered with its first choice. Every screen on the way is
/// marked as recorded. Returns the verdict, and the number of questions.
fn to_the_verdict(terminal: &mut Terminal) -> (Screen, usize) {
    let mut questions = 0;
    let mut screen = terminal.wait_for("Ready: press");
    loop {
        assert!(screen.rows()[0].contains(RECORDED), "{screen}");
        if screen.has("Verdict") && screen.has("the end  step") {
            return (screen, questions);
        }
        let before = screen.rows()[0].clone();
        let (next, asked) = story::step(terminal, "1", |now| {
            let settled = ["paused  step", ", → verdict  step", "the end  step"];
            now.rows()[0] != before && settled.iter().any(|words| now.has(words))
        });
        questions += asked;
        screen = next;
    }
}

#[test]
fn without_servers_lessons_play_to_their_verdicts() {
    let place = Place::new();
    let mut terminal = without_servers(&place);
    let lessons = Library::carried().lessons;
    let played = lessons.len().div_ceil(EACH);
    assert!(played >= 6);
    // A long title continues in a second row.
    let chosen = |n: usize| {
        let title = &lessons[n].lesson.title.en;
        format!("▸ {}", title.get(..12).unwrap_or(title))
    };
    terminal.press(HOME);
    terminal.wait_for(&chosen(0));
    for (n, loaded) in lessons.iter().enumerate().step_by(EACH) {
        let title = &loaded.lesson.title.en;
        for below in (n + 1).saturating_sub(EACH).max(1)..=n {
            terminal.press(DOWN);
            terminal.wait_for(&chosen(below));
        }
        terminal.press(ENTER);
        let (verdict, _) = to_the_verdict(&mut terminal);
        assert!(verdict.has("FAILURE SHOWN") || verdict.has("FAILURE PREVENTED"), "{title}: {verdict}");
        // Back, the interview over it, and another variant.
        terminal.press(LEFT);
        terminal.wait_for(", → verdict  step");
        terminal.press(LEFT);
        let behind = terminal.wait_for("looking back");
        assert!(behind.rows()[0].contains(RECORDED), "{behind}");
        terminal.press("i");
        terminal.wait_for("Say your answer aloud");
        terminal.press("i");
        terminal.wait_for("looking back");
        terminal.press("v");
        let next = terminal.wait_until("the next variant", |screen| {
            screen.rows()[0].contains(" 2/") && screen.has("Ready: press")
        });
        assert!(next.rows()[0].contains(RECORDED), "{next}");
        terminal.press("q");
        terminal.wait_for("Enter open");
    }
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
    // It counts as progress: the first variants were finished, and their questions answered.
    let progress = place.run(&["progress", "--json"]).json();
    let done = |record: &&serde_json::Value| record["finished"] == true;
    assert_eq!(progress.iter().filter(done).count(), played, "{progress:?}");
    assert!(progress.iter().any(|record| record["asked"] != 0), "{progress:?}");
}

#[test]
fn an_answer_is_told_right_or_wrong_in_a_recording() {
    let place = Place::new();
    let variables = [("LOCKSTEP_REDIS_SERVER", "/nowhere/redis-server")];
    let args = ["play", "oversell", "--recorded"];
    let mut terminal = Terminal::start_with(&place, &args, (120, 40), &variables);
    terminal.wait_for("Ready: press");
    let mut asked = 0;
    while asked == 0 {
        let before = terminal.screen().rows()[0].clone();
        asked = story::step(&mut terminal, "1", |now| now.rows()[0] != before).1;
    }
    let decided =
        terminal.wait_until("the decision", |screen| screen.has("You were right") || screen.has("You said"));
    assert!(decided.rows()[0].contains(RECORDED), "{decided}");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn recorded_time_passes_and_can_be_held_in_its_middle() {
    let place = Place::new();
    // The first step of the lesson's first variant that lets time pass.
    let lesson = "setnx-without-expire";
    let library = Library::carried();
    let loaded = library.find(lesson).expect("a carried lesson");
    let variant = loaded.lesson.variants.keys().next().expect("a variant");
    let first = Scenario::plan(loaded, variant, &Params::new()).expect("it is good");
    let log = carried::open(&first).expect("a recording").log;
    let before = log.events().iter().find_map(|event| match event.kind {
        EventKind::Stop { item, stop: Stop::Passed } => Some(item),
        _ => None,
    });
    let before = before.expect("time passes in it");

    let mut terminal = Terminal::start(&place, &["play", lesson, "--recorded"]);
    terminal.wait_for("Ready: press");
    for number in 1..=before {
        story::step(&mut terminal, "s", |screen| screen.has(&format!("paused  step {number}/")));
    }
    let asks = |kind: &EventKind| matches!(kind, EventKind::Asked { item, .. } if item + 1 == before);
    if log.events().iter().any(|event| asks(&event.kind)) {
        terminal.wait_for(ASKED);
        terminal.press("s");
    }
    terminal.press("--");
    let start = terminal.wait_for("  0.25x ");
    terminal.press(" ");
    // The number of the step stays; the time beside it changes.
    let moved = |screen: &Screen, from: &Screen| {
        let words = |screen: &Screen| screen.rows()[0].split("step").nth(1).map(str::to_owned);
        screen.has("playing") && words(screen) != words(from)
    };
    terminal.wait_until("time passes", |now| moved(now, &start));
    terminal.press(" ");
    let held = terminal.wait_for("held in mid-step");
    assert!(held.rows()[0].contains(RECORDED), "{held}");
    terminal.press(" ");
    terminal.wait_until("it goes on", |now| moved(now, &held));
    terminal.press(" ");
    terminal.wait_for("held in mid-step");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn each_lesson_is_live_or_recorded_by_what_its_lab_needs() {
    let place = Place::new();
    // Redis is installed and Java is not.
    let variables = [("LOCKSTEP_JAVA", "/nowhere/java")];
    let mut terminal = Terminal::start_with(&place, &["play", "oversell"], (120, 40), &variables);
    let live = terminal.wait_for("Ready: press");
    assert!(live.has("CONTROLLED CLOCK"), "{live}");
    terminal.press("q");
    terminal.wait_for("Enter open");
    assert!(!terminal.screen().has(RECORDED));
    terminal.press("/herd effect");
    terminal.wait_until("the herd, marked", |screen| screen.has("▸ The herd effect") && screen.has(RECORDED));
    terminal.press(ENTER);
    let recorded = terminal.wait_for("Ready: press");
    assert!(recorded.rows()[0].contains(RECORDED), "{recorded}");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn recordings_are_judged_headlessly_and_refused_for_other_figures() {
    let place = Place::new();
    let mut command = place.command(&["run", "--all", "--recorded", "--json"]);
    command.envs(NOTHING);
    let output = command.output().expect("lockstep starts");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{out}");
    let lessons = Library::carried().lessons;
    let variants = lessons.iter().map(|loaded| loaded.lesson.variants.len());
    assert_eq!(out.lines().count(), variants.sum::<usize>());
    assert!(out.lines().all(|line| line.contains("\"clock\":\"recorded\"")), "{out}");

    let cases: [(&[&str], &str); 3] = [
        (&["run", "oversell", "--recorded", "--set", "buyers=3"], "leave `--set`"),
        (&["play", "oversell", "--recorded", "--set", "buyers=3"], "leave `--set`"),
        (&["run", "oversell", "--recorded", "--record", "x"], "recorded already"),
    ];
    for (args, words) in cases {
        let answer = place.run(args);
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(answer.err.contains(words), "{}", answer.err);
    }
    // Without the flag a run is live, and reports what is missing and how to get it.
    let mut command = place.command(&["run", "oversell"]);
    let output = command.envs(NOTHING).output().expect("lockstep starts");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("`lockstep doctor --install`"), "{err}");
}

#[test]
fn a_lesson_of_ones_own_has_no_recording_and_says_so() {
    let place = Place::new();
    place.write("lesson.yaml", NEW_LESSON);
    let answer = place.run(&["play", "./lesson.yaml", "--recorded"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert!(answer.err.contains("carries no recording of `my-lock`"), "{}", answer.err);
}
