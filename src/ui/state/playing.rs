//! The file that tells the teacher's notes in another terminal what is on the screen. Only the user can read it, and it
//! exists only while a lesson is open.

use std::{fs, path::PathBuf};

use etcetera::BaseStrategy as _;
use serde::{Deserialize, Serialize};

use super::user_file;
use crate::{files, lesson::plan::ScriptLine, text::Text};

const FORMAT: u32 = 1;
const FILE: &str = "playing.json";
/// The maximum size of a file that is read, in bytes.
const LARGEST: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Playing {
    format: u32,
    /// The process id of the Lockstep that plays the lesson.
    pub pid: u32,
    /// The names of the lesson and of its variant on the command line.
    pub lesson: String,
    pub variant: String,
    pub title: Text,
    pub variant_title: Text,
    /// When it was opened, in seconds since 1970.
    pub began: i64,
    /// The number of completed steps.
    pub step: usize,
    pub notes: Option<Text>,
    pub script: Vec<ScriptLine>,
}

/// A story with its author's notes for teachers.
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

    /// The last completed step, and the next one.
    pub fn steps(&self) -> [Option<&ScriptLine>; 2] {
        [self.step.checked_sub(1), Some(self.step)].map(|n| self.script.get(n?))
    }
}

/// The path of the file: in the user's runtime directory or, if there is none, beside the progress.
pub fn path() -> Option<PathBuf> {
    let runtime = etcetera::choose_base_strategy().ok()?.runtime_dir();
    runtime.map(|folder| folder.join("lockstep").join(FILE)).or_else(|| user_file::path(FILE))
}

/// What is on the screen; `None` if no valid file exists.
pub fn read() -> Option<Playing> {
    let bytes = files::read(&path()?, LARGEST).ok()?;
    let playing: Playing = serde_json::from_slice(&bytes).ok()?;
    (playing.format == FORMAT).then_some(playing)
}

/// Writes the file. If it cannot be written, the notes have nothing to follow; the lesson continues.
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

    /// Announces another lesson, or none.
    pub fn announce(&mut self, playing: Option<Playing>) {
        self.announced = playing;
        match &self.announced {
            Some(_) => self.write(),
            None => self.remove(),
        }
    }

    /// Announces the number of completed steps.
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

    /// Removes the file, unless another Lockstep has written it since.
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
