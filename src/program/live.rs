//! Live variables: the names whose values a program may still read from a given instruction on. Two actors at the same
//! instruction with equal live variables behave alike from there, whatever they have seen before.
//!
//! Computed by the usual backward data-flow analysis (Aho, Lam, Sethi, Ullman, "Compilers", second edition, section
//! 9.2.5).

use std::collections::BTreeSet;

use crate::lesson::{
    expr::{Expr, Template},
    plan::{Instruction, PlannedOperation, PlannedVerb, Program},
};

/// The names that are live before each instruction; `None` where any name may be live.
#[derive(Debug, Clone)]
pub(crate) struct LiveNames(Option<Vec<BTreeSet<String>>>);

impl LiveNames {
    pub(crate) fn of(program: &Program) -> Self {
        let code = &program.instructions;
        // Names that a `set` or an inner frame also defines. A reply is stored in the outermost frame, so it need not
        // overwrite them.
        let mut inner = BTreeSet::new();
        for instruction in code {
            match instruction {
                Instruction::Set { name, .. } => drop(inner.insert(name.as_str())),
                Instruction::Enter { with, .. } => inner.extend(with.iter().map(|(name, _)| name.as_str())),
                _ => {}
            }
        }
        let mut live = vec![BTreeSet::new(); code.len() + 1];
        loop {
            let mut changed = false;
            for at in (0..code.len()).rev() {
                let Some(before) = before(&code[at], at, &live, &inner) else { return Self(None) };
                changed |= before.len() > live[at].len();
                live[at] = before;
            }
            if !changed {
                return Self(Some(live));
            }
        }
    }

    /// Whether any instruction of the program may read this name.
    pub(crate) fn ever_reads(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|live| live.iter().any(|names| names.contains(name)))
    }

    pub(crate) fn is_live(&self, at: usize, name: &str) -> bool {
        self.0.as_ref().is_none_or(|live| live.get(at).is_some_and(|names| names.contains(name)))
    }
}

/// The names that are live before an instruction, or `None` where they cannot be determined.
fn before(
    instruction: &Instruction,
    at: usize,
    live: &[BTreeSet<String>],
    inner: &BTreeSet<&str>,
) -> Option<BTreeSet<String>> {
    let next = live[at + 1].iter().cloned();
    Some(match instruction {
        Instruction::Operate(operation) => {
            let mut names = read_before_reply(operation)?;
            let until = operation.until.as_ref().map(Expr::names);
            let after = until.into_iter().chain(operation.every.as_ref().map(Template::names));
            let waits = matches!(operation.verb, PlannedVerb::Wait(_));
            let set = |name: &String| {
                !waits
                    && !inner.contains(name.as_str())
                    && (name == "reply" || name == "error" || *name == operation.label)
            };
            names.extend(next.chain(after.flatten()).filter(|name| !set(name)));
            names
        }
        Instruction::Believe { lock, .. } => next.chain(lock.names()).collect(),
        Instruction::Count { .. } | Instruction::Leave => next.collect(),
        Instruction::Set { value, .. } => next.chain(value.names()).collect(),
        Instruction::JumpUnless { condition, to } => {
            next.chain(live[*to].iter().cloned()).chain(condition.names()).collect()
        }
        Instruction::Jump { to } => live[*to].clone(),
        Instruction::RepeatBegin { bound } => next.chain(bound.names()).collect(),
        Instruction::RepeatNext { condition, exit } => {
            let asked = condition.iter().flat_map(Expr::names);
            next.chain(live[*exit].iter().cloned()).chain(asked).collect()
        }
        Instruction::Enter { with, .. } => {
            next.chain(with.iter().flat_map(|(_, template)| template.names())).collect()
        }
        Instruction::Stop => BTreeSet::new(),
    })
}

/// The names that an operation reads before its reply, or `None` where they cannot be determined.
fn read_before_reply(operation: &PlannedOperation) -> Option<BTreeSet<String>> {
    let verb = match &operation.verb {
        PlannedVerb::Redis(words) => words.iter().collect::<Vec<_>>(),
        PlannedVerb::Script { keys, args, .. } => keys.iter().chain(args).collect(),
        PlannedVerb::Wait(duration) => vec![duration],
        PlannedVerb::Call(_)
        | PlannedVerb::Given(_)
        | PlannedVerb::Local { .. }
        | PlannedVerb::Flock { .. }
        | PlannedVerb::Take(_) => {
            return None;
        }
    };
    Some(verb.into_iter().chain(&operation.releases).flat_map(Template::names).collect())
}
