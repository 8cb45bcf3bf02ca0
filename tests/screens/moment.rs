//! The decisive moment: how much of the screen it covers, that the verdict keeps it in sight, that nothing new is cut,
//! and that it is seen without colours, too.

use crossterm::event::KeyCode;
use lockstep::{
    clock::ClockKind,
    lesson::{Expect, Scenario},
    log::{Event, EventKind, KeyValue, Log, Observed},
    recording::carried,
    run::session::Update,
    text::Lang,
    ui::theme::{Glyphs, Ink, Theme, glyphs},
    world::{Change, World},
};
use ratatui::{buffer::Buffer, layout::Rect, style::Color};

use crate::{
    scenarios::{self, all_carried},
    staged,
    stand::Stand,
};

fn log(scenario: &Scenario) -> Log {
    carried::open(scenario).expect("a recording").log
}

/// Every carried variant that has a recording, with its log.
fn recorded() -> impl Iterator<Item = (Scenario, Log)> {
    all_carried().into_iter().filter_map(|scenario| {
        let log = carried::open(&scenario).ok()?.log;
        Some((scenario, log))
    })
}

fn name(scenario: &Scenario) -> String {
    format!("{} · {}", scenario.loaded.lesson.id, scenario.variant)
}

/// The events up to the end of the step in which a lock first had too many holders.
fn first_moment(log: &Log) -> Option<Vec<Event>> {
    let world = World::fold(log, log.len());
    let overlap = world.holding.overlaps().first()?;
    let mut events = log.events().iter().enumerate().skip(overlap.event);
    let (stop, _) = events.find(|(_, event)| matches!(event.kind, EventKind::Stop { .. }))?;
    // It may have been over within the step.
    let lasts = overlap.end.is_none_or(|end| end > stop);
    lasts.then(|| log.events()[..=stop].to_vec())
}

fn opened(events: Vec<Event>, lang: Lang, size: (u16, u16)) -> Stand {
    let mut stand = Stand::opened(lang, size);
    stand.events(events);
    stand.update(Update::Stepped { ended: false });
    // Any key ends what moves.
    stand.press('x');
    stand
}

/// A run that is over, at its verdict.
fn judged(log: &Log, size: (u16, u16)) -> Stand {
    let mut stand = opened(log.events().to_vec(), Lang::En, size);
    stand.ended();
    stand.key(KeyCode::End);
    stand
}

/// Cells on a ground that is kept for what must not be.
fn red(buffer: &Buffer) -> usize {
    let palette = Theme::default().palette;
    let grounds = [palette.alarm, palette.overlap_span].map(Color::Indexed);
    buffer.content.iter().filter(|cell| grounds.contains(&cell.bg)).count()
}

fn share(stand: &Stand) -> usize {
    let buffer = stand.buffer();
    100 * red(&buffer) / buffer.content.len()
}

#[test]
fn the_first_moment_of_two_holders_fills_the_screen() {
    let mut moments = 0;
    for (scenario, log) in recorded() {
        let Some(events) = first_moment(&log) else { continue };
        moments += 1;
        let stand = opened(events.clone(), Lang::En, (120, 40));
        assert!(share(&stand) >= 20, "{}: {} % {:#?}", name(&scenario), share(&stand), stand.rows());
        assert!(stand.shows("AT ONCE") || stand.shows("ALLOWED"), "{:#?}", stand.rows());
        let mut stand = opened(events, Lang::En, (200, 60));
        stand.press('P');
        assert!(share(&stand) >= 30, "{}: {} % {:#?}", name(&scenario), share(&stand), stand.rows());
    }
    assert!(moments > 8, "{moments} variants have two holders at the end of a step");
}

