//! Comparisons that have the same result in every run: a text with a number, a count with a negative number.

use super::{
    super::super::{
        duration::parse_signed_millis,
        expr::{
            Mentions,
            mentions::{joined, split_comparison},
            tokens::{Kind, tokens},
        },
    },
    answer::{Answer, STAT, of_answer, of_row},
    attributes::{of_attribute, of_content, of_list},
};
use crate::{
    lesson::error::{Finding, finding},
    text::both,
};

/// A literal on the right of a comparison.
pub(crate) enum Literal<'s> {
    Number(i64),
    Text(&'s str),
    Flag,
}

/// Whether a comparison with a number is never true of what is `most` at most.
pub(crate) fn exceeds<N: PartialOrd + Copy>(operator: &str, number: N, most: N) -> bool {
    match operator {
        "==" | ">=" => number > most,
        ">" => number >= most,
        _ => false,
    }
}

pub(crate) fn literal(word: &str) -> Option<Literal<'_>> {
    if let Ok(number) = word.replace("- ", "-").parse() {
        return Some(Literal::Number(number));
    }
    if matches!(word, "true" | "false") {
        return Some(Literal::Flag);
    }
    let inner =
        |quote: char| word.strip_prefix(quote)?.strip_suffix(quote).filter(|text| !text.contains(quote));
    inner('\'').or_else(|| inner('"')).map(Literal::Text)
}

/// Functions that return a count or a time: a number from 0 on.
pub(super) const COUNTING: [&str; 10] = [
    "moves",
    "notified",
    "woken_by",
    "holders",
    "finished",
    "deleted_by_another",
    "renewed_by_another",
    "herd",
    "waited",
    "at",
];
/// Functions that return a boolean.
const YES_OR_NO: [&str; 3] = ["exists", "before", "orphaned"];

/// The finding about a comparison with a value that the answer never has, in one of the parts joined by `and` and `or`.
/// `answer` gives the kind of answer for a name such as `reply` or `A.release`.
pub(crate) fn lint(source: &str, answer: impl Fn(&str) -> Option<Answer>) -> Option<Finding> {
    filled_lint(source).or_else(|| joined(source).into_iter().find_map(|part| of_part(part, &answer)))
}

/// The finding about `${…}` inside a quoted text of an expression: values are filled in only in texts and commands.
fn filled_lint(source: &str) -> Option<Finding> {
    let text = Mentions::of(source).texts.into_iter().find(|text| text.contains("${"))?;
    let (before, rest) = text.split_once("${")?;
    let (inside, after) = rest.split_once('}')?;
    let quoted = |text: &str| (!text.is_empty()).then(|| format!("'{text}'"));
    let parts = [quoted(before), Some(inside.to_owned()), quoted(after)];
    let right = parts.into_iter().flatten().collect::<Vec<_>>().join(" ~ ");
    Some(finding!(
        "nothing is filled in between the quotes of an expression: '{text}' is plain text",
        "表达式的引号里不会填入任何值：'{text}' 只是普通文字",
        "write `{right}`",
        "请写 `{right}`"
    ))
}

/// The finding about a left side that is wrong whatever it is compared with.
fn of_form(source: &str) -> Option<Finding> {
    if let Some(asked) = source.strip_prefix("pttl(")
        && let Some((_, test)) = asked.split_once(')')
        && ["is", "==", "!="].iter().any(|word| test.trim_start().starts_with(word))
        && test.contains("none")
    {
        return Some(finding!(
            "`pttl()` is a number, and never `none`",
            "`pttl()` 是数字，不会是 `none`",
            "without the key it is -2: `pttl('lock') == -2`",
            "键不存在时是 -2：`pttl('lock') == -2`"
        ));
    }
    if let Some((left, right)) = source.split_once(" in ")
        && left.starts_with("value(")
        && let Some(Literal::Text(_)) = literal(right.trim())
    {
        return Some(Finding {
            message: both!("`in` has it the other way round", "`in` 的两边写反了"),
            help: both!("write `{right} in {left}`", "请写 `{right} in {left}`"),
        });
    }
    if let Some((number, _)) = source.split_once(" in value(").filter(|(word, _)| word.parse::<i64>().is_ok())
    {
        return Some(finding!(
            "what `value()` gives holds texts, never the number {number}",
            "`value()` 里是文字，不会有数字 {number}",
            "write it in quotes: `'{number}'`",
            "请加引号：`'{number}'`"
        ));
    }
    None
}

