//! Logs made by hand as real runs would write them, for tests of the screens and for benchmarks.

use std::collections::BTreeMap;

use lockstep::{
    clock::{ClockKind, LessonTime},
    log::{
        Actor, ActorId, AskedChoice, Belief, Command, Event, EventKind, Fault, KeyState, KeyValue, Keyspace,
        Log, Observed, OpId, Product, Reply, ServerInfo, ServerState, Stop, Znode, ZnodeTree,
    },
    text::Text,
};
use serde_json::json;

/// Writes a log, event by event.
#[derive(Debug, Default, Clone)]
pub struct Script {
    pub events: Vec<Event>,
    at: i64,
    op: u64,
    item: usize,
    server: String,
    space: Keyspace,
    tree: ZnodeTree,
}

pub fn redis(text: &str) -> Command {
    Command::from_text(text, Product::Redis)
}

impl Script {
    /// A log that begins with a lab of one server and these actors: name, client, crowd.
    pub fn new(product: &str, clock: ClockKind, actors: &[(String, String, bool)]) -> Self {
        let mut script = Self::default();
        let name = product.to_lowercase();
        script.server.clone_from(&name);
        script.add(EventKind::LabReady {
            lesson: "lesson".into(),
            variant: "variant".into(),
            clock,
            servers: vec![ServerInfo {
                version: if name == "redis" { "7.0.15" } else { "3.8.0" }.into(),
                product: product.into(),
                address: format!("/tmp/lockstep/{name}.sock"),
                password: None,
                name,
            }],
            actors: actors
                .iter()
                .map(|(name, client, crowd)| Actor {
                    name: name.clone(),
                    client: client.clone(),
                    crowd: *crowd,
                })
                .collect(),
            locks: Vec::new(),
            counters: Vec::new(),
        });
        script
    }

    pub fn add(&mut self, kind: EventKind) {
        self.events.push(Event { at: LessonTime::from_nanos(self.at), kind });
    }

    pub fn log(&self) -> Log {
        let mut log = Log::new();
        log.extend(self.events.iter().cloned());
        log
    }

    pub fn say(&mut self, en: &str, zh: &str) {
        let item = self.item;
        self.add(EventKind::Say { item, en: en.into(), zh: zh.into() });
        self.stop(Stop::Narration);
    }

    /// A question with its answers and what is wrong with them, each in English and in Chinese.
    pub fn ask(&mut self, q: (&str, &str), choices: &[(&str, &str)], why: (&str, &str)) -> usize {
        let text = |(en, zh): (&str, &str)| Text { en: en.into(), zh: zh.into() };
        let item = self.item;
        let choices = choices.iter().map(|says| AskedChoice { says: text(*says), why: Some(text(why)) });
        self.add(EventKind::Asked { item, q: text(q), choices: choices.collect() });
        self.stop(Stop::Question);
        item
    }

    pub fn stop(&mut self, stop: Stop) {
        let item = self.item;
        self.add(EventKind::Stop { item, stop });
        self.item += 1;
    }

    pub fn sent(&mut self, actor: u32, label: &str, wire: &str) -> OpId {
        self.op += 1;
        let (op, server) = (OpId(self.op), self.server.clone());
        self.at += 120_000;
        self.add(EventKind::Sent {
            op,
            actor: ActorId(actor),
            label: label.into(),
            server,
            command: redis(wire),
            releases: Vec::new(),
        });
        op
    }

    pub fn replied(&mut self, op: OpId, actor: u32, label: &str, reply: serde_json::Value) {
        self.at += 90_000;
        self.add(EventKind::Replied {
            op,
            actor: ActorId(actor),
            label: label.into(),
            reply: Reply::Value(reply).into(),
        });
    }

    /// A command and its reply.
    pub fn call(&mut self, actor: u32, label: &str, wire: &str, reply: serde_json::Value) {
        let op = self.sent(actor, label, wire);
        self.replied(op, actor, label, reply);
    }

    pub fn believes(&mut self, actor: u32, belief: Belief) {
        self.add(EventKind::Believes { actor: ActorId(actor), lock: "lock".into(), belief });
    }

    pub fn pass(&mut self, millis: i64) {
        self.at += millis * 1_000_000;
    }

    pub fn key(&mut self, name: &str, value: Option<&str>, ttl: Option<i64>) {
        match value {
            None => {
                self.space.keys.remove(name);
            }
            Some(value) => {
                let state = KeyState {
                    value: KeyValue::String(value.into()),
                    expires_at: ttl.map(|ttl| LessonTime::from_nanos(self.at + ttl * 1_000_000)),
                };
                self.space.keys.insert(name.into(), state);
            }
        }
        let observed = Observed::Redis(self.space.clone());
        self.add(EventKind::State(ServerState { server: "redis".into(), observed }));
    }

    pub fn tree(&mut self, change: impl FnOnce(&mut BTreeMap<String, Znode>)) {
        change(&mut self.tree.nodes);
        let observed = Observed::Zookeeper(self.tree.clone());
        self.add(EventKind::State(ServerState { server: "zookeeper".into(), observed }));
    }
}

