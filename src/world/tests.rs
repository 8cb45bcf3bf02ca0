//! The fold, without any server: the world after a prefix does not depend on the way there, and overlaps are what they
//! are documented to be.

use std::time::Duration;

use proptest::prelude::*;

use super::World;
use crate::log::{
    ActorId, EventKind, Fault, Log, Reply,
    testing::{LogBuilder, actor, any_belief, believes, counted, crash, ready, replied, sent},
};

const ACTORS: u32 = 4;

fn happening() -> impl Strategy<Value = EventKind> {
    let label = || prop_oneof![Just("acquire"), Just("release")];
    prop_oneof![
        4 => (0..ACTORS, any_belief()).prop_map(|(actor, belief)| believes(actor, belief)),
        2 => (0..20_u64, 0..ACTORS, label()).prop_map(|(op, actor, label)| sent(op, actor, "redis", label, "PING")),
        2 => (0..20_u64, 0..ACTORS, label())
            .prop_map(|(op, actor, label)| replied(op, actor, label, Reply::Value(1.into()))),
        1 => (0..ACTORS).prop_map(counted),
        1 => (0..ACTORS).prop_map(|n| crash(&format!("A{n}"))),
        1 => (0..ACTORS).prop_map(|n| EventKind::Finished { actor: ActorId(n) }),
    ]
}

fn logs() -> impl Strategy<Value = Log> {
    proptest::collection::vec((happening(), 0..1_000_000_u64), 0..60).prop_map(|happenings| {
        let actors = (0..ACTORS).map(|n| actor(&format!("A{n}")));
        let mut log = LogBuilder::new(ready(&["redis"], actors)).ticking(Duration::ZERO);
        for (kind, nanos) in happenings {
            log.pass(Duration::from_nanos(nanos)).add(kind);
        }
        log.finish()
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
    fn an_overlap_is_open_exactly_while_two_hold_and_not_all_share(log in logs()) {
        for position in 0..=log.len() {
            let world = World::fold(&log, position);
            let open = world.holding.overlaps().iter().filter(|overlap| overlap.to.is_none()).count();
            let all_share = world.holding.holders_of_all().all(|(_, _, shares)| shares);
            let too_many = world.holding.holders("lock").count() >= 2 && !all_share;
            prop_assert_eq!(open, usize::from(too_many));
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

#[test]
fn a_server_that_lost_its_power_is_not_one_that_was_killed() {
    let server = || "redis".to_owned();
    for (fault, why) in [
        (Fault::KillServer { server: server() }, "SIGKILL"),
        (Fault::LosePower { server: server() }, "POWER"),
    ] {
        let mut log = LogBuilder::new(ready(&["redis"], [actor("A")]));
        log.add(EventKind::Fault(fault));
        let died = |end| World::fold(&log, end).servers[0].died.clone();
        assert_eq!((died(log.len() - 1), died(log.len()).as_deref()), (None, Some(why)));
    }
}
