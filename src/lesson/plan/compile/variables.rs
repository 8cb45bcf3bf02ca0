//! What the variables of a program stand for, as far as their `let` tells: a znode's name or its path. Checks for names
//! and paths that are taken for each other, and for a `let` that gives the same value in every round.

use std::{collections::BTreeSet, ops::Range};

use super::{
    super::{
        PlannedVerb,
        lints::{Answer, of_named},
        program::{Instruction, TakePlan},
    },
    Draft,
};
use crate::{
    lesson::{
        error::{Finding, finding},
        expr::{Template, mentions::comparisons},
    },
    log::Product,
};

/// How many variables may stand for each other in a row.
const DEEPEST: usize = 8;

/// The expression of a template that begins with one, and what follows it.
fn first_part(written: &str) -> Option<(&str, &str)> {
    let (name, rest) = written.strip_prefix("${")?.split_once('}')?;
    Some((name.trim(), rest))
}

impl Draft<'_> {
    /// Whether an expression is a znode's name, or its path, if the form and the names in it tell.
    pub(super) fn znode_of(&self, source: &str) -> Option<Answer> {
        self.znode_within(source, DEEPEST)
    }

    fn znode_within(&self, source: &str, depth: usize) -> Option<Answer> {
        let source = source.trim();
        let is_list = |name: &str| {
            !self.is_set(name) && self.program.answer_of(&format!("{}[0]", name.trim())) == Some(Answer::Name)
        };
        if let Some((name, filters)) = source.split_once('|') {
            let of_list = filters.starts_with("before(") && filters.ends_with(')')
                || ["first", "last", "by_suffix|first", "by_suffix|last"].contains(&filters);
            if of_list {
                return is_list(name).then_some(Answer::Name);
            }
            let strips_path = filters
                .strip_prefix("replace(")
                .and_then(|given| given.strip_suffix(", '')"))
                .is_some_and(|path| path.starts_with("'/") && path.ends_with("/'"));
            let is_path = matches!(
                self.znode_within(name, depth.checked_sub(1)?),
                Some(Answer::Path | Answer::Numbered)
            );
            return (strips_path && is_path).then_some(Answer::Name);
        }
        if !source.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        // What a variable is before the program has anything to put into it.
        let mut values = self.values_of(source).filter(|value| !["''", "none"].contains(&value.trim()));
        let is_znode = |answer: &Answer| matches!(answer, Answer::Name | Answer::Path | Answer::Numbered);
        let Some(first) = values.next() else {
            let is_create = |verb: &PlannedVerb| matches!(verb, PlannedVerb::Call(call) if call.product() == Product::Zookeeper);
            let mut named = self.program.operations().filter(|operation| operation.label == source);
            return named
                .all(|operation| is_create(&operation.verb))
                .then(|| self.program.answer_of(source))?
                .filter(is_znode);
        };
        let depth = depth.checked_sub(1)?;
        let known = self.znode_within(first, depth)?;
        let is_label = self.program.labels.contains(source);
        (!is_label && values.all(|value| self.znode_within(value, depth) == Some(known))).then_some(known)
    }

    /// Whether a `let` only gives a name the value of another one.
    pub(super) fn is_alias(&self, wanted: &str) -> bool {
        self.values_of(wanted).any(|value| value.trim().chars().all(|c| c.is_alphanumeric() || c == '_'))
    }

    /// The path below which the znode of a name is, as the program asks for it: `/el/` of the children of `/el`.
    fn parent_of(&self, name: &str) -> String {
        let lists = self.program.operations().find_map(|operation| match &operation.verb {
            PlannedVerb::Call(call) if call.product() == Product::Zookeeper && call.name() == "ls" => {
                call.operands("PATH").next().filter(|path| path.is_literal()).map(Template::to_string)
            }
            _ => None,
        });
        format!("{}/${{{name}}}", lists.unwrap_or_else(|| "/locks".to_owned()).trim_end_matches('/'))
    }

    /// Reports the name of a znode where a path belongs, and a path behind another one.
    pub(super) fn check_znodes(&mut self) {
        let operations = self.program.operations().filter_map(|operation| {
            let path = operation.path.as_ref()?;
            match &operation.verb {
                PlannedVerb::Call(call) if call.product() == Product::Zookeeper => {
                    Some((call.operands("PATH").collect::<Vec<_>>(), path.key("zk")))
                }
                PlannedVerb::Take(TakePlan { from, .. }) => Some((from.iter().collect(), path.key("take"))),
                _ => None,
            }
        });
        let found = operations.into_iter().find_map(|(templates, path)| {
            templates.into_iter().find_map(|template| {
                let written = template.to_string();
                self.of_written(&written).map(|lint| (path.clone(), lint))
            })
        });
        if let Some((path, finding)) = found {
            self.report(path.mistake(finding));
        }
    }

    fn of_written(&self, written: &str) -> Option<Finding> {
        if let Some((name, _)) = first_part(written) {
            return (self.znode_of(name)? == Answer::Name).then(|| {
                let right = self.parent_of(name);
                finding!(
                    "`{name}` is a znode's name, and a path belongs here",
                    "`{name}` 是 znode 的名字，这里要写路径",
                    "write `{right}`",
                    "请写 `{right}`"
                )
            });
        }
        let (at, _) = written.match_indices("/${").next()?;
        let (name, _) = first_part(&written[at + 1..])?;
        matches!(self.znode_of(name)?, Answer::Path | Answer::Numbered).then(|| {
            finding!(
                "`{name}` is the whole path already",
                "`{name}` 已经是完整路径",
                "write `${{{name}}}` without what stands before it",
                "请只写 `${{{name}}}`，前面不要再加路径"
            )
        })
    }

    /// Reports a comparison of a znode's name with its path, and of either with what it never is.
    pub(super) fn check_compared_znodes(&mut self) {
        let found = self.compared.iter().find_map(|(source, path)| {
            let lint = comparisons(source).find_map(|(left, operator, right)| {
                let one = self.znode_of(left)?;
                match self.znode_of(right) {
                    Some(other) if matches!(operator, "==" | "!=") => {
                        let is_name = |answer: Answer| answer == Answer::Name;
                        (is_name(one) != is_name(other)).then(|| {
                            let (name, path) = if is_name(one) { (left, right) } else { (right, left) };
                            let parent = self.parent_of("x").replace("${x}", "");
                            finding!(
                                "`{name}` is a znode's name and `{path}` a whole path: they are never equal",
                                "`{name}` 是 znode 的名字，`{path}` 是完整路径：两者永远不相等",
                                "take the path away: `{path}|replace('{parent}', '')`",
                                "请去掉路径部分：`{path}|replace('{parent}', '')`"
                            )
                        })
                    }
                    Some(_) => None,
                    None => of_named(left, one, operator, right),
                }
            });
            Some((path.clone(), lint?))
        });
        if let Some((path, finding)) = found {
            self.report(path.mistake(finding));
        }
    }

    /// The names that the steps inside a repetition change.
    fn changed_in(&self, inside: Range<usize>) -> BTreeSet<&str> {
        let mut changed: BTreeSet<&str> = ["reply", "error", "now", "token"].into();
        let steps = || self.program.instructions[inside.clone()].iter();
        changed.extend(steps().filter_map(Instruction::operation).map(|operation| operation.label.as_str()));
        loop {
            let known = changed.len();
            for instruction in steps() {
                if let Instruction::Set { name, value } = instruction {
                    let names = value.names();
                    if names.is_empty() || names.iter().any(|name| changed.contains(name.as_str())) {
                        changed.insert(name);
                    }
                }
            }
            if changed.len() == known {
                return changed;
            }
        }
    }

    /// Reports a `let` of a repetition that computes what was computed before it, of values that no round changes.
    pub(super) fn lint_same_again(&mut self, inside: Range<usize>) {
        if self.in_recipe {
            return;
        }
        let changed = self.changed_in(inside.clone());
        let before = &self.program.instructions[..inside.start];
        let is_same = |wanted: &str, source: &str| {
            let last = before.iter().rev().find_map(|instruction| match instruction {
                Instruction::Set { name, value } if name == wanted => Some(value.source()),
                _ => None,
            });
            last == Some(source)
        };
        let found = inside.clone().find_map(|at| match &self.program.instructions[at] {
            Instruction::Set { name, value } => {
                let mut names = value.names();
                names.remove(name.as_str());
                let stays = !names.is_empty() && !changed.contains(name.as_str());
                (stays && is_same(name, value.source())).then(|| (at, name.clone(), names))
            }
            _ => None,
        });
        let Some((at, name, names)) = found else { return };
        let Some((_, path)) = self.program.conditions.iter().rev().find(|(known, _)| *known == at).cloned()
        else {
            return;
        };
        let names = names.into_iter().collect::<Vec<_>>().join("`, `");
        let mut inner = self.program.instructions[inside].iter().filter_map(Instruction::operation);
        let label = inner.next_back().map_or("reply", |operation| operation.label.as_str()).to_owned();
        self.report(path.mistake(finding!("every round gives `{name}` the value that it had before the first: nothing in this repetition changes `{names}`", "每一轮给 `{name}` 的都是循环之前的值：循环里没有什么会改变 `{names}`", "compute it from what is asked for inside, such as `{label}`", "请用循环里得到的回复来算，例如 `{label}`")));
    }
}
