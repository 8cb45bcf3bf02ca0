//! One connection of an external program: requests come in and are held, replies go out. A connection must
//! not know when the program rests.

use std::{
    collections::VecDeque,
    mem::MaybeUninit,
    os::fd::AsFd,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::ioctl_fionread,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::mpsc,
};

use super::Hinted;
use super::dialect::{Dialect, LONGEST_REQUEST, Sent};
use crate::{
    client::protocol::Response,
    log::{ActorId, Command, OpId, Reply},
    server::{passage::Passage, zookeeper::jute},
    text::{Text, Words},
};

/// The most bytes that are buffered from a connection. More are read once these have been passed on.
const MOST_BUFFERED: usize = 2 * LONGEST_REQUEST;
/// The most requests of a connection that are held. More are read once these have been passed on.
const MOST_WAITING: usize = 1024;
/// The most bytes of replies that wait for a program to read them. Beyond that the server is made to wait, as
/// it would be without a gate.
const MOST_UNREAD: usize = 1 << 20;
/// The size of one read, in bytes.
const PIECE: usize = 16 << 10;

const OTHER_DATABASE: Words = Words::new(
    "Lockstep: this program uses database {}. Its requests are moves like any other, but of what the server holds, database 0 alone \
     is shown: have it use that one (an address ends with `/0`) to see its keys.",
    "Lockstep：这个程序用的是 {} 号数据库。它的请求照样可以一步步走，但服务器里的内容只显示 0 号数据库：想看到它的键，请让它改用 0 号（地址以 `/0` 结尾）。",
);

const REFUSED: Words =
    Words::new("Lockstep: {} refused this program's {}: {}", "Lockstep：{} 拒绝了这个程序的 {}：{}");
/// The most such errors that are reported of a program.
const MOST_REFUSALS: usize = 20;

pub(super) struct Connection {
    /// The index of the server that the connection leads to.
    pub(super) to: usize,
    program: TcpStream,
    server: Passage,
    /// The bytes of an incomplete request.
    pub(super) requests: Vec<u8>,
    dialect: Dialect,
    /// Complete requests that have not been passed on.
    pub(super) waiting: VecDeque<HeldRequest>,
    pub(super) waiting_bytes: usize,
    pub(super) to_server: Vec<u8>,
    pub(super) replies: Vec<u8>,
    pub(super) to_program: Vec<u8>,
    /// Requests that were passed on and have no reply yet.
    pub(super) unanswered: VecDeque<Unanswered>,
    /// Wakes the task that pumps the connection.
    waker: Waker,
    pub(super) over: bool,
}

/// A complete request of a program.
pub(super) struct HeldRequest {
    pub(super) bytes: Vec<u8>,
    pub(super) asked: RequestInfo,
    pub(super) reported: bool,
}

impl HeldRequest {
    fn is_ping(&self) -> bool {
        self.asked.number.as_ref().is_some_and(jute::Asked::is_ping)
    }
}

/// What is known of a request.
#[derive(Default)]
pub(super) struct RequestInfo {
    /// The command; `None` for a request that needs no turn.
    pub(super) command: Option<Command>,
    /// The id by which its reply is matched; `None` if replies come in the order of their requests.
    pub(super) number: Option<jute::Asked>,
    /// Whether the request calls a script.
    pub(super) calls: bool,
    /// The number of confirmations that come in place of a reply.
    pub(super) confirmations: usize,
    /// The database that it selects, if that is not database 0.
    pub(super) database: Option<String>,
    /// The name of a request that needs no turn, if an error in reply to it matters.
    pub(super) passes: Option<String>,
}

pub(super) struct Unanswered {
    /// The operation; `None` for a request that needed no turn.
    pub(super) op: Option<OpId>,
    pub(super) asked: RequestInfo,
}

impl Connection {
    pub(super) fn new(to: usize, program: TcpStream, server: Passage, dialect: Dialect) -> Self {
        Self {
            to,
            program,
            server,
            requests: Vec::new(),
            dialect,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            to_server: Vec::new(),
            replies: Vec::new(),
            to_program: Vec::new(),
            unanswered: VecDeque::new(),
            waker: Waker::noop().clone(),
            over: false,
        }
    }

    /// Tells a program why its connection ends, if its protocol has errors that it can read.
    pub(super) fn send_closing_error(&self, why: &str) {
        // It makes no difference whether the program receives this.
        let _ = self.program.try_write(&self.dialect.closing_error(why));
    }

