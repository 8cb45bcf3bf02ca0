//! Finding things: the catalogue's search and variants, the palette, the help for the focused pane; at fixed sizes, in
//! both languages and all themes.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use lockstep::{
    clock::ClockKind,
    log::EventKind,
    run::session::{SessionCommand, Update},
    text::Lang,
    ui::{
        app::{App, AppOptions, Message, Mode},
        keys::{Bindings, map::KeyMap, row},
        state::screen::Mistakes,
        theme::{Environment, Theme, ThemeName},
    },
};
use ratatui::{buffer::Buffer, style::Modifier};

use crate::{
    staged,
    stand::{FakeRuns, LANGS, SIZES, Stand, catalogue},
};

fn chord(stand: &mut Stand, c: char) {
    let key = Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
    stand.app.handle(Message::Input(key), stand.now);
}

fn in_lesson(lang: Lang, size: (u16, u16)) -> Stand {
    Stand::lesson(staged::misdelete(ClockKind::Controlled), lang, size)
}

/// The highlighted letters, in the order of the screen.
fn marked(buffer: &Buffer) -> String {
    let lit = |cell: &&ratatui::buffer::Cell| cell.modifier.contains(Modifier::UNDERLINED | Modifier::BOLD);
    buffer.content.iter().filter(lit).map(ratatui::buffer::Cell::symbol).collect()
}

#[test]
#[ignore = "leaves pictures of the screens in LOCKSTEP_PICTURES"]
fn pictures() {
    for (name, stand) in screens() {
        stand.save(&name);
    }
}

/// Every screen of this feature, in both languages at all sizes, with a name.
fn screens() -> Vec<(String, Stand)> {
    let mut screens = Vec::new();
    for lang in LANGS {
        for size in SIZES {
            let tag = format!("{lang}-{}x{}", size.0, size.1);
            let mut add = |name: &str, stand: Stand| screens.push((format!("find-{name}-{tag}"), stand));
            add("catalogue", Stand::catalogue(lang, size));
            let mut stand = Stand::catalogue(lang, size);
            stand.keys("/");
            add("search-empty", stand);
            for (name, text) in
                [("search", "lock"), ("search-zh", "锁"), ("search-variant", "blind"), ("search-none", "qqq")]
            {
                let mut stand = Stand::catalogue(lang, size);
                stand.keys(&format!("/{text}"));
                add(name, stand);
            }
            let mut stand = Stand::catalogue(lang, size);
            stand.key(KeyCode::Right);
            stand.press('j');
            add("variants", stand);
            for (name, text) in [("palette", ":"), ("palette-theme", ":th"), ("palette-none", ":qqq")] {
                let mut stand = in_lesson(lang, size);
                stand.keys(text);
                add(name, stand);
            }
            let mut stand = in_lesson(lang, size);
            stand.key(KeyCode::Tab);
            stand.press('?');
            add("help", stand);
            let mut stand = Stand::catalogue(lang, size);
            stand.press('?');
            add("help-catalogue", stand);
            add("notice", with_mistake(lang, size));
        }
    }
    screens
}

fn with_mistake(lang: Lang, size: (u16, u16)) -> Stand {
    let mut stand = Stand::catalogue(lang, size);
    let options = AppOptions {
        lang,
        mistakes: Some(Mistakes {
            first: "~/.config/lockstep/config.toml:12:9: `r` is the last key of `restart` and cannot go to `theme`; \
                    give `restart` another key as well."
                .to_owned(),
            more: 2,
        }),
        ..AppOptions::default()
    };
    stand.app = App::new(catalogue(), FakeRuns::default(), &options);
    stand.app.resize(stand.area);
    stand
}

#[test]
fn every_screen_is_whole_at_every_size() {
    for (name, mut stand) in screens() {
        stand.assert_whole();
        for size in [(0, 0), (1, 1), (60, 16), (61, 17), (400, 120)] {
            stand.resize(size);
            stand.assert_whole();
            if let Some(cursor) = stand.app.cursor() {
                assert!(stand.area.contains(cursor), "{name}: {cursor:?}");
            }
        }
    }
}

