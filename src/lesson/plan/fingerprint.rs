//! Identifies a variant's runs: a digest of everything that a run depends on.
//!
//! The digest is over JSON: lists that begin with a word and contain names, numbers and the author's expressions as
//! they were written. None of it is produced by Rust's `Debug` or named after a type or field, because recordings
//! outlive those.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    Act, Instruction, PlannedMove, PlannedOperation, PlannedVerb, Program, RightPlan, Scenario, TakePlan,
    TextPlan,
};

impl Scenario {
    /// A digest of everything that determines a log of this variant: the lab, the parameters, the clients, the programs
    /// with the recipes that they use, and the story with its texts. Titles, claims, invariants, interview cards and
    /// lines of other variants are not included: they can change while a log stays valid.
    pub fn fingerprint(&self) -> String {
        format!("{:016x}", fnv1a(self.followed().to_string().as_bytes()))
    }

    fn followed(&self) -> Value {
        let (lesson, variant) = (&self.loaded.lesson, self.variant());
        let params = lesson.params.iter().chain(&variant.params).chain(&self.overrides);
        let params: BTreeMap<&String, Value> = params.map(|(name, param)| (name, param.into())).collect();
        let setup = self.setup.iter().map(|setup| json!([verb(&setup.verb), setup.on]));
        let clients = variant.clients.as_ref().unwrap_or(&lesson.clients);
        let clients = clients.iter().map(|(name, client)| {
            let known = json!([name, pairs(&client.with)]);
            match &client.passes {
                _ if client.exec.is_empty() => known,
                None => json!([known, client.exec]),
                Some(passes) => json!([known, client.exec, passes]),
            }
        });
        let programs = self.loaded.programs();
        let programs = programs.iter().map(|file| json!(format!("{:016x}", fnv1a(file))));
        let libraries = self.libraries().iter().map(|(language, all)| json!([language, pairs(all)]));
        // Added only if there is something, so that recordings from before this field stay valid.
        let scripts = Some(&lesson.library_scripts).filter(|scripts| !scripts.is_empty());
        let outside: Vec<Value> = libraries.chain(programs).chain(scripts.map(pairs)).collect();
        let mut before: Option<&Arc<Program>> = None;
        let actors = self.actors.iter().map(|plan| {
            let actor = &plan.actor;
            // The members of a crowd share one program.
            let shared = before.is_some_and(|before| Arc::ptr_eq(before, &plan.program));
            before = Some(&plan.program);
            let program: Vec<Value> =
                if shared { Vec::new() } else { plan.program.instructions.iter().map(instruction).collect() };
            json!([actor.name, actor.client, actor.crowd, program])
        });
        // Without settings, the format from before there were any, so that older recordings stay valid.
        let lab = match self.settings() {
            none if none.is_empty() => json!(self.lab()),
            settings => json!([self.lab(), serde_json::to_string(&settings).unwrap_or_default()]),
        };
        let mut followed = json!([
            lesson.id,
            self.variant,
            lab,
            lesson.metrics,
            pairs(params),
            setup.collect::<Vec<_>>(),
            clients.collect::<Vec<_>>(),
            actors.collect::<Vec<_>>(),
            self.story.iter().map(|line| json!([line.item, act(&line.act)])).collect::<Vec<_>>(),
        ]);
        if let (Value::Array(parts), false) = (&mut followed, outside.is_empty()) {
            parts.push(outside.into());
        }
        followed
    }
}

impl Program {
    /// Whether two programs have the same instructions, wherever they are written.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let all = |program: &Self| program.instructions.iter().map(instruction).collect::<Vec<_>>();
        all(self) == all(other)
    }
}

fn pairs<K: serde::Serialize, V: serde::Serialize>(map: impl IntoIterator<Item = (K, V)>) -> Value {
    map.into_iter().map(|(name, value)| json!([name, value])).collect()
}

fn instruction(instruction: &Instruction) -> Value {
    match instruction {
        Instruction::Operate(operation) => {
            // The path of an operation changes with every line inserted above it; the other fields follow from the
            // instructions.
            let PlannedOperation { label, verb: sends, on, until, every, allow, .. } = &**operation;
            json!(["operate", label, verb(sends), on, until, every, allow])
        }
        Instruction::Believe { lock, belief } => json!(["believe", lock.to_string(), belief]),
        Instruction::Count { counter } => json!(["count", counter]),
        Instruction::Set { name, value } => json!(["let", name, value]),
        Instruction::JumpUnless { condition, to } => json!(["unless", condition, to]),
        Instruction::Jump { to } => json!(["jump", to]),
        Instruction::RepeatBegin { bound } => json!(["repeat", bound]),
        Instruction::RepeatNext { condition, exit } => json!(["again", condition, exit]),
        Instruction::Enter { program: _, with, path: _ } => json!(["enter", with]),
        Instruction::Leave => json!(["leave"]),
        Instruction::Stop => json!(["stop"]),
    }
}

