//! A file that stores data of the user: versioned JSON, read and replaced safely, and never overwritten if it could not
//! be understood.

use std::{
    fs::{self, File, TryLockError},
    io,
    io::Write as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use etcetera::BaseStrategy as _;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::files::{self, Output, Unwritable};

/// The maximum size of a file that is read, in bytes: enough for tens of thousands of variants or reviews.
const LARGEST: u64 = 16 << 20;

pub trait Content: Default + Clone + PartialEq + Serialize + DeserializeOwned {
    const FILE: &str;
    /// The format version that this program reads and writes.
    const FORMAT: u32;
}

/// A problem with a file that the user should know about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It could not be parsed, and was moved to this path.
    Damaged(PathBuf),
    /// A newer Lockstep has written it; it is left unchanged.
    Newer(PathBuf),
    /// It cannot be read or written; with the reason.
    Unkept(String),
}

#[derive(Debug, Clone, Default)]
pub struct UserFile<T> {
    /// `None` if nothing is stored.
    path: Option<PathBuf>,
    content: T,
}

/// The JSON of the file.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    format: u32,
    #[serde(flatten)]
    content: T,
}

/// The path of a file in the user's state directory (`XDG_STATE_HOME`, or the platform's equivalent).
pub fn path(file: &str) -> Option<PathBuf> {
    let dirs = etcetera::choose_base_strategy().ok()?;
    let state = dirs.state_dir().unwrap_or_else(|| dirs.data_dir());
    Some(state.join("lockstep").join(file))
}

impl<T: Content> UserFile<T> {
    pub fn path() -> Option<PathBuf> {
        path(T::FILE)
    }

    /// Opens the user's file. A problem with it is returned and never fatal.
    pub fn open() -> (Self, Option<Trouble>) {
        Self::path().map_or_else(Default::default, Self::at)
    }

    /// Opens the file at `path`, which need not exist.
    pub fn at(path: PathBuf) -> (Self, Option<Trouble>) {
        match read(&path) {
            Ok(content) => (Self { path: Some(path), content }, None),
            // A file that cannot be read or belongs to a newer program must not be overwritten.
            Err(trouble @ (Trouble::Newer(_) | Trouble::Unkept(_))) => (Self::default(), Some(trouble)),
            Err(trouble) => (Self { path: Some(path), ..Self::default() }, Some(trouble)),
        }
    }

    pub fn get(&self) -> &T {
        &self.content
    }

    /// Changes the content and writes the file if the content differs. Changes that another Lockstep has written
    /// meanwhile are kept. An error is reported once; afterwards nothing is written.
    pub fn change(&mut self, change: impl Fn(&mut T)) -> Result<(), Trouble> {
        let mut changed = self.content.clone();
        change(&mut changed);
        if changed == self.content {
            return Ok(());
        }
        let mut result = Ok(());
        let _lock = self.path.as_deref().and_then(lock);
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

/// Locks the directory of a file against other Lockstep processes, until the returned value is dropped. `None` if it
/// cannot be locked: then the file is changed all the same, as where there is no `flock`.
fn lock(path: &Path) -> Option<File> {
    const LOCKED_FOR: Duration = Duration::from_secs(2);
    let directory = path.parent()?;
    fs::create_dir_all(directory).ok()?;
    let directory = File::open(directory).ok()?;
    let asked = Instant::now();
    loop {
        match directory.try_lock() {
            Ok(()) => return Some(directory),
            // A process that is stopped must not keep all others waiting.
            Err(TryLockError::WouldBlock) if asked.elapsed() < LOCKED_FOR => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(_) => return None,
        }
    }
}

fn unkept(path: &Path, error: &dyn std::error::Error) -> Trouble {
    Trouble::Unkept(format!("{}: {error}", path.display()))
}

/// Reads the file. Moves a damaged one away.
fn read<T: Content>(path: &Path) -> Result<T, Trouble> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let bytes = match files::read(path, LARGEST) {
        Ok(bytes) => bytes,
        // If part of the path is a file, nothing is stored there; writing will report it.
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

/// Writes the file atomically: a reader sees the old content or the new one.
fn write<T: Content>(path: &Path, content: &T) -> Result<(), Unwritable> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    Output::new(path)?.write(|out| {
        serde_json::to_writer_pretty(&mut *out, &Versioned { format: T::FORMAT, content })?;
        out.write_all(b"\n")
    })
}