#[test]
fn themes_change_colours_and_no_character() {
    for lang in LANGS {
        for keys in [":", ":th", "?"] {
            let stands = ThemeName::ALL.map(|theme| {
                let script = staged::misdelete(ClockKind::Controlled);
                let mut stand = Stand::themed(script, lang, (80, 24), Theme::default().named(theme));
                stand.keys(keys);
                stand
            });
            let plain = stands[0].rows();
            for (stand, theme) in stands.iter().zip(ThemeName::ALL).skip(1) {
                // The palette marks the chosen theme.
                let differ = stand.rows().iter().zip(&plain).filter(|(a, b)| a != b).count();
                assert!(differ <= 2, "{theme:?}: {:#?}", stand.rows());
                stand.assert_whole();
            }
        }
    }
}

#[test]
fn a_terminal_without_colours_or_unicode_marks_what_matches_too() {
    let plain = Environment { no_color: true, locale: Some("C"), ..Environment::default() };
    let options = AppOptions { theme: Theme::new(ThemeName::Auto, plain), ..AppOptions::default() };
    let mut stand = Stand::catalogue(Lang::En, (80, 24));
    stand.app = App::new(catalogue(), FakeRuns::default(), &options);
    stand.app.resize(stand.area);
    stand.keys("/herd");
    assert_eq!(marked(&stand.buffer()), "herd");
    stand.key(KeyCode::Esc);
    stand.press(':');
    stand.keys("help");
    let rows = stand.rows();
    assert!(rows.iter().all(|row| row.is_ascii()), "{rows:#?}");
    assert!(marked(&stand.buffer()).starts_with("help"));
}

#[test]
fn a_search_narrows_the_list_marks_what_matches_and_opens_it() {
    for lang in LANGS {
        let mut stand = Stand::catalogue(lang, (80, 24));
        stand.keys("/zkh");
        assert!(stand.shows("/ zkh") && stand.shows("zk-herd"), "{:#?}", stand.rows());
        assert_eq!(marked(&stand.buffer()), "zkh");
        assert!(!stand.shows("SETNX"), "{:#?}", stand.rows());
        let cursor = stand.app.cursor().expect("somebody types");
        assert_eq!((cursor.x, cursor.y), (1 + 3 + 3, 3));
        stand.key(KeyCode::Enter);
        assert_eq!(stand.runs.opened.borrow()[0].0.id, "zk-herd");
        stand.press('q');
        assert!(!stand.shows("/ zkh"), "the next look begins anew");
    }
}

#[test]
fn chinese_is_typed_erased_and_found_in_either_language() {
    for lang in LANGS {
        let mut stand = Stand::catalogue(lang, (80, 24));
        stand.keys("/羊群");
        assert!(stand.shows("羊群效应") && stand.shows("1"), "{:#?}", stand.rows());
        assert_eq!(marked(&stand.buffer()), "羊群");
        assert_eq!(stand.app.cursor().expect("somebody types").x, 1 + 3 + 4);
        stand.assert_whole();
        stand.key(KeyCode::Backspace);
        assert!(stand.shows("/ 羊 ") && !stand.shows("/ 羊群"), "{:#?}", stand.rows());
        chord(&mut stand, 'u');
        stand.key(KeyCode::Backspace);
        assert_eq!(stand.app.cursor(), None, "erasing nothing leaves the search");
    }
}

#[test]
fn escape_clears_a_search_and_what_is_typed_is_no_command() {
    let mut stand = Stand::catalogue(Lang::En, (80, 24));
    let before = stand.rows();
    stand.keys("/qLT?");
    assert!(stand.shows("/ qLT?") && stand.shows("nothing matches"), "{:#?}", stand.rows());
    stand.key(KeyCode::Enter);
    assert!(matches!(stand.app.mode(), Mode::Browsing), "nothing is opened that is not seen");
    stand.key(KeyCode::Esc);
    assert_eq!(stand.rows(), before);
}

#[test]
fn a_variant_is_chosen_in_the_catalogue() {
    let mut stand = Stand::catalogue(Lang::En, (80, 24));
    stand.key(KeyCode::Right);
    stand.press('j');
    assert!(stand.shows("Enter open"), "{:#?}", stand.rows());
    stand.key(KeyCode::Left);
    stand.key(KeyCode::Tab);
    stand.key(KeyCode::End);
    stand.key(KeyCode::Enter);
    let opened = stand.runs.opened.borrow()[0].0.clone();
    assert_eq!((opened.id.as_str(), opened.variant.as_str()), ("setnx", "script"));
}

