//! Properties of the fold on arbitrary logs: nothing that was drawn moves, and a selected event is found where it is
//! drawn.

use std::time::Duration;

use proptest::prelude::*;
use ratatui::{buffer::Buffer, layout::Rect};

use crate::ui::chart::sequence::Sequence;
use crate::ui::view::sequence as draw;
use crate::{
    clock::LessonTime,
    log::{
        ActorId, Direction, EventKind, Fault, LinkId, Log, Reply, Stop,
        testing::{LogBuilder, actor, any_belief, believes, counted, crowd, holds, ready, replied, sent},
    },
    text::Lang,
    ui::{
        chart::Chart,
        keys::KeyMap,
        theme::{Role, Theme, text},
        view::{Context, Scene, lanes, wire},
    },
    world::World,
};

/// Three clients, one with two threads, and a crowd.
fn log() -> LogBuilder {
    let actors = ["A.work", "A.renew", "B", "客户端"].map(actor);
    let ready = ready(&["redis1", "redis2"], actors.into_iter().chain(crowd(8)));
    LogBuilder::new(ready).ticking(Duration::ZERO)
}

fn happening() -> impl Strategy<Value = EventKind> {
    let actor = || (0..12_u32).prop_map(ActorId);
    let server =
        || prop_oneof![Just("redis1".to_owned()), Just("redis2".to_owned()), Just("local".to_owned())];
    let label = || "[a-c]".prop_map(String::from);
    let reply = prop_oneof![
        Just(Reply::Value("OK".into())),
        Just(Reply::Value(serde_json::Value::Null)),
        Just(Reply::Lost("connection lost".to_owned())),
        Just(Reply::Error { code: "ERR".to_owned(), text: "no".to_owned() }),
    ];
    let client = || prop_oneof![Just("A".to_owned()), Just("B".to_owned()), Just("W".to_owned())];
    let link = || (client(), server()).prop_map(|(client, server)| LinkId::new(&client, &server));
    let fault = prop_oneof![
        client().prop_map(|client| Fault::Crash { client }),
        client().prop_map(|client| Fault::Freeze { client }),
        client().prop_map(|client| Fault::Thaw { client }),
        link().prop_map(|link| Fault::Hold { link, way: Direction::Both }),
        link().prop_map(|link| Fault::Release { link }),
        link().prop_map(|link| Fault::Cut { link }),
        link().prop_map(|link| Fault::Drop { link }),
        server().prop_map(|server| Fault::KillServer { server }),
        server().prop_map(|server| Fault::RestartServer { server }),
    ];
    let state = (server(), 0..9_i64, any::<bool>()).prop_map(|(server, value, expires)| {
        let end = expires.then(|| LessonTime::from_millis(value * 500));
        let value = value.to_string();
        holds(&server, (value.as_str() > "2").then_some((&value, end)))
    });
    prop_oneof![
        6 => (0..40_u64, 0..12_u32, server(), label(), "[ -~锁，]{0,60}")
            .prop_map(|(op, actor, server, label, wire)| sent(op, actor, &server, &label, &wire)),
        6 => (0..40_u64, 0..12_u32, label(), reply).prop_map(|(op, actor, label, reply)| replied(op, actor, &label, reply)),
        3 => (actor(), server(), label()).prop_map(|(actor, server, what)| EventKind::Notified {
            actor, server, about: "/lock".to_owned(), what,
        }),
        2 => (actor(), label()).prop_map(|(actor, label)| EventKind::Took {
            actor, label, about: "/lock".to_owned(), what: "NodeDeleted".to_owned(),
        }),
        2 => (actor(), label()).prop_map(|(actor, label)| EventKind::Waits {
            actor, label, until: LessonTime::from_nanos(1 << 40),
        }),
        2 => (0..12_u32).prop_map(counted),
        4 => (0..12_u32, any_belief()).prop_map(|(actor, belief)| believes(actor, belief)),
        2 => fault.prop_map(EventKind::Fault),
        2 => state,
        2 => Just(EventKind::Stop { item: 0, stop: Stop::Move }),
    ]
}

fn logs() -> impl Strategy<Value = Log> {
    proptest::collection::vec(
        (happening(), prop_oneof![4 => 0..3_000_000_u64, 1 => 0..3_000_000_000_u64]),
        0..80,
    )
    .prop_map(|happenings| {
        let mut log = log();
        for (kind, nanos) in happenings {
            log.pass(Duration::from_nanos(nanos)).add(kind);
        }
        log.finish()
    })
}

fn folded(log: &Log) -> Sequence {
    let mut sequence = Sequence::default();
    sequence.advance(log);
    sequence
}

