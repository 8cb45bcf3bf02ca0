//! The position of everything on the elastic time axis. A fold of the log, like the world, but of when things happened
//! rather than of how they are. It must not know the screen's size, its language or its colours.
//!
//! **Architecture Invariant:** the position of event `n` depends on the events up to `n` alone, so nothing that was
//! drawn moves when more happens, and a frame reads only what is visible.

mod alarms;
pub(crate) mod axis;
pub(crate) mod crowd;
pub(crate) mod lane;
mod outdated;
pub(crate) mod pair;
pub mod sequence;
pub(crate) mod truth;

pub use alarms::{Broken, OverlapSpan};
pub use crowd::{Band, Run};
pub use lane::{Bar, BarKind, Lane, Mark};
pub use pair::Pair;
use truth::Sessions;
pub use truth::{About, Lease, Owner, RoleChange, Span, Truth, is_lock_key};

use std::{collections::HashMap, time::Duration};

use crate::{
    clock::LessonTime,
    log::{ActorId, Belief, Command, Condition, Event, EventKind, Fault, Log, OpId, Stop, Target},
    world::Holding,
};
use alarms::proves_overlap;
use axis::Compression;

/// Screens with fewer columns show labels on the lanes instead of commands.
const NARROW: u16 = 100;

/// How much text a mark on a lane has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The operation's label and its reply, for narrow screens.
    Labels,
    #[default]
    Wires,
}

impl Detail {
    pub fn fitting(columns: u16) -> Self {
        if columns < NARROW { Self::Labels } else { Self::Wires }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireRow {
    pub event: usize,
    pub replied: Option<usize>,
    /// How many members of a crowd got the same notification at once, or how many lines the program wrote to standard
    /// error in a row.
    pub count: usize,
}

impl WireRow {
    fn new(event: usize) -> Self {
        Self { event, replied: None, count: 1 }
    }
}

/// A mark of the scrubber: a step of the story and what it contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoryMark {
    /// The index of the step in the story, from 0. A step may have several stops.
    pub item: usize,
    /// The position of the playhead right after the step.
    pub position: usize,
    pub asks: bool,
    /// The event of the fault that was injected in the step.
    pub fault: Option<usize>,
    pub overlap_span: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Chart {
    pub lanes: Vec<Lane>,
    pub bands: Vec<Band>,
    pub truths: Vec<Truth>,
    pub wire: Vec<WireRow>,
    pub overlap_spans: Vec<OverlapSpan>,
    /// From where on a counter counted more than a key's value covers, and the name of the counter.
    pub oversold: Option<(OverlapSpan, String)>,
    pub broken: Vec<Broken>,
    pub story_marks: Vec<StoryMark>,
    /// The column of every event; never decreases.
    columns: Vec<u32>,
    pub detail: Detail,
    compression: Compression,
    state: FoldState,
}

#[derive(Debug, Clone, Default)]
struct FoldState {
    at: LessonTime,
    /// The event with which the current step began, and its column.
    step: usize,
    begun: u32,
    burst: Burst,
    in_flight: HashMap<OpId, OpenCommand>,
    holding: Holding,
    sessions: Sessions,
    /// The first fault of the current step.
    fault: Option<usize>,
    left_story: bool,
}

#[derive(Debug, Clone, Copy)]
struct OpenCommand {
    lane: usize,
    mark: usize,
    row: usize,
}

/// A kind of event that may happen to many actors at the same time, which then share a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Burst {
    #[default]
    Broken,
    Sending,
    Notifying,
}

/// The maximum time between two events of a burst.
const BURST: Duration = Duration::from_millis(5);
/// The minimum number of columns between successive events.
const APART: u32 = 2;

/// The maximum number of columns of one step of a folded crowd. Hundreds of members act one after another, and earlier
/// events must stay visible.
const CROWD: u32 = 20;

/// Whether an event is shown in the wire log alone: most notices of Sentinels that lead to a decision are.
fn is_wire_only(event: &Event) -> bool {
    event.of_sentinel().is_some_and(|(_, notice)| !notice.decides())
}

/// The actor on whose lane an event has a tick, apart from faults.
pub(crate) fn actor_with_tick(kind: &EventKind) -> Option<ActorId> {
    match kind {
        EventKind::Sent { actor, .. }
        | EventKind::Notified { actor, .. }
        | EventKind::Took { actor, .. }
        | EventKind::Counted { actor, .. }
        | EventKind::Waits { actor, .. } => Some(*actor),
        _ => None,
    }
}

impl Chart {
    pub fn new(detail: Detail) -> Self {
        Self { detail, ..Self::default() }
    }

