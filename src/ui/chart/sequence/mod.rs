//! The second view of the log: a column per client and per server, time downwards, every command and reply on its
//! arrow. This module folds the log into rows; `ui/view/sequence` draws them. It must not know the screen's size, its
//! language or its colours.
//!
//! **Architecture Invariant:** the row of event `n` depends on the events up to `n` alone, so nothing that was drawn
//! moves when more happens, and a frame reads only what is visible.

pub(crate) mod columns;
pub(crate) mod faults;
pub(crate) mod lifeline;
pub(crate) mod row;

pub use columns::{ColumnOwner, Columns};
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

/// The shortest time between two rows that gets a row of its own.
const GAP: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Default)]
pub struct Sequence {
    pub columns: Columns,
    pub lifelines: Vec<Lifeline>,
    pub rows: Vec<Row>,
    pub overlaps: Vec<OverlapSpan<usize>>,
    places: Vec<usize>,
    /// The observations of servers; each with the previous observation of the same server, if there is one.
    states: Vec<(usize, Option<usize>)>,
    state: FoldState,
}

#[derive(Debug, Clone, Default)]
struct FoldState {
    /// When the newest row was added or extended; rows for gaps in time do not count.
    at: LessonTime,
    /// The first row of the current step: events extend no row before it.
    step: usize,
    /// By operation, the event with which it was sent.
    in_flight: HashMap<OpId, usize>,
    beliefs: HashMap<(ActorId, String), Belief>,
    holding: Holding,
    links: HashMap<LinkId, Delivery>,
    servers: HashMap<String, Server>,
    /// The column of the server that a Sentinel last reported missing.
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
    /// A sequence without events, for views that show none.
    pub fn empty() -> &'static Self {
        static EMPTY: LazyLock<Sequence> = LazyLock::new(Sequence::default);
        &EMPTY
    }

    pub fn advance(&mut self, log: &Log) {
        for index in self.places.len()..log.len() {
            self.place(log, index);
        }
    }

    /// The row of an event: its own, or the newest row at that time.
    pub fn row_of(&self, event: usize) -> Option<usize> {
        let row = *self.places.get(event)?;
        (row < self.rows.len()).then_some(row)
    }

    /// The number of rows after the first `position` events.
    pub fn known(&self, position: usize) -> usize {
        self.rows.partition_point(|row| row.event < position)
    }

    /// The observations at or after `event`, each with the previous one of the same server.
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
        // The event's place is the row that it extended or added; otherwise the newest row.
        let newest = self.rows.len().saturating_sub(1);
        self.places.push(row.unwrap_or(if rows < self.rows.len() { rows } else { newest }));
        if row.is_some() || rows < self.rows.len() {
            self.state.at = event.at;
        }
    }

    /// Adds a row for the time between two rows.
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

    /// Adds an event to a row. Returns the row if it existed before.
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
            EventKind::Believes { actor, lock, belief } => self.set_belief(*actor, lock, *belief),
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

    /// Adds a row, or extends the row with the same content of a crowd.
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
                    // The reply of a lock in the process itself stands beside its request.
                    let row = self.row_of(sent)?;
                    // In a crowd the first reply stands for all.
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

    /// Adds an action within a client: beside the reply that caused it, or in a row of its own.
    fn note(&mut self, index: usize, at: LessonTime, actor: ActorId, what: &str) -> Option<usize> {
        let column = self.columns.of(actor)?;
        // Rows that report what the reply broke may stand between the reply and the action.
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

    fn set_belief(&mut self, actor: ActorId, lock: &str, belief: Belief) {
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

    /// Adds rows where a lock gets too many holders, and marks the columns of its holders.
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

    /// Adds a row for a broken invariant, unless a row for too many holders or the breach before already shows it.
    fn breach(&mut self, index: usize, evidence: &[usize]) {
        let is_shown = proves_overlap(&self.state.holding, evidence)
            || self.rows.last().is_some_and(|row| matches!(row.kind, RowKind::Breach));
        if !is_shown {
            self.rows.push(Row::new(RowKind::Breach, index));
        }
    }

    /// Updates the lifeline of a column from the newest row on.
    fn update(&mut self, column: usize, index: usize) {
        let row = self.now();
        self.lifelines[column].update(row, index);
    }

    /// The row from which on a change shows: the newest, or the one after it if that is a gap in time.
    fn now(&self) -> usize {
        let passed = |row: &Row| matches!(row.kind, RowKind::Gap { .. });
        match self.rows.last() {
            Some(row) if passed(row) => self.rows.len(),
            _ => self.rows.len().saturating_sub(1),
        }
    }

    /// Adds a notice of a Sentinel beside the server that it is about. Notices about other Sentinels stand beside the
    /// server missed last. A notice that repeats another Sentinel's adds nothing.
    fn hear(&mut self, log: &Log, sentinel: &str, notice: &SentinelNotice, index: usize) {
        let about = notice.server().and_then(|server| self.columns.server(server));
        if matches!(notice, SentinelNotice::Misses { .. }) {
            self.state.missed = about.or(self.state.missed);
        }
        let Some(column) = about.or(self.state.missed) else { return };
        if !log.same_notice_from(index, index).is_empty() {
            let change = RoleChange::Sentinel { sentinel: sentinel.to_owned(), notice: notice.clone() };
            self.rows.push(Row::new(RowKind::Role { column, change }, index));
        }
    }

    /// Adds what only an observation of a server reveals: a TTL that has ended, another role.
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
                self.rows.push(Row::new(RowKind::Expired { column, key, end }, index));
            }
        }
    }
}
