//! Who holds which lock: the one rule, for verdicts, charts, races, exploring and exports.
//!
//! - A client holds a lock from when its program says so (`holds:`) until it sends the request for the release
//!   ([`EventKind::Sent`] says of which locks), until its program says otherwise, or until it dies.
//! - The reply to that request does not matter: the next holder may be told before it arrives, and nobody may act on a
//!   lock after asking for its release. A client may so believe for a while that it has what it holds no longer.
//! - Whoever was refused never held.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    clock::LessonTime,
    log::{ActorId, Belief, Event, EventKind},
};

/// The holders of one lock, in the order in which they came to hold it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holders(Vec<(ActorId, usize)>);

impl Holders {
    /// An actor believes something of the lock since `at`. Says whether it begins or ceases to hold it with that.
    pub fn believes(&mut self, actor: ActorId, belief: Belief, at: usize) -> bool {
        if belief != Belief::Holding {
            return self.leaves(actor);
        }
        let begins = self.since(actor).is_none();
        if begins {
            self.0.push((actor, at));
        }
        begins
    }

    /// An actor has asked for the release, or is dead. Says whether it held the lock.
    pub fn leaves(&mut self, actor: ActorId) -> bool {
        let before = self.0.len();
        self.0.retain(|(known, _)| *known != actor);
        self.0.len() < before
    }

    pub fn since(&self, actor: ActorId) -> Option<usize> {
        self.0.iter().find(|(known, _)| *known == actor).map(|(_, at)| *at)
    }

    pub fn actors(&self) -> impl Iterator<Item = ActorId> + '_ {
        self.0.iter().map(|(actor, _)| *actor)
    }

    /// Since when each of them does.
    pub fn begins(&self) -> Vec<usize> {
        self.0.iter().map(|(_, at)| *at).collect()
    }

    pub fn overlap(&self) -> bool {
        self.0.len() > 1
    }
}

/// A stretch with two or more holders of one lock: the failure that most lessons are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    pub lock: String,
    pub from: LessonTime,
    /// Until when; `None` while it lasts.
    pub to: Option<LessonTime>,
    /// Everybody who held it at some time of the stretch.
    pub holders: Vec<ActorId>,
    /// The index of the event that began it.
    pub event: usize,
    /// The index of the event that ended it.
    pub end: Option<usize>,
    /// The events with which its first holders came to hold the lock: the evidence.
    pub evidence: Vec<usize>,
}

/// Somebody has begun or ceased to hold a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub actor: ActorId,
    pub lock: String,
    /// Whether it holds the lock now.
    pub holds: bool,
}

/// What is known of one lock that somebody has held.
#[derive(Debug, Clone, Default, PartialEq)]
struct Lock {
    now: Holders,
    /// As many as ever held it at one time: since which events.
    most: Vec<usize>,
}

/// The holders of all locks, event by event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Holding {
    clients: Arc<[String]>,
    locks: BTreeMap<String, Lock>,
    dead: BTreeSet<ActorId>,
    overlaps: Vec<Overlap>,
}

