//! The one expression language of lessons, for arguments, conditions, texts and claims: that of the crate
//! `minijinja`, inside `${…}` in templates and bare in conditions. It must not know what names mean.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::{Arc, LazyLock},
};

use minijinja::{
    Environment, ErrorKind, Expression, UndefinedBehavior, Value,
    value::{Object, ObjectRepr},
};

/// One environment for all expressions: a name that is not known is an error, not an empty text.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("duration", |millis: i64| duration(millis, ["ms", "s", "min"]));
    environment.add_filter("duration_zh", |millis: i64| {
        duration(millis, ["毫秒", "秒", "分钟"])
    });
    environment.add_filter("suffix", |name: &str| suffix(name));
    environment.add_filter("by_suffix", |mut names: Vec<String>| {
        names.sort_by_key(|name| suffix(name));
        names
    });
    environment
});

/// The filters `duration` and `duration_zh`: milliseconds as people read them, `250 ms`, `3 s`, `1.5 s`, `2 min`.
fn duration(millis: i64, [ms, s, min]: [&str; 3]) -> String {
    match millis {
        ..1000 => format!("{millis} {ms}"),
        _ if millis % 60_000 == 0 => format!("{} {min}", millis / 60_000),
        _ if millis % 1000 == 0 => format!("{} {s}", millis / 1000),
        _ => format!(
            "{:.1} {s}",
            std::time::Duration::from_millis(millis.unsigned_abs()).as_secs_f64()
        ),
    }
}

/// The filters `suffix` and `by_suffix`: the number that ZooKeeper appends to a sequential node's name, ten
/// digits, and names in the order of it. The whole name would sort wrongly behind a GUID (ZooKeeper
/// Recipes and Solutions, "Locks").
fn suffix(name: &str) -> Option<i64> {
    name.get(name.len().checked_sub(10)?..)?.parse().ok()
}

/// A compiled expression.
#[derive(Clone)]
pub struct Expr {
    source: String,
    compiled: Arc<Expression<'static, 'static>>,
}

impl Expr {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(source: &str) -> Result<Self, String> {
        let source = source.trim();
        if source.is_empty() {
            return Err("an empty expression".to_owned());
        }
        let compiled = ENVIRONMENT
            .compile_expression_owned(source.to_owned())
            .map_err(|error| format!("`{source}` is not an expression: {}", describe(&error)))?;
        Ok(Self {
            source: source.to_owned(),
            compiled: Arc::new(compiled),
        })
    }

    /// The names that it uses.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        self.compiled.undeclared_variables(false).into_iter().collect()
    }

    /// Its value, given the names' values.
    ///
    /// # Errors
    /// Says what went wrong, quoting the expression.
    pub fn eval(&self, names: Value) -> Result<Value, String> {
        self.compiled
            .eval(names)
            .map_err(|error| format!("`{}`: {}", self.source, describe(&error)))
    }

    /// Whether it is true, given the names' values. What asks about something that has not happened yet, such as
    /// a reply that nobody has had, is not true.
    ///
    /// # Errors
    /// Says what went wrong, quoting the expression.
    pub fn is_so(&self, names: Value) -> Result<bool, String> {
        match self.compiled.eval(names) {
            Ok(value) => Ok(value.is_true()),
            Err(error) if error.kind() == ErrorKind::UndefinedError => Ok(false),
            Err(error) => Err(format!("`{}`: {}", self.source, describe(&error))),
        }
    }

    /// As the author wrote it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({})", self.source)
    }
}

/// minijinja's words without its file and line, which are those of the expression and not of the lesson.
fn describe(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

/// A text with `${…}` in it.
#[derive(Debug, Clone)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Expr(Expr),
}

impl Template {
    /// Compiles a template. `$${` stands for a literal `${`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(source: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut text = String::new();
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
                format!(
                    "`{}`: the `${{` is not closed by a `}}`",
                    rest[start..].trim_end()
                )
            })?;
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

    /// The names that it uses.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        let exprs = self.parts.iter().filter_map(|part| match part {
            Part::Expr(expr) => Some(expr.names()),
            Part::Text(_) => None,
        });
        exprs.flatten().collect()
    }

    /// Its text, given the names' values.
    ///
    /// # Errors
    /// As [`Expr::eval`].
    pub fn render(&self, names: &Value) -> Result<String, String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Expr(expr) => {
                    let value = expr.eval(names.clone())?;
                    if value.is_undefined() {
                        return Err(format!("`{}` has no value", expr.source));
                    }
                    text.push_str(&value.to_string());
                }
            }
        }
        Ok(text)
    }
}

/// The `}` that closes `${`, past quoted texts and inner braces.
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

/// A JSON value, such as a reply, for use in expressions.
#[must_use]
pub fn json_value(json: &serde_json::Value) -> Value {
    Value::from(minijinja::value::Serde(json.clone()))
}

/// Splits a command into words as `redis-cli` does: at white space outside quotes. `${…}` is never split.
///
/// # Errors
/// A quote or a brace that is not closed.
pub fn split_words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("${") {
            let end = closing_brace(&rest[2..]).ok_or_else(|| format!("`{text}`: a `${{` is not closed"))?;
            word.get_or_insert_default().push_str(&rest[..=end + 2]);
            rest = &rest[end + 3..];
        } else if c.is_whitespace() {
            words.extend(word.take());
            rest = &rest[c.len_utf8()..];
        } else if c == '"' || c == '\'' {
            let inner = &rest[1..];
            let end = inner
                .find(c)
                .ok_or_else(|| format!("`{text}`: a quote is not closed"))?;
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

/// Names and their values, innermost frame last.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    frames: Vec<Arc<HashMap<String, Value>>>,
}

