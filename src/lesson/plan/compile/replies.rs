//! What the names in a condition stand for, and conditions on replies that have the same result in every run.

use super::{
    super::{
        lints::{self, Answer, Kind},
        program::{Instruction, PlannedVerb},
    },
    Draft,
};
use crate::lesson::error::Finding;

/// The operation whose `until` asks for its own reply.
#[derive(Clone, Copy)]
pub(super) struct Own<'o> {
    pub(super) label: &'o str,
    pub(super) verb: &'o PlannedVerb,
    pub(super) allow: &'o [String],
}

impl Own<'_> {
    /// Whether a name is that of its reply.
    pub(super) fn is_meant(&self, name: &str) -> bool {
        name == "reply" || name == self.label
    }
}

impl Draft<'_> {
    /// The kind of answer that a name stands for: `reply`, or the label of an operation.
    pub(super) fn answer_to(&self, name: &str, own: Option<Own<'_>>) -> Option<Answer> {
        match (name, own) {
            (name, Some(own)) if own.is_meant(name) => Answer::of(own.verb),
            ("reply", None) => match self.program.instructions.last() {
                Some(Instruction::Operate(operation)) => operation.answer(),
                _ => None,
            },
            (label, _) => self.reply_of(label),
        }
    }

    /// The finding about a comparison of values of different kinds, or of a reply with something that its operation never
    /// answers.
    pub(super) fn reply_lint(&self, source: &str, own: Option<Own<'_>>) -> Option<Finding> {
        let numbers = |name: &str| match own {
            Some(own) if own.is_meant(name) => lints::returned(own.verb),
            _ if self.is_set(name) => None,
            _ => lints::numbers_of(&self.program, name),
        };
        let subjects = |name: &str| lints::subjects_of(&self.program, name).filter(|_| !self.is_set(name));
        lints::kind_lint(source, |name| self.kind_of(name, self.answer_to(name, own)))
            .or_else(|| lints::number_lint(source, numbers))
            .or_else(|| lints::subject_lint(source, subjects))
    }

    /// The kind of a name's value: of a reply, a parameter, or a name that every program has.
    pub(super) fn kind_of(&self, name: &str, answer: Option<Answer>) -> Option<Kind> {
        let of_answer = answer.map(Kind::of_answer);
        if self.program.labels.contains(name) || self.is_set(name) || of_answer.is_some() {
            return of_answer;
        }
        Kind::of_builtin(name).or_else(|| self.constants.kind_of(name))
    }
}
