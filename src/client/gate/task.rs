//! The task of a gate: accepts connections, carries out requests, and examines whether the program is at
//! rest.

use std::{
    future::poll_fn,
    io,
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::{Duration, Instant},
};

use futures::FutureExt as _;
use rustix::process::geteuid;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::{JoinHandle, JoinSet},
};

use super::{Shared, errors::ErrorLog, serve, visitors::owner};
use crate::{
    client::protocol::{Activity, Request, Response},
    clock::LessonClock,
    exact_sleep::sleep_exactly,
    log::Reply,
    process::{
        Exit,
        rest::{Rest, Threads},
    },
    server::link::InnerEnd,
    text::{Text, Words},
};

/// The most connections that a program may have at once.
const MOST_CONNECTIONS: usize = 256;
/// How often a program is examined until it is at rest: at first, then ever more seldom. Real time.
const LOOK_FIRST: Duration = Duration::from_micros(200);
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// After how long it is examined less often still.
const LOOKS_CLOSELY: Duration = Duration::from_secs(1);
const LOOK_SELDOM: Duration = Duration::from_millis(20);
/// How long, in real time, the gate waits for a program that did not come to rest in time before.
const BUSY_RESTS_WITHIN: Duration = Duration::from_secs(1);
const NO_CLOCK: Words = Words::new(
    "Lockstep: this program does not take the lesson clock (perhaps it is linked statically, as Go does with \
     CGO_ENABLED=0). Its own waits are not known, and pass in real time.",
    "Lockstep：这个程序没有使用课程时钟（可能是静态链接的，比如 CGO_ENABLED=0 的 Go 程序）。它自己的等待无从得知，按真实时间进行。",
);
const NEVER_CONNECTED: Words = Words::new(
    "Lockstep: it ended and has never connected to a server. If it goes on in the background, as daemons do, start it in \
     the foreground.",
    "Lockstep：它结束了，从来没有连接过服务器。如果它像守护进程那样转到后台运行，请让它在前台运行。",
);
const MANY_CONNECTIONS: Words = Words::new(
    "Lockstep lets no more than {} connections of a program in.",
    "Lockstep 最多接受一个程序的 {} 个连接。",
);

const STRANGER: Words = Words::new(
    "Lockstep refused a connection to this program's server by another user of this machine (user id {}).",
    "本机的另一个用户（用户 ID {}）想连接这个程序的服务器，Lockstep 拒绝了。",
);

/// Accepts connections, carries out requests, and examines whether the program is at rest.
pub(super) struct GateTask {
    pub(super) shared: Arc<Shared>,
    /// The sockets at which the program finds its servers, and the links to these.
    pub(super) arriving: Vec<std::net::TcpListener>,
    pub(super) links: Vec<InnerEnd>,
    pub(super) threads: Threads,
    pub(super) exits: watch::Receiver<Option<Exit>>,
    pub(super) errors: ErrorLog,
    pub(super) clock: LessonClock,
    pub(super) frozen: watch::Receiver<bool>,
    /// The real time after which the gate no longer waits for the program to rest: it computes, or does not
    /// read.
    pub(super) rests_within: Duration,
    /// The last report on the program.
    pub(super) reported: Option<Response>,
    /// Whether a request has been released since. Then the next rest is another one, though it may look the same.
    pub(super) released: bool,
}

/// Since when a rest is waited for, and how many requests wait for it.
pub(super) struct Settling {
    pub(super) since: Instant,
    pub(super) asked: usize,
    /// When the program is examined next, whatever happens meanwhile.
    timer: FineTimer,
}

impl Default for Settling {
    fn default() -> Self {
        Self { since: Instant::now(), asked: 0, timer: FineTimer::after(LOOK_FIRST) }
    }
}

impl Settling {
    /// Has the program examined again, the later the longer it has been computing.
    fn look_again(&mut self) {
        let computing = self.since.elapsed();
        let pause = if computing > LOOKS_CLOSELY {
            LOOK_SELDOM
        } else {
            (computing / 2).clamp(LOOK_FIRST, LOOK_EVERY)
        };
        self.timer = FineTimer::after(pause);
    }
}

/// Wakes a task after a pause. Most programs rest within a fraction of a millisecond.
struct FineTimer(Option<JoinHandle<()>>);

impl FineTimer {
    fn at_once() -> Self {
        Self(None)
    }

    fn after(pause: Duration) -> Self {
        Self(Some(sleep_exactly(pause)))
    }

    async fn elapsed(&mut self) {
        if let Some(sleep) = &mut self.0 {
            // It fails only if the runtime ends.
            let _ = sleep.await;
            self.0 = None;
        }
    }
}

