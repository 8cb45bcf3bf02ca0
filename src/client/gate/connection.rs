//! One connection of a program: requests come in and are held, replies go out. It must not know when the program rests.

use std::{collections::VecDeque, io, os::fd::AsFd, sync::Arc};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::ioctl_fionread,
};
use tokio::{
    net::{TcpStream, UnixStream},
    sync::{Notify, mpsc},
};

use crate::{
    client::protocol::Response,
    log::{ActorId, Command, OpId, Reply},
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
/// The most bytes that are taken from a connection before those that are there have been passed on.
const MOST_BUFFERED: usize = 2 * LONGEST_REQUEST;
/// The most requests of a connection that are taken before those that are there have been passed on.
const MOST_WAITING: usize = 1024;
/// The most bytes of replies that wait for a program to read them. Beyond, its server waits, as it would without us.
const MOST_UNREAD: usize = 1 << 20;
/// What is read at once, in bytes.
const PIECE: usize = 16 << 10;
/// The most characters of a script that are shown.
const LONGEST_SCRIPT: usize = 40;
/// The most characters of one word of a request that are shown.
const LONGEST_WORD: usize = 400;

pub(super) struct Connection {
    pub(super) program: Arc<TcpStream>,
    pub(super) server: Arc<Upstream>,
    /// What was read and is no whole request yet.
    pub(super) requests: Vec<u8>,
    pub(super) request_scan: Scan,
    /// Whole requests that have not been passed on.
    pub(super) waiting: VecDeque<Held>,
    pub(super) waiting_bytes: usize,
    pub(super) to_server: Vec<u8>,
    pub(super) replies: Vec<u8>,
    pub(super) reply_scan: Scan,
    pub(super) to_program: Vec<u8>,
    /// What was passed on and has no reply yet.
    pub(super) unanswered: VecDeque<Unanswered>,
    /// Wakes the task that waits for its sockets.
    pub(super) poked: Arc<Notify>,
    /// Whether it has subscribed to anything.
    pub(super) listens: bool,
    pub(super) over: bool,
}

/// What a connection waits for.
pub(super) struct Interest {
    pub(super) program: Arc<TcpStream>,
    pub(super) server: Arc<Upstream>,
    pub(super) poked: Arc<Notify>,
    /// Requests of its program; replies of its server.
    pub(super) takes: (bool, bool),
    /// Replies for its program; requests for its server.
    pub(super) has: (bool, bool),
}

pub(super) struct Held {
    pub(super) bytes: Vec<u8>,
    pub(super) command: Command,
    pub(super) passes: bool,
    /// It calls a script.
    pub(super) calls: bool,
    pub(super) confirmations: usize,
    pub(super) told: bool,
}

pub(super) struct Unanswered {
    /// The move that it is; none for what passed by itself.
    pub(super) op: Option<OpId>,
    /// How many confirmations come in place of a reply.
    pub(super) confirmations: usize,
    /// It calls a script.
    pub(super) calls: bool,
}

pub(super) enum Upstream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Upstream {
    pub(super) async fn connect(to: &Endpoint) -> io::Result<Self> {
        Ok(match to {
            Endpoint::Unix(path) => Self::Unix(UnixStream::connect(path).await?),
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
        })
    }

    pub(super) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.try_read(buffer),
            Self::Tcp(stream) => stream.try_read(buffer),
        }
    }

    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.try_write(bytes),
            Self::Tcp(stream) => stream.try_write(bytes),
        }
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.readable().await,
            Self::Tcp(stream) => stream.readable().await,
        }
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.writable().await,
            Self::Tcp(stream) => stream.writable().await,
        }
    }

    pub(super) fn unread(&self) -> bool {
        let unread = match self {
            Self::Unix(stream) => ioctl_fionread(stream),
            Self::Tcp(stream) => ioctl_fionread(stream),
        };
        unread.is_ok_and(|bytes| bytes > 0)
    }

    pub(super) fn takes(&self) -> bool {
        match self {
            Self::Unix(stream) => takes(stream),
            Self::Tcp(stream) => takes(stream),
        }
    }
}

