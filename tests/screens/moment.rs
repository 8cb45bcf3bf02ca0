//! The decisive moment: how much of the screen it covers, that the verdict keeps it in sight, that nothing new is cut,
//! and that it is visible without colours, too.

use crossterm::event::KeyCode;
use lockstep::{
    clock::ClockKind,
    lesson::{Expect, Lesson, Scenario, Variant},
    log::{ActorId, Event, EventKind, KeyValue, Log, Observed, Stop},
    recording::carried,
    run::session::Update,
    text::Lang,
    ui::theme::{Glyphs, Ink, Theme, glyphs},
    world::{Change, World},
};
use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier},
};

use crate::{
    scenarios::{self, carried_if},
    staged,
    stand::Stand,
};

fn log(scenario: &Scenario) -> Log {
    carried::open(scenario).expect("a recording").log
}

/// Every carried variant, with its log.
fn recorded() -> impl Iterator<Item = (Scenario, Log)> {
    recorded_if(|_, _| true)
}

fn recorded_if(wanted: impl Fn(&Lesson, &Variant) -> bool) -> impl Iterator<Item = (Scenario, Log)> {
    carried_if(wanted).into_iter().map(|scenario| {
        let log = log(&scenario);
        (scenario, log)
    })
}

fn name(scenario: &Scenario) -> String {
    format!("{} · {}", scenario.loaded.lesson.id, scenario.variant)
}

/// The events up to the end of the step in which a lock first had too many holders, and whether it still has at that
/// end.
fn first_moment(log: &Log) -> Option<(Vec<Event>, bool)> {
    let world = World::fold(log, log.len());
    let overlap = world.holding.overlaps().first()?;
    let mut events = log.events().iter().enumerate().skip(overlap.event);
    let (stop, _) = events.find(|(_, event)| matches!(event.kind, EventKind::Stop { .. }))?;
    let lasts = overlap.end.is_none_or(|end| end > stop);
    Some((log.events()[..=stop].to_vec(), lasts))
}

fn opened(events: Vec<Event>, lang: Lang, size: (u16, u16)) -> Stand {
    let mut stand = Stand::opened(lang, size);
    stand.events(events);
    stand.update(Update::Stepped { ended: false });
    // Any key ends an animation.
    stand.press('x');
    stand
}

/// A finished run, at its verdict.
fn judged(log: &Log, size: (u16, u16)) -> Stand {
    let mut stand = opened(log.events().to_vec(), Lang::En, size);
    stand.ended();
    stand.key(KeyCode::End);
    stand
}

/// The number of cells with a background that is reserved for failures.
fn red(buffer: &Buffer) -> usize {
    red_cells(&buffer.content)
}

fn red_cells(cells: &[Cell]) -> usize {
    let palette = Theme::default().palette;
    let grounds = [palette.alarm, palette.overlap_span].map(Color::Indexed);
    cells.iter().filter(|cell| grounds.contains(&cell.bg)).count()
}

fn share(stand: &Stand) -> usize {
    let buffer = stand.buffer();
    100 * red(&buffer) / buffer.content.len()
}

/// The share of the chart's pane with a background reserved for failures, in percent.
fn share_of_chart(stand: &Stand) -> usize {
    let buffer = stand.buffer();
    let rows: Vec<&[Cell]> = buffer.content.chunks(buffer.area.width.into()).collect();
    let (mut best, mut top) = (0, 0);
    for (y, row) in rows.iter().enumerate() {
        match row[0].symbol() {
            // The banner is on the frame.
            "╭" => top = y,
            " " if red_cells(&row[..1]) > 0 && y > 0 => top = y,
            "╰" => {
                let pane = &rows[top..=y];
                let red: usize = pane.iter().map(|row| red_cells(row)).sum();
                best = best.max(100 * red / (pane.len() * row.len()));
            }
            _ => {}
        }
    }
    best
}

#[test]
fn the_first_moment_of_two_holders_fills_the_screen() {
    let (mut moments, mut brief) = (0, 0);
    for (scenario, log) in recorded() {
        let Some((events, lasts)) = first_moment(&log) else { continue };
        let stand = opened(events.clone(), Lang::En, (120, 40));
        let shown = |stand: &Stand| stand.shows("AT ONCE") || stand.shows("ALLOWED");
        assert!(shown(&stand), "{:#?}", stand.rows());
        assert!(share_of_chart(&stand) >= 33, "{}: {:#?}", name(&scenario), stand.rows());
        // An overlap that ended within the step is shown among the step's other events.
        if !lasts {
            brief += 1;
            continue;
        }
        moments += 1;
        assert!(share(&stand) >= 20, "{}: {} % {:#?}", name(&scenario), share(&stand), stand.rows());
        let mut stand = opened(events, Lang::En, (120, 40));
        stand.press('w');
        assert!(shown(&stand) && share_of_chart(&stand) >= 33, "{}: {:#?}", name(&scenario), stand.rows());
        stand.resize((200, 60));
        stand.keys("wP");
        assert!(share(&stand) >= 30, "{}: {} % {:#?}", name(&scenario), share(&stand), stand.rows());
    }
    assert!(
        moments > 36 && brief > 0,
        "{moments} variants have two holders at the end of a step, {brief} had them within one"
    );
}

#[test]
fn every_verdict_keeps_what_was_violated_in_sight() {
    let mut looked = 0;
    for (scenario, log) in recorded() {
        let world = World::fold(&log, log.len());
        let overlap = world.holding.overlaps().first();
        if overlap.is_none() && world.breaches.is_empty() {
            continue;
        }
        looked += 1;
        for size in [(80, 24), (100, 30), (120, 40), (200, 60)] {
            let mut stand = judged(&log, size);
            let rows = stand.rows();
            let shows = |words: &str| rows.iter().any(|row| row.contains(words));
            assert!(shows("FAILURE SHOWN"), "{rows:#?}");
            assert!(overlap.is_none() || shows("at once"), "{} {rows:#?}", name(&scenario));
            let share = share_of_chart(&stand);
            assert!(share >= 33, "{} {size:?} {share} % {:#?}", name(&scenario), stand.rows());
            stand.press('w');
            let share = share_of_chart(&stand);
            assert!(share >= 5, "{} {size:?} {share} % {:#?}", name(&scenario), stand.rows());
            // The row with the banner, between the frames of its pane.
            let banners = if overlap.is_some() {
                ["AT ONCE", "ALLOWED"]
            } else {
                ["INVARIANT BROKEN", "WOKEN, 1 NEEDED"]
            };
            // Of what is broken, a narrow diagram shows the sentence alone.
            let sentences = world
                .breaches
                .iter()
                .map(|breach| breach.says.en.replace('`', "").trim_end_matches('.').to_owned());
            let words: Vec<String> = banners.map(str::to_owned).into_iter().chain(sentences).collect();
            let says = |row: &String| row.starts_with('│') && words.iter().any(|words| row.contains(words));
            assert!(stand.rows().iter().any(says), "{} {size:?} {:#?}", name(&scenario), stand.rows());
        }
    }
    assert!(looked > 100, "{looked}");
}

#[test]
fn both_who_hold_one_lock_are_seen_on_the_smallest_screen() {
    for (scenario, log) in recorded() {
        let Some((events, _)) = first_moment(&log) else { continue };
        let world = World::fold(&log, events.len());
        let overlap = &world.holding.overlaps()[0];
        let crowd = |actor: &ActorId| log.actor(*actor).is_some_and(|actor| actor.crowd);
        if overlap.holders.len() > 2 || overlap.holders.iter().any(crowd) {
            continue;
        }
        let rows = opened(events, Lang::En, (60, 16)).rows();
        for holder in &overlap.holders {
            let named = |row: &String| {
                let words: Vec<&str> = row.trim_start_matches('│').split_whitespace().take(2).collect();
                let name = log.called(*holder);
                words.get(1).is_some_and(|word| word.starts_with(name.get(..6).unwrap_or(name)))
            };
            assert!(rows.iter().any(named), "{} {holder:?} {rows:#?}", name(&scenario));
        }
    }
}

