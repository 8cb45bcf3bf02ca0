//! The connections of a link: they relay bytes both ways, hold them or delay them as the link orders, and close when it
//! is cut.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::task::{Poll, ready};
use std::time::Duration;

use rustix::io::ioctl_fionread;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;

use super::LinkState;
use crate::clock::{LessonClock, LessonTime};
use crate::log::Direction;

/// The most bytes of one read. Small, because a crowd has two buffers for each of its members.
const PIECE: usize = 4096;

/// How many pieces a delayed link takes in for each direction of a connection; more wait at the sender.
const MOST_DELAYED: usize = 1024;

/// The pause after a connection could not be accepted, which happens when file descriptors run out.
const AFTER_REFUSAL: Duration = Duration::from_millis(10);

/// The pause after a server's connection queue was full.
const QUEUE_FULL: Duration = Duration::from_millis(1);

/// The orders of a link to its connections. One value, so that no connection ever sees half of a change.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkControl {
    pub(super) state: LinkState,
    /// Connections of an earlier generation close without passing anything on.
    pub(super) generation: u64,
    /// Delayed data that was due by this time may arrive.
    pub(super) arrived: LessonTime,
}

/// The number of connections that hold data, for each direction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Holding {
    pub(super) to_server: usize,
    pub(super) to_client: usize,
}

impl Holding {
    fn of(&mut self, way: Direction) -> &mut usize {
        match way {
            Direction::Replies => &mut self.to_client,
            Direction::Requests | Direction::Both => &mut self.to_server,
        }
    }
}

/// What a connection shares with its link.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    orders: watch::Receiver<LinkControl>,
    pub(super) holding: watch::Sender<Holding>,
    /// How many connections have sent a request since the last reply that passed on them.
    pub(super) unanswered: watch::Sender<usize>,
    clock: LessonClock,
    /// When each delayed piece arrives.
    pub(super) due: watch::Sender<Vec<LessonTime>>,
    /// The sockets of its connections to the server. Locked while a piece is read and its arrival noted: whoever finds
    /// the sockets empty finds the arrivals of all that was in them.
    servers: Arc<Mutex<Vec<Arc<OwnedFd>>>>,
}

impl Wire {
    /// A wire, and the sender of its orders.
    pub(super) fn new(clock: &LessonClock) -> (watch::Sender<LinkControl>, Self) {
        let arrived = LessonTime::ZERO;
        let orders = watch::Sender::new(LinkControl { state: LinkState::Open, generation: 0, arrived });
        let wire = Self {
            orders: orders.subscribe(),
            holding: watch::Sender::new(Holding::default()),
            unanswered: watch::Sender::new(0),
            clock: clock.clone(),
            due: watch::Sender::new(Vec::new()),
            servers: Arc::default(),
        };
        (orders, wire)
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Arc<OwnedFd>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a server has sent something that has not been read.
    pub(super) fn has_unread(&self) -> bool {
        self.servers().iter().any(|server| ioctl_fionread(server).is_ok_and(|bytes| bytes > 0))
    }

    /// When a piece sent now in this direction arrives; `None` if the direction is not delayed.
    fn due(&self, way: Direction) -> Option<Due> {
        let LinkState::Delayed(delayed, by) = self.orders.borrow().state else { return None };
        delayed.covers(way).then(|| {
            let at = self.clock.now() + by;
            self.due.send_modify(|all| all.push(at));
            Due { at, all: self.due.clone() }
        })
    }
}

/// The arrival time of a delayed piece, registered in its link until dropped.
struct Due {
    at: LessonTime,
    all: watch::Sender<Vec<LessonTime>>,
}

impl Drop for Due {
    fn drop(&mut self) {
        self.all.send_modify(|all| {
            if let Some(n) = all.iter().position(|at| *at == self.at) {
                all.swap_remove(n);
            }
        });
    }
}

pub(super) async fn accept_unix(listener: UnixListener, server: PathBuf, wire: Wire) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(AFTER_REFUSAL).await;
            continue;
        };
        let Some(connection) = Connection::admit(&wire) else { continue };
        let server = server.clone();
        tokio::spawn(async move {
            let mut client = client;
            // A dead server refuses; the client's connection then closes, as it would without a link.
            let Ok(mut server) = connect_unix(&server).await else { return };
            let _listed = connection.list(&server);
            connection.relay(client.split(), server.split()).await;
        });
    }
}

/// Connects to a Unix socket. Where TCP would resend its packet, a Unix socket with a full queue refuses at once with
/// EAGAIN, and nothing signals when there is room (unix(7), connect(2)): a crowd that connects while the server is busy
/// or frozen must still get in, as it would over TCP.
pub(super) async fn connect_unix(socket: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(socket).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(QUEUE_FULL).await;
            }
            decided => return decided,
        }
    }
}

