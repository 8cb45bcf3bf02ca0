//! Why an actor asks or waits in vain: another one has stopped or is dead, and what it had set still exists; or the
//! event that the actor waits for has already happened.

use super::{
    case::{Case, keyspace, writes},
    crashed, words,
};
use crate::{
    clock::LessonTime,
    lesson::Scenario,
    log::{
        ActorId, Belief, Choice, Command, Event, EventKind, KeyState, KeyValue, Keyspace, Log, OpId, Reply,
    },
    text::Text,
    world::effect::{Access, Effect, lease},
};

/// `None` if no actor has stopped or died, or if that is not what keeps the others out.
pub fn in_vain(scenario: &Scenario, log: &Log) -> Option<Text> {
    let case = Case::new(scenario, log);
    refuse_each_other(&case)
        .or_else(|| stopped(&case))
        .or_else(|| waits_for_itself(&case))
        .or_else(|| wait_for_each_other(&case))
        .or_else(|| left_behind(&case))
        .or_else(|| never_given_back(&case))
        .or_else(|| never_notified(&case))
}

/// An actor that gave up, or still asks, had got the lock without knowing: the key still holds what its own command has
/// set.
fn waits_for_itself(case: &Case<'_>) -> Option<Text> {
    // With several servers, one of them alone grants nothing.
    if case.scenario.lab().servers().len() > 1 {
        return None;
    }
    let end = case.events.len();
    let counted = case.events.iter().enumerate().rev().find_map(|(n, event)| match &event.kind {
        EventKind::Counted { actor, .. } => Some((n, *actor)),
        _ => None,
    });
    let mut waiting: Vec<ActorId> = Vec::new();
    for event in case.events {
        match &event.kind {
            EventKind::Believes { actor, belief, .. } => {
                waiting.retain(|known| known != actor);
                waiting.extend((*belief == Belief::Waiting).then_some(*actor));
            }
            EventKind::Fault(fault) => case.retain_living(&mut waiting, fault),
            _ => {}
        }
    }
    let waiting = waiting.into_iter().map(|actor| (end, actor));
    counted.into_iter().chain(waiting).find_map(|(end, actor)| asks_for_its_own(case, end, actor))
}

/// Circular wait: each actor asks for a key that the next one has set and keeps.
fn wait_for_each_other(case: &Case<'_>) -> Option<Text> {
    let mut waiting: Vec<ActorId> = Vec::new();
    for event in case.events {
        match &event.kind {
            EventKind::Sent { actor, .. } if !waiting.contains(actor) => waiting.push(*actor),
            EventKind::Finished { actor } => waiting.retain(|known| known != actor),
            EventKind::Fault(fault) => case.retain_living(&mut waiting, fault),
            _ => {}
        }
    }
    let waits_for = |actor: ActorId| {
        let (asked, _) = case.last_sent(actor, case.events.len())?;
        let others = waiting.iter().filter(|other| **other != actor);
        others.copied().find_map(|other| {
            let (set, _) = kept(case, case.events.len(), other, |key| names(case.sent(asked), key))?;
            Some((asked, set, other))
        })
    };
    waiting.iter().find_map(|first| {
        let mut circle = Vec::new();
        let mut actor = *first;
        while circle.len() < waiting.len() {
            let (asked, set, other) = waits_for(actor)?;
            circle.push((asked, set));
            if other == *first {
                return Some(words::wait_for_each_other(case, &circle));
            }
            actor = other;
        }
        None
    })
}

/// Livelock: before any fault, each of two actors writes something, sees what the other has written, and takes its own back,
/// again and again.
fn refuse_each_other(case: &Case<'_>) -> Option<Text> {
    /// How often each must have done so.
    const OFTEN: usize = 3;
    let is_fault = |event: &Event| matches!(event.kind, EventKind::Fault(_));
    let end = case.events.iter().position(is_fault).unwrap_or(case.events.len());
    // What each has written and taken back.
    let in_turn = |actor: ActorId| {
        let is_its = |effect: &&Effect| {
            effect.actor == actor && effect.sent < end && writes(effect) && effect.access != Access::Expiry
        };
        let its: Vec<&Effect> = case.effects.iter().filter(is_its).collect();
        let same = |one: &Effect, other: &Effect| {
            one.key == other.key && case.command(one.sent) == case.command(other.sent)
        };
        let alternates = |window: &[&Effect]| {
            let [did, undid, ..] = window else { return false };
            let is_pair = |pair: &[&Effect]| same(pair[0], did) && same(pair[1], undid);
            did.key == undid.key && !same(did, undid) && window.chunks_exact(2).all(is_pair)
        };
        its.windows(2 * OFTEN).find(|window| alternates(window)).map(|window| (window[0], window[1]))
    };
    let actors = (0..case.scenario.actors.len()).filter_map(|n| u32::try_from(n).ok().map(ActorId));
    let refused: Vec<(&Effect, &Effect)> = actors.filter_map(in_turn).collect();
    let pairs =
        refused.iter().enumerate().flat_map(|(n, one)| refused[..n].iter().map(move |other| (other, one)));
    pairs.into_iter().find_map(|((did, undid), (other, undone))| {
        let meet = did.sent < undone.sent && other.sent < undid.sent;
        meet.then(|| words::refuse_each_other(case, (did, other)))
    })
}

