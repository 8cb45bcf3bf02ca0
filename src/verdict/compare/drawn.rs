//! Random values that programs generate: they differ in each run, and mean the same. Tokens are distinguished from
//! names by their form: hexadecimal digits, or letters and digits in mixed order, as in Base64.

use std::{fmt::Write, mem};

use serde_json::Value;

/// The fewest hexadecimal digits in a row, not counting dashes, that make a random value (an owner's token, a UUID),
/// and the shortest such word of Base64.
const DIGITS: usize = 16;
/// The fewest digits after `0.` that make a random value: decimal ones, and those in base 36.
const DECIMALS: usize = 14;
const BASE_36: usize = 8;

/// The fewest bytes of a word that are no text and make it a random value.
const NO_TEXT: usize = 4;

/// The random values that have occurred in one run, in the order of their first occurrence.
#[derive(Debug, Default)]
pub(crate) struct RandomValues(Vec<String>);

impl RandomValues {
    /// A text with each random value replaced by the number of its first occurrence.
    pub(crate) fn without_random(&mut self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while !rest.is_empty() {
            let (word, after) = rest.split_at(word_end(rest));
            if is_binary(word) {
                self.push_random(essence(word), &mut out);
            } else {
                self.push_text(word, &mut out);
            }
            rest = after;
        }
        out
    }

    fn push_text(&mut self, text: &str, out: &mut String) {
        let mut word = String::new();
        for c in text.chars().map(Some).chain([None]) {
            match c {
                Some(c) if c.is_ascii_alphanumeric() || "+/=_-".contains(c) => word.push(c),
                c => {
                    self.push_word(mem::take(&mut word), out);
                    out.extend(c);
                }
            }
        }
    }

    fn push_word(&mut self, word: String, out: &mut String) {
        if is_base64(&word) || (follows_zero(out) && is_fraction(&word)) {
            return self.push_random(word, out);
        }
        let mut run = String::new();
        for c in word.chars().map(Some).chain([None]) {
            match c {
                Some(c) if c.is_ascii_hexdigit() || c == '-' => run.push(c),
                c => {
                    self.push_run(mem::take(&mut run), out);
                    out.extend(c);
                }
            }
        }
    }

    /// The same for the children of a znode, sorted: ZooKeeper lists them in no fixed order.
    pub(crate) fn children(&mut self, children: &[Value]) -> String {
        let out = children.iter().map(|child| self.without_random(&child.to_string()));
        let mut out: Vec<String> = out.collect();
        out.sort_unstable();
        format!("[{}]", out.join(","))
    }

    fn push_run(&mut self, run: String, out: &mut String) {
        // A number without letters may be a time or a sum, and must be compared.
        if run.chars().filter(char::is_ascii_hexdigit).count() < DIGITS
            || !run.chars().any(|c| c.is_ascii_alphabetic())
        {
            return out.push_str(&run);
        }
        self.push_random(run, out);
    }

    fn push_random(&mut self, run: String, out: &mut String) {
        let number = self.0.iter().position(|known| *known == run).unwrap_or_else(|| {
            self.0.push(run);
            self.0.len() - 1
        });
        let _ = write!(out, "(random {})", number + 1);
    }
}

/// Whether a word is random and written in Base64: small and capital letters, digits and signs alternate at every other
/// character, which is rare in names.
fn is_base64(word: &str) -> bool {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let has = |wanted| word.bytes().any(|byte| kind(byte) == wanted);
    let changes = word.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    let is_path = word.matches('/').count() > 2;
    word.len() >= DIGITS && has(0) && has(1) && 3 * changes >= word.len() && !is_path
}

/// Where the first word of a text ends, with its quotes if it has any; a space is a word of its own.
fn word_end(text: &str) -> usize {
    let Some(quoted) = text.strip_prefix('"') else {
        return text.find(' ').unwrap_or(text.len()).max(1);
    };
    let mut escaped = false;
    let end = quoted.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// Whether a word has bytes that are no text, as random bytes have.
fn is_binary(word: &str) -> bool {
    word.matches(char::REPLACEMENT_CHARACTER).count() >= NO_TEXT
}

/// What tells one random binary word from another, whether it is quoted or not.
fn essence(word: &str) -> String {
    let (mut out, quoted) = (String::new(), word.starts_with('"'));
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && quoted && chars.next() == Some('u') {
            chars.by_ref().find(|c| *c == '}');
        } else if c.is_ascii_alphanumeric() || c == char::REPLACEMENT_CHARACTER {
            out.push(c);
        }
    }
    out
}

