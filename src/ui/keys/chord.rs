//! A key with its modifiers: parsed from configuration, compared with what was pressed.

use std::{fmt, str::FromStr};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chord {
    code: KeyCode,
    held: KeyModifiers,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChordError {
    pub message: String,
    pub help: String,
}

/// Named keys: in the configuration, on the screen, and as a key code.
const NAMED: &[(&str, &str, KeyCode)] = &[
    ("enter", "Enter", KeyCode::Enter),
    ("esc", "Esc", KeyCode::Esc),
    ("tab", "Tab", KeyCode::Tab),
    ("space", "Space", KeyCode::Char(' ')),
    ("backspace", "Backspace", KeyCode::Backspace),
    ("delete", "Del", KeyCode::Delete),
    ("insert", "Ins", KeyCode::Insert),
    ("up", "↑", KeyCode::Up),
    ("down", "↓", KeyCode::Down),
    ("left", "←", KeyCode::Left),
    ("right", "→", KeyCode::Right),
    ("home", "Home", KeyCode::Home),
    ("end", "End", KeyCode::End),
    ("pageup", "PgUp", KeyCode::PageUp),
    ("pagedown", "PgDn", KeyCode::PageDown),
];

/// Modifiers: in the configuration, on the screen, and as a bit.
const HELD: [(&str, &str, KeyModifiers); 3] = [
    ("ctrl-", "Ctrl-", KeyModifiers::CONTROL),
    ("alt-", "Alt-", KeyModifiers::ALT),
    ("shift-", "Shift-", KeyModifiers::SHIFT),
];

impl Chord {
    /// Ctrl-C, which always quits.
    pub const INTERRUPT: Self = Self { code: KeyCode::Char('c'), held: KeyModifiers::CONTROL };

    /// The chord of a key event. Terminals differ in whether they report Shift with a character, so it is dropped
    /// there: the character itself shows it.
    pub fn pressed(key: KeyEvent) -> Self {
        let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        match key.code {
            KeyCode::BackTab => Self { code: KeyCode::Tab, held: held | KeyModifiers::SHIFT },
            KeyCode::Char(c) => {
                let held = held - KeyModifiers::SHIFT;
                let c = if held.contains(KeyModifiers::CONTROL) { c.to_ascii_lowercase() } else { c };
                Self { code: KeyCode::Char(c), held }
            }
            code => Self { code, held },
        }
    }

    pub fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if self.held.is_empty() => Some(c),
            _ => None,
        }
    }

    /// The name shown on the screen: `→`, `Space`, `Ctrl-P`.
    pub fn label(self) -> String {
        self.named(true)
    }

    /// The name on the screen (`shown`) or in the configuration.
    fn named(self, shown: bool) -> String {
        let choose = |written, label| if shown { label } else { written };
        let held = HELD.iter().filter(|(.., modifier)| self.held.contains(*modifier));
        let mut name: String = held.map(|(written, label, _)| choose(*written, *label)).collect();
        match (NAMED.iter().find(|named| named.2 == self.code), self.code) {
            (Some((written, label, _)), _) => name.push_str(choose(written, label)),
            (None, KeyCode::F(number)) => name.extend([choose("f", "F"), &number.to_string()]),
            (None, KeyCode::Char(c)) if shown && !self.held.is_empty() => name.push(c.to_ascii_uppercase()),
            (None, KeyCode::Char(c)) => name.push(c),
            (None, _) => name.push('?'),
        }
        name
    }
}

/// The name in the configuration.
impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.named(false))
    }
}

impl FromStr for Chord {
    type Err = ChordError;