/// Whether a command is about a key.
fn names(command: Option<&Command>, key: &str) -> bool {
    match command {
        Some(Command::Redis(words)) => words.iter().skip(1).any(|word| word == key),
        Some(Command::Script { keys, .. }) => keys.iter().any(|known| known == key),
        _ => false,
    }
}

/// The `Sent` event and operation with which an actor set a value that only it has sent, if the key, one of those that
/// `wanted` accepts, holds it before the event `end`.
fn kept(case: &Case<'_>, end: usize, actor: ActorId, wanted: impl Fn(&str) -> bool) -> Option<(usize, OpId)> {
    case.events[..end].iter().enumerate().find_map(|(n, event)| match &event.kind {
        EventKind::Sent { op, actor: known, server, command, .. } if *known == actor => {
            let (key, value) = asked_to_hold(command, case.keyspace_at(server, end)?)?;
            (wanted(key) && !case.sent_by_others(actor, key, value)).then_some((n, *op))
        }
        _ => None,
    })
}

/// Explains an actor's wait if the key that it asks for last holds, before the event `end`, a value that only its own
/// command has set.
fn asks_for_its_own(case: &Case<'_>, end: usize, actor: ActorId) -> Option<Text> {
    let (asked, _) = case.last_sent(actor, end)?;
    let (set, op) = kept(case, end, actor, |key| names(case.sent(asked), key))?;
    let lost = case.events[set..end].iter().any(|event| {
        matches!(&event.kind, EventKind::Replied { op: known, reply, .. } if *known == op && matches!(**reply, Reply::Lost(_)))
    });
    let believed = case.events[set..end].iter().rev().find_map(|event| match &event.kind {
        EventKind::Believes { actor: known, belief, .. } if *known == actor => Some(*belief),
        _ => None,
    });
    Some(words::waits_for_itself(case, set, lost, believed == Some(Belief::Holding)))
}

/// The key and the value of a command, if the server holds exactly that.
fn asked_to_hold<'c>(command: &'c Command, keyspace: &Keyspace) -> Option<(&'c str, &'c str)> {
    let holds = |key: &str, value: &str| {
        let known = keyspace.keys.get(key).map(|key| &key.value);
        matches!(known, Some(KeyValue::String(known)) if known == value)
    };
    match command {
        Command::Redis(words) => {
            let place = match words.first()?.to_ascii_uppercase().as_str() {
                "SET" | "SETNX" | "GETSET" => 2,
                "SETEX" | "PSETEX" => 3,
                _ => return None,
            };
            let (key, value) = (words.get(1)?, words.get(place)?);
            holds(key, value).then_some((key.as_str(), value.as_str()))
        }
        Command::Script { keys, args, .. } => {
            let key = keys.first()?;
            let value = args.iter().find(|value| holds(key, value))?;
            Some((key.as_str(), value.as_str()))
        }
        _ => None,
    }
}

/// The state of a written key as its server was last seen before an event; `None` if the server did not hold it.
fn held<'a>(case: &Case<'a>, written: &Effect, event: usize) -> Option<&'a KeyState> {
    case.keyspace_at(&written.server, event)?.keys.get(&written.key)
}

/// A dead client's key has a lease but still exists when others have given up: because of that lease, or of a later
/// one.
fn outlives(case: &Case<'_>, last: &Effect, (crash, end): (usize, LessonTime)) -> Option<Text> {
    let given = held(case, last, crash)?.expires_at?;
    let over = case.events.last()?.at;
    if end <= given {
        return (end > over).then(|| words::too_long(case, last.sent, end.since(over)));
    }
    let renewal = renewal(case, last, (crash, given))?;
    let same = stays_the_same(case, last, crash);
    same.then(|| words::renewed_for_the_dead(case, last.sent, renewal))
}

/// Whether a written key lasts from an event to the end, and is not one that another client has made anew.
fn stays_the_same(case: &Case<'_>, written: &Effect, since: usize) -> bool {
    let mut made_anew = case.touched(&written.key).filter(|effect| {
        effect.server == written.server
            && effect.sent > since
            && matches!(effect.access, Access::Set | Access::Deleted)
    });
    let mut seen =
        (since..case.events.len()).filter(|n| keyspace(&case.events[*n], &written.server).is_some());
    made_anew.next().is_none() && seen.all(|n| held(case, written, n + 1).is_some())
}

/// The command after an event that put off the end of a written key.
fn renewal(case: &Case<'_>, written: &Effect, (since, given): (usize, LessonTime)) -> Option<usize> {
    let renewed = (since..case.events.len()).find(|n| {
        let seen = held(case, written, *n + 1).and_then(|key| key.expires_at);
        seen.is_some_and(|end| end > given)
    })?;
    (since..renewed).rev().find(|n| case.sender(*n).is_some())
}

