//! A link: the wire between one client and one server, which can be held, cut and released.
//!
//! A link is a relay with a listening end of its own, which its client takes for the server. Data sent after
//! [`Link::hold`] has returned does not pass until [`Link::release`]; held data is kept in order, a first piece in the
//! relay and the rest in the sockets' own buffers, as in a slow network.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::clock::{LessonClock, LessonTime};
use crate::log::{Direction, LinkId};
use crate::server::{boot::Endpoint, passage::Passage};

/// The most bytes of one read. Small, because a crowd has two buffers for each of its members.
const PIECE: usize = 4096;

/// How many pieces a delayed link takes in for each direction of a connection; more wait at the sender.
const MOST_DELAYED: usize = 1024;

/// How long pieces that are due may take to arrive, in real time: a frozen server may have no room for them.
const ARRIVES_WITHIN: Duration = Duration::from_secs(1);

/// The pause after a connection could not be accepted, which happens when file descriptors run out.
const AFTER_REFUSAL: Duration = Duration::from_millis(10);

/// The pause after a server's connection queue was full.
const QUEUE_FULL: Duration = Duration::from_millis(1);

/// The address of a client's end of a link.
pub type LinkAddress = Endpoint;

/// What a link does with the data sent on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkState {
    Open,
    /// Keeps data in this direction; connections stay open.
    Held(Direction),
    /// Passes data in this direction on after this much lesson time.
    Delayed(Direction, Duration),
    /// Has no connections and refuses new ones.
    Cut,
}

/// The orders of a link to its connections. One value, so that no connection ever sees half of a change.
#[derive(Debug, Clone, Copy)]
struct LinkControl {
    state: LinkState,
    /// Connections of an earlier generation close without passing anything on.
    generation: u64,
    /// Delayed data that was due by this time may arrive.
    arrived: LessonTime,
}

/// The number of connections that hold data, for each direction.
#[derive(Debug, Clone, Copy, Default)]
struct Holding {
    to_server: usize,
    to_client: usize,
}

impl Holding {
    fn of(&mut self, way: Direction) -> &mut usize {
        match way {
            Direction::Replies => &mut self.to_client,
            Direction::Requests | Direction::Both => &mut self.to_server,
        }
    }
}

/// A link. Dropping it closes its connections and its listening end.
#[derive(Debug)]
pub struct Link {
    id: LinkId,
    address: LinkAddress,
    orders: watch::Sender<LinkControl>,
    holding: watch::Sender<Holding>,
    unanswered: watch::Sender<usize>,
    due: watch::Sender<Vec<LessonTime>>,
    /// The task that accepts connections, shared by the links behind one listening end: it ends with the last of them.
    acceptor: Arc<JoinSet<()>>,
    wire: Wire,
}

/// The client's end of a link for a client inside this process.
#[derive(Debug, Clone)]
pub(crate) struct InnerEnd {
    wire: Wire,
    server: Endpoint,
}

impl InnerEnd {
    /// Connects to the server over the link. A cut link refuses.
    pub(crate) async fn connect(&self) -> io::Result<Passage> {
        let connection =
            Connection::admit(&self.wire).ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?;
        let (near, far) = Passage::ends();
        let far = tokio::io::split(far);
        match &self.server {
            Endpoint::Unix(path) => {
                let mut server = connect_unix(path).await?;
                tokio::spawn(async move { connection.relay(far, server.split()).await });
            }
            Endpoint::Tcp(address) => {
                let mut server = TcpStream::connect(address).await?;
                let _ = server.set_nodelay(true);
                tokio::spawn(async move { connection.relay(far, server.split()).await });
            }
        }
        Ok(near)
    }
}

/// A visitor of a front: its link, and the loopback address that it connects from.
pub(crate) type Visitor = (LinkId, IpAddr);

/// The length of the accept queue. A crowd connects at once, and the kernel drops connections that find no room: their
/// clients retry after a second.
pub(crate) const BACKLOG: i32 = 1024;

/// Listens on a free port of the loopback interface.
pub(crate) async fn listener() -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

impl Link {
    /// Creates a link to a server. Its listening end is the Unix socket `socket` if the server has a Unix socket, else
    /// a free port of the loopback interface.
    pub(crate) async fn lay(
        id: LinkId,
        server: &Endpoint,
        socket: &Path,
        clock: &LessonClock,
    ) -> io::Result<Self> {
        let mut acceptor = JoinSet::new();
        let mut link = match server {
            Endpoint::Unix(server) => {
                let listener = UnixListener::bind(socket)?;
                let (link, wire) = Self::new(id, LinkAddress::Unix(socket.to_path_buf()), clock);
                acceptor.spawn(accept_unix(listener, server.clone(), wire));
                link
            }
            Endpoint::Tcp(server) => {
                let listener = listener().await?;
                let (link, wire) = Self::new(id, LinkAddress::Tcp(listener.local_addr()?), clock);
                acceptor.spawn(accept_tcp(listener, *server, vec![(Ipv4Addr::LOCALHOST.into(), wire)]));
                link
            }
        };
        link.acceptor = Arc::new(acceptor);
        Ok(link)
    }

