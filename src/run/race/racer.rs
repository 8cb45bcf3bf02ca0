//! Races: everybody's program from beginning to end, all at once, again and again on one lab. There is no story:
//! replies come as the machine lets them come, and whoever gets one goes on.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use tokio::sync::watch;

use crate::run::session::{
    EngineError,
    attended::{ANSWERS_WITHIN, attended},
    director::Director,
    machine::Machine,
    performer::{Performer, State},
    recorder::Recorder,
    setup,
    stage::{Arrived, actor_id},
    start_order::StartOrder,
    stops,
    time::Tempo,
};
use crate::{
    client::{
        Hand,
        protocol::{Response, Wire, ZkCall},
    },
    clock::{ClockKind, LessonTime, Rate},
    lab::LabOptions,
    lesson::{Path, Scenario},
    log::{Choice, EventKind, Log, OpId, Reply},
};

/// What a program that comes to its end in a race never needs: moves of one actor, and lesson time.
const MOST_MOVES: usize = 1_000;
const LONGEST: Duration = Duration::from_secs(600);

/// The real time in which an honest server answers.
const PATIENCE: Duration = Duration::from_secs(20);

/// A lab with its clients, which runs one race after another.
pub struct Racer {
    pub(crate) director: Director,
    scenario: Scenario,
    options: LabOptions,
    tempo: watch::Sender<Tempo>,
    hands: HashMap<String, Hand>,
    /// How each log begins: who takes part, and which sessions they have.
    opening: Vec<EventKind>,
    /// Whether a client is left with something that only a new process forgets.
    pub(crate) spoilt: bool,
    /// The znodes that somebody has left a watch on.
    pub(crate) watched: Vec<String>,
}

impl Racer {
    /// Starts the lab and the clients.
    ///
    /// # Errors
    /// A server or a client failed, or the lesson's `setup` cannot be carried out.
    pub async fn set_up(scenario: &Scenario, options: &LabOptions) -> Result<Self, EngineError> {
        let (tempo, watched) = watch::channel(Tempo::Jump);
        let director = Director::set_up(scenario.clone(), options, 0, watched, None).await?;
        Ok(Self {
            opening: opening(&director),
            director,
            scenario: scenario.clone(),
            options: options.clone(),
            tempo,
            hands: HashMap::new(),
            spoilt: false,
            watched: Vec::new(),
        })
    }

    /// The clock that it runs on.
    pub fn clock(&self) -> ClockKind {
        self.director.clock.kind()
    }

    /// One race. The seed decides who starts when, and the owner tokens; everything else is real concurrency.
    /// The log ends with what the servers hold when nobody can move any more, and has a stop behind every reply.
    ///
    /// # Errors
    /// A server or a client failed, or a program cannot cope with a reply.
    pub async fn run(&mut self, seed: u64) -> Result<Log, EngineError> {
        if self.spoilt {
            self.renew().await?;
        }
        let vitals = self.director.stage.lab.vitals();
        match attended(&vitals, self.race(seed)).await {
            Ok(log) => Ok(log),
            Err(error) => Err(self.director.stage.or_death(error).await),
        }
    }

    /// Ends the clients and the servers and waits until they are gone.
    pub async fn tear_down(self) {
        self.director.tear_down().await;
    }

    /// A new lab in place of the old one.
    pub(crate) async fn renew(&mut self) -> Result<(), EngineError> {
        let watched = self.tempo.subscribe();
        let mut fresh = Director::set_up(self.scenario.clone(), &self.options, 0, watched, None).await?;
        fresh.stage.lab.succeed(&self.director.stage.lab);
        self.hands.clear();
        self.watched.clear();
        self.opening = opening(&fresh);
        std::mem::replace(&mut self.director, fresh).tear_down().await;
        self.spoilt = false;
        Ok(())
    }

