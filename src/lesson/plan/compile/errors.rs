//! Checks for replies and error codes that a program asks for and never gets.

use super::{
    super::{
        lints::Answer,
        program::{Instruction, PlannedVerb},
    },
    Draft,
    replies::Own,
};
use crate::{
    lesson::{
        error::{ALIKE, Finding, finding, nearest, suggestion},
        expr::mentions::{comparisons, joined},
    },
    text::both,
};

impl Draft<'_> {
    /// The operation right before, if it is sure to come before the next step and does not allow the error.
    pub(super) fn never_before(&self, code: &str) -> Option<String> {
        let here = self.here();
        let leads_here = |instruction: &Instruction| match instruction {
            Instruction::JumpUnless { to, .. } | Instruction::Jump { to } => *to == here,
            _ => false,
        };
        match self.program.instructions.last()? {
            Instruction::Operate(before)
                if !before.allow.iter().any(|allowed| allowed == code || allowed.contains("${"))
                    && !self.program.instructions.iter().any(leads_here) =>
            {
                Some(before.label.clone())
            }
            _ => None,
        }
    }

    /// Reports an error code that a condition compares with and that no operation allows: the run would end with that
    /// error.
    pub(super) fn check_asked_errors(&mut self) {
        let operations = self.program.operations();
        let allowed: Vec<&str> =
            operations.flat_map(|operation| operation.allow.iter().map(String::as_str)).collect();
        let mut asked = self.asked_errors.iter();
        let is_never =
            |code: &str| if code.is_empty() { allowed.is_empty() } else { !allowed.contains(&code) };
        let Some((code, path, _)) = asked.find(|(code, ..)| is_never(code)).cloned() else {
            let found = self
                .asked_errors
                .iter()
                .find_map(|(code, path, before)| Some((code, path, before.as_ref()?)));
            let Some((code, path, before)) = found else { return };
            let message = both!(
                "`error` is never '{code}' here: `{before}`, right before, does not allow it",
                "这里 `error` 不会是 '{code}'：前面的 `{before}` 没有允许它"
            );
            let help =
                both!("write `allow: [{code}]` in `{before}`", "请在 `{before}` 里写 `allow: [{code}]`");
            let path = path.clone();
            return self.report(path.mistake(Finding { message, help }));
        };
        if code.is_empty() {
            return self.report(path.mistake(finding!(
                "`error` is always `none` here: no operation of this program has `allow`",
                "这里 `error` 总是 `none`：这个程序里没有操作写了 `allow`",
                "an error that the program handles is named in the operation: `allow: [NodeExists]`",
                "程序要处理的错误，请写在操作里，例如 `allow: [NodeExists]`"
            )));
        }
        if code == "none" {
            return self.report(path.mistake(finding!(
                "`error` is never the text 'none'",
                "`error` 不会是文字 'none'",
                "without an error: `error is none`",
                "没有出错时请写 `error is none`"
            )));
        }
        let message = both!(
            "`error` is never '{code}': no operation of this program allows it",
            "`error` 不会是 '{code}'：这个程序里没有操作允许它"
        );
        let help = suggestion(
            nearest(&code, allowed.iter().copied(), ALIKE)
                .or_else(|| allowed.iter().copied().find(|known| known.eq_ignore_ascii_case(&code)))
                .or_else(|| allowed.iter().copied().find(|known| known.ends_with(code.as_str()))),
            || {
                both!(
                    "let the operation that may answer it `allow: [{code}]`",
                    "请在可能出这个错的操作里写 `allow: [{code}]`"
                )
            },
        );
        self.report(path.mistake(Finding { message, help }));
    }

    /// The finding about a test for nil on the reply of a command that always answers.
    pub(super) fn nil_lint(&self, source: &str, own: Option<Own<'_>>) -> Option<Finding> {
        let parts = joined(source);
        // Beside another condition a superfluous one does no harm.
        let is_whole = parts.len() == 1;
        parts.into_iter().find_map(|part| {
            let part = part.trim();
            let asked = [" is none", " is not none", " == none", " != none"];
            let label = asked.iter().find_map(|asked| part.strip_suffix(asked))?.trim();
            let operations = self.program.operations().rev();
            let mut named = operations.filter(|operation| label == "reply" || operation.label == label);
            let is_told = |code: &String| self.compiler.reads_lost && code == "Lost";
            if let Some(own) = own.filter(|own| own.is_meant(label)) {
                return Answer::nil_lint(own.verb, label).filter(|_| own.allow.iter().all(is_told));
            }
            if let Some((take, field)) = label.rsplit_once('.')
                && self.program.answer_of(take).is_some_and(Answer::is_notification)
                && !self.is_set(take)
                && is_whole
            {
                return Some(finding!(
                    "a notification always has its `{field}`: `{label}` is never `none`",
                    "通知里总有 `{field}`：`{label}` 不会是 `none`",
                    "where nothing came in time: `{take} is none`",
                    "没有等到通知时请写 `{take} is none`"
                ));
            }
            let operation =
                named.next().filter(|known| known.allow.iter().all(is_told) && known.until.is_none())?;
            let alone = label == "reply" || named.next().is_none();
            let is_call = match &operation.verb {
                PlannedVerb::Call(call) => call.name() != "watch",
                PlannedVerb::Take(_) => true,
                _ => false,
            };
            let is_doubtful = alone && !self.is_set(label) && (is_whole || !is_call);
            Answer::nil_lint(&operation.verb, label).filter(|_| is_doubtful)
        })
    }

    /// The finding about a comparison with `'Lost'` in `format: 1`, where programs see a lost reply as `none`, or of a
    /// reply that would end the run if it were lost.
    pub(super) fn lost_lint(&self, source: &str, own: Option<Own<'_>>) -> Option<Finding> {
        comparisons(source).find_map(|(left, operator, right)| {
            let is_lost = ["'Lost'", "\"Lost\""].contains(&right);
            if self.compiler.reads_lost {
                let allows =
                    |allow: &[String]| allow.iter().any(|code| code == "Lost" || code.contains("${"));
                let mut named = self.program.operations().filter(|one| one.label == left).peekable();
                let never = match own.filter(|own| own.is_meant(left)) {
                    Some(own) => !allows(own.allow),
                    None => {
                        named.peek().is_some() && !self.is_set(left) && !named.any(|one| allows(&one.allow))
                    }
                };
                return (is_lost && never).then(|| {
                    finding!(
                        "`{left}` is never 'Lost': its operation does not allow that, so the run ends there",
                        "`{left}` 不会是 'Lost'：它的操作没有允许丢失回复，遇到时运行就结束了",
                        "write `allow: [Lost]` in the operation",
                        "请在这个操作里写 `allow: [Lost]`"
                    )
                });
            }
            (is_lost && (left == "reply" || self.program.labels.contains(left)) && !self.is_set(left)).then(
                || {
                    finding!(
                        "in `format: 1` a reply that was lost is `none` in programs, never 'Lost'",
                        "在 `format: 1` 里，丢失的回复在程序中是 `none`，不会是 'Lost'",
                        "write `error {operator} 'Lost'`, or `format: 2` at the head of the lesson",
                        "请写 `error {operator} 'Lost'`，或者在课程开头写 `format: 2`"
                    )
                },
            )
        })
    }
}
