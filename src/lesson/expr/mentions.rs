//! What an expression mentions: names, calls and quoted texts, taken from its tokens.

use super::{
    syntax::LONGEST,
    tokens::{Kind, Token, tokens},
};

/// The names, calls and texts in an expression, each in the order of the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Names with their attributes: `A.worker.release` is three words. Names of filters and tests are not included.
    pub paths: Vec<Vec<String>>,
    pub calls: Vec<Call>,
    /// Quoted texts without their quotes; texts that contain an escape are left out.
    pub texts: Vec<String>,
}

/// A call of a function: `value('stock', 'redis2')`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub function: String,
    /// The arguments; `None` for one that is more than a quoted text.
    pub arguments: Vec<Option<String>>,
    /// Whether one of the arguments is a number.
    pub numbers: bool,
}

impl Mentions {
    /// Collects the mentions of an expression. A text that is no expression, or one too long to be accepted, has none.
    pub fn of(source: &str) -> Self {
        let Some(tokens) = tokens(source).ok().filter(|_| source.len() <= LONGEST) else {
            return Self::default();
        };
        let mut mentions = Self::default();
        let mut before = "";
        for (at, (kind, word)) in tokens.iter().enumerate() {
            match kind {
                Kind::Name if !matches!(before, "." | "|" | "is") => {
                    mentions.paths.push(path(&tokens[at..]));
                    if is_sign(tokens.get(at + 1), "(") {
                        let inside = &tokens[at + 2..];
                        let numbers =
                            inside.windows(2).take_while(|pair| pair[0] != (Kind::Sign, ")")).any(|pair| {
                                pair[0].0 == Kind::Number && matches!(pair[1], (Kind::Sign, "," | ")"))
                            });
                        let arguments = arguments(inside);
                        mentions.calls.push(Call { function: (*word).to_owned(), arguments, numbers });
                    }
                }
                Kind::Text => mentions.texts.extend(text(word)),
                _ => {}
            }
            before = word;
        }
        mentions
    }

    /// Whether the name appears by itself or before a dot.
    pub fn names(&self, name: &str) -> bool {
        self.paths.iter().any(|path| path[0] == name)
    }

    pub fn quotes(&self, text: &str) -> bool {
        self.texts.iter().any(|known| known == text)
    }

    pub fn calls_of<'m>(&'m self, function: &str) -> impl Iterator<Item = &'m Call> {
        self.calls.iter().filter(move |call| call.function == function)
    }

    /// The quoted keys in calls of a function, `value('key')` or `value('key', 'server')`, with the server if given.
    pub fn keys_of(&self, function: &str) -> Vec<(String, Option<String>)> {
        let keys = self.calls_of(function).filter_map(|call| {
            let server = call.arguments.get(1).cloned().flatten();
            Some((call.arguments.first()?.clone()?, server))
        });
        keys.collect()
    }
}

/// The attribute that an expression reads of a call with this key alone: `hash` of `value('stock').hash`.
pub(crate) fn attribute_of<'s>(source: &'s str, key: &str) -> Option<&'s str> {
    tokens(source).ok()?.windows(6).find_map(|six| match six {
        [
            (Kind::Name, name),
            (Kind::Sign, "("),
            (Kind::Text, word),
            (Kind::Sign, ")"),
            (Kind::Sign, "."),
            (Kind::Name, attribute),
        ] if *name == "value" && text(word).as_deref() == Some(key) => Some(*attribute),
        _ => None,
    })
}

/// An expression with its attributes written after a dot: `a.b` for `a['b']`.
pub(crate) fn dotted(source: &str) -> String {
    let mut written = source.to_owned();
    for quote in ['\'', '"'] {
        let (opens, closes) = (format!("[{quote}"), format!("{quote}]"));
        let mut parts = written.split(opens.as_str());
        let mut result = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let name = part.split_once(&closes).filter(|(name, _)| {
                !name.is_empty()
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                    && !name.starts_with(|c: char| c.is_ascii_digit())
                    && result.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ']')
            });
            match name {
                Some((name, rest)) => result.extend([".", name, rest]),
                None => result.extend([opens.as_str(), part]),
            }
        }
        written = result;
    }
    written
}

