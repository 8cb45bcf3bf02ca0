//! The screens at fixed sizes in both languages, and the real event loop with scripted input.

use std::time::Instant;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use lockstep::{
    clock::ClockKind,
    log::{ActorId, Belief, Capacity, CounterInfo, EventKind, LockInfo, Log, Stop, Znode},
    recording::carried,
    run::{
        LessonChoice,
        session::{Failure, SessionCommand, Update},
    },
    text::Lang,
    ui::{
        app::{App, AppOptions, Ended, Message, Mode, run},
        chart::Chart,
        state::catalogue::{Catalogue, CatalogueEntry},
        theme::{Environment, Glyphs, Ink, Role, Theme, ThemeName, glyphs, text},
    },
    verdict::{Outcome, Verdict},
};
use ratatui::{
    Terminal,
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier},
};
use serde_json::json;

use crate::{
    event_loop, scenarios, staged,
    stand::{FakeRuns, LANGS, SIZES, Stand, catalogue, odd_sizes},
};

#[test]
#[ignore = "leaves pictures of the screens in LOCKSTEP_PICTURES"]
fn pictures() {
    for name in ThemeName::ALL {
        let theme = Theme::default().named(name);
        let stand = Stand::themed(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40), theme);
        stand.save(&format!("theme-{}", name.name()));
    }
    for lang in LANGS {
        for (width, height) in [(80, 24), (120, 40), (200, 60)] {
            let tag = format!("{lang}-{width}x{height}");
            let stand = Stand::catalogue(lang, (width, height));
            stand.save(&format!("catalogue-{tag}"));
            for (name, script) in [
                ("misdelete", staged::misdelete(ClockKind::Controlled)),
                ("oversell", staged::oversell()),
                ("herd40", staged::herd(40, 2)),
                ("herd900", staged::herd(900, 1)),
                ("question", up_to_question()),
            ] {
                let mut stand = Stand::lesson(script, lang, (width, height));
                stand.save(&format!("{name}-{tag}"));
                stand.press('P');
                stand.save(&format!("{name}-present-{tag}"));
            }
            let mut stand = Stand::lesson(staged::misdelete(ClockKind::Wall), lang, (width, height));
            stand.ended();
            stand.save(&format!("verdict-{tag}"));
            stand.press('?');
            stand.save(&format!("help-{tag}"));
            let stand = Stand::fresh(lang, (width, height));
            stand.save(&format!("fresh-{tag}"));
        }
    }
}

#[test]
fn no_size_is_too_small_or_too_large() {
    for lang in LANGS {
        let mut stands = vec![
            Stand::catalogue(lang, (80, 24)),
            Stand::fresh(lang, (80, 24)),
            Stand::lesson(staged::misdelete(ClockKind::Wall), lang, (80, 24)),
            Stand::lesson(staged::herd(40, 2), lang, (80, 24)),
            Stand::lesson(up_to_question(), lang, (80, 24)),
        ];
        stands[2].ended();
        for stand in &mut stands {
            for size in odd_sizes() {
                stand.resize(size);
                for overlay in ["", "?", "?i", "i"] {
                    stand.keys(overlay);
                    stand.buffer();
                }
            }
        }
    }
}

#[test]
fn a_small_screen_says_so_and_can_still_be_left() {
    let mut stand = Stand::catalogue(Lang::Zh, (40, 10));
    assert!(stand.shows("终端窗口太小"), "{:#?}", stand.rows());
    // What cannot be seen is not acted on.
    stand.press('q');
    assert!(matches!(stand.app.mode(), Mode::Browsing));
    stand.press('Q');
    assert!(matches!(stand.app.mode(), Mode::Ending));
}

#[test]
fn every_row_fills_the_screen_exactly() {
    for lang in LANGS {
        for size in SIZES {
            let mut stand = Stand::lesson(staged::misdelete(ClockKind::Wall), lang, size);
            stand.ended();
            stand.assert_whole();
        }
    }
}

#[test]
fn an_overlay_cuts_no_wide_character_in_half() {
    for width in 60..110 {
        let mut stand = Stand::lesson(staged::misdelete(ClockKind::Wall), Lang::Zh, (width, 30));
        stand.update(Update::Failed(Failure { message: "服务器退出".into(), server: true }));
        for key in ['x', '?', 'i'] {
            stand.press(key);
            stand.assert_whole();
        }
    }
}

#[test]
fn the_catalogue_lists_lessons_in_both_languages_and_says_what_is_broken() {
    let mut stand = Stand::catalogue(Lang::En, (80, 24));
    for words in ["Lessons", "Basics", "Overselling", "blind DEL", "one Redis server", "6 min", "Enter open"]
    {
        assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
    }
    stand.press('L');
    for words in ["课程", "基础", "超卖", "直接 DEL", "一台 Redis", "6 分钟", "Enter 打开"] {
        assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
    }
    stand.press('k');
    assert!(stand.shows("my-lesson") && stand.shows("stroy"), "{:#?}", stand.rows());
    stand.key(KeyCode::Enter);
    assert!(matches!(stand.app.mode(), Mode::Browsing), "a broken lesson cannot be opened");
}

