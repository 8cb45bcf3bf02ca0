use serde_json::json;

use super::{Actors, Cause, Notification, Output, State, actor_id};
use crate::{
    client::protocol::Wire,
    clock::LessonTime,
    lesson::{Params, Scenario, library::from_text},
    log::{Belief, Command, EventKind, Reply},
    text::Text,
};

/// A lesson whose two clients run this program.
pub(super) fn lesson(program: &str) -> String {
    format!(
        "
format: 1
id: stepped
track: redis
title: {{ en: Stepped, zh: 试 }}
summary: {{ en: Stepped, zh: 试 }}
intro: {{ en: Stepped, zh: 试 }}
minutes: 1
lab: redis
clients:
  A: {{ runs: p }}
  B: {{ runs: p }}
programs:
  p:
{program}
variants:
  only:
    title: {{ en: Only, zh: 唯一 }}
    expect: shown
    lesson: {{ en: Tried, zh: 试 }}
    claims:
      - that: value('lock') == none
story:
  - finish: A
"
    )
}

fn actors(program: &str) -> Actors {
    let loaded = from_text("stepped.yaml", &lesson(program)).expect("a lesson");
    Actors::new(&Scenario::plan(&loaded, "only", &Params::new()).expect("a plan"), 0)
}

fn at(millis: i64) -> Output {
    Output::at(LessonTime::from_millis(millis))
}

const RETRY: &str = "
    - acquire: { redis: 'SET lock ${self} NX', until: reply == 'OK', every: 200ms }
    - holds: lock
    - work: 1s
    - release: { redis: DEL lock }";

#[test]
fn replies_and_time_carry_an_actor_through_its_program() {
    let mut actors = actors(RETRY);
    let a = actor_id(0);
    actors.start(&mut at(0)).expect("started");
    let sent = actors[a].send("redis", &mut at(0)).expect("filled in").expect("a command");
    let words = ["SET", "lock", "A", "NX"].map(str::to_owned).to_vec();
    let command = Command::Redis(words);
    assert_eq!(sent, Wire { server: "redis".to_owned(), command, script: None });
    assert!(matches!(actors[a].state(), State::InFlight { .. }));

    let mut refused = at(10);
    actors[a].reply(&Reply::Value(json!(null)), &mut refused).expect("tried again");
    let (label, until) = ("acquire".to_owned(), LessonTime::from_millis(210));
    assert_eq!(refused.events, [EventKind::Waits { actor: a, label: label.clone(), until }]);
    assert_eq!(actors.next_timer(|_| true), Some((a, until)));
    assert_eq!(actors.next_timer(|actor| actor != a), None, "whoever stands still has no timer");

    let mut woken = at(210);
    actors.wake_until(until, |_| true, &mut woken).expect("woken");
    assert_eq!(woken.events, [EventKind::Waited { actor: a, label, in_vain: false }]);
    assert_eq!(actors.ready(|_| true).collect::<Vec<_>>(), [a, actor_id(1)]);

    actors[a].send("redis", &mut at(210)).expect("filled in");
    let mut granted = at(220);
    actors[a].reply(&Reply::Value(json!("OK")), &mut granted).expect("handled");
    let belief = Belief::Holding;
    let holds = EventKind::Believes { actor: a, lock: "lock".to_owned(), belief };
    assert_eq!(granted.events[0], holds);
    assert_eq!(actors[a].waits_until(), Some(LessonTime::from_millis(1220)));

    actors.wake_until(LessonTime::from_millis(1220), |_| true, &mut at(1220)).expect("woken");
    actors[a].send("redis", &mut at(1220)).expect("filled in");
    let mut released = at(1230);
    actors[a].reply(&Reply::Value(json!(1)), &mut released).expect("handled");
    assert_eq!(released.events.last(), Some(&EventKind::Finished { actor: a }));
    assert_eq!(actors.unfinished(), 1);
}

#[test]
fn clones_of_actors_are_independent() {
    let mut actors = actors(RETRY);
    let a = actor_id(0);
    actors.start(&mut at(0)).expect("started");
    let before = actors.clone();
    actors[a].send("redis", &mut at(0)).expect("filled in");
    assert!(before[a].is_ready() && !actors[a].is_ready());
}

#[test]
fn unhandled_errors_differ_from_failed_statements() {
    let mut actors = actors(
        "
    - ask: { redis: GET lock }
    - if: 1 // (ask|int)
      then:
        - count: asked
    - last: { redis: GET lock }",
    );
    let (a, b) = (actor_id(0), actor_id(1));
    actors.start(&mut at(0)).expect("started");
    actors[a].send("redis", &mut at(0)).expect("filled in");
    let refused = Reply::Error { code: "ERR".to_owned(), text: "no".to_owned() };
    let failure = actors[a].reply(&refused, &mut at(1)).expect_err("not allowed");
    assert_eq!((failure.actor, failure.cause), (a, Cause::Reply));
    let mut output = at(1);
    actors[a].give_up(failure.why, &mut output);
    let zh = "`ask` 的回复是错误 ERR no";
    let why = Text::new("`ask` was answered with the error ERR no", zh);
    assert_eq!(output.events, [EventKind::GaveUp { actor: a, why }]);
    assert!(actors[a].is_over());

    actors[b].send("redis", &mut at(1)).expect("filled in");
    let failure = actors[b].reply(&Reply::Value(json!("0")), &mut at(2)).expect_err("divided by zero");
    assert_eq!((failure.actor, failure.cause), (b, Cause::Statement));
}

const TAKE: &str = "
    - left: { redis: PTTL lock }
    - wake: { take: { from: [ch, session], within: '${left}' } }
    - if: wake is none
      then: [count: late]
    - any: { take: any }";

fn notification(about: &str) -> Notification {
    Notification { server: "redis".into(), about: about.into(), what: "free".into() }
}

#[test]
fn a_take_waits_no_longer_than_within() {
    let waiting = |left: i64| {
        let (mut actors, a) = (actors(TAKE), actor_id(0));
        actors.start(&mut at(0)).expect("started");
        actors[a].send("redis", &mut at(0)).expect("sent");
        actors[a].reply(&Reply::Value(json!(left)), &mut at(1)).expect("replied");
        actors[a].send("redis", &mut at(1)).expect("it waits");
        actors
    };
    let a = actor_id(0);
    let mut actors = waiting(100);
    assert_eq!(actors[a].waits_until(), Some(LessonTime::from_millis(101)));
    actors[a].notify(notification("other"), &mut at(50)).expect("kept");
    let mut woken = at(101);
    actors[a].wake(&mut woken).expect("woken");
    assert!(matches!(
        &woken.events[..],
        [EventKind::Waited { in_vain: true, .. }, EventKind::Counted { .. }]
    ));
    // `take: any` takes the notification that was kept, and not the one about the client's own session.
    actors[a].notify(notification("session"), &mut at(102)).expect("kept");
    let mut taken = at(103);
    actors[a].send("redis", &mut taken).expect("taken");
    assert!(matches!(&taken.events[0], EventKind::Took { about, .. } if about == "other"));

    let mut actors = waiting(-1);
    assert_eq!(actors[a].waits_until(), None, "a key without expiry");
    let mut taken = at(9000);
    actors[a].notify(notification("ch"), &mut taken).expect("taken");
    let kinds: Vec<_> = taken.events.iter().map(|kind| kind.answers().is_some()).collect();
    assert_eq!(kinds, [false, true], "told, and taken: {:?}", taken.events);
}