impl Connection {
    pub(super) fn new(program: TcpStream, server: Upstream) -> Self {
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

    pub(super) fn takes_requests(&self) -> bool {
        self.requests.len() + self.waiting_bytes < MOST_BUFFERED && self.waiting.len() < MOST_WAITING
    }

    pub(super) fn takes_replies(&self, frozen: bool) -> bool {
        !frozen && self.to_program.len() < MOST_UNREAD
    }

    /// Whether something is on its way that no turn is waited for. What nobody takes is not: its reader reads nothing now.
    pub(super) fn is_busy(&self, frozen: bool, link_open: bool) -> bool {
        (self.takes_requests() && ioctl_fionread(&self.program).is_ok_and(|bytes| bytes > 0))
            || (self.takes_replies(frozen) && self.server.unread())
            || (!self.to_server.is_empty() && self.server.takes())
            || (!self.to_program.is_empty() && takes(&self.program))
            || (link_open && self.unanswered.iter().any(|unanswered| unanswered.op.is_none()))
    }

    /// Reads, understands and passes on as much as can be without waiting. `Err`: the connection is over.
    pub(super) fn pump(&mut self, id: u64, frozen: bool, gate: &mut GateParts<'_>) -> Result<(), Unreadable> {
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
    pub(super) fn understand(&mut self) -> Result<(), Unreadable> {
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
    pub(super) fn advance(&mut self, id: u64, gate: &mut GateParts<'_>) {
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

    pub(super) fn pass(&mut self, op: Option<OpId>) {
        if let Some(held) = self.waiting.pop_front() {
            self.waiting_bytes -= held.bytes.len();
            self.to_server.extend(&held.bytes);
            let Held { confirmations, calls, .. } = held;
            self.listens |= confirmations > 0;
            self.unanswered.push_back(Unanswered { op, confirmations, calls });
        }
    }

    /// Passes whole replies on, and tells of each before its program can know it.
    pub(super) fn hand_out(&mut self, gate: &mut GateParts<'_>) -> Result<(), Unreadable> {
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

    pub(super) fn answered(&mut self, reply: Reply, gate: &mut GateParts<'_>) {
        let Some(Unanswered { op: Some(op), calls, .. }) = self.unanswered.pop_front() else { return };
        if calls && matches!(&reply, Reply::Error { code, .. } if code == "NOSCRIPT") {
            *gate.refused = Some((op, reply));
        } else {
            gate.tell(Response::Done { op, reply });
        }
    }
}

/// The parts of its gate that a connection uses.
pub(super) struct GateParts<'a> {
    pub(super) actor: ActorId,
    pub(super) server: &'a str,
    pub(super) tell: &'a mpsc::UnboundedSender<Response>,
    pub(super) held: &'a mut VecDeque<u64>,
    pub(super) refused: &'a mut Option<(OpId, Reply)>,
}

impl GateParts<'_> {
    pub(super) fn tell(&self, response: Response) {
        // Without a listener the run is over.
        let _ = self.tell.send(response);
    }

    pub(super) fn message(&self, mut parts: Vec<String>) {
        let (Some(what), Some(about)) = (parts.pop(), parts.pop()) else { return };
        self.tell(Response::Notified { actor: self.actor, server: self.server.to_owned(), about, what });
    }
}

/// Whether a socket has room for more.
pub(super) fn takes(socket: &impl AsFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// Reads one piece. Whether there may be more.
pub(super) fn read(
    mut from: impl FnMut(&mut [u8]) -> io::Result<usize>,
    into: &mut Vec<u8>,
    over: &mut bool,
) -> bool {
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
pub(super) fn write(mut to: impl FnMut(&[u8]) -> io::Result<usize>, bytes: &mut Vec<u8>, over: &mut bool) {
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
pub(super) fn shown(mut words: Vec<String>) -> Command {
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
