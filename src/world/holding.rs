//! Who holds which lock: the one rule, for verdicts, charts, races, exploring and exports.
//!
//! - A client holds a lock from when its program says so (`holds:`) until it sends the request for the release
//!   ([`EventKind::Sent`] says of which locks), until its program says otherwise, or until it dies.
//! - The reply to that request does not matter: the next holder may be granted the lock before it arrives, and no
//!   client may rely on a lock after asking for its release. So a client may believe for a while that it has a lock
//!   that it no longer holds.
//! - A client that was refused never held the lock.
//! - The lesson says how many clients may hold a lock at a time, and which may share it ([`Capacity`]); without a
//!   declaration, one client.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    clock::LessonTime,
    log::{ActorId, Belief, Capacity, Event, EventKind, Excess, LockInfo, stands_for},
};

/// A holder of a lock, since which event, and whether it shares the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holder {
    actor: ActorId,
    since: usize,
    shares: bool,
}

/// A stretch with more holders of one lock than it allows: the failure that most lessons are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    pub lock: String,
    pub from: LessonTime,
    /// The end; `None` while it lasts.
    pub to: Option<LessonTime>,
    /// The holders when the stretch began.
    pub holders: Vec<ActorId>,
    /// Until when all of these held the lock; `None` while they do.
    pub apart: Option<LessonTime>,
    /// The excess when there were the most holders.
    pub excess: Excess,
    /// The index of the event that began it.
    pub event: usize,
    /// The index of the event that ended it.
    pub end: Option<usize>,
    /// The events in which the holders that exclude each other came to hold the lock: the evidence.
    pub evidence: Vec<usize>,
}

/// An actor has begun or ceased to hold a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldingChange {
    pub actor: ActorId,
    pub lock: String,
    /// Whether it holds the lock now.
    pub holds: bool,
}

/// The state of one lock that was ever held.
#[derive(Debug, Clone, Default, PartialEq)]
struct Lock {
    limit: Capacity,
    /// The holders, in the order in which they came to hold it.
    now: Vec<Holder>,
    /// The largest set of holders at a time, as the events in which they came to hold it.
    most: Vec<usize>,
}

impl Lock {
    fn since(&self, actor: ActorId) -> Option<&Holder> {
        self.now.iter().find(|known| known.actor == actor)
    }

    fn excess(&self) -> Option<Excess> {
        let (holders, shared) = (self.now.len(), self.now.iter().filter(|holder| holder.shares).count());
        let too_many = match self.limit {
            Capacity::Holders(most) => holders > most,
            Capacity::ReadWrite => holders > 1 && shared < holders,
        };
        too_many.then_some(Excess { limit: self.limit, holders, shared })
    }

    /// The events in which the holders that exclude the newest holder came to hold the lock, the newest last. Empty if
    /// all may hold it together.
    fn against_newest(&self) -> Vec<usize> {
        let Some((newest, others)) = self.now.split_last() else { return Vec::new() };
        let too_many = match self.limit {
            Capacity::Holders(most) => others.len() >= most,
            Capacity::ReadWrite => others.iter().any(|other| !(other.shares && newest.shares)),
        };
        let against = |other: &&Holder| self.limit != Capacity::ReadWrite || !(other.shares && newest.shares);
        let others = others.iter().filter(against).chain([newest]);
        if too_many { others.map(|holder| holder.since).collect() } else { Vec::new() }
    }
}

/// The holders of all locks, folded event by event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Holding {
    clients: Arc<[String]>,
    /// The lesson's declarations of locks.
    known: Arc<[LockInfo]>,
    locks: BTreeMap<String, Lock>,
    dead: BTreeSet<ActorId>,
    overlaps: Vec<Overlap>,
}

impl Holding {
    /// The initial state, without holders.
    pub fn of(known: &[LockInfo]) -> Self {
        Self { known: known.into(), ..Self::default() }
    }

