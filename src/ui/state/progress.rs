//! What the learner has done so far: kept in a JSON file, so that the catalogue can show it.

use std::{
    collections::BTreeMap,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy as _;
use serde::{Deserialize, Serialize};

use crate::{
    files::{self, Output, Unwritable},
    verdict::Outcome,
};

/// The version of the file that this program reads and writes.
pub const FORMAT: u32 = 1;

const FILE: &str = "progress.json";
/// The largest file that is read, in bytes: tens of thousands of variants.
const LARGEST: u64 = 4 << 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub finished: bool,
    /// The newest verdict.
    pub outcome: Option<Outcome>,
    /// How many predictions came true, the last time that there were any.
    pub right: usize,
    pub asked: usize,
    /// How many of its invariants were broken in free play, at most at a time.
    #[serde(default)]
    pub solved: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    format: u32,
    pub lessons: BTreeMap<String, BTreeMap<String, Record>>,
}

impl Default for Progress {
    fn default() -> Self {
        Self { format: FORMAT, lessons: BTreeMap::new() }
    }
}

impl Progress {
    pub fn of(&self, lesson: &str, variant: &str) -> Option<Record> {
        self.lessons.get(lesson)?.get(variant).copied()
    }
}

/// Something about the file that the learner should know.
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
pub struct Store {
    /// `None` where nothing is kept.
    path: Option<PathBuf>,
    progress: Progress,
}

impl Store {
    /// The file in the user's state directory (`XDG_STATE_HOME`, or the platform's).
    pub fn path() -> Option<PathBuf> {
        let dirs = etcetera::choose_base_strategy().ok()?;
        let state = dirs.state_dir().unwrap_or_else(|| dirs.data_dir());
        Some(state.join("lockstep").join(FILE))
    }

    /// Opens the user's progress. Whatever is wrong with it is told and stops nobody.
    pub fn open() -> (Self, Option<Trouble>) {
        Self::path().map_or_else(Default::default, Self::at)
    }

    /// The file need not exist.
    pub fn at(path: PathBuf) -> (Self, Option<Trouble>) {
        match read(&path) {
            Ok(progress) => (Self { path: Some(path), progress }, None),
            // What cannot be read or belongs to a newer program is not to be overwritten.
            Err(trouble @ (Trouble::Newer(_) | Trouble::Unkept(_))) => (Self::default(), Some(trouble)),
            Err(trouble) => (Self { path: Some(path), ..Self::default() }, Some(trouble)),
        }
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Notes what was done in a variant. What another Lockstep has written meanwhile is kept.
    /// An error is reported once: from then on nothing is written any more.
    pub fn note(&mut self, lesson: &str, variant: &str, record: Record) -> Result<(), Trouble> {
        if self.progress.of(lesson, variant) == Some(record) {
            return Ok(());
        }
        let mut result = Ok(());
        if let Some(path) = &self.path {
            match read(path) {
                Ok(newest) => self.progress = newest,
                Err(trouble @ Trouble::Damaged(_)) => result = Err(trouble),
                Err(trouble) => {
                    self.path = None;
                    result = Err(trouble);
                }
            }
        }
        let variants = self.progress.lessons.entry(lesson.to_owned()).or_default();
        variants.insert(variant.to_owned(), record);
        if let Some(path) = &self.path
            && let Err(error) = write(path, &self.progress)
        {
            result = Err(unkept(path, &error));
            self.path = None;
        }
        result
    }

    /// Forgets everything that a file holds, whatever it is.
    pub fn forget(path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn unkept(path: &Path, error: &dyn std::error::Error) -> Trouble {
    Trouble::Unkept(format!("{}: {error}", path.display()))
}

/// Reads the file; one that is damaged is set aside.
fn read(path: &Path) -> Result<Progress, Trouble> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let bytes = match files::read(path, LARGEST) {
        Ok(bytes) => bytes,
        // A file where a directory is wanted: nothing is there, and writing will say so.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Progress::default());
        }
        Err(error) => return Err(unkept(path, &error)),
    };
    if let Ok(Version { format }) = serde_json::from_slice(&bytes)
        && format > FORMAT
    {
        return Err(Trouble::Newer(path.to_owned()));
    }
    match serde_json::from_slice::<Progress>(&bytes) {
        Ok(progress) if progress.format == FORMAT => Ok(progress),
        _ => Err(set_aside(path)),
    }
}

fn set_aside(path: &Path) -> Trouble {
    let free = (1..=u32::MAX)
        .map(|number| path.with_file_name(format!("{FILE}.damaged-{number}")))
        .find(|aside| aside.symlink_metadata().is_err());
    let aside = free.unwrap_or_default();
    match fs::rename(path, &aside) {
        Ok(()) => Trouble::Damaged(aside),
        Err(error) => unkept(path, &error),
    }
}

/// Writes it, so that a reader sees the old file or the new one.
fn write(path: &Path, progress: &Progress) -> Result<(), Unwritable> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    Output::new(path)?.write(|out| {
        serde_json::to_writer_pretty(&mut *out, progress)?;
        out.write_all(b"\n")
    })
}

#[cfg(test)]
mod tests {
    use super::{Record, Store, Trouble};
    use crate::verdict::Outcome;

    const DONE: Record =
        Record { finished: true, outcome: Some(Outcome::Shown), right: 1, asked: 2, solved: 0 };

    #[test]
    fn what_is_noted_is_there_the_next_time_and_others_notes_are_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("state/lockstep/progress.json");
        let (mut mine, trouble) = Store::at(path.clone());
        assert_eq!(trouble, None);
        let (mut yours, _) = Store::at(path.clone());
        mine.note("oversell", "a", DONE).expect("noted");
        yours.note("oversell", "b", Record::default()).expect("noted");
        let (again, trouble) = Store::at(path.clone());
        assert_eq!(trouble, None);
        assert_eq!(again.progress().of("oversell", "a"), Some(DONE));
        assert_eq!(again.progress().of("oversell", "b"), Some(Record::default()));
        let names = std::fs::read_dir(path.parent().expect("a directory")).expect("readable");
        assert_eq!(names.count(), 1, "no temporary file is left");
        Store::forget(&path).expect("removed");
        Store::forget(&path).expect("nothing is there to remove");
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_file_is_set_aside_and_a_newer_one_left_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("progress.json");
        for number in 1..=2 {
            std::fs::write(&path, "{\"format\": 1, \"less").expect("written");
            let (mut store, trouble) = Store::at(path.clone());
            let aside = dir.path().join(format!("progress.json.damaged-{number}"));
            assert_eq!(trouble, Some(Trouble::Damaged(aside.clone())));
            assert!(aside.exists());
            store.note("oversell", "a", DONE).expect("noted");
        }
        let newer = "{\"format\": 2, \"courses\": []}";
        std::fs::write(&path, newer).expect("written");
        let (mut store, trouble) = Store::at(path.clone());
        assert_eq!(trouble, Some(Trouble::Newer(path.clone())));
        store.note("oversell", "a", DONE).expect("nowhere to note it, which was told");
        assert_eq!(std::fs::read_to_string(&path).expect("readable"), newer);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told_once() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let (mut store, trouble) = Store::at(file.path().join("lockstep/progress.json"));
        assert_eq!(trouble, None);
        let result = store.note("oversell", "a", DONE);
        assert!(matches!(result, Err(Trouble::Unkept(_))), "{result:?}");
        assert_eq!(store.note("oversell", "b", DONE), Ok(()));
        assert_eq!(store.progress().of("oversell", "b"), Some(DONE), "remembered to the end");
    }
}
