//! Compiles expressions and templates, and checks the names in them.

use std::collections::BTreeSet;

use super::{
    super::{
        lints::{self, Answer, Held},
        program::{Instruction, PlannedVerb},
        scripts,
        templates::{computed_outside, doubled_unit, foreign, only_expression, template},
    },
    Draft,
    replies::Own,
};
use crate::{
    lesson::{
        Param,
        duration::parse_written,
        error::{Finding, Mistake, Path, Segment, finding},
        expr::{
            Expr, Mentions, Template,
            mentions::{comparisons, dotted, joined},
        },
    },
    log::Product,
    text::both,
};

impl Draft<'_> {
    pub(super) fn expr(&mut self, source: &str, path: &Path) -> Result<Expr, Mistake> {
        let expr = Expr::parse(source).map_err(|error| Mistake::new(path, error))?;
        Mistake::unless_known(path, both!("name", "变量"), &expr.names(), self.known.iter())
            .map_err(|mistake| self.named_later(&expr.names(), mistake))?;
        self.lint_fields(source, path);
        if source.contains(['.', '[', '|']) {
            self.lint_none(source, path);
        }
        let parts = Mentions::of(source).paths.into_iter().filter(|path| path.len() > 1);
        self.lint_emptied(&parts.map(|mut path| path.swap_remove(0)).collect(), path);
        for filter in ["|before(", "|by_suffix"] {
            let Some((name, _)) = source.split_once(filter) else { continue };
            let name = name.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            if matches!(
                self.reply_of(name),
                Some(Answer::Text | Answer::Path | Answer::Numbered | Answer::Number)
            ) && !self.in_recipe
            {
                let filter = filter.trim_matches(['|', '(']);
                self.report(path.mistake(finding!(
                    "`{filter}` takes a list of names, and `{name}` answers none",
                    "`{filter}` 要的是名字的列表，而 `{name}` 的回复不是列表",
                    "the names of a znode's children are what `ls` answers: `ls /locks`",
                    "znode 的子节点名由 `ls` 回复：`ls /locks`"
                )));
            }
        }
        if ["|before(", "|by_suffix", "|suffix"].iter().any(|filter| source.contains(filter))
            && !self.in_recipe
        {
            self.asks_suffix.get_or_insert_with(|| path.clone());
        }
        Ok(expr)
    }

    /// Whether a `let` assigns another value to this label's name.
    pub(super) fn is_set(&self, label: &str) -> bool {
        self.values_of(label).next().is_some()
    }

    /// The expressions that every `let` so far assigns to a name.
    pub(super) fn values_of(&self, name: &str) -> impl Iterator<Item = &str> {
        self.program.instructions.iter().filter_map(move |instruction| match instruction {
            Instruction::Set { name: set, value } if set == name => Some(value.source()),
            _ => None,
        })
    }

    /// The kind of answer that a label stands for, unless a `let` assigns another value to its name.
    pub(super) fn reply_of(&self, label: &str) -> Option<Answer> {
        self.program.answer_of(label).filter(|_| !self.is_set(label))
    }

    /// Reports a reply's field or column that does not exist, and arithmetic on a text.
    fn lint_fields(&mut self, source: &str, path: &Path) {
        self.lint_words(source, path);
        let dotted = dotted(source);
        let source = dotted.as_str();
        let is_counted = comparisons(source).any(|(_, _, right)| right.parse::<i64>().is_ok());
        let is_asked = ["].", ".what", "|length", "startingwith"].iter().any(|part| source.contains(part));
        if (is_asked || is_counted) && !self.in_recipe {
            self.program.asked.push((source.to_owned(), path.clone()));
        }
        let lint = lints::field_lint(
            source,
            |label| self.reply_of(label),
            |label| self.program.columns_of(label).filter(|_| !self.is_set(label)),
        );
        let unnumbered = || lints::unnumbered_lint(source);
        let beyond = || {
            lints::items::beyond(source, |label| self.program.items_of(label).filter(|_| !self.is_set(label)))
        };
        let of_text = || lints::arithmetic_lint(source, |label| self.reply_of(label));
        let of_length = || {
            lints::items::length_lint(source, |label| {
                self.program.length_of(label).filter(|_| !self.is_set(label))
            })
        };
        let lint = lint
            .or_else(unnumbered)
            .or_else(|| lints::items::repeated(source))
            .or_else(beyond)
            .or_else(of_length)
            .or_else(of_text);
        if let Some(finding) = lint.filter(|_| !self.in_recipe) {
            self.report(path.mistake(finding));
        }
    }

    /// Reports a comparison of an answer with a value it never has. `own`: the operation whose reply the expression is
    /// about.
    pub(super) fn lint_comparison(&mut self, source: &str, own: Option<Own<'_>>, path: &Path) {
        if !self.in_recipe {
            self.compared.push((source.to_owned(), path.clone()));
        }
        let lint =
            self.granted_lint(source, own).or_else(|| lints::lint(source, |name| self.answer_to(name, own)));
        let lint = lint.or_else(|| lints::name_lint(source)).or_else(|| lints::decided(source));
        let lint = lint.or_else(|| lints::event_lint(source, self.compiler.lab));
        let lint = lint.or_else(|| self.nil_lint(source, own)).or_else(|| self.lost_lint(source, own));
        for code in lints::errors_asked(source).map(str::to_owned) {
            let before = if own.is_some() || self.in_recipe { None } else { self.never_before(&code) };
            self.asked_errors.push((code, path.clone(), before));
        }
        // An operation that is tried again until there is no error has to allow that error.
        if own.is_some() && Mentions::of(source).names("error") {
            self.asked_errors.push((String::new(), path.clone(), None));
        }
        let is_reply = |name: &str| name == "reply" || self.program.answer_of(name).is_some();
        let lint =
            lint.or_else(|| lints::error_lint(source, is_reply, self.compiler.lab.has(Product::Mariadb)));
        let of_size = lints::size_lint(source, self.compiler.params).filter(|_| lint.is_none());
        if let Some((name, finding)) = of_size {
            return self.report((self.compiler.param_path)(name).mistake(finding));
        }
        let lint = lint.or_else(|| self.reply_lint(source, own));
        if let Some(finding) = lint.filter(|_| !self.in_recipe) {
            self.report(path.mistake(finding));
        }
    }

    /// The finding about `'OK'` or `true` of a script that answers nothing when it grants the lock.
    fn granted_lint(&self, source: &str, own: Option<Own<'_>>) -> Option<Finding> {
        comparisons(source).find_map(|(left, _, right)| {
            let verb = match own.filter(|own| own.is_meant(left)) {
                Some(own) => own.verb,
                None => &self.program.operations().rev().find(|operation| left == operation.label || left == "reply")?.verb,
            };
            let PlannedVerb::Script { name, source: script, .. } = verb else { return None };
            let is_grant = matches!(right.trim_matches(['\'', '"']), "OK" | "true");
            (is_grant && scripts::grants_with_nil(script)).then(|| {
                finding!(
                    "the script `{name}` answers nothing when it grants the lock, and otherwise a number: never {right}",
                    "脚本 `{name}` 加锁成功时回复为空，否则回复数字：不会是 {right}",
                    "write `{left} is none`",
                    "请写 `{left} is none`"
                )
            })
        })
    }

    /// Reports a variable that is compared with a value of another kind than every `let` gives it.
    pub(super) fn check_compared(&mut self) {
        let held = |name: &str| -> Option<Held> {
            let mut values = self.values_of(name);
            let kind = |name: &str| {
                (!self.is_set(name)).then(|| self.kind_of(name, self.program.answer_of(name)))?
            };
            let first = lints::held(values.next()?, kind)?;
            values.all(|value| lints::held(value, kind) == Some(first)).then_some(first)
        };
        let mut compared = self.compared.iter();
        let found = compared.find_map(|(source, path)| Some((path, lints::held_lint(source, held)?)));
        if let Some((path, finding)) = found {
            let mistake = path.mistake(finding);
            self.report(mistake);
        }
    }

    /// Reports a `let` that gives a condition the text 'true' or 'false': every text counts as true.
    pub(super) fn check_flags(&mut self) {
        let mut asked = BTreeSet::new();
        for instruction in &self.program.instructions {
            let (Instruction::JumpUnless { condition, .. }
            | Instruction::RepeatNext { condition: Some(condition), .. }) = instruction
            else {
                continue;
            };
            let parts = joined(condition.source());
            asked.extend(parts.into_iter().map(|part| part.trim().trim_start_matches("not ").to_owned()));
        }
        let found = self.program.conditions.iter().find_map(|(at, path)| {
            let Instruction::Set { name, value } = self.program.instructions.get(*at)? else { return None };
            let text = value.source().trim();
            let flag = text.trim_matches(['\'', '"']);
            let is_quoted = text.len() == flag.len() + 2 && ["true", "false"].contains(&flag);
            (is_quoted && asked.contains(name)).then(|| (name.clone(), flag.to_owned(), path.clone()))
        });
        if let Some((name, flag, path)) = found {
            self.report(path.mistake(finding!(
                "'{flag}' in quotes is a text, and every text counts as true",
                "带引号的 '{flag}' 是文字，而任何文字都算成立",
                "with the quotes of YAML only: `let: {{ {name}: \"{flag}\" }}`",
                "只保留 YAML 的引号：`let: {{ {name}: \"{flag}\" }}`"
            )));
        }
    }

    /// Reports a duration that every `let` makes `true` or `false`.
    pub(super) fn check_durations(&mut self) {
        let is_flag = |name: &str| {
            let mut values = self.values_of(name);
            values.next().is_some_and(|value| matches!(value, "true" | "false"))
                && values.all(|value| lints::held(value, |_| None) == Some(Held::Flag))
        };
        let found = self.durations.iter().find_map(|(source, path)| {
            let name = only_expression(source).filter(|name| is_flag(name))?;
            Some((name.to_owned(), path.clone()))
        });
        if let Some((name, path)) = found {
            self.report(path.mistake(finding!(
                "`{name}` is `true` or `false`, and no duration",
                "`{name}` 是 `true` 或 `false`，不是时长",
                "write it like 3s, or name a parameter with a unit",
                "请写成 3s 这样，或者写带单位的参数"
            )));
        }
    }

    pub(super) fn template(&mut self, source: &str, path: &Path) -> Result<Template, Mistake> {
        // In a cluster `{lock}` is a hash tag.
        let is_whole = source.starts_with('{') && source.ends_with('}') && !self.compiler.lab.is_cluster();
        foreign(source, path, &self.known.iter(), is_whole)?;
        let template =
            template(source, path, both!("name", "变量"), self.known.iter()).map_err(|mistake| {
                let names = Template::parse(source).map(|template| template.names()).unwrap_or_default();
                self.named_later(&names, mistake)
            })?;
        for source in template.sources() {
            self.lint_fields(&source, path);
            self.lint_none(&source, path);
        }
        self.lint_emptied(&template.names(), path);
        Ok(template)
    }

    pub(super) fn duration(&mut self, source: &str, path: &Path) -> Result<Template, Mistake> {
        let template = self.template(source, path)?;
        if template.names().is_empty() {
            parse_written(source).map_err(|error| {
                let mistake = Mistake::new(path, error);
                let is_name = self.known.contains(source) || self.program.labels.contains(source);
                let is_wait = matches!(path.segments().last(), Some(Segment::Key(key)) if key == "wait");
                if is_wait && !is_name {
                    mistake.help(both!(
                        "that it waits for a lock is said with `- waits: {source}`",
                        "表示正在等锁请写 `- waits: {source}`"
                    ))
                } else if is_name {
                    mistake.help(both!(
                        "write `\"${{{source}}}\"` for its value",
                        "取它的值请写 `\"${{{source}}}\"`"
                    ))
                } else {
                    mistake
                }
            })?;
        }
        doubled_unit(source, self.compiler.params, path)?;
        computed_outside(&template, path)?;
        self.durations.push((template.to_string(), path.clone()));
        self.lint_duration(&template, path);
        let name = only_expression(source).unwrap_or_default();
        // A small number without a unit would be a few milliseconds, which the author hardly meant.
        if let Some(Param::Number(few @ 1..=30)) = self.compiler.params.get(name)
            && !self.in_recipe
        {
            self.report(path.mistake(finding!(
                "`{source}` is {few} ms here",
                "`{source}` 在这里只有 {few} 毫秒",
                "give the parameter a unit: `{name}: {few}s`, or `{name}: {few}ms`",
                "请给参数带上单位：`{name}: {few}s` 或 `{name}: {few}ms`"
            )));
        }
        Ok(template)
    }

    pub(super) fn templates(&mut self, sources: &[String], path: &Path) -> Result<Vec<Template>, Mistake> {
        sources.iter().map(|source| self.template(source, path)).collect()
    }
}
