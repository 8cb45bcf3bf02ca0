//! Locks of dead owners, and releases that woke a herd.

use super::{Cause, Why, case::Case, words};
use crate::{
    lesson::{
        expr::Template,
        plan::{PlannedOperation, PlannedVerb},
    },
    log::{ActorId, EventKind, product::zookeeper},
    verdict::Breach,
    world::effect::{Access, Effect, command},
};

/// A key exists whose setter was killed.
pub(crate) fn explain(case: &Case<'_>, breach: &Breach) -> Option<Why> {
    let crash = breach.evidence.iter().copied().find_map(|n| match case.kind(n)? {
        EventKind::Fault(fault) => Some((n, fault.killed_client()?)),
        _ => None,
    });
    let (crash, client) = crash?;
    let mut asked = breach.evidence.iter().copied();
    let command_sent = asked.rfind(|n| case.sender(*n).is_some_and(|actor| case.client(actor) == client))?;
    // In a transaction, `EXEC` is the command that set it.
    let set = case
        .effects
        .iter()
        .find(|effect| effect.command_sent == command_sent && effect.access == Access::Set);
    let (first, key) = match set {
        Some(set) => (set.sent, set.key.clone()),
        None => (command_sent, case.sent(command_sent)?.arguments().next()?.to_owned()),
    };
    let mut done = case.touched(&key).rev();
    let renewal = done.find(|effect| {
        effect.access == Access::Expiry
            && case.client(effect.actor) != client
            && effect.sent > first
            && effect.replied <= breach.at.min(crash)
    });
    if let Some(renewal) = renewal {
        let text = words::kept_alive(case, first, renewal);
        return Some(Why::new(Cause::KeptAlive, [first, renewal.sent, crash], text));
    }
    if first > crash {
        return None;
    }
    let actor = case.sender(first)?;
    let text = words::crashed(case, first, next_command(case, actor, crash, &key).as_deref());
    Some(Why::new(Cause::Crashed, [first, crash, breach.at.max(crash)], text))
}

/// The first word, or the script's name, of the next command about a key that an actor would have sent, except reads.
/// `None` if it would have repeated the same operation.
pub(crate) fn next_command(case: &Case<'_>, actor: ActorId, at: usize, key: &str) -> Option<String> {
    let program = &case.scenario.actors.get(actor.0 as usize)?.program;
    let (_, made) = case.last_sent(actor, at)?;
    let mut from = program.operations().skip_while(|operation| operation.label != made);
    let made = first_word(from.next()?);
    let mut next = from
        .filter(|operation| may_name(operation, key))
        .filter_map(|operation| first_word(operation))
        .filter(|word| !command::only_reads(word));
    next.next().filter(|next| made.as_ref() != Some(next))
}

/// Whether an operation may be about a key: it names it, or a key that is known only when it is sent.
fn may_name(operation: &PlannedOperation, key: &str) -> bool {
    let names = |word: &Template| word.render(&minijinja::Value::UNDEFINED).map_or(true, |word| word == key);
    match &operation.verb {
        PlannedVerb::Redis(words) => words.iter().skip(1).any(names),
        PlannedVerb::Script { keys, .. } => keys.iter().any(names),
        _ => false,
    }
}

fn first_word(operation: &PlannedOperation) -> Option<String> {
    match &operation.verb {
        PlannedVerb::Redis(words) => words.first()?.render(&minijinja::Value::UNDEFINED).ok(),
        PlannedVerb::Script { name, .. } => Some(format!("EVAL {name}")),
        _ => None,
    }
}

/// One deletion woke several clients: two watched the same path, and then it was deleted.
pub(crate) fn herd(case: &Case<'_>, breach: &Breach) -> Option<Why> {
    let notified = |n: usize| match case.kind(n)? {
        EventKind::Notified { actor, about, what, .. } => Some((n, *actor, (about.as_str(), what.as_str()))),
        _ => None,
    };
    let mut woken = breach.evidence.iter().copied().filter_map(notified).rev();
    let (last, one, (path, what)) = woken.next()?;
    let (_, other, _) = woken.find(|(_, actor, (about, _))| *actor != one && *about == path)?;
    let watch = |actor: ActorId| {
        case.events[..last].iter().rposition(|event| match &event.kind {
            EventKind::Sent { actor: known, command, .. } => {
                *known == actor && command.watched() == Some(path)
            }
            _ => false,
        })
    };
    let mut watches = [watch(other)?, watch(one)?];
    watches.sort_unstable();
    let [first, between] = watches;
    // A watch of a node's children tells of a change below it; the node itself lasts.
    let below = what == "NodeChildrenChanged";
    let tells = |effect: &&Effect| match effect.access {
        Access::Deleted | Access::Set if below => zookeeper::parent(&effect.key) == path,
        Access::Deleted => effect.key == path,
        _ => false,
    };
    let mut done = case.effects.iter().rev().filter(tells);
    let change = done.find(|effect| effect.sent > between && effect.sent < last);
    let change = change.map(|effect| effect.sent);
    let text = words::herd(case, (first, between), change, (path, below));
    Some(Why::new(Cause::Herd, [first, between, change.unwrap_or(last)], text))
}
