//! One actor's lane: ticks for what it did, bars for what it believed.

use std::time::Duration;

use super::Detail;
use crate::{
    clock::LessonTime,
    log::{Actor, Belief, Command, Condition, Event, EventKind, Log, Reply, Target},
    ui::{
        theme::{glyphs, text, time},
        words::fault,
    },
};

const COMMAND_COLUMNS: usize = 26;
const REPLY_COLUMNS: usize = 12;
const SHORTEST_COMMAND: usize = 4;
const ANSWERED_OK: &str = "→ OK";
const UNANSWERED: &str = "→ …";
/// The maximum number of columns for the replies of several servers.
const REPLIES_COLUMNS: usize = 20;
/// The maximum time between the requests of one round, which go to several servers one after another.
const ROUND: Duration = Duration::from_millis(100);
/// How many of the newest bars are searched for open ones.
const RECENT: usize = 16;

/// Maps a word of the lesson to the text shown for it.
pub type Named<'a> = &'a dyn for<'w> Fn(&'w Log, &'w str) -> &'w str;

/// Shows a word as the lesson writes it, or a counter by the wider of its titles.
pub fn as_written<'w>(log: &'w Log, word: &'w str) -> &'w str {
    let title = log.counter_title(word);
    title.map_or(word, |title| {
        [&*title.en, &*title.zh].into_iter().max_by_key(|words| text::width(words)).unwrap_or(word)
    })
}

/// The events of a request and of its reply.
type Exchange = (usize, Option<usize>);

/// A tick on a lane: an event and, if there is one, the reply to it. A reply that comes in a later step than its request
/// has a tick of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub x: u32,
    pub event: usize,
    pub reply: Option<usize>,
    /// The reply that has a tick of its own.
    late: Option<usize>,
    /// The same request to further servers, as for a majority of votes. All of them share one tick.
    pub others: Vec<Exchange>,
    /// The event that followed at once: a counter that grew, a wait that began.
    pub note: Option<usize>,
    /// Equal waits that followed without another action in between, as of a library's timers.
    waits: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarKind {
    Belief(Belief),
    /// The actor has read a key, and relies on the value.
    Read,
    /// The actor acted on a value that had changed since it was read: oversold.
    Oversold,
    Frozen,
    Dead,
}

impl BarKind {
    pub fn holds(self) -> bool {
        matches!(self, Self::Belief(belief) if belief.holds())
    }
}

