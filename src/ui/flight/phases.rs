//! Composes a flight from phases: hops that depart together.

use std::{collections::HashMap, time::Duration};

use super::{Flight, HALF, Hop, Load, MESSAGE, NOTICEABLE, Wait};
use crate::{
    clock::LessonTime,
    log::{ActorId, Condition, Direction, EventKind, Fault, LinkId, Log, Observed, OpId, Role, Target},
    world::{ServerWorld, World},
};

/// The maximum number of messages of a phase that can be followed one by one; more of them form a wave.
const FEW: usize = 6;
/// The minimum number of messages of a swarm: members of a crowd that send and receive one after another, too many to
/// follow.
const SWARM: usize = 24;
const WAVE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Rest,
    Down,
    Up,
    /// A crowd's commands and replies, up to this event.
    Swarm(usize),
    Fault,
}

#[derive(Debug, Clone)]
struct OpenCommand {
    sent: usize,
    link: LinkId,
    /// Whether the command is held half way.
    held: bool,
    /// Whether its reply will be held half way.
    reply_held: bool,
}

struct Composer<'a> {
    log: &'a Log,
    wait: Duration,
    flight: Flight,
    phase: Phase,
    number: usize,
    /// When the phase begins and when it ends.
    time: (Duration, Duration),
    /// Its first event and its first hop.
    first: (usize, usize),
    now: LessonTime,
    held: Vec<(LinkId, Direction)>,
    open: HashMap<OpId, OpenCommand>,
    masters: Vec<String>,
}

pub(crate) fn compose(log: &Log, base: &World, to: usize, begin: LessonTime, wait: Duration) -> Flight {
    let mut composer = Composer::new(log, base, begin, wait);
    for index in base.position..to {
        composer.take(index, to);
    }
    composer.end_phase();
    composer.flight.lasts = composer.time.1;
    composer.flight
}

impl<'a> Composer<'a> {
    fn new(log: &'a Log, base: &'a World, begin: LessonTime, wait: Duration) -> Self {
        let role = |server: &'a ServerWorld| server.observed.as_ref().and_then(Observed::role);
        let masters = base.servers.iter().filter(|server| role(server).is_some_and(Role::leads));
        let mut composer = Self {
            log,
            wait,
            flight: Flight { from: base.position, begin, ..Flight::default() },
            phase: Phase::Rest,
            number: 0,
            time: (Duration::ZERO, Duration::ZERO),
            first: (base.position, 0),
            now: begin,
            held: base.holding_links.iter().map(|(link, way)| (link.clone(), *way)).collect(),
            open: HashMap::new(),
            masters: masters.map(|server| server.info.name.clone()).collect(),
        };
        for exchange in base.actors.iter().flat_map(|actor| &actor.in_flight) {
            composer.open_command(base.exchanges[*exchange].sent);
        }
        composer
    }

    /// Registers a command in flight. Returns `None` if it does not leave its process.
    fn open_command(&mut self, sent: usize) -> Option<&OpenCommand> {
        let EventKind::Sent { op, actor, server, .. } = &self.log.events().get(sent)?.kind else {
            return None;
        };
        if server == "local" {
            return None;
        }
        let client = self.log.actor(*actor).map_or("", |actor| &actor.client);
        let link = LinkId::new(client, server);
        let way = self.held.iter().find(|(held, _)| *held == link).map(|(_, way)| *way);
        let open = OpenCommand {
            sent,
            link,
            held: matches!(way, Some(Direction::Both | Direction::Requests)),
            reply_held: way == Some(Direction::Replies),
        };
        self.open.insert(*op, open);
        self.open.get(op)
    }

    fn is_crowd(&self, actor: ActorId) -> bool {
        self.log.actor(actor).is_some_and(|actor| actor.crowd)
    }

