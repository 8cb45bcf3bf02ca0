//! The real program in a real terminal, as a learner has it: keys are pressed and the screen is read.

use std::{process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    place::{NEW_LESSON, Place},
    pty::{CTRL_C, DOWN, END, ENTER, HOME, LEFT, RIGHT, Screen, Terminal, eventually},
    story::{self, ASKED},
};

const READY: &str = "Ready: press";
/// The number of steps of oversell's first variant.
const STEPS: usize = 15;
/// Its steps that ask a question.
const QUESTIONS: [usize; 2] = [4, 11];

/// Opens a lesson and waits until it can be stepped.
#[track_caller]
fn open(place: &Place, lesson: &str) -> Terminal {
    let terminal = Terminal::start(place, &["play", lesson]);
    terminal.wait_for(READY);
    terminal
}

/// Takes the next step and waits for its end. A question on the way is skipped.
#[track_caller]
fn step(terminal: &mut Terminal, number: usize) -> Screen {
    let end = format!("paused  step {number}/");
    story::step(terminal, "s", |screen| screen.has(&end)).0
}

/// The lesson of `lockstep new`, in whose middle three seconds pass.
fn lesson_with_a_wait(place: &Place) {
    place.write("lesson.yaml", NEW_LESSON);
}

/// Makes the program redraw everything, and asserts that the picture is the same: no earlier change has left half a
/// character or an outdated one.
#[track_caller]
fn assert_drawn_well(terminal: &mut Terminal, mark: &str) {
    let before = terminal.screen();
    terminal.wipe();
    terminal.resize(121, 40);
    terminal.wait_for(mark);
    terminal.resize(120, 40);
    terminal.wait_until(&format!("the same picture again:\n{before}"), |screen| *screen == before);
}

/// The panes of a picture: without the header and the scrubber, which also show what is ahead.
fn panes(screen: &Screen) -> Vec<String> {
    let rows = screen.rows();
    rows[1..rows.len() - 2].to_vec()
}

#[test]
fn the_catalogue_speaks_both_languages_explains_its_keys_and_gives_the_terminal_back() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &[]);
    let screen = terminal.wait_for("Overselling the last item");
    assert!(screen.has("A lock and its expiry"), "{screen}");
    assert!(screen.has("Enter open") && screen.has("q quit"), "{screen}");
    assert!(!terminal.is_cooked(), "keys arrive one by one");

    terminal.press("L");
    let chinese = terminal.wait_for("超卖：最后一件商品");
    assert!(chinese.has("加锁与过期时间") && chinese.has_wide() && !chinese.has("Overselling"), "{chinese}");
    // The recordings' charts appear little by little, and the failure is played to its end.
    let read = |row: &String| row.contains(['▁', '▄', '▓']);
    let is_lesson = |row: &&String| row.split_once("││").is_some_and(|(left, _)| left.ends_with("分钟 "));
    terminal.wait_until("every recording was read", |screen| {
        screen.has("故障回放") && screen.has("✓ C8") && screen.rows().iter().filter(is_lesson).all(read)
    });
    assert_drawn_well(&mut terminal, "加锁与过期时间");
    terminal.press("L");
    terminal.wait_until("English again", |again| again.has("A lock and its expiry") && again.has("q quit"));

    terminal.press("?");
    let help = terminal.wait_for("On every screen");
    assert!(help.says("believes that it holds the lock"), "{help}");
    terminal.press("?");
    terminal.wait_until("the catalogue again", |again| !again.has("On every screen") && again.has("q quit"));

    terminal.press("i");
    terminal.wait_for("What shall I ask?");
    terminal.press("\x1b");
    terminal
        .wait_until("the catalogue again", |again| !again.has("What shall I ask?") && again.has("q quit"));

    terminal.press(DOWN);
    terminal.wait_for("▸ A lock on a file");

    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}

