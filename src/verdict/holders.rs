//! Who holds which lock, as its holders believe, event by event. It must not know what is made of two of them.
//!
//! In a race the server's answers to different clients overtake each other: the next holder may be told before the
//! last one has the reply to its own release. So whoever asks for the release with the command right before its
//! `drops` holds the lock only until that command was sent. Everybody else holds it until they say that they do not.
//! Whoever is dead holds nothing.

use std::collections::{BTreeMap, HashSet};

use minijinja::Value;

use crate::{
    effect::calls,
    lesson::{
        Scenario,
        plan::{Instruction, PlannedVerb, Program, ZkPlan},
    },
    log::{ActorId, Belief, Event, EventKind, Fault},
};

/// The holders so far.
#[derive(Debug)]
pub struct Holders {
    /// By actor: its client, and what it lets go of by sending which command.
    actors: Vec<(String, Vec<(String, String)>)>,
    /// By lock and actor: the event in which it came to believe.
    holding: BTreeMap<String, BTreeMap<ActorId, usize>>,
    dead: HashSet<ActorId>,
}

impl Holders {
    /// Nobody holds anything yet.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let actors = scenario
            .actors
            .iter()
            .map(|plan| (plan.actor.client.clone(), departures(&plan.program)));
        Self {
            actors: actors.collect(),
            holding: BTreeMap::new(),
            dead: HashSet::new(),
        }
    }

    /// The lock that has two holders or more with this event, and the events in which they came to believe it.
    pub fn take(&mut self, index: usize, event: &Event) -> Option<(String, Vec<usize>)> {
        match &event.kind {
            EventKind::Believes { actor, lock, belief } => {
                if self.dead.contains(actor) {
                    return None;
                }
                let holders = self.holding.entry(lock.clone()).or_default();
                if *belief != Belief::Holding {
                    holders.remove(actor);
                    return None;
                }
                if holders.contains_key(actor) {
                    return None;
                }
                holders.insert(*actor, index);
                if holders.len() < 2 {
                    return None;
                }
                let mut evidence: Vec<usize> = holders.values().copied().collect();
                evidence.sort_unstable();
                Some((lock.clone(), evidence))
            }
            EventKind::Sent { actor, label, .. } => {
                let (_, departures) = self.actors.get(actor.0 as usize)?;
                for (_, lock) in departures.iter().filter(|(known, _)| known == label) {
                    if let Some(holders) = self.holding.get_mut(lock) {
                        holders.remove(actor);
                    }
                }
                None
            }
            EventKind::Fault(Fault::Crash { client }) => {
                let dead = (0..)
                    .map(ActorId)
                    .zip(&self.actors)
                    .filter(|(_, (known, _))| known == client);
                for actor in dead.map(|(actor, _)| actor).collect::<Vec<_>>() {
                    self.bury(actor);
                }
                None
            }
            EventKind::GaveUp { actor, .. } => {
                self.bury(*actor);
                None
            }
            _ => None,
        }
    }

    /// Whoever is dead holds nothing, whatever it is said to believe.
    fn bury(&mut self, actor: ActorId) {
        self.dead.insert(actor);
        for holders in self.holding.values_mut() {
            holders.remove(&actor);
        }
    }
}

/// The commands right before a `drops` that delete or unlock something, each with its lock.
#[must_use]
pub fn departures(program: &Program) -> Vec<(String, String)> {
    let pairs = program.instructions.windows(2).filter_map(|pair| match pair {
        [
            Instruction::Operate(operation),
            Instruction::Believe {
                lock,
                belief: Belief::Nothing,
            },
        ] if releases(&operation.verb) => Some((operation.label.clone(), lock.clone())),
        _ => None,
    });
    pairs.collect()
}

fn releases(verb: &PlannedVerb) -> bool {
    let deletes = |name: &str| matches!(name.to_ascii_uppercase().as_str(), "DEL" | "UNLINK" | "GETDEL");
    match verb {
        PlannedVerb::Redis(words) => {
            let name = words.first().map(|word| word.render(&Value::UNDEFINED));
            name.is_some_and(|name| name.is_ok_and(|name| deletes(&name)))
        }
        PlannedVerb::Script { source, .. } => calls(source).iter().any(|(name, _)| deletes(name)),
        PlannedVerb::Zk(ZkPlan::Delete { .. }) | PlannedVerb::Local { lock: false, .. } => true,
        _ => false,
    }
}
