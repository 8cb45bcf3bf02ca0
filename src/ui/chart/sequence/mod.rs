//! The second view of the log: a column per client and per server, time downwards, every command and reply on its
//! arrow. Here is the fold that says which rows there are; `draw` draws them. It must not know the screen's
//! size, its language or its colours.
//!
//! **Architecture Invariant:** the row of event `n` depends on the events up to `n` alone, so nothing that was
//! drawn moves when more happens, and a frame looks only at what is visible.

pub(crate) mod columns;
pub(crate) mod faults;
pub(crate) mod lifeline;
pub(crate) mod row;

pub use columns::{Columns, Who};
pub use lifeline::{Lifeline, Look};
pub use row::{Delivery, Message, Row, RowKind};

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
    time::Duration,
};

use crate::{
    clock::LessonTime,
    log::{ActorId, Belief, Event, EventKind, LinkId, Log, Observed, OpId, SentinelNotice, ServerState},
    ui::chart::{BURST, OverlapSpan, RoleChange, proves_overlap, truth::Standing},
    world::Holding,
};

/// Less time than this between two rows is not worth a word.
const GAP: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Default)]
pub struct Sequence {
    pub columns: Columns,
    pub lifelines: Vec<Lifeline>,
    pub rows: Vec<Row>,
    pub overlaps: Vec<OverlapSpan<usize>>,
    places: Vec<usize>,
    /// The events with states of servers, and those at which the same server was seen before.
    states: Vec<(usize, Option<usize>)>,
    state: FoldState,
}

#[derive(Debug, Clone, Default)]
struct FoldState {
    /// When the newest row was made or added to, not counting time that passed.
    at: LessonTime,
    /// The first row of the step under way: further events are added to no row before it.
    step: usize,
    /// By operation, the event that it was sent with.
    in_flight: HashMap<OpId, usize>,
    beliefs: HashMap<(ActorId, String), Belief>,
    holding: Holding,
    links: HashMap<LinkId, Delivery>,
    servers: HashMap<String, Server>,
    /// The column of the server that a Sentinel missed last.
    missed: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct Server {
    event: Option<usize>,
    standing: Standing,
    /// Keys with a TTL, and when it ends.
    leases: BTreeMap<String, LessonTime>,
}

impl Sequence {
    /// One in which nothing happens, for who shows none.
    pub fn empty() -> &'static Self {
        static EMPTY: LazyLock<Sequence> = LazyLock::new(Sequence::default);
        &EMPTY
    }

    pub fn advance(&mut self, log: &Log) {
        for index in self.places.len()..log.len() {
            self.place(log, index);
        }
    }

    /// The row of an event: its own, or the newest that there was when it happened.
    pub fn row_of(&self, event: usize) -> Option<usize> {
        let row = *self.places.get(event)?;
        (row < self.rows.len()).then_some(row)
    }

    /// How many rows somebody knows who has seen the first `position` events.
    pub fn known(&self, position: usize) -> usize {
        self.rows.partition_point(|row| row.event < position)
    }

