//! The events. Each says what happened, to whom, and at which lesson time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    fault::Fault,
    lock::LockInfo,
    product::{Command, ServerState, sentinel::SentinelNotice, with_text},
    reply::Reply,
};
use crate::{
    clock::{ClockKind, LessonTime},
    text::Text,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, in lesson time (nanoseconds since the clock was made). Never smaller than that of the event
    /// before it.
    pub at: LessonTime,
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// Which Sentinel says what.
    pub(crate) fn of_sentinel(&self) -> Option<(&str, &SentinelNotice)> {
        match &self.kind {
            EventKind::Sentinel { sentinel, notice } => Some((sentinel, notice)),
            _ => None,
        }
    }
}

/// An actor's place in the list that [`EventKind::LabReady`] spells out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ActorId(pub u32);

/// Something that makes moves: a client, one thread of a client, or one member of a crowd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Its unique name: `A`, `P1.3` (thread 3 of client P1), `W17` (member 17 of crowd W).
    pub name: String,
    /// The client, that is the process, that it lives in: `A`, `P1`, `W`.
    pub client: String,
    /// Whether it is one of a crowd, so that views may fold it.
    pub crowd: bool,
}

/// The number of an operation in flight, unique in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OpId(pub u64);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Its name in the lab: `redis`, `zookeeper`.
    pub name: String,
    /// The product that it is: `Redis`, `ZooKeeper`.
    pub product: String,
    pub version: String,
    /// Where anybody can reach it from outside: a Unix socket's path or `127.0.0.1:PORT`.
    pub address: String,
    /// What has to be said there, where not everybody who can reach it may ask. It is never written down.
    #[serde(skip)]
    pub password: Option<String>,
}

/// What the servers of a lab with Sentinels were called before their names said nothing of roles that change.
const FORMER_NAMES: [(&str, &str); 3] = [("master", "node1"), ("replica1", "node2"), ("replica2", "node3")];

/// Whether a server is the one that a lesson names. Lessons and recordings may be older than the other.
pub fn is_server_called(server: &str, name: &str) -> bool {
    let pairs = [(name, server), (server, name)];
    server == name || pairs.iter().any(|pair| FORMER_NAMES.contains(pair))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Belief {
    Holding,
    /// "I hold it together with others", as a reader does.
    Sharing,
    /// "It is somebody else's and I wait for it."
    Waiting,
    /// "I cannot be sure": a reply was lost, or the session is suspended.
    Unsure,
    /// "I do not have it and do not ask for it."
    Nothing,
}

impl Belief {
    /// What a line that a program prints says that it believes, and of which lock: its last two words are `HOLDS lock`,
    /// `SHARES lock`, `WAITS lock` or `DROPS lock`. What stands before them is a logger's.
    pub fn printed(line: &str) -> Option<(Self, &str)> {
        let mut words = line.split_whitespace().rev();
        let lock = words.next()?;
        let belief = match words.next()? {
            "HOLDS" => Self::Holding,
            "SHARES" => Self::Sharing,
            "DROPS" => Self::Nothing,
            "WAITS" => Self::Waiting,
            _ => return None,
        };
        Some((belief, lock))
    }

    pub fn holds(self) -> bool {
        matches!(self, Self::Holding | Self::Sharing)
    }
}

/// Why the log may be stopped at here: the ends of the steps that a learner takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// A narration is to be read before anything else happens.
    Narration,
    /// A question is to be answered before anything else happens.
    Question,
    /// A move, or a group of moves made at once, is over.
    Move,
    Passed,
    Fault,
    End,
}

