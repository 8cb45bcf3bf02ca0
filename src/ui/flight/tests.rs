use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::{Flight, Hop, LONGEST, Load, MESSAGE, Tempo};
use crate::{
    log::{
        EventKind, Fault, Keyspace, LinkId, Log, Observed, Reply, Role, ServerState, Stop, Way,
        testing::{self, LogBuilder, actor, crowd, ready, waited},
    },
    world::World,
};

const TEMPO: Tempo = Tempo { wait: Duration::from_millis(600), longest: LONGEST, messages: true };
const CALM: Tempo = Tempo { messages: false, ..TEMPO };

/// A log that begins with two clients and a crowd of forty.
struct Story {
    log: LogBuilder,
}

impl Story {
    fn new() -> Self {
        let actors = ["A", "B"].map(actor).into_iter().chain(crowd(40));
        Self { log: LogBuilder::new(ready(&[], actors)).ticking(Duration::from_micros(1)) }
    }

    fn add(&mut self, kind: EventKind) -> usize {
        self.log.add(kind)
    }

    fn sent(&mut self, op: u64, actor: u32) -> usize {
        self.sent_to(op, actor, "redis")
    }

    fn sent_to(&mut self, op: u64, actor: u32, server: &str) -> usize {
        self.add(testing::sent(op, actor, server, "get", "GET stock"))
    }

    fn replied(&mut self, op: u64, actor: u32) -> usize {
        self.answered(op, actor, Reply::Value(json!("1")))
    }

    fn answered(&mut self, op: u64, actor: u32, reply: Reply) -> usize {
        self.add(testing::replied(op, actor, "get", reply))
    }

    fn notified(&mut self, actor: u32) -> usize {
        self.add(testing::notified(actor, "/lock", "NodeDeleted"))
    }

    fn stop(&mut self) -> usize {
        self.add(EventKind::Stop { item: 0, stop: Stop::Move })
    }

    fn fault(&mut self, fault: Fault) -> usize {
        self.add(EventKind::Fault(fault))
    }

    fn role(&mut self, server: &str, role: Role) -> usize {
        let space = Keyspace { role: Some(role), ..Keyspace::default() };
        self.add(EventKind::State(ServerState { server: server.into(), observed: Observed::Redis(space) }))
    }

    fn flight(&self, from: usize) -> Flight {
        flight(&self.log, from, self.log.len(), TEMPO)
    }
}

fn link() -> LinkId {
    LinkId::new("A", "redis")
}

fn flight(log: &Log, from: usize, to: usize, tempo: Tempo) -> Flight {
    let base = World::fold(log, from);
    let begin = base.now;
    Flight::between(log, &base, to, begin, tempo)
}

fn loads(flight: &Flight) -> Vec<(Load, usize)> {
    flight.hops.iter().map(|hop| (hop.load, hop.event)).collect()
}

#[test]
fn a_command_goes_down_and_its_reply_comes_up_and_is_known_when_it_arrives() {
    let mut story = Story::new();
    let sent = story.sent(1, 0);
    let replied = story.replied(1, 0);
    story.stop();
    let flight = story.flight(1);
    assert_eq!(loads(&flight), [(Load::Command, sent), (Load::Reply, replied)]);
    let [down, up] = flight.hops[..] else { panic!("two hops") };
    assert_eq!((down.time, up.time), ((Duration::ZERO, MESSAGE), (MESSAGE, 2 * MESSAGE)));
    assert_eq!(up.at, sent, "back where the command came from");
    assert_eq!(flight.lasts, 2 * MESSAGE);
    assert_eq!(flight.position(Duration::ZERO), sent + 1);
    assert_eq!(flight.position((2 * MESSAGE).saturating_sub(Duration::from_nanos(1))), sent + 1);
    assert_eq!(flight.position(2 * MESSAGE), story.log.len());
}

