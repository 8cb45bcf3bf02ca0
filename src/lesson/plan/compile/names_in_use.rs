//! Checks for names that have no value yet, or that are taken for another thing.

use std::collections::BTreeSet;

use super::{
    super::{
        lints::Answer,
        names::WORDS,
        program::{Instruction, PlannedVerb},
        scripts,
        templates::only_expression,
    },
    Draft,
    replies::Own,
};
use crate::{
    lesson::{
        duration::parse_millis,
        error::{Mistake, Path, finding},
        expr::{Expr, Mentions, Template},
        step::Step,
    },
    text::both,
};

/// Values that every program has and that are no durations: names, and the time since the lesson began.
pub(super) const NO_DURATIONS: [&str; 5] = ["${self}", "${client}", "${token}", "${error}", "${now}"];

/// Whether some step sets a name, and whether that is an operation.
fn sets_later(steps: &[Step], name: &str) -> Option<bool> {
    Step::each(steps).find_map(|step| match step {
        Step::Operation { label, .. } => (label == name).then_some(true),
        Step::Let { values } => values.contains_key(name).then_some(false),
        _ => None,
    })
}

impl Draft<'_> {
    /// Explains an unknown name that the program sets further down.
    pub(super) fn named_later(&self, names: &BTreeSet<String>, mistake: Mistake) -> Mistake {
        let steps = self.compiler.programs.get(&self.name).map(Vec::as_slice).unwrap_or_default();
        let mut unknown = names.iter().filter(|name| !self.known.contains(*name));
        let Some((name, is_label)) = unknown.find_map(|name| Some((name, sets_later(steps, name)?))) else {
            return mistake;
        };
        let message = both!(
            "`{name}` has no value yet here: it gets its first one further down",
            "到这里 `{name}` 还没有值：后面才第一次给它赋值"
        );
        Mistake { message, ..mistake }.help(if is_label {
            both!("write this after the operation `{name}`", "请把这一步写在操作 `{name}` 之后")
        } else {
            both!(
                "give it a first value before: `- let: {{ {name}: 0 }}`",
                "请先给它一个初值：`- let: {{ {name}: 0 }}`"
            )
        })
    }

    /// Reports an operation that sends its own reply before it has one. In a repetition that is the reply of the round
    /// before. `is_new`: nothing has had the name of the operation until here.
    pub(super) fn lint_own_reply(&mut self, label: &str, is_new: bool, verb: &PlannedVerb, path: &Path) {
        let count = |is_it: fn(&Instruction) -> bool| {
            self.program.instructions.iter().filter(|instruction| is_it(instruction)).count()
        };
        let begun = count(|instruction| matches!(instruction, Instruction::RepeatBegin { .. }));
        let ended = count(|instruction| matches!(instruction, Instruction::RepeatNext { .. }));
        let is_used = verb.templates().into_iter().any(|template| template.names().contains(label));
        if is_new && begun == ended && is_used {
            self.report(path.mistake(finding!(
                "`{label}` has no value yet here: it is the reply of this very operation",
                "到这里 `{label}` 还没有值：它正是这个操作的回复",
                "name an earlier operation",
                "请写前面某个操作的名字"
            )));
        }
    }

    /// Reports the name of a value as plain text where its value is probably meant.
    pub(super) fn lint_plain(&mut self, name: &str, path: &Path) {
        if !self.in_recipe
            && (["token", "self", "client"].contains(&name) || self.compiler.params.contains_key(name))
        {
            self.report(path.mistake(finding!(
                "`{name}` is plain text here",
                "`{name}` 在这里只是普通文字",
                "a value is filled in with `${{{name}}}`",
                "填入值要写 `${{{name}}}`"
            )));
        }
    }

    /// Reports a filter on the name of a reply in quotes: `'enter'|replace('/locks/', '')`.
    pub(super) fn lint_quoted(&mut self, source: &str, path: &Path) {
        let Some((quoted, filters)) = source.split_once('|') else { return };
        let quoted = quoted.trim();
        let name = quoted.trim_matches(['\'', '"']);
        if quoted.len() == name.len() + 2 && self.program.labels.contains(name) && !self.in_recipe {
            self.report(path.mistake(finding!(
                "{quoted} in quotes is plain text",
                "加了引号的 {quoted} 只是普通文字",
                "without quotes: `{name}|{filters}`",
                "去掉引号：`{name}|{filters}`"
            )));
        }
    }

    /// Reports a duration whose value is no duration, or that comes from `TTL`, which answers in seconds.
    pub(super) fn lint_duration(&mut self, duration: &Template, path: &Path) {
        let source = duration.to_string();
        if NO_DURATIONS.contains(&source.as_str()) {
            return self.report(path.mistake(finding!(
                "`{source}` is no duration",
                "`{source}` 不是时长",
                "write it like 3s, or name a parameter such as `${{lease}}`",
                "请写成 3s 这样，或者写参数，例如 `${{lease}}`"
            )));
        }
        if let Some(text) = self.constants.settled(duration).filter(|_| !duration.is_literal())
            && parse_millis(&text).is_err()
            && text.parse::<f64>().is_err()
        {
            return self.report(path.mistake(finding!(
                "`{source}` is `{text}`, which is no duration",
                "`{source}` 是 `{text}`，不是时长",
                "write it like 3s or 200ms",
                "请写成 3s 或 200ms 这样"
            )));
        }
        let label = only_expression(&source).unwrap_or_default();
        if self.program.only_sends(label, "TTL") && !self.is_set(label) {
            self.report(path.mistake(finding!(
                "`TTL` answers seconds, and a duration counts in milliseconds",
                "`TTL` 的回复以秒计，而时长以毫秒计",
                "ask with `PTTL`, or write `${{{label} * 1000}}`",
                "请改用 `PTTL`，或者写 `${{{label} * 1000}}`"
            )));
        }
    }

    /// Reports an expression with a keyword that is also the label of an operation: the keyword never means its reply.
    pub(super) fn lint_words(&mut self, source: &str, path: &Path) {
        let named = WORDS.into_iter().filter(|word| self.program.labels.contains(*word));
        let Some(word) = named.into_iter().find(|word| Mentions::of(source).names(word)) else { return };
        self.report(path.mistake(finding!(
            "`{word}` is a word of expressions, and not the reply of the operation `{word}`",
            "`{word}` 是表达式的关键字，不是操作 `{word}` 的回复",
            "give the operation another name",
            "请给这个操作换个名字"
        )));
    }

    /// Reports an `until` whose names no try can change.
    /// Reports an `until` that is the wrong way round: one that goes on only when somebody else has the lock. Notes one
    /// that goes on only without an answer, of which nothing can be used then.
    pub(super) fn lint_inverted(&mut self, own: Own<'_>, source: &str, path: &Path) {
        let Some((name, test)) = source.trim().split_once(' ').filter(|(name, _)| own.is_meant(name)) else {
            return;
        };
        let wants_nothing = matches!(test.trim(), "is none" | "== none");
        let takes_lock = match own.verb {
            PlannedVerb::Redis(words) => {
                let is = |at: usize, name: &str| words[at].to_string().eq_ignore_ascii_case(name);
                is(0, "SET") && (3..words.len()).any(|at| is(at, "NX"))
            }
            _ => false,
        };
        if takes_lock && (wants_nothing || matches!(test.trim(), "!= 'OK'" | "!= \"OK\"")) && !self.in_recipe
        {
            return self.report(path.mistake(finding!(
                "it goes on only when it was refused: as soon as it is granted, it asks again",
                "被拒绝时才会往下走；一拿到就又去重试",
                "write `until: {name} == 'OK'`",
                "请写 `until: {name} == 'OK'`"
            )));
        }
        let is_plain_set =
            matches!(own.verb, PlannedVerb::Redis(words) if words[0].to_string().eq_ignore_ascii_case("SET"));
        if is_plain_set
            && matches!(test.trim(), "== 'OK'" | "== \"OK\"")
            && own.allow.is_empty()
            && Answer::nil_lint(own.verb, name).is_some()
            && !self.in_recipe
        {
            return self.report(path.mistake(finding!(
                "`SET` without `NX` always answers 'OK', so it is never tried again",
                "没有 `NX` 的 `SET` 总是回复 'OK'，不会重试",
                "write `SET key value NX`, which is refused while the key is there",
                "请写 `SET key value NX`：键还在时会被拒绝"
            )));
        }
        if let PlannedVerb::Script { name: script, source, .. } = own.verb
            && scripts::grants_with_nil(source)
            && test.trim().strip_prefix("== ").is_some_and(|number| number.trim().parse::<i64>().is_ok())
            && !self.in_recipe
        {
            return self.report(path.mistake(finding!(
                "the script `{script}` answers nothing when it grants the lock, and otherwise how long it is still held",
                "脚本 `{script}` 加锁成功时回复为空，否则回复锁还剩多久",
                "write `until: {name} is none`",
                "请写 `until: {name} is none`"
            )));
        }
        if let PlannedVerb::Script { name: script, source, .. } = own.verb
            && scripts::grants_with_nil(source)
            && matches!(test.trim(), "is not none" | "!= none")
            && !self.in_recipe
        {
            return self.report(path.mistake(finding!("the script `{script}` answers nothing when it grants the lock: this goes on only when it was refused", "脚本 `{script}` 加锁成功时回复为空：这样写，被拒绝时才会往下走", "write `until: {name} is none`", "请写 `until: {name} is none`")));
        }
        if wants_nothing {
            self.emptied.insert(own.label.to_owned());
        }
    }

    /// Reports the use of an answer that is `none`, because its operation was tried until there was none.
    /// Reports the use of a name that is `none`, because the condition around says so.
    pub(super) fn lint_none(&mut self, source: &str, path: &Path) {
        let uses = |name: &&String| {
            source.trim().strip_prefix(name.as_str()).is_some_and(|rest| {
                rest.is_empty()
                    || rest.starts_with(['.', '['])
                    || (rest.starts_with('|') && !rest.contains("default"))
            })
        };
        let Some(name) = self.none_here.iter().find(uses).filter(|_| !self.in_recipe) else { return };
        self.report(path.mistake(finding!(
            "`{name}` is `none` here, as the condition says",
            "按外层的条件，这里的 `{name}` 是 `none`",
            "ask for `{name} is not none`",
            "条件请写 `{name} is not none`"
        )));
    }

    pub(super) fn lint_emptied(&mut self, names: &BTreeSet<String>, path: &Path) {
        let is_one =
            |label: &String| self.program.operations().filter(|one| one.label == **label).count() == 1;
        let empty = |name: &&String| self.emptied.contains(*name) && !self.is_set(name) && is_one(name);
        let Some(name) = names.iter().find(empty).filter(|_| !self.in_recipe) else { return };
        self.report(path.mistake(finding!(
            "`{name}` is `none` here: it was tried until there was no answer",
            "这里的 `{name}` 是 `none`：它的 `until` 要等到没有回复才往下走",
            "write `until: {name} is not none`",
            "请写 `until: {name} is not none`"
        )));
    }

    pub(super) fn lint_until(&mut self, label: &str, until: Option<&Expr>, path: &Path) {
        let names = until.map(Expr::names).unwrap_or_default();
        let changes =
            |name: &String| name == label || ["reply", "error", "now", "token"].contains(&name.as_str());
        if self.in_recipe || names.iter().any(changes) {
            return;
        }
        self.report(path.mistake(finding!(
            "no try changes what `until` asks for",
            "每次重试都不会改变 `until` 的条件",
            "ask for the reply: `until: reply == 'OK'`",
            "请用回复来判断：`until: reply == 'OK'`"
        )));
    }
}