#[test]
fn a_cell_of_a_table_is_opened_with_enter() {
    let lesson = scenarios::carried("which-lock", "redis-polling-freeze").loaded.lesson.clone();
    for (down, (name, variant)) in lesson.variants.iter().enumerate() {
        let mut stand = Stand::catalogue(Lang::En, (80, 24));
        let options = AppOptions { lang: Lang::En, reduced_motion: true, ..AppOptions::default() };
        let lessons = Catalogue::new(vec![CatalogueEntry::from(&lesson)]);
        stand.app = App::new(lessons, stand.runs.clone(), &options);
        stand.app.resize(stand.area);
        stand.key(KeyCode::Right);
        for _ in 0..down {
            stand.key(KeyCode::Down);
        }
        // The chosen cell is named below the table.
        let title = variant.title.en.split(": ").next().unwrap_or_default();
        assert!(stand.shows(title), "{title}: {:#?}", stand.rows());
        stand.key(KeyCode::Enter);
        let opened: Vec<LessonChoice> =
            stand.runs.opened.borrow().iter().map(|(choice, _)| choice.clone()).collect();
        assert_eq!(opened, [LessonChoice { id: lesson.id.clone(), variant: name.clone() }]);
    }
}

#[test]
fn two_holders_are_red_and_in_words() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    // Back to where A and B both believe that they hold the lock: the narration after B's acquire.
    for _ in 0..4 {
        stand.key(KeyCode::Left);
    }
    assert!(stand.shows("2 HOLDERS AT ONCE"), "{:#?}", stand.rows());
    let buffer = stand.buffer();
    let ground = Color::Indexed(Theme::default().palette.overlap_span);
    let clients = [0, 1].map(|n| Theme::default().client(n).fg);
    let red = |y: u16| {
        let cells = (0..120).map(|x| &buffer[(x, y)]);
        let bars = cells.filter(|cell| cell.symbol() == glyphs::CLASHING && cell.bg == ground);
        bars.filter(|cell| clients.contains(&cell.style().fg)).count()
    };
    // Two lanes, with bars of several rows as there is room for them.
    let rows = (0..40).filter(|y| red(*y) > 0).count();
    assert!(rows >= 4 && rows % 2 == 0, "{:#?}", stand.rows());
}

#[test]
fn a_key_goes_through_the_themes_and_each_paints_its_ground() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    let mut grounds = Vec::new();
    for name in ["", "Theme: dark", "Theme: light", "Theme: high contrast", "as the terminal"] {
        assert!(stand.shows(name), "{:#?}", stand.rows());
        grounds.push(stand.buffer()[(60, 30)].bg);
        stand.press('T');
    }
    assert_eq!((grounds[0], grounds[4]), (Color::Reset, Color::Reset));
    assert!(grounds[1] != grounds[2] && grounds[2] != grounds[3]);
}

#[test]
fn focus_zoom_and_presenting_share_out_the_screen() {
    for lang in LANGS {
        for size in SIZES {
            let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), lang, size);
            let lines =
                |stand: &Stand, words: &str| stand.rows().iter().filter(|row| row.contains(words)).count();
            // The wire names the client before its command, the lanes do not.
            let rows = ["A SET lock", "B SET lock", "C SET lock", "A DEL lock"];
            let wire = |stand: &Stand| rows.iter().map(|words| lines(stand, words)).sum::<usize>();
            let usual = wire(&stand);
            // The panes in order: story, lanes, servers, wire.
            for _ in 0..3 {
                stand.key(KeyCode::Tab);
            }
            assert!(wire(&stand) >= usual, "{:#?}", stand.rows());
            stand.press('z');
            assert!(stand.shows("SIGKILL") || lines(&stand, "killed") + lines(&stand, "被杀死") > 0);
            assert!(!stand.shows("┊"), "no lanes beside a zoomed wire log: {:#?}", stand.rows());
            stand.press('z');
            stand.press('P');
            assert!(!stand.shows("Space"), "no hints while presenting: {:#?}", stand.rows());
            assert!(!stand.shows("no expiry") && !stand.shows("不过期"), "{:#?}", stand.rows());
            assert!(stand.shows(if lang == Lang::En { "walked in" } else { "闯了进来" }));
            stand.press('P');
            assert!(stand.shows("Space"));
        }
    }
}

#[test]
fn the_programs_are_shown_where_the_servers_leave_room() {
    let programmed = |size| {
        let scenario = scenarios::carried("unlock-someone-elses-lock", "blind-del");
        let log = carried::open(&scenario).expect("a recording").log;
        let is_it = |event: &lockstep::log::Event| matches!(event.kind, EventKind::Stop { item: 8, .. });
        let stop = log.events().iter().rposition(is_it).expect("a stop");
        let mut stand = Stand::programmed(scenario, Lang::En, size);
        stand.events(log.events()[..=stop].to_vec());
        stand.update(Update::Stepped { ended: false });
        stand.press('~');
        stand
    };
    let both = |stand: &Stand| [stand.shows("On the wire"), stand.shows("What the clients run")];
    for (size, shown) in [((80, 24), [true, false]), ((120, 40), [true, true]), ((150, 40), [true, true])] {
        let stand = programmed(size);
        assert_eq!(both(&stand), shown, "{size:?} {:#?}", stand.rows());
        assert!(
            size.0 < 120 || stand.shows("▸work"),
            "who stands at a line points to it: {:#?}",
            stand.rows()
        );
    }
    let mut stand = programmed((120, 40));
    stand.press('c');
    assert_eq!(both(&stand), [false, true], "{:#?}", stand.rows());
    stand.press('c');
    assert_eq!(both(&stand), [true, true], "{:#?}", stand.rows());
}

