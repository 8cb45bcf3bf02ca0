//! The body of a client process: reads requests, passes each to its actor, writes responses.

#![expect(clippy::print_stderr, reason = "a client's standard error is its log in the lab")]

use std::{collections::HashMap, io, process::ExitCode, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use rustix::stdio;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter},
    net::unix::pipe,
    sync::{Mutex, MutexGuard, mpsc},
};

use super::{
    flock::Files,
    local::{LocalLocks, ok},
    protocol::{Request, Response, ServerAddress, Wire},
};
use crate::{
    log::{ActorId, Command, FILES, OpId, Reply},
    server::{
        connect,
        connection::{Breaks, Connection},
    },
};

/// The number of sessions of a crowd that are opened concurrently. More would only queue up at the server.
const OPENING_AT_ONCE: usize = 64;

/// One actor's connections, by server name. Each has its own lock, so that one that waits for a reply does
/// not block the others.
type Connections = HashMap<String, Arc<Mutex<Box<dyn Connection>>>>;

/// Runs a client process until its standard input ends, which means that Lockstep is gone.
pub fn client_main() -> ExitCode {
    // One thread is enough, and leaves the processors to the servers and the screen.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map(|runtime| runtime.block_on(serve())) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) | Err(error) => {
            // Standard error is a file of the lab, which is quoted when the client fails.
            eprintln!("client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> io::Result<()> {
    // Tokio's own standard streams need a thread each, and wait forever where the second cannot be started.
    let input = pipe::Receiver::from_owned_fd(stdio::stdin().try_clone_to_owned()?)?;
    let output = pipe::Sender::from_owned_fd(stdio::stdout().try_clone_to_owned()?)?;
    let (responses, outgoing) = mpsc::unbounded_channel();
    let writer = tokio::spawn(write(output, outgoing));
    let mut process = Process {
        actors: HashMap::new(),
        breaks: HashMap::new(),
        locks: LocalLocks::default(),
        files: None,
        responses,
    };
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next_line().await? {
        match serde_json::from_str(&line) {
            Ok(request) => process.handle(request).await,
            Err(error) => return Err(io::Error::other(format!("{error} in {line}"))),
        }
        if writer.is_finished() {
            break;
        }
    }
    Ok(())
}

async fn write(output: pipe::Sender, mut outgoing: mpsc::UnboundedReceiver<Response>) -> io::Result<()> {
    let mut out = BufWriter::new(output);
    while let Some(response) = outgoing.recv().await {
        let mut line = serde_json::to_vec(&response)?;
        line.push(b'\n');
        out.write_all(&line).await?;
        // The notifications of a herd are written together; a single reply is written at once.
        if outgoing.is_empty() {
            out.flush().await?;
        }
    }
    Ok(())
}

struct Process {
    actors: HashMap<ActorId, Connections>,
    breaks: HashMap<String, Breaks>,
    locks: LocalLocks,
    files: Option<Files>,
    responses: mpsc::UnboundedSender<Response>,
}

impl Process {
    async fn handle(&mut self, request: Request) {
        match request {
            Request::Join { actors, servers, session_timeout, files } => {
                let timeout = Duration::from_millis(session_timeout);
                self.files = files.map(Files::new);
                let response = match self.join(&actors, &servers, timeout).await {
                    Ok(mut sessions) => {
                        // The kernel identifies the holder of a file lock by its process id.
                        let process = i64::from(std::process::id());
                        let locking = actors.iter().filter(|_| self.files.is_some());
                        sessions.extend(locking.map(|actor| (*actor, FILES.to_owned(), process)));
                        Response::Joined { sessions }
                    }
                    Err(why) => Response::JoinFailed { why },
                };
                self.respond(response);
            }
            Request::Do { op, actor, wire } => self.carry_out(op, actor, wire),
            Request::Settle { asks } => {
                if asks {
                    stream::iter(self.idle(None))
                        .for_each_concurrent(None, |(_, _, mut connection)| async move {
                            connection.settle().await;
                        })
                        .await;
                } else {
                    // The first return comes after the sockets have been polled, the second after what reads from them.
                    tokio::task::yield_now().await;
                    tokio::task::yield_now().await;
                }
                self.respond(Response::Settled);
            }
            Request::Reach { server } => {
                let breaks = self.breaks_of(&server);
                let responses = &self.responses;
                stream::iter(self.idle(Some(&server)))
                    .for_each_concurrent(OPENING_AT_ONCE, |(actor, server, mut connection)| async move {
                        let before = connection.session();
                        connection.come_back(breaks).await;
                        report_session(responses, (actor, server), before, connection.session());
                    })
                    .await;
                self.respond(Response::Reached);
            }
            Request::Disconnected { server } => *self.breaks.entry(server).or_default() += 1,
        }
    }

    /// The connections to one server, or to all, except those that wait for a reply: the others would have to
    /// wait with them.
    fn idle(
        &self,
        server: Option<&str>,
    ) -> impl Iterator<Item = (ActorId, &str, MutexGuard<'_, Box<dyn Connection>>)> {
        let all = self.actors.iter().flat_map(|(actor, all)| all.iter().map(move |known| (*actor, known)));
        let meant = all.filter(move |(_, (name, _))| server.is_none_or(|server| server == *name));
        meant.filter_map(|(actor, (name, connection))| {
            Some((actor, name.as_str(), connection.try_lock().ok()?))
        })
    }

    fn breaks_of(&self, server: &str) -> Breaks {
        self.breaks.get(server).copied().unwrap_or_default()
    }

    fn respond(&self, response: Response) {
        // The writer ends only when the pipe does, and then this process ends too.
        let _ = self.responses.send(response);
    }

    async fn join(
        &mut self,
        actors: &[ActorId],
        servers: &[ServerAddress],
        timeout: Duration,
    ) -> Result<Vec<(ActorId, String, i64)>, String> {
        let mut sessions = Vec::new();
        let responses = &self.responses;
        let mut opening = stream::iter(actors.iter().map(|actor| async move {
            open(*actor, servers, timeout, responses).await.map(|connections| (*actor, connections))
        }))
        .buffered(OPENING_AT_ONCE);
        let mut opened = HashMap::new();
        while let Some(result) = opening.next().await {
            let (actor, connections) = result?;
            let mut held = Connections::default();
            for (server, connection) in connections {
                sessions.extend(connection.session().map(|session| (actor, server.clone(), session)));
                held.insert(server, Arc::new(Mutex::new(connection)));
            }
            opened.insert(actor, held);
        }
        drop(opening);
        self.actors = opened;
        Ok(sessions)
    }

    fn carry_out(&mut self, op: OpId, actor: ActorId, wire: Wire) {
        if let Command::Local { lock, name } = &wire.command {
            return self.local(op, actor, *lock, name);
        }
        if let (Command::Flock { call, path }, Some(files)) = (&wire.command, &mut self.files) {
            let responses = self.responses.clone();
            return files.carry_out(*call, path, move |reply| {
                // The receiver lives until the process ends.
                let _ = responses.send(Response::Done { op, reply });
            });
        }
        let Wire { server, command, script } = wire;
        let Some(connection) = self.actors.get(&actor).and_then(|all| all.get(&server)).map(Arc::clone)
        else {
            let text = format!("actor {} has no connection to `{server}`", actor.0);
            return self
                .respond(Response::Done { op, reply: Reply::Error { code: "NOSERVER".to_owned(), text } });
        };
        let responses = self.responses.clone();
        let breaks = self.breaks_of(&server);
        tokio::spawn(async move {
            let mut connection = connection.lock().await;
            let before = connection.session();
            if before.is_some() {
                connection.reach(breaks).await;
                report_session(&responses, (actor, &server), before, connection.session());
            }
            let before = connection.session();
            let reply = connection.send(&command, script.as_deref(), breaks).await.unwrap_or_else(|| {
                let text = format!("`{server}` takes no such command");
                Reply::Error { code: "NOSERVER".to_owned(), text }
            });
            report_session(&responses, (actor, &server), before, connection.session());
            let _ = responses.send(Response::Done { op, reply });
        });
    }

    fn local(&mut self, op: OpId, actor: ActorId, lock: bool, name: &str) {
        if lock {
            let granted = self.locks.lock(name, actor, op);
            let reply = ok();
            self.respond(if granted { Response::Done { op, reply } } else { Response::Blocked { op } });
        } else {
            let (reply, next) = self.locks.unlock(name, actor);
            self.respond(Response::Done { op, reply });
            if let Some(next) = next {
                self.respond(Response::Done { op: next, reply: ok() });
            }
        }
    }
}

/// Reports a connection's new session.
fn report_session(
    responses: &mpsc::UnboundedSender<Response>,
    (actor, server): (ActorId, &str),
    before: Option<i64>,
    now: Option<i64>,
) {
    if let Some(session) = now.filter(|_| now != before) {
        // The receiver lives until the process ends.
        let _ = responses.send(Response::Session { actor, server: server.to_owned(), session });
    }
}

async fn open(
    actor: ActorId,
    servers: &[ServerAddress],
    timeout: Duration,
    responses: &mpsc::UnboundedSender<Response>,
) -> Result<HashMap<String, Box<dyn Connection>>, String> {
    let mut connections = HashMap::new();
    for server in servers {
        let (name, responses) = (server.name.clone(), responses.clone());
        let notify = move |about, what| {
            // The receiver lives until the process ends.
            let _ = responses.send(Response::Notified { actor, server: name.clone(), about, what });
        };
        // With several servers, a program may never need some of them.
        let eager = servers.len() == 1;
        let connection = connect(server, eager, timeout, Arc::new(notify)).await?;
        connections.insert(server.name.clone(), connection);
    }
    Ok(connections)
}