/// Whether the value of an expression may depend on the order of the list with this name: unless it only asks how long
/// the list is, what is in it or whether there is one, or sorts it.
pub(crate) fn asks_for_order(source: &str, name: &str) -> bool {
    const WITHOUT_ORDER: [&str; 5] = ["count", "length", "max", "min", "sort"];
    let Ok(tokens) = tokens(source) else { return true };
    let word = |at: usize| tokens.get(at).map_or("", |(_, word)| *word);
    let named = tokens.iter().enumerate().filter(|(_, token)| **token == (Kind::Name, name));
    named.map(|(at, _)| (at.checked_sub(1).map_or("", word), at + 1)).any(|(before, next)| {
        match (before, word(next)) {
            // It is the name of a filter or of a test.
            ("|" | "is", _) => false,
            (_, "|") => !WITHOUT_ORDER.contains(&word(next + 1)),
            (_, "is") => {
                let test = if word(next + 1) == "not" { next + 2 } else { next + 1 };
                !matches!(word(test), "none" | "defined" | "undefined")
            }
            (_, "." | "[" | "(") => true,
            _ => before != "in",
        }
    })
}

/// The quoted text that the expression begins with, alone or followed by `~`.
pub(crate) fn beginning(source: &str) -> Option<String> {
    let tokens = tokens(source).ok()?;
    let ((Kind::Text, word), rest) = tokens.split_first()? else { return None };
    (rest.is_empty() || is_sign(rest.first(), "~")).then(|| text(word))?
}

/// Splits at the first comparison outside brackets; `None` if there is none, or if the expression combines conditions.
pub(crate) fn split_comparison(source: &str) -> Option<(&str, &str, &str)> {
    let tokens = tokens(source).ok()?;
    if tokens.iter().any(|(kind, word)| *kind == Kind::Name && matches!(*word, "and" | "or" | "not" | "if")) {
        return None;
    }
    let mut depth = 0;
    for (_, word) in tokens.iter().filter(|(kind, _)| *kind == Kind::Sign) {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "==" | "!=" | "<=" | ">=" | "<" | ">" if depth == 0 => {
                // Tokens are slices of the source, so the difference of addresses is the offset.
                let at = word.as_ptr().addr() - source.as_ptr().addr();
                return Some((source[..at].trim(), word, source[at + word.len()..].trim()));
            }
            _ => {}
        }
    }
    None
}

/// The comparisons in an expression, joined by `and` and `or`.
pub(crate) fn comparisons(source: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    joined(source).into_iter().filter_map(split_comparison)
}

/// The operands of `and` and `or` outside brackets, of a chain `a < b < c` each pair; the whole expression if it has
/// neither.
pub(crate) fn joined(source: &str) -> Vec<&str> {
    let Ok(tokens) = tokens(source) else { return vec![source] };
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    // Where the right side of the comparison before begins.
    let mut right = None;
    for (kind, word) in tokens {
        match (kind, word) {
            (Kind::Sign, "==" | "!=" | "<=" | ">=" | "<" | ">") if depth == 0 => {
                let at = word.as_ptr().addr() - source.as_ptr().addr();
                if let Some(right) = right.replace(at + word.len()) {
                    parts.push(source[from..at].trim());
                    from = right;
                }
            }
            (Kind::Sign, "(" | "[" | "{") => depth += 1,
            (Kind::Sign, ")" | "]" | "}") => depth -= 1,
            (Kind::Name, "if") if depth == 0 => return vec![source],
            (Kind::Name, "and" | "or") if depth == 0 => {
                // Tokens are slices of the source, so the difference of addresses is the offset.
                let at = word.as_ptr().addr() - source.as_ptr().addr();
                parts.push(source[from..at].trim());
                from = at + word.len();
                right = None;
            }
            _ => {}
        }
    }
    parts.push(source[from..].trim());
    parts
}

fn is_sign(token: Option<&Token<'_>>, sign: &str) -> bool {
    token.is_some_and(|token| *token == (Kind::Sign, sign))
}

