use std::time::Duration;

use proptest::prelude::*;

use super::{Flight, Hop, LONGEST, Load, MESSAGE, Tempo};
use crate::{
    log::{
        Direction, EventKind, Fault, Keyspace, LinkId, Log, Observed, Reply, Role, ServerState,
        testing::{LogBuilder, actor, crowd, notified, ready, waited},
    },
    world::World,
};

const TEMPO: Tempo = Tempo { wait: Duration::from_millis(600), longest: LONGEST, messages: true };
const CALM: Tempo = Tempo { messages: false, ..TEMPO };

/// A log that begins with two clients and a crowd of forty.
fn begun() -> LogBuilder {
    let actors = ["A", "B"].map(actor).into_iter().chain(crowd(40));
    LogBuilder::new(ready(&[], actors)).ticking(Duration::from_micros(1))
}

fn get(story: &mut LogBuilder, actor: u32) -> usize {
    story.sends(actor, "get", "GET stock")
}

fn notify(story: &mut LogBuilder, actor: u32) -> usize {
    story.add(notified(actor, "/lock", "NodeDeleted"))
}

fn role(server: &str, role: Role) -> EventKind {
    let space = Keyspace { role: Some(role), ..Keyspace::default() };
    EventKind::State(ServerState { server: server.into(), observed: Observed::Redis(space) })
}

fn link() -> LinkId {
    LinkId::new("A", "redis")
}

fn flown(log: &Log, from: usize, tempo: Tempo) -> Flight {
    let base = World::fold(log, from);
    Flight::between(log, &base, log.len(), base.now, tempo)
}

fn loads(flight: &Flight) -> Vec<(Load, usize)> {
    flight.hops.iter().map(|hop| (hop.load, hop.event)).collect()
}

#[test]
fn a_command_goes_down_and_its_reply_comes_up_and_is_known_when_it_arrives() {
    let mut story = begun();
    let sent = get(&mut story, 0);
    let replied = story.replies(sent, "1");
    story.stop();
    let flight = flown(&story, 1, TEMPO);
    assert_eq!(loads(&flight), [(Load::Command, sent), (Load::Reply, replied)]);
    let [down, up] = flight.hops[..] else { panic!("two hops") };
    assert_eq!((down.time, up.time), ((Duration::ZERO, MESSAGE), (MESSAGE, 2 * MESSAGE)));
    assert_eq!(up.at, sent, "back where the command came from");
    assert_eq!(flight.lasts, 2 * MESSAGE);
    assert_eq!(flight.position(Duration::ZERO), sent + 1);
    assert_eq!(flight.position((2 * MESSAGE).saturating_sub(Duration::from_nanos(1))), sent + 1);
    assert_eq!(flight.position(2 * MESSAGE), story.len());
}

#[test]
fn messages_sent_together_travel_together() {
    let mut story = begun();
    for sent in [0, 1].map(|actor| get(&mut story, actor)) {
        story.replies(sent, "1");
    }
    let flight = flown(&story, 1, TEMPO);
    let times: Vec<_> = flight.hops.iter().map(|hop| hop.time.0).collect();
    assert_eq!(times, [Duration::ZERO, Duration::ZERO, MESSAGE, MESSAGE]);
}

#[test]
fn a_lock_within_a_process_crosses_no_wire() {
    let mut story = begun();
    story.moves(0, "get", "lock stock", "1");
    story.stop();
    let flight = flown(&story, 1, TEMPO);
    assert!(flight.hops.is_empty() && flight.lasts.is_zero());
}

#[test]
fn hundreds_of_notifications_are_one_wave_that_arrives_bit_by_bit() {
    let mut story = begun();
    let first = notify(&mut story, 2);
    for member in 3..42 {
        notify(&mut story, member);
    }
    story.stop();
    let flight = flown(&story, 1, TEMPO);
    assert!(flight.hops.iter().all(|hop| hop.time.0.is_zero() && hop.phase == 1));
    assert!(flight.lasts <= 2 * MESSAGE);
    let at = flight.lasts.mul_f64(0.7);
    assert!((first + 10..first + 30).contains(&flight.position(at)), "{}", flight.position(at));
}