#[test]
fn a_question_leaves_the_timelines_their_rows() {
    let lanes = |stand: &Stand| {
        let rows = stand.rows();
        let row = |sign: &str| rows.iter().position(|row| row.contains(sign)).expect("a row");
        row("↑ ") - row("Who ")
    };
    let mut script = up_to_question();
    let asked = Stand::lesson(up_to_question(), Lang::En, (80, 24));
    script.events.truncate(script.events.len() - 2);
    let before = Stand::lesson(script, Lang::En, (80, 24));
    assert!(asked.shows("1-4 answer") && !before.shows("1-4 answer"));
    assert_eq!(lanes(&asked), lanes(&before), "{:#?} {:#?}", asked.rows(), before.rows());
    // The bottom line offers no step that does not come before the answer.
    let hints = |stand: &Stand| stand.rows().last().expect("a row").contains("→ step");
    assert!(!hints(&asked) && hints(&before), "{:#?}", asked.rows());
}

#[test]
fn a_key_that_does_nothing_says_where_it_works() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    for (key, words) in [
        ('x', "for free play"),
        ('7', "for free play"),
        ('1', "No question is open"),
        ('s', "No question is open"),
        ('e', "member by member"),
        ('<', "sequence diagram: press w"),
        (']', "No question, fault or violation comes later"),
        ('/', "(The catalogue): search the lessons"),
    ] {
        stand.press(key);
        assert!(stand.shows(words), "{key}: {:#?}", stand.rows());
        stand.key(KeyCode::Tab);
        assert!(!stand.shows(words), "{key}: {:#?}", stand.rows());
    }
    stand.keys("w>");
    assert!(stand.shows("The whole diagram is on the screen"), "{:#?}", stand.rows());
}

#[test]
fn the_scrubber_marks_what_matters_and_can_be_clicked() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    let y = stand.rows().iter().position(|row| row.trim_end().ends_with("═╋")).expect("a scrubber");
    let row = &stand.rows()[y];
    assert!(row.contains(glyphs::CLASH_LINE), "the violation: {row}");
    stand.commands();
    stand.click(1, u16::try_from(y).unwrap());
    assert!(stand.shows("0.12ms") || !stand.shows("DEL lock"), "{:#?}", stand.rows());
    assert!(stand.shows("looking back"), "{:#?}", stand.rows());
    // To the violation, then to the kill, then no further.
    for _ in 0..12 {
        stand.press(']');
    }
    assert!(stand.shows("SIGKILL"), "{:#?}", stand.rows());
    stand.press('[');
    assert!(!stand.shows("SIGKILL"), "{:#?}", stand.rows());
    assert_eq!(stand.commands(), [], "no server is asked");
}

#[test]
fn the_mouse_chooses_focuses_scrolls_and_answers() {
    let mut stand = Stand::catalogue(Lang::En, (120, 40));
    let row = |stand: &Stand, words: &str| {
        let at = stand.rows().iter().position(|row| row.contains(words));
        u16::try_from(at.unwrap_or_else(|| panic!("{words}: {:#?}", stand.rows()))).unwrap()
    };
    let y = row(&stand, "Watchdog renewal");
    stand.click(6, y);
    assert!(stand.shows("▸ Watchdog renewal"), "{:#?}", stand.rows());
    let mut stand = Stand::lesson(up_to_question(), Lang::En, (120, 40));
    let y = row(&stand, " 2. ");
    stand.click(8, y);
    assert!(stand.shows("▸ 2. "), "{:#?}", stand.rows());
    let mut stand = Stand::lesson(staged::herd(40, 2), Lang::En, (120, 40));
    let y = row(&stand, "On the wire") + 2;
    let before = stand.rows();
    stand.wheel(100, y, false);
    assert_ne!(stand.rows(), before, "the wheel scrolls what it is over");
}

#[test]
fn every_theme_tells_of_the_failure_at_every_size_in_both_languages() {
    let inks = [Ink::Colour, Ink::Sixteen, Ink::Mono];
    let themes = ThemeName::ALL.into_iter().flat_map(|name| {
        let glyphs = [Glyphs::Unicode, Glyphs::Ascii];
        inks.into_iter().flat_map(move |ink| {
            glyphs.into_iter().map(move |glyphs| Theme { ink, glyphs, ..Theme::default().named(name) })
        })
    });
    for theme in themes {
        for lang in LANGS {
            for size in [(80, 24), (120, 40), (200, 60)] {
                let mut stand = Stand::themed(staged::misdelete(ClockKind::Controlled), lang, size, theme);
                for _ in 0..4 {
                    stand.key(KeyCode::Left);
                }
                let buffer = stand.buffer();
                let loud = theme.style(Role::Danger);
                let red = buffer.content.iter().filter(|cell| {
                    let style = cell.style();
                    loud.fg.is_none_or(|ink| style.fg == Some(ink) || style.bg == Some(ink))
                        && (loud.fg.is_some() || style.add_modifier.contains(Modifier::REVERSED))
                });
                assert!(red.count() > 10, "{theme:?} {lang} {size:?}");
                // The bars are visible: a solid block in reverse would be a blank.
                let (overlap_span, style) = theme.clashing(theme.client(0));
                let overlap_span =
                    if theme.glyphs == Glyphs::Ascii { glyphs::ascii(overlap_span) } else { overlap_span };
                let bars = buffer.content.iter().filter(|cell| {
                    cell.symbol() == overlap_span
                        && cell.modifier == style.add_modifier
                        && !cell.modifier.contains(Modifier::REVERSED)
                });
                assert!(bars.count() > 2, "{theme:?} {lang} {size:?}: {:#?}", stand.rows());
                if theme.glyphs == Glyphs::Ascii {
                    assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()), "{theme:?}");
                }
                let ascii_chinese = theme.glyphs == Glyphs::Ascii && lang == Lang::Zh;
                let words = if lang == Lang::En { "2 HOLDERS AT ONCE" } else { "2 个持有者同时存在" };
                assert!(
                    ascii_chinese || stand.shows(words),
                    "{theme:?} {lang} {size:?}: {:#?}",
                    stand.rows()
                );
                stand.assert_whole();
            }
        }
    }
}

