//! Effects of made-up commands and replies, without any server.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Access, Effect, Effects, command::parse, effects};
use crate::{
    lesson::{Scenario, ScriptKey, script_calls, testing},
    log::{
        Command, Log, Reply,
        testing::{LogBuilder, actor, ready},
    },
};

/// In this variant `owner-check` runs the script `release_if_owner`.
fn scenario() -> Scenario {
    testing::scenario(testing::NEW_LESSON, "owner-check")
}

/// Commands of one client, one after another, each with its reply.
fn exchanges(commands: &[(&str, Reply)]) -> Log {
    let mut log = LogBuilder::new(ready(&["redis", "zookeeper"], [actor("A")]));
    for (wire, reply) in commands {
        let sent = log.sends(0, "move", wire);
        log.answers(sent, reply.clone());
    }
    log.finish()
}

fn accesses(commands: &[(&str, Reply)]) -> Vec<(String, Access)> {
    let found = effects(&scenario(), exchanges(commands).events());
    found.into_iter().map(|Effect { key, access, .. }| (key, access)).collect()
}

fn answered(value: Value) -> Reply {
    Reply::Value(value)
}

#[test]
fn a_reply_says_whether_it_was_done() {
    let cases: [(&str, Value, Option<Access>); 27] = [
        ("GET lock", Value::Null, Some(Access::Read)),
        ("SET lock A NX PX 3000", json!("OK"), Some(Access::Set)),
        ("SET lock A NX PX 3000", Value::Null, None),
        ("SETNX lock A", json!(1), Some(Access::Set)),
        ("SETNX lock A", json!(0), None),
        ("DECR lock", json!(0), Some(Access::Changed)),
        ("PEXPIRE lock 3000", json!(1), Some(Access::Expiry)),
        ("PEXPIRE lock 3000", json!(0), None),
        ("GETEX lock PX 3000", json!("0"), Some(Access::Expiry)),
        ("GETEX lock PX 3000", json!(null), None),
        ("GETEX lock", json!("A-1"), Some(Access::Read)),
        ("GETDEL lock", json!(null), None),
        ("SET lock A NX GET PX 3000", json!("B-1"), None),
        ("SET lock A nx get", Value::Null, Some(Access::Set)),
        ("SET lock A XX GET", Value::Null, None),
        ("SET lock A XX GET", json!("B-1"), Some(Access::Set)),
        ("SET lock A GET", Value::Null, Some(Access::Set)),
        ("GETSET lock A", json!("0"), Some(Access::Set)),
        ("DEL lock", json!(1), Some(Access::Deleted)),
        ("DEL lock", json!(0), None),
        ("DEL lock other", json!(1), None),
        ("PEXPIRE lock 0", json!(1), Some(Access::Deleted)),
        ("EXPIRE lock -1", json!(0), None),
        ("EXPIREAT lock 0", json!(1), Some(Access::Deleted)),
        ("PING", json!("PONG"), None),
        ("EVAL unknown 1 lock", json!(1), None),
        ("", Value::Null, None),
    ];
    for (wire, reply, access) in cases {
        let known = accesses(&[(wire, answered(reply.clone()))]);
        let wanted: Vec<_> = access.into_iter().map(|access| ("lock".to_owned(), access)).collect();
        assert_eq!(known, wanted, "{wire} answered {reply}");
    }
    let renames = |reply| accesses(&[("RENAMENX lock other", answered(reply))]);
    let moved = [("lock".to_owned(), Access::Deleted), ("other".to_owned(), Access::Set)];
    assert_eq!((renames(json!(1)), renames(json!(0))), (moved.to_vec(), vec![]));
    let lost = [("DEL lock", Reply::Lost("cut".to_owned()))];
    assert_eq!(accesses(&lost), [], "nobody knows");
}

#[test]
fn a_script_that_says_how_long_to_wait_has_refused() {
    let calls = script_calls("return redis.call('PTTL', KEYS[1]) redis.call('HINCRBY', KEYS[1], ARGV[1], 1)");
    let scripts = BTreeMap::from([("take".to_owned(), calls)]);
    let take = Command::Script { name: "take".to_owned(), keys: vec!["lock".to_owned()], args: Vec::new() };
    let (reply_kind, acts) = parse(&take, &scripts);
    let changed = |reply| {
        let reply = answered(reply);
        acts.iter().any(|act| act.access == Access::Changed && act.done(reply_kind, &reply))
    };
    assert!(changed(Value::Null) && !changed(json!(2000)));
}