/// What may be chosen where no story says what happens next. A log's choices, carried out again on a fresh lab, make
/// the same run again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum Choice {
    Move {
        actor: ActorId,
    },
    /// Time passes until the first wait of anybody is over.
    Timer,
    /// So much time passes, and waits that end meanwhile end.
    Pass {
        /// In milliseconds of lesson time.
        millis: u64,
    },
    #[serde(rename = "cause")]
    Inject(Fault),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedChoice {
    /// The answer, with its values filled in.
    pub says: Text,
    /// Why it is wrong, where it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The servers answer and the clients stand by. Always the first event.
    LabReady {
        lesson: String,
        variant: String,
        /// Whether time can be stopped.
        clock: ClockKind,
        servers: Vec<ServerInfo>,
        /// Everybody who may move, in the lesson's order: actor `n` is `ActorId(n)`.
        actors: Vec<Actor>,
        /// What the lesson says of its locks. Of any other, one may hold it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        locks: Vec<LockInfo>,
    },
    Session {
        actor: ActorId,
        server: String,
        /// The session id, as the server names it to others (`ephemeralOwner`).
        session: i64,
    },
    /// The narrator speaks: item `item` of the story, whose text the lesson has in both languages.
    Say {
        /// Index of the step in the variant's story.
        item: usize,
        /// The text in English, with its values filled in.
        en: String,
        /// The text in Chinese, with its values filled in.
        zh: String,
    },
    /// The learner is asked what will happen. The answer is not written down: a log holds what happened, and the
    /// answer is what somebody who watches thinks.
    Asked {
        /// Index of the step in the variant's story.
        item: usize,
        q: Text,
        choices: Vec<AskedChoice>,
    },
    /// What was asked at `item` has happened, and this is what was right.
    Decided {
        /// The question's step in the variant's story.
        item: usize,
        /// The right choices: indices into the question's.
        right: Vec<usize>,
        /// Why it came so, whatever was chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Text>,
    },
    /// Somebody who is not the story chose what happens next: the learner, or whoever tries all orders. What it led to
    /// follows, up to the next stop.
    Chose(Choice),
    /// An operation left a client.
    Sent {
        op: OpId,
        actor: ActorId,
        label: String,
        /// The server, or `local` for a lock inside the client's process.
        server: String,
        #[serde(flatten, with = "with_text")]
        command: Command,
        /// The locks whose release it asks for: its sender holds them no longer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        releases: Vec<String>,
    },
    /// Its server has it and does not answer yet: it waits there for what another does, or for time to pass.
    Blocked {
        op: OpId,
        actor: ActorId,
        label: String,
    },
    /// Its reply arrived, or will never arrive.
    Replied {
        op: OpId,
        actor: ActorId,
        /// The operation's label, repeated so that a claim needs no look back.
        label: String,
        /// Shared: a list of 900 names is kept by the log, by the world and by what judges claims.
        reply: Arc<Reply>,
    },
    /// An actor began to wait for time to pass: work, or a pause before it tries again.
    Waits {
        actor: ActorId,
        label: String,
        until: LessonTime,
    },
    Waited {
        actor: ActorId,
        label: String,
        /// Whether it waited for a notification, and none came.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_vain: bool,
    },
    /// A notification arrived at a client and waits in its queue: a fired watch, a published message.
    Notified {
        actor: ActorId,
        server: String,
        /// What about: a path or a channel.
        about: String,
        /// What happened there, in the server's words: `NodeDeleted`.
        what: String,
    },
    /// An actor took a notification from its queue and acts on it.
    Took {
        actor: ActorId,
        label: String,
        about: String,
        what: String,
    },
    /// An actor changed its mind about a lock.
    Believes {
        actor: ActorId,
        lock: String,
        belief: Belief,
    },
    /// A program that a user brought printed a line, or Lockstep has a remark on that program.
    Said {
        actor: ActorId,
        text: String,
        /// Whether the line went to standard error.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stderr: bool,
        /// The same in Chinese, where it is a remark of Lockstep's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zh: Option<String>,
    },
    Counted {
        actor: ActorId,
        counter: String,
        by: i64,
    },
    /// A server's state was seen to have changed.
    State(ServerState),
    /// A server's own counter, read from the server: `zk_sum_node_deleted_watch_count`.
    Metric {
        server: String,
        /// The counter's name in the server's words.
        name: String,
        value: i64,
    },
    /// A Sentinel told those who listen to it what it noticed, voted or did.
    Sentinel {
        sentinel: String,
        #[serde(flatten)]
        notice: SentinelNotice,
    },
    Fault(Fault),
    /// A server ended by itself.
    ServerDied {
        server: String,
        /// How, and the last lines of its own log.
        why: String,
    },
    /// Where no story is followed: an actor met what its program cannot cope with, and ended there, as with an
    /// exception that nobody catches. Whatever it holds on a server stays.
    GaveUp {
        actor: ActorId,
        /// What it could not cope with.
        why: Text,
    },
    /// What must never be so is so.
    Breached {
        /// Which of the variant's invariants, from 0.
        invariant: usize,
        /// What has happened, in a sentence.
        says: Text,
        /// Which move, fault or passing of time came between which two, where the log says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Text>,
        /// The events that prove it: indices into the log.
        evidence: Vec<usize>,
        /// The event with which it was so first, where that is known: it is found at the end of its step, and a step may be long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<usize>,
    },
    /// What was broken is so no more. What was only done, such as deleting another's lock, is over in the step in which it was.
    BreachEnded {
        invariant: usize,
        /// The event with which it was so no more, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<usize>,
    },
    Finished {
        actor: ActorId,
    },
    /// The learner may stop here: everything before belongs to one step.
    Stop {
        /// Index of the step in the variant's story; of the one that would have come next, where the learner has left
        /// the story.
        item: usize,
        stop: Stop,
    },
}

impl EventKind {
    /// Of the end of an operation: whose it is, and its label.
    pub fn answers(&self) -> Option<(ActorId, &str)> {
        match self {
            Self::Replied { actor, label, .. }
            | Self::Took { actor, label, .. }
            | Self::Waited { actor, label, in_vain: true } => Some((*actor, label)),
            _ => None,
        }
    }

    /// What programs and claims see as the answer to an operation of that kind.
    pub fn answer(&self) -> Option<Arc<Reply>> {
        match self {
            Self::Replied { reply, .. } => Some(Arc::clone(reply)),
            Self::Took { about, what, .. } => {
                Some(Reply::Value(serde_json::json!({ "about": about, "what": what })).into())
            }
            Self::Waited { in_vain: true, .. } => Some(Reply::Value(serde_json::Value::Null).into()),
            _ => None,
        }
    }

    /// Whose doing or experience it is; nobody's where the narrator, a server or a fault is at work.
    pub fn actor(&self) -> Option<ActorId> {
        match self {
            Self::Session { actor, .. }
            | Self::Chose(Choice::Move { actor })
            | Self::Sent { actor, .. }
            | Self::Blocked { actor, .. }
            | Self::Replied { actor, .. }
            | Self::Waits { actor, .. }
            | Self::Waited { actor, .. }
            | Self::Notified { actor, .. }
            | Self::Took { actor, .. }
            | Self::Believes { actor, .. }
            | Self::Said { actor, .. }
            | Self::Counted { actor, .. }
            | Self::GaveUp { actor, .. }
            | Self::Finished { actor } => Some(*actor),
            _ => None,
        }
    }
}
