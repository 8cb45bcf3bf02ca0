//! Loads lesson files.
//!
//! **Architecture Invariant:** this module alone knows that lessons are YAML.

pub(crate) mod bounds;
pub(crate) mod locate;
mod shape;
mod synonyms;
mod yaml;

use std::{fs, path::Path as FilePath, sync::Arc};

use schemars::{JsonSchema, Schema, schema_for};
use serde::de::DeserializeOwned;

use self::shape::Shape;
use super::{
    error::{LessonError, Mistake, MistakeSpan, Mistakes, Path, finding, from_custom},
    kata::Answer,
    model::{FORMAT, Lesson, Recipes},
};
use crate::{
    files,
    text::{Text, both, strictly},
};

/// The largest lesson file that is read, in bytes. Lockstep's own are at most a fortieth of it.
pub const LARGEST: u64 = 1 << 20;

/// The text of a file, kept so that a mistake found later can still be shown at its place.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file's name, as the user knows it.
    pub file: String,
    text: Arc<str>,
    /// Whether the text is carried in the binary, and so needs no protection against hostile input.
    carried: bool,
    /// Parts of the lesson that are in other files, by their paths.
    elsewhere: Vec<Arc<(Vec<Path>, Source)>>,
}

impl Source {
    /// A source for a text that has already been read.
    pub fn new(file: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self { file: file.into(), text: text.into(), carried: false, elsewhere: Vec::new() }
    }

