//! The gate between a program that a user brought and its link to a server: it holds each request until its turn, and
//! tells what the program does. To whoever drives clients it is one more client that speaks their protocol.
//!
//! It must not know lessons or locks. The program is any program: whatever it sends is bounded, and hurts nobody else.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    net::{Ipv4Addr, SocketAddr},
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::ioctl_fionread,
};
use tokio::{
    net::{TcpListener, TcpStream, UnixStream, unix::pipe},
    sync::{Notify, mpsc, watch},
    task::JoinSet,
};

use super::protocol::{Request, Response};
use crate::{
    clock::LessonClock,
    log::{ActorId, Command, OpId, Reply},
    process::{
        Exit,
        rest::{Rest, Threads},
    },
    server::{
        boot::Endpoint,
        redis::frames::{self, LONGEST_ANSWER, LONGEST_REQUEST, Scan, Sent, Unreadable},
    },
};

/// What passes by itself: connections are made and looked after with it.
const HOUSEKEEPING: [&str; 11] =
    ["HELLO", "AUTH", "CLIENT", "PING", "SELECT", "COMMAND", "INFO", "ECHO", "QUIT", "READONLY", "RESET"];

/// What calls a script.
const SCRIPTS: [&str; 4] = ["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO"];

/// The most connections that a program may have at once.
const MOST_CONNECTIONS: usize = 256;
/// The most bytes that are taken from a connection before those that are there have been passed on.
const MOST_BUFFERED: usize = 2 * LONGEST_REQUEST;
/// The most requests of a connection that are taken before those that are there have been passed on.
const MOST_WAITING: usize = 1024;
/// The most bytes of replies that wait for a program to read them. Beyond, its server waits, as it would without us.
const MOST_UNREAD: usize = 1 << 20;
/// What is read at once, in bytes.
const PIECE: usize = 16 << 10;
/// What a pipe holds, in bytes.
const PIPE: usize = 64 << 10;
/// The longest line of what a program prints, in bytes; of a longer one the rest is left out.
const LONGEST_LINE: usize = 1 << 10;
/// The most characters of a script that are shown.
const LONGEST_SCRIPT: usize = 40;
/// The most characters of one word of a request that are shown.
const LONGEST_WORD: usize = 400;
/// How many lines are told from one rest to the next; more are counted.
const MOST_LINES: usize = 50;

/// How often a program is looked at until it is at rest. Real time.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// How long it is looked at so often, and how often then.
const LOOKS_CLOSELY: Duration = Duration::from_secs(1);
const LOOK_SELDOM: Duration = Duration::from_millis(20);
/// After so much real time, nobody waits any longer for a program to come to rest: it computes, or does not read.
const RESTS_WITHIN: Duration = Duration::from_secs(10);
/// The same for one that was not waited for any longer before.
const BUSY_RESTS_WITHIN: Duration = Duration::from_secs(1);

const NO_CLOCK: &str = "Lockstep: this program does not take the lesson clock (it is linked statically, perhaps): \
    its own waits pass in real time.";

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
    /// The server that its link leads to, by its name and by the address of the link.
    pub server: String,
    pub link: Endpoint,
}

/// The driver's end of a gate. Dropping it closes the gate and all its connections.
pub(crate) struct Gate {
    requests: mpsc::UnboundedSender<Request>,
    frozen: watch::Sender<bool>,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

/// Makes the address at which a program will find its gate.
pub(crate) async fn listen() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

impl Gate {
    pub(crate) fn open(
        listener: TcpListener,
        program: Program,
        tell: mpsc::UnboundedSender<Response>,
    ) -> io::Result<Self> {
        let (requests, asked) = mpsc::unbounded_channel();
        let frozen = watch::Sender::new(false);
        let output = pipe::Receiver::from_owned_fd(program.output)?;
        // As a listener of its own, so that it can be seen that nobody waits to be let in.
        let arriving = listener.into_std()?;
        let listener = TcpListener::from_std(arriving.try_clone()?)?;
        let inner = Inner {
            actor: program.actor,
            server: program.server,
            tell,
            connections: BTreeMap::new(),
            connecting: 0,
            held: VecDeque::new(),
            refused: None,
            output: Arc::new(output),
            line: Vec::new(),
            lines: 0,
            said: true,
            link_open: true,
        };
        let shared = Arc::new(Shared { inner: Mutex::new(inner), changed: Notify::new() });
        let keeper = Keeper {
            shared: Arc::clone(&shared),
            arriving,
            threads: program.threads,
            exits: program.exits,
            log: program.log,
            clock: program.clock,
            link: program.link,
            frozen: frozen.subscribe(),
            told: None,
        };
        keeper.shared.lock().tell(Response::Joined { sessions: Vec::new() });
        let mut tasks = JoinSet::new();
        tasks.spawn(keeper.keep(listener, asked));
        Ok(Self { requests, frozen, shared, _tasks: tasks })
    }