#[test]
fn a_lease_is_seen_to_drain_on_the_servers_lane() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (160, 48));
    for _ in 0..4 {
        stand.key(KeyCode::Left);
    }
    let rows = stand.rows();
    let lease = rows.iter().rfind(|row| row.contains("redis") && row.contains("▇")).expect("a lease");
    let levels: Vec<usize> =
        lease.chars().filter_map(|c| glyphs::LEASE.iter().position(|level| level.starts_with(c))).collect();
    let drains = levels.windows(2).take_while(|pair| pair[1] <= pair[0]).count();
    assert!(drains >= 6 && levels[drains] == 0, "it runs out: {levels:?}");
}

#[test]
fn a_client_has_one_colour_everywhere() {
    let stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    let buffer = stand.buffer();
    let c = Theme::default().client(2).fg;
    let cells = buffer.content.iter().filter(|cell| cell.symbol() == "C" && cell.style().fg == c).count();
    assert!(cells >= 2, "the lane and the wire log: {cells}");
}

#[test]
fn the_wall_clock_is_explained() {
    for (lang, words) in [(Lang::En, "pausing holds the clients"), (Lang::Zh, "服务器不会停")] {
        let stand = Stand::lesson(staged::misdelete(ClockKind::Wall), lang, (80, 24));
        assert!(stand.shows(words), "{:#?}", stand.rows());
        let stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), lang, (80, 24));
        assert!(!stand.shows(words));
    }
}

#[test]
fn a_reply_of_a_later_step_has_a_tick_of_its_own() {
    let mut s = staged::Script::new("Redis", ClockKind::Controlled, &staged::alone(&["A", "B"]));
    s.call(0, "acquire", "SET lock a NX", json!("OK"));
    s.believes(0, Belief::Holding);
    s.key("lock", Some("a"), None);
    s.stop(Stop::Move);
    let op = s.sent(1, "wait", "BLPOP freed 0");
    s.believes(1, Belief::Waiting);
    s.stop(Stop::Move);
    let asked = s.clone();
    s.pass(1000);
    s.call(0, "release", "RPUSH freed 1", json!(1));
    s.believes(0, Belief::Nothing);
    s.replied(op, 1, "wait", json!(["freed", "1"]));
    s.believes(1, Belief::Holding);
    s.stop(Stop::End);
    let lane = |stand: &Stand| stand.rows().into_iter().find(|row| row.starts_with("│■ B")).expect("a lane");
    for size in [(100, 30), (120, 40), (200, 60)] {
        let before = Stand::lesson(asked.clone(), Lang::En, size);
        assert!(lane(&before).contains("→ …"), "{:#?}", before.rows());
        let mut after = Stand::lesson(s.clone(), Lang::En, size);
        let row = lane(&after);
        let column = |row: &str, words: &str| row.find(words).map(|at| text::width(&row[..at]));
        let request = column(&row, "■ BLPOP freed 0").or_else(|| column(&row, "■ wait"));
        let reply = column(&row, "■ → [\"freed\"");
        let release = |row: &String| column(row, "● RPUSH").or_else(|| column(row, "● release"));
        let release = after.rows().iter().filter(|row| row.starts_with("│● A")).find_map(release);
        assert!(request.is_some() && request < release && release < reply, "{size:?} {:#?}", after.rows());
        assert!(!row.contains('…'), "the request is over: {row}");
        // Both ticks are one exchange.
        after.keys("\t");
        after.key(KeyCode::Up);
        assert!(after.shows("BLPOP freed 0"), "{:#?}", after.rows());
        after.assert_whole();
    }
}

#[test]
fn lanes_without_room_are_counted_in_one_way() {
    for lang in LANGS {
        for size in [(60, 16), (80, 24)] {
            let stand = Stand::lesson(staged::oversell(), lang, size);
            let rows = stand.rows();
            let axis = rows.iter().find(|row| row.contains('↑') && row.contains("ms")).expect("an axis");
            let label: String = axis.chars().skip(1).take_while(|c| *c != '─').collect();
            let names = rows.iter().filter_map(|row| row.strip_prefix('│')?.split_whitespace().nth(1));
            let shown =
                names.filter(|name| name.strip_prefix('B').is_some_and(|n| n.parse::<u8>().is_ok())).count();
            assert!(shown < 10, "the screen is too large for this test: {rows:#?}");
            assert!(label.trim_start().starts_with(&format!("+{} ", 10 - shown)), "{size:?} {rows:#?}");
        }
    }
}

#[test]
fn every_screen_of_a_recording_says_that_it_is_one() {
    for (lang, words) in [(Lang::En, "RECORDED"), (Lang::Zh, "录像")] {
        for size in [(60, 16), (80, 24), (120, 40)] {
            let mut stand = Stand::lesson(staged::misdelete(ClockKind::Recorded), lang, size);
            let marked = |stand: &Stand| {
                let rows = stand.rows();
                assert!(rows[0].trim_end().ends_with(words), "{size:?} {rows:#?}");
            };
            for key in ['l', 'h', 'h', ' ', ' ', '?', '?', 'N', '\t'] {
                stand.press(key);
                marked(&stand);
            }
            stand.ended();
            marked(&stand);
            stand.key(KeyCode::End);
            marked(&stand);
        }
    }
}