/// The finding about a number that is compared with a text, in which it stands in quotes.
pub(crate) fn unquoted(left: &str, operator: &str, text: &str, right: &str) -> Finding {
    Finding {
        message: both!("`{left}` is a number, and never {right}", "`{left}` 是数字，不会是 {right}"),
        help: both!("without quotes: `{left} {operator} {text}`", "去掉引号：`{left} {operator} {text}`"),
    }
}

/// The finding about a number that is compared with a text.
fn of_quoted(
    left: &str,
    operator: &str,
    text: &str,
    right: &str,
    answer: &impl Fn(&str) -> Option<Answer>,
) -> Option<Finding> {
    let of_stat = left
        .rsplit_once('.')
        .is_some_and(|(whole, part)| answer(whole) == Some(Answer::Object(STAT)) && part != "owner");
    if of_stat
        || ["|int", "|length", "|count", "|float", "|suffix"].iter().any(|filter| left.ends_with(filter))
    {
        let number = match text.trim_start_matches('0') {
            "" if !text.is_empty() => "0",
            number => number,
        };
        return Some(unquoted(left, operator, number, right));
    }
    if !matches!(operator, "==" | "!=") && text.parse::<i64>().is_ok() {
        return Some(finding!(
            "{right} is a text: `{operator}` compares it letter by letter",
            "{right} 是文字，`{operator}` 会逐个字符比较",
            "without quotes: `{left} {operator} {text}`; `x|int` is the number of a text",
            "去掉引号：`{left} {operator} {text}`；文字的数值是 `x|int`"
        ));
    }
    None
}

