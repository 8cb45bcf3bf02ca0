//! A client's process, as a run starts and drives it: over a pipe, or through the gate of an external program.

use std::time::Duration;

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::ChildStdin,
    sync::mpsc,
};

use super::{RunError, harness::Arrived};
use crate::{
    client::{
        gate::{self, AttachedProgram, Endpoint, Gate},
        protocol::Request,
    },
    clock::{LessonClock, Slot},
    lab::{Lab, LabError, Process, StartedProgram},
    lesson::plan::{Exec, Origin},
    log::{ActorId, Product, ServerInfo},
    text::Text,
};

/// How long a user's program may take to come to rest in a run that is watched, in real time. The program may
/// compute without end.
const USERS_REST_WITHIN: Duration = Duration::from_secs(10);
/// The same limit for a lesson's program, and for any program in a race or an exploration. A lesson's program
/// is known to come to rest, even on the busiest machine; a story that continued without it would fail, and
/// an explored order would be a different one.
pub(crate) const LESSONS_REST_WITHIN: Duration = Duration::from_mins(1);

pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) process: Process,
    driven: Driven,
    pub(crate) state: ClientState,
    /// The clock slot that skews the calendar clock of an external program's process.
    slot: Option<Slot>,
}

/// How a client receives its requests.
enum Driven {
    /// Over its standard input.
    Pipe(ChildStdin),
    /// Through the gate of an external program. The program acts by itself; the gate decides when a request
    /// may go over the link.
    Gate(Gate),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientState {
    Running,
    Frozen,
    Killed,
}

/// An external program that is to be started as a client.
pub(super) struct Attached {
    /// The index of the client.
    pub(super) n: usize,
    pub(super) actor: ActorId,
    pub(super) product: Product,
    pub(super) followed: bool,
}

impl Attached {
    /// Starts the program behind its gate.
    pub(super) async fn start(
        self,
        lab: &mut Lab,
        name: &str,
        exec: &Exec,
        sender: mpsc::UnboundedSender<Arrived>,
    ) -> Result<Client, RunError> {
        let Self { n, actor, product, followed } = self;
        let failed = |source| LabError::Link { link: name.to_owned(), source };
        let (mut servers, mut addresses) = (Vec::new(), Vec::new());
        for ServerInfo { name: server, .. } in lab.servers() {
            let listener = gate::listen().await.map_err(failed)?;
            addresses.push(listener.local_addr().map_err(failed)?);
            servers.push(Endpoint { listener, link: lab.inner_link(name, &server).await?, server });
        }
        let StartedProgram { process, output, threads, slot } =
            lab.spawn_program(name, exec, product, &addresses)?;
        let (responses, mut receiver) = mpsc::unbounded_channel();
        let program = AttachedProgram {
            actor,
            threads,
            output,
            exits: process.exits(),
            log: process.state.log.clone(),
            clock: lab.clock().clone(),
            servers,
            product,
            passes: exec.passes.clone(),
            scripts: exec
                .scripts
                .iter()
                .map(|(name, hash)| (hash.to_ascii_lowercase(), name.clone()))
                .collect(),
            rests_within: match exec.origin {
                Origin::User if followed => USERS_REST_WITHIN,
                _ => LESSONS_REST_WITHIN,
            },
        };
        let gate = Gate::open(program, responses).map_err(failed)?;
        tokio::spawn(async move {
            while let Some(response) = receiver.recv().await {
                if sender.send(Arrived::Response(n, response)).is_err() {
                    return;
                }
            }
        });
        let (driven, state) = (Driven::Gate(gate), ClientState::Running);
        Ok(Client { name: name.to_owned(), process, driven, state, slot })
    }
}

impl Client {
    /// Starts client `n`, whose process is driven over its standard input.
    pub(super) fn start(
        lab: &mut Lab,
        n: usize,
        name: &str,
        sender: mpsc::UnboundedSender<Arrived>,
    ) -> Result<Self, RunError> {
        let (process, stdin, stdout) = lab.spawn_client(name)?;
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let Ok(response) = serde_json::from_str(&line) else { break };
                if sender.send(Arrived::Response(n, response)).is_err() {
                    return;
                }
            }
            // Sending fails only when the run is over, and then nobody needs the report.
            let _ = sender.send(Arrived::Gone(n));
        });
        let (driven, state) = (Driven::Pipe(stdin), ClientState::Running);
        Ok(Self { name: name.to_owned(), process, driven, state, slot: None })
    }

    /// The gate of an external program.
    pub(super) fn gate(&self) -> Option<&Gate> {
        if let Driven::Gate(gate) = &self.driven { Some(gate) } else { None }
    }

    /// Whether the client is an external program that has ended. A process of Lockstep's own never ends by itself, and if it
    /// does, that is an error of the run.
    pub(super) fn has_ended(&self) -> bool {
        self.gate().is_some() && self.process.ended().is_some()
    }

    /// Skews the calendar clock of the client's process. Returns whether that is possible.
    pub(crate) fn set_clock(&self, clock: &LessonClock, ahead_ms: i64) -> Result<bool, RunError> {
        if let Some(slot) = &self.slot {
            clock.skew(slot, ahead_ms.saturating_mul(1_000_000))?;
        }
        Ok(self.gate().is_none() || self.slot.is_some())
    }

    /// Tells the gate of an external program whether its process is frozen.
    pub(crate) fn set_frozen(&self, frozen: bool) {
        if let Some(gate) = self.gate() {
            gate.freeze(frozen);
        }
    }

    pub(crate) async fn send(&mut self, request: &Request) -> Result<(), RunError> {
        let stdin = match &mut self.driven {
            Driven::Pipe(stdin) => stdin,
            Driven::Gate(gate) => {
                gate.send(request.clone());
                return Ok(());
            }
        };
        let mut line = serde_json::to_vec(request).unwrap_or_default();
        line.push(b'\n');
        let sent = stdin.write_all(&line).await;
        sent.map_err(|error| self.died(error.to_string().into()))
    }

    pub(super) fn died(&self, why: Text) -> RunError {
        let log = std::fs::read_to_string(&self.process.state.log).unwrap_or_default();
        RunError::ClientDied { client: self.name.clone(), why, log: log.trim().to_owned() }
    }
}
