//! The fold, without any server: a prefix is a prefix however one gets there, and overlaps are what they are
//! said to be.

use proptest::prelude::*;

use super::World;
use crate::{
    clock::{ClockKind, LessonTime},
    log::{Actor, ActorId, Belief, Command, Dialect, Event, EventKind, Fault, Log, OpId, Reply},
};

const ACTORS: u32 = 4;

fn ready() -> EventKind {
    let actors = (0..ACTORS).map(|n| Actor { name: format!("A{n}"), client: format!("A{n}"), crowd: false });
    EventKind::LabReady {
        lesson: "lesson".to_owned(),
        variant: "variant".to_owned(),
        clock: ClockKind::Controlled,
        servers: Vec::new(),
        actors: actors.collect(),
    }
}

/// Anything that may happen to an actor.
fn happening() -> impl Strategy<Value = EventKind> {
    let actor = (0..ACTORS).prop_map(ActorId);
    let belief = prop_oneof![
        Just(Belief::Holding),
        Just(Belief::Waiting),
        Just(Belief::Unsure),
        Just(Belief::Nothing)
    ];
    let label = "[a-c]".prop_map(String::from);
    prop_oneof![
        4 => (actor.clone(), belief).prop_map(|(actor, belief)| EventKind::Believes {
            actor,
            lock: "lock".to_owned(),
            belief,
        }),
        2 => (actor.clone(), label.clone(), 0..20_u64, any::<bool>()).prop_map(|(actor, label, op, releases)| EventKind::Sent {
            op: OpId(op),
            actor,
            label,
            server: "redis".to_owned(),
            command: Command::from_text("PING", Dialect::Redis),
            releases: releases.then(|| "lock".to_owned()).into_iter().collect(),
        }),
        2 => (actor.clone(), label, 0..20_u64).prop_map(|(actor, label, op)| EventKind::Replied {
            op: OpId(op),
            actor,
            label,
            reply: Reply::Value(1.into()),
        }),
        1 => actor.clone().prop_map(|actor| EventKind::Counted { actor, counter: "sold".to_owned(), by: 1 }),
        1 => (0..ACTORS).prop_map(|n| EventKind::Fault(Fault::Crash { client: format!("A{n}") })),
        1 => actor.prop_map(|actor| EventKind::Finished { actor }),
    ]
}

fn logs() -> impl Strategy<Value = Log> {
    proptest::collection::vec((happening(), 0..1_000_000_i64), 0..60).prop_map(|happenings| {
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

proptest! {
    #[test]
    fn however_one_gets_to_a_place_the_world_there_is_the_same(log in logs(), path in proptest::collection::vec(0..70_usize, 1..8)) {
        let mut world = World::default();
        for position in path {
            world.seek(&log, position);
            prop_assert!(world == World::fold(&log, position));
        }
    }

    #[test]
    fn an_overlap_is_open_exactly_while_two_hold(log in logs()) {
        for position in 0..=log.len() {
            let world = World::fold(&log, position);
            let open = world.holding.overlaps().iter().filter(|overlap| overlap.to.is_none()).count();
            prop_assert_eq!(open, usize::from(world.holding.holders("lock").count() >= 2));
            for overlap in world.holding.overlaps() {
                prop_assert!(overlap.holders.len() >= 2);
                prop_assert!(overlap.to.is_none_or(|to| to >= overlap.from));
                let began = matches!(log.events()[overlap.event].kind, EventKind::Believes { .. });
                prop_assert!(began);
            }
        }
    }

    #[test]
    fn the_dead_believe_nothing(log in logs()) {
        let world = World::fold(&log, log.len());
        for event in log.events() {
            if let EventKind::Fault(Fault::Crash { client }) = &event.kind {
                let actor = world.actors.iter().position(|actor| actor.who.client == *client).expect("an actor");
                let id = ActorId(u32::try_from(actor).expect("few"));
                prop_assert!(world.holding.holders("lock").all(|holder| holder != id));
            }
        }
    }
}