/// Where something begins and, unless it lasts, where it ends: columns and events.
pub(crate) type Stretch = ((u32, usize), Option<(u32, usize)>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    pub kind: BarKind,
    /// The lock, or the key that was read; empty for a condition of the whole process.
    pub lock: String,
    /// The value that was read.
    pub value: String,
    /// The first column, and the event that began the bar.
    pub from: (u32, usize),
    /// The column after the last one, and the event that ended the bar.
    pub to: Option<(u32, usize)>,
    /// Of a belief: where the actor ceased to hold the lock, which it may not notice until later. Of a value that was
    /// read: where the actor last sent a command to its key.
    pub left: Option<(u32, usize)>,
    /// Stretches in which no server confirms the belief, after one did. The last one may be open.
    pub unconfirmed: Vec<Stretch>,
    confirmed: bool,
    /// Whether the request for the lock read a row, so that a server can confirm it.
    asked: bool,
    pub hidden: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Lane {
    pub band: Option<usize>,
    /// The index of the actor's client: its threads and members share a colour.
    pub client: usize,
    pub marks: Vec<Mark>,
    /// Ordered by where they begin.
    pub bars: Vec<Bar>,
    /// Locks that the actor wants but has not requested yet: waiting is drawn from the first request on.
    wanted: Vec<String>,
    /// Whether the actor has sent a request since it last gave up a lock. What only prepares its connection is none.
    asked: bool,
    /// The first column at which the next tick does not cover the text of the last one.
    pub(crate) end: u32,
}

pub(crate) fn lanes(actors: &[Actor]) -> Vec<Lane> {
    let mut clients: Vec<&str> = Vec::new();
    let mut lanes = Vec::with_capacity(actors.len());
    for actor in actors {
        let known = clients.iter().position(|client| *client == actor.client);
        let client = known.unwrap_or_else(|| {
            clients.push(&actor.client);
            clients.len() - 1
        });
        lanes.push(Lane { client, ..Lane::default() });
    }
    lanes
}

impl Lane {
    pub(crate) fn mark(&mut self, log: &Log, event: usize, x: u32, detail: Detail) {
        let (others, waits) = (Vec::new(), Vec::new());
        self.marks.push(Mark { x, event, reply: None, late: None, others, note: None, waits });
        self.make_room(self.marks.len() - 1, log, detail);
    }

    /// Moves `end` right of the text of a mark.
    fn make_room(&mut self, mark: usize, log: &Log, detail: Detail) {
        let mark = &self.marks[mark];
        // The tick itself, and a space on each side of the text, which is cut if it is long.
        let words = mark.fitted(log, (detail, &as_written, usize::MAX), (COMMAND_COLUMNS, REPLY_COLUMNS));
        let words = if mark.ends_subscription(log) { 0 } else { text::width(&words) + 3 };
        self.end = self.end.max(mark.x + u32::try_from(words).unwrap_or_default());
    }

    /// Whether an event is a consequence of the last command, and thus shown beside its tick without a tick of its own.
    pub(crate) fn is_note(&self, log: &Log, kind: &EventKind, at: LessonTime) -> bool {
        let is_note = matches!(kind, EventKind::Counted { .. } | EventKind::Waits { .. });
        let last = self.marks.last().filter(|mark| mark.note.is_none());
        let replied = last.and_then(|mark| mark.exchanges().filter_map(|(_, reply)| reply).max());
        // The tick of a wait that follows a fault at once would cover the fault's text.
        let is_wait = matches!(kind, EventKind::Waits { .. });
        let is_fault = |event: &&Event| is_wait && matches!(event.kind, EventKind::Fault(_));
        let fault = last.and_then(|mark| log.events().get(mark.event)).filter(is_fault);
        let before = replied.and_then(|reply| log.events().get(reply)).or(fault);
        is_note && before.is_some_and(|before| at.since(before.at) < super::BURST)
    }

    /// Whether an event repeats the wait with which the last tick ends. It has no tick of its own.
    pub(crate) fn waits_on(&self, log: &Log, kind: &EventKind) -> bool {
        let EventKind::Waits { label, .. } = kind else { return false };
        let last = self.marks.last().filter(|_| self.band.is_none());
        let last = last.and_then(|mark| log.events().get(mark.note.unwrap_or(mark.event)));
        matches!(last, Some(Event { kind: EventKind::Waits { label: same, .. }, .. }) if same == label)
    }

    /// Whether an event has a tick, or is the note of one.
    pub fn shows(&self, event: usize) -> bool {
        let last = self.marks.partition_point(|mark| mark.event <= event).checked_sub(1);
        last.is_some_and(|last| self.marks[last].event == event || self.marks[last].note == Some(event))
    }

    pub(crate) fn wait_on(&mut self, event: usize) {
        if let Some(mark) = self.marks.last_mut() {
            mark.waits.push(event);
        }
    }

    pub(crate) fn note(&mut self, log: &Log, event: usize, detail: Detail) {
        if let Some(mark) = self.marks.last_mut() {
            mark.note = Some(event);
            self.make_room(self.marks.len() - 1, log, detail);
        }
    }

    /// Whether an event sends the last request again, to a server that has not had it yet.
    pub(crate) fn repeats_request(&self, log: &Log, event: &Event) -> bool {
        let EventKind::Sent { command, server, .. } = &event.kind else { return false };
        let Some(mark) = self.marks.last().filter(|mark| mark.note.is_none()) else { return false };
        let last = mark.exchanges().flat_map(|(sent, reply)| [Some(sent), reply]).flatten().max();
        let last = last.and_then(|last| log.events().get(last));
        let mut sent = mark.exchanges().filter_map(|(sent, _)| Some(&log.events().get(sent)?.kind));
        last.is_some_and(|last| event.at.since(last.at) < ROUND)
            && sent.all(|kind| {
                matches!(kind, EventKind::Sent { command: same, server: other, .. }
                    if same == command && other != server)
            })
    }

    pub(crate) fn join(&mut self, log: &Log, event: usize, detail: Detail) {
        if let Some(mark) = self.marks.last_mut() {
            mark.others.push((event, None));
            self.make_room(self.marks.len() - 1, log, detail);
        }
    }

    pub(crate) fn reply(&mut self, mark: usize, (sent, reply): (usize, usize), log: &Log, detail: Detail) {
        if let Some(known) = self.marks.get_mut(mark) {
            match known.others.iter_mut().find(|(event, _)| *event == sent) {
                Some((_, known)) => *known = Some(reply),
                None => known.reply = Some(reply),
            }
            self.make_room(mark, log, detail);
        }
    }

    /// Whether a reply to the request of a mark that comes in a later step gets a tick of its own.
    pub(crate) fn answers_late(&self, mark: usize, reply: &Reply) -> bool {
        self.band.is_none()
            && !reply.is_lost()
            && self.marks.get(mark).is_some_and(|mark| mark.others.is_empty())
    }

    /// Adds the tick of a reply that comes in a later step than its request.
    pub(crate) fn reply_late(&mut self, request: usize, (x, reply): (u32, usize), log: &Log, detail: Detail) {
        if let Some(request) = self.marks.get_mut(request) {
            request.late = Some(reply);
        }
        self.mark(log, reply, x, detail);
        if let Some(mark) = self.marks.last_mut() {
            mark.reply = Some(reply);
        }
    }

    fn begin(&mut self, kind: BarKind, lock: &str, from: (u32, usize)) {
        self.bars.push(Bar {
            kind,
            lock: lock.to_owned(),
            value: String::new(),
            from,
            to: None,
            left: None,
            unconfirmed: Vec::new(),
            confirmed: false,
            asked: false,
            hidden: false,
        });
    }

    /// Begins and ends bars. Returns the belief before.
    pub(crate) fn set_belief(&mut self, lock: &str, belief: Belief, here: (u32, usize)) -> Belief {
        let believes = |bar: &&mut Bar| matches!(bar.kind, BarKind::Belief(_));
        let mut open = self.bars.iter_mut().rev().filter(believes);
        let open = open.find(|bar| bar.to.is_none() && bar.lock == lock);
        let before = match open {
            Some(Bar { kind: BarKind::Belief(before), left: None, .. }) if *before == belief => {
                return belief;
            }
            Some(bar) => {
                bar.to = Some(here);
                match bar.kind {
                    BarKind::Belief(before) => before,
                    _ => Belief::Nothing,
                }
            }
            None => Belief::Nothing,
        };
        self.wanted.retain(|wanted| wanted != lock);
        let has_another = self.bars.iter().rev().take(RECENT).any(|bar| bar.to.is_none() && bar.kind.holds());
        let has_asked = self.asked && !has_another;
        self.asked &= belief != Belief::Nothing;
        if belief == Belief::Waiting && !has_asked && self.band.is_none() {
            self.wanted.push(lock.to_owned());
        } else if belief != Belief::Nothing {
            // The command that took the lock also read a value. The bar of the lock covers both.
            let read = self.open_read().filter(|bar| belief.holds() && bar.from.1 + 1 == here.1);
            let asked = read.map(|bar| bar.hidden = true).is_some();
            self.begin(BarKind::Belief(belief), lock, here);
            if let Some(bar) = self.bars.last_mut() {
                bar.asked = asked;
            }
        }
        before
    }

    /// Marks that the actor ceased to hold a lock, whatever it believes.
    pub(crate) fn stop_holding(&mut self, lock: &str, here: (u32, usize)) {
        let lasting = |bar: &&mut Bar| bar.to.is_none() && bar.lock == lock;
        if let Some(bar) = self.bars.iter_mut().rev().find(lasting) {
            bar.left = Some(here);
        }
    }

    fn open_read(&mut self) -> Option<&mut Bar> {
        self.bars.iter_mut().rev().take(RECENT).find(|bar| bar.kind == BarKind::Read && bar.to.is_none())
    }

    /// Begins the bar of a key that was read. The bar is hidden while the actor holds a lock, because the bar of the
    /// lock says more.
    pub(crate) fn begin_read(&mut self, key: &str, value: &str, current: bool, here: (u32, usize)) {
        if self.band.is_some() {
            return;
        }
        let holds = |bar: &Bar| matches!(bar.kind, BarKind::Belief(belief) if belief.holds());
        let hidden = self.bars.iter().rev().take(RECENT).any(|bar| bar.to.is_none() && holds(bar));
        self.end_read(here);
        self.begin(BarKind::Read, key, here);
        if let Some(bar) = self.bars.last_mut() {
            (bar.value, bar.confirmed, bar.hidden) = (value.to_owned(), true, hidden);
            // A transaction may read an old version of a row.
            bar.unconfirmed.extend((!current).then_some((here, None)));
        }
    }

    /// Ends the bar of the value that the actor read and now acts on. Returns the key if its value has changed since.
    pub(crate) fn end_read(&mut self, here: (u32, usize)) -> Option<String> {
        let bar = self.open_read()?;
        bar.to = Some(here);
        let (from, to) = bar.unconfirmed.last_mut().filter(|(_, to)| to.is_none())?;
        *to = Some(here);
        // A change after the actor's own command was sent counts as made by that command.
        let outdated = bar.left.is_none_or(|(_, sent)| from.1 < sent);
        outdated.then(|| bar.lock.clone())
    }

    /// Marks that a command was sent: it begins the wait for wanted locks, and may write the key that was read.
    pub(crate) fn send(&mut self, command: &Command, here: (u32, usize)) {
        if command.prepares() {
            return;
        }
        self.asked = true;
        for lock in std::mem::take(&mut self.wanted) {
            self.begin(BarKind::Belief(Belief::Waiting), &lock, here);
        }
        if let Some(bar) = self.open_read().filter(|bar| command.names(&bar.lock)) {
            bar.left = Some(here);
        }
    }

    pub(crate) fn oversell(&mut self, key: &str, value: String, here: (u32, usize)) {
        self.begin(BarKind::Oversold, key, here);
        if let Some(bar) = self.bars.last_mut() {
            bar.value = value;
        }
    }

    pub(crate) fn seen(&self) -> String {
        let saw = self.bars.iter().rev().take(RECENT).find(|bar| bar.kind == BarKind::Read);
        saw.map_or_else(String::new, |bar| bar.value.clone())
    }

    /// Compares the bars with what servers were seen to hold: the open ones, and those that ended after the event `since`.
    /// `has` tells whether any server confirms a lock, `lost` the column in which the last one ceased to, `is` whether a
    /// key still has a value.
    pub(crate) fn compare(
        &mut self,
        (has, lost): (impl Fn(&str) -> bool, impl Fn(&str) -> Option<u32>),
        is: impl Fn(&str, &str) -> bool,
        (here, since): ((u32, usize), usize),
    ) {
        let holds = |bar: &&mut Bar| match bar.kind {
            BarKind::Belief(belief) => belief.holds(),
            kind => kind == BarKind::Read,
        };
        let recent = self.bars.iter_mut().rev().take(RECENT).filter(holds);
        for bar in recent.filter(|bar| bar.to.is_none_or(|(_, event)| event > since)) {
            let is_read = bar.kind == BarKind::Read;
            let has = if is_read { is(&bar.lock, &bar.value) } else { has(&bar.lock) };
            // A lease may have ended in the middle of the step.
            let lost = if is_read || has || !bar.confirmed { None } else { lost(&bar.lock) };
            let from = (lost.unwrap_or(here.0).clamp(bar.from.0, here.0), here.1);
            if let Some(to) = bar.to {
                let is_known = bar.unconfirmed.last().is_some_and(|(_, end)| end.is_none_or(|end| end == to));
                if !has && bar.confirmed && !is_known && from.0 < to.0 {
                    bar.unconfirmed.push((from, Some(to)));
                }
                continue;
            }
            match bar.unconfirmed.last_mut() {
                Some((_, to @ None)) if has => *to = Some(here),
                Some((_, None)) => {}
                _ if !has && bar.confirmed => bar.unconfirmed.push((from, None)),
                _ => bar.confirmed |= has,
            }
        }
    }

    /// Marks locks that no server has confirmed by the end of the step as never held on a server, if they were requested
    /// or `is_anothers` says that servers name another.
    pub(crate) fn mark_unconfirmed(&mut self, is_anothers: impl Fn(&str) -> bool) {
        let open = self.bars.iter_mut().rev().take(RECENT).filter(|bar| bar.to.is_none());
        let open = open.filter(|bar| !bar.confirmed && bar.unconfirmed.is_empty());
        // Of those who share a queue's lock, the server names only the first.
        let is_claimed = |bar: &Bar| bar.kind == BarKind::Belief(Belief::Holding);
        for bar in open.filter(|bar| bar.asked || (is_claimed(bar) && is_anothers(&bar.lock))) {
            bar.unconfirmed.push((bar.from, None));
        }
    }

    /// Draws a condition of the process. Returns the beliefs that ended with it.
    pub(crate) fn fault(&mut self, condition: Condition, here: (u32, usize)) -> Vec<Belief> {
        let mut ended = Vec::new();
        match condition {
            Condition::Dead => {
                for bar in self.bars.iter_mut().filter(|bar| bar.to.is_none()) {
                    bar.to = Some(here);
                    if let BarKind::Belief(belief) = bar.kind {
                        ended.push(belief);
                    }
                }
                self.begin(BarKind::Dead, "", here);
            }
            Condition::Frozen => self.begin(BarKind::Frozen, "", here),
            Condition::Running => {
                let frozen = |bar: &&mut Bar| bar.kind == BarKind::Frozen && bar.to.is_none();
                if let Some(bar) = self.bars.iter_mut().rev().find(frozen) {
                    bar.to = Some(here);
                }
            }
            _ => {}
        }
        ended
    }
}

impl Mark {
    /// The text of the tick after the first `position` events, cut to `room` columns. The command is cut before the
    /// reply, which matters more.
    pub fn text(
        &self,
        log: &Log,
        (detail, named): (Detail, Named<'_>),
        position: usize,
        room: usize,
    ) -> String {
        let seen = (detail, named, position);
        let whole = self.fitted(log, seen, (usize::MAX, usize::MAX));
        if text::width(&whole) <= room {
            return whole;
        }
        if self.ends_subscription(log) {
            return String::new();
        }
        let usual = self.fitted(log, seen, (COMMAND_COLUMNS, REPLY_COLUMNS));
        // Spare room goes to the reply first, then to the command.
        let left = |words: &str| room.saturating_sub(text::width(words));
        if left(&usual) > 0 {
            let reply = REPLY_COLUMNS + left(&usual);
            let usual = self.fitted(log, seen, (COMMAND_COLUMNS, reply));
            let fitted = self.fitted(log, seen, (COMMAND_COLUMNS + left(&usual), reply));
            return if text::width(&fitted) <= room { fitted } else { usual };
        }
        // The command is cut first, down to its first few characters; then the note is dropped.
        let alone = |command: usize, reply: usize| self.words(log, self.event, seen, (command, reply));
        let with_note = |command: usize, reply: usize| self.fitted(log, seen, (command, reply));
        // A reply that is a little too long gets the command's columns.
        let (whole, cut) = (alone(1, usize::MAX), alone(1, REPLY_COLUMNS));
        let is_long = whole != cut && text::width(&whole) <= room;
        let with_reply = |command: usize, reply: usize| {
            if is_long { alone(1 + left(&whole), usize::MAX) } else { alone(command, reply) }
        };
        let ways: [&dyn Fn(usize, usize) -> String; 2] = [&with_note, &with_reply];
        for way in ways {
            if let Some(more) = room.checked_sub(text::width(&way(SHORTEST_COMMAND, REPLY_COLUMNS))) {
                let reply = REPLY_COLUMNS + more;
                return way(SHORTEST_COMMAND + left(&way(SHORTEST_COMMAND, reply)), reply);
            }
        }
        // The beginning of a command says more than a reply that is plain success.
        let reply = alone(0, REPLY_COLUMNS).trim_start().to_owned();
        let tells = reply.starts_with('→') && ![ANSWERED_OK, UNANSWERED].contains(&reply.as_str());
        if tells && text::width(&reply) <= room { reply } else { usual }
    }

    /// Whether the tick is a command that only tidies up: its text gets no room of its own.
    fn ends_subscription(&self, log: &Log) -> bool {
        let event = log.events().get(self.event).map(|event| &event.kind);
        matches!(event, Some(EventKind::Sent { command, .. }) if command.is_redis("UNSUBSCRIBE"))
    }

    fn fitted(&self, log: &Log, seen: (Detail, Named<'_>, usize), most: (usize, usize)) -> String {
        let words = self.words(log, self.event, seen, most);
        match self.note.filter(|note| *note < seen.2) {
            Some(note) if let Some(until) = Self::again(log, note) => {
                format!("{words} · {} {until}", glyphs::AGAIN)
            }
            Some(note) => format!("{words} · {}", self.words(log, note, seen, most)),
            None => words,
        }
    }

    /// The time until the program repeats the operation, if the note is such a wait.
    fn again(log: &Log, note: usize) -> Option<String> {
        let event = log.events().get(note).filter(|_| log.is_retry_pause(note))?;
        match &event.kind {
            EventKind::Waits { until, .. } => Some(time::stretch(until.since(event.at))),
            _ => None,
        }
    }

    /// The text of an event, with at most that many columns for the command and for the reply.
    fn words(
        &self,
        log: &Log,
        event: usize,
        (detail, named, position): (Detail, Named<'_>, usize),
        (command_columns, reply_columns): (usize, usize),
    ) -> String {
        let Some(event) = log.events().get(event) else { return String::new() };
        match &event.kind {
            EventKind::Sent { label, command, .. } => {
                let command = match detail {
                    Detail::Labels => label.clone(),
                    Detail::Wires => command.to_string(),
                };
                let times = self.exchanges().filter(|(sent, _)| *sent < position).count();
                if times > 1 {
                    // The labels of the repeated requests may differ in a number at their end.
                    let command =
                        command.trim_end_matches(|c: char| detail == Detail::Labels && c.is_numeric());
                    let replies = self.replies(log, position);
                    let columns = reply_columns.max(REPLIES_COLUMNS);
                    if command_columns == 0 {
                        return format!("→ {}", text::fit(&replies, columns));
                    }
                    let command = text::fit(command, command_columns);
                    return format!("{times} × {command} → {}", text::fit(&replies, columns));
                }
                if self.late.is_some_and(|late| late < position) {
                    return text::fit(&command, command_columns).into_owned();
                }
                let reply = self.reply(log, position).map(in_short);
                let reply = reply.as_deref().unwrap_or("…");
                format!("{} → {}", text::fit(&command, command_columns), text::fit(reply, reply_columns))
            }
            EventKind::Replied { reply, .. } => format!("→ {}", text::fit(&in_short(reply), reply_columns)),
            EventKind::Notified { what, .. } => format!("↯ {}", text::fit(what, command_columns)),
            EventKind::Took { label, .. } => format!("↯ {}", text::fit(named(log, label), command_columns)),
            EventKind::Counted { counter, by, .. } => {
                format!("{} {by:+}", text::fit(named(log, counter), command_columns))
            }
            EventKind::Waits { label, until, .. } => {
                let known = self.waits.partition_point(|wait| *wait < position);
                let last = known.checked_sub(1).and_then(|last| log.events().get(self.waits[last]));
                let until = match last.map(|last| &last.kind) {
                    Some(EventKind::Waits { until, .. }) => until,
                    _ => until,
                };
                let duration = time::stretch(until.since(event.at));
                format!("{} {duration}", text::fit(named(log, label), command_columns))
            }
            EventKind::GaveUp { .. } => format!("✗ {}", named(log, "error")),
            EventKind::Fault(fault) => match fault.target() {
                Target::Client(_) if fault.leaves() == Condition::Dead => {
                    format!("{} {}", fault::glyph(fault), fault::mark(fault))
                }
                Target::Client(_) => fault::mark(fault),
                target @ Target::Link(_) => {
                    format!("{} {}", fault::glyph(fault), text::fit(&target.to_string(), command_columns))
                }
                // Faults of servers are drawn on the lanes of servers.
                Target::Server(_) => String::new(),
            },
            _ => String::new(),
        }
    }

    /// The requests of this tick with their replies, in order.
    pub fn exchanges(&self) -> impl Iterator<Item = Exchange> + '_ {
        std::iter::once((self.event, self.reply)).chain(self.others.iter().copied())
    }

    /// The replies of several servers, with how many servers gave each: `3 OK, 2 (nil)`, or `3 × 1, 2 × 0`.
    fn replies(&self, log: &Log, position: usize) -> String {
        let mut counts: Vec<(usize, String)> = Vec::new();
        for (_, reply) in self.exchanges().filter(|(sent, _)| *sent < position) {
            let reply = reply.filter(|reply| *reply < position).and_then(|reply| log.events().get(reply));
            let mut words = match reply.map(|event| &event.kind) {
                Some(EventKind::Replied { reply, .. }) => in_short(reply),
                _ => "…".to_owned(),
            };
            // Of an error the code is enough beside other replies.
            words.truncate(words.find(") ").map_or(words.len(), |code| code + 1));
            match counts.iter_mut().find(|(_, known)| *known == words) {
                Some((count, _)) => *count += 1,
                None => counts.push((1, words)),
            }
        }
        // A count next to a numeric reply would read as one number.
        let numbers = counts.iter().any(|(_, words)| words.starts_with(|c: char| c.is_ascii_digit()));
        let times = if numbers { " × " } else { " " };
        let words = counts.iter().map(|(count, words)| format!("{count}{times}{words}"));
        words.collect::<Vec<_>>().join(", ")
    }

    pub fn reply<'a>(&self, log: &'a Log, position: usize) -> Option<&'a Reply> {
        let event = self.reply.filter(|reply| *reply < position)?;
        match &log.events().get(event)?.kind {
            EventKind::Replied { reply, .. } => Some(reply),
            _ => None,
        }
    }
}

/// A reply, shortened for a lane; the wire log tells why a reply was lost.
fn in_short(reply: &Reply) -> String {
    if reply.is_lost() { "(lost)".to_owned() } else { reply.brief() }
}