/// Whether a text ends with the `0.` with which a fraction begins.
fn follows_zero(text: &str) -> bool {
    let before = text.strip_suffix("0.");
    before.is_some_and(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.'))
}

/// Whether a word is the fraction of a random number between 0 and 1, as JavaScript's `Math.random()` makes it, in decimal
/// digits or in base 36. A sum or a time below 1 has fewer digits.
fn is_fraction(word: &str) -> bool {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let least = if digits { DECIMALS } else { BASE_36 };
    word.len() >= least && word.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{RandomValues, is_base64};

    #[test]
    fn tokens_of_base64_are_distinguished_from_names() {
        for token in [
            "gQLoZ1l+nUCuAo2cQpslKfN7",
            "/sUYxF4bS8o6RQrt+9iZqXgC",
            "hQ7MNUhhCEWqUIolxvTyhe",
            "x9Kp-2_QmZ7aLr4TtUvW0w",
        ] {
            assert!(is_base64(token), "{token}");
        }
        for name in [
            "InterProcessMutexSemaphore",
            "getHTTPResponse2XX",
            "2026-11-25T16-03-32",
            "/locks/A-1/B-2/C-3/D",
            "orders",
        ] {
            assert!(!is_base64(name), "{name}");
        }
        let mut drawn = RandomValues::default();
        let set = |token: &str| format!("SET lock:lock {token} NX EX 3");
        assert_eq!(drawn.without_random(&set("gQLoZ1l+nUCuAo2cQpslKfN7")), set("(random 1)"));
        assert_eq!(drawn.without_random(&set("E3T/r4RyeZOaWbwt3ZvIeT1n")), set("(random 2)"));
    }

    #[test]
    fn random_fractions_are_distinguished_from_sums_and_versions() {
        let mut drawn = RandomValues::default();
        for (n, fraction) in ["0.sztoduhl1b", "0.5507730691843731"].into_iter().enumerate() {
            let text = drawn.without_random(&format!("SET lock {fraction} NX"));
            assert_eq!(text, format!("SET lock 0.(random {}) NX", n + 1));
        }
        for other in ["0.1", "0.30000001", "v0.acquired", "lock-0.a1", "17.5507730691843731"] {
            assert_eq!(drawn.without_random(other), other);
        }
    }

    #[test]
    fn random_bytes_are_the_same_value_with_quotes_and_without() {
        let mut drawn = RandomValues::default();
        let bytes = "\u{fffd}a\u{1}\u{fffd}\u{fffd}b\u{fffd}";
        let quoted = format!("{bytes:?}");
        assert_eq!(drawn.without_random(&format!("SET lock {bytes} NX")), "SET lock (random 1) NX");
        assert_eq!(drawn.without_random(&format!("EVAL x 1 lock {quoted}")), "EVAL x 1 lock (random 1)");
        let spaced = format!("{:?}", format!("{bytes} \"c"));
        assert_eq!(drawn.without_random(&format!("SET lock {spaced} NX")), "SET lock (random 2) NX");
        for text in ["SET k \"a \\\"b\" 中文", "\"", " ", "naïve \u{fffd}", "\"a\\"] {
            assert_eq!(drawn.without_random(text), text);
        }
    }

    #[test]
    fn random_values_are_named_by_when_they_were_first_seen() {
        let order = |tokens: [&str; 2]| {
            let mut drawn = RandomValues::default();
            let [one, other] = tokens;
            let set = |token: &str| format!("SET lock {token} NX PX 3000");
            let texts = [set(one), set(other), format!("/lock/_c_{one}-lock-0000000001")];
            texts.map(|text| drawn.without_random(&text))
        };
        let first = order(["27cdb3a4d6f511ef8ac62c5b0b6b9d8a", "b2f4ad3e-97c5-4d2e-9b7a-1d0f6f0f3a11"]);
        assert_eq!(first[0], "SET lock (random 1) NX PX 3000");
        assert_eq!(first[1], "SET lock (random 2) NX PX 3000");
        let again = order(["b2f4ad3e-97c5-4d2e-9b7a-1d0f6f0f3a11", "27cdb3a4d6f511ef8ac62c5b0b6b9d8a"]);
        assert_eq!(again[..2], first[..2]);
        let one_for_both = order(["27cdb3a4d6f511ef8ac62c5b0b6b9d8a"; 2]);
        assert_ne!(one_for_both[1], first[1], "two that are the same stay the same");
        let numbers = "SET stock 1764000000 0.125 17640.1234567890123456 1.0.12345678901234";
        assert_eq!(RandomValues::default().without_random(numbers), numbers);
    }
}
