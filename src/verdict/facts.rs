//! What claims can ask about: the functions and names of their expressions, answered from the log alone.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::{Arc, Mutex},
};

use minijinja::{
    Error, ErrorKind, Value,
    value::{Object, ObjectRepr, from_args},
};
use serde_json::Value as Json;

use crate::{
    clock::LessonTime,
    lesson::{Scenario, expr::json_value},
    log::{Event, EventKind, KeyState, KeyValue, Log, Observed, Reply, Role, Znode},
    world::{Life, World},
};

/// A finished run, ready to be asked.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) log: Log,
    world: World,
    /// What each name of a client stands for: the indices of its actors.
    pub(super) groups: HashMap<String, Vec<usize>>,
    /// The events that were looked at.
    pub(super) trace: Mutex<BTreeSet<usize>>,
}

impl Facts {
    pub(super) fn new(scenario: &Scenario, log: &Log) -> Self {
        let world = World::fold(log, log.len());
        let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
        for client in &scenario.clients {
            groups
                .entry(client.name.clone())
                .or_default()
                .extend(client.actors.clone());
            if client.group != client.name {
                groups
                    .entry(client.group.clone())
                    .or_default()
                    .extend(client.actors.clone());
            }
        }
        for (n, plan) in scenario.actors.iter().enumerate() {
            groups.entry(plan.actor.name.clone()).or_insert_with(|| vec![n]);
        }
        Self {
            log: log.clone(),
            world,
            groups,
            trace: Mutex::default(),
        }
    }

    pub(super) fn world(&self) -> &World {
        &self.world
    }

    /// The names and functions as the value that claims are evaluated against.
    pub(super) fn names(self: &Arc<Self>, scenario: &Scenario) -> Value {
        let mut names: HashMap<String, Value> = HashMap::new();
        for plan in &scenario.actors {
            for counter in &plan.program.counters {
                let count = self.world.counters.get(counter).copied().unwrap_or(0);
                names.insert(counter.clone(), count.into());
            }
        }
        for (n, plan) in scenario.actors.iter().enumerate() {
            let facts = Arc::clone(self);
            names.insert(
                plan.actor.name.clone(),
                Value::from_object(ActorFacts { facts, actor: n }),
            );
        }
        for client in &scenario.clients {
            // `A.worker.release`: A is a process, and `worker` a thread of it.
            let first = &scenario.actors[client.actors.start].actor.name;
            if first.contains('.') {
                let facts = Arc::clone(self);
                let threads = ThreadsFacts {
                    facts,
                    process: client.name.clone(),
                };
                names.insert(client.name.clone(), Value::from_object(threads));
            }
        }
        for name in crate::lesson::plan::FUNCTIONS {
            let facts = Arc::clone(self);
            names.insert(name.to_owned(), Value::from_object(Function { facts, name }));
        }
        let mut scope = scenario.scope.clone();
        scope.enter(names);
        scope.value()
    }

    /// The events of the operations that a reference such as `A.acquire` or `acquire` means, by the index of
    /// their `Sent` or `Took`.
    pub(super) fn moves(&self, reference: &str) -> Vec<usize> {
        let (actors, label) = self.reference(reference);
        let mine = |actor: u32| {
            actors
                .as_ref()
                .is_none_or(|actors| actors.contains(&(actor as usize)))
        };
        let made = |event: &Event| match &event.kind {
            EventKind::Sent {
                actor, label: known, ..
            }
            | EventKind::Took {
                actor, label: known, ..
            } => known == label && mine(actor.0),
            _ => false,
        };
        self.log
            .events()
            .iter()
            .enumerate()
            .filter(|(_, event)| made(event))
            .map(|(n, _)| n)
            .collect()
    }