    fn take(&mut self, index: usize, to: usize) {
        let event = &self.log.events()[index];
        if matches!(self.phase, Phase::Swarm(end) if index >= end) {
            self.end_phase();
        }
        self.advance_time(event.at);
        let mut landing = None;
        match &event.kind {
            EventKind::Sent { actor, .. } => {
                if let Some(held) = self.open_command(index).map(|open| open.held) {
                    self.begin_exchange(index, *actor, to);
                    landing = Some(self.time.0);
                    let way = if held { (0.0, HALF) } else { (0.0, 1.0) };
                    self.hop(Load::Command, (index, index), Some(*actor), way);
                }
            }
            EventKind::Replied { op, actor, reply, .. } => {
                if let Some(open) = self.open.remove(op) {
                    if !matches!(self.phase, Phase::Swarm(_)) {
                        self.begin(Phase::Up, MESSAGE, index);
                    }
                    landing = Some(self.time.1);
                    self.reply(index, *actor, &open, reply.is_lost());
                }
            }
            EventKind::Notified { actor, .. } => {
                self.begin(Phase::Up, MESSAGE, index);
                landing = Some(self.time.1);
                self.hop(Load::Notice, (index, index), Some(*actor), (0.0, 1.0));
            }
            EventKind::Fault(fault) => {
                self.begin(Phase::Fault, MESSAGE, index);
                landing = Some(self.time.0);
                self.hop(Load::Fault, (index, index), None, (0.0, 1.0));
                self.fault(fault);
            }
            EventKind::State(state) => landing = self.role(index, &state.server, state.observed.role()),
            EventKind::Stop { .. } => {
                self.end_phase();
                landing = Some(self.time.1);
            }
            _ => {}
        }
        let before = self.flight.landings.last().map_or(Duration::ZERO, |last| last.0);
        let floor = if self.phase == Phase::Rest { self.time.1 } else { before };
        let landing = landing.unwrap_or(floor).max(before);
        self.flight.landings.push((landing, event.at));
    }

    /// Advances lesson time to the next event's.
    fn advance_time(&mut self, at: LessonTime) {
        let passed = at.since(self.now);
        if passed >= NOTICEABLE && !self.wait.is_zero() {
            self.end_phase();
            let lasts = self.wait.mul_f64((0.3 + 0.7 * passed.as_secs_f64()).min(1.0));
            let time = (self.time.1, self.time.1 + lasts);
            self.flight.waits.push(Wait { time, passes: (self.now, at) });
            self.time = (time.1, time.1);
        }
        self.now = self.now.max(at);
    }

    /// Continues the current phase if it is of that kind, and begins a new one otherwise.
    fn begin(&mut self, phase: Phase, lasts: Duration, index: usize) {
        if self.phase == phase {
            return;
        }
        self.end_phase();
        self.phase = phase;
        self.number += 1;
        self.time = (self.time.1, self.time.1 + lasts);
        self.first = (index, self.flight.hops.len());
    }

    fn begin_exchange(&mut self, index: usize, actor: ActorId, to: usize) {
        if matches!(self.phase, Phase::Swarm(end) if index < end) {
            return;
        }
        if self.is_crowd(actor) && self.phase != Phase::Down {
            let (end, messages) = self.swarm_end(index, to);
            if messages >= SWARM {
                self.begin(Phase::Swarm(end), WAVE, index);
                return;
            }
        }
        self.begin(Phase::Down, MESSAGE, index);
    }

    /// The event at which a crowd's successive commands and replies end, and how many messages they are.
    fn swarm_end(&self, index: usize, to: usize) -> (usize, usize) {
        let (mut messages, mut replies) = (0, 0);
        for (offset, event) in self.log.events()[index..to].iter().enumerate() {
            match &event.kind {
                EventKind::Sent { actor, .. } if self.is_crowd(*actor) => messages += 1,
                EventKind::Replied { actor, .. } if self.is_crowd(*actor) => {
                    messages += 1;
                    replies += 1;
                }
                EventKind::Believes { .. }
                | EventKind::Counted { .. }
                | EventKind::Took { .. }
                | EventKind::Waits { .. }
                | EventKind::Metric { .. }
                | EventKind::Finished { .. } => {}
                _ => return (index + offset, messages.min(2 * replies)),
            }
        }
        (to, messages.min(2 * replies))
    }

    /// Ends the current phase; many messages arrive one after another.
    fn end_phase(&mut self) {
        let (event, hop) = self.first;
        let hops = self.flight.hops.len() - hop;
        match self.phase {
            Phase::Swarm(_) => self.time_swarm(event, hop),
            Phase::Up if hops > FEW => {
                self.time.1 = self.time.0 + WAVE;
                self.time_wave(event, hop);
            }
            _ => {}
        }
        self.phase = Phase::Rest;
        self.first = (self.flight.from + self.flight.landings.len(), self.flight.hops.len());
    }

    /// Times a swarm: its events follow one another, and each message travels until the next one.
    fn time_swarm(&mut self, event: usize, hop: usize) {
        let (from, to) = self.time;
        let landed = event - self.flight.from;
        let many = self.flight.landings.len() - landed;
        // Counted in halves, because a command and its reply share the time between their events.
        let moment = |halves: usize| from + to.saturating_sub(from).mul_f64(share(halves, 2 * many));
        for (n, landing) in self.flight.landings[landed..].iter_mut().enumerate() {
            landing.0 = moment(2 * n + 2);
        }
        for hop in &mut self.flight.hops[hop..] {
            let n = hop.event - event;
            hop.time = match hop.load {
                Load::Reply => (moment(2 * n + 1), moment(2 * n + 2)),
                _ => (moment(2 * n + 2), moment(2 * n + 3)),
            };
            hop.swarm = true;
        }
    }