    pub(crate) fn send(&self, request: Request) {
        // The keeper lives as long as this.
        let _ = self.requests.send(request);
    }

    /// Whether what its program sends is answered now. Otherwise nobody waits for that.
    pub(crate) fn link_is(&self, open: bool) {
        self.shared.lock().link_open = open;
    }

    /// Whether its process stands still: then it hears no reply.
    pub(crate) fn freeze(&self, frozen: bool) {
        self.frozen.send_replace(frozen);
    }
}

struct Shared {
    inner: Mutex<Inner>,
    /// Something has happened that may bring the program on, or be its last word.
    changed: Notify,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Inner {
    actor: ActorId,
    server: String,
    tell: mpsc::UnboundedSender<Response>,
    connections: BTreeMap<u64, Connection>,
    /// How many connections are being made to the link.
    connecting: usize,
    /// The connections whose first request waits for its turn, in the order in which these came.
    held: VecDeque<u64>,
    /// A move that called a script which its server did not know. Libraries then send the script's text, and that is still
    /// the same move.
    refused: Option<(OpId, Reply)>,
    output: Arc<pipe::Receiver>,
    /// The beginning of a line that the program is printing.
    line: Vec<u8>,
    /// How many lines were told since the last rest.
    lines: usize,
    /// Whether the program may still print something.
    said: bool,
    /// Whether what is sent over the link is answered.
    link_open: bool,
}

struct Connection {
    program: Arc<TcpStream>,
    server: Arc<Upstream>,
    /// What was read and is no whole request yet.
    requests: Vec<u8>,
    request_scan: Scan,
    /// Whole requests that have not been passed on.
    waiting: VecDeque<Held>,
    waiting_bytes: usize,
    to_server: Vec<u8>,
    replies: Vec<u8>,
    reply_scan: Scan,
    to_program: Vec<u8>,
    /// What was passed on and has no reply yet.
    unanswered: VecDeque<Unanswered>,
    /// Wakes the task that waits for its sockets.
    poked: Arc<Notify>,
    /// Whether it has subscribed to anything.
    listens: bool,
    over: bool,
}

/// What a connection waits for.
struct Wanted {
    program: Arc<TcpStream>,
    server: Arc<Upstream>,
    poked: Arc<Notify>,
    /// Requests of its program; replies of its server.
    takes: (bool, bool),
    /// Replies for its program; requests for its server.
    has: (bool, bool),
}

struct Held {
    bytes: Vec<u8>,
    command: Command,
    passes: bool,
    /// It calls a script.
    calls: bool,
    confirmations: usize,
    told: bool,
}

struct Unanswered {
    /// The move that it is; none for what passed by itself.
    op: Option<OpId>,
    /// How many confirmations come in place of a reply.
    confirmations: usize,
    /// It calls a script.
    calls: bool,
}

enum Upstream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Upstream {
    async fn connect(to: &Endpoint) -> io::Result<Self> {
        Ok(match to {
            Endpoint::Unix(path) => Self::Unix(UnixStream::connect(path).await?),
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
        })
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.try_read(buffer),
            Self::Tcp(stream) => stream.try_read(buffer),
        }
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.try_write(bytes),
            Self::Tcp(stream) => stream.try_write(bytes),
        }
    }

    async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.readable().await,
            Self::Tcp(stream) => stream.readable().await,
        }
    }

    async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.writable().await,
            Self::Tcp(stream) => stream.writable().await,
        }
    }

    fn unread(&self) -> bool {
        let unread = match self {
            Self::Unix(stream) => ioctl_fionread(stream),
            Self::Tcp(stream) => ioctl_fionread(stream),
        };
        unread.is_ok_and(|bytes| bytes > 0)
    }

    fn takes(&self) -> bool {
        match self {
            Self::Unix(stream) => takes(stream),
            Self::Tcp(stream) => takes(stream),
        }
    }
}