/// Accepts connections from these addresses, each over its own wire.
pub(super) async fn accept_tcp(listener: TcpListener, server: SocketAddr, wires: Vec<(IpAddr, Wire)>) {
    loop {
        let Ok((client, from)) = listener.accept().await else {
            tokio::time::sleep(AFTER_REFUSAL).await;
            continue;
        };
        let wire = wires.iter().find(|(visitor, _)| *visitor == from.ip());
        let Some(connection) = wire.and_then(|(_, wire)| Connection::admit(wire)) else { continue };
        tokio::spawn(async move {
            let mut client = client;
            let Ok(mut server) = TcpStream::connect(server).await else { return };
            // A request is one small packet that must not wait for a second one. If the option cannot be set, the link
            // is only slower.
            let _ = client.set_nodelay(true).and(server.set_nodelay(true));
            let _listed = connection.list(&server);
            connection.relay(client.split(), server.split()).await;
        });
    }
}

/// The current server of a client in an ensemble: its next connection goes there.
#[derive(Debug, Clone)]
pub(crate) struct MemberChoice {
    at: Arc<AtomicUsize>,
    of: usize,
    /// Whether it stays the current one when the client itself ends a connection: the client may have several.
    sticky: bool,
}

impl MemberChoice {
    /// The choice among `of` servers, `first` to begin with.
    pub(super) fn new(first: usize, of: usize, sticky: bool) -> Self {
        Self { at: Arc::new(AtomicUsize::new(first % of.max(1))), of, sticky }
    }

    pub fn at(&self) -> usize {
        self.at.load(Ordering::SeqCst)
    }

    /// Moves from `server`, whose connection has ended, to the next one, unless the client has moved already.
    fn leave(&self, server: usize) {
        let next = (server + 1) % self.of.max(1);
        let _ = self.at.compare_exchange(server, next, Ordering::SeqCst, Ordering::SeqCst);
    }
}

/// Accepts connections to the client's current server. A server whose link is not open is skipped: behind a held link
/// the client would wait for ever.
pub(super) async fn accept_for_any(
    listener: TcpListener,
    servers: Arc<[(SocketAddr, Wire)]>,
    home: MemberChoice,
) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(AFTER_REFUSAL).await;
            continue;
        };
        let (servers, home) = (Arc::clone(&servers), home.clone());
        tokio::spawn(async move {
            let mut client = client;
            for _ in 0..servers.len() {
                let at = home.at();
                let (address, wire) = &servers[at];
                let open = wire.orders.borrow().state == LinkState::Open;
                if let Some(mut connection) = Connection::admit(wire).filter(|_| open)
                    && let Ok(mut server) = TcpStream::connect(address).await
                {
                    connection.home = Some((home.clone(), at));
                    let _ = client.set_nodelay(true).and(server.set_nodelay(true));
                    connection.relay(client.split(), server.split()).await;
                    if !home.sticky || connection.first_end.get() != Some(&Direction::Requests) {
                        home.leave(at);
                    }
                    return;
                }
                home.leave(at);
            }
        });
    }
}

pub(super) struct Connection {
    wire: Wire,
    generation: u64,
    /// In an ensemble: the client's choice, and the server of this connection.
    home: Option<(MemberChoice, usize)>,
    /// The direction that ended first: requests, if the client ended the connection.
    first_end: OnceLock<Direction>,
    /// Whether a request was sent since the last reply that passed.
    unanswered: AtomicBool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.note_unanswered(false);
    }
}

/// A socket that its link lists.
struct Listed<'a> {
    wire: &'a Wire,
    server: Arc<OwnedFd>,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.wire.servers().retain(|listed| !Arc::ptr_eq(listed, &self.server));
    }
}

/// The link was cut, its content discarded, or it was dropped.
struct Severed;

impl Connection {
    /// A connection over this wire, or `None` if the link is cut.
    pub(super) fn admit(wire: &Wire) -> Option<Self> {
        let LinkControl { state, generation, .. } = *wire.orders.borrow();
        (state != LinkState::Cut).then(|| Self {
            wire: wire.clone(),
            generation,
            home: None,
            first_end: OnceLock::new(),
            unanswered: AtomicBool::new(false),
        })
    }

    /// Notes, here and in the link, whether a request was sent since the last reply that passed.
    fn note_unanswered(&self, now: bool) {
        if self.unanswered.swap(now, Ordering::SeqCst) != now {
            self.wire.unanswered.send_modify(|number| if now { *number += 1 } else { *number -= 1 });
        }
    }