#[test]
fn a_variant_that_is_searched_for_is_the_one_that_opens() {
    let mut stand = Stand::catalogue(Lang::Zh, (80, 24));
    stand.keys("/误删 脚本");
    stand.key(KeyCode::Enter);
    let opened = stand.runs.opened.borrow()[0].0.clone();
    assert_eq!((opened.id.as_str(), opened.variant.as_str()), ("unlock", "script"));
}

#[test]
fn the_palette_lists_what_can_be_done_now_and_does_it() {
    let mut stand = in_lesson(Lang::En, (80, 24));
    stand.press(':');
    assert!(stand.shows("one step back") && stand.shows("←"), "{:#?}", stand.rows());
    assert!(!stand.shows("choose answer"), "no question is asked");
    stand.keys("theme dark");
    assert!(stand.shows("▸ Theme: dark"), "{:#?}", stand.rows());
    assert!(marked(&stand.buffer()).starts_with("Themedark"));
    stand.key(KeyCode::Enter);
    assert!(stand.shows("Theme: dark. T goes on"), "{:#?}", stand.rows());
    // In the other language, by its name in the configuration, with the other key.
    chord(&mut stand, 'p');
    stand.keys("语言 中文");
    stand.key(KeyCode::Enter);
    assert!(stand.shows("各方眼中的锁"), "{:#?}", stand.rows());
    stand.press(':');
    stand.keys("restart");
    stand.key(KeyCode::Enter);
    assert_eq!(stand.runs.opened.borrow().len(), 2);
    stand.press(':');
    stand.keys("herd script");
    assert!(stand.shows("打开：羊群效应"), "{:#?}", stand.rows());
    stand.key(KeyCode::Enter);
    let opened = stand.runs.opened.borrow()[2].0.clone();
    assert_eq!((opened.id.as_str(), opened.variant.as_str()), ("zk-herd", "script"));
    stand.press(':');
    stand.keys("退出");
    stand.key(KeyCode::Enter);
    assert!(matches!(stand.app.mode(), Mode::Ending));
}

#[test]
fn the_palette_is_on_every_screen_and_goes_away_again() {
    for lang in LANGS {
        for mut stand in
            [Stand::catalogue(lang, (80, 24)), Stand::fresh(lang, (80, 24)), in_lesson(lang, (80, 24))]
        {
            let before = stand.rows();
            for open in ["", "?"] {
                stand.keys(open);
                chord(&mut stand, 'p');
                let title = if lang == Lang::En { " Commands " } else { " 命令 " };
                assert!(stand.shows(title), "{:#?}", stand.rows());
                stand.key(KeyCode::Esc);
                assert_eq!(stand.rows(), before);
            }
        }
    }
}

