//! The body of a client process: reads requests, hands each to its actor, writes responses.

#![expect(clippy::print_stderr, reason = "a client's standard error is its log in the lab")]

use std::{collections::HashMap, process::ExitCode, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter},
    sync::{Mutex, mpsc},
};

use super::{
    local::{Asked, LocalLocks, ok},
    protocol::{Request, Response, ServerAddress, Wire},
};
use crate::{
    log::{ActorId, OpId, Product, Reply},
    server::{
        redis::{
            client::{Breaks, Client},
            connection as redis_client,
        },
        zookeeper::session::Session,
    },
};

/// How many sessions of a crowd are opened at once. More only queue up at the server.
const OPENING_AT_ONCE: usize = 64;

/// One actor's connections, by server name.
#[derive(Default)]
struct Connections {
    redis: HashMap<String, Client>,
    zookeeper: HashMap<String, Session>,
}

/// Runs a client process until its standard input ends: then Lockstep is gone.
pub fn client_main() -> ExitCode {
    // One thread is enough, and leaves both cores to the servers and the screen.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map(|runtime| runtime.block_on(serve())) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) | Err(error) => {
            // Standard error is a file of the lab, quoted when the client fails.
            eprintln!("client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> std::io::Result<()> {
    let (responses, outgoing) = mpsc::unbounded_channel();
    let writer = tokio::spawn(write(outgoing));
    let mut process = Process {
        actors: HashMap::new(),
        breaks: HashMap::new(),
        watches: false,
        locks: LocalLocks::default(),
        responses,
    };
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match serde_json::from_str(&line) {
            Ok(request) => process.handle(request).await,
            Err(error) => return Err(std::io::Error::other(format!("{error} in {line}"))),
        }
        if writer.is_finished() {
            break;
        }
    }
    Ok(())
}

async fn write(mut outgoing: mpsc::UnboundedReceiver<Response>) -> std::io::Result<()> {
    let mut out = BufWriter::new(tokio::io::stdout());
    while let Some(response) = outgoing.recv().await {
        let mut line = serde_json::to_vec(&response)?;
        line.push(b'\n');
        out.write_all(&line).await?;
        // A herd's notifications leave in one piece; a single reply leaves at once.
        if outgoing.is_empty() {
            out.flush().await?;
        }
    }
    Ok(())
}

struct Process {
    actors: HashMap<ActorId, Arc<Mutex<Connections>>>,
    /// By server name.
    breaks: HashMap<String, Breaks>,
    /// Whether its servers tell it something without being asked.
    watches: bool,
    locks: LocalLocks,
    responses: mpsc::UnboundedSender<Response>,
}

impl Process {
    async fn handle(&mut self, request: Request) {
        match request {
            Request::Join { actors, servers, session_timeout } => {
                let timeout = Duration::from_millis(session_timeout);
                let response = match self.join(&actors, &servers, timeout).await {
                    Ok(sessions) => Response::Joined { sessions },
                    Err(why) => Response::JoinFailed { why },
                };
                self.respond(response);
            }
            Request::Do { op, actor, wire } => self.carry_out(op, actor, wire),
            // Whoever speaks only to Redis is never told anything unasked; and one who waits for a reply would keep
            // this from being answered.
            Request::Settle if !self.watches => self.respond(Response::Settled),
            Request::Settle => {
                let actors = self.actors.values();
                stream::iter(actors)
                    .for_each_concurrent(None, |connections| async {
                        for session in connections.lock().await.zookeeper.values_mut() {
                            session.settle().await;
                        }
                    })
                    .await;
                self.respond(Response::Settled);
            }
            Request::Reach { server } => {
                let breaks = self.breaks_of(&server);
                // Whoever is busy waits for a reply, and would make all others wait with it.
                let idle = self.actors.values().filter_map(|actor| actor.try_lock().ok());
                stream::iter(idle)
                    .for_each_concurrent(OPENING_AT_ONCE, |mut connections| {
                        let server = &server;
                        async move {
                            if let Some(client) = connections.redis.get_mut(server) {
                                client.reach(breaks).await;
                            }
                        }
                    })
                    .await;
                self.respond(Response::Reached);
            }
            Request::Disconnected { server } => *self.breaks.entry(server).or_default() += 1,
        }
    }

    fn breaks_of(&self, server: &str) -> Breaks {
        self.breaks.get(server).copied().unwrap_or_default()
    }

    fn respond(&self, response: Response) {
        // The writer ends only with the pipe, and then this process ends too.
        let _ = self.responses.send(response);
    }

