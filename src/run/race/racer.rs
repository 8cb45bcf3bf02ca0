//! Races: all programs run from beginning to end at once, again and again on one lab. There is no story: an
//! actor continues as soon as it has its reply, and the machine decides which reply comes first.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use tokio::sync::watch;

use super::printed;
use crate::{
    clock::{ClockKind, LessonTime, Rate},
    lab::{LabOptions, ready::ReadyLabs},
    lesson::{Path, Scenario},
    log::{Choice, Command, EventKind, Log, Product, product::etcd::EtcdCall},
    program::{Actors, State, actor_id},
    run::session::{
        RunError,
        director::Director,
        harness::Harness,
        recorder::Recorder,
        redirects::Redirects,
        setup::{self, Connections},
        start_order::StartOrder,
        stops,
        supervision::supervised,
        time::{Tempo, surely_after},
    },
};

/// A race ends after this many moves per actor, or this much lesson time: more than any terminating program
/// needs.
const MOST_MOVES: usize = 1_000;
const LONGEST: Duration = Duration::from_mins(10);

/// How often etcd looks for leases that have ended.
const CHECKS_LEASES: Duration = Duration::from_millis(500);

/// The real time within which a working server answers.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long nothing arrives before servers are asked whether they block an operation. Real time.
const SILENCE: Duration = Duration::from_millis(5);

/// Who holds state that only a new process gets rid of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Holder {
    /// A client's process or its connections.
    Client,
    Server,
}

/// A lab with its clients, which runs one race after another.
pub struct Racer {
    pub(crate) director: Director,
    pub(crate) scenario: Scenario,
    options: LabOptions,
    tempo: watch::Sender<Tempo>,
    pub(crate) connections: Connections,
    /// The first events of each log: the actors and their sessions.
    opening: Vec<EventKind>,
    /// Whether a server holds state that only a new process gets rid of; in races, also a client.
    pub(crate) needs_restart: bool,
    /// Whether a client was killed, or holds such state.
    pub(crate) needs_clients: bool,
    /// Names on which watches may remain.
    pub(crate) watched: Vec<String>,
}

impl Racer {
    /// Starts the lab and the clients.
    pub async fn set_up(scenario: &Scenario, options: &LabOptions) -> Result<Self, RunError> {
        let (tempo, watched) = watch::channel(Tempo::Jump);
        let options = if scenario.shows_root() { options.with_new_servers() } else { options.clone() };
        let director = direct(scenario, &options, watched).await?;
        Ok(Self {
            opening: opening(&director),
            director,
            scenario: scenario.clone(),
            options,
            tempo,
            connections: Connections::default(),
            needs_restart: false,
            needs_clients: false,
            watched: Vec::new(),
        })
    }

    pub fn clock(&self) -> ClockKind {
        self.director.clock.kind()
    }

    /// Runs one race. The seed decides when each actor starts, and the owner tokens; everything else is real
    /// concurrency. The log ends with what the servers hold when no actor can move any more, and has a stop
    /// after every reply.
    pub async fn run(&mut self, seed: u64) -> Result<Log, RunError> {
        if self.needs_restart {
            self.replace_lab().await?;
        }
        let health = self.director.harness.lab.health();
        let raced = supervised(&health, self.race(seed)).await;
        self.director.harness.explained(raced).await
    }

    /// Ends the clients and the servers and waits until they have exited.
    pub async fn tear_down(self) {
        self.director.tear_down().await;
    }

    /// Ends the clients and leaves the lab, its servers emptied, for the next run, if they are then like new ones.
    pub(crate) async fn leave_lab(mut self, labs: &ReadyLabs) {
        let metrics = &self.scenario.loaded.lesson.metrics;
        // Servers go on counting what happens to them.
        let has_more = self.needs_restart || !metrics.is_empty() || self.scenario.locks_files();
        self.director.end_clients();
        let health = self.director.harness.lab.health();
        if has_more || health.look().is_some() || self.reset_servers(&Path::root()).await.is_err() {
            return self.tear_down().await;
        }
        // A lab that cannot be kept has been ended.
        let _ = labs.keep(self.director.harness.lab).await;
    }

