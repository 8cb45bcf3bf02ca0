//! Invariants watched in made-up logs, without any server.

use super::{Breach, Watch, breaches};
use crate::{
    clock::{ClockKind, LessonTime},
    lesson::{Params, Scenario, library::from_text},
    log::{
        ActorId, Belief, Command, Dialect, Event, EventKind, Fault, KeyState, KeyValue, Keyspace, Log,
        Observed, OpId, Reply, ServerInfo, ServerState, Stop,
    },
};

/// The lesson to start from, with these expressions that must never be true, after its own two invariants.
fn scenario(expressions: &[&str]) -> Scenario {
    let text = "{ en: It is so., zh: 是。 }";
    let mut lesson = include_str!("../../../assets/new-lesson.yaml").to_owned();
    for expression in expressions {
        let item = format!("  - {{ never: \"{expression}\", says: {text}, goal: {text} }}\n\nvariants:\n");
        lesson = lesson.replacen("\nvariants:\n", &item, 1);
    }
    let loaded = from_text("lesson.yaml", &lesson).expect("it is good");
    Scenario::plan(&loaded, "blind-del", &Params::new()).expect("it is good")
}

const OVERLAP: usize = 0;
const DELETED: usize = 1;
/// The first of a test's own.
const OWN: usize = 2;

struct Story(Log, u64);

impl Story {
    fn new(scenario: &Scenario) -> Self {
        let mut story = Self(Log::new(), 0);
        story.then(EventKind::LabReady {
            lesson: "my-lock".to_owned(),
            variant: "blind-del".to_owned(),
            clock: ClockKind::Controlled,
            servers: vec![ServerInfo {
                name: "redis".to_owned(),
                product: "Redis".to_owned(),
                version: String::new(),
                address: String::new(),
                password: None,
            }],
            actors: scenario.actors.iter().map(|plan| plan.actor.clone()).collect(),
        });
        story
    }

    fn then(&mut self, kind: EventKind) -> usize {
        let at = LessonTime::from_millis(i64::try_from(self.0.len()).expect("small"));
        self.0.append(Event { at, kind });
        self.0.len() - 1
    }

    fn believes(&mut self, actor: u32, belief: Belief) -> usize {
        self.then(EventKind::Believes { actor: ActorId(actor), lock: "lock".to_owned(), belief })
    }

    fn sends(&mut self, actor: u32, label: &str, wire: &str) -> OpId {
        self.1 += 1;
        let op = OpId(self.1);
        self.then(EventKind::Sent {
            op,
            actor: ActorId(actor),
            label: label.to_owned(),
            server: "redis".to_owned(),
            command: Command::from_text(wire, Dialect::Redis),
            releases: (label == "release").then(|| "lock".to_owned()).into_iter().collect(),
        });
        op
    }

    fn replies(&mut self, op: OpId, actor: u32, label: &str, reply: serde_json::Value) -> usize {
        self.then(EventKind::Replied {
            op,
            actor: ActorId(actor),
            label: label.to_owned(),
            reply: Reply::Value(reply),
        })
    }

    fn moves(&mut self, actor: u32, (label, wire): (&str, &str), reply: serde_json::Value) -> usize {
        let op = self.sends(actor, label, wire);
        self.replies(op, actor, label, reply)
    }

    /// What the server holds: the key `lock`, for ever.
    fn lock(&mut self, value: &str) -> usize {
        let state = KeyState { value: KeyValue::String(value.to_owned()), expires_at: None };
        let keys = [("lock".to_owned(), state)].into();
        self.then(EventKind::State(ServerState {
            server: "redis".to_owned(),
            observed: Observed::Redis(Keyspace { keys, role: None }),
        }))
    }

    fn stop(&mut self) {
        self.then(EventKind::Stop { item: 0, stop: Stop::Move });
    }
}

fn breach(invariant: usize, at: usize, evidence: &[usize]) -> Breach {
    Breach { invariant, at, evidence: evidence.to_vec() }
}

#[test]
fn a_second_holder_is_a_breach_and_is_told_once() {
    let scenario = scenario(&[]);
    let mut story = Story::new(&scenario);
    let first = story.believes(0, Belief::Holding);
    let second = story.believes(1, Belief::Holding);
    story.stop();
    story.believes(1, Belief::Nothing);
    story.believes(1, Belief::Holding);
    story.stop();
    assert_eq!(breaches(&scenario, &story.0), Ok(vec![breach(OVERLAP, second, &[first, second])]));
}

#[test]
fn the_dead_and_those_who_asked_for_their_release_hold_nothing() {
    let scenario = scenario(&[]);
    let mut dead = Story::new(&scenario);
    dead.believes(0, Belief::Holding);
    dead.then(EventKind::Fault(Fault::Crash { client: "A".to_owned() }));
    dead.believes(1, Belief::Holding);
    dead.believes(0, Belief::Holding);
    assert_eq!(breaches(&scenario, &dead.0), Ok(vec![]));

    // B is told before A has the reply to its own DEL.
    let mut late = Story::new(&scenario);
    late.moves(0, ("acquire", "SET lock A-1 NX PX 3000"), "OK".into());
    late.believes(0, Belief::Holding);
    let del = late.sends(0, "release", "DEL lock");
    late.moves(1, ("acquire", "SET lock B-2 NX PX 3000"), "OK".into());
    late.believes(1, Belief::Holding);
    late.replies(del, 0, "release", 1.into());
    late.believes(0, Belief::Nothing);
    assert_eq!(breaches(&scenario, &late.0), Ok(vec![]));
}