    /// The state seen at an event, and the event at which the same server was seen before: of the first state at
    /// or after `event`.
    pub fn states_from(&self, event: usize) -> impl Iterator<Item = (usize, Option<usize>)> + '_ {
        let first = self.states.partition_point(|(seen, _)| *seen < event);
        self.states[first..].iter().copied()
    }

    fn place(&mut self, log: &Log, index: usize) {
        let event = &log.events()[index];
        if let EventKind::LabReady { actors, servers, .. } = &event.kind {
            self.columns = Columns::new(actors, servers);
            self.lifelines = vec![Lifeline::default(); self.columns.all.len()];
        }
        self.pass(event.at, index);
        let rows = self.rows.len();
        let row = self.add(log, index);
        self.hold(event, index);
        if let Some(column) = event.kind.actor().and_then(|actor| self.columns.of(actor)) {
            self.update(column, index);
        }
        // A row that was added to is the event's place; else the newest, which may be its own.
        let newest = self.rows.len().saturating_sub(1);
        self.places.push(row.unwrap_or(if rows < self.rows.len() { rows } else { newest }));
        if row.is_some() || rows < self.rows.len() {
            self.state.at = event.at;
        }
    }

    /// Time that passes between two rows is a row of its own.
    fn pass(&mut self, at: LessonTime, event: usize) {
        if self.rows.is_empty() || at.since(self.state.at) < GAP {
            return;
        }
        let since = self.state.at;
        match self.rows.last_mut() {
            Some(row) if matches!(row.kind, RowKind::Gap { .. }) => row.more.push(event),
            _ => self.rows.push(Row::new(RowKind::Gap { since }, event)),
        }
    }

    /// Tells an event in a row; gives the row if it is one that was there.
    fn add(&mut self, log: &Log, index: usize) -> Option<usize> {
        let event = &log.events()[index];
        match &event.kind {
            EventKind::Sent { .. } | EventKind::Replied { .. } | EventKind::Notified { .. } => {
                return self.message(log, index);
            }
            EventKind::Blocked { op, .. } => {
                let row = self.row_of(*self.state.in_flight.get(op)?)?;
                self.rows[row].note.get_or_insert(index);
                return Some(row);
            }
            EventKind::Took { actor, label, .. }
            | EventKind::Waits { actor, label, .. }
            | EventKind::Waited { actor, label, in_vain: true } => {
                return self.note(index, event.at, *actor, label);
            }
            EventKind::Counted { actor, counter, .. } => {
                return self.note(index, event.at, *actor, counter);
            }
            EventKind::Believes { actor, lock, belief } => self.believe(*actor, lock, *belief),
            EventKind::State(state) => self.observe(state, event.at, index),
            EventKind::Sentinel { sentinel, notice } => self.hear(log, sentinel, notice, index),
            EventKind::Fault(fault) => self.fault(log, fault, index),
            EventKind::GaveUp { actor, .. } => self.gave_up(log, *actor, index),
            EventKind::ServerDied { server, .. } => self.server_ends(server, index),
            EventKind::Breached { evidence, .. } => self.breach(index, evidence),
            EventKind::Stop { .. } => self.state.step = self.rows.len(),
            _ => {}
        }
        None
    }

    /// Makes a row, or adds to one that tells the same of a crowd.
    fn row(&mut self, kind: RowKind, index: usize, (column, how, what): (usize, u8, &str)) -> Option<usize> {
        let same = self.columns.is_crowd(column).then(|| (column, how, what.to_owned()));
        let open = self.rows[self.state.step.min(self.rows.len())..].iter();
        let known = same.as_ref().and_then(|same| {
            let found = open.rev().position(|row| row.same.as_ref() == Some(same))?;
            Some(self.rows.len() - 1 - found)
        });
        if let Some(row) = known {
            self.rows[row].more.push(index);
            return Some(row);
        }
        self.rows.push(Row { same, ..Row::new(kind, index) });
        None
    }

    fn message(&mut self, log: &Log, index: usize) -> Option<usize> {
        match &log.events()[index].kind {
            EventKind::Sent { op, actor, label, server, .. } => {
                self.state.in_flight.insert(*op, index);
                let client = self.columns.of(*actor)?;
                if !std::mem::replace(&mut self.lifelines[client].state.asked, true) {
                    self.update(client, index);
                }
                let Some(to) = self.columns.server(server) else {
                    return self.row(RowKind::Note { column: client }, index, (client, 11, label));
                };
                let way = self.way(log, *actor, server);
                let kind = RowKind::Message { client, server: to, message: Message::Sent(way) };
                self.row(kind, index, (client, way as u8, &format!("{label} {server}")))
            }
            EventKind::Replied { op, actor, label, reply } => {
                let client = self.columns.of(*actor)?;
                let sent = self.state.in_flight.remove(op)?;
                let EventKind::Sent { server, .. } = &log.events()[sent].kind else { return None };
                let Some(server) = self.columns.server(server) else {
                    // A lock of the process itself: the answer stands beside the question.
                    let row = self.row_of(sent)?;
                    // Of a crowd, the first answer stands for all.
                    self.rows[row].note.get_or_insert(index);
                    return Some(row);
                };
                let lost = reply.is_lost();
                let kind = RowKind::Message { client, server, message: Message::Replied { lost } };
                let how = 3 + u8::from(lost) + 2 * u8::from(reply.is_value());
                self.row(kind, index, (client, how, label))
            }
            EventKind::Notified { actor, server, about, what } => {
                let client = self.columns.of(*actor)?;
                let server = self.columns.server(server)?;
                let kind = RowKind::Message { client, server, message: Message::Notified };
                self.row(kind, index, (client, 8, &format!("{what} {about}")))
            }
            _ => None,
        }
    }

    /// What a client does by itself: beside the reply that it came of, or in a row of its own.
    fn note(&mut self, index: usize, at: LessonTime, actor: ActorId, what: &str) -> Option<usize> {
        let column = self.columns.of(actor)?;
        // What the reply broke stands between.
        let broken = |row: &Row| matches!(row.kind, RowKind::OverlapSpan { .. } | RowKind::Breach);
        let newest = self.rows.iter().rposition(|row| !broken(row))?;
        if let Some(row) = self.rows.get_mut(newest)
            && let RowKind::Message { client, message: Message::Replied { .. }, .. } = row.kind
            && client == column
            && row.note.is_none()
            && row.same.is_none()
            && at.since(self.state.at) < BURST
        {
            row.note = Some(index);
            return Some(newest);
        }
        self.row(RowKind::Note { column }, index, (column, 9, what))
    }

    fn believe(&mut self, actor: ActorId, lock: &str, belief: Belief) {
        let before = self.state.beliefs.insert((actor, lock.to_owned()), belief);
        let Some(column) = self.columns.of(actor) else { return };
        let state = &mut self.lifelines[column].state;
        for (belief, more) in [(before.unwrap_or(Belief::Nothing), false), (belief, true)] {
            let count = match belief {
                Belief::Holding | Belief::Sharing => &mut state.holding,
                Belief::Waiting => &mut state.waiting,
                Belief::Unsure => &mut state.unsure,
                Belief::Nothing => continue,
            };
            *count = if more { *count + 1 } else { count.saturating_sub(1) };
        }
    }

    /// Marks the rows in which a lock has too many holders, and the columns of its holders.
    fn hold(&mut self, event: &Event, index: usize) {
        for turn in self.state.holding.take(index, event) {
            let overlaps = self.state.holding.overlaps();
            for begun in overlaps.iter().skip(self.overlaps.len()) {
                let kind = RowKind::OverlapSpan { lock: begun.lock.clone(), excess: begun.excess };
                self.rows.push(Row::new(kind, index));
            }
            let here = (self.now(), index);
            OverlapSpan::update(&mut self.overlaps, self.state.holding.overlaps(), here);
            let exceeded = self.state.holding.is_exceeded(&turn.lock);
            let holders: Vec<ActorId> = self.state.holding.holders(&turn.lock).collect();
            let mut columns: Vec<usize> =
                holders.iter().chain([&turn.actor]).filter_map(|actor| self.columns.of(*actor)).collect();
            columns.dedup();
            for column in columns {
                let mut own = holders.iter().filter(|holder| self.columns.of(**holder) == Some(column));
                let overlap_spans = exceeded && own.next().is_some();
                let clashing = &mut self.lifelines[column].state.clashing;
                clashing.retain(|other| *other != turn.lock);
                if overlap_spans {
                    clashing.push(turn.lock.clone());
                }
                self.update(column, index);
            }
        }
    }

    /// Something is so that must never be. Too many holders say it already, and what is broken together is told once.
    fn breach(&mut self, index: usize, evidence: &[usize]) {
        let told = proves_overlap(&self.state.holding, evidence)
            || self.rows.last().is_some_and(|row| matches!(row.kind, RowKind::Breach));
        if !told {
            self.rows.push(Row::new(RowKind::Breach, index));
        }
    }

    /// What has become of a column shows from the newest row on.
    fn update(&mut self, column: usize, index: usize) {
        let row = self.now();
        self.lifelines[column].update(row, index);
    }

    /// The row from which on something shows that happens now: the newest, or the one after time that passed.
    fn now(&self) -> usize {
        let passed = |row: &Row| matches!(row.kind, RowKind::Gap { .. });
        match self.rows.last() {
            Some(row) if passed(row) => self.rows.len(),
            _ => self.rows.len().saturating_sub(1),
        }
    }

    /// What Sentinels say stands beside the server that it is about; what they say of each other, beside the one that they
    /// missed last. Who says what another has said adds nothing.
    fn hear(&mut self, log: &Log, sentinel: &str, notice: &SentinelNotice, index: usize) {
        let about = notice.server().and_then(|server| self.columns.server(server));
        if matches!(notice, SentinelNotice::Misses { .. }) {
            self.state.missed = about.or(self.state.missed);
        }
        let Some(column) = about.or(self.state.missed) else { return };
        if !log.say_alike(index, index).is_empty() {
            let change = RoleChange::Sentinel { sentinel: sentinel.to_owned(), notice: notice.clone() };
            self.rows.push(Row::new(RowKind::Role { column, change }, index));
        }
    }

    /// What a server was seen to hold and to be, as far as nobody has said it: a TTL that is over, another role.
    fn observe(&mut self, state: &ServerState, at: LessonTime, index: usize) {
        let column = self.columns.server(&state.server);
        let known = self.state.servers.get(&state.server).and_then(|server| server.event);
        self.states.push((index, known));
        let server = self.state.servers.entry(state.server.clone()).or_default();
        server.event = Some(index);
        let changes = server.standing.observe(&state.observed);
        let Some(column) = column else { return };
        let became = |change| Row::new(RowKind::Role { column, change }, index);
        self.rows.extend(changes.into_iter().map(became));
        let Observed::Redis(space) = &state.observed else { return };
        let leases = space.keys.iter().filter_map(|(name, key)| Some((name.clone(), key.expires_at?)));
        let leases = std::mem::replace(&mut server.leases, leases.collect());
        for (key, end) in leases {
            if end <= at && !space.keys.contains_key(&key) {
                self.rows.push(Row::new(RowKind::Expired { column, key }, index));
            }
        }
    }
}
