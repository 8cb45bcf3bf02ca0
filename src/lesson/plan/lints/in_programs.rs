//! Comparisons that only a program makes, or whose error only a program can allow: with an error code, with a quoted name,
//! with a text that is taken for a number.

use super::{
    super::super::{
        duration::parse_millis,
        expr::{
            mentions::{comparisons, joined, split_comparison},
            tokens::{Kind, tokens},
        },
        has_word,
        model::{Param, Params},
    },
    answer::Answer,
    comparison::{Literal, literal},
};
use crate::{
    lesson::{
        error::{Finding, finding},
        plan::Program,
    },
    text::both,
};

/// Error codes that only servers produce, and no reply of a program.
const ERRORS: &str = "
    ERR WRONGTYPE NOSCRIPT NOREPLICAS READONLY LOADING MASTERDOWN MOVED ASK TRYAGAIN CROSSSLOT CLUSTERDOWN BUSY NodeExists
    NoNode NotEmpty BadVersion EWOULDBLOCK KeyExists LeaseNotFound Unavailable SessionExpired ConnectionLoss
";

/// Whether a literal is an error code.
pub(super) fn is_code(literal: &str) -> bool {
    let code = literal.trim_matches(['\'', '"']);
    code == "Lost"
        || has_word(ERRORS, code)
        || code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit())
}

/// The error codes that an expression compares `error` with.
pub(crate) fn errors_asked(source: &str) -> impl Iterator<Item = &str> {
    comparisons(source).filter_map(|compared| match compared {
        ("error", "==" | "!=", right) => match literal(right)? {
            Literal::Text(code) => Some(code),
            _ => None,
        },
        _ => None,
    })
}

/// The finding about a program that compares a reply with an error code.
pub(crate) fn error_lint(source: &str, known: impl Fn(&str) -> bool, in_sql: bool) -> Option<Finding> {
    comparisons(source).find_map(|(left, operator, right)| {
        if left == "error" && matches!(literal(right)?, Literal::Number(_) | Literal::Flag) {
            let text = right.trim_matches(['\'', '"']);
            return Some(Finding {
                message: both!(
                    "`error` is a text or `none`, and never {right}",
                    "`error` 是文字或 `none`，不会是 {right}"
                ),
                help: if matches!(literal(right), Some(Literal::Flag)) {
                    both!(
                        "write `error is none` or `error is not none`",
                        "请写 `error is none` 或 `error is not none`"
                    )
                } else {
                    both!("in quotes: `error {operator} '{text}'`", "加上引号：`error {operator} '{text}'`")
                },
            });
        }
        let Literal::Text(code) = literal(right)? else { return None };
        let is_number = in_sql && code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit());
        (known(left) && (is_number || has_word(ERRORS, code))).then(|| {
            finding!(
                "a reply is never the error {right}",
                "回复不会是错误 {right}",
                "write `error {operator} {right}`, and let the operation `allow: [{code}]`",
                "请写 `error {operator} {right}`，并在操作里写 `allow: [{code}]`"
            )
        })
    })
}

/// The finding about a comparison with the quoted name of a value that every program has: `look == 'token'`.
pub(crate) fn name_lint(source: &str) -> Option<Finding> {
    comparisons(source).find_map(|(left, operator, right)| {
        let Literal::Text(name @ ("token" | "self" | "client")) = literal(right)? else { return None };
        Some(Finding {
            message: both!("{right} in quotes is plain text", "加了引号的 {right} 只是普通文字"),
            help: both!("without quotes: `{left} {operator} {name}`", "去掉引号：`{left} {operator} {name}`"),
        })
    })
}

/// The finding about a quoted text in place of a sequential znode: `names|before('mine')`.
pub(crate) fn unnumbered_lint(source: &str) -> Option<Finding> {
    let (_, rest) = source.split_once("|before(")?;
    let Literal::Text(text) = literal(rest.split_once(')')?.0.trim())? else { return None };
    (!text.ends_with(|c: char| c.is_ascii_digit())).then(|| Finding {
        message: both!("'{text}' in quotes is no sequential znode", "加了引号的 '{text}' 不是顺序节点的名字"),
        help: both!("without quotes: `before({text})`", "去掉引号：`before({text})`"),
    })
}

/// The finding about arithmetic on a text: `read - 1`.
pub(crate) fn arithmetic_lint(source: &str, answer: impl Fn(&str) -> Option<Answer>) -> Option<Finding> {
    let tokens = tokens(source).ok()?;
    (0..tokens.len()).find_map(|n| {
        let (Kind::Name, name) = tokens[n] else { return None };
        let before = n.checked_sub(1).map(|before| tokens[before].1);
        let (Kind::Sign, sign) = tokens.get(n + 1)? else { return None };
        let next = tokens.get(n + 2)?;
        let computes =
            matches!(*sign, "-" | "*" | "/" | "//" | "%") || (*sign == "+" && next.0 == Kind::Number);
        let number = next.1;
        let help = match answer(name).filter(|_| computes && !matches!(before, Some("." | "|" | "~")))? {
            Answer::Text => both!(
                "`{name}|int` is its number: `{name}|int {sign} {number}`",
                "`{name}|int` 是它的数值：`{name}|int {sign} {number}`"
            ),
            Answer::Ok => both!(
                "it is 'OK' or `none`; count in a variable of your own: `- let: {{ votes: votes {sign} {number} }}`",
                "它是 'OK' 或 `none`；计数请用自己的变量：`- let: {{ votes: votes {sign} {number} }}`"
            ),
            _ => return None,
        };
        Some(Finding { message: both!(
                "`{name}` answers a text, with which nothing can be computed",
                "`{name}` 的回复是文字，不能用来计算"
            ), help })
    })
}

/// The finding about an error code that a claim expects but no operation with this label allows: the run would have ended
/// with it.
pub(super) fn unallowed(program: &Program, label: &str, code: &str) -> Option<Finding> {
    let of_sql = program.statement_of(label).is_some();
    let is_number = of_sql && code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit());
    let is_code = has_word(ERRORS, code) || is_number;
    // The value of a key and the result of a script may be any text.
    let answer = program.answer_of(label)?;
    let is_plain = of_sql || matches!(answer, Answer::Ok | Answer::Number | Answer::Object(_));
    (is_code && is_plain && !program.allows(label, code)).then(|| {
        finding!(
            "no operation `{label}` allows the error '{code}'",
            "没有 `{label}` 操作允许错误 '{code}'",
            "let the operation `allow: [{code}]`",
            "请在操作里写 `allow: [{code}]`"
        )
    })
}

/// The finding about a text parameter that is compared by size: `votes >= quorum`.
/// Returns the parameter's name, too.
pub(crate) fn size_lint<'s>(source: &'s str, params: &Params) -> Option<(&'s str, Finding)> {
    joined(source).into_iter().find_map(|part| {
        let (left, operator, right) = split_comparison(part)?;
        let is_size = matches!(operator, "<" | "<=" | ">" | ">=");
        let word = |name: &str| match params.get(name) {
            Some(Param::Word(word)) if parse_millis(word).is_err() => Some(word.clone()),
            _ => None,
        };
        let (name, word) =
            [left, right].into_iter().find_map(|name| Some((name, word(name)?))).filter(|_| is_size)?;
        Some((
            name,
            finding!(
                "`{name}` is the text `{word}`, and no number: it is compared in `{part}`",
                "`{name}` 是文字 `{word}`，不是数字，而它要在 `{part}` 里比较大小",
                "give the parameter a number: `{name}: 3`",
                "请给这个参数一个数字：`{name}: 3`"
            ),
        ))
    })
}
