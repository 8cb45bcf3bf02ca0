//! Animated messages: in flight, stopped, reversed and skipped.

use crossterm::event::KeyCode;
use lockstep::{
    clock::ClockKind,
    log::{
        Direction, Event, EventKind, Fault, Keyspace, LinkId, Observed, Role, ServerInfo, ServerState, Stop,
    },
    run::session::{SessionCommand, Update},
    text::Lang,
    ui::theme::{self, Theme, glyphs},
};
use ratatui::{buffer::Cell, layout::Rect};

use crate::{
    staged::{self, Script},
    stand::{LANGS, SIZES, Stand},
};

/// The positions after each stop of a script.
fn stops(events: &[Event]) -> Vec<usize> {
    let stop = |(n, event): (usize, &Event)| matches!(event.kind, EventKind::Stop { .. }).then_some(n + 1);
    events.iter().enumerate().filter_map(stop).collect()
}

/// A stand after the `n`-th stop whose next step has just happened.
fn after(script: &Script, n: usize, lang: Lang, size: (u16, u16)) -> Stand {
    let stops = stops(&script.events);
    let mut stand = Stand::moving(&script.events[..stops[n]], lang, size);
    stand.key(KeyCode::Right);
    stand.commands();
    stand.events(script.events[stops[n]..stops[n + 1]].to_vec());
    stand.update(Update::Stepped { ended: false });
    stand
}

fn misdelete() -> Script {
    staged::misdelete(ClockKind::Controlled)
}

/// The lanes' pane.
fn lanes(stand: &Stand) -> Rect {
    let rows = stand.rows();
    let top =
        rows.iter().position(|row| row.starts_with('╭') && (row.contains("Who ") || row.contains("各方")));
    let top = top.unwrap_or_else(|| panic!("{rows:#?}"));
    let bottom = rows[top..].iter().position(|row| row.starts_with('╰')).expect("an end");
    let row = |n: usize| u16::try_from(n).expect("a row");
    Rect::new(0, row(top), stand.area.width, row(bottom))
}

/// The position at which a client's glyph travels: below its tick.
fn travels(stand: &Stand, glyph: &str) -> Option<(u16, u16)> {
    let (buffer, pane) = (stand.buffer(), lanes(stand));
    let found =
        (pane.left() + 2..pane.right()).flat_map(|x| (pane.top()..pane.bottom()).map(move |y| (x, y)));
    found
        .filter(|(x, y)| buffer[(*x, *y)].symbol() == glyph)
        // Not a tick of the client's own lane, which has its name.
        .filter(|(_, y)| buffer[(pane.left() + 1, *y)].symbol() != glyph)
        // A tick and a name have words to the right of them.
        .find(|(x, y)| matches!(buffer[(*x + 2, *y)].symbol(), " " | "┊" | "╱" | "▄" | "█"))
}

#[test]
fn a_command_goes_down_and_the_reply_comes_up_and_nobody_knows_it_before() {
    for lang in LANGS {
        for size in SIZES {
            let script = misdelete();
            // A's SET.
            let mut stand = after(&script, 0, lang, size);
            let mut rows = Vec::new();
            for _ in 0..16 {
                rows.push(travels(&stand, "●").map(|(_, y)| y));
                assert!(!stand.rows().concat().contains("→ OK"), "{:#?}", stand.rows());
                stand.assert_whole();
                stand.wait(31);
            }
            let rows: Vec<u16> = rows.into_iter().flatten().collect();
            let lowest = *rows.iter().max().expect("it travels");
            let turn = rows.iter().position(|y| *y == lowest).expect("it travels");
            assert!(rows[..turn].is_sorted(), "down: {rows:?}");
            assert!(rows[turn..].iter().rev().is_sorted(), "up: {rows:?}");
            assert!(rows.len() >= 14 && turn > 2 && turn < rows.len() - 2, "{rows:?}");
            stand.wait(31);
            assert!(stand.rows().concat().contains("→ OK"), "{:#?}", stand.rows());
            assert_eq!(travels(&stand, "●"), None);
            assert_eq!(stand.app.wake(stand.now), None, "nothing moves any more");
        }
    }
}