    /// Times a wave: all messages depart together and arrive one after another.
    fn time_wave(&mut self, event: usize, hop: usize) {
        let (from, to) = self.time;
        let landed = event - self.flight.from;
        let many = self.flight.landings.len() - landed;
        let moment = |n: usize| from + to.saturating_sub(from).mul_f64(0.4 + 0.6 * share(n + 1, many));
        for (n, landing) in self.flight.landings[landed..].iter_mut().enumerate() {
            landing.0 = moment(n);
        }
        for hop in &mut self.flight.hops[hop..] {
            hop.time = (from, moment(hop.event - event));
        }
    }

    fn reply(&mut self, index: usize, actor: ActorId, open: &OpenCommand, lost: bool) {
        let way = match (lost, open.held || open.reply_held) {
            (true, true) => (HALF, HALF),
            (true, false) => (0.0, HALF),
            (false, _) if open.reply_held => (HALF, 1.0),
            (false, _) => (0.0, 1.0),
        };
        self.hop(Load::Reply, (index, open.sent), Some(actor), way);
        if lost && let Some(hop) = self.flight.hops.last_mut() {
            hop.breaks = true;
        }
    }

    fn hop(&mut self, load: Load, (event, at): (usize, usize), actor: Option<ActorId>, way: (f32, f32)) {
        self.flight.hops.push(Hop {
            load,
            event,
            at,
            actor,
            time: self.time,
            way,
            breaks: false,
            phase: self.number,
            swarm: false,
        });
    }

    fn fault(&mut self, fault: &Fault) {
        match (fault.target(), fault.leaves()) {
            (Target::Link(link), Condition::Held(way) | Condition::Delayed(way, _)) => {
                self.held.push((link.clone(), way));
                // Commands already in flight are past the link, so only their replies are held.
                let open = self.open.values_mut().filter(|open| open.link == *link && !open.held);
                open.for_each(|open| open.reply_held = way != Direction::Requests);
            }
            (Target::Link(link), Condition::Cut) => self.held.retain(|(held, _)| held != link),
            (Target::Link(link), Condition::Open) => {
                self.held.retain(|(held, _)| held != link);
                let mut freed: Vec<usize> = Vec::new();
                for open in self.open.values_mut().filter(|open| open.held && open.link == *link) {
                    open.held = false;
                    freed.push(open.sent);
                }
                freed.sort_unstable();
                for sent in freed {
                    if let EventKind::Sent { actor, .. } = self.log.events()[sent].kind {
                        self.hop(Load::Command, (sent, sent), Some(actor), (HALF, 1.0));
                    }
                }
            }
            (Target::Server(server), Condition::Dead) => self.masters.retain(|master| master != server),
            _ => {}
        }
    }

    /// Handles the observed role of a server. It is a promotion if the server was no master before and has taken over
    /// from one.
    fn role(&mut self, index: usize, server: &str, role: Option<&Role>) -> Option<Duration> {
        let was = self.masters.iter().any(|master| master == server);
        match role {
            Some(role) if role.leads() && !was => {
                self.masters.push(server.to_owned());
                predecessor(self.log, index, server)?;
                self.end_phase();
                self.time = (self.time.1, self.time.1 + WAVE);
                self.number += 1;
                self.hop(Load::Promotion, (index, index), None, (0.0, 1.0));
                self.first = (index + 1, self.flight.hops.len());
                Some(self.time.1)
            }
            Some(role) if !role.leads() => {
                self.masters.retain(|master| master != server);
                None
            }
            _ => None,
        }
    }
}

fn share(n: usize, of: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "logs have fewer than 2^52 events")]
    let share = n as f64 / of.max(1) as f64;
    share.min(1.0)
}

/// The server from which another took over as master at an event: the one that it replicated. `None` if it was no
/// replica before, because it has not taken over from another server then.
pub fn predecessor<'a>(log: &'a Log, event: usize, server: &str) -> Option<&'a str> {
    let mut was_replica = false;
    let mut before = None;
    for event in log.events()[..event.min(log.len())].iter().rev() {
        let EventKind::State(state) = &event.kind else { continue };
        match state.observed.role() {
            Some(role) if role.leads() && state.server != server && before.is_none() => {
                before = Some(&*state.server);
            }
            // Of several masters, the one that it replicated counts.
            Some(Role::Replica { of }) if state.server == server => return Some(of),
            Some(role) if !role.leads() && state.server == server => was_replica = true,
            _ => {}
        }
        if was_replica && before.is_some() {
            return before;
        }
    }
    None
}
