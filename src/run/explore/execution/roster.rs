//! Which actor lives in which client, and how they are named.

use std::sync::Arc;

use crate::{lesson::Scenario, log::ActorId};

#[derive(Debug, Clone)]
pub(crate) struct Roster {
    /// By actor: the number of its client.
    homes: Arc<[usize]>,
    pub(crate) clients: Arc<[String]>,
    actors: Arc<[String]>,
}

impl Roster {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let mut homes = vec![0; scenario.actors.len()];
        for (n, client) in scenario.clients.iter().enumerate() {
            homes[client.actors.clone()].fill(n);
        }
        Self {
            homes: homes.into(),
            clients: scenario.clients.iter().map(|client| client.name.clone()).collect(),
            actors: scenario.actors.iter().map(|plan| plan.actor.name.clone()).collect(),
        }
    }

    /// The client that an actor lives in.
    pub(crate) fn home(&self, actor: ActorId) -> usize {
        self.homes[actor.0 as usize]
    }

    pub(crate) fn runs(&self, actor: ActorId, frozen: Option<usize>) -> bool {
        frozen != Some(self.home(actor))
    }

    /// `A.acquire`.
    pub(crate) fn operation(&self, actor: ActorId, label: &str) -> String {
        format!("{}.{label}", self.actors[actor.0 as usize])
    }
}
