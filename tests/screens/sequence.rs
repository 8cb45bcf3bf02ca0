//! The sequence and the chosen event, as the learner sees them: at fixed sizes, in both languages, on all kinds of
//! terminals.

use crossterm::event::KeyCode;
use lockstep::{
    clock::ClockKind,
    log::{ActorId, Direction, EventKind, Fault, LinkId, Reply, Stop},
    recording::carried,
    run::session::Update,
    text::Lang,
    ui::{
        app::Mode,
        theme::{Environment, Role, Theme, ThemeName},
    },
};
use ratatui::style::Modifier;

use crate::{
    scenarios,
    staged::{self, Script},
    stand::{LANGS, SIZES, Stand, odd_sizes},
};

/// A stand that shows the sequence.
fn sequence(script: Script, lang: Lang, size: (u16, u16), theme: Theme) -> Stand {
    let mut stand = Stand::themed(script, lang, size, theme);
    stand.press('w');
    stand
}

fn terminals() -> Vec<(&'static str, Theme)> {
    let mut terminals: Vec<_> =
        ThemeName::ALL.into_iter().map(|name| (name.name(), Theme::default().named(name))).collect();
    let poor = |no_color, locale, term| {
        let terminal =
            Environment { no_color, locale: Some(locale), term: Some(term), ..Environment::default() };
        Theme::new(ThemeName::Auto, terminal)
    };
    terminals.push(("mono", poor(true, "C.UTF-8", "xterm")));
    terminals.push(("sixteen", poor(false, "C.UTF-8", "linux")));
    terminals.push(("ascii", poor(false, "C", "xterm-256color")));
    terminals
}

/// A finished carried recording as a sequence.
fn carried_sequence(lesson: &str, variant: &str, size: (u16, u16)) -> Stand {
    let log = carried::open(&scenarios::carried(lesson, variant)).expect("a recording").log;
    let mut stand = Stand::opened(Lang::En, size);
    stand.events(log.events().to_vec());
    stand.update(Update::Stepped { ended: false });
    stand.keys("xwP");
    stand
}

#[test]
fn what_broke_an_invariant_and_who_leads_now_have_rows() {
    for (lesson, variant, words) in [
        ("setnx-without-expire", "two-commands", "INVARIANT BROKEN · The lock has no expiry"),
        ("zk-herd", "herd", "WOKEN, 1 NEEDED · One release woke more than one waiter"),
        ("zk-leader-failover", "leader-dies", "♛ leader"),
        ("etcd-lease", "leader-dies", "♛ leader"),
        ("failover", "replication-lag", "♛ master"),
        ("cluster-is-not-safer", "replication-lag", "election, epoch"),
    ] {
        let stand = carried_sequence(lesson, variant, (120, 400));
        let says = |row: &String| row.starts_with('│') && row.contains(words);
        assert!(stand.rows().iter().any(says), "{lesson}/{variant}: {words} {:#?}", stand.rows());
    }
}

