//! A log with the effects of its commands, and lookups by name.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use super::{Cause, Why, rows, words};
use crate::{
    clock::LessonTime,
    lesson::Scenario,
    log::{
        ActorId, Belief, Command, Condition, Event, EventKind, Fault, KeyState, KeyValue, Keyspace, Log,
        Observed, OpId, Reply, ServerState,
    },
    world::effect::{Access, Effect, effects},
};

/// How far two ends of a lease that were set at the same moment are apart at most.
const SAME_MOMENT: Duration = Duration::from_millis(20);

pub(crate) struct Case<'a> {
    pub scenario: &'a Scenario,
    log: &'a Log,
    pub events: &'a [Event],
    /// The effects, in the order of the replies.
    pub effects: Vec<Effect>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(scenario: &'a Scenario, log: &'a Log) -> Self {
        let mut effects = effects(scenario, log.events());
        // The reply of a script is its author's choice. The server's state decides: a key that is gone after the script
        // was deleted, one that is still there was not, and a script that changed nothing has written nothing.
        // Between the moves of a crowd servers are not observed.
        let crowded = scenario.actors.iter().any(|plan| plan.actor.crowd);
        effects.retain(|effect| match effect.access {
            Access::Read => true,
            Access::Deleted => !seen_not_done(log.events(), effect),
            _ => crowded || !seen_not_done(log.events(), effect),
        });
        for seen in seen_done(log.events()) {
            let known = effects.iter().any(|effect| {
                let same = if seen.access == Access::Deleted {
                    effect.access == seen.access
                } else {
                    writes(effect)
                };
                same && effect.sent == seen.sent && effect.key == seen.key
            });
            if !known {
                let place = effects.partition_point(|effect| effect.replied <= seen.replied);
                effects.insert(place, seen);
            }
        }
        effects.extend(rows::effects(log.events()));
        effects.sort_by_key(|effect| effect.replied);
        Self { scenario, log, events: log.events(), effects }
    }

    pub(crate) fn kind(&self, event: usize) -> Option<&'a EventKind> {
        self.events.get(event).map(|event| &event.kind)
    }

    pub(crate) fn name(&self, actor: ActorId) -> &'a str {
        self.log.called(actor)
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

    /// The process of an actor.
    pub(crate) fn client(&self, actor: ActorId) -> &'a str {
        self.log.actor(actor).map_or("?", |actor| &actor.client)
    }

    /// Removes the actors whose client a fault kills.
    pub(crate) fn retain_living(&self, actors: &mut Vec<ActorId>, fault: &Fault) {
        if let Some(killed) = fault.killed_client() {
            actors.retain(|actor| self.client(*actor) != killed);
        }
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

    /// The command of a `Sent` event in brief: `DECR stock`.
    pub(crate) fn command(&self, sent: usize) -> String {
        self.sent(sent).map_or_else(String::new, Command::brief)
    }

    /// The last `Sent` event of an actor before an event, and the operation's label.
    pub(crate) fn last_sent(&self, by: ActorId, before: usize) -> Option<(usize, &'a str)> {
        self.events[..before].iter().enumerate().rev().find_map(|(n, event)| match &event.kind {
            EventKind::Sent { actor, label, .. } if *actor == by => Some((n, label.as_str())),
            _ => None,
        })
    }

    /// The counts of the counter that an event counts, up to it, the last one first.
    pub(crate) fn counted(&self, event: usize) -> Option<impl Iterator<Item = (usize, ActorId)>> {
        let Some(EventKind::Counted { counter: wanted, .. }) = self.kind(event) else { return None };
        Some((0..=event).rev().filter_map(move |n| match self.kind(n) {
            Some(EventKind::Counted { actor, counter, .. }) if counter == wanted => Some((n, *actor)),
            _ => None,
        }))
    }

    /// Whether the program of its sender may rely on a read: whether it looks at the reply at all.
    pub(crate) fn is_relied_on(&self, read: &Effect) -> bool {
        let Some(EventKind::Sent { label, .. }) = self.kind(read.command_sent) else { return true };
        let plan = self.scenario.actors.get(read.actor.0 as usize);
        plan.is_none_or(|plan| plan.program.reads_reply_of(label))
    }

    /// An actor's last transaction before an event, if it was refused: another had written to what it watched.
    pub(crate) fn refused_exec(&self, actor: ActorId, before: usize) -> Option<Why> {
        let sent = |wanted: &str, before: usize| {
            let its = |n: &usize| {
                self.sender(*n) == Some(actor) && self.sent(*n).is_some_and(|sent| sent.is_redis(wanted))
            };
            (0..before).rev().find(its)
        };
        let exec = sent("EXEC", before)?;
        let replied = (exec..before).find(
            |n| matches!(&self.events[*n].kind, EventKind::Replied { actor: known, .. } if *known == actor),
        )?;
        match self.kind(replied)? {
            EventKind::Replied { reply, .. } if **reply == Reply::Value(serde_json::Value::Null) => {}
            _ => return None,
        }
        let watch = sent("WATCH", exec)?;
        let keys = self.words(watch).get(1..)?;
        let between = self.effects.iter().rev().find(|effect| {
            writes(effect)
                && effect.actor != actor
                && keys.contains(&effect.key)
                && effect.sent > watch
                && effect.replied < replied
        })?;
        let text = words::exec_was_refused(self, watch, between, exec);
        Some(Why::new(Cause::CheckThenAct, [watch, between.sent, replied], text))
    }

    /// Whether it was by this command, which is no deletion by its name, that its sender came to believe that it holds a
    /// lock: it may have taken the last entry of a list.
    pub(crate) fn is_granted_by(&self, effect: &Effect) -> bool {
        let takes = match self.sent(effect.sent) {
            Some(Command::Script { .. }) => true,
            Some(command @ Command::Redis(_)) => !["DEL", "UNLINK"].iter().any(|word| command.is_redis(word)),
            _ => false,
        };
        let next = self.events[effect.sent + 1..].iter().find_map(|event| match &event.kind {
            EventKind::Sent { actor, .. } if *actor == effect.actor => Some(false),
            EventKind::Believes { actor, belief, .. } if *actor == effect.actor => {
                Some(*belief == Belief::Holding)
            }
            _ => None,
        });
        takes && next == Some(true)
    }

    /// The contents of a Redis server as last seen before an event.
    pub(crate) fn keyspace_at(&self, name: &str, event: usize) -> Option<&'a Keyspace> {
        self.events[..event].iter().rev().find_map(|event| keyspace(event, name))
    }

    /// Whether another actor has sent the same value for a key.
    pub(crate) fn sent_by_others(&self, actor: ActorId, key: &str, value: &str) -> bool {
        let names = |words: &[String], wanted: &str| words.iter().any(|word| word == wanted);
        self.events.iter().any(|event| match &event.kind {
            EventKind::Sent { actor: known, command, .. } if *known != actor => match command {
                Command::Redis(words) => names(words, key) && names(words, value),
                Command::Script { keys, args, .. } => names(keys, key) && names(args, value),
                _ => false,
            },
            _ => false,
        })
    }

    /// The words of a Redis command by its `Sent` event; empty for other commands.
    pub(crate) fn words(&self, sent: usize) -> &'a [String] {
        self.sent(sent).map_or(&[], Command::redis_words)
    }

    /// Whether a holder added to a key that had an end already, and that end stayed until another was granted the lock.
    pub(crate) fn joined(&self, set: &Effect, granted: &Effect) -> bool {
        let end = |event: usize| self.keyspace_at(&set.server, event)?.keys.get(&set.key)?.expires_at;
        let before = end(set.sent);
        let seen = (set.sent..granted.sent).filter(|n| keyspace(&self.events[*n], &set.server).is_some());
        before.is_some() && seen.filter_map(|n| end(n + 1)).all(|end| Some(end) == before)
    }

    /// The effects on a key, oldest first.
    pub(crate) fn touched<'b>(
        &'b self,
        key: &'b str,
    ) -> impl DoubleEndedIterator<Item = &'b Effect> + use<'a, 'b> {
        self.effects.iter().filter(move |effect| effect.key == key)
    }

    /// Whether a command changed when a key ends.
    pub(crate) fn sets_expiry(&self, sent: usize, key: &str) -> bool {
        self.touched(key).any(|effect| effect.sent == sent && effect.access == Access::Expiry)
    }

    /// Whether one command was certainly carried out before another: it was answered before the other was sent, or it
    /// read a value from before all writes, or the values of a counter that only ever went one way prove it.
    pub(crate) fn before(&self, one: &Effect, other: &Effect) -> bool {
        one.replied < other.sent
            || one.key == other.key
                && one.server == other.server
                && (self.read_before(one, other) || self.counted_before(one, other))
    }

    /// Whether `one` read a number that none of the writes has left behind: then it read before all of them.
    fn read_before(&self, one: &Effect, other: &Effect) -> bool {
        let Some(read) = one.number.filter(|_| !writes(one) && writes(other)) else { return false };
        let mut written = self.touched(&one.key).filter(|effect| writes(effect));
        written.all(|effect| self.left_behind(effect).is_some_and(|number| number != read))
    }

    fn left_behind(&self, write: &Effect) -> Option<i64> {
        if write.access != Access::Set {
            return write.number;
        }
        self.words(write.command_sent).get(2)?.parse().ok()
    }

    fn counted_before(&self, one: &Effect, other: &Effect) -> bool {
        let (Some(first), Some(second)) = (one.number, other.number) else { return false };
        let mut steps = self.touched(&one.key).filter(|effect| writes(effect)).map(|effect| {
            match self.words(effect.command_sent).first().map(String::as_str) {
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
        // A number left by a write can be read afterwards; a number that was read can only be changed by a later write.
        match (writes(one), writes(other)) {
            (_, true) => grew > 0,
            (true, false) => grew >= 0,
            (false, false) => false,
        }
    }

    /// The fault since which a process was frozen at an event.
    pub(crate) fn frozen_at(&self, client: &str, event: usize) -> Option<usize> {
        let wanted = |fault: &Fault| fault.client() == Some(client) && fault.ahead_ms().is_none();
        let last = self.last_fault(0..event + 1, wanted)?;
        let frozen =
            |kind: &EventKind| matches!(kind, EventKind::Fault(fault) if fault.leaves() == Condition::Frozen);
        self.kind(last).is_some_and(frozen).then_some(last)
    }

    /// How far a client's clock had been set ahead before an event; behind if negative.
    pub(crate) fn clock_ahead_ms(&self, client: &str, before: usize) -> i64 {
        let set = |fault: &Fault| fault.client() == Some(client) && fault.ahead_ms().is_some();
        match self.last_fault(0..before, set).and_then(|event| self.kind(event)) {
            Some(EventKind::Fault(fault)) => fault.ahead_ms().unwrap_or_default(),
            _ => 0,
        }
    }

    /// The last fault among these events that `wanted` accepts.
    pub(crate) fn last_fault(
        &self,
        mut events: Range<usize>,
        wanted: impl Fn(&Fault) -> bool,
    ) -> Option<usize> {
        events.rfind(|n| matches!(self.kind(*n), Some(EventKind::Fault(fault)) if wanted(fault)))
    }
}

/// What scripts, and deletions of several keys, did to the keys that they name, as servers' states prove: the key was
/// seen before the command and not after it, although it had not expired, or the other way round, or as another.
fn seen_done(events: &[Event]) -> Vec<Effect> {
    let mut held: BTreeMap<&str, &Keyspace> = BTreeMap::new();
    let mut sent: BTreeMap<OpId, Executed<'_>> = BTreeMap::new();
    let mut done: Vec<Executed<'_>> = Vec::new();
    let mut seen = Vec::new();
    for (n, event) in events.iter().enumerate() {
        match &event.kind {
            EventKind::Chose(_) => done.clear(),
            EventKind::Sent { op, actor, server, command, .. } => {
                let keys = may_change(command);
                sent.insert(*op, Executed { actor: *actor, sent: n, replied: n, server, keys });
            }
            EventKind::Replied { op, .. } => {
                done.extend(sent.remove(op).map(|done| Executed { replied: n, ..done }));
            }
            EventKind::State(ServerState { server, observed: Observed::Redis(now) }) => {
                let before = held.insert(server, now);
                // If two commands were answered before the server was observed again, it is not known which of them
                // did it.
                if let ([done], Some(before)) = (&done[..], before)
                    && done.server == server.as_str()
                {
                    let lasts = |was: &&KeyState| was.expires_at.is_none_or(|end| event.at < end);
                    seen.extend(done.keys.iter().filter_map(|key| {
                        let was = before.keys.get(key).filter(lasts);
                        let access = match (was, now.keys.get(key)) {
                            (Some(_), None) => Access::Deleted,
                            (None, Some(_)) => Access::Set,
                            (Some(was), Some(now)) if was.value != now.value => Access::Changed,
                            (Some(was), Some(now)) if was != now => Access::Expiry,
                            _ => return None,
                        };
                        Some(done.effect(key, access))
                    }));
                }
                done.clear();
            }
            _ => {}
        }
    }
    seen
}

/// Whether the server's state shows that a script did not do what its reply seems to tell, while no other command was in
/// flight: what it seems to have deleted is there after it, or what it seems to have written is as before.
fn seen_not_done(events: &[Event], effect: &Effect) -> bool {
    let Some(EventKind::Sent { command: Command::Script { args, .. }, .. }) =
        events.get(effect.command_sent).map(|event| &event.kind)
    else {
        return false;
    };
    let sent = |event: &Event| matches!(&event.kind, EventKind::Sent { .. });
    let replied = |event: &Event| matches!(&event.kind, EventKind::Replied { .. });
    let count = |end: usize, wanted: &dyn Fn(&Event) -> bool| {
        events[..end].iter().filter(|event| wanted(event)).count()
    };
    let after = effect.replied + 1;
    if count(after, &sent) != count(after, &replied) {
        return false;
    }
    // Up to the next action or passing of time.
    let next = |event: &Event| {
        sent(event) || replied(event) || matches!(&event.kind, EventKind::Waited { .. } | EventKind::Chose(_))
    };
    let end = events[after..].iter().position(next).map_or(events.len(), |n| after + n);
    let state = |end: usize| {
        let mut states = events[..end].iter().enumerate().rev();
        states.find_map(|(n, event)| Some((n, keyspace(event, &effect.server)?)))
    };
    let Some((seen, now)) = state(end) else { return false };
    let now = now.keys.get(&effect.key);
    if effect.access == Access::Deleted {
        return now.is_some();
    }
    // Only a change is recorded, so nothing is known of runs whose servers were not observed after each move.
    let observed = count(seen, &replied) > 0;
    let alone = count(effect.sent, &sent) == count(effect.sent, &replied);
    let was = state(effect.command_sent).and_then(|(_, was)| was.keys.get(&effect.key));
    observed && alone && was == now && !writes_again(effect, events[effect.replied].at, now, args)
}

/// Whether a script with these arguments may have written what a key has already.
fn writes_again(effect: &Effect, at: LessonTime, key: Option<&KeyState>, args: &[String]) -> bool {
    let Some(key) = key else { return false };
    match effect.access {
        Access::Set => args.iter().any(|arg| matches!(&key.value, KeyValue::String(value) if value == arg)),
        Access::Expiry => args.iter().filter_map(|arg| arg.parse::<i64>().ok()).any(|lease| {
            let ends = |lease: i64| LessonTime::from_millis(at.as_millis().saturating_add(lease));
            let near = |end: LessonTime| end.since(at).abs_diff(ends(lease).since(at)) < SAME_MOMENT;
            key.expires_at.is_some_and(near)
        }),
        _ => false,
    }
}

/// The contents of a Redis server, if an event is an observation of it.
pub(crate) fn keyspace<'a>(event: &'a Event, name: &str) -> Option<&'a Keyspace> {
    match &event.kind {
        EventKind::State(ServerState { server, observed: Observed::Redis(keyspace) }) if server == name => {
            Some(keyspace)
        }
        _ => None,
    }
}

/// A command that was carried out.
struct Executed<'a> {
    actor: ActorId,
    sent: usize,
    replied: usize,
    server: &'a str,
    keys: &'a [String],
}

impl Executed<'_> {
    fn effect(&self, key: &str, access: Access) -> Effect {
        Effect {
            actor: self.actor,
            sent: self.sent,
            replied: self.replied,
            command_sent: self.sent,
            server: self.server.to_owned(),
            key: key.to_owned(),
            access,
            puts: false,
            proven: true,
            number: None,
        }
    }
}

/// The keys of a command whose reply does not tell what it did to each of them.
fn may_change(command: &Command) -> &[String] {
    match command {
        Command::Script { keys, .. } => keys,
        Command::Redis(words) if command.is_redis("DEL") || command.is_redis("UNLINK") => &words[1..],
        _ => &[],
    }
}

pub(crate) fn writes(effect: &Effect) -> bool {
    effect.access != Access::Read
}
