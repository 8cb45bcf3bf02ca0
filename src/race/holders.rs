//! Which locks had two holders at once in a race. Pure; it must not know what else came of it.
//!
//! In a race the server's answers to different clients overtake each other: the next holder may be told before
//! the last one has the reply to its own release. So whoever asks for the release with the command right before
//! its `drops` (`delete`, `DEL`, `UNLINK`, `unlock`) holds the lock only until it sent that command. Everybody
//! else holds it until they say that they do not.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::LockFate;
use crate::log::{Actor, ActorId, Belief, EventKind, Fault, Log};

/// What became of each lock that anybody believed to hold.
pub(super) fn fates(log: &Log) -> BTreeMap<String, LockFate> {
    let left = departures(log);
    let mut holders: BTreeMap<&str, BTreeSet<ActorId>> = BTreeMap::new();
    let mut fates = BTreeMap::new();
    let mut cast: &[Actor] = &[];
    for (n, event) in log.events().iter().enumerate() {
        for (actor, lock) in left.get(&n).into_iter().flatten() {
            holders.entry(lock).or_default().remove(actor);
        }
        match &event.kind {
            EventKind::LabReady { actors, .. } => cast = actors,
            // Whoever is dead believes nothing.
            EventKind::Fault(Fault::Crash { client }) => {
                let lives = |actor: &ActorId| {
                    let who = cast.get(actor.0 as usize);
                    who.is_none_or(|who| who.client != *client)
                };
                for holding in holders.values_mut() {
                    holding.retain(lives);
                }
            }
            EventKind::GaveUp { actor, .. } => {
                for holding in holders.values_mut() {
                    holding.remove(actor);
                }
            }
            _ => {}
        }
        if let EventKind::Believes { actor, lock, belief } = &event.kind {
            let holding = holders.entry(lock).or_default();
            if *belief != Belief::Holding {
                holding.remove(actor);
                continue;
            }
            holding.insert(*actor);
            let fate = fates.entry(lock.clone()).or_insert(LockFate::Held);
            if holding.len() > 1 {
                *fate = LockFate::Violated;
            }
        }
    }
    fates
}

/// At which events somebody asked for the release of what it dropped on the reply.
fn departures(log: &Log) -> HashMap<usize, Vec<(ActorId, &str)>> {
    let mut sent: HashMap<ActorId, (usize, &str)> = HashMap::new();
    let mut answered: HashMap<ActorId, usize> = HashMap::new();
    let mut left: HashMap<usize, Vec<(ActorId, &str)>> = HashMap::new();
    for (n, event) in log.events().iter().enumerate() {
        match &event.kind {
            EventKind::Sent { actor, wire, .. } => {
                sent.insert(*actor, (n, wire));
                answered.remove(actor);
            }
            EventKind::Replied { actor, .. } => {
                if let Some((at, _)) = sent.get(actor).filter(|(_, wire)| releases(wire)) {
                    answered.insert(*actor, *at);
                }
            }
            EventKind::Waits { actor, .. } | EventKind::Took { actor, .. } => {
                answered.remove(actor);
            }
            EventKind::Believes {
                actor,
                lock,
                belief: Belief::Nothing,
            } => {
                if let Some(at) = answered.get(actor) {
                    left.entry(*at).or_default().push((*actor, lock));
                }
            }
            _ => {}
        }
    }
    left
}

fn releases(wire: &str) -> bool {
    let verb = wire.split(' ').next().unwrap_or_default();
    ["delete", "DEL", "UNLINK", "unlock"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(verb))
}

#[cfg(test)]
mod tests {
    use super::fates;
    use crate::{
        log::{ActorId, Belief, EventKind, Log, OpId, Reply},
        race::LockFate,
    };

    fn believes(actor: u32, belief: Belief) -> EventKind {
        EventKind::Believes {
            actor: ActorId(actor),
            lock: "lock".to_owned(),
            belief,
        }
    }

    fn sent(actor: u32, wire: &str) -> EventKind {
        EventKind::Sent {
            op: OpId(actor.into()),
            actor: ActorId(actor),
            label: "move".to_owned(),
            server: "server".to_owned(),
            wire: wire.to_owned(),
        }
    }

    fn replied(actor: u32) -> EventKind {
        EventKind::Replied {
            op: OpId(actor.into()),
            actor: ActorId(actor),
            label: "move".to_owned(),
            reply: Reply::Value("OK".into()),
        }
    }

    fn fate(log: &Log) -> Option<LockFate> {
        fates(log).get("lock").copied()
    }

    /// A holds, sends a command, B comes to hold, A gets its reply and drops.
    fn overtaken(wire: &str) -> Log {
        Log::from_iter([
            believes(0, Belief::Holding),
            sent(0, wire),
            believes(1, Belief::Holding),
            replied(0),
            believes(0, Belief::Nothing),
        ])
    }

    #[test]
    fn a_reply_to_a_release_that_comes_late_is_no_overlap() {
        assert_eq!(fate(&overtaken("delete /lock")), Some(LockFate::Held));
        assert_eq!(fate(&overtaken("DEL lock")), Some(LockFate::Held));
        // It still works on what the lock protects.
        assert_eq!(fate(&overtaken("DECR stock")), Some(LockFate::Violated));
    }

    #[test]
    fn a_release_does_not_hide_an_overlap_before_it() {
        let two = [
            believes(0, Belief::Holding),
            believes(1, Belief::Holding),
            sent(0, "DEL lock"),
            replied(0),
            believes(0, Belief::Nothing),
        ];
        assert_eq!(fate(&Log::from_iter(two)), Some(LockFate::Violated));
    }

    #[test]
    fn one_after_another_and_nobody() {
        let one_by_one = [
            believes(0, Belief::Holding),
            believes(0, Belief::Nothing),
            believes(1, Belief::Holding),
        ];
        assert_eq!(fate(&Log::from_iter(one_by_one)), Some(LockFate::Held));
        assert_eq!(fate(&Log::from_iter([believes(0, Belief::Waiting)])), None);
    }
}
