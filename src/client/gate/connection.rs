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

use super::dialect::{Dialect, LONGEST_REQUEST, Sent};
use crate::{
    client::protocol::Response,
    log::{ActorId, Command, OpId, Reply},
    server::{boot::Endpoint, zookeeper::jute},
    text::Text,
};

/// The most bytes that are taken from a connection before those that are there have been passed on.
const MOST_BUFFERED: usize = 2 * LONGEST_REQUEST;
/// The most requests of a connection that are taken before those that are there have been passed on.
const MOST_WAITING: usize = 1024;
/// The most bytes of replies that wait for a program to read them. Beyond, its server waits, as it would without us.
const MOST_UNREAD: usize = 1 << 20;
/// What is read at once, in bytes.
const PIECE: usize = 16 << 10;

pub(super) struct Connection {
    /// The server that it leads to, by its place.
    pub(super) to: usize,
    pub(super) program: Arc<TcpStream>,
    pub(super) server: Arc<Upstream>,
    /// What was read and is no whole request yet.
    pub(super) requests: Vec<u8>,
    dialect: Dialect,
    /// Whole requests that have not been passed on.
    pub(super) waiting: VecDeque<Held>,
    pub(super) waiting_bytes: usize,
    pub(super) to_server: Vec<u8>,
    pub(super) replies: Vec<u8>,
    pub(super) to_program: Vec<u8>,
    /// What was passed on and has no reply yet.
    pub(super) unanswered: VecDeque<Unanswered>,
    /// Wakes the task that waits for its sockets.
    pub(super) poked: Arc<Notify>,
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

/// A whole request of a program.
pub(super) struct Held {
    pub(super) bytes: Vec<u8>,
    pub(super) asked: Asked,
    pub(super) reported: bool,
}

/// What is known of a request.
pub(super) struct Asked {
    /// The command; none of what passes by itself.
    pub(super) command: Option<Command>,
    /// Its number, by which its reply is known; none where replies come in the order of their requests.
    pub(super) number: Option<jute::Asked>,
    /// It calls a script.
    pub(super) calls: bool,
    /// How many confirmations come in place of a reply.
    pub(super) confirmations: usize,
}

pub(super) struct Unanswered {
    /// The move that it is; none for what passed by itself.
    pub(super) op: Option<OpId>,
    pub(super) asked: Asked,
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
    pub(super) fn new(to: usize, program: TcpStream, server: Upstream, dialect: Dialect) -> Self {
        Self {
            to,
            program: Arc::new(program),
            server: Arc::new(server),
            requests: Vec::new(),
            dialect,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            to_server: Vec::new(),
            replies: Vec::new(),
            to_program: Vec::new(),
            unanswered: VecDeque::new(),
            poked: Arc::default(),
            over: false,
        }
    }

    /// What a program that can read an error of its server is told at the end.
    pub(super) fn farewell(&self, why: &str) -> Vec<u8> {
        self.dialect.farewell(why)
    }

    pub(super) fn takes_requests(&self) -> bool {
        self.requests.len() + self.waiting_bytes < MOST_BUFFERED && self.waiting.len() < MOST_WAITING
    }

    pub(super) fn takes_replies(&self, frozen: bool) -> bool {
        !frozen && self.to_program.len() < MOST_UNREAD
    }

    /// Whether something is on its way that no turn is waited for. What nobody takes is not: its reader reads nothing now.
    pub(super) fn is_busy(&self, frozen: bool, answers: bool) -> bool {
        (self.takes_requests() && ioctl_fionread(&self.program).is_ok_and(|bytes| bytes > 0))
            || (self.takes_replies(frozen) && self.server.unread())
            || (!self.to_server.is_empty() && self.server.takes())
            || (!self.to_program.is_empty() && takes(&self.program))
            || (answers && self.unanswered.iter().any(|unanswered| unanswered.op.is_none()))
    }

