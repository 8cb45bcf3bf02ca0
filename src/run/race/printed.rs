//! The order of what external programs print. A line that gives up a lock is printed after the reply to the
//! request that released it, when another client may already hold the lock.

use std::collections::HashMap;

use crate::{
    lesson::Scenario,
    log::{Belief, Event, EventKind, Log},
};

/// Returns the log with the locks that each request released, as for Lockstep's own clients: an actor holds a
/// lock until it sends the request that releases it. An external program reports the release in the first
/// lines that it prints after the reply.
pub(super) fn with_releases(log: &Log, scenario: &Scenario) -> Log {
    let mut events: Vec<Event> = log.events().to_vec();
    // By actor: the index of its last request, and whether it has been answered. A wait removes the entry.
    let mut requests: HashMap<u32, (usize, bool)> = HashMap::new();
    for n in 0..events.len() {
        let Some(actor) = events[n].kind.actor() else { continue };
        if !scenario.actor(actor).program.outside {
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

    /// The locks that each request releases, in the order of the requests.
    fn released(kinds: Vec<EventKind>) -> Vec<Vec<String>> {
        let commands = vec![vec!["worker".to_owned()]; 2];
        let lock = Some("lock".to_owned());
        let programs = AttachedPrograms {
            server: Speaks::Redis,
            servers: 1,
            lock,
            holders: 1,
            passes: Vec::new(),
            commands,
        };
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
    fn a_release_after_a_reply_belongs_to_its_request_although_another_moved() {
        let log = vec![asks(1, 0), answered(1, 0), asks(2, 1), answered(2, 1), drops(0)];
        assert_eq!(released(log), [vec!["lock".to_owned()], Vec::new()]);
    }

    #[test]
    fn a_release_before_a_request_or_after_a_wait_belongs_to_none() {
        assert_eq!(released(vec![drops(0), asks(1, 0), answered(1, 0)]), [Vec::<String>::new()]);
        assert_eq!(released(vec![asks(1, 0), answered(1, 0), waited(0), drops(0)]), [Vec::<String>::new()]);
        assert_eq!(released(vec![asks(1, 0), drops(0), answered(1, 0)]), [Vec::<String>::new()]);
    }
}
