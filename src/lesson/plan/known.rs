//! The values of a program's variables, as far as they follow from the replies so far.

use std::collections::{BTreeSet, HashMap};

use minijinja::Value;

use super::{Instruction, passed};
use crate::{
    lesson::expr::{Expr, Scope, Template, json_value},
    log::Reply,
};

#[derive(Debug, Clone)]
pub struct Known {
    /// The variables; an unknown one is undefined.
    scope: Scope,
    /// The rounds left in each enclosing repetition, if known.
    rounds: Vec<Option<i64>>,
}

impl Default for Known {
    fn default() -> Self {
        Self::of(Scope::new(HashMap::new()))
    }
}

impl Known {
    pub(super) fn of(scope: Scope) -> Self {
        Self { scope, rounds: Vec::new() }
    }

    fn are_known(&self, names: &BTreeSet<String>) -> bool {
        names.iter().all(|name| self.scope.get(name).is_some_and(|value| !value.is_undefined()))
    }

    fn value(&self, expr: &Expr) -> Option<Value> {
        self.are_known(&expr.names()).then(|| expr.eval(self.scope.value()).ok())?
    }

    fn text(&self, template: &Template) -> Option<String> {
        self.are_known(&template.names()).then(|| template.render(&self.scope.value()).ok())?
    }

    /// Whether a condition is true, if that is known.
    fn is_true(&self, condition: &Expr) -> Option<bool> {
        self.value(condition).map(|value| value.is_true())
    }

    pub(super) fn set(&mut self, name: &str, value: &Expr) {
        self.scope.set(name, self.value(value).unwrap_or_default());
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.scope.forget(name);
    }

    /// Opens the frame of a recipe with these parameters.
    pub(super) fn enter<'a>(&mut self, with: impl Iterator<Item = &'a (String, Template)>) {
        let value = |template| self.text(template).map(passed).unwrap_or_default();
        let values = with.map(|(name, template)| (name.clone(), value(template))).collect();
        self.scope.enter(values);
    }

    pub(super) fn begin_rounds(&mut self, bound: &Template) {
        self.rounds.push(self.text(bound).and_then(|text| text.trim().parse().ok()));
    }

    /// For an instruction that branches: whether execution continues with the next instruction, if known, and the
    /// target otherwise. `None` for other instructions.
    pub(super) fn decision(&self, instruction: &Instruction) -> Option<(Option<bool>, usize)> {
        match instruction {
            Instruction::JumpUnless { condition, to } => Some((self.is_true(condition), *to)),
            Instruction::RepeatNext { condition: Some(condition), exit } => {
                Some((self.is_true(condition), *exit))
            }
            Instruction::RepeatNext { condition: None, exit } => {
                Some((self.rounds.last().copied().flatten().map(|left| left > 0), *exit))
            }
            _ => None,
        }
    }

    /// Counts a round when another one begins, or removes the counter when the repetition is over.
    pub(super) fn count_round(&mut self, another: bool) {
        if let Some(left) = self.rounds.pop()
            && another
        {
            self.rounds.push(left.map(|left| left - 1));
        }
    }

    pub(super) fn forget_rounds(&mut self) {
        self.rounds.fill(None);
    }

    pub(super) fn leave(&mut self) {
        self.scope.leave();
    }

    pub(super) fn answered(&mut self, label: &str, reply: &Reply, reads_lost: bool) {
        let none = Value::from(());
        let (value, error) = match reply {
            Reply::Value(value) => (json_value(value), none),
            Reply::Error { code, .. } => (none, Value::from(code.as_str())),
            Reply::Lost(_) => (if reads_lost { Value::from("Lost") } else { none }, Value::from("Lost")),
        };
        for (name, value) in [("reply", value.clone()), ("error", error), (label, value)] {
            self.scope.set_outermost(name, value);
        }
    }

    pub(super) fn described(&self) -> String {
        format!("{:?} {}", self.rounds, self.scope.described(|_| true))
    }
}
