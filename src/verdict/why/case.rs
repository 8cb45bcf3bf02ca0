//! A log with what its commands did, and names for what is in it.

use std::ops::Range;

use crate::{
    lesson::Scenario,
    log::{ActorId, Command, Condition, Event, EventKind, Fault, Log},
    world::effect::{Access, Effect, effects},
};

pub(crate) struct Case<'a> {
    pub scenario: &'a Scenario,
    log: &'a Log,
    pub events: &'a [Event],
    /// What was done, in the order of the replies.
    pub effects: Vec<Effect>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(scenario: &'a Scenario, log: &'a Log) -> Self {
        Self { scenario, log, events: log.events(), effects: effects(scenario, log.events()) }
    }

    pub(crate) fn kind(&self, event: usize) -> Option<&'a EventKind> {
        self.events.get(event).map(|event| &event.kind)
    }

    pub(crate) fn name(&self, actor: ActorId) -> &'a str {
        self.log.name(actor)
    }

    pub(crate) fn sender(&self, sent: usize) -> Option<ActorId> {
        match self.kind(sent)? {
            EventKind::Sent { actor, .. } => Some(*actor),
            _ => None,
        }
    }

    pub(crate) fn sender_name(&self, sent: usize) -> &'a str {
        self.sender(sent).map_or("?", |actor| self.name(actor))
    }

    /// The process that somebody lives in.
    pub(crate) fn client(&self, actor: ActorId) -> &'a str {
        self.log.actor(actor).map_or("?", |actor| &actor.client)
    }

    pub(crate) fn same_client(&self, one: ActorId, other: ActorId) -> bool {
        self.client(one) == self.client(other)
    }

    pub(crate) fn sent(&self, event: usize) -> Option<&'a Command> {
        match self.kind(event)? {
            EventKind::Sent { command, .. } => Some(command),
            _ => None,
        }
    }

    /// A command in few words, `DECR stock`, by its `Sent` event.
    pub(crate) fn command(&self, sent: usize) -> String {
        self.sent(sent).map_or_else(String::new, Command::brief)
    }

    /// The words of a Redis command by its `Sent` event; none of any other.
    pub(crate) fn words(&self, sent: usize) -> &'a [String] {
        self.sent(sent).map_or(&[], Command::redis_words)
    }

    /// What was done to a key, oldest first.
    pub(crate) fn touched<'b>(
        &'b self,
        key: &'b str,
    ) -> impl DoubleEndedIterator<Item = &'b Effect> + use<'a, 'b> {
        self.effects.iter().filter(move |effect| effect.key == key)
    }

    /// Whether one command was certainly carried out before another: its reply was there before the other was sent,
    /// or it read what nobody has written, or the numbers of a counter that only ever went one way say so.
    pub(crate) fn before(&self, one: &Effect, other: &Effect) -> bool {
        one.replied < other.sent
            || one.key == other.key
                && one.server == other.server
                && (self.read_before(one, other) || self.counted_before(one, other))
    }

    /// A number that none of the writes has left behind was there before all of them.
    fn read_before(&self, one: &Effect, other: &Effect) -> bool {
        let Some(read) = one.number.filter(|_| !writes(one) && writes(other)) else { return false };
        let mut written = self.touched(&one.key).filter(|effect| writes(effect));
        written.all(|effect| self.left_behind(effect).is_some_and(|number| number != read))
    }

    fn left_behind(&self, write: &Effect) -> Option<i64> {
        if write.access != Access::Set {
            return write.number;
        }
        self.words(write.worded).get(2)?.parse().ok()
    }

    fn counted_before(&self, one: &Effect, other: &Effect) -> bool {
        let (Some(first), Some(second)) = (one.number, other.number) else { return false };
        let mut steps = self.touched(&one.key).filter(|effect| writes(effect)).map(|effect| {
            match self.words(effect.worded).first().map(String::as_str) {
                Some("DECR") => Some(-1),
                Some("INCR") => Some(1),
                _ => None,
            }
        });
        let Some(Some(way)) = steps.next() else { return false };
        if steps.any(|step| step != Some(way)) {
            return false;
        }
        let grew = (second - first) * way;
        // What a write left behind can be read by others; what was read is changed by the next write.
        match (writes(one), writes(other)) {
            (_, true) => grew > 0,
            (true, false) => grew >= 0,
            (false, false) => false,
        }
    }

    /// The fault at or after which somebody's process stood still at an event.
    pub(crate) fn frozen_at(&self, client: &str, event: usize) -> Option<usize> {
        let wanted = |fault: &Fault| fault.client() == Some(client) && fault.ahead_ms().is_none();
        let last = self.last_fault(0..event + 1, wanted)?;
        let frozen =
            |kind: &EventKind| matches!(kind, EventKind::Fault(fault) if fault.leaves() == Condition::Frozen);
        self.kind(last).is_some_and(frozen).then_some(last)
    }

    /// The last of the events in which such a fault was caused.
    pub(crate) fn last_fault(
        &self,
        mut events: Range<usize>,
        wanted: impl Fn(&Fault) -> bool,
    ) -> Option<usize> {
        events.rfind(|n| matches!(self.kind(*n), Some(EventKind::Fault(fault)) if wanted(fault)))
    }
}

pub(crate) fn writes(effect: &Effect) -> bool {
    effect.access != Access::Read
}
