//! The user's configuration file: settings and key bindings.
//!
//! **Architecture Invariant:** nothing in the file stops the program. Mistakes are reported with their positions, and
//! the defaults are used instead.

pub(crate) mod defaults;
pub(crate) mod read;
#[cfg(test)]
mod tests;

pub use defaults::file;

use std::{
    io,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy as _;

use crate::{
    files,
    lesson::LessonError,
    text::Lang,
    ui::{keys::map::KeyMap, state::screen::Mistakes, theme::ThemeName},
};

/// The maximum size of a file that is read, in bytes: eight times the size of the file that `lockstep config` prints.
const LARGEST: u64 = 64 << 10;

/// The user's settings; `None` if not set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    pub lang: Option<Lang>,
    pub theme: Option<ThemeName>,
    /// The speed of lessons; 1.0 is real time.
    pub speed: Option<f64>,
    pub questions: Option<bool>,
    /// Whether animations that only explain are turned off.
    pub reduced_motion: Option<bool>,
    pub keys: KeyMap,
    /// The mistakes in the file, in its order, reported like mistakes in lessons.
    pub mistakes: Vec<LessonError>,
}

impl Config {
    /// The file in the user's configuration directory (`XDG_CONFIG_HOME`, or `~/.config`).
    pub fn path() -> Option<PathBuf> {
        let dirs = etcetera::choose_base_strategy().ok()?;
        Some(dirs.config_dir().join("lockstep").join("config.toml"))
    }

    pub fn open() -> Self {
        let Some(path) = Self::path() else { return Self::default() };
        match Self::read(&path) {
            Ok(config) => config,
            // If part of the path is a file, there is no configuration.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Self::default()
            }
            Err(error) => Self {
                mistakes: vec![LessonError::of_file(
                    short(&path),
                    format!("cannot be read: {error}"),
                    Some("make it a readable text file, or remove it".into()),
                )],
                ..Self::default()
            },
        }
    }

    pub fn read(path: &Path) -> io::Result<Self> {
        let text = files::read_text(path, LARGEST)?;
        Ok(Self::parse(&short(path), &text))
    }

    /// The first mistake as one line, and the number of further ones.
    pub fn summary(&self) -> Option<Mistakes> {
        let first = self.mistakes.first()?;
        let place = first.place.map(|(line, column)| format!(":{line}:{column}"));
        let help = first.help.as_ref().map(|help| format!("; {}", help.en));
        let (place, help) = (place.unwrap_or_default(), help.unwrap_or_default());
        let mut words = format!("{}{place}: {}{help}", first.file, first.message.en);
        if !words.ends_with(['.', '?', '!']) {
            words.push('.');
        }
        Some(Mistakes { first: words, more: self.mistakes.len() - 1 })
    }
}

/// A path with `~` for the home directory.
pub fn short(path: &Path) -> String {
    let home = etcetera::home_dir().ok();
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
