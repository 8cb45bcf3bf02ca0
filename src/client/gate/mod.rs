//! The gate between an external program and its link to a server: it holds each request until its turn, and
//! reports what the program does. To the code that drives clients it is one more client that speaks their
//! protocol.
//!
//! It must not know lessons or locks. The program may be any program: whatever it sends is bounded, and hurts
//! nobody else.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
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

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, mpsc, watch},
    task::JoinSet,
};

mod connection;
mod dialect;
mod errors;
mod output;
mod task;
mod visitors;

use self::{
    connection::{Connection, GateParts},
    dialect::{Dialect, Scripts},
    errors::ErrorLog,
    output::Output,
    task::GateTask,
};
use super::protocol::{Request, Response, Wire};
use crate::{
    clock::LessonClock,
    log::{ActorId, OpId, Product, Reply},
    process::{Exit, rest::Threads},
    server::{
        link::{InnerEnd, listener},
        passage::Passage,
    },
    text::{Text, Words},
};

const CLOSED: Words = Words::new(
    "Lockstep closed a connection of this program: {}.",
    "Lockstep 关闭了这个程序的一个连接：{}。",
);

/// What a gate needs to know of its program.
#[derive(Debug)]
pub(crate) struct AttachedProgram {
    pub actor: ActorId,
    pub threads: Threads,
    /// The program's standard output.
    pub output: OwnedFd,
    pub exits: watch::Receiver<Option<Exit>>,
    /// The program's log: what it writes to standard error.
    pub log: PathBuf,
    pub clock: LessonClock,
    /// The servers that the program finds, each behind a link of its own.
    pub servers: Vec<Endpoint>,
    /// The product of these servers.
    pub product: Product,
    /// The commands that pass without a turn.
    pub passes: Vec<String>,
    /// The names of scripts, by the beginnings of their hashes.
    pub scripts: BTreeMap<String, String>,
    /// How long the gate waits for the program to be at rest, in real time.
    pub rests_within: Duration,
}

/// The place at which a program finds one of its servers.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// The socket that the program takes for the server.
    pub listener: TcpListener,
    /// The link that leads to the server.
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

/// Creates an address at which a program will find a server.
pub(crate) async fn listen() -> io::Result<TcpListener> {
    listener().await
}

impl Gate {
    pub(crate) fn open(
        program: AttachedProgram,
        responses: mpsc::UnboundedSender<Response>,
    ) -> io::Result<Self> {
        let (requests, asked) = mpsc::unbounded_channel();
        let frozen = watch::Sender::new(false);
        let output = Output::new(program.actor, program.output, responses.clone())?;
        let (mut servers, mut links, mut listeners, mut arriving) = (vec![], vec![], vec![], vec![]);
        for Endpoint { listener, link, server } in program.servers {
            servers.push(Server::new(server));
            links.push(link);
            // A second handle, with which the task checks that no connection waits to be accepted.
            let listener = listener.into_std()?;
            listeners.push(TcpListener::from_std(listener.try_clone()?)?);
            arriving.push(listener);
        }
        let inner = Inner {
            actor: program.actor,
            servers,
            responses,
            connections: BTreeMap::new(),
            held: VecDeque::new(),
            in_order: 0,
            product: program.product,
            passes: program.passes.into(),
            scripts: Arc::new(Mutex::new(program.scripts)),
            session: None,
            output,
            hinted: Hinted::default(),
            frozen: false,
        };
        let shared = Arc::new(Shared {
            inner: Mutex::new(inner),
            changed: Notify::new(),
            awake: AtomicBool::new(false),
        });
        let task = GateTask {
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
            released: false,
        };
        task.shared.lock().report(Response::Joined { sessions: Vec::new() });
        let mut tasks = JoinSet::new();
        tasks.spawn(task.run(listeners, asked));
        Ok(Self { requests, frozen, shared, _tasks: tasks })
    }

    pub(crate) fn send(&self, request: Request) {
        // The task lives as long as `self`.
        let _ = self.requests.send(request);
    }

    /// Sets for each server whether what the program sends there is answered now. If not, replies are not
    /// waited for.
    pub(crate) fn set_answering(&self, open: impl Fn(&str) -> bool) {
        for server in &mut self.shared.lock().servers {
            server.answers = open(&server.name);
        }
    }

    /// Sets whether the program's process is frozen: then it receives no reply.
    pub(crate) fn freeze(&self, frozen: bool) {
        self.shared.lock().freeze(frozen);
        self.frozen.send_replace(frozen);
    }
}