    /// A source for a text that is carried in the binary.
    pub fn carried(file: impl Into<String>, text: &'static str) -> Self {
        Self { carried: true, ..Self::new(file, text) }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the source with some of its parts located in another file.
    pub fn with_parts_of(&self, other: &Self, parts: Vec<Path>) -> Self {
        let mut source = self.clone();
        source.elsewhere.push(Arc::new((parts, other.clone())));
        source
    }

    /// Whether the text is a lesson rather than an answer to an exercise: every lesson has a `format`.
    pub fn is_lesson(&self) -> bool {
        self.text.lines().any(|line| line.starts_with("format:"))
    }

    /// Parses a learner's answer to an exercise.
    pub fn answer(&self) -> Result<Answer, LessonError> {
        self.parse(|_: &Answer| FORMAT)
    }

    /// Reads a regular UTF-8 file that is no larger than 1 MiB.
    pub fn read(path: &FilePath) -> Result<Self, LessonError> {
        let file = path.display().to_string();
        let fail = |message: Text, help: Text| LessonError::of_file(&file, message, Some(help));
        let give_path = || both!("give the path of a lesson file", "请给出课程文件的路径");
        let facts = fs::metadata(path)
            .map_err(|error| fail(both!("cannot be read: {error}", "无法读取：{error}"), give_path()))?;
        if facts.is_dir() {
            return Err(fail(
                both!("is a directory, not a lesson", "是目录，不是课程"),
                both!("for a folder of lessons use `--lessons DIR`", "课程目录请用 `--lessons 目录`"),
            ));
        }
        if !facts.is_file() {
            return Err(fail(both!("is not a regular file", "不是普通文件"), give_path()));
        }
        if facts.len() > LARGEST {
            let bytes = facts.len();
            return Err(fail(
                both!(
                    "has {bytes} bytes; a lesson may have at most {LARGEST}",
                    "有 {bytes} 字节；一节课最多 {LARGEST} 字节"
                ),
                both!("split it into several lessons", "请拆成几节课"),
            ));
        }
        let bytes = files::read(path, LARGEST).map_err(|error| {
            fail(
                both!("cannot be read: {error}", "无法读取：{error}"),
                both!("look at the file's permissions", "请检查文件权限"),
            )
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let whole = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = whole.split(|byte| *byte == b'\n').count();
            fail(
                both!("is not UTF-8: see line {line}", "不是 UTF-8：问题在第 {line} 行"),
                both!("save it as UTF-8 text", "请存成 UTF-8 文本"),
            )
        })?;
        // Some editors begin a file with a byte order mark.
        Ok(Self::new(file, text.strip_prefix('\u{feff}').unwrap_or(&text)))
    }

    /// Parses a lesson. Checks the grammar only; names are checked when the lesson is planned.
    pub fn lesson(&self) -> Result<Lesson, LessonError> {
        self.parse(|lesson: &Lesson| lesson.format)
    }

    /// Checks that every text of a lesson, or of recipes, is there in both languages.
    ///
    /// # Errors
    /// The first text that lacks a language, with its place.
    pub fn check_languages(&self, recipes: bool) -> Result<(), LessonError> {
        strictly(|| if recipes { self.recipes().map(drop) } else { self.lesson().map(drop) })
    }

    pub fn recipes(&self) -> Result<Recipes, LessonError> {
        self.parse(|recipes: &Recipes| recipes.format)
    }

    fn parse<T: DeserializeOwned + JsonSchema>(&self, format: fn(&T) -> u32) -> Result<T, LessonError> {
        if !self.carried {
            bounds::check(&self.text)
                .map_err(|(place, message, help)| self.error(place, message, Some(help)))?;
        }
        let parsed = serde_yaml::from_str(&self.text).map_err(|error| self.explain::<T>(&error))?;
        match format(&parsed) {
            1..=FORMAT => Ok(parsed),
            other => Err(self.place(&Path::root().key("format").mistake(finding!(
                "format {other} is not known",
                "不认识 format {other}",
                "this Lockstep reads format 1 to {FORMAT}",
                "这个 Lockstep 读取 format 1 到 {FORMAT}"
            )))),
        }
    }

    /// Translates an error of the parser, which is worded for programmers, for an author.
    fn explain<T: JsonSchema>(&self, error: &serde_yaml::Error) -> LessonError {
        let place = error.location().map(|location| (location.line(), location.column()));
        let message = error.to_string();
        let line = place.map_or(0, |(line, _)| line);
        if let Some((place, message, help)) = yaml::odd_character(&message, &self.text, line) {
            return self.error(Some(place), message, Some(help));
        }
        if let Some(said) = from_custom(&message) {
            let key = said.en.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
            // The parser names the beginning of the fields, and the message quotes the value that is wrong.
            let value = said.en.strip_prefix('`').and_then(|rest| rest.split_once('`'));
            let place = place.map(|place| {
                let of_key = key.and_then(|(key, _)| self.key_after(place, key));
                let of_value =
                    || self.value_after(place, value?.0).or_else(|| self.key_among(place, value?.0));
                of_key.or_else(of_value).unwrap_or(place)
            });
            return self.error(place, said, None);
        }
        if let Some(lang) =
            ["en", "zh"].into_iter().find(|lang| message.contains(&format!("missing field `{lang}`")))
        {
            let message = both!("missing field `{lang}`", "缺少字段 `{lang}`");
            let help = both!(
                "`--strict` wants every text twice: {{ en: …, zh: … }}",
                "`--strict` 要求每段文字都写两种语言：{{ en: …, zh: … }}"
            );
            return self.error(place, message, Some(help));
        }
        if let Some((place, key)) = self.unfinished_key(&schema_for!(T)) {
            let message = both!("`{key}` is not followed by `: `", "`{key}` 后面不是 `: `");
            let help = both!(
                "write `{key}: …`, with an ASCII colon and a space",
                "请写成 `{key}: …`，用半角冒号，后面空一格"
            );
            return self.error(Some(place), message, Some(help));
        }
        match serde_yaml::from_str::<serde_yaml::Value>(&self.text) {
            Ok(file) if file.is_null() => {
                let (place, message, help) = yaml::explain("EOF while", &self.text, place);
                self.error(place, message, Some(help))
            }
            Ok(file) => {
                if let Some(mistake) = Shape(schema_for!(T).as_value()).mistake(&file) {
                    return self.place(&mistake);
                }
                let line = place.and_then(|(line, _)| self.text.lines().nth(line.checked_sub(1)?));
                let tagged = line.is_some_and(|line| line.contains(" !"));
                let help = tagged.then(|| {
                    both!(
                        "`!` begins a tag in YAML: where it means the contrary, write `not exists('lock')`",
                        "YAML 里 `!` 是标签的开头：表示“不”请写 `not exists('lock')`"
                    )
                });
                self.error(place, both!("this cannot stand here", "这里不能这样写"), help)
            }
            Err(error) => {
                let (place, message, help) = yaml::explain(&error.to_string(), &self.text, place);
                self.error(place, message, Some(help))
            }
        }
    }

    /// The next position of a key, searching from a given position.
    fn key_after(&self, (line, column): (usize, usize), key: &str) -> Option<(usize, usize)> {
        let written = format!("{key}:");
        self.text.lines().enumerate().skip(line.checked_sub(1)?).find_map(|(n, text)| {
            let from = if n + 1 == line { text.char_indices().nth(column - 1)?.0 } else { 0 };
            let at = from + text.get(from..)?.find(&written)?;
            let before = &text[..at];
            let is_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            (!is_word).then(|| (n + 1, before.chars().count() + 1))
        })
    }

    /// The next position of a key among the fields that begin at a given position.
    fn key_among(&self, (line, column): (usize, usize), key: &str) -> Option<(usize, usize)> {
        let found = self.key_after((line, column), key)?;
        self.fields_at((line, column)).any(|(n, _)| n + 1 == found.0).then_some(found)
    }

    /// The lines, each with its index, of the fields that begin at a given position.
    fn fields_at(&self, (line, column): (usize, usize)) -> impl Iterator<Item = (usize, &str)> {
        let indented = |text: &str| text.len() - text.trim_start().len() + 1;
        let lines = self.text.lines().enumerate().skip(line.saturating_sub(1));
        lines.take_while(move |(n, text)| n + 1 == line || indented(text) >= column)
    }

    /// The next position of a value behind its key, among the fields that begin at a given position.
    fn value_after(&self, (line, column): (usize, usize), value: &str) -> Option<(usize, usize)> {
        let written = format!(": {value}");
        self.fields_at((line, column)).find_map(|(n, text)| {
            let from = if n + 1 == line { text.char_indices().nth(column - 1)?.0 } else { 0 };
            let at = from + text.get(from..)?.find(&written)? + 2;
            let ends = text[at + value.len()..].starts_with(|c: char| c.is_whitespace() || ",}]".contains(c));
            (ends || text.len() == at + value.len()).then(|| (n + 1, text[..at].chars().count() + 1))
        })
    }

    /// Finds a key of the grammar at the beginning of a line with a full-width colon, or without a space after its
    /// colon. YAML takes such a line for a text and reports the next line.
    fn unfinished_key(&self, schema: &Schema) -> Option<((usize, usize), &str)> {
        let schema = schema.as_value().to_string();
        self.text.lines().enumerate().find_map(|(n, line)| {
            let begins = line.trim_start().trim_start_matches("- ");
            let key = begins.split([':', '：']).next().filter(|key| key.len() < begins.len())?;
            let rest = &begins[key.len()..];
            let unfinished = rest.starts_with('：') || !rest[1..].is_empty() && !rest[1..].starts_with(' ');
            let is_word = !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            let found = unfinished && is_word && schema.contains(&format!("\"{key}\":{{"));
            found.then(|| ((n + 1, line.chars().count() - begins.chars().count() + 1), key))
        })
    }

    /// Resolves the paths of mistakes. Of several on one line only the first is told.
    pub(crate) fn place_all(&self, mistakes: &Mistakes) -> LessonError {
        let mut placed: Vec<LessonError> = Vec::new();
        for error in mistakes.iter().map(|mistake| self.place(mistake)) {
            let line = |error: &LessonError| (error.file.clone(), error.place.map(|(line, _)| line));
            if placed.iter().all(|known| line(known) != line(&error)) {
                placed.push(error);
            }
        }
        let first = placed.remove(0);
        LessonError { more: placed, ..first }
    }

    /// Resolves the path of a mistake to a line and column.
    pub fn place(&self, mistake: &Mistake) -> LessonError {
        let stands_in =
            |parts: &[Path]| parts.iter().any(|part| mistake.path.segments().starts_with(part.segments()));
        if let Some(there) = self.elsewhere.iter().rev().find(|there| stands_in(&there.0)) {
            return there.1.place(mistake);
        }
        let place = locate::locate(&self.text, &mistake.path, mistake.span == MistakeSpan::Key);
        let is_tag = |(line, column): (usize, usize)| {
            self.text.lines().nth(line - 1).and_then(|text| text.chars().nth(column - 1)) == Some('!')
        };
        if place.is_some_and(is_tag) {
            let message = both!("`!` begins a tag in YAML", "YAML 里 `!` 是标签的开头");
            let help = both!(
                "where it means the contrary, write `not exists('lock')`",
                "表示“不”请写 `not exists('lock')`"
            );
            return self.error(place, message, Some(help));
        }
        let place = place.map(|place| match mistake.span {
            MistakeSpan::Within(lines, columns) => self.within(place, (lines, columns)),
            MistakeSpan::Value => self.quoted(place, &mistake.message).unwrap_or(place),
            MistakeSpan::Key => place,
        });
        self.error(place, mistake.message.clone(), mistake.help.clone())
    }

    /// The position, in a value, of what the message quotes first: the word of a long command that is wrong. A value has
    /// one line, or those below its `>`.
    fn quoted(&self, (line, column): (usize, usize), message: &Text) -> Option<(usize, usize)> {
        let word = message.en.split('`').nth(1).filter(|word| !word.is_empty())?;
        let text = self.text.lines().nth(line.checked_sub(1)?)?;
        let from = text.char_indices().nth(column.checked_sub(1)?)?.0;
        if !text[from..].starts_with('>') {
            return Self::word_in((line, text), from, word);
        }
        let indent = |text: &str| text.len() - text.trim_start().len();
        let below = self.text.lines().enumerate().skip(line);
        let mut block = below
            .take_while(|(_, text_below)| text_below.trim().is_empty() || indent(text_below) > indent(text));
        block.find_map(|(n, text)| Self::word_in((n + 1, text), 0, word))
    }

    /// The position of a word in a line.
    fn word_in((line, text): (usize, &str), from: usize, word: &str) -> Option<(usize, usize)> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let found = text[from..].match_indices(word).map(|(at, _)| from + at).find(|at| {
            let (before, after) = (&text[..*at], &text[at + word.len()..]);
            !(word.starts_with(is_word) && before.ends_with(is_word)
                || word.ends_with(is_word) && after.starts_with(is_word))
        })?;
        // `A.sell` is one word.
        let before = text[from..found].char_indices().rev().take_while(|(_, c)| is_word(*c) || *c == '.');
        let begins = before.last().map_or(found, |(at, _)| from + at);
        Some((line, text[..begins].chars().count() + 1))
    }

    /// The position in the file of a line and column inside a text that begins at `(line, column)`.
    fn within(&self, (line, column): (usize, usize), (lines, columns): (usize, usize)) -> (usize, usize) {
        let mut from = self.text.lines().skip(line - 1);
        let begins = from.next().and_then(|first| first.chars().nth(column - 1));
        match begins {
            Some('|') => {
                let first = from.find(|line| !line.trim().is_empty()).unwrap_or_default();
                (line + lines, first.len() - first.trim_start().len() + columns)
            }
            Some('\'' | '"') if lines == 1 => (line, column + columns),
            Some(c) if lines == 1 && c != '>' => (line, column + columns - 1),
            _ => (line, column),
        }
    }

    fn error(&self, place: Option<(usize, usize)>, message: Text, help: Option<Text>) -> LessonError {
        let (file, excerpt, more) = (self.file.clone(), self.excerpt(place), Vec::new());
        LessonError { file, place, excerpt, message, help, more }
    }

    fn excerpt(&self, place: Option<(usize, usize)>) -> Option<String> {
        const WIDEST: usize = 120;
        let line = self.text.lines().nth(place?.0.checked_sub(1)?)?;
        Some(line.chars().take(WIDEST).collect())
    }
}