fn with_scene<T>(
    log: &Log,
    position: usize,
    selected: Option<usize>,
    look: impl FnOnce(&Scene<'_>) -> T,
) -> T {
    let (world, sequence, mut chart) = (World::fold(log, position), folded(log), Chart::default());
    chart.advance(log);
    let context = Context { keys: &KeyMap::default(), theme: Theme::default(), lang: Lang::Zh };
    look(&Scene { selected, ..Scene::still(log, &world, (&chart, &sequence), context) })
}

/// Draws the inside of a pane.
type Pane = fn(&Scene<'_>, Rect, &mut Buffer);

fn chosen(scene: &Scene<'_>, area: Rect, pane: Pane) -> Vec<(u16, u16)> {
    let mut buffer = Buffer::empty(area);
    pane(scene, area, &mut buffer);
    let ground = scene.theme.style(Role::Selected).bg.expect("a ground");
    area.positions().filter(|place| buffer[*place].bg == ground).map(|place| (place.x, place.y)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_was_drawn_moves_when_more_happens(log in logs(), position in 0..80_usize) {
        let position = position.min(log.len());
        let (whole, before) = (folded(&log), folded(&log.prefix(position)));
        let known = whole.known(position);
        prop_assert_eq!(before.rows.len(), known);
        for event in 0..position {
            prop_assert_eq!(before.row_of(event), whole.row_of(event).filter(|row| *row < known), "event {}", event);
        }
        for (n, (row, later)) in before.rows.iter().zip(&whole.rows).enumerate() {
            prop_assert_eq!(row.event, later.event);
            prop_assert_eq!(row.count(position), later.count(position));
            prop_assert_eq!(std::mem::discriminant(&row.kind), std::mem::discriminant(&later.kind));
            prop_assert_eq!(row.note, later.note.filter(|note| *note < position));
            for (line, later) in before.lifelines.iter().zip(&whole.lifelines) {
                prop_assert_eq!(line.look(n, position), later.look(n, position));
            }
        }
    }

    #[test]
    fn stepping_back_redraws_the_same_frame(log in logs(), position in 1..80_usize, width in 20..120_u16, height in 2..30_u16) {
        let position = position.min(log.len());
        let area = Rect::new(0, 0, width, height);
        let picture = |log: &Log| {
            let mut buffer = Buffer::empty(area);
            with_scene(log, position, None, |scene| draw::draw(scene, draw::View::default(), area, &mut buffer));
            buffer
        };
        let picture_now = picture(&log.prefix(position));
        prop_assert_eq!(&picture_now, &picture(&log));
        // No wide character is cut in half.
        for (n, pair) in picture_now.content.windows(2).enumerate() {
            prop_assert!(text::width(pair[0].symbol()) < 2 || pair[1].symbol() == " ", "{}: {:#?}", n, picture_now);
        }
    }

    #[test]
    fn a_selected_event_is_found_where_it_is_drawn(log in logs(), event in 0..80_usize, height in 4..30_u16) {
        let event = event % log.len();
        let area = Rect::new(3, 2, 110, height);
        with_scene(&log, log.len(), Some(event), |scene| {
            let view = draw::View::default();
            let row = scene.sequence.row_of(event);
            for place in chosen(scene, area, |scene, area, buf| draw::draw(scene, draw::View::default(), area, buf)) {
                if let Some(found) = draw::event_at(scene, view, area, place) {
                    prop_assert_eq!(scene.sequence.row_of(found).map(|row| scene.sequence.rows[row].event), row.map(|row| scene.sequence.rows[row].event));
                }
            }
            for place in chosen(scene, area, |scene, area, buf| wire::draw(scene, None, area, buf)) {
                let found = wire::event_at(scene, None, area, place);
                prop_assert!(found.is_some_and(|found| wire::row_of(scene, found) == wire::row_of(scene, event)));
            }
            for place in chosen(scene, area, |scene, area, buf| lanes::draw(scene, None, area, buf)) {
                prop_assert!(lanes::event_at(scene, None, area, place).is_some());
            }
            Ok(())
        })?;
    }
}

#[test]
fn passing_time_is_one_row_however_often_servers_are_observed() {
    let mut log = log();
    log.sends_to(2, "redis1", "a", "PING");
    for at in [1000, 2000, 3000] {
        log.at(at).add(EventKind::Stop { item: 0, stop: Stop::Passed });
    }
    log.sends_to(2, "redis1", "a", "PING");
    let sequence = folded(&log);
    assert_eq!(sequence.rows.len(), 3);
    assert!(!sequence.rows[1].is_selectable());
    assert_eq!(sequence.rows[1].last(log.len()), 5);
    assert_eq!(sequence.rows[1].last(3), 2);
}
