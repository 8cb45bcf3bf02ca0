//! Where everything stands on the elastic time axis: a fold of the log, like the world, but of what happened
//! when rather than of how things are. It must not know the screen's size, its language or its colours.
//!
//! **Architecture Invariant:** the place of event `n` depends on the events up to `n` alone, so nothing that
//! was drawn moves when more happens, and a frame looks only at what is visible.

pub(crate) mod axis;
pub(crate) mod crowd;
pub(crate) mod lane;
pub(crate) mod pair;
pub mod sequence;
pub(crate) mod truth;

pub use axis::stretch;
pub use crowd::{Band, Level, Run};
pub use lane::{Bar, BarKind, Lane, Mark, as_written};
pub use pair::Pair;
pub use truth::{About, Lease, Owner, RoleChange, Span, Truth, is_lock_key};

use std::{collections::HashMap, time::Duration};

use crate::{
    clock::LessonTime,
    log::{
        ActorId, Belief, Command, Condition, Event, EventKind, Fault, Log, OpId, Reply, Stop, Target,
        product::mariadb,
    },
    world::{Holding, Overlap},
};
use axis::Compression;

/// Screens narrower than this get labels on the lanes instead of commands.
const NARROW: u16 = 100;

/// How much a mark on a lane says.
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
    /// How many members of a crowd were told the same at once.
    pub count: usize,
}

impl WireRow {
    fn new(event: usize) -> Self {
        Self { event, replied: None, count: 1 }
    }
}

/// A stretch with too many holders of one lock: where it begins and ends, in columns or rows, and by which events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlapSpan<X = u32> {
    pub lock: String,
    pub from: (X, usize),
    pub to: Option<(X, usize)>,
}

impl<X: Copy> OverlapSpan<X> {
    /// Whether it has begun and not ended after so many events.
    pub fn is_now(&self, position: usize) -> bool {
        self.from.1 < position && self.to.is_none_or(|(_, event)| event >= position)
    }

    fn update(overlap_spans: &mut Vec<Self>, overlaps: &[Overlap], here: (X, usize)) {
        for (overlap, overlap_span) in overlaps.iter().zip(&mut *overlap_spans) {
            if overlap.end.is_some() {
                overlap_span.to.get_or_insert(here);
            }
        }
        let begun = overlaps.iter().skip(overlap_spans.len());
        overlap_spans.extend(begun.map(|overlap| Self { lock: overlap.lock.clone(), from: here, to: None }));
    }
}

/// Something besides too many holders that came to be so and must never be: from the event that says what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub span: OverlapSpan,
    pub invariant: usize,
    /// Whether it was over within its step: then the step is its stretch.
    brief: bool,
}

impl Broken {
    /// The event that says what.
    pub fn event(&self) -> usize {
        self.span.from.1
    }

    /// Whether it was so in the step that began with an event.
    fn is_in_step(&self, step: usize) -> bool {
        let lasts = !self.brief && self.span.to.is_none_or(|(_, event)| event > step);
        self.event() > step || lasts
    }
}

/// A step of the story, and what it was about: what the scrubber shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoryMark {
    /// The step of the story, from 0 on. A step may have several stops.
    pub item: usize,
    /// The position of a playhead that stands right behind it.
    pub position: usize,
    pub asks: bool,
    /// The fault that was caused in it, by its event.
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
    /// Since when more of a key's value was counted than it had, and by which counter.
    pub oversold: Option<(OverlapSpan, String)>,
    pub broken: Vec<Broken>,
    pub story_marks: Vec<StoryMark>,
    /// The column of every event; never falls.
    columns: Vec<u32>,
    pub detail: Detail,
    compression: Compression,
    state: FoldState,
}

#[derive(Debug, Clone, Default)]
struct FoldState {
    at: LessonTime,
    /// The event that the step under way began with, and its column.
    step: usize,
    begun: u32,
    burst: Burst,
    in_flight: HashMap<OpId, OpenCommand>,
    holding: Holding,
    sessions: HashMap<i64, ActorId>,
    /// The first fault of the step under way.
    fault: Option<usize>,
    left_story: bool,
}

#[derive(Debug, Clone, Copy)]
struct OpenCommand {
    lane: usize,
    mark: usize,
    row: usize,
}

/// Things that happen to many at the same time share a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Burst {
    #[default]
    Broken,
    Sending,
    Notifying,
}

/// Two events this close belong to one burst.
const BURST: Duration = Duration::from_millis(5);
/// Columns between two things of which one came after the other.
const APART: u32 = 2;