/// The finding about an item of a list of texts, a filter on a queued reply, or a difference of times.
fn of_item(
    left: &str,
    operator: &str,
    (value, right): (&Literal<'_>, &str),
    answer: &impl Fn(&str) -> Option<Answer>,
) -> Option<Finding> {
    let equal = matches!(operator, "==" | "!=");
    if let Some((whole, index)) = left.split_once('[')
        && index.ends_with(']')
        && !matches!(value, Literal::Flag)
        && !index.contains(['\'', '"'])
    {
        match answer(whole) {
            Some(Answer::Texts) if matches!(value, Literal::Number(_)) => {
                return of_answer(left, Answer::Text, equal, value, right);
            }
            Some(Answer::Rows) => return Some(of_row(left, operator, right)),
            _ => {}
        }
    }
    if let Some((whole, _)) = left.split_once('|')
        && answer(whole) == Some(Answer::Queued)
    {
        return of_answer(whole, Answer::Queued, equal, value, right);
    }
    // A comparison with less than a few milliseconds may mean that no time has passed.
    if let Literal::Number(number @ 1..100) = value
        && Mentions::of(left).names("now")
        && left.contains('-')
        && matches!(operator, "<" | "<=" | ">" | ">=")
    {
        return Some(of_millis("now", (left, operator, *number)));
    }
    None
}

/// The finding about so few milliseconds that seconds are probably meant.
fn of_millis(time: &str, (left, operator, number): (&str, &str, i64)) -> Finding {
    finding!(
        "`{time}` counts in milliseconds: {number} are hardly meant",
        "`{time}` 以毫秒计，{number} 毫秒多半不是本意",
        "write `{left} {operator} {number}000`",
        "请写 `{left} {operator} {number}000`"
    )
}

/// `A.note|suffix` from `(A.note|suffix)`.
fn unwrapped(left: &str) -> &str {
    match left.strip_prefix('(').and_then(|left| left.strip_suffix(')')) {
        Some(inside) if !inside.contains(['(', ')']) => inside.trim(),
        _ => left,
    }
}

/// The finding about `suffix`, `int` or `float` on a list, because they take one item.
fn of_suffix(left: &str, answer: &impl Fn(&str) -> Option<Answer>) -> Option<Finding> {
    let number = [("|int", "int"), ("|float", "float")];
    if let Some((whole, filter)) =
        number.into_iter().find_map(|(end, filter)| Some((left.strip_suffix(end)?, filter)))
        && matches!(answer(whole), Some(Answer::Several | Answer::Rows | Answer::Texts))
    {
        return Some(finding!(
            "`{whole}` answers a list, and `{filter}` is the number of one text",
            "`{whole}` 的回复是列表，而 `{filter}` 取的是一段文字的数值",
            "take one item, such as `{whole}[0]`, or count them: `{whole}|length`",
            "请取其中一项，例如 `{whole}[0]`；要数个数请写 `{whole}|length`"
        ));
    }
    if let Some(whole) = left.strip_suffix("|suffix")
        && matches!(answer(whole), Some(Answer::Several | Answer::Rows | Answer::Texts))
    {
        return Some(finding!(
            "`{whole}` answers a list, and `suffix` is the number of one name",
            "`{whole}` 的回复是列表，而 `suffix` 取的是一个名字的序号",
            "write `{whole}[0]|suffix`",
            "请写 `{whole}[0]|suffix`"
        ));
    }
    None
}

/// Reports a count that is compared with something other than a number.
pub(super) fn of_number(left: &str, operator: &str, value: &Literal<'_>, right: &str) -> Finding {
    let number = match value {
        Literal::Text(text) => parse_signed_millis(text).unwrap_or(1),
        _ => 1,
    };
    Finding {
        message: both!("`{left}` is a number, and never {right}", "`{left}` 是数字，不会是 {right}"),
        help: both!("such as `{left} {operator} {number}`", "例如 `{left} {operator} {number}`"),
    }
}

pub(super) fn of_whole_list(left: &str, right: &str, item: &str) -> Finding {
    finding!(
        "`{left}` is a list, and never {right}",
        "`{left}` 是列表，不会是 {right}",
        "such as `{left}|length == 1`, `{left}[0] == {item}`, or `{item} in {left}`",
        "例如 `{left}|length == 1`、`{left}[0] == {item}`，或者 `{item} in {left}`"
    )
}

/// The finding about two sides that are the same, or both fixed values.
fn of_fixed(left: &str, right: &str) -> Option<Finding> {
    if let (Some(Literal::Text(_) | Literal::Number(_)), Some(Literal::Text(_) | Literal::Number(_))) =
        (literal(left), literal(right))
    {
        return Some(finding!(
            "{left} and {right} are both fixed values",
            "{left} 和 {right} 都是固定的值",
            "on one side stands what is observed, such as `role('node2')` or `A.acquire`",
            "其中一边应是观察到的内容，例如 `role('node2')`、`A.acquire`"
        ));
    }
    if left == right {
        return Some(Finding {
            message: both!("`{left}` is compared with itself", "`{left}` 和它自己比较"),
            help: both!("name what it is to be compared with", "请写明要和什么比较"),
        });
    }
    None
}

fn of_part(source: &str, answer: &impl Fn(&str) -> Option<Answer>) -> Option<Finding> {
    if let Some(lint) = of_form(source) {
        return Some(lint);
    }
    let (left, operator, right) = split_comparison(source)?;
    let left = unwrapped(left);
    if let Some(lint) = of_suffix(left, answer) {
        return Some(lint);
    }
    if let Some(lint) = of_fixed(left, right) {
        return Some(lint);
    }
    let equal = matches!(operator, "==" | "!=");
    // A fraction, such as a score, is answered as a text.
    let is_fraction = right.contains('.') && right.parse::<f64>().is_ok();
    if is_fraction && answer(left) == Some(Answer::Text) {
        return of_answer(left, Answer::Text, equal, &Literal::Number(0), right);
    }
    if let Some(lint) = of_list(left, operator, right) {
        return Some(lint);
    }
    let value = literal(right)?;
    if let Literal::Text(text) = value
        && let Some(lint) = of_quoted(left, operator, text, right, answer)
    {
        return Some(lint);
    }
    if let Some(lint) = of_attribute(left, operator, &value, right) {
        return Some(lint);
    }
    if let Literal::Number(number) = value
        && is_length(left)
        && never_or_always(operator, number)
    {
        return Some(of_less(left));
    }
    if let Some(kind) = answer(left) {
        return of_answer(left, kind, equal, &value, right);
    }
    if let Some(lint) = of_item(left, operator, (&value, right), answer) {
        return Some(lint);
    }
    if let Some((whole, part)) = left.rsplit_once('.')
        && answer(whole).is_some_and(Answer::has_no_parts)
    {
        return Some(Finding {
            message: both!("what `{whole}` answers has no `.{part}`", "`{whole}` 的回复没有 `.{part}`"),
            help: both!("ask for the answer itself: `{whole}`", "请直接用回复：`{whole}`"),
        });
    }
    let mentions = Mentions::of(left);
    let [call] = &mentions.calls[..] else { return None };
    let function = call.function.as_str();
    if !(left.starts_with(function) && left.ends_with(')')) || left.matches('(').count() != 1 {
        return None;
    }
    let counts = COUNTING.contains(&function);
    match value {
        // A comparison with less than a few milliseconds may mean that nobody waited.
        Literal::Number(number @ 1..100)
            if matches!(function, "at" | "waited") && !matches!(operator, "<" | "<=") =>
        {
            Some(of_millis(left, (left, operator, number)))
        }
        Literal::Number(number) if counts => never_or_always(operator, number).then(|| of_less(left)),
        Literal::Text(_) | Literal::Flag if counts || function == "pttl" => {
            Some(of_number(left, operator, &value, right))
        }
        Literal::Number(_) | Literal::Text(_) | Literal::Flag
            if matches!(function, "replies" | "children") =>
        {
            // Children are names, and never 'OK'.
            let item = match value {
                Literal::Text(_) => right,
                _ if function == "children" => "'n-0000000000'",
                _ => "'OK'",
            };
            Some(of_whole_list(left, right, item))
        }
        Literal::Number(number) if function == "value" => Some(of_content(left, operator, number)),
        Literal::Text(_) if YES_OR_NO.contains(&function) => Some(finding!(
            "`{left}` is `true` or `false`, never a text",
            "`{left}` 是 `true` 或 `false`，不会是文字",
            "write `{left}` or `not {left}`",
            "请写 `{left}` 或 `not {left}`"
        )),
        _ => None,
    }
}

/// Whether an expression is the length of something, and nothing is computed with it.
fn is_length(source: &str) -> bool {
    let Ok(tokens) = tokens(source) else { return false };
    let computes = ["+", "-", "*", "/", "//", "%", "**", "~"];
    matches!(tokens[..], [.., (Kind::Sign, "|"), (Kind::Name, "length" | "count")])
        && !tokens.iter().any(|(kind, word)| *kind == Kind::Sign && computes.contains(word))
}

/// The finding about a count that is compared with something below 0.
pub(super) fn of_less(left: &str) -> Finding {
    Finding {
        message: both!("`{left}` is never less than 0", "`{left}` 不会小于 0"),
        help: both!("such as `{left} == 1`", "例如 `{left} == 1`"),
    }
}

/// Whether comparing a count with this number has the same result for every count.
pub(super) fn never_or_always(operator: &str, number: i64) -> bool {
    match operator {
        "<" | ">=" => number <= 0,
        "==" | "!=" | "<=" | ">" => number < 0,
        _ => false,
    }
}
