//! The names and functions of expressions over the log, answered from the facts.

use std::{collections::HashMap, sync::Arc};

use minijinja::{
    Error, ErrorKind, Value,
    value::{Object, ObjectRepr, Rest, from_args},
};
use serde_json::Value as Json;

use super::facts::Facts;
use crate::{
    lesson::{
        Scenario,
        expr::json_value,
        plan::{ClientPlan, FUNCTIONS},
    },
    log::{ActorId, Belief, Entry, EventKind, KeyValue, Observed, Reply, stands_for},
    world::{Life, effect::Access},
};

impl Facts {
    /// The value that provides the names and functions to claims.
    pub(crate) fn names(self: &Arc<Self>, scenario: &Scenario) -> Value {
        let mut names: HashMap<String, Value> = HashMap::new();
        for counter in &scenario.counters {
            let count = self.world.counters.get(counter).copied().unwrap_or(0);
            names.insert(counter.clone(), count.into());
        }
        let actors = scenario.actors.iter().map(|plan| &plan.actor.name);
        // `A.worker.release`: A is a process, and `worker` is one of its threads.
        let threads = |client: &&ClientPlan| {
            let first = scenario.actors[client.actors.clone()].first();
            first.is_some_and(|plan| plan.actor.name.contains('.'))
        };
        let processes = scenario.clients.iter().filter(threads).map(|client| &client.name);
        for name in actors.chain(processes) {
            let (facts, name) = (Arc::clone(self), name.clone());
            names.insert(name.clone(), Value::from_object(NamedFacts { facts, name }));
        }
        for name in FUNCTIONS {
            let facts = Arc::clone(self);
            let call = move |args: Rest<Value>| facts.call(name, &args);
            names.insert(name.to_owned(), Value::from_function(call));
        }
        let mut scope = scenario.scope.clone();
        scope.enter(names);
        scope.value()
    }
}

pub(crate) fn reply_value(reply: &Reply) -> Value {
    match reply {
        Reply::Value(value) => json_value(value),
        Reply::Error { code, .. } => Value::from(code.as_str()),
        Reply::Lost(_) => Value::from("Lost"),
    }
}

/// The value of a name in a claim: an actor, where `A.release` is the last reply to its operation `release`; or a
/// process with several threads, where `A.worker` is one of them.
#[derive(Debug)]
struct NamedFacts {
    facts: Arc<Facts>,
    name: String,
}

impl Object for NamedFacts {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let (facts, name) = (&self.facts, format!("{}.{key}", self.name));
        if facts.groups.contains_key(&name) {
            return Some(Value::from_object(Self { facts: Arc::clone(facts), name }));
        }
        let id = *facts.groups.get(&self.name)?.first()?;
        let actor = facts.world.actor(id).filter(|actor| actor.who.name == self.name)?;
        match key.as_str()? {
            "notified" => Some(actor.notified.into()),
            "finished" => Some((actor.life == Life::Finished).into()),
            "crashed" => Some((actor.life == Life::Crashed).into()),
            wanted => {
                let replied = |kind: &EventKind| kind.answers() == Some((id, wanted));
                facts.note(|| facts.events(replied).next_back());
                actor.replies.get(wanted).map(|reply| reply_value(reply))
            }
        }
    }
}