fn verb(verb: &PlannedVerb) -> Value {
    match verb {
        PlannedVerb::Redis(words) => json!(["redis", words]),
        PlannedVerb::Script { name, source, keys, args } => json!(["script", name, **source, keys, args]),
        PlannedVerb::Call(call) => call.fingerprint(),
        PlannedVerb::Local { lock, name } => json!(["local", lock, name]),
        PlannedVerb::Flock { call, path } => json!(["flock", call, path]),
        PlannedVerb::Wait(duration) => json!(["wait", duration]),
        PlannedVerb::Given(command) => json!(["given", command]),
        PlannedVerb::Take(TakePlan { from, within: None }) if from.len() == 1 => json!(["take", from[0]]),
        PlannedVerb::Take(TakePlan { from, within }) => json!(["take", from, within]),
    }
}

fn act(act: &Act) -> Value {
    let text = |TextPlan { en, zh }: &TextPlan| json!([en, zh]);
    let turns = |turns: &[PlannedMove]| {
        turns.iter().map(|PlannedMove { actor, label }| json!([actor, label])).collect::<Value>()
    };
    match act {
        Act::Say(says) => json!(["say", text(says)]),
        Act::Ask(ask) => {
            let choices = ask.choices.iter().map(|choice| {
                let right = match &choice.right {
                    RightPlan::Always => json!(true),
                    RightPlan::When(expression) => json!(expression),
                    RightPlan::Never => json!(false),
                };
                json!([text(&choice.says), right, choice.why.as_ref().map(text)])
            });
            json!(["ask", text(&ask.q), choices.collect::<Vec<_>>(), ask.after])
        }
        Act::Each(each) => json!(["each", turns(each)]),
        Act::Together(together) => json!(["together", turns(together)]),
        Act::Send(PlannedMove { actor, label }) => json!(["send", actor, label]),
        Act::Finish(actors) => json!(["finish", actors]),
        Act::Pass(pass) => json!(["pass", pass.duration, pass.moving]),
        Act::Await(wait) => json!(["await", wait.that, wait.within, wait.moving]),
        // Encoded as text, because the order of a JSON object's keys depends on features of `serde_json`.
        Act::Faults(faults) => {
            let faults = faults.iter().map(|fault| serde_json::to_string(fault).unwrap_or_default());
            json!(["faults", faults.collect::<Vec<_>>()])
        }
    }
}

/// FNV-1a (Fowler, Noll, Vo): the same on every machine and in every release, which the standard library's hashers do
/// not guarantee.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use crate::lesson::{Param, Params, Scenario, library::from_text};

    const LESSON: &str = include_str!("../../../assets/new-lesson.yaml");

    fn fingerprint(text: &str, variant: &str) -> String {
        let loaded = from_text("lesson.yaml", text).expect("it is good");
        Scenario::plan(&loaded, variant, &Params::new()).expect("it is good").fingerprint()
    }

    #[test]
    fn only_what_determines_a_log_changes_the_fingerprint() {
        let now = fingerprint(LESSON, "blind-del");
        assert_ne!(now, fingerprint(LESSON, "owner-check"), "each variant has its own");
        let (first, rest) = LESSON.split_once("story:").expect("a story");
        let said = format!("{first}story:\n  - say: {{ en: Another word., zh: 又一句。 }}{rest}");
        assert_ne!(now, fingerprint(&said, "blind-del"), "a word more is another story");
        let above = format!("# A line above moves every place in the file.\n\n{LESSON}");
        assert_eq!(now, fingerprint(&above, "blind-del"));
        let elsewhere =
            format!("{first}story:\n  - {{ say: {{ en: Hm., zh: 嗯。 }}, only: [owner-check] }}{rest}");
        assert_eq!(now, fingerprint(&elsewhere, "blind-del"), "the other variant's words");
    }

    #[test]
    fn other_parameters_change_the_fingerprint() {
        let loaded = from_text("lesson.yaml", LESSON).expect("it is good");
        let plan = |params: &Params| {
            let scenario = Scenario::plan(&loaded, "blind-del", params).expect("it is good");
            scenario.fingerprint()
        };
        let lease = Params::from_iter([("lease".to_owned(), Param::Word("5s".to_owned()))]);
        assert_ne!(plan(&Params::new()), plan(&lease));
    }
}