/// Faults of every kind: a held message that continues, a lost reply, a frozen client, a dead one, a dead server.
fn faults() -> Script {
    let names = ["A", "B", "客户端三"].map(|name| (name.to_owned(), name.to_owned(), false));
    let mut s = Script::new("Redis", ClockKind::Controlled, &names);
    let fault = |s: &mut Script, fault| {
        s.add(EventKind::Fault(fault));
        s.stop(Stop::Fault);
    };
    let link = || LinkId::new("A", "redis");
    s.key("stock", Some("1"), None);
    fault(&mut s, Fault::Hold { link: link(), way: Direction::Both });
    let op = s.sent(0, "acquire", "SET lock a-7f3c NX PX 3000");
    s.pass(700);
    s.stop(Stop::Passed);
    fault(&mut s, Fault::Release { link: link() });
    s.replied(op, 0, "acquire", "OK".into());
    s.believes(0, lockstep::log::Belief::Holding);
    s.key("lock", Some("a-7f3c"), Some(3000));
    s.stop(Stop::Move);
    fault(&mut s, Fault::Cut { link: link() });
    let op = s.sent(0, "renew", "EVAL renew_if_owner 1 lock a-7f3c 3000");
    s.add(EventKind::Replied {
        op,
        actor: ActorId(0),
        label: "renew".into(),
        reply: Reply::Lost("connection refused".into()).into(),
    });
    s.believes(0, lockstep::log::Belief::Unsure);
    s.stop(Stop::Move);
    fault(&mut s, Fault::Freeze { client: "B".into() });
    s.pass(3000);
    s.key("lock", None, None);
    s.stop(Stop::Passed);
    fault(&mut s, Fault::Thaw { client: "B".into() });
    s.sent(2, "look", "GET 一个名字很长的键，长到箭头上写不下");
    fault(&mut s, Fault::Crash { client: "客户端三".into() });
    fault(&mut s, Fault::KillServer { server: "redis".into() });
    fault(&mut s, Fault::RestartServer { server: "redis".into() });
    s
}

/// With `LOCKSTEP_RECORDINGS=DIR` also pictures of the recorded runs in that directory.
#[test]
#[ignore = "leaves pictures of the screens in LOCKSTEP_PICTURES"]
fn pictures() {
    for (name, theme) in terminals() {
        let mut stand = sequence(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40), theme);
        stand.save(&format!("sequence-theme-{name}"));
        choose(&mut stand, 6);
        stand.save(&format!("chosen-theme-{name}"));
        stand.press('w');
        stand.save(&format!("chosen-timeline-theme-{name}"));
    }
    for lang in LANGS {
        for size in SIZES {
            let stand = sequence(faults(), lang, size, Theme::default());
            stand.save(&format!("sequence-faults-{lang}-{}", size.0));
        }
    }
    let Ok(recordings) = std::env::var("LOCKSTEP_RECORDINGS") else {
        return;
    };
    for file in std::fs::read_dir(recordings).expect("the directory of recordings") {
        let path = file.expect("a file").path();
        if path.extension().is_none_or(|end| end != "jsonl") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let lines = std::fs::read_to_string(&path).expect("a recording");
        let events: Vec<lockstep::log::Event> =
            lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        for (lang, size) in LANGS.into_iter().flat_map(|lang| SIZES.map(|size| (lang, size))) {
            let mut script = Script::default();
            script.events.clone_from(&events);
            let mut stand = sequence(script, lang, size, Theme::default());
            stand.save(&format!("real-{name}-{lang}-{}", size.0));
            for _ in 0..6 {
                stand.key(KeyCode::Left);
            }
            stand.save(&format!("real-{name}-{lang}-{}-back", size.0));
        }
    }
}

/// Chooses the `back`-th row from the newest in the lanes' pane.
fn choose(stand: &mut Stand, back: usize) {
    stand.key(KeyCode::Tab);
    for _ in 0..back {
        stand.key(KeyCode::Up);
    }
}

#[test]
fn every_command_and_reply_stands_on_its_arrow() {
    for size in SIZES {
        let mut stand = sequence(staged::misdelete(ClockKind::Controlled), Lang::En, size, Theme::default());
        stand.key(KeyCode::Home);
        for _ in 0..3 {
            stand.key(KeyCode::Right);
            stand.press('x');
        }
        for words in
            ["Who says what to whom", "── SET lock a-7f3c NX PX 3000 ──", "◀─ OK · work 4s ──", "▶", "(nil)"]
        {
            assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
        }
    }
}

#[test]
fn nothing_is_cut_in_half_on_any_terminal() {
    let scripts =
        || [staged::misdelete(ClockKind::Controlled), staged::oversell(), staged::herd(40, 2), faults()];
    for (_, theme) in terminals() {
        for lang in LANGS {
            for size in SIZES {
                for script in scripts() {
                    let mut stand = sequence(script, lang, size, theme);
                    for key in ['x', 'k', 'k', 'w', 'k'] {
                        if key == 'k' {
                            stand.key(KeyCode::Tab);
                        }
                        stand.press(key);
                        stand.assert_whole();
                    }
                }
            }
        }
    }
}

