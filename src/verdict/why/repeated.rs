//! Commands that were carried out twice, because the reply to the first was lost.

use super::{Cause, Why, case::Case, words};
use crate::{
    log::{Command, Condition, Direction, EventKind, LinkId, Reply, ServerState, product::mariadb},
    verdict::Breach,
    world::effect::was_done,
};

/// A command like the one that caused the breach was carried out, its reply was lost, and its sender sent it again.
pub(crate) fn explain(case: &Case<'_>, breach: &Breach) -> Option<Why> {
    let act = (0..=breach.at).rev().find(|n| case.sender(*n).is_some())?;
    let brief = case.command(act);
    let alike = |n: &usize| case.sent(*n).is_some_and(|command| command.brief() == brief);
    let (first, lost, again) = (0..=act).rev().filter(alike).find_map(|again| {
        let mut earlier = (0..again).rev().filter(alike);
        let first = earlier.find(|n| case.sender(*n) == case.sender(again))?;
        let (replied, reply) = reply_to(case, again)?;
        // `SET … NX` that answers nil has done nothing.
        let is_done =
            replied <= breach.at && matches!(reply, Reply::Value(_)) && was_done(case.sent(again)?, reply);
        Some((first, carried_out_unheard(case, first, again).filter(|_| is_done)?, again))
    })?;
    let text = words::repeated(case, first);
    Some(Why::new(Cause::ReplyLost, [first, lost, again], text))
}

fn reply_to<'a>(case: &Case<'a>, sent: usize) -> Option<(usize, &'a Reply)> {
    let EventKind::Sent { op: wanted, .. } = case.kind(sent)? else { return None };
    case.events.iter().enumerate().skip(sent).find_map(|(n, event)| match &event.kind {
        EventKind::Replied { op, reply, .. } if op == wanted => Some((n, &**reply)),
        _ => None,
    })
}

/// The fault that lost the reply to a command that a server has carried out: the link held the replies only, and the
/// server was seen to have changed before anybody sent something else.
fn carried_out_unheard(case: &Case<'_>, sent: usize, again: usize) -> Option<usize> {
    let EventKind::Sent { actor, server, command, .. } = case.kind(sent)? else { return None };
    let (replied, reply) = reply_to(case, sent)?;
    let link = LinkId::new(case.client(*actor), server);
    let of_link = |events| case.last_fault(events, |fault| fault.link() == Some(&link));
    let leaves = |fault: usize| match case.kind(fault) {
        Some(EventKind::Fault(fault)) => Some(fault.leaves()),
        _ => None,
    };
    let held = of_link(0..sent).and_then(leaves) == Some(Condition::Held(Direction::Replies));
    let lost = of_link(sent..replied).filter(|fault| leaves(*fault) == Some(Condition::Cut))?;
    let next = (sent + 1..again).find(|n| case.sender(*n).is_some()).unwrap_or(again);
    let changed = case.events[sent..next].iter().any(
        |event| matches!(&event.kind, EventKind::State(ServerState { server: seen, .. }) if seen == server),
    );
    (held && changed && reply.is_lost() && !is_rolled_back(case, sent, command)).then_some(lost)
}

/// Whether a statement is undone when its connection ends: it belongs to an open transaction and does not commit it.
fn is_rolled_back(case: &Case<'_>, sent: usize, command: &Command) -> bool {
    let Command::Sql(statement) = command else { return false };
    let mut earlier = (0..sent).rev().filter(|n| case.sender(*n) == case.sender(sent));
    let is_open = earlier.find_map(|n| {
        case.sent(n)?.leaves().filter(|(what, _)| *what == "transaction").map(|(_, begins)| begins)
    });
    is_open == Some(true) && !mariadb::commits(statement)
}
