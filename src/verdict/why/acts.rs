//! Breaches by one command, and the earlier command that its sender did not know of.

use super::{
    Cause, Why,
    case::{Case, writes},
    words,
};
use crate::{
    lesson::expr::Mentions,
    verdict::Breach,
    world::effect::{Access, Effect},
};

pub(crate) fn explain(case: &Case<'_>, never: &str, breach: &Breach) -> Option<Why> {
    let acts = acts(case, never, breach);
    let certain = acts.iter().find_map(|act| {
        let why = unknown_to(case, act, breach).or_else(|| interfered(case, act, breach))?;
        Some((act, why))
    });
    // What the invariant is about was not written by this command, but would have been by a transaction that was refused.
    let mentions = Mentions::of(never);
    let mentioned = |act: &Effect| mentions.quotes(&act.key);
    let elsewhere = certain.as_ref().is_some_and(|(act, _)| !mentioned(act))
        && case.effects.iter().any(|effect| writes(effect) && mentioned(effect));
    let refused = || {
        let counted = case.counted(breach.at).filter(|_| elsewhere);
        counted.into_iter().flatten().find_map(|(_, actor)| case.refused_exec(actor, breach.at))
    };
    // The refused transaction itself was the breach: its sender counts on what was never written.
    let by_refused = || {
        let sent = (0..breach.at).rev().find(|n| case.sender(*n).is_some())?;
        let why = case.refused_exec(case.sender(sent)?, breach.at + 1)?;
        (why.second > sent).then_some(why)
    };
    refused()
        .or_else(|| certain.map(|(_, why)| why))
        .or_else(by_refused)
        .or_else(|| acts.iter().find_map(|act| both_looked(case, act)))
}

/// The commands that may have caused the breach, the likeliest first. For a counter: the last command of each actor
/// that counted, since of two replies that overtook each other the later one may belong to the earlier command; after
/// them the earlier commands of these actors, since the last one may only have released a lock. Otherwise one command:
/// the one answered by the breach's event, or else the last that wrote to a key which the expression mentions, or to
/// any key.
fn acts<'c>(case: &'c Case<'_>, never: &str, breach: &Breach) -> Vec<&'c Effect> {
    let done = |end: usize| {
        let known = case.effects.iter().rev();
        known.filter(move |effect| effect.replied <= end && writes(effect))
    };
    if let Some(counted) = case.counted(breach.at) {
        let (last, earlier): (Vec<_>, Vec<_>) = counted
            .filter_map(|(n, who)| {
                let mut its = done(n).filter(move |effect| effect.actor == who);
                Some((its.next()?, its))
            })
            .unzip();
        return last.into_iter().chain(earlier.into_iter().flatten()).collect();
    }
    let mentions = Mentions::of(never);
    let named = |effect: &&Effect| mentions.quotes(&effect.key);
    let answered = || done(breach.at).filter(|effect| effect.replied == breach.at);
    let one = answered()
        .find(named)
        .or_else(|| answered().next())
        .or_else(|| done(breach.at).find(named))
        .or_else(|| done(breach.at).next());
    one.into_iter().collect()
}

/// Another actor wrote to a key between `act` and the last access of its sender to that key.
fn unknown_to(case: &Case<'_>, act: &Effect, breach: &Breach) -> Option<Why> {
    let owned = matches!(act.access, Access::Deleted | Access::Expiry);
    // A lock belongs to a process, whichever of its threads took it. A value is known only to the thread that has read
    // it.
    let mine = |effect: &&Effect| {
        effect.actor == act.actor || owned && writes(effect) && case.same_client(effect.actor, act.actor)
    };
    let earlier = || {
        let its = case.touched(&act.key).rev().filter(mine).filter(|effect| case.before(effect, act));
        its.filter(|effect| writes(effect) || case.is_relied_on(effect))
    };
    // After a failover the sender's setting was made on the old server.
    let first = earlier().find(|effect| effect.server == act.server).or_else(|| earlier().next())?;
    if let Some(why) = looked_elsewhere(case, first, act) {
        return Some(why);
    }
    let others = |effect: &&Effect| {
        writes(effect)
            && effect.server == act.server
            && if owned { !case.same_client(effect.actor, act.actor) } else { effect.actor != act.actor }
    };
    // What came in between is known from the values: a lease that was set after the lock says less.
    let (leases, values): (Vec<_>, Vec<_>) =
        case.touched(&act.key).rev().filter(others).partition(|effect| effect.access == Access::Expiry);
    let (between, (place, second)) = values.into_iter().chain(leases).find_map(|effect| {
        // The server's state may have proved that the key was another client's, although the command was in flight
        // meanwhile.
        let seen = owned && breach.evidence.contains(&act.replied) && effect.replied < act.replied;
        let certain = case.before(first, effect) && (seen || case.before(effect, act));
        Some((effect, in_order(first, effect, act).filter(|_| certain)?))
    })?;
    let kind = match (first.access, act.access) {
        (Access::Read, _) => Cause::CheckThenAct,
        (_, Access::Deleted | Access::Expiry) => Cause::NotItsOwn,
        _ => Cause::Interleaved,
    };
    let text = words::unknown_to(case, kind, (first, between, act));
    Some(Why::new(kind, [first.sent, place, second], text))
}