#[test]
fn a_lesson_is_stepped_to_its_verdict_and_looked_back_at() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("Overselling the last item");
    terminal.press(ENTER);
    let intro = terminal.wait_for(READY);
    assert!(intro.has("Before you start") && intro.has("CONTROLLED CLOCK"), "{intro}");

    let first = step(&mut terminal, 1);
    assert!(first.says("The stock is 1. A looks first."), "{first}");
    let mut last = first.clone();
    for number in 2..STEPS {
        last = step(&mut terminal, number);
    }
    terminal.press(RIGHT);
    let end = format!(", → verdict  step {STEPS}/{STEPS}");
    assert!(terminal.wait_for(&end).says("The buyers have sold 10, and the stock is -9."));
    terminal.press(RIGHT);
    let verdict = terminal.wait_for("FAILURE SHOWN");
    assert!(
        verdict.has(&format!("the end  step {STEPS}/{STEPS}"))
            && verdict.says("Every one of the 10 buyers was sold an")
            && verdict.says("Takeaway: Every command was atomic")
            && verdict.says("v: next variant"),
        "{verdict}"
    );
    assert!(!verdict.says("sold == buyers"), "{verdict}");
    terminal.press("\r");
    let proofs = terminal.wait_for("without the proofs");
    assert!(proofs.says("sold == buyers: observed 10"), "{proofs}");

    // The first press closes the verdict and leaves the last narration, the second one steps back from that.
    terminal.press(LEFT);
    let behind = terminal.wait_for(&end);
    assert!(behind.says("The buyers have sold 10, and the stock is -9."), "{behind}");
    terminal.press(LEFT);
    let behind = terminal.wait_for(&format!("looking back  step {}/", STEPS - 1));
    assert_eq!(panes(&behind), panes(&last), "what was drawn does not change");
    terminal.press(RIGHT);
    terminal.wait_for(&end);
    terminal.press(RIGHT);
    terminal.wait_for("FAILURE SHOWN");
    terminal.press(HOME);
    terminal.wait_for("Before you start");
    terminal.press(RIGHT);
    let again = terminal.wait_for("looking back  step 1/");
    assert_eq!(again.rows()[1..5], first.rows()[1..5]);
    terminal.press(END);
    terminal.wait_for("FAILURE SHOWN");

    terminal.press("v");
    terminal.wait_until("the next variant", |screen| screen.has("then overwrite 2/5") && screen.has(READY));
    terminal.press(RIGHT);
    terminal.wait_for("paused  step 1/");
    terminal.press("V");
    terminal.wait_until("the variant before", |screen| {
        screen.has("Check, then decrement 1/5") && screen.has(READY)
    });
    terminal.press("q");
    terminal.wait_for("Enter open");
    eventually(
        "the lab is taken down with its lesson",
        || place.processes().len() == 1 && place.left_behind().is_empty(),
        || format!("{:?} {:?}", place.processes(), place.left_behind()),
    );
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}

#[test]
fn a_chinese_lesson_is_drawn_whole_to_its_end() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["play", "oversell", "--lang", "zh"]);
    terminal.wait_for("已就绪");
    for number in 1..STEPS {
        terminal.press(RIGHT);
        let screen = terminal.wait_for(&format!("已暂停  第 {number}/{STEPS} 步"));
        if QUESTIONS.contains(&number) {
            assert!(screen.has("先猜一猜") && screen.has("s 跳过"), "{screen}");
            terminal.press("1");
            terminal.wait_for("看看结果");
        }
        assert!(!screen.has("\u{fffd}") && !screen.has("\\u{"), "{screen}");
        assert_drawn_well(&mut terminal, "第");
    }
    terminal.press(RIGHT);
    terminal.wait_for("已结束，→ 看结论");
    terminal.press(RIGHT);
    let verdict = terminal.wait_for("故障如预期重现");
    assert!(verdict.has("结论") && verdict.says("要点：每条命令都是原子的"), "{verdict}");
    assert_drawn_well(&mut terminal, "结论");
    // Overlays cover wide characters and leave no halves of them behind.
    for (key, shown) in [("?", "关闭"), ("i", "参考答案")] {
        terminal.press(key);
        terminal.wait_for(shown);
        assert_drawn_well(&mut terminal, shown);
        terminal.press(key);
        terminal.wait_until("the verdict again", |screen| *screen == verdict);
    }
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_lesson_plays_changes_its_speed_and_ends_by_itself() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["play", "oversell", "--no-questions"]);
    terminal.wait_for(READY);
    terminal.press("+");
    terminal.wait_for("  2x ");
    terminal.press("-");
    terminal.wait_for("  1x ");
    terminal.press("+++++");
    terminal.wait_for("  10x ");
    terminal.press(" ");
    terminal.wait_for("playing");
    terminal.wait_for("FAILURE SHOWN");
    // From the beginning again: the recorded events are played.
    terminal.press(HOME);
    terminal.wait_for("Before you start");
    terminal.press(" ");
    terminal.wait_for("playing");
    terminal.wait_for("FAILURE SHOWN");
}

