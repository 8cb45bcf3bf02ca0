//! What programs from outside print, in the order of what they did. A line that gives a lock away comes after the reply to
//! the request that released it, and by then another may have the lock already.

use std::collections::HashMap;

use crate::{
    lesson::Scenario,
    log::{Belief, Event, EventKind, Log},
};

/// The same log with the locks that a request released, as for any client: who asks for the release holds until the request
/// is sent. A program from outside says it with the first lines that it prints after the reply.
pub(super) fn with_releases(log: &Log, scenario: &Scenario) -> Log {
    let mut events: Vec<Event> = log.events().to_vec();
    // By actor: where its last request was sent, and whether nothing else has happened since the reply to it.
    let mut requests: HashMap<u32, (usize, bool)> = HashMap::new();
    for n in 0..events.len() {
        let Some(actor) = events[n].kind.actor() else { continue };
        if !scenario.actors[actor.0 as usize].program.outside {
            continue;
        }
        match &events[n].kind {
            EventKind::Sent { .. } => drop(requests.insert(actor.0, (n, false))),
            EventKind::Replied { .. } => {
                if let Some((_, replied)) = requests.get_mut(&actor.0) {
                    *replied = true;
                }
            }
            EventKind::Waits { .. } | EventKind::Waited { .. } => drop(requests.remove(&actor.0)),
            EventKind::Believes { lock, belief: Belief::Nothing, .. } => {
                let lock = lock.clone();
                if let Some((sent, true)) = requests.get(&actor.0)
                    && let EventKind::Sent { releases, .. } = &mut events[*sent].kind
                {
                    releases.push(lock);
                }
            }
            _ => {}
        }
    }
    let mut named = Log::new();
    named.extend(events);
    named
}

#[cfg(test)]
mod tests {
    use super::with_releases;
    use crate::{
        lesson::Speaks,
        log::{
            Belief, EventKind, Log, Reply,
            testing::{believes, replied, sent, waited},
        },
        recording::AttachedPrograms,
        run::attach,
    };

    /// What each request releases, in the order in which they were sent.
    fn released(kinds: Vec<EventKind>) -> Vec<Vec<String>> {
        let commands = vec![vec!["worker".to_owned()]; 2];
        let lock = Some("lock".to_owned());
        let programs = AttachedPrograms { server: Speaks::Redis, servers: 1, lock, holders: 1, commands };
        let scenario = attach::scenario(&programs).expect("a scenario");
        let named = with_releases(&Log::from_iter(kinds), &scenario);
        let sent = named.events().iter().filter_map(|event| match &event.kind {
            EventKind::Sent { releases, .. } => Some(releases.clone()),
            _ => None,
        });
        sent.collect()
    }

    fn asks(op: u64, actor: u32) -> EventKind {
        sent(op, actor, "redis", "DEL", "DEL lock")
    }

    fn answered(op: u64, actor: u32) -> EventKind {
        replied(op, actor, "DEL", Reply::Value(1.into()))
    }

    fn drops(actor: u32) -> EventKind {
        believes(actor, Belief::Nothing)
    }

    #[test]
    fn what_is_printed_after_a_reply_belongs_to_its_request_although_another_moved_meanwhile() {
        let log = vec![asks(1, 0), answered(1, 0), asks(2, 1), answered(2, 1), drops(0)];
        assert_eq!(released(log), [vec!["lock".to_owned()], Vec::new()]);
    }

    #[test]
    fn what_is_printed_before_a_request_or_after_a_wait_belongs_to_none() {
        assert_eq!(released(vec![drops(0), asks(1, 0), answered(1, 0)]), [Vec::<String>::new()]);
        assert_eq!(released(vec![asks(1, 0), answered(1, 0), waited(0), drops(0)]), [Vec::<String>::new()]);
        assert_eq!(released(vec![asks(1, 0), drops(0), answered(1, 0)]), [Vec::<String>::new()]);
    }
}