#[test]
fn a_crowd_sending_one_after_another_is_a_swarm() {
    let mut story = begun();
    for member in 2..42 {
        story.moves(member, "get", "GET stock", "1");
    }
    story.stop();
    let flight = flown(&story, 1, TEMPO);
    assert!(flight.hops.iter().all(|hop| hop.swarm));
    assert_eq!(flight.lasts, 2 * MESSAGE);
    // A swarm must be recognized at every moment before its end.
    for n in 2..100 {
        assert!(!flight.phase_at(flight.lasts * n / 100).is_empty(), "{n}");
    }
}

#[test]
fn a_held_command_stops_half_way_until_it_is_released() {
    let mut story = begun();
    story.add(EventKind::Fault(Fault::Hold { link: link(), way: Direction::Both }));
    let from = story.len();
    let sent = get(&mut story, 0);
    story.stop();
    let ways = |flight: &Flight| -> Vec<(Load, (f32, f32))> {
        flight.hops.iter().map(|hop| (hop.load, hop.way)).collect()
    };
    assert_eq!(ways(&flown(&story, from, TEMPO)), [(Load::Command, (0.0, 0.5))]);
    let from = story.len();
    let release = story.add(EventKind::Fault(Fault::Release { link: link() }));
    let replied = story.replies(sent, "1");
    let flight = flown(&story, from, TEMPO);
    assert_eq!(loads(&flight), [(Load::Fault, release), (Load::Command, sent), (Load::Reply, replied)]);
    assert_eq!(flight.hops[1].way, (0.5, 1.0));
    assert_eq!(flight.hops[2].way, (0.0, 1.0));
}

#[test]
fn a_lost_message_breaks_half_way() {
    let mut story = begun();
    let sent = get(&mut story, 0);
    story.answers(sent, Reply::Lost("connection closed".into()));
    let flight = flown(&story, 1, TEMPO);
    let up = flight.hops[1];
    assert!(up.breaks && up.way == (0.0, 0.5), "{up:?}");

    let mut story = begun();
    story.add(EventKind::Fault(Fault::Hold { link: link(), way: Direction::Both }));
    let sent = get(&mut story, 0);
    let from = story.len();
    story.add(EventKind::Fault(Fault::Drop { link: link() }));
    story.answers(sent, Reply::Lost("connection closed".into()));
    let flight = flown(&story, from, TEMPO);
    let up = flight.hops[1];
    assert!(up.breaks && up.way == (0.5, 0.5), "where it was held: {up:?}");
}

#[test]
fn a_promotion_goes_from_the_old_master_to_the_new_one() {
    let mut story = begun();
    story.add(role("master", Role::Master));
    story.add(role("replica1", Role::Replica { of: "master".into() }));
    let from = story.len();
    story.add(EventKind::Fault(Fault::KillServer { server: "master".into() }));
    let promoted = story.add(role("replica1", Role::Master));
    story.add(role("replica1", Role::Master));
    let flight = flown(&story, from, TEMPO);
    assert_eq!(loads(&flight)[1..], [(Load::Promotion, promoted)]);
    assert_eq!(super::predecessor(&story, promoted, "replica1"), Some("master"));
    assert_eq!(flight.position(flight.hops[1].time.1.saturating_sub(MESSAGE)), promoted);
}

#[test]
fn a_wait_passes_time_before_what_ends_it() {
    let mut story = begun();
    story.pass(Duration::from_secs(3));
    let waited = story.add(waited(0));
    get(&mut story, 0);
    let flight = flown(&story, 1, TEMPO);
    let half = flight.display(Duration::from_millis(300));
    assert_eq!(half.as_millis(), 1500);
    assert_eq!(flight.position(Duration::from_millis(599)), waited);
    assert_eq!(flight.hops[0].time.0, Duration::from_millis(600));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Sent(u32),
    Replied,
    Lost,
    Notified(u32),
    Hold,
    Release,
    Wait(u64),
    Stop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..42u32).prop_map(Step::Sent),
        6 => Just(Step::Replied),
        1 => Just(Step::Lost),
        3 => (0..42u32).prop_map(Step::Notified),
        1 => Just(Step::Hold),
        1 => Just(Step::Release),
        2 => (1..40_000u64).prop_map(Step::Wait),
        1 => Just(Step::Stop),
    ]
}