    async fn join(
        &mut self,
        actors: &[ActorId],
        servers: &[ServerAddress],
        timeout: Duration,
    ) -> Result<Vec<(ActorId, String, i64)>, String> {
        let mut sessions = Vec::new();
        self.watches = servers.iter().any(|server| server.product == Product::Zookeeper);
        let responses = &self.responses;
        let mut opening = stream::iter(actors.iter().map(|actor| async move {
            open(*actor, servers, timeout, responses).await.map(|connections| (*actor, connections))
        }))
        .buffered(OPENING_AT_ONCE);
        let mut opened = HashMap::new();
        while let Some(result) = opening.next().await {
            let (actor, connections) = result?;
            for (server, session) in &connections.zookeeper {
                sessions.push((actor, server.clone(), session.id()));
            }
            opened.insert(actor, Arc::new(Mutex::new(connections)));
        }
        drop(opening);
        self.actors = opened;
        Ok(sessions)
    }

    fn carry_out(&mut self, op: OpId, actor: ActorId, wire: Wire) {
        if let Wire::Local { lock, name } = wire {
            return self.local(op, actor, lock, &name);
        }
        let Some(connections) = self.actors.get(&actor).map(Arc::clone) else {
            let text = format!("actor {} does not live here", actor.0);
            return self
                .respond(Response::Done { op, reply: Reply::Error { code: "NOACTOR".to_owned(), text } });
        };
        let responses = self.responses.clone();
        let breaks = self.breaks_of(wire.server());
        tokio::spawn(async move {
            let reply = send(&mut *connections.lock().await, wire, breaks).await;
            let _ = responses.send(Response::Done { op, reply });
        });
    }

    fn local(&mut self, op: OpId, actor: ActorId, lock: bool, name: &str) {
        if lock {
            match self.locks.lock(name, actor, op) {
                Asked::Done(reply) => self.respond(Response::Done { op, reply }),
                Asked::Blocked => self.respond(Response::Blocked { op }),
            }
        } else {
            let (reply, next) = self.locks.unlock(name, actor);
            self.respond(Response::Done { op, reply });
            if let Some(next) = next {
                self.respond(Response::Done { op: next, reply: ok() });
            }
        }
    }
}

async fn open(
    actor: ActorId,
    servers: &[ServerAddress],
    timeout: Duration,
    responses: &mpsc::UnboundedSender<Response>,
) -> Result<Connections, String> {
    let mut connections = Connections::default();
    // Where there are several servers, a program may never need some of them.
    let eager = servers.len() == 1;
    for server in servers {
        let failed = |error: &dyn std::fmt::Display| {
            format!("cannot connect to {} at {}: {error}", server.name, server.address)
        };
        match server.product {
            Product::Redis => {
                let mut client = Client::new(&server.address, server.password.as_deref(), server.hangs_up);
                if eager {
                    client.connect(Breaks::default()).await.map_err(|error| failed(&error))?;
                }
                connections.redis.insert(server.name.clone(), client);
            }
            Product::Zookeeper => {
                let (name, responses) = (server.name.clone(), responses.clone());
                let notify = move |about, what| {
                    // The receiver ends with the process.
                    let _ = responses.send(Response::Notified { actor, server: name.clone(), about, what });
                };
                let session = Session::open(&server.address, timeout, Arc::new(notify))
                    .await
                    .map_err(|error| failed(&error))?;
                connections.zookeeper.insert(server.name.clone(), session);
            }
        }
    }
    Ok(connections)
}

async fn send(connections: &mut Connections, wire: Wire, breaks: Breaks) -> Reply {
    let unknown =
        |server: &str| Reply::Error { code: "NOSERVER".to_owned(), text: format!("no server `{server}`") };
    match wire {
        Wire::Redis { server, words } => match connections.redis.get_mut(&server) {
            Some(client) => client.send(breaks, async |to| redis_client::command(to, &words).await).await,
            None => unknown(&server),
        },
        Wire::Script { server, source, keys, args, .. } => match connections.redis.get_mut(&server) {
            Some(client) => {
                client.send(breaks, async |to| redis_client::script(to, &source, &keys, &args).await).await
            }
            None => unknown(&server),
        },
        Wire::Zookeeper { server, call } => match connections.zookeeper.get_mut(&server) {
            Some(session) => session.call(&call).await,
            None => unknown(&server),
        },
        Wire::Local { .. } => unknown("local"),
    }
}