    pub(super) fn reference<'r>(&self, reference: &'r str) -> (Option<&Vec<usize>>, &'r str) {
        match reference.rsplit_once('.') {
            Some((who, label)) if self.groups.contains_key(who) => (self.groups.get(who), label),
            _ => (None, reference),
        }
    }

    fn replies(&self, reference: &str) -> Vec<Value> {
        let (actors, label) = self.reference(reference);
        let events = self.log.events().iter().filter_map(|event| match &event.kind {
            EventKind::Replied {
                actor,
                label: known,
                reply,
                ..
            } if known == label && actors.is_none_or(|actors| actors.contains(&(actor.0 as usize))) => {
                Some(reply_value(reply))
            }
            _ => None,
        });
        events.collect()
    }

    /// The events of the step in which the last such move was made: from after the stop before it to its own
    /// stop.
    pub(super) fn step_of(&self, reference: &str) -> Option<Range<usize>> {
        let moved = *self.moves(reference).last()?;
        let events = self.log.events();
        let is_stop = |event: &Event| matches!(event.kind, EventKind::Stop { .. });
        let start = events[..moved]
            .iter()
            .rposition(is_stop)
            .map_or(0, |stop| stop + 1);
        let end = events[moved..]
            .iter()
            .position(is_stop)
            .map_or(events.len(), |stop| moved + stop);
        Some(start..end)
    }

    fn woken_by(&self, reference: &str) -> Option<usize> {
        let step = self.step_of(reference)?;
        let notified = |event: &&Event| matches!(event.kind, EventKind::Notified { .. });
        Some(self.log.events()[step].iter().filter(notified).count())
    }

    fn metric_by(&self, metric: &str, reference: &str) -> Option<i64> {
        let step = self.step_of(reference)?;
        let value = |event: &Event| match &event.kind {
            EventKind::Metric { name, value, .. } if name == metric => Some(*value),
            _ => None,
        };
        let events = self.log.events();
        let before = events[..step.start].iter().rev().find_map(value)?;
        let after = events[step].iter().rev().find_map(value).unwrap_or(before);
        Some(after - before)
    }

    /// A key of one server, or of the first that has it. The dead hold nothing.
    fn key(&self, name: &str, server: Option<&str>) -> Option<&KeyState> {
        self.world
            .servers
            .iter()
            .filter(|known| known.died.is_none() && server.is_none_or(|wanted| known.info.name == wanted))
            .find_map(|server| match &server.observed {
                Some(Observed::Redis(keyspace)) => keyspace.keys.get(name),
                _ => None,
            })
    }

    /// What a server that lives said last that it is: `master`, `replica`.
    fn role(&self, server: &str) -> Option<&'static str> {
        let known = self
            .world
            .servers
            .iter()
            .find(|known| known.info.name == server)?;
        match (&known.died, &known.observed) {
            (None, Some(Observed::Redis(keyspace))) => match keyspace.role.as_ref()? {
                Role::Master => Some("master"),
                Role::Replica { .. } => Some("replica"),
            },
            _ => None,
        }
    }

    fn live_key(&self, name: &str, server: Option<&str>) -> Option<&KeyState> {
        self.key(name, server)
            .filter(|key| key.expires_at.is_none_or(|end| end > self.world.now))
    }

    fn znode(&self, path: &str) -> Option<&Znode> {
        self.world
            .servers
            .iter()
            .find_map(|server| match &server.observed {
                Some(Observed::Zookeeper(tree)) => tree.nodes.get(path),
                _ => None,
            })
    }

    fn children(&self, path: &str) -> Vec<String> {
        let prefix = if path == "/" {
            "/".to_owned()
        } else {
            format!("{path}/")
        };
        let trees = self
            .world
            .servers
            .iter()
            .filter_map(|server| match &server.observed {
                Some(Observed::Zookeeper(tree)) => Some(tree),
                _ => None,
            });
        trees
            .flat_map(|tree| tree.nodes.keys())
            .filter_map(|known| known.strip_prefix(&prefix))
            .filter(|name| !name.is_empty() && !name.contains('/'))
            .map(str::to_owned)
            .collect()
    }

    fn notified(&self, who: Option<&str>) -> Option<usize> {
        match who {
            None => Some(self.world.actors.iter().map(|actor| actor.notified).sum()),
            Some(who) => Some(
                self.groups
                    .get(who)?
                    .iter()
                    .map(|n| self.world.actors[*n].notified)
                    .sum(),
            ),
        }
    }

    fn finished(&self, who: &str) -> Option<usize> {
        let over = |n: &&usize| self.world.actors[**n].life == Life::Finished;
        Some(self.groups.get(who)?.iter().filter(over).count())
    }

    /// The greatest number of actors that believed to hold a lock at one time.
    fn holders(&self, lock: &str) -> usize {
        let mut world = World::default();
        let mut most = 0;
        for n in 0..self.log.len() {
            if matches!(self.log.events()[n].kind, EventKind::Believes { .. }) {
                world.seek(&self.log, n + 1);
                most = most.max(world.holders(lock).count());
            }
        }
        most
    }
}

fn reply_value(reply: &Reply) -> Value {
    match reply {
        Reply::Value(value) => json_value(value),
        Reply::Error { code, .. } => Value::from(code.as_str()),
        Reply::Lost(_) => Value::from("Lost"),
    }
}

/// An actor in a claim: `A.release` is the last reply to its operation `release`.
#[derive(Debug)]
struct ActorFacts {
    facts: Arc<Facts>,
    actor: usize,
}

