//! Logs for tests, built event by event.

use std::{ops::Deref, time::Duration};

use proptest::{sample, strategy::Strategy};
use serde_json::Value;

use super::{
    Actor, ActorId, Belief, Command, Event, EventKind, Fault, KeyState, KeyValue, Keyspace, Log, Observed,
    OpId, Product, Reply, ServerInfo, ServerState, Stop,
};
use crate::clock::{ClockKind, LessonTime};

/// An actor by its name: `A.work` is a thread of the client `A`.
pub fn actor(name: &str) -> Actor {
    let client = name.split_once('.').map_or(name, |(client, _)| client);
    Actor { name: name.to_owned(), client: client.to_owned(), crowd: false }
}

/// The members `W1`, `W2`, … of the crowd `W`.
pub fn crowd(members: u32) -> impl Iterator<Item = Actor> {
    (1..=members).map(|n| Actor { crowd: true, client: "W".to_owned(), ..actor(&format!("W{n}")) })
}

/// The first event of every log.
pub fn ready(servers: &[&str], actors: impl IntoIterator<Item = Actor>) -> EventKind {
    let server = |name: &&str| ServerInfo {
        name: (*name).to_owned(),
        product: if *name == "zookeeper" { "ZooKeeper" } else { "Redis" }.to_owned(),
        version: "1.0".to_owned(),
        address: "127.0.0.1:1".to_owned(),
        password: None,
    };
    EventKind::LabReady {
        lesson: "my-lock".to_owned(),
        variant: "blind-del".to_owned(),
        clock: ClockKind::Recorded,
        servers: servers.iter().map(server).collect(),
        actors: actors.into_iter().collect(),
        locks: Vec::new(),
        counters: Vec::new(),
    }
}

pub fn any_belief() -> impl Strategy<Value = Belief> {
    sample::select(vec![Belief::Holding, Belief::Sharing, Belief::Waiting, Belief::Unsure, Belief::Nothing])
}

/// A command is sent. An operation labelled `release` requests the release of the lock `lock`.
pub fn sent(op: u64, actor: u32, server: &str, label: &str, wire: &str) -> EventKind {
    let command = match server {
        "local" => Command::local_from_text(wire),
        "zookeeper" => Command::from_text(wire, Product::Zookeeper),
        _ => Command::from_text(wire, Product::Redis),
    };
    EventKind::Sent {
        op: OpId(op),
        actor: ActorId(actor),
        label: label.to_owned(),
        server: server.to_owned(),
        command,
        releases: (label == "release").then(|| "lock".to_owned()).into_iter().collect(),
    }
}

pub fn replied(op: u64, actor: u32, label: &str, reply: Reply) -> EventKind {
    EventKind::Replied { op: OpId(op), actor: ActorId(actor), label: label.to_owned(), reply: reply.into() }
}

pub fn believes(actor: u32, belief: Belief) -> EventKind {
    EventKind::Believes { actor: ActorId(actor), lock: "lock".to_owned(), belief }
}

pub fn counted(actor: u32) -> EventKind {
    EventKind::Counted { actor: ActorId(actor), counter: "sold".to_owned(), by: 1 }
}

pub fn waited(actor: u32) -> EventKind {
    EventKind::Waited { actor: ActorId(actor), label: "work".to_owned(), in_vain: false }
}

pub fn notified(actor: u32, path: &str, what: &str) -> EventKind {
    EventKind::Notified {
        actor: ActorId(actor),
        server: "zookeeper".to_owned(),
        about: path.to_owned(),
        what: what.to_owned(),
    }
}

pub fn crash(client: &str) -> EventKind {
    EventKind::Fault(Fault::Crash { client: client.to_owned() })
}

/// An observation of a Redis server: it holds the key `lock`, or nothing.
pub fn holds(server: &str, lock: Option<(&str, Option<LessonTime>)>) -> EventKind {
    let key = lock.map(|(value, expires_at)| {
        ("lock".to_owned(), KeyState { value: KeyValue::String(value.to_owned()), expires_at })
    });
    let observed = Observed::Redis(Keyspace { keys: key.into_iter().collect(), ..Keyspace::default() });
    EventKind::State(ServerState { server: server.to_owned(), observed })
}

/// A growing log. Methods that append an event return its index.
#[derive(Debug, Clone)]
pub struct LogBuilder {
    log: Log,
    next: LessonTime,
    tick: Duration,
}

impl LogBuilder {
    /// Only the first event, at time zero. A millisecond passes after each event.
    pub fn new(ready: EventKind) -> Self {
        let builder = Self { log: Log::from_iter([ready]), next: LessonTime::ZERO, tick: Duration::ZERO };
        builder.ticking(Duration::from_millis(1))
    }

    /// From now on `tick` passes after each event.
    pub fn ticking(mut self, tick: Duration) -> Self {
        (self.next, self.tick) = (self.time_at(self.len()) + tick, tick);
        self
    }

    /// Sets the time of the next event and those after it: no time passes by itself any more.
    pub fn at(&mut self, millis: i64) -> &mut Self {
        (self.next, self.tick) = (LessonTime::from_millis(millis), Duration::ZERO);
        self
    }

    pub fn pass(&mut self, time: Duration) -> &mut Self {
        self.next += time;
        self
    }

    pub fn finish(self) -> Log {
        self.log
    }

    pub fn add(&mut self, kind: EventKind) -> usize {
        self.log.append(Event { at: self.next, kind });
        self.next += self.tick;
        self.log.len() - 1
    }

    /// Sends a Redis command, or, if the first word is in small letters, a call to ZooKeeper (`create`) or to a lock
    /// within the process (`lock`).
    pub fn sends(&mut self, actor: u32, label: &str, wire: &str) -> usize {
        let server = match wire.split(' ').next() {
            Some("lock" | "unlock") => "local",
            Some("create" | "delete" | "exists" | "get" | "ls" | "set") => "zookeeper",
            _ => "redis",
        };
        self.sends_to(actor, server, label, wire)
    }

    pub fn sends_to(&mut self, actor: u32, server: &str, label: &str, wire: &str) -> usize {
        self.add(sent(self.log.len() as u64, actor, server, label, wire))
    }

    /// Answers the command that was sent in the event `to`.
    pub fn replies(&mut self, to: usize, reply: impl Into<Value>) -> usize {
        self.answers(to, Reply::Value(reply.into()))
    }

    /// As [`Self::replies`], with any reply, such as an error or a lost one.
    pub fn answers(&mut self, to: usize, reply: Reply) -> usize {
        let EventKind::Sent { op, actor, label, .. } = self.events()[to].kind.clone() else {
            panic!("{to} was not sent");
        };
        self.add(EventKind::Replied { op, actor, label, reply: reply.into() })
    }

    /// Sends a command and its reply. Returns the index of the command.
    pub fn moves(&mut self, actor: u32, label: &str, wire: &str, reply: impl Into<Value>) -> usize {
        let sent = self.sends(actor, label, wire);
        self.replies(sent, reply);
        sent
    }

    pub fn believes(&mut self, actor: u32, belief: Belief) -> usize {
        self.add(believes(actor, belief))
    }

    pub fn stop(&mut self) -> usize {
        self.add(EventKind::Stop { item: 0, stop: Stop::Move })
    }
}

impl Deref for LogBuilder {
    type Target = Log;

    fn deref(&self) -> &Log {
        &self.log
    }
}
