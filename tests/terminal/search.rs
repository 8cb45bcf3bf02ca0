//! Finding things in the real program in a real terminal: search, palette, configured keys, a configuration with
//! mistakes.

use crate::{
    place::Place,
    pty::{CTRL_C, ENTER, Terminal},
};

const CTRL_P: &str = "\x10";
const TAB: &str = "\t";
const ESC: &str = "\x1b";
const CATALOGUE: &str = "Overselling the last item";

#[test]
fn a_lesson_is_found_by_typing_and_the_palette_does_the_rest() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &[]);
    terminal.wait_for(CATALOGUE);
    terminal.press("/羊群");
    let found = terminal.wait_for("/ 羊群");
    assert!(found.has("The herd effect") && !found.has(CATALOGUE), "{found}");
    assert!(found.has("羊群效应"), "what matches is shown: {found}");
    terminal.press(ESC);
    terminal.wait_until("the catalogue again", |screen| screen.has(CATALOGUE) && !screen.has("/ 羊群"));

    terminal.press("/last item");
    terminal.wait_for("/ last item");
    terminal.press(TAB);
    terminal.wait_for("← lessons");
    terminal.press("j");
    terminal.press(ENTER);
    terminal.wait_for("then overwrite 2/5");
    terminal.wait_for("Ready: press");
    terminal.press(":next step");
    terminal.wait_for("▸ take the next step");
    terminal.press(ENTER);
    terminal.wait_for("paused  step 1/");
    terminal.press(CTRL_P);
    terminal.wait_for(" Commands ");
    terminal.press("中文");
    terminal.wait_for("▸ Language: 中文");
    terminal.press(ENTER);
    terminal.wait_for("已暂停  第 1/");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    place.assert_nothing_left();
}

#[test]
fn keys_and_defaults_of_ones_own() {
    let place = Place::new();
    place.write(
        "mine.toml",
        "lang = \"zh\"\nspeed = 2\nquestions = false\n[keys]\nstep = \"ctrl-n\"\nsearch = [\"f\", \"/\"]\n",
    );
    let mut terminal = Terminal::start(&place, &["--config", "mine.toml"]);
    let screen = terminal.wait_for("超卖：最后一件商品");
    assert!(screen.has("f 搜索"), "{screen}");
    terminal.press("f最后");
    terminal.wait_for("/ 最后");
    terminal.press(ENTER);
    let ready = terminal.wait_for("已就绪：按 Ctrl-N");
    assert!(ready.has("2x") && ready.has("Ctrl-N 下一步"), "{ready}");
    terminal.press("\x0e");
    terminal.wait_for("已暂停  第 1/");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
}

#[test]
fn a_configuration_with_mistakes_stops_nobody() {
    let place = Place::new();
    std::fs::create_dir_all(place.path().join("config/lockstep")).expect("a directory");
    place.write("config/lockstep/config.toml", "theme = \"pink\"\n[keys]\nserch = \"f\"\nhelp = \"h\"\n");
    let mut terminal = Terminal::start(&place, &[]);
    let screen = terminal.wait_for(CATALOGUE);
    assert!(screen.says("config.toml:1:9: there is no theme pink"), "{screen}");
    assert!(screen.says("and 1 more: lockstep config --check"), "{screen}");
    terminal.press("h");
    terminal.wait_for("Reading the lanes");
    terminal.press("q");
    terminal.wait_until("the catalogue, and the notice gone", |screen| {
        screen.has(CATALOGUE) && !screen.has("pink") && screen.has("/ search")
    });
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
}

#[test]
fn the_configuration_is_printed_and_checked() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let output = place.command(args).output().expect("lockstep runs");
        let words = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        (output.status.code(), words(&output.stdout), words(&output.stderr))
    };
    let (code, printed, _) = run(&["config"]);
    assert_eq!(code, Some(0));
    assert!(printed.starts_with("# Lockstep's configuration: ~/config/lockstep/config.toml\n"), "{printed}");
    let (code, out, _) = run(&["config", "--check"]);
    assert!(code == Some(0) && out.contains("does not exist"), "{out}");
    place.write("good.toml", &printed);
    let (code, out, err) = run(&["config", "--check", "--config", "good.toml"]);
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "good.toml: good\n", ""));
    place.write("bad.toml", "[keys]\nstep = [\"u\"]\nback = [\"u\"]\n");
    let (code, _, err) = run(&["config", "--check", "--config", "bad.toml"]);
    assert_eq!(code, Some(2));
    assert!(err.starts_with("bad.toml:3:9: `u` is both `step` and `back`\n  3 | back = [\"u\"]\n"), "{err}");
    let (code, out, _) = run(&["config", "--check", "--json", "--config", "bad.toml"]);
    assert!(code == Some(2) && out.contains("\"line\":3"), "{out}");
    let (code, _, err) = run(&["list", "--config", "none.toml"]);
    assert!(code == Some(2) && err.contains("none.toml cannot be read"), "{err}");
}
