//! Explanations of made-up logs: what no carried story shows, what cannot be explained, and every order of a small
//! model.

use proptest::prelude::*;
use serde_json::Value;

use super::{Cause, Why, explain, in_vain};
use crate::{
    clock::LessonTime,
    lesson::{Scenario, kata::CAUSES, testing},
    log::{
        ActorId, Belief, Choice, Direction, EventKind, Fault, KeyState, KeyValue, Keyspace, LinkId, Observed,
        Reply, ServerState, Znode, ZnodeTree,
        testing::{LogBuilder, counted, holds, notified, waited},
    },
    verdict::{Breach, breaches},
};

/// Takes the lock and counts, or answers 0.
const TAKE: &str =
    "if redis.call('SET', KEYS[1], ARGV[1], 'NX') then return redis.call('INCR', KEYS[2]) end return 0";
const GIVE: &str = "return redis.call('DEL', KEYS[1])";

/// The lesson of `lockstep new` with three clients and two scripts, and `never` as its invariant.
fn scenario(never: &str) -> Scenario {
    let text = "{ en: It is so., zh: 是。 }";
    let (begin, rest) = testing::NEW_LESSON.split_once("invariants:\n").expect("it has some");
    let (_, rest) = rest.split_once("\nvariants:").expect("it has variants");
    let item = format!("  - {{ never: {never}, says: {text}, goal: {text} }}\n");
    let lesson = format!("{begin}invariants:\n{item}\nvariants:{rest}");
    let lesson =
        lesson.replacen("  B: { runs: worker }\n", "  B: { runs: worker }\n  C: { runs: worker }\n", 1);
    let scripts = "    - take: { script: take, keys: [lock, fences], args: [x] }\n    - give: { script: give, keys: [lock] }\n";
    let more = format!("    - drops: lock\n    - count: sold\n{scripts}");
    let lesson = lesson.replacen("    - drops: lock\n", &more, 1);
    let lesson = lesson.replacen(
        "clients:\n",
        &format!("scripts:\n  take: \"{TAKE}\"\n  give: \"{GIVE}\"\nclients:\n"),
        1,
    );
    testing::scenario(&lesson, "blind-del")
}

const OVERLAP: &str = "{ overlap: lock }";

/// A run of that lesson in which time stands still until it is set.
struct Run {
    scenario: Scenario,
    log: LogBuilder,
}

impl Run {
    fn new(never: &str) -> Self {
        let scenario = scenario(never);
        let mut log = testing::log(&scenario);
        log.at(0);
        Self { scenario, log }
    }

    fn why(&self) -> Option<Why> {
        let breaches = breaches(&self.scenario, &self.log).expect("it can be evaluated");
        explain(&self.scenario, &self.log, breaches.first().expect("it is broken"))
    }

    fn places(&self) -> Option<(Cause, usize, usize, usize)> {
        self.why().map(|why| (why.kind, why.first, why.between, why.second))
    }

    /// Returns the index of its `Sent` event.
    fn moves(&mut self, actor: u32, wire: &str, reply: impl Into<Value>) -> usize {
        self.log.moves(actor, "move", wire, reply)
    }

    fn takes(&mut self, actor: u32, wire: &str) -> usize {
        let sent = self.moves(actor, wire, "OK");
        self.log.believes(actor, Belief::Holding);
        sent
    }

    fn holds(&mut self, key: Option<(&str, i64)>) -> usize {
        self.log.add(holds("redis", key.map(|(value, end)| (value, Some(LessonTime::from_millis(end))))))
    }

    fn fault(&mut self, fault: Fault) -> usize {
        self.log.add(EventKind::Fault(fault))
    }
}

#[test]
fn a_lease_that_no_server_was_seen_to_end_ends_by_what_was_asked_for() {
    let mut run = Run::new(OVERLAP);
    let first = run.takes(0, "SET lock A-1 NX PX 3000");
    run.moves(0, "PEXPIRE lock 5000", 1);
    run.log.at(4000);
    run.moves(1, "SET lock B-2 NX PX 3000", Value::Null);
    run.log.at(5000);
    let passed = run.log.add(waited(1));
    let second = run.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(run.places(), Some((Cause::LeaseEnded, first, passed, second)));
}

#[test]
fn who_cuts_a_lease_short_is_named() {
    let mut long = Run::new(OVERLAP);
    let first = long.takes(0, "SET lock A-1 NX PX 60000");
    let cut = long.moves(2, "PEXPIRE lock 1000", 1);
    long.log.at(1000);
    let second = long.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(long.places(), Some((Cause::LeaseEnded, first, cut, second)));
    let text = long.why().expect("explained").text;
    assert!(text.en.contains("C's PEXPIRE lock had A's key end before its time"), "{}", text.en);
    assert!(text.zh.contains("C 的 PEXPIRE lock 让 A 的键提前过期"), "{}", text.zh);
    // A key that had no lease has one now.
    let mut none = Run::new(OVERLAP);
    let first = none.takes(0, "SET lock A-1 NX");
    let cut = none.moves(2, "PEXPIRE lock 1000", 1);
    none.log.at(1000);
    let second = none.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(none.places(), Some((Cause::LeaseEnded, first, cut, second)));
    // Who makes it longer is not to blame.
    let mut longer = Run::new(OVERLAP);
    let first = longer.takes(0, "SET lock A-1 NX PX 500");
    longer.moves(2, "PEXPIRE lock 1000", 1);
    longer.log.at(1000);
    let passed = longer.log.add(waited(1));
    let second = longer.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(longer.places(), Some((Cause::LeaseEnded, first, passed, second)));
    assert!(longer.why().expect("explained").text.en.contains("A's lease ended"));
}