#[test]
fn overselling_alarms_as_much_as_two_holders_do() {
    let red_of = |lesson: &str, variant: &str| {
        let stand = judged(&log(&scenarios::carried(lesson, variant)), (120, 40));
        (share_of_chart(&stand), stand.rows())
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
        ("db-aba", "by-value", "● A granted on an outdated coupon=unused points=5 version=0"),
    ] {
        let (red, rows) = red_of(lesson, variant);
        // The names of lanes take more or fewer columns.
        assert!(red + 2 >= unlock[0].min(unlock[1]), "{variant}: {red} of {unlock:?} {rows:#?}");
        assert!(rows.iter().any(|row| row.contains(banner)), "{lesson}/{variant} {rows:#?}");
    }
    for (scenario, log) in recorded_if(|_, variant| variant.expects() == Expect::Prevented) {
        // A fencing token prevents the harm, but two clients may still believe that they hold the lock.
        let calm = World::fold(&log, log.len()).holding.overlaps().is_empty();
        if calm {
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
        let counted = lanes.iter().any(|row| row.starts_with(&format!("+{hidden} ")));
        assert!(hidden == 0 || counted, "{} {rows:#?}", name(&scenario));
        let pair = scenario.loaded.lesson.id.starts_with("redlock") && scenario.actors.len() == 2;
        // One variant asks one of five servers.
        let pair = pair && scenario.variant != "one-master";
        assert!(!pair || hidden == 0, "a majority is counted: {} {rows:#?}", name(&scenario));
    }
    assert!(several > 20, "{several}");
}

#[test]
fn a_server_keeps_its_name_and_its_role_stands_beside_it() {
    let log = log(&scenarios::carried("failover", "replication-lag"));
    let stand = judged(&log, (120, 40));
    for words in ["node1", "node2 ♛", "♛ master", "node2 · master", "replica of node2", "B→node2"] {
        assert!(stand.shows(words), "{words} {:#?}", stand.rows());
    }
    let stand = at_step("failover", "replication-lag", 5, EN);
    assert!(stand.shows("A→node1"), "{:#?}", stand.rows());
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

/// What an event has changed, in the words that must appear on the screen.
fn news(world: &World, event: &Event) -> Vec<String> {
    match &event.kind {
        EventKind::Replied { reply, .. } if reply.is_value() => vec![reply.to_string()],
        EventKind::State(state) => {
            let Some(server) = world.server(&state.server) else { return Vec::new() };
            let changed = server.changes.iter().filter(|(_, change)| **change != Change::Removed);
            let Observed::Redis(space) = &state.observed else {
                // Among many changes at once no single one has to be shown.
                let changed = changed.filter(|_| server.changes.len() <= 3);
                let entries = changed.filter_map(|(name, _)| Some((name, state.observed.entry(name)?)));
                let leaf = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
                let words = entries.flat_map(|(name, entry)| [leaf(name), entry.text().into_owned()]);
                return words.filter(|words| !words.is_empty()).collect();
            };
            let values = changed.filter_map(|(name, _)| {
                let mut words = match &space.keys.get(name)?.value {
                    KeyValue::String(text) => vec![text.clone()],
                    KeyValue::Hash(fields) => fields.values().cloned().collect(),
                    KeyValue::List(items) => items.clone(),
                    _ => Vec::new(),
                };
                words.push(name.clone());
                Some(words)
            });
            values.flatten().collect()
        }
        _ => Vec::new(),
    }
}

/// The owners of the entries that an event has added to a tree, except for a crowd's: the last part of the name, and
/// the owner.
fn owners(world: &World, event: &Event) -> Vec<(String, String)> {
    let EventKind::State(state) = &event.kind else { return Vec::new() };
    let Some(server) = world.server(&state.server).filter(|server| server.changes.len() <= 2) else {
        return Vec::new();
    };
    let added = server.changes.iter().filter(|(_, change)| **change == Change::Added);
    let owned = added.filter_map(|(name, _)| {
        let owner = world.session_owner(state.observed.entry(name)?.owner()?)?;
        let who = world.actor(owner)?.who.clone();
        (!who.crowd).then(|| (name.rsplit('/').next().unwrap_or(name).to_owned(), who.name))
    });
    owned.collect()
}

#[test]
fn what_the_newest_event_changed_is_never_cut() {
    let mut cut = Vec::new();
    let mut looked = 0;
    for (scenario, log) in recorded() {
        for size in [(80, 24), (100, 30), (120, 40)] {
            let mut stand = Stand::programmed(scenario.clone(), Lang::En, size);
            let mut world = World::default();
            let mut fed = 0;
            for (n, event) in log.events().iter().enumerate() {
                if !matches!(event.kind, EventKind::Replied { .. } | EventKind::State(_)) {
                    continue;
                }
                stand.events(log.events()[fed..=n].to_vec());
                fed = n + 1;
                world.seek(&log, fed);
                // A member of a crowd has no lane of its own: it is counted.
                let crowd =
                    event.kind.actor().and_then(|actor| log.actor(actor)).is_some_and(|actor| actor.crowd);
                if n < log.opening() || crowd {
                    continue;
                }
                // A list of forty names has more characters than the pane, and a node's whole stat more than the
                // smallest pane.
                let most = if size.0 < 100 { 100 } else { 400 };
                let mut news = news(&world, event);
                news.retain(|news| news.len() < most);
                let owners = owners(&world, event);
                if news.is_empty() && owners.is_empty() {
                    continue;
                }
                looked += 1;
                stand.press('x');
                let rows = stand.rows();
                for (entry, owner) in owners {
                    let begin: String = entry.chars().take(8).collect();
                    let told = |row: &&String| row.contains(&begin) && row.contains(&format!(" {owner}"));
                    if !rows.iter().any(|row| told(&row)) {
                        let name = name(&scenario);
                        cut.push(format!(
                            "{name} {size:?} event {n}: {entry} of {owner}\n{}",
                            rows.join("\n")
                        ));
                    }
                }
                for news in news {
                    let in_brief = || match &event.kind {
                        EventKind::Replied { reply, .. } => is_shown(&rows, &reply.brief()),
                        _ => false,
                    };
                    let is_there = is_shown(&rows, &news)
                        || size.0 < 100 && (is_shown_in_its_middle_cut(&rows, &news) || in_brief());
                    if !is_there {
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
    let all: Vec<&str> = cut.iter().filter_map(|cut| cut.lines().next()).collect();
    assert!(
        cut.is_empty(),
        "{} of {looked} are cut:\n{}\nthe first:\n{}",
        cut.len(),
        all.join("\n"),
        cut[..cut.len().min(3)].join("\n\n")
    );
}

/// Whether both ends of a generated name are shown: the second end distinguishes it from similar names.
fn is_shown_in_its_middle_cut(rows: &[String], name: &str) -> bool {
    let ends = |row: &String| {
        row.split('…').zip(row.split('…').skip(1)).any(|(begin, end)| {
            let known = |part: &str| !part.is_empty() && name.contains(part);
            let begin = begin.rsplit(' ').next().unwrap_or_default();
            let end = end.split(' ').next().unwrap_or_default();
            known(begin) && known(end) && name.starts_with(begin) && name.ends_with(end) && end.len() >= 10
        })
    };
    name.len() > 36 && rows.iter().any(ends)
}

/// Whether words appear on the screen: in one row, or wrapped within a pane.
fn is_shown(rows: &[String], words: &str) -> bool {
    let words = words.trim();
    if rows.iter().any(|row| row.contains(words)) {
        return true;
    }
    let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    // Panes are side by side: text wrapped in one of them is split between their frames.
    let frame = ['│', '╭', '╮', '╰', '╯'];
    let pane = |n: usize| rows.iter().filter_map(|row| row.split(frame).nth(n)).map(bare).collect::<String>();
    (1..5).any(|n| pane(n).contains(&bare(words)))
}

#[test]
fn two_holders_differ_from_one_in_more_than_one_sign_without_colours() {
    for glyphs_of in [Glyphs::Unicode, Glyphs::Ascii] {
        let theme = Theme { ink: Ink::Mono, glyphs: glyphs_of, ..Theme::default() };
        let mut stand = Stand::themed(staged::misdelete(ClockKind::Controlled), Lang::En, (120, 40), theme);
        let ascii = |sign: &'static str| if glyphs_of == Glyphs::Ascii { glyphs::ascii(sign) } else { sign };
        // The signs between the frame of the lanes and the axis, and the words.
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

/// The number of highlighted members of a crowd, in braille or one by one.
fn bright(buffer: &Buffer) -> usize {
    let warning = Theme::default().style(lockstep::ui::theme::Role::Warning).fg;
    let lit = buffer.content.iter().filter(|cell| cell.style().fg == warning);
    lit.map(|cell| match cell.symbol().chars().next() {
        Some(dots @ '\u{2800}'..='\u{28ff}') => (u32::from(dots) - 0x2800).count_ones() as usize,
        Some('●' | '■' | '▲') => 1,
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
    assert!(
        fixed.iter().all(|bright| *bright <= 1) && fixed.contains(&1),
        "A holds, then B is woken: {fixed:?}"
    );
    let log = log(&scenarios::carried("zk-herd", "predecessor"));
    let told = |event: &&Event| matches!(event.kind, EventKind::Notified { .. });
    let woken: Vec<_> = log.events().iter().filter(told).filter_map(|event| event.kind.actor()).collect();
    assert_eq!(woken.len(), 1, "with the fix exactly one is woken: {woken:?}");
    // If that one client belongs to the crowd, exactly one dot is highlighted.
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
fn a_lock_that_a_restarted_server_confirms_again_is_held() {
    let stand = at_step("restart-without-persistence", "crash-everysec", 7, EN);
    let rows = stand.rows();
    let bar = rows.iter().find(|row| row.contains("A holds")).expect("a bar");
    assert!(bar.contains('┆') && !bar.contains("still"), "{rows:#?}");
    // While it was down it confirmed nothing.
    let server = rows.iter().rposition(|row| row.contains("START")).expect("its lane");
    assert!(rows[server + 2].contains("██  ") && rows[server + 1].contains("██╌╌"), "{rows:#?}");
}

#[test]
fn what_a_client_believes_and_no_server_says_is_an_outline_before_anybody_else_comes() {
    let log = log(&scenarios::carried("unlock-someone-elses-lock", "blind-del"));
    let world = World::fold(&log, log.len());
    let until = world.holding.overlaps()[0].event;
    let sent = log.events()[..until].iter().rposition(|event| matches!(event.kind, EventKind::Sent { .. }));
    let stand = opened(log.events()[..sent.expect("B asks")].to_vec(), Lang::En, (120, 40));
    assert!(stand.shows("┌┄┄") && stand.shows("A still thinks it holds"), "{:#?}", stand.rows());
    assert_eq!(red(&stand.buffer()), 0);
}

#[test]
fn a_pause_says_whose_it_is_also_where_it_hides_what_the_client_holds() {
    let log = log(&scenarios::carried("unlock-someone-elses-lock", "get-compare-del"));
    let frozen = log.events().iter().position(|event| matches!(event.kind, EventKind::Fault(_)));
    let passed = log.events()[frozen.expect("A is frozen")..]
        .iter()
        .position(|event| matches!(event.kind, EventKind::Stop { stop: Stop::Passed, .. }));
    let until = frozen.unwrap_or_default() + passed.expect("time passes") + 1;
    for (lang, words) in [(Lang::En, "● A frozen"), (Lang::Zh, "● A 冻结")] {
        let stand = opened(log.events()[..until].to_vec(), lang, (120, 40));
        let lane = stand.rows().iter().any(|row| row.contains('▒') && row.contains(words));
        assert!(lane, "{:#?}", stand.rows());
    }
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

#[test]
fn the_verdict_tells_of_a_wrong_answer_why_it_was_plausible_and_why_it_is_not_so() {
    let script = staged::question();
    for (lang, plausible, why) in [
        (Lang::En, "none of them looks at the stock again", "does not know that zero is special"),
        (Lang::Zh, "没有人会再查一次库存", "并不知道零有什么特别"),
    ] {
        let mut stand = Stand::opened(lang, (160, 48));
        let asked = script.events.iter().position(|event| matches!(event.kind, EventKind::Asked { .. }));
        let asked = asked.expect("a question") + 1;
        stand.events(script.events[..=asked].to_vec());
        stand.update(Update::Stepped { ended: false });
        stand.press('1');
        stand.events(script.events[asked + 1..].to_vec());
        stand.ended();
        stand.key(KeyCode::End);
        assert!(stand.shows("FAILURE SHOWN") || stand.shows("故障如预期重现"), "{:#?}", stand.rows());
        assert!(stand.shows(plausible) && stand.shows(why), "{:#?}", stand.rows());
    }
}

#[test]
fn at_the_verdict_all_of_a_herd_that_ever_was_woken_is_bright() {
    let script = staged::herd(900, 3);
    let stand = judged(&script.log(), (200, 60));
    assert!(bright(&stand.buffer()) >= 900, "{:#?}", stand.rows());
}

/// A recorded run at the end of a step of its story, counted from 1 as in the header.
fn at_step(lesson: &str, variant: &str, number: usize, (lang, size): (Lang, (u16, u16))) -> Stand {
    let log = log(&scenarios::carried(lesson, variant));
    let is_it = |event: &Event| matches!(event.kind, EventKind::Stop { item, .. } if item + 1 == number);
    let stop = log.events().iter().rposition(is_it).expect("a stop");
    opened(log.events()[..=stop].to_vec(), lang, size)
}

const EN: (Lang, (u16, u16)) = (Lang::En, (120, 40));

#[test]
fn what_brought_it_about_stays_in_sight_at_the_decisive_step() {
    for (lesson, variant, step, cause) in [
        ("unlock-someone-elses-lock", "get-compare-del", 17, ["DEL lock → 1", "SET lock B-d97e"]),
        ("failover", "replication-lag", 11, ["SET lock A-eb24", "✝ SIGKILL"]),
        ("redlock-clock-jump", "three-clocks", 6, ["SET lock A-eb24 NX PX 30000 → 5 OK", "◷ +40s"]),
        ("db-pessimistic", "autocommit", 10, ["→ [{stock: 1}]", "INSERT INTO"]),
        ("zk-notified-is-not-granted", "believe-it", 15, ["✝ SIGKILL", "ls /locks"]),
    ] {
        let stand = at_step(lesson, variant, step, EN);
        let rows = stand.rows();
        let banner = rows.iter().position(|row| row.contains("Who believes what")).expect("a banner");
        let end = rows.iter().rposition(|row| row.contains("What the server holds")).expect("a pane");
        let chart = rows[banner..end].join("\n");
        for words in cause {
            assert!(chart.contains(words), "{lesson}/{variant}: {words}\n{chart}");
        }
    }
    for (scenario, log) in recorded() {
        let Some((events, true)) = first_moment(&log) else { continue };
        let stand = opened(events, Lang::En, (120, 40));
        let share = share_of_chart(&stand);
        assert!(share <= 80, "{}: {share} % {:#?}", name(&scenario), stand.rows());
    }
}

#[test]
fn when_it_goes_wrong_nobody_who_matters_is_out_of_sight_on_a_small_screen() {
    for (lesson, variant, step, names) in [
        ("countdown-latch", "counted-twice", 16, ["M", "W1", "W2", "W3"]),
        ("zk-leader-failover", "majority-lost", 7, ["A", "B", "zk1", "zk3"]),
        ("etcd-lease", "leader-dies", 16, ["A.worker", "B.worker", "etcd1", "etcd2"]),
    ] {
        let stand = at_step(lesson, variant, step, (Lang::En, (80, 24)));
        let rows = stand.rows();
        let axis = rows.iter().position(|row| row.contains("↑")).expect("an axis");
        for name in names {
            let has_lane = |row: &String| row.chars().take(12).collect::<String>().contains(name);
            assert!(rows[..axis].iter().any(has_lane), "{lesson}/{variant}: {name} {rows:#?}");
        }
    }
}

#[test]
fn a_title_without_room_in_the_header_is_in_the_frame_of_the_story() {
    let title = "Unlocking someone else's lock";
    let small = at_step("unlock-someone-elses-lock", "blind-del", 7, (Lang::En, (60, 20))).rows();
    assert!(!small[0].contains("Unlocking") && small[1].contains(title), "{small:#?}");
    let large = at_step("unlock-someone-elses-lock", "blind-del", 7, EN).rows();
    assert!(large[0].contains(title) && !large[1].contains(title), "{large:#?}");
}

#[test]
fn a_librarys_timers_have_one_tick_until_the_program_does_something() {
    let stand = at_step("kazoo-lock", "works-on", 15, EN);
    let lane =
        stand.rows().into_iter().find(|row| row.contains("● A") && row.contains("wait ")).expect("a lane");
    assert!(lane.matches('●').count() < 12, "{lane}");
}

#[test]
fn a_command_that_only_tidies_up_takes_no_room_from_what_matters() {
    let stand = at_step("redisson-lock", "own-lease", 11, (Lang::En, (80, 24)));
    let chart = stand.rows().into_iter().take_while(|row| !row.contains("↑")).collect::<Vec<_>>().join("\n");
    assert!(!chart.contains("unsub") && chart.contains("enter → (nil)"), "{chart}");
}

/// The number of columns of a screen's chart, and how many of them are left of the present failure, which reaches the
/// right edge.
fn columns_to_red(stand: &Stand) -> (usize, usize) {
    let buffer = stand.buffer();
    let rows: Vec<&[Cell]> = buffer.content.chunks(buffer.area.width.into()).collect();
    let axis = rows.iter().position(|row| row.iter().any(|cell| cell.symbol() == "↑")).expect("an axis");
    let left = rows[axis].iter().position(|cell| matches!(cell.symbol(), "─" | "┴")).expect("its beginning");
    let right = rows[axis].len() - 1;
    // Lanes are above the axis, and their names are not red; a banner reaches from edge to edge.
    let lanes: Vec<_> = rows[..axis].iter().filter(|row| red_cells(&row[..left - 1]) == 0).collect();
    let is_red = |x: &usize| lanes.iter().any(|row| red_cells(&row[*x..=*x]) > 0);
    let red = (left..right).rev().take_while(is_red).count();
    (right - left, right - left - red)
}

#[test]
fn what_led_to_it_has_nearly_a_third_of_the_chart_however_soon_it_went_wrong() {
    let mut moments = 0;
    for (scenario, log) in recorded() {
        let Some((events, true)) = first_moment(&log) else { continue };
        moments += 1;
        for size in [(80, 24), (120, 40), (200, 60)] {
            let stand = opened(events.clone(), Lang::En, size);
            let (columns, before) = columns_to_red(&stand);
            assert!(
                before >= columns * 3 / 10,
                "{} {size:?}: {before} of {columns} {:#?}",
                name(&scenario),
                stand.rows()
            );
        }
    }
    assert!(moments > 30, "{moments}");
}

#[test]
fn one_tick_tells_all_votes_of_a_round() {
    for (size, words) in [
        ((120, 40), "5 × SET lock B-d97e NX PX 30000 → 3 OK, 2 (nil) · work 5s"),
        ((80, 24), "5 × lock → 3 OK, 2 (nil) · work 5s"),
    ] {
        let stand = at_step("redlock-clock-jump", "three-clocks", 6, (Lang::En, size));
        assert!(stand.shows(words), "{:#?}", stand.rows());
    }
    let log = log(&scenarios::carried("redlock", "split-vote"));
    let is_one =
        |event: &Event| matches!(&event.kind, EventKind::Replied { reply, .. } if reply.to_string() == "1");
    let released = log.events().iter().position(is_one).expect("a release");
    let rest = log.events()[released..].iter();
    let stop = rest.take_while(|event| !matches!(event.kind, EventKind::Stop { .. })).count();
    let stand = opened(log.events()[..=released + stop].to_vec(), Lang::En, (200, 60));
    let says = |row: &String| row.contains(" × 1") && row.contains(" × 0");
    assert!(stand.rows().iter().any(says), "{:#?}", stand.rows());
}

#[test]
fn lanes_of_one_server_say_what_they_are_about() {
    let stand = at_step("multi-lock", "one-by-one", 8, (Lang::En, (100, 30)));
    let begins = |words: &str| stand.rows().iter().any(|row| row.trim_start_matches('│').starts_with(words));
    assert!(begins("lock:1 ● A") && begins("lock:2 ■ B"), "{:#?}", stand.rows());
}

#[test]
fn a_killed_server_looks_dead() {
    let stand = at_step("failover", "replication-lag", 11, EN);
    let rows = stand.rows();
    let lane = rows.iter().position(|row| row.starts_with("│node1")).expect("its lane");
    assert!(rows[lane..lane + 2].concat().contains(&glyphs::DEAD.repeat(30)), "{rows:#?}");
    let name = &stand.buffer()[(1, u16::try_from(lane).expect("a row"))];
    assert!(name.modifier.contains(Modifier::CROSSED_OUT), "{name:?}");
    assert!(stand.shows("✝ this server has died"), "{rows:#?}");
}

#[test]
fn what_no_server_ever_said_is_an_outline_and_the_server_says_nobody() {
    for (lang, nobody) in [(Lang::En, "nobody"), (Lang::Zh, "无人持有")] {
        let stand = at_step("db-pessimistic", "autocommit", 2, (lang, (120, 40)));
        let rows = stand.rows().concat();
        assert!(
            rows.contains("┌┄┄") && rows.contains(nobody) && !rows.contains("████"),
            "{:#?}",
            stand.rows()
        );
        let stand = at_step("db-pessimistic", "autocommit", 5, (lang, (120, 40)));
        assert!(stand.shows(nobody), "{:#?}", stand.rows());
        let locked = at_step("db-pessimistic", "for-update", 2, (lang, (120, 40)));
        assert!(!locked.shows("┌┄┄") && !locked.shows(nobody), "{:#?}", locked.rows());
    }
}

/// The rows of a lane, which begin with its name.
fn lane(stand: &Stand, name: &str, next: &str) -> String {
    let rows = stand.rows();
    let begins = |name: &str| rows.iter().position(|row| row.starts_with(name)).expect("a lane");
    rows[begins(name)..begins(next)].join("\n")
}

#[test]
fn a_wait_begins_with_the_request_for_the_lock_and_not_with_begin() {
    let at = |step| at_step("db-pessimistic", "for-update", step, (Lang::En, (100, 30)));
    let hatched = |stand: &Stand| lane(stand, "│■ B", "│mariadb").contains(glyphs::WAITING);
    let (begun, asked) = (at(4), at(5));
    assert!(begun.shows("■ BEGIN") && !hatched(&begun), "{:#?}", begun.rows());
    assert!(hatched(&asked), "{:#?}", asked.rows());
}

#[test]
fn from_the_end_of_the_lease_no_server_confirms_the_holder() {
    let stand = at_step("redis-semaphore", "no-refresh", 6, (Lang::En, (200, 60)));
    let holder = lane(&stand, "│● A", "│■ B");
    assert!(holder.contains("● A is wrong") && holder.contains("┌┄┄"), "{:#?}", stand.rows());
    assert!(stand.shows("nobody"), "{:#?}", stand.rows());
}

#[test]
fn a_fault_is_named_although_a_wait_follows_it_at_once() {
    let stand = at_step("kazoo-lock", "works-on", 15, (Lang::En, (200, 60)));
    assert!(lane(&stand, "│● A", "│■ B").contains("✗ A→zookeeper · wait 6."), "{:#?}", stand.rows());
}

/// The lesson with its own programs at the end of a step.
fn programmed(lesson: &str, variant: &str, number: usize) -> Stand {
    let scenario = scenarios::carried(lesson, variant);
    let log = log(&scenario);
    let is_it = |event: &Event| matches!(event.kind, EventKind::Stop { item, .. } if item + 1 == number);
    let stop = log.events().iter().rposition(is_it).expect("a stop");
    let mut stand = Stand::programmed(scenario, Lang::En, (200, 60));
    stand.events(log.events()[..=stop].to_vec());
    stand.update(Update::Stepped { ended: false });
    // Any key ends an animation.
    stand.press('x');
    stand
}

#[test]
fn of_other_peoples_programs_the_part_that_holds_the_lock_is_seen() {
    let stand = programmed("kazoo-lock", "works-on", 15);
    assert!(stand.shows("HOLDS /lock") && !stand.shows("import threading"), "{:#?}", stand.rows());
}

#[test]
fn a_question_that_was_answered_stands_whole_where_there_is_room() {
    let at = |size| at_step("curator-lock", "asks-itself", 13, (Lang::En, size));
    let (large, small) = (at((200, 60)), at((80, 24)));
    assert!(large.shows("B has been told, looks, and takes the lock."), "{:#?}", large.rows());
    assert!(!small.shows("B has been told, looks") && small.shows("…"), "{:#?}", small.rows());
}

#[test]
fn whose_program_it_is_stays_in_sight() {
    let stand = programmed("watchdog", "no-renewal", 11);
    let rows = stand.rows();
    let pane = rows.iter().position(|row| row.contains("What the clients run")).expect("a pane");
    assert!(rows[pane].contains("↑ more") && rows[pane + 1].contains("■ B"), "{rows:#?}");
}

#[test]
fn a_text_in_a_bar_is_repeated_beyond_its_own_end() {
    let stand = at_step("db-aba", "by-value", 8, (Lang::En, (200, 60)));
    let text = "A granted on an outdated coupon=unused points=5 version=0";
    assert!(lane(&stand, "│● A", "│✓ B").matches("A granted on").count() == 1, "{:#?}", stand.rows());
    assert!(lane(&stand, "│● A", "│✓ B").contains(text), "{:#?}", stand.rows());
}

#[test]
fn a_lease_of_etcd_is_seen_to_run_out() {
    let stand = at_step("etcd-lease", "leader-dies", 20, (Lang::En, (120, 40)));
    let server = lane(&stand, "│etcd1", "│report");
    // The dead holder's has ended, the next one's has just begun.
    assert!(server.contains("A.worker · lock ▁▁") && server.contains("B.worker ▇▇"), "{:#?}", stand.rows());
}

#[test]
fn a_pause_says_what_its_client_holds_and_who_holds_nothing_is_a_line() {
    for (lang, words) in
        [(Lang::En, "A.worker still thinks it holds, frozen"), (Lang::Zh, "A.worker 仍以为持有，冻结中")]
    {
        let stand = at_step("etcd-lease", "paused-holder", 12, (lang, (200, 60)));
        let rows = stand.rows();
        assert!(stand.shows(words), "{rows:#?}");
        let lane = |name: &str| rows.iter().position(|row| row.starts_with(name)).expect("a lane");
        let frozen = |from: usize, to: usize| {
            let bars = rows[from..to].iter().filter(|row| row.contains(&glyphs::FROZEN.repeat(8)));
            bars.count()
        };
        let (worker, keeper, other) = (lane("│▮ A.worker"), lane("│▮ A.keeper"), lane("│■ B.worker"));
        assert!(frozen(worker, keeper) >= 1 && frozen(keeper, other) == 1, "{rows:#?}");
    }
}

#[test]
fn where_bars_have_one_row_a_client_frozen_without_a_lock_is_still_a_line() {
    let stand = at_step("which-lock", "etcd-predecessor-freeze", 7, (Lang::Zh, (120, 40)));
    let rows = stand.rows();
    let keeper = rows.iter().position(|row| row.starts_with("│▮ A.keeper")).expect("a lane");
    let keeper = rows[keeper..keeper + 2].concat();
    assert!(keeper.contains(&glyphs::FROZEN_LINE.repeat(8)), "{rows:#?}");
    assert!(!keeper.contains(&glyphs::FROZEN.repeat(8)), "{rows:#?}");
}

#[test]
fn in_ascii_a_frozen_holder_has_another_sign_once_there_are_two() {
    let log = log(&scenarios::carried("redis-semaphore", "frozen-holder"));
    let two = log.events().iter().position(|event| matches!(event.kind, EventKind::Breached { .. }));
    for ink in [Ink::Colour, Ink::Sixteen, Ink::Mono] {
        let theme = Theme { ink, glyphs: Glyphs::Ascii, ..Theme::default() };
        let mut script = staged::Script::new("redis", ClockKind::Controlled, &[]);
        script.events = log.events()[..=two.expect("a breach")].to_vec();
        let rows = Stand::themed(script, Lang::En, (120, 40), theme).rows();
        let [before, now] = [glyphs::FROZEN, glyphs::CLASHING].map(|sign| glyphs::ascii(sign).repeat(6));
        let changes = |row: &String| row.find(&before) < row.find(&now) && row.contains(&before);
        assert!(rows.iter().any(changes), "{ink:?} {rows:#?}");
    }
}

#[test]
fn who_waits_for_a_free_lock_is_said_to_wait_for_nobody() {
    for (lang, words) in [(Lang::En, "▲ C waits, nobody holds it"), (Lang::Zh, "▲ C 等待，但无人持有")]
    {
        // A minute of waiting is over, and the lock is still free.
        let stand = at_step("fair-lock", "dead-waiter", 18, (lang, (120, 40)));
        assert!(stand.shows(words), "{:#?}", stand.rows());
        assert!(share_of_chart(&stand) >= 20, "{:#?}", stand.rows());
    }
    // C gets the lock at last, and that is not what was wrong.
    let stand = at_step("fair-lock", "dead-waiter", 19, EN);
    assert!(!stand.shows("nobody holds the lock"), "{:#?}", stand.rows());
    let end = judged(&log(&scenarios::carried("fair-lock", "dead-waiter")), (120, 40));
    assert!(end.shows("▲ C waits, nobody holds it"), "{:#?}", end.rows());
}

#[test]
fn an_overlap_that_reads_the_same_at_both_ends_is_one_moment() {
    let rows = judged(&log(&scenarios::carried("redis-py-lock", "frozen-holder")), (120, 40)).rows();
    let banner = rows.iter().find(|row| row.contains("2 HOLDERS AT ONCE")).expect("a banner");
    assert!(banner.contains("s ") && !banner.contains(" – "), "{rows:#?}");
}

#[test]
fn what_was_broken_is_red_in_its_step_and_not_for_ever() {
    let breach = at_step("zk-herd", "herd", 11, EN);
    assert!(share_of_chart(&breach) >= 33, "{:#?}", breach.rows());
    let after = at_step("zk-herd", "herd", 14, EN);
    assert!(share_of_chart(&after) < 10, "{:#?}", after.rows());
    assert!(!after.shows("WOKEN"), "{:#?}", after.rows());
    // An oversold item stays oversold, on the scrubber, too.
    let sold = at_step("oversell", "lost-update", 11, EN);
    assert!(sold.shows("SOLD"), "{:#?}", sold.rows());
}

#[test]
fn red_lasts_as_long_as_it_is_wrong() {
    for (lesson, variant, wrong, after) in [
        ("setnx-without-expire", "two-commands", &[4, 10, 14, 17][..], None),
        ("zk-leader-failover", "majority-lost", &[7, 8, 9], Some(11)),
        ("file-lock", "holder-stops", &[8, 9], Some(11)),
        ("file-lock", "in-memory", &[10, 12], None),
        ("multi-lock", "half-held", &[5], Some(7)),
    ] {
        for step in wrong {
            let stand = at_step(lesson, variant, *step, EN);
            let share = share_of_chart(&stand);
            assert!(stand.shows("INVARIANT BROKEN") && share >= 33, "{lesson} {step}: {:#?}", stand.rows());
        }
        let Some(after) = after else { continue };
        let stand = at_step(lesson, variant, after, EN);
        assert!(!stand.shows("INVARIANT BROKEN"), "{lesson} {after}: {:#?}", stand.rows());
    }
    // At the end most of the 30 s in which B and C are locked out are visible, and so is the cause.
    let stand = judged(&log(&scenarios::carried("setnx-without-expire", "two-commands")), (120, 40));
    let (columns, left) = columns_to_red(&stand);
    assert!((columns / 10..columns / 3).contains(&left), "{left} of {columns}: {:#?}", stand.rows());
}

/// Invariants broken after two hold the lock, and the step.
const SECOND: [(&str, &str, usize, &str); 4] = [
    ("unlock-someone-elses-lock", "blind-del", 13, "A client has deleted the lock of another"),
    ("watchdog", "blind-renewal", 12, "A watchdog has renewed the lock of another client"),
    ("file-lock", "two-machines", 10, "The bill was paid more than once"),
    ("setnx-without-expire", "multi", 19, "A is dead, and its lock will live for longer than"),
];

#[test]
fn what_is_broken_second_is_announced_as_the_first_was() {
    for (lesson, variant, step, says) in SECOND {
        let stand = at_step(lesson, variant, step, EN);
        let banner = format!("INVARIANT BROKEN · {says}");
        assert!(stand.shows(&banner), "{:#?}", stand.rows());
        // And in the story, unless that shows the result of a prediction.
        let told = stand.rows().iter().filter(|row| row.contains(says)).count();
        assert!(told >= 2 || stand.shows("Your prediction"), "{:#?}", stand.rows());
        assert!(share_of_chart(&stand) >= 33, "{:#?}", stand.rows());
    }
}

#[test]
fn the_verdict_begins_with_what_came_of_it_and_then_who_held_the_lock_together() {
    let later = SECOND.iter().take(3).map(|(lesson, variant, _, says)| (*lesson, *variant, *says));
    let sold = ("curator-mutex", "remembered", "B sold on an outdated stock=5");
    for (lesson, variant, says) in later.chain([sold]) {
        for size in [(80, 24), (120, 40), (200, 60)] {
            let stand = judged(&log(&scenarios::carried(lesson, variant)), size);
            let rows = stand.rows();
            let verdict = rows.iter().position(|row| row.contains("Verdict")).expect("a verdict");
            assert!(rows[verdict + 1].contains(says), "{rows:#?}");
            let together = rows[verdict + 2..].iter().any(|row| row.contains("at once"));
            assert!(together, "{rows:#?}");
        }
    }
}

#[test]
fn what_proves_the_verdict_stands_right_below_the_failure() {
    for (lesson, variant, size) in
        [("watchdog", "blind-renewal", (200, 60)), ("failover", "split-brain", (80, 24))]
    {
        let mut stand = judged(&log(&scenarios::carried(lesson, variant)), size);
        let failure = |stand: &Stand| {
            let rows = stand.rows();
            let verdict = rows.iter().position(|row| row.contains("Verdict")).expect("a verdict");
            rows[verdict + 1].clone()
        };
        let before = failure(&stand);
        assert!(!stand.shows("observed"), "{:#?}", stand.rows());
        stand.key(KeyCode::Enter);
        assert_eq!(failure(&stand), before);
        assert!(stand.shows("observed") && stand.shows("FAILURE SHOWN"), "{:#?}", stand.rows());
    }
}

#[test]
fn a_banner_in_large_letters_says_what_was_broken() {
    for (lesson, variant, step, size, first, wanted) in [
        ("setnx-without-expire", "two-commands", 10, (200, 60), "│✝ A", 6),
        ("countdown-latch", "counted-twice", 16, (200, 60), "│✓ M", 3),
        ("countdown-latch", "counted-twice", 16, (120, 40), "│✓ M", 0),
    ] {
        let stand = at_step(lesson, variant, step, (Lang::En, size));
        let rows = stand.rows();
        // The banner is on the frame; below it are one or two lines of letters.
        let banner = rows.iter().position(|row| row.contains("INVARIANT BROKEN"));
        let lane = rows.iter().position(|row| row.starts_with(first)).expect("a lane");
        assert_eq!(lane - banner.expect("a banner") - 1, wanted, "{rows:#?}");
    }
}

#[test]
fn a_lease_only_sinks_until_the_next_holder_has_its_own() {
    let stand = at_step("redis-py-lock", "frozen-holder", 11, EN);
    let (rows, buffer) = (stand.rows(), stand.buffer());
    let y = rows.iter().position(|row| row.starts_with("│redis")).expect("a lane");
    let cells = buffer.content.chunks(buffer.area.width.into()).nth(y).expect("a row");
    let owner = Theme::default().client(0).fg;
    let level = |cell: &Cell| glyphs::LEASE.iter().position(|level| *level == cell.symbol());
    let levels: Vec<_> = cells.iter().filter(|cell| cell.style().fg == owner).map(level).collect();
    assert!(levels.len() > 20 && levels.is_sorted_by(|one, other| one >= other), "{levels:?} {rows:#?}");
}

#[test]
fn in_chinese_the_figure_is_large_and_the_words_stand_beside_and_below_it() {
    for (lesson, variant, step, says, beside) in [
        ("failover", "split-brain", 8, "2 个持有者同时存在 · ● A 和 ■ B", " 个持有者同时存在 "),
        ("zk-herd", "herd", 11, "唤醒 39 个，只需 1 个", " 唤醒 "),
        ("setnx-without-expire", "two-commands", 10, "违反不变式", "锁"),
    ] {
        let mut stand = at_step(lesson, variant, step, (Lang::Zh, (200, 60)));
        stand.press('P');
        let rows = stand.rows();
        let told = rows.iter().enumerate().filter(|(_, row)| row.contains(says)).map(|(y, _)| y);
        let told: Vec<usize> = told.collect();
        assert_eq!(told.len(), 1, "{rows:#?}");
        // Five rows of large letters, then a free row.
        let letters = &rows[told[0] - 6..told[0] - 1];
        assert!(letters.iter().filter(|row| row.contains("██")).count() >= 4, "{rows:#?}");
        assert!(letters[2].contains(beside), "{rows:#?}");
        stand.assert_whole();
    }
}

#[test]
fn a_presented_question_is_spaced_and_long_bars_repeat_their_names() {
    let mut stand = at_step("unlock-someone-elses-lock", "blind-del", 4, (Lang::En, (200, 60)));
    stand.press('P');
    let rows = stand.rows();
    let row = |words: &str| rows.iter().position(|row| row.contains(words)).expect("an answer");
    assert_eq!(row("2. A's next") - row("1. Redis tells"), 2, "{rows:#?}");
    assert_eq!(row("A holds"), rows.iter().rposition(|row| row.contains("A holds")).expect("a bar"));
    assert!(rows[row("A holds")].matches("● A holds").count() >= 3, "{rows:#?}");
    // A click on an answer chooses it all the same.
    let y = u16::try_from(row("3. Nothing")).expect("a row");
    stand.click(8, y);
    assert!(stand.shows("▸ 3. Nothing"), "{:#?}", stand.rows());
}

#[test]
fn presented_lanes_leave_no_rows_empty_below_their_axis() {
    for (lesson, variant, step, size) in [
        ("redlock", "one-master", 7, (80, 24)),
        ("unlock-someone-elses-lock", "blind-del", 13, (120, 40)),
        ("oversell", "check-then-decrement", 9, (120, 40)),
        ("failover", "split-brain", 8, (200, 60)),
    ] {
        let mut stand = at_step(lesson, variant, step, (Lang::En, size));
        stand.press('P');
        let rows = stand.rows();
        let axis = rows.iter().rposition(|row| row.contains('↑')).expect("an axis");
        let frame = rows.iter().rposition(|row| row.starts_with('╰')).expect("a frame");
        assert!(frame - axis <= 2, "{lesson}: {rows:#?}");
    }
}

#[test]
fn at_a_presented_verdict_most_of_the_screen_is_the_chart() {
    for (lesson, variant, says, claim) in [
        ("cluster-is-not-safer", "frozen-master", "2 HOLDERS", "A.release == 1"),
        ("semaphore", "leak", "INVARIANT BROKEN", "A.release == 1"),
    ] {
        let mut stand = judged(&log(&scenarios::carried(lesson, variant)), (120, 40));
        stand.press('P');
        let rows = stand.rows();
        let banner = rows.iter().position(|row| row.contains(says)).expect("a banner");
        assert!(banner <= 16, "{rows:#?}");
        // Large letters, and the claims only with their evidence.
        assert!(rows[banner + 1..banner + 4].iter().any(|row| row.contains("█▀")), "{rows:#?}");
        assert!(stand.shows("Takeaway") && !stand.shows(claim), "{rows:#?}");
        stand.key(KeyCode::Enter);
        assert!(stand.shows(claim), "{:#?}", stand.rows());
    }
}

#[test]
fn red_without_bars_says_what_is_wrong_and_since_when() {
    for (lesson, variant, step, says, since) in [
        ("semaphore", "leak", 8, "All are done or dead", "since 7.0"),
        ("permit-expirable-semaphore", "one-expiry", 8, "The key of the count has expired.", "seen at 7.0"),
        ("segmented-lock", "uneven", 7, "A buyer was told that", "since 2.0"),
    ] {
        let stand = at_step(lesson, variant, step, EN);
        assert!(stand.shows(says) && stand.shows(since), "{:#?}", stand.rows());
    }
    // Where the holders' bars fill it, they say it.
    let rows = judged(&log(&scenarios::carried("zk-leader-failover", "works-on")), (120, 40)).rows();
    assert_eq!(rows.iter().filter(|row| row.contains("the lock at once")).count(), 1, "{rows:#?}");
}

#[test]
fn two_who_wait_for_each_other_are_said_to_on_the_smallest_screen() {
    for lang in
        [(Lang::En, ["● A waits for ■ B", "■ B waits for ● A"]), (Lang::Zh, ["● A 等待 ■ B", "■ B 等待 ● A"])]
    {
        let stand = at_step("multi-lock", "one-by-one", 8, (lang.0, (80, 24)));
        for words in lang.1 {
            assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
        }
    }
}

#[test]
fn of_a_long_row_its_first_columns_are_shown() {
    let rows = judged(&log(&scenarios::carried("db-aba", "by-value")), (120, 40)).rows();
    let lane = rows.iter().find(|row| row.starts_with("│account/1 ")).expect("a lane");
    let points: Vec<_> = lane.match_indices("points=").map(|(at, _)| &lane[at + 7..at + 8]).collect();
    // How long the account had its first points depends on how fast the servers were.
    assert!(points.ends_with(&["4", "5", "1"]), "{rows:#?}");
}

#[test]
fn the_holder_whom_no_server_confirms_is_told_so_from_the_moment_of_the_other_on() {
    let rows = judged(&log(&scenarios::carried("zk-leader-failover", "works-on")), (120, 40)).rows();
    let bar = rows.iter().find(|row| row.contains("● A still thinks it holds")).expect("a bar");
    assert_eq!(bar.matches("still thinks it holds").count(), 1, "{rows:#?}");
    assert!(bar.contains("▓▓ ● A still thinks it holds"), "{rows:#?}");
}

#[test]
fn lines_of_a_programs_log_are_folded() {
    let stand = at_step("curator-lock", "listens", 2, EN);
    assert!(stand.shows("lines of its log: SLF4J"), "{:#?}", stand.rows());
    let told = stand.rows().concat().matches("SLF4J").count();
    assert!(told <= 2, "one row for each client: {:#?}", stand.rows());
}

#[test]
fn a_class_hears_of_failures_that_are_no_locks() {
    for (lesson, variant, step, says) in [
        ("db-pessimistic", "autocommit", 10, Some("B sold on an outdated stock=1")),
        ("setnx-without-expire", "two-commands", 10, Some("lock")),
        ("unlock-someone-elses-lock", "blind-del", 9, None),
    ] {
        let (_stand, server) = at_step(lesson, variant, step, EN).with_class();
        let harm = server.published.borrow().class.harm.clone();
        assert_eq!(harm.is_some(), says.is_some(), "{lesson}: {harm:?}");
        assert!(harm.is_none_or(|harm| harm.en.contains(says.unwrap_or("?"))), "{lesson}");
    }
}

#[test]
fn what_is_found_in_the_last_step_alarms_before_the_verdict_and_reaches_the_edge() {
    let (lesson, variant) = ("znode-types", "overwrite");
    let stand = at_step(lesson, variant, 10, EN);
    let told = stand.rows().iter().filter(|row| row.contains("An edit is missing in the data")).count();
    assert!(told >= 2 && share_of_chart(&stand) >= 33, "{:#?}", stand.rows());
    let end = judged(&log(&scenarios::carried(lesson, variant)), (200, 60));
    let edges = |row: &String| row.matches(glyphs::CLASH_EDGE).count();
    assert!(end.rows().iter().all(|row| edges(row) <= 1), "{:#?}", end.rows());
}

#[test]
fn what_was_counted_twice_is_in_sight_when_the_count_is_short() {
    let stand = at_step("countdown-latch", "counted-twice", 16, EN);
    for words in ["EVAL latch_down 2 latch", "2 ────"] {
        assert!(stand.shows(words), "{words}: {:#?}", stand.rows());
    }
}

#[test]
fn holders_are_named_in_one_order_and_a_failure_once() {
    let mut stand = at_step("cluster-is-not-safer", "frozen-master", 10, EN);
    assert!(stand.shows("2 HOLDERS AT ONCE · ● A and ■ B"), "{:#?}", stand.rows());
    // A's own request is visible, although it was long before B's.
    assert!(stand.shows("SET lock:1 A-eb24 NX PX 60000"), "{:#?}", stand.rows());
    assert!(stand.shows("● → OK · work 30s"), "its reply came in this step: {:#?}", stand.rows());
    stand.press('w');
    let told = stand.rows().iter().filter(|row| row.contains("● A and ■ B")).count();
    assert!(told == 2 && !stand.shows("INVARIANT BROKEN"), "{:#?}", stand.rows());
}

#[test]
fn the_name_of_what_was_removed_is_cut_only_for_lack_of_room() {
    let mut stand = at_step("kazoo-lock", "listens", 13, EN);
    stand.resize((200, 60));
    assert!(stand.shows("__lock__0000000000  removed"), "{:#?}", stand.rows());
    stand.resize((80, 24));
    assert!(stand.shows("…  removed"), "{:#?}", stand.rows());
}

#[test]
fn a_banner_counts_who_was_woken_and_everybody_is_a_dot() {
    for (lang, words) in [(Lang::En, "39 WOKEN, 1 NEEDED"), (Lang::Zh, "唤醒 39 个，只需 1 个")] {
        let stand = at_step("zk-herd", "herd", 11, (lang, (120, 40)));
        assert!(stand.shows(words), "{:#?}", stand.rows());
        let signs = bright(&stand.buffer());
        assert_eq!(signs, 39, "38 of the crowd and B: {:#?}", stand.rows());
    }
}

#[test]
fn a_sale_on_an_outdated_value_is_told_in_a_sentence() {
    for (lang, words) in [
        (Lang::En, "B sold on an outdated stock=1: 2 sold, but stock was 1."),
        (Lang::Zh, "B 售出时依据的是旧值 stock=1：共 2 次售出，而 stock 只有 1。"),
    ] {
        let stand = at_step("db-pessimistic", "autocommit", 10, (lang, (120, 40)));
        assert!(stand.shows(words), "{:#?}", stand.rows());
    }
    let log = log(&scenarios::carried("zk-session-expiry", "frozen"));
    let rows = judged(&log, (120, 40)).rows();
    let verdict = rows.iter().position(|row| row.contains(" Verdict ")).expect("a verdict");
    let first = &rows[verdict + 1];
    assert!(first.contains("on an outdated"), "the banner says that too much was sold: {rows:#?}");
}

#[test]
fn a_scripts_own_word_before_a_name_hides_no_owner() {
    let stand = at_step("read-write-lock", "no-read-lock", 7, EN);
    assert!(
        !stand.shows("w:W ") && stand.rows().iter().any(|row| row.starts_with("│redis ")),
        "{:#?}",
        stand.rows()
    );
    let rows = stand.rows();
    let lane = rows.iter().position(|row| row.starts_with("│redis")).expect("a lane");
    assert!(rows[lane..lane + 2].concat().contains("● W"), "{rows:#?}");
}

/// The rows of the servers' lanes, from the first server on.
fn server_lanes(stand: &Stand, first: &str) -> Vec<String> {
    let rows = stand.rows();
    let from = rows.iter().position(|row| row.starts_with(&format!("│{first} "))).expect("a lane");
    let to = rows[from..].iter().position(|row| row.contains('↑')).expect("an axis");
    rows[from..from + to].to_vec()
}

#[test]
fn a_servers_row_names_its_key_once_and_apart_from_the_sign_of_a_role() {
    let segments = at_step("segmented-lock", "probing", 8, (Lang::Zh, (80, 24)));
    let lanes = server_lanes(&segments, "lock:0");
    assert!(lanes.iter().all(|row| row.matches("lock:1").count() < 2), "{lanes:#?}");
    let failover = at_step("failover", "replication-lag", 13, (Lang::Zh, (80, 24)));
    let lanes = server_lanes(&failover, "node1");
    assert!(lanes.iter().any(|row| row.contains("node2 ♛ ")), "{lanes:#?}");
    // Only one of the servers would have room for it.
    assert!(lanes.iter().all(|row| !row.contains(" lock ")), "{lanes:#?}");
    assert!(lanes.iter().any(|row| row.contains("node2 的从节点")), "{lanes:#?}");
    // If there is room, the key is below the server's name, and the row shows only the key's value.
    let fenced = at_step("fencing-token", "no-token", 14, EN);
    let lanes = server_lanes(&fenced, "redis");
    for (key, value) in [("lock", "● A"), ("fence", "33 ─"), ("good/1", "stock=4")] {
        let label = format!("│{key} ");
        assert_eq!(lanes.iter().filter(|row| row.starts_with(&label)).count(), 1, "{key}: {lanes:#?}");
        let all = lanes.concat();
        assert!(all.contains(value) && !all.contains(&format!("{key} {value}")), "{value}: {lanes:#?}");
    }
}

#[test]
fn which_row_it_is_is_known_before_what_it_held() {
    let stand = at_step("db-deadlock", "deadlock", 8, (Lang::En, (80, 24)));
    let lanes = server_lanes(&stand, "good/1");
    assert!(lanes[0].contains("sku=100") && lanes[1].contains("│good/2 "), "{lanes:#?}");
}

#[test]
fn what_was_granted_on_an_outdated_value_is_not_told_as_if_too_little_had_been_taken() {
    let stand = at_step("db-aba", "by-value", 8, (Lang::Zh, (80, 24)));
    assert!(stand.shows("● A 发放（凭旧值 coupon=unused"), "{:#?}", stand.rows());
    let rows = judged(&log(&scenarios::carried("db-aba", "by-value")), (120, 40)).rows();
    let told =
        rows.iter().any(|row| row.contains("granted on an outdated coupon=unused points=5 version=0."));
    assert!(told && !rows.concat().contains("went from"), "{rows:#?}");
}

#[test]
fn a_question_behind_its_stop_says_no_keys() {
    let asks = |number| at_step("redlock", "split-vote", number, (Lang::Zh, (80, 24))).shows("按 1-3 作答");
    assert!(asks(5) && !asks(6));
}

#[test]
fn what_a_key_held_is_said_without_its_name_where_that_has_no_room_at_all() {
    let stand = at_step("countdown-latch", "counted-twice", 16, (Lang::Zh, (80, 24)));
    let lanes = server_lanes(&stand, "latch");
    assert!(lanes[0].contains("─1"), "{lanes:#?}");
}

/// A lock that is set with its expiry never looks like one without.
#[test]
fn a_lease_is_drawn_as_a_lease_from_its_first_column_on() {
    let mut seen = 0;
    let lessons = ["redlock", "redlock-clock-jump", "failover", "unlock-someone-elses-lock"];
    for (scenario, log) in recorded_if(|lesson, _| lessons.contains(&lesson.id.as_str())) {
        for size in [(80, 24), (100, 30), (120, 40)] {
            let stand = opened(log.events().to_vec(), Lang::En, size);
            let rows = stand.rows();
            assert!(!rows.concat().contains(glyphs::HELD), "{} at {size:?}: {rows:#?}", name(&scenario));
            seen += rows
                .concat()
                .matches(&glyphs::LEASE.map(|eighths| eighths.chars().next().unwrap_or_default())[..])
                .count();
        }
    }
    assert!(seen > 0, "leases are seen");
}

#[test]
fn a_long_text_leaves_the_holders_bar_to_its_owner() {
    let rows = at_step("curator-read-write", "is-anybody-writing", 15, (Lang::En, (80, 24))).rows();
    for words in ["■ W holds ▓▓", "▲ R2 shared ▓▓"] {
        assert!(rows.iter().any(|row| row.contains(words)), "{words}: {rows:#?}");
    }
    let rows = at_step("curator-read-write", "is-anybody-writing", 15, (Lang::Zh, (80, 24))).rows();
    assert!(rows.iter().any(|row| row.contains("▲ R2 共享持有 ▓▓")), "{rows:#?}");
}

#[test]
fn the_name_of_a_lock_is_shown_whole_and_once() {
    for at in [9, 13] {
        let stand = at_step("curator-semaphore-mutex", "by-lease", at, (Lang::En, (80, 24)));
        let lanes = server_lanes(&stand, "/mutex/locks");
        for lock in ["/mutex/leases", "/mutex/locks"] {
            assert_eq!(lanes.concat().matches(lock).count(), 1, "{lock}: {lanes:#?}");
        }
    }
}

#[test]
fn a_short_bar_has_its_owners_name() {
    let rows = judged(&log(&scenarios::carried("node-redlock", "long-wait")), (120, 40)).rows();
    let lane = rows.iter().position(|row| row.starts_with("│✓ B")).expect("the lane of B");
    assert!(rows[lane..lane + 4].iter().any(|row| row.contains("█■█")), "{rows:#?}");
}

#[test]
fn time_without_texts_gives_way_to_texts() {
    let rows = judged(&log(&scenarios::carried("countdown-latch", "worker-dies")), (120, 40)).rows();
    let killed = rows.iter().find(|row| row.contains("✝ SIGKILL")).expect("the lane of W3");
    assert!(killed.contains("✝ SIGKILL  "), "before the alarm: {rows:#?}");
    assert!(rows.iter().any(|row| row.contains("GET latch → \"3\" ")), "{rows:#?}");
}

#[test]
fn a_session_of_a_restarted_server_is_not_whose_it_was_before() {
    // After the restart B's session has the number that A's had.
    let rows =
        judged(&log(&scenarios::carried("which-lock", "mariadb-for-update-restart")), (120, 40)).rows();
    let lane = rows.iter().find(|row| row.contains("job/1 ") && row.contains("■ B")).expect("a lane");
    assert!(lane.find("● A").is_some_and(|a| lane.find("■ B").is_some_and(|b| a < b)), "{rows:#?}");
}

#[test]
fn who_takes_what_the_servers_say_is_anothers_only_thinks_so() {
    for (lesson, variant, who) in [
        ("zk-notified-is-not-granted", "believe-it", "▲ C"),
        ("redlock-late-validity", "votes-only", "● A"),
        ("redlock-py", "clock-set-back", "● A"),
    ] {
        let stand = judged(&log(&scenarios::carried(lesson, variant)), (200, 60));
        assert!(stand.shows(&format!("{who} thinks it holds")), "{:#?}", stand.rows());
    }
    // Of those who share a queue's lock, the server names only the first.
    let stand = judged(&log(&scenarios::carried("curator-read-write", "writer-then-reader")), (200, 60));
    assert!(stand.shows("● A shared") && !stand.shows("thinks it holds"), "{:#?}", stand.rows());
}
