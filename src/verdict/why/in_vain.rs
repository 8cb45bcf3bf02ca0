//! Why somebody asks in vain: somebody else has stopped, or is dead, and what it had set is still there.

use super::{
    case::{Case, writes},
    crashed, words,
};
use crate::{
    lesson::Scenario,
    log::{ActorId, EventKind, Log, Reply},
    text::Text,
    world::effect::{Access, lease},
};

/// `None` where nobody has stopped or died, or where that is not what keeps the others out.
pub fn in_vain(scenario: &Scenario, log: &Log) -> Option<Text> {
    let case = Case::new(scenario, log);
    stopped(&case).or_else(|| left_behind(&case))
}

/// Somebody's program ended at a reply that it does not handle.
fn stopped(case: &Case<'_>) -> Option<Text> {
    let (event, actor, why) = case.events.iter().enumerate().find_map(|(n, event)| match &event.kind {
        EventKind::GaveUp { actor, why } => Some((n, *actor, why)),
        _ => None,
    })?;
    let label = case.events[..event].iter().rev().find_map(|event| match &event.kind {
        EventKind::Sent { actor: known, label, .. } if *known == actor => Some(label.as_str()),
        _ => None,
    })?;
    Some(words::stopped(case.name(actor), label, is_lost(case, event, actor), why))
}

/// Whether the last reply that somebody had before an event was lost.
fn is_lost(case: &Case<'_>, event: usize, actor: ActorId) -> bool {
    let replies = case.events[..event].iter().rev();
    let last = replies.filter_map(|event| match &event.kind {
        EventKind::Replied { actor: known, reply, .. } if *known == actor => Some(reply),
        _ => None,
    });
    last.take(1).any(|reply| matches!(**reply, Reply::Lost(_)))
}

/// Somebody was killed, and was the last to write to a key that does not end by itself.
fn left_behind(case: &Case<'_>) -> Option<Text> {
    let crash = case.last_fault(0..case.events.len(), |fault| fault.killed_client().is_some())?;
    let client = match case.kind(crash)? {
        EventKind::Fault(fault) => fault.killed_client()?,
        _ => return None,
    };
    let last =
        case.effects.iter().rev().find(|effect| writes(effect) && case.client(effect.actor) == client)?;
    let is_its = case.touched(&last.key).rev().find(|effect| writes(effect)) == Some(last);
    let stays =
        matches!(last.access, Access::Set | Access::Changed) && lease(case.words(last.worded)).is_none();
    (is_its && stays && last.replied < crash)
        .then(|| words::crashed(case, last.sent, crashed::next_command(case, last.actor, crash).as_deref()))
}
