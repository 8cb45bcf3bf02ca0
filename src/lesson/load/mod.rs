//! Reads a lesson file.
//!
//! **Architecture Invariant:** this module alone knows that lessons are YAML.

pub(crate) mod bounds;
pub(crate) mod locate;

use std::{fs, path::Path as FilePath, sync::Arc};

use serde::de::DeserializeOwned;

use super::{
    error::{LessonError, Mistake, Path},
    model::{FORMAT, Lesson, Recipes},
};
use crate::{files, text::strictly};

/// The largest lesson file that is read, in bytes. The largest of Lockstep's own has a fortieth of it.
pub const LARGEST: u64 = 1 << 20;

/// A file's text, kept so that a mistake found later can still be shown in its place.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file, as the user knows it.
    pub file: String,
    text: Arc<str>,
}

impl Source {
    /// A text that was read already, such as a lesson carried in the binary.
    pub fn new(file: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self { file: file.into(), text: text.into() }
    }

    /// Reads a regular file of UTF-8 that is no larger than [`LARGEST`].
    pub fn read(path: &FilePath) -> Result<Self, LessonError> {
        let file = path.display().to_string();
        let fail = |message: String, help: &str| LessonError::of_file(&file, message, Some(help.to_owned()));
        let facts = fs::metadata(path)
            .map_err(|error| fail(format!("cannot be read: {error}"), "give the path of a lesson file"))?;
        if facts.is_dir() {
            return Err(fail(
                "is a directory, not a lesson".to_owned(),
                "for a folder of lessons use `--lessons DIR`",
            ));
        }
        if !facts.is_file() {
            return Err(fail("is not a regular file".to_owned(), "give the path of a lesson file"));
        }
        if facts.len() > LARGEST {
            let message = format!("has {} bytes; a lesson may have at most {LARGEST}", facts.len());
            return Err(fail(message, "split it into several lessons"));
        }
        let bytes = files::read(path, LARGEST)
            .map_err(|error| fail(format!("cannot be read: {error}"), "look at the file's permissions"))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            fail(format!("is not UTF-8: {}", error.utf8_error()), "save it as UTF-8 text")
        })?;
        Ok(Self::new(file, text))
    }

    /// Parses a lesson. Grammar only: names are checked when it is planned.
    pub fn lesson(&self) -> Result<Lesson, LessonError> {
        self.parse(|lesson: &Lesson| lesson.format)
    }

    /// Whether every text of a lesson, or of recipes, is there in both languages.
    ///
    /// # Errors
    /// The first text that is not, and its place.
    pub fn check_languages(&self, recipes: bool) -> Result<(), LessonError> {
        strictly(|| if recipes { self.recipes().map(drop) } else { self.lesson().map(drop) })
    }

    pub fn recipes(&self) -> Result<Recipes, LessonError> {
        self.parse(|recipes: &Recipes| recipes.format)
    }

    fn parse<T: DeserializeOwned>(&self, format: fn(&T) -> u32) -> Result<T, LessonError> {
        bounds::check(&self.text).map_err(|(place, message)| self.wrong(place, &message))?;
        let parsed = serde_yaml::from_str(&self.text).map_err(|error| {
            let place = error.location().map(|location| (location.line(), location.column()));
            self.wrong(place, &error.to_string())
        })?;
        match format(&parsed) {
            FORMAT => Ok(parsed),
            other => {
                let mistake =
                    Mistake::new(&Path::root().key("format"), format!("format {other} is not known"));
                Err(self.place(&mistake.help(format!("this Lockstep reads format {FORMAT}"))))
            }
        }
    }

    fn wrong(&self, place: Option<(usize, usize)>, message: &str) -> LessonError {
        let (message, help) = explain(message);
        self.error(place, message, help)
    }

    /// Gives a mistake its line and column.
    pub fn place(&self, mistake: &Mistake) -> LessonError {
        let place = locate::locate(&self.text, &mistake.path);
        self.error(place, mistake.message.clone(), mistake.help.clone())
    }

    fn error(&self, place: Option<(usize, usize)>, message: String, help: Option<String>) -> LessonError {
        LessonError { file: self.file.clone(), place, excerpt: self.excerpt(place), message, help }
    }

    fn excerpt(&self, place: Option<(usize, usize)>) -> Option<String> {
        const WIDEST: usize = 120;
        let line = self.text.lines().nth(place?.0.checked_sub(1)?)?;
        Some(line.chars().take(WIDEST).collect())
    }
}

/// What to do about mistakes, by words of their messages, where those alone would not tell an author.
const HELP: [(&[&str], &str); 7] = [
    (
        &["repetition limit", "recursion limit", "aliases"],
        "aliases (`*name`) that contain aliases multiply; write the parts out",
    ),
    (&["is here twice"], "give each a name of its own"),
    (&["than a lesson may have"], "write it in parts, each a lesson of its own"),
    (&["missing field `zh`", "missing field `en`"], "`--strict` wants every text twice: { en: …, zh: … }"),
    (&["expected `en` or `zh`"], "a text with a comma needs quotes: { en: \"One, two\", zh: … }"),
    (
        &["EndOfStream", "EOF", "end of stream"],
        "the file is empty or ends too early; `lockstep new NAME` writes a lesson to start from",
    ),
    (
        &["did not find expected", "mapping values are not allowed"],
        "this is not YAML: look for an unquoted `: ` or `{`, or for wrong indentation",
    ),
];

/// `serde_yaml`'s message without its position, which is shown apart, and what to do about it.
fn explain(message: &str) -> (String, Option<String>) {
    /// A message may quote a name or a value, and those can be as long as the file.
    const LONGEST: usize = 400;
    let without_place = message.split(" at line ").next().unwrap_or(message);
    let help = HELP.iter().find(|(words, _)| words.iter().any(|word| message.contains(word)));
    (without_place.chars().take(LONGEST).collect(), help.map(|(_, help)| (*help).to_owned()))
}
