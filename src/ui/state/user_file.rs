//! A file that is kept for the user: JSON with a version, read and replaced safely, never overwritten where it could
//! not be understood.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy as _;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::files::{self, Output, Unwritable};

/// The largest file that is read, in bytes: tens of thousands of variants or reviews.
const LARGEST: u64 = 16 << 20;

/// What a file holds.
pub trait Content: Default + Clone + PartialEq + Serialize + DeserializeOwned {
    /// The file's name.
    const FILE: &str;
    /// The version that this program reads and writes.
    const FORMAT: u32;
}

/// Something about a file that the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It could not be understood, and was moved to this file.
    Damaged(PathBuf),
    /// A newer Lockstep has written it; it is left as it is.
    Newer(PathBuf),
    /// It can be neither read nor written: why.
    Unkept(String),
}

#[derive(Debug, Clone, Default)]
pub struct Kept<T> {
    /// `None` where nothing is kept.
    path: Option<PathBuf>,
    content: T,
}

/// As it stands in the file.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    format: u32,
    #[serde(flatten)]
    content: T,
}

/// The file in the user's state directory (`XDG_STATE_HOME`, or the platform's).
pub fn path(file: &str) -> Option<PathBuf> {
    let dirs = etcetera::choose_base_strategy().ok()?;
    let state = dirs.state_dir().unwrap_or_else(|| dirs.data_dir());
    Some(state.join("lockstep").join(file))
}

impl<T: Content> Kept<T> {
    /// Opens the user's file. Whatever is wrong with it is told and stops nobody.
    pub fn open() -> (Self, Option<Trouble>) {
        path(T::FILE).map_or_else(Default::default, Self::at)
    }

    /// The file need not exist.
    pub fn at(path: PathBuf) -> (Self, Option<Trouble>) {
        match read(&path) {
            Ok(content) => (Self { path: Some(path), content }, None),
            // What cannot be read or belongs to a newer program is not to be overwritten.
            Err(trouble @ (Trouble::Newer(_) | Trouble::Unkept(_))) => (Self::default(), Some(trouble)),
            Err(trouble) => (Self { path: Some(path), ..Self::default() }, Some(trouble)),
        }
    }

    pub fn get(&self) -> &T {
        &self.content
    }

    /// Changes it and writes it, unless it stays the same. What another Lockstep has written meanwhile is kept.
    /// An error is reported once: from then on nothing is written any more.
    pub fn change(&mut self, change: impl Fn(&mut T)) -> Result<(), Trouble> {
        let mut changed = self.content.clone();
        change(&mut changed);
        if changed == self.content {
            return Ok(());
        }
        let mut result = Ok(());
        if let Some(path) = &self.path {
            match read(path) {
                Ok(newest) => self.content = newest,
                Err(trouble @ Trouble::Damaged(_)) => result = Err(trouble),
                Err(trouble) => {
                    self.path = None;
                    result = Err(trouble);
                }
            }
        }
        change(&mut self.content);
        if let Some(path) = &self.path
            && let Err(error) = write(path, &self.content)
        {
            result = Err(unkept(path, &error));
            self.path = None;
        }
        result
    }
}

fn unkept(path: &Path, error: &dyn std::error::Error) -> Trouble {
    Trouble::Unkept(format!("{}: {error}", path.display()))
}

/// Reads the file; one that is damaged is set aside.
fn read<T: Content>(path: &Path) -> Result<T, Trouble> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let bytes = match files::read(path, LARGEST) {
        Ok(bytes) => bytes,
        // A file where a directory is wanted: nothing is there, and writing will say so.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(T::default());
        }
        Err(error) => return Err(unkept(path, &error)),
    };
    if let Ok(Version { format }) = serde_json::from_slice(&bytes)
        && format > T::FORMAT
    {
        return Err(Trouble::Newer(path.to_owned()));
    }
    match serde_json::from_slice::<Versioned<T>>(&bytes) {
        Ok(Versioned { format, content }) if format == T::FORMAT => Ok(content),
        _ => Err(set_aside(path, T::FILE)),
    }
}

fn set_aside(path: &Path, name: &str) -> Trouble {
    let free = (1..=u32::MAX)
        .map(|number| path.with_file_name(format!("{name}.damaged-{number}")))
        .find(|aside| aside.symlink_metadata().is_err());
    let aside = free.unwrap_or_default();
    match fs::rename(path, &aside) {
        Ok(()) => Trouble::Damaged(aside),
        Err(error) => unkept(path, &error),
    }
}

/// Writes it, so that a reader sees the old file or the new one.
fn write<T: Content>(path: &Path, content: &T) -> Result<(), Unwritable> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    Output::new(path)?.write(|out| {
        serde_json::to_writer_pretty(&mut *out, &Versioned { format: T::FORMAT, content })?;
        out.write_all(b"\n")
    })
}