#[test]
fn a_paused_lesson_writes_nothing_and_changes_nothing() {
    let place = Place::new();
    lesson_with_a_wait(&place);
    let mut terminal = open(&place, "./lesson.yaml");
    let quiet = |terminal: &Terminal| {
        let (screen, written) = (terminal.screen(), terminal.written());
        // Real time passes here because its passing is what is tested.
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(terminal.screen(), screen, "the picture stands still");
        assert_eq!(terminal.written(), written, "not a byte is written");
    };
    for number in 1..=4 {
        step(&mut terminal, number);
    }
    quiet(&terminal);
    // The next step lets 3 s pass: slowly, so that it is certainly caught in its middle.
    terminal.press("--");
    terminal.wait_for("  0.25x ");
    terminal.press(" ");
    let start = terminal.wait_for("playing  step 4/");
    terminal.wait_until("time passes", |screen| screen.rows()[0] != start.rows()[0]);
    terminal.press(" ");
    terminal.wait_for("held in mid-step");
    quiet(&terminal);
    terminal.press(RIGHT);
    terminal.wait_until("the step goes on", |screen| !screen.has("held in mid-step"));
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

#[test]
fn a_lesson_on_zookeeper_is_stepped() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("Enter open");
    terminal.press("/herd effect");
    terminal.wait_for("▸ The herd effect");
    terminal.press(ENTER);
    let intro = terminal.wait_for(READY);
    assert!(intro.has("ZooKeeper 3."), "{intro}");
    let first = step(&mut terminal, 1);
    assert!(first.says("The lock is one ephemeral node, /lock."), "{first}");
    let created = step(&mut terminal, 2);
    assert!(created.has("create -e /lock"), "{created}");
    step(&mut terminal, 3);
    let refused = step(&mut terminal, 4);
    assert!(refused.has("NodeExists"), "{refused}");
    step(&mut terminal, 5);
    let watched = step(&mut terminal, 6);
    assert!(watched.has("1 watching"), "{watched}");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}

/// The process of this place's own `redis-server`.
fn redis_server(place: &Place) -> Pid {
    let processes = place.processes();
    let server =
        processes.iter().find(|process| process.contains("redis-server") && !process.contains("__guard"));
    let pid = server.and_then(|server| server.split(' ').next()?.parse().ok());
    pid.and_then(Pid::from_raw).unwrap_or_else(|| panic!("no redis-server: {processes:?}"))
}

