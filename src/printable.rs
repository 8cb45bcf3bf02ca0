//! Makes text of foreign origin (lessons, replies, file names, arguments) harmless for terminals, pictures
//! and pages.
//!
//! Harmful are invisible characters that have an effect: control characters (C0, DEL and C1, with which
//! escape sequences begin), marks that change the direction of writing, and marks without any width that hide
//! words or make two different names look alike. Joiners, variation selectors and combining marks stay:
//! scripts and emoji need them.

use std::{borrow::Cow, fmt::Write as _};

/// The replacement for a harmful character.
const STAND_IN: char = '·';

/// Whether a character is visible and has no other effect.
pub fn is_harmless(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    !matches!(c,
        // C1: terminals may take U+009B for the beginning of a sequence.
        '\u{80}'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{180e}'
        // Zero-width space; left-to-right and right-to-left marks.
        | '\u{200b}' | '\u{200e}' | '\u{200f}'
        // Line and paragraph separators, embeddings and overrides.
        | '\u{2028}'..='\u{202e}'
        // Word joiner, invisible operators, isolates, deprecated formatting.
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Escapes a text for HTML and SVG, in an element or in quotes.
pub fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The text on one line, with every harmful character replaced.
pub fn line(text: &str) -> Cow<'_, str> {
    replaced(text, is_harmless)
}

/// The text with its line feeds and tabs, and with every other harmful character replaced.
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, stays)
}

/// The most consecutive blanks of a command that are written out.
const MOST_BLANKS: usize = 8;

/// A command as a shell takes it, on one line. A long run of blanks is replaced by its length (`53 × ␣`, in all
/// languages): what follows it might be overlooked.
pub fn command(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| command_word(word)).collect();
    words.join(" ")
}

fn command_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,${}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut shown = String::from("'");
    for run in word.chars().collect::<Vec<_>>().chunk_by(|one, other| one == other) {
        match run {
            [' ', ..] if run.len() > MOST_BLANKS => {
                let _ = write!(shown, " (… {} × ␣ …) ", run.len());
            }
            ['\n', ..] => shown.push_str(&"\\n".repeat(run.len())),
            ['\'', ..] => shown.push_str(&"'\\''".repeat(run.len())),
            _ => shown.extend(run),
        }
    }
    shown + "'"
}

fn stays(c: char) -> bool {
    is_harmless(c) || matches!(c, '\n' | '\t')
}

fn replaced(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&stays) {
        return Cow::Borrowed(text);
    }
    let stand_in = |c| if stays(c) { c } else { STAND_IN };
    Cow::Owned(text.chars().map(stand_in).collect())
}

/// An equivalent JSON text in which every harmful character is escaped. JSON itself escapes C0 only. Line
/// feeds and tabs stay: in JSON they occur between values.
pub fn json(text: &str) -> Cow<'_, str> {
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if stays(c) {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    Cow::Owned(escaped)
}

/// Replaces harmful characters in all strings and names inside a JSON value, as [`lines`] does.
pub fn value(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = lines(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(self::value),
        Value::Object(map) => {
            for (name, item) in std::mem::take(map) {
                let mut item = item;
                self::value(&mut item);
                map.insert(lines(&name).into_owned(), item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{command, is_harmless, json, line, lines, value};

    #[test]
    fn a_command_is_shown_so_that_no_part_is_overlooked() {
        let shown =
            |words: &[&str]| command(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(shown(&["bash", "worker.sh", "${lease}"]), "bash worker.sh ${lease}");
        assert_eq!(shown(&["sh", "-c", "echo it's; ls", ""]), r"sh -c 'echo it'\''s; ls' ''");
        let hidden = format!("true #{}; rm x\nCovered is nothing", " ".repeat(3_000));
        assert_eq!(shown(&["sh", &hidden]), r"sh 'true # (… 3000 × ␣ …) ; rm x\nCovered is nothing'");
    }

    #[test]
    fn invisible_characters_are_replaced_and_scripts_stay_whole() {
        assert_eq!(line("a\u{1b}[31mb\u{9b}2J\u{7f}\n"), "a·[31mb·2J··");
        assert_eq!(lines("a\n\tb\r"), "a\n\tb·");
        assert_eq!(line("\u{202e}txt\u{2066}\u{200b}\u{feff}\u{e0041}"), "·txt····");
        for text in
            ["分布式锁，", "é e\u{301}", "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}", "می\u{200c}خواهم", "→ ✓ █"]
        {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn a_value_is_clean_in_its_names_too() {
        let mut given = json!({"a\u{1b}": ["\u{202e}", 1, null], "b": {"c": "d\ne"}});
        value(&mut given);
        assert_eq!(given, json!({"a·": ["·", 1, null], "b": {"c": "d\ne"}}));
    }

    proptest! {
        #[test]
        fn json_says_the_same_without_them(text: String) {
            let plain = serde_json::to_string(&text).expect("a text");
            let escaped = json(&plain);
            prop_assert!(escaped.chars().all(is_harmless), "{escaped:?}");
            prop_assert_eq!(serde_json::from_str::<String>(&escaped).expect("JSON"), text);
        }
    }
}