#[test]
fn no_size_is_too_small_or_too_large_for_the_sequence() {
    for script in [faults(), staged::oversell(), staged::herd(40, 2)] {
        let mut stand = sequence(script, Lang::Zh, (80, 24), Theme::default());
        choose(&mut stand, 3);
        for size in odd_sizes() {
            stand.resize(size);
            stand.buffer();
        }
    }
}

#[test]
fn the_sequence_is_kept_while_steps_are_taken() {
    let mut stand = sequence(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40), Theme::default());
    for key in [KeyCode::Left, KeyCode::Left, KeyCode::Right, KeyCode::End] {
        stand.key(key);
        assert!(stand.shows("Who says what to whom"), "{:#?}", stand.rows());
    }
    stand.press('w');
    assert!(stand.shows("Who believes what"), "{:#?}", stand.rows());
}

#[test]
fn stepping_back_makes_the_sequence_shorter() {
    let mut stand = sequence(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40), Theme::default());
    let lines =
        |stand: &Stand| stand.rows().iter().filter(|row| row.contains('▶') || row.contains('◀')).count();
    let all = lines(&stand);
    for _ in 0..4 {
        stand.key(KeyCode::Left);
    }
    assert!(lines(&stand) < all, "{:#?}", stand.rows());
    assert!(stand.shows("2 HOLDERS AT ONCE"), "{:#?}", stand.rows());
}

#[test]
fn faults_break_arrows_and_lifelines_visibly() {
    let mut stand = sequence(faults(), Lang::En, (200, 60), Theme::default());
    for words in [
        "link held: A→redis",
        "── SET lock a-7f3c NX PX 3000 ",
        "link released: A→redis",
        "lost: connection refused",
        "▮ B frozen",
        "lock: TTL over, gone",
        "3 s pass",
        "▶ B thawed",
        "✝ 客户端三 killed",
        "the reply reaches nobody",
        "redis killed ✝",
        "redis restarted ▶",
    ] {
        assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
    }
    // A held command ends at the link, half way; its continuation begins there.
    let rows = stand.rows();
    let held = rows.iter().find(|row| row.contains("SET lock") && row.contains('▮'));
    assert!(held.is_some_and(|row| !row.contains('▶')), "{rows:#?}");
    let lost = rows.iter().find(|row| row.contains("lost: connection"));
    assert!(lost.is_some_and(|row| row.contains('╌') && !row.contains('◀')), "{rows:#?}");
    // A dead client has no lifeline.
    stand.press('L');
    assert!(stand.shows("链路挂起") && stand.shows("回复已无人接收"), "{:#?}", stand.rows());
}

#[test]
fn what_happens_to_a_link_is_on_no_other_clients_lifeline() {
    for size in [(80, 24), (100, 30), (120, 40)] {
        let rows = carried_sequence("lost-reply", "resend", size).rows();
        let names = rows.iter().find(|row| row.contains("■ B ") && row.contains("redis")).expect("names");
        let column = |row: &str, sign: &str| row.find(sign).map(|at| row[..at].chars().count());
        let other = column(names, "■ B").expect("B") + 1;
        let cut = rows.iter().filter(|row| row.contains("link ") && !row.contains("A→redis link"));
        for row in cut {
            let at = row.chars().nth(other).expect("a lifeline").to_string();
            assert!(!["▮", "✗", "▶"].contains(&at.as_str()), "{size:?}: {rows:#?}");
        }
        let broken = rows.iter().find(|row| row.contains("lost: broken pipe"));
        assert!(broken.is_none_or(|row| column(row, "✗") > Some(other)), "{size:?}: {rows:#?}");
    }
}

