//! The selected event: the next one, the exchange it belongs to, what it changed.

use std::collections::BTreeMap;

use super::{Scene, wire};
use crate::{
    log::{EventKind, Observed},
    ui::chart::actor_with_tick,
    world::{self, Change},
};

/// How many events are searched for the state after an event.
const AHEAD: usize = 4000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Timeline,
    Sequence,
    Wire,
}

/// The event `by` places after the selected one, as far as there are any; the newest if none is selected.
pub fn neighbour(scene: &Scene<'_>, order: Order, by: i32) -> Option<usize> {
    let events = events(scene, order);
    let Some(chosen) = scene.selected else { return events.last().copied() };
    // Events shown together are skipped together.
    let here = match order {
        Order::Timeline => chosen,
        Order::Sequence => {
            let row = scene.sequence.row_of(chosen).and_then(|row| scene.sequence.rows.get(row));
            row.map_or(chosen, |row| row.event)
        }
        Order::Wire => exchange(scene, chosen).0,
    };
    let count = by.unsigned_abs() as usize;
    let found = if by > 0 {
        let after = &events[events.partition_point(|event| *event <= here)..];
        after.get(count - 1).or(after.last())
    } else {
        let before = &events[..events.partition_point(|event| *event < here)];
        before.get(before.len().saturating_sub(count))
    };
    found.copied().or(Some(chosen))
}

/// The events that can be selected, oldest first.
fn events(scene: &Scene<'_>, order: Order) -> Vec<usize> {
    match order {
        Order::Timeline => (0..scene.world.position).filter(|event| is_tick(scene, *event)).collect(),
        Order::Sequence => {
            let known = scene.sequence.known(scene.world.position);
            let rows = scene.sequence.rows[..known].iter();
            rows.filter(|row| row.is_selectable()).map(|row| row.event).collect()
        }
        Order::Wire => scene.chart.wire[..wire::rows(scene)].iter().map(|row| row.event).collect(),
    }
}

/// Whether an event has a tick on the timeline; equal events of a crowd share one.
fn is_tick(scene: &Scene<'_>, event: usize) -> bool {
    let Some(kind) = scene.event(event) else { return false };
    let Some(actor) = actor_with_tick(kind) else { return matches!(kind, EventKind::Fault(_)) };
    let lane = scene.chart.lanes.get(actor.0 as usize);
    // Of equal waits only the first has a tick.
    if matches!(kind, EventKind::Waits { .. }) && lane.is_some_and(|lane| !lane.shows(event)) {
        return false;
    }
    let band = lane.and_then(|lane| scene.chart.bands.get(lane.band?));
    band.is_none_or(|band| band.runs.binary_search_by_key(&event, |run| run.first).is_ok())
}

/// The command of the event's exchange and its reply, if there is one; otherwise the event itself.
pub fn exchange(scene: &Scene<'_>, event: usize) -> (usize, Option<usize>) {
    let exchanges = &scene.world.exchanges;
    let found = match scene.event(event) {
        Some(EventKind::Sent { .. }) => exchanges.binary_search_by_key(&event, |exchange| exchange.sent).ok(),
        Some(EventKind::Replied { .. }) => {
            // The command is searched backwards, because it is usually close.
            let before = exchanges.partition_point(|exchange| exchange.sent < event);
            exchanges[..before].iter().rposition(|exchange| exchange.replied == Some(event))
        }
        _ => None,
    };
    found.map_or((event, None), |n| (exchanges[n].sent, exchanges[n].replied))
}

/// The changes of an event on the servers, by server: the difference between the states before and right after it.
pub fn changes<'a>(scene: &Scene<'a>, event: usize) -> BTreeMap<&'a str, BTreeMap<String, Change>> {
    let mut changes = BTreeMap::new();
    let log = scene.log.events();
    let (sent, replied) = exchange(scene, event);
    let Some(logged) = log.get(sent) else { return changes };
    let last = match &logged.kind {
        // A reply beyond the playhead reveals nothing yet.
        EventKind::Sent { .. } => match replied {
            Some(replied) => replied,
            None => return changes,
        },
        EventKind::Fault(_) | EventKind::ServerDied { .. } => sent,
        EventKind::State(_) => {
            let before = scene.sequence.states_from(sent).next().and_then(|(_, before)| before);
            changes.extend(change(scene, sent, before));
            return changes;
        }
        _ => return changes,
    };
    // States after the next command or the end of the step reflect something else.
    let end = log
        .iter()
        .enumerate()
        .skip(last + 1)
        .take(AHEAD)
        .find(|(_, event)| {
            matches!(event.kind, EventKind::Sent { .. } | EventKind::Stop { .. } | EventKind::Fault(_))
        })
        .map_or(log.len(), |(end, _)| end)
        .min(scene.world.position);
    let seen = scene.sequence.states_from(last + 1);
    for (state, before) in seen.take_while(|(state, _)| *state < end) {
        changes.extend(change(scene, state, before));
    }
    changes
}

fn change<'a>(
    scene: &Scene<'a>,
    state: usize,
    before: Option<usize>,
) -> Option<(&'a str, BTreeMap<String, Change>)> {
    let observed = |event: usize| -> Option<(&'a str, &'a Observed)> {
        match scene.event(event)? {
            EventKind::State(state) => Some((&state.server, &state.observed)),
            _ => None,
        }
    };
    let (server, after) = observed(state)?;
    let before = before.and_then(observed).map(|(_, before)| before);
    let changes = world::changes(before, after);
    (!changes.is_empty()).then_some((server, changes))
}