/// The dotted name at the beginning of the tokens.
fn path(tokens: &[Token<'_>]) -> Vec<String> {
    let mut path = vec![tokens[0].1.to_owned()];
    let mut rest = &tokens[1..];
    while let [(Kind::Sign, "."), (Kind::Name | Kind::Number, word), ..] = rest {
        path.push((*word).to_owned());
        rest = &rest[2..];
    }
    path
}

/// The arguments of a call, from the tokens after the opening bracket.
fn arguments(tokens: &[Token<'_>]) -> Vec<Option<String>> {
    let (mut arguments, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, token) in tokens.iter().enumerate() {
        let (Kind::Sign, sign) = token else { continue };
        match *sign {
            "," | ")" if depth == 0 => {
                if from < at {
                    let alone = (at == from + 1).then(|| tokens[from]);
                    let quoted = alone.filter(|(kind, _)| *kind == Kind::Text);
                    arguments.push(quoted.and_then(|(_, word)| text(word)));
                }
                from = at + 1;
                if *sign == ")" {
                    break;
                }
            }
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
    }
    arguments
}

/// The text between the quotes; `None` if it contains an escape.
fn text(quoted: &str) -> Option<String> {
    let inner = &quoted[1..quoted.len() - 1];
    (!inner.contains('\\')).then(|| inner.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Mentions, asks_for_order, attribute_of, beginning, joined, split_comparison};

    #[test]
    fn an_attribute_is_that_of_the_call_of_this_function() {
        let source = "owner('good/1').name == 'A' and value('good/1').stock == 1";
        assert_eq!(attribute_of(source, "good/1"), Some("stock"));
        assert_eq!(attribute_of("owner('good/1').name == 'A'", "good/1"), None);
        assert_eq!(attribute_of("value('good/1') == 'a'", "good/1"), None);
    }

    #[test]
    fn whether_the_order_of_a_list_matters_is_seen() {
        for source in [
            "m|length > 1",
            "self in m",
            "self not in m and m|count < 3",
            "m is not none",
            "m|sort|first",
            "'m'",
        ] {
            assert!(!asks_for_order(source, "m"), "{source}");
        }
        for source in
            ["m", "m|first", "m[0]", "m == ['a']", "m|join", "A.m[1]", "m is eq 1", "not m[", "[m, 1]"]
        {
            assert!(asks_for_order(source, "m"), "{source}");
        }
        assert!(!asks_for_order("n|first", "m") && !asks_for_order("n|m", "m"));
    }

    #[test]
    fn the_leading_quoted_text_of_a_value_is_found() {
        assert_eq!(beginning("'/locks/' ~ names|first").as_deref(), Some("/locks/"));
        assert_eq!(beginning("\"lock\"").as_deref(), Some("lock"));
        for other in ["names|first", "'a' in names", "names ~ '/locks/'", "'unfinished"] {
            assert_eq!(beginning(other), None, "{other}");
        }
    }

    #[test]
    fn keys_that_are_quoted_are_found() {
        let of = |source| Mentions::of(source).keys_of("value");
        assert_eq!(of("value('stock')|int == 0"), [("stock".to_owned(), None)]);
        assert_eq!(
            of("value(\"lock\", 'redis2') != value('x')"),
            [("lock".to_owned(), Some("redis2".to_owned())), ("x".to_owned(), None)]
        );
        assert_eq!(of("my_value('stock') == 1 and value(key) == 2"), []);
        assert_eq!(of("value('a' ~ 'b') == 1 and value('a\\x62') == 2"), []);
        assert_eq!(of("value('a)b') == 'value(1)'"), [("a)b".to_owned(), None)]);
    }

    #[test]
    fn names_are_whole_words() {
        let names = |source, name| Mentions::of(source).names(name);
        assert!(names("sold > stock", "sold") && names("stock-sold == 0", "sold"));
        assert!(!names("unsold == 1", "sold") && !names("sold_out", "sold"));
        assert!(!names("x == 'sold' and A.sold and y|sold", "sold"));
        let paths = Mentions::of("A.worker.release == 1 and moves('A.dog.renew') > 2").paths;
        assert_eq!(paths[0], ["A", "worker", "release"]);
        assert!(Mentions::of("moves('A.dog.renew') > 2").quotes("A.dog.renew"));
    }

    #[test]
    fn a_comparison_is_split_outside_brackets_and_quotes() {
        assert_eq!(split_comparison("sold == 10"), Some(("sold", "==", "10")));
        assert_eq!(split_comparison("value('a==b')<= 3"), Some(("value('a==b')", "<=", "3")));
        assert_eq!(split_comparison("exists('lock')"), None);
        assert_eq!(split_comparison("a == 1 and b == 2"), None);
    }

    #[test]
    fn operands_of_and_and_or_are_split_outside_brackets_and_quotes() {
        assert_eq!(joined("a == 1 and (b or c) or d == ' or '"), ["a == 1", "(b or c)", "d == ' or '"]);
        assert_eq!(joined("sold == 10"), ["sold == 10"]);
        assert_eq!(joined("0 < a <= b == c and d < e"), ["0 < a", "a <= b", "b == c", "d < e"]);
        assert_eq!(joined("a if b and c else d"), ["a if b and c else d"]);
    }
}