#[test]
fn a_crowd_is_one_column_with_counts() {
    for size in SIZES {
        let mut stand = sequence(staged::herd(900, 1), Lang::En, size, Theme::default());
        assert!(stand.shows("W ×900"), "{:#?}", stand.rows());
        assert!(stand.shows("↯ NodeDeleted /lock ×900"), "{:#?}", stand.rows());
        stand.key(KeyCode::Home);
        for _ in 0..2 {
            stand.key(KeyCode::Right);
            stand.press('x');
        }
        assert!(stand.shows("exists -w /lock ×900"), "{:#?}", stand.rows());
    }
}

#[test]
fn too_many_columns_are_paged_and_moved_sideways() {
    let actors: Vec<_> = (1..=40).map(|n| (format!("P{n}"), format!("P{n}"), false)).collect();
    let mut s = Script::new("Redis", ClockKind::Controlled, &actors);
    for n in 0..40 {
        s.call(n, "buy", "DECR stock", (-1).into());
        s.stop(Stop::Move);
    }
    let mut stand = sequence(s, Lang::En, (80, 24), Theme::default());
    assert!(stand.shows("P40") && !stand.shows("P1 "), "{:#?}", stand.rows());
    for _ in 0..40 {
        stand.press('<');
    }
    assert!(stand.shows("P1 ") && stand.shows("◂0"), "{:#?}", stand.rows());
    // Actors that are not visible are named.
    assert!(stand.shows("P40: DECR stock"), "{:#?}", stand.rows());
    stand.press('>');
    assert!(stand.shows("◂1"), "{:#?}", stand.rows());
}

fn theme_is_ascii(theme: Theme) -> bool {
    theme.glyphs == lockstep::ui::theme::Glyphs::Ascii
}

/// Whether a cell has the background or the attribute of a chosen event.
fn is_chosen(cell: &ratatui::buffer::Cell, theme: Theme) -> bool {
    let chosen = theme.style(Role::Selected);
    match chosen.bg {
        Some(ground) => cell.bg == ground,
        None => cell.modifier.contains(Modifier::REVERSED),
    }
}

/// The chosen cells of each line, as text.
fn chosen(stand: &Stand, theme: Theme) -> Vec<String> {
    let buffer = stand.buffer();
    let area = buffer.area;
    let rows = (area.top()..area.bottom()).map(|y| {
        let cells = (area.left()..area.right()).map(|x| &buffer[(x, y)]);
        cells.filter(|cell| is_chosen(cell, theme)).map(ratatui::buffer::Cell::symbol).collect::<String>()
    });
    rows.filter(|row| !row.trim().is_empty()).collect()
}

#[test]
fn a_chosen_event_is_marked_on_every_pane_and_told_in_full() {
    for (_, theme) in terminals() {
        for (lang, round_trip) in [(Lang::En, "round trip 0.09 ms"), (Lang::Zh, "往返 0.09 毫秒")] {
            for size in SIZES {
                let mut stand = Stand::themed(staged::misdelete(ClockKind::Controlled), lang, size, theme);
                // The wire's pane, and A's release in it.
                for _ in 0..3 {
                    stand.key(KeyCode::Tab);
                }
                for _ in 0..3 {
                    stand.key(KeyCode::Up);
                }
                let has = |stand: &Stand, words: &str| {
                    let rows = stand.rows();
                    assert!(rows.iter().any(|row| row.contains(words)), "{words}: {rows:#?}");
                };
                if !theme_is_ascii(theme) || lang == Lang::En {
                    has(&stand, round_trip);
                }
                has(&stand, "DEL lock");
                let marks = chosen(&stand, theme);
                let count = |words: &str| marks.iter().filter(|row| row.contains(words)).count();
                assert!(count("lock") >= 2, "{marks:#?} {:#?}", stand.rows());
                stand.press('w');
                let marks = chosen(&stand, theme);
                let arrows = marks.iter().filter(|row| row.contains("DEL lock")).count();
                assert!(arrows >= 2, "the sequence and the wire log: {marks:#?} {:#?}", stand.rows());
                // What it changed: the lock's key, which C has taken since.
                let keys = marks.iter().filter(|row| row.contains("lock") && !row.contains("DEL"));
                assert!(keys.count() >= 1, "{marks:#?} {:#?}", stand.rows());
            }
        }
    }
}