#[test]
fn what_is_sent_together_travels_together() {
    let mut story = Story::new();
    for n in 0..2 {
        story.sent(n, u32::try_from(n).expect("small"));
    }
    for n in 0..2 {
        story.replied(n, u32::try_from(n).expect("small"));
    }
    let flight = story.flight(1);
    let times: Vec<_> = flight.hops.iter().map(|hop| hop.time.0).collect();
    assert_eq!(times, [Duration::ZERO, Duration::ZERO, MESSAGE, MESSAGE]);
}

#[test]
fn a_lock_within_a_process_crosses_no_wire() {
    let mut story = Story::new();
    story.sent_to(1, 0, "local");
    story.replied(1, 0);
    story.stop();
    let flight = story.flight(1);
    assert!(flight.hops.is_empty() && flight.lasts.is_zero());
}

#[test]
fn hundreds_of_notifications_are_one_wave_that_arrives_bit_by_bit() {
    let mut story = Story::new();
    let first = story.notified(2);
    for member in 3..42 {
        story.notified(member);
    }
    story.stop();
    let flight = story.flight(1);
    assert!(flight.hops.iter().all(|hop| hop.time.0.is_zero() && hop.beat == 1));
    assert!(flight.lasts <= 2 * MESSAGE);
    let at = flight.lasts.mul_f64(0.7);
    assert!((first + 10..first + 30).contains(&flight.position(at)), "{}", flight.position(at));
}

#[test]
fn a_crowd_that_asks_one_after_another_is_a_swarm() {
    let mut story = Story::new();
    for member in 2..42 {
        story.sent(u64::from(member), member);
        story.replied(u64::from(member), member);
    }
    story.stop();
    let flight = story.flight(1);
    assert!(flight.hops.iter().all(|hop| hop.swarm));
    assert_eq!(flight.lasts, 2 * MESSAGE);
    // At every moment before its end it is known to be one.
    for n in 2..100 {
        assert!(!flight.beat(flight.lasts * n / 100).is_empty(), "{n}");
    }
}

#[test]
fn a_held_command_stops_half_way_until_it_is_released() {
    let mut story = Story::new();
    story.fault(Fault::Hold { link: link(), way: Way::Both });
    let from = story.log.len();
    let sent = story.sent(1, 0);
    story.stop();
    let ways = |flight: &Flight| -> Vec<(Load, (f32, f32))> {
        flight.hops.iter().map(|hop| (hop.load, hop.way)).collect()
    };
    assert_eq!(ways(&story.flight(from)), [(Load::Command, (0.0, 0.5))]);
    let from = story.log.len();
    let release = story.fault(Fault::Release { link: link() });
    let replied = story.replied(1, 0);
    let flight = story.flight(from);
    assert_eq!(loads(&flight), [(Load::Fault, release), (Load::Command, sent), (Load::Reply, replied)]);
    assert_eq!(flight.hops[1].way, (0.5, 1.0));
    assert_eq!(flight.hops[2].way, (0.0, 1.0));
}

#[test]
fn what_is_lost_breaks_half_way() {
    let mut story = Story::new();
    story.sent(1, 0);
    story.answered(1, 0, Reply::Lost("connection closed".into()));
    let flight = story.flight(1);
    let up = flight.hops[1];
    assert!(up.breaks && up.way == (0.0, 0.5), "{up:?}");

    let mut story = Story::new();
    story.fault(Fault::Hold { link: link(), way: Way::Both });
    story.sent(1, 0);
    let from = story.log.len();
    story.fault(Fault::Drop { link: link() });
    story.answered(1, 0, Reply::Lost("connection closed".into()));
    let flight = story.flight(from);
    let up = flight.hops[1];
    assert!(up.breaks && up.way == (0.5, 0.5), "where it was held: {up:?}");
}