/// The most columns that one step of a folded crowd gets: hundreds of members take their turns one after another,
/// and what came before must stay in sight.
const CROWD: u32 = 20;

/// So many breaches are marked: each event looks at all of them, and a recording of a stranger's may have any number.
const MOST_BROKEN: usize = 64;

/// Whether these events prove that a lock has too many holders. That is told in the step in which it came to be so.
fn proves_overlap(holding: &Holding, evidence: &[usize]) -> bool {
    let mut newest = holding.overlaps().iter().rev().take(MOST_BROKEN);
    newest.any(|overlap| overlap.evidence == evidence)
}

/// Whether an event is told on the wire alone: most of what Sentinels say on the way to a decision.
fn is_beside(event: &Event) -> bool {
    event.of_sentinel().is_some_and(|(_, notice)| !notice.decides())
}

/// On whose lane an event has a tick, faults apart.
pub(crate) fn ticking(kind: &EventKind) -> Option<ActorId> {
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

    pub fn advance(&mut self, log: &Log) {
        for index in self.columns.len()..log.len() {
            self.prepare(log, index);
            let cursor = self.columns.last().copied().unwrap_or_default();
            let event = &log.events()[index];
            // What stands on no lane takes no room on the axis.
            let x = if is_beside(event) {
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
        // What was broken and over within a step is red in that step, on the scrubber, too; in a run's last to its end.
        if !matches!(event.kind, EventKind::Stop { .. }) {
            let step = self.state.step;
            for broken in self.broken.iter_mut().filter(|broken| broken.brief && broken.event() < step) {
                broken.span.to.get_or_insert((x.max(broken.span.from.0 + 1), index));
            }
        }
        self.hold(event, (x, index));
        if let Some(actor) = ticking(&event.kind) {
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
                if let Some(flight) = self.state.in_flight.remove(op) {
                    self.wire[flight.row].replied = Some(index);
                    let read = self.read(log, self.wire[flight.row].event, index);
                    let sent = self.wire[flight.row].event;
                    if let Some(lane) = self.lanes.get_mut(flight.lane) {
                        lane.reply(flight.mark, (sent, index), log, self.detail);
                        if let Some((key, value, current)) = read {
                            lane.see(&key, &value, current, (x, index));
                        }
                    }
                }
            }
            EventKind::Notified { .. } => self.notify(log, index),
            EventKind::Said { .. } => self.wire.push(WireRow::new(index)),
            EventKind::Counted { actor, counter, by } if *by > 0 => {
                self.counted(*actor, counter, (x, index));
            }
            EventKind::Finished { actor } => {
                if let Some(lane) = self.lanes.get_mut(actor.0 as usize) {
                    lane.act((x, index));
                }
            }
            EventKind::Believes { actor, lock, belief } => self.believe(*actor, lock, *belief, (x, index)),
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
                if !log.say_alike(index, index).is_empty() {
                    self.wire.push(WireRow::new(index));
                }
                if let Some(truth) = notice.server().and_then(|server| self.truth(server)) {
                    truth.hear((x, index), sentinel, notice);
                }
            }
            EventKind::Session { actor, session, .. } => {
                self.state.sessions.insert(*session, *actor);
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
                // A thread that ends with an error leaves what a killed process leaves.
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
                // Whoever has left the story takes steps of their own, one after another.
                let after = self.story_marks.last().map_or(0, |mark| mark.item + 1);
                let item = if self.state.left_story { after } else { *item };
                self.story_marks.push(StoryMark {
                    item,
                    position: index + 1,
                    asks: *stop == Stop::Question,
                    fault: self.state.fault.take(),
                    overlap_span,
                });
                let single = self.lanes.iter_mut().filter(|lane| lane.band.is_none());
                single.for_each(Lane::miss);
                self.state.step = index;
                self.state.begun = x;
                for band in &mut self.bands {
                    band.stop();
                }
            }
            EventKind::Breached { invariant, evidence, since, .. } => {
                // Found at the end of its step, it is red from where it began.
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

    /// Whether too many holders, or too much sold, says already what these events prove.
    fn is_reported(&self, log: &Log, evidence: &[usize]) -> bool {
        let sells = |event: &usize| match (log.events().get(*event).map(|event| &event.kind), &self.oversold)
        {
            (Some(EventKind::Counted { counter, .. }), Some((_, sold))) => counter == sold,
            _ => false,
        };
        proves_overlap(&self.state.holding, evidence) || evidence.iter().any(sells)
    }

    /// Something is so that must never be.
    fn breach(&mut self, log: &Log, (invariant, evidence): (usize, &[usize]), here: (u32, usize)) {
        if self.broken.len() < MOST_BROKEN && !self.is_reported(log, evidence) {
            let span = OverlapSpan { lock: String::new(), from: here, to: None };
            self.broken.push(Broken { span, invariant, brief: false });
        }
    }

    /// What was broken is so no more.
    fn end_breach(&mut self, invariant: usize, here: (u32, usize)) {
        let step = self.state.step;
        let is_it = |broken: &&mut Broken| broken.invariant == invariant && broken.span.to.is_none();
        let Some(broken) = self.broken.iter_mut().find(is_it) else { return };
        if broken.event() > step {
            broken.brief = true;
        } else {
            broken.span.to = Some((here.0.max(broken.span.from.0 + 1), here.1));
        }
    }

    /// What is wrong besides too many holders.
    pub fn besides(&self) -> impl Iterator<Item = &OverlapSpan> {
        let oversold = self.oversold.iter().map(|(overlap_span, _)| overlap_span);
        oversold.chain(self.broken.iter().map(|broken| &broken.span))
    }

    /// The stretch that an event began.
    pub fn overlap_span_of(&self, event: usize) -> Option<&OverlapSpan> {
        self.overlap_spans.iter().find(|overlap_span| overlap_span.from.1 == event)
    }

    /// Every stretch in which something is wrong.
    pub fn alarms(&self) -> impl Iterator<Item = &OverlapSpan> {
        self.overlap_spans.iter().chain(self.besides())
    }

    /// The column of the request that led to an event, or the event's own where none did.
    pub fn request_of(&self, log: &Log, event: usize) -> u32 {
        let actor = log.events().get(event).and_then(|event| event.kind.actor());
        let marks = actor.and_then(|actor| self.lanes.get(actor.0 as usize)).map(|lane| &lane.marks);
        let known = marks.and_then(|marks| {
            let known = marks.partition_point(|mark| mark.event <= event);
            known.checked_sub(1).map(|n| marks[n].x)
        });
        known.unwrap_or(u32::MAX).min(self.column(event))
    }

    /// Who has acted on an outdated value last, and the bar that says so.
    pub fn outdated_sale(&self, position: usize) -> Option<(ActorId, &Bar)> {
        let acted = |bar: &&Bar| bar.kind == BarKind::Oversold && bar.from.1 < position;
        let lanes = self.lanes.iter().enumerate();
        let sales = lanes.filter_map(|(n, lane)| Some((n, lane.bars.iter().rfind(acted)?)));
        let (lane, sale) = sales.max_by_key(|(_, bar)| bar.from.1)?;
        Some((ActorId(u32::try_from(lane).ok()?), sale))
    }

    /// With which event that one had read it.
    pub fn outdated_read(&self, position: usize) -> Option<usize> {
        let (seller, sale) = self.outdated_sale(position)?;
        let mut bars = self.lanes[seller.0 as usize].bars.iter();
        let read = bars.rfind(|bar| bar.kind == BarKind::Saw && bar.from.1 < sale.from.1);
        Some(read.unwrap_or(sale).from.1)
    }

    /// The lane of the server that a fault is marked on.
    fn hit(&mut self, fault: &Fault) -> Option<&mut Truth> {
        match fault.target() {
            Target::Client(_) => None,
            Target::Server(server) => self.truth(server),
            Target::Link(link) => self.truth(&link.from),
        }
    }

    /// The key or row that a client has read, what it read, and whether a server is seen to hold that.
    fn read(&self, log: &Log, sent: usize, replied: usize) -> Option<(String, String, bool)> {
        let EventKind::Sent { command, .. } = &log.events()[sent].kind else { return None };
        let EventKind::Replied { reply, .. } = &log.events()[replied].kind else { return None };
        let Reply::Value(value) = reply.as_ref() else { return None };
        let mut values = self.truths.iter().flat_map(Truth::values);
        if let Command::Sql(statement) = command {
            let (row, read) = mariadb::read(statement, value, values)?;
            let current = self.tells(&row, &read);
            return Some((row, read, current));
        }
        let key = command.redis_words().get(1).filter(|_| command.is_redis("GET"))?;
        let value = value.as_str()?;
        values.any(|held| held == (key, value)).then(|| (key.clone(), value.to_owned(), true))
    }

    /// Whether a server holds under a name what was read of it.
    fn tells(&self, name: &str, read: &str) -> bool {
        let mut values = self.truths.iter().flat_map(Truth::values);
        values.any(|(known, held)| known == name && mariadb::tells(held, read))
    }

    /// A counter grew because of a value that was read: oversold, if that value has changed.
    fn counted(&mut self, actor: ActorId, counter: &str, here: (u32, usize)) {
        let Some(lane) = self.lanes.get_mut(actor.0 as usize) else { return };
        let Some(key) = lane.act(here) else { return };
        let value = lane.seen();
        lane.oversell(&key, value, here);
        let overlap_span = OverlapSpan { lock: key, from: here, to: None };
        self.oversold.get_or_insert((overlap_span, counter.to_owned()));
    }

    /// Compares what clients believe with what servers were seen to hold. Crowds have no bars of their own.
    fn compare(&mut self, here: (u32, usize)) {
        let open: Vec<(&str, ActorId)> = self
            .truths
            .iter()
            .flat_map(Truth::held)
            .filter_map(|(lock, owner)| match owner {
                Owner::Actor(actor) => Some((lock, actor)),
                Owner::Session(session) => Some((lock, *self.state.sessions.get(&session)?)),
            })
            .collect();
        let named =
            |lock: &str| self.truths.iter().any(|truth| truth.locks.iter().any(|known| known == lock));
        for (n, lane) in self.lanes.iter_mut().enumerate().filter(|(_, lane)| lane.band.is_none()) {
            let its = |actor: &ActorId| actor.0 as usize == n;
            // A lesson's lock may have another name than the key: then any that its owner has will do.
            let has = |lock: &str| {
                let same = |name: &str| name == lock || !named(lock);
                open.iter().any(|(name, actor)| its(actor) && same(name))
            };
            let values = self.truths.iter().flat_map(Truth::values);
            let values: Vec<(&str, &str)> = values.collect();
            let is = |key: &str, read: &str| {
                values.iter().any(|(known, held)| *known == key && mariadb::tells(held, read))
            };
            lane.compare(has, is, here);
        }
    }

    /// The same for the last step with a command or a reply: a narration alone does not end it.
    pub fn moved_since(&self, log: &Log, position: usize) -> usize {
        let before = self.story_marks.partition_point(|mark| mark.position < position);
        let begins = self.story_marks[..before].iter().rev().map(|mark| mark.position).chain([0]);
        let mut end = position;
        for begin in begins {
            let step = log.events().get(begin..end).unwrap_or_default();
            if step.iter().any(|event| ticking(&event.kind).is_some()) {
                return begin;
            }
            end = begin;
        }
        0
    }

    /// The position at which the step began that the playhead stands in or right behind. That a run ends is no step.
    pub fn step_begun(&self, position: usize) -> usize {
        let before = self.story_marks.partition_point(|mark| mark.position < position);
        let mut begins = self.story_marks[..before].iter().rev().map(|mark| mark.position);
        begins.find(|begin| begin + 1 < position).unwrap_or(0)
    }

    fn truth(&mut self, server: &str) -> Option<&mut Truth> {
        self.truths.iter_mut().find(|truth| truth.server == server)
    }

    fn mark(&mut self, log: &Log, index: usize, actor: ActorId, x: u32) {
        let Some(lane) = self.lanes.get_mut(actor.0 as usize) else { return };
        let event = &log.events()[index];
        if lane.takes_note(log, &event.kind, event.at) {
            lane.note(log, index, self.detail);
        } else if lane.goes_on(log, event) {
            lane.join(log, index, self.detail);
        } else {
            lane.mark(log, index, x, self.detail);
        }
        if let Some(band) = lane.band {
            self.bands[band].count(&log.events()[index].kind, x, index);
        }
    }

    /// A notification: to a crowd that is told the same, one line for all of it.
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

    fn believe(&mut self, actor: ActorId, lock: &str, belief: Belief, here: (u32, usize)) {
        let Some(lane) = self.lanes.get_mut(actor.0 as usize) else { return };
        let before = lane.believe(lock, belief, here);
        if let Some(band) = lane.band {
            self.bands[band].believe(before, belief, here);
        }
    }

    /// Marks who has begun or ceased to hold what, and the stretches in which too many do.
    fn hold(&mut self, event: &Event, here: (u32, usize)) {
        let turns = self.state.holding.take(here.1, event);
        if turns.is_empty() {
            return;
        }
        for turn in turns {
            if !turn.holds
                && let Some(lane) = self.lanes.get_mut(turn.actor.0 as usize)
            {
                lane.leave(&turn.lock, here);
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
                self.bands[band].believe(belief, Belief::Nothing, (x, index));
            }
        }
    }
}
