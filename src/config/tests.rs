use super::{Config, file};
use crate::{
    text::Lang,
    ui::{
        keys::{Action, KeyScope, TABLE, map::KeyMap},
        theme::ThemeName,
    },
};

fn parse(text: &str) -> Config {
    Config::parse("config.toml", text)
}

/// The only mistake in a text, as it is printed.
#[track_caller]
fn mistake(text: &str) -> String {
    let config = parse(text);
    assert_eq!(config.mistakes.len(), 1, "{:?}", config.mistakes);
    config.mistakes[0].to_string()
}

#[test]
fn settings_are_read() {
    let config = parse(
        "lang = \"zh\"\ntheme = \"light\"\nspeed = 2\nquestions = false\nreduced_motion = true\n\
         [keys]\nstep = \"j\"\nback = [\"y\", \"ctrl-b\"]\n",
    );
    assert_eq!(config.mistakes, vec![]);
    assert_eq!((config.lang, config.theme), (Some(Lang::Zh), Some(ThemeName::Light)));
    assert_eq!((config.speed, config.questions), (Some(2.0), Some(false)));
    assert_eq!(config.reduced_motion, Some(true));
    let scopes = [KeyScope::Lesson, KeyScope::Everywhere];
    for (key, action) in [("j", Action::Forward), ("y", Action::Back), ("ctrl-b", Action::Back)] {
        let chord = key.parse().expect(key);
        assert_eq!(config.keys.action(&scopes, chord), Some(action), "{key}");
    }
}

#[test]
fn the_printed_file_shows_the_defaults_and_every_line_parses() {
    let printed = file("~/.config/lockstep/config.toml");
    assert_eq!(parse(&printed), Config::default());
    let taken: Vec<&str> = printed
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
        .collect();
    let config = parse(&taken.join("\n"));
    assert_eq!(config.mistakes, vec![]);
    assert_eq!(config.keys, KeyMap::default());
    assert_eq!((config.lang, config.theme), (Some(Lang::En), Some(ThemeName::Auto)));
    assert_eq!((config.speed, config.questions), (Some(1.0), Some(true)));
    assert_eq!(config.reduced_motion, Some(false));
    for row in TABLE {
        assert!(printed.contains(&format!("\n#{} = [", row.id)), "{}", row.id);
    }
}

#[test]
fn mistakes_have_positions_and_help() {
    for (text, says) in [
        (
            "speed = 2\n[keys]\nstepp = \"x\"\n",
            "config.toml:3:1: unknown action `stepp`\n  3 | stepp = \"x\"\n    | ^\n  help: did you mean `step`",
        ),
        ("[keys]\nstep = [\"u\", \"spce\"]\n", "config.toml:2:14: `spce` is no key"),
        ("[keys]\nstep = \"u\"\nback = [\"y\", \"u\"]\n", "config.toml:3:14: `u` is both `step` and `back`"),
        ("[keys]\ntheme = \"r\"\n", "config.toml:2:9: `r` is the last key of `restart`"),
        ("[keys]\nstep = 3\n", "a key is a text, not a number"),
        ("[keys]\nrestart = \"ctrl-c\"\n", "`ctrl-c` always quits"),
        ("keys = 3\n", "`keys` is a table"),
        ("them = \"dark\"\n", "config.toml:1:1: unknown setting `them`"),
        ("step = \"x\"\n", "write it below `[keys]`"),
        ("theme = \"pink\"\n", "config.toml:1:9: there is no theme `pink`"),
        ("lang = true\n", "a language is a text, not a yes or a no"),
        ("speed = 1000\n", "no speed that lessons can play at"),
        ("speed = \"fast\"\n", "a speed is a number, not a text"),
        ("questions = \"no\"\n", "write `true` or `false`, without quotes"),
        ("# 锁\ntheme = \"dark\n", "config.toml:2:"),
    ] {
        let complaints = mistake(text);
        assert!(complaints.contains(says), "{text}: {complaints}");
    }
}

#[test]
fn a_mistake_leaves_other_settings_intact() {
    let config = parse(
        "theme = \"light\"\nlang = \"fr\"\nspeed = \n[keys]\nstep = [\"nope\", \"j\"]\nback = [\"nope\"]\nfoo = \"x\"\n",
    );
    assert_eq!(config.theme, Some(ThemeName::Light));
    assert_eq!(config.lang, None);
    assert_eq!(config.mistakes.len(), 5, "{:#?}", config.mistakes);
    let lines: Vec<_> =
        config.mistakes.iter().filter_map(|mistake| mistake.place).map(|place| place.0).collect();
    assert!(lines.is_sorted(), "{lines:?}");
    assert_eq!(config.keys.label("step"), "j");
    assert_eq!(config.keys.label("back"), "←", "where nothing is right, the default stands");
    let complaints = config.summary().expect("mistakes");
    assert!(
        complaints.first.starts_with("config.toml:2:8: there is no language `fr`; write"),
        "{complaints:?}"
    );
    assert_eq!(complaints.more, 4);
}

proptest::proptest! {
    #[test]
    fn mistakes_never_stop_the_program(text in proptest::prelude::any::<String>()) {
        let _ = parse(&text);
        let _ = parse(&format!("[keys]\nstep = {text}"));
    }
}
