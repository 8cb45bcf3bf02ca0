//! Explanations of made-up logs: what no carried story shows, what cannot be told, and every order of a small model.

use proptest::prelude::*;

use super::{Kind, Why, explain};
use crate::{
    clock::{ClockKind, LessonTime},
    lesson::{Params, Scenario, library::from_text},
    log::{
        ActorId, Belief, Command, Dialect, Event, EventKind, Fault, KeyState, KeyValue, Keyspace, Log,
        Observed, OpId, Reply, ServerInfo, ServerState, Znode, ZnodeTree,
    },
    verdict::breaches,
};

/// The lesson to start from with three clients, and the lock or this expression that must never be.
fn scenario(never: &str) -> Scenario {
    let text = "{ en: It is so., zh: 是。 }";
    let lesson = include_str!("../../../assets/new-lesson.yaml");
    let (begin, rest) = lesson.split_once("invariants:\n").expect("it has some");
    let (_, rest) = rest.split_once("\nvariants:").expect("it has variants");
    let item = format!("  - {{ never: {never}, says: {text}, goal: {text} }}\n");
    let lesson = format!("{begin}invariants:\n{item}\nvariants:{rest}");
    let lesson =
        lesson.replacen("  B: { runs: worker }\n", "  B: { runs: worker }\n  C: { runs: worker }\n", 1);
    let lesson = lesson.replacen("    - drops: lock\n", "    - drops: lock\n    - count: sold\n", 1);
    let loaded = from_text("lesson.yaml", &lesson).expect("it is good");
    Scenario::plan(&loaded, "blind-del", &Params::new()).expect("it is good")
}

const OVERLAP: &str = "{ overlap: lock }";

struct Story {
    scenario: Scenario,
    log: Log,
    millis: i64,
    ops: u64,
}

impl Story {
    fn new(never: &str) -> Self {
        let scenario = scenario(never);
        let server = |name: &str, product: &str| ServerInfo {
            name: name.to_owned(),
            product: product.to_owned(),
            version: String::new(),
            address: String::new(),
            password: None,
        };
        let ready = EventKind::LabReady {
            lesson: "my-lock".to_owned(),
            variant: "blind-del".to_owned(),
            clock: ClockKind::Controlled,
            servers: vec![
                server("redis", "Redis"),
                server("other", "Redis"),
                server("zookeeper", "ZooKeeper"),
            ],
            actors: scenario.actors.iter().map(|plan| plan.actor.clone()).collect(),
        };
        let mut story = Self { scenario, log: Log::new(), millis: 0, ops: 0 };
        story.then(ready);
        story
    }

    fn then(&mut self, kind: EventKind) -> usize {
        let at = LessonTime::from_millis(self.millis);
        self.log.append(Event { at, kind });
        self.log.len() - 1
    }

    fn sends(&mut self, actor: u32, server: &str, wire: &str) -> (OpId, usize) {
        self.ops += 1;
        let op = OpId(self.ops);
        let dialect = match server {
            "zookeeper" => Dialect::Zookeeper,
            _ => Dialect::Redis,
        };
        let sent = self.then(EventKind::Sent {
            op,
            actor: ActorId(actor),
            label: "move".to_owned(),
            server: server.to_owned(),
            command: Command::from_text(wire, dialect),
            releases: Vec::new(),
        });
        (op, sent)
    }

    fn replies(&mut self, op: OpId, actor: u32, reply: impl Into<serde_json::Value>) -> usize {
        self.then(EventKind::Replied {
            op,
            actor: ActorId(actor),
            label: "move".to_owned(),
            reply: Reply::Value(reply.into()),
        })
    }

    /// The index of its `Sent`.
    fn moves(&mut self, actor: u32, wire: &str, reply: impl Into<serde_json::Value>) -> usize {
        self.moves_on(actor, "redis", wire, reply)
    }

    fn moves_on(
        &mut self,
        actor: u32,
        server: &str,
        wire: &str,
        reply: impl Into<serde_json::Value>,
    ) -> usize {
        let (op, sent) = self.sends(actor, server, wire);
        self.replies(op, actor, reply);
        sent
    }

    fn believes(&mut self, actor: u32, belief: Belief) -> usize {
        self.then(EventKind::Believes { actor: ActorId(actor), lock: "lock".to_owned(), belief })
    }

