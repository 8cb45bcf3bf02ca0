//! The gate between a program that a user brought and its link to a server: it holds each request until its turn, and
//! tells what the program does. To whoever drives clients it is one more client that speaks their protocol.
//!
//! It must not know lessons or locks. The program is any program: whatever it sends is bounded, and hurts nobody else.

use std::{
    collections::{BTreeMap, VecDeque},
    future::poll_fn,
    io,
    os::fd::OwnedFd,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use indexmap::IndexMap;
use rustix::io::ioctl_fionread;
use tokio::{
    net::{TcpListener, TcpStream, unix::pipe},
    sync::{Notify, mpsc, watch},
    task::JoinSet,
};

mod connection;
mod dialect;
mod errors;
mod task;

use self::{
    connection::{Connection, GateParts},
    dialect::Dialect,
    errors::ErrorLog,
    task::GateTask,
};
use super::protocol::{Request, Response, Wire};
use crate::{
    clock::LessonClock,
    log::{ActorId, Belief, OpId, Product, Reply},
    process::{Exit, rest::Threads},
    server::{
        link::{InnerEnd, listener},
        passage::Passage,
    },
    text::{Text, Words},
};

/// What a pipe holds, in bytes.
const PIPE: usize = 64 << 10;
/// The longest line of what a program prints, in bytes; of a longer one the rest is left out.
const LONGEST_LINE: usize = 1 << 10;
/// How many lines are told from one rest to the next; of more, beliefs are told, and the rest are counted.
const MOST_LINES: usize = 50;
/// How many beliefs are told beyond those lines; of more, the newest about each lock.
const MOST_BELIEFS: usize = 500;
/// Of how many locks beliefs are told beyond that.
const MOST_LOCKS: usize = 200;

const NEARLY_A_BELIEF: Words = Words::new(
    "Lockstep: that is no belief. A line of one ends with `HOLDS name`, `SHARES name`, `WAITS name` or `DROPS name`.",
    "Lockstep：这一行没有算作声明。声明要写在行尾：`HOLDS 锁名`、`SHARES 锁名`、`WAITS 锁名` 或 `DROPS 锁名`。",
);
const CLOSED: Words = Words::new(
    "Lockstep closed a connection of this program: {}.",
    "Lockstep 关闭了这个程序的一个连接：{}。",
);
const MORE_BELIEFS: Words = Words::new(
    "Lockstep: {} lines about locks were too many at once; of these the newest about each lock counts.",
    "Lockstep：一次说到锁的行太多，后面的 {} 行里，每把锁只算最新的一行。",
);
const MORE_LOCKS: Words = Words::new(
    "Lockstep: {} lines about still more locks were left out: what it believes of those is not known.",
    "Lockstep：还有 {} 行说到更多的锁，被略去了：这些锁它持有与否无从得知。",
);
const MORE_LINES: Words = Words::new("({} more lines)", "（还有 {} 行）");

/// What a gate is told of its program.
#[derive(Debug)]
pub(crate) struct Program {
    pub actor: ActorId,
    pub threads: Threads,
    /// Its standard output.
    pub output: OwnedFd,
    pub exits: watch::Receiver<Option<Exit>>,
    /// Its log: what it writes to standard error.
    pub log: PathBuf,
    pub clock: LessonClock,
    /// The servers that it finds, each behind a link of its own.
    pub servers: Vec<Door>,
    /// What those servers are.
    pub product: Product,
    /// The commands that pass by themselves, where they are not those that usually do.
    pub passes: Option<Vec<String>>,
    /// How long it is waited for until it is at rest, in real time.
    pub rests_within: Duration,
}

/// Where a program finds one of its servers.
#[derive(Debug)]
pub(crate) struct Door {
    /// Whom it takes for the server.
    pub listener: TcpListener,
    /// The link that leads on to it.
    pub link: InnerEnd,
    /// The server's name.
    pub server: String,
}

/// The driver's end of a gate. Dropping it closes the gate and all its connections.
pub(crate) struct Gate {
    requests: mpsc::UnboundedSender<Request>,
    frozen: watch::Sender<bool>,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

/// Makes an address at which a program will find a server.
pub(crate) async fn listen() -> io::Result<TcpListener> {
    listener().await
}

impl Gate {
    pub(crate) fn open(program: Program, tell: mpsc::UnboundedSender<Response>) -> io::Result<Self> {
        let (requests, asked) = mpsc::unbounded_channel();
        let frozen = watch::Sender::new(false);
        let output = pipe::Receiver::from_owned_fd(program.output)?;
        let (mut servers, mut links, mut listeners, mut arriving) = (vec![], vec![], vec![], vec![]);
        for Door { listener, link, server } in program.servers {
            servers.push(Server::new(server));
            links.push(link);
            // As a listener of its own, so that it can be seen that nobody waits to be let in.
            let listener = listener.into_std()?;
            listeners.push(TcpListener::from_std(listener.try_clone()?)?);
            arriving.push(listener);
        }
        let inner = Inner {
            actor: program.actor,
            servers,
            tell,
            connections: BTreeMap::new(),
            held: VecDeque::new(),
            in_order: 0,
            product: program.product,
            passes: program.passes.map_or_else(|| dialect::housekeeping(program.product), Arc::from),
            session: None,
            output: Arc::new(output),
            line: Vec::new(),
            lines: 0,
            beliefs: MoreBeliefs::default(),
            hinted: Hinted::default(),
            said: true,
            frozen: false,
        };
        let shared = Arc::new(Shared {
            inner: Mutex::new(inner),
            changed: Notify::new(),
            awake: AtomicBool::new(false),
        });
        let keeper = GateTask {
            shared: Arc::clone(&shared),
            arriving,
            threads: program.threads,
            exits: program.exits,
            errors: ErrorLog::new(program.log),
            clock: program.clock,
            links,
            frozen: frozen.subscribe(),
            rests_within: program.rests_within,
            reported: None,
        };
        keeper.shared.lock().tell(Response::Joined { sessions: Vec::new() });
        let mut tasks = JoinSet::new();
        tasks.spawn(keeper.keep(listeners, asked));
        Ok(Self { requests, frozen, shared, _tasks: tasks })
    }

    pub(crate) fn send(&self, request: Request) {
        // The keeper lives as long as this.
        let _ = self.requests.send(request);
    }

    /// Of each server whether what its program sends there is answered now. Otherwise nobody waits for that.
    pub(crate) fn links_are(&self, open: impl Fn(&str) -> bool) {
        for server in &mut self.shared.lock().servers {
            server.answers = open(&server.name);
        }
    }

    /// Whether its process stands still: then it hears no reply.
    pub(crate) fn freeze(&self, frozen: bool) {
        self.shared.lock().freeze(frozen);
        self.frozen.send_replace(frozen);
    }
}

struct Shared {
    inner: Mutex<Inner>,
    /// Something has happened that may bring the program on, or be its last word.
    changed: Notify,
    /// Whether the keeper knows that something has happened since the program was last at rest: it is woken once, and not by
    /// each of a thousand requests that pass by themselves.
    awake: AtomicBool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of a server that a program finds.
struct Server {
    name: String,
    /// How many connections are being made to its link.
    connecting: usize,
    /// Whether what is sent over its link is answered.
    answers: bool,
    /// A move that called a script which it did not know. Libraries then send the script's text, and that is still the same
    /// move.
    refused: Option<(OpId, Reply)>,
}

impl Server {
    fn new(name: String) -> Self {
        Self { name, connecting: 0, answers: true, refused: None }
    }
}

struct Inner {
    actor: ActorId,
    servers: Vec<Server>,
    tell: mpsc::UnboundedSender<Response>,
    connections: BTreeMap<u64, Connection>,
    /// The connections whose first request waits for its turn, in the order in which these came.
    held: VecDeque<u64>,
    /// How many of these have their place for good.
    in_order: usize,
    product: Product,
    /// The commands that pass by themselves.
    passes: Arc<[String]>,
    session: Option<i64>,
    output: Arc<pipe::Receiver>,
    /// The beginning of a line that the program is printing.
    line: Vec<u8>,
    /// How many lines were told since the last rest.
    lines: usize,
    /// The beliefs beyond those lines.
    beliefs: MoreBeliefs,
    hinted: Hinted,
    /// Whether the program may still print something.
    said: bool,
    /// Whether its process stands still.
    frozen: bool,
}

/// What a program has been told, which is said once.
#[derive(Default)]
struct Hinted {
    /// How a belief is printed.
    beliefs: bool,
    /// How many connections it may have.
    connections: bool,
    /// That only the first database is shown.
    databases: bool,
}

/// What a program believes of locks, of which it has said more since the last rest than lines are told.
#[derive(Default)]
struct MoreBeliefs {
    /// How many were told.
    told: usize,
    /// How many lines came then.
    more: usize,
    /// Of those, what was printed last about each lock.
    newest: IndexMap<String, String>,
    /// How many of those lines were about still other locks.
    left_out: usize,
}

impl MoreBeliefs {
    /// A line that is told at once; none where it is kept, or left out.
    fn add(&mut self, lock: &str, line: String) -> Option<String> {
        if self.told < MOST_BELIEFS {
            self.told += 1;
            return Some(line);
        }
        self.more += 1;
        // Its place is that of the newest.
        self.newest.shift_remove(lock);
        if self.newest.len() < MOST_LOCKS {
            self.newest.insert(lock.to_owned(), line);
        } else {
            self.left_out += 1;
        }
        None
    }
}

impl Inner {
    /// The connection, and what it needs of the rest.
    fn split(&mut self, id: u64) -> Option<(&mut Connection, GateParts<'_>)> {
        let Self { actor, servers, tell, held, session, hinted, connections, .. } = self;
        let connection = connections.get_mut(&id)?;
        let Server { name, refused, .. } = servers.get_mut(connection.to)?;
        let told_of_databases = &mut hinted.databases;
        let parts =
            GateParts { actor: *actor, server: name, tell, held, refused, session, told_of_databases };
        Some((connection, parts))
    }

    fn tell(&self, response: Response) {
        let _ = self.tell.send(response);
    }

    /// Brings a connection on, and has its task woken when there is more to do; takes it away where it is over. Whether it
    /// is there still.
    fn serve(&mut self, id: u64, context: &mut Context<'_>) -> bool {
        let frozen = self.frozen;
        let Some((connection, mut told)) = self.split(id) else { return false };
        let unreadable = connection.pump(id, frozen, context, &mut told).err();
        if unreadable.is_none() && !connection.over {
            return true;
        }
        if let Some(why) = unreadable {
            // To the program it is an error of its server, where it can read one.
            connection.bid_farewell(&why.en);
            self.remark(Text::from_fn(|lang| CLOSED.with(lang, &[why.get(lang)])));
        }
        self.close(id);
        false
    }

    /// Its process stands still, or runs again and hears replies.
    fn freeze(&mut self, frozen: bool) {
        self.frozen = frozen;
        self.connections.values().for_each(Connection::wake);
    }

    /// A connection to the link of this server has been made, or not. Whether it has.
    fn connected(&mut self, id: u64, to: usize, program: TcpStream, server: io::Result<Passage>) -> bool {
        self.servers[to].connecting -= 1;
        let Ok(server) = server else { return false };
        let dialect = Dialect::of(self.product, &self.passes);
        self.connections.insert(id, Connection::new(to, program, server, dialect));
        true
    }

    fn close(&mut self, id: u64) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.in_order -= self.held.iter().take(self.in_order).filter(|held| **held == id).count();
        self.held.retain(|held| *held != id);
        for op in connection.unanswered.into_iter().filter_map(|unanswered| unanswered.op) {
            let why = "the connection was closed before the reply came";
            self.tell(Response::Done { op, reply: Reply::Lost(why.to_owned()) });
        }
    }

    /// The request whose turn comes next. Of what several servers were sent since the program was last at rest, the first
    /// server's comes first: which was read first is chance.
    fn asks(&mut self) -> Option<Wire> {
        let Self { held, in_order, connections, servers, .. } = self;
        let server = |id: &u64| connections.get(id).map(|connection| connection.to);
        held.make_contiguous()[*in_order..].sort_by_key(server);
        *in_order = held.len();
        let first = connections.get(held.front()?)?;
        let command = first.waiting.front()?.asked.command.clone()?;
        Some(Wire { server: servers[first.to].name.clone(), command, script: None })
    }

    /// Lets the first request go. Whether there is one.
    fn let_go(&mut self, op: OpId) -> bool {
        while let Some(id) = self.held.pop_front() {
            self.in_order = self.in_order.saturating_sub(1);
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.pass(Some(op));
                connection.wake();
                return true;
            }
        }
        false
    }

    /// Whether what the program prints is read as it comes. One that prints without end is read whenever it is looked at.
    fn is_heard(&self) -> bool {
        self.said && self.lines <= MOST_LINES
    }

    /// Reads what the program has printed: a pipe's worth at most, so that others have their turn.
    fn hear(&mut self) {
        self.hear_by(pipe::Receiver::try_read);
    }

    /// The same of one that has ended: what it printed last is there, whether the runtime has been told of it or not.
    fn hear_last(&mut self) {
        self.hear_by(|output, piece| Ok(rustix::io::read(output, piece)?));
    }

    fn hear_by(&mut self, read: impl Fn(&pipe::Receiver, &mut [u8]) -> io::Result<usize>) {
        let mut piece = [0; 4096];
        for _ in 0..=PIPE / piece.len() {
            match read(&self.output, &mut piece) {
                Ok(0) => return self.said = false,
                Ok(length) => {
                    for byte in &piece[..length] {
                        if *byte == b'\n' {
                            self.end_line();
                        } else if self.line.len() < LONGEST_LINE {
                            self.line.push(*byte);
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.said = false,
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).trim_end().to_owned();
        match Belief::printed(&line) {
            Some((_, lock)) if self.lines >= MOST_LINES => {
                if let Some(line) = self.beliefs.add(lock, line.clone()) {
                    self.say(line);
                }
            }
            belief => {
                let hint = belief.is_none() && !self.hinted.beliefs && is_nearly_a_belief(&line);
                if self.has_room() {
                    self.say(line);
                }
                if hint {
                    self.hinted.beliefs = true;
                    self.remark(NEARLY_A_BELIEF.text(&[]));
                }
            }
        }
    }

    /// Tells what became too much since the last rest.
    fn sum_up(&mut self) {
        let MoreBeliefs { more, newest, left_out, .. } = std::mem::take(&mut self.beliefs);
        for line in newest.into_values() {
            self.say(line);
        }
        for (words, lines) in [(MORE_BELIEFS, more), (MORE_LOCKS, left_out)] {
            if lines > 0 {
                self.say_of(words.text(&[&lines.to_string()]));
            }
        }
        if self.lines > MOST_LINES {
            self.say_of(MORE_LINES.text(&[&(self.lines - MOST_LINES).to_string()]));
        }
        self.lines = 0;
    }

    /// Whether one more of the lines that a program may bring about as often as it likes is told.
    fn has_room(&mut self) -> bool {
        self.lines += 1;
        self.lines <= MOST_LINES
    }

    fn remark(&mut self, remark: Text) {
        if self.has_room() {
            self.say_of(remark);
        }
    }

    fn say(&self, line: String) {
        self.tell(Response::Said { actor: self.actor, line, stderr: false });
    }

    fn say_of(&self, remark: Text) {
        self.tell(Response::Remarked { actor: self.actor, remark });
    }

    fn is_busy(&self, frozen: bool) -> bool {
        let is_busy =
            |connection: &Connection| connection.is_busy(frozen, self.servers[connection.to].answers);
        self.servers.iter().any(|server| server.connecting > 0 && server.answers)
            || (self.said && ioctl_fionread(&*self.output).is_ok_and(|bytes| bytes > 0))
            || self.connections.values().any(is_busy)
    }
}

/// Whether a line has a word of beliefs and is none.
fn is_nearly_a_belief(line: &str) -> bool {
    line.split(|c: char| !c.is_ascii_alphabetic())
        .any(|word| matches!(word, "HOLDS" | "SHARES" | "WAITS" | "DROPS"))
}

/// Brings a connection on whenever there is something to do, until it is over.
async fn serve(shared: &Shared, id: u64) {
    poll_fn(|context| {
        let lives = shared.lock().serve(id, context);
        if lives && !shared.awake.swap(true, Ordering::Relaxed) {
            shared.changed.notify_one();
        }
        if lives { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}
