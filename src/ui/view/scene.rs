//! What a pane of the lesson screen may know: the log, the world at the playhead, the time shown.
//!
//! **Architecture Invariant:** a scene is borrowed and read-only. A view can neither change the lesson nor request
//! more.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::{
    clock::LessonTime,
    log::{Condition, Excess, Fault, Log, Reply},
    text::Text,
    ui::{
        chart::{Broken, Chart, Mark, sequence::Sequence},
        flight::InFlight,
        keys::map::KeyMap,
    },
    world::{Overlap, World},
};

#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    pub log: &'a Log,
    /// The world at the playhead; `world.position` is the playhead.
    pub world: &'a World,
    pub chart: &'a Chart,
    pub sequence: &'a Sequence,
    /// The event selected by the learner, the same on every pane.
    pub selected: Option<usize>,
    /// The lesson time shown. While a wait is animated it runs ahead of the last event.
    pub display: LessonTime,
    pub keys: &'a KeyMap,
    /// The animation in progress; `None` with reduced motion.
    pub flight: Option<InFlight<'a>>,
    /// Whether the run is over and shown as a whole.
    pub whole: bool,
    /// The number of events that have ever been shown.
    pub seen: usize,
    /// Whether crowds are shown member by member.
    pub expanded: bool,
    pub theme: Theme,
    pub lang: Lang,
}

