//! Finds moves of a story that wait inside a server without end: for something another client holds, or for an item
//! nobody has put in. A `move` ends with its reply, so nobody could act meanwhile; the story has to `send` the
//! operation instead.

use std::collections::BTreeMap;

use super::{
    super::{
        error::{Mistake, Path},
        expr::Template,
        has_word,
    },
    Act, ActorPlan, PlannedMove, PlannedOperation, PlannedVerb, Scenario,
    sql::{self, rows, tables},
};
use crate::{
    log::{ANY, Fault, Flock, Product, stands_for},
    text::both,
};

/// The effect of an operation on a resource that only one client can hold.
enum Effect {
    /// Takes the resource. The flag says whether it waits until the resource is free.
    Acquires(String, bool),
    Releases(String),
    BeginsTransaction,
    /// Ends a transaction, and releases all its rows.
    EndsTransaction,
    /// Takes an item out of lists, and waits until one is there.
    Pops(Vec<String>),
    /// Waits until a key of etcd is gone that its own last request has just seen.
    Watches,
    /// Sends these words.
    Sends(Vec<String>),
}

fn effect(verb: &PlannedVerb, plan: Option<&ActorPlan>) -> Effect {
    let words = |words: &[Template]| words.iter().map(Template::pattern).collect::<Vec<_>>();
    let filled = |template: &Template| plan.map_or_else(|| template.pattern(), |plan| plan.filled(template));
    match verb {
        PlannedVerb::Flock { call: Flock::Unlock, path } => Effect::Releases(filled(path)),
        PlannedVerb::Flock { call, path } => Effect::Acquires(filled(path), *call == Flock::Lock),
        PlannedVerb::Script { keys, .. } => Effect::Sends(words(keys)),
        PlannedVerb::Redis(sent) => match &words(sent)[..] {
            [name, keys @ .., end] if has_word("BLPOP BRPOP", &name.to_ascii_uppercase()) && end == "0" => {
                Effect::Pops(keys.to_vec())
            }
            sent => Effect::Sends(sent.to_vec()),
        },
        PlannedVerb::Call(call) if call.product() == Product::Etcd && call.name() == "watch" => {
            Effect::Watches
        }
        PlannedVerb::Call(call) if call.product() == Product::Mariadb => {
            let text: String = call.operands("TEXT").map(filled).collect();
            if let Some((row, waits)) = sql::locked_row(&text) {
                return Effect::Acquires(format!(" FROM {row}"), waits);
            }
            let upper = text.to_ascii_uppercase();
            match tables::words(&upper).next() {
                Some("BEGIN" | "START") => Effect::BeginsTransaction,
                Some("COMMIT" | "ROLLBACK") => Effect::EndsTransaction,
                Some("SELECT") if upper.trim_end().ends_with("FOR UPDATE") => {
                    let from = upper.find(" FROM ").unwrap_or_default();
                    Effect::Acquires(upper[from..].to_owned(), true)
                }
                _ => Effect::Sends(Vec::new()),
            }
        }
        _ => Effect::Sends(Vec::new()),
    }
}

/// What a move waits for: an actor that holds the resource, or anybody who adds an item.
enum Waits {
    For(u32),
    ForAnybody,
}

/// The holder of each resource, the actors in a transaction, and the words sent so far.
#[derive(Default)]
struct State {
    held: BTreeMap<String, u32>,
    begun: Vec<u32>,
    sent: Vec<String>,
    /// Who made the last move, unless time has passed since.
    last: Option<u32>,
}

