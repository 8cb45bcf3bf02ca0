//! The user's configuration file: what is chosen once and for all, and which keys do what. It must not know the
//! screens.
//!
//! **Architecture Invariant:** nothing in the file stops anybody. What is wrong with it is told, with its place,
//! and the default stands for it.

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

/// The largest file that is read, in bytes. The one that `lockstep config` prints has an eighth of it.
const LARGEST: u64 = 64 << 10;

/// What a user has chosen; `None` where nothing was said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    pub lang: Option<Lang>,
    pub theme: Option<ThemeName>,
    /// How fast lessons play: 1.0 is real time.
    pub speed: Option<f64>,
    pub questions: Option<bool>,
    /// Whether what moves only to explain is to stand still.
    pub reduced_motion: Option<bool>,
    pub keys: KeyMap,
    /// What is wrong with the file, in its order. Reported as mistakes in lessons are.
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
            // A file where a directory is wanted: nothing is there.
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

    /// The first mistake in a line, and how many more there are, for a screen.
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

/// A path as its owner knows it: `~` for the home directory.
pub fn short(path: &Path) -> String {
    let home = etcetera::home_dir().ok();
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
