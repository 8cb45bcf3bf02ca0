//! The one expression language of lessons, for arguments, conditions, texts and claims: the language of the crate
//! `minijinja`, inside `${…}` in templates and bare in conditions.

pub(crate) mod allowance;
pub(crate) mod bounds;
pub(crate) mod mentions;
pub(crate) mod scope;
pub(crate) mod shift;
pub(crate) mod syntax;
pub(crate) mod tokens;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, LazyLock, OnceLock},
};

use minijinja::{Environment, ErrorKind, Expression, Value};
use serde::{Serialize, Serializer};

use crate::log::ANY;

pub use allowance::within_allowance;
pub use bounds::LARGEST_VALUE;
pub use mentions::{Call, Mentions};
pub use scope::Scope;
pub(crate) use shift::Shift;
use tokens::brief;

use crate::text::{Text, both};

/// The longest text, in bytes. Nested parts of a text are processed by recursion.
const LONGEST_TEXT: usize = 16 << 10;

/// The largest number of expressions in one text.
const MOST_EXPRESSIONS: usize = 100;

/// The cost of compiling an expression, and of each byte of it, in the unit of [`LARGEST_VALUE`].
const COMPILING: usize = 500;
const COMPILING_A_BYTE: usize = 25;

const OWN_FILTERS: [&str; 5] = ["duration", "duration_zh", "suffix", "by_suffix", "before"];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = bounds::environment();
    environment.add_filter("duration", |millis: i64| duration(millis, ["ms", "s", "min", "h"]));
    environment.add_filter("duration_zh", |millis: i64| duration(millis, ["毫秒", "秒", "分钟", "小时"]));
    environment.add_filter("suffix", |name: &str| suffix(name));
    environment.add_filter("by_suffix", |mut names: Vec<String>| {
        names.sort_by_key(|name| suffix(name));
        names
    });
    environment.add_filter("before", |names: Value, node: &str| before(&names, node));
    environment
});

static FILTERS: LazyLock<Vec<&str>> =
    LazyLock::new(|| bounds::FILTERS.iter().map(|(name, _)| *name).chain(OWN_FILTERS).collect());

/// Whether expressions have a filter of this name.
pub(crate) fn is_filter(name: &str) -> bool {
    FILTERS.contains(&name)
}

static TESTS: LazyLock<Vec<&str>> = LazyLock::new(|| bounds::TESTS.iter().map(|(name, _)| *name).collect());

/// The filters `duration` and `duration_zh`: formats milliseconds for people, `250 ms`, `3 s`, `1.5 s`, `2 min`, `1 h`.
fn duration(millis: i64, [ms, s, min, h]: [&str; 4]) -> String {
    match millis {
        ..1000 => format!("{millis} {ms}"),
        _ if millis % 3_600_000 == 0 => format!("{} {h}", millis / 3_600_000),
        _ if millis % 60_000 == 0 => format!("{} {min}", millis / 60_000),
        _ if millis % 1000 == 0 => format!("{} {s}", millis / 1000),
        _ => format!("{:.1} {s}", std::time::Duration::from_millis(millis.unsigned_abs()).as_secs_f64()),
    }
}

/// The filters `suffix` and `by_suffix`: the ten-digit number that ZooKeeper appends to the name of a sequential node,
/// and names sorted by it. Whole names would sort wrongly if they begin with a GUID (ZooKeeper Recipes and Solutions,
/// "Locks").
fn suffix(name: &str) -> Option<i64> {
    name.get(name.len().checked_sub(10)?..)?.parse().ok()
}

/// The filter `before`: the name with the greatest number below that of `node`, which is its predecessor in the queue.
fn before(names: &Value, node: &str) -> Result<Option<Value>, minijinja::Error> {
    let mine = suffix(node);
    let numbered = names.try_iter()?.filter_map(|name| Some((suffix(name.as_str()?)?, name)));
    let ahead = numbered.filter(|(number, _)| Some(*number) < mine);
    Ok(ahead.max_by_key(|(number, _)| *number).map(|(_, name)| name))
}

