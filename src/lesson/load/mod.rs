//! Reads a lesson file.
//!
//! **Architecture Invariant:** this module alone knows that lessons are YAML.

pub(crate) mod bounds;
pub(crate) mod locate;

use std::{fs, path::Path as FilePath, sync::Arc};

use crate::files;

use super::{
    error::{LessonError, Mistake, Path},
    model::{FORMAT, Lesson, Recipes},
};

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

    /// Reads a file.
    ///
    /// # Errors
    /// It is not there, is no file, is larger than [`LARGEST`], or is not UTF-8.
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
    ///
    /// # Errors
    /// The first mistake, with its line and column.
    pub fn lesson(&self) -> Result<Lesson, LessonError> {
        let lesson: Lesson = self.parse()?;
        self.check_format(lesson.format)?;
        Ok(lesson)
    }

    /// Parses a file of recipes.
    ///
    /// # Errors
    /// The first mistake, with its line and column.
    pub fn recipes(&self) -> Result<Recipes, LessonError> {
        let recipes: Recipes = self.parse()?;
        self.check_format(recipes.format)?;
        Ok(recipes)
    }

    fn check_format(&self, format: u32) -> Result<(), LessonError> {
        if format == FORMAT {
            return Ok(());
        }
        let mistake = Mistake::new(&Path::root().key("format"), format!("format {format} is not known"))
            .help(format!("this Lockstep reads format {FORMAT}"));
        Err(self.place(&mistake))
    }

    fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, LessonError> {
        bounds::check(&self.text).map_err(|(place, message)| self.wrong(place, &message))?;
        serde_yaml::from_str(&self.text).map_err(|error| {
            let place = error.location().map(|location| (location.line(), location.column()));
            self.wrong(place, &error.to_string())
        })
    }

    fn wrong(&self, place: Option<(usize, usize)>, message: &str) -> LessonError {
        let (message, help) = explain(message);
        LessonError { file: self.file.clone(), place, excerpt: self.excerpt(place), message, help }
    }

    /// Gives a mistake its line and column.
    pub fn place(&self, mistake: &Mistake) -> LessonError {
        let place = locate::locate(&self.text, &mistake.path);
        LessonError {
            file: self.file.clone(),
            place,
            excerpt: self.excerpt(place),
            message: mistake.message.clone(),
            help: mistake.help.clone(),
        }
    }

    fn excerpt(&self, place: Option<(usize, usize)>) -> Option<String> {
        const WIDEST: usize = 120;
        let line = self.text.lines().nth(place?.0.checked_sub(1)?)?;
        Some(line.chars().take(WIDEST).collect())
    }
}

/// `serde_yaml`'s message without its position, which is shown apart, and with a help where its words alone
/// would not tell an author what to do.
fn explain(message: &str) -> (String, Option<String>) {
    /// A message may quote a name or a value, and those can be as long as the file.
    const LONGEST: usize = 400;
    let without_place = message.split(" at line ").next().unwrap_or(message);
    let without_place: String = without_place.chars().take(LONGEST).collect();
    let help = if message.contains("repetition limit")
        || message.contains("recursion limit")
        || message.contains("aliases")
    {
        Some("aliases (`*name`) that contain aliases multiply; write the parts out".to_owned())
    } else if message.contains("is here twice") {
        Some("give each a name of its own".to_owned())
    } else if message.contains("than a lesson may have") {
        Some("write it in parts, each a lesson of its own".to_owned())
    } else if message.contains("missing field `zh`") || message.contains("missing field `en`") {
        Some("every text is written twice: { en: …, zh: … }".to_owned())
    } else if message.contains("EndOfStream") || message.contains("EOF") || message.contains("end of stream")
    {
        Some(
            "the file is empty or ends too early; `lockstep new NAME` writes a lesson to start from"
                .to_owned(),
        )
    } else if message.contains("did not find expected") || message.contains("mapping values are not allowed")
    {
        Some("this is not YAML: look for an unquoted `: ` or `{`, or for wrong indentation".to_owned())
    } else {
        None
    };
    (without_place, help)
}