impl Scope {
    /// A scope with one frame of given values.
    #[must_use]
    pub fn new(values: HashMap<String, Value>) -> Self {
        Self {
            frames: vec![Arc::new(values)],
        }
    }

    /// Opens an inner frame.
    pub fn enter(&mut self, values: HashMap<String, Value>) {
        self.frames.push(Arc::new(values));
    }

    /// Closes the innermost frame.
    pub fn leave(&mut self) {
        self.frames.pop();
    }

    /// Gives a name a value in the innermost frame.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.frames.last_mut() {
            Some(frame) => drop(Arc::make_mut(frame).insert(name.to_owned(), value)),
            None => self.enter(HashMap::from([(name.to_owned(), value)])),
        }
    }

    /// Gives a name a value in the outermost frame, so that it outlives a `use`.
    pub fn set_outermost(&mut self, name: &str, value: Value) {
        match self.frames.first_mut() {
            Some(frame) => drop(Arc::make_mut(frame).insert(name.to_owned(), value)),
            None => self.enter(HashMap::from([(name.to_owned(), value)])),
        }
    }

    /// A name's value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.frames.iter().rev().find_map(|frame| frame.get(name))
    }

    /// The scope as the value that expressions are evaluated against. Cheap: frames are shared.
    #[must_use]
    pub fn value(&self) -> Value {
        Value::from_object(self.clone())
    }
}

impl Object for Scope {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get(key.as_str()?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use minijinja::Value;
    use proptest::prelude::*;

    use super::{Expr, Scope, Template, split_words};

    fn scope(pairs: &[(&str, Value)]) -> Value {
        Scope::new(
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        )
        .value()
    }

    #[test]
    fn a_template_keeps_text_and_fills_in_values() {
        let template = Template::parse("SET ${key} ${ttl // 3} $${x}").expect("parses");
        let names = scope(&[("key", "lock".into()), ("ttl", 30_000.into())]);
        assert_eq!(template.render(&names).as_deref(), Ok("SET lock 10000 ${x}"));
        assert_eq!(template.names().into_iter().collect::<Vec<_>>(), ["key", "ttl"]);
    }

    #[test]
    fn an_unknown_name_is_an_error_and_names_the_expression() {
        let error = Template::parse("${nobody}")
            .expect("parses")
            .render(&scope(&[]))
            .expect_err("unknown");
        assert!(error.contains("nobody"), "{error}");
    }

    #[test]
    fn conditions_compare_replies() {
        let condition = Expr::parse("reply == 'OK' and left|int > 0").expect("parses");
        let yes = scope(&[("reply", "OK".into()), ("left", "1".into())]);
        let no = scope(&[("reply", Value::from(())), ("left", "1".into())]);
        assert!(condition.eval(yes).expect("evaluates").is_true());
        assert!(!condition.eval(no).expect("evaluates").is_true());
        assert!(Expr::parse("reply ==").expect_err("broken").contains("reply =="));
    }

    #[test]
    fn words_are_split_outside_quotes_and_expressions() {
        let words = split_words("SET lock ${ a + 'x y' } \"two words\" 'x'").expect("splits");
        assert_eq!(words, ["SET", "lock", "${ a + 'x y' }", "two words", "x"]);
        assert!(split_words("GET 'open").is_err());
        assert!(split_words("GET ${open").is_err());
    }

    #[test]
    fn durations_and_node_names_are_filtered() {
        let render = |source: &str| Template::parse(source).expect("parses").render(&scope(&[]));
        assert_eq!(
            render("${3000|duration} ${200|duration} ${1500|duration} ${120000|duration}").as_deref(),
            Ok("3 s 200 ms 1.5 s 2 min")
        );
        assert_eq!(
            render("${1500|duration_zh}，${120000|duration_zh}").as_deref(),
            Ok("1.5 秒，2 分钟")
        );
        assert_eq!(render("${'/l/guid-n-0000000012'|suffix}").as_deref(), Ok("12"));
        let sorted = "${['b-0000000003', 'c-0000000001']|by_suffix|join(' ')}";
        assert_eq!(render(sorted).as_deref(), Ok("c-0000000001 b-0000000003"));
    }

    #[test]
    fn an_inner_frame_hides_an_outer_name_until_it_ends() {
        let mut scope = Scope::new(HashMap::from([("x".to_owned(), Value::from(1))]));
        scope.enter(HashMap::from([("x".to_owned(), Value::from(2))]));
        assert_eq!(scope.get("x"), Some(&Value::from(2)));
        scope.leave();
        assert_eq!(scope.get("x"), Some(&Value::from(1)));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC{0,40}") {
            let _ = Template::parse(&text);
            let _ = split_words(&text);
            let _ = Expr::parse(&text);
        }

        #[test]
        fn words_without_quotes_come_back_joined(words in proptest::collection::vec("[a-zA-Z0-9:/_-]{1,8}", 0..6)) {
            prop_assert_eq!(split_words(&words.join("  ")), Ok(words));
        }
    }
}