#[test]
fn space_stops_it_in_mid_flight_and_keeps_the_picture_exactly() {
    let mut stand = after(&misdelete(), 0, Lang::En, (120, 40));
    stand.wait(100);
    let before = lanes_of(&stand);
    stand.now += std::time::Duration::from_millis(90);
    stand.press(' ');
    assert_eq!(lanes_of(&stand), before);
    assert!(stand.shows("held in mid-step"), "{:#?}", stand.rows());
    assert_eq!(stand.app.wake(stand.now), None, "what stands still needs no waking");
    stand.wait(60_000);
    assert_eq!(lanes_of(&stand), before);
    assert_eq!(stand.commands(), []);
    stand.press(' ');
    assert_eq!(lanes_of(&stand), before);
    assert!(stand.app.wake(stand.now).is_some());
    stand.wait(150);
    assert_ne!(lanes_of(&stand), before);
    stand.wait(250);
    assert!(stand.shows("→ OK"), "{:#?}", stand.rows());
    assert_eq!(stand.app.wake(stand.now), None);
}

fn lanes_of(stand: &Stand) -> Vec<String> {
    let pane = lanes(stand);
    stand.rows()[usize::from(pane.top())..usize::from(pane.bottom())].to_vec()
}

#[test]
fn back_runs_the_same_way_backward() {
    let script = misdelete();
    // A move, a wait with a change at the server, and the release.
    for step in [0, 1, 2, 5] {
        let mut stand = after(&script, step, Lang::En, (120, 40));
        // Without the scrubber: what was shown once stays marked there.
        let whole = |stand: &Stand| stand.rows()[1..38].to_vec();
        let mut forward = vec![whole(&stand)];
        while stand.app.wake(stand.now).is_some() {
            stand.wait(50);
            forward.push(whole(&stand));
        }
        assert!(forward.len() > 5, "step {step}");
        stand.key(KeyCode::Left);
        // Before anything moves back, the last arrival is still in place.
        let mut backward = vec![forward[forward.len() - 1].clone()];
        while stand.app.wake(stand.now).is_some() {
            stand.wait(50);
            backward.push(whole(&stand));
        }
        backward.reverse();
        // At its first moment a flight has begun; at its end backward it has not.
        assert_eq!(forward[1..], backward[1..], "step {step}");
        assert_eq!(stand.commands(), [], "no server is asked");
    }
}

#[test]
fn back_in_mid_flight_turns_it_round() {
    let mut stand = after(&misdelete(), 0, Lang::En, (120, 40));
    stand.wait(100);
    let at_100 = lanes_of(&stand);
    stand.wait(100);
    stand.key(KeyCode::Left);
    stand.wait(100);
    assert_eq!(lanes_of(&stand), at_100);
    stand.wait(101);
    assert_eq!(stand.app.wake(stand.now), None);
    assert!(!stand.shows("SET lock a-7f3c NX PX 3000 →"), "{:#?}", stand.rows());
    stand.key(KeyCode::Right);
    assert!(stand.shows("→ …"), "{:#?}", stand.rows());
    assert_eq!(stand.commands(), [], "what is recorded asks no server");
}

#[test]
fn any_other_key_ends_it_and_no_step_is_lost() {
    let mut stand = after(&misdelete(), 0, Lang::En, (120, 40));
    stand.wait(60);
    stand.press('x');
    assert!(stand.shows("→ OK"), "{:#?}", stand.rows());

    let mut stand = after(&misdelete(), 0, Lang::En, (120, 40));
    stand.wait(60);
    stand.key(KeyCode::Right);
    assert!(stand.shows("→ OK"), "{:#?}", stand.rows());
    assert_eq!(stand.commands(), [SessionCommand::Step]);

    // Also if the step has not even ended, and if the animation was stopped.
    let script = misdelete();
    let stops = stops(&script.events);
    let mut stand = Stand::moving(&script.events[..stops[0]], Lang::En, (120, 40));
    stand.key(KeyCode::Right);
    stand.events(script.events[stops[0]..stops[0] + 2].to_vec());
    stand.wait(60);
    stand.press(' ');
    stand.key(KeyCode::Right);
    stand.events(script.events[stops[0] + 2..stops[1]].to_vec());
    stand.commands();
    stand.update(Update::Stepped { ended: false });
    assert_eq!(stand.commands(), [SessionCommand::Step]);
}

