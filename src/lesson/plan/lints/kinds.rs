//! Comparisons of two computed values of different kinds: a number with a text, or a text with a list. They have the same
//! result in every run.

use minijinja::Value;

use super::{
    super::super::expr::{
        mentions::{comparisons, joined, split_comparison},
        tokens::{Kind as Token, tokens},
    },
    answer::Answer,
    comparison::{COUNTING, Literal, literal},
};
use crate::{
    lesson::error::{Finding, finding},
    text::{Text, both},
};

/// The kind of a value. It may be `none` as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
    List,
    Object,
    /// What a key holds: a text or an object, but no number.
    Content,
}

impl Kind {
    pub(crate) fn of_answer(answer: Answer) -> Self {
        match answer {
            Answer::Number => Self::Number,
            Answer::Several | Answer::Rows | Answer::Texts => Self::List,
            Answer::Object(_) => Self::Object,
            _ => Self::Text,
        }
    }

    /// The kind of a parameter's value. A duration is a number of milliseconds.
    pub(crate) fn of_value(value: &Value) -> Option<Self> {
        if value.is_number() { Some(Self::Number) } else { value.as_str().map(|_| Self::Text) }
    }

    /// The kind of a name that every program has.
    pub(crate) fn of_builtin(name: &str) -> Option<Self> {
        match name {
            "now" | "index" => Some(Self::Number),
            "self" | "client" | "token" | "error" => Some(Self::Text),
            _ => None,
        }
    }

    fn of_function(name: &str) -> Option<Self> {
        match name {
            "pttl" | "metric_by" => Some(Self::Number),
            name if COUNTING.contains(&name) => Some(Self::Number),
            "role" | "owner" => Some(Self::Text),
            "replies" | "children" => Some(Self::List),
            "value" => Some(Self::Content),
            _ => None,
        }
    }

    fn of_filter(name: &str) -> Option<Self> {
        match name {
            "int" | "length" | "count" | "float" | "suffix" | "abs" | "round" => Some(Self::Number),
            "string" | "join" | "upper" | "lower" | "trim" | "replace" | "duration" | "duration_zh" => {
                Some(Self::Text)
            }
            "by_suffix" | "sort" | "list" | "split" => Some(Self::List),
            _ => None,
        }
    }

    fn is_other_than(self, other: Self) -> bool {
        match (self, other) {
            (Self::Content, other) | (other, Self::Content) => other == Self::Number,
            _ => self != other,
        }
    }

    fn words(self) -> Text {
        match self {
            Self::Number => both!("a number", "数字"),
            Self::Text => both!("a text", "文字"),
            Self::List => both!("a list", "列表"),
            Self::Object => both!("an object", "对象"),
            Self::Content => both!("a text or an object", "文字或对象"),
        }
    }
}

/// The finding about a comparison of two values of different kinds, or about the length of a number. `name` gives the kind
/// of a name such as `lease` or `A.look`.
pub(crate) fn kind_lint(source: &str, name: impl Fn(&str) -> Option<Kind>) -> Option<Finding> {
    length_lint(source, &name).or_else(|| comparison_lint(source, &name))
}

fn length_lint(source: &str, name: &impl Fn(&str) -> Option<Kind>) -> Option<Finding> {
    let words = tokens(source).ok()?;
    let measured = words.windows(3).find_map(|words| match *words {
        [(Token::Name, word), (Token::Sign, "|"), (Token::Name, "length" | "count")] => {
            // Tokens are slices of the source, so the difference of addresses is the offset.
            let end = word.as_ptr().addr() - source.as_ptr().addr() + word.len();
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
            let path = source[..end].rsplit(|c| !is_part(c)).next()?;
            let is_filter = source[..end - path.len()].trim_end().ends_with('|');
            (!is_filter && name(path) == Some(Kind::Number)).then_some(path)
        }
        _ => None,
    })?;
    Some(Finding {
        message: both!("`{measured}` is a number, which has no length", "`{measured}` 是数字，没有长度"),
        help: both!("ask for the number itself: `{measured}`", "请直接用这个数字：`{measured}`"),
    })
}