    fn takes(&mut self, actor: u32, server: &str, wire: &str) -> usize {
        let sent = self.moves_on(actor, server, wire, "OK");
        self.believes(actor, Belief::Holding);
        sent
    }

    fn holds(&mut self, server: &str, key: Option<(&str, i64)>) -> usize {
        let key = key.map(|(value, end)| {
            let state = KeyState {
                value: KeyValue::String(value.to_owned()),
                expires_at: Some(LessonTime::from_millis(end)),
            };
            ("lock".to_owned(), state)
        });
        self.then(EventKind::State(ServerState {
            server: server.to_owned(),
            observed: Observed::Redis(Keyspace { keys: key.into_iter().collect(), role: None }),
        }))
    }

    fn fault(&mut self, fault: Fault) -> usize {
        self.then(EventKind::Fault(fault))
    }

    fn why(&self) -> Option<Why> {
        let breaches = breaches(&self.scenario, &self.log).expect("it can be told");
        explain(&self.scenario, &self.log, breaches.first().expect("it is broken"))
    }

    fn places(&self) -> Option<(Kind, usize, usize, usize)> {
        self.why().map(|why| (why.kind, why.first, why.between, why.second))
    }
}

#[test]
fn a_lease_that_no_server_was_seen_to_end_ends_by_what_was_asked_for() {
    let mut story = Story::new(OVERLAP);
    let first = story.takes(0, "redis", "SET lock A-1 NX PX 3000");
    story.moves(0, "PEXPIRE lock 5000", 1);
    story.millis = 4000;
    story.moves(1, "SET lock B-2 NX PX 3000", serde_json::Value::Null);
    story.millis = 5000;
    let passed = story.then(EventKind::Waited { actor: ActorId(1), label: "acquire".to_owned() });
    let second = story.takes(1, "redis", "SET lock B-2 NX PX 3000");
    assert_eq!(story.places(), Some((Kind::LeaseEnded, first, passed, second)));
}

#[test]
fn what_no_evidence_accounts_for_is_not_explained() {
    // B got the lock although A's lease had not ended and nobody had deleted it.
    let mut story = Story::new(OVERLAP);
    story.takes(0, "redis", "SET lock A-1 NX PX 3000");
    story.takes(1, "redis", "SET lock B-2 NX PX 3000");
    assert_eq!(story.why(), None);
    // Nobody asked any server at all.
    let mut story = Story::new(OVERLAP);
    story.believes(0, Belief::Holding);
    story.believes(1, Belief::Holding);
    assert_eq!(story.why(), None);
    // A script set an expiry: for how long, only the server could say.
    let mut story = Story::new(OVERLAP);
    story.takes(0, "redis", "SET lock A-1 NX");
    story.millis = 60_000;
    story.takes(1, "redis", "SET lock B-2 NX PX 3000");
    assert_eq!(story.why(), None);
}

/// A and B have both seen one item, and then write at the same time.
fn at_once(write: &str, answers: [(u32, serde_json::Value); 2]) -> Story {
    let mut story = Story::new("sold > 1");
    story.moves(0, "GET stock", "1");
    story.moves(1, "GET stock", "1");
    let ops: Vec<OpId> = (0..2).map(|actor| story.sends(actor, "redis", write).0).collect();
    for (actor, answer) in answers {
        story.replies(ops[actor as usize], actor, answer);
        story.then(EventKind::Counted { actor: ActorId(actor), counter: "sold".to_owned(), by: 1 });
    }
    story
}

#[test]
fn of_two_that_were_on_their_way_at_once_only_a_counter_says_which_was_first() {
    let decr = at_once("DECR stock", [(0, 0.into()), (1, (-1).into())]);
    assert_eq!(decr.places(), Some((Kind::CheckThenAct, 3, 5, 6)));
    // Here A's was sent first, answered first, and carried out last: its reply shows that.
    let overtaken = at_once("DECR stock", [(0, (-1).into()), (1, 0.into())]);
    assert_eq!(overtaken.places(), Some((Kind::CheckThenAct, 1, 6, 7)));
    let set = at_once("SET stock 0", [(0, "OK".into()), (1, "OK".into())]);
    let (kind, first, between, second) = set.places().expect("explained");
    assert_eq!((kind, first, between, second), (Kind::BothLooked, 1, 3, 5));
    assert_eq!(
        set.why().expect("explained").text.en,
        "A's GET stock and B's both came before either's SET stock: one of the two acted on a value that was no \
         longer so."
    );
}

