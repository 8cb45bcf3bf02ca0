//! Live variables: the names whose values a program may still read from a given instruction on. Two actors at the same
//! instruction with equal live variables behave alike from there, whatever they have seen before.
//!
//! Computed by the usual backward data-flow analysis (Aho, Lam, Sethi, Ullman, "Compilers", second edition, section
//! 9.2.5).

use std::collections::{BTreeMap, BTreeSet};

use crate::lesson::{
    expr::{Expr, Template},
    plan::{Instruction, PlannedOperation, PlannedVerb, Program},
};

/// The names that are live before each instruction; `None` where any name may be live.
#[derive(Debug, Clone)]
pub(crate) struct LiveNames(Option<Vec<BTreeSet<String>>>);

impl LiveNames {
    /// `is_given`: whether a name has a value before the program begins.
    pub(crate) fn of(program: &Program, is_given: impl Fn(&str) -> bool) -> Self {
        let code = &program.instructions;
        let definitions = Definitions::of(code, is_given);
        let mut live = vec![BTreeSet::new(); code.len() + 1];
        loop {
            let mut changed = false;
            for at in (0..code.len()).rev() {
                let Some(before) = before(&code[at], at, &live, &definitions) else { return Self(None) };
                changed |= before.len() > live[at].len();
                live[at] = before;
            }
            if !changed {
                return Self(Some(live));
            }
        }
    }

    pub(crate) fn is_live(&self, at: usize, name: &str) -> bool {
        self.0.as_ref().is_none_or(|live| live.get(at).is_some_and(|names| names.contains(name)))
    }
}

/// In which frames the names of a program are defined. A definition overwrites a name for good only if no frame outside
/// its own has the name: otherwise the outer value can be read again when the frame is left.
struct Definitions<'p> {
    /// The number of frames around each instruction.
    depths: Vec<usize>,
    /// For each name, the number of frames around its outermost definition.
    outermost: BTreeMap<&'p str, usize>,
    /// The names that a `set` or a parameter defines. A reply is stored in the outermost frame, so it need not overwrite
    /// them.
    inner: BTreeSet<&'p str>,
}

impl<'p> Definitions<'p> {
    fn of(code: &'p [Instruction], is_given: impl Fn(&str) -> bool) -> Self {
        let mut known = Self { depths: Vec::new(), outermost: BTreeMap::new(), inner: BTreeSet::new() };
        let mut depth: usize = 0;
        for instruction in code {
            known.depths.push(depth);
            match instruction {
                Instruction::Set { name, .. } => known.add(name, depth),
                Instruction::Enter { with, .. } => {
                    depth += 1;
                    for (name, _) in with {
                        known.add(name, depth);
                    }
                }
                Instruction::Leave => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        for operation in code.iter().filter_map(Instruction::operation) {
            known.outermost.extend([&operation.label, "reply", "error"].map(|name| (name, 0)));
        }
        for (name, depth) in &mut known.outermost {
            *depth = if is_given(name) { 0 } else { *depth };
        }
        known
    }

    fn add(&mut self, name: &'p str, depth: usize) {
        self.inner.insert(name);
        self.outermost.entry(name).and_modify(|known| *known = depth.min(*known)).or_insert(depth);
    }

    /// Whether a definition of the name in a frame with this many frames around it overwrites it for good.
    fn overwrites(&self, name: &str, depth: usize) -> bool {
        self.outermost.get(name) == Some(&depth)
    }
}

/// The names that are live before an instruction, or `None` where they cannot be determined.
fn before(
    instruction: &Instruction,
    at: usize,
    live: &[BTreeSet<String>],
    definitions: &Definitions<'_>,
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
                    && !definitions.inner.contains(name.as_str())
                    && (name == "reply" || name == "error" || *name == operation.label)
            };
            names.extend(next.chain(after.flatten()).filter(|name| !set(name)));
            names
        }
        Instruction::Believe { lock, .. } => next.chain(lock.names()).collect(),
        Instruction::Count { .. } | Instruction::Leave => next.collect(),
        Instruction::Set { name: set, value } => {
            let overwritten = definitions.overwrites(set, definitions.depths[at]);
            next.filter(|name| !(overwritten && name == set)).chain(value.names()).collect()
        }
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
            let is_set = |name: &String| {
                definitions.overwrites(name, definitions.depths[at] + 1)
                    && with.iter().any(|(set, _)| set == name)
            };
            let read = with.iter().flat_map(|(_, template)| template.names());
            next.filter(|name| !is_set(name)).chain(read).collect()
        }
        Instruction::Stop => BTreeSet::new(),
    })
}

/// The names that an operation reads before its reply, or `None` where they cannot be determined.
fn read_before_reply(operation: &PlannedOperation) -> Option<BTreeSet<String>> {
    let PlannedOperation { verb, releases, .. } = operation;
    matches!(verb, PlannedVerb::Redis(_) | PlannedVerb::Script { .. } | PlannedVerb::Wait(_))
        .then(|| verb.templates().into_iter().chain(releases).flat_map(Template::names).collect())
}

#[cfg(test)]
mod tests {
    use super::LiveNames;
    use crate::{
        lesson::{Params, Scenario, library::from_text, plan::Instruction},
        program::tests::lesson,
    };

    /// Whether a name is live before the operation with a label.
    fn is_live(steps: &str, name: &str, label: &str) -> bool {
        let loaded = from_text("live.yaml", &lesson(steps)).expect("a lesson");
        let scenario = Scenario::plan(&loaded, "only", &Params::new()).expect("a plan");
        let program = &scenario.actors[0].program;
        let live = LiveNames::of(program, |name| scenario.actors[0].scope.get(name).is_some());
        let mut code = program.instructions.iter();
        let is_it =
            |known: &Instruction| matches!(known, Instruction::Operate(known) if known.label == label);
        live.is_live(code.position(is_it).expect("an operation"), name)
    }

    #[test]
    fn a_variable_that_is_set_again_before_it_is_read_is_dead() {
        let steps = "
    - repeat:
        - ask: { redis: GET k }
        - let: { votes: ask }
        - look: { redis: GET k }
        - if: votes == 1
          then: [ stop ]
        - back: { redis: DEL k }
      times: 3";
        assert!(is_live(steps, "votes", "look"));
        assert!(!is_live(steps, "votes", "ask") && !is_live(steps, "votes", "back"));
    }

    #[test]
    fn a_variable_of_an_outer_frame_is_read_again_after_an_inner_one_of_its_name() {
        let steps = "
    - let: { votes: 1 }
    - ask: { redis: GET k }
    - use: inner
      with: { votes: '2' }
    - look: { redis: GET k }
    - if: votes == 1
      then: [ count: kept ]
  inner:
    - within: { redis: 'GET ${votes}' }
    - let: { votes: 3 }
    - again: { redis: 'GET ${votes}' }";
        for label in ["ask", "within", "again", "look"] {
            assert!(is_live(steps, "votes", label), "{label}");
        }
    }
}