    async fn race(&mut self, seed: u64) -> Result<Log, EngineError> {
        let path = Path::root().key("programs");
        self.reset(seed, Rate::NORMAL, &path).await?;
        let director = &mut self.director;
        let mut start = StartOrder::draw(director.performers.len(), seed);
        let began = director.clock.now();
        let mut blocked: HashSet<OpId> = HashSet::new();
        let (mut replies, mut moves) = (0, 0);
        loop {
            // Timers that have run out by themselves, while others moved.
            director.catch_up(&path)?;
            let over = moves >= MOST_MOVES * director.performers.len()
                || director.clock.now().since(began) >= LONGEST;
            if !over && send_all(director, &start, replies, &mut moves, &path).await? {
                continue;
            }
            if director.flights.by_op.len() > blocked.len() {
                let arrived = tokio::time::timeout(PATIENCE, director.stage.next()).await;
                let Ok(arrived) = arrived else {
                    let why = format!(
                        "no reply came for {} s of real time: a command that waits inside the server cannot be raced",
                        PATIENCE.as_secs()
                    );
                    return Err(director.mistake(&path, why));
                };
                let arrived = arrived?;
                match &arrived {
                    Arrived::Response(_, Response::Blocked { op }) => drop(blocked.insert(*op)),
                    Arrived::Response(_, Response::Done { op, .. }) => {
                        blocked.remove(op);
                        replies += 1;
                    }
                    _ => {}
                }
                director.take_in(arrived, &path)?;
                continue;
            }
            if over {
                break;
            }
            // Nobody's reply is on its way: whoever has not started yet is waited for no longer.
            if start.hurry(replies) {
                continue;
            }
            // A notification may be on its way to somebody who waits for one, or a mutex to the next in line.
            if !blocked.is_empty() || waits_for_notice(director) {
                let known = director.log().len();
                director.settle(&path).await?;
                blocked.retain(|op| director.flights.by_op.contains_key(op));
                if director.log().len() > known {
                    continue;
                }
            }
            let Some((_, due)) = director.next_timer() else {
                break;
            };
            director.recorder.record(EventKind::Chose(Choice::Timer));
            director.flow_to(crate::run::session::time::after_grain(due), &path).await?;
            director.clock.set_rate(Rate::NORMAL)?;
        }
        self.spoilt = !blocked.is_empty() || keeps_local_locks(director.log());
        director.clock.set_rate(Rate::PAUSED)?;
        for state in director.stage.observe().await? {
            director.recorder.record(EventKind::State(state));
        }
        Ok(stops::put_in(&self.take_log()))
    }

    /// The log so far; a new one begins.
    pub(crate) fn take_log(&mut self) -> Log {
        let fresh = Recorder::new(self.director.clock.clone(), None);
        std::mem::replace(&mut self.director.recorder, fresh).into_log()
    }

    /// Servers as the lesson prepares them, and everybody before the first step of their program. Lesson time begins at
    /// this rate.
    pub(crate) async fn reset(&mut self, seed: u64, rate: Rate, path: &Path) -> Result<(), EngineError> {
        let plans = &self.scenario.actors;
        self.director.performers =
            plans.iter().map(|plan| Performer::new(Machine::new(plan, seed))).collect();
        self.director.flights.by_op.clear();
        self.wipe(path).await?;
        setup::carry_out(&self.scenario, &self.director.stage).await?;
        let director = &mut self.director;
        // What the wiping told the watchers of the last race is no news for this one.
        director.settle(path).await?;
        for performer in &mut director.performers {
            performer.queue.clear();
        }
        if rate.is_paused() {
            director.clock.set_rate(rate)?;
        }
        director.clock.begin();
        director.recorder = Recorder::new(director.clock.clone(), None);
        for event in &self.opening {
            director.recorder.record(event.clone());
        }
        director.clock.set_rate(rate)?;
        for n in 0..director.performers.len() {
            director.advance(actor_id(n), path)?;
        }
        Ok(())
    }

    /// Makes a znode, unless it is there.
    pub(crate) async fn make_znode(&mut self, path: &str) {
        let server = self.director.stage.server.clone();
        let address = setup::address(&self.director.stage, &server);
        let hand = self
            .hands
            .entry(address.clone())
            .or_insert_with(|| Hand::new(setup::PATIENCE, self.director.stage.lab.password()));
        let call = ZkCall::Create {
            ephemeral: false,
            sequential: false,
            path: path.to_owned(),
            data: String::new(),
        };
        // It is there, or will be: nothing else is wanted.
        let _ = hand.send(&Wire::Zookeeper { server, call }, &address, ANSWERS_WITHIN).await;
    }