pub(crate) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let mut state = State::default();
    for line in &scenario.setup {
        if let Effect::Sends(words) = effect(&line.verb, None) {
            state.sent.extend(words);
        }
    }
    for line in &scenario.story {
        match &line.act {
            Act::Each(moves) => {
                for one in moves {
                    let Some(operation) = scenario.operation_of(one) else { return Ok(()) };
                    if let Some(whose) = state.after(scenario, one.actor.0, operation) {
                        return Err(blocked(scenario, one, &line.path, &whose));
                    }
                }
            }
            Act::Faults(faults) => {
                state.last = None;
                for fault in faults {
                    match fault {
                        Fault::Crash { client } => state
                            .held
                            .retain(|_, actor| scenario.actors[*actor as usize].actor.client != *client),
                        Fault::Freeze { .. } | Fault::Thaw { .. } => {}
                        // Other faults affect connections, and what the server then releases is not modelled: the check
                        // ends here.
                        _ => return Ok(()),
                    }
                }
            }
            Act::Say(_) | Act::Ask(_) => {}
            Act::Pass(pass) if pass.moving.is_empty() => state.last = None,
            // From here on an actor may already wait, or moves by itself: the check ends here.
            _ => return Ok(()),
        }
    }
    Ok(())
}

impl State {
    /// Applies a move, and returns what it waits for without end, if anything.
    fn after(&mut self, scenario: &Scenario, actor: u32, operation: &PlannedOperation) -> Option<Waits> {
        // Lesson time does not pass in a move, so a wait for a row does not end with an error, unless the settings say
        // otherwise.
        let ends_itself = |code: &String| code == "1205" && scenario.settings().lock_wait_timeout.is_some();
        let waits_on = |what: &str| match what.strip_prefix(" FROM ") {
            Some(row) => {
                let copes =
                    operation.allow.iter().any(|code| code != "1213" && code != "1205" || ends_itself(code));
                let key = row.split(' ').next().unwrap_or(row);
                // A row that a program inserts may not be there yet.
                !copes && rows::row_lint(key, scenario).is_none() && !rows::are_inserted(key, scenario)
            }
            None => operation.allow.is_empty(),
        };
        match effect(&operation.verb, scenario.actors.get(actor as usize)) {
            Effect::Acquires(what, waits) if !what.contains(ANY) => match self.held.get(&what) {
                Some(other) if *other != actor && waits && waits_on(&what) => {
                    return Some(Waits::For(*other));
                }
                Some(_) => {}
                // Without a transaction, a row is free again as soon as the statement ends.
                None if what.starts_with(" FROM ") && !self.begun.contains(&actor) => {}
                None => drop(self.held.insert(what, actor)),
            },
            Effect::Releases(what) => drop(self.held.remove(&what)),
            Effect::BeginsTransaction => self.begun.push(actor),
            Effect::EndsTransaction => {
                self.begun.retain(|other| *other != actor);
                self.held.retain(|_, other| *other != actor);
            }
            Effect::Pops(keys) => {
                let is_put = |key: &String| self.sent.iter().any(|word| stands_for(word, key));
                if !keys.iter().any(is_put) {
                    return Some(Waits::ForAnybody);
                }
            }
            Effect::Watches if self.last == Some(actor) => return Some(Waits::ForAnybody),
            Effect::Acquires(..) | Effect::Watches => {}
            Effect::Sends(words) => self.sent.extend(words),
        }
        self.last = Some(actor);
        None
    }
}

fn blocked(scenario: &Scenario, one: &PlannedMove, path: &Path, whose: &Waits) -> Mistake {
    let name = |actor: u32| &scenario.actors[actor as usize].actor.name;
    let moved = format!("{}.{}", name(one.actor.0), one.label);
    let message = match whose {
        Waits::For(whose) => {
            let whose = name(*whose);
            both!(
                "`{moved}` waits here for what {whose} holds, and a move ends with its reply",
                "`{moved}` 在这里要等 {whose} 释放，而 `move` 要收到回复才算结束"
            )
        }
        Waits::ForAnybody => both!(
            "`{moved}` waits here until somebody else changes its key, and a move ends with its reply",
            "`{moved}` 在这里要等别人改动它的键，而 `move` 要收到回复才算结束"
        ),
    };
    Mistake::new(path, message).help(both!(
        "`- send: {moved}` lets others go on before it is answered",
        "写成 `- send: {moved}`，它收到回复之前别人可以继续"
    ))
}