impl Connection {
    fn new(program: TcpStream, server: Upstream) -> Self {
        Self {
            program: Arc::new(program),
            server: Arc::new(server),
            requests: Vec::new(),
            request_scan: Scan::new(LONGEST_REQUEST),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            to_server: Vec::new(),
            replies: Vec::new(),
            reply_scan: Scan::new(LONGEST_ANSWER),
            to_program: Vec::new(),
            unanswered: VecDeque::new(),
            poked: Arc::default(),
            listens: false,
            over: false,
        }
    }

    fn takes_requests(&self) -> bool {
        self.requests.len() + self.waiting_bytes < MOST_BUFFERED && self.waiting.len() < MOST_WAITING
    }

    fn takes_replies(&self, frozen: bool) -> bool {
        !frozen && self.to_program.len() < MOST_UNREAD
    }

    /// Whether something is on its way that no turn is waited for. What nobody takes is not: its reader reads nothing now.
    fn is_busy(&self, frozen: bool, link_open: bool) -> bool {
        (self.takes_requests() && ioctl_fionread(&self.program).is_ok_and(|bytes| bytes > 0))
            || (self.takes_replies(frozen) && self.server.unread())
            || (!self.to_server.is_empty() && self.server.takes())
            || (!self.to_program.is_empty() && takes(&self.program))
            || (link_open && self.unanswered.iter().any(|unanswered| unanswered.op.is_none()))
    }

    /// Reads, understands and passes on as much as can be without waiting. `Err`: the connection is over.
    fn pump(&mut self, id: u64, frozen: bool, gate: &mut Told<'_>) -> Result<(), Unreadable> {
        while self.takes_requests()
            && read(|piece| self.program.try_read(piece), &mut self.requests, &mut self.over)
        {
            self.understand()?;
        }
        self.understand()?;
        self.advance(id, gate);
        write(|bytes| self.server.try_write(bytes), &mut self.to_server, &mut self.over);
        while self.takes_replies(frozen)
            && read(|piece| self.server.try_read(piece), &mut self.replies, &mut self.over)
        {
            self.hand_out(gate)?;
            write(|bytes| self.program.try_write(bytes), &mut self.to_program, &mut self.over);
        }
        write(|bytes| self.program.try_write(bytes), &mut self.to_program, &mut self.over);
        Ok(())
    }

    /// Makes requests of what was read.
    fn understand(&mut self) -> Result<(), Unreadable> {
        while let Some((end, words)) = frames::request(&mut self.request_scan, &self.requests)? {
            let rest = self.requests.split_off(end);
            let bytes = std::mem::replace(&mut self.requests, rest);
            self.request_scan = Scan::new(LONGEST_REQUEST);
            let Some(name) = words.first().map(|word| word.to_ascii_uppercase()) else { continue };
            let is = |command: &str, part: &str| {
                name == command && words.get(1).is_some_and(|word| word.eq_ignore_ascii_case(part))
            };
            let loads = is("SCRIPT", "LOAD");
            if is("CLIENT", "REPLY") {
                return Err(Unreadable::NoReplies);
            }
            self.waiting_bytes += bytes.len();
            self.waiting.push_back(Held {
                calls: SCRIPTS.contains(&name.as_str()),
                passes: loads || HOUSEKEEPING.contains(&name.as_str()),
                confirmations: if name.ends_with("SUBSCRIBE") { (words.len() - 1).max(1) } else { 0 },
                bytes,
                command: shown(words),
                told: false,
            });
        }
        Ok(())
    }

    /// Passes on what needs no turn, up to the first request that does.
    fn advance(&mut self, id: u64, gate: &mut Told<'_>) {
        while self.waiting.front().is_some_and(|held| held.passes) {
            self.pass(None);
        }
        if self.waiting.front().is_some_and(|held| held.calls && !held.told)
            && let Some((op, _)) = gate.refused.take()
        {
            self.pass(Some(op));
            return self.advance(id, gate);
        }
        if let Some(held) = self.waiting.front_mut().filter(|held| !held.told) {
            held.told = true;
            gate.held.push_back(id);
        }
    }