#[test]
fn a_server_killed_in_mid_lesson_is_named_and_the_lesson_can_start_again() {
    let place = Place::new();
    let mut terminal = open(&place, "oversell");
    step(&mut terminal, 1);
    step(&mut terminal, 2);
    kill_process(redis_server(&place), Signal::KILL).expect("the signal is sent");
    let failed = terminal.wait_for("A server failed");
    assert!(failed.says("redis") && failed.says("SIGKILL") && failed.says("r start again"), "{failed}");
    // Earlier events can still be viewed.
    terminal.press(LEFT);
    let behind = terminal.wait_for("looking back  step 1/");
    assert!(behind.says("The stock is 1. A looks first."), "{behind}");

    terminal.press("r");
    terminal.wait_for(READY);
    step(&mut terminal, 1);
    let second = step(&mut terminal, 2);
    assert!(second.has("GET stock"), "{second}");
    assert_eq!(place.left_behind().len(), 1, "the first lab's directory is gone");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

#[test]
fn signals_and_keys_end_a_lesson_with_the_terminal_restored_and_nothing_left() {
    type Ending = (&'static str, fn(&mut Terminal), u32);
    let endings: [Ending; 4] = [
        ("SIGTERM", |terminal| terminal.signal(Signal::TERM), 143),
        ("SIGHUP", |terminal| terminal.signal(Signal::HUP), 129),
        ("SIGINT", |terminal| terminal.signal(Signal::INT), 130),
        ("Ctrl-C", |terminal| terminal.press(CTRL_C), 0),
    ];
    for (name, end, code) in endings {
        let place = Place::new();
        let mut terminal = open(&place, "oversell");
        step(&mut terminal, 1);
        step(&mut terminal, 2);
        end(&mut terminal);
        assert_eq!(terminal.ended(), code, "{name}");
        terminal.assert_restored();
        place.assert_nothing_left();
    }
}

#[test]
fn the_program_ends_while_its_servers_start() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("Enter open");
    terminal.press(&format!("{ENTER}Q"));
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}

#[test]
fn keys_pressed_faster_than_servers_start_lead_to_one_lab() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("Enter open");
    terminal.press(&format!("{ENTER}vvvvvvr"));
    // The last variant is followed by the next lesson.
    terminal.wait_until("the next lesson's second variant is ready", |screen| {
        screen.has("A file on the same machine 2/4") && screen.has(READY)
    });
    step(&mut terminal, 1);
    eventually(
        "there is one lab",
        || place.left_behind().len() == 1,
        || format!("{:?}", place.left_behind()),
    );
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

#[test]
fn a_closed_terminal_ends_the_lesson_and_leaves_nothing() {
    let place = Place::new();
    let mut terminal = open(&place, "oversell");
    step(&mut terminal, 1);
    terminal.close();
    let code = terminal.ended();
    assert_ne!(code, 101, "no panic");
    place.assert_nothing_left();
}

#[test]
fn after_sigkill_no_process_is_left_and_the_next_start_clears_the_files() {
    let place = Place::new();
    let mut terminal = open(&place, "oversell");
    step(&mut terminal, 1);
    terminal.signal(Signal::KILL);
    terminal.end();
    eventually(
        "every process is gone",
        || place.processes().is_empty(),
        || format!("{:?}", place.processes()),
    );
    assert_eq!(place.left_behind().len(), 1, "nobody had time to remove the directory");
    let left = place.left_behind();

    let mut terminal = open(&place, "oversell");
    assert_ne!(place.left_behind(), left);
    assert_eq!(place.left_behind().len(), 1, "the next start's own, {:?}", place.left_behind());
    // The killed program left the terminal on its alternate screen, and the shell wrote there. As tmux and xterm do, it
    // ignores being switched there again.
    let mut alternate_screen = vt100::Parser::new(40, 120, 0);
    alternate_screen.process(b"\x1b[1;60H$ lockstep play oversell\x1b[5;50Htyped before");
    alternate_screen.process(String::from_utf8_lossy(&terminal.raw()).replace("\x1b[?1049h", "").as_bytes());
    let contents = alternate_screen.screen().contents();
    assert!(!contents.contains("$ lockstep") && !contents.contains("typed before"), "{contents}");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

#[test]
fn a_terminal_that_lies_about_its_size_is_not_believed() {
    for size in [(0, 0), (u16::MAX, u16::MAX)] {
        let place = Place::new();
        let mut terminal = Terminal::start_with(&place, &["--recorded", "play", "oversell"], size, &[]);
        // At any claimed size it can be left.
        let taken = || terminal.raw().windows(8).any(|bytes| bytes == b"\x1b[?1049h");
        eventually("the terminal is taken over", taken, || "it is not");
        terminal.press("Q");
        assert_eq!(terminal.ended(), 0, "{size:?}");
        terminal.assert_restored();
    }
}

#[test]
fn any_size_is_survived_and_a_small_one_is_explained() {
    let place = Place::new();
    let mut terminal = open(&place, "oversell");
    step(&mut terminal, 1);
    let before = step(&mut terminal, 2);
    terminal.resize(20, 5);
    let small = terminal.wait_for("Terminal too small");
    assert!(small.says("60x16 needed, 20x5 here") && small.says("Q quits"), "{small}");
    terminal.resize(1, 1);
    terminal.wait_until("one letter", |screen| screen.rows() == ["T"]);
    // A key that would act on what cannot be seen does nothing.
    terminal.press(RIGHT);
    terminal.resize(200, 60);
    terminal.wait_for("paused  step 2/");
    let large = step(&mut terminal, 3);
    assert!(large.rows().iter().any(|row| row.chars().count() == 200), "{large}");
    terminal.press(LEFT);
    terminal.wait_for("looking back  step 2/");
    terminal.resize(120, 40);
    terminal.wait_until("the picture from before", |screen| panes(screen) == panes(&before));
    terminal.resize(60, 16);
    let least = terminal.wait_for("step 2/");
    assert!(!least.has("too small"), "{least}");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}

#[test]
fn without_a_terminal_the_program_says_what_to_do_instead() {
    let place = Place::new();
    for args in [&[][..], &["play", "oversell"]] {
        let output = place.command(args).stdin(Stdio::piped()).output().expect("lockstep starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(output.stdout.is_empty(), "{output:?}");
        assert!(error.contains("needs a terminal") && error.contains("lockstep run"), "{error}");
    }
    place.assert_nothing_left();
}

#[test]
fn a_lesson_that_does_not_exist_is_answered_with_one_that_does() {
    let place = Place::new();
    for (name, hint) in
        [("nonsense", "`lockstep list` names them all"), ("oversel", "did you mean `oversell`?")]
    {
        let mut terminal = Terminal::start(&place, &["play", name]);
        assert_eq!(terminal.ended(), 2);
        let screen = terminal.screen();
        assert!(screen.says(&format!("there is no lesson `{name}`; {hint}")), "{screen}");
        assert!(!terminal.raw().contains(&0x1b), "the screen is not taken over for it");
    }
}

/// A place without a redis-server, whose package managers only record that they were called.
struct Bare {
    place: Place,
    variables: Vec<(&'static str, String)>,
}

impl Bare {
    fn new() -> Self {
        use std::os::unix::fs::PermissionsExt;
        let place = Place::new();
        let bin = place.path().join("bin");
        std::fs::create_dir(&bin).expect("a directory");
        let note = place.path().join("installed");
        for name in ["apt-get", "sudo", "env", "brew"] {
            let path = place
                .write(&format!("bin/{name}"), format!("#!/bin/sh\necho \"$0 $@\" >>{}\n", note.display()));
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let variables = vec![
            ("LOCKSTEP_REDIS_SERVER", place.path().join("nowhere").display().to_string()),
            ("PATH", bin.display().to_string()),
        ];
        Self { place, variables }
    }

    fn start(&self, args: &[&str]) -> Terminal {
        let variables: Vec<_> = self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Terminal::start_with(&self.place, args, (120, 40), &variables)
    }

    /// The recorded calls of the package managers.
    fn installed(&self) -> Option<String> {
        std::fs::read_to_string(self.place.path().join("installed")).ok()
    }
}

#[test]
fn missing_servers_are_offered_and_a_no_leads_to_recordings() {
    let bare = Bare::new();
    let mut terminal = bare.start(&[]);
    let offer = terminal.wait_for("Install them now? [Y/n]");
    assert!(offer.says("some are missing") && offer.has("redis-server"), "{offer}");
    terminal.press("n\r");
    terminal.wait_for("Overselling the last item");
    terminal.press(ENTER);
    let recorded = terminal.wait_for(READY);
    assert!(recorded.has("RECORDED"), "{recorded}");
    terminal.press("q");
    terminal.wait_for("Enter open");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    assert_eq!(bare.installed(), None);
    bare.place.assert_nothing_left();
}

#[test]
fn an_end_of_input_is_no_consent_to_an_installation() {
    let bare = Bare::new();
    let mut terminal = bare.start(&[]);
    terminal.wait_for("Install them now?");
    terminal.press("\x04");
    terminal.wait_for("Overselling the last item");
    assert_eq!(bare.installed(), None);
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);

    let mut terminal = bare.start(&[]);
    terminal.wait_for("Install them now?");
    terminal.press(CTRL_C);
    terminal.end();
    assert_eq!(bare.installed(), None);
    assert!(terminal.is_cooked());
}

#[test]
fn a_yes_runs_what_was_announced() {
    let bare = Bare::new();
    let mut terminal = bare.start(&[]);
    terminal.wait_for("Install them now?");
    terminal.press("y\r");
    terminal.wait_for("Overselling the last item");
    let installed = bare.installed().expect("the stand-in was called");
    assert!(installed.contains("install") && installed.contains("redis-server"), "{installed}");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

/// The escape sequences that set attributes: the text between `ESC [` and `m`.
fn attributes(raw: &[u8]) -> Vec<String> {
    let raw = String::from_utf8_lossy(raw);
    raw.split("\x1b[")
        .skip(1)
        .filter_map(|rest| {
            let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
            rest[end..].starts_with('m').then(|| rest[..end].to_owned())
        })
        .collect()
}

fn is_colour(attribute: &str) -> bool {
    attribute.split(';').any(|number| {
        number.parse().is_ok_and(|number: u8| matches!(number, 30..=38 | 40..=48 | 90..=97 | 100..=107))
    })
}

#[test]
fn no_color_is_obeyed() {
    let place = Place::new();
    let walk = |variables: &[(&str, &str)]| {
        let mut terminal = Terminal::start_with(&place, &["play", "oversell"], (120, 40), variables);
        terminal.wait_for(READY);
        for number in 1..STEPS {
            step(&mut terminal, number);
        }
        terminal.press(RIGHT);
        terminal.wait_for("verdict  step");
        terminal.press(RIGHT);
        terminal.wait_for("FAILURE SHOWN");
        terminal.press("?");
        terminal.wait_for("Moving through a lesson");
        // One screen further down.
        terminal.press("\u{1b}[6~");
        terminal.wait_for("Reading the lanes");
        terminal.press("Q");
        assert_eq!(terminal.ended(), 0);
        let used = attributes(&terminal.raw());
        assert!(!used.is_empty());
        used.into_iter().filter(|used| is_colour(used)).count()
    };
    assert_eq!(walk(&[("NO_COLOR", "1")]), 0);
    assert!(walk(&[]) > 0, "colours are seen where there are some");
}

#[test]
fn a_terminal_without_utf8_gets_ascii_only() {
    let place = Place::new();
    let mut terminal = Terminal::start_with(&place, &["play", "oversell"], (120, 40), &[("LC_ALL", "C")]);
    terminal.wait_for(READY);
    for number in 1..STEPS {
        step(&mut terminal, number);
    }
    terminal.press(RIGHT);
    terminal.wait_for("verdict  step");
    terminal.press(RIGHT);
    let verdict = terminal.wait_for("FAILURE SHOWN");
    assert!(verdict.has("+ Verdict -") && verdict.says("next variant - Check"), "{verdict}");
    terminal.press("?");
    terminal.wait_for("Moving through a lesson");
    // One screen further down.
    terminal.press("\u{1b}[6~");
    terminal.wait_for("Reading the lanes");
    terminal.press("?q");
    terminal.wait_for("Enter open");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    let raw = terminal.raw();
    assert!(raw.is_ascii(), "{}", String::from_utf8_lossy(&raw));
}

#[test]
fn a_home_that_cannot_be_written_is_no_obstacle() {
    let place = Place::new();
    let file = place.write("file", "").display().to_string();
    let missing = place.path().join("missing").display().to_string();
    for home in [file, missing] {
        let state = format!("{home}/state");
        let variables = [("HOME", home.as_str()), ("XDG_STATE_HOME", state.as_str())];
        let mut terminal = Terminal::start_with(&place, &["play", "oversell"], (120, 40), &variables);
        terminal.wait_for(READY);
        step(&mut terminal, 1);
        step(&mut terminal, 2);
        terminal.press("Q");
        assert_eq!(terminal.ended(), 0, "{home}");
        terminal.assert_restored();
        place.assert_nothing_left();
    }
}

#[test]
fn predictions_are_asked_for_and_told_right_or_wrong() {
    let place = Place::new();
    let mut terminal = open(&place, "oversell");
    for number in 1..QUESTIONS[0] {
        step(&mut terminal, number);
    }
    terminal.press(RIGHT);
    let asked = terminal.wait_for(ASKED);
    assert!(
        asked.has("Your prediction")
            && asked.has("What will B read?")
            && asked.says("3. Nothing, until A is done"),
        "{asked}"
    );
    // Without an answer it does not continue.
    terminal.press(RIGHT);
    let nudged = terminal.wait_for("What do you think? 1-3, or s to skip");
    assert!(nudged.has(&format!("step {}/", QUESTIONS[0])), "{nudged}");
    terminal.press("2");
    terminal.wait_for("▸ 2. 0");
    terminal.press("1");
    let answered = terminal.wait_for("▸ 1. 1");
    assert!(answered.has("→ see what happens"), "{answered}");
    terminal.press(RIGHT);
    let right = terminal.wait_for("✓ You were right: 1");
    assert!(right.has(&format!("step {}/", QUESTIONS[0] + 1)), "{right}");
    // Back to the question, which shows the answer given, and on again without another.
    terminal.press(LEFT);
    terminal.wait_for("▸ 1. 1");
    terminal.press(RIGHT);
    terminal.wait_for("✓ You were right: 1");

    for number in QUESTIONS[0] + 2..=QUESTIONS[1] {
        step(&mut terminal, number);
    }
    terminal.press("1");
    terminal.press(RIGHT);
    let wrong = terminal.wait_for("You said: 0, the same as to A. What happened: -1");
    assert!(wrong.says("DECR subtracts one from what the server holds at that moment"), "{wrong}");
    for number in QUESTIONS[1] + 2..STEPS {
        step(&mut terminal, number);
    }
    terminal.press(RIGHT);
    terminal.wait_for("→ verdict");
    terminal.press(RIGHT);
    let verdict = terminal.wait_for("FAILURE SHOWN");
    assert!(
        verdict.has("Your predictions: 1 of 2 right")
            && verdict.has("✗ What will DECR answer to B?")
            && verdict.has("You said: 0, the same as to A."),
        "{verdict}"
    );
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

#[test]
fn questions_can_be_turned_off_and_playing_pauses_at_them() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["play", "oversell", "--no-questions"]);
    terminal.wait_for(READY);
    for number in 1..QUESTIONS[0] {
        step(&mut terminal, number);
    }
    terminal.press(RIGHT);
    let after = terminal.wait_for(&format!("paused  step {}/", QUESTIONS[0] + 1));
    assert!(after.has("Story") && !after.has("prediction"), "{after}");
    terminal.press(LEFT);
    terminal.wait_for(&format!("looking back  step {}/", QUESTIONS[0] - 1));
    terminal.press(RIGHT);
    terminal.wait_for(&format!("paused  step {}/", QUESTIONS[0] + 1));
    terminal.press("N");
    terminal.wait_for("Questions are on.");
    // The skipped question is asked when the learner comes back to it.
    terminal.press(LEFT);
    terminal.wait_for(ASKED);
    terminal.press("s");
    terminal.wait_for("skipped, →");
    terminal.press("+++++ ");
    terminal.wait_for("playing");
    let paused = terminal.wait_for(&format!("paused  step {}/", QUESTIONS[1]));
    assert!(paused.has("What will DECR answer to B?"), "{paused}");
    terminal.press("N");
    terminal.wait_for("Questions are off:");
    terminal.press(" ");
    let verdict = terminal.wait_for("FAILURE SHOWN");
    assert!(verdict.has("Your predictions: 0 of 1 right, 1 skipped"), "{verdict}");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}

/// The progress file in a place.
fn progress_file(place: &Place) -> std::path::PathBuf {
    place.path().join("state/lockstep/progress.json")
}

#[test]
fn what_was_done_is_kept_shown_and_forgotten() {
    let place = Place::new();
    let mut terminal = open(&place, "oversell");
    for number in 1..=QUESTIONS[0] {
        step(&mut terminal, number);
    }
    terminal.press("1");
    terminal.wait_for("→ see what happens");
    let kept = || -> serde_json::Value {
        let text = std::fs::read_to_string(progress_file(&place)).expect("kept");
        serde_json::from_str(&text).expect("JSON")
    };
    let record = &kept()["lessons"]["oversell"]["check-then-decrement"];
    assert_eq!((&record["asked"], &record["finished"]), (&1.into(), &false.into()));
    for number in QUESTIONS[0] + 1..STEPS {
        step(&mut terminal, number);
    }
    terminal.press(RIGHT);
    terminal.wait_for("→ verdict");
    terminal.press(RIGHT);
    terminal.wait_for("FAILURE SHOWN");
    // Looking back keeps the progress.
    terminal.press(HOME);
    terminal.wait_for("Before you start");
    terminal.press("q");
    let catalogue = terminal.wait_for("· 1/5");
    assert!(catalogue.has("done · 1 of 2 predicted"), "{catalogue}");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    assert_eq!(kept()["format"], 1);

    let answer = place.run(&["progress", "--json"]);
    let expected = serde_json::json!({
        "lesson": "oversell", "variant": "check-then-decrement", "finished": true, "outcome": "shown",
        "right": 1, "asked": 2, "solved": 0,
    });
    assert_eq!(answer.json(), [expected]);
    let answer = place.run(&["progress"]);
    assert!(answer.out.contains("✓ check-then-decrement: 1 of 2 predictions right"), "{}", answer.out);
    let refused =
        place.command(&["progress", "--reset"]).stdin(Stdio::null()).output().expect("lockstep starts");
    assert_eq!(refused.status.code(), Some(2));
    let mut terminal = Terminal::start(&place, &["progress", "--reset"]);
    terminal.wait_for("Forget all progress? [y/N]");
    terminal.press("\r");
    assert_eq!(terminal.ended(), 2);
    assert!(progress_file(&place).exists(), "only a yes is a yes");
    let answer = place.run(&["progress", "--reset", "--yes"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(!progress_file(&place).exists());
    assert_eq!(place.run(&["progress", "--json"]).out, "");
}

#[test]
fn a_damaged_file_of_progress_is_set_aside_and_a_place_that_cannot_be_written_is_told() {
    let place = Place::new();
    let file = progress_file(&place);
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(&file, "{ \"format\": 1, \"less").expect("written");
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for("set aside as progress.json.damaged-1");
    terminal.press("j");
    terminal.wait_for("Enter open");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    assert!(file.with_file_name("progress.json.damaged-1").exists() && !file.exists());

    let home = place.write("file", "").display().to_string();
    let variables = [("HOME", home.as_str()), ("XDG_STATE_HOME", home.as_str())];
    let mut terminal = Terminal::start_with(&place, &["play", "oversell"], (120, 40), &variables);
    // The first thing to be stored is which variant was opened.
    terminal.wait_for("Progress is not kept:");
    terminal.wait_for(READY);
    let next = step(&mut terminal, 1);
    assert!(!next.has("not kept"), "told once");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}
