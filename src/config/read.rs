//! Parses the file's text into settings and mistakes.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::Config;
use crate::{
    lesson::LessonError,
    text::Lang,
    ui::{
        keys::{Bindings, Chord, Complaint, KeyMap, TABLE, row},
        theme::ThemeName,
    },
};

/// The names allowed outside `[keys]`.
pub(crate) const SETTINGS: [&str; 6] = ["lang", "theme", "speed", "questions", "reduced_motion", "keys"];

type Value<'i> = Spanned<DeValue<'i>>;

impl Config {
    /// Parses a text; `file` is its name in messages.
    pub fn parse(file: &str, text: &str) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut reader = Reader { file, text, unread: Vec::new(), mistakes: Vec::new() };
        for error in errors {
            let help = "it is TOML: `name = \"text\"`, `name = [\"a\", \"b\"]`, `[keys]`";
            reader.mistake(error.span().unwrap_or_default(), error.message(), help);
            let line = reader.mistakes.last().and_then(|(_, mistake)| mistake.place);
            reader.unread.extend(line.map(|place| place.0));
        }
        let mut config = Self::default();
        for (name, value) in in_order(table.get_ref()) {
            reader.setting(&mut config, name, value);
        }
        reader.mistakes.sort_by_key(|(at, _)| *at);
        config.mistakes = reader.mistakes.into_iter().map(|(_, mistake)| mistake).collect();
        config
    }
}

/// The entries of a table in the order of the file.
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Spanned<std::borrow::Cow<'i, str>>, &'t Value<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    /// Lines that are not valid TOML.
    unread: Vec<usize>,
    mistakes: Vec<(usize, LessonError)>,
}

impl Reader<'_> {
    fn mistake(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        let at = span.start.min(self.text.len());
        let before = self.text.get(..at).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |feed| feed + 1);
        let line = self.text[start..].lines().next().unwrap_or_default();
        let number = before.matches('\n').count() + 1;
        // A line that cannot be parsed has been reported already.
        if self.unread.contains(&number) {
            return;
        }
        let mistake = LessonError {
            file: self.file.to_owned(),
            place: Some((number, before[start..].chars().count() + 1)),
            excerpt: Some(line.replace('\t', " ")),
            message: message.into().into(),
            help: Some(help.into().into()),
            more: Vec::new(),
        };
        self.mistakes.push((at, mistake));
    }

    fn setting(&mut self, config: &mut Config, name: &Spanned<std::borrow::Cow<'_, str>>, value: &Value<'_>) {
        match name.get_ref().as_ref() {
            "lang" => config.lang = self.one_of(value, "language", &[("en", Lang::En), ("zh", Lang::Zh)]),
            "theme" => {
                let themes = ThemeName::ALL.map(|theme| (theme.name(), theme));
                config.theme = self.one_of(value, "theme", &themes);
            }
            "speed" => config.speed = self.speed(value),
            "questions" => config.questions = self.yes_or_no(value, "questions"),
            "reduced_motion" => config.reduced_motion = self.yes_or_no(value, "reduced_motion"),
            "keys" => config.keys = self.keys(value),
            unknown => {
                let help = if row(unknown).is_some() {
                    "it is an action: write it below `[keys]`".to_owned()
                } else {
                    nearest(unknown, SETTINGS.into_iter())
                };
                self.mistake(name.span(), format!("unknown setting `{unknown}`"), help);
            }
        }
    }

    fn one_of<T: Copy>(&mut self, value: &Value<'_>, what: &str, known: &[(&str, T)]) -> Option<T> {
        let word = value.get_ref().as_str();
        let found = known.iter().find(|(name, _)| Some(*name) == word);
        if found.is_none() {
            let message = match word {
                Some(word) => format!("there is no {what} `{word}`"),
                None => format!("a {what} is a text, not {}", kind(value)),
            };
            let all: Vec<String> = known.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
            self.mistake(value.span(), message, format!("write {}", all.join(" or ")));
        }
        found.map(|(_, known)| *known)
    }

    fn yes_or_no(&mut self, value: &Value<'_>, what: &str) -> Option<bool> {
        let answer = value.get_ref().as_bool();
        if answer.is_none() {
            let message = format!("`{what}` is a yes or a no, not {}", kind(value));
            self.mistake(value.span(), message, "write `true` or `false`, without quotes");
        }
        answer
    }

    fn speed(&mut self, value: &Value<'_>) -> Option<f64> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        let speed = number.filter(|speed| (0.1..=100.0).contains(speed));
        if speed.is_none() {
            let message = match number {
                Some(_) => "this is no speed that lessons can play at".to_owned(),
                None => format!("a speed is a number, not {}", kind(value)),
            };
            self.mistake(value.span(), message, "write a number from 0.1 to 100; 1 is real time");
        }
        speed
    }

    fn keys(&mut self, value: &Value<'_>) -> KeyMap {
        let Some(table) = value.get_ref().as_table() else {
            let help = "write `[keys]`, and below it lines such as `step = [\"right\", \"n\"]`";
            self.mistake(value.span(), format!("`keys` is a table, not {}", kind(value)), help);
            return KeyMap::default();
        };
        let mut wishes = Vec::new();
        for (name, value) in in_order(table) {
            let Some(row) = row(name.get_ref()) else {
                let help = nearest(name.get_ref(), TABLE.iter().map(|row| row.id));
                self.mistake(name.span(), format!("unknown action `{}`", name.get_ref()), help);
                continue;
            };
            if let Some(chords) = self.chords(value) {
                wishes.push(Bindings { row, chords });
            }
        }
        let (keys, complaints) = KeyMap::with(&wishes);
        for Complaint { mark, message, help } in complaints {
            self.mistake(mark..mark, message, help);
        }
        keys
    }

    /// The keys of an action, each with its position; `None` if none of the given keys is valid.
    fn chords(&mut self, value: &Value<'_>) -> Option<Vec<(Chord, usize)>> {
        let keys: Vec<&Value<'_>> = match value.get_ref() {
            DeValue::Array(keys) => keys.iter().collect(),
            _ => vec![value],
        };
        let chords: Vec<_> = keys.iter().filter_map(|key| self.chord(key)).collect();
        (!chords.is_empty() || keys.is_empty()).then_some(chords)
    }

    fn chord(&mut self, key: &Value<'_>) -> Option<(Chord, usize)> {
        let at = key.span();
        let Some(text) = key.get_ref().as_str() else {
            let message = format!("a key is a text, not {}", kind(key));
            self.mistake(at, message, "write it in quotes: `\"x\"`, or several: `[\"x\", \"ctrl-x\"]`");
            return None;
        };
        match text.parse() {
            Ok(chord) => Some((chord, at.start)),
            Err(error) => {
                self.mistake(at, error.message, error.help);
                None
            }
        }
    }
}

fn kind(value: &Value<'_>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a yes or a no",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The known names most similar to an unknown one.
fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let mut near: Vec<(f64, &str)> = known
        .map(|candidate| (strsim::jaro_winkler(candidate, name), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<String> = near.iter().take(3).map(|(_, name)| format!("`{name}`")).collect();
    if near.is_empty() {
        "`lockstep config` names everything that can be written here".to_owned()
    } else {
        format!("did you mean {}?", near.join(" or "))
    }
}