#[test]
fn the_catalogue_marks_recorded_lessons_and_says_how_to_have_them_live() {
    for (lang, words) in [(Lang::En, "RECORDED"), (Lang::Zh, "录像")] {
        for (width, height) in [(60, 16), (80, 24), (120, 40)] {
            let mut catalogue = catalogue();
            catalogue.entries[2].recorded = true;
            let options = AppOptions { lang, ..AppOptions::default() };
            let mut app = App::new(catalogue, FakeRuns::default(), &options);
            let area = Rect::new(0, 0, width, height);
            app.resize(area);
            let drawn = |app: &App<FakeRuns>| {
                let mut buffer = Buffer::empty(area);
                app.draw(area, &mut buffer);
                crate::stand::rows(&buffer)
            };
            assert!(!drawn(&app)[0].contains(words), "the first lesson is live");
            let down = KeyEvent::new(KeyCode::Down, KeyModifiers::NONE);
            for _ in 0..2 {
                app.handle(Message::Input(Event::Key(down)), Instant::now());
            }
            let rows = drawn(&app);
            assert!(rows[0].trim_end().ends_with(words), "{rows:#?}");
            assert!(rows.iter().any(|row| row.contains("lockstep")), "{rows:#?}");
        }
    }
}

#[test]
fn what_only_plays_from_its_recording_offers_neither_races_nor_every_order() {
    for recorded in [false, true] {
        let mut catalogue = catalogue();
        let entries = catalogue.entries.iter_mut();
        entries.filter(|entry| entry.lesson.id == "unlock").for_each(|entry| entry.recorded = recorded);
        let open = Some(LessonChoice { id: "unlock".into(), variant: "blind-del".into() });
        let mut app = App::new(catalogue, FakeRuns::default(), &AppOptions { open, ..AppOptions::default() });
        let area = Rect::new(0, 0, 240, 40);
        app.resize(area);
        let events = staged::misdelete(ClockKind::Recorded).events;
        app.handle(Message::Run(Some(Update::Events(events))), Instant::now());
        let mut buffer = Buffer::empty(area);
        app.draw(area, &mut buffer);
        let rows = crate::stand::rows(&buffer);
        let hints = rows.last().expect("a last row");
        assert!(hints.contains("compare"), "{hints}");
        for offer in ["R race", "X every order"] {
            assert_eq!(hints.contains(offer), !recorded, "{offer}: {hints}");
        }
    }
}

#[test]
fn a_lease_drains_while_time_is_passed_and_any_key_ends_the_animation() {
    let mut stand = Stand::fresh(Lang::En, (120, 40));
    let script = staged::misdelete(ClockKind::Controlled);
    // Up to just before three seconds pass.
    let pass = script
        .events
        .iter()
        .position(|event| matches!(event.kind, EventKind::Stop { stop: Stop::Passed, .. }));
    let pass = pass.expect("a pass");
    stand.events(script.events[3..pass - 1].to_vec());
    stand.update(Update::Stepped { ended: false });
    assert!(stand.shows("  3s"), "{:#?}", stand.rows());
    stand.key(KeyCode::Right);
    stand.events(script.events[pass - 1..=pass].to_vec());
    stand.update(Update::Stepped { ended: false });
    stand.wait(300);
    assert!(stand.shows("1.5s") && stand.shows("▰▱"), "{:#?}", stand.rows());
    stand.press('x');
    assert!(!stand.shows("▰") && stand.shows("removed"), "{:#?}", stand.rows());
    assert_eq!(stand.app.wake(stand.now), None, "nothing moves any more");
}

#[test]
fn the_alarm_names_first_who_came_last() {
    let mut script = staged::misdelete(ClockKind::Controlled);
    script.events.truncate(1);
    let mut shared = script.clone();
    for actor in [1, 0] {
        script.believes(actor, Belief::Holding);
        script.stop(Stop::Move);
    }
    let stand = Stand::lesson(script, Lang::En, (120, 40));
    assert!(stand.shows("Now ● A believes that it has the lock, too, beside ■ B"), "{:#?}", stand.rows());
    // A writer joins two readers, one in a lane above it and one below.
    if let EventKind::LabReady { locks, .. } = &mut shared.events[0].kind {
        locks.push(LockInfo { name: "lock".into(), title: None, limit: Capacity::ReadWrite });
    }
    for (actor, belief) in [(0, Belief::Sharing), (2, Belief::Sharing), (1, Belief::Holding)] {
        shared.believes(actor, belief);
        shared.stop(Stop::Move);
    }
    let stand = Stand::lesson(shared, Lang::En, (120, 40));
    assert!(
        stand.shows("Now ■ B believes that it has the lock, too, beside ● A and ▲ C"),
        "{:#?}",
        stand.rows()
    );
}

#[test]
fn a_counter_is_shown_by_its_title() {
    let mut script = staged::misdelete(ClockKind::Controlled);
    script.events.truncate(1);
    if let EventKind::LabReady { counters, .. } = &mut script.events[0].kind {
        let title = crate::stand::text("turned away", "被拒订单");
        counters.push(CounterInfo { name: "refused".into(), title });
    }
    script.add(EventKind::Counted { actor: ActorId(0), counter: "refused".into(), by: 1 });
    script.stop(Stop::Move);
    for (lang, total, change) in
        [(Lang::En, "turned away 1", "turned away +1"), (Lang::Zh, "被拒订单 1", "被拒订单 +1")]
    {
        let stand = Stand::lesson(script.clone(), lang, (120, 40));
        let rows: Vec<String> =
            stand.rows().iter().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for words in [total, change] {
            assert!(rows.iter().any(|row| row.contains(words)), "{words}: {rows:#?}");
        }
        assert!(!stand.shows("refused"), "{rows:#?}");
    }
}