    /// Replaces the lab by a new one.
    pub(crate) async fn replace_lab(&mut self) -> Result<(), RunError> {
        let watched = self.tempo.subscribe();
        let mut fresh = direct(&self.scenario, &self.options, watched).await?;
        fresh.harness.lab.succeed(&self.director.harness.lab);
        self.connections = Connections::default();
        self.watched.clear();
        self.opening = opening(&fresh);
        std::mem::replace(&mut self.director, fresh).tear_down().await;
        (self.needs_restart, self.needs_clients) = (false, false);
        Ok(())
    }

    /// Replaces the clients by new ones. The servers stay: what the sessions of the old ones own there is deleted
    /// when the servers are emptied, and a ZooKeeper session that owns nothing ends unnoticed.
    pub(crate) async fn replace_clients(&mut self) -> Result<(), RunError> {
        let director = &mut self.director;
        director.end_clients();
        // How long this takes is random, so time stands still meanwhile. Servers whose clock cannot jump do not
        // tolerate a stopped clock while a client connects.
        director.clock.set_rate(if director.limits.jump { Rate::PAUSED } else { Rate::NORMAL })?;
        let before = director.log().len();
        director.start_clients().await?;
        let sessions = director.log().events()[before..].iter().map(|event| event.kind.clone());
        self.opening.retain(|kind| !matches!(kind, EventKind::Session { .. }));
        self.opening.extend(sessions);
        self.needs_clients = false;
        Ok(())
    }

    async fn race(&mut self, seed: u64) -> Result<Log, RunError> {
        let path = Path::root().key("programs");
        self.reset(seed, Rate::NORMAL, &path).await?;
        let director = &mut self.director;
        // A program that meets an error which it does not handle ends there, and the race goes on.
        director.left_story = true;
        let mut start = StartOrder::draw(director.actors.len(), seed);
        let began = director.clock.now();
        let (mut replies, mut moves, mut silent) = (0, 0, Instant::now());
        // The number of clients that have yet to report that they are at rest.
        let mut asked = 0;
        loop {
            // Ends the timers that ran out while other actors moved.
            director.catch_up(&path)?;
            let over =
                moves >= MOST_MOVES * director.actors.len() || director.clock.now().since(began) >= LONGEST;
            if !over && send_all(director, &start, replies, &mut moves, &path).await? {
                continue;
            }
            let awaited = director.pending.by_op.keys().any(|op| !director.pending.is_blocked(*op));
            let at_work = !over && director.any_program_is_at_work();
            if awaited || at_work || asked > 0 {
                match tokio::time::timeout(SILENCE, director.harness.next()).await {
                    Ok(arrived) => {
                        let arrived = arrived?;
                        silent = Instant::now();
                        asked -= usize::from(arrived.is_settled());
                        replies += director.handle_arrived(arrived, &path)?;
                    }
                    // A program that is still at rest reports it only when it is asked.
                    Err(_) if at_work && asked == 0 => asked = director.harness.ask_to_settle().await?,
                    Err(_) if !awaited || director.all_are_blocked().await? => {}
                    Err(_) if silent.elapsed() < PATIENCE => {}
                    Err(_) => {
                        let why = format!("no reply came for {} s of real time", PATIENCE.as_secs());
                        return Err(director.mistake(&path, why));
                    }
                }
                continue;
            }
            if over {
                break;
            }
            // No reply is on its way, so the next actors start now.
            if start.start_next(replies) {
                continue;
            }
            // A notification may be on its way to an actor that waits for one, a mutex to the next in line,
            // or a reply to an operation that was blocked inside a server.
            if !director.pending.by_op.is_empty() || waits_for_notice(director) {
                let known = director.log().len();
                director.settle(&path).await?;
                if director.log().len() > known {
                    continue;
                }
            }
            let Some((_, due)) = director.next_timer() else {
                if wait_for_a_lease(director, &path).await? {
                    continue;
                }
                break;
            };
            director.recorder.record(EventKind::Chose(Choice::Timer));
            director.run_clock_to(surely_after(due), &path).await?;
            director.settle_waits(&path).await?;
            silent = Instant::now();
            director.clock.set_rate(Rate::NORMAL)?;
        }
        self.needs_restart = self.leaves_state().is_some();
        let director = &mut self.director;
        director.clock.set_rate(Rate::PAUSED)?;
        for state in director.harness.observe().await? {
            director.recorder.record(EventKind::State(state));
        }
        let log = printed::with_releases(&self.take_log(), &self.scenario);
        Ok(stops::with_stops(&log))
    }