#[test]
fn every_verdict_keeps_what_was_violated_in_sight() {
    for (scenario, log) in recorded() {
        let world = World::fold(&log, log.len());
        for size in [(80, 24), (100, 30), (120, 40), (200, 60)] {
            let stand = judged(&log, size);
            assert!(stand.shows("FAILED AS PREDICTED"), "{:#?}", stand.rows());
            let together = !world.holding.overlaps().is_empty();
            if !together && world.breaches.is_empty() {
                continue;
            }
            let rows = stand.rows();
            let verdict = rows.iter().position(|row| row.contains(" Verdict ")).expect("a verdict");
            let buffer = stand.buffer();
            let lanes = Rect { height: u16::try_from(verdict).expect("a few rows"), ..buffer.area };
            let mut above = Buffer::empty(lanes);
            let cells = above.content.len();
            above.content.clone_from_slice(&buffer.content[..cells]);
            assert!(red(&above) >= usize::from(size.0) / 3, "{} {size:?} {rows:#?}", name(&scenario));
            assert!(!together || stand.shows("at the same time"), "{} {rows:#?}", name(&scenario));
        }
    }
}

#[test]
fn overselling_alarms_as_much_as_two_holders_do() {
    let red_of = |lesson: &str, variant: &str| {
        let stand = judged(&log(&scenarios::carried(lesson, variant)), (120, 40));
        (red(&stand.buffer()), stand.rows())
    };
    let unlock =
        ["blind-del", "get-compare-del"].map(|variant| red_of("unlock-someone-elses-lock", variant).0);
    for (lesson, variant, banner) in [
        ("oversell", "check-then-decrement", "SOLD ██████████ 10 / 1"),
        ("oversell", "lost-update", "SOLD ██████████ 10 / 1"),
        ("oversell", "local-lock", "SOLD ███ 3 / 1"),
        ("db-pessimistic", "autocommit", "SOLD ██ 2 / 1"),
        ("db-optimistic", "lost-update", "SOLD ██ 2 · stock 5 → 4"),
        ("db-optimistic", "unchecked", "SOLD ██ 2 · stock 5 → 4"),
        ("db-aba", "by-value", "GRANTED █ 1 · points 5 → 15"),
    ] {
        let (red, rows) = red_of(lesson, variant);
        assert!(red >= unlock[0].min(unlock[1]), "{variant}: {red} of {unlock:?} {rows:#?}");
        assert!(rows.iter().any(|row| row.contains(banner)), "{lesson}/{variant} {rows:#?}");
    }
    for (scenario, log) in recorded() {
        let fixed = scenario.loaded.lesson.variants[&scenario.variant].expect == Expect::Prevented;
        // A fencing token prevents the harm, not that two believe to hold the lock.
        let calm = World::fold(&log, log.len()).holding.overlaps().is_empty();
        if fixed && calm {
            let stand = judged(&log, (120, 40));
            assert_eq!(red(&stand.buffer()), 0, "{} {:#?}", name(&scenario), stand.rows());
        }
    }
    for variant in ["redis-lock", "atomic-script"] {
        let (red, rows) = red_of("oversell", variant);
        assert_eq!(red, 0, "{variant}: {rows:#?}");
    }
}

#[test]
fn whatever_else_must_never_be_alarms_too() {
    let log = log(&scenarios::carried("setnx-without-expire", "two-commands"));
    let broken = log.events().iter().position(|event| matches!(event.kind, EventKind::Breached { .. }));
    let stop = log
        .events()
        .iter()
        .skip(broken.expect("a breach"))
        .position(|event| matches!(event.kind, EventKind::Stop { .. }));
    let until = broken.expect("a breach") + stop.expect("its stop");
    for (lang, words, says) in [
        (Lang::En, "INVARIANT BROKEN", "the client that set it is gone"),
        (Lang::Zh, "违反不变式", "加锁的客户端却已经不在了"),
    ] {
        let stand = opened(log.events()[..=until].to_vec(), lang, (120, 40));
        assert!(stand.shows(words) && stand.shows(says), "{:#?}", stand.rows());
        assert!(share(&stand) >= 20, "{} % {:#?}", share(&stand), stand.rows());
        let before = opened(log.events()[..broken.expect("a breach")].to_vec(), lang, (120, 40));
        assert_eq!(red(&before.buffer()), 0, "{:#?}", before.rows());
    }
}

