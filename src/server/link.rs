//! A link: the wire between one client and one server, which can be held, cut and released.
//!
//! A link is a relay with a listening end of its own, which its client takes for the server. Data sent after
//! [`Link::hold`] has returned does not pass until [`Link::release`]; held data is kept in order, a first piece in the
//! relay and the rest in the sockets' own buffers, as in a slow network.

mod relay;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) use relay::MemberChoice;
use relay::{Connection, Holding, LinkControl, Wire, accept_for_any, accept_tcp, accept_unix, connect_unix};

use crate::clock::{LessonClock, LessonTime};
use crate::log::{Direction, LinkId};
use crate::server::{boot::Endpoint, passage::Passage};

/// How long pieces that are due may take to arrive, in real time: a frozen server may have no room for them.
const ARRIVES_WITHIN: Duration = Duration::from_secs(1);

/// How often a link is asked whether it has taken in what was sent.
const TAKES_IN: Duration = Duration::from_micros(200);

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

/// A link. Dropping it closes its connections and its listening end.
#[derive(Debug)]
pub struct Link {
    id: LinkId,
    address: LinkAddress,
    orders: watch::Sender<LinkControl>,
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
        let home = MemberChoice::new(first, wires.len(), sticky);
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
        (Self { id, address, orders, acceptor: Arc::default(), wire: wire.clone() }, wire)
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
        self.wire.due.borrow().iter().min().copied()
    }

    /// Waits until a delayed link has taken in everything that its server has sent so far.
    pub async fn take_in(&self) {
        let emptied = async {
            while matches!(self.state(), LinkState::Delayed(..)) && self.wire.has_unread() {
                tokio::time::sleep(TAKES_IN).await;
            }
        };
        // A link with very much in it takes in no more.
        let _ = tokio::time::timeout(ARRIVES_WITHIN, emptied).await;
    }

    /// Lets data that is due by now arrive. Returns whether there was any; it has then left the link.
    pub async fn deliver_due(&self, now: LessonTime) -> bool {
        let due = |all: &Vec<LessonTime>| all.iter().any(|due| *due <= now);
        if !due(&self.wire.due.borrow()) {
            return false;
        }
        self.orders.send_modify(|orders| orders.arrived = now);
        let mut waiting = self.wire.due.subscribe();
        // A server without room for the data gets it later; the connection keeps the order.
        let _ = tokio::time::timeout(ARRIVES_WITHIN, waiting.wait_for(|all| !due(all))).await;
        true
    }

    /// The number of its connections that hold data in either direction.
    pub fn in_transit(&self) -> usize {
        let holding = self.wire.holding.borrow();
        holding.to_server + holding.to_client
    }

    /// Resolves when at least this many connections hold data.
    pub fn carries(&self, connections: usize) -> impl Future<Output = ()> + use<> {
        let mut holding = self.wire.holding.subscribe();
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
        let mut holding = self.wire.holding.subscribe();
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
        let mut unanswered = self.wire.unanswered.subscribe();
        async move {
            let none = unanswered.wait_for(|unanswered| *unanswered == 0);
            tokio::time::timeout(ARRIVES_WITHIN, none).await.is_ok()
        }
    }

    /// Resolves when the link holds data of at least this many connections in this direction. The server has then done
    /// what a held reply reports: losing a reply needs no guess about how long the server takes.
    pub fn holds_on(&self, connections: usize, way: Direction) -> impl Future<Output = ()> + use<> {
        let mut holding = self.wire.holding.subscribe();
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
