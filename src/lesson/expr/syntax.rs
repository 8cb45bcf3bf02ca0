//! Parses an expression before `minijinja` does, to bound its cost. The crate's parser, its compiler and the drop of
//! its syntax tree all recurse, and its arithmetic can create values of any size. So this module limits length, nesting
//! and the number of operators, and rewrites arithmetic as calls of filters that check sizes first (`a * b` as
//! `(a)|__mul(b)`).

use super::{
    super::error::{ALIKE, nearest, suggestion},
    FILTERS, TESTS,
    tokens::{Cursor, Kind, brief},
};
use crate::text::{Text, both};

/// The longest expression, in bytes.
pub const LONGEST: usize = 4096;

/// The largest number of operators, filters, tests and subscripts in one expression: each is one level of the syntax
/// tree.
pub const OPERATORS: usize = 200;

/// The deepest nesting of brackets, signs, `not` and `else`.
pub const DEEPEST: usize = 24;

/// The filters that stand for arithmetic. Their names cannot be written in a lesson.
pub(crate) const ARITHMETIC: [(&str, &str); 8] = [
    ("+", "__add"),
    ("-", "__sub"),
    ("~", "__concat"),
    ("*", "__mul"),
    ("/", "__div"),
    ("//", "__floor"),
    ("%", "__rem"),
    ("**", "__pow"),
];

/// The filter that stands for `a[b:c:d]`.
pub(crate) const SLICE: &str = "__slice";

/// Rewrites the arithmetic of an expression as filters, for `minijinja` to compile.
///
/// # Errors
/// If the expression is too long, too deep or invalid. The message does not quote the whole of it.
pub(crate) fn guarded(source: &str) -> Result<String, Text> {
    if source.len() > LONGEST {
        let bytes = source.len();
        return Err(both!(
            "it has {bytes} bytes; an expression may have at most {LONGEST}",
            "它有 {bytes} 字节；一个表达式最多 {LONGEST} 字节"
        ));
    }
    let mut reader = Reader { cursor: Cursor::new(source)?, depth: 0, operators: 0 };
    let guarded = reader.expression().map_err(|why| *why)?;
    match reader.cursor.peek() {
        None => Ok(guarded),
        Some("=") => Err(assigned(reader.cursor.after())),
        Some(token) => {
            let message = both!("unexpected `{token}` after its end", "结束之后还有多余的 `{token}`");
            let word = token.to_lowercase();
            Err(match word.as_str() {
                "and" | "or" | "is" | "in" | "if" | "not" => {
                    Text::join(&[message, both!("write `{word}`", "请写 `{word}`")], ": ", "：")
                }
                "equals" | "eq" => Text::join(&[message, both!("write `==`", "请写 `==`")], ": ", "："),
                "s" | "ms" | "m" | "h" | "sec" => Text::join(
                    &[
                        message,
                        both!(
                            "a duration is a number of milliseconds, 3 s are `3000`",
                            "时长是毫秒数，3 秒写 `3000`"
                        ),
                    ],
                    ": ",
                    "：",
                ),
                _ => message,
            })
        }
    }
}

/// Parses the grammar of `minijinja`'s expressions and writes each expression again.
struct Reader<'s> {
    cursor: Cursor<'s>,
    depth: usize,
    operators: usize,
}

/// The result of a parsing step. The reader recurses, so errors are boxed and built in functions of their own to keep
/// its stack frames small.
type Written = Result<String, Box<Text>>;

fn too_deep() -> Text {
    both!("it is nested deeper than {DEEPEST} levels", "嵌套超过 {DEEPEST} 层")
}

fn doubled() -> Text {
    both!("unexpected `||`: write `or`", "这里不该有 `||`：请写 `or`")
}

fn no_node() -> Text {
    both!("`before` takes a node: `names|before(node)`", "`before` 要有一个节点：`names|before(node)`")
}

fn no_test() -> Text {
    both!("`is` asks for a property: to compare, write `==`", "`is` 判断性质：比较要写 `==`")
}

fn empty_subscript() -> Text {
    both!("a subscript is empty", "下标是空的")
}