#[test]
fn a_clock_that_was_set_ahead_ends_a_lease() {
    let mut story = Story::new(OVERLAP);
    let first = story.takes(0, "redis", "SET lock A-1 NX PX 3000");
    story.holds("redis", Some(("A-1", 3000)));
    let set = story.fault(Fault::Skew { server: "redis".to_owned(), ahead_ms: 10_000 });
    story.holds("redis", None);
    let second = story.takes(1, "redis", "SET lock B-2 NX PX 3000");
    assert_eq!(story.places(), Some((Kind::ClockSet, first, set, second)));
    let text = story.why().expect("explained").text;
    assert!(text.en.contains("the clock of redis was set ahead"), "{}", text.en);
    assert!(text.zh.contains("redis 的时钟被拨快"), "{}", text.zh);
}

#[test]
fn a_pause_that_was_over_before_the_lease_is_not_to_blame() {
    let mut story = Story::new(OVERLAP);
    story.takes(0, "redis", "SET lock A-1 NX PX 3000");
    let client = || "A".to_owned();
    let frozen = story.fault(Fault::Freeze { client: client() });
    let mut thawed = story.log.clone();
    story.millis = 3000;
    story.takes(1, "redis", "SET lock B-2 NX PX 3000");
    assert_eq!(story.places().map(|(kind, _, between, _)| (kind, between)), Some((Kind::Frozen, frozen)));

    std::mem::swap(&mut story.log, &mut thawed);
    story.millis = 1000;
    story.fault(Fault::Thaw { client: client() });
    story.millis = 3000;
    let over = story.then(EventKind::Waited { actor: ActorId(1), label: "acquire".to_owned() });
    story.takes(1, "redis", "SET lock B-2 NX PX 3000");
    assert_eq!(story.places().map(|(kind, _, between, _)| (kind, between)), Some((Kind::LeaseEnded, over)));
}

#[test]
fn an_answer_that_was_long_on_its_way_is_believed_too_late() {
    let mut story = Story::new(OVERLAP);
    let (op, asked) = story.sends(0, "redis", "SET lock A-1 NX PX 3000");
    story.millis = 3000;
    let between = story.takes(1, "redis", "SET lock B-2 NX PX 3000");
    let answered = story.replies(op, 0, "OK");
    story.believes(0, Belief::Holding);
    assert_eq!(story.places(), Some((Kind::LateReply, asked, between, answered)));
    let text = story.why().expect("explained").text;
    assert_eq!(
        text.en,
        "B's SET lock came between A's SET lock and the reply to it: A believed an answer that was no longer so."
    );
}

#[test]
fn a_server_that_came_back_empty_has_lost_the_lock() {
    let mut story = Story::new(OVERLAP);
    let first = story.takes(0, "redis", "SET lock A-1 NX PX 30000");
    story.holds("redis", Some(("A-1", 30_000)));
    let server = || "redis".to_owned();
    story.fault(Fault::KillServer { server: server() });
    let back = story.fault(Fault::RestartServer { server: server() });
    story.holds("redis", None);
    let second = story.takes(1, "redis", "SET lock B-2 NX PX 30000");
    assert_eq!(story.places(), Some((Kind::Restarted, first, back, second)));
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
    let mut story = Story::new(OVERLAP);
    let first = story.takes(0, "zookeeper", "create -e /lock A");
    story.then(tree(Some("/lock")));
    let crashed = story.then(tree(None));
    let second = story.takes(1, "zookeeper", "create -e /lock B");
    assert_eq!(story.places(), Some((Kind::SessionEnded, first, crashed, second)));
}

#[test]
fn the_holder_nearest_to_the_breach_is_told_of() {
    // The first breach is that of A and B; B's own acquisition is its newest.
    let mut story = Story::new(OVERLAP);
    story.takes(0, "redis", "SET lock A-1 NX PX 3000");
    story.moves(0, "DEL lock", 1);
    story.believes(0, Belief::Nothing);
    let first = story.takes(0, "redis", "SET lock A-2 NX PX 3000");
    let deleted = story.moves(2, "DEL lock", 1);
    let second = story.takes(1, "redis", "SET lock B-2 NX PX 3000");
    assert_eq!(story.places(), Some((Kind::Deleted, first, deleted, second)));
}