#[test]
fn a_hairline_leads_from_the_chosen_tick_through_all_lanes() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    let lines = |stand: &Stand| stand.rows().iter().filter(|row| row.contains('╎')).count();
    assert_eq!(lines(&stand), 0);
    choose(&mut stand, 3);
    assert!(lines(&stand) >= 4, "{:#?}", stand.rows());
}

#[test]
fn the_choice_is_let_go_before_the_lesson_is_left_and_by_a_step() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    choose(&mut stand, 2);
    assert!(stand.shows("Chosen event"), "{:#?}", stand.rows());
    stand.key(KeyCode::Esc);
    assert!(!stand.shows("Chosen event") && stand.shows("Story"), "{:#?}", stand.rows());
    stand.key(KeyCode::Up);
    assert!(stand.shows("Chosen event"));
    stand.key(KeyCode::Left);
    assert!(!stand.shows("Chosen event"), "{:#?}", stand.rows());
    stand.key(KeyCode::Esc);
    assert!(matches!(stand.app.mode(), Mode::Browsing));
}

#[test]
fn choosing_moves_no_playhead_and_enter_does() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    stand.commands();
    choose(&mut stand, 20);
    assert!(!stand.shows("looking back"), "{:#?}", stand.rows());
    assert!(stand.shows("SET lock a-7f3c NX PX 3000"), "{:#?}", stand.rows());
    stand.key(KeyCode::Enter);
    assert!(stand.shows("looking back") && stand.shows("in flight"), "{:#?}", stand.rows());
    assert!(!stand.shows("Chosen event"), "{:#?}", stand.rows());
    stand.key(KeyCode::Right);
    assert!(!stand.shows("in flight"), "{:#?}", stand.rows());
    assert_eq!(stand.commands(), [], "no server is asked");
}

#[test]
fn the_choice_draws_the_panes_along() {
    let mut stand = sequence(staged::long(60), Lang::En, (80, 24), Theme::default());
    choose(&mut stand, 100);
    let marks = chosen(&stand, Theme::default());
    assert!(marks.iter().any(|row| row.contains('▶') || row.contains('◀')), "{marks:#?}");
    assert!(marks.len() >= 2, "the sequence and the wire log: {marks:#?} {:#?}", stand.rows());
    stand.press('w');
    let marks = chosen(&stand, Theme::default());
    assert!(marks.len() >= 2, "the timeline and the wire log: {marks:#?} {:#?}", stand.rows());
    // Down to the newest event, and no further.
    for _ in 0..300 {
        stand.key(KeyCode::Down);
    }
    assert!(stand.shows("DEL lock"), "{:#?}", stand.rows());
}

#[test]
fn a_crowd_is_not_said_to_send_what_one_of_it_sends() {
    let members = (1..=12).map(|n| (format!("W{n}"), "W".to_owned(), true));
    let actors: Vec<_> = members.collect();
    let mut script = Script::new("ZooKeeper", ClockKind::Controlled, &actors);
    for n in 0..12 {
        let (before, own) = (format!("/l/n-{n:010}"), format!("/l/n-{:010}", n + 1));
        script.call(n, "watch", &format!("exists -w {before}"), own.into());
    }
    script.stop(Stop::Move);
    let stand = sequence(script, Lang::En, (160, 40), Theme::default());
    for words in ["── exists -w /l/n-… ×12", "◀─ \"/l/n-…\" ×12"] {
        assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
    }
}
