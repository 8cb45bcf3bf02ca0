//! The words, numbers, texts and signs of an expression, tokenized as `minijinja` does.

use crate::text::{Text, both};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Name,
    Number,
    Text,
    Sign,
}

pub(crate) type Token<'s> = (Kind, &'s str);

pub(crate) fn tokens(source: &str) -> Result<Vec<Token<'_>>, Text> {
    const PAIRS: [&str; 6] = ["//", "**", "==", "!=", "<=", ">="];
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut rest = source;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let (kind, length) = match first {
            '0'..='9' => {
                let after_dot = tokens.last().is_some_and(|(_, text)| *text == ".");
                (Kind::Number, number(rest, after_dot))
            }
            'a'..='z' | 'A'..='Z' | '_' => (Kind::Name, run(rest, |c| c.is_ascii_alphanumeric() || c == '_')),
            '\'' | '"' => (Kind::Text, text(rest, first)?),
            _ if PAIRS.iter().any(|pair| rest.starts_with(pair)) => (Kind::Sign, 2),
            _ if "+-*/%.,:~|=<>()[]{}".contains(first) => (Kind::Sign, 1),
            other => {
                let shown = other.escape_debug();
                let message = both!("unexpected character `{shown}`", "意外的字符 `{shown}`");
                if other == '$' {
                    let bare = both!("an expression is written without `${{…}}`", "表达式不用写 `${{…}}`");
                    return Err(Text::join(&[message, bare], ": ", "："));
                }
                if other == '?' {
                    let instead = both!("write `a if condition else b`", "请写 `a if 条件 else b`");
                    return Err(Text::join(&[message, instead], ": ", "："));
                }
                let word = match other {
                    '&' => "and",
                    '!' => "not",
                    _ => match half_width(other) {
                        Some(word) => word,
                        None => return Err(message),
                    },
                };
                let instead = both!("write `{word}`", "请写 `{word}`");
                return Err(Text::join(&[message, instead], ": ", "："));
            }
        };
        tokens.push((kind, &rest[..length]));
        rest = &rest[length..];
    }
}

/// The tokens of an expression, and the place that a reader of its grammar has reached.
pub(crate) struct Cursor<'s> {
    pub(crate) tokens: Vec<Token<'s>>,
    pub(crate) at: usize,
}

impl<'s> Cursor<'s> {
    pub(crate) fn new(source: &'s str) -> Result<Self, Text> {
        Ok(Self { tokens: tokens(source)?, at: 0 })
    }

    /// The next token. A quoted text never equals a sign or word of the grammar, because its quotes are part of the
    /// token.
    pub(crate) fn peek(&self) -> Option<&'s str> {
        self.tokens.get(self.at).map(|(_, text)| *text)
    }

    /// The token after the next one.
    pub(crate) fn after(&self) -> Option<&'s str> {
        self.tokens.get(self.at + 1).map(|(_, text)| *text)
    }

    pub(crate) fn kind(&self) -> Option<Kind> {
        self.tokens.get(self.at).map(|(kind, _)| *kind)
    }

    pub(crate) fn eat(&mut self, token: &str) -> bool {
        let is_it = self.peek() == Some(token);
        self.at += usize::from(is_it);
        is_it
    }

    pub(crate) fn eat_one(&mut self, of: &[&'static str]) -> Option<&'static str> {
        let found = of.iter().find(|token| self.peek() == Some(token))?;
        self.at += 1;
        Some(found)
    }
}

/// The ASCII equivalent of a full-width character or a typographic quote.
fn half_width(c: char) -> Option<&'static str> {
    Some(match c {
        '‘' | '’' | '＇' => "'",
        '“' | '”' | '＂' => "\"",
        '（' => "(",
        '）' => ")",
        '［' | '【' => "[",
        '］' | '】' => "]",
        '｛' => "{",
        '｝' => "}",
        '，' | '、' => ",",
        '：' => ":",
        '＝' => "==",
        '！' | '≠' => "!=",
        '＞' => ">",
        '＜' => "<",
        '≥' => ">=",
        '≤' => "<=",
        '＋' => "+",
        '－' | '–' | '—' | '−' => "-",
        '×' | '＊' => "*",
        '÷' | '／' => "/",
        '｜' => "|",
        '％' => "%",
        '。' | '．' => ".",
        _ => return None,
    })
}

fn run(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// The length of the number at the beginning of a text. After a dot it is an index: `a.1.0` is `a[1][0]`.
fn number(text: &str, after_dot: bool) -> usize {
    let digits = |text: &str| run(text, |c| c.is_ascii_digit() || c == '_');
    if text.starts_with('0') && text[1..].starts_with(['x', 'X', 'b', 'B', 'o', 'O']) {
        return 2 + run(&text[2..], |c| c.is_ascii_hexdigit() || c == '_');
    }
    let mut length = digits(text);
    let exponent = |text: &str| {
        let sign = text.strip_prefix(['e', 'E']).map(|rest| usize::from(rest.starts_with(['+', '-'])))?;
        let digits = digits(&text[1 + sign..]);
        (digits > 0).then_some(1 + sign + digits)
    };
    if !after_dot && text[length..].starts_with('.') {
        let fraction = &text[length + 1..];
        let is_name = fraction.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !is_name || exponent(fraction).is_some() {
            length += 1 + digits(fraction);
        }
    }
    length + exponent(&text[length..]).unwrap_or(0)
}

/// The length of the quoted text, including its quotes.
fn text(text: &str, quote: char) -> Result<usize, Text> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Ok(at + 1),
            _ => {}
        }
    }
    Err(both!("a quote is not closed", "有一个引号没有关上"))
}

/// Shortens an expression so that it can be read in a message.
pub(crate) fn brief(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(MOST).collect();
    short.push('…');
    short
}