#[test]
fn whoever_looked_again_acted_on_what_it_saw_last() {
    let mut story = Story::new("sold > 0");
    story.moves(0, "GET stock", "2");
    story.moves(1, "DECR stock", 1);
    let looked = story.moves(0, "GET stock", "1");
    let between = story.moves(2, "DECR stock", 0);
    let bought = story.moves(0, "DECR stock", -1);
    story.then(EventKind::Counted { actor: ActorId(0), counter: "sold".to_owned(), by: 1 });
    assert_eq!(story.places(), Some((Kind::CheckThenAct, looked, between, bought)));

    let mut story = Story::new("sold > 0");
    story.moves(0, "GET stock", "2");
    story.moves(1, "DECR stock", 1);
    story.moves(0, "GET stock", "1");
    story.moves(0, "DECR stock", 0);
    story.then(EventKind::Counted { actor: ActorId(0), counter: "sold".to_owned(), by: 1 });
    assert_eq!(story.why(), None, "it knew");
}

/// One item, and everybody looks and then buys, in this order: every two mentions of somebody are its look and its
/// purchase.
fn sale(order: &[u32]) -> (Story, Vec<(u32, bool, usize)>) {
    let mut story = Story::new("sold > 1");
    let (mut stock, mut looked) = (1, std::collections::BTreeMap::new());
    let mut made = Vec::new();
    for actor in order {
        match looked.get(actor) {
            None => {
                let sent = story.moves(*actor, "GET stock", stock.to_string());
                looked.insert(*actor, stock);
                made.push((*actor, false, sent));
            }
            Some(seen) if *seen > 0 => {
                stock -= 1;
                let sent = story.moves(*actor, "DECR stock", stock);
                story.then(EventKind::Counted { actor: ActorId(*actor), counter: "sold".to_owned(), by: 1 });
                made.push((*actor, true, sent));
            }
            Some(_) => {}
        }
    }
    (story, made)
}

/// Every order of these, each once.
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
        let (story, made) = sale(&order);
        let purchases: Vec<_> = made.iter().filter(|(_, bought, _)| *bought).collect();
        if purchases.len() < 2 {
            assert_eq!(breaches(&story.scenario, &story.log), Ok(vec![]));
            continue;
        }
        // The second purchase sold what was not there; the first one is what its buyer did not know of.
        let (buyer, _, second) = *purchases[1];
        let look = made.iter().find(|(actor, bought, _)| *actor == buyer && !bought);
        let wanted = (Kind::CheckThenAct, look.expect("it looked").2, purchases[0].2, second);
        assert_eq!(story.places(), Some(wanted), "{order:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_log_makes_it_panic(moves in proptest::collection::vec((0..4_u32, 0..12_u8, 0..3_i64), 0..24)) {
        for never in [OVERLAP, "deleted_by_another('lock') > 0", "herd() > 1", "moves('move') > 3"] {
            let mut story = Story::new(never);
            for (actor, what, number) in &moves {
                let (actor, number) = (*actor, *number);
                story.millis += number * 1000;
                let _: usize = match what {
                    0 => story.sends(actor, "redis", "SET lock A NX PX 1000").1,
                    1 => story.takes(actor, "other", "SET lock B NX EX 1"),
                    2 => story.moves(actor, "DEL lock", number),
                    3 => story.moves(actor, "PEXPIRE lock x", number),
                    4 => story.believes(actor, Belief::Holding),
                    5 => story.believes(actor, Belief::Nothing),
                    6 => story.holds("redis", (number > 0).then_some(("A", number))),
                    7 => story.fault(Fault::Freeze { client: "A".to_owned() }),
                    8 => story.fault(Fault::Skew { server: "redis".to_owned(), ahead_ms: number }),
                    9 => story.moves_on(actor, "zookeeper", "exists -w /lock", number),
                    10 => story.then(EventKind::Notified {
                        actor: ActorId(actor),
                        server: "zookeeper".to_owned(),
                        about: "/lock".to_owned(),
                        what: "NodeDeleted".to_owned(),
                    }),
                    _ => story.moves(actor, "EXPIRE", number),
                };
            }
            for breach in breaches(&story.scenario, &story.log).expect("it can be told") {
                if let Some(why) = explain(&story.scenario, &story.log, &breach) {
                    prop_assert!(why.first < why.between && why.between <= why.second, "{:?}", why);
                    prop_assert!(why.second < story.log.len(), "{:?}", why);
                }
            }
        }
    }
}