#[test]
fn who_goes_in_by_an_earlier_look_has_not_seen_the_other() {
    let mut run = Run::new(OVERLAP);
    run.moves(0, "EXISTS lock", 0);
    let look = run.moves(1, "EXISTS lock", 0);
    let between = run.takes(0, "PSETEX lock 3000 A-1");
    let act = run.takes(1, "PSETEX lock 3000 B-2");
    assert_eq!(run.places(), Some((Cause::CheckThenAct, look, between, act)));
    // The key that was read may be another than the one that was set; and the actor that believes first may have read
    // too early.
    let mut run = Run::new(OVERLAP);
    let look = run.moves(0, "ZCARD readers", 0);
    let between = run.moves(1, "ZADD readers 1 B-2", 1);
    run.log.believes(1, Belief::Holding);
    let act = run.takes(0, "SET lock A-1 NX PX 3000");
    assert_eq!(run.places(), Some((Cause::CheckThenAct, look, between, act)));
}

#[test]
fn a_read_whose_reply_the_program_never_looks_at_is_not_relied_on() {
    let why = |label: &str| {
        let mut run = Run::new("sold > 0");
        run.log.moves(0, label, "GET stock", "1");
        run.moves(1, "SET stock B", "OK");
        run.moves(0, "SET stock A", "OK");
        run.log.add(counted(0));
        run.places().map(|(kind, ..)| kind)
    };
    assert_eq!(why("acquire"), Some(Cause::CheckThenAct));
    assert_eq!(why("give"), None, "the program has an operation of this name and never asks for its reply");
}

#[test]
fn what_a_refused_transaction_had_queued_was_not_granted() {
    let mut run = Run::new(OVERLAP);
    let watch = run.moves(1, "WATCH lock", "OK");
    run.moves(1, "MULTI", "OK");
    run.moves(1, "HSET lock B 1", "QUEUED");
    run.moves(0, "MULTI", "OK");
    run.moves(0, "HSET lock A 1", "QUEUED");
    let between = run.moves(0, "EXEC", serde_json::json!([1]));
    run.log.believes(0, Belief::Holding);
    let exec = run.moves(1, "EXEC", Value::Null);
    run.log.believes(1, Belief::Holding);
    assert_eq!(run.places(), Some((Cause::CheckThenAct, watch, between, exec + 1)));
}

#[test]
fn who_goes_in_after_a_refused_transaction_has_not_asked_its_reply() {
    let mut run = Run::new(OVERLAP);
    let watch = run.moves(1, "WATCH lock", "OK");
    run.moves(1, "EXISTS lock", 0);
    let between = run.takes(0, "PSETEX lock 3000 A-1");
    let exec = run.moves(1, "EXEC", Value::Null);
    run.log.believes(1, Belief::Holding);
    assert_eq!(run.places(), Some((Cause::CheckThenAct, watch, between, exec + 1)));
}

#[test]
fn what_a_refused_transaction_would_have_written_is_missing_because_of_who_came_between() {
    let mut run = Run::new("\"sold > 0 and value('lock') == 'A-1'\"");
    run.moves(1, "SET own B-2", "OK");
    let watch = run.moves(1, "WATCH lock", "OK");
    run.moves(1, "GET greatest", Value::Null);
    run.moves(0, "SET greatest 9", "OK");
    let between = run.moves(0, "SET lock A-1 PX 3000", "OK");
    run.holds(Some(("A-1", 3000)));
    let exec = run.moves(1, "EXEC", Value::Null);
    run.moves(1, "DEL own", 1);
    run.log.add(counted(1));
    assert_eq!(run.places(), Some((Cause::CheckThenAct, watch, between, exec + 1)));
}

#[test]
fn whoever_wrote_to_one_key_by_a_look_at_another_has_not_seen_what_was_written_there() {
    let mut run = Run::new("\"sold > 0\"");
    run.moves(0, "GET file", "empty");
    let look = run.moves(0, "GET greatest", Value::Null);
    let between = run.moves(1, "SET greatest 10", "OK");
    run.moves(1, "SET file 10", "OK");
    let act = run.moves(0, "SET file 9", "OK");
    run.log.add(counted(0));
    assert_eq!(run.places(), Some((Cause::CheckThenAct, look, between, act)));
}

#[test]
fn a_lease_set_in_between_is_not_what_made_a_value_stale() {
    let mut run = Run::new("\"sold > 0\"");
    let look = run.moves(0, "EXISTS h", 0);
    let between = run.moves(1, "HINCRBY h B 1", 1);
    run.moves(1, "PEXPIRE h 3000", 1);
    let act = run.moves(0, "HINCRBY h A 1", 1);
    run.log.add(counted(0));
    assert_eq!(run.places(), Some((Cause::CheckThenAct, look, between, act)));
}

#[test]
fn a_holder_may_give_its_lock_up_itself_while_it_relies_on_it() {
    let mut run = Run::new(OVERLAP);
    let first = run.takes(0, "SET lock A-1 NX PX 3000");
    let between = run.moves(0, "DEL lock", 1);
    let second = run.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(run.places(), Some((Cause::LetGo, first, between, second)));
    let text = run.why().expect("it is told").text;
    assert!(
        text.en.ends_with("it deleted its own key. A still believed that it held the lock."),
        "{}",
        text.en
    );
}

#[test]
fn a_lock_may_be_an_entry_that_ends_with_its_key() {
    let mut run = Run::new(OVERLAP);
    let first = run.takes(0, "ZADD lock 1 A-1");
    run.moves(0, "PEXPIRE lock 3000", 1);
    run.log.at(4000);
    let passed = run.log.add(waited(0));
    let second = run.takes(1, "ZADD lock 1 B-2");
    assert_eq!(run.places(), Some((Cause::LeaseEnded, first, passed, second)));
}