    /// Creates one link for each visitor behind one listening end: servers must agree on each other's addresses, and
    /// yet each pair needs a link of its own. Visitors are distinguished by the address that they connect from; on
    /// Linux all of 127.0.0.0/8 is loopback.
    pub(crate) fn lay_front(
        listener: TcpListener,
        server: SocketAddr,
        visitors: &[Visitor],
        clock: &LessonClock,
    ) -> io::Result<Vec<Self>> {
        let address = listener.local_addr()?;
        let ends = visitors.iter().cloned();
        let mut acceptor = JoinSet::new();
        let (links, wires) = Self::several(ends, &LinkAddress::Tcp(address), clock);
        acceptor.spawn(accept_tcp(listener, server, wires));
        Ok(Self::behind(links, acceptor))
    }

    /// Creates a client's links to the servers of an ensemble behind one listening end. Connections go to the client's
    /// current server, `first` to begin with. When that server refuses, or a connection to it ends, the next server
    /// becomes the current one; with `sticky`, only if the client has not ended the connection itself.
    pub(crate) async fn lay_to_ensemble(
        servers: Vec<(LinkId, SocketAddr)>,
        first: usize,
        sticky: bool,
        clock: &LessonClock,
    ) -> io::Result<(Vec<Self>, MemberChoice)> {
        let listener = listener().await?;
        let address = listener.local_addr()?;
        let (links, wires) = Self::several(servers, &LinkAddress::Tcp(address), clock);
        let at = Arc::new(AtomicUsize::new(first % wires.len().max(1)));
        let home = MemberChoice { at, of: wires.len(), sticky };
        let mut acceptor = JoinSet::new();
        acceptor.spawn(accept_for_any(listener, wires.into(), home.clone()));
        Ok((Self::behind(links, acceptor), home))
    }

    /// Links with a common address, and the wire of each with its key.
    fn several<K>(
        ends: impl IntoIterator<Item = (LinkId, K)>,
        address: &LinkAddress,
        clock: &LessonClock,
    ) -> (Vec<Self>, Vec<(K, Wire)>) {
        let link = |(id, key)| {
            let (link, wire) = Self::new(id, address.clone(), clock);
            (link, (key, wire))
        };
        ends.into_iter().map(link).unzip()
    }

    /// Ties the links to the task that accepts their connections.
    fn behind(mut links: Vec<Self>, acceptor: JoinSet<()>) -> Vec<Self> {
        let acceptor = Arc::new(acceptor);
        for link in &mut links {
            link.acceptor = Arc::clone(&acceptor);
        }
        links
    }

    /// A link that accepts no connections yet, and its wire.
    fn new(id: LinkId, address: LinkAddress, clock: &LessonClock) -> (Self, Wire) {
        let (orders, wire) = Wire::new(clock);
        let (holding, due) = (wire.holding.clone(), wire.due.clone());
        let unanswered = wire.unanswered.clone();
        let acceptor = Arc::default();
        (Self { id, address, orders, holding, unanswered, due, acceptor, wire: wire.clone() }, wire)
    }

    /// The link's end for a client inside this process; `server` is the address at the other end.
    pub(crate) fn inner_end(&self, server: &Endpoint) -> InnerEnd {
        InnerEnd { wire: self.wire.clone(), server: server.clone() }
    }

    pub fn id(&self) -> &LinkId {
        &self.id
    }

    /// The address of the client's end.
    pub fn address(&self) -> &LinkAddress {
        &self.address
    }

    /// The current state.
    pub fn state(&self) -> LinkState {
        self.orders.borrow().state
    }

    /// Keeps everything sent in this direction from now on; the other direction still passes. A cut link accepts
    /// connections again, held.
    pub fn hold(&self, way: Direction) {
        self.orders.send_modify(|orders| orders.state = LinkState::Held(way));
    }

    /// Delays everything sent in this direction from now on by this much lesson time, in order.
    pub fn delay(&self, way: Direction, by: Duration) {
        self.orders.send_modify(|orders| orders.state = LinkState::Delayed(way, by));
    }

    /// When the next delayed data arrives.
    pub fn next_arrival(&self) -> Option<LessonTime> {
        self.due.borrow().iter().min().copied()
    }

    /// Lets data that is due by now arrive. Returns whether there was any; it has then left the link.
    pub async fn deliver_due(&self, now: LessonTime) -> bool {
        let due = |all: &Vec<LessonTime>| all.iter().any(|due| *due <= now);
        if !due(&self.due.borrow()) {
            return false;
        }
        self.orders.send_modify(|orders| orders.arrived = now);
        let mut waiting = self.due.subscribe();
        // A server without room for the data gets it later; the connection keeps the order.
        let _ = tokio::time::timeout(ARRIVES_WITHIN, waiting.wait_for(|all| !due(all))).await;
        true
    }

    /// The number of its connections that hold data in either direction.
    pub fn in_transit(&self) -> usize {
        let holding = self.holding.borrow();
        holding.to_server + holding.to_client
    }