impl Holding {
    pub fn holders(&self, lock: &str) -> impl Iterator<Item = ActorId> + '_ {
        self.locks.get(lock).into_iter().flat_map(|lock| lock.now.actors())
    }

    /// Of all locks, the greatest number of holders that one has.
    pub fn greatest(&self) -> usize {
        self.locks.values().map(|lock| lock.now.0.len()).max().unwrap_or(0)
    }

    pub fn holds(&self, actor: ActorId, lock: &str) -> bool {
        self.locks.get(lock).is_some_and(|lock| lock.now.since(actor).is_some())
    }

    /// The events with which as many came to hold a lock as ever did at one time. None where nobody ever held it.
    pub fn most(&self, lock: &str) -> &[usize] {
        self.locks.get(lock).map_or(&[], |lock| &lock.most)
    }

    /// Since which events the holders of a lock hold it, the latest last.
    pub fn begins(&self, lock: &str) -> Vec<usize> {
        self.locks.get(lock).map(|lock| lock.now.begins()).unwrap_or_default()
    }

    /// Whether anybody ever held any lock.
    pub fn ever(&self) -> bool {
        !self.locks.is_empty()
    }

    /// The stretches with two holders, in the order in which they began.
    pub fn overlaps(&self) -> &[Overlap] {
        &self.overlaps
    }

    /// Takes in the event at an index: who has begun or ceased to hold what.
    pub fn take(&mut self, index: usize, event: &Event) -> Vec<Turn> {
        let here = (index, event.at);
        match &event.kind {
            EventKind::LabReady { actors, .. } => {
                self.clients = actors.iter().map(|actor| actor.client.clone()).collect();
                Vec::new()
            }
            // The dead stay dead.
            EventKind::Believes { actor, .. } if self.dead.contains(actor) => Vec::new(),
            EventKind::Believes { actor, lock, belief } => {
                self.turn(*actor, lock, *belief, here).into_iter().collect()
            }
            EventKind::Sent { actor, releases, .. } => {
                releases.iter().filter_map(|lock| self.turn(*actor, lock, Belief::Nothing, here)).collect()
            }
            EventKind::Fault(fault) => {
                let Some(client) = fault.killed_client() else { return Vec::new() };
                let dead = (0..).map(ActorId).zip(self.clients.iter());
                let dead = dead.filter(|(_, known)| *known == client).map(|(actor, _)| actor);
                self.die(dead.collect(), here)
            }
            EventKind::GaveUp { actor, .. } => self.die(vec![*actor], here),
            _ => Vec::new(),
        }
    }

    /// What somebody believes of a lock, where that changes whether it holds it.
    fn turn(
        &mut self,
        actor: ActorId,
        lock: &str,
        belief: Belief,
        here: (usize, LessonTime),
    ) -> Option<Turn> {
        let holds = belief == Belief::Holding;
        // Who never held cannot cease to.
        let known =
            if holds { self.locks.entry(lock.to_owned()).or_default() } else { self.locks.get_mut(lock)? };
        if !known.now.believes(actor, belief, here.0) {
            return None;
        }
        if known.now.0.len() > known.most.len() {
            known.most = known.now.begins();
        }
        let turn = Turn { actor, lock: lock.to_owned(), holds };
        self.track(&turn, here);
        Some(turn)
    }

    /// Whoever is dead holds nothing, whatever it is said to believe.
    fn die(&mut self, dead: Vec<ActorId>, here: (usize, LessonTime)) -> Vec<Turn> {
        let mut turns = Vec::new();
        for lock in self.locks.keys().cloned().collect::<Vec<_>>() {
            turns.extend(dead.iter().filter_map(|actor| self.turn(*actor, &lock, Belief::Nothing, here)));
        }
        self.dead.extend(dead);
        turns
    }

    fn track(&mut self, turn: &Turn, (index, at): (usize, LessonTime)) {
        let Some(lock) = self.locks.get(&turn.lock) else { return };
        let mut overlaps = self.overlaps.iter_mut().rev();
        let lasting = overlaps.find(|overlap| overlap.lock == turn.lock && overlap.end.is_none());
        match (lasting, lock.now.overlap()) {
            (Some(overlap), true) => {
                if turn.holds && !overlap.holders.contains(&turn.actor) {
                    overlap.holders.push(turn.actor);
                }
            }
            (Some(overlap), false) => (overlap.to, overlap.end) = (Some(at), Some(index)),
            (None, true) => {
                let mut holders: Vec<ActorId> = lock.now.actors().collect();
                holders.sort_unstable();
                self.overlaps.push(Overlap {
                    lock: turn.lock.clone(),
                    from: at,
                    to: None,
                    holders,
                    event: index,
                    end: None,
                    evidence: lock.now.begins(),
                });
            }
            (None, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Holding, Turn};
    use crate::{
        clock::LessonTime,
        log::{
            ActorId, Belief, EventKind,
            testing::{LogBuilder, actor, believes, crash, ready, sent},
        },
    };

    /// What became of A, B and C, one second after another.
    fn after(kinds: impl IntoIterator<Item = EventKind>) -> (Holding, Vec<Turn>) {
        let log = LogBuilder::new(ready(&[], ["A", "B", "C"].map(actor)));
        let mut log = log.ticking(Duration::from_secs(1));
        for kind in kinds {
            log.add(kind);
        }
        let mut holding = Holding::default();
        let turns = log.events().iter().enumerate().map(|(n, event)| holding.take(n, event)).last();
        (holding, turns.expect("the first event"))
    }

    fn holds(actor: u32) -> EventKind {
        believes(actor, Belief::Holding)
    }

    fn asks_for_release(actor: u32) -> EventKind {
        sent(0, actor, "redis", "release", "DEL lock")
    }

    fn now(holding: &Holding) -> Vec<u32> {
        holding.holders("lock").map(|actor| actor.0).collect()
    }

    #[test]
    fn who_asks_for_the_release_holds_until_the_request_is_sent() {
        let (holding, last) = after([holds(0), asks_for_release(0)]);
        assert_eq!(now(&holding), [0; 0]);
        assert_eq!(last.len(), 1);
        let (holding, _) = after([holds(0), asks_for_release(0), holds(1)]);
        assert_eq!((now(&holding), holding.overlaps().len()), (vec![1], 0));
        // What is sent under the lock, or for another lock, releases nothing.
        for other in [None, Some("other".to_owned())] {
            let mut sent = asks_for_release(0);
            if let EventKind::Sent { releases, .. } = &mut sent {
                *releases = other.into_iter().collect();
            }
            let (holding, last) = after([holds(0), sent, holds(1)]);
            assert_eq!((now(&holding), last.len()), (vec![0, 1], 1));
            assert_eq!(holding.overlaps().len(), 1);
        }
    }

    #[test]
    fn who_takes_it_again_holds_it_again() {
        let (holding, _) = after([holds(0), asks_for_release(0), holds(0), holds(1)]);
        assert_eq!(holding.overlaps()[0].evidence, [3, 4]);
    }

    #[test]
    fn who_was_refused_never_held() {
        let (holding, last) = after([believes(0, Belief::Waiting), believes(0, Belief::Nothing)]);
        assert!(last.is_empty() && !holding.ever() && holding.most("lock").is_empty());
    }

    #[test]
    fn the_dead_hold_nothing_and_take_nothing() {
        for death in [crash("A"), EventKind::GaveUp { actor: ActorId(0), why: String::new() }] {
            let (holding, _) = after([holds(0), death, holds(1), holds(0)]);
            assert_eq!((now(&holding), holding.overlaps().len()), (vec![1], 0));
        }
    }

    #[test]
    fn an_overlap_lasts_while_two_hold_and_knows_all_who_did() {
        let (holding, _) =
            after([holds(2), holds(0), asks_for_release(2), holds(1), holds(2), asks_for_release(0)]);
        let [first, second] = holding.overlaps() else { panic!("{:?}", holding.overlaps()) };
        assert_eq!((first.event, first.end), (2, Some(3)), "a request for the release ends it");
        assert_eq!(first.to, Some(LessonTime::from_millis(3000)));
        assert_eq!(first.holders, [ActorId(0), ActorId(2)]);
        assert_eq!((second.event, second.end), (4, None));
        assert_eq!(second.holders, [0, 1, 2].map(ActorId));
        assert_eq!(second.evidence, [2, 4]);
        assert_eq!(holding.most("lock"), [2, 4, 5], "three at one time");
        assert_eq!(holding.greatest(), 2, "two now");
    }
}