    fn pass(&mut self, op: Option<OpId>) {
        if let Some(held) = self.waiting.pop_front() {
            self.waiting_bytes -= held.bytes.len();
            self.to_server.extend(&held.bytes);
            let Held { confirmations, calls, .. } = held;
            self.listens |= confirmations > 0;
            self.unanswered.push_back(Unanswered { op, confirmations, calls });
        }
    }

    /// Passes whole replies on, and tells of each before its program can know it.
    fn hand_out(&mut self, gate: &mut Told<'_>) -> Result<(), Unreadable> {
        while let Some(end) = self.reply_scan.end(&self.replies)? {
            let rest = self.replies.split_off(end);
            let bytes = std::mem::replace(&mut self.replies, rest);
            self.reply_scan = Scan::new(LONGEST_ANSWER);
            match frames::sent(&bytes, self.listens) {
                Sent::Message(parts) => gate.message(parts),
                Sent::Confirmation(reply) => {
                    if let Some(first) = self.unanswered.front_mut().filter(|first| first.confirmations > 0) {
                        first.confirmations -= 1;
                        if first.confirmations == 0 {
                            self.answered(reply, gate);
                        }
                    }
                }
                Sent::Reply(reply) => self.answered(reply, gate),
            }
            self.to_program.extend(bytes);
        }
        Ok(())
    }

    fn answered(&mut self, reply: Reply, gate: &mut Told<'_>) {
        let Some(Unanswered { op: Some(op), calls, .. }) = self.unanswered.pop_front() else { return };
        if calls && matches!(&reply, Reply::Error { code, .. } if code == "NOSCRIPT") {
            *gate.refused = Some((op, reply));
        } else {
            gate.tell(Response::Done { op, reply });
        }
    }
}

/// What a connection needs of its gate.
struct Told<'a> {
    actor: ActorId,
    server: &'a str,
    tell: &'a mpsc::UnboundedSender<Response>,
    held: &'a mut VecDeque<u64>,
    refused: &'a mut Option<(OpId, Reply)>,
}

impl Told<'_> {
    fn tell(&self, response: Response) {
        // Without a listener the run is over.
        let _ = self.tell.send(response);
    }

    fn message(&self, mut parts: Vec<String>) {
        let (Some(what), Some(about)) = (parts.pop(), parts.pop()) else { return };
        self.tell(Response::Notified { actor: self.actor, server: self.server.to_owned(), about, what });
    }
}

fn in_runtime(program: std::net::TcpStream) -> io::Result<TcpStream> {
    program.set_nonblocking(true)?;
    TcpStream::from_std(program)
}