    fn from_str(text: &str) -> Result<Self, ChordError> {
        let wrong = |message: String, help: &str| ChordError { message, help: help.to_owned() };
        let (mut with, mut rest) = (KeyModifiers::NONE, text);
        loop {
            let lower = rest.to_ascii_lowercase();
            let is_held = |prefix: &str| lower.starts_with(prefix) && rest.len() > prefix.len();
            let Some((prefix, _, modifier)) = HELD.iter().find(|(prefix, ..)| is_held(prefix)) else { break };
            with |= *modifier;
            rest = &rest[prefix.len()..];
        }
        let mut chars = rest.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            if c.is_control() || c.is_whitespace() {
                return Err(wrong("this character is no key".to_owned(), "write `space`, `tab` or `enter`"));
            }
            if with.contains(KeyModifiers::SHIFT) {
                let shifted =
                    format!("write the character that Shift makes of it, such as `{}`", c.to_uppercase());
                return Err(wrong(format!("`{text}` is typed as another character"), &shifted));
            }
            return Ok(Self::pressed(KeyEvent::new(KeyCode::Char(c), with)));
        }
        let lower = rest.to_ascii_lowercase();
        if let Some((.., code)) = NAMED.iter().find(|(written, ..)| *written == lower) {
            if lower == "space" && with.contains(KeyModifiers::SHIFT) {
                return Err(wrong(format!("terminals send `{text}` as `space`"), "write `space`"));
            }
            return Ok(Self { code: *code, held: with });
        }
        let function = lower.strip_prefix('f').and_then(|number| number.parse().ok());
        if let Some(number @ 1..=12) = function {
            return Ok(Self { code: KeyCode::F(number), held: with });
        }
        if rest.is_empty() {
            return Err(wrong("a key is missing here".to_owned(), "write one, such as `x` or `ctrl-x`"));
        }
        let near = NAMED
            .iter()
            .map(|(written, ..)| (strsim::jaro_winkler(written, &lower), written))
            .filter(|(likeness, _)| *likeness > 0.75)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let help = match near {
            Some((_, near)) => format!("did you mean `{near}`?"),
            None => "write one character, a name such as `space`, `pageup` or `f5`, or `ctrl-x`".to_owned(),
        };
        Err(wrong(format!("`{text}` is no key"), &help))
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::{Chord, NAMED};

    fn pressed(code: KeyCode, held: KeyModifiers) -> Chord {
        Chord::pressed(KeyEvent::new(code, held))
    }

    #[test]
    fn parsed_chords_match_pressed_keys() {
        for (text, code, held) in [
            ("n", KeyCode::Char('n'), KeyModifiers::NONE),
            ("V", KeyCode::Char('V'), KeyModifiers::SHIFT),
            ("-", KeyCode::Char('-'), KeyModifiers::NONE),
            ("ctrl--", KeyCode::Char('-'), KeyModifiers::CONTROL),
            ("ctrl-P", KeyCode::Char('p'), KeyModifiers::CONTROL),
            ("Alt-Enter", KeyCode::Enter, KeyModifiers::ALT),
            ("shift-tab", KeyCode::BackTab, KeyModifiers::SHIFT),
            ("space", KeyCode::Char(' '), KeyModifiers::NONE),
            ("锁", KeyCode::Char('锁'), KeyModifiers::NONE),
            ("f12", KeyCode::F(12), KeyModifiers::NONE),
        ] {
            assert_eq!(text.parse(), Ok(pressed(code, held)), "{text}");
        }
    }

    #[test]
    fn labels_match_key_caps_and_written_names_round_trip() {
        let label = |text: &str| text.parse::<Chord>().expect(text).label();
        assert_eq!(label("ctrl-p"), "Ctrl-P");
        assert_eq!(label("right"), "→");
        assert_eq!(label("shift-tab"), "Shift-Tab");
        assert_eq!(label("v"), "v");
        for text in NAMED.iter().map(|named| named.0).chain(["x", "X", "f7", "ctrl-alt-x", "?"]) {
            let chord: Chord = text.parse().expect(text);
            assert_eq!(chord.to_string(), text);
        }
    }

    #[test]
    fn an_invalid_key_suggests_valid_ones() {
        for (text, says) in [
            ("", "a key is missing"),
            ("spacebar", "did you mean `space`"),
            ("f13", "write one character"),
            ("shift-a", "such as `A`"),
            ("shift-space", "write `space`"),
            ("hyper-x", "is no key"),
            (" ", "write `space`"),
        ] {
            let error = text.parse::<Chord>().expect_err(text);
            let message = format!("{}; {}", error.message, error.help);
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