/// The error for a method call as in Python or JavaScript.
fn called(name: &str) -> Text {
    let name = brief(name);
    let message = both!("values have no functions such as `.{name}()`", "值没有 `.{name}()` 这样的方法");
    let instead = match name.as_str() {
        "len" | "length" | "size" | "count" => "x|length",
        "startswith" | "startsWith" => "x is startingwith 'a'",
        "endswith" | "endsWith" => "x is endingwith 'a'",
        "includes" | "contains" => "'a' in x",
        "get" => "x.name|default(0)",
        "toString" | "to_s" => "x|string",
        "toUpperCase" => "x|upper",
        "toLowerCase" => "x|lower",
        "strip" => "x|trim",
        other if FILTERS.contains(&other) => {
            return {
                let instead = both!("write `x|{name}`", "请写 `x|{name}`");
                Text::join(&[message, instead], ": ", "：")
            };
        }
        _ => "x|length",
    };
    let instead = both!("filters do that: `{instead}`", "请用过滤器：`{instead}`");
    Text::join(&[message, instead], ": ", "：")
}

fn assigned(next: Option<&str>) -> Text {
    match next {
        Some(sign @ (">" | "<")) => {
            both!("unexpected `={sign}`: write `{sign}=`", "这里不该有 `={sign}`：请写 `{sign}=`")
        }
        _ => both!("unexpected `=`: to compare, write `==`", "这里不该有 `=`：比较要写 `==`"),
    }
}