#[test]
fn a_key_pressed_before_anything_of_a_step_is_seen_does_not_pass_over_it() {
    let script = misdelete();
    let stops = stops(&script.events);
    let mut stand = Stand::moving(&script.events[..stops[0]], Lang::En, (120, 40));
    stand.commands();
    stand.key(KeyCode::Right);
    stand.key(KeyCode::Right);
    stand.events(script.events[stops[0]..stops[1]].to_vec());
    stand.update(Update::Stepped { ended: false });
    assert_eq!(stand.commands(), [SessionCommand::Step]);
}

#[test]
fn the_answer_to_a_question_is_read_before_the_story_goes_on() {
    let script = staged::question();
    let stops = stops(&script.events);
    let mut stand = Stand::moving(&script.events[..stops[1]], Lang::En, (120, 40));
    stand.press('2');
    stand.key(KeyCode::Right);
    stand.events(script.events[stops[1]..stops[2]].to_vec());
    stand.commands();
    stand.update(Update::Stepped { ended: false });
    stand.wait(60);
    stand.key(KeyCode::Right);
    assert!(stand.shows("does not know that zero is special"), "{:#?}", stand.rows());
    assert_eq!(stand.commands(), []);
    stand.key(KeyCode::Right);
    assert_eq!(stand.commands(), [SessionCommand::Step]);
}

#[test]
fn speed_scales_it() {
    for (keys, lasts) in [("", 500), ("+", 250), ("--", 2000)] {
        let script = misdelete();
        let stops = stops(&script.events);
        let mut stand = Stand::moving(&script.events[..stops[0]], Lang::En, (120, 40));
        stand.keys(keys);
        stand.events(script.events[stops[0]..stops[1]].to_vec());
        stand.wait(lasts - 2);
        assert!(stand.app.wake(stand.now).is_some(), "{keys:?}");
        stand.wait(2);
        assert!(stand.app.wake(stand.now).is_none(), "{keys:?}");
    }
}

#[test]
fn a_step_of_any_length_is_over_in_a_second_and_a_half() {
    let mut script = Script::new("Redis", ClockKind::Controlled, &[("A".into(), "A".into(), false)]);
    script.say("A works.", "A 在干活。");
    for _ in 0..50 {
        script.call(0, "work", "INCR n", serde_json::json!(1));
        script.pass(2000);
    }
    script.stop(Stop::Passed);
    let mut stand = after(&script, 0, Lang::En, (120, 40));
    stand.wait(1400);
    assert!(stand.app.wake(stand.now).is_some());
    stand.wait(101);
    assert!(stand.app.wake(stand.now).is_none());
}

#[test]
fn playing_shows_what_travels_and_pauses_in_mid_flight() {
    let script = misdelete();
    let stops = stops(&script.events);
    let mut stand = Stand::moving(&script.events[..stops[0]], Lang::En, (120, 40));
    stand.press(' ');
    assert_eq!(stand.commands().last(), Some(&SessionCommand::Watch));
    stand.events(script.events[stops[0]..stops[1]].to_vec());
    stand.update(Update::Stepped { ended: false });
    stand.wait(100);
    assert!(stand.shows("→ …") && stand.shows("playing"), "{:#?}", stand.rows());
    stand.press(' ');
    let frozen = lanes_of(&stand);
    stand.wait(60_000);
    assert_eq!(lanes_of(&stand), frozen);
    assert_eq!(stand.commands(), [], "paused");
    stand.press(' ');
    stand.wait(401);
    assert!(stand.shows("→ OK") && stand.shows("playing"), "{:#?}", stand.rows());
    stand.wait(2000);
    assert_eq!(stand.commands(), [SessionCommand::Watch], "the step after it");
}