#[test]
fn a_script_does_what_its_calls_do() {
    let wire = "EVAL release_if_owner 1 lock A-3f0e";
    let lock = |access| ("lock".to_owned(), access);
    assert_eq!(accesses(&[(wire, answered(json!(1)))]), [lock(Access::Read), lock(Access::Deleted)]);
    assert_eq!(accesses(&[(wire, answered(json!(0)))]), [lock(Access::Read)], "not its own");
    assert_eq!(
        script_calls("local n = redis.call('GET', KEYS[1]) return redis.pcall( \"decr\" , KEYS[ 2 ])"),
        [("GET".to_owned(), ScriptKey::Place(0)), ("DECR".to_owned(), ScriptKey::Place(1))]
    );
}

#[test]
fn a_scripts_key_may_have_a_name_of_its_own() {
    let source = "local lock, count = KEYS[1], 'count';\nredis.call('DEL', lock) redis.call('INCR', count) \
                  redis.call('GET', \"file\") redis.call('SET', KEYS[1] .. ':x', 1) redis.call('DEL', other) redis.call('TIME')";
    let named = |name: &str| ScriptKey::Named(name.to_owned());
    let keys: Vec<ScriptKey> = script_calls(source).into_iter().map(|(_, key)| key).collect();
    let derived = ScriptKey::Derived;
    assert_eq!(keys, [ScriptKey::Place(0), named("count"), named("file"), derived.clone(), derived]);
    let scripts = BTreeMap::from([("it".to_owned(), script_calls(source))]);
    let it = Command::Script { name: "it".to_owned(), keys: vec!["lock".to_owned()], args: Vec::new() };
    let (_, acts) = parse(&it, &scripts);
    let touched: Vec<&str> = acts.iter().map(|act| act.key.as_str()).collect();
    assert_eq!(touched, ["lock", "count", "file"]);
}

#[test]
fn nothing_is_done_by_a_script_that_answers_0_unless_it_counts_down() {
    let done = |source: &str| {
        let scripts = BTreeMap::from([("it".to_owned(), script_calls(source))]);
        let it = Command::Script { name: "it".to_owned(), keys: vec!["lock".to_owned()], args: Vec::new() };
        let (reply_kind, acts) = parse(&it, &scripts);
        acts.iter().any(|act| act.done(reply_kind, &answered(json!(0))))
    };
    assert!(!done(
        "if redis.call('SET', KEYS[1], ARGV[1], 'NX') then return redis.call('INCR', KEYS[1]) end return 0"
    ));
    assert!(done("return redis.call('DECR', KEYS[1])"));
}

#[test]
fn a_transaction_is_done_when_it_is_carried_out() {
    let queued = || answered(json!("QUEUED"));
    let begun =
        [("MULTI", answered(json!("OK"))), ("SETNX lock B", queued()), ("PEXPIRE lock 60000", queued())];
    assert_eq!(accesses(&begun), []);
    let done = [&begun[..], &[("EXEC", answered(json!([0, 1])))]].concat();
    assert_eq!(accesses(&done), [("lock".to_owned(), Access::Expiry)]);
    let given_up =
        [&begun[..], &[("DISCARD", answered(json!("OK"))), ("EXEC", answered(json!([])))]].concat();
    assert_eq!(accesses(&given_up), []);
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
        accesses(&commands),
        [(own(), Access::Set), ("/lock".to_owned(), Access::Read), (own(), Access::Deleted)]
    );
}

#[test]
fn who_asked_for_a_value_is_known_before_the_reply() {
    let log =
        exchanges(&[("SETNX lock A-1", answered(json!(1))), ("SET lock B-2 NX", answered(Value::Null))]);
    let attempts = |count: usize| {
        let mut effects = Effects::new(&scenario());
        for (n, event) in log.events().iter().take(count).enumerate() {
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
        let _ = parse(&Command::Redis(words.clone()), &BTreeMap::new());
        let _ = script_calls(&words.join("redis.call('"));
    }
}