#[test]
fn every_server_is_seen_or_counted() {
    let mut several = 0;
    for (scenario, log) in recorded() {
        let world = World::fold(&log, log.len());
        if world.servers.len() < 2 {
            continue;
        }
        several += 1;
        let rows = judged(&log, (80, 24)).rows();
        let lanes = rows.iter().take_while(|row| !row.contains(" Verdict "));
        let lanes: Vec<&str> = lanes.map(|row| row.trim_start_matches('│')).collect();
        let has_lane = |name: &str| lanes.iter().any(|row| row.starts_with(name));
        let hidden = world.servers.iter().filter(|server| !has_lane(&server.info.name)).count();
        let counted = lanes.iter().any(|row| row.starts_with(&format!("{hidden} more")));
        assert!(hidden == 0 || counted, "{} {rows:#?}", name(&scenario));
        let pair = scenario.loaded.lesson.id.starts_with("redlock") && scenario.actors.len() == 2;
        assert!(!pair || hidden == 0, "a majority is counted: {} {rows:#?}", name(&scenario));
    }
    assert!(several > 20, "{several}");
}

#[test]
fn a_server_keeps_its_name_and_its_role_stands_beside_it() {
    let log = log(&scenarios::carried("failover", "replication-lag"));
    let stand = judged(&log, (120, 40));
    for words in ["node1", "node2 ♛", "♛ master", "node2 · master", "replica of node2", "A→node1", "B→node2"]
    {
        assert!(stand.shows(words), "{words} {:#?}", stand.rows());
    }
}

#[test]
fn between_its_read_and_its_write_a_client_shows_what_it_saw_until_that_is_outdated() {
    let log = log(&scenarios::carried("oversell", "lost-update"));
    let counted = log.events().iter().position(|event| matches!(event.kind, EventKind::Counted { .. }));
    let (before, after) = log.events().split_at(counted.expect("a sale") + 4);
    let mut stand = opened(before[..counted.expect("a sale")].to_vec(), Lang::En, (120, 40));
    let outdated = |stand: &Stand| stand.rows().concat().matches(glyphs::UNSURE).count();
    assert!(stand.shows(" saw 1 ") && outdated(&stand) == 0, "{:#?}", stand.rows());
    stand.events(before[counted.expect("a sale")..].to_vec());
    stand.events(after[..1].to_vec());
    stand.press('x');
    assert!(stand.shows(" saw 1 ") && outdated(&stand) > 20, "{:#?}", stand.rows());
    assert_eq!(red(&stand.buffer()), 0, "{:#?}", stand.rows());
}