pub fn alone(names: &[&str]) -> Vec<(String, String, bool)> {
    names.iter().map(|name| ((*name).to_owned(), (*name).to_owned(), false)).collect()
}

/// A's lease ends while it works, B locks, A deletes B's lock, C locks: two holders.
pub fn misdelete(clock: ClockKind) -> Script {
    let mut s = Script::new("Redis", clock, &alone(&["A", "B", "C"]));
    s.key("stock", Some("1"), None);
    s.say(
        "A takes the lock for 3 s with `SET lock token NX PX 3000`, but it has 4 s of work to do.",
        "A 用 `SET lock token NX PX 3000` 加锁，租约只有 3 秒，但它要干 4 秒的活。",
    );
    s.call(0, "acquire", "SET lock a-7f3c NX PX 3000", json!("OK"));
    s.believes(0, Belief::Holding);
    s.key("lock", Some("a-7f3c"), Some(3000));
    s.stop(Stop::Move);
    let until = LessonTime::from_nanos(s.at + 4_000_000_000);
    s.add(EventKind::Waits { actor: ActorId(0), label: "work".into(), until });
    s.call(1, "acquire", "SET lock b-19e0 NX PX 3000", json!(null));
    s.believes(1, Belief::Waiting);
    s.stop(Stop::Move);
    s.pass(3000);
    s.key("lock", None, None);
    s.stop(Stop::Passed);
    s.call(1, "acquire", "SET lock b-19e0 NX PX 3000", json!("OK"));
    s.believes(1, Belief::Holding);
    s.key("lock", Some("b-19e0"), Some(3000));
    s.stop(Stop::Move);
    s.say(
        "A's lease is over and B holds the lock now – but A does not know. Both believe that they are alone.",
        "A 的租约已经到期，锁现在归 B，可是 A 并不知道。两个客户端都以为只有自己持有锁。",
    );
    s.pass(1000);
    s.add(EventKind::Waited { actor: ActorId(0), label: "work".into(), in_vain: false });
    s.stop(Stop::Passed);
    s.call(0, "release", "DEL lock", json!(1));
    s.believes(0, Belief::Nothing);
    s.key("lock", None, None);
    s.stop(Stop::Move);
    s.call(2, "acquire", "SET lock c-55d1 NX PX 3000", json!("OK"));
    s.believes(2, Belief::Holding);
    s.key("lock", Some("c-55d1"), Some(3000));
    s.stop(Stop::Move);
    s.say(
        "`DEL` removed B's lock, and C walked in. B and C now work at the same time.",
        "`DEL` 删掉的是 B 的锁，于是 C 闯了进来。现在 B 和 C 在同时干活。",
    );
    s.add(EventKind::Fault(Fault::Crash { client: "B".into() }));
    s.stop(Stop::End);
    s
}

/// The same story as [`misdelete`], with a release that checks the owner: B's lock stays, and C is kept out.
pub fn owner_check(clock: ClockKind) -> Script {
    let mut s = Script::new("Redis", clock, &alone(&["A", "B", "C"]));
    s.key("stock", Some("1"), None);
    s.call(0, "acquire", "SET lock a-7f3c NX PX 3000", json!("OK"));
    s.believes(0, Belief::Holding);
    s.key("lock", Some("a-7f3c"), Some(3000));
    s.stop(Stop::Move);
    let until = LessonTime::from_nanos(s.at + 2_500_000_000);
    s.add(EventKind::Waits { actor: ActorId(0), label: "work".into(), until });
    s.call(1, "acquire", "SET lock b-19e0 NX PX 3000", json!(null));
    s.believes(1, Belief::Waiting);
    s.stop(Stop::Move);
    s.pass(2500);
    s.add(EventKind::Waited { actor: ActorId(0), label: "work".into(), in_vain: false });
    s.believes(0, Belief::Nothing);
    s.stop(Stop::Passed);
    s.pass(500);
    s.key("lock", None, None);
    s.stop(Stop::Passed);
    s.call(1, "acquire", "SET lock b-19e0 NX PX 3000", json!("OK"));
    s.believes(1, Belief::Holding);
    s.key("lock", Some("b-19e0"), Some(3000));
    s.stop(Stop::Move);
    s.pass(1000);
    s.stop(Stop::Passed);
    s.call(0, "release", "EVAL release_if_owner 1 lock a-7f3c", json!(0));
    s.stop(Stop::Move);
    s.call(2, "acquire", "SET lock c-55d1 NX PX 3000", json!(null));
    s.believes(2, Belief::Waiting);
    s.stop(Stop::End);
    s
}

/// Ten buyers read the same stock, then all sell: one item, ten sales.
pub fn oversell() -> Script {
    let actors: Vec<_> = (1..=10).map(|n| (format!("B{n}"), "B".to_owned(), false)).collect();
    let mut s = Script::new("Redis", ClockKind::Controlled, &actors);
    s.key("stock", Some("1"), None);
    s.say("Ten buyers look at one item at once.", "十个买家同时看到同一件商品。");
    let ops: Vec<_> = (0..10).map(|n| s.sent(n, "read", "GET stock")).collect();
    for (n, op) in (0..10).zip(ops) {
        s.replied(op, n, "read", json!("1"));
    }
    s.stop(Stop::Move);
    for n in 0..10 {
        s.call(n, "sell", "DECR stock", json!(-i64::from(n)));
        s.key("stock", Some(&(-i64::from(n)).to_string()), None);
        s.add(EventKind::Counted { actor: ActorId(n), counter: "sold".into(), by: 1 });
        s.stop(Stop::Move);
    }
    s.say("Sold 10 of 1.", "一件商品卖出了十次。");
    s.stop(Stop::End);
    s
}