    /// Who holds state that emptying the servers does not remove.
    pub(crate) fn leaves_state(&self) -> Option<Holder> {
        let Director { pending, recorder, .. } = &self.director;
        let in_server = !pending.is_empty() || self.scenario.shows_root();
        if in_server { Some(Holder::Server) } else { leaves_state(&recorder.log) }
    }

    /// Takes the log so far and begins a new one.
    pub(crate) fn take_log(&mut self) -> Log {
        let fresh = Recorder::new(self.director.clock.clone(), None);
        std::mem::replace(&mut self.director.recorder, fresh).log
    }

    /// Resets the servers to the lesson's setup and every actor to the start of its program. Lesson time
    /// begins anew at `rate`.
    pub(crate) async fn reset(&mut self, seed: u64, rate: Rate, path: &Path) -> Result<(), RunError> {
        self.director.actors = Actors::new(&self.scenario, seed);
        self.director.pending.clear();
        self.director.redirects = Redirects::default();
        let is_attached = self.scenario.is_attached();
        if is_attached {
            // An external program cannot be rewound, so it is started anew.
            self.director.end_clients();
            // A program that ends with an error does not end the run.
            self.director.left_story = true;
        }
        self.director.renew_connections(path).await?;
        // A connection that broke in the last order has been opened anew, with another id.
        for event in &mut self.opening {
            if let EventKind::Session { actor, server, session } = event
                && let Some(now) = self.director.sessions.get(&(*actor, server.clone()))
            {
                *session = *now;
            }
        }
        self.reset_servers(path).await?;
        let Harness { lab, server, .. } = &self.director.harness;
        // A setup may leave a connection in another state, such as another database. A session has no such states.
        let mut new = Connections::default();
        let is_zookeeper = lab.kind().parts().iter().all(|part| part.product() == Product::Zookeeper);
        let connections = if is_zookeeper { &mut self.connections } else { &mut new };
        setup::carry_out(&self.scenario, lab, server, connections).await?;
        let director = &mut self.director;
        // Emptying the servers notified the watchers of the last race.
        director.settle(path).await?;
        for actor in director.actors.ids() {
            director.actors[actor].forget_notifications();
        }
        if rate.is_paused() {
            director.clock.set_rate(rate)?;
        }
        director.clock.begin();
        director.recorder = Recorder::new(director.clock.clone(), None);
        for event in &self.opening {
            director.recorder.record(event.clone());
        }
        if !is_attached {
            director.clock.set_rate(rate)?;
            return director.start_actors(path);
        }
        // How long programs take to start is random, so time stands still meanwhile. Servers whose clock
        // cannot jump do not tolerate a stopped clock while a client connects.
        director.clock.set_rate(if director.limits.jump { Rate::PAUSED } else { Rate::NORMAL })?;
        director.start_clients().await?;
        director.start_actors(path)?;
        director.settle(path).await?;
        director.clock.set_rate(rate).map(drop).map_err(RunError::from)
    }

    /// Empties the servers, which are this lab's own.
    async fn reset_servers(&mut self, path: &Path) -> Result<(), RunError> {
        let lab = &self.director.harness.lab;
        let watched = std::mem::take(&mut self.watched);
        for server in lab.servers() {
            // Writes to the master, or to the leader, reach the other servers.
            let part = lab.kind().part_of(&server.name);
            if part.is_replicated() && !lab.is_master(&server.name).await? {
                continue;
            }
            let emptied = self.connections.empty(lab, &server.name, &watched).await;
            if let Err(bad) = emptied {
                let why = format!("the server `{}` could not be emptied: {bad}", server.name);
                return Err(self.director.mistake(path, why));
            }
        }
        Ok(())
    }
}

/// Starts a lab with its clients.
async fn direct(
    scenario: &Scenario,
    options: &LabOptions,
    tempo: watch::Receiver<Tempo>,
) -> Result<Director, RunError> {
    let mut first = scenario.clone();
    if scenario.shows_root() {
        // Every race and order carries the setup out itself, and what it creates is counted.
        first.setup.clear();
    }
    let mut director = Director::set_up(first, options, 0, tempo, None).await?;
    director.scenario = scenario.clone();
    Ok(director)
}