#[test]
fn with_reduced_motion_nothing_travels() {
    let script = misdelete();
    let stops = stops(&script.events);
    let mut stand = Stand::lesson(Script::default(), Lang::En, (120, 40));
    stand.events(script.events[..stops[0]].to_vec());
    stand.events(script.events[stops[0]..stops[1]].to_vec());
    assert!(stand.shows("→ OK"), "{:#?}", stand.rows());
    assert_eq!((travels(&stand, "●"), stand.app.wake(stand.now)), (None, None));
    stand.key(KeyCode::Left);
    assert!(!stand.shows("→ OK") && stand.app.wake(stand.now).is_none());
}

/// A link holds A's command, and later releases or loses it.
fn held(end: Fault) -> Script {
    let actors = ["A", "B"].map(|name| (name.to_owned(), name.to_owned(), false));
    let mut script = Script::new("Redis", ClockKind::Controlled, &actors);
    script.say("A's packets are late.", "A 的数据包迟到了。");
    let link = || LinkId::new("A", "redis");
    script.add(EventKind::Fault(Fault::Hold { link: link(), way: Direction::Both }));
    script.stop(Stop::Fault);
    let op = script.sent(0, "acquire", "SET lock a NX");
    script.stop(Stop::Move);
    script.call(1, "acquire", "SET lock b NX", serde_json::json!("OK"));
    script.stop(Stop::Move);
    script.add(EventKind::Fault(end));
    script.replied(op, 0, "acquire", serde_json::Value::Null);
    script.stop(Stop::Fault);
    script
}

#[test]
fn a_held_command_stands_half_way_until_it_is_released() {
    let script = held(Fault::Release { link: LinkId::new("A", "redis") });
    let mut stand = after(&script, 1, Lang::En, (120, 40));
    stand.wait(300);
    let half = travels(&stand, "●").unwrap_or_else(|| panic!("{:#?}", stand.rows()));
    assert!(stand.shows(glyphs::STOPPED) && stand.app.wake(stand.now).is_none());
    let stops = stops(&script.events);
    stand.events(script.events[stops[2]..stops[3]].to_vec());
    stand.press('x');
    assert_eq!(travels(&stand, "●"), Some(half), "another one's command passes it by: {:#?}", stand.rows());
    stand.events(script.events[stops[3]..stops[4]].to_vec());
    stand.wait(150);
    let (x, y) = travels(&stand, "●").unwrap_or_else(|| panic!("{:#?}", stand.rows()));
    assert!(x == half.0 && y > half.1, "it goes on: {half:?} {y}");
    stand.wait(500);
    assert_eq!(travels(&stand, "●"), None);
    assert!(stand.shows("→ (nil)"), "{:#?}", stand.rows());
}

#[test]
fn a_fault_flashes_its_mark() {
    let script = misdelete();
    let stops = stops(&script.events);
    let mut stand = Stand::moving(&script.events[..stops[stops.len() - 2]], Lang::En, (120, 40));
    let reversed = |stand: &Stand| {
        let pane = lanes(stand);
        let buffer = stand.buffer();
        let cells = (pane.top()..pane.bottom() - 2).flat_map(|y| (0..120).map(move |x| (x, y)));
        let is = |at: &(u16, u16)| buffer[*at].modifier.contains(ratatui::style::Modifier::REVERSED);
        cells.filter(is).count()
    };
    // Two holders are shown in reversed words, which the crash ends.
    assert!(stand.shows("2 HOLDERS"));
    stand.events(script.events[stops[stops.len() - 2]..].to_vec());
    stand.wait(100);
    let flash = reversed(&stand);
    assert!(!stand.shows("2 HOLDERS") && flash > 8, "{:#?}", stand.rows());
    stand.wait(200);
    // The names in the bars are reversed as well.
    assert!(reversed(&stand) + 8 < flash, "{flash}");
}