#[test]
fn who_deletes_what_another_has_set_is_found_by_command_and_reply() {
    let scenario = scenario(&[]);
    let mut story = Story::new(&scenario);
    story.moves(0, ("acquire", "SET lock A-1 NX PX 3000"), "OK".into());
    story.moves(1, ("acquire", "SET lock B-2 NX PX 3000"), serde_json::Value::Null);
    story.moves(0, ("release", "DEL lock"), 1.into());
    story.stop();
    assert_eq!(breaches(&scenario, &story.0), Ok(vec![]), "its own, B was refused");
    story.moves(1, ("acquire", "SET lock B-2 NX PX 3000"), "OK".into());
    story.moves(0, ("release", "DEL lock"), 0.into());
    story.stop();
    assert_eq!(breaches(&scenario, &story.0), Ok(vec![]), "nothing was deleted");
    let deleted = story.moves(0, ("release", "DEL lock"), 1.into());
    story.stop();
    assert_eq!(breaches(&scenario, &story.0), Ok(vec![breach(DELETED, deleted, &[deleted])]));
}

#[test]
fn what_never_happened_is_not_so_and_a_mistake_is_told_once() {
    let scenario = scenario(&["A.release > 0", "replies(7) == 1", "moves('release') > 1"]);
    let mut story = Story::new(&scenario);
    let mut watch = Watch::new(&scenario);
    story.stop();
    let error = watch.advance(&scenario, &story.0).expect_err("a number is no label");
    assert!(error.contains("replies(7)"), "{error}");
    let released = story.moves(0, ("release", "DEL lock"), 1.into());
    story.stop();
    assert_eq!(watch.advance(&scenario, &story.0), Ok(vec![breach(OWN, released, &[released])]));
    story.moves(0, ("release", "DEL lock"), 0.into());
    story.stop();
    let again = watch.advance(&scenario, &story.0).expect("it can be told");
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].invariant, OWN + 2);
}

#[test]
fn an_orphan_is_the_lock_of_somebody_who_is_gone() {
    let scenario = scenario(&["orphaned('lock') and pttl('lock') == -1"]);
    let mut story = Story::new(&scenario);
    let op = story.sends(0, "acquire", "SETNX lock A-1");
    let asked = story.0.len() - 1;
    // The reply never reaches A, and the server has its key.
    let seen = story.lock("A-1");
    story.stop();
    assert_eq!(breaches(&scenario, &story.0), Ok(vec![]), "A may still come to know");
    let crashed = story.then(EventKind::Fault(Fault::Crash { client: "A".to_owned() }));
    story.stop();
    let wanted = Ok(vec![breach(OWN, crashed, &[asked, seen, crashed])]);
    assert_eq!(breaches(&scenario, &story.0), wanted);
    let _ = op;

    let mut other = Story::new(&scenario);
    other.moves(1, ("acquire", "SETNX lock B-2"), 1.into());
    other.lock("B-2");
    other.then(EventKind::Fault(Fault::Crash { client: "A".to_owned() }));
    other.stop();
    assert_eq!(breaches(&scenario, &other.0), Ok(vec![]), "B lives");
}

#[test]
fn a_log_without_stops_is_asked_at_its_end_and_the_breach_is_dated_all_the_same() {
    let scenario = scenario(&["moves('release') > 1"]);
    let mut story = Story::new(&scenario);
    story.moves(0, ("release", "DEL lock"), 0.into());
    story.sends(1, "release", "DEL lock");
    let second = story.0.len() - 1;
    story.believes(0, Belief::Waiting);
    let found = breaches(&scenario, &story.0).expect("it can be told");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].invariant, found[0].at), (OWN, second));
}

#[test]
fn a_herd_is_those_whom_one_change_wakes() {
    let scenario = scenario(&["herd() > 1"]);
    let notified = |story: &mut Story, actor: u32, path: &str, what: &str| {
        story.then(EventKind::Notified {
            actor: ActorId(actor),
            server: "redis".to_owned(),
            about: path.to_owned(),
            what: what.to_owned(),
        })
    };
    let told = |story: &mut Story, actor, path: &str| notified(story, actor, path, "NodeDeleted");
    let mut queue = Story::new(&scenario);
    told(&mut queue, 0, "/locks/n-1");
    told(&mut queue, 1, "/locks/n-2");
    // Told again: of another change.
    told(&mut queue, 1, "/locks/n-2");
    // Whoever had looked for it before it was there is told when it comes, and the next one when it goes.
    notified(&mut queue, 0, "/locks/n-3", "NodeCreated");
    told(&mut queue, 1, "/locks/n-3");
    queue.stop();
    assert_eq!(breaches(&scenario, &queue.0), Ok(vec![]));
    let mut herd = Story::new(&scenario);
    let first = told(&mut herd, 0, "/lock");
    let second = told(&mut herd, 1, "/lock");
    herd.stop();
    assert_eq!(breaches(&scenario, &herd.0), Ok(vec![breach(OWN, second, &[first, second])]));
}