/// The sender relied on a later read of another key, to which another actor has written meanwhile.
fn looked_elsewhere(case: &Case<'_>, first: &Effect, act: &Effect) -> Option<Why> {
    let mut looks = case.effects.iter().rev().filter(|effect| {
        effect.actor == act.actor
            && effect.access == Access::Read
            && effect.key != act.key
            && effect.sent > first.sent
            && case.before(effect, act)
            && case.is_relied_on(effect)
    });
    let (look, between) = looks.find_map(|look| {
        let mut others = case
            .touched(&look.key)
            .rev()
            .filter(|effect| writes(effect) && effect.actor != act.actor && effect.server == look.server);
        Some((look, others.find(|effect| case.before(look, effect) && case.before(effect, act))?))
    })?;
    let (place, second) = in_order(look, between, act)?;
    let text = words::unknown_to(case, Cause::CheckThenAct, (look, between, act));
    Some(Why::new(Cause::CheckThenAct, [look.sent, place, second], text))
}

/// The events that stand for the second and the third of three commands carried out one after another: of commands in
/// flight at once, the reply is used to keep the order. `None` if that does not help either.
fn in_order(first: &Effect, second: &Effect, third: &Effect) -> Option<(usize, usize)> {
    let after = |effect: &Effect, place: usize| {
        let mut places = [effect.sent, effect.replied].into_iter();
        places.find(|known| *known > place)
    };
    let place = after(second, first.sent)?;
    Some((place, after(third, place)?))
}

/// Two actors wrote at once, and both had read before either did: which wrote first is not known, but one of them did
/// not know of the other.
fn both_looked(case: &Case<'_>, act: &Effect) -> Option<Why> {
    let mine = look(case, act)?;
    let mut others =
        case.touched(&act.key).rev().filter(|effect| writes(effect) && effect.actor != act.actor);
    let (theirs, other) = others.find_map(|write| {
        let theirs = look(case, write)?;
        (case.before(theirs, act) && case.before(mine, write)).then_some((theirs, write))
    })?;
    // The explanation begins with the actor that read first.
    let (first, between, wrote) =
        if mine.sent < theirs.sent { (mine, theirs, act) } else { (theirs, mine, other) };
    let (place, second) = in_order(first, between, wrote)?;
    let text = words::both_looked(case, (first, between), wrote);
    Some(Why::new(Cause::BothLooked, [first.sent, place, second], text))
}

/// The last access of an actor to a key before it wrote there, if that was a read.
fn look<'c>(case: &'c Case<'_>, write: &'c Effect) -> Option<&'c Effect> {
    let mut earlier = case.touched(&write.key).rev();
    let last = earlier.find(|effect| effect.actor == write.actor && effect.replied < write.sent)?;
    (last.access == Access::Read && case.is_relied_on(last)).then_some(last)
}

/// An actor changed a key that another had set and that was never its own.
fn interfered(case: &Case<'_>, act: &Effect, breach: &Breach) -> Option<Why> {
    if !matches!(act.access, Access::Deleted | Access::Expiry) {
        return None;
    }
    let mut settings = case.touched(&act.key).rev().filter(|effect| effect.access == Access::Set);
    let setting = settings.find(|effect| case.before(effect, act))?;
    if case.same_client(setting.actor, act.actor) {
        return None;
    }
    let mut releases = case.touched(&act.key).filter(|effect| {
        effect.access == Access::Deleted
            && case.same_client(effect.actor, setting.actor)
            && case.before(act, effect)
    });
    let end = releases.next().map_or(breach.at, |effect| effect.sent).max(act.sent);
    Some(Why::new(Cause::Interfered, [setting.sent, act.sent, end], words::interfered(case, setting, act)))
}