/// A master dies and a replica takes over.
fn failover() -> Script {
    let mut script = Script::new("Redis", ClockKind::Controlled, &[("A".into(), "A".into(), false)]);
    if let EventKind::LabReady { servers, .. } = &mut script.events[0].kind {
        *servers = ["master", "replica1", "replica2"]
            .map(|name| ServerInfo {
                name: name.into(),
                product: "Redis".into(),
                version: "7.0.15".into(),
                address: "127.0.0.1:1".into(),
                password: None,
            })
            .to_vec();
    }
    let role = |script: &mut Script, server: &str, role: Role| {
        script.add(EventKind::State(ServerState {
            server: server.into(),
            observed: Observed::Redis(Keyspace { role: Some(role), ..Keyspace::default() }),
        }));
    };
    role(&mut script, "master", Role::Master);
    role(&mut script, "replica1", Role::Replica { of: "master".into() });
    role(&mut script, "replica2", Role::Replica { of: "master".into() });
    script.say("The master dies.", "主节点宕机。");
    script.add(EventKind::Fault(Fault::KillServer { server: "master".into() }));
    script.stop(Stop::Fault);
    script.pass(3000);
    role(&mut script, "replica2", Role::Master);
    script.stop(Stop::Passed);
    script
}

#[test]
fn a_promotion_moves_the_sign_of_the_master() {
    let crown = |stand: &Stand| {
        let rows = stand.rows();
        let y = rows.iter().position(|row| row.contains(glyphs::MASTER));
        y.map(|y| rows[y].chars().skip(1).take_while(|c| *c != ' ' && *c != '♛').collect::<String>())
    };
    let script = failover();
    let stops = stops(&script.events);
    let mut stand = Stand::moving(&script.events[..stops[0]], Lang::En, (120, 40));
    assert_eq!(crown(&stand).as_deref(), Some("master"));
    stand.events(script.events[stops[0]..stops[1]].to_vec());
    stand.press('x');
    assert_eq!(crown(&stand), None, "the dead rule nobody");
    stand.events(script.events[stops[1]..stops[2]].to_vec());
    stand.wait(650);
    assert_eq!(crown(&stand).as_deref(), Some("master"));
    stand.wait(200);
    assert_eq!(crown(&stand).as_deref(), Some("replica1"), "half way: {:#?}", stand.rows());
    stand.wait(300);
    assert_eq!(crown(&stand).as_deref(), Some("replica2"));
}

#[test]
fn the_herd_is_a_wave_through_the_crowd() {
    for (lang, notified) in [(Lang::En, "notified "), (Lang::Zh, "已通知 ")] {
        for size in [(100, 30), (200, 60)] {
            let script = staged::herd(900, 1);
            let stops = stops(&script.events);
            let mut stand = Stand::moving(&script.events[..stops[2]], lang, size);
            stand.events(script.events[stops[2]..stops[3]].to_vec());
            let mut fronts = Vec::new();
            let warning = Theme::default().style(theme::Role::Warning).fg;
            let mut told = Vec::new();
            while stand.app.wake(stand.now).is_some() {
                let rows = stand.rows();
                let buffer = stand.buffer();
                // One by one if there is room for that, else in braille.
                let is_dot = |sign: char| matches!(sign, '●' | '\u{2800}'..='\u{28ff}');
                let is_dot = |cell: &&Cell| cell.symbol().starts_with(is_dot);
                let lit = buffer.content.iter().filter(is_dot).filter(|cell| cell.style().fg == warning);
                fronts.push(lit.count());
                let count = rows.iter().find_map(|row| row.split(notified).nth(1));
                told.extend(count.and_then(|count| count.split(' ').next()?.parse::<usize>().ok()));
                stand.wait(33);
            }
            assert!(
                fronts.is_sorted() && fronts.iter().any(|lit| (10..850).contains(lit)),
                "{size:?} {fronts:?} {:#?}",
                stand.rows()
            );
            assert!(told.is_sorted() && told.iter().any(|told| (100..800).contains(told)), "{told:?}");
        }
    }
}