impl Facts {
    /// Evaluates a function of claims, and records the events that its value is based on.
    fn call(&self, function: &str, args: &[Value]) -> Result<Value, Error> {
        match function {
            "notified" => {
                let (who,): (Option<&str>,) = from_args(args)?;
                let members = who.map(|who| self.members(who)).transpose()?;
                let meant = |actor: &ActorId| members.is_none_or(|members| members.contains(actor));
                let notified =
                    self.events(|kind| matches!(kind, EventKind::Notified { actor, .. } if meant(actor)));
                return Ok(self.counted(notified.collect()));
            }
            "metric_by" => {
                let (metric, reference): (&str, &str) = from_args(args)?;
                return self.metric_by(metric, reference);
            }
            // Whether the last of the first moves was done before the last of the second moves.
            "before" => {
                let (first, second): (&str, &str) = from_args(args)?;
                return Ok((self.done(first)? < self.done(second)?).into());
            }
            "waited" => {
                let (who, lock): (&str, Option<&str>) = from_args(args)?;
                return self.waited(who, lock);
            }
            "value" | "pttl" | "exists" => {
                let (key, server): (&str, Option<&str>) = from_args(args)?;
                return self.about_key(function, key, server);
            }
            // The number of notifications of the change that woke the most clients.
            "herd" => {
                let (): () = from_args(args)?;
                return Ok(self.counted(self.key_history().wakeups.largest().to_vec()));
            }
            _ => {}
        }
        let (about,): (&str,) = from_args(args)?;
        Ok(match function {
            // The role that a server reports; `none` while it is dead.
            "role" => {
                self.note(|| {
                    self.last_change(Some(about), |observed| Some(format!("{:?}", observed.role()?)))
                });
                self.check_server(about)?;
                self.role(about).map_or_else(|| Value::from(()), Value::from)
            }
            // The actor whose session owns an ephemeral node.
            "owner" => {
                self.note(|| self.last_change(None, |observed| held(observed, about)));
                let owner = self.entry(about).and_then(Entry::owner);
                let actor = owner.and_then(|session| self.world.session_owner(session));
                let actor = actor.and_then(|actor| self.world.actor(actor));
                actor.map_or_else(|| Value::from(()), |actor| actor.who.name.as_str().into())
            }
            "children" => {
                let below = format!("{}/", about.trim_end_matches('/'));
                self.note(|| {
                    self.last_change(None, |observed| match observed {
                        Observed::Redis(_) => None,
                        other => {
                            let paths = other.entries().into_keys().filter(|path| path.starts_with(&below));
                            Some(format!("{:?}", paths.collect::<Vec<_>>()))
                        }
                    })
                });
                Value::from_iter(self.children(about))
            }
            "replies" => {
                let replies = self.replies(about);
                self.note(|| replies.iter().copied());
                let events = self.log.events();
                replies.iter().filter_map(|n| Some(reply_value(events[*n].kind.answer()?.as_ref()))).collect()
            }
            "moves" => self.counted(self.moves(about)),
            // When the last of these moves was done, in milliseconds since the lesson began.
            "at" => self.log.events()[self.done(about)?].at.as_millis().into(),
            "woken_by" => {
                let moved = self.last_move(about)?;
                let notified = |n: &usize| matches!(self.log.events()[*n].kind, EventKind::Notified { .. });
                self.counted(self.step_of(moved).filter(notified).collect())
            }
            // The greatest number of actors that held a lock at a time.
            "holders" => self.counted(self.world.holding.most(about).to_vec()),
            "orphaned" => {
                self.note(|| self.orphaned_since(about));
                self.orphaned(about).into()
            }
            // How often a client did that to a key which another client had set.
            "deleted_by_another" => self.counted(self.key_history().foreign(about, Access::Deleted).to_vec()),
            "renewed_by_another" => self.counted(self.key_history().foreign(about, Access::Expiry).to_vec()),
            "finished" => {
                let members = self.members(about)?;
                self.note(|| {
                    self.events(
                        |kind| matches!(kind, EventKind::Finished { actor } if members.contains(actor)),
                    )
                });
                let finished = |actor: &&ActorId| {
                    self.world.actor(**actor).is_some_and(|actor| actor.life == Life::Finished)
                };
                members.iter().filter(finished).count().into()
            }
            other => return Err(wrong(format!("no function `{other}`"))),
        })
    }

    fn about_key(&self, function: &str, key: &str, server: Option<&str>) -> Result<Value, Error> {
        self.note(|| self.last_change(server, |observed| held(observed, key)));
        server.map(|server| self.check_server(server)).transpose()?;
        let state = self.key(key, server);
        Ok(match function {
            // The value of a key: a text for a string, `none` if there is no such key.
            "value" => match (state, self.entry(key)) {
                (Some(key), _) => key_value(&key.value),
                (None, Some(Entry::Row(row))) => json_value(&row.value()),
                (None, Some(Entry::Pair(pair))) => pair.value.as_str().into(),
                (None, Some(Entry::Node(node))) => node.data.as_str().into(),
                (None, Some(Entry::Key(_) | Entry::File(_)) | None) => Value::from(()),
            },
            "exists" => (state.is_some() || (server.is_none() && self.entry(key).is_some())).into(),
            // As Redis' PTTL: milliseconds left, -1 for no expiry, -2 for no key.
            _ => match state.map(|key| key.expires_at) {
                None => (-2).into(),
                Some(None) => (-1).into(),
                Some(Some(end)) => (end.as_millis() - self.world.now.as_millis()).into(),
            },
        })
    }

    /// The number of events, all of which are recorded as evidence.
    fn counted(&self, events: Vec<usize>) -> Value {
        let count = events.len();
        self.note(|| events);
        count.into()
    }

    fn members(&self, who: &str) -> Result<&[ActorId], Error> {
        let members = self.groups.get(who).map(Vec::as_slice);
        members.ok_or_else(|| wrong(format!("nobody is called `{who}`")))
    }