#[test]
fn who_watches_a_node_is_named_whole_or_not_at_all() {
    for (lang, length) in LANGS.into_iter().flat_map(|lang| (0..40).map(move |length| (lang, length))) {
        let actors = ["A", "B"].map(|name| (name.to_owned(), name.to_owned(), false));
        let mut script = staged::Script::new("ZooKeeper", ClockKind::Controlled, &actors);
        for (actor, session) in [(0, 1), (1, 2)] {
            script.add(EventKind::Session { actor: ActorId(actor), server: "zookeeper".into(), session });
        }
        let path = format!("/{}lock", "n".repeat(length));
        script.tree(|nodes| {
            let node = Znode { data: "A".into(), owner: Some(1), watchers: vec![2], ..Znode::default() };
            nodes.insert(path, node);
        });
        script.stop(Stop::Move);
        let stand = Stand::lesson(script, lang, (80, 24));
        let rows = stand.rows();
        let watched = rows.iter().find_map(|row| row.split_once('◉'));
        let (_, rest) = watched.unwrap_or_else(|| panic!("{length} {rows:#?}"));
        assert!(rest.contains("■ B"), "{length} {rows:#?}");
    }
}

#[test]
fn a_crowd_is_one_band_with_counts() {
    let stand = Stand::lesson(staged::herd(900, 1), Lang::En, (120, 40));
    for words in ["×900", "waiting 899", "holding 1", "notified 900", "NodeDeleted ×900", "900 watching"] {
        assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
    }
}

/// The script up to its question.
pub fn up_to_question() -> staged::Script {
    let mut script = staged::question();
    let asked = script
        .events
        .iter()
        .position(|event| matches!(event.kind, EventKind::Stop { stop: Stop::Question, .. }));
    script.events.truncate(asked.expect("a question") + 1);
    script
}

/// The events after the script's question, up to the end of the next step.
pub fn after_question() -> Vec<lockstep::log::Event> {
    let all = staged::question().events;
    let begin = up_to_question().events.len();
    all[begin..all.len() - 2].to_vec()
}

#[test]
fn a_question_is_seen_whole_answered_and_decided_at_every_size() {
    for (lang, words) in [
        (
            Lang::En,
            [
                "Your prediction",
                "4. It depends",
                "1-4 answer",
                "What do you think?",
                "You said: It depends",
                "none of them",
            ],
        ),
        (
            Lang::Zh,
            ["先猜一猜", "4. 要看谁先来", "按 1-4 作答", "先猜一个：1-4", "你猜的是：要看谁先来", "每次扣减"],
        ),
    ] {
        for size in [(80, 24), (100, 30), (120, 40), (160, 48)] {
            let mut stand = Stand::lesson(up_to_question(), lang, size);
            let see = |stand: &Stand, words: &str| {
                assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
                stand.assert_whole();
            };
            words[..3].iter().for_each(|words| see(&stand, words));
            stand.commands();
            // The other variant would give the answer away.
            stand.press('b');
            see(&stand, words[3]);
            assert_eq!(stand.commands(), []);
            stand.key(KeyCode::Right);
            see(&stand, words[3]);
            stand.press(' ');
            assert_eq!(stand.commands(), [], "nothing goes on without an answer");
            stand.press('4');
            see(&stand, &format!("▸ {}", words[1]));
            stand.key(KeyCode::Right);
            assert_eq!(stand.commands(), [SessionCommand::Step]);
            stand.events(after_question());
            stand.update(Update::Stepped { ended: false });
            stand.press('x');
            words[4..].iter().for_each(|words| see(&stand, words));
            see(&stand, "✗");
            stand.key(KeyCode::Left);
            see(&stand, &format!("▸ {}", words[1]));
            stand.press('2');
            see(&stand, &format!("▸ {}", words[1]));
            stand.ended();
            stand.key(KeyCode::End);
            stand.press('L');
            stand.press('L');
            let verdict = stand.rows().concat();
            assert!(
                verdict.contains(if lang == Lang::En { "FAILURE SHOWN" } else { "故障如预期重现" }),
                "{verdict}"
            );
        }
    }
}

#[test]
fn skipped_and_passed_over_questions_let_the_lesson_go_on() {
    let mut stand = Stand::lesson(up_to_question(), Lang::En, (120, 40));
    stand.commands();
    stand.press('s');
    assert!(stand.shows("skipped, →"), "{:#?}", stand.rows());
    stand.key(KeyCode::Right);
    assert_eq!(stand.commands(), [SessionCommand::Step]);
    stand.events(after_question());
    stand.update(Update::Stepped { ended: false });
    stand.press('x');
    assert!(stand.shows("What happened: -9") && !stand.shows("You said"), "{:#?}", stand.rows());
    assert!(stand.shows("→ Redis runs one command at a time"), "why, for everybody: {:#?}", stand.rows());

    // With questions off the run passes over the question by itself, and so does the playhead.
    let mut stand = Stand::fresh(Lang::En, (120, 40));
    stand.press('r');
    stand.press('N');
    assert!(stand.shows("Questions are off"), "{:#?}", stand.rows());
    let script = up_to_question();
    let said = script.events.len() - 2;
    stand.events(script.events[..said].to_vec());
    stand.update(Update::Stepped { ended: false });
    stand.key(KeyCode::Right);
    stand.commands();
    stand.events(script.events[said..].to_vec());
    stand.update(Update::Stepped { ended: false });
    assert_eq!(stand.commands(), [SessionCommand::Step]);
    stand.events(after_question());
    stand.update(Update::Stepped { ended: false });
    stand.press('x');
    assert!(stand.shows("A looks at the stock.") && stand.shows("DECR stock"), "{:#?}", stand.rows());
    stand.key(KeyCode::Left);
    assert!(stand.shows("step 1/"), "{:#?}", stand.rows());
    stand.key(KeyCode::Right);
    assert!(stand.shows("step 3/"), "{:#?}", stand.rows());
}

