//! What is on this user's screen, for the teacher's notes in another terminal: a small file that only the user can read.
//! It is there as long as a lesson is.

use std::{fs, path::PathBuf};

use etcetera::BaseStrategy as _;
use serde::{Deserialize, Serialize};

use super::user_file;
use crate::{files, lesson::plan::ScriptLine, text::Text};

const FORMAT: u32 = 1;
const FILE: &str = "playing.json";
/// The largest file that is read, in bytes.
const LARGEST: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Playing {
    format: u32,
    /// The Lockstep that plays it.
    pub pid: u32,
    /// The lesson's name on the command line, and its variant's.
    pub lesson: String,
    pub variant: String,
    pub title: Text,
    pub variant_title: Text,
    /// When it was opened, in seconds since 1970.
    pub began: i64,
    /// How many steps are over.
    pub step: usize,
    pub notes: Option<Text>,
    pub script: Vec<ScriptLine>,
}

/// A story and what its author wrote to teachers.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub notes: Option<Text>,
    pub lines: Vec<ScriptLine>,
}

impl Playing {
    pub fn new(names: (&str, &str), titles: (Text, Text), script: Script, began: i64) -> Self {
        Self {
            format: FORMAT,
            pid: std::process::id(),
            lesson: names.0.to_owned(),
            variant: names.1.to_owned(),
            title: titles.0,
            variant_title: titles.1,
            began,
            step: 0,
            notes: script.notes,
            script: script.lines,
        }
    }

    /// The step that is over last, and the one that comes next.
    pub fn steps(&self) -> [Option<&ScriptLine>; 2] {
        [self.step.checked_sub(1), Some(self.step)].map(|n| self.script.get(n?))
    }
}

/// Where it is written: the user's runtime directory, or, where there is none, the directory of the progress.
pub fn path() -> Option<PathBuf> {
    let runtime = etcetera::choose_base_strategy().ok()?.runtime_dir();
    runtime.map(|folder| folder.join("lockstep").join(FILE)).or_else(|| user_file::path(FILE))
}

/// What is on the screen, if anything can be read of it.
pub fn read() -> Option<Playing> {
    let bytes = files::read(&path()?, LARGEST).ok()?;
    let playing: Playing = serde_json::from_slice(&bytes).ok()?;
    (playing.format == FORMAT).then_some(playing)
}

/// Where what is on the screen is announced. Where that cannot be written, nobody follows.
#[derive(Debug, Default)]
pub struct Announcer {
    path: Option<PathBuf>,
    announced: Option<Playing>,
}

impl Announcer {
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path, announced: None }
    }

    pub fn is_there(&self) -> bool {
        self.path.is_some()
    }

    /// Another lesson, or none.
    pub fn announce(&mut self, playing: Option<Playing>) {
        self.announced = playing;
        match &self.announced {
            Some(_) => self.write(),
            None => self.remove(),
        }
    }

    /// So many steps are over.
    pub fn step(&mut self, step: usize) {
        let Some(playing) = self.announced.as_mut().filter(|playing| playing.step != step) else { return };
        playing.step = step;
        self.write();
    }

    pub fn is_empty(&self) -> bool {
        self.announced.is_none()
    }

    fn write(&mut self) {
        let (Some(path), Some(playing)) = (&self.path, &self.announced) else { return };
        let written = serde_json::to_vec(playing).map_err(Into::into);
        if written.and_then(|bytes| files::write_private(path, &bytes)).is_err() {
            self.path = None;
        }
    }

    /// Another Lockstep's is left.
    fn remove(&self) {
        let Some(path) = &self.path else { return };
        if read().is_some_and(|there| there.pid == std::process::id()) {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.remove();
    }
}
