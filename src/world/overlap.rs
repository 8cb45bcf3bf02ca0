//! Moments at which two actors believed to hold one lock: the failure that most lessons are about.

use crate::{clock::LessonTime, log::ActorId};

/// A stretch of time with two or more holders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The lock.
    pub lock: String,
    /// Since when.
    pub from: LessonTime,
    /// Until when; `None` while it lasts.
    pub to: Option<LessonTime>,
    /// Everybody who believed to hold it at some time of the stretch.
    pub holders: Vec<ActorId>,
    /// The index of the event that began it: the evidence.
    pub event: usize,
}

/// Begins, extends or ends the overlap of a lock, given who holds it after the event.
pub(super) fn track(
    overlaps: &mut Vec<Overlap>,
    lock: &str,
    holders: &[ActorId],
    at: LessonTime,
    event: usize,
) {
    let lasting = overlaps
        .iter_mut()
        .rev()
        .find(|overlap| overlap.lock == lock && overlap.to.is_none());
    match (lasting, holders.len() >= 2) {
        (Some(overlap), true) => {
            for holder in holders {
                if !overlap.holders.contains(holder) {
                    overlap.holders.push(*holder);
                }
            }
        }
        (Some(overlap), false) => overlap.to = Some(at),
        (None, true) => {
            overlaps.push(Overlap {
                lock: lock.to_owned(),
                from: at,
                to: None,
                holders: holders.to_vec(),
                event,
            });
        }
        (None, false) => {}
    }
}
