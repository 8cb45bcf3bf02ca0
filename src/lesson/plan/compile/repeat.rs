//! Compiles repetitions: their count, their condition, and the number of the round.

use std::{collections::BTreeSet, ops::Range};

use super::{
    super::{
        super::{
            duration::parse_millis,
            error::{Finding, Mistake, MistakeSpan, Path, finding},
            expr::{
                Expr, Scope, Template,
                mentions::{joined, split_comparison},
            },
            model::{Count, Param},
            step::Step,
        },
        names::{self, Named},
        order,
        program::{BUILTINS, Instruction},
        replacements::labels_of,
        templates::only_expression,
    },
    Draft, empty_by,
};
use crate::text::both;

impl Draft<'_> {
    pub(super) fn repeat(
        &mut self,
        steps: &[Step],
        times: Option<&Count>,
        condition: Option<&str>,
        at_most: u32,
        number: Option<&str>,
        path: &Path,
    ) -> Result<(), Mistake> {
        let bound = match times {
            Some(Count::Number(times)) => times.to_string(),
            Some(Count::Template(times)) => times.clone(),
            None => at_most.to_string(),
        };
        let bound = self.template(&bound, &path.key("times"))?;
        // Whatever happens in a run, a word is no number.
        if bound.names().is_empty()
            && !bound.to_string().contains("${")
            && bound.to_string().trim().parse::<u32>().is_err()
        {
            let message = both!("`{bound}` is not a number", "`{bound}` 不是数字");
            return Err(Mistake::new(&path.key("times"), message).help(both!(
                "a whole number such as 3, or an expression in `${{…}}`: `${{{bound}}}`",
                "请写整数（例如 3），或者写成 `${{…}}` 里的表达式：`${{{bound}}}`"
            )));
        }
        self.lint_count(times, &bound, path);
        if times.is_none() && at_most == 0 {
            self.report(path.key("at_most").mistake(finding!(
                "these steps are made 0 times",
                "这些步骤执行 0 次",
                "such as `at_most: 100`",
                "例如 `at_most: 100`"
            )));
        }
        if let Some(source) = condition {
            self.has_value_before(source, steps, &path.key("while"))?;
        }
        let condition = condition.map(|source| self.expr(source, &path.key("while"))).transpose()?;
        if let Some(name) = number {
            self.lint_number(name, path);
            self.known.insert(name.to_owned());
            let rounds = self.constants.settled(&bound).and_then(|text| text.trim().parse().ok());
            if let Some(rounds) = rounds.filter(|rounds| times.is_some() && *rounds <= MOST_UNROLLED)
                && !sets(steps, name)
                && self.names_server(steps, name)
            {
                return self.unroll(steps, rounds, name, path);
            }
            if let Some(rounds) = rounds.filter(|rounds| *rounds > MOST_UNROLLED)
                && self.names_server(steps, name)
            {
                let message = both!(
                    "{rounds} rounds go to different servers: more than any lab has",
                    "{rounds} 轮各发往不同的服务器：没有哪个 lab 有这么多台"
                );
                let most = self.compiler.lab.servers().len();
                return Err(Mistake::new(&path.key("times"), message).help(both!(
                    "this lab has {most}: `times: {most}`",
                    "这个 lab 有 {most} 台：`times: {most}`"
                )));
            }
            self.constants.changes(name);
            self.number(name, "0", path)?;
        }
        self.push(Instruction::RepeatBegin { bound });
        let next = self.here();
        self.locate(next, path.key("while"));
        self.push(Instruction::Stop);
        if let Some(name) = number {
            self.number(name, &format!("{name} + 1"), path)?;
        }
        self.lint_first_round(condition.as_ref(), next - 1, &path.key("while"));
        let outside = self.none_here.clone();
        self.none_here.extend(condition.iter().flat_map(|expr| empty_by(expr.source())));
        self.steps(steps, &path.key("repeat"))?;
        self.none_here = outside;
        self.push(Instruction::Jump { to: next });
        // Before a round, the last reply may be one of the round before.
        if let Some(expr) = condition.as_ref().filter(|expr| !expr.names().contains("reply")) {
            self.lint_comparison(expr.source(), None, &path.key("while"));
        }
        let exit = self.here();
        if let Some(expr) = &condition {
            self.lint_constant_part(expr.source(), next + 1..exit, &path.key("while"));
            self.lint_same_again(next + 1..exit);
        }
        let asked = condition.as_ref().map(Expr::names);
        self.program.instructions[next] = Instruction::RepeatNext { condition, exit };
        if let Some(asked) = asked
            && !self.in_recipe
            && !self.changes_in(next + 1..exit, &asked)
        {
            // A condition over values that the program has set and never changes again is hardly meant to hold for
            // ever.
            let is_set = asked.iter().any(|name| self.is_set(name) || self.program.labels.contains(name));
            self.endless.push((exit, path.key("while"), is_set));
        }
        Ok(())
    }

    /// Unrolls a repetition whose rounds go to different servers, `on: redis${i}`: the server of an operation must be
    /// known before anything runs, so each round gets instructions of its own.
    fn unroll(&mut self, steps: &[Step], rounds: u32, name: &str, path: &Path) -> Result<(), Mistake> {
        let outside = self.constants.known_values();
        let labels = self.labelled.clone();
        for round in 1..=rounds {
            self.number(name, &round.to_string(), path)?;
            self.constants.settle(name, round);
            // All rounds have the same labels, as in any repetition.
            self.labelled.clone_from(&labels);
            self.steps(steps, &path.key("repeat"))?;
        }
        self.constants.leave(outside);
        Ok(())
    }

    /// Whether the server of an operation depends on the number of the round, directly or through a parameter of a
    /// recipe.
    fn names_server(&mut self, steps: &[Step], name: &str) -> bool {
        let outside = self.constants.known_values();
        self.constants.settle(name, 1);
        let servers = self.compiler.lab.servers();
        let template = |source: &str| {
            let template = Template::parse(source).ok()?;
            template.names().contains(name).then_some(template)
        };
        let is_server = |source: &str| {
            let text = template(source).and_then(|template| self.constants.text(&template));
            text.is_some_and(|(text, _)| servers.contains(&text.as_str()))
        };
        let found = Step::each(steps).any(|step| match step {
            Step::Operation { operation, .. } => {
                operation.on.as_deref().is_some_and(|on| template(on).is_some())
            }
            Step::Use { with, .. } => with.values().any(|value| is_server(value)),
            _ => false,
        });
        self.constants.leave(outside);
        found
    }

    /// Reports a flag or a count in a condition that nothing in the repetition changes, beside something that changes.
    fn lint_constant_part(&mut self, source: &str, inside: Range<usize>, path: &Path) {
        let parts = joined(source);
        let is_flag = |name: &str| {
            let mut values = self.values_of(name);
            self.is_set(name) && values.all(|value| matches!(value, "true" | "false"))
        };
        let stays = |part: &&str| {
            let names = Expr::parse(part).map(|expr| expr.names()).unwrap_or_default();
            let is_size =
                split_comparison(part).is_some_and(|(_, operator, _)| operator.starts_with(['<', '>']));
            let meant = names.iter().find(|name| is_flag(name) || (is_size && self.is_set(name))).cloned();
            meant.filter(|_| !self.changes_in(inside.clone(), &names))
        };
        let Some(name) = parts.iter().find_map(stays).filter(|_| parts.len() > 1 && !self.in_recipe) else {
            return;
        };
        let counts = self.values_of(&name).any(|value| value.parse::<i64>().is_ok());
        let value = if counts { format!("{name} + 1") } else { "reply == 'OK'".to_owned() };
        self.report(path.mistake(finding!(
            "nothing in this repetition sets `{name}`",
            "循环里没有什么会给 `{name}` 赋值",
            "set it inside: `- let: {{ {name}: {value} }}`",
            "请在循环里给它赋值：`- let: {{ {name}: {value} }}`"
        )));
    }

    /// Reports a condition that is false before the first round, by the values that every way to it has set.
    fn lint_first_round(&mut self, condition: Option<&Expr>, begin: usize, path: &Path) {
        // A variable that is compared with a text of another kind has a check of its own.
        let Some(expr) = condition.filter(|_| !self.in_recipe) else { return };
        let (mut known, mut seen) = (Scope::default(), BTreeSet::new());
        let leads_to = |at: usize| {
            self.program.instructions.iter().any(|instruction| match instruction {
                Instruction::Jump { to } | Instruction::JumpUnless { to, .. } => *to == at,
                _ => false,
            })
        };
        for (at, instruction) in self.program.instructions[..begin].iter().enumerate().rev() {
            if leads_to(at + 1) {
                break;
            }
            let (name, value) = match instruction {
                Instruction::Set { name, value } => (name, value),
                Instruction::Believe { .. } | Instruction::Count { .. } => continue,
                // An operation has other labels than the variables of its program.
                Instruction::Operate(operation) if !self.is_set(&operation.label) => continue,
                _ => break,
            };
            if seen.insert(name)
                && value.names().is_empty()
                && let Ok(value) = value.eval(Scope::default().value())
            {
                known.set(name, value);
            }
        }
        let names = expr.names();
        let is_nothing = |name: &String| known.get(name).is_some_and(minijinja::Value::is_none);
        if expr.source().contains(['\'', '"']) && !names.iter().all(is_nothing) {
            return;
        }
        let first =
            expr.eval(known.value()).ok().filter(|_| names.iter().all(|name| known.get(name).is_some()));
        if !names.is_empty() && first.is_some_and(|first| !first.is_true()) {
            self.report(path.mistake(finding!(
                "this is false before the first round: its steps are never made",
                "第一轮之前条件就不成立：这些步骤一次也不会执行",
                "`while` says how long to go on, such as `while: not done`",
                "`while` 写的是继续循环的条件，例如 `while: not done`"
            )));
        }
    }

    /// Whether a repetition can end: something in it changes its condition, or the program stops there.
    fn changes_in(&self, inside: Range<usize>, asked: &BTreeSet<String>) -> bool {
        let is_asked = |name: &str| asked.iter().any(|asked| asked == name);
        self.program.instructions[inside].iter().any(|instruction| match instruction {
            Instruction::Stop => true,
            Instruction::Set { name, .. } => is_asked(name),
            Instruction::Operate(operation) => {
                is_asked(&operation.label) || ["reply", "error", "now"].into_iter().any(is_asked)
            }
            Instruction::Believe { .. } => is_asked("token"),
            _ => false,
        })
    }

    /// Reports a repetition that never ends if steps follow it. As the last step of a program it may be intended, if
    /// its condition reads only parameters.
    pub(super) fn check_endless(&mut self) {
        for (exit, path, is_set) in std::mem::take(&mut self.endless) {
            let is_last = order::operations_from(&self.program, [exit])
                .iter()
                .all(|at| *at == self.program.instructions.len());
            if is_last && !is_set {
                continue;
            }
            let message = if is_last {
                both!("nothing in this repetition changes its condition", "循环里没有什么会改变这个条件")
            } else {
                both!(
                    "nothing in this repetition changes its condition, so what follows it is never reached",
                    "循环里没有什么会改变这个条件，后面的步骤永远走不到"
                )
            };
            self.report(path.mistake(Finding {
                message,
                help: both!(
                    "set what it asks for inside: `- let: {{ done: reply == 'OK' }}` with `while: not done`",
                    "请在循环里给条件赋值：`- let: {{ done: reply == 'OK' }}`，条件写 `while: not done`"
                ),
            }));
        }
    }

    /// Reports a repetition without rounds, or whose count is no number.
    fn lint_count(&mut self, times: Option<&Count>, bound: &Template, path: &Path) {
        if let Some(text) = self.constants.settled(bound)
            && text.trim().parse::<u32>().is_err()
        {
            self.report(path.key("times").mistake(finding!(
                "`{bound}` gives `{text}`, not a count",
                "`{bound}` 的值是 `{text}`，不是次数",
                "give a whole number from 1 on, such as 3",
                "请给一个从 1 起的整数，例如 3"
            )));
        }
        let source = bound.to_string();
        let name = only_expression(&source).unwrap_or_default();
        if let Some(Param::Word(word)) = self.compiler.params.get(name)
            && parse_millis(word).is_ok()
            && !self.in_recipe
        {
            self.report(path.key("times").mistake(finding!(
                "`{name}` is the duration `{word}`, not a count",
                "`{name}` 是时长 `{word}`，不是次数",
                "give a whole number from 1 on, such as 3",
                "请给一个从 1 起的整数，例如 3"
            )));
        }
        if matches!(times, Some(Count::Number(0))) {
            self.report(path.key("times").mistake(finding!(
                "these steps are made 0 times",
                "这些步骤执行 0 次",
                "such as `times: 2`, or leave them out",
                "例如 `times: 2`，或者去掉它们"
            )));
        }
    }

    /// Reports a round number whose name is one that every program already has.
    fn lint_number(&mut self, name: &str, path: &Path) {
        if BUILTINS.contains(&name) {
            self.report(path.key("as").mistake(finding!(
                "`{name}` is a name that every program has already",
                "`{name}` 是每个程序都已有的名字",
                "number the rounds with a name of its own: `as: i`",
                "请给轮次另起名字：`as: i`"
            )));
        } else if self.compiler.params.contains_key(name) && !self.in_recipe {
            self.report(path.key("as").mistake(finding!(
                "`{name}` is a parameter already",
                "`{name}` 已经是参数",
                "number the rounds with a name of its own: `as: i`",
                "请给轮次另起名字：`as: i`"
            )));
        }
    }

    /// Reports a condition that reads the reply of an operation inside the repetition: it is evaluated before each
    /// round, and has no value before the first.
    fn has_value_before(&self, source: &str, steps: &[Step], path: &Path) -> Result<(), Mistake> {
        let names = Expr::parse(source).map(|expr| expr.names()).unwrap_or_default();
        let early =
            |name: &&String| !self.known.contains(*name) && labels_of(steps).any(|label| label == *name);
        let Some(name) = names.iter().find(early) else { return self.is_set_before(&names, steps, path) };
        Err(no_value_yet(name, path).help(both!(
            "write `- let: {{ last: 1 }}` before the repetition and `- let: {{ last: {name} }}` inside it, and ask for `last`; or \
             give the operation an `until:`",
            "请在循环前写 `- let: {{ last: 1 }}`，在循环里写 `- let: {{ last: {name} }}`，条件里用 `last`；或者给这个操作写 `until:`"
        )))
    }

    /// The same check for names that only a `let` inside the repetition sets.
    fn is_set_before(&self, names: &BTreeSet<String>, steps: &[Step], path: &Path) -> Result<(), Mistake> {
        let early = |name: &&String| !self.known.contains(*name) && sets(steps, name);
        let Some(name) = names.iter().find(early) else { return Ok(()) };
        Err(no_value_yet(name, path).help(both!(
            "give it one before the repetition: `- let: {{ {name}: \"false\" }}`",
            "请在循环前先给它一个值：`- let: {{ {name}: \"false\" }}`"
        )))
    }

    /// Emits the assignment of the number of a round.
    fn number(&mut self, name: &str, value: &str, path: &Path) -> Result<(), Mistake> {
        names::check(name, Named::Value, &path.key("as"))
            .map_err(|mistake| Mistake { span: MistakeSpan::Value, ..mistake })?;
        let value = self.expr(value, &path.key("as"))?;
        self.push(Instruction::Set { name: name.to_owned(), value });
        Ok(())
    }
}

/// The largest number of rounds that are unrolled; no lab has so many servers.
const MOST_UNROLLED: u32 = 16;

fn no_value_yet(name: &str, path: &Path) -> Mistake {
    let message = both!(
        "`{name}` has no value yet before the first round, where this is asked for the first time",
        "第一轮开始前就要判断这个条件，那时 `{name}` 还没有值"
    );
    Mistake::new(path, message)
}

/// Whether a `let` among the steps sets the name.
fn sets(steps: &[Step], name: &str) -> bool {
    Step::each(steps).any(|step| matches!(step, Step::Let { values } if values.contains_key(name)))
}