impl Object for ActorFacts {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let actor = &self.facts.world.actors[self.actor];
        match key.as_str()? {
            "notified" => Some(actor.notified.into()),
            "finished" => Some((actor.life == Life::Finished).into()),
            label => {
                self.facts.trace_reply(self.actor, label);
                actor.replies.get(label)?.last().map(reply_value)
            }
        }
    }
}

/// A process of several threads in a claim: `A.worker` is its thread `worker`.
#[derive(Debug)]
struct ThreadsFacts {
    facts: Arc<Facts>,
    process: String,
}

impl Object for ThreadsFacts {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = format!("{}.{key}", self.process);
        let actor = self
            .facts
            .world
            .actors
            .iter()
            .position(|actor| actor.who.name == name)?;
        let facts = Arc::clone(&self.facts);
        Some(Value::from_object(ActorFacts { facts, actor }))
    }
}

/// A function of claims.
#[derive(Debug)]
struct Function {
    facts: Arc<Facts>,
    name: &'static str,
}

impl Object for Function {
    fn call(self: &Arc<Self>, _: &mut minijinja::State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        let facts = &self.facts;
        let word = |n: usize| args.get(n).and_then(Value::as_str);
        facts.trace_call(self.name, word(0), word(1));
        let wrong = |text: String| Error::new(ErrorKind::InvalidOperation, text);
        if self.name == "notified" {
            let (who,): (Option<&str>,) = from_args(args)?;
            let count = facts.notified(who);
            return count
                .map(Value::from)
                .ok_or_else(|| wrong(format!("nobody is called {who:?}")));
        }
        if self.name == "metric_by" {
            let (metric, reference): (&str, &str) = from_args(args)?;
            let grown = facts.metric_by(metric, reference);
            return grown
                .map(Value::from)
                .ok_or_else(|| wrong(format!("`{reference}` never moved")));
        }
        if matches!(self.name, "value" | "pttl" | "exists") {
            let (key, server): (&str, Option<&str>) = from_args(args)?;
            if let Some(unknown) =
                server.filter(|name| !facts.world.servers.iter().any(|known| known.info.name == *name))
            {
                return Err(wrong(format!("no server is called `{unknown}`")));
            }
            let state = facts.live_key(key, server);
            return Ok(match self.name {
                // The value of a key: a text for a string, `none` where there is no such key.
                "value" => state.map_or_else(|| Value::from(()), |key| key_value(&key.value)),
                "exists" => (state.is_some() || (server.is_none() && facts.znode(key).is_some())).into(),
                // As Redis' PTTL: milliseconds left, -1 for no expiry, -2 for no key.
                _ => match state {
                    None => (-2).into(),
                    Some(KeyState { expires_at: None, .. }) => (-1).into(),
                    Some(KeyState {
                        expires_at: Some(end),
                        ..
                    }) => (end.as_millis() - facts.world.now.as_millis()).into(),
                },
            });
        }
        let (about,): (&str,) = from_args(args)?;
        Ok(match self.name {
            // What a server says that it is; `none` while it is dead.
            "role" => {
                if !facts.world.servers.iter().any(|known| known.info.name == about) {
                    return Err(wrong(format!("no server is called `{about}`")));
                }
                facts.role(about).map_or_else(|| Value::from(()), Value::from)
            }
            // The actor whose session owns an ephemeral node.
            "owner" => {
                let owner = facts.znode(about).and_then(|node| node.owner);
                let actor = owner.and_then(|session| facts.world.session_owner(session));
                match actor.and_then(|actor| facts.world.actor(actor)) {
                    Some(actor) => actor.who.name.as_str().into(),
                    None => Value::from(()),
                }
            }
            "children" => Value::from_iter(facts.children(about)),
            "replies" => Value::from_iter(facts.replies(about)),
            "moves" => facts.moves(about).len().into(),
            "woken_by" => {
                let count = facts.woken_by(about);
                count
                    .ok_or_else(|| wrong(format!("`{about}` never moved")))?
                    .into()
            }
            "holders" => facts.holders(about).into(),
            "finished" => {
                let count = facts.finished(about);
                count
                    .ok_or_else(|| wrong(format!("nobody is called `{about}`")))?
                    .into()
            }
            other => return Err(wrong(format!("no function `{other}`"))),
        })
    }
}

fn key_value(value: &KeyValue) -> Value {
    match value {
        KeyValue::String(text) => text.as_str().into(),
        other => json_value(&serde_json::to_value(other).unwrap_or(Json::Null)),
    }
}

/// A moment as it is written in a verdict: seconds of lesson time.
pub(super) fn moment(at: LessonTime) -> String {
    at.to_string()
}