    pub fn holders(&self, lock: &str) -> impl Iterator<Item = ActorId> + '_ {
        self.locks.get(lock).into_iter().flat_map(|lock| lock.now.iter().map(|holder| holder.actor))
    }

    /// The largest excess among all locks that have too many holders now.
    pub fn worst(&self) -> Option<Excess> {
        self.locks.values().filter_map(Lock::excess).max_by_key(|excess| excess.holders)
    }

    /// The overlap now with the most holders.
    pub fn widest(&self) -> Option<&Overlap> {
        let open = self.overlaps.iter().filter(|overlap| overlap.end.is_none());
        open.max_by_key(|overlap| self.holders(&overlap.lock).count())
    }

    /// Whether a lock has too many holders now.
    pub fn is_exceeded(&self, lock: &str) -> bool {
        self.locks.get(lock).is_some_and(|lock| lock.excess().is_some())
    }

    /// The largest set of holders that a lock, or one of the locks that match the name, ever had, as the events in
    /// which they came to hold it. Empty if it was never held.
    pub fn most(&self, name: &str) -> &[usize] {
        let locks = self.locks.iter().filter(|(lock, _)| stands_for(name, lock));
        locks.map(|(_, lock)| &lock.most[..]).max_by_key(|most| most.len()).unwrap_or_default()
    }

    /// The lock's limit, and the events in which the holders that exclude its newest holder came to hold it, the newest
    /// last.
    pub fn against_newest(&self, lock: &str) -> (Capacity, Vec<usize>) {
        let lock = self.locks.get(lock);
        lock.map(|lock| (lock.limit, lock.against_newest())).unwrap_or_default()
    }

    /// The current holders of all locks, and whether each shares its lock.
    pub(crate) fn holders_of_all(&self) -> impl Iterator<Item = (ActorId, &str, bool)> {
        let locks = self.locks.iter();
        locks.flat_map(|(name, lock)| {
            lock.now.iter().map(|holder| (holder.actor, name.as_str(), holder.shares))
        })
    }

    /// The locks that were ever held.
    pub(crate) fn ever_held(&self) -> impl Iterator<Item = &str> {
        self.locks.iter().filter(|(_, lock)| !lock.most.is_empty()).map(|(name, _)| name.as_str())
    }

    /// Replaces the holders, as if they had held their locks from the beginning, and sets which actors are dead.
    pub(crate) fn replace_holders<'a>(
        &mut self,
        holders: impl Iterator<Item = (ActorId, &'a str, bool)>,
        dead: impl Iterator<Item = ActorId>,
    ) {
        self.locks.values_mut().for_each(|lock| lock.now.clear());
        for (actor, name, shares) in holders {
            let limit = self.capacity(name);
            let lock = self.locks.entry(name.to_owned()).or_insert_with(|| Lock { limit, ..Lock::default() });
            lock.now.push(Holder { actor, since: 0, shares });
        }
        self.dead = dead.collect();
    }

    /// Whether any lock was ever held.
    pub fn ever(&self) -> bool {
        !self.locks.is_empty()
    }

    /// The stretches with too many holders, in the order in which they began.
    pub fn overlaps(&self) -> &[Overlap] {
        &self.overlaps
    }

    /// One stretch for each group of actors that held a lock together: the one that lasts, or else the first.
    pub fn overlaps_by_group(&self) -> Vec<&Overlap> {
        let mut groups: Vec<&Overlap> = Vec::new();
        for overlap in &self.overlaps {
            let same = |known: &&mut &Overlap| known.lock == overlap.lock && known.holders == overlap.holders;
            match groups.iter_mut().find(same) {
                Some(known) if overlap.end.is_none() => *known = overlap,
                Some(_) => {}
                None => groups.push(overlap),
            }
        }
        groups
    }

    /// The stretches of a lock, or of all locks that match the name.
    pub fn overlaps_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Overlap> {
        self.overlaps.iter().filter(move |overlap| stands_for(name, &overlap.lock))
    }

    /// Reads the event at an index, and returns who has begun or ceased to hold what.
    pub fn take(&mut self, index: usize, event: &Event) -> Vec<HoldingChange> {
        let here = (index, event.at);
        match &event.kind {
            EventKind::LabReady { actors, locks, .. } => {
                self.clients = actors.iter().map(|actor| actor.client.clone()).collect();
                self.known = locks.clone().into();
                Vec::new()
            }
            // A killed actor stays dead.
            EventKind::Believes { actor, .. } if self.dead.contains(actor) => Vec::new(),
            EventKind::Believes { actor, lock, belief } => self.apply_belief(*actor, lock, *belief, here),
            EventKind::Sent { actor, releases, .. } => releases
                .iter()
                .flat_map(|lock| self.apply_belief(*actor, lock, Belief::Nothing, here))
                .collect(),
            EventKind::Fault(fault) => {
                let Some(client) = fault.killed_client() else { return Vec::new() };
                let dead = (0..).map(ActorId).zip(self.clients.iter());
                let dead = dead.filter(|(_, known)| *known == client).map(|(actor, _)| actor);
                self.mark_dead(dead.collect(), here)
            }
            EventKind::GaveUp { actor, .. } => self.mark_dead(vec![*actor], here),
            _ => Vec::new(),
        }
    }

    /// Applies an actor's belief about a lock, if it changes whether or how the actor holds it: one that begins to
    /// share the lock ceases to hold it alone.
    fn apply_belief(
        &mut self,
        actor: ActorId,
        lock: &str,
        belief: Belief,
        here: (usize, LessonTime),
    ) -> Vec<HoldingChange> {
        let (holds, shares) = (belief.holds(), belief == Belief::Sharing);
        let before = self.locks.get(lock).and_then(|lock| lock.since(actor)).map(|holder| holder.shares);
        if before == holds.then_some(shares) {
            return Vec::new();
        }
        let limit = self.capacity(lock);
        let known = self.locks.entry(lock.to_owned()).or_insert_with(|| Lock { limit, ..Lock::default() });
        // A lock that is shared is a read-write lock, whether declared so or not.
        if shares && known.limit == Capacity::default() {
            known.limit = Capacity::ReadWrite;
        }
        let mut changes = Vec::new();
        if before.is_some() {
            known.now.retain(|holder| holder.actor != actor);
            changes.push(HoldingChange { actor, lock: lock.to_owned(), holds: false });
        }
        if holds {
            known.now.push(Holder { actor, since: here.0, shares });
            if known.now.len() > known.most.len() {
                known.most = known.now.iter().map(|holder| holder.since).collect();
            }
            changes.push(HoldingChange { actor, lock: lock.to_owned(), holds: true });
        }
        self.track(lock, here);
        changes
    }

    /// How many may hold a lock at a time.
    pub(crate) fn capacity(&self, lock: &str) -> Capacity {
        LockInfo::named(&self.known, lock).map(|known| known.limit).unwrap_or_default()
    }

    /// A dead actor holds nothing, whatever it is said to believe.
    fn mark_dead(&mut self, dead: Vec<ActorId>, here: (usize, LessonTime)) -> Vec<HoldingChange> {
        let mut changes = Vec::new();
        for lock in self.locks.keys().cloned().collect::<Vec<_>>() {
            changes.extend(
                dead.iter().flat_map(|actor| self.apply_belief(*actor, &lock, Belief::Nothing, here)),
            );
        }
        self.dead.extend(dead);
        changes
    }

    fn track(&mut self, name: &str, (index, at): (usize, LessonTime)) {
        let Some(lock) = self.locks.get(name) else { return };
        let mut overlaps = self.overlaps.iter_mut().rev();
        let lasting = overlaps.find(|overlap| overlap.lock == name && overlap.end.is_none());
        let holders = lock.now.iter().map(|holder| holder.actor);
        match (lasting, lock.excess()) {
            (Some(overlap), Some(excess)) => {
                let holders: Vec<ActorId> = holders.collect();
                if !overlap.holders.iter().all(|holder| holders.contains(holder)) {
                    overlap.apart.get_or_insert(at);
                }
                if excess.holders > overlap.excess.holders {
                    overlap.excess = excess;
                }
            }
            (Some(overlap), None) => {
                (overlap.to, overlap.end) = (Some(at), Some(index));
                overlap.apart.get_or_insert(at);
            }
            (None, Some(excess)) => {
                let mut holders: Vec<ActorId> = holders.collect();
                holders.sort_unstable();
                self.overlaps.push(Overlap {
                    lock: name.to_owned(),
                    from: at,
                    to: None,
                    holders,
                    apart: None,
                    excess,
                    event: index,
                    end: None,
                    evidence: lock.against_newest(),
                });
            }
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Capacity, Holding, HoldingChange, LockInfo};
    use crate::{
        clock::LessonTime,
        log::{
            ActorId, Belief, EventKind,
            testing::{LogBuilder, actor, believes, crash, ready, sent},
        },
        text::Text,
    };

    /// The state after these events with the actors A, B and C, one second apart.
    fn after(kinds: impl IntoIterator<Item = EventKind>) -> (Holding, Vec<HoldingChange>) {
        let log = LogBuilder::new(ready(&[], ["A", "B", "C"].map(actor)));
        let mut log = log.ticking(Duration::from_secs(1));
        for kind in kinds {
            log.add(kind);
        }
        let mut holding = Holding::default();
        let changes = log.events().iter().enumerate().map(|(n, event)| holding.take(n, event)).last();
        (holding, changes.expect("the first event"))
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
        // A command sent under the lock, or for another lock, releases nothing.
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
        for death in [crash("A"), EventKind::GaveUp { actor: ActorId(0), why: Text::default() }] {
            let (holding, _) = after([holds(0), death, holds(1), holds(0)]);
            assert_eq!((now(&holding), holding.overlaps().len()), (vec![1], 0));
        }
    }

    #[test]
    fn an_overlap_lasts_while_two_hold_and_knows_who_began_it_and_how_long_they_did() {
        let (holding, _) =
            after([holds(2), holds(0), asks_for_release(2), holds(1), holds(2), asks_for_release(0)]);
        let [first, second] = holding.overlaps() else { panic!("{:?}", holding.overlaps()) };
        assert_eq!((first.event, first.end), (2, Some(3)), "a request for the release ends it");
        assert_eq!(first.to, Some(LessonTime::from_millis(3000)));
        assert_eq!(first.holders, [ActorId(0), ActorId(2)]);
        assert_eq!((second.event, second.end), (4, None));
        assert_eq!(second.holders, [0, 1].map(ActorId));
        assert_eq!((second.apart, second.to), (Some(LessonTime::from_millis(6000)), None));
        assert_eq!(second.evidence, [2, 4]);
        assert_eq!(holding.most("lock"), [2, 4, 5], "three at one time");
        assert_eq!(holding.worst().map(|excess| excess.holders), Some(2), "two now");
    }
    /// The state after these events with the actors A, B and C, and for each event whether too many held the lock,
    /// given its limit.
    fn exceeded(limit: Capacity, kinds: impl IntoIterator<Item = EventKind>) -> (Holding, Vec<bool>) {
        let mut ready = ready(&[], ["A", "B", "C"].map(actor));
        if let EventKind::LabReady { locks, .. } = &mut ready {
            locks.push(LockInfo { name: "l…k".to_owned(), title: None, limit });
        }
        let mut log = LogBuilder::new(ready);
        for kind in kinds {
            log.add(kind);
        }
        let mut holding = Holding::default();
        let mut seen = Vec::new();
        for (n, event) in log.events().iter().enumerate() {
            holding.take(n, event);
            seen.push(holding.is_exceeded("lock"));
        }
        (holding, seen.split_off(1))
    }

    #[test]
    fn a_third_permit_of_two_is_one_too_many() {
        let (holding, seen) =
            exceeded(Capacity::Holders(2), [holds(0), holds(1), holds(2), asks_for_release(0), holds(0)]);
        assert_eq!(seen, [false, false, true, false, true]);
        let [first, second] = holding.overlaps() else { panic!("{:?}", holding.overlaps()) };
        assert_eq!((&first.evidence[..], first.excess.holders), (&[1, 2, 3][..], 3));
        assert_eq!(second.evidence, [2, 3, 5]);
    }

    #[test]
    fn readers_may_hold_it_together_but_not_with_a_writer() {
        let shares = |actor| believes(actor, Belief::Sharing);
        let (holding, seen) =
            exceeded(Capacity::ReadWrite, [shares(0), shares(1), holds(2), asks_for_release(2), shares(2)]);
        assert_eq!(seen, [false, false, true, false, false]);
        let [overlap] = holding.overlaps() else { panic!("{:?}", holding.overlaps()) };
        assert_eq!((overlap.excess.holders, overlap.excess.shared), (3, 2));
        // A writer that continues as a reader lets readers in; a reader that becomes a writer must be alone.
        let (_, seen) = exceeded(Capacity::ReadWrite, [holds(0), shares(0), shares(1), holds(1)]);
        assert_eq!(seen, [false, false, false, true]);
        let (holding, _) = exceeded(Capacity::ReadWrite, [holds(0), shares(1), shares(2)]);
        assert_eq!(holding.overlaps()[0].evidence, [1, 2], "the other reader is no part of it");
        assert_eq!(holding.against_newest("lock").1, [1, 3]);
    }
}