impl Reader<'_> {
    fn expect(&mut self, token: &str) -> Result<(), Text> {
        if self.cursor.eat(token) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{token}`").into()))
    }

    fn unexpected(&self, expected: &Text) -> Text {
        match self.cursor.peek() {
            Some("=") => assigned(self.cursor.after()),
            Some(token) => {
                let token = brief(token);
                both!(
                    "unexpected `{token}`, expected {expected}",
                    "这里不该有 `{token}`，此处应为{expected}",
                    expected
                )
            }
            None => both!("unexpected end, expected {expected}", "意外结束，此处应为{expected}", expected),
        }
    }

    fn no_value(&self) -> Text {
        self.unexpected(&both!("a value", "值"))
    }

    fn next_text(&self) -> Text {
        let token = brief(self.cursor.peek().unwrap_or_default());
        both!(
            "unexpected {token}: write a comma before it, or `~`, which joins texts",
            "意外的 {token}：前面要有逗号；拼接文字请用 `~`"
        )
    }

    fn no_index(&self) -> Text {
        self.unexpected(&both!("a name or an index", "名字或下标"))
    }

    fn operator(&mut self) -> Result<(), Text> {
        self.operators += 1;
        if self.operators > OPERATORS {
            return Err(both!(
                "an expression may have at most {OPERATORS} operators",
                "一个表达式最多有 {OPERATORS} 个运算符"
            ));
        }
        Ok(())
    }

    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Written) -> Written {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(too_deep().into());
        }
        let written = inner(self);
        self.depth -= 1;
        written
    }

    fn expression(&mut self) -> Written {
        self.deeper(Self::choice)
    }

    fn choice(&mut self) -> Written {
        let mut written = self.or()?;
        while self.cursor.eat("if") {
            self.operator()?;
            let condition = self.or()?;
            written = format!("{written} if {condition}");
            if self.cursor.eat("else") {
                let other = self.deeper(Self::choice)?;
                written = format!("{written} else {other}");
            }
        }
        Ok(written)
    }

    /// Parses operands joined by operators that are kept as they are.
    fn chain(&mut self, operators: &[&'static str], operand: fn(&mut Self) -> Written) -> Written {
        let mut written = operand(self)?;
        while let Some(operator) = self.cursor.eat_one(operators) {
            self.operator()?;
            if operator == "not" {
                self.expect("in")?;
                written.push_str(" not in ");
            } else {
                written = format!("{written} {operator} ");
            }
            written.push_str(&operand(self)?);
        }
        Ok(written)
    }

    fn or(&mut self) -> Written {
        self.chain(&["or"], |reader| reader.chain(&["and"], Self::not))
    }

    fn not(&mut self) -> Written {
        if !self.cursor.eat("not") {
            return self.chain(&["==", "!=", "<", "<=", ">", ">=", "in", "not"], Self::sum);
        }
        self.operator()?;
        let operand = self.deeper(Self::not)?;
        Ok(format!("not {operand}"))
    }

    fn sum(&mut self) -> Written {
        self.arithmetic(&[&["+", "-"], &["~"], &["*", "/", "//", "%"], &["**"]])
    }

    /// Parses operands joined by arithmetic, from left to right, and writes a chain of filters. `levels` begins with
    /// the operators that bind least.
    fn arithmetic(&mut self, levels: &[&[&'static str]]) -> Written {
        let Some((operators, tighter)) = levels.split_first() else { return self.filtered() };
        let mut written = self.arithmetic(tighter)?;
        let mut first = true;
        while let Some(operator) = self.cursor.eat_one(operators) {
            self.operator()?;
            if std::mem::take(&mut first) {
                written = format!("({written})");
            }
            let right = self.arithmetic(tighter)?;
            let filter = ARITHMETIC.iter().find(|(sign, _)| *sign == operator);
            let filter = filter.map_or("", |(_, filter)| *filter);
            written = format!("{written}|{filter}({right})");
        }
        Ok(written)
    }

    /// Parses a value with the filters and tests that follow it.
    fn filtered(&mut self) -> Written {
        let mut written = self.signed()?;
        loop {
            if self.cursor.eat("|") {
                self.operator()?;
                if self.cursor.peek() == Some("|") {
                    return Err(doubled().into());
                }
                let name = self.dotted_name()?;
                check_filter(&name)?;
                self.check_replaced(&name)?;
                if name == "before" && self.cursor.peek() != Some("(") {
                    return Err(no_node().into());
                }
                self.check_named_argument(&name)?;
                written = format!("{written}|{name}");
                if self.cursor.peek() == Some("(") {
                    let arguments = self.arguments()?;
                    if arguments != "()" && ALONE.contains(&name.as_str()) {
                        let help = if name == "count" || name == "length" {
                            both!(
                                "; to count what is equal: `x|select('eq', 'OK')|list|length`",
                                "；要数等于某值的：`x|select('eq', 'OK')|list|length`"
                            )
                        } else {
                            both!("", "")
                        };
                        return Err(both!(
                            "the filter `{name}` takes nothing in brackets{help}",
                            "过滤器 `{name}` 后面的括号里不能写东西{help}",
                            help
                        )
                        .into());
                    }
                    written.push_str(&arguments);
                }
            } else if self.cursor.eat("is") {
                self.operator()?;
                let negated = if self.cursor.eat("not") { "not " } else { "" };
                if matches!(self.cursor.kind(), Some(Kind::Number | Kind::Text)) {
                    return Err(no_test().into());
                }
                let name = self.dotted_name()?;
                check_test(&name)?;
                written = format!("{written} is {negated}{name}");
                if self.cursor.peek() == Some("(") {
                    written.push_str(&self.arguments()?);
                } else if self.begins_argument() {
                    let argument = self.signed()?;
                    written = format!("{written} {argument}");
                }
            } else {
                return Ok(written);
            }
        }
    }

    /// Whether the argument of a test follows without brackets, as in `n is divisibleby 3`.
    fn begins_argument(&self) -> bool {
        match (self.cursor.kind(), self.cursor.peek()) {
            (Some(Kind::Name), Some("and" | "or" | "else" | "is")) => false,
            (Some(Kind::Name | Kind::Text | Kind::Number), _) | (_, Some("+" | "-" | "[" | "{")) => true,
            _ => false,
        }
    }

    fn dotted_name(&mut self) -> Written {
        let mut name = String::new();
        loop {
            let Some((Kind::Name, part)) = self.cursor.tokens.get(self.cursor.at) else {
                return Err(Box::new(self.unexpected(&both!("a name", "名字"))));
            };
            name.push_str(part);
            self.cursor.at += 1;
            if !self.cursor.eat(".") {
                return Ok(name);
            }
            name.push('.');
        }
    }

    /// Checks that `replace` has both arguments: the text to replace, and the replacement.
    fn check_replaced(&self, filter: &str) -> Result<(), Text> {
        let rest = self.cursor.tokens.get(self.cursor.at..).unwrap_or_default();
        let alone = matches!(rest, [(Kind::Sign, "("), (Kind::Text, _), (Kind::Sign, ")"), ..]);
        if filter == "replace" && (alone || !matches!(rest.first(), Some((Kind::Sign, "(")))) {
            return Err(both!(
                "`replace` takes two texts: `x|replace('a', '')`",
                "`replace` 要两段文字：`x|replace('a', '')`"
            ));
        }
        Ok(())
    }

    /// Checks the name of the filter or test that `map('name')`, `select('name')` and the like take as a text.
    fn check_named_argument(&self, filter: &str) -> Result<(), Text> {
        let at = match filter {
            "map" | "select" | "reject" => self.cursor.at + 1,
            "selectattr" | "rejectattr" => self.cursor.at + 3,
            _ => return Ok(()),
        };
        let ends = matches!(self.cursor.tokens.get(at + 1), Some((Kind::Sign, "," | ")")));
        match self.cursor.tokens.get(at) {
            Some((Kind::Text, quoted)) if ends && self.cursor.peek() == Some("(") => {
                let name = &quoted[1..quoted.len() - 1];
                if filter == "map" { check_filter(name) } else { check_test(name) }
            }
            _ => Ok(()),
        }
    }

    /// Parses a value with its signs, attributes, subscripts and calls: `-a.b[0](c)`.
    fn signed(&mut self) -> Written {
        if !self.cursor.eat("-") {
            let value = self.value()?;
            return self.postfix(value);
        }
        self.operator()?;
        let operand = self.deeper(Self::signed)?;
        Ok(format!("-{operand}"))
    }

    fn postfix(&mut self, mut written: String) -> Written {
        loop {
            if self.cursor.eat(".") {
                self.operator()?;
                let Some((Kind::Name | Kind::Number, name)) = self.cursor.tokens.get(self.cursor.at) else {
                    return Err(self.no_index().into());
                };
                self.cursor.at += 1;
                if self.cursor.peek() == Some("(") {
                    return Err(called(name).into());
                }
                written = format!("{written}.{name}");
            } else if self.cursor.eat("[") {
                self.operator()?;
                written = self.subscript(&written)?;
            } else if self.cursor.peek() == Some("(") {
                self.operator()?;
                written.push_str(&self.arguments()?);
            } else {
                return Ok(written);
            }
        }
    }

    fn subscript(&mut self, written: &str) -> Written {
        let mut parts = [const { None }; 3];
        let mut part = 0;
        loop {
            if !matches!(self.cursor.peek(), Some(":" | "]")) {
                parts[part] = Some(self.expression()?);
            }
            if part < 2 && self.cursor.eat(":") {
                part += 1;
                continue;
            }
            self.expect("]")?;
            break;
        }
        if part == 0 {
            let [Some(index), ..] = parts else {
                return Err(empty_subscript().into());
            };
            return Ok(format!("{written}[{index}]"));
        }
        let parts = parts.map(|part| part.unwrap_or_else(|| "none".to_owned()));
        Ok(format!("({written}|{SLICE}({}))", parts.join(", ")))
    }

    fn arguments(&mut self) -> Written {
        self.list(")", false, |reader| {
            let mut written = reader.cursor.eat_one(&["**", "*"]).unwrap_or_default().to_owned();
            let keyword = reader.cursor.kind() == Some(Kind::Name)
                && matches!(reader.cursor.tokens.get(reader.cursor.at + 1), Some((Kind::Sign, "=")));
            if keyword {
                written.push_str(reader.cursor.peek().unwrap_or_default());
                written.push('=');
                reader.cursor.at += 2;
            }
            Ok(written + &reader.expression()?)
        })
    }

    fn value(&mut self) -> Written {
        let Some((kind, token)) = self.cursor.tokens.get(self.cursor.at).copied() else {
            return Err(self.no_value().into());
        };
        match (kind, token) {
            (Kind::Text, _) => {
                self.cursor.at += 1;
                // `minijinja` would join two adjacent texts into one.
                if self.cursor.kind() == Some(Kind::Text) {
                    return Err(self.next_text().into());
                }
                Ok(token.to_owned())
            }
            (Kind::Name, "not" | "and" | "or" | "if" | "else" | "is" | "in") => Err(self.no_value().into()),
            (Kind::Name | Kind::Number, _) => {
                self.cursor.at += 1;
                Ok(token.to_owned())
            }
            (_, "(") => self.list(")", true, Self::expression),
            (_, "[") => self.list("]", false, Self::expression),
            (_, "{") => self.list("}", false, Self::pair),
            _ => Err(self.no_value().into()),
        }
    }

    /// Parses items between brackets, separated by commas. A trailing comma makes a tuple of one.
    fn list(&mut self, end: &str, tuple: bool, item: impl Fn(&mut Self) -> Written) -> Written {
        let mut written = self.cursor.peek().unwrap_or_default().to_owned();
        self.cursor.at += 1;
        let mut first = true;
        while !self.cursor.eat(end) {
            if !std::mem::take(&mut first) {
                self.expect(",")?;
                if self.cursor.eat(end) {
                    written.push_str(if tuple { "," } else { "" });
                    break;
                }
                written.push_str(", ");
            }
            written.push_str(&item(self)?);
        }
        Ok(written + end)
    }

    fn pair(&mut self) -> Written {
        let key = self.expression()?;
        self.expect(":")?;
        Ok(format!("{key}: {}", self.expression()?))
    }
}

/// Filters without arguments.
const ALONE: [&str; 15] = [
    "abs",
    "by_suffix",
    "capitalize",
    "count",
    "duration",
    "duration_zh",
    "first",
    "last",
    "length",
    "list",
    "lower",
    "string",
    "suffix",
    "title",
    "upper",
];

/// Refuses an unknown filter when a lesson is loaded, and not only when it would be used.
fn check_filter(name: &str) -> Result<(), Text> {
    let what = both!("filter", "过滤器");
    let meant = match name {
        "number" | "integer" | "to_i" | "toint" => Some("int"),
        "len" | "size" => Some("length"),
        "str" | "text" | "to_s" => Some("string"),
        "seconds" | "secs" | "ms" | "millis" | "time" => Some("duration"),
        _ => None,
    };
    if let Some(near) = meant {
        return Err(both!(
            "there is no filter `{name}`; did you mean `{near}`?",
            "没有名为 `{name}` 的过滤器；是不是 `{near}`？"
        ));
    }
    check(&what, name, &FILTERS, "`duration`, `length`, `int`, `first`, `join`")
}

fn check_test(name: &str) -> Result<(), Text> {
    if matches!(name, "nil" | "null" | "None" | "empty" | "undefined" | "missing") && !TESTS.contains(&name) {
        let what = brief(name);
        return Err(both!(
            "there is no test `{what}`; did you mean `none`?",
            "没有名为 `{what}` 的测试；是不是 `none`？"
        ));
    }
    if !TESTS.contains(&name) && nearest(name, TESTS.iter().copied(), ALIKE).is_none() {
        let what = brief(name);
        return Err(both!(
            "there is no test `{what}`; to compare with a text, write `== '{what}'`",
            "没有名为 `{what}` 的测试；要和文字比较，请写 `== '{what}'`"
        ));
    }
    check(&both!("test", "测试"), name, &TESTS, "`defined`, `none`, `number`, `string`")
}

fn check(what: &Text, name: &str, known: &[&str], some: &str) -> Result<(), Text> {
    if known.contains(&name) {
        return Ok(());
    }
    let help = suggestion(nearest(name, known.iter().copied(), ALIKE), || {
        both!("there are {some} and others", "可用的有 {some} 等")
    });
    let name = brief(name);
    Err(both!("there is no {what} `{name}`; {help}", "没有名为 `{name}` 的{what}；{help}", what, help))
}