#[test]
fn playing_pauses_at_a_question() {
    let mut stand = Stand::fresh(Lang::En, (120, 40));
    stand.press('r');
    stand.press(' ');
    stand.commands();
    stand.events(up_to_question().events);
    stand.update(Update::Stepped { ended: false });
    assert!(stand.shows("paused") && !stand.shows("playing"), "{:#?}", stand.rows());
    stand.wait(60_000);
    assert_eq!(stand.commands(), []);
    stand.press('2');
    stand.press(' ');
    assert_eq!(stand.commands(), [SessionCommand::Watch]);
    stand.events(after_question());
    stand.update(Update::Stepped { ended: false });
    assert!(stand.shows("✓ You were right: -9"), "{:#?}", stand.rows());
    assert_eq!(stand.commands(), [], "the outcome is to be read first");
    stand.wait(20_000);
    assert_eq!(stand.commands(), [SessionCommand::Watch]);
}

#[test]
fn stepping_back_and_forth_asks_no_server() {
    let mut stand = Stand::lesson(staged::oversell(), Lang::En, (120, 40));
    assert!(stand.shows("sold 10"), "{:#?}", stand.rows());
    stand.commands();
    let newest = stand.buffer();
    // Past the last narration and the last sale.
    for _ in 0..2 {
        stand.key(KeyCode::Left);
    }
    assert!(stand.shows("sold 9") && stand.shows("looking back"), "{:#?}", stand.rows());
    stand.key(KeyCode::Home);
    assert!(stand.shows("Before you start"), "{:#?}", stand.rows());
    stand.key(KeyCode::End);
    assert_eq!(stand.buffer(), newest);
    assert_eq!(stand.commands(), []);
}

#[test]
fn a_step_at_the_frontier_asks_the_engine_once() {
    let mut stand = Stand::fresh(Lang::En, (80, 24));
    stand.commands();
    stand.key(KeyCode::Right);
    stand.key(KeyCode::Right);
    assert_eq!(stand.commands(), [SessionCommand::Step]);
}

#[test]
fn playing_watches_dwells_and_holds_in_mid_step() {
    let script = staged::misdelete(ClockKind::Controlled);
    let mut stand = Stand::fresh(Lang::En, (80, 24));
    stand.commands();
    stand.press(' ');
    assert_eq!(stand.commands(), [SessionCommand::Watch]);
    stand.events(script.events[3..5].to_vec());
    stand.update(Update::Stepped { ended: false });
    assert_eq!(stand.commands(), [], "the narration is to be read first");
    stand.wait(500);
    assert_eq!(stand.commands(), []);
    stand.wait(20_000);
    assert_eq!(stand.commands(), [SessionCommand::Watch]);
    stand.press(' ');
    assert_eq!(stand.commands(), [SessionCommand::Hold]);
    assert!(stand.shows("held in mid-step"), "{:#?}", stand.rows());
    stand.press(' ');
    assert_eq!(stand.commands(), [SessionCommand::Resume]);
    stand.press('+');
    assert_eq!(stand.commands(), [SessionCommand::Speed(2.0)]);
}

#[test]
fn the_verdict_says_what_was_expected_and_observed_and_not_shown_is_loud() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    stand.ended();
    assert!(stand.shows("→ verdict") && !stand.shows("FAILURE SHOWN"), "{:#?}", stand.rows());
    stand.key(KeyCode::Right);
    assert!(stand.shows("overlap: lock") && !stand.shows("expected two"), "{:#?}", stand.rows());
    let hints = stand.rows().pop().expect("hints");
    assert!(!hints.contains("→ step") && !hints.contains("Space") && hints.contains("c program"), "{hints}");
    stand.key(KeyCode::Enter);
    for words in [
        "FAILURE SHOWN  claims 2/2",
        "A and ■ B thought they held the lock at once",
        "overlap: lock",
        "expected two holders at once",
        "observed 1",
        "Takeaway",
        "v: next variant",
        "i: 2 interview",
    ] {
        assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
    }
    // The programs replace the wire log while they are shown.
    for shown in [true, false] {
        stand.press('c');
        assert_eq!(stand.shows("╭ What the clients run"), shown, "{:#?}", stand.rows());
        assert_eq!(stand.shows("╭ On the wire"), !shown);
        assert!(stand.shows("Takeaway"));
    }
    stand.key(KeyCode::Left);
    assert!(!stand.shows("FAILURE SHOWN"), "the verdict belongs to the end");
    stand.key(KeyCode::End);
    stand.update(Update::Verdict(Verdict { outcome: Outcome::NotShown, claims: vec![] }));
    assert!(stand.shows("NOT SHOWN"), "{:#?}", stand.rows());
    let buffer = stand.buffer();
    let loud = buffer.content.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED)).count();
    assert!(loud > 30, "{loud}");
}

#[test]
fn a_server_that_dies_leaves_everything_so_far() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::Zh, (80, 24));
    stand.update(Update::Failed(Failure {
        message: "redis-server ended: signal 9 (killed).\nIts log says: …".into(),
        server: true,
    }));
    assert!(stand.shows("服务器出错了") && stand.shows("signal 9"), "{:#?}", stand.rows());
    stand.key(KeyCode::Left);
    assert!(!stand.shows("signal 9") && stand.shows("回看中"), "{:#?}", stand.rows());
    stand.press('r');
    assert_eq!(stand.runs.opened.borrow().len(), 2, "a fresh run");
    stand.key(KeyCode::Esc);
    assert!(matches!(stand.app.mode(), Mode::Browsing));
}

