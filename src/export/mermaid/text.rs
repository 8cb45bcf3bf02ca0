//! Escapes text in Mermaid diagrams.
//!
//! Mermaid parses statements line by line, ends them at `;`, begins comments with `%%` and entities with `#`, and takes
//! labels for HTML. Every character with such a meaning is written as a numeric entity.

use std::fmt::Write as _;

use crate::{
    printable::{self, is_harmless},
    ui::theme::text::{fit, wrap},
};

/// The maximum width of a line of a note, in columns.
const NOTE: usize = 60;
/// The maximum length of a command or a reply.
const LABEL: usize = 80;

/// Escapes the text of a note or a message.
pub(crate) fn escape(words: &str) -> String {
    let safe = entities(words, "#;<>&\"%$\\");
    // `wrap:` at the beginning is a directive.
    match safe.split_once(':') {
        Some((first, rest)) if first.trim_start().ends_with("wrap") => format!("{first}#58;{rest}"),
        _ => safe,
    }
}

/// Escapes the name of a participant, which arrows and lists would end.
pub(crate) fn name(words: &str) -> String {
    let safe = entities(words, "#;<>&\"%$\\-+:,()@{}");
    // `end` alone would end a block.
    if safe.trim().eq_ignore_ascii_case("end") {
        return safe.replacen(['e', 'E'], "#101;", 1);
    }
    safe
}

fn entities(words: &str, special: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '\n' => safe.push_str("<br/>"),
            letter if !is_harmless(letter) => safe.push(' '),
            letter if special.contains(letter) => {
                let _ = write!(safe, "#{};", u32::from(letter));
            }
            letter => safe.push(letter),
        }
    }
    safe
}

/// Wraps a long text for a note. Backticks are removed, because notes have no code.
pub(crate) fn wrapped(words: &str) -> String {
    let lines = wrap(&words.replace('`', ""), NOTE);
    let lines: Vec<String> = lines.iter().map(|line| escape(line.trim_end())).collect();
    lines.join("<br/>")
}

pub(crate) fn shorten(words: &str) -> String {
    fit(words, LABEL).into_owned()
}

/// A value of the front matter, which is YAML: double-quoted like JSON, and without markup, in case the diagram is
/// inserted into a page as it is.
pub(crate) fn yaml(words: &str) -> String {
    let quoted = printable::json(&serde_json::Value::from(words).to_string()).into_owned();
    let quoted = quoted.replace('&', "\\u0026");
    quoted.replace('<', "\\u003c").replace('>', "\\u003e")
}

#[cfg(test)]
mod tests {
    use super::{escape, name, wrapped, yaml};

    #[test]
    fn texts_cannot_end_or_begin_a_statement() {
        assert_eq!(escape("a; b"), "a#59; b");
        assert_eq!(escape("#1 %%{init}%%"), "#35;1 #37;#37;{init}#37;#37;");
        assert_eq!(escape("one\ntwo\r"), "one<br/>two ");
        assert_eq!(escape("<script>&"), "#60;script#62;#38;");
        assert_eq!(escape("nowrap: x"), "nowrap#58; x");
        assert_eq!(escape("lock: holding"), "lock: holding");
        assert_eq!(name("A->>B: x"), "A#45;#62;#62;B#58; x");
        assert_eq!(name("End"), "#101;nd");
    }

    #[test]
    fn long_words_wrap_and_the_title_is_yaml() {
        let lines = wrapped(&"word ".repeat(30));
        assert!(lines.contains("<br/>") && !lines.contains('\n'), "{lines}");
        assert_eq!(yaml("a \"b\": c\n"), r#""a \"b\": c\n""#);
        assert_eq!(yaml("<b>&"), r#""\u003cb\u003e\u0026""#);
    }
}