#[test]
fn a_promotion_goes_from_the_old_master_to_the_new_one() {
    let mut story = Story::new();
    story.role("master", Role::Master);
    story.role("replica1", Role::Replica { of: "master".into() });
    let from = story.log.len();
    story.fault(Fault::KillServer { server: "master".into() });
    let promoted = story.role("replica1", Role::Master);
    story.role("replica1", Role::Master);
    let flight = story.flight(from);
    assert_eq!(loads(&flight)[1..], [(Load::Promotion, promoted)]);
    assert_eq!(super::predecessor(&story.log, promoted, "replica1"), Some("master"));
    assert_eq!(flight.position(flight.hops[1].time.1.saturating_sub(MESSAGE)), promoted);
}

#[test]
fn a_wait_passes_time_before_what_ends_it() {
    let mut story = Story::new();
    story.log.pass(Duration::from_secs(3));
    let waited = story.add(waited(0));
    story.sent(1, 0);
    let flight = story.flight(1);
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
    let mut story = Story::new();
    let mut open: Vec<(u64, u32)> = Vec::new();
    for (n, step) in (1..).zip(steps) {
        match *step {
            Step::Sent(actor) if open.iter().all(|(_, busy)| *busy != actor) => {
                story.sent(n, actor);
                open.push((n, actor));
            }
            Step::Replied | Step::Lost if !open.is_empty() => {
                let (op, actor) = open.remove(0);
                let reply = match step {
                    Step::Lost => Reply::Lost("cut".into()),
                    _ => Reply::Value(json!(1)),
                };
                story.answered(op, actor, reply);
            }
            Step::Notified(actor) => drop(story.notified(actor)),
            Step::Hold => drop(story.fault(Fault::Hold { link: link(), way: Way::Both })),
            Step::Release => drop(story.fault(Fault::Release { link: link() })),
            Step::Wait(millis) => {
                story.log.pass(Duration::from_millis(millis));
            }
            Step::Stop => drop(story.stop()),
            _ => {}
        }
    }
    story.log.finish()
}

proptest! {
    #[test]
    fn hops_cover_what_crossed_the_wire_in_order(steps in prop::collection::vec(step(), 0..120), from in 0.0..1.0f64) {
        let log = log_of(&steps);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share of a small number")]
        let from = 1 + ((log.len() - 1) as f64 * from) as usize;
        let flight = flight(&log, from, log.len(), TEMPO);
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
            // A command is known when it sets out, and whatever comes to a client when it has arrived.
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
        let flight = flight(&log, 1, log.len(), if calm { CALM } else { TEMPO });
        prop_assert!(!calm || flight.hops.is_empty());
        let mut before = (flight.position(Duration::ZERO), flight.begin);
        for at in (0..=60u32).map(|n| flight.lasts * n / 60) {
            let here = (flight.position(at), flight.display(at));
            prop_assert!(here.0 >= before.0 && here.1 >= before.1);
            // Nothing is shown to have happened before its time.
            let last = &log.events()[here.0 - 1];
            prop_assert!(last.at <= here.1);
            before = here;
        }
        prop_assert_eq!(before.0, log.len());
        prop_assert_eq!(before.1, World::fold(&log, log.len()).now.max(flight.begin));
    }

    #[test]
    fn what_was_seen_stays_when_more_happens(steps in prop::collection::vec(step(), 0..60), more in prop::collection::vec(step(), 0..20)) {
        // A crowd's wave is composed as a whole, so this is about what can be followed one by one.
        let few = |steps: &[Step]| -> Vec<Step> {
            steps.iter().copied().filter(|step| !matches!(step, Step::Notified(_) | Step::Sent(2..))).collect()
        };
        let steps = few(&steps);
        let part = log_of(&steps);
        let whole = log_of(&[steps, few(&more)].concat());
        let (before, after) = (flight(&part, 1, part.len(), TEMPO), flight(&whole, 1, whole.len(), TEMPO));
        prop_assert_eq!(&before.hops[..], &after.hops[..before.hops.len()]);
        prop_assert_eq!(&before.waits[..], &after.waits[..before.waits.len()]);
    }
}