fn comparison_lint(source: &str, name: &impl Fn(&str) -> Option<Kind>) -> Option<Finding> {
    comparisons(source).find_map(|(left, operator, right)| {
        // A reply may also be an error code, which is a text.
        let is_plain = |side: &str| side.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        if matches!(operator, "==" | "!=")
            && [(left, right), (right, left)]
                .into_iter()
                .any(|(side, other)| literal(side).is_some() && is_plain(other))
        {
            return None;
        }
        let kinds = (kind(left, name)?, kind(right, name)?);
        if !kinds.0.is_other_than(kinds.1) {
            return None;
        }
        let (is_left, is_right) = (kinds.0.words(), kinds.1.words());
        let message = both!(
            "`{left}` is {is_left} and `{right}` {is_right}: comparing them has the same result in every run",
            "`{left}` 是{is_left}，`{right}` 是{is_right}，比较的结果永远一样",
            is_left,
            is_right
        );
        let number_of =
            |text: &str| both!("`{text}|int` is the number of a text", "`{text}|int` 是文字的数值");
        let help = match kinds {
            (Kind::Number, Kind::Text) if literal(right).is_some() && is_plain(left) => both!(
                "a number or a name stands without quotes: `{left} {operator} 1`",
                "数字和名字不加引号：`{left} {operator} 1`"
            ),
            (Kind::Number, Kind::Text | Kind::Content) => number_of(right),
            (Kind::Text | Kind::Content, Kind::Number) => number_of(left),
            (Kind::List, _) => both!(
                "take one item, `{left}[0]`, or count them: `{left}|length`",
                "请取其中一项 `{left}[0]`，或者数个数：`{left}|length`"
            ),
            (_, Kind::List) => both!(
                "take one item, `{right}[0]`, or count them: `{right}|length`",
                "请取其中一项 `{right}[0]`，或者数个数：`{right}|length`"
            ),
            (Kind::Object, _) => both!(
                "take one of its fields: `{left} {operator} …` needs `{left}.FIELD`",
                "请取它的一个字段：`{left}.字段 {operator} …`"
            ),
            _ => both!("take one of its fields: `{right}.FIELD`", "请取它的一个字段：`{right}.字段`"),
        };
        Some(Finding { message, help })
    })
}

/// The finding about a test for nil on a count, which is always a number.
pub(crate) fn count_lint(source: &str, is_count: impl Fn(&str) -> bool) -> Option<Finding> {
    // What did not happen has no time, so `at` may be `none`.
    let counts = |name: &str| name != "at" && COUNTING.contains(&name);
    joined(source).into_iter().find_map(|part| {
        let asked = [" is none", " is not none", " == none", " != none"];
        let left = asked.iter().find_map(|asked| part.trim().strip_suffix(asked))?.trim();
        let is_call = left
            .split_once('(')
            .is_some_and(|(name, rest)| counts(name) && rest.find(')') == Some(rest.len() - 1));
        if let Some(function) =
            ["children", "replies"].into_iter().find(|name| left.starts_with(&format!("{name}(")))
            && left.ends_with(')')
        {
            return Some(finding!(
                "`{function}()` is a list, and never `none`",
                "`{function}()` 是列表，不会是 `none`",
                "such as `{left}|length == 0`",
                "例如 `{left}|length == 0`"
            ));
        }
        (is_call || is_count(left)).then(|| Finding {
            message: both!("`{left}` is a number, and never `none`", "`{left}` 是数字，不会是 `none`"),
            help: both!("such as `{left} == 0`", "例如 `{left} == 0`"),
        })
    })
}

/// What the values of a variable are: of one kind, or `true` and `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    Flag,
    Of(Kind),
}

/// What an expression gives a variable, if its form or its names tell.
pub(crate) fn held(source: &str, name: impl Fn(&str) -> Option<Kind>) -> Option<Held> {
    let is_test = split_comparison(source).is_some()
        || (source.contains(" is ") && ![" and ", " or ", " if "].iter().any(|word| source.contains(word)));
    if is_test || matches!(source.trim(), "true" | "false") {
        return Some(Held::Flag);
    }
    kind(source, &name).map(Held::Of)
}

/// The finding about a variable that is compared with a literal of another kind than all its values.
pub(crate) fn held_lint(source: &str, variable: impl Fn(&str) -> Option<Held>) -> Option<Finding> {
    comparisons(source).find_map(|(left, operator, right)| {
        let is = variable(left)?;
        let value = literal(right)?;
        let (kind, help) = match (is, value) {
            (Held::Flag, Literal::Text(_) | Literal::Number(_)) => (
                both!("`true` or `false`", "`true` 或 `false`"),
                both!("write `{left}` or `not {left}`", "请写 `{left}` 或 `not {left}`"),
            ),
            (Held::Of(Kind::Number), Literal::Text(text)) => (
                both!("a number", "数字"),
                both!("without quotes: `{left} {operator} {text}`", "去掉引号：`{left} {operator} {text}`"),
            ),
            (Held::Of(Kind::Text), Literal::Number(number)) => (
                both!("a text", "文字"),
                both!(
                    "`{left}|int` is its number: `{left}|int {operator} {number}`",
                    "`{left}|int` 是它的数值：`{left}|int {operator} {number}`"
                ),
            ),
            (Held::Of(Kind::Number | Kind::Text), Literal::Flag) => (
                both!("a number or a text", "数字或文字"),
                both!("compare it with a value that it can have", "请和它可能有的值比较"),
            ),
            _ => return None,
        };
        Some(Finding {
            message: both!(
                "every `let` makes `{left}` {kind}, and never {right}",
                "每个 `let` 给 `{left}` 的都是{kind}，不会是 {right}",
                kind
            ),
            help,
        })
    })
}