    /// Empties the servers. They are this lab's own, and nobody else's.
    async fn wipe(&mut self, path: &Path) -> Result<(), EngineError> {
        for server in self.director.stage.lab.servers() {
            let lab = self.scenario.lab();
            // A replica takes no writes; its master's reach it.
            if lab.has_sentinels() && !self.director.stage.lab.is_master(&server.name).await? {
                continue;
            }
            let address = setup::address(&self.director.stage, &server.name);
            let hand = self
                .hands
                .entry(address.clone())
                .or_insert_with(|| Hand::new(setup::PATIENCE, self.director.stage.lab.password()));
            let emptied = if lab.is_redis() {
                let words = vec!["FLUSHALL".to_owned()];
                let wire = Wire::Redis { server: server.name.clone(), words };
                match hand.send(&wire, &address, ANSWERS_WITHIN).await {
                    Reply::Value(_) => Ok(()),
                    bad => Err(bad),
                }
            } else {
                uproot(hand, &server.name, &address).await
            };
            if let Err(bad) = emptied {
                let why = format!("the server `{}` could not be emptied: {bad}", server.name);
                return Err(self.director.mistake(path, why));
            }
        }
        Ok(())
    }
}

/// Deletes every znode but ZooKeeper's own, children before parents.
async fn uproot(hand: &mut Hand, server: &str, address: &str) -> Result<(), Reply> {
    let mut ask = async |call: ZkCall| {
        let server = server.to_owned();
        let wire = Wire::Zookeeper { server, call };
        match hand.send(&wire, address, ANSWERS_WITHIN).await {
            Reply::Value(value) => Ok(value),
            bad => Err(bad),
        }
    };
    let mut found = Vec::new();
    let mut unseen = vec!["/".to_owned()];
    while let Some(path) = unseen.pop() {
        let call = ZkCall::Ls { watch: false, path: path.clone() };
        let below = path.trim_end_matches('/').to_owned();
        let children = ask(call).await?;
        let names = children.as_array().into_iter().flatten();
        let paths = names.filter_map(|name| Some(format!("{below}/{}", name.as_str()?)));
        unseen.extend(paths.filter(|path| path != "/zookeeper"));
        found.push(path);
    }
    for path in found.into_iter().skip(1).rev() {
        ask(ZkCall::Delete { path }).await?;
    }
    Ok(())
}

/// Sends the next operation of everybody who has started and is ready. Says whether anybody was.
async fn send_all(
    director: &mut Director,
    start: &StartOrder,
    replies: usize,
    moves: &mut usize,
    path: &Path,
) -> Result<bool, EngineError> {
    let mut any = false;
    for n in start.started(replies) {
        if matches!(director.performers[n].state, State::Ready(_)) {
            let choice = Choice::Move { actor: actor_id(n) };
            director.recorder.record(EventKind::Chose(choice));
            director.send(actor_id(n), path).await?;
            *moves += 1;
            any = true;
        }
    }
    Ok(any)
}

fn waits_for_notice(director: &Director) -> bool {
    let takes = |performer: &Performer| matches!(performer.state, State::Taking { .. });
    director.performers.iter().any(takes)
}

/// Who takes part and which sessions were opened, as the lab's first log begins.
fn opening(director: &Director) -> Vec<EventKind> {
    let kept = |kind: &EventKind| matches!(kind, EventKind::LabReady { .. } | EventKind::Session { .. });
    let kinds = director.log().events().iter().map(|event| event.kind.clone());
    kinds.filter(kept).collect()
}

/// Whether somebody is left with a mutex of its process.
pub(crate) fn keeps_local_locks(log: &Log) -> bool {
    let asked = log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Sent { server, wire, .. } if server == "local" => Some(wire.starts_with("lock ")),
        _ => None,
    });
    let (locks, unlocks): (Vec<bool>, Vec<bool>) = asked.partition(|lock| *lock);
    locks.len() != unlocks.len()
}

/// The lesson time that a log spans.
pub fn span(log: &Log) -> Duration {
    log.events().last().map_or(Duration::ZERO, |event| event.at.since(LessonTime::ZERO))
}