/// The index of a server, and a connection that a program has just made to it.
type Arrived = (usize, std::net::TcpStream);

/// The result of an examination, with a connection that the program has just made.
pub(super) enum ProgramState {
    AtRest,
    AtWork(Option<Arrived>),
    /// The program is at work, and is not waited for any longer.
    Busy(Option<Arrived>),
}

impl GateTask {
    pub(super) async fn run(
        mut self,
        listeners: Vec<TcpListener>,
        mut asked: mpsc::UnboundedReceiver<Request>,
    ) {
        let mut connections = JoinSet::new();
        let mut next = 0;
        let mut settling: Option<Settling> = Some(Settling::default());
        let output = self.shared.lock().output.pipe();
        let mut has_exited = false;
        loop {
            let is_read = self.shared.lock().output.is_read();
            let stands = *self.frozen.borrow() && self.exits.borrow().is_none();
            let looks = settling.is_some() && !stands;
            tokio::select! {
                accepted = accept(&listeners) => {
                    if let Ok((to, program)) = accepted {
                        next += 1;
                        self.accept_connection(next, to, program, &mut connections);
                    } else {
                        tokio::time::sleep(LOOK_EVERY).await;
                    }
                }
                request = asked.recv() => {
                    let Some(request) = request else { return };
                    if matches!(request, Request::Settle { .. }) {
                        let settling = settling.get_or_insert_default();
                        settling.since = Instant::now();
                        settling.asked += 1;
                        settling.timer = FineTimer::at_once();
                    } else {
                        self.carry_out(&request);
                    }
                }
                readable = output.readable(), if is_read => {
                    if readable.is_ok() {
                        self.shared.lock().output.read();
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
                exit = self.exits.changed(), if !has_exited => {
                    has_exited = true;
                    if exit.is_ok() {
                        settling.get_or_insert_default();
                    }
                }
                _ = connections.join_next(), if !connections.is_empty() => {}
                () = next_look(settling.as_mut()), if looks => {
                    // Whatever has happened by now is examined now, and needs no further examination.
                    let _ = self.shared.changed.notified().now_or_never();
                    let settling_now = settling.get_or_insert_default();
                    let arrived = match self.look(settling_now, next > 0) {
                        ProgramState::AtRest => {
                            settling = None;
                            None
                        }
                        ProgramState::AtWork(arrived) => {
                            settling_now.look_again();
                            arrived
                        }
                        ProgramState::Busy(arrived) => {
                            settling = Some(Settling::default());
                            arrived
                        }
                    };
                    if let Some((to, program)) = arrived
                        && let Ok(program) = in_runtime(program)
                    {
                        next += 1;
                        self.accept_connection(next, to, program, &mut connections);
                    }
                }
            }
        }
    }

    pub(super) fn accept_connection(
        &self,
        id: u64,
        to: usize,
        program: TcpStream,
        connections: &mut JoinSet<()>,
    ) {
        let stranger = self.stranger(&program);
        let mut inner = self.shared.lock();
        if let Some(user) = stranger {
            let remark = STRANGER.text(&[&user.to_string()]);
            if inner.hinted.refusals.insert(remark.en.clone()) {
                inner.output.remark(remark);
            }
            return;
        }
        let connecting: usize = inner.servers.iter().map(|server| server.connecting).sum();
        if inner.connections.len() + connecting >= MOST_CONNECTIONS {
            if !std::mem::replace(&mut inner.hinted.connections, true) {
                inner.output.remark(MANY_CONNECTIONS.text(&[&MOST_CONNECTIONS.to_string()]));
            }
            return;
        }
        inner.servers[to].connecting += 1;
        drop(inner);
        let (shared, link) = (Arc::clone(&self.shared), self.links[to].clone());
        connections.spawn(async move {
            let server = link.connect().await;
            // A request is one small packet, which must not wait for a second one.
            let _ = program.set_nodelay(true);
            if shared.lock().connected(id, to, program, server) {
                serve(&shared, id).await;
            }
            shared.changed.notify_one();
        });
    }

    /// The user who has made a connection, if that is neither Lockstep's nor one of the program's.
    fn stranger(&self, program: &TcpStream) -> Option<u32> {
        let user = owner(program.peer_addr().ok()?, program.local_addr().ok()?)?;
        (user != geteuid().as_raw() && !self.threads.run_as(user)).then_some(user)
    }

    pub(super) fn carry_out(&mut self, request: &Request) {
        let mut inner = self.shared.lock();
        match request {
            Request::Do { op, .. } => {
                let op = *op;
                self.released = true;
                if !inner.release_first(op) {
                    let why = "the program has closed the connection";
                    inner.report(Response::Done { op, reply: Reply::Lost(why.to_owned()) });
                }
            }
            Request::Reach { .. } => inner.report(Response::Reached),
            // The program connects by itself.
            Request::Join { .. } | Request::Disconnected { .. } | Request::Settle { .. } => {}
        }
    }

    /// Examines whether the program is at rest, and reports it if so. `connected`: whether the program has
    /// ever connected. Before that, nothing that it is sent can make it continue, so if it waits for no time,
    /// it waits for something of its own, such as the program that a wrapper starts.
    pub(super) fn look(&mut self, settling: &Settling, connected: bool) -> ProgramState {
        let frozen = *self.frozen.borrow();
        let exit = *self.exits.borrow();
        let before = match &self.reported {
            Some(Response::Rests { activity, .. }) => *activity,
            _ => Activity::default(),
        };
        let patience = if before.busy { BUSY_RESTS_WITHIN } else { self.rests_within };
        let late = settling.since.elapsed() > patience;
        let shared = Arc::clone(&self.shared);
        let (mut until, mut ended, mut busy) = (None, None, false);
        let mut arrived = None;
        let mut inner = shared.lock();
        if !inner.output.is_read() {
            inner.output.read();
        }
        if let Some(exit) = exit {
            // A process that outlives the program may keep its output open, so what is there now is all.
            inner.output.read_last();
            let ids: Vec<u64> = inner.connections.keys().copied().collect();
            for id in ids {
                inner.close(id);
            }
            let is_told = matches!(&self.reported, Some(Response::Rests { ended: Some(_), .. }));
            if exit == Exit::Code(0) && !connected && !is_told {
                inner.output.report_remark(NEVER_CONNECTED.text(&[]));
            }
            ended = Some(if exit == Exit::Code(0) { Text::default() } else { self.errors.last_words(exit) });
        } else {
            let quiet = || {
                let mut doors = self.arriving.iter().enumerate();
                arrived = doors.find_map(|(to, door)| Some((to, door.accept().ok()?.0)));
                arrived.is_none() && !inner.is_busy(frozen)
            };
            match self.threads.look(self.clock.monotonic(), quiet) {
                Rest::Until(moment) if connected || moment.is_some() => {
                    until = moment.map(|moment| self.clock.lesson_time(moment));
                }
                _ if late && settling.asked > 0 => busy = true,
                _ => {
                    drop(inner);
                    return ProgramState::AtWork(arrived);
                }
            }
        }
        let refused: Vec<_> = inner.servers.iter_mut().filter_map(|server| server.refused.take()).collect();
        for (op, reply) in refused {
            inner.report(Response::Done { op, reply });
        }
        inner.output.report_excess();
        self.errors.report(&inner, exit.is_some());
        let own_time = exit.is_none() && self.clock.page().is_some_and(|page| !self.threads.use_clock(&page));
        if own_time && !before.own_time {
            inner.output.report_remark(NO_CLOCK.text(&[]));
        }
        let asks = inner.asks();
        let activity = Activity { busy, connected, own_time };
        let report = Response::Rests { actor: inner.actor, asks, until, ended, activity };
        if settling.asked > 0 || self.released || self.reported.as_ref() != Some(&report) {
            inner.report(report.clone());
        }
        self.reported = Some(report);
        self.released = false;
        for _ in 0..settling.asked {
            inner.report(Response::Settled);
        }
        // Under the lock, so that whatever happens after this examination wakes the task again.
        shared.awake.store(busy, Ordering::Relaxed);
        drop(inner);
        if busy { ProgramState::Busy(arrived) } else { ProgramState::AtRest }
    }
}

async fn next_look(settling: Option<&mut Settling>) {
    if let Some(settling) = settling {
        settling.timer.elapsed().await;
    }
}

/// The next connection to any of the sockets, and the index of that socket.
async fn accept(listeners: &[TcpListener]) -> io::Result<(usize, TcpStream)> {
    poll_fn(|context| {
        for (to, listener) in listeners.iter().enumerate() {
            if let Poll::Ready(accepted) = listener.poll_accept(context) {
                return Poll::Ready(accepted.map(|(program, _)| (to, program)));
            }
        }
        Poll::Pending
    })
    .await
}

fn in_runtime(program: std::net::TcpStream) -> io::Result<TcpStream> {
    program.set_nonblocking(true)?;
    TcpStream::from_std(program)
}