    /// The actor that an owner was at that event.
    pub(crate) fn actor(&self, owner: Owner, event: usize) -> Option<ActorId> {
        self.state.sessions.actor(owner, event)
    }

    pub fn advance(&mut self, log: &Log) {
        for index in self.columns.len()..log.len() {
            self.prepare(log, index);
            let cursor = self.columns.last().copied().unwrap_or_default();
            let event = &log.events()[index];
            // An event without a place on a lane takes no room on the axis.
            let x = if is_wire_only(event) || self.waits_on(log, event) {
                cursor
            } else {
                let x = self.next_column(log, event, (cursor, self.state.at));
                self.state.at = event.at;
                x
            };
            self.put(log, index, x);
        }
    }

    fn prepare(&mut self, log: &Log, index: usize) {
        if let EventKind::LabReady { actors, servers, .. } = &log.events()[index].kind {
            self.lanes = lane::lanes(actors);
            self.bands = crowd::fold(actors, &mut self.lanes);
            self.truths = servers.iter().map(|server| Truth::new(&server.name)).collect();
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
    fn put(&mut self, log: &Log, index: usize, x: u32) {
        let event = &log.events()[index];
        self.columns.push(x);
        if !matches!(event.kind, EventKind::Stop { .. }) {
            self.end_brief_breaches((x, index));
        }
        self.hold(event, (x, index));
        if let Some(actor) = actor_with_tick(&event.kind) {
            self.mark(log, index, actor, x);
        }
        match &event.kind {
            EventKind::Sent { op, actor, command, .. } => {
                let lane = actor.0 as usize;
                if let Some(lane) = self.lanes.get_mut(lane) {
                    lane.send(command, (x, index));
                }
                let mark = self.lanes.get(lane).map_or(0, |lane| lane.marks.len().saturating_sub(1));
                let row = self.wire.len();
                self.state.in_flight.insert(*op, OpenCommand { lane, mark, row });
                self.wire.push(WireRow::new(index));
            }
            EventKind::Replied { op, .. } => {
                let is_late = self.late_reply(event).is_some();
                if let Some(flight) = self.state.in_flight.remove(op) {
                    self.wire[flight.row].replied = Some(index);
                    let read = self.read(log, self.wire[flight.row].event, index);
                    let sent = self.wire[flight.row].event;
                    if let Some((number, seconds)) = truth::granted(log, (sent, index)) {
                        let lease = Lease { event: index, from: event.at, to: event.at + seconds };
                        self.truths.iter_mut().for_each(|truth| truth.grant(number, lease));
                    }
                    if let Some(lane) = self.lanes.get_mut(flight.lane) {
                        if is_late {
                            lane.reply_late(flight.mark, (x, index), log, self.detail);
                        } else {
                            lane.reply(flight.mark, (sent, index), log, self.detail);
                        }
                        if let Some((key, value, current)) = read {
                            lane.begin_read(&key, &value, current, (x, index));
                        }
                    }
                }
            }
            EventKind::Notified { .. } => self.notify(log, index),
            EventKind::Said { actor, stderr: true, .. } => self.said_to_stderr(log, *actor, index),
            EventKind::Said { .. } => self.wire.push(WireRow::new(index)),
            EventKind::Counted { actor, counter, by } if *by > 0 => {
                self.counted(*actor, counter, (x, index));
            }
            EventKind::Finished { actor } => {
                if let Some(lane) = self.lanes.get_mut(actor.0 as usize) {
                    lane.end_read((x, index));
                }
            }
            EventKind::Believes { actor, lock, belief } => self.set_belief(*actor, lock, *belief, (x, index)),
            EventKind::State(state) => {
                if let Some(truth) = self.truths.iter_mut().find(|truth| truth.server == state.server) {
                    let known = truth.changes.len();
                    truth.observe(log, index, (&self.columns, &self.state.sessions), &state.observed);
                    if truth.changes.len() > known {
                        self.wire.push(WireRow::new(index));
                    }
                }
                self.compare((x, index));
            }
            EventKind::Sentinel { sentinel, notice } => {
                if !log.same_notice_from(index, index).is_empty() {
                    self.wire.push(WireRow::new(index));
                }
                if let Some(truth) = notice.server().and_then(|server| self.truth(server)) {
                    truth.hear((x, index), sentinel, notice);
                }
            }
            EventKind::Session { actor, session, .. } => {
                self.state.sessions.begin(*session, (index, *actor));
            }
            EventKind::Fault(fault) => {
                self.state.fault.get_or_insert(index);
                self.wire.push(WireRow::new(index));
                self.fault(log, index, x, fault);
                if let Some(truth) = self.hit(fault) {
                    truth.fault(fault, (x, index));
                }
                if let Some(truth) = fault.killed_server().and_then(|server| self.truth(server)) {
                    truth.end(x, index);
                    self.compare((x, index));
                }
            }
            EventKind::GaveUp { actor, .. } => {
                self.state.fault.get_or_insert(index);
                self.wire.push(WireRow::new(index));
                // A thread that ends with an error is drawn like a killed process.
                self.process_fault(log, *actor, Condition::Dead, (x, index));
            }
            EventKind::ServerDied { server, .. } => {
                self.wire.push(WireRow::new(index));
                if let Some(truth) = self.truth(server) {
                    truth.end(x, index);
                }
                self.compare((x, index));
            }
            EventKind::Stop { item, stop } => {
                let clashing = |overlap_span: &OverlapSpan| {
                    overlap_span.to.is_none_or(|(_, event)| event > self.state.step)
                };
                let overlap_span = self.overlap_spans.iter().rev().any(clashing)
                    || self.oversold.is_some()
                    || self.broken.iter().any(|broken| broken.is_in_step(self.state.step));
                // In free play each move is a step, numbered after the last step of the story.
                let after = self.story_marks.last().map_or(0, |mark| mark.item + 1);
                let item = if self.state.left_story { after } else { *item };
                self.story_marks.push(StoryMark {
                    item,
                    position: index + 1,
                    asks: *stop == Stop::Question,
                    fault: self.state.fault.take(),
                    overlap_span,
                });
                self.mark_unconfirmed(index);
                self.state.step = index;
                self.state.begun = x;
                for band in &mut self.bands {
                    band.stop();
                }
            }
            EventKind::Breached { invariant, evidence, since, .. } => {
                // A breach is reported at the end of its step, but drawn from the event at which it began.
                let begun = since.and_then(|since| self.columns.get(since)).copied().unwrap_or(x);
                self.breach(log, (*invariant, evidence), (begun, index));
            }
            EventKind::BreachEnded { invariant, since } => {
                let over = since.and_then(|since| self.columns.get(since)).copied().unwrap_or(x);
                self.end_breach(*invariant, (over, index));
            }
            EventKind::Chose(_) => self.state.left_story = true,
            _ => {}
        }
    }

    /// The lane on which an event, a reply to a request of an earlier step, has a tick of its own: beside its request it
    /// would look as if it had come at once.
    fn late_reply(&self, event: &Event) -> Option<&Lane> {
        let EventKind::Replied { op, reply, .. } = &event.kind else { return None };
        let flight = self.state.in_flight.get(op)?;
        let lane = self.lanes.get(flight.lane)?;
        let is_late = self.wire[flight.row].event < self.state.step && lane.answers_late(flight.mark, reply);
        is_late.then_some(lane)
    }

    /// A line of a program's log. Those in a row share a row: they are for the log's reader and not about the lock.
    fn said_to_stderr(&mut self, log: &Log, of: ActorId, index: usize) {
        let is_log = |event: usize| match log.events().get(event).map(|event| &event.kind) {
            Some(EventKind::Said { actor, stderr: true, .. }) => Some(*actor),
            _ => None,
        };
        let mut newest = self.wire.iter_mut().rev().take_while(|row| is_log(row.event).is_some());
        match newest.find(|row| is_log(row.event) == Some(of)) {
            Some(row) => row.count += 1,
            None => self.wire.push(WireRow::new(index)),
        }
    }

    /// The column of the last request of the event's actor up to the event, or the event's own column if there is none.
    /// Of a command that was sent to one server after another, which is a vote, the column of the first request.
    pub fn request_of(&self, log: &Log, event: usize) -> u32 {
        let actor = log.events().get(event).and_then(|event| event.kind.actor());
        let known = log.events().iter().enumerate().take(event + 1).rev();
        let mut vote: Vec<(&Command, &str)> = Vec::new();
        let mut first = None;
        for (n, event) in known {
            let EventKind::Sent { actor: sender, command, server, .. } = &event.kind else { continue };
            if Some(*sender) != actor {
                continue;
            }
            if vote.iter().any(|(other, asked)| *other != command || asked == server) {
                break;
            }
            vote.push((command, server));
            first = Some(self.column(n));
        }
        first.unwrap_or(u32::MAX).min(self.column(event))
    }

    /// The lane of the server on which a fault is marked.
    fn hit(&mut self, fault: &Fault) -> Option<&mut Truth> {
        match fault.target() {
            Target::Client(_) => None,
            Target::Server(server) => self.truth(server),
            Target::Link(link) => self.truth(&link.from),
        }
    }

    /// Like [`Self::step_begun`], for the last step with a command or a reply, so that a narration alone keeps the step
    /// before current.
    pub fn last_move_begun(&self, log: &Log, position: usize) -> usize {
        let before = self.story_marks.partition_point(|mark| mark.position < position);
        let begins = self.story_marks[..before].iter().rev().map(|mark| mark.position).chain([0]);
        let mut end = position;
        for begin in begins {
            let step = log.events().get(begin..end).unwrap_or_default();
            if step.iter().any(|event| actor_with_tick(&event.kind).is_some()) {
                return begin;
            }
            end = begin;
        }
        0
    }

    /// The position at which the step began in which, or right after which, the playhead stands. The end of a run is no
    /// step.
    pub fn step_begun(&self, position: usize) -> usize {
        let before = self.story_marks.partition_point(|mark| mark.position < position);
        let mut begins = self.story_marks[..before].iter().rev().map(|mark| mark.position);
        begins.find(|begin| begin + 1 < position).unwrap_or(0)
    }

    fn truth(&mut self, server: &str) -> Option<&mut Truth> {
        self.truths.iter_mut().find(|truth| truth.server == server)
    }

    /// Whether an event repeats a wait, and has no tick.
    fn waits_on(&self, log: &Log, event: &Event) -> bool {
        let lane = event.kind.actor().and_then(|actor| self.lanes.get(actor.0 as usize));
        lane.is_some_and(|lane| lane.waits_on(log, &event.kind))
    }

    fn mark(&mut self, log: &Log, index: usize, actor: ActorId, x: u32) {
        let Some(lane) = self.lanes.get_mut(actor.0 as usize) else { return };
        let event = &log.events()[index];
        if lane.waits_on(log, &event.kind) {
            lane.wait_on(index);
        } else if lane.is_note(log, &event.kind, event.at) {
            lane.note(log, index, self.detail);
        } else if lane.repeats_request(log, event) {
            lane.join(log, index, self.detail);
        } else {
            lane.mark(log, index, x, self.detail);
        }
        if let Some(band) = lane.band {
            self.bands[band].count(&log.events()[index].kind, x, index);
        }
    }

    /// Adds a notification to the wire log. Equal notifications of a crowd share a line.
    fn notify(&mut self, log: &Log, index: usize) {
        let of = |event: usize| match &log.events()[event].kind {
            EventKind::Notified { actor, about, what, .. } => {
                let band = self.lanes.get(actor.0 as usize).and_then(|lane| lane.band);
                band.map(|band| (band, about, what))
            }
            _ => None,
        };
        let notification = of(index);
        let same = self.wire.last().is_some_and(|row| {
            row.event >= self.state.step && notification.is_some() && of(row.event) == notification
        });
        match self.wire.last_mut() {
            Some(row) if same => row.count += 1,
            _ => self.wire.push(WireRow::new(index)),
        }
    }

    fn set_belief(&mut self, actor: ActorId, lock: &str, belief: Belief, here: (u32, usize)) {
        let Some(lane) = self.lanes.get_mut(actor.0 as usize) else { return };
        let before = lane.set_belief(lock, belief, here);
        if let Some(band) = lane.band {
            self.bands[band].set_belief(before, belief, here);
        }
    }

    /// Marks where actors begin and cease to hold locks, and the stretches in which a lock has too many holders.
    fn hold(&mut self, event: &Event, here: (u32, usize)) {
        let turns = self.state.holding.take(here.1, event);
        if turns.is_empty() {
            return;
        }
        for turn in turns {
            if !turn.holds
                && let Some(lane) = self.lanes.get_mut(turn.actor.0 as usize)
            {
                lane.stop_holding(&turn.lock, here);
            }
        }
        OverlapSpan::update(&mut self.overlap_spans, self.state.holding.overlaps(), here);
    }

    fn fault(&mut self, log: &Log, index: usize, x: u32, fault: &Fault) {
        match fault.target() {
            Target::Client(client) => {
                for actor in log.actors_of(client) {
                    self.process_fault(log, actor, fault.leaves(), (x, index));
                }
            }
            Target::Link(link) => {
                for actor in log.actors_of(&link.from) {
                    self.lanes[actor.0 as usize].mark(log, index, x, self.detail);
                }
            }
            Target::Server(_) => {}
        }
    }

    fn process_fault(&mut self, log: &Log, actor: ActorId, condition: Condition, (x, index): (u32, usize)) {
        let Some(lane) = self.lanes.get_mut(actor.0 as usize) else { return };
        lane.mark(log, index, x, self.detail);
        let (ended, band) = (lane.fault(condition, (x, index)), lane.band);
        for belief in ended {
            if let Some(band) = band {
                self.bands[band].set_belief(belief, Belief::Nothing, (x, index));
            }
        }
    }
}