fn log_of(steps: &[Step]) -> Log {
    let mut story = begun();
    let mut open: Vec<(usize, u32)> = Vec::new();
    for step in steps {
        match *step {
            Step::Sent(actor) if open.iter().all(|(_, busy)| *busy != actor) => {
                open.push((get(&mut story, actor), actor));
            }
            Step::Replied | Step::Lost if !open.is_empty() => {
                let (sent, _) = open.remove(0);
                match step {
                    Step::Lost => story.answers(sent, Reply::Lost("cut".into())),
                    _ => story.replies(sent, 1),
                };
            }
            Step::Notified(actor) => drop(notify(&mut story, actor)),
            Step::Hold => {
                story.add(EventKind::Fault(Fault::Hold { link: link(), way: Direction::Both }));
            }
            Step::Release => drop(story.add(EventKind::Fault(Fault::Release { link: link() }))),
            Step::Wait(millis) => {
                story.pass(Duration::from_millis(millis));
            }
            Step::Stop => drop(story.stop()),
            _ => {}
        }
    }
    story.finish()
}

proptest! {
    #[test]
    fn hops_cover_what_crossed_the_wire_in_order(steps in prop::collection::vec(step(), 0..120), from in 0.0..1.0f64) {
        let log = log_of(&steps);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share of a small number")]
        let from = 1 + ((log.len() - 1) as f64 * from) as usize;
        let flight = flown(&log, from, TEMPO);
        let crossed = |n: &usize| matches!(
            log.events()[*n].kind,
            EventKind::Sent { .. } | EventKind::Replied { .. } | EventKind::Notified { .. } | EventKind::Fault(_)
        );
        let expected: Vec<usize> = (from..log.len()).filter(crossed).collect();
        let released = |hop: &&Hop| hop.load != Load::Command || hop.way.0 == 0.0;
        let events: Vec<usize> = flight.hops.iter().filter(released).map(|hop| hop.event).collect();
        prop_assert_eq!(events, expected);
        let mut before = Duration::ZERO;
        for hop in &flight.hops {
            prop_assert!(hop.time.0 <= hop.time.1 && hop.time.1 <= flight.lasts);
            prop_assert!(hop.swarm || hop.time.0 >= before);
            before = before.max(hop.time.0);
            // A command is known when it departs; replies and notices when they arrive.
            let known = match hop.load {
                Load::Command | Load::Fault => hop.time.0,
                Load::Reply | Load::Notice | Load::Promotion => hop.time.1,
            };
            prop_assert!(flight.position(known) > hop.event || hop.way.0 > 0.0);
            if matches!(hop.load, Load::Reply | Load::Notice) && !known.is_zero() && hop.way != (0.5, 0.5) {
                prop_assert!(flight.position(known.saturating_sub(Duration::from_nanos(1))) <= hop.event);
            }
        }
    }

    #[test]
    fn position_and_time_never_fall_and_end_where_they_should(steps in prop::collection::vec(step(), 0..120), calm: bool) {
        let log = log_of(&steps);
        let flight = flown(&log, 1, if calm { CALM } else { TEMPO });
        prop_assert!(!calm || flight.hops.is_empty());
        let mut before = (flight.position(Duration::ZERO), flight.begin);
        for at in (0..=60u32).map(|n| flight.lasts * n / 60) {
            let here = (flight.position(at), flight.display(at));
            prop_assert!(here.0 >= before.0 && here.1 >= before.1);
            // No event is shown before its time.
            let last = &log.events()[here.0 - 1];
            prop_assert!(last.at <= here.1);
            before = here;
        }
        prop_assert_eq!(before.0, log.len());
        prop_assert_eq!(before.1, World::fold(&log, log.len()).now.max(flight.begin));
    }

    #[test]
    fn a_flight_is_unchanged_by_later_events(steps in prop::collection::vec(step(), 0..60), more in prop::collection::vec(step(), 0..20)) {
        // A crowd's wave is composed as a whole, so this property holds only for hops that can be followed one by one.
        let few = |steps: &[Step]| -> Vec<Step> {
            steps.iter().copied().filter(|step| !matches!(step, Step::Notified(_) | Step::Sent(2..))).collect()
        };
        let steps = few(&steps);
        let part = log_of(&steps);
        let whole = log_of(&[steps, few(&more)].concat());
        let (before, after) = (flown(&part, 1, TEMPO), flown(&whole, 1, TEMPO));
        prop_assert_eq!(&before.hops[..], &after.hops[..before.hops.len()]);
        prop_assert_eq!(&before.waits[..], &after.waits[..before.waits.len()]);
    }
}
