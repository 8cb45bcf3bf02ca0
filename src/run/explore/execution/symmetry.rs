//! Which actors may be interchangeable: those of clients with one actor each, in which the same faults may
//! occur. Whether two of them are depends on their slots: actors with equal slots behave alike.

use std::collections::BTreeMap;

use super::rules::Rules;
use crate::{lesson::Scenario, program::actor_id, run::explore::Pick};

#[derive(Debug, Clone)]
pub(crate) struct Symmetry {
    groups: Vec<Vec<usize>>,
    /// The client of each actor.
    clients: Vec<usize>,
}

impl Symmetry {
    /// No actor is interchangeable with another.
    pub(crate) fn none(scenario: &Scenario) -> Self {
        let clients = scenario.clients.iter().enumerate();
        let of_actors = clients.flat_map(|(n, client)| client.actors.clone().map(move |_| n));
        Self { groups: Vec::new(), clients: of_actors.collect() }
    }

    pub(crate) fn of(scenario: &Scenario, rules: &Rules) -> Self {
        let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (n, client) in scenario.clients.iter().enumerate().filter(|(_, client)| client.actors.len() == 1)
        {
            let may = [&rules.crash, &rules.freeze, &rules.lose_reply].map(|clients| clients.contains(&n));
            let own = rules.cut.iter().filter(|(client, _)| *client == n);
            let cut: Vec<usize> = own.map(|(_, server)| *server).collect();
            let skew = rules.skew_client.iter().filter(|(client, _)| *client == n);
            let faults = (may, cut, skew.map(|(_, ahead)| *ahead).collect::<Vec<_>>());
            groups.entry(faults).or_default().extend(client.actors.clone());
        }
        Self { groups: groups.into_values().collect(), ..Self::none(scenario) }
    }

    pub(crate) fn client_of(&self, actor: usize) -> usize {
        self.clients[actor]
    }

    /// Sorts the slots of actors that may be interchangeable. Returns the previous index of each slot.
    pub(crate) fn sort(&self, slots: &mut [u32]) -> Vec<usize> {
        let mut from: Vec<usize> = (0..slots.len()).collect();
        for group in &self.groups {
            let mut sorted = group.clone();
            sorted.sort_by_key(|n| slots[*n]);
            for (to, n) in group.iter().zip(sorted) {
                from[*to] = n;
            }
        }
        let before = slots.to_vec();
        for (slot, n) in slots.iter_mut().zip(&from) {
            *slot = before[*n];
        }
        from
    }

    /// The actors for which a step has the same effect, including the one that it names. Empty if it names
    /// none.
    pub(crate) fn interchangeable(&self, slots: &[u32], pick: Pick) -> Vec<usize> {
        let Some(n) = self.actor_of(pick) else { return Vec::new() };
        match self.groups.iter().find(|group| group.contains(&n)) {
            Some(group) => group.iter().copied().filter(|other| slots[*other] == slots[n]).collect(),
            None => vec![n],
        }
    }

    /// The actor that a step names; for a client of several actors, the first.
    pub(crate) fn actor_of(&self, pick: Pick) -> Option<usize> {
        match pick {
            Pick::Move(actor) | Pick::LoseReply(actor, _) => Some(actor.0 as usize),
            Pick::Timer | Pick::Pass(_) | Pick::Restart(_) | Pick::Skew(..) => None,
            Pick::Thaw(client)
            | Pick::Crash(client)
            | Pick::Freeze(client)
            | Pick::SkewClient(client, _)
            | Pick::Cut(client, _)
            | Pick::Mend(client, _) => self.clients.iter().position(|known| *known == client),
        }
    }

    /// The same step with another actor.
    pub(crate) fn with_actor(&self, pick: Pick, actor: usize) -> Pick {
        let client = self.client_of(actor);
        match pick {
            Pick::Move(_) => Pick::Move(actor_id(actor)),
            Pick::LoseReply(_, server) => Pick::LoseReply(actor_id(actor), server),
            Pick::Cut(_, server) => Pick::Cut(client, server),
            Pick::Mend(_, server) => Pick::Mend(client, server),
            Pick::Timer | Pick::Pass(_) | Pick::Restart(_) | Pick::Skew(..) => pick,
            Pick::Thaw(_) => Pick::Thaw(client),
            Pick::Crash(_) => Pick::Crash(client),
            Pick::Freeze(_) => Pick::Freeze(client),
            Pick::SkewClient(_, ahead) => Pick::SkewClient(client, ahead),
        }
    }
}
