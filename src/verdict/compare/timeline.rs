//! Merges two logs into one sequence: events at the same lesson time share a slot.

use std::{collections::HashMap, time::Duration};

use super::moves::NEAR_MILLIS;
use crate::{
    clock::LessonTime,
    log::{Event, EventKind, Log, Stop},
};

/// The same event of both runs shares a slot if its times are at most this far apart.
const NEAR: Duration = Duration::from_millis(NEAR_MILLIS.unsigned_abs());

/// A slot: an event of either run, or the same event of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The event of each run, as an index into its log.
    pub events: [Option<usize>; 2],
    /// Its lesson time: never earlier than that of the slot before.
    pub at: LessonTime,
}

/// Two logs, merged. The order of each is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    pub slots: Vec<Slot>,
    /// Where a learner may stop, as numbers of slots passed. The first is before the first move, the last is the end.
    pub stops: Vec<usize>,
}

impl Timeline {
    /// Merges two logs. Of the moves, faults, waits and notifications that are in both runs at the same lesson time,
    /// the longest sequence in the order of both logs is paired; every other event has a slot of its own, ordered by
    /// time.
    pub fn new(logs: [&Log; 2]) -> Self {
        let mut timeline = Self::default();
        let mut next = [0, 0];
        for pair in anchors(logs).into_iter().chain([[logs[0].len(), logs[1].len()]]) {
            while next[0] < pair[0] || next[1] < pair[1] {
                let side = earlier(logs, next, pair);
                let mut events = [None; 2];
                events[side] = Some(next[side]);
                next[side] += 1;
                timeline.push(logs, events);
            }
            if pair[0] < logs[0].len() && pair[1] < logs[1].len() {
                timeline.push(logs, pair.map(Some));
                next = pair.map(|n| n + 1);
            }
        }
        timeline.stops = timeline.find_stops(logs);
        timeline
    }

    fn push(&mut self, logs: [&Log; 2], events: [Option<usize>; 2]) {
        let at = both(logs, events).map(|event| event.at).min().unwrap_or_default();
        let before = self.slots.last().map_or(LessonTime::ZERO, |slot| slot.at);
        self.slots.push(Slot { events, at: at.max(before) });
    }

    /// A step ends before the next move, or before time passes, once either story has reached a stop.
    fn find_stops(&self, logs: [&Log; 2]) -> Vec<usize> {
        let mut stops = Vec::new();
        let mut pending = true;
        let mut before = LessonTime::ZERO;
        for (n, slot) in self.slots.iter().enumerate() {
            let acts = both(logs, slot.events).any(acts);
            let passes = !stops.is_empty() && slot.at.since(before) > NEAR;
            if pending && (acts || passes) {
                stops.push(n);
                pending = false;
            }
            pending |= both(logs, slot.events).any(ends_a_step);
            before = slot.at;
        }
        if stops.last() != Some(&self.slots.len()) {
            stops.push(self.slots.len());
        }
        stops
    }

    /// The number of events of each run in the first `slots` slots.
    pub fn positions(&self, slots: usize) -> [usize; 2] {
        let over = &self.slots[..slots.min(self.slots.len())];
        [0, 1].map(|side| {
            let last = over.iter().rev().find_map(|slot| slot.events[side]);
            last.map_or(0, |last| last + 1)
        })
    }
}

fn both(logs: [&Log; 2], events: [Option<usize>; 2]) -> impl Iterator<Item = &Event> {
    logs.into_iter().zip(events).filter_map(|(log, event)| log.events().get(event?))
}

/// The side whose next event is the earlier one.
fn earlier(logs: [&Log; 2], next: [usize; 2], end: [usize; 2]) -> usize {
    if next[0] >= end[0] {
        return 1;
    }
    let later = next[1] < end[1] && logs[1].events()[next[1]].at < logs[0].events()[next[0]].at;
    usize::from(later)
}

fn acts(event: &Event) -> bool {
    matches!(event.kind, EventKind::Sent { .. } | EventKind::Took { .. } | EventKind::Fault(_))
}

/// Whether the event ends a step with a move, a wait or a fault: no actor moves while the narrator speaks.
fn ends_a_step(event: &Event) -> bool {
    matches!(event.kind, EventKind::Stop { stop: Stop::Move | Stop::Passed | Stop::Fault | Stop::End, .. })
}

/// Identifies the same event in two runs: its kind and actor, and the index among equal ones.
type Name = (String, usize);

fn names(log: &Log) -> Vec<(usize, Name)> {
    let mut times: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::new();
    for (n, event) in log.events().iter().enumerate() {
        let who = event.kind.actor().map_or("", |actor| log.name(actor));
        let what = match &event.kind {
            EventKind::LabReady { .. } => "the lab".to_owned(),
            EventKind::Sent { label, .. } => format!("sent {who} {label}"),
            EventKind::Took { label, .. } => format!("took {who} {label}"),
            EventKind::Waits { label, .. } => format!("waits {who} {label}"),
            EventKind::Blocked { label, .. } => format!("blocked {who} {label}"),
            EventKind::Counted { counter, .. } => format!("counted {who} {counter}"),
            EventKind::Notified { about, .. } => format!("notified {who} {about}"),
            EventKind::Fault(fault) => format!("fault {fault:?}"),
            _ => continue,
        };
        let nth = times.entry(what.clone()).or_default();
        names.push((n, (what, *nth)));
        *nth += 1;
    }
    names
}

/// The longest sequence of pairs of the same event at the same time, in the order of both logs.
fn anchors(logs: [&Log; 2]) -> Vec<[usize; 2]> {
    let [mine, its] = logs.map(names);
    let its: HashMap<Name, usize> = its.into_iter().map(|(n, name)| (name, n)).collect();
    let time = |side: usize, n: usize| logs[side].events()[n].at;
    let pairs: Vec<[usize; 2]> = mine
        .into_iter()
        .filter_map(|(n, name)| Some([n, *its.get(&name)?]))
        .filter(|[n, m]| {
            let (one, other) = (time(0, *n), time(1, *m));
            one.since(other).max(other.since(one)) <= NEAR
        })
        .collect();
    longest_rising(&pairs)
}

/// The longest subsequence that also rises on the right, of pairs that rise on the left (patience sorting).
fn longest_rising(pairs: &[[usize; 2]]) -> Vec<[usize; 2]> {
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; pairs.len()];
    for (n, pair) in pairs.iter().enumerate() {
        let length = tails.partition_point(|tail| pairs[*tail][1] < pair[1]);
        before[n] = length.checked_sub(1).map(|shorter| tails[shorter]);
        if length == tails.len() {
            tails.push(n);
        } else {
            tails[length] = n;
        }
    }
    let mut chain: Vec<[usize; 2]> =
        std::iter::successors(tails.last().copied(), |n| before[*n]).map(|n| pairs[n]).collect();
    chain.reverse();
    chain
}