/// Whether a socket has room for more.
fn takes(socket: &impl AsFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// Reads one piece. Whether there may be more.
fn read(mut from: impl FnMut(&mut [u8]) -> io::Result<usize>, into: &mut Vec<u8>, over: &mut bool) -> bool {
    let mut piece = [0; PIECE];
    match from(&mut piece) {
        Ok(0) => *over = true,
        Ok(length) => {
            into.extend_from_slice(&piece[..length]);
            return true;
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        Err(_) => *over = true,
    }
    false
}

/// Writes as much as is taken.
fn write(mut to: impl FnMut(&[u8]) -> io::Result<usize>, bytes: &mut Vec<u8>, over: &mut bool) {
    while !bytes.is_empty() {
        match to(bytes) {
            Ok(written) => drop(bytes.drain(..written)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => {
                *over = true;
                bytes.clear();
            }
        }
    }
}

/// A request as it is shown: scripts by the beginning of their hash or text, long words shortened.
fn shown(mut words: Vec<String>) -> Command {
    for word in &mut words {
        if let Some((end, _)) = word.char_indices().nth(LONGEST_WORD) {
            let left = word[end..].len();
            word.truncate(end);
            *word = format!("{word}… ({left} bytes more)");
        }
    }
    let is_script = words.first().is_some_and(|word| SCRIPTS.contains(&word.to_ascii_uppercase().as_str()));
    let keys = words.get(2).and_then(|number| number.parse::<usize>().ok());
    if let (true, Some(keys)) = (is_script, keys)
        && keys <= words.len() - 3
    {
        let mut rest = words.split_off(3);
        let args = rest.split_off(keys);
        let text = words.swap_remove(1);
        let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let is_hash = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name =
            if is_hash { format!("{}…", &text[..8]) } else { first.chars().take(LONGEST_SCRIPT).collect() };
        return Command::Script { name, keys: rest, args };
    }
    Command::Redis(words)
}

impl Inner {
    /// The connection, and what it needs of the rest.
    fn split(&mut self, id: u64) -> Option<(&mut Connection, Told<'_>)> {
        let Self { actor, server, tell, held, refused, connections, .. } = self;
        let told = Told { actor: *actor, server: server.as_str(), tell: &*tell, held, refused };
        connections.get_mut(&id).map(|connection| (connection, told))
    }

    fn tell(&self, response: Response) {
        let _ = self.tell.send(response);
    }

    /// Brings a connection on; takes it away where it is over.
    fn pump(&mut self, id: u64, frozen: bool) -> bool {
        let Some((connection, mut told)) = self.split(id) else { return false };
        let unreadable = connection.pump(id, frozen, &mut told).err();
        if unreadable.is_none() && !connection.over {
            return true;
        }
        if let Some(why) = unreadable {
            // To the program it is an error of its server, where it can read one.
            let _ = connection
                .program
                .try_write(format!("-ERR Lockstep closes this connection: {why}\r\n").as_bytes());
            self.remark(format!("Lockstep closed a connection of this program: {why}."));
        }
        self.close(id);
        false
    }

    /// Brings a connection on, and tells what it then waits for; nothing where it is over.
    fn serve(&mut self, id: u64, frozen: bool) -> Option<Wanted> {
        if !self.pump(id, frozen) {
            return None;
        }
        let connection = self.connections.get(&id)?;
        Some(Wanted {
            program: Arc::clone(&connection.program),
            server: Arc::clone(&connection.server),
            poked: Arc::clone(&connection.poked),
            takes: (connection.takes_requests(), connection.takes_replies(frozen)),
            has: (!connection.to_program.is_empty(), !connection.to_server.is_empty()),
        })
    }

    /// A connection to the link has been made, or not. Whether it has.
    fn connected(&mut self, id: u64, program: TcpStream, server: io::Result<Upstream>) -> bool {
        self.connecting -= 1;
        let server = server.ok();
        let made = server.map(|server| self.connections.insert(id, Connection::new(program, server)));
        made.is_some()
    }

    fn close(&mut self, id: u64) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.held.retain(|held| *held != id);
        for op in connection.unanswered.into_iter().filter_map(|unanswered| unanswered.op) {
            let why = "the connection was closed before the reply came";
            self.tell(Response::Done { op, reply: Reply::Lost(why.to_owned()) });
        }
    }

    /// The request whose turn comes next.
    fn asks(&self) -> Option<Command> {
        let first = self.connections.get(self.held.front()?)?;
        first.waiting.front().map(|held| held.command.clone())
    }

    /// Lets the first request go. Whether there is one.
    fn let_go(&mut self, op: OpId) -> bool {
        while let Some(id) = self.held.pop_front() {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.pass(Some(op));
                connection.poked.notify_one();
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
        let mut piece = [0; 4096];
        for _ in 0..=PIPE / piece.len() {
            match self.output.try_read(&mut piece) {
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
        self.remark(line);
    }

    /// Says something that a program may bring about as often as it likes.
    fn remark(&mut self, line: String) {
        self.lines += 1;
        if self.lines <= MOST_LINES {
            self.say(line);
        }
    }

    fn say(&self, line: String) {
        self.tell(Response::Said { actor: self.actor, line });
    }

    fn is_busy(&self, frozen: bool) -> bool {
        (self.connecting > 0 && self.link_open)
            || (self.said && ioctl_fionread(&*self.output).is_ok_and(|bytes| bytes > 0))
            || self.connections.values().any(|connection| connection.is_busy(frozen, self.link_open))
    }
}

/// The task that lets connections in, carries out what is asked, and looks whether the program is at rest.
struct Keeper {
    shared: Arc<Shared>,
    arriving: std::net::TcpListener,
    threads: Threads,
    exits: watch::Receiver<Option<Exit>>,
    log: PathBuf,
    clock: LessonClock,
    link: Endpoint,
    frozen: watch::Receiver<bool>,
    /// What was told last of the program.
    told: Option<Response>,
}

/// Since when a rest is waited for, and by how many.
struct Settling {
    since: Instant,
    asked: usize,
    /// Whatever happens meanwhile, it is looked then.
    next_look: Instant,
}

impl Default for Settling {
    fn default() -> Self {
        let now = Instant::now();
        Self { since: now, asked: 0, next_look: now + LOOK_EVERY }
    }
}

impl Settling {
    /// How long until it is looked again: seldom, where somebody computes for long.
    fn pause(&self) -> Duration {
        if self.since.elapsed() > LOOKS_CLOSELY { LOOK_SELDOM } else { LOOK_EVERY }
    }
}

/// What was seen of a program. A connection that it has just made comes along.
enum Looked {
    AtRest,
    AtWork(Option<std::net::TcpStream>),
    /// As before, and nobody waits any longer.
    Busy(Option<std::net::TcpStream>),
}

impl Keeper {
    async fn keep(mut self, listener: TcpListener, mut asked: mpsc::UnboundedReceiver<Request>) {
        let mut connections = JoinSet::new();
        let mut next = 0;
        let mut settling: Option<Settling> = Some(Settling::default());
        let output = Arc::clone(&self.shared.lock().output);
        let mut gone = false;
        loop {
            let said = self.shared.lock().is_heard();
            let stands = *self.frozen.borrow() && self.exits.borrow().is_none();
            let looks = settling.is_some() && !stands;
            let next_look = settling.as_ref().map_or_else(Instant::now, |settling| settling.next_look);
            tokio::select! {
                accepted = listener.accept() => {
                    if let Ok((program, _)) = accepted {
                        next += 1;
                        self.let_in(next, program, &mut connections);
                    } else {
                        tokio::time::sleep(LOOK_EVERY).await;
                    }
                }
                request = asked.recv() => {
                    let Some(request) = request else { return };
                    if matches!(request, Request::Settle) {
                        let settling = settling.get_or_insert_default();
                        settling.since = Instant::now();
                        settling.asked += 1;
                    } else {
                        self.carry_out(&request);
                    }
                }
                readable = output.readable(), if said => {
                    if readable.is_ok() {
                        self.shared.lock().hear();
                        settling.get_or_insert_default();
                    }
                }
                () = self.shared.changed.notified() => {
                    settling.get_or_insert_default();
                }
                changed = self.frozen.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    settling.get_or_insert_default();
                }
                exit = self.exits.changed(), if !gone => {
                    gone = true;
                    if exit.is_ok() {
                        settling.get_or_insert_default();
                    }
                }
                _ = connections.join_next(), if !connections.is_empty() => {}
                () = tokio::time::sleep_until(next_look.into()), if looks => {
                    let settling_now = settling.get_or_insert_default();
                    let looked = self.look(settling_now);
                    settling_now.next_look = Instant::now() + settling_now.pause();
                    let arrived = match looked {
                        Looked::AtRest => {
                            settling = None;
                            None
                        }
                        Looked::AtWork(arrived) => arrived,
                        Looked::Busy(arrived) => {
                            settling = Some(Settling::default());
                            arrived
                        }
                    };
                    if let Some(program) = arrived.and_then(|program| in_runtime(program).ok()) {
                        next += 1;
                        self.let_in(next, program, &mut connections);
                    }
                }
            }
        }
    }

    fn let_in(&self, id: u64, program: TcpStream, connections: &mut JoinSet<()>) {
        let mut inner = self.shared.lock();
        if inner.connections.len() + inner.connecting >= MOST_CONNECTIONS {
            inner.remark(format!(
                "Lockstep lets no more than {MOST_CONNECTIONS} connections of a program in."
            ));
            return;
        }
        inner.connecting += 1;
        drop(inner);
        let (shared, link, frozen) = (Arc::clone(&self.shared), self.link.clone(), self.frozen.clone());
        connections.spawn(async move {
            let server = Upstream::connect(&link).await;
            // A request is one small packet, and nobody shall wait for a second one.
            let _ = program.set_nodelay(true);
            if shared.lock().connected(id, program, server) {
                serve(&shared, id, frozen).await;
            }
            shared.changed.notify_one();
        });
    }

    fn carry_out(&self, request: &Request) {
        let mut inner = self.shared.lock();
        match request {
            Request::Do { op, .. } => {
                let op = *op;
                if !inner.let_go(op) {
                    let why = "the program has closed the connection";
                    inner.tell(Response::Done { op, reply: Reply::Lost(why.to_owned()) });
                }
            }
            Request::Reach { .. } => inner.tell(Response::Reached),
            // The program finds its way by itself.
            Request::Join { .. } | Request::Disconnected { .. } | Request::Settle => {}
        }
    }

    /// Looks whether the program is at rest, and tells if it is.
    fn look(&mut self, settling: &Settling) -> Looked {
        let frozen = *self.frozen.borrow();
        let exit = *self.exits.borrow();
        let was_busy = matches!(self.told, Some(Response::Rests { busy: true, .. }));
        let patience = if was_busy { BUSY_RESTS_WITHIN } else { RESTS_WITHIN };
        let late = settling.since.elapsed() > patience;
        let shared = Arc::clone(&self.shared);
        let (mut until, mut ended, mut busy) = (None, None, false);
        let mut arrived = None;
        let mut inner = shared.lock();
        if !inner.is_heard() {
            inner.hear();
        }
        if let Some(exit) = exit {
            // Its output may be kept open by somebody who outlives it: what is there now is all.
            inner.hear();
            if !inner.line.is_empty() {
                inner.end_line();
            }
            let ids: Vec<u64> = inner.connections.keys().copied().collect();
            for id in ids {
                inner.close(id);
            }
            ended = Some(if exit == Exit::Code(0) { String::new() } else { self.last_words(exit) });
        } else {
            let quiet = || {
                arrived = self.arriving.accept().ok();
                arrived.is_none() && !inner.is_busy(frozen)
            };
            match self.threads.look(self.clock.monotonic(), quiet) {
                Rest::Until(moment) => until = moment.map(|moment| self.clock.lesson_time(moment)),
                Rest::No if late && settling.asked > 0 => busy = true,
                Rest::No => {
                    drop(inner);
                    return Looked::AtWork(arrived.map(|(program, _)| program));
                }
            }
        }
        if let Some((op, reply)) = inner.refused.take() {
            inner.tell(Response::Done { op, reply });
        }
        if inner.lines > MOST_LINES {
            let more = inner.lines - MOST_LINES;
            inner.say(format!("({more} more lines)"));
        }
        inner.lines = 0;
        if self.told.is_none()
            && exit.is_none()
            && self.clock.page().is_some_and(|page| !self.threads.keep(&page))
        {
            inner.say(NO_CLOCK.to_owned());
        }
        let asks = inner.asks();
        let told = Response::Rests { actor: inner.actor, asks, until, ended, busy };
        if settling.asked > 0 || self.told.as_ref() != Some(&told) {
            inner.tell(told.clone());
        }
        self.told = Some(told);
        for _ in 0..settling.asked {
            inner.tell(Response::Settled);
        }
        drop(inner);
        if busy { Looked::Busy(arrived.map(|(program, _)| program)) } else { Looked::AtRest }
    }

    fn last_words(&self, exit: Exit) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let last = log.lines().rev().map(str::trim).find(|line| !line.is_empty());
        last.map_or_else(|| exit.to_string(), |last| format!("{exit}: {last}"))
    }
}

/// Brings a connection on whenever its sockets allow, until it is over.
async fn serve(shared: &Shared, id: u64, mut frozen: watch::Receiver<bool>) {
    loop {
        let still = *frozen.borrow_and_update();
        let Some(Wanted { program, server, poked, takes, has }) = shared.lock().serve(id, still) else {
            return;
        };
        shared.changed.notify_one();
        let woken = tokio::select! {
            readable = program.readable(), if takes.0 => readable,
            readable = server.readable(), if takes.1 => readable,
            writable = program.writable(), if has.0 => writable,
            writable = server.writable(), if has.1 => writable,
            () = poked.notified() => Ok(()),
            changed = frozen.changed() => changed.map_err(io::Error::other),
        };
        if woken.is_err() {
            shared.lock().close(id);
            return;
        }
    }
}