#[test]
fn what_looks_again_as_it_writes_does_not_rely_on_an_earlier_look() {
    let mut run = Run::new(OVERLAP);
    run.moves(1, "EXISTS lock", 0);
    run.takes(0, "SET lock A-1 PX 3000");
    run.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(run.why(), None);
}

#[test]
fn what_no_evidence_accounts_for_is_not_explained() {
    // B got the lock although A's lease had not ended and no client had deleted it.
    let mut run = Run::new(OVERLAP);
    run.takes(0, "SET lock A-1 NX PX 3000");
    run.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(run.why(), None);
    // No actor asked any server.
    let mut run = Run::new(OVERLAP);
    run.log.believes(0, Belief::Holding);
    run.log.believes(1, Belief::Holding);
    assert_eq!(run.why(), None);
    // A script set an expiry: how long, only the server could tell.
    let mut run = Run::new(OVERLAP);
    run.takes(0, "SET lock A-1 NX");
    run.log.at(60_000);
    run.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(run.why(), None);
}

/// A and B have both read that one item is left, and then write at the same time.
fn at_once(write: &str, answers: [(u32, Value); 2]) -> Run {
    let mut run = Run::new("sold > 1");
    run.moves(0, "GET stock", "1");
    run.moves(1, "GET stock", "1");
    let sent = [0, 1].map(|actor| run.log.sends(actor, "move", write));
    for (actor, answer) in answers {
        run.log.replies(sent[actor as usize], answer);
        run.log.add(counted(actor));
    }
    run
}

#[test]
fn of_two_that_were_on_their_way_at_once_only_a_counter_says_which_was_first() {
    let decr = at_once("DECR stock", [(0, 0.into()), (1, (-1).into())]);
    assert_eq!(decr.places(), Some((Cause::CheckThenAct, 3, 5, 6)));
    // Here A's command was sent first, answered first, and carried out last: its reply shows that.
    let overtaken = at_once("DECR stock", [(0, (-1).into()), (1, 0.into())]);
    assert_eq!(overtaken.places(), Some((Cause::CheckThenAct, 1, 6, 7)));
    let set = at_once("SET stock 0", [(0, "OK".into()), (1, "OK".into())]);
    let (kind, first, between, second) = set.places().expect("explained");
    assert_eq!((kind, first, between, second), (Cause::BothLooked, 1, 3, 5));
    assert_eq!(
        set.why().expect("explained").text.en,
        "A's GET stock and B's both came before either's SET stock: one of the two acted on a stale \
         value."
    );
}

#[test]
fn a_clock_that_was_set_ahead_ends_a_lease() {
    let mut run = Run::new(OVERLAP);
    let first = run.takes(0, "SET lock A-1 NX PX 3000");
    run.holds(Some(("A-1", 3000)));
    let set = run.fault(Fault::Skew { server: "redis".to_owned(), ahead_ms: 10_000 });
    run.holds(None);
    let second = run.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(run.places(), Some((Cause::ClockSet, first, set, second)));
    let text = run.why().expect("explained").text;
    assert!(text.en.contains("the clock of redis was set ahead"), "{}", text.en);
    assert!(text.zh.contains("redis 的时钟被拨快"), "{}", text.zh);
}

#[test]
fn a_pause_that_was_over_before_the_lease_is_not_to_blame() {
    let mut run = Run::new(OVERLAP);
    run.takes(0, "SET lock A-1 NX PX 3000");
    let client = || "A".to_owned();
    let frozen = run.fault(Fault::Freeze { client: client() });
    let mut thawed = run.log.clone();
    run.log.at(3000);
    run.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(run.places().map(|(kind, _, between, _)| (kind, between)), Some((Cause::Frozen, frozen)));

    std::mem::swap(&mut run.log, &mut thawed);
    run.log.at(1000);
    run.fault(Fault::Thaw { client: client() });
    run.log.at(3000);
    let over = run.log.add(waited(1));
    run.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(run.places().map(|(kind, _, between, _)| (kind, between)), Some((Cause::LeaseEnded, over)));
}

#[test]
fn an_answer_that_was_long_on_its_way_is_believed_too_late() {
    let mut run = Run::new(OVERLAP);
    let asked = run.log.sends(0, "move", "SET lock A-1 NX PX 3000");
    run.log.at(3000);
    let between = run.takes(1, "SET lock B-2 NX PX 3000");
    let answered = run.log.replies(asked, "OK");
    run.log.believes(0, Belief::Holding);
    assert_eq!(run.places(), Some((Cause::LateReply, asked, between, answered)));
    let text = run.why().expect("explained").text;
    assert_eq!(
        text.en,
        "B's SET lock came between A's SET lock and the reply to it: A believed a stale reply."
    );
}

#[test]
fn a_server_that_came_back_empty_has_lost_the_lock() {
    let mut run = Run::new(OVERLAP);
    let first = run.takes(0, "SET lock A-1 NX PX 30000");
    run.holds(Some(("A-1", 30_000)));
    let server = || "redis".to_owned();
    run.fault(Fault::KillServer { server: server() });
    let back = run.fault(Fault::RestartServer { server: server() });
    run.holds(None);
    let second = run.takes(1, "SET lock B-2 NX PX 30000");
    assert_eq!(run.places(), Some((Cause::Restarted, first, back, second)));
}