/// What an event has changed, in the words in which it must be found on the screen.
fn news(world: &World, event: &Event) -> Vec<String> {
    match &event.kind {
        EventKind::Replied { reply, .. } if reply.is_value() => vec![reply.to_string()],
        EventKind::State(state) => {
            let Some(server) = world.server(&state.server) else { return Vec::new() };
            let Observed::Redis(space) = &state.observed else { return Vec::new() };
            let changed = server.changes.iter().filter(|(_, change)| **change != Change::Removed);
            let values = changed.filter_map(|(name, _)| match &space.keys.get(name)?.value {
                KeyValue::String(text) => Some(vec![text.clone()]),
                KeyValue::Hash(fields) => Some(fields.values().cloned().collect()),
                KeyValue::List(items) => Some(items.clone()),
                _ => None,
            });
            values.flatten().collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn what_the_newest_event_changed_is_never_cut() {
    let mut cut = Vec::new();
    let mut looked = 0;
    for (scenario, log) in recorded() {
        for size in [(100, 30), (120, 40)] {
            let mut stand = Stand::opened(Lang::En, size);
            let mut world = World::default();
            let mut fed = 0;
            for (n, event) in log.events().iter().enumerate() {
                if !matches!(event.kind, EventKind::Replied { .. } | EventKind::State(_)) {
                    continue;
                }
                stand.events(log.events()[fed..=n].to_vec());
                fed = n + 1;
                world.seek(&log, fed);
                // Of a crowd no member has a lane of its own: it is counted.
                let crowd =
                    event.kind.actor().and_then(|actor| log.actor(actor)).is_some_and(|actor| actor.crowd);
                if n < log.opening() || crowd {
                    continue;
                }
                looked += 1;
                stand.press('x');
                let rows = stand.rows();
                // A list of forty names has more characters than the pane.
                for news in news(&world, event).into_iter().filter(|news| news.len() < 400) {
                    if !is_shown(&rows, &news) {
                        cut.push(format!(
                            "{} {size:?} event {n}: {news}\n{}",
                            name(&scenario),
                            rows.join("\n")
                        ));
                    }
                }
            }
        }
    }
    assert!(looked > 500, "{looked}");
    assert!(
        cut.is_empty(),
        "{} of {looked} are cut; the first:\n{}",
        cut.len(),
        cut[..cut.len().min(3)].join("\n\n")
    );
}

/// Whether words stand on the screen: in one row, or wrapped within a pane.
fn is_shown(rows: &[String], words: &str) -> bool {
    let words = words.trim();
    if rows.iter().any(|row| row.contains(words)) {
        return true;
    }
    let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    // Panes are beside each other: what is wrapped in one of them stands in pieces between their frames.
    let pane = |n: usize| rows.iter().filter_map(|row| row.split('│').nth(n)).map(bare).collect::<String>();
    (1..5).any(|n| pane(n).contains(&bare(words)))
}

#[test]
fn two_holders_differ_from_one_in_more_than_one_sign_without_colours() {
    for glyphs_of in [Glyphs::Unicode, Glyphs::Ascii] {
        let theme = Theme { ink: Ink::Mono, glyphs: glyphs_of, ..Theme::default() };
        let mut stand = Stand::themed(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40), theme);
        let ascii = |sign: &'static str| if glyphs_of == Glyphs::Ascii { glyphs::ascii(sign) } else { sign };
        // Signs between the frame of the lanes and the axis, and the words.
        let signs = |stand: &Stand| {
            let rows = stand.rows();
            let from = rows.iter().position(|row| row.contains("Story")).expect("a story") + 3;
            let axis = rows.iter().rposition(|row| row.contains("redis")).expect("a server's lane");
            let lanes = rows[from..axis].concat();
            let pattern = ascii(glyphs::CLASH_MONO).repeat(6);
            [lanes.contains(&pattern), rows.concat().contains("2 HOLDERS AT ONCE")]
        };
        let seen: Vec<[bool; 2]> = (0..9)
            .map(|_| {
                let seen = signs(&stand);
                stand.key(KeyCode::Left);
                seen
            })
            .collect();
        assert!(seen.contains(&[true, true]) && seen.contains(&[false, false]), "{glyphs_of:?} {seen:?}");
        assert!(!seen.contains(&[false, true]), "{seen:?}");
    }
}

/// How many members of a crowd are bright, in braille or one by one.
fn bright(buffer: &Buffer) -> usize {
    let warning = Theme::default().style(lockstep::ui::theme::Role::Warning).fg;
    let lit = buffer.content.iter().filter(|cell| cell.style().fg == warning);
    lit.map(|cell| match cell.symbol().chars().next() {
        Some(dots @ '\u{2800}'..='\u{28ff}') => (u32::from(dots) - 0x2800).count_ones() as usize,
        Some('●') => 1,
        _ => 0,
    })
    .sum()
}

#[test]
fn a_herd_is_seen_one_by_one_and_one_stays_bright() {
    let script = staged::herd(900, 1);
    let notified = script.events.iter().rposition(|event| matches!(event.kind, EventKind::Notified { .. }));
    let told = script.events[..=notified.expect("a herd")].to_vec();
    let stand = opened(told, Lang::En, (100, 30));
    assert_eq!(bright(&stand.buffer()), 900, "{:#?}", stand.rows());
    let stand = opened(script.events, Lang::En, (100, 30));
    assert_eq!(bright(&stand.buffer()), 1, "{:#?}", stand.rows());
    let bright_at_stops = |variant: &str| {
        let log = log(&scenarios::carried("zk-herd", variant));
        let mut stand = Stand::opened(Lang::En, (100, 30));
        let mut fed = 0;
        let mut seen = Vec::new();
        for (n, event) in log.events().iter().enumerate() {
            if matches!(event.kind, EventKind::Stop { .. }) {
                stand.events(log.events()[fed..=n].to_vec());
                fed = n + 1;
                stand.press('x');
                seen.push(bright(&stand.buffer()));
            }
        }
        seen
    };
    let (herd, fixed) = (bright_at_stops("herd"), bright_at_stops("predecessor"));
    assert!(herd.iter().any(|bright| *bright > 20), "{herd:?}");
    assert!(fixed.iter().all(|bright| *bright == 0), "B, who is woken, is not of the crowd: {fixed:?}");
    let log = log(&scenarios::carried("zk-herd", "predecessor"));
    let told = |event: &&Event| matches!(event.kind, EventKind::Notified { .. });
    let woken: Vec<_> = log.events().iter().filter(told).filter_map(|event| event.kind.actor()).collect();
    assert_eq!(woken.len(), 1, "with the fix exactly one is woken: {woken:?}");
    // And where that one is of the crowd, exactly one dot is lit.
    let script = staged::herd(900, 1);
    let mut told = 0;
    let mut events = script.events;
    events.truncate(notified.expect("a herd") + 1);
    events.retain(|event| {
        told += usize::from(matches!(event.kind, EventKind::Notified { .. }));
        !matches!(event.kind, EventKind::Notified { .. }) || told == 1
    });
    let stand = opened(events, Lang::En, (100, 30));
    assert_eq!(bright(&stand.buffer()), 1, "{:#?}", stand.rows());
}

#[test]
fn playing_stands_still_at_the_first_violation() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    stand.key(KeyCode::Home);
    stand.press(' ');
    let mut lasted = 0;
    for _ in 0..4000 {
        let violated = stand.shows("2 HOLDERS AT ONCE");
        if violated {
            lasted += 33;
        } else if lasted > 0 {
            break;
        }
        let before = stand.rows();
        stand.wait(33);
        if violated && stand.rows() != before {
            break;
        }
    }
    assert!((1500..4000).contains(&lasted), "{lasted} ms");
}

#[test]
fn what_a_client_believes_and_no_server_says_is_an_outline_before_anybody_else_comes() {
    let log = log(&scenarios::carried("unlock-someone-elses-lock", "blind-del"));
    let world = World::fold(&log, log.len());
    let until = world.holding.overlaps()[0].event;
    let sent = log.events()[..until].iter().rposition(|event| matches!(event.kind, EventKind::Sent { .. }));
    let stand = opened(log.events()[..sent.expect("B asks")].to_vec(), Lang::En, (120, 40));
    assert!(stand.shows("┌┄┄") && stand.shows("A still mine"), "{:#?}", stand.rows());
    assert_eq!(red(&stand.buffer()), 0);
}

#[test]
fn nothing_is_marked_on_the_scrubber_before_it_was_shown() {
    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40));
    let marked = |stand: &Stand| stand.rows().iter().any(|row| row.contains(glyphs::CLASH_LINE));
    assert!(marked(&stand), "{:#?}", stand.rows());
    for _ in 0..9 {
        stand.key(KeyCode::Left);
    }
    assert!(marked(&stand), "what was shown stays marked");
}