#[derive(Clone)]
pub struct Expr {
    source: String,
    compiled: Arc<Expression<'static, 'static>>,
    /// Found when they are first asked for: for that, the source is parsed once more.
    names: Arc<OnceLock<BTreeSet<String>>>,
}

impl Expr {
    pub fn parse(source: &str) -> Result<Self, Text> {
        let source = source.trim();
        if source.is_empty() {
            return Err(both!("an empty expression", "空的表达式"));
        }
        let short = brief(source);
        let wrong =
            |why: Text| both!("`{short}` is not an expression: {why}", "`{short}` 不是表达式：{why}", why);
        allowance::take(COMPILING + source.len() * COMPILING_A_BYTE).map_err(wrong)?;
        let guarded = syntax::guarded(source).map_err(wrong)?;
        let compiled =
            ENVIRONMENT.compile_expression_owned(guarded).map_err(|error| wrong(describe(&error).into()))?;
        Ok(Self { source: source.to_owned(), compiled: Arc::new(compiled), names: Arc::default() })
    }

    pub fn names(&self) -> BTreeSet<String> {
        // minijinja's own functions are no names of the lesson.
        let is_own = |name: &String| !["range", "dict", "namespace"].contains(&name.as_str());
        let found = || self.compiled.undeclared_variables(false).into_iter().filter(is_own).collect();
        self.names.get_or_init(found).clone()
    }

    pub fn eval(&self, names: Value) -> Result<Value, String> {
        let known = names.clone();
        let value = self.compiled.eval(names).and_then(bounds::settled);
        value.map_err(|error| {
            let none = self
                .names()
                .into_iter()
                .filter(|name| known.get_attr(name).is_ok_and(|value| value.is_none()));
            let none: Vec<String> = none.map(|name| format!("`{name}` is none")).collect();
            let why = self.failed(&error);
            if none.is_empty() { why } else { format!("{why} ({})", none.join(", ")) }
        })
    }

    fn failed(&self, error: &minijinja::Error) -> String {
        format!("`{}`: {}", brief(&self.source), describe(error))
    }

    /// Evaluates a condition. An expression about something that has not happened yet, such as a reply that has not
    /// come, is false.
    pub fn is_so(&self, names: Value) -> Result<bool, String> {
        match self.compiled.eval(names) {
            Ok(value) => Ok(value.is_true()),
            Err(error) if error.kind() == ErrorKind::UndefinedError => Ok(false),
            Err(error) => Err(self.failed(&error)),
        }
    }

    pub fn mentions(&self) -> Mentions {
        Mentions::of(&self.source)
    }

    pub fn source(&self) -> &str {
        &self.source
    }
}

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.source.serialize(serializer)
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({})", self.source)
    }
}

/// The message of minijinja's error, without its file and line, which refer to the expression and not to the lesson.
fn describe(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

/// A text with `${…}` in it.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    Text(String),
    Expr(Expr),
}

fn check_length(text: &str) -> Result<(), Text> {
    if text.len() <= LONGEST_TEXT {
        return Ok(());
    }
    let bytes = text.len();
    Err(both!(
        "a text may have at most {LONGEST_TEXT} bytes, and this one has {bytes}",
        "一段文字最多 {LONGEST_TEXT} 字节，这一段有 {bytes} 字节"
    ))
}