/// The kind of an expression's value, if its form or its names tell.
fn kind(source: &str, name: &impl Fn(&str) -> Option<Kind>) -> Option<Kind> {
    let tokens = tokens(source).ok()?;
    let (first, last) = (tokens.first()?, tokens.last()?);
    let mut depth = 0_i32;
    let mut closes = 0;
    let mut outside = Vec::new();
    for (n, token) in tokens.iter().enumerate() {
        match *token {
            (Token::Sign, "(" | "[" | "{") => depth += 1,
            (Token::Sign, ")" | "]" | "}") => {
                depth -= 1;
                closes += i32::from(depth == 0);
            }
            (_, word) if depth == 0 => outside.push((n, token.0, word)),
            _ => {}
        }
    }
    let words = ["and", "or", "not", "if", "is", "in"];
    if outside.iter().any(|(_, token, word)| *token == Token::Name && words.contains(word)) {
        return None;
    }
    let sign = |wanted: &str| {
        outside.iter().find(|(n, token, word)| *n > 0 && *token == Token::Sign && *word == wanted)
    };
    if sign("~").is_some() {
        return Some(Kind::Text);
    }
    if ["-", "*", "/", "//", "%", "**"].into_iter().any(|wanted| sign(wanted).is_some()) {
        return Some(Kind::Number);
    }
    if let Some((n, ..)) = sign("+") {
        // Tokens are slices of the source, so the difference of addresses is the offset.
        let at = tokens[*n].1.as_ptr().addr() - source.as_ptr().addr();
        return kind(&source[at + 1..], name).or_else(|| kind(&source[..at], name));
    }
    if let Some((n, ..)) = outside.iter().rfind(|(_, token, word)| *token == Token::Sign && *word == "|") {
        let after = &tokens[n + 1..];
        let is_last = after.len() == 1 || after.get(1).is_some_and(|token| token.1 == "(") && last.1 == ")";
        return Kind::of_filter(after.first()?.1).filter(|_| is_last);
    }
    match (first, tokens.len()) {
        ((Token::Number, _), 1) => Some(Kind::Number),
        ((Token::Text, _), 1) => Some(Kind::Text),
        ((Token::Sign, "("), _) if closes == 1 && last.1 == ")" => {
            kind(&source.trim()[1..source.trim().len() - 1], name)
        }
        ((Token::Sign, "["), _) if closes == 1 && last.1 == "]" => Some(Kind::List),
        ((Token::Name, function), _) if closes == 1 && last.1 == ")" && tokens[1].1 == "(" => {
            Kind::of_function(function)
        }
        ((Token::Name, _), _) if closes == 0 => name(source),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, kind, kind_lint};

    fn name(name: &str) -> Option<Kind> {
        match name {
            "lease" | "A.number" => Some(Kind::Number),
            "look" | "A.look" => Some(Kind::Text),
            "rows" => Some(Kind::List),
            _ => None,
        }
    }

    #[test]
    fn the_kind_of_a_value_is_known_from_its_form_and_its_names() {
        for (source, known) in [
            ("now - began", Some(Kind::Number)),
            ("look|int + 1", Some(Kind::Number)),
            ("look ~ '-' ~ 1", Some(Kind::Text)),
            ("(lease)", Some(Kind::Number)),
            ("value('a')", Some(Kind::Content)),
            ("value('a').hash", None),
            ("value('a')|int", Some(Kind::Number)),
            ("rows|join(', ')", Some(Kind::Text)),
            ("rows|map('int')|first", None),
            ("rows[0]", None),
            ("replies('A.look')", Some(Kind::List)),
            ("replies('A.look')[0]", None),
            ("'a' if x else 1", None),
            ("other + 1", Some(Kind::Number)),
            ("-1", None),
        ] {
            assert_eq!(kind(source, &name), known, "{source}");
        }
    }

    #[test]
    fn values_of_different_kinds_are_not_compared() {
        for (source, is_wrong) in [
            ("A.number < A.look", true),
            ("A.number < A.look|int", false),
            ("x == 1 and now - began < '10s'", true),
            ("value('a') == lease", true),
            ("value('a') == A.look", false),
            ("look == rows", true),
            ("look == other", false),
            ("A.number > 'size'", true),
            ("A.number == 'ERR'", false),
            ("rows|length > A.number|length", true),
            ("rows|length > 'a'|length or x|lease|length", false),
        ] {
            assert_eq!(kind_lint(source, name).is_some(), is_wrong, "{source}");
        }
    }
}
