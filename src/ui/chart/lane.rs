//! One actor's lane: ticks for what it did, bars for what it believed.

use super::Detail;
use crate::{
    clock::LessonTime,
    log::{Actor, Belief, Condition, EventKind, Log, Reply, Target},
    ui::{
        theme::{glyphs, text, time},
        words::fault,
    },
};

const COMMAND_COLUMNS: usize = 26;
const REPLY_COLUMNS: usize = 12;

/// A tick on a lane: an event, and the reply to it where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub x: u32,
    pub event: usize,
    pub reply: Option<usize>,
    /// What came of it at once: a counter that grew, a wait that began.
    pub note: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarKind {
    Belief(Belief),
    Frozen,
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    pub kind: BarKind,
    /// The lock; empty for what the process as a whole is.
    pub lock: String,
    /// Its first column, and the event that began it.
    pub from: (u32, usize),
    /// The column after its last, and the event that ended it.
    pub to: Option<(u32, usize)>,
    /// Where it ceased to hold the lock, and the event by which it did: it may believe so for longer.
    pub left: Option<(u32, usize)>,
}

#[derive(Debug, Clone, Default)]
pub struct Lane {
    pub band: Option<usize>,
    /// The place of its client among the clients: threads and members share a colour.
    pub client: usize,
    pub marks: Vec<Mark>,
    /// Bars, in the order in which they began.
    pub bars: Vec<Bar>,
    /// The first column at which the next tick may stand without covering the one before.
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
        self.marks.push(Mark { x, event, reply: None, note: None });
        self.make_room(self.marks.len() - 1, log, detail);
    }

    /// Keeps the next tick off the words of one of them.
    fn make_room(&mut self, mark: usize, log: &Log, detail: Detail) {
        let mark = self.marks[mark];
        // The tick itself, and a space on each side of the words.
        let words = text::width(&mark.text(log, detail, usize::MAX)) + 3;
        self.end = self.end.max(mark.x + u32::try_from(words).unwrap_or_default());
    }

    /// Whether what happens now came of the last command: it is told beside it and needs no tick.
    pub(crate) fn takes_note(&self, log: &Log, kind: &EventKind, at: LessonTime) -> bool {
        let is_note = matches!(kind, EventKind::Counted { .. } | EventKind::Waits { .. });
        let replied = self.marks.last().filter(|mark| mark.note.is_none()).and_then(|mark| mark.reply);
        let replied = replied.and_then(|reply| log.events().get(reply));
        is_note && replied.is_some_and(|reply| at.since(reply.at) < super::BURST)
    }

    pub(crate) fn note(&mut self, log: &Log, event: usize, detail: Detail) {
        if let Some(mark) = self.marks.last_mut() {
            mark.note = Some(event);
            self.make_room(self.marks.len() - 1, log, detail);
        }
    }

    pub(crate) fn reply(&mut self, mark: usize, reply: usize, log: &Log, detail: Detail) {
        if let Some(known) = self.marks.get_mut(mark) {
            known.reply = Some(reply);
            self.make_room(mark, log, detail);
        }
    }

    fn begin(&mut self, kind: BarKind, lock: &str, from: (u32, usize)) {
        self.bars.push(Bar { kind, lock: lock.to_owned(), from, to: None, left: None });
    }

    /// Begins and ends bars; gives what was believed before.
    pub(crate) fn believe(&mut self, lock: &str, belief: Belief, here: (u32, usize)) -> Belief {
        let open = self.bars.iter_mut().rev().find(|bar| bar.to.is_none() && bar.lock == lock);
        let before = match open {
            Some(Bar { kind: BarKind::Belief(before), left: None, .. }) if *before == belief => {
                return belief;
            }
            Some(bar) => {
                bar.to = Some(here);
                match bar.kind {
                    BarKind::Belief(before) => before,
                    BarKind::Frozen | BarKind::Dead => Belief::Nothing,
                }
            }
            None => Belief::Nothing,
        };
        if belief != Belief::Nothing {
            self.begin(BarKind::Belief(belief), lock, here);
        }
        before
    }

    /// It holds a lock no longer, whatever it believes.
    pub(crate) fn leave(&mut self, lock: &str, here: (u32, usize)) {
        let lasting = |bar: &&mut Bar| bar.to.is_none() && bar.lock == lock;
        if let Some(bar) = self.bars.iter_mut().rev().find(lasting) {
            bar.left = Some(here);
        }
    }

    /// Draws in a fault of the process; gives the beliefs that died with it.
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
    /// What the tick says to somebody who has seen the first `position` events.
    pub fn text(&self, log: &Log, detail: Detail, position: usize) -> String {
        let words = self.words(log, self.event, (detail, position));
        match self.note.filter(|note| *note < position) {
            Some(note) if let Some(until) = Self::again(log, note) => {
                format!("{words} · {} {until}", glyphs::AGAIN)
            }
            Some(note) => format!("{words} · {}", self.words(log, note, (detail, position))),
            None => words,
        }
    }

    /// How long the program waits before it tries the same operation again, if that is what a note tells.
    fn again(log: &Log, note: usize) -> Option<String> {
        let event = log.events().get(note).filter(|_| log.tries_again(note))?;
        match &event.kind {
            EventKind::Waits { until, .. } => Some(time::stretch(until.since(event.at))),
            _ => None,
        }
    }

    fn words(&self, log: &Log, event: usize, (detail, position): (Detail, usize)) -> String {
        let Some(event) = log.events().get(event) else { return String::new() };
        match &event.kind {
            EventKind::Sent { label, command, .. } => {
                let command = match detail {
                    Detail::Labels => label.clone(),
                    Detail::Wires => command.to_string(),
                };
                let reply = self.reply(log, position).map(ToString::to_string);
                let reply = reply.as_deref().unwrap_or("…");
                format!("{} → {}", text::fit(&command, COMMAND_COLUMNS), text::fit(reply, REPLY_COLUMNS))
            }
            EventKind::Notified { what, .. } => format!("↯ {}", text::fit(what, COMMAND_COLUMNS)),
            EventKind::Took { label, .. } => format!("↯ {}", text::fit(label, COMMAND_COLUMNS)),
            EventKind::Counted { counter, by, .. } => {
                format!("{} {by:+}", text::fit(counter, COMMAND_COLUMNS))
            }
            EventKind::Waits { label, until, .. } => {
                let duration = time::stretch(until.since(event.at));
                format!("{} {duration}", text::fit(label, COMMAND_COLUMNS))
            }
            EventKind::GaveUp { .. } => "✗ error".to_owned(),
            EventKind::Fault(fault) => match fault.target() {
                Target::Client(_) if fault.leaves() == Condition::Dead => {
                    format!("{} {}", fault::glyph(fault), fault::mark(fault))
                }
                Target::Client(_) => fault::mark(fault),
                Target::Link(link) => {
                    format!("{} {}", fault::glyph(fault), text::fit(&link.to_string(), COMMAND_COLUMNS))
                }
                // Servers have no lanes of clients.
                Target::Server(_) => String::new(),
            },
            _ => String::new(),
        }
    }

    pub fn reply<'a>(&self, log: &'a Log, position: usize) -> Option<&'a Reply> {
        let event = self.reply.filter(|reply| *reply < position)?;
        match &log.events().get(event)?.kind {
            EventKind::Replied { reply, .. } => Some(reply),
            _ => None,
        }
    }
}