/// Sends the next operation of every actor that has started and is ready. Returns whether there was any.
async fn send_all(
    director: &mut Director,
    start: &StartOrder,
    replies: usize,
    moves: &mut usize,
    path: &Path,
) -> Result<bool, RunError> {
    let mut any = false;
    for n in start.started(replies) {
        let actor = actor_id(n);
        if director.actors[actor].is_ready() {
            director.recorder.record(EventKind::Chose(Choice::Move { actor }));
            director.send(actor, path).await?;
            *moves += 1;
            any = true;
        }
    }
    Ok(any)
}

/// If an operation is blocked in etcd, lets time pass until a reply comes or every lease must have ended. Returns whether
/// anything came.
async fn wait_for_a_lease(director: &mut Director, path: &Path) -> Result<bool, RunError> {
    let known = director.log().len();
    let Some(end) = leases_end(director.log()).filter(|_| !director.pending.by_op.is_empty()) else {
        return Ok(false);
    };
    while director.log().len() == known && director.clock.now() < end {
        let next = director.clock.now() + CHECKS_LEASES;
        director.run_clock_to(next.min(end), path).await?;
        director.settle(path).await?;
    }
    director.clock.set_rate(Rate::NORMAL)?;
    Ok(director.log().len() > known)
}

/// When every lease that was granted or kept alive must have ended.
fn leases_end(log: &Log) -> Option<LessonTime> {
    let (mut longest, mut renewed) = (0, None);
    for event in log.events() {
        let EventKind::Sent { command: Command::Etcd(call), .. } = &event.kind else { continue };
        match call {
            EtcdCall::Grant { seconds, .. } => longest = longest.max(*seconds),
            EtcdCall::Keepalive { .. } => {}
            _ => continue,
        }
        renewed = Some(event.at);
    }
    let longest = Duration::from_secs(u64::try_from(longest).unwrap_or(0));
    Some(renewed? + longest.min(LONGEST) + 4 * CHECKS_LEASES)
}

fn waits_for_notice(director: &Director) -> bool {
    director.actors.iter().any(|actor| matches!(actor.state(), State::Taking { .. }))
}

/// The actors and the sessions that were opened, as in the lab's first log.
fn opening(director: &Director) -> Vec<EventKind> {
    // External programs are started anew for each race, with new sessions.
    let sessions = !director.scenario.is_attached();
    let kept = |kind: &EventKind| {
        matches!(kind, EventKind::LabReady { .. }) || sessions && matches!(kind, EventKind::Session { .. })
    };
    let kinds = director.log().events().iter().map(|event| event.kind.clone());
    kinds.filter(kept).collect()
}

/// Who holds state that an actor has left: its process or its connection (a mutex, an open transaction), or a server.
fn leaves_state(log: &Log) -> Option<Holder> {
    let mut left = HashMap::new();
    for event in log.events() {
        if let EventKind::Sent { actor, command, server, .. } = &event.kind {
            let holder = if command.leaves_in_client() { Holder::Client } else { Holder::Server };
            match command.leaves() {
                Some((what, true)) => drop(left.insert((*actor, server, what), holder)),
                Some((what, false)) => drop(left.remove(&(*actor, server, what))),
                None => {}
            }
        }
    }
    left.into_values().max()
}

#[cfg(test)]
mod tests {
    use super::{Holder, leaves_state};
    use crate::log::{Log, testing::sent};

    #[test]
    fn what_a_connection_holds_ends_with_its_client_and_the_rest_only_with_the_server() {
        let begun = || vec![sent(1, 0, "redis", "begin", "MULTI")];
        let after = |more| leaves_state(&begun().into_iter().chain([more]).collect::<Log>());
        assert_eq!(leaves_state(&begun().into_iter().collect::<Log>()), Some(Holder::Client));
        assert_eq!(after(sent(2, 0, "redis", "end", "EXEC")), None);
        assert_eq!(after(sent(2, 1, "redis", "end", "EXEC")), Some(Holder::Client));
        assert_eq!(after(sent(2, 1, "zookeeper", "create", "create -s /lock-")), Some(Holder::Server));
    }
}
