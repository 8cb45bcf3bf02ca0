//! Effects of made-up commands and replies, without any server.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Access, Effect, Effects, command::parse, effects};
use crate::{
    clock::{ClockKind, LessonTime},
    lesson::{Params, Scenario, library::from_text, script_calls},
    log::{ActorId, Command, Dialect, Event, EventKind, OpId, Reply, ServerInfo},
};

/// `owner-check` runs the script `release_if_owner`.
fn scenario() -> Scenario {
    let loaded =
        from_text("lesson.yaml", include_str!("../../../assets/new-lesson.yaml")).expect("it is good");
    Scenario::plan(&loaded, "owner-check", &Params::new()).expect("it is good")
}

fn event(kind: EventKind) -> Event {
    let at = LessonTime::ZERO;
    Event { at, kind }
}

/// Commands of one client, one after another, each with its reply.
fn exchanges(product: &str, commands: &[(&str, Reply)]) -> Vec<Event> {
    let server = ServerInfo {
        name: "server".to_owned(),
        product: product.to_owned(),
        version: String::new(),
        address: String::new(),
        password: None,
    };
    let mut events = vec![event(EventKind::LabReady {
        lesson: String::new(),
        variant: String::new(),
        clock: ClockKind::Controlled,
        servers: vec![server],
        actors: Vec::new(),
    })];
    let dialect = if product == "ZooKeeper" { Dialect::Zookeeper } else { Dialect::Redis };
    for (op, (wire, reply)) in (0..).map(OpId).zip(commands) {
        let (actor, label) = (ActorId(0), "move".to_owned());
        events.push(event(EventKind::Sent {
            op,
            actor,
            label: label.clone(),
            server: "server".to_owned(),
            command: Command::from_text(wire, dialect),
            releases: Vec::new(),
        }));
        let reply = reply.clone();
        events.push(event(EventKind::Replied { op, actor, label, reply }));
    }
    events
}

fn accesses(product: &str, commands: &[(&str, Reply)]) -> Vec<(String, Access)> {
    let found = effects(&scenario(), &exchanges(product, commands));
    found.into_iter().map(|Effect { key, access, .. }| (key, access)).collect()
}

fn answered(value: Value) -> Reply {
    Reply::Value(value)
}

#[test]
fn a_reply_says_whether_it_was_done() {
    let cases: [(&str, Value, Option<Access>); 14] = [
        ("GET lock", Value::Null, Some(Access::Read)),
        ("SET lock A NX PX 3000", json!("OK"), Some(Access::Set)),
        ("SET lock A NX PX 3000", Value::Null, None),
        ("SETNX lock A", json!(1), Some(Access::Set)),
        ("SETNX lock A", json!(0), None),
        ("DECR lock", json!(0), Some(Access::Changed)),
        ("PEXPIRE lock 3000", json!(1), Some(Access::Expiry)),
        ("PEXPIRE lock 3000", json!(0), None),
        ("DEL lock", json!(1), Some(Access::Deleted)),
        ("DEL lock", json!(0), None),
        ("DEL lock other", json!(1), None),
        ("PING", json!("PONG"), None),
        ("EVAL unknown 1 lock", json!(1), None),
        ("", Value::Null, None),
    ];
    for (wire, reply, access) in cases {
        let known = accesses("Redis", &[(wire, answered(reply.clone()))]);
        let wanted: Vec<_> = access.into_iter().map(|access| ("lock".to_owned(), access)).collect();
        assert_eq!(known, wanted, "{wire} answered {reply}");
    }
    let lost = [("DEL lock", Reply::Lost("cut".to_owned()))];
    assert_eq!(accesses("Redis", &lost), [], "nobody knows");
}

#[test]
fn a_script_does_what_its_calls_do() {
    let wire = "EVAL release_if_owner 1 lock A-3f0e";
    let lock = |access| ("lock".to_owned(), access);
    assert_eq!(accesses("Redis", &[(wire, answered(json!(1)))]), [lock(Access::Read), lock(Access::Deleted)]);
    assert_eq!(accesses("Redis", &[(wire, answered(json!(0)))]), [lock(Access::Read)], "not its own");
    assert_eq!(
        script_calls("local n = redis.call('GET', KEYS[1]) return redis.pcall( \"decr\" , KEYS[ 2 ])"),
        [("GET".to_owned(), 0), ("DECR".to_owned(), 1)]
    );
}

#[test]
fn a_transaction_is_done_when_it_is_carried_out() {
    let queued = || answered(json!("QUEUED"));
    let begun =
        [("MULTI", answered(json!("OK"))), ("SETNX lock B", queued()), ("PEXPIRE lock 60000", queued())];
    assert_eq!(accesses("Redis", &begun), []);
    let done = [&begun[..], &[("EXEC", answered(json!([0, 1])))]].concat();
    assert_eq!(accesses("Redis", &done), [("lock".to_owned(), Access::Expiry)]);
    let given_up =
        [&begun[..], &[("DISCARD", answered(json!("OK"))), ("EXEC", answered(json!([])))]].concat();
    assert_eq!(accesses("Redis", &given_up), []);
}

#[test]
fn a_sequential_znode_has_the_name_that_the_server_gave_it() {
    let commands = [
        ("create -e -s /locks/n- A", answered(json!("/locks/n-0000000000"))),
        ("exists -w /lock", answered(Value::Null)),
        ("create -e /lock B", Reply::Error { code: "NodeExists".to_owned(), text: String::new() }),
        ("delete /locks/n-0000000000", answered(json!("OK"))),
    ];
    let own = || "/locks/n-0000000000".to_owned();
    assert_eq!(
        accesses("ZooKeeper", &commands),
        [(own(), Access::Set), ("/lock".to_owned(), Access::Read), (own(), Access::Deleted)]
    );
}

#[test]
fn who_asked_for_a_value_is_known_before_the_reply() {
    let events = exchanges(
        "Redis",
        &[("SETNX lock A-1", answered(json!(1))), ("SET lock B-2 NX", answered(Value::Null))],
    );
    let attempts = |count: usize| {
        let mut effects = Effects::new(&scenario());
        for (n, event) in events.iter().take(count).enumerate() {
            effects.take(n, event);
        }
        let each = effects.attempts().iter();
        each.map(|known| (known.value.clone(), known.refused)).collect::<Vec<_>>()
    };
    assert_eq!(attempts(2), [("A-1".to_owned(), false)]);
    assert_eq!(attempts(4), [("A-1".to_owned(), false), ("B-2".to_owned(), false)]);
    assert_eq!(attempts(5), [("A-1".to_owned(), false), ("B-2".to_owned(), true)]);
}

proptest! {
    #[test]
    fn no_words_make_it_panic(words in proptest::collection::vec("[A-Za-z0-9/*-]{0,6}", 0..5)) {
        let _ = parse(&Command::Redis(words.clone()), &std::collections::BTreeMap::new());
        let _ = script_calls(&words.join("redis.call('"));
    }
}