    /// Has the task pump the connection although nothing has arrived.
    pub(super) fn wake(&self) {
        self.waker.wake_by_ref();
    }

    pub(super) fn has_room_for_requests(&self) -> bool {
        self.requests.len() + self.waiting_bytes + self.to_server.len() < MOST_BUFFERED
            && self.waiting.len() < MOST_WAITING
    }

    pub(super) fn has_room_for_replies(&self, frozen: bool) -> bool {
        !frozen && self.to_program.len() < MOST_UNREAD
    }

    /// Whether data is in transit that waits for no turn. Data that its receiver does not read now does not
    /// count.
    pub(super) fn is_busy(&self, frozen: bool, answers: bool) -> bool {
        (self.has_room_for_requests() && ioctl_fionread(&self.program).is_ok_and(|bytes| bytes > 0))
            || (self.has_room_for_replies(frozen) && self.server.unread())
            || (!self.to_server.is_empty() && self.server.takes())
            || (!self.to_program.is_empty() && is_writable(&self.program))
            || (answers && self.unanswered.iter().any(|unanswered| unanswered.op.is_none()))
    }

    /// Reads, parses and passes on as much as possible without waiting. `Err` means that the connection is
    /// over.
    pub(super) fn pump(
        &mut self,
        id: u64,
        frozen: bool,
        context: &mut Context<'_>,
        gate: &mut GateParts<'_>,
    ) -> Result<(), Text> {
        self.waker.clone_from(context.waker());
        loop {
            while self.has_room_for_requests()
                && read(&mut self.program, context, &mut self.requests, &mut self.over)
            {
                self.parse_requests(gate)?;
            }
            let full = !self.has_room_for_requests();
            self.advance(id, gate);
            write(&mut self.server, context, &mut self.to_server, &mut self.over);
            write(&mut self.program, context, &mut self.to_program, &mut self.over);
            while self.has_room_for_replies(frozen)
                && read(&mut self.server, context, &mut self.replies, &mut self.over)
            {
                self.deliver_replies(gate)?;
                write(&mut self.program, context, &mut self.to_program, &mut self.over);
            }
            self.advance(id, gate);
            write(&mut self.server, context, &mut self.to_server, &mut self.over);
            // There is room again for requests that could not be read before, and no event would trigger
            // reading them.
            if self.over || !full || !self.has_room_for_requests() {
                return Ok(());
            }
        }
    }

    /// Parses requests from what was read.
    pub(super) fn parse_requests(&mut self, gate: &mut GateParts<'_>) -> Result<(), Text> {
        while let Some((end, asked)) = self.dialect.request(&self.requests)? {
            let rest = self.requests.split_off(end);
            let bytes = std::mem::replace(&mut self.requests, rest);
            // An empty line is no request.
            let Some(asked) = asked else { continue };
            if let Some(database) = &asked.database
                && !std::mem::replace(&mut gate.hinted.databases, true)
            {
                let remark = OTHER_DATABASE.text(&[database]);
                gate.report(Response::Remarked { actor: gate.actor, remark });
            }
            self.waiting_bytes += bytes.len();
            self.waiting.push_back(HeldRequest { bytes, asked, reported: false });
        }
        Ok(())
    }

    /// Passes on requests that need no turn, up to the first that does. Its turn may come when the request
    /// before it on this connection has its reply.
    pub(super) fn advance(&mut self, id: u64, gate: &mut GateParts<'_>) {
        while self.waiting.front().is_some_and(|held| held.asked.command.is_none()) {
            self.pass(0, None);
        }
        // A ping goes past requests that wait for their turn: a client of ZooKeeper gives a connection up on which its
        // pings are not answered, and may send the request again on another one. The replies may come in any order.
        while let Some(ping) = self.waiting.iter().position(HeldRequest::is_ping) {
            self.pass(ping, None);
        }
        if self.waiting.front().is_some_and(|held| held.asked.calls && !held.reported)
            && let Some((op, _)) = gate.refused.take()
        {
            self.pass(0, Some(op));
            return self.advance(id, gate);
        }
        let answered = self.unanswered.iter().all(|before| before.op.is_none());
        if let Some(held) = self.waiting.front_mut().filter(|held| answered && !held.reported) {
            held.reported = true;
            gate.held.push_back(id);
        }
    }