#[test]
fn a_watch_that_was_paused_during_the_boot_is_held() {
    let mut stand = Stand::fresh(Lang::En, (80, 24));
    stand.press('r');
    stand.press(' ');
    stand.press(' ');
    assert_eq!(stand.commands(), [SessionCommand::Speed(1.0), SessionCommand::Watch]);
    stand.events(staged::misdelete(ClockKind::Controlled).events[..3].to_vec());
    assert_eq!(stand.commands(), [SessionCommand::Hold]);
}

#[test]
fn nothing_that_was_drawn_moves_when_more_happens() {
    for script in [staged::misdelete(ClockKind::Controlled), staged::oversell(), staged::herd(40, 2)] {
        let whole = script.log();
        let mut at_once = Chart::default();
        at_once.advance(&whole);
        let (mut log, mut grown) = (Log::new(), Chart::default());
        for (n, event) in script.events.into_iter().enumerate() {
            log.append(event);
            grown.advance(&log);
            assert_eq!(grown.column(n), at_once.column(n), "event {n}");
            assert!(n == 0 || grown.column(n) >= grown.column(n - 1), "event {n}");
        }
        assert_eq!(grown.wire, at_once.wire);
    }
}

#[test]
fn without_colours_the_failure_still_stands_out() {
    let terminal = Environment { no_color: true, locale: Some("C"), ..Environment::default() };
    let theme = Theme::new(ThemeName::Auto, terminal);
    let mut stand = Stand::themed(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40), theme);
    for _ in 0..4 {
        stand.key(KeyCode::Left);
    }
    let buffer = stand.buffer();
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
    assert!(stand.shows("2 HOLDERS AT ONCE"), "{:#?}", stand.rows());
    let reversed = buffer.content.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED)).count();
    assert!(reversed > 20, "{reversed}");
}

#[tokio::test]
async fn the_loop_plays_a_lesson_from_the_catalogue_to_the_verdict() {
    let (backend, mut eyes) = event_loop::screen(120, 40);
    let (keyboard, input) = event_loop::keyboard();
    let runs = FakeRuns::default();
    let mut terminal = Terminal::new(backend).expect("a terminal");
    let mut app = App::new(catalogue(), runs.clone(), &AppOptions::default());
    let program = run(&mut terminal, input, &mut app);
    let learner = async {
        eyes.see("Overselling").await;
        keyboard.press("jjj");
        keyboard.key(KeyCode::Enter);
        eyes.see("starting servers").await;
        let (choice, mut engine) = runs.opened.borrow_mut().pop().expect("a run");
        assert_eq!((choice.id.as_str(), choice.variant.as_str()), ("unlock", "blind-del"));
        assert_eq!(engine.commands.recv().await, Some(SessionCommand::Speed(1.0)));
        let script = staged::misdelete(ClockKind::Controlled);
        let tell = |update: Update| engine.updates.send(update).expect("the loop listens");
        tell(Update::Events(script.events[..3].to_vec()));
        eyes.see("press → for the first step").await;
        keyboard.key(KeyCode::Right);
        assert_eq!(engine.commands.recv().await, Some(SessionCommand::Step));
        tell(Update::Events(script.events[3..].to_vec()));
        tell(Update::Stepped { ended: true });
        tell(Update::Verdict(Verdict { outcome: Outcome::Shown, claims: vec![] }));
        eyes.see("→ verdict").await;
        keyboard.key(KeyCode::Right);
        eyes.see("FAILURE SHOWN").await;
        // Nothing moves: not one more picture is drawn.
        let pictures = eyes.pictures();
        tokio::task::yield_now().await;
        assert_eq!(eyes.pictures(), pictures);
        keyboard.press("?");
        eyes.see("SIGKILL").await;
        keyboard.press("Q");
    };
    let (ended, ()) = tokio::join!(program, learner);
    assert_eq!(ended.expect("the loop"), Ended::Quit);
}

#[tokio::test]
async fn the_loop_ends_with_the_terminal() {
    let (backend, _eyes) = event_loop::screen(80, 24);
    let mut terminal = Terminal::new(backend).expect("a terminal");
    let input = futures::stream::empty();
    let mut app = App::new(catalogue(), FakeRuns::default(), &AppOptions::default());
    let ended = run(&mut terminal, input, &mut app).await;
    assert_eq!(ended.expect("the loop"), Ended::InputOver);
}

#[test]
fn the_catalogue_shows_the_end_of_a_long_description() {
    let mut stand = Stand::catalogue(Lang::En, (80, 16));
    let before = stand.rows();
    assert!(stand.shows("↓ more"), "{before:#?}");
    for _ in 0..20 {
        stand.key(KeyCode::PageDown);
    }
    assert!(!stand.shows("↓ more"), "{:#?}", stand.rows());
    for _ in 0..20 {
        stand.key(KeyCode::PageUp);
    }
    assert_eq!(stand.rows(), before);
}

#[test]
fn a_terminal_without_chinese_is_spoken_to_in_english_and_told_why() {
    let ascii = Theme { glyphs: Glyphs::Ascii, ..Theme::default() };
    let mut stand = Stand::themed_catalogue(Lang::Zh, (100, 30), ascii);
    assert!(stand.shows("Lessons") && !stand.shows("??"), "{:#?}", stand.rows());
    stand.press('L');
    assert!(stand.shows("Set LC_ALL") && !stand.shows("??"), "{:#?}", stand.rows());
}
