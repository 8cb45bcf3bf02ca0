//! Injecting faults: signals to processes, cut and held links, skewed clocks.

use std::time::Duration;

use futures::{FutureExt as _, future::BoxFuture};

use super::{RunError, client::ClientState, harness::Harness};
use crate::{
    client::protocol::Request,
    lab::LinkState,
    log::{ActorId, Condition, Direction, Fault, LinkId, Target},
    text::{Text, both},
};

/// The delay that free play puts on a link.
const DELAY_MS: u64 = 2_000;

/// How far free play sets a server's clock ahead or back.
const JUMP_MS: i64 = 30_000;

/// How long a request may take to reach the link that holds it, in real time.
const REQUEST_COMES_WITHIN: Duration = Duration::from_secs(1);

/// How a link settles whose client or state keeps replies from being reported.
pub(crate) enum LinkSettles {
    /// Resolves when the link holds each of the requests or its reply.
    Holds(BoxFuture<'static, ()>),
    /// Resolves to whether the replies have passed to a client that is frozen.
    Passes(BoxFuture<'static, bool>),
}

impl Harness {
    /// Injects a fault and notifies the clients whose connections it broke. The inner `Err` says why the
    /// fault makes no sense now, such as freezing a dead client.
    pub(crate) async fn inject(&mut self, fault: &Fault) -> Result<Result<(), Text>, RunError> {
        if let Err(why) = self.carry_out(fault).await? {
            return Ok(Err(why));
        }
        for server in self.lab.servers() {
            for client in 0..self.clients.len() {
                if self.clients[client].state != ClientState::Killed
                    && self.breaks(fault, client, &server.name)
                {
                    let server = server.name.clone();
                    self.clients[client].send(&Request::Disconnected { server }).await?;
                }
            }
        }
        Ok(Ok(()))
    }

    async fn carry_out(&mut self, fault: &Fault) -> Result<Result<(), Text>, RunError> {
        match fault {
            Fault::Crash { client } | Fault::Freeze { client } | Fault::Thaw { client } => {
                let Some(client) = self.clients.iter_mut().find(|known| known.name == *client) else {
                    return Ok(Err(both!("there is no client `{client}`", "没有客户端 `{client}`")));
                };
                let name = client.name.clone();
                let (state, done) = match (fault, client.state) {
                    (_, ClientState::Killed) => {
                        return Ok(Err(both!(
                            "the client `{name}` is dead already",
                            "客户端 `{name}` 已经死了"
                        )));
                    }
                    _ if client.has_ended() => {
                        return Ok(Err(both!(
                            "the program of the client `{name}` has ended: no process is left that the fault could hit",
                            "客户端 `{name}` 的程序已经结束，没有进程可以让它出故障"
                        )));
                    }
                    (Fault::Crash { .. }, _) => (ClientState::Killed, client.process.kill()),
                    (Fault::Freeze { .. }, ClientState::Running) => {
                        (ClientState::Frozen, client.process.freeze())
                    }
                    (Fault::Freeze { .. }, _) => {
                        return Ok(Err(both!(
                            "the client `{name}` is frozen already",
                            "客户端 `{name}` 已经冻结了"
                        )));
                    }
                    (_, ClientState::Frozen) => (ClientState::Running, client.process.thaw()),
                    _ => {
                        return Ok(Err(both!(
                            "the client `{name}` is not frozen",
                            "客户端 `{name}` 没有冻结"
                        )));
                    }
                };
                client.state = state;
                done?;
                client.set_frozen(state == ClientState::Frozen);
                if state == ClientState::Killed {
                    client.process.exited().await;
                }
            }
            Fault::KillServer { server }
            | Fault::LosePower { server }
            | Fault::FreezeServer { server }
            | Fault::ThawServer { server }
            | Fault::RestartServer { server } => return self.inject_into_server(fault, server).await,
            Fault::Skew { server, ahead_ms } => {
                let Some(slot) = self.lab.slot(server)? else {
                    return Ok(Err(both!(
                        "the clock of `{server}` cannot be set: this run is on the machine's own clock",
                        "没法调 `{server}` 的时钟：这次运行用的是本机时钟"
                    )));
                };
                self.lab.clock().skew(slot, ahead_ms.saturating_mul(1_000_000))?;
                self.skews.insert(server.clone(), *ahead_ms);
            }
            // Interpreted programs read the skewed time as `now`; only an external program needs a clock
            // slot.
            Fault::SkewClient { client: name, ahead_ms } => {
                let clock = self.lab.clock();
                let client = self.clients.iter().find(|client| client.name == *name);
                let is_set = client.map_or(Ok(true), |client| client.set_clock(clock, *ahead_ms))?;
                if !is_set {
                    return Ok(Err(both!(
                        "the clock of `{name}` cannot be set: this run is on the machine's own clock",
                        "无法设置 `{name}` 的时钟：这次运行用的是本机时钟"
                    )));
                }
            }
            Fault::Cut { link }
            | Fault::Hold { link, .. }
            | Fault::Delay { link, .. }
            | Fault::Release { link }
            | Fault::Drop { link } => {
                let Some(link) = self.lab.link_control(link) else {
                    return Ok(Err(both!("there is no link `{link}`", "没有链路 `{link}`")));
                };
                match fault {
                    Fault::Drop { .. }
                        if !matches!(link.state(), LinkState::Held(_) | LinkState::Delayed(..)) =>
                    {
                        let id = link.id();
                        return Ok(Err(both!(
                            "the link `{id}` holds nothing",
                            "链路 `{id}` 上没有扣住任何东西"
                        )));
                    }
                    Fault::Cut { .. } | Fault::Drop { .. } => link.cut(),
                    Fault::Hold { way, .. } => link.hold(*way),
                    Fault::Delay { way, by_ms, .. } => link.delay(*way, Duration::from_millis(*by_ms)),
                    _ => link.release().await,
                }
            }
        }
        Ok(Ok(()))
    }

    /// The faults that can be injected now: of clients first, then of servers, then of links.
    pub(crate) fn possible_faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for known in self.clients.iter().filter(|client| !client.has_ended()) {
            let client = known.name.clone();
            match known.state {
                ClientState::Killed => continue,
                ClientState::Running => faults.push(Fault::Freeze { client: client.clone() }),
                ClientState::Frozen => faults.push(Fault::Thaw { client: client.clone() }),
            }
            faults.push(Fault::Crash { client });
        }
        for server in self.lab.kind().servers().iter().chain(self.lab.kind().sentinels()) {
            faults.extend(self.possible_faults_of(server));
        }
        for (link, state) in self.lab.link_states() {
            let link = || link.clone();
            match state {
                LinkState::Open => {
                    let hold = |way| Fault::Hold { link: link(), way };
                    faults.push(Fault::Cut { link: link() });
                    faults.extend([Direction::Both, Direction::Requests, Direction::Replies].map(hold));
                    faults.push(Fault::Delay { link: link(), way: Direction::Both, by_ms: DELAY_MS });
                }
                LinkState::Held(_) | LinkState::Delayed(..) => {
                    faults.extend([Fault::Release { link: link() }, Fault::Drop { link: link() }]);
                }
                LinkState::Cut => faults.push(Fault::Release { link: link() }),
            }
        }
        faults
    }

    /// The faults that thaw every frozen client.
    pub(crate) fn thaws(&self) -> Vec<Fault> {
        let frozen =
            self.clients.iter().filter(|client| client.state == ClientState::Frozen && !client.has_ended());
        frozen.map(|client| Fault::Thaw { client: client.name.clone() }).collect()
    }

    /// The faults that open every link that is not.
    pub(crate) fn releases(&self) -> Vec<Fault> {
        let closed = self.lab.link_states().filter(|(_, state)| *state != LinkState::Open);
        closed.map(|(link, _)| Fault::Release { link: link.clone() }).collect()
    }

    fn possible_faults_of(&self, server: &str) -> Vec<Fault> {
        let name = || server.to_owned();
        if !self.lab.process(server).is_ok_and(|process| process.ended().is_none()) {
            return vec![Fault::RestartServer { server: name() }];
        }
        let mut faults = vec![Fault::KillServer { server: name() }];
        if self.lab.is_persistent() {
            faults.push(Fault::LosePower { server: name() });
        }
        faults.push(if self.frozen.contains(server) {
            Fault::ThawServer { server: name() }
        } else {
            Fault::FreezeServer { server: name() }
        });
        if matches!(self.lab.slot(server), Ok(Some(_))) {
            let skew = |ahead_ms| Fault::Skew { server: name(), ahead_ms };
            match self.skews.get(server) {
                None | Some(0) => faults.extend([skew(JUMP_MS), skew(-JUMP_MS)]),
                Some(_) => faults.push(skew(0)),
            }
        }
        faults
    }

    async fn inject_into_server(
        &mut self,
        fault: &Fault,
        server: &str,
    ) -> Result<Result<(), Text>, RunError> {
        let process = self.lab.process(server)?;
        let dead = process.ended().is_some();
        let frozen = self.frozen.contains(server);
        match fault {
            Fault::RestartServer { .. } if !dead => {
                return Ok(Err(both!(
                    "the server `{server}` runs: only a killed one can be restarted",
                    "服务器 `{server}` 还在运行：被杀掉的才能重启"
                )));
            }
            Fault::RestartServer { .. } => Box::pin(self.lab.restart_server(server)).await?,
            _ if dead => {
                return Ok(Err(both!("the server `{server}` is dead already", "服务器 `{server}` 已经死了")));
            }
            Fault::FreezeServer { .. } if frozen => {
                return Ok(Err(both!(
                    "the server `{server}` is frozen already",
                    "服务器 `{server}` 已经冻结了"
                )));
            }
            Fault::FreezeServer { .. } => {
                process.freeze()?;
                self.frozen.insert(server.to_owned());
            }
            Fault::ThawServer { .. } if !frozen => {
                return Ok(Err(both!("the server `{server}` is not frozen", "服务器 `{server}` 没有冻结")));
            }
            Fault::ThawServer { .. } => {
                process.thaw()?;
                self.frozen.remove(server);
            }
            Fault::LosePower { .. } if self.lab.wall_clock().is_some() => {
                return Ok(Err(both!(
                    "it is not known what `{server}` has on its disk: this run is on the machine's own clock",
                    "不知道 `{server}` 的磁盘上有什么：这次运行用的是本机时钟"
                )));
            }
            _ => {
                let loses = matches!(fault, Fault::LosePower { .. });
                if loses && !frozen {
                    self.lab.await_sync(server).await?;
                }
                process.kill()?;
                process.exited().await;
                if loses {
                    self.lab.lose_unsynced(server)?;
                }
                self.frozen.remove(server);
            }
        }
        Ok(Ok(()))
    }

    /// Whether a fault breaks a client's connections to a server, so that pending operations fail at once.
    pub(crate) fn breaks(&self, fault: &Fault, client: usize, server: &str) -> bool {
        let client = &self.clients[client].name;
        let hit = match fault.target() {
            Target::Link(LinkId { from, to }) => {
                fault.leaves() == Condition::Cut && from == client && to == server
            }
            _ => fault.killed_server() == Some(server),
        };
        hit && self.refuses_at_once(server)
    }

    /// Asks a client to connect to the link's server, unless it is connected, before replies stop: connecting
    /// needs replies. Returns whether a [`Reached`](crate::client::protocol::Response::Reached) will come.
    pub(crate) async fn ask_to_reach(&mut self, link: &LinkId) -> Result<bool, RunError> {
        let Some(n) = self.clients.iter().position(|known| known.name == link.from) else { return Ok(false) };
        let open = self.lab.link_control(link).is_some_and(|link| link.state() == LinkState::Open);
        let can = open && self.clients[n].state == ClientState::Running && self.answers(&link.to)?;
        if can && self.refuses_at_once(&link.to) {
            let server = link.to.clone();
            self.clients[n].send(&Request::Reach { server }).await?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Asks a client that goes on trying over a cut link to report when it is connected again. Returns whether a
    /// [`Reached`](crate::client::protocol::Response::Reached) will come.
    pub(crate) async fn ask_to_return(&mut self, link: &LinkId) -> Result<bool, RunError> {
        let Some(n) = self.clients.iter().position(|known| known.name == link.from) else { return Ok(false) };
        let comes = self.clients[n].state == ClientState::Running
            && self.answers(&link.to)?
            && !self.refuses_at_once(&link.to);
        if comes {
            self.clients[n].send(&Request::Reach { server: link.to.clone() }).await?;
        }
        Ok(comes)
    }

    /// What the link between an actor's client and a server does with `number` operations of that client that
    /// were sent and have no reply. `None` if there is nothing to wait for.
    pub(crate) fn link_settles(
        &self,
        actor: ActorId,
        server: &str,
        number: usize,
    ) -> Result<Option<LinkSettles>, RunError> {
        let Some(link) = self.link(actor, server) else { return Ok(None) };
        if !self.answers(server)? {
            return Ok(None);
        }
        Ok(match (link.state(), self.client(actor).state) {
            (LinkState::Held(Direction::Replies), ClientState::Running) => {
                Some(LinkSettles::Holds(link.holds_on(number, Direction::Replies).boxed()))
            }
            (LinkState::Held(_), ClientState::Running) => {
                // A client that has to connect anew may need time to pass before it sends anything.
                let held = tokio::time::timeout(REQUEST_COMES_WITHIN, link.carries(number));
                Some(LinkSettles::Holds(held.map(drop).boxed()))
            }
            (LinkState::Open, ClientState::Frozen) => Some(LinkSettles::Passes(link.answered().boxed())),
            _ => None,
        })
    }
}