    /// Lists the connection's socket to the server in its link, until the result is dropped. Without a free descriptor
    /// it is not listed, and the link does not wait for what is in it.
    fn list(&self, server: impl AsFd) -> Option<Listed<'_>> {
        let server = Arc::new(server.as_fd().try_clone_to_owned().ok()?);
        self.wire.servers().push(Arc::clone(&server));
        Some(Listed { wire: &self.wire, server })
    }

    /// Reads a piece, and notes when it arrives.
    async fn read(
        &self,
        mut from: impl AsyncRead + Unpin,
        piece: &mut [u8],
        way: Direction,
    ) -> io::Result<(usize, Option<Due>)> {
        poll_fn(|context| {
            let _reading = self.wire.servers();
            let mut piece = ReadBuf::new(piece);
            ready!(Pin::new(&mut from).poll_read(context, &mut piece))?;
            Poll::Ready(Ok((piece.filled().len(), self.wire.due(way))))
        })
        .await
    }

    /// Relays bytes both ways until both ends have finished, one breaks, or the link severs.
    pub(super) async fn relay(
        &self,
        (client_reads, client_writes): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
        (server_reads, server_writes): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    ) {
        let passed = async {
            tokio::try_join!(
                self.pump(client_reads, server_writes, Direction::Requests),
                self.pump(server_reads, client_writes, Direction::Replies),
            )
        };
        // In each case both connections close here.
        tokio::select! {
            biased;
            () = self.severed() => {}
            _ = passed => {}
        }
    }

    async fn pump(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        way: Direction,
    ) -> Result<(), Severed> {
        let mut piece = [0; PIECE];
        let mut taken: VecDeque<(Option<Due>, Vec<u8>)> = VecDeque::new();
        let mut speaks = true;
        loop {
            // Data that is not delayed is passed on before more is read.
            let first = taken.front().map(|(due, _)| due.as_ref().map(|due| due.at));
            let reads = match first {
                None => true,
                Some(due) => speaks && due.is_some() && taken.len() < MOST_DELAYED,
            };
            tokio::select! {
                biased;
                // Checked after the read: data sent after an order was given is never passed on against that order,
                // however the tasks are scheduled.
                passes = self.allowed(way, first.flatten()), if first.is_some() => {
                    passes?;
                    let Some((_due, piece)) = taken.pop_front() else { continue };
                    if piece.is_empty() {
                        // A client that leaves does so at once, even if its server is frozen.
                        if let (Direction::Requests, Some((home, at))) = (way, &self.home)
                            && !home.sticky
                        {
                            home.leave(*at);
                        }
                        // One end has finished sending, and may still receive.
                        return to.shutdown().await.map_err(|_| Severed);
                    }
                    to.write_all(&piece).await.map_err(|_| Severed)?;
                    if way == Direction::Replies {
                        self.note_unanswered(false);
                    }
                }
                read = self.read(&mut from, &mut piece, way), if reads => {
                    if matches!(read, Ok((0, _)) | Err(_)) {
                        let _ = self.first_end.set(way);
                    }
                    let (length, due) = read.map_err(|_| Severed)?;
                    speaks = length > 0;
                    if speaks && way == Direction::Requests {
                        self.note_unanswered(true);
                    }
                    taken.push_back((due, piece[..length].to_vec()));
                }
            }
        }
    }

    /// Resolves when the data may be passed on; counts as holding until then.
    async fn allowed(&self, way: Direction, due: Option<LessonTime>) -> Result<(), Severed> {
        let held = |orders: &LinkControl| match orders.state {
            LinkState::Held(held) => held.covers(way),
            LinkState::Delayed(delayed, _) => {
                delayed.covers(way) && due.is_some_and(|due| due > orders.arrived)
            }
            LinkState::Open | LinkState::Cut => false,
        };
        let mut now = *self.wire.orders.borrow();
        if held(&now) && now.generation == self.generation {
            let _counted = Counted::new(&self.wire.holding, way);
            let mut orders = self.wire.orders.clone();
            let decided = |orders: &LinkControl| !held(orders) || orders.generation != self.generation;
            now = *orders.wait_for(decided).await.map_err(|_| Severed)?;
        }
        if now.generation == self.generation { Ok(()) } else { Err(Severed) }
    }

    /// Resolves when this connection must close.
    async fn severed(&self) {
        let mut orders = self.wire.orders.clone();
        // An error means that the link was dropped, which severs as well.
        let _ = orders.wait_for(|orders| orders.generation != self.generation).await;
    }
}

/// Counts one connection as holding data while it lives.
struct Counted<'a> {
    holding: &'a watch::Sender<Holding>,
    way: Direction,
}

impl<'a> Counted<'a> {
    fn new(holding: &'a watch::Sender<Holding>, way: Direction) -> Self {
        holding.send_modify(|holding| *holding.of(way) += 1);
        Self { holding, way }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.holding.send_modify(|holding| *holding.of(self.way) -= 1);
    }
}