/// What is wrong at the playhead.
#[derive(Debug, Clone, Copy)]
pub enum Alarm<'a> {
    /// A lock has too many holders: how many, and which lock.
    Holders(Excess, &'a str),
    /// A counter exceeds what there was to count.
    Oversold(Oversold<'a>),
    /// Another invariant is broken: its sentence, and the event that reports it.
    Broken(&'a Text, usize),
}

/// A counter exceeds what there was, or what was taken from it.
#[derive(Debug, Clone, Copy)]
pub struct Oversold<'a> {
    pub counter: &'a str,
    pub sold: i64,
    /// What was counted from: the name of the key or column, its value before, and its value now.
    pub of: &'a str,
    pub before: &'a str,
    pub now: &'a str,
}

impl<'a> Oversold<'a> {
    /// What was oversold up to the position of a world, if anything.
    pub fn of(chart: &'a Chart, world: &World) -> Option<Self> {
        let position = world.position;
        let (overlap_span, counter) =
            chart.oversold.as_ref().filter(|(overlap_span, _)| overlap_span.from.1 < position)?;
        let spans = chart.truths.iter().flat_map(|truth| &truth.spans);
        let mut known = spans.filter(|span| span.lock == overlap_span.lock && span.from.1 < position);
        let first = known.next()?;
        let last = known.max_by_key(|span| span.from.1).unwrap_or(first);
        let sold = *world.counters.get(counter)?;
        // For a row: the first column that has changed.
        let mut columns = first.token.holder.split(' ').zip(last.token.holder.split(' '));
        let changed = columns.find_map(|(before, now)| {
            let ((name, before), (_, now)) = (before.split_once('=')?, now.split_once('=')?);
            (before != now).then_some((name, before, now))
        });
        let whole = (&*overlap_span.lock, &*first.token.holder, &*last.token.holder);
        let (of, before, now) = changed.unwrap_or(whole);
        Some(Self { counter, sold, of, before, now })
    }

    /// Whether more was sold than there ever was. Otherwise sales are missing in the current value.
    pub fn exceeds(&self) -> bool {
        self.before.parse().is_ok_and(|before: i64| self.sold > before)
    }

    /// Whether the action adds to the value, such as granting a bonus, instead of taking from it.
    pub fn grew(&self) -> bool {
        self.change().is_some_and(|change| change > 0)
    }

    /// The change of the value; `None` if it is not a number.
    pub fn change(&self) -> Option<i64> {
        self.now.parse::<i64>().ok()?.checked_sub(self.before.parse().ok()?)
    }
}

impl<'a> Scene<'a> {
    /// The text of a tick at an event of the log, in `room` columns.
    pub fn mark_text(&self, mark: &Mark, position: usize, room: usize) -> String {
        mark.text(
            self.log,
            (self.chart.detail, &|log, word| words::named(log, word, self.lang)),
            position,
            room,
        )
    }

    /// A world in which nothing moves and nothing is selected.
    pub fn still(
        log: &'a Log,
        world: &'a World,
        (chart, sequence): (&'a Chart, &'a Sequence),
        Context { keys, theme, lang }: Context<'a>,
    ) -> Self {
        Self {
            log,
            world,
            chart,
            sequence,
            selected: None,
            display: world.now,
            keys,
            flight: None,
            whole: false,
            seen: world.position,
            expanded: false,
            theme,
            lang,
        }
    }

    /// The most important thing that is wrong at the playhead: the newest breach, or too many holders or overselling if
    /// that began later. If a whole run is shown, the first consequence.
    pub fn alarm(&self) -> Option<Alarm<'a>> {
        let exceeded = self.overlap_in_progress();
        let holders = exceeded.map(|(excess, lock)| Alarm::Holders(excess, lock));
        if self.whole {
            return self.consequences().into_iter().next().or(holders);
        }
        let overlap = exceeded.and_then(|(_, lock)| self.overlap_now(lock)).map(|overlap| overlap.event);
        let oversold = || Oversold::of(self.chart, self.world).map(Alarm::Oversold);
        let (other, since) = match holders {
            Some(_) => (holders, overlap),
            None => (oversold(), self.chart.oversold.as_ref().map(|(span, _)| span.from.1)),
        };
        let newest = self.broken_now().next_back();
        let is_news = |event: usize| other.is_none() || since.is_none_or(|since| since < event);
        newest.filter(|alarm| matches!(alarm, Alarm::Broken(_, event) if is_news(*event))).or(other)
    }

    /// The lock with the most holders, if they are too many.
    fn overlap_in_progress(&self) -> Option<(Excess, &'a str)> {
        let holding = &self.world.holding;
        Some((holding.worst()?, &holding.widest()?.lock))
    }

    fn overlap_now(&self, lock: &str) -> Option<&'a Overlap> {
        let mut overlaps = self.world.holding.overlaps().iter().rev();
        overlaps.find(|overlap| overlap.lock == lock && overlap.end.is_none())
    }

    fn breaks(&self, broken: &Broken) -> Option<Alarm<'a>> {
        let EventKind::Breached { says, .. } = self.event(broken.event())? else { return None };
        Some(Alarm::Broken(says, broken.event()))
    }

    /// The other invariants that are broken now, or were in this step.
    fn broken_now(&self) -> impl DoubleEndedIterator<Item = Alarm<'a>> {
        let now = self.chart.broken.iter().filter(|broken| broken.span.is_now(self.world.position));
        now.filter_map(|broken| self.breaks(broken))
    }

    /// All consequences so far except too many holders, in the order in which they happened.
    pub fn consequences(&self) -> Vec<Alarm<'a>> {
        let position = self.world.position;
        let broken = self.chart.first_breaches().filter(|broken| broken.event() < position);
        let broken = broken.filter_map(|broken| Some((broken.event(), self.breaks(broken)?)));
        let oversold = self.chart.oversold.as_ref().and_then(|(span, _)| {
            Some((span.from.1, Alarm::Oversold(Oversold::of(self.chart, self.world)?)))
        });
        let mut consequences: Vec<_> = broken.chain(oversold).collect();
        consequences.sort_by_key(|(event, _)| *event);
        consequences.into_iter().map(|(_, alarm)| alarm).collect()
    }

    /// An overlap that has ended but is still to be shown: the first one at the end of a run, otherwise one within this
    /// step. `None` while a lock has too many holders or something is oversold.
    pub fn recent_overlap(&self) -> Option<&'a Overlap> {
        if self.overlap_in_progress().is_some() || matches!(self.alarm(), Some(Alarm::Oversold(_))) {
            return None;
        }
        let begun = if self.whole { 0 } else { self.chart.step_begun(self.world.position) };
        self.world.holding.overlaps().iter().find(|overlap| overlap.event >= begun && overlap.end.is_some())
    }

    /// The first column of the requests that caused what is wrong now: of an acquisition, of the value that was read,
    /// of the evidence of a breach.
    pub fn cause(&self) -> Option<u32> {
        let position = self.world.position;
        let overlap = self.overlap_in_progress().and_then(|(_, lock)| self.overlap_now(lock));
        let mut events = overlap.map_or_else(Vec::new, |overlap| overlap.evidence.clone());
        events.extend(Oversold::of(self.chart, self.world).and_then(|_| self.chart.outdated_read(position)));
        for alarm in self.broken_now() {
            if let Alarm::Broken(_, event) = alarm {
                events.extend(self.cause_of_breach(event));
            }
        }
        let known = events.into_iter().filter(|event| *event < position);
        known.map(|event| self.chart.request_of(self.log, event)).min()
    }

    /// The evidence of a breach, where its actors acquired the lock, and the newest fault before it.
    fn cause_of_breach(&self, breach: usize) -> Vec<usize> {
        let Some(EventKind::Breached { evidence, .. }) = self.event(breach) else { return Vec::new() };
        let proof = evidence.iter().copied().filter(|event| *event < breach);
        let mut causes: Vec<usize> = proof.chain(self.fault_before(breach)).chain([breach]).collect();
        // For each actor the last event of the evidence.
        let by = |event: &usize| Some((self.event(*event)?.actor()?, *event));
        let mut last: BTreeMap<ActorId, usize> = causes.iter().filter_map(by).collect();
        for event in (0..breach).rev() {
            if last.is_empty() {
                break;
            }
            if let Some(EventKind::Believes { actor, belief, .. }) = self.event(event)
                && belief.holds()
                && last.get(actor).is_some_and(|proof| event < *proof)
            {
                last.remove(actor);
                causes.push(event);
            }
        }
        causes
    }

    /// The newest harmful fault before an event, which may have caused it. If the target had harmful faults right
    /// before, such as a link that first held and then lost messages, the first of them.
    fn fault_before(&self, event: usize) -> Option<usize> {
        let mended = |fault: &Fault| {
            matches!(
                fault.leaves(),
                Condition::Running | Condition::Restarted | Condition::Open | Condition::Ahead(0)
            )
        };
        let mut faults = (0..event).rev().filter_map(|event| Some((event, self.fault(event)?)));
        let (newest, harm) = faults.find(|(_, fault)| !mended(fault))?;
        let same = faults.filter(|(_, fault)| fault.target() == harm.target());
        Some(same.take_while(|(_, fault)| !mended(fault)).last().map_or(newest, |(event, _)| event))
    }

    /// The holders of the overlap that exists now or is still to be shown.
    pub fn clashing(&self) -> Vec<ActorId> {
        match self.overlap_in_progress() {
            Some((_, lock)) => self.holders(lock),
            None => self.recent_overlap().map_or_else(Vec::new, |overlap| overlap.holders.clone()),
        }
    }

    /// The holders of a lock, in the order of the lanes.
    pub fn holders(&self, lock: &str) -> Vec<ActorId> {
        let mut holders: Vec<ActorId> = self.world.holding.holders(lock).collect();
        holders.sort_unstable();
        holders
    }

    pub(crate) fn context(&self) -> Context<'a> {
        Context { keys: self.keys, theme: self.theme, lang: self.lang }
    }

    pub fn event(&self, index: usize) -> Option<&'a EventKind> {
        self.log.events().get(index).map(|event| &event.kind)
    }

    pub fn fault(&self, event: usize) -> Option<&'a Fault> {
        match self.event(event)? {
            EventKind::Fault(fault) => Some(fault),
            _ => None,
        }
    }

    /// The reply of an event, unless it is after the playhead.
    pub fn reply(&self, event: usize) -> Option<&'a Reply> {
        match self.event(event)? {
            EventKind::Replied { reply, .. } if event < self.world.position => Some(reply),
            _ => None,
        }
    }

    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    pub fn actor_style(&self, actor: ActorId) -> Style {
        let lane = self.chart.lanes.get(actor.0 as usize);
        self.theme.client(lane.map_or(0, |lane| lane.client))
    }

    /// The glyph of an actor's client, the same on every pane.
    pub fn glyph(&self, actor: ActorId) -> &'static str {
        let lane = self.chart.lanes.get(actor.0 as usize);
        glyphs::client(lane.map_or(0, |lane| lane.client))
    }

    pub fn name(&self, actor: ActorId) -> &'a str {
        self.log.called(actor)
    }

    /// The sign of an actor that has ended: killed, or failed with an error.
    pub fn end_sign(&self, actor: ActorId) -> &'static str {
        let marks = self.chart.lanes.get(actor.0 as usize).map_or(&[][..], |lane| &lane.marks);
        let known = marks.iter().rev().filter(|mark| mark.event < self.world.position);
        let gave_up =
            known.take(2).any(|mark| matches!(self.event(mark.event), Some(EventKind::GaveUp { .. })));
        if gave_up { glyphs::CUT } else { glyphs::KILLED }
    }

    /// The sign of a server that has ended: killed, or exited by itself.
    pub fn server_end_sign(&self, name: &str) -> &'static str {
        let known = self.log.events().get(..self.world.position).unwrap_or_default();
        let by_itself = known.iter().rev().find_map(|event| match &event.kind {
            EventKind::ServerDied { server, .. } if server == name => Some(true),
            EventKind::Fault(fault) if fault.killed_server() == Some(name) => Some(false),
            _ => None,
        });
        if by_itself == Some(true) { glyphs::CUT } else { glyphs::KILLED }
    }

    /// A session, by the name and in the colour of its owner.
    pub fn session(&self, session: i64) -> Span<'a> {
        match self.world.session_owner(session) {
            Some(actor) => {
                Span::styled(format!("{} {}", self.glyph(actor), self.name(actor)), self.actor_style(actor))
            }
            None => Span::styled(format!("0x{session:x}"), self.style(Role::Chrome)),
        }
    }
}