    fn check_server(&self, name: &str) -> Result<(), Error> {
        self.world.server(name).map(|_| ()).ok_or_else(|| wrong(format!("no server is called `{name}`")))
    }

    /// The event that ended the last of the moves that match a reference: its reply, or the end of its wait. Recorded
    /// as evidence.
    fn done(&self, reference: &str) -> Result<usize, Error> {
        let is_meant = self.refers(reference);
        let waited = |kind: &EventKind| matches!(kind, EventKind::Waited { actor, label, .. } if is_meant(*actor, label));
        let done = self.replies(reference).pop().or_else(|| self.events(waited).next_back());
        self.note(|| done);
        // As with a reply that has not come yet, every comparison with it is false.
        let never = || Error::new(ErrorKind::UndefinedError, format!("`{reference}` was never done"));
        done.ok_or_else(never)
    }

    /// The longest uninterrupted wait of one of these actors for a lock, in milliseconds: from `waits` until it
    /// believed something else, or was killed.
    fn waited(&self, who: &str, lock: Option<&str>) -> Result<Value, Error> {
        let members = self.members(who)?;
        let end = self.log.len().saturating_sub(1);
        let mut since: HashMap<(ActorId, &str), usize> = HashMap::new();
        let mut stretches = Vec::new();
        for (n, event) in self.log.events().iter().enumerate() {
            match &event.kind {
                EventKind::Believes { actor, lock: about, belief } if members.contains(actor) => {
                    if *belief == Belief::Waiting {
                        since.entry((*actor, about)).or_insert(n);
                    } else {
                        stretches.extend(
                            since.remove(&(*actor, about.as_str())).map(|begun| (about.as_str(), begun, n)),
                        );
                    }
                }
                EventKind::Fault(fault) if let Some(client) = fault.killed_client() => {
                    let dead: Vec<ActorId> = self.log.actors_of(client).collect();
                    let ended = since.extract_if(|(actor, _), _| dead.contains(actor));
                    stretches.extend(ended.map(|((_, about), begun)| (about, begun, n)));
                }
                _ => {}
            }
        }
        if self.only_lasting_waits {
            stretches.clear();
        }
        stretches.extend(since.into_iter().map(|((_, about), begun)| (about, begun, end)));
        let at = |n: usize| self.log.events()[n].at.as_millis();
        let meant =
            stretches.into_iter().filter(|(about, ..)| lock.is_none_or(|lock| stands_for(lock, about)));
        let longest =
            meant.max_by_key(|(_, begun, ended)| (at(*ended) - at(*begun), std::cmp::Reverse(*begun)));
        self.note(|| longest.into_iter().flat_map(|(_, begun, ended)| [begun, ended]));
        Ok(longest.map_or(0, |(_, begun, ended)| at(ended) - at(begun)).into())
    }

    /// The last move that matches a reference. Recorded as evidence.
    fn last_move(&self, reference: &str) -> Result<usize, Error> {
        let moved = self.moves(reference).pop();
        self.note(|| moved);
        // As with a reply that has not come yet.
        let never = || Error::new(ErrorKind::UndefinedError, format!("`{reference}` never moved"));
        moved.ok_or_else(never)
    }

    /// How much a metric of a server grew in the step of a move.
    fn metric_by(&self, metric: &str, reference: &str) -> Result<Value, Error> {
        let step = self.step_of(self.last_move(reference)?);
        let read = |kind: &EventKind| matches!(kind, EventKind::Metric { name, .. } if name == metric);
        let last = |end: usize| self.events(read).rfind(|n| *n < end);
        let value = |reading: usize| match &self.log.events()[reading].kind {
            EventKind::Metric { value, .. } => *value,
            _ => 0,
        };
        let after = last(step.end);
        self.note(|| after);
        let grown = last(step.start).zip(after).map(|(before, after)| value(after) - value(before));
        let first = || {
            wrong(format!(
                "`{metric}` is read after each step, and there is none before `{reference}`: ask of a later move"
            ))
        };
        grown.map(Value::from).ok_or_else(first)
    }
}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, text)
}

/// What a server holds under a name, as a text that differs when it changes.
fn held(observed: &Observed, name: &str) -> Option<String> {
    match observed {
        Observed::Redis(keyspace) => keyspace.keys.get(name).map(|key| format!("{key:?}")),
        other => other.entry(name).map(|entry| format!("{:?} {}", entry.owner(), entry.text())),
    }
}

fn key_value(value: &KeyValue) -> Value {
    match value {
        KeyValue::String(text) => text.as_str().into(),
        other => json_value(&serde_json::to_value(other).unwrap_or(Json::Null)),
    }
}