/// A crowd of waiters that all watch one znode, and releases of it.
pub fn herd(members: u32, releases: u32) -> Script {
    let mut actors = alone(&["H", "A"]);
    actors.extend((1..=members).map(|n| (format!("W{n}"), "W".to_owned(), true)));
    let mut s = Script::new("ZooKeeper", ClockKind::Controlled, &actors);
    let session = |actor: u32| 0x1000_0000 + i64::from(actor);
    for actor in 0..members + 2 {
        s.add(EventKind::Session {
            actor: ActorId(actor),
            server: "zookeeper".into(),
            session: session(actor),
        });
    }
    s.call(0, "create", "create -e /lock", json!("/lock"));
    s.believes(0, Belief::Holding);
    let lock = |owner: i64, watchers: Vec<i64>| Znode { owner: Some(owner), watchers, ..Znode::default() };
    s.tree(|nodes| {
        nodes.insert("/lock".into(), lock(session(0), vec![]));
    });
    s.stop(Stop::Move);
    for n in 2..members + 2 {
        s.call(n, "watch", "exists -w /lock", json!({"czxid": 5}));
        s.believes(n, Belief::Waiting);
    }
    let watchers: Vec<i64> = (2..members + 2).map(session).collect();
    s.tree(|nodes| {
        nodes.insert("/lock".into(), lock(session(0), watchers.clone()));
    });
    s.stop(Stop::Move);
    s.say(
        "Everybody watches one node. Watch what one release does.",
        "所有人都在监听同一个节点。看看一次释放会怎样。",
    );
    for release in 0..releases {
        let holder = if release == 0 { 0 } else { 1 + release };
        s.pass(500);
        s.call(holder, "release", "delete /lock", json!(null));
        s.believes(holder, Belief::Nothing);
        s.tree(|nodes| {
            nodes.remove("/lock");
        });
        for n in 2..members + 2 {
            s.add(EventKind::Notified {
                actor: ActorId(n),
                server: "zookeeper".into(),
                about: "/lock".into(),
                what: "NodeDeleted".into(),
            });
        }
        s.stop(Stop::Move);
        let next = 2 + release;
        s.call(next, "create", "create -e /lock", json!("/lock"));
        s.believes(next, Belief::Holding);
        s.tree(|nodes| {
            nodes.insert("/lock".into(), lock(session(next), watchers.clone()));
        });
        s.stop(Stop::Move);
    }
    s
}

/// Three lanes and a long story.
pub fn long(rounds: u32) -> Script {
    let mut s = Script::new("Redis", ClockKind::Controlled, &alone(&["A", "B", "C"]));
    for round in 0..rounds {
        let actor = round % 3;
        s.call(actor, "acquire", "SET lock token NX PX 3000", json!("OK"));
        s.believes(actor, Belief::Holding);
        s.key("lock", Some("token"), Some(3000));
        s.pass(20);
        s.call(actor, "release", "DEL lock", json!(1));
        s.believes(actor, Belief::Nothing);
        s.key("lock", None, None);
        s.stop(Stop::Move);
    }
    s
}

/// A question with long texts before the only move of a lesson; the second choice is right.
pub fn question() -> Script {
    let actors = [("A".into(), "A".into(), false)];
    let mut s = Script::new("Redis", ClockKind::Controlled, &actors);
    s.say("A looks at the stock.", "A 查库存。");
    let item = s.ask(
        (
            "The stock is 1, and ten buyers have looked at it at the same moment, before anybody has written. What will the \
             last of their ten decrements leave?",
            "库存为 1，十个买家在任何人写入之前同时查了库存。十次扣减全部执行之后，最后剩下多少？",
        ),
        &[
            ("0, because Redis runs commands one at a time", "0，因为 Redis 单线程逐条执行命令"),
            ("-9", "-9"),
            ("1, because nine of them are refused", "1，因为其中九个会被拒绝"),
            ("It depends on who comes first", "要看谁先来"),
        ],
        (
            "Each decrement is atomic, but none of them looks at the stock again, so nobody is refused.",
            "每次扣减都是原子的，但没有人会再查一次库存，所以谁也不会被拒绝。",
        ),
    );
    s.call(0, "buy", "DECR stock", json!(-9));
    let why = Text::new(
        "Redis runs one command at a time, and DECR does not know that zero is special.",
        "Redis 一次只执行一条命令，而 DECR 并不知道零有什么特别。",
    );
    s.add(EventKind::Decided { item, right: vec![1], why: Some(why) });
    s.stop(Stop::Move);
    s.say("Sold out, and more.", "卖光了，还不止。");
    s
}