    /// Passes on the request at this index among those that wait.
    pub(super) fn pass(&mut self, at: usize, op: Option<OpId>) {
        if let Some(held) = self.waiting.remove(at) {
            self.waiting_bytes -= held.bytes.len();
            self.to_server.extend(&held.bytes);
            self.unanswered.push_back(Unanswered { op, asked: held.asked });
        }
    }

    /// Passes on complete replies. Each is reported before the program can receive it.
    pub(super) fn deliver_replies(&mut self, gate: &mut GateParts<'_>) -> Result<(), Text> {
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

    /// Handles the reply to the `n`th unanswered request.
    fn answered(&mut self, n: usize, reply: Reply, gate: &mut GateParts<'_>) {
        let Some(Unanswered { op, asked }) = self.unanswered.remove(n) else { return };
        let Some(op) = op else {
            if let Some(name) = asked.passes.filter(|_| matches!(reply, Reply::Error { .. })) {
                gate.refused_in_passing(&name, &reply);
            }
            return;
        };
        if asked.calls && matches!(&reply, Reply::Error { code, .. } if code == "NOSCRIPT") {
            *gate.refused = Some((op, reply));
        } else {
            gate.report(Response::Done { op, reply });
        }
    }
}

/// The parts of its gate that a connection uses.
pub(super) struct GateParts<'a> {
    pub(super) actor: ActorId,
    pub(super) server: &'a str,
    pub(super) responses: &'a mpsc::UnboundedSender<Response>,
    pub(super) held: &'a mut VecDeque<u64>,
    pub(super) refused: &'a mut Option<(OpId, Reply)>,
    /// The session of the program, if its server has sessions.
    pub(super) session: &'a mut Option<i64>,
    pub(super) hinted: &'a mut Hinted,
}

impl GateParts<'_> {
    pub(super) fn report(&self, response: Response) {
        // Without a listener the run is over.
        let _ = self.responses.send(response);
    }

    /// Reports an error in reply to a request that needed no turn, such as a wrong password: once, because libraries
    /// try again at once.
    fn refused_in_passing(&mut self, name: &str, reply: &Reply) {
        let why = reply.to_string();
        let remark = REFUSED.text(&[self.server, name, &why]);
        if self.hinted.refusals.len() < MOST_REFUSALS && self.hinted.refusals.insert(remark.en.clone()) {
            self.report(Response::Remarked { actor: self.actor, remark });
        }
    }

    fn message(&self, about: String, what: String) {
        self.report(Response::Notified { actor: self.actor, server: self.server.to_owned(), about, what });
    }

    /// Reports the session that the program was given: a known one, a new one, or 0 if its session has
    /// expired.
    fn session(&mut self, session: i64) {
        if session == 0 {
            self.message("session".to_owned(), "Expired".to_owned());
        } else if *self.session != Some(session) {
            *self.session = Some(session);
            self.report(Response::Session { actor: self.actor, server: self.server.to_owned(), session });
        }
    }
}

/// Whether a socket has room for more bytes.
pub(super) fn is_writable(socket: &impl AsFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// Reads one piece. Returns whether there was one; if not, the task is woken when there is.
fn read(
    from: &mut (impl AsyncRead + Unpin),
    context: &mut Context<'_>,
    into: &mut Vec<u8>,
    over: &mut bool,
) -> bool {
    let mut piece = [MaybeUninit::uninit(); PIECE];
    let mut piece = ReadBuf::uninit(&mut piece);
    match Pin::new(from).poll_read(context, &mut piece) {
        Poll::Pending => return false,
        Poll::Ready(Ok(())) if !piece.filled().is_empty() => {
            into.extend_from_slice(piece.filled());
            return true;
        }
        Poll::Ready(_) => *over = true,
    }
    false
}

/// Writes as many bytes as the receiver takes. The task is woken when it takes more.
fn write(
    to: &mut (impl AsyncWrite + Unpin),
    context: &mut Context<'_>,
    bytes: &mut Vec<u8>,
    over: &mut bool,
) {
    while !bytes.is_empty() {
        match Pin::new(&mut *to).poll_write(context, bytes) {
            Poll::Pending => return,
            Poll::Ready(Ok(written)) => drop(bytes.drain(..written)),
            Poll::Ready(Err(_)) => {
                *over = true;
                bytes.clear();
            }
        }
    }
}