    /// Reads, understands and passes on as much as can be without waiting. `Err`: the connection is over.
    pub(super) fn pump(&mut self, id: u64, frozen: bool, gate: &mut GateParts<'_>) -> Result<(), Text> {
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
        self.advance(id, gate);
        write(|bytes| self.server.try_write(bytes), &mut self.to_server, &mut self.over);
        write(|bytes| self.program.try_write(bytes), &mut self.to_program, &mut self.over);
        Ok(())
    }

    /// Makes requests of what was read.
    pub(super) fn understand(&mut self) -> Result<(), Text> {
        while let Some((end, asked)) = self.dialect.request(&self.requests)? {
            let rest = self.requests.split_off(end);
            let bytes = std::mem::replace(&mut self.requests, rest);
            // An empty line asks for nothing.
            let Some(asked) = asked else { continue };
            self.waiting_bytes += bytes.len();
            self.waiting.push_back(Held { bytes, asked, reported: false });
        }
        Ok(())
    }

    /// Passes on what needs no turn, up to the first request that does. Its turn may come when the one before it on this
    /// connection has its reply.
    pub(super) fn advance(&mut self, id: u64, gate: &mut GateParts<'_>) {
        while self.waiting.front().is_some_and(|held| held.asked.command.is_none()) {
            self.pass(None);
        }
        if self.waiting.front().is_some_and(|held| held.asked.calls && !held.reported)
            && let Some((op, _)) = gate.refused.take()
        {
            self.pass(Some(op));
            return self.advance(id, gate);
        }
        let answered = self.unanswered.iter().all(|before| before.op.is_none());
        if let Some(held) = self.waiting.front_mut().filter(|held| answered && !held.reported) {
            held.reported = true;
            gate.held.push_back(id);
        }
    }

    pub(super) fn pass(&mut self, op: Option<OpId>) {
        if let Some(held) = self.waiting.pop_front() {
            self.waiting_bytes -= held.bytes.len();
            self.to_server.extend(&held.bytes);
            self.unanswered.push_back(Unanswered { op, asked: held.asked });
        }
    }

    /// Passes whole replies on, and tells of each before its program can know it.
    pub(super) fn hand_out(&mut self, gate: &mut GateParts<'_>) -> Result<(), Text> {
        while let Some((end, sent)) = self.dialect.sent(&self.replies, &self.unanswered)? {
            let rest = self.replies.split_off(end);
            let bytes = std::mem::replace(&mut self.replies, rest);
            match sent {
                Sent::Message { about, what } => gate.message(about, what),
                Sent::Confirmation(reply) => {
                    if let Some(first) =
                        self.unanswered.front_mut().filter(|first| first.asked.confirmations > 0)
                    {
                        first.asked.confirmations -= 1;
                        if first.asked.confirmations == 0 {
                            self.answered(0, reply, gate);
                        }
                    }
                }
                Sent::Session(session) => {
                    gate.session(session);
                    self.unanswered.pop_front();
                }
                Sent::Reply(n, reply) => self.answered(n, reply, gate),
                Sent::Nothing => {}
            }
            self.to_program.extend(bytes);
        }
        Ok(())
    }

    /// The reply to the `n`th request that has none.
    fn answered(&mut self, n: usize, reply: Reply, gate: &mut GateParts<'_>) {
        let Some(Unanswered { op: Some(op), asked }) = self.unanswered.remove(n) else { return };
        if asked.calls && matches!(&reply, Reply::Error { code, .. } if code == "NOSCRIPT") {
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
    /// The session that the program has, where its server knows sessions.
    pub(super) session: &'a mut Option<i64>,
}

impl GateParts<'_> {
    pub(super) fn tell(&self, response: Response) {
        // Without a listener the run is over.
        let _ = self.tell.send(response);
    }

    fn message(&self, about: String, what: String) {
        self.tell(Response::Notified { actor: self.actor, server: self.server.to_owned(), about, what });
    }

    /// The program has been given a session: the one that it had, a new one, or word that the one that it had is over.
    fn session(&mut self, session: i64) {
        if session == 0 {
            self.message("session".to_owned(), "Expired".to_owned());
        } else if *self.session != Some(session) {
            *self.session = Some(session);
            self.tell(Response::Session { actor: self.actor, server: self.server.to_owned(), session });
        }
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