#[test]
fn who_was_granted_it_first_may_come_to_believe_last() {
    let mut run = Run::new(OVERLAP);
    let first = run.moves(0, "SET lock A-1 NX PX 30000", "OK");
    let server = || "redis".to_owned();
    run.fault(Fault::KillServer { server: server() });
    let back = run.fault(Fault::RestartServer { server: server() });
    let second = run.takes(1, "SET lock B-2 NX PX 30000");
    run.log.believes(0, Belief::Holding);
    assert_eq!(run.places(), Some((Cause::Restarted, first, back, second)));
    let text = run.why().expect("explained").text;
    assert!(text.en.ends_with("A went on, and came to believe that it held the lock."), "{}", text.en);
}

#[test]
fn a_session_that_ended_took_its_node_along() {
    let tree = |path: Option<&str>| {
        let node = Znode { owner: Some(7), ..Znode::default() };
        EventKind::State(ServerState {
            server: "zookeeper".to_owned(),
            observed: Observed::Zookeeper(ZnodeTree {
                nodes: path.map(|path| (path.to_owned(), node)).into_iter().collect(),
                ..ZnodeTree::default()
            }),
        })
    };
    let mut run = Run::new(OVERLAP);
    let first = run.takes(0, "create -e /lock A");
    run.log.add(tree(Some("/lock")));
    let crashed = run.log.add(tree(None));
    let second = run.takes(1, "create -e /lock B");
    assert_eq!(run.places(), Some((Cause::SessionEnded, first, crashed, second)));
}

#[test]
fn the_holder_nearest_to_the_breach_is_named() {
    // The first breach is that of A and B; A's newest acquisition is part of it.
    let mut run = Run::new(OVERLAP);
    run.takes(0, "SET lock A-1 NX PX 3000");
    run.moves(0, "DEL lock", 1);
    run.log.believes(0, Belief::Nothing);
    let first = run.takes(0, "SET lock A-2 NX PX 3000");
    let deleted = run.moves(2, "DEL lock", 1);
    let second = run.takes(1, "SET lock B-2 NX PX 3000");
    assert_eq!(run.places(), Some((Cause::Deleted, first, deleted, second)));
}

#[test]
fn whoever_counted_may_have_given_a_lock_back_last() {
    let mut run = Run::new("sold > 1");
    let look = [0, 1].map(|actor| run.moves(actor, "GET stock", "1"))[1];
    let sold = [0, 1].map(|actor| {
        run.moves(actor, "SETNX lock 1", 1);
        let sold = run.moves(actor, "DECR stock", -i64::from(actor));
        run.moves(actor, "DEL lock", 1);
        run.log.add(counted(actor));
        sold
    });
    assert_eq!(run.places(), Some((Cause::CheckThenAct, look, sold[0], sold[1])));
}

#[test]
fn a_script_that_was_refused_is_not_to_blame() {
    let between = |answer: i64| {
        let mut run = Run::new("sold > 0");
        run.moves(0, "EVAL take 2 lock fences A-1", 9);
        run.moves(1, "EVAL take 2 lock fences B-1", answer);
        run.moves(0, "EVAL give 1 lock", 1);
        run.log.add(counted(0));
        run.places().map(|(kind, ..)| kind)
    };
    assert_eq!(between(0), None);
    assert_eq!(between(10), Some(Cause::NotItsOwn));
}

#[test]
fn an_overwritten_key_of_another_is_reported() {
    let mut run = Run::new("sold > 0");
    run.moves(0, "SET lock A XX", "OK");
    run.moves(1, "SET lock B NX", "OK");
    run.moves(0, "SET lock A XX", "OK");
    run.log.add(counted(0));
    let text = run.why().expect("explained").text;
    assert_eq!(
        text.en,
        "B's SET lock came between A's SET lock and its next one: A has written over what B had set."
    );
}

#[test]
fn others_ask_in_vain_for_what_a_dead_or_stopped_client_had_set() {
    let vain = |run: &Run| in_vain(&run.scenario, &run.log).map(|text| text.en);
    let crash = || Fault::Crash { client: "A".to_owned() };
    let mut run = Run::new(OVERLAP);
    run.moves(0, "SETNX lock A", 1);
    run.fault(crash());
    run.moves(1, "SETNX lock B", 0);
    assert!(vain(&run).is_some_and(|text| text.starts_with("A was killed")), "{:?}", vain(&run));
    // Its DEL lock, which was to follow, would not have deleted another key.
    let named = |key: &str| {
        let mut run = Run::new(OVERLAP);
        run.log.moves(0, "acquire", &format!("SETNX {key} A"), 1);
        run.fault(crash());
        run.moves(1, &format!("SETNX {key} B"), 0);
        vain(&run).is_some_and(|text| text.contains("that was to follow"))
    };
    assert!(named("lock") && !named("other"));
    // What another client has given a new lease, or what expires by itself, exists for another reason.
    run.moves(1, "PEXPIRE lock 3000", 1);
    assert_eq!(vain(&run), None);
    let mut run = Run::new(OVERLAP);
    run.moves(0, "SET lock A PX 3000", "OK");
    run.fault(crash());
    assert_eq!(vain(&run), None);

    // The waiting clients renew the dead client's lease.
    let mut run = Run::new(OVERLAP);
    run.moves(0, "SET lock A PX 3000", "OK");
    run.holds(Some(("A", 3000)));
    run.fault(crash());
    run.moves(1, "PEXPIRE lock 9000", 1);
    run.holds(Some(("A", 9000)));
    assert!(
        vain(&run).is_some_and(|text| text.contains("B's PEXPIRE lock gives what A's SET lock has set a new lease")),
        "{:?}",
        vain(&run)
    );
    // Or the lease itself is too long.
    let mut run = Run::new(OVERLAP);
    run.moves(0, "SET lock A EX 5000", "OK");
    run.holds(Some(("A", 5_000_000)));
    run.fault(crash());
    run.moves(1, "SET lock B NX EX 5000", Value::Null);
    assert!(vain(&run).is_some_and(|text| text.contains("ends only 5000 s later")), "{:?}", vain(&run));

    // The actor that gave up holds the key itself.
    let mut run = Run::new(OVERLAP);
    run.moves(0, "SETNX lock A", 1);
    run.holds(Some(("A", 9000)));
    run.moves(0, "SETNX lock A", 0);
    run.log.add(counted(0));
    assert!(
        vain(&run).is_some_and(|text| text.starts_with("A waits for itself: its own SETNX lock")),
        "{:?}",
        vain(&run)
    );

    // But not if it asks for another key, or is dead.
    let mut run = Run::new(OVERLAP);
    run.moves(0, "SETNX lock A", 1);
    run.holds(Some(("A", 9000)));
    run.moves(0, "SETNX other A", 0);
    run.log.add(counted(0));
    assert_eq!(vain(&run), None);
    let mut run = Run::new(OVERLAP);
    run.moves(0, "SETNX lock A", 1);
    run.log.believes(0, Belief::Waiting);
    run.log.add(holds("redis", Some(("A", None))));
    run.fault(crash());
    assert!(vain(&run).is_some_and(|text| text.starts_with("A was killed")), "{:?}", vain(&run));

    let mut run = Run::new(OVERLAP);
    let asked = run.log.sends(0, "o", "GET lock");
    run.log.answers(asked, Reply::Lost("cut".to_owned()));
    run.log.add(EventKind::GaveUp { actor: ActorId(0), why: "the reply to `o` was lost".into() });
    assert_eq!(
        vain(&run).as_deref(),
        Some("A stopped: the reply to `o` was lost, and `o` has no `allow: [Lost]`.")
    );
}

