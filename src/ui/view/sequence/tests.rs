//! The fold, on logs of every kind: nothing that was drawn moves, and what is chosen is found where it is drawn.

use proptest::prelude::*;
use ratatui::{buffer::Buffer, layout::Rect};

use crate::ui::chart::sequence::Sequence;
use crate::ui::view::sequence as draw;
use crate::{
    clock::{ClockKind, LessonTime},
    log::{
        Actor, ActorId, Belief, Command, Dialect, Event, EventKind, Fault, KeyState, KeyValue, Keyspace,
        LinkId, Log, Observed, OpId, Reply, ServerInfo, ServerState, Stop, Way,
    },
    text::Lang,
    ui::{
        chart::Chart,
        theme::{Role, Theme, text},
        view::{Scene, lanes, wire},
    },
    world::World,
};

/// Three clients, one with two threads, and a crowd.
fn ready() -> EventKind {
    let mut actors: Vec<Actor> = [("A.work", "A"), ("A.renew", "A"), ("B", "B"), ("客户端", "客户端")]
        .map(|(name, client)| Actor { name: name.to_owned(), client: client.to_owned(), crowd: false })
        .into();
    actors.extend((1..=8).map(|n| Actor { name: format!("W{n}"), client: "W".to_owned(), crowd: true }));
    let servers = ["redis1", "redis2"].map(|name| ServerInfo {
        name: name.to_owned(),
        product: "Redis".to_owned(),
        version: "7".to_owned(),
        address: String::new(),
        password: None,
    });
    EventKind::LabReady {
        lesson: "lesson".to_owned(),
        variant: "variant".to_owned(),
        clock: ClockKind::Controlled,
        servers: servers.into(),
        actors,
    }
}

fn happening() -> impl Strategy<Value = EventKind> {
    let actor = || (0..12_u32).prop_map(ActorId);
    let server =
        || prop_oneof![Just("redis1".to_owned()), Just("redis2".to_owned()), Just("local".to_owned())];
    let belief = prop_oneof![
        Just(Belief::Holding),
        Just(Belief::Waiting),
        Just(Belief::Unsure),
        Just(Belief::Nothing)
    ];
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
        link().prop_map(|link| Fault::Hold { link, way: Way::Both }),
        link().prop_map(|link| Fault::Release { link }),
        link().prop_map(|link| Fault::Cut { link }),
        link().prop_map(|link| Fault::Drop { link }),
        server().prop_map(|server| Fault::KillServer { server }),
        server().prop_map(|server| Fault::RestartServer { server }),
    ];
    let state = (server(), 0..9_i64, any::<bool>()).prop_map(|(server, value, expires)| {
        let key = KeyState {
            value: KeyValue::String(value.to_string()),
            expires_at: expires.then(|| LessonTime::from_nanos(value * 500_000_000)),
        };
        let keys = (value > 2).then(|| ("lock".to_owned(), key)).into_iter().collect();
        EventKind::State(ServerState { server, observed: Observed::Redis(Keyspace { keys, role: None }) })
    });
    prop_oneof![
        6 => (actor(), label(), server(), 0..40_u64, "[ -~锁，]{0,60}").prop_map(|(actor, label, server, op, wire)| {
            EventKind::Sent { op: OpId(op), actor, label, server, command: Command::from_text(&wire, Dialect::Redis), releases: Vec::new() }
        }),
        6 => (actor(), label(), 0..40_u64, reply).prop_map(|(actor, label, op, reply)| EventKind::Replied {
            op: OpId(op), actor, label, reply,
        }),
        3 => (actor(), server(), label()).prop_map(|(actor, server, what)| EventKind::Notified {
            actor, server, about: "/lock".to_owned(), what,
        }),
        2 => (actor(), label()).prop_map(|(actor, label)| EventKind::Took {
            actor, label, about: "/lock".to_owned(), what: "NodeDeleted".to_owned(),
        }),
        2 => (actor(), label()).prop_map(|(actor, label)| EventKind::Waits {
            actor, label, until: LessonTime::from_nanos(1 << 40),
        }),
        2 => actor().prop_map(|actor| EventKind::Counted { actor, counter: "sold".to_owned(), by: 1 }),
        4 => (actor(), belief).prop_map(|(actor, belief)| EventKind::Believes {
            actor, lock: "lock".to_owned(), belief,
        }),
        2 => fault.prop_map(EventKind::Fault),
        2 => state,
        2 => Just(EventKind::Stop { item: 0, stop: Stop::Move }),
    ]
}

