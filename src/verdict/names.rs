//! The names and functions that expressions over what happened can use, each answered by the facts.

use std::{collections::HashMap, sync::Arc};

use minijinja::{
    Error, ErrorKind, Value,
    value::{Object, ObjectRepr, from_args},
};
use serde_json::Value as Json;

use super::facts::Facts;
use crate::{
    lesson::{Scenario, expr::json_value},
    log::{KeyState, KeyValue, Reply},
    world::{Life, effect::Access},
};

impl Facts {
    /// The names and functions as the value that claims are evaluated against.
    pub(crate) fn names(self: &Arc<Self>, scenario: &Scenario) -> Value {
        let mut names: HashMap<String, Value> = HashMap::new();
        for plan in &scenario.actors {
            for counter in &plan.program.counters {
                let count = self.world.counters.get(counter).copied().unwrap_or(0);
                names.insert(counter.clone(), count.into());
            }
        }
        for (n, plan) in scenario.actors.iter().enumerate() {
            let facts = Arc::clone(self);
            names.insert(plan.actor.name.clone(), Value::from_object(ActorFacts { facts, actor: n }));
        }
        for client in &scenario.clients {
            // `A.worker.release`: A is a process, and `worker` a thread of it.
            let first = scenario.actors[client.actors.clone()].first();
            if first.is_some_and(|plan| plan.actor.name.contains('.')) {
                let facts = Arc::clone(self);
                let threads = ThreadsFacts { facts, process: client.name.clone() };
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
}

/// A reply as expressions see it.
pub(crate) fn reply_value(reply: &Reply) -> Value {
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
        let actor = self.facts.world.actors.iter().position(|actor| actor.who.name == name)?;
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
            return count.map(Value::from).ok_or_else(|| wrong(format!("nobody is called {who:?}")));
        }
        if self.name == "metric_by" {
            let (metric, reference): (&str, &str) = from_args(args)?;
            let grown = facts.metric_by(metric, reference);
            return grown.map(Value::from).ok_or_else(|| wrong(format!("`{reference}` never moved")));
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
                "exists" => (state.is_some() || (server.is_none() && facts.entry(key).is_some())).into(),
                // As Redis' PTTL: milliseconds left, -1 for no expiry, -2 for no key.
                _ => match state {
                    None => (-2).into(),
                    Some(KeyState { expires_at: None, .. }) => (-1).into(),
                    Some(KeyState { expires_at: Some(end), .. }) => {
                        (end.as_millis() - facts.world.now.as_millis()).into()
                    }
                },
            });
        }
        if self.name == "herd" {
            let (): () = from_args(args)?;
            return Ok(facts.key_history.herd().len().into());
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
                let owner = facts.entry(about).and_then(|entry| entry.owner());
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
                count.ok_or_else(|| wrong(format!("`{about}` never moved")))?.into()
            }
            "holders" => facts.holders(about).into(),
            "orphaned" => facts.orphaned(about).into(),
            // How often somebody did that to a key which another client had set.
            "deleted_by_another" => facts.key_history.foreign(about, Access::Deleted).len().into(),
            "renewed_by_another" => facts.key_history.foreign(about, Access::Expiry).len().into(),
            "finished" => {
                let count = facts.finished(about);
                count.ok_or_else(|| wrong(format!("nobody is called `{about}`")))?.into()
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