#[test]
fn the_help_begins_with_what_has_the_focus() {
    let position = |stand: &Stand, words: &str| {
        let rows = stand.rows();
        rows.iter().position(|row| row.contains(words)).unwrap_or_else(|| panic!("{words}: {rows:#?}"))
    };
    let mut stand = in_lesson(Lang::En, (120, 180));
    stand.press('?');
    assert!(position(&stand, "answer the question") < position(&stand, "Moving through a lesson"));
    stand.press('?');
    for _ in 0..3 {
        stand.key(KeyCode::Tab);
    }
    stand.press('?');
    let order = [
        "This pane: the wire",
        "Moving through a lesson",
        "answer the question",
        "On every screen",
        "Reading the lanes",
        "The catalogue",
        "While you type",
    ];
    let places = order.map(|words| position(&stand, words));
    assert!(places.is_sorted(), "{places:?}");
    let mut stand = Stand::catalogue(Lang::Zh, (120, 180));
    stand.press('?');
    let places = ["目录", "任何界面", "时间线图例", "课程中的操作"].map(|words| position(&stand, words));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn other_keys_are_told_of_wherever_keys_are() {
    let wish = |id: &str, key: &str| Bindings {
        row: row(id).expect(id),
        chords: vec![(key.parse().expect(key), 0)],
    };
    let (keys, complaints) =
        KeyMap::with(&[wish("step", "ctrl-n"), wish("search", "y"), wish("theme", "f5"), wish("leave", "u")]);
    assert_eq!(complaints, vec![]);
    let options = AppOptions { keys, ..AppOptions::default() };
    let mut stand = Stand::catalogue(Lang::En, (80, 24));
    stand.app = App::new(catalogue(), stand.runs.clone(), &options);
    stand.app.resize(stand.area);
    assert!(stand.shows("y search") && stand.shows("u quit"), "{:#?}", stand.rows());
    stand.press('/');
    assert_eq!(stand.app.cursor(), None);
    stand.key(KeyCode::F(5));
    assert!(stand.shows("F5 goes on to the next"), "{:#?}", stand.rows());
    stand.press('y');
    assert!(stand.app.cursor().is_some());
    stand.key(KeyCode::Enter);
    let script = staged::misdelete(ClockKind::Controlled);
    stand.events(script.events[..3].to_vec());
    assert!(stand.shows("press Ctrl-N for the first step"), "{:#?}", stand.rows());
    assert!(stand.shows("Ctrl-N step"), "{:#?}", stand.rows());
}

#[test]
fn what_is_wrong_with_the_configuration_is_told_whole_until_the_next_key() {
    for lang in LANGS {
        for size in SIZES {
            let mut stand = with_mistake(lang, size);
            let told: String = stand.rows().concat().split_whitespace().collect();
            assert!(told.contains("config.toml:12:9:risthelastkeyofrestartandcannotgototheme"), "{told}");
            assert!(told.contains("lockstepconfig--check"), "{told}");
            stand.press('x');
            assert!(!stand.shows("config.toml") || stand.rows().concat().contains("config.toml"));
            stand.press('j');
            assert!(!stand.shows("config.toml"), "{:#?}", stand.rows());
        }
    }
}

#[test]
fn tracks_show_how_far_one_has_come() {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut store, _) = lockstep::ui::state::progress::Store::at(dir.path().join("progress.json"));
    let done = lockstep::ui::state::progress::Record {
        finished: true,
        ..lockstep::ui::state::progress::Record::default()
    };
    for variant in ["blind-del", "get-del", "script"] {
        store.note("unlock", variant, done).expect("noted");
    }
    let options = AppOptions {
        progress: store,
        theme: Theme::new(ThemeName::Contrast, Environment::default()),
        ..AppOptions::default()
    };
    let mut stand = Stand::catalogue(Lang::En, (80, 24));
    stand.app = App::new(catalogue(), FakeRuns::default(), &options);
    stand.app.resize(stand.area);
    assert!(stand.shows("▰▰▱▱▱▱▱▱ 3/9"), "{:#?}", stand.rows());
    assert!(stand.shows("▱▱▱ 0/3"), "{:#?}", stand.rows());
}

#[test]
fn what_came_of_a_variant_is_marked_once_it_is_known_and_a_lesson_goes_on_where_it_was_left() {
    let done = lockstep::ui::state::progress::Record { finished: true, ..Default::default() };
    let mut store = lockstep::ui::state::progress::Store::default();
    store.note("unlock", "blind-del", done).expect("noted");
    let options = AppOptions { progress: store, ..AppOptions::default() };
    let mut stand = Stand::catalogue(Lang::En, (120, 40));
    stand.app = App::new(catalogue(), stand.runs.clone(), &options);
    stand.app.resize(stand.area);
    stand.keys("jjj");
    for words in
        ["✗ 1. blind DEL  shows the failure", "· 2. GET, compare, DEL", "· 3. compare-and-delete script"]
    {
        assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
    }
    assert!(!stand.shows("prevents it"), "{:#?}", stand.rows());
    let opened = |stand: &Stand| {
        let opened = stand.runs.opened.borrow();
        opened.last().map(|(choice, _)| format!("{}/{}", choice.id, choice.variant)).expect("a lesson")
    };
    stand.key(KeyCode::Enter);
    assert_eq!(opened(&stand), "unlock/get-del", "the first that is not finished");
    stand.press('v');
    stand.press('q');
    stand.key(KeyCode::Enter);
    assert_eq!(opened(&stand), "unlock/script", "the one that was opened last");
    stand.press('v');
    assert_eq!(opened(&stand), "watchdog/blind-del", "behind the last variant comes the next lesson");
    stand.press('V');
    assert_eq!(opened(&stand), "unlock/script");
}