#[test]
fn a_crowd_that_asks_one_by_one_is_a_stream_and_a_wave() {
    let script = staged::herd(900, 1);
    let mut stand = after(&script, 0, Lang::En, (120, 40));
    stand.wait(40);
    let mut streams = 0;
    let mut frames = 0;
    while stand.app.wake(stand.now).is_some() {
        frames += 1;
        streams += usize::from(travels(&stand, "▲").is_some());
        stand.wait(33);
    }
    assert!(frames > 10 && streams >= frames - 1, "{streams} of {frames}");
}

#[test]
fn a_crowd_unfolds_into_its_members_and_folds_again() {
    for lang in LANGS {
        for size in SIZES {
            let mut stand = Stand::lesson(staged::herd(900, 1), lang, size);
            let folded = stand.rows();
            stand.press('e');
            let members = |stand: &Stand| {
                let rows = stand.rows();
                rows.iter().filter(|row| row.contains(" W") && row.starts_with('│')).count()
            };
            assert!(stand.shows("×900"), "{:#?}", stand.rows());
            assert!(members(&stand) > members_of(&folded), "{:#?}", stand.rows());
            // The lanes' pane, from its first member to its last.
            stand.key(KeyCode::Tab);
            (0..200).for_each(|_| stand.key(KeyCode::PageUp));
            assert!(stand.shows("W1 ") && stand.shows("×900"), "{:#?}", stand.rows());
            (0..200).for_each(|_| stand.key(KeyCode::PageDown));
            assert!(stand.shows("W900") && stand.shows("×900"), "{:#?}", stand.rows());
            stand.press('e');
            stand.key(KeyCode::BackTab);
            (0..3).for_each(|_| stand.key(KeyCode::Tab));
            assert_eq!(stand.rows(), folded);
        }
    }
}

fn members_of(rows: &[String]) -> usize {
    rows.iter().filter(|row| row.contains(" W") && row.starts_with('│')).count()
}

#[test]
fn nothing_in_flight_breaks_a_screen_of_any_size() {
    let failover = failover();
    let herd = staged::herd(40, 1);
    for lang in LANGS {
        for (script, step) in [(&herd, 2), (&herd, 0), (&misdelete(), 0), (&failover, 1)] {
            let mut stand = after(script, step, lang, (80, 24));
            for millis in [10, 150, 200, 300] {
                stand.wait(millis);
                for size in [(60, 16), (61, 17), (73, 20), (100, 24), (300, 16), (60, 100)] {
                    stand.resize(size);
                    stand.assert_whole();
                }
            }
        }
    }
}

#[test]
#[ignore = "leaves pictures of the screens in LOCKSTEP_PICTURES"]
fn pictures() {
    let release = Fault::Release { link: LinkId::new("A", "redis") };
    for lang in LANGS {
        for (width, height) in SIZES {
            for (name, script, step, millis) in [
                ("down", misdelete(), 2, 760),
                ("up", misdelete(), 3, 380),
                ("oversell", staged::oversell(), 0, 150),
                ("herd", staged::herd(900, 1), 2, 800),
                ("swarm", staged::herd(900, 1), 0, 250),
                ("held", held(release.clone()), 1, 300),
                ("failover", failover(), 1, 850),
            ] {
                let mut stand = after(&script, step, lang, (width, height));
                stand.wait(millis);
                stand.save(&format!("flight-{name}-{lang}-{width}x{height}"));
            }
            let mut stand = Stand::lesson(staged::herd(900, 1), lang, (width, height));
            stand.press('e');
            stand.save(&format!("flight-unfolded-{lang}-{width}x{height}"));
        }
    }
}