#[test]
fn actors_that_wait_for_what_each_other_has_set_wait_in_a_circle() {
    let mut run = Run::new(OVERLAP);
    run.moves(0, "SETNX left A", 1);
    run.moves(1, "SETNX right B", 1);
    let key = |name: &str, value: &str| {
        let state = KeyState { value: KeyValue::String(value.to_owned()), expires_at: None };
        (name.to_owned(), state)
    };
    let keys = [key("left", "A"), key("right", "B")].into_iter().collect();
    let observed = Observed::Redis(Keyspace { keys, ..Keyspace::default() });
    run.log.add(EventKind::State(ServerState { server: "redis".to_owned(), observed }));
    let vain = |run: &Run| in_vain(&run.scenario, &run.log).map(|text| text.en);
    run.moves(0, "SETNX right A", 0);
    assert_eq!(vain(&run), None, "B has not asked for A's key");
    run.moves(1, "SETNX left B", 0);
    assert_eq!(
        vain(&run).as_deref(),
        Some(
            "A's SETNX right waits for what B's SETNX right has set; B's SETNX left waits for what A's SETNX left has set: \
             they wait for each other, and none of them lets go first (deadlock)."
        )
    );
}

#[test]
fn whoever_looked_again_acted_on_what_it_saw_last() {
    let mut run = Run::new("sold > 0");
    run.moves(0, "GET stock", "2");
    run.moves(1, "DECR stock", 1);
    let looked = run.moves(0, "GET stock", "1");
    let between = run.moves(2, "DECR stock", 0);
    let bought = run.moves(0, "DECR stock", -1);
    run.log.add(counted(0));
    assert_eq!(run.places(), Some((Cause::CheckThenAct, looked, between, bought)));

    let mut run = Run::new("sold > 0");
    run.moves(0, "GET stock", "2");
    run.moves(1, "DECR stock", 1);
    run.moves(0, "GET stock", "1");
    run.moves(0, "DECR stock", 0);
    run.log.add(counted(0));
    assert_eq!(run.why(), None, "it knew");
}

/// One item, and every actor reads the stock and then buys, in this order: the two mentions of an actor are its read
/// and its purchase.
fn sale(order: &[u32]) -> (Run, Vec<(u32, bool, usize)>) {
    let mut run = Run::new("sold > 1");
    let (mut stock, mut looked) = (1, std::collections::BTreeMap::new());
    let mut made = Vec::new();
    for actor in order {
        match looked.get(actor) {
            None => {
                let sent = run.moves(*actor, "GET stock", stock.to_string());
                looked.insert(*actor, stock);
                made.push((*actor, false, sent));
            }
            Some(seen) if *seen > 0 => {
                stock -= 1;
                let sent = run.moves(*actor, "DECR stock", stock);
                run.log.add(counted(*actor));
                made.push((*actor, true, sent));
            }
            Some(_) => {}
        }
    }
    (run, made)
}

fn orders(of: &[u32]) -> std::collections::BTreeSet<Vec<u32>> {
    let mut orders = std::collections::BTreeSet::from([Vec::new()]);
    for item in of {
        let put = |order: &Vec<u32>| {
            let order = order.clone();
            (0..=order.len()).map(move |at| [&order[..at], &[*item], &order[at..]].concat())
        };
        orders = orders.iter().flat_map(put).collect();
    }
    orders
}