impl Template {
    /// Compiles a template. `$${` stands for a literal `${`.
    pub fn parse(source: &str) -> Result<Self, Text> {
        check_length(source)?;
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut expressions = 0;
        let mut rest = source;
        while let Some(start) = rest.find("${") {
            if rest[..start].ends_with('$') {
                text.push_str(&rest[..start]);
                text.push('{');
                rest = &rest[start + 2..];
                continue;
            }
            text.push_str(&rest[..start]);
            let inner = &rest[start + 2..];
            let end = closing_brace(inner).ok_or_else(|| {
                let short = brief(rest[start..].trim_end());
                both!("`{short}`: the `${{` is not closed by a `}}`", "`{short}`：`${{` 没有用 `}}` 关上")
            })?;
            expressions += 1;
            if expressions > MOST_EXPRESSIONS {
                return Err(both!(
                    "a text may have at most {MOST_EXPRESSIONS} `${{…}}` in it",
                    "一段文字里最多有 {MOST_EXPRESSIONS} 个 `${{…}}`"
                ));
            }
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Expr(Expr::parse(&inner[..end])?));
            rest = &inner[end + 1..];
        }
        text.push_str(rest);
        if !text.is_empty() || parts.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self { parts })
    }

    /// Whether the template always renders to the same text.
    pub(crate) fn is_literal(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// A template that renders to exactly this text.
    pub fn literal(text: String) -> Self {
        Self { parts: vec![Part::Text(text)] }
    }

    /// The template's text with a placeholder for each `${…}`: `segment …`.
    pub(crate) fn pattern(&self) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Expr(_) => ANY.to_string(),
        };
        self.parts.iter().map(part).collect()
    }

    /// The author's text, with the values of those `${…}` that `known` can evaluate.
    pub(crate) fn filled(&self, known: impl Fn(&Expr) -> Option<String>) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Expr(expr) => known(expr).unwrap_or_else(|| format!("${{{}}}", expr.source)),
        };
        self.parts.iter().map(part).collect()
    }

    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.parts.iter().filter_map(|part| match part {
            Part::Expr(expr) => Some(expr),
            Part::Text(_) => None,
        })
    }

    /// The sources of the template's expressions.
    pub(crate) fn sources(&self) -> Vec<String> {
        self.expressions().map(|expr| expr.source.clone()).collect()
    }

    /// The template's expression, if it consists of nothing else.
    pub(crate) fn only_expression(&self) -> Option<&Expr> {
        match &self.parts[..] {
            [Part::Expr(expr)] => Some(expr),
            _ => None,
        }
    }

    pub fn names(&self) -> BTreeSet<String> {
        self.expressions().flat_map(Expr::names).collect()
    }

    pub fn render(&self, names: &Value) -> Result<String, String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Expr(expr) => {
                    let value = expr.eval(names.clone())?;
                    if value.is_undefined() {
                        return Err(format!("`{}` has no value", brief(&expr.source)));
                    }
                    text.push_str(&value.to_string());
                }
            }
            if text.len() > LARGEST_VALUE {
                return Err(format!(
                    "the text has more than {} KiB when it is filled in",
                    LARGEST_VALUE >> 10
                ));
            }
        }
        Ok(text)
    }
}

impl fmt::Display for Template {
    /// Writes the template as its author wrote it, except for `$${`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Expr(expr) => write!(f, "${{{}}}", expr.source),
        })
    }
}

/// The position of the `}` that closes `${`, skipping quoted texts and inner braces.
fn closing_brace(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) => quote = (c != open).then_some(open),
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return Some(at),
            (None, '}') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Converts a JSON value, such as a reply, for use in expressions.
pub fn json_value(json: &serde_json::Value) -> Value {
    Value::from(minijinja::value::Serde(json))
}

/// Splits a command into words as `redis-cli` does: at white space outside quotes. `${…}` is never split.
pub fn split_words(text: &str) -> Result<Vec<String>, Text> {
    check_length(text)?;
    let short = brief(text);
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("${") {
            let end = closing_brace(&rest[2..]).ok_or_else(|| {
                both!("`{short}`: a `${{` is not closed", "`{short}`：有一个 `${{` 没有关上")
            })?;
            word.get_or_insert_default().push_str(&rest[..=end + 2]);
            rest = &rest[end + 3..];
        } else if c.is_whitespace() {
            words.extend(word.take());
            rest = &rest[c.len_utf8()..];
        } else if c == '"' || c == '\'' {
            let inner = &rest[1..];
            let end = inner
                .find(c)
                .ok_or_else(|| both!("`{short}`: a quote is not closed", "`{short}`：有一个引号没有关上"))?;
            word.get_or_insert_default().push_str(&inner[..end]);
            rest = &inner[end + 1..];
        } else {
            word.get_or_insert_default().push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests;