/// A program ended and still had what it had got, and another gave that a new lease.
fn never_given_back(case: &Case<'_>) -> Option<Text> {
    let ended = case.events.iter().enumerate().filter_map(|(n, event)| match &event.kind {
        EventKind::Finished { actor } => Some((n, *actor)),
        _ => None,
    });
    let lets_go = |kind: &EventKind, who: ActorId| matches!(kind, EventKind::Believes { actor, belief: Belief::Nothing, .. } if *actor == who);
    let mut kept = ended.filter(|(_, actor)| !case.events.iter().any(|event| lets_go(&event.kind, *actor)));
    kept.find_map(|(end, actor)| {
        // It got the lock by a value, not by the lease of that.
        let got =
            |effect: &&Effect| writes(effect) && effect.access != Access::Expiry && effect.actor == actor;
        let last = case.effects.iter().rev().find(got)?;
        let next = (end..case.events.len()).find(|n| matches!(case.kind(*n), Some(EventKind::Chose(_))))?;
        let given = held(case, last, next)?.expires_at?;
        Some(words::renewed_for_who_ended(case, last.sent, renewal(case, last, (next, given))?))
    })
}

/// An actor waits for a notification of a znode.
fn never_notified(case: &Case<'_>) -> Option<Text> {
    let chosen = case.events.iter().rev().filter_map(|event| match &event.kind {
        EventKind::Chose(Choice::Move { actor }) => Some(*actor),
        _ => None,
    });
    let mut waiting = chosen.filter(|actor| awaits_notification(case, *actor));
    let actor = waiting.next()?;
    let (asked, _) = case.last_sent(actor, case.events.len())?;
    let Command::Zookeeper(call) = case.sent(asked)? else { return None };
    let path = call.path();
    let change =
        case.touched(path).rev().find(|effect| effect.access != Access::Read && effect.actor != actor);
    let deletion = change.filter(|effect| effect.access == Access::Deleted && effect.replied < asked);
    Some(words::never_notified(case, asked, path, deletion.map(|effect| effect.sent)))
}

/// Whether an unfinished program waits for a notification, as far as the log shows it: after its last command it was
/// chosen for a move and sent nothing.
fn awaits_notification(case: &Case<'_>, actor: ActorId) -> bool {
    let last =
        |wanted: &dyn Fn(&EventKind) -> bool| case.events.iter().rposition(|event| wanted(&event.kind));
    let over = last(&|kind| matches!(kind, EventKind::Finished { actor: known } if *known == actor));
    let chosen =
        last(&|kind| matches!(kind, EventKind::Chose(Choice::Move { actor: known }) if *known == actor));
    let acted = last(&|kind| match kind {
        EventKind::Sent { actor: known, .. }
        | EventKind::Took { actor: known, .. }
        | EventKind::Waits { actor: known, .. } => *known == actor,
        _ => false,
    });
    over.is_none() && chosen > acted
}

/// A program ended at a reply that it does not handle.
fn stopped(case: &Case<'_>) -> Option<Text> {
    let (event, actor, why) = case.events.iter().enumerate().find_map(|(n, event)| match &event.kind {
        EventKind::GaveUp { actor, why } => Some((n, *actor, why)),
        _ => None,
    })?;
    let (_, label) = case.last_sent(actor, event)?;
    Some(words::stopped(case.name(actor), label, is_lost(case, event, actor), why))
}

/// Whether the last reply of an actor before an event was lost.
fn is_lost(case: &Case<'_>, event: usize, actor: ActorId) -> bool {
    let replies = case.events[..event].iter().rev();
    let last = replies.filter_map(|event| match &event.kind {
        EventKind::Replied { actor: known, reply, .. } if *known == actor => Some(reply),
        _ => None,
    });
    last.take(1).any(|reply| matches!(**reply, Reply::Lost(_)))
}

/// A client was killed whose key exists to the end: because it does not expire, because others renew its lease again
/// and again, or because its lease is longer than the others waited. If no server was observed, no other client may
/// have written to the key.
fn left_behind(case: &Case<'_>) -> Option<Text> {
    let crash = case.last_fault(0..case.events.len(), |fault| fault.killed_client().is_some())?;
    let client = match case.kind(crash)? {
        EventKind::Fault(fault) => fault.killed_client()?,
        _ => return None,
    };
    let last =
        case.effects.iter().rev().find(|effect| writes(effect) && case.client(effect.actor) == client)?;
    if last.replied > crash {
        return None;
    }
    let stays = match held(case, last, case.events.len()) {
        Some(KeyState { expires_at: Some(end), .. }) => return outlives(case, last, (crash, *end)),
        Some(_) => true,
        None if case.keyspace_at(&last.server, case.events.len()).is_some() => false,
        None => {
            let is_its = case.touched(&last.key).rev().find(|effect| writes(effect)) == Some(last);
            is_its
                && matches!(last.access, Access::Set | Access::Changed)
                && lease(case.words(last.command_sent)).is_none()
        }
    };
    stays.then(|| {
        let next = crashed::next_command(case, last.actor, crash, &last.key);
        words::crashed(case, last.sent, next.as_deref())
    })
}