#[test]
fn in_every_order_of_a_sale_the_explanation_is_what_a_reader_would_say() {
    let orders = orders(&[0, 0, 1, 1, 2, 2]);
    assert_eq!(orders.len(), 90);
    for order in orders {
        let (run, made) = sale(&order);
        let purchases: Vec<_> = made.iter().filter(|(_, bought, _)| *bought).collect();
        if purchases.len() < 2 {
            assert_eq!(breaches(&run.scenario, &run.log), Ok(vec![]));
            continue;
        }
        // The second purchase sold what was not there; its buyer did not know of the first purchase.
        let (buyer, _, second) = *purchases[1];
        let look = made.iter().find(|(actor, bought, _)| *actor == buyer && !bought);
        let wanted = (Cause::CheckThenAct, look.expect("it looked").2, purchases[0].2, second);
        assert_eq!(run.places(), Some(wanted), "{order:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_log_makes_it_panic(moves in proptest::collection::vec((0..4_u32, 0..12_u8, 0..3_i64), 0..24)) {
        for never in [OVERLAP, "deleted_by_another('lock') > 0", "herd() > 1", "moves('acquire') > 3"] {
            let mut run = Run::new(never);
            let mut seconds = 0;
            for (actor, what, number) in &moves {
                let (actor, number) = (*actor, *number);
                seconds += number;
                run.log.at(seconds * 1000);
                let _: usize = match what {
                    0 => run.log.sends(actor, "move", "SET lock A NX PX 1000"),
                    1 => {
                        let sent = run.log.sends_to(actor, "other", "move", "SET lock B NX EX 1");
                        run.log.replies(sent, "OK");
                        run.log.believes(actor, Belief::Holding)
                    }
                    2 => run.moves(actor, "DEL lock", number),
                    3 => run.moves(actor, "PEXPIRE lock x", number),
                    4 => run.log.believes(actor, Belief::Holding),
                    5 => run.log.believes(actor, Belief::Nothing),
                    6 => run.holds((number > 0).then_some(("A", number))),
                    7 => run.fault(Fault::Freeze { client: "A".to_owned() }),
                    8 => run.fault(Fault::Skew { server: "redis".to_owned(), ahead_ms: number }),
                    9 => run.moves(actor, "exists -w /lock", number),
                    10 => run.log.add(notified(actor, "/lock", "NodeDeleted")),
                    _ => run.moves(actor, "EXPIRE", number),
                };
            }
            for breach in breaches(&run.scenario, &run.log).expect("it can be evaluated") {
                if let Some(why) = explain(&run.scenario, &run.log, &breach) {
                    prop_assert!(why.first < why.between && why.between <= why.second, "{:?}", why);
                    prop_assert!(why.second < run.log.len(), "{:?}", why);
                }
            }
        }
    }
}

#[test]
fn hints_may_be_for_each_kind_by_its_name() {
    for name in CAUSES {
        let kind: Cause = serde_json::from_value(name.into()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(serde_json::to_value(kind).ok(), Some(name.into()));
    }
}

#[test]
fn a_script_whose_key_is_missing_afterwards_has_deleted_it_whatever_it_answers() {
    let mut run = Run::new("\"sold > 0\"");
    run.holds(Some(("A-1", 3000)));
    let first = run.moves(0, "SET lock A-1 PX 3000", "OK");
    let between = run.moves(1, "SET lock B-2 PX 3000", "OK");
    run.holds(Some(("B-2", 3000)));
    let second = run.moves(0, "EVAL give 1 lock", 0);
    run.holds(None);
    run.log.add(counted(0));
    assert_eq!(run.places(), Some((Cause::NotItsOwn, first, between, second)));
}

#[test]
fn a_script_has_not_deleted_what_is_there_after_it_whatever_it_answers() {
    let run = |stays: bool| {
        let mut run = Run::new(OVERLAP);
        run.takes(0, "SET lock A-1 NX PX 3000");
        run.holds(Some(("A-1", 3000)));
        run.moves(2, "EVAL give 1 lock", 1);
        run.holds(stays.then_some(("A-1", 3000)));
        run.log.at(4000);
        run.log.add(waited(1));
        run.holds(None);
        run.takes(1, "SET lock B-2 NX PX 3000");
        run.why().expect("it is told").kind
    };
    assert_eq!([run(true), run(false)], [Cause::LeaseEnded, Cause::Deleted]);
}

#[test]
fn a_script_that_changed_nothing_has_not_written_whatever_it_answers() {
    let run = |refused: bool| {
        let mut run = Run::new("\"sold > 1\"");
        run.moves(0, "GET lock", Value::Null);
        let written = run.moves(1, "SET lock B-2 PX 3000", "OK");
        run.holds(Some(("B-2", 3000)));
        let script = run.moves(2, "EVAL take 2 lock fences x", "busy");
        run.holds(Some((if refused { "B-2" } else { "x" }, 3000)));
        let second = run.moves(0, "SET lock A-1 PX 3000", "OK");
        run.holds(Some(("A-1", 3000)));
        run.log.add(counted(1));
        run.log.add(counted(0));
        let why = run.why().expect("it is told");
        assert_eq!((why.kind, why.second), (Cause::CheckThenAct, second));
        (why.between, written, script)
    };
    let (between, written, _) = run(true);
    assert_eq!(between, written);
    let (between, _, script) = run(false);
    assert_eq!(between, script);
}

#[test]
fn a_script_that_was_seen_to_change_a_lease_has_set_it_whatever_it_answers() {
    let run = |end: i64| {
        let mut run = Run::new("\"sold > 0\"");
        run.takes(0, "SET lock A-1 NX PX 3000");
        run.holds(Some(("A-1", 3000)));
        run.moves(0, "DEL lock", 1);
        run.holds(None);
        let set = run.moves(1, "SET lock B-2 PX 3000", "OK");
        run.holds(Some(("B-2", 3000)));
        let script = run.moves(0, "EVAL give 1 lock", 0);
        run.holds(Some(("B-2", end)));
        run.log.add(counted(0));
        run.places().is_some_and(|(_, _, between, second)| (between, second) == (set, script))
    };
    assert_eq!([run(3000), run(9000)], [false, true]);
}

#[test]
fn who_has_the_lock_and_asks_once_more_waits_for_itself() {
    let because = |holds: bool| {
        let mut run = Run::new("\"sold > 0\"");
        run.moves(0, "SET lock A-1 NX PX 3000", "OK");
        if holds {
            run.log.believes(0, Belief::Holding);
        }
        run.holds(Some(("A-1", 3000)));
        run.moves(0, "SET lock A-1 NX PX 3000", Value::Null);
        run.log.add(counted(0));
        in_vain(&run.scenario, &run.log).map(|text| text.en).unwrap_or_default()
    };
    assert!(because(true).ends_with("and it asks once more while it has the lock."), "{}", because(true));
    assert!(
        because(false).ends_with("and it has not taken the reply to it for a yes."),
        "{}",
        because(false)
    );
}

#[test]
fn removing_a_member_that_is_not_there_is_no_write() {
    let between = |removed: i64| {
        let mut run = Run::new("\"sold > 1\"");
        run.moves(0, "ZCARD lock", 0);
        let added = run.moves(1, "ZADD lock 1 b", 1);
        let other = run.moves(2, "ZREM lock c", removed);
        run.moves(0, "ZADD lock 2 a", 1);
        run.log.add(counted(1));
        run.log.add(counted(0));
        let why = run.why().expect("it is told");
        if removed == 0 { assert_eq!(why.between, added) } else { assert_eq!(why.between, other) }
    };
    between(0);
    between(1);
}

#[test]
fn a_watch_after_a_deletion_is_never_notified() {
    let vain = |look: &str, deletes: bool| {
        let mut run = Run::new(OVERLAP);
        if deletes {
            run.moves(0, "delete /locks/n-0", "OK");
        }
        run.moves(1, look, Value::Null);
        run.log.add(EventKind::Chose(Choice::Move { actor: ActorId(1) }));
        in_vain(&run.scenario, &run.log).map(|text| text.en).unwrap_or_default()
    };
    assert!(
        vain("exists -w /locks/n-0", true).starts_with("A's delete /locks/n-0 came before B's exists -w")
    );
    assert!(vain("exists /locks/n-0", false).contains("has left no watch"));
    assert!(vain("exists -w /locks/n-0", false).contains("nobody is left who would change it"));
}

#[test]
fn of_several_holders_the_one_whose_key_was_taken_is_named() {
    let mut run = Run::new(OVERLAP);
    let first = run.takes(0, "SET permit:1 A-1 NX PX 30000");
    run.takes(2, "SET permit:2 C-1 NX PX 1000");
    run.log.at(1700);
    let deleted = run.moves(2, "DEL permit:1", 1);
    let second = run.takes(1, "SET permit:1 B-1 NX PX 9000");
    // As of a lock that two may hold: the three together break it.
    let events = run.log.events();
    let held = |event: &usize| matches!(events[*event].kind, EventKind::Believes { .. });
    let evidence: Vec<usize> = (0..events.len()).filter(held).collect();
    let at = *evidence.last().expect("three believe");
    let why = explain(&run.scenario, &run.log, &Breach { invariant: 0, at, evidence }).expect("it is told");
    assert_eq!((why.kind, why.first, why.between, why.second), (Cause::Deleted, first, deleted, second));
}

#[test]
fn a_key_that_the_other_never_asked_about_has_not_kept_it_out() {
    let mut run = Run::new(OVERLAP);
    run.takes(0, "SET permit:1 A-1 NX PX 1000");
    run.log.at(2500);
    run.takes(1, "SET permit:2 B-1 NX PX 9000");
    assert_eq!(run.why(), None);
}

#[test]
fn a_count_that_another_has_deleted_misleads_the_holder_who_gives_up_its_lock() {
    let mut run = Run::new(OVERLAP);
    run.takes(0, "SET lock A-1 NX PX 30000");
    let count = run.moves(0, "PSETEX count 30000 1", "OK");
    let deleted = run.moves(2, "DEL count", 1);
    run.moves(0, "INCR count", 1);
    run.moves(0, "DECR count", 0);
    let given_up = run.moves(0, "DEL lock", 1);
    run.takes(1, "SET lock B-1 NX PX 9000");
    assert_eq!(run.places(), Some((Cause::Interfered, count, deleted, given_up)));
}

#[test]
fn a_key_that_was_made_anew_is_not_the_dead_clients() {
    let mut run = Run::new(OVERLAP);
    run.moves(0, "SET lock A NX PX 3000", "OK");
    run.holds(Some(("A", 3000)));
    run.fault(Fault::Crash { client: "A".to_owned() });
    run.log.at(4000);
    run.holds(None);
    run.moves(1, "SET lock B NX PX 9000", "OK");
    run.holds(Some(("B", 13_000)));
    assert_eq!(in_vain(&run.scenario, &run.log), None);
}

#[test]
fn a_change_below_a_node_is_not_the_end_of_the_node() {
    let mut run = Run::new("herd() > 1");
    let watches = [0, 1].map(|actor| run.moves(actor, "ls -w /locks", serde_json::json!(["n-0"])));
    let deleted = run.moves(2, "delete /locks/n-0", "OK");
    for actor in [0, 1] {
        run.log.add(notified(actor, "/locks", "NodeChildrenChanged"));
    }
    assert_eq!(run.places(), Some((Cause::Herd, watches[0], watches[1], deleted)));
    assert_eq!(
        run.why().expect("it is told").text.en,
        "B's ls -w /locks came between A's ls -w /locks and C's delete /locks/n-0: both watched the children of \
         /locks, so one change there woke both."
    );
}

#[test]
fn who_counts_on_a_refused_transaction_has_written_nothing() {
    let mut run = Run::new("\"sold == 1 and value('lock') != 'B-2'\"");
    let watch = run.moves(1, "WATCH greatest", "OK");
    run.moves(1, "GET greatest", Value::Null);
    let between = run.moves(0, "SET greatest 9", "OK");
    let exec = run.moves(1, "EXEC", Value::Null);
    run.log.add(counted(1));
    assert_eq!(run.places(), Some((Cause::CheckThenAct, watch, between, exec + 1)));
}

#[test]
fn what_a_client_got_is_not_the_lease_that_it_set_afterwards() {
    let mut run = Run::new(OVERLAP);
    run.moves(0, "SET lock A", "OK");
    run.moves(0, "PEXPIRE lock 3000", 1);
    run.holds(Some(("A", 3000)));
    run.log.add(EventKind::Finished { actor: ActorId(0) });
    run.log.add(EventKind::Chose(Choice::Move { actor: ActorId(1) }));
    run.moves(1, "PEXPIRE lock 9000", 1);
    run.holds(Some(("A", 9000)));
    let told = in_vain(&run.scenario, &run.log).expect("it is told").en;
    assert!(told.contains("what it got by its SET lock, and B's PEXPIRE lock gives"), "{told}");
}

/// The hash `lock` has these fields, and ends after two seconds.
fn hash(fields: &[&str]) -> EventKind {
    let fields = fields.iter().map(|field| ((*field).to_owned(), "1".to_owned())).collect();
    let key = KeyState { value: KeyValue::Hash(fields), expires_at: Some(LessonTime::from_millis(2000)) };
    let keys = [("lock".to_owned(), key)].into_iter().collect();
    let observed = Observed::Redis(Keyspace { keys, ..Keyspace::default() });
    EventKind::State(ServerState { server: "redis".to_owned(), observed })
}

#[test]
fn who_joins_a_key_with_an_end_has_that_end() {
    let mut run = Run::new(OVERLAP);
    run.moves(2, "HSET lock C 1", 1);
    run.moves(2, "PEXPIRE lock 2000", 1);
    run.log.add(hash(&["C"]));
    run.log.at(1300);
    run.takes(0, "HSET lock A 1");
    run.log.add(hash(&["C", "A"]));
    run.log.at(2500);
    run.takes(1, "HSET lock B 1");
    let why = run.why().expect("it is told");
    assert_eq!(why.kind, Cause::LeaseEnded);
    assert!(why.text.en.contains("lock expired: A's HSET lock had put something into it"), "{}", why.text.en);
}

#[test]
fn a_command_whose_reply_was_lost_was_carried_out_twice() {
    use Fault::{Cut, Drop, Hold};
    let link = || LinkId::new("A", "redis");
    let explained = |before: Fault, is_seen: bool, again: &str| {
        let mut run = Run::new("\"(value('n') or 0)|int > 1\"");
        let value = |value: &str| KeyState { value: KeyValue::String(value.to_owned()), expires_at: None };
        let holds = |number: &str| {
            let keys = [("n".to_owned(), value(number))].into_iter().collect();
            let observed = Observed::Redis(Keyspace { keys, ..Keyspace::default() });
            EventKind::State(ServerState { server: "redis".to_owned(), observed })
        };
        run.fault(before);
        let first = run.log.sends(0, "move", "INCR n");
        if is_seen {
            run.log.add(holds("1"));
        }
        let lost = run.fault(Drop { link: link() });
        run.log.answers(first, Reply::Lost("EOF".to_owned()));
        run.fault(Fault::Release { link: link() });
        let second = run.moves(0, again, 2);
        run.log.add(holds("2"));
        (run.places() == Some((Cause::ReplyLost, first, lost, second)), run.why())
    };
    let held = || Hold { link: link(), way: Direction::Replies };
    let (is_explained, why) = explained(held(), true, "INCR n");
    assert!(is_explained, "{why:?}");
    let text = why.expect("explained").text;
    assert_eq!(
        text.en,
        "The reply to A's INCR n was lost, although the server had carried it out: A could not know, sent it again, and it \
         was carried out twice."
    );
    assert!(text.zh.contains("A 无从得知，又发了一次"), "{}", text.zh);
    // The server was not seen to have changed; it never had the command; another command was sent.
    assert!(!explained(held(), false, "INCR n").0);
    assert!(!explained(Cut { link: link() }, true, "INCR n").0);
    assert!(!explained(held(), true, "SET n 2").0);
}

#[test]
fn who_takes_an_entry_for_overdue_by_a_wrong_clock_is_named_with_its_clock() {
    let explained = |clocks: &[(&str, i64)]| {
        let mut run = Run::new(OVERLAP);
        run.takes(0, "HSET lock A 1");
        run.log.add(hash(&["A"]));
        for (client, ahead_ms) in clocks {
            run.fault(Fault::SkewClient { client: (*client).to_owned(), ahead_ms: *ahead_ms });
        }
        run.moves(1, "HDEL lock A", 1);
        run.log.add(hash(&[]));
        run.takes(1, "HSET lock B 1");
        run.log.add(hash(&["B"]));
        run.why().expect("it is explained").text
    };
    let ahead = explained(&[("B", 30_000)]);
    assert!(ahead.en.contains("By B's own clock, which had been set ahead, it was later."), "{}", ahead.en);
    assert!(ahead.zh.contains("B 自己的时钟此前被拨快了"), "{}", ahead.zh);
    assert!(explained(&[("B", -5_000)]).en.contains("which had been set back"));
    // Another's clock, and one that was put right, have nothing to do with it.
    for clocks in [&[][..], &[("A", 30_000)], &[("B", 30_000), ("B", 0)]] {
        assert!(!explained(clocks).en.contains("clock"), "{clocks:?}");
    }
}