    /// Resolves when at least this many connections hold data.
    pub fn carries(&self, connections: usize) -> impl Future<Output = ()> + use<> {
        let mut holding = self.holding.subscribe();
        async move {
            let enough = |now: &Holding| now.to_server + now.to_client >= connections;
            if holding.wait_for(enough).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Passes on what was held or delayed, in order, and everything after it. A cut link accepts connections again.
    /// What was held has left the link when this returns, so that a later order cannot stop it.
    pub async fn release(&self) {
        self.orders.send_modify(|orders| orders.state = LinkState::Open);
        let mut holding = self.holding.subscribe();
        let none = |now: &Holding| now.to_server + now.to_client == 0;
        // A server without room for the data gets it later; the connection keeps the order.
        let _ = tokio::time::timeout(ARRIVES_WITHIN, holding.wait_for(none)).await;
    }

    /// Closes all connections, with what they held, and refuses new ones until [`Link::release`].
    pub fn cut(&self) {
        self.orders.send_modify(|orders| {
            orders.state = LinkState::Cut;
            orders.generation += 1;
        });
    }

    /// Waits until a reply to each request has passed. Returns false if one is missing after a second of real time: the server
    /// may be busy, or the request may block in it.
    pub fn answered(&self) -> impl Future<Output = bool> + use<> {
        let mut unanswered = self.unanswered.subscribe();
        async move {
            let none = unanswered.wait_for(|unanswered| *unanswered == 0);
            tokio::time::timeout(ARRIVES_WITHIN, none).await.is_ok()
        }
    }

    /// Resolves when the link holds data of at least this many connections in this direction. The server has then done
    /// what a held reply reports: losing a reply needs no guess about how long the server takes.
    pub fn holds_on(&self, connections: usize, way: Direction) -> impl Future<Output = ()> + use<> {
        let mut holding = self.holding.subscribe();
        let holds = move |now: &Holding| {
            let to = |one, number| if way.covers(one) { number } else { 0 };
            to(Direction::Requests, now.to_server).max(to(Direction::Replies, now.to_client)) >= connections
        };
        async move {
            if holding.wait_for(holds).await.is_err() {
                // The link was dropped and will never hold anything.
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The connections notice that the sender of their orders is gone.
        if let LinkAddress::Unix(socket) = &self.address {
            // The socket may have been removed with its directory.
            let _ = std::fs::remove_file(socket);
        }
    }
}

/// What a connection shares with its link.
#[derive(Debug, Clone)]
struct Wire {
    orders: watch::Receiver<LinkControl>,
    holding: watch::Sender<Holding>,
    /// How many connections have sent a request since the last reply that passed on them.
    unanswered: watch::Sender<usize>,
    clock: LessonClock,
    /// When each delayed piece arrives.
    due: watch::Sender<Vec<LessonTime>>,
}

impl Wire {
    /// A wire, and the sender of its orders.
    fn new(clock: &LessonClock) -> (watch::Sender<LinkControl>, Self) {
        let arrived = LessonTime::ZERO;
        let orders = watch::Sender::new(LinkControl { state: LinkState::Open, generation: 0, arrived });
        let wire = Self {
            orders: orders.subscribe(),
            holding: watch::Sender::new(Holding::default()),
            unanswered: watch::Sender::new(0),
            clock: clock.clone(),
            due: watch::Sender::new(Vec::new()),
        };
        (orders, wire)
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

async fn accept_unix(listener: UnixListener, server: PathBuf, wire: Wire) {
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
            connection.relay(client.split(), server.split()).await;
        });
    }
}

/// Connects to a Unix socket. Where TCP would resend its packet, a Unix socket with a full queue refuses at once with
/// EAGAIN, and nothing signals when there is room (unix(7), connect(2)): a crowd that connects while the server is busy
/// or frozen must still get in, as it would over TCP.
async fn connect_unix(socket: &Path) -> io::Result<UnixStream> {
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
async fn accept_tcp(listener: TcpListener, server: SocketAddr, wires: Vec<(IpAddr, Wire)>) {
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
async fn accept_for_any(listener: TcpListener, servers: Arc<[(SocketAddr, Wire)]>, home: MemberChoice) {
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

struct Connection {
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

/// The link was cut, its content discarded, or it was dropped.
struct Severed;

impl Connection {
    /// A connection over this wire, or `None` if the link is cut.
    fn admit(wire: &Wire) -> Option<Self> {
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

    /// Relays bytes both ways until both ends have finished, one breaks, or the link severs.
    async fn relay(
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
                length = from.read(&mut piece), if reads => {
                    if matches!(length, Ok(0) | Err(_)) {
                        let _ = self.first_end.set(way);
                    }
                    let length = length.map_err(|_| Severed)?;
                    speaks = length > 0;
                    if speaks && way == Direction::Requests {
                        self.note_unanswered(true);
                    }
                    taken.push_back((self.wire.due(way), piece[..length].to_vec()));
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