#[test]
fn the_timelines_are_given_rows_which_is_kept() {
    let wire =
        |stand: &Stand| stand.rows().iter().position(|row| row.contains("On the wire")).expect("a pane");
    for size in [(80, 24), (120, 40), (200, 60)] {
        let mut stand = in_lesson(Lang::En, size);
        stand.key(KeyCode::Left);
        let before = wire(&stand);
        stand.press('{');
        assert!((1..=2).contains(&(before - wire(&stand))), "{:#?}", stand.rows());
        for key in ['}', '{'] {
            for _ in 0..40 {
                stand.press(key);
            }
            assert!(stand.shows("Who believes what") && stand.shows("On the wire"), "{:#?}", stand.rows());
            stand.assert_whole();
        }
    }
    let dir = tempfile::tempdir().expect("a directory");
    let store = || lockstep::ui::state::progress::Store::at(dir.path().join("progress.json")).0;
    let options = AppOptions { progress: store(), ..AppOptions::default() };
    let mut stand = Stand::catalogue(Lang::En, (120, 40));
    stand.app = App::new(catalogue(), stand.runs.clone(), &options);
    stand.app.resize(stand.area);
    stand.key(KeyCode::Enter);
    stand.keys("}}{");
    assert_eq!(store().get().screen.rows, 2);
}

#[test]
fn what_cannot_run_here_says_how_it_could() {
    for lang in LANGS {
        let mut lessons = catalogue();
        lessons.entries[0].served = false;
        let mut stand = Stand::catalogue(lang, (80, 24));
        let options = AppOptions { lang, ..AppOptions::default() };
        stand.app = App::new(lessons, FakeRuns::default(), &options);
        stand.app.resize(stand.area);
        assert!(stand.rows().concat().contains("doctor"), "{:#?}", stand.rows());
        stand.press('j');
        stand.press('j');
        let words = if lang == Lang::En { "✓ can run here" } else { "✓ 本机可以运行" };
        assert!(stand.shows(words), "{:#?}", stand.rows());
    }
}

#[test]
fn a_small_catalogue_shows_a_lesson_a_row_and_the_chosen_one_whole() {
    let column = |row: &String| row.split('│').nth(1).unwrap_or_default().trim_matches([' ', '★']).to_owned();
    let rows: Vec<String> = Stand::catalogue(Lang::En, (60, 16)).rows().iter().map(column).collect();
    let chosen = rows.iter().position(|row| row.starts_with('▸')).expect("a choice");
    assert!(rows[chosen].contains("SETNX") && rows[chosen].contains("6 min"), "{rows:#?}");
    assert_eq!(rows[chosen + 1..chosen + 3], ["without", "EXPIRE"], "{rows:#?}");
    for row in ["Overselling", "Unlocking someone…", "Watchdog renewal"] {
        assert!(rows.iter().any(|shown| shown == row), "{row}: {rows:#?}");
    }
}

#[test]
fn a_lesson_is_resumed_at_the_step_at_which_it_was_left() {
    let events = staged::misdelete(ClockKind::Controlled).events;
    let ends = |n: &usize| matches!(events[*n].kind, EventKind::Stop { .. });
    let stops: Vec<usize> = (0..events.len()).filter(ends).take(4).collect();
    let asked_for = |stand: &mut Stand| {
        let asked = stand.commands().into_iter();
        asked.filter(|command| *command == SessionCommand::Step).count()
    };
    for (lang, resumed) in [(Lang::En, "Resumed where you left it"), (Lang::Zh, "从上次离开的地方继续")]
    {
        let mut stand = Stand::catalogue(lang, (100, 30));
        stand.key(KeyCode::Enter);
        stand.events(events[..=stops[2]].to_vec());
        stand.update(Update::Stepped { ended: false });
        stand.press('x');
        stand.press('q');
        stand.key(KeyCode::Enter);
        assert!(stand.shows(resumed), "{:#?}", stand.rows());
        // The steps are taken again, one after another, up to the one at which the lesson was left.
        assert_eq!(asked_for(&mut stand), 1);
        for (n, stop) in stops[..3].iter().enumerate() {
            let from = n.checked_sub(1).map_or(0, |before| stops[before] + 1);
            stand.events(events[from..=*stop].to_vec());
            stand.update(Update::Stepped { ended: false });
            assert_eq!(asked_for(&mut stand), usize::from(n < 2), "after step {}", n + 1);
        }
        // A variant that is chosen by name starts at its beginning, and so does one that was played to its end.
        stand.press('q');
        stand.press('l');
        stand.key(KeyCode::Enter);
        assert!(asked_for(&mut stand) == 0 && !stand.shows(resumed), "{:#?}", stand.rows());
        stand.events(events.clone());
        stand.ended();
        stand.press('q');
        stand.key(KeyCode::Enter);
        assert!(asked_for(&mut stand) == 0 && !stand.shows(resumed), "{:#?}", stand.rows());
    }
}