struct Shared {
    inner: Mutex<Inner>,
    /// Signalled when something happened that may let the program continue, or that may be its last output.
    changed: Notify,
    /// Whether the task knows that something has happened since the program was last at rest: it is woken
    /// once, and not by each of a thousand requests that pass without a turn.
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
    /// The number of connections that are being made to its link.
    connecting: usize,
    /// Whether what is sent over its link is answered.
    answers: bool,
    /// A move that called a script which the server did not know, and the error. Libraries then send the text
    /// of the script, and that is still the same move.
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
    responses: mpsc::UnboundedSender<Response>,
    connections: BTreeMap<u64, Connection>,
    /// The connections whose first request waits for its turn, in the order in which these arrived.
    held: VecDeque<u64>,
    /// How many of these have their final place.
    in_order: usize,
    product: Product,
    /// The commands that pass without a turn.
    passes: Arc<[String]>,
    scripts: Scripts,
    session: Option<i64>,
    output: Output,
    hinted: Hinted,
    /// Whether the program's process is frozen.
    frozen: bool,
}

/// Which hints a program has been given; each is given once.
#[derive(Default)]
struct Hinted {
    /// The hint on how many connections a program may have.
    connections: bool,
    /// The hint that only database 0 is shown.
    databases: bool,
    /// The errors in reply to requests that needed no turn, and the users whose connections were refused.
    refusals: BTreeSet<String>,
}

impl Inner {
    /// Returns a connection, and the other parts of the gate that it uses.
    fn split(&mut self, id: u64) -> Option<(&mut Connection, GateParts<'_>)> {
        let Self { actor, servers, responses, held, session, hinted, connections, .. } = self;
        let connection = connections.get_mut(&id)?;
        let Server { name, refused, .. } = servers.get_mut(connection.to)?;
        let parts = GateParts { actor: *actor, server: name, responses, held, refused, session, hinted };
        Some((connection, parts))
    }

    fn report(&self, response: Response) {
        let _ = self.responses.send(response);
    }

    /// Pumps a connection, and has its task woken when there is more to do. Removes a connection that is
    /// over. Returns whether it is still there.
    fn serve(&mut self, id: u64, context: &mut Context<'_>) -> bool {
        let frozen = self.frozen;
        let Some((connection, mut parts)) = self.split(id) else { return false };
        let unreadable = connection.pump(id, frozen, context, &mut parts).err();
        if unreadable.is_none() && !connection.over {
            return true;
        }
        if let Some(why) = unreadable {
            // To the program this is an error of its server, if its protocol has errors that it can read.
            connection.send_closing_error(&why.en);
            self.output.remark(Text::from_fn(|lang| CLOSED.with(lang, &[why.get(lang)])));
        }
        self.close(id);
        false
    }

    /// Notes whether the process is frozen. A thawed process receives replies again.
    fn freeze(&mut self, frozen: bool) {
        self.frozen = frozen;
        self.connections.values().for_each(Connection::wake);
    }

    /// Handles the result of connecting to the link of a server. Returns whether the connection was made.
    fn connected(&mut self, id: u64, to: usize, program: TcpStream, server: io::Result<Passage>) -> bool {
        self.servers[to].connecting -= 1;
        let Ok(server) = server else { return false };
        let dialect = Dialect::of(self.product, &self.passes, &self.scripts);
        self.connections.insert(id, Connection::new(to, program, server, dialect));
        true
    }

    fn close(&mut self, id: u64) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.in_order -= self.held.iter().take(self.in_order).filter(|held| **held == id).count();
        self.held.retain(|held| *held != id);
        for op in connection.unanswered.into_iter().filter_map(|unanswered| unanswered.op) {
            let why = "the connection was closed before the reply came";
            self.report(Response::Done { op, reply: Reply::Lost(why.to_owned()) });
        }
    }

    /// The request whose turn comes next. Of requests that several servers were sent since the last rest,
    /// those to the first server come first: in which order they were read is random.
    fn asks(&mut self) -> Option<Wire> {
        let Self { held, in_order, connections, servers, .. } = self;
        let server = |id: &u64| connections.get(id).map(|connection| connection.to);
        held.make_contiguous()[*in_order..].sort_by_key(server);
        *in_order = held.len();
        let first = connections.get(held.front()?)?;
        let command = first.waiting.front()?.asked.command.clone()?;
        Some(Wire { server: servers[first.to].name.clone(), command, script: None })
    }

    /// Lets the first held request go. Returns whether there was one.
    fn release_first(&mut self, op: OpId) -> bool {
        while let Some(id) = self.held.pop_front() {
            self.in_order = self.in_order.saturating_sub(1);
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.pass(0, Some(op));
                connection.wake();
                return true;
            }
        }
        false
    }

    fn is_busy(&self, frozen: bool) -> bool {
        let is_busy =
            |connection: &Connection| connection.is_busy(frozen, self.servers[connection.to].answers);
        self.servers.iter().any(|server| server.connecting > 0 && server.answers)
            || self.output.unread()
            || self.connections.values().any(is_busy)
    }
}

/// Pumps a connection whenever there is something to do, until it is over.
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