fn logs() -> impl Strategy<Value = Log> {
    proptest::collection::vec(
        (happening(), prop_oneof![4 => 0..3_000_000_i64, 1 => 0..3_000_000_000_i64]),
        0..80,
    )
    .prop_map(|happenings| {
        let mut log = Log::new();
        let mut at = 0;
        log.append(Event { at: LessonTime::ZERO, kind: ready() });
        for (kind, passed) in happenings {
            at += passed;
            log.append(Event { at: LessonTime::from_nanos(at), kind });
        }
        log
    })
}

fn folded(log: &Log) -> Sequence {
    let mut sequence = Sequence::default();
    sequence.advance(log);
    sequence
}

fn prefix(log: &Log, position: usize) -> Log {
    let mut prefix = Log::new();
    prefix.extend(log.events()[..position].iter().cloned());
    prefix
}

/// Draws a pane's inside; gives the lines on which something is chosen.
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
        let (whole, before) = (folded(&log), folded(&prefix(&log, position)));
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
    fn a_frame_of_the_past_is_what_it_was(log in logs(), position in 1..80_usize, width in 20..120_u16, height in 2..30_u16) {
        let position = position.min(log.len());
        let area = Rect::new(0, 0, width, height);
        let picture = |log: &Log| {
            let (world, sequence, mut chart) = (World::fold(log, position), folded(log), Chart::default());
            chart.advance(log);
            let keys = crate::ui::keys::map::KeyMap::default();
            let scene = Scene {
                keys: &keys,
                flight: None,
                expanded: false,
                log, world: &world, chart: &chart, sequence: &sequence, selected: None,
                display: world.now, theme: Theme::default(), lang: Lang::Zh,
            };
            let mut buffer = Buffer::empty(area);
            draw::draw(&scene, draw::View::default(), area, &mut buffer);
            buffer
        };
        let picture_now = picture(&prefix(&log, position));
        prop_assert_eq!(&picture_now, &picture(&log));
        // No wide character is cut in half.
        for (n, pair) in picture_now.content.windows(2).enumerate() {
            prop_assert!(text::width(pair[0].symbol()) < 2 || pair[1].symbol() == " ", "{}: {:#?}", n, picture_now);
        }
    }

    #[test]
    fn what_is_chosen_is_found_where_it_is_drawn(log in logs(), event in 0..80_usize, height in 4..30_u16) {
        let event = event % log.len();
        let area = Rect::new(3, 2, 110, height);
        let (world, sequence, mut chart) = (World::fold(&log, log.len()), folded(&log), Chart::default());
        chart.advance(&log);
        let keys = crate::ui::keys::map::KeyMap::default();
        let scene = Scene {
            keys: &keys,
            flight: None,
            expanded: false,
            log: &log, world: &world, chart: &chart, sequence: &sequence, selected: Some(event),
            display: world.now, theme: Theme::default(), lang: Lang::En,
        };
        let view = draw::View::default();
        let row = sequence.row_of(event);
        for place in chosen(&scene, area, |scene, area, buf| draw::draw(scene, draw::View::default(), area, buf)) {
            if let Some(found) = draw::event_at(&scene, view, area, place) {
                prop_assert_eq!(sequence.row_of(found).map(|row| sequence.rows[row].event), row.map(|row| sequence.rows[row].event));
            }
        }
        for place in chosen(&scene, area, |scene, area, buf| wire::draw(scene, None, area, buf)) {
            let found = wire::event_at(&scene, None, area, place);
            prop_assert!(found.is_some_and(|found| wire::row_of(&scene, found) == wire::row_of(&scene, event)));
        }
        for place in chosen(&scene, area, |scene, area, buf| lanes::draw(scene, None, area, buf)) {
            prop_assert!(lanes::event_at(&scene, None, area, place).is_some());
        }
    }
}

#[test]
fn time_that_passes_is_one_row_however_often_it_is_looked_at() {
    let mut log = Log::new();
    let mut add = |at: i64, kind| {
        log.append(Event { at: LessonTime::from_nanos(at * 1_000_000), kind });
    };
    let sent = |op| EventKind::Sent {
        op: OpId(op),
        actor: ActorId(2),
        label: "a".to_owned(),
        server: "redis1".to_owned(),
        command: Command::from_text("PING", Dialect::Redis),
        releases: Vec::new(),
    };
    add(0, ready());
    add(0, sent(1));
    for at in [1000, 2000, 3000] {
        add(at, EventKind::Stop { item: 0, stop: Stop::Passed });
    }
    add(3000, sent(2));
    let sequence = folded(&log);
    assert_eq!(sequence.rows.len(), 3);
    assert!(!sequence.rows[1].is_chosen());
    assert_eq!(sequence.rows[1].last(log.len()), 5);
    assert_eq!(sequence.rows[1].last(3), 2);
}
