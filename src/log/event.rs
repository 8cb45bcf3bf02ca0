//! The events. Each records what happened, to which actor, server or link, and at which lesson time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    fault::Fault,
    lock::{CounterInfo, LockInfo},
    product::{Command, ServerState, sentinel::SentinelNotice, with_text},
    reply::Reply,
};
use crate::{
    clock::{ClockKind, LessonTime},
    text::Text,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When it happened, in lesson time (nanoseconds since the lesson began). Never earlier than the event before it.
    pub at: LessonTime,
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// The Sentinel and its message, for an event of that kind.
    pub(crate) fn of_sentinel(&self) -> Option<(&str, &SentinelNotice)> {
        match &self.kind {
            EventKind::Sentinel { sentinel, notice } => Some((sentinel, notice)),
            _ => None,
        }
    }
}

/// An actor's index in the list of [`EventKind::LabReady`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ActorId(pub u32);

/// Something that makes moves: a client, one thread of a client, or one member of a crowd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Its unique name: `A`, `P1.3` (thread 3 of client P1), `W17` (member 17 of crowd W).
    pub name: String,
    /// The client (the process) that it runs in: `A`, `P1`, `W`.
    pub client: String,
    /// Whether it is a member of a crowd, so that views may fold it.
    pub crowd: bool,
}

/// The number of an operation in flight, unique in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OpId(pub u64);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Its name in the lab: `redis`, `zookeeper`.
    pub name: String,
    /// Its product: `Redis`, `ZooKeeper`.
    pub product: String,
    pub version: String,
    /// Where programs outside Lockstep can connect: a Unix socket's path or `127.0.0.1:PORT`.
    pub address: String,
    /// The password for `address`, if it needs one. Never written to files.
    #[serde(skip)]
    pub password: Option<String>,
}

/// Former names of the servers of a lab with Sentinels, from before names stopped stating roles, which change.
const FORMER_NAMES: [(&str, &str); 3] = [("master", "node1"), ("replica1", "node2"), ("replica2", "node3")];

