//! Finished runs in files: a recording is a log, with a first line that says of which lesson, and a last line
//! that says that it is whole. It must not know how a run is made or shown.
//!
//! The format is JSON, one object per line: [`Header`], then every event, then `{"end": N}` with the number of
//! events.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    clock::ClockKind,
    lesson::{Params, Scenario},
    log::{Event, EventKind, Log},
};

/// The version of the format that is written and read.
pub const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format. Its name tells a recording from any other file.
    pub lockstep_recording: u32,
    /// The lesson.
    pub lesson: String,
    /// Its variant.
    pub variant: String,
    /// What the user had set with `--set`.
    #[serde(default)]
    pub params: Params,
    /// The program that recorded it, as `0.1.0`.
    pub program: String,
}

/// A finished run, read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Of which lesson.
    pub header: Header,
    /// What happened. Its clock is [`ClockKind::Recorded`].
    pub log: Log,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    end: usize,
}

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is something else.
    #[error("{}:1: this is no recording of Lockstep's; `lockstep run LESSON --variant NAME --record FILE` makes one", path.display())]
    NoRecording {
        /// The file.
        path: PathBuf,
    },
    /// It was written by another Lockstep.
    #[error(
        "{}:1: the recording has format version {found} and this Lockstep reads version {VERSION}; record the run \
         again with `lockstep run LESSON --variant NAME --record FILE`", path.display()
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A line of it is damaged.
    #[error("{}:{line}:{column}: the recording is damaged: {why}; record the run again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Its end is missing.
    #[error(
        "{}:{line}: the recording is cut off: after {have} events its last line is missing; record the run again",
        path.display()
    )]
    CutOff {
        /// The file.
        path: PathBuf,
        /// The line at which more was expected.
        line: usize,
        /// How many events are there.
        have: usize,
    },
}

/// Whether a file begins like a recording. A lesson never does.
#[must_use]
pub fn looks_like_one(path: &Path) -> bool {
    let Ok(file) = fs::File::open(path) else {
        return false;
    };
    let mut start = Vec::new();
    // Long enough for the first key, short enough for any file.
    let read = io::Read::read_to_end(&mut io::Read::take(file, 64), &mut start);
    read.is_ok() && String::from_utf8_lossy(&start).starts_with("{\"lockstep_recording\"")
}

/// Writes a finished run. The file is whole or not there at all.
///
/// # Errors
/// [`RecordingError::File`].
pub fn write(path: &Path, scenario: &Scenario, log: &Log) -> Result<(), RecordingError> {
    let header = Header {
        lockstep_recording: VERSION,
        lesson: scenario.loaded.lesson.id.clone(),
        variant: scenario.variant.clone(),
        params: scenario.overrides.clone(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let write = || -> io::Result<()> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        // Readable as the user's own new files are: the umask takes away what they are not.
        let everybody = fs::Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new()
            .permissions(everybody)
            .tempfile_in(folder)?;
        let mut out = io::BufWriter::new(file.as_file_mut());
        let mut line = |value: serde_json::Result<String>| writeln!(out, "{}", value?);
        line(serde_json::to_string(&header))?;
        for event in log.events() {
            line(serde_json::to_string(event))?;
        }
        line(serde_json::to_string(&End { end: log.len() }))?;
        out.flush()?;
        drop(out);
        file.persist(path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|source| RecordingError::File {
        path: path.to_owned(),
        source,
    })
}

/// Reads a recording.
///
/// # Errors
/// Whatever [`RecordingError`] names, with file and line.
pub fn read(path: &Path) -> Result<Recording, RecordingError> {
    let file = |source| RecordingError::File {
        path: path.to_owned(),
        source,
    };
    parse(BufReader::new(fs::File::open(path).map_err(file)?), path)
}

fn parse(text: impl BufRead, path: &Path) -> Result<Recording, RecordingError> {
    let path = path.to_owned();
    let no_recording = || RecordingError::NoRecording { path: path.clone() };
    let mut lines = text.lines();
    let first = lines.next().and_then(Result::ok).ok_or_else(no_recording)?;
    let version = serde_json::from_str::<serde_json::Value>(&first).ok();
    let found = version
        .as_ref()
        .and_then(|first| first["lockstep_recording"].as_u64())
        .ok_or_else(no_recording)?;
    if found != u64::from(VERSION) {
        return Err(RecordingError::OtherVersion { path, found });
    }
    let damaged = |line: usize, error: &serde_json::Error| RecordingError::Damaged {
        path: path.clone(),
        line,
        column: error.column().max(1),
        why: error
            .to_string()
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    let header: Header = serde_json::from_str(&first).map_err(|error| damaged(1, &error))?;
    let mut log = Log::new();
    let mut number = 1;
    for line in lines {
        number += 1;
        let line = line.map_err(|source| RecordingError::File {
            path: path.clone(),
            source,
        })?;
        if let Ok(End { end }) = serde_json::from_str(&line) {
            if end == log.len() {
                return Ok(Recording { header, log });
            }
            break;
        }
        match serde_json::from_str::<Event>(&line) {
            Ok(mut event) => {
                if let EventKind::LabReady { clock, .. } = &mut event.kind {
                    *clock = ClockKind::Recorded;
                }
                log.append(event);
            }
            // A file that ends in the middle of a line was cut off there.
            Err(error) if error.is_eof() => break,
            Err(error) => return Err(damaged(number, &error)),
        }
    }
    Err(RecordingError::CutOff {
        path,
        line: number + 1,
        have: log.len(),
    })
}

#[cfg(test)]
mod tests;