/// Whether `server` is the server that a lesson calls `name`. Either may still use a former name: lessons and
/// recordings may be older than the other.
pub fn is_server_called(server: &str, name: &str) -> bool {
    let pairs = [(name, server), (server, name)];
    server == name || pairs.iter().any(|pair| FORMER_NAMES.contains(pair))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Belief {
    Holding,
    /// It holds the lock together with others, as a reader does.
    Sharing,
    /// The lock is held by another actor, and this one waits for it.
    Waiting,
    /// It cannot be sure: a reply was lost, or the session is suspended.
    Unsure,
    /// It does not hold the lock and does not ask for it.
    Nothing,
}

impl Belief {
    /// Parses the belief, and the lock, that a program reports in a line of its output: the last two words are `HOLDS
    /// lock`, `SHARES lock`, `WAITS lock` or `DROPS lock`. Words before them, such as a logger's prefix, are ignored.
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

/// Why playback may stop here: the kinds of ends of a learner's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After a narration, so that it can be read before anything else happens.
    Narration,
    /// After a question, so that it can be answered before anything else happens.
    Question,
    /// After a move, or a group of simultaneous moves.
    Move,
    Passed,
    Fault,
    End,
}

/// What may be chosen in free play. The choices of a log, made again on a fresh lab, repeat the run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum Choice {
    Move {
        actor: ActorId,
    },
    /// Time passes until the first wait of any actor is over.
    Timer,
    /// A fixed amount of time passes; waits that end meanwhile end.
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
    /// Why it is wrong, if it can be wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The servers answer and the clients are ready. Always the first event.
    LabReady {
        lesson: String,
        variant: String,
        /// The clock of the run, which decides whether time can be stopped.
        clock: ClockKind,
        servers: Vec<ServerInfo>,
        /// All actors, in the lesson's order: actor `n` is `ActorId(n)`.
        actors: Vec<Actor>,
        /// What the lesson declares about its locks. A lock not listed here allows one holder.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        locks: Vec<LockInfo>,
        /// The titles of the lesson's counters.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        counters: Vec<CounterInfo>,
    },
    Session {
        actor: ActorId,
        server: String,
        /// The session id, as the server shows it to other clients (`ephemeralOwner`).
        session: i64,
    },
    /// A narration: item `item` of the story, whose text the lesson has in both languages.
    Say {
        /// Index of the step in the variant's story.
        item: usize,
        /// The text in English, with its values filled in.
        en: String,
        /// The text in Chinese, with its values filled in.
        zh: String,
    },
    /// The learner is asked what will happen. The answer is not in the log: it is the viewer's, not an event of the
    /// run.
    Asked {
        /// Index of the step in the variant's story.
        item: usize,
        q: Text,
        choices: Vec<AskedChoice>,
    },
    /// The question at `item` is resolved: these choices were right.
    Decided {
        /// Index of the question's step in the variant's story.
        item: usize,
        /// The right choices, as indices into the question's.
        right: Vec<usize>,
        /// Why it turned out so, whatever was chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Text>,
    },
    /// A choice not made by a story: by the learner, or by exploring. Its consequences follow, up to the next stop.
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
        /// The locks whose release it requests: its sender no longer holds them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        releases: Vec<String>,
    },
    /// The server received an operation and does not answer yet: the operation waits there for another client, or for
    /// time to pass.
    Blocked {
        op: OpId,
        actor: ActorId,
        label: String,
    },
    /// The reply of an operation arrived, or is known never to arrive.
    Replied {
        op: OpId,
        actor: ActorId,
        /// The operation's label, repeated so that claims need not look it up.
        label: String,
        /// Shared: a list of 900 names is kept by the log, by the world and by the verdict.
        reply: Arc<Reply>,
    },
    /// An actor began to wait for time to pass: work, or a pause before a retry.
    Waits {
        actor: ActorId,
        label: String,
        until: LessonTime,
    },
    Waited {
        actor: ActorId,
        label: String,
        /// Whether it waited for a notification that did not come.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_vain: bool,
    },
    /// A notification arrived at a client and is queued there: a fired watch, a published message.
    Notified {
        actor: ActorId,
        server: String,
        /// Its subject: a path or a channel.
        about: String,
        /// Its content, in the server's words: `NodeDeleted`.
        what: String,
    },
    /// An actor took a notification from its queue and acts on it.
    Took {
        actor: ActorId,
        label: String,
        about: String,
        what: String,
    },
    /// An actor's belief about a lock changed.
    Believes {
        actor: ActorId,
        lock: String,
        belief: Belief,
    },
    /// A user's program printed a line, or Lockstep remarks on that program.
    Said {
        actor: ActorId,
        text: String,
        /// Whether the line went to standard error.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stderr: bool,
        /// The text in Chinese, if it is a remark of Lockstep's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zh: Option<String>,
    },
    Counted {
        actor: ActorId,
        counter: String,
        by: i64,
    },
    /// An observation found a server's state changed.
    State(ServerState),
    /// A metric that the server itself reports: `zk_sum_node_deleted_watch_count`.
    Metric {
        server: String,
        /// The metric's name in the server's words.
        name: String,
        value: i64,
    },
    /// A Sentinel published what it noticed, voted or did.
    Sentinel {
        sentinel: String,
        #[serde(flatten)]
        notice: SentinelNotice,
    },
    Fault(Fault),
    /// A server process ended by itself.
    ServerDied {
        server: String,
        /// How it ended, and the last lines of its own log.
        why: String,
    },
    /// Outside stories: an actor met a result that its program does not handle, and ended, as with an uncaught
    /// exception. What it holds on a server stays.
    GaveUp {
        actor: ActorId,
        /// The result that it did not handle.
        why: Text,
    },
    /// An invariant was broken.
    Breached {
        /// Index of the invariant among the variant's, from 0.
        invariant: usize,
        /// A sentence that describes the breach.
        says: Text,
        /// Which move, fault or passing of time came between which two, if the log shows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Text>,
        /// The events that prove it, as indices into the log.
        evidence: Vec<usize>,
        /// The event that broke it, if that is known: invariants are judged at the end of a step, and a step may be
        /// long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<usize>,
    },
    /// A broken invariant holds again. A breach by an act, such as deleting another's lock, ends in the step in which
    /// it began.
    BreachEnded {
        invariant: usize,
        /// The event that restored it, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<usize>,
    },
    Finished {
        actor: ActorId,
    },
    /// The learner may stop here: everything since the previous stop belongs to one step.
    Stop {
        /// Index of the step in the variant's story; after the learner has left the story, of the step that would have
        /// come next.
        item: usize,
        stop: Stop,
    },
}

impl EventKind {
    /// The actor and the label of an operation that ends with this event.
    pub fn answers(&self) -> Option<(ActorId, &str)> {
        match self {
            Self::Replied { actor, label, .. }
            | Self::Took { actor, label, .. }
            | Self::Waited { actor, label, in_vain: true } => Some((*actor, label)),
            _ => None,
        }
    }

    /// The answer to that operation, as programs and claims see it.
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

    /// The actor that this event is about; `None` for events of the narrator, a server or a fault.
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
